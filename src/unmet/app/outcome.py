"""What is assumed, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unmet.bands import Diagnosis
from unmet.planning import (
    METHODS,
    Comparison,
    Decisions,
    Plan,
    ReportContent,
    Stake,
    report_content,
)
from unmet.planning.frames import require_columns
from unmet.planning.pricing_rows import Judge
from unmet.planning.rows_of import finite

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Assumed:
    """What can be moved without learning anew; None where the plan says nothing else.

    Attributes
    ----------
    underage, overage : float or None
        Cost of a unit too little and too much; None where rows give it.
    planned, failure : float or None
        Costs of a planned replacement and of a failure.
    unit_cost : float
        Of prices that earn most.
    rate : float or None
        Share of rows assumed to hide the truth; None lets the data say.
    """

    underage: float | None = None
    overage: float | None = None
    planned: float | None = None
    failure: float | None = None
    unit_cost: float = 0.0
    rate: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What follows from what was assumed.

    Attributes
    ----------
    plan : Plan
        Fitted, with these costs and this rate.
    decisions : Decisions
    table : polars.DataFrame
        Columns that tell rows apart, then ``ignoring`` and ``decision``.
    stake : Stake or None
        What ignoring that something is hidden costs.
    hindsight : Comparison or None
        What the decisions cost on the truth, where it is known.
    notes : tuple of str
        What a reader should know.
    """

    plan: Plan
    decisions: Decisions
    table: polars.DataFrame
    stake: Stake | None
    hindsight: Comparison | None
    notes: tuple[str, ...]

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What the data say, whatever rate was assumed."""
        return self.plan.diagnosis_

    def report(self, command: str = "", title: str | None = None) -> ReportContent:
        """Give all that a report shows."""
        content = report_content(
            self.plan,
            decisions=self.table,
            comparison=self.hindsight,
            notes=self.notes,
            command=command,
            title=title,
        )
        rate = self.plan.sellout_rate
        said = content.answer
        if rate is not None:
            said = (f"Assumed: {rate:.0%} of the rows hide the truth.", *said)
        return replace(content, stake=self.stake, answer=said)


def in_hindsight(plan: Plan, rows: polars.DataFrame, found: Decisions, truth: str) -> Comparison:
    """Price decisions on the truth, beside those that take observations for it.

    Parameters
    ----------
    plan : Plan
        Fitted.
    rows : polars.DataFrame
        Those decided on, with the truth, and with the columns of costs if the plan has such.
    found : Decisions
    truth : str
        Column of the truth.

    Returns
    -------
    Comparison
    """
    names = {"underage": plan.underage_column, "overage": plan.overage_column}
    require_columns(rows, names.values(), "columns of costs")
    given = {role: finite(rows, name, f"{role}_column") for role, name in names.items() if name}
    cost = plan.cost.with_rows(**given) if given else plan.cost
    known = finite(rows, truth, "truth")
    judge = Judge(cost, known, "truth", plan.goal == "revenue", plan.unit_cost)
    priced = [judge.price("plan", plan.words, found.decision)]
    if found.ignoring is not None:
        priced.insert(0, judge.price("ieo", METHODS["ieo"], found.ignoring))
        if priced[0].cost > 0:
            priced = [replace(each, saving=1.0 - each.cost / priced[0].cost) for each in priced]
    return Comparison("truth", tuple(priced), rows.height)
