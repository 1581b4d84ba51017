"""Exact solutions for many rows: fix the kinks that are certainly far from the decision.

A hinge whose kink the decision never reaches is a straight line. If θ is known up to an error that
moves the decisions by about τ, every kink farther than τ from its decision can be replaced by
its line, all lines together are one vector g, and only the few near kinks remain:

1. Solve growing random samples; each solution shrinks the error like 1/√(sample size).
2. One pass over all rows at the last θ sums the rows whose kinks are all far into g, and hands back
   the others: a *ring* of a few τ around the decision. Its rows are in memory now. The interior
   point solves their near kinks, the ring is sorted again at the new θ, with a much smaller τ, and
   so on until it agrees.
3. A last pass over all rows verifies the result.

**Certificate.** A line never lies above its hinge, so the reduced problem bounds the full one from
below: the optimum is at least (reduced objective − reduced gap). At the returned θ the two
objectives differ by Σ c|r| over the kinks that changed side since they were fixed. The gap of the
full problem is therefore at most reduced gap + Σ c|r| over those flips: exact, whatever
the guesses of step 1 were. On which side a kink was fixed is remembered by nobody: a pass at
another θ decides for every row once more where it stood at the earlier θ, with a hair less than the
width of then, so that rounding can only make the gap larger.

**Error of a sample.** With y the slope at the decision and H the density of slope changes there,
θ̂ on m rows is off by a random amount whose decisions have standard deviation
√(p·E y²) / (H√m), times the leverage of the row.

**Blocks.** The solver sees the rows through passes only: a task is run on every block, where the
block lies, and sums and a few rows come back. Rows in memory are one block, and samples are drawn
from them as they are needed. Where blocks lie elsewhere, the sample has been drawn by a read of its
own, and passes are dear: the pass that verifies also sorts around the new θ, so that a doubt left
needs no pass of its own. Three reads, then, sampling included. Where the ring would hold more rows
than allowed, a random share of the near kinks is solved first. Only these add to the error, which
therefore shrinks a lot: with n = 10⁹, p = 20 and a sample of 10⁶ rows, 1.2 % of the rows are near;
a twelfth of them, 10⁶ again, leaves an error eighty times smaller, and the next pass finds 150,000
near rows.

Where the guesses fail (reduced problem unbounded, too many flips) τ is widened; in the end all rows
are solved together, or the central path is followed over blocks (`unmet.solvers.blocks.solve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from math import erfc, hypot, log, sqrt
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unmet.costs.hinge import Kinks
from unmet.solvers import constants
from unmet.solvers.blocks.source import BlockSource, RowBlock, dense
from unmet.solvers.exact.direct import (
    FixedSigns,
    StandardProblem,
    add_lasso,
    exact_zeros,
    flat_hinges,
)
from unmet.solvers.exact.features import Keep, Standardisation
from unmet.solvers.exact.interior_point import (
    InteriorPoint,
    KinkOrder,
    Operator,
    solve_hinges,
    stacked,
)
from unmet.solvers.problem import Hinges, Solution

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Found = TypeVar("Found")
Price = Callable[[RowBlock, float], Kinks]
"""From rows with weight, and a factor of their weights, to the kinks of their costs."""

Task: TypeAlias = "Callable[[Iterable[KinkBlock], int], Found]"
"""From the chunks of a block, and its number, to what is found there."""
Run: TypeAlias = Callable[[Any], Iterator[Any]]
"""Runs a task on every block, and yields what it returns in the order of the blocks."""

_HAIR = 1e-9
_SEED = 30_323

# --- Rows with kinks: one block in memory, or blocks that are evaluated where they lie.


@dataclass(frozen=True)
class KinkBlock:
    """Some rows: their features and their kinks."""

    features: Any
    kinks: Kinks

    def __len__(self) -> int:
        return len(self.kinks.position[0])

    def take(self, rows: Index) -> KinkBlock:
        """Copy the given rows; slopes that all rows share stay one number."""
        kinks = Kinks(*(_columns(each, rows) for each in _arrays(self.kinks)))
        return KinkBlock(self.features.take(rows, axis=0), kinks)

    def scaled(self, factor: float) -> KinkBlock:
        """Let a sample stand for all rows."""
        kinks = self.kinks
        slopes = [
            np.broadcast_to(each[:, :1] * factor, each.shape)
            if each.strides[1] == 0
            else each * factor
            for each in (kinks.below, kinks.above)
        ]
        return KinkBlock(self.features, Kinks(kinks.position, *slopes))

    def slopes(self, kink: int) -> tuple[Array | float, Array | float]:
        """Slopes below and above; plain numbers where all rows share one, which saves work."""
        below, above = self.kinks.below[kink], self.kinks.above[kink]
        if below.strides[0] == 0 and above.strides[0] == 0 and len(below):
            return float(below[0]), float(above[0])
        return below, above

    def chunks(self) -> Iterator[KinkBlock]:
        """Yield all rows in order, with dense float64 features: views wherever they are that."""
        size = max(512, constants.CACHE_BYTES // (8 * max(self.features.shape[1], 1)))
        for first in range(0, len(self), size):
            part = slice(first, first + size)
            kinks = Kinks(*(each[:, part] for each in _arrays(self.kinks)))
            yield KinkBlock(dense(self.features[part]), kinks)

    def run(self, task: Task[Found]) -> Iterator[Found]:
        """Run a task on all rows: an array in memory is one block."""
        yield task(self.chunks(), 0)


def _arrays(kinks: Kinks) -> tuple[Array, Array, Array]:
    return kinks.position, kinks.below, kinks.above


def _columns(values: Array, rows: Index) -> Array:
    """Take columns of an array; a view when all columns are one and the same."""
    return values[:, : len(rows)] if values.strides[1] == 0 else values[:, rows]


def run_evaluated(
    source: BlockSource, price: Price, factor: float, task: Task[Found]
) -> Iterator[Found]:
    """Run a task on the chunks of every block of a source, whose kinks are made where it lies."""
    return source.run(partial(_on_evaluated, price, factor, task))


def _on_evaluated(price: Price, factor: float, task: Task[Found], block: RowBlock) -> Found:
    """Evaluate the rows of a block that count, then do the task."""
    number, block = block.number, block.counted()
    if not len(block):
        return task((), number)
    return task(KinkBlock(block.features, price(block, factor)).chunks(), number)


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
        for whole, own in zip([position, *slopes], _arrays(part.kinks), strict=True):
            whole[: len(own), rows] = own
        start += len(part)
    shared = (
        np.broadcast_to(each[:, :1], each.shape) if (each == each[:, :1]).all() else each
        for each in slopes
    )
    return KinkBlock(features, Kinks(position, *shared))


def spread_sample(n_rows: int, size: int, generator: np.random.Generator) -> Index:
    """Sorted row numbers without repeats, one at random from each of ``size`` equal stretches."""
    stretch = n_rows / size
    rows = (np.arange(size) * stretch).astype(np.intp)
    rows += generator.integers(0, max(1, int(stretch)), size)
    return rows


# --- How far a decision may move when θ is only known up to sampling error.


@dataclass(frozen=True)
class Leverage:
    """√(x'M⁻¹x / p) with M from a sample: how uncertain a decision is, relative to others.

    The error of x'θ̂ grows with the leverage of x. Where leverages are alike one width serves all
    rows; with rare dummies or heavy-tailed features it must be scaled row by row, and a direction
    that the sample has never seen is not known at all.

    Attributes
    ----------
    standard : Standardisation
    root : ndarray or None
        A matrix L⁻ᵀ with M⁻¹ = L⁻ᵀL⁻¹, only the diagonal of M^(−½), or None: all rows alike.
    constant : ndarray of int
        Features that were constant in the sample.
    """

    standard: Standardisation
    root: Array | None
    constant: Index

    @classmethod
    def of(cls, standard: Standardisation, design: Array, features: Array) -> Leverage:
        """Pick the cheapest of one width, a diagonal and a full leverage that fits the sample."""
        constant = np.flatnonzero((features == features[0]).all(axis=0))
        moments = design.T @ design / len(design)
        diagonal = moments.diagonal().copy()
        empty = diagonal <= 0
        diagonal[empty] = 1.0
        moments[empty, empty] = 1.0
        moments.flat[:: len(moments) + 1] += 1e-10 * diagonal
        proxy = cls(standard, 1 / np.sqrt(diagonal), constant)
        try:
            lower = np.linalg.cholesky(moments)
        except np.linalg.LinAlgError:  # collinear beyond the shift: the diagonal has to do
            return proxy
        full = cls(standard, solve_triangular(lower, np.eye(len(lower)), lower=True).T, constant)
        exact = full._of_design(design)
        largest = np.quantile(exact, 0.995)
        if largest <= constants.ALIKE_LEVERAGE * np.median(exact) and not len(constant):
            return cls(standard, None, constant)
        ratio = exact / np.maximum(proxy._of_design(design), 1e-300)
        return proxy if np.quantile(ratio, 0.995) <= constants.DIAGONAL_LEVERAGE else full

    def __call__(self, features: Array, rows: Index | None = None) -> float | Array:
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
        result: Array = np.sqrt(squared / design.shape[1])
        return result


# --- Passes that sort kinks into far and near, and check an earlier sorting.


class LinearPredictor(NamedTuple):
    """Decisions of one pass, for features as given."""

    coefficients: Array
    intercept: float

    def __call__(self, features: Array) -> Array:
        """Return the decisions."""
        decision: Array = features @ self.coefficients
        decision += self.intercept
        return decision


Earlier: TypeAlias = tuple[LinearPredictor, float, Sequence[Array]]
"""The sorting before: its rule, the width outside which its sides are final, and for rows in memory
the decisions of then, block by block."""


class OpenKinks:
    """Near kinks: features, the rows of these that are open, and their hinges, part by part.

    Features are copied only when they are gathered, so that a random share costs no more.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Index, Hinges]] = []

    def __len__(self) -> int:
        return sum(len(rows) for _, rows, _ in self.parts)

    def __iadd__(self, other: OpenKinks) -> Self:
        self.parts += other.parts
        return self

    def add(self, block: KinkBlock, kink: int, rows: Index) -> None:
        """Open one kink of some rows of a block."""
        below, above = (_columns(s, rows) for s in (block.kinks.below, block.kinks.above))
        idle = below[kink] + above[kink] <= 0
        if idle.any():  # costs nothing on either side
            self.add(block, kink, rows[~idle])
        elif len(rows):
            position, weight = block.kinks.position[kink][rows], (below + above).sum(axis=0)
            hinges = Hinges(position, below[kink], above[kink], weight)
            self.parts.append((block.features, rows, hinges))

    def thinned(self, share: float, generator: np.random.Generator) -> OpenKinks:
        """Return a random share of the kinks, with slopes that stand for all of them."""
        found = OpenKinks()
        for features, rows, hinges in self.parts:
            kept = np.flatnonzero(generator.random(len(rows)) < share)
            few = hinges.take(kept)
            scaled = Hinges(few.position, few.below / share, few.above / share, few.weight / share)
            found.parts.append((features, rows[kept], scaled))
        return found

    def copied(self) -> OpenKinks:
        """Return the kinks without the other rows of their blocks, to travel or to be kept."""
        found = OpenKinks()
        for features, rows, hinges in self.parts:
            found.parts.append((features[rows], np.arange(len(rows)), hinges))
        return found

    def gather(self) -> tuple[Array, Hinges]:
        """Return the feature rows and their hinges."""
        columns = zip(
            *([h.position, h.below, h.above, h.weight] for *_, h in self.parts), strict=True
        )
        hinges = Hinges(*map(np.concatenate, columns))
        features = np.empty((len(hinges.position), self.parts[0][0].shape[1]))
        start = 0
        for block, rows, _ in self.parts:
            block.take(rows, axis=0, out=features[start : start + len(rows)], mode="clip")
            start += len(rows)
        return features, hinges

    def mean_square(self) -> float:
        """Σ y² over the open kinks, when each side of a kink is as likely as the other."""
        return 0.5 * sum(float(h.below @ h.below + h.above @ h.above) for *_, h in self.parts)


