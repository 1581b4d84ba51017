"""Least squares on dummies agrees with statsmodels, also where some dummies make no sense."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from paper.favorita import regress
from unmet.errors import InvalidInput

FAMILIES = ("bread", "dairy", "eggs")
DAYS = ("Mon", "Tue", "Wed", "Thu")


def make(n, seed, families=(0, 1, 2), days=(0, 1, 2, 3)):
    generator = np.random.default_rng(seed)
    family, day = generator.choice(families, n), generator.choice(days, n)
    sales = 50 + 30 * family - 4 * day + generator.gamma(2.0, 8.0, n)
    return sales, [(FAMILIES, family), (DAYS, day)]


def reference(sales, factors, names):
    """Statsmodels on the columns with these names."""
    columns = [np.ones(len(sales))]
    for name in names[1:]:
        levels, codes = next(each for each in factors if name in each[0])
        columns.append((codes == levels.index(name)).astype(float))
    return sm.OLS(sales, np.column_stack(columns)).fit()


def check(fit, result, sales):
    assert fit.rmse == pytest.approx(np.sqrt((result.resid**2).mean()))
    assert fit.measures["RMSE over median"] == pytest.approx(fit.rmse / np.median(sales))
    assert fit.measures["R²"] == pytest.approx(result.rsquared)
    assert fit.measures["adjusted R²"] == pytest.approx(result.rsquared_adj)
    assert fit.measures["F"] == pytest.approx(result.fvalue)
    values, errors = zip(*filter(None, fit.coefficients.values()), strict=True)
    assert values == pytest.approx(result.params, abs=1e-9)
    assert errors == pytest.approx(result.bse)
    np.testing.assert_allclose(fit.residuals, result.resid, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_agrees_with_statsmodels(scale):
    sales, factors = make(200, 0)
    fit = regress(7, scale * sales, factors)
    names = ["intercept", "dairy", "eggs", "Tue", "Wed", "Thu"]
    assert list(fit.coefficients) == names
    result = reference(sales, factors, names)
    assert fit.measures["R²"] == pytest.approx(result.rsquared)
    assert fit.measures["adjusted R²"] == pytest.approx(result.rsquared_adj)
    assert fit.measures["F"] == pytest.approx(result.fvalue)
    assert fit.rmse / scale == pytest.approx(np.sqrt((result.resid**2).mean()))
    pairs = np.array(list(fit.coefficients.values())) / scale
    assert pairs[:, 0] == pytest.approx(result.params, abs=1e-9)
    assert pairs[:, 1] == pytest.approx(result.bse)
    assert (fit.store, fit.n_rows, fit.notes) == (7, 200, ())


def test_a_level_without_rows_has_no_dummy():
    sales, factors = make(150, 1, families=(0, 2), days=(0, 1, 3))
    fit = regress(1, sales, factors)
    missing = [name for name, pair in fit.coefficients.items() if pair is None]
    assert missing == ["dairy", "Wed"]
    assert fit.notes == ("no rows of dairy", "no rows of Wed")
    check(fit, reference(sales, factors, ["intercept", "eggs", "Tue", "Thu"]), sales)


def test_without_the_baseline_the_next_level_is_it():
    sales, factors = make(150, 2, families=(1, 2), days=(2, 3))
    fit = regress(1, sales, factors)
    assert "baseline dairy" in fit.notes
    assert "baseline Wed" in fit.notes
    check(fit, reference(sales, factors, ["intercept", "eggs", "Thu"]), sales)


def test_dummies_that_cannot_be_told_apart():
    """Eggs were sold on Thursdays only, and nothing else was."""
    sales, (family, day) = make(150, 3, families=(0, 1), days=(0, 1, 2))
    family[1][::10], day[1][::10] = 2, 3
    fit = regress(1, sales, [family, day])
    assert [name for name, pair in fit.coefficients.items() if pair is None] == ["Thu"]
    assert fit.notes == ("Thu not told apart from the others",)
    names = ["intercept", "dairy", "eggs", "Tue", "Wed"]
    check(fit, reference(sales, [family, day], names), sales)


def test_one_row_is_enough_to_tell_a_dummy_apart():
    sales, (family, day) = make(3000, 4, families=(0, 1), days=(0, 1, 2, 3))
    family[1][17] = 2
    fit = regress(1, sales, [family, day])
    assert all(fit.coefficients.values())
    assert fit.residuals[17] == pytest.approx(0, abs=1e-9)


def test_one_row_apart_is_apart():
    """Eggs were sold on Thursdays only, and nothing else was, but for one row of 3,000."""
    sales, (family, day) = make(3000, 6, families=(0, 1), days=(0, 1, 2))
    family[1][::10], day[1][::10] = 2, 3
    family[1][0] = 0
    fit = regress(1, sales, [family, day])
    names = ["intercept", "dairy", "eggs", "Tue", "Wed", "Thu"]
    check(fit, reference(sales, [family, day], names), sales)


def test_where_a_measure_is_not_defined():
    _, factors = make(40, 5)
    constant = regress(1, np.full(40, 7.3), factors)
    assert [constant.measures[name] for name in ("R²", "adjusted R²", "F")] == [None] * 3
    assert constant.rmse == pytest.approx(0, abs=1e-12)
    one_level = [(FAMILIES, np.zeros(5, dtype=np.int64))]
    alone = regress(1, np.array([1.0, 2.0, 4.0, 8.0, 16.0]), one_level)
    assert alone.measures["R²"] == pytest.approx(0)
    assert alone.measures["F"] is None
    assert alone.coefficients["intercept"][0] == pytest.approx(31 / 5)
    assert alone.measures["RMSE over median"] == pytest.approx(np.std([1, 2, 4, 8, 16]) / 4)


def test_as_many_rows_as_coefficients():
    codes = np.array([0, 1, 2])
    with pytest.raises(InvalidInput, match="store 5 has 3 rows for 3 coefficients"):
        regress(5, np.array([1.0, 2.0, 3.0]), [(FAMILIES, codes)])
    more = np.array([0, 1, 2, 2])
    assert regress(5, np.array([1.0, 2.0, 3.0, 5.0]), [(FAMILIES, more)]).n_rows == 4
