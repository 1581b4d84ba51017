"""Tables wilcoxon-result-lr and -nn."""

from __future__ import annotations

from unmet.files import Cell
from unmet.paper import published
from unmet.paper.measures import PAPER_FAMILIES, datasets, wilcoxon
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.results import Results
from unmet.paper.tables.compared import DIFFERENCE, OURS, PUBLISHED, level_columns
from unmet.paper.tables.table import Column, Table

_STARS = "***: p ≤ 0.001; **: p ≤ 0.01; *: p ≤ 0.05, one-sided."
_SEEDS = (
    "The paper does not name its seeds, so data sets of the same number are not the same data; "
    "differences are those of the medians."
)
_SLIP = (
    "In the published table the columns 0.55 and 0.65 are identical, and so are 0.85 and 0.95 "
    "(a slip)."
)


def wilcoxon_cells(results: Results, family: Family) -> Table:
    """Median (first quartile, third quartile) and stars, as the paper prints them."""
    levels = results.settings.levels
    printed = published.WILCOXON[family]
    rows: list[tuple[Cell, ...]] = []
    for dataset in datasets(results):
        cells = [wilcoxon(results, family, dataset, level) for level in levels]
        words = f"data set {dataset}"
        rows.append((words, OURS, *map(str, cells)))
        if dataset > published.N_DATASETS:
            continue
        theirs = [printed[dataset, level] for level in levels]
        rows.append((words, PUBLISHED, *map(str, theirs)))
        pairs = zip(cells, theirs, strict=True)
        rows.append((words, DIFFERENCE, *(own.median - other.median for own, other in pairs)))
    about = (
        f"Median (first quartile, third quartile) of |ŷ − Q*| of {IGNORING[family]} minus that of "
        f"{INSENSITIVE[family]}; positive where the latter is closer to the optimum."
    )
    notes = (about, _STARS, _SEEDS, *([_SLIP] if family == "NN" else []))
    return Table(
        f"wilcoxon-result-{family.lower()}",
        f"Paired Wilcoxon signed rank tests of {INSENSITIVE[family]} and {IGNORING[family]}",
        level_columns(("data set", "whose"), levels),
        tuple(rows),
        notes,
        ("+.2f",) * len(rows),  # of the differences: all others are text
    )


def wilcoxon_numbers(results: Results) -> Table:
    """Give the same with p-values, a number per cell, for those who go on computing."""
    rows = []
    for family in PAPER_FAMILIES:
        for dataset in datasets(results):
            for level in results.settings.levels:
                cell = wilcoxon(results, family, dataset, level)
                theirs = published.WILCOXON[family].get((dataset, level))
                known = (theirs.median, theirs.stars) if theirs else (None, None)
                numbers = (cell.median, cell.first_quartile, cell.third_quartile, cell.p_value)
                rows.append((family, dataset, level, *numbers, cell.stars, *known))
    columns = (
        Column("family"),
        Column("data set"),
        Column("α", ".2f"),
        Column("median", ".2f"),
        Column("first quartile", ".2f"),
        Column("third quartile", ".2f"),
        Column("p", ".2g"),
        Column("stars"),
        Column("published median", ".2f"),
        Column("published stars"),
    )
    title = "The same tests with their p-values"
    return Table("wilcoxon-numbers", title, columns, tuple(rows), (_SEEDS,), folded=True)