def add_fields(found: Any, part: Any) -> None:
    """Add what a task found on the next block to the sums of a record, field by field."""
    for each in fields(found):
        value = getattr(found, each.name)
        value += getattr(part, each.name)
        setattr(found, each.name, value)


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
        The near kinks, where kinks were sorted one by one; a random share of them if asked.
    rows : list of KinkBlock
        The rows with a near kink, where whole rows were sorted.
    decisions : list of ndarray
        Of all rows, block by block, where they are to be remembered.
    strange : int
        Rows in which a column that was left out is not what the others say.
    """

    moments: Array
    total: float = 0.0
    cost: float = 0.0
    value: float = 0.0
    flips: float = 0.0
    near: OpenKinks = field(default_factory=OpenKinks)
    rows: list[KinkBlock] = field(default_factory=list)
    decisions: list[Array] = field(default_factory=list)
    strange: int = 0


@dataclass(frozen=True)
class Sort:
    """Task: sort kinks, or whole rows, into far and near, and check an earlier sorting.

    Attributes
    ----------
    rule : LinearPredictor
    leverage : Leverage
    width : float or None
        Near is what lies within so many leverages of the decision; None only checks.
    earlier : Earlier or None
    whole_rows : bool
        A row with a near kink is near as a whole, and handed back.
    share : float
        Share of the near kinks that is handed back, drawn at random.
    number : int
        Of the pass; seeds the draw.
    remember : bool
        Keep the decisions for the next pass: rows in memory that come in the same blocks.
    free : Standardisation or None
        Coordinates whose columns that were left out are to be checked in every row.
    """

    rule: LinearPredictor
    leverage: Leverage
    width: float | None
    earlier: Earlier | None = None
    whole_rows: bool = False
    share: float = 1.0
    number: int = 0
    remember: bool = False
    free: Standardisation | None = None

    def __call__(self, blocks: Iterable[KinkBlock], number: int = 0) -> Sorted:
        """Sort the rows of some blocks."""
        found = Sorted(np.zeros(len(self.rule.coefficients)))
        generator = np.random.default_rng([_SEED, self.number, number])
        for place, block in enumerate(blocks):
            decision, before = self.rule(block.features), None
            if self.free is not None:
                found.strange += self.free.count_strange(block.features)
            if self.remember:
                found.decisions.append(decision)
            if self.earlier is not None:
                rule, _, known = self.earlier
                before = known[place] if known else rule(block.features)
            reach = None if self.width is None else self.width * self.leverage(block.features)
            by_row = self.whole_rows and reach is not None
            slope: Array | None = None
            cost = np.zeros(len(block) if by_row else 0)
            close, opened = np.zeros(len(cost), dtype=bool), OpenKinks()
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
                    opened.add(block, k, near)
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
            if self.share < 1.0:
                opened = opened.thinned(self.share, generator).copied()
            found.near += opened
        if len(found.rows) > 1 and not self.remember:  # they travel better in one piece
            found.rows = [join_blocks(found.rows, len(found.moments))]
        return found

    def _flips(
        self, block: KinkBlock, kink: int, wrong: Index, before: Array, residual: Array
    ) -> float:
        """Cost of kinks that have changed side, if they were fixed: outside the earlier width."""
        assert self.earlier is not None
        limit = self.earlier[1] * (1 - _HAIR) * self.leverage(block.features, wrong)
        distance = np.abs(before[wrong] - block.kinks.position[kink][wrong])
        fixed = wrong[distance > limit]
        slope = block.kinks.below[kink][fixed] + block.kinks.above[kink][fixed]
        return float(slope @ np.abs(residual[fixed]))


# --- One solve.


def first_sample_size(n_rows: int, n_parameters: int) -> int:
    """Rows in the first sample."""
    if n_rows < 200_000:
        return max(1000, 30 * n_parameters)
    return max(5000, 100 * n_parameters)


def pays(n_rows: int, n_parameters: int) -> bool:
    """Whether screening is expected to beat solving all rows at once."""
    return n_rows > max(4000, 3 * first_sample_size(n_rows, n_parameters))


@dataclass
class Screening:
    """One solve. Steps in the order of the module docstring.

    Attributes
    ----------
    sample : KinkBlock
        Rows in memory: a random part that stands for all rows, or all of them.
    intercept : bool
    penalties : tuple of ndarray or None
        Ridge and lasso for each feature.
    tolerance : float
        Largest duality gap relative to the objective.
    blocks : callable or None
        Runs a task on all rows, where they are not those of the sample.
    n_rows : int
        How many these are then.
    held_rows : float
        Most rows of a ring then, about.
    passes : float
        How often all rows have been read.
    iterations : int
    last : ndarray or None
        θ of the last solve that ended well.
    unproved : bool
        Whether columns are left out that depend on others in the sample, and perhaps only there.
    """

    sample: KinkBlock
    intercept: bool
    penalties: tuple[Array | None, Array | None]
    tolerance: float
    blocks: Run | None = None
    n_rows: int = 0
    held_rows: float = np.inf
    passes: float = 0.0
    iterations: int = 0
    last: Array | None = None
    unproved: bool = False
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.in_memory = self.blocks is None
        self.n_rows = len(self.sample) if self.in_memory else self.n_rows
        self.n_features = self.sample.features.shape[1]
        self.n_parameters = self.n_features + int(self.intercept)

    def run(self) -> Solution | None:
        """Solve samples, then all rows; None when the guesses did not hold.

        Columns that depend on others in the sample are left out at first. Where other rows say
        otherwise, or no row was asked, all columns are solved.
        """
        for leave_out in (True, False):
            found = self._run(leave_out)
            if found is not None or not self.unproved:
                break
        return found

    def _run(self, leave_out: bool) -> Solution | None:
        theta = self.solve_samples(leave_out)
        if not self.in_memory:
            self._measure_sample()
        if theta is None:
            return None
        rounds = constants.SCREENING_ROUNDS if self.in_memory else constants.BLOCK_ROUNDS
        return self.solve_rows(theta, self._width(self.n_rows, self.error), rounds)

    def solve_samples(self, leave_out: bool = True) -> Array | None:
        """Solve growing samples; None where they do not tell what all rows will do."""
        size = len(self.sample)
        first = min(first_sample_size(size, self.n_parameters), size)
        theta = self._first_sample(first, leave_out)
        if self.objective <= self.tolerance * self.scale.smallest:
            return None  # a flat optimum of zero cost: all rows together find its analytic centre
        last = size
        if self.in_memory:
            # Copied are m rows of the last sample and those of the ring around its decisions, a
            # share 2·ring·widths·error·(kinks per unit) ∝ 1/√m of all n. The sum is least at this
            # m, doubled because a better θ also leaves fewer near kinks to solve.
            spread = sqrt(self.n_parameters * self.mean_square) / self.total
            widths = constants.RING_WIDTHS * constants.NEAR_WIDTHS
            last = int(min(max(2 * (widths * spread * size) ** (2 / 3), first), size / 3))
        levels = max(1, round(log(last / first) / log(constants.SAMPLE_GROWTH)))
        for level in range(1, levels + 1):
            larger = self._next_sample(theta, int(first * (last / first) ** (level / levels)))
            if larger is None:
                return None
            theta = larger
        return theta

    def _draw(self, size: int) -> KinkBlock:
        """Draw a sample of the rows in memory that stands for all rows."""
        rows = spread_sample(len(self.sample), size, self.generator)
        if self.in_memory:
            self.passes += size / self.n_rows
        return self.sample.take(rows).scaled(len(self.sample) / size)

    def _first_sample(self, size: int, leave_out: bool) -> Array:
        """Solve a sample with all its kinks open, and learn the error constants from it."""
        block = self._draw(size)
        keep: Keep = "constant" if leave_out else "all"
        self.standard, design = Standardisation.with_design(
            block.features, self.intercept, self.penalties, keep
        )
        self.unproved, self.last = self.standard.dependence is not None, None
        inner = Operator(design, stacked(*block.kinks.position.shape))
        whole = StandardProblem.of(
            inner, flat_hinges(block.kinks), self.standard, self.penalties, self.tolerance
        )
        self.ridge = self.standard.ridge(self.penalties[0])
        self.lasso, self.scale = whole.lasso, whole.scale
        tolerance = constants.SAMPLE_GAP * self.n_parameters / size
        theta = self._note(whole.solve(whole.start(), tolerance)).theta
        self._learn_errors(block.kinks, design @ theta)
        self.leverage = Leverage.of(self.standard, design, block.features)
        return theta

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
        return max(constants.NEAR_WIDTHS * error, float(np.quantile(self.closest, fewest)))

    def _next_sample(self, theta: Array, size: int) -> Array | None:
        """Solve a larger sample with only its near kinks open."""
        block = self._draw(size)
        variance = self.mean_square / size
        # from the old error to the one of this sample
        width = self._width(size, hypot(self.error, self._error(variance)))
        rule = LinearPredictor(*self.standard.to_raw(theta))
        for _ in range(6):
            found = Sort(rule, self.leverage, width)(block.chunks())
            if len(found.near) >= 2 * self.n_parameters:
                tolerance = constants.SAMPLE_GAP * self.n_parameters / size
                square = found.near.mean_square()
                # thinning may add a third to the variance of the sample
                share = self._share(found.near, square / (square + variance / 3))
                result = self._solve_reduced(theta, found, width, tolerance, share)
                if result.status == "optimal":
                    self.error = self._error(variance + (1 / share - 1) * square)
                    return result.theta
            width *= 2
        return None

    def _measure_sample(self) -> None:
        """Remember how far the rows of the sample are from the decision: what passes will find."""
        assert self.last is not None
        rule, closest = LinearPredictor(*self.standard.to_raw(self.last)), []
        for block in self.sample.chunks():
            distance = np.abs(rule(block.features) - block.kinks.position).min(axis=0)
            closest.append(distance / self.leverage(block.features))
        self.distance = np.sort(np.concatenate(closest))

    def _rows_within(self, width: float) -> float:
        """Expect so many rows within a width, from the sample, and never less than one of it."""
        inside = int(np.searchsorted(self.distance, width)) + 1
        return self.n_rows * inside / len(self.distance)

    def _afford(self, width: float) -> tuple[float, float]:
        """Choose a ring with few enough rows, or else only a share of the near kinks."""
        rings = constants.RING_WIDTHS * width, constants.THIN_RING_WIDTHS * width
        for ring in rings:
            if self.in_memory or self._rows_within(ring) <= self.held_rows:
                return ring, 1.0
        return width, min(1.0, 0.9 * self.held_rows / self._rows_within(width))

    def solve_rows(
        self, theta: Array, width: float, rounds: int, ring: float | None = None
    ) -> Solution | None:
        """Sort all rows, solve the near kinks, check the ring, verify; widen where that fails.

        ``ring`` is that of the first pass, where it is known that it fits.
        """
        # The excess cost of an error is ½H·error²: solve no tighter than the next error deserves.
        tolerance = self._worthwhile(self.error)
        result: InteriorPoint | None = None  # waits for its proof by the next pass,
        earlier: Earlier | None = None  # given where its kinks were fixed,
        wrong = 0.0  # and what those in the ring cost that were fixed on the wrong side
        for number in range(rounds):
            reach, share = (ring, 1.0) if ring is not None else self._afford(width)
            ring = None
            rule = LinearPredictor(*self.standard.to_raw(theta))
            found = self._pass(
                Sort(
                    rule,
                    self.leverage,
                    reach,
                    earlier,
                    share == 1.0,
                    share,
                    number,
                    self.in_memory,
                    self.standard if self.unproved else None,
                )
            )
            if found.strange:
                return None
            self.unproved = False
            if result is not None:
                solution = self._certified(result, theta, found, wrong)
                if solution is not None:
                    return solution
                result = earlier = None
            if share < 1.0:
                improved = self._solve_thinned(theta, found, width, share)
                if improved is None:
                    return None
                theta, width = improved, self._width(self.n_rows, self.error)
                continue
            result, wrong = self._refine(theta, found, width, tolerance)
            tolerance = 0.3 * self.tolerance
            if result is None:
                width *= 2
                continue
            earlier = rule, reach, found.decisions
            theta = exact_zeros(result.theta, result.dual, self.lasso)
            width = max(self._width(self.n_rows, 0.0), 0.2 * width)
            if self.in_memory:  # to verify alone is cheap, and mostly enough
                rule = LinearPredictor(*self.standard.to_raw(theta))
                found = self._pass(Sort(rule, self.leverage, None, earlier))
                solution = self._certified(result, theta, found, wrong)
                if solution is not None:
                    return solution
                result = earlier = None
        return None

    def _pass(self, task: Sort) -> Sorted:
        """Go through all rows once."""
        found = Sorted(np.zeros(self.n_features))
        for part in (self.blocks or self.sample.run)(task):
            add_fields(found, part)
        self.passes += 1
        return found

    def _worthwhile(self, error: float) -> float:
        """Relative gap that costs a thousandth of what an error of the decisions costs."""
        return 0.001 * self.density * error**2 / max(self.objective, self.scale.smallest)

    def _solve_thinned(
        self, theta: Array, found: Sorted, width: float, share: float
    ) -> Array | None:
        """Solve a share of the near kinks; None if that does not shrink the error."""
        # Σ y² of all near kinks is estimated by the drawn ones, whose slopes were divided by share.
        error = self._error((1 / share - 1) * share * found.near.mean_square())
        if error > constants.THINNED_ERROR * self.error or not len(found.near):
            return None
        result = self._solve_reduced(theta, found, width, self._worthwhile(error))
        if result.status != "optimal":
            return None
        self.error = error
        return result.theta

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
        rule = LinearPredictor(*self.standard.to_raw(theta))
        inside = Sort(rule, self.leverage, width, remember=True)(ring.chunks())
        for turn in range(12):
            n_near = len(inside.near)
            if n_near <= self.n_parameters:
                break
            share = self._share(inside.near, constants.SMALLEST_SHARE) if turn == 0 else 1.0
            result = self._solve_reduced(theta, inside, width, tolerance, share, linear, cost)
            if result.status != "optimal":
                break
            # How far the decisions may still move says how wide to look at the ring now.
            if share < 1.0:  # only the near kinks were sampled, so only they add error
                expected = constants.NEAR_WIDTHS * self._error(
                    (1 / share - 1) * inside.near.mean_square()
                )
            else:
                beyond = erfc(width / (sqrt(2) * max(result.moved, 1e-300)))
                expected = 1.5 * constants.NEAR_WIDTHS * result.moved * max(beyond, 0.04)
            enough = width * max(8 * self.n_parameters, 400) / n_near
            exact = share == 1.0 and tolerance <= tight
            end = exact_zeros(result.theta, result.dual, self.lasso) if exact else result.theta
            earlier: Earlier = rule, width, inside.decisions
            settled = exact and result.moved < 0.3 * width
            narrower = min(max(expected, enough), 0.5 * width)
            rule = LinearPredictor(*self.standard.to_raw(end))
            look = None if settled else narrower
            inside = Sort(rule, self.leverage, look, earlier, remember=True)(ring.chunks())
            allowed = self.tolerance * max(abs(result.objective), self.scale.smallest)
            if settled or (exact and inside.flips + result.gap <= allowed):
                return result, inside.flips
            cost += float(linear @ (end - theta))
            theta, width = end, narrower
            if share == 1.0:
                tolerance = tight
        return None, 0.0

    def _share(self, near: OpenKinks, smallest: float) -> float:
        """Share of the near kinks that is worth solving before all of them."""
        worth: float = constants.OPEN_PER_PARAMETER * self.n_parameters / len(near)
        return max(smallest, min(1.0, worth))

    def _solve_reduced(
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
        near = found.near.thinned(share, self.generator) if share < 1.0 else found.near
        features, hinges = near.gather()
        linear = linear + self.standard.gradient(found.moments, found.total)
        cost, lasso = cost + found.cost, self.lasso
        signs = None
        if lasso is not None:
            signs = FixedSigns.of(theta, lasso, constants.SETTLED_WIDTHS * width)
        if signs is not None:
            linear, cost, lasso = linear + signs.slope, cost + signs.cost, signs.rest
        inner = Operator(self.standard.design(features), KinkOrder())
        operator, joined = add_lasso(inner, hinges, lasso)
        # A coefficient that no sample has seen may have to go any distance.
        unknown = len(self.leverage.constant) > 0
        result = solve_hinges(
            operator,
            joined,
            theta,
            self.scale,
            linear=linear,
            ridge=self.ridge,
            constant=cost,
            trust_radius=np.inf if unknown else constants.TRUST_WIDTHS * width,
            tolerance=tolerance,
        )
        self._note(result)
        return result if signs is None else signs.complete(result)

    def _note(self, result: InteriorPoint) -> InteriorPoint:
        """Remember what was found last."""
        self.iterations += result.iterations
        self.objective = result.objective
        if result.status == "optimal" or self.last is None:
            self.last = result.theta
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
        if gap > self.tolerance * max(abs(objective), self.scale.smallest):
            return None
        return Solution(
            *self.standard.to_raw(theta),
            objective,
            gap,
            result.residual,
            self.iterations,
            self.passes,
            "screened interior point" if self.in_memory else "few-pass interior point",
        )
