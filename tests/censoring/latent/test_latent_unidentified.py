"""Decisions where the data cannot tell: minimax regret, expected cost, and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from unmet import (
    DistributionDecision,
    LatentBand,
    LinearDecision,
    Newsvendor,
    SquaredError,
    load,
    save,
)
from unmet.censoring.latent.unidentified import (
    RowRegrets,
    least_regret,
    left_over,
    regrets,
)
from unmet.errors import InvalidInput, Unsupported
from unmet.simulate import censoring_lab

ASYMMETRIC = Newsvendor(3, 1)
FEW = {"families": ("normal", "gumbel"), "random_state": 0}  # takes less time


# --- Plain arrays: distributions of scipy as the reference.


KINDS = {  # distribution functions and quantiles, of the standard distribution
    "normal": (special.ndtr, special.ndtri),
    "logistic": (special.expit, special.logit),
    "gumbel": (lambda u: np.exp(-np.exp(-u)), lambda p: -np.log(-np.log(p))),
}


class Distribution:
    """What scipy.stats would say, without its checks of every call."""

    def __init__(self, kind, place, scale):
        (self._below, self._quantile), self.place, self.scale = KINDS[kind], place, scale

    def cdf(self, value):
        return self._below((value - self.place) / self.scale)

    def ppf(self, level):
        return self.place + self.scale * self._quantile(level)


class Distributions:
    """Some distributions of the same rows."""

    def __init__(self, distributions):
        self.distributions = distributions

    def below(self, points):
        return np.stack(
            [
                distribution.cdf(point)
                for distribution, point in zip(self.distributions, points, strict=True)
            ]
        )

    def best(self, level):
        return np.stack([distribution.ppf(level) for distribution in self.distributions])


def evaluated(distribution, decision, underage, overage):
    """Expected cost of a decision, by the distribution's own partial expectations."""
    mean = distribution.mean()
    short = (
        distribution.expect(lambda d: d - decision, lb=decision) if np.isfinite(mean) else np.nan
    )
    return underage * short + overage * (decision - mean + short)


@st.composite
def families(draw):
    """Two to five distributions of three rows, and costs per row that are far from symmetric."""
    count = draw(st.integers(2, 5))
    place, scale = st.floats(-3, 6), st.floats(0.3, 3)
    distributions = []
    for _ in range(count):
        kind = draw(st.sampled_from(sorted(KINDS)))
        where = np.array([draw(place) for _ in range(3)])
        distributions.append(Distribution(kind, where, draw(scale)))
    underage = np.array([draw(st.floats(0.5, 9)) for _ in range(3)])
    return Distributions(distributions), (underage, np.ones(3))


def solved(distributions, slopes):
    best = distributions.best(slopes[0] / (slopes[0] + slopes[1]))
    return best, *least_regret(distributions.below, best, slopes)


@settings(max_examples=8, deadline=None)
@given(families())
def test_least_regret_is_the_best_of_a_fine_grid(problem):
    distributions, slopes = problem
    best, decision, certificate = solved(distributions, slopes)
    assert (best.min(axis=0) - 1e-9 <= decision).all()
    assert (decision <= best.max(axis=0) + 1e-9).all()
    grid = np.linspace(best.min(axis=0), best.max(axis=0), 101)
    worst = np.stack(
        [regrets(distributions.below, best, each, slopes).max(axis=0) for each in grid]
    )
    scale = slopes[0] * (np.ptp(best, axis=0) + 1e-6)
    assert (certificate <= worst.min(axis=0) + 1e-8 * scale).all()
    # no grid point can be better than the least by more than a step's worth of slope
    assert (certificate >= worst.min(axis=0) - scale / 100 - 1e-9).all()


@pytest.mark.parametrize("level", [0.15, 0.65, 0.95])
def test_regret_is_the_difference_of_expected_costs(level):
    distributions = Distributions([stats.norm(2.0, 1.5), stats.gamma(3.0, scale=2.0)])
    slopes = np.array([3.0 * level]), np.array([3.0 * (1 - level)])
    best = distributions.best(np.array([level]))
    decision = np.array([3.7])
    found = regrets(distributions.below, best, decision, slopes)
    for distribution, each, lost in zip(distributions.distributions, best, found, strict=True):
        costs = (float(slopes[0][0]), float(slopes[1][0]))
        expected = evaluated(distribution, 3.7, *costs) - evaluated(
            distribution, float(each[0]), *costs
        )
        assert lost[0] == pytest.approx(expected, rel=1e-5)


