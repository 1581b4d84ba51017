"""One model per group, such as store × item, shrunk to a model of all groups together.

**Level of a group.** Stores and items differ most in their level. The pooled model therefore has an
additional column, the level of the row's group. The level is the mean observation of the group,
shrunk to the value that its store and its item predict (empirical Bayes: by m rows, where m is the
variance within groups over the variance between them). A group that was never seen has only this
prediction, and a new item has that of its store. If no observation is negative, the prediction is
the overall mean times one factor for the store and one for the item; otherwise it is the mean plus
one term for each. A row's own observation must not enter its own level, or the pooled model would
learn to copy it. In training, the level of a row therefore comes from the rows of other folds.

**Weight of a group's own model.** The decision of a group with n rows is ::

    w · own + (1 − w) · pooled,     w = n / (n + k)

A model of p coefficients fitted to n rows has a variance of about pσ²/n, and the pooled model
misses the best one by some τ² between groups. The combination with the least squared error weighs
them τ² : pσ²/n, which is this w with k = pσ²/τ²: the number of rows from which a group's own model
is the better one (Efron and Morris, 1975, for means). Neither σ² nor τ² need be known, and costs
are not squared errors. The class therefore chooses the k with the least training cost, band
included, of decisions on held-out rows, over all groups together. Own and pooled models are fitted
without these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from time import perf_counter
from typing import Any, Literal, Self, TypeAlias

import joblib
import narwhals.stable.v1 as nw
import numpy as np
from joblib.parallel import LokyBackend, get_active_backend
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.censoring import LatentBand
from unmet.censoring.panel import Codes, PanelDistribution
from unmet.costs import PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import (
    DecisionModel,
    by_partition,
    check_in_memory,
    check_used,
    is_dask,
    one_blas_thread,
    read_band,
    read_cost,
)
from unmet.estimators.distribution import DistributionDecision, average_cost
from unmet.estimators.linear import LinearDecision, LinearMethod
from unmet.estimators.lots import GroupShiftCost
from unmet.rows import Rows, read_column, read_features
from unmet.solvers.blocks.dask import fetch
from unmet.validation import Jobs, Maybe, Seed, WholeNumber, refusal

Column: TypeAlias = str | int

FOLDS = 5
_FEWEST = 10  # rows of a group that has a model of its own, or two for each parameter
START_SECONDS = 6.0
"""Seconds that processes must save to be started: each imports this package first."""


class GroupedDecision(DecisionModel):
    """One model per group, shrunk to a model of all groups together.

    The decision for a row of a group with n rows is ``w · own + (1 − w) · pooled`` with ``w = n /
    (n + k)``. Groups with many rows decide by their own model, and small groups borrow from the
    others. Groups that are too small or new decide by the pooled model alone. The class chooses k
    by the cost on held-out training rows, over all groups together.

    Parameters
    ----------
    model : DecisionModel
        Model that is copied for each group: `LinearDecision`, `NeuralDecision` or
        `BoostedDecision`. Its cost and band apply to all groups. `DistributionDecision` with
        `LatentBand` fits one distribution of all groups if it is known which rows sold out. The
        groups then share location, spread and shape as far as they are alike.
    by : list of str or int, default=("store", "item")
        Columns of X that identify a group: names, or positions if X is an array. They may hold
        text, numbers or dates, and they are not features.
    shrink : "auto", float or None, default="auto"
        k, in rows: 0 or more. Larger values give more weight to the pooled model. "auto" chooses k.
        None is 0, so that each group that is large enough uses its own model only.
    min_rows : int or None, default=None
        Groups with fewer rows have no model of their own. None is 10, or twice the number of
        parameters of a linear model if that is more.
    pooled : DecisionModel or None, default=None
        Another kind of model for all groups together; its cost and band are those of `model`. None
        is a copy of `model`.
    n_jobs : int or None, default=None
        Largest number of processes, as joblib counts them. They start only if they save more time
        than their start takes. The result does not depend on it. Inside of
        ``joblib.parallel_config(backend="dask")`` the cluster of the running client does the work.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of models and rules without a seed. None draws a new one in each fit.

    Attributes
    ----------
    pooled_ : DecisionModel
        Model of all rows. Its columns are the features and the level of the row's group. A
        distribution has none.
    shrink_ : float
        k; inf if own models did not help at all.
    weight_ : ndarray of shape (n_groups,)
        w of each group; 0 if the pooled model decides.
    coef_ : ndarray of shape (n_groups, n_features), or None
        Coefficients of linear own models; NaN if a group has none.
    intercept_ : ndarray of shape (n_groups,), or None
        Intercepts of linear own models; NaN if a group has none.
    models_ : list of DecisionModel or None
        Own models that are not linear; empty for linear ones.
    failures_ : dict
        Error messages by group, for groups whose own model could not be fitted.
    summary_ : dict of str to ndarray
        A table with one row per group; ``polars.DataFrame(model.summary_)`` displays it.
    cost_, band_ : Cost, and Band or None
        Cost and band of the training, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The rule that learned from all rows, and its diagnosis.
    n_features_in_ : int
        Number of columns of X, including those of `by`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a table whose column names are all text.

    Notes
    -----
    The pooled model has an additional column, the level of the group: its mean observation, shrunk
    to the value that its store and its item predict. In training, the level of a row comes from
    other rows. A band rule learns on the same columns and gives each row the band of its group's
    level.

    If a column never changes within a group, the data of the group do not determine its
    coefficient. If both models are linear, the group then takes the pooled coefficient, and its
    decisions on training rows stay the same.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import GroupedDecision, LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> store = np.repeat([0, 1, 2], [200, 200, 8])
    >>> x = generator.uniform(size=408)
    >>> demand = 20 * (store + 1) + 10 * x + generator.normal(size=408)
    >>> X = np.column_stack([store, x])
    >>> model = GroupedDecision(LinearDecision(Newsvendor(3, 1)), by=[0], random_state=0)
    >>> model.fit(X, demand).summary_["rows"]
    array([200, 200,   8])
    >>> model.predict([[0, 0.5], [1, 0.5], [2, 0.5]]).round()
    array([26., 46., 65.])
    >>> model.unseen_groups([[0, 0.5], [9, 0.5]])
    [9.0]
    """

    coef_: Array | None
    intercept_: Array | None
    models_: list[DecisionModel | None]
    _distribution: PanelDistribution | None

    def __init__(
        self,
        model: DecisionModel,
        by: list[Column] | tuple[Column, ...] | Column = ("store", "item"),
        *,
        shrink: Literal["auto"] | float | None = "auto",
        min_rows: int | None = None,
        pooled: DecisionModel | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.by = by
        self.shrink = shrink
        self.min_rows = min_rows
        self.pooled = pooled
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, costs: dict[str, Any], known: tuple[Any, ...]) -> Self:
        """Learn; what goes wrong in a single group is kept in `failures_`."""
        seed = Seed()("random_state", self.random_state)
        common = None if self.random_state is None else seed
        own = _seeded("model", self.model, common)
        rule = read_band(own.get_params(deep=False)["band"])
        if isinstance(own, DistributionDecision):
            # refuse what a distribution of all groups together has no use for
            if self.pooled is not None or self.min_rows is not None or self.shrink != "auto":
                raise Unsupported(
                    "pooled, min_rows and shrink do not fit together with DistributionDecision, "
                    "because all groups share one distribution."
                )
            if not isinstance(rule, LatentBand):
                raise Unsupported(
                    f"DistributionDecision in groups needs band LatentBand(), got {rule!r}."
                )
        shrink: Any = 0.0 if self.shrink is None else self.shrink
        if isinstance(shrink, bool) or not (
            shrink == "auto" or (isinstance(shrink, Real) and float(shrink) >= 0)
        ):
            raise refusal("shrink", "'auto', a non-negative number of rows or None", shrink)
        fewest = Maybe(WholeNumber(2))("min_rows", self.min_rows)
        Jobs()("n_jobs", self.n_jobs)
        by = read_by(self.by)
        if is_dask(X):  # every group needs all of its rows at once, and all groups the pooled model
            names = "sample_weight", "censored", "stock", "time", "series"
            X, given = fetch(X, {"y": y, **costs, **dict(zip(names, known, strict=True))})
            y, costs = given["y"], {name: given[name] for name in costs}
            known = tuple(given[name] for name in names)
        check_in_memory(self, X)
        keys, features = split_table(X, by)
        if len(features) < 2:
            raise InvalidInput("X must have at least two rows, got one sample.")
        observation = read_column("y", y, len(features))
        sample_weight, censored, stock, time, series = known
        check_used(rule, censored=censored, stock=stock)
        index = GroupIndex(keys)
        codes = index.lookup(keys, by)[0]
        if series is None and time is not None:
            series = codes
        cost = read_cost(own.get_params(deep=False)["cost"]).with_rows(**costs)
        known = sample_weight, censored, stock, time, series
        rows = Rows.of(cost, features, observation, *known, at_least=2)
        pooled = own
        if self.pooled is not None:
            pooled = _seeded("pooled", self.pooled, common)
            pooled.set_params(band=own.get_params(deep=False)["band"])
        self._learn_names(X)
        self._by_row = tuple(name for name, value in costs.items() if np.ndim(value))
        self._group_index = index
        if isinstance(own, DistributionDecision):
            return self._fit_distribution(rows, codes, seed)
        fewest = fewest or max(_FEWEST, 2 * (features.shape[1] + 1))
        weight = None if rows.share is None else np.asarray(sample_weight, np.float64)
        return self._fit_models(own, pooled, rows, weight, codes, shrink, fewest, seed)

    @by_partition
    def predict(self, X: Any) -> Array:
        """Decide for each row; the pooled model decides for groups that `fit` has not seen.

        Parameters
        ----------
        X : table, array-like or Dask frame of shape (n_rows, n_columns)
            Features and the columns of the groups.

        Returns
        -------
        ndarray of shape (n_rows,), or Dask Series
            Decisions. A Dask Series is computed partition by partition, when it is needed.
        """
        features, group, entries, _ = self._find(X)
        return self._predict(features, group, entries)

    def _with_shifts(self, X: Any) -> tuple[Array, GroupShiftCost]:
        """Predict, with the cost of each row's group, by which `decide` chooses the lot."""
        features, group, entries, _ = self._find(X)
        return self._predict(features, group, entries), self._group_shift.among(group)

    def unseen_groups(self, X: Any) -> list[Any]:
        """List the groups of X that `fit` has not seen, each once, in the order of their rows.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_columns)
            Features and the columns of the groups.
        """
        _, group, _, keys = self._find(X)
        rows = np.flatnonzero(group < 0)
        entries = zip(*(key[rows].tolist() for key in keys), strict=True)
        return [each[0] if len(keys) == 1 else each for each in dict.fromkeys(entries)]

    @property
    def failures_(self) -> dict[Any, str]:
        """Error messages by group, for groups whose own model could not be fitted."""
        check_is_fitted(self)
        failed = np.flatnonzero(self._sentence != "").tolist()
        return {self._group_index.label(group): str(self._sentence[group]) for group in failed}

    @property
    def summary_(self) -> dict[str, NDArray[Any]]:
        """Table with one row per group: its names, rows, weight of its own model, and failure."""
        check_is_fitted(self)
        index = self._group_index
        named = {
            str(column): names[index.places[:, place]]
            for place, (column, names) in enumerate(zip(read_by(self.by), index.names, strict=True))
        }
        return {**named, "rows": self._rows, "weight": self.weight_, "failure": self._sentence}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _find(self, X: Any) -> tuple[Array, Codes, Codes, list[NDArray[Any]]]:
        """Features, the group of each row, the places of its entries, and these themselves."""
        check_is_fitted(self)
        check_in_memory(self, X)
        if isinstance(X, np.ndarray) and X.ndim != 2:
            read_features(X)  # which says so, before anyone counts columns
        self._check_names(X)
        by = read_by(self.by)
        keys, features = split_table(X, by)
        return features, *self._group_index.lookup(keys, by), keys

    def _predict(self, features: Array, group: Codes, entries: Codes) -> Array:
        level = self._level.of(group, entries)
        if self._distribution is not None:
            return self._distribution.of(features, group, level).truth(self._alpha)
        columns = _pooled_columns(features, level, _crosses(self.pooled_, self.weight_.size))
        decision: Array = self.pooled_.predict(columns)
        weight = np.where(group < 0, 0.0, self.weight_[group])
        own = np.flatnonzero(weight > 0)
        if own.size:
            alone = self._decide_alone(features[own], group[own])
            decision[own] += weight[own] * (alone - decision[own])
        return decision

    def _decide_alone(self, features: Array, group: Codes) -> Array:
        """Decide for rows whose groups have a model of their own."""
        if self.coef_ is not None and self.intercept_ is not None:
            own: Array = np.einsum("ij,ij->i", features, self.coef_[group])
            return own + self.intercept_[group]
        decision = np.empty(group.size)
        order = np.argsort(group, kind="stable")
        present, first = np.unique(group[order], return_index=True)
        for number, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            model = self.models_[number]
            assert model is not None
            decision[rows] = model.predict(features[rows])
        return decision

    def _fit_models(
        self,
        model: DecisionModel,
        pooled: DecisionModel,
        rows: Rows,
        sample_weight: Array | None,
        codes: Codes,
        shrink: Any,
        fewest: int,
        seed: int,
    ) -> Self:
        """Fit the pooled model, find the bands and the shrinkage, fit the groups."""
        index, n_groups = self._group_index, self._group_index.n_groups
        assert isinstance(rows.features, np.ndarray)
        # every group is spread over all folds as evenly as its size allows
        shuffled = np.lexsort((np.random.default_rng(seed).random(codes.size), codes))
        folds = np.empty(codes.size, dtype=np.int64)
        folds[shuffled] = np.arange(codes.size) % FOLDS
        weight = np.ones(rows.n_rows) if sample_weight is None else sample_weight
        self._level = level = Level(rows.observation, weight, codes, index)
        crossed = _crosses(pooled, n_groups)
        # the level of a training row is that of rows without itself
        apart = np.empty(codes.size)
        for fold in np.unique(folds).tolist():
            held = folds == fold
            others = Level(rows.observation, np.where(held, 0.0, weight), codes, index, like=level)
            apart[held] = others.group[codes[held]]
        columns = _pooled_columns(rows.features, apart, crossed)
        known = {
            "censored": rows.censored if rows.limits is None else rows.limits,
            **{name: getattr(rows, name) for name in ("stock", "time", "series")},
        }
        known = {name: value for name, value in known.items() if value is not None}
        fitted: Any = clone(pooled).set_params(cost=rows.cost)
        fitted.fit(columns, rows.observation, sample_weight=sample_weight, **known)
        band = fitted.band_
        if fitted.band_rule_ is not None:  # by the level of a group: the same for all its rows
            same = _pooled_columns(rows.features, level.group[codes], crossed)
            band = fitted.band_rule_.band(same, cost=rows.cost, observation=rows.observation)
        rows = rows.evaluated(rows.cost, band)

        # rows in the order of their groups, those without weight left out
        order = np.argsort(codes, kind="stable")
        if sample_weight is not None:
            order = order[sample_weight[order] > 0]
        starts = np.searchsorted(codes[order], np.arange(n_groups + 1))
        sizes, sorted_rows = np.diff(starts), rows.take(order)
        sorted_weight = None if sample_weight is None else sample_weight[order]
        assert isinstance(sorted_rows.features, np.ndarray)
        able = np.flatnonzero(sizes >= fewest)

        at_once = 100 if type(model) is LinearDecision else 5  # about a third of a second

        def pieces(groups: NDArray[np.intp], *more: Codes) -> Iterator[tuple[Any, ...]]:
            """Rows of some groups at a time, for one task each."""
            for first in range(0, groups.size, at_once):
                some = groups[first : first + at_once]
                place = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in some])
                ends = np.append(0, np.cumsum(sizes[some]))
                chosen = None if sorted_weight is None else sorted_weight[place]
                yield model, sorted_rows.take(place), chosen, ends, *(m[place] for m in more)

        if shrink == "auto":
            shrink, sample = np.inf, able
            if able.size > 200:  # groups of all sizes; 10,000 would hardly tell one number better
                by_size = able[np.argsort(sizes[able], kind="stable")]
                places = np.linspace(0, by_size.size - 1, 200).round().astype(np.intp)
                sample = np.sort(by_size[places])
            if sample.size:
                held = pieces(sample, folds[order])
                held_out = _run(_hold_out, held, sample.size / at_once, self.n_jobs)
                some = np.flatnonzero(np.isin(codes[order], sample))
                count = np.zeros((n_groups, FOLDS))
                np.add.at(count, (codes[order], folds[order]), 1)
                group, fold_of = codes[order][some], folds[order][some]
                # decide for some rows by a pooled model that has not seen them
                asked = order[some]
                decision = np.empty(asked.size)
                whole = Rows(columns, rows.observation, rows.cost, band=rows.band)
                for fold in np.unique(folds[asked]).tolist():
                    rest = np.flatnonzero(folds != fold)
                    seen = whole.take(rest)
                    fresh: Any = clone(pooled).set_params(cost=seen.cost, band=seen.band)
                    known_weight = None if sample_weight is None else sample_weight[rest]
                    fresh.fit(seen.features, seen.observation, sample_weight=known_weight)
                    held = folds[asked] == fold
                    decision[held] = fresh.predict(columns[asked[held]])
                shrink = choose(
                    sorted_rows.take(some),
                    np.concatenate(held_out),
                    sizes[group] - count[group, fold_of],
                    decision,
                )
        parts = _run(_fit_groups, pieces(able), able.size / at_once, self.n_jobs)
        found = [each for part in parts for each in part]
        self._sentence = np.full(n_groups, "", dtype=object)
        self._sentence[able] = [each if isinstance(each, str) else "" for each in found]
        self._sentence = self._sentence.astype(np.str_)
        good = self._sentence[able] == ""
        self.coef_, self.intercept_, self.models_ = None, None, []
        if type(model) is LinearDecision:
            lines = np.full((n_groups, rows.features.shape[1] + 1), np.nan)
            kept = [each for each in found if not isinstance(each, str)]
            lines[able[good]] = np.reshape(kept, (-1, lines.shape[1]))
            self.coef_, self.intercept_ = lines[:, :-1], lines[:, -1]
            if isinstance(fitted, LinearDecision) and order.size:
                levels = level.group if crossed else None
                self._borrow_idle(sorted_rows.features, starts, fitted, levels)
        else:
            self.models_ = [None] * n_groups
            for number, each in zip(able.tolist(), found, strict=True):
                self.models_[number] = None if isinstance(each, str) else each
        self.weight_ = np.zeros(n_groups)
        self.weight_[able[good]] = _weights(sizes[able[good]], shrink)
        self.pooled_, self.shrink_, self._rows = fitted, float(shrink), sizes
        self.cost_, self.band_, self._distribution = rows.cost, band, None
        self.band_rule_, self.diagnosis_ = fitted.band_rule_, fitted.diagnosis_
        group = codes[order]
        decision = self._predict(sorted_rows.features, group, index.places[group])
        self._group_shift = GroupShiftCost.of(sorted_rows, starts, decision, fewest)
        return self

    def _borrow_idle(
        self, features: Array, starts: Any, pooled: LinearDecision, level: Array | None
    ) -> None:
        """Take the pooled coefficient of columns that never change in a group.

        The intercept makes up for it, so that decisions on the group's own rows stay as they are.
        `features` are those of all groups, which begin at `starts`; `level` is that of each group
        if the pooled model has products with it, otherwise None.
        """
        assert self.coef_ is not None
        assert self.intercept_ is not None
        filled = np.flatnonzero(np.diff(starts) > 0)
        starts = starts[filled]
        value = features[starts]
        idle = np.maximum.reduceat(features, starts) == np.minimum.reduceat(features, starts)
        n_features = features.shape[1]
        theirs = np.broadcast_to(pooled.coef_[:n_features], value.shape)
        if level is not None:  # the model has learned products with it
            theirs = theirs + np.outer(level[filled], pooled.coef_[n_features + 1 :])
        mine = self.coef_[filled]
        self.intercept_[filled] += np.where(idle, (mine - theirs) * value, 0.0).sum(axis=1)
        self.coef_[filled] = np.where(idle & np.isfinite(mine), theirs, mine)

    def _fit_distribution(self, rows: Rows, codes: Codes, seed: int) -> Self:
        """Learn one distribution of all groups together: location, spread and shape are shared."""
        cost, flags, index = rows.cost, rows.censored, self._group_index
        if not isinstance(cost, PiecewiseLinearCost):
            raise Unsupported(
                "GroupedDecision decides by a distribution where costs have two slopes, got "
                f"{type(cost).__name__}: use LinearDecision."
            )
        known = flags is not None and np.mean(np.isin(flags, (0, 1))) >= 0.5
        if flags is None or not known or ((flags > 0) & (flags < 1)).any():
            raise Unsupported(
                "GroupedDecision of DistributionDecision needs to know which rows sold out, not "
                "limits or probabilities: give censored= or stock=, or use LinearDecision."
            )
        weight = np.where(np.isnan(flags), 0.0, rows.weight)
        self._level = Level(rows.observation, weight, codes, index)
        with one_blas_thread():
            told = replace(rows, series=codes)
            distribution = PanelDistribution(seed).fit(told, self._level.group)
        self._distribution = distribution
        usual = average_cost(cost, weight)
        assert isinstance(usual, PiecewiseLinearCost)
        self._alpha = float(usual.level)
        self.shrink_, self.weight_ = distribution.shrink, distribution.own_share
        self.coef_, self.intercept_, self.models_ = None, None, []
        self._rows = np.bincount(codes, minlength=index.n_groups)
        self._sentence = np.full(index.n_groups, "", dtype=np.str_)
        self.cost_, self.band_, self.band_rule_ = cost, None, None
        self.diagnosis_ = distribution.diagnosis_
        order = np.argsort(codes, kind="stable")
        order = order[weight[order] > 0]
        starts = np.searchsorted(codes[order], np.arange(index.n_groups + 1))
        # lots are weighed on truths drawn from the distribution, not on sales that are too low
        levels = (np.random.default_rng(seed).permutation(order.size) + 0.5) / order.size
        some = rows.take(order)
        assert isinstance(some.features, np.ndarray)
        own = distribution.of(some.features, codes[order])
        drawn = replace(some, observation=own.truth(levels), censored=None)
        self._group_shift = GroupShiftCost.of(drawn, starts, own.truth(self._alpha), _FEWEST)
        return self


