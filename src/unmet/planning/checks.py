"""Whether the words of a plan fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.errors import InvalidInput
from unmet.planning.settings import PROBLEMS, make_band, make_model, one_of

if TYPE_CHECKING:
    from unmet.planning.plan import Plan


def check_words(plan: Plan) -> None:
    """Refuse words that do not fit together, before anything is read."""
    one_of("problem", plan.problem, PROBLEMS)
    one_of("goal", plan.goal, ("cost", "revenue"))
    _check_costs(plan)
    _check_flags(plan)
    make_band(plan.band, plan.sellout_rate, plan.random_state)
    make_model(plan.model, plan.cost, None, plan.random_state)
    if (plan.goal == "revenue" or plan.problem == "replacement") and plan.band != "latent":
        raise InvalidInput(
            f"Prices of most revenue and ages of replacement need band 'latent', got {plan.band!r}."
        )
    if plan.goal == "revenue" and plan.problem != "pricing":
        raise InvalidInput(f"goal 'revenue' is for problem 'pricing', got {plan.problem!r}.")
    if plan.unit_cost != 0.0 and plan.goal != "revenue":
        raise InvalidInput(f"unit_cost is for goal 'revenue', got goal {plan.goal!r}.")
    if plan.by and (plan.problem == "replacement" or plan.goal == "revenue"):
        raise InvalidInput("by is for models of orders and prices that cost by the unit.")


def _check_costs(plan: Plan) -> None:
    if plan.problem == "replacement":
        plan.cost  # noqa: B018  # complains of what is missing
        return
    for name in ("underage", "overage"):
        number, column = getattr(plan, name), getattr(plan, f"{name}_column")
        if number is not None and column is not None:
            raise InvalidInput(f"{name} and {name}_column must not both be given, got both.")
        if number is None and column is None and plan.goal == "cost":
            raise InvalidInput(f"{name} must be given, a number or a column, got neither.")
    plan.cost  # noqa: B018
    for name in ("planned", "failure"):
        if getattr(plan, name) is not None:
            raise InvalidInput(f"{name} is for problem 'replacement', got {plan.problem!r}.")


def _check_flags(plan: Plan) -> None:
    """Each problem has its own flags."""
    allowed = {
        "newsvendor": ("censored_column", "stock_column"),
        "pricing": ("accepted_column",),
        "replacement": ("censored_column", "failed_column"),
    }[plan.problem]
    for name in ("censored_column", "failed_column", "accepted_column", "stock_column"):
        if getattr(plan, name) is None:
            continue
        if name not in allowed:
            raise InvalidInput(
                f"{name} is not for problem {plan.problem!r}, which takes {' and '.join(allowed)}."
            )
        if plan.band not in ("latent", "searched"):
            raise InvalidInput(f"{name} is only used by band 'latent', got {plan.band!r}.")
    if plan.censored_column is not None and plan.failed_column is not None:
        raise InvalidInput("censored_column and failed_column must not both be given, got both.")
