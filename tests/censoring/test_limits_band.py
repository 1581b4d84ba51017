"""LatentBand with limits of the truth: what it recovers, says and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import (
    CustomPricing,
    FixedBand,
    LatentBand,
    Limits,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    SearchedBand,
    SquaredError,
)
from unmet.errors import InvalidInput, Unsupported
from unmet.simulate import pricing, store10

LEVEL = 0.75
COST = CustomPricing(underprice=3, overprice=1)


def fitted(part, cost=COST, rows=slice(None), **settings):
    model = LinearDecision(cost, band=LatentBand(random_state=0, **settings))
    limits = part.limits.take(np.arange(len(part))[rows])
    return model.fit(part.features[rows], part.observation[rows], censored=limits)


@pytest.fixture(scope="module")
def offers():
    return pricing("normal", policy="personal", seed=3, n=2000).train


@pytest.fixture(scope="module")
def model(offers):
    return fitted(offers)


def test_right_limits_are_flags_bit_for_bit():
    train = store10(seed=1).train
    features, sales = train.features[:600], train.sales[:600]
    flags = train.censored[:600]
    bands = [
        LatentBand(random_state=0, families="normal")
        .fit(Newsvendor(3, 1), features, sales, censored=each)
        .band(features)
        for each in (flags, Limits(sales, np.where(flags, np.inf, sales)))
    ]
    assert bands[0] == bands[1]


@pytest.mark.parametrize("family", ["lognormal", "gumbel"])
def test_prices_are_recovered_from_answers_alone(family):
    part = pricing(family, policy="personal", seed=11, n=1500).train
    found = fitted(part, families=["normal", "gumbel", "lognormal"])
    truth = part.optimum(LEVEL)
    spread = float(part.deviation.mean())
    assert found.diagnosis_.identified == "yes"
    assert np.sqrt(np.mean((found.predict(part.features) - truth) ** 2)) < 0.2 * spread
    # accepted prices alone stay far below
    alone = LinearDecision(COST).fit(part.features[part.accepted], part.offer[part.accepted])
    assert np.mean(truth - alone.predict(part.features)) > 0.4 * spread


def test_rejected_offers_are_what_tells(offers, model):
    """The distribution is that of the truth, on both sides of what was asked."""
    for level in (0.1, 0.5, 0.9):
        found = model.band_rule_.quantile(offers.features, level)
        off = found - offers.optimum(level)
        assert abs(np.mean(off)) < 0.15 * offers.deviation.mean()
    price = offers.optimum(0.3)
    assert model.band_rule_.survival(offers.features, price).mean() == pytest.approx(0.7, abs=0.04)


def test_the_band_leads_from_each_observation_to_the_quantile(offers, model):
    rule = model.band_rule_
    band = rule.band(offers.features, observation=offers.observation)
    assert band == model.band_
    aim = rule.quantile(offers.features, LEVEL)
    assert offers.observation + band.low == pytest.approx(aim)
    assert np.min(band.low) < 0 < np.max(band.low)
    assert np.all(band.width == 0)


def test_rows_without_weight_and_rows_without_limits_do_not_count(offers):
    n_rows = 900
    kept = np.arange(n_rows) % 3 > 0
    features, seen = offers.features[:n_rows], offers.observation[:n_rows]
    limits = offers.limits.take(np.arange(n_rows))
    rule = LatentBand(random_state=0, families=["normal"])
    alone = LinearDecision(COST, band=rule).fit(
        features[kept], seen[kept], censored=limits.take(kept)
    )
    weightless = LinearDecision(COST, band=rule).fit(
        features, seen, censored=limits, sample_weight=kept.astype(float)
    )
    silent = Limits(np.where(kept, limits.lower, -np.inf), np.where(kept, limits.upper, np.inf))
    unknown = rule.fit(COST, features, seen, censored=silent)
    assert weightless.coef_ == pytest.approx(alone.coef_, rel=1e-9)
    assert unknown.quantile(features, 0.6) == pytest.approx(
        alone.band_rule_.quantile(features, 0.6), rel=1e-9
    )
    assert any("300 rows of whose truth nothing is known" in n for n in unknown.diagnosis_.notes)


def test_haggled_deals_are_truths_seen():
    part = pricing("normal", policy="personal", seed=2, n=1500, haggling=0.5).train
    assert set(part.limits.kinds) == {"exact", "left", "right"}
    found = fitted(part, families="normal")
    off = found.predict(part.features) - part.optimum(LEVEL)
    assert np.sqrt(np.mean(off**2)) < 0.25 * part.deviation.mean()


def test_truths_known_to_the_nearest_ten_are_enough():
    part = pricing("gumbel", seed=4, n=1200).train
    low = np.floor(part.truth / 10) * 10
    rule = LatentBand(random_state=0, families=["normal", "gumbel"]).fit(
        COST, part.features, low, censored=Limits(low, low + 10)
    )
    off = rule.quantile(part.features, LEVEL) - part.optimum(LEVEL)
    assert rule.diagnosis_.identified == "yes"
    assert rule.diagnosis_.share_censored == 0.0
    assert np.sqrt(np.mean(off**2)) < 0.15 * part.deviation.mean()


def test_the_diagnosis_can_be_read(model):
    text = str(model.diagnosis_)
    assert "at least a limit in" in text
    assert "limits" in text
    with pytest.raises(Unsupported, match="nothing to draw"):
        model.diagnosis_.plot()
    assert model.diagnosis_.to_dict()["identified"] == "yes"


def test_every_cost_and_model_goes_to_the_target(offers):
    rows = slice(0, 600)
    rule = LatentBand(random_state=0, families="normal")
    known = {"censored": offers.limits.take(np.arange(600))}
    features, seen = offers.features[rows], offers.observation[rows]
    mean = LinearDecision(SquaredError(), band=rule).fit(features, seen, **known)
    middle = mean.band_rule_.quantile(features, 0.5)
    assert mean.predict(features) == pytest.approx(middle, abs=0.05 * offers.deviation.mean())
    network = NeuralDecision(COST, band=rule, random_state=0).fit(features, seen, **known)
    aim = network.band_rule_.quantile(features, LEVEL)
    off = network.predict(features) - aim
    assert np.sqrt(np.mean(off**2)) < 0.1 * offers.deviation.mean()


def test_trees_stand_for_the_features_where_buyers_bend():
    generator = np.random.default_rng(8)
    X = generator.uniform(-1, 1, size=(1500, 3))
    middle = 100 + 25 * np.sin(3 * X[:, 0]) + 12 * np.abs(X[:, 1])
    truth = middle + generator.normal(scale=15, size=1500)
    price = 95 * generator.uniform(0.6, 1.5, size=1500)
    limits = Limits.offers(price, truth >= price)
    best = middle + 15 * 0.6745
    off = {}
    for location in (None, "trees"):
        rule = LatentBand(random_state=0, families="normal", location=location)
        rule.fit(COST, X, price, censored=limits)
        off[location] = np.sqrt(np.mean((rule.quantile(X, LEVEL) - best) ** 2))
    assert off["trees"] < 0.65 * off[None]
    assert any("better than a plane" in note for note in rule.diagnosis_.notes)


@pytest.mark.parametrize(
    "rule",
    [FixedBand(0, 1), SearchedBand()],
)
def test_other_rules_refuse_what_they_cannot_use(rule, offers):
    limits = offers.limits.take(np.arange(60))
    with pytest.raises(Unsupported, match=f"{type(rule).__name__} can only learn from truths"):
        rule.fit(COST, offers.features[:60], offers.observation[:60], censored=limits)


@pytest.mark.parametrize(
    ("limits", "known", "sentence"),
    [
        (lambda s: Limits.offers(s, np.ones(s.size, bool)), {}, "got all rows censored"),
        (lambda s: Limits.offers(s, np.zeros(s.size, bool)), {}, "only truths below their limit"),
        (lambda s: Limits(s - 1, np.full(s.size, np.inf)), {}, "only truths at least their limit"),
        (lambda s: Limits(np.full(s.size, -np.inf), np.inf), {}, "got no limit in any"),
        (lambda s: Limits(s[:-1] - 1, s[:-1]), {}, "censored must have one entry per row of X"),
        (lambda s: Limits(s + 1, s + 1), {}, "y must be the truth where both limits are the same"),
        (lambda s: Limits(s - 1, s), {"stock": np.full(80, 1e6)}, "stock and limits of the truth"),
    ],
)
def test_limits_that_cannot_be_used_are_refused(limits, known, sentence, offers):
    seen = offers.observation[:80]
    with pytest.raises(InvalidInput, match=sentence):
        LatentBand(random_state=0).fit(
            COST, offers.features[:80], seen, censored=limits(seen), **known
        )


def test_settings_that_limits_leave_no_room_for(offers, model):
    known = {"censored": offers.limits}
    with pytest.raises(InvalidInput, match="'negative_binomial' cannot learn from limits"):
        LatentBand(families="negative_binomial").fit(
            COST, offers.features, offers.observation, **known
        )
    with pytest.raises(Unsupported, match="band_at and limits of the truth"):
        model.band_rule_.band_at(offers.features, 0.3)
    with pytest.raises(InvalidInput, match=r"level must be a number between 0 and 1, got 1\.0"):
        model.band_rule_.quantile(offers.features, 1.0)
    with pytest.raises(InvalidInput, match="value must be a number or have one entry per row"):
        model.band_rule_.survival(offers.features, [1.0, 2.0])
    with pytest.raises(InvalidInput, match="needs positive observations, got -1"):
        LatentBand(families="gamma").fit(
            COST,
            offers.features[:50],
            np.full(50, -1.0),
            censored=Limits([-np.inf, -5.0] * 25, [-1.0] * 50),
        )
