"""The contract of a censoring model: what is derived from its distribution, checked by counting."""

import numpy as np
import pytest
from scipy import stats

from unmet import LatentBand, Limits, Newsvendor
from unmet.censoring.latent.fit import fit_censoring
from unmet.censoring.model import CensoringModel
from unmet.censoring.panel import PanelDistribution
from unmet.costs import AgeReplacement, SquaredError
from unmet.rows import Rows

COST = Newsvendor(4, 1)


class Exponential(CensoringModel):
    """A known distribution: exponential, its scale in the first column."""

    def distribution(self, rows):
        return self.Row(rows.features[:, 0])

    def _chance_censored(self, rows):
        return np.full(rows.n_rows, 0.3)

    class Row:
        def __init__(self, scale):
            self.scale = scale

        def truth(self, level):
            return -self.scale * np.log1p(-level)

        def below(self, value):
            return -np.expm1(-value / self.scale)


def known(n_rows, observation, censored=None, cost=COST, **more):
    scale = np.full((n_rows, 1), 2.0)
    return Rows(scale, np.broadcast_to(observation, n_rows), cost, censored=censored, **more)


def test_a_censored_row_has_the_distribution_above_its_observation():
    model, rows = Exponential(), known(3, [1.0, 3.0, 5.0], np.ones(3))
    generator = np.random.default_rng(0)
    drawn = generator.exponential(2.0, 400_000)  # rejection: what is left above the observation
    for level in (0.1, 0.8, 0.95):
        found = model.quantile(rows, level)
        counted = [np.quantile(drawn[drawn > at], level) for at in rows.observation]
        assert found == pytest.approx(counted, rel=0.02)


def test_flags_are_respected_and_unknown_rows_are_a_mixture():
    rows = known(4, 2.0, np.array([0.0, 1.0, np.nan, 0.6]))
    model = Exponential()
    assert model.probability_censored(rows) == pytest.approx([0.0, 1.0, 0.3, 0.6])
    assert model.quantile(rows, 0.2)[[0, 2, 3]] == pytest.approx(2.0)
    drawn = model.sample(rows, 2000, 1)
    assert (drawn >= 2.0).all()
    assert (drawn > 2.0).mean(axis=0) == pytest.approx([0, 1, 0.3, 0.6], abs=0.002)
    assert model.imputed(rows) == pytest.approx([2.0, 4.0, 2.6, 3.2], rel=0.02)


def test_a_row_without_an_observation_has_the_whole_distribution():
    rows = known(2, np.nan)
    assert Exponential().quantile(rows, 0.7) == pytest.approx(-2.0 * np.log(0.3))
    assert np.isnan(Exponential().probability_censored(rows)).all()


def test_truths_stay_within_their_limits():
    limits = Limits(lower=[1.0, -np.inf, 2.0], upper=[2.0, 1.5, np.inf])
    rows = known(3, 1.0, limits=limits)
    drawn = Exponential().sample(rows, 500, 0)
    assert (drawn >= limits.lower).all()
    assert (drawn <= limits.upper).all()
    low, high = stats.expon(scale=2).cdf([1.0, 2.0])
    assert (drawn[:, 0].mean()) == pytest.approx(
        stats.expon(scale=2).ppf(np.linspace(low, high, 2001)).mean(), rel=0.01
    )


def test_samples_have_the_quantiles_of_the_model():
    rows = known(3, [1.0, 3.0, np.nan], np.array([1.0, np.nan, np.nan]))
    drawn = Exponential().sample(rows, 4000, 3)
    for level in (0.15, 0.9):
        assert np.quantile(drawn, level, axis=0) == pytest.approx(
            Exponential().quantile(rows, level), rel=0.01
        )


def test_decisions_of_the_distribution():
    model = Exponential()
    assert model.decide(known(1, np.nan)) == pytest.approx(-2.0 * np.log(0.2))
    assert model.decide(known(1, np.nan, cost=SquaredError())) == pytest.approx(2.0, rel=0.05)
    # an exponential lifetime does not age: replacing early never pays
    late = model.decide(known(1, np.nan, cost=AgeReplacement(planned=1, failure=9)))
    assert late > -2.0 * np.log(0.01)


@pytest.fixture(scope="module")
def flagged():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(400, 1))
    demand = 50 + 30 * X[:, 0] + generator.normal(scale=10, size=400)
    stock = 60 + 20 * X[:, 0] + generator.normal(scale=6, size=400)
    censored = (demand > stock).astype(float)
    return Rows(X, np.minimum(demand, stock), COST, censored=censored), demand


def test_a_latent_model_keeps_the_contract(flagged):
    rows, demand = flagged
    model = fit_censoring(rows, families="normal", random_state=0)
    rule = LatentBand(families="normal", random_state=0).fit(
        COST, rows.features, rows.observation, censored=rows.censored
    )
    drawn, hidden = model.sample(rows, 40, 0), rows.censored == 1
    assert np.array_equal(drawn[:, ~hidden], np.tile(rows.observation[~hidden], (40, 1)))
    assert (drawn >= rows.observation).all()
    assert drawn[:, hidden].mean() == pytest.approx(demand[hidden].mean(), rel=0.03)
    coming = Rows(rows.features, np.full(rows.n_rows, np.nan), COST)
    assert model.quantile(coming, 0.8) == pytest.approx(rule.quantile(rows.features, 0.8))
    assert model.decide(coming) == pytest.approx(rule.decision(rows.features))
    assert rule.model_.quantile(rows, 0.7) == pytest.approx(model.quantile(rows, 0.7))
    assert model.diagnosis_.share_censored == pytest.approx(rows.censored.mean())


def test_a_panel_keeps_the_contract(flagged):
    rows, demand = flagged
    rows = Rows(
        rows.features, rows.observation, COST, censored=rows.censored, series=np.arange(400) % 4
    )
    model = PanelDistribution().fit(rows)
    drawn, hidden = model.sample(rows, 40, 0), rows.censored == 1
    assert (drawn >= rows.observation).all()
    assert np.array_equal(drawn[0, ~hidden], rows.observation[~hidden])
    assert drawn[:, hidden].mean() == pytest.approx(demand[hidden].mean(), rel=0.03)
    for level in (0.2, 0.9):
        assert np.quantile(drawn, level, axis=0).mean() == pytest.approx(
            model.quantile(rows, level).mean(), rel=0.02
        )
    assert model.diagnosis_.share_is_seen
