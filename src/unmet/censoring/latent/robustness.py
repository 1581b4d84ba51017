"""Robustness checks of a verdict if nothing is known of any row.

S = min(D, Q) of two unknown distributions can have any distribution: an uncensored demand with
exactly that distribution fits as well. Censoring that a shape suggests is therefore believed only
if the shape is sharper than any smooth distribution (`any_smooth_distribution`), unless the user
named the distribution of demand. The censoring must then appear again in both halves of time, and
with a level for each series (`robustness_checks`). A shape never proves that nothing is hidden:
scattered orders leave no trace that a smooth distribution could not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from unmet.arrays import Array, Numbers
from unmet.censoring.latent.counts import equals, moments, reaches
from unmet.censoring.latent.likelihood import CENSORED, FLOOR, UNKNOWN, maximise
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import LEAST_SHARE, PROOF, FittedCandidate, behind
from unmet.censoring.model import RobustnessCheck
from unmet.rows import Rows

# --- any smooth distribution


def any_smooth_distribution(
    data: Observed, fitted: FittedCandidate, harmless: FittedCandidate, folds: NDArray[np.intp]
) -> Array:
    """Compare the likelihood of each row under a candidate with that under any smooth distribution.

    Nothing is hidden in the smooth distribution. Its location and scale are those of the
    candidate's truth, or of the best candidate without censoring. Its shape is the distribution f
    of one of them, bent by a smoothed histogram ĝ of other folds: with normal scores z of the rows
    under f, a row has the density f(s) · ĝ(z) / φ(z) (Hjort and Glad, 1995). Rounding, counts and a
    floor are thus treated alike. The best of several widths and of both distributions is taken.

    Returns
    -------
    ndarray of shape (n_rows,)
        Differences of log-likelihoods; 0 in rows at the floor.
    """
    above, smooth = data.kind != FLOOR, []
    for each in (fitted, harmless):
        base, low, high = (part[above] for part in _truth_of(data, each))
        base = base + data.jacobian(each.model)[above]
        smooth += [base + _smoothed(low, high, folds[above], width) for width in (0.25, 0.5, 1, 2)]
    best = max(smooth, key=lambda each: float(data.weight[above] @ each))
    difference = np.zeros(above.size)
    difference[above] = fitted.rows[above] - best
    return difference


def _truth_of(data: Observed, fitted: FittedCandidate) -> tuple[Array, Array, Array]:
    """Log-density of each row under the truth, and its interval of normal scores."""
    model, problem = fitted.model, data.problem(fitted.model)
    u, location, log_scale = problem.residual(fitted.parameters)
    family, shape = model.family, model.shape(fitted.parameters, log_scale)
    if family.space == "counts":
        count, (mean, size) = problem.point, moments(location, shape)
        logs = [
            np.log(np.maximum(reaches(each, mean, size), 1e-300)) for each in (count, count + 1)
        ]
        return equals(count, mean, size)[0], _scores(logs[0]), _scores(logs[1])
    base = family.density(u, shape)[0] - log_scale
    # rows above a floor: their distribution is that given that they are
    floor, bottom = data.kind == FLOOR, np.zeros(1)
    if floor.any():
        at = (problem.point[floor][0] - location) * np.exp(-log_scale)
        bottom = family.log_survival(np.minimum(at, u), shape)
    half: Numbers = 0.5 * data.lattice / model.unit
    if family.space == "log" and data.lattice:
        half = np.minimum(half * np.exp(-problem.point), 0.7)
    half = half * np.exp(-log_scale)
    log_low = np.minimum(family.log_survival(u - half, shape) - bottom, 0.0)
    log_high = np.minimum(family.log_survival(u + half, shape) - bottom, 0.0)
    return base, _scores(log_low), _scores(log_high)


def _scores(log_survival: Array) -> Array:
    """Turn probabilities of being exceeded into normal scores."""
    near = -special.ndtri(-np.expm1(log_survival))  # where the survival is near 1
    far = special.ndtri_exp(np.minimum(log_survival, -1e-300))
    score = -np.where(log_survival > -0.1, near, far)
    return np.asarray(np.clip(score, -8.0, 8.0))  # all that doubles can tell from 1


def _smoothed(low: Array, high: Array, folds: NDArray[np.intp], width: float) -> Array:
    """Logarithm of ĝ / φ, ĝ a histogram of the other folds convolved with a normal.

    Rows are spread over their interval as a normal distribution would have them, and what is said
    of a row is the mean over its interval: for whole numbers that is a distribution of whole
    numbers. A point is an interval of one cell. What lies beyond eight robust standard deviations
    counts as there.
    """
    left, middle, right = np.quantile(0.5 * (low + high), [0.16, 0.5, 0.84])
    spread, n_cells = max(float(right - left) / 2.0, 1e-9), 2048
    edges = np.linspace(middle - 8.0 * spread, middle + 8.0 * spread, n_cells + 1)
    step = float(edges[1] - edges[0])
    bandwidth = width * 1.06 * spread * low.size**-0.2
    reach = np.arange(-int(4 * bandwidth / step) - 1, int(4 * bandwidth / step) + 2) * step
    kernel = np.exp(-0.5 * (reach / bandwidth) ** 2)
    kernel /= kernel.sum()
    # normal probability of each cell; far ones must not vanish
    normal = np.maximum(np.diff(special.ndtr(edges)), 1e-300)
    narrow = high - low <= 1e-12
    ends = np.where(narrow, low - 0.5 * step, low), np.where(narrow, high + 0.5 * step, high)
    bottom, top = (np.clip((each - edges[0]) / step, 0, n_cells) for each in ends)

    def within(chance: Array, rows: NDArray[np.bool_]) -> Array:
        """Probability between two places on the grid, linear within a cell."""
        below = np.concatenate([[0.0], np.cumsum(chance)])
        grid = np.arange(below.size)
        found = np.interp(top[rows], grid, below) - np.interp(bottom[rows], grid, below)
        return np.asarray(np.maximum(found, 1e-12))

    scores = np.empty(low.size)
    for fold in np.unique(folds):
        outside = folds == fold
        inside = ~outside
        # a row adds 1 / (its own probability) to the density of each cell of its interval, and
        # only a part of that to the first and last
        rate, start, stop = 1.0 / within(normal, inside), bottom[inside], top[inside]
        first, last = (np.minimum(each.astype(np.intp), n_cells - 1) for each in (start, stop))
        change = np.zeros(n_cells + 1)
        np.add.at(change, first, rate)
        np.add.at(change, last, -rate)
        counts = np.cumsum(change[:-1]) * normal
        np.add.at(counts, first, -rate * (start - first) * normal[first])
        np.add.at(counts, last, rate * (stop - last) * normal[last])
        # one row more, anywhere: so that a lone row is not impossible
        counts = np.convolve(np.maximum(counts, 0.0), kernel, mode="same") + 1.0 / n_cells
        chance = counts / counts.sum()
        scores[outside] = np.log(within(chance, outside) / within(normal, outside))
    return scores


def sharper(difference: Array, weight: Array) -> bool:
    """Whether a candidate model clearly beats every smooth distribution.

    It must win by at least 0.02 units of log-likelihood per row, because smoothing itself costs
    some. Orders with a point mass on whole numbers win by more, and scattered orders by less.
    """
    ahead, error = behind(difference, np.zeros(difference.size), weight)
    return ahead > max(PROOF * error, 0.02)


# --- the share, and how surely


def share_range(data: Observed, fitted: Sequence[FittedCandidate]) -> tuple[float, float]:
    """Shares that candidates allow, two standard errors to either side."""
    lows, highs = [], []
    for each in fitted:
        reach = 0.0
        if each.model.policy != "absent":
            outer = data.problem(each.model).information(each.parameters)
            size = np.sqrt(np.maximum(np.diag(outer), 1e-12))
            scaled = outer / size[:, None] / size + 1e-6 * np.eye(size.size)
            slope = each.model.share_slopes(each.parameters) / size
            variance = float(slope @ np.asarray(linalg.solve(scaled, slope, assume_a="pos")))
            reach = 2.0 * float(np.sqrt(max(variance, 0.0)))
        lows.append(each.share - reach)
        highs.append(each.share + reach)
    return max(min(lows), 0.0), min(max(highs), 1.0)


def counted_share(
    data: Observed, fitted: FittedCandidate, left_out: float, at_the_top: float
) -> tuple[float, float]:
    """Range of a share that was counted at orders.

    Of whole numbers some truths end at their order by chance, and hide nothing. How many do is what
    the distribution says of rows at their orders; the distribution is fitted, so half as many again
    may. Rows of which the orders say nothing may be anything.

    Parameters
    ----------
    data : Observed
    fitted : FittedCandidate
    left_out : float
        Share of all rows that were left out, since nothing is known of them.
    at_the_top : float
        Share of rows that tie at the largest observation, though the orders found do not say so.
    """
    n_rows, on, weight = data.n_rows, data.kind == CENSORED, data.weight
    share = float(weight @ on) / n_rows
    unknown = float(weight @ (data.kind == UNKNOWN)) / n_rows
    least, most = share, min(share + unknown + at_the_top, 1.0)
    if data.lattice:
        _, low, high = (part[on] for part in _truth_of(data, fitted))
        equal = 1.0 - special.ndtr(-high) / np.maximum(special.ndtr(-low), 1e-300)
        chance = float(weight[on] @ equal) / n_rows
        spread = float(np.sqrt(weight[on] ** 2 @ (equal * (1.0 - equal)))) / n_rows
        least = max(share - 1.5 * chance - 2.0 * spread, 0.0)
    # rows with nothing in stock have no weight: nor is anything known of them
    counts = (1.0 - left_out) * float((weight > 0).mean())
    return counts * least, counts * most + 1.0 - counts


# --- robustness checks


def robustness_checks(
    data: Observed, chosen: FittedCandidate, harmless: FittedCandidate, sample: Rows
) -> tuple[RobustnessCheck, ...]:
    """Look for the censoring that a shape seems to show in other ways of looking at the rows.

    Parameters
    ----------
    data : Observed
    chosen : FittedCandidate
        Candidate with censoring.
    harmless : FittedCandidate
        Best candidate model without.
    sample : Rows
        Their dates and series; without dates their order.
    """
    series, when = sample.series, np.arange(data.n_rows)
    if sample.time is not None:
        when = np.unique(sample.time, return_inverse=True)[1]
    order, half = np.argsort(when, kind="stable"), data.n_rows // 2
    looks = {
        "the first half of the rows": data.take(np.sort(order[:half])),
        "the second half of the rows": data.take(np.sort(order[half:])),
    }
    if series is not None and 1 < np.unique(series).size <= 50:
        codes = np.unique(series, return_inverse=True)[1]
        dummies = (codes[:, None] == np.arange(1, codes.max() + 1)).astype(np.float64)
        columns = np.column_stack([data.basis, dummies - dummies.mean(axis=0)])
        looks["levels of the series"] = replace(data, basis=columns)
    checks = []
    for name, rows in looks.items():
        again, without = (_fit_again(rows, each) for each in (chosen, harmless))
        extra = again.parameters.size - without.parameters.size
        gains = again.likelihood - without.likelihood > extra + 2.0
        holds = bool(gains and again.share >= LEAST_SHARE)
        checks.append(RobustnessCheck(name, float(again.share), holds))
    return tuple(checks)


def _fit_again(data: Observed, fitted: FittedCandidate) -> FittedCandidate:
    """Fit a candidate model to other rows or with more features, from where it was."""
    old = fitted.model
    model = replace(old, n_location=data.basis.shape[1])
    added = np.zeros(model.n_location - old.n_location)
    start = np.insert(fitted.parameters, np.full(added.size, old.n_location), added)
    parameters, _ = maximise(data.problem(model), start, rounds=3)
    return FittedCandidate.of(data, model, parameters)
