"""Decisions by boosted trees: a scikit-learn estimator around the boosting solver.

The estimator turns the columns of a table into numbers and numbered categories, both of which may
be missing. Band rules need finite numbers and get numeric features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, Features, as_array
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel, by_partition, choose_band, one_blas_thread
from unmet.estimators.lots import ShiftCost
from unmet.rows import (
    Rows,
    check_shape,
    check_sizes,
    read_column,
    read_features,
)
from unmet.solvers.boosting.growing import BoostingSettings, boost, load_lightgbm
from unmet.validation import (
    Constraint,
    Maybe,
    Number,
    Seed,
    TrueOrFalse,
    WholeNumber,
    is_missing,
    is_whole,
    n_threads,
    read_parameters,
    refusal,
)

Category: TypeAlias = str | float | int

_ALLOWED: dict[str, Constraint] = {
    "max_iter": WholeNumber(1),
    "learning_rate": Number(above=0, most=1),
    "max_leaf_nodes": Maybe(WholeNumber(2)),
    "max_depth": Maybe(WholeNumber(1)),
    "min_samples_leaf": WholeNumber(1),
    "strength": Number(least=0),
    "max_features": Number(above=0, most=1),
    "n_iter_no_change": WholeNumber(1),
}
# Parameters of LightGBM that have a name of ours, or would break what we do with its trees.
_OURS = {
    *("objective", "num_iterations", "learning_rate", "num_leaves", "max_depth"),
    *("min_data_in_leaf", "lambda_l2", "feature_fraction_bynode", "num_threads", "seed"),
    *("categorical_feature", "monotone_constraints", "early_stopping_round", "boosting"),
    *("linear_tree", "num_class"),
}


class BoostedDecision(DecisionModel):
    """Decisions by boosted trees (LightGBM) whose leaves minimise the cost exactly.

    LightGBM grows each tree on the subgradients of the cost. Each leaf then gets the value that
    costs its rows least, with the band, costs and weight of each row. The class needs ``pip install
    'unmet[boost]'``. Parameters have the names of scikit-learn's ``HistGradientBoostingRegressor``,
    except `strength`, which is its ``l2_regularization``.

    Parameters
    ----------
    cost : Cost, default=None
        Cost of decisions. None is ``Newsvendor(underage=1, overage=1)``, which gives the median.
    band : Band, band rule, "latent" or "searched", default=None
        Range in which the truth may lie, relative to the observation, or a rule such as
        `LatentBand` that estimates it. None takes observations for the truth.
    max_iter : int, default=100
        Largest number of trees. More trees fit the training rows better and may overfit.
    learning_rate : float, default=0.1
        Share of its leaf values that each tree contributes, above 0. Smaller values need more trees
        and usually generalise better.
    max_leaf_nodes : int or None, default=31
        Largest number of leaves of a tree. Larger values allow more interactions. None is no limit.
    max_depth : int or None, default=None
        Largest depth of a tree. Smaller values give simpler trees. None is no limit.
    min_samples_leaf : int, default=20
        Least number of rows in a leaf, whatever their weight. Larger values give smoother
        decisions.
    strength : float, default=0.0
        Non-negative λ. Larger values shrink leaves more: leaves are multiplied by W / (W + λ),
        where W is the weight of their rows (times their costs), one on average. With `SquaredError`
        this is ridge. Splits are chosen likewise.
    max_features : float, default=1.0
        Share of columns, drawn at random, that each split may use. Smaller values make trees differ
        more.
    categorical_features : array-like of str, int or bool, default=None
        Names or positions of columns that hold categories, or a mask. Columns of text or of a
        categorical type always count as categories. None adds no further columns.
    monotonic_cst : array-like of int or mapping from names to int, default=None
        For each column 1 if decisions may not fall when it grows, -1 if they may not rise, and 0
        otherwise. None restricts no column.
    early_stopping : bool, default=False
        Whether to hold out rows, stop when trees no longer lower their cost, and keep the best
        number of trees.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping holds out, at random.
    n_iter_no_change : int, default=10
        Number of trees without progress after which early stopping ends.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is one, -1 is all. The result does not depend on
        it.
    options : mapping, default=None
        Further parameters of LightGBM, such as ``{"bagging_fraction": 0.8, "bagging_freq": 1}``.
        None adds none.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows and of LightGBM. None draws a new seed in each fit.

    Attributes
    ----------
    trees_ : Trees
        The fitted trees, which decide without the estimator. ``trees_.text`` is LightGBM's own
        format.
    baseline_ : float
        Decision before the first tree: the best single decision for all rows.
    n_iter_ : int
        Number of trees that were kept.
    training_cost_ : ndarray of shape (n_grown + 1,)
        Mean cost of the training rows, with their bands, before the first tree and after each tree.
    validation_cost_ : ndarray of shape (n_grown + 1,) or None
        The same for the held-out rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the gain of all splits. The shares sum to one if there is any split.
    cost_, band_ : Cost, and Band or None
        Cost and band of the training, with the numbers per row that `fit` was given.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule and its diagnosis; None if the band was given. If X has categories or
        missing values, the rule has learned from numbers made of them.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a table whose column names are all text.

    Notes
    -----
    X may have missing values, and categories as text or numbers. A category that `fit` has not seen
    counts as missing. If a number is missing in a column without missing numbers in `fit`, the
    median of that column replaces it (0 if X was sparse).

    If many values of a leaf cost the same, as with a wide band, the leaf takes the one nearest to
    0: a decision that costs nothing does not move. Leaves are exact for piecewise-linear costs and
    for `SquaredError`. For other costs, which need not be convex, a search finds them.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import BoostedDecision, LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-1, 1, size=(2000, 2))
    >>> demand = 50 + 40 * X[:, 0] * X[:, 1] + generator.normal(scale=5, size=2000)
    >>> cost = Newsvendor(underage=3, overage=1)
    >>> linear = LinearDecision(cost).fit(X, demand)
    >>> model = BoostedDecision(cost, random_state=0).fit(X, demand)
    >>> bool(model.score(X, demand) > 0.4 * linear.score(X, demand))
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
            Features from pandas, polars, numpy or scipy.sparse; at least two rows. Entries may be
            missing.
        y, sample_weight, underage, overage, censored, stock, time, series
            As in `LinearDecision.fit`.
        validation : pair (X, truth), optional
            Rows whose truth is known. Early stopping then monitors their realised cost and trains
            on all rows of `X`. None holds out training rows if `early_stopping` is on.

        Returns
        -------
        BoostedDecision
            Itself.
        """
        load_lightgbm()
        settings = BoostingSettings(
            **read_parameters(_ALLOWED, self),
            n_threads=n_threads(self.n_jobs),
            seed=Seed()("random_state", self.random_state),
            options=_read_options(self.options),
        )
        costs = {"underage": underage, "overage": overage}
        columns = Columns(self.categorical_features)
        known = sample_weight, censored, stock, time, series
        given, band = self._read(X, y, costs, known, columns.learn)
        type(self)()._learn_names(X)  # refuses names before the training
        counted = given.counted()
        columns.learn_medians(counted.features)
        signs = _read_monotone(self.monotonic_cst, X, columns)
        held = None
        if validation is not None:
            X_held, truth = self._read_validation(validation, X, costs)
            monitored = columns.read(X_held)
            held = Rows(monitored, read_column("truth", truth, monitored.shape[0]), given.cost)
        share = Number(above=0, below=1)("validation_fraction", self.validation_fraction)
        n_held = 0
        if TrueOrFalse()("early_stopping", self.early_stopping) and held is None:
            n_held = max(1, round(float(share) * counted.n_rows))
            if n_held >= counted.n_rows:
                raise InvalidInput(
                    f"validation_fraction must leave rows to train on, got {share:g} of "
                    f"{counted.n_rows} rows, which leaves none."
                )
        with one_blas_thread():
            model: BaseEstimator = self
            learning, rule = given, band
            if isinstance(band, BandRule):
                model, rule, numbers = _readable(self, band, columns, given)
                learning = replace(given, features=numbers)
            chosen = choose_band(model, given.cost, rule, learning)
            training = rows = given.evaluated(given.cost, chosen[0]).counted()
            # columns are only compared
            check_sizes(training, features=False)
            apart = None
            if n_held:
                order = np.random.default_rng(settings.seed).permutation(training.n_rows)
                apart = [np.sort(part) for part in np.split(order, [n_held])]
                held, rows = (training.take(part) for part in apart)
            found = boost(
                rows, settings, held=held, categorical=tuple(columns.categories), monotone=signs
            )
        decision = found.decision
        if apart is not None:
            assert found.held_decision is not None
            decision = np.empty(training.n_rows)
            decision[apart[0]], decision[apart[1]] = found.held_decision, found.decision
        self._learn_names(X)
        self._columns = columns
        self._keep_choice(given.cost, chosen, costs, ShiftCost.at(training, decision))
        self.trees_ = found.trees
        self.baseline_ = found.trees.start
        self.n_iter_ = found.n_trees
        self.training_cost_ = found.cost
        self.validation_cost_ = found.held_cost
        self.feature_importances_ = found.importances
        return self

    @by_partition
    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features, with the columns of the training rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Decisions.
        """
        check_is_fitted(self, "trees_")
        found = self.trees_.predict(self._features(X), n_threads(self.n_jobs))
        return np.maximum(found, self.least_)

    def contributions(self, X: Any) -> Array:
        """Split decisions into the contribution of each column (SHAP values).

        LightGBM computes them by path-dependent TreeSHAP, on the trees with their refitted leaves.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features, with the columns of the training rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features + 1)
            Contributions in units of the decision. The last column is the mean decision, and rows
            sum to the result of `predict`.
        """
        return self.trees_.contributions(self._features(X), n_threads(self.n_jobs))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _features(self, X: Any) -> Features:
        check_is_fitted(self)
        check_shape(_shape(X))
        self._check_names(X)
        return self._columns.read(X)