def _seeded(name: str, model: Any, seed: int | None) -> DecisionModel:
    """Copy a model, with whole numbers for all its seeds.

    A generator would run on from group to group, and answers would depend on their order.
    """
    if not isinstance(model, DecisionModel) or not {"cost", "band"} <= set(model.get_params(False)):
        raise InvalidInput(
            f"{name} must be a decision model such as LinearDecision(Newsvendor(3, 1)), "
            f"got {model!r:.60}."
        )
    copy: DecisionModel = clone(model)
    for parameter, value in model.get_params(deep=True).items():
        if parameter == "random_state" or parameter.endswith("__random_state"):
            if value is None and seed is not None:
                copy.set_params(**{parameter: seed})
            elif isinstance(value, np.random.RandomState):
                copy.set_params(**{parameter: Seed()(parameter, value)})
    return copy


# --- Own models of groups, which one task fits, and the shrinkage.


def _run(
    task: Callable[..., Any], pieces: Iterator[Any], n_pieces: float, n_jobs: int | None
) -> list[Any]:
    """Run a task on all pieces, here until the rest is worth the start of processes.

    Threads would be no help: solvers of small problems hold Python's lock most of the time.
    """
    n_workers, done, begun = joblib.effective_n_jobs(n_jobs), list[Any](), perf_counter()
    if isinstance(get_active_backend()[0], LokyBackend):  # any other one was asked for by name
        for each in pieces:
            done.append(task(*each))
            rest = (perf_counter() - begun) * (n_pieces / len(done) - 1)
            if rest * (1 - 1 / n_workers) > START_SECONDS:
                break
    parallel = joblib.Parallel(n_jobs=n_jobs, max_nbytes=None)
    more: list[Any] = parallel(joblib.delayed(task)(*each) for each in pieces)
    return done + more


