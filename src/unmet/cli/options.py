"""Options that say which column is what: the same for every command that learns from a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from unmet.errors import InvalidInput

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

Named = Mapping[str, tuple[Any, Any, str]]
"""Name → type, default (... must be given), what the help says."""
Options = Mapping[str, Named]
"""Panel of the help → options."""
_CALLED = {"output": ("--output", "-o"), "as_json": ("--json",)}


def word(text: str) -> tuple[Any, Any, str]:
    """Option of one word, such as a column, which may be left out."""
    return str | None, None, text


def several(text: str) -> tuple[Any, Any, str]:
    """Option of several words: repeated, or with commas between them."""
    return list[str] | None, None, text


def amount(text: str) -> tuple[Any, Any, str]:
    """Option of a number, which may be left out."""
    return float | None, None, text


def file(text: str) -> tuple[Any, Any, str]:
    """Option of a file, which may be left out."""
    return Path | None, None, text


def flag(text: str) -> tuple[Any, Any, str]:
    """Option that is given or not."""
    return bool, False, text


READ: Named = {
    "decimal": word("Decimal sign of a CSV file that cannot tell itself: . or a comma."),
    "sheet": word(
        "Sheet of an Excel file to read; by default the first with a table, and those like it."
    ),
    "encoding": word("Encoding of a text file, where the guess is wrong: utf-8, …"),
    "as_json": flag("Print JSON instead of text."),
}
FILES: Named = {
    "report": file("Write an HTML report here."),
    "currency": (str, "", "What the report counts money in: €, EUR, …"),
    **READ,
}
SHOPS: Named = {
    "opens": (int | None, None, "First hour in which shops sell."),
    "closes": (int | None, None, "Hour at which shops close."),
    "time_zone": word("Where shops are, such as Europe/Berlin, for times with offsets."),
}
HOURS: Named = {
    "hourly": file("Sales by the hour: they tell when shelves were empty."),
    "receipts": file("Or receipts: time, item, units; they tell the same."),
    **SHOPS,
}
_OPTIONS: Options = {
    "Columns": {
        "observed": (str, ..., "Column of observations: sales, offered prices, times in service."),
        "features": several(
            "Columns that decisions may depend on, with commas between them: numbers or text."
        ),
        "date": word("Column of dates; an order rule on past sales is then looked for."),
        "series": several("Columns that tell series apart, such as store,item."),
        "calendar": several(
            "Features to make of the date: weekday, weekend, month, quarter, day, season, trend."
        ),
        "categories": several("Features that are categories although they look like numbers."),
        "censored_column": word(
            "Flags: yes where the truth is at least the observation (sold out, suspended); may be "
            "empty."
        ),
        "stock_column": word("What was available; may be empty."),
        "accepted_column": word("Pricing: whether the offer was accepted."),
        "failed_column": word("Replacement: whether the part had failed when it was taken out."),
        "entry_column": word("Replacement: age of the part when records began; 0 for a new one."),
        "weight_column": word("Weight of each row."),
        "bad_rows": (
            str,
            "drop",
            "Rows with negative sales, or less stock than sales: drop them, clip (0 sales, as much "
            "stock as was sold), or refuse the table.",
        ),
    },
    "Costs": {
        "problem": (str, "newsvendor", "newsvendor (order quantities), pricing or replacement."),
        "underage": amount("Cost of a unit too little; of a price, of a unit too low."),
        "overage": amount("Cost of a unit too much; of a price, of a unit too high."),
        "underage_column": word("Column of underage costs, instead."),
        "overage_column": word("Column of overage costs, instead."),
        "service_level": amount(
            "Share of rows whose order should cover the demand, such as .95, instead of two costs."
        ),
        "planned": amount("Replacement: cost of a planned one."),
        "failure": amount("Replacement: cost of a failure."),
        "goal": (str, "cost", "Pricing: least cost, or most revenue."),
        "unit_cost": amount("Pricing for revenue: what a deal costs."),
    },
    "Model and band": {
        "model": (
            str,
            "auto",
            "seasonal, linear, distribution, neural, boosted or blend; of several with commas "
            "between them the one that costs least on time held out. auto is linear,distribution.",
        ),
        "band": (
            str,
            "latent",
            "How far above the observation the truth may lie: latent (estimated), none, searched "
            "(as published), or two numbers low,high.",
        ),
        "sellout_rate": word(
            "Share of rows that sold out, if you know about it: .4, or a range .3,.5."
        ),
        "when_unidentified": (
            str,
            "expected_cost",
            "Where the data cannot tell how much is hidden: expected_cost (the least expected "
            "cost, by what sell-out rates are usual), least_censoring (as little as may be), or "
            "minimax_regret (the smallest possible loss against knowing the truth).",
        ),
        "by": several("One model for each group of these columns, such as store,item."),
        "seed": (int, 0, "Seed of all that is random."),
    },
}


def lot_size(text: str) -> float | None:
    """Read the size of a lot; None where fractions are kept."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"--step must be a number or 'none', got {text!r}.") from None