# --- Parameters.


def _read_monotone(given: Any, X: Any, columns: Columns) -> tuple[int, ...] | None:
    """Give a sign for each column; None where there is no constraint."""
    if given is None:
        return None
    n_features = _shape(X)[1]
    words = "one of -1, 0 and 1 for each column of X, or a mapping from their names to these"
    signs: list[Any] = []
    if isinstance(given, Mapping):
        names, signs = _names_of(X), [0] * n_features
        for name, sign in given.items():
            if name not in names:
                raise InvalidInput(f"monotonic_cst must name columns of X, got {name!r}.")
            signs[names.index(name)] = sign
    elif not isinstance(given, str) and isinstance(given, Iterable):
        signs = list(given)
    if len(signs) != n_features or not all(is_whole(s) and s in (-1, 0, 1) for s in signs):
        raise refusal("monotonic_cst", words, given)
    for column in columns.categories:
        if signs[column]:
            raise InvalidInput(
                "monotonic_cst must be 0 for columns that hold categories, "
                f"got {int(signs[column])} for column {column}."
            )
    return tuple(int(sign) for sign in signs) if any(signs) else None


def _read_options(options: Any) -> dict[str, Any]:
    """Options for LightGBM that it knows and that do not contradict ours."""
    if not isinstance(options, Mapping | None):
        raise refusal("options", "parameters of LightGBM by name or None", options)
    # from every name that LightGBM knows to the one it stands for
    known = load_lightgbm().basic._ConfigAliases._get_all_param_aliases()
    names = {alias: name for name, several in known.items() for alias in (name, *several)}
    for name in options or {}:
        if name not in names:
            raise InvalidInput(f"options must hold parameters of LightGBM, got {name!r}.")
        if names[name] in _OURS:
            raise InvalidInput(f"options must not hold {name!r}, which BoostedDecision sets.")
    return dict(options or {})


