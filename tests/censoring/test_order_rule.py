"""Order rules are found where orders followed them, and nowhere else."""

import math

import numpy as np
import pytest
from ordering import mean_of_four, retail, sell
from sklearn.base import clone

from unmet.censoring import order_rule
from unmet.censoring.order_rule import OrderRule, OrderRuleDetection
from unmet.errors import InvalidInput

DAYS = 560
FEW = ["mean of the last 4 same weekdays", "mean of the last 7 days", "last week's value"]


def smoothed(weight, factor):
    """Exponential smoothing of the past, in plain Python."""

    def rule(past):
        level = past[0]
        for value in past[1:]:
            level += weight * (value - level)
        return math.ceil(factor * level)

    return rule


# name, rule in plain Python, period, needs, what must be found
POLICIES = [
    ("mean of the last 4 same weekdays", mean_of_four(1.15), 7, 4, (1.15, 1, "up")),
    ("mean of the last 4 same weekdays", mean_of_four(1.05, 6.0), 7, 4, (1.05, 6, "up")),
    (
        "mean of the last 6 same weekdays",
        lambda past: math.floor(1.2 * sum(past[-6:]) / 6 + 0.5),
        7,
        6,
        (1.2, 1, "nearest"),
    ),
    (
        "mean of the last 4 same weekdays",
        lambda past: 1.15 * sum(past[-4:]) / 4,
        7,
        4,
        (1.15, None, "none"),
    ),
    (
        "maximum of the last 3 same weekdays",
        lambda past: math.ceil(1.05 * max(past[-3:])),
        7,
        3,
        (1.05, 1, "up"),
    ),
    (
        "exponential smoothing 0.3 of same weekdays",
        smoothed(0.3, 1.1),
        7,
        1,
        (1.1, 1, "up"),
    ),
    (
        "mean of the last 7 days",
        lambda past: int(1.3 * sum(past[-7:]) / 7),
        1,
        7,
        (1.3, 1, "down"),
    ),
    ("exponential smoothing 0.2 of days", smoothed(0.2, 1.25), 1, 1, (1.25, 1, "up")),
]


@pytest.mark.parametrize(("name", "rule", "period", "needs", "expected"), POLICIES)
def test_the_rule_and_the_sold_out_days_are_found(name, rule, period, needs, expected):
    demand = retail(np.random.default_rng(5), DAYS, 60)
    sales, order = sell(demand, rule, period=period, needs=needs)
    finding = OrderRuleDetection().fit(sales, np.arange(DAYS))
    assert finding.accepted_
    found = finding.rule_
    assert found is finding.candidates_[0]
    assert found.rule == name
    factor, lot, rounding = expected
    assert found.factor == pytest.approx(factor, rel=2e-3)
    assert found.lot == lot
    assert found.rounding == rounding
    known = ~np.isnan(finding.censored_)
    sold_out = sales == order
    assert np.count_nonzero(finding.censored_ == 1) >= 0.9 * np.count_nonzero(sold_out)
    assert np.mean(sold_out[finding.censored_ == 1]) >= 0.99
    assert np.mean(finding.order_[known] == pytest.approx(order[known])) == 1 or rounding != "none"
    assert found.n_at == np.count_nonzero(finding.censored_ == 1)
    assert found.sold_out == pytest.approx(found.n_at / found.n_rows)


def test_one_day_in_five_may_be_an_exception():
    generator = np.random.default_rng(2)
    demand = retail(generator, DAYS, 60)
    ample = generator.random(DAYS) < 0.2
    sales, order = sell(demand, mean_of_four(1.15), exceptions=ample)
    finding = OrderRuleDetection().fit(sales, np.arange(DAYS))
    assert finding.accepted_
    assert finding.rule_.factor == 1.15
    assert 0.65 < finding.rule_.binding < 0.85
    above = sales > order
    assert above.any()
    assert np.isnan(finding.censored_[above]).all()
    assert (finding.censored_[sales == order] == 1).all()
    assert not OrderRuleDetection(exceptions=0.1).fit(sales, np.arange(DAYS)).accepted_


