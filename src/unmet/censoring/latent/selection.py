"""Which candidate model: fit each, compare on held-out rows, let ties go to the least censoring.

A `CandidateModel` names a candidate model, `ModelData` holds what all of them must explain, and
`explain` goes from a quick look at all candidates to held-out scores of the few that may be right.
`choose` decides between those; what its choice must survive is asked in `robustness_checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import Columns, least_squares
from unmet.censoring.latent.counts import count_share
from unmet.censoring.latent.families import FAMILIES, Family
from unmet.censoring.latent.fitting import (
    LatentModel,
    LikelihoodFit,
    LikelihoodProblem,
    Policy,
    maximise,
    row_values,
    whiten,
)
from unmet.censoring.latent.likelihood import BELOW, BETWEEN, CENSORED, FLOOR, Orders
from unmet.censoring.latent.observed import Observed

ScaleName: TypeAlias = Literal["constant", "level", "features"]
LocationName: TypeAlias = Literal["features", "orders"]
LinkName: TypeAlias = Literal["linear", "additive", "multiplicative"]


@dataclass(frozen=True)
class CandidateModel:
    """One candidate model: names, and its problem on all rows."""

    family: Family
    policy: Policy
    scale: ScaleName
    link: LinkName
    location: LocationName = "features"
    """Whether the location has a coefficient per feature or moves with orders that are known."""


@dataclass(frozen=True)
class FittedCandidate:
    """A candidate model, fitted to all rows.

    Attributes
    ----------
    candidate : CandidateModel
    fit : LikelihoodFit
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
    ridge : float
        Strength of the ridge on its slopes, where it is stacked (`stack`).
    behind, standard_error : float
        How much less likely than the best, per held-out row; 0 before candidates are ranked.
    """

    candidate: CandidateModel
    fit: LikelihoodFit
    rows: Array
    share: float
    unit: float
    likelihood: float
    held_out: Array | None = None
    score: float | None = None
    orders: Orders | None = None
    ridge: float = 0.0
    behind: float = 0.0
    standard_error: float = 0.0

    @property
    def information(self) -> float:
        """Log-likelihood of all rows less one per parameter (Akaike)."""
        return self.likelihood - self.fit.parameters.size

    @property
    def open(self) -> bool:
        """Whether it cannot be ruled out; one without any censoring only by a proof."""
        return self.within(tuned.OPEN) or (self.share == 0.0 and self.within(tuned.PROOF))

    def within(self, standard_errors: float) -> bool:
        """Whether it is at most so far behind."""
        return self.behind <= standard_errors * self.standard_error


@dataclass(frozen=True)
class ModelData:
    """Everything a comparison of candidates needs of the data.

    Attributes
    ----------
    observed : Observed
    bases : dict of ndarray or SparseBasis
        Features of the location, by name of the kind.
    scale_bases : dict of ndarray or SparseBasis
        Features of the scale, by name of the pattern.
    weight : ndarray of shape (n_rows,)
    known : bool
        Whether for every row it is known if it is censored: then orders need no model.
    rate : tuple of two floats, or None
        A share sold out that is imposed, and how far it may be missed.
    """

    observed: Observed
    bases: dict[LocationName, Columns]
    scale_bases: dict[ScaleName, Columns]
    weight: Array
    known: bool
    rate: tuple[float, float] | None

    def take(self, index: NDArray[np.intp]) -> ModelData:
        """Keep some rows; units stay those of all."""
        observed = replace(
            self.observed,
            observation=self.observed.observation[index],
            kind=self.observed.kind[index],
        )
        weight = self.weight[index]
        return replace(
            self,
            observed=observed,
            bases={name: basis[index] for name, basis in self.bases.items()},
            scale_bases={name: basis[index] for name, basis in self.scale_bases.items()},
            weight=weight / weight.mean(),
        )

    def few(self, times: float = 2.0) -> ModelData | None:
        """Rows enough to rule out the hopeless; None where all are not so many times as many."""
        n_rows, n_columns = self.weight.size, self.bases["features"].shape[1]
        enough = max(tuned.ROWS_LOOKED_AT_FIRST, tuned.ROWS_LOOKED_AT_EACH * n_columns)
        if self.rate is not None or n_rows < times * enough:
            return None
        return self.take(np.linspace(0, n_rows - 1, enough).astype(np.intp))

    def bent(self, columns: Array) -> ModelData:
        """Let the location follow further columns."""
        basis = np.column_stack([np.asarray(self.bases["features"]), columns])
        return replace(self, bases={**self.bases, "features": basis})

    def problem(self, candidate: CandidateModel) -> LikelihoodProblem:
        """Set up one candidate model."""
        observed, family = self.observed, candidate.family
        basis, scale_basis = self.bases[candidate.location], self.scale_bases[candidate.scale]
        mean = float(np.mean(observed.observation))
        soft = 0.05 * mean / observed.unit_of(family.space)
        least_spread = tuned.LEAST_SPREAD
        if family.space == "counts":
            least_spread = tuned.LEAST_COUNT_SPREAD
        elif observed.lattice:
            # rounding alone spreads orders by about a third of a step
            size = observed.unit if family.space == "linear" else mean
            least_spread = max(least_spread, 0.3 * observed.lattice / size)
        model = LatentModel(
            family,
            candidate.policy,
            basis.shape[1],
            scale_basis.shape[1],
            softness=soft if candidate.link == "additive" else 0.0,
            least_spread=least_spread,
        )
        point = observed.point(family.space)
        rows = observed.rows_in(family.space)
        return LikelihoodProblem(model, basis, scale_basis, point, rows, self.weight, self.rate)

    def run(
        self,
        candidate: CandidateModel,
        starts: Sequence[Array] | None = None,
        rounds: int = 2,
        hopeless: float = -np.inf,
    ) -> FittedCandidate:
        """Fit one candidate model from several starts, the usual ones or others; keep the best."""
        problem = self.problem(candidate)
        starts = all_starts(problem) if starts is None else starts
        best = starts[0]
        if len(starts) > 1:
            fits = [maximise(problem, start, rounds=1, steps=tuned.FIRST_STEPS) for start in starts]
            best = max(fits, key=lambda fit: fit.climbed).parameters
        return self.fitted(candidate, maximise(problem, best, rounds=rounds, hopeless=hopeless))

    def seen_by(self, fitted: FittedCandidate) -> FittedCandidate:
        """Give a fit to some of the rows as it explains all of them."""
        problem, parameters = self.problem(fitted.candidate), fitted.fit.parameters
        fit = LikelihoodFit(problem, parameters, row_values(problem, parameters), np.nan)
        return self.fitted(fitted.candidate, fit)

    def fitted(self, candidate: CandidateModel, fit: LikelihoodFit) -> FittedCandidate:
        """Put a fit on the scale on which candidates are compared."""
        unit = self.observed.unit_of(candidate.family.space)
        rows = fit.rows + self._jacobian(fit.problem)
        likelihood = float(fit.problem.weight @ rows)
        return FittedCandidate(candidate, fit, rows, self._share(fit), unit, likelihood)

    def _jacobian(self, problem: LikelihoodProblem) -> Array:
        kind = self.observed.kind
        by_chance = np.isin(kind, (FLOOR, BELOW, BETWEEN))
        if problem.model.policy == "absent":
            by_chance = by_chance | (kind == CENSORED)
        return self.observed.jacobian(problem.model.family.space, (~by_chance).astype(np.float64))

    def _share(self, fit: LikelihoodFit) -> float:
        if self.known:
            return float(self.weight @ (self.observed.kind == CENSORED)) / self.weight.size
        model, parameters = fit.problem.model, fit.parameters
        orders = model.orders(parameters)
        if model.family.space != "counts" or orders is None:
            return model.share_censored(parameters)
        rows = fit.located
        return count_share(rows.location, model.shape(parameters, rows.log_scale), orders)

    def hold_out(self, fitted: FittedCandidate, folds: NDArray[np.intp]) -> FittedCandidate:
        """Score each row by a fit that has not seen it; each starts from the fit to all rows."""
        problem = fitted.fit.problem
        # widen narrow orders: a fold must find them again, or rows held out would have helped
        place, start = problem.model.slices.spread, fitted.fit.parameters.copy()
        start[place] = np.maximum(start[place], np.log(tuned.BLURRED))
        whitening = whiten(problem, start)

        def fit(part: LikelihoodProblem) -> Array:
            return maximise(part, start, rounds=2, whitening=whitening).parameters

        scores = held_out(problem, folds, fit) + self._jacobian(problem)
        mean = float(problem.weight @ scores) / problem.weight.size
        return replace(fitted, held_out=scores, score=mean)


def held_out(
    problem: LikelihoodProblem,
    folds: NDArray[np.intp],
    fit: Callable[[LikelihoodProblem], Array],
) -> Array:
    """Log-likelihood of each row with parameters that were fitted without its fold."""
    scores = np.empty(folds.size)
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        scores[outside] = row_values(problem.take(outside), fit(problem.take(inside)))
    return scores


def first_start(
    problem: LikelihoodProblem,
    offset: tuple[float, float, float] | None,
    line: Array | None = None,
) -> Array:
    """Least squares for the location (`line`, if it is known), and orders where `offset` says."""
    model, slices = problem.model, problem.model.slices
    family, counts = model.family, model.family.space == "counts"
    start = np.zeros(slices.size)
    point = np.log(problem.point + 0.5) if counts else problem.point
    above_floor = problem.rows.kind != FLOOR
    target = np.exp(point) if model.softness else point
    if line is None:
        line = least_squares(problem.basis, target, problem.weight * above_floor)
    start[slices.location] = line
    fitted = problem.located(start).location
    spread = float(np.std((point - fitted)[above_floor])) or 1.0
    if (
        problem.rows.interval_censored
    ):  # limits may follow the features closely, which says nothing of truths
        spread = max(spread, tuned.LEAST_START * float(np.std(point)))
    shape = family.shape or 0.0
    deviation = 1.0
    if not family.tied:
        # half the distance between the quantiles one normal deviation from the median
        low, high = family.quantile(np.array([0.1587, 0.8413]), shape)
        deviation = float(0.5 * (high - low))
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


def all_starts(problem: LikelihoodProblem) -> list[Array]:
    """Give every start of one candidate model."""
    if problem.model.policy == "absent":
        return [first_start(problem, None)]
    line = first_start(problem, None)[problem.model.slices.location]
    return [first_start(problem, offset, line) for offset in tuned.STARTS]


def behind(best: Array, other: Array, weight: Array) -> tuple[float, float]:
    """Mean difference of two columns of log-likelihoods, and its standard error."""
    difference = best - other
    mean = float(weight @ difference) / weight.size
    # weights that differ leave fewer rows' worth of evidence
    return mean, float(np.sqrt(weight**2 @ (difference - mean) ** 2)) / weight.size


def explain(
    data: ModelData,
    families: Sequence[Family],
    policies: Sequence[Policy],
    folds: NDArray[np.intp],
    *,
    free: bool = False,
) -> list[FittedCandidate]:
    """Fit what may explain the observations and rank it by held-out likelihood, best first.

    Where nothing is known and demand is `free` to follow any distribution, what censoring seems to
    show must also beat distributions that are skewed to the left and hide nothing.
    """
    few = data.few()
    pattern = _scale_pattern(data, families, few)
    if few is None:
        candidates = _candidates(data, families, policies, pattern, free=free)
    else:  # what a part of the rows rules out is not fitted to all of them
        tried = _candidates(few, families, policies, pattern, free=free, left=True)
        tried = _open_to_all([data.seen_by(each) for each in _open_to_all(tried)])
        candidates = [data.run(each.candidate, [each.fit.parameters]) for each in tried]
        others = [each for each in candidates if not each.candidate.family.left]
        best = max(others, key=lambda each: each.information)
        if best.candidate.policy == "absent":
            candidates = others
    polished = []
    for each in _promising(candidates):  # climb on from where a first look stopped
        fit = maximise(each.fit.problem, each.fit.parameters, tolerance=1e-6)
        polished.append(data.fitted(each.candidate, fit))
    return rank([data.hold_out(each, folds) for each in _promising(_sensible(polished))])


def _open_to_all(candidates: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Keep what more rows may prefer: not far behind all, or all that hide nothing."""
    harmless = [each for each in candidates if each.candidate.policy == "absent"]
    kept = _promising(candidates, shapes=False)
    kept += _promising(harmless, shapes=False) if harmless else []
    return list({each.candidate: each for each in kept}.values())


