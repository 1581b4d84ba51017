"""Simple distributions with shrunken slopes, stacked, for rows whose stock-outs are known.

Where flags or stock say which rows are censored, the plain model of the field is a Tobit model. Its
two weaknesses are that slopes are not shrunk and that one family must be right. So a few plain
families are fitted, each with a ridge on its slopes whose strength rows held out choose, and their
distributions are mixed with the weights that make the rows held out likeliest (stacking; Wolpert
1992, with the logarithmic score Yao et al. 2018). A few rows in advance speak for the plainest.

With γ = slopes ÷ scale and θ = 1 ÷ scale (Olsen 1978) a row's log-likelihood is a concave function
of z = θ t − x'γ for each of these families, be it seen, censored or below a floor; so is that of
all rows with the ridge, and Newton's method finds the one maximum from anywhere.

Where only the *share* of sold-out rows is known, the same distributions describe the observations,
and `SelloutProfile` says what they hide: if a row at rank u of its distribution was sold out with
probability p(u), then the hazards of observation and truth are in the proportion 1 to 1 − p(u), so
that the truth's α-quantile is the observation's quantile at another level, the same for all rows.
With p constant this is the model of Koziol and Green (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special

from unmet.arrays import Array, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import second_moments
from unmet.censoring.latent.families import FAMILIES, Family, family_named
from unmet.censoring.latent.fitting import (
    LikelihoodFit,
    LikelihoodProblem,
    maximise,
    may_go_on,
    row_values,
    scale_slopes,
)
from unmet.censoring.latent.likelihood import CENSORED, FLOOR, SEEN, RowKinds
from unmet.censoring.latent.selection import (
    CandidateModel,
    FittedCandidate,
    LinkName,
    ModelData,
    ScaleName,
    held_out,
)

#: Second derivative of the log-density of each family that is stacked; all are concave.
CURVATURES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda u: -np.ones_like(u),
    "root_normal": lambda u: -np.ones_like(u),
    "lognormal": lambda u: -np.ones_like(u),
    "logistic": lambda u: -2.0 * special.expit(u) * special.expit(-u),
    "gumbel": lambda u: -np.exp(np.minimum(-u, 30.0)),
    "weibull": lambda u: -np.exp(np.minimum(u, 30.0)),
}
_STEPS, _HALVINGS = 60, 40
_DECREMENT = 1e-11  # of the log-likelihood of all rows: what is left to gain
_GRID = 4801


@dataclass(frozen=True)
class SelloutProfile:
    """What a share of sold-out rows says of the truth, where nothing else is known of them.

    A row at rank u of the distribution of its observation was sold out with odds that grow with u
    up to a knee, and not beyond: orders vary less than the truth, so that low observations are
    rarely orders. Their level is such that the share is the rate.

    Attributes
    ----------
    rate : float
        Share of rows sold out.
    """

    rate: float

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, rate: float) -> SelloutProfile:
        """Profile of a rate; its curve is computed once."""
        return cls(rate)

    @cached_property
    def _curve(self) -> tuple[Array, Array, Array]:
        """Integrated hazard of the observation, chance of being sold out there, truth's hazard."""
        hazard = np.linspace(0.0, tuned.FURTHEST_HAZARD, _GRID)
        odds = np.minimum(-np.expm1(-hazard) / tuned.PROFILE_KNEE, 1.0) ** tuned.PROFILE_POWER
        density = np.exp(-hazard)
        steps = np.diff(hazard)

        def chance(log_level: float) -> Array:
            scaled = np.exp(log_level) * odds
            return np.asarray(scaled / (1.0 + scaled))

        def miss(log_level: float) -> float:
            return float(np.trapezoid(chance(log_level) * density, hazard)) - self.rate

        sold_out = np.zeros_like(hazard)
        if self.rate > 1e-9:
            top = 40.0  # all but sold out everywhere: more than the grid can tell from 1
            level = top if miss(top) <= 0.0 else float(optimize.brentq(miss, -top, top))
            sold_out = chance(level)
        left = 1.0 - 0.5 * (sold_out[1:] + sold_out[:-1])
        return hazard, sold_out, np.concatenate([[0.0], np.cumsum(left * steps)])

    @property
    def highest(self) -> float:
        """Level of the truth above which observations say nothing: its quantiles stay the same."""
        return float(-np.expm1(-self._curve[2][-1]))

    def observed_level(self, level: Numbers) -> Array:
        """Level of the observation at whose quantile the truth has its quantile at `level`."""
        hazard, _, truth = self._curve
        return np.asarray(-np.expm1(-np.interp(-np.log1p(-np.asarray(level)), truth, hazard)))

    def truth_level(self, rank: Numbers) -> Array:
        """Probability that the truth is at most the observation's quantile at `rank`."""
        hazard, _, truth = self._curve
        return np.asarray(-np.expm1(-np.interp(-np.log1p(-np.asarray(rank)), hazard, truth)))

    def sold_out(self, rank: Numbers) -> Array:
        """Probability that a row observed at this rank was sold out."""
        hazard, chance, _ = self._curve
        return np.interp(-np.log1p(-np.minimum(rank, 1.0 - 1e-15)), hazard, chance)


