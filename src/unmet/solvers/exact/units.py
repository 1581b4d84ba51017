"""Numbers of any size: units by powers of two, what is promised of them, and fractions.

**Ordinary numbers.** The interior point squares residuals and features, adds slopes up, and
compares gaps with the size of the kinks. All of that is safe for numbers that are `Size.ORDINARY`:
largest entries of every column and largest kinks within 2^±100, ends of a band no more than 2^20
times farther away than the other ends, slopes (cost times weight) within a factor of 2^20 of each
other.

**Units.** Other problems are brought there first. A factor 2^k per column, one for all kinks and
one for all slopes are exact in float64, and so is the way back: what is proved in the new units is
proved of the problem as it was given. Where a coefficient does not come back as the same number,
float64 cannot hold it (1e-200 for each 1e200 of a feature), and nothing is handed on.

**Fractions.** Slopes over 200 decades, entries of one column over 20, a band from 1e-100 to 1e100:
there a duality gap in float64 is rounding, and says nothing. Small problems of this kind are solved
in rational arithmetic by the simplex method of Barrodale and Roberts (1973): a vertex is where as
many kinks as there are parameters hold their decisions; with y the slopes of all other rows,
A'y = 0 gives the multipliers of these kinks, and one outside its box [−below, above] shows which
kink to leave, and in which direction. The walk goes on past kinks until the slope turns. Kinks are
moved apart by infinitesimals, or ties would let it cycle. The multipliers prove −b'y as a lower
bound. What is lost then is lost by rounding the coefficients to float64, one by one, each to the
side where it costs less given the others; the gap says how much that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Features
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput
from unmet.solvers import constants
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]
Whole = NDArray[np.intp]

FORBIDDING = 2.0**900  # a penalty in units near one that leaves a coefficient no choice
_LAST_DIGITS = Fraction(1, 2**49)  # eight roundings of float64
_PRIME = 2**61 - 1

# What docs/explanation/promises.md says at length.
RANGE = (
    "what is promised holds for numbers between 1e-140 and 1e140 in size (or zero), with costs "
    "times weights within a factor of 1e6 of each other"
)


# --- How large the numbers of a problem are.


class Size(Enum):
    """What arithmetic the numbers of a problem allow."""

    ORDINARY = "float64 as it is"
    UNEVEN = "slopes too far apart for a gap to be compared with the size of the kinks"
    WILD = "squares may overflow or vanish, or kinks lie too far apart"


def size_of(problem: HingeProblem, columns: bool | None = None) -> Size:
    """Look at the largest numbers, and at the smallest where that costs little.

    `columns` says what `moderate_columns` does of the features, where that is known.
    """
    kinks = problem.kinks
    ends = np.maximum(kinks.position.max(axis=1), -kinks.position.min(axis=1))
    if not np.isfinite(ends).all():
        raise InvalidInput("y and the ends of the band must have finite sums, got inf or nan.")
    seen = ends[ends > 0]
    if seen.size and not moderate(seen):
        return Size.WILD
    if seen.size > 1 and seen.max() > constants.FAR_ENDS * seen.min():
        return Size.WILD
    top = max(float(kinks.below.max()), float(kinks.above.max()))
    if not (constants.SMALLEST_SLOPE < top < constants.LARGEST_SLOPE):
        return Size.WILD
    if not (moderate_columns(problem.features) if columns is None else columns):
        return Size.WILD
    for penalty in (problem.ridge, problem.lasso):
        if penalty is not None and penalty.any() and not moderate(penalty[penalty > 0]):
            return Size.WILD
    return Size.UNEVEN if top > constants.UNEVEN_SLOPES * _least(kinks) else Size.ORDINARY


def _least(kinks: Kinks) -> float:
    """Smallest slope that is not zero."""
    least = np.inf
    for slopes in (kinks.below, kinks.above):
        smallest = float(slopes.min())
        if not smallest > 0:
            smallest = float(slopes.min(where=slopes > 0, initial=np.inf))
        least = min(least, smallest)
    return least


def moderate(sizes: Array) -> bool:
    """Whether squares of all of these stay inside float64."""
    return bool(sizes.min() > constants.SMALLEST_SIZE and sizes.max() < constants.LARGEST_SIZE)


def moderate_columns(features: Features) -> bool:
    """Whether columns are neither tiny nor huge, nor, where it is quick to see, both at once."""
    if isinstance(features, np.ndarray):
        rows = features
        if rows.size > constants.SIZE_ENTRIES:  # one more pass over many rows would be felt
            rows = rows[:: rows.size // constants.SIZE_ENTRIES + 1]
        if not rows.size:
            return True
        sizes = np.maximum(rows.max(axis=0), -rows.min(axis=0))
        entries = rows.ravel() if rows.size <= constants.SMALL_ENTRIES else None
    else:
        entries = np.asarray(features.data)
        if not entries.size:
            return True
        sizes = np.maximum(entries.max(keepdims=True), -entries.min(keepdims=True))
        if entries.size > constants.SMALL_ENTRIES:
            entries = None
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return True
    if not moderate(sizes):
        return False
    if entries is None:
        return True
    size = np.abs(entries)
    smallest = float(size.min(where=size > 0, initial=np.inf))
    return smallest > constants.SMALLEST_SIZE * float(size.max())


def best_constant(problem: HingeProblem) -> float:
    """Cost of the best decision that is the same for all rows; of 0 where there is no intercept."""
    position, below, above = (
        np.asarray(each).ravel()
        for each in (problem.kinks.position, problem.kinks.below, problem.kinks.above)
    )
    level = 0.0
    if problem.fit_intercept:
        order = np.argsort(position, kind="stable")
        # From both ends, for slopes over 20 decades: each side adds up numbers of one kind, and
        # light rows count beside a heavy one wherever that costs nothing.
        left = np.cumsum(above[order])
        right = np.append(np.cumsum(below[order][:0:-1])[::-1], 0.0)
        level = float(position[order[int(np.argmax(left >= right))]])
    residual = level - position
    return float(np.where(residual > 0, above * residual, -below * residual).sum())


def free_constant(problem: HingeProblem) -> Solution | None:
    """One decision for all rows, if it costs nothing: then no penalty can change that.

    In the middle of all such decisions, as far as can be from kinks that may be steep.
    """
    few = slice(constants.FREE_ROWS)  # where no decision is free for all, it mostly shows here
    if _free_level(problem, few) is None:
        return None
    level = _free_level(problem, slice(None))
    if level is None:
        return None
    nothing = np.zeros(problem.features.shape[1])
    return Solution(nothing, level, 0.0, 0.0, 0.0, 0, 1.0, "constant")


def _free_level(problem: HingeProblem, rows: slice) -> float | None:
    """Decision that costs nothing in any of these rows."""
    kinks = problem.kinks
    position = kinks.position[:, rows]
    lowest = float(position.max(where=kinks.below[:, rows] > 0, initial=-np.inf))
    highest = float(position.min(where=kinks.above[:, rows] > 0, initial=np.inf))
    level = 0.0
    if problem.fit_intercept:
        ends = [end for end in (lowest, highest) if np.isfinite(end)]
        level = sum(end / len(ends) for end in ends)
    return level if lowest <= level <= highest else None


def cost_of_digits(problem: HingeProblem, coefficients: Array, intercept: float) -> float:
    """Price the last digits: what missing each decision by those of its terms would cost."""
    features, kinks = problem.features, problem.kinks
    decision = features @ coefficients + intercept
    terms = abs(features) @ np.abs(coefficients) + abs(intercept)
    miss = np.finfo(float).eps * terms
    here = kinks.value(decision)
    dearer = np.maximum(kinks.value(decision + miss), kinks.value(decision - miss))
    return float(np.maximum(dearer - here, 0.0).sum())


# --- Units.


@dataclass(frozen=True)
class Scaled:
    """A problem in units near one, and the way back.

    Attributes
    ----------
    problem : HingeProblem
        Column j is the given one divided by 2^column[j], kinks by 2^height, slopes by 2^slope.
    column : ndarray of shape (n_features,)
    height, slope : int
    """

    problem: HingeProblem
    column: Whole
    height: int
    slope: int

    @classmethod
    def of(cls, problem: HingeProblem) -> Scaled:
        """Units by the largest entry of each column, the median row's kinks, the largest slope."""
        kinks = problem.kinks
        column = exponents_of(column_sizes(problem.features))
        # The nearest kink of each row: an end of a band at 1e100 says nothing of the others.
        near = np.abs(kinks.position).min(axis=0)
        largest = float(near.max())
        if not largest > 0:
            largest = float(np.abs(kinks.position).max())
        height = int(exponents_of(np.array([largest]))[0])
        slope = int(
            exponents_of(np.array([max(float(kinks.below.max()), float(kinks.above.max()))]))[0]
        )
        most = constants.CLIPPED_KINKS
        position = np.clip(np.ldexp(kinks.position, -height), -most, most)
        # θ = 2^(height − column) t: what a penalty charges for t
        lasso = _charged(problem.lasso, height - column - slope - height)
        ridge = _charged(problem.ridge, 2 * (height - column) - slope - height)
        scaled = HingeProblem(
            scaled_columns(problem.features, -column),
            Kinks(position, np.ldexp(kinks.below, -slope), np.ldexp(kinks.above, -slope)),
            problem.fit_intercept,
            ridge,
            lasso,
        )
        return cls(scaled, column, height, slope)

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Kinks that stand nearer than they were given."""
        far: NDArray[np.bool_] = np.abs(self.problem.kinks.position) >= constants.CLIPPED_KINKS
        return far

    def reaches_clipped(self, solution: Solution) -> bool:
        """Whether a decision reaches a kink that was moved: then nothing is proved."""
        far = self.clipped
        if not far.any():
            return False
        decision = self.problem.features @ solution.coefficients + solution.intercept
        return bool((far & (np.abs(decision) >= 0.9 * constants.CLIPPED_KINKS)).any())

    def without_forbidden(self, solution: Solution) -> Solution:
        """Set coefficients to zero whose penalty is beyond float64 in these units."""
        forbidden = np.zeros(len(self.column), dtype=bool)
        for penalty in (self.problem.ridge, self.problem.lasso):
            if penalty is not None:
                forbidden |= penalty >= FORBIDDING
        if not solution.coefficients[forbidden].any():
            return solution
        coefficients = np.where(forbidden, 0.0, solution.coefficients)
        objective = self.problem.objective(coefficients, solution.intercept)
        gap = solution.gap + max(0.0, objective - solution.objective)
        return replace(solution, coefficients=coefficients, objective=objective, gap=gap)

    def restore(self, solution: Solution) -> Solution | None:
        """Hand back a solution in the given units; None where float64 cannot hold it."""
        move = self.height - self.column
        coefficients = np.ldexp(solution.coefficients, move)
        intercept = float(np.ldexp(solution.intercept, self.height))
        # Largest terms of decisions: coefficients may be held, and their products overflow.
        terms = float(np.ldexp(np.abs(solution.coefficients).sum() + 1.0, self.height))
        if not (np.isfinite(coefficients).all() and np.isfinite([intercept, terms]).all()):
            return None
        held = np.ldexp(coefficients, -move), float(np.ldexp(intercept, -self.height))
        worse = 0.0
        if not (np.array_equal(held[0], solution.coefficients) and held[1] == solution.intercept):
            before = self.problem.objective(solution.coefficients, solution.intercept)
            worse = max(0.0, self.problem.objective(*held) - before)
            allowed = constants.ACCEPTABLE_GAP * max(before, best_constant(self.problem))
            if not worse <= allowed:
                return None
        unit = self.slope + self.height
        objective = float(np.ldexp(solution.objective + worse, unit))
        if not np.isfinite(objective):
            return None
        return replace(
            solution,
            coefficients=coefficients,
            intercept=intercept,
            objective=objective,
            gap=float(np.ldexp(solution.gap + worse, unit)),
            residual=float(np.ldexp(solution.residual, unit)),
        )


def exponents_of(sizes: Array) -> Whole:
    """Exponent e of each size = m · 2^e with ½ ≤ m < 1; 0 for a size of zero."""
    return np.asarray(np.frexp(sizes)[1], dtype=np.intp)


def _charged(penalty: Array | None, move: Whole) -> Array | None:
    """Penalties in other units; one too large for float64 stays at a size that forbids as much."""
    if penalty is None:
        return None
    charged: Array = np.minimum(np.ldexp(penalty, move), FORBIDDING)
    return charged


def column_sizes(features: Features) -> Array:
    """Largest entry of each column."""
    if isinstance(features, np.ndarray):
        largest: Array = np.maximum(features.max(axis=0), -features.min(axis=0))
        return largest
    sizes = np.zeros(features.shape[1])
    np.maximum.at(sizes, features.indices, np.abs(features.data))
    return sizes


def scaled_columns(features: Features, move: Whole) -> Features:
    """Multiply each column by a power of two."""
    if isinstance(features, np.ndarray):
        return np.ascontiguousarray(np.ldexp(features, move))
    data = np.ldexp(features.data, move[features.indices])
    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)


# --- Fractions.


@dataclass
class VertexWalk:
    """A problem of hinges in fractions: rows of the features, and kinks that refer to them.

    Attributes
    ----------
    rows : list of list of Fraction
        Rows a of the parameters: features and intercept, then one unit row per ℓ1 penalty.
    row_of : list of int
        Row of each kink.
    position, below, above : list of Fraction
        Of each kink.
    """

    rows: list[list[Fraction]]
    row_of: list[int]
    position: list[Fraction]
    below: list[Fraction]
    above: list[Fraction]

    @classmethod
    def of(cls, problem: HingeProblem, position: Array) -> VertexWalk:
        """Read every number as the fraction that it is; kinks that cost nothing are left out."""
        features = problem.features
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        one = [Fraction(1)] * problem.fit_intercept
        made = cls([[Fraction(x) for x in row] + one for row in dense.tolist()], [], [], [], [])
        kinks = problem.kinks
        blocks = (position.tolist(), kinks.below.tolist(), kinks.above.tolist())
        for block in zip(*blocks, strict=True):
            for row, (b, below, above) in enumerate(zip(*block, strict=True)):
                if below or above:
                    made.add_kink(row, Fraction(b), Fraction(below), Fraction(above))
        if problem.lasso is not None:
            width = dense.shape[1] + len(one)
            for j, slope in enumerate(problem.lasso.tolist()):
                if slope:
                    made.rows.append([Fraction(int(j == k)) for k in range(width)])
                    made.add_kink(len(made.rows) - 1, Fraction(0), Fraction(slope), Fraction(slope))
        return made

    def add_kink(self, row: int, position: Fraction, below: Fraction, above: Fraction) -> None:
        """Append one hinge of a row."""
        self.row_of.append(row)
        self.position.append(position)
        self.below.append(below)
        self.above.append(above)

    def cost(self, theta: Sequence[Fraction]) -> Fraction:
        """Objective without any rounding."""
        decision = [_dot(row, theta) for row in self.rows]
        return self._cost_of([decision[row] for row in self.row_of])

    def _cost_of(self, decisions: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        kinks = zip(decisions, self.position, self.below, self.above, strict=True)
        for z, b, below, above in kinks:
            total += above * (z - b) if z > b else below * (b - z)
        return total

    def run(self, guess: Sequence[Fraction]) -> Vertex | None:
        """Walk to the best vertex, beginning near a guess; None where that takes too long.

        All arithmetic is in whole numbers. T = N / D expresses each row by those of the basis,
        a_r = Σ_i T_ri a_basis(i); unit rows at its end give the parameters. The entries of N and
        D are minors of the rows, so that the division in a change of basis leaves no rest
        (Edmonds, Bareiss), and nothing needs to be shortened. The basis begins as the parameters
        themselves, which the nearest kinks replace.
        """
        width, count = len(self.rows[0]), len(self.row_of)
        column = [_denominator(row[j] for row in self.rows) for j in range(width)]
        N = [[int(a * c) for a, c in zip(row, column, strict=True)] for row in self.rows]
        N += [[int(i == j) for i in range(width)] for j in range(width)]
        unit, price = _denominator(self.position), _denominator([*self.below, *self.above])
        b = [int(each * unit) for each in self.position]
        below, above = ([int(each * price) for each in side] for side in (self.below, self.above))
        # What moves kinks apart is infinitesimal: it decides only where two are in the same place.
        # Powers, since features may be whole numbers: sums of multiples of k would tie again.
        hair = [pow(3, 7 * k + 1, _PRIME) for k in range(count)]
        basis, D = [-1] * width, 1
        decision = [_dot(row, guess) for row in self.rows]
        far = [abs(decision[r] - b) for r, b in zip(self.row_of, self.position, strict=True)]
        for k in sorted(range(count), key=far.__getitem__):
            row = N[self.row_of[k]]
            free = [i for i in range(width) if basis[i] < 0 and row[i]]
            if free:
                i = max(free, key=lambda i: abs(row[i]))
                N, D = _exchanged(N, D, self.row_of[k], i)
                basis[i] = k
        used = [i for i in range(width) if basis[i] >= 0]
        for _ in range(constants.FRACTION_STEPS):
            inside = {basis[i] for i in used}
            residual = []  # of each kink, times D, and what the infinitesimals add to it
            at, moved = ({i: each[basis[i]] for i in used} for each in (b, hair))
            for k, r in enumerate(self.row_of):
                row = N[r]
                first = sum(row[i] * at[i] for i in used) - D * b[k]
                residual.append((first, sum(row[i] * moved[i] for i in used) - D * hair[k]))
            over = [each > (0, 0) for each in residual]
            load = [0] * len(self.rows)  # slopes of all kinks outside the basis, by row
            for k, r in enumerate(self.row_of):
                if k not in inside:
                    load[r] += above[k] if over[k] else -below[k]
            pull = {i: -sum(y * N[r][i] for r, y in enumerate(load) if y) for i in used}
            worst, leaving, sign = 0, -1, 1
            for i in used:
                k = basis[i]
                for beyond, way in ((pull[i] - above[k] * D, 1), (-below[k] * D - pull[i], -1)):
                    if beyond > worst:
                        worst, leaving, sign = beyond, i, way
            if leaving < 0:
                y = [
                    Fraction(0) if k in inside else self.above[k] if over[k] else -self.below[k]
                    for k in range(count)
                ]
                for i in used:
                    y[basis[i]] = Fraction(pull[i], D * price)
                tail = zip(N[len(self.rows) :], column, strict=True)
                inverse = [[Fraction(row[i], D) * c for i in used] for row, c in tail]
                return Vertex([basis[i] for i in used], inverse, y)
            # Past kinks, until the cost stops falling: costs are not negative, so it does.
            steps = []
            for k, r in enumerate(self.row_of):
                rate = sign * N[r][leaving]
                first, second = residual[k]
                if rate and k not in inside and over[k] != (rate > 0):
                    steps.append((Fraction(-first, rate), Fraction(-second, rate), k))
            slope, entering = -worst, -1
            for _, _, entering in sorted(steps):
                slope += abs(N[self.row_of[entering]][leaving]) * (
                    below[entering] + above[entering]
                )
                if slope >= 0:
                    break
            N, D = _exchanged(N, D, self.row_of[entering], leaving)
            basis[leaving] = entering
        return None

    def rounded(self, vertex: Vertex, constant: bool) -> list[float]:
        """Float64 parameters near a vertex: the cheapest of several ways of rounding.

        Where one side of a kink costs much more than the other, decisions that lean to the cheap
        side by a few last digits stay there when they are rounded. `constant` says that the last
        parameter is an intercept: one decision for all rows may cost less than rounding does (equal
        observations). Where rounding still costs something, parameters are moved one after another
        to where each costs least.
        """
        at = [self.position[k] for k in vertex.basis]
        theta = vertex.parameters(at)
        leaning = []
        for k, b in zip(vertex.basis, at, strict=True):
            row = self.rows[self.row_of[k]]
            digits = sum(abs(a * t) for a, t in zip(row, theta, strict=True)) * _LAST_DIGITS
            leaning.append(b - digits if self.above[k] > self.below[k] else b + digits)
        plain = [[_nearest(t) for t in exact] for exact in (theta, vertex.parameters(leaning))]
        if constant:
            same = [0.0] * len(theta)
            same[-1] = self._best_number(same, len(same) - 1)
            plain.insert(0, same)
        costs = [self.cost([Fraction(t) for t in each]) for each in plain]
        bound = -_dot(self.position, vertex.multipliers)
        best = min(range(len(plain)), key=costs.__getitem__)
        if (costs[best] - bound) * 10**9 <= costs[0]:
            return plain[best]
        for each in plain:
            for j in range(len(each)):
                each[j] = self._best_number(each, j)
        return min(plain, key=lambda each: self.cost([Fraction(t) for t in each]))

    def _best_number(self, theta: list[float], j: int) -> float:
        """Float64 value of parameter j that costs least, given the others."""
        rest = [Fraction(0) if k == j else Fraction(t) for k, t in enumerate(theta)]
        decision = [_dot(row, rest) for row in self.rows]
        turns, slope = [], Fraction(0)
        for k, r in enumerate(self.row_of):
            rate = self.rows[r][j]
            if rate:
                slope -= abs(rate) * (self.below[k] if rate > 0 else self.above[k])
                turn = (self.position[k] - decision[r]) / rate
                turns.append((turn, abs(rate) * (self.below[k] + self.above[k])))
        if not turns:
            return theta[j]
        best = theta[j]
        for turn, height in sorted(turns):
            slope += height
            if slope >= 0:
                best = _nearest(turn)
                break
        beside = [float(np.nextafter(best, way)) for way in (-np.inf, np.inf)]

        def priced(value: float) -> Fraction:
            at = Fraction(value)
            moved = [z + row[j] * at for z, row in zip(decision, self.rows, strict=True)]
            return self._cost_of([moved[r] for r in self.row_of])

        return min(filter(np.isfinite, [best, *beside, theta[j]]), key=priced)


@dataclass(frozen=True)
class Vertex:
    """Where a walk ended.

    Attributes
    ----------
    basis : list of int
        Kinks whose decisions are at their positions.
    inverse : list of list of Fraction
        From the positions of these kinks to the parameters.
    multipliers : list of Fraction
        One per kink, each in its box, with A'y = 0.
    """

    basis: list[int]
    inverse: list[list[Fraction]]
    multipliers: list[Fraction]

    def parameters(self, at: Sequence[Fraction]) -> list[Fraction]:
        """Parameters with the decisions of the basis at these values."""
        return [_dot(row, at) for row in self.inverse]


def _exchanged(N: list[list[int]], D: int, row: int, leaving: int) -> tuple[list[list[int]], int]:
    """Let a row into the basis, in the place of another."""
    new = N[row]
    pivot = new[leaving]
    if pivot < 0:  # the denominator stays positive
        pivot, new = -pivot, [-each for each in new]
    result = []
    for old in N:
        factor = old[leaving]
        if factor:
            entries = [(a * pivot - factor * b) // D for a, b in zip(old, new, strict=True)]
        else:
            entries = [a * pivot // D for a in old]
        entries[leaving] = factor if N[row][leaving] > 0 else -factor
        result.append(entries)
    return result, pivot


def _denominator(values: Iterable[Fraction]) -> Fraction:
    """Power of two that makes all values whole numbers, as small as it can be."""
    lowest = min(
        (
            (each.numerator & -each.numerator).bit_length() - each.denominator.bit_length()
            for each in values
            if each
        ),
        default=0,
    )
    return Fraction(2) ** -lowest


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def _nearest(value: Fraction) -> float:
    """Float next to a fraction, or the largest one of its sign."""
    try:
        return float(value)
    except OverflowError:
        return float(np.copysign(np.finfo(float).max, 1 if value > 0 else -1))


def suits_fractions(problem: HingeProblem) -> bool:
    """Whether a problem is small enough for fractions, and has no ridge."""
    n_rows, n_features = problem.features.shape
    ridge = problem.ridge is not None and bool(problem.ridge.any())
    return not ridge and n_rows * (n_features + 1) <= constants.FRACTION_ENTRIES


def solve_fractions(scaled: Scaled, given: Kinks, guess: Array) -> Solution | None:
    """Solve a small problem without ridge in rational arithmetic.

    Parameters
    ----------
    scaled : Scaled
    given : Kinks
        Of the problem as it was given: where kinks are before they are moved closer.
    guess : ndarray of shape (n_parameters,)
        Parameters in scaled units, the intercept last, from which to begin.

    Returns
    -------
    Solution or None
        In scaled units. None with ridge, where the problem is too large, or the walk too long.
    """
    problem = scaled.problem
    if not suits_fractions(problem):
        return None
    width = problem.features.shape[1] + problem.fit_intercept
    walk = VertexWalk.of(problem, given.position)
    if not walk.row_of:
        return None
    unit = Fraction(2) ** scaled.height
    walk.position = [b / unit for b in walk.position]
    start = guess if np.isfinite(guess).all() else np.zeros(width)
    vertex = walk.run([Fraction(t) for t in start.tolist()])
    if vertex is None:
        return None
    bound = -_dot(walk.position, vertex.multipliers)
    numbers = walk.rounded(vertex, problem.fit_intercept)
    cost = walk.cost([Fraction(t) for t in numbers])
    parameters = np.array(numbers)
    intercept = float(parameters[-1]) if problem.fit_intercept else 0.0
    return Solution(
        parameters[: problem.features.shape[1]],
        intercept,
        _nearest(cost),
        _nearest(max(cost - bound, Fraction(0))),
        0.0,
        0,
        0.0,
        "fractions",
    )
