"""Methods side by side on unseen rows: learn from the past, evaluate on what follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array
from unmet.censoring import SearchedBand
from unmet.costs import AgeReplacement, Cost, SquaredError
from unmet.errors import InvalidInput, MissingPackage
from unmet.evaluation import (
    censored_cost,
    fill_rate,
    realised_revenue,
    service_level,
)
from unmet.evaluation.splits import RollingOrigin
from unmet.planning.decision_plan import DecisionPlan, Decisions
from unmet.planning.decision_report import Basis, Comparison, Fold, MethodCost
from unmet.planning.model_selection import LABELS, candidates, evaluated_rows, known_flags
from unmet.planning.problem_estimators import AUTO, by_rule, make_model
from unmet.tables.reading import (
    TableRows,
    as_polars,
    finite,
    read_dates,
    read_rows,
    require_columns,
)

if TYPE_CHECKING:
    import polars


# --- What decisions cost: on the truth, on its distribution as estimated, or on the observations.

_LEVELS = (np.arange(41) + 0.5) / 41  # of the distribution: a mean over them is an expectation


@dataclass(frozen=True)
class CostEvaluator:
    """Evaluates decisions of the same rows, from any method.

    Attributes
    ----------
    cost : Cost
        With the numbers of these rows, where they differ.
    truth : ndarray of shape (n_rows,) or (n_levels, n_rows)
        The truth, the observations, or equally likely values of the truth of each row.
    basis : {"truth", "estimate", "observation"}
    revenue : bool
        Whether minus the revenue above `unit_cost` is the cost.
    """

    cost: Cost
    truth: Array
    basis: Basis
    revenue: bool = False
    unit_cost: float = 0.0

    def mean_cost(self, decision: Array, rows: Any = slice(None)) -> float:
        """Mean cost of some rows."""
        values, chosen = np.atleast_2d(self.truth)[:, rows], decision[rows]
        if self.revenue:
            each = [realised_revenue(chosen, value, unit_cost=self.unit_cost) for value in values]
            return -float(np.mean(each))
        if isinstance(self.cost, AgeReplacement):
            everywhere = np.broadcast_to(chosen, values.shape).ravel()
            return float(self.cost.rate_of(everywhere, values.ravel()))
        cost = self.cost.take(np.arange(decision.size)[rows])
        return float(np.mean([cost.cost(chosen, value).mean() for value in values]))

    def price(
        self, method: str, label: str, decision: Array, folds: Sequence[NDArray[np.intp]] = ()
    ) -> MethodCost:
        """Measures of one method; shares only where the truth is known."""
        known = self.basis == "truth"
        finite = bool(np.isfinite(decision).all())
        orders = known and finite and not self.revenue
        plain = orders and not isinstance(self.cost, AgeReplacement)
        return MethodCost(
            method=method,
            label=label,
            cost=self.mean_cost(decision),
            decision=float(np.mean(decision)),
            service_level=service_level(decision, self.truth) if orders else None,
            fill_rate=fill_rate(decision, self.truth) if plain and self.truth.sum() > 0 else None,
            by_fold=tuple(self.mean_cost(decision, fold) for fold in folds),
        )


def expected_truth(rule: Any, features: Any) -> Array:
    """Equally likely values of the truth of each row under the distribution of a rule."""
    if not callable(getattr(rule, "quantile_function", None)):
        raise InvalidInput(
            "Pricing on an estimate needs the distribution of a LatentBand, got none."
        )
    quantile = rule.quantile_function(features)
    return np.stack([quantile(float(level)) for level in _LEVELS])


# --- Methods side by side on rows they have not seen: learn from the past, evaluate on what
# follows.

Progress = Callable[[int, int, str], None]
Index = NDArray[np.intp]
Room = tuple[Any, Any, Any, Any]  # step, lower, upper, minimum: what can be carried out

METHODS = {
    "eas": "a forecast of sales as the order",
    "ieo": "sales taken for demand",
    "published": "the published method",
    "linear": LABELS["linear"],
    "distribution": LABELS["distribution"],
    "plan": "this plan",
}
"""Short names of the methods compared, and what readers are shown where orders are decided."""
_OTHERS = {
    "pricing": {
        "eas": "a forecast of offers as the price",
        "ieo": "offers taken for what buyers would pay",
    },
    "replacement": {
        "eas": "a forecast of times as the age",
        "ieo": "times in service taken for lifetimes",
    },
}


def method_labels(problem: str) -> dict[str, str]:
    """Give what readers are shown of each method in one problem."""
    return {**METHODS, **_OTHERS.get(problem, {})}


_REACHED = 0.9  # share of rows whose decisions past orders reach, below which readers are told
_TRIALS, _FOLDS = 25, 2  # of the published search, which ends in the corner of its box anyway


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
    """Compare a plan with the methods it competes with, on rows that none of them has seen.

    With a date column, blocks of days at the end are held out one after the other, and every method
    learns only from the days before. Without one, rows are held out at random.

    Parameters
    ----------
    plan : DecisionPlan
        Not fitted; it is copied.
    table : table of pandas, polars or pyarrow
    truth : str, optional
        Column of the truth, to evaluate on. Without it, where flags or stock say which rows sold
        out, orders are evaluated on rows that show their truth, weighted for those that do not
        (`unmet.evaluation.censored_cost`); otherwise on the distribution of the truth that the plan
        estimates from all rows; without a latent band, on the observations.
    n_splits : int, default=4
        Blocks held out.
    horizon : int, optional
        Days in each block; by default the days are shared out evenly.
    step, lower, upper, minimum : as for `DecisionPlan.decide`
        Decisions are evaluated as they would be carried out. The step "auto" is 1 for orders and
        None for prices and ages.
    progress : callable, optional
        Called with ``done, total, doing``.

    Returns
    -------
    Comparison
    """
    plan.check()
    if plan.problem == "replacement" and not (plan.features or plan.calendar):
        raise InvalidInput("A comparison of ages needs features, got none.")
    rows = plan.rows(as_polars(table))
    require_columns(rows.table, [truth], "truth")
    if truth in plan.features:
        raise InvalidInput(f"features must not be what is to be explained, got {truth!r}.")
    room, said = _room(plan, step, lower, upper, minimum)
    blocks, folds, notes = _blocks(plan, rows.table, n_splits, horizon)
    flags = known_flags(plan, rows)
    if flags is None and truth is None and (rows.flag is not None or rows.stock is not None):
        notes.append(f"{_UNTOLD}: decisions are not evaluated on rows that show their truth.")
    names = method_labels(plan.problem)
    methods, left_out = _methods(plan)
    notes += left_out
    total = len(methods) * len(blocks) + 1
    tell = progress or (lambda *_: None)
    evaluator: CostEvaluator | None = None
    if truth is not None or flags is None:
        tell(0, total, "the evaluator")
        evaluator, evaluated_on = _evaluator(plan, rows, truth)
        said = [*evaluated_on, *said]
    decided: dict[str, Array] = {}
    done = 1
    for method in methods:
        decided[method] = np.full(rows.observed.size, np.nan)
        for train, held_out in blocks:
            tell(done, total, names[method])
            try:
                found = _decide(plan, method, rows.table, train, held_out, room)
                for name, each in found.items():
                    decided.setdefault(name, np.full(rows.observed.size, np.nan))[held_out] = each
            except MissingPackage as error:
                if method == "plan":
                    raise
                notes.append(f"Left out: {names[method]}, because {error}")
                del decided[method]
                break
            done += 1
    held = np.concatenate([held_out for _, held_out in blocks])
    each_block = [block for _, block in blocks]
    # candidates before the plan that chooses from them, if it did so for every block
    whole = [
        name for name in METHODS if name in decided and not np.isnan(decided[name][held]).any()
    ]
    notes += [
        f"Left out: {names[name]}, because not every block had enough rows to choose by."
        for name in decided
        if name not in whole
    ]
    decided = {name: decided[name] for name in whole}
    if evaluator is None:
        assert flags is not None
        evaluated, reach = _evaluate_seen(plan, rows, flags, decided, held, each_block)
        said = [_SEEN, *reach, *said]
        basis: Basis = "seen"
    else:
        evaluated = _evaluate(evaluator, decided, held, each_block, {**names, "plan": plan.words})
        basis = evaluator.basis
    return Comparison(basis, evaluated, held.size, tuple(folds), (*said, *notes, *rows.notes))


_SEEN = (
    "The truth is known of some rows only: these are weighted for those that sold out. "
    "What lies above all decisions costs every method the same and is left out."
)
_UNTOLD = "Flags and stock say of too few rows whether they sold out, or that all did"


def evaluate(
    plan: DecisionPlan,
    table: Any,
    truth: str | None = None,
    *,
    censored_column: str | None = None,
    stock_column: str | None = None,
    step: float | str | None = "auto",
    lower: float | None = 0,
    upper: float | None = None,
    minimum: float | None = None,
) -> Comparison:
    """Evaluate a fitted plan on rows it has not seen, beside the same model without a band.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted.
    table : table of pandas, polars or pyarrow
        With the features, and with the columns of costs if the plan has such.
    truth : str, optional
        Column of the truth. Without it orders are evaluated on rows that show their truth, weighted
        for those that sold out (`unmet.evaluation.censored_cost`): the table then needs the
        observations, and flags or stock.
    censored_column, stock_column : str, optional
        Columns of flags and of stock to evaluate by; by default those of the plan.
    step, lower, upper, minimum : as for `DecisionPlan.decide`
        Decisions are evaluated as they would be carried out. The step "auto" is 1 for orders and
        None for prices and ages.

    Returns
    -------
    Comparison
    """
    room, said = _room(plan, step, lower, upper, minimum)
    columns = as_polars(table)
    if truth is not None:
        require_columns(columns, [truth], "truth")
        found = in_hindsight(plan, columns, plan.decide(columns, *room), truth)
    else:
        found = _on_seen_rows(plan, columns, room, censored_column, stock_column)
    names, shown = method_labels(plan.problem), [each.method for each in found.methods]
    absent = [names[name] for name in _BASELINES if name not in shown]
    left_out = (
        f"Left out: {'; '.join(absent)}, because a fitted plan does not hold them: compare learns "
        "them as well."
    )
    return replace(found, notes=(*found.notes, *said, left_out))


def _on_seen_rows(
    plan: DecisionPlan,
    table: polars.DataFrame,
    room: Room,
    censored_column: str | None,
    stock_column: str | None,
) -> Comparison:
    """Evaluate orders where flags or stock say which rows show their truth."""
    flag = censored_column or (None if stock_column else plan.censored_column)
    stock = stock_column or (None if censored_column else plan.stock_column)
    if plan.problem != "newsvendor" or (flag is None and stock is None):
        raise InvalidInput(
            "truth must name a column (--truth), or for orders censored_column or stock_column "
            "must say which rows sold out, got neither."
        )
    rows = read_rows(
        table,
        plan.observed,
        underage=plan.underage_column,
        overage=plan.overage_column,
        stock=stock,
        flag=flag,
        bad_rows=plan.bad_rows,
    )
    flags = known_flags(plan, rows)
    if flags is None:
        raise InvalidInput(f"{_UNTOLD}, so orders cannot be evaluated: name the truth (--truth).")
    found = plan.decide(rows.table, *room)
    decided = {"plan": found.decision}
    if found.ignoring is not None:
        decided = {"ieo": found.ignoring, **decided}
    held = np.arange(rows.observed.size)
    evaluated, reach = _evaluate_seen(plan, rows, flags, decided, held, [])
    return Comparison("seen", evaluated, held.size, (), (_SEEN, *reach, *rows.notes, *found.notes))


def _room(
    plan: DecisionPlan, step: float | str | None, lower: Any, upper: Any, minimum: Any
) -> tuple[Room, list[str]]:
    """Read what can be carried out, and say so where it is not as usual."""
    usual = 1.0 if plan.problem == "newsvendor" else None
    if isinstance(step, str) and step != "auto":
        raise InvalidInput(f"step must be a number, None or 'auto', got {step!r}.")
    size = usual if isinstance(step, str) else step
    words = []
    if size != usual:
        words.append("in fractions" if size is None else f"in lots of {size:g}")
    if lower not in (None, 0):
        words.append(f"at least {lower:g}")
    if upper is not None:
        words.append(f"at most {upper:g}")
    if minimum is not None:
        words.append(f"at least {minimum:g} if anything")
    said = (
        [f"Decisions are evaluated as they are carried out: {', '.join(words)}."] if words else []
    )
    return (size, lower, upper, minimum), said


def in_hindsight(
    plan: DecisionPlan, rows: polars.DataFrame, found: Decisions, truth: str
) -> Comparison:
    """Evaluate decisions on the truth, beside those that take observations for it.

    Parameters
    ----------
    plan : DecisionPlan
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
    costs = {field: finite(rows, name, f"{field}_column") for field, name in names.items() if name}
    cost = plan.cost.with_rows(**costs) if costs else plan.cost
    known = finite(rows, truth, "truth")
    evaluator = CostEvaluator(cost, known, "truth", plan.goal == "revenue", plan.unit_cost)
    decided = {"plan": found.decision}
    if found.ignoring is not None:
        decided = {"ieo": found.ignoring, **decided}
    labels = {**method_labels(plan.problem), "plan": plan.words}
    evaluated = _evaluate(evaluator, decided, np.arange(rows.height), [], labels)
    return Comparison("truth", evaluated, rows.height, (), found.notes)


