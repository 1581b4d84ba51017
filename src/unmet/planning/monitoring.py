"""Whether a plan still holds: what the days since it was made say about its promises.

A plan promises a share of days that sell out, expects a level of sales, and has orders for certain
series and weekdays. `monitor` compares the days after it with each of these. What can be tested is
tested so that one may look every day (`unmet.planning.sequential`); nothing is kept between two
looks, because all days since the plan are in the table.

Sell-outs of whole units. The best whole order y at level α has P(D > y) ≤ 1 − α < P(D ≥ y). A day
on which exactly y was asked for sells out although demand was met, so that the share of days that
sell out lies between 1 − α and 1 − α + P(D = y), which is much for slow sellers; with lots of k
units it may be lower by P(y − k < D < y). Rates inside of these limits are as planned. Where stock
lasts, what was left over serves the next days too, so that no rate is too low.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.planning.decision_log import DecisionLog
from unmet.planning.order_plan import OrderPlan
from unmet.planning.sequential import (
    days_alike,
    discoveries,
    either,
    first_crossing,
    independent_trials,
    rank_evidence,
    rate_evidence,
)
from unmet.tables.panel import Places, read_panel
from unmet.tables.reading import as_polars, read_dates
from unmet.validation import Number

if TYPE_CHECKING:
    import polars

AS_PLANNED, MONITORING, PLAN_AGAIN, UNKNOWN = "as planned", "monitor", "plan again", "not known"
"""Verdicts."""
ALLOWED = 0.05
"""By how much the share of days that sell out may miss its plan; half of that share where it is
less. No plan is exact, and half a year of days would find the smallest error."""
SHIFT, SHIFT_OF_ONE = 0.1, 0.25
"""By how much the level of all series together, and that of one, may change."""
REFERENCE = 112, 52
"""Days, or weeks where a row is a week, before the plan's last one that say what is usual."""
MIN_REFERENCE = 14
"""Days with rows that a series needs among them to be compared with."""
MAX_NAMES = 5
"""Series that a sentence names."""
_NEARLY = 10.0  # times the level: reason to monitor
_SLOW = 2.0  # a day: compared by weeks, since most days are alike
_FAST = 5.0  # a day: from here on half of such days is about the mean
_DRAWN = 3.0  # days of all weekdays that count beside those of the same
_ENDED = 28  # days without a row
_TOO_FEW = "The plan has too few days to compare with."


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
        Numbers behind it: what was expected and seen, the highest evidence (1 at the start) and
        what it must exceed.
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
        How often, at most, a plan that holds may be called one to be made again, however often and
        long one looks. Three tests share it equally.

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
    ('as planned', 'sales of all together')
    """
    level = Number(above=0, below=1)("level", level)
    if not isinstance(plan, OrderPlan):
        raise InvalidInput(
            f"plan must be an OrderPlan, such as unmet plan saves, got a {type(plan).__name__}."
        )
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
        self,
        plan: OrderPlan,
        table: polars.DataFrame,
        log: DecisionLog | str | Path | None,
    ) -> None:
        self.panel, self.schema = plan.panel_, plan.schema_
        self.cycle = 7 if self.panel.step == 1 else 1
        self.level, table = float(plan.cost_.level), plan.with_flags(table)
        zeros = plan.schema_.gaps == "zero" or any(" as 0 sold" in note for note in plan.notes_)
        self._read(table, "zero" if zeros else "missing")
        self._place()
        self._flags(plan, log)
        self._reference(plan)
        self._promises(plan)

    def _read(self, table: polars.DataFrame, gaps: str) -> None:
        """Read the rows after the plan's last day."""
        panel, schema = self.panel, self.schema
        asked = (schema.date, *schema.series, schema.sales, schema.sold_out, schema.stock)
        lacking = [name for name in asked if name is not None and name not in table.columns]
        if lacking:
            raise InvalidInput(
                f"table must have the columns that the plan was made from, got no {lacking[0]!r} "
                f"but {', '.join(table.columns[:20])}."
            )
        end = panel.date(np.array([panel.n_days - 1]))[0].astype(object)
        dates = read_dates(table, schema.date)
        rows = table.with_columns(dates.alias(schema.date)).filter(dates > end)
        self.n_rows = rows.height
        if not self.n_rows:
            raise InvalidInput(
                f"table must have rows after the plan's last day, {end}, got none after "
                f"{dates.max()!s}."
            )
        schema = replace(schema, known_future=(), static=(), gaps=gaps)
        self.fresh, notes = read_panel(rows, schema)
        self.notes = [note for note in notes if "no orders" not in note]

    def _place(self) -> None:
        """Find the series and days of the new rows among those of the plan."""
        panel, fresh = self.panel, self.fresh
        dates = fresh.date(np.arange(fresh.n_days))
        apart = (dates - np.datetime64(panel.first_day, "D")).astype(np.intp)
        if (apart[~np.isnan(fresh.observed).all(axis=0)] % panel.step).any():
            raise InvalidInput(
                "table must have dates that are whole weeks after those of the plan, got "
                f"{dates[0]}."
            )
        self._columns = apart // panel.step - panel.n_days
        self.n_days = int(self._columns[-1]) + 1
        day = panel.n_days + np.arange(self.n_days)
        self.dates, self.of_day = panel.date(day), day % self.cycle
        self.owner = np.zeros(1, dtype=np.intp)  # of each new series; −1 where the plan has none
        if self.schema.series:
            assert panel.keys is not None
            assert fresh.keys is not None
            names = [f"\0{name}" for name in self.schema.series]
            own = panel.keys.select(names).with_row_index("\0place")
            place = fresh.keys.select(names).join(own, on=names, how="left", maintain_order="left")
            self.owner = place["\0place"].cast(int).fill_null(-1).to_numpy().astype(np.intp)
        self.observed = self._on_grid(fresh.observed)
        self.seen = ~np.isnan(self.observed)
        if not self.seen.any():
            raise InvalidInput(
                "table must have new rows of series that the plan knows, got none of them."
            )

    def _on_grid(self, values: Array) -> Array:
        """Put a matrix of the new panel onto the grid of the plan; NaN where it has nothing."""
        found = np.full((self.panel.n_series, self.n_days), np.nan)
        own = self.owner >= 0
        found[np.ix_(self.owner[own], self._columns)] = values[own]
        return found

    def _flags(self, plan: OrderPlan, log: DecisionLog | str | Path | None) -> None:
        """Find which days sold out, and on which of them that speaks of the plan.

        With a log these are the days on which what was there is what had been suggested.
        """
        hidden, followed = self.fresh.hidden, None
        if log is not None and plan.supply is not None:
            self.notes.append(
                "The log is not used: stock lasts, so that a delivery is not all that was there."
            )
        elif log is not None:
            if not isinstance(log, DecisionLog):
                if not Path(log).exists():
                    raise InvalidInput(f"log must be a Parquet file, but there is no {log}.")
                log = DecisionLog.read(Path(log), self.schema.series)
            hidden, said = log.flags(self.fresh)
            self.notes += said or ["The log says nothing of the new days."]
            followed = log.followed(self.fresh).astype(np.float64) if said else None
        self.hidden = np.full((self.panel.n_series, self.n_days), np.nan)
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
                    f"On {others:,} of {known:,} days what was there is not what had been "
                    "suggested: look at deliveries and at changed orders."
                )

    def _reference(self, plan: OrderPlan) -> None:
        """Last days before the plan's end, and what is usual on each weekday."""
        panel = self.panel
        size = min(REFERENCE[0 if panel.step == 1 else 1], panel.n_days)
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
        with np.errstate(invalid="ignore"):
            self.mean = np.nansum(self.reference, axis=1) / there.sum(axis=1)
        self.usual = np.empty((panel.n_series, self.cycle))
        for each in range(self.cycle):
            own = self.of_reference == each
            sums = np.nansum(self.reference[:, own], axis=1) + _DRAWN * self.mean
            self.usual[:, each] = sums / (there[:, own].sum(axis=1) + _DRAWN)
        self.told = there.sum(axis=1) >= min(MIN_REFERENCE, size)

    def _promises(self, plan: OrderPlan) -> None:
        """Sales that the plan expects, and by how much whole orders miss the level, by series.

        `ties` is the chance of asking for exactly the order, `lots` that of asking for less than
        it but for more than a smaller lot; both by a negative binomial distribution with the mean
        and the variance of the reference. Where stock lasts, an order serves the periods until the
        next one arrives, and leftovers may meet all demand.
        """
        n_series, base = self.panel.n_series, self.usual[:, self.of_reference]
        self.expected = self.usual[:, self.of_day]
        with np.errstate(invalid="ignore"):
            excess = np.nansum((self.reference - base) ** 2 - base, axis=1)
            excess = excess / np.nansum(np.where(np.isnan(self.reference), 0.0, base**2), axis=1)
        excess = np.clip(np.nan_to_num(excess), 1e-3, 10.0)
        if plan.supply is not None:
            ahead, rules = plan.demand_forecast_.expected, plan.rules_
            known = min(self.n_days, ahead.shape[1])
            self.expected[:, :known] = ahead[:, :known]
            periods = rules.whole("lead_time", n_series) + rules.whole("review", n_series)
            series, lot = np.arange(n_series), None if rules.lot is None else 1.0
            mean = (ahead * (np.arange(ahead.shape[1]) < periods[:, None])).sum(axis=1)
            order = plan.state_.position + plan.replenishment_.order
            excess = excess / periods  # sums vary less
        else:
            (series, day, _), order_table, lot = plan.targets_, plan.order_table_, plan.lot_
            mean = self.usual[series, day % self.cycle]
            order = order_table["order"].to_numpy().astype(np.float64)
            inside = day < self.panel.n_days + self.n_days
            place = series[inside], day[inside] - self.panel.n_days
            median = (order_table["usual_sales"] + order_table["hidden_demand"]).to_numpy()[inside]
            # half of the days of a slow seller say little about its mean
            better = (median > 0) & (self.expected[place] >= _FAST)
            self.expected[place] = np.where(better, median, self.expected[place])
        self.ties, self.lots = np.zeros((2, n_series))
        if lot is not None and not np.isnan(self.reference).all():
            mean = np.maximum(np.where(np.isnan(mean), np.nanmean(self.mean), mean), 1e-3)
            distribution = stats.nbinom(1.0 / excess[series], 1.0 / (1.0 + excess[series] * mean))
            below = distribution.cdf(np.ceil(order) - 1) - distribution.cdf(order - lot)
            self.ties = _by_series(distribution.pmf(np.round(order)), series, n_series)
            self.lots = _by_series(np.maximum(below, 0.0), series, n_series)
        if plan.supply is not None:
            self.lots = np.full(n_series, 1.0 - self.level)

    def sold(self) -> tuple[Array, Array]:
        """Sales that show a rise, and those that show a fall: sold-out days do not."""
        floors = np.where(self.hidden == 1.0, np.fmax(self.observed, self.expected), self.observed)
        return self.observed, floors

    def names(self, series: Places) -> list[str]:
        """Names of series of the plan."""
        keys = self.panel.keys
        if not self.schema.series or keys is None:
            return ["the only one"] * series.size
        return [" ".join(map(str, row)) for row in keys.select(self.schema.series)[series].rows()]


