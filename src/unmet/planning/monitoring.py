"""Whether a plan still holds: what the days since it was made say about its promises.

A plan promises a share of days that sell out, expects a level of sales, and has learned from
certain prices, series and weekdays. `monitor` compares the days after it with each of these. What
can be tested is tested so that one may look every day (`unmet.planning.sequential`); nothing is
kept between two looks, because all days since the plan are in the table.

Sell-outs of whole units. The best whole order y at level α has P(D > y) ≤ 1 − α < P(D ≥ y). A day
on which exactly y was asked for sells out although demand was met, so that the share of days that
sell out lies between 1 − α and 1 − α + P(D = y), which is much for slow sellers; with lots of k
units it may be lower by P(y − k < D < y). Rates inside of these limits are as planned. Where stock
lasts, what was left over serves the next days too, so that no rate is too low.
"""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.checks import Number
from unmet.errors import InvalidInput
from unmet.planning.decision_log import DecisionLog
from unmet.planning.encoding import as_categories
from unmet.planning.monitored_days import MAX_NAMES, MIN_REFERENCE, MonitoredDays
from unmet.planning.order_plan import OrderPlan
from unmet.planning.reading import as_polars, numbers
from unmet.planning.replenishment_plan import ReplenishmentPlan
from unmet.planning.sequential import (
    days_alike,
    discoveries,
    either,
    first_crossing,
    independent_trials,
    rank_evidence,
    rate_evidence,
)

AS_PLANNED, MONITORING, PLAN_AGAIN, UNKNOWN = "as planned", "monitor", "plan again", "not known"
"""Verdicts."""
ALLOWED = 0.05
"""By how much the share of days that sell out may miss its plan; half of that share where it is
less. No plan is exact, and half a year of days would find the smallest error."""
SHIFT, SHIFT_OF_ONE = 0.1, 0.25
"""By how much the level of all series together, and that of one, may change."""
OUTSIDE = 0.05
"""Share of rows with a price, a promotion, … that the plan has not learned from."""
_TESTS = 5  # share the level
_NEARLY = 10.0  # times the level: reason to monitor
_SLOW = 2.0  # a day: compared by weeks, since most days are alike
_ENDED = 28  # days without a row
_PSI = 0.25  # by custom: the distribution has changed


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
        "sell_outs", "service", "level", "series", "features", "assortment" or "weekdays".
    what : str
        In a planner's words.
    expected, seen : str
    verdict : {"as planned", "monitor", "plan again", "not known"}
    advice : str
        One sentence.
    first_day : datetime.date or None
        On which the test first said "plan again".
    details : dict
        Numbers behind it: what was expected and seen, the evidence (1 at the start) and what it
        must exceed.
    """

    name: str
    what: str
    expected: str
    seen: str
    verdict: str
    advice: str
    first_day: datetime.date | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        first = None if self.first_day is None else str(self.first_day)
        return {**asdict(self), "first_day": first}


@dataclass(frozen=True)
class Monitoring:
    """What the days since a plan say about it.

    Attributes
    ----------
    first_day, last_day : datetime.date
        Of the new rows.
    n_rows, n_days : int
        New rows, and days from the plan's last one to theirs.
    level : float
        How often, at most, a plan that holds is called one to be made again, ever.
    checks : tuple of Check
    notes : tuple of str
    """

    first_day: datetime.date
    last_day: datetime.date
    n_rows: int
    n_days: int
    level: float
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The most serious of all verdicts."""
        found = {each.verdict for each in self.checks}
        return next((each for each in (PLAN_AGAIN, MONITORING) if each in found), AS_PLANNED)

    @property
    def plan_again(self) -> bool:
        """Whether the plan should be made again."""
        return self.verdict == PLAN_AGAIN

    def __getitem__(self, name: str) -> Check:
        """Give a check by its name."""
        return next(each for each in self.checks if each.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "first_day": str(self.first_day),
            "last_day": str(self.last_day),
            "rows": self.n_rows,
            "days": self.n_days,
            "level": self.level,
            "checks": [each.to_dict() for each in self.checks],
            "notes": list(self.notes),
        }


