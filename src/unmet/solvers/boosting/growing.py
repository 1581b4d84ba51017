"""Grow one tree after another: LightGBM grows it on gradients, then its leaves are refitted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, Features
from unmet.errors import InvalidInput, MissingPackage
from unmet.rows import Rows
from unmet.solvers.boosting.leaves import Index, Single, read_objective
from unmet.solvers.exact.features import RowGroups, groups_of

# --- How to boost, and what LightGBM is told of it.


@dataclass(frozen=True)
class BoostingSettings:
    """Checked settings; the estimator's documentation describes them.

    Attributes
    ----------
    max_iter : int
        Largest number of trees.
    learning_rate : float
        Share of its leaves that each tree contributes.
    max_leaf_nodes, max_depth : int or None
        Limits of a tree; None is no limit.
    min_samples_leaf : int
        Least number of rows in a leaf.
    strength : float
        Shrinkage of leaves.
    max_features : float
        Share of columns that each split may use.
    n_iter_no_change : int
        Trees without progress on held-out rows after which growing ends.
    n_threads : int
        Number of threads.
    seed : int
        Seed of LightGBM.
    options : mapping
        Further parameters of LightGBM.
    """

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    strength: float = 0.0
    max_features: float = 1.0
    n_iter_no_change: int = 10
    n_threads: int = 1
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_lightgbm(self, n_rows: int, monotone: tuple[int, ...] | None) -> dict[str, Any]:
        """Parameters under LightGBM's names."""
        most = max(2, n_rows // self.min_samples_leaf)  # room is set aside for all of them
        leaves = most if self.max_leaf_nodes is None else self.max_leaf_nodes
        parameters: dict[str, Any] = {
            "objective": "none",
            "metric": "none",
            "learning_rate": self.learning_rate,
            "num_leaves": min(leaves, 131_072),
            "max_depth": -1 if self.max_depth is None else self.max_depth,
            "min_data_in_leaf": self.min_samples_leaf,
            "lambda_l2": self.strength,
            "feature_fraction_bynode": self.max_features,
            "num_threads": self.n_threads,
            "seed": self.seed,
            "deterministic": True,
            "verbosity": -1,
        }
        if not self.options.get("force_col_wise"):
            parameters["force_row_wise"] = True  # else a stopwatch chooses, and rounding with it
        if monotone is not None:
            parameters["monotone_constraints"] = list(monotone)
        return {**parameters, **self.options}


# --- Fitted trees, kept as text.


def load_lightgbm() -> Any:
    """Import LightGBM, an extra of this package."""
    return MissingPackage.or_load("BoostedDecision", "lightgbm", "boost")


class Trees:
    """Decisions of boosted trees: ``start`` plus the sum of the trees' leaves.

    Only text and a number are stored, so you can read everything in a saved model. LightGBM writes
    17 digits, so a loaded model is equal to the last bit. LightGBM does not check the trees that it
    reads, so text from a file is checked when it is loaded.

    Parameters
    ----------
    text : str
        LightGBM's own format, for ``lightgbm.Booster(model_str=...)``; empty if there is no tree.
    start : float
        Decision before the first tree.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import BoostedDecision, Newsvendor
    >>> model = BoostedDecision(Newsvendor(1, 1), max_iter=5, min_samples_leaf=2, random_state=0)
    >>> trees = model.fit(np.arange(40.0)[:, None], np.arange(40.0)).trees_
    >>> trees.predict(np.array([[3.0]])) == model.predict([[3.0]])
    array([ True])
    """

    def __init__(self, text: str, start: float) -> None:
        self.text = text.partition("end of trees")[0]  # parameters of the training follow
        self.start = start
        self._booster: Any = None

    def predict(self, features: Features, n_threads: int = 1) -> Array:
        """Decide for each row.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features), or csr_array
            Features.
        n_threads : int, default=1
            Number of threads; the result does not depend on it.
        """
        leaves = self._predict(features, raw_score=True, num_threads=n_threads)
        if leaves is None:
            return np.full(features.shape[0], self.start)
        return np.asarray(leaves + self.start)

    def contributions(self, features: Features, n_threads: int = 1) -> Array:
        """Split decisions by SHAP values, as LightGBM computes them along the trees' paths.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features), or csr_array
            Features.
        n_threads : int, default=1
            Number of threads; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows, n_features + 1)
            Contribution of each feature, and in the last column the mean decision of the training
            rows. Rows sum to the result of `predict`.
        """
        found = self._predict(features, pred_contrib=True, num_threads=n_threads)
        if found is None:
            found = np.zeros((features.shape[0], features.shape[1] + 1))
        parts = np.array(found.toarray() if hasattr(found, "toarray") else found)
        parts[:, -1] += self.start
        return parts

    def _predict(self, features: Features, **how: Any) -> Any:
        """Ask LightGBM; None where there is no tree."""
        lightgbm = load_lightgbm()
        if not self.text:
            return None
        if self._booster is None:
            self._booster = lightgbm.Booster(model_str=self.text)
        n_features = self._booster.num_feature()
        if features.shape[1] != n_features:
            raise InvalidInput(
                f"X must have {n_features} features, as the trees have, got {features.shape[1]}."
            )
        return self._booster.predict(as_lightgbm(features), **how)

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "start": self.start}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def check_state(self) -> None:
        """Refuse what a file says of trees if it is not so; a pickle is trusted anyway."""
        if not np.isfinite(np.float64(self.start)):
            raise InvalidInput("its trees do not start from a number.")
        if self.text:
            check_trees(self.text)


