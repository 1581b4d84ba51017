"""Rounding to lots where every group has a spread of its own.

A lot of 12 is small for an item that sells by the hundred and large for one that sells by the
piece, so the threshold of `unmet.models.lots` is that of the row's group: all groups are bisected
at once. Groups that have no training rows, or too few, take that of all groups together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array, Band, PerRow
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.models.base import DecisionModel, one_blas_thread
from unmet.models.linear import LinearDecision
from unmet.models.training import Method, read_method
from unmet.rows import Rows as ProblemRows

# --- Rows sorted by group, and parts of them that can be sent to another process.

Index: TypeAlias = NDArray[np.intp] | NDArray[np.bool_] | slice


@dataclass(frozen=True)
class Rows:
    """What a model is trained on.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
    observation : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
        Positive, as given.
    cost : Cost
    band : Band or None
    known : dict
        What a band rule is told, where each group learns its own.
    """

    features: Array
    observation: Array
    weight: Array | None
    cost: Cost
    band: Band | None
    known: dict[str, Any]

    def __len__(self) -> int:
        return self.observation.size

    def take(self, index: Index) -> Rows:
        """Keep some rows."""
        return Rows(
            self.features[index],
            self.observation[index],
            None if self.weight is None else self.weight[index],
            self.cost.take(index),
            None if self.band is None else self.band.take(index),
            {
                name: value.take(index) if isinstance(value, PerRow) else value[index]
                for name, value in self.known.items()
            },
        )


@dataclass(frozen=True)
class Panel:
    """Rows in the order of their groups; within a group in the order in which they came.

    Attributes
    ----------
    rows : Rows
    starts : ndarray of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: Rows
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.int64], n_groups: int) -> Panel:
        """Sort rows; those without weight are left out."""
        order = np.argsort(codes, kind="stable")
        if rows.weight is not None:
            order = order[rows.weight[order] > 0]
        starts = np.searchsorted(codes[order], np.arange(n_groups + 1))
        return cls(rows.take(order), starts)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each group."""
        return np.diff(self.starts)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Group of each row."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def pick(self, groups: NDArray[np.intp]) -> Panel:
        """Keep some groups, in increasing order."""
        sizes = self.sizes[groups]
        chosen = np.zeros(self.sizes.size, dtype=np.bool_)
        chosen[groups] = True
        rows = self.rows.take(np.flatnonzero(chosen[self.codes]))
        return Panel(rows, np.append(0, np.cumsum(sizes)))

    def between(self, first: int, last: int) -> Panel:
        """Keep groups that follow each other, without copies of features."""
        starts = self.starts[first : last + 1]
        return Panel(self.rows.take(slice(int(starts[0]), int(starts[-1]))), starts - starts[0])

    def each(self) -> list[Rows]:
        """Rows of every group."""
        places = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return [self.rows.take(slice(*ends)) for ends in places]


def read_known(known: dict[str, Any]) -> dict[str, Any]:
    """Columns that can be taken apart by row; what was not given is left out."""
    columns: dict[str, Any] = {}
    for name, value in known.items():
        if value is None:
            continue
        if isinstance(value, PerRow):
            columns[name] = value
        elif nw.dependencies.is_into_series(value):
            columns[name] = nw.from_native(value, series_only=True).to_numpy()
        else:
            columns[name] = np.asarray(value)
    return columns


def without_known(rows: Rows) -> Rows:
    """Leave out what only a rule reads."""
    return replace(rows, known={})


# --- Fit the models of several groups: what one task of a run does.

Own = tuple[Array, float, float] | DecisionModel
"""Coefficients, intercept and objective; or a fitted model that is not linear."""


@dataclass(frozen=True)
class Fitted:
    """What came of some groups.

    Attributes
    ----------
    sentence : ndarray of shape (n_groups,), str
        Why a fit failed; empty where it did not.
    coef : ndarray of shape (n_groups, n_features), or None where models are not linear
    intercept, objective : ndarray of shape (n_groups,)
        NaN where a fit failed.
    models : list of DecisionModel or None, one per group
        Empty where models are linear.
    """

    sentence: NDArray[np.str_]
    coef: Array | None
    intercept: Array
    objective: Array
    models: list[DecisionModel | None]

    @classmethod
    def of(cls, found: list[Own | str], n_features: int, linear: bool) -> Fitted:
        """Put the answers of groups side by side."""
        nothing = (np.full(n_features, np.nan), np.nan, np.nan)
        rows = [each if isinstance(each, tuple) else nothing for each in found]
        return cls(
            np.array([each if isinstance(each, str) else "" for each in found], dtype=np.str_),
            np.array([row[0] for row in rows]).reshape(-1, n_features) if linear else None,
            np.array([row[1] for row in rows]),
            np.array([row[2] for row in rows]),
            [] if linear else [e if isinstance(e, DecisionModel) else None for e in found],
        )

    @classmethod
    def join(cls, parts: list[Fitted]) -> Fitted:
        """Put parts one after the other."""
        linear = parts[0].coef is not None
        return cls(
            np.concatenate([part.sentence for part in parts]),
            np.concatenate([part.coef for part in parts if part.coef is not None])
            if linear
            else None,
            np.concatenate([part.intercept for part in parts]),
            np.concatenate([part.objective for part in parts]),
            [model for part in parts for model in part.models],
        )

    def spread(self, places: NDArray[np.intp], n_groups: int) -> Fitted:
        """Put each entry at its place among all groups; the others have no model."""
        sentence = np.zeros(n_groups, dtype=self.sentence.dtype)
        sentence[places] = self.sentence
        models: list[DecisionModel | None] = []
        if self.coef is None:
            models = [None] * n_groups
            for place, model in zip(places.tolist(), self.models, strict=True):
                models[place] = model
        return Fitted(
            sentence,
            None if self.coef is None else _spread(self.coef, places, n_groups),
            _spread(self.intercept, places, n_groups),
            _spread(self.objective, places, n_groups),
            models,
        )


def _spread(values: Array, places: NDArray[np.intp], n_groups: int) -> Array:
    whole = np.full((n_groups, *values.shape[1:]), np.nan)
    whole[places] = values
    return whole


@dataclass(frozen=True)
class Fitter:
    """Fits a copy of one model to the rows of a group.

    Attributes
    ----------
    model : DecisionModel
        Not fitted.
    own_rule : bool
        Whether every group learns its own band with the rule of the model.
    """

    model: DecisionModel
    own_rule: bool

    @property
    def linear(self) -> bool:
        """Whether answers are coefficients."""
        return type(self.model) is LinearDecision

    def fit_each(self, panel: Panel) -> Fitted:
        """Fit every group; what fails is kept as a sentence."""
        with one_blas_thread():
            found = [self._attempt(rows) for rows in panel.each()]
        return Fitted.of(found, panel.rows.features.shape[1], self.linear)

    def decide_held_out(self, panel: Panel, folds: NDArray[np.int64]) -> Array:
        """Decisions for each row by its group's model without the rows of its fold.

        NaN where that could not be fitted.
        """
        decision = np.full(len(panel.rows), np.nan)
        with one_blas_thread():
            for start, rows in zip(panel.starts[:-1].tolist(), panel.each(), strict=True):
                fold = folds[start : start + len(rows)]
                for number in np.unique(fold).tolist():
                    held = fold == number
                    own = self._attempt(rows.take(~held))
                    if not isinstance(own, str):
                        decision[start + np.flatnonzero(held)] = _decide(own, rows.features[held])
        return decision

    def _attempt(self, rows: Rows) -> Own | str:
        """Fit, or say why not: one group must not end the run of ten thousand."""
        try:
            return self._fit(rows)
        except Exception as error:  # whatever a model of any kind raises
            return " ".join(str(error).split()) or type(error).__name__

    def _fit(self, rows: Rows) -> Own:
        if isinstance(self.model, LinearDecision) and self.linear and not self.own_rule:
            return _solve(read_method(self.model), rows)
        model = clone(self.model).set_params(cost=rows.cost)
        if not self.own_rule:
            model.set_params(band=rows.band)
        model.fit(rows.features, rows.observation, sample_weight=rows.weight, **rows.known)
        if isinstance(model, LinearDecision) and self.linear:
            return model.coef_, model.intercept_, model.solution_.objective
        fitted: DecisionModel = model
        return fitted


def _solve(method: Method, rows: Rows) -> tuple[Array, float, float]:
    """Do what `LinearDecision.fit` does to rows that have been checked: the same answer, sooner."""
    given = ProblemRows.of(
        rows.cost, rows.features, rows.observation, sample_weight=rows.weight, at_least=2
    )
    solution = method.solve(given.priced(rows.cost, rows.band).counted())
    return solution.coefficients, solution.intercept, solution.objective


def _decide(own: Own, features: Array) -> Array:
    if isinstance(own, tuple):
        return np.asarray(features @ own[0] + own[1])
    return own.predict(features)


def fit_part(fitter: Fitter, panel: Panel) -> Fitted:
    """Task of a worker."""
    return fitter.fit_each(panel)


def hold_out_part(fitter: Fitter, panel: Panel, folds: Any) -> Array:
    """Task of a worker."""
    return fitter.decide_held_out(panel, folds)


# --- Decisions of own models, and the columns that the pooled model sees.

_CROSSED_GROUPS = 10
_BLOCK = 100_000  # rows whose coefficients are gathered at once


def crosses(pooled: DecisionModel, n_groups: int) -> bool:
    """Whether the pooled model also sees the products of level and features.

    An item that sells ten times as much usually gains ten times as much in a promotion; a line
    cannot know that by itself, trees and networks can. It takes some groups to learn it from.
    """
    return isinstance(pooled, LinearDecision) and n_groups >= _CROSSED_GROUPS


def pooled_columns(features: Array, level: Array, crossed: bool) -> Array:
    """Features, the level of the row's group, and perhaps the products of the two."""
    products = [features * level[:, np.newaxis]] if crossed else []
    return np.column_stack([features, level, *products])


