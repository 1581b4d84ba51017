"""Which series follow a common rule, and what is known of their rows."""

import numpy as np
from ordering import mean_of_four, retail, sell

from unmet.bands.fingerprint.evidence import Setting, weigh
from unmet.bands.fingerprint.lots import Step
from unmet.bands.fingerprint.panel import read_panel
from unmet.bands.fingerprint.rules import HistoryRule
from unmet.bands.fingerprint.search import Flags, Trial, followers

DAYS = 700
RULE, STEP = HistoryRule("mean", 4), Step(1.0, "up")


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


def setting_and_trial(sales):
    s = np.concatenate(list(sales.values()))
    days = np.concatenate([np.arange(len(part)) for part in sales.values()])
    labels = np.repeat(list(sales), [len(part) for part in sales.values()])
    panel = read_panel(s, days, labels, None)
    setting = Setting(panel, panel.local_level(), 1.0, 0.4)
    order = STEP.order(1.15 * RULE.base(panel))
    group = np.zeros(panel.n_rows, np.intp)
    return setting, Trial(RULE, STEP, np.array([1.15]), weigh(setting, group, 1, order, STEP))


def test_series_that_do_not_obey_are_not_followers():
    setting, trial = setting_and_trial(shops())
    follow = dict(zip(setting.panel.labels, followers(setting, trial), strict=True))
    assert follow == dict.fromkeys("abcdef", True) | {
        "more": False,
        "never there": False,
        "free": False,
        "short": True,
    }


def test_only_series_with_a_factor_are_marked():
    sales = shops()
    setting, trial = setting_and_trial(sales)
    flags = Flags.unknown(setting)
    factor = np.full(len(sales), np.nan)
    factor[1] = 1.15
    flags.mark(trial, factor)
    panel = setting.panel
    mine = panel.series == 1
    _, order = sell(sales["b"], mean_of_four(1.15))
    np.testing.assert_array_equal(flags.order[mine], order)
    assert np.isnan(flags.order[~mine]).all()
    assert np.isnan(flags.censored[~mine]).all()
    known = order > 0
    np.testing.assert_array_equal(flags.censored[mine][known], (sales["b"] == order)[known])
