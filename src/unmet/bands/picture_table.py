"""Explanations side by side, as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from unmet.bands.diagnosis import Explanation
from unmet.bands.picture_words import decimals_for, fixed, number, percent

__all__ = ["explanation_columns", "explanation_table", "ruled_out"]

Cells: TypeAlias = tuple[str, ...]

_HEADER: Cells = ("truth", "scale", "orders", "hidden", "added", "behind the best", "verdict")
_LEFT = (0, 1, 2, 6)  # words stand on the left of their column, numbers on the right
_TRUTH, _SCALE = 0, 1
_SHORTEST = 6


def ruled_out(explanation: Explanation) -> bool:
    """Whether it is more than two standard errors behind the best, or disproved outright."""
    if explanation.uncensored_possible:
        return False
    return explanation.behind > 2 * explanation.standard_error


def explanation_table(explanations: Sequence[Explanation], rows: int, width: int) -> list[str]:
    """Compare the first `rows` explanations, the chosen one first; nothing where there is none.

    Parameters
    ----------
    explanations : sequence of Explanation
    rows : int
    width : int
        Longest line; names of families are cut short if they must be.

    Returns
    -------
    list of str
    """
    if not explanations:
        return []
    best = min(explanations, key=lambda each: each.behind)
    caption = f"Explanations, by held-out log-likelihood per row (best: {number(best.score, 5)})"
    columns = explanation_columns(explanations, rows)
    blocks = [_block(name, column) for name, column in columns.items()]
    too_long = sum(len(block[0]) + 2 for block in blocks) - width
    if too_long > 0:
        blocks[_TRUTH] = _shortened(blocks[_TRUTH], too_long)
    lines = [("  " + "  ".join(cells)).rstrip()[:width] for cells in zip(*blocks, strict=True)]
    left = len(explanations) - rows
    return [caption, *lines, *([f"  and {left} more in .explanations"] if left > 0 else [])]


def explanation_columns(explanations: Sequence[Explanation], rows: int) -> dict[str, list[str]]:
    """Cells of the first `rows` explanations by column; a scale that never varies is left out."""
    shown = explanations[:rows]
    columns = [
        [_name(each) for each in shown],
        [each.scale for each in shown],
        [each.orders for each in shown],
        [percent(each.share_censored) for each in shown],
        _added(shown),
        _behind(shown),
        ["chosen", *(_verdict(each) for each in shown[1:])],
    ]
    named = dict(zip(_HEADER, columns, strict=True))
    if all(each.scale == "constant" for each in explanations):
        del named[_HEADER[_SCALE]]
    return named


def _name(explanation: Explanation) -> str:
    """Family, and whether features multiply its location."""
    multiplies = explanation.location == "multiplicative"
    return f"{explanation.truth} (×)" if multiplies else explanation.truth


def _added(explanations: Sequence[Explanation]) -> list[str]:
    """Mean shifts, with as many decimals as three digits of the largest need."""
    decimals = decimals_for(max(abs(each.shift) for each in explanations), 3)
    return [fixed(each.shift, decimals) for each in explanations]


def _behind(explanations: Sequence[Explanation]) -> list[str]:
    """Differences from the best with their standard errors: four decimals or fewer will do."""
    errors = [each.standard_error for each in explanations if each.standard_error > 0]
    smallest = min(errors, default=0.01)
    decimals = max(decimals_for(smallest, 1), min(decimals_for(smallest, 2), 4))
    return [
        f"{fixed(each.behind, decimals)} ± {fixed(each.standard_error, decimals)}"
        if each.behind
        else "best"
        for each in explanations
    ]


def _verdict(explanation: Explanation) -> str:
    if explanation.ties:
        return "ties"
    return "ruled out" if ruled_out(explanation) else "possible"


def _block(name: str, column: Sequence[str]) -> list[str]:
    """One column with its header, all cells of the same length."""
    cells = [name, *column]
    size = max(map(len, cells))
    words = _HEADER.index(name) in _LEFT
    return [cell.ljust(size) if words else cell.rjust(size) for cell in cells]


def _shortened(block: Sequence[str], by: int) -> list[str]:
    size = max(len(block[0]) - by, _SHORTEST)
    return [cell[:size] if len(cell.rstrip()) <= size else cell[: size - 1] + "…" for cell in block]
