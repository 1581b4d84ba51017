"""Simple distributions with shrunken slopes, averaged, for rows whose stock-outs are known.

If flags or stock show which rows are censored, the usual model is a Tobit model. It has two
weaknesses: its slopes are not shrunk, and its one family must be right. This module fits a few
simple families, each with a ridge on its slopes whose strength is chosen on held-out rows. It mixes
their distributions with the weights that maximise the held-out likelihood (stacking; Wolpert 1992,
with the logarithmic score Yao et al. 2018).

With γ = slopes ÷ scale and θ = 1 ÷ scale (Olsen 1978), a row's log-likelihood is a concave function
of z = θ t − x'γ for each of these families, whether the row is seen, censored or below a floor. The
sum over rows with the ridge is concave, too, and Newton's method finds its maximum from any start.

Offers show no truth: each row only shows that the truth lies above or below a price. Fisher's
information then replaces the second derivatives, so families need not be concave (two kinds of
buyers are not). Ten pseudo-rows state that reservation prices vary by 30%, because prices that
followed the features closely show almost nothing of it. Members have equal numbers of parameters,
so likelihoods weigh them (`offer_weights`).

If only the *share* of sold-out rows is known, the same distributions describe the observations, and
`SelloutProfile` adds what they hide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import linalg, optimize, special

from unmet.arrays import Array
from unmet.censoring.latent.families import FAMILIES, PAIRS, Family, family_named, ratio
from unmet.censoring.latent.likelihood import (
    BELOW,
    CENSORED,
    FLOOR,
    LatentModel,
    LinkName,
    Problem,
    maximise,
)
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import FittedCandidate, held_out, run, scored

#: Second derivative of the log-density of each family that is stacked; all are concave.
CURVATURES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda u: -np.ones_like(u),
    "root_normal": lambda u: -np.ones_like(u),
    "lognormal": lambda u: -np.ones_like(u),
    "logistic": lambda u: -2.0 * special.expit(u) * special.expit(-u),
    "gumbel": lambda u: -np.exp(np.minimum(-u, 30.0)),
    "weibull": lambda u: -np.exp(np.minimum(u, 30.0)),
}
#: Strengths of the ridge on slopes of standardised features, in units of the scale, that are tried.
#: On real sets of 50 to 800 rows and 10 to 25 features rows held out choose 3 to 300. Later days of
#: grocery sales lose by strong ones (3 points of the avoidable cost by 30); bakeries and
#: restaurants lose by weak ones (5 points by 3). A Tobit model has none.
RIDGES = (0.3, 1.0, 3.0, 10.0)


def plain_families(
    families: Sequence[Family], *, auto: bool, positive: bool, offers: bool = False
) -> list[Family]:
    """Give the families to stack: all that are concave, or those of them that the user named."""
    if not auto:
        return [family for family in families if family.name in CURVATURES]
    every = [*(family_named(name) for name in CURVATURES), *(PAIRS if offers else ())]
    return [family for family in every if positive or family.space == "linear"]


def fit_members(
    data: Observed, families: Sequence[Family], penalty: Array, seed: int, *, auto: bool
) -> list[FittedCandidate]:
    """Fit each family with a ridge whose strength rows held out have chosen.

    With rows enough to pay for them come a scale that varies with the features and, if nobody asked
    for certain families (`auto`), heavy tails. These are not concave, and need no ridge.

    Parameters
    ----------
    data : Observed
        Every row of it known to be censored or seen, or taken as seen.
    families : sequence of Family
        Concave ones.
    penalty : ndarray of shape (n_basis - 1,)
        What a unit of each slope of the basis costs, so that slopes of the *standardised
        features* are shrunk alike.
    seed : int
    auto : bool
    """
    # 3,000 rows choose strengths and weights, more change neither; the others are held out of all
    order = np.random.default_rng(seed).permutation(data.n_rows)
    some, rest = np.sort(order[:3000]), np.sort(order[3000:])
    folds = np.random.default_rng(seed).permutation(np.arange(some.size) % 5)

    def score(problem: Problem, fit: Callable[[Problem], Array]) -> Array:
        """Log-likelihood of each row by a fit that has not seen it."""
        rows, sample = np.empty(data.n_rows), problem.take(some)
        rows[some] = held_out(sample, folds, fit)
        if rest.size:
            rows[rest] = problem.take(rest).values(fit(sample))
        return rows

    members: list[FittedCandidate] = []
    fits: list[Callable[[Problem], Array]] = []
    found: dict[str, float] = {}
    for family in families:
        link: LinkName = "multiplicative" if family.space == "log" else "linear"
        model = data.model(family, link=link)
        problem = data.problem(model)
        # one search for each space: the strength depends on the features more than on the family
        space = "any" if data.limits is not None else family.space
        if space not in found:
            sample = problem.take(some)
            tried = [held_out(sample, folds, _ridged(each * penalty)) for each in RIDGES]
            best = int(np.argmax([sample.weight @ rows for rows in tried]))
            found[space] = RIDGES[best]
        fits.append(_ridged(found[space] * penalty))
        members.append(FittedCandidate.of(data, model, fits[-1](problem)))
    kept = range(len(members)) if data.limits is None else offer_weights(members)[0]
    members = [
        scored(data, members[place], score(data.problem(members[place].model), fits[place]))
        for place in kept
    ]
    further = [_varying_scale(data, members)]
    if auto and data.n_rows >= max(1000, 20 * penalty.size):
        further += [data.model(FAMILIES[name]) for name in ("laplace", "student")]
    for more in further:
        if more is not None:
            fitted = run(data, more)
            start = fitted.parameters

            def climb(part: Problem, start: Array = start) -> Array:
                return maximise(part, start, rounds=2)[0]

            members.append(scored(data, fitted, score(data.problem(more), climb)))
    return members


def weigh(members: Sequence[FittedCandidate], share: Array) -> tuple[list[int], Array]:
    """Give the positions of the members that count, heaviest first, and weights that sum to one.

    Weights maximise the held-out likelihood, with some pseudo-rows for simple distributions;
    `benchmarks/ablation.py` measures their effect.
    """
    rows = np.array([each.held_out for each in members])
    likelihood = np.exp(rows - rows.max(axis=0))
    plain = {"normal": 4.0, "root_normal": 2.0, "logistic": 1.0}
    advance = np.array(
        [
            plain.get(each.model.family.name, 0.0) * (each.model.scale == "constant")
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
    kept = [int(place) for place in np.argsort(-mixed, kind="stable") if mixed[place] >= 0.02]
    return kept, mixed[kept] / mixed[kept].sum()


def offer_weights(members: Sequence[FittedCandidate]) -> tuple[list[int], Array]:
    """Weigh members for offers: by Akaike's criterion, with a higher bar for two groups.

    Two groups of buyers count only if they are 20 times likelier. With few offers, held-out rows
    weigh worse than likelihoods.
    """
    doubt = [3.0 * each.model.family.name.startswith("two groups") for each in members]
    merit = np.array([each.information for each in members]) - doubt
    mixed = special.softmax(merit)
    kept = [int(place) for place in np.argsort(-mixed, kind="stable") if mixed[place] >= 0.02]
    return kept, mixed[kept] / mixed[kept].sum()


def _ridged(penalty: Array) -> Callable[[Problem], Array]:
    """Give a fit of problems with one ridge; each starts from the last."""
    last: Array | None = None

    def fit(problem: Problem) -> Array:
        nonlocal last
        last = _climb(problem, penalty, last)
        scale = 1.0 / last[-1]
        return np.append(scale * last[:-1], np.log(scale))

    return fit


def _climb(problem: Problem, penalty: Array, start: Array | None) -> Array:
    """Newton's method in (γ, θ), each step halved until it gains what it promised.

    Gives γ of the constant and of the slopes, then θ.
    """
    model, point, weight = problem.model, problem.point, problem.weight
    family = model.family
    kind = problem.kind
    censored, floor = kind == CENSORED, (kind == FLOOR) | (kind == BELOW)
    seen = ~(censored | floor)
    basis, entry = problem.basis, problem.entry
    ridge = np.concatenate([[0.0], penalty, [0.0]])
    n_seen, usual = float(weight[seen].sum()), 0.0  # of the advance: ten rows, and their scales
    if not n_seen:
        spread = {"linear": 0.3 * np.abs(point).mean(), "root": 0.15 * point.mean(), "log": 0.3}
        n_seen, usual = 10.0, 10.0 * float(spread[family.space]) / family.deviation

    def value(at: Array) -> tuple[float, Array]:
        z = point * at[-1] - basis @ at[:-1]
        density, _ = family.density(z)
        rows = np.where(
            seen,
            density + np.log(at[-1]),
            np.where(censored, family.log_survival(z), family.log_below(z)),
        )
        if entry is not None:
            rows = rows - family.log_survival(entry * at[-1] - basis @ at[:-1])
        in_advance = usual * at[-1] - n_seen * np.log(at[-1]) if usual else 0.0
        return float(0.5 * ridge @ (at * at) + in_advance - weight @ rows), z

    here = _start(problem) if start is None else start
    now, z = value(here)
    if not np.isfinite(now):
        here = _start(problem)
        now, z = value(here)
    for _ in range(60):
        density, steep = family.density(z)
        slope, bend = steep, steep if usual else CURVATURES[family.name](z)
        if censored.any():
            hazard = ratio(density, family.log_survival(z))
            bend = np.where(censored, -hazard * (hazard + slope), bend)
            slope = np.where(censored, -hazard, slope)
        if floor.any():
            reverse = ratio(density, family.log_below(z))
            bend = np.where(floor, reverse * (steep - reverse), bend)
            slope = np.where(floor, reverse, slope)
        if usual:
            bend = -ratio(2.0 * density, family.log_survival(z) + family.log_below(z))
        pulled = weight * slope
        gradient = ridge * here - np.append(-(pulled @ basis), pulled @ point)
        gradient[-1] += usual - n_seen / here[-1]
        if entry is not None:
            # its curvature is left out: that of the others is then too large, and steps are safe
            began = entry * here[-1] - basis @ here[:-1]
            pushed = weight * ratio(family.density(began)[0], family.log_survival(began))
            gradient -= np.append(-(pushed @ basis), pushed @ entry)
        curved = np.maximum(-bend, 1e-10) * weight
        hessian = np.empty((here.size, here.size))
        hessian[:-1, :-1] = (basis * curved[:, None]).T @ basis
        hessian[-1, :-1] = hessian[:-1, -1] = -((curved * point) @ basis)
        hessian[-1, -1] = curved @ point**2 + n_seen / here[-1] ** 2
        diagonal = np.diag_indices(here.size)
        hessian[diagonal] += ridge + 1e-10 * np.trace(hessian) / here.size
        step = _newton_step(hessian, gradient)
        if step is None:  # as flat as rounding: there is no better place to go to
            break
        decrement = -float(gradient @ step)
        if not decrement > 1e-14:  # what is left to gain
            break
        length = 1.0
        if step[-1] < -0.9 * here[-1]:  # the scale stays positive
            length = -0.9 * here[-1] / step[-1]
        for _ in range(40):
            new, z_new = value(here + length * step)
            if new <= now - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            break
        here, now, z = here + length * step, new, z_new
    return here


def _newton_step(hessian: Array, gradient: Array) -> Array | None:
    """Step to the minimum of a quadratic; None where float64 cannot tell it from a plane."""
    try:
        factor = linalg.cho_factor(hessian, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    step: Array = -linalg.cho_solve(factor, gradient, check_finite=False)
    return step if np.isfinite(step).all() else None


def _start(problem: Problem) -> Array:
    """Start from a constant distribution of all points."""
    point, weight = problem.point, problem.weight
    mean = float(np.average(point, weights=weight))
    spread = float(np.sqrt(np.average((point - mean) ** 2, weights=weight))) or 1.0
    start = np.zeros(problem.basis.shape[1] + 1)
    start[0], start[-1] = mean / spread, 1.0 / spread
    return start


def _varying_scale(data: Observed, members: Sequence[FittedCandidate]) -> LatentModel | None:
    """Let the scale of the best additive distribution vary with the features, where that pays.

    A score test asks whether the rows' slopes in the logarithm of the scale follow the features.
    """
    linear = [each for each in members if each.model.family.space == "linear"]
    if not linear:
        return None
    best = max(linear, key=lambda each: each.score)
    slopes = data.problem(best.model).rows(best.parameters)[1][1] * np.sqrt(data.weight)
    found, most = None, 0.0
    for name, basis in data.scale_bases.items():
        if name == "constant":
            continue
        total, spread = slopes @ basis, (basis * (slopes**2)[:, None]).T @ basis
        spread[np.diag_indices(total.size)] += 1e-9 * np.trace(spread)
        step = _newton_step(spread, -total)
        if step is None:  # no row has a slope
            continue
        beyond = float(total @ step) - float(special.chdtri(total.size, 1e-4))
        if beyond > most:
            found, most = data.model(best.model.family, "absent", name), beyond
    return found