# Text as LightGBM writes it: these keys in this order, each with its numbers.
_HEAD = re.compile(
    r"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
    r"max_feature_idx=(\d{1,9})\n(?:objective=regression\n)?feature_names=([\w ]+)\n"
    r"(?:monotone_constraints=[-01 ]+\n)?feature_infos=([-+:.\w\[\] ]+)\ntree_sizes=([\d ]+)\n\n",
    re.ASCII,
)
_LINE = re.compile(r"([a-z_]+)=([-+.\da-z ]*)\n", re.ASCII)
_KEYS = (
    *("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type"),
    *("left_child", "right_child", "leaf_value", "leaf_weight", "leaf_count", "internal_value"),
    *("internal_weight", "internal_count", "cat_boundaries", "cat_threshold"),
    *("is_linear", "shrinkage"),
)
_WHOLE = {*_KEYS[:3], *_KEYS[5:8], "leaf_count", *_KEYS[13:17]}
_DEEPEST = 2000  # splits above a leaf: SHAP values take memory for its square


def check_trees(text: str) -> None:
    """Refuse trees that LightGBM would read beyond their end, or whose paths never reach a leaf.

    Parameters
    ----------
    text : str
        LightGBM's format, up to the end of the trees.
    """
    begin, *trees = text.split("Tree=")
    head = _HEAD.fullmatch(begin)
    if head is None:
        raise InvalidInput("its trees do not begin as LightGBM begins them.")
    n_features, sizes = int(head[1]) + 1, [str(len(tree) + len("Tree=")) for tree in trees]
    if head[4].split() != sizes or not len(head[2].split()) == len(head[3].split()) == n_features:
        raise InvalidInput("its trees or their features are not as many or as long as it says.")
    for place, tree in enumerate(trees):
        try:
            wrong = _wrong_in(tree, n_features)
        except ValueError:
            wrong = "a number"
        if wrong:
            raise InvalidInput(f"{wrong} of tree {place} is not as LightGBM writes it.")


