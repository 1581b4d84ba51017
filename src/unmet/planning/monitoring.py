"""Whether a plan still holds: what the days since it was made say about its promises.

A plan promises a share of days that sell out, expects a level of sales, and has orders for certain
series and weekdays. `monitor` compares the days after it with each of these. What can be tested is
tested so that you may look every day (`unmet.planning.sequential`); nothing is kept between two
looks, because all days since the plan are in the table.

Sell-outs of whole units. The best whole order y at level α has P(D > y) ≤ 1 − α < P(D ≥ y). A day
on which exactly y was asked for sells out although demand was met, so that the share of days that
sell out lies between 1 − α and 1 − α + P(D = y), which is much for slow sellers. Orders in lots,
and lasting stock, may sell out less often; then no rate is too low.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.planning.decision_log import DecisionLog
from unmet.planning.order_plan import OrderPlan
from unmet.planning.sequential import (
    days_alike,
    discoveries,
    independent_trials,
    rank_evidence,
    rate_evidence,
)
from unmet.tables.dates import LENGTH, read_dates
from unmet.tables.forms import add_up, as_long
from unmet.tables.panel import Places, read_panel
from unmet.tables.reading import as_polars
from unmet.validation import Number

AS_PLANNED, MONITORING, PLAN_AGAIN, UNKNOWN = "as planned", "monitor", "plan again", "not known"
"""Verdicts."""
ALLOWED = 0.05
"""By how much the share of days that sell out may miss its plan; half of that share where it is
less. No plan is exact, and half a year of days would find the smallest error."""
SHIFT, SHIFT_OF_ONE = 0.1, 0.25
"""By how much the level of all series together, and that of one, may change."""
_NEARLY = 10.0  # times the level: reason to monitor
_ENDED = 28  # days without a row


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
        "sell_outs", "level", "series", "assortment" or "weekdays".
    what : str
        In a planner's words.
    expected, seen : str
    verdict : {"as planned", "monitor", "plan again", "not known"}
    advice : str
        One sentence.
    first_day : datetime.date or None
        On which the test first said "plan again".
    details : dict
        Numbers behind it.
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
        False-alarm probability over the whole monitoring period.
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
    plan: OrderPlan,
    table: Any,
    log: DecisionLog | str | Path | None = None,
    level: float = 0.01,
) -> Monitoring:
    """Compare the days since a plan with what it promised.

    Parameters
    ----------
    plan : OrderPlan
        Fitted, or loaded.
    table : table
        Sales with the columns that the plan was made from. Only rows after its last day count.
    log : DecisionLog, str or Path, optional
        What was decided and delivered; a path is that of a Parquet file. Days on which something
        else was there than had been suggested then do not count as sell-outs of the plan. Not used
        for a plan with supply rules: where stock lasts, a delivery is not all that was there.
    level : float, default=0.01
        False-alarm probability over the whole monitoring period, however often you look. Three
        tests share it equally.

    Returns
    -------
    Monitoring

    Notes
    -----
    Sell-outs are tested as a rate, given the days before; sales as ranks among the same weekdays
    of the last 16 weeks before the plan, all series together and one by one (false discoveries
    among the latter have the rate of the test).
    A warm week is warm on each of its days: as far as days before the plan went together, several
    in a row count as one (`unmet.planning.sequential.days_alike`), and small differences
    (`ALLOWED`, `SHIFT`) count as planned.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.planning import example, monitor
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> last = sales["date"].unique().sort()[-15]
    >>> plan = OrderPlan(horizon=7, cost=Newsvendor.at_level(0.8), model="linear")
    >>> plan = plan.fit(sales.filter(pl.col("date") <= last))
    >>> found = monitor(plan, sales)
    >>> found.verdict, found["level"].what
    ('as planned', 'total sales')
    """
    level = Number(above=0, below=1)("level", level)
    if not isinstance(plan, OrderPlan):
        raise InvalidInput(f"plan must be an OrderPlan, got a {type(plan).__name__}.")
    if not hasattr(plan, "panel_"):
        raise InvalidInput("plan must have been fitted, got one that was not.")
    days = _MonitoredDays(plan, as_polars(table), log)
    tests = (_sell_outs, _all_together, _one_by_one)
    checks = [test(days, level / len(tests)) for test in tests]
    checks += [_assortment(days), _weekdays(days)]
    first, last = days.dates[days.seen.any(axis=0)][[0, -1]].astype(object)
    return Monitoring(
        first, last, days.n_rows, days.n_days, level, tuple(checks), tuple(days.notes)
    )


# --- New rows beside the plan.


class _MonitoredDays:
    """New rows on the grid of the plan: matrices of its series × new days.

    Beside what was sold stands what the plan expected of the day, whether it sold out, and the last
    weeks before the plan, with which new days are compared.
    """

    def __init__(
        self, plan: OrderPlan, table: pl.DataFrame, log: DecisionLog | str | Path | None
    ) -> None:
        self.plan, self.panel, self.schema = plan, plan.panel_, plan.schema_
        self.cycle = self.panel.cycle
        self._read(plan.with_flags(table))
        self._flags(log)
        self._expect()

    def _read(self, table: pl.DataFrame) -> None:
        """Read the rows after the plan's last day, and place them among its series and days."""
        panel, schema = self.panel, self.schema
        table, *_ = as_long(table)
        asked = (schema.date, *schema.series, schema.sales, schema.sold_out, schema.stock)
        lacking = [name for name in asked if name and name not in table.columns]
        if lacking:
            raise InvalidInput(
                f"table must have the columns of the plan, got no {lacking[0]!r} but "
                f"{', '.join(table.columns[:20])}."
            )
        end = panel.date(np.array([panel.n_days - 1]))[0].astype(object)
        dates = read_dates(table, schema.date)
        rows = table.with_columns(dates.alias(schema.date)).filter(dates > end)
        if rows.height:
            rows, schema, _ = add_up(rows, replace(schema, period=panel.period))
        self.n_rows = rows.height
        if not self.n_rows:
            raise InvalidInput(
                f"table must have rows after the plan's last day, {end}, got none after "
                f"{dates.max()!s}."
            )
        zeros = schema.gaps == "zero" or any(" as 0 sold" in note for note in self.plan.notes_)
        gaps = "zero" if zeros else "missing"
        fresh, notes = read_panel(
            rows, replace(schema, known_future=(), static=(), gaps=gaps, period=panel.period)
        )
        self.fresh, self.notes = fresh, [note for note in notes if "no orders" not in note]
        found = fresh.date(np.arange(fresh.n_days))
        places = panel.place(found)
        if panel.period == "week" and (panel.date(places) != found).any():
            raise InvalidInput(
                f"table must have weeks that start on the weekday of the plan, got {found[0]}."
            )
        self._columns = places - panel.n_days
        self.n_days = int(self._columns[-1]) + 1
        day = panel.n_days + np.arange(self.n_days)
        self.dates, self.of_day = panel.date(day), day % self.cycle
        assert fresh.keys is not None
        self.owner = np.zeros(1, dtype=np.intp)  # of each new series; −1 where the plan has none
        if schema.series:
            self.owner = panel.places(fresh.keys, schema.series)
        self.observed = self._on_grid(fresh.observed)
        self.seen = ~np.isnan(self.observed)
        if not self.seen.any():
            raise InvalidInput(
                "table must have new rows of series in the plan, got only other series."
            )

    def _on_grid(self, values: Array) -> Array:
        """Put a matrix of the new panel onto the grid of the plan; NaN where it has nothing."""
        found = np.full((self.panel.n_series, self.n_days), np.nan)
        own = self.owner >= 0
        found[np.ix_(self.owner[own], self._columns)] = values[own]
        return found

    def _flags(self, log: DecisionLog | str | Path | None) -> None:
        """Find which days sold out, and on which of them that speaks of the plan.

        With a log these are the days on which what was there is what had been suggested.
        """
        hidden, followed = self.fresh.hidden, None
        if log is not None and self.plan.supply is not None:
            self.notes.append(
                "The log was not used, because deliveries are not all of the stock that is kept."
            )
        elif log is not None:
            if not isinstance(log, DecisionLog):
                if not Path(log).exists():
                    raise InvalidInput(f"log must be a file that exists, got {log}.")
                log = DecisionLog.read(Path(log), self.schema.series)
            hidden, said = log.flags(self.fresh)
            self.notes += said or ["The log has no entries for the new days."]
            followed = log.followed(self.fresh).astype(np.float64) if said else None
        self.hidden = np.full(self.observed.shape, np.nan)
        if hidden is not None:
            self.hidden = np.where(self.seen, self._on_grid(hidden), np.nan)
        self.counted = ~np.isnan(self.hidden)
        self.by_log = followed is not None
        if followed is not None:
            known = int(self.counted.sum())
            self.counted &= self._on_grid(followed) == 1.0
            others = known - int(self.counted.sum())
            if others:
                self.notes.append(
                    f"On {others:,} of {known:,} days the stock differs from the suggested order: "
                    "check deliveries and changed orders."
                )

    def _expect(self) -> None:
        """Say what is usual on each weekday, what the plan expects, and how often orders just met.

        `ties` is the chance of asking for exactly the order, by a negative binomial distribution
        with the mean and the variance of the last days before the plan.
        """
        plan, panel = self.plan, self.panel
        size = min(
            112 if panel.unit == "day" else 52, panel.n_days
        )  # 16 weeks of days, a year of weeks
        demand = panel.observed if plan.demand_ is None else plan.demand_
        self.reference = demand[:, panel.n_days - size :].copy()
        if plan.demand_ is None and plan.supply is None:
            # where only a rate is known, orders that reach further also sell more
            usual, hidden = (
                float(plan.order_table_[name].sum()) for name in ("usual_sales", "hidden_demand")
            )
            self.reference *= 1.0 + (hidden / usual if usual > 0 else 0.0)
        self.of_reference = np.arange(panel.n_days - size, panel.n_days) % self.cycle
        there = ~np.isnan(self.reference)
        self.told = there.sum(axis=1) >= min(14, size)  # enough days to compare with
        with np.errstate(invalid="ignore"):
            mean = np.nansum(self.reference, axis=1) / there.sum(axis=1)
        self.usual = np.empty((panel.n_series, self.cycle))
        for each in range(self.cycle):  # beside those of the weekday, three days of all weekdays
            own = self.of_reference == each
            sums = np.nansum(self.reference[:, own], axis=1) + 3.0 * mean
            self.usual[:, each] = sums / (there[:, own].sum(axis=1) + 3.0)
        self.expected = self.usual[:, self.of_day]
        base = self.usual[:, self.of_reference]
        with np.errstate(invalid="ignore"):
            excess = np.nansum((self.reference - base) ** 2 - base, axis=1)
            excess = excess / np.nansum(np.where(there, base**2, 0.0), axis=1)
        excess = np.clip(np.nan_to_num(excess), 1e-3, 10.0)
        series = np.arange(panel.n_series)
        if plan.supply is not None:  # an order serves the periods until the next one arrives
            ahead, rules = plan.expected_, plan.rules_
            known = min(self.n_days, ahead.shape[1])
            self.expected[:, :known] = ahead[:, :known]
            periods = rules.whole("lead_time", series.size) + rules.whole("review", series.size)
            asked = (ahead * (np.arange(ahead.shape[1]) < periods[:, None])).sum(axis=1)
            order = plan.state_.position + plan.replenishment_.order
            excess, whole = excess / periods, rules.lot is not None  # sums vary less
            self.may_be_less = True
        else:
            (series, day, _), orders = plan.targets_, plan.order_table_
            asked = self.usual[series, day % self.cycle]
            order = orders["order"].to_numpy().astype(np.float64)
            inside = day < panel.n_days + self.n_days
            place = series[inside], day[inside] - panel.n_days
            median = (orders["usual_sales"] + orders["hidden_demand"]).to_numpy()[inside]
            # half of the days of a slow seller say little about its mean
            better = (median > 0) & (self.expected[place] >= 5.0)
            self.expected[place] = np.where(better, median, self.expected[place])
            whole, self.may_be_less = bool(plan.lot_.any()), bool(plan.lot_.max() > 1.0)
        self.ties = np.zeros(panel.n_series)
        if whole and there.any():
            asked = np.maximum(np.where(np.isnan(asked), np.nanmean(mean), asked), 1e-3)
            chance = stats.nbinom(1.0 / excess[series], 1.0 / (1.0 + excess[series] * asked))
            just = chance.pmf(np.round(order))
            count = np.bincount(series, minlength=panel.n_series)
            sums = np.bincount(series, weights=just, minlength=panel.n_series)
            self.ties = np.where(count > 0, sums / np.maximum(count, 1), just.mean())

    def sold(self) -> tuple[Array, Array]:
        """Sales that show a rise, and those that show a fall: sold-out days do not."""
        floors = np.where(self.hidden == 1.0, np.fmax(self.observed, self.expected), self.observed)
        return self.observed, floors

    def names(self, series: Places) -> list[str]:
        """Names of series of the plan."""
        keys = self.panel.keys
        if not self.schema.series or keys is None:
            return ["the series"] * series.size
        return [" ".join(map(str, row)) for row in keys.select(self.schema.series)[series].rows()]

    def moved(
        self, reference: Array, fresh: Sequence[Array], tolerance: float
    ) -> tuple[Array, Array]:
        """Evidence that a level has risen, and that it has fallen; weeks in a row count fully."""
        how: dict[str, Any] = {
            "of_reference": self.of_reference,
            "of_fresh": self.of_day,
            "tolerance": tolerance,
            "alike": days_alike(reference, self.of_reference) if self.cycle > 1 else 1.0,
            "period": self.cycle,
        }
        risen = rank_evidence(reference, fresh[0], above=True, **how)
        return risen, rank_evidence(reference, fresh[1], above=False, **how)

    def verdict(
        self, level: float, more: Array, less: Array
    ) -> tuple[str, bool, datetime.date | None, dict[str, Any]]:
        """Verdict of a test, whether it is for more, the day on which it was sure, its numbers."""
        evidence = np.logaddexp(more, less) - np.log(2.0)
        crossed = np.flatnonzero(evidence[1:] >= -np.log(level))
        near = evidence[-1] >= -np.log(min(_NEARLY * level, 1.0)) and evidence[-1] > 0
        verdict = PLAN_AGAIN if crossed.size else MONITORING if near else AS_PLANNED
        first_day = self.dates[crossed[0]].astype(object) if crossed.size else None
        place = crossed[0] + 1 if crossed.size else -1
        highest = float(np.exp(min(evidence.max(), 700.0)))
        details = {"highest_evidence": highest, "needed": 1.0 / level}
        return verdict, bool(more[place] > less[place]), first_day, details