def _own_model(model: DecisionModel, method: LinearMethod | None, rows: Rows, weight: Any) -> Any:
    """Coefficients and intercept, a model, or a sentence that says why neither could be had.

    One group must not end the run of ten thousand.
    """
    try:
        if method is not None:
            # what `LinearDecision.fit` does to rows that have been checked: the same, sooner
            solution = method.train(rows)
            return np.append(solution.coefficients, solution.intercept)
        own = clone(model).set_params(cost=rows.cost, band=rows.band)
        return own.fit(rows.features, rows.observation, sample_weight=weight)
    except Exception as error:  # whatever a model of any kind raises
        return " ".join(str(error).split()) or type(error).__name__


def _fit_groups(model: DecisionModel, rows: Rows, weight: Array | None, ends: Any) -> list[Any]:
    """Fit a copy of a model to every group; groups lie between `ends`."""
    method = LinearMethod(model) if type(model) is LinearDecision else None
    with one_blas_thread():
        return [
            _own_model(model, method, rows.take(part), None if weight is None else weight[part])
            for part in np.split(np.arange(rows.n_rows), ends[1:-1])
        ]


def _hold_out(
    model: DecisionModel, rows: Rows, weight: Array | None, ends: Any, folds: Codes
) -> Array:
    """Decide for each row by its group's model without the rows of its fold.

    NaN where that could not be fitted.
    """
    method = LinearMethod(model) if type(model) is LinearDecision else None
    decision = np.full(folds.size, np.nan)
    group = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    with one_blas_thread():
        for number, fold in np.unique(np.stack([group, folds]), axis=1).T.tolist():
            inside = group == number
            others = np.flatnonzero(inside & (folds != fold))
            held = np.flatnonzero(inside & (folds == fold))
            chosen = None if weight is None else weight[others]
            own = _own_model(model, method, rows.take(others), chosen)
            if isinstance(own, np.ndarray):
                decision[held] = np.asarray(rows.features[held] @ own[:-1]) + own[-1]
            elif not isinstance(own, str):
                decision[held] = own.predict(rows.features[held])
    return decision


