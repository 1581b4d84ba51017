"""Decisions in fractions: one price for the budget, and every product at its quantile.

With a price λ on the budget products no longer compete: each takes the quantile at the level
(u − λw) / (u + o), clipped to its bounds. Where a law has gaps between its values, what products
ask for jumps as the price moves; between the two sides of such a jump all mixtures cost the same
under that price, and the one that uses up the budget is an optimum.
"""

from __future__ import annotations

import numpy as np

from unmet.allocation.laws import Function
from unmet.allocation.problem import Problem
from unmet.allocation.search import Bracket, find_bracket
from unmet.allocation.solved import Solved
from unmet.band import Array

_TOLERANCE = 1e-13
_RAREST = 1e-12  # levels closer to 0 or 1 are not asked for


def solve_continuous(problem: Problem) -> Solved:
    """Decisions without lots."""
    bracket = _search(problem, _TOLERANCE)
    return Solved(
        decision=_mixture(problem, bracket),
        free=bracket.free,
        price=_price(bracket),
        gap=bracket.gap,
        binds=bracket.binds,
    )


def find_price(problem: Problem) -> Array:
    """Price of each budget to a few digits."""
    return _price(_search(problem, 1e-6))


def _search(problem: Problem, tolerance: float) -> Bracket:
    spending = problem.spending
    size = np.maximum(np.abs(spending.budget), spending.used(np.abs(problem.room.first)))

    def enough(bracket: Bracket) -> bool:
        return bool((bracket.gap <= tolerance * bracket.high * size).all())

    strict = isinstance(problem.law, Function)
    return find_bracket(
        lambda price: _respond(problem, price), spending, problem.top, enough, strict=strict
    )


def _price(bracket: Bracket) -> Array:
    """Take the end of the bracket that comes closer to the budget."""
    price = np.where(bracket.over < bracket.under, bracket.low, bracket.high)
    return np.where(bracket.binds, price, 0.0)


def _respond(problem: Problem, price: Array) -> Array:
    """Ask each product what it wants at a price."""
    level = problem.level(price)
    asked = problem.law.quantile(np.clip(level, _RAREST, 1.0 - _RAREST))
    least, most = problem.room.first, problem.room.last
    return np.where(level > 0, np.clip(asked, least, most), least)


def _mixture(problem: Problem, bracket: Bracket) -> Array:
    """Go from `less` towards `more` as far as the budget allows, and not a rounding further."""
    spending = problem.spending
    span = bracket.over + bracket.under
    share = np.where(bracket.binds, bracket.under / np.where(span > 0, span, 1.0), 1.0)
    share = np.clip(share, 0.0, 1.0)
    step = bracket.more - bracket.less
    for _ in range(4):
        decision = bracket.less + share[spending.group] * step
        excess = np.where(bracket.binds, spending.used(decision) - spending.budget, 0.0)
        if not (excess > 0).any():
            break
        back = 2.0 * np.maximum(excess, 0.0) / np.where(span > 0, span, 1.0)
        share = np.maximum(share - back, 0.0)
    return np.asarray(decision)