# --- What is tested.


def _sell_outs(days: _MonitoredDays, level: float) -> Check:
    """Share of series that sold out, day by day, where that speaks of the plan."""
    what, planned = "stock-outs", 1.0 - float(days.plan.cost_.level)
    if not days.counted.any():
        why = (
            "No new day has a log entry that shows that the order was followed."
            if days.by_log
            else "Not tested: add a log, or a column of flags or stock (log=)."
        )
        return Check("sell_outs", what, f"{planned:.0%}", "-", UNKNOWN, why)
    slack = min(ALLOWED, planned / 2.0, (1.0 - planned) / 2.0)
    count = days.counted.sum(axis=0).astype(np.float64)
    weight = np.where(days.counted, 1.0 / np.maximum(count, 1.0), 0.0)  # of a series on a day
    share = np.where(count > 0, (weight * np.nan_to_num(days.hidden)).sum(axis=0), np.nan)
    low = np.full(days.n_days, 0.0 if days.may_be_less else planned)
    high = planned + days.ties @ weight
    past, n_past = np.full(days.reference.shape, np.nan), days.reference.shape[1]
    if days.panel.hidden is not None:
        past = days.panel.hidden[:, -n_past:]
    n_before = (~np.isnan(past)).sum(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore"):
        before = np.nansum(past, axis=0) / n_before
    trials = independent_trials(
        np.concatenate([before, share]), np.concatenate([n_before, count]), n_past
    )
    if days.panel.hidden is not None:
        trials = trials / days_alike(before, days.of_reference)
    most, least = np.minimum(high + slack, 1.0), np.maximum(low - slack, 0.0)
    more = rate_evidence(share, most, trials, above=True, period=days.cycle)
    less = rate_evidence(share, least, trials, above=False, period=days.cycle)
    verdict, upward, first_day, details = days.verdict(level, more, less)
    advice = "Stock-outs are as frequent as planned."
    if verdict != AS_PLANNED:
        way, why = ("more", "higher") if upward else ("less", "lower")
        advice = f"Stock-outs are {way} frequent than planned: demand or its variance is {why}."
    total = int(count.sum())
    rate, lowest, highest = (float(count @ np.nan_to_num(x) / total) for x in (share, low, high))
    details |= {"planned_rate": [lowest, highest], "seen_rate": rate, "days": total}
    what += ", by the log" if days.by_log else ""
    expected = " to ".join(dict.fromkeys((f"{lowest:.0%}", f"{highest:.0%}")))
    seen = f"{rate:.0%} of {total:,}"
    return Check("sell_outs", what, expected, seen, verdict, advice, first_day, details)


_TOO_FEW = "Not tested: the plan has too few days."


def _all_together(days: _MonitoredDays, level: float) -> Check:
    """Sales of all series that both the plan and the new rows know."""
    what = "total sales"

    def share(values: Array, expected: Array) -> Array:
        there = days.told[:, None] & ~np.isnan(values) & ~np.isnan(expected)
        sums = np.where(there, expected, 0.0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(there, values, 0.0).sum(axis=0) / sums
        return np.where(sums > 0, found, np.nan)

    fresh = [share(each, days.expected) for each in days.sold()]
    if np.isnan(fresh[0]).all():
        return Check("level", what, "-", "-", UNKNOWN, _TOO_FEW)
    usual = share(days.reference, days.usual[:, days.of_reference])
    verdict, upward, first_day, details = days.verdict(level, *days.moved(usual, fresh, SHIFT))
    there = days.told[:, None] & days.seen & ~np.isnan(days.expected)
    expected, seen = (float(each[there].sum()) for each in (days.expected, days.observed))
    details |= {"expected_units": expected, "seen_units": seen}
    change = seen / expected - 1.0 if expected > 0 else 0.0
    units = f"{expected:,.0f} units", f"{seen:,.0f} ({change:+.0%})"
    advice = "Total sales are as expected."
    if verdict != AS_PLANNED:
        way = "above" if upward else "below"
        advice = f"Total sales are {way} the forecast of the plan."
    return Check("level", what, *units, verdict, advice, first_day, details)


def _one_by_one(days: _MonitoredDays, level: float) -> Check:
    """Series whose own level has moved, false discoveries controlled."""
    what = "sales by series"
    tested = days.told & days.seen.any(axis=1)
    if not tested.any():
        return Check("series", what, "-", "-", UNKNOWN, _TOO_FEW)
    # where the table of orders expects more than usual, as for a promotion, more is no shift
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(days.expected > 0, days.usual[:, days.of_day] / days.expected, 1.0)
    fresh = [(each * scale)[tested] for each in days.sold()]
    risen, fallen = days.moved(days.reference[tested], fresh, SHIFT_OF_ONE)
    evidence = np.logaddexp(risen, fallen) - np.log(2.0)
    found = [discoveries(each, level) for each in evidence.T[1:]]
    sure = [day for day, moved in enumerate(found) if moved.any()]
    nearly = discoveries(evidence[:, -1], min(_NEARLY * level, 1.0))
    verdict = PLAN_AGAIN if sure else MONITORING if nearly.any() else AS_PLANNED
    listed, place = (found[sure[-1]], sure[-1] + 1) if sure else (nearly, -1)
    ranked = np.flatnonzero(listed)[np.argsort(-evidence[listed, place], kind="stable")]
    names = days.names(np.flatnonzero(tested)[ranked])
    n_up = int((risen > fallen)[ranked, place].sum())
    advice = "No series has changed significantly."
    seen = f"{ranked.size:,} of {int(tested.sum()):,}"
    if names:
        advice = f"Changed: {_listed(names)}."
        seen += f" ({n_up:,} up, {ranked.size - n_up:,} down)"
    first_day = days.dates[sure[0]].astype(object) if sure else None
    details = {"moved": names, "up": n_up, "false_discovery_rate": level}
    return Check("series", what, "no change", seen, verdict, advice, first_day, details)


def _listed(names: Sequence[str]) -> str:
    """Name the first five."""
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more:,} more" if more > 0 else "")


# --- What the plan has no orders for.


def _assortment(days: _MonitoredDays) -> Check:
    """Series that are new, or that have ended."""
    planned, fresh, own = days.panel.planned, days.fresh, days.owner >= 0
    assert fresh.keys is not None
    back = int((~planned[days.owner[own]]).sum())
    rows = fresh.keys.select(days.schema.series).rows()
    new = [" ".join(map(str, rows[place])) for place in np.flatnonzero(~own)]
    periods = int(-(-_ENDED // LENGTH[days.panel.period]))
    gone: list[str] = []
    if days.n_days >= periods:
        gone = days.names(np.flatnonzero(planned & ~days.seen[:, -periods:].any(axis=1)))
    verdict, advice = AS_PLANNED, "All series with sales have orders."
    if new or back:
        verdict = PLAN_AGAIN
        advice = f"Series with sales but without orders{f': {_listed(new)}' if new else ''}."
    elif gone:
        verdict = MONITORING
        advice = f"Series with orders but without rows in the last {_ENDED} days: {_listed(gone)}."
    counts = {"new": len(new), "back": back, "ended": len(gone)}
    seen = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "the same"
    details = {"new": new, "back": back, "ended": gone}
    expected = f"{int(planned.sum()):,}"
    return Check("assortment", "series", expected, seen, verdict, advice, None, details)


def _weekdays(days: _MonitoredDays) -> Check:
    """Weekdays on which nothing was sold before."""
    open_before = days.panel.open_weekdays
    used = days.dates[days.seen.any(axis=0) & ~open_before[days.of_day % open_before.size]].astype(
        object
    )
    opened = Counter(each.strftime("%A") for each in used)
    verdict, advice = AS_PLANNED, "All open weekdays have orders."
    if opened:
        verdict = PLAN_AGAIN if max(opened.values()) >= 2 else MONITORING
        advice = f"{', '.join(opened)}: open now, but closed in the plan, so without orders."
    expected = f"{int(open_before.sum())}" if days.panel.unit == "day" else "-"
    seen = ", ".join(f"{name} is new" for name in opened) or "the same"
    details = {"new": dict(opened)}
    return Check("weekdays", "open weekdays", expected, seen, verdict, advice, None, details)
