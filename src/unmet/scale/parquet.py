"""Blocks of Parquet files, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unmet.errors import InvalidInput, MissingPackage
from unmet.scale.arrays import read_rows
from unmet.solvers.blocks.source import BlockSource, RowBlock

Item = TypeVar("Item")

_BATCH_ROWS = 65_536


def import_parquet(user: str) -> Any:
    """Import pyarrow.parquet, or the sentence that says how to get it."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingPackage.for_extra(user, "pyarrow", "scale") from None
    return parquet


@dataclass(frozen=True)
class ParquetFile:
    """A file and its number of rows."""

    path: Path
    n_rows: int


class ParquetBlocks(BlockSource):
    """Rows of Parquet files, of which only a batch is in memory at a time.

    Files are read one after the other in the order of their names, needed columns only, so that an
    error can say which file it is about. Their footers are read at once: a file that is no Parquet
    file, or lacks a column, is found before anything else happens.

    Parameters
    ----------
    path : str, Path, or sequence of them
        A file, or a folder whose ``*.parquet`` files are taken, those of its folders too; names
        that begin with a dot or an underscore are left out.
    features : sequence of str
        Columns of numbers.
    observed : str, optional
        Column of observations; only prediction can do without.
    weight, underage, overage, low, high : str, optional
        Columns of weights, of costs by row, and of the ends of the band.
    censored : str, optional
        Column of flags for a band rule: true, false, or null where nobody knows.
    batch_rows : int, default=65536
        Rows of a block, at most.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.scale import ParquetBlocks
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pl.DataFrame({"day": range(6), "sales": [3.0, 4, 4, 6, 6, 8]})
    >>> table.write_parquet(folder.name + "/january.parquet")
    >>> source = ParquetBlocks(folder.name, features=["day"], observed="sales")
    >>> model = LinearDecision(Newsvendor(underage=4, overage=1)).fit(source)
    >>> model.predict(pl.DataFrame({"day": [6]})).round(3)
    array([9.])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        features: Sequence[str],
        observed: str | None = None,
        weight: str | None = None,
        underage: str | None = None,
        overage: str | None = None,
        low: str | None = None,
        high: str | None = None,
        censored: str | None = None,
        batch_rows: int = _BATCH_ROWS,
    ) -> None:
        parquet = import_parquet("ParquetBlocks")
        self.features = self.names = _read_features(features)
        self.n_features = len(self.features)
        given = {
            "observation": observed,
            "weight": weight,
            "underage": underage,
            "overage": overage,
            "low": low,
            "high": high,
            "censored": censored,
        }
        self.columns = {name: column for name, column in given.items() if column is not None}
        self.batch_rows = read_rows("batch_rows", batch_rows)
        self.files = [self._open(parquet, each) for each in find_files(path)]
        self.n_rows = sum(file.n_rows for file in self.files)

    def blocks(self) -> Iterator[RowBlock]:
        """Read every file, the next batch while this one is worked on."""
        batches = (batch for file in self.files for batch in self.read(file))
        yield from ahead(
            self.block(batch, number, place) for number, (place, batch) in enumerate(batches)
        )

    def read(self, file: ParquetFile, extra: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
        """Batches of one file, each with what errors call it."""
        parquet = import_parquet("ParquetBlocks")
        wanted = list(dict.fromkeys([*self.features, *self.columns.values(), *extra]))
        seen = 0
        try:
            with parquet.ParquetFile(file.path) as opened:
                for batch in opened.iter_batches(self.batch_rows, columns=wanted):
                    seen += batch.num_rows
                    yield str(file.path), batch
        except (OSError, ValueError) as error:  # what pyarrow raises derives from these
            raise _unreadable(file.path, error) from None
        if seen != file.n_rows:
            raise InvalidInput(
                f"{file.path} must not change while it is used, "
                f"got {seen} rows instead of {file.n_rows}."
            )

    def block(self, batch: Any, number: int, place: str) -> RowBlock:
        """Turn a batch into arrays of numbers; nulls are an error, but for flags."""
        buffer = np.empty((self.n_features, batch.num_rows))
        for row, name in zip(buffer, self.features, strict=True):
            row[:] = numbers(batch, name, place)
        columns = {
            name: numbers(batch, column, place, missing=name == "censored")
            for name, column in self.columns.items()
        }
        columns.setdefault("observation", np.empty(0))
        # columns stay contiguous: the transposed view is what BLAS likes as much
        return RowBlock(buffer.T, number=number, origin=place, **columns)

    def _open(self, parquet: Any, path: Path) -> ParquetFile:
        """Read the footer of a file, and look for the columns."""
        try:
            with parquet.ParquetFile(path) as opened:
                schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        for name in (*self.features, *self.columns.values()):
            if name not in schema.names:
                raise InvalidInput(f"{path} must have a column {name!r}, got {_listed(schema)}.")
            if not _is_numeric(schema.field(name).type):
                kind = schema.field(name).type
                raise InvalidInput(f"{path} must have numbers in column {name!r}, got {kind}.")
        return ParquetFile(path, n_rows)


def find_files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Parquet files of a path or several, each folder in the order of its names."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    files: list[Path] = []
    for each in given:
        if each.is_dir():
            found = sorted(file for file in each.rglob("*.parquet") if _visible(file, each))
            if not found:
                raise InvalidInput(f"path must be a folder with *.parquet files, got {each}.")
            files += found
        elif each.is_file():
            files.append(each)
        else:
            raise InvalidInput(f"path must be a Parquet file or a folder of them, got {each}.")
    if not files:
        raise InvalidInput("path must name at least one Parquet file, got none.")
    return files


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Fetch the next item in a thread while this one is used; never more than one."""
    iterator = iter(items)
    fetch: Callable[[], Item | None] = lambda: next(iterator, None)  # noqa: E731
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="unmet-read") as pool:
        coming = pool.submit(fetch)
        while (item := coming.result()) is not None:
            coming = pool.submit(fetch)
            yield item


def numbers(batch: Any, name: str, place: str, *, missing: bool = False) -> NDArray[np.float64]:
    """Column of a batch as float64; nulls become NaN where they may be missing."""
    column = batch.column(name)
    if column.null_count and not missing:
        found = "1 null" if column.null_count == 1 else f"{column.null_count} nulls"
        raise InvalidInput(f"{place} must have a number in every row of {name!r}, got {found}.")
    if column.null_count or not _is_plain(column.type):
        column = column.cast("float64")
    values: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(
        np.float64, copy=False
    )
    return values


def _read_features(features: Sequence[str]) -> tuple[str, ...]:
    if isinstance(features, str) or not all(isinstance(name, str) for name in features):
        raise InvalidInput(f"features must be a list of column names, got {features!r}.")
    if not len(features) or len(set(features)) != len(features):
        raise InvalidInput(f"features must be different column names, got {list(features)!r:.80}.")
    return tuple(features)


def _visible(file: Path, folder: Path) -> bool:
    return not any(part[0] in "._" for part in file.relative_to(folder).parts)


def _listed(schema: Any) -> str:
    names = ", ".join(schema.names[:8])
    return names + ", …" if len(schema.names) > 8 else names


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(_is_plain(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    if isinstance(error, InvalidInput):
        return error
    said = " ".join(str(error).split()).rstrip(".")
    return InvalidInput(
        f"{path} must be a Parquet file that can be read, got an error: {said:.160}."
    )