def monitor(
    plan: OrderPlan | ReplenishmentPlan,
    table: Any,
    log: DecisionLog | str | Path | None = None,
    level: float = 0.01,
) -> Monitoring:
    """Compare the days since a plan with what it promised.

    Parameters
    ----------
    plan : OrderPlan or ReplenishmentPlan
        Fitted, or loaded.
    table : table
        Sales with the columns that the plan was made from. Only rows after its last day count.
    log : DecisionLog, str or Path, optional
        What was decided and delivered; a path is that of a Parquet file. Not used for a
        `ReplenishmentPlan`: where stock lasts, a delivery is not all that was there.
    level : float, default=0.01
        How often, at most, a plan that holds may be called one to be made again, however often and
        long one looks. Five tests share it equally.

    Returns
    -------
    Monitoring

    Notes
    -----
    Sell-outs and service are tested as rates, given the days before; sales as ranks among the same
    weekdays of the last 16 weeks before the plan, all series together and one by one (false
    discoveries among the latter have the rate of the test); rows outside of what was learned as a
    rate. A changed distribution inside of it (population stability index) is a remark, not a test.
    A warm week is warm on each of its days: as far as days before the plan went together, several
    in a row count as one (`unmet.planning.sequential.days_alike`), and small differences
    (`ALLOWED`, `SHIFT`) count as planned.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.planning import OrderPlan, example, monitor
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> last = sales["date"].unique().sort()[-15]
    >>> plan = OrderPlan(horizon=7, service_level=0.8, model="linear")
    >>> plan = plan.fit(sales.filter(pl.col("date") <= last))
    >>> found = monitor(plan, sales)
    >>> found.verdict, found.checks[2].what
    ('as planned', 'sales of all together')
    """
    level = Number(above=0, below=1)("level", level)
    if not isinstance(plan, OrderPlan | ReplenishmentPlan):
        raise InvalidInput(
            "plan must be a OrderPlan or a ReplenishmentPlan, such as unmet plan --save writes, "
            "got a "
            f"{type(plan).__name__}."
        )
    if not hasattr(plan, "panel_"):
        raise InvalidInput("plan must have been fitted, got one that was not.")
    days = MonitoredDays(plan, as_polars(table), log)
    share = level / _TESTS
    followed = _sell_outs(days, share)
    checks = (
        followed,
        _service(days, share, followed),
        _all_together(days, share),
        _one_by_one(days, share),
        _features(days, share),
        _assortment(days),
        _weekdays(days),
    )
    first, last = days.dates[days.seen.any(axis=0)][[0, -1]].astype(object)
    return Monitoring(first, last, days.n_rows, days.n_days, level, checks, tuple(days.notes))


def _verdict(evidence: Array, level: float) -> tuple[str, int | None, dict[str, Any]]:
    """Verdict of one test, the day of its first crossing, and its numbers."""
    crossed = first_crossing(evidence, level)
    near = evidence[-1] >= -np.log(min(_NEARLY * level, 1.0)) and evidence[-1] > 0
    verdict = PLAN_AGAIN if crossed is not None else MONITORING if near else AS_PLANNED
    with np.errstate(over="ignore"):
        numbers_of = {
            "evidence": float(np.exp(evidence[-1])),
            "highest_evidence": float(np.exp(evidence.max())),
            "needed": 1.0 / level,
        }
    return verdict, crossed, numbers_of


# --- Sell-outs and service.


@dataclass(frozen=True)
class _Rate:
    """A rate of sell-outs against its plan."""

    verdict: str
    crossed: int | None
    more: bool
    low: float
    high: float
    seen: float
    n_days: int
    details: dict[str, Any]


