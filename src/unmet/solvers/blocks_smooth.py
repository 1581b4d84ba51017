"""Hinges smoothed along the central path: what a pass over blocks sums up.

On the central path of `interior_point` the multiplier of a kink is a function of its residual r, ::

    κ = 2μw/c,   S = √(r² + κ²),   v = (S + κ − r)/2,   o = (S + κ + r)/2,   y = μw/v − below

which is the slope of a smooth convex function φ_μ(r) = y r + μw (log p + log q), with p = μw/v and
q = μw/o. A pass at θ returns Σ φ_μ, its gradient A'y, the Hessian A'DA with D = 1/(v/p + o/q), the
derivative of the gradient in μ, which predicts the next point of the path, and the duality gap
Σ (q r⁺ + p r⁻), which is a certificate once A'y (plus penalties) is zero.

That it never quite is: y depends on r/κ, and r is known to 16 digits of the decision only. So the
last pass stays at θ and moves the multipliers instead, by the Newton step y + D A u with
u = −(A'DA)⁻¹ A'y, clipped to their boxes: A'y is then zero to rounding, whatever κ is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.blocks_rows import RowBlock
from unmet.solvers.blocks_sorting import Price, priced
from unmet.solvers.frame import Frame
from unmet.solvers.operators import weighted_gram

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
