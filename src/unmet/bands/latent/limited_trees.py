"""Location of truths that only have limits: the features, or trees where buyers bend.

Trees cannot be grown on observations here, for a price that was asked is no truth. They are grown
on what a normal law makes of the limits, step by step: with ℓ the log-probability of a row's
limits, each step fits the working response location − ℓ'/ℓ'' with weight −ℓ''.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from unmet.band import Array
from unmet.bands.latent.design import Design
from unmet.bands.latent.families import FAMILIES
from unmet.bands.latent.fitting import Problem, maximise
from unmet.bands.latent.likelihood import row_likelihood
from unmet.bands.latent.location import Location, affordable, dense, find_location, looks_for_bends
from unmet.bands.latent.model import Model
from unmet.bands.latent.observed import Observed
from unmet.bands.latent.race import behind, first_start
from unmet.bands.latent.trees import Bins, grow, one_thread
from unmet.bands.sample import Sample

_FOLDS, _TREES, _ROUNDS = 4, 200, 2
_CLEARLY, _WORTH = 3.0, 10.0  # standard errors, and units of log-likelihood
_LEAST_CURVATURE = 0.05
_STEP = 1e-4
_NORMAL = FAMILIES["normal"]


def place_within(
    sample: Sample, setting: Any, estimator: Any, seed: int, notes: list[str]
) -> Location | None:
    """Decide what stands for the features; None where they do so themselves."""
    if not looks_for_bends(setting, estimator):
        return find_location(sample, setting, None, seed)
    if not affordable(sample):
        return None
    with one_thread():
        location = _grown(sample, seed)
    if location is not None:
        notes.append(
            "Boosted trees stand for the features: they explain limits of rows held out better "
            "than a plane."
        )
    return location


class _Plane(NamedTuple):
    """A normal law whose location is linear in some columns, and the scores of rows under it."""

    location: Array
    scale: float
    rows: Array


def _grown(sample: Sample, seed: int) -> Location | None:
    """Trees that follow the truth, if they explain rows held out clearly better than a plane."""
    assert sample.limits is not None
    features, weight = dense(sample.features), sample.weight
    observed, bins = Observed.within(sample.limits), Bins.of(features)
    folds = list(KFold(_FOLDS, shuffle=True, random_state=seed).split(features))
    straight = bent = _fit(observed, features, weight)
    for _ in range(_ROUNDS):
        response, curvature = _working(observed, bent)
        counts = weight * curvature / np.average(curvature, weights=weight)
        grown = grow(features, response, counts, folds, bins, most=_TREES, seed=seed)
        bent = _fit(observed, grown.held_out[:, None], weight)
    gain, error = behind(bent.rows, straight.rows, weight)
    # the plane has seen the rows that it is scored on, and is favoured by that
    if gain <= _CLEARLY * error or gain * weight.size <= _WORTH:
        return None
    return Location((grown,), None, 0.0, grown.held_out[:, None])


def _fit(observed: Observed, columns: Array, weight: Array) -> _Plane:
    """Maximum likelihood of a normal law."""
    basis = Design.of(columns, weight).basis(columns)
    point, rows = observed.point("linear"), observed.rows_in("linear")
    model = Model(_NORMAL, "absent", basis.shape[1])
    problem = Problem(model, basis, np.empty((point.size, 0)), point, rows, weight)
    found = maximise(problem, first_start(problem, None))
    located = model.locate(found.parameters, basis, problem.scale_basis)
    return _Plane(located.location, float(np.exp(located.log_scale[0])), found.rows)


def _working(observed: Observed, plane: _Plane) -> tuple[Array, Array]:
    """Response and weight of one Newton step, both in units of the observation's spread."""
    slope, curvature = _derivatives(observed, plane)
    curvature = np.clip(curvature, _LEAST_CURVATURE, 1.0)
    return plane.location - plane.scale * slope / curvature, curvature


def _derivatives(observed: Observed, plane: _Plane) -> tuple[Array, Array]:
    """First derivative in u of each row's log-probability, and minus the second."""
    u = (observed.point("linear") - plane.location) / plane.scale
    rows, unit_scale = observed.rows_in("linear"), np.full(u.size, np.log(plane.scale))

    def slope(at: Array) -> Array:
        return row_likelihood(_NORMAL, 0.0, None, at, unit_scale, rows).point

    second = (slope(u + _STEP) - slope(u - _STEP)) / (2.0 * _STEP)
    return slope(u), -second
