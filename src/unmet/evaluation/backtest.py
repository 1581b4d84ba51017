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
        Mean cost of a row, less what is the same for all; empty where nothing was compared.
    groups : dict from str to dict from str to float
        The same for slow, middling and fast sellers.
    n_rows, n_days : int
        Rows and periods held out.
    censoring_adjusted : bool
        Whether sold-out rows were weighed for; otherwise sales were taken for demand.
    left_out : tuple of str
        Sentences on candidates that could not take part.
    behind, standard_error : float or None
        How much more per row the best of the others costs (less, where that was within the error).
    """

    model: str
    why: str
    cost: dict[str, float] = field(default_factory=dict)
    groups: dict[str, dict[str, float]] = field(default_factory=dict)
    n_rows: int = 0
    n_days: int = 0
    censoring_adjusted: bool = False
    left_out: tuple[str, ...] = ()
    behind: float | None = None
    standard_error: float | None = None

    @property
    def scored(self) -> bool:
        """Whether rows held out had a say."""
        return bool(self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


def score_decisions(
    cost: Cost,
    decisions: Mapping[str, ArrayLike],
    observed: Array,
    censored: Array | None,
    *,
    series: Any = None,
    level: Array | None = None,
    sample_weight: Array | None = None,
    sales_cost: Cost | None = None,
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
    level : ndarray of shape (n_rows,), optional
        As for `censored_cost`.
    sample_weight : ndarray of shape (n_rows,), optional
    sales_cost : Cost, optional
        The cost by which sales are scored where flags do not tell, if another one.

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
                found = censored_cost(cost, decisions, observed, censored, level=level, **given)
                return found, bool((censored == 1.0).any())
            except InvalidInput:
                pass  # too few rows can be compared: scored on sales, which is said
    seen = np.zeros(observed.size)
    return censored_cost(sales_cost or cost, decisions, observed, seen, **given), False


def choose_model(
    cost: Mapping[str, float],
    labels: Mapping[str, str],
    held_out: str,
    *,
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
    follows, costs : str
        What follows the candidate, and what it does less.
    **known
        Further attributes of the `ModelChoice`.
    """
    ordered = sorted(cost, key=cost.__getitem__)
    best = ordered[0]

    def less(other: str) -> str:
        if cost[other] <= 0:
            return f"it {costs} as much as {labels[other]}"
        return f"it {costs} {1.0 - cost[best] / cost[other]:.1%} less than {labels[other]}"

    others = ordered[1:2]
    if "seasonal" in ordered[2:]:
        others.append("seasonal")
    why = f"{follows} {labels[best]}"
    if others:
        why += f": {held_out}, {', and '.join(map(less, others))}"
    return ModelChoice(best, f"{why}.", dict(cost), **known)


def by_volume(score: CensoredCost, volume: Array, series: Array) -> dict[str, dict[str, float]]:
    """Cost of each candidate for slow, middling and fast sellers; empty for few series.

    Parameters
    ----------
    score : CensoredCost
    volume : ndarray of shape (n_series,)
        What each series usually sells.
    series : ndarray of shape (n_rows,)
    """
    if volume.size < 9:
        return {}
    place = np.argsort(np.argsort(np.nan_to_num(volume), kind="stable"), kind="stable")
    third = (3 * place // volume.size)[series]
    found = {}
    for number, name in enumerate(("slow", "middling", "fast")):
        rows = (third == number) & (score.weight > 0)
        if rows.any():
            share = score.weight[rows] / score.weight[rows].sum()
            found[name] = {each: float(share @ score.per_row[each][rows]) for each in score.cost}
    return found
