"""Hours of the till on the command line: ``unmet hours``, and ``--hourly`` of other commands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.options import READ, Options, names
from unmet.cli.output import (
    TABLES,
    check_output,
    labels_table,
    print_json,
    remark,
    show_files,
    write_table,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars

    from unmet.censoring.hours import HourlyDemand, HourlySales

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet hours hours.csv",
    "unmet hours receipts.csv --receipts --time-zone Europe/Berlin -o days.csv",
    "unmet hours hours.parquet --opens 6 --closes 22",
)
OPTIONS: Options = {
    "Files": {
        "output": (Path | None, None, "Write a row for each day here, with its chances."),
        **READ,
    },
    "What the table is": {
        "receipts": (bool, False, "The table is one of receipts: time, item, units."),
        "opens": (int | None, None, "First hour in which shops sell."),
        "closes": (int | None, None, "Hour at which shops close."),
        "time_zone": (str | None, None, "Where shops are, such as Europe/Berlin."),
    },
    "Columns, where the guess is wrong": {
        "series": (list[str] | None, None, "Columns that tell series apart, such as store,item."),
        "date": (str | None, None, "Column of dates, or of the times of receipts."),
        "hour": (str | None, None, "Column of hours, in a long table."),
        "sales": (str | None, None, "Column of sales, or of the units of receipts."),
        "stock_out": (str | None, None, "Column that says when the shelf was empty."),
    },
}


@dataclass(frozen=True)
class HourFiles:
    """A table of hours or of receipts, and what is said of it.

    Attributes
    ----------
    hourly, receipts : Path or None
    opens, closes : int or None
    time_zone : str or None
    columns : mapping of str to str or None
        Names of columns, as `unmet.censoring.hours.read_hourly` calls them.
    """

    hourly: Path | None = None
    receipts: Path | None = None
    opens: int | None = None
    closes: int | None = None
    time_zone: str | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """The file, if any was given."""
        return self.hourly or self.receipts

    def check(self) -> None:
        """Refuse what does not fit together."""
        if self.hourly is not None and self.receipts is not None:
            raise InvalidInput("--hourly or --receipts can be given, got both.")
        given = (self.opens, self.closes, self.time_zone)
        if self.path is None and any(each is not None for each in given):
            raise InvalidInput(
                "--opens, --closes and --time-zone are of hours: give --hourly or --receipts."
            )
        if self.path is not None and not self.path.exists():
            raise InvalidInput(
                f"{self.path} must be a CSV, Excel or Parquet file, but there is no such file."
            )

    def read(
        self,
        series: Sequence[str] | None = None,
        text: Sequence[str] = (),
        **how: Any,
    ) -> HourlySales:
        """Read the file."""
        from unmet.censoring.hours import read_hourly, read_receipts
        from unmet.tables.reading import read_file

        assert self.path is not None
        if self.path.suffix.lower() in (".xlsx", ".parquet", ".pq"):
            how = {name: each for name, each in how.items() if name != "encoding"}
        file = read_file(self.path, text=list(text), **how)
        table = file.table
        if file.cells is not None:  # moments as they were written: with their offsets
            moments = [name for name, kind in table.schema.items() if str(kind)[:8] == "Datetime"]
            table = table.with_columns(file.cells[name] for name in moments)
        said: dict[str, Any] = {
            "series": series,
            "time_zone": self.time_zone,
            "opens": self.opens,
            "closes": self.closes,
        }
        columns: dict[str, Any] = {
            name: each for name, each in self.columns.items() if each is not None
        }
        if self.receipts is None:
            hours = read_hourly(table, **said, **columns)
        else:
            other = {"date": "time", "sales": "quantity"}
            wrong = [name for name in columns if name not in other]
            if wrong:
                raise InvalidInput(f"--{wrong[0].replace('_', '-')} is of hours, not of receipts.")
            renamed: dict[str, Any] = {other[name]: each for name, each in columns.items()}
            hours = read_receipts(table, **said, **renamed)
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

    columns = {name: words[name] for name in ("date", "hour", "sales", "stock_out")}
    how = {name: words[name] for name in ("decimal", "sheet", "encoding")}
    hourly, lines = (None, table) if words["receipts"] else (table, None)
    opens, closes, zone = (words[name] for name in ("opens", "closes", "time_zone"))
    files = HourFiles(hourly, lines, opens, closes, zone, columns)
    files.check()
    output, series = words["output"], words["series"]
    check_output(output, "--output", TABLES, [table])
    hours = files.read(None if series is None else names(series), **how)
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
    return "Days that lost most:\n" + labels_table(heads, rows)
