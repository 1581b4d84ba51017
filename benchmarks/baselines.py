"""Classic rules to compare with: quantile tails, EM, projection detruncation, Kaplan–Meier weights.

`QuantileTailBand` takes the lower quantiles, which are seldom censored, and extends them. `EMBand`
and `ProjectionBand`, the detruncation methods of revenue management, guess the distribution of the
truth, replace every censored observation by what that distribution says about values above it, fit
a line to the filled-in values, take their spread, and repeat until nothing moves. A censored row
only says "at least", so the mean can only be learned in directions of the features that seen rows
have; in the others it is held at the least-squares fit to the observations themselves.
`KaplanMeierBand` weighs similar rows by the product-limit estimate.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, ndtri_exp
from sklearn.exceptions import ConvergenceWarning

from unmet.arrays import Array, Band, Features, read_array
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.rule import BandRule, line_between
from unmet.checks import Constraint, Number, OneOf, TrueOrFalse, WholeNumber, read_parameters
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.features import Standardisation, groups_of, minimum_norm
from unmet.solvers.exact.path import solve_path
from unmet.solvers.problem import HingeProblem

#: More levels than these are interpolated between lines; each line is one exact fit.
MOST_LINES = 25
#: Share of censored rows below the highest quantile of `QuantileTailBand` that does no harm.
TOUCHED = 0.02
#: Entries of sparse features for which a dense copy is acceptable: 800 MB.
LARGEST_DENSE = 100_000_000
#: Times the first spread at which projection counts as diverged: no fixed point is that far off.
DIVERGED = 1e4
#: Neighbours looked at together by `KaplanMeierBand`: 16 MB per array.
NEIGHBOURS_AT_A_TIME = 1 << 21
#: Training rows for which its diagnosis checks how high the estimate goes.
ROWS_LOOKED_AT = 500

_LOWER = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


def levels_of(cost: Cost, rule: str, n_rows: int) -> Array:
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
    rows : Rows
        Kept by reference, for levels that nobody has asked for yet.
    """

    def __init__(self, rows: Rows) -> None:
        self._features = rows.features
        self._observation = rows.observation
        self._share = rows.share
        self._lines: dict[float, Array] = {}

    def lines(self, levels: Array) -> Array:
        """Coefficients of each level, the intercept last: shape (n_levels, n_features + 1)."""
        missing = sorted({float(level) for level in levels} - self._lines.keys())
        if not self._observation.size:
            between = {level: line_between(level, self._lines) for level in missing}
            return np.array([(between | self._lines)[float(level)] for level in levels])
        share = 1.0 / self._observation.size if self._share is None else self._share
        kinks = [
            Newsvendor.at_level(level).kinks(self._observation, None, share) for level in missing
        ]
        solutions = solve_path(self._features, kinks)
        for level, each, solution in zip(missing, kinks, solutions, strict=True):
            found = minimum_norm(HingeProblem(self._features, each), solution)
            self._lines[level] = np.append(found.coefficients, found.intercept)
        return np.array([self._lines[float(level)] for level in levels])

    def predict(self, features: Features, level: Array) -> Array:
        """Quantile of each row at its own level, shape (n_rows,)."""
        knots, place = np.unique(level, return_inverse=True)
        rows, n_knots = np.arange(level.size), MOST_LINES
        if knots.size <= n_knots:
            return evaluate(self.lines(knots), features)[rows, place]
        # interpolate in the normal score between lines: smoother there than in the level
        score = ndtri(level)
        scores = np.linspace(score.min(), score.max(), n_knots)
        position = np.interp(score, scores, np.arange(n_knots))
        left = np.minimum(position.astype(np.intp), n_knots - 2)
        values, share = evaluate(self.lines(np.asarray(ndtr(scores))), features), position - left
        return np.asarray((1.0 - share) * values[rows, left] + share * values[rows, left + 1])


def evaluate(lines: Array, features: Features) -> Array:
    """Value of every line in every row, shape (n_rows, n_lines)."""
    values: Array = features @ lines[:, :-1].T + lines[:, -1]
    return values


