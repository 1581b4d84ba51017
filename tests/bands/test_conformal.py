"""Quantiles moved to their level by held-out rows: the guarantee, by simulation, and its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logit, ndtr
from sklearn.base import BaseEstimator

from unmet import Newsvendor
from unmet.bands import LatentBand
from unmet.bands.classic.kaplan_meier import in_order, product_limit_quantile
from unmet.bands.conformal import (
    ConformalCorrection,
    ConformalLevels,
    _folds,
    conformal_correction,
    held_out_levels,
)
from unmet.errors import InvalidInput
from unmet.rows import Rows
from unmet.simulate import bank


def market(generator, n, order=0.9):
    """Gamma truths around a line with a growing scale; orders that scatter around another."""
    x = generator.uniform(size=n)
    scale = 1 + x
    truth = 10 + 5 * x + scale * (generator.gamma(2, 1, n) - 2)
    stock = 10 + 5 * x + scale * (order + 1.5 * generator.standard_normal(n))
    return x, scale, truth, stock


def wrong_quantile(x):
    """A quantile that no level belongs to, though right in scale and slope but for a little."""
    return 9 + 5.5 * x


def coverage(shift):
    """Exact share of truths at or below the corrected quantile, over all x."""
    x = (np.arange(200) + 0.5) / 200
    scale = 1 + x
    distance = (wrong_quantile(x) + shift * scale - 10 - 5 * x) / scale + 2
    return float(stats.gamma.cdf(distance, 2).mean())


# --- the guarantee ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.35, 0.6, 0.75])
@pytest.mark.parametrize("n", [150, 600])
def test_the_level_is_reached_on_average_with_known_weights(level, n):
    generator = np.random.default_rng(int(1000 * level) + n)
    reached, bound, censored = [], [], []
    for _ in range(200):
        x, scale, truth, stock = market(generator, n)
        quantile, sold_out = wrong_quantile(x), truth > stock

        def seen(t, x=x, scale=scale, quantile=quantile):
            return ndtr((0.9 - (quantile + t * scale - 10 - 5 * x) / scale) / 1.5)

        found = conformal_correction(
            np.minimum(truth, stock),
            sold_out,
            quantile,
            level,
            scale=scale,
            seen_probability=seen,
            least_seen=0.1,
            least_rows=0,
        )
        assert found.applied
        reached.append(coverage(found.shift))
        bound.append(found.bound)
        censored.append(sold_out.mean())
    assert np.mean(censored) > 0.25
    error = 4 * np.std(reached) / np.sqrt(len(reached))
    assert abs(np.mean(reached) - level) <= np.mean(bound) + error
    assert abs(coverage(0.0) - level) > 3 * error  # there was something to correct


def test_estimated_weights_do_as_well_where_the_scale_is_right():
    generator = np.random.default_rng(4)
    reached, naive = [], []
    for _ in range(150):
        x, scale, truth, stock = market(generator, 500)
        sales, sold_out, quantile = np.minimum(truth, stock), truth > stock, wrong_quantile(x)
        found = conformal_correction(sales, sold_out, quantile, 0.8, scale=scale, least_seen=0.1)
        reached.append(coverage(found.shift))
        seen = ~sold_out  # the same without weights, as if the seen rows were a fair sample
        nothing = np.zeros(seen.sum(), dtype=bool)
        plain = conformal_correction(sales[seen], nothing, quantile[seen], 0.8, scale=scale[seen])
        naive.append(coverage(plain.shift))
    assert np.mean(reached) == pytest.approx(0.8, abs=0.012)
    assert np.mean(naive) < 0.75


# --- what it is, where it is something known ----------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(st.integers(-20, 20), min_size=5, max_size=60),
    level=st.sampled_from([0.15, 0.5, 0.8]),
)
def test_without_censoring_it_is_the_order_statistic_of_split_conformal(values, level):
    distance = np.array(values, dtype=float)
    nothing = np.zeros(distance.size, dtype=bool)
    found = conformal_correction(distance, nothing, np.zeros(distance.size), level, least_rows=0)
    place = int(np.ceil(level * (distance.size + 1) - 1e-9))
    if place > distance.size:
        assert not found.applied
    else:
        assert found.shift == np.sort(distance)[place - 1]
        assert found.effective_rows == distance.size + 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), level=st.floats(0.1, 0.9))
def test_with_estimated_weights_it_is_a_product_limit_quantile(seed, level):
    generator = np.random.default_rng(seed)
    truth, stock = generator.integers(0, 12, 80), generator.integers(3, 18, 80)
    value, hidden = np.minimum(truth, stock).astype(float), truth > stock
    found = conformal_correction(value, hidden, np.zeros(80), level, least_rows=0, least_seen=1e-9)
    order = in_order(value, hidden)
    row = value[order][None], hidden[order][None], np.ones((1, 80))
    # weights of all rows sum to their number, and one row is added for the new one
    reference = product_limit_quantile(*row, np.array([level * 81 / 80]))
    if found.applied:
        assert reference.reached.all()
        assert found.shift == reference.value[0]
    else:
        assert not reference.reached.all() or reference.value[0] == value.max()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    level=st.floats(0.1, 0.9),
    unit=st.floats(0.01, 100),
    start=st.floats(-1e3, 1e3),
)
def test_units_and_origin_do_not_matter(seed, level, unit, start):
    x, scale, truth, stock = market(np.random.default_rng(seed), 200)
    sales, hidden, quantile = np.minimum(truth, stock), truth > stock, wrong_quantile(x)
    found = conformal_correction(sales, hidden, quantile, level, scale=scale)
    other = conformal_correction(
        start + unit * sales, hidden, start + unit * quantile, level, scale=unit * scale
    )
    assert found.applied == other.applied
    assert other.shift == pytest.approx(found.shift, abs=1e-6)
    assert other.corrected(start + unit * quantile, unit * scale) == pytest.approx(
        start + unit * found.corrected(quantile, scale), abs=1e-5 * unit + 1e-6
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_higher_level_is_never_moved_to_less(seed):
    x, scale, truth, stock = market(np.random.default_rng(seed), 300)
    sales, hidden, quantile = np.minimum(truth, stock), truth > stock, wrong_quantile(x)
    shifts = [
        found.shift
        for level in (0.2, 0.4, 0.6, 0.75, 0.9)
        if (found := conformal_correction(sales, hidden, quantile, level, scale=scale)).applied
    ]
    assert shifts == sorted(shifts)


# --- levels of a whole law ----------------------------------------------------------------------


class NarrowLaw(BaseEstimator):
    """A normal law around the mean of what is seen, with a deviation that is given, and wrong."""

    def __init__(self, deviation=1.0):
        self.deviation = deviation

    def fit_rows(self, rows, cost, **_):
        assert cost is rows.cost
        self.learned_from_ = rows.n_rows
        columns = np.column_stack([np.ones(rows.n_rows), rows.features])
        self.slopes_ = np.linalg.lstsq(columns, rows.observation, rcond=None)[0]
        return self

    def located(self, X):
        return np.column_stack([np.ones(len(X)), X]) @ self.slopes_

    def survival(self, X, value):
        return stats.norm.sf(value, self.located(X), self.deviation)

    def quantile(self, X, level):
        return stats.norm.ppf(level, self.located(X), self.deviation)


def law_rows(generator, n, **known):
    x = generator.uniform(-2, 2, (n, 1))
    truth = 20 + 3 * x[:, 0] + generator.gumbel(0, 2, n)
    stock = 23 + 3 * x[:, 0] + 2.5 * generator.standard_normal(n)
    rows = Rows.of(
        Newsvendor.at_level(0.7), x, np.minimum(truth, stock), None, truth > stock, **known
    )
    return rows, truth


def law_coverage(law, levels, level):
    x = np.linspace(-2, 2, 101)[:, None]
    asked = law.quantile(x, float(levels.asked(level)))
    return float(stats.gumbel_r.cdf(asked, 20 + 3 * x[:, 0], 2).mean())


@pytest.mark.parametrize("level", [0.3, 0.6, 0.8])
def test_a_wrong_law_is_asked_at_levels_that_reach_what_is_meant(level):
    generator = np.random.default_rng(7)
    reached, plain = [], []
    for _ in range(40):
        rows, _ = law_rows(generator, 400)
        levels = held_out_levels(NarrowLaw(), rows)
        law = NarrowLaw().fit_rows(rows, rows.cost)
        reached.append(law_coverage(law, levels, level))
        plain.append(
            law_coverage(law, ConformalLevels(levels.below[:5], levels.censored[:5]), level)
        )
    assert np.mean(reached) == pytest.approx(level, abs=0.02)
    assert abs(np.mean(plain) - level) > 0.05  # five rows are too few: the law as it is


def test_levels_rise_and_what_lies_beyond_is_moved_like_the_highest():
    generator = np.random.default_rng(2)
    rows, _ = law_rows(generator, 1500)
    levels = held_out_levels(NarrowLaw(), rows)
    meant = np.array([0.2, 0.5, 0.7, 0.9, 0.97, 0.99])
    asked = levels.asked(meant)
    assert (np.diff(asked) > 0).all()
    assert asked[0] == levels.asked(0.2)
    highest = levels.highest
    assert levels.correction(highest).applied
    assert not levels.correction(highest + 0.0101).applied
    edge = highest + levels.correction(highest).shift
    for level, found in zip(meant, asked, strict=True):
        if level > highest:
            assert logit(found) - logit(level) == pytest.approx(logit(edge) - logit(highest))
    assert meant[-1] > highest


def test_whole_weeks_are_held_out_and_unknown_rows_are_not_counted():
    generator = np.random.default_rng(2)
    days = np.datetime64("2024-01-01") + np.arange(200)
    rows, _ = law_rows(generator, 200, time=days)
    fold = _folds(rows, 4, 0)
    assert (fold[:7] == 0).all()
    assert (fold[7:14] == 1).all()
    assert fold[28] == 0
    left = np.flatnonzero(np.arange(200) // 7 % 4 != 0)  # every fourth week held out elsewhere
    assert np.bincount(_folds(rows.take(left), 4, 0)).min() > 20
    some = replace(rows, censored=np.where(np.arange(200) < 50, np.nan, rows.censored))
    assert held_out_levels(NarrowLaw(), some).below.size == 150
    assert held_out_levels(NarrowLaw(), replace(rows, censored=None)) is None
    assert held_out_levels(NarrowLaw(), replace(rows, censored=np.full(200, np.nan))) is None
    undated = _folds(replace(rows, time=None), 4, 0)
    assert np.bincount(undated).tolist() == [50] * 4
    assert (undated[:7] != 0).any()


def test_the_latent_law_is_calibrated_as_it_is_and_cautious_levels_leave_it():
    case = bank("normal, linear, 900 rows, noisy", seed=0)
    train = case.train
    rows = Rows.of(
        Newsvendor.at_level(0.7),
        train.features,
        train.sales,
        None,
        train.censored,
        None,
        train.dates,
    )
    levels = held_out_levels(LatentBand(random_state=0), rows, n_folds=2, cautious=2)
    assert levels.asked([0.5, 0.7]).tolist() == [0.5, 0.7]
    assert levels.correction(0.7).reached == pytest.approx(0.7, abs=0.05)


# --- where it is off ----------------------------------------------------------------------------


def test_few_rows_are_left_alone_and_told():
    x, scale, truth, stock = market(np.random.default_rng(0), 25)
    found = conformal_correction(
        np.minimum(truth, stock), truth > stock, wrong_quantile(x), 0.8, scale=scale
    )
    assert not found.applied
    assert found.shift == 0
    assert str(found).startswith("Not calibrated: 25 held-out rows are worth")
    assert found.corrected([7.0]) == [7.0]


def test_levels_beyond_what_is_seen_are_left_alone_and_told():
    # orders end where 70% of the truths lie: nothing above was ever seen
    generator = np.random.default_rng(0)
    truth = generator.gamma(2, 1, 2000)
    stock = np.minimum(generator.gamma(3, 1, 2000), stats.gamma.ppf(0.7, 2))
    sales, hidden = np.minimum(truth, stock), truth > stock
    below = conformal_correction(sales, hidden, np.full(2000, 1.0), 0.5)
    assert below.corrected(1.0) == pytest.approx(stats.gamma.ppf(0.5, 2), abs=0.12)
    beyond = conformal_correction(sales, hidden, np.full(2000, 3.0), 0.9)
    assert not beyond.applied
    assert beyond.reached is None  # the quantile itself lies where nothing was seen
    assert "seen rows reach the" in beyond.reason
    assert float(beyond.reason.split("the ")[1].split("%")[0]) == pytest.approx(70, abs=5)


def test_a_cautious_correction_leaves_alone_what_chance_explains():
    x, scale, truth, stock = market(np.random.default_rng(1), 400)
    sales, hidden = np.minimum(truth, stock), truth > stock
    right = 10 + 5 * x + scale * (stats.gamma.ppf(0.75, 2) - 2)
    kept = conformal_correction(sales, hidden, right, 0.75, scale=scale, cautious=2)
    assert not kept.applied
    assert kept.reached == pytest.approx(0.75, abs=3 * kept.standard_error)
    assert "which chance explains" in kept.reason
    assert conformal_correction(sales, hidden, right, 0.75, scale=scale).applied
    moved = conformal_correction(sales, hidden, right - scale, 0.75, scale=scale, cautious=2)
    assert moved.shift == pytest.approx(1, abs=0.35)
    assert str(moved).startswith("Held-out rows: ")


def test_the_standard_error_is_that_of_many_draws():
    generator = np.random.default_rng(8)
    found = []
    for _ in range(200):
        x, scale, truth, stock = market(generator, 300)
        quantile = wrong_quantile(x)
        found.append(
            conformal_correction(
                np.minimum(truth, stock), truth > stock, quantile, 0.6, scale=scale
            )
        )
    spread = np.std([each.reached for each in found])
    assert np.mean([each.reached for each in found]) == pytest.approx(coverage(0.0), abs=0.01)
    # estimated weights make it a little smaller than weights that are known would
    assert np.mean([each.standard_error for each in found]) == pytest.approx(spread, rel=0.25)


# --- wrong uses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"level": 1.0}, "level must be"),
        ({"censored": [0, 1, 0]}, "censored must be true or false"),
        ({"censored": [True, False]}, "in each of 3 rows"),
        ({"observation": 3.0}, "observation must have one number per row"),
        ({"quantile": [1.0, 2.0]}, "quantile must have 3 rows, got 2"),
        ({"scale": [1.0, 0.0, 2.0]}, "scale must be positive"),
        ({"seen_probability": lambda t: t[:2]}, "seen_probability must give 3 numbers"),
        ({"seen_probability": lambda t: t * 0 + 2}, "seen_probability must give numbers from 0"),
        ({"least_seen": 0.0}, "least_seen must be"),
        ({"cautious": -1.0}, "cautious must be"),
    ],
)
def test_wrong_uses_get_a_sentence(changes, words):
    given_rows = {
        "observation": [1.0, 2.0, 3.0],
        "censored": [False, True, False],
        "quantile": 2.0,
        "level": 0.5,
    }
    with pytest.raises(InvalidInput, match=words):
        conformal_correction(**{**given_rows, **changes})


def test_the_record_says_how_far_it_may_be_off():
    assert ConformalCorrection(0.9, 0.1, 0.8, 0.02, 100, 50.0).bound == pytest.approx(0.02)
    assert ConformalCorrection(0.9, 0.0, None, None, 0, 0.0, "none").bound == 1.0
