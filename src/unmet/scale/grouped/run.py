"""A grouped fit from beginning to end: pooled model, bands, shrinkage, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array, Band
from unmet.models.base import DecisionModel
from unmet.runs import digest, open_run, read_arrays, write_arrays
from unmet.scale.grouped.fitting import (
    Fitted,
    Fitter,
    Panel,
    Rows,
    borrow_idle,
    crosses,
    fit_part,
    hold_out_part,
    pooled_columns,
    read_known,
    without_known,
)
from unmet.scale.grouped.parameters import Input, Progress, Settings, Task, run_tasks

# --- The folder of a grouped run: finished parts, so that a run that was killed can go on.
#
# ::
#
#     run.json             what the run is about: fingerprints of data and parameters, and a seed
#     pooled.unmet         the pooled model, fitted
#     weighing-0003.npz    decisions held out, for the choice of the shrinkage
#     groups-0003.npz      the models of some groups: coefficients, and why fits failed
#     groups-0003.unmet    the same for models that are not linear
#
# Every file is whole or absent, and none is ever changed. Parts do not depend on the number of
# processes, so a run may go on with another one.


class RunFolder:
    """Parts of one run in a folder.

    Attributes
    ----------
    seed : int
        Of the run that began here.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self.seed = seed

    def pooled(self) -> DecisionModel | None:
        """Pooled model, if it is there."""
        from unmet.persistence import load

        path = self._folder / "pooled.unmet"
        return load(path) if path.exists() else None

    def keep_pooled(self, model: DecisionModel) -> None:
        """Write the pooled model."""
        from unmet.persistence import save

        save(model, self._folder / "pooled.unmet")

    def held_out(self, number: int) -> Array | None:
        """Decisions held out of one part, if they are there."""
        path = self._folder / f"weighing-{number:05d}.npz"
        return read_arrays(path)["decision"] if path.exists() else None

    def keep_held_out(self, number: int, decision: Array) -> None:
        """Write decisions held out."""
        write_arrays(self._folder / f"weighing-{number:05d}.npz", decision=decision)

    def part(self, number: int) -> Fitted | None:
        """Models of one part, if they are there."""
        path = self._folder / f"groups-{number:05d}.npz"
        if not path.exists():
            return None
        arrays = read_arrays(path)
        models = self._models(number) if "coef" not in arrays else []
        return Fitted(
            arrays["sentence"], arrays.get("coef"), arrays["intercept"], arrays["objective"], models
        )

    def keep_part(self, number: int, part: Fitted) -> None:
        """Write models of one part; the small file last, since it says that all is there."""
        if part.coef is None:
            from unmet.persistence import save

            save(part.models, self._folder / f"groups-{number:05d}.unmet")
        names = ("sentence", "coef", "intercept", "objective")
        arrays = {name: getattr(part, name) for name in names}
        kept = {name: array for name, array in arrays.items() if array is not None}
        write_arrays(self._folder / f"groups-{number:05d}.npz", **kept)

    def _models(self, number: int) -> list[DecisionModel | None]:
        from unmet.persistence import load

        models: list[DecisionModel | None] = load(self._folder / f"groups-{number:05d}.unmet")
        return models


@contextmanager
def open_folder(folder: Any, about: Mapping[str, Any], seed: int) -> Iterator[RunFolder | None]:
    """Begin in an empty folder, or go on in that of the same run.

    Parameters
    ----------
    folder : path or None
        None keeps nothing.
    about : mapping of str to anything
        What makes two runs the same, by name; only hashes are kept.
    seed : int
        Of a run that begins; one that goes on has its own.
    """
    if folder is None:
        yield None
        return
    place, hashes = Path(folder), {name: digest(each) for name, each in about.items()}
    with open_run(place, hashes, parameter="folder", begin_with={"seed": seed}) as begun:
        yield RunFolder(place, begun["seed"])


