"""Find the rule that orders followed from the point mass of observations at its value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, isnan, log, sqrt
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, poisson
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from unmet.arrays import Array, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.order_rule.evidence import Evidence, Ordered, poisson_hazard, weigh
from unmet.censoring.order_rule.lots import (
    Direction,
    Mask,
    Places,
    Rounding,
    best_factors,
    read_lots,
)
from unmet.censoring.order_rule.rules import Histories, OrderRule, read_histories, read_rules
from unmet.validation import Number, OneOf, read_parameters

Scope: TypeAlias = Literal["auto", "common", "each"]

_PARAMETERS = {
    "level": Number(above=0, below=1),
    "exceptions": Number(least=0, below=1),
    "scope": OneOf("auto", "common", "each"),
}


@dataclass(frozen=True, repr=False)
class DetectedRule:
    """One candidate order rule and what speaks for it.

    Attributes
    ----------
    rule : str
        What the planner computes from the past, in words.
    factor : float
        Safety factor; NaN where no factor that was looked at puts an observation at its order.
    lot : float or None
        Orders are multiples of it; None where they are not rounded.
    rounding : {"up", "nearest", "down", "none"}
    sold_out : float
        Share of the rows with an order whose observation is exactly at it.
    n_rows, n_at, n_above : int
        Rows with an order, rows at it, rows above it.
    binding : float
        Of the rows that reached the order, beyond those that would be at it by chance, the share
        that it bound. 1: nothing was ever observed above it.
    z : float
        Strength of the evidence on the scale of a standard normal variable; 0 where already the
        shape of the observations speaks against the rule.
    p_value, p_corrected : float
        Bound on the chance of such a point mass without the rule; the same after all factors, rules
        and lots that were tried.
    accepted : bool
    series : object
        Label of the series it is about; None where it is about all of them.
    """

    rule: str
    factor: float
    lot: float | None
    rounding: Direction
    sold_out: float
    n_rows: int
    n_at: int
    n_above: int
    binding: float
    z: float
    p_value: float
    p_corrected: float
    accepted: bool
    series: Any = None

    @classmethod
    def of(
        cls, candidate: CandidateRule, group: int, tests: int, level: float, series: Any = None
    ) -> DetectedRule:
        """Read what was found in one group, after so many tests, up to a corrected p-value."""
        found = candidate.evidence
        n_rows, n_at = int(found.n_rows[group]), int(found.n_at[group])
        log_p = min(float(found.log_p[group]), 0.0)
        corrected = min(log_p + log(max(tests, 1)), 0.0)  # Bonferroni
        return cls(
            rule=candidate.rule.name,
            factor=float(candidate.factor[group]),
            lot=candidate.rounding.lot or None,
            rounding=candidate.rounding.direction,
            sold_out=n_at / max(n_rows, 1),
            n_rows=n_rows,
            n_at=n_at,
            n_above=int(found.n_above[group]),
            binding=float(found.binding[group]),
            z=sqrt(2 * abs(log_p)),
            p_value=exp(log_p),
            p_corrected=exp(corrected),
            accepted=bool(found.fits[group]) and corrected <= log(level),
            series=series,
        )

    @property
    def formula(self) -> str:
        """The order in words: factor × rule, rounded."""
        plain = self.factor == 1 or isnan(self.factor)
        asked = self.rule if plain else f"{self.factor:g} × {self.rule}"
        if self.lot is None:
            return asked
        if self.rounding == "nearest":
            return f"{asked}, rounded to the nearest multiple of {self.lot:g}"
        return f"{asked}, rounded {self.rounding} to a multiple of {self.lot:g}"

    def __str__(self) -> str:
        where = "" if self.series is None else f" in series {self.series}"
        verdict = "accepted" if self.accepted else "not accepted"
        return (
            f"order = {self.formula}{where}: {verdict}, sold out in {self.sold_out:.1%} of "
            f"{self.n_rows} rows, {self.n_above} above it, z = {self.z:.1f}, "
            f"p = {self.p_corrected:.1g} after correction"
        )

    def __repr__(self) -> str:
        return f"<DetectedRule: {self}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON; a factor that was not found is None."""
        return asdict(self) | {"factor": None if isnan(self.factor) else self.factor}


