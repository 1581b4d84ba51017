"""Linear decisions from data in blocks: what `LinearDecision.fit` does with a `BlockSource`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmet.band import Array, Band
from unmet.bands import BandRule
from unmet.costs import Cost, HingeCost, Kinks
from unmet.errors import InvalidInput, Unsupported
from unmet.models.banding import Chosen, Known, choose_bands
from unmet.models.training import Method, Observed, Training
from unmet.rows import read_features
from unmet.solvers.blocks_exact import solve_blocks
from unmet.solvers.blocks_rows import BlockSource, RowBlock
from unmet.solvers.blocks_sample import BlockSample, read_sample
from unmet.solvers.problem import Solution

_RULE_ROWS = 200_000  # a rule learns from at most so many, unless it says otherwise
_KEPT_ROWS = 20_000  # of the sample: what `decide` later draws its thousand from


@dataclass(frozen=True)
class Pricing:
    """Kinks of the rows of a block: their costs, their band and their weights.

    Attributes
    ----------
    cost : Cost
        Without numbers per row; those of a block are put in.
    band : Band, BandRule (fitted) or None
        None also where blocks bring the ends of their bands.
    """

    cost: Cost
    band: Band | BandRule | None

    def __call__(self, block: RowBlock, factor: float) -> Kinks:
        """Write the costs of the rows as hinges, their weights multiplied by a factor."""
        weight = factor if block.weight is None else block.weight * factor
        cost = self.cost_of(block)
        assert isinstance(cost, HingeCost)  # a solver that asks for hinges has looked
        return cost.kinks(block.observation, self.band_of(block, cost), weight)

    def cost_of(self, block: RowBlock) -> Cost:
        """Cost of the rows of a block."""
        return self.cost.with_rows(underage=block.underage, overage=block.overage)

    def band_of(self, block: RowBlock, cost: Cost) -> Band | None:
        """Band of the rows of a block: their own, the one given, or what the rule says."""
        if block.low is not None and block.high is not None:
            return Band(block.low, block.high)
        if isinstance(self.band, BandRule):
            features = read_features(block.features)
            return self.band.band(features, cost=cost, observation=block.observation)
        return self.band


@dataclass(frozen=True)
class BlockFit:
    """A solution over blocks, and what the estimator keeps beside it."""

    solution: Solution
    training: Training
    chosen: Chosen
    by_row: tuple[str, ...]


def check_alone(given: Mapping[str, Any]) -> None:
    """Refuse what a source brings itself."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} must be None where X is a source of blocks, which brings its own columns, "
                f"got {type(value).__name__}."
            )


def fit_blocks(
    model: Any, source: BlockSource, method: Method, cost: Cost, band: Band | BandRule | None
) -> BlockFit:
    """Read a sample, learn a band where a rule asks for it, and solve over all blocks."""
    hinge = _check(method, cost)
    sample = read_sample(source)
    rows = sample.rows
    if len(rows) < 2:
        raise InvalidInput(f"X must have at least two rows with weight, got {sample.n_rows}.")
    chosen = choose_band(model, rows, hinge, band, everything=sample.complete)
    pricing = Pricing(hinge, band if chosen.rule is None else chosen.rule)
    if sample.complete:
        solution = replace(method.solve(training_of(rows, pricing)), passes=float(sample.reads))
    else:
        solution = _solve(source, pricing, sample, method)
    kept = spread(rows, _KEPT_ROWS)
    own = chosen.band if isinstance(band, Band) else None
    by_row = tuple(n for n in ("underage", "overage") if getattr(rows, n) is not None)
    return BlockFit(solution, training_of(kept, pricing), replace(chosen, band=own), by_row)


def _check(method: Method, cost: Cost) -> HingeCost:
    """Refuse what blocks cannot do."""
    if method.solver != "exact":
        raise Unsupported(
            f"The solver {method.solver!r} and a source of blocks do not fit together, because it "
            "needs all rows at once: use the solver 'exact'."
        )
    if not isinstance(cost, HingeCost):
        name = type(cost).__name__
        raise Unsupported(
            f"The cost {name} and a source of blocks do not fit together, because {name} has no "
            "slopes: use a cost such as Newsvendor(underage=3, overage=1)."
        )
    return cost


def _solve(source: BlockSource, pricing: Pricing, sample: BlockSample, method: Method) -> Solution:
    size = source.n_features
    return solve_blocks(
        source,
        pricing,
        sample,
        intercept=method.fit_intercept,
        ridge=np.full(size, method.ridge) if method.ridge else None,
        lasso=np.full(size, method.lasso) if method.lasso else None,
        tolerance=method.tolerance,
    )


def choose_band(
    model: Any,
    rows: RowBlock,
    cost: Cost,
    band: Band | BandRule | None,
    *,
    everything: bool,
) -> Chosen:
    """Band that was given, or a rule that has learned from rows of the sample."""
    if (rows.low is None) != (rows.high is None):
        raise InvalidInput("low and high must be given together, got only one of them.")
    if rows.low is not None and band is not None:
        raise InvalidInput(f"band must be None where the source has low and high, got {band!r}.")
    if isinstance(band, Band) and np.ndim(band.width):
        raise InvalidInput(
            "band must have one number for each end where X is a source of blocks, got arrays: "
            "give the source the columns low and high."
        )
    part = rows
    if isinstance(band, BandRule):
        most = getattr(band, "max_rows", _RULE_ROWS)
        if not everything and isinstance(most, int | np.integer):
            part = _stratified(rows, int(most))
    pricing = Pricing(cost, None)
    known = Known(sample_weight=part.weight, censored=part.censored)
    (chosen,) = choose_bands(
        model, [(pricing.cost_of(part), band)], part.features, part.observation, known
    )
    return chosen


def training_of(rows: RowBlock, pricing: Pricing, *, at_least: int = 2) -> Training:
    """Rows of a block as what a model is trained on."""
    cost = pricing.cost_of(rows)
    observed = Observed.of(rows.features, rows.observation, rows.weight, at_least=at_least)
    return observed.priced(cost, pricing.band_of(rows, cost))


def spread(rows: RowBlock, most: int) -> RowBlock:
    """Keep rows at even distances, so that blocks are represented alike."""
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).astype(np.intp))


def _stratified(rows: RowBlock, most: int) -> RowBlock:
    """Keep the same share of every range of observations, in the order they came."""
    if len(rows) <= most:
        return rows
    order: Any = np.argsort(rows.observation, kind="stable")
    starts = np.linspace(0, len(rows), most, endpoint=False)
    offset: Array = np.random.default_rng(0).random(most) * (len(rows) / most)
    return rows.take(np.sort(order[(starts + offset).astype(np.intp)]))
