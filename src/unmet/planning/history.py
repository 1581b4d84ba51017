"""The past of a panel as features that were known when an order was decided.

A panel is a matrix of series × days. An order for day t that is decided `gap` days before may use
observations up to day t − gap and nothing later; gap is the lead time plus 1, 2, …, horizon. Each
feature is therefore a function of a *state*, the number of known days. States of all series and
days are computed once, by running sums. Training rows and future rows look up their states in the
same way, so their features cannot differ.

Features are relative to the level of a series, which is its usual sales. One model therefore serves
items that sell 4 a day and items that sell 400.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, slices
from unmet.errors import InvalidInput, MissingPackage
from unmet.tables.panel import Panel, Places

Single = NDArray[np.float32]

WINDOW = 28
"""Days that say what a series usually sells. Fewer follow changes sooner, more are surer of slow
sellers; the trend of the last 7 is a feature of its own."""
WEEK = 7
SAME_DAYS = 8
"""Same weekdays that are looked back on."""
DRAWN = 3.0
"""Days of similar series that count as much as the days of your own: how far a series of little
history is shrunk to what is alike."""
QUANTILES = (0.5, 0.75, 0.9)
_WINDOWS = {"business day": 20, "month": 12, "quarter": 8, "year": 5}
_YEAR = {"day": 364, "business day": 260, "week": 52, "month": 12, "quarter": 4, "year": 1}
_AROUND = {"day": (WEEK, 4), "business day": (5, 3), "week": (3, 2)}  # width, and days after
_LEAST = 1e-3  # of the mean level: no series is so small that it has no units
_RELATIVE = (
    *("mean of 7", "mean of 14", "mean of 56", "last same weekday", "mean of 4 same weekdays"),
    *("usual", "spread", "quantile 0.75", "quantile 0.9", "a year ago", "price against usual"),
    *("years ago", "years ago of similar", "years ago of all"),
)
_OTHERS = (
    *("weekday of all", "against similar", "trend of similar", "zeros", "sold out"),
    *("season sin", "season cos", "holiday", "day before holiday", "day after holiday"),
)
_FEW = ("mean of 7", "mean of 56", "usual", "spread", "sold out", "price against usual", "holiday")


@dataclass(frozen=True)
class PooledHistory:
    """What a history knows of all series together, for further series of the same table.

    Attributes
    ----------
    overall : ndarray of shape (n_states,)
        What a series usually sells.
    alike, trend : ndarray of shape (n_groups + 1, n_states)
        What a series of each group usually sells, and of late against that; last for other groups.
    profile : ndarray of shape (n_states, cycle)
    seasons : tuple of tuples of three ndarray
        Sums, counts and mean levels of groups, and of all; empty without seasons.
    weekdays : mapping of int to ndarray of shape (cycle,)
        Factors of weekdays, by the states they were asked for.
    """

    overall: Array
    alike: Array
    trend: Array
    profile: Array
    seasons: tuple[tuple[Array, Array, Array], ...]
    weekdays: Mapping[int, Array]


class History:
    """States of all series after each number of days, and features of any rows.

    Parameters
    ----------
    panel : Panel
    demand : ndarray of shape (n_series, n_days), optional
        What features look back on, if not the observations: demand where sold-out days are imputed.
    seasons : bool, default=False
        Whether the past is long enough to tell seasons: the month, and the same week a year ago.
    country : str, optional
        Whose public holidays are features, by the code of the package ``holidays``.
    pooled : PooledHistory, optional
        What is known of all series together, where these are only some of them; the groups of the
        panel are then those of it.

    Attributes
    ----------
    demand : ndarray of shape (n_series, n_days)
    others : bool
        Whether these are other series than those that all is learned from.
    level, similar : ndarray of shape (n_series, n_days + 1)
        What each series and those similar to it usually sell, by how many days are known.
    first : ndarray of shape (n_series,)
        First day with sales.
    profile : ndarray of shape (n_days + 1, cycle)
        Share of each weekday in what all series sell, by how many days are known; 1 is the mean.
    names_ : tuple of str
        Of the features, once rows have been asked for.
    categories_ : tuple of str
        Those of them that are numbers of categories.
    """

    def __init__(
        self,
        panel: Panel,
        demand: Array | None = None,
        *,
        seasons: bool = False,
        country: str | None = None,
        pooled: PooledHistory | None = None,
    ) -> None:
        self.panel = panel
        self._given, self.others = pooled, pooled is not None
        self.seasons = seasons
        self.country = country
        self.cycle = panel.cycle
        self.window = _WINDOWS.get(panel.period, WINDOW)
        given = panel.observed if demand is None else demand
        self.demand = np.asarray(given, dtype=np.float32)
        n_series = panel.n_series
        self._group = np.zeros(n_series, np.intp) if panel.group is None else panel.group
        self._sums()
        self._levels()
        self._quantiles = _rolling_quantiles(self.demand, self.window)
        self._weekdays()
        self._factors: dict[int, Array] = {}

    def pooled(self) -> PooledHistory:
        """Give what is known of all series together."""
        overall = self._overall[None]
        little = np.maximum(overall, _least(self._overall))
        seasons: tuple[tuple[Array, Array, Array], ...] = ()
        if self.seasons:
            own = [np.vstack([each, np.zeros_like(each[:1])]) for each in self._by_group]
            seasons = (own[0], own[1], own[2]), self._by_all
        return PooledHistory(
            self._overall,
            np.vstack([self._alike, overall]),
            np.vstack([self._group_trend, overall / little]),
            self.profile,
            seasons,
            dict(self._factors),
        )

    def rows(self, series: Places, day: Places, gap: Places) -> tuple[Single, Array]:
        """Features of rows as they were known `gap` days before.

        Parameters
        ----------
        series, day, gap : ndarray of shape (n_rows,)
            Days may lie after the last one of the panel, by no more than the gap.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            NaN where nothing is known.
        level : ndarray of shape (n_rows,)
            What the series usually sells, of which features are shares.
        """
        state = day - gap + 1
        if (state > self.panel.n_days).any():
            raise InvalidInput("gap must reach back into the panel, got a day that is too late.")
        state = np.maximum(state, 0)
        level = self.level[series, state].astype(np.float64)
        columns = self._past(series, day, gap, state, level)
        columns |= self._calendar(day)
        for name, values in self.panel.known.items():
            columns[f"known {name}"] = at(values, series, day)
        if self._prices is not None:
            usual = _share(
                _between(self._prices[0], series, state, self.window),
                _between(self._prices[1], series, state, self.window),
            )
            price = at(self.panel.known[str(self.panel.price)], series, day)
            columns["price against usual"] = _share(price, usual)
        for name, codes in self.panel.static.items():
            columns[f"category {name}"] = codes[series]
        self.names_ = tuple(columns)
        of_days = {"weekday", *(f"known {name}" for name in self.panel.categories)}
        self.categories_ = tuple(
            name for name in columns if name in of_days or name.startswith("category ")
        )
        features = np.empty((series.size, len(columns)), dtype=np.float32)
        for place, values in enumerate(columns.values()):
            features[:, place] = values
        return features, level

    def usual(self, state: int) -> tuple[Array, Array]:
        """Level and weekday of each series, shrunk to the pooled estimate: for short histories.

        The level of a series is shrunk to that of similar ones by one day, the factors of weekdays
        to 1 as far as chance explains them (`_weekday_factors`), and the same weekdays of a series
        to the product of the two by `DRAWN` days.

        Parameters
        ----------
        state : int
            How many days were known.

        Returns
        -------
        expected : ndarray of shape (n_series, cycle)
            By day % cycle.
        left_out : ndarray of shape (n_series, n_last)
            Of each of the last days, what all others lead to expect of it; NaN where nothing was
            observed. Errors of it are errors of forecasts, as far as demand does not drift.
        """
        days = np.arange(max(state - max(self.window, SAME_DAYS * self.cycle), 0), state)
        values = self.demand[:, days].astype(np.float64)
        seen = ~np.isnan(values)
        sold, weekday = np.where(seen, values, 0.0), days % self.cycle
        late = seen & (days >= state - self.window)
        pooled = self.similar[:, [state]].astype(np.float64)
        total, count = (sold * late).sum(axis=1, keepdims=True), late.sum(axis=1, keepdims=True)
        level = (total + pooled) / (count + 1.0)
        if self._given is None:
            factor = _weekday_factors(sold, seen, level, weekday, self.cycle)
            self._factors[state] = factor
        else:
            factor = self._given.weekdays[state]
        lately = seen & (days >= state - SAME_DAYS * self.cycle)
        is_same = np.equal.outer(weekday, np.arange(self.cycle)).astype(np.float64)
        same, n_same = (sold * lately) @ is_same, lately @ is_same
        expected = (same + DRAWN * level * factor) / (n_same + DRAWN)
        others = (total - sold * late + pooled) / (count - late + 1.0) * factor[weekday]
        left_out = same[:, weekday] - sold * lately + DRAWN * others
        left_out /= n_same[:, weekday] - lately + DRAWN
        return expected, np.where(seen, left_out, np.nan)

    # --- States: running sums of what was seen, one column for each number of days known.

    def _sums(self) -> None:
        seen = ~np.isnan(self.demand)
        filled = np.where(seen, self.demand, 0.0).astype(np.float64)
        self._total = _running(filled)
        self._squares = _running(filled**2)
        self._count = _running(seen.astype(np.float64))
        self._zeros = _running((seen & (filled == 0)).astype(np.float64))
        self._hidden = self._told = None
        if self.panel.hidden is not None:
            told = ~np.isnan(self.panel.hidden)
            self._hidden = _running(np.where(told, self.panel.hidden, 0.0))
            self._told = _running(told.astype(np.float64))
        self._prices: tuple[Array, Array] | None = None
        if self.panel.price is not None:
            price = self.panel.known[self.panel.price][:, : self.panel.n_days]
            there = ~np.isnan(price)
            self._prices = _running(np.where(there, price, 0.0)), _running(there * 1.0)
        positive = np.where(filled > 0, np.arange(filled.shape[1]), filled.shape[1])
        self.first = positive.min(axis=1, initial=filled.shape[1])

    def _levels(self) -> None:
        """Find what series usually sell: own days, shrunk to a longer past and to their group."""
        total, count = _over(self._total, self.window), _over(self._count, self.window)
        if self._given is None:
            self._pool_levels(total, count)
        else:
            self._overall, self._alike = self._given.overall, self._given.alike
            self._group_trend = self._given.trend
        least = _least(self._overall)
        usual = self._alike[self._group]
        longer = _over(self._total, 3 * self.window) + DRAWN * usual
        longer /= _over(self._count, 3 * self.window) + DRAWN
        level = (total + DRAWN * longer) / (count + DRAWN)
        self.level = np.maximum(level, least).astype(np.float32)
        self.similar = usual.astype(np.float32)
        self._longer = longer.astype(np.float32)
        if self.seasons:
            self._by_series = self._total, self._count, np.where(count > 0, self.level, 0.0)
            if self._given is not None:
                self._by_group, self._by_all = self._given.seasons
                return
            there, n_groups = count > 0, self._alike.shape[0]
            self._by_group = self._pooled(self._group, n_groups, there)
            self._by_all = self._pooled(np.zeros(self.panel.n_series, np.intp), 1, there)

    def _pool_levels(self, total: Array, count: Array) -> None:
        """Find what all series, and those of each group, usually sell."""
        overall = _share(total.sum(axis=0), count.sum(axis=0))
        # in a state in which nobody has seen anything
        overall = np.where(overall >= 0, overall, _one(overall))
        least = _least(overall)
        n_groups = int(self._group.max(initial=0)) + 1
        sums = [_by_group(each, self._group, n_groups) for each in (total, count)]
        alike = (sums[0] + DRAWN * overall) / (sums[1] + DRAWN)
        lately = self.cycle if self.panel.unit == "day" else 3 if self.cycle > 1 else 1
        of_late = (_over(each, lately) for each in (self._total, self._count))
        week = [_by_group(each, self._group, n_groups) for each in of_late]
        self._group_trend = (week[0] + DRAWN * alike) / (week[1] + DRAWN) / np.maximum(alike, least)
        self._overall, self._alike = overall, alike

    def _pooled(
        self, group: Places, n_groups: int, there: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array]:
        """Give sums, counts and mean levels of groups of series, in every state."""
        values = self._total, self._count, np.where(there, self.level, 0.0), there
        sums = [_by_group(each, group, n_groups) for each in values]
        return sums[0], sums[1], np.nan_to_num(_share(sums[2], sums[3]))

    def _weekdays(self) -> None:
        """Find how all series together share a week, in every state."""
        n_days, cycle = self.panel.n_days, self.cycle
        if self._given is not None:
            self.profile = self._given.profile
            return
        seen = ~np.isnan(self.demand)
        # the level of the last state is known; that of the day's own state is the fair unit
        unit = self.level[:, :-1]
        seen &= self._count[:, :-1].sum(axis=0) > 0  # before anything was seen there is no unit
        relative = np.where(seen, self.demand / unit, 0.0)
        # in units sold, so that those who sell much say more
        by_day = np.stack([(relative * unit).sum(axis=0), (seen * unit).sum(axis=0)])
        sums = np.zeros((2, n_days + 1, cycle))
        for day in range(n_days):
            sums[:, day + 1] = sums[:, day]
            sums[:, day + 1, day % cycle] = (1.0 - 1.0 / SAME_DAYS) * sums[
                :, day, day % cycle
            ] + by_day[:, day] / SAME_DAYS
        little = 0.05 * np.maximum(sums[1].max(axis=1, keepdims=True), 1e-300)
        self.profile = (sums[0] + little) / (sums[1] + little)

    # --- Features.

    def _past(
        self, series: Places, day: Places, gap: Places, state: Places, level: Array
    ) -> dict[str, Any]:
        """Look up the state, and earlier days of the same weekday."""
        cycle = self.cycle
        count = _between(self._count, series, state, self.window)
        mean = _share(_between(self._total, series, state, self.window), count)
        square = _share(_between(self._squares, series, state, self.window), count)
        found: dict[str, Any] = {"gap": gap}
        for days in (WEEK, 2 * WEEK, 2 * WINDOW):
            sums = _between(self._total, series, state, days)
            found[f"mean of {days}"] = _share(sums, _between(self._count, series, state, days))
        found["mean of 84"] = self._longer[series, state]
        found["last day"] = at(self.demand, series, state - 1)
        same = [
            at(self.demand, series, day - cycle * (-(-gap // cycle) + back))
            for back in range(SAME_DAYS)
        ]
        stacked = np.stack(same)
        there = ~np.isnan(stacked)
        sums = np.cumsum(np.where(there, stacked, 0.0), axis=0)
        counts = np.cumsum(there, axis=0)
        found["last same weekday"] = stacked[0]
        for back in (4, SAME_DAYS):
            found[f"mean of {back} same weekdays"] = _share(sums[back - 1], counts[back - 1])
        usual_day = level * self.profile[state, day % cycle]
        drawn = (sums[-1] + DRAWN * usual_day) / (counts[-1] + DRAWN)
        found["usual"] = drawn
        found["spread"] = np.sqrt(np.maximum(square - mean**2, 0.0))
        for place, each in enumerate(QUANTILES):
            found[f"quantile {each:g}"] = self._quantiles[place, series, state]
        for name in found.keys() - {"gap"}:
            found[name] = found[name] / level
        if self.seasons:
            found |= self._years_ago(series, day, state)
        found["weekday of all"] = self.profile[state, day % cycle]
        found["zeros"] = _share(_between(self._zeros, series, state, self.window), count)
        if self._hidden is not None and self._told is not None:
            told = _between(self._told, series, state, self.window)
            found["sold out"] = _share(_between(self._hidden, series, state, self.window), told)
        found["days seen"] = count
        age = np.maximum(state - self.first[series], 0)
        found["age"] = np.minimum(age, 13 * self.window)
        found["level"] = np.log(level)
        found["against similar"] = np.log(
            level / np.maximum(self.similar[series, state], 1e-300 + _LEAST * level)
        )
        found["trend of similar"] = self._group_trend[self._group[series], state]
        return found

    def _years_ago(self, series: Places, day: Places, state: Places) -> dict[str, Array]:
        """Say what the same time of earlier years was, as a share of the level that it followed.

        One series says little about its season; those that are similar, and all, say more.
        """
        own = [self._season(self._by_series, series, day, state, year) for year in (1, 2)]
        found = {"a year ago": own[0], "years ago": _mean(own)}
        for name, sums, rows in (
            ("years ago of similar", self._by_group, self._group[series]),
            ("years ago of all", self._by_all, np.zeros_like(series)),
        ):
            found[name] = _mean([self._season(sums, rows, day, state, each) for each in (1, 2, 3)])
        return found

    def _season(
        self, sums: tuple[Array, Array, Array], rows: Places, day: Places, state: Places, years: int
    ) -> Array:
        """Mean demand around the same time some years ago, over the level that was known then."""
        total, count, level = sums
        year = years * _YEAR[self.panel.period]
        # the week around the day; three weeks around the week; the same month
        width, after = _AROUND.get(self.panel.period, (1, 1))
        end, before = day - year + after, np.maximum(state - year, 0)
        around = _share(_between(total, rows, end, width), _between(count, rows, end, width))
        usual = level[rows, np.minimum(before, level.shape[1] - 1)]
        return np.where((before > 0) & (end <= state), _share(around, usual), np.nan)

    def _calendar(self, day: Places) -> dict[str, Any]:
        dates = self.panel.date(day)
        months = dates.astype("datetime64[M]")
        of_month = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
        following = (months + np.timedelta64(1, "M")).astype("datetime64[D]")
        found: dict[str, Any] = {}
        if self.panel.unit == "day":
            found["weekday"] = (dates.astype(np.int64) + 3) % WEEK  # 1 January 1970: a Thursday
        found["day of month"] = of_month
        found["days to payday"] = (following - dates).astype(np.int64)
        if self.seasons:
            first = dates.astype("datetime64[Y]").astype("datetime64[D]")
            angle = 2.0 * np.pi * (dates - first).astype(np.float64) / 365.25
            found["month"] = months.astype(np.int64) % 12 + 1
            found["week of year"] = (dates - first).astype(np.int64) // WEEK + 1
            found["season sin"], found["season cos"] = np.sin(angle), np.cos(angle)
        if self.country is not None:
            unique, back = np.unique(dates, return_inverse=True)
            free = public_holidays(str(self.country), unique)
            around = {"holiday": 0, "day before holiday": 1, "day after holiday": -1}
            found |= {
                name: np.isin(unique + np.timedelta64(shift, "D"), free)[back]
                for name, shift in around.items()
            }
        return found


def public_holidays(country: str, dates: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Public holidays of a country in the years of some dates, and on the days beside them."""
    holidays = MissingPackage.or_load("country", "holidays", "calendar")
    years = np.unique(dates.astype("datetime64[Y]").astype(int) + 1970)
    try:
        found = holidays.country_holidays(
            country, years=range(int(years[0]) - 1, int(years[-1]) + 2)
        )
    except NotImplementedError:
        raise InvalidInput(
            f"country must be a code that the package holidays knows, such as DE, got {country!r}."
        ) from None
    return np.array(sorted(found), dtype="datetime64[D]")


