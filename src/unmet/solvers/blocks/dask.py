"""Blocks of Dask frames: each partition is processed where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from unmet.errors import InvalidInput, MissingPackage
from unmet.solvers.blocks.source import BlockSource, Result, RowBlock, given


def import_dask() -> Any:
    """Import dask, or the sentence that says how to get it."""
    return MissingPackage.or_load("A Dask frame", "dask", "dask")


def check_aligned(name: str, frame: Any, series: Any) -> None:
    """Refuse what is no Dask Series with the partitions of a frame; rows are compared later."""
    remedy = "take both from the same frame"
    if getattr(series, "ndim", 0) != 1 or not hasattr(series, "divisions"):
        kind = f"{type(series).__module__.partition('.')[0]} {type(series).__name__}"
        raise InvalidInput(
            f"{name} must be a Dask Series such as frame['sales'] where X is a Dask frame, "
            f"got {kind.removeprefix('builtins ')}: {remedy}."
        )
    if series.npartitions != frame.npartitions:
        raise InvalidInput(
            f"{name} must have the {frame.npartitions} partitions of X, "
            f"got {series.npartitions}: {remedy}."
        )
    if None not in (*series.divisions, *frame.divisions) and series.divisions != frame.divisions:
        raise InvalidInput(f"{name} must have the divisions of X, got others: {remedy}.")


def check_rows(names: Sequence[str], table: Any, *series: Any) -> None:
    """Refuse parts of series that are not beside the rows of their part of the frame."""
    for name, each in zip(names, series, strict=True):
        if not table.index.equals(each.index):
            raise InvalidInput(
                f"{name} must have the rows of X in their order, got others in some partition: "
                "take both from the same frame."
            )


def fetch(frame: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Compute a frame and the series beside it: tables in memory. Plain numbers stay."""
    names = [name for name, value in given.items() if name == "y" or np.ndim(value)]
    for name in names:
        check_aligned(name, frame, given[name])
    table, *found = import_dask().compute(frame, *(given[name] for name in names))
    check_rows(names, table, *found)
    return table, {**given, **dict(zip(names, found, strict=True))}


def map_rows(model: Any, method: str, frame: Any, given: dict[str, Any]) -> Any:
    """Call a method that gives a number per row on every partition: a Dask Series, not computed."""
    for name, value in given.items():
        if np.ndim(value):
            check_aligned(name, frame, value)
    # one node of the graph holds the model: it travels once
    shared = import_dask().delayed(model, traverse=False)
    options = {"align_dataframes": False, "meta": (None, np.float64)}
    call = partial(_call, method, tuple(given))
    return frame.map_partitions(call, shared, *given.values(), **options)


class DaskBlocks(BlockSource):
    """Partitions of a Dask frame; `LinearDecision` makes them if you give it a frame."""

    distance = 20

    def __init__(self, data: Any, observed: Any, **columns: Any) -> None:
        import_dask()
        features = tuple(data.columns)
        for name in features:
            _check_numeric(f"data must have numbers in column {name!r}", data.dtypes[name])
        found = {"observation": observed, **given(**columns)}
        said, series = tuple(_ARGUMENTS.get(name, name) for name in found), tuple(found.values())
        for name, each in zip(said, series, strict=True):
            check_aligned(name, data, each)
            _check_numeric(f"{name} must hold numbers", each.dtype)
        named = all(isinstance(name, str) for name in features)
        self.names = features if named else None
        self.n_features = len(features)
        # One expression, not one for each series: Dask joins small partitions of files, more of
        # them the fewer columns are read, and columns must stay beside each other.
        together = data.map_partitions(
            partial(_together, said),
            *series,
            align_dataframes=False,
            enforce_metadata=False,
            meta=data,
        )
        self.partitions = together.to_delayed()
        self.build = partial(_from_frame, tuple(found))
        self.counted = series[0]

    def blocks(self) -> Iterator[RowBlock]:
        """Fetch one partition after the other."""
        build = import_dask().delayed(self.build)
        for number, parts in enumerate(self.partitions):
            yield from import_dask().compute(build(number, parts))

    def run(self, task: Callable[[RowBlock], Result]) -> Iterator[Result]:
        """Run the task on all partitions, and yield what it returns in their order."""
        dask = import_dask()
        # One node of the graph holds the task: it travels once, and again where a worker dies.
        shared = dask.delayed((self.build, task), traverse=False)
        apply = dask.delayed(_apply, pure=False)
        tasks = [apply(shared, number, parts) for number, parts in enumerate(self.partitions)]
        yield from dask.compute(*tasks)

    def count(self) -> int:
        """Count the rows by one of the columns."""
        (n_rows,) = import_dask().compute(self.counted.size)
        return int(n_rows)


_ARGUMENTS = {"observation": "y", "weight": "sample_weight"}
"""What `fit` calls the columns that have another name here."""


def _check_numeric(rule: str, kind: Any) -> None:
    if getattr(kind, "kind", "O") not in "biuf":
        raise InvalidInput(f"{rule}, got {kind}.")


def _together(names: tuple[str, ...], table: Any, *series: Any) -> tuple[Any, ...]:
    """Run on a worker: a part of the frame, and what is beside it."""
    check_rows(names, table, *series)
    return table, *series


def _call(method: str, names: tuple[str, ...], part: Any, model: Any, *values: Any) -> Any:
    """Run on a worker: a number for each row of a part, which may have none."""
    import pandas as pd

    given = dict(zip(names, values, strict=True))
    beside = {name: value for name, value in given.items() if isinstance(value, pd.Series)}
    check_rows(tuple(beside), part, *beside.values())
    found = getattr(model, method)(part, **given) if len(part) else np.empty(0)
    return pd.Series(found, index=part.index)


def _from_frame(names: tuple[str, ...], number: int, parts: tuple[Any, ...]) -> RowBlock:
    features, *others = (each.to_numpy(dtype=np.float64, na_value=np.nan) for each in parts)
    columns = dict(zip(names, others, strict=True))
    return RowBlock(features, number=number, origin=f"partition {number}", **columns)


def _apply(shared: tuple[Callable[..., Any], Callable[..., Any]], *part: Any) -> Any:
    """Run on a worker: make a block of a partition, and work on it."""
    build, task = shared
    return task(build(*part))
