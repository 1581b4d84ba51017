"""Demand forecast of coming periods: its expectation, and the spread of demand around it.

Several member models learn shares of a series' level from its history, and their mean is the
expected demand. Its errors on periods that no member has seen give the spread
(`DemandDistribution`). An order at any service level is a quantile of the resulting distribution. A
member is left out only if the mean is clearly better without it.

If it is known which days sold out, a distribution estimates what they hid, and the panel is imputed
in two ways. The history uses expected demand instead of sales. In training and in comparisons,
values drawn from the distribution above the sales replace a sold-out day. A member then needs to
know nothing about censoring.

Each day is learned from as it was seen some days before, between the shortest and the longest time
ahead that orders need. A share of the level counts by the level, so that errors are in units.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from unmet.arrays import Array
from unmet.censoring.latent.sellout import skewness
from unmet.censoring.panel import PanelDistribution
from unmet.costs import Newsvendor, SquaredError
from unmet.errors import MissingPackage, Unsupported
from unmet.estimators import LinearDecision, NeuralDecision
from unmet.evaluation.backtest import ModelChoice, choose_model
from unmet.inventory import DemandDistribution
from unmet.planning.history import History, LinearColumns, PooledHistory, Single
from unmet.planning.smoothing import smoothed
from unmet.planning.stockouts import MIN_OUT, VIEWS, DayDemand, StockoutChance, tells_stockouts
from unmet.progress import Step, silent
from unmet.rows import Rows
from unmet.solvers.boosting.growing import Trees, load_lightgbm
from unmet.tables.panel import Panel, Places

MEMBERS = ("seasonal", "smoothing", "linear", "distribution", "neural", "boosted")
"""Models of what is expected, the simplest first."""
CANDIDATES = (*MEMBERS, "blend")
"""What may decide: one model, or the mean of several."""
BLEND = ("smoothing", "linear", "boosted")
"""Members of the mean that decides by default; without LightGBM, "distribution" takes the place of
"boosted"."""
LABELS = {
    "seasonal": "the mean of past same weekdays",
    "smoothing": "exponential smoothing",
    "linear": "a linear model",
    "distribution": "a distribution of each series, shrunk to the pooled estimate",
    "neural": "a small neural network",
    "boosted": "boosted trees",
    "blend": "the average of exponential smoothing, a linear model and boosted trees",
}
"""What readers are told of each candidate."""


def labels_of(unit: str, members: Sequence[str] = ()) -> dict[str, str]:
    """Say what readers are told of each candidate, where rows are days, weeks or months."""
    labels = dict(LABELS)
    if unit != "day":
        labels["seasonal"] = f"the mean of past {unit}s"
    if len(members) > 1:
        *most, last = [labels[name] for name in members]
        labels["blend"] = f"the average of {', '.join(most)} and {last}"
    return labels


TREES = 120
"""Boosted trees."""
MAX_ROWS = 100_000
"""Rows that a model learns from at most, drawn at random: more are slower and hardly better."""
MIN_ROWS = 40
"""Rows below which only the level and the weekday decide."""
MAX_DISTRIBUTIONS = 2_000
"""Series that can have a distribution each: for more, it takes minutes."""
NETWORK_ROWS = 20_000
"""Rows that a network learns from at most, drawn at random."""
BLOCK = 2_000
"""Series that were not learned from and are asked about at once."""
SURE = 3.0
"""Standard errors by which the mean must be better without a member that is left out."""


class TrainingSet:
    """Training rows of a panel for any model: shares of levels, with sold-out days imputed.

    Parameters
    ----------
    panel : Panel
        Sales by series and period.
    horizon, lead_time : int
        Orders are decided lead_time + 1 to lead_time + horizon days before.
    seasons, country : as for `History`
    seed : int
        Seed of draws and samples.

    Attributes
    ----------
    history : History
        History, imputed where days sold out.
    demand : ndarray of shape (n_series, n_days)
        Observations, with the expected demand of sold-out days.
    imputed : bool
        Whether demand exceeds sales somewhere, by a distribution or by hourly sales.
    sold_share : ndarray of shape (n_series,)
        Level of sales as a share of that of demand, at the end.
    features, level, value, weight, series, day
        Columns of the training rows; values are shares of the level.
    """

    def __init__(
        self,
        panel: Panel,
        horizon: int,
        lead_time: int,
        *,
        seasons: bool = False,
        country: str | None = None,
        seed: int = 0,
    ) -> None:
        self.panel, self.horizon, self.lead_time, self.seed = panel, horizon, lead_time, seed
        self._words: dict[str, Any] = {"seasons": seasons, "country": country}
        self.history = History(panel, **self._words)
        self.demand, self.censoring, self._chance = panel.observed, None, None
        series, day = self._to_learn_from()
        self._first = int(day.min(initial=panel.n_days))
        self._pooled: tuple[PooledHistory, PooledHistory] | None = None
        if panel.drawn is None and tells_stockouts(panel):
            if panel.some_unknown:
                self._chance = StockoutChance(self.history, lead_time + 1)
                self.history = self._as_sold(panel)
            self.censoring = self._learn_flags(series, day)
        self._as_sold_pooled = self.history.pooled()
        draws = self.draws = self._draw(self.history)
        self.imputed = draws is not None
        self.sold_share = np.ones(panel.n_series)
        if draws is not None:
            self.demand = draws.mean(axis=0)
            as_sold = self.history.level[:, -1].astype(np.float64)
            self.history = History(self.history.panel, self.demand, **self._words)
            self.sold_share = np.minimum(as_sold / self.history.level[:, -1], 1.0)
        # each day several times where days are few, every time as seen from another day before
        n_views = self.n_views = max(1, min(VIEWS, MAX_ROWS // max(series.size, 1)))
        generator = np.random.default_rng(seed)
        parts: list[tuple[Single, Array, Array]] = []
        for view in range(n_views):
            features, level = self.history.rows(series, day, self._gaps(day, generator))
            source = panel.observed if draws is None else draws[view]
            parts.append((features, level, source[series, day] / level))
        self.features, self.level, self.value = map(np.concatenate, zip(*parts, strict=True))
        self.weight = self.level * self.level.size / max(float(self.level.sum()), 1e-300)
        self.series, self.day = np.tile(series, n_views), np.tile(day, n_views)
        self.n_rows = int(self.value.size)

    def _to_learn_from(self) -> tuple[Places, Places]:
        """Days with an observation, but for the first; drawn at random where they are too many."""
        panel = self.panel
        there = ~np.isnan(panel.observed)
        seen = there.copy()
        seen[:, : min(14, panel.n_days // 3)] = False  # the first days are only looked back on
        place = np.flatnonzero(seen)
        if place.size > MAX_ROWS:
            generator = np.random.default_rng(self.seed)
            place = np.sort(generator.choice(place, MAX_ROWS, replace=False))
        series, day = np.divmod(place, panel.n_days)
        # before anything was seen of any series there is no level
        start = int(np.flatnonzero(there.any(axis=0))[0])
        kept = day - self.lead_time - self.horizon >= start
        if np.count_nonzero(kept) < MIN_ROWS:  # a short past is seen from nearer by
            kept = day - self.lead_time > start
        return series[kept], day[kept]

    def _gaps(self, day: Places, generator: np.random.Generator) -> Places:
        """How long before each day is seen: at random, but not before the panel begins."""
        gap = self.lead_time + generator.integers(1, self.horizon + 1, day.size)
        return np.minimum(gap, day)

    def _as_sold(self, panel: Panel, pooled: PooledHistory | None = None) -> History:
        """Give the history of a panel, with a probability for each day that lacks a flag."""
        history = History(panel, pooled=pooled, **self._words)
        if self._chance is None or not panel.some_unknown:
            return history
        filled = self._chance.fill(history, other=pooled is not None)
        return History(filled, pooled=pooled, **self._words)

    def _learn_flags(self, series: Places, day: Places) -> DayDemand:
        """Learn the distribution of demand; a day without a flag counts by its probability."""
        panel = self.history.panel
        assert panel.hidden is not None
        most, generator = MAX_ROWS // 2, np.random.default_rng(self.seed)
        if series.size > most:
            some = generator.choice(series.size, most, replace=False)
            series, day = series[some], day[some]
            generator = np.random.default_rng(self.seed)
        gap = self._gaps(day, generator)
        features, level = self.history.rows(series, day, gap)
        # slow sellers vary more, in shares of their level: each volume has a spread of its own
        volumes = np.unique(np.quantile(level, np.linspace(0, 1, 7)[1:-1]))
        found = DayDemand(self.history, features, self.lead_time + 1, volumes)
        # a series that has just begun sells many times its level: that is no tail of demand
        sold, young = panel.observed[series, day], day < self.history.first[series] + 14
        told = panel.hidden[series, day]
        chance = np.where(young, np.nan, told)
        if min((chance < 1.0).sum(), (chance > 0.0).sum()) < MIN_OUT:
            chance = told  # all have just begun
        # a day that perhaps sold out is two rows: one that did, one that did not
        row = np.concatenate([np.flatnonzero(chance < 1.0), np.flatnonzero(chance > 0.0)])
        sold_out = np.arange(row.size) >= (chance < 1.0).sum()
        share = level[row] * np.where(sold_out, chance[row], 1.0 - chance[row])
        rows = found.rows(
            features[row],
            level[row],
            sold[row],
            sold_out.astype(np.float64),
            share=share / share.sum(),
            time=day[row],
        )
        found.model = PanelDistribution(self.seed).fit(rows, np.ones(volumes.size + 1))
        return found

    def _draw(self, as_sold: History) -> Array | None:
        """Draw the demand of all days, (VIEWS, n_series, n_days); None where sales are demand."""
        panel = as_sold.panel
        if panel.drawn is not None:
            return np.asarray(panel.drawn[np.arange(VIEWS) % panel.drawn.shape[0]])
        if self.censoring is None:
            return None
        series, day = self._sold_out(panel)
        found = np.repeat(panel.observed[None], VIEWS, axis=0)
        found[:, series, day] = self.censoring.sample(as_sold, series, day, self.seed + 1)
        return found

    def _sold_out(self, panel: Panel) -> tuple[Places, Places]:
        """Series and days that sold out, surely or perhaps, and have something to look back on."""
        series, day = np.nonzero(panel.imputed)
        late = day >= self._first
        return series[late], day[late]

    # --- Other series of the same table.

    def for_others(self) -> TrainingSet:
        """Give what is needed to ask about other series: nothing of a single series or row."""
        found = copy(self)
        found._pooled = self._as_sold_pooled, self.history.pooled()
        of_rows = ("features", "level", "value", "weight", "series", "day")
        for name in ("panel", "history", "demand", "draws", "sold_share", *of_rows):
            setattr(found, name, None)
        return found

    def others_as_sold(self, panel: Panel) -> History:
        """Give the history of other series, as sold."""
        assert self._pooled is not None
        return self._as_sold(panel, self._pooled[0])

    def others_demand(self, as_sold: History) -> tuple[History, Array | None]:
        """Give the history of the demand of other series, and draws of it where any was imputed."""
        if self.censoring is None or self._pooled is None:
            return as_sold, None
        panel = as_sold.panel
        series, day = self._sold_out(panel)
        levels = _levels_of(panel, series, day, self.seed)
        draws = np.repeat(panel.observed[None], VIEWS, axis=0)
        draws[:, series, day] = self.censoring.sample(as_sold, series, day, self.seed, levels)
        demand = draws.mean(axis=0)
        return History(panel, demand, pooled=self._pooled[1], **self._words), draws

    def continued(self, panel: Panel) -> tuple[History, Array]:
        """Give the history of the same series some days later, and their demand.

        Sold-out days are imputed by the same distribution. In the history they have what is
        expected of them; in the demand one drawn value, since a mean has no spread.
        """
        as_sold = self._as_sold(panel)
        draws = self._draw(as_sold) if self.imputed else None
        if draws is None:
            return as_sold, panel.observed
        expected = draws.mean(axis=0)
        expected[:, : self.panel.n_days] = self.demand
        return History(as_sold.panel, expected, **self._words), draws[0]

    def quantiles(self, levels: Sequence[float], others: Panel | None = None) -> list[Array]:
        """Quantiles of the demand of all days, each of shape (n_series, n_days)."""
        panel = self.panel if others is None else others
        if panel.drawn is not None:
            return [np.quantile(panel.drawn, level, axis=0) for level in levels]
        found = [panel.observed.copy() for _ in levels]
        if self.censoring is not None:
            as_sold = self._as_sold(panel) if others is None else self.others_as_sold(panel)
            series, day = self._sold_out(as_sold.panel)
            for values, level in zip(found, levels, strict=True):
                values[series, day] = self.censoring.quantile(as_sold, series, day, level)
        return found

    def spread(self) -> DemandDistribution:
        """Learn how demand spreads around level and weekday (`History.usual`), day by day."""
        self._n_last = max(MAX_ROWS // self.panel.n_series, self.history.cycle)
        counted = self.panel.counted
        return DemandDistribution.fit(*self.left_out(self.history), counted=counted)

    def left_out(self, history: History) -> tuple[Array, Array]:
        """Give what all other days lead to expect of each of the last ones, and what came."""
        expected, n_days = history.usual(history.panel.n_days)[1], history.panel.n_days
        n_last = min(expected.shape[1], self._n_last)
        came = history.demand[:, n_days - n_last :].astype(np.float64)
        return expected[:, expected.shape[1] - n_last :][..., None], came[..., None]


def series_hashes(panel: Panel, seed: int) -> NDArray[np.uint64]:
    """Give a number for each series that depends on its name and a seed alone."""
    if panel.keys is None or not panel.keys.width:
        return np.zeros(panel.n_series, dtype=np.uint64)
    names = [name for name in panel.keys.columns if name.startswith("\0")]
    return hashes_of(panel.keys.select(names).rows(), seed)


def hashes_of(keys: Sequence[tuple[Any, ...]], seed: int) -> NDArray[np.uint64]:
    """Give a number for each key, of text, that depends on it and a seed alone."""
    salt = seed.to_bytes(8, "little")
    joined = ("\x1f".join(key).encode() for key in keys)
    found = b"".join(blake2b(each, digest_size=8, key=salt).digest() for each in joined)
    return np.frombuffer(found, dtype="<u8")


def _levels_of(panel: Panel, series: Places, day: Places, seed: int) -> Array:
    """Stratified levels of days, (VIEWS, n_rows), that depend on series, date and seed alone."""
    dates = panel.date(day).astype("datetime64[D]").astype(np.int64).astype(np.uint64)
    base = _mixed(series_hashes(panel, seed)[series] + _mixed(dates))
    drawn = np.stack([_mixed(base + np.uint64(place)) for place in range(2 * VIEWS)])
    part = np.argsort(drawn[:VIEWS], axis=0, kind="stable")
    inside = np.clip(drawn[VIEWS:].astype(np.float64) / 2.0**64, 1e-6, 1.0 - 1e-6)
    return np.asarray((part + inside) / VIEWS)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers evenly, the same ones always alike (SplitMix64, Steele et al. 2014)."""
    found = values + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))


