"""`allocate`: a budget or a capacity that many products share.

**In fractions.** With a price λ on the budget products no longer compete: each takes the quantile
at the level (u − λw) / (u + o), clipped to its bounds. What products ask for falls as the price
rises; a search halves the floating-point numbers between a price at which they ask for more than
there is and one at which they do not, until the proven gap is down to rounding. Where a
distribution has gaps between its values, what products ask for jumps; between the two sides of a
jump all mixtures cost the same under that price, and the one that uses up the budget is an optimum.

**In lots: marginal analysis.** The k-th lot of a product saves s_k = C(y + (k−1)L) − C(y + kL),
less with every further lot since the expected cost C is convex, and uses wL of the budget. Lots are
taken by saving per unit of budget, the largest first, until one does not fit (Fox, 1966). If that
lot could be cut, this would be the optimum, so no allocation in whole lots costs less than

    cost of the lots taken − λ · what is left of the budget,    λ = s / (wL) of the lot that does
                                                                not fit

Where every lot uses the same, what cannot buy a lot is no budget, nothing is left, and the lots
taken are the optimum. Otherwise smaller lots that still fit are taken as well; what remains of the
bound is the gap. Counting the lots that save more than λ needs no list of all lots: they end beside
the decision in fractions for that price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from unmet.arrays import Array, Numbers, common_rows, expand, non_negative, read_array, read_numbers
from unmet.censoring import LatentBand
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.lots import read_room

_ROUNDING = 1e-12  # relative, of sums that must not exceed a budget


@dataclass(frozen=True, eq=False)
class Allocation:
    """Decisions that share a budget; ``str()`` says it in words.

    With `groups`, numbers that belong to a budget are arrays with one entry per group, in the order
    of `groups`; without, they are plain numbers.

    Attributes
    ----------
    decision : ndarray of shape (n_products,)
    unconstrained : ndarray of shape (n_products,)
        What the products would get if there were no budget; bounds and lots are kept.
    cost : ndarray of shape (n_products,)
        Expected cost of each decision.
    expected_cost, unconstrained_cost : float
        Sums over all products: of `decision`, and of `unconstrained`.
    budget, used : float or ndarray of shape (n_groups,)
    shadow_price : float or ndarray of shape (n_groups,)
        What one more unit of the budget would save; 0 where it does not bind. In lots: the saving
        of the next lot per unit of budget.
    binds : bool or ndarray of shape (n_groups,)
        Whether the budget is less than what the products would get without it.
    gap : float or ndarray of shape (n_groups,)
        Proven bound on how far the expected cost is above the least possible one.
    groups : ndarray of shape (n_groups,) or None
        Names of the groups, sorted.
    """

    decision: Array
    unconstrained: Array
    cost: Array
    expected_cost: float
    unconstrained_cost: float
    budget: Numbers
    used: Numbers
    shadow_price: Numbers
    binds: bool | NDArray[np.bool_]
    gap: Numbers
    groups: NDArray[Any] | None = None

    def columns(self) -> dict[str, Array]:
        """Columns with one entry per product, ready for any table."""
        return {
            "decision": self.decision,
            "unconstrained": self.unconstrained,
            "expected_cost": self.cost,
        }

    def __str__(self) -> str:
        binds, price = np.atleast_1d(self.binds), np.atleast_1d(self.shadow_price)
        who = f"{self.decision.size:,} products"
        if self.groups is None:
            lines = [
                f"{who} share a budget of {_say(self.budget)} and use {_say(self.used)} of it."
            ]
        else:
            count = int(binds.sum())
            lines = [f"{who} share {self.groups.size:,} budgets; {count:,} are binding."]
        if not binds.any():
            lines.append("The budget is not binding.")
        elif self.groups is None:
            lines.append(f"One more unit of budget saves {_say(self.shadow_price)}.")
        else:
            best = int(price.argmax())
            lines.append(
                f"One more unit of budget saves most in group {self.groups[best]!s}: "
                f"{_say(price[best])}."
            )
        extra = max(self.expected_cost - self.unconstrained_cost, 0.0)
        lines.append(
            f"The expected cost is {_say(self.expected_cost)}, of which {_say(extra)} is due to "
            f"the budget{'' if self.groups is None else 's'}."
        )
        gap = float(np.sum(self.gap))
        proved = gap <= 1e-9 * max(self.expected_cost, 1e-300)
        more = "optimal" if proved else f"within {_say(gap)} of the optimum"
        return "\n".join([*lines, f"The allocation is {more}."])


def _say(value: Any) -> str:
    """Write a number with four digits, or all whole ones; never with an exponent above 1."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def allocate(
    cost: Cost,
    truth: Any,
    budget: Any,
    *,
    X: Any = None,
    levels: ArrayLike | None = None,
    use: ArrayLike = 1.0,
    lower: ArrayLike = 0.0,
    upper: ArrayLike | None = None,
    step: ArrayLike | None = None,
    groups: Any = None,
) -> Allocation:
    """Share a budget among products so that their expected cost is least.

    ::

        minimise  Σ_i E c_i(y_i)  subject to  Σ_i use_i · y_i ≤ budget,  lower_i ≤ y_i ≤ upper_i

    Parameters
    ----------
    cost : Newsvendor, or another cost with one slope on either side of the truth
        The same for all products, or with one entry per product.
    truth : callable, table, LatentBand or fitted model
        What is known of each product's truth:

        - a quantile function, vectorised: it takes a level, or one per product, and returns one
          quantile per product, e.g. ``scipy.stats.norm(mean, deviation).ppf``;
        - an array or table of shape (n_products, n_values): equally likely values of each
          product, such as simulated or past truths; with `levels`, its quantiles;
        - a fitted `LatentBand`, or a model that was fitted with one: with `X`, one row per product,
          the quantiles of the latent truth are taken. Nothing is fitted again.
    budget : float or mapping from group names to floats
        Money, space or time that the products share. A number holds for every group.
    X : table, array-like or sparse matrix of shape (n_products, n_features), optional
        Features of the products; for a `LatentBand` or a model.
    levels : array-like of shape (n_values,), optional
        Says that `truth` holds quantiles at these levels. The truth is taken as uniform between two
        neighbours, and as never beyond the outer ones.
    use : float or array-like of shape (n_products,), default=1
        Budget that one unit of a product uses, not negative.
    lower, upper : float or array-like of shape (n_products,), default=0 and None
        Bounds of the decisions; None is no upper bound.
    step : float or array-like of shape (n_products,), optional
        Size of a lot: decisions are multiples of it. None allows fractions.
    groups : array-like of shape (n_products,), optional
        Which products share a budget, for instance the store. Groups are solved at once.

    Returns
    -------
    Allocation

    Notes
    -----
    In fractions, one multiplier λ per budget, its shadow price, leads to the optimum (Hadley and
    Whitin, 1963): each product gets its quantile at the level (underage − λ·use) / (underage +
    overage). λ is found until the proven gap is down to rounding, also where samples make the
    quantile functions jump; the budget is then used up exactly.

    In lots, marginal analysis takes those first that save most per unit of budget (Fox, 1966). That
    is the optimum where all lots of a budget use the same (`use` times `step`), and wherever `gap`
    is 0. Otherwise this is a knapsack problem; the answer is less than what one lot saves from the
    optimum, and `gap` bounds by how much.

    Expected costs of a quantile function, and its decisions in lots, are based on 65 of its
    quantiles.

    Examples
    --------
    Two products compete for 100 units of shelf space; the second is twice as profitable:

    >>> from scipy.stats import norm
    >>> from unmet import Newsvendor, allocate
    >>> cost = Newsvendor(underage=[2, 4], overage=1)
    >>> shared = allocate(cost, norm([50, 70], [10, 20]).ppf, budget=100)
    >>> shared.decision.round(1)
    array([33.5, 66.5])
    >>> print(shared)
    2 products share a budget of 100 and use 100 of it.
    One more unit of budget saves 1.851.
    The expected cost is 79.37, of which 40.47 is due to the budget.
    The allocation is optimal.
    """
    known = _read_truth(truth, X, levels)
    n_products = known.n_products
    below, above = _read_slopes(cost, n_products)
    if lower is None:
        raise InvalidInput("lower must be a finite number or one per product, got None.")
    names, group = _read_groups(groups, n_products)
    room = read_room(step, lower, upper, n_products)
    if not np.isfinite(room.first).all():
        raise InvalidInput("lower must be finite for every product, got -inf.")
    shared = _Shared(
        expand("use", non_negative("use", use), n_products), group, _read_budget(budget, names)
    )
    least = shared.used(room.first)
    good = least <= shared.budget + _ROUNDING * shared.used(np.abs(room.first))
    if not good.all():
        place = int(np.argmin(good))
        where = "" if names is None else f" in group {names[place]!s}"
        raise InvalidInput(
            f"budget must be at least {least[place]:g}, which the lower bounds use, "
            f"got {shared.budget[place]:g}{where}."
        )
    with np.errstate(over="ignore"):
        dearest = np.divide(below, shared.use, out=np.zeros(n_products), where=shared.use > 0)
    top = np.zeros(shared.budget.size)  # prices from which on nobody asks for more than it must
    np.maximum.at(top, group, np.minimum(dearest, 1e300))
    top *= 1.0 + 1e-9

    def level(price: Array) -> Array:
        """Where the marginal cost (u + o) F(y) − u is minus the price of what a unit uses."""
        return np.asarray((below - price[group] * shared.use) / (below + above))

    def in_fractions(price: Array) -> Array:
        at = level(price)
        return np.where(at > 0, np.clip(known.quantile(at), room.first, room.last), room.first)

    found = _Bracket(shared, in_fractions, top, strict=known.ask is not None)
    if room.step is None:
        decision, free, price, gap = found.mixture(), found.free, found.price, found.gap
    else:
        lots = _Lots(known, shared, room.step, room.first, room.last, below, above)
        decision, free, price, gap = lots.decide(level, top, found.price)
    binds = shared.used(free) > shared.budget
    paid, unpaid = (known.expected_cost(each, below, above) for each in (decision, free))

    def plain(values: NDArray[Any]) -> Any:
        return values if names is not None else values[0].item()

    return Allocation(
        decision=decision,
        unconstrained=free,
        cost=paid,
        expected_cost=float(paid.sum()),
        unconstrained_cost=float(unpaid.sum()),
        budget=plain(shared.budget),
        used=plain(shared.used(decision)),
        shadow_price=plain(np.where(binds, price, 0.0)),
        binds=plain(binds),
        gap=plain(np.where(binds, np.maximum(gap, 0.0), 0.0)),
        groups=names,
    )


