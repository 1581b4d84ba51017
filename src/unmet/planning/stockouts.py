"""Estimate what sold-out days hid, and which days sold out if no column, log or hours show it.

`DayDemand` asks a censoring model for the demand of days of a panel. If nothing shows which days
sold out, there are three cases. First, sales that lie exactly on a rule of past sales were bounded
by orders (`OrderRuleDetection`), so these days sold out. Second, the latent model is fitted to the
rows of the panel (`fit_censoring`) if these have a point mass on a plane of their features; the
shape of sales in units of their level proves nothing. Its result is used if the verdict is "yes".
Third, if the data cannot tell, orders minimise the expected cost over sell-out rates
(`unmet.censoring.latent.sellout`), and the plan states this assumption.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from unmet.arrays import Array, slices
from unmet.censoring.latent.fit import fit_censoring
from unmet.censoring.latent.orders import find_believed_plane
from unmet.censoring.model import CensoringModel
from unmet.censoring.order_rule import OrderRuleDetection
from unmet.costs import Newsvendor
from unmet.errors import Note, UnmetError
from unmet.planning.history import History, LinearColumns, Single
from unmet.rows import Rows
from unmet.tables.panel import Panel, Places

VIEWS = 4
"""How often a day is learned from where days are few, each time seen from another day before, and a
sold-out one with another value of what it hid."""
MAX_SERIES = 200
"""Series that an order rule is looked for in: more take long and tell no more."""
MIN_COUNT = 5.0
"""Mean sales, where they are counts, below which a point mass proves nothing: 2 of 20 simulated
panels of mean 0.5 had one, and were ordered ten times their demand for."""
MIN_OUT = 10
"""Stock-outs, and days that were none, below which flags do not tell what stock-outs hid."""
MIN_DATES = 3
"""Dates with a flag below which flags say nothing of other dates."""
OWN = 5.0
"""Days with a flag of a series that count as much as those of all others."""
MAX_ROWS = 1_000
"""Rows that the latent model is fitted to, drawn at random; verdicts were those of 2,000."""


class DayDemand:
    """Distribution of the demand of days of a panel: a censoring model of shares of levels.

    Parameters
    ----------
    history : History
        History of sales.
    features : ndarray of shape (n_rows, n_features)
        Training rows of the model.
    gap : int
        Number of days before a day that its features are known.
    volumes : ndarray, optional
        Levels between which days have their own spread, for days that are known to have sold out.
        None means that nothing shows which days did.

    Attributes
    ----------
    model : CensoringModel
        The fitted model.
    """

    model: CensoringModel

    def __init__(
        self, history: History, features: Single, gap: int, volumes: Array | None = None
    ) -> None:
        self.columns = LinearColumns(history).fit(features)
        self.gap, self.volumes, self.counted = gap, volumes, history.panel.counted

    def rows(
        self, features: Single, level: Array, sold: Array, censored: Array | None, **known: Any
    ) -> Rows:
        """Rows of the model: sales as shares of levels."""
        if censored is not None and self.counted:
            # Who sold the last of five units may have had demand for just five: for a continuous
            # distribution, five stands for all between 4.5 and 5.5.
            sold = np.maximum(sold - 0.5 * (censored > 0), 0.0)
        if self.volumes is not None:
            known["series"] = np.searchsorted(self.volumes, level)
        asked = self.columns.transform(features)
        return Rows(asked, sold / level, Newsvendor.at_level(0.5), censored=censored, **known)

    def _ask(self, history: History, series: Places, day: Places) -> tuple[Rows, Array, Array]:
        """Rows of days, their levels and their sales."""
        features, level = history.rows(series, day, np.minimum(self.gap, day + 1))
        sold, hidden = history.panel.observed[series, day], history.panel.hidden
        flags = None if self.volumes is None or hidden is None else hidden[series, day]
        return self.rows(features, level, sold, flags), level, sold

    def _units(self, share: Array, level: Array, sold: Array) -> Array:
        """Units of demand, whole where sales are, and no fewer than were sold."""
        found = share * level
        return np.maximum(np.round(found) if self.counted else found, sold)

    def sample(
        self, history: History, series: Places, day: Places, seed: int, levels: Array | None = None
    ) -> Array:
        """Draw the demand of days, of shape (VIEWS, n_rows); or give its quantiles at levels."""
        found = np.empty((VIEWS, series.size))
        for part in slices(series.size, 100_000):
            rows, *units = self._ask(history, series[part], day[part])
            at = None if levels is None else levels[:, part]
            found[:, part] = self._units(self.model.sample(rows, VIEWS, seed, at), *units)
        return found

    def quantile(self, history: History, series: Places, day: Places, level: float) -> Array:
        """Quantile of the demand of days."""
        rows, *units = self._ask(history, series, day)
        return self._units(self.model.quantile(rows, level), *units)

    def probability_censored(self, history: History, series: Places, day: Places) -> Array:
        """Probability that each day sold out."""
        return self.model.probability_censored(self._ask(history, series, day)[0])


class StockoutChance:
    """Probability that a day without a flag sold out, estimated from days with a flag.

    A logistic regression on the rank of sales relative to the usual sales of such a day, and on how
    often the series sold out. It assumes that days without a flag resemble days with a flag whose
    sales were as high. If more was sold than on days that sold out, there was more to sell.

    Parameters
    ----------
    history : History
        History of sales, of a panel with flags.
    gap : int
        Number of days before a day that its features are known.
    """

    def __init__(self, history: History, gap: int) -> None:
        self.gap, hidden = gap, history.panel.hidden
        assert hidden is not None
        series, day = np.nonzero(~np.isnan(hidden) & ~np.isnan(history.panel.observed))
        flags = hidden[series, day]
        rate = float(np.clip(flags.mean(), 0.01, 0.99))
        n_series = history.panel.n_series
        count, out = (np.bincount(series, each, n_series) for each in (None, flags))
        self._overall, self._rate = rate, (out + OWN * rate) / (count + OWN)
        # a day with a flag must not tell itself
        others = (out[series] - flags + OWN * rate) / (count[series] - 1 + OWN)
        against = self._against_usual(history, series, day)
        self._ranks = np.quantile(against, np.linspace(0.0, 1.0, 101))
        self._most = np.quantile(against[flags == 1.0], 0.99)
        from sklearn.linear_model import LogisticRegression

        self._model = LogisticRegression(C=0.3).fit(self._columns(against, others), flags == 1.0)

    def _against_usual(self, history: History, series: Places, day: Places) -> Array:
        features, level = history.rows(series, day, np.minimum(self.gap, day + 1))
        usual = level * features[:, history.names_.index("usual")]
        sold = history.panel.observed[series, day]
        return np.asarray(sold / np.maximum(np.nan_to_num(usual, nan=1.0), 1e-9))

    def _columns(self, against: Array, rate: Array) -> Array:
        rank = np.interp(against, self._ranks, np.linspace(-1.0, 1.0, self._ranks.size))
        return np.column_stack([2.0 * rank, 2.0 * rank**2, special.logit(rate)])

    def fill(self, history: History, other: bool = False) -> Panel:
        """Give the panel of a history with a probability for each day that lacks a flag.

        It has the series that were learned from, or others.
        """
        panel, own = history.panel, self._rate
        assert panel.hidden is not None
        if other:
            told = ~np.isnan(panel.hidden) & ~np.isnan(panel.observed)
            out = np.where(told, panel.hidden, 0.0).sum(axis=1)
            own = (out + OWN * self._overall) / (told.sum(axis=1) + OWN)
        settled = np.arange(panel.n_days) >= history.first[:, None] + 14
        series, day = np.nonzero(np.isnan(panel.hidden) & ~np.isnan(panel.observed) & settled)
        hidden = panel.hidden.copy()
        if series.size:
            against = self._against_usual(history, series, day)
            columns = self._columns(against, own[series])
            chance = self._model.predict_proba(columns)[:, 1]
            hidden[series, day] = np.where(against <= self._most, chance, 0.0)
        return replace(panel, hidden=hidden)


def tells_stockouts(panel: Panel) -> bool:
    """Whether flags are enough to learn what stock-outs hid."""
    out, other = (0 if panel.hidden is None else np.sum(panel.hidden == each) for each in (1, 0))
    return bool(out >= MIN_OUT and other >= MIN_OUT)


def without_few_flags(panel: Panel) -> tuple[Panel, list[str]]:
    """Leave out flags of so few rows or dates, the last for instance, that they tell nothing."""
    if panel.hidden is None:
        return panel, []
    seen, told = ~np.isnan(panel.observed), ~np.isnan(panel.hidden)
    few = told.sum() < 2 * MIN_OUT or told.any(axis=0).sum() < MIN_DATES
    # many flags with hardly any stock-out do tell: that there are hardly any
    few = few or (not tells_stockouts(panel) and np.nanmean(panel.hidden) > 0.1)
    if not few or told.sum() >= 0.5 * seen.sum():
        return panel, []
    return replace(panel, hidden=None), [
        Note(
            f"Flags or stock were not used, because too few {panel.unit}s have them: "
            f"{int(told.sum()):,} of {int(seen.sum()):,}."
        )
    ]


def infer_stockouts(panel: Panel, history: History, gap: int, seed: int) -> tuple[Panel, str]:
    """Search for stock-outs in the sales of a panel.

    Parameters
    ----------
    panel : Panel
        Panel without flags, or with flags for some days only.
    history : History
        History of the panel's sales.
    gap : int
        Number of days before a day that its features are known: the lead time plus one.
    seed : int
        Seed of the search.

    Returns
    -------
    panel : Panel
        With `hidden` (and `drawn`, if they are probabilities) if the answer is "yes".
    said : str
        The finding in one sentence; empty if the answer is not "yes".
    """
    series, day = np.nonzero(~np.isnan(panel.observed))
    unit, told = f"{panel.unit}s", panel.hidden
    try:
        panel, said = _by_order_rule(panel, series, day, seed)
        if not said and told is None:
            panel, said = _by_latent_model(panel, history, series, day, gap, seed)
    except UnmetError:  # histories that are too short or too odd to ask
        return panel, ""
    if not said or panel.hidden is None:
        return panel, ""
    share, which = float(np.nanmean(panel.hidden)), f"which {unit}"
    if told is not None:
        found = panel.hidden[np.isnan(told) & ~np.isnan(panel.hidden)]
        share = float(found.mean()) if found.size else 0.0
        panel = replace(panel, hidden=np.where(np.isnan(told), panel.hidden, told))
        which, unit = f"for all {unit} whether they", f"other {unit}"
    return panel, Note(
        f"No column tells {which} sold out, so stock-outs were detected in the sales, which "
        f"{said}: {share:.0%} of the {unit}.",
        share,
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
    return replace(panel, hidden=hidden), f"end exactly at {formula}"


def _by_latent_model(
    panel: Panel, history: History, series: Places, day: Places, gap: int, seed: int
) -> tuple[Panel, str]:
    """Give probabilities and samples of demand where the latent model is sure."""
    late = day >= min(14, panel.n_days // 3)  # before, there is little to look back on
    if panel.counted:  # counts of slow sellers have point masses of their own
        seen = np.maximum((~np.isnan(panel.observed)).sum(axis=1), 1)
        late &= (np.nansum(panel.observed, axis=1) / seen)[series] >= MIN_COUNT
    series, day = series[late], day[late]
    if min(series.size, MAX_ROWS) < 200:
        return panel, ""
    some = np.sort(np.random.default_rng(seed).permutation(series.size)[:MAX_ROWS])
    features, level = history.rows(series[some], day[some], np.full(some.size, gap))
    demand = DayDemand(history, features, gap)
    rows = demand.rows(features, level, panel.observed[series[some], day[some]], None)
    if find_believed_plane(rows, None, []) is None:
        return panel, ""
    demand.model = fit_censoring(rows, order_rule=None, random_state=seed)
    found = demand.model.diagnosis_
    if found.identified != "yes" or not (found.share_censored or 0.0) > 0.0:
        return panel, ""
    hidden = np.where(np.isnan(panel.observed), np.nan, 0.0)
    hidden[series, day] = demand.probability_censored(history, series, day)
    drawn = np.repeat(panel.observed[None], VIEWS, axis=0)
    drawn[:, series, day] = demand.sample(history, series, day, seed + 1)
    return replace(panel, hidden=hidden, drawn=drawn), "have a point mass at a limit"
