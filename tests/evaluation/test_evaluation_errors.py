"""Bad input gets one sentence that names the parameter and what arrived."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation import (
    cost_saving,
    fill_rate,
    gap_closed,
    lost_sales,
    realised_cost,
    rmse_to_optimum,
    service_level,
)

NEWSVENDOR = Newsvendor(3, 1)


@pytest.mark.parametrize(
    "measure",
    [
        lambda y, d, w=None: realised_cost(NEWSVENDOR, y, d, sample_weight=w),
        lambda y, d, w=None: rmse_to_optimum(y, d, sample_weight=w),
        lambda y, d, w=None: service_level(y, d, sample_weight=w),
        lambda y, d, w=None: fill_rate(y, d, sample_weight=w),
        lambda y, d, w=None: lost_sales(y, d, sample_weight=w),
    ],
    ids=["cost", "rmse", "service", "fill", "lost"],
)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1, 2], [1, 2, 3]), r"^decision must be one number or have 3 rows like \w+, got 2\.$"),
        (([1], [1, 2, 3]), r"^decision must .* got 1\.$"),
        (([1, 2], [np.inf, 2]), r"^(truth|optimum) must .*got inf in row 0\.$"),
        (([], []), r"^(truth|optimum) must have at least one row, got none\.$"),
        (([1, 2], [1, 2], [1, -1]), r"^sample_weight must not be negative, got -1\.0\.$"),
        (([1, 2], [1, 2], [0, 0]), r"^sample_weight must have a positive entry, got only zeros"),
    ],
)
def test_rows(measure, arguments, said):
    with pytest.raises(InvalidInput, match=said):
        measure(*arguments)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cost_saving(1, -2.0), r"^cost_of_baseline must not be negative, got -2\.0\.$"),
        (lambda: cost_saving(np.nan, 1), r"^cost_of_method must be a finite number, got nan"),
        (lambda: cost_saving([1, 2], 1), r"^cost_of_method must be one number, got 2 of them"),
        (lambda: gap_closed(1, np.inf, 0), r"^cost_ignoring_censoring must be a finite number"),
        (lambda: gap_closed(1, 2, "x"), r"^floor must be "),
        (lambda: gap_closed(1, 2, 0, tolerance=-1), r"^tolerance must not be negative, got -1"),
    ],
)
def test_numbers(call, said):
    with pytest.raises(InvalidInput, match=said):
        call()


def test_cost_without_the_method():
    with pytest.raises(InvalidInput, match=r"cost must have a method cost\(decision, truth\).*str"):
        realised_cost("newsvendor", [1], [2])
