"""Decisions for rows that do not fit into memory: from blocks to Parquet files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_whole
from unmet.models.base import DecisionModel
from unmet.scale.arrays import read_rows
from unmet.scale.parquet import ParquetBlocks, ahead, import_parquet
from unmet.solvers.blocks.source import BlockSource, RowBlock, dense

_FILE_ROWS = 1_000_000
Part = tuple[RowBlock, dict[str, Any]]


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
    parquet = import_parquet("predict_parquet")
    folder = Path(output)
    prepare_folder(folder)
    if not isinstance(source, BlockSource):
        source = ParquetBlocks(source, features=_names_of(model))
    if source.n_features != getattr(model, "n_features_in_", source.n_features):
        raise InvalidInput(
            f"source must have {model.n_features_in_} features as in fit, got {source.n_features}."
        )
    if keep and not isinstance(source, ParquetBlocks):
        raise InvalidInput("keep must be empty where the source is not made of files.")

    def answer(block: RowBlock) -> NDArray[np.float64]:
        X = _table(block, model, source)
        if not decide:
            return model.predict(X)
        return model.decide(X, step, lower, upper, minimum=minimum)

    if isinstance(source, ParquetBlocks):
        jobs = _by_file(source, folder, keep)
    else:
        jobs = _by_rows(source, folder, read_rows("file_rows", file_rows))
    written = []
    for path, parts in jobs:
        if not (resume and path.exists()):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _writing(parquet, parts, answer, column))
        written.append(path)
    return written


def _names_of(model: DecisionModel) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise InvalidInput(
            "source must be a BlockSource where the model knows no names of features, got a path."
        )
    return [str(name) for name in names]


def _table(block: RowBlock, model: DecisionModel, source: BlockSource) -> Any:
    """Features of a block, with the names of the columns where the model knows names."""
    if getattr(model, "feature_names_in_", None) is None or source.names is None:
        return np.ascontiguousarray(dense(block.features))
    return pl.DataFrame(dense(block.features), schema=list(source.names), orient="row")


def _writing(
    parquet: Any,
    parts: Iterator[Part],
    answer: Callable[[RowBlock], NDArray[np.float64]],
    column: str,
) -> Callable[[Path], None]:
    """Return what fills a file with the answers to its parts."""
    import pyarrow as pa

    def write(path: Path) -> None:
        writer = None
        try:
            for block, kept in parts:
                decision = answer(block) if len(block) else np.empty(0)
                table = pa.table({**kept, column: decision})
                writer = writer or parquet.ParquetWriter(path, table.schema)
                writer.write_table(table)
            if writer is None:
                parquet.write_table(pa.table({column: np.empty(0)}), path)
        finally:
            if writer is not None:
                writer.close()

    return write


def _by_file(
    source: ParquetBlocks, folder: Path, keep: Sequence[str]
) -> Iterator[tuple[Path, Iterator[Part]]]:
    """Pair every file of the source with its answer."""
    root = Path(os.path.commonpath([file.path.parent.resolve() for file in source.files]))
    if root == folder.resolve():
        raise InvalidInput(f"output must be another folder than that of the data, got {folder}.")
    for file in source.files:

        def parts(file: Any = file) -> Iterator[Part]:
            for place, batch in source.read(file, keep):
                kept = {name: batch.column(name) for name in keep}
                yield source.block(batch, 0, place), kept

        yield folder / file.path.resolve().relative_to(root), ahead(parts())


def _by_rows(
    source: BlockSource, folder: Path, file_rows: int
) -> Iterator[tuple[Path, Iterator[Part]]]:
    """Cut blocks into files of about the same number of rows."""
    blocks = iter(source.blocks())
    first = next(blocks, None)
    number = 0
    while first is not None:
        left: list[RowBlock] = []

        def parts(first: RowBlock = first, left: list[RowBlock] = left) -> Iterator[Part]:
            seen, block = 0, first
            while True:
                yield block, {}
                seen += len(block)
                following = next(blocks, None)
                if following is None:
                    return
                if seen >= file_rows:
                    left.append(following)
                    return
                block = following

        coming = parts()
        yield folder / f"part-{number:05d}.parquet", coming
        for _ in coming:  # what an answer that was there already left unread
            pass
        first, number = (left[0] if left else None), number + 1
