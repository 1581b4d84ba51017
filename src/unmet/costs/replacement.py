"""Preventive replacement: replace a part before it fails, but not too early.

If you wait too long, the part fails. If you replace it too early, you waste life. Such a cost falls
until the failure and jumps up there. `JumpCost` describes how models train on it.

`PreventiveReplacement` discounts payments (eq. pr). `AgeReplacement` is the long-run cost per unit
of time, written as a cost of single rows.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Band, Numbers, non_negative, positive, read_array, require
from unmet.costs.base import Aligned, Cost
from unmet.errors import InvalidInput
from unmet.validation import OneOf

Form: TypeAlias = Literal["corrected", "printed"]


class JumpCost(Cost):
    """Base class of costs that never rise before t = s + high, jump up at t, and stay constant.

    Two facts make such a cost trainable. First, a sum of such costs over one common decision is
    least at one of the t, because it never rises between two of them. `shift_totals` therefore
    finds the best decision by sorting (`unmet.solvers.descent.jumps`). Second, the mean of the cost
    over a window [y − w/2, y + w/2] has a closed form (`box_mean`). A quasi-Newton method can
    follow this mean, while the gradient of the cost itself does not see the jumps.

    Examples
    --------
    >>> from unmet import AgeReplacement, PreventiveReplacement
    >>> from unmet.costs.replacement import JumpCost
    >>> issubclass(AgeReplacement, JumpCost), issubclass(PreventiveReplacement, JumpCost)
    (True, True)
    """

    @abstractmethod
    def in_time(self, rows: Aligned, decision: Array) -> Array:
        """Compute the cost of decisions before t."""

    @abstractmethod
    def in_time_area(self, rows: Aligned, left: Array, right: Array) -> Array:
        """Integrate the cost before t over decisions from `left` to `right`."""

    @abstractmethod
    def late(self, rows: Aligned) -> Array:
        """Compute the cost of every decision beyond t."""

    @abstractmethod
    def in_time_totals(self, rows: Aligned, weight: Array, walk: Walk) -> Array:
        """Sum the cost before t over the rows in time, for each shift of the walk."""

    def box_mean(
        self, decision: ArrayLike, width: float, observation: ArrayLike, band: Band | None = None
    ) -> tuple[Array, Array]:
        """Average the loss over a window of decisions, and give the slope of that average.

        Parameters
        ----------
        decision : float or array-like of shape (n_rows,)
            Centers of the windows.
        width : float
            Positive width of the window. Larger values give a smoother function that is further
            from the loss.
        observation, band
            As in `Cost.loss`.

        Returns
        -------
        mean, slope : ndarray of shape (n_rows,)
            Averages and their derivatives in the decision.
        """
        rows = self.align(decision, observation, band)
        left, right = rows.decision - 0.5 * width, rows.decision + 0.5 * width
        edge = np.clip(rows.top, left, right)
        with np.errstate(over="ignore", invalid="ignore"):
            late = self.late(rows)
            mean = (self.in_time_area(rows, left, edge) + late * (right - edge)) / width
            above = np.where(right > rows.top, late, self.in_time(rows, right))
            below = np.where(left > rows.top, late, self.in_time(rows, left))
            return np.asarray(mean), np.asarray((above - below) / width)

    def shift_totals(
        self,
        base: ArrayLike,
        observation: ArrayLike,
        band: Band | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Compute the total cost of the decisions ``base + shift`` at every shift that can be best.

        Parameters
        ----------
        base : float or array-like of shape (n_rows,)
            Decisions before the shift.
        observation, band
            As in `Cost.loss`.
        sample_weight : float or array-like of shape (n_rows,), optional
            Weights of the rows in the total. None is 1 for every row.

        Returns
        -------
        shift, total : ndarray of shape (n_rows,)
            Shifts in ascending order, one for each row: the shift that brings the row to its t. The
            computation sorts once and takes running sums, one pass for each distinct discount rate.
        """
        rows = self.align(base, observation, band)
        weight = np.ones(1) if sample_weight is None else read_array("sample_weight", sample_weight)
        weight = np.broadcast_to(weight, rows.decision.shape)
        walk = Walk.of(rows.top - rows.decision)
        late = walk.below(weight * self.late(rows))
        return walk.shift, late + self.in_time_totals(rows, weight, walk)