@dataclass(frozen=True)
class Flagged:
    """Rows with a flag.

    Attributes
    ----------
    rows : Rows
        Those rows only.
    censored : ndarray of shape (n_rows,), bool
        Whether the truth is at least the observation; otherwise it is the observation.
    n_unknown : int
        Rows that were left out because nobody knows whether they are censored.
    """

    rows: Rows
    censored: NDArray[np.bool_]
    n_unknown: int

    @classmethod
    def of(cls, rows: Rows, rule: str) -> Flagged:
        """Keep the rows with a flag; refuse data in which nothing, or no truth, is known."""
        if rows.censored is None:
            raise InvalidInput(
                f"censored must be given to {rule}, or stock, which says the same, got none."
            )
        known = np.flatnonzero(~np.isnan(rows.censored))
        kept = rows if known.size == rows.n_rows else rows.take(known)
        assert kept.censored is not None
        flags = kept.censored > 0
        if flags.all():
            raise InvalidInput(
                f"censored must be False in at least one row for {rule}, "
                f"got True in all {flags.size} rows that have a flag."
            )
        return cls(kept, flags, rows.n_rows - known.size)

    @property
    def share(self) -> float:
        """Weighted share of censored rows."""
        return float(np.average(self.censored, weights=self.rows.share))

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
            n_rows=self.rows.n_rows,
            share_censored=self.share,
            identified="weakly" if self.n_unknown and identified == "yes" else identified,
            notes=notes,
        )


class QuantileTailBand(BandRule):
    """Quantiles below the reach of censoring, extended to the level of the cost.

    Low values are seldom censored: who sells little was not sold out. So the lower quantiles of the
    observations are those of the truth. They are regressed on the features, each coefficient is
    fitted by a straight line in the normal score z of its level, and the line is read at the level
    of the cost. ε of a row is that quantile minus the linear quantile of the observations at the
    same level, and never below 0. It needs no flags and no model of the orders.

    Assumes that truth is normal given the features, with mean and spread both linear in them, and
    that censoring does not touch the quantiles at `levels`. Orders that are often far below the
    usual demand break the second assumption; then ε is too small.

    Parameters
    ----------
    levels : sequence of float, default=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
        At least two different levels, strictly between 0 and 1, that censoring does not touch.

    Attributes
    ----------
    coef_, coef_scale_ : ndarray of shape (n_features,)
    intercept_, intercept_scale_ : float
        Mean of the truth, ``x'coef_ + intercept_``, and its spread,
        ``x'coef_scale_ + intercept_scale_``.
    """

    def __init__(
        self, levels: Sequence[float] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
    ) -> None:
        self.levels = levels

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        levels_of(rows.cost, "QuantileTailBand", rows.n_rows)
        levels = np.unique(read_array("levels", self.levels))
        if levels.size < 2 or levels[0] <= 0 or levels[-1] >= 1:
            raise InvalidInput(
                "levels must be at least two different numbers strictly between 0 and 1, "
                f"got {self.levels!r}."
            )
        self._observed = LinearQuantiles(rows)
        lines = self._observed.lines(levels)
        score = np.column_stack([np.ones(levels.size), ndtri(levels)])
        self._mean, self._scale = np.linalg.lstsq(score, lines, rcond=None)[0]
        self.coef_, self.intercept_ = self._mean[:-1], float(self._mean[-1])
        self.coef_scale_, self.intercept_scale_ = self._scale[:-1], float(self._scale[-1])
        notes, share = (
            [
                f"Assumed that truth is normal given the features, and that no row below its "
                f"{levels[-1]:g}-quantile is censored."
            ],
            None,
        )
        if rows.censored is not None:  # how far flags bear it out
            known = ~np.isnan(rows.censored)
            flags, weight = rows.censored[known], rows.weight[known]
            share = float(np.average(flags, weights=weight))
            below = rows.observation < evaluate(lines[-1:], rows.features)[:, 0]
            inside, touched = float(weight @ below[known]), float(flags @ (weight * below[known]))
            if touched > TOUCHED * inside:
                notes.append(
                    f"Of the rows below that quantile {touched / inside:.0%} are flagged as "
                    "censored, so ε is too small: use EMBand, or lower levels."
                )
        return Diagnosis(
            rule="QuantileTailBand", n_rows=rows.n_rows, share_censored=share, notes=tuple(notes)
        )

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "QuantileTailBand", features.shape[0])
        mean, scale = evaluate(np.stack([self._mean, self._scale]), features).T
        return shift_band(mean + ndtri(level) * scale, self._observed.predict(features, level))


