"""Many networks at once: folds × candidates × costs × seeds in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

from unmet.band import Band, common_rows
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.banding import Chosen, Known, choose_bands
from unmet.models.network_parameters import NetworkPlan, read_plan
from unmet.models.network_training import best, priced_rows
from unmet.models.parameters import read_band, read_cost
from unmet.models.training import Observed, Training
from unmet.solvers.neural.objectives import Index
from unmet.solvers.neural.scaling import FeatureScaling
from unmet.solvers.neural.tasks import Task, Trained
from unmet.solvers.neural.train import train


@dataclass(frozen=True)
class Job:
    """One network of many: an estimator with its own parameters, and the rows it learns from."""

    model: Any
    cost: Cost
    rows: Index | None


@dataclass(frozen=True)
class Done:
    """What a job has come to."""

    model: Any
    trained: Trained
    training: Training
    cost: Cost
    chosen: Chosen


def read_jobs(model: BaseEstimator, jobs: Any, n_rows: int, costs: Mapping[str, Any]) -> list[Job]:
    """Make an estimator for each job; errors name the job."""
    if isinstance(jobs, Mapping | str) or not isinstance(jobs, Iterable):
        raise InvalidInput(f"jobs must be several mappings of parameters, got {jobs!r:.60}.")
    known = set(model.get_params(deep=False))
    read = []
    for place, job in enumerate(jobs):
        if not isinstance(job, Mapping):
            raise InvalidInput(f"jobs must be several mappings of parameters, got {job!r:.60}.")
        parameters = {name: value for name, value in job.items() if name != "rows"}
        for name in parameters:
            if name not in known:
                raise InvalidInput(
                    f"jobs must name parameters of the estimator or 'rows', "
                    f"got {name!r} in job {place}."
                )
        # Not `clone` and `set_params`: copies of a rule would each learn for themselves.
        own = type(model)(**{**model.get_params(deep=False), **parameters})
        cost = read_cost(own.cost).with_rows(**costs)
        ends = own.band.parameters() if isinstance(own.band, Band) else {}
        common_rows({"y": np.broadcast_to(0.0, n_rows), **ends, **cost.parameters()})
        read.append(Job(own, cost, _rows(job, place, n_rows)))
    return read


def _rows(job: Mapping[str, Any], place: int, n_rows: int) -> Index | None:
    """Row numbers of a job, from numbers or a mask."""
    given = job.get("rows")
    if given is None:
        return None
    try:
        rows = np.asarray(given)
    except ValueError:
        rows = np.empty(0)  # lists in lists, refused below
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    good = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    if not good or rows.min() < 0 or rows.max() >= n_rows or np.unique(rows).size < rows.size:
        raise InvalidInput(
            f"rows must be a mask of {n_rows} entries or different numbers from 0 to {n_rows - 1}, "
            f"got {given!r:.60} in job {place}."
        )
    return rows.astype(np.intp)


def fit_jobs(
    model: BaseEstimator,
    X: Any,
    y: Any,
    jobs: Any,
    known: Known,
    costs: Mapping[str, Any],
    n_jobs: int,
) -> list[Done]:
    """Train the networks of all jobs, those with common options in the same arrays."""
    observed = Observed.read(X, y, known.sample_weight, at_least=2)
    read = read_jobs(model, jobs, observed.n_rows, costs)
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InvalidInput(f"n_jobs must be a whole number other than 0, got {n_jobs!r}.")
    chosen = _choose(read, X, y, known)
    plans = []
    tasks: list[list[Task]] = []
    trainings = []
    for job, band in zip(read, chosen, strict=True):
        training, rows = _training(observed, job, band)
        plan = read_plan(job.model, training.observation.size)
        _check(plan)
        plans.append(plan)
        trainings.append(training)
        tasks.append(list(plan.tasks(priced_rows(training, rows))))
    answers = _train(observed, plans, tasks, n_jobs)
    return [
        Done(job.model, trained, training, job.cost, band)
        for job, trained, training, band in zip(read, answers, trainings, chosen, strict=True)
    ]


def _choose(jobs: Sequence[Job], X: Any, y: Any, known: Known) -> list[Chosen]:
    """Band of each job; a rule learns once for all jobs with the same rows."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, job in enumerate(jobs):
        groups[None if job.rows is None else job.rows.tobytes()].append(place)
    chosen: dict[int, Chosen] = {}
    for places in groups.values():
        rows = jobs[places[0]].rows
        some = [X, y, *vars(known).values()]
        if rows is not None:
            some = [None if each is None else _take(each, rows) for each in some]
        pairs = []
        bands: dict[int, Any] = {}
        for place in places:
            job = jobs[place]
            band = bands.setdefault(id(job.model.band), read_band(job.model.band))
            pairs.append((job.cost, band) if rows is None else _some(job.cost, band, rows))
        features, seen, *others = some
        model = clone(jobs[places[0]].model)
        found = choose_bands(model, pairs, features, seen, Known(*others))
        chosen.update(zip(places, found, strict=True))
    return [chosen[place] for place in range(len(jobs))]


def _some(cost: Cost, band: Any, rows: Index) -> tuple[Cost, Any]:
    """Cost and band of some rows; a rule will be given these rows only."""
    return cost.take(rows), band.take(rows) if isinstance(band, Band) else band


def _take(values: Any, rows: Index) -> Any:
    array = values if hasattr(values, "shape") else np.asarray(values)
    return array if array.shape == () else _safe_indexing(array, rows)


def _training(observed: Observed, job: Job, chosen: Chosen) -> tuple[Training, Index | None]:
    """Rows of a job that have weight, and their numbers among all that have."""
    if job.rows is None:
        return observed.priced(job.cost, chosen.band), None
    place = np.arange(observed.n_rows)
    if observed.kept is not None:
        place = np.full(observed.n_rows, -1)
        place[observed.kept] = np.arange(observed.kept.size)
    inside = place[job.rows]
    with_weight = np.flatnonzero(inside >= 0)
    if with_weight.size < 2:
        raise InvalidInput("rows must hold at least two rows with weight.")
    rows = inside[with_weight]
    band = None if chosen.band is None else chosen.band.take(with_weight)
    share = None if observed.share is None else observed.share[rows]
    training = Training(
        observed.features[rows],
        observed.observation[rows],
        job.cost.take(job.rows[with_weight]),
        band,
        None if share is None else share / share.sum(),
    )
    return training, rows


def _check(plan: NetworkPlan) -> None:
    if plan.backend != "numpy":
        raise Unsupported(
            f"fit_many and the backend {plan.backend!r} do not fit together, because only 'numpy' "
            "trains many networks at once."
        )


def _train(
    observed: Observed, plans: Sequence[NetworkPlan], tasks: Sequence[Sequence[Task]], n_jobs: int
) -> list[Trained]:
    """Train all tasks, option by option, and keep each job's best restart."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, plan in enumerate(plans):
        groups[plan.options].append(place)
    answers: dict[int, Trained] = {}
    for places in groups.values():
        options = plans[places[0]].options
        flat = [task for place in places for task in tasks[place]]
        scaling = FeatureScaling.of(observed.features, observed.share, options.scaling)
        trained = iter(train(observed.features, flat, options, scaling, effective_n_jobs(n_jobs)))
        for place in places:
            answers[place] = best([next(trained) for _ in tasks[place]])
    return [answers[place] for place in range(len(plans))]
