"""The command lines that do what the page does."""

from __future__ import annotations

import shlex
from typing import Any

from unmet.planning import Plan

_DEFAULTS = {"problem": "newsvendor", "model": "linear", "band": "latent", "goal": "cost"}


def command_of(
    plan: Plan,
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
    plan : Plan
    table, coming : str
        Files to learn from and to decide on.
    step, lower : float or None
        As for `Plan.decide`.
    model, orders : str
        Files that the commands write.

    Returns
    -------
    str
        Two lines for a shell, each option quoted where it must be.

    Examples
    --------
    >>> from unmet.planning import Plan
    >>> plan = Plan("units sold", ["weekday"], underage=3, overage=1)
    >>> print(command_of(plan, step=6))
    unmet fit sales.csv --observed 'units sold' --features weekday --underage 3 --overage 1
      -o model.unmet
    unmet decide model.unmet next.csv --step 6 -o orders.csv
    """
    fit = ["unmet", "fit", table, *_options(plan), "-o", model]
    limits: list[str] = []
    if step != (1 if plan.problem == "newsvendor" else None):
        limits += ["--step", "none" if step is None else _number(step)]
    if lower is not None and lower != 0:
        limits += ["--lower", _number(lower)]
    decide = ["unmet", "decide", model, coming, *limits, "-o", orders]
    return f"{_joined(fit)}\n{_joined(decide)}"


def _options(plan: Plan) -> list[str]:
    """Options of what differs from the defaults, in the order in which one would type them."""
    rate = plan.sellout_rate
    given: dict[str, Any] = {
        "problem": plan.problem,
        "observed": plan.observed,
        "features": plan.features,
        "categories": plan.categories,
        "date": plan.date,
        "calendar": plan.calendar,
        "series": plan.series,
        "by": plan.by,
        "underage": plan.underage,
        "underage-column": plan.underage_column,
        "overage": plan.overage,
        "overage-column": plan.overage_column,
        "planned": plan.planned,
        "failure": plan.failure,
        "goal": plan.goal,
        "unit-cost": plan.unit_cost if plan.goal == "revenue" else None,
        "model": plan.model,
        "band": plan.band,
        "sellout-rate": rate,
        "censored-column": plan.censored_column,
        "failed-column": plan.failed_column,
        "accepted-column": plan.accepted_column,
        "stock-column": plan.stock_column,
    }
    words: list[str] = []
    for name, value in given.items():
        if value is None or value == _DEFAULTS.get(name) or _is_empty(value):
            continue
        words += [f"--{name}", _word(value)]
    return words


def _is_empty(value: Any) -> bool:
    return not isinstance(value, str | int | float) and not len(value)


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return _number(value)
    return ",".join(_word(each) for each in value)


def _number(value: float) -> str:
    return f"{value:.12g}"


def _joined(words: list[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)
