"""Newton's method along the central path over blocks: more passes, but sums only.

Where guesses from a sample do not tell near kinks from far ones (half of all observations lie
exactly on a plane, or a band holds everything), the central path is followed with the sums of
`blocks_smooth`, without holding a single row.

Below a κ at which only few rows are within reach the smoothed function is as rough as the cost
itself; there, though, the rows within reach fit into memory, and `blocks_screened` takes over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.blocks.block_passes import Price, priced
from unmet.solvers.blocks.source import BlockSource, RowBlock
from unmet.solvers.exact.operators import CholeskyFactor, factorise, weighted_gram
from unmet.solvers.exact.scaling import Frame

# --- Hinges smoothed along the central path: what a pass over blocks sums up.
#  On the central path of `interior_point` the multiplier of a kink is a function of its residual r,
# ::
#
#     κ = 2μw/c,   S = √(r² + κ²),   v = (S + κ − r)/2,   o = (S + κ + r)/2,   y = μw/v − below
#
# which is the slope of a smooth convex function φ_μ(r) = y r + μw (log p + log q), with p = μw/v
# and q = μw/o. A pass at θ returns Σ φ_μ, its gradient A'y, the Hessian A'DA with D = 1/(v/p +
# o/q), the derivative of the gradient in μ, which predicts the next point of the path, and the
# duality gap Σ (q r⁺ + p r⁻), which is a certificate once A'y (plus penalties) is zero.
#
# That it never quite is: y depends on r/κ, and r is known to 16 digits of the decision only. So the
# last pass stays at θ and moves the multipliers instead, by the Newton step y + D A u with
# u = −(A'DA)⁻¹ A'y, clipped to their boxes: A'y is then zero to rounding, whatever κ is.

Array = NDArray[np.float64]

REACH = 25.0  # widths 2μ from a kink beyond which smoothing does not matter
RADII = REACH * 4.0 ** np.arange(12)  # within how many of them rows are counted


@dataclass
class Smooth:
    """Sums over smoothed kinks at some θ and μ; attributes as in the module docstring.

    ``reached`` counts the rows with a kink within each of RADII, in units of 2μ.
    """

    value: float
    smooth: float
    gap: float
    gradient: Array
    change: Array
    hessian: Array
    reached: NDArray[np.int64]

    def add(self, other: Smooth) -> None:
        """Add what the next block found."""
        self.value += other.value
        self.smooth += other.smooth
        self.gap += other.gap
        self.gradient += other.gradient
        self.change += other.change
        self.hessian += other.hessian
        self.reached += other.reached

    @classmethod
    def nothing(cls, size: int) -> Smooth:
        """Return the sum over no kinks."""
        zeros, counts = np.zeros((size, size)), np.zeros(len(RADII), dtype=np.int64)
        return cls(0.0, 0.0, 0.0, np.zeros(size), np.zeros(size), zeros, counts)


@dataclass(frozen=True)
class SmoothKink:
    """Smoothed hinges: one entry each."""

    value: float
    smooth: float
    gap: float
    y: Array
    change: Array
    curvature: Array


def smoothed(
    residual: Array,
    below: Array,
    above: Array,
    weight: Array,
    mu: float,
    push: Array | None = None,
) -> SmoothKink:
    """Smooth some kinks; a push moves their multipliers by curvature · push."""
    slope = below + above
    width = 2 * mu * weight / slope
    root = np.sqrt(residual * residual + width * width)
    total = root + width
    o, v = 0.5 * (total + residual), 0.5 * (total - residual)
    # the smaller of the two is a difference of equals; their product is known
    product, over = 0.5 * width * total, residual > 0
    np.divide(product, o, out=v, where=over)
    np.divide(product, v, out=o, where=~over)
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
    return SmoothKink(
        float(cost.sum()),
        smooth,
        float(gap.sum()),
        y,
        change,
        curvature,
    )


@dataclass(frozen=True)
class SmoothTask:
    """Task: the sums of a block."""

    price: Price
    factor: float
    frame: Frame
    theta: Array
    mu: float
    correction: Array | None = None

    def __call__(self, block: RowBlock) -> Smooth:
        """Sum chunk by chunk."""
        found = Smooth.nothing(len(self.theta))
        for chunk in priced(block, self.price, self.factor):
            kinks, design = chunk.kinks, self.frame.design(chunk.features)
            decision = design @ self.theta
            push = None if self.correction is None else design @ self.correction
            weight = (kinks.below + kinks.above).sum(axis=0)
            y, change, curvature = (np.zeros(len(chunk)) for _ in range(3))
            closest = np.full(len(chunk), np.inf)
            for position, below, above in zip(
                kinks.position, kinks.below, kinks.above, strict=True
            ):
                active = np.flatnonzero(below + above > 0)
                kink = smoothed(
                    (decision - position)[active],
                    below[active],
                    above[active],
                    weight[active],
                    self.mu,
                    None if push is None else push[active],
                )
                found.value += kink.value
                found.smooth += kink.smooth
                found.gap += kink.gap
                y[active] += kink.y
                change[active] += kink.change
                curvature[active] += kink.curvature
                np.minimum(closest, np.abs(decision - position), out=closest)
            found.gradient += y @ design
            found.change += change @ design
            found.hessian += weighted_gram(design, curvature)
            found.reached += np.searchsorted(np.sort(closest), 2 * self.mu * RADII, "right")
        return found


# --- Newton's method along the central path over blocks: more passes, but sums only.

_ENOUGH = 0.02  # a Newton step that gains less than this share of the gap is close to the path
_FAR = 1.0  # a prediction whose Newton step gains more than this share of the gap is doubted
_FASTER = 0.1  # the next μ
_SUFFICIENT = 0.05  # of the gain that the gradient promises


class Newton:
    """Path following over blocks.

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
        blocks: BlockSource,
        price: Price,
        factor: float,
        frame: Frame,
        ridge: Array | None,
        lasso: Array | None,
        reach: float,
    ) -> None:
        self.blocks, self.price, self.factor = blocks, price, factor
        self.frame, self.ridge, self.lasso = frame, ridge, lasso
        self.reach = reach
        self.passes = 0

    @property
    def close(self) -> bool:
        """Whether the point is near the path, so that Newton's steps will be long."""
        return self.gain <= _FAR * self.found.gap

    def ring(self, most_rows: int) -> float | None:
        """Distance from the decision within which there are few enough rows, as far as possible.

        None if there are more even where smoothing matters.
        """
        wide = np.flatnonzero(self.found.reached <= most_rows)
        return float(2 * self.mu * RADII[wide[-1]]) if len(wide) else None

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

    def centre(self, most: int, target: float) -> bool:
        """Take steps at the same μ until they gain little; whether the path was reached."""
        for _ in range(most):
            if self.found.value <= target or (self.gain <= _ENOUGH * self.found.gap):
                return True
            if not self._step(self.theta + self.direction, self.mu):
                return False
        return False

    def settled(self, target: float, least: float, most: int) -> bool:
        """Whether the cost is as good as zero, or proved optimal after some more steps."""
        if self.found.value <= least:
            return True
        for _ in range(most):
            if self.found.gap > target:
                return False
            proved = self._look(self.theta, self.mu, self.direction)
            if max(proved.gap, self._residual(proved)) <= target:
                self.found = proved
                return self._with_zeros(target)
            if not self._step(self.theta + self.direction, self.mu):
                return False
        return False

    def _with_zeros(self, target: float) -> bool:
        """Set coefficients to zero that ℓ1 holds there, if that costs nothing to speak of."""
        if self.lasso is None or not self.lasso.any():
            return True
        near = (np.abs(self.theta) <= REACH * 4 * self.mu) & (self.lasso > 0)
        rounded = np.where(near, 0.0, self.theta)
        there = self._look(rounded, self.mu)
        if there.value <= self.found.value + target - self.found.gap:
            gap = self.found.gap + max(0.0, there.value - self.found.value)
            self.theta, self.found = rounded, replace(self.found, value=there.value, gap=gap)
        return True

    def advance(self) -> bool:
        """Go on to a smaller μ, by the prediction of the path or from where we are."""
        smaller = _FASTER * self.mu
        predicted = self.direction - self._solve(self.found.change) * (smaller - self.mu)
        theta, self.mu = self.theta, smaller
        self._accept(theta + predicted, self._look(theta + predicted, smaller))
        if not self.close:
            here = self._look(theta, smaller)
            if not self.found.smooth <= here.smooth:
                self._accept(theta, here)
        return bool(np.isfinite(self.found.smooth))

    def _step(self, candidate: Array, mu: float) -> bool:
        """Move to a candidate, or part of the way, where the smoothed cost falls."""
        share = 1.0
        slack = 1e-13 * max(abs(self.found.smooth), self.found.gap)
        for _ in range(12):
            point = self.theta + share * (candidate - self.theta)
            found = self._look(point, mu)
            promised = _SUFFICIENT * share * 2 * self.gain
            if found.smooth <= self.found.smooth - promised + slack:
                self._accept(point, found)
                return True
            share *= 0.35
        return False

    def _look(self, theta: Array, mu: float, correction: Array | None = None) -> Smooth:
        found = Smooth.nothing(len(theta))
        task = SmoothTask(self.price, self.factor, self.frame, theta, mu, correction)
        for part in self.blocks.run(task):
            found.add(part)
        self.passes += 1
        self._penalise(found, theta, mu, correction)
        return found

    def _penalise(self, found: Smooth, theta: Array, mu: float, correction: Array | None) -> None:
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
            kink = smoothed(theta[at], slope, slope, 2 * slope, mu, push)
            found.value += kink.value
            found.smooth += kink.smooth
            found.gap += kink.gap
            found.gradient[at] += kink.y
            found.change[at] += kink.change
            diagonal[at] += kink.curvature

    def _accept(self, theta: Array, found: Smooth) -> None:
        self.theta, self.found = theta, found
        self.normal = factorise(found.hessian)
        self.direction = -self._solve(found.gradient)
        self.gain = -0.5 * float(found.gradient @ self.direction)

    def _solve(self, right: Array) -> Array:
        return self.normal.solve(right)