# --- What is known of the truth of each product.


class _Truth:
    """The distribution of the truth D of each product: samples, quantiles, or their function.

    The expected cost of a decision y follows from the expected shortfall E(D − y)⁺::

        E c(y) = u E(D − y)⁺ + o E(y − D)⁺,    E(y − D)⁺ = y − E D + E(D − y)⁺

    Parameters
    ----------
    values : ndarray of shape (n_products, n_values)
        Equally likely values, or quantiles at `levels`; each row in ascending order.
    levels : ndarray of shape (n_values,), optional
        Quantiles are straight lines between them, and nothing lies beyond the outer ones.
    ask : callable, optional
        A quantile function, asked as it is for decisions; expectations come from the table.
    """

    def __init__(
        self,
        values: Array,
        levels: Array | None = None,
        ask: Callable[[Any], Any] | None = None,
    ) -> None:
        self.values, self.levels, self.ask = values, levels, ask
        self.n_products = len(values)

    @classmethod
    def of_function(cls, ask: Callable[[Any], Any]) -> _Truth:
        """Read a quantile function at 65 levels, close together in the tails."""
        first = np.asarray(ask(0.5), dtype=np.float64)
        if first.ndim != 1 or not first.size:
            raise InvalidInput(
                f"truth must return one quantile per product, got shape {first.shape} at level 0.5."
            )
        points = np.linspace(-5.0, 5.0, 65)
        levels = ndtr(points)
        asked = [_asked(ask, float(each), first.size) for each in levels]
        values = np.ascontiguousarray(np.stack(asked, axis=1))
        _check_order(values)
        # Straight lines between quantiles lie off the function by Q''(p) Δp² / 12 on average. With
        # p = Φ(z) and points at equal distances h of z, Q'' Δp² = (Q_zz + z Q_z) h²; less that,
        # expectations are right to the fourth order.
        before, here, after = values[:, :-2], values[:, 1:-1], values[:, 2:]
        tilt = 0.5 * (points[1] - points[0]) * points[1:-1]
        bend = ((1.0 + tilt) * after - 2.0 * here + (1.0 - tilt) * before) / 12.0
        values[:, 1:-1] -= bend
        return cls(np.maximum.accumulate(values, axis=1), levels, ask)

    def quantile(self, level: Array) -> Array:
        """Where each product reaches its level."""
        level = np.clip(level, 1e-12, 1.0 - 1e-12)
        if self.ask is not None:
            return _asked(self.ask, level, self.n_products)
        return self.from_table(level)

    def from_table(self, level: Array) -> Array:
        """Read the quantile of each product from its values."""
        rows, count = np.arange(self.n_products), self.values.shape[1]
        if self.levels is None:  # a level this close to a step of the sample is meant to be on it
            place = np.ceil(level * count - _ROUNDING).astype(np.intp) - 1
            return np.asarray(self.values[rows, np.clip(place, 0, count - 1)])
        if count == 1:
            return self.values[:, 0].copy()
        inside = np.clip(level, self.levels[0], self.levels[-1])
        right = np.clip(np.searchsorted(self.levels, inside), 1, count - 1)
        left = self.levels[right - 1]
        share = (inside - left) / (self.levels[right] - left)
        bottom, top = self.values[rows, right - 1], self.values[rows, right]
        return np.asarray(bottom + share * (top - bottom))

    def shortfall(self, decision: Array, rows: Any = slice(None)) -> Array:
        """E(D − y)⁺ of decisions, one for each product or for some of them.

        Over a stretch [a, b] of probability p that lies above y it is p times the middle less y,
        which is what half of p on either end gives. The stretch that y falls into counts
        p (b − y)² / (2 (b − a)) instead of p (b − y) / 2.
        """
        values = self.values[rows]
        over = np.maximum(values - decision[:, np.newaxis], 0.0)
        if self.levels is None:
            return np.asarray(over.mean(axis=1))
        last = self.levels.size - 1
        left = np.clip(last - np.count_nonzero(over, axis=1), -1, last - 1)
        place = np.arange(len(values))
        ahead = over[place, left + 1]
        width = values[place, left + 1] - values[place, np.maximum(left, 0)]
        share = np.divide(ahead, width, out=np.ones(len(values)), where=width > 0)
        mass = np.append(np.diff(self.levels), 0.0)
        return np.asarray(over @ self._weight + 0.5 * mass[left] * ahead * (share - 1.0))

    @cached_property
    def _weight(self) -> Array:
        """Weights of the values in the mean: half of each stretch beside them, and the ends."""
        if self.levels is None:
            return np.full(self.values.shape[1], 1.0 / self.values.shape[1])
        stretch = np.diff(self.levels, prepend=0.0, append=1.0)
        weight = 0.5 * (stretch[1:] + stretch[:-1])
        weight[0] += 0.5 * stretch[0]
        weight[-1] += 0.5 * stretch[-1]
        return np.asarray(weight)

    def expected_cost(self, decision: Array, below: Array, above: Array) -> Array:
        """E c(y) of each product, never negative."""
        short = self.shortfall(decision)
        left = np.maximum(decision - self.values @ self._weight + short, 0.0)
        return np.asarray(below * short + above * left)


