"""Does any explanation fit at all? A density without a formula, as a yardstick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.bands.latent.counts import count_share
from unmet.bands.latent.families import Family
from unmet.bands.latent.fitting import (
    Fit,
    Model,
    Policy,
    Problem,
    Rate,
    is_rest,
    maximise,
    row_values,
)
from unmet.bands.latent.likelihood import BELOW, BETWEEN, CENSORED, FLOOR, Orders
from unmet.bands.latent.observed import Observed

# --- Which explanation: fit each, compare on held-out rows, let ties go to the least censoring.

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
class CandidateModel:
    """One explanation: names, and its problem on all rows."""

    family: Family
    policy: Policy
    scale: ScaleName
    link: LinkName
    location: LocationName = "features"
    """Whether the location has a coefficient per feature or moves with orders that are known."""


@dataclass(frozen=True)
class FittedCandidate:
    """An explanation, fitted to all rows.

    Attributes
    ----------
    candidate : CandidateModel
    fit : Fit
    rows : ndarray of shape (n_rows,)
        Log-likelihood of each row, in units of the observation.
    share : float
        Share of rows censored.
    unit : float
        Of the points of its problem, in units of the observation.
    likelihood : float
        Sum of the rows, with their weights.
    held_out : ndarray of shape (n_rows,) or None
        The same from fits that had not seen the row; None if it was ruled out before.
    score : float or None
        Mean of the rows held out, with their weights.
    orders : Orders or None
        Where flags said which rows they bound, and the rows are gone: in a model that was loaded.
    """

    candidate: CandidateModel
    fit: Fit
    rows: Array
    share: float
    unit: float
    likelihood: float
    held_out: Array | None = None
    score: float | None = None
    orders: Orders | None = None

    @property
    def information(self) -> float:
        """Log-likelihood of all rows less one per parameter (Akaike)."""
        return self.likelihood - self.fit.parameters.size


@dataclass(frozen=True)
class ModelData:
    """Everything a comparison of explanations needs of the data.

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

    def problem(self, candidate: CandidateModel) -> Problem:
        """Set up one explanation."""
        observed, family = self.observed, candidate.family
        basis, scale_basis = self.bases[candidate.location], self.scale_bases[candidate.scale]
        soft = 0.05 * float(np.mean(observed.observation)) / observed.unit_of(family.space)
        model = Model(
            family,
            candidate.policy,
            basis.shape[1],
            scale_basis.shape[1],
            softness=soft if candidate.link == "additive" else 0.0,
            least_spread=self._least_spread(candidate),
        )
        point = observed.point(family.space)
        rows = observed.rows_in(family.space)
        return Problem(model, basis, scale_basis, point, rows, self.weight, self.rate)

    def _least_spread(self, candidate: CandidateModel) -> float:
        """Allow for rounding, which alone spreads orders by about a third of a step."""
        observed = self.observed
        if candidate.family.space == "counts":
            return _LEAST_COUNT_SPREAD
        if not observed.lattice:
            return _LEAST_SPREAD
        typical = (
            observed.unit if candidate.family.space == "linear" else np.mean(observed.observation)
        )
        return max(_LEAST_SPREAD, 0.3 * observed.lattice / float(typical))

    def run(
        self, candidate: CandidateModel, starts: Sequence[Array], rounds: int = 6
    ) -> FittedCandidate:
        """Fit one explanation from several starts and keep the best."""
        problem = self.problem(candidate)
        best = starts[0]
        if len(starts) > 1:
            fits = [maximise(problem, start, rounds=1, steps=_FIRST_STEPS) for start in starts]
            best = max(fits, key=lambda fit: fit.climbed).parameters
        return self.fitted(candidate, maximise(problem, best, rounds=rounds))

    def polish(self, fitted: FittedCandidate) -> FittedCandidate:
        """Climb on from where a first look stopped."""
        fit = maximise(fitted.fit.problem, fitted.fit.parameters, tolerance=1e-6)
        return self.fitted(fitted.candidate, fit)

    def fitted(self, candidate: CandidateModel, fit: Fit) -> FittedCandidate:
        """Put a fit on the scale on which explanations are compared."""
        unit = self.observed.unit_of(candidate.family.space)
        rows = fit.rows + self._jacobian(fit.problem)
        likelihood = float(fit.problem.weight @ rows)
        return FittedCandidate(candidate, fit, rows, self._share(fit), unit, likelihood)

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

    def hold_out(self, fitted: FittedCandidate, folds: NDArray[np.intp]) -> FittedCandidate:
        """Score each row by a fit that has not seen it; each starts from the fit to all rows."""
        problem = fitted.fit.problem
        start = _blurred(problem, fitted.fit.parameters)
        scores = np.empty(folds.size)
        for fold in range(int(folds.max()) + 1):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            fit = maximise(problem.take(inside), start, rounds=2)
            scores[outside] = row_values(problem.take(outside), fit.parameters)
        scores = scores + self._jacobian(problem)
        mean = float(problem.weight @ scores) / problem.weight.size
        return replace(fitted, held_out=scores, score=mean)