def _weights(sizes: Any, k: float) -> Array:
    """Give w = n / (n + k); 0 where k is endless."""
    if np.isinf(k):
        return np.zeros(len(sizes))
    return np.asarray(sizes / np.maximum(sizes + k, 1e-300), dtype=np.float64)


def choose(rows: Rows, own: Array, trained: Array, pooled: Array) -> float:
    """Choose the k with the least cost on held-out rows.

    Parameters
    ----------
    rows : Rows
        Held-out rows.
    own : ndarray of shape (n_rows,)
        Decisions by models that have not seen these rows; NaN if a fit failed.
    trained : ndarray of shape (n_rows,)
        Number of rows of its group that the own model of a row has seen.
    pooled : ndarray of shape (n_rows,)
        Decisions by pooled models that have not seen these rows.

    Returns
    -------
    float
        From 0 (own models only) to inf (pooled model only); the largest if several are equal.
    """
    good = np.flatnonzero(np.isfinite(own) & (trained > 0))
    if not good.size:
        return np.inf
    used = rows.take(good)
    ends = 1e-2 * trained[good].min(), 1e3 * trained[good].max()
    grid = [np.inf, *np.geomspace(*ends, 61)[::-1].tolist(), 0.0]
    costs = []
    for k in grid:
        share = _weights(trained[good], k)
        decision = pooled[good] + share * (own[good] - pooled[good])
        costs.append(used.mean_cost(decision))
    return float(grid[int(np.argmin(costs))])