# --- Columns of a table as trees want them.


class Columns:
    """What `fit` learned about the columns, and how to read other rows with it.

    A category is numbered by its position among those seen in `fit`, in the order of numbers and
    letters. A category that was not seen is missing. If a number is missing in a column without
    missing numbers in `fit`, the median replaces it: the trees have no branch for it, and LightGBM
    would take it for 0.

    Parameters
    ----------
    asked : array-like or None
        Names or positions of the columns that hold categories, or a mask. Columns of text or of a
        categorical type always count as categories.

    Attributes
    ----------
    categories : dict of int to tuple
        For each column with categories, those seen in `fit`.
    median : ndarray of shape (n_features,) or None
        Median of each column that was never missing in `fit`, NaN for the others; None for sparse
        X.
    """

    def __init__(self, asked: Any) -> None:
        self.asked = asked
        self.categories: dict[int, tuple[Category, ...]] = {}
        self.median: Array | None = None

    def learn(self, X: Any) -> Features:
        """Read the training rows, and remember their categories and types."""
        self.categories = {}
        for column in sorted(_find_categorical(X, self.asked)):
            distinct = {value for value in _entries(X, column) if value is not None}
            # in order: numbers, then text
            self.categories[column] = tuple(
                sorted(distinct, key=lambda each: (isinstance(each, str), each))
            )
        return self._encoded(X, at_least=2)

    def learn_medians(self, features: Features) -> None:
        """Remember the median of each numeric column that was never missing."""
        if sparse.issparse(features):
            return
        self.median = np.full(features.shape[1], np.nan)
        half = features.shape[0] // 2
        for i, column in enumerate(features.T):  # one by one: no second copy of everything
            if i not in self.categories and not np.isnan(column).any():
                self.median[i] = np.partition(column, half)[half]

    def read(self, X: Any) -> Features:
        """Read other rows, whose columns were already compared with those of `fit`."""
        if self.categories and sparse.issparse(X):
            stored: Any = X
            X = stored.toarray()
        features = self._encoded(X)
        if self.median is None or sparse.issparse(features):
            return features
        missing = np.isnan(features) & ~np.isnan(self.median)
        return np.where(missing, self.median, features) if missing.any() else features

    def _encoded(self, X: Any, at_least: int = 1) -> Features:
        """Read numbers, and put those of categories into their columns."""
        if not self.categories:
            return read_features(X, at_least=at_least, allow_missing=True)
        if nw.dependencies.is_into_dataframe(X):
            table = nw.from_native(X, eager_only=True)
            zeros = [nw.lit(0.0).alias(table.columns[i]) for i in self.categories]
            others = table.with_columns(*zeros).to_native()
        else:
            numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
            others = np.array(X, dtype=None if numeric else object)
            others[:, list(self.categories)] = 0
        encoded = np.array(read_features(others, at_least=at_least, allow_missing=True))
        for column, categories in self.categories.items():
            number: dict[Any, float] = {each: float(i) for i, each in enumerate(categories)}
            encoded[:, column] = [number.get(value, np.nan) for value in _entries(X, column)]
        return encoded


