"""Options that say which column is what: the same for every command that learns from a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.planning import Plan


# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_COLUMNS, _COSTS, _HOW = "Columns", "Costs", "Model and band"


def read_plan(
    observed: Annotated[
        str,
        typer.Option(
            help="Column of observations: sales, offered prices, times in service.",
            rich_help_panel=_COLUMNS,
        ),
    ],
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that decisions may depend on, with commas between them: numbers or text.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(
            help="Column of dates; an order rule on past sales is then looked for.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that tell series apart, such as store,item.", rich_help_panel=_COLUMNS
        ),
    ] = None,
    calendar: Annotated[
        list[str] | None,
        typer.Option(
            help="Features to make of the date: weekday, weekend, month, quarter, day, season, "
            "trend.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            help="Features that are categories although they look like numbers.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    censored_column: Annotated[
        str | None,
        typer.Option(
            help="Flags: yes where the truth is at least the observation (sold out, suspended); "
            "may be empty.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    stock_column: Annotated[
        str | None,
        typer.Option(help="What was available; may be empty.", rich_help_panel=_COLUMNS),
    ] = None,
    accepted_column: Annotated[
        str | None,
        typer.Option(help="Pricing: whether the offer was accepted.", rich_help_panel=_COLUMNS),
    ] = None,
    failed_column: Annotated[
        str | None,
        typer.Option(
            help="Replacement: whether the part had failed when it was taken out.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(help="Weight of each row.", rich_help_panel=_COLUMNS)
    ] = None,
    problem: Annotated[
        str,
        typer.Option(
            help="newsvendor (order quantities), pricing or replacement (ages).",
            rich_help_panel=_COSTS,
        ),
    ] = "newsvendor",
    underage: Annotated[
        float | None,
        typer.Option(
            help="Cost of a unit too little; of a price, of a unit too low.", rich_help_panel=_COSTS
        ),
    ] = None,
    overage: Annotated[
        float | None,
        typer.Option(
            help="Cost of a unit too much; of a price, of a unit too high.", rich_help_panel=_COSTS
        ),
    ] = None,
    underage_column: Annotated[
        str | None,
        typer.Option(help="Column of underage costs, instead.", rich_help_panel=_COSTS),
    ] = None,
    overage_column: Annotated[
        str | None,
        typer.Option(help="Column of overage costs, instead.", rich_help_panel=_COSTS),
    ] = None,
    planned: Annotated[
        float | None,
        typer.Option(help="Replacement: cost of a planned one.", rich_help_panel=_COSTS),
    ] = None,
    failure: Annotated[
        float | None, typer.Option(help="Replacement: cost of a failure.", rich_help_panel=_COSTS)
    ] = None,
    goal: Annotated[
        str, typer.Option(help="Pricing: least cost, or most revenue.", rich_help_panel=_COSTS)
    ] = "cost",
    unit_cost: Annotated[
        float,
        typer.Option(help="Pricing for revenue: what a deal costs.", rich_help_panel=_COSTS),
    ] = 0.0,
    model: Annotated[
        str, typer.Option(help="linear, neural or boosted.", rich_help_panel=_HOW)
    ] = "linear",
    band: Annotated[
        str,
        typer.Option(
            help="How far above the observation the truth may lie: latent (estimated), none, "
            "searched (as published), or two numbers low,high.",
            rich_help_panel=_HOW,
        ),
    ] = "latent",
    sellout_rate: Annotated[
        str | None,
        typer.Option(
            help="Share of rows that sold out, if you know about it: .4, or a range .3,.5.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="One model for each group of these columns, such as store,item.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of all that is random.", rich_help_panel=_HOW)
    ] = 0,
) -> Plan:
    """Make a plan of the words on the command line."""
    from unmet.planning import Plan

    plan = Plan(
        observed,
        names(features),
        problem=problem,
        underage=underage,
        overage=overage,
        underage_column=underage_column,
        overage_column=overage_column,
        planned=planned,
        failure=failure,
        goal=goal,
        unit_cost=unit_cost,
        model=model,
        band=_band(band),
        sellout_rate=_rate(sellout_rate),
        censored_column=censored_column,
        failed_column=failed_column,
        accepted_column=accepted_column,
        stock_column=stock_column,
        weight_column=weight_column,
        date=date,
        series=names(series),
        calendar=names(calendar),
        categories=names(categories),
        by=names(by),
        random_state=_seed(seed),
    )
    plan.check()
    return plan


def takes_plan(command: Callable[..., Any], **fallbacks: float) -> Callable[..., Any]:
    """Give a command the options above in place of its parameter ``plan``.

    Parameters
    ----------
    command : callable
        Has a keyword parameter ``plan``.
    **fallbacks
        Costs to take where neither a number nor a column is given.
    """
    hints = get_type_hints(command, include_extras=True, localns={"Plan": Any})
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "plan"
    ]
    shared_hints = get_type_hints(read_plan, include_extras=True, localns={"Plan": Any})
    shared = [
        parameter.replace(
            annotation=shared_hints[name],
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
        for name, parameter in inspect.signature(read_plan).parameters.items()
    ]
    shared_names = {parameter.name for parameter in shared}

    @wraps(command)
    def run(**given: Any) -> Any:
        words = {name: given.pop(name) for name in shared_names}
        for name, number in fallbacks.items():
            if words[name] is None and words[f"{name}_column"] is None:
                words[name] = number
        return command(plan=read_plan(**words), **given)

    keyword_own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    signature = inspect.Signature([*keyword_own, *shared])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return run


def names(given: list[str] | None) -> tuple[str, ...]:
    """Column names, whether an option was repeated or has commas in it."""
    parts = [part.strip() for each in given or [] for part in each.split(",")]
    if "" in parts:
        raise InvalidInput(f"Column names must not be empty, got {','.join(given or [])!r}.")
    return tuple(parts)


def _band(text: str) -> str | tuple[float, float]:
    return _pair("band", text) if "," in text else text


def _rate(text: str | None) -> float | tuple[float, float] | None:
    if text is None:
        return None
    if "," in text:
        return _pair("sellout-rate", text)
    return _number("sellout-rate", text)


def _pair(name: str, text: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:
        raise InvalidInput(f"{name} must be a word or two numbers low,high, got {text!r}.")
    return _number(name, parts[0]), _number(name, parts[1])


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{name} must be a number, got {text!r}.") from None


def _seed(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise InvalidInput(f"seed must be from 0 to 2**32 - 1, got {seed}.")
    return seed
