"""How features become those of location and scale, for the training rows and for any others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict

from unmet.band import Array
from unmet.bands.latent.design import FEWEST_ROWS, MOST_COLUMNS, Design
from unmet.bands.latent.race import ScaleName
from unmet.bands.sample import Sample
from unmet.errors import InvalidInput
from unmet.solvers.problem import Features


@dataclass(frozen=True)
class Frame:
    """How features become those of location and scale.

    Attributes
    ----------
    design : Design
    locator : fitted estimator or None
        Whose predictions stand for the features.
    level_line : ndarray of shape (n_basis,)
        Least-squares fit of the observations in the basis: the level that the scale may follow.
    level_least, level_mean, level_size : float
        Its smallest sensible value, and mean and deviation of its logarithm.
    """

    design: Design
    locator: Any
    level_line: Array
    level_least: float
    level_mean: float
    level_size: float

    @classmethod
    def of(cls, sample: Sample, locator: Any, random_state: int) -> tuple[Frame, Array]:
        """Learn from a sample; also gives its basis."""
        weight, features = sample.weight, sample.features
        few = sample.n_rows < FEWEST_ROWS * features.shape[1]
        if locator is None and (features.shape[1] > MOST_COLUMNS or few):
            locator = Ridge(alpha=1.0)
        fitted = None
        if locator is not None:
            fitted, features = _located(sample, locator, random_state)
        design = Design.of(features, weight)
        basis = design.basis(features)
        root = np.sqrt(weight)
        target = sample.observation * root
        line = np.asarray(
            np.linalg.lstsq(basis * root[:, None], target, rcond=None)[0], dtype=float
        )
        level = basis @ line
        least = 0.02 * float(np.mean(np.abs(level))) or 1.0
        logs = np.log(np.maximum(level, least))
        size = float(np.std(logs)) or 1.0
        return cls(design, fitted, line, least, float(np.mean(logs)), size), basis

    def basis(self, features: Features) -> Array:
        """Location features of any rows."""
        if self.locator is not None:
            features = np.asarray(self.locator.predict(features), dtype=float).reshape(-1, 1)
        return self.design.basis(features)

    def scale_basis(self, basis: Array, name: ScaleName) -> Array:
        """Scale features of any rows."""
        if name == "constant":
            return np.empty((basis.shape[0], 0))
        if name == "features":
            return basis[:, 1:]
        logs = np.log(np.maximum(basis @ self.level_line, self.level_least))
        return ((logs - self.level_mean) / self.level_size)[:, None]


def _located(sample: Sample, locator: Any, random_state: int) -> tuple[Any, Array]:
    """Fit a copy on all rows; the training rows get predictions of fits that had not seen them."""
    folds = KFold(5, shuffle=True, random_state=random_state)
    try:
        held_out = cross_val_predict(clone(locator), sample.features, sample.observation, cv=folds)
        fitted = clone(locator).fit(sample.features, sample.observation)
    except (TypeError, AttributeError, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise InvalidInput(
            f"location must be a scikit-learn regressor that can learn from these rows, or None, "
            f"got {locator!r}: {why}."
        ) from error
    return fitted, np.asarray(held_out, dtype=float).reshape(-1, 1)
