"""Constraints read what they allow and refuse the rest in one sentence."""

from fractions import Fraction

import numpy as np
import pytest

from unmet.errors import InvalidInput
from unmet.validation import (
    Instance,
    Jobs,
    Maybe,
    Number,
    OneOf,
    Seed,
    TrueOrFalse,
    WholeNumber,
)

ALLOWED = [
    (WholeNumber(2), 2, 2),
    (WholeNumber(1), np.int8(3), 3),
    (WholeNumber(1, 4), 4, 4),
    (Number(), -2, -2.0),
    (Number(least=0), Fraction(1, 4), 0.25),
    (Number(above=0, below=1), np.float32(0.5), 0.5),
    (OneOf("a", "b"), "b", "b"),
    (OneOf("a", None), None, None),
    (TrueOrFalse(), np.True_, True),
    (Instance(dict, "a mapping"), {}, {}),
    (Maybe(WholeNumber(1)), None, None),
    (Maybe(WholeNumber(1)), 7, 7),
    (Seed(), 5, 5),
    (Jobs(), -1, -1),
    (Jobs(), None, None),
]

REFUSED = [
    (WholeNumber(2), 1, "a whole number of at least 2, got 1."),
    (WholeNumber(1), 2.0, "a whole number of at least 1, got 2.0."),
    (WholeNumber(1), True, "a whole number of at least 1, got True."),
    (WholeNumber(-3, 0), 1, "a whole number from -3 to 0, got 1."),
    (WholeNumber(1, 4), 5, "a whole number from 1 to 4, got 5."),
    (Number(), np.inf, "a finite number, got inf."),
    (Number(), "1", "a finite number, got '1'."),
    (Number(), True, "a finite number, got True."),
    (Number(least=0), -1, "a finite number of at least 0, got -1."),
    (Number(least=0), np.nan, "a finite number of at least 0, got nan."),
    (Number(above=0), 0, "a finite number above 0, got 0."),
    (Number(above=0, below=1), 1, "a number above 0 and below 1, got 1."),
    (Number(least=0, most=1), 2, "a number between 0 and 1, got 2."),
    (Number(least=2), 1, "a number of at least 2, got 1."),
    (OneOf("a", "b", "c"), "d", "'a', 'b' or 'c', got 'd'."),
    (OneOf("a"), None, "'a', got None."),
    (OneOf("a", "b"), np.array(["a", "b"]), "'a' or 'b', got array("),
    (TrueOrFalse(), 1, "True or False, got 1."),
    (Instance(dict, "a mapping"), 3, "a mapping, got 3."),
    (Maybe(WholeNumber(1)), 0, "a whole number of at least 1 or None, got 0."),
    (Seed(), -1, "a whole number of at least 0, a RandomState or None, got -1."),
    (Seed(), True, "a whole number of at least 0, a RandomState or None, got True."),
    (Seed(), "x", "a whole number of at least 0, a RandomState or None, got 'x'."),
    (Jobs(), 0, "a whole number other than 0, or None, got 0."),
    (Jobs(), 1.5, "a whole number other than 0, or None, got 1.5."),
]


@pytest.mark.parametrize(("constraint", "value", "read"), ALLOWED)
def test_what_is_allowed_is_read(constraint, value, read):
    found = constraint("size", value)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(("constraint", "value", "sentence"), REFUSED)
def test_what_is_not_allowed_is_refused_in_a_sentence(constraint, value, sentence):
    with pytest.raises(InvalidInput) as refused:
        constraint("size", value)
    assert str(refused.value).startswith(f"size must be {sentence}")


def test_seeds_of_generators_are_drawn_and_repeat():
    drawn = Seed()("random_state", np.random.RandomState(4))
    assert drawn == Seed()("random_state", np.random.RandomState(4))
    assert drawn != Seed()("random_state", np.random.RandomState(5))
