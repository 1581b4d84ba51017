"""How the pictures of this room look, and its tables on a terminal; matplotlib is an extra.

Not pyplot: no global state, and files only, so that a machine without a screen draws the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from unmet.errors import MissingPackage
from unmet.files import write_figure
from unmet.progress import report_missing

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

# Okabe and Ito's colours, told apart with any kind of colour vision; markers and dashes differ as
# well, for print without colour. Text is never coloured: some of the colours are too light for it.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
SKY, PINK, YELLOW, GREEN, BLACK = "#56B4E9", "#CC79A7", "#E69F00", "#009E73", "#000000"

LEVEL_AXIS = "α = underage / (underage + overage)"


def drawing() -> tuple[type[Any], Callable[..., AbstractContextManager[None]]]:
    """Import what draws: figures, and settings for a while; or say how to get it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage.for_extra("unmet paper reproduce", "matplotlib", "paper") from None
    return Figure, rc_context


def write_picture(what: str, stem: Path, compose: Callable[..., Any], *content: Any) -> list[Path]:
    """Draw and write stem.svg and stem.png; say so and write nothing where matplotlib is missing.

    Parameters
    ----------
    what : str
        As in "the figure was left out".
    stem : Path
        In a folder that exists.
    compose : callable
        Makes a figure of `content`.
    """
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError as error:
        report_missing(error, what)
        return []
    with rc_context(STYLE):
        return write_figure(compose(*content), stem)


def terminal_table(title: str, heads: Sequence[str], *, left: int = 1, **how: Any) -> Table:
    """Begin a table for a terminal; all columns but the first `left` hold numbers.

    Parameters
    ----------
    title : str
    heads : sequence of str
    left : int
        Columns of words.
    **how
        Other options of `rich.table.Table`.
    """
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", **how)
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < left else "right")
    return table


def print_sentences(console: Console, sentences: Iterable[str], files: Sequence[Path]) -> None:
    """Print what there is to say, and where the files are."""
    for sentence in sentences:
        console.print(sentence, markup=False)
    if files:
        console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)
