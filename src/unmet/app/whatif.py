"""Decisions for other costs or rates: fit once, decide again at once.

The amount that observations hide does not depend on the cost of mistakes, so it is estimated once.
The same holds for each assumed rate. This module does not need streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from unmet.arrays import Band
from unmet.censoring import Diagnosis
from unmet.censoring.latent.unidentified import at_rate
from unmet.censoring.model import equally_likely, mean_cost
from unmet.errors import InvalidInput
from unmet.estimators import LinearDecision
from unmet.evaluation.backtest import ModelChoice
from unmet.planning import DecisionPlan, decision_table
from unmet.planning.backtest import in_hindsight
from unmet.planning.decision_models import (
    AUTO,
    LABELS,
    HeldOut,
    ModelEstimator,
    candidates,
    given_costs,
)
from unmet.planning.decision_report import keep_history
from unmet.planning.plan_options import cost_numbers, with_costs
from unmet.report.data import report_data, stake_of
from unmet.tables.reading import TableRows, as_polars, require_columns

MAX_ROWS = 5_000
"""Rows from which the page learns how much is hidden; more would take longer than one waits."""


class WhatIf:
    """A plan that is fitted to a table once and then decides for other costs at once.

    The amount that observations hide does not depend on the cost of mistakes, so it is estimated
    once. For other costs only the linear model is fitted again. If it is known which rows sold out,
    linear model and distribution are compared again, too.

    Parameters
    ----------
    plan : DecisionPlan
        Plan with a linear model or the distribution and a latent band, for all rows together; it is
        copied. `outcome` replaces its costs and its rate.
    table : table of pandas, polars or pyarrow
        Training rows.
    max_rows : int or None, default=5_000
        Largest number of rows from which the hidden amount is estimated. Smaller values are faster
        and less precise. None takes as many as `LatentBand` does. The decision model uses all rows.

    Attributes
    ----------
    takes_rates : bool
        Whether you can assume a sell-out rate. It is False if limits say more about every row than
        a rate.

    Examples
    --------
    >>> from unmet.app import WhatIf
    >>> from unmet.planning import example
    >>> from unmet.planning.plan_options import plan_from_options
    >>> from unmet.planning.example import EXAMPLE
    >>> tables = example()
    >>> what_if = WhatIf(plan_from_options(**EXAMPLE), tables.sales.tail(400))
    >>> found = what_if.outcome({"underage": 3, "overage": 1}, tables.coming)
    >>> more = what_if.outcome({"underage": 9, "overage": 1}, tables.coming)
    >>> bool((more["decisions"]["decision"] >= found["decisions"]["decision"]).all())
    True
    """

    def __init__(self, plan: DecisionPlan, table: Any, *, max_rows: int | None = MAX_ROWS) -> None:
        names = candidates(plan.model)
        if plan.by or not set(names) <= set(AUTO) or not plan.latent:
            raise InvalidInput(
                "The what-if page needs model 'linear' or 'distribution', band 'latent' and no by, "
                f"got model {plan.model!r}, band {plan.rule!r} and by {list(plan.by)}."
            )
        self._plan: DecisionPlan = _at_rate(plan, None)
        self._plan.check()
        self._rows: TableRows = self._plan.rows(table)
        self._encoder = self._plan.encoder(self._rows.table)
        self._plan.encoder_ = self._encoder
        self._features = self._plan.encode(self._rows.table)
        self._notes = self._rows.notes
        if self._encoder is not None:
            doubts = (*self._encoder.doubts_, *self._encoder.remarks(self._rows.table))
            self._notes = (*self._notes, *doubts)
        self.takes_rates = False
        self._diagnosis: tuple[str, Diagnosis] | None = None
        self._fitted_model: Any = None
        self._held_out: HeldOut | None = None
        values = self._rows.observed
        if plan.problem == "newsvendor" and np.ptp(values) == 0:  # nothing tells what is hidden
            self._plan.set_params(band=None, model="linear")
        if self._features is None or not self._plan.latent:
            return  # one age for all, and a model without a band, are fitted anew each time
        estimator = self._plan.estimator()
        if max_rows is not None:
            rule = "model__band" if isinstance(estimator, ModelEstimator) else "rule"
            estimator.set_params(**{f"{rule}__max_rows": max_rows})
        began = self._plan.began(self._rows)
        estimator.fit(self._features, self._rows, **began)
        self._fitted_model = self._plan.estimator_ = estimator
        self._history = keep_history(self._plan, self._rows, self._features)
        if plan.problem == "replacement":
            unflagged = clone(estimator).set_params(know_flags=False)
            self._unflagged = unflagged.fit(self._features, self._rows)
        elif isinstance(estimator, ModelEstimator):
            self.takes_rates = not estimator.rule_.model_.interval_censored
            if plan.problem == "newsvendor" and len(names) > 1:
                self._held_out = HeldOut(self._plan, self._features, self._rows)

    @property
    def sampled(self) -> bool:
        """Whether the hidden amount was estimated from a part of the rows."""
        found = getattr(self._fitted_model, "rule_", None)
        return found is not None and self._rows.observed.size > found.max_rows

    def outcome(
        self,
        assumed: Mapping[str, Any],
        table: Any,
        *,
        step: float | None = 1,
        lower: float | None = 0,
        truth: str | None = None,
    ) -> dict[str, Any]:
        """Decide for the rows of a table under assumed costs and rates.

        Parameters
        ----------
        assumed : mapping of str to float
            Parameters that replace those of the plan: costs, and `sellout_rate`, which is None to
            follow the data.
        table : table of pandas, polars or pyarrow
            Rows to decide on.
        step, lower
            Lot size and lower bound, as for `DecisionPlan.decide`.
        truth : str, optional
            Column of the truth, to show what the decisions would have cost. None shows no costs.

        Returns
        -------
        dict
            Contents of `unmet.report.report_data`, with ``plan``, which has these costs and this
            rate. ``decisions`` has the columns that identify rows, then ``ignoring`` and
            ``decision``. ``comparison`` holds their costs on the truth, if it is known.
        """
        rows = as_polars(table)
        require_columns(rows, [truth], "truth")
        plan = self.plan(assumed)
        found = plan.decide(rows, step, lower)
        at_stake, rate, diagnosis = stake_of(plan), plan.sellout_rate, plan.diagnosis_
        if isinstance(rate, float) and diagnosis is not None and self.takes_rates:
            per_row = self._stake(rate, diagnosis)
            at_stake = (per_row, per_row, per_row)
        content = report_data(
            plan,
            decisions=decision_table(rows, plan, found),
            comparison=None if truth is None else in_hindsight(plan, rows, found, truth),
            notes=(*found.notes, *self._remarks(plan)),
            assumed=rate if isinstance(rate, float) else None,
            stake=at_stake,
        )
        return content | {"plan": plan}

    def plan(self, assumed: Mapping[str, Any]) -> DecisionPlan:
        """Give the fitted plan with assumed costs and rates.

        Parameters
        ----------
        assumed : mapping of str to float
            As for `outcome`.
        """
        costs = {name: each for name, each in assumed.items() if name != "sellout_rate"}
        own = cost_numbers(self._plan)
        by_row = self._plan.column("underage") or self._plan.column("overage")
        for name, value in costs.items() if by_row else ():
            if value != own.get(name):
                raise InvalidInput(
                    f"{name} must be that of the plan, {own.get(name)}, if rows give the other "
                    f"cost, got {value}."
                )
        plan = _at_rate(with_costs(self._plan, **costs), assumed.get("sellout_rate"))
        plan.check()
        if self._fitted_model is None:
            return plan.fit(self._rows.table)
        plan.encoder_, plan.notes_ = self._encoder, self._notes
        plan.reach_ = plan.reach(self._rows)
        plan.n_rows_, plan.history_ = self._rows.observed.size, self._history
        plan.ignoring_ = plan.comparison_ = None
        plan.choice_ = self._choose(plan)
        if isinstance(self._fitted_model, ModelEstimator):
            plan.estimator_, plan.ignoring_ = self._models(plan)
        else:
            plan.estimator_ = plan.estimator().reuse(self._fitted_model, self._features)
        if plan.problem == "replacement":
            # the distribution of lifetimes that was learned prices ages with another cost
            plan.ignoring_ = plan.estimator(ignoring=True).reuse(self._unflagged, self._features)
            plan.estimator_.rule_.diagnosis_ = self._fitted_model.rule_.diagnosis_for(plan.cost)
        return plan

    def _choose(self, plan: DecisionPlan) -> ModelChoice | None:
        """Compare linear model and distribution on held-out rows; neither is fitted again."""
        if self._held_out is None:
            return None
        if isinstance(plan.sellout_rate, float):
            return ModelChoice("linear", f"Model: {LABELS['linear']}, because a rate was assumed.")
        return self._held_out.choose(plan.cost)

    def _models(self, plan: DecisionPlan) -> tuple[ModelEstimator, ModelEstimator]:
        """Give the model with the fitted rule, and a linear model that ignores what is hidden."""
        rows, rule, cost, rate = self._rows, self._fitted_model.rule_, plan.cost, plan.sellout_rate
        costs = given_costs(rows)

        def linear(within: Band | None) -> ModelEstimator:
            estimator = ModelEstimator(LinearDecision(cost, within))
            estimator.model_ = clone(estimator.model).fit(
                self._features, rows.observed, sample_weight=rows.weight, **costs
            )
            return estimator

        if isinstance(rate, float):
            evaluated = cost.with_rows(**costs) if costs else cost
            nothing = Band(low=0.0, high=0.0)  # also where rows are known to hide something
            within = rule.band_at(self._features, rate, cost=evaluated) if rate else nothing
            estimator = linear(within)
            estimator.model_.band_rule_ = rule
        else:
            estimator = ModelEstimator.from_rule(plan.model_name, cost, rule, self._features, rows)
        if costs:
            found = rule.diagnosis_
        elif self._diagnosis is not None and self._diagnosis[0] == repr(cost):
            found = self._diagnosis[1]  # only the rate was moved
        else:
            found = rule.diagnosis_for(cost)
            self._diagnosis = repr(cost), found
        estimator.model_.diagnosis_ = found
        return estimator, linear(None)

    def _stake(self, rate: float, diagnosis: Diagnosis) -> float:
        """Evaluate ignoring what is hidden, per row, if this rate is the true one."""
        if rate == 0.0:
            return 0.0
        model = self._fitted_model.rule_.model_
        fitted = at_rate(model, rate)
        assert isinstance(diagnosis.profile, partial)  # not one that was saved
        _, rows = diagnosis.profile.args
        shift = model.shifts(fitted, rows.features, rows.cost)
        distribution = model.at(fitted, rows.features)
        truth = distribution.truth(getattr(rows.cost, "level", 0.5))
        nodes = equally_likely(distribution.truth)
        added = mean_cost(rows.cost, truth - shift, nodes) - mean_cost(rows.cost, truth, nodes)
        return max(float(model.mean(added)), 0.0)

    def _remarks(self, plan: DecisionPlan) -> list[str]:
        """Say how this differs from what the command line would do."""
        said = []
        found, rate = plan.diagnosis_, plan.sellout_rate
        if not plan.latent:
            said.append(
                "Hidden demand was not estimated, because all "
                f"{self._rows.observed.size:,} rows have the same observation."
            )
        if isinstance(rate, float) and found is not None:
            if found.share_is_seen:
                said.append(
                    "The data have the censored rows, so another rate is hypothetical; the command "
                    "line uses the counted rate."
                )
            else:
                said.append(
                    "The page varies the rate within the chosen model; the command line fits the "
                    "model again, so results may differ slightly."
                )
        if self.sampled:
            said.append(
                "The page fitted the model to a sample of "
                f"{self._fitted_model.rule_.max_rows:,} of {self._rows.observed.size:,} rows; the "
                "command line uses more."
            )
        return said


def _at_rate(plan: DecisionPlan, rate: float | None) -> DecisionPlan:
    """Give a copy of a plan whose band assumes a rate, or none."""
    copied: DecisionPlan = clone(plan)
    if not plan.latent:
        return copied
    copied.band = clone(plan.rule).set_params(sellout_rate=rate)
    return copied
