"""What may decide for a panel: candidates that learn shares of a series' level from its history.

Where it is known which days sold out, a distribution says what they hid, and the panel is imputed
twice over: the history looks back on expected demand instead of sales, and a sold-out day is
learned from as several values drawn from the distribution above its sales. A model then needs to
know nothing of censoring. On 100 series of fresh food that lowered the cost of trees on five weeks
held out by 14%, sold-out days weighed for (and raised it by 5% on those that did not sell out).

Every day is learned from as it was seen some days before, between the shortest and the longest
time ahead that orders are decided; a share of the level counts by the level, so that costs are
those of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from unmet.arrays import Array
from unmet.censoring.panel import PanelDistribution
from unmet.costs import Newsvendor, SquaredError
from unmet.errors import InvalidInput, MissingPackage, Unsupported
from unmet.estimators import BoostedDecision, LinearDecision, NeuralDecision
from unmet.evaluation.backtest import ModelChoice, choose_model, score_decisions
from unmet.inventory import DemandDistribution
from unmet.planning.history import DRAWN, SAME_DAYS, History, LinearColumns, Single, at
from unmet.planning.stockouts import VIEWS, DayDemand
from unmet.rows import Rows
from unmet.tables.panel import Panel, Places

CANDIDATES = ("seasonal", "linear", "distribution", "neural", "boosted", "blend")
"""Names of candidates, the simplest first."""
LABELS = {
    "seasonal": "the same weekdays before",
    "linear": "a linear model with effects in percent, common to all series",
    "distribution": "a distribution for each series, shrunk to the pooled estimate",
    "neural": "a small neural network on history",
    "boosted": "boosted trees on history",
    "blend": "the mean of the linear model and the trees",
}
"""What readers are told of each candidate."""
_SEASONAL = {"week": "the weeks before", "day": LABELS["seasonal"]}


def labels_of(unit: str) -> dict[str, str]:
    """Say what readers are told of each candidate, where rows are days, weeks or months."""
    return {**LABELS, "seasonal": _SEASONAL.get(unit, f"the same {unit}s before")}


MEANS = ("seasonal", "linear", "boosted", "blend")
"""Candidates for expected demand."""
TREES = 150
"""Boosted trees."""

MAX_ROWS = 600_000
"""Rows that a model learns from at most, drawn at random: more are slower and hardly better."""
MIN_ROWS = 40
"""Rows below which only the level and the weekday decide."""
MAX_DISTRIBUTIONS = 2_000
"""Series that can have a distribution each: for more, it takes minutes, and trees have been
cheaper."""
NETWORK_ROWS = 20_000
"""Rows that a network learns from at most, drawn at random."""


class TrainingSet:
    """What a panel teaches, whatever the model: rows as shares of levels, sold-out days imputed.

    Parameters
    ----------
    panel : Panel
    horizon, lead_time : int
        Orders are decided lead_time + 1 to lead_time + horizon days before.
    impute : bool
        Whether sold-out days are imputed; otherwise sales are taken for demand.
    seasons, country : as for `History`
    seed : int
    most_rows : int

    Attributes
    ----------
    history : History
        Imputed where anything was.
    demand : ndarray of shape (n_series, n_days)
        Observations, with the expected demand of sold-out days.
    imputed : bool
        Whether demand is more than sales somewhere: by a distribution, or by what hours said.
    features, level, value, weight, series, day
        Of the rows to learn from; values are shares of the level.
    """

    def __init__(
        self,
        panel: Panel,
        horizon: int,
        lead_time: int,
        *,
        impute: bool = True,
        seasons: bool = False,
        country: str | None = None,
        seed: int = 0,
        most_rows: int = MAX_ROWS,
    ) -> None:
        self.panel, self.horizon, self.lead_time, self.seed = panel, horizon, lead_time, seed
        self._words: dict[str, Any] = {"seasons": seasons, "country": country}
        self.history = History(panel, **self._words)
        self.demand, self.censoring = panel.observed, None
        series, day = self._cells = self._to_learn_from(most_rows)
        if impute and panel.drawn is None and panel.hidden is not None:
            told = ~np.isnan(panel.hidden[series, day])
            self.censoring = self._learn_flags(series[told], day[told], most_rows)
        draws = self._draw(panel) if impute else None
        self.imputed = draws is not None
        if draws is not None:
            self.demand = draws.mean(axis=0)
            self.history = History(panel, self.demand, **self._words)
        # each day several times where days are few, every time as seen from another day before
        n_views = self.n_views = max(1, min(VIEWS, most_rows // max(series.size, 1)))
        generator = np.random.default_rng(seed)
        parts: list[tuple[Single, Array, Array]] = []
        for view in range(n_views):
            features, level = self.history.rows(series, day, self._gaps(day, generator))
            source = panel.observed if draws is None else draws[view]
            parts.append((features, level, source[series, day] / level))
        self.features = np.concatenate([each[0] for each in parts])
        self.level = np.concatenate([each[1] for each in parts])
        self.value = np.concatenate([each[2] for each in parts])
        self.weight = self.level * self.level.size / max(float(self.level.sum()), 1e-300)
        self.series, self.day = np.tile(series, n_views), np.tile(day, n_views)
        self.n_rows = int(self.value.size)

    def _to_learn_from(self, most_rows: int) -> tuple[Places, Places]:
        """Days with an observation, but for the first; drawn at random where they are too many."""
        panel = self.panel
        there = ~np.isnan(panel.observed)
        seen = there.copy()
        seen[:, : min(14, panel.n_days // 3)] = False  # the first days are only looked back on
        if panel.hidden is not None:
            # Sales of a day that may have sold out are no demand, and taken for it they pull orders
            # down. But few days with a flag, such as the last of each series, say less than all.
            told = seen & ~np.isnan(panel.hidden)
            seen = told if told.sum() >= max(300, 0.5 * seen.sum()) else seen
        place = np.flatnonzero(seen)
        if place.size > most_rows:
            generator = np.random.default_rng(self.seed)
            place = np.sort(generator.choice(place, most_rows, replace=False))
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

    def _learn_flags(self, series: Places, day: Places, most_rows: int) -> DayDemand | None:
        """Learn the distribution of demand from days with a flag; None where too few tell it."""
        assert self.panel.hidden is not None
        sold_out = self.panel.hidden[series, day] == 1.0
        if sold_out.sum() < 20 or (~sold_out).sum() < 20:
            return None
        most, generator = min(100_000, most_rows // 2), np.random.default_rng(self.seed)
        if series.size > most:
            some = generator.choice(series.size, most, replace=False)
            series, day, sold_out = series[some], day[some], sold_out[some]
            generator = np.random.default_rng(self.seed)
        gap = self._gaps(day, generator)
        features, level = self.history.rows(series, day, gap)
        # slow sellers vary more, in shares of their level: each volume has a spread of its own
        volumes = np.unique(np.quantile(level, np.linspace(0, 1, 7)[1:-1]))
        found = DayDemand(self.history, features, self.lead_time + 1, volumes)
        rows = found.rows(
            features,
            level,
            self.panel.observed[series, day],
            sold_out.astype(np.float64),
            share=level / level.sum(),
            time=day,
        )
        found.model = PanelDistribution(self.seed).fit(rows, np.ones(volumes.size + 1))
        return found

    def _draw(self, panel: Panel) -> Array | None:
        """Draw the demand of all days, (VIEWS, n_series, n_days); None where sales are demand."""
        if panel.drawn is not None:
            return np.asarray(panel.drawn[np.arange(VIEWS) % panel.drawn.shape[0]])
        if self.censoring is None or panel.hidden is None:
            return None
        series, day = self._sold_out(panel)
        found = np.repeat(panel.observed[None], VIEWS, axis=0)
        as_sold = self.history if panel is self.panel else History(panel, **self._words)
        found[:, series, day] = self.censoring.sample(as_sold, series, day, self.seed + 1)
        return found

    def _sold_out(self, panel: Panel) -> tuple[Places, Places]:
        """Series and days that sold out and have something to look back on."""
        assert panel.hidden is not None
        series, day = np.nonzero(panel.hidden == 1.0)
        late = day >= int(self._cells[1].min())
        return series[late], day[late]

    def continued(self, panel: Panel) -> tuple[History, Array]:
        """Give the history of the same series some days later, and their demand.

        Sold-out days are imputed by the same distribution. In the history they have what is
        expected of them; in the demand one drawn value, since a mean has no spread.
        """
        draws = self._draw(panel) if self.imputed else None
        if draws is None:
            return History(panel, **self._words), panel.observed
        expected = draws.mean(axis=0)
        expected[:, : self.panel.n_days] = self.demand
        return History(panel, expected, **self._words), draws[0]

    def quantiles(self, levels: Sequence[float]) -> list[Array]:
        """Quantiles of the demand of all days, each of shape (n_series, n_days)."""
        panel = self.panel
        if panel.drawn is not None:
            return [np.quantile(panel.drawn, level, axis=0) for level in levels]
        found = [panel.observed.copy() for _ in levels]
        if self.censoring is not None and panel.hidden is not None:
            series, day = self._sold_out(panel)
            as_sold = History(panel, **self._words)
            for values, level in zip(found, levels, strict=True):
                values[series, day] = self.censoring.quantile(as_sold, series, day, level)
        return found

    def spread(self) -> DemandDistribution:
        """Learn how demand spreads around level and weekday (`History.usual`), day by day."""
        expected = self.history.usual(self.panel.n_days)[1]
        n_last = min(expected.shape[1], max(MAX_ROWS // self.panel.n_series, self.history.cycle))
        came = self.history.demand[:, self.panel.n_days - n_last :].astype(np.float64)
        last = expected[:, expected.shape[1] - n_last :]
        counted = self.panel.counted
        return DemandDistribution.fit(last[..., None], came[..., None], counted=counted)

    def usual_orders(self, series: Places) -> Array | None:
        """Say what was usually there to sell in each series: what it sold when it sold out.

        Shrunk to what is usual for its level; None where no day is known to have sold out.
        """
        if self.panel.hidden is None:
            return None
        sold_out = np.nan_to_num(self.panel.hidden)
        sums = (sold_out * np.nan_to_num(self.panel.observed)).sum(axis=1)
        if not sums.sum() > 0:
            return None
        count = sold_out.sum(axis=1)
        everyone = np.arange(self.panel.n_series)
        ahead = np.full(everyone.size, self.panel.n_days)
        _, level = self.history.rows(everyone, ahead, np.ones(everyone.size, dtype=np.intp))
        usual = float(sums.sum() / (count * level).sum())
        orders = (sums + DRAWN * usual * level) / (count + DRAWN)
        return np.asarray(orders[series])


class PanelModel(BaseEstimator):
    """One candidate: learns from `TrainingSet`, decides for any rows.

    Parameters
    ----------
    name : str
        One of `CANDIDATES`; of `MEANS` where the cost is `SquaredError`.
    cost : Newsvendor or SquaredError
        With the latter, decisions are what is expected.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads of trees.
    """

    def __init__(
        self,
        name: str,
        cost: Newsvendor | SquaredError,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.name = name
        self.cost = cost
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, training: TrainingSet) -> Self:
        """Learn shares of levels."""
        if self.name == "blend":
            self.parts_ = [
                PanelModel(each, self.cost, self.random_state, self.n_jobs).fit(training)
                for each in ("linear", "boosted")
            ]
        elif self.name == "seasonal":
            self.spread_ = None if self.of_mean else training.spread()
            self.short_ = training.n_rows < MIN_ROWS
        else:
            if training.n_rows < MIN_ROWS:
                raise InvalidInput(
                    f"A panel must have at least {MIN_ROWS} days to learn from, "
                    f"got {training.n_rows}."
                )
            getattr(self, f"_fit_{self.name}")(training)
        self.fitted_ = True
        return self

    @property
    def of_mean(self) -> bool:
        """Whether decisions are what is expected."""
        return isinstance(self.cost, SquaredError)

    @property
    def level(self) -> float:
        """Level of the quantile that is decided for."""
        assert isinstance(self.cost, Newsvendor)
        return float(np.mean(self.cost.level))

    def decide(
        self,
        history: History,
        series: Places,
        day: Places,
        gap: Places,
        rows: tuple[Single, Array] | None = None,
    ) -> Array:
        """Orders in units, not rounded; `rows` are those of the history, where they are known."""
        if self.name == "blend":
            both = [each.decide(history, series, day, gap, rows) for each in self.parts_]
            return np.asarray(np.mean(both, axis=0))
        if self.name == "seasonal" and self.spread_ is not None:
            return same_weekdays(history, series, day, gap, self.level, self.spread_)
        if self.name == "seasonal" and self.short_:
            return _usual(history, series, day, gap)
        features, level = history.rows(series, day, gap) if rows is None else rows
        share = self._shares(features, history, series)
        # nothing is expected to be more than twenty times the level
        return np.clip(share, 0.0, 20.0 if self.of_mean else None) * level

    def _shares(self, features: Single, history: History, series: Places) -> Array:
        if self.name == "seasonal":
            usual = features[:, history.names_.index("usual")]
            found: Array = np.nan_to_num(usual.astype(np.float64), nan=1.0)
        elif self.name == "boosted":
            found = self.model_.predict(features)
        elif self.name in ("linear", "neural"):
            found = self.model_.predict(self.columns_.transform(features))
        else:
            group = np.where(self.seen_[series], series, -1)
            quantile = self.level
            rows = self.columns_.transform(features)
            found = self.distribution_.of(rows, group).truth(quantile)
        return found

    def _fit_linear(self, training: TrainingSet) -> None:
        self.columns_ = LinearColumns(training.history).fit(training.features)
        X = self.columns_.transform(training.features)
        self.middle_ = np.average(X, axis=0, weights=training.weight)
        # columns of a history are alike, which means need a penalty for
        penalty: dict[str, Any] = {"penalty": "l2", "strength": 1e-3} if self.of_mean else {}
        self.model_: Any = LinearDecision(self.cost, **penalty).fit(
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
            self.cost,
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
        """Grow trees on all features; many rows let them be larger."""
        many = training.n_rows > 100_000
        places = [training.history.names_.index(name) for name in training.history.categories_]
        self.model_ = BoostedDecision(
            self.cost,
            # means take more and smaller steps: with those of quantiles, a restaurant that
            # replenishes paid 27% more in the closed loop
            max_iter=TREES * 4 // 3 if self.of_mean else TREES,
            learning_rate=0.04 if self.of_mean else 0.05,
            max_leaf_nodes=31 if many else 15,
            min_samples_leaf=200 if many else 60 if self.of_mean else 100,
            max_features=0.3,
            categorical_features=places or None,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(training.features, training.value, sample_weight=training.weight)

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


def same_weekdays(
    history: History,
    series: Places,
    day: Places,
    gap: Places,
    level: float,
    spread: DemandDistribution,
) -> Array:
    """Quantile of the demand of a series on the last eight same weekdays.

    Where it has fewer, level and weekday say what to expect (`History.usual`), and all series
    together how demand spreads around that.
    """
    last = day - history.cycle * (-(-gap // history.cycle))
    back = history.cycle * np.arange(SAME_DAYS)[:, None]
    same = np.sort(at(history.demand, series, last - back), axis=0)
    found = same[max(int(np.ceil(level * SAME_DAYS)) - 1, 0)]
    few = np.isnan(same[-1])  # NaN come last
    expected = _usual(history, series[few], day[few], gap[few])
    found[few] = spread.quantile(expected, series[few], level)
    return np.asarray(found)


# --- Candidates on days held out, and expected demand.


def decide_held_out(
    names: Sequence[str],
    cost: Newsvendor | SquaredError,
    training: TrainingSet,
    history: History,
    where: tuple[Places, Places, Places],
    n_jobs: int | None,
) -> tuple[dict[str, Array], list[str]]:
    """Let candidates learn from a training set and decide for later rows.

    Returns
    -------
    decisions : dict from str to ndarray of shape (n_rows,)
    left_out : list of str
        Sentences on those that could not take part.
    """
    wanted = [name for name in names if name != "blend"]
    if "blend" in names:
        wanted = list(dict.fromkeys([*wanted, "linear", "boosted"]))
    rows, n_series = history.rows(*where), training.panel.n_series
    found: dict[str, Array] = {}
    left_out: list[str] = []
    for name in wanted:
        label = LABELS[name].capitalize()
        if name == "distribution" and n_series > MAX_DISTRIBUTIONS:
            left_out.append(
                f"{label} took no part: {n_series:,} series are more than {MAX_DISTRIBUTIONS:,}."
            )
            continue
        try:
            model = PanelModel(name, cost, training.seed, n_jobs).fit(training)
        except MissingPackage as error:
            left_out.append(f"{label} took no part: {error}")
            continue
        found[name] = model.decide(history, *where, rows)
    if "blend" in names and {"linear", "boosted"} <= found.keys():
        found["blend"] = 0.5 * (found["linear"] + found["boosted"])
    return {name: found[name] for name in names if name in found}, left_out


class DemandForecast:
    """Expected demand of coming periods and how it spreads: learned once, asked as periods pass.

    Orders with a lead time need demand of several periods together. Candidates for its mean are
    compared on the last part of the panel; the errors of the best one there, which it had not
    seen, say how demand spreads and how far one miss goes with the next (`DemandDistribution`).

    Parameters
    ----------
    n_periods : int
        How far ahead.
    model : str or sequence of str, default="auto"
        Of `MEANS`.
    seasons, country : as for `History`
    seed : int, default=0
    n_jobs : int, optional
        Threads of boosted trees.

    Attributes
    ----------
    choice_ : ModelChoice
        Its cost is how far each candidate missed demand until the horizon, held out.
    distribution_ : DemandDistribution
    checked_ : tuple of float or None
        Of stocks on the periods held out, by errors at other times: how many were expected
        not to last until the horizon, how many did not, and of how many.
    training_ : TrainingSet
    """

    def __init__(
        self,
        n_periods: int,
        model: str | Sequence[str] = "auto",
        *,
        seasons: bool = False,
        country: str | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_periods, self.seed, self.n_jobs = n_periods, seed, n_jobs
        self.names = MEANS if model == "auto" else (model,) if isinstance(model, str) else model
        self._words: dict[str, Any] = {"seasons": seasons, "country": country, "seed": seed}

    def fit(self, panel: Panel) -> Self:
        """Compare candidates on the last part of a panel, and learn the best of them on all."""
        follows = "Expected demand follows"
        n_series, n_periods = panel.n_series, self.n_periods
        # at most the last 30% of the periods, and 12 to learn from; 200,000 forecasts are enough
        start, last = max(int(0.7 * panel.n_days), 12), panel.n_days - n_periods
        count = min(max(200_000 // (n_series * n_periods), 4), 60, max(last - start + 1, 0))
        origins = np.unique(np.linspace(start, last, count).astype(np.intp))
        self.training_ = self._training(panel)
        short = f"{follows} {LABELS['seasonal']}: the past is too short to compare."
        self.choice_ = ModelChoice("seasonal", short)
        self.checked_ = None
        before = self._training(panel.until(int(origins[0]))) if origins.size else None
        if before is None or before.n_rows < MIN_ROWS:
            self.distribution_ = self.training_.spread()
        else:
            history, truth = before.continued(panel)
            series, origin, ahead = (
                each.ravel()
                for each in np.meshgrid(
                    np.arange(n_series), origins, np.arange(n_periods), indexing="ij"
                )
            )
            where = series, origin + ahead, ahead + 1
            found, left_out = decide_held_out(
                self.names, SquaredError(), before, history, where, self.n_jobs
            )
            shape = (n_series, origins.size, n_periods)
            came = truth[series, origin + ahead].reshape(shape)
            known = ~np.isnan(came)
            expected = {name: each.reshape(shape) for name, each in found.items()}
            totals = {
                name: np.where(known, each, 0.0).sum(axis=2).ravel()
                for name, each in {**expected, "": came}.items()
            }
            total = totals.pop("")
            # At even costs, by what is missed of demand until the horizon against the noise that
            # counts of its level have: in units, which few fast sellers have most of, orders of
            # eight weeks cost 2 to 8% more (benchmarks/weekly.py).
            level = history.rows(*where)[1].reshape(shape)[..., 0] * known.sum(axis=2)
            weight = np.where(level > 0, 1.0 / np.sqrt(np.maximum(level, 1e-300)), 0.0)
            score, _ = score_decisions(
                Newsvendor(1.0, 1.0), totals, total, None, sample_weight=weight.ravel()
            )
            self.choice_ = choose_model(
                score.cost,
                LABELS,
                "on periods that it had not seen",
                follows=follows,
                costs="misses",
                n_rows=series.size,
                left_out=tuple(left_out),
            )
            best = expected[self.choice_.model]
            self.distribution_ = DemandDistribution.fit(best, came, counted=panel.counted)
            self.checked_ = self._check(best, came, panel.counted)
        model = PanelModel(self.choice_.model, SquaredError(), self.seed, self.n_jobs)
        self._model = model.fit(self.training_)
        self._model.short_ = not self.choice_.scored
        return self

    def _check(self, expected: Array, came: Array, counted: bool) -> tuple[float, int, int] | None:
        """Compare chances that stocks do not last with how many did not, by errors at other times.

        Quarters of the periods held out take turns: two say how demand spreads in the other two.
        """
        n_series, n_origins, _ = expected.shape
        turn = 4 * np.arange(n_origins) // n_origins % 2
        every = max(1, n_series * n_origins // 20_000)
        promised, seen, count = 0.0, 0, 0
        for origin in range(0, n_origins if n_origins >= 8 else 0, every):
            if origin == 0 or turn[origin] != turn[origin - every]:
                other = turn != turn[origin]
                spread = DemandDistribution.fit(expected[:, other], came[:, other], counted=counted)
            known = ~np.isnan(came[:, origin]).any(axis=1)
            asked = spread.draw(expected[:, origin], 200, seed=origin).sum(axis=2)[known]
            for level in (0.7, 0.8, 0.9):  # other paths than those that it is the quantile of
                stock = np.quantile(asked[:, ::2], level, axis=1, method="inverted_cdf")
                promised += float((asked[:, 1::2] > stock[:, None]).mean(axis=1).sum())
                seen += int((came[known, origin].sum(axis=1) > stock).sum())
                count += stock.size
        return (promised, seen, count) if count else None

    def _training(self, panel: Panel) -> TrainingSet:
        return TrainingSet(panel, self.n_periods, 0, most_rows=100_000, **self._words)

    def expected(self, panel: Panel | None = None) -> Array:
        """Give expected demand from the end of the panel, or of the same series later on.

        Returns
        -------
        ndarray of shape (n_series, n_periods)
        """
        now = self.training_.panel if panel is None else panel
        history = self.training_.history if panel is None else self.training_.continued(panel)[0]
        series = np.repeat(np.arange(now.n_series), self.n_periods)
        ahead = np.tile(np.arange(self.n_periods), now.n_series)
        found = self._model.decide(history, series, now.n_days + ahead, ahead + 1)
        return np.asarray(found.reshape(now.n_series, self.n_periods))


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
    """Take what a model says of rows apart.

    Parameters
    ----------
    model : PanelModel
        "linear", "boosted" or "blend", fitted.
    history : History
        That the rows are seen in.
    series, day, gap : ndarray of shape (n_rows,)

    Returns
    -------
    dict from str to ndarray of shape (n_rows,)
        In units, for each of `DRIVERS`; their sum is what `PanelModel.decide` gives.
    """
    if model.name == "blend":
        both = [drivers(part, history, series, day, gap) for part in model.parts_]
        return {name: 0.5 * (both[0][name] + both[1][name]) for name in DRIVERS}
    if model.name not in ("linear", "boosted"):
        raise Unsupported(
            "drivers can be told of the linear model, the trees and their mean; these orders "
            f"follow {LABELS[model.name]}, of which there is nothing to take apart."
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