def _crosses(pooled: DecisionModel, n_groups: int) -> bool:
    """Whether the pooled model also sees the products of level and features.

    An item that sells ten times as much usually gains ten times as much in a promotion; a line
    cannot know that by itself, trees and networks can. It takes some groups to learn it from.
    """
    return isinstance(pooled, LinearDecision) and n_groups >= 10


def _pooled_columns(features: Array, level: Array, crossed: bool) -> Array:
    """Features, the level of the row's group, and perhaps the products of the two."""
    products = [features * level[:, np.newaxis]] if crossed else []
    return np.column_stack([features, level, *products])


class Level:
    """Levels of groups, estimated from some rows.

    Parameters
    ----------
    observation, weight : ndarray of shape (n_rows,)
        Observations and weights.
    codes : ndarray of shape (n_rows,)
        Group of each row.
    index : GroupIndex
        The groups.
    like : Level, optional
        Levels of all rows, whose overall mean is used. A row affects this mean, but equally for
        every row.

    Attributes
    ----------
    overall : float
        Mean observation.
    product : bool
        Whether effects are factors of the level, and not terms.
    effects : list of ndarray
        For each column of `by`, the factor or the term of each entry; empty for a single column.
    group : ndarray of shape (n_groups,)
        Level of each group.
    """

    def __init__(
        self,
        observation: Array,
        weight: Array,
        codes: Codes,
        index: GroupIndex,
        like: Level | None = None,
    ) -> None:
        self.overall = float(weight @ observation / weight.sum())
        self.product = self.overall > 0 and bool((observation[weight > 0] >= 0).all())
        if like is not None:
            self.overall, self.product = like.overall, like.product
        total, summed = (
            np.bincount(codes, each, index.n_groups) for each in (weight, weight * observation)
        )
        self.effects = []
        for names, entry in zip(index.names, index.places.T, strict=True):
            if len(index.names) > 1:
                part, values = (np.bincount(entry, each, names.size) for each in (total, summed))
                mean = _mean(values, part, self.overall)
                self.effects.append(mean / self.overall if self.product else mean - self.overall)
        prior = self.expected(index.places)
        mean = _mean(summed, total, prior)
        # m, in rows of mean weight: the variance within groups over that between them
        some, n_rows = total > 0, float(np.count_nonzero(weight))
        n_groups, unit = int(np.count_nonzero(some)), float(weight.sum() / n_rows)
        rest = observation - mean[codes]
        within = float(weight @ rest**2) / unit / max(n_rows - n_groups, 1.0)
        noise = within * float(np.mean(unit / total[some]))
        between = float(np.mean((mean - prior)[some] ** 2)) - noise
        own = np.zeros(index.n_groups)  # groups say nothing where they do not differ
        if n_groups > 1 and n_rows != n_groups and between > 1e-12 * within:
            own = _mean(total, total + within / between * unit, 0.0)
        self.group: Array = prior + own * (mean - prior)

    def expected(self, places: NDArray[np.int64]) -> Array:
        """Predict the level of unseen groups from their entries; −1 is an unseen entry."""
        neutral = 1.0 if self.product else 0.0
        level = np.full(len(places), self.overall)
        for column, effect in enumerate(self.effects):
            known = places[:, column]
            each = np.where(known >= 0, effect[np.maximum(known, 0)], neutral)
            level = level * each if self.product else level + each
        return level

    def of(self, group: Codes, entries: NDArray[np.int64]) -> Array:
        """Give the level of any rows."""
        level = self.group[np.maximum(group, 0)]
        new = group < 0
        if new.any():
            level[new] = self.expected(entries[new])
        return level


