"""From tables and the parameters of an estimator to boosted trees.

Columns of a table become what trees want, numbers and categories by number, both of which may be
missing; and for band rules, which learn from finite numbers, what those can read. Then parameters
are checked, and trees are boosted on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from joblib import effective_n_jobs
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from unmet.arrays import Array, Features
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import read_validation_pair
from unmet.rows import Rows, read_column, read_features
from unmet.solvers.boosting.growing import Boosted, BoostingSettings, boost, load_lightgbm
from unmet.validation import (
    Constraint,
    Jobs,
    Maybe,
    Number,
    Seed,
    TrueOrFalse,
    WholeNumber,
    is_missing,
    is_whole,
    read_parameters,
    refusal,
)

# --- Columns of a table as trees want them.

Category: TypeAlias = str | float | int


@dataclass(frozen=True)
class Columns:
    """What `fit` has learned about the columns, and how rows are read with it.

    A category is numbered by its place among those seen in `fit`, in the order of numbers and
    letters; one that was not seen is missing. A number that is missing where none was in `fit` is
    taken for the median: the trees have no branch for it, and LightGBM would take it for 0.

    Attributes
    ----------
    categories : tuple
        For each column the categories seen in `fit`, or None where it holds numbers.
    median : ndarray of shape (n_features,) or None
        Of each column that was never missing in `fit`, NaN for the others; None for sparse X.
    """

    categories: tuple[tuple[Category, ...] | None, ...]
    median: Array | None = None

    @classmethod
    def learn(cls, X: Any, categorical: Any, *, at_least: int) -> tuple[Columns, Features]:
        """Read the rows of `fit`, and remember how.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        categorical : array-like or None
            Names or positions of the columns that hold categories, or a mask. Columns of a table
            that hold text or categories by their type are taken for such in any case.
        at_least : int
            Fewest rows.
        """
        chosen = find_categorical(X, categorical)
        if not chosen:
            features = read_features(X, at_least=at_least, allow_missing=True)
            return cls((None,) * features.shape[1]), features
        entries = {column: _entries(X, column) for column in chosen}
        features = read_features(_without(X, chosen), at_least=at_least, allow_missing=True)
        seen: list[tuple[Category, ...] | None] = [None] * features.shape[1]
        for column, values in entries.items():
            distinct = {value for value in values if value is not None}
            # in order: numbers, then text
            seen[column] = tuple(sorted(distinct, key=lambda each: (isinstance(each, str), each)))
        columns = cls(tuple(seen))
        return columns, columns._encode(features, entries)

    def with_medians(self, features: Features) -> Columns:
        """Remember the middle of each column of numbers, for those never missing in these rows."""
        if sparse.issparse(features):
            return self
        median = np.full(features.shape[1], np.nan)
        half = features.shape[0] // 2
        for i, column in enumerate(features.T):  # one by one: no second copy of everything
            if self.categories[i] is None and not np.isnan(column).any():
                median[i] = np.partition(column, half)[half]
        return Columns(self.categories, median)

    def check_width(self, name: str, X: Any) -> None:
        """Refuse rows that do not have as many columns as those of `fit`."""
        check_two_dimensions(X)
        expected, found = len(self.categories), np.shape(X)[1]
        if found != expected:
            raise InvalidInput(f"{name} must have {expected} features, as X has, got {found}.")

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the columns that hold categories."""
        return tuple(i for i, each in enumerate(self.categories) if each is not None)

    def read(self, X: Any) -> Features:
        """Read other rows, whose columns have been compared with those of `fit`."""
        chosen = self.categorical
        if not chosen:
            return self._filled(read_features(X, allow_missing=True))
        if sparse.issparse(X):
            stored: Any = X
            X = stored.toarray()
        entries = {column: _entries(X, column) for column in chosen}
        features = read_features(_without(X, chosen), allow_missing=True)
        return self._filled(self._encode(features, entries))

    def _encode(self, features: Features, entries: dict[int, list[Category | None]]) -> Array:
        """Put the numbers of categories into their columns."""
        encoded = np.array(features)
        for column, values in entries.items():
            number: dict[Any, float] = {
                category: float(i) for i, category in enumerate(self.categories[column] or ())
            }
            encoded[:, column] = [number.get(value, np.nan) for value in values]
        return encoded

    def _filled(self, features: Features) -> Features:
        """Replace what was never missing in `fit`."""
        if self.median is None or sparse.issparse(features):
            return features
        flat = features.reshape(-1)
        with np.errstate(over="ignore"):
            if not np.isnan(np.dot(flat, flat)):  # one number tells whether anything is missing
                return features
        missing = np.isnan(features) & ~np.isnan(self.median)
        return np.where(missing, self.median, features) if missing.any() else features