def _blurred(problem: Problem, parameters: Array) -> Array:
    """Widen narrow orders: a fold must find them again, or rows held out would have helped."""
    place = problem.model.slices.spread
    start = parameters.copy()
    start[place] = np.maximum(start[place], np.log(_BLURRED))
    return start


def first_start(problem: Problem, offset: tuple[float, float, float] | None) -> Array:
    """Least squares for the location, and orders where `offset` says."""
    model, slices = problem.model, problem.model.slices
    family, counts = model.family, model.family.space == "counts"
    start = np.zeros(slices.size)
    point = np.log(problem.point + 0.5) if counts else problem.point
    above_floor = problem.rows.kind != FLOOR
    target = np.exp(point) if model.softness else point
    root = np.sqrt(problem.weight[above_floor])
    start[slices.location] = np.linalg.lstsq(
        problem.basis[above_floor] * root[:, None], target[above_floor] * root, rcond=None
    )[0]
    fitted = model.locate(start, problem.basis, problem.scale_basis).location
    spread = float(np.std((point - fitted)[above_floor])) or 1.0
    if problem.rows.limited:  # limits may follow the features closely, which says nothing of truths
        spread = max(spread, _LEAST_START * float(np.std(point)))
    shape = family.shape or 0.0
    deviation = 1.0 if family.tied else _deviation(family, shape)
    start[slices.scale.start] = np.log(spread / deviation)
    start[slices.shape] = shape
    if offset is not None and model.policy != "absent":
        up, level, order_spread = offset
        # counts have their orders on the logarithmic scale itself, others in units of the scale
        step = spread if counts else deviation
        start[0] += up * (0.5 * float(np.std(target)) if model.softness else spread)
        start[slices.level] = level * step
        start[slices.spread] = np.log(order_spread * step)
        start[slices.unlimited] = -1.0
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


# --- Comparing explanations, from a quick look at all of them to held-out scores of the few.

_HOPELESS = 4.0  # standard errors behind, before held-out rows are asked
_OPEN = 2.0  # standard errors behind, up to which an explanation is not ruled out
_PROOF = 3.0  # the same for one without censoring
_SAME_SHARE, _SAME_AMOUNT = 0.02, 0.15
_FAR_OFF = 0.5  # units of log-likelihood per row
_WORTH = 10.0  # units of log-likelihood that make a richer pattern worth its parameters
_LEAST_SHARE = 0.01  # of rows, for orders to be worth a name
_NEARLY_NORMAL = {"student": 3.5, "skewed": 4.0}  # logs of shapes beyond which they are normal


