"""``unmet plan`` where stock lasts: the next order, given what is there and on its way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmet.cli.output import labels_table, show_columns

if TYPE_CHECKING:
    import polars

    from unmet.planning import OrderPlan
    from unmet.validation import ErrorCollector

_SHOWN = 12  # series of the short table
_NUMBERS = (
    "lead_time",
    "review",
    "holding",
    "shortage",
    "shelf_life",
    "waste",
    "fixed",
    "lot",
    "minimum",
    "capacity",
)
_RULES = (*_NUMBERS, "unmet", "budget")
_COLUMNS = (
    *("date", "series", "sales", "sold_out", "stock", "price", "known_future", "on_hand", "gaps"),
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


def read_replenishment(
    words: dict[str, Any], unused: dict[str, Any], levels: Path | None, wrong: ErrorCollector
) -> OrderPlan:
    """Make a plan of the words on the command line.

    Parameters
    ----------
    words : dict
        Of `SupplyRules`, `Schema` and `OrderPlan`; numbers as text, which may name columns.
    unused : dict
        Options of orders for single days, None where they were not given.
    levels : Path or None
        Where levels are to be written.
    wrong : ErrorCollector
        Is told what does not fit together.
    """
    from unmet.costs import Newsvendor
    from unmet.inventory import SupplyRules
    from unmet.planning import OrderPlan, Schema

    for name, why in _INSTEAD.items():
        if unused[name] is not None:
            option = f"--{name.replace('_', '-')}"
            wrong.sentences.append(f"{option} must not be given where stock lasts: {why}.")
    words = {name: value for name, value in words.items() if value is not None}
    words |= {name: number_or_column(words[name]) for name in _NUMBERS if name in words}
    level = words.pop("service_level", None)
    if level is not None and {"holding", "shortage"} & words.keys():
        wrong.sentences.append(
            "--service-level must not be given beside --holding and --shortage, got both."
        )
    if words["lot"] == "none":
        words["lot"] = None
    life = words.get("shelf_life")
    if levels is not None and isinstance(life, int | float) and life > 1:
        wrong.sentences.append(
            "--levels must not be given beside --shelf-life: what is about to spoil counts in "
            "levels as much as what is fresh."
        )
    rules = {name: words.pop(name) for name in _RULES if name in words}
    schema = {name: words.pop(name) for name in _COLUMNS if name in words}
    supply = wrong.ask(SupplyRules, **rules) or SupplyRules()
    cost = None if level is None else wrong.ask(Newsvendor.from_service_level, level)
    return OrderPlan(cost=cost, supply=supply, schema=Schema(**schema), **words)


def number_or_column(text: str) -> float | str:
    """Read a number; anything else names a column."""
    try:
        found = float(text)
    except ValueError:
        return text
    return int(found) if found.is_integer() else found


# --- Showing.


def replenishment_content(planned: OrderPlan, sheet: polars.DataFrame) -> dict[str, Any]:
    """Give what is printed as JSON."""
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


def show_replenishment(planned: OrderPlan, sheet: polars.DataFrame, rows: polars.DataFrame) -> None:
    """Print the guess, the orders in a few sentences, and the series that are most urgent."""
    from unmet.planning.order_report import urgent_first

    on_hand = planned.schema_.on_hand
    more = [("on hand", on_hand or "-", "given" if on_hand else "", "--on-hand")]
    show_columns(planned.schema_, planned.panel_, rows.height, more)
    typer.echo(planned.in_words())
    if planned.overrides_ is not None and planned.overrides_.count:
        typer.echo(str(planned.overrides_))
    urgent = urgent_first(sheet).head(_SHOWN)
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