def _wrong_in(tree: str, n_features: int) -> str | None:
    """Name what is wrong with a tree; None if nothing is."""
    line = dict.fromkeys(_KEYS, "") | dict(_LINE.findall(tree))
    has_categories = line["num_cat"] != "0"
    keys = [key for key in _KEYS if has_categories or not key.startswith("cat_")]
    again = "".join(f"{key}={line[key]}\n" for key in keys)
    if tree.partition("\n")[2] != f"{again}\n\n" or line["is_linear"] != "0":
        return "a line"
    if not all(set(line[key]) <= set("-0123456789 ") for key in _WHOLE):
        return "a whole number"
    values = {key: read_numbers(line[key]) for key in _KEYS}
    n_leaves, n_categories = int(line["num_leaves"]), int(line["num_cat"])
    n_splits, bounds, bits = n_leaves - 1, values["cat_boundaries"], values["cat_threshold"]
    sizes = dict.fromkeys(_KEYS, n_splits) | dict.fromkeys(("leaf_value", "leaf_count"), n_leaves)
    sizes |= dict.fromkeys(("num_leaves", "num_cat", "is_linear", "shrinkage"), 1)
    sizes["leaf_weight"] = n_leaves if n_splits else 0
    sizes["cat_boundaries"] = n_categories + has_categories
    sizes["cat_threshold"] = int(bounds[-1]) if bounds.size else 0
    for key, size in sizes.items():
        if values[key].size != size:
            return key
    children = np.array([values["left_child"], values["right_child"]], dtype=np.int64)
    # each split and each leaf has one parent, and splits come after theirs: there is no circle
    every = [*range(-n_leaves, 0), *range(1, n_splits)] if n_splits else []
    feature, threshold, kind = (values[key] for key in ("split_feature", "threshold", _KEYS[5]))
    counts = np.append(values["leaf_count"], values["internal_count"])
    fine = {
        "left_child or right_child": np.array_equal(np.sort(children, axis=None), every)
        and ((children < 0) | (children > np.arange(n_splits))).all()
        and not _is_deep(children),
        "split_feature": ((feature >= 0) & (feature < n_features)).all(),
        "decision_type": ((kind >= 0) & (kind < 12)).all(),
        "threshold": np.isfinite(threshold).all()
        and np.array_equal(threshold[kind % 2 == 1], np.arange(n_categories)),
        "leaf_value": np.isfinite(values["leaf_value"]).all(),
        "leaf_count or internal_count": ((counts > 0) & (counts < 1 << 31)).all(),
        "cat_boundaries": (np.diff(bounds) >= 0).all() and not bounds[:1].any(),
        "cat_threshold": ((bits >= 0) & (bits < 1 << 32)).all(),
    }
    return next((name for name, is_fine in fine.items() if not is_fine), None)


def _is_deep(children: NDArray[np.int64]) -> bool:
    """Whether a leaf is below too many splits."""
    depth = np.ones(children.shape[1] + 1, dtype=np.intp)
    if depth.size > _DEEPEST:
        for split, pair in enumerate(children.T):
            depth[pair[pair > 0]] = depth[split] + 1
    return bool(depth.max() > _DEEPEST)


def read_numbers(line: str) -> Array:
    """Numbers of one line of a tree, which LightGBM writes with 17 digits."""
    return np.array(line.split(), dtype=np.float64)


def as_lightgbm(features: Features) -> Any:
    """Give features in a form that every version of LightGBM takes; not copied."""
    return sparse.csr_matrix(features) if sparse.issparse(features) else features


# --- One tree after another, grown by LightGBM on gradients that are given to it.


Splits: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
"""The structure of one tree: for each split its feature, its left and its right child.

A child c < 0 is the leaf −1 − c. Splits are numbered in the order in which they were made, so
children come after parents."""