def uncensored(kind, generator):
    """Demand that nothing was taken from, as many kinds as we could think of."""
    day = np.arange(600)
    week = np.array([1.0, 0.8, 0.7, 0.8, 1.1, 1.6, 1.4])[day % 7]
    wave = 1 + 0.6 * np.sin(2 * np.pi * day / 365)
    shocks = generator.normal(size=600)
    steps = np.abs(30 + np.cumsum(generator.integers(-1, 2, 600)))
    kinds = {
        **{f"poisson {m}": lambda m=m: generator.poisson(m, 600) for m in (0.5, 3, 50)},
        "seasonal": lambda: generator.poisson(12 * week * wave),
        "growing": lambda: generator.poisson(np.geomspace(0.3, 200, 600)),
        "wandering": lambda: generator.poisson(5 * np.exp(np.cumsum(0.05 * shocks))),
        "overdispersed": lambda: generator.negative_binomial(1, 0.1, 600),
        "intermittent": lambda: generator.poisson(4, 600) * (generator.random(600) < 0.3),
        "at most five": lambda: generator.binomial(5, 0.7, 600),
        "constant": lambda: np.full(600, 7),
        "hardly varying": lambda: np.where(generator.random(600) < 0.1, 6, 7),
        "in steps": lambda: np.repeat(generator.integers(5, 60, 20), 30),
        "one up, one down": lambda: steps,
        "exact growth": lambda: np.round(20 * 1.004**day),
        "tight": lambda: np.round(50 + 5 * np.sin(day / 40) + 0.6 * shocks),
        "heaped": lambda: np.round(generator.gamma(6, 7 * week) / 5) * 5,
        "in packs": lambda: 6 * generator.poisson(3 * week),
        "measured": lambda: generator.gamma(4, 3 * week),
        "nothing": lambda: np.zeros(600),
    }
    return np.asarray(kinds[kind](), dtype=float) if kind else list(kinds)


@pytest.mark.parametrize("kind", uncensored("", np.random.default_rng(0)))
def test_no_rule_is_found_in_demand_that_nothing_was_taken_from(kind):
    demand = uncensored(kind, np.random.default_rng(11))
    finding = OrderRuleDetection().fit(demand, np.arange(600))
    assert not finding.accepted_, finding.rule_
    assert finding.rule_ is None
    assert np.isnan(finding.censored_).all()
    assert np.isnan(finding.order_).all()
    assert min(found.p_value for found in finding.candidates_) > 0.001


def test_many_small_series_together_do_not_make_a_rule():
    # with 10,000 rows every small departure of small counts from a model is significant
    generator = np.random.default_rng(7)
    level = np.repeat(generator.gamma(1.0, 1.5, 25) + 0.05, 400)
    day = np.tile(np.arange(400), 25)
    wave = 1 + 0.5 * np.sin(2 * np.pi * (day + 7.3 * np.repeat(np.arange(25), 400)) / 365)
    finding = OrderRuleDetection().fit(
        generator.poisson(level * wave), day, np.repeat(np.arange(25), 400)
    )
    assert not finding.accepted_, finding.rule_
    assert all(found is None for found in finding.rules_.values())


def shops(policies, *, days=400, level=60, seed=4):
    """Rows of several shops, mixed; `policies` maps a label to a rule, or None for ample stock."""
    generator = np.random.default_rng(seed)
    columns = []
    for label, rule in policies.items():
        demand = retail(generator, days, level)
        sales, order = (demand, np.full(days, np.nan)) if rule is None else sell(demand, rule)
        columns += zip(sales, np.arange(days), [label] * days, order, strict=True)
    mixed = [columns[row] for row in generator.permutation(len(columns))]
    s, day, label, order = zip(*mixed, strict=True)
    return np.array(s), np.array(day), np.array(label), np.array(order)


def test_one_rule_for_all_series():
    s, day, label, order = shops(dict.fromkeys("abcd", mean_of_four(1.15)))
    finding = OrderRuleDetection().fit(s, day, label)
    assert finding.rule_.series is None
    assert set(finding.rules_.values()) == {finding.rule_}
    assert finding.rule_.z > 30
    np.testing.assert_array_equal(finding.order_, order)
    alone = OrderRuleDetection().fit(s[label == "a"], day[label == "a"])
    np.testing.assert_array_equal(alone.censored_, finding.censored_[label == "a"])


def test_a_short_series_takes_the_rule_of_the_others():
    s, day, label, order = shops(dict.fromkeys("abcd", mean_of_four(1.15)))
    keep = (label != "d") | (day < 40)
    finding = OrderRuleDetection().fit(s[keep], day[keep], label[keep])
    assert finding.rules_["d"] is finding.rule_
    np.testing.assert_array_equal(finding.order_, order[keep])


def test_series_that_do_not_follow_the_common_rule_are_left_out():
    policies = dict.fromkeys("abcde", mean_of_four(1.15)) | {"free": None}
    s, day, label, order = shops(policies)
    finding = OrderRuleDetection().fit(s, day, label)
    assert finding.rules_["free"] is None
    assert finding.rules_["a"] is finding.rule_
    assert np.isnan(finding.censored_[label == "free"]).all()
    np.testing.assert_array_equal(finding.order_[label != "free"], order[label != "free"])


def test_every_series_may_have_a_rule_of_its_own():
    policies = {
        "mean": mean_of_four(1.15),
        "more": mean_of_four(1.3),
        "maximum": lambda past: math.ceil(1.05 * max(past[-4:])),
        "free": None,
    }
    s, day, label, _ = shops(policies, days=DAYS)
    finding = OrderRuleDetection().fit(s, day, label)
    assert finding.rules_["free"] is None
    assert (finding.rules_["mean"].factor, finding.rules_["more"].factor) == (1.15, 1.3)
    assert finding.rules_["maximum"].rule == "maximum of the last 4 same weekdays"
    assert finding.rule_.n_at == max(rule.n_at for rule in finding.rules_.values() if rule)
    assert finding.rules_["more"].series == "more"


