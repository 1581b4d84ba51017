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
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import ndtr, ndtri
from sklearn.exceptions import ConvergenceWarning

from unmet.arrays import Array, Band, Features
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.minimum_norm import shortest
from unmet.solvers.exact.scaling import Frame
from unmet.solvers.exact.solve import solve_path
from unmet.solvers.problem import HingeProblem

# --- The level a cost asks for, and linear quantiles of the observations at any level.

Levels: TypeAlias = NDArray[np.float64]

_MOST_LEVELS = 25  # more levels than these are interpolated between lines


def levels_of(cost: Cost, rule: str, n_rows: int) -> Levels:
    """Level α of each row: which quantile of the truth costs least.

    Parameters
    ----------
    cost : Cost
    rule : str
        Who asks, for the sentence of the error.
    n_rows : int
    """
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"{rule} needs a cost whose best decision is a quantile, such as Newsvendor, "
            f"and {type(cost).__name__} has no level: use AuditedBand."
        )
    level = np.broadcast_to(np.asarray(cost.level, dtype=np.float64), (n_rows,))
    inside = (level > 0) & (level < 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidInput(
            f"{rule} needs a cost whose level lies strictly between 0 and 1, got {level[row]}."
        )
    return level


def shift_band(truth: Array, observed: Array) -> Band:
    """Band without width, at the distance between two quantiles of a row; never below 0."""
    shift = np.maximum(truth - observed, 0.0)
    return Band(low=shift, high=shift)


class LinearQuantiles:
    """Linear quantile regressions of the observations, solved exactly when first asked for.

    A linear model trained on observations + ε, with ε = (any linear function) − (the line of its
    own level), returns that function: quantile regression is equivariant. So for linear models a
    rule that subtracts these lines gives exactly its own estimate of the truth's quantile, and
    other models keep what they know about the observations beyond a line.

    Parameters
    ----------
    sample : Rows
        Kept by reference, for levels that nobody has asked for yet.
    """

    def __init__(self, sample: Rows) -> None:
        self._features = sample.features
        self._observation = sample.observation
        self._share = sample.share
        self._lines: dict[float, Array] = {}

    def lines(self, levels: Levels) -> Array:
        """Coefficients of each level, the intercept last: shape (n_levels, n_features + 1)."""
        missing = sorted({float(level) for level in levels} - self._lines.keys())
        share = 1.0 / self._observation.size if self._share is None else self._share
        kinks = [
            Newsvendor.at_level(level).kinks(self._observation, None, share) for level in missing
        ]
        solutions = solve_path(self._features, kinks)
        for level, each, solution in zip(missing, kinks, solutions, strict=True):
            found = shortest(HingeProblem(self._features, each), solution)
            self._lines[level] = np.append(found.coefficients, found.intercept)
        return np.array([self._lines[float(level)] for level in levels])

    def predict(self, features: Features, level: Levels) -> Array:
        """Quantile of each row at its own level, shape (n_rows,)."""
        knots, place = np.unique(level, return_inverse=True)
        if knots.size > _MOST_LEVELS:
            return self._between(features, level)
        values = evaluate(self.lines(knots), features)
        return values[np.arange(level.size), place]

    def _between(self, features: Features, level: Levels) -> Array:
        """Interpolate in the normal score between lines: smoother there than in the level."""
        score = ndtri(level)
        knots = np.linspace(score.min(), score.max(), _MOST_LEVELS)
        position = np.interp(score, knots, np.arange(_MOST_LEVELS))
        left = np.minimum(position.astype(np.intp), _MOST_LEVELS - 2)
        values, rows = (
            evaluate(self.lines(np.asarray(ndtr(knots))), features),
            np.arange(level.size),
        )
        share = position - left
        mixed: Array = (1.0 - share) * values[rows, left] + share * values[rows, left + 1]
        return mixed


def evaluate(lines: Array, features: Features) -> Array:
    """Value of every line in every row, shape (n_rows, n_lines)."""
    values: Array = features @ lines[:, :-1].T + lines[:, -1]
    return values


# --- Rows of which it is known whether they are censored, for rules that cannot do without.


@dataclass(frozen=True)
class Flagged:
    """Rows with a flag.

    Attributes
    ----------
    sample : Rows
        Those rows only.
    censored : ndarray of shape (n_rows,), bool
        Whether the truth is at least the observation; otherwise it is the observation.
    n_unknown : int
        Rows that were left out because nobody knows whether they are censored.
    """

    sample: Rows
    censored: NDArray[np.bool_]
    n_unknown: int

    @classmethod
    def of(cls, sample: Rows, rule: str) -> Flagged:
        """Keep the rows with a flag; refuse data in which nothing, or no truth, is known."""
        if sample.censored is None:
            raise InvalidInput(
                f"censored must be given to {rule}, or stock, which says the same, got none."
            )
        known = np.flatnonzero(~np.isnan(sample.censored))
        kept = sample if known.size == sample.n_rows else sample.take(known)
        assert kept.censored is not None
        flags = kept.censored > 0
        if flags.all():
            raise InvalidInput(
                f"censored must be False in at least one row for {rule}, "
                f"got True in all {flags.size} rows that have a flag."
            )
        return cls(kept, flags, sample.n_rows - known.size)

    @property
    def share(self) -> float:
        """Weighted share of censored rows."""
        return float(np.average(self.censored, weights=self.sample.share))

    def diagnosis(self, rule: str, *notes: str, identified: Identified = "yes") -> Diagnosis:
        """Say what a rule found that takes flags for what they are."""
        if self.n_unknown:
            left_out = (
                f"{self.n_unknown} rows without a flag were left out, as if chance had decided "
                "which rows have one."
            )
            notes = (*notes, left_out)
        return Diagnosis(
            rule=rule,
            n_rows=self.sample.n_rows,
            share_censored=self.share,
            identified="weakly" if self.n_unknown and identified == "yes" else identified,
            notes=notes,
        )


# --- Normal truth around a linear mean, with the censored values filled in again and again.

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


def warn_unfinished(rule: str, max_iter: int, step: float) -> str:
    """Say that an iteration was cut short."""
    sentence = (
        f"{rule} did not converge in max_iter={max_iter}: "
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
