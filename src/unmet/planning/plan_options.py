"""A `DecisionPlan` as options, and back, for the command line and the page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from unmet.arrays import Band
from unmet.censoring import LatentBand, SearchedBand
from unmet.costs import AgeReplacement, Cost, CustomPricing, Newsvendor, Revenue
from unmet.errors import InvalidInput
from unmet.planning.decision_plan import COLUMNS, DecisionPlan
from unmet.validation import OneOf

_BY_PROBLEM = {
    "newsvendor": ("underage", "overage", "service_level"),
    "pricing": ("underage", "overage", "unit_cost"),
    "replacement": ("planned", "failure"),
}


def plan_from_options(
    observed: str,
    features: Sequence[str] | None = (),
    *,
    problem: str = "newsvendor",
    goal: str = "cost",
    band: str | tuple[float, float] = "latent",
    sellout_rate: Any = None,
    when_unidentified: Any = "expected_cost",
    seed: int = 0,
    **options: Any,
) -> DecisionPlan:
    """Make a plan from options, whose names are those of `unmet fit`; None is not given.

    Examples
    --------
    >>> options = {"features": ["price"], "underage": 3, "overage": 1, "stock_column": "stock"}
    >>> plan_from_options("sales", **options)
    DecisionPlan(columns={'stock': 'stock'}, cost=Newsvendor(underage=3.0, overage=1.0),
                 features=['price'], observed='sales')
    """
    given = {name: value for name, value in options.items() if value is not None}
    columns: dict[str, Any] = {}
    for key in COLUMNS:
        if key in ("date", "series") and key in given:
            columns[key] = given.pop(key)
        if f"{key}_column" in given:
            columns[key] = given.pop(f"{key}_column")
    names = ("underage", "overage", "service_level", "planned", "failure", "unit_cost")
    costs = {name: given.pop(name) for name in names if name in given}
    rule: Any = "auto"
    if isinstance(band, tuple):
        rule = Band(*band)
    elif OneOf("latent", "searched", "none")("band", band) != "latent":
        rule = None if band == "none" else SearchedBand(random_state=seed)
    elif sellout_rate is not None or when_unidentified != "expected_cost":
        rule = LatentBand(sellout_rate, when_unidentified=when_unidentified, random_state=seed)
    if band != "latent" and (sellout_rate is not None or when_unidentified != "expected_cost"):
        name = "sellout_rate" if sellout_rate is not None else "when_unidentified"
        raise InvalidInput(f"{name} needs band 'latent', got band {band!r}: leave one out.")
    plan = DecisionPlan(
        observed,
        features or (),
        cost=_cost(problem, goal, costs, columns),
        columns=columns or None,
        band=rule,
        random_state=seed,
        **given,
    )
    plan.check()
    return plan


def _cost(problem: str, goal: str, costs: dict[str, Any], columns: dict[str, Any]) -> Cost:
    """Cost of a problem; a number that rows give is 1."""
    OneOf(*_BY_PROBLEM)("problem", problem)
    if OneOf("cost", "revenue")("goal", goal) == "revenue" and problem != "pricing":
        raise InvalidInput(f"goal 'revenue' needs problem 'pricing', got {problem!r}.")
    wrong = [name for name in costs if name not in _BY_PROBLEM[problem]]
    if wrong:
        wanted = ", ".join(f"{each}=" for each in _BY_PROBLEM[problem])
        raise InvalidInput(
            f"{wrong[0]} must not be given with problem {problem!r}, which takes {wanted}."
        )
    if goal == "revenue":
        return Revenue(costs.get("unit_cost", 0.0))
    if "unit_cost" in costs:
        raise InvalidInput("unit_cost needs goal 'revenue', got goal 'cost'.")
    if "service_level" in costs:
        beside = [name for name in ("underage", "overage") if name in (*costs, *columns)]
        if beside:
            raise InvalidInput(f"service_level must not be given with {beside[0]}: leave one out.")
        return Newsvendor.from_service_level(costs["service_level"])
    numbers = []
    for name in _BY_PROBLEM[problem][:2]:
        if name in costs and name in columns:
            raise InvalidInput(f"{name} must not be given with {name}_column: leave one out.")
        if name not in costs and name not in columns:
            or_column = f", or {name}_column" if name in COLUMNS else ""
            raise InvalidInput(f"{name} must be given for problem {problem!r}: add it{or_column}.")
        numbers.append(costs.get(name, 1.0))
    kinds: dict[str, Any] = {
        "newsvendor": Newsvendor,
        "pricing": CustomPricing,
        "replacement": AgeReplacement,
    }
    made: Cost = kinds[problem](*numbers)
    return made


def cost_numbers(plan: DecisionPlan) -> dict[str, Any]:
    """Give the numbers of a plan's cost by the names of their options."""
    cost = plan.cost
    if isinstance(cost, AgeReplacement):
        return {"planned": cost.planned, "failure": cost.failure}
    if isinstance(cost, Revenue):
        return {"unit_cost": cost.unit_cost}
    slopes = getattr(cost, "slopes")  # noqa: B009  # costs with two slopes have it
    both = {"underage": slopes.below, "overage": slopes.above}
    return {name: value for name, value in both.items() if plan.column(name) is None}


