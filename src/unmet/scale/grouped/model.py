"""A model per group, such as store × item, with a pooled one behind all of them."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.models.base import DecisionModel, costs_by_row
from unmet.models.lots import to_lots
from unmet.rows import read_features
from unmet.scale.grouped.fitting import GroupShiftCost, crosses, own_decisions, pooled_columns
from unmet.scale.grouped.keys import Column, GroupIndex, Place, Split, read_by, split_table
from unmet.scale.grouped.parameters import Input, Progress, Settings, read_input, read_settings
from unmet.scale.grouped.run import Level, Outcome, run


class GroupedDecision(DecisionModel):
    """One model per group, drawn toward a model of all groups together.

    The decision for a row of a group with n rows is ``w · own + (1 − w) · pooled`` with
    ``w = n / (n + k)``: groups of many rows decide by themselves, small ones with the help of the
    others, groups too small or never seen by the pooled model alone. k is found by the cost on
    training rows held out, over all groups together.

    Parameters
    ----------
    model : DecisionModel
        Copied for every group: `LinearDecision`, `NeuralDecision`, `BoostedDecision`. Its cost and
        band are those of all groups.
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
        Processes, as joblib counts them. The answer does not depend on it.
    backend : {"loky", "threading", "dask"} or None, default=None
        Of joblib; "dask" is the cluster of the running `dask.distributed.Client`.
    folder : path or None, default=None
        Keeps finished parts. A `fit` that was killed goes on with the same folder, finishes only
        what is missing, and comes to the same answer.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of models and rules that have none.

    Attributes
    ----------
    pooled_ : DecisionModel
        Trained on all rows; its columns are the features and the level of the row's group.
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
    of the group, drawn toward what its store and its item let us expect. In training, the level of
    a row comes from other rows than itself. A rule learns on the same columns, and gives each row
    the band of its group's level. Under ``band_by="group"`` the shrinkage, rounding to lots and
    ``band_`` still go by the band learned from all rows.

    A column that never changes in a group says nothing there: where both models are linear, the
    group takes the pooled coefficient for it, and the same decisions on its training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.scale import GroupedDecision
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
        folder: str | PathLike[str] | None = None,
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
        self.folder = folder
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
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
        settings = read_settings(self)
        given = {"sample_weight": sample_weight, "underage": underage, "overage": overage}
        known = {"censored": censored, "stock": stock, "time": time, "series": series}
        data = read_input(settings, X, y, given, known)
        self._learn_names(X)
        outcome = run(settings, data, progress)
        return self._keep(outcome, data, settings, costs_by_row(underage, overage))

    def predict(self, X: Any) -> Array:
        """Decide for each row; the pooled model decides for groups that `fit` has not seen.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        features, place = self._find(X)
        return self._predict(features, place)

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
        features, place = self._find(X)
        decision = self._predict(features, place)
        shifts = self._group_shift.among(place.group)
        return to_lots(decision, shifts, step, lower, upper, minimum)

    def unseen_groups(self, X: Any) -> list[Any]:
        """Name the groups of X that `fit` has not seen, each once, in the order of their rows."""
        by, split = self._split(X)
        rows = np.flatnonzero(self._group_index.lookup(split.keys, by).group < 0)
        entries = zip(*(key[rows].tolist() for key in split.keys), strict=True)
        return [each[0] if len(by) == 1 else each for each in dict.fromkeys(entries)]

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

    def _find(self, X: Any) -> tuple[Array, Place]:
        """Features, and the group of each row."""
        by, split = self._split(X)
        return split.features, self._group_index.lookup(split.keys, by)

    def _split(self, X: Any) -> tuple[list[Column], Split]:
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and X.ndim != 2:
            read_features(X)  # which says so, before anyone counts columns
        self._check_names(X)
        by = read_by(self.by)
        return by, split_table(X, by)

    def _predict(self, features: Array, place: Place) -> Array:
        level = self._level.of(place.group, place.entries)
        columns = pooled_columns(features, level, crosses(self.pooled_, self.weight_.size))
        decision = self.pooled_.predict(columns)
        weight = np.where(place.group < 0, 0.0, self.weight_[place.group])
        own = np.flatnonzero(weight > 0)
        if own.size:
            alone = own_decisions(
                self.coef_, self.intercept_, self.models_, features[own], place.group[own]
            )
            decision[own] += weight[own] * (alone - decision[own])
        return decision

    def _keep(
        self, outcome: Outcome, data: Input, settings: Settings, by_row: tuple[str, ...]
    ) -> Self:
        """Set the fitted attributes."""
        self.pooled_ = outcome.pooled
        self.shrink_ = outcome.shrink
        self.weight_ = outcome.weight
        linear = outcome.own.coef is not None
        self.coef_ = outcome.own.coef
        self.intercept_ = outcome.own.intercept if linear else None
        self.models_ = outcome.own.models
        self._group_index, self._level = data.index, outcome.level
        self._rows, self._sentence = outcome.panel.sizes, outcome.own.sentence
        self.cost_, self.band_ = data.cost, outcome.band
        self.band_rule_ = outcome.pooled.band_rule_
        self.diagnosis_ = outcome.pooled.diagnosis_
        self._by_row = by_row
        rows, codes = outcome.panel.rows, outcome.panel.codes
        decision = self._predict(rows.features, Place(codes, data.index.places[codes]))
        self._group_shift = GroupShiftCost.of(
            rows, outcome.panel.starts, decision, settings.fewest(rows.features.shape[1])
        )
        return self
