"""Costs on the true demand, savings, shares of the gap, distance to Q*, fitting times."""

from __future__ import annotations

from unmet.files import Cell
from unmet.paper import published
from unmet.paper.measures import PAPER_FAMILIES, optimum_cost, saving, share_closed
from unmet.paper.methods import IGNORING, INSENSITIVE, METHODS
from unmet.paper.results import Results
from unmet.paper.tables.compared import NO_LINES, compared, level_columns
from unmet.paper.tables.table import Column, Table

_OPTIMUM = "Q*"


def fitting_times(results: Results) -> Table:
    """Table trainingTime."""
    levels = results.settings.levels
    lines = NO_LINES
    for method in METHODS:
        ours = {level: results.mean(method.name, level, "fit_seconds") for level in levels}
        printed = published.FITTING_SECONDS.get(method.name)
        # milliseconds for what takes milliseconds
        form = ".4f" if max(ours.values()) < 0.1 else ".2f"
        lines += compared((method.name,), levels, ours, printed, form)
    return Table(
        "trainingTime",
        "Average fitting time (seconds)",
        level_columns(("method", "whose"), levels),
        lines.rows,
        (
            "The choice of a band by LatentBand is part of its fitting time; searches of "
            "hyperparameters and ε are not. Fits that ran side by side shared the machine. "
            "LR-MSE and NN-MSE do not depend on α: one fit serves all levels.",
        ),
        lines.forms,
    )


def costs(results: Results) -> Table:
    """Values of Fig. testNVcost, for all methods."""
    levels = results.settings.levels
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (method.name, method.meaning, *(results.mean(method.name, a, "cost") for a in levels))
        for method in METHODS
    )
    best = tuple(optimum_cost(results, level) for level in levels)
    return Table(
        "testNVcost",
        "Out-of-sample average newsvendor cost",
        level_columns(("method", "what it is"), levels, ".2f"),
        (*rows, (_OPTIMUM, "quantile of the true distribution", *best)),
        (
            f"Mean over {results.settings.datasets} data sets, priced on the true demand. The "
            "paper shows these costs in a figure only, without numbers.",
        ),
    )


def cost_savings(results: Results) -> Table:
    """Values of Fig. percentage."""
    levels = results.settings.levels
    lines = NO_LINES
    for family in PAPER_FAMILIES:
        quoted = published.SAVINGS[family]
        words = (f"{INSENSITIVE[family]} over {IGNORING[family]}",)
        ours = {level: saving(results, family, level) for level in levels}
        lines += compared(words, levels, ours, {quoted.peak: quoted.highest}, ".2%")
    ranges = "; ".join(
        f"{family} {quoted.lowest:.2%} to {quoted.highest:.2%}, the highest at α = {quoted.peak:g}"
        for family, quoted in published.SAVINGS.items()
    )
    return Table(
        "percentage",
        "Mean percentage cost savings of the ε-insensitive method over IEO",
        level_columns(("saving", "whose"), levels),
        lines.rows,
        (
            f"The text of the paper quotes: {ranges}. It names no level for the lowest, and the "
            "other values stand in a figure only. Differences are in percentage points.",
        ),
        lines.forms,
    )


def distances(results: Results) -> Table:
    """Values of Fig. testRMSEQ, for all methods."""
    levels = results.settings.levels
    return Table(
        "testRMSEQ",
        "Out-of-sample RMSE to the optimal order quantity",
        level_columns(("method", "what it is"), levels, ".2f"),
        tuple(
            (m.name, m.meaning, *(results.mean(m.name, a, "rmse_to_optimum") for a in levels))
            for m in METHODS
        ),
        (
            f"Mean of RMSE^Q over {results.settings.datasets} data sets. The paper shows it in a "
            "figure only, without numbers.",
        ),
    )


def gaps(results: Results) -> Table:
    """Compare with the true optimum, which the paper does not: one row per method and level."""
    rows = tuple(
        (
            method.name,
            level,
            results.mean(method.name, level, "cost"),
            optimum_cost(results, level),
            results.mean(method.name, level, "cost") / optimum_cost(results, level) - 1,
            share_closed(results, method.name, level),
        )
        for method in METHODS
        for level in results.settings.levels
    )
    columns = (
        Column("method"),
        Column("α", ".2f"),
        Column("cost", ".2f"),
        Column("cost of Q*", ".2f"),
        Column("above Q*", "+.1%"),
        Column("share of the gap closed", ".1%"),
    )
    return Table("gap", "Cost against the true optimum", columns, rows, (_GAP_NOTE,), folded=True)


def shares(results: Results) -> Table:
    """Levels across: the share of the gap closed by every method."""
    levels = results.settings.levels
    return Table(
        "gapClosed",
        "Share closed of the gap between IEO and the true optimum",
        level_columns(("method", "what it is"), levels, ".0%"),
        tuple(
            (m.name, m.meaning, *(share_closed(results, m.name, a) for a in levels))
            for m in METHODS
            if m.name not in IGNORING.values()
        ),
        (_GAP_NOTE,),
    )


_GAP_NOTE = (
    "Share of the gap closed = (cost of IEO − cost) / (cost of IEO − cost of Q*), of mean costs, "
    "with IEO of the same model: 0% is as bad as ignoring censoring, 100% as good as knowing the "
    "distribution, below 0% the method does harm. A dash where the gap is below 1% of the cost of "
    "Q*."
)
