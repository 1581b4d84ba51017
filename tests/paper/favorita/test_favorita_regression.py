"""Least squares on dummies agrees with statsmodels, also where some dummies make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from paper.favorita import regress

FAMILIES = ("bread", "dairy", "eggs")
DAYS = ("Mon", "Tue", "Wed", "Thu")


def make(n, seed, families=(0, 1, 2), days=(0, 1, 2, 3)):
    generator = np.random.default_rng(seed)
    family, day = generator.choice(families, n), generator.choice(days, n)
    sales = 50 + 30 * family - 4 * day + generator.gamma(2.0, 8.0, n)
    return sales, [(FAMILIES, family), (DAYS, day)]


def reference(sales, factors, names):
    """Statsmodels on the columns with these names."""
    from statsmodels.regression.linear_model import OLS

    columns = [np.ones(len(sales))]
    for name in names[1:]:
        levels, codes = next(each for each in factors if name in each[0])
        columns.append((codes == levels.index(name)).astype(float))
    return OLS(sales, np.column_stack(columns)).fit()


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


def test_dummies_that_cannot_be_told_apart():
    """Eggs were sold on Thursdays only, and nothing else was."""
    sales, (family, day) = make(150, 3, families=(0, 1), days=(0, 1, 2))
    family[1][::10], day[1][::10] = 2, 3
    fit = regress(1, sales, [family, day])
    assert [name for name, pair in fit.coefficients.items() if pair is None] == ["Thu"]
    assert fit.notes == ("Thu not told apart from the others",)
    names = ["intercept", "dairy", "eggs", "Tue", "Wed"]
    check(fit, reference(sales, [family, day], names), sales)