def _by_series(values: Array, series: Places, n_series: int) -> Array:
    """Mean of each series; of those without a value, the mean of all."""
    count = np.bincount(series, minlength=n_series)
    sums = np.bincount(series, weights=values, minlength=n_series)
    return np.where(count > 0, sums / np.maximum(count, 1), values.mean())


# --- Sell-outs.


def _evaluated(
    days: _MonitoredDays, level: float, more: Array, less: Array
) -> tuple[str, bool, datetime.date | None, dict[str, Any]]:
    """Verdict of one test, whether it is for more, the day on which it was sure, its numbers."""
    evidence = either(more, less)
    crossed = first_crossing(evidence, level)
    near = evidence[-1] >= -np.log(min(_NEARLY * level, 1.0)) and evidence[-1] > 0
    verdict = PLAN_AGAIN if crossed is not None else MONITORING if near else AS_PLANNED
    first_day = None if crossed is None else days.dates[crossed].astype(object)
    place = -1 if crossed is None else crossed + 1
    highest = float(np.exp(min(evidence.max(), 700.0)))
    details = {"highest_evidence": highest, "needed": 1.0 / level}
    return verdict, bool(more[place] > less[place]), first_day, details


def _sell_outs(days: _MonitoredDays, level: float) -> Check:
    """Share of series that sold out, day by day, where that speaks of the plan."""
    what, planned = "days that sold out", 1.0 - days.level
    if not days.counted.any():
        why = (
            "On none of the new days is it known that the plan was followed."
            if days.by_log
            else "Nothing tells which days sold out: keep the log, or a column of flags or stock."
        )
        return Check("sell_outs", what, f"{planned:.0%}", "-", UNKNOWN, why)
    slack = min(ALLOWED, planned / 2.0, (1.0 - planned) / 2.0)
    count = days.counted.sum(axis=0).astype(np.float64)
    weight = np.where(days.counted, 1.0 / np.maximum(count, 1.0), 0.0)  # of a series on a day
    share = np.where(count > 0, (weight * np.nan_to_num(days.hidden)).sum(axis=0), np.nan)
    low = np.maximum(planned - days.lots @ weight, 0.0)
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
    verdict, upward, first_day, details = _evaluated(days, level, more, less)
    if verdict == AS_PLANNED:
        advice = "Orders sell out about as often as they should."
    elif upward:
        advice = "Orders run out more often than planned: demand has grown, or it varies more."
    else:
        advice = "Orders run out less often than planned: demand has fallen, or it varies less."
    total = int(count.sum())
    rate, lowest, highest = (float(count @ np.nan_to_num(x) / total) for x in (share, low, high))
    details |= {"planned_rate": [lowest, highest], "seen_rate": rate, "days": total}
    what += ", by the log" if days.by_log else ""
    expected = " to ".join(dict.fromkeys((f"{lowest:.0%}", f"{highest:.0%}")))
    seen = f"{rate:.0%} of {total:,}"
    return Check("sell_outs", what, expected, seen, verdict, advice, first_day, details)


