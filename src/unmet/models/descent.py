"""One more epoch of mini-batch descent, for `partial_fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.band import Array
from unmet.errors import Unsupported
from unmet.models.training import Method, Training
from unmet.solvers.minibatch import DescentState, one_epoch
from unmet.solvers.minibatch_rows import Units, choose_units, read_data
from unmet.solvers.problem import Solution


def descends(model: Any) -> bool:
    """Whether `partial_fit` is there; scikit-learn shows the sentence below a missing attribute."""
    if model.solver != "minibatch":
        raise Unsupported(
            f"partial_fit and the solver {model.solver!r} do not fit together, because only "
            "'minibatch' learns from some rows at a time."
        )
    return True


def resume(method: Method, rows: Training, coefficients: Array, intercept: float) -> DescentState:
    """Begin at parameters that `fit` has found, in units fixed by these rows."""
    units = Units()
    if method.minibatch.scale_observation:
        data = read_data(rows.features, rows.cost, rows.observation, rows.band, rows.share)
        units = choose_units(data, method.fit_intercept)
    return DescentState(coefficients, intercept, units)


def descend(
    method: Method, rows: Training, weight: Array | None, state: DescentState | None
) -> tuple[DescentState, Solution]:
    """Go through the rows once.

    ``weight`` are the weights as they came, since a share of one batch means nothing to the next.
    The objective of the solution is that of these rows.
    """
    new = one_epoch(
        rows.features,
        rows.cost,
        rows.observation,
        rows.band,
        state=state,
        sample_weight=weight,
        ridge=method.descent_ridge,
        fit_intercept=method.fit_intercept,
        options=method.minibatch,
    )
    ridge = method.descent_ridge
    if ridge is None:  # β of the options is in scaled units
        ridge = method.minibatch.penalty * new.units.steepness / new.units.unit
    decision = np.asarray(rows.features @ new.coefficients + new.intercept)
    objective = rows.mean_cost(decision) + ridge * float(new.coefficients @ new.coefficients)
    unknown = float("nan")
    return new, Solution(
        new.coefficients, new.intercept, objective, unknown, unknown, new.epochs, 1.0, "mini-batch"
    )
