"""Hours of the till on the command line: ``unmet hours``, and ``--hourly`` of other commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.options import READ, SHOPS, Options, file, flag, names, several, word
from unmet.cli.output import (
    check_files,
    print_json,
    read_words,
    remark,
    show_files,
    write_table,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars

    from unmet.censoring.hours import HourlyDemand, HourlySales
    from unmet.tables.reading import TableFile

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet hours hours.csv",
    "unmet hours receipts.csv --receipts --time-zone Europe/Berlin -o days.csv",
    "unmet hours hours.parquet --opens 6 --closes 22",
)
OPTIONS: Options = {
    "Files": {"output": file("Write a row for each day here, with its chances."), **READ},
    "What the table is": {
        "receipts": flag("The table is one of receipts: time, item, units."),
        **SHOPS,
    },
    "Columns, where the guess is wrong": {
        "series": several("Columns that tell series apart, such as store,item."),
        "date": word("Column of dates, or of the times of receipts."),
        "hour": word("Column of hours, in a long table."),
        "sales": word("Column of sales, or of the units of receipts."),
        "stock_out": word("Column that says when the shelf was empty."),
    },
}


def till_file(words: dict[str, Any]) -> Path | None:
    """Give the file of hours or receipts, if there is one; refuse what does not fit together."""
    hourly, receipts = words.get("hourly"), words.get("receipts")
    if hourly is not None and receipts is not None:
        raise InvalidInput("--hourly or --receipts can be given, got both.")
    path: Path | None = hourly or receipts
    if path is None and any(words.get(name) is not None for name in SHOPS):
        raise InvalidInput(
            "--opens, --closes and --time-zone are of hours: give --hourly or --receipts."
        )
    return path


def till_sales(
    file: TableFile, words: dict[str, Any], series: Sequence[str] | None = None, **columns: str
) -> HourlySales:
    """Take a table for one of hours, or of receipts where these were given."""
    from unmet.censoring.hours import read_hourly, read_receipts

    table = file.table
    if file.cells is not None:  # moments as they were written: with their offsets
        moments = [name for name, kind in table.schema.items() if str(kind)[:8] == "Datetime"]
        table = table.with_columns(file.cells[name] for name in moments)
    said: dict[str, Any] = {"series": series, **{name: words[name] for name in SHOPS}}
    if not words["receipts"]:
        hours = read_hourly(table, **said, **columns)
    else:
        other = {"date": "time", "sales": "quantity"}
        for name, column in columns.items():
            if name not in other:
                raise InvalidInput(f"--{name.replace('_', '-')} is of hours, not of receipts.")
            said[other[name]] = column
        hours = read_receipts(table, **said)
    return replace(hours, notes=(*file.notes, *hours.notes))


def told(hours: HourlySales, progress: Any = None) -> HourlyDemand:
    """Take what flags of hours say where there are any, and the silence of the till otherwise."""
    from unmet.censoring.hours import detect_stockouts, recover

    if hours.stock_out is not None and hours.stock_out.any():
        return recover(hours, busier=True)
    return detect_stockouts(hours, progress=progress)


def hours(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, Excel or Parquet: a row for each hour, or a column for each; or receipts."
        ),
    ],
    *,
    words: dict[str, Any],
) -> None:
    """Say which days sold out, from the hours of sales: by the silence after the last sale."""
    from unmet.progress import report_progress

    check_files(words, table)
    output, series = words["output"], words["series"]
    columns = {name: words[name] for name in ("date", "hour", "sales", "stock_out") if words[name]}
    file = read_words(table, words)
    hours = till_sales(file, words, None if series is None else names(series), **columns)
    with report_progress() as step_done:
        reading = told(hours, step_done)
    written = [] if output is None else [write_table(reading.table(), output)]
    if words["as_json"]:
        content = {
            "series": hours.n_series,
            "days": int(hours.known.sum()),
            "text": reading.describe(),
            "lost_most": lost_most(reading).to_dicts(),
            "notes": hours.notes,
        }
        print_json(content, written)
    else:
        typer.echo(f"{reading.describe()}\n{surest(reading)}")
    remark(hours.notes)
    show_files(written)


def lost_most(reading: HourlyDemand) -> polars.DataFrame:
    """Give the days that likely sold out on which most was lost."""
    import polars as pl

    days = reading.table().with_columns(lost=(pl.col("demand") - pl.col("sold")).round(4))
    found = days.filter(pl.col("sold_out") > 0.5).sort("lost", descending=True).head(10)
    return found.with_columns(pl.col(reading.hours.date).cast(pl.String))


def surest(reading: HourlyDemand) -> str:
    """Give a short table of the days on which most was likely lost."""
    from unmet.evaluation.comparison import text_table

    best = lost_most(reading)
    if not best.height:
        return "Of no day is it more likely than not that its shelf was empty at closing time."
    keys = reading.hours.keys.columns if reading.hours.n_series > 1 else []
    rows = [
        (
            *(str(row[name]) for name in (*keys, reading.hours.date)),
            f"{row['sold']:g}",
            f"{row['sold_out']:.0%}",
            f"{row['hours_out']:.1f}",
            f"{row['lost']:.2g}",
        )
        for row in best.iter_rows(named=True)
    ]
    heads = [*keys, reading.hours.date, "sold", "sold out", "hours empty", "more asked for"]
    return "Days that lost most:\n" + text_table(heads, rows, words=True)