def _asked(ask: Callable[[Any], Any], level: Numbers, n_products: int) -> Array:
    """Ask a quantile function, and check what it says."""
    value = np.asarray(ask(level), dtype=np.float64)
    if value.shape != (n_products,):
        raise InvalidInput(
            f"truth must return one quantile for each of {n_products} products, "
            f"got shape {value.shape}."
        )
    if not np.isfinite(value).all():
        product = int(np.argmin(np.isfinite(value)))
        at = np.broadcast_to(level, value.shape)[product]
        raise InvalidInput(
            f"truth must return finite quantiles, got {value[product]} "
            f"at level {at:.4g} for product {product}."
        )
    return value


def _check_order(values: Array) -> None:
    """Refuse quantiles that cross."""
    falls = np.diff(values, axis=1) < -1e-9 * (1.0 + np.abs(values[:, 1:]))
    if falls.any():
        raise _falling(int(falls.any(axis=1).argmax()))


def _falling(product: int) -> InvalidInput:
    return InvalidInput(
        "truth must not fall from one level to the next, got quantiles that decrease as the level "
        f"grows for product {product}."
    )


# --- The price of each budget.


class _Shared:
    """What a unit of each product uses, of which budget, and the budgets."""

    def __init__(self, use: Array, group: NDArray[np.intp], budget: Array) -> None:
        self.use, self.group, self.budget = use, group, budget

    def used(self, decision: Array) -> Array:
        """Sum of use times decision, for each budget."""
        spent = np.bincount(self.group, self.use * decision, minlength=self.budget.size)
        return spent.astype(np.float64, copy=False)