# --- How large a group is: the one thing the pooled model must know about it.
#  Stores and items differ most in their level. The pooled model therefore has one more column, the
# level of the row's group: the mean observation of the group, drawn toward what its store and its
# item would let us expect (empirical Bayes: by m rows, where m is the variance within groups over
# that between them). A group that was never seen has this expectation alone, and a new item has
# that of its store. If no observation is negative the expectation is the overall mean times one
# factor for the store and one for the item, otherwise plus one term for each.
#
# A row's own observation must not be in its own level, or the pooled model would learn to copy it:
# in training, the level of a row comes from the rows of other folds.

Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """Observations by group.

    Attributes
    ----------
    observation, codes : ndarray of shape (n_rows,)
    places : ndarray of shape (n_groups, n_by)
        Which entry of each column of `by` a group has.
    sizes : list of int
        Number of entries of each column of `by`.
    overall : float
        Mean observation of all rows. A row has a hand in it, but the same for every row.
    product : bool
        Whether entries are factors of the level rather than terms.
    """

    observation: Array
    codes: Codes
    places: NDArray[np.int64]
    sizes: list[int]
    overall: float
    product: bool

    @classmethod
    def of(
        cls,
        observation: Array,
        weight: Array,
        codes: Codes,
        places: NDArray[np.int64],
        sizes: list[int],
    ) -> Seen:
        """Look at the rows with weight."""
        overall = float(weight @ observation / weight.sum())
        product = overall > 0 and bool((observation[weight > 0] >= 0).all())
        return cls(observation, codes, places, sizes, overall, product)

    def add_up(self, values: Array) -> Array:
        """Sum of values over the rows of each group."""
        return np.asarray(np.bincount(self.codes, values, len(self.places)), dtype=np.float64)

    def effects(self, total: Array, summed: Array) -> list[Array]:
        """Factor or term of each entry of each column; none where a column is all there is."""
        if len(self.sizes) == 1:
            return []
        found = []
        for column, size in enumerate(self.sizes):
            entry = self.places[:, column]
            weight, values = (np.bincount(entry, each, size) for each in (total, summed))
            mean = _mean(values, weight, self.overall)
            found.append(mean / self.overall if self.product else mean - self.overall)
        return found


@dataclass(frozen=True)
class Level:
    """Levels learned from some rows.

    Attributes
    ----------
    overall : float
        Mean observation.
    effects : list of ndarray
        For each column of `by`, the factor or the term of each of its entries.
    group : ndarray of shape (n_groups,)
    product : bool
        Whether effects are factors.
    """

    overall: float
    effects: list[Array]
    group: Array
    product: bool

    @classmethod
    def learn(cls, seen: Seen, weight: Array) -> Level:
        """Means by entry, then by group, of rows with weight."""
        total, summed = seen.add_up(weight), seen.add_up(weight * seen.observation)
        effects = seen.effects(total, summed)
        prior = cls(seen.overall, effects, np.empty(0), seen.product).expected(seen.places)
        mean = _mean(summed, total, prior)
        pull = _pull(seen.observation - mean[seen.codes], weight, mean - prior, total)
        # with an endless pull a group says nothing
        own = _mean(total, total + pull, 0.0) if np.isfinite(pull) else np.zeros_like(total)
        return cls(seen.overall, effects, prior + own * (mean - prior), seen.product)

    def expected(self, places: NDArray[np.int64]) -> Array:
        """Level of groups nobody has seen, from their entries; −1 is an entry nobody has seen."""
        neutral = 1.0 if self.product else 0.0
        level = np.full(len(places), self.overall)
        for column, effect in enumerate(self.effects):
            known = places[:, column]
            each = np.where(known >= 0, effect[np.maximum(known, 0)], neutral)
            level = level * each if self.product else level + each
        return level

    def of(self, group: Codes, entries: NDArray[np.int64]) -> Array:
        """Level of any rows."""
        level = self.group[np.maximum(group, 0)]
        new = group < 0
        if new.any():
            level[new] = self.expected(entries[new])
        return level


def _mean(summed: Any, total: Any, otherwise: Array | float) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, summed / total, otherwise)


