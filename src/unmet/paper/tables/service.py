"""Service levels, and what the ε-insensitive method improves of them."""

from __future__ import annotations

from unmet.paper import published
from unmet.paper.measures import ESTIMATING, PAPER_FAMILIES, gap_improvement
from unmet.paper.methods import IGNORING, INSENSITIVE, METHODS
from unmet.paper.results import Results
from unmet.paper.tables.compared import NO_LINES, compared, level_columns
from unmet.paper.tables.table import Table


def service_gaps(results: Results) -> Table:
    """Table serviceLevel."""
    levels = results.settings.levels
    lines = NO_LINES
    for family in PAPER_FAMILIES:
        for other, baseline in (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family])):
            words = (f"{INSENSITIVE[family]} over {baseline} ({other})",)
            ours = {level: gap_improvement(results, family, baseline, level) for level in levels}
            printed = published.SERVICE_GAP_IMPROVEMENT[family, other]
            lines += compared(words, levels, ours, printed, ".2%")
    return Table(
        "serviceLevel",
        "Percentage improvement of the gap in service level",
        level_columns(("improvement", "whose"), levels),
        lines.rows,
        (
            "Service levels are averaged over the data sets first, then compared with α, as in the "
            "paper. Differences are in percentage points.",
        ),
        lines.forms,
    )


def service_levels(results: Results) -> Table:
    """Service levels themselves, which the paper does not print."""
    levels = results.settings.levels
    return Table(
        "serviceLevelsReached",
        "Average service level, to be compared with α",
        level_columns(("method", "what it is"), levels, ".1%"),
        tuple(
            (m.name, m.meaning, *(results.mean(m.name, a, "service_level") for a in levels))
            for m in METHODS
        ),
        (
            "Share of test rows whose order exceeds demand. An order of zero against a demand of "
            "zero does not count, as in the paper, so at low levels even Q* stays below α.",
        )
        if results.settings.clip
        else ("Share of test rows whose order exceeds demand.",),
    )
