"""Compare several methods on the same rows: in one table, and by paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.measures import (
    RealisedCost,
    cost_saving,
    fill_rate,
    gap_closed,
    lost_sales,
    read_columns,
    read_number,
    realised_cost,
    rmse_to_optimum,
    service_level,
)

# --- Aligned plain text, so that a result printed at the prompt can be read.


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False) -> str:
    """Align columns, with a rule under the header; the first, or all of `words`, to the left."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if words or not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([aligned(header), rule, *map(aligned, rows)])


def number(value: float | None, digits: int = 2) -> str:
    """Print a number with fixed digits, or a dash if there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Print a share as per cent with one digit, or a dash if there is none."""
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}%"


# --- Several methods on the same rows, in one table.


@dataclass(frozen=True)
class Row:
    """Measures of one method. ``None`` if a measure needs an input that was not given.

    Attributes
    ----------
    name : str
        Name of the method.
    cost : float
        Mean realised cost.
    service_level, fill_rate : float
        Share of rows, and share of demanded units, that are served.
    lost_sales : float
        Mean unserved units per row.
    saving : float or None
        Share of the baseline's cost that is saved; needs `baseline`.
    gap_closed : float or None
        Share of the gap between baseline and floor that is closed; needs `baseline` and a floor.
    rmse : float or None
        Distance to the optimum; needs `optimum`.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import summary
    >>> row = summary(Newsvendor(3, 1), {"ours": [12, 8]}, truth=[13, 7]).rows[0]
    >>> row.name, row.cost
    ('ours', 2.0)
    """

    name: str
    cost: float
    service_level: float
    fill_rate: float
    lost_sales: float
    saving: float | None = None
    gap_closed: float | None = None
    rmse: float | None = None


@dataclass(frozen=True)
class Summary:
    """Table of methods and measures; ``str()`` is aligned text without empty columns.

    Attributes
    ----------
    rows : tuple of Row
        One row per method, in the given order.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import summary
    >>> table = summary(Newsvendor(3, 1), {"ours": [12, 8]}, truth=[13, 7])
    >>> table.columns()["fill rate"]
    ['95.0%']
    """

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        return {row.name: row for row in self.rows}[name]

    def columns(self) -> dict[str, list[str]]:
        """Give columns of text by their heads, without empty ones, for any table printer."""
        columns = {
            "method": [row.name for row in self.rows],
            "cost": [number(row.cost) for row in self.rows],
            "saving": [percent(row.saving) for row in self.rows],
            "gap closed": [percent(row.gap_closed) for row in self.rows],
            "rmse to optimum": [number(row.rmse) for row in self.rows],
            "service level": [percent(row.service_level) for row in self.rows],
            "fill rate": [percent(row.fill_rate) for row in self.rows],
            "lost sales": [number(row.lost_sales) for row in self.rows],
        }
        return {head: cells for head, cells in columns.items() if set(cells) != {"-"}}

    def __str__(self) -> str:
        columns = self.columns()
        return text_table(list(columns), list(zip(*columns.values(), strict=True)))


