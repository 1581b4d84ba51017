"""What demand is expected to be in the coming periods, and how it spreads around that.

Orders with a lead time need demand of several periods together. Models of expected demand compete
on the last part of the panel; the errors of the best one there, which it had not seen, say how
demand spreads and how far one miss goes with the next (`unmet.inventory.DemandDistribution`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from unmet.arrays import Array
from unmet.costs import SquaredError
from unmet.errors import MissingPackage
from unmet.estimators import LinearDecision
from unmet.inventory import DemandDistribution
from unmet.planning.history import History, Single
from unmet.planning.panel_models import MIN_ROWS, LineColumns, TrainingSet, grow_trees
from unmet.tables.panel import Panel, Places

MODELS = ("usual", "level", "linear", "boosted", "blend")
"""Who may say what is expected, the simplest first."""
LABELS = {
    "usual": "what is usual for the series and the weekday",
    "level": "what the series sold lately, whatever the weekday",
    "linear": "a linear model on history",
    "boosted": "boosted trees on history",
    "blend": "the mean of the linear model and the trees",
}
_HELD_OUT = 0.3  # of the periods at most
_ORIGINS = 4, 60  # fewest and most
_ENOUGH = 200_000  # forecasts held out, from which on fewer origins do
_MAX_ROWS = 100_000  # to learn from: means need fewer than quantiles
_MIN_PERIODS = 12  # to learn from before the first origin
_PENALTY = 1e-3  # of the linear model, against shares: columns of a history are alike
_MAX_SHARE = 20.0  # of the level: nothing is expected to be more


@dataclass(frozen=True, eq=False)
class DemandForecast:
    """Expected demand ahead, and its distribution.

    Attributes
    ----------
    expected : ndarray of shape (n_series, n_periods)
    distribution : DemandDistribution
    model : str
        One of `MODELS`.
    error : dict from str to float
        How far each model missed demand until the horizon, held out; empty where nothing was
        compared.
    """

    expected: Array
    distribution: DemandDistribution
    model: str
    error: dict[str, float] = field(default_factory=dict)

    def paths(self, n_paths: int = 200, *, seed: int = 0) -> Array:
        """Draw demand of the coming periods, (n_series, n_paths, n_periods)."""
        return self.distribution.draw(self.expected, n_paths, seed=seed)


class DemandModel:
    """What to expect of coming periods: learned once, asked again as periods pass.

    Parameters
    ----------
    n_periods : int
        How far ahead.
    seasons, country : as for `History`
    seed : int, default=0
    n_jobs : int, optional
        Threads of trees.
    """

    def __init__(
        self,
        n_periods: int,
        *,
        seasons: bool = False,
        country: str | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_periods, self.seed, self.n_jobs = n_periods, seed, n_jobs
        self._words: dict[str, Any] = {
            "horizon": n_periods,
            "lead_time": 0,
            "seasons": seasons,
            "country": country,
            "seed": seed,
            "most_rows": _MAX_ROWS,
        }

    def fit(self, panel: Panel) -> Self:
        """Compare models on the last part of a panel, and learn the best of them on all of it."""
        seen = panel.observed[~np.isnan(panel.observed)]
        counted = bool((seen == np.round(seen)).all())
        start = max(int((1.0 - _HELD_OUT) * panel.n_days), _MIN_PERIODS)
        origins = _origins(start, panel, self.n_periods)
        self.error: dict[str, float] = {}
        self.name = "usual"
        if origins.size:
            before = TrainingSet(panel.until(int(origins[0])), **self._words)
            if before.n_rows >= MIN_ROWS:
                expected, truth, level = _held_out(
                    before, panel, origins, self.n_periods, self.n_jobs
                )
                self.error = {
                    each: _error(values, truth, level) for each, values in expected.items()
                }
                self.name = min(self.error, key=self.error.__getitem__)
                self.distribution = DemandDistribution.fit(
                    expected[self.name], truth, counted=counted
                )
        self.training = TrainingSet(panel, **self._words)
        if not self.error:  # a short past: level and weekday, shrunk to the pooled estimate
            self.distribution = self.training.spread()
        self._model = _Expected(self.name, self.seed, self.n_jobs).fit(self.training)
        return self

    def ahead(self, panel: Panel | None = None) -> DemandForecast:
        """Look ahead from the panel that was learned from, or from the same series later on."""
        training = self.training
        now = training.panel if panel is None else panel
        history = training.history if panel is None else training.continued(panel)
        everyone, ahead = _grid(now.n_series, self.n_periods)
        day = now.n_days + ahead
        if self.error:
            found = self._model.predict(history, everyone, day, ahead + 1)
        else:
            found = history.usual(now.n_days)[0][everyone, day % history.cycle]
        expected = found.reshape(now.n_series, self.n_periods)
        return DemandForecast(expected, self.distribution, self.name, self.error)


def _origins(start: int, panel: Panel, n_periods: int) -> Places:
    """Numbers of periods known at which the future is looked at, spread evenly."""
    last = panel.n_days - n_periods
    if last < start:
        return np.empty(0, dtype=np.intp)
    wanted = min(max(_ENOUGH // (panel.n_series * n_periods), _ORIGINS[0]), _ORIGINS[1])
    count = min(wanted, last - start + 1)
    return np.unique(np.linspace(start, last, count).astype(np.intp))


def _grid(n_series: int, n_periods: int) -> tuple[Places, Places]:
    """Every series, and how far ahead of the origin each row is."""
    return (
        np.repeat(np.arange(n_series), n_periods),
        np.tile(np.arange(n_periods), n_series),
    )


def _held_out(
    training: TrainingSet, panel: Panel, origins: Places, n_periods: int, n_jobs: int | None
) -> tuple[dict[str, Array], Array, Array]:
    """Forecasts of every model from each origin, what came, and levels."""
    # states look back only, so that one history serves all origins
    history, truth = training.continued_and_drawn(panel)
    models: dict[str, _Expected] = {}
    for name in ("usual", "level", "linear", "boosted"):
        try:
            models[name] = _Expected(name, training.seed, n_jobs).fit(training)
        except MissingPackage:
            continue
    shape = (panel.n_series, origins.size, n_periods)
    expected = {name: np.empty(shape) for name in models}
    came, level = np.empty(shape), np.empty(shape[:2])
    for place, origin in enumerate(origins):
        series, ahead = _grid(panel.n_series, n_periods)
        day, gap = origin + ahead, ahead + 1
        features, unit = history.rows(series, day, gap)
        came[:, place] = truth[series, day].reshape(panel.n_series, n_periods)
        level[:, place] = unit.reshape(panel.n_series, n_periods)[:, 0]
        for name, model in models.items():
            share = model.shares(features)
            expected[name][:, place] = (share * unit).reshape(panel.n_series, n_periods)
    if {"linear", "boosted"} <= expected.keys():
        expected["blend"] = 0.5 * (expected["linear"] + expected["boosted"])
    return expected, came, level


def _error(expected: Array, truth: Array, level: Array) -> float:
    """Miss of demand until the horizon: its mean size in units, and its mean against the noise.

    Units are what costs money, and few fast sellers have most of them; against the noise that
    counts of its level have, every series weighs the same. The product of the two needs no choice.
    """
    known = ~np.isnan(truth)
    miss = np.abs(np.where(known, truth - expected, 0.0).sum(axis=2))
    count = known.sum(axis=2)
    there = count > 0
    noise = np.sqrt(np.maximum(level * count, 1e-300))
    return float(np.sqrt(miss[there].mean() * (miss[there] / noise[there]).mean()))


class _Expected:
    """A model of expected demand as a share of the level."""

    def __init__(self, name: str, seed: int, n_jobs: int | None) -> None:
        self.name, self.seed, self.n_jobs = name, seed, n_jobs

    def fit(self, training: TrainingSet) -> _Expected:
        names = ("linear", "boosted") if self.name == "blend" else (self.name,)
        self.parts = {name: getattr(self, f"_fit_{name}")(training) for name in names}
        return self

    def predict(self, history: History, series: Places, day: Places, gap: Places) -> Array:
        features, level = history.rows(series, day, gap)
        return self.shares(features) * level

    def shares(self, features: Single) -> Array:
        found = np.mean([predict(features) for predict in self.parts.values()], axis=0)
        return np.asarray(np.clip(found, 0.0, _MAX_SHARE))

    def _fit_usual(self, training: TrainingSet) -> Any:
        place = training.history.names_.index("usual") if training.n_rows else None
        return lambda features: (
            np.ones(len(features)) if place is None else np.nan_to_num(features[:, place], nan=1.0)
        )

    def _fit_level(self, training: TrainingSet) -> Any:  # noqa: ARG002
        """Take the level itself: of slow sellers, eight same weekdays say too little."""
        return lambda features: np.ones(len(features))

    def _fit_linear(self, training: TrainingSet) -> Any:
        columns = LineColumns(training.history).fit(training.features)
        X = columns.transform(training.features)
        model = LinearDecision(SquaredError(), penalty="l2", strength=_PENALTY).fit(
            X, training.value, sample_weight=training.weight
        )
        return lambda features: model.predict(columns.transform(features))

    def _fit_boosted(self, training: TrainingSet) -> Any:
        return grow_trees(
            training,
            SquaredError(),
            max_iter=200,
            learning_rate=0.04,
            smallest_leaf=60,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        ).predict