def _candidates(
    data: ModelData,
    families: Sequence[Family],
    policies: Sequence[Policy],
    pattern: ScaleName,
    *,
    free: bool,
    left: bool = False,
) -> list[FittedCandidate]:
    """Fit the candidate models; with `left`, also distributions skewed to the left."""
    looks = _look(data, families, pattern)
    if data.known:
        candidates = _promising(looks)
        if "orders" in data.bases:
            # families whose location moves with the orders that are known: two parameters
            straight = [each.candidate for each in candidates]
            straight = [each for each in straight if each.link != "multiplicative"]
            candidates += [data.run(replace(each, location="orders")) for each in straight]
        return candidates
    possible = data.rate is None and not (data.observed.kind == CENSORED).any()
    candidates = list(looks) if "absent" in policies and possible else []
    if {"noisy", "mixture"} & set(policies):
        noisy = _noisy(data, looks)
        candidates += noisy if "noisy" in policies else []
        if "mixture" in policies:
            best = max(noisy, key=lambda each: each.information)
            mixture = replace(best.candidate, policy="mixture")
            # from the orders found without unlimited stock, and from the first usual start
            start = np.append(best.fit.parameters, -1.0)
            usual = all_starts(data.problem(mixture))[0]
            candidates.append(data.run(mixture, [start, usual]))
    best = max(candidates, key=lambda each: each.information)
    allowed = possible and free and "absent" in policies
    allowed = allowed and any(family.space == "linear" for family in families)
    if allowed and (left or best.candidate.policy != "absent"):
        candidates += _look(data, [each for each in FAMILIES.values() if each.left], pattern)
    return candidates