def summary(
    cost: RealisedCost,
    decisions: Mapping[str, ArrayLike],
    truth: ArrayLike,
    *,
    optimum: ArrayLike | None = None,
    baseline: str | None = None,
    floor: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Summary:
    """Measure several methods on the same rows.

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        Cost of decisions, such as `unmet.Newsvendor`.
    decisions : mapping from name to array-like of shape (n_rows,) or float
        Decisions of each method. A number decides every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    optimum : array-like of shape (n_rows,), optional
        Best decisions Q*, if a simulation knows them; adds the distance to them.
    baseline : str, optional
        Name of the method in `decisions` that ignores censoring; adds the saving over it.
    floor : float, optional
        Least possible mean cost. None takes the cost of `optimum`. Together with `baseline` it adds
        the share of the gap that is closed.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Returns
    -------
    Summary
        One row per method; print it for a table.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import summary
    >>> print(summary(
    ...     Newsvendor(underage=3, overage=1),
    ...     {"last week": [10, 10], "ours": [12, 8]},
    ...     truth=[13, 7],
    ...     baseline="last week",
    ... ))
    method     cost  saving  service level  fill rate  lost sales
    ---------  ----  ------  -------------  ---------  ----------
    last week  6.00    0.0%          50.0%      85.0%        1.50
    ours       2.00   66.7%          50.0%      95.0%        0.50
    """
    if not decisions:
        raise InvalidInput("decisions must have at least one method, got none.")
    if baseline is not None and baseline not in decisions:
        raise InvalidInput(
            f"baseline must be one of the decisions {sorted(decisions)}, got {baseline!r}."
        )

    def mean_cost(decision: ArrayLike) -> float:
        return realised_cost(cost, decision, truth, sample_weight=sample_weight)

    reference = None if baseline is None else mean_cost(decisions[baseline])
    lowest = None if optimum is None else mean_cost(optimum)
    if floor is not None:
        lowest = read_number("floor", floor)
    weight: dict[str, Any] = {"sample_weight": sample_weight}

    def row(name: str, decision: ArrayLike) -> Row:
        price, closed = mean_cost(decision), None
        if reference is not None and lowest is not None:
            closed = gap_closed(price, reference, lowest)
        return Row(
            name=name,
            cost=price,
            service_level=service_level(decision, truth, **weight),
            fill_rate=fill_rate(decision, truth, **weight),
            lost_sales=lost_sales(decision, truth, **weight),
            saving=None if reference is None else cost_saving(price, reference),
            gap_closed=closed,
            rmse=None if optimum is None else rmse_to_optimum(decision, optimum, **weight),
        )

    return Summary(tuple(row(name, decision) for name, decision in decisions.items()))


# --- Paired Wilcoxon tests as the paper prints them (Tables wilcoxon-result-lr and -nn).


@dataclass(frozen=True)
class WilcoxonCell:
    """Result of a paired test on one data set at one level; ``str()`` is the paper's cell.

    Attributes
    ----------
    median, first_quartile, third_quartile : float
        Quartiles of the paired differences; positive if the method is closer to the optimum.
    p_value : float
        One-sided p-value.

    Examples
    --------
    >>> from unmet.evaluation.comparison import WilcoxonCell
    >>> cell = WilcoxonCell(median=2.5, first_quartile=2.0, third_quartile=3.75, p_value=0.02)
    >>> print(cell)
    2.50 (2.00, 3.75)*
    """

    median: float
    first_quartile: float
    third_quartile: float
    p_value: float

    @property
    def stars(self) -> str:
        """Stars of significance: ``***``, ``**``, ``*`` for p ≤ 0.001, 0.01, 0.05."""
        return "*" * sum(self.p_value <= limit for limit in (0.001, 0.01, 0.05))

    def __str__(self) -> str:
        quartiles = f"({self.first_quartile:.2f}, {self.third_quartile:.2f})"
        return f"{self.median:.2f} {quartiles}{self.stars}"


def wilcoxon_cell(decision: ArrayLike, baseline: ArrayLike, optimum: ArrayLike) -> WilcoxonCell:
    """Test whether a method decides closer to the optimum than the baseline, row by row.

    The paired differences are ::

        |y_baseline − Q*| − |y_method − Q*|

    Parameters
    ----------
    decision, baseline : array-like of shape (n_rows,) or float
        Decisions of the method and of the baseline (the paper: IEO).
    optimum : array-like of shape (n_rows,)
        Best decisions Q* (eq. qopt).

    Returns
    -------
    WilcoxonCell
        Quartiles of the differences and the p-value.

    Notes
    -----
    The test is one-sided. The paper does not name its alternative. Its words ("significantly
    smaller") suggest this one. So do half a column of cells without stars that have strongly
    negative first quartiles, such as 1.00 (-11.84, 1.17).

    Zero differences are dropped, as Wilcoxon did; if all are zero, p is 1. Differences within
    floating-point rounding of the inputs count as zero. Up to 50 differences are tested exactly,
    more by the normal approximation (``scipy.stats.wilcoxon``).

    Examples
    --------
    >>> from unmet.evaluation.comparison import wilcoxon_cell
    >>> print(wilcoxon_cell([1, 1, 1, 2, 1, 1], [3, 4, 5, 3, 3, 6], [0, 0, 0, 0, 0, 0]))
    2.50 (2.00, 3.75)*
    """
    best, ours, theirs = read_columns(optimum=optimum, decision=decision, baseline=baseline)
    difference: Array = np.abs(theirs - best) - np.abs(ours - best)
    scale = np.maximum(np.maximum(np.abs(ours), np.abs(theirs)), np.abs(best))
    rounding = 8 * np.finfo(np.float64).eps * scale
    difference = np.where(np.abs(difference) <= rounding, 0.0, difference)
    first, median, third = np.quantile(difference, [0.25, 0.5, 0.75])
    moved = difference[difference != 0]
    p_value = 1.0
    if moved.size:
        p_value = float(stats.wilcoxon(moved, alternative="greater").pvalue)
    return WilcoxonCell(float(median), float(first), float(third), p_value)
