"""Truths of which only limits are known: how far these tell the distribution, and its location.

What is based on data and what on the family alone (`certainty`), and trees that follow a truth
nobody has seen (`place_within`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmet.arrays import Array
from unmet.censoring import constants as tuned
from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.fitted import FittedModel, RepresentativeRows, RowQuantiles
from unmet.censoring.latent.fitting import (
    LatentModel,
    LikelihoodProblem,
    OrthogonalBasis,
    information,
    maximise,
)
from unmet.censoring.latent.likelihood import BELOW, CENSORED, SEEN, row_likelihood
from unmet.censoring.latent.location import (
    Bins,
    Location,
    affordable,
    dense,
    find_location,
    grow,
    looks_for_bends,
    one_thread,
)
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import behind, first_start
from unmet.censoring.model import Identified
from unmet.rows import Rows

_STEP = 1e-4
_LEAST_INFORMATION = 1e-9  # of a direction among standardised parameters
_NORMAL = FAMILIES["normal"]
_WORDS = {
    "right": "at least a limit",
    "left": "below one",
    "interval": "between two",
    "exact": "seen",
    "nothing": "not known at all",
}


def describe_limits(sample: Rows) -> str:
    """Count the kinds of information in a sentence."""
    assert sample.limits is not None
    kinds = sample.limits.kinds
    counts = [(name, int((kinds == name).sum())) for name in _WORDS]
    words = [f"{_WORDS[name]} in {count:,}" for name, count in counts if count]
    return f"Of {kinds.size:,} rows the truth is {', '.join(words)}."


def certainty(
    fitted_model: FittedModel,
    rows: RepresentativeRows,
    level: Array | float,
    decisions: Sequence[float],
) -> tuple[Identified, list[str]]:
    """Whether the distribution is told by the limits, and a sentence each about what is not.

    Parameters
    ----------
    fitted_model : FittedModel
    rows : RepresentativeRows
    level : float or ndarray of shape (n_rows,)
        Of the truth's quantile that is asked for.
    decisions : sequence of float
        Mean decisions of all candidates that cannot be ruled out.
    """
    assert fitted_model.told is not None
    gradients, follows, reached = fitted_model.told
    quantiles = RowQuantiles(fitted_model, fitted_model.chosen, rows.sample.features)
    spread = 0.5 * rows.mean(quantiles.truth(0.84) - quantiles.truth(0.16))
    error = tuned.SURE_ERRORS * _standard_error(fitted_model, gradients, rows, level)
    differ = max(decisions) - min(decisions)
    off = max(error, differ) / max(spread, 1e-300)
    found: Identified = "yes" if off <= tuned.SURE else "weakly" if off <= tuned.VAGUE else "no"
    notes = []
    if error > tuned.SURE * spread:
        notes.append(
            f"Decisions may be off by {error:.3g} from chance alone: limits that vary more in rows "
            "with the same features would tell more."
        )
    if differ > tuned.SURE * spread:
        notes.append(f"Families that explain the limits as well differ by {differ:.3g}.")
    if follows:
        found = "no"
        notes.append(
            "Limits follow from the features, so that rows alike never had different ones: how "
            "many truths lie beyond them is known, but not how far."
        )
    if float(np.mean(level)) > reached:
        notes.append(
            f"Limits reach the {reached:.0%} quantile of the truth only: what lies beyond, "
            f"the {float(np.mean(level)):.0%} quantile too, is based on the family."
        )
        found = "weakly" if found == "yes" else found
    return found, notes


def tell(fitted_model: FittedModel) -> tuple[Array, bool, float]:
    """Look at what limits tell, whatever the cost: `FittedModel.told`."""
    data, fitted = fitted_model.data, fitted_model.chosen
    observed = data.observed
    outer = information(fitted.fit.problem, fitted.fit.parameters)
    follows = False
    if np.isin(observed.kind, (CENSORED, BELOW)).all():
        basis, root = np.asarray(data.bases["features"]), np.sqrt(data.weight)
        target = observed.observation / observed.unit
        line = np.linalg.lstsq(basis * root[:, None], target * root, rcond=None)[0]
        follows = float(np.std(target - basis @ line)) < tuned.FOLLOWS_FEATURES
    reached = 1.0  # truths that were seen are not limits: their distribution has no top
    if (observed.kind == SEEN).mean() <= 1.0 - tuned.LIMITS_REACHED:
        assert observed.limits is not None
        upper, lower = observed.limits.upper, observed.limits.lower
        prediction, rows = fitted_model.prediction(fitted, with_orders=False), fitted.fit.located
        place = prediction.below(rows, np.where(np.isinf(upper), lower, upper))
        reached = float(np.quantile(place, tuned.LIMITS_REACHED))
    return outer, follows, reached


def _standard_error(
    fitted_model: FittedModel, information: Array, rows: RepresentativeRows, level: Array | float
) -> float:
    """Give the standard error of the mean decision, by the rows' gradients (delta method)."""
    fitted = fitted_model.chosen
    size = np.sqrt(np.maximum(np.diag(information), 1e-12))
    slope = np.empty(size.size)
    for place, unit in enumerate(size):
        step = np.zeros(size.size)
        step[place] = _STEP / max(unit, 1.0)
        ends = []
        for moved in (fitted.fit.parameters + step, fitted.fit.parameters - step):
            there = replace(fitted, fit=replace(fitted.fit, parameters=moved))
            quantiles = RowQuantiles(fitted_model, there, rows.sample.features)
            ends.append(rows.mean(quantiles.truth(level)))
        slope[place] = (ends[0] - ends[1]) / (2.0 * step[place])
    values, vectors = np.linalg.eigh(information / size[:, None] / size)
    along = vectors.T @ (slope / size)
    return float(np.sqrt(np.sum(along**2 / np.maximum(values, _LEAST_INFORMATION))))


