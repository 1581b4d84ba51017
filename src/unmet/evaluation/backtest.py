"""One backtest: the cost of candidates on held-out periods, and the choice among them.

Each plan lets its candidates decide for periods that they have not seen, from rolling origins. This
module scores the decisions, adjusts the scores for censoring if it is known which rows sold out,
and chooses the cheapest candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from unmet.arrays import Array, Places
from unmet.censoring.model import CensoringModel
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.evaluation.censored import CensoredCost, censored_cost
from unmet.evaluation.splits import RollingOrigin
from unmet.rows import Rows


@dataclass(frozen=True)
class ModelChoice:
    """Chosen candidate, and the cost of all candidates on held-out periods.

    Attributes
    ----------
    model : str
        Name of the chosen candidate.
    why : str
        Reason of the choice, in one sentence.
    cost : dict from str to float
        Mean cost of a row for each candidate; empty if nothing was compared.
    members : tuple of str
        Models that are averaged, if the candidate is a blend.
    n_rows, n_days : int
        Number of held-out rows and periods.
    censoring_adjusted : bool
        Whether scores are adjusted for sold-out rows. Otherwise sales were taken for demand.
    left_out : tuple of str
        Candidates that could not take part, and why, one sentence each.

    Examples
    --------
    >>> from unmet.evaluation.backtest import choose_model
    >>> costs = {"seasonal": 12.0, "linear": 10.0}
    >>> labels = {"seasonal": "seasonal averages", "linear": "a linear model"}
    >>> choice = choose_model(costs, labels, "On 4 weeks", n_days=28)
    >>> choice.model, choice.scored
    ('linear', True)
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
        """Whether the choice used held-out rows."""
        return bool(self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Give plain numbers and text, for JSON."""
        return asdict(self)


def hold_out(
    time: Any, n_rows: int, n_splits: int, horizon: int | None = None, seed: int = 0
) -> list[tuple[Places, Places]]:
    """Split rows into training rows and held-out rows, in blocks.

    Parameters
    ----------
    time : array-like of shape (n_rows,) or None
        Times of the rows. The last times are held out, block by block (`RollingOrigin`), and all
        times before a block are for training. None holds out rows at random, each once.
    n_rows, n_splits : int
        Number of rows and of blocks.
    horizon : int, optional
        Number of distinct times in a block. None shares them out evenly.
    seed : int
        Seed of the random split.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Training rows and held-out rows of each block.
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
    cost: Cost, decisions: Mapping[str, Array], rows: Rows, model: CensoringModel, *, seed: int = 0
) -> CensoredCost:
    """Score decisions on held-out rows, some of which sold out.

    The score is doubly robust (Robins, Rotnitzky & Zhao 1994). It is the cost on truths drawn from
    a model of the features, corrected by the model's error on rows that were seen, each weighted
    for the rows that were not (`censored_cost`). It is right if either the model or the weights
    are.

    Parameters
    ----------
    cost : Cost
        Cost of decisions.
    decisions : mapping from names to arrays of shape (n_rows,)
        Decisions of each candidate.
    rows : Rows
        Held-out rows with flags. Standard errors group rows of a series, if there are at least ten
        series.
    model : CensoringModel
        A model that has not seen the rows.
    seed : int
        Seed of the drawn truths.
    """
    n_rows, observed = rows.n_rows, rows.observation
    assert rows.censored is not None
    unseen = replace(rows, observation=np.full(n_rows, np.nan), censored=None)
    drawn = model.sample(unseen, 8, seed)
    modelled = {
        name: np.mean([cost.cost(decision, each) for each in drawn], axis=0)
        for name, decision in decisions.items()
    }
    try:
        weight = censored_cost(
            cost, decisions, observed, rows.censored, sample_weight=rows.share
        ).weight
    except InvalidInput:  # too few rows can be compared: the model counts alone
        weight = np.zeros(n_rows)
    per_row = {
        name: each + weight * (cost.cost(decisions[name], observed) - each)
        for name, each in modelled.items()
    }
    share = np.full(n_rows, 1.0 / n_rows) if rows.share is None else rows.share / rows.share.sum()
    groups = None
    if rows.series is not None and np.unique(rows.series).size >= 10:
        groups = np.unique(rows.series, return_inverse=True)[1]
    means = {name: float(share @ each) for name, each in per_row.items()}
    return CensoredCost(means, per_row, share * n_rows, n_rows, 1.0, groups)


def choose_model(
    cost: Mapping[str, float],
    labels: Mapping[str, str],
    what: str,
    held_out: str = "",
    *,
    model: str | None = None,
    of_orders: bool = True,
    **known: Any,
) -> ModelChoice:
    """Choose the candidate of least cost, and describe its advantage.

    Parameters
    ----------
    cost : mapping from str to float
        Mean cost of each candidate.
    labels : mapping from str to str
        Name of each candidate in sentences.
    what : {"Forecast", "Model"}
        Word for the thing that is chosen.
    held_out : str
        Rows on which candidates were compared.
    model : str, optional
        The candidate to choose if chance explains why another one costs less; or "blend", which is
        chosen whatever the others cost.
    of_orders : bool
        Whether costs are those of orders. If False, they are forecast errors.
    **known
        Further attributes of the `ModelChoice`.
    """
    best = model or min(cost, key=cost.__getitem__)
    others = {name: each for name, each in cost.items() if name != best}
    why = f"{what}: {labels[best]}."
    if others:
        other = "seasonal" if "seasonal" in others else min(others, key=others.__getitem__)
        apart = cost[best] / cost[other] - 1.0 if cost[other] > 0 else 0.0
        compared, by = "its orders cost", "orders based on"
        low, high = "less than", "more than"
        if not of_orders:
            compared, by, low, high = "its errors were", "those of", "smaller than", "larger than"
        way = f"{abs(apart):.1%} {high if apart > 0 else low}"
        if abs(apart) <= 1e-9:
            way = "the same as"
        chance = ", a difference that chance explains" if apart > 1e-9 and best != "blend" else ""
        where = f" on {held_out}" if held_out else ""
        why += f" In a backtest{where} {compared} {way} {by} {labels[other]}{chance}."
    return ModelChoice(best, why, dict(cost), **known)
