"""Trees on rows of which only LightGBM's bins are kept: one byte for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unmet.band import Array
from unmet.errors import SolverFailure
from unmet.solvers.boosting.growing import Grower, open_booster, refusing_options
from unmet.solvers.boosting.leaves import Index
from unmet.solvers.boosting.objectives import Single
from unmet.solvers.boosting.settings import Settings
from unmet.solvers.boosting.trees import load_lightgbm

_BATCH = 16_384
_JITTER = 2.0**-12  # as a share of curvatures: moves no split that is not a tie
_TOLERANCE = 1e-12  # leaves whose outputs differ by less, as a share of scores, look the same
_HIDDEN = "[machines:", "[local_listen_port:"


class BinnedGrower(Grower):
    """Grows trees alone, or together with growers in other places that have other rows.

    The bins are those of a sample, so that they are the same in all places. Leaves of rows are told
    by LightGBM's scores alone, as rows cannot walk any more. Two leaves whose rows all lie on one
    side would get the same score. A random jitter of the curvatures keeps them apart; should it
    fail, which is next to impossible, they are refitted as one. Monotone constraints make many
    leaves the same: the rows are then kept, and walk.

    Parameters
    ----------
    features : iterator of ndarray
        Blocks of rows.
    n_rows : int
        Number of rows in all blocks.
    sample : ndarray of shape (n_sampled, n_features)
        Rows that the bins are made of.
    settings : Settings
    parameters : dict
        What LightGBM is told.
    categorical : tuple of int
    number : int
        Place among all places: seeds the jitter.
    """

    def __init__(
        self,
        features: Iterator[Array],
        n_rows: int,
        sample: Array,
        settings: Settings,
        parameters: dict[str, Any],
        categorical: tuple[int, ...],
        number: int,
    ) -> None:
        lightgbm = load_lightgbm()
        # Columns that cannot be split in the sample may be in all rows.
        self._parameters = {**parameters, "feature_pre_filter": False}
        self._settings, self._width = settings, sample.shape[1]
        self._scores = np.zeros(n_rows)
        self._booster = None
        self.n_trees = 0
        self.n_leaves = 1
        self._twin: Index = np.zeros(1, dtype=np.intp)
        self._reach = 0.0  # no score is greater; the same in all places
        generator = np.random.default_rng([settings.seed, number])
        self._jitter = 1 + np.float32(_JITTER) * generator.random(n_rows, dtype=np.float32)
        self._kept: list[Array] | None = [] if "monotone_constraints" in parameters else None
        with refusing_options():
            bins = lightgbm.Dataset(
                sample,
                np.zeros(len(sample), dtype=np.float32),
                params=self._parameters,
                categorical_feature=list(categorical),
            ).construct()
            self._data = lightgbm.Dataset(
                _stream(self._keeping(features), n_rows),
                np.zeros(n_rows, dtype=np.float32),
                reference=bins,
                params=self._parameters,
                categorical_feature=list(categorical),
            ).construct()
        if self._kept is not None:
            self._features = np.concatenate(self._kept)

    def connect(self, network: dict[str, Any]) -> None:
        """Start, with growers in other places where the parameters name them."""
        parameters = {**self._parameters, **network}
        if "machines" not in network:
            with refusing_options():
                self._booster = open_booster(parameters, self._data)
            return
        lightgbm = load_lightgbm()
        try:
            self._booster = open_booster(parameters, self._data)
        except lightgbm.basic.LightGBMError as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise SolverFailure(f"LightGBM could not start on the workers: {reason}.") from None

    def disconnect(self) -> None:
        """Close what connects it with others."""
        if self._booster is not None:
            self._booster.free_network()

    def grow(self, gradient: Single, curvature: Single) -> Index | None:
        """Add a tree, and give the leaf of each row."""
        jittered = curvature * self._jitter
        if self._booster is None or self._booster.update(fobj=lambda *_: (gradient, jittered)):
            return None
        self.n_trees += 1
        return self._locate()

    def set_leaves(self, value: Array) -> None:
        """Replace the leaves of the newest tree."""
        super().set_leaves(value[self._twin])

    def text(self, n_trees: int) -> str:
        """Write the first trees, without the addresses of the places."""
        lines = super().text(n_trees).splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(_HIDDEN))

    def importances(self, n_trees: int) -> Array:
        """Share of each feature in the gain of all splits."""
        return super().importances(n_trees) if n_trees else np.zeros(self._width)

    def _keeping(self, features: Iterator[Array]) -> Iterator[Array]:
        """Pass blocks on, and keep them where rows must be able to walk."""
        for block in features:
            if self._kept is not None:
                self._kept.append(block)
            yield block

    def _locate(self) -> Index:
        """Leaf of each row, or the first of several whose scores are the same."""
        (output,) = self._read("leaf_value")
        self.n_leaves = output.size
        if self._kept is not None:
            self._twin = np.arange(output.size)
            return super()._locate()
        change = self._change()
        self._reach += float(np.abs(output).max())
        order = np.argsort(output, kind="stable")
        value = output[order]
        new = np.concatenate([[True], np.diff(value) > _TOLERANCE * self._reach])
        first = order[np.flatnonzero(new)]  # of each group of leaves that look the same
        self._twin = np.empty(output.size, dtype=np.intp)
        self._twin[order] = first[np.cumsum(new) - 1]
        apart = output[first]
        return first[np.searchsorted(0.5 * (apart[1:] + apart[:-1]), change)]


def _stream(features: Iterator[Array], n_rows: int) -> Any:
    """Blocks as LightGBM wants to read them: from the first row to the last, in batches."""
    base: Any = load_lightgbm().Sequence

    class Stream(base):  # type: ignore[misc]
        batch_size = _BATCH

        def __init__(self) -> None:
            self.rest = np.empty((0, 0))

        def __len__(self) -> int:
            return n_rows

        def __getitem__(self, wanted: Any) -> Array:
            parts, missing = [], wanted.stop - wanted.start
            while missing:
                if not len(self.rest):
                    self.rest = next(features)
                    continue
                parts.append(self.rest[:missing])
                self.rest = self.rest[missing:]
                missing -= len(parts[-1])
            return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)

    return Stream()