def _blocks(
    plan: DecisionPlan, table: polars.DataFrame, n_splits: int, horizon: int | None
) -> tuple[list[tuple[Index, Index]], list[Fold], list[str]]:
    """Rows to learn from and rows held out, in the order of time where there is one."""
    if plan.date is None:
        if horizon is not None:
            raise InvalidInput("horizon needs a date column, got date=None.")
        if not 2 <= n_splits <= table.height:
            raise InvalidInput(
                f"Without a date, n_splits must be from 2 to the number of rows, got {n_splits}."
            )
        from sklearn.model_selection import KFold

        shuffled = KFold(n_splits, shuffle=True, random_state=plan.random_state)
        note = "There is no date column: rows were held out at random, the future may have helped."
        return list(shuffled.split(np.empty(table.height))), [], [note]
    dates = read_dates(table, plan.date).to_numpy()
    needed, found = n_splits * (horizon or 1) + 1, np.unique(dates).size
    if found < needed:
        raise InvalidInput(
            f"Holding out {n_splits:,} blocks of {horizon or 1:,} days needs {needed:,} different "
            f"dates, got {found:,} in column {plan.date!r}."
        )
    splits = list(RollingOrigin(n_splits, horizon).split(dates, groups=dates))
    folds = [Fold(str(dates[held].min()), str(dates[held].max())) for _, held in splits]
    return splits, folds, []