def names_of(X: Any) -> list[Any] | None:
    """Column names of a table; None for what has none."""
    if sparse.issparse(X) or not nw.dependencies.is_into_dataframe(X):
        return None
    return list(nw.from_native(X, eager_only=True).columns)


def check_two_dimensions(X: Any) -> None:
    """Refuse what is no table, in the words of `read_features`."""
    if sparse.issparse(X) or nw.dependencies.is_into_dataframe(X):
        return
    try:
        flat = np.asarray(X).ndim != 2
    except ValueError:  # sequences of different lengths
        flat = True
    if flat:
        read_features(X)


def find_categorical(X: Any, categorical: Any) -> tuple[int, ...]:
    """Positions of the columns that hold categories: those asked for, and those of such a type."""
    names: list[Any] | None = None
    found: set[int] = set()
    if nw.dependencies.is_into_dataframe(X):
        try:
            table = nw.from_native(X, eager_only=True)
            kinds = table.schema.dtypes()
        except (TypeError, DuplicateError):
            read_features(X)  # not in memory, or two columns of one name: says so
            raise
        names = list(table.columns)
        for i, kind in enumerate(kinds):
            is_text = kind == nw.Object and _holds_text(table[:, i])
            if is_text or kind in (nw.Categorical, nw.Enum, nw.String):
                found.add(i)
    if categorical is None:
        return tuple(sorted(found))
    check_two_dimensions(X)
    asked = _asked_for(categorical, names, np.shape(X)[1] if names is None else len(names))
    if asked and sparse.issparse(X):
        raise Unsupported(
            "categorical_features and a sparse X do not fit together, because zeros that are not "
            "stored are no category: give a dense X."
        )
    return tuple(sorted(found | asked))


def _asked_for(categorical: Any, names: list[Any] | None, n_columns: int) -> set[int]:
    """Positions of columns from their names, their positions or a mask."""
    words = "names or positions of columns of X, a mask of them or None"
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise refusal("categorical_features", words, categorical)
    asked = list(np.asarray(categorical, dtype=object).reshape(-1))
    if asked and all(isinstance(each, bool | np.bool_) for each in asked):
        if len(asked) != n_columns:
            raise InvalidInput(
                f"categorical_features must have one entry per column of X if it is a mask, "
                f"got {len(asked)} for {n_columns} columns."
            )
        return {i for i, each in enumerate(asked) if each}
    positions = set()
    for each in asked:
        if isinstance(each, str) and names is not None and each in names:
            positions.add(names.index(each))
        elif is_whole(each) and 0 <= int(each) < n_columns:
            positions.add(int(each))
        else:
            raise refusal("categorical_features", words, each)
    return positions


def _holds_text(column: Any) -> bool:
    """Whether every entry of a column of objects is text or missing."""
    values = column.to_list()
    return any(isinstance(value, str) for value in values) and all(
        isinstance(value, str) or is_missing(value) for value in values
    )


def _entries(X: Any, column: int) -> list[Category | None]:
    """One column as categories, None where it is missing."""
    if type(X) is np.ndarray and X.dtype.kind in "biuf":  # the same, each value once
        different, place = np.unique(X[:, column], return_inverse=True)
        named = np.array([*map(_category, different.tolist()), None], dtype=object)[:-1]
        found: list[Category | None] = named[place].tolist()
        return found
    if nw.dependencies.is_into_dataframe(X):
        values = nw.from_native(X, eager_only=True)[:, column].to_list()
    else:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        values = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)[
            :, column
        ].tolist()
    return [_category(value) for value in values]


