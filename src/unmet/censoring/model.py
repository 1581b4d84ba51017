"""The contract of a censoring model, and the diagnosis of censoring.

`CensoringModel` describes what the truth of a row may have been. `LatentBand` and `fit_censoring`
fit a model to the rows of one problem. `PanelDistribution` holds one model for each group of a
panel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from unmet.arrays import Array, Numbers
from unmet.costs import (
    AgeReplacement,
    Cost,
    PiecewiseLinearCost,
    PreventiveReplacement,
    SquaredError,
)
from unmet.rows import Rows
from unmet.solvers.descent.jumps import LEVELS, best_ages

if TYPE_CHECKING:
    from unmet.charts import Chart


Identified: TypeAlias = Literal["yes", "weakly", "no"]
Curve: TypeAlias = tuple[float, ...]

RATES = tuple(step / 20 for step in range(15))
"""Sell-out rates from 0 to .7 that are tried beside the share that was found."""
MAX_SOLD_OUT = 0.6
"""Largest sell-out rate that is believed where nobody gives one. What the data cannot tell is then
covered up to it; a larger one is dearer where nothing was hidden (never-censored gamma at α = .95:
10% of the best cost with .5, 20% with .6), a smaller one leaves certificates at 50% tight."""
_HALF_CHI_SQUARE = 1.92  # half the .95-quantile of chi-square with one degree of freedom


@dataclass(frozen=True)
class Candidate:
    """One way in which the observations may have come about.

    Attributes
    ----------
    truth : str
        Family of the truth, such as "normal" or "gamma".
    scale : str
        How the scale of the truth varies: "constant", "level" (with its level) or "features".
    location : str
        How the truth moves with the features: "additive", "multiplicative", or "orders" (with
        orders that are known).
    orders : str
        How orders were placed: "absent" (they never bind), "noisy" (around a level that moves with
        the features), "mixture" (as "noisy", but sometimes without limit), "at_mass" (exactly at
        such a level), "known" (flags or stock tell), "rate" (only the sell-out rate is known), or
        "limits" (the limits of each truth are known).
    share_censored : float
        Share of rows whose truth lies above the observation.
    score : float
        Log-likelihood per row on held-out rows, in the units of the observation. Larger is better.
    behind : float
        Difference between the best candidate's score and this one; 0 for the best.
    standard_error : float
        Standard error of `behind`.
    ties : bool
        Whether the score is within one standard error of the best, so the data cannot tell them
        apart.
    shift : float
        Mean ε of the training rows under this candidate, for the given cost.
    uncensored_possible : bool
        Whether the data cannot rule out that no row of this family is censored.

    Examples
    --------
    >>> from unmet import LatentBand, Newsvendor
    >>> rule = LatentBand(families="normal", orders="absent", random_state=0)
    >>> rule = rule.fit(Newsvendor(3, 1), [[0.0]] * 40, list(range(40)))
    >>> chosen = rule.diagnosis_.chosen
    >>> chosen.truth, chosen.orders, chosen.share_censored
    ('normal', 'absent', 0.0)
    """

    truth: str
    scale: str
    orders: str
    share_censored: float
    score: float
    behind: float
    standard_error: float
    ties: bool
    shift: float
    location: str = "additive"
    uncensored_possible: bool = False
    """Whether it has no censoring and that could not be disproved (three standard errors)."""


@dataclass(frozen=True)
class RobustnessCheck:
    """A second look at the rows, which should find the censoring again.

    Attributes
    ----------
    name : str
        What was checked.
    share : float
        Share of censored rows that the check found.
    holds : bool
        Whether a censored distribution explains the rows of the check better than an uncensored
        one.
    """

    name: str
    share: float
    holds: bool


@dataclass(frozen=True)
class QuantilePlot:
    """Quantiles of a typical row, which lie on a straight line unless censoring bends them.

    Attributes
    ----------
    levels : tuple of float
        Levels of the quantiles, between 0 and 1.
    straight : tuple of float
        Quantiles of the standardised family. Plotted against them, the truth is a straight line.
    observed : tuple of float
        Quantiles of the observations, each relative to the location and scale of its row.
    modelled, latent : tuple of float
        Quantiles of the fitted observation and of the fitted truth.

    Examples
    --------
    >>> from unmet import LatentBand, Newsvendor
    >>> rule = LatentBand(families="normal", orders="absent", random_state=0)
    >>> rule = rule.fit(Newsvendor(3, 1), [[0.0]] * 40, list(range(40)))
    >>> plot = rule.diagnosis_.quantiles
    >>> len(plot.levels) == len(plot.observed) == len(plot.latent)
    True
    """

    levels: Curve
    straight: Curve
    observed: Curve
    modelled: Curve
    latent: Curve


@dataclass(frozen=True)
class Sensitivity:
    """Decisions and their costs for a range of assumed sell-out rates.

    Attributes
    ----------
    rate : tuple of float
        Assumed share of censored rows.
    decision : tuple of float
        Mean decision at that rate.
    cost : tuple of float
        Mean cost of these decisions per row, if the chosen model is true.
    fit : tuple of float
        Log-likelihood of all rows, relative to that of the best rate; 0 for the best.

    Examples
    --------
    >>> from unmet import LatentBand, Newsvendor
    >>> rule = LatentBand(families="normal", random_state=0)
    >>> rule = rule.fit(Newsvendor(3, 1), [[0.0]] * 40, list(range(40)))
    >>> curve = rule.diagnosis_.sensitivity
    >>> curve.decision[0] < curve.decision[-1]  # more stock-outs, larger decisions
    True
    """

    rate: Curve
    decision: Curve
    cost: Curve
    fit: Curve


Profile: TypeAlias = Callable[[Sequence[float]], Sensitivity]


@dataclass(frozen=True)
class Choice:
    """One decision where the data leave several candidates.

    Attributes
    ----------
    decision : float
        Mean decision.
    worst : float
        Regret bound: the largest extra cost per row, compared with knowing the distribution of the
        truth, over all candidates.
    worst_rate : float
        Share of censored rows under the candidate where the extra cost is largest.

    Examples
    --------
    >>> from unmet.censoring.model import Choice
    >>> Choice(decision=25.0, worst=1.2, worst_rate=0.6).worst
    1.2
    """

    decision: float
    worst: float
    worst_rate: float


@dataclass(frozen=True)
class Ambiguity:
    """Decisions, and what they may cost, where the data cannot tell candidates apart.

    Attributes
    ----------
    followed : {"least_censoring", "minimax_regret", "expected_cost"}
        Which decision the band follows: `when_unidentified` of the rule.
    decision_range : tuple of two floats
        Mean of the smallest and of the largest best decision over all candidates that are left,
        including other sell-out rates.
    rates : tuple of two floats
        Shares of censored rows under these two.
    least_censoring, minimax_regret, expected_cost : Choice
        Decision for the least censoring, of minimax regret, and of least expected cost.

    Examples
    --------
    Sales alone do not say whether they are censored:

    >>> import numpy as np
    >>> from unmet import LatentBand, Newsvendor
    >>> sales = np.random.default_rng(0).normal(20, 4, 100)
    >>> rule = LatentBand(families=["normal", "gumbel"], random_state=0)
    >>> rule = rule.fit(Newsvendor(3, 1), np.zeros((100, 1)), sales)
    >>> ambiguity = rule.diagnosis_.ambiguity
    >>> ambiguity.least_censoring.decision < ambiguity.minimax_regret.decision
    True
    """

    followed: str
    decision_range: tuple[float, float]
    rates: tuple[float, float]
    least_censoring: Choice
    minimax_regret: Choice
    expected_cost: Choice


Choices: TypeAlias = Callable[[], Ambiguity]
"""Compares the ways to decide."""


@dataclass(frozen=True)
class Diagnosis:
    """Result of a band rule: how much the observations hide, and how certain that is.

    Attributes
    ----------
    rule : str
        Name of the rule.
    n_rows : int
        Number of training rows.
    share_censored : float or None
        Share of rows whose truth lies above the observation. None if the rule does not estimate it.
    identified : {"yes", "weakly", "no"} or None
        Whether the data determine the censoring: "no" if they do not even show whether anything is
        hidden, "weakly" if they do not show how much. None if the rule does not ask.
    shift : float or None
        Mean ε of the rows, for the given cost.
    shift_range : tuple of two floats, or None
        Smallest and largest `shift` over all candidates that cannot be ruled out: those within two
        standard errors of the best, or three for a candidate without censoring. Where the data
        cannot tell, the range also covers the shares of `share_range` up to 60%; it has no upper
        end beyond.
    decision : float or None
        Mean decision under the chosen model.
    stake : float or None
        Extra cost per row of ignoring the censoring, if the chosen model is true.
    stake_range : tuple of two floats, or None
        Smallest and largest `stake` over all candidates that cannot be ruled out.
    candidates : tuple of Candidate
        The chosen candidate, then the others, best first.
    quantiles : QuantilePlot or None
        Data of the quantile plot.
    notes : tuple of str
        Further findings, one sentence each.
    share_is_seen : bool
        Whether flags, stock or limits show which rows are censored, so `share_censored` is a count.
    share_range : tuple of two floats, or None
        Shares of censored rows that cannot be ruled out, over all candidates and robustness checks.
        None if the share was given, or if the rule does not ask.
    share_given : tuple of two floats, or None
        Lowest and highest sell-out rate that you gave. None if the share follows from data, flags
        or stock.
    share_assumed : tuple of two floats, or None
        Shares of censored rows that decisions assume where the data cannot tell: the interval that
        holds 80% of the prior.
    robustness_checks : tuple of RobustnessCheck
        Further looks at the rows, if the shape of the distribution suggests censoring.
    profile : Profile, Sensitivity or None
        Computes `sensitivity`, or the saved curve.
    choices : Choices, Ambiguity or None
        Computes `ambiguity`, or the saved result.

    Examples
    --------
    >>> from unmet import LatentBand, LinearDecision, Newsvendor
    >>> from unmet.simulate import store10
    >>> train = store10(seed=0).train
    >>> model = LinearDecision(Newsvendor(3, 1), band=LatentBand(random_state=0))
    >>> diagnosis = model.fit(train.features, train.sales).diagnosis_
    >>> diagnosis.identified, round(diagnosis.share_censored, 1)
    ('yes', 0.5)
    """

    rule: str
    n_rows: int
    share_censored: float | None = None
    identified: Identified | None = None
    shift: float | None = None
    shift_range: tuple[float, float] | None = None
    decision: float | None = None
    stake: float | None = None
    stake_range: tuple[float, float] | None = None
    candidates: tuple[Candidate, ...] = ()
    quantiles: QuantilePlot | None = None
    notes: tuple[str, ...] = ()
    share_is_seen: bool = False
    """Whether the share was counted (flags, stock, a point mass) rather than estimated."""
    share_range: tuple[float, float] | None = None
    share_given: tuple[float, float] | None = None
    share_assumed: tuple[float, float] | None = None
    robustness_checks: tuple[RobustnessCheck, ...] = ()
    profile: Profile | Sensitivity | None = field(default=None, repr=False, compare=False)
    choices: Choices | Ambiguity | None = field(default=None, repr=False, compare=False)

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that the band follows."""
        return self.candidates[0] if self.candidates else None

    @property
    def decision_range(self) -> tuple[float, float] | None:
        """Mean decision of the lowest and of the highest candidate that cannot be ruled out."""
        if self.decision is None or self.shift is None or self.shift_range is None:
            return None
        rest = self.decision - self.shift
        return rest + self.shift_range[0], rest + self.shift_range[1]

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """Decisions for assumed sell-out rates from 0 to .7; computed on first access.

        The estimated share is one of the rates, because the likelihood may have a narrow peak
        there.
        """
        if not callable(self.profile):
            return self.profile
        share = () if self.share_censored is None else (float(self.share_censored),)
        return self.profile(sorted({*RATES, *share}))

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the share of censored rows; computed on first access.

        It equals `share_range` if the rule computed that range. If you gave a sell-out rate, it is
        the profile-likelihood interval of the chosen family, which takes one fit per rate.
        """
        if self.share_censored is None:
            return None
        if self.share_range is not None:
            return self.share_range
        if self.share_is_seen:
            return self.share_censored, self.share_censored
        curve = self.sensitivity
        if curve is None:
            return None
        inside = _crossings(np.array(curve.rate), np.array(curve.fit))
        share = self.share_censored
        return min(inside[0], share), max(inside[1], share)

    @cached_property
    def ambiguity(self) -> Ambiguity | None:
        """Decisions and their costs if another candidate is true; computed on first access.

        None if the data can tell, or if it is known which rows are censored.
        """
        return self.choices() if callable(self.choices) else self.choices

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: curves instead of the objects that compute them."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"profile": self.sensitivity, "choices": self.ambiguity}

    def to_dict(self) -> dict[str, Any]:
        """Give plain numbers and text, for JSON; computes the curves if necessary."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        del plain["profile"], plain["choices"]
        plain["candidates"] = [asdict(each) for each in self.candidates]
        plain["notes"] = list(self.notes)
        plain["robustness_checks"] = [asdict(each) for each in self.robustness_checks]
        plain["interval"] = self.interval
        plain["decision_range"] = self.decision_range
        for name in ("quantiles", "sensitivity", "ambiguity"):
            curve = getattr(self, name)
            plain[name] = None if curve is None else asdict(curve)
        return plain

    def __str__(self) -> str:
        from unmet.censoring.text import describe

        return describe(self)

    def plot(self) -> Chart:
        """Draw the quantile plot and the sensitivity to the sell-out rate.

        Returns
        -------
        Chart
            A notebook displays it. ``save`` writes HTML, SVG or PNG.
        """
        from unmet.censoring.plots import draw

        return draw(self)


