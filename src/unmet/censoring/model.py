"""The contract of a censoring model, and the diagnosis: what the data say, and how surely.

`CensoringModel` answers what the truth of a row may have been. `LatentBand` and
`fit_censoring` fit one from whatever is known, `PanelDistribution` is one of all groups of a panel.
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
        How its scale varies: "constant", "level" (with the level) or "features".
    location : str
        How the truth moves with the features: "additive", "multiplicative", or "orders" (with
        orders that are known).
    orders : str
        How orders were placed: "absent" (never binding), "noisy" (around a level that moves with
        the features), "mixture" (the same, and sometimes without limit), "at_mass" (exactly on such
        a level), "known" (flags or stock say), "rate" (only how often is known), "limits" (the
        truth's own limits are known).
    share_censored : float
        Share of rows whose truth lies above the observation.
    score : float
        Held-out log-likelihood per row, in the units of the observation.
    behind : float
        How much less that is than the best candidate model's; 0 for the best.
    standard_error : float
        Of `behind`.
    ties : bool
        Whether it is within one standard error of the best, so that the data cannot tell.
    shift : float
        Mean ε of the training rows under it, for the cost that was given.
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
    """Another look at the rows, which must find the censoring again.

    Attributes
    ----------
    name : str
        What was looked at.
    share : float
        Share censored that was found there.
    holds : bool
        Whether censoring explains more there than a distribution of which nothing is hidden.
    """

    name: str
    share: float
    holds: bool


@dataclass(frozen=True)
class QuantilePlot:
    """Quantiles of a typical row: straight until censoring bends them.

    Attributes
    ----------
    levels : tuple of float
        In (0, 1).
    straight : tuple of float
        Quantiles of the standardised family: plotted against them the truth is a line.
    observed : tuple of float
        What was observed, row by row relative to its own location and scale.
    modelled, latent : tuple of float
        The fitted observation and the fitted truth.
    """

    levels: Curve
    straight: Curve
    observed: Curve
    modelled: Curve
    latent: Curve


@dataclass(frozen=True)
class Sensitivity:
    """Decisions and their cost as the assumed sell-out rate moves.

    Attributes
    ----------
    rate : tuple of float
        Share of rows assumed to be censored.
    decision : tuple of float
        Mean decision if that rate is assumed.
    cost : tuple of float
        Mean cost of those decisions per row, if the chosen model is the true one.
    fit : tuple of float
        How much less likely the observations are than under the best rate (log-likelihood, all
        rows); 0 for the best.
    """

    rate: Curve
    decision: Curve
    cost: Curve
    fit: Curve


Profile: TypeAlias = Callable[[Sequence[float]], Sensitivity]


@dataclass(frozen=True)
class Choice:
    """One way to decide where several candidates are left.

    Attributes
    ----------
    decision : float
        Mean decision.
    worst : float
        Certificate: the most that a row costs more on average than if the truth's distribution were
        known, whichever candidate model is true.
    worst_rate : float
        Share censored under the candidate model under which it loses most.
    """

    decision: float
    worst: float
    worst_rate: float


@dataclass(frozen=True)
class Ambiguity:
    """What decisions may cost where the data cannot tell between candidates.

    Attributes
    ----------
    followed : {"least_censoring", "minimax_regret", "expected_cost"}
        The way that the band follows: `when_unidentified` of the rule.
    decision_range : tuple of two floats
        Mean of the smallest and of the largest best decision over all candidates that are left,
        other sell-out rates among them.
    rates : tuple of two floats
        Shares censored under these.
    least_censoring, minimax_regret, expected_cost : Choice
        The least censoring; the minimax regret; the least expected cost.
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
    """What a band rule found.

    Attributes
    ----------
    rule : str
        Name of the rule.
    n_rows : int
        Rows it learned from.
    share_censored : float or None
        Share of rows whose truth lies above the observation; None where the rule estimates none.
    identified : {"yes", "weakly", "no"} or None
        Whether the data can tell: "no" if they cannot even say whether anything is hidden,
        "weakly" if not how much; None where the rule does not ask.
    shift : float or None
        Mean ε of the rows, for the cost that was given.
    shift_range : tuple of two floats, or None
        The same over all candidates that cannot be ruled out: within two standard errors, one
        without censoring within three. Where the data cannot tell, also over the shares of
        `share_range`, but none above 60%: there the range goes on without an end.
    decision : float or None
        Mean decision under the chosen model.
    stake : float or None
        What ignoring the censoring costs per row, if the chosen model is the true one.
    stake_range : tuple of two floats, or None
        The same over all candidates that cannot be ruled out.
    candidates : tuple of Candidate
        The chosen one first, then the others, best first.
    quantiles : QuantilePlot or None
    notes : tuple of str
        What a user should know, a sentence each.
    share_range : tuple of two floats, or None
        Shares censored that cannot be ruled out, over all candidates and robustness checks; None
        where the share was given, or the rule does not ask.
    share_given : tuple of two floats, or None
        Lowest and highest sell-out rate that the user has given; None where the share is not the
        user's: the data, flags or stock say it.
    share_assumed : tuple of two floats, or None
        Shares censored that decisions were made for where the data cannot tell: those of a prior,
        between which the share lies with a probability of 80%.
    robustness_checks : tuple of RobustnessCheck
        Other looks at the rows, where a shape seems to show censoring.
    profile : Profile, Sensitivity or None
        What computes `sensitivity` when somebody asks, or what was saved of it.
    choices : Choices, Ambiguity or None
        The same of `ambiguity`.
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
        """The candidate model that the band follows."""
        return self.candidates[0] if self.candidates else None

    @property
    def decision_range(self) -> tuple[float, float] | None:
        """Mean decision over all candidates that cannot be ruled out."""
        if self.decision is None or self.shift is None or self.shift_range is None:
            return None
        rest = self.decision - self.shift
        return rest + self.shift_range[0], rest + self.shift_range[1]

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """Decisions for assumed sell-out rates from 0 to .7; computed when first asked.

        The estimated share is among the rates: it is where the profile has its tip, which may be
        narrower than the distance between two rates.
        """
        if not callable(self.profile):
            return self.profile
        share = () if self.share_censored is None else (float(self.share_censored),)
        return self.profile(sorted({*RATES, *share}))

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """95% interval of the share censored: `share_range`, where it was asked for.

        Where a sell-out rate was given it is that within the chosen family, by profile likelihood,
        computed when first asked: it needs one fit per rate.
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
        """What decisions may cost if another candidate model is true; computed when first asked.

        None where the data can tell, and where it is known which rows are censored.
        """
        return self.choices() if callable(self.choices) else self.choices

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: curves and choices instead of what computes them."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"profile": self.sensitivity, "choices": self.ambiguity}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON; the curves are computed if they were not yet."""
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
        """Draw bent quantiles, and the sensitivity to the sell-out rate.

        Returns
        -------
        Chart
            Shows itself in a notebook; ``save`` writes HTML, SVG or PNG.
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
    """Distribution of the truth of some rows, given their features alone."""

    def truth(self, level: Numbers) -> Array:
        """Quantile of each row, at one level or at one for each row."""

    def below(self, value: Array) -> Array:
        """Probability that the truth of each row is at most a value."""


class CensoringModel(ABC):
    """What the truth of a row may have been, given all that is known of the row.

    A model says what the truth follows given the features (`distribution`), and how likely a row
    of which nobody knows more was censored (`_chance_censored`). Everything else is derived here:
    a row that is seen has its observation for truth; a censored row has the distribution above its
    observation; a row censored with some probability is a mixture of both; a truth between limits
    has the distribution between them; and a row whose observation is NaN, such as a coming one,
    has the whole distribution. Assumed: given the features, truth and order are independent.

    Attributes
    ----------
    diagnosis_ : Diagnosis
    """

    diagnosis_: Diagnosis

    @abstractmethod
    def distribution(self, rows: Rows) -> TruthDistribution:
        """Give the distribution of the truth of rows, given their features alone."""

    @abstractmethod
    def _chance_censored(self, rows: Rows) -> Array:
        """Probability that rows of which nobody knows are censored, given their observations."""

    def probability_censored(self, rows: Rows) -> Array:
        """Probability that the truth of each row lies above its observation.

        Flags of the rows are respected; a row without an observation has NaN.
        """
        seen, chance = ~np.isnan(rows.observation), np.full(rows.n_rows, np.nan)
        if rows.censored is not None:
            chance[seen] = rows.censored[seen]
        ask = np.flatnonzero(seen & np.isnan(chance))
        if ask.size:
            chance[ask] = self._chance_censored(rows.take(ask))
        return chance

    def quantile(self, rows: Rows, level: Numbers) -> Array:
        """Quantile of the truth of each row, given all that is known of it.

        Parameters
        ----------
        rows : Rows
            Features, observations (NaN where nothing was observed) and flags or limits.
        level : float or ndarray of shape (n_rows,)
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._conditional(rows)(np.broadcast_to(level, rows.n_rows))

    def sample(self, rows: Rows, n: int, seed: int, levels: Array | None = None) -> Array:
        """Draw truths of each row, given all that is known of it; of shape (n, n_rows).

        Levels are stratified: each row has one in each of n parts of equal probability; or they
        are given.
        """
        generator, quantile = np.random.default_rng(seed), self._conditional(rows)
        if levels is None:
            part = np.argsort(generator.random((rows.n_rows, n)), axis=1).T
            levels = (part + generator.uniform(1e-6, 1.0 - 1e-6, part.shape)) / n
        return np.stack([quantile(each) for each in levels]) if n else np.empty((0, rows.n_rows))

    def imputed(self, rows: Rows) -> Array:
        """Give the mean truth of each row, given all that is known of it."""
        quantile, count = self._conditional(rows), 49
        levels = (np.arange(count) + 0.5) / count
        values = [quantile(np.full(rows.n_rows, level)) for level in levels]
        return np.asarray(np.mean(values, axis=0))

    def decide(self, rows: Rows) -> Array:
        """Decision of each row that costs least under the distribution, at the cost of the rows."""
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
    """Decision of each row that costs least on average, given the quantiles of its truth."""
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
    """Equally likely values of each row, of shape (count, n_rows), given its quantiles."""
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
