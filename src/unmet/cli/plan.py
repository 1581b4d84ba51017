"""``unmet plan``: from a table of sales to the orders of the coming days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.hours import HourFiles, told
from unmet.cli.options import Decimal, Encoding, Options, Sheet, lot_size, names, sellout_rates
from unmet.cli.output import (
    as_read,
    check_files,
    command_line,
    print_json,
    read_beside,
    read_log,
    remark,
    show_columns,
    show_files,
    write_log,
    write_report,
    write_table,
)
from unmet.cli.replenish import read_replenishment, replenishment_content, show_replenishment
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning import OrderPlan

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet plan sales.csv --horizon 7",
    "unmet plan sales.csv --horizon 7 --lead-time 2 --underage 3 --overage 1 -o orders.csv",
    "unmet plan sales.csv --horizon 14 --service-level .95 --future prices.csv --country DE",
    "unmet plan sales.csv --underage 3 --overage 1 --report report.html --currency €",
    "unmet plan sales.csv --log decisions.parquet --decided ordered.csv",
    "unmet plan sales.csv --hourly hours.parquet --opens 6 --closes 22",
    "unmet plan --receipts receipts.csv --horizon 3",
    "unmet plan sales.csv --lead-time 3 --review 7 --on-hand left --on-order on_order.csv "
    "--holding .2 --shortage 1 --levels levels.csv",
)
_STOCK, _HOURS, _LOG = "Replenishment", "Hours of the till", "What was decided before"
OPTIONS: Options = {
    "Columns, where the guess is wrong": {
        "date": (str | None, None, "Column of dates."),
        "series": (list[str] | None, None, "Columns that tell series apart, such as store,item."),
        "sales": (str | None, None, "Column of sales."),
        "sold_out": (str | None, None, "Column of flags; 'none': there is none."),
        "stock": (str | None, None, "Column of what was available, or 'none'."),
        "price": (str | None, None, "Column of prices, or 'none'."),
        "known_future": (
            list[str] | None,
            None,
            "Columns that are known beforehand, such as promotion,weather.",
        ),
        "gaps": (str, "auto", "Days without a row: missing, zero, or auto."),
    },
    "Costs": {
        "underage": (float | None, None, "Cost of a unit too little."),
        "overage": (float | None, None, "Cost of a unit too much."),
        "service_level": (
            float | None,
            None,
            "Instead of costs: share of days on which demand is met; .9 if nothing is said.",
        ),
        "sellout_rate": (
            str | None,
            None,
            "Share of days that sold out, where no column tells: .2, or a range .1,.3.",
        ),
        "step": (
            str | None,
            None,
            "Size of a lot; 'none' keeps fractions. By default 1 where sales are whole.",
        ),
    },
    _STOCK: {
        "review": (
            str | None,
            None,
            "Days from one order to the next. This and the following numbers may be columns.",
        ),
        "on_hand": (
            str | None,
            None,
            "Column of what is left at the end of a day; its last row is what is there.",
        ),
        "on_order": (
            Path | None,
            None,
            "Table of what is on its way: series, date of arrival, units.",
        ),
        "holding": (str | None, None, "Cost of a unit left over, each day."),
        "shortage": (str | None, None, "Cost of a unit that is missing."),
        "unmet": (
            str | None,
            None,
            "What becomes of unmet demand: lost (if nothing is said) or backordered.",
        ),
        "shelf_life": (str | None, None, "Days on which a unit can be sold."),
        "waste": (str | None, None, "Cost of a unit that spoils."),
        "fixed": (str | None, None, "Cost of an order, of any size."),
        "minimum": (str | None, None, "Least units of an order."),
        "capacity": (str | None, None, "Most units of an order."),
        "budget": (float | None, None, "Most units of all orders together."),
        "levels": (Path | None, None, "Write reorder points and order-up-to levels here."),
        "projection": (Path | None, None, "Write the stock to come here."),
    },
    _HOURS: {
        "hourly": (
            Path | None,
            None,
            "Sales by the hour, of the same series: they tell when shelves were empty.",
        ),
        "receipts": (Path | None, None, "Or receipts: time, item, units; they tell the same."),
        "opens": (int | None, None, "First hour in which shops sell."),
        "closes": (int | None, None, "Hour at which shops close."),
        "time_zone": (
            str | None,
            None,
            "Where shops are, such as Europe/Berlin, for times with offsets.",
        ),
    },
    _LOG: {
        "log": (
            Path | None,
            None,
            "Parquet file that keeps suggestions, and what was made of them.",
        ),
        "decided": (
            Path | None,
            None,
            "Table of what was decided or delivered: series, date, order, delivered.",
        ),
    },
    "Model": {
        "country": (str | None, None, "Code for public holidays, such as DE."),
        "model": (
            str | None,
            None,
            "seasonal, linear, distribution, neural, boosted or blend; of several the cheapest.",
        ),
        "seed": (int, 0, "Seed of all that is random."),
    },
}


def plan(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="CSV, Excel or Parquet file: a row for each day. With --hourly or --receipts it "
            "may be left out: days are then sums of hours."
        ),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="How many days orders are for; 7 if nothing is said.")
    ] = None,
    lead_time: Annotated[
        str,
        typer.Option(
            help="Days from the last one known to the first one ordered for; where stock lasts, "
            "also a column of them."
        ),
    ] = "0",
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where to write the orders: CSV, Excel or Parquet."),
    ] = Path("orders.csv"),
    future: Annotated[
        Path | None,
        typer.Option(help="Table of what is known of coming days: date, series, prices, …"),
    ] = None,
    *,
    words: dict[str, Any],
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    currency: Annotated[str, typer.Option(help="What the report counts money in: €, EUR, …")] = "",
    save: Annotated[
        Path | None, typer.Option(help="Keep the plan here, for unmet monitor and unmet.load.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Order for the coming days: guess the columns, choose a model, write a sheet.

    With any option of "Replenishment" it is one order for each series instead, given what is
    there and on its way.
    """
    from unmet.costs import Newsvendor
    from unmet.planning import OrderPlan, Schema, order_report_data, replenishment_report_data
    from unmet.progress import report_progress
    from unmet.tables.reading import read_file
    from unmet.validation import ErrorCollector

    till = HourFiles(*(words.pop(name) for name in OPTIONS[_HOURS]))
    if table is None and till.path is None:
        raise InvalidInput("A table of sales must be given, or hours of the till, got neither.")
    log, decided = (words.pop(name) for name in OPTIONS[_LOG])
    shop = {name: words.pop(name) for name in OPTIONS[_STOCK]}
    lasts = any(each is not None for each in shop.values())
    on_order, levels, projection = (shop.pop(name) for name in ("on_order", "levels", "projection"))
    daily = {name: words.pop(name) for name in ("underage", "overage", "sellout_rate", "model")}
    step = words.pop("step")
    for name in ("series", "known_future"):
        words[name] = None if words[name] is None else names(words[name])
    for name in ("sold_out", "stock", "price"):
        words[name] = "" if words[name] == "none" else words[name]  # no column has the field
    words["random_state"] = words.pop("seed")
    if lasts and till.path is not None:
        raise InvalidInput(
            "Hours of the till cannot be used where stock lasts: what is left at the end of a "
            "day tells when it sold out (--on-hand)."
        )
    wrong = ErrorCollector()
    tables = {"--output": output, "--levels": levels, "--projection": projection}
    check_files(wrong, [table, future, on_order, decided], tables, report, save, log)
    if decided is not None and log is None:
        wrong.sentences.append("--log must be given where --decided is: it keeps what was decided.")
    wrong.ask(till.check)
    planned: Any
    if lasts:
        shop |= {"lead_time": lead_time, "lot": "auto" if step is None else step}
        unused = {"horizon": horizon, **daily}
        planned = read_replenishment({**shop, **words}, unused, levels, wrong)
    else:
        rate, candidates = daily.pop("sellout_rate"), (daily.pop("model") or "auto").split(",")
        level = words.pop("service_level")
        wrong.about_costs(level, **daily)
        cost = None
        if level is not None:
            cost = wrong.ask(Newsvendor.from_service_level, level)
        elif None not in daily.values():
            cost = wrong.ask(Newsvendor, **daily)
        columns = ("date", "series", "sales", "sold_out", "stock", "price", "known_future", "gaps")
        planned = OrderPlan(
            horizon=7 if horizon is None else horizon,
            cost=cost,
            lead_time=wrong.ask(_whole_days, lead_time) or 0,
            sellout_rate=None if rate is None else wrong.ask(sellout_rates, rate),
            model=candidates[0] if len(candidates) == 1 else [each.strip() for each in candidates],
            lot="auto" if step is None else wrong.ask(lot_size, step),
            schema=Schema(**{name: words.pop(name) for name in columns}),
            **words,
        )
    wrong.ask(planned.check)
    wrong.tell()
    by_hours, dialect = None, None
    if table is not None:
        read = read_file(table, decimal=decimal, sheet=sheet, encoding=encoding)
        rows, said, dialect = read.table, read.notes, read.dialect
        if till.path is not None:
            keys = planned.columns(rows).series
            by_hours = till.read(keys, keys, decimal=decimal, encoding=encoding)
    else:
        by_hours = till.read(planned.schema.series, decimal=decimal, encoding=encoding)
        rows, said = by_hours.daily, ()
    if by_hours is not None:
        said = (*said, *by_hours.notes)
    given: dict[str, Any] = {
        name: read_beside(path, rows, decimal, encoding)
        for name, path in (("future", future), ("on_order", on_order))
        if path is not None
    }
    if log is not None:
        schema = planned.columns(rows)
        dates = ("arrives", schema.date, "date") if lasts else (schema.date, "date")
        given["log"], enter = read_log(log, decided, schema, rows, dates, decimal, encoding)
    with report_progress() as step_done:
        if by_hours is not None:
            given["hours"] = told(by_hours, step_done)
        planned.fit(rows, **given, progress=step_done)
    orders, day = planned.orders(), planned.schema_.date
    made = [(orders, output)]
    if levels is not None:
        made.append((planned.levels(), levels))
    if projection is not None:
        made.append((planned.projection(), projection))
    files = [write_table(as_read(each, rows[day], path), path, dialect) for each, path in made]
    if report is not None:
        tell = replenishment_report_data if lasts else order_report_data
        content = tell(planned, notes=said, command=command_line(), currency=currency)
        files += write_report(content, report)
    if save is not None:
        files.append(planned.save(save, about={"command": command_line()}))
    if log is not None:
        when = "arrives" if lasts else day
        files.append(write_log(log, planned.schema_.series, enter, orders, when))
    if as_json:
        print_json((replenishment_content if lasts else _content)(planned, orders), files)
    else:
        (show_replenishment if lasts else _show)(planned, orders, rows)
    remark((*said, *planned.notes_, *(() if lasts else planned.choice_.left_out)))
    show_files(files)