# --- The rule.


@pytest.fixture(scope="module")
def vague():
    """Half the rows of a skewed demand are censored: it looks like a symmetric one that is not."""
    return censoring_lab("gamma", orders="noisy", share=0.5, n=300, n_test=60, seed=1)


@pytest.fixture(scope="module")
def line(vague):
    """A line of minimax regret."""
    band = LatentBand(when_unidentified="minimax_regret", **FEW)
    return LinearDecision(ASYMMETRIC, band=band).fit(vague.train.features, vague.train.sales)


@pytest.fixture(scope="module")
def distribution(vague):
    """A distribution of least expected cost."""
    band = LatentBand(when_unidentified="expected_cost", **FEW)
    return DistributionDecision(ASYMMETRIC, band=band).fit(vague.train.features, vague.train.sales)


@pytest.fixture(scope="module")
def rules(vague, line, distribution):
    least = LatentBand(when_unidentified="least_censoring", **FEW).fit(
        ASYMMETRIC, vague.train.features, vague.train.sales
    )
    return {
        "least_censoring": least,
        "minimax_regret": line.band_rule_,
        "expected_cost": distribution.band_rule_,
    }


def test_decisions_lie_between_the_explanations(rules, vague):
    found = rules["least_censoring"].diagnosis_
    assert found.identified == "no"
    told = found.ambiguity
    low, high = told.decision_range
    for each in (told.least_censoring, told.minimax_regret, told.expected_cost):
        assert low - 1e-9 <= each.decision <= high + 1e-9
    assert (
        told.least_censoring.decision < told.expected_cost.decision < told.minimax_regret.decision
    )
    assert told.minimax_regret.worst < told.expected_cost.worst < told.least_censoring.worst
    assert told.least_censoring.worst_rate > 0.3
    assert told.rates[0] == 0.0
    for name, rule in rules.items():
        own = rule.diagnosis_.ambiguity  # of its own fit: another one ends a few bits beside it
        assert own.followed == name
        assert rule.diagnosis_.decision == pytest.approx(getattr(own, name).decision)


def test_the_band_leads_to_the_decision(rules, vague):
    some = vague.test.features
    least, regret = (rules[each].band(some).low for each in ("least_censoring", "minimax_regret"))
    assert (regret >= least - 1e-9).all()
    assert regret.mean() > 5
    # the same truth, seen through the distribution instead of the line
    distribution = rules["minimax_regret"].decision(some)
    model = rules["least_censoring"].model_
    line = regret + model.linear_quantile(model.basis.basis(some), 0.75)
    assert abs(distribution - line).mean() < 3


def test_the_certificate_is_kept(rules, vague):
    some, best = vague.test.features, vague.test.optimum(0.75)
    distribution = vague.test.distribution
    slopes = ASYMMETRIC.slopes.rows(best.size)
    lost = {}
    for name, rule in rules.items():
        decision = rule.decision(some)
        lost[name] = regrets(distribution.cdf, best[None], decision, slopes).mean()
        assert lost[name] <= rule.certificate(some).mean()
    assert lost["minimax_regret"] < 0.5 * lost["least_censoring"]
    own = rules["minimax_regret"].certificate(some)
    default = rules["minimax_regret"].certificate(some, decision=best - 60)
    assert (own < default).all()


@pytest.mark.parametrize("name", ["minimax_regret", "expected_cost"])
def test_costs_per_row_agree_with_one_for_all(rules, vague, name):
    some = vague.test.features[:6]
    alone = rules[name].band(some).low
    each = rules[name].band(some, underage=np.full(6, 3.0)).low
    np.testing.assert_allclose(each, alone)


def test_saved_and_loaded_gives_the_same(line, vague, tmp_path):
    model, some = line, vague.test.features
    save(model, tmp_path / "model.unmet")
    loaded = load(tmp_path / "model.unmet")
    np.testing.assert_array_equal(loaded.predict(some), model.predict(some))
    for ask in (
        lambda rule: rule.band(some).low,
        lambda rule: rule.decision(some),
        lambda rule: rule.certificate(some),
    ):
        np.testing.assert_allclose(ask(loaded.band_rule_), ask(model.band_rule_), rtol=1e-9)
    assert loaded.diagnosis_.ambiguity == model.diagnosis_.ambiguity
    assert loaded.diagnosis_.to_dict() == model.diagnosis_.to_dict()


