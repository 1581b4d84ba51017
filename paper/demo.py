"""The demonstration: the paper's methods and ours on its simulated store, on the true demand.

Every method on every seed and level, averaged over seeds. Decisions below zero are raised to zero
before they are evaluated, since nobody orders less than nothing; the simulated demand and the true
quantile are never negative either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

from paper.plots import LEVEL_AXIS, ROLES, line_parts
from paper.protocol import Informed, simulated
from paper.published import band
from paper.tables import Row, Table, show
from unmet.arrays import Array, Band
from unmet.censoring import Diagnosis, LatentBand
from unmet.charts import Chart, at, axis, lines, side_by_side
from unmet.costs import Newsvendor, SquaredError
from unmet.estimators import LinearDecision
from unmet.evaluation import Experiment, gap_closed
from unmet.evaluation.experiment import Task
from unmet.files import Cell
from unmet.progress import Step, silent
from unmet.simulate.store10 import PUBLISHED_LEVELS, PUBLISHED_STORE

#: Short names, what they stand for, and how they are drawn, in the order of every table.
METHODS = {
    "eas": ("EAS: least squares", "EAS"),
    "ieo": ("IEO: no band", "IEO"),
    "descent": ("published ε, descent", "exact"),
    "exact": ("published ε, exact", "ε"),
    "latent": ("LatentBand", "latent"),
    "truth": ("trained on demand", "truth"),
    "optimum": ("true quantile Q*", "Q*"),
}

#: Where ignoring censoring costs less than this share more than the optimum, there is no gap.
SMALLEST_GAP = 0.02

DATA = partial(simulated, True, PUBLISHED_STORE)


class _Knowing:
    """Decide as well as can be: the quantile of the true distribution."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def fit(self, *_: Any) -> None:
        """Learn nothing."""

    def predict(self, *_: Any) -> Array:
        """Give the optimum of the test rows."""
        assert self._task.data.optimum is not None
        return self._task.data.optimum(self._task.level)


def _model(name: str, task: Task) -> Any:
    """Make one model, not fitted yet."""
    own = Band.scaled(*band("LR", task.level), observation=task.data.observation)
    match name:
        case "eas":
            return LinearDecision(SquaredError())
        case "descent":
            return LinearDecision(task.cost, band=own, solver="minibatch")
        case "exact":
            return LinearDecision(task.cost, band=own)
        case "latent":
            return LinearDecision(task.cost, band=LatentBand(random_state=0))
        case "truth":
            return Informed(LinearDecision(task.cost), task.data.known["truth"])
        case "optimum":
            return _Knowing(task)
    return LinearDecision(task.cost)


def _training_cost(task: Task, model: Any, _: Array) -> float | None:
    """Mean cost of a training row under the band that the method was given."""
    if isinstance(model, _Knowing):
        return None
    target = model.target if isinstance(model, Informed) else task.data.observation
    predicted = model.predict(task.data.features)
    return float(task.cost.loss(predicted, target, model.band_).mean())


def compare(seeds: Sequence[int], step: Step = silent) -> list[dict[str, Any]]:
    """Fit and evaluate every method; one outcome per level and method, means over the seeds.

    ``gap_closed`` is the share of the way from "ieo" to "optimum", of the mean costs; None where
    there is no gap. ``training_cost`` is the mean cost of a training row, ``cpu_seconds`` the
    median of a fit.
    """
    methods = {name: partial(_model, name) for name in METHODS}
    measures: Any = {"training_cost": _training_cost}
    task = Experiment(DATA, methods, seeds=seeds, measures=measures, lower=0.0)
    found = task.run(progress=step)
    outcomes = []
    for level in PUBLISHED_LEVELS:
        ends = [found.mean(name, level) for name in ("ieo", "optimum")]
        for name in METHODS:
            costs = found.values(name, level)
            closed = gap_closed(fmean(costs), *ends, tolerance=SMALLEST_GAP)
            trained = found.values(name, level, "training_cost")
            outcomes.append(
                {
                    "level": level,
                    "method": name,
                    "cost": fmean(costs),
                    "cost_lowest": min(costs),
                    "cost_highest": max(costs),
                    "gap_closed": None if math.isnan(closed) else closed,
                    "service_level": found.mean(name, level, "service_level"),
                    "rmse_to_optimum": found.mean(name, level, "rmse_to_optimum"),
                    "training_cost": None if trained[0] is None else fmean(trained),
                    "cpu_seconds": median(found.values(name, level, "cpu_seconds")),
                }
            )
    return outcomes


