"""A model per group, such as store × item, with a pooled one behind all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.censoring import BandRule, LatentBand
from unmet.censoring.panel import Codes, PanelDistribution
from unmet.costs import PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import (
    DecisionModel,
    check_used,
    costs_by_row,
    one_blas_thread,
    read_band,
    read_cost,
)
from unmet.estimators.distribution import DistributionDecision, average_cost
from unmet.estimators.grouped.fitting import BACKENDS, GroupedFit, Progress
from unmet.estimators.grouped.keys import (
    Column,
    GroupIndex,
    check_in_memory,
    read_by,
    split_table,
)
from unmet.estimators.grouped.pooling import Level, Seen, crosses, pooled_columns
from unmet.estimators.lots import GroupShiftCost, to_lots
from unmet.rows import Rows, read_column, read_features
from unmet.validation import (
    Constraint,
    Jobs,
    Maybe,
    OneOf,
    Seed,
    WholeNumber,
    read_parameters,
    refusal,
)

_FEWEST, _PER_PARAMETER = 10, 2  # rows of a group that has a model of its own
_MOSTLY_KNOWN = 0.5  # share of the rows that flags or stock must speak of, for a distribution
_BLOCK = 100_000  # rows whose coefficients are gathered at once

_CONSTRAINTS: Mapping[str, Constraint] = {
    "band_by": OneOf("pooled", "group"),
    "backend": OneOf(None, *BACKENDS),
    "min_rows": Maybe(WholeNumber(2)),
    "n_jobs": Jobs(),
    "random_state": Seed(),
}


class GroupedDecision(DecisionModel):
    """One model per group, shrunk to a model of all groups together.

    The decision for a row of a group with n rows is ``w · own + (1 − w) · pooled`` with
    ``w = n / (n + k)``: groups of many rows decide by themselves, small ones with the help of the
    others, groups too small or never seen by the pooled model alone. k is found by the cost on
    training rows held out, over all groups together.

    Parameters
    ----------
    model : DecisionModel
        Copied for every group: `LinearDecision`, `NeuralDecision`, `BoostedDecision`. Its cost and
        band are those of all groups. `DistributionDecision` with `LatentBand`, where it is known
        which rows sold out, gives one distribution of all groups, which share location, spread and
        shape as far as they are alike.
    by : list of str or int, default=("store", "item")
        Columns of X that tell groups apart: names, or places if X is an array. They may hold text,
        numbers or dates, and are not among the features.
    shrink : "auto", float or None, default="auto"
        k, in rows. "auto" finds it; None is 0, every group that is large enough for itself.
    min_rows : int or None, default=None
        Groups with fewer rows have no model of their own. None is 10, or twice the number of
        parameters of a linear model if that is more.
    band_by : {"pooled", "group"}, default="pooled"
        Whether a band rule learns once from all rows or in every group by itself.
    pooled : DecisionModel or None, default=None
        Another kind of model for all groups together; its cost and band are those of `model`.
        None is a copy of `model`.
    n_jobs : int or None, default=None
        Processes, as joblib counts them. They are started once more work is left than their start
        costs, some seconds. The answer does not depend on it.
    backend : {"loky", "threading", "dask"} or None, default=None
        Of joblib; "dask" is the cluster of the running `dask.distributed.Client`.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of models and rules that have none.

    Attributes
    ----------
    pooled_ : DecisionModel
        Trained on all rows; its columns are the features and the level of the row's group. A
        distribution has none.
    shrink_ : float
        k; inf if own models did not help at all.
    weight_ : ndarray of shape (n_groups,)
        w of each group; 0 where the pooled model decides.
    coef_ : ndarray of shape (n_groups, n_features), or None
    intercept_ : ndarray of shape (n_groups,), or None
        Of linear own models, NaN where a group has none.
    models_ : list of DecisionModel or None
        Own models that are not linear; empty for those that are.
    failures_ : dict
        Sentences by group, for groups whose own model could not be fitted.
    summary_ : dict of str to ndarray
        A table with one row per group; ``polars.DataFrame(model.summary_)`` shows it.
    cost_, band_ : Cost, and Band or None
        What was trained on, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        Of the rule that learned from all rows.
    n_features_in_ : int
        Columns of X, those of `by` among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Notes
    -----
    The pooled model knows the size of a group from one more column, its level: the mean observation
    of the group, shrunk to what its store and its item let us expect. In training, the level of
    a row comes from other rows than itself. A rule learns on the same columns, and gives each row
    the band of its group's level. Under ``band_by="group"`` the shrinkage, rounding to lots and
    ``band_`` still go by the band learned from all rows.

    A column that never changes in a group says nothing there: where both models are linear, the
    group takes the pooled coefficient for it, and the same decisions on its training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet import GroupedDecision
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

    pooled_: DecisionModel
    shrink_: float
    weight_: Array
    coef_: Array | None
    intercept_: Array | None
    models_: list[DecisionModel | None]
    _distribution: PanelDistribution | None
    _alpha: float
    _group_index: GroupIndex
    _level: Level
    _group_shift: GroupShiftCost
    _rows: NDArray[np.intp]
    _sentence: NDArray[np.str_]

    def __init__(
        self,
        model: DecisionModel,
        by: list[Column] | tuple[Column, ...] | Column = ("store", "item"),
        *,
        shrink: Literal["auto"] | float | None = "auto",
        min_rows: int | None = None,
        band_by: Literal["pooled", "group"] = "pooled",
        pooled: DecisionModel | None = None,
        n_jobs: int | None = None,
        backend: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.by = by
        self.shrink = shrink
        self.min_rows = min_rows
        self.band_by = band_by
        self.pooled = pooled
        self.n_jobs = n_jobs
        self.backend = backend
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from the rows of all groups.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_columns)
            The columns of `by`, and features that are finite numbers.
        y : array-like of shape (n_rows,)
            The observations.
        sample_weight, underage, overage, censored, stock, time, series
            As in `LinearDecision.fit`. Without `series`, the group of a row is its series.
        progress : callable, optional
            Called with the groups done, the groups there are, and what is being done.

        Returns
        -------
        GroupedDecision
            Itself.

        Raises
        ------
        InvalidInput
            If something is wrong with the input, or the pooled model cannot be fitted. What goes
            wrong in a single group is kept in `failures_`.
        """
        model, pooled = _check_model("model", self.model), self.model
        if self.pooled is not None:
            pooled = _check_model("pooled", self.pooled)
        given = read_parameters(_CONSTRAINTS, self)
        seed = given["random_state"]
        chosen = None if self.random_state is None else seed
        pooled = _seeded(pooled, chosen)
        # both must be at the same seed even where one of them is the other
        model = pooled if self.pooled is None else _seeded(model, chosen)
        own = model.get_params(deep=False)
        pooled = clone(pooled).set_params(band=own["band"])
        distribution = isinstance(model, DistributionDecision)
        if distribution:
            _check_distribution(self)
        rule, by, shrink = read_band(own["band"]), read_by(self.by), _read_shrink(self.shrink)
        own_rule = self.band_by == "group" and isinstance(rule, BandRule)

        keys, features = split_table(X, by)
        if len(features) < 2:
            raise InvalidInput("X must have at least two rows, got one sample.")
        observation = read_column("y", y, len(features))
        check_used(rule, censored=censored, stock=stock)
        index, codes = GroupIndex.learn(keys)
        rows = Rows.of(
            read_cost(own["cost"]).with_rows(underage=underage, overage=overage),
            features,
            observation,
            sample_weight=sample_weight,
            censored=censored,
            stock=stock,
            time=time,
            series=codes if series is None and time is not None else series,
            at_least=2,
        )
        self._learn_names(X)
        if distribution:
            self._by_row = costs_by_row(underage, overage)
            return self._fit_distribution(rows, index, codes, seed)
        fewest = max(_FEWEST, _PER_PARAMETER * (features.shape[1] + 1))
        fitted = GroupedFit(
            model=model,
            pooled=pooled,
            own_rule=own_rule,
            shrink=shrink,
            fewest=given["min_rows"] or fewest,
            n_jobs=given["n_jobs"],
            backend=given["backend"],
            seed=seed,
            rows=rows,
            sample_weight=None if rows.share is None else np.asarray(sample_weight, np.float64),
            index=index,
            codes=codes,
            progress=progress,
        )
        self._distribution = None
        fitted.run()
        self._by_row = costs_by_row(underage, overage)
        return self._keep(fitted)

    def predict(self, X: Any) -> Array:
        """Decide for each row; the pooled model decides for groups that `fit` has not seen.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        features, group, entries, _ = self._find(X)
        return self._predict(features, group, entries)

    def decide(
        self,
        X: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        *,
        minimum: ArrayLike | None = None,
    ) -> Array:
        """Decide what can be carried out; of two lots the one that costs less in the row's group.

        Parameters
        ----------
        X, step, lower, upper, minimum
            As in `LinearDecision.decide`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        features, group, entries, _ = self._find(X)
        decision = self._predict(features, group, entries)
        shifts = self._group_shift.among(group)
        return to_lots(decision, shifts, step, lower, upper, minimum)

    def unseen_groups(self, X: Any) -> list[Any]:
        """Name the groups of X that `fit` has not seen, each once, in the order of their rows."""
        _, group, _, keys = self._find(X)
        rows = np.flatnonzero(group < 0)
        entries = zip(*(key[rows].tolist() for key in keys), strict=True)
        return [each[0] if len(keys) == 1 else each for each in dict.fromkeys(entries)]

    @property
    def failures_(self) -> dict[Any, str]:
        """Sentences by group, for groups whose own model could not be fitted."""
        check_is_fitted(self)
        failed = np.flatnonzero(self._sentence != "").tolist()
        return {self._group_index.label(group): str(self._sentence[group]) for group in failed}

    @property
    def summary_(self) -> dict[str, NDArray[Any]]:
        """One entry per group: its names, its rows, the weight of its own model, its failure."""
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
        check_in_memory(X)
        if isinstance(X, np.ndarray) and X.ndim != 2:
            read_features(X)  # which says so, before anyone counts columns
        self._check_names(X)
        by = read_by(self.by)
        keys, features = split_table(X, by)
        return features, *self._group_index.lookup(keys, by), keys

    def _predict(self, features: Array, group: Codes, entries: Codes) -> Array:
        level = self._level.of(group, entries)
        distribution: PanelDistribution | None = getattr(self, "_distribution", None)
        if distribution is not None:
            return distribution.of(features, group, level).truth(self._alpha)
        columns = pooled_columns(features, level, crosses(self.pooled_, self.weight_.size))
        decision = self.pooled_.predict(columns)
        weight = np.where(group < 0, 0.0, self.weight_[group])
        own = np.flatnonzero(weight > 0)
        if own.size:
            alone = self._decide_alone(features[own], group[own])
            decision[own] += weight[own] * (alone - decision[own])
        return decision

    def _decide_alone(self, features: Array, group: Codes) -> Array:
        """Decide for rows whose groups have a model of their own."""
        decision = np.empty(group.size)
        if self.coef_ is not None and self.intercept_ is not None:
            for start in range(0, group.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                decision[block] = np.einsum("ij,ij->i", features[block], self.coef_[group[block]])
            return decision + self.intercept_[group]
        order = np.argsort(group, kind="stable")
        present, first = np.unique(group[order], return_index=True)
        for number, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            model = self.models_[number]
            assert model is not None
            decision[rows] = model.predict(features[rows])
        return decision

    def _fit_distribution(self, rows: Rows, index: GroupIndex, codes: Codes, seed: int) -> Self:
        """Learn one distribution of all groups together: location, spread and shape are shared."""
        cost = rows.cost
        if not isinstance(cost, PiecewiseLinearCost):
            raise Unsupported(
                "GroupedDecision decides by a distribution where costs have two slopes, got "
                f"{type(cost).__name__}: use LinearDecision."
            )
        flags = rows.censored
        if flags is None or rows.limits is not None or np.mean(~np.isnan(flags)) < _MOSTLY_KNOWN:
            raise Unsupported(
                "GroupedDecision of DistributionDecision needs to know which rows sold out: give "
                "censored= or stock=, or use LinearDecision."
            )
        if ((flags > 0) & (flags < 1)).any():
            raise Unsupported(
                "GroupedDecision of DistributionDecision needs to know whether a row sold out, got "
                "probabilities: use LinearDecision with band=LatentBand()."
            )
        weight = np.where(np.isnan(flags), 0.0, rows.weight)
        assert isinstance(rows.features, np.ndarray)
        seen = Seen.of(rows.observation, weight, codes, index)
        self._level = Level.learn(seen, weight)
        with one_blas_thread():
            told = replace(rows, series=codes)
            distribution = PanelDistribution(seed).fit(told, self._level.group)
        self._distribution = distribution
        usual = average_cost(cost, weight)
        assert isinstance(usual, PiecewiseLinearCost)
        self._alpha = float(usual.level)
        self.shrink_, self.weight_ = distribution.shrink, distribution.own_share
        self.coef_, self.intercept_, self.models_ = None, None, []
        self._group_index = index
        self._rows = np.bincount(codes, minlength=index.n_groups)
        self._sentence = np.full(index.n_groups, "", dtype=np.str_)
        self.cost_, self.band_, self.band_rule_ = cost, None, None
        self.diagnosis_ = distribution.diagnosis_
        order = np.argsort(codes, kind="stable")
        order = order[weight[order] > 0]
        starts = np.searchsorted(codes[order], np.arange(index.n_groups + 1))
        # lots are weighed on truths drawn from the distribution, not on sales that are too low
        levels = (np.random.default_rng(seed).permutation(order.size) + 0.5) / order.size
        some, group = rows.take(order), codes[order]
        assert isinstance(some.features, np.ndarray)
        own = distribution.of(some.features, group)
        drawn = replace(some, observation=own.truth(levels), censored=None)
        decision = own.truth(self._alpha)
        self._group_shift = GroupShiftCost.of(drawn, starts, decision, _FEWEST)
        return self

    def _keep(self, fitted: GroupedFit) -> Self:
        """Set the fitted attributes."""
        own, groups = fitted.own, fitted.groups
        assert fitted.shrink is not None
        self.pooled_, self.shrink_, self.weight_ = fitted.pooled, fitted.shrink, fitted.weight
        self.coef_, self.intercept_ = own.get("coef"), own.get("intercept")
        self.models_ = own["models"].tolist() if "models" in own else []
        self._group_index, self._level = fitted.index, fitted.level
        self._rows, self._sentence = groups.sizes, own["sentence"]
        self.cost_, self.band_ = fitted.rows.cost, fitted.band
        self.band_rule_ = fitted.pooled.band_rule_
        self.diagnosis_ = fitted.pooled.diagnosis_
        codes = groups.codes
        decision = self._predict(groups.features, codes, fitted.index.places[codes])
        self._group_shift = GroupShiftCost.of(groups.rows, groups.starts, decision, fitted.fewest)
        return self


def _check_distribution(model: GroupedDecision) -> None:
    """Refuse what a distribution of all groups together has no use for."""
    for name in ("pooled", "min_rows"):
        if getattr(model, name) is not None:
            raise Unsupported(
                f"{name} and DistributionDecision do not fit together, because all groups share "
                f"one distribution, got {getattr(model, name)!r:.60}."
            )
    if model.shrink != "auto" or model.band_by != "pooled":
        raise Unsupported(
            "shrink and band_by must be 'auto' and 'pooled' with DistributionDecision, because all "
            f"groups share one distribution, got {model.shrink!r} and {model.band_by!r}."
        )
    band = model.model.get_params(deep=False)["band"]
    if not (isinstance(band, LatentBand) or (isinstance(band, str) and band == "latent")):
        raise Unsupported(f"DistributionDecision in groups needs band LatentBand(), got {band!r}.")


def _check_model(name: str, model: object) -> DecisionModel:
    """Refuse what has no cost and band."""
    if not isinstance(model, DecisionModel) or not {"cost", "band"} <= set(model.get_params(False)):
        raise InvalidInput(
            f"{name} must be a decision model such as LinearDecision(Newsvendor(3, 1)), "
            f"got {model!r:.60}."
        )
    return model


def _seeded(model: DecisionModel, seed: int | None) -> DecisionModel:
    """Copy a model, with whole numbers for all its seeds.

    A generator would run on from group to group, and answers would depend on their order.
    """
    copy: DecisionModel = clone(model)
    found = {}
    for name, value in model.get_params(deep=True).items():
        if name == "random_state" or name.endswith("__random_state"):
            if value is None and seed is not None:
                found[name] = seed
            elif isinstance(value, np.random.RandomState):
                found[name] = Seed()(name, value)
    return copy.set_params(**found) if found else copy


def _read_shrink(shrink: Any) -> float | None:
    """Read k; None of the caller is 0, and "auto" is what is to be found."""
    if shrink is None:
        return 0.0
    if isinstance(shrink, str) and shrink == "auto":
        return None
    if isinstance(shrink, Real) and not isinstance(shrink, bool) and float(shrink) >= 0:
        return float(shrink)
    raise refusal("shrink", "'auto', a non-negative number of rows or None", shrink)
