"""``unmet plan`` where stock lasts: the next order, given what is there and on its way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmet.cli.log import LogFiles
from unmet.cli.output import (
    as_read,
    check_output,
    check_report,
    check_table,
    command_line,
    labels_table,
    print_json,
    read_beside,
    remark,
    show_columns,
    show_files,
    write_report,
    write_table,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning import ReplenishmentPlan

_SHOWN = 12  # series of the short table
_NUMBERS = (
    "lead_time",
    "review",
    "holding",
    "shortage",
    "shelf_life",
    "waste",
    "fixed",
    "minimum",
    "capacity",
)
_INSTEAD = {
    "horizon": "an order is for the time until the next one arrives, which --lead-time and "
    "--review say",
    "underage": "a unit that is missing costs --shortage",
    "overage": "a unit that is left costs --holding each period",
    "sellout_rate": "which periods sold out is told by --sold-out, or by what is left at their end "
    "(--on-hand)",
    "model": "expected demand follows what misses least on periods held out",
}
"""Options of orders for single days, and why replenishment has no use for them."""


@dataclass(frozen=True)
class ReplenishmentFiles:
    """Files of one command; None where there is none."""

    table: Path
    output: Path
    future: Path | None
    on_order: Path | None
    levels: Path | None
    projection: Path | None
    report: Path | None
    save: Path | None
    log: LogFiles

    def check(self) -> list[str]:
        """Complain of files that cannot be read or written, all at once."""
        read = [self.table, self.future, self.on_order, self.log.decided]
        wrong = []
        written: list[Path | None] = [self.output]
        checks = [partial(check_table, self.output, read)]
        for path, option in ((self.levels, "--levels"), (self.projection, "--projection")):
            checks.append(partial(check_table, path, [*read, *written], option))
            written.append(path)
        checks.append(partial(check_report, self.report, [*read, *written]))
        taken = [*read, *written, self.report]
        checks.append(partial(check_output, self.save, "--save", None, taken))
        checks.append(partial(self.log.check, [*read[:3], *written, self.report, self.save]))
        for check in checks:
            try:
                check()
            except InvalidInput as error:
                wrong.append(str(error))
        wrong += [
            f"{file} must be a CSV, Excel or Parquet file, but there is no such file."
            for file in read
            if file is not None and not file.exists()
        ]
        return wrong


def replenish(
    words: dict[str, Any],
    files: ReplenishmentFiles,
    unused: dict[str, Any],
    reading: dict[str, str | None],
    *,
    currency: str = "",
    as_json: bool = False,
) -> None:
    """Order for replenishment.

    Parameters
    ----------
    words : dict
        Of `ReplenishmentPlan`; numbers as text, which may name columns.
    files : ReplenishmentFiles
    unused : dict
        Options of orders for single days, None where they were not given.
    reading : dict
        How the table is to be read: decimal, sheet, encoding.
    currency : str
        What the report counts money in.
    as_json : bool
    """
    from unmet.planning import ReplenishmentPlan, replenishment_report_data
    from unmet.planning.reading import read_file
    from unmet.progress import report_progress

    wrong = files.check()
    for name, why in _INSTEAD.items():
        if unused.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            wrong.append(f"{option} must not be given where stock lasts: {why}.")
    for name in _NUMBERS:
        if words.get(name) is not None:
            words[name] = number_or_column(words[name])
    if words.get("lot") is not None and words["lot"] != "auto":
        words["lot"] = None if words["lot"] == "none" else number_or_column(words["lot"])
    life = words.get("shelf_life")
    if files.levels is not None and isinstance(life, int | float) and life > 1:
        wrong.append(
            "--levels must not be given beside --shelf-life: what is about to spoil counts in "
            "levels as much as what is fresh."
        )
    planned = ReplenishmentPlan(
        **{name: value for name, value in words.items() if value is not None}
    )
    if "lot" in words:
        planned.set_params(lot=words["lot"])
    try:
        planned.check()
    except InvalidInput as error:
        wrong.append(str(error))
    if wrong:
        raise InvalidInput(" ".join(wrong))
    read = read_file(files.table, **reading)  # type: ignore[arg-type]
    rows = read.table
    beside = partial(
        read_beside, rows=rows, decimal=reading["decimal"], encoding=reading["encoding"]
    )
    coming = None if files.future is None else beside(files.future)
    on_its_way = None if files.on_order is None else beside(files.on_order)
    log = None
    if files.log.log is not None:
        schema = planned.columns(rows)
        names = ("arrives", schema.date, "date")
        log = files.log.read(schema, rows, names, reading["decimal"], reading["encoding"])
    with report_progress() as step_done:
        planned.fit(rows, on_order=on_its_way, future=coming, log=log, progress=step_done)
    orders = planned.orders()
    tables = [(orders, files.output)]
    if files.levels is not None:
        tables.append((planned.levels(), files.levels))
    if files.projection is not None:
        tables.append((planned.projection(), files.projection))
    date = planned.schema_.date
    written = [
        write_table(as_read(table, rows[date], path), path, read.dialect) for table, path in tables
    ]
    if files.report is not None:
        content = replenishment_report_data(
            planned, notes=read.notes, command=command_line(), currency=currency
        )
        written += write_report(content, files.report)
    if files.save is not None:
        written.append(planned.save(files.save, about={"command": command_line()}))
    written += files.log.write(log, orders, "arrives")
    if as_json:
        print_json(_content(planned, orders), written)
    else:
        _show(planned, orders, rows)
    remark((*read.notes, *planned.notes_))
    show_files(written)


def number_or_column(text: str) -> float | str:
    """Read a number; anything else names a column."""
    try:
        found = float(text)
    except ValueError:
        return text
    return int(found) if found.is_integer() else found


# --- Showing.


def _content(planned: ReplenishmentPlan, sheet: polars.DataFrame) -> dict[str, Any]:
    names = ("order", "on_hand", "on_order", "expected_demand")
    changed = planned.overrides_
    return {
        "columns": planned.schema_.to_dict(),
        "model": planned.demand_forecast_.model,
        "missed": planned.demand_forecast_.error,
        "orders": sheet.height,
        "ordered": int((sheet["order"] > 0).sum()),
        "run_empty": int(sheet["runs_empty"].is_not_null().sum()),
        "total": {name: float(sheet[name].sum()) for name in names if name in sheet.columns},
        "overrides": None if changed is None else changed.to_dict(),
        "notes": planned.notes_,
    }


def _show(planned: ReplenishmentPlan, sheet: polars.DataFrame, rows: polars.DataFrame) -> None:
    """Print the guess, the orders in a few sentences, and the series that are most urgent."""
    more = [("on hand", planned.on_hand or "-", "given" if planned.on_hand else "", "--on-hand")]
    show_columns(planned.schema_, planned.panel_, rows.height, more)
    typer.echo(planned.in_words())
    if planned.overrides_ is not None and planned.overrides_.count:
        typer.echo(str(planned.overrides_))
    urgent = sheet.sort(
        "runs_empty",
        "chance_of_running_out",
        "order",
        descending=[False, True, True],
        nulls_last=True,
        maintain_order=True,
    ).head(_SHOWN)
    names = [*planned.schema_.series, "order", "arrives", "on_hand", "on_order", "runs_empty"]
    shown = [tuple(_cell(cell) for cell in row) for row in urgent.select(names).iter_rows()]
    heads = [
        name.replace("_", " ") if name not in planned.schema_.series else name for name in names
    ]
    typer.echo(f"\n{labels_table(heads, shown)}")
    if sheet.height > urgent.height:
        typer.echo(f"and {sheet.height - urgent.height:,} more series, which are in the sheet.")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.10g}" if isinstance(value, float) else str(value)
