"""Compare methods on unseen rows: learn from the past, evaluate on what follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone

from unmet.arrays import Array
from unmet.censoring import SearchedBand
from unmet.censoring.model import equally_likely
from unmet.costs import AgeReplacement, Cost, Revenue, SquaredError
from unmet.errors import InvalidInput, MissingPackage, Note
from unmet.evaluation import censored_cost, fill_rate, service_level
from unmet.evaluation.backtest import hold_out
from unmet.planning.decision_models import (
    AUTO,
    LABELS,
    ModelEstimator,
    candidates,
    given_costs,
    known_flags,
    make_model,
)
from unmet.planning.decision_plan import DecisionPlan, Decisions
from unmet.planning.decision_report import Basis, Comparison, MethodCost
from unmet.tables.dates import read_dates
from unmet.tables.reading import as_polars, finite, require_columns

Progress = Callable[[int, int, str], None]
Room = tuple[Any, Any, Any, Any]  # step, lower, upper, minimum: what can be carried out

METHODS = {
    "eas": "sales forecast",
    "ieo": "sales taken as demand",
    "published": "published method",
    "linear": LABELS["linear"],
    "distribution": LABELS["distribution"],
    "plan": "this plan",
}
"""Short names of the methods compared, and what readers are shown where orders are decided."""
_OTHERS = {
    "pricing": {
        "eas": "offer forecast",
        "ieo": "offers taken as reservation prices",
    },
    "replacement": {
        "eas": "forecast of times in service",
        "ieo": "times in service taken as lifetimes",
    },
}
_BASELINES = ("eas", "ieo", "published")
_TRIALS = 25  # of the published search, which ends in the corner of its box anyway
_SEEN = (
    "Costs are those of rows that did not sell out, weighted for those that did. Demand above all "
    "orders costs every method the same and was left out."
)
_UNTOLD = "Too few rows have flags or stock, or all of them sold out"


def method_labels(problem: str) -> dict[str, str]:
    """Give the name of each method that readers see, for one problem."""
    return {**METHODS, **_OTHERS.get(problem, {})}


def compare(
    plan: DecisionPlan,
    table: Any,
    *,
    truth: str | None = None,
    n_splits: int = 4,
    horizon: int | None = None,
    step: float | str | None = "auto",
    lower: float | None = 0,
    upper: float | None = None,
    minimum: float | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a plan with competing methods, on rows that none of them has seen.

    With a date column, blocks of days at the end are held out one after the other, and each method
    learns only from the days before. Without dates, rows are held out at random.

    Parameters
    ----------
    plan : DecisionPlan
        Plan to compare. It need not be fitted; the function fits copies.
    table : table of pandas, polars or pyarrow
        Rows with features and observations.
    truth : str, optional
        Column of the truth to evaluate on. Without it, there are three cases. If flags or stock
        show which rows sold out, orders are evaluated on rows that show their truth, weighted for
        the others (`unmet.evaluation.censored_cost`). Otherwise they are evaluated on the
        distribution of the truth that the plan estimates from all rows. Without a latent band they
        are evaluated on observations.
    n_splits : int, default=4
        Number of held-out blocks. More blocks average over more origins and take longer.
    horizon : int, optional
        Number of days in each block. None shares the days out evenly.
    step, lower, upper, minimum : as for `DecisionPlan.decide`
        Decisions are evaluated in these lots and bounds. The step "auto" is 1 for orders and None
        for prices and ages.
    progress : callable, optional
        Called as ``progress(done, total, doing)`` during the work. None reports nothing.

    Returns
    -------
    Comparison
        Mean cost of each method.

    Examples
    --------
    >>> from unmet import Band, DecisionPlan, Newsvendor
    >>> from unmet.planning import compare
    >>> from unmet.simulate import store10
    >>> table = store10(seed=0).train.to_polars().head(900)
    >>> plan = DecisionPlan("sales", ["weekday", "category"], Newsvendor(3, 1), band=Band(0, 40))
    >>> found = compare(plan, table, truth="demand", n_splits=2)
    >>> found["plan"].cost < found["ieo"].cost  # "ieo" takes sales for demand
    True
    """
    plan.check()
    if plan.problem == "replacement" and not (plan.features or plan.calendar):
        raise InvalidInput("compare needs features for replacement ages: name some (features=).")
    rows = plan.rows(as_polars(table))
    require_columns(rows.table, [truth], "truth")
    if truth in plan.features:
        raise InvalidInput(f"features must not include the truth, got {truth!r}: leave it out.")
    room, n_rows = _room(plan, step, lower, upper, minimum), rows.observed.size
    notes: list[str] = []
    dates = None if plan.date is None else read_dates(rows.table, plan.date).to_numpy()
    if dates is None:
        if horizon is not None:
            raise InvalidInput("horizon needs a column of dates: name it (date=).")
        at_random = "Rows were held out at random, because there is no column of dates (date=): "
        notes.append(Note(f"{at_random}methods may have been fitted to later rows."))
    blocks = hold_out(dates, n_rows, n_splits, horizon, plan.random_state)
    flags = known_flags(plan, rows) if truth is None else None
    if flags is None and truth is None and (rows.flag is not None or rows.stock is not None):
        notes.append(f"{_UNTOLD}, so decisions were not evaluated on uncensored rows.")
    names = method_labels(plan.problem)
    methods, left_out = _methods(plan)
    notes += left_out
    tell, total = progress or (lambda *_: None), len(methods) * len(blocks) + 1
    tell(0, total, "the evaluator")
    basis: Basis
    values, basis, said = rows.observed, "seen", list[str]()
    if truth is not None:
        values, basis = finite(rows.table, truth, "truth"), "truth"
    elif flags is None:
        values, basis, said = _estimate(plan, rows.table, rows.observed)
    decided: dict[str, Array] = {}
    done = 1
    for method in methods:
        decided[method] = np.full(n_rows, np.nan)
        try:
            for train, held_out in blocks:
                tell(done, total, names[method])
                found = _decide(plan, method, rows.table[train], rows.table[held_out], room)
                for name, each in found.items():
                    decided.setdefault(name, np.full(n_rows, np.nan))[held_out] = each
                done += 1
        except MissingPackage as error:
            if method == "plan":
                raise
            notes.append(f"Not compared: {names[method]}, because {error}")
            del decided[method]
    held = np.concatenate([held_out for _, held_out in blocks])
    # candidates before the plan that chooses from them, if it did so for every block
    whole = [
        name for name in METHODS if name in decided and not np.isnan(decided[name][held]).any()
    ]
    ends = np.cumsum([0, *(held_out.size for _, held_out in blocks)])
    evaluated, reach = _evaluate(
        plan,
        plan.cost.with_rows(**given_costs(rows)).take(held),
        {name: decided[name][held] for name in whole},
        values=values[..., held],
        flags=None if flags is None else flags[held],
        weight=None if rows.weight is None else rows.weight[held],
        truth_known=basis == "truth",
        folds=[slice(*each) for each in pairwise(ends)],
    )
    folds = (
        ()
        if dates is None
        else tuple((str(dates[each].min()), str(dates[each].max())) for _, each in blocks)
    )
    return Comparison(basis, evaluated, held.size, folds, (*reach, *said, *notes, *rows.notes))


