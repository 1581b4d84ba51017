"""Newton's method along the central path over blocks: more passes, but sums only.

Where guesses from a sample do not tell near kinks from far ones (half of all observations lie
exactly on a plane, or a band holds everything), the central path is followed with the sums of
`blocks_smooth`, without holding a single row.

Below a κ at which only few rows are within reach the smoothed function is as rough as the cost
itself; there, though, the rows within reach fit into memory, and `blocks_screened` takes over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.blocks_rows import BlockSource
from unmet.solvers.blocks_smooth import RADII, REACH, Smooth, SmoothTask, smoothed
from unmet.solvers.blocks_sorting import Price
from unmet.solvers.cholesky import CholeskyFactor, factorise
from unmet.solvers.frame import Frame

Array = NDArray[np.float64]

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
