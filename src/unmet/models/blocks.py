"""Models from data in blocks: what `fit` does with a `BlockSource`.

A sample of the rows fixes whatever must be known before all rows are seen: units, bins and, where a
rule asks, the band. Rows that fit into memory are the whole sample: they are trained on as if they
had come as an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from unmet.arrays import Array, Band
from unmet.bands.rule import BandRule
from unmet.costs import Cost, HingeCost, Kinks
from unmet.errors import InvalidInput, Unsupported
from unmet.models.base import ChosenBand, check_used, choose_bands
from unmet.models.boosted_training import (
    Category,
    Columns,
    find_categorical,
    read_held,
    read_monotone,
    read_settings,
    train,
)
from unmet.models.networks import NetworkPlan, Steps, read_plan, train_plan
from unmet.rows import Rows
from unmet.solvers.blocks.solve import solve_blocks
from unmet.solvers.blocks.source import (
    BlockSample,
    BlockSource,
    LostWorker,
    RowBlock,
    check_block,
    dense,
    read_sample,
)
from unmet.solvers.boosting.distributed import Shard, ShardPlan, boost_on_workers
from unmet.solvers.boosting.growing import Boosted, BoostingSettings
from unmet.solvers.neural.training import Trained
from unmet.solvers.problem import Solution

if TYPE_CHECKING:
    from unmet.models.linear import LinearMethod

_RULE_ROWS = 200_000  # a rule learns from at most so many, unless it says otherwise
_KEPT_ROWS = 20_000  # of the sample: what `decide` later draws its thousand from
_Answer = TypeVar("_Answer")


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


@dataclass(frozen=True)
class BlockFit(Generic[_Answer]):
    """What was learned from blocks, and what the estimator keeps beside it."""

    answer: _Answer
    rows: Rows
    chosen: ChosenBand
    by_row: tuple[str, ...]


def check_alone(given: Mapping[str, Any]) -> None:
    """Refuse what a source brings itself."""
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"{name} must be None where X is a source of blocks, which brings its own columns, "
                f"got {type(value).__name__}."
            )


class _Start:
    """The sampling read, and the band: what all fits begin with."""

    def __init__(
        self, model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
    ) -> None:
        self.sample = read_sample(source)
        rows, n_rows = self.sample.rows, self.sample.n_rows
        if len(rows) < 2:
            raise InvalidInput(f"X must have at least two rows with weight, got {n_rows}.")
        chosen = choose_band(model, rows, cost, band, everything=self.sample.complete)
        self.pricing = Pricing(cost, band if chosen.rule is None else chosen.rule)
        self._chosen = replace(chosen, band=chosen.band if isinstance(band, Band) else None)

    def training(self, most: int | None = None) -> Rows:
        """Rows of the sample to train on, or so many of them at even distances."""
        rows = self.sample.rows
        return training_rows(rows if most is None else spread(rows, most), self.pricing)

    def fit(self, answer: _Answer, rows: Rows) -> BlockFit[_Answer]:
        """Put together what was learned, and the rows that are kept of the sample."""
        sample = self.sample.rows
        by_row = tuple(n for n in ("underage", "overage") if getattr(sample, n) is not None)
        return BlockFit(answer, rows, self._chosen, by_row)


def fit_blocks(
    model: Any, source: BlockSource, method: LinearMethod, cost: Cost, band: Band | BandRule | None
) -> BlockFit[Solution]:
    """Solve for a line over all blocks."""
    if method.solver != "exact":
        raise Unsupported(
            f"The solver {method.solver!r} and a source of blocks do not fit together, because it "
            "needs all rows at once: use the solver 'exact'."
        )
    _check_slopes(cost)
    start = _Start(model, source, cost, band)
    sample, size = start.sample, source.n_features
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
    return start.fit(solution, start.training(_KEPT_ROWS))


def _check_slopes(cost: Cost) -> None:
    """Refuse a cost that blocks cannot sum up."""
    if not isinstance(cost, HingeCost):
        name = type(cost).__name__
        raise Unsupported(
            f"The cost {name} and a source of blocks do not fit together, because {name} has no "
            "slopes: use a cost such as Newsvendor(underage=3, overage=1)."
        )


def choose_band(
    model: Any,
    rows: RowBlock,
    cost: Cost,
    band: Band | BandRule | None,
    *,
    everything: bool,
) -> ChosenBand:
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
    check_used(band, censored=part.censored)
    if not isinstance(band, BandRule):
        return ChosenBand(band)
    paid = Pricing(cost, None).cost_of(part)
    given = Rows.read(
        paid,
        part.features,
        part.observation,
        sample_weight=part.weight,
        censored=part.censored,
    )
    (chosen,) = choose_bands(model, [(paid, band)], given)
    return chosen


def training_rows(block: RowBlock, pricing: Pricing, *, at_least: int = 2) -> Rows:
    """Rows of a block that have weight as what a model is trained on."""
    cost, weight = pricing.cost_of(block), block.weight
    rows = Rows.of(cost, block.features, block.observation, sample_weight=weight, at_least=at_least)
    return rows.priced(cost, pricing.band_of(block, cost)).counted()


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


# --- Networks: every epoch goes once through all blocks, with mini-batches drawn at random inside
# each of them; the learning rate falls from block to block. Rows of one block stay together, so
# blocks should be mixtures of the data: blocks sorted by time or store pull the network to and fro,
# the less the smaller the learning rate has become.

_ENOUGH = 200_000  # rows of which the usual number of epochs is enough; more rows need fewer
_FEWEST = 2


def fit_network_blocks(
    model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
) -> BlockFit[Trained]:
    """Go through all blocks, epoch by epoch."""
    start = _Start(model, source, cost, band)
    sample, plan = start.sample, read_plan(model, start.sample.n_rows)
    if sample.complete:
        rows = start.training()
        return start.fit(train_plan(plan, rows), rows)
    for name, wanted in (("solver", "adam"), ("early_stopping", False), ("n_restarts", 1)):
        if getattr(model, name) != wanted:
            raise Unsupported(
                f"{name}={getattr(model, name)!r} and a source of blocks do not fit together, "
                f"because it needs all rows at once: use {name}={wanted!r}."
            )
    epochs = plan.options.epochs
    if model.max_iter is None:  # as many steps as for a table that is large, but fits into memory
        epochs = max(_FEWEST, ceil(epochs * _ENOUGH / sample.n_rows))
    network = _stream(source, plan, start.pricing, sample, epochs)
    sums = np.array(list(source.run(_Paid(network, start.pricing)))).sum(axis=0)
    paid, rows = float(sums[0] / sums[1]), start.training(_KEPT_ROWS)
    decision = network.decide(rows.features)
    return start.fit(Trained(network, decision, paid, None, paid, epochs), rows)


def _stream(
    source: BlockSource, plan: NetworkPlan, pricing: Pricing, sample: BlockSample, epochs: int
) -> Any:
    """Go through all blocks as often as asked, ever more slowly."""
    steps = Steps.begin(plan, training_rows(sample.rows, pricing))
    mean = 1.0 if sample.rows.weight is None else float(sample.rows.weight.mean())
    done, total = 0, epochs * sample.n_rows
    for _ in range(epochs):
        for block in source.blocks():
            check_block(block)
            counted = block.counted()
            if not len(counted):
                continue
            rate = plan.learning_rate * plan.options.rate(min(done / total, 1.0))
            weight = None if counted.weight is None else counted.weight / mean
            training = training_rows(replace(counted, weight=None), pricing, at_least=1)
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
        training = training_rows(counted, self.pricing, at_least=1)
        weight = float(len(counted) if counted.weight is None else counted.weight.sum())
        decision: Array = self.network.decide(training.features)
        return training.mean_cost(decision) * weight, weight


# --- Boosted trees: all blocks are read once; what stays of them is one byte for each entry and a
# few numbers for each row, here or on the workers of a cluster (`solvers.boosting.distributed`).

_ATTEMPTS = 3  # of which all but the last may fail because a worker dies
_BIN_ROWS = 200_000  # LightGBM's own number of rows to make bins of


def fit_boosted_blocks(
    model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
) -> BlockFit[tuple[Boosted, Columns, Array]]:
    """Read all blocks once, and boost: trees, columns, and decisions of the rows kept."""
    settings = read_settings(model)
    categorical = _categorical(model, source, band)
    start = _Start(model, source, cost, band)
    sample = start.sample
    columns = _columns(source, categorical).with_medians(sample.rows.features)
    names = None if source.names is None else list(source.names)
    signs = read_monotone(model.monotonic_cst, names, columns)
    n_held = read_held(model, sample.n_rows)
    if sample.complete:
        rows = _encoded(start.training(), columns)
        found, decision = train(rows, settings, n_held, None, columns.categorical, signs)
        return start.fit((found, columns, decision), rows)
    if model.early_stopping:
        raise Unsupported(
            "early_stopping=True and a source of blocks do not fit together, because rows that "
            "are held out would have to be kept: use early_stopping=False and fewer trees."
        )
    _check_slopes(cost)
    rows = _encoded(start.training(_KEPT_ROWS), columns)
    found = _boost(source, sample, start.pricing, columns, signs, settings)
    decision = found.trees.predict(rows.features, settings.n_threads)
    return start.fit((found, columns, decision), rows)


def _boost(
    source: BlockSource,
    sample: BlockSample,
    pricing: Pricing,
    columns: Columns,
    monotone: tuple[int, ...] | None,
    settings: BoostingSettings,
) -> Boosted:
    """Boost where the rows lie."""
    plan = ShardPlan(
        settings=settings,
        sample=_read(columns, spread(sample.rows, _BIN_ROWS).features),
        encode=partial(_read, columns),
        price=pricing,
        factor=sample.n_rows / sample.total,
        n_rows=sample.n_rows,
        categorical=columns.categorical,
        monotone=monotone,
    )
    for attempt in range(_ATTEMPTS):
        try:
            with source.distribute(partial(Shard, plan), sample.n_rows) as workers:
                return boost_on_workers(workers, plan)
        except LostWorker:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError  # one of the attempts returns or raises


def _categorical(model: Any, source: BlockSource, band: Band | BandRule | None) -> tuple[int, ...]:
    """Positions of the columns that hold categories."""
    asked, names = model.categorical_features, source.names or ()
    if asked is not None and not isinstance(asked, str) and np.ndim(asked) == 1:
        asked = [names.index(each) if each in names else each for each in asked]
    found = find_categorical(np.empty((1, source.n_features)), asked)
    if found and isinstance(band, BandRule):
        raise Unsupported(
            f"categorical_features and the band rule {type(band).__name__} do not fit together "
            "where X is a source of blocks, because the rule reads numbers: give the source the "
            "columns low and high."
        )
    return found


def _columns(source: BlockSource, categorical: tuple[int, ...]) -> Columns:
    """Go through all blocks for the categories, where there are any."""
    seen: list[tuple[Category, ...] | None] = [None] * source.n_features
    if categorical:
        sets: list[set[Category]] = [set() for _ in categorical]
        for found in source.run(_Distinct(categorical)):
            for known, values in zip(sets, found, strict=True):
                known.update(values)
        for column, known in zip(categorical, sets, strict=True):
            seen[column] = tuple(sorted(known))
    return Columns(tuple(seen))


@dataclass(frozen=True)
class _Distinct:
    """Task: different entries of some columns."""

    columns: tuple[int, ...]

    def __call__(self, block: RowBlock) -> list[list[float]]:
        features = dense(block.counted().features)
        return [np.unique(features[:, column]).tolist() for column in self.columns]


def _encoded(rows: Rows, columns: Columns) -> Rows:
    return replace(rows, features=_read(columns, rows.features))


def _read(columns: Columns, features: Any) -> Array:
    """Features of a block as trees want them."""
    return features if not columns.categorical else np.asarray(columns.read(features))
