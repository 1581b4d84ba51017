"""The synthetic store: calendar, coefficients, censoring, and the truth kept beside them."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from unmet.costs import Newsvendor
from unmet.evaluation import realised_cost, service_level
from unmet.simulate.store10 import PUBLISHED_BANDS, PUBLISHED_LEVELS, PUBLISHED_STORE, store10

# Table LRstore10, column by column, typed from the paper a second time
INTERCEPT = 113.40
CATEGORY = [192.23, 151.66, -57.3, 51.56, 55.42, -76.14, 130.65, -106.29]
TUESDAY_TO_SUNDAY = [-3.64, -25.41, -29.90, -32.75, 21.15, 38.13]
FEBRUARY_TO_DECEMBER = [-3.46, 1.57, 11.94, 7.88, -1.58, -13.21, -11.9, 1.96, -1.67, -3.48, 20.03]
SIGMA = 46.57

NAMES = (
    "BREAD/BAKERY",
    "DAIRY",
    "DELI",
    "EGGS",
    "MEATS",
    "POULTRY",
    "PREPARED FOODS",
    "PRODUCE",
    "SEAFOOD",
)


@pytest.fixture(scope="module")
def data():
    return store10(seed=0)


@pytest.fixture(scope="module")
def printed():
    """The generator as the paper prints it, without clipping."""
    return store10(seed=0, clip=False)


@pytest.fixture(scope="module")
def many():
    return [store10(seed, clip=False) for seed in range(20)]


def days(first, last):
    return [first + dt.timedelta(k) for k in range((last - first).days + 1)]


def test_rows_are_days_times_categories_in_order(data):
    for part, first, last, n_rows in (
        (data.train, dt.date(2016, 1, 1), dt.date(2016, 12, 31), 3294),
        (data.test, dt.date(2017, 1, 1), dt.date(2017, 6, 30), 1629),
    ):
        assert len(part) == n_rows
        rows = list(zip(part.dates.tolist(), part.category.tolist(), strict=True))
        assert rows == list(product(days(first, last), NAMES))


def test_dummies_against_the_calendar_of_the_standard_library(data):
    weekdays = ["Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    for part in (data.train, data.test):
        assert part.features.dtype == np.float64
        assert part.features.shape == (len(part), 25)
        on = [
            {name for name, x in zip(part.feature_names, row, strict=True) if x}
            for row in part.features.tolist()
        ]
        for date, category, active in zip(part.dates.tolist(), part.category, on, strict=True):
            wanted = {category, date.strftime("%A"), date.strftime("%B")}
            assert active == wanted - {"BREAD/BAKERY", "Monday", "January"}
        assert set(np.unique(part.features)) == {0.0, 1.0}
    assert list(PUBLISHED_STORE.feature_names[:8]) == list(NAMES[1:])
    assert list(PUBLISHED_STORE.feature_names[8:14]) == weekdays
    assert len(set(PUBLISHED_STORE.feature_names)) == 25


def test_coefficients_are_those_of_the_table(data):
    table = CATEGORY + TUESDAY_TO_SUNDAY + FEBRUARY_TO_DECEMBER
    assert list(PUBLISHED_STORE.coefficients) == table
    for part in (data.train, data.test):
        product_of_matrices = INTERCEPT + part.features @ np.array(table)
        assert part.mean == pytest.approx(product_of_matrices, abs=1e-10)


def test_clipping_changes_only_what_is_negative(data, printed):
    for clipped, raw in ((data.train, printed.train), (data.test, printed.test)):
        assert np.array_equal(clipped.mean, raw.mean)
        assert np.array_equal(raw.order, raw.mean)
        for name in ("demand", "order"):
            new, old = getattr(clipped, name), getattr(raw, name)
            assert new.min() == 0.0
            assert np.array_equal(new[old >= 0], old[old >= 0])
            assert not new[old < 0].any()


@pytest.mark.parametrize("level", [0.2, 0.55, 0.75, 0.95])
def test_optimum_reaches_its_level_and_its_cost(many, level):
    """Q* covers a share α, and costs σφ(Φ⁻¹(α)), the textbook value for normal demand."""
    demand = np.concatenate([d.test.demand for d in many])
    optimum = np.concatenate([d.test.optimum(level) for d in many])
    error = 4 * np.sqrt(level * (1 - level) / len(demand))
    assert service_level(optimum, demand) == pytest.approx(level, abs=error)
    cost = realised_cost(Newsvendor.at_level(level), optimum, demand)
    assert cost == pytest.approx(SIGMA * norm.pdf(norm.ppf(level)), rel=0.02)


@pytest.mark.parametrize(
    ("clip", "part", "digest"),
    [
        (True, "train", "1501f46b8eb5b7bb"),
        (True, "test", "d378959c80d8cbed"),
        (False, "train", "cd593a45a52505a8"),
        (False, "test", "7bc4e92e2374a719"),
    ],
)
def test_numbers_of_seed_0_never_change(clip, part, digest):
    """Published results are based on them; rounded to 1e-6: the last bit of a libm may differ."""
    rows = getattr(store10(0, clip=clip), part)
    numbers = np.concatenate([rows.demand, rows.order, rows.sales])
    frozen = np.rint(numbers * 1e6).astype("<i8").tobytes()
    assert hashlib.sha256(frozen).hexdigest()[:16] == digest


def test_table_to_look_at(data):
    table = data.test.to_polars()
    assert table.columns == ["date", "weekday", "month", "category", "sales", "demand", "order"]
    assert table.height == 1629
    assert table.schema["date"] == pl.Date
    assert np.array_equal(table["sales"].to_numpy(), data.test.sales)
    own = table.select(
        (pl.col("date").dt.strftime("%A") == pl.col("weekday").cast(pl.String)).all().alias("day"),
        (pl.col("date").dt.strftime("%B") == pl.col("month").cast(pl.String)).all().alias("month"),
    )
    assert own.row(0) == (True, True)
    assert table["weekday"].unique().sort().to_list()[:2] == ["Monday", "Tuesday"]
    assert table["category"].unique(maintain_order=True).to_list() == list(NAMES)


def test_published_bands():
    assert PUBLISHED_LEVELS == (0.55, 0.65, 0.75, 0.85, 0.95)
    assert set(PUBLISHED_BANDS) == {"linear", "neural"}
    for bands in PUBLISHED_BANDS.values():
        assert tuple(bands) == PUBLISHED_LEVELS
        for low, high in bands.values():
            assert 0 < low < 0.15
            assert low < high < 0.20
    assert PUBLISHED_BANDS["linear"][0.95] == (0.0083, 0.1827)
    assert PUBLISHED_BANDS["neural"][0.95] == PUBLISHED_BANDS["linear"][0.55] == (0.0022, 0.1976)


# --- Another store.


def distribution_without(**changes):
    return replace(PUBLISHED_STORE, **changes)


def test_another_distribution_moves_means_and_noise_and_nothing_else():
    usual = store10(seed=3, clip=False)
    other = store10(
        seed=3, clip=False, distribution=distribution_without(intercept=213.40, deviation=93.14)
    )
    assert np.array_equal(usual.train.features, other.train.features)
    assert other.train.mean == pytest.approx(usual.train.mean + 100)
    noise = [part.demand - part.mean for part in (usual.test, other.test)]
    assert noise[1] == pytest.approx(2 * noise[0])
    assert other.test.optimum(0.85) == pytest.approx(other.test.mean + 93.14 * norm.ppf(0.85))


def test_levels_that_a_store_lacks_are_not_simulated():
    distribution = distribution_without(
        categories=PUBLISHED_STORE.categories[1:3],
        weekdays=PUBLISHED_STORE.weekdays[:6],  # closed on Sundays
        months=PUBLISHED_STORE.months[3:],  # opened in April
    )
    data = store10(seed=0, distribution=distribution)
    for part, first in ((data.train, dt.date(2016, 4, 1)), (data.test, dt.date(2017, 4, 1))):
        dates = part.dates.astype(object)
        assert dates[0] == first
        assert {day.weekday() for day in dates} == set(range(6))
        assert set(part.category) == {"DAIRY", "DELI"}
    assert data.train.feature_names == distribution.feature_names
    assert data.train.features.shape[1] == 1 + 5 + 8
    first = PUBLISHED_STORE.intercept + 192.23 + dict(distribution.weekdays)["Friday"] + 11.94
    assert data.train.mean[0] == pytest.approx(first)
