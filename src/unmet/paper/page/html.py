"""The page as one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from unmet.paper.claims.claim import Claim
from unmet.paper.figures.group import Group
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
from unmet.paper.page.style import STYLE
from unmet.paper.tables.compared import DIFFERENCE, PUBLISHED
from unmet.paper.tables.table import Table

_VERDICT_CLASSES = {
    "reproduced": "yes",
    "reproduced in direction": "mostly",
    "not reproduced": "no",
    "not checked": "open",
}


def as_html(title: str, blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """Write the page.

    Parameters
    ----------
    title : str
    blocks : sequence of Block
    pictures : mapping from slug to bytes
        The SVG file of every panel; each becomes part of the page.
    """
    writer = _Writer(pictures)
    sections = [block.text for block in blocks if isinstance(block, Heading) and block.depth == 2]
    links = "".join(f'<a href="#{_anchor(text)}">{escape(text)}</a>' for text in sections)
    body = [writer.write(block) for block in blocks]
    # the table of contents stands below the title
    body.insert(1, f'<nav aria-label="Contents">{links}</nav>')
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


class _Writer:
    """One method per kind of block."""

    def __init__(self, pictures: Mapping[str, bytes]) -> None:
        self._pictures = pictures

    def write(self, block: Block) -> str:
        match block:
            case Heading(text, depth):
                anchor = f' id="{_anchor(text)}"' if depth == 2 else ""
                return f"<h{depth}{anchor}>{_words(text)}</h{depth}>"
            case Paragraph(text, notice):
                return f"<p{' class=notice' if notice else ''}>{_words(text)}</p>"
            case Bullets(items):
                return f"<ul>{''.join(f'<li>{_named(item)}</li>' for item in items)}</ul>"
            case TableBlock(table):
                return _table(table)
            case FigureBlock(group):
                return self._figure(group)
            case Verdicts(claims):
                return _verdicts(claims)
            case Reasons(claims):
                return "".join(map(_reason, claims))

    def _figure(self, group: Group) -> str:
        images = "".join(
            f'<img alt="{escape(panel.alt)}" '
            f'src="data:image/svg+xml;base64,{b64encode(self._pictures[panel.slug]).decode()}">'
            for panel in group.panels
        )
        caption = f"<strong>{_words(group.title)}.</strong> {_words(group.caption)}"
        return (
            f'<figure id="fig-{escape(group.label)}"><div class="panels">{images}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )


def _words(text: str) -> str:
    """Escape, and set what stands between backticks as code."""
    pieces = escape(text, quote=False).split("`")
    return "".join(
        f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces)
    )


def _named(item: str) -> str:
    name, colon, rest = item.partition(": ")
    # a colon far into the item ends no name
    return (
        f"<strong>{_words(name)}:</strong> {_words(rest)}"
        if colon and len(name) < 60
        else _words(item)
    )


def _anchor(text: str) -> str:
    letters = "".join(sign if sign.isalnum() else "-" for sign in text.lower())
    return "-".join(filter(None, letters.split("-")))


def _table(table: Table) -> str:
    numeric = table.numeric()
    heads = "".join(
        f'<th scope="col"{" class=number" if right else ""}>{_words(head)}</th>'
        for head, right in zip(table.heads, numeric, strict=True)
    )
    rows = "".join(_row(row, numeric) for row in table.shown())
    notes = "".join(f'<p class="note">{_words(note)}</p>' for note in table.notes)
    inner = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )
    identity = f'id="tab-{escape(table.label)}"'
    title = _words(table.title)
    if table.folded:
        return f"<details {identity}><summary>{title}</summary>{inner}</details>"
    return f'<section class="table" {identity}><h3>{title}</h3>{inner}</section>'


def _row(cells: Sequence[str], numeric: Sequence[bool]) -> str:
    kind = next((cell for cell in cells if cell in (PUBLISHED, DIFFERENCE)), "")
    first, *others = cells
    parts = [f'<th scope="row">{_words(first)}</th>']
    parts += [
        f"<td{' class=number' if right else ''}>{_words(cell)}</td>"
        for cell, right in zip(others, numeric[1:], strict=True)
    ]
    return f"<tr{f' class={kind}' if kind else ''}>{''.join(parts)}</tr>"


def _badge(claim: Claim) -> str:
    kind = _VERDICT_CLASSES[claim.verdict]
    return f'<span class="badge {kind}">{SYMBOLS[claim.verdict]} {escape(claim.word)}</span>'


def _verdicts(claims: Sequence[Claim]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#{_claim_id(c)}">{escape(c.name)}</a></th>'
        f"<td>{_badge(c)}</td><td>{_words(c.statement)}</td>"
        f"{_fails(c)}</tr>"
        for c in claims
    )
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("no.", "verdict", "claim", "fails at"))
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Verdicts" id="verdicts">'
        f'<table class="verdicts"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        "</div>"
    )


def _fails(claim: Claim) -> str:
    if not claim.fails:
        return '<td class="none">–</td>'
    return f'<td class="fails">{_words("; ".join(claim.fails))}</td>'


def _reason(claim: Claim) -> str:
    why = f"<p>{_words(claim.explanation)}</p>" if claim.explanation else ""
    found = _words(claim.found).replace("; ", ";<br>")  # a line per method
    return (
        f'<article id="{_claim_id(claim)}"><h3>{escape(claim.name)}: {_words(claim.statement)} '
        f"{_badge(claim)}</h3><p>{found}</p>{why}</article>"
    )


def _claim_id(claim: Claim) -> str:
    return f"claim-{_anchor(claim.name)}"
