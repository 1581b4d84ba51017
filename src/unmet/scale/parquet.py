"""Rows that do not fit into memory: read from Parquet files, decisions written to others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import polars
from numpy.typing import NDArray

from unmet.checks import WholeNumber
from unmet.errors import InvalidInput, MissingPackage
from unmet.files import prepare_folder, write_whole
from unmet.models.base import DecisionModel
from unmet.scale.arrays import given
from unmet.solvers.blocks.source import BlockSource, RowBlock, dense

Item = TypeVar("Item")
Part: TypeAlias = tuple[RowBlock, dict[str, Any]]
"""A block, and the columns that are copied beside its answers."""
Answer: TypeAlias = tuple[Path, Iterator[Part]]
"""A file, and what it answers."""

_BATCH_ROWS = 65_536
_FILE_ROWS = 1_000_000


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
        _import_parquet("ParquetBlocks")
        self.features = self.names = _read_features(features)
        self.n_features = len(self.features)
        self.columns = given(
            observation=observed,
            weight=weight,
            underage=underage,
            overage=overage,
            low=low,
            high=high,
            censored=censored,
        )
        self.batch_rows = WholeNumber(1)("batch_rows", batch_rows)
        self._seen: dict[Path, tuple[int, ...]] = {}
        self.files = [(each, self._count(each)) for each in _find_files(path)]
        self.n_rows = sum(n_rows for _, n_rows in self.files)

    def blocks(self) -> Iterator[RowBlock]:
        """Read every file, the next batch while this one is worked on."""
        batches = ((file, batch) for file, rows in self.files for batch in self.read(file, rows))
        yield from ahead(
            self.block(batch, number, file) for number, (file, batch) in enumerate(batches)
        )

    def read(self, file: Path, n_rows: int, extra: Sequence[str] = ()) -> Iterator[Any]:
        """Batches of one file, which must be the one that was found, before and after."""
        parquet = _import_parquet("ParquetBlocks")
        wanted = list(dict.fromkeys([*self.features, *self.columns.values(), *extra]))
        seen = 0
        try:
            self._compare(file)
            with parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches(self.batch_rows, columns=wanted):
                    seen += batch.num_rows
                    yield batch
            self._compare(file)
        except (OSError, ValueError) as error:  # what pyarrow raises derives from these
            self._compare(file)  # the reason, perhaps
            raise _unreadable(file, error) from None
        if seen != n_rows:
            raise InvalidInput(
                f"{file} must not change while it is used, got {seen} rows instead of {n_rows}."
            )

    def _compare(self, file: Path) -> None:
        """Refuse a file that was replaced or written since: passes would see different rows."""
        with suppress(OSError):  # gone: the reader says so
            if _identity(file) != self._seen[file]:
                raise InvalidInput(
                    f"{file} must not change while it is used, got another file of that name, or "
                    "other content: make the source anew."
                )

    def block(self, batch: Any, number: int, file: Path) -> RowBlock:
        """Turn a batch into arrays of numbers; nulls are an error, but for flags."""
        buffer = np.empty((self.n_features, batch.num_rows))
        for row, name in zip(buffer, self.features, strict=True):
            row[:] = _numbers(batch, name, file)
        columns = {
            name: _numbers(batch, column, file, missing=name == "censored")
            for name, column in self.columns.items()
        }
        columns.setdefault("observation", np.empty(0))
        # columns stay contiguous: the transposed view is what BLAS likes as much
        return RowBlock(buffer.T, number=number, origin=str(file), **columns)

    def _count(self, path: Path) -> int:
        """Read the footer of a file, look for the columns, and count the rows."""
        parquet = _import_parquet("ParquetBlocks")
        try:
            self._seen[path] = _identity(path)
            with parquet.ParquetFile(path) as opened:
                schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        from pyarrow import types

        for name in (*self.features, *self.columns.values()):
            if name not in schema.names:
                listed = ", ".join(schema.names[:8]) + ", …" * (len(schema.names) > 8)
                raise InvalidInput(f"{path} must have a column {name!r}, got {listed}.")
            kind = schema.field(name).type
            if not (_is_plain(kind) or types.is_decimal(kind) or types.is_boolean(kind)):
                raise InvalidInput(f"{path} must have numbers in column {name!r}, got {kind}.")
        return int(n_rows)


def _identity(file: Path) -> tuple[int, ...]:
    """Give what changes when a file is replaced or written: itself, its size, and when."""
    found = file.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _import_parquet(user: str) -> Any:
    return MissingPackage.or_load(user, "pyarrow.parquet", "scale")


def _find_files(path: str | Path | Sequence[str | Path]) -> list[Path]:
    """Parquet files of a path or several, each folder in the order of its names."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    files: list[Path] = []
    for each in given:
        if each.is_dir():
            inside = [(file, file.relative_to(each).parts) for file in each.rglob("*.parquet")]
            found = sorted(file for file, parts in inside if not any(p[0] in "._" for p in parts))
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


def _numbers(batch: Any, name: str, file: Path, *, missing: bool = False) -> NDArray[np.float64]:
    """Column of a batch as float64; nulls become NaN where they may be missing."""
    column = batch.column(name)
    if column.null_count and not missing:
        found = "1 null" if column.null_count == 1 else f"{column.null_count} nulls"
        raise InvalidInput(f"{file} must have a number in every row of {name!r}, got {found}.")
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


