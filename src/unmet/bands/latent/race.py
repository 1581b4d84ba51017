"""Which explanation: fit each, compare on held-out rows, let ties go to the least censoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.bands.latent.counts import count_share
from unmet.bands.latent.design import is_rest
from unmet.bands.latent.families import Family
from unmet.bands.latent.fitting import Fit, Problem, Rate, maximise, row_values
from unmet.bands.latent.likelihood import BELOW, BETWEEN, CENSORED, FLOOR
from unmet.bands.latent.model import Model, Policy
from unmet.bands.latent.observed import Observed

ScaleName: TypeAlias = Literal["constant", "level", "features"]
LocationName: TypeAlias = Literal["features", "orders"]
LinkName: TypeAlias = Literal["linear", "additive", "multiplicative"]

# Where the orders may stand, as multiples of the spread of the observations: how far the truth's
# location lies above theirs, the level of the orders above that, and their spread.
_STARTS = ((0.5, 0.0, 0.3), (0.1, 1.0, 0.5), (0.0, 2.0, 0.7))
# Orders spread by less are looked for exactly (piles.py). A narrow spike can be laid through as
# many rows as there are parameters, which proves nothing.
_LEAST_SPREAD = 0.05
_LEAST_COUNT_SPREAD = 0.01  # a probability is at most one: no spike can be narrow
_BLURRED = 0.4
_LEAST_START = 0.3  # of the spread of limits: where the scale of the truth starts at least
_FIRST_STEPS = 8  # from each start, before only the best goes on


@dataclass(frozen=True)
class Entry:
    """One explanation: names, and its problem on all rows."""

    family: Family
    policy: Policy
    scale: ScaleName
    link: LinkName
    location: LocationName = "features"
    """Whether the location has a coefficient per feature or moves with orders that are known."""


@dataclass(frozen=True)
class Runner:
    """An explanation, fitted to all rows.

    Attributes
    ----------
    entry : Entry
    fit : Fit
    rows : ndarray of shape (n_rows,)
        Log-likelihood of each row, in units of the observation.
    share : float
        Share of rows censored.
    unit : float
        Of the points of its problem, in units of the observation.
    held_out : ndarray of shape (n_rows,) or None
        The same from fits that had not seen the row; None if it was out of the race before.
    """

    entry: Entry
    fit: Fit
    rows: Array
    share: float
    unit: float
    held_out: Array | None = None

    @property
    def information(self) -> float:
        """Log-likelihood of all rows less one per parameter (Akaike)."""
        return float(self.fit.problem.weight @ self.rows) - self.fit.parameters.size


@dataclass(frozen=True)
class Field:
    """Everything a race needs of the data.

    Attributes
    ----------
    observed : Observed
    bases : dict of ndarray
        Features of the location, by name of the kind.
    scale_bases : dict of ndarray
        Features of the scale, by name of the pattern.
    weight : ndarray of shape (n_rows,)
    known : bool
        Whether for every row it is known if it is censored: then orders need no model.
    rate : Rate or None
    """

    observed: Observed
    bases: dict[LocationName, Array]
    scale_bases: dict[ScaleName, Array]
    weight: Array
    known: bool
    rate: Rate | None

    def __getstate__(self) -> dict[str, Any]:
        """Save columns once that stand in both kinds of bases."""
        basis = self.bases["features"]
        kept = {k: None if is_rest(v, basis) else v for k, v in self.scale_bases.items()}
        return {**vars(self), "scale_bases": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = state["bases"]["features"][:, 1:]
        full = {k: rest if v is None else v for k, v in state["scale_bases"].items()}
        vars(self).update({**state, "scale_bases": full})

    def problem(self, entry: Entry) -> Problem:
        """Set up one explanation."""
        observed, family = self.observed, entry.family
        basis, scale_basis = self.bases[entry.location], self.scale_bases[entry.scale]
        soft = 0.05 * float(np.mean(observed.observation)) / observed.unit_of(family.space)
        model = Model(
            family,
            entry.policy,
            basis.shape[1],
            scale_basis.shape[1],
            softness=soft if entry.link == "additive" else 0.0,
            least_spread=self._least_spread(entry),
        )
        point = observed.point(family.space)
        rows = observed.rows_in(family.space)
        return Problem(model, basis, scale_basis, point, rows, self.weight, self.rate)

    def _least_spread(self, entry: Entry) -> float:
        """Allow for rounding, which alone spreads orders by about a third of a step."""
        observed = self.observed
        if entry.family.space == "counts":
            return _LEAST_COUNT_SPREAD
        if not observed.lattice:
            return _LEAST_SPREAD
        typical = observed.unit if entry.family.space == "linear" else np.mean(observed.observation)
        return max(_LEAST_SPREAD, 0.3 * observed.lattice / float(typical))

    def run(self, entry: Entry, starts: Sequence[Array], rounds: int = 6) -> Runner:
        """Fit one explanation from several starts and keep the best."""
        problem = self.problem(entry)
        best = starts[0]
        if len(starts) > 1:
            fits = [maximise(problem, start, rounds=1, steps=_FIRST_STEPS) for start in starts]
            best = max(fits, key=lambda fit: fit.climbed).parameters
        return self.runner(entry, maximise(problem, best, rounds=rounds))

    def polish(self, runner: Runner) -> Runner:
        """Climb on from where a first look stopped."""
        fit = maximise(runner.fit.problem, runner.fit.parameters, tolerance=1e-6)
        return self.runner(runner.entry, fit)

    def runner(self, entry: Entry, fit: Fit) -> Runner:
        """Put a fit on the scale on which explanations are compared."""
        unit = self.observed.unit_of(entry.family.space)
        return Runner(entry, fit, self._rows(fit), self._share(fit), unit)

    def _rows(self, fit: Fit) -> Array:
        return fit.rows + self._jacobian(fit.problem)

    def _jacobian(self, problem: Problem) -> Array:
        kind = self.observed.kind
        by_chance = np.isin(kind, (FLOOR, BELOW, BETWEEN))
        if problem.model.policy == "absent":
            by_chance = by_chance | (kind == CENSORED)
        return self.observed.jacobian(problem.model.family.space, (~by_chance).astype(np.float64))

    def _share(self, fit: Fit) -> float:
        if self.known:
            return float(self.weight @ (self.observed.kind == CENSORED)) / self.weight.size
        model, parameters = fit.problem.model, fit.parameters
        orders = model.orders(parameters)
        if model.family.space != "counts" or orders is None:
            return model.share_censored(parameters)
        rows = model.locate(parameters, fit.problem.basis, fit.problem.scale_basis)
        return count_share(rows.location, model.shape(parameters, rows.log_scale), orders)

    def hold_out(self, runner: Runner, folds: NDArray[np.intp]) -> Runner:
        """Score each row by a fit that has not seen it; each starts from the fit to all rows."""
        problem = runner.fit.problem
        start = _blurred(problem, runner.fit.parameters)
        scores = np.empty(folds.size)
        for fold in range(int(folds.max()) + 1):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fit = maximise(problem.take(inside), start, rounds=2)
            scores[outside] = row_values(problem.take(outside), fit.parameters)
        return replace(runner, held_out=scores + self._jacobian(problem))


def _blurred(problem: Problem, parameters: Array) -> Array:
    """Widen narrow orders: a fold must find them again, or rows held out would have helped."""
    place = problem.model.layout.spread
    start = parameters.copy()
    start[place] = np.maximum(start[place], np.log(_BLURRED))
    return start


def first_start(problem: Problem, offset: tuple[float, float, float] | None) -> Array:
    """Least squares for the location, and orders where `offset` says."""
    model, layout = problem.model, problem.model.layout
    family, counts = model.family, model.family.space == "counts"
    start = np.zeros(layout.size)
    point = np.log(problem.point + 0.5) if counts else problem.point
    usable = problem.rows.kind != FLOOR
    target = np.exp(point) if model.softness else point
    root = np.sqrt(problem.weight[usable])
    start[layout.location] = np.linalg.lstsq(
        problem.basis[usable] * root[:, None], target[usable] * root, rcond=None
    )[0]
    fitted = model.locate(start, problem.basis, problem.scale_basis).location
    spread = float(np.std((point - fitted)[usable])) or 1.0
    if problem.rows.limited:  # limits may follow the features closely, which says nothing of truths
        spread = max(spread, _LEAST_START * float(np.std(point)))
    shape = family.shape or 0.0
    deviation = 1.0 if family.tied else _deviation(family, shape)
    start[layout.scale.start] = np.log(spread / deviation)
    start[layout.shape] = shape
    if offset is not None and model.policy != "absent":
        up, level, order_spread = offset
        # counts have their orders on the logarithmic scale itself, others in units of the scale
        step = spread if counts else deviation
        start[0] += up * (0.5 * float(np.std(target)) if model.softness else spread)
        start[layout.level] = level * step
        start[layout.spread] = np.log(order_spread * step)
        start[layout.ample] = -1.0
    return start


def _deviation(family: Family, shape: float) -> float:
    """Half the distance between the quantiles one standard normal deviation from the median."""
    low, high = family.quantile(np.array([0.1587, 0.8413]), shape)
    return float(0.5 * (high - low))


def all_starts(problem: Problem) -> list[Array]:
    """Give every start of one explanation."""
    if problem.model.policy == "absent":
        return [first_start(problem, None)]
    return [first_start(problem, offset) for offset in _STARTS]


def behind(best: Array, other: Array, weight: Array) -> tuple[float, float]:
    """Mean difference of two columns of log-likelihoods, and its standard error."""
    difference = best - other
    mean = float(weight @ difference) / weight.size
    # weights that differ leave fewer rows' worth of evidence
    return mean, float(np.sqrt(weight**2 @ (difference - mean) ** 2)) / weight.size
