"""The page as Markdown, for those who read it beside the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from unmet.paper.page.blocks import (
    SYMBOLS,
    Block,
    Bullets,
    FigureBlock,
    Heading,
    Paragraph,
    Reasons,
    TableBlock,
    Verdicts,
)
from unmet.paper.tables.table import Column, Table, plain


def as_markdown(blocks: Sequence[Block]) -> str:
    """Write all blocks; figures are those in the folder beside the file."""
    return "\n\n".join(_WRITERS[type(block)](block).strip("\n") for block in blocks) + "\n"


def _words(text: str) -> str:
    """Escape everything but code in backticks."""
    pieces = text.split("`")
    return "`".join(piece if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def _heading(block: Heading) -> str:
    return f"{'#' * block.depth} {_words(block.text)}"


def _paragraph(block: Paragraph) -> str:
    return ("> " if block.notice else "") + _words(block.text)


def _bullets(block: Bullets) -> str:
    return "\n".join(f"- {_words(item)}" for item in block.items)


def _table(block: TableBlock) -> str:
    return block.table.as_markdown()


def _figure(block: FigureBlock) -> str:
    group = block.group
    pictures = "\n".join(
        f"![{plain(panel.alt).replace(']', '')}](figures/{panel.slug}.svg)"
        for panel in group.panels
    )
    return f"**{_words(group.title)}**\n\n{pictures}\n\n{_words(group.caption)}"


def _verdicts(block: Verdicts) -> str:
    columns = tuple(map(Column, ("no.", "verdict", "claim", "fails at")))
    rows = tuple(
        (c.name, f"{SYMBOLS[c.verdict]} {c.word}", c.statement, "; ".join(c.fails) or None)
        for c in block.claims
    )
    return Table("verdicts", "Verdicts", columns, rows).as_markdown()


def _reasons(block: Reasons) -> str:
    return "\n".join(
        f"- **{c.name}** ({SYMBOLS[c.verdict]} {c.word}): {_words(c.found)} "
        f"{_words(c.explanation)}".rstrip()
        for c in block.claims
    )


_WRITERS: dict[type, Callable[[Any], str]] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Bullets: _bullets,
    TableBlock: _table,
    FigureBlock: _figure,
    Verdicts: _verdicts,
    Reasons: _reasons,
}
