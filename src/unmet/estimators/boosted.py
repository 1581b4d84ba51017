"""Decisions by boosted trees: a scikit-learn estimator around the boosting solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from unmet.arrays import Array, Band
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import Unsupported
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    check_used,
    choose_bands,
    costs_by_row,
    one_blas_thread,
    read_band,
    read_cost,
)
from unmet.estimators.lots import ShiftCost
from unmet.estimators.trees import (
    Columns,
    check_two_dimensions,
    names_of,
    read_held,
    read_monotone,
    read_settings,
    read_threads,
    read_validation,
    readable,
    train,
)
from unmet.rows import SMALLEST_OF_TREES, Rows, check_sizes, read_column
from unmet.solvers.blocks.source import BlockSource
from unmet.solvers.boosting.growing import Boosted, load_lightgbm


class BoostedDecision(DecisionModel):
    """Decisions by boosted trees (LightGBM), with leaves that minimise the cost exactly.

    LightGBM grows each tree on the subgradients of the cost; its leaves are then refitted to what
    costs their rows least, with the band, costs and weight of each row. Needs
    ``pip install 'unmet[boost]'``. Parameters have the names of scikit-learn's
    ``HistGradientBoostingRegressor``, but for `strength`, its ``l2_regularization``.

    Parameters
    ----------
    cost : Cost, default=None
        What a decision costs. None is ``Newsvendor(underage=1, overage=1)``: the median.
    band : Band, band rule, "latent" or "searched", default=None
        Where the truth may lie, relative to the observation: given, or learned from the data by a
        rule such as `LatentBand`. None takes observations for truth.
    max_iter : int, default=100
        Most trees.
    learning_rate : float, default=0.1
        Share of its leaves that each tree contributes.
    max_leaf_nodes : int or None, default=31
    max_depth : int or None, default=None
    min_samples_leaf : int, default=20
        Fewest rows of a leaf, whatever their weight.
    strength : float, default=0.0
        λ: leaves are shrunk to 0 by the factor W / (W + λ), with W the weight of their rows (times
        their costs), one on average; for `SquaredError` that is ridge. Splits are chosen likewise.
    max_features : float, default=1.0
        Share of the columns, drawn at random, that each split may choose from.
    categorical_features : array-like of str, int or bool, default=None
        Names or positions of columns that hold categories, or a mask. Columns of a table that hold
        text or categories by their type are always taken for such.
    monotonic_cst : array-like of int or mapping from names to int, default=None
        For each column 1 where decisions must not fall when it grows, -1 where they must not rise,
        and 0.
    early_stopping : bool, default=False
        Hold rows out, stop when trees no longer lower their cost, and keep the best number.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping holds out, at random.
    n_iter_no_change : int, default=10
        Trees without progress that early stopping waits for.
    n_jobs : int, default=None
        Threads, as in scikit-learn: None is one, -1 all. The answer does not depend on it.
    options : mapping, default=None
        Further parameters of LightGBM, such as ``{"bagging_fraction": 0.8, "bagging_freq": 1}``.
    random_state : int, RandomState or None, default=None
        Seed of held-out rows and of whatever LightGBM draws.

    Attributes
    ----------
    trees_ : Trees
        What decides; ``trees_.text`` is LightGBM's own format.
    baseline_ : float
        Decision before the first tree: the best for all rows alike.
    n_iter_ : int
        Trees that were kept.
    training_cost_ : ndarray of shape (n_grown + 1,)
        Mean cost of the rows trained on, with their bands, before the first tree and after each.
    validation_cost_ : ndarray of shape (n_grown + 1,) or None
        The same for the rows held out.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in what all splits gained; they sum to one if there is any split.
    cost_, band_ : Cost, and Band or None
        What was trained on, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule, and what it says about censoring; None if the band was given. Where X has
        categories or missing values, the rule has learned from numbers made of them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a table whose column names are all text.

    Notes
    -----
    X may have missing values, and categories as text or numbers. A category that `fit` has not seen
    is missing; a number that is missing where none was in `fit` is taken for the median (for 0 if X
    was sparse).

    Where many values of a leaf cost the same, as with a wide band, it takes the one nearest to 0: a
    decision that costs nothing does not move. Leaves of piecewise-linear costs and of
    `SquaredError` are exact; other costs, which need not be convex, are searched.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import BoostedDecision, LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-1, 1, size=(2000, 2))
    >>> demand = 50 + 40 * X[:, 0] * X[:, 1] + generator.normal(scale=5, size=2000)
    >>> cost = Newsvendor(underage=3, overage=1)
    >>> line = LinearDecision(cost).fit(X, demand)
    >>> model = BoostedDecision(cost, random_state=0).fit(X, demand)
    >>> bool(model.score(X, demand) > 0.4 * line.score(X, demand))
    True
    """

    _columns: Columns

    def __init__(
        self,
        cost: Cost | None = None,
        band: Band | BandRule | str | None = None,
        *,
        max_iter: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        strength: float = 0.0,
        max_features: float = 1.0,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_jobs: int | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.cost = cost
        self.band = band
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.strength = strength
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.options = options
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
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from features and observations.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            pandas, polars, numpy or scipy.sparse; at least two rows. Entries may be missing.
        y : array-like of shape (n_rows,)
            The observations s: sales, accepted prices, replacement times. (The name is
            scikit-learn's; the y of the paper is the decision.)
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative; only ratios matter, and rows of weight 0 do not count at all.
        underage, overage : float or array-like of shape (n_rows,), optional
            Instead of those of `cost`, usually one per row.
        censored, stock, time, series : array-like of shape (n_rows,), optional
            What a band rule may want to know; see `LinearDecision.fit`.
        validation : pair (X, truth), optional
            Rows whose truth is known: early stopping then monitors their realised cost, and trains
            on all rows of `X`.

        Returns
        -------
        BoostedDecision
            Itself.
        """
        load_lightgbm()
        if isinstance(X, BlockSource):
            raise Unsupported(
                "BoostedDecision and a source of blocks do not fit together, because trees are "
                "grown on rows in memory: read a sample of the rows, or use LinearDecision or "
                "NeuralDecision."
            )
        settings = read_settings(self)
        cost = read_cost(self.cost).with_rows(underage=underage, overage=overage)
        columns, features = Columns.learn(X, self.categorical_features, at_least=2)
        validate_data(BaseEstimator(), X, skip_check_array=True)  # names: refused before training
        observation = read_column("y", y, features.shape[0])
        band = read_band(self.band)
        check_used(band, censored=censored, stock=stock)
        known = sample_weight, censored, stock, time, series
        given = Rows.of(cost, features, observation, *known, at_least=2)
        counted = given.counted()
        columns = columns.with_medians(counted.features)
        n_held = read_held(self, counted.n_rows)
        signs = read_monotone(self.monotonic_cst, names_of(X), columns)
        by_row = costs_by_row(underage, overage)
        monitored = read_validation(validation, X, cost, by_row, columns)
        with one_blas_thread():
            chosen = self._choose_band(band, given, columns, signs)
            training = given.evaluated(cost, chosen.band).counted()
            # columns are only compared
            check_sizes(training, "trees", least=SMALLEST_OF_TREES, features=False)
            parts = training, settings, n_held, monitored
            found, decision = train(*parts, columns.categorical, signs)
        self._learn_names(X)
        self._columns = columns
        self._keep_choice(cost, chosen, by_row, ShiftCost.at(training, decision))
        return self._keep(found)

    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        check_two_dimensions(X)
        self._check_names(X)
        found = self.trees_.predict(self._columns.read(X), read_threads(self.n_jobs))
        return np.maximum(found, self.least_)

    def contributions(self, X: Any) -> Array:
        """Take decisions apart: how much each column moves each of them (SHAP values).

        Path-dependent TreeSHAP, computed by LightGBM itself on the trees with their refitted
        leaves.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_features + 1)
            In units of the decision; the last column is the mean decision, and rows sum to what
            `predict` gives.
        """
        check_is_fitted(self)
        check_two_dimensions(X)
        self._check_names(X)
        return self.trees_.contributions(self._columns.read(X), read_threads(self.n_jobs))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _choose_band(
        self,
        band: Band | BandRule | None,
        given: Rows,
        columns: Columns,
        signs: tuple[int, ...] | None,
    ) -> ChosenBand:
        """Give a rule what it can read."""
        if not isinstance(band, BandRule):
            return ChosenBand(band)
        model, rule, features = readable(self, band, columns, given, signs)
        rows = replace(given, features=features)
        (chosen,) = choose_bands(model, [(given.cost, rule)], rows)
        return chosen

    def _keep(self, found: Boosted) -> Self:
        """Set the fitted attributes that only this model has."""
        self.trees_ = found.trees
        self.baseline_ = found.trees.start
        self.n_iter_ = found.n_trees
        self.training_cost_ = found.cost
        self.validation_cost_ = found.held_cost
        self.feature_importances_ = found.importances
        return self