_BASELINES = ("eas", "ieo", "published")


def _methods(plan: DecisionPlan) -> tuple[list[str], list[str]]:
    """Which methods make sense beside the plan, and why the others do not."""
    itself = f"this plan is it: {method_labels(plan.problem)['ieo']}"
    if plan.problem == "replacement":
        distribution = "ages of replacement come from a distribution of lifetimes"
        why = {"eas": distribution, "published": distribution}
    elif plan.goal == "revenue":
        distribution = "prices of most revenue come from a distribution of what buyers would pay"
        why = {"ieo": distribution, "published": distribution}
    else:
        why = {} if plan.has_band else {"ieo": itself, "published": "this plan has no band"}
        if plan.by:
            alike = "it would learn one model for all groups"
            why = {"eas": alike, "published": alike, **why}
    methods = [name for name in _BASELINES if name not in why]
    names = method_labels(plan.problem)
    notes = [f"Left out: {names[name]}, because {why[name]}." for name in _BASELINES if name in why]
    return [*methods, "plan"], notes


def _decide(
    plan: DecisionPlan, method: str, table: polars.DataFrame, train: Index, held: Index, room: Room
) -> dict[str, Array]:
    """Decisions for rows held out, learned from others; with those of what the plan chose from."""
    past, coming = table[train], table[held]
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
            name: by_rule(name, plan.cost, rule, learned, rows).decide(asked, *room)
            for name in candidates(plan.model)
            if name in AUTO
        }
        return {**both, method: decided}
    return {method: _compete(plan, method, past, coming, room)}


