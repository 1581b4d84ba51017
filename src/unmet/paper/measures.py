"""What tables, figures and claims compute from `Results`, once for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

import numpy as np

from unmet.evaluation import cost_saving, gap_closed, wilcoxon_cell
from unmet.evaluation.wilcoxon import WilcoxonCell
from unmet.paper.methods import BY_NAME, IGNORING, INSENSITIVE, METHODS, Family
from unmet.paper.results import Results

#: The families of the paper, in the order of its tables.
PAPER_FAMILIES: tuple[Family, ...] = ("LR", "NN")

#: The method of each family that estimates first and ignores the cost (EAS).
ESTIMATING: dict[Family, str] = {"LR": "LR-MSE", "NN": "NN-MSE"}

#: Below this share of the optimum's cost there is hardly a gap, and shares of it mean nothing.
SMALLEST_GAP = 0.01


def savings(results: Results, method: str, baseline: str, level: float) -> list[float]:
    """Share of the baseline's cost that the method saves, one per data set (Fig. percentage)."""
    pairs = zip(results.of(method, level), results.of(baseline, level), strict=True)
    return [cost_saving(own.cost, other.cost) for own, other in pairs]


def saving(results: Results, family: Family, level: float) -> float:
    """Mean saving of the ε-insensitive method over IEO."""
    return fmean(savings(results, INSENSITIVE[family], IGNORING[family], level))


def optimum_cost(results: Results, level: float) -> float:
    """Mean cost of Q*."""
    return results.mean(METHODS[0].name, level, "cost_optimum")


def share_closed(results: Results, method: str, level: float) -> float | None:
    """Share of the way from IEO of the same family to Q*, of mean costs; None without a gap.

    Of means and not the mean of shares: at the lowest level the gap of a single data set can be
    close to zero, and its share anything.
    """
    ignoring = results.mean(IGNORING[BY_NAME[method].family], level, "cost")
    floor = optimum_cost(results, level)
    if ignoring - floor < SMALLEST_GAP * floor:
        return None
    return gap_closed(results.mean(method, level, "cost"), ignoring, floor)


def service_gap(results: Results, method: str, level: float) -> float:
    """Compare the average service level over the data sets with α, as Table serviceLevel does."""
    return abs(results.mean(method, level, "service_level") - level)


def gap_improvement(results: Results, family: Family, baseline: str, level: float) -> float:
    """Share by which the ε-insensitive method shrinks the baseline's service-level gap.

    ``nan`` where the baseline has no gap.
    """
    return cost_saving(
        service_gap(results, INSENSITIVE[family], level), service_gap(results, baseline, level)
    )


def wilcoxon(results: Results, family: Family, dataset: int, level: float) -> WilcoxonCell:
    """Test |ŷ − Q*| of IEO against that of the ε-insensitive method."""
    return wilcoxon_cell(
        results.decision(dataset, INSENSITIVE[family], level),
        results.decision(dataset, IGNORING[family], level),
        results.optimum(dataset, level),
    )


def excess(results: Results, method: str, level: float) -> float:
    """Mean of ŷ − Q* over rows and data sets: orders too large (positive) or too small."""
    return fmean(
        float(np.mean(results.decision(row.dataset, method, level)))
        - float(np.mean(results.optimum(row.dataset, level)))
        for row in results.of(method, level)
    )


def datasets(results: Results) -> range:
    """Count the data sets of the run, from 1."""
    return range(1, results.settings.datasets + 1)


def known(values: Iterable[float | None]) -> list[float]:
    """Leave out what is not there."""
    return [value for value in values if value is not None and not math.isnan(value)]
