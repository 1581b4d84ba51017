"""``unmet plan``: from a table of sales to a sheet of orders for the coming days."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.options import Decimal, Encoding, Sheet, lot_size, names, sellout_rates
from unmet.cli.output import (
    check_output,
    check_report,
    check_table,
    command_line,
    print_json,
    remark,
    show_files,
    words_table,
    write_report,
    write_table,
)
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

    from unmet.planning import PanelPlan

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet plan sales.csv --horizon 7",
    "unmet plan sales.csv --horizon 7 --lead-time 2 --underage 3 --overage 1 -o orders.csv",
    "unmet plan sales.csv --horizon 14 --service-level .95 --future prices.csv --country DE",
    "unmet plan sales.csv --underage 3 --overage 1 --report report.html --currency €",
)
_COLUMNS, _COSTS, _MORE = "Columns, where the guess is wrong", "Costs", "Model"
_ROLES = {
    "date": "date",
    "series": "series",
    "sales": "sales",
    "sold_out": "sold out",
    "stock": "stock",
    "price": "price",
    "known": "known beforehand",
}


def plan(
    table: Annotated[Path, typer.Argument(help="CSV, Excel or Parquet file: a row for each day.")],
    horizon: Annotated[int, typer.Option(help="How many days orders are for.")] = 7,
    lead_time: Annotated[
        int, typer.Option(help="Days from the last one known to the first one ordered for.")
    ] = 0,
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
    country: Annotated[
        str | None,
        typer.Option(help="Code for public holidays, such as DE.", rich_help_panel=_MORE),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="weekday, line, law, network, trees or blend; auto compares all of them.",
            rich_help_panel=_MORE,
        ),
    ] = "auto",
    seed: Annotated[
        int, typer.Option(help="Seed of all that is random.", rich_help_panel=_MORE)
    ] = 0,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    currency: Annotated[str, typer.Option(help="What the report counts money in: €, EUR, …")] = "",
    save: Annotated[
        Path | None, typer.Option(help="Keep the plan here, for unmet.load in Python.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Order for the coming days: guess the columns, choose a model, write a sheet."""
    from unmet.planning import PanelPlan, panel_content, read_file, read_table
    from unmet.progress import report_progress

    wrong: list[str] = []
    lot: float | str | None = "auto"
    for check in (
        partial(check_table, output, [table, future]),
        partial(check_report, report, [table, future, output]),
        partial(check_output, save, "--save", None, [table, future, output, report]),
    ):
        try:
            check()
        except InvalidInput as error:
            wrong.append(str(error))
    rate: Any = None
    try:
        lot = "auto" if step is None else lot_size(step)
        rate = None if sellout_rate is None else sellout_rates(sellout_rate)
    except InvalidInput as error:
        wrong.append(str(error))
    planned = PanelPlan(
        horizon=horizon,
        lead_time=lead_time,
        underage=underage,
        overage=overage,
        service_level=service_level,
        sellout_rate=rate,
        date=date,
        series=None if series is None else names(series),
        sales=sales,
        sold_out=_none(sold_out),
        stock=_none(stock),
        price=_none(price),
        known_future=None if known_future is None else names(known_future),
        gaps=gaps,
        country=country,
        model=model if "," not in model else tuple(each.strip() for each in model.split(",")),
        step=lot,
        random_state=seed,
    )
    try:
        planned.check()
    except InvalidInput as error:
        wrong.append(str(error))
    wrong += [
        f"{file} must be a CSV, Excel or Parquet file, but there is no such file."
        for file in (table, future)
        if file is not None and not file.exists()
    ]
    if wrong:
        raise InvalidInput(" ".join(wrong))
    read = read_file(table, decimal=decimal, sheet=sheet, encoding=encoding)
    rows = read.table
    coming = None
    if future is not None:
        # of an Excel file the first sheet; the encoding is that of text
        said = None if future.suffix.lower() in (".xlsx", ".parquet", ".pq") else encoding
        coming = read_table(future, text=_text_of(rows), decimal=decimal, encoding=said)
    with report_progress() as step_done:
        planned.fit(rows, future=coming, progress=step_done)
    orders = planned.orders()
    files = [write_table(_as_read(orders, planned, rows, output), output, read.dialect)]
    if report is not None:
        content = panel_content(
            planned, notes=read.notes, command=command_line(), currency=currency
        )
        files += write_report(content, report)
    if save is not None:
        files.append(planned.save(save, about={"command": command_line()}))
    if as_json:
        print_json(_content(planned, orders), files)
    else:
        _show(planned, orders, rows)
    remark((*read.notes, *planned.notes_, *planned.choice_.left_out))
    show_files(files)


# --- Reading.


def _text_of(rows: polars.DataFrame) -> list[str]:
    """Columns of text, which another file must give as text as well."""
    import polars as pl

    return [name for name, kind in rows.schema.items() if kind == pl.String]


def _as_read(
    orders: polars.DataFrame, planned: PanelPlan, rows: polars.DataFrame, output: Path
) -> polars.DataFrame:
    """Orders with dates in the form that was read, where they are written as text."""
    from unmet.planning.reading import dates_as_read

    name = planned.roles_.date
    if output.suffix.lower() != ".csv" or name is None:
        return orders
    return orders.with_columns(dates_as_read(orders[name], rows[name]).alias(name))


def _none(name: str | None) -> str | None:
    """No column has the role where the user says 'none'."""
    return "" if name == "none" else name


# --- Showing.


def _content(planned: PanelPlan, sheet: polars.DataFrame) -> dict[str, Any]:
    return {
        "columns": planned.roles_.to_dict(),
        "service_level": float(planned.cost_.level),
        "choice": planned.choice_.to_dict(),
        "orders": sheet.height,
        "total": {
            name: float(sheet[name].sum())
            for name in ("order", "usual_sales", "hidden_demand", "safety")
        },
        "notes": planned.notes_,
    }


def _show(planned: PanelPlan, sheet: polars.DataFrame, rows: polars.DataFrame) -> None:
    """Print the guess, the choice and the sum of the orders, in the words of a planner."""
    import numpy as np

    from unmet.evaluation.comparison import text_table
    from unmet.planning.panel_models import WORDS

    roles, panel, choice = planned.roles_, planned.panel_, planned.choice_
    lines = []
    for role, words in _ROLES.items():
        value = getattr(roles, role)
        listed = ", ".join(value) if isinstance(value, tuple) else value
        option = "--known-future" if role == "known" else f"--{role.replace('_', '-')}"
        lines.append((words, listed or "-", roles.why.get(role, ""), option))
    typer.echo(words_table(["what", "column", "because of", "to change it"], lines))
    if roles.left_out:
        said = [f"{name} ({why})" for name, why in roles.left_out.items()]
        typer.echo(f"Not used: {', '.join(said)}.")
    dates = sheet[roles.date]
    first, last = panel.date(np.array([0, panel.n_days - 1]))
    sold_out = ""
    if panel.hidden is not None:
        sold_out = f"; {np.nanmean(panel.hidden):.0%} of the days known about sold out"
    typer.echo(f"\n{rows.height:,} rows of {panel.n_series:,} series, {first} to {last}{sold_out}.")
    typer.echo(choice.why)
    if choice.groups:
        table = [
            (
                WORDS[name],
                *(f"{choice.groups[each][name]:.3g}" for each in choice.groups),
                f"{cost:.3g}",
            )
            for name, cost in sorted(choice.cost.items(), key=lambda each: each[1])
        ]
        heads = ["cost of a day", *(f"{each} sellers" for each in choice.groups), "all"]
        typer.echo(text_table(heads, table))
    if choice.cost and not choice.honest:
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
