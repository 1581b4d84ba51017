"""Decisions where the data cannot tell: minimax regret, or least expected cost, over candidates.

Several candidates may be left that nothing rules out, and they may ask for different decisions.
If F is the distribution of the truth under one of them, a decision y of a newsvendor with slopes u
and o, and so of level α = u / (u + o), costs more than the best one by its regret

    r(y; F) = E c(y; D) − min over z of E c(z; D) = (u + o) ∫ from y to q_F(α) of (α − F(t)) dt,

which is convex in y and 0 at the quantile q_F(α). `least_regret` minimises the largest regret over
all distributions that are left. Below their largest quantile some distribution asks for more, above
their smallest one some distribution asks for less: the largest regret of those who ask for more
falls in y, that of those who ask for less rises, and the least of the larger one is where both are
equal. That common value is the certificate: if one of the distributions is the true one, no row
loses more against knowing it. `expected` weighs the distributions instead: its decision is the
α-quantile of their mixture.

Which distributions are left: every candidate model that cannot be ruled out, and the chosen family
with other sell-out rates imposed as far as the likelihood allows; none above `MAX_SOLD_OUT`, unless
somebody knows better. Where any distribution is possible but the family allows no rate at all,
rates count with what they hide elsewhere (`SelloutProfile`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from scipy import stats

from unmet.arrays import Array, Features
from unmet.censoring import constants as tuned
from unmet.censoring.latent.diagnose import impose
from unmet.censoring.latent.fitted import (
    FittedModel,
    RepresentativeRows,
    RowQuantiles,
    decisions,
    shifts,
)
from unmet.censoring.latent.observed import RateRange
from unmet.censoring.latent.selection import FittedCandidate
from unmet.censoring.model import RATES, Ambiguity, Choice, mean_cost
from unmet.costs import Cost, PiecewiseLinearCost

WhenUnidentified: TypeAlias = Literal["least_censoring", "minimax_regret", "expected_cost"]
WHEN_UNIDENTIFIED: tuple[WhenUnidentified, ...] = (
    "least_censoring",
    "minimax_regret",
    "expected_cost",
)
Below: TypeAlias = Callable[[Array], Array]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_STEPS = 60
_HALVINGS = 40
_AROUND = 0.01  # levels to either side, for the slope of a quantile function


# --- Which candidates are left.


def left_over(
    fitted_model: FittedModel, rows: RepresentativeRows, rates: RateRange | None
) -> tuple[list[FittedCandidate], Array]:
    """Every candidate model that cannot be ruled out, the chosen one first, and their weights.

    Weights are prior times likelihood, and sum to one. Between families the difference of held-out
    log-likelihoods counts as normal with its standard error, so that a family z of them behind
    weighs exp(−z²/2); between rates of the chosen family the profile likelihood counts as it is.
    Each other family is taken to be as vague about its rate as the chosen one.

    Parameters
    ----------
    fitted_model : FittedModel
    rows : RepresentativeRows
    rates : RateRange or None
        Sell-out rates that somebody knows to be possible; None where nobody does.
    """
    chosen, given = fitted_model.chosen, rates is not None
    lowest, highest = (0.0, tuned.MAX_SOLD_OUT) if rates is None else (rates.low, rates.high)
    usual = {each for each in RATES if lowest <= each <= highest and lowest < highest}
    ends = {lowest, highest} - usual if given and lowest < highest else set()
    asked = sorted((usual | ends) - {chosen.share})
    profile = [
        impose(fitted_model, each, alone=each in ends, by_shape=True, unfinished=not given)[0]
        for each in asked
    ]
    best = max([chosen.likelihood, *(each.likelihood for each in profile)])
    fall = [best - each.likelihood for each in profile]
    step = RATES[1] - RATES[0]
    width = max(step, step * float(np.exp(-np.array(fall)).sum()))
    # of each candidate model: what it is, its log-likelihood, and how wide a range of rates it is
    # for
    found = [(chosen, _log_evidence(chosen), width)]
    others = [each for each in fitted_model.ranked if each.open and each is not chosen]
    found += [
        (each, _log_evidence(each), width)
        for each in others
        if given or each.share <= highest + tuned.SAME_SHARE
    ]
    for fitted, less in zip(profile, fall, strict=True):
        # who says that a rate is possible knows more than the likelihood
        if given or (less <= tuned.RATE_LEFT and _within_sight(fitted_model, fitted, rows)):
            found.append((fitted, found[0][1] - less, step))
    little = all(each.share < tuned.LITTLE_SOLD_OUT for each, *_ in found)
    worse = best == chosen.likelihood
    # this family is ruled out with any sizeable rate and fits best with none, but no rate is
    if fitted_model.any_distribution and (len(found) == 1 or (little and worse)):
        found += [(impose(fitted_model, rate)[0], found[0][1], step) for rate in asked]
    weight = _weights(*np.array([(log, wide, each.share) for each, log, wide in found]).T)
    return [each for each, *_ in found], weight


def _log_evidence(ranked: FittedCandidate) -> float:
    error = ranked.standard_error
    return -0.5 * (ranked.behind / error) ** 2 if error > 0 else 0.0


def _within_sight(
    fitted_model: FittedModel, fitted: FittedCandidate, rows: RepresentativeRows
) -> bool:
    """Whether the truth stays within sight of the observations, as candidates must.

    Asked of the representative rows, which a saved rule has, too.
    """
    features = rows.sample.features
    high = RowQuantiles(fitted_model, fitted, features).truth(0.9)
    basis = fitted_model.location_basis.basis(features)
    low, top = (fitted_model.observed_quantiles.quantile(basis, level) for level in (0.02, 0.98))
    furthest = float(top.max()) + tuned.FURTHEST_SPREADS * float(top.max() - low.min())
    return bool(np.isfinite(high).all() and float(np.quantile(high, 0.99)) <= furthest)


def _weights(log_evidence: Array, width: Array, rate: Array) -> Array:
    """Prior times likelihood: a lump at no censoring, a Beta distribution of the rate above it."""
    density = stats.beta(*tuned.PRIOR_RATE).pdf(rate)
    beyond = (1.0 - tuned.PRIOR_NOTHING) * np.minimum(width * density, 1.0)
    prior = np.where(rate == 0.0, tuned.PRIOR_NOTHING, beyond)
    weight = prior * np.exp(log_evidence - log_evidence.max())
    return np.asarray(weight / weight.sum())


# --- Decisions under several distributions, of plain arrays.


def regrets(below: Below, best: Array, decision: Array, slopes: tuple[Array, Array]) -> Array:
    """Regret of each row's decision under each distribution, of shape (n_distributions, n_rows).

    Parameters
    ----------
    below : callable
        Probabilities that the truth is at most each of some values, of shape (n_distributions,
        n_rows).
    best : ndarray of shape (n_distributions, n_rows)
        Quantiles at the level of the costs.
    decision : ndarray of shape (n_rows,)
    slopes : tuple of two ndarrays of shape (n_rows,)
        Cost per unit below and above the truth.
    """
    total = slopes[0] + slopes[1]
    level, half = slopes[0] / total, 0.5 * (best - decision)
    middle, area = 0.5 * (best + decision), np.zeros_like(best)
    for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
        area += weight * (level - below(middle + half * node))
    # the quantile of whole numbers is not where a smooth distribution reaches the level
    return np.asarray(np.maximum(total * half * area, 0.0))


def least_regret(below: Below, best: Array, slopes: tuple[Array, Array]) -> tuple[Array, Array]:
    """Decision of each row whose largest regret over all distributions is least, and that regret.

    Safeguarded Newton steps on the difference of two largest regrets: of the distributions that ask
    for less than y, which rises in y, and of those that ask for more, which falls.
    """
    low, high = best.min(axis=0), best.max(axis=0)
    total = slopes[0] + slopes[1]
    level, tolerance = slopes[0] / total, 1e-10 * total * (high - low)
    decision, columns = 0.5 * (low + high), np.arange(best.shape[1])
    for _ in range(_STEPS):
        regret = regrets(below, best, decision, slopes)
        more = best > decision
        less_at = np.where(more, -1.0, regret).argmax(axis=0)
        more_at = np.where(more, regret, -1.0).argmax(axis=0)
        none_less, none_more = more.all(axis=0), ~more.any(axis=0)
        largest_less = np.where(none_less, 0.0, regret[less_at, columns])
        largest_more = np.where(none_more, 0.0, regret[more_at, columns])
        gap = largest_less - largest_more
        narrow = high - low <= 4.0 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
        if ((np.abs(gap) <= tolerance) | narrow).all():  # or float64 tells no decisions between
            break
        low, high = np.where(gap < 0, decision, low), np.where(gap > 0, decision, high)
        reached = below(np.broadcast_to(decision, best.shape))
        steep = np.where(none_less, level, reached[less_at, columns]) - np.where(
            none_more, level, reached[more_at, columns]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = decision - gap / (total * steep)
        inside = np.isfinite(newton) & (newton > low) & (newton < high)
        decision = np.where(
            np.abs(gap) <= tolerance, decision, np.where(inside, newton, 0.5 * (low + high))
        )
    return decision, regrets(below, best, decision, slopes).max(axis=0)


def mixture_quantile(below: Below, best: Array, weight: Array, level: Array) -> Array:
    """Quantile of a mixture of distributions, whose own quantiles at that level are `best`."""
    low, high = best.min(axis=0), best.max(axis=0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        short = weight @ below(np.broadcast_to(middle, best.shape)) < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(0.5 * (low + high))


# --- Decisions of rows.


class RowRegrets:
    """What decisions of some rows lose under each candidate model that is left.

    Parameters
    ----------
    fitted_model : FittedModel
    left : list of FittedCandidate
    weight : ndarray of shape (n_distributions,)
        As `left_over` gives both.
    features : array or sparse matrix of shape (n_rows, n_features)
    cost : Cost
    n_learned : int
        Rows that were learned from.
    anchored : bool
        Whether each distribution is moved so that its best decision is that of the observations
        plus its ε (`shifts`): what bands are made of. Otherwise distributions count as they are.

    Attributes
    ----------
    best : ndarray of shape (n_distributions, n_rows)
        Best decision of each row under each candidate model.
    seen : ndarray of shape (n_rows,)
        Best decision for the observation.
    """

    def __init__(
        self,
        fitted_model: FittedModel,
        left: Sequence[FittedCandidate],
        weight: Array,
        features: Features,
        cost: Cost,
        n_learned: int,
        *,
        anchored: bool,
    ) -> None:
        self._cost, self._n_learned = cost, n_learned
        basis = fitted_model.location_basis.basis(features)
        self._leverage = (basis**2).sum(axis=1) / n_learned  # columns are orthogonal
        self._weight = weight
        self._distributions = [RowQuantiles(fitted_model, each, features) for each in left]
        both = [decisions(fitted_model, each, features, cost) for each in left]
        own, self.seen = np.stack([each for each, _ in both]), both[0][1]
        self._moved = np.zeros_like(own)
        if anchored:
            hidden = [shifts(fitted_model, each, features, cost) for each in left]
            self._moved = self.seen + np.stack(hidden) - own
        self.best = own + self._moved
        self._slopes: tuple[Array, Array] | None = None
        self._nodes: list[Array] = []
        if isinstance(cost, PiecewiseLinearCost):
            self._slopes = cost.slopes.rows(features.shape[0])
        else:
            pairs = zip(self._distributions, self._moved, strict=True)
            self._nodes = [distribution.nodes() + moved for distribution, moved in pairs]
            evaluated = zip(self.best, self._nodes, strict=True)
            self._least = np.stack([mean_cost(cost, each, nodes) for each, nodes in evaluated])

    def below(self, points: Array) -> Array:
        """Probability that each truth is at most a value, of shape (n_distributions, n_rows)."""
        pairs = zip(self._distributions, points - self._moved, strict=True)
        return np.stack([distribution.below(values) for distribution, values in pairs])

    def regret(self, decision: Array) -> Array:
        """Regret of each decision under each candidate model, (n_distributions, n_rows)."""
        if self._slopes is not None:
            return regrets(self.below, self.best, decision, self._slopes)
        return np.asarray(np.maximum(self._expected(decision) - self._least, 0.0))

    def certificate(self, decision: Array) -> Array:
        """Largest regret of each row's decision, with a margin for estimated distributions.

        All distributions may lie off together by two standard errors of a quantile of as many rows.
        What features add to that differs by row and averages out, but for the curvature of the
        regret: with leverage h it costs (u + o) α (1 − α) h / (2 f) on average, f being the density
        there.
        """
        level: Array | float = 0.5
        if isinstance(self._cost, PiecewiseLinearCost):
            level = np.clip(self._cost.level, 2 * _AROUND, 1.0 - 2 * _AROUND)
        chosen = self._distributions[0]
        slope = (chosen.truth(level + _AROUND) - chosen.truth(level - _AROUND)) / (2 * _AROUND)
        off = tuned.SURE_ERRORS * np.sqrt(level * (1.0 - level) / self._n_learned) * slope
        largest = np.maximum(self.regret(decision - off), self.regret(decision + off)).max(axis=0)
        if self._slopes is not None:
            total = self._slopes[0] + self._slopes[1]
            largest += 0.5 * total * level * (1.0 - level) * self._leverage * slope
        return np.asarray(largest)

    def decide(self, when_unidentified: WhenUnidentified) -> Array:
        """Decision of each row."""
        if when_unidentified == "least_censoring" or len(self._distributions) == 1:
            return np.asarray(self.best[0])
        if self._slopes is not None and when_unidentified == "minimax_regret":
            return least_regret(self.below, self.best, self._slopes)[0]
        if self._slopes is not None:
            level = self._slopes[0] / (self._slopes[0] + self._slopes[1])
            return mixture_quantile(self.below, self.best, self._weight, level)
        low, high = self.best.min(axis=0), self.best.max(axis=0)
        for _ in range(2):  # among a few decisions, then among as many around the best of them
            tried = np.linspace(low, high, tuned.DECISIONS_TRIED)
            if when_unidentified == "minimax_regret":
                evaluated = np.stack([self.regret(each).max(axis=0) for each in tried])
            else:
                evaluated = np.stack([self._weight @ self._expected(each) for each in tried])
            at = evaluated.argmin(axis=0)
            around = np.stack([np.maximum(at - 1, 0), at, np.minimum(at + 1, len(tried) - 1)])
            low, decision, high = np.take_along_axis(tried, around, axis=0)
        return np.asarray(decision)

    def _expected(self, decision: Array) -> Array:
        """Evaluate each row's decision under each candidate model."""
        return np.stack([mean_cost(self._cost, decision, nodes) for nodes in self._nodes])


def compare_choices(
    fitted_model: FittedModel,
    rows: RepresentativeRows,
    rates: RateRange | None,
    followed: WhenUnidentified,
) -> Ambiguity:
    """Give what each way to decide would decide on average, and what it may lose."""
    left, weight = left_over(fitted_model, rows, rates)
    sample = rows.sample
    found = RowRegrets(
        fitted_model, left, weight, sample.features, sample.cost, rows.n_rows, anchored=True
    )
    shares, choices = [each.share for each in left], {}
    for when_unidentified in WHEN_UNIDENTIFIED:
        decision = found.decide(when_unidentified)
        lost = [rows.mean(each) for each in found.regret(decision)]
        choices[when_unidentified] = Choice(
            decision=rows.mean(decision),
            worst=rows.mean(found.certificate(decision)),
            worst_rate=shares[int(np.argmax(lost))],
        )
    ends = rows.mean(found.best.min(axis=0)), rows.mean(found.best.max(axis=0))
    return Ambiguity(followed, ends, (min(shares), max(shares)), **choices)
