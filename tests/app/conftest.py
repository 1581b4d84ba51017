"""A smaller example for the page: two dishes, one year."""

import polars as pl
import pytest

from unmet.planning import example
from unmet.planning.example import Example


@pytest.fixture(scope="module")
def tables():
    two, whole = pl.col("dish").is_in(["lamb", "steak"]), example()
    coming, truth = whole.coming.filter(two), whole.truth.filter(two)
    return Example(whole.sales.filter(two).tail(700), coming, truth)


@pytest.fixture(scope="module", autouse=True)
def small_example(tables):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unmet.app.controls.example", lambda: tables)
        patch.setattr("unmet.app.controls.PATIENCE", 120)  # no run ends before its answer
        yield
