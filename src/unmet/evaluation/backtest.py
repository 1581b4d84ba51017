"""One backtest: what candidates cost on periods held out, and which of them is chosen.

Every plan lets its candidates decide for periods that they have not seen, from rolling origins.
Their decisions are scored here, adjusted for censoring where it is known which rows sold out, and
the cheapest one is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.evaluation.censored import CensoredCost, censored_cost
from unmet.evaluation.splits import Index, RollingOrigin


@dataclass(frozen=True)
class ModelChoice:
    """Which candidate decides, and what all of them cost on periods held out.

    Attributes
    ----------
    model : str
        Name of the candidate.
    why : str
        One sentence.
    cost : dict from str to float
        Mean cost of a row; empty where nothing was compared.
    members : tuple of str
        Models whose mean is taken, where the candidate is such a mean.
    n_rows, n_days : int
        Rows and periods held out.
    censoring_adjusted : bool
        Whether sold-out rows were weighed for; otherwise sales were taken for demand.
    left_out : tuple of str
        Sentences on candidates that could not take part.
    """

    model: str
    why: str
    cost: dict[str, float] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    n_rows: int = 0
    n_days: int = 0
    censoring_adjusted: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """Whether rows held out had a say."""
        return bool(self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


def hold_out(
    time: Any, n_rows: int, n_splits: int, horizon: int | None = None, seed: int = 0
) -> list[tuple[Index, Index]]:
    """Rows to learn from, and rows held out, in blocks.

    Parameters
    ----------
    time : array-like of shape (n_rows,) or None
        The last times are held out, one block after the other (`RollingOrigin`), each time with all
        that lies before the block to learn from. None: rows are held out at random, each once.
    n_rows, n_splits : int
    horizon : int, optional
        Different times in a block; by default they are shared out evenly.
    seed : int

    Returns
    -------
    list of (ndarray of int, ndarray of int)
    """
    if time is not None:
        return list(RollingOrigin(n_splits, horizon).split(np.empty(n_rows), groups=time))
    if not 2 <= n_splits <= n_rows:
        raise InvalidInput(
            f"Without a date, n_splits must be from 2 to the number of rows, got {n_splits}."
        )
    from sklearn.model_selection import KFold

    shuffled = KFold(n_splits, shuffle=True, random_state=seed)
    return list(shuffled.split(np.empty(n_rows)))


def score_decisions(
    cost: Cost,
    decisions: Mapping[str, ArrayLike],
    observed: Array,
    censored: Array | None,
    *,
    series: Any = None,
    sample_weight: Array | None = None,
) -> tuple[CensoredCost, bool]:
    """Score decisions on rows held out, adjusted for censoring where most rows are known.

    Parameters
    ----------
    cost : Cost
    decisions : mapping from names to arrays of shape (n_rows,)
    observed : ndarray of shape (n_rows,)
    censored : ndarray of shape (n_rows,) or None
        1 where a row sold out, 0 where its demand was seen, NaN where nobody knows.
    series : array-like of shape (n_rows,), optional
        Rows of a series go together in standard errors; fewer than ten series give none.
    sample_weight : ndarray of shape (n_rows,), optional

    Returns
    -------
    score : CensoredCost
    censoring_adjusted : bool
    """
    groups = series if series is not None and np.unique(series).size >= 10 else None
    given: dict[str, Any] = {"groups": groups, "sample_weight": sample_weight}
    if censored is not None:
        known = float(np.mean(~np.isnan(censored)))
        if known >= 0.5 and (censored == 0.0).sum() >= 20:
            try:
                found = censored_cost(cost, decisions, observed, censored, **given)
                return found, bool((censored == 1.0).any())
            except InvalidInput:
                pass  # too few rows can be compared: scored on sales, which is said
    seen = np.zeros(observed.size)
    return censored_cost(cost, decisions, observed, seen, **given), False


def choose_model(
    cost: Mapping[str, float],
    labels: Mapping[str, str],
    held_out: str,
    *,
    model: str | None = None,
    follows: str = "Orders follow",
    costs: str = "costs",
    **known: Any,
) -> ModelChoice:
    """Choose the candidate of least cost, and say by how much.

    Parameters
    ----------
    cost : mapping from str to float
    labels : mapping from str to str
        What readers are told of each candidate.
    held_out : str
        Where they were compared, the beginning of a clause.
    model : str, optional
        The candidate that is chosen, where chance explains what another one costs less; or
        "blend", which is taken whatever the others cost.
    follows, costs : str
        What follows the candidate, and what it does less.
    **known
        Further attributes of the `ModelChoice`.
    """
    ordered = sorted(cost, key=cost.__getitem__)
    best = model or ordered[0]
    ordered.remove(best)

    def less(other: str) -> str:
        apart = 1.0 - cost[best] / cost[other] if cost[other] > 0 else 0.0
        if abs(apart) <= 1e-9:
            return f"it {costs} as much as {labels[other]}"
        if apart < 0:
            chance = "" if best == "blend" else ", which chance explains"
            return f"it {costs} {-apart:.1%} more than {labels[other]}{chance}"
        return f"it {costs} {apart:.1%} less than {labels[other]}"

    others = ordered[:1]
    if "seasonal" in ordered[1:]:
        others.append("seasonal")
    why = f"{follows} {labels[best]}"
    if others:
        why += f": {held_out}, {', and '.join(map(less, others))}"
    return ModelChoice(best, f"{why}.", dict(cost), **known)
