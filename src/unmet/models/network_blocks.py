"""Networks from data in blocks: what `NeuralDecision.fit` does with a `BlockSource`.

A sample fixes the units and, where a rule asks, the band. Then every epoch goes once through all
blocks, with mini-batches drawn at random inside each of them; the learning rate falls from block to
block. Rows of one block stay together, so blocks should be mixtures of the data: blocks sorted by
time or store pull the network to and fro, the less the smaller the learning rate has become.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, cos, pi
from typing import Any

import numpy as np

from unmet.band import Array, Band
from unmet.bands import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.banding import Chosen
from unmet.models.blocks import Pricing, choose_band, spread, training_of
from unmet.models.network_parameters import NetworkPlan, read_plan
from unmet.models.network_steps import Steps
from unmet.models.network_training import train_plan
from unmet.models.training import Training
from unmet.solvers.blocks_rows import BlockSource, RowBlock
from unmet.solvers.blocks_sample import BlockSample, check_block, read_sample

_KEPT_ROWS = 20_000  # of the sample: what `decide` later draws its thousand from
_ENOUGH = 200_000  # rows of which the usual number of epochs is enough; more rows need fewer
_FEWEST = 2


@dataclass(frozen=True)
class NetworkFromBlocks:
    """A network, and what the estimator keeps beside it."""

    network: Any
    training: Training
    chosen: Chosen
    by_row: tuple[str, ...]
    epochs: int
    cost: float


def fit_network_blocks(
    model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
) -> NetworkFromBlocks:
    """Read a sample, then go through all blocks, epoch by epoch.

    Rows that fit into memory are trained on as if they had come as an array.
    """
    sample = read_sample(source)
    rows = sample.rows
    if len(rows) < 2:
        raise InvalidInput(f"X must have at least two rows with weight, got {sample.n_rows}.")
    chosen = choose_band(model, rows, cost, band, everything=sample.complete)
    pricing = Pricing(cost, band if chosen.rule is None else chosen.rule)
    own = replace(chosen, band=chosen.band if isinstance(band, Band) else None)
    by_row = tuple(n for n in ("underage", "overage") if getattr(rows, n) is not None)
    plan = read_plan(model, sample.n_rows)
    if sample.complete:
        training = training_of(rows, pricing)
        trained = train_plan(plan, training)
        return NetworkFromBlocks(
            trained.network, training, own, by_row, trained.epochs, trained.cost
        )
    _check(model)
    epochs = plan.options.epochs if model.epochs is not None else _epochs(plan, sample.n_rows)
    network = _stream(source, plan, pricing, sample, epochs)
    return NetworkFromBlocks(
        network,
        training_of(spread(rows, _KEPT_ROWS), pricing),
        own,
        by_row,
        epochs,
        _mean_cost(source, network, pricing),
    )


def _check(model: Any) -> None:
    """Refuse what needs all rows at once."""
    for name, wanted in (("solver", "adam"), ("early_stopping", False), ("n_restarts", 1)):
        if getattr(model, name) != wanted:
            raise Unsupported(
                f"{name}={getattr(model, name)!r} and a source of blocks do not fit together, "
                f"because it needs all rows at once: use {name}={wanted!r}."
            )


def _epochs(plan: NetworkPlan, n_rows: int) -> int:
    """Give as many steps as the usual epochs of a table that is large, but fits into memory."""
    return max(_FEWEST, ceil(plan.options.epochs * _ENOUGH / n_rows))


def _stream(
    source: BlockSource, plan: NetworkPlan, pricing: Pricing, sample: BlockSample, epochs: int
) -> Any:
    """Go through all blocks as often as asked, ever more slowly."""
    steps = Steps.begin(plan, training_of(sample.rows, pricing))
    mean = 1.0 if sample.rows.weight is None else float(sample.rows.weight.mean())
    done, total = 0, epochs * sample.n_rows
    for _ in range(epochs):
        for block in source.blocks():
            check_block(block)
            counted = block.counted()
            if not len(counted):
                continue
            rate = plan.learning_rate
            if plan.options.schedule == "cosine":
                rate *= 0.5 * (1.0 + cos(pi * min(done / total, 1.0)))
            weight = None if counted.weight is None else counted.weight / mean
            training = training_of(replace(counted, weight=None), pricing, at_least=1)
            slower = replace(plan, learning_rate=max(rate, 1e-12))
            size = min(plan.options.batch_size, len(counted))
            options = replace(plan.options, batch_size=size)
            steps = steps.epoch(replace(slower, options=options), training, weight)
            done += len(block)
    return steps.network


@dataclass(frozen=True)
class _Paid:
    """Cost of the rows of a block, and their weight: a task for `BlockSource.run`."""

    network: Any
    pricing: Pricing

    def __call__(self, block: RowBlock) -> tuple[float, float]:
        counted = block.counted()
        if not len(counted):
            return 0.0, 0.0
        training = training_of(counted, self.pricing, at_least=1)
        weight = float(len(counted) if counted.weight is None else counted.weight.sum())
        decision: Array = self.network.decide(training.features)
        return training.mean_cost(decision) * weight, weight


def _mean_cost(source: BlockSource, network: Any, pricing: Pricing) -> float:
    sums = np.array(list(source.run(_Paid(network, pricing)))).sum(axis=0)
    return float(sums[0] / sums[1])