def _mean(summed: Any, total: Any, otherwise: Array | float) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, summed / total, otherwise)


# --- Which group a row belongs to: columns of any type become whole numbers, and back.

_KINDS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers"}
_KINDS |= {"U": "text", "M": "dates"}


def read_by(by: Any) -> list[Column]:
    """Read the names or positions of the columns that identify groups; accept a single one."""
    columns = [by] if isinstance(by, str | int) else by
    good = isinstance(columns, list | tuple) and len(columns) == len(set(columns)) > 0
    if not good or any(
        not isinstance(each, str | int | np.integer) or isinstance(each, bool) for each in columns
    ):
        raise InvalidInput(f"by must be a list of column names or places, each once, got {by!r}.")
    return list(columns)


def split_table(X: Any, by: Sequence[Column]) -> tuple[list[NDArray[Any]], Array]:
    """Separate the columns of `by`, in their order, from the features."""
    if sparse.issparse(X):
        raise Unsupported(
            "X must be a table or a dense array for a model per group, got a sparse matrix."
        )
    if not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X):
        try:
            table = nw.from_native(X, eager_only=True)
            columns: list[Any] = list(table.columns)
        except DuplicateError:
            read_features(X)  # which says what is wrong, in the words of all models
            raise
    else:
        table, array = None, np.asarray(X)
        if array.ndim != 2 or not array.shape[1]:
            read_features(X)
        columns = list(range(array.shape[1]))
    wanted: list[Any] = list(by)
    for place, each in enumerate(by):  # places count from either end
        if each not in columns and isinstance(each, int) and -len(columns) <= each < len(columns):
            wanted[place] = columns[each]
    missing = [each for each in wanted if each not in columns]
    if missing or len(set(wanted)) != len(wanted):
        raise InvalidInput(
            f"by must name columns of X, each once, got {missing[0] if missing else list(by)!r}."
        )
    rest = [each for each in columns if each not in wanted]
    if not rest:
        raise InvalidInput(
            f"X must have a feature beside the columns of by, got only {list(by)!r}."
        )
    if table is None:
        keys, others = [_key(str(each), array[:, each]) for each in wanted], array[:, rest]
    else:
        keys = [_key(repr(each), table.get_column(each).to_numpy()) for each in wanted]
        others = table.select(nw.col(*rest)).to_native()
    features = read_features(others)
    assert isinstance(features, np.ndarray)
    return keys, features