def _category(value: Any) -> Category | None:
    """Text and numbers are categories as they are, other things by their text."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, Integral):  # truth values among them
        return int(value)
    return float(value) if isinstance(value, Real) else str(value)


def _without(X: Any, columns: tuple[int, ...]) -> Any:
    """Replace the columns that hold categories by zeros, so that the others are read as always."""
    if nw.dependencies.is_into_dataframe(X):
        table = nw.from_native(X, eager_only=True)
        zeros = [nw.lit(0.0).alias(table.columns[i]) for i in columns]
        return table.with_columns(*zeros).to_native()
    array: NDArray[Any] = np.array(X, dtype=object if not isinstance(X, np.ndarray) else None)
    if array.dtype.kind not in "biuf":
        array = array.astype(object)
    array[:, list(columns)] = 0
    return array


# --- Categories and missing values as plain numbers, for band rules.
#
# A rule learns from finite numbers. Where a table has more than those, it is given, in this order
# of the columns,
#
# - a column of numbers with its missing entries replaced by the median, and then, if there are any,
#   a column that says where they were;
# - for categories one column each that says which rows are of it, but for the most frequent;
#   missing is a category of its own. Beyond fifty of them one column instead, with the mean
#   observation of the category, shrunk to that of all rows where it has few.

_MANY = 50
_PULL = 10.0  # rows of the mean of all rows that are added to each category


def readable(
    model: BaseEstimator,
    rule: BandRule,
    columns: Columns,
    given: Rows,
    monotone: tuple[int, ...] | None,
) -> tuple[BaseEstimator, BandRule, Features]:
    """Give model, rule and features as a rule can read them.

    A rule that refits the model is given one that takes the rule's columns for what they are.

    Parameters
    ----------
    model : BoostedDecision
    rule : BandRule
    columns : Columns
    given : Rows
        All rows that `fit` was given.
    monotone : tuple of int or None
    """
    features, counted = given.features, given.counted()
    if not isinstance(features, np.ndarray) or not isinstance(counted.features, np.ndarray):
        return model, rule, read_features(features)  # refuses what is missing
    if not columns.categorical and not np.isnan(features).any():
        return model, rule, features
    numbers = Numbers(counted.features, counted.observation, columns.categorical)
    signs = None if monotone is None else numbers.spread(monotone)
    stand_in = clone(model).set_params(categorical_features=None, monotonic_cst=signs)
    if "X" in rule.get_params(deep=False):  # rows of its own, as those of AuditedBand
        columns.check_width(f"X of {type(rule).__name__}", rule.X)
        own = np.asarray(columns.read(rule.X))
        rule = clone(rule).set_params(X=numbers.of(own))
    return stand_in, rule, numbers.of(features)


class Numbers:
    """Learns from the rows of `fit` how each column becomes numbers."""

    def __init__(self, features: Array, observation: Array, categorical: Sequence[int]) -> None:
        self._makers = [
            _categories(column, observation) if i in categorical else _numbers(column)
            for i, column in enumerate(features.T)
        ]

    def of(self, features: Array) -> Array:
        """Columns of plain numbers, of any rows."""
        made = [make(features[:, i]) for i, make in enumerate(self._makers)]
        return np.ascontiguousarray(np.concatenate(made, axis=1))

    def spread(self, monotone: tuple[int, ...]) -> list[int]:
        """Constraints of the columns that were made: the first of each has that of its own."""
        widths = [make(np.zeros(1)).shape[1] for make in self._makers]
        spread: list[int] = []
        for sign, width in zip(monotone, widths, strict=True):
            spread += ([sign] + [0] * (width - 1))[:width]
        return spread


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
    if values.size <= _MANY:
        others = np.delete(values, int(np.argmax(count)))
        return lambda entries: (np.nan_to_num(entries, nan=-1.0)[:, np.newaxis] == others).astype(
            np.float64
        )
    overall = float(observation.mean())
    mean = (np.bincount(place, observation) + _PULL * overall) / (count + _PULL)

    def make(entries: Array) -> Array:
        numbers = np.nan_to_num(entries, nan=-1.0)
        found = np.minimum(np.searchsorted(values, numbers), values.size - 1)
        return np.where(values[found] == numbers, mean[found], overall)[:, np.newaxis]

    return make


# --- Reading the constructor parameters of boosted trees when `fit` needs them.

#: Parameters of LightGBM that have a name of ours, or would break what we do with its trees.
_OURS = {
    "objective": "it is the cost",
    "num_iterations": "it is max_iter",
    "learning_rate": "it is a parameter of the model",
    "num_leaves": "it is max_leaf_nodes",
    "max_depth": "it is a parameter of the model",
    "min_data_in_leaf": "it is min_samples_leaf",
    "lambda_l2": "it is strength",
    "feature_fraction_bynode": "it is max_features",
    "num_threads": "it is n_jobs",
    "seed": "it is random_state",
    "categorical_feature": "it is categorical_features",
    "monotone_constraints": "it is monotonic_cst",
    "early_stopping_round": "it is n_iter_no_change",
    "boosting": "only leaves of plain gradient boosting can be refitted",
    "linear_tree": "only leaves that are numbers can be refitted",
    "num_class": "decisions are numbers",
}


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


def read_settings(model: Any) -> BoostingSettings:
    """How to boost, from parameters that may hold anything."""
    return BoostingSettings(
        **read_parameters(_ALLOWED, model),
        n_threads=read_threads(model.n_jobs),
        seed=Seed()("random_state", model.random_state),
        options=_read_options(model.options),
    )


def read_threads(n_jobs: Any) -> int:
    """Give the number of threads."""
    return int(effective_n_jobs(Jobs()("n_jobs", n_jobs)))


def read_held(model: Any, n_rows: int) -> int:
    """Give the number of rows that early stopping holds out; 0 without it."""
    share = Number(above=0, below=1)("validation_fraction", model.validation_fraction)
    if not TrueOrFalse()("early_stopping", model.early_stopping):
        return 0
    n_held = max(1, round(float(share) * n_rows))
    if n_held >= n_rows:
        raise InvalidInput(
            "validation_fraction must leave rows to train on, "
            f"got {share:g} of {n_rows} rows, which leaves none."
        )
    return n_held


def read_monotone(given: Any, names: list[Any] | None, columns: Columns) -> tuple[int, ...] | None:
    """Give a sign for each column; None where there is no constraint."""
    if given is None:
        return None
    n_features = len(columns.categories)
    signs: list[Any] = [0] * n_features
    if isinstance(given, Mapping):
        for name, sign in given.items():
            if names is None or name not in names:
                raise InvalidInput(f"monotonic_cst must name columns of X, got {name!r}.")
            signs[names.index(name)] = sign
    elif isinstance(given, str) or not isinstance(given, Iterable):
        words = "one of -1, 0 and 1 for each column, a mapping from names to them or None"
        raise refusal("monotonic_cst", words, given)
    else:
        signs = list(given)
    if len(signs) != n_features:
        raise InvalidInput(
            "monotonic_cst must have one entry per column of X, "
            f"got {len(signs)} for {n_features} columns."
        )
    for column, sign in enumerate(signs):
        if not is_whole(sign) or sign not in (-1, 0, 1):
            raise InvalidInput(f"monotonic_cst must hold -1, 0 and 1, got {sign!r}.")
        if sign and column in columns.categorical:
            raise InvalidInput(
                "monotonic_cst must be 0 for columns that hold categories, "
                f"got {int(sign)} for column {column}."
            )
    return tuple(int(sign) for sign in signs) if any(signs) else None


def _read_options(options: Any) -> dict[str, Any]:
    """Options for LightGBM that it knows and that do not contradict ours."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        words = "a mapping from parameters of LightGBM to their values or None"
        raise refusal("options", words, options)
    # From every name that LightGBM knows to the one it stands for; empty if it does not tell.
    aliases = getattr(load_lightgbm().basic, "_ConfigAliases", None)
    known = {} if aliases is None else aliases._get_all_param_aliases()
    names = {alias: name for name, several in known.items() for alias in (name, *several)}
    for name in options:
        if names and name not in names:
            raise InvalidInput(f"options must hold parameters of LightGBM, got {name!r}.")
        meant = names.get(name, name)
        if meant in _OURS:
            raise InvalidInput(f"options must not hold {name!r}: {_OURS[meant]}.")
    return dict(options)


