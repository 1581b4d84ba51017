"""The tables of ``unmet favorita`` on a terminal: ours, published, difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from unmet.cli.favorita_files import show_cell
from unmet.data.favorita_beside import TITLES, coefficient_rows, descriptive_rows, store_rows
from unmet.files import Cell

if TYPE_CHECKING:
    from unmet.data import FavoritaTables

# three tables, because all measures side by side do not fit a terminal of 80 columns
_PARTS = (("rmse", "rmse_over_median"), ("r2", "adjusted_r2"), ("f",))
_SHORT = {"rmse_over_median": "/median", "adjusted_r2": "adj. R²"}


def show(tables: FavoritaTables, sentences: Sequence[str], files: Sequence[Path]) -> None:
    """Print all tables, what there is to say about them, and where the files are."""
    console = Console(highlight=False)
    store = f"store {tables.store}, {tables.year}"
    console.print(_plain(f"Sales of {store} (Table EDAofStore10)", descriptive_rows(tables)))
    console.print(_plain(f"Coefficients of {store} (Table LRstore10)", coefficient_rows(tables)))
    rows = store_rows(tables)
    for measures in _PARTS:
        console.print(_stores(rows, measures))
    for row in rows:
        if row["notes"]:
            console.print(f"store {row['store']}: {row['notes']}.", style="dim", markup=False)
    for sentence in sentences:
        console.print(sentence, markup=False)
    console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)


def _empty(title: str) -> Table:
    return Table(
        title=title,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title_justify="left",
        title_style="bold",
    )


def _plain(title: str, rows: Sequence[dict[str, Cell]]) -> Table:
    """Names on the left, numbers with two decimals; no columns without a number."""
    result = _empty(title)
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    for place, name in enumerate(names):
        result.add_column(name.replace("_", " "), justify="right" if place else "left")
    for row in rows:
        result.add_row(*(show_cell(row[name], 2) for name in names))
    return result


def _stores(rows: Sequence[dict[str, Cell]], measures: Sequence[str]) -> Table:
    """One line per store: each measure, what the paper prints, and the difference."""
    names = [_SHORT.get(measure, TITLES[measure]) for measure in measures]
    title = ", ".join(TITLES[measure] for measure in measures)
    result = _empty(f"All stores: {title} (Table LRResults52Stores)")
    for heading in ("no.", "store", "rows"):
        result.add_column(heading, justify="right", no_wrap=True)
    for name in names:
        for heading in (f"{name}\nours", "\npaper", "\ndiff."):
            result.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            show_cell(row[measure + ending], 4)
            for measure in measures
            for ending in ("", "_published", "_difference")
        ]
        result.add_row(*(str(row[name]) for name in ("position", "store", "rows")), *cells)
    return result