# --- Levels.


def _moved(
    reference: Array,
    fresh: Sequence[Array],
    of_reference: Places,
    of_fresh: Places,
    tolerance: float,
    period: int,
) -> tuple[Array, Array]:
    """Evidence that a level has risen, and that it has fallen; weeks in a row count fully."""
    alike = days_alike(reference, of_reference) if period > 1 else 1.0
    how: dict[str, Any] = {"of_reference": of_reference, "of_fresh": of_fresh}
    how |= {"tolerance": tolerance, "alike": alike, "period": period}
    risen = rank_evidence(reference, fresh[0], above=True, **how)
    fallen = rank_evidence(reference, fresh[1], above=False, **how)
    return risen, fallen


def _all_together(days: _MonitoredDays, level: float) -> Check:
    """Sales of all series that both the plan and the new rows know."""
    what = "sales of all together"

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
    risen, fallen = _moved(usual, fresh, days.of_reference, days.of_day, SHIFT, days.cycle)
    verdict, upward, first_day, details = _evaluated(days, level, risen, fallen)
    there = days.told[:, None] & days.seen & ~np.isnan(days.expected)
    expected, seen = (float(each[there].sum()) for each in (days.expected, days.observed))
    details |= {"expected_units": expected, "seen_units": seen}
    change = seen / expected - 1.0 if expected > 0 else 0.0
    units = f"{expected:,.0f} units", f"{seen:,.0f} ({change:+.0%})"
    advice = "Sales are about where the plan saw them."
    if verdict != AS_PLANNED:
        way = "above" if upward else "below"
        advice = f"Sales lie {way} what the plan expected of the same weekdays."
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
    fresh = [each * scale for each in days.sold()]
    slow = tested & (days.mean < _SLOW) & (days.cycle > 1)
    fast = tested & ~slow
    risen, fallen = np.zeros((2, tested.size, days.n_days + 1))
    risen[fast], fallen[fast] = _moved(
        days.reference[fast],
        [each[fast] for each in fresh],
        days.of_reference,
        days.of_day,
        SHIFT_OF_ONE,
        days.cycle,
    )
    # most days of slow sellers are alike: means of weeks, known on the last day of each
    before = _weeks(days.reference[slow, days.reference.shape[1] % 7 :])
    after = [_weeks(each[slow]) for each in fresh]
    of_before, of_after = (np.zeros(each.shape[1], np.intp) for each in (before, after[0]))
    of_week = np.arange(days.n_days + 1) // 7
    by_week = _moved(before, after, of_before, of_after, SHIFT_OF_ONE, 1)
    risen[slow], fallen[slow] = (each[:, of_week] for each in by_week)

    evidence = either(risen, fallen)[tested]
    found = [discoveries(each, level) for each in evidence.T[1:]]
    sure = [day for day, moved in enumerate(found) if moved.any()]
    nearly = discoveries(evidence[:, -1], min(_NEARLY * level, 1.0))
    verdict = PLAN_AGAIN if sure else MONITORING if nearly.any() else AS_PLANNED
    listed, place = (found[sure[-1]], sure[-1] + 1) if sure else (nearly, -1)
    ranked = np.flatnonzero(tested)[listed][np.argsort(-evidence[listed, place], kind="stable")]
    names, n_up = days.names(ranked), int((risen > fallen)[ranked, place].sum())
    advice = "No series has moved further than chance moves some."
    seen = f"{ranked.size:,} of {int(tested.sum()):,}"
    if names:
        advice = f"Moved: {_listed(names)}."
        seen += f" ({n_up:,} up, {ranked.size - n_up:,} down)"
    first_day = days.dates[sure[0]].astype(object) if sure else None
    details = {"moved": names, "up": n_up, "false_discovery_rate": level}
    return Check("series", what, "none has moved", seen, verdict, advice, first_day, details)