def own_decisions(
    coef: Array | None,
    intercept: Array | None,
    models: Sequence[DecisionModel | None],
    features: Array,
    group: NDArray[np.int64],
) -> Array:
    """Decide for rows whose groups have a model of their own."""
    decision = np.empty(group.size)
    if coef is not None and intercept is not None:
        for start in range(0, group.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            decision[block] = np.einsum("ij,ij->i", features[block], coef[group[block]])
        return decision + intercept[group]
    order = np.argsort(group, kind="stable")
    present, first = np.unique(group[order], return_index=True)
    for number, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
        model = models[number]
        assert model is not None
        decision[rows] = model.predict(features[rows])
    return decision


def borrow_idle(own: Fitted, panel: Panel, pooled: DecisionModel, level: Array | None) -> Fitted:
    """Take the pooled coefficient of columns that never change in a group.

    The intercept makes up for it, so that decisions on the group's own rows stay as they are.
    `level` is that of each group if the pooled model has products with it, otherwise None.
    """
    if own.coef is None or not isinstance(pooled, LinearDecision) or not len(panel.rows):
        return own
    features, filled = panel.rows.features, np.flatnonzero(panel.sizes > 0)
    starts = panel.starts[filled]
    value = features[starts]
    idle = np.maximum.reduceat(features, starts) == np.minimum.reduceat(features, starts)
    n_features = features.shape[1]
    theirs = np.broadcast_to(pooled.coef_[:n_features], value.shape)
    if level is not None:  # the model has learned products with it
        theirs = theirs + np.outer(level[filled], pooled.coef_[n_features + 1 :])
    coef, intercept = own.coef.copy(), own.intercept.copy()
    mine = coef[filled]
    intercept[filled] += np.where(idle, (mine - theirs) * value, 0.0).sum(axis=1)
    coef[filled] = np.where(idle & np.isfinite(mine), theirs, mine)
    return Fitted(own.sentence, coef, intercept, own.objective, own.models)


def check_model(name: str, model: object) -> DecisionModel:
    """Refuse what has no cost and band."""
    if not isinstance(model, DecisionModel) or not {"cost", "band"} <= set(model.get_params(False)):
        raise InvalidInput(
            f"{name} must be a decision model such as LinearDecision(Newsvendor(3, 1)), "
            f"got {model!r:.60}."
        )
    return model


# --- Rounding to lots where every group has a spread of its own.

Codes: TypeAlias = NDArray[np.int64]

_PER_GROUP = 50  # rows; what a shift costs is a mean, and a few digits of it decide
_OVERALL = 1000
_BISECTIONS = 40
_LOT_BLOCK = 1_000_000  # rows that are shifted at once


@dataclass(frozen=True)
class GroupShiftCost:
    """What a common shift of the decisions of a group costs, on some of its training rows.

    Attributes
    ----------
    rows : ProblemRows
        Group after group, all groups together at the end; without features.
    decision : ndarray of shape (n_kept,)
    starts : ndarray of shape (n_groups + 2,)
        Where each group begins among these rows.
    which : ndarray of shape (n_rows,) or None
        Group of each row that is decided for, n_groups for all together.
    """

    rows: ProblemRows
    decision: Array
    starts: NDArray[np.int64]
    which: Codes | None = None

    @classmethod
    def of(
        cls, rows: Rows, starts: NDArray[np.intp], decision: Array, fewest: int
    ) -> GroupShiftCost:
        """Keep a sample of each group, at random since data often cycle; always the same one."""
        order = np.random.default_rng(0).permutation(decision.size)
        sizes = np.diff(starts)
        codes = np.repeat(np.arange(sizes.size), sizes)[order]
        order = order[np.argsort(codes, kind="stable")]  # in each group at random
        rank = np.arange(order.size) - np.repeat(starts[:-1], sizes)
        kept = order[(rank < _PER_GROUP) & (np.repeat(sizes, sizes) >= fewest)]
        overall = np.random.default_rng(0).permutation(decision.size)[:_OVERALL]
        counts = np.where(sizes >= fewest, np.minimum(sizes, _PER_GROUP), 0)
        index = np.concatenate([kept, overall])
        taken = rows.take(index)
        training = ProblemRows(
            np.empty((index.size, 0)), taken.observation, taken.cost, taken.weight, taken.band
        )
        ends = np.concatenate([[0], np.cumsum(counts), [index.size]]).astype(np.int64)
        return cls(training, decision[index], ends)

    def among(self, group: Codes) -> GroupShiftCost:
        """Speak of rows of these groups; −1 is a group nobody has seen."""
        last = self.starts.size - 2
        known = np.where(group < 0, last, group)
        empty = np.diff(self.starts)[known] == 0
        return replace(self, which=np.where(empty, last, known))

    def take(self, rows: NDArray[np.intp]) -> GroupShiftCost:
        """Speak of some of the rows only."""
        return replace(self, which=self._groups[rows])

    def thresholds(self, step: Array) -> Array:
        """Share of each row's step beyond which the next lot is cheaper; as `ShiftCost` has it."""
        return self._once(step, _threshold)

    def at_each(self, shift: Array) -> Array:
        """Mean cost of each row's group had its decisions been off by the row's shift."""
        return self._once(shift, lambda mean, value: mean(value))

    @property
    def _groups(self) -> Codes:
        assert self.which is not None
        return self.which

    def _once(self, value: Array, answer: Callable[[Mean, Array], Array]) -> Array:
        """Ask for every pair of group and value once, block by block."""
        pairs, back = np.unique(
            np.stack([self._groups.astype(np.float64), value]), axis=1, return_inverse=True
        )
        groups = pairs[0].astype(np.int64)
        counts = np.diff(self.starts)[groups]
        block = np.cumsum(counts) // _LOT_BLOCK
        found = np.empty(groups.size)
        for number in np.unique(block):
            inside = block == number
            found[inside] = answer(self._mean(groups[inside], counts[inside]), pairs[1][inside])
        return found[back.reshape(-1)]

    def _mean(self, groups: Codes, counts: NDArray[np.int64]) -> Mean:
        """M of several groups as a function of one shift for each."""
        begin = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self.starts[groups] - begin, counts)
        rows, decision = self.rows.take(index), self.decision[index]
        weight = np.ones(index.size) if rows.share is None else rows.share
        total = np.add.reduceat(weight, begin)

        def mean(shift: Array) -> Array:
            moved = decision + np.repeat(shift, counts)
            loss = rows.cost.loss(moved, rows.observation, rows.band)
            return np.asarray(np.add.reduceat(weight * loss, begin) / total)

        return mean


Mean: TypeAlias = Callable[[Array], Array]


def _threshold(mean: Mean, step: Array) -> Array:
    """½ where both lots cost the same, otherwise where the upper one begins to cost less."""
    rounding = 1e-12 * np.maximum(mean(step), mean(-step))

    def gain(share: Array) -> Array:
        return mean(-share * step) - mean((1 - share) * step)

    cheaper_up = _first(lambda share: gain(share) > rounding, step.size)
    not_dearer_up = _first(lambda share: gain(share) >= -rounding, step.size)
    return np.minimum(np.maximum(0.5, not_dearer_up), cheaper_up)


def _first(holds: Callable[[Array], NDArray[np.bool_]], size: int) -> Array:
    """Least share in [0, 1] from which a condition holds, for each entry; 1 if it never does."""
    low, high = np.zeros(size), np.ones(size)
    at_once = holds(low)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        good = holds(middle)
        high = np.where(good, middle, high)
        low = np.where(good, low, middle)
    return np.where(at_once, 0.0, high)