@pytest.mark.slow
def test_squared_errors_have_a_least_regret_too(rules, vague):
    # for a squared error regrets are squared distances, so the answer is the middle of the means
    some, cost = vague.test.features[:4], SquaredError()
    least, regret, expected = (rules[each].decision(some, cost) for each in rules)
    assert (least < expected).all()
    assert (expected < regret).all()
    rule = rules["minimax_regret"]
    means = RowRegrets(rule.model_, left_over(rule.model_), some, cost, anchored=False).best
    middle = 0.5 * (means.min(axis=0) + means.max(axis=0))
    np.testing.assert_allclose(regret, middle, atol=0.01 * np.ptp(means, axis=0).max())


@pytest.mark.slow
def test_a_range_of_rates_says_where_to_look(vague):
    rows = vague.train
    rule = LatentBand(sellout_rate=(0.12, 0.3), when_unidentified="minimax_regret", **FEW)
    rule.fit(ASYMMETRIC, rows.features[:300], rows.sales[:300])
    told = rule.diagnosis_.ambiguity
    assert told.rates == pytest.approx((0.12, 0.3), abs=0.02)
    ends = [rule.band_at(rows.features, rate).low.mean() for rate in (0.12, 0.3)]
    assert ends[0] < rule.band(rows.features).low.mean() < max(ends[1], told.decision_range[1])


def test_nothing_changes_where_the_data_can_tell():
    rows = censoring_lab("normal", orders="noisy", share=0.4, n=2400, seed=2).train
    bands, found = [], []
    for when_unidentified in ("least_censoring", "minimax_regret"):
        rule = LatentBand(families="normal", when_unidentified=when_unidentified, random_state=0)
        rule.fit(ASYMMETRIC, rows.features, rows.sales)
        bands.append(rule.band(rows.features[:50]).low)
        found.append(rule.diagnosis_)
    assert found[0].identified == "yes"
    assert found[1].ambiguity is None
    np.testing.assert_array_equal(bands[1], bands[0])


def test_flags_leave_nothing_to_be_unsure_of(vague):
    rows = vague.train
    bands = []
    for when_unidentified in ("least_censoring", "minimax_regret"):
        rule = LatentBand(when_unidentified=when_unidentified, **FEW)
        rule.fit(ASYMMETRIC, rows.features, rows.sales, censored=rows.censored)
        bands.append(rule.band(rows.features[:20]).low)
        assert rule.diagnosis_.ambiguity is None
    np.testing.assert_array_equal(bands[0], bands[1])
    with pytest.raises(Unsupported, match="nobody knows whether they are censored"):
        rule.certificate(rows.features)


def test_a_distribution_follows(rules, distribution, vague):
    some = vague.test.features
    decided = distribution.predict(some)
    np.testing.assert_allclose(decided, rules["expected_cost"].decision(some))
    assert decided.mean() > rules["least_censoring"].decision(some).mean() + 2


def test_a_word_that_means_nothing_is_refused(vague):
    with pytest.raises(
        InvalidInput,
        match="when_unidentified must be 'least_censoring', 'minimax_regret' or 'expected_cost'",
    ):
        LatentBand(when_unidentified="most").fit(
            ASYMMETRIC, vague.train.features, vague.train.sales
        )


# --- What is said about it.


def test_a_planner_reads_what_being_wrong_costs(rules):
    said = {name: str(rule.diagnosis_) for name, rule in rules.items()}
    told = rules["least_censoring"].diagnosis_.ambiguity
    assert "Risk" in said["least_censoring"]
    flat = {name: " ".join(text.split()) for name, text in said.items()}
    assert f"decisions average {told.minimax_regret.decision:.1f}" in flat["least_censoring"]
    assert f"{told.least_censoring.worst:.1f} more than necessary" in flat["least_censoring"]
    assert "In the worst case a row costs up to" in flat["minimax_regret"]
    assert all(len(line) <= 88 for text in said.values() for line in text.splitlines())