class LinearColumns:
    """Features of a history for models that are linear in them: none missing, few categories.

    Parameters
    ----------
    history : History
        Whose rows have been asked for.
    few : bool
        Whether only those are taken that each series can have slopes of its own for.
    """

    def __init__(self, history: History, few: bool = False) -> None:
        self.names = history.names_
        self.categories = history.categories_
        self.few = few

    def fit(self, features: Single) -> Self:
        """Choose columns, and what stands for missing numbers."""
        wanted = _FEW if self.few else (*_RELATIVE, *_OTHERS)
        self.chosen: dict[int, float] = {}
        self.values: dict[int, Single] = {}
        for place, name in enumerate(self.names):
            column = features[:, place]
            seen = column[~np.isnan(column)]
            if not seen.size:
                continue
            if name in self.categories:
                values = np.unique(seen)
                known = name == "weekday" or name.startswith("known ")
                if known and not self.few and 1 < values.size <= 12:
                    self.values[place] = values[1:]
            elif name in wanted or name.startswith("known "):
                neutral = 1.0 if name in _RELATIVE else float(np.median(seen))
                if np.ptp(seen) > 0:
                    self.chosen[place] = neutral
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        """Name the feature that each column is made of."""
        places = [*self.chosen, *(p for p, values in self.values.items() for _ in values)]
        return tuple(self.names[place] for place in places) or ("gap",)

    def transform(self, features: Single) -> Array:
        """Numbers of each row."""
        columns = [
            np.nan_to_num(features[:, place].astype(np.float64), nan=neutral)
            for place, neutral in self.chosen.items()
        ]
        columns += [
            (features[:, place] == value).astype(np.float64)
            for place, values in self.values.items()
            for value in values
        ]
        return np.column_stack(columns) if columns else np.zeros((len(features), 1))


