"""Normal truth around a linear mean, with the censored values filled in again and again.

Both detruncation methods of revenue management have this form: guess the distribution of the truth,
replace every censored observation by what that distribution says about values above it, fit a line
to the filled-in values, take their spread, and repeat until nothing moves. They differ in the value
that is filled in, and in the spread.

**Which coefficients the rows can tell.** A censored row only says "at least", so the mean can only
be learned in directions of the features that seen rows have. In the others (a product that sold out
on every single day) the likelihood may rise without end. There the mean is held at the least
squares fit to the observations themselves: no more than they show.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning

from unmet.band import Array
from unmet.bands.flags import Flagged
from unmet.bands.levels import Levels
from unmet.errors import InvalidInput, Unsupported
from unmet.solvers.frame import Frame
from unmet.solvers.problem import Features

_LARGEST = 100_000_000  # entries of sparse features for which a dense copy is acceptable
_EXACT = 1e-12  # a spread around the line below this share of the observations' size is rounding


@dataclass(frozen=True)
class Normal:
    """Truth given features: x'coefficients + intercept + scale · N(0, 1)."""

    coefficients: Array
    intercept: float
    scale: float

    def quantile(self, features: Features, level: Levels) -> Array:
        """Quantile of each row at its own level."""
        mean = features @ self.coefficients + self.intercept
        return np.asarray(mean + self.scale * ndtri(level))


@dataclass(frozen=True)
class Line:
    """Least squares on the same rows, for one target after another.

    Attributes
    ----------
    frame : Frame
        Centre and scale of the features.
    known : ndarray of shape (n_features + 1, rank)
        Directions in the frame that seen rows determine.
    basis, triangle : ndarray of shape (n_rows, rank) and (rank, rank)
        QR factors of the weighted rows in those directions.
    root : ndarray of shape (n_rows,)
        Square roots of the weights, which are one on average.
    start, offset : ndarray of shape (n_features + 1,) and (n_rows,)
        Parameters, and their line, from which coordinates count: what is held in all other
        directions.
    n_held : int
        Number of those other directions.
    """

    frame: Frame
    known: Array
    basis: Array
    triangle: Array
    root: Array
    start: Array
    offset: Array
    n_held: int

    @property
    def rank(self) -> int:
        """Number of parameters of the mean that are learned."""
        return int(self.known.shape[1])

    def project(self, target: Array) -> Array:
        """Coordinates of the line of least squares."""
        return np.asarray(self.basis.T @ (self.root * (target - self.offset)))

    def mean(self, coordinates: Array) -> Array:
        """Value of the line in every row."""
        return np.asarray(self.offset + (self.basis @ coordinates) / self.root)

    def normal(self, coordinates: Array, scale: float) -> Normal:
        """Hand back raw coefficients."""
        inner = self.known @ linalg.solve_triangular(self.triangle, coordinates)
        return Normal(*self.frame.to_raw(self.start + inner), scale)

    @classmethod
    def of(cls, rows: Flagged, rule: str) -> Line:
        """Prepare least squares; refuse rows that leave no spread to estimate."""
        features = _dense(rows.sample.features, rule)
        target = rows.sample.observation
        frame = Frame.of(features, intercept=True)
        root, seen = np.sqrt(rows.sample.weight), ~rows.censored
        design = frame.design(features) * root[:, None]
        known, everywhere = _row_space(design[seen]), _row_space(design)
        n_seen, rank = int(np.count_nonzero(seen)), known.shape[1]
        if n_seen <= rank:
            raise InvalidInput(
                f"{rule} needs more rows that are not censored than coefficients, "
                f"got {n_seen} for {rank}."
            )
        start, offset = np.zeros(len(known)), np.zeros(len(root))
        n_held = everywhere.shape[1] - rank
        if n_held:
            start = everywhere @ _least_squares(design @ everywhere, root * target)
            offset = design @ start / root
        inner = design @ known
        _check_spread(inner[seen], (root * (target - offset))[seen], target)
        basis, triangle = np.linalg.qr(inner)
        return cls(frame, known, basis, triangle, root, start, offset, n_held)

    def notes(self) -> tuple[str, ...]:
        """Sentence about directions that nothing is known of, if there are any."""
        if not self.n_held:
            return ()
        return (
            f"In {self.n_held} of {self.n_held + self.rank} directions of the features every row "
            "is censored, so the truth there may lie at any distance above; "
            "the least possible was taken.",
        )


class State(NamedTuple):
    """Where an iteration stands: coordinates of the mean, and the spread around it."""

    coordinates: Array
    scale: float


class Filled(NamedTuple):
    """Values of all rows after filling in, and how much each may still vary."""

    value: Array
    variance: Array


def first_guess(line: Line, rows: Flagged) -> State:
    """Observations taken for the truth."""
    seen = rows.sample.observation
    coordinates = line.project(seen)
    residual = line.root * (seen - line.mean(coordinates))
    return State(coordinates, float(np.sqrt(residual @ residual / residual.size)))


def refit(line: Line, filled: Filled, divisor: float) -> State:
    """Line through filled-in values, and their spread around it."""
    coordinates = line.project(filled.value)
    residual = line.root * (filled.value - line.mean(coordinates))
    square = float(residual @ residual + line.root**2 @ filled.variance)
    return State(coordinates, float(np.sqrt(square / divisor)))


def moved(before: State, after: State, n_rows: int) -> float:
    """Step between two states: root mean square of the line's, or the scale's, per scale."""
    line = float(np.linalg.norm(after.coordinates - before.coordinates)) / np.sqrt(n_rows)
    return float(max(line, abs(after.scale - before.scale)) / after.scale)


def warn_unfinished(rule: str, max_iterations: int, step: float) -> str:
    """Say that an iteration was cut short."""
    sentence = (
        f"{rule} did not converge in max_iterations={max_iterations}: "
        f"its last step was {step:.1e} of the scale."
    )
    warnings.warn(sentence, ConvergenceWarning, stacklevel=6)
    return sentence


def _dense(features: Features, rule: str) -> Array:
    if isinstance(features, np.ndarray):
        return features
    size = features.shape[0] * features.shape[1]
    if size > _LARGEST:
        raise Unsupported(
            f"{rule} takes sparse features of up to {_LARGEST:,} entries, zeros included, "
            f"got {size:,}."
        )
    return np.asarray(features.toarray())


def _row_space(rows: Array) -> Array:
    """Orthonormal basis of what the rows span, as columns; the columns have a like scale."""
    triangle = linalg.qr(rows, mode="r")[0]
    _, values, right = linalg.svd(triangle, full_matrices=False)
    kept = values > max(rows.shape) * np.finfo(float).eps * values[0]
    return np.asarray(right[kept].T)


def _least_squares(design: Array, target: Array) -> Array:
    return np.asarray(linalg.lstsq(design, target)[0])


def _check_spread(design: Array, target: Array, observation: Array) -> None:
    residual = target - design @ _least_squares(design, target)
    if np.abs(residual).max() <= _EXACT * np.abs(observation).max(initial=0.0):
        raise InvalidInput(
            "y must vary around a linear function of X where it is not censored, "
            "got one without any spread."
        )