def _crossings(rate: Any, fit: Any) -> tuple[float, float]:
    """Where the profile falls by half a chi-square.

    Between rates the square root of the fall is taken as linear, which it is for a parabola.
    """
    root, limit = np.sqrt(np.maximum(fit, 0.0)), np.sqrt(_HALF_CHI_SQUARE)
    inside = np.flatnonzero(root <= limit)
    if not inside.size:
        best = float(rate[np.argmin(fit)])
        return best, best
    first, last = int(inside[0]), int(inside[-1])
    low, high = float(rate[first]), float(rate[last])
    if first > 0:
        low = float(np.interp(-limit, -root[[first - 1, first]], rate[[first - 1, first]]))
    if last + 1 < rate.size:
        high = float(np.interp(limit, root[[last, last + 1]], rate[[last, last + 1]]))
    return low, high


# --- The contract of a censoring model.


class TruthDistribution(Protocol):
    """Distribution of the truth of some rows, given only their features."""

    def truth(self, level: Numbers) -> Array:
        """Give the quantile of each row, at one level or at one level per row."""

    def below(self, value: Array) -> Array:
        """Give the probability that the truth of each row is at most a value."""


class CensoringModel(ABC):
    """Base class of models of the truth of a row, given everything known of the row.

    A subclass defines `distribution`, the distribution of the truth given the features, and
    `_chance_censored`, the probability that a row without further information is censored. The base
    class derives the rest:

    - A row that was seen has its observation as truth.
    - A censored row has the distribution above its observation.
    - A row that is censored with some probability has a mixture of both.
    - A truth between limits has the distribution between them.
    - A row whose observation is NaN, such as a coming day, has the whole distribution.

    The model assumes that truth and order are independent, given the features.

    Attributes
    ----------
    diagnosis_ : Diagnosis
        Result of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.censoring.latent.fit import fit_censoring
    >>> from unmet.rows import Rows
    >>> sales, empty = np.array([4.0, 6, 8, 10, 10, 7, 5, 9]), np.array([0, 0, 0, 1, 1, 0, 0, 0])
    >>> rows = Rows.read(Newsvendor(3, 1), np.zeros((8, 1)), sales, censored=empty)
    >>> model = fit_censoring(rows, families="normal")
    >>> model.probability_censored(rows)
    array([0., 0., 0., 1., 1., 0., 0., 0.])
    >>> bool((model.imputed(rows)[3:5] > 10).all())
    True
    """

    diagnosis_: Diagnosis

    @abstractmethod
    def distribution(self, rows: Rows) -> TruthDistribution:
        """Give the distribution of the truth of rows, given only their features.

        Parameters
        ----------
        rows : Rows
            Rows with the features of the training rows.
        """

    @abstractmethod
    def _chance_censored(self, rows: Rows) -> Array:
        """Probability that rows of which nobody knows are censored, given their observations."""

    def probability_censored(self, rows: Rows) -> Array:
        """Give the probability that the truth of each row lies above its observation.

        Parameters
        ----------
        rows : Rows
            Features, observations, and flags or limits, which the model respects.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities; NaN for a row without an observation.
        """
        seen, chance = ~np.isnan(rows.observation), np.full(rows.n_rows, np.nan)
        if rows.censored is not None:
            chance[seen] = rows.censored[seen]
        ask = np.flatnonzero(seen & np.isnan(chance))
        if ask.size:
            chance[ask] = self._chance_censored(rows.take(ask))
        return chance

    def quantile(self, rows: Rows, level: Numbers) -> Array:
        """Give a quantile of the truth of each row, given everything known of it.

        Parameters
        ----------
        rows : Rows
            Features, observations (NaN where nothing was observed) and flags or limits.
        level : float or ndarray of shape (n_rows,)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
            Quantiles.
        """
        return self._conditional(rows)(np.broadcast_to(level, rows.n_rows))

    def sample(self, rows: Rows, n: int, seed: int, levels: Array | None = None) -> Array:
        """Draw truths of each row, given everything known of it.

        Parameters
        ----------
        rows : Rows
            As in `quantile`.
        n : int
            Number of draws per row.
        seed : int
            Seed of the draws.
        levels : ndarray of shape (n, n_rows), optional
            Levels of the quantiles to draw. None draws one level from each of n equal intervals per
            row.

        Returns
        -------
        ndarray of shape (n, n_rows)
            Draws.
        """
        generator, quantile = np.random.default_rng(seed), self._conditional(rows)
        if levels is None:
            part = np.argsort(generator.random((rows.n_rows, n)), axis=1).T
            levels = (part + generator.uniform(1e-6, 1.0 - 1e-6, part.shape)) / n
        return np.stack([quantile(each) for each in levels]) if n else np.empty((0, rows.n_rows))

    def imputed(self, rows: Rows) -> Array:
        """Give the mean truth of each row, given everything known of it.

        Parameters
        ----------
        rows : Rows
            As in `quantile`.
        """
        quantile, count = self._conditional(rows), 49
        levels = (np.arange(count) + 0.5) / count
        values = [quantile(np.full(rows.n_rows, level)) for level in levels]
        return np.asarray(np.mean(values, axis=0))

    def decide(self, rows: Rows) -> Array:
        """Give the decision of each row that costs least under the distribution.

        Parameters
        ----------
        rows : Rows
            Rows whose cost the decisions minimise.
        """
        return best_decisions(self.distribution(rows).truth, rows.cost)

    def _conditional(self, rows: Rows) -> Callable[[Array], Array]:
        """Quantile function of the truth of rows, given all that is known of them."""
        own, observed = self.distribution(rows), rows.observation
        low, high = np.zeros(rows.n_rows), np.ones(rows.n_rows)
        if rows.limits is not None:
            lower, upper = rows.limits.lower, rows.limits.upper
            low = np.where(np.isinf(lower), 0.0, own.below(np.where(np.isinf(lower), 0.0, lower)))
            high = np.where(np.isinf(upper), 1.0, own.below(np.where(np.isinf(upper), 0.0, upper)))
            chance = np.ones(rows.n_rows)
        else:
            lower = np.where(np.isnan(observed), -np.inf, observed)
            upper = np.full(rows.n_rows, np.inf)
            chance = self.probability_censored(rows)
            hidden = np.flatnonzero(chance > 0)
            low[hidden] = own.below(np.where(np.isnan(observed), 0.0, observed))[hidden]
            chance = np.where(np.isnan(observed), 1.0, chance)

        def quantile(level: Array) -> Array:
            beyond = (level - (1.0 - chance)) / np.where(chance > 0, chance, 1.0)
            at = np.clip(low + np.clip(beyond, 0.0, 1.0) * (high - low), 1e-12, 1.0 - 1e-12)
            found = np.clip(own.truth(at), lower, upper)
            return np.where((chance < 1) & (beyond <= 0), observed, found)

        return quantile