class Grower:
    """LightGBM's binned data and its trees.

    To refit a tree, the leaf of each row must be known. Walking every row through the tree takes
    longer than growing it, so equal rows walk once. If few rows are equal, LightGBM's own scores
    show the leaf. These scores are sums of leaves as LightGBM would have set them, so they are no
    decisions; but the score of a row has just changed by the output of its leaf.
    """

    def __init__(
        self,
        features: Features,
        settings: BoostingSettings,
        categorical: tuple[int, ...],
        monotone: tuple[int, ...] | None,
    ) -> None:
        lightgbm = load_lightgbm()
        n_rows = features.shape[0]
        self._features, self._settings = features, settings
        self._groups: RowGroups | None = None
        if not sparse.issparse(features):
            with np.errstate(all="ignore"):  # missing and huge entries are only grouped less well
                self._groups = groups_of(features)
        self._distinct = None if self._groups is None else features[self._groups[0]]
        self._scores = np.zeros(n_rows)
        self.n_trees = 0
        parameters = settings.for_lightgbm(n_rows, monotone)
        with refusing_options():
            data = lightgbm.Dataset(
                as_lightgbm(features),
                np.zeros(n_rows, dtype=np.float32),
                params=parameters,
                categorical_feature=list(categorical),
            ).construct()
            self._booster: Any = open_booster(parameters, data)

    def grow(self, gradient: Single, curvature: Single) -> Index | None:
        """Add a tree, and give the leaf of each row; leaves are 0, 1, ..., none without rows.

        None if there is no split that promises to lower the cost and leaves enough rows.
        """
        if self._booster is None or self._booster.update(fobj=lambda *_: (gradient, curvature)):
            return None
        self.n_trees += 1
        if self._groups is not None and self._distinct is not None:
            return self._walk(self._distinct)[self._groups[1]]
        if self._features.shape[0] <= 4000:  # they walk faster than LightGBM writes a tree down
            return self._walk(self._features)
        # leaf of each row, by the change of LightGBM's scores
        # by how much the newest tree has changed LightGBM's scores of the training rows
        change = -self._scores

        def keep(scores: Array, _: Any) -> tuple[str, float, bool]:
            self._scores = scores.copy()
            return "scores", 0.0, False

        self._booster.eval_train(keep)
        change += self._scores
        (output,) = self._read("leaf_value")
        order = np.argsort(output)
        value = output[order]
        leaf: Index = order[np.searchsorted(0.5 * (value[1:] + value[:-1]), change)]
        reach = max(float(np.abs(self._scores).max()), float(np.abs(value).max()))
        equal = np.diff(value) <= 1e-12 * reach
        if equal.any():  # such as leaves in which all rows lie on one side; these rows must walk
            twin = np.zeros(value.size, dtype=bool)
            twin[order[1:][equal]] = twin[order[:-1][equal]] = True
            rows = np.flatnonzero(twin[leaf])
            leaf[rows] = self._walk(self._features[rows])
        return leaf

    def splits(self) -> Splits:
        """Structure of the newest tree."""
        read = self._read("split_feature", "left_child", "right_child")
        feature, left, right = (each.astype(np.intp) for each in read)
        return feature, left, right

    def set_leaves(self, value: Array) -> None:
        """Replace the leaves of the newest tree."""
        for leaf, number in enumerate(value.tolist()):
            self._booster.set_leaf_output(self.n_trees - 1, leaf, number)

    def newest(self, features: Features) -> Array:
        """Give the newest tree's value for other rows."""
        return np.asarray(self._predict(features, raw_score=True))

    def text(self, n_trees: int) -> str:
        """Write the first trees in LightGBM's own format."""
        text: str = self._booster.model_to_string(num_iteration=n_trees) if n_trees else ""
        return text

    def importances(self, n_trees: int) -> Array:
        """Share of each feature in the gain of all splits."""
        if not n_trees:
            return np.zeros(self._features.shape[1])
        gain: Array = self._booster.feature_importance("gain", iteration=n_trees)
        return gain / (gain.sum() or 1.0)

    def _walk(self, features: Features) -> Index:
        return np.asarray(self._predict(features, pred_leaf=True)).reshape(-1).astype(np.intp)

    def _predict(self, features: Features, **what: bool) -> Any:
        """Ask the newest tree."""
        return self._booster.predict(
            as_lightgbm(features),
            start_iteration=self.n_trees - 1,
            num_iteration=1,
            num_threads=self._settings.n_threads,
            **what,
        )

    def _read(self, *names: str) -> list[Array]:
        """Lines of the newest tree."""
        text = self._booster.model_to_string(num_iteration=1, start_iteration=self.n_trees - 1)
        lines = dict(line.partition("=")[::2] for line in text.splitlines())
        return [read_numbers(lines[name]) for name in names]


