"""What ``unmet favorita`` leaves in its folder: tables, a picture, a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.cli.output import report_missing
from unmet.data.favorita_beside import coefficient_rows, descriptive_rows, store_rows
from unmet.errors import InvalidInput
from unmet.files import Cell, prepare_folder, write_csv, write_whole

if TYPE_CHECKING:
    from unmet.data import FavoritaSales, FavoritaTables

_HEAD = """# Favorita, {year}: store {store}

{findings}

## Sales of store {store}

{descriptive}

## Coefficients of store {store}

{coefficients}

## All stores

{stores}
"""
# what readers of the summary look at; everything else is in stores.csv
_OF_STORES = (
    "position",
    "store",
    "rows",
    "rmse",
    "rmse_published",
    "rmse_over_median",
    "rmse_over_median_published",
    "r2",
    "r2_published",
    "adjusted_r2",
    "adjusted_r2_published",
    "f",
    "f_published",
    "notes",
)


def check_folder(folder: Path) -> None:
    """Say why nothing can be written there, without making anything yet."""
    if folder.exists():
        prepare_folder(folder)
        return
    parent = next(each for each in folder.absolute().parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidInput(
            f"output must be a folder that can be made, got {folder}: "
            f"nothing can be written to {parent}."
        )


def write(
    sales: FavoritaSales, tables: FavoritaTables, sentences: Sequence[str], folder: Path
) -> list[Path]:
    """Write every file whole; without matplotlib the picture is left out.

    Parameters
    ----------
    sales : FavoritaSales
    tables : FavoritaTables
    sentences : sequence of str
        What the summary says first.
    folder : Path
        Made when missing.

    Returns
    -------
    list of Path
    """
    prepare_folder(folder)
    files = [
        write_whole(folder / "grouped.parquet", sales.table.write_parquet),
        write_whole(folder / "grouped.csv", sales.table.write_csv),
        write_csv(folder / "descriptive.csv", descriptive_rows(tables)),
        write_csv(folder / "coefficients.csv", coefficient_rows(tables)),
        write_csv(folder / "stores.csv", store_rows(tables)),
    ]
    try:
        from unmet.cli.favorita_figure import draw
    except ModuleNotFoundError as error:
        report_missing(error, "the QQ plot")
    else:
        files += draw(tables.chosen, folder)
    text = summary(tables, sentences)
    files.append(write_whole(folder / "summary.md", lambda path: _write_text(path, text)))
    return files


def summary(tables: FavoritaTables, sentences: Sequence[str]) -> str:
    """Everything but the grouped data, as Markdown."""
    stores = [{name: row[name] for name in _OF_STORES} for row in store_rows(tables)]
    return _HEAD.format(
        year=tables.year,
        store=tables.store,
        findings="\n".join(f"- {sentence}" for sentence in sentences),
        descriptive=_markdown(descriptive_rows(tables), 2),
        coefficients=_markdown(coefficient_rows(tables), 2),
        stores=_markdown(stores, 4),
    )


def _markdown(rows: Sequence[dict[str, Cell]], decimals: int) -> str:
    names = [name.replace("_", " ") for name in rows[0]]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        cells = (show_cell(value, decimals) for value in row.values())
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show_cell(value: Cell, decimals: int) -> str:
    """Show a number with as many decimals as the paper, a missing one as a dash."""
    if value is None:
        return "–"
    # adding zero turns −0.00 into 0.00
    return (
        f"{round(value, decimals) + 0.0:.{decimals}f}" if isinstance(value, float) else str(value)
    )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
