"""Flags that are probabilities: between yes and no, and better than nothing."""

import numpy as np
import pytest

from unmet import DistributionDecision, GroupedDecision, LatentBand, LinearDecision, Newsvendor
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.simulate import censoring_lab

COST = Newsvendor(underage=4, overage=1)  # level .8


def rows_with(flags, weight=None):
    n_rows = len(flags)
    X = np.arange(n_rows, dtype=float)[:, None]
    return Rows.read(COST, X, 10.0 + np.arange(n_rows), sample_weight=weight, censored=flags)


def test_a_row_that_may_have_sold_out_is_a_part_of_each():
    weight = np.array([1.0, 2.0, 4.0, 1.0, 2.0])
    rows = rows_with([1.0, 0.0, 0.25, np.nan, 0.9], weight)
    both = rows.settled()
    assert both.n_rows == 7
    np.testing.assert_array_equal(both.censored, [1, 0, 1, np.nan, 1, 0, 0])
    np.testing.assert_array_equal(both.observation, [10, 11, 12, 13, 14, 12, 14])
    np.testing.assert_allclose(both.share * 10, [1, 2, 1, 1, 1.8, 3, 0.2])
    np.testing.assert_array_equal(both.features[5:, 0], [2, 4])


def test_sure_flags_are_left_as_they_are():
    for flags in ([1.0, 0.0, np.nan], [True, False, True]):
        rows = rows_with(flags)
        assert rows.settled() is rows
    assert Rows.read(COST, np.ones((2, 1)), [1.0, 2.0]).settled().censored is None


def test_probabilities_are_worth_more_than_nothing_and_less_than_flags():
    lab = censoring_lab("normal", n=800, seed=3)
    train, test = lab.train, lab.test
    # a reader that is right four times in five, and says so
    right = np.random.default_rng(1).random(train.sales.size) < 0.8
    soft = np.where(right == train.censored, 0.8, 0.2)
    share = train.censored.mean()
    odds = soft / (1 - soft) * share / (1 - share)
    paid = {}
    for name, known in (
        ("nothing", None),
        ("clock", odds / (1 + odds)),
        ("flags", train.censored),
    ):
        band = None if known is None else LatentBand()
        given = {} if known is None else {"censored": known}
        model = LinearDecision(COST, band).fit(train.features, train.sales, **given)
        paid[name] = COST.cost(model.predict(test.features), test.demand).mean()
    assert paid["flags"] < paid["clock"] < paid["nothing"]
    assert paid["nothing"] - paid["clock"] > 0.4 * (paid["nothing"] - paid["flags"])


def test_wrong_probabilities_get_one_sentence():
    with pytest.raises(
        InvalidInput, match=r"a probability between 0 and 1, or missing, got 1\.5 in row 1"
    ):
        rows_with([0.3, 1.5, 0.0])
    with pytest.raises(InvalidInput, match="got -1 in row 0"):
        rows_with([-1, 1, 0])
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.arange(40.0)])
    with pytest.raises(Unsupported, match="which rows sold out, not limits or probabilities"):
        GroupedDecision(DistributionDecision(COST), by=[0]).fit(
            X, np.arange(40.0), censored=np.full(40, 0.5)
        )