class OrderRuleDetection(BaseEstimator):
    """The order rule behind a series of sales, found from the sales alone.

    Planners order by rules on past sales: the mean of the last four Mondays times a safety factor,
    say, rounded up to a lot. Wherever demand reaches the order, sales are exactly the rule's value,
    and never above it. Each rule is computed from the series' own past; the factor at which most
    observations are exactly at the order is found by an exact scan; and the rule is accepted if the
    observations have the shape that orders leave (`exceptions`) and are at the order more often
    than both smooth demand and exchangeable orders allow, after Bonferroni's correction for
    everything that was looked at (`level`). Every row with an order then gets a flag.

    Parameters
    ----------
    rules : "auto" or list of OrderRule or str, default="auto"
        Rules to try. "auto": mean and maximum of the last 1 to 8 same weekdays and of the last 1,
        7, 14 and 28 days, and exponential smoothing by 0.1, 0.2, 0.3 and 0.5 of both.
    lots : "auto" or list of float, default="auto"
        Lots to try; 0 is no rounding. "auto": the unit in which the observations count, and lots of
        which there are more multiples among them than there should be.
    level : float, default=0.001
        Largest corrected p-value at which a rule is accepted.
    exceptions : float, default=0.4
        Largest share of the rows that reached the order which may lie above it, because someone
        ordered more that day.
    scope : {"auto", "common", "each"}, default="auto"
        One rule for all series, one for each, or first one for all and then one for each of those
        that do not follow it.
    random_state : int, RandomState or None, default=None
        Chooses 40,000 rows for a first look when there are more.

    Attributes
    ----------
    accepted_ : bool
        Whether any rule was accepted.
    rule_ : DetectedRule or None
        The accepted rule; of several, the one with most rows at its orders.
    rules_ : dict
        The accepted rule of each series, or None, by its label.
    candidates_ : list of DetectedRule
        Everything that was tried on all series together, best first, then the best of each series
        that was looked at alone.
    order_ : ndarray of shape (n_rows,)
        Order of each row by the accepted rule of its series; NaN where there is none or the past is
        too short.
    censored_ : ndarray of shape (n_rows,)
        1 where the row sold out, 0 where demand was seen, NaN where it is not known: no accepted
        rule, too little history, nothing ordered, or an observation above the order.
    n_tests_ : int
        How many combinations of rule, lot and factor were compared.

    Notes
    -----
    Demand is taken to spread at least like counts of independent customers (Poisson). A demand
    that hardly varies cannot be told from orders and is left alone; nor can one be found whose
    orders followed unseen demand, or change only every few months. A row at its order may be one
    whose demand happened to equal it.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.order_rule.detection import OrderRuleDetection
    >>> demand = np.random.default_rng(0).poisson(40, 364)
    >>> sales = demand.copy()
    >>> for day in range(28, 364):
    ...     sales[day] = min(demand[day], np.ceil(1.1 * sales[day - 28 : day : 7].mean()))
    >>> finding = OrderRuleDetection().fit(sales, time=np.arange(364))
    >>> finding.rule_.formula
    '1.1 × mean of the last 4 same weekdays, rounded up to a multiple of 1'
    >>> bool((demand >= sales)[finding.censored_ == 1].all())
    True
    >>> OrderRuleDetection().fit(demand, time=np.arange(364)).accepted_
    False
    """

    accepted_: bool
    rule_: DetectedRule | None
    rules_: dict[Any, DetectedRule | None]
    candidates_: list[DetectedRule]
    order_: Array
    censored_: Array
    n_tests_: int

    def __init__(
        self,
        rules: Literal["auto"] | Iterable[OrderRule | str] = "auto",
        lots: Literal["auto"] | Iterable[float] = "auto",
        *,
        level: float = 0.001,
        exceptions: float = 0.4,
        scope: Scope = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rules = rules
        self.lots = lots
        self.level = level
        self.exceptions = exceptions
        self.scope = scope
        self.random_state = random_state

    def fit(
        self,
        s: Any,
        time: Any,
        series: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Look for the rule.

        Parameters
        ----------
        s : array-like of shape (n_rows,)
            Observations, not negative, in any order of rows.
        time : array-like of shape (n_rows,)
            Dates, or whole numbers that count days; each at most once in a series.
        series : array-like of shape (n_rows,), optional
            Label of the series of each row, e.g. store and product in one; None is a single one.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are history but no evidence; other weights make no difference.

        Returns
        -------
        OrderRuleDetection
            Itself.
        """
        read = read_parameters(_PARAMETERS, self)
        rules = read_rules(self.rules)
        histories = read_histories(s, time, series, sample_weight)
        unit, roundings = read_lots(self.lots, histories.s[histories.counts])
        histories = replace(histories, unit=unit)
        generator = check_random_state(self.random_state)
        search = RuleSearch(histories, rules, roundings, read["exceptions"], generator)
        labels, level = histories.labels, read["level"]
        several = len(labels) > 1
        searches = 2 if several and self.scope == "auto" else 1
        self.candidates_, self.rules_ = [], dict.fromkeys(labels)
        # candidates that were accepted, and the factor of each series, NaN for others
        found: dict[CandidateRule, Array] = {}
        rest = np.arange(len(labels))
        if self.scope != "each" or not several:
            candidates = search.together()
            tests = searches * search.looked_at
            self.candidates_ = [DetectedRule.of(each, 0, tests, level) for each in candidates]
            if self.candidates_[0].accepted:
                best = candidates[0]
                follow = search.followers(best) if several else np.ones(1, dtype=np.bool_)
                found[best] = np.where(follow, best.factor[0], np.nan)
                self.rules_ |= {labels[place]: self.candidates_[0] for place in rest[follow]}
                rest = rest[~follow]
        if several and self.scope != "common" and rest.size:
            for place, (code, candidate) in enumerate(zip(rest, search.apart(rest), strict=True)):
                tests = searches * search.looked_at
                own = DetectedRule.of(candidate, place, tests, level, labels[code])
                self.candidates_.append(own)
                if own.accepted:
                    self.rules_[labels[code]] = own
                    factor = found.setdefault(candidate, np.full(len(labels), np.nan))
                    factor[code] = candidate.factor[place]
        accepted = [each for each in self.rules_.values() if each is not None]
        self.accepted_ = bool(accepted)
        self.rule_ = max(accepted, key=lambda each: each.n_at, default=None)
        order, censored = flags(histories, found)
        self.order_, self.censored_ = histories.as_given(order), histories.as_given(censored)
        self.n_tests_ = search.looked_at
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Turn the rules into pairs: not every format has keys of any type."""
        state: dict[str, Any] = {**super().__getstate__()}
        if "rules_" in state:
            state["rules_"] = list(self.rules_.items())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rules = {"rules_": dict(state["rules_"])} if "rules_" in state else {}
        super().__setstate__({**state, **rules})


# --- RuleSearch for the order rule of every group of rows: all rules, lots and factors.


@dataclass(frozen=True, eq=False)
class CandidateRule:
    """One rule and one way of rounding, at the best factor of every group.

    Attributes
    ----------
    rule : OrderRule
    rounding : Rounding
    factor : ndarray of shape (n_groups,)
    evidence : Evidence
    """

    rule: OrderRule
    rounding: Rounding
    factor: Array
    evidence: Evidence

    def orders(self, histories: Histories, factor: Numbers) -> Array:
        """Orders of all rows with some factor, or with one for each row."""
        return self.rounding.order(factor * self.rule.base(histories))


class RuleSearch:
    """Everything that is tried on some histories, and how many hypotheses that were.

    Parameters
    ----------
    histories : Histories
    rules : sequence of OrderRule
    roundings : sequence of Rounding
    exceptions : float
        Share of the rows that reached their order which may lie above it.
    generator : RandomState
        Chooses the rows to screen when there are many.
    """

    def __init__(
        self,
        histories: Histories,
        rules: Sequence[OrderRule],
        roundings: Sequence[Rounding],
        exceptions: float,
        generator: np.random.RandomState,
    ) -> None:
        self.histories = histories
        self.rules = rules
        self.roundings = roundings
        self.exceptions = exceptions
        self.looked_at = 0
        self.counting = np.flatnonzero(histories.counts)
        self.screened = self.counting
        if self.counting.size > tuned.ROWS_TO_SCREEN:
            chosen = generator.choice(self.counting, tuned.ROWS_TO_SCREEN, replace=False)
            self.screened = np.sort(chosen)

    def together(self) -> list[CandidateRule]:
        """One factor for all rows; best candidate first."""
        group = np.zeros(self.histories.n_rows, dtype=np.intp)

        def best_first(candidates: list[CandidateRule]) -> list[CandidateRule]:
            return sorted(candidates, key=lambda each: -float(each.evidence.rank[0]))

        def tried(candidate: CandidateRule) -> tuple[OrderRule, Rounding]:
            """Name what was tried, however computers treat multiples."""
            return candidate.rule, replace(candidate.rounding, literal=False)

        found = best_first(
            [
                each
                for rule in self.rules
                for each in self._candidates(rule, self.roundings, self.screened, group, 1)
            ]
        )
        if self.screened.size == self.counting.size:
            return found
        best = list(dict.fromkeys(tried(each) for each in found))[: tuned.REFINED]
        again = [each for each in found if tried(each) not in best]
        for rule, rounding in best:
            again += self._candidates(rule, [rounding], self.counting, group, 1)
        return best_first(again)

    def apart(self, series: Places) -> list[CandidateRule]:
        """Best candidate of each of the series that are asked for; group i is series i of them."""
        place = np.full(len(self.histories.labels), series.size, dtype=np.intp)
        place[series] = np.arange(series.size)  # one group for the others
        group = place[self.histories.series]
        rows = self.counting[group[self.counting] < series.size]
        best: list[CandidateRule | None] = [None] * series.size
        rank = np.full(series.size, -np.inf)
        for rule in self.rules:
            for each in self._candidates(rule, self.roundings, rows, group, series.size + 1):
                found = each.evidence.rank[:-1]
                for index in np.flatnonzero(found > rank):
                    best[index] = each
                rank = np.maximum(rank, found)
        return [each for each in best if each is not None]

    def _candidates(
        self,
        rule: OrderRule,
        roundings: Sequence[Rounding],
        rows: Places,
        group: Places,
        n_groups: int,
    ) -> Iterator[CandidateRule]:
        """Every way of rounding one rule; factors from `rows`, evidence from all rows."""
        s, base = self.histories.s, rule.base(self.histories)
        allowed = max(self.exceptions, 0.01)
        price = (1 - allowed) / allowed
        # of a single group every candidate is listed, with how it fails
        fewest = tuned.MIN_AT if n_groups > 1 else 0

        def candidate(rounding: Rounding, factor: Array, order: Array) -> CandidateRule:
            found = weigh(self.histories, group, n_groups, order, rounding, self.exceptions)
            return CandidateRule(rule, rounding, factor, found)

        for rounding in roundings:
            factor, _, looked_at = best_factors(
                s[rows], base[rows], group[rows], n_groups, rounding, price, fewest
            )
            self.looked_at += looked_at
            order = rounding.order(factor[group] * base)
            exact = candidate(rounding, factor, order)
            yield exact
            if exact.evidence.fits.any():
                # 1.1001 on paper may be 1.1 on a computer
                rounder = np.asarray(np.round(factor, 2), dtype=np.float64)
                near = np.abs(rounder - factor) < tuned.NEARLY_ROUND * factor
                rounder = np.where(near, rounder, factor)
                literal = replace(rounding, literal=True)
                order_of_computer = literal.order(rounder[group] * base)
                if not np.array_equal(order, order_of_computer, equal_nan=True):
                    self.looked_at += int(np.count_nonzero(exact.evidence.fits))
                    yield candidate(literal, rounder, order_of_computer)

    def followers(self, candidate: CandidateRule) -> Mask:
        """Series in which a rule that all rows obey shows itself, or is too short to tell.

        A series does not follow it if it lies above its orders more often than the allowed
        exceptions explain, or is hardly ever at them.
        """
        histories = self.histories
        order = candidate.orders(histories, candidate.factor[0])
        n_series = len(histories.labels)
        rows = Ordered.of(histories, histories.series, n_series, order, candidate.rounding)
        n_at, n_above = rows.count(rows.gap == 0), rows.count(rows.gap > 0)
        reached = rows.keep(rows.gap >= 0)
        level = histories.local_level[reached.row]
        chance = poisson_hazard(reached.order, level, histories.unit)
        tolerated = self.exceptions * reached.total(1 - chance)
        share = n_at.sum() / max(rows.row.size, 1)
        above_too_often = poisson.sf(n_above - 1, tolerated) < tuned.UNLIKELY
        hardly_at = binom.cdf(n_at, rows.count(), tuned.SUPPORT * share) < tuned.UNLIKELY
        return np.asarray(~above_too_often & ~hardly_at)


def flags(histories: Histories, accepted: Mapping[CandidateRule, Array]) -> tuple[Array, Array]:
    """Order of each row, and whether it sold out; NaN where nothing is known.

    A row is sold out at its order and not below it. Above it the order was another one, and nothing
    is known; nor where nothing was ordered.

    Parameters
    ----------
    histories : Histories
    accepted : dict of CandidateRule to ndarray of shape (n_series,)
        Safety factors; NaN for series that do not follow the rule.
    """
    orders, censored = np.full((2, histories.n_rows), np.nan)
    for candidate, factor in accepted.items():
        order = candidate.orders(histories, factor[histories.series])
        gap = candidate.rounding.gap(histories.s, order)
        mine = np.isfinite(order)
        orders[mine] = order[mine]
        known = mine & (order > 0) & (gap <= 0)
        censored[known] = gap[known] == 0
    return orders, censored
