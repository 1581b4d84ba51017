"""Which days sold out, where no column, log or hours tell: asked of the sales themselves.

The same is asked as by `unmet diagnose`. Sales that lie exactly on a rule of past sales were
bounded by orders (`OrderRuleDetection`): these days sold out. Otherwise the latent model is fitted
to the rows of the panel (`fit_censoring`), if these have a point mass on a plane of their features:
the shape of sales in units of their level proves nothing. Its answer is used where the verdict is
"yes"; where the data cannot tell, sales are taken for demand, and the plan says what that leaves
open.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmet.censoring.latent.fit import fit_censoring
from unmet.censoring.latent.orders import find_believed_plane
from unmet.censoring.model import CensoringModel
from unmet.censoring.order_rule import OrderRuleDetection
from unmet.costs import Newsvendor
from unmet.errors import UnmetError
from unmet.planning.candidates import VIEWS, LineColumns
from unmet.planning.history import History
from unmet.rows import Rows
from unmet.tables.panel import Panel, Places

MAX_SERIES = 200
"""Series that an order rule is looked for in: more take long and tell no more."""
MAX_ROWS = 1_000
"""Rows that the latent model is fitted to, drawn at random; verdicts were those of 2,000."""


def infer_stockouts(panel: Panel, history: History, gap: int, seed: int) -> tuple[Panel, str]:
    """Look for stock-outs in the sales of a panel.

    Parameters
    ----------
    panel : Panel
        Of which nothing tells which days sold out.
    history : History
        Of the panel, as sold.
    gap : int
        Days before that a day is seen from: the lead time and one.
    seed : int

    Returns
    -------
    panel : Panel
        With `hidden` (and `drawn`, where they are probabilities) if the answer is "yes".
    said : str
        What was found, one sentence; empty where the answer is not "yes".
    """
    series, day = np.nonzero(~np.isnan(panel.observed))
    unit = f"{panel.unit}s"
    try:
        panel, said = _by_order_rule(panel, series, day, seed)
        if not said:
            panel, said = _by_latent_model(panel, history, series, day, gap, seed)
    except UnmetError:  # histories that are too short or too odd to ask
        return panel, ""
    if not said or panel.hidden is None:
        return panel, ""
    share = float(np.nanmean(panel.hidden))
    return panel, (
        f"No column tells which {unit} sold out, but sales do: {said}. So {share:.0%} of the "
        f"{unit} are taken as sold out, and orders are for the demand behind them."
    )


def _by_order_rule(panel: Panel, series: Places, day: Places, seed: int) -> tuple[Panel, str]:
    """Flag days whose sales lie on a rule of past sales."""
    some = np.ones(series.size, dtype=np.bool_)
    if panel.n_series > MAX_SERIES:
        drawn = np.random.default_rng(seed).choice(panel.n_series, MAX_SERIES, replace=False)
        some = np.isin(series, drawn)
    sold = panel.observed[series, day]
    # rules look at weekdays where rows are days
    time = panel.date(day).astype(np.int64) if panel.unit == "day" else day * 7
    found = OrderRuleDetection(random_state=seed).fit(sold[some], time[some], series[some])
    if found.rule_ is None:
        return panel, ""
    formula = found.rule_.formula
    if not some.all():
        rules, lots = [found.rule_.rule], [found.rule_.lot or 0.0]
        found = OrderRuleDetection(rules, lots, random_state=seed).fit(sold, time, series)
    hidden = np.full(panel.observed.shape, np.nan)
    hidden[series, day] = found.censored_
    return replace(panel, hidden=hidden), f"they stop exactly at {formula}"


def _by_latent_model(
    panel: Panel, history: History, series: Places, day: Places, gap: int, seed: int
) -> tuple[Panel, str]:
    """Give probabilities and samples of demand where the latent model is sure."""
    late = day >= min(14, panel.n_days // 3)  # before, there is little to look back on
    series, day = series[late], day[late]
    if min(series.size, MAX_ROWS) < 200:
        return panel, ""
    some = np.sort(np.random.default_rng(seed).permutation(series.size)[:MAX_ROWS])
    features, level = history.rows(series[some], day[some], np.full(some.size, gap))
    columns = LineColumns(history).fit(features)
    share = panel.observed[series[some], day[some]] / level
    asked = Rows(columns.transform(features), share, Newsvendor.at_level(0.5))
    if find_believed_plane(asked, None, []) is None:
        return panel, ""
    model: CensoringModel = fit_censoring(asked, order_rule=None, random_state=seed)
    found = model.diagnosis_
    if found.identified != "yes" or not (found.share_censored or 0.0) > 0.0:
        return panel, ""
    hidden = np.where(np.isnan(panel.observed), np.nan, 0.0)
    drawn = np.repeat(panel.observed[None], VIEWS, axis=0)
    counted = bool((panel.observed[series, day] % 1 == 0).all())
    for start in range(0, series.size, 100_000):
        part = slice(start, start + 100_000)
        rows, days = series[part], day[part]
        features, level = history.rows(rows, days, np.full(rows.size, gap))
        share = panel.observed[rows, days] / level
        asked = Rows(columns.transform(features), share, Newsvendor.at_level(0.5))
        hidden[rows, days] = model.probability_censored(asked)
        truth = model.sample(asked, VIEWS, seed + 1) * level
        truth = np.round(truth) if counted else truth
        drawn[:, rows, days] = np.maximum(truth, panel.observed[rows, days])
    return replace(panel, hidden=hidden, drawn=drawn), "they have a point mass at a limit"
