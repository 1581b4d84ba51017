"""Exact solutions for many rows: fix the kinks that are certainly far from the decision.

A hinge whose kink the decision never reaches is a straight line. If θ is known up to an error that
moves the decisions by about τ, every kink farther than τ from its decision can be replaced by
its line, all lines together are one vector g, and only the few near kinks remain:

1. Solve growing random samples; each solution shrinks the error like 1/√(sample size).
2. One pass over all rows at the last θ sorts kinks into far (summed into g) and near (gathered).
   The interior point solves the near ones; a ring of rows around them is checked and sorted again
   at the new θ, with a much smaller τ.
3. A last pass over all rows verifies the result.

**Certificate.** A line never lies above its hinge, so the reduced problem bounds the full one from
below: the optimum is at least (reduced objective − reduced gap). At the returned θ the two
objectives differ by Σ c|r| over the kinks that changed side since they were fixed. The gap of the
full problem is therefore at most reduced gap + Σ c|r| over those flips: exact, whatever
the guesses of step 1 were. Where the guesses fail (reduced problem unbounded, too many flips) τ is
widened and in the end all rows are solved together.

**Error of a sample.** With y the slope at the decision and H the density of slope changes there,
θ̂ on m rows is off by a random amount whose decisions have standard deviation
√(p·E y²) / (H√m), times the leverage of the row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import erfc, log, sqrt

import numpy as np
from numpy.typing import NDArray

from unmet.costs.kinks import Kinks
from unmet.solvers.blocks import Index, Source, spread_sample
from unmet.solvers.direct import Result, Start, flat_hinges, pilot, smallest_scale, solve_from
from unmet.solvers.frame import Frame
from unmet.solvers.interior_point import Hinges, Operator, Settings
from unmet.solvers.operators import DenseOperator, Layout, OneEach, Stacked
from unmet.solvers.penalties import add_lasso
from unmet.solvers.sorting import Decide, Far, Near, Sides, sort_again, sort_rows, verify_rows
from unmet.solvers.trust import Trust, choose_trust

Array = NDArray[np.float64]

_WIDTHS = 2.5  # near means within this many standard errors; below 2 reduced problems are unbounded
_RING = 4.0  # rows within this many near-widths are checked again between reduced solves
_LADDER = 6.0  # growth of the samples
_LOOSE = 0.05  # a sample needs no tighter gap than this share of its own statistical error
_LEASH = 3.0  # a reduced solution that moves farther than this many near-widths is not trusted


@dataclass(frozen=True)
class Screened:
    """A solution for the features as given, with its certificate."""

    coefficients: Array
    intercept: float
    objective: float
    gap: float
    residual: float
    iterations: int
    passes: float


def first_sample_size(n_rows: int, n_parameters: int) -> int:
    """Rows in the first sample."""
    if n_rows < 200_000:
        return max(1000, 30 * n_parameters)
    return max(5000, 100 * n_parameters)


def pays(n_rows: int, n_parameters: int) -> bool:
    """Whether screening is expected to beat solving all rows at once."""
    return n_rows > max(4000, 3 * first_sample_size(n_rows, n_parameters))


def solve_screened(
    source: Source,
    *,
    intercept: bool,
    ridge: Array | None,
    lasso: Array | None,
    tolerance: float,
    seed: int = 0,
) -> Screened | None:
    """Solve over all rows of a source; None when the guesses of step 1 did not hold."""
    return _Screening(source, intercept, ridge, lasso, tolerance, seed).run()


@dataclass(frozen=True)
class _Reduced:
    """A reduced problem at θ: the sum of far kinks in the frame, and the open ones."""

    theta: Array
    linear: Array
    cost: float
    near: Near


class _Screening:
    """One solve. Steps in the order of the module docstring."""

    def __init__(
        self,
        source: Source,
        intercept: bool,
        ridge: Array | None,
        lasso: Array | None,
        tolerance: float,
        seed: int,
    ) -> None:
        self.source = source
        self.intercept = intercept
        self.raw_penalties = ridge, lasso
        self.tolerance = tolerance
        self.generator = np.random.default_rng(seed)
        self.n_parameters = source.n_features + int(intercept)
        self.iterations = 0
        self.passes = 0.0

    def run(self) -> Screened | None:
        """Samples, then all rows."""
        n_rows = self.source.n_rows
        size = first = first_sample_size(n_rows, self.n_parameters)
        levels = max(1, round(log(n_rows / first) / log(_LADDER)))
        theta = self._first_sample(first)
        for level in range(1, levels):
            larger = int(first * (n_rows / first) ** (level / levels))
            improved = self._next_sample(theta, size, larger)
            if improved is None:
                return None
            theta, size = improved, larger
        return self._all_rows(theta, size)

    def _first_sample(self, size: int) -> Array:
        """Solve a sample with all its kinks open, and learn the error constants from it."""
        n_rows, n_kinks = self.source.n_rows, self.source.n_kinks
        block = self.source.take(spread_sample(n_rows, size, self.generator))
        self.passes += size / n_rows
        self.frame = Frame.of(block.features, self.intercept)
        ridge, lasso = self.raw_penalties
        self.ridge = self.frame.penalties(ridge, 2)
        if self.ridge is not None:
            self.ridge *= 2
        self.lasso = self.frame.penalties(lasso, 1)
        design = self.frame.design(block.features)
        kinks = _scaled(block.kinks, n_rows / size)
        hinges = flat_hinges(kinks)
        self.scale = smallest_scale(hinges, self.tolerance)
        layout: Layout = OneEach() if n_kinks == 1 else Stacked(n_kinks)
        operator, joined = add_lasso(DenseOperator(design, layout), hinges, self.lasso)
        start = Start(pilot(operator, joined, self.ridge, self.intercept), self.ridge, self.scale)
        result = self._solve(operator, joined, start, _LOOSE * self.n_parameters / size)
        self._learn_errors(kinks, design @ result.theta)
        self.trust: Trust = choose_trust(self.frame, design, block.features)
        return result.theta

    def _learn_errors(self, kinks: Kinks, decision: Array) -> None:
        """Set the error constant √(p·E y²)/H, and how close kinks come to the decision."""
        size = len(decision)
        residual = decision - kinks.position
        distance = np.abs(residual)
        self.closest = distance.min(axis=0)
        share = min(0.5, max(0.05, 20 * self.n_parameters / size))
        width = max(float(np.quantile(self.closest, share)), 1e-12 * (1 + float(distance.max())))
        slope = kinks.below + kinks.above
        density = float(slope[distance <= width].sum()) / (2 * width)
        y = np.where(residual > 0, kinks.above, -kinks.below).sum(axis=0) * size
        self.error = sqrt(self.n_parameters * float(np.mean(y * y))) / density

    def _width(self, sample: int, n_rows: int) -> float:
        """Near-width at a θ from ``sample`` rows: never fewer than about 20 kinks a parameter."""
        fewest = min(1.0, (20 * self.n_parameters + 200) / n_rows)
        return max(_WIDTHS * self.error / sqrt(sample), float(np.quantile(self.closest, fewest)))

    def _next_sample(self, theta: Array, size: int, larger: int) -> Array | None:
        """Solve a larger sample with only its near kinks open."""
        n_rows = self.source.n_rows
        block = self.source.take(spread_sample(n_rows, larger, self.generator))
        self.passes += larger / n_rows
        block = replace(block, kinks=_scaled(block.kinks, n_rows / larger))
        width = self._width(size, larger)
        decide = Decide(*self.frame.to_raw(theta))
        for _ in range(6):
            far, near, _ = sort_rows([block], decide, self.trust, width)
            if len(near) >= 2 * self.n_parameters:
                reduced = self._reduce(theta, far, near)
                result = self._solve_reduced(reduced, width, _LOOSE * self.n_parameters / larger)
                if result.status == "optimal":
                    return result.theta
            width *= 2
        return None

    def _all_rows(self, theta: Array, sample: int) -> Screened | None:
        """Sort all rows, solve the near ones, check the ring, verify; widen where that fails."""
        source = self.source
        width = self._width(sample, source.n_rows)
        sides = np.empty((source.n_kinks, source.n_rows), dtype=np.int8)
        target = _LOOSE * max(erfc(_WIDTHS / sqrt(2)), 0.1) ** 2 * self.n_parameters / sample
        for _ in range(4):
            decide = Decide(*self.frame.to_raw(theta))
            far, near, ring = sort_rows(
                source.blocks(), decide, self.trust, width, _RING * width, sides
            )
            self.passes += 1
            refined = self._refine(self._reduce(theta, far, near), ring, sides, width, target)
            target = 0.3 * self.tolerance
            if refined is None:
                width *= 2
                continue
            verified = self._verified(refined, sides)
            if verified is not None:
                return verified
            theta = refined.theta
            width = max(width, _WIDTHS * refined.moved)
        return None

    def _refine(
        self, reduced: _Reduced, ring: Index, sides: Sides, width: float, target: float
    ) -> Result | None:
        """Alternate reduced solves and looks at the ring until the ring agrees."""
        tight = 0.3 * self.tolerance
        block = None
        for _ in range(12):
            if len(reduced.near) <= self.n_parameters:
                return None
            result = self._solve_reduced(reduced, width, target)
            if result.status != "optimal":
                return None
            if target <= tight and result.moved < 0.3 * width:
                return result
            if block is None:
                block = self.source.take(ring)
            beyond = erfc(width / (sqrt(2) * max(result.moved, 1e-300)))
            narrower = max(
                1.5 * _WIDTHS * result.moved * max(beyond, 0.04),
                width * max(8 * self.n_parameters, 400) / len(reduced.near),
            )
            width = min(narrower, 0.5 * width)
            decide = Decide(*self.frame.to_raw(result.theta))
            change, near, flips = sort_again(block, ring, decide, self.trust, width, sides)
            allowed = self.tolerance * max(abs(result.objective), self.scale)
            if target <= tight and flips + result.gap <= allowed:
                return result
            moved = float(reduced.linear @ (result.theta - reduced.theta))
            reduced = _Reduced(
                result.theta,
                reduced.linear + self.frame.gradient(change.moments, change.total),
                reduced.cost + moved + change.cost,
                near,
            )
            target = tight
        return None

    def _verified(self, result: Result, sides: Sides) -> Screened | None:
        """One pass over all rows: the exact objective and the certificate."""
        coefficients, intercept = self.frame.to_raw(result.theta)
        objective, flips = verify_rows(self.source.blocks(), Decide(coefficients, intercept), sides)
        self.passes += 1
        if self.ridge is not None:
            objective += 0.5 * float(self.ridge @ result.theta**2)
        if self.lasso is not None:
            objective += float(self.lasso @ np.abs(result.theta))
        gap = flips + result.gap
        if gap > self.tolerance * max(abs(objective), self.scale):
            return None
        return Screened(
            coefficients,
            intercept,
            objective,
            gap,
            result.residual,
            self.iterations,
            self.passes,
        )

    def _reduce(self, theta: Array, far: Far, near: Near) -> _Reduced:
        return _Reduced(theta, self.frame.gradient(far.moments, far.total), far.cost, near)

    def _solve_reduced(self, reduced: _Reduced, width: float, tolerance: float) -> Result:
        features, hinges = reduced.near.gather()
        inner = DenseOperator(self.frame.design(features), OneEach())
        operator, joined = add_lasso(inner, hinges, self.lasso)
        start = Start(
            reduced.theta,
            self.ridge,
            self.scale,
            linear=reduced.linear,
            constant=reduced.cost,
            leash=_LEASH * width,
        )
        return self._solve(operator, joined, start, tolerance)

    def _solve(
        self, operator: Operator, hinges: Hinges, start: Start, tolerance: float
    ) -> Result:
        result = solve_from(operator, hinges, start, Settings(tolerance=tolerance))
        self.iterations += result.iterations
        return result


def _scaled(kinks: Kinks, factor: float) -> Kinks:
    """Let a sample stand for all rows."""
    return Kinks(kinks.position, kinks.below * factor, kinks.above * factor)