def rates(text: str) -> float | tuple[float, float]:
    """Read a sell-out rate, or a range of two."""
    found: float | tuple[float, float] = _numbers("sellout_rate", text)
    return found


def levels(given: list[str] | None) -> list[float]:
    """Read levels of quantiles."""
    try:
        found = [float(each) for each in names(given)] if given else []
    except ValueError:
        found = [0.0]
    if any(not 0 < each < 1 for each in found):
        raise InvalidInput(
            f"--quantiles must be numbers above 0 and below 1, such as .1,.5,.9, got "
            f"{','.join(given or [])!r}."
        )
    return found


def models(text: str) -> str | tuple[str, ...]:
    """Read the name of a model, or several to compare."""
    listed = tuple(each.strip() for each in text.split(","))
    return listed[0] if len(listed) == 1 else listed


def takes_plan(
    command: Callable[..., Any], options: Options, **fallbacks: float
) -> Callable[..., Any]:
    """Give a command the options of a plan in place of its parameter ``plan``, and its own ones.

    Parameters
    ----------
    command : callable
        Has keyword parameters ``plan`` and ``words``; with fallbacks also ``costs_given``.
    options : Options
        Its own.
    **fallbacks
        Costs to take where neither a number nor a column is given; the command is then told so.
    """

    @wraps(command)
    def run(words: dict[str, Any], **given: Any) -> Any:
        from unmet.planning.plan_options import plan_from_options
        from unmet.validation import WholeNumber

        asked = {name: words.pop(name) for panel in _OPTIONS.values() for name in panel}
        if fallbacks and asked["problem"] != "replacement" and asked["goal"] != "revenue":
            costs = ("underage", "overage", "underage_column", "overage_column", "service_level")
            given["costs_given"] = any(asked[name] is not None for name in costs)
            if not given["costs_given"]:
                asked |= fallbacks
        WholeNumber(0, 2**32 - 1)("seed", asked["seed"])
        for name in ("features", "series", "calendar", "categories", "by"):
            asked[name] = names(asked[name])
        asked["model"] = models(asked["model"])
        if "," in asked["band"]:
            asked["band"] = _numbers("band", asked["band"])
        if asked["sellout_rate"] is not None:
            asked["sellout_rate"] = rates(asked["sellout_rate"])
        return command(plan=plan_from_options(**asked), words=words, **given)

    return takes_words(run, {**_OPTIONS, **options})


def takes_words(command: Callable[..., Any], options: Options) -> Callable[..., Any]:
    """Give a command the options of a table, in place of its parameter ``words``: all by name."""
    hints = get_type_hints(command, include_extras=True, localns={"DecisionPlan": Any})
    parameters = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in ("words", "plan", "costs_given")
    ]
    shared = []
    for panel, named in options.items():
        for name, (kind, default, text) in named.items():
            # flags have no opposite
            called = _CALLED.get(name, (f"--{name.replace('_', '-')}",) if kind is bool else ())
            option = typer.Option(*called, help=text, rich_help_panel=panel)
            shared.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if default is ... else default,
                    annotation=Annotated[kind, option],
                )
            )

    @wraps(command)
    def run(**given: Any) -> Any:
        return command(words={each.name: given.pop(each.name) for each in shared}, **given)

    signature = inspect.Signature([*parameters, *shared])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return run


def names(given: list[str] | None) -> tuple[str, ...]:
    """Column names, whether an option was repeated or has commas in it."""
    parts = [part.strip() for each in given or [] for part in each.split(",")]
    if "" in parts:
        raise InvalidInput(f"Column names must not be empty, got {','.join(given or [])!r}.")
    return tuple(parts)


def _numbers(name: str, text: str) -> Any:
    """Read a number, or two with a comma between them."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = ()
    if len(found) not in (1, 2):
        raise InvalidInput(f"{name} must be a number, or two as low,high, got {text!r}.")
    return found[0] if len(found) == 1 else found