def evaluate(
    plan: DecisionPlan,
    table: Any,
    truth: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    step: float | str | None = "auto",
    lower: float | None = 0,
    upper: float | None = None,
    minimum: float | None = None,
) -> Comparison:
    """Evaluate a fitted plan on rows it has not seen, next to the same model without a band.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted plan.
    table : table of pandas, polars or pyarrow
        Rows with the features, and with the columns of costs if the plan has any.
    truth : str, optional
        Column of the truth. Without it, orders are evaluated on rows that show their truth,
        weighted for those that sold out (`unmet.evaluation.censored_cost`). The table then needs
        the observations, and flags or stock.
    columns : mapping of str to str, optional
        Columns ``censored`` and ``stock`` to use for this. None takes those of the plan.
    step, lower, upper, minimum : as for `DecisionPlan.decide`
        Decisions are evaluated in these lots and bounds. The step "auto" is 1 for orders and None
        for prices and ages.

    Returns
    -------
    Comparison
        Mean cost of the plan, and of the model that takes observations for the truth.

    Examples
    --------
    >>> from unmet import Band, DecisionPlan, Newsvendor
    >>> from unmet.planning import evaluate
    >>> from unmet.simulate import store10
    >>> data = store10(seed=0)
    >>> plan = DecisionPlan("sales", ["weekday", "category"], Newsvendor(3, 1), band=Band(0, 40))
    >>> plan = plan.fit(data.train.to_polars())
    >>> found = evaluate(plan, data.test.to_polars(), truth="demand")
    >>> found["plan"].cost < found["ieo"].cost
    True
    """
    room = _room(plan, step, lower, upper, minimum)
    if truth is not None:
        rows = as_polars(table)
        return in_hindsight(plan, rows, plan.decide(rows, *room), truth)
    own = {key: plan.column(key) for key in ("censored", "stock")}
    told = {key: name for key, name in (columns or own).items() if name is not None}
    if plan.problem != "newsvendor" or not told:
        raise InvalidInput(
            "Evaluation needs the column of the truth (truth=), or for orders a column of flags or "
            "stock (columns['censored'], columns['stock']): add one."
        )
    costs = {key: plan.column(key) for key in ("underage", "overage")}
    read = clone(plan).set_params(columns={**costs, **told}).rows(table)
    flags = known_flags(plan, read)
    if flags is None:
        raise InvalidInput(f"{_UNTOLD}, so orders cannot be evaluated: name the truth (truth=).")
    found = plan.decide(read.table, *room)
    cost = plan.cost.with_rows(**given_costs(read))
    evaluated, reach = _evaluate(plan, cost, _both(found), values=read.observed, flags=flags)
    notes = (*reach, *read.notes, *found.notes)
    return Comparison("seen", evaluated, read.observed.size, (), notes)