def _weeks(values: Array) -> Array:
    """Means of whole weeks, from the first day on; NaN where fewer than four days are known."""
    n_weeks = values.shape[1] // 7
    blocks = values[:, : 7 * n_weeks].reshape(values.shape[0], n_weeks, 7)
    there = (~np.isnan(blocks)).sum(axis=2)
    with np.errstate(invalid="ignore"):
        return np.where(there >= 4, np.nansum(blocks, axis=2) / there, np.nan)


def _listed(names: Sequence[str]) -> str:
    """Name the first few."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


# --- What the plan has no orders for.


def _assortment(days: _MonitoredDays) -> Check:
    """Series that are new, or that have ended."""
    planned, fresh, own = days.panel.planned, days.fresh, days.owner >= 0
    assert planned is not None
    assert fresh.keys is not None
    back = int((~planned[days.owner[own]]).sum())
    rows = fresh.keys.select(days.schema.series).rows()
    new = [" ".join(map(str, rows[place])) for place in np.flatnonzero(~own)]
    periods = -(-_ENDED // days.panel.step)
    gone: list[str] = []
    if days.n_days >= periods:
        gone = days.names(np.flatnonzero(planned & ~days.seen[:, -periods:].any(axis=1)))
    verdict, advice = AS_PLANNED, "All series that are sold have orders."
    if new or back:
        verdict = PLAN_AGAIN
        more = f": {', '.join(new[:MAX_NAMES])}" if new else ""
        advice = f"Series that are sold have no orders{more}."
    elif gone:
        verdict, advice = (
            MONITORING,
            f"No row in the last {_ENDED} days, but orders: {_listed(gone)}.",
        )
    counts = {"new": len(new), "back": back, "ended": len(gone)}
    seen = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "the same"
    details = {"new": new, "back": back, "ended": gone}
    expected = f"{int(planned.sum()):,}"
    return Check("assortment", "series", expected, seen, verdict, advice, None, details)


def _weekdays(days: _MonitoredDays) -> Check:
    """Weekdays on which nothing was sold before."""
    open_before = days.panel.open_weekdays
    used = days.dates[days.seen.any(axis=0) & ~open_before[days.of_day]].astype(object)
    opened = Counter(each.strftime("%A") for each in used)
    verdict, advice = AS_PLANNED, "The days that are open have orders."
    if opened:
        verdict = PLAN_AGAIN if max(opened.values()) >= 2 else MONITORING
        advice = f"{', '.join(opened)}: open now, closed before, and without orders."
    expected = f"{int(open_before.sum())}" if days.cycle > 1 else "-"
    seen = ", ".join(f"{name} is new" for name in opened) or "the same"
    details = {"new": dict(opened)}
    return Check("weekdays", "open weekdays", expected, seen, verdict, advice, None, details)