def _key(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Read a column whose entries can be told apart and sorted."""
    if values.dtype.kind in "OT":  # Python objects, which must be of one type
        kinds = set(map(type, values.tolist()))
        if kinds <= {str}:
            values = values.astype(np.str_)
        elif kinds <= {int, bool, float}:
            values = values.astype(np.float64)
    kind = values.dtype.kind
    good = kind in _KINDS
    if kind in "fM":
        good = bool((~np.isnat(values) if kind == "M" else np.isfinite(values)).all())
    if not good:
        raise InvalidInput(
            f"The column {name} of by must hold only text, only numbers or only dates, "
            "without NaN, inf or missing ones."
        )
    return values


class GroupIndex:
    """The groups of the training rows, in sorted order.

    Parameters
    ----------
    keys : sequence of ndarray of shape (n_rows,)
        Columns of `by`.

    Attributes
    ----------
    names : list of ndarray
        Distinct entries of each column of `by`, sorted.
    places : ndarray of shape (n_groups, n_by)
        Entry of each column that a group has.
    """

    def __init__(self, keys: Sequence[NDArray[Any]]) -> None:
        both = [np.unique(key, return_inverse=True) for key in keys]
        self.names = [names for names, _ in both]
        places = np.stack([place.astype(np.int64) for _, place in both], axis=1)
        _, first = np.unique(self._combined(places), return_index=True)
        self.places = places[first]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.places)

    def lookup(self, keys: Sequence[NDArray[Any]], by: Sequence[Column]) -> tuple[Codes, Codes]:
        """Find the group of each row; −1 is an unseen group.

        Returns
        -------
        group : ndarray of shape (n_rows,)
            Position of the group.
        entries : ndarray of shape (n_rows, n_by)
            Position of each entry among those of its column.
        """
        for name, known, key in zip(by, self.names, keys, strict=True):
            kinds = [_KINDS[each.dtype.kind] for each in (known, key)]
            if kinds[0] != kinds[1]:
                raise InvalidInput(
                    f"The column {name!r} of by must hold {kinds[0]} as in fit, got {kinds[1]}."
                )
        entries = np.stack([_place(*both) for both in zip(self.names, keys, strict=True)], axis=1)
        group = _place(self._combined(self.places), self._combined(np.maximum(entries, 0)))
        return np.where((entries >= 0).all(axis=1), group, -1), entries

    def _combined(self, places: Codes) -> Codes:
        """One whole number for the entries of each row; sorted as these are."""
        sizes = [names.size for names in self.names]
        return np.asarray(np.ravel_multi_index(tuple(places.T), sizes), dtype=np.int64)

    def label(self, group: int) -> Any:
        """Name a group: a tuple, or the entry itself if a single column identifies groups."""
        entries = [
            names[place].item() for names, place in zip(self.names, self.places[group], strict=True)
        ]
        return entries[0] if len(entries) == 1 else tuple(entries)


def _place(known: NDArray[Any], values: NDArray[Any]) -> Codes:
    """Place of each value among sorted ones, −1 where it is none of them."""
    distinct, back = values, np.arange(values.size)
    if values.dtype.kind == "U" and values.size > known.size:
        # sorting text is dear: look up each distinct entry once
        distinct, back = np.unique(values, return_inverse=True)
    place = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
    found: Codes = np.where(known[place] == distinct, place, -1).astype(np.int64)
    return found[back]
