"""What a verdict must survive where nothing is known of any row, and what data could have shown.

S = min(D, Q) of two unknown distributions can be any distribution at all: a demand with exactly
that distribution, of which nothing is hidden, fits as well. So what a shape seems to show is
believed only if it is sharper than any smooth distribution (`any_smooth_distribution`), unless the
user has said what distribution demand follows. What is left must be found again in both halves of
time, around a location that may bend, without the tails, and beside rounding (`robustness_check`).
And nothing is hidden for certain only if orders that bind now and then would have been seen
(`power`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from unmet.arrays import Array, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.counts import Counts, count_quantile, equals, reaches
from unmet.censoring.latent.fitting import (
    LikelihoodFit,
    Policy,
    information,
    maximise,
    row_values,
    share_slopes,
)
from unmet.censoring.latent.likelihood import CENSORED, FLOOR, UNKNOWN, RowKinds
from unmet.censoring.latent.selection import FittedCandidate, ModelData, behind
from unmet.censoring.model import RobustnessCheck

_FURTHEST = 8.0  # normal scores: all that doubles can tell from 1
_NARROWEST = 1e-12  # probability of a row's own interval
_FOLDS = 4


@dataclass(frozen=True)
class Verdict:
    """What the robustness checks say of a candidate model, where nothing was known of any row.

    Attributes
    ----------
    share_range : tuple of two floats
        Shares censored that cannot be ruled out, by any candidate model or robustness check.
    robustness_checks : tuple of RobustnessCheck
    power : tuple of pairs of floats
        Share sold out, and the chance that it would have been seen.
    any_distribution : bool
        Whether a smooth distribution of which nothing is hidden explains the observations as well.
    free : bool
        Whether the truth may follow any distribution: nobody has named one.
    """

    share_range: tuple[float, float]
    robustness_checks: tuple[RobustnessCheck, ...] = ()
    power: tuple[tuple[float, float], ...] = ()
    any_distribution: bool = False
    free: bool = False

    @property
    def survives(self) -> bool:
        """Whether no robustness check speaks against censoring."""
        return not self.any_distribution and all(each.holds for each in self.robustness_checks)


# --- any smooth distribution
# -------------------------------------------------------------------------------


def any_smooth_distribution(
    fitted: FittedCandidate,
    harmless: FittedCandidate | None,
    folds: NDArray[np.intp],
    lattice: float,
) -> Array:
    """How much likelier each row is under a candidate model than under any smooth distribution.

    Nothing is hidden in the smooth distribution, and its location and scale are those of the
    candidate model's truth, or of the best candidate model without censoring. Its shape is a
    distribution f of theirs, bent by a smoothed histogram ĝ of other folds: with normal scores z of
    the rows under f, a row has the density f(s) · ĝ(z) / φ(z) (Hjort and Glad, 1995). So rounding,
    counts and a floor are treated alike. The best of several widths and of both distributions is
    taken.

    Parameters
    ----------
    fitted : FittedCandidate
    harmless : FittedCandidate or None
        Best candidate model without censoring.
    folds : ndarray of int
        Fold of each row.
    lattice : float
        Observations are multiples of it; 0 if of nothing.

    Returns
    -------
    ndarray of shape (n_rows,)
        Differences of log-likelihoods; 0 in rows at the floor.
    """
    problem = fitted.fit.problem
    above = problem.rows.kind != FLOOR
    weight = problem.weight[above]
    smooth = []
    for each in (fitted, harmless):
        if each is None:
            continue
        base, low, high = (part[above] for part in _truth_of(each, lattice))
        base = base + (each.rows - each.fit.rows)[above] if each.rows.size else base
        smooth += [
            base + _smoothed(low, high, folds[above], width) for width in tuned.DENSITY_WIDTHS
        ]
    own = fitted.rows if fitted.rows.size else fitted.fit.rows
    best = max(smooth, key=lambda each: float(weight @ each))
    difference = np.zeros(above.size)
    difference[above] = own[above] - best
    return difference


def _truth_of(fitted: FittedCandidate, lattice: float) -> tuple[Array, Array, Array]:
    """Log-density of each row under the truth, and its interval of normal scores."""
    problem, located = fitted.fit.problem, fitted.fit.located
    family = problem.model.family
    shape = problem.model.shape(fitted.fit.parameters, located.log_scale)
    if family.space == "counts":
        distribution = Counts.of(problem.point, located.location, shape)
        log_low = np.log(np.maximum(reaches(distribution), 1e-300))
        log_high = np.log(
            np.maximum(reaches(distribution._replace(count=distribution.count + 1.0)), 1e-300)
        )
        return equals(distribution)[0], _scores(log_low), _scores(log_high)
    scale = np.exp(located.log_scale)
    u = (problem.point - located.location) / scale
    base = family.density(u, shape)[0] - located.log_scale
    # rows above a floor: their distribution is that given that they are
    floor = problem.rows.kind == FLOOR
    bottom: Numbers = 0.0
    if floor.any():
        at = (problem.point[floor][0] - located.location) / scale
        bottom = family.log_survival(np.minimum(at, u), shape)
    half: Numbers = 0.0
    if lattice:
        half = 0.5 * lattice / fitted.unit
        if family.space == "log":
            half = np.minimum(half * np.exp(-problem.point), 0.7)
        half = half / scale
    log_low = np.minimum(family.log_survival(u - half, shape) - bottom, 0.0)
    log_high = np.minimum(family.log_survival(u + half, shape) - bottom, 0.0)
    return base, _scores(log_low), _scores(log_high)


def _scores(log_survival: Array) -> Array:
    """Turn probabilities of being exceeded into normal scores."""
    near = -special.ndtri(-np.expm1(log_survival))  # where the survival is near 1
    far = special.ndtri_exp(np.minimum(log_survival, -1e-300))
    score = -np.where(log_survival > -0.1, near, far)
    return np.asarray(np.clip(score, -_FURTHEST, _FURTHEST))


def _smoothed(low: Array, high: Array, folds: NDArray[np.intp], width: float) -> Array:
    """Logarithm of ĝ / φ, ĝ a histogram of the other folds convolved with a normal.

    Rows are spread over their interval as a normal distribution would have them, and what is said
    of a row is the mean over its interval: for whole numbers that is a distribution of whole
    numbers.
    """
    left, middle, right = np.quantile(0.5 * (low + high), [0.16, 0.5, 0.84])
    spread = max(float(right - left) / 2.0, 1e-9)
    half = tuned.DENSITY_REACH * spread
    edges = np.linspace(middle - half, middle + half, tuned.DENSITY_GRID + 1)
    step, n_cells = float(edges[1] - edges[0]), tuned.DENSITY_GRID
    bandwidth = width * 1.06 * spread * low.size**-0.2
    reach = np.arange(-int(4 * bandwidth / step) - 1, int(4 * bandwidth / step) + 2) * step
    kernel = np.exp(-0.5 * (reach / bandwidth) ** 2)
    kernel /= kernel.sum()
    # normal probability of each cell; far ones must not vanish
    normal = np.maximum(np.diff(special.ndtr(edges)), 1e-300)
    pointlike = bool(np.all(high - low <= 1e-12))
    cell = np.clip(((low - edges[0]) / step).astype(np.intp), 0, n_cells - 1)
    ends = (np.clip(each, edges[0], edges[-1]) for each in (low, high))
    bottom, top = (np.clip((each - edges[0]) / step, 0, n_cells) for each in ends)
    scores = np.empty(low.size)
    for fold in np.unique(folds):
        outside = folds == fold
        inside = ~outside
        if pointlike:
            counts = np.bincount(cell[inside], minlength=n_cells).astype(np.float64)
        else:
            counts = _spread_out(bottom[inside], top[inside], normal)
        # one row more, anywhere: so that a lone row is not impossible
        counts = np.convolve(counts, kernel, mode="same") + 1.0 / n_cells
        chance = counts / counts.sum()
        if pointlike:
            here = cell[outside]
            scores[outside] = np.log(chance[here] / step) + 0.5 * low[outside] ** 2
            scores[outside] += 0.5 * np.log(2.0 * np.pi)
        else:
            ends_out = bottom[outside], top[outside]
            scores[outside] = np.log(_within(chance, *ends_out) / _within(normal, *ends_out))
    return scores


def _within(chance: Array, bottom: Array, top: Array) -> Array:
    """Probability between two places on the grid, linear within a cell."""
    below = np.concatenate([[0.0], np.cumsum(chance)])
    grid = np.arange(below.size)
    return np.asarray(
        np.maximum(np.interp(top, grid, below) - np.interp(bottom, grid, below), _NARROWEST)
    )


def _spread_out(bottom: Array, top: Array, normal: Array) -> Array:
    """Sum of rows in each cell, each row spread over its interval by a normal distribution."""
    # a row adds 1 / (its own probability) to the density of each cell of its interval, and only a
    # part of that to the first and last
    rate = 1.0 / _within(normal, bottom, top)
    first = np.minimum(bottom.astype(np.intp), normal.size - 1)
    last = np.minimum(top.astype(np.intp), normal.size - 1)
    change = np.zeros(normal.size + 1)
    np.add.at(change, first, rate)
    np.add.at(change, last, -rate)
    counts = np.cumsum(change[:-1]) * normal
    np.add.at(counts, first, -rate * (bottom - first) * normal[first])
    np.add.at(counts, last, rate * (top - last) * normal[last])
    return np.maximum(counts, 0.0)


def misfit(difference: Array, weight: Array) -> bool:
    """Whether a smooth distribution beats a candidate model, such as two modes."""
    ahead, error = behind(-difference, np.zeros(difference.size), weight)
    return ahead > tuned.MISFIT * error


def sharper(difference: Array, weight: Array) -> bool:
    """Whether a candidate model surely beats every smooth distribution."""
    ahead, error = behind(difference, np.zeros(difference.size), weight)
    return ahead > max(tuned.PROOF * error, tuned.SHARP)


# --- the share, and how surely --------------------------------------------------------------------


def share_error(fitted: FittedCandidate) -> float:
    """Estimate the standard error of the share censored of a candidate model; 0 without orders."""
    model, parameters = fitted.fit.problem.model, fitted.fit.parameters
    if model.policy == "absent" or not fitted.rows.size:
        return 0.0
    problem = fitted.fit.problem
    outer = information(problem, parameters)
    size = np.sqrt(np.maximum(np.diag(outer), 1e-12))
    scaled = outer / size[:, None] / size + 1e-6 * np.eye(size.size)
    slope = share_slopes(model, parameters)[1] / size
    variance = float(slope @ np.asarray(linalg.solve(scaled, slope, assume_a="pos")))
    return float(np.sqrt(max(variance, 0.0)))


def share_range(fitted: Sequence[FittedCandidate]) -> tuple[float, float]:
    """Shares that candidates allow, two standard errors to either side."""
    lows, highs = [], []
    for each in fitted:
        reach = tuned.SURE_ERRORS * share_error(each)
        lows.append(each.share - reach)
        highs.append(each.share + reach)
    return max(min(lows), 0.0), min(max(highs), 1.0)


def counted(
    fitted: FittedCandidate, lattice: float, left_out: float = 0.0, at_the_top: float = 0.0
) -> Verdict:
    """Range of a share that was counted at orders.

    Of whole numbers some truths end at their order by chance, and hide nothing. How many do is what
    the distribution says of rows at their orders; the distribution is fitted, so half as many again
    may. Rows of which the orders say nothing may be anything.

    Parameters
    ----------
    fitted : FittedCandidate
    lattice : float
        Observations are multiples of it; 0 if of nothing.
    left_out : float
        Share of all rows that were left out, since nothing is known of them.
    at_the_top : float
        Share of rows that tie at the largest observation, though the orders found do not say so.
    """
    problem = fitted.fit.problem
    n_rows, on = problem.weight.size, problem.rows.kind == CENSORED
    share = float(problem.weight @ on) / n_rows
    unknown = float(problem.weight @ (problem.rows.kind == UNKNOWN)) / n_rows
    least, most = share, min(share + unknown + at_the_top, 1.0)
    if lattice:
        _, low, high = (part[on] for part in _truth_of(fitted, lattice))
        reached, beyond = special.ndtr(-low), special.ndtr(-high)
        equal = 1.0 - beyond / np.maximum(reached, 1e-300)
        weight = problem.weight[on]
        chance = float(weight @ equal) / n_rows
        spread = float(np.sqrt(weight**2 @ (equal * (1.0 - equal)))) / n_rows
        least = max(share - tuned.MORE_TIES * chance - tuned.SURE_ERRORS * spread, 0.0)
    # rows with nothing in stock have no weight: nor is anything known of them
    counts = (1.0 - left_out) * float((problem.weight > 0).mean())
    return Verdict((counts * least, counts * most + 1.0 - counts))


# --- robustness_checks
# ---------------------------------------------------------------------------------------


def robustness_check(
    data: ModelData,
    chosen: FittedCandidate,
    harmless: FittedCandidate,
    when: NDArray[np.generic] | None,
    series: NDArray[np.generic] | None,
) -> list[RobustnessCheck]:
    """Look for the censoring that a shape seems to show in other ways of looking at the rows.

    Parameters
    ----------
    data : ModelData
    chosen : FittedCandidate
        Candidate with censoring.
    harmless : FittedCandidate
        Best candidate model without.
    when : ndarray of shape (n_rows,) or None
        Times as numbers; the order of the rows where there are none.
    series : ndarray of shape (n_rows,) or None

    Returns
    -------
    list of RobustnessCheck
    """
    n_rows = data.weight.size
    time = np.asarray(np.arange(n_rows) if when is None else when, dtype=np.float64)
    order = np.argsort(time, kind="stable")
    located = chosen.fit.located
    residual = (chosen.fit.problem.point - located.location) * np.exp(-located.log_scale)
    low, high = np.quantile(residual, tuned.TRIMMED)
    middle = np.flatnonzero((residual >= low) & (residual <= high))
    looks = [
        ("the first half of the rows", data.take(np.sort(order[: n_rows // 2]))),
        ("the second half of the rows", data.take(np.sort(order[n_rows // 2 :]))),
        ("all rows but the tails", data.take(middle)),
        ("a location that may bend", data.bent(_bends(data, time, located.location))),
    ]
    if series is not None and 1 < np.unique(series).size <= tuned.MAX_SERIES:
        codes = np.unique(series, return_inverse=True)[1]
        columns = (codes[:, None] == np.arange(1, codes.max() + 1)).astype(np.float64)
        looks.append(("levels of the series", data.bent(columns)))
    robustness_checks = []
    for name, rows in looks:
        again, without = (_again(rows, each) for each in (chosen, harmless))
        gain = again.likelihood - without.likelihood
        extra = again.fit.parameters.size - without.fit.parameters.size
        holds = gain > extra + tuned.LEAST_CHECK_GAIN and again.share >= tuned.LEAST_SHARE
        robustness_checks.append(RobustnessCheck(name, float(again.share), bool(holds)))
    return robustness_checks


def _bends(data: ModelData, time: Array, location: Array) -> Array:
    """Columns by which a mean may leave its plane: a trend, a shift of the level, and bends."""
    share = np.argsort(np.argsort(time, kind="stable"), kind="stable") / time.size
    level = (location - location.mean()) / (float(location.std()) or 1.0)
    columns = [share, share**2, (share > 0.5).astype(float), level**2, level**3]
    basis = np.asarray(data.bases["features"][:, 1 : 1 + tuned.MAX_BENT])
    for column in basis.T:
        if np.unique(column).size > tuned.MIN_VALUES:
            edges = np.quantile(column, (0.25, 0.5, 0.75))
            columns += [np.maximum(column - edge, 0.0) for edge in edges]
    bent = np.column_stack(columns)
    bent = bent - bent.mean(axis=0)
    return np.asarray(bent[:, bent.std(axis=0) > 0])


def _again(data: ModelData, fitted: FittedCandidate) -> FittedCandidate:
    """Fit a candidate model to other rows or with more features, from where it was."""
    problem = data.problem(fitted.candidate)
    added = problem.model.n_location - fitted.fit.problem.model.n_location
    place = fitted.fit.problem.model.slices.location.stop
    start = np.insert(fitted.fit.parameters, place, np.zeros(added)) if added else None
    start = fitted.fit.parameters if start is None else start
    return data.fitted(fitted.candidate, maximise(problem, start, rounds=3))


# --- power ----------------------------------------------------------------------------------------


def power(harmless: FittedCandidate, seed: int) -> tuple[tuple[float, float], ...]:
    """Chance that shares of rows sold out would have been seen, if demand were as found.

    Demand is drawn from a candidate model without censoring; orders scatter around a level that
    leaves the share sold out, always or on half of the days. That is seen if it is `sharper` than
    every smooth distribution for somebody who even knows demand and orders: with estimates of them
    sees less. Draws end once nine in ten are out of reach.

    Parameters
    ----------
    harmless : FittedCandidate
        Candidate without censoring.
    seed : int

    Returns
    -------
    tuple of pairs
        Share sold out, and the chance that it is seen under the policy that hides it best.
    """
    generator = np.random.default_rng(seed)
    n_rows = harmless.fit.problem.point.size
    index = np.arange(n_rows)
    if n_rows > tuned.MAX_DRAWN:
        index = np.linspace(0, n_rows - 1, tuned.MAX_DRAWN).astype(np.intp)
    folds = generator.permutation(index.size) % _FOLDS
    found = []
    for share in tuned.SOLD_OUT:
        chance = 1.0
        for unlimited in tuned.UNLIMITED:
            binding = _binding(harmless, index, share, unlimited)
            seen = missed = 0
            while seen + missed < tuned.DRAWS and missed <= (1.0 - tuned.POWER) * tuned.DRAWS:
                drawn = _drawn(binding, generator)
                difference = any_smooth_distribution(drawn, None, folds, 0.0)
                if sharper(difference, drawn.fit.problem.weight):
                    seen += 1
                else:
                    missed += 1
            chance = min(chance, seen / (seen + missed))
            if chance < tuned.POWER:
                break  # one policy that is not seen is enough
        found.append((share, chance))
    return tuple(found)


def _binding(
    harmless: FittedCandidate, index: NDArray[np.intp], share: float, unlimited: float
) -> FittedCandidate:
    """Give a candidate model orders that leave a share of its rows sold out."""
    policy: Policy = "mixture" if unlimited else "noisy"
    problem = harmless.fit.problem.take(index)
    model = replace(problem.model, policy=policy)
    spread = tuned.ORDER_NOISE * _deviation(harmless)
    more = [0.0, np.log(spread), *([special.logit(unlimited)] if unlimited else [])]
    parameters = np.append(harmless.fit.parameters, more)
    place = model.slices.level

    def excess(level: float) -> float:
        moved = parameters.copy()
        moved[place] = level
        return model.share_censored(moved) - share

    reach = 10.0 * _deviation(harmless) + 10.0 * spread
    low, high = -reach, reach
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    parameters[place] = high
    problem = replace(
        problem, model=model, rows=RowKinds.of(np.full(index.size, UNKNOWN)), rate=None
    )
    fit = LikelihoodFit(problem, parameters, np.empty(0), np.nan)
    candidate = replace(harmless.candidate, policy=policy)
    return FittedCandidate(candidate, fit, np.empty(0), share, harmless.unit, np.nan)


def _deviation(fitted: FittedCandidate) -> float:
    """Half the distance of two quantiles of the truth, in the units of its orders."""
    model, parameters = fitted.fit.problem.model, fitted.fit.parameters
    shape = model.shape(parameters)
    if model.family.space == "counts":  # on the logarithmic scale itself
        located = fitted.fit.located
        mean, size = np.exp(np.median(located.location)), np.exp(np.max(shape))
        return float(np.sqrt(1.0 / mean + 1.0 / size))
    low, high = model.family.quantile(np.array([0.1587, 0.8413]), shape)
    return float(0.5 * (high - low))


def _drawn(binding: FittedCandidate, generator: np.random.Generator) -> FittedCandidate:
    """Draw observations of a candidate model with orders."""
    problem, parameters = binding.fit.problem, binding.fit.parameters
    model, located = problem.model, binding.fit.located
    orders = model.orders(parameters)
    assert orders is not None
    n_rows = problem.point.size
    luck = generator.uniform(1e-12, 1.0 - 1e-12, n_rows)
    shape = model.shape(parameters, located.log_scale)
    stock = orders.level + orders.spread * generator.standard_normal(n_rows)
    stock[generator.random(n_rows) < orders.unlimited] = np.inf
    if model.family.space == "counts":
        truth = count_quantile(luck, located.location, shape)
        point = np.minimum(truth, np.floor(np.exp(np.minimum(located.location + stock, 600)) + 0.5))
    else:
        u = np.minimum(model.family.quantile(luck, shape), stock)
        point = located.location + np.exp(located.log_scale) * u
    drawn = replace(problem, point=point)
    fit = LikelihoodFit(drawn, parameters, row_values(drawn, parameters), np.nan)
    return replace(binding, fit=fit)
