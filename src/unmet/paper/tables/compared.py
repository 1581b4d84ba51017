"""Tables with levels across, and published values under ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unmet.files import Cell
from unmet.paper.tables.table import Column

OURS, PUBLISHED, DIFFERENCE = "ours", "published", "difference"


def level_columns(
    first: Sequence[str], levels: Sequence[float], form: str = ""
) -> tuple[Column, ...]:
    """Words first, then a column per α; without a form the rows say how numbers are printed."""
    return (*map(Column, first), *(Column(f"α = {level:g}", form) for level in levels))


@dataclass(frozen=True)
class Lines:
    """Rows of a table with levels across, and how each is printed."""

    rows: tuple[tuple[Cell, ...], ...]
    forms: tuple[str, ...]

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.rows + other.rows, self.forms + other.forms)


NO_LINES = Lines((), ())


def compared(
    words: Sequence[str],
    levels: Sequence[float],
    ours: Mapping[float, float | None],
    published: Mapping[float, float] | None,
    form: str,
) -> Lines:
    """Ours, and where the paper prints it the published value and ours minus theirs.

    Parameters
    ----------
    words : sequence of str
        First cells of each row; the column after them says whose numbers they are.
    levels : sequence of float
    ours : mapping from level to float or None
    published : mapping from level to float, or None
        May lack levels.
    form : str
        Of the numbers; the difference always has its sign.
    """
    lines = Lines(((*words, OURS, *(ours[level] for level in levels)),), (form,))
    if published is None:
        return lines
    theirs = tuple(published.get(level) for level in levels)
    difference = tuple(_minus(ours[level], published.get(level)) for level in levels)
    signed = form if form.startswith("+") else f"+{form}"
    return lines + Lines(
        ((*words, PUBLISHED, *theirs), (*words, DIFFERENCE, *difference)), (form, signed)
    )


def _minus(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs
