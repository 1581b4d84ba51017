"""A figure of the paper: one or more panels, each with a text for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmet.paper.claims.claim import signed
from unmet.paper.figures.lines import Line
from unmet.paper.figures.style import save


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    slug : str
        Name of its files.
    alt : str
        What it shows, in words and numbers.
    figure : matplotlib Figure
    """

    slug: str
    alt: str
    figure: Any

    def write(self, folder: Path) -> list[Path]:
        """Write slug.svg and slug.png."""
        return save(self.figure, folder / self.slug)


@dataclass(frozen=True)
class Group:
    """What the paper calls a figure.

    Attributes
    ----------
    label : str
        The paper's, where it has this figure.
    title, caption : str
    panels : tuple of Panel
    """

    label: str
    title: str
    caption: str
    panels: tuple[Panel, ...]


def describe(levels: Sequence[float], lines: Sequence[Line], form: str) -> str:
    """Say in words where each line begins and ends."""
    parts = []
    for line in lines:
        shown = [(a, v) for a, v in zip(levels, line.values, strict=True) if v is not None]
        if not shown:
            continue
        (first, start), (last, end) = shown[0], shown[-1]
        parts.append(
            f"{line.name} {signed(start, form)} at {first:g}"
            + (f" to {signed(end, form)} at {last:g}" if last != first else "")
        )
    return "; ".join(parts) + "."