@dataclass(frozen=True)
class Walk:
    """Shifts in ascending order, with sums over the rows on either side of each shift.

    Attributes
    ----------
    shift : ndarray of shape (n_rows,)
        Sorted shifts.
    order : ndarray of shape (n_rows,)
        Row of each shift.
    first, last : ndarray of shape (n_rows,)
        Where the ties of each shift begin and end (exclusive).
    """

    shift: Array
    order: NDArray[np.intp]
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, shift: Array) -> Self:
        """Sort the shifts."""
        order = np.argsort(shift, kind="stable")
        sorted_shift = shift[order]
        first = np.searchsorted(sorted_shift, sorted_shift, side="left")
        last = np.searchsorted(sorted_shift, sorted_shift, side="right")
        return cls(sorted_shift, order, first, last)

    def below(self, values: Array) -> Array:
        """Sum over the rows whose own shift is smaller."""
        return _running(values[self.order])[self.first]

    def not_below(self, values: Array) -> Array:
        """Sum over the rows whose own shift is as large or larger."""
        return _running(values[self.order][::-1])[::-1][self.first]

    def above(self, values: Array) -> Array:
        """Sum over the rows whose own shift is larger."""
        return _running(values[self.order][::-1])[::-1][self.last]


def _running(values: Array) -> Array:
    """Sum of everything before each place, and of all at the end."""
    sums = np.zeros(values.size + 1)
    np.cumsum(values, out=sums[1:])
    return sums


class _Replacement(JumpCost):
    """What both costs share: two prices, and one ε only."""

    planned: Numbers
    failure: Numbers

    def _keep(self, **values: Any) -> None:
        """Also refuse failures that cost no more than planned replacements: no one would plan."""
        prices = {name: positive(name, values[name]) for name in ("planned", "failure")}
        super()._keep(**{**values, **prices})
        rule, dearer = "failure must be greater than planned", self.failure > self.planned
        require(dearer, rule, failure=self.failure, planned=self.planned)

    def _check_band(self, band: Band) -> None:
        """Refuse a band with two ends that differ and are not 0."""
        rule = (
            f"low of the band must be 0 or equal to high for {type(self).__name__} (eq. pr has one "
            "ε, the band's high)"
        )
        one = np.equal(band.low, 0) | np.equal(band.low, band.high)
        require(one, rule, low=band.low, high=band.high)