def predict_parquet(
    model: DecisionModel,
    source: BlockSource | str | Path,
    output: str | Path,
    *,
    decide: bool = True,
    step: float | None = 1,
    lower: float | None = 0,
    upper: float | None = None,
    minimum: float | None = None,
    column: str = "decision",
    keep: Sequence[str] = (),
    resume: bool = False,
    file_rows: int = _FILE_ROWS,
) -> list[Path]:
    """Decide for every row of a source, a block at a time, and write Parquet files.

    Parameters
    ----------
    model : fitted decision model
    source : BlockSource, or folder or file
        A folder is read with the features that the model was fitted with, by their names.
    output : str or Path
        Folder of the answers. Parquet files are answered by a file of the same name each, other
        sources by ``part-00000.parquet`` and so on. A file is whole or not there.
    decide : bool, default=True
        Lots and bounds as in `DecisionModel.decide`; False writes what `predict` says.
    step, lower, upper, minimum : float or None
        As in `DecisionModel.decide`, the same for all rows.
    column : str, default="decision"
        Name of the column of decisions.
    keep : sequence of str
        Columns of the Parquet files to copy beside it, such as a key.
    resume : bool, default=False
        Leave alone the answers that are there already: an interrupted run goes on.
    file_rows : int, default=1_000_000
        Rows of a file, about, where the source is not made of files.

    Returns
    -------
    list of Path
        The files of all answers, in the order of the rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import polars as pl
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.scale import ArrayBlocks, predict_parquet
    >>> x = np.arange(6.0).reshape(-1, 1)
    >>> source = ArrayBlocks(x, 3 * x[:, 0] + 0.4, block_rows=4)
    >>> model = LinearDecision(Newsvendor(underage=4, overage=1)).fit(source)
    >>> folder = tempfile.TemporaryDirectory()
    >>> files = predict_parquet(model, source, folder.name)
    >>> pl.read_parquet(files[0])["decision"].to_list()
    [1.0, 4.0, 7.0, 10.0, 13.0, 16.0]
    >>> folder.cleanup()
    """
    _import_parquet("predict_parquet")
    folder, names = Path(output), getattr(model, "feature_names_in_", None)
    prepare_folder(folder)
    if not isinstance(source, BlockSource):
        if names is None:
            raise InvalidInput(
                "source must be a BlockSource where the model knows no names of features, "
                "got a path."
            )
        source = ParquetBlocks(source, features=[str(name) for name in names])
    if source.n_features != getattr(model, "n_features_in_", source.n_features):
        raise InvalidInput(
            f"source must have {model.n_features_in_} features as in fit, got {source.n_features}."
        )
    if keep and not isinstance(source, ParquetBlocks):
        raise InvalidInput("keep must be empty where the source is not made of files.")
    columns = source.names

    def answer(block: RowBlock) -> NDArray[np.float64]:
        if not len(block):
            return np.empty(0)
        X: Any = dense(block.features)
        if names is not None and columns is not None:
            X = polars.DataFrame(X, schema=list(columns), orient="row")
        else:
            X = np.ascontiguousarray(X)
        if not decide:
            return model.predict(X)
        return model.decide(X, step, lower, upper, minimum=minimum)

    if isinstance(source, ParquetBlocks):
        answers = _by_file(source, folder, keep)
    else:
        answers = _by_rows(source, folder, WholeNumber(1)("file_rows", file_rows))
    written = []
    for path, parts in answers:
        if not (resume and path.exists()):
            path.parent.mkdir(parents=True, exist_ok=True)
            tables = ({**kept, column: answer(block)} for block, kept in parts)
            write_whole(path, partial(_write_tables, tables, column))
        written.append(path)
    return written


def _write_tables(tables: Iterator[dict[str, Any]], column: str, path: Path) -> None:
    """Fill a file with one table after the other."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    try:
        for columns in tables:
            table = pa.table(columns)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        if writer is None:
            parquet.write_table(pa.table({column: np.empty(0)}), path)
    finally:
        if writer is not None:
            writer.close()


def _by_file(source: ParquetBlocks, folder: Path, keep: Sequence[str]) -> Iterator[Answer]:
    """Pair every file of the source with its answer."""
    root = Path(os.path.commonpath([file.parent.resolve() for file, _ in source.files]))
    if root == folder.resolve():
        raise InvalidInput(f"output must be another folder than that of the data, got {folder}.")
    for file, n_rows in source.files:

        def parts(file: Path = file, n_rows: int = n_rows) -> Iterator[Part]:
            for batch in source.read(file, n_rows, keep):
                yield source.block(batch, 0, file), {name: batch.column(name) for name in keep}

        yield folder / file.resolve().relative_to(root), ahead(parts())


def _by_rows(source: BlockSource, folder: Path, file_rows: int) -> Iterator[Answer]:
    """Cut blocks into files of about the same number of rows."""
    number = seen = 0

    def file_of(block: RowBlock) -> int:
        nonlocal number, seen
        if seen >= file_rows:
            number, seen = number + 1, 0
        seen += len(block)
        return number

    # blocks that an answer which is there already leaves unread are passed over
    for file, blocks in groupby(source.blocks(), file_of):
        yield folder / f"part-{file:05d}.parquet", ((block, {}) for block in blocks)
