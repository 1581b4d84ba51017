"""Aligned plain text, so that a result printed at the prompt can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the first column to the left, all others to the right, a rule under the header."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def aligned(line: Sequence[str]) -> str:
        first, *others = line
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        return "  ".join([first.ljust(widths[0]), *cells]).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([aligned(lines[0]), rule, *(aligned(line) for line in lines[1:])])


def number(value: float | None, digits: int = 2) -> str:
    """Print fixed digits; a dash where there is no number."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """Print a share as per cent with one digit; a dash where there is no number."""
    return "-" if value is None or math.isnan(value) else f"{100 * value:.1f}%"
