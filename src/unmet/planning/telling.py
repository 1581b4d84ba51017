"""What a plan found, put together for a reader."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from unmet.planning.plan import Decisions, Plan
from unmet.planning.results import Comparison, ReportContent, Stake

if TYPE_CHECKING:
    import polars

_PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "polars", "lightgbm")
_TITLES = {
    "newsvendor": "Order quantities",
    "pricing": "Prices",
    "replacement": "Replacement ages",
}
_NOUNS = {"newsvendor": "orders", "pricing": "prices", "replacement": "ages"}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that an answer depends on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def stake(plan: Plan, n_rows: int) -> Stake | None:
    """Price the censoring if it were ignored in so many rows; None where nothing was estimated."""
    found = plan.diagnosis_
    if found is None or found.stake is None or plan.problem == "replacement":
        return None
    low, high = found.stake_range or (found.stake, found.stake)
    return Stake(found.stake, low, high, n_rows)


def decision_table(table: polars.DataFrame, plan: Plan, found: Decisions) -> polars.DataFrame:
    """Columns that tell rows apart, what ignoring would decide, and the decision."""
    import polars as pl

    names = [plan.date, *plan.series, *plan.by, *plan.features]
    keep = [name for name in dict.fromkeys(names) if name is not None and name in table.columns]
    columns = [] if found.ignoring is None else [pl.Series("ignoring", found.ignoring)]
    kept = [table[name] for name in keep]
    return pl.DataFrame([*kept, *columns, pl.Series("decision", found.decision)])


def report_content(
    plan: Plan,
    *,
    decisions: polars.DataFrame | None = None,
    comparison: Comparison | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str | None = None,
) -> ReportContent:
    """Everything that a report of a fitted plan shows.

    Parameters
    ----------
    plan : Plan
        Fitted.
    decisions : polars.DataFrame, optional
        From `decision_table`.
    comparison : Comparison, optional
        By default that of the plan.
    notes : sequence of str
        Further sentences, such as those of `Decisions`.
    command : str
        What makes this report again.
    title : str, optional
    """
    n_decisions = 0 if decisions is None else decisions.height
    comparison = plan.comparison_ if comparison is None else comparison
    at_stake = stake(plan, n_decisions or plan.n_rows_)
    return ReportContent(
        title=title or _TITLES[plan.problem],
        problem=plan.problem,
        answer=tuple(answer(plan, decisions, comparison)),
        decisions=decisions,
        n_decisions=n_decisions,
        diagnosis=plan.diagnosis_,
        comparison=comparison,
        stake=at_stake,
        level=plan.level,
        inputs=_inputs(plan),
        notes=tuple(dict.fromkeys((*plan.notes_, *notes))),
        command=command,
        versions=versions(),
    )


def answer(
    plan: Plan, decisions: polars.DataFrame | None, comparison: Comparison | None
) -> list[str]:
    """Give the main message, a sentence each."""
    said = []
    noun = _NOUNS[plan.problem]
    if decisions is not None:
        decided = decisions["decision"].to_numpy()
        mean = float(decided[np.isfinite(decided)].mean()) if np.isfinite(decided).any() else np.inf
        sentence = f"{decisions.height:,} {noun}, on average {mean:,.1f}"
        if "ignoring" in decisions.columns and plan.problem != "replacement":
            more = float((decided - decisions["ignoring"].to_numpy()).mean())
            way = "more" if more >= 0 else "less"
            sentence += f": {abs(more):,.1f} {way} than if {_seen(plan)} were the whole truth"
        said.append(sentence + ".")
    found = plan.diagnosis_
    if found is not None and found.share_censored is not None and plan.problem == "newsvendor":
        said.append(
            f"About {found.share_censored:.0%} of the rows hide demand; "
            + {
                "yes": "the data can tell.",
                "weakly": "the data can tell that, but hardly how much.",
                "no": "the data cannot tell, so the least that fits was assumed.",
                None: "nobody asked how surely.",
            }[found.identified]
        )
    if comparison is not None:
        said += _compared(comparison)
    return said


def _compared(comparison: Comparison) -> list[str]:
    saving = comparison["plan"].saving
    if saving is None:
        return []
    where = {
        "truth": "on the true values",
        "estimate": "if the estimate is right",
        "observation": "on the observations, which favour decisions that are too low",
    }[comparison.basis]
    way = "less" if saving >= 0 else "more"
    return [
        f"On {comparison.n_rows:,} rows held out, decisions cost {abs(saving):.1%} {way} than "
        f"those of the same model that ignores censoring ({where})."
    ]


def _seen(plan: Plan) -> str:
    return "sales" if plan.problem == "newsvendor" else "offers"


def _inputs(plan: Plan) -> dict[str, str]:
    """Name what went in."""
    shown = {
        "problem": plan.problem,
        "rows learned from": f"{plan.n_rows_:,}",
        "observation": plan.observed,
        "features": ", ".join(plan.features),
        "calendar features": ", ".join(plan.calendar),
        "one model for each": ", ".join(plan.by),
        "date": plan.date or "",
        "series": ", ".join(plan.series),
        "flags": plan.censored_column or plan.failed_column or plan.accepted_column or "",
        "stock": plan.stock_column or "",
        "model": plan.model if plan.problem != "replacement" else "",
        "band": plan.words.partition(", ")[2],
    }
    if plan.problem == "replacement":
        shown["costs"] = f"planned {plan.planned:g}, failure {plan.failure:g}"
    elif plan.goal == "revenue":
        shown["goal"] = f"most revenue above a unit cost of {plan.unit_cost:g}"
    else:
        shown["cost of a unit too little"] = _cost(plan.underage, plan.underage_column)
        shown["cost of a unit too much"] = _cost(plan.overage, plan.overage_column)
    return {name: value for name, value in shown.items() if value}


def _cost(number: float | None, column: str | None) -> str:
    return f"{number:g}" if number is not None else f"column {column}"