class _Bracket:
    """Two prices of each budget around the one at which it is just used up.

    Parameters
    ----------
    shared : _Shared
    respond : callable
        Price of each budget in, decision of each product out.
    top : ndarray of shape (n_budgets,)
        Prices at which every product is content with its lower bound.
    strict : bool
        Whether a decision that does not fall as the price rises is an error, or rounding.
    few : float, default=0
        Stop where the decisions at both prices differ by no more than this in all.
    hints : sequence of ndarray of shape (n_budgets,)
        Prices to try first.

    Attributes
    ----------
    low, high : ndarray of shape (n_budgets,)
        At `low` products ask for more than there is, at `high` they do not.
    more, less, free : ndarray of shape (n_products,)
        Decisions at these prices, and where the budget costs nothing.
    over, under : ndarray of shape (n_budgets,)
        Use at `low` less the budget, above 0 where it binds; the budget less use at `high`.
    """

    def __init__(
        self,
        shared: _Shared,
        respond: Callable[[Array], Array],
        top: Array,
        *,
        strict: bool,
        few: float = 0.0,
        hints: Sequence[Array] = (),
    ) -> None:
        self.shared, group, budget = shared, shared.group, shared.budget
        self.low = np.zeros(budget.size)
        self.free = self.more = respond(self.low)
        self.over = shared.used(self.free) - budget
        self.high = np.where(self.over > 0, top, 0.0)
        self.less = np.where((self.over > 0)[group], respond(self.high), self.free)
        self.under = budget - shared.used(self.less)
        size = np.maximum(np.abs(budget), shared.used(np.abs(self.less)))
        hinted = list(hints)
        while not (closed := self.closed).all():
            if few and np.where(closed[group], 0.0, self.more - self.less).sum() <= few:
                break
            if not few and (self.gap <= 1e-13 * self.high * size).all():
                break
            low, high = self.low, self.high
            if hinted:
                price = hinted.pop(0)
            else:  # numbers that are not negative are ordered as their bits are
                bits = low.view(np.int64) + (high.view(np.int64) - low.view(np.int64)) // 2
                price = bits.view(np.float64)
            price = np.clip(price, np.nextafter(low, np.inf), np.nextafter(high, 0.0))
            price = np.where(closed, high, price)
            asked = respond(price)
            inside = np.clip(asked, self.less, self.more)
            scale = 1.0 + np.abs(self.less) + np.abs(self.more)
            wrong = np.abs(asked - inside) > 1e-6 * scale  # more than rounding of quantiles
            if strict and wrong.any():
                raise _falling(int(wrong.argmax()))
            over = shared.used(inside) - budget
            up, down = ~closed & (over > 0), ~closed & (over <= 0)
            self.low, self.high = np.where(up, price, low), np.where(down, price, high)
            self.over = np.where(up, over, self.over)
            self.under = np.where(down, -over, self.under)
            self.more = np.where(up[group], inside, self.more)
            self.less = np.where(down[group], inside, self.less)

    @property
    def binds(self) -> NDArray[np.bool_]:
        """Budgets that are too small for what products ask for when it costs nothing."""
        return self.over > 0

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Budgets with no floating-point number between the two prices."""
        return ~self.binds | (np.nextafter(self.low, np.inf) >= self.high)

    @property
    def gap(self) -> Array:
        """Bound on the excess cost of any mixture of `more` and `less` that meets the budget.

        Between the two decisions of a product the cost falls by between `low` and `high` per unit
        of budget. Under the price `high` a mixture y is therefore at most (high − low) w (y − less)
        above the best, which sums to (high − low) · under; under `low` likewise to
        (high − low) · over.
        """
        distance = np.minimum(self.over, self.under)
        return np.where(self.binds, (self.high - self.low) * np.maximum(distance, 0.0), 0.0)

    @property
    def price(self) -> Array:
        """The end that comes closer to the budget."""
        price = np.where(self.over < self.under, self.low, self.high)
        return np.where(self.binds, price, 0.0)

    def mixture(self) -> Array:
        """Mix both decisions so that the budget is used up, and not a rounding beyond it."""
        shared, span = self.shared, self.over + self.under
        span = np.where(span > 0, span, 1.0)
        share = np.clip(np.where(self.binds, self.under / span, 1.0), 0.0, 1.0)
        for _ in range(4):
            decision = self.less + share[shared.group] * (self.more - self.less)
            excess = np.where(self.binds, shared.used(decision) - shared.budget, 0.0)
            if not (excess > 0).any():
                break
            share = np.maximum(share - 2.0 * np.maximum(excess, 0.0) / span, 0.0)
        return np.asarray(decision)


# --- In lots.


class _Lots:
    """The same problem counted in lots above the lower bounds; budgets less what these use."""

    def __init__(
        self,
        truth: _Truth,
        shared: _Shared,
        step: Array,
        first: Array,
        last: Array,
        below: Array,
        above: Array,
    ) -> None:
        self.truth, self.step, self.first = truth, step, first
        self.below, self.above = below, above
        use, group = shared.use * step, shared.group
        left = np.maximum(shared.budget - shared.used(first), 0.0)
        least, most = np.full(left.size, np.inf), np.zeros(left.size)
        costly = use > 0
        np.minimum.at(least, group[costly], use[costly])
        np.maximum.at(most, group[costly], use[costly])
        alike = (most > 0) & (most - least <= _ROUNDING * most)
        whole = np.floor(left / np.where(alike, most, 1.0) * (1.0 + _ROUNDING) + _ROUNDING)
        # one rounding more than so many lots, or their sum might seem not to fit
        left = np.where(alike, whole * most * (1.0 + _ROUNDING), left)
        self.shared = _Shared(use, group, left)
        self.most = np.round((last - first) / step)  # lots above the lower bound; may be infinite
        self.least = _ROUNDING * step * (below + above)  # a saving up to this is rounding

    def saving(self, count: Array, index: Any = slice(None)) -> Array:
        """Value one lot more, after `count` lots; of some products, also several times."""
        step, above = self.step[index], self.above[index]
        start = self.first[index] + count * step
        sold = self.truth.shortfall(start, index) - self.truth.shortfall(start + step, index)
        return np.asarray((self.below[index] + above) * sold - above * step)

    def decide(
        self, level: Callable[[Array], Array], top: Array, near: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Give decisions, those without a budget, prices, and the proven gap of each budget."""
        shared = self.shared

        def respond(price: Array) -> Array:
            """Count the lots of each product that save more than they use at a price."""
            at = level(price)
            quantile = self.truth.from_table(np.clip(at, 1e-12, 1.0 - 1e-12))
            number = np.floor((quantile - self.first) / self.step)
            count = np.clip(np.where(at > 0, number, 0.0), 0.0, self.most)
            paid = price[shared.group] * shared.use
            worth = (at > 0) & (count < self.most)
            worth &= self.saving(count) > paid * (1.0 + _ROUNDING) + self.least
            return count + worth

        # the price in fractions is close where products are many; the lots between are sorted
        few = max(1000.0, 0.5 * self.step.size)
        hints = [near * (1.0 - 1e-3), near * (1.0 + 1e-3)]
        bracket = _Bracket(shared, respond, top, strict=False, few=few, hints=hints)
        count, price, gap = self._take_best(bracket)
        gap = gap - self._take_smaller(count)
        units = (np.round(self.first / self.step) + each for each in (count, bracket.free))
        decision, free = (np.asarray(each * self.step) + 0.0 for each in units)
        return decision, free, price, gap

    def _take_best(self, bracket: _Bracket) -> tuple[Array, Array, Array]:
        """Take the lots that `more` has and `less` has not, the best first, while they fit.

        Lots of a product with the same saving are one run, and may be taken one by one.

        Returns
        -------
        count : ndarray of shape (n_products,)
            Lots of each product.
        price, worth : ndarray of shape (n_budgets,)
            Saving per unit of budget of the first lot that did not fit; of what is left.
        """
        shared = self.shared
        n_budgets = shared.budget.size
        between = bracket.more - bracket.less
        closed = bracket.closed[shared.group]
        tied = np.flatnonzero(closed & (between > 0))  # all of them save the price
        open_ones = np.flatnonzero(~closed & (between > 0))
        times = between[open_ones].astype(np.intp)
        product = np.repeat(open_ones, times)
        before = np.arange(product.size) - np.repeat(np.cumsum(times) - times, times)
        saved = self.saving(bracket.less[product] + before, product)
        rate = np.concatenate([saved / shared.use[product], bracket.low[shared.group[tied]]])
        product = np.concatenate([product, tied])
        size = np.concatenate([np.ones(saved.size), between[tied]])
        order = np.lexsort((-rate, shared.group[product]))
        product, size, rate = product[order], size[order], rate[order]

        group, use = shared.group[product], shared.use[product]
        room = shared.budget - shared.used(bracket.less)
        total = np.cumsum(size * use)
        starts = np.searchsorted(group, np.arange(n_budgets))
        reached = total - np.concatenate([[0.0], total])[starts][group]
        slack = _ROUNDING * np.maximum(shared.budget, 0.0)
        fits = reached <= (room + slack)[group]
        # first run of each budget that does not fit; lots after it wait, also if they would
        blocked = np.full(n_budgets, product.size)
        np.minimum.at(blocked, group[~fits], np.flatnonzero(~fits))
        taken = np.where(np.arange(group.size) < blocked[group], size, 0.0)
        stops = np.flatnonzero(blocked < product.size)
        at = blocked[stops]
        ahead = reached[at] - size[at] * use[at]
        taken[at] = np.clip(np.floor((room[stops] + slack[stops] - ahead) / use[at]), 0.0, size[at])
        count: Array = bracket.less + np.bincount(product, taken, minlength=bracket.less.size)
        price = np.zeros(n_budgets)
        price[stops] = rate[at]
        left = np.maximum(shared.budget - shared.used(count), 0.0)
        left[left <= 2.0 * slack] = 0.0
        return count, price, price * left

    def _take_smaller(self, count: Array) -> Array:
        """Take lots that still fit, the best first; changes `count`, returns savings by budget."""
        group, use = self.shared.group, self.shared.use
        saved = np.zeros(self.shared.budget.size)
        left = self.shared.budget - self.shared.used(count)
        index = np.flatnonzero((use > 0) & (use <= left[group]) & (count < self.most))
        gain = self.saving(count[index], index)
        for product in index[np.argsort(-gain / use[index], kind="stable")]:
            own = np.array([product])
            while use[product] <= left[group[product]] and count[product] < self.most[product]:
                worth = float(self.saving(count[own], own)[0])
                if worth <= self.least[product]:
                    break
                saved[group[product]] += worth
                left[group[product]] -= use[product]
                count[product] += 1
        return saved


