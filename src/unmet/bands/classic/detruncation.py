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
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import erfcx, log_ndtr, ndtri, ndtri_exp
from sklearn.exceptions import ConvergenceWarning

from unmet.arrays import Array, Band, Features
from unmet.bands import constants as tuned
from unmet.bands.classic.quantiles import Flagged, LinearQuantiles, levels_of, shift_band
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.rule import BandRule
from unmet.checks import Constraint, Number, WholeNumber, read_parameters
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.features import Standardisation

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
            if size > tuned.LARGEST_DENSE:
                raise Unsupported(
                    f"{rule} takes sparse features of up to {tuned.LARGEST_DENSE:,} entries, zeros "
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

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.bands import EMBand
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(2000, 1))
    >>> demand = 50 + 30 * X[:, 0] + generator.normal(scale=10, size=2000)
    >>> stock = 50 + 30 * X[:, 0]
    >>> model = LinearDecision(Newsvendor(underage=9, overage=1), band=EMBand())
    >>> model.fit(X, np.minimum(demand, stock), stock=stock).predict([[0.5]]).round()  # truth: 78
    array([77.])
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

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.bands import ProjectionBand
    >>> sales, sold_out = [7.0, 9.0, 10.0, 10.0, 8.0], [False, False, True, True, False]
    >>> rule = ProjectionBand().fit(Newsvendor(9, 1), np.zeros((5, 1)), sales, censored=sold_out)
    >>> round(rule.intercept_, 2), round(rule.scale_, 2)
    (9.17, 1.75)
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
            if not state.scale <= tuned.DIVERGED * start.scale:
                raise InvalidInput(
                    f"tau must be larger where {flagged.share:.0%} of the rows are censored: at "
                    f"{self.tau} every step of ProjectionBand fills in more than the one before."
                )
        return state, done, step
