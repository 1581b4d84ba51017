"""Rules on the past, against a look-up in plain Python."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.bands.order_rule.rules import DEFAULT_RULES, OrderRule, read_histories, read_rules
from unmet.errors import InvalidInput


@st.composite
def rows(draw):
    """Observations, days with gaps, and labels of series, in any order."""
    n = draw(st.integers(1, 60))
    keys = st.tuples(st.sampled_from("ab"), st.integers(-40, 40))
    chosen = draw(st.lists(keys, min_size=n, max_size=n, unique=True))
    values = draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))
    return np.array(values, float), [day for _, day in chosen], [label for label, _ in chosen]


def value_in_plain_python(rule, s, days, labels):
    """One row after the other, from a dictionary of what came before."""
    past = defaultdict(list)
    found = [math.nan] * len(s)
    for row in sorted(range(len(s)), key=lambda row: days[row]):
        chain = (labels[row], days[row] % 7 if rule.same_weekday else 0)
        before = past[chain]
        if len(before) >= rule.needs:
            if rule.kind == "smoothing":
                level = before[0]
                for value in before[1:]:
                    level += rule.of * (value - level)
                found[row] = level
            else:
                last = before[-rule.of :]
                found[row] = max(last) if rule.kind == "maximum" else sum(last) / rule.of
        before.append(s[row])
    return found


@given(
    rows(),
    st.sampled_from(DEFAULT_RULES + (OrderRule("smoothing", 1.0), OrderRule("smoothing", 0.9))),
)
def test_values_are_those_of_plain_python(data, rule):
    s, days, labels = data
    panel = read_histories(s, days, labels, None)
    found = panel.as_given(rule.base(panel))
    expected = value_in_plain_python(rule, s, days, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda rule: rule.name)
def test_the_future_is_not_looked_at(rule):
    s = np.random.default_rng(0).poisson(9.0, 300).astype(float)
    changed = s.copy()
    changed[200:] = 1000.0
    first, second = (
        rule.base(read_histories(values, np.arange(300), None, None)) for values in (s, changed)
    )
    np.testing.assert_array_equal(first[:201], second[:201])
    assert not np.array_equal(first[201:], second[201:], equal_nan=True)


def test_a_long_chain_of_smoothing_forgets_its_start():
    s = np.r_[1e6, np.full(5000, 3.0)]
    panel = read_histories(s, np.arange(5001), None, None)
    base = OrderRule("smoothing", 0.1, same_weekday=False).base(panel)
    assert base[-1] == pytest.approx(3.0, abs=1e-12)
    assert base[40] == pytest.approx(3.0 + (1e6 - 3) * 0.9**39, rel=1e-12)
    assert np.isnan(base[:29]).all()  # 0.9^28 of the start is more than a twentieth
    assert np.isfinite(base[29:]).all()


def test_names_say_what_is_computed():
    assert OrderRule("mean", 4).name == "mean of the last 4 same weekdays"
    assert OrderRule("maximum", 14, same_weekday=False).name == "maximum of the last 14 days"
    assert OrderRule("mean", 1).name == "last week's value"
    assert OrderRule("mean", 1, same_weekday=False).name == "yesterday's value"
    assert OrderRule("smoothing", 0.3).name == "exponential smoothing 0.3 of same weekdays"
    assert len({rule.name for rule in DEFAULT_RULES}) == len(DEFAULT_RULES)


def test_rules_are_read_from_names_and_objects():
    own = OrderRule("mean", 3, same_weekday=False)
    assert list(read_rules(["last week's value", own])) == [OrderRule("mean", 1), own]
    assert read_rules("auto") is DEFAULT_RULES


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("mean", "rules must be \"auto\" or a list of rules, got 'mean'."),
        (None, 'rules must be "auto" or a list of rules, got None.'),
        ([], "rules must hold at least one rule, got none."),
        (["mean of 4"], "rules must hold OrderRule or names such as"),
        ([4], "got 4."),
    ],
)
def test_wrong_rules(rules, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_rules(rules)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("median", 4), "kind must be"),
        (("mean", 0), "of must be a whole number of at least 1, got 0."),
        (("mean", 2.5), "of must be a whole number of at least 1, got 2.5."),
        (("smoothing", 0), "of must be a number above 0 and at most 1, got 0."),
        (("smoothing", 1.5), "of must be a number above 0 and at most 1, got 1.5."),
        (("mean", True), "of must be a finite number, got True."),
        (("mean", "4"), "of must be a finite number, got '4'."),
        (("mean", math.nan), "of must be a finite number, got nan."),
        (("mean", math.inf), "of must be a finite number, got inf."),
    ],
)
def test_wrong_history_rules(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        OrderRule(*arguments)
    assert sentence in str(caught.value)