@dataclass(frozen=True)
class RankedCandidate:
    """One explanation in the final ranking.

    Attributes
    ----------
    fitted : FittedCandidate
    behind, standard_error : float
        How much less likely than the best, per held-out row.
    """

    fitted: FittedCandidate
    behind: float
    standard_error: float

    def is_uncensored(self, standard_errors: float) -> bool:
        """Whether it has no censoring at all and is at most so far behind."""
        return self.fitted.share == 0.0 and self.within(standard_errors)

    @property
    def open(self) -> bool:
        """Whether it cannot be ruled out."""
        return self.within(_OPEN) or self.is_uncensored(_PROOF)

    def within(self, standard_errors: float) -> bool:
        """Whether it is at most so far behind."""
        return self.behind <= standard_errors * self.standard_error


def explain(
    data: ModelData,
    families: Sequence[Family],
    policies: Sequence[Policy],
    folds: NDArray[np.intp],
) -> list[RankedCandidate]:
    """Fit what may explain the observations and rank it by held-out likelihood, best first."""
    looks = _look(data, families, _scale_pattern(data, families))
    if data.known:
        candidates = _promising(looks)
        candidates = candidates + _along_orders(data, candidates)
    else:
        possible = data.rate is None and not (data.observed.kind == CENSORED).any()
        candidates = looks if "absent" in policies and possible else []
        if {"noisy", "mixture"} & set(policies):
            noisy = [_with_orders(data, look) for look in looks]
            candidates = candidates + (noisy if "noisy" in policies else [])
            if "mixture" in policies:
                best = max(noisy, key=lambda each: each.information)
                candidates = [*candidates, _with_ample(data, best)]
    polished = [data.polish(each) for each in _promising(candidates)]
    return rank([data.hold_out(each, folds) for each in _promising(_sensible(polished))])


def _scale_pattern(data: ModelData, families: Sequence[Family]) -> ScaleName:
    """Whether the scale varies, asked of the first family whose scale is free."""
    free = [family for family in families if family.space == "linear"]
    if not free:
        return "constant"
    robust = next((family for family in free if family.name == "logistic"), free[0])

    def merit(fitted: FittedCandidate) -> float:
        """Charge a scale parameter twice: a wrong family makes them look better than they are."""
        return fitted.information - fitted.fit.problem.model.n_scale

    looks = []
    for name in data.scale_bases:
        candidate = CandidateModel(robust, "absent", name, "linear")
        looks.append(data.run(candidate, all_starts(data.problem(candidate)), rounds=3))
    best = max(looks, key=merit)
    return best.candidate.scale if merit(best) > merit(looks[0]) + _WORTH else "constant"


def _look(data: ModelData, families: Sequence[Family], scale: ScaleName) -> list[FittedCandidate]:
    """Every family without orders; on the logarithmic scale with the better kind of location."""
    candidates: list[FittedCandidate] = []
    links: tuple[LinkName, ...] = ("additive", "multiplicative")
    for family in families:
        if family.space == "log" and _hopeless_scale(candidates):
            continue
        if family.space == "linear":
            candidates.append(_first(data, CandidateModel(family, "absent", scale, "linear")))
            continue
        pattern: ScaleName = scale if scale == "features" else "constant"
        both = [_first(data, CandidateModel(family, "absent", pattern, link)) for link in links]
        best = max(both, key=lambda each: each.information)
        worth = best.information - _WORTH
        candidates += [each for each in both if each.information >= worth]
        links = tuple(each.candidate.link for each in both if each.information >= worth)
    return candidates


def _hopeless_scale(candidates: Sequence[FittedCandidate]) -> bool:
    """Whether a first family on the logarithmic scale was too far off for any other there."""
    logs = [each for each in candidates if each.candidate.family.space == "log"]
    others = [each for each in candidates if each.candidate.family.space == "linear"]
    if not logs or not others:
        return False
    best, best_log = (max(each.information for each in side) for side in (others, logs))
    return best - best_log > _FAR_OFF * others[0].rows.size


