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
from math import erfc, hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray

from unmet.costs.hinge import Kinks
from unmet.solvers.blocks.passes import (
    Decide,
    Far,
    Index,
    Near,
    Sides,
    Source,
    Trust,
    choose_trust,
    sort_again,
    sort_rows,
    spread_sample,
    verify_rows,
)
from unmet.solvers.exact.direct import Result, Start, flat_hinges, pilot, scale_of, solve_from
from unmet.solvers.exact.interior_point import Settings
from unmet.solvers.exact.operators import DenseOperator, OneEach, layout_for
from unmet.solvers.exact.scaling import Frame, Settled, add_lasso, exact_zeros
from unmet.solvers.problem import Hinges, Operator, Solution

Array = NDArray[np.float64]

_WIDTHS = 3.0  # near means within this many standard errors; below 2 reduced problems are unbounded
_RING = 2.5  # rows within this many near-widths are checked again between reduced solves
_LADDER = 6.0  # growth from one sample to the next
_LOOSE = 0.05  # a sample needs no tighter relative gap than this many parameters per row
_ENOUGH = 150  # near kinks a parameter beyond which a random share of them is solved first
_THINNEST = 0.1  # the smallest such share
_SETTLED = 10.0  # a coefficient this many near-widths from zero keeps its sign
_LEASH = 3.0  # a reduced solution that moves farther than this many near-widths is not trusted


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
) -> Solution | None:
    """Solve over all rows of a source; None when the guesses of step 1 did not hold."""
    return Screening(source, intercept, ridge, lasso, tolerance, seed).run()


@dataclass(frozen=True)
class _Reduced:
    """A reduced problem at θ: the sum of far kinks in the frame, and the open ones."""

    theta: Array
    linear: Array
    cost: float
    near: Near


