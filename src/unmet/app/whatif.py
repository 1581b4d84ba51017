"""What changes if costs or the rate change: learn once, decide again in a moment."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from unmet.app.outcome import Assumed, Outcome, in_hindsight
from unmet.app.rates import AssumedRates
from unmet.band import Array, Band
from unmet.bands import Diagnosis, LatentBand
from unmet.costs import AgeReplacement, Cost
from unmet.errors import InvalidInput
from unmet.models import LinearDecision
from unmet.planning import Plan, Stake, decision_table, stake
from unmet.planning.deciders import AgeDecider, ModelDecider, RevenueDecider
from unmet.planning.frames import as_polars, require_columns
from unmet.planning.rows_of import TableRows

MOST_ROWS = 5_000
"""Rows from which the page learns how much is hidden; more would take longer than one waits."""


class WhatIf:
    """A plan that has learned from a table once and answers for other costs at once.

    What the observations hide does not depend on what mistakes cost, so it is learned once. For
    other costs only the linear model is fitted again.

    Parameters
    ----------
    plan : Plan
        With a linear model and a latent band, for all rows together; it is copied. Its costs and
        its rate are those that `outcome` is given.
    table : table of pandas, polars or pyarrow
    max_rows : int or None, default=5_000
        Learn how much is hidden from so many rows at most; None takes as many as `LatentBand`
        does. The model of decisions takes all rows.

    Attributes
    ----------
    rates : AssumedRates or None
        None where no rate can be assumed.

    Examples
    --------
    >>> from unmet.planning import EXAMPLE, Plan, example
    >>> tables = example()
    >>> what_if = WhatIf(Plan(**EXAMPLE), tables.sales.tail(400))
    >>> found = what_if.outcome(Assumed(underage=3, overage=1), tables.coming)
    >>> more = what_if.outcome(Assumed(underage=9, overage=1), tables.coming)
    >>> bool((more.decisions.decision >= found.decisions.decision).all())
    True
    """

    def __init__(self, plan: Plan, table: Any, *, max_rows: int | None = MOST_ROWS) -> None:
        if plan.by or plan.model != "linear" or plan.band != "latent":
            raise InvalidInput(
                "The what-if page needs a linear model with band 'latent' for all rows together, "
                f"got model {plan.model!r}, band {plan.band!r} and by {list(plan.by)}."
            )
        self._plan: Plan = clone(plan).set_params(sellout_rate=None)
        self._plan.check()
        self._rows: TableRows = self._plan.rows(table)
        self._encoder = self._plan.encoder(self._rows.table)
        self._plan.encoder_ = self._encoder
        self._features = self._plan.encode(self._rows.table)
        remarks = () if self._encoder is None else self._encoder.remarks(self._rows.table)
        self._notes = (*self._rows.notes, *remarks)
        self._learn(LatentBand().max_rows if max_rows is None else max_rows)

    def _learn(self, max_rows: int) -> None:
        plan, rows, features = self._plan, self._rows, self._features
        self.rates: AssumedRates | None = None
        self._learned: Any = None
        if features is None:
            return  # one age for all is computed anew each time
        rule = LatentBand(max_rows=max_rows, random_state=plan.random_state)
        if plan.problem == "replacement":
            cost = plan.cost
            assert isinstance(cost, AgeReplacement)
            rule.families = ["weibull", "lognormal"]
            self._learned = AgeDecider(cost, rule).fit(features, rows)
            self._unflagged = AgeDecider(cost, rule, know_flags=False).fit(features, rows)
            return
        if plan.goal == "revenue":
            self._learned = RevenueDecider(plan.cost, rule).fit(features, rows)
            return
        model = LinearDecision(plan.cost, rule)
        self._learned = ModelDecider(model, offers=plan.problem == "pricing").fit(features, rows)
        rates = AssumedRates(self._learned.rule_)
        self.rates = rates if rates.possible else None
        self._assumed_rates = rates

    @property
    def sampled(self) -> bool:
        """Whether what is hidden was learned from a part of the rows."""
        found = getattr(self._learned, "rule_", None)
        return found is not None and self._rows.observed.size > found.max_rows

    def outcome(
        self,
        assumed: Assumed,
        table: Any,
        *,
        step: float | None = 1,
        lower: float | None = 0,
        truth: str | None = None,
    ) -> Outcome:
        """Decide on the rows of a table under what is assumed.

        Parameters
        ----------
        assumed : Assumed
        table : table of pandas, polars or pyarrow
        step, lower : as for `Plan.decide`
        truth : str, optional
            Column of the truth, to see what the decisions would have cost.

        Returns
        -------
        Outcome
        """
        rows = as_polars(table)
        require_columns(rows, [truth], "truth")
        plan = self.plan(assumed)
        found = plan.decide(rows, step, lower)
        return Outcome(
            plan=plan,
            decisions=found,
            table=decision_table(rows, plan, found),
            stake=self._stake(plan, rows.height),
            hindsight=None if truth is None else in_hindsight(plan, rows, found, truth),
            notes=tuple(dict.fromkeys((*found.notes, *self._remarks(plan)))),
        )

    def plan(self, assumed: Assumed) -> Plan:
        """Give the plan with these costs and this rate, fitted."""
        plan: Plan = clone(self._plan).set_params(**self._words(assumed))
        plan.check()
        if self._learned is None:
            return plan.fit(self._rows.table)
        plan.encoder_, plan.notes_, plan.n_rows_ = (
            self._encoder,
            self._notes,
            self._rows.observed.size,
        )
        plan.ignoring_ = plan.comparison_ = None
        if plan.problem == "replacement":
            plan.decider_ = _other_ages(self._learned, plan.cost)
            plan.decider_.rule_.diagnosis_ = self._learned.rule_.diagnosis_for(plan.cost)
            plan.ignoring_ = _other_ages(self._unflagged, plan.cost)
        elif plan.goal == "revenue":
            plan.decider_ = RevenueDecider(plan.cost, self._learned.rule, plan.unit_cost)
            plan.decider_.rule_ = self._learned.rule_
        else:
            plan.decider_, plan.ignoring_ = self._models(plan)
        return plan

    def _words(self, assumed: Assumed) -> dict[str, Any]:
        """Costs of the problem at hand; those of others are left alone."""
        if self._plan.problem == "replacement":
            return {"planned": assumed.planned, "failure": assumed.failure}
        if self._plan.goal == "revenue":
            return {"unit_cost": assumed.unit_cost}
        words: dict[str, Any] = {"sellout_rate": assumed.rate}
        names = [n for n in ("underage", "overage") if getattr(self._plan, f"{n}_column") is None]
        for name in names:
            words[name] = getattr(assumed, name)
            if len(names) == 1 and words[name] != getattr(self._plan, name):
                raise InvalidInput(
                    f"{name} must be that of the plan where rows give the other cost, "
                    f"{getattr(self._plan, name)}, got {words[name]}."
                )
        return words

    def _models(self, plan: Plan) -> tuple[_Refitted, _Refitted]:
        rows, rule, rates = self._rows, self._learned.rule_, self._assumed_rates
        cost = plan.cost
        given = {"underage": rows.underage, "overage": rows.overage}
        costs = {name: each for name, each in given.items() if each is not None}
        priced = cost.with_rows(**costs) if costs else cost
        if isinstance(plan.sellout_rate, float):
            band = rates.band(self._features, plan.sellout_rate, priced)
        else:
            band = rule.band(self._features, cost=priced, observation=rows.observed)
        found = rates.diagnosis(None if costs else cost)

        def fit(within: Band | None) -> LinearDecision:
            model = LinearDecision(cost, within)
            return model.fit(self._features, rows.observed, sample_weight=rows.weight, **costs)

        return _Refitted(fit(band), rule, found), _Refitted(fit(None))

    def _stake(self, plan: Plan, n_rows: int) -> Stake | None:
        rate, found = plan.sellout_rate, plan.diagnosis_
        if not isinstance(rate, float) or found is None or self.rates is None:
            return stake(plan, n_rows)
        per_row = self.rates.stake(rate, found)
        return Stake(per_row, per_row, per_row, n_rows)

    def _remarks(self, plan: Plan) -> list[str]:
        """Say how this differs from what the command line would do."""
        said = []
        found, rate = plan.diagnosis_, plan.sellout_rate
        if isinstance(rate, float) and found is not None:
            if found.share_is_seen:
                said.append(
                    "Which rows hide the truth was counted, so another rate is a mere what-if: "
                    "the command line keeps to what was counted."
                )
            else:
                said.append(
                    "The rate is varied within the chosen explanation; the command line explains "
                    "the data anew with the rate imposed, which may differ a little."
                )
        if self.sampled:
            said.append(
                f"For speed the page learned how much is hidden from "
                f"{self._learned.rule_.max_rows:,} of {self._rows.observed.size:,} rows; the "
                "command line takes more."
            )
        return said


@dataclass(frozen=True)
class _Refitted:
    """A model fitted again beside the rule that was fitted before."""

    model: LinearDecision
    rule_: LatentBand | None = None
    diagnosis_: Diagnosis | None = None

    def decide(
        self,
        features: Any,
        step: ArrayLike | None,
        lower: ArrayLike | None,
        upper: ArrayLike | None,
        minimum: ArrayLike | None,
    ) -> Array:
        return self.model.decide(features, step, lower, upper, minimum=minimum)


def _other_ages(learned: AgeDecider, cost: Cost) -> AgeDecider:
    """Let a law of lifetimes that was learned price ages with another cost."""
    assert isinstance(cost, AgeReplacement)
    assert learned.rule_ is not None
    decider = AgeDecider(cost, learned.rule, learned.know_flags)
    decider.rule_ = copy(learned.rule_)
    decider.rule_.cost_ = cost
    decider.found_ = {}
    return decider
