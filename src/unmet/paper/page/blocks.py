"""What a page is made of; HTML and Markdown say it in their own way."""

from __future__ import annotations

from dataclasses import dataclass

from unmet.paper.claims.claim import Claim
from unmet.paper.figures.group import Group
from unmet.paper.tables.table import Table


@dataclass(frozen=True)
class Heading:
    """A section begins."""

    text: str
    depth: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Words; `backticks` are code. A notice stands out."""

    text: str
    notice: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list; words before the first colon of an item are its name."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table, with links to its files."""

    table: Table


@dataclass(frozen=True)
class FigureBlock:
    """A figure with its caption."""

    group: Group


@dataclass(frozen=True)
class Verdicts:
    """The table of verdicts."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Reasons:
    """What was found, and why, claim by claim."""

    claims: tuple[Claim, ...]


Block = Heading | Paragraph | Bullets | TableBlock | FigureBlock | Verdicts | Reasons

#: Signs for those who do not see colours.
SYMBOLS = {
    "reproduced": "✓",
    "reproduced in direction": "≈",
    "not reproduced": "✗",
    "not checked": "–",
}
