"""Which series follow a common rule, and what is known of their rows."""

from dataclasses import replace

import numpy as np
from ordering import mean_of_four, retail, sell

from unmet.bands.order_rule.detection import CandidateRule, RuleSearch, flags
from unmet.bands.order_rule.evidence import weigh
from unmet.bands.order_rule.lots import Rounding
from unmet.bands.order_rule.rules import OrderRule, read_histories

DAYS = 700
RULE, STEP = OrderRule("mean", 4), Rounding(1.0, "up")


def shops():
    """Sales by label: those that follow the rule, and three that do not, each in its own way."""
    generator = np.random.default_rng(0)
    sales = {}
    for label in "abcdef":
        sales[label], _ = sell(retail(generator, DAYS, 60), mean_of_four(1.15))
    ample = generator.random(DAYS) < 0.6
    sales["more"], _ = sell(retail(generator, DAYS, 60), mean_of_four(1.15), exceptions=ample)
    sales["never there"] = generator.poisson(900, DAYS).astype(float)
    sales["free"] = retail(generator, DAYS, 60)
    sales["short"] = sales["a"][:50]
    return sales


def histories_and_candidate(sales):
    s = np.concatenate(list(sales.values()))
    days = np.concatenate([np.arange(len(part)) for part in sales.values()])
    labels = np.repeat(list(sales), [len(part) for part in sales.values()])
    histories = replace(read_histories(s, days, labels, None), unit=1.0)
    order = STEP.order(1.15 * RULE.base(histories))
    found = weigh(histories, np.zeros(histories.n_rows, np.intp), 1, order, STEP, 0.4)
    return histories, CandidateRule(RULE, STEP, np.array([1.15]), found)


def test_series_that_do_not_obey_are_not_followers():
    histories, candidate = histories_and_candidate(shops())
    search = RuleSearch(histories, [RULE], [STEP], 0.4, np.random.RandomState(0))
    follow = dict(zip(histories.labels, search.followers(candidate), strict=True))
    assert follow == dict.fromkeys("abcdef", True) | {
        "more": False,
        "never there": False,
        "free": False,
        "short": True,
    }


def test_only_series_with_a_factor_are_marked():
    sales = shops()
    histories, candidate = histories_and_candidate(sales)
    factor = np.full(len(sales), np.nan)
    factor[1] = 1.15
    orders, censored = flags(histories, {candidate: factor})
    mine = histories.series == 1
    _, order = sell(sales["b"], mean_of_four(1.15))
    np.testing.assert_array_equal(orders[mine], order)
    assert np.isnan(orders[~mine]).all()
    assert np.isnan(censored[~mine]).all()
    known = order > 0
    np.testing.assert_array_equal(censored[mine][known], (sales["b"] == order)[known])
