"""Reading the constructor parameters of boosted trees when `fit` needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from unmet.errors import InvalidInput
from unmet.models.boosted_columns import Columns
from unmet.models.checks import number, read_seed, true_or_false, whole
from unmet.solvers.boosting.settings import Settings
from unmet.solvers.boosting.trees import load_lightgbm

_LARGEST = float(np.finfo(np.float32).max)
_BELOW_ONE = 1 - 1e-16

#: Parameters of LightGBM that have a name of ours, or would break what we do with its trees.
_OURS = {
    "objective": "it is the cost",
    "num_iterations": "it is max_iter",
    "learning_rate": "it is a parameter of the model",
    "num_leaves": "it is max_leaf_nodes",
    "max_depth": "it is a parameter of the model",
    "min_data_in_leaf": "it is min_samples_leaf",
    "lambda_l2": "it is l2_regularization",
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


class BoostedParameters(Protocol):
    """Constructor parameters of an estimator that boosts trees."""

    max_iter: int
    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_features: float
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    n_jobs: int | None
    options: Mapping[str, Any] | None
    random_state: Any


def read_settings(model: BoostedParameters) -> Settings:
    """How to boost, from parameters that may hold anything."""
    above_zero = "a number above 0 and at most 1"
    ridge = model.l2_regularization
    return Settings(
        max_iter=whole("max_iter", model.max_iter, 1),
        learning_rate=number("learning_rate", model.learning_rate, above_zero, 1e-300, 1.0),
        max_leaf_nodes=_limit("max_leaf_nodes", model.max_leaf_nodes, 2),
        max_depth=_limit("max_depth", model.max_depth, 1),
        min_samples_leaf=whole("min_samples_leaf", model.min_samples_leaf, 1),
        l2_regularization=number(
            "l2_regularization", ridge, "a finite non-negative number", 0.0, _LARGEST
        ),
        max_features=number("max_features", model.max_features, above_zero, 1e-300, 1.0),
        n_iter_no_change=whole("n_iter_no_change", model.n_iter_no_change, 1),
        n_threads=read_jobs(model.n_jobs),
        seed=read_seed(model.random_state),
        options=_read_options(model.options),
    )


def read_held(model: BoostedParameters, n_rows: int) -> int:
    """Give the number of rows that early stopping holds out; 0 without it."""
    allowed = "a number above 0 and below 1"
    share = number("validation_fraction", model.validation_fraction, allowed, 1e-300, _BELOW_ONE)
    if not true_or_false("early_stopping", model.early_stopping):
        return 0
    n_held = max(1, round(share * n_rows))
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
    signs = _by_name(given, names, n_features) if isinstance(given, Mapping) else _listed(given)
    if len(signs) != n_features:
        raise InvalidInput(
            "monotonic_cst must have one entry per column of X, "
            f"got {len(signs)} for {n_features} columns."
        )
    for column, sign in enumerate(signs):
        if not isinstance(sign, Integral) or isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise InvalidInput(f"monotonic_cst must hold -1, 0 and 1, got {sign!r}.")
        if sign and column in columns.categorical:
            raise InvalidInput(
                "monotonic_cst must be 0 for columns that hold categories, "
                f"got {int(sign)} for column {column}."
            )
    return tuple(int(sign) for sign in signs) if any(signs) else None


def _listed(given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(
            "monotonic_cst must be one of -1, 0 and 1 for each column, a mapping from names to "
            f"them or None, got {given!r}."
        )
    return list(given)


def _by_name(given: Mapping[Any, Any], names: list[Any] | None, n_features: int) -> list[Any]:
    signs: list[Any] = [0] * n_features
    for name, sign in given.items():
        if names is None or name not in names:
            raise InvalidInput(f"monotonic_cst must name columns of X, got {name!r}.")
        signs[names.index(name)] = sign
    return signs


def _limit(name: str, value: Any, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise InvalidInput(f"{name} must be a whole number of at least {least} or None, got {value!r}.")


def read_jobs(n_jobs: Any) -> int:
    """Give the number of threads."""
    if n_jobs is None or (
        isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0
    ):
        return int(effective_n_jobs(n_jobs))
    raise InvalidInput(f"n_jobs must be a whole number other than 0 or None, got {n_jobs!r}.")


def _read_options(options: Any) -> dict[str, Any]:
    """Options for LightGBM that it knows and that do not contradict ours."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidInput(
            "options must be a mapping from parameters of LightGBM to their values or None, "
            f"got {options!r}."
        )
    names = _known_names()
    for name in options:
        if names and name not in names:
            raise InvalidInput(f"options must hold parameters of LightGBM, got {name!r}.")
        meant = names.get(name, name)
        if meant in _OURS:
            raise InvalidInput(f"options must not hold {name!r}: {_OURS[meant]}.")
    return dict(options)


def _known_names() -> dict[Any, str]:
    """From every name that LightGBM knows to the one it stands for; empty if it does not tell."""
    lightgbm = load_lightgbm()
    aliases = getattr(lightgbm.basic, "_ConfigAliases", None)
    if aliases is None:
        return {}
    known = aliases._get_all_param_aliases()
    return {alias: name for name, several in known.items() for alias in (name, *several)}
