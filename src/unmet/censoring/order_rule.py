"""Find the rule behind past orders from the point mass of observations at the value of the rule.

**Rules.** Planners order by means, maxima or exponential smoothing of past observations, of all
days or of the same weekday. Days without a row, on which the store was closed, are skipped.

**Lots.** An order is factor × value, rounded to lots. The observations show which lots were in use:
orders in lots of six leave sold-out days in multiples of six.

**Factor.** Where the order was binding, the observation equals it. Each observation therefore
defines an interval of factors that would have made the order equal to it. Sorting the ends of these
intervals finds the factor that most of them share, exactly and without a grid. Observations above
the order count against a factor.

**Evidence.** Some ties are not evidence of a rule. Small counts tie by chance, smooth demand ties
more often where it is dense, and a demand that hardly varies ties with everything computed from its
past. A row is *at risk* if it reached its order, s ≥ order. A rule must beat two null hypotheses:

smooth demand
    The chance that s = order given s ≥ order, a hazard, is at most the largest of three values. The
    first is the hazard of a Poisson variable with the mean of the weeks around; independent
    customers spread that much, and real demand spreads more. The second is the hazard one and two
    lots below the order, continued to the order by its own growth. The third is the hazard one lot
    above it.
exchangeable orders
    The orders of the three rows before, along weeks and along days, would have fitted as well as
    the order of the row. Given how many of the four the observation ties with, each is equally
    likely to be one of them. A demand that stands still for a while ties with all four and is no
    evidence.

Both are sums of independent yes/no variables with bounds on their chances, for which Chernoff's
inequality holds. By Hoeffding (1956, Ann. Math. Statist. 27, 713-721), their mean may replace
unequal chances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from math import ceil, exp, isnan, log, sqrt
from numbers import Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammainc, gammaln, logit, xlogy
from scipy.stats import binom, poisson
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from unmet.arrays import Array, Mask, Numbers, Places, read_array, read_entries, refuse
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_weights
from unmet.validation import Number, OneOf, WholeNumber, is_missing, read_parameters, refusal

Direction: TypeAlias = Literal["up", "nearest", "down", "none"]

#: Packs that goods come in; a lot is one of them times a power of ten.
_PACKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 24, 25, 30, 36, 40, 48, 50, 60, 72)
#: A relative error that arithmetic on the past may leave, and one that storing numbers may leave.
_ARITHMETIC, _STORED = 1e-9, 1e-6
#: Safety factors that are looked at.
_SMALLEST, _LARGEST = 0.5, 3.0
#: No p-value survives the correction with fewer rows at the order.
_MIN_AT = 8
#: More rows than this do not sharpen a factor.
_MAX_ROWS = 40_000


@dataclass(frozen=True)
class OrderRule:
    """Quantity that a planner computes from past observations, before a factor and rounding.

    Attributes
    ----------
    kind : {"mean", "maximum", "smoothing"}
        What is computed: the mean, the maximum, or exponential smoothing.
    of : int or float
        Number of past rows of a mean or maximum; weight of the newest row in smoothing.
    same_weekday : bool
        Whether only rows of the same weekday count, or all days.

    Examples
    --------
    >>> from unmet.censoring.order_rule import OrderRule
    >>> OrderRule("mean", 4).name
    'mean of the last 4 same weekdays'
    """

    kind: Literal["mean", "maximum", "smoothing"]
    of: float
    same_weekday: bool = True

    def __post_init__(self) -> None:
        OneOf("mean", "maximum", "smoothing")("kind", self.kind)
        if self.kind == "smoothing":
            Number(above=0, most=1)("of", self.of)
        elif Number()("of", self.of) < 1 or self.of % 1:
            raise refusal("of", WholeNumber(1), self.of)

    @property
    def name(self) -> str:
        """The rule in words, as it is printed and as ``rules=`` accepts it."""
        days = "same weekdays" if self.same_weekday else "days"
        if self.kind == "smoothing":
            return f"exponential smoothing {self.of:g} of {days}"
        if self.of == 1:
            return "last week's value" if self.same_weekday else "yesterday's value"
        return f"{self.kind} of the last {int(self.of)} {days}"

    @property
    def needs(self) -> int:
        """Number of rows of the chain that must precede a row for which the rule has a value."""
        if self.kind != "smoothing":
            return int(self.of)
        # until 5% are left of the unknown value that smoothing started from
        return 1 if self.of == 1 else ceil(log(0.05) / log(1 - self.of))

    def value(self, histories: Histories) -> Array:
        """Compute the value of the rule for every row, from earlier rows only.

        Parameters
        ----------
        histories : Histories
            Observations, sorted by series and time.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values; NaN where there are too few earlier rows.
        """
        weekly, s = self.same_weekday, histories.s
        place = histories.place(weekly)
        if self.kind == "smoothing":
            # y_t = (1 − w) y_{t−1} + w s_t is a geometric sum; adding the sum of the 2^j rows
            # before to that of the last 2^j doubles its reach
            total, reach = np.where(place == 0, s, self.of * s), 1
            while reach <= place.max() and (1 - self.of) ** reach > 1e-18:
                earlier = np.nan_to_num(histories.before(total, reach, weekly))
                total, reach = total + (1 - self.of) ** reach * earlier, 2 * reach
            value = histories.before(total, 1, weekly)
        else:
            # summed one by one, whole numbers stay exact
            value = histories.before(s, 1, weekly)
            for lag in range(2, int(self.of) + 1):
                earlier = histories.before(s, lag, weekly)
                value = value + earlier if self.kind == "mean" else np.maximum(value, earlier)
            value = value / int(self.of) if self.kind == "mean" else value
        return np.where(place >= self.needs, value, np.nan)


#: What is tried unless the user names rules.
DEFAULT_RULES: tuple[OrderRule, ...] = (
    *(OrderRule("mean", count) for count in range(1, 9)),
    *(OrderRule("maximum", count) for count in range(2, 9)),
    *(OrderRule("mean", count, same_weekday=False) for count in (1, 7, 14, 28)),
    *(OrderRule("maximum", count, same_weekday=False) for count in (7, 14, 28)),
    *(OrderRule("smoothing", weight) for weight in (0.1, 0.2, 0.3, 0.5)),
    *(OrderRule("smoothing", weight, same_weekday=False) for weight in (0.1, 0.2, 0.3, 0.5)),
)


def read_rules(rules: Any) -> Sequence[OrderRule]:
    """Read the rules to try: "auto", or rules and names of rules."""
    if isinstance(rules, str) and rules == "auto":
        return DEFAULT_RULES
    known = {rule.name: rule for rule in DEFAULT_RULES}
    listed = isinstance(rules, Iterable) and not isinstance(rules, str)
    chosen: list[Any] = list(rules) if listed else []
    chosen = [known.get(each, each) if isinstance(each, str) else each for each in chosen]
    if not chosen or not all(isinstance(each, OrderRule) for each in chosen):
        allowed = '"auto" or a list of OrderRule and names such as "mean of the last 7 days"'
        raise refusal("rules", allowed, rules)
    return chosen


@dataclass(frozen=True, repr=False)
class DetectedRule:
    """One candidate order rule and the evidence for it.

    Attributes
    ----------
    rule : str
        What the planner computes from the past, in words.
    factor : float
        Safety factor; NaN if no factor that was tried puts an observation at its order.
    lot : float or None
        Orders are multiples of the lot; None if they are not rounded.
    rounding : {"up", "nearest", "down", "none"}
        How orders are rounded to lots.
    n_rows, n_at, n_above : int
        Rows with an order, rows exactly at their order, and rows above it.
    binding : float
        Share of the rows at risk that the order bound, not counting those that reached it by
        chance. 1 means that no observation exceeds its order.
    z : float
        Strength of the evidence on the scale of a standard normal variable. 0 if the shape of the
        observations already excludes the rule.
    p_value : float
        Upper bound on the chance of such a point mass without the rule, with Bonferroni's
        correction for all factors, rules and lots that were tried.
    accepted : bool
        Whether the rule was accepted.
    series : object
        Label of the series that the rule belongs to; None if it belongs to all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring import OrderRuleDetection
    >>> sales = np.random.default_rng(0).poisson(40, 364)
    >>> for day in range(28, 364):
    ...     sales[day] = min(sales[day], np.ceil(1.1 * sales[day - 28 : day : 7].mean()))
    >>> rule = OrderRuleDetection().fit(sales, time=np.arange(364)).rule_
    >>> rule.factor, rule.lot, rule.n_above
    (1.1, 1.0, 0)
    """

    rule: str
    factor: float
    lot: float | None
    rounding: Direction
    n_rows: int
    n_at: int
    n_above: int
    binding: float
    z: float
    p_value: float
    accepted: bool
    series: Any = None

    @property
    def sold_out(self) -> float:
        """Share of the rows with an order whose observation is exactly at the order."""
        return self.n_at / max(self.n_rows, 1)

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
            f"p = {self.p_value:.1g} after correction"
        )

    __repr__ = __str__


class OrderRuleDetection(BaseEstimator):
    """Search for the order rule behind a series of sales, using only the sales.

    Planners order by rules on past sales. An example is the mean of the last four Mondays times a
    safety factor, rounded up to a lot. Where demand reaches the order, sales equal the value of the
    rule, and they never exceed it. The search computes each rule from the past of the series. An
    exact scan finds the factor that puts most observations at the order. A rule is accepted if two
    conditions hold. The observations must have the shape that orders leave (`exceptions`). They
    must be at the order more often than smooth demand and exchangeable orders allow, with
    Bonferroni's correction for everything that was tried (`level`). Each row with an order then
    gets a flag. The search first tries one rule for all series together. It then tries one rule for
    each series that does not follow the first.

    Parameters
    ----------
    rules : "auto" or list of OrderRule or str, default="auto"
        Rules to try. "auto" tries the mean and maximum of the last 1 to 8 same weekdays and of the
        last 1, 7, 14 and 28 days, and exponential smoothing by 0.1, 0.2, 0.3 and 0.5 of both. Fewer
        rules are faster and need less evidence.
    lots : "auto" or list of float, default="auto"
        Lots to try; 0 is no rounding. "auto" tries the unit in which the observations count, and
        lots with more multiples among the observations than expected.
    level : float, default=0.001
        Largest corrected p-value at which a rule is accepted. Larger values accept rules on less
        evidence.
    exceptions : float, default=0.4
        Largest share of the rows that reached the order and may exceed it, because somebody ordered
        more that day. Larger values accept rules that planners often override.
    random_state : int, RandomState or None, default=None
        Seed of the sample of 40,000 rows that determine the factor, if there are more rows.

    Attributes
    ----------
    accepted_ : bool
        Whether any rule was accepted.
    rule_ : DetectedRule or None
        The accepted rule; if there are several, the one with the most rows at its orders.
    rules_ : dict
        The accepted rule of each series, or None, by the label of the series.
    candidates_ : list of DetectedRule
        All rules that were tried on all series together, best first, then the best rule of each
        series that was searched alone.
    order_ : ndarray of shape (n_rows,)
        Order of each row by the accepted rule of its series; NaN without a rule or with too little
        history.
    censored_ : ndarray of shape (n_rows,)
        1 where the row sold out, 0 where demand was seen, NaN where neither is known: no accepted
        rule, too little history, an order of zero, or an observation above the order.
    n_tests_ : int
        Number of combinations of rule, lot and factor that were compared.

    Notes
    -----
    The search assumes that demand spreads at least as much as counts of independent customers
    (Poisson). It does not find a rule if demand hardly varies, if orders followed unseen demand, or
    if orders change only every few months. On a day at its order, demand may also have equaled the
    order by chance.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring import OrderRuleDetection
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

    rules_: dict[Any, DetectedRule | None]

    def __init__(
        self,
        rules: Literal["auto"] | Iterable[OrderRule | str] = "auto",
        lots: Literal["auto"] | Iterable[float] = "auto",
        *,
        level: float = 0.001,
        exceptions: float = 0.4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rules = rules
        self.lots = lots
        self.level = level
        self.exceptions = exceptions
        self.random_state = random_state

    def fit(
        self, s: Any, time: Any, series: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Search for the rule.

        Parameters
        ----------
        s : array-like of shape (n_rows,)
            Non-negative observations, with rows in any order.
        time : array-like of shape (n_rows,)
            Dates, or whole numbers that count days. Each occurs at most once in a series.
        series : array-like of shape (n_rows,), optional
            Label of the series of each row, such as store and product in one. None is a single
            series.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are history but no evidence. Other weights make no difference.

        Returns
        -------
        OrderRuleDetection
            Itself.
        """
        allowed = {"level": Number(above=0, below=1), "exceptions": Number(least=0, below=1)}
        read = read_parameters(allowed, self)
        rules = read_rules(self.rules)
        histories = Histories(s, time, series, sample_weight)
        labels, several = histories.labels, len(histories.labels) > 1
        histories.unit, roundings = read_lots(self.lots, histories.s[histories.counts])
        evidence = np.flatnonzero(histories.counts)
        if evidence.size > _MAX_ROWS:
            generator = check_random_state(self.random_state)
            evidence = np.sort(generator.choice(evidence, _MAX_ROWS, replace=False))
        self.n_tests_ = 0

        def candidates(rows: Places, group: Places, n_groups: int) -> Iterator[_Candidate]:
            for rule in rules:
                for each in _candidates(
                    histories, rule, roundings, rows, group, n_groups, read["exceptions"]
                ):
                    self.n_tests_ += each.n_tests
                    yield each

        def read_off(candidate: _Candidate, group: int, label: Any = None) -> DetectedRule:
            tests = self.n_tests_ * (1 + several)  # all series together, and each alone
            return candidate.detected(group, tests, read["level"], label)

        together = sorted(
            candidates(evidence, np.zeros(histories.s.size, dtype=np.intp), 1),
            key=lambda each: -float(each.rank[0]),
        )
        self.candidates_ = [read_off(each, 0) for each in together]
        self.rules_ = dict.fromkeys(labels)
        # candidates that were accepted, with the factor of each series, NaN for others
        found: dict[_Candidate, Array] = {}
        rest = np.arange(len(labels))
        if self.candidates_[0].accepted:
            best = together[0]
            follow = best.followers(histories) if several else np.ones(1, dtype=np.bool_)
            found[best] = np.where(follow, best.factor[0], np.nan)
            self.rules_ |= {labels[place]: self.candidates_[0] for place in rest[follow]}
            rest = rest[~follow]
        if several and rest.size:
            place = np.full(len(labels), rest.size, dtype=np.intp)
            place[rest] = np.arange(rest.size)  # one more group for the others
            group = place[histories.series]
            rows = np.flatnonzero(histories.counts & (group < rest.size))
            own: list[_Candidate | None] = [None] * rest.size
            rank = np.full(rest.size, -np.inf)
            for each in candidates(rows, group, rest.size + 1):
                for index in np.flatnonzero(each.rank[:-1] > rank):
                    own[index] = each
                rank = np.maximum(rank, each.rank[:-1])
            for number, (code, candidate) in enumerate(zip(rest, own, strict=True)):
                assert candidate is not None
                detected = read_off(candidate, number, labels[code])
                self.candidates_.append(detected)
                if detected.accepted:
                    self.rules_[labels[code]] = detected
                    factor = found.setdefault(candidate, np.full(len(labels), np.nan))
                    factor[code] = candidate.factor[number]
        accepted = [each for each in self.rules_.values() if each is not None]
        self.accepted_ = bool(accepted)
        self.rule_ = max(accepted, key=lambda each: each.n_at, default=None)
        # sold out at the order, not below it; above it the order was another one, and nothing is
        # known, nor where nothing was ordered
        self.order_, self.censored_ = np.full((2, histories.s.size), np.nan)
        for candidate, factor in found.items():
            order = candidate.order(histories, factor[histories.series])
            gap = candidate.rounding.gap(histories.s, order)
            mine = np.isfinite(order)
            self.order_[histories.given[mine]] = order[mine]
            known = mine & (order > 0) & (gap <= 0)
            self.censored_[histories.given[known]] = gap[known] == 0
        return self


# --- The past that planners look back on.


class Histories:
    """Observations of several series, sorted by series and time, with the predecessor of each row.

    A *chain* is the sequence of rows that a rule uses: all days of a series, or its Mondays, its
    Tuesdays and so on.

    Parameters
    ----------
    s, time, series, sample_weight
        As `OrderRuleDetection.fit` takes them.

    Attributes
    ----------
    s : ndarray of shape (n_rows,)
        Observations.
    series : ndarray of shape (n_rows,), int
        Series of each row, as a position in `labels`.
    labels : list
        Labels of the series.
    given : ndarray of shape (n_rows,), int
        Position of each row in the input.
    counts : ndarray of shape (n_rows,), bool
        Whether the row is evidence; a row of weight 0 is only history.
    unit : float
        Observations are multiples of it; 0 if they are not multiples of anything.
    """

    def __init__(self, s: Any, time: Any, series: Any = None, sample_weight: Any = None) -> None:
        values = read_column("s", s)
        if not values.size:
            raise InvalidInput("s must have at least one row, got none.")
        if not (values >= 0).all():
            refuse("s", "a non-negative number", values, values >= 0)
        if time is None:
            raise InvalidInput(
                "time must be given to find an order rule, one date per row, got None."
            )
        day = _read_days(read_entries("time", time, values.size))
        code, self.labels = np.zeros(values.size, dtype=np.intp), [None]
        if series is not None:
            places: dict[Any, int] = {}
            entries = read_entries("series", series, values.size).tolist()
            code = np.array([places.setdefault(each, len(places)) for each in entries])
            self.labels = list(places)
            if any(map(is_missing, places)):
                raise InvalidInput("series must not be missing, got a row without a label.")
        weight = read_weights(sample_weight, values.size)
        self.given = np.lexsort((day, code))
        self.s, self.series, day = values[self.given], code[self.given], day[self.given]
        self.counts = np.ones(values.size, dtype=np.bool_)
        if weight is not None:
            self.counts = weight[self.given] > 0
        self.unit = 0.0
        repeated = (day[1:] == day[:-1]) & (self.series[1:] == self.series[:-1])
        if repeated.any():
            label = self.labels[self.series[int(repeated.argmax())]]
            where = "" if label is None else f", first in series {label!r:.40}"
            raise InvalidInput(
                "time must name each day at most once in a series, "
                f"got {int(repeated.sum())} again{where}."
            )
        self._chains: dict[bool, tuple[Places, Places, Places]] = {}
        for weekly, chain in ((False, self.series), (True, self.series * 7 + np.mod(day, 7))):
            rows = np.argsort(chain, kind="stable")
            member = chain[rows]
            starts = np.flatnonzero(np.r_[True, member[1:] != member[:-1]])
            lengths = np.diff(np.r_[starts, member.size])
            place = np.arange(member.size) - np.repeat(starts, lengths)
            self._chains[weekly] = rows, place, np.repeat(lengths, lengths) - 1 - place

    def place(self, weekly: bool) -> Places:
        """Count the rows of the chain that precede each row."""
        rows, place, _ = self._chains[weekly]
        found = np.empty_like(place)
        found[rows] = place
        return found

    def before(self, values: Array, lag: int, weekly: bool) -> Array:
        """Give the value `lag` rows earlier in the chain (later for negative lags); NaN if none."""
        rows, place, left = self._chains[weekly]
        there = place >= lag if lag > 0 else left >= -lag
        found = np.empty(values.size)
        found[rows] = np.where(there, np.roll(values[rows], lag), np.nan)
        return found

    @cached_property
    def repeats(self) -> Mask:
        """Whether an observation equals that of the day before, or of the same weekday before."""
        day_before, week_before = (self.before(self.s, 1, weekly) for weekly in (False, True))
        return np.asarray((self.s == day_before) | (self.s == week_before))

    @cached_property
    def local_level(self) -> Array:
        """Smaller mean of the 8 weeks before and after, same weekday; NaN if there are too few.

        The row itself is left out, because a high day is no sign of a high level.
        """
        sides: list[Array] = []
        for side in (1, -1):
            count, total = np.zeros(self.s.size), np.zeros(self.s.size)
            for lag in range(1, 9):
                value = self.before(self.s, side * lag, True)
                count += np.isfinite(value)
                total += np.nan_to_num(value)
            sides.append(np.where(count >= 2, total / np.maximum(count, 1), np.nan))
        return np.fmin(*sides)

    @cached_property
    def unrest(self) -> list[Array]:
        """Difference of each row from the previous one, along days and along weeks.

        The measure is (s − s')² / (s + s') in units. It is 1 on average for Poisson counts of one
        level. It is capped at 4, so a few jumps do not hide that nothing moves otherwise. NaN where
        nothing is known.
        """
        moves: list[Array] = []
        for weekly in (False, True):
            before = self.before(self.s, 1, weekly)
            total = np.where(self.s + before > 0, self.s + before, np.nan)
            moves.append(np.minimum((self.s - before) ** 2 / (self.unit * total), 4.0))
        return moves


def _read_days(column: NDArray[Any]) -> Places:
    """Day numbers; a time of day is dropped."""
    if column.dtype.kind == "O" and all(isinstance(entry, Real) for entry in column):
        column = column.astype(np.float64)
    whole = np.ones(column.size, dtype=np.bool_)
    if column.dtype.kind in "iuf":
        days, whole = column, (np.abs(column) < 2**53) & (column == np.round(column))
    else:
        dates = [each.date() if isinstance(each, datetime) else each for each in column]
        try:
            days = np.array(dates if column.dtype.kind == "O" else column, dtype="datetime64[D]")
            whole = ~np.isnat(days)
        except (TypeError, ValueError):
            whole[0] = False
    if not whole.all():
        row = int(np.argmin(whole))
        got = f"{column[row]!s:.40} in row {row}"
        raise InvalidInput(f"time must hold dates or whole day numbers, got {got}.")
    return days.astype(np.intp)


# --- From a rule's value to an order: lots.


@dataclass(frozen=True)
class Rounding:
    """One way to turn factor × value into an order.

    Attributes
    ----------
    lot : float
        Orders are multiples of the lot; 0 if they are not rounded.
    direction : {"up", "nearest", "down", "none"}
        Direction of the rounding.
    literal : bool
        How to treat a value that already is a multiple, or half-way between two: by binary
        arithmetic as computers do (True), or as on paper (False). 1.1 × 50 is 55.00000000000001 in
        binary and rounds up to 56. Python and numpy round 2.5 to 2, paper rounds it to 3.
    """

    lot: float
    direction: Direction
    literal: bool = False

    def order(self, wanted: Array) -> Array:
        """Round the quantity that the rule gives."""
        if self.direction == "none":
            return wanted
        lots = wanted / self.lot
        slack = 0.0 if self.literal else _ARITHMETIC * np.maximum(1.0, np.abs(lots))
        if self.direction == "up":
            return np.asarray(np.ceil(lots - slack) * self.lot)
        if self.direction == "down":
            return np.asarray(np.floor(lots + slack) * self.lot)
        whole = np.round(lots) if self.literal else np.floor(lots + 0.5 + slack)
        return np.asarray(whole * self.lot)

    def gap(self, s: Array, order: Array) -> Array:
        """Subtract orders from observations; exactly 0 if they differ by arithmetic only."""
        near = _STORED * (self.lot or np.abs(order))
        apart = s - order
        return np.where(np.abs(apart) <= near, 0.0, apart)

    def reach(self, s: Array) -> tuple[Array, Array, Array]:
        """Find the rule's quantities for which observations are at or above their orders.

        Returns
        -------
        start, stop : ndarray of shape (n_rows,)
            The order equals the observation if factor × value lies between them; NaN if no order
            can equal it. Rounding up excludes `start`, the others exclude `stop`.
        above : ndarray of shape (n_rows,)
            The observation exceeds the order if factor × value lies below this.
        """
        if self.direction == "none":
            inside = 0.99 * _STORED  # of what `gap` forgives
            return s * (1 - inside), s * (1 + inside), s * (1 - inside)
        whole = np.round(s / self.lot)
        on_lattice = np.abs(s - whole * self.lot) <= self.lot * _STORED
        # how far, in lots, a value may fall short of a multiple and still be rounded up to it
        offset = {"up": 1.0, "nearest": 0.5, "down": 0.0}[self.direction]
        start = np.where(on_lattice, (whole - offset) * self.lot, np.nan)
        next_up = np.where(on_lattice, whole, np.ceil(s / self.lot))
        return start, start + self.lot, (next_up - offset) * self.lot


def read_lots(lots: Any, s: Array) -> tuple[float, tuple[Rounding, ...]]:
    """Read the unit in which observations count (0 if there is none) and the roundings to try.

    Lots are those that you name, or those found in the observations (`"auto"`).
    """
    positive = s[s > 0]
    unit = _unit(positive)
    if isinstance(lots, str) and lots == "auto":
        sizes = _lots_in_use(positive, unit)
    else:
        named = isinstance(lots, Iterable) and not isinstance(lots, str)
        sizes = read_array("lots", list(lots)).tolist() if named else []
        if not sizes or min(sizes) < 0:
            allowed = '"auto" or positive numbers, or 0 for orders that are not rounded'
            raise refusal("lots", allowed, lots)
    ways = [Rounding(lot, way) for lot in sizes if lot for way in ("up", "nearest", "down")]
    return unit, (*ways, *([Rounding(0.0, "none")] if 0.0 in sizes else []))


def _share_on(positive: Array, lot: float) -> float:
    """Share of the observations that are one or more lots."""
    lots = positive / lot
    whole = np.round(lots)
    return float(np.mean((np.abs(lots - whole) <= _STORED + _ARITHMETIC * lots) & (whole > 0)))


def _unit(positive: Array) -> float:
    """Largest number of which nearly all observations are multiples; 0 if there is none."""
    if not positive.size:
        return 1.0
    different = np.unique(positive)
    candidates = [10.0**-power for power in range(7)]
    if different.size > 1:  # sales that were divided by something count in steps of their own
        steps = np.quantile(np.diff(different), [0.0, 0.05, 0.5])
        candidates += [float(different[0]), *steps.tolist()]
    fitting = [size for size in candidates if _share_on(positive, size) >= 0.9]
    if not fitting:
        return 0.0
    unit = max(fitting)
    packs = [float(pack * unit * 10.0**power) for pack in _PACKS for power in range(10)]
    # a few values may all be multiples of a pack by chance, so it needs more of them
    return max(size for size in packs if size == unit or _share_on(positive, size) >= 0.98)


def _lots_in_use(positive: Array, unit: float) -> list[float]:
    """Lots with more multiples among the observations than numbers one unit beside a multiple.

    Orders in lots of six leave sold-out days in multiples of six; without them, multiples of six
    are as frequent as their neighbours. The unit itself is always a lot; 0, no rounding, is one
    where observations are off the unit.
    """
    if not positive.size:
        return [unit]
    typical = float(np.median(positive))
    excess: dict[float, float] = {}
    for multiple in sorted({pack * 10.0**power for pack in _PACKS for power in range(-6, 10)}):
        lot = float(f"{multiple * (unit or 1.0):.12g}")
        whole = multiple > 1 and float(multiple).is_integer() if unit else lot > typical * 1e-4
        if not whole or lot > typical:
            continue
        found, beside = _share_on(positive, lot), 0.0
        if unit:
            beside = (_share_on(positive + unit, lot) + _share_on(positive - unit, lot)) / 2
        if found - beside > max(0.01, 3 * np.sqrt((found + beside) / positive.size)):
            # a lot is preferred to its own divisors, which share its multiples
            excess[lot] = (found - beside) * (1 - 1 / multiple if unit else 1.0)
    lots = sorted(excess, key=lambda lot: -excess[lot])[:4]  # each costs a search over all rules
    if not unit or _share_on(positive, unit) < 0.995 or unit < typical * 1e-3:
        lots.append(0.0)
    return [unit, *lots] if unit else lots


# --- The factor at which observations have a point mass on a rule's value.


def best_factors(
    s: Array, value: Array, group: Places, n_groups: int, rounding: Rounding, price: float
) -> tuple[Array, Array, int]:
    """Find the factor of each group that puts most rows at the order and fewest above it.

    A row is at its order for factors in an interval: (first, last] when rounding up or not
    rounding, else [first, last). It is above its order for factors below another end. The number of
    intervals that contain a factor is largest at one of their closed ends. All groups share one
    axis, each with its own stretch, so a single sort serves all of them.

    Parameters
    ----------
    s, value : ndarray of shape (n_rows,)
        Observations, and the rule's value before factor and rounding; rows without a value are left
        out.
    group : ndarray of shape (n_rows,), int
        Group of each row; rows of a group share a factor.
    n_groups : int
        Number of groups.
    rounding : Rounding
        How orders are rounded.
    price : float
        Penalty of a row above the order, in rows at the order.

    Returns
    -------
    factor : ndarray of shape (n_groups,)
        A round number among the best factors; NaN if no factor puts a row at its order.
    gain : ndarray of shape (n_groups,)
        Rows at the order minus `price` for each row above it.
    looked_at : int
        Number of factors compared, which is the number of hypotheses.
    """
    stride, end = 4.0, 3.9
    use = np.flatnonzero((value > 0) & (s > 0))
    closed_above = rounding.direction in ("up", "none")
    # ends are moved towards the open side by less than rounding forgives, so that arithmetic does
    # not decide what is inside
    nudge = _ARITHMETIC / 4 if closed_above else -_ARITHMETIC / 4
    scale = (1 + nudge) / value[use]
    first, last, above = (np.clip(each * scale, 0.0, end) for each in rounding.reach(s[use]))
    group = group[use]
    tied = (last >= _SMALLEST) & (first <= _LARGEST)
    looked_at = int(np.count_nonzero(tied))
    origin = group * stride
    first, last = np.sort((origin + first)[tied]), np.sort((origin + last)[tied])
    above = np.sort(origin + above)
    until = np.cumsum(np.bincount(group, minlength=n_groups))
    side: Literal["left", "right"] = "left" if closed_above else "right"

    def gain_at(points: Array, owner: Places) -> Array:
        """Rows at the order minus the price of those above it, at points of the axis."""
        at = np.searchsorted(first, points, side) - np.searchsorted(last, points, side)
        beyond = until[owner] - np.searchsorted(above, points, side)
        return np.asarray(at - price * beyond, dtype=np.float64)

    best, factor = np.full(n_groups, -np.inf), np.full(n_groups, np.nan)
    ends = last if closed_above else first
    if not ends.size:
        return factor, best, looked_at
    starts = np.floor(ends / stride) * stride
    points = starts + np.clip(ends - starts, _SMALLEST, _LARGEST)
    owner = (points / stride).astype(np.intp)
    # from a closed end into its interval, past open ends at the same factor but for noise
    inward = -_ARITHMETIC / 10 if closed_above else _ARITHMETIC / 10
    gain = gain_at(points + inward, owner)
    leads = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    best[owner[leads]] = np.maximum.reduceat(gain, leads)
    at_best = np.flatnonzero(gain == best[owner])[::-1]  # the smallest factor among equals is last
    factor[owner[at_best]] = points[at_best] - owner[at_best] * stride

    # the roundest factor nearby that gains nearly as much: planners order 1.15, not 1.1497, times
    todo, exact = np.flatnonzero(best > 0), factor.copy()
    for size in (0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001, 5e-4, 1e-4, 1e-5, 1e-6):
        nearest = np.round(np.round(exact[todo] / size) * size, 9)
        gained = gain_at(todo * stride + nearest, todo)
        enough = gained >= best[todo] - np.maximum(0.005 * best[todo], 1.0)
        factor[todo[enough]] = nearest[enough]
        todo = todo[~enough]
    return factor, best, looked_at


# --- Candidates, and what speaks for them.


class _Candidate:
    """One rule and one way of rounding at the factor of every group of rows, and its evidence.

    Attributes
    ----------
    rule : OrderRule
    rounding : Rounding
    factor : ndarray of shape (n_groups,)
    n_tests : int
        Factors that were compared to find these.
    n_rows, n_at, n_above : ndarray of shape (n_groups,)
        Rows with a positive order or an observation above it; rows at it; rows above it.
    binding : ndarray of shape (n_groups,)
        Of the rows that reached the order, beyond those at it by chance, the share that it bound.
    fits : ndarray of shape (n_groups,), bool
        Whether the observations have the shape that orders leave.
    log_smooth, log_exchangeable : ndarray of shape (n_groups,)
        Logarithms of the p-values under the two nulls; 0 where the shape does not fit.
    rank : ndarray of shape (n_groups,)
        Larger is better; whatever fits comes before whatever does not.
    """

    def __init__(
        self,
        histories: Histories,
        rule: OrderRule,
        rounding: Rounding,
        factor: Array,
        order: Array,
        group: Places,
        exceptions: float,
        n_tests: int,
    ) -> None:
        self.rule, self.rounding, self.factor, self.n_tests = rule, rounding, factor, n_tests
        self.exceptions = exceptions
        n_groups = factor.size
        gap = rounding.gap(histories.s, order)
        # nothing ordered and nothing sold says nothing; something sold where nothing was ordered
        # does
        rows = np.flatnonzero(histories.counts & ((order > 0) | (gap > 0)))
        who, gap, size = group[rows], gap[rows], order[rows]

        def count(mask: Mask) -> Array:
            return np.bincount(who, weights=mask, minlength=n_groups).astype(np.float64)

        at, above, below = gap == 0, gap > 0, gap < 0
        self.n_rows = np.bincount(who, minlength=n_groups).astype(np.float64)
        self.n_at, self.n_above, n_below = count(at), count(above), count(below)
        # Next to nothing may lie above the order. Rows that only repeat the row before are set
        # aside once: a demand that stands still and then jumps is at its last value most of the
        # time, but never when it moves.
        fits = self.n_at > 0
        fits &= self.n_above <= exceptions * (self.n_at + self.n_above)
        new = ~histories.repeats[rows]
        fits &= count(above & new) <= exceptions * count((at | above) & new)
        # If nearly nothing stays below its order, the series computes itself: it grows.
        fits &= n_below >= np.maximum(5, 0.02 * self.n_rows)
        if histories.unit and fits.any():
            # the median shortfall below the order, in Poisson standard deviations
            shortfall = 0.4 * np.sqrt(histories.unit) * np.sqrt(size)
            fits &= count(below & (gap > -shortfall)) <= n_below / 2
            # A demand that moves by one unit a day looks like an order of yesterday's value and
            # one: observations must differ from those of the day before, or of the week before.
            moves = np.zeros(n_groups, dtype=np.bool_)
            for differences in (each[rows] for each in histories.unrest):
                known = np.isfinite(differences)
                total = count(np.where(known, differences, 0.0))
                moves |= total >= 0.25 * np.maximum(count(known), 1.0)
            fits &= moves
        self.binding = np.where(fits, self.n_at / np.maximum(self.n_at + self.n_above, 1.0), 0.0)
        self.log_smooth, self.log_exchangeable = np.zeros(n_groups), np.zeros(n_groups)
        if fits.any():
            keep = fits[who]
            rows, who, gap, size, at = rows[keep], who[keep], gap[keep], size[keep], at[keep]
            hazard = _neighbours_hazard(who, size, gap, n_groups, rounding)
            level = histories.local_level[rows]
            chance = np.maximum(hazard, _poisson_hazard(size, level, histories.unit))
            by_chance, trials = count(np.where(gap >= 0, chance, 0.0)), count(gap >= 0)
            spare = trials - by_chance
            bound = np.where(spare > 1e-9, (count(at) - by_chance) / np.maximum(spare, 1e-9), 0.0)
            self.binding = np.where(fits, bound, self.binding)
            fits &= bound >= 1 - exceptions
            self.log_smooth = np.where(fits, _log_tail(count(at), by_chance, trials), 0.0)
        if fits.any():
            keep = fits[who]
            rows, who, at = rows[keep], who[keep], at[keep]
            worst = np.full(n_groups, -np.inf)
            for weekly in (True, False):
                compared, ties = np.zeros(at.size), at.astype(np.float64)
                for lag in (1, 2, 3):
                    other = histories.before(order, lag, weekly)[rows]
                    there = other > 0
                    compared += there
                    near = rounding.gap(histories.s[rows], np.where(there, other, -1.0)) == 0
                    ties += there & near
                telling = (compared > 0) & (ties > 0)
                chance = np.where(telling, ties / (compared + 1), 0.0)
                found = _log_tail(count(telling & at), count(chance), count(telling))
                worst = np.maximum(worst, found)
            self.log_exchangeable = worst
        self.fits = fits
        strength = -(self.log_smooth + self.log_exchangeable)
        likeness = self.n_at / (self.n_at + self.n_above + 10.0)
        self.rank = np.where(fits, 1e12 + strength, likeness)

    def order(self, histories: Histories, factor: Numbers) -> Array:
        """Orders of all rows with some factor, or with one for each row."""
        return self.rounding.order(factor * self.rule.value(histories))

    def detected(self, group: int, tests: int, level: float, series: Any) -> DetectedRule:
        """Read what was found in one group, after so many tests, up to a corrected p-value."""
        # both nulls must be wrong
        log_p = min(float(max(self.log_smooth[group], self.log_exchangeable[group])), 0.0)
        corrected = min(log_p + log(max(tests, 1)), 0.0)  # Bonferroni
        return DetectedRule(
            rule=self.rule.name,
            factor=float(self.factor[group]),
            lot=self.rounding.lot or None,
            rounding=self.rounding.direction,
            n_rows=int(self.n_rows[group]),
            n_at=int(self.n_at[group]),
            n_above=int(self.n_above[group]),
            binding=float(self.binding[group]),
            z=sqrt(2 * abs(log_p)),
            p_value=exp(corrected),
            accepted=bool(self.fits[group]) and corrected <= log(level),
            series=series,
        )

    def followers(self, histories: Histories) -> Mask:
        """Series in which a rule that all rows obey shows itself, or is too short to tell.

        A series does not follow it if it lies above its orders more often than the allowed
        exceptions explain, or is sold out less than a third as often as all series together.
        """
        order = self.order(histories, self.factor[0])
        gap = self.rounding.gap(histories.s, order)
        rows = np.flatnonzero(histories.counts & ((order > 0) | (gap > 0)))
        gap, who, n_series = gap[rows], histories.series[rows], len(histories.labels)
        level = histories.local_level[rows]
        chance = _poisson_hazard(order[rows], level, histories.unit)
        n_rows, n_at, n_above, tolerated = (
            np.bincount(who, weights=each, minlength=n_series)
            for each in (np.ones(who.size), gap == 0, gap > 0, (gap >= 0) * (1 - chance))
        )
        share = n_at.sum() / max(who.size, 1)
        above_too_often = poisson.sf(n_above - 1, self.exceptions * tolerated) < 0.01
        hardly_at = binom.cdf(n_at, n_rows, share / 3) < 0.01
        return np.asarray(~above_too_often & ~hardly_at)


def _candidates(
    histories: Histories,
    rule: OrderRule,
    roundings: Sequence[Rounding],
    rows: Places,
    group: Places,
    n_groups: int,
    exceptions: float,
) -> Iterator[_Candidate]:
    """Every way of rounding one rule, on paper and as computers do it; factors from `rows`."""
    s, value = histories.s, rule.value(histories)
    allowed = max(exceptions, 0.01)
    price = (1 - allowed) / allowed
    for rounding in roundings:
        factor, gain, n_tests = best_factors(
            s[rows], value[rows], group[rows], n_groups, rounding, price
        )
        if n_groups > 1:  # of a single group every candidate is listed, with how it fails
            factor = np.where(gain >= _MIN_AT, factor, np.nan)
        order = rounding.order(factor[group] * value)
        exact = _Candidate(histories, rule, rounding, factor, order, group, exceptions, n_tests)
        yield exact
        if exact.fits.any():
            # 1.1001 on paper may be 1.1 on a computer
            rounder = np.asarray(np.round(factor, 2), dtype=np.float64)
            rounder = np.where(np.abs(rounder - factor) < 0.002 * factor, rounder, factor)
            way, n_fits = replace(rounding, literal=True), int(np.count_nonzero(exact.fits))
            other = way.order(rounder[group] * value)
            if not np.array_equal(order, other, equal_nan=True):
                yield _Candidate(histories, rule, way, rounder, other, group, exceptions, n_fits)


def _log_tail(successes: Array, expected: Array, trials: Array) -> Array:
    """Bound on the logarithm of P(at least so many successes); 0 if not more than expected.

    Chernoff's −n KL(successes/n ‖ expected/n).
    """
    failures, misses = trials - successes, trials - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        divergence = (
            xlogy(successes, successes)
            - xlogy(successes, expected)
            + xlogy(failures, failures)
            - xlogy(failures, misses)
        )
    bound = -np.maximum(np.nan_to_num(divergence), 0.0)
    return np.where((successes > expected) & (trials > 0), bound, 0.0)


def _poisson_hazard(order: Array, level: Array, unit: float) -> Array:
    """P(N = c) / P(N ≥ c) of Poisson counts of units; 1 where there is no level to compare with.

    Without a unit, observations do not tie by chance.
    """
    if not unit:
        return np.where(np.isfinite(level), 0.0, 1.0)
    count, mean = np.round(order / unit), np.nan_to_num(level) / unit
    log_mass = xlogy(count, mean) - mean - gammaln(count + 1)
    tail = np.where(count > 0, gammainc(np.maximum(count, 1.0), mean), 1.0)
    known = np.isfinite(level) & (tail > 1e-290)
    hazard = np.exp(log_mass) / np.where(known, tail, 1.0)
    return np.where(known, np.minimum(hazard, 1.0), 1.0)


def _neighbours_hazard(
    group: Places, order: Array, gap: Array, n_groups: int, rounding: Rounding
) -> Array:
    """Bound on the hazard at the order by those one and two lots off, orders of like size together.

    Continuing the hazard by its growth in log-odds is generous: it grows more slowly for Poisson,
    negative binomial and normal variables. Orders are of like size when their number of lots has
    the same logarithm to base 2.
    """
    sizes = 32
    # without lots, neighbours are bands of the tolerance's width beside the order's own
    lot, near, size = 2 * _STORED * order, 0.5, np.zeros(order.size, dtype=np.intp)
    if rounding.lot:
        lot, near = np.full_like(order, rounding.lot), _STORED
        lots = np.maximum(order / rounding.lot, 1.0)
        size = np.minimum(np.log2(lots) + _ARITHMETIC, sizes - 1).astype(np.intp)
    cell = group * sizes + size

    def hazard(lots_off: int) -> tuple[Array, Places]:
        inside = order + lots_off * lot > lot / 2
        away = gap - lots_off * lot
        tie = inside & (np.abs(away) <= near * lot)
        reached = tie | (inside & (away > 0))
        ties, trials = (
            np.bincount(cell[which], minlength=sizes * n_groups) for which in (tie, reached)
        )
        return np.asarray((ties + 0.5) / (trials + 1.0)), trials

    (two_below, _), (below, n_below), (above, n_above) = hazard(-2), hazard(-1), hazard(1)
    growth = np.maximum(logit(below) - logit(two_below), 0.0)
    bound = expit(logit(below) + growth) + 2 * np.sqrt(below * (1 - below) / (n_below + 1.0))
    bound = np.where(n_below > 0, bound, 0.0)  # orders of one lot: the Poisson hazard must do
    bound = np.where(n_above >= 10, np.maximum(bound, above), bound)
    return np.asarray(np.minimum(bound, 1.0)[cell])
