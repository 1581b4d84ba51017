"""A linear decision from data in blocks: what `fit` does with a `BlockSource`.

A sample of the rows fixes whatever must be known before all rows are seen: units, bins and, where a
rule asks, the band. Rows that fit into memory are the whole sample: they are trained on as if they
had come as an array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.arrays import Band
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


class Pricing:
    """Kinks of the rows of a block: their costs, their band and their weights.

    Parameters
    ----------
    cost : HingeCost
        Without numbers per row; those of a block are put in.
    band : Band, BandRule (fitted) or None
        None also where blocks bring the ends of their bands.
    """

    def __init__(self, cost: HingeCost, band: Band | BandRule | None) -> None:
        self.cost = cost
        self.band = band

    def __call__(self, block: RowBlock, factor: float) -> Kinks:
        """Write the costs of the rows as hinges, their weights multiplied by a factor."""
        weight = factor if block.weight is None else block.weight * factor
        cost = self.cost_of(block)
        return cost.kinks(block.observation, self.band_of(block, cost), weight)

    def cost_of(self, block: RowBlock) -> HingeCost:
        """Cost of the rows of a block."""
        return self.cost.with_rows(underage=block.underage, overage=block.overage)

    def band_of(self, block: RowBlock, cost: Cost) -> Band | None:
        """Band of the rows of a block: their own, the one given, or what the rule says."""
        if block.low is not None and block.high is not None:
            return Band(block.low, block.high)
        if isinstance(self.band, BandRule):
            return self.band.band(block.features, cost=cost, observation=block.observation)
        return self.band


def check_alone(**given: Any) -> None:
    """Refuse what a source brings itself."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} must be None where X is a source of blocks, which brings its own columns, "
                f"got {type(value).__name__}."
            )


def fit_blocks(
    model: Any, source: BlockSource, method: LinearMethod, cost: Cost, band: Band | BandRule | None
) -> tuple[Solution, Rows, ChosenBand, tuple[str, ...]]:
    """Solve for a linear model over all blocks.

    Returns the solution, the rows that are kept of the sample, their band, and the names of the
    costs that were given by row.
    """
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
    sample, (ridge, lasso) = read_sample(source), method.penalties(source.n_features)
    rows = sample.rows
    if len(rows) < 2:
        raise InvalidInput(f"X must have at least two rows with weight, got {sample.n_rows}.")
    if (rows.low is None) != (rows.high is None):
        raise InvalidInput("low and high must be given together, got only one of them.")
    if rows.low is not None and band is not None:
        raise InvalidInput(f"band must be None where the source has low and high, got {band!r}.")
    if isinstance(band, Band) and np.ndim(band.width):
        raise InvalidInput(
            "band must have one number for each end where X is a source of blocks, got arrays: "
            "give the source the columns low and high."
        )
    check_used(band, censored=rows.censored)
    chosen = ChosenBand(band if isinstance(band, Band) else None)
    pricing = Pricing(cost, band)
    if isinstance(band, BandRule):  # it learns from rows of the sample
        part, most = rows, getattr(band, "max_rows", 200_000)
        if not sample.complete and isinstance(most, int | np.integer) and len(part) > most:
            # the same share of every range of observations, in the order they came
            order = np.argsort(part.observation, kind="stable")
            starts = np.linspace(0, len(part), most, endpoint=False)
            offset = np.random.default_rng(0).random(most) * (len(part) / most)
            part = part.take(np.sort(order[(starts + offset).astype(np.intp)]))
        paid = pricing.cost_of(part)
        known: dict[str, Any] = {"sample_weight": part.weight, "censored": part.censored}
        given = Rows.read(paid, part.features, part.observation, **known)
        (found,) = choose_bands(model, [(paid, band)], given)
        pricing, chosen = Pricing(cost, found.rule), replace(found, band=None)
    # rows at even distances, of which `decide` later draws its thousand
    some = rows
    if len(rows) > 20_000:
        some = rows.take(np.linspace(0, len(rows) - 1, 20_000).astype(np.intp))
    kept = _training_rows(some, pricing)
    check_sizes(kept, "a linear decision")
    if sample.complete:
        found_here = method.train(_training_rows(rows, pricing))
        solution = replace(found_here, passes=float(sample.reads))
    else:
        solution = solve_blocks(
            source,
            pricing,
            sample,
            intercept=method.fit_intercept,
            ridge=ridge,
            lasso=lasso,
            tolerance=method.tolerance,
        )
    by_row = tuple(n for n in ("underage", "overage") if getattr(rows, n) is not None)
    return solution, kept, chosen, by_row


def _training_rows(block: RowBlock, pricing: Pricing) -> Rows:
    """Rows of a block that have weight as what a model is trained on."""
    cost, weight = pricing.cost_of(block), block.weight
    rows = Rows.of(cost, block.features, block.observation, sample_weight=weight, at_least=2)
    return rows.evaluated(cost, pricing.band_of(block, cost)).counted()