# --- Reading.


def _read_truth(truth: Any, X: Any, levels: ArrayLike | None) -> _Truth:
    """Read what is known of the products, in whatever form."""
    latent = isinstance(truth, DecisionModel | LatentBand)
    if (latent or callable(truth)) and levels is not None:
        kind = "a LatentBand" if latent else "a quantile function"
        raise InvalidInput(f"levels must be None where truth is {kind}, got {levels!r:.60}.")
    if latent:
        rule = truth if isinstance(truth, LatentBand) else getattr(truth, "band_rule_", None)
        if not isinstance(rule, LatentBand):
            raise Unsupported(
                f"allocate and {type(truth).__name__} without a LatentBand do not fit together, "
                "because nothing is known of the distribution of the truth: fit it with "
                "band=LatentBand(), or give quantiles."
            )
        if X is None:
            raise InvalidInput("X must have one row per product where truth is a model, got None.")
        return _Truth.of_function(rule.quantile_function(X))
    if X is not None:
        raise InvalidInput(
            "X is only used where truth is a LatentBand or a model fitted with one, "
            f"got truth of type {type(truth).__name__}."
        )
    if callable(truth):
        return _Truth.of_function(truth)
    values = _read_values(truth)
    if levels is None:
        return _Truth(np.sort(values, axis=1))
    known = _read_levels(levels, values.shape[1])
    _check_order(values)
    return _Truth(values, known)