# --- Arithmetic of states.


def _running(values: Array) -> Array:
    """Give sums of the first 0, 1, 2, … days."""
    found = np.zeros((values.shape[0], values.shape[1] + 1))
    np.cumsum(values, axis=1, out=found[:, 1:])
    return found


def _by_group(values: NDArray[Any], group: Places, n_groups: int) -> Array:
    """Add up the rows of each group."""
    if n_groups == 1:
        return np.asarray(values.sum(axis=0, keepdims=True, dtype=np.float64))
    found = np.zeros((n_groups, values.shape[1]))
    np.add.at(found, group, values)
    return found


def _over(sums: Array, days: int) -> Array:
    """Give sums of the last so many days of every state."""
    found = sums.copy()
    found[:, days:] -= sums[:, :-days] if days < sums.shape[1] else 0.0
    return found


def _between(sums: Array, series: Places, end: Places, days: int) -> Array:
    """Sum of the days before `end`."""
    last = sums.shape[1] - 1
    stop, start = np.clip(end, 0, last), np.clip(end - days, 0, last)
    return np.asarray(sums[series, stop] - sums[series, start])


def _one(overall: Array) -> float:
    """Level of a state in which nothing was sold: that of the first sales, whatever their unit."""
    return float([*overall[overall > 0][:1], 1.0][0])