def place_within(
    sample: Rows, setting: Any, estimator: Any, seed: int, notes: list[str]
) -> Location | None:
    """Decide what stands for the features; None where they do so themselves.

    Trees cannot be grown on observations here, for a price that was asked is no truth. They are
    grown on what a normal distribution makes of the limits, step by step: with ℓ the
    log-probability of a row's limits, each step fits the working response location − ℓ'/ℓ'' with
    weight −ℓ''.
    """
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


def _grown(sample: Rows, seed: int) -> Location | None:
    """Trees that follow the truth, if they explain rows held out clearly better than a plane."""
    from sklearn.model_selection import KFold

    assert sample.limits is not None
    features, weight = dense(sample.features), sample.weight
    observed, bins = Observed.within(sample.limits), Bins.of(features)
    folds = list(KFold(tuned.TREE_FOLDS, shuffle=True, random_state=seed).split(features))
    location, scale, straight = _fit(observed, features, weight)
    for _ in range(tuned.LIMIT_ROUNDS):
        slope, curvature = _derivatives(observed, location, scale)
        curvature = np.clip(curvature, tuned.LEAST_LIMIT_CURVATURE, 1.0)
        response = location - scale * slope / curvature
        counts = weight * curvature / np.average(curvature, weights=weight)
        grown = grow(features, response, counts, folds, bins, most=tuned.MAX_LIMIT_TREES, seed=seed)
        location, scale, bent = _fit(observed, grown.held_out[:, None], weight)
    gain, error = behind(bent, straight, weight)
    # the plane has seen the rows that it is scored on, and is favoured by that
    if gain <= tuned.CLEARLY * error or gain * weight.size <= tuned.WORTH:
        return None
    return Location((grown,), None, 0.0, grown.held_out[:, None])


def _fit(observed: Observed, columns: Array, weight: Array) -> tuple[Array, float, Array]:
    """Location, scale and scores of the rows by the likeliest normal distribution."""
    basis = OrthogonalBasis.of(columns, weight).basis(columns)
    point, rows = observed.point("linear"), observed.rows_in("linear")
    model = LatentModel(_NORMAL, "absent", basis.shape[1])
    problem = LikelihoodProblem(model, basis, np.empty((point.size, 0)), point, rows, weight)
    found = maximise(problem, first_start(problem, None))
    located = found.located
    return located.location, float(np.exp(located.log_scale[0])), found.rows


def _derivatives(observed: Observed, location: Array, scale: float) -> tuple[Array, Array]:
    """First derivative in u of each row's log-probability, and minus the second."""
    u = (observed.point("linear") - location) / scale
    rows, unit_scale = observed.rows_in("linear"), np.full(u.size, np.log(scale))

    def slope(at: Array) -> Array:
        return row_likelihood(_NORMAL, 0.0, None, at, unit_scale, rows).point

    second = (slope(u + _STEP) - slope(u - _STEP)) / (2.0 * _STEP)
    return slope(u), -second
