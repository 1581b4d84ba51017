"""Decisions if the data cannot tell: minimax regret, or least expected cost, over candidates.

Several candidates may be left that the data do not rule out, and they may need different decisions.

The least expected cost uses the prior of sell-out rates and the skewness of the observations
(`SelloutProfile`). The likelihood of a shape is too weak to weigh rates.

For the minimax regret, let F be the distribution of the truth under one candidate. A decision y of
a newsvendor with slopes u and o, and so of level α = u / (u + o), costs more than the best one by
its regret

    r(y; F) = E c(y; D) − min over z of E c(z; D) = (u + o) ∫ from y to q_F(α) of (α − F(t)) dt,

which is convex in y and 0 at the quantile q_F(α). `least_regret` minimises the largest regret over
all distributions that are left. Some distributions need a decision above y and others one below y.
The largest regret of the first falls in y, and that of the others rises. The larger of both is
least where they are equal. That common value is the certificate: if one of the distributions is
true, no row loses more compared with knowing it.

The distributions that are left are every candidate that cannot be ruled out, and the chosen family
with other sell-out rates, as far as the likelihood allows; none above `MAX_SOLD_OUT`, unless you
gave other rates. If any distribution is possible but the family allows no rate at all, the hidden
amounts of a rate follow from proportional hazards (`SelloutProfile.exactly`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from unmet.arrays import Array, Features
from unmet.censoring.latent.likelihood import FLOOR, UNKNOWN
from unmet.censoring.latent.model import FittedModel
from unmet.censoring.latent.selection import FittedCandidate, run
from unmet.censoring.latent.sellout import ANY_RATE, RateRange, SelloutProfile
from unmet.censoring.model import (
    MAX_SOLD_OUT,
    RATES,
    Ambiguity,
    Choice,
    Identified,
    equally_likely,
    mean_cost,
)
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost, SquaredError, TieredCost
from unmet.rows import Rows

WhenUnidentified: TypeAlias = Literal["least_censoring", "minimax_regret", "expected_cost"]
WHEN_UNIDENTIFIED: tuple[WhenUnidentified, ...] = (
    "least_censoring",
    "minimax_regret",
    "expected_cost",
)
Below: TypeAlias = Callable[[Array], Array]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_AROUND = 0.01  # levels to either side, for the slope of a quantile function


# --- The chosen family with other sell-out rates.


def at_rate(model: FittedModel, rate: float, *, by_shape: bool = False) -> FittedCandidate:
    """Give the chosen family with a sell-out rate imposed; each rate is fitted once.

    Parameters
    ----------
    model : FittedModel
    rate : float
    by_shape : bool, default=False
        Ask what orders of the rate fit the shape of the observations even where any distribution is
        possible. Otherwise what a rate hides then follows from proportional hazards
        (`SelloutProfile.exactly`).
    """
    chosen = model.chosen
    if model.data.known:  # counted: as likely as that count under the rate, hidden in proportion
        share, rates = chosen.share, np.clip([rate, 1.0 - rate], 1e-12, 1.0)
        fall = float(np.sum(special.rel_entr([share, 1.0 - share], rates)))
        return replace(chosen, share=rate, likelihood=chosen.likelihood - model.n_rows * fall)
    if model.members:
        return replace(chosen, share=rate, rate=RateRange(rate, rate) if rate else None)
    if model.any_distribution and not by_shape:
        return replace(chosen, share=rate)
    if rate not in model.imposed and model.data.n_rows:
        model.imposed[rate] = _fit_at_rate(model, rate)
    if rate in model.imposed:
        return model.imposed[rate]
    # without the training rows: between the parameters of two rates that were fitted
    known = sorted(each for each in model.imposed if each > 0.0)
    place = min(max(int(np.searchsorted(known, rate)), 1), len(known) - 1)
    low, high = model.imposed[known[place - 1]], model.imposed[known[place]]
    part = (rate - low.share) / (high.share - low.share)
    return replace(
        low,
        share=rate,
        parameters=low.parameters + part * (high.parameters - low.parameters),
        likelihood=low.likelihood + part * (high.likelihood - low.likelihood),
    )


def _fit_at_rate(model: FittedModel, rate: float) -> FittedCandidate:
    """Fit the chosen family with noisy orders at a rate, from the nearest rate that was fitted.

    Of many rows 10,000 say enough.
    """
    chosen, data = model.chosen, model.data.few(10_000) or model.data
    kind = np.where(data.kind == FLOOR, FLOOR, UNKNOWN)
    data = replace(data, kind=kind, known=False, rate=rate or None)
    latent = replace(chosen.model, policy="noisy" if rate else "absent")
    near = [each for each in model.imposed.values() if each.model == latent]
    if near:
        starts = [min(near, key=lambda each: abs(each.share - rate)).parameters]
    elif chosen.model == latent:
        starts = [chosen.parameters]
    elif chosen.model.policy == "absent":  # the distribution that was found, with orders around it
        starts = [np.append(chosen.parameters, [0.0, np.log(0.5)])]
    else:
        starts = None
    fitted = replace(run(data, latent, starts, rounds=6), share=rate)
    # of a part of the rows, what all of them would say
    own = FittedCandidate.of(replace(data, rate=None), chosen.model, chosen.parameters)
    less = (own.likelihood - fitted.likelihood) * model.data.n_rows / data.n_rows
    return replace(fitted, likelihood=chosen.likelihood - less)


def more_than_one(model: FittedModel, identified: Identified | None) -> bool:
    """Whether more than the chosen model counts, by a verdict on the data."""
    if model.data.known:
        return False
    range_given = model.rate is not None and model.rate.low < model.rate.high
    return range_given or identified != "yes"


# --- Which candidates are left.


def of_least_cost(model: FittedModel, cost: Cost) -> FittedCandidate:
    """Give the distribution whose quantiles cost least on average over all sell-out rates.

    Where the data show that something is hidden, that is the chosen one; so it is for prices and
    ages, since there is no prior of offers and of planned replacements.
    """
    orders = isinstance(cost, Newsvendor | TieredCost | SquaredError)
    if model.members or model.data.known or model.chosen.share > 0.0 or not orders:
        return model.chosen
    profile = SelloutProfile(ANY_RATE, model.skewness)
    return replace(model.chosen, share=profile.mean, rate=ANY_RATE)


def left_over(model: FittedModel) -> list[FittedCandidate]:
    """Every candidate model that cannot be ruled out, the chosen one first."""
    chosen, given = model.chosen, model.rate is not None
    lowest, highest = (0.0, MAX_SOLD_OUT) if model.rate is None else model.rate
    usual = {each for each in RATES if lowest <= each <= highest and lowest < highest}
    ends = {lowest, highest} - usual if given and lowest < highest else set()
    asked = sorted((usual | ends) - {chosen.share})
    profile = [at_rate(model, each, by_shape=True) for each in asked]
    best = max([chosen.likelihood, *(each.likelihood for each in profile)])
    found = [chosen]
    found += [
        each
        for each in model.ranked
        if each.open and each.model != chosen.model and (given or each.share <= highest + 0.02)
    ]
    for fitted in profile:
        # Who says that a rate is possible knows more than the likelihood. That of a true
        # distribution falls behind by L with a standard deviation of √(2L), so two of these are 8;
        # with 1.92, the interval of the share, certificates broke where orders followed history.
        if given or (best - fitted.likelihood <= 8.0 and _within_sight(model, fitted)):
            found.append(fitted)
    little = all(each.share < 0.1 for each in found)
    # this family is ruled out with any sizeable rate and fits best with none, but no rate is
    if model.any_distribution and (len(found) == 1 or (little and best == chosen.likelihood)):
        found += [at_rate(model, rate) for rate in asked]
    return found


def _within_sight(model: FittedModel, fitted: FittedCandidate) -> bool:
    """Whether the truth stays within sight of the observations, as candidates must."""
    own = model.at(fitted, model.rows.features)
    high = own.truth(0.9)
    low, top = (model.linear_quantile(own.basis, level) for level in (0.02, 0.98))
    furthest = float(top.max()) + 5.0 * float(top.max() - low.min())
    return bool(np.isfinite(high).all() and float(np.quantile(high, 0.99)) <= furthest)


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
    """Find the decision of each row whose largest regret over all distributions is least.

    The method takes safeguarded Newton steps on the difference of two largest regrets: of
    distributions that need less than y, which rises in y, and of those that need more, which falls.
    It also returns the regret.
    """
    low, high = best.min(axis=0), best.max(axis=0)
    total = slopes[0] + slopes[1]
    level, tolerance = slopes[0] / total, 1e-10 * total * (high - low)
    decision, columns = 0.5 * (low + high), np.arange(best.shape[1])
    for _ in range(60):
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


# --- Decisions of rows.


class RowRegrets:
    """What decisions of some rows lose under each candidate model that is left.

    Parameters
    ----------
    model : FittedModel
    left : list of FittedCandidate
        As `left_over` gives them.
    features : array or sparse matrix of shape (n_rows, n_features)
    cost : Cost
    anchored : bool
        Whether each distribution is moved so that its best decision is that of the observations
        plus its ε: what bands are made of. Otherwise distributions count as they are.

    Attributes
    ----------
    best : ndarray of shape (n_distributions, n_rows)
        Best decision of each row under each candidate model.
    seen : ndarray of shape (n_rows,)
        Best decision for the observation.
    """

    def __init__(
        self,
        model: FittedModel,
        left: list[FittedCandidate],
        features: Features,
        cost: Cost,
        *,
        anchored: bool,
    ) -> None:
        self._cost, self._n_learned = cost, model.n_rows
        self._distributions = [model.at(each, features) for each in left]
        basis = self._distributions[0].basis
        self._leverage = (basis**2).sum(axis=1) / model.n_rows  # columns are orthogonal
        both = [model.decisions(each, features, cost) for each in left]
        own, self.seen = np.stack([each for each, _ in both]), both[0][1]
        self._moved = np.zeros_like(own)
        if anchored:
            hidden = [model.shifts(each, features, cost) for each in left]
            self._moved = self.seen + np.stack(hidden) - own
        self.best = own + self._moved
        self._slopes: tuple[Array, Array] | None = None
        self._nodes: list[Array] = []
        if isinstance(cost, PiecewiseLinearCost):
            self._slopes = cost.slopes.rows(features.shape[0])
        else:
            pairs = zip(self._distributions, self._moved, strict=True)
            self._nodes = [equally_likely(each.truth) + moved for each, moved in pairs]
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
        off = 2.0 * np.sqrt(level * (1.0 - level) / self._n_learned) * slope
        largest = np.maximum(self.regret(decision - off), self.regret(decision + off)).max(axis=0)
        if self._slopes is not None:
            total = self._slopes[0] + self._slopes[1]
            largest += 0.5 * total * level * (1.0 - level) * self._leverage * slope
        return np.asarray(largest)

    def decide(self) -> Array:
        """Decision of each row whose largest regret is least."""
        if len(self._distributions) == 1:
            return np.asarray(self.best[0])
        if self._slopes is not None:
            return least_regret(self.below, self.best, self._slopes)[0]
        low, high = self.best.min(axis=0), self.best.max(axis=0)
        for _ in range(2):  # among a few decisions, then among as many around the best of them
            tried = np.linspace(low, high, 17)
            evaluated = np.stack([self.regret(each).max(axis=0) for each in tried])
            at = evaluated.argmin(axis=0)
            around = np.stack([np.maximum(at - 1, 0), at, np.minimum(at + 1, len(tried) - 1)])
            low, decision, high = np.take_along_axis(tried, around, axis=0)
        return np.asarray(decision)

    def _expected(self, decision: Array) -> Array:
        """Evaluate each row's decision under each candidate model."""
        return np.stack([mean_cost(self._cost, decision, nodes) for nodes in self._nodes])


def compare_choices(model: FittedModel, rows: Rows, followed: WhenUnidentified) -> Ambiguity:
    """Give what each way to decide would decide on average, and what it may lose."""
    left = left_over(model)
    found = RowRegrets(model, left, rows.features, rows.cost, anchored=True)
    shares, choices = [each.share for each in left], {}
    expected = of_least_cost(model, rows.cost)
    decisions = {
        "expected_cost": found.seen + model.shifts(expected, rows.features, rows.cost),
        "least_censoring": found.best[0],
        "minimax_regret": found.decide(),
    }
    for when, decision in decisions.items():
        lost = [model.mean(each) for each in found.regret(decision)]
        choices[when] = Choice(
            decision=model.mean(decision),
            worst=model.mean(found.certificate(decision)),
            worst_rate=shares[int(np.argmax(lost))],
        )
    ends = model.mean(found.best.min(axis=0)), model.mean(found.best.max(axis=0))
    return Ambiguity(followed, ends, (min(shares), max(shares)), **choices)