def _read_values(truth: Any) -> Array:
    """Finite values of shape (n_products, n_values)."""
    if nw.dependencies.is_into_dataframe(truth):
        truth = nw.from_native(truth, eager_only=True).to_numpy()
    try:
        values = np.ascontiguousarray(truth, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "truth must be a quantile function, a table of numbers or a fitted model, "
            f"got {truth!r:.60}."
        ) from None
    if values.ndim != 2 or not values.size:
        raise InvalidInput(
            "truth must have one row per product and one column per value, "
            f"got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        product = int((~np.isfinite(values)).any(axis=1).argmax())
        raise InvalidInput(f"truth must hold finite numbers, got NaN or inf for product {product}.")
    return values


def _read_levels(levels: ArrayLike, n_values: int) -> Array:
    read = read_array("levels", levels)
    if read.shape != (n_values,):
        raise InvalidInput(
            f"levels must have one entry for each of {n_values} columns of truth, "
            f"got shape {read.shape}."
        )
    if (np.diff(read, prepend=0.0, append=1.0) <= 0).any():
        raise InvalidInput(
            f"levels must rise and lie strictly between 0 and 1, got {read.tolist()}."
        )
    return read


def _read_slopes(cost: Cost, n_products: int) -> tuple[Array, Array]:
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), got {cost!r}."
        )
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"allocate and the cost {type(cost).__name__} do not fit together, because it has not "
            "one slope below the truth and one above."
        )
    slopes = cost.slopes
    count = common_rows(slopes.parameters())
    if count is not None and count != n_products:
        raise InvalidInput(
            f"cost must be the same for all products or have one entry for each of {n_products}, "
            f"got {count}."
        )
    return slopes.rows(n_products)