def in_hindsight(
    plan: DecisionPlan, rows: pl.DataFrame, found: Decisions, truth: str
) -> Comparison:
    """Evaluate decisions on the truth, next to those that take observations for it.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted plan.
    rows : polars.DataFrame
        Rows decided on, with the truth, and with the columns of costs if the plan has any.
    found : Decisions
        Decisions for these rows.
    truth : str
        Column of the truth.

    Returns
    -------
    Comparison
        Mean costs.
    """
    names = {key: plan.column(key) for key in ("underage", "overage")}
    require_columns(rows, [truth], "truth")
    require_columns(rows, names.values(), "columns of costs")
    costs = {key: finite(rows, name, f"columns[{key!r}]") for key, name in names.items() if name}
    cost = plan.cost.with_rows(**costs)
    known = finite(rows, truth, "truth")
    evaluated, _ = _evaluate(plan, cost, _both(found), values=known, truth_known=True)
    return Comparison("truth", evaluated, rows.height, (), found.notes)


def _both(found: Decisions) -> dict[str, Array]:
    """Decisions of a plan, after those that ignore censoring."""
    ignoring = {} if found.ignoring is None else {"ieo": found.ignoring}
    return {**ignoring, "plan": found.decision}


# --- What is compared, and on which rows.


def _room(
    plan: DecisionPlan, step: float | str | None, lower: Any, upper: Any, minimum: Any
) -> Room:
    """Read what can be carried out."""
    if step == "auto":
        step = 1.0 if plan.problem == "newsvendor" else None
    if isinstance(step, str):
        raise InvalidInput(f"step must be a number, None or 'auto', got {step!r}.")
    return step, lower, upper, minimum


def _methods(plan: DecisionPlan) -> tuple[list[str], list[str]]:
    """Which methods make sense beside the plan, and why the others do not."""
    names = method_labels(plan.problem)
    if plan.problem == "replacement":
        distribution = "replacement ages need a distribution"
        why = {"eas": distribution, "published": distribution}
    elif isinstance(plan.cost, Revenue):
        distribution = "prices of maximum revenue need a distribution"
        why = {"ieo": distribution, "published": distribution}
    else:
        alike = "it has one model for all groups"
        why = {"eas": alike, "published": alike} if plan.by else {}
        if plan.rule is None:
            why |= {"ieo": "it is this plan", "published": "this plan has no band"}
    methods = [name for name in _BASELINES if name not in why]
    notes = [
        f"Not compared: {names[name]}, because {why[name]}." for name in _BASELINES if name in why
    ]
    return [*methods, "plan"], notes


