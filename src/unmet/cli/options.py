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
    "decimal": word("Decimal sign of the CSV file, a point or a comma; detected by default."),
    "sheet": word("Excel sheet to read; by default the first table and sheets with its columns."),
    "encoding": word("Encoding of the text file, such as utf-8; detected by default."),
    "details": flag("Print all notes, and the statistics behind the result."),
    "as_json": flag("Print JSON instead of text."),
}
FILES: Named = {
    "report": file("Write an HTML report to this file."),
    "currency": (str, "", "Currency of the costs in the report, such as € or EUR."),
    **READ,
}
SHOPS: Named = {
    "opens": (int | None, None, "Hour at which shops open, from 0 to 23."),
    "closes": (int | None, None, "Hour at which shops close, from 1 to 24."),
    "time_zone": word("Time zone of the shops, such as Europe/Berlin, for times with offsets."),
}
HOURS: Named = {
    "hourly": file("Table of hourly sales, from which stock-outs are detected."),
    "receipts": file("Table of receipts (time, item, units), instead of hourly sales."),
    **SHOPS,
}
_OPTIONS: Options = {
    "Columns": {
        "observed": (str, ..., "Column of sales, offered prices or times in service."),
        "features": several("Feature columns, numbers or text, separated by commas."),
        "date": word("Column of dates; enables the detection of order rules."),
        "series": several("Columns that identify a series, such as store,item."),
        "calendar": several(
            "Calendar features to add: weekday, weekend, month, quarter, day, season, trend."
        ),
        "categories": several("Numeric features to treat as categories."),
        "censored_column": word(
            "Column of flags: yes if the row sold out or was suspended, no if not, or empty."
        ),
        "stock_column": word("Column of available stock; cells may be empty."),
        "accepted_column": word("Pricing: column that says whether the offer was accepted."),
        "failed_column": word("Replacement: column that says whether the part failed."),
        "entry_column": word("Replacement: column of ages at which records began; 0 if new."),
        "weight_column": word("Column of row weights."),
        "bad_rows": (
            str,
            "drop",
            "Rows with negative sales, or with less stock than sales: drop, clip (to 0 sales, or "
            "to stock equal to sales) or refuse.",
        ),
    },
    "Costs": {
        "problem": (str, "newsvendor", "newsvendor (order quantities), pricing or replacement."),
        "underage": amount("Cost of each unit that an order or price is too low."),
        "overage": amount("Cost of each unit that an order or price is too high."),
        "underage_column": word("Column of underage costs, instead of --underage."),
        "overage_column": word("Column of overage costs, instead of --overage."),
        "service_level": amount(
            "Share of rows whose order covers demand, such as .95; replaces the two costs."
        ),
        "planned": amount("Replacement: cost of a planned replacement."),
        "failure": amount("Replacement: cost of a failure."),
        "goal": (str, "cost", "Pricing: minimize cost, or maximize revenue."),
        "unit_cost": amount("Pricing, goal revenue: cost of a deal to you."),
    },
    "Model and band": {
        "model": (
            str,
            "auto",
            "seasonal, linear, distribution, neural, boosted or blend; of several, separated by "
            "commas, the cheapest in a backtest. auto is linear,distribution.",
        ),
        "band": (
            str,
            "latent",
            "How far the truth may lie above the observation: latent (estimated), none, searched "
            "(as published), or two numbers low,high.",
        ),
        "sellout_rate": word("Share of rows that sold out, such as .4, or a range .3,.5."),
        "when_unidentified": (
            str,
            "expected_cost",
            "Rule for data that do not identify the sell-out rate: expected_cost (least expected "
            "cost over typical rates), least_censoring (lowest rate that fits) or minimax_regret "
            "(smallest worst-case loss).",
        ),
        "by": several("Columns whose groups get a model each, such as store,item."),
        "seed": (int, 0, "Random seed."),
    },
}


def lot_size(text: str) -> float | None:
    """Read the size of a lot; None where fractions are kept."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(
            f"--step must be a number, such as 6, or 'none', got {text!r}."
        ) from None


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
        raise InvalidInput(
            f"Column names must be separated by single commas, got {','.join(given or [])!r}."
        )
    return tuple(parts)


def _numbers(name: str, text: str) -> Any:
    """Read a number, or two with a comma between them."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = ()
    if len(found) not in (1, 2):
        raise InvalidInput(
            f"{name} must be a number, or two numbers low,high such as .1,.3, got {text!r}."
        )
    return found[0] if len(found) == 1 else found