@contextmanager
def refusing_options() -> Iterator[None]:
    """Say that options are wrong where LightGBM complains."""
    lightgbm = load_lightgbm()
    try:
        yield
    except (lightgbm.basic.LightGBMError, TypeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInput(f"options must be such as LightGBM takes, got: {reason}.") from None


def open_booster(parameters: dict[str, Any], data: Any) -> Any:
    """Start without trees; None if no column can be split."""
    splittable = any(data.feature_num_bin(i) > 1 for i in range(data.num_feature()))
    return load_lightgbm().Booster(parameters, data) if splittable else None


# --- Refitted leaves that keep decisions monotone.
#
# LightGBM grows trees whose own leaves are monotone; refitted ones need not be. (For its own
# quantile objective, which renews leaves as well, it refuses the constraints.) Two rows that differ
# only in a monotone feature take the same path up to a split on that feature, so it is enough that
# no leaf on one side of such a split is above any leaf on its other side. Where one is, the leaves
# that overlap are shrunk to a common bound, their weighted mean. That keeps every order that held
# before, so each split needs to be corrected only once.


def keep_monotone(value: Array, weight: Array, splits: Splits, monotone: tuple[int, ...]) -> Array:
    """Correct the leaves of a tree.

    Parameters
    ----------
    value, weight : ndarray of shape (n_leaves,)
        Leaves as they were refitted, and the weight of their rows.
    splits : Splits
    monotone : tuple of int
        For each feature 1, −1 or 0.
    """
    value, children = value.copy(), list(zip(*(each.tolist() for each in splits), strict=True))
    below = {-1 - leaf: np.array([leaf]) for leaf in range(len(children) + 1)}  # leaves by node
    for split, (_, left, right) in reversed(list(enumerate(children))):
        below[split] = np.concatenate([below[left], below[right]])
    for feature, left, right in children:
        if not monotone[feature]:
            continue
        lower, upper = below[left], below[right]
        if monotone[feature] < 0:
            lower, upper = upper, lower
        most, least = value[lower].max(), value[upper].min()
        if most <= least:
            continue
        overlap = np.concatenate([lower[value[lower] > least], upper[value[upper] < most]])
        bound = np.average(value[overlap], weights=weight[overlap])
        value[lower] = np.minimum(value[lower], bound)
        value[upper] = np.maximum(value[upper], bound)
    return value


# --- The boosting itself: grow a tree, refit its leaves, move the decisions, evaluate, repeat.


@dataclass(frozen=True)
class Boosted:
    """Result of the boosting.

    Attributes
    ----------
    trees : Trees
        The trees.
    n_trees : int
        Number of trees that were kept: up to the best on held-out rows, if there are any.
    decision : ndarray of shape (n_rows,)
        Decisions of the training rows.
    held_decision : ndarray of shape (n_held,) or None
        Decisions of the held-out rows.
    cost : ndarray of shape (n_grown + 1,)
        Mean cost of the training rows before the first tree and after each tree.
    held_cost : ndarray of shape (n_grown + 1,) or None
        The same for the held-out rows.
    importances : ndarray of shape (n_features,)
        Share of each feature in the gain of all splits.
    """

    trees: Trees
    n_trees: int
    decision: Array
    held_decision: Array | None
    cost: Array
    held_cost: Array | None
    importances: Array


def boost(
    rows: Rows,
    settings: BoostingSettings,
    *,
    held: Rows | None = None,
    categorical: tuple[int, ...] = (),
    monotone: tuple[int, ...] | None = None,
) -> Boosted:
    """Boost trees on some rows, evaluated on others if there are any.

    Parameters
    ----------
    rows : Rows
        Training rows, at least one.
    settings : BoostingSettings
        Settings.
    held : Rows, optional
        Rows whose cost determines the number of trees. None keeps all trees.
    categorical : tuple of int, default=()
        Columns that hold category numbers 0, 1, ...; NaN is missing.
    monotone : tuple of int, optional
        For each column 1 if decisions may not fall with it, −1 if they may not rise, and 0
        otherwise.
    """
    objective, rate = read_objective(rows), settings.learning_rate
    grower = Grower(rows.features, settings, categorical, monotone)
    start = objective.start()
    decision = best = np.full(rows.n_rows, start)
    costs, n_trees = [objective.mean_cost(decision)], 0
    if held is not None:
        evaluator = read_objective(held)
        held_decision = held_best = np.full(held.n_rows, start)
        held_costs = [evaluator.mean_cost(held_decision)]
    while grower.n_trees < settings.max_iter:
        if held is not None and grower.n_trees - n_trees >= settings.n_iter_no_change:
            break
        leaf = grower.grow(objective.gradient(decision), objective.curvature)
        if leaf is None:
            break
        weight: Array = np.bincount(leaf, objective.weight).astype(np.float64, copy=False)
        value = objective.minimisers(decision, leaf, weight.size)
        value *= rate * weight / (weight + settings.strength)
        if monotone is not None:
            value = keep_monotone(value, weight, grower.splits(), monotone)
        grower.set_leaves(value)
        decision = decision + value[leaf]
        costs.append(objective.mean_cost(decision))
        if held is not None:
            held_decision = held_decision + grower.newest(held.features)
            held_costs.append(evaluator.mean_cost(held_decision))
            if held_costs[-1] >= min(held_costs[:-1]):
                continue
            held_best = held_decision
        best, n_trees = decision, grower.n_trees
    return Boosted(
        Trees(grower.text(n_trees), start),
        n_trees,
        best,
        None if held is None else held_best,
        np.array(costs),
        None if held is None else np.array(held_costs),
        grower.importances(n_trees),
    )