Asked: TypeAlias = tuple[Single, Array]
"""Features of rows, and the levels that their shares are of."""


class PanelModel(BaseEstimator):
    """One member model: learns from a `TrainingSet` what to expect of any rows.

    Parameters
    ----------
    name : str
        One of `MEMBERS`.
    random_state : int, default=0
        Seed of the model.
    n_jobs : int, default=None
        Threads of trees.
    """

    def __init__(self, name: str, random_state: int = 0, n_jobs: int | None = None) -> None:
        self.name = name
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, training: TrainingSet) -> Self:
        """Learn shares of levels."""
        if self.name == "seasonal":
            self.short_ = training.n_rows < MIN_ROWS
        elif self.name != "smoothing":
            getattr(self, f"_fit_{self.name}")(training)
        self.fitted_ = True
        return self

    def expected(
        self, history: History, series: Places, day: Places, gap: Places, rows: Asked | None = None
    ) -> Array:
        """Give expected demand in units; `rows` are those of the history, where they are known."""
        if self.name == "smoothing":
            return smoothed(history, series, day, gap)
        if self.name == "seasonal" and self.short_:
            return _usual(history, series, day, gap)
        features, level = history.rows(series, day, gap) if rows is None else rows
        share = self._shares(features, history, series)
        # nothing is expected to be more than twenty times the level
        return np.clip(share, 0.0, 20.0) * level

    def _shares(self, features: Single, history: History, series: Places) -> Array:
        if self.name == "seasonal":
            usual = features[:, history.names_.index("usual")]
            found: Array = np.nan_to_num(usual.astype(np.float64), nan=1.0)
        elif self.name == "boosted":
            found = self.model_.predict(features)
        elif self.name == "linear":
            # row by row, so that a row does not depend on those beside it as by BLAS
            X = np.ascontiguousarray(self.columns_.transform(features))
            found = np.einsum("ij,j->i", X, self.model_.coef_) + self.model_.intercept_
        elif self.name == "neural":
            found = self.model_.predict(self.columns_.transform(features))
        else:
            known = np.zeros(1, np.bool_) if history.others else self.seen_[series]
            group = np.where(known, series, -1)
            own = self.distribution_.of(self.columns_.transform(features), group)
            found = np.mean([own.truth(level) for level in np.arange(0.05, 1.0, 0.1)], axis=0)
        return found

    def _fit_linear(self, training: TrainingSet) -> None:
        self.columns_ = LinearColumns(training.history).fit(training.features)
        X = self.columns_.transform(training.features)
        self.middle_ = np.average(X, axis=0, weights=training.weight)
        # columns of a history are alike, which means need a penalty for
        self.model_: Any = LinearDecision(SquaredError(), penalty="l2", strength=1e-3).fit(
            X, training.value, sample_weight=training.weight
        )

    def _fit_neural(self, training: TrainingSet) -> None:
        """Learn from the columns of the linear model; weights are shrunk: histories are short."""
        some = np.arange(training.n_rows)
        if some.size > NETWORK_ROWS:
            generator = np.random.default_rng(self.random_state)
            some = np.sort(generator.choice(some, NETWORK_ROWS, replace=False))
        self.columns_ = LinearColumns(training.history).fit(training.features[some])
        self.model_ = NeuralDecision(
            SquaredError(),
            hidden_layer_sizes=(16,),
            activation="tanh",
            max_iter=80,
            # on days held out of three panels, 0.01 and 0.03 were within 5% of each other, 0.001
            # up to 18% and 0.1 up to 21% dearer
            strength=0.02,
            random_state=self.random_state,
        ).fit(
            self.columns_.transform(training.features[some]),
            training.value[some],
            sample_weight=training.weight[some],
        )

    def _fit_boosted(self, training: TrainingSet) -> None:
        """Grow trees on all features by LightGBM's own least squares; many rows let them grow."""
        lightgbm, many = load_lightgbm(), training.n_rows > 50_000
        # two views of each day: with four, plans take a quarter longer and orders cost the same
        some = slice(0, training.n_rows // training.n_views * 2)
        places = [training.history.names_.index(name) for name in training.history.categories_]
        parameters = {
            "objective": "regression",
            "learning_rate": 0.06,
            "num_leaves": 31 if many else 15,
            "min_data_in_leaf": 200 if many else 30,
            "feature_fraction": 0.3,
            "num_threads": self.n_jobs or 1,
            "seed": self.random_state,
            "deterministic": True,
            "force_row_wise": True,  # else a stopwatch chooses, and rounding with it
            "verbosity": -1,
        }
        rows = lightgbm.Dataset(
            training.features[some],
            training.value[some],
            weight=training.weight[some],
            categorical_feature=places,
            params=parameters,
        )
        self.model_ = Trees(lightgbm.train(parameters, rows, TREES).model_to_string(), 0.0)

    def _fit_distribution(self, training: TrainingSet) -> None:
        """One view of each day: values that were drawn are as good as seen."""
        n_rows = training.n_rows // training.n_views
        some = slice(0, n_rows)
        self.columns_ = LinearColumns(training.history, few=True).fit(training.features[some])
        series = training.series[some]
        self.seen_ = np.bincount(series, minlength=training.panel.n_series) > 0
        rows = Rows(
            self.columns_.transform(training.features[some]),
            training.value[some],
            SquaredError(),
            share=training.weight[some] / training.weight[some].sum(),
            time=training.day[some],
            series=series,
        )
        self.distribution_ = PanelDistribution(self.random_state).fit(
            rows, np.ones(training.panel.n_series)
        )


def _usual(history: History, series: Places, day: Places, gap: Places) -> Array:
    """Level and weekday of each row, as they were known then."""
    state = np.maximum(day - gap + 1, 0)
    found = np.empty(series.size)
    for known in np.unique(state):
        rows = state == known
        found[rows] = history.usual(int(known))[0][series[rows], day[rows] % history.cycle]
    return found


# --- What is expected, and how demand spreads around it.


@dataclass(frozen=True)
class OtherSeries:
    """Demand forecast of series that were not in training.

    Attributes
    ----------
    panel : Panel
        Their panel, with a probability for each day that lacks a flag.
    demand : ndarray of shape (n_series, n_days) or None
        As that of a plan.
    expected : ndarray of shape (n_series, n_periods)
        Expected demand.
    distribution : DemandDistribution
        Spread of demand.
    sold_share : ndarray of shape (n_series,)
        Level of sales as a share of that of demand.
    """

    panel: Panel
    demand: Array | None
    expected: Array
    distribution: DemandDistribution
    sold_share: Array


class DemandForecast:
    """Expected demand of coming periods, and its spread.

    The members learn from the first part of the panel and are compared on the rest. The errors of
    their mean there give the spread of demand and the correlation of errors (`DemandDistribution`).
    Then the members learn from the whole panel. `OrderPlan` uses this class; use it yourself if you
    already have a `Panel`.

    Parameters
    ----------
    n_periods : int
        Number of periods ahead.
    model : str or sequence of str, default="auto"
        One of `MEMBERS`, or several to average. "auto" and "blend" are `BLEND`.
    lead_time : int, default=0
        Periods between the last known period and the first one to forecast. Longer lead times make
        forecasts less certain.
    seasons : bool, default=False
        Whether the history is long enough for features of the season: the month, and the same week
        a year ago.
    country : str, default=None
        Code of a country whose public holidays are features, such as "DE". None uses none.
    seed : int, default=0
        Seed of models, draws and samples.
    n_jobs : int, optional
        Threads of boosted trees. None is one.

    Attributes
    ----------
    choice_ : ModelChoice
        Cost of each member and of their mean on held-out periods.
    members_ : tuple of PanelModel
        The members that are averaged.
    distribution_ : DemandDistribution
        Spread of demand around its expectation.
    skewness_ : tuple of two floats or None
        Skewness of the errors on held-out periods, and its variance; None if nothing was held out.
    training_ : TrainingSet
        The training rows.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import OrderPlan
    >>> from unmet.planning import example
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, model="smoothing").fit(sales)
    >>> plan.expected_.shape, plan.members_[0].name
    ((2, 2), 'smoothing')
    """

    def __init__(
        self,
        n_periods: int,
        model: str | Sequence[str] = "auto",
        *,
        lead_time: int = 0,
        seasons: bool = False,
        country: str | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_periods, self.lead_time, self.seed, self.n_jobs = n_periods, lead_time, seed, n_jobs
        self.default = model in ("auto", "blend")
        self.names = BLEND if self.default else (model,) if isinstance(model, str) else model
        self._words: dict[str, Any] = {
            "seasons": seasons,
            "country": country,
            "seed": seed,
        }

    def fit(self, panel: Panel, cost: Newsvendor | None = None, progress: Step = silent) -> Self:
        """Compare members on the last part of a panel, and learn from all of it.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.
        cost : Newsvendor, optional
            Cost of orders of single periods, by which members are compared. None compares members
            by their errors of the demand until the horizon.
        progress : callable, optional
            Called as ``progress(done, total, doing)`` during the work.

        Returns
        -------
        DemandForecast
            Itself.
        """
        self._tell = partial(progress, 2, 5)
        self.training_ = self.training(panel)
        if self.training_.draws is not None:
            # days held out asked for what all flags say: those before may lack them
            filled = self.training_.history.panel
            panel = replace(filled, drawn=self.training_.draws)
        origins = self._origins(panel)
        before = self.training(panel.until(int(origins[0]))) if origins.size else None
        self._held_out: tuple[Array, Array] | None = None
        self._spreads: tuple[DemandDistribution, ...] = ()
        self._compared: tuple[PanelModel, ...] = ()
        self._known = origins
        self.skewness_: tuple[float, float] | None = None
        if before is None or min(before.n_rows, self.training_.n_rows) < MIN_ROWS:
            # follow level and weekday where the past is too short to compare anything
            named = self.names[0] if len(self.names) == 1 else "seasonal"
            views = 1 if named == "smoothing" else self.training_.n_views  # of the same few days
            if self.training_.n_rows < MIN_ROWS * views:
                named = "seasonal"
            label = labels_of(panel.unit)[named]
            why = f"Forecast: {label}. The history is too short for a backtest."
            self.choice_ = ModelChoice(named, why)
            self.distribution_ = self.training_.spread()
            self.members_: tuple[PanelModel, ...] = (self._member(named).fit(self.training_),)
            if named == "seasonal":
                self.members_[0].short_ = True
            return self
        found, truth, left_out = self._hold_out(panel, before, origins)
        members = [name for name in self.names if name in found]
        every: tuple[PanelModel, ...] = self._compared
        if self.default and "boosted" not in members and panel.n_series <= MAX_DISTRIBUTIONS:
            members += ["distribution"] if "distribution" in found else []
        left_out += _without_worst(members, found, truth)
        self._compared = tuple(each for each in every if each.name in members)
        together = np.mean([found[name] for name in members], axis=0)
        if len(members) > 1:
            found["blend"] = together
        self._held_out = together, truth
        self.skewness_ = _skewness(together, truth)
        self.distribution_ = DemandDistribution.fit(together, truth, counted=panel.counted)
        # say what each member, and their mean, cost on the periods held out
        known, decides = ~np.isnan(truth), "blend" if len(members) > 1 else members[0]
        if cost is None:
            scores = {name: float(_misses(each, truth).mean()) for name, each in found.items()}
        else:
            scores, nth = {}, max(int(known.sum()) // 30_000, 1)  # series that tell enough
            came, there = truth[::nth], known[::nth]
            for name, each in found.items():
                mean, own = each[::nth], self.distribution_
                if name != decides or nth > 1:
                    own = DemandDistribution.fit(mean, came, counted=panel.counted)
                order = own.quantile(mean[there], *_rows(there), float(cost.level))
                scores[name] = float(cost.cost(order, came[there]).mean())
        self.choice_ = choose_model(
            scores,
            labels_of(panel.unit, members),
            "Forecast",
            model=decides,
            of_orders=cost is not None,
            members=tuple(members) if len(members) > 1 else (),
            n_rows=int(known.sum()),
            n_days=panel.n_days - int(self._origins(panel)[0]),
            censoring_adjusted=self.training_.imputed,
            left_out=tuple(left_out),
        )
        self._tell("fitting to the whole history")
        self.members_ = tuple(self._member(name).fit(self.training_) for name in members)
        return self

    def _member(self, name: str) -> PanelModel:
        return PanelModel(name, self.seed, self.n_jobs)

    def training(self, panel: Panel) -> TrainingSet:
        """Give the rows of a panel that members learn from."""
        return TrainingSet(panel, self.n_periods, self.lead_time, **self._words)

    def _origins(self, panel: Panel) -> NDArray[np.intp]:
        """Numbers of known periods after which forecasts are compared with what came.

        At most the last 30% of the periods, but several where those are hardly more than a horizon;
        three weeks or 12 longer periods to learn from; 100,000 forecasts are enough.
        """
        last = panel.n_days - self.n_periods - self.lead_time
        start = min(int(0.7 * panel.n_days), last - self.n_periods // 4)
        start = max(start, 21 if panel.unit == "day" else 12)
        most = max(100_000 // (panel.n_series * self.n_periods), 2)
        count = min(most, 60, max(last - start + 1, 0))
        return np.unique(np.linspace(start, last, count).astype(np.intp))

    def _hold_out(
        self, panel: Panel, before: TrainingSet, origins: NDArray[np.intp]
    ) -> tuple[dict[str, Array], Array, list[str]]:
        """Give what members expect, (n_series, n_origins, n_periods), what came, and notes."""
        # states of a history know nothing later: that of all days has those of the days before
        history = self.training_.history
        truth = panel.observed if panel.drawn is None else panel.drawn[0]
        where = self._cells_of(panel.n_series, origins)
        rows, shape = history.rows(*where), (panel.n_series, origins.size, self.n_periods)
        wanted = list(dict.fromkeys(["seasonal", *self.names]))
        found: dict[str, Array] = {}
        left_out: list[str] = []
        for name in wanted:
            absent = f"The forecast does not include {LABELS[name]}:"
            if name == "distribution" and panel.n_series > MAX_DISTRIBUTIONS:
                left_out.append(
                    f"{absent} {panel.n_series:,} series are more than {MAX_DISTRIBUTIONS:,}."
                )
                continue
            self._tell(f"backtesting {LABELS[name]}")
            try:
                model = self._member(name).fit(before)
            except MissingPackage as error:
                if not self.default:
                    raise
                left_out.append(f"{absent} {error}")
                wanted.append("distribution")
                continue
            found[name] = model.expected(history, *where, rows).reshape(shape)
            self._compared += (model,)
        return found, truth[where[:2]].reshape(shape), left_out

    def _cells_of(self, n_series: int, origins: NDArray[np.intp]) -> tuple[Places, Places, Places]:
        """Series, days and gaps of the periods after some numbers of known periods."""
        steps = np.arange(self.lead_time, self.lead_time + self.n_periods)
        series, origin, ahead = (
            each.ravel() for each in np.meshgrid(np.arange(n_series), origins, steps, indexing="ij")
        )
        return series, origin + ahead, ahead + 1

    def for_others(self) -> DemandForecast:
        """Give what is needed to ask about other series of the same table."""
        found = copy(self)
        found.training_ = self.training_.for_others()
        found._held_out = None
        del found._tell
        return found

    def others(self, panel: Panel) -> OtherSeries:
        """Say what is expected of other series of the same table; see `for_others`.

        Nothing here depends on which series are asked about together.
        """
        every = np.arange(panel.n_series)
        parts = [
            self._some_others(panel.take(every[start : start + BLOCK]))
            for start in range(0, max(panel.n_series, 1), BLOCK)
        ]
        if len(parts) == 1:
            return parts[0]

        def joined(found: list[Any]) -> Any:
            return None if found[0] is None else np.concatenate(found)

        factor = np.concatenate([each.distribution.factor for each in parts])
        return OtherSeries(
            replace(panel, hidden=joined([each.panel.hidden for each in parts])),
            joined([each.demand for each in parts]),
            joined([each.expected for each in parts]),
            replace(self.distribution_, factor=factor),
            joined([each.sold_share for each in parts]),
        )

    def _some_others(self, panel: Panel) -> OtherSeries:
        """Ask about few series: their states are held in memory."""
        training, n_series = self.training_, panel.n_series
        as_sold = training.others_as_sold(panel)
        history, draws = training.others_demand(as_sold)
        sold_share = np.ones(n_series)
        if draws is not None:
            sold = as_sold.level[:, -1].astype(np.float64)
            sold_share = np.minimum(sold / history.level[:, -1], 1.0)
        if self._compared:
            where = self._cells_of(n_series, self._known)
            rows, shape = history.rows(*where), (n_series, self._known.size, self.n_periods)
            found = [each.expected(history, *where, rows) for each in self._compared]
            truth = panel.observed if draws is None else draws[0]
            errors = np.mean(found, axis=0).reshape(shape), truth[where[:2]].reshape(shape)
        else:
            errors = training.left_out(history)
        return OtherSeries(
            as_sold.panel,
            None if draws is None else draws.mean(axis=0),
            self._expected(history),
            self.distribution_.for_series(*errors),
            sold_share,
        )

    def expected(self, panel: Panel | None = None) -> Array:
        """Give the expected demand after the end of a panel.

        Parameters
        ----------
        panel : Panel, optional
            The same series some periods later. None is the panel of `fit`.

        Returns
        -------
        ndarray of shape (n_series, n_periods)
            Expected units.
        """
        history = self.training_.history if panel is None else self.training_.continued(panel)[0]
        return self._expected(history)

    def _expected(self, history: History) -> Array:
        """Mean of what the members expect from the end of a history."""
        now = history.panel
        where = self._cells_of(now.n_series, np.array([now.n_days]))
        rows = None
        if any(each.name not in ("smoothing", "seasonal") for each in self.members_):
            rows = history.rows(*where)
        found = [each.expected(history, *where, rows) for each in self.members_]
        return np.asarray(np.mean(found, axis=0).reshape(now.n_series, self.n_periods))

    def stocks_that_last(self) -> tuple[float, int, int] | None:
        """Compare chances that stocks do not last with how many did not, by errors at other times.

        Quarters of the periods held out take turns: two say how demand spreads in the other two.

        Returns
        -------
        tuple of float, int and int, or None
            How many stocks were expected not to last until the horizon, how many did not, and of
            how many; None where too little was held out.
        """
        if self._held_out is None:
            return None
        expected, came = self._held_out
        n_series, n_origins, _ = expected.shape
        turn = 4 * np.arange(n_origins) // n_origins % 2
        every = max(1, n_series * n_origins // 20_000)
        promised, seen, count = 0.0, 0, 0
        for origin in range(0, n_origins if n_origins >= 8 else 0, every):
            if origin == 0 or turn[origin] != turn[origin - every]:
                other = turn != turn[origin]
                spread = DemandDistribution.fit(
                    expected[:, other], came[:, other], counted=self.training_.panel.counted
                )
            known = ~np.isnan(came[:, origin]).any(axis=1)
            asked = spread.draw(expected[:, origin], 200, seed=origin).sum(axis=2)[known]
            for level in (0.7, 0.8, 0.9):  # other paths than those that it is the quantile of
                stock = np.quantile(asked[:, ::2], level, axis=1, method="inverted_cdf")
                promised += float((asked[:, 1::2] > stock[:, None]).mean(axis=1).sum())
                seen += int((came[known, origin].sum(axis=1) > stock).sum())
                count += stock.size
        return (promised, seen, count) if count else None

    def reached(self, level: float) -> float | None:
        """Compute the share of held-out periods whose demand orders at a service level would meet.

        The distribution for each half of the origins is learned from the other half. None if
        nothing was held out.

        Parameters
        ----------
        level : float
            Service level, above 0 and below 1.
        """
        if self._held_out is None or self._held_out[0].shape[1] < 2:
            return None
        expected, truth = self._held_out
        middle, counted, met, count = expected.shape[1] // 2, self.training_.panel.counted, 0, 0
        halves = slice(0, middle), slice(middle, None)
        if not self._spreads:  # the same at every level
            self._spreads = tuple(
                DemandDistribution.fit(expected[:, own], truth[:, own], counted=counted)
                for own in halves
            )
        for spread, other in zip(self._spreads, halves[::-1], strict=True):
            known = ~np.isnan(truth[:, other])
            came = truth[:, other][known]
            # met if less than it stays below the level: quicker than the quantile of each row
            less = np.ceil(came) - 1.0 if counted else came
            chance = spread.reached(less, expected[:, other][known], *_rows(known))
            met, count = met + int(((less < 0) | (chance < level)).sum()), count + came.size
        return met / max(count, 1)


def _rows(known: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Series and periods of what is known."""
    series, _, period = np.nonzero(known)
    return series, period


def _skewness(expected: Array, truth: Array) -> tuple[float, float] | None:
    """Skewness of misses of those series and periods of which most is expected.

    Small counts are skewed whatever is hidden.
    """
    known = ~np.isnan(truth)
    mean, came = expected[known], truth[known]
    most = mean >= max(float(np.median(mean)) if mean.size else 0.0, 1e-12)
    if most.sum() < 20:
        return None
    return skewness((came - mean)[most] / np.sqrt(mean[most]))


def _misses(expected: Array, truth: Array) -> Array:
    """Say what was missed of demand until the horizon, (n_series, n_origins).

    Against the noise that counts of its level have: in units, which few fast sellers have most of,
    orders of eight weeks cost 2 to 8% more (benchmarks/weekly.py).
    """
    known = ~np.isnan(truth)
    off = np.where(known, truth - expected, 0.0).sum(axis=2)
    level = np.where(known, truth, 0.0).sum(axis=(1, 2)) / np.maximum(known.sum(axis=(1, 2)), 1)
    noise = np.sqrt(np.maximum(level[:, None] * known.sum(axis=2), 1e-300))
    return np.asarray(np.abs(off) / np.where(level[:, None] > 0, noise, np.inf))


def _without_worst(members: list[str], found: dict[str, Array], truth: Array) -> list[str]:
    """Leave out the member without which the mean is surely better; say so."""
    # forecasts of one series overlap, so that only several series tell chance
    if len(members) < 3 or truth.shape[0] < 10:
        return []
    whole = _misses(np.mean([found[name] for name in members], axis=0), truth)
    surest, worst = 0.0, ""
    for name in members:
        rest = np.mean([found[each] for each in members if each != name], axis=0)
        gain = (whole - _misses(rest, truth)).mean(axis=1)
        error = gain.std(ddof=1) / np.sqrt(gain.size)
        if gain.mean() > max(SURE * error, 0.02 * whole.mean()) and gain.mean() > surest:
            surest, worst = float(gain.mean()), name
    if not worst:
        return []
    members.remove(worst)
    return [
        f"The forecast does not include {LABELS[worst]}: without it, errors were smaller in the "
        "backtest."
    ]


# --- What moves the usual sales of a day: contributions of groups of features, in units.


DRIVERS = (
    "from_level",
    "from_recent_sales",
    "from_weekday",
    "from_season",
    "from_known_beforehand",
    "from_similar_series",
    "from_other",
)
"""Columns of contributions: what a series usually sells, then what moves a day away from that."""
_WEEKDAY = ("weekday", "weekday of all", "last same weekday", "usual")
_SEASON = (
    *("day of month", "days to payday", "month", "week of year", "season sin", "season cos"),
    *("a year ago", "holiday", "day before holiday", "day after holiday"),
)
_SIMILAR = ("against similar", "trend of similar")
_OTHER = ("gap", "days seen", "age")


def driver_of(name: str, cycle: int) -> str:
    """Group of a feature of `History`; where rows are weeks, no weekday is another one."""
    if name in _WEEKDAY or name.endswith("same weekdays"):
        alike = {7: "from_weekday", 5: "from_weekday", 1: "from_recent_sales"}
        return alike.get(cycle, "from_season")
    if name in _SEASON:
        return "from_season"
    if name.startswith("known ") or name == "price against usual":
        return "from_known_beforehand"
    if name in _SIMILAR or name.startswith("category "):
        return "from_similar_series"
    return "from_other" if name in _OTHER else "from_recent_sales"


def drivers(
    model: PanelModel, history: History, series: Places, day: Places, gap: Places
) -> dict[str, Array]:
    """Split the forecast of a model into the contributions of groups of features.

    Parameters
    ----------
    model : PanelModel
        Fitted model.
    history : History
        History that gives the features of the rows.
    series, day, gap : ndarray of shape (n_rows,)
        Series, day, and number of days before it that the row was seen.

    Returns
    -------
    dict from str to ndarray of shape (n_rows,)
        Units for each of `DRIVERS`; their sum is the result of `PanelModel.expected`.
    """
    if model.name in ("smoothing", "seasonal"):
        found = {name: np.zeros(series.size) for name in DRIVERS}
        _, found["from_level"] = history.rows(series, day, gap)
        cycle = driver_of("usual", history.cycle)
        found[cycle] = model.expected(history, series, day, gap) - found["from_level"]
        return found
    if model.name not in ("linear", "boosted"):
        raise Unsupported(
            "drivers must be False unless model is 'seasonal', 'smoothing', 'linear' or 'boosted', "
            f"got drivers=True and model {model.name!r}."
        )
    features, level = history.rows(series, day, gap)
    names, parts = _of_features(model, history, features)
    found = {name: np.zeros(series.size) for name in DRIVERS}
    found["from_level"] = parts[:, -1] * level
    for place, name in enumerate(names):
        found[driver_of(name, history.cycle)] += parts[:, place] * level
    # a share below 0 is no order: what lifts it belongs to nothing in particular
    found["from_other"] += np.maximum(-parts.sum(axis=1), 0.0) * level
    return found


def _of_features(
    model: PanelModel, history: History, features: Single
) -> tuple[tuple[str, ...], Array]:
    """Names of features, and the contribution of each, the mean last: shares of the level."""
    if model.name == "boosted":
        return history.names_, model.model_.contributions(features)
    columns = model.columns_
    away = columns.transform(features) - model.middle_
    mean = model.model_.intercept_ + model.middle_ @ model.model_.coef_
    parts = np.column_stack([away * model.model_.coef_, np.full(len(features), mean)])
    return columns.sources, parts
