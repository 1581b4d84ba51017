"""Rows to train on, rows held out, and the boosting of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.band import Array
from unmet.costs import Cost
from unmet.models.boosted_columns import Columns
from unmet.models.training import Training
from unmet.models.validating import read_validation_pair
from unmet.rows import read_column
from unmet.solvers.boosting.loop import Boosted, Part, boost
from unmet.solvers.boosting.objectives import read_objective
from unmet.solvers.boosting.settings import Settings


def read_validation(
    given: Any, X: Any, cost: Cost, by_row: tuple[str, ...], columns: Columns
) -> Training | None:
    """Read rows whose truth is known; their cost is the realised one."""
    if given is None:
        return None
    watched, truth = read_validation_pair(given, X, by_row)
    features = columns.read(watched)
    return Training(features, read_column("truth", truth, features.shape[0]), cost, None, None)


def train(
    training: Training,
    settings: Settings,
    n_held: int,
    validation: Training | None,
    categorical: tuple[int, ...],
    monotone: tuple[int, ...] | None,
) -> tuple[Boosted, Array]:
    """Boost, judged by `validation` or by `n_held` of the rows, where there are any.

    Returns what was found, and the decisions of all training rows.
    """
    rows, held, order = training, validation, None
    if validation is None and n_held:
        order = np.random.default_rng(settings.seed).permutation(training.observation.size)
        held, rows = (training.take(np.sort(part)) for part in np.split(order, [n_held]))
    found = boost(
        _part(rows),
        settings,
        held=None if held is None else _part(held),
        categorical=categorical,
        monotone=monotone,
    )
    if order is None or found.held_decision is None:
        return found, found.decision
    decision = np.empty(order.size)
    decision[np.sort(order[:n_held])] = found.held_decision
    decision[np.sort(order[n_held:])] = found.decision
    return found, decision


def _part(rows: Training) -> Part:
    objective = read_objective(rows.cost, rows.observation, rows.band, rows.share)
    return Part(rows.features, objective)