def _read_groups(groups: Any, n_products: int) -> tuple[NDArray[Any] | None, NDArray[np.intp]]:
    """Names of the groups, sorted, and the place of each product's among them."""
    if groups is None:
        return None, np.zeros(n_products, dtype=np.intp)
    labels = np.asarray(groups)
    if labels.shape != (n_products,):
        raise InvalidInput(
            f"groups must have one entry for each of {n_products} products, "
            f"got shape {labels.shape}."
        )
    names, place = np.unique(labels, return_inverse=True)
    return names, place


def _read_budget(budget: Any, names: NDArray[Any] | None) -> Array:
    """One amount for each group, in the order of their names."""
    if not isinstance(budget, Mapping):
        amount = read_numbers("budget", budget)
        if np.ndim(amount):
            raise InvalidInput(
                "budget must be a number, or with groups also a mapping from names to numbers, "
                f"got an array of {np.size(amount)}."
            )
        return np.full(1 if names is None else names.size, float(amount))
    if names is None:
        raise InvalidInput("budget must be a number where there are no groups, got a mapping.")
    missing = [name for name in names.tolist() if name not in budget]
    if missing:
        raise InvalidInput(
            f"budget must have an entry for every group, got none for {missing[0]!r}."
        )
    amounts = read_numbers("budget", [budget[name] for name in names.tolist()])
    return np.array(amounts, dtype=np.float64)
