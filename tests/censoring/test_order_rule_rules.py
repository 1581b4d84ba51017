"""Rules on the past, against a look-up in plain Python."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.censoring.order_rule.rules import DEFAULT_RULES, OrderRule, read_histories, read_rules
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


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("mean", "rules must be \"auto\" or a list of rules, got 'mean'."),
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
        (("smoothing", 0), "of must be a number above 0 and at most 1, got 0."),
        (("mean", True), "of must be a finite number, got True."),
        (("mean", "4"), "of must be a finite number, got '4'."),
    ],
)
def test_wrong_history_rules(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        OrderRule(*arguments)
    assert sentence in str(caught.value)