def _noisy(data: ModelData, looks: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Every family with noisy orders; of many rows a part is enough to rule out the hopeless."""
    candidates = [replace(look.candidate, policy="noisy") for look in looks]
    n_rows, most = data.weight.size, max(each.fit.parameters.size for each in looks)
    enough = max(tuned.FIRST_ROWS, tuned.FIRST_ROWS_EACH * most)
    if data.rate is not None or n_rows < 2 * enough:
        return [data.run(each) for each in candidates]
    few = data.take(np.linspace(0, n_rows - 1, enough).astype(np.intp))
    kept = _promising([few.run(each) for each in candidates])
    return [data.run(each.candidate, [each.fit.parameters]) for each in kept]


def _scale_pattern(data: ModelData, families: Sequence[Family], few: ModelData | None) -> ScaleName:
    """Whether the scale varies, asked of the first family whose scale is free.

    A part of the rows answers where it leaves no doubt what all of them would say.
    """
    free = [family for family in families if family.space == "linear"]
    if not free:
        return "constant"
    robust = next((family for family in free if family.name == "logistic"), free[0])

    def merit(fitted: FittedCandidate) -> float:
        """Charge a scale parameter twice: a wrong family makes them look better than they are."""
        return fitted.information - fitted.fit.problem.model.n_scale

    patterns = [CandidateModel(robust, "absent", name, "linear") for name in data.scale_bases]
    if few is not None:
        looks = [few.run(each, rounds=3) for each in patterns]
        found = _surely_best(looks, data.weight.size)
        if found is not None:
            return found.candidate.scale
    looks = [data.run(each, rounds=3) for each in patterns]
    best = max(looks, key=merit)
    return best.candidate.scale if merit(best) > merit(looks[0]) + tuned.WORTH else "constant"


def _surely_best(looks: Sequence[FittedCandidate], n_rows: int) -> FittedCandidate | None:
    """Of patterns of the scale that a part of the rows saw, the one that all rows would choose.

    A parameter gains half a unit by chance, whatever the number of rows; the rest grows with them.
    None where four standard errors of the difference leave room for another.
    """
    plain, part = looks[0], looks[0].rows.size / n_rows

    def merit(fitted: FittedCandidate, other: FittedCandidate) -> tuple[float, float]:
        n_scales = [each.fit.problem.model.n_scale for each in (fitted, other)]
        more = float(n_scales[0] - n_scales[1])
        worth = tuned.WORTH * (float(other is plain) - float(fitted is plain))
        gain, error = behind(fitted.rows, other.rows, fitted.fit.problem.weight)
        rows = looks[0].rows.size
        return (gain * rows - 0.5 * more) / part - 1.5 * more - worth, error * rows / part

    for best in looks:
        others = [merit(best, other) for other in looks if other is not best]
        if all(gain > tuned.HOPELESS * error for gain, error in others):
            return best
    return None


def _look(data: ModelData, families: Sequence[Family], scale: ScaleName) -> list[FittedCandidate]:
    """Every family without orders; on the logarithmic scale with the better kind of location."""
    candidates: list[FittedCandidate] = []
    links: tuple[LinkName, ...] = ("additive", "multiplicative")
    for family in families:
        if family.space == "log" and _hopeless_scale(candidates):
            continue
        if family.space == "linear":
            candidates.append(data.run(CandidateModel(family, "absent", scale, "linear")))
            continue
        pattern: ScaleName = scale if scale == "features" else "constant"
        both = [data.run(CandidateModel(family, "absent", pattern, link)) for link in links]
        worth = max(each.information for each in both) - tuned.WORTH
        both = [each for each in both if each.information >= worth]
        candidates += both
        links = tuple(each.candidate.link for each in both)
    return candidates


def _hopeless_scale(candidates: Sequence[FittedCandidate]) -> bool:
    """Whether a first family on the logarithmic scale was too far off for any other there."""
    logs = [each for each in candidates if each.candidate.family.space == "log"]
    others = [each for each in candidates if each.candidate.family.space == "linear"]
    if not logs or not others:
        return False
    best, best_log = (max(each.information for each in side) for side in (others, logs))
    return best - best_log > tuned.FAR_OFF * others[0].rows.size


def _sensible(candidates: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Leave out orders that bind next to never, and unlimited stock that never is.

    A level on top of the largest observation explains one row and nothing else; a mixture without
    its second part is the plain policy once more.
    """
    kept, least = [], tuned.LEAST_SHARE
    for each in candidates:
        orders = each.fit.problem.model.orders(each.fit.parameters)
        mixture = each.candidate.policy == "mixture"
        binds = orders is None or least <= each.share <= 1 - least
        if binds and not (mixture and orders is not None and orders.unlimited < least):
            kept.append(each)
    return kept or list(candidates)


def _promising(
    candidates: Sequence[FittedCandidate], *, shapes: bool = True
) -> list[FittedCandidate]:
    """Leave out what is hopelessly behind, and a Student-t that is a normal.

    Of few rows for each parameter too much is explained, and tails look lighter than they are: who
    looks at a part of the rows does not ask about `shapes`.
    """
    best = max(candidates, key=lambda each: each.information)
    kept = []
    for each in candidates:
        limit = tuned.NEARLY_NORMAL.get(each.candidate.family.name, np.inf)
        shape = each.fit.problem.model.shape(each.fit.parameters)
        if shapes and each is not best and float(np.max(shape)) > limit:
            continue
        weight = each.fit.problem.weight
        _, error = behind(best.rows, each.rows, weight)
        allowed = tuned.HOPELESS * error * weight.size + tuned.WORTH
        if best.information - each.information <= allowed:
            kept.append(each)
    uncensored = [each for each in candidates if each.candidate.policy == "absent"]
    if uncensored and not any(each.candidate.policy == "absent" for each in kept):
        # nobody leaves without the candidate model that does no harm
        kept.append(max(uncensored, key=lambda each: each.information))
    return kept


def rank(candidates: Sequence[FittedCandidate]) -> list[FittedCandidate]:
    """Order candidates by their held-out scores, best first."""
    scored = [
        (float(each.fit.problem.weight @ each.held_out), each.held_out, each)
        for each in candidates
        if each.held_out is not None
    ]
    scored.sort(key=lambda each: each[0], reverse=True)
    _, best, first = scored[0]
    ranked = []
    for _, rows, each in scored:
        less, error = behind(best, rows, first.fit.problem.weight)
        ranked.append(replace(each, behind=less, standard_error=error))
    return ranked


def simplest(ranked: Sequence[FittedCandidate]) -> FittedCandidate:
    """Of the best candidate model's family, the one with fewest parameters that ties with it.

    Limits say on which side of them the truth lies: there is no amount of censoring to be modest
    about.
    """
    return _fewest_parameters([each for each in ranked if each.within(1.0)], ranked[0])


def _fewest_parameters(ranked: Sequence[FittedCandidate], like: FittedCandidate) -> FittedCandidate:
    """Of the candidates with the family of another one, the one with fewest parameters."""
    family = like.candidate.family
    same = [each for each in ranked if each.candidate.family is family]
    return min(same, key=lambda each: each.fit.parameters.size)


def choose(
    ranked: Sequence[FittedCandidate],
    hidden: Callable[[FittedCandidate], float],
    *,
    known: bool,
    imposed: bool,
) -> FittedCandidate:
    """Of all candidates that tie with the best, the one with least censoring.

    Where the share censored is known or imposed, a tie is one within a standard error, and the one
    that hides the least amount is taken (where rows are known, the best of those that hide next to
    the least). Otherwise the share is at stake, wrong ones cost much, and the best of many looks
    better than it is: then everything ties that cannot be ruled out (two standard errors; three for
    a candidate model without censoring, which must be proved). Of the same family, the one with
    fewest parameters is taken.

    Parameters
    ----------
    ranked : sequence of FittedCandidate
        Best first.
    hidden : callable
        Mean amount by which the truth exceeds the observation, under a candidate model.
    known, imposed : bool
        Whether it is known of every row if it is censored; whether a share is imposed.
    """
    ties = [each for each in ranked if (each.within(1.0) if known or imposed else each.open)]
    least = min(each.share for each in ties)
    same = [each for each in ties if each.share <= least + tuned.SAME_SHARE]
    if least == 0.0:
        return next(each for each in ties if each.share == 0.0)
    amounts = [hidden(each) for each in same]
    enough = min(amounts) + (tuned.SAME_AMOUNT * abs(min(amounts)) if known else 0.0)
    modest = next(each for each, amount in zip(same, amounts, strict=True) if amount <= enough)
    return _fewest_parameters(same, modest)