@dataclass(frozen=True)
class Stack:
    """Distributions and their weights.

    Attributes
    ----------
    members : tuple of FittedCandidate
        The heaviest first.
    weights : ndarray of shape (n_members,)
        They sum to one.
    profile : SelloutProfile or None
        What the distributions, then those of the observations, hide; None where they are the
        truth's.
    """

    members: tuple[FittedCandidate, ...]
    weights: Array
    profile: SelloutProfile | None = None

    def at_rate(self, rate: float) -> Stack:
        """Give the same distributions of the observations with another share sold out."""
        members = tuple(replace(each, share=rate) for each in self.members)
        return replace(self, members=members, profile=SelloutProfile.of(rate))

    def describe(self) -> str:
        """Say what it is made of, in a sentence."""
        named = [
            f"{each.candidate.family.name.replace('_', ' ')} {weight:.0%}"
            for each, weight in zip(self.members, self.weights, strict=True)
        ]
        what = "observations" if self.profile else "truth"
        if len(named) == 1:
            name, _ = named[0].rsplit(" ", 1)
            return f"The distribution of the {what} is {name}, its slopes shrunk."
        return (
            f"The distribution of the {what} is a mixture of simple ones with shrunken slopes, "
            f"weighted by rows held out: {', '.join(named)}."
        )


def plain_families(families: Sequence[Family], *, auto: bool, positive: bool) -> list[Family]:
    """Families to stack: all that are concave, or those of them that somebody asked for."""
    if not auto:
        return [family for family in families if family.name in CURVATURES]
    every = (family_named(name) for name in CURVATURES)
    return [family for family in every if positive or family.space == "linear"]


