"""Exact solutions for many rows: fix the kinks that are certainly far from the decision.

A hinge whose kink the decision never reaches is a straight line. If θ is known up to an error that
moves the decisions by about τ, every kink farther than τ from its decision can be replaced by its
line. All lines together are one vector g, and only the few near kinks remain:

1. Solve growing random samples; each solution shrinks the error like 1/√(sample size).
2. One pass over all rows at the last θ sums the rows whose kinks are all far into g, and returns
   the others: a *ring* of a few τ around the decision, which is kept in memory. The interior point
   solves its near kinks, the ring is sorted again at the new θ with a much smaller τ, and so on
   until it agrees.
3. A last pass over all rows verifies the result.

**Certificate.** A line never lies above its hinge, so the reduced problem bounds the full one from
below: the optimum is at least (reduced objective − reduced gap). At the returned θ the two
objectives differ by Σ c|r| over the kinks that changed side since they were fixed. The gap of the
full problem is therefore at most reduced gap + Σ c|r| over those flips. This is exact, whatever the
guesses of step 1 were. The side on which a kink was fixed is not stored. A pass at another θ
computes for every row again where it was at the earlier θ, with slightly less than the earlier
width, so that rounding can only make the gap larger.

**Error of a sample.** With y the slope at the decision and H the density of slope changes there, θ̂
on m rows has a random error whose decisions have standard deviation √(p·E y²) / (H√m), times the
leverage of the row.

**Blocks.** The solver sees the rows only through passes: a task runs on every block, where the
block is, and returns sums and a few rows. Rows in memory are one block, and samples are drawn from
them when they are needed. If blocks are elsewhere, a separate read draws the sample, so the solver
needs three reads.

If the guesses fail (reduced problem unbounded, too many flips), τ is widened; in the end all rows
are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from math import erfc, hypot, log, sqrt
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from unmet.arrays import Array, Places, slices
from unmet.costs.hinge import Kinks
from unmet.solvers.blocks.source import BlockSource, RowBlock, dense
from unmet.solvers.exact.direct import StandardProblem, add_lasso, exact_zeros, flat_hinges
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import InteriorPoint, Operator, follow_central_path
from unmet.solvers.problem import Hinges, Solution

Found = TypeVar("Found")
Price = Callable[[RowBlock, float], Kinks]
"""From rows with weight, and a factor of their weights, to the kinks of their costs."""
Run: TypeAlias = Callable[[Any], Iterator[Any]]
"""Runs a task on the chunks of every block, and yields what it returns."""
Rule: TypeAlias = tuple[Array, float]
"""Coefficients and intercept for features as given."""

NEAR_WIDTHS = 3.0
"""Near means within so many standard errors; below 2 reduced problems are unbounded."""
RING_WIDTHS = 2.5
"""Rows within so many near-widths are looked at again between reduced solves."""
SAMPLE_GAP = 0.05
"""A sample needs no tighter relative gap than so many parameters per row."""
HELD_ENTRIES = 50_000_000
"""Entries of the features of the rows around the decision that are fetched from blocks: 400 MB."""

# --- Rows with kinks: one block in memory, or blocks that are evaluated where they lie.


@dataclass(frozen=True)
class KinkBlock:
    """Some rows: their features and their kinks."""

    features: Any
    kinks: Kinks

    def __len__(self) -> int:
        return len(self.kinks.position[0])

    def take(self, rows: Places) -> KinkBlock:
        """Copy the given rows; slopes that all rows share stay one number."""
        kinks = Kinks(*(_columns(each, rows) for each in self.kinks))
        return KinkBlock(self.features.take(rows, axis=0), kinks)

    def slopes(self, kink: int) -> tuple[Array | float, Array | float]:
        """Slopes below and above; plain numbers where all rows share one, which saves work."""
        below, above = self.kinks.below[kink], self.kinks.above[kink]
        if below.strides[0] == 0 and above.strides[0] == 0 and len(below):
            return float(below[0]), float(above[0])
        return below, above

    def chunks(self) -> Iterator[KinkBlock]:
        """Yield all rows in order, in chunks of 1 MB of dense float64 features: views if they can.

        Several sweeps over a chunk should find it in the cache.
        """
        size = max(512, 125_000 // max(self.features.shape[1], 1))
        for part in slices(len(self), size):
            kinks = Kinks(*(each[:, part] for each in self.kinks))
            yield KinkBlock(dense(self.features[part]), kinks)

    def run(self, task: Callable[[Iterable[KinkBlock]], Found]) -> Iterator[Found]:
        """Run a task on all rows: an array in memory is one block."""
        yield task(self.chunks())


def _columns(values: Array, rows: Places) -> Array:
    """Take columns of an array; a view when all columns are one and the same."""
    return values[:, : len(rows)] if values.strides[1] == 0 else values[:, rows]


def run_evaluated(
    source: BlockSource, price: Price, factor: float, task: Callable[[Iterable[KinkBlock]], Found]
) -> Iterator[Found]:
    """Run a task on the chunks of every block of a source, whose kinks are made where it lies."""
    return source.run(partial(_on_evaluated, price, factor, task))


def _on_evaluated(
    price: Price, factor: float, task: Callable[[Iterable[KinkBlock]], Found], block: RowBlock
) -> Found:
    """Evaluate the rows of a block that count, then do the task."""
    block = block.counted()
    if not len(block):
        return task(())
    return task(KinkBlock(block.features, price(block, factor)).chunks())


def join_blocks(parts: Sequence[KinkBlock], n_features: int) -> KinkBlock:
    """Put rows together; where some have fewer kinks than others, kinks without cost fill up.

    A band without width makes one kink of two, so that blocks may differ in how many they have.
    """
    n_kinks = max((len(part.kinks.position) for part in parts), default=1)
    n_rows = sum(map(len, parts))
    features = np.empty((n_rows, n_features))
    position, *slopes = (np.zeros((n_kinks, n_rows)) for _ in range(3))
    start = 0
    for part in parts:
        rows = slice(start, start + len(part))
        features[rows] = part.features
        position[:, rows] = part.kinks.position[0]
        for whole, own in zip([position, *slopes], part.kinks, strict=True):
            whole[: len(own), rows] = own
        start += len(part)
    shared = (
        np.broadcast_to(each[:, :1], each.shape) if (each == each[:, :1]).all() else each
        for each in slopes
    )
    return KinkBlock(features, Kinks(position, *shared))


def spread_sample(n_rows: int, size: int, generator: np.random.Generator) -> Places:
    """Sorted row numbers without repeats, one at random from each of ``size`` equal stretches."""
    stretch = n_rows / size
    rows = (np.arange(size) * stretch).astype(np.intp)
    rows += generator.integers(0, max(1, int(stretch)), size)
    return rows


# --- How far a decision may move when θ is only known up to sampling error.


class Leverage:
    """√(x'M⁻¹x / p) with M from a sample: how uncertain a decision is, relative to others.

    The error of x'θ̂ grows with the leverage of x. Where leverages are alike one width serves all
    rows; with rare dummies or heavy-tailed features it must be scaled row by row, and a direction
    that the sample has never seen is not known at all.

    Attributes
    ----------
    root : ndarray or None
        A matrix L⁻ᵀ with M⁻¹ = L⁻ᵀL⁻¹, only the diagonal of M^(−½), or None: all rows alike.
    constant : ndarray of int
        Features that were constant in the sample.
    """

    def __init__(self, standard: Standardisation, design: Array, features: Array) -> None:
        """Pick the cheapest of one width, a diagonal and a full leverage that fits the sample."""
        self.standard = standard
        self.constant = np.flatnonzero((features == features[0]).all(axis=0))
        moments = design.T @ design / len(design)
        diagonal = moments.diagonal().copy()
        empty = diagonal <= 0
        diagonal[empty] = 1.0
        moments[empty, empty] = 1.0
        moments.flat[:: len(moments) + 1] += 1e-10 * diagonal
        self.root: Array | None = 1 / np.sqrt(diagonal)
        rough = self._of_design(design)
        try:
            lower = np.linalg.cholesky(moments)
        except np.linalg.LinAlgError:  # collinear beyond the shift: the diagonal has to do
            return
        full = solve_triangular(lower, np.eye(len(lower)), lower=True).T
        proxy, self.root = self.root, full
        exact = self._of_design(design)
        if np.quantile(exact, 0.995) <= 2.5 * np.median(exact) and not len(self.constant):
            self.root = None
        elif np.quantile(exact / np.maximum(rough, 1e-300), 0.995) <= 1.6:
            self.root = proxy

    def __call__(self, features: Array, rows: Places | None = None) -> float | Array:
        """Return one number for all rows or one per row, about 1; infinite where unknown."""
        if self.root is None:
            return 1.0
        features = features if rows is None else features[rows]
        leverage = self._of_design(self.standard.design(features))
        if len(self.constant):
            strange = features[:, self.constant] != self.standard.centre[self.constant]
            leverage[strange.any(axis=1)] = np.inf
        return leverage

    def _of_design(self, design: Array) -> Array:
        assert self.root is not None
        whitened = design * self.root if self.root.ndim == 1 else design @ self.root
        squared = np.einsum("ij,ij->i", whitened, whitened)
        return np.asarray(np.sqrt(squared / design.shape[1]))


# --- Passes that sort kinks into far and near, and check an earlier sorting.


Earlier: TypeAlias = tuple[Rule, float, Sequence[Array]]
"""The sorting before: its rule, the width outside which its sides are final, and for rows in memory
the decisions of then, chunk by chunk."""
OpenKinks: TypeAlias = list[tuple[Array, Places, Hinges]]
"""Near kinks, part by part: features, the rows of these that are open, and their hinges. Features
are copied only when they are gathered, so that a random share costs no more."""


def _open_kinks(block: KinkBlock, kink: int, rows: Places) -> tuple[Array, Places, Hinges]:
    """One kink of some rows, those left out where it costs nothing on either side."""
    below, above = (_columns(s, rows) for s in (block.kinks.below, block.kinks.above))
    idle = below[kink] + above[kink] <= 0
    if idle.any():
        return _open_kinks(block, kink, rows[~idle])
    position, weight = block.kinks.position[kink][rows], (below + above).sum(axis=0)
    return block.features, rows, Hinges(position, below[kink], above[kink], weight)


def _thinned(near: OpenKinks, share: float, generator: np.random.Generator) -> OpenKinks:
    """Return a random share of the kinks, with slopes that stand for all of them."""
    found = []
    for features, rows, hinges in near:
        kept = np.flatnonzero(generator.random(len(rows)) < share)
        position, *slopes = hinges.take(kept)
        found.append((features, rows[kept], Hinges(position, *(each / share for each in slopes))))
    return found


def _mean_square(near: OpenKinks) -> float:
    """Σ y² over the open kinks, when each side of a kink is as likely as the other."""
    return 0.5 * sum(float(h.below @ h.below + h.above @ h.above) for *_, h in near)


def _count(near: OpenKinks) -> int:
    return sum(len(rows) for _, rows, _ in near)


@dataclass
class Sorted:
    """What a pass, or a block of it, found.

    Attributes
    ----------
    moments, total, cost : ndarray of shape (n_features,), float, float
        Σ y x, Σ y and Σ y r over what is far.
    value : float
        Cost of all kinks at the decision rule.
    flips : float
        The part of it that is due to kinks the earlier sorting had fixed on the wrong side.
    near : OpenKinks
        The near kinks, where kinks were sorted one by one.
    rows : list of KinkBlock
        The rows with a near kink, where whole rows were sorted.
    decisions : list of ndarray
        Of all rows, chunk by chunk, where they are to be remembered.
    """

    moments: Array
    total: float = 0.0
    cost: float = 0.0
    value: float = 0.0
    flips: float = 0.0
    near: OpenKinks = field(default_factory=list)
    rows: list[KinkBlock] = field(default_factory=list)
    decisions: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class Sort:
    """Task: sort kinks, or whole rows, into far and near, and check an earlier sorting.

    Attributes
    ----------
    rule : Rule
    leverage : Leverage
    width : float or None
        Near is what lies within so many leverages of the decision; None only checks.
    earlier : Earlier or None
    whole_rows : bool
        A row with a near kink is near as a whole, and handed back.
    remember : bool
        Keep the decisions for the next pass: rows in memory that come in the same chunks.
    """

    rule: Rule
    leverage: Leverage
    width: float | None
    earlier: Earlier | None = None
    whole_rows: bool = False
    remember: bool = False

    def __call__(self, blocks: Iterable[KinkBlock]) -> Sorted:
        """Sort the rows of some blocks."""
        (coefficients, intercept), by_row = self.rule, self.whole_rows
        found = Sorted(np.zeros(len(coefficients)))
        for place, block in enumerate(blocks):
            decision, before = block.features @ coefficients, None
            decision += intercept
            if self.remember:
                found.decisions.append(decision)
            if self.earlier is not None:
                (old, level), _, known = self.earlier
                before = known[place] if known else block.features @ old + level
            reach = None if self.width is None else self.width * self.leverage(block.features)
            slope: Array | None = None
            cost = np.zeros(len(block) if by_row else 0)
            close = np.zeros(len(cost), dtype=bool)
            for k, position in enumerate(block.kinks.position):
                below, above = block.slopes(k)
                residual = decision - position
                over = residual > 0
                y = over * (below + above)
                y -= below
                if before is not None:
                    wrong = np.flatnonzero((before > position) != over)
                    if len(wrong):
                        found.flips += self._flips(block, k, wrong, before, residual)
                if by_row:
                    close |= np.abs(residual) <= reach
                    cost += y * residual
                else:
                    found.value += float(y @ residual)
                if reach is None:
                    continue
                if not by_row:
                    near = np.flatnonzero(np.abs(residual) <= reach)
                    found.near.append(_open_kinks(block, k, near))
                    y[near] = 0.0
                    found.cost += float(y @ residual)
                slope = y if slope is None else slope + y
            if slope is None:  # only checked
                continue
            if by_row:
                rows = np.flatnonzero(close)
                found.rows.append(block.take(rows))
                found.value += float(cost.sum())
                slope[rows] = cost[rows] = 0.0
                found.cost += float(cost.sum())
            found.moments += slope @ block.features
            found.total += float(slope.sum())
        if len(found.rows) > 1 and not self.remember:  # they travel better in one piece
            found.rows = [join_blocks(found.rows, len(found.moments))]
        return found

    def _flips(
        self, block: KinkBlock, kink: int, wrong: Places, before: Array, residual: Array
    ) -> float:
        """Cost of kinks that have changed side, if they were fixed: outside the earlier width."""
        assert self.earlier is not None
        limit = self.earlier[1] * (1 - 1e-9) * self.leverage(block.features, wrong)
        distance = np.abs(before[wrong] - block.kinks.position[kink][wrong])
        fixed = wrong[distance > limit]
        slope = block.kinks.below[kink][fixed] + block.kinks.above[kink][fixed]
        return float(slope @ np.abs(residual[fixed]))


def _count_strange(standard: Standardisation, blocks: Iterable[KinkBlock]) -> int:
    """Task: count rows in which a column that was left out is not what the others say."""
    return sum(standard.count_strange(block.features) for block in blocks)


# --- One solve.


def first_sample_size(n_rows: int, n_parameters: int) -> int:
    """Rows in the first sample."""
    if n_rows < 200_000:
        return max(1000, 30 * n_parameters)
    return max(5000, 100 * n_parameters)


def pays(n_rows: int, n_parameters: int) -> bool:
    """Whether screening is expected to beat solving all rows at once."""
    return n_rows > max(4000, 3 * first_sample_size(n_rows, n_parameters))


class Screening:
    """One solve. Steps in the order of the module docstring.

    Parameters
    ----------
    sample : KinkBlock
        Rows in memory: a random part that stands for all rows, or all of them.
    intercept : bool
    penalties : tuple of ndarray or None
        Ridge and lasso for each feature.
    tolerance : float
        Largest duality gap relative to the objective.
    blocks : callable, optional
        Runs a task on all rows, where they are not those of the sample.
    n_rows : int
        How many these are then.
    passes : float
        How often all rows have been read.
    """

    def __init__(
        self,
        sample: KinkBlock,
        intercept: bool,
        penalties: tuple[Array | None, Array | None],
        tolerance: float,
        blocks: Run | None = None,
        n_rows: int = 0,
        passes: float = 0.0,
    ) -> None:
        self.sample, self.intercept, self.penalties = sample, intercept, penalties
        self.tolerance, self.passes, self.iterations = tolerance, passes, 0
        self.in_memory, self.blocks = blocks is None, blocks or sample.run
        self.n_rows = n_rows or len(sample)
        self.n_features = sample.features.shape[1]
        self.n_parameters = self.n_features + int(intercept)
        self.generator = np.random.default_rng(0)

    def run(self) -> Solution | None:
        """Solve growing samples, then all rows; None when the guesses did not hold."""
        size = len(self.sample)
        first = min(first_sample_size(size, self.n_parameters), size)
        theta = self._solve_first_sample(first)
        if self.objective <= self.tolerance * self.scale[0]:
            return None  # a flat optimum of zero cost: all rows together find its analytic centre
        last = size
        if self.in_memory:
            # Copied are m rows of the last sample and those of the ring around its decisions, a
            # share 2·ring·widths·error·(kinks per unit) ∝ 1/√m of all n. The sum is least at this
            # m, doubled because a better θ also leaves fewer near kinks to solve.
            spread = sqrt(self.n_parameters * self.mean_square) / self.total
            widths = RING_WIDTHS * NEAR_WIDTHS
            last = int(min(max(2 * (widths * spread * size) ** (2 / 3), first), size / 3))
        levels = max(1, round(log(last / first) / log(6.0)))  # each about six times the one before
        for level in range(1, levels + 1):
            larger = self._solve_sample(theta, int(first * (last / first) ** (level / levels)))
            if larger is None:
                return None
            theta = larger
        return self._solve_rows(theta)

    def _draw(self, size: int) -> KinkBlock:
        """Draw a sample of the rows in memory that stands for all rows."""
        block = self.sample.take(spread_sample(len(self.sample), size, self.generator))
        if self.in_memory:
            self.passes += size / self.n_rows
        kinks, factor = block.kinks, len(self.sample) / size
        slopes = [
            np.broadcast_to(each[:, :1] * factor, each.shape)
            if each.strides[1] == 0
            else each * factor
            for each in (kinks.below, kinks.above)
        ]
        return KinkBlock(block.features, Kinks(kinks.position, *slopes))

    def _solve_first_sample(self, size: int) -> Array:
        """Solve a sample with all its kinks open, and learn the error constants from it.

        Columns that depend on others in the sample are left out, if they do so in all rows.
        """
        block, rotate = self._draw(size), all(each is None for each in self.penalties)
        how: Any = {"rotate": rotate, "keep": "constant"}
        self.standard, design = Standardisation.of(block.features, self.intercept, **how)
        if self.standard.dependence is not None:
            self.passes += 1
            if sum(self.blocks(partial(_count_strange, self.standard))):
                how["keep"] = "all"
                self.standard, design = Standardisation.of(block.features, self.intercept, **how)
        operator = Operator(design, len(block.kinks.position))
        whole = StandardProblem(
            operator, flat_hinges(block.kinks), self.standard, self.penalties, self.tolerance
        )
        self.ridge, self.lasso, self.scale = whole.ridge, whole.lasso, whole.scale
        tolerance = SAMPLE_GAP * self.n_parameters / size
        theta = self._note(
            follow_central_path(
                operator,
                whole.hinges,
                whole.start(),
                self.scale,
                ridge=self.ridge,
                tolerance=tolerance,
            )
        ).theta
        # the error constant √(p·E y²)/H, and how close kinks come to the decision
        kinks, residual = block.kinks, design @ theta - block.kinks.position
        distance = np.abs(residual)
        self.closest = distance.min(axis=0)
        share = min(0.5, max(0.05, 20 * self.n_parameters / size))
        width = max(float(np.quantile(self.closest, share)), 1e-12 * (1 + float(distance.max())))
        slope = kinks.below + kinks.above
        self.density = float(slope[distance <= width].sum()) / (2 * width)
        y = np.where(residual > 0, kinks.above, -kinks.below).sum(axis=0) * size
        self.mean_square, self.total = float(np.mean(y * y)), float(slope.sum())
        self.error = self._error(self.mean_square / size)
        self.leverage = Leverage(self.standard, design, block.features)
        return theta

    def _error(self, variance: float) -> float:
        """Return the standard deviation of decisions when the gradient has this variance."""
        return sqrt(self.n_parameters * variance) / self.density

    def _width(self, n_rows: int, error: float) -> float:
        """Near-width for an expected move: never fewer than about 20 kinks a parameter."""
        fewest = min(1.0, (20 * self.n_parameters + 200) / n_rows)
        return max(NEAR_WIDTHS * error, float(np.quantile(self.closest, fewest)))

    def _solve_sample(self, theta: Array, size: int) -> Array | None:
        """Solve a larger sample with only its near kinks open."""
        block = self._draw(size)
        variance = self.mean_square / size
        # from the old error to the one of this sample
        width = self._width(size, hypot(self.error, self._error(variance)))
        rule = self.standard.to_raw(theta)
        for _ in range(6):
            found = Sort(rule, self.leverage, width)(block.chunks())
            if _count(found.near) >= 2 * self.n_parameters:
                square = _mean_square(found.near)
                # thinning may add a third to the variance of the sample
                share = self._share(found.near, square / (square + variance / 3))
                tolerance = SAMPLE_GAP * self.n_parameters / size
                result = self._solve_near(theta, found, width, tolerance, share)
                if result.status == "optimal":
                    self.error = self._error(variance + (1 / share - 1) * square)
                    return result.theta
            width *= 2
        return None

    def _solve_rows(self, theta: Array) -> Solution | None:
        """Sort all rows, solve the near kinks, check the ring, verify; widen where that fails."""
        width = self._width(self.n_rows, self.error)
        # The excess cost of an error is ½H·error²: solve no tighter than a thousandth of that.
        worth = 0.001 * self.density * self.error**2
        tolerance = worth / max(self.objective, self.scale[0])
        for _ in range(4):
            ring, rule = RING_WIDTHS * width, self.standard.to_raw(theta)
            held = self.n_rows * float(np.mean(self.closest <= ring)) * self.n_features
            if not self.in_memory and held > HELD_ENTRIES:
                return None
            found = self._pass(Sort(rule, self.leverage, ring, None, True, self.in_memory))
            result, wrong = self._refine(theta, found, width, tolerance)
            tolerance = 0.3 * self.tolerance
            if result is None:
                width *= 2
                continue
            theta = exact_zeros(result.theta, result.dual, self.lasso)
            earlier = rule, ring, found.decisions
            found = self._pass(Sort(self.standard.to_raw(theta), self.leverage, None, earlier))
            solution = self._certified(result, theta, found, wrong)
            if solution is not None:
                return solution
            width = max(self._width(self.n_rows, 0.0), 0.2 * width)
        return None

    def _pass(self, task: Sort) -> Sorted:
        """Go through all rows once."""
        found = Sorted(np.zeros(self.n_features))
        for part in self.blocks(task):
            for each in fields(found):
                value = getattr(found, each.name)
                value += getattr(part, each.name)
                setattr(found, each.name, value)
        self.passes += 1
        return found

    def _refine(
        self, theta: Array, outside: Sorted, width: float, tolerance: float
    ) -> tuple[InteriorPoint | None, float]:
        """Alternate reduced solves and looks at the ring until the ring agrees.

        Returned with the result is what the kinks of the ring cost that it has on the wrong side.
        """
        tight = 0.3 * self.tolerance
        ring = join_blocks(outside.rows, self.n_features)
        outside.rows = []
        linear, cost = self.standard.gradient(outside.moments, outside.total), outside.cost
        rule = self.standard.to_raw(theta)
        inside = Sort(rule, self.leverage, width, remember=True)(ring.chunks())
        for turn in range(12):
            n_near = _count(inside.near)
            if n_near <= self.n_parameters:
                break
            share = self._share(inside.near, 0.1) if turn == 0 else 1.0
            result = self._solve_near(theta, inside, width, tolerance, share, linear, cost)
            if result.status != "optimal":
                break
            # How far the decisions may still move says how wide to look at the ring now.
            if share < 1.0:  # only the near kinks were sampled, so only they add error
                square = _mean_square(inside.near)
                expected = NEAR_WIDTHS * self._error((1 / share - 1) * square)
            else:
                beyond = erfc(width / (sqrt(2) * max(result.moved, 1e-300)))
                expected = 1.5 * NEAR_WIDTHS * result.moved * max(beyond, 0.04)
            enough = width * max(8 * self.n_parameters, 400) / n_near
            exact = share == 1.0 and tolerance <= tight
            end = exact_zeros(result.theta, result.dual, self.lasso) if exact else result.theta
            earlier: Earlier = rule, width, inside.decisions
            settled = exact and result.moved < 0.3 * width
            narrower = min(max(expected, enough), 0.5 * width)
            rule = self.standard.to_raw(end)
            look = None if settled else narrower
            inside = Sort(rule, self.leverage, look, earlier, remember=True)(ring.chunks())
            allowed = self.tolerance * max(abs(result.objective), self.scale[0])
            if settled or (exact and inside.flips + result.gap <= allowed):
                return result, inside.flips
            cost += float(linear @ (end - theta))
            theta, width = end, narrower
            if share == 1.0:
                tolerance = tight
        return None, 0.0

    def _share(self, near: OpenKinks, smallest: float) -> float:
        """Share of the near kinks that is worth solving before all: 150 a parameter."""
        return float(max(smallest, min(1.0, 150 * self.n_parameters / _count(near))))

    def _solve_near(
        self,
        theta: Array,
        found: Sorted,
        width: float,
        tolerance: float,
        share: float = 1.0,
        linear: Array | float = 0.0,
        cost: float = 0.0,
    ) -> InteriorPoint:
        """Solve the near kinks, or a share of them, beside the lines of the far ones."""
        near = _thinned(found.near, share, self.generator) if share < 1.0 else found.near
        # return the feature rows of near kinks and their hinges
        hinges = Hinges(*map(np.concatenate, zip(*(each for *_, each in near), strict=True)))
        features = np.empty((len(hinges.position), near[0][0].shape[1]))
        start = 0
        for block, rows, _ in near:
            block.take(rows, axis=0, out=features[start : start + len(rows)], mode="clip")
            start += len(rows)
        operator = Operator(self.standard.design(features))
        linear, cost = (
            linear + self.standard.gradient(found.moments, found.total),
            cost + found.cost,
        )
        lasso, slope = self.lasso, np.zeros(len(theta))
        if lasso is not None:
            # Penalties of coefficients too far from zero to reach it are lines, too. Left open,
            # they would be most of the cost, and the barrier too wide for the near kinks.
            far = (np.abs(theta) > 10 * width) & (lasso > 0)
            slope[far] = np.copysign(lasso, theta)[far]
            linear, cost, lasso = linear + slope, cost + float(slope @ theta), lasso * ~far
        # A coefficient that no sample has seen may have to go any distance.
        unknown = len(self.leverage.constant) > 0
        result = follow_central_path(
            operator,
            add_lasso(operator, hinges, lasso),
            theta,
            self.scale,
            linear=linear,
            ridge=self.ridge,
            constant=cost,
            trust_radius=np.inf if unknown else 3 * width,
            tolerance=tolerance,
        )
        self._note(result)
        if self.lasso is not None and lasso is not None and slope.any():
            # the slope of a hinge that has become a line is its multiplier
            n_rows = len(hinges.position)
            slope[lasso > 0] = result.dual[n_rows:]
            dual = np.append(result.dual[:n_rows], slope[self.lasso > 0])
            kept = bool((np.where(lasso > 0, 0.0, slope) * result.theta >= 0).all())
            result = result._replace(dual=dual, status=result.status if kept else "unbounded")
        return result

    def _note(self, result: InteriorPoint) -> InteriorPoint:
        """Remember what was found last."""
        self.iterations += result.iterations
        self.objective = result.objective
        return result

    def _certified(
        self, result: InteriorPoint, theta: Array, found: Sorted, wrong: float
    ) -> Solution | None:
        """Join the hinge cost of all rows and its doubtful part to a solution, if proved."""
        objective, flips = found.value, found.flips + wrong
        if self.ridge is not None:
            objective += 0.5 * float(self.ridge @ theta**2)
        if self.lasso is not None:
            objective += float(self.lasso @ np.abs(theta))
        # The second is the same but for zeros that were set, and for the rounding of coefficients
        # of features far from 0, which costs more than the flips.
        gap = max(flips, objective - result.objective) + result.gap
        if gap > self.tolerance * max(abs(objective), self.scale[0]):
            return None
        method = "screened interior point" if self.in_memory else "few-pass interior point"
        return Solution(
            *self.standard.to_raw(theta),
            objective=objective,
            gap=gap,
            residual=result.residual,
            iterations=self.iterations,
            passes=self.passes,
            method=method,
        )
