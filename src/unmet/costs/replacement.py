"""Preventive replacement: waiting too long means a failure, acting too soon wastes life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, Band, Numbers, common_rows
from unmet.costs.base import Rows
from unmet.costs.jump import JumpCost, Walk
from unmet.costs.parameters import check_dearer_failure, positive, require_one_end
from unmet.errors import InvalidInput

Form: TypeAlias = Literal["corrected", "printed"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PreventiveReplacement(JumpCost):
    """Discounted cost of a replacement interval (eq. pr).

    The truth is the failure time, the observation the time of the last replacement, the decision y
    the planned interval. With r the discount rate and t = s + ε the time at which the part is taken
    to fail (ε is the band's ``high``; for a realised cost t is the truth):

    ========== ========================= ============= ========================
    form       planned in time, y < t    y = t         too late, y > t
    ========== ========================= ============= ========================
    corrected  planned · exp(-r y)       as for y < t  failure · exp(-r t)
    printed    planned · exp(-r s)       0             failure · exp(-r s)
    ========== ========================= ============= ========================

    Both are paid at the time of the replacement in the corrected form, as in Fox (1967): waiting
    lowers the cost until the part fails. As printed, the planned cost is discounted at s, so every
    y below all s + ε costs the same, "replace at once" among them.

    Parameters
    ----------
    planned, failure : float or array-like of shape (n_rows,)
        Cost of a planned replacement (c₁) and of one after a failure (c₂), 0 < planned < failure.
    form : {"corrected", "printed"}, default="corrected"
    discount : float or array-like of shape (n_rows,), default=1.0
        Positive discount rate r per unit of time. The paper's is 1, so its unit of time is the one
        in which a cost loses the factor e; for times in days use a rate per day.

    Notes
    -----
    Neither form is convex in the decision, so this cost has no slopes. ``LinearDecision`` trains it
    exactly where features only tell groups apart, and else with ``solver="smoothed"``; a network
    smooths it in the same way. The jump at t is invisible to a gradient: the subgradient is the
    derivative on the piece to which y belongs (at y = t of the corrected form, the piece on the
    left), which is 0 everywhere for the printed form. Eq. pr has one ε, the band's ``high``: a
    ``low`` that is neither 0 nor the same is refused.

    Examples
    --------
    >>> replacement = PreventiveReplacement(planned=1, failure=5, discount=0.1)
    >>> replacement.cost(decision=[0, 5, 10, 11], truth=10).round(3)
    array([1.   , 0.607, 0.368, 1.839])
    """

    planned: Numbers
    failure: Numbers
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
        if form not in ("corrected", "printed"):
            raise InvalidInput(f"form must be 'corrected' or 'printed', got {form!r}.")
        object.__setattr__(self, "planned", positive("planned", planned))
        object.__setattr__(self, "failure", positive("failure", failure))
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "discount", positive("discount", discount))
        common_rows(self.parameters())
        check_dearer_failure(self.planned, self.failure)

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Discounted cost of each row, for a part taken to fail at s + high."""
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

        It is 0 everywhere for the printed form, and no form's derivative sees the jump at s + high.
        """
        rows = self.align(decision, observation, band)
        if self.form == "printed":
            return np.zeros(rows.decision.size)
        in_time = rows.decision <= rows.top
        slope = np.where(in_time, -np.multiply(self.planned, self.discount), 0.0)
        return self._discounted(slope, np.minimum(rows.decision, rows.top))

    def in_time(self, rows: Rows, decision: Array) -> Array:
        """Discount the planned replacement."""
        paid_at = rows.observation if self.form == "printed" else decision
        return self._discounted(np.asarray(self.planned), paid_at)

    def in_time_area(self, rows: Rows, left: Array, right: Array) -> Array:
        """Integrate planned · exp(-r y), or the constant of the printed form."""
        if self.form == "printed":
            return self._discounted(np.asarray(self.planned), rows.observation) * (right - left)
        factor = -np.expm1(-(self.discount * (right - left))) / self.discount
        return self._discounted(np.asarray(self.planned), left) * factor

    def late(self, rows: Rows) -> Array:
        """Discount the failure to the time when it is paid."""
        paid_at = rows.observation if self.form == "printed" else rows.top
        return self._discounted(np.asarray(self.failure), paid_at)

    def in_time_totals(self, rows: Rows, weight: Array, walk: Walk) -> Array:
        """Run through sums of the rows' own constants, or for each discount rate of its factor."""
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

    def _check_band(self, band: Band) -> None:
        require_one_end(band, "PreventiveReplacement", "pr")
