"""``unmet favorita``: the paper's tables of the stores, from Favorita's own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unmet.data import FavoritaSales, FavoritaTables

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_MEGABYTE = 2**20


EXAMPLES = (
    "unmet favorita train.csv --items items.csv",
    "unmet favorita train.csv --store 10 --json",
)


def favorita(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN_CSV",
            help="train.csv at item level or at family level; also in gzip or zip, or as Parquet.",
        ),
    ],
    items: Annotated[
        Path | None, typer.Option(help="items.csv; needed for a train.csv at item level.")
    ] = None,
    year: Annotated[int, typer.Option(help="Which year to look at.")] = 2016,
    store: Annotated[
        int | None, typer.Option(help="Store to describe; by default the paper's rule chooses.")
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder for the tables and the QQ plot; made when missing.")
    ] = Path("out/favorita"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")
    ] = False,
) -> None:
    """Group Favorita's sales, fit every store, choose one, and compare with the paper's tables."""
    from unmet.cli.favorita_files import check_folder, write
    from unmet.cli.output import report_progress
    from unmet.data import favorita_tables, load_favorita
    from unmet.data.favorita_beside import findings

    check_folder(output)  # before the work, so that a bad folder costs nobody any time
    with report_progress() as step:

        def progress(done: int, total: int) -> None:
            step(done // _MEGABYTE, total // _MEGABYTE, f"reading {train.name}, MB")

        sales = load_favorita(train, items=items, year=year, progress=progress)
    tables = favorita_tables(sales, store=store)
    sentences = findings(sales, tables)
    files = write(sales, tables, sentences, output)
    if as_json:
        typer.echo(_json(sales, tables, sentences, files))
        return
    from unmet.cli.favorita_show import show

    show(tables, sentences, files)


def _json(
    sales: FavoritaSales, tables: FavoritaTables, sentences: list[str], files: list[Path]
) -> str:
    from unmet.data.favorita_beside import coefficient_rows, descriptive_rows, store_rows

    content: dict[str, Any] = {
        "year": sales.year,
        "layout": sales.layout,
        "store": tables.store,
        "smallest_rmse": tables.smallest_rmse,
        "smallest_rmse_over_median": tables.smallest_ratio,
        "rows_read": sales.rows_read,
        "rows_of_year": sales.rows_of_year,
        "groups": sales.table.height,
        "dropped_zero": sales.dropped_zero,
        "dropped_negative": sales.dropped_negative,
        "stores_without_sales": list(sales.stores_without_sales),
        "left_out": {str(store): reason for store, reason in tables.left_out.items()},
        "descriptive": descriptive_rows(tables),
        "coefficients": coefficient_rows(tables),
        "stores": store_rows(tables),
        "findings": sentences,
        "files": [str(file) for file in files],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