def _compete(
    plan: DecisionPlan, method: str, past: polars.DataFrame, coming: polars.DataFrame, room: Room
) -> Array:
    """Decisions of the same model with another cost or band, told nothing about censoring."""
    rows = plan.rows(past)
    cost: Cost = SquaredError() if method == "eas" else plan.cost
    band = None
    if method == "published":
        band = SearchedBand(n_trials=_TRIALS, n_folds=_FOLDS, random_state=plan.random_state)
    encoder = plan.encoder(rows.table)
    assert encoder is not None  # ages of replacement alone need no features
    name = (
        plan.model_name if plan.model_name != "distribution" else "linear"
    )  # which needs a distribution
    model = make_model(name, cost, band, plan.random_state)
    known: dict[str, Any] = {"sample_weight": rows.weight}
    if method != "eas":
        known |= {"underage": rows.underage, "overage": rows.overage}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*SearchedBand")  # readers see what it costs
        model.fit(encoder.transform(rows.table), rows.observed, **known)
    *bounds, minimum = room
    decided: Array = model.decide(encoder.transform(coming), *bounds, minimum=minimum)
    return decided


def _evaluator(
    plan: DecisionPlan, rows: TableRows, truth: str | None
) -> tuple[CostEvaluator, list[str]]:
    """Evaluate on the truth if it is known, else on its distribution, else on observations."""
    cost = evaluated_rows(plan.cost, rows)
    revenue = plan.goal == "revenue"
    if truth is not None:
        known = finite(rows.table, truth, "truth")
        return CostEvaluator(cost, known, "truth", revenue, plan.unit_cost), []
    if plan.band != "latent" or plan.by:
        note = (
            "Evaluated on observations, which favours decisions that are too low: a truth, flags "
            "or stock would tell more."
        )
        return CostEvaluator(cost, rows.observed, "observation", revenue, plan.unit_cost), [note]
    fitted: DecisionPlan = clone(plan).fit(rows.table)
    found = fitted.diagnosis_
    assert found is not None
    note = (
        "Nobody knows the truth: costs are based on what the plan estimates it to have been, and "
        "are right only as far as that is right."
    )
    if found.identified == "no":
        note += " These data cannot tell whether it is."
    elif found.identified != "yes":
        note += " These data hardly tell whether it is."
    values = expected_truth(fitted.estimator_.rule_, fitted.encode(rows.table))
    return CostEvaluator(cost, values, "estimate", revenue, plan.unit_cost), [note]