def _rate(days: MonitoredDays, counted: NDArray[np.bool_], level: float) -> _Rate:
    """Test the share of series that sold out on the days that count, day by day."""
    planned = 1.0 - days.level
    slack = min(ALLOWED, planned / 2.0, (1.0 - planned) / 2.0)
    flags = np.where(counted, days.hidden, np.nan)
    count = counted.sum(axis=0).astype(np.float64)

    def mean(values: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(counted, values, 0.0).sum(axis=0) / count)

    share = mean(np.nan_to_num(flags))
    high = planned + mean(days.ties[:, None])
    low = np.maximum(planned - mean(days.lots[:, None]), 0.0)
    past, n_past = days.panel.hidden, days.reference.shape[1]
    before, of_before = np.full(n_past, np.nan), np.zeros(n_past)
    if past is not None:
        told = past[:, -n_past:]
        of_before = (~np.isnan(told)).sum(axis=0).astype(np.float64)
        with np.errstate(invalid="ignore"):
            before = np.nansum(told, axis=0) / of_before
    trials = independent_trials(
        np.concatenate([before, share]), np.concatenate([of_before, count]), n_past
    )
    alike = days_alike(before, days.of_reference) if past is not None else 1.0
    trials = trials / alike
    highest, lowest = np.minimum(high + slack, 1.0), np.maximum(low - slack, 0.0)
    more = rate_evidence(share, np.nan_to_num(highest), trials, above=True, period=days.cycle)
    less = rate_evidence(share, np.nan_to_num(lowest), trials, above=False, period=days.cycle)
    verdict, crossed, found = _verdict(either(more, less), level)
    place = -1 if crossed is None else crossed + 1
    total = count.sum()
    weight = count / total
    low_mean, high_mean = (float(weight @ np.nan_to_num(each)) for each in (low, high))
    seen = float(weight @ np.nan_to_num(share))
    details = {
        **found,
        "planned_rate": [low_mean, high_mean],
        "allowed": slack,
        "seen_rate": seen,
        "days": int(total),
    }
    return _Rate(
        verdict,
        crossed,
        bool(more[place] > less[place]),
        low_mean,
        high_mean,
        seen,
        int(total),
        details,
    )


def _range(low: float, high: float) -> str:
    """Two shares as one, or as a range."""
    ends = f"{low:.0%}", f"{high:.0%}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _sell_outs(days: MonitoredDays, level: float) -> Check:
    """Days that sold out, where the plan was followed."""
    what = "days that sold out"
    planned = 1.0 - days.level
    counted, by_whom = days.follows
    if counted is None or not counted.any():
        why = (
            "Stock lasts, so that one order is not what a day had to sell; see the next line."
            if days.lasting
            else "Nothing tells which days sold out: keep the log, or a column of flags or stock."
            if counted is None
            else "On none of the new days is it known that the plan was followed."
        )
        return Check("sell_outs", what, f"{planned:.0%}", "-", UNKNOWN, why)
    found = _rate(days, counted, level)
    if found.verdict == AS_PLANNED:
        advice = "Orders sell out about as often as they should."
    elif found.more:
        advice = "Orders run out more often than planned: demand has grown, or it varies more."
    else:
        advice = "Orders run out less often than planned: demand has fallen, or it varies less."
    return Check(
        "sell_outs",
        f"{what}, {by_whom}",
        _range(found.low, found.high),
        f"{found.seen:.0%} of {found.n_days:,}",
        found.verdict,
        advice,
        days.date(found.crossed),
        {**found.details, "followed_is_known": days.follows_known},
    )