def fit_members(
    data: ModelData, families: Sequence[Family], penalty: Array, seed: int, *, auto: bool
) -> list[FittedCandidate]:
    """Fit each family with a ridge whose strength rows held out have chosen.

    With rows enough to pay for them come a scale that varies with the features and, if nobody asked
    for certain families (`auto`), heavy tails. These are not concave, and need no ridge.

    Parameters
    ----------
    data : ModelData
        Every row of it known to be censored or seen, or taken as seen.
    families : sequence of Family
        Concave ones.
    penalty : ndarray of shape (n_basis - 1,)
        What a unit of each slope of the basis costs, so that slopes of the *standardised
        features* are shrunk alike.
    seed : int
    auto : bool
    """
    n_rows = data.weight.size
    # strengths and weights are learned from so many rows; the others are held out of all of these
    order = np.random.default_rng(seed).permutation(n_rows)
    evaluated = np.sort(order[: tuned.ROWS_STACKED])
    rest = np.sort(order[tuned.ROWS_STACKED :])
    folds = np.random.default_rng(seed).permutation(np.arange(evaluated.size) % tuned.STACK_FOLDS)
    members: list[FittedCandidate] = []
    found: dict[str, float] = {}
    for family in families:
        link: LinkName = "multiplicative" if family.space == "log" else "linear"
        candidate = CandidateModel(family, "absent", "constant", link)
        problem = data.problem(candidate)
        sample = problem.take(evaluated)
        # one search for each space: the strength depends on the features more than on the family
        strengths = (found[family.space],) if family.space in found else tuned.RIDGES
        tried = [_held_out(sample, strength * penalty, folds) for strength in strengths]
        best = int(np.argmax([sample.weight @ rows for rows in tried]))
        ridge = found[family.space] = strengths[best]
        scores = np.empty(n_rows)
        scores[evaluated] = tried[best]
        if rest.size:
            climbed, _ = _climb(sample, ridge * penalty, None)
            scores[rest] = row_values(problem.take(rest), _location_and_scale(climbed))
        fitted = data.fitted(candidate, fit_ridge(problem, ridge * penalty))
        members.append(replace(_scored(fitted, scores), ridge=ridge))
    further = [_varying_scale(data, members)]
    if auto and n_rows >= max(tuned.ROWS_FOR_TAILS, tuned.ROWS_PER_SCALE * penalty.size):
        further += [
            CandidateModel(FAMILIES[name], "absent", "constant", "linear")
            for name in ("laplace", "student")
        ]
    parts = evaluated, rest, folds
    return members + [_climbed(data, candidate, *parts) for candidate in further if candidate]


def weigh(members: Sequence[FittedCandidate]) -> Stack:
    """Weights that maximise the held-out likelihood, with a prior for plain distributions."""
    rows, share = np.array([each.held_out for each in members]), members[0].fit.problem.weight
    likelihood = np.exp(rows - rows.max(axis=0))
    advance = np.array(
        [
            tuned.PLAIN.get(each.candidate.family.name, 0.0) * (each.candidate.scale == "constant")
            for each in members
        ]
    )

    def minus(mixed: Array) -> tuple[float, Array]:
        """Log-score of the mixture with its rows in advance, and its slope; concave."""
        rows = mixed @ likelihood
        score = share @ np.log(rows) + advance @ np.log(mixed)
        return -float(score), -(likelihood @ (share / rows) + advance / mixed)

    found = optimize.minimize(
        minus,
        np.full(len(members), 1.0 / len(members)),
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * len(members),
        constraints=optimize.LinearConstraint(np.ones((1, len(members))), 1.0, 1.0),
        options={"ftol": 1e-6, "maxiter": 200},
    )
    mixed = np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()
    heaviest = np.argsort(-mixed, kind="stable")
    kept = [place for place in heaviest if mixed[place] >= tuned.LEAST_WEIGHT]
    return Stack(tuple(members[place] for place in kept), mixed[kept] / mixed[kept].sum())


def fit_ridge(problem: LikelihoodProblem, penalty: Array) -> LikelihoodFit:
    """Maximum of the likelihood less the ridge."""
    found, value = _climb(problem, penalty, None)
    parameters = _location_and_scale(found)
    return LikelihoodFit(problem, parameters, row_values(problem, parameters), -value)


def _location_and_scale(found: Array) -> Array:
    """Parameters of a `LatentModel`, from (γ, θ): the location's, then the logarithm of 1 / θ."""
    scale = 1.0 / found[-1]
    return np.append(scale * found[:-1], np.log(scale))