def _evaluate_seen(
    plan: DecisionPlan,
    rows: TableRows,
    flags: Array,
    decided: dict[str, Array],
    held: Index,
    folds: list[Index],
) -> tuple[tuple[MethodCost, ...], list[str]]:
    """Costs of every method on rows that were seen, weighted for those that were not."""
    found = censored_cost(
        evaluated_rows(plan.cost, rows).take(held),
        {name: each[held] for name, each in decided.items()},
        rows.observed[held],
        flags[held],
        sample_weight=None if rows.weight is None else rows.weight[held],
    )
    place = np.empty(rows.observed.size, dtype=np.intp)
    place[held] = np.arange(held.size)
    labels = {**method_labels(plan.problem), "plan": plan.words}
    base = found.cost.get("ieo", 0.0)
    evaluated = []
    for method, decision in decided.items():
        row, cost = found.per_row[method], found.cost[method]
        by_fold = [
            float(found.weight[rows] @ row[rows] / max(found.weight[rows].sum(), 1e-300))
            for rows in (place[fold] for fold in folds)
        ]
        evaluated.append(
            MethodCost(
                method=method,
                label=labels[method],
                cost=cost,
                decision=float(np.mean(decision[held])),
                saving=1.0 - cost / base if base > 0 else None,
                by_fold=tuple(by_fold),
            )
        )
    reach = []
    if found.reached < _REACHED:
        reach.append(
            f"Of {1.0 - found.reached:.0%} of the rows some decision lies above nearly all past "
            "orders: what happens beyond those is not evaluated, so methods may differ by more."
        )
    return tuple(evaluated), reach


def _evaluate(
    evaluator: CostEvaluator,
    decided: dict[str, Array],
    held: Index,
    folds: list[Index],
    labels: dict[str, str],
) -> tuple[MethodCost, ...]:
    """Measures of every method on the rows held out, with the saving over ignoring censoring."""
    where = np.argsort(held, kind="stable")
    place = np.empty(evaluator.truth.shape[-1], dtype=np.intp)
    place[held[where]] = where
    part = replace(evaluator, cost=evaluator.cost.take(held), truth=evaluator.truth[..., held])
    evaluated = [
        part.price(method, labels[method], decision[held], [place[fold] for fold in folds])
        for method, decision in decided.items()
    ]
    base = next((each.cost for each in evaluated if each.method == "ieo"), None)
    if base is None or base <= 0:
        return tuple(evaluated)
    return tuple(replace(each, saving=1.0 - each.cost / base) for each in evaluated)
