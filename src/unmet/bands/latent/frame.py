"""How features become those of location and scale, for the training rows and for any others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import Ridge

from unmet.band import Array
from unmet.bands.latent.design import FEWEST_ROWS, MOST_COLUMNS, Design
from unmet.bands.latent.location import Location, find_location
from unmet.bands.latent.race import ScaleName
from unmet.bands.sample import Sample
from unmet.solvers.problem import Features


@dataclass(frozen=True)
class Frame:
    """How features become those of location and scale.

    Attributes
    ----------
    design : Design
    location : Location or None
        What stands for the features.
    level_line : ndarray of shape (n_basis,)
        Least-squares fit of the observations in the basis: the level that the scale may follow.
    level_least, level_mean, level_size : float
        Its smallest sensible value, and mean and deviation of its logarithm.
    """

    design: Design
    location: Location | None
    level_line: Array
    level_least: float
    level_mean: float
    level_size: float

    @classmethod
    def of(
        cls, sample: Sample, location: Location | None, random_state: int
    ) -> tuple[Frame, Array]:
        """Learn from a sample; also gives its basis."""
        weight, features = sample.weight, sample.features
        few = sample.n_rows < FEWEST_ROWS * features.shape[1]
        if location is None and (features.shape[1] > MOST_COLUMNS or few):
            location = find_location(sample, Ridge(alpha=1.0), None, random_state)
        if location is not None:
            features = location.held_out
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
        return cls(design, location, line, least, float(np.mean(logs)), size), basis

    def basis(self, features: Features) -> Array:
        """Location features of any rows."""
        if self.location is not None:
            features = self.location.columns(features)
        return self.design.basis(features)

    def scale_basis(self, basis: Array, name: ScaleName) -> Array:
        """Scale features of any rows."""
        if name == "constant":
            return np.empty((basis.shape[0], 0))
        if name == "features":
            return basis[:, 1:]
        logs = np.log(np.maximum(basis @ self.level_line, self.level_least))
        return ((logs - self.level_mean) / self.level_size)[:, None]
