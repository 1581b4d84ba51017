"""Boosted trees from data in blocks: what `BoostedDecision.fit` does with a `BlockSource`.

A sample fixes the bins of the columns and, where a rule asks, the band. Then all blocks are read
once; what stays of them is one byte for each entry and a few numbers for each row, here or on the
workers of a cluster (`unmet.solvers.boosting.spread`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from unmet.band import Array, Band
from unmet.bands import BandRule
from unmet.costs import Cost, HingeCost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.banding import Chosen
from unmet.models.blocks import Pricing, choose_band, spread, training_of
from unmet.models.boosted_columns import Category, Columns, find_categorical
from unmet.models.boosted_parameters import read_held, read_monotone, read_settings
from unmet.models.boosted_training import train
from unmet.models.training import Training
from unmet.solvers.blocks_rows import BlockSource, RowBlock, dense
from unmet.solvers.blocks_sample import BlockSample, read_sample
from unmet.solvers.boosting.loop import Boosted
from unmet.solvers.boosting.settings import Settings
from unmet.solvers.boosting.shard import Shard, ShardPlan
from unmet.solvers.boosting.spread import boost_places
from unmet.solvers.places import LostPlace

_KEPT_ROWS = 20_000  # of the sample: what `decide` later draws its thousand from
_ATTEMPTS = 2  # that may fail because a worker dies
_BIN_ROWS = 200_000  # LightGBM's own number of rows to make bins of


@dataclass(frozen=True)
class BoostedFromBlocks:
    """Trees, and what the estimator keeps beside them."""

    found: Boosted
    columns: Columns
    training: Training
    decision: Array
    chosen: Chosen
    by_row: tuple[str, ...]


def fit_boosted_blocks(
    model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
) -> BoostedFromBlocks:
    """Read a sample, then all blocks once, and boost.

    Rows that fit into memory are trained on as if they had come as an array.
    """
    settings = read_settings(model)
    categorical = _categorical(model, source, band)
    sample = read_sample(source)
    rows = sample.rows
    if len(rows) < 2:
        raise InvalidInput(f"X must have at least two rows with weight, got {sample.n_rows}.")
    columns = _columns(source, categorical).with_medians(rows.features)
    names = None if source.names is None else list(source.names)
    signs = read_monotone(model.monotonic_cst, names, columns)
    n_held = read_held(model, sample.n_rows)
    chosen = choose_band(model, rows, cost, band, everything=sample.complete)
    pricing = Pricing(cost, band if chosen.rule is None else chosen.rule)
    if sample.complete:
        training = _encoded(training_of(rows, pricing), columns)
        found, decision = train(training, settings, n_held, None, columns.categorical, signs)
    else:
        _check(model, cost)
        training = _encoded(training_of(spread(rows, _KEPT_ROWS), pricing), columns)
        found = _boost(source, sample, pricing, columns, signs, settings)
        decision = found.trees.predict(training.features, settings.n_threads)
    own = replace(chosen, band=chosen.band if isinstance(band, Band) else None)
    by_row = tuple(n for n in ("underage", "overage") if getattr(rows, n) is not None)
    return BoostedFromBlocks(found, columns, training, decision, own, by_row)


def _boost(
    source: BlockSource,
    sample: BlockSample,
    pricing: Pricing,
    columns: Columns,
    monotone: tuple[int, ...] | None,
    settings: Settings,
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
    for _ in range(_ATTEMPTS):
        with suppress(LostPlace), source.settle(partial(Shard, plan), sample.n_rows) as places:
            return boost_places(places, plan)
    with source.settle(partial(Shard, plan), sample.n_rows) as places:
        return boost_places(places, plan)


def _check(model: Any, cost: Cost) -> None:
    """Refuse what needs all rows at once."""
    if model.early_stopping:
        raise Unsupported(
            "early_stopping=True and a source of blocks do not fit together, because rows that "
            "are held out would have to be kept: use early_stopping=False and fewer trees."
        )
    if not isinstance(cost, HingeCost):
        name = type(cost).__name__
        raise Unsupported(
            f"The cost {name} and a source of blocks do not fit together, because {name} has no "
            "slopes: use a cost such as Newsvendor(underage=3, overage=1)."
        )


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


def _encoded(training: Training, columns: Columns) -> Training:
    return replace(training, features=_read(columns, training.features))


def _read(columns: Columns, features: Any) -> Array:
    """Features of a block as trees want them."""
    return features if not columns.categorical else np.asarray(columns.read(features))