def diagnose(seed: int, level: float = 0.85) -> Diagnosis:
    """Say what LatentBand finds in the sales of one seed."""
    data = DATA(seed)
    model = _model("latent", Task(seed, level, Newsvendor.at_level(level), data, None))
    found: Diagnosis = model.fit(data.features, data.observation).diagnosis_
    return found


def meaning(outcomes: Sequence[dict[str, Any]]) -> list[str]:
    """Say in words what the numbers say, at α = .85."""
    at = {each["method"]: each for each in outcomes if each["level"] == 0.85}
    exact, descent = at["exact"], at["descent"]
    share, estimated = (show(each["gap_closed"], ".0%") for each in (exact, at["latent"]))
    ieo, best = (at[name]["cost"] for name in ("ieo", "optimum"))
    sentences = [
        f"At α = 0.85 taking sales for demand costs {ieo:.2f} per row, the best orders {best:.2f}; "
        f"the published ε, fitted exactly, closes {share} of that gap, because it was chosen "
        "without any view of the demand that sales hide. LatentBand estimates ε from the same "
        f"sales and closes {estimated}."
    ]
    if descent["cost"] < exact["cost"]:
        excess = descent["training_cost"] / exact["training_cost"] - 1
        sentences.append(
            f"The published descent costs {descent['cost']:.2f} because of its penalty and its "
            f"early stop: its training cost is {excess:.0%} above the minimum, which here happens "
            "to mean larger orders."
        )
    return sentences


def tables(outcomes: Sequence[dict[str, Any]]) -> list[Table]:
    """Costs, shares of the gap and service levels: methods down, levels across."""
    made = []
    forms = {"cost": ".2f", "gap_closed": ".0%", "service_level": ".0%", "cpu_seconds": ".3f"}
    for measure, form in forms.items():
        columns = {"method": "", **{f"α = {level:g}": form for level in PUBLISHED_LEVELS}}
        rows: list[Row] = [
            (words, *(each[measure] for each in outcomes if each["method"] == name))
            for name, (words, _) in METHODS.items()
        ]
        made.append(Table(f"demo-{measure}", columns, rows))
    return made


def draw_outcomes(outcomes: Sequence[dict[str, Cell]]) -> Chart:
    """Draw costs on the left, shares of the gap on the right, one legend below both."""
    costs, shares = [], []
    for name, (words, role) in METHODS.items():
        own: list[dict[str, Any]] = [each for each in outcomes if each["method"] == name]
        ranges = [(each["cost_lowest"], each["cost_highest"]) for each in own]
        values = [each["cost"] for each in own]
        costs += line_parts(PUBLISHED_LEVELS, (words, role, values, ranges))
        if role not in ("EAS", "IEO", "Q*"):
            closed = [each["gap_closed"] for each in own]
            shares += line_parts(PUBLISHED_LEVELS, (words, role, closed, ()))
    shares += [at("", ROLES[role], y=height) for height, role in ((0.0, "IEO"), (1.0, "Q*"))]
    both: dict[str, Any] = {"x": LEVEL_AXIS, "legend": {part[0]: part[1] for part in costs}}
    part = axis(form=".0%")
    return side_by_side(
        lines(costs, title="What the orders cost on true demand", y=axis(zero=True), **both),
        lines(shares, title="Share of the gap between IEO and Q* closed", y=part, **both),
    )