def _shape(X: Any) -> tuple[int, ...]:
    """Shape of a table, a matrix or whatever NumPy makes an array of."""
    shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else as_array("X", X).shape
    return shape


def _names_of(X: Any) -> list[Any]:
    """Column names of a table; none for what has none."""
    if sparse.issparse(X) or not nw.dependencies.is_into_dataframe(X):
        return []
    return list(nw.from_native(X, eager_only=True).columns)


def _find_categorical(X: Any, asked: Any) -> set[int]:
    """Positions of the columns that hold categories: those asked for, and those of such a type."""
    found: set[int] = set()
    try:
        names = _names_of(X)
    except (TypeError, DuplicateError):
        read_features(X)  # not in memory, or two columns of one name: says so
        raise
    if names:
        kinds = nw.from_native(X, eager_only=True).schema.dtypes()
        text = nw.Categorical, nw.Enum, nw.String
        found = {place for place, kind in enumerate(kinds) if kind in text}
    if asked is None:
        return found
    check_shape(_shape(X))
    n_columns = _shape(X)[1]
    words = "names or positions of columns of X, a mask of them or None"
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise refusal("categorical_features", words, asked)
    listed = list(np.asarray(asked, dtype=object).reshape(-1))
    if len(listed) == n_columns and all(isinstance(each, bool | np.bool_) for each in listed):
        listed = np.flatnonzero(listed).tolist()
    for each in listed:
        if isinstance(each, str) and each in names:
            found.add(names.index(each))
        elif is_whole(each) and 0 <= int(each) < n_columns:
            found.add(int(each))
        else:
            raise refusal("categorical_features", words, each)
    if found and sparse.issparse(X):
        raise Unsupported(
            "categorical_features and a sparse X do not fit together, because zeros that are not "
            "stored are no category: give a dense X."
        )
    return found


