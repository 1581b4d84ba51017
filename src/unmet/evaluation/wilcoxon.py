"""Paired Wilcoxon tests as the paper prints them (Tables wilcoxon-result-lr and -nn)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.comparison import text_table
from unmet.evaluation.price import as_column, as_decision

Alternative = Literal["smaller", "two-sided"]
Decisions = Mapping[str, Mapping[float, ArrayLike]]

_SCIPY_ALTERNATIVE: Mapping[str, Literal["greater", "two-sided"]] = {
    "smaller": "greater",  # the method's distance is smaller, so the difference is greater than 0
    "two-sided": "two-sided",
}


@dataclass(frozen=True)
class WilcoxonCell:
    """One data set at one level; ``str()`` is the paper's cell.

    Attributes
    ----------
    median, first_quartile, third_quartile : float
        Of the paired differences; positive where the method is closer to the optimum.
    p_value : float
    """

    median: float
    first_quartile: float
    third_quartile: float
    p_value: float

    @property
    def stars(self) -> str:
        """``***``, ``**``, ``*`` for p ≤ 0.001, 0.01, 0.05."""
        return "*" * sum(self.p_value <= limit for limit in (0.001, 0.01, 0.05))

    def __str__(self) -> str:
        quartiles = f"({self.first_quartile:.2f}, {self.third_quartile:.2f})"
        return f"{self.median:.2f} {quartiles}{self.stars}"


@dataclass(frozen=True)
class WilcoxonTable:
    """Data sets down, levels across; ``str()`` is aligned plain text.

    Attributes
    ----------
    datasets : tuple of str
    levels : tuple of float
    cells : dict from (dataset, level) to WilcoxonCell
    """

    datasets: tuple[str, ...]
    levels: tuple[float, ...]
    cells: Mapping[tuple[str, float], WilcoxonCell]

    def __getitem__(self, key: tuple[str, float]) -> WilcoxonCell:
        return self.cells[key]

    def __str__(self) -> str:
        rows = [
            [dataset, *(str(self.cells[dataset, level]) for level in self.levels)]
            for dataset in self.datasets
        ]
        return text_table(["", *(f"{level:g}" for level in self.levels)], rows)


def wilcoxon_cell(
    decision: ArrayLike,
    baseline: ArrayLike,
    optimum: ArrayLike,
    *,
    alternative: Alternative = "smaller",
) -> WilcoxonCell:
    """Test whether the method decides closer to the optimum than the baseline, row by row.

    The paired differences are ::

        |y_baseline − Q*| − |y_method − Q*|

    Parameters
    ----------
    decision, baseline : array-like of shape (n_rows,) or float
        Of the method and of what it is compared with (the paper: IEO).
    optimum : array-like of shape (n_rows,)
        Q* (eq. qopt).
    alternative : {"smaller", "two-sided"}
        "smaller" (default) asks whether the method's distance is smaller; "two-sided" also gives
        stars to a baseline that is closer. The paper does not name its alternative; its words
        ("significantly smaller") and half a column of cells without stars in spite of strongly
        negative first quartiles, e.g. 1.00 (-11.84, 1.17), speak for the first.

    Notes
    -----
    Zero differences are dropped, as Wilcoxon did; when all are zero p is 1. Differences within
    floating-point rounding of the inputs count as zero. Small samples are tested exactly, more
    than 50 differences by the normal approximation (``scipy.stats.wilcoxon``).

    Examples
    --------
    >>> print(wilcoxon_cell([1, 1, 1, 2, 1, 1], [3, 4, 5, 3, 3, 6], [0, 0, 0, 0, 0, 0]))
    2.50 (2.00, 3.75)*
    """
    if alternative not in _SCIPY_ALTERNATIVE:
        raise InvalidInput(f'alternative must be "smaller" or "two-sided", got {alternative!r}.')
    best = as_column("optimum", optimum)
    ours = as_decision("decision", decision, best, like_name="optimum")
    theirs = as_decision("baseline", baseline, best, like_name="optimum")
    difference = _paired_difference(ours, theirs, best)
    first, median, third = np.quantile(difference, [0.25, 0.5, 0.75])
    moved = difference[difference != 0]
    p_value = 1.0
    if moved.size:
        p_value = float(stats.wilcoxon(moved, alternative=_SCIPY_ALTERNATIVE[alternative]).pvalue)
    return WilcoxonCell(float(median), float(first), float(third), p_value)


def wilcoxon_table(
    decisions: Decisions,
    baselines: Decisions,
    optima: Decisions,
    *,
    alternative: Alternative = "smaller",
) -> WilcoxonTable:
    """Cells for many data sets and levels.

    Parameters
    ----------
    decisions, baselines, optima : mapping from data set to mapping from level to array-like
        ``decisions["dataset 1"][0.85]`` are the decisions of the method; the same data sets and
        levels in all three.
    alternative : {"smaller", "two-sided"}
        As in :func:`wilcoxon_cell`.

    Examples
    --------
    >>> optimum = list(range(10, 30))
    >>> table = wilcoxon_table(
    ...     {"dataset 1": {0.85: [q - 1 for q in optimum]}},
    ...     {"dataset 1": {0.85: [q - 3 for q in optimum]}},
    ...     {"dataset 1": {0.85: optimum}},
    ... )
    >>> print(table)
                               0.85
    ---------  --------------------
    dataset 1  2.00 (2.00, 2.00)***
    """
    if not decisions:
        raise InvalidInput("decisions must have at least one data set, got none.")
    levels = tuple(next(iter(decisions.values())))
    if not levels:
        raise InvalidInput("decisions must have at least one level, got none.")
    cells: dict[tuple[str, float], WilcoxonCell] = {}
    for dataset in decisions:
        ours, theirs, best = (
            _levels_of(name, source, dataset, levels)
            for name, source in (
                ("decisions", decisions),
                ("baselines", baselines),
                ("optima", optima),
            )
        )
        for level in levels:
            cells[dataset, level] = wilcoxon_cell(
                ours[level], theirs[level], best[level], alternative=alternative
            )
    return WilcoxonTable(tuple(decisions), levels, cells)


def _paired_difference(decision: Array, baseline: Array, optimum: Array) -> Array:
    difference: Array = np.abs(baseline - optimum) - np.abs(decision - optimum)
    scale = np.maximum(np.maximum(np.abs(decision), np.abs(baseline)), np.abs(optimum))
    rounding = 8 * np.finfo(np.float64).eps * scale
    return np.where(np.abs(difference) <= rounding, 0.0, difference)


def _levels_of(
    name: str, source: Decisions, dataset: str, levels: tuple[float, ...]
) -> Mapping[float, ArrayLike]:
    if dataset not in source:
        raise InvalidInput(f"{name} must have the data set {dataset!r}, got {sorted(source)}.")
    by_level = source[dataset]
    if set(by_level) != set(levels):
        raise InvalidInput(
            f"{name} must have the levels {sorted(levels)} in every data set, "
            f"got {sorted(by_level)} in {dataset!r}."
        )
    return by_level