def _pull(rest: Array, weight: Array, distance: Array, total: Array) -> float:
    """m: the variance within groups over that between them, in rows of mean weight."""
    seen = total > 0
    n_groups, scale = int(np.count_nonzero(seen)), float(weight.sum() / np.count_nonzero(weight))
    rows = float(np.count_nonzero(weight))
    within = float(weight @ rest**2) / scale / max(rows - n_groups, 1.0)
    noise = within * float(np.mean(scale / total[seen]))
    between = float(np.mean(distance[seen] ** 2)) - noise
    if n_groups == 1 or rows == n_groups or between <= 1e-12 * within:
        return np.inf
    return within / between * scale


def cross_fitted(seen: Seen, weight: Array, folds: NDArray[np.int64]) -> Array:
    """Level of each row from the rows of other folds, of shape (n_rows,)."""
    level = np.empty(folds.size)
    for fold in np.unique(folds).tolist():
        held = folds == fold
        others = Level.learn(seen, np.where(held, 0.0, weight))
        level[held] = others.group[seen.codes[held]]
    return level


# --- How much a group's own model counts beside the pooled one.
#
# The decision of a group with n rows is ::
#
#     w · own + (1 − w) · pooled,     w = n / (n + k)
#
# A model of p coefficients fitted to n rows misses the best of its kind by a variance of about
# pσ²/n, and the pooled one misses it by some τ² between groups. The combination with the least
# squared error weighs them τ² : pσ²/n, which is this w with k = pσ²/τ²: the number of rows from
# which a group's own model is the better one (Efron and Morris, 1975, for means). Neither σ² nor τ²
# need be known, and costs are not squared errors: k is the one with the least training cost, band
# included, of decisions on rows held out, over all groups together. Own and pooled models are
# fitted without these rows.

FOLDS = 5
_MOST_GROUPS = 200  # for one number; 10,000 would hardly tell it better
_GRID = 61


def fold_rows(codes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Fold of each row, every group spread over all folds as evenly as its size allows."""
    order = np.lexsort((np.random.default_rng(seed).random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % FOLDS
    return folds


def sample_groups(sizes: NDArray[np.intp], able: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Choose groups of all sizes to learn k from, in increasing order."""
    candidates = np.flatnonzero(able)
    if candidates.size <= _MOST_GROUPS:
        return candidates
    by_size = candidates[np.argsort(sizes[candidates], kind="stable")]
    places = np.linspace(0, by_size.size - 1, _MOST_GROUPS).round().astype(np.intp)
    return np.sort(by_size[places])


def weights(sizes: Array | NDArray[np.intp], k: float) -> Array:
    """Give w = n / (n + k); 0 where k is endless."""
    if np.isinf(k):
        return np.zeros(len(sizes))
    return np.asarray(sizes / np.maximum(sizes + k, 1e-300), dtype=np.float64)


def choose(rows: Rows, own: Array, pooled: Array, trained: Array) -> float:
    """Find the k with the least cost on rows held out.

    Parameters
    ----------
    rows : Rows
    own, pooled : ndarray of shape (n_rows,)
        Decisions by models that have not seen these rows; own ones are NaN where a fit failed.
    trained : ndarray of shape (n_rows,)
        How many rows of its group the own model of a row has seen.

    Returns
    -------
    float
        From 0 (own models only) to inf (the pooled one only); of equals the largest.
    """
    good = np.flatnonzero(np.isfinite(own) & (trained > 0))
    if not good.size:
        return np.inf
    used = rows.take(good)
    ends = 1e-2 * trained[good].min(), 1e3 * trained[good].max()
    grid = [np.inf, *np.geomspace(*ends, _GRID)[::-1].tolist(), 0.0]
    costs = []
    for k in grid:
        share = weights(trained[good], k)
        decision = pooled[good] + share * (own[good] - pooled[good])
        loss = used.cost.loss(decision, used.observation, used.band)
        costs.append(float(loss.mean() if used.weight is None else used.weight @ loss))
    return float(grid[int(np.argmin(costs))])


# --- A grouped fit from beginning to end: pooled model, bands, shrinkage, groups.

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