def _entries(X: Any, column: int) -> list[Category | None]:
    """One column as categories, None where it is missing."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":  # the same, each value once
        different, place = np.unique(X[:, column], return_inverse=True)
        named = different.astype(object)
        named[np.isnan(different)] = None
        found: list[Category | None] = named[place].tolist()
        return found
    if nw.dependencies.is_into_dataframe(X):
        values = nw.from_native(X, eager_only=True)[:, column].to_list()
    else:
        array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        values = array[:, column].tolist()
    # text and numbers are categories as they are, other things by their text
    return [
        None if is_missing(value) else value if isinstance(value, str | int | float) else str(value)
        for value in values
    ]


# --- Categories and missing values as plain numbers, for band rules.


def _readable(
    model: BaseEstimator, rule: BandRule, columns: Columns, given: Rows
) -> tuple[BaseEstimator, BandRule, Features]:
    """Give model, rule and features as a rule can read them: finite numbers, in the order of X.

    A column of numbers has its missing entries replaced by the median, and then, if there are any,
    a column that says where they were. Categories have one column each that says which rows are of
    it, but for the most frequent; missing is a category of its own. Beyond fifty of them one column
    stands instead, with the mean observation of the category, shrunk to that of all rows. A rule
    that refits the model is given one that takes these columns for numbers without constraints.
    """
    features, counted = given.features, given.counted()
    if not isinstance(features, np.ndarray) or not isinstance(counted.features, np.ndarray):
        return model, rule, read_features(features)  # refuses what is missing
    if not columns.categories and not np.isnan(features).any():
        return model, rule, features
    makers = [
        _categories(column, counted.observation) if i in columns.categories else _numbers(column)
        for i, column in enumerate(counted.features.T)
    ]

    def numbers(table: Array) -> Array:
        made = [make(table[:, i]) for i, make in enumerate(makers)]
        return np.ascontiguousarray(np.concatenate(made, axis=1))

    stand_in = clone(model).set_params(categorical_features=None, monotonic_cst=None)
    if "X" in rule.get_params(deep=False):  # rows of its own, as those of AuditedBand
        if np.shape(rule.X)[1:] != (len(makers),):
            raise InvalidInput(
                f"X of {type(rule).__name__} must have {len(makers)} features, as X has, got shape "
                f"{np.shape(rule.X)}."
            )
        rule = clone(rule).set_params(X=numbers(np.asarray(columns.read(rule.X))))
    return stand_in, rule, numbers(features)


def _numbers(column: Array) -> Callable[[Array], Array]:
    missing = np.isnan(column)
    median = float(np.median(column[~missing])) if not missing.all() else 0.0

    def make(entries: Array) -> Array:
        holes = np.isnan(entries)
        filled = np.where(holes, median, entries)
        return np.column_stack([filled, holes] if missing.any() else [filled])

    return make


def _categories(column: Array, observation: Array) -> Callable[[Array], Array]:
    values, place = np.unique(np.nan_to_num(column, nan=-1.0), return_inverse=True)
    count = np.bincount(place)
    if values.size <= 50:
        others = np.delete(values, int(np.argmax(count)))
        return lambda entries: (np.nan_to_num(entries, nan=-1.0)[:, np.newaxis] == others).astype(
            np.float64
        )
    overall = float(observation.mean())
    # ten rows of the mean of all rows are added to each category
    mean = (np.bincount(place, observation) + 10.0 * overall) / (count + 10.0)

    def make(entries: Array) -> Array:
        numbers = np.nan_to_num(entries, nan=-1.0)
        found = np.minimum(np.searchsorted(values, numbers), values.size - 1)
        return np.where(values[found] == numbers, mean[found], overall)[:, np.newaxis]

    return make