def test_the_order_of_rows_makes_no_difference():
    s, day, label, _ = shops({"a": mean_of_four(1.15), "b": None}, days=300)
    finding = OrderRuleDetection(FEW).fit(s, day, label)
    back = np.argsort(day, kind="stable")[::-1]
    again = OrderRuleDetection(FEW).fit(s[back], day[back], label[back])
    np.testing.assert_array_equal(again.censored_, finding.censored_[back])
    assert again.rules_ == finding.rules_


@pytest.mark.parametrize("scale", [6.0, 1 / 7.3])
def test_units_make_no_difference(scale):
    sales, _ = sell(retail(np.random.default_rng(5), DAYS, 60), mean_of_four(1.15))
    finding = OrderRuleDetection(FEW).fit(sales, np.arange(DAYS))
    scaled = OrderRuleDetection(FEW).fit(sales * scale, np.arange(DAYS))
    np.testing.assert_array_equal(scaled.censored_, finding.censored_)
    np.testing.assert_allclose(scaled.order_, finding.order_ * scale)
    assert scaled.rule_.z == pytest.approx(finding.rule_.z, rel=0.2)
    assert scaled.rule_.lot == pytest.approx(scale)


def test_rows_without_weight_are_history_but_no_evidence():
    sales, _ = sell(retail(np.random.default_rng(6), DAYS, 60), mean_of_four(1.15))
    weight = np.ones(DAYS)
    weight[:160] = 0
    whole = OrderRuleDetection(FEW).fit(sales, np.arange(DAYS))
    part = OrderRuleDetection(FEW).fit(sales, np.arange(DAYS), sample_weight=weight)
    assert part.rule_.n_rows == 400
    np.testing.assert_array_equal(part.censored_, whole.censored_)


def test_only_what_is_asked_for_is_tried():
    sales, _ = sell(retail(np.random.default_rng(6), DAYS, 60), mean_of_four(1.15))
    own = OrderRule("mean", 3, same_weekday=False)
    finding = OrderRuleDetection(rules=["last week's value", own], lots=[1]).fit(
        sales, np.arange(DAYS)
    )
    assert not finding.accepted_
    assert {found.rule for found in finding.candidates_} == {"last week's value", own.name}
    right = OrderRuleDetection(rules=[OrderRule("mean", 4)]).fit(sales, np.arange(DAYS))
    assert right.accepted_
    assert right.n_tests_ < OrderRuleDetection().fit(sales, np.arange(DAYS)).n_tests_


def test_factors_of_large_data_are_those_of_some_rows(monkeypatch):
    monkeypatch.setattr(order_rule, "_MAX_ROWS", 1000)
    s, day, label, order = shops(dict.fromkeys(range(4), mean_of_four(1.15)), days=DAYS)
    finding = OrderRuleDetection(random_state=0, rules=["mean of the last 4 same weekdays"])
    first = finding.fit(s, day, label)
    assert first.rule_.factor == 1.15
    assert first.rule_.n_rows == np.count_nonzero(order > 0)
    again = clone(finding).fit(s, day, label)
    assert again.candidates_ == first.candidates_
    np.testing.assert_array_equal(first.order_, order)


@pytest.mark.parametrize("s", [[3.0], [0.0], [5.0, 6.0]])
def test_hardly_any_rows(s):
    finding = OrderRuleDetection().fit(s, np.arange(len(s)), ["a"] * len(s))
    assert not finding.accepted_
    assert finding.rules_ == {"a": None}
    assert np.isnan(finding.censored_).all()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"level": 0}, "level must be a number above 0 and below 1, got 0."),
        ({"level": "a"}, "level must be a number above 0 and below 1, got 'a'."),
        ({"exceptions": 1}, "exceptions must be a number of at least 0 and below 1, got 1."),
        ({"lots": "six"}, 'lots must be "auto" or positive numbers, or 0'),
        ({"lots": [6, -1]}, 'lots must be "auto" or positive numbers, or 0'),
        ({"rules": "mean"}, 'rules must be "auto" or a list of OrderRule and names such as'),
        ({"rules": []}, 'rules must be "auto" or a list of OrderRule and names such as'),
        ({"rules": ["mean of 4"]}, 'rules must be "auto" or a list of OrderRule and names'),
    ],
)
def test_wrong_parameters(parameters, sentence):
    with pytest.raises(InvalidInput) as caught:
        OrderRuleDetection(**parameters).fit([1.0, 2.0], [0, 1])
    assert str(caught.value).startswith(sentence)