def _climb(problem: LikelihoodProblem, penalty: Array, start: Array | None) -> tuple[Array, float]:
    """Newton's method in (γ, θ), each step halved until it gains what it promised.

    Gives γ of the constant and of the slopes, then θ; and minus the likelihood with the ridge.
    """
    model, point, weight = problem.model, problem.point, problem.weight
    family, curvature = model.family, CURVATURES[model.family.name]
    kind = problem.rows.kind
    censored, floor = kind == CENSORED, kind == FLOOR
    seen = ~(censored | floor)
    basis = problem.basis
    ridge = np.concatenate([[0.0], penalty, [0.0]])
    n_seen = float(weight[seen].sum())

    def value(at: Array) -> tuple[float, Array]:
        z = point * at[-1] - basis @ at[:-1]
        density, _ = family.density(z, 0.0)
        rows = np.where(
            seen,
            density + np.log(at[-1]),
            np.where(censored, family.log_survival(z, 0.0), family.log_below(z, 0.0)),
        )
        return float(0.5 * ridge @ (at * at) - weight @ rows), z

    here = _start(problem) if start is None else start
    now, z = value(here)
    if not np.isfinite(now):
        here = _start(problem)
        now, z = value(here)
    for _ in range(_STEPS):
        density, slope = family.density(z, 0.0)
        bend = curvature(z)
        if censored.any():
            hazard = np.exp(np.minimum(density - family.log_survival(z, 0.0), 50.0))
            bend = np.where(censored, -hazard * (hazard + slope), bend)
            slope = np.where(censored, -hazard, slope)
        if floor.any():
            reverse = np.exp(np.minimum(density - family.log_below(z, 0.0), 50.0))
            _, steep = family.density(z, 0.0)
            bend = np.where(floor, reverse * (steep - reverse), bend)
            slope = np.where(floor, reverse, slope)
        pulled = weight * slope
        gradient = ridge * here - np.append(-(pulled @ basis), pulled @ point)
        gradient[-1] -= n_seen / here[-1]
        curved = np.maximum(-bend, 1e-10) * weight
        hessian = np.empty((here.size, here.size))
        hessian[:-1, :-1] = second_moments(basis, basis, curved)
        hessian[-1, :-1] = hessian[:-1, -1] = -((curved * point) @ basis)
        hessian[-1, -1] = curved @ point**2 + n_seen / here[-1] ** 2
        diagonal = np.diag_indices(here.size)
        hessian[diagonal] += ridge + 1e-10 * np.trace(hessian) / here.size
        step = _newton_step(hessian, gradient)
        if step is None:  # as flat as rounding: there is no better place to go to
            break
        decrement = -float(gradient @ step)
        if not decrement > _DECREMENT:
            break
        length = 1.0
        if step[-1] < -0.9 * here[-1]:  # the scale stays positive
            length = -0.9 * here[-1] / step[-1]
        for _ in range(_HALVINGS):
            new, z_new = value(here + length * step)
            if not may_go_on():
                return here, now
            if new <= now - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            break
        here, now, z = here + length * step, new, z_new
    return here, now