def best_decisions(quantile: Callable[[Numbers], Array], cost: Cost) -> Array:
    """Find the decision of each row with the least mean cost, given the quantiles of its truth."""
    if isinstance(cost, PiecewiseLinearCost):
        return quantile(cost.level)
    if isinstance(cost, AgeReplacement | PreventiveReplacement):
        table = quantile(LEVELS[:, None])
        ages: Array = best_ages(cost, table).age
        return np.where(np.isinf(ages), table[-1], ages)  # never is as late as can be told
    nodes = equally_likely(quantile)
    if isinstance(cost, SquaredError):
        return np.asarray(nodes.mean(axis=0))
    paid = np.stack([mean_cost(cost, candidate, nodes) for candidate in nodes])
    return np.asarray(np.take_along_axis(nodes, paid.argmin(axis=0)[None], axis=0)[0])


def equally_likely(quantile: Callable[[Numbers], Array], count: int = 49) -> Array:
    """Give equally likely values of each row, of shape (count, n_rows), from its quantiles."""
    return np.stack([quantile((place + 0.5) / count) for place in range(count)])


def mean_cost(cost: Cost, decision: Array, nodes: Array) -> Array:
    """Average the cost of each row's decision over its equally likely truths."""
    count, n_rows = nodes.shape
    if isinstance(cost, AgeReplacement) and cost.rate is None:  # each row's own cost rate
        paid = np.where(decision > nodes, cost.failure, cost.planned).mean(axis=0)
        served = np.minimum(decision, nodes).mean(axis=0)
        return np.asarray(paid / np.maximum(served, np.finfo(np.float64).tiny))
    rows = np.tile(np.arange(n_rows), count)
    paid = cost.take(rows).cost(np.tile(decision, count), nodes.ravel())
    return np.asarray(paid.reshape(count, n_rows).mean(axis=0))