# --- Rows to train on, rows held out, and the boosting of both.


def read_validation(
    given: Any, X: Any, cost: Cost, by_row: tuple[str, ...], columns: Columns
) -> Rows | None:
    """Read rows whose truth is known; their cost is the realised one."""
    if given is None:
        return None
    monitored, truth = read_validation_pair(given, X, by_row)
    features = columns.read(monitored)
    return Rows(features, read_column("truth", truth, features.shape[0]), cost)


def train(
    training: Rows,
    settings: BoostingSettings,
    n_held: int,
    validation: Rows | None,
    categorical: tuple[int, ...],
    monotone: tuple[int, ...] | None,
) -> tuple[Boosted, Array]:
    """Boost, evaluated by `validation` or by `n_held` of the rows, where there are any.

    Returns what was found, and the decisions of all training rows.
    """
    rows, held, order = training, validation, None
    if validation is None and n_held:
        order = np.random.default_rng(settings.seed).permutation(training.observation.size)
        held, rows = (training.take(np.sort(part)) for part in np.split(order, [n_held]))
    found = boost(rows, settings, held=held, categorical=categorical, monotone=monotone)
    if order is None or found.held_decision is None:
        return found, found.decision
    decision = np.empty(order.size)
    decision[np.sort(order[:n_held])] = found.held_decision
    decision[np.sort(order[n_held:])] = found.decision
    return found, decision
