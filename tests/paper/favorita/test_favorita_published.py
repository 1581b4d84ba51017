"""The paper's store tables, typed in: complete, and consistent with one another."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paper.favorita.published import (
    PERISHABLE_FAMILIES,
    PUBLISHED_COEFFICIENTS,
    PUBLISHED_DESCRIPTIVE,
    PUBLISHED_STORES,
)
from unmet.simulate import store10

DUMMIES = 25
HALF = 0.00005  # of the last printed digit
OPEN_DAYS = 364  # shops close on New Year's Day and at Christmas


def rows_implied(r2, f):
    """F = R²/(1 − R²) · (n − p − 1)/p, solved for n."""
    return f * DUMMIES * (1 - r2) / r2 + DUMMIES + 1


def possible_rows(store):
    low, high = rows_implied(store.r2 + HALF, store.f), rows_implied(store.r2 - HALF, store.f)
    return range(int(low) + (low > int(low)), int(high) + 1)


def by_number(store):
    return next(each for each in PUBLISHED_STORES if each.store == store)


def test_all_stores_but_two():
    numbers = [each.store for each in PUBLISHED_STORES]
    assert len(numbers) == 52
    assert set(range(1, 55)) - set(numbers) == {31, 52}
    # adds up the printed columns: a mistyped digit shows
    assert sum(Fraction(str(each.rmse)) for each in PUBLISHED_STORES) == Fraction("13504.8830")
    assert sum(Fraction(str(each.f)) for each in PUBLISHED_STORES) == Fraction("52527.0805")


def test_sorted_by_rmse_over_median_and_store_10_is_smallest_in_both():
    ratios = [each.rmse_over_median for each in PUBLISHED_STORES]
    assert ratios == sorted(ratios)
    assert PUBLISHED_STORES[0].store == 10
    assert min(PUBLISHED_STORES, key=lambda each: each.rmse).store == 10


@pytest.mark.parametrize("store", PUBLISHED_STORES, ids=lambda each: str(each.store))
def test_r2_and_f_imply_a_possible_number_of_rows_and_the_adjusted_r2(store):
    rows = [n for n in possible_rows(store) if n <= OPEN_DAYS * 9]
    assert rows
    n = rows[len(rows) // 2]
    adjusted = 1 - (1 - store.r2) * (n - 1) / (n - DUMMIES - 1)
    # half a digit for each of the two printed numbers
    assert adjusted == pytest.approx(store.adjusted_r2, abs=2.1 * HALF)


def test_store_10_is_the_same_in_all_three_tables():
    store, printed = by_number(10), PUBLISHED_DESCRIPTIVE
    assert printed.count in possible_rows(store)
    assert store.rmse / printed.median == pytest.approx(store.rmse_over_median, abs=HALF)
    n = printed.count
    unexplained = n * store.rmse**2 / ((n - 1) * printed.std**2)
    assert 1 - unexplained == pytest.approx(store.r2, abs=2 * HALF)
    assert printed.min < printed.lower_quartile < printed.median
    assert printed.median < printed.upper_quartile < printed.max


def test_coefficients_are_those_of_the_generator():
    """`unmet.simulate` has them typed in as well: rooms beside each other share no code."""
    from unmet.simulate import PUBLISHED_LAW

    assert list(PUBLISHED_COEFFICIENTS) == ["intercept", *PUBLISHED_LAW.feature_names]
    assert list(PUBLISHED_COEFFICIENTS.values()) == [
        PUBLISHED_LAW.intercept,
        *PUBLISHED_LAW.coefficients,
    ]
    assert tuple(dict.fromkeys(store10(0).train.category.tolist())) == PERISHABLE_FAMILIES
    # least squares keeps the mean, and 57 small rows of 3,294 are missing
    mean = store10(0).train.mean.mean()
    assert mean < PUBLISHED_DESCRIPTIVE.mean < mean * 3294 / 3237
