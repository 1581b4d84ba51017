"""The page as Markdown, for those who read it beside the code."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from unmet.files import Cell
from unmet.paper.claims import Claim, span
from unmet.paper.figures import Group
from unmet.paper.published import N_DATASETS, SAVINGS
from unmet.paper.results import PAPER_FAMILIES, Results, known, saving, share_closed
from unmet.paper.settings import INSENSITIVE, Settings
from unmet.paper.tables import DIFFERENCE, PUBLISHED, Column, Table, plain
from unmet.simulate import PUBLISHED_LEVELS

# --- What a page is made of; HTML and Markdown say it in their own way.


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


# --- Where we do not do as the paper does, or as it prints, and why.


def differences(settings: Settings) -> tuple[str, ...]:
    """One item each: what, and why; only those that this run has."""
    clipping = (
        "Clipping: demand and orders are clipped at zero. The text names no clipping, but its "
        "generator gives a negative mean demand in 6.1% of the rows of 2016, while the theory "
        "assumes demand from zero up; and clipped data come closer to its Wilcoxon tables."
        if settings.clip
        else "Clipping: none, as printed. The generator then gives negative demand with "
        "probability 10.4%, which the theory excludes."
    )
    searching = (
        (
            "Published settings: hyperparameters and ε are those that the paper prints; nothing "
            "was searched.",
        )
        if settings.published_settings
        else (
            "Optuna instead of Hyperopt: both use a tree-structured Parzen estimator; Hyperopt is "
            "no longer maintained. The paper does not say how many trials and folds it used.",
            "Searches on data set 1 only: the paper prints one result for all ten data sets and "
            "does not say which of them it searched on.",
        )
    )
    return (
        clipping,
        "Units of ε: shares of the range of the training sales. The boxes U(0, 0.20) and "
        "U(0, 0.15), and the learning rates, make sense only for sales scaled to [0, 1]; the text "
        "does not say so.",
        *searching,
        "eta and beta: exchanged with respect to Table searchingSpace, where each result lies "
        "outside its own search space; exchanged, both fit.",
        "alpha: Table LRHyperparam lists alpha = 0.5; fits use the α of the experiment, as the "
        "text says.",
        "Seeds: the paper does not name its ten seeds; ours are 0, 1, 2 and so on. Single data "
        "sets cannot be compared, averages can.",
        "Rows: 2016 has 3,294 of them (366 days, nine categories); the paper says 3,286.",
        "Decisions not clipped: a predicted order below zero stays below zero, as nothing in "
        "the text says otherwise, and it costs more than an order of zero would.",
        "EAS once for all levels: squared error does not depend on α, so LR-MSE and NN-MSE have "
        "one fit per data set. Fitting times in Table trainingTime differ by α all the same.",
        "Signs: the update rule and the programs of the paper have slips (underage and overage "
        "exchanged); the correct forms are used.",
        "Networks: trained by NumPy as Keras would, with its initial weights, Adam and epochs, but "
        "not its random numbers.",
        "Wilcoxon tests: one-sided. The paper does not name the alternative; its words "
        "(“significantly smaller”) and its cells without stars speak for this one.",
    )


# --- The story: what the paper claims, what came out, every figure and table, how and why.

TITLE = "Orders learned from censored sales: the paper, reproduced"

#: Sections of results: heading, words, figures, tables; labels as the paper's.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Out-of-sample newsvendor costs",
        "Each method learns from the censored sales of one year and is priced on the true demand "
        "of the next half-year.",
        ("testNVcost", "percentage"),
        ("percentage", "testNVcost"),
    ),
    (
        "Order quantities",
        "How far the orders lie from the best ones, Q*, on average and row by row.",
        ("testRMSEQ",),
        ("testRMSEQ", "wilcoxon-result-lr", "wilcoxon-result-nn", "wilcoxon-numbers"),
    ),
    (
        "Service level",
        "How often an order covers the demand, compared with the level it aims at.",
        (),
        ("serviceLevel", "serviceLevelsReached"),
    ),
    ("Fitting times", "", (), ("trainingTime",)),
    (
        "Against the true optimum: what the paper does not show",
        "A saving over IEO says nothing of what could have been saved. A simulation knows it: the "
        "cost of Q*, the quantile of the true distribution.",
        ("gapClosed", "gap"),
        ("gapClosed", "gap"),
    ),
    (
        "Hyperparameters and ε",
        "Step 1 tunes hyperparameters at α = 0.55, Step 2 the two ends of ε at each α, both on the "
        "sales of data set 1.",
        ("epsilonSearch",),
        ("epsilonSearchResults", "searchingSpace", "hyperparameters"),
    ),
)


def story(
    results: Results,
    claims: Sequence[Claim],
    tables: Mapping[str, Table],
    groups: Mapping[str, Group],
    facts: Mapping[str, str],
) -> list[Block]:
    """Put the page together."""
    blocks: list[Block] = [Heading(TITLE, 1), *_opening(results, claims)]
    blocks += [Heading("Claim by claim"), Paragraph(_RULES), Verdicts(tuple(claims))]
    blocks += [Heading("What we found, and why"), Reasons(tuple(claims))]
    for heading, words, figures, labels in _SECTIONS:
        blocks.append(Heading(heading))
        if words:
            blocks.append(Paragraph(words))
        blocks += [FigureBlock(groups[label]) for label in figures]
        blocks += [TableBlock(tables[label]) for label in labels]
    blocks += [Heading("How it was computed"), TableBlock(computed(results, facts))]
    blocks += [Heading("What differs from the paper, and why")]
    blocks.append(Bullets(differences(results.settings)))
    return blocks


_RULES = (
    "Reproduced: the claim holds in every case for which the paper makes it, averaged over the "
    "data sets as it does. Reproduced in direction: it holds in more than half of the cases and on "
    "average over them. Claims 3 and 3b have rules of their own: savings grow “in general” if the "
    "last is above the first and most steps rise; their size is reproduced within one percentage "
    "point at both ends, and in direction if the ranges overlap. “About the same” time means "
    "within a factor of two. Claims 8 and 9 are about slips of the paper, claim 10 is ours: they "
    "hold or not."
)


def _opening(results: Results, claims: Sequence[Claim]) -> list[Block]:
    blocks: list[Block] = [
        Paragraph(
            "Sales hide lost demand: whoever learns from them orders too little. Chen, Fu, Huang "
            "and Bai (“Learning Decisions Offline from Censored Observations with ε-insensitive "
            "Operational Costs”) train order quantities with a newsvendor cost under which orders "
            "somewhat above the observed sales cost nothing. They claim that this beats "
            "both estimate-as-solution (EAS, squared error) and integrated estimation and "
            "optimization (IEO, newsvendor cost on the sales), and the more so the larger α, the "
            "target service level."
        )
    ]
    smaller = _smaller(results)
    if smaller:
        blocks.append(Paragraph(smaller, notice=True))
    blocks.append(Bullets((_counts(claims), *_headlines(results))))
    return blocks


def _smaller(results: Results) -> str:
    settings = results.settings
    if settings.datasets >= N_DATASETS and set(settings.levels) == set(PUBLISHED_LEVELS):
        return ""
    return (
        f"This run is smaller than the paper's: {settings.datasets} of {N_DATASETS} data sets, "
        f"{len(settings.levels)} of {len(PUBLISHED_LEVELS)} levels. It shows that everything "
        "works; verdicts may change with all of them."
    )


def _counts(claims: Sequence[Claim]) -> str:
    verdicts = [claim.verdict for claim in claims if claim.source == "paper"]
    checked = [verdict for verdict in verdicts if verdict != "not checked"]
    return (
        f"Of {len(checked)} claims of the paper that were checked (most of them both for "
        f"linear models and for networks), {checked.count('reproduced')} are reproduced, "
        f"{checked.count('reproduced in direction')} in direction, and "
        f"{checked.count('not reproduced')} not."
    )


def _headlines(results: Results) -> list[str]:
    levels = results.settings.levels
    words = []
    for family in PAPER_FAMILIES:
        ours = [saving(results, family, level) for level in levels]
        quoted = SAVINGS[family]
        words.append(
            f"{INSENSITIVE[family]} saves {span(ours, '.2%')} of the cost of IEO (published "
            f"{quoted.lowest:.2%} to {quoted.highest:.2%})."
        )
    for family in PAPER_FAMILIES:
        shares = [
            known(share_closed(results, name, level) for level in levels)
            for name in (INSENSITIVE[family], f"{family} latent")
        ]
        if all(shares):
            words.append(
                f"Of the gap between IEO and the true optimum {INSENSITIVE[family]} closes "
                f"{span(shares[0], '.0%')}, {family} latent {span(shares[1], '.0%')}."
            )
    return words


def computed(results: Results, facts: Mapping[str, str]) -> Table:
    """List settings of the run, and what the caller knows about it."""
    settings = results.settings
    searched = f"{settings.trials} trials × {settings.folds} random 75/25 splits"
    rows: list[tuple[Cell, ...]] = [
        ("data sets", str(settings.datasets)),
        ("seeds", f"0 to {settings.datasets - 1}"),
        ("levels α", ", ".join(f"{level:g}" for level in settings.levels)),
        ("hyperparameters and ε", "published" if settings.published_settings else "searched"),
        ("searches", "none" if settings.published_settings else searched),
        ("demand and orders clipped at zero", "yes" if settings.clip else "no"),
        ("fits", str(len(results.fits))),
        *facts.items(),
    ]
    if results.searches:
        seconds = sum(row.seconds for row in results.searches)
        rows.insert(5, ("seconds in searches", f"{seconds:.0f}"))
    columns = (Column("what"), Column("value"))
    return Table("computed", "Settings and circumstances", columns, tuple(rows))


# --- The looks of the page: light and dark, narrow and wide, screen and paper.

STYLE = """
:root {
  --paper: #ffffff; --ink: #1d1f21; --pale: #5a6068; --line: #d9dce0; --tint: #f4f5f7;
  --link: #0b5cad; --yes: #0a6b3d; --mostly: #8a5a00; --no: #a8201a; --open: #5a6068;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181b; --ink: #e7e9ec; --pale: #a4abb4; --line: #383d44; --tint: #20242a;
    --link: #7db7f2; --yes: #6fd39f; --mostly: #f0c060; --no: #ff9a90; --open: #a4abb4;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; }
h2 { border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p, ul { max-width: 48rem; }
a { color: var(--link); }
li { margin: .35rem 0; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .92em; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 0 0 1.2rem; font-size: .92rem; }
.notice { border-left: 4px solid var(--mostly); background: var(--tint); padding: .6rem .9rem; }
.note { color: var(--pale); font-size: .86rem; margin: .35rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
table { font-variant-numeric: tabular-nums; }
th, td { padding: .34rem .65rem; text-align: left; vertical-align: top; }
th, td { border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--tint); white-space: nowrap; }
th.number, td.number { text-align: right; white-space: nowrap; }
tbody th { font-weight: 600; min-width: 6.5rem; }
tbody th { position: sticky; left: 0; background: var(--paper); }
tr.published td, tr.difference td { color: var(--pale); }
tr.published th, tr.difference th { color: var(--pale); font-weight: 400; }
tr.published th, tr.published td, tr.difference th, tr.difference td { border-top-style: dotted; }
tr.difference td { font-style: italic; }
.verdicts tbody th { min-width: 3.6rem; white-space: nowrap; }
.verdicts td:nth-child(3) { min-width: 13rem; }
.badge {
  display: inline-block; white-space: nowrap; font-size: .8rem; font-weight: 600;
  padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 1rem;
}
.yes { color: var(--yes); } .mostly { color: var(--mostly); }
.no { color: var(--no); } .open { color: var(--open); }
article { border: 1px solid var(--line); border-radius: 6px; }
article { padding: .2rem .9rem; margin: .7rem 0; }
article h3 { margin: .6rem 0 .2rem; }
article p { margin: .3rem 0 .6rem; max-width: none; }
figure { margin: 1.2rem 0; }
.panels { display: grid; gap: .8rem; }
.panels { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.panels img { width: 100%; max-width: 34rem; height: auto; background: #fff; border-radius: 6px; }
figcaption { color: var(--pale); font-size: .9rem; margin-top: .5rem; max-width: 48rem; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 40rem) {
  main { padding: 1rem .8rem 3rem; } h1 { font-size: 1.5rem; }
  table { font-size: .82rem; } th, td { padding: .3rem .5rem; }
  .verdicts thead { display: none; }
  .verdicts tr { display: block; padding: .35rem .3rem; border-top: 1px solid var(--line); }
  .verdicts th, .verdicts td { display: block; border: 0; padding: .1rem .4rem; }
  .verdicts th, .verdicts td:nth-child(2) { display: inline-block; min-width: 0; }
  .verdicts td.fails::before { content: "fails at: "; color: var(--pale); }
  .verdicts td.none { display: none; }
}
@media print {
  :root {
    --paper: #fff; --ink: #000; --pale: #444; --line: #bbb; --tint: #f2f2f2; --link: #000;
    --yes: #000; --mostly: #000; --no: #000; --open: #000;
  }
  body { font-size: 10pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .scroll { overflow: visible; border: 0; } table { font-size: 7.5pt; }
  th, td { padding: .12rem .3rem; } tbody th { position: static; min-width: 0; }
  figure, article, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .panels { grid-template-columns: repeat(2, 1fr); }
}
"""


# --- The page as one HTML file that needs nothing else: no network, no script, no other file.

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


# --- The page as Markdown, for those who read it beside the code.


def as_markdown(blocks: Sequence[Block]) -> str:
    """Write all blocks; figures are those in the folder beside the file."""
    return "\n\n".join(_WRITERS[type(block)](block).strip("\n") for block in blocks) + "\n"


def _markdown_words(text: str) -> str:
    """Escape everything but code in backticks."""
    pieces = text.split("`")
    return "`".join(piece if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def _heading(block: Heading) -> str:
    return f"{'#' * block.depth} {_markdown_words(block.text)}"


def _paragraph(block: Paragraph) -> str:
    return ("> " if block.notice else "") + _markdown_words(block.text)


def _bullets(block: Bullets) -> str:
    return "\n".join(f"- {_markdown_words(item)}" for item in block.items)


def _markdown_table(block: TableBlock) -> str:
    return block.table.as_markdown()


def _figure(block: FigureBlock) -> str:
    group = block.group
    pictures = "\n".join(
        f"![{plain(panel.alt).replace(']', '')}](figures/{panel.slug}.svg)"
        for panel in group.panels
    )
    return f"**{_markdown_words(group.title)}**\n\n{pictures}\n\n{_markdown_words(group.caption)}"


def _markdown_verdicts(block: Verdicts) -> str:
    columns = tuple(map(Column, ("no.", "verdict", "claim", "fails at")))
    rows = tuple(
        (c.name, f"{SYMBOLS[c.verdict]} {c.word}", c.statement, "; ".join(c.fails) or None)
        for c in block.claims
    )
    return Table("verdicts", "Verdicts", columns, rows).as_markdown()


def _reasons(block: Reasons) -> str:
    return "\n".join(
        f"- **{c.name}** ({SYMBOLS[c.verdict]} {c.word}): {_markdown_words(c.found)} "
        f"{_markdown_words(c.explanation)}".rstrip()
        for c in block.claims
    )


_WRITERS: dict[type, Callable[[Any], str]] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Bullets: _bullets,
    TableBlock: _markdown_table,
    FigureBlock: _figure,
    Verdicts: _markdown_verdicts,
    Reasons: _reasons,
}
