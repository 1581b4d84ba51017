"""Models from data in blocks: what `fit` does with a `BlockSource`.

A sample of the rows fixes whatever must be known before all rows are seen: units, bins and, where a
rule asks, the band. Rows that fit into memory are the whole sample: they are trained on as if they
had come as an array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from unmet.arrays import Array, Band
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, HingeCost
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import ChosenBand, check_used, choose_bands
from unmet.rows import Rows, check_sizes
from unmet.solvers.blocks.source import BlockSource, RowBlock, read_sample
from unmet.solvers.exact.solve import solve_blocks
from unmet.solvers.problem import Solution

if TYPE_CHECKING:
    from unmet.estimators.linear import LinearMethod

_RULE_ROWS = 200_000  # a rule learns from at most so many, unless it says otherwise
KEPT_ROWS = 20_000  # of the sample: what `decide` later draws its thousand from
_Prediction = TypeVar("_Prediction")


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
            return self.band.band(block.features, cost=cost, observation=block.observation)
        return self.band


BlockFit: TypeAlias = tuple[_Prediction, Rows, ChosenBand, tuple[str, ...]]
"""What was learned from blocks; rows that are kept, their band, and the costs given by row."""


def check_alone(**given: Any) -> None:
    """Refuse what a source brings itself."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} must be None where X is a source of blocks, which brings its own columns, "
                f"got {type(value).__name__}."
            )


class BlockStart:
    """The sampling read, and the band: what all fits begin with."""

    def __init__(
        self, model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
    ) -> None:
        self.sample = read_sample(source)
        rows, n_rows = self.sample.rows, self.sample.n_rows
        if len(rows) < 2:
            raise InvalidInput(f"X must have at least two rows with weight, got {n_rows}.")
        if (rows.low is None) != (rows.high is None):
            raise InvalidInput("low and high must be given together, got only one of them.")
        if rows.low is not None and band is not None:
            raise InvalidInput(
                f"band must be None where the source has low and high, got {band!r}."
            )
        if isinstance(band, Band) and np.ndim(band.width):
            raise InvalidInput(
                "band must have one number for each end where X is a source of blocks, got arrays: "
                "give the source the columns low and high."
            )
        check_used(band, censored=rows.censored)
        self.pricing = Pricing(cost, band)
        self._chosen = ChosenBand(band if isinstance(band, Band) else None)
        if isinstance(band, BandRule):
            self._learn_band(model, cost, band)

    def _learn_band(self, model: Any, cost: Cost, rule: BandRule) -> None:
        """Let a rule learn from rows of the sample; its band differs from block to block."""
        part, most = self.sample.rows, getattr(rule, "max_rows", _RULE_ROWS)
        if not self.sample.complete and isinstance(most, int | np.integer) and len(part) > most:
            # The same share of every range of observations, in the order they came.
            order: Any = np.argsort(part.observation, kind="stable")
            starts = np.linspace(0, len(part), most, endpoint=False)
            offset: Array = np.random.default_rng(0).random(most) * (len(part) / most)
            part = part.take(np.sort(order[(starts + offset).astype(np.intp)]))
        paid = self.pricing.cost_of(part)
        known: dict[str, Any] = {"sample_weight": part.weight, "censored": part.censored}
        given = Rows.read(paid, part.features, part.observation, **known)
        (chosen,) = choose_bands(model, [(paid, rule)], given)
        self.pricing, self._chosen = Pricing(cost, chosen.rule), replace(chosen, band=None)

    def training(self, most: int | None = None) -> Rows:
        """Rows of the sample to train on, or so many of them at even distances."""
        rows = self.sample.rows
        return training_rows(rows if most is None else spread(rows, most), self.pricing)

    def fit(self, answer: _Prediction, rows: Rows) -> BlockFit[_Prediction]:
        """Put together what was learned, and the rows that are kept of the sample."""
        sample = self.sample.rows
        by_row = tuple(n for n in ("underage", "overage") if getattr(sample, n) is not None)
        return answer, rows, self._chosen, by_row


def fit_blocks(
    model: Any, source: BlockSource, method: LinearMethod, cost: Cost, band: Band | BandRule | None
) -> BlockFit[Solution]:
    """Solve for a line over all blocks."""
    if method.solver != "exact":
        raise Unsupported(
            f"The solver {method.solver!r} and a source of blocks do not fit together, because it "
            "needs all rows at once: use the solver 'exact'."
        )
    check_slopes(cost)
    start = BlockStart(model, source, cost, band)
    sample, size, kept = start.sample, source.n_features, start.training(KEPT_ROWS)
    check_sizes(kept, "a linear decision")
    if sample.complete:
        solution = replace(method.solve(start.training()), passes=float(sample.reads))
    else:
        solution = solve_blocks(
            source,
            start.pricing,
            sample,
            intercept=method.fit_intercept,
            ridge=np.full(size, method.ridge) if method.ridge else None,
            lasso=np.full(size, method.lasso) if method.lasso else None,
            tolerance=method.tolerance,
        )
    return start.fit(solution, kept)


def check_slopes(cost: Cost) -> None:
    """Refuse a cost that blocks cannot sum up."""
    if not isinstance(cost, HingeCost):
        name = type(cost).__name__
        raise Unsupported(
            f"The cost {name} and a source of blocks do not fit together, because {name} has no "
            "slopes: use a cost such as Newsvendor(underage=3, overage=1)."
        )


def training_rows(block: RowBlock, pricing: Pricing, *, at_least: int = 2) -> Rows:
    """Rows of a block that have weight as what a model is trained on."""
    cost, weight = pricing.cost_of(block), block.weight
    rows = Rows.of(cost, block.features, block.observation, sample_weight=weight, at_least=at_least)
    return rows.evaluated(cost, pricing.band_of(block, cost)).counted()


def spread(rows: RowBlock, most: int) -> RowBlock:
    """Keep rows at even distances, so that blocks are represented alike."""
    if len(rows) <= most:
        return rows
    return rows.take(np.linspace(0, len(rows) - 1, most).astype(np.intp))
