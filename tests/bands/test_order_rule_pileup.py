"""The exact scan over factors, against trying them one by one."""

import numpy as np
import pytest

from unmet.bands.order_rule.lots import LARGEST, SMALLEST, Rounding, best_factors

STEPS = (
    Rounding(1, "up"),
    Rounding(1, "nearest"),
    Rounding(1, "down"),
    Rounding(6, "up"),
    Rounding(0.0, "none"),
)


def gains(factors, s, base, step, price):
    """Rows at the order less the price of those above it, by ordering, for every factor."""
    use = (s > 0) & (base > 0)
    gap = step.gap(s[use], step.order(np.outer(factors, base[use])))
    return (gap == 0).sum(axis=1) - price * (gap > 0).sum(axis=1)


def factors_to_try(s, base, step):
    """All factors at which some order may change, the middles between them, and the range."""
    use = (s > 0) & (base > 0)
    size = step.lot or 1.0
    moves = np.arange(-3, 3.5, 0.5) * size
    edges = ((np.round(s[use, None] / size) * size + moves) / base[use, None]).ravel()
    edges = np.unique(np.r_[edges, (s[use] / base[use]), SMALLEST, LARGEST])
    edges = edges[(edges >= SMALLEST) & (edges <= LARGEST)]
    return np.r_[edges, (edges[1:] + edges[:-1]) / 2]


def small_cases(step, n_cases=60):
    """Few rows, small numbers and factors all over the range, so that ends coincide."""
    for seed in range(n_cases):
        generator = np.random.default_rng([seed, 17])
        n_rows = int(generator.integers(1, 16))
        base = generator.integers(0, 15, n_rows) / generator.choice([1, 4])
        factor = generator.choice([0.5, 0.75, 1.0, 1.15, 2.0, 2.9, 3.0])
        s = np.where(
            generator.random(n_rows) < 0.5,
            step.order(factor * base),
            generator.integers(0, 20, n_rows),
        )
        yield s, base, generator.choice([0.5, 1.5, 4.0])


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_no_factor_gains_more(step):
    for s, base, price in small_cases(step):
        factor, (gain,), looked_at = best_factors(
            s, base, np.zeros(s.size, np.intp), 1, step, price
        )
        best = gains(factors_to_try(s, base, step), s, base, step, price).max()
        if not looked_at:
            assert np.isnan(factor[0])
            assert best <= 0
            continue
        assert gain == best or (gain < best <= 0)  # nobody orders at a loss
        loss = max(1.0, 0.005 * gain) if gain > 0 else 0.0
        assert gains(factor, s, base, step, price)[0] >= gain - loss


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("fewest", [1, 3])
def test_a_group_with_enough_gain_is_never_passed_over(step, fewest):
    kept = 0
    for s, base, price in small_cases(step):
        group = np.zeros(s.size, np.intp)
        full = best_factors(s, base, group, 1, step, price)
        quick = best_factors(s, base, group, 1, step, price, fewest)
        (factor,), (gain,), looked_at = full
        assert quick[2] == looked_at
        if gain >= fewest:
            assert (quick[0][0], quick[1][0]) == (factor, gain)
            kept += 1
        else:
            assert np.isnan(quick[0][0])
    assert kept >= 5


def test_hopeless_groups_are_not_looked_at_closely(monkeypatch):
    generator = np.random.default_rng(0)
    base = generator.integers(200, 900, 3000) / 4
    s = generator.poisson(base).astype(float)  # nothing have a point mass
    seen = []
    sort = np.sort
    monkeypatch.setattr(np, "sort", lambda values: seen.append(values.size) or sort(values))
    best_factors(s, base, np.repeat(np.arange(10), 300), 10, Rounding(1, "up"), 1.5, 8)
    assert max(seen) <= 600


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_groups_do_not_disturb_each_other(step):
    generator = np.random.default_rng(0)
    base = generator.integers(20, 200, 600) / 4
    factor = np.repeat([1.15, 0.8, 2.4], 200)
    s = np.minimum(step.order(factor * base), generator.poisson(1.1 * factor * base))
    group = np.repeat([0, 1, 3], 200)
    mixed = generator.permutation(600)
    factors, gain, _ = best_factors(s[mixed], base[mixed], group[mixed], 5, step, 1.5)
    for place in (0, 1, 3):
        mine = group == place
        alone = best_factors(s[mine], base[mine], np.zeros(200, np.intp), 1, step, 1.5)
        assert factors[place] == pytest.approx(alone[0][0], rel=1e-12)
        assert gain[place] == alone[1][0]
    assert np.isnan(factors[[2, 4]]).all()
    np.testing.assert_allclose(factors[[0, 1, 3]], [1.15, 0.8, 2.4], rtol=2e-3)


def test_round_factors_are_preferred():
    generator = np.random.default_rng(1)
    base = generator.integers(400, 4000, 900) / 4
    s = np.where(generator.random(900) < 0.4, np.ceil(1.15 * base), np.floor(0.6 * base))
    factor, _, _ = best_factors(s, base, np.zeros(900, np.intp), 1, Rounding(1, "up"), 1.5)
    assert factor[0] == 1.15
