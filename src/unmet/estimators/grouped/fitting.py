"""A grouped fit from beginning to end: pooled model, bands, shrinkage, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array, Band
from unmet.censoring.panel import Codes
from unmet.errors import InvalidInput, MissingPackage
from unmet.estimators.base import DecisionModel, one_blas_thread
from unmet.estimators.grouped.keys import GroupIndex
from unmet.estimators.grouped.pooling import (
    FOLDS,
    Level,
    Seen,
    borrow_idle,
    choose,
    cross_fitted,
    crosses,
    fold_rows,
    pooled_columns,
    sample_groups,
    weights,
)
from unmet.estimators.linear import LinearDecision, LinearMethod
from unmet.rows import Rows
from unmet.solvers.blocks.dask import faults_of, result_of

BACKENDS = ("loky", "threading", "dask")
_START = 3.0  # seconds of processor time until a new process has imported what a task needs
_LINEAR_PART, _OTHER_PART = 100, 5  # groups of one task: a third of a second, or what is bearable

Progress: TypeAlias = Callable[[int, int, str], Any]
"""Called with how far the work is: the groups done, the groups there are, and what is being
done."""
Part: TypeAlias = dict[str, NDArray[Any]]
"""What a task came to, arrays by name: of its groups, or of their rows."""
Task: TypeAlias = tuple[Any, ...]
"""Arguments of one call."""


@dataclass(frozen=True)
class GroupRows:
    """Rows in the order of their groups; within a group in the order in which they came.

    Attributes
    ----------
    rows : Rows
    weight : ndarray of shape (n_rows,) or None
        Positive, as given: some models mind more than the share of a row.
    starts : ndarray of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: Rows
    weight: Array | None
    starts: NDArray[np.intp]

    @property
    def features(self) -> Array:
        """Features of all rows."""
        assert isinstance(self.rows.features, np.ndarray)
        return self.rows.features

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each group."""
        return np.diff(self.starts)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Group of each row."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def take(self, rows: Any, starts: NDArray[np.intp]) -> GroupRows:
        """Keep some rows, which are those of groups that begin at `starts`."""
        weight = None if self.weight is None else self.weight[rows]
        return GroupRows(self.rows.take(rows), weight, starts)

    def pick(self, groups: NDArray[np.intp]) -> GroupRows:
        """Keep some groups, in increasing order."""
        chosen = np.isin(self.codes, groups)
        return self.take(np.flatnonzero(chosen), np.append(0, np.cumsum(self.sizes[groups])))

    def between(self, first: int, last: int) -> GroupRows:
        """Keep groups that follow each other, without copies of features."""
        starts = self.starts[first : last + 1]
        return self.take(slice(int(starts[0]), int(starts[-1])), starts - starts[0])

    def each(self) -> Iterator[GroupRows]:
        """Rows of every group."""
        for group in range(self.sizes.size):
            yield self.between(group, group + 1)


def told(rows: Rows) -> dict[str, Any]:
    """Say what is known of rows, as `fit` takes it."""
    known = {
        "censored": rows.censored if rows.limits is None else rows.limits,
        "stock": rows.stock,
        "time": rows.time,
        "series": rows.series,
    }
    return {name: value for name, value in known.items() if value is not None}


# --- Own models: what one task of a run does


def fit_groups(model: DecisionModel, own_rule: bool, groups: GroupRows) -> Part:
    """Fit a copy of a model to every group; what fails is kept as a sentence.

    Parameters
    ----------
    model : DecisionModel
        Not fitted.
    own_rule : bool
        Whether every group learns its own band with the rule of the model.
    groups : GroupRows

    Returns
    -------
    dict of str to ndarray, one entry per group
        ``sentence``: why a fit failed, empty where it did not. Then of linear models ``coef`` and
        ``intercept``, NaN where a fit failed; of others ``models``, None where a fit failed.
    """
    attempt = _fitting(model, own_rule)
    with one_blas_thread():
        found = [attempt(group) for group in groups.each()]
    return _side_by_side(found, _is_linear(model), groups.features.shape[1])


def _side_by_side(found: Sequence[Any], linear: bool, n_features: int) -> Part:
    """Put the answers of groups into arrays."""
    sentence = [each if isinstance(each, str) else "" for each in found]
    part: Part = {"sentence": np.array(sentence, dtype=np.str_)}
    if not linear:
        part["models"] = _objects([None if isinstance(each, str) else each for each in found])
        return part
    nothing = np.full(n_features + 1, np.nan)
    lines = [nothing if isinstance(each, str) else each for each in found]
    both = np.array(lines).reshape(-1, n_features + 1)
    return {**part, "coef": both[:, :-1], "intercept": both[:, -1]}


def hold_out(model: DecisionModel, own_rule: bool, groups: GroupRows, folds: Codes) -> Part:
    """Decide for each row by its group's model without the rows of its fold.

    NaN where that could not be fitted.
    """
    attempt = _fitting(model, own_rule)
    decision = np.full(folds.size, np.nan)
    with one_blas_thread():
        for start, group in zip(groups.starts[:-1].tolist(), groups.each(), strict=True):
            features = group.features
            fold = folds[start : start + group.rows.n_rows]
            for number in np.unique(fold).tolist():
                held = np.flatnonzero(fold == number)
                others = np.flatnonzero(fold != number)
                own = attempt(group.take(others, np.array([0, others.size])))
                if isinstance(own, np.ndarray):
                    decision[start + held] = features[held] @ own[:-1] + own[-1]
                elif not isinstance(own, str):
                    decision[start + held] = own.predict(features[held])
    return {"decision": decision}


def _is_linear(model: DecisionModel) -> bool:
    """Whether answers are coefficients."""
    return type(model) is LinearDecision


def _fitting(model: DecisionModel, own_rule: bool) -> Callable[[GroupRows], Any]:
    """Give what fits a group: coefficients and intercept, a model, or why neither could be had."""
    method = LinearMethod.of(model) if isinstance(model, LinearDecision) else None

    def fit(group: GroupRows) -> Any:
        rows = group.rows
        if _is_linear(model) and method is not None and not own_rule:
            # what `LinearDecision.fit` does to rows that have been checked: the same, sooner
            solution = method.solve(rows)
            return np.append(solution.coefficients, solution.intercept)
        own = clone(model).set_params(cost=rows.cost)
        if not own_rule:
            own.set_params(band=rows.band)
        known = told(rows) if own_rule else {}
        own.fit(rows.features, rows.observation, sample_weight=group.weight, **known)
        return np.append(own.coef_, own.intercept_) if _is_linear(model) else own

    def attempt(group: GroupRows) -> Any:
        """One group must not end the run of ten thousand."""
        try:
            return fit(group)
        except Exception as error:  # whatever a model of any kind raises
            return " ".join(str(error).split()) or type(error).__name__

    return attempt


def _objects(listed: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


# --- Tasks one after the other, in processes, or on a Dask cluster


def run_tasks(
    function: Callable[..., Part], tasks: Sequence[Task], n_jobs: int | None, backend: str | None
) -> Iterator[Part]:
    """Results of all tasks in their order, each as soon as it and all before it are there.

    The first tasks run in this process. They tell how long the others will take, and other
    processes start only if they save more than their start costs.

    Parameters
    ----------
    function : callable
        Of a module, so that it can be sent to another process.
    tasks : sequence of tuple
    n_jobs : int or None
        As joblib means it: None is one unless a ``joblib.parallel_config`` says otherwise, −1 is
        all cores.
    backend : str or None
        One of `BACKENDS`; None is joblib's own choice, "dask" the cluster of the running client.
    """
    if not tasks:
        return
    if backend == "dask":
        yield from _on_cluster(function, tasks)
        return
    saved, spent = 1 - 1 / joblib.effective_n_jobs(n_jobs), 0.0
    for done, task in enumerate(tasks, start=1):
        begun = process_time()
        part = function(*task)
        spent += process_time() - begun
        yield part
        if saved * spent / done * (len(tasks) - done) > _START:
            break
    if done < len(tasks):
        # Copies, no memory maps: parts are small, and costs want arrays that are theirs.
        parallel = joblib.Parallel(
            n_jobs=n_jobs, backend=backend, return_as="generator", max_nbytes=None
        )
        yield from parallel(joblib.delayed(function)(*task) for task in tasks[done:])


def _on_cluster(function: Callable[..., Part], tasks: Sequence[Task]) -> Iterator[Part]:
    """Let the cluster of the running client work; it repeats what a lost worker had."""
    distributed = MissingPackage.or_load("backend 'dask'", "dask.distributed", "dask")
    try:
        client = distributed.get_client()
    except ValueError:
        raise InvalidInput(
            "backend 'dask' needs a running client: make one with dask.distributed.Client()."
        ) from None
    with faults_of(client):
        futures: list[Any] = [client.submit(function, *task, pure=False) for task in tasks]
    try:
        while futures:
            yield result_of(client, futures[0])
            del futures[0]  # the cluster may forget it
    finally:
        if futures and client.status == "running":
            client.cancel(futures)


# --- The run


@dataclass
class GroupedFit:
    """The state that the steps of one fit share.

    Attributes
    ----------
    model, pooled : DecisionModel
        Not fitted, with whole numbers for seeds; `run` puts the fitted one in the place of the
        second.
    own_rule : bool
        Whether groups learn their own bands.
    shrink : float or None
        k; None is to be found, and `run` finds it.
    fewest : int
        Rows that a group needs for a model of its own.
    n_jobs, backend
        As given.
    seed : int
        Of the folds.
    rows : Rows
        In the order in which they came.
    sample_weight : ndarray of shape (n_rows,) or None
        As given.
    index : GroupIndex
    codes : ndarray of shape (n_rows,)
        Group of each row.
    progress : callable or None
    level : Level
        Found by `run`, as everything below.
    band : Band or None
        Of each row, in the order in which they came.
    groups : GroupRows
        Rows by group.
    own : dict of str to ndarray, one entry per group
        As `fit_groups` has it.
    weight : ndarray of shape (n_groups,)
        Of own models.
    """

    model: DecisionModel
    pooled: DecisionModel
    own_rule: bool
    shrink: float | None
    fewest: int
    n_jobs: int | None
    backend: str | None
    seed: int
    rows: Rows
    sample_weight: Array | None
    index: GroupIndex
    codes: Codes
    progress: Progress | None
    level: Level = field(init=False)
    band: Band | None = field(init=False)
    groups: GroupRows = field(init=False)
    own: Part = field(init=False)
    weight: Array = field(init=False)
    _done: int = 0
    _total: int = 0

    def run(self) -> None:
        """Fit the pooled model, find the bands and the shrinkage, fit the groups."""
        rows, n_groups = self.rows, self.index.n_groups
        assert isinstance(rows.features, np.ndarray)
        folds = fold_rows(self.codes, self.seed)
        weight = np.ones(rows.n_rows) if self.sample_weight is None else self.sample_weight
        seen = Seen.of(rows.observation, weight, self.codes, self.index)
        self.level = Level.learn(seen, weight)
        self._tell(0, "pooled model")
        crossed = crosses(self.pooled, n_groups)
        # the level of a training row is that of rows without itself
        columns = pooled_columns(rows.features, cross_fitted(seen, weight, folds), crossed)
        unfitted = self.pooled
        pooled: Any = clone(unfitted).set_params(cost=rows.cost)
        pooled.fit(columns, rows.observation, sample_weight=self.sample_weight, **told(rows))
        self.pooled, self.band = pooled, pooled.band_
        if pooled.band_rule_ is not None:  # by the level of a group: the same for all its rows
            same = pooled_columns(rows.features, self.level.group[self.codes], crossed)
            self.band = pooled.band_rule_.band(same, cost=rows.cost, observation=rows.observation)
        rows = rows.evaluated(rows.cost, self.band)
        order = np.argsort(self.codes, kind="stable")
        if self.sample_weight is not None:
            order = order[self.sample_weight[order] > 0]
        starts = np.searchsorted(self.codes[order], np.arange(n_groups + 1))
        self.groups = GroupRows(rows, self.sample_weight, starts).take(order, starts)

        able = self.groups.sizes >= self.fewest
        sample = np.empty(0, dtype=np.intp)
        if self.shrink is None:
            sample = sample_groups(self.groups.sizes, able)
        self._total = int(able.sum()) + sample.size
        if self.shrink is None and sample.size:
            some = order[np.isin(self.codes[order], sample)]
            own = self._own_held_out(self.groups.pick(sample), folds[some])
            apart = self._pooled_held_out(unfitted, columns, folds, some)
            self.shrink = choose(*own, apart)
        elif self.shrink is None:
            self.shrink = np.inf
        self.own = self._fit_own(np.flatnonzero(able))
        if _is_linear(self.model) and isinstance(pooled, LinearDecision) and order.size:
            self.own["coef"], self.own["intercept"] = borrow_idle(
                self.own["coef"],
                self.own["intercept"],
                self.groups.features,
                starts,
                pooled,
                self.level.group if crossed else None,
            )
        good = able & (self.own["sentence"] == "")
        self.weight = np.where(good, weights(self.groups.sizes, self.shrink), 0.0)

    def _pooled_held_out(
        self, model: DecisionModel, columns: Array, folds: Codes, order: NDArray[np.intp]
    ) -> Array:
        """Decide for some rows by a pooled model that has not seen them."""
        decision = np.empty(order.size)
        rows, weight = self.rows, self.sample_weight
        whole = Rows(columns, rows.observation, rows.cost, band=self.band)
        for fold in np.unique(folds[order]).tolist():
            others = np.flatnonzero(folds != fold)
            seen = whole.take(others)
            fresh: Any = clone(model).set_params(cost=seen.cost, band=seen.band)
            kept = None if weight is None else weight[others]
            fresh.fit(seen.features, seen.observation, sample_weight=kept)
            held = folds[order] == fold
            decision[held] = fresh.predict(columns[order[held]])
        return decision

    def _own_held_out(self, groups: GroupRows, folds: Codes) -> tuple[Rows, Array, Array]:
        """Rows, decisions by own models that have not seen them, and how many these have seen."""
        tasks = [
            (groups.between(first, last), folds[groups.starts[first] : groups.starts[last]])
            for first, last in self._parts(groups.sizes.size)
        ]
        found = self._collect(hold_out, tasks, "weighing groups")
        codes = groups.codes
        count = np.zeros((groups.sizes.size, FOLDS))
        np.add.at(count, (codes, folds), 1)
        decision = np.concatenate([part["decision"] for part in found])
        return groups.rows, decision, groups.sizes[codes] - count[codes, folds]

    def _fit_own(self, able: NDArray[np.intp]) -> Part:
        """Fit all groups that are large enough; the others have nothing."""
        groups = self.groups.pick(able)
        tasks = [(groups.between(*ends),) for ends in self._parts(able.size)]
        found = self._collect(fit_groups, tasks, "groups")
        own = _side_by_side([], _is_linear(self.model), groups.features.shape[1])
        for name, empty in own.items():
            values = np.concatenate([empty, *(part[name] for part in found)])
            filler = {"sentence": "", "models": None}.get(name, np.nan)
            shape = (self.index.n_groups, *values.shape[1:])
            own[name] = np.full(shape, filler, dtype=values.dtype)
            own[name][able] = values
        return own

    def _parts(self, n_groups: int) -> list[tuple[int, int]]:
        """First and last groups of tasks; how many processes there are does not matter."""
        size = _LINEAR_PART if _is_linear(self.model) and not self.own_rule else _OTHER_PART
        return [(first, min(first + size, n_groups)) for first in range(0, n_groups, size)]

    def _collect(self, function: Callable[..., Part], tasks: list[Task], doing: str) -> list[Part]:
        """Run all tasks, and return their results in order."""
        self._tell(0, doing)
        todo = [(self.model, self.own_rule, *task) for task in tasks]
        results = run_tasks(function, todo, self.n_jobs, self.backend)
        found = []
        for task, part in zip(tasks, results, strict=True):
            found.append(part)
            self._tell(task[0].sizes.size, doing)
        return found

    def _tell(self, more: int, doing: str) -> None:
        self._done += more
        if self.progress is not None:
            self.progress(self._done, self._total, doing)