# --- A normal truth, with the censored values filled in again and again.


_EXACT = 1e-12  # a spread around the line below this share of the observations' size is rounding


class State(NamedTuple):
    """Where an iteration stands: coordinates of the mean, and the spread around it."""

    coordinates: Array
    scale: float


@dataclass(frozen=True)
class LeastSquaresLine:
    """Least squares on the same rows, for one target after another.

    Attributes
    ----------
    frame : Standardisation
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

    frame: Standardisation
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

    def mean(self, coordinates: Array) -> Array:
        """Value of the line in every row."""
        return np.asarray(self.offset + (self.basis @ coordinates) / self.root)

    def refit(self, value: Array, variance: Array | float, divisor: float) -> State:
        """Line of least squares through filled-in values that vary, and their spread around it."""
        coordinates = np.asarray(self.basis.T @ (self.root * (value - self.offset)))
        residual = self.root * (value - self.mean(coordinates))
        square = float(residual @ residual)
        if isinstance(variance, np.ndarray):
            square = float(residual @ residual + self.root**2 @ variance)
        return State(coordinates, float(np.sqrt(square / divisor)))

    def coefficients(self, coordinates: Array) -> tuple[Array, float]:
        """Raw coefficients and intercept."""
        inner = self.known @ linalg.solve_triangular(self.triangle, coordinates)
        return self.frame.to_raw(self.start + inner)

    @classmethod
    def of(cls, flagged: Flagged, rule: str) -> LeastSquaresLine:
        """Prepare least squares; refuse rows that leave no spread to estimate."""
        features, target = flagged.rows.features, flagged.rows.observation
        if not isinstance(features, np.ndarray):
            size = features.shape[0] * features.shape[1]
            if size > LARGEST_DENSE:
                raise Unsupported(
                    f"{rule} takes sparse features of up to {LARGEST_DENSE:,} entries, zeros "
                    f"included, got {size:,}."
                )
            features = np.asarray(features.toarray())
        frame = Standardisation.of(features, intercept=True)
        root, seen = np.sqrt(flagged.rows.weight), ~flagged.censored
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
            start = everywhere @ linalg.lstsq(design @ everywhere, root * target)[0]
            offset = design @ start / root
        inner = design @ known
        left = (root * (target - offset))[seen]
        left = left - inner[seen] @ linalg.lstsq(inner[seen], left)[0]
        if np.abs(left).max() <= _EXACT * np.abs(target).max(initial=0.0):
            raise InvalidInput(
                "y must vary around a linear function of X where it is not censored, "
                "got one without any spread."
            )
        basis, triangle = np.linalg.qr(inner)
        return cls(frame, known, basis, triangle, root, start, offset, n_held)


def _row_space(rows: Array) -> Array:
    """Orthonormal basis of what the rows span, as columns; the columns have a like scale."""
    triangle = linalg.qr(rows, mode="r")[0]
    _, values, right = linalg.svd(triangle, full_matrices=False)
    kept = values > max(rows.shape) * np.finfo(float).eps * values[0]
    return np.asarray(right[kept].T)


class _NormalBand(BandRule):
    """A normal truth, learned by filling in what flags say is hidden."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "tol": Number(above=0, below=1),
        "max_iter": WholeNumber(1),
    }

    @abstractmethod
    def _iterate(self, line: LeastSquaresLine, flagged: Flagged) -> tuple[State, int, float]:
        """Fill in and refit until nothing moves: where it ends, steps taken, size of the last."""

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        name = type(self).__name__
        levels_of(rows.cost, name, rows.n_rows)
        read_parameters(self._constraints, self)
        flagged = Flagged.of(rows, name)
        line = LeastSquaresLine.of(flagged, name)
        (coordinates, self.scale_), self.n_iter_, step = self._iterate(line, flagged)
        self.coef_, self.intercept_ = line.coefficients(coordinates)
        self._observed = LinearQuantiles(rows)
        notes = [f"Normal truth with a spread of {self.scale_:.4g} around a linear mean."]
        if step > self.tol:
            notes.append(
                f"{name} did not converge in max_iter={self.max_iter}: "
                f"its last step was {step:.1e} of the scale."
            )
            warnings.warn(notes[-1], ConvergenceWarning, stacklevel=5)
        if line.n_held:
            notes.append(
                f"In {line.n_held} of {line.n_held + line.rank} directions of the features every "
                "row is censored, so the truth there may lie at any distance above; "
                "the least possible was taken."
            )
        return flagged.diagnosis(name, *notes)

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, type(self).__name__, features.shape[0])
        truth = features @ self.coef_ + self.intercept_ + self.scale_ * ndtri(level)
        return shift_band(np.asarray(truth), self._observed.predict(features, level))

    tol: float
    max_iter: int