class Screening:
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

    def run(self) -> Solution | None:
        """Solve samples, then all rows."""
        theta = self._ladder(first_sample_size(self.source.n_rows, self.n_parameters))
        return None if theta is None else self._all_rows(theta)

    def _ladder(self, first: int) -> Array | None:
        """Solve growing samples; None where they do not tell what all rows will do."""
        theta = self._first_sample(first)
        if self.objective <= self.tolerance * self.scale.smallest:
            return None  # a flat optimum of zero cost: all rows together find its middle
        last = self._last_sample(first)
        levels = max(1, round(log(last / first) / log(_LADDER)))
        for level in range(1, levels + 1):
            larger = int(first * (last / first) ** (level / levels))
            improved = self._next_sample(theta, larger)
            if improved is None:
                return None
            theta = improved
        return theta

    def _first_sample(self, size: int) -> Array:
        """Solve a sample with all its kinks open, and learn the error constants from it."""
        n_rows, n_kinks = self.source.n_rows, self.source.n_kinks
        block = self.source.take(spread_sample(n_rows, size, self.generator))
        self.passes += size / n_rows
        self.frame = Frame.of(block.features, self.intercept)
        ridge, lasso = self.raw_penalties
        if ridge is None and lasso is None:
            self.frame, design = self.frame.orthogonal(block.features, all_rows=False)
        else:
            design = self.frame.design(block.features)
        self.ridge = self.frame.ridge(ridge)
        self.lasso = self.frame.penalties(lasso, 1)
        kinks = _scaled(block.kinks, n_rows / size)
        hinges = flat_hinges(kinks)
        self.scale = scale_of(hinges, self.tolerance)
        inner = DenseOperator(design, layout_for(n_kinks, size))
        operator, joined = add_lasso(inner, hinges, self.lasso)
        start = Start(pilot(operator, joined, self.ridge, self.intercept), self.ridge, self.scale)
        result = self._solve(operator, joined, start, _LOOSE * self.n_parameters / size)
        self._learn_errors(kinks, design @ result.theta)
        self.trust: Trust = choose_trust(self.frame, design, block.features)
        return result.theta

    def _last_sample(self, first: int) -> int:
        """Rows m of the last sample, so that the fewest rows are copied in all.

        Copied are m rows of the sample and those of the ring around its decisions, which is a
        share 2·ring·widths·error·(kinks per unit) ∝ 1/√m of all n. The sum is least at this m,
        doubled because a better θ also leaves fewer near kinks to solve.
        """
        n_rows = self.source.n_rows
        spread = sqrt(self.n_parameters * self.mean_square) / self.total
        best = 2 * (_RING * _WIDTHS * spread * n_rows) ** (2 / 3)
        return int(min(max(best, first), n_rows / 3))

    def _learn_errors(self, kinks: Kinks, decision: Array) -> None:
        """Set the error constant √(p·E y²)/H, and how close kinks come to the decision."""
        size = len(decision)
        residual = decision - kinks.position
        distance = np.abs(residual)
        self.closest = distance.min(axis=0)
        share = min(0.5, max(0.05, 20 * self.n_parameters / size))
        width = max(float(np.quantile(self.closest, share)), 1e-12 * (1 + float(distance.max())))
        slope = kinks.below + kinks.above
        self.density = float(slope[distance <= width].sum()) / (2 * width)
        y = np.where(residual > 0, kinks.above, -kinks.below).sum(axis=0) * size
        self.mean_square = float(np.mean(y * y))
        self.total = float(slope.sum())
        self.error = self._error(self.mean_square / size)

    def _error(self, variance: float) -> float:
        """Return the standard deviation of decisions when the gradient has this variance."""
        return sqrt(self.n_parameters * variance) / self.density

    def _width(self, n_rows: int, error: float) -> float:
        """Near-width for an expected move: never fewer than about 20 kinks a parameter."""
        fewest = min(1.0, (20 * self.n_parameters + 200) / n_rows)
        return max(_WIDTHS * error, float(np.quantile(self.closest, fewest)))

    def _next_sample(self, theta: Array, larger: int) -> Array | None:
        """Solve a larger sample with only its near kinks open."""
        n_rows = self.source.n_rows
        block = self.source.take(spread_sample(n_rows, larger, self.generator))
        self.passes += larger / n_rows
        block = replace(block, kinks=_scaled(block.kinks, n_rows / larger))
        variance = self.mean_square / larger
        # from the old error to the one of this sample
        width = self._width(larger, hypot(self.error, self._error(variance)))
        decide = Decide(*self.frame.to_raw(theta))
        for _ in range(6):
            far, near, _ = sort_rows([block], decide, self.trust, width)
            if len(near) >= 2 * self.n_parameters:
                reduced = self._reduce(theta, far, near)
                tolerance = _LOOSE * self.n_parameters / larger
                # thinning may add a third to the variance of the sample
                keep = self._share(near, near.mean_square() / (near.mean_square() + variance / 3))
                result = self._solve_reduced(reduced, width, tolerance, keep)
                if result.status == "optimal":
                    self.error = self._error(variance + (1 / keep - 1) * near.mean_square())
                    return result.theta
            width *= 2
        return None

    def _all_rows(self, theta: Array) -> Solution | None:
        """Sort all rows, solve the near ones, check the ring, verify; widen where that fails."""
        source = self.source
        width = self._width(source.n_rows, self.error)
        sides = np.empty((source.n_kinks, source.n_rows), dtype=np.int8)
        # The excess cost of an error is ½H·error²: solve no tighter than the next error deserves.
        target = 0.001 * self.density * self.error**2 / max(self.objective, self.scale.smallest)
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
            keep = self._share(reduced.near, _THINNEST) if block is None else 1.0
            result = self._solve_reduced(reduced, width, target, keep)
            if result.status != "optimal":
                return None
            if target <= tight and keep == 1.0 and result.moved < 0.3 * width:
                return result
            if block is None:
                block = self.source.take(ring)
            width = self._narrower(reduced, result, width, keep)
            decide = Decide(*self.frame.to_raw(result.theta))
            change, near, flips = sort_again(block, ring, decide, self.trust, width, sides)
            allowed = self.tolerance * max(abs(result.objective), self.scale.smallest)
            if target <= tight and keep == 1.0 and flips + result.gap <= allowed:
                return replace(result, gap=result.gap + flips)
            moved = float(reduced.linear @ (result.theta - reduced.theta))
            reduced = _Reduced(
                result.theta,
                reduced.linear + self.frame.gradient(change.moments, change.total),
                reduced.cost + moved + change.cost,
                near,
            )
            if keep == 1.0:
                target = tight
        return None

    def _share(self, near: Near, thinnest: float) -> float:
        """Share of the near kinks that is worth solving before all of them."""
        return max(thinnest, min(1.0, _ENOUGH * self.n_parameters / len(near)))

    def _narrower(self, reduced: _Reduced, result: Result, width: float, keep: float) -> float:
        """Near-width after a reduced solve that moved the decisions by ``result.moved``."""
        enough = width * max(8 * self.n_parameters, 400) / len(reduced.near)
        if keep < 1.0:
            # Only the near kinks were sampled, so only they add error.
            error = self._error((1 / keep - 1) * reduced.near.mean_square())
            return min(max(_WIDTHS * error, enough), 0.5 * width)
        beyond = erfc(width / (sqrt(2) * max(result.moved, 1e-300)))
        moved = 1.5 * _WIDTHS * result.moved * max(beyond, 0.04)
        return min(max(moved, enough), 0.5 * width)

    def _verified(self, result: Result, sides: Sides) -> Solution | None:
        """One pass over all rows: the exact objective and the certificate."""
        theta = exact_zeros(result.theta, result.dual, self.lasso)
        coefficients, intercept = self.frame.to_raw(theta)
        objective, flips = verify_rows(self.source.blocks(), Decide(coefficients, intercept), sides)
        self.passes += 1
        return self._certified(result, theta, objective, flips, "screened interior point")

    def _certified(
        self, result: Result, theta: Array, value: float, flips: float, method: str
    ) -> Solution | None:
        """Join the hinge cost of all rows and its doubtful part to a solution, if proved."""
        objective = value
        if self.ridge is not None:
            objective += 0.5 * float(self.ridge @ theta**2)
        if self.lasso is not None:
            objective += float(self.lasso @ np.abs(theta))
        # The second is the same but for zeros that were set, and for the rounding of coefficients
        # of features far from 0, which costs more than the flips.
        gap = max(flips, objective - result.objective) + result.gap
        if gap > self.tolerance * max(abs(objective), self.scale.smallest):
            return None
        return Solution(
            *self.frame.to_raw(theta),
            objective,
            gap,
            result.residual,
            self.iterations,
            self.passes,
            method,
        )

    def _reduce(self, theta: Array, far: Far, near: Near) -> _Reduced:
        return _Reduced(theta, self.frame.gradient(far.moments, far.total), far.cost, near)

    def _solve_reduced(
        self, reduced: _Reduced, width: float, tolerance: float, keep: float = 1.0
    ) -> Result:
        if keep < 1.0:
            features, hinges = reduced.near.thinned(keep, self.generator)
        else:
            features, hinges = reduced.near.gather()
        inner = DenseOperator(self.frame.design(features), OneEach())
        theta, lasso = reduced.theta, self.lasso
        linear, cost = reduced.linear, reduced.cost
        settled = None if lasso is None else Settled.of(theta, lasso, _SETTLED * width)
        if settled is not None:
            linear, cost, lasso = linear + settled.slope, cost + settled.cost, settled.rest
        operator, joined = add_lasso(inner, hinges, lasso)
        # A coefficient that no sample has seen may have to go any distance.
        leash = np.inf if self.trust.unseen.size else _LEASH * width
        start = Start(theta, self.ridge, self.scale, linear=linear, constant=cost, leash=leash)
        result = self._solve(operator, joined, start, tolerance)
        return result if settled is None else _unsettled(result, settled)

    def _solve(self, operator: Operator, hinges: Hinges, start: Start, tolerance: float) -> Result:
        result = solve_from(operator, hinges, start, Settings(tolerance=tolerance))
        self.iterations += result.iterations
        self.objective = result.objective
        return result


def _unsettled(result: Result, settled: Settled) -> Result:
    """Give coefficients with a fixed sign their multipliers; adrift if one lost its sign."""
    status = result.status if settled.holds(result.theta) else "adrift"
    return replace(result, status=status, dual=settled.with_all(result.dual))


def _scaled(kinks: Kinks, factor: float) -> Kinks:
    """Let a sample stand for all rows."""
    return Kinks(kinks.position, _times(kinks.below, factor), _times(kinks.above, factor))


def _times(slopes: Array, factor: float) -> Array:
    if slopes.strides[1] == 0:  # a view that repeats one column: stay one
        return np.broadcast_to(slopes[:, :1] * factor, slopes.shape)
    return slopes * factor
