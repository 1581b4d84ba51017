"""Solve exactly what is only seen in blocks: screening, and the central path where that fails.

Where guesses from a sample do not tell near kinks from far ones (half of all observations lie
exactly on a plane, or a band holds everything), Newton's method follows the central path over all
blocks: more passes, but sums only, without holding a single row. On the central path of
`interior_point` the multiplier of a kink is a function of its residual r, ::

    κ = 2μw/c,   S = √(r² + κ²),   v = (S + κ − r)/2,   o = (S + κ + r)/2,   y = μw/v − below

which is the slope of a smooth convex function φ_μ(r) = y r + μw (log p + log q), with p = μw/v
and q = μw/o. A pass at θ returns Σ φ_μ, its gradient A'y, the Hessian A'DA with D = 1/(v/p + o/q),
the derivative of the gradient in μ, which predicts the next point of the path, and the duality gap
Σ (q r⁺ + p r⁻), which is a certificate once A'y (plus penalties) is zero.

That it never quite is: y depends on r/κ, and r is known to 16 digits of the decision only. So the
last pass stays at θ and moves the multipliers instead, by the Newton step y + D A u with
u = −(A'DA)⁻¹ A'y, clipped to their boxes: A'y is then zero to rounding, whatever κ is.

Below a κ at which only few rows are within reach the smoothed function is as rough as the cost
itself; there, though, the rows within reach fit into memory, and screening takes over again. Where
nothing helps, and the rows fit, they are read into memory as a whole: heavy-tailed features on a
few million rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unmet.errors import SolverFailure, Unsupported
from unmet.solvers import constants
from unmet.solvers.blocks.screening import (
    KinkBlock,
    Price,
    Run,
    Screening,
    add_fields,
    run_evaluated,
    spread_sample,
)
from unmet.solvers.blocks.source import BlockSample, BlockSource, read_sample
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import (
    CholeskyFactor,
    central_slacks,
    factorise,
    weighted_gram,
)
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]


def solve_blocks(
    source: BlockSource,
    price: Price,
    sample: BlockSample,
    *,
    intercept: bool,
    ridge: Array | None = None,
    lasso: Array | None = None,
    tolerance: float = 1e-9,
    held_rows: int | None = None,
) -> Solution:
    """Minimise the mean cost of all rows of a source, plus penalties, to a relative duality gap.

    Parameters
    ----------
    source : BlockSource
    price : callable
        From rows with weight, and a factor of their weights, to `Kinks`. On a cluster it travels.
    sample : BlockSample
        What the sampling read found; at least a few thousand rows.
    intercept : bool
    ridge, lasso : ndarray of shape (n_features,), optional
    tolerance : float
        Largest duality gap relative to the objective.
    held_rows : int, optional
        Most rows in memory at a time, about.

    Returns
    -------
    Solution
        Its ``passes`` are reads of the data, the sampling read included.

    Raises
    ------
    SolverFailure
        If the gap is not reached.
    """
    most = constants.MAX_BLOCK_FEATURES
    if source.n_features > most:
        raise Unsupported(
            f"Blocks and {source.n_features} features do not fit together, because the matrices "
            f"of a pass would not: use at most {most}, or the solver 'minibatch'."
        )
    if held_rows is None:
        held_rows = max(20_000, constants.HELD_ENTRIES // max(source.n_features, 1))
    held_rows = max(held_rows, 40 * (source.n_features + 1) + 600)  # fewer would say nothing
    factor = 1.0 / sample.total
    few = KinkBlock(
        sample.rows.features, price(sample.rows, factor * sample.n_rows / len(sample.rows))
    )
    blocks = partial(run_evaluated, source, price, factor)
    screening = Screening(few, intercept, (ridge, lasso), tolerance, blocks, sample.n_rows)
    screening.held_rows, screening.passes = held_rows, float(sample.reads)
    # Features of scale 1e200 overflow in places; the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = screening.run() or follow_path(screening)
    if found is not None:
        return found
    if sample.n_rows * source.n_features <= constants.TOGETHER_ENTRIES:
        every = read_sample(source, in_memory=sys.maxsize)
        kinks = price(every.rows, 1.0 / every.total)
        problem = HingeProblem(every.rows.features, kinks, intercept, ridge, lasso)
        together = solve_exact(problem, tolerance=tolerance)
        return replace(together, passes=screening.passes + every.reads)
    raise SolverFailure(
        "the solver over blocks could not prove an answer for these features and weights; "
        "try bringing them to similar scales, or another strength of the penalty."
    )


def follow_path(screening: Screening) -> Solution | None:
    """Follow the central path over all rows until those near it fit, or to its end."""
    scale, tolerance, reads, tried = screening.scale, screening.tolerance, screening.passes, 0
    assert screening.blocks is not None
    least = tolerance * scale.smallest
    path = _path_over(screening.blocks, screening)
    _begin(path, screening, least)
    while path.passes < constants.PATH_PASSES and path.centre(least):
        target = tolerance * max(abs(path.found.value), scale.smallest)
        if path.settled(target, least):
            value, gap, residual = path.found.value, path.found.gap, path.residual
            if value <= least:
                gap, residual = value, 0.0  # no sum of hinges is below zero
            return Solution(
                *screening.standard.to_raw(path.theta),
                value,
                gap,
                residual,
                screening.iterations + path.passes,
                reads + path.passes,
                "central path over blocks",
            )
        # How far from the decision are there few enough rows, even where smoothing matters?
        wide = np.flatnonzero(path.found.reached <= int(0.6 * screening.held_rows))
        if len(wide) and tried < constants.SCREENING_TRIES:
            tried += 1
            ring = float(2 * path.mu * constants.SMOOTH_RADII[wide[-1]])
            screening.passes = before = reads + path.passes
            screening.error = 6 * path.mu
            width, rounds = ring / constants.RING_WIDTHS, constants.SCREENING_TRY_ROUNDS
            solution = screening.solve_rows(path.theta, width, rounds, ring)
            if solution is not None:
                return solution
            reads += screening.passes - before
        if not path.advance():
            break
    screening.passes = reads + path.passes
    return None


def _path_over(blocks: Run, screening: Screening) -> CentralPath:
    penalties = screening.ridge, screening.lasso
    return CentralPath(blocks, screening.standard, *penalties, screening.scale.reach)


def _begin(path: CentralPath, screening: Screening, least: float) -> None:
    """Start at the end of the sample's own path, or, if that is nowhere near, at a wide barrier.

    Where most rows are near because they lie on a plane, multipliers of the sample are those of
    all rows but for a few per cent, and only the last steps of the path need all rows.
    """
    last, cost, reach = screening.last, screening.objective, screening.scale.reach
    assert last is not None
    if cost <= least:
        path.begin(last, 0.1 * reach)
        return
    # close enough to the sample's answer, and wide enough for Newton's steps to be long
    wide = min(max(screening.error, 0.01 * cost), reach)
    n_rows = len(screening.sample)
    size = min(n_rows, constants.PATH_SAMPLE_ROWS)
    few = screening.sample.take(spread_sample(n_rows, size, screening.generator))
    small = _path_over(few.scaled(n_rows / size).run, screening)
    small.begin(last, wide)
    while small.passes < constants.PATH_PASSES and small.centre(least):
        if small.found.gap <= screening.tolerance * abs(cost):
            path.begin(small.theta, small.mu)
            if path.close:
                return
            break
        if not small.advance():
            break
    path.begin(last, wide)


# --- Hinges smoothed along the central path: what a pass over blocks sums up.


@dataclass
class Smooth:
    """Sums over smoothed kinks at some θ and μ; attributes as in the module docstring.

    ``reached`` counts the rows with a kink within each of SMOOTH_RADII, in units of 2μ.
    """

    gradient: Array
    change: Array
    hessian: Array
    reached: NDArray[np.int64]
    value: float = 0.0
    smooth: float = 0.0
    gap: float = 0.0

    @classmethod
    def nothing(cls, size: int) -> Smooth:
        """Return the sum over no kinks."""
        counts = np.zeros(len(constants.SMOOTH_RADII), dtype=np.int64)
        return cls(np.zeros(size), np.zeros(size), np.zeros((size, size)), counts)

    def add(self, sums: Array) -> None:
        """Add cost, smoothed cost and gap of some kinks."""
        value, smooth, gap = sums.tolist()
        self.value += value
        self.smooth += smooth
        self.gap += gap


def smoothed(
    residual: Array,
    below: Array,
    above: Array,
    weight: Array,
    mu: float,
    push: Array | None = None,
) -> tuple[Array, Array]:
    """Smooth some kinks; a push moves their multipliers by curvature · push.

    Returned are sums of the cost, the smoothed cost and the gap; and for each kink its slope, the
    change of that with μ, and its curvature.
    """
    slope = below + above
    width = 2 * mu * weight / slope
    root, o, v = central_slacks(residual, width)
    over = residual > 0
    p, q = mu * weight / v, mu * weight / o
    y = np.where(p < q, p - below, above - q)
    curvature = 1 / (v / p + o / q)
    smooth = float((y * residual + mu * weight * np.log(p / slope * (q / slope))).sum())
    change = (weight - p * (1 + width / root) / mu * width / 2) / v
    if push is not None:
        y = np.clip(y + curvature * push, -below, above)
        p, q = y + below, above - y
    cost = np.where(over, above, -below) * residual
    gap = np.where(over, q, -p) * residual
    sums = np.array([cost.sum(), smooth, gap.sum()])
    return sums, np.stack([y, change, curvature])


def sum_smoothed(
    standard: Standardisation,
    theta: Array,
    mu: float,
    correction: Array | None,
    blocks: Iterable[KinkBlock],
    _: int = 0,
) -> Smooth:
    """Task: the sums of a block, the multipliers moved by D A u where a correction u is given."""
    found = Smooth.nothing(len(theta))
    for block in blocks:
        kinks, design = block.kinks, standard.design(block.features)
        decision = design @ theta
        push = None if correction is None else design @ correction
        weight = (kinks.below + kinks.above).sum(axis=0)
        entries = np.zeros((3, len(block)))
        closest = np.full(len(block), np.inf)
        for position, below, above in zip(kinks.position, kinks.below, kinks.above, strict=True):
            active = np.flatnonzero(below + above > 0)
            sums, own = smoothed(
                (decision - position)[active],
                below[active],
                above[active],
                weight[active],
                mu,
                None if push is None else push[active],
            )
            found.add(sums)
            entries[:, active] += own
            np.minimum(closest, np.abs(decision - position), out=closest)
        y, change, curvature = entries
        found.gradient += y @ design
        found.change += change @ design
        found.hessian += weighted_gram(design, curvature)
        radii = 2 * mu * constants.SMOOTH_RADII
        found.reached += np.searchsorted(np.sort(closest), radii, "right")
    return found


class CentralPath:
    """Newton's method along the central path over blocks.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
        The last point that was accepted.
    mu : float
    found : Smooth
        The sums there, penalties included.
    gain : float
        What the next Newton step promises.
    passes : int
    """

    theta: Array
    mu: float
    found: Smooth
    normal: CholeskyFactor
    direction: Array
    gain: float

    def __init__(
        self,
        blocks: Run,
        standard: Standardisation,
        ridge: Array | None,
        lasso: Array | None,
        reach: float,
    ) -> None:
        self.blocks, self.standard = blocks, standard
        self.ridge, self.lasso, self.reach = ridge, lasso, reach
        self.passes = 0

    @property
    def close(self) -> bool:
        """Whether the point is near the path, so that Newton's steps will be long."""
        return self.gain <= constants.OFF_PATH * self.found.gap

    def begin(self, theta: Array, mu: float) -> None:
        """Start at some θ and μ."""
        self.mu = mu
        self._accept(theta, self._look(theta, mu))

    @property
    def residual(self) -> float:
        """How far the gradient is from zero, in units of the objective."""
        return self._residual(self.found)

    def _residual(self, found: Smooth) -> float:
        return float(np.abs(found.gradient) @ np.maximum(np.abs(self.theta), self.reach))

    def centre(self, target: float) -> bool:
        """Take steps at the same μ until they gain little; whether the path was reached."""
        for _ in range(constants.PATH_STEPS):
            if self.found.value <= target or self.gain <= constants.CENTRED * self.found.gap:
                return True
            if not self._step():
                return False
        return False

    def settled(self, target: float, least: float) -> bool:
        """Whether the cost is as good as zero, or proved optimal after some more steps."""
        if self.found.value <= least:
            return True
        for _ in range(constants.PATH_STEPS):
            if self.found.gap > target:
                return False
            proved = self._look(self.theta, self.mu, self.direction)
            if max(proved.gap, self._residual(proved)) <= target:
                self.found = proved
                return self._with_zeros(target)
            if not self._step():
                return False
        return False

    def _with_zeros(self, target: float) -> bool:
        """Set coefficients to zero that ℓ1 holds there, if that costs nothing to speak of."""
        if self.lasso is None or not self.lasso.any():
            return True
        near = (np.abs(self.theta) <= constants.SMOOTH_REACH * 4 * self.mu) & (self.lasso > 0)
        rounded = np.where(near, 0.0, self.theta)
        there = self._look(rounded, self.mu)
        if there.value <= self.found.value + target - self.found.gap:
            gap = self.found.gap + max(0.0, there.value - self.found.value)
            self.theta, self.found = rounded, replace(self.found, value=there.value, gap=gap)
        return True

    def advance(self) -> bool:
        """Go on to a smaller μ, by the prediction of the path or from where we are."""
        smaller = constants.BARRIER_FACTOR * self.mu
        predicted = self.direction - self.normal.solve(self.found.change) * (smaller - self.mu)
        theta, self.mu = self.theta, smaller
        self._accept(theta + predicted, self._look(theta + predicted, smaller))
        if not self.close:
            here = self._look(theta, smaller)
            if not self.found.smooth <= here.smooth:
                self._accept(theta, here)
        return bool(np.isfinite(self.found.smooth))

    def _step(self) -> bool:
        """Take the Newton step, or part of it, where the smoothed cost falls."""
        share = 1.0
        slack = 1e-13 * max(abs(self.found.smooth), self.found.gap)
        for _ in range(12):
            point = self.theta + share * self.direction
            found = self._look(point, self.mu)
            promised = constants.SUFFICIENT_GAIN * share * 2 * self.gain
            if found.smooth <= self.found.smooth - promised + slack:
                self._accept(point, found)
                return True
            share *= 0.35
        return False

    def _look(self, theta: Array, mu: float, correction: Array | None = None) -> Smooth:
        """Sum over all rows, then add the penalties."""
        found = Smooth.nothing(len(theta))
        for part in self.blocks(partial(sum_smoothed, self.standard, theta, mu, correction)):
            add_fields(found, part)
        self.passes += 1
        diagonal = found.hessian.reshape(-1)[:: len(theta) + 1]
        if self.ridge is not None:
            cost = 0.5 * float(self.ridge @ theta**2)
            found.value += cost
            found.smooth += cost
            # of the corrected multipliers, ridge follows θ + u: its part of the gap is ½ρu²
            moved = np.zeros_like(theta) if correction is None else correction
            found.gradient += self.ridge * (theta + moved)
            found.gap += 0.5 * float(self.ridge @ moved**2)
            diagonal += self.ridge
        if self.lasso is not None:
            at = np.flatnonzero(self.lasso)
            slope = self.lasso[at]
            push = None if correction is None else correction[at]
            sums, (y, change, curvature) = smoothed(theta[at], slope, slope, 2 * slope, mu, push)
            found.add(sums)
            found.gradient[at] += y
            found.change[at] += change
            diagonal[at] += curvature
        return found

    def _accept(self, theta: Array, found: Smooth) -> None:
        self.theta, self.found = theta, found
        self.normal = factorise(found.hessian)
        self.direction = -self.normal.solve(found.gradient)
        self.gain = -0.5 * float(found.gradient @ self.direction)
