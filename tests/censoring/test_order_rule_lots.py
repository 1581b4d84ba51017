"""Units, lots and rounding, against exact arithmetic."""

import math

import numpy as np
import pytest

from unmet.censoring.order_rule.lots import read_lots
from unmet.errors import InvalidInput


@pytest.mark.parametrize(
    ("lots", "sentence"),
    [
        ("six", "lots must be \"auto\" or positive numbers, got 'six'."),
        ([], "lots must hold at least one number, got none."),
        (
            [6, -1],
            "lots must be positive numbers, or 0 for orders that are not rounded, got -1.0.",
        ),
        ([math.nan], "lots must be a finite number, got nan in row 0."),
    ],
)
def test_wrong_lots(lots, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_lots(lots, np.arange(9.0))
    assert str(caught.value) == sentence
