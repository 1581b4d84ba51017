"""Choose a candidate model: fit each, compare on held-out rows, let ties go to the least censoring.

`explain` first fits all candidates, on a part of the rows if there are many. It then computes
held-out scores of the few that may be right. `choose` decides between those; `robustness` checks
the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.censoring.latent.counts import count_share
from unmet.censoring.latent.families import Family
from unmet.censoring.latent.likelihood import (
    BELOW,
    BETWEEN,
    CENSORED,
    FLOOR,
    LatentModel,
    LinkName,
    Policy,
    Problem,
    ScaleName,
    maximise,
    whiten,
)
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.sellout import RateRange

WORTH = 10.0
"""Units of log-likelihood that make a richer pattern worth its parameters."""
HOPELESS = 4.0
"""Standard errors behind the best, before held-out rows are asked."""
PROOF = 3.0
"""Standard errors behind, beyond which a candidate without censoring is ruled out."""
LEAST_SHARE = 0.01
"""Share of rows from which orders, or unlimited stock, are worth a name."""
_STARTS = ((0.5, 0.0, 0.3), (0.1, 1.0, 0.5), (0.0, 2.0, 0.7))
"""Where the orders may stand, as multiples of the spread of the observations: how far the truth's
location lies above theirs, the level of the orders above that, and their spread."""


@dataclass(frozen=True)
class FittedCandidate:
    """A candidate model, fitted to all rows.

    Attributes
    ----------
    model : LatentModel
    parameters : ndarray of shape (n_parameters,)
    rows : ndarray of shape (n_rows,)
        Log-likelihood of each row, in units of the observation; none in a model that was loaded.
    share : float
        Share of rows censored.
    likelihood : float
        Sum of the rows, with their weights.
    information : float
        The same less one per parameter (Akaike).
    held_out : ndarray of shape (n_rows,) or None
        The same from fits that had not seen the row; None if it was ruled out before.
    score : float
        Mean of the rows held out, with their weights.
    behind, standard_error : float
        How much less likely than the best, per held-out row; 0 before candidates are ranked.
    rate : RateRange or None
        Sell-out rates by which the truth follows from the observations that the model describes;
        None where the model describes the truth itself.
    """

    model: LatentModel
    parameters: Array
    rows: Array
    share: float
    likelihood: float
    information: float
    held_out: Array | None = None
    score: float = np.nan
    behind: float = 0.0
    standard_error: float = 0.0
    rate: RateRange | None = None

    @classmethod
    def of(cls, data: Observed, model: LatentModel, parameters: Array) -> FittedCandidate:
        """Put parameters on the scale on which candidates are compared."""
        problem = data.problem(model)
        rows = problem.values(parameters) + data.jacobian(model)
        orders, share = model.orders(parameters), model.share_censored(parameters)
        if data.known:
            share = float(data.weight @ (data.kind == CENSORED)) / data.n_rows
        elif model.family.space == "counts" and orders is not None:
            _, location, log_scale = problem.residual(parameters)
            share = count_share(location, model.shape(parameters, log_scale), orders)
        likelihood = float(data.weight @ rows)
        return cls(model, parameters, rows, share, likelihood, likelihood - parameters.size)

    @property
    def open(self) -> bool:
        """Whether it cannot be ruled out; one without any censoring only by a proof."""
        return self.within(2.0) or (self.share == 0.0 and self.within(PROOF))

    def within(self, standard_errors: float) -> bool:
        """Whether it is at most so far behind."""
        return self.behind <= standard_errors * self.standard_error


def run(
    data: Observed, model: LatentModel, starts: Sequence[Array] | None = None, rounds: int = 2
) -> FittedCandidate:
    """Fit one candidate model from several starts, the usual ones or others; keep the best."""
    problem = data.problem(model)
    if starts is None:
        starts = [first_start(problem)]
        if model.policy != "absent":
            starts = [first_start(problem, offset) for offset in _STARTS]
    best = starts[0]
    if len(starts) > 1:  # a few steps from each, before only the best goes on
        climbs = [maximise(problem, start, rounds=1, steps=8) for start in starts]
        best = max(climbs, key=itemgetter(1))[0]
    return FittedCandidate.of(data, model, maximise(problem, best, rounds=rounds)[0])


def first_start(problem: Problem, offset: tuple[float, float, float] | None = None) -> Array:
    """Least squares for the location, and orders where `offset` says."""
    model, family, slices = problem.model, problem.model.family, problem.model.slices
    counts, start = family.space == "counts", np.zeros(model.size)
    point = np.log(problem.point + 0.5) if counts else problem.point
    above_floor = problem.kind != FLOOR
    target = np.exp(point) if model.softness else point
    root = np.sqrt(problem.weight * above_floor)
    line = np.linalg.lstsq(problem.basis * root[:, None], target * root, rcond=None)[0]
    start[slices["location"]] = line
    _, location, _ = problem.residual(start)
    spread = float(np.std((point - location)[above_floor])) or 1.0
    if np.isin(
        problem.kind, (BELOW, BETWEEN)
    ).any():  # limits may follow the features closely, truths not
        spread = max(spread, 0.3 * float(np.std(point)))
    start[slices["scale"].start] = np.log(spread / family.deviation)
    start[slices["shape"]] = family.shape or 0.0
    if offset is not None and model.policy != "absent":
        up, level, order_spread = offset
        # counts have their orders on the logarithmic scale itself, others in units of the scale
        step = spread if counts else family.deviation
        start[0] += up * (0.5 * float(np.std(target)) if model.softness else spread)
        start[slices["level"]] = level * step
        start[slices["spread"]] = np.log(order_spread * step)
        start[slices["unlimited"]] = -1.0
    return start


def hold_out(data: Observed, fitted: FittedCandidate, folds: NDArray[np.intp]) -> FittedCandidate:
    """Score each row by a fit that has not seen it; each starts from the fit to all rows."""
    problem, start = data.problem(fitted.model), fitted.parameters.copy()
    # widen narrow orders: a fold must find them again, or rows held out would have helped
    place = fitted.model.slices["spread"]
    start[place] = np.maximum(start[place], np.log(0.4))
    whitening = whiten(problem, start)

    def fit(part: Problem) -> Array:
        return maximise(part, start, rounds=2, whitening=whitening)[0]

    return scored(data, fitted, held_out(problem, folds, fit))


def scored(data: Observed, fitted: FittedCandidate, rows: Array) -> FittedCandidate:
    """Put held-out rows on the scale on which candidates are compared."""
    rows = rows + data.jacobian(fitted.model)
    return replace(fitted, held_out=rows, score=float(data.weight @ rows) / rows.size)


def held_out(problem: Problem, folds: NDArray[np.intp], fit: Callable[[Problem], Array]) -> Array:
    """Log-likelihood of each row with parameters that were fitted without its fold."""
    scores = np.empty(folds.size)
    for fold in range(int(folds.max()) + 1):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        scores[outside] = problem.take(outside).values(fit(problem.take(inside)))
    return scores


def behind(best: Array, other: Array, weight: Array) -> tuple[float, float]:
    """Mean difference of two columns of log-likelihoods, and its standard error."""
    difference = best - other
    mean = float(weight @ difference) / weight.size
    # weights that differ leave fewer rows' worth of evidence
    return mean, float(np.sqrt(weight**2 @ (difference - mean) ** 2)) / weight.size


def explain(
    data: Observed, families: Sequence[Family], policies: Sequence[Policy], folds: NDArray[np.intp]
) -> list[FittedCandidate]:
    """Fit the candidates and rank them by held-out likelihood, best first.

    Candidates that a part of the rows rules out are not fitted to all of them. The part has 30 rows
    per column, because with fewer rows heavy tails do not show.
    """
    part = data.few(max(1000, 30 * data.basis.shape[1])) if data.rate is None else None
    candidates = _candidates(part or data, families, policies, _scale_pattern(data, families))
    if part is not None:
        # of few rows for each parameter tails look lighter than they are: no question of shapes
        kept = promising(candidates, part.weight, shapes=False)
        harmless = [each for each in candidates if each.model.policy == "absent"]
        kept += promising(harmless, part.weight, shapes=False) if harmless else []
        distinct = {each.model: each for each in kept}.values()
        candidates = [run(data, each.model, [each.parameters]) for each in distinct]
    polished, sensible = [], []
    for each in promising(candidates, data.weight):  # climb on from where a first look stopped
        parameters, _ = maximise(data.problem(each.model), each.parameters, tolerance=1e-6)
        fitted = FittedCandidate.of(data, each.model, parameters)
        polished.append(fitted)
        # A level on top of the largest observation explains one row and nothing else; a mixture
        # without its second part is the plain policy once more.
        orders = fitted.model.orders(parameters)
        binds = orders is None or LEAST_SHARE <= fitted.share <= 1 - LEAST_SHARE
        empty = each.model.policy == "mixture" and orders is not None and orders[2] < LEAST_SHARE
        sensible += [fitted] if binds and not empty else []
    kept = promising(sensible or polished, data.weight)
    return rank([hold_out(data, each, folds) for each in kept], data.weight)


def _candidates(
    data: Observed, families: Sequence[Family], policies: Sequence[Policy], scale: ScaleName
) -> list[FittedCandidate]:
    """Every family without orders; then with noisy ones, and the best with sometimes ample ones."""
    possible = data.rate is None and not data.known and not (data.kind == CENSORED).any()
    families = [each for each in families if possible or each.name != "skewed_left"]
    looks: list[FittedCandidate] = []
    links: tuple[LinkName, ...] = ("additive", "multiplicative")
    for family in families:
        if family.space == "linear":
            looks.append(run(data, data.model(family, "absent", scale)))
            continue
        # on the logarithmic scale with the better kind of location
        pattern: ScaleName = scale if scale == "features" else "constant"
        both = [run(data, data.model(family, "absent", pattern, link)) for link in links]
        best = max(both, key=attrgetter("information"))
        both = [each for each in both if each.information >= best.information - WORTH]
        looks += both
        links = tuple(each.model.link for each in both)
    if data.known:
        candidates = promising(looks, data.weight)
        if data.order_basis is not None:
            # families whose location moves with the orders that are known: two parameters
            candidates += [
                run(data, data.model(m.family, m.policy, m.scale, m.link, on_orders=True))
                for m in (each.model for each in candidates)
                if m.link != "multiplicative"
            ]
        return candidates
    candidates = list(looks) if "absent" in policies and possible else []
    if {"noisy", "mixture"} & set(policies):
        models = [look.model for look in looks if look.model.family.name != "skewed_left"]
        noisy = [run(data, replace(each, policy="noisy")) for each in models]
        candidates += noisy if "noisy" in policies else []
        if "mixture" in policies:
            best = max(noisy, key=attrgetter("information"))
            mixture = replace(best.model, policy="mixture")
            # from the orders found without unlimited stock, and from the first usual start
            usual = first_start(data.problem(mixture), _STARTS[0])
            candidates.append(run(data, mixture, [np.append(best.parameters, -1.0), usual]))
    # where nothing looks censored, nothing must be explained by a skew to the left
    others = [each for each in candidates if each.model.family.name != "skewed_left"]
    if others and max(others, key=attrgetter("information")).model.policy == "absent":
        return others
    return candidates


def _scale_pattern(data: Observed, families: Sequence[Family]) -> ScaleName:
    """Whether the scale varies, asked of the logistic, or the first family whose scale is free."""
    free = [family for family in families if family.space == "linear"]
    if not free:
        return "constant"
    robust = next((family for family in free if family.name == "logistic"), free[0])
    data = data.few(10_000) or data
    looks = [run(data, data.model(robust, "absent", name), rounds=3) for name in data.scale_bases]
    # charge a scale parameter twice: a wrong family makes them look better than they are
    merits = [each.information - each.model.n_scale for each in looks]
    best = int(np.argmax(merits))
    return looks[best].model.scale if merits[best] > merits[0] + WORTH else "constant"


def promising(
    candidates: Sequence[FittedCandidate], weight: Array, *, shapes: bool = True
) -> list[FittedCandidate]:
    """Leave out what is hopelessly behind, and with `shapes` families that are nearly normal."""
    best = max(candidates, key=attrgetter("information"))
    nearly, kept = {"student": 3.5, "skewed": 4.0, "skewed_left": 4.0}, []
    for each in candidates:
        limit = nearly.get(each.model.family.name, np.inf)
        nearly_normal = float(each.model.shape(each.parameters)) > limit
        if shapes and each is not best and nearly_normal:
            continue
        _, error = behind(best.rows, each.rows, weight)
        if best.information - each.information <= HOPELESS * error * weight.size + WORTH:
            kept.append(each)
    if not any(each.model.policy == "absent" for each in kept):
        # nobody leaves without the candidate model that does no harm
        harmless = [each for each in candidates if each.model.policy == "absent"]
        kept += sorted(harmless, key=attrgetter("information"))[-1:]
    return kept


def rank(candidates: Sequence[FittedCandidate], weight: Array) -> list[FittedCandidate]:
    """Order candidates by their held-out scores, best first."""
    ordered = sorted(candidates, key=attrgetter("score"), reverse=True)
    best, ranked = ordered[0].held_out, []
    for each in ordered:
        assert best is not None
        assert each.held_out is not None
        less, error = behind(best, each.held_out, weight)
        ranked.append(replace(each, behind=less, standard_error=error))
    return ranked


def choose(
    ranked: Sequence[FittedCandidate],
    hidden: Callable[[FittedCandidate], float],
    *,
    known: bool,
    imposed: bool,
    limits: bool = False,
) -> FittedCandidate:
    """Choose the candidate with the least censoring among all that tie with the best.

    If the share of censored rows is known or given, a tie is one within a standard error, and the
    candidate that hides the least amount wins (if rows are known, the best of those that hide next
    to the least). Otherwise the share is at stake, wrong shares cost much, and the best of many
    looks better than it is. Then everything ties that cannot be ruled out: two standard errors, or
    three for a candidate without censoring, which must be proved. Of the same family, the one with
    the fewest parameters wins. Limits show on which side of them the truth lies, so the best family
    wins.

    Parameters
    ----------
    ranked : sequence of FittedCandidate
        Candidates, best first.
    hidden : callable
        Mean amount by which the truth exceeds the observation, under a candidate.
    known, imposed, limits : bool
        Whether each row is known to be censored or not; whether a share is given; whether limits
        show more than flags.
    """
    ties = [each for each in ranked if (each.within(1.0) if known or imposed else each.open)]
    least = min(each.share for each in ties)
    if least == 0.0 and not limits:
        return next(each for each in ties if each.share == 0.0)
    same, modest = ties, ranked[0]
    if not limits:
        same = [each for each in ties if each.share <= least + 0.02]
        amounts = [hidden(each) for each in same]
        enough = min(amounts) + (0.15 * abs(min(amounts)) if known else 0.0)
        modest = next(each for each, amount in zip(same, amounts, strict=True) if amount <= enough)
    alike = [each for each in same if each.model.family is modest.model.family]
    return min(alike, key=attrgetter("parameters.size"))
