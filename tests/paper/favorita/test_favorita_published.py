"""The paper's store tables, typed in: complete, and consistent with one another."""

from __future__ import annotations

from fractions import Fraction

import pytest

from paper.published import DESCRIPTIVE, FAMILIES, STORES
from unmet.simulate import store10

DUMMIES = 25
HALF = 0.00005  # of the last printed digit
OPEN_DAYS = 364  # shops close on New Year's Day and at Christmas


def rows_implied(r2, f):
    """F = R²/(1 − R²) · (n − p − 1)/p, solved for n."""
    return f * DUMMIES * (1 - r2) / r2 + DUMMIES + 1


def possible_rows(store):
    low, high = (rows_implied(store["R²"] + end, store["F"]) for end in (HALF, -HALF))
    return range(int(low) + (low > int(low)), int(high) + 1)


def test_all_stores_but_two():
    assert len(STORES) == 52
    assert set(range(1, 55)) - set(STORES) == {31, 52}
    # adds up the printed columns: a mistyped digit shows
    assert sum(Fraction(str(each["RMSE"])) for each in STORES.values()) == Fraction("13504.8830")
    assert sum(Fraction(str(each["F"])) for each in STORES.values()) == Fraction("52527.0805")


def test_sorted_by_rmse_over_median_and_store_10_is_smallest_in_both():
    ratios = [each["RMSE over median"] for each in STORES.values()]
    assert ratios == sorted(ratios)
    assert next(iter(STORES)) == 10
    assert min(STORES, key=lambda store: STORES[store]["RMSE"]) == 10


@pytest.mark.parametrize("number", STORES)
def test_r2_and_f_imply_a_possible_number_of_rows_and_the_adjusted_r2(number):
    store = STORES[number]
    rows = [n for n in possible_rows(store) if n <= OPEN_DAYS * 9]
    assert rows
    n = rows[len(rows) // 2]
    adjusted = 1 - (1 - store["R²"]) * (n - 1) / (n - DUMMIES - 1)
    # half a digit for each of the two printed numbers
    assert adjusted == pytest.approx(store["adjusted R²"], abs=2.1 * HALF)


def test_store_10_is_the_same_in_all_three_tables():
    store, printed = STORES[10], DESCRIPTIVE
    assert printed["count"] in possible_rows(store)
    ratio = store["RMSE"] / printed["median"]
    assert ratio == pytest.approx(store["RMSE over median"], abs=HALF)
    n = printed["count"]
    unexplained = n * store["RMSE"] ** 2 / ((n - 1) * printed["std"] ** 2)
    assert 1 - unexplained == pytest.approx(store["R²"], abs=2 * HALF)
    order = [printed[name] for name in ("min", "lower quartile", "median", "upper quartile", "max")]
    assert order == sorted(order)


def test_the_simulated_categories_are_the_families():
    assert tuple(dict.fromkeys(store10(0).train.category.tolist())) == FAMILIES
    # least squares keeps the mean, and 57 small rows of 3,294 are missing
    mean = store10(0).train.mean.mean()
    assert mean < DESCRIPTIVE["mean"] < mean * 3294 / 3237
