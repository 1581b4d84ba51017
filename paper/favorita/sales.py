"""Sales of Corporación Favorita, prepared as in App. storeSelect of the paper.

The conventions reproduce the paper's tables: one year, perishable families only, sales summed by
date, store and family, days without sales dropped. The files are Kaggle's and are not part of this
package: "Corporación Favorita Grocery Sales Forecasting" (item level, 125 million rows; needs
``items.csv``) or "Store Sales - Time Series Forecasting" (family level, 3 million rows).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path

import polars as pl

from paper.favorita.files import (
    ITEM_LEVEL,
    Progress,
    read_items,
    read_layout,
    read_tables,
)
from paper.favorita.published import PERISHABLE_FAMILIES, PUBLISHED_YEAR
from unmet.checks import WholeNumber
from unmet.errors import InvalidInput

_GROUP = ("date", "store_nbr", "family")
_COMPACT_ROWS = 1_000_000
# Sums of returns and sales that cancel leave rounding errors; sales have three decimals.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class FavoritaSales:
    """Grouped sales of one year.

    Attributes
    ----------
    table : polars.DataFrame
        ``date``, ``store_nbr``, ``family``, ``sales`` > 0; sorted by store, date and family.
    year : int
    layout : str
        "item" or "family".
    families : tuple of str
        Perishable families in alphabetical order.
    rows_read, rows_of_year : int
        Rows of the file, of all families.
    first_date, last_date : datetime.date
        Of the year's rows.
    dropped_zero, dropped_negative : int
        Groups left out because their sales sum to zero, or because more was returned than sold.
    stores_without_sales : tuple of int
        Stores of the file that sold nothing perishable in the year.
    repeated_rows : int
        Rows of the year that repeat date, store and product of an earlier one, and were summed.
        At item level, where a file may be larger than memory, only those that stand in the same
        piece of the file are counted.
    """

    table: pl.DataFrame
    year: int
    layout: str
    families: tuple[str, ...]
    rows_read: int
    rows_of_year: int
    first_date: date
    last_date: date
    dropped_zero: int
    dropped_negative: int
    stores_without_sales: tuple[int, ...]
    repeated_rows: int = 0


def load_favorita(
    train: str | PathLike[str],
    *,
    items: str | PathLike[str] | None = None,
    year: int = PUBLISHED_YEAR,
    progress: Progress | None = None,
) -> FavoritaSales:
    r"""Read, filter and group Favorita's sales in bounded memory.

    Parameters
    ----------
    train : path
        ``train.csv`` in either layout, told apart by its header: item level has the columns
        ``date, store_nbr, item_nbr, unit_sales``, family level ``date, store_nbr, family, sales``.
        CSV, also inside gzip or zip, or Parquet. It is read in pieces, so it may be larger than
        memory.
    items : path, optional
        ``items.csv`` with ``item_nbr, family, perishable``; needed for item level only.
    year : int
    progress : callable, optional
        Called with how much of how much has been read.

    Returns
    -------
    FavoritaSales

    Notes
    -----
    Returns (negative ``unit_sales``) are summed in. Only groups with positive sales are kept: the
    paper drops days without sales, and its store 10 has no sales below 1. A group where more came
    back than was sold tells as little of demand as one without sales; `dropped_negative` says how
    many there are. Rows that repeat another are summed as well; `repeated_rows` counts them. Sums
    are rounded to six decimals, so that sales and returns that cancel are zero and the result does
    not depend on the order of summation.

    Family level has no column for perishability; the nine families that ``items.csv`` calls
    perishable are used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> lines = ["id,date,store_nbr,family,sales,onpromotion"]
    >>> lines += ["0,2016-01-02,10,DAIRY,301.5,0", "1,2016-01-02,10,BOOKS,2.0,0"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.csv")
    ...     _ = file.write_text("\n".join(lines) + "\n")
    ...     sales = load_favorita(file)
    >>> sales.layout, sales.table.rows()
    ('family', [(datetime.date(2016, 1, 2), 10, 'DAIRY', 301.5)])
    """
    WholeNumber(1, 9999)("year", year)
    path = Path(train)
    layout = read_layout(path)
    known = None
    if layout == ITEM_LEVEL:
        if items is None:
            raise InvalidInput(f"items must be given, because {path} is at item level.")
        known = read_items(Path(items))
    reading = _Reading(year, known)
    for table in read_tables(path, layout, progress):
        reading.add(table)
    if not reading.rows:
        raise InvalidInput(f"{path} has a header but no rows.")
    if not reading.rows_of_year:
        first, last = reading.dates
        raise InvalidInput(f"{path} has no rows of {year}; its dates run from {first} to {last}.")
    if reading.unknown_items:
        raise InvalidInput(
            f"{items} lacks {len(reading.unknown_items)} of the items that {path} "
            f"sells in {year}, the first of them {min(reading.unknown_items)}."
        )
    sums = _summed(pl.concat(reading.parts)).with_columns(pl.col("sales").round(_DECIMALS))
    table = (
        sums.filter(pl.col("sales") > 0)
        .with_columns(pl.col("date").str.to_date("%Y-%m-%d"))
        .sort("store_nbr", "date", "family")
        .drop("rows")
    )
    if table.is_empty():
        raise InvalidInput(f"{path} has no sales of perishable families in {year}.")
    return FavoritaSales(
        table=table,
        year=year,
        layout=layout.name,
        families=reading.families,
        rows_read=reading.rows,
        rows_of_year=reading.rows_of_year,
        first_date=date.fromisoformat(reading.dates_of_year[0]),
        last_date=date.fromisoformat(reading.dates_of_year[1]),
        dropped_zero=int((sums["sales"] == 0).sum()),
        dropped_negative=int((sums["sales"] < 0).sum()),
        stores_without_sales=tuple(sorted(reading.stores - set(table["store_nbr"].unique()))),
        repeated_rows=reading.repeated
        if layout == ITEM_LEVEL
        else int(sums["rows"].sum() - sums.height),
    )


class _Reading:
    """What has been seen so far: sums by group, and what is worth telling about the rest."""

    def __init__(self, year: int, items: pl.DataFrame | None) -> None:
        self._year = f"{year:04d}-"
        self._perishable: pl.DataFrame | None = None
        self.families = PERISHABLE_FAMILIES
        if items is not None:
            self._items = set(items["item_nbr"])
            self._perishable = items.filter(pl.col("perishable") == 1).drop("perishable")
            self.families = tuple(self._perishable["family"].unique().sort())
        self.rows = self.rows_of_year = self.repeated = 0
        self.stores: set[int] = set()
        self.unknown_items: set[int] = set()
        self.dates: list[str] = []
        self.dates_of_year: list[str] = []
        self.parts: list[pl.DataFrame] = []

    def add(self, table: pl.DataFrame) -> None:
        """Filter and sum one piece of the file."""
        self.rows += table.height
        self.stores.update(table["store_nbr"].unique())
        self.dates = _ends(self.dates, table)
        part = table.filter(pl.col("date").str.starts_with(self._year))
        self.rows_of_year += part.height
        if part.is_empty():
            return
        self.dates_of_year = _ends(self.dates_of_year, part)
        if self._perishable is None:
            part = part.filter(pl.col("family").is_in(PERISHABLE_FAMILIES))
        else:
            self.unknown_items.update(set(part["item_nbr"].unique()) - self._items)
            part = part.join(self._perishable, on="item_nbr")
            keys = part.select("date", "store_nbr", "item_nbr")
            self.repeated += keys.height - keys.n_unique()
        self.parts.append(_summed(part))
        if sum(part.height for part in self.parts) > _COMPACT_ROWS:
            self.parts = [_summed(pl.concat(self.parts))]


def _ends(known: list[str], table: pl.DataFrame) -> list[str]:
    """First and last date; as text they sort like dates."""
    dates = table["date"]
    return [min([*known, str(dates.min())]), max([*known, str(dates.max())])]


def _summed(table: pl.DataFrame) -> pl.DataFrame:
    """Sum sales by group, and count the rows that they come from."""
    counted = table if "rows" in table.columns else table.with_columns(rows=pl.lit(1, pl.Int64))
    return counted.group_by(_GROUP).agg(pl.col("sales", "rows").sum())
