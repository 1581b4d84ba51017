"""``unmet plan``: from a table of sales to the orders of the coming days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.hours import HourFiles, told
from unmet.cli.options import Decimal, Encoding, Sheet, lot_size, names, sellout_rates
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
_COLUMNS, _COSTS, _MORE = "Columns, where the guess is wrong", "Costs", "Model"
_STOCK = "Replenishment"
_LOG = "What was decided before"
_HOURS = "Hours of the till"


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
    date: Annotated[
        str | None, typer.Option(help="Column of dates.", rich_help_panel=_COLUMNS)
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that tell series apart, such as store,item.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    sales: Annotated[
        str | None, typer.Option(help="Column of sales.", rich_help_panel=_COLUMNS)
    ] = None,
    sold_out: Annotated[
        str | None,
        typer.Option(help="Column of flags; 'none': there is none.", rich_help_panel=_COLUMNS),
    ] = None,
    stock: Annotated[
        str | None,
        typer.Option(help="Column of what was available, or 'none'.", rich_help_panel=_COLUMNS),
    ] = None,
    price: Annotated[
        str | None, typer.Option(help="Column of prices, or 'none'.", rich_help_panel=_COLUMNS)
    ] = None,
    known_future: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that are known beforehand, such as promotion,weather.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    gaps: Annotated[
        str,
        typer.Option(help="Days without a row: missing, zero, or auto.", rich_help_panel=_COLUMNS),
    ] = "auto",
    underage: Annotated[
        float | None, typer.Option(help="Cost of a unit too little.", rich_help_panel=_COSTS)
    ] = None,
    overage: Annotated[
        float | None, typer.Option(help="Cost of a unit too much.", rich_help_panel=_COSTS)
    ] = None,
    service_level: Annotated[
        float | None,
        typer.Option(
            help="Instead of costs: share of days on which demand is met; .9 if nothing is said.",
            rich_help_panel=_COSTS,
        ),
    ] = None,
    sellout_rate: Annotated[
        str | None,
        typer.Option(
            help="Share of days that sold out, where no column tells: .2, or a range .1,.3.",
            rich_help_panel=_COSTS,
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Size of a lot; 'none' keeps fractions. By default 1 where sales are whole.",
            rich_help_panel=_COSTS,
        ),
    ] = None,
    review: Annotated[
        str | None,
        typer.Option(
            help="Days from one order to the next. This and the following numbers may be columns.",
            rich_help_panel=_STOCK,
        ),
    ] = None,
    on_hand: Annotated[
        str | None,
        typer.Option(
            help="Column of what is left at the end of a day; its last row is what is there.",
            rich_help_panel=_STOCK,
        ),
    ] = None,
    on_order: Annotated[
        Path | None,
        typer.Option(
            help="Table of what is on its way: series, date of arrival, units.",
            rich_help_panel=_STOCK,
        ),
    ] = None,
    holding: Annotated[
        str | None,
        typer.Option(help="Cost of a unit left over, each day.", rich_help_panel=_STOCK),
    ] = None,
    shortage: Annotated[
        str | None,
        typer.Option(help="Cost of a unit that is missing.", rich_help_panel=_STOCK),
    ] = None,
    unmet: Annotated[
        str | None,
        typer.Option(
            help="What becomes of unmet demand: lost (if nothing is said) or backordered.",
            rich_help_panel=_STOCK,
        ),
    ] = None,
    shelf_life: Annotated[
        str | None,
        typer.Option(help="Days on which a unit can be sold.", rich_help_panel=_STOCK),
    ] = None,
    waste: Annotated[
        str | None, typer.Option(help="Cost of a unit that spoils.", rich_help_panel=_STOCK)
    ] = None,
    fixed: Annotated[
        str | None, typer.Option(help="Cost of an order, of any size.", rich_help_panel=_STOCK)
    ] = None,
    minimum: Annotated[
        str | None, typer.Option(help="Least units of an order.", rich_help_panel=_STOCK)
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(help="Most units of an order.", rich_help_panel=_STOCK)
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Most units of all orders together.", rich_help_panel=_STOCK),
    ] = None,
    levels: Annotated[
        Path | None,
        typer.Option(
            help="Write reorder points and order-up-to levels here.", rich_help_panel=_STOCK
        ),
    ] = None,
    projection: Annotated[
        Path | None,
        typer.Option(help="Write the stock to come here.", rich_help_panel=_STOCK),
    ] = None,
    hourly: Annotated[
        Path | None,
        typer.Option(
            help="Sales by the hour, of the same series: they tell when shelves were empty.",
            rich_help_panel=_HOURS,
        ),
    ] = None,
    receipts: Annotated[
        Path | None,
        typer.Option(
            help="Or receipts: time, item, units; they tell the same.", rich_help_panel=_HOURS
        ),
    ] = None,
    opens: Annotated[
        int | None, typer.Option(help="First hour in which shops sell.", rich_help_panel=_HOURS)
    ] = None,
    closes: Annotated[
        int | None, typer.Option(help="Hour at which shops close.", rich_help_panel=_HOURS)
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Where shops are, such as Europe/Berlin, for times with offsets.",
            rich_help_panel=_HOURS,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Parquet file that keeps suggestions, and what was made of them.",
            rich_help_panel=_LOG,
        ),
    ] = None,
    decided: Annotated[
        Path | None,
        typer.Option(
            help="Table of what was decided or delivered: series, date, order, delivered.",
            rich_help_panel=_LOG,
        ),
    ] = None,
    country: Annotated[
        str | None,
        typer.Option(help="Code for public holidays, such as DE.", rich_help_panel=_MORE),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="seasonal, linear, distribution, neural, boosted or blend; of several the "
            "cheapest.",
            rich_help_panel=_MORE,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of all that is random.", rich_help_panel=_MORE)
    ] = 0,
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
    from unmet.checks import ErrorCollector
    from unmet.planning import OrderPlan, order_report_data, replenishment_report_data
    from unmet.planning.reading import read_file
    from unmet.progress import report_progress

    till = HourFiles(hourly, receipts, opens, closes, time_zone)
    if table is None and till.path is None:
        raise InvalidInput("A table of sales must be given, or hours of the till, got neither.")
    common: dict[str, Any] = {
        "service_level": service_level,
        "date": date,
        "series": None if series is None else names(series),
        "sales": sales,
        "sold_out": _none(sold_out),
        "stock": _none(stock),
        "price": _none(price),
        "known_future": None if known_future is None else names(known_future),
        "gaps": gaps,
        "country": country,
        "random_state": seed,
    }
    shop = {
        "review": review,
        "on_hand": on_hand,
        "holding": holding,
        "shortage": shortage,
        "unmet": unmet,
        "shelf_life": shelf_life,
        "waste": waste,
        "fixed": fixed,
        "minimum": minimum,
        "capacity": capacity,
        "budget": budget,
    }
    lasts = any(each is not None for each in (*shop.values(), on_order, levels, projection))
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
        unused = {
            "horizon": horizon,
            "underage": underage,
            "overage": overage,
            "sellout_rate": sellout_rate,
            "model": model,
        }
        shop |= {"lead_time": lead_time, "lot": "auto" if step is None else step}
        planned = read_replenishment({**shop, **common}, unused, levels, wrong)
    else:
        candidates = (model or "auto").split(",")
        planned = OrderPlan(
            horizon=7 if horizon is None else horizon,
            lead_time=wrong.ask(_whole_days, lead_time) or 0,
            underage=underage,
            overage=overage,
            sellout_rate=None if sellout_rate is None else wrong.ask(sellout_rates, sellout_rate),
            model=candidates[0] if len(candidates) == 1 else [each.strip() for each in candidates],
            step="auto" if step is None else wrong.ask(lot_size, step),
            **common,
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
        by_hours = till.read(common["series"], decimal=decimal, encoding=encoding)
        assert by_hours.daily is not None
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


def _none(name: str | None) -> str | None:
    """No column has the field where the user says 'none'."""
    return "" if name == "none" else name


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
