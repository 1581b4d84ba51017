"""Plans of Dask tables, whose rows lie on several machines.

The parts that all series share are learned from a sample of series. The history of every other
series, its hidden demand and its orders are computed where its rows are, partition by partition.
Only the sample, and a number of eight bytes for each series, come to this process.

A partition depends only on its own rows and the sample. A worker that dies costs its work and not
the result, and orders equal those of one machine with the same sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.errors import InvalidInput, MissingPackage, Unsupported
from unmet.planning.candidates import hashes_of
from unmet.progress import Step
from unmet.tables.panel import among, keys_of
from unmet.tables.reading import as_polars
from unmet.tables.schema import Schema

if TYPE_CHECKING:
    from unmet.planning.order_plan import OrderPlan

_LOOKED_AT = 40  # partitions of which some rows say what the columns are
_PIECES, _PIECE_ROWS = 20, 400  # of each: rows that follow each other, from all over it

Numbers = NDArray[np.uint64]


class DaskTable:
    """Rows of a table in partitions, with all rows of a series in the same one.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.
    schema : Schema
        Columns of the table.
    seed : int
        Seed of the sample.
    progress : callable
        Called during the work.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        The table, shuffled if rows of one series were in several partitions.
    hashes : ndarray of shape (n_series,)
        Numbers of all series, ascending.
    span : tuple of two dates
        First and last date.
    n_rows, n_repeated : int
        Number of rows, and of rows whose series and date occur again.
    """

    def __init__(self, frame: Any, schema: Schema, seed: int, progress: Step) -> None:
        self.frame, self.schema, self.seed = frame, schema, seed
        progress(0, 5, f"reading series and dates of {frame.npartitions:,} partitions")
        wanted = frame[[*schema.series, schema.date]]
        found = _compute([_delayed(_summary)(each, schema, seed) for each in wanted.to_delayed()])
        there = [each for each in found if each[1] is not None]
        if not there:
            raise InvalidInput("table must have rows, got a Dask frame without any.")
        every = np.concatenate([each[0] for each in there])
        self.hashes = np.unique(every)
        if self.hashes.size < every.size:  # a series lies in several partitions
            self.frame = frame.shuffle(on=list(schema.series))
        self.span = min(each[1] for each in there), max(each[2] for each in there)
        self.n_rows, self.n_repeated = (sum(each[place] for each in there) for place in (3, 4))

    def sample(self, most: int) -> tuple[pl.DataFrame, Numbers]:
        """Rows of so many series, and the numbers of these."""
        chosen = self.hashes[:most]
        every = self.frame.to_delayed()
        found = _compute([_delayed(_some_rows)(e, self.schema, self.seed, chosen) for e in every])
        return pl.concat([e for e in found if e.height], how="vertical_relaxed"), chosen

    def map(self, ask: Callable[..., Any], *given: Any) -> list[Any]:
        """Ask something of every partition, given the same of all: a delayed answer for each."""
        shared = [_delayed(each) for each in given]  # sent once, and again where a worker died
        return [_delayed(ask)(each, *shared) for each in self.frame.to_delayed()]


def is_dask(table: Any) -> bool:
    """Whether a table is one of Dask."""
    return type(table).__module__.partition(".")[0] in ("dask", "dask_expr")


def fit_on_dask(plan: OrderPlan, frame: Any, future: Any, force: bool, tell: Step) -> None:
    """Learn from a sample of the series of a Dask frame.

    Parameters
    ----------
    plan : OrderPlan
        Is fitted to the sample, and then holds the frame.
    frame : dask.dataframe.DataFrame
    future, force, tell
        As for `OrderPlan.fit`.
    """
    if plan.supply is not None:
        raise Unsupported("supply must not be given with a Dask frame: plan it in memory.")
    if is_dask(future):
        raise InvalidInput("future must be a table in memory, got a Dask frame: .compute() it.")
    plan.check()
    some = frame.partitions[:: max(frame.npartitions // _LOOKED_AT, 1)].to_delayed()
    looked_at = _compute([_delayed(_pieces)(each) for each in some])
    pieces = pl.concat([as_polars(each) for each in looked_at if len(each)], how="vertical_relaxed")
    schema = plan.read(pieces, future).schema
    lacking = [each for each in (*schema.series, schema.date) if each not in frame.columns]
    if lacking or not schema.series:
        raise InvalidInput(
            "table must have a row for each series and day, with columns that tell series apart "
            "(series=), where it is a Dask frame: bring other forms into that one first."
        )
    table = DaskTable(frame, schema, plan.random_state, tell)
    if table.n_repeated and not (plan.schema and plan.schema.series):
        raise InvalidInput(
            f"Series must be told apart: by {', '.join(schema.series)}, {table.n_repeated:,} of "
            f"{table.n_rows:,} rows are of a series and date that has another row; name the "
            "columns that tell series apart (series=)."
        )
    tell(1, 5, "collecting the sample")
    rows, chosen = table.sample(plan.max_series)
    if future is not None:
        future = as_polars(future)
        if set(schema.series) <= set(future.columns):
            number = _numbers(future, schema, plan.random_state)
            future = future.filter(np.isin(number, chosen) | ~np.isin(number, table.hashes))
    given = plan.schema
    plan.schema = schema  # as all partitions have it, not as the sample alone would
    try:
        plan._span = table.span
        plan.fit(rows, future=future, force=force, progress=tell)
    finally:
        plan.schema = given
        plan._span = None
    n_series = table.hashes.size
    if n_series > chosen.size:
        if plan.inferred_:
            raise Unsupported(
                "Stock-outs can be read off the sales of series in memory only, and this Dask "
                f"frame has {n_series:,} series: name a column of flags (sold_out=) or of stock "
                "(stock=), or say how often it sells out (sellout_rate=)."
            )
        plan.notes_ += (plan.learned_from(n_series),)
    plan.n_rows_ = table.n_rows
    plan._on_dask = table, chosen


def on_workers(plan: OrderPlan, what: str, future: Any, force: bool) -> Any:
    """Give the orders or the corrected history of all series, as a Dask frame."""
    table, own = plan._on_dask[0], getattr(plan, f"_{what}_table")()
    # parts of one table have columns of one kind, whatever is in them
    own = own.cast({name: float for name in ("order", "low", "high") if name in own.columns})
    parts = table.map(partial(_answer, what=what, force=force), _light(plan), own, future)
    new = own.filter(~np.isin(_numbers(own, table.schema, table.seed), table.hashes))
    if new.height:  # series of the coming days alone are in no partition
        parts.append(_delayed(new.to_pandas()))
    return frame_of(parts, own.clear().to_pandas())


def frame_of(parts: list[Any], empty: Any) -> Any:
    """Give delayed tables as one Dask frame."""
    dd = MissingPackage.or_load("fit", "dask.dataframe", "dask")
    return dd.from_delayed(parts, meta=empty, verify_meta=False)


def write_orders(
    plan: OrderPlan, folder: str | Path, future: Any, force: bool, tell: Step
) -> tuple[int, float]:
    """Let every worker write the orders of its partitions as Parquet.

    Returns
    -------
    rows : int
    total : float
        Sum of all orders.
    """
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    if any(where.iterdir()):
        raise InvalidInput(f"The folder of orders must be empty, got files in {where}.")
    frames = on_workers(plan, "orders", future, force).to_delayed()
    found: list[tuple[int, float]] = []
    for written in _as_they_come(
        [_delayed(_write)(each, str(where.absolute()), n) for n, each in enumerate(frames)]
    ):
        found.append(written)
        tell(4, 5, f"ordering: {len(found):,} of {len(frames):,} partitions")
    return sum(each[0] for each in found), float(sum(each[1] for each in found))


# --- What workers do.


def _pieces(part: Any) -> Any:
    """Rows from all over a partition."""
    step = max(len(part) // _PIECES, _PIECE_ROWS)
    return part.iloc[np.arange(len(part)) % step < _PIECE_ROWS]


def _summary(part: Any, schema: Schema, seed: int) -> tuple[Numbers, Any, Any, int, int]:
    """Numbers of the series of a partition, its first and last date, its rows, those repeated."""
    from unmet.tables.dates import read_dates

    table = as_polars(part)
    if not table.height:
        return np.empty(0, dtype=np.uint64), None, None, 0, 0
    each = keys_of(table.select(schema.series).unique(), schema.series)
    dates = read_dates(table, schema.date, schema.date_format)
    repeated = table.height - table.n_unique()
    return hashes_of(each.rows(), seed), dates.min(), dates.max(), table.height, repeated


def _some_rows(part: Any, schema: Schema, seed: int, chosen: Numbers) -> pl.DataFrame:
    """Rows of chosen series."""
    table = as_polars(part)
    return table.filter(np.isin(_numbers(table, schema, seed), chosen))


def _answer(
    part: Any, plan: OrderPlan, own: pl.DataFrame, future: Any, *, what: str, force: bool
) -> Any:
    """Orders or history of the series of a partition; of those in the sample as they were."""
    schema, table = plan.schema_, as_polars(part)
    names = list(schema.series)
    keys = keys_of(table.select(names).unique(), names)
    found = own.filter(among(keys_of(own, names), keys))
    rest = table.filter(~among(keys_of(table, names), plan._sampled))
    if rest.height:
        others = plan._for_others(rest, future, force)
        more = getattr(others, f"_{what}_table")().select(own.columns)
        found = pl.concat([found, more.cast(dict(own.schema))])
    return found.sort([*names, schema.date]).to_pandas()


def _write(part: Any, folder: str, number: int) -> tuple[int, float]:
    """Write a file, whole or not at all; one that was written before is the same."""
    path = Path(folder) / f"orders-{number:06}.parquet"
    beside = path.with_suffix(f".{os.getpid()}.part")
    as_polars(part).write_parquet(beside)
    beside.replace(path)
    return len(part), float(part["order"].sum())


# --- Numbers of series.


def _numbers(table: pl.DataFrame, schema: Schema, seed: int) -> Numbers:
    """Give the number of the series of each row."""
    keys = keys_of(table, schema.series)
    each = keys.unique()
    known = each.with_columns(number=hashes_of(each.rows(), seed))
    found = keys.join(known, on=keys.columns, how="left", maintain_order="left")["number"]
    return found.to_numpy()


def _light(plan: OrderPlan) -> OrderPlan:
    """Give the plan without anything of single series but which were learned from."""
    found = copy(plan)
    found._sampled = keys_of(plan.panel_.keys, plan.schema_.series)  # type: ignore[arg-type]
    found._memo, found.notes_ = {}, ()
    found.panel_ = found.panel_.take(np.zeros(0, dtype=np.intp))
    for name in ("demand_", "expected_", "_orders", "targets_", "_on_dask", "_sold_share"):
        setattr(found, name, None)
    return found


# --- Dask.


def _delayed(what: Any) -> Any:
    return MissingPackage.or_load("fit", "dask", "dask").delayed(what)


def _compute(tasks: list[Any]) -> Any:
    return MissingPackage.or_load("fit", "dask", "dask").compute(*tasks)


def _as_they_come(tasks: list[Any]) -> Any:
    """Give answers as workers send them; without workers, one after another."""
    try:
        distributed = import_module("distributed")
        client = distributed.get_client()
    except (ImportError, ValueError):
        for task in tasks:
            yield task.compute()
        return
    for done in distributed.as_completed(client.compute(tasks)):
        yield done.result()