def _least(overall: Array) -> Array:
    """Least level of a series in each state."""
    return _LEAST * np.where(overall > 0, overall, _one(overall))


def _share(part: Array, whole: Array) -> Array:
    """Quotient; NaN where there is nothing to divide by."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))


def _mean(values: list[Array]) -> Array:
    """Mean of what is known; NaN where nothing is."""
    stacked = np.stack(values)
    there = ~np.isnan(stacked)
    return _share(np.where(there, stacked, 0.0).sum(axis=0), there.sum(axis=0))


def _weekday_factors(
    sold: Array, seen: NDArray[np.bool_], level: Array, weekday: Places, cycle: int
) -> Array:
    """Sales of all series by weekday as shares of their levels, shrunk to 1.

    By the variance between weekdays against that of chance: the larger of what days of the same
    weekday and what series of the same day show. One day of each weekday cannot tell a weekday
    from a day on which all sold more, so that n days count as n of n + 1.
    """
    unit = seen * level
    there = (base := unit.sum(axis=0)) > 0
    days = np.bincount(weekday[there], minlength=cycle)
    repeats = there.sum() - np.count_nonzero(days)
    if not repeats and (seen.shape[0] == 1 or there.sum() < 2):
        return np.ones(cycle)
    sold, unit, base, weekday = sold[:, there], unit[:, there], base[there], weekday[there]
    share = sold.sum(axis=0) / base
    by_series = ((sold - share * unit) ** 2).sum(axis=0).mean() / (base**2).mean()
    mean = np.bincount(weekday, share, cycle) / np.maximum(days, 1)
    by_days = ((share - mean[weekday]) ** 2).sum() / max(repeats, 1)
    chance = max(by_series, by_days) / np.maximum(days, 1)
    between = max(float(np.var(mean[days > 0]) - chance[days > 0].mean()), 0.0)
    kept = between / np.maximum(between + chance, 1e-300) * days / (days + 1.0)
    return np.asarray(1.0 + kept * (mean / max(float(share.mean()), 1e-300) - 1.0))


def at(values: Any, series: Places, day: Places) -> Array:
    """Give entries of a matrix of series × days; NaN outside it."""
    inside = (day >= 0) & (day < values.shape[1])
    return np.where(inside, values[series, np.where(inside, day, 0)], np.nan)


def _rolling_quantiles(values: Single, window: int) -> Single:
    """Quantiles of the last `window` days of every state; NaN where there were none.

    Sorted once for all of them, block by block: a window for each state is too much to hold.
    """
    n_series, n_days = values.shape
    found = np.full((len(QUANTILES), n_series, n_days + 1), np.nan, dtype=np.float32)
    size = max((1 << 22) // max(window * n_days, 1), 1)  # entries that are sorted at once
    for part in slices(n_series, size):
        padded = np.full((part.stop - part.start, n_days + window - 1), np.nan, dtype=np.float32)
        padded[:, window - 1 :] = values[part]
        views = np.lib.stride_tricks.sliding_window_view(padded, window, axis=1)
        ordered = np.sort(views, axis=2)  # NaN come last
        count = (~np.isnan(ordered)).sum(axis=2)
        for place, level in enumerate(QUANTILES):
            rank = np.clip(np.ceil(level * count).astype(np.intp) - 1, 0, window - 1)
            taken = np.take_along_axis(ordered, rank[..., None], axis=2)[..., 0]
            found[place, part, 1:] = taken
    return found