def _decide(
    plan: DecisionPlan, method: str, past: pl.DataFrame, coming: pl.DataFrame, room: Room
) -> dict[str, Array]:
    """Decisions for rows held out, learned from others; with those of what the plan chose from."""
    if method == "plan" or plan.problem == "replacement" or plan.by:
        fitted: DecisionPlan = clone(plan).fit(past)
        found = fitted.decide(coming, *room)
        decided = found.decision if method == "plan" else found.ignoring
        assert decided is not None
        chosen = fitted.choice_
        if method != "plan" or chosen is None or not chosen.scored:
            return {method: decided}
        # two uses of the distribution that was learned for one of them
        rows, rule = fitted.rows(past), fitted.estimator_.rule_
        learned, asked = fitted.encode(rows.table), fitted.encode(coming)
        both = {
            name: ModelEstimator.from_rule(name, plan.cost, rule, learned, rows)
            for name in candidates(plan.model)
            if name in AUTO
        }
        return {**{name: each.decide(asked, *room) for name, each in both.items()}, method: decided}
    # the same model with another cost or band, told nothing about censoring
    rows = plan.rows(past)
    cost: Cost = SquaredError() if method == "eas" else plan.cost
    band = None
    if method == "published":
        band = SearchedBand(n_trials=_TRIALS, n_folds=2, random_state=plan.random_state)
    encoder = plan.encoder(rows.table)
    assert encoder is not None  # ages of replacement alone need no features
    name = "linear" if plan.model_name == "distribution" else plan.model_name
    known = {} if method == "eas" else given_costs(rows)
    estimator = ModelEstimator(make_model(name, cost, band, plan.random_state))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*SearchedBand")  # readers see what it costs
        estimator.model_ = estimator.model.fit(
            encoder.transform(rows.table), rows.observed, sample_weight=rows.weight, **known
        )
    return {method: estimator.decide(encoder.transform(coming), *room)}


# --- What decisions cost: on the truth, on its estimated distribution, or on the observations.


def _estimate(
    plan: DecisionPlan, table: pl.DataFrame, observed: Array
) -> tuple[Array, Basis, list[str]]:
    """Values of the distribution of the truth that the plan estimates, else the observations."""
    if not plan.latent or plan.by:
        note = (
            "Costs are those of observations, which favors decisions that are too low: add a "
            "column of the truth, flags or stock."
        )
        return observed, "observation", [note]
    fitted: DecisionPlan = clone(plan).fit(table)
    note = "Costs are those of estimated demand, so they are only as good as that estimate."
    quantile = fitted.estimator_.rule_.quantile_function(fitted.encode(table))
    return equally_likely(quantile, 41), "estimate", [note]


def _evaluate(
    plan: DecisionPlan,
    cost: Cost,
    decided: Mapping[str, Array],
    *,
    values: Array,
    flags: Array | None = None,
    weight: Array | None = None,
    truth_known: bool = False,
    folds: Sequence[slice] = (),
) -> tuple[tuple[MethodCost, ...], list[str]]:
    """Measures of every method on the same rows, with the saving over ignoring censoring.

    `values` are truths, or (n_levels, n_rows) equally likely ones; with `flags` they are
    observations, and rows that show their truth are weighted for those that do not.
    """
    notes: list[str] = []
    if flags is not None:
        found = censored_cost(cost, decided, values, flags, sample_weight=weight)
        notes.append(_SEEN)
        if found.reached < 0.9:
            notes.append(
                f"In {1.0 - found.reached:.0%} of the rows some decision exceeds nearly all past "
                "orders. Costs beyond past orders are unknown, so methods may differ by more."
            )

    def mean(method: str, part: slice) -> float:
        if flags is not None:
            share = found.weight[part]
            return float(share @ found.per_row[method][part] / max(share.sum(), 1e-300))
        chosen, truths = decided[method][part], np.atleast_2d(values)[:, part]
        if isinstance(cost, AgeReplacement):
            each_time = np.broadcast_to(chosen, truths.shape).ravel()
            return float(cost.rate_of(each_time, truths.ravel()))
        own = cost.take(np.arange(values.shape[-1])[part])
        return float(np.mean([own.cost(chosen, each).mean() for each in truths]))

    labels = {**method_labels(plan.problem), "plan": plan.words}
    base = mean("ieo", slice(None)) if "ieo" in decided else 0.0
    evaluated = []
    for method, decision in decided.items():
        total = mean(method, slice(None))
        covered = truth_known and not isinstance(cost, Revenue) and np.isfinite(decision).all()
        served = covered and not isinstance(cost, AgeReplacement) and values.sum() > 0
        evaluated.append(
            MethodCost(
                method=method,
                label=labels[method],
                cost=total,
                decision=float(np.mean(decision)),
                service_level=service_level(decision, values) if covered else None,
                fill_rate=fill_rate(decision, values) if served else None,
                saving=1.0 - total / base if base > 0 else None,
                by_fold=tuple(mean(method, fold) for fold in folds),
            )
        )
    return tuple(evaluated), notes
