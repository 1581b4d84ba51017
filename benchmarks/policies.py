"""Order policies that a practitioner would use, to compare with in a simulated shop.

All of them raise what is there and on its way to a level. They differ in how the level comes from
what they have seen; it covers the lead time and one review period, and is the quantile at which a
unit more saves as much as it costs.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy import special

from unmet.arrays import Array, expand, non_negative
from unmet.inventory import StockState, SupplyRules
from unmet.simulate.shop import Seen
from unmet.validation import Maybe, Number, WholeNumber

WINDOW = 84
"""Recent periods that policies look at, unless told otherwise."""
_STEPS = 30  # of the EM algorithm; it starts where it last ended


class BaseStock:
    """Raise what is there and on its way to a given level.

    Parameters
    ----------
    level : float or array-like of shape (n_series,)
    """

    def __init__(self, level: ArrayLike) -> None:
        self.level = non_negative("level", level)

    def learn(self, seen: Seen) -> None:
        """Nothing: the level is given."""

    def order(self, seen: Seen, state: StockState) -> Array:
        """Order what is missing to the level."""
        return np.maximum(expand("level", self.level, state.n_series) - state.position, 0.0)


class _Learned:
    """Raise what is there and on its way to a level that is learned.

    Parameters
    ----------
    rules : SupplyRules
    window : int
        Recent periods that are looked at.
    level : float, optional
        In (0, 1): which quantile to order, by default that of the rules' costs.
    """

    def __init__(
        self, rules: SupplyRules, *, window: int = WINDOW, level: float | None = None
    ) -> None:
        self.rules = rules
        self.window = WholeNumber(1)("window", window)
        self.level = Maybe(Number(above=0, below=1))("level", level)
        self._levels: Array = np.zeros((1, 1))

    def order(self, seen: Seen, state: StockState) -> Array:
        """Order what is missing to the level."""
        level = self._levels[:, seen.n_periods % self._levels.shape[1]]
        return np.maximum(level - state.position, 0.0)

    def _asked(self, n_series: int) -> Array:
        """Quantile that costs least, were every cycle to begin afresh."""
        if self.level is not None:
            return np.full(n_series, self.level)
        rules, review = self.rules, self.rules.whole("review", n_series)
        short, held, waste = (
            rules.rows(name, n_series) for name in ("shortage", "holding", "waste")
        )
        over = held * review
        if rules.shelf_life is not None:
            over = np.where(rules.whole("shelf_life", n_series) <= review, waste, over)
        # backorders are paid for in every period that they wait
        under = short * review if rules.unmet == "backordered" else short
        return np.asarray(under / (under + np.maximum(over, 1e-9 * under)))

    def _covered(self, n_series: int) -> NDArray[np.intp]:
        """Periods from an order until the next one arrives."""
        rules = self.rules
        return np.asarray(rules.whole("lead_time", n_series) + rules.whole("review", n_series))


class MeanPlusSafety(_Learned):
    """Mean of recent sales and a safety stock: μ n + z σ √n for n periods, z a normal quantile."""

    def learn(self, seen: Seen) -> None:
        """Take the mean and deviation of recent sales."""
        recent = seen.sales[:, -self.window :]
        mean, deviation = _moments(recent)
        self._levels = self._normal(mean, deviation)[:, None]

    def _normal(self, mean: Array, deviation: Array) -> Array:
        periods, score = self._covered(mean.size), special.ndtri(self._asked(mean.size))
        return np.maximum(mean * periods + score * deviation * np.sqrt(periods), 0.0)


class Tobit(MeanPlusSafety):
    """The same with the mean and deviation of demand, normal and censored where stock ran out.

    Maximum likelihood by the EM algorithm, each series on its own. Periods whose stock nobody wrote
    down are taken for uncensored.
    """

    def learn(self, seen: Seen) -> None:
        """Fill in what sold-out periods hide, again and again."""
        recent = seen.sales[:, -self.window :]
        hidden = seen.sold_out[:, -self.window :] == 1
        mean, deviation = _moments(recent)
        least = 1e-3 * np.maximum(deviation, 1e-9 * np.abs(mean) + 1e-12)
        known = np.maximum((~np.isnan(recent)).sum(axis=1), 1)
        for _ in range(_STEPS if hidden.any() else 0):
            z = (recent - mean[:, None]) / deviation[:, None]
            # hazard φ / (1 − Φ) by logarithms, which last far into the tail
            hazard = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z))
            filled = np.where(hidden, mean[:, None] + deviation[:, None] * hazard, recent)
            extra = np.where(hidden, 1.0 + z * hazard - hazard**2, 0.0) * deviation[:, None] ** 2
            mean = np.nansum(filled, axis=1) / known
            spread = np.nansum((filled - mean[:, None]) ** 2 + np.maximum(extra, 0.0), axis=1)
            deviation = np.maximum(np.sqrt(spread / known), least)
        self._levels = self._normal(mean, deviation)[:, None]


class SalesQuantile(_Learned):
    """Take sales for demand: a quantile of what was sold in as many periods as an order covers.

    Parameters
    ----------
    rules : SupplyRules
    window : int, default=84
        Recent periods that are looked at.
    level : float, optional
        In (0, 1): which quantile, by default that of the rules' costs.
    drop_sold_out : bool, default=False
        Leave out spans in which stock ran out, if others are left. It leaves out busy days.
    season : int, default=1
        Periods of a pattern that repeats itself, such as 7 weekdays: what was sold is divided by
        the pattern's share first.
    """

    def __init__(
        self,
        rules: SupplyRules,
        *,
        window: int = WINDOW,
        level: float | None = None,
        drop_sold_out: bool = False,
        season: int = 1,
    ) -> None:
        super().__init__(rules, window=window, level=level)
        self.drop_sold_out = drop_sold_out
        self.season = WholeNumber(1)("season", season)

    def learn(self, seen: Seen) -> None:
        """Take quantiles of sums over as many periods as an order covers."""
        hidden = (seen.sold_out == 1) & self.drop_sold_out
        self._learn(seen.sales, hidden)

    def _learn(self, past: Array, hidden: NDArray[np.bool_]) -> None:
        n_series, n_periods = past.shape
        if not n_periods:  # nothing is known, and nothing ordered
            self._levels = np.zeros((n_series, 1))
            return
        recent, hidden = past[:, -self.window :], hidden[:, -self.window :]
        phase = np.arange(n_periods - recent.shape[1], n_periods) % self.season
        share = _pattern(recent, phase, self.season)
        covered, asked = self._covered(n_series), self._asked(n_series)
        whole = bool((recent == np.round(recent))[~np.isnan(recent)].all())
        levels = np.empty((n_series, self.season))
        for count in np.unique(covered):
            rows = covered == count
            span = min(int(count), recent.shape[1])
            usual = sliding_window_view(share[rows][:, phase], span, axis=1).sum(axis=2)
            sums = sliding_window_view(recent[rows], span, axis=1).sum(axis=2) / usual
            left_out = sliding_window_view(hidden[rows], span, axis=1).any(axis=2)
            left_out &= ~(left_out | np.isnan(sums)).all(axis=1, keepdims=True)
            found = _quantile(np.where(left_out, np.nan, sums), asked[rows])
            ahead = (np.arange(self.season)[:, None] + np.arange(count)) % self.season
            levels[rows] = found[:, None] * share[rows][:, ahead].sum(axis=2)
        self._levels = np.ceil(levels - 1e-9) if whole else levels


class Oracle(SalesQuantile):
    """The same of past demand, which nobody else sees."""

    oracle = True

    def learn(self, seen: Seen) -> None:
        """Take quantiles of demand."""
        assert seen.demand is not None  # the shop shows it to an oracle
        self._learn(seen.demand, np.zeros(seen.demand.shape, dtype=bool))


def _moments(values: Array) -> tuple[Array, Array]:
    """Mean and deviation of each row, NaN left out; never quite no deviation."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=1), 1)
    mean = np.where(known, values, 0.0).sum(axis=1) / count
    spread = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return mean, np.maximum(np.sqrt(spread / count), 1e-6 * np.abs(mean) + 1e-9)


def _pattern(values: Array, phase: NDArray[np.intp], season: int) -> Array:
    """Share of each phase in the mean of all, (n_series, season); 1 where nothing is known."""
    if season == 1:
        return np.ones((values.shape[0], 1))
    by_phase = np.stack([_moments(values[:, phase == each])[0] for each in range(season)], axis=1)
    mean = by_phase.mean(axis=1, keepdims=True)
    share = np.divide(by_phase, mean, out=np.ones_like(by_phase), where=mean > 0)
    return np.asarray(np.maximum(share, 1e-3))


def _quantile(values: Array, level: Array) -> Array:
    """Smallest value that a share `level` of each row does not exceed, NaN left out; 0 of none."""
    ordered = np.sort(values, axis=1)  # NaN last
    count = (~np.isnan(values)).sum(axis=1)
    place = np.clip(np.ceil(level * count - 1e-9).astype(np.intp) - 1, 0, np.maximum(count - 1, 0))
    found = np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
    return np.where(count > 0, found, 0.0)