def _service(days: MonitoredDays, level: float, followed: Check) -> Check:
    """Days on which something was left, whatever method decided the orders."""
    what = "days with something left"
    target = days.level
    counted = ~np.isnan(days.hidden)
    if not counted.any():
        why = "Nothing tells which days sold out, so service cannot be compared with its target."
        return Check("service", what, f"{target:.0%}", "-", UNKNOWN, why)
    found = _rate(days, counted, level)
    verdict = found.verdict
    if verdict == AS_PLANNED:
        advice = "Service is about what it should be."
    elif _held(followed, found):
        verdict = MONITORING
        advice = "Where the plan was followed it held: look at deliveries and at changed orders."
    elif found.more:
        advice = "Customers leave without more often than planned: order more."
    else:
        advice = "Much more is left than planned: money lies on the shelf."
    return Check(
        "service",
        what,
        _range(1.0 - found.high, 1.0 - found.low),
        f"{1.0 - found.seen:.0%} of {found.n_days:,}",
        verdict,
        advice,
        days.date(found.crossed),
        found.details,
    )


def _held(followed: Check, all_days: _Rate) -> bool:
    """Whether the plan held where it is known to have been followed, on enough of all days."""
    found = followed.details
    if followed.verdict != AS_PLANNED or not found["followed_is_known"]:
        return False
    (low, high), slack = found["planned_rate"], found["allowed"]
    enough = all_days.n_days / 4 <= found["days"] < all_days.n_days
    return bool(enough and low - slack <= found["seen_rate"] <= high + slack)


# --- Levels.


def _both_ways(
    reference: Array,
    fresh: tuple[Array, Array],
    of_reference: NDArray[np.intp],
    of_fresh: NDArray[np.intp],
    tolerance: float,
    period: int,
) -> tuple[Array, Array]:
    """Evidence that a level has risen, and that it has fallen; weeks in a row count fully."""
    alike = days_alike(reference, of_reference) if period > 1 else 1.0
    risen, fallen = (
        rank_evidence(
            reference,
            values,
            tolerance=tolerance,
            above=above,
            of_reference=of_reference,
            of_fresh=of_fresh,
            alike=alike,
            period=period,
        )
        for values, above in zip(fresh, (True, False), strict=True)
    )
    return risen, fallen


def _floors(days: MonitoredDays) -> Array:
    """Sales, and on days that sold out at least what was expected: they do not show a fall."""
    return np.where(days.hidden == 1.0, np.fmax(days.observed, days.expected), days.observed)