def with_costs(plan: DecisionPlan, **costs: float) -> DecisionPlan:
    """Give a copy of a plan with other numbers in its cost, by the names of their options."""
    goal = "revenue" if isinstance(plan.cost, Revenue) else "cost"
    numbers = {**cost_numbers(plan), **costs}
    columns = plan.columns or {}
    copied: DecisionPlan = clone(plan)
    copied.cost = _cost(plan.problem, goal, numbers, dict(columns))
    return copied


def cost_options(plan: DecisionPlan) -> dict[str, str]:
    """Give the cost of a plan as options, by their names."""
    numbers = cost_numbers(plan)
    if plan.problem == "newsvendor" and len(numbers) == 2 and sum(numbers.values()) == 1.0:
        return {"service_level": word(numbers["underage"])}
    goal = {"goal": "revenue"} if "unit_cost" in numbers else {}
    return {**goal, **{name: word(value) for name, value in numbers.items()}}


def fit_command(plan: DecisionPlan, table: str, model: str = "model.unmet", *more: str) -> str:
    """Write the command that fits a plan to a file, with quoted options.

    Parameters
    ----------
    plan : DecisionPlan
        The plan.
    table, model : str
        Files to read and to write.
    *more : str
        Further options, such as the decimal sign of the file.
    """
    rule = plan.rule
    band = "" if isinstance(rule, LatentBand) else "none" if rule is None else "searched"
    if isinstance(rule, Band):
        band = f"{word(rule.low)},{word(rule.high)}"
    followed = getattr(rule, "when_unidentified", "expected_cost")
    columns = {key: name for key, name in (plan.columns or {}).items() if name}
    options = {
        "problem": plan.problem if plan.problem != "newsvendor" else "",
        "observed": plan.observed,
        "features": plan.features,
        "categories": plan.categories,
        "date": columns.pop("date", ""),
        "calendar": plan.calendar,
        "series": columns.pop("series", ""),
        "by": plan.by,
        **cost_options(plan),
        **{f"{key}_column": name for key, name in columns.items()},
        "model": plan.model if plan.model != "auto" else "",
        "band": band,
        "sellout_rate": "" if plan.sellout_rate is None else word(plan.sellout_rate),
        "when_unidentified": followed if followed != "expected_cost" else "",
        "bad_rows": plan.bad_rows if plan.bad_rows != "drop" else "",
        "seed": str(plan.random_state) if plan.random_state else "",
    }
    fit = ["unmet", "fit", table]
    for name, value in options.items():
        if len(value):
            fit += [f"--{name.replace('_', '-')}", word(value)]
    return shlex.join([*fit, *more, "-o", model])


def command_of(
    plan: DecisionPlan,
    table: str = "sales.csv",
    coming: str = "next.csv",
    *,
    step: float | None = 1,
    lower: float | None = 0,
    model: str = "model.unmet",
    orders: str = "orders.csv",
) -> str:
    """Write the commands that fit a plan and decide with it.

    Parameters
    ----------
    plan : DecisionPlan
        The plan; it need not be fitted.
    table, coming : str
        Files to learn from and to decide on.
    step, lower : float or None
        Lot size and lower bound, as for `DecisionPlan.decide`.
    model, orders : str
        Files that the commands write.

    Returns
    -------
    str
        Two lines for a shell, with quoted options.

    Examples
    --------
    >>> from unmet import DecisionPlan, Newsvendor
    >>> from unmet.planning.plan_options import command_of
    >>> plan = DecisionPlan("units sold", ["weekday"], Newsvendor(3, 1))
    >>> print(command_of(plan, step=6))
    unmet fit sales.csv --observed 'units sold' --features weekday --underage 3 --overage 1
      -o model.unmet
    unmet decide model.unmet next.csv --step 6 -o orders.csv
    """
    decide = ["unmet", "decide", model, coming]
    if step != (1 if plan.problem == "newsvendor" else None):
        decide += ["--step", "none" if step is None else word(step)]
    if lower is not None and lower != 0:
        decide += ["--lower", word(lower)]
    return f"{fit_command(plan, table, model)}\n{shlex.join([*decide, '-o', orders])}"


def word(value: Any) -> str:
    """Write a number, a name or several of them as one word of a command."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{value:.12g}"
    return ",".join(word(each) for each in value)