class PreventiveReplacement(_Replacement):
    """Discounted cost of a replacement interval (eq. pr).

    The truth is the failure time, the observation is the time of the last replacement, and the
    decision y is the planned interval. With the discount rate r and t = s + ε, the time at which
    the part is taken to fail (ε is the band's ``high``; for a realised cost t is the truth):

    ========== ========================= ============= ========================
    form       planned in time, y < t    y = t         too late, y > t
    ========== ========================= ============= ========================
    corrected  planned · exp(-r y)       as for y < t  failure · exp(-r t)
    printed    planned · exp(-r s)       0             failure · exp(-r s)
    ========== ========================= ============= ========================

    The corrected form discounts each payment from the time of the replacement, as in Fox (1967):
    waiting lowers the cost until the part fails. The printed form discounts the planned cost at s.
    Every y below all s + ε then costs the same, including an immediate replacement.

    Parameters
    ----------
    planned, failure : float or array-like of shape (n_rows,)
        Cost of a planned replacement (the paper's c₁) and of a replacement after a failure (c₂),
        with 0 < planned < failure. A larger failure cost gives shorter intervals.
    form : {"corrected", "printed"}, default="corrected"
        Which row of the table above to use. "printed" reproduces the paper; use "corrected" for
        decisions.
    discount : float or array-like of shape (n_rows,), default=1.0
        Positive discount rate r per unit of time. Larger values favor later replacements. The
        paper's rate is 1, so its unit of time is the one in which a cost loses the factor e. For
        times in days use a rate per day.

    Notes
    -----
    Neither form is convex in the decision, so this cost has no slopes. ``LinearDecision`` trains it
    exactly if features only distinguish groups, and otherwise with ``solver="smoothed"``. Networks
    smooth it the same way. A gradient does not see the jump at t: the subgradient is the derivative
    on the piece that contains y (at y = t of the corrected form, the piece on the left). It is 0
    everywhere for the printed form. Eq. pr has a single ε, the band's ``high``. A ``low`` must be 0
    or equal to ``high``.

    Examples
    --------
    >>> from unmet import PreventiveReplacement
    >>> replacement = PreventiveReplacement(planned=1, failure=5, discount=0.1)
    >>> replacement.cost(decision=[0, 5, 10, 11], truth=10).round(3)
    array([1.   , 0.607, 0.368, 1.839])
    """

    form: Form
    discount: Numbers

    def __init__(
        self,
        planned: ArrayLike,
        failure: ArrayLike,
        *,
        form: Form = "corrected",
        discount: ArrayLike = 1.0,
    ) -> None:
        OneOf("corrected", "printed")("form", form)
        rate = positive("discount", discount)
        self._keep(planned=planned, failure=failure, form=form, discount=rate)

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Compute the discounted cost of each row, for a part that fails at s + high.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rows = self.align(decision, observation, band)
        late = rows.decision > rows.top
        if self.form == "printed":
            price = np.where(late, self.failure, self.planned) * (rows.decision != rows.top)
            return self._discounted(price, rows.observation)
        price = np.where(late, self.failure, self.planned)
        return self._discounted(price, np.minimum(rows.decision, rows.top))

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Differentiate the piece of each row: -r · planned · exp(-r y) in time, else 0.

        The result is 0 everywhere for the printed form. No form's derivative sees the jump at s +
        high.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rows = self.align(decision, observation, band)
        if self.form == "printed":
            return np.zeros(rows.decision.size)
        in_time = rows.decision <= rows.top
        slope = np.where(in_time, -np.multiply(self.planned, self.discount), 0.0)
        return self._discounted(slope, np.minimum(rows.decision, rows.top))

    def in_time(self, rows: Aligned, decision: Array) -> Array:
        """Discount the planned replacement."""
        paid_at = rows.observation if self.form == "printed" else decision
        return self._discounted(np.asarray(self.planned), paid_at)

    def in_time_area(self, rows: Aligned, left: Array, right: Array) -> Array:
        """Integrate planned · exp(-r y), or the constant of the printed form."""
        if self.form == "printed":
            return self._discounted(np.asarray(self.planned), rows.observation) * (right - left)
        factor = -np.expm1(-(self.discount * (right - left))) / self.discount
        return self._discounted(np.asarray(self.planned), left) * factor

    def late(self, rows: Aligned) -> Array:
        """Discount the failure to the time when it is paid."""
        paid_at = rows.observation if self.form == "printed" else rows.top
        return self._discounted(np.asarray(self.failure), paid_at)

    def in_time_totals(self, rows: Aligned, weight: Array, walk: Walk) -> Array:
        """Sum the constants of the rows, once for each distinct discount rate."""
        if self.form == "printed":
            return walk.above(weight * self._discounted(np.asarray(self.planned), rows.observation))
        base = rows.decision
        centre = float(base.mean())  # so that no factor is too large or too small for a number
        price = weight * self.planned
        total = np.zeros(base.size)
        each = np.broadcast_to(self.discount, base.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            for rate in np.unique(each):
                own = np.where(each == rate, price * np.exp(-rate * (base - centre)), 0.0)
                total += np.exp(-rate * (walk.shift + centre)) * walk.not_below(own)
        return total

    def _discounted(self, price: Array, time: Array) -> Array:
        """Value at time 0 of `price` paid at `time`; inf for times too far below 0, no warning."""
        with np.errstate(over="ignore", invalid="ignore"):
            factor = np.exp(-(self.discount * time))
            value: Array = np.where(price == 0, 0.0, price * factor)  # 0 · inf is nothing to pay
        return value


class AgeReplacement(_Replacement):
    """Long-run cost of replacing a part at age y or when it fails, whichever comes first.

    By the renewal–reward theorem, the cost per unit of time is the cost of a cycle over its
    length::

        C(y) = [planned · P(T ≥ y) + failure · P(T < y)] / E[min(T, y)]

    (Barlow and Hunter 1960). A ratio is not a sum over rows, so models train on it by its
    multiplier, as in Dinkelbach (1967): y minimises C if and only if it minimises the expectation
    of ::

        planned · 1{t ≥ y} + failure · 1{t < y} − rate · min(t, y)

    at rate = C(y), where that expectation is 0. This expression is the loss of a row, and `rate` is
    the price of a unit of time. Here t = s + ε, where ε is the band's ``high``. For a realised cost
    t is the truth.

    Parameters
    ----------
    planned, failure : float or array-like of shape (n_rows,)
        Cost of a planned replacement and of a replacement after a failure, with 0 < planned <
        failure. A larger failure cost gives earlier replacements.
    rate : float or array-like of shape (n_rows,), default=None
        Price of a unit of time. Larger values give later replacements. None means that the rate is
        not known yet: `unmet.lifetimes.replacement_age` finds it from data, `optimal_age` from a
        distribution, and `fit_rate` for a model. `loss` needs a rate.

    Examples
    --------
    >>> from unmet import AgeReplacement
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> cost.rate_of(decision=8, truth=[4, 9, 12, 30])  # (5 + 1 + 1 + 1) / (4 + 8 + 8 + 8)
    0.2857142857142857
    >>> cost.at_rate(0.25).cost(decision=8, truth=[4, 9])
    array([ 4., -1.])
    """

    rate: Numbers | None

    def __init__(
        self, planned: ArrayLike, failure: ArrayLike, *, rate: ArrayLike | None = None
    ) -> None:
        known = None if rate is None else non_negative("rate", rate)
        self._keep(planned=planned, failure=failure, rate=known)

    def at_rate(self, rate: ArrayLike) -> AgeReplacement:
        """Give the same cost with a price of time.

        Parameters
        ----------
        rate : float or array-like of shape (n_rows,)
            Price of a unit of time. Larger values give later replacements.

        Returns
        -------
        AgeReplacement
            A copy with this rate.
        """
        return AgeReplacement(self.planned, self.failure, rate=rate)

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Compute the cost of a cycle minus the price of its time, for a failure at s + high.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rate = self._known_rate()
        rows = self.align(decision, observation, band)
        paid = np.where(rows.decision > rows.top, self.failure, self.planned)
        return np.asarray(paid - rate * np.minimum(rows.decision, rows.top))

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Differentiate the piece of each row: -rate in time, else 0; the jump has no slope.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rate = self._known_rate()
        rows = self.align(decision, observation, band)
        return np.asarray(np.where(rows.decision <= rows.top, -np.asarray(rate), 0.0))

    def rate_of(
        self,
        decision: ArrayLike,
        truth: ArrayLike,
        band: Band | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Compute the cost per unit of time of a fleet: all payments over all time in service.

        Parameters
        ----------
        decision : float or array-like of shape (n_rows,)
            Replacement ages.
        truth : float or array-like of shape (n_rows,)
            Failure times; observations if you also give a band.
        band : Band, optional
            Range of the failure time above the observation. None means that `truth` is the failure
            time.
        sample_weight : float or array-like of shape (n_rows,), optional
            Weights of the parts. None is 1 for every part.

        Returns
        -------
        float
            Cost per unit of time; inf if the parts serve no time at all.
        """
        rows = self.align(decision, truth, band)
        paid = np.where(rows.decision > rows.top, self.failure, self.planned)
        served = np.minimum(rows.decision, rows.top)
        weight = np.ones(1) if sample_weight is None else read_array("sample_weight", sample_weight)
        weight = np.broadcast_to(weight, served.shape)
        time = float(weight @ served)
        return float(weight @ paid) / time if time > 0 else float("inf")

    def in_time(self, rows: Aligned, decision: Array) -> Array:  # noqa: ARG002
        """Give the planned cost minus the price of the time until then."""
        return np.asarray(self.planned - self._known_rate() * decision)

    def in_time_area(self, rows: Aligned, left: Array, right: Array) -> Array:  # noqa: ARG002
        """Integrate planned − rate · y."""
        middle = 0.5 * (left + right)
        return np.asarray((self.planned - self._known_rate() * middle) * (right - left))

    def late(self, rows: Aligned) -> Array:
        """Give the failure cost minus the price of the time until then."""
        return np.asarray(self.failure - self._known_rate() * rows.top)

    def in_time_totals(self, rows: Aligned, weight: Array, walk: Walk) -> Array:
        """Add two running sums: costs that do not depend on the shift, and the price of time."""
        price = weight * self._known_rate()
        fixed = walk.not_below(weight * self.planned - price * rows.decision)
        return np.asarray(fixed - walk.shift * walk.not_below(price))

    def _known_rate(self) -> Numbers:
        if self.rate is None:
            raise InvalidInput(
                "rate must be a number to evaluate single rows, got None: find it with "
                "unmet.lifetimes (replacement_age for data, optimal_age for a distribution, "
                "fit_rate for a model)."
            )
        return self.rate
