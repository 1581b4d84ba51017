"""The two layouts of Favorita's ``train.csv``, read block by block into one kind of table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.data.favorita_csv import KINDS, has_holes, parse, split_header
from unmet.data.favorita_files import Progress, check_file, is_parquet, open_lines
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

PARQUET_ROWS = 1_000_000


@dataclass(frozen=True)
class Layout:
    """How a file tells what was sold.

    Attributes
    ----------
    name : str
        "item" or "family".
    product, sales : str
        Columns that say what was sold, and how much.
    """

    name: str
    product: str
    sales: str

    @property
    def columns(self) -> tuple[str, ...]:
        """What the file must have; other columns are not looked at."""
        return ("date", "store_nbr", self.product, self.sales)


ITEM_LEVEL = Layout("item", "item_nbr", "unit_sales")
FAMILY_LEVEL = Layout("family", "family", "sales")


def recognise(path: Path, header: Sequence[str]) -> Layout:
    """Tell the layout from the names of the columns, or name those that are missing."""
    names = set(header)
    for layout in (ITEM_LEVEL, FAMILY_LEVEL):
        if names >= set(layout.columns):
            return layout
    if names & {"item_nbr", "unit_sales"}:
        wanted, missing = "item level", _missing(ITEM_LEVEL.columns, names)
    elif names & {"family", "sales"}:
        wanted, missing = "family level", _missing(FAMILY_LEVEL.columns, names)
    else:
        wanted = "item level, or family and sales for family level"
        missing = _missing(ITEM_LEVEL.columns, names)
    raise InvalidInput(f"{path} lacks the columns {missing} for {wanted}.")


def _missing(wanted: Sequence[str], names: set[str]) -> str:
    return ", ".join(name for name in wanted if name not in names)


def read_layout(path: Path) -> Layout:
    """Look at the header alone."""
    check_file("train", path)
    if is_parquet(path):
        return recognise(path, _parquet_columns(path))
    with open_lines(path) as (header, _, _):
        return recognise(path, split_header(header))


def read_tables(
    path: Path, layout: Layout, progress: Progress | None = None
) -> Iterator[polars.DataFrame]:
    """Read a file piece by piece.

    Parameters
    ----------
    path : Path
    layout : Layout
    progress : callable, optional

    Yields
    ------
    polars.DataFrame
        With ``date`` as text (YYYY-MM-DD), ``store_nbr``, the product and ``sales``; no missing and
        no infinite values.
    """
    rename = {layout.sales: "sales"}
    tables = _parquet_tables if is_parquet(path) else _csv_tables
    for table in tables(path, layout, progress):
        yield table.rename(rename)


def _csv_tables(
    path: Path, layout: Layout, progress: Progress | None
) -> Iterator[polars.DataFrame]:
    total = path.stat().st_size
    with open_lines(path) as (header, blocks, position):
        names = split_header(header)
        for block in blocks:
            if block.text:
                yield parse(path, names, block, layout.columns)
            if progress:
                progress(position(), total)


def _parquet_columns(path: Path) -> list[str]:
    import polars as pl

    try:
        return pl.scan_parquet(path).collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidInput:
    reason = str(error).partition("\n")[0]
    return InvalidInput(f"{path} cannot be read as Parquet ({reason}).")


def _parquet_tables(
    path: Path, layout: Layout, progress: Progress | None
) -> Iterator[polars.DataFrame]:
    """Read some rows at a time; columns of other types are turned into those of a CSV file."""
    import polars as pl

    try:
        lazy = pl.scan_parquet(path).select(layout.columns)
        total = lazy.select(pl.len()).collect().item()
        for start in range(0, total, PARQUET_ROWS):
            piece = lazy.slice(start, PARQUET_ROWS).collect()
            table = piece.with_columns(
                pl.col(name).cast(KINDS[name].dtype) for name in layout.columns if name != "date"
            ).with_columns(pl.col("date").cast(pl.String).str.slice(0, 10))
            if has_holes(table):
                raise InvalidInput(
                    f"{path} must have no missing values and dates like 2016-01-31 in the columns "
                    f"{', '.join(layout.columns)}."
                )
            yield table
            if progress:
                progress(min(start + PARQUET_ROWS, total), total)
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, error) from error
