"""What `allocate` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Numbers


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
        lines = self._one_budget() if self.groups is None else self._many_budgets()
        extra = self.expected_cost - self.unconstrained_cost
        lines.append(
            f"The expected cost is {_say(self.expected_cost)}, of which {_say(max(extra, 0.0))} is "
            f"due to the budget{'' if self.groups is None else 's'}."
        )
        gap = float(np.sum(self.gap))
        if gap <= 1e-9 * max(self.expected_cost, 1e-300):
            lines.append("No allocation costs less.")
        else:
            lines.append(f"No allocation saves more than another {_say(gap)}.")
        return "\n".join(lines)

    def _one_budget(self) -> list[str]:
        count = self.decision.size
        who = f"{count:,} product{'' if count == 1 else 's'}"
        if not self.binds:
            verb = "uses" if count == 1 else "use"
            return [
                f"{who} {verb} {_say(self.used)} of a budget of {_say(self.budget)}: "
                "it does not bind, and more of it is worth nothing."
            ]
        verb = "shares" if count == 1 else "share"
        return [
            f"{who} {verb} a budget of {_say(self.budget)} and use {_say(self.used)} of it."
            if count > 1
            else f"{who} has a budget of {_say(self.budget)} and uses {_say(self.used)} of it.",
            f"One more unit of it would save {_say(self.shadow_price)}.",
        ]

    def _many_budgets(self) -> list[str]:
        assert self.groups is not None
        binds, price = np.asarray(self.binds), np.asarray(self.shadow_price)
        lines = [
            f"{self.decision.size:,} products share {self.groups.size:,} budgets, "
            f"{int(binds.sum()):,} of which bind."
        ]
        if binds.any():
            best = int(price.argmax())
            lines.append(
                f"One more unit is worth most in group {self.groups[best]!s}, where it would save "
                f"{_say(price[best])}."
            )
        return lines


def _say(value: Any) -> str:
    """Write a number with four digits, or all whole ones; never with an exponent above 1."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