def _along_orders(data: ModelData, looks: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Families whose location moves with the orders, where these are known: two parameters."""
    if "orders" not in data.bases:
        return []
    straight = [each.candidate for each in looks if each.candidate.link != "multiplicative"]
    return [_first(data, replace(candidate, location="orders")) for candidate in straight]


def _first(data: ModelData, candidate: CandidateModel) -> FittedCandidate:
    return data.run(candidate, all_starts(data.problem(candidate)), rounds=2)


def _with_orders(data: ModelData, look: FittedCandidate) -> FittedCandidate:
    candidate = CandidateModel(
        look.candidate.family, "noisy", look.candidate.scale, look.candidate.link
    )
    problem = data.problem(candidate)
    return data.run(candidate, all_starts(problem), rounds=2)


def _with_ample(data: ModelData, noisy: FittedCandidate) -> FittedCandidate:
    """Start from the orders found without unlimited stock."""
    candidate = CandidateModel(
        noisy.candidate.family, "mixture", noisy.candidate.scale, noisy.candidate.link
    )
    start = np.append(noisy.fit.parameters, -1.0)
    return data.run(candidate, [start, all_starts(data.problem(candidate))[0]], rounds=2)


def _sensible(candidates: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Leave out orders that bind next to never, and unlimited stock that never is.

    A level on top of the largest observation explains one row and nothing else; a mixture without
    its second part is the plain policy once more.
    """
    kept = []
    for each in candidates:
        orders = each.fit.problem.model.orders(each.fit.parameters)
        if orders is not None and (each.share < _LEAST_SHARE or each.share > 1 - _LEAST_SHARE):
            continue
        if (
            each.candidate.policy == "mixture"
            and orders is not None
            and orders.unlimited < _LEAST_SHARE
        ):
            continue
        kept.append(each)
    return kept or list(candidates)


def _promising(candidates: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Leave out what is hopelessly behind, and a Student-t that is a normal."""
    best = max(candidates, key=lambda each: each.information)
    kept = []
    for each in candidates:
        if each is not best and _is_normal(each):
            continue
        weight = each.fit.problem.weight
        _, error = behind(best.rows, each.rows, weight)
        allowed = _HOPELESS * error * weight.size + _WORTH
        if best.information - each.information <= allowed:
            kept.append(each)
    uncensored = [each for each in candidates if each.candidate.policy == "absent"]
    if uncensored and not any(each.candidate.policy == "absent" for each in kept):
        # nobody leaves without the explanation that does no harm
        kept.append(max(uncensored, key=lambda each: each.information))
    return kept


def _is_normal(fitted: FittedCandidate) -> bool:
    limit = _NEARLY_NORMAL.get(fitted.candidate.family.name)
    shape = fitted.fit.problem.model.shape(fitted.fit.parameters)
    return limit is not None and float(np.max(shape)) > limit


def rank(candidates: Sequence[FittedCandidate]) -> list[RankedCandidate]:
    """Order candidates by their held-out scores, best first."""

    def score(fitted: FittedCandidate) -> float:
        assert fitted.held_out is not None
        return float(fitted.fit.problem.weight @ fitted.held_out)

    ordered = sorted(candidates, key=score, reverse=True)
    best = ordered[0]
    assert best.held_out is not None
    ranked = []
    for each in ordered:
        assert each.held_out is not None
        ranked.append(
            RankedCandidate(each, *behind(best.held_out, each.held_out, best.fit.problem.weight))
        )
    return ranked


def simplest(ranked: Sequence[RankedCandidate]) -> RankedCandidate:
    """Of the best explanation's family, the one with fewest parameters that ties with it.

    Limits say on which side of them the truth lies: there is no amount of censoring to be modest
    about.
    """
    family = ranked[0].fitted.candidate.family
    ties = [each for each in ranked if each.within(1.0) and each.fitted.candidate.family is family]
    return min(ties, key=lambda each: each.fitted.fit.parameters.size)


def choose(
    ranked: Sequence[RankedCandidate],
    hidden: Callable[[FittedCandidate], float],
    *,
    known: bool,
    imposed: bool,
) -> RankedCandidate:
    """Of all explanations that tie with the best, the one with least censoring.

    Where the share censored is known or imposed, a tie is one within a standard error, and the one
    that hides the least amount is taken (where rows are known, the best of those that hide next to
    the least). Otherwise the share is at stake, wrong ones cost much, and the best of many looks
    better than it is: then everything ties that cannot be ruled out (two standard errors; three for
    an explanation without censoring, which must be proved). Of the same family, the one with fewest
    parameters is taken.

    Parameters
    ----------
    ranked : sequence of RankedCandidate
        Best first.
    hidden : callable
        Mean amount by which the truth exceeds the observation, under an explanation.
    known, imposed : bool
        Whether it is known of every row if it is censored; whether a share is imposed.
    """
    ties = [each for each in ranked if (each.within(1.0) if known or imposed else each.open)]
    least = min(each.fitted.share for each in ties)
    same = [each for each in ties if each.fitted.share <= least + _SAME_SHARE]
    if least == 0.0:
        return next(each for each in ties if each.fitted.share == 0.0)
    amounts = [hidden(each.fitted) for each in same]
    enough = min(amounts) + (_SAME_AMOUNT * abs(min(amounts)) if known else 0.0)
    modest = next(each for each, amount in zip(same, amounts, strict=True) if amount <= enough)
    family = modest.fitted.candidate.family
    of_family = [each for each in same if each.fitted.candidate.family is family]
    return min(of_family, key=lambda each: each.fitted.fit.parameters.size)


# --- Does any explanation fit at all? A density without a formula, as a yardstick.

_GRID = 2048
_REACH = 8.0  # robust standard deviations to either side; what lies beyond counts as there
_WIDTHS = (0.25, 0.5, 1.0)  # of the normal rule
_UNIFORM = 0.01  # share of a flat law, so that a lone row is not impossible
MISFIT = 3.0
"""Standard errors by which the yardstick must win to say that nothing fits."""


def misfit(fitted: FittedCandidate, folds: NDArray[np.intp]) -> bool:
    """Whether a smoothed histogram of the residuals beats an explanation.

    Location and scale are the explanation's. Two humps are no shape that censoring gives to any
    family here: then what the explanation says about it is not to be believed. The histogram is of
    other folds than the rows it is judged on.
    """
    problem = fitted.fit.problem
    rows = problem.model.locate(fitted.fit.parameters, problem.basis, problem.scale_basis)
    above_floor = problem.rows.kind != FLOOR
    u = ((problem.point - rows.location) * np.exp(-rows.log_scale))[above_floor]
    # log-density of u by the explanation, given that the row is not at the bottom
    own = (fitted.fit.rows + rows.log_scale)[above_floor] - np.log(above_floor.mean())
    best = max(
        (_smoothed(u, folds[above_floor], width) for width in _WIDTHS), key=lambda each: each.mean()
    )
    ahead, error = behind(best, own, problem.weight[above_floor])
    return ahead > MISFIT * error


def _smoothed(u: Array, folds: NDArray[np.intp], width: float) -> Array:
    """Held-out log-density of each row: a histogram on a fine grid, convolved with a normal."""
    low, middle, high = np.quantile(u, [0.16, 0.5, 0.84])
    spread = max(float(high - low) / 2.0, 1e-12)
    edges = np.linspace(middle - _REACH * spread, middle + _REACH * spread, _GRID + 1)
    step = float(edges[1] - edges[0])
    cell = np.clip(((u - edges[0]) / step).astype(np.intp), 0, _GRID - 1)
    bandwidth = width * 1.06 * spread * u.size**-0.2
    reach = np.arange(-int(4 * bandwidth / step) - 1, int(4 * bandwidth / step) + 2) * step
    kernel = np.exp(-0.5 * (reach / bandwidth) ** 2)
    kernel /= kernel.sum()
    scores = np.empty(u.size)
    for fold in np.unique(folds):
        outside = folds == fold
        counts = np.bincount(cell[~outside], minlength=_GRID) / max(int((~outside).sum()), 1)
        density = np.convolve(counts, kernel, mode="same") / step
        flat = 1.0 / (edges[-1] - edges[0])
        scores[outside] = np.log((1.0 - _UNIFORM) * density[cell[outside]] + _UNIFORM * flat)
    return scores