def _newton_step(hessian: Array, gradient: Array) -> Array | None:
    """Step to the minimum of a quadratic; None where float64 cannot tell it from a plane."""
    try:
        factor = linalg.cho_factor(hessian, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    step: Array = -linalg.cho_solve(factor, gradient, check_finite=False)
    return step if np.isfinite(step).all() else None


def _start(problem: LikelihoodProblem) -> Array:
    """Start from a constant distribution of all points."""
    point, weight = problem.point, problem.weight
    mean = float(np.average(point, weights=weight))
    spread = float(np.sqrt(np.average((point - mean) ** 2, weights=weight))) or 1.0
    start = np.zeros(problem.basis.shape[1] + 1)
    start[0], start[-1] = mean / spread, 1.0 / spread
    return start


def _held_out(problem: LikelihoodProblem, penalty: Array, folds: NDArray[np.intp]) -> Array:
    """Log-likelihood of each row by a fit that has not seen it; each starts from the last."""
    start: Array | None = None

    def fit(part: LikelihoodProblem) -> Array:
        nonlocal start
        start, _ = _climb(part, penalty, start)
        return _location_and_scale(start)

    return held_out(problem, folds, fit)


def _scored(fitted: FittedCandidate, scores: Array) -> FittedCandidate:
    """Put held-out rows on the scale on which families are compared."""
    rows, weight = scores + (fitted.rows - fitted.fit.rows), fitted.fit.problem.weight
    return replace(fitted, held_out=rows, score=float(weight @ rows) / weight.size)


def _varying_scale(data: ModelData, members: Sequence[FittedCandidate]) -> CandidateModel | None:
    """Let the scale of the best additive distribution vary with the features, where that pays.

    A score test asks whether the rows' slopes in the logarithm of the scale follow the features.
    """
    linear = [each for each in members if each.candidate.family.space == "linear"]
    if not linear:
        return None
    best = max(linear, key=lambda each: each.score or -np.inf)
    problem = best.fit.problem
    slopes = scale_slopes(problem, best.fit.parameters) * np.sqrt(problem.weight)
    found: ScaleName | None = None
    most = 0.0
    for name, basis in data.scale_bases.items():
        if name == "constant":
            continue
        total, spread = slopes @ basis, second_moments(basis, basis, slopes**2)
        spread[np.diag_indices(total.size)] += 1e-9 * np.trace(spread)
        step = _newton_step(spread, -total)
        if step is None:  # no row has a slope
            continue
        statistic = float(total @ step)
        beyond = statistic - float(special.chdtri(total.size, tuned.SCALE_BY_CHANCE))
        if beyond > most:
            found, most = name, beyond
    return None if found is None else replace(best.candidate, scale=found)


def _climbed(
    data: ModelData,
    candidate: CandidateModel,
    evaluated: NDArray[np.intp],
    rest: NDArray[np.intp],
    folds: NDArray[np.intp],
) -> FittedCandidate:
    """Fit a distribution that is not concave, and score each row by a fit that has not seen it."""
    fitted = data.run(candidate)
    problem, scores = fitted.fit.problem, np.empty(data.weight.size)

    def fit(part: LikelihoodProblem) -> Array:
        return maximise(part, fitted.fit.parameters, rounds=2).parameters

    sample = problem.take(evaluated)
    scores[evaluated] = held_out(sample, folds, fit)
    if rest.size:
        scores[rest] = row_values(problem.take(rest), fit(sample))
    return _scored(fitted, scores)


def censored_in_part(
    problem: LikelihoodProblem, kind: Array, share: float, rate: float
) -> LikelihoodProblem:
    """Let every known row be censored in part, so that the share is the rate: each row twice.

    Of the censored rows only as many count as the rate allows, or seen ones too if it asks for
    more, each in part.
    """
    part = np.where(kind == CENSORED, min(1.0, rate / share) if share else 0.0, 0.0)
    if rate > share:
        part = np.where(kind == SEEN, (rate - share) / (1.0 - share), part)
    twice = np.tile(np.arange(kind.size), 2)
    both = np.concatenate([np.where(kind == FLOOR, FLOOR, SEEN), np.full(kind.size, CENSORED)])
    weight = np.concatenate([1.0 - part, part]) * np.tile(problem.weight, 2)
    return replace(problem.take(twice), rows=RowKinds.of(both), weight=weight)


def part_censored(stacked: Stack, penalty: Array, kind: Array, share: float, rate: float) -> Stack:
    """Fit the members again with every known row censored in part (`censored_in_part`)."""
    members = []
    for each in stacked.members:
        problem = each.fit.problem
        doubled = censored_in_part(problem, kind, share, rate)
        if each.candidate.scale == "constant" and each.candidate.family.name in CURVATURES:
            fit = fit_ridge(doubled, each.ridge * penalty)
        else:
            fit = maximise(doubled, each.fit.parameters)
        rows = row_values(problem, fit.parameters)
        single = LikelihoodFit(problem, fit.parameters, rows, fit.climbed)
        members.append(replace(each, fit=single, share=rate))
    return replace(stacked, members=tuple(members))
