"""One tree after another, grown by LightGBM on gradients that are given to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.solvers.boosting.leaves import Index
from unmet.solvers.boosting.objectives import Single
from unmet.solvers.boosting.settings import Settings
from unmet.solvers.boosting.trees import as_lightgbm, load_lightgbm
from unmet.solvers.grouping import RowGroups, groups_of
from unmet.solvers.problem import Features

_FEW = 4000  # rows that walk through a tree faster than LightGBM writes it down
_TOLERANCE = 1e-12  # leaves whose outputs differ by less, as a share of scores, look the same


@dataclass(frozen=True)
class Splits:
    """The structure of one tree.

    Attributes
    ----------
    feature, left, right : ndarray of shape (n_leaves - 1,)
        For each split its feature and its two children; a child c < 0 is the leaf −1 − c. Splits
        are numbered in the order in which they were made, so children come after parents.
    """

    feature: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]


class Grower:
    """Holds LightGBM's binned data and its trees.

    To refit a tree one must know in which leaf each row has landed. Walking every row through the
    tree takes longer than growing it, so rows that are equal walk once; and where few are equal,
    LightGBM's own scores tell. These are sums of leaves as *it* would have set them, of no use as
    decisions, but the score of a row has just changed by the output of its leaf.
    """

    def __init__(
        self,
        features: Features,
        settings: Settings,
        categorical: tuple[int, ...],
        monotone: tuple[int, ...] | None,
    ) -> None:
        lightgbm = load_lightgbm()
        n_rows = features.shape[0]
        self._features, self._settings = features, settings
        self._groups = _equal_rows(features)
        self._distinct = None if self._groups is None else features[self._groups.first]
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
            return self._walk(self._distinct)[self._groups.group]
        if self._features.shape[0] <= _FEW:
            return self._walk(self._features)
        return self._locate()

    def splits(self) -> Splits:
        """Structure of the newest tree."""
        names = "split_feature", "left_child", "right_child"
        return Splits(*(each.astype(np.intp) for each in self._read(*names)))

    def set_leaves(self, value: Array) -> None:
        """Replace the leaves of the newest tree."""
        for leaf, number in enumerate(value.tolist()):
            self._booster.set_leaf_output(self.n_trees - 1, leaf, number)

    def newest(self, features: Features) -> Array:
        """Give the newest tree's value for other rows."""
        value: Array = self._predict(features, raw_score=True)
        return value

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

    def _locate(self) -> Index:
        """Leaf of each row, by the change of LightGBM's scores."""
        change = self._change()
        (output,) = self._read("leaf_value")
        order = np.argsort(output)
        value = output[order]
        leaf: Index = order[np.searchsorted(0.5 * (value[1:] + value[:-1]), change)]
        slack = _TOLERANCE * max(float(np.abs(self._scores).max()), float(np.abs(value).max()))
        equal = np.diff(value) <= slack
        if equal.any():  # such as leaves in which all rows lie on one side; these rows must walk
            twin = np.zeros(value.size, dtype=bool)
            twin[order[1:][equal]] = twin[order[:-1][equal]] = True
            rows = np.flatnonzero(twin[leaf])
            leaf[rows] = self._walk(self._features[rows])
        return leaf

    def _change(self) -> Array:
        """By how much the newest tree has changed LightGBM's scores."""
        change, self._scores = -self._scores, self._own_scores()
        change += self._scores
        return change

    def _own_scores(self) -> Array:
        """Copy LightGBM's scores of the training rows."""
        kept: list[Array] = []

        def keep(scores: Array, _: Any) -> tuple[str, float, bool]:
            kept.append(scores.copy())
            return "scores", 0.0, False

        self._booster.eval_train(keep)
        return kept[0]

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
        """Lines ``name=...`` of the newest tree, which LightGBM writes with 17 digits."""
        text = self._booster.model_to_string(num_iteration=1, start_iteration=self.n_trees - 1)
        found = []
        for name in names:
            begin = text.index(f"\n{name}=", text.index("\nTree=")) + len(name) + 2
            found.append(np.array(text[begin : text.index("\n", begin)].split(), dtype=np.float64))
        return found


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


def _equal_rows(features: Features) -> RowGroups | None:
    """Find rows that are equal, where there are enough of them."""
    if sparse.issparse(features):
        return None
    with np.errstate(all="ignore"):  # missing and huge entries are only grouped less well
        return groups_of(features)