def _all_together(days: MonitoredDays, level: float) -> Check:
    """Sales of all series that both the plan and the new rows know."""
    what = "sales of all together"
    told = days.told[:, None]

    def share(values: Array, expected: Array) -> Array:
        there = told & ~np.isnan(values) & ~np.isnan(expected)
        sums = np.where(there, expected, 0.0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(there, values, 0.0).sum(axis=0) / sums
        return np.where(sums > 0, found, np.nan)

    usual = days.usual[:, days.of_reference]
    fresh = tuple(share(each, days.expected) for each in (days.observed, _floors(days)))
    if np.isnan(fresh[0]).all():
        return Check("level", what, "-", "-", UNKNOWN, "The plan has too few days to compare with.")
    risen, fallen = _both_ways(
        share(days.reference, usual),
        (fresh[0], fresh[1]),
        days.of_reference,
        days.of_day,
        SHIFT,
        days.cycle,
    )
    verdict, crossed, found = _verdict(either(risen, fallen), level)
    there = told & days.seen & ~np.isnan(days.expected)
    expected, seen = (float(each[there].sum()) for each in (days.expected, days.observed))
    change = seen / expected - 1.0 if expected > 0 else 0.0
    place = -1 if crossed is None else crossed + 1
    if verdict == AS_PLANNED:
        advice = "Sales are about where the plan saw them."
    else:
        way = "above" if risen[place] > fallen[place] else "below"
        advice = f"Sales lie {way} what the plan expected of the same weekdays."
    return Check(
        "level",
        what,
        f"{expected:,.0f} units",
        f"{seen:,.0f} ({change:+.0%})",
        verdict,
        advice,
        days.date(crossed),
        {**found, "expected_units": expected, "seen_units": seen, "allowed": SHIFT},
    )


def _one_by_one(days: MonitoredDays, level: float) -> Check:
    """Series whose own level has moved, false discoveries controlled."""
    what = "sales by series"
    tested = np.flatnonzero(days.told & days.seen.any(axis=1))
    if not tested.size:
        return Check(
            "series", what, "-", "-", UNKNOWN, "The plan has too few days to compare with."
        )
    evidence = np.zeros((tested.size, days.n_days + 1))
    up = np.zeros(evidence.shape, dtype=np.bool_)
    # where the table of orders expects more than usual, as for a promotion, more is no shift
    usual = days.usual[:, days.of_day]
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(days.expected > 0, usual / days.expected, 1.0)
    fresh = days.observed * scale, _floors(days) * scale
    slow = (days.mean[tested] < _SLOW) & (days.cycle > 1)
    for rows, weekly in ((~slow, False), (slow, True)):
        own = tested[rows]
        if not own.size:
            continue
        if weekly:
            risen, fallen = _by_weeks(days, own, fresh)
        else:
            risen, fallen = _both_ways(
                days.reference[own],
                (fresh[0][own], fresh[1][own]),
                days.of_reference,
                days.of_day,
                SHIFT_OF_ONE,
                days.cycle,
            )
        evidence[rows], up[rows] = either(risen, fallen), risen > fallen
    moved = np.zeros(tested.size, dtype=np.bool_)
    crossed: int | None = None
    place = evidence.shape[1] - 1
    for day in range(1, evidence.shape[1]):
        found = discoveries(evidence[:, day], level)
        if found.any():
            crossed = day - 1 if crossed is None else crossed
            moved, place = found, day
    nearly = discoveries(evidence[:, -1], min(_NEARLY * level, 1.0))
    listed = moved if moved.any() else nearly
    verdict = PLAN_AGAIN if moved.any() else MONITORING if nearly.any() else AS_PLANNED
    ranked = tested[listed][np.argsort(-evidence[listed, place], kind="stable")]
    n_up = int(up[listed, place].sum())
    advice = (
        "No series has moved further than chance moves some."
        if not listed.any()
        else f"Moved: {days.named(ranked)}."
    )
    seen = f"{int(listed.sum()):,} of {tested.size:,}"
    if listed.any():
        seen += f" ({n_up:,} up, {int(listed.sum()) - n_up:,} down)"
    return Check(
        "series",
        what,
        "none has moved",
        seen,
        verdict,
        advice,
        days.date(crossed),
        {
            "tested": int(tested.size),
            "moved": [days.key(int(each)) for each in ranked],
            "up": n_up,
            "allowed": SHIFT_OF_ONE,
            "highest_evidence": float(np.exp(min(evidence[:, -1].max(), 700.0))),
            "false_discovery_rate": level,
        },
    )


def _by_weeks(
    days: MonitoredDays, own: NDArray[np.intp], fresh: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Evidence from means of weeks, which changes on the last day of each of them."""

    def weeks(values: Array, first: int) -> Array:
        cut = values[:, first:][:, : (values.shape[1] - first) // 7 * 7]
        blocks = cut.reshape(cut.shape[0], -1, 7)
        there = (~np.isnan(blocks)).sum(axis=2)
        with np.errstate(invalid="ignore"):
            return np.where(there >= 4, np.nansum(blocks, axis=2) / there, np.nan)

    past = days.reference[own]
    before = weeks(past, past.shape[1] % 7)
    risen, fallen = _both_ways(
        before,
        (weeks(fresh[0][own], 0), weeks(fresh[1][own], 0)),
        np.zeros(before.shape[1], dtype=np.intp),
        np.zeros(days.n_days // 7, dtype=np.intp),
        SHIFT_OF_ONE,
        1,
    )
    of_week = np.arange(days.n_days + 1) // 7
    return risen[:, of_week], fallen[:, of_week]


# --- What is known beforehand.


def _features(days: MonitoredDays, level: float) -> Check:
    """Rows whose prices, promotions, … the plan has not learned from."""
    what = "known beforehand"
    if not days.known:
        why = "The plan uses no column that is known beforehand, such as prices."
        return Check("features", what, "-", "-", UNKNOWN, why)
    what = ", ".join(days.known[:3]) + (", …" if len(days.known) > 3 else "")
    column = days.row_days()
    owner = days.row_owners()
    evidence, strange, changed = [], {}, {}
    remarks: list[str] = []
    for name in days.known:
        outside, index, new = _column_check(days, name, owner, column)
        told = ~np.isnan(outside)
        count = np.bincount(column[told], minlength=days.n_days).astype(np.float64)
        sums = np.bincount(column[told], weights=outside[told], minlength=days.n_days)
        with np.errstate(invalid="ignore"):
            share = np.where(count > 0, sums / count, np.nan)
        ones = np.ones(days.n_days)
        evidence.append(rate_evidence(share, OUTSIDE * ones, ones, above=True, period=days.cycle))
        strange[name] = float(outside[told].mean()) if told.any() else 0.0
        if index is not None:
            changed[name] = index
        if new:
            remarks.append(f"{name} has new values: {', '.join(new[:MAX_NAMES])}.")
    mean = np.logaddexp.reduce(np.stack(evidence), axis=0) - np.log(len(evidence))
    verdict, crossed, found = _verdict(mean, level)
    worst = max(strange, key=strange.__getitem__)
    moved = [name for name, index in changed.items() if index >= _PSI]
    if verdict != AS_PLANNED:
        advice = f"{worst} has values that the plan has not learned from."
    elif moved:
        verdict = MONITORING
        advice = f"{', '.join(moved)}: values are as before, but how often each occurs has changed."
    elif remarks:
        verdict, advice = MONITORING, remarks[0]
    else:
        advice = "Values are like those that the plan has learned from."
    days.notes += remarks
    return Check(
        "features",
        what,
        f"at most {OUTSIDE:.0%} new",
        f"{strange[worst]:.0%} new",
        verdict,
        advice,
        days.date(crossed),
        {**found, "outside": strange, "stability_index": changed},
    )


def _column_check(
    days: MonitoredDays, name: str, owner: NDArray[np.intp], column: NDArray[np.intp]
) -> tuple[Array, float | None, list[str]]:
    """Say which rows are outside of what was learned, how the rest is spread, and what is new."""
    panel = days.panel
    past = panel.known[name][:, : panel.n_days]
    new: list[str] = []
    if name in panel.categories:
        text = as_categories(days.rows[name]).to_list()
        if name not in panel.words:  # of a file that does not hold them
            return np.full(len(text), np.nan), None, new
        number = {word: place for place, word in enumerate(panel.words[name])}
        values = np.array([number.get(word, -1) for word in text], dtype=np.float64)
        outside = (values < 0).astype(np.float64)
        new = sorted({word for word, code in zip(text, values, strict=True) if code < 0})
        cuts = np.arange(len(number) - 1).astype(np.float64) + 0.5
    else:
        values = numbers(days.rows, name, "known_future")
        there = ~np.isnan(past)
        if not there.any():
            return np.full(values.size, np.nan), None, new
        low, high = (np.full(values.size, end) for end in (past[there].min(), past[there].max()))
        if name == panel.price:
            # a price is dear or cheap beside those of its own series
            some = there.sum(axis=1) >= MIN_REFERENCE
            own = np.where((owner >= 0) & some[owner], owner, -1)
            ends = (
                np.where(there, past, np.inf).min(axis=1),
                np.where(there, past, -np.inf).max(axis=1),
            )
            low, high = (
                np.where(own >= 0, ends[0][own], low),
                np.where(own >= 0, ends[1][own], high),
            )
        slack = 0.05 * (high - low) + 0.02 * np.abs(high)
        outside = ((values < low - slack) | (values > high + slack)).astype(np.float64)
        outside[np.isnan(values)] = np.nan
        cuts = _tenths(past[there])
    if not cuts.size:
        return outside, None, new
    inside = ~np.isnan(values) & (outside == 0.0)
    return outside, _stability(past, values[inside], cuts, np.unique(column).size), new


def _tenths(values: Array) -> Array:
    """Cut values into tenths."""
    return np.unique(np.quantile(values, np.arange(1, 10) / 10)).astype(np.float64)


def _stability(past: Array, values: Array, cuts: Array, n_days: int) -> float | None:
    """Give the population stability index, less what chance adds; None where days are too few."""
    known = past[~np.isnan(past)]
    n_past = int((~np.isnan(past)).any(axis=0).sum())
    if n_days < 2 * 7 or not known.size or not values.size:
        return None
    shares = []
    for each in (known, values):
        count = np.bincount(np.searchsorted(cuts, each), minlength=cuts.size + 1) + 0.5
        shares.append(count / count.sum())
    index = float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())
    # days count, not rows: a promotion or the weather is the same for many of them
    return max(index - 2.0 * cuts.size * (1.0 / n_days + 1.0 / n_past), 0.0)


# --- What the plan has no orders for.


def _assortment(days: MonitoredDays) -> Check:
    """Series that are new, or that have ended."""
    panel = days.panel
    assert panel.planned is not None
    owner, fresh = days.owner, days.fresh
    unknown = int((~days.own).sum())
    back = int((~panel.planned[owner[days.own]]).sum())
    weeks = -(-_ENDED // panel.step)
    ended = np.zeros(panel.n_series, dtype=np.bool_)
    if days.n_days >= weeks:
        ended = panel.planned & ~days.seen[:, -weeks:].any(axis=1)
    n_ended = int(ended.sum())
    new = []
    if unknown and fresh.keys is not None:
        rows = np.flatnonzero(~days.own)
        new = [
            " ".join(str(fresh.keys[name][int(row)]) for name in days.schema.series) for row in rows
        ]
    parts = []
    if unknown:
        parts.append(f"{unknown:,} new")
    if back:
        parts.append(f"{back:,} back")
    if n_ended:
        parts.append(f"{n_ended:,} ended")
    verdict, advice = AS_PLANNED, "All series that are sold have orders."
    if unknown or back:
        verdict = PLAN_AGAIN
        more = f": {', '.join(new[:MAX_NAMES])}" if new else ""
        advice = f"Series that are sold have no orders{more}."
    elif n_ended:
        verdict = MONITORING
        advice = (
            f"No row in the last {_ENDED} days, but orders: {days.named(np.flatnonzero(ended))}."
        )
    return Check(
        "assortment",
        "series",
        f"{int(panel.planned.sum()):,}",
        ", ".join(parts) or "the same",
        verdict,
        advice,
        details={
            "new": new,
            "back": back,
            "ended": [days.key(int(each)) for each in np.flatnonzero(ended)],
        },
    )


def _weekdays(days: MonitoredDays) -> Check:
    """Weekdays on which nothing was sold before."""
    open_before = days.panel.open_weekdays
    used = days.seen.any(axis=0)
    names = [str(each.astype(object).strftime("%A")) for each in days.dates]
    opened: dict[str, int] = {}
    for place in np.flatnonzero(used & ~open_before[days.of_day]):
        opened[names[place]] = opened.get(names[place], 0) + 1
    verdict, advice = AS_PLANNED, "The days that are open have orders."
    if opened:
        verdict = PLAN_AGAIN if max(opened.values()) >= 2 else MONITORING
        advice = f"{', '.join(opened)}: open now, closed before, and without orders."
    return Check(
        "weekdays",
        "open weekdays",
        f"{int(open_before.sum())}" if days.cycle > 1 else "-",
        ", ".join(f"{name} is new" for name in opened) or "the same",
        verdict,
        advice,
        details={"new": opened},
    )