# --- Reading.


def _whole_days(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"lead_time must be a whole number of days, got {text!r}.") from None


# --- Showing.


def _content(planned: OrderPlan, sheet: polars.DataFrame) -> dict[str, Any]:
    return {
        "columns": planned.schema_.to_dict(),
        "service_level": float(planned.cost_.level),
        "choice": planned.choice_.to_dict(),
        "orders": sheet.height,
        "total": {
            name: float(sheet[name].sum())
            for name in ("order", "usual_sales", "hidden_demand", "safety")
        },
        "overrides": None if planned.overrides_ is None else planned.overrides_.to_dict(),
        "notes": planned.notes_,
    }


def _show(planned: OrderPlan, sheet: polars.DataFrame, rows: polars.DataFrame) -> None:
    """Print the guess, the choice and the sum of the orders, in the words of a planner."""
    from unmet.evaluation.comparison import text_table
    from unmet.planning.panel_models import LABELS

    show_columns(planned.schema_, planned.panel_, rows.height)
    choice, dates = planned.choice_, sheet[planned.schema_.date]
    typer.echo(choice.why)
    if choice.groups:
        table = [
            (
                LABELS[name],
                *(f"{choice.groups[each][name]:.3g}" for each in choice.groups),
                f"{cost:.3g}",
            )
            for name, cost in sorted(choice.cost.items(), key=lambda each: each[1])
        ]
        heads = ["cost of a day", *(f"{each} sellers" for each in choice.groups), "all"]
        typer.echo(text_table(heads, table))
    if choice.cost and not choice.censoring_adjusted:
        typer.echo("Costs are those of sales: nothing says which days sold out.")
    total = {
        name: sheet[name].sum() for name in ("order", "usual_sales", "hidden_demand", "safety")
    }
    parts = f"{total['usual_sales']:,.0f} usual sales"
    if total["hidden_demand"]:
        parts += f" + {total['hidden_demand']:,.0f} hidden demand"
    sign, words = (
        ("+", "for safety") if total["safety"] >= 0 else ("−", "because leftovers cost more")
    )
    units = f"{total['order']:,.0f} units = {parts} {sign} {abs(total['safety']):,.0f} {words}"
    begin, end = str(dates.min()), str(dates.max())
    typer.echo(f"\n{sheet.height:,} orders from {begin} to {end}: {units}.")
    if planned.overrides_ is not None and planned.overrides_.count:
        typer.echo(str(planned.overrides_))