def _moved(before: State, after: State, n_rows: int) -> float:
    """Step between two states: root mean square of the line's, or the scale's, per scale."""
    line = float(np.linalg.norm(after.coordinates - before.coordinates)) / np.sqrt(n_rows)
    return float(max(line, abs(after.scale - before.scale)) / after.scale)


class EMBand(_NormalBand):
    """Maximum likelihood of normal truth that is known to be censored in some rows (Tobit).

    Truth is normal around a linear mean, with the same spread everywhere; rows flagged as censored
    say "at least this much". The expectation–maximisation algorithm (Dempster, Laird & Rubin 1977;
    in revenue management Salch 1997, Weatherford & Pölt 2002) fills in the mean of what lies above,
    refits and repeats; its limit is the maximum of the likelihood. ε of a row is the α-quantile of
    that truth minus the linear α-quantile of the observations, and never below 0.

    Assumes normal truth, a linear mean, one spread for all rows, and flags that are right.

    Parameters
    ----------
    tol : float, default=1e-10
        Stop when a step moves mean and spread by less than this share of the spread.
    max_iter : int, default=2000
        Most steps of the algorithm; a warning says when they were not enough.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
        Mean and spread of the truth.
    n_iter_ : int

    Notes
    -----
    Convergence is linear, and slow where much is censored; two steps are therefore extrapolated
    into a third (SQUAREM, Varadhan & Roland 2008), which is kept only if the likelihood is higher.
    """

    def __init__(self, *, tol: float = 1e-10, max_iter: int = 2000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _iterate(self, line: LeastSquaresLine, flagged: Flagged) -> tuple[State, int, float]:
        """Take steps in pairs, each followed by a leap."""
        observation, weight = flagged.rows.observation, flagged.rows.weight
        n_rows, at = observation.size, np.flatnonzero(flagged.censored)

        def step(state: State) -> State:
            """Fill in conditional means, and refit: one E-step and one M-step."""
            value, variance = observation.copy(), np.zeros(n_rows)
            mean = line.mean(state.coordinates)[at]
            limit = (observation[at] - mean) / state.scale
            with np.errstate(
                over="ignore"
            ):  # far below every value nothing is cut off: 1 / inf = 0
                # E[Z | Z > limit] = φ / (1 − Φ) of a standard normal Z, without under- or overflow
                hazard = np.sqrt(2.0 / np.pi) / erfcx(limit / np.sqrt(2.0))
            value[at] = mean + state.scale * hazard
            # Var[Z | Z > a] = 1 − λ(λ − a): in (0, 1), but for rounding far out
            variance[at] = state.scale**2 * np.clip(1.0 - hazard * (hazard - limit), 0.0, 1.0)
            return line.refit(value, variance, float(n_rows))

        def log_likelihood(state: State) -> float:
            """Per row, but for a constant."""
            score = (observation - line.mean(state.coordinates)) / state.scale
            each = -0.5 * score**2 - np.log(state.scale)
            each[at] = log_ndtr(-score[at])
            return float(weight @ each / n_rows)

        state, done = line.refit(observation, 0.0, float(n_rows)), 0
        while True:
            first = step(state)
            size = _moved(state, first, n_rows)
            if size <= self.tol or done + 3 > self.max_iter:
                return first, done + 1, size
            second = step(first)
            leap = _extrapolated(state, first, second, n_rows)
            third = second if leap is None else step(leap)
            done += 3
            state = third if log_likelihood(third) >= log_likelihood(second) else second


def _extrapolated(start: State, first: State, second: State, n_rows: int) -> State | None:
    """Squared extrapolation of two steps (scheme S3), with the scale in logarithms."""
    unit = start.scale * np.sqrt(n_rows)  # brings both parts of a state to a like size
    points = [
        np.append(each.coordinates / unit, np.log(each.scale)) for each in (start, first, second)
    ]
    step = points[1] - points[0]
    turn = (points[2] - points[1]) - step
    bend = float(np.linalg.norm(turn))
    if not bend > 0:
        return None
    length = max(float(np.linalg.norm(step)) / bend, 1.0)
    far = points[0] + 2.0 * length * step + length**2 * turn
    if not abs(far[-1] - points[2][-1]) < 2.0:  # a scale several times off helps nobody
        return None
    return State(far[:-1] * unit, float(np.exp(far[-1])))


class ProjectionBand(_NormalBand):
    """Projection detruncation around a linear mean.

    Hopp's method, described by Weatherford & Pölt (2002) and used by airlines beside EM: for normal
    truth with the current mean and spread, a censored observation is replaced by the value that is
    exceeded with probability `tau`, given that the truth is at least the observation; then mean and
    spread are those of the filled-in values, until nothing moves. Their mean is here a line in the
    features. ε of a row is the α-quantile of that truth minus the linear α-quantile of the
    observations, and never below 0.

    Assumes what `EMBand` assumes. It is no maximum likelihood: filled-in values do not vary, so the
    spread comes out too small when much is censored. A smaller `tau` makes up for it, up to the
    point where every step fills in more than the one before, which is refused.

    Parameters
    ----------
    tau : float, default=0.5
        Between 0 and 1, exclusive. At 0.5 the median of what lies above is filled in; the smaller,
        the more demand is believed to be hidden.
    tol : float, default=1e-10
        Stop when a step moves mean and spread by less than this share of the spread.
    max_iter : int, default=2000
        Most steps; a warning says when they were not enough.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
        Mean and spread of the truth.
    n_iter_ : int
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "tau": Number(above=0, below=1),
        **_NormalBand._constraints,
    }

    def __init__(self, tau: float = 0.5, *, tol: float = 1e-10, max_iter: int = 2000) -> None:
        self.tau = tau
        self.tol = tol
        self.max_iter = max_iter

    def _iterate(self, line: LeastSquaresLine, flagged: Flagged) -> tuple[State, int, float]:
        at, observation = np.flatnonzero(flagged.censored), flagged.rows.observation
        n_rows = observation.size
        start = state = line.refit(observation, 0.0, float(n_rows))
        step, done = np.inf, 0
        while step > self.tol and done < self.max_iter:
            # the value that is exceeded with probability tau by a normal truth above its limit; in
            # logarithms, since what lies above a limit may be too rare for a float
            filled, mean = observation.copy(), line.mean(state.coordinates)[at]
            rest = log_ndtr((mean - filled[at]) / state.scale) + np.log(self.tau)
            filled[at] = mean - state.scale * ndtri_exp(rest)
            after = line.refit(filled, 0.0, float(n_rows - line.rank))
            step, state, done = _moved(state, after, n_rows), after, done + 1
            if not state.scale <= DIVERGED * start.scale:
                raise InvalidInput(
                    f"tau must be larger where {flagged.share:.0%} of the rows are censored: at "
                    f"{self.tau} every step of ProjectionBand fills in more than the one before."
                )
        return state, done, step


# --- Kaplan–Meier weights.


Similarity: TypeAlias = Literal["nearest", "kernel"]

_ROUNDING = 1e-12
_PARAMETERS = {
    "neighbours": WholeNumber(1),
    "similarity": OneOf("nearest", "kernel"),
    "centred": TrueOrFalse(),
}


class Reached(NamedTuple):
    """Quantiles of several groups, and whether the estimate goes as high as the level asked for."""

    value: Array
    reached: NDArray[np.bool_]


def in_order(value: Array, censored: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Sort by value, seen ones before censored ones where they tie: those were above it."""
    return np.lexsort((censored, value))


def product_limit_quantile(
    value: Array, censored: NDArray[np.bool_], weight: Array, level: Array
) -> Reached:
    """Smallest value at which the estimated distribution of the truth reaches a level.

    For values of a group `in_order` and weights w (Bertsimas & Kallus 2020, for censored data;
    equal ones give the estimate of Kaplan & Meier)::

        1 − F(t) = Π_{j: t_j ≤ t, seen} (1 − w_j / Σ_{l ≥ j} w_l)

    Parameters
    ----------
    value, censored, weight : ndarray of shape (n_groups, n_members)
        Every group in order; non-negative weights, some of them positive in every group.
    level : ndarray of shape (n_groups,)
        Between 0 and 1.

    Returns
    -------
    Reached
        Where the largest values are censored, the estimate may end below the level; then the
        largest value is returned, which is no more than a lower bound.
    """
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    factor = np.ones(value.shape)
    np.divide(at_risk - weight, at_risk, out=factor, where=~censored & (weight > 0))
    above = np.cumprod(factor, axis=1)
    enough = above <= (1.0 - level + _ROUNDING)[:, None]
    reached = np.asarray(enough.any(axis=1))
    last = value.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    place = np.where(reached, np.argmax(enough, axis=1), last)
    return Reached(value[np.arange(len(value)), place], reached)


def weighted_quantile(value: Array, weight: Array, level: Array) -> Array:
    """Smallest value at which the weights, taken as a distribution, reach a level.

    The same as `product_limit_quantile` when nothing is censored, and the same shapes.
    """
    nothing = np.zeros(value.shape, dtype=np.bool_)
    return product_limit_quantile(value, nothing, weight, level).value


# --- Which training rows are like a row, and how much each of them counts.


@dataclass(frozen=True)
class Nearest:
    """The nearest rows, in features scaled to unit variance.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), or csr_array
        Training rows, scaled.
    most : int
        Number of similar rows.
    scale : ndarray of shape (n_features,)
    falling : bool
        Whether weights fall with the distance (Cleveland's tricube) or are equal.
    """

    rows: Any
    most: int
    scale: Array
    falling: bool

    @classmethod
    def of(cls, features: Features, neighbours: int, *, falling: bool) -> Nearest:
        """Learn the training rows."""
        if isinstance(features, np.ndarray):
            peak = np.abs(features).max(axis=0)
            peak[peak == 0] = 1.0  # squares of huge features would overflow
            deviation = peak * (features / peak).std(axis=0)
        else:
            mean, square = features.mean(axis=0), features.multiply(features).mean(axis=0)
            deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
            peak = abs(features).max(axis=0).toarray().ravel()
        scale = np.where(deviation > 1e-14 * peak, deviation, 1.0)  # 1 where a column is constant
        count = min(neighbours, features.shape[0])
        return cls(_divided(features, scale), count, scale, falling)

    @cached_property
    def _search(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # slow to import, seldom needed

        return NearestNeighbors(n_neighbors=self.most).fit(self.rows)

    def similar(self, features: Features) -> tuple[NDArray[np.intp], Array]:
        """Find indices of training rows, rising in each line, and weights: (n_rows, most)."""
        distance, index = self._search.kneighbors(_divided(features, self.scale))
        order = np.argsort(index, axis=1)
        index = np.take_along_axis(index, order, axis=1)
        if not self.falling:
            return index, np.ones(index.shape)
        farthest = distance[:, -1:]
        share = np.divide(distance, farthest, out=np.zeros_like(distance), where=farthest > 0)
        # rows at the very distance of the last still count a little, should all be there
        weight = np.maximum((1.0 - share**3) ** 3, 1e-6)
        return index, np.take_along_axis(weight, order, axis=1)


def _divided(features: Features, scale: Array) -> Any:
    if isinstance(features, np.ndarray):
        return features / scale
    return sparse.csr_array(features.multiply(1.0 / scale))


class KaplanMeierBand(BandRule):
    """Conditional quantiles of the truth from flagged rows, by Kaplan–Meier weights.

    Bertsimas & Kallus (2020) decide for a row by weights on the training rows that are like it, and
    correct the weights for censoring by the product-limit estimate of Kaplan & Meier (1958). ε of a
    row is the α-quantile of the truth under the corrected weights minus that of the observations
    under the plain ones; it is never below 0.

    Assumes that flags are right, and that among similar rows censoring does not depend on the
    truth. No family is assumed, so nothing is known above the largest value that was seen: where
    orders were always the same for the same features, no truth above them was ever seen, and the
    estimate ends there. The diagnosis says so; ε is then a lower bound.

    Parameters
    ----------
    neighbours : int, default=200
        Number of similar rows, at most all of them.
    similarity : {"nearest", "kernel"}, default="nearest"
        "nearest" gives the nearest rows equal weights, in features scaled to unit variance;
        "kernel" lets the weights fall with the distance (tricube, zero at the last neighbour).
    centred : bool, default=True
        Compare deviations from a linear median of the observations, so that rows may be like each
        other whose levels are not. False compares observations, as in the paper; then rows count
        as similar only if the level is, too, and wide neighbourhoods do harm.
    """

    def __init__(
        self,
        neighbours: int = 200,
        *,
        similarity: Similarity = "nearest",
        centred: bool = True,
    ) -> None:
        self.neighbours = neighbours
        self.similarity = similarity
        self.centred = centred

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        level = levels_of(rows.cost, "KaplanMeierBand", rows.n_rows)
        read_parameters(_PARAMETERS, self)
        flagged = Flagged.of(rows, "KaplanMeierBand")
        value = flagged.rows.observation
        if self.centred:
            median = np.full(value.size, 0.5)
            value = value - LinearQuantiles(flagged.rows).predict(flagged.rows.features, median)
        order = in_order(value, flagged.censored)
        self._value, self._censored = value[order], flagged.censored[order]
        self._weight = flagged.rows.weight[order]
        features = flagged.rows.features[order]
        falling = self.similarity == "kernel"
        self._similar = Nearest.of(features, self.neighbours, falling=falling)
        # in how many rows the estimate ends below the level
        some = np.unique(np.linspace(0, level.size - 1, ROWS_LOOKED_AT).astype(np.intp))
        reached = [truth.reached for truth, _ in self._parts(rows.features[some], level[some])]
        short = 1.0 - float(np.concatenate(reached).mean())
        if not short:
            return flagged.diagnosis("KaplanMeierBand")
        note = (
            f"In {max(short, 0.01):.0%} of the rows the estimate ends below the level of the cost, "
            "because the largest values of similar rows are censored; ε is a lower bound there."
        )
        identified: Identified = "weakly" if short < 0.5 else "no"
        return flagged.diagnosis("KaplanMeierBand", note, identified=identified)

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "KaplanMeierBand", features.shape[0])
        groups = None
        if isinstance(features, np.ndarray) and not np.ptp(level):
            groups = groups_of(features)  # categories repeat: decide once for equal rows
        if groups is not None:
            features, level = features[groups.first], level[groups.first]
        parts = [(truth.value, seen) for truth, seen in self._parts(features, level)]
        truth, seen = (np.concatenate(each) for each in zip(*parts, strict=True))
        if groups is not None:
            truth, seen = truth[groups.group], seen[groups.group]
        return shift_band(truth, seen)

    def _parts(self, features: Features, level: Array) -> Iterator[tuple[Reached, Array]]:
        """Quantiles of truth and observation, some rows at a time."""
        size = max(1, NEIGHBOURS_AT_A_TIME // self._similar.most)
        for first in range(0, features.shape[0], size):
            part = slice(first, first + size)
            index, weight = self._similar.similar(features[part])
            weight = weight * self._weight[index]
            value = self._value[index]
            truth = product_limit_quantile(value, self._censored[index], weight, level[part])
            yield truth, weighted_quantile(value, weight, level[part])
