"""Orders from a table of sales: ``unmet plan``, ``replenish``, ``monitor``, and ``hours``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli import output as out
from unmet.cli.options import (
    FILES,
    HOURS,
    READ,
    SHOPS,
    Named,
    Options,
    amount,
    file,
    flag,
    levels,
    lot_size,
    models,
    names,
    rates,
    several,
    word,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars

    from unmet.censoring.hours import HourlySales
    from unmet.censoring.hours.demand import HourlyDemand
    from unmet.planning import DecisionLog, OrderPlan, Schema
    from unmet.planning.monitoring import Monitoring
    from unmet.tables.forms import SalesTable
    from unmet.tables.reading import TableFile
    from unmet.validation import ErrorCollector

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = {
    "plan": (
        "unmet plan sales.csv --horizon 7",
        "unmet plan sales.csv --horizon 7 --lead-time 2 --underage 3 --overage 1 -o orders.csv",
        "unmet plan sales.csv --horizon 14 --service-level .95 --future prices.csv --country DE",
        "unmet plan sales.csv --log decisions.parquet --decided ordered.csv --report report.html",
        "unmet plan --receipts receipts.csv --horizon 3",
        "unmet plan data/*.parquet --dask local -o orders",
    ),
    "replenish": (
        "unmet replenish sales.csv --lead-time 2 --on-hand left",
        "unmet replenish sales.csv --lead-time 3 --review 7 --on-hand left --on-order on_order.csv "
        "--holding .2 --shortage 1 --levels levels.csv",
        "unmet replenish sales.csv --lead-time days --step pack --shelf-life 5",
        "unmet replenish sales.csv --lead-time 3:.6,4:.3,7:.1 --on-hand left",
    ),
    "uncensor": (
        "unmet uncensor sales.csv",
        "unmet uncensor sales.csv --sold-out flag -o demand.parquet",
        "unmet uncensor --receipts receipts.csv -o demand.csv",
    ),
    "hours": (
        "unmet hours hours.csv --opens 6 --closes 22",
        "unmet hours receipts.csv --receipts --time-zone Europe/Berlin -o days.csv",
    ),
    "monitor": (
        "unmet monitor plan.unmet sales.csv --log decisions.parquet",
        "unmet monitor plan.unmet sales.csv; test $? -ne 4 || unmet plan sales.csv --save "
        "plan.unmet",
    ),
}
PLAN_AGAIN = 4
"""Exit code where the plan should be made again."""
_COLUMNS: Named = {
    "date": word("Column of dates."),
    "series": several("Columns that identify a series, such as store,item."),
    "sales": word("Column of sales."),
    "sold_out": word("Column of stock-out flags, or 'none'."),
    "stock": word("Column of available stock, or 'none'."),
    "price": word("Column of prices, or 'none'."),
    "known_future": several("Columns known in advance, such as promotion,weather."),
    "gaps": (str, "auto", "Meaning of days without a row: missing, zero or auto."),
    "duplicates": (str, "sum", "Use of several rows of a series and day: sum, last or error."),
    "period": word("Period to sum sales to: day, business day, week, month, quarter or year."),
    "date_format": word("Format of ambiguous dates, such as %d/%m/%Y."),
}
_LEVEL: Named = {
    "service_level": amount(
        "Share of days on which orders should meet demand; replaces costs. Without either, .9."
    )
}
_LOG: Named = {
    "log": file("Parquet file that records suggested, decided and delivered orders."),
    "decided": file("Table of decided or delivered orders: series, date, order, delivered."),
}
_WRITTEN: Named = {
    "output": (
        Path,
        Path("orders.csv"),
        "CSV, Excel or Parquet file to write the orders to. Without --log, unmet plan first reads "
        "the previous orders from this file, as the stock of those days.",
    ),
    "future": file("Table of values known for the coming days: date, series, prices, …"),
    "demand_output": file("Write the corrected demand history to this file."),
    "save": file("Save the plan to this file, for unmet monitor and unmet.load."),
    "force": flag("Write orders even if the table or the orders look wrong."),
    **FILES,
}
_MODEL: Named = {
    "country": word("Country code for public holidays, such as DE."),
    "seed": (int, 0, "Random seed."),
}
_STEP: Named = {
    "step": word("Lot size; 'none' keeps fractions. By default 1 if sales are whole numbers.")
}
_NOT_ON_DASK = (*("demand_output", "log", "decided", "quantiles", "hourly", "receipts", "report"),)
PLAN: Options = {
    "Files": {
        **_WRITTEN,
        "dask": word(
            "Plan Parquet files on Dask workers, which write orders into the folder --output: "
            "local, or the address of a scheduler, such as tcp://10.0.0.1:8786."
        ),
    },
    "Columns, if the guess is wrong": _COLUMNS,
    "Orders": {
        "horizon": (int, 7, "Number of days to order for."),
        "lead_time": (int, 0, "Days between the last row and the first day ordered for."),
        "underage": amount("Cost of each unit of unmet demand."),
        "overage": amount("Cost of each unit left over."),
        **_LEVEL,
        **_STEP,
        "sellout_rate": word(
            "Share of days that sold out, if no column tells: .2, or a range .1,.3."
        ),
        "quantiles": several("Quantiles of demand to add to the orders, such as .1,.5,.9."),
    },
    "Hourly sales": HOURS,
    "Past decisions": _LOG,
    "Model": {
        "model": (
            str,
            "auto",
            "seasonal, smoothing, linear, distribution, neural or boosted; of several, separated "
            "by commas, the average. auto averages smoothing,linear,boosted.",
        ),
        **_MODEL,
    },
}
_RULES: Named = {
    "lead_time": (str, "0", "Days until an order can be sold; uncertain as 3:.6,4:.4."),
    "review": word("Days between orders."),
    "holding": word("Cost of each unit left over at the end of a day."),
    "shortage": word("Cost of each unit of unmet demand."),
    "shelf_life": word("Days for which a unit can be sold."),
    "waste": word("Cost of each unit that spoils."),
    "fixed": word("Fixed cost of an order."),
    **_STEP,
    "minimum": word("Minimum order quantity."),
    "capacity": word("Maximum order quantity."),
}
REPLENISH: Options = {
    "Files": {
        **_WRITTEN,
        "on_order": file("Table of open orders: series, date of arrival, units."),
        "deliveries": file("Table of past deliveries, for lead times: series, ordered, received."),
        "levels": file("Write reorder points and order-up-to levels to this file."),
        "projection": file("Write the projected stock to this file."),
    },
    "Columns, if the guess is wrong": {
        **_COLUMNS,
        "on_hand": word("Column of stock at the end of the day; the last row is stock on hand."),
    },
    "Supply rules: numbers, or columns of them": _RULES,
    "Orders": {
        **_LEVEL,
        "unmet": (str, "lost", "Fate of unmet demand: lost or backordered."),
        "budget": amount("Maximum units of all orders together."),
    },
    "Past decisions": _LOG,
    "Model": _MODEL,
}
UNCENSOR: Options = {
    "Files": {
        "output": (Path, Path("demand.csv"), "CSV, Excel or Parquet file to write."),
        "log": file("Parquet file of decided and delivered orders."),
        "force": flag("Write the file even if the table looks wrong."),
        **READ,
    },
    "Columns, if the guess is wrong": _COLUMNS,
    "Hourly sales": HOURS,
}
MONITOR: Options = {
    "Test": {
        "log": file("Parquet file of decided and delivered orders."),
        "level": (float, 0.01, "False-alarm probability over the whole monitoring period."),
    },
    "Files": READ,
}

TILL: Options = {
    "Files": {"output": file("Write stock-outs and demand of each day to this file."), **READ},
    "Kind of table": {
        "receipts": flag("Read the table as receipts: time, item, units."),
        **SHOPS,
    },
    "Columns, if the guess is wrong": {
        "series": several("Columns that identify a series, such as store,item."),
        "date": word("Column of dates, or of the times of receipts."),
        "hour": word("Column of hours, if each row is an hour."),
        "sales": word("Column of sales, or of the units of receipts."),
        "stock_out": word("Column of stock-out flags, by hour."),
    },
}


_Sales = Annotated[
    Path | None,
    typer.Argument(
        help="CSV, Excel or Parquet file with a row per day; not needed with --hourly or "
        "--receipts."
    ),
]


def plan(
    table: _Sales = None,
    more: Annotated[
        list[Path] | None, typer.Argument(help="More Parquet files, with --dask.")
    ] = None,
    *,
    words: dict[str, Any],
) -> None:
    """Order for each coming day.

    For stock that is kept from day to day, use unmet replenish.
    """
    from unmet.costs import Newsvendor
    from unmet.planning import OrderPlan
    from unmet.validation import ErrorCollector

    wrong = ErrorCollector()
    scheduler = words.pop("dask")
    if more and scheduler is None:
        wrong.sentences.append(
            f"One table must be given, got {1 + len(more)} files: join them, or plan Parquet files "
            "together with --dask local."
        )
    till = _till(table, words, wrong)
    under, over, level = (words[name] for name in ("underage", "overage", "service_level"))
    wrong.about_costs(level, underage=under, overage=over)
    cost = None
    if level is not None:
        cost = wrong.ask(Newsvendor.from_service_level, level)
    elif under is not None and over is not None:
        cost = wrong.ask(Newsvendor, under, over)
    rate, step = words["sellout_rate"], words["step"]
    planned = OrderPlan(
        horizon=words["horizon"],
        cost=cost,
        lead_time=words["lead_time"],
        sellout_rate=None if rate is None else wrong.ask(rates, rate),
        model=models(words["model"]),
        lot="auto" if step is None else wrong.ask(lot_size, step),
        schema=_schema(words),
        country=words["country"],
        random_state=words["seed"],
    )
    words["quantiles"] = wrong.ask(levels, words["quantiles"])
    if scheduler is not None:
        _order_on_dask(
            planned, [path for path in (table, *(more or ())) if path], words, wrong, scheduler
        )
    else:
        _order(planned, table, words, wrong, till)


def _order_on_dask(
    planned: OrderPlan,
    files: list[Path],
    words: dict[str, Any],
    wrong: ErrorCollector,
    scheduler: str,
) -> None:
    """Fit the plan to a sample of the series, and let workers write the orders of all."""
    from unmet.errors import MissingPackage
    from unmet.progress import report_progress

    given = [name for name in _NOT_ON_DASK if words.get(name)]
    wrong.sentences += [
        f"--{name.replace('_', '-')} must not be given with --dask: leave one of them out."
        for name in given
    ]
    folder: Path = words["output"]
    if folder == PLAN["Files"]["output"][1]:
        folder = Path("orders")
    if folder.suffix or folder.is_file():
        wrong.sentences.append(f"--output must be a folder with --dask, got {folder}.")
    elif folder.exists() and any(folder.iterdir()):
        wrong.sentences.append(f"--output must be an empty folder with --dask, got {folder}.")
    odd = [path for path in files if path.is_file() and path.suffix.lower() != ".parquet"]
    lost = [path for path in files if not path.exists()]
    if odd or lost:
        wrong.sentences.append(
            f"--dask reads Parquet files, or a folder of them, got {(odd or lost)[0]}"
            f"{'' if odd else ', which does not exist'}."
        )
    wrong.ask(planned.check)
    wrong.tell()
    dd = MissingPackage.or_load("--dask", "dask.dataframe", "dask")
    distributed = MissingPackage.or_load("--dask", "distributed", "dask")
    future = words["future"]
    coming = None if future is None else out.read_words(future, words, beside=True).table
    local = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    try:
        client = (
            distributed.Client(scheduler) if scheduler != "local" else distributed.Client(**local)
        )
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"--dask must be 'local' or the address of a scheduler that answers, got "
            f"{scheduler!r}: {error}."
        ) from None
    with client, report_progress() as step_done:
        frame = dd.read_parquet([str(path) for path in files], blocksize="64MiB")
        planned.fit(frame, future=coming, force=words["force"], progress=step_done)
        count, total = planned.write_orders(folder, progress=step_done)
    if not words["as_json"]:
        typer.echo(
            f"Order {total:,.0f} units in {count:,} orders (in the folder {folder}).\n"
            f"{planned.choice_.why}"
        )
    written = [folder]
    if words["save"] is not None:
        written.append(planned.save(words["save"], about={"command": out.command_line()}))
    if words["as_json"]:
        content = {"columns": planned.schema_.to_dict(), "orders": count, "total": total}
        out.print_json({**content, "notes": planned.notes_}, written)
    out.show_notes((*planned.notes_, *planned.choice_.left_out), words["details"])
    out.show_files(written)


def replenish(
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel or Parquet file with a row per day or week.")
    ],
    *,
    words: dict[str, Any],
) -> None:
    """Order for stock that is kept, given stock on hand and open orders.

    For goods that are ordered for a single day, use unmet plan.
    """
    from unmet.costs import Newsvendor
    from unmet.inventory import SupplyRules
    from unmet.planning import OrderPlan
    from unmet.validation import ErrorCollector

    wrong = ErrorCollector()
    given = {name: words[name] for name in _RULES if words[name] is not None}
    rules: dict[str, Any] = {name: _number_or_column(each) for name, each in given.items()}
    if "step" in rules:
        lot = rules.pop("step")
        rules["lot"] = None if lot == "none" else lot
    rules |= {name: words[name] for name in ("unmet", "budget") if words[name] is not None}
    level, life = words["service_level"], rules.get("shelf_life")
    if level is not None and {"holding", "shortage"} & rules.keys():
        wrong.sentences.append(
            "--service-level must not be given with --holding and --shortage: leave one out."
        )
    if words["levels"] is not None and isinstance(life, int | float) and life > 1:
        wrong.sentences.append(
            "--levels must not be given with --shelf-life above 1, because levels do not depend "
            "on the age of stock: leave one out."
        )
    planned = OrderPlan(
        cost=None if level is None else wrong.ask(Newsvendor.from_service_level, level),
        supply=wrong.ask(SupplyRules, **rules) or SupplyRules(),
        schema=_schema(words),
        country=words["country"],
        random_state=words["seed"],
    )
    _order(planned, table, words, wrong, None)


def uncensor(
    table: _Sales = None,
    *,
    words: dict[str, Any],
) -> None:
    """Write the demand history, corrected for stock-outs."""
    from unmet.planning import OrderPlan
    from unmet.validation import ErrorCollector

    wrong = ErrorCollector()
    till = _till(table, words, wrong)
    schema = replace(_schema(words), known_future=())  # orders would need them, a history does not
    _order(OrderPlan(schema=schema), table, words, wrong, till, demand_only=True)


def _till(table: Path | None, words: dict[str, Any], wrong: ErrorCollector) -> Path | None:
    """Give the file of hours; refuse a command that has neither these nor a table."""
    till: Path | None = wrong.ask(till_file, words)
    if table is None and till is None and not wrong.sentences:
        raise InvalidInput("Give a table of sales, or hourly sales with --hourly or --receipts.")
    return till


def _schema(words: dict[str, Any]) -> Schema:
    from unmet.planning import Schema

    given = {name: words[name] for name in (*_COLUMNS, "on_hand") if name in words}
    for name in ("series", "known_future"):
        given[name] = None if given[name] is None else names(given[name])
    for name in ("sold_out", "stock", "price"):
        given[name] = "" if given[name] == "none" else given[name]  # no column has the field
    return Schema(**given)


def _number_or_column(text: str) -> float | str | dict[float, float]:
    """Read a number, or chances such as 3:.6,4:.4; anything else names a column."""
    try:
        if ":" in text:
            pairs = [part.split(":") for part in text.split(",")]
            return {float(number): float(chance) for number, chance in pairs}
        found = float(text)
    except ValueError:
        return text
    return int(found) if found.is_integer() else found


def _order(
    planned: OrderPlan,
    table: Path | None,
    words: dict[str, Any],
    wrong: ErrorCollector,
    till: Path | None,
    demand_only: bool = False,
) -> None:
    """Read the tables, fit the plan, and write and show what it orders, or demand only."""
    import polars as pl

    from unmet.planning import DecisionLog
    from unmet.progress import report_progress
    from unmet.tables.dates import date_form, dates_as_read
    from unmet.tables.hours import has_hours

    read = [words.get(name) for name in ("future", "on_order", "deliveries", "decided")]
    out.check_files(words, table, till, *read, wrong=wrong)
    log = words["log"]
    if words.get("decided") is not None and log is None:
        wrong.sentences.append("--decided needs --log, the file that records it: add --log.")
    wrong.ask(planned.check)
    wrong.tell()
    lasts = planned.supply is not None
    hours, dialect = None, None
    said: tuple[str, ...] = ()
    file = None if table is None else out.read_words(table, words)
    if file is not None and till is None and not lasts and has_hours(file.table):
        till, table = table, None  # a row or a column for each hour: days are their sums
    if table is None:
        assert till is not None
        series = None if planned.schema is None else planned.schema.series
        hours = till_sales(out.read_words(till, words, beside=True), words, series)
        rows = hours.daily
    else:
        assert file is not None
        rows, said, dialect = file.table, file.notes, file.dialect
        if till is not None:
            keys = planned.columns(rows).series
            hours = till_sales(out.read_words(till, words, keys, beside=True), words, keys)
    # columns of text in the table of sales are text in other tables as well
    text = [name for name, kind in rows.schema.items() if kind == pl.String]
    given: dict[str, Any] = {
        name: out.read_words(words[name], words, text, beside=True).table
        for name in ("future", "on_order", "deliveries", "decided")
        if words.get(name) is not None
    }
    changes = given.pop("decided", None)

    def enter(found: DecisionLog) -> DecisionLog:
        """Write down what was decided since."""
        if changes is None:
            return found
        called = [*(["arrives"] if lasts else []), schema.date, "date"]
        date = next((name for name in called if name in changes.columns), called[0])
        return found.changed(changes, date, None if dates is None else date_form(rows, schema.date))

    sales = planned.read(rows, given.get("future"))
    schema = sales.schema
    dates = rows[schema.date] if schema.date in rows.columns else None
    if not words["as_json"]:
        _show_columns(planned, sales, given.get("future"))
    if log is not None:
        given["log"] = enter(DecisionLog.read(log, schema.series))
    elif not lasts and not demand_only:
        given["log"] = _orders_before(words, schema, rows, text)
    with report_progress() as step_done:
        if hours is not None:
            said = (*said, *hours.notes)
            given["hours"] = told(hours, step_done)
        if demand_only:
            demand = planned.correct(sales, **given, force=words["force"], progress=step_done)
        else:
            planned.fit(sales, **given, force=words["force"], progress=step_done)

    def write(made: polars.DataFrame, path: Path) -> Path:
        """Write a table; as text its dates have the form that was read."""
        days = [name for name, kind in made.schema.items() if kind == pl.Date]
        if path.suffix.lower() == ".csv" and dates is not None:
            made = made.with_columns(dates_as_read(made[name], dates) for name in days)
        return out.write_table(made, path, dialect)

    if demand_only:
        files = [write(demand, words["output"])]
        notes, known = (*said, *planned.notes_), demand["stockout"].drop_nulls()
        named = ("y_observed", "y") if "y_observed" in demand.columns else ("sales", "demand")
        sold, asked = (float(demand[name].sum()) for name in named)
        content = {
            "columns": planned.schema_.to_dict(),
            "rows": demand.height,
            "known": known.len(),
        }
        content |= {"sold_out": float(known.sum()), "sales": sold, "demand": asked, "notes": notes}
        if words["as_json"]:
            out.print_json(content, files)
        else:
            typer.echo(
                f"\nExpected demand: {asked:,.6g} units, {asked / max(sold, 1e-300) - 1.0:.1%} "
                f"more than the {sold:,.10g} sold.\nStock-outs: {known.sum():,.0f} of the "
                f"{known.len():,} {planned.panel_.unit}s with a flag or an estimate."
            )
        out.show_notes(notes, words["details"])
        out.show_files(files)
        return
    orders = planned.orders()
    if words.get("quantiles"):
        asked = planned.quantiles(words["quantiles"])
        orders = orders.hstack(asked.select(pl.col("^demand_q.*$")))
    files = [write(orders, words["output"])]
    if words["demand_output"] is not None:
        files.append(write(planned.demand(), words["demand_output"]))
    if words.get("levels") is not None:
        files.append(write(planned.levels(), words["levels"]))
    if words.get("projection") is not None:
        files.append(write(planned.projection(), words["projection"]))
    files += out.write_report(planned, words, notes=said)
    if words["save"] is not None:
        files.append(planned.save(words["save"], about={"command": out.command_line()}))
    if log is not None:
        when = "arrives" if lasts else schema.date
        # as the log is by now: others may have written it
        DecisionLog.update(log, schema.series, lambda found: enter(found).suggested(orders, when))
        files.append(log)
    notes = (*said, *planned.notes_, *planned.choice_.left_out)
    if words["as_json"]:
        out.print_json({**_content(planned, orders), "notes": notes}, files)
    else:
        (_show_replenishment if lasts else _show_orders)(planned, orders)
        if words["details"] and len(planned.choice_.cost) > 1:
            _show_models(planned)
        if planned.overrides_ is not None and planned.overrides_.count:
            typer.echo(str(planned.overrides_))
    out.show_notes(notes, words["details"])
    out.show_files(files)


def _orders_before(
    words: dict[str, Any], schema: Schema, rows: polars.DataFrame, text: list[str]
) -> DecisionLog | None:
    """Read the file that orders are about to replace: those of the last plan, if it is one."""
    from unmet.errors import UnmetError
    from unmet.planning import DecisionLog
    from unmet.tables.dates import date_form

    if not words["output"].exists():
        return None
    try:
        before = out.read_words(words["output"], words, text, beside=True).table
        form = date_form(rows, schema.date) if schema.date in rows.columns else None
        return DecisionLog.of_orders(before, schema.series, str(schema.date), form)
    except (UnmetError, OSError):  # another file, which is not ours to understand
        return None


# --- What is shown.

_FIELDS = {
    "date": "date",
    "series": "series",
    "sales": "sales",
    "sold_out": "sold out",
    "stock": "stock",
    "price": "price",
    "known_future": "known in advance",
    "on_hand": "on hand",
}


def _content(planned: OrderPlan, orders: polars.DataFrame) -> dict[str, Any]:
    """Give what is printed as JSON."""
    content: dict[str, Any] = {"columns": planned.schema_.to_dict(), "orders": orders.height}
    units = ["order", "usual_sales", "hidden_demand", "safety"]
    if planned.supply is None:
        content["service_level"] = float(planned.cost_.level)
        content["choice"] = planned.choice_.to_dict()
        content["reached"] = planned.reached_
        content["outside_data"] = int((orders["outside_data"] != "").sum())
    else:
        units = ["order", "on_hand", "on_order", "expected_demand"]
        units += ["expected_shortage", "expected_loss"]
        content["model"] = planned.choice_.model
        content["missed"] = planned.choice_.cost
        content["ordered"] = int((orders["order"] > 0).sum())
        content["expected_to_run_out"] = float(orders["chance_of_running_out"].sum())
    content["total"] = {name: float(orders[name].sum()) for name in units if name in orders.columns}
    changed = planned.overrides_
    content["overrides"] = None if changed is None else changed.to_dict()
    return content


def _show_columns(planned: OrderPlan, sales: SalesTable, future: Any) -> None:
    """Print which column is what and why, with the option that changes it; then what was read."""
    from unmet.evaluation.comparison import text_table

    schema = sales.schema.with_known_future(() if future is None else future.columns)
    lines, absent = [], []
    for field, label in _FIELDS.items():
        value, option = getattr(schema, field), f"--{field.replace('_', '-')}"
        if value:
            listed = ", ".join(value) if isinstance(value, tuple) else value
            lines.append((label, listed, schema.why.get(field, "given"), option))
        elif field != "on_hand" or planned.supply is not None:
            absent.append(f"{label} ({option})")
    typer.echo(text_table(["use", "column", "reason", "to change it"], lines, words=True))
    if absent:
        typer.echo(f"No column: {', '.join(absent)}.")
    if sales.schema.left_out:  # a note names those that only coming days lack
        reasons: dict[str, list[str]] = {}
        for name, why in sales.schema.left_out.items():
            reasons.setdefault(why, []).append(name)
        groups = [
            f"{', '.join(each[:10])}{f' and {len(each) - 10:,} more' if len(each) > 10 else ''}"
            f" ({why})"
            for why, each in reasons.items()
        ]
        typer.echo(f"Not used: {'; '.join(groups)}.")
    dates = sales.table[schema.date]
    typer.echo(
        f"{sales.n_rows:,} rows, {sales.n_series:,} series, one row per {schema.period}, "
        f"{dates.min()} to {dates.max()}."
    )


def _show_orders(planned: OrderPlan, orders: polars.DataFrame) -> None:
    """Print what to order, why to believe it, and what to check."""
    import numpy as np

    from unmet.report.data import PARTS
    from unmet.report.sentences import parts_label

    choice, dates, panel = planned.choice_, orders[planned.schema_.date], planned.panel_
    parts = {label: round(orders[name].sum()) for name, label in PARTS.items()}
    typer.echo(
        f"\nOrder {orders['order'].sum():,.0f} units for {dates.min()} to {dates.max()} "
        f"({orders.height:,} orders): {parts_label(parts)}."
    )
    typer.echo(choice.why)
    if planned.reached_ is not None:
        met = "demand" if panel.hidden is not None else "sales"
        typer.echo(
            f"Service level: {100 * float(planned.cost_.level):.4g}% is the target; in the "
            f"backtest orders covered {met} on {planned.reached_:.1%} of the {panel.unit}s."
        )
    if panel.hidden is not None:
        typer.echo(f"Stock-outs: {np.nanmean(panel.hidden):.0%} of the {panel.unit}s with a flag.")
    elif choice.cost:
        typer.echo(f"Check: the backtest takes sales as demand; no {panel.unit} has a flag.")
    if outside := int((orders["outside_data"] != "").sum()):
        typer.echo(f"Check: {outside:,} of the orders exceed the largest sales of their series.")


def _show_models(planned: OrderPlan) -> None:
    """Print the cost of each model in the backtest."""
    from unmet.evaluation.comparison import text_table
    from unmet.planning.candidates import labels_of

    choice, unit = planned.choice_, planned.panel_.unit
    labels, measure = labels_of(unit, choice.members), f"cost per {unit}"
    costs = sorted(choice.cost.items(), key=lambda each: each[1])
    table = [(labels[name], f"{cost:.4g}") for name, cost in costs]
    head = ["model", measure if planned.supply is None else "scaled error"]
    typer.echo(f"\n{text_table(head, table)}")


def _show_replenishment(planned: OrderPlan, orders: polars.DataFrame) -> None:
    """Print the orders in a few sentences, and the series that are most urgent."""
    from unmet.evaluation.comparison import text_table
    from unmet.report.data import urgent_first

    def cell(value: Any) -> str:
        return (
            "-" if value is None else f"{value:,.10g}" if isinstance(value, float) else f"{value}"
        )

    typer.echo(f"\n{planned.in_words()}")
    urgent, series = urgent_first(orders).head(12), planned.schema_.series
    columns = [*series, "order", "arrives", "on_hand", "on_order", "chance_of_running_out"]
    columns += [name for name in ("expected_shortage", "expected_loss") if name in orders.columns]
    shown = [tuple(map(cell, row)) for row in urgent.select(columns).iter_rows()]
    heads = [*series, *(name.replace("_", " ") for name in columns[len(series) :])]
    typer.echo(f"\n{text_table(heads, shown, words=True)}")
    if orders.height > urgent.height:
        typer.echo(f"{orders.height - urgent.height:,} more series are in the file of orders.")


# --- Whether a plan still holds.

_VERDICTS = {
    "as planned": "Keep the plan: sales and stock-outs are as planned.",
    "monitor": "Keep the plan and monitor it: a change is possible but not yet significant.",
    "plan again": "Plan again with the new rows: the change is significant.",
}


def monitor(
    saved: Annotated[Path, typer.Argument(help="Plan file saved with unmet plan --save.")],
    table: Annotated[
        Path, typer.Argument(help="Table of sales with the new rows; it may keep the old ones.")
    ],
    *,
    words: dict[str, Any],
) -> int:
    """Test whether new sales still fit a plan; exit code 4 if not."""
    from unmet import planning

    planned = out.load_plan(saved, planning.OrderPlan, "unmet plan --save wrote")
    read = out.read_words(table, words, planned.schema_.ids)
    found = planning.monitor(planned, read.table, words["log"], words["level"])
    if words["as_json"]:
        out.print_json({**found.to_dict(), "table_notes": read.notes})
    else:
        _show_monitoring(found)
        out.show_notes((*read.notes, *found.notes), words["details"])
    return PLAN_AGAIN if found.plan_again else 0


def _show_monitoring(found: Monitoring) -> None:
    """Print what was expected and seen, a verdict for each, and what to do."""
    from unmet.censoring.text import capital
    from unmet.evaluation.comparison import text_table

    typer.echo(f"{found.n_rows:,} new rows, {found.first_day} to {found.last_day}.\n")
    lines = [(each.what, each.expected, each.seen, each.verdict) for each in found.checks]
    typer.echo(text_table(["what", "expected", "seen", "verdict"], lines, words=True) + "\n")
    for each in found.checks:
        if each.verdict != "as planned":
            since = "" if each.first_day is None else f" Significant since {each.first_day}."
            typer.echo(out.as_options(f"{capital(each.what)}: {each.advice}{since}"))
    typer.echo(_VERDICTS[found.verdict])


# --- Hours of the till.


def till_file(words: dict[str, Any]) -> Path | None:
    """Give the file of hours or receipts, if there is one; refuse what does not fit together."""
    hourly, receipts = words.get("hourly"), words.get("receipts")
    if hourly is not None and receipts is not None:
        raise InvalidInput("--hourly and --receipts must not both be given: leave one out.")
    path: Path | None = hourly or receipts
    if path is None and any(words.get(name) is not None for name in SHOPS):
        raise InvalidInput(
            "--opens, --closes and --time-zone need hourly sales: add --hourly or --receipts."
        )
    return path


def till_sales(
    file: TableFile, words: dict[str, Any], series: Sequence[str] | None = None, **columns: Any
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
                raise InvalidInput(
                    f"--{name.replace('_', '-')} must not be given with --receipts: leave it out."
                )
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
            help="CSV, Excel or Parquet file with a row or a column per hour; or receipts."
        ),
    ],
    *,
    words: dict[str, Any],
) -> None:
    """Detect stock-outs in hourly sales or receipts, and estimate lost sales."""
    from unmet.progress import report_progress

    out.check_files(words, table)
    output, series = words["output"], words["series"]
    columns = {name: words[name] for name in ("date", "hour", "sales", "stock_out") if words[name]}
    file = out.read_words(table, words)
    hours = till_sales(file, words, None if series is None else names(series), **columns)
    with report_progress() as step_done:
        reading = told(hours, step_done)
    written = [] if output is None else [out.write_table(reading.table(), output)]
    if words["as_json"]:
        content = {
            "series": hours.n_series,
            "days": int(hours.known.sum()),
            "text": reading.describe(),
            "lost_most": lost_most(reading).to_dicts(),
            "notes": hours.notes,
        }
        out.print_json(content, written)
    else:
        typer.echo(f"{reading.describe()}\n{surest(reading)}")
    out.show_notes(hours.notes, words["details"])
    out.show_files(written)


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
        return "No day was likely sold out at closing time."
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
    heads = [*keys, reading.hours.date, "sold", "stock-out", "hours empty", "lost sales"]
    return "Days with the most lost sales:\n" + text_table(heads, rows, words=True)
