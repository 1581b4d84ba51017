"""A grouped fit from beginning to end: pooled model, bands, shrinkage, groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.band import Array, Band
from unmet.models.base import DecisionModel
from unmet.scale.grouped_deciding import borrow_idle, crosses, pooled_columns
from unmet.scale.grouped_fitting import Fitted, Fitter, fit_part, hold_out_part
from unmet.scale.grouped_folder import RunFolder, open_folder
from unmet.scale.grouped_input import Input
from unmet.scale.grouped_level import Level, Seen, cross_fitted
from unmet.scale.grouped_parameters import Settings
from unmet.scale.grouped_rows import Panel, Rows, read_known, without_known
from unmet.scale.grouped_running import Progress, Task, run_tasks
from unmet.scale.grouped_shrinkage import FOLDS, choose, fold_rows, sample_groups, weights

_LINEAR_PART, _OTHER_PART = 100, 5  # groups of one task: a third of a second, or what is bearable


@dataclass(frozen=True)
class Outcome:
    """What a grouped fit has come to.

    Attributes
    ----------
    pooled : DecisionModel
    level : Level
    band : Band or None
        Of each row, in the order in which they came.
    panel : Panel
        Rows by group.
    own : Fitted
        One entry per group.
    shrink : float
    weight : ndarray of shape (n_groups,)
    """

    pooled: DecisionModel
    level: Level
    band: Band | None
    panel: Panel
    own: Fitted
    shrink: float
    weight: Array


def run(settings: Settings, data: Input, progress: Progress | None) -> Outcome:
    """Fit, or finish what a killed run has left."""
    about = {**data.about(), **settings.about()}
    with open_folder(settings.folder, about, settings.seed) as folder:
        if folder is not None:
            settings = replace(settings, seed=folder.seed)
        return _Run(settings, data, folder, progress).all()


class _Run:
    """The state that the steps of one run share."""

    def __init__(
        self, settings: Settings, data: Input, folder: RunFolder | None, progress: Progress | None
    ) -> None:
        self.settings, self.data, self.folder, self.progress = settings, data, folder, progress
        self.folds = fold_rows(data.codes, settings.seed)
        self.fitter = Fitter(settings.model, settings.own_rule)
        self.crossed = crosses(settings.pooled, data.index.n_groups)
        self.done = self.total = 0

    def all(self) -> Outcome:
        data, settings = self.data, self.settings
        held_level, level = self._levels()
        self._tell(0, "pooled model")
        columns = pooled_columns(data.features, held_level, self.crossed)
        pooled = self._pooled(columns)
        band = self._band(pooled, level)
        known = read_known(data.known) if settings.own_rule else {}
        rows = Rows(data.features, data.observation, data.weight, data.cost, band, known)
        panel = Panel.of(rows, data.codes, data.index.n_groups)
        able = panel.sizes >= settings.fewest(data.features.shape[1])
        sample = sample_groups(panel.sizes, able) if settings.shrink is None else np.empty(0, int)
        self.total = int(able.sum()) + sample.size
        shrink = settings.shrink
        if shrink is None:
            shrink = self._shrink(rows, columns, panel, sample)
        own = self._own(panel, np.flatnonzero(able))
        own = borrow_idle(own, panel, pooled, level.group if self.crossed else None)
        good = able & (own.sentence == "")
        weight = np.where(good, weights(panel.sizes, shrink), 0.0)
        return Outcome(pooled, level, band, panel, own, shrink, weight)

    def _levels(self) -> tuple[Array, Level]:
        """Levels of the training rows without themselves, and those for all other rows."""
        data = self.data
        weight = np.ones(data.codes.size) if data.weight is None else data.weight
        sizes = [names.size for names in data.index.names]
        seen = Seen.of(data.observation, weight, data.codes, data.index.places, sizes)
        return cross_fitted(seen, weight, self.folds), Level.learn(seen, weight)

    def _pooled(self, columns: Array) -> DecisionModel:
        """Fit the model of all groups, the band rule with it; a finished one is taken as it is."""
        kept = None if self.folder is None else self.folder.pooled()
        if kept is not None:
            return kept
        data = self.data
        model: DecisionModel = clone(self.settings.pooled).set_params(cost=data.cost)
        model.fit(columns, data.observation, sample_weight=data.weight, **data.known)
        if self.folder is not None:
            self.folder.keep_pooled(model)
        return model

    def _band(self, pooled: Any, level: Level) -> Band | None:
        """Band of each row, by the level of its group: the same for all rows of a group."""
        data = self.data
        if pooled.band_rule_ is None:
            band: Band | None = pooled.band_
            return band
        columns = pooled_columns(data.features, level.group[data.codes], self.crossed)
        found: Band = pooled.band_rule_.band(columns, cost=data.cost, observation=data.observation)
        return found

    def _shrink(self, rows: Rows, columns: Array, panel: Panel, sample: NDArray[np.intp]) -> float:
        """Choose k by decisions held out."""
        if not sample.size:
            return np.inf
        order = np.argsort(self.data.codes, kind="stable")
        if rows.weight is not None:
            order = order[rows.weight[order] > 0]
        chosen = np.zeros(panel.sizes.size, dtype=np.bool_)
        chosen[sample] = True
        order = order[chosen[self.data.codes[order]]]
        part, folds = panel.pick(sample), self.folds[order]
        own = self._held_out(part, folds)
        pooled = self._pooled_held_out(rows, columns, order, folds)
        count = np.zeros((sample.size, FOLDS))
        np.add.at(count, (part.codes, folds), 1)
        trained = part.sizes[part.codes] - count[part.codes, folds]
        return choose(part.rows, own, pooled, trained)

    def _held_out(self, part: Panel, folds: NDArray[np.int64]) -> Array:
        """Decisions of own models on rows they have not seen."""
        folder = self.folder
        tasks, sizes = [], []
        for first, last in self._parts(part.sizes.size):
            piece = part.between(first, last)
            inside = folds[part.starts[first] : part.starts[last]]
            tasks.append((self.fitter, piece, inside))
            sizes.append(last - first)
        found = self._collect(
            hold_out_part,
            tasks,
            sizes,
            "weighing groups",
            None if folder is None else folder.held_out,
            None if folder is None else folder.keep_held_out,
        )
        return np.concatenate(found)

    def _pooled_held_out(
        self, rows: Rows, columns: Array, order: NDArray[np.intp], folds: NDArray[np.int64]
    ) -> Array:
        """Decisions of the pooled model on rows it has not seen."""
        decision = np.empty(order.size)
        whole = without_known(replace(rows, features=columns))
        for fold in np.unique(folds).tolist():
            seen = whole.take(self.folds != fold)
            model: Any = clone(self.settings.pooled).set_params(cost=seen.cost, band=seen.band)
            model.fit(seen.features, seen.observation, sample_weight=seen.weight)
            held = folds == fold
            decision[held] = model.predict(columns[order[held]])
        return decision

    def _own(self, panel: Panel, able: NDArray[np.intp]) -> Fitted:
        """Fit all groups that are large enough; the others have nothing."""
        folder, n_features = self.folder, panel.rows.features.shape[1]
        nothing = Fitted.of([], n_features, self.fitter.linear)
        part = panel.pick(able)
        tasks, sizes = [], []
        for first, last in self._parts(able.size):
            tasks.append((self.fitter, part.between(first, last)))
            sizes.append(last - first)
        found = self._collect(
            fit_part,
            tasks,
            sizes,
            "groups",
            None if folder is None else folder.part,
            None if folder is None else folder.keep_part,
        )
        return Fitted.join([nothing, *found]).spread(able, panel.sizes.size)

    def _parts(self, n_groups: int) -> list[tuple[int, int]]:
        """First and last groups of tasks; how many processes there are does not matter."""
        size = _LINEAR_PART if self.fitter.linear and not self.fitter.own_rule else _OTHER_PART
        return [(first, min(first + size, n_groups)) for first in range(0, n_groups, size)]

    def _collect(
        self,
        function: Callable[..., Any],
        tasks: list[Task],
        sizes: list[int],
        doing: str,
        read: Callable[[int], Any] | None,
        keep: Callable[[int, Any], None] | None,
    ) -> list[Any]:
        """Results of all tasks; those that are kept are read, the others are kept when done."""
        found = [None if read is None else read(number) for number in range(len(tasks))]
        missing = [number for number, result in enumerate(found) if result is None]
        self._tell(sum(sizes) - sum(sizes[number] for number in missing), doing)
        results = run_tasks(
            function,
            [tasks[number] for number in missing],
            self.settings.n_jobs,
            self.settings.backend,
        )
        for number, result in zip(missing, results, strict=True):
            if keep is not None:
                keep(number, result)
            found[number] = result
            self._tell(sizes[number], doing)
        return found

    def _tell(self, more: int, doing: str) -> None:
        self.done += more
        if self.progress is not None:
            self.progress(self.done, self.total, doing)
