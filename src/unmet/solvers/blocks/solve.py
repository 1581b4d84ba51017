"""Solve exactly what is only seen in blocks.

Sampling is in `blocks_sample`, the few passes in `blocks_screened`, and what happens where these
are not enough in `blocks_newton`. Where nothing helps, and the rows fit, they are read into memory
as a whole: heavy-tailed features on a few million rows. None of them knows about files or clusters.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.costs.hinge import Kinks
from unmet.errors import SolverFailure, Unsupported
from unmet.solvers.blocks.block_passes import (
    Earlier,
    HeldRows,
    Price,
    Ring,
    Sort,
    Sorted,
    joined,
    near_kinks,
)
from unmet.solvers.blocks.newton import Newton
from unmet.solvers.blocks.passes import ArraySource, Decide, Far, spread_sample, verify_rows
from unmet.solvers.blocks.sample import BlockSample, read_sample
from unmet.solvers.blocks.screening import Screening, first_sample_size
from unmet.solvers.blocks.source import BlockSource, OneBlock
from unmet.solvers.exact.direct import Result, Start
from unmet.solvers.exact.scaling import exact_zeros
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Hinges, Operator, Solution

# --- Exact solutions for data that are only seen in blocks, in few passes.
#
# The method is that of `unmet.solvers.blocks.screening`, with passes over all rows made dear:
#
# 1. The sampling read has given a random part of the rows (`blocks_sample`). It is solved by
#    a ladder of growing samples; its solution θ₀ is off by a known standard error.
# 2. A pass at θ₀ (`blocks_sorting`) sums the kinks that are far from the decision into one vector,
#    and hands back the rows within a ring of a few standard errors. These are in memory now:
#    the near kinks among them are solved, the ring is looked at again at the new θ, and so on until
#    it agrees.
# 3. A pass at the new θ₁ gives the objective of all rows and what the kinks cost that were fixed on
#    the wrong side: with the gap of the reduced problem that is the certificate. The same
#    pass sorts around θ₁, so that a doubt left needs no pass of its own to be settled.
#
# Three reads, then, sampling included. Where the ring would hold more rows than allowed, a random
# share of the near rows is solved first. Only these add to the error, which therefore shrinks a
# lot: with n = 10⁹, p = 20 and a sample of 10⁶ rows, 1.2 % of the rows are near; a twelfth of them,
# 10⁶ again, leaves an error eighty times smaller, and the next pass finds 150,000 near rows.
#
# Where guesses fail (half of the observations exactly on a plane, a band that holds everything)
# `blocks_newton` goes on, which needs more passes but no luck.

Array = NDArray[np.float64]

_RINGS = 2.5  # ring in near-widths, where there is room for it
_THIN_RING = 1.5  # the least that is worth having
_WORTH = 0.6  # a thinned stage must shrink the error at least to this share
_ROUNDS = 8
_TRY_ROUNDS = 4
_TRIES = 6
_STEPS = 15
_FEW = 50_000  # rows of the sample whose path is followed before that of all rows
_PATH_PASSES = 120
METHOD = "few-pass interior point"
PATH = "central path over blocks"


class BlockScreening(Screening):
    """One solve. ``source`` is the sample at first, and the ring of the last pass afterwards."""

    def __init__(
        self,
        blocks: BlockSource,
        price: Price,
        sample: BlockSample,
        held_rows: int,
        intercept: bool,
        ridge: Array | None,
        lasso: Array | None,
        tolerance: float,
    ) -> None:
        self.factor = 1.0 / sample.total
        self.rows, self.larger = sample.rows, sample.n_rows / len(sample.rows)
        kinks = price(self.rows, self.factor * self.larger)
        source = ArraySource(self.rows.features, kinks)
        super().__init__(source, intercept, ridge, lasso, tolerance, 0)
        self.blocks, self.price = blocks, price
        self.n_rows = sample.n_rows
        self.held_rows = held_rows
        self.passes = float(sample.reads)

    def run(self) -> Solution | None:
        """Solve the sample, then all rows."""
        theta = self._solve_sample()
        self._measure_sample(self.last if theta is None else theta)
        solution = None
        if theta is not None:
            solution = self._in_passes(theta, self._width(self.n_rows, self.error), _ROUNDS)
        return self._along_the_path() if solution is None else solution

    def _along_the_path(self) -> Solution | None:
        """Follow the central path over all rows until those near it fit, or to its end."""
        least = self.tolerance * self.scale.smallest
        reads, tried = self.passes, 0
        path = self._path(self.blocks, self.factor)
        self._begin(path, least)
        while path.passes < _PATH_PASSES and path.centre(_STEPS, least):
            target = self.tolerance * max(abs(path.found.value), self.scale.smallest)
            if path.settled(target, least, _STEPS):
                self.passes = reads + path.passes
                return self._path_solution(path)
            ring = path.ring(int(0.6 * self.held_rows))
            if ring is not None and tried < _TRIES:
                tried += 1
                self.passes = before = reads + path.passes
                self.error = 6 * path.mu
                solution = self._in_passes(path.theta, ring / _RINGS, _TRY_ROUNDS, ring)
                if solution is not None:
                    return solution
                reads += self.passes - before
            if not path.advance():
                break
        return None

    def _path(self, blocks: BlockSource, factor: float) -> Newton:
        penalties, reach = (self.ridge, self.lasso), self.scale.reach
        return Newton(blocks, self.price, factor, self.frame, *penalties, reach)

    def _begin(self, path: Newton, least: float) -> None:
        """Start at the end of the sample's own path, or, if that is nowhere near, at its middle.

        Where most rows are near because they lie on a plane, multipliers of the sample are those of
        all rows but for a few per cent, and only the last steps of the path need all rows.
        """
        if self.objective <= least:
            path.begin(self.last, 0.1 * self.scale.reach)
            return
        # close enough to the sample's answer, and wide enough for Newton's steps to be long
        wide = min(max(self.error, 0.01 * self.objective), self.scale.reach)
        few = self.rows.take(
            spread_sample(len(self.rows), min(len(self.rows), _FEW), self.generator)
        )
        small = self._path(OneBlock(few), self.factor * self.larger * len(self.rows) / len(few))
        small.begin(self.last, wide)
        target = self.tolerance * abs(self.objective)
        while small.passes < _PATH_PASSES and small.centre(_STEPS, least):
            if small.found.gap <= target:
                path.begin(small.theta, small.mu)
                if path.close:
                    return
                break
            if not small.advance():
                break
        path.begin(self.last, wide)

    def _path_solution(self, path: Newton) -> Solution:
        value, gap, residual = path.found.value, path.found.gap, path.residual
        if value <= self.tolerance * self.scale.smallest:
            gap, residual = value, 0.0  # no sum of hinges is below zero
        return Solution(
            *self.frame.to_raw(path.theta),
            value,
            gap,
            residual,
            self.iterations + path.passes,
            self.passes,
            PATH,
        )

    def _solve(self, operator: Operator, hinges: Hinges, start: Start, tolerance: float) -> Result:
        """Remember the last θ that was found."""
        result = super()._solve(operator, hinges, start, tolerance)
        if result.status == "optimal" or not hasattr(self, "last"):
            self.last = result.theta
        return result

    def _last_sample(self, first: int) -> int:
        """Use the whole sample: it has been read."""
        return max(first, self.source.n_rows)

    def _solve_sample(self) -> Array | None:
        """Climb the ladder up to the whole sample."""
        size = self.source.n_rows
        first = first_sample_size(size, self.n_parameters)
        reads = self.passes
        theta = self._ladder(min(first, size))
        self.passes = reads
        return theta

    def _measure_sample(self, theta: Array) -> None:
        """Remember how far the rows of the sample are from the decision, then give them up."""
        assert isinstance(self.source, ArraySource)
        decide, closest = Decide(*self.frame.to_raw(theta)), []
        for block in self.source.blocks():
            distance = np.abs(decide(block.features) - block.kinks.position)
            distance /= self.trust.radius(block.features)
            closest.append(distance.min(axis=0))
        self.distance = np.sort(np.concatenate(closest))
        self.source = HeldRows(joined([], self.source.n_features))

    def _rows_within(self, width: float) -> float:
        """Expect so many rows within a width, from the sample, and never less than one of it."""
        inside = int(np.searchsorted(self.distance, width)) + 1
        return self.n_rows * inside / len(self.distance)

    def _in_passes(
        self, theta: Array, width: float, rounds: int, first_ring: float | None = None
    ) -> Solution | None:
        """Sort, solve what is near, verify while sorting again."""
        target = 0.001 * self.density * self.error**2 / max(self.objective, self.scale.smallest)
        waiting: Result | None = None
        earlier: Earlier | None = None
        wrong = 0.0
        for number in range(rounds):
            ring, keep = self._afford(width)
            if first_ring is not None and number == 0:
                ring, keep = first_ring, 1.0  # its rows have been counted
            found = self._sort(theta, width, ring, keep, number, earlier)
            if waiting is not None:
                solution = self._proved(waiting, theta, found, wrong)
                if solution is not None:
                    return solution
            held = found.ring()
            if keep < 1.0:
                waiting = earlier = None
                thinned = self._solve_thinned(theta, found, held, width, keep)
                if thinned is None:
                    return None
                theta = thinned
                width = self._width(self.n_rows, self.error)
                continue
            result, wrong = self._solve_ring(theta, found, held, width, target)
            target = 0.3 * self.tolerance
            if result is None:
                waiting = earlier = None
                width *= 2
                continue
            waiting, earlier = result, Earlier(Decide(*self.frame.to_raw(theta)), ring)
            theta = exact_zeros(result.theta, result.dual, self.lasso)
            width = max(self._width(self.n_rows, 0.0), 0.2 * width)
        return None

    def _afford(self, width: float) -> tuple[float, float]:
        """Choose a ring with few enough rows, or else only a share of the near ones."""
        for times in (_RINGS, _THIN_RING):
            if self._rows_within(times * width) <= self.held_rows:
                return times * width, 1.0
        near = self._rows_within(width)
        return width, min(1.0, 0.9 * self.held_rows / near)

    def _sort(
        self,
        theta: Array,
        width: float,
        ring: float,
        keep: float,
        number: int,
        earlier: Earlier | None,
    ) -> Sorted:
        decide = Decide(*self.frame.to_raw(theta))
        task = Sort(self.price, self.factor, decide, self.trust, width, ring, keep, number, earlier)
        found = Sorted(Far(np.zeros(self.blocks.n_features), 0.0, 0.0))
        for part in self.blocks.run(task):
            found.add(part)
        self.passes += 1
        return found

    def _solve_thinned(
        self, theta: Array, found: Sorted, held: Ring, width: float, keep: float
    ) -> Array | None:
        """Solve a share of the near kinks; None if that does not shrink the error."""
        error = self._error((1 / keep - 1) * found.near_square)
        if error > _WORTH * self.error:
            return None
        kinks = held.kinks
        scaled = Kinks(kinks.position, kinks.below / keep, kinks.above / keep)
        reduced = self._reduce(theta, found.far, near_kinks(replace(held, kinks=scaled)))
        target = 0.001 * self.density * error**2 / max(self.objective, self.scale.smallest)
        result = self._solve_reduced(reduced, width, target)
        if result.status != "optimal":
            return None
        self.error = error
        return result.theta

    def _solve_ring(
        self, theta: Array, found: Sorted, held: Ring, width: float, target: float
    ) -> tuple[Result | None, float]:
        """Solve the rows in memory, and say what their wrongly fixed kinks cost in the end."""
        self.source = HeldRows(held)
        reduced = self._reduce(theta, found.far, near_kinks(held))
        rows = np.arange(len(held))
        result = self._refine(reduced, rows, held.sides, width, target)
        wrong = 0.0
        if result is not None:
            rounded = exact_zeros(result.theta, result.dual, self.lasso)
            decide = Decide(*self.frame.to_raw(rounded))
            wrong = verify_rows(self.source.blocks(), decide, held.sides)[1]
        self.source = HeldRows(joined([], self.source.n_features))
        return result, wrong

    def _proved(self, result: Result, theta: Array, found: Sorted, wrong: float) -> Solution | None:
        """Give the answer, if the certificate of all rows allows."""
        return self._certified(result, theta, found.value, found.flips + wrong, METHOD)


# --- Solve exactly what is only seen in blocks.

_HELD_ENTRIES = 50_000_000  # of the features of a ring: 400 MB
_LAST_ENTRIES = 100_000_000  # of all features, up to which they may be read into memory
_MOST_FEATURES = 2000


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
    if source.n_features > _MOST_FEATURES:
        raise Unsupported(
            f"Blocks and {source.n_features} features do not fit together, because the matrices "
            f"of a pass would not: use at most {_MOST_FEATURES}, or the solver 'minibatch'."
        )
    if held_rows is None:
        held_rows = max(20_000, _HELD_ENTRIES // max(source.n_features, 1))
    held_rows = max(held_rows, 40 * (source.n_features + 1) + 600)  # fewer would say nothing
    screening = BlockScreening(source, price, sample, held_rows, intercept, ridge, lasso, tolerance)
    # Features of scale 1e200 overflow in places; the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = screening.run()
    if found is not None:
        return found
    if sample.n_rows * source.n_features <= _LAST_ENTRIES:
        return _solve_together(source, price, intercept, ridge, lasso, tolerance, screening.passes)
    raise SolverFailure(
        "the solver over blocks could not prove an answer for these features and weights; "
        "try bringing them to similar scales, or another strength of the penalty."
    )


def _solve_together(
    source: BlockSource,
    price: Price,
    intercept: bool,
    ridge: Array | None,
    lasso: Array | None,
    tolerance: float,
    reads: float,
) -> Solution:
    """Read all rows and solve them in memory: the last resort, where there is room for it."""
    every = read_sample(source, in_memory=sys.maxsize)
    kinks = price(every.rows, 1.0 / every.total)
    problem = HingeProblem(every.rows.features, kinks, intercept, ridge, lasso)
    return replace(solve_exact(problem, tolerance=tolerance), passes=reads + every.reads)
