"""What is printed: tables as CSV, Markdown and LaTeX, and the page as HTML and Markdown."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from string import Template

from paper.pictures import PaperFigure
from paper.verdicts import SYMBOLS, Claim
from unmet.files import Cell, write_text

# --- Text for LaTeX: signs that it reads as commands, and those its default fonts lack.

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ε": r"$\varepsilon$",
    "η": r"$\eta$",
    "✓": r"$\surd$",
    "√": r"$\surd$",
    "≈": r"$\approx$",
    "✗": r"$\otimes$",
    "·": r"$\cdot$",
    "Φ": r"$\Phi$",
    "σ": r"$\sigma$",
    "ŷ": r"$\hat{y}$",
    "₁": r"$_1$",
    "₂": r"$_2$",
    "²": r"$^2$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "±": r"$\pm$",
    "“": "``",
    "”": "''",
    "’": "'",
    "→": r"$\to$",
    "§": r"\S{}",
    "ó": r"\'o",
}

_STARS = re.compile(r"(?<=\))\*+$")
_LINES = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


def escape(text: str) -> str:
    r"""Make text safe for LaTeX; stars of significance go up.

    Examples
    --------
    >>> print(escape("LR-εNVC-R saves 5% of α_1"))
    LR-$\varepsilon$NVC-R saves 5\% of $\alpha$\_1
    >>> print(escape("1.27 (1.03, 1.59)***"))
    1.27 (1.03, 1.59)$^{***}$
    """
    stars = _STARS.search(text)
    body = text[: stars.start()] if stars else text
    raised = rf"$^{{{stars.group()}}}$" if stars else ""
    # an empty line would end a paragraph, which captions and cells do not allow
    return "".join(_SIGNS.get(sign, sign) for sign in " ".join(_LINES.split(body))) + raised


# --- A table as the paper would print it, and its three files.

_MISSING = "–"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    head : str
    form : str
        How numbers are printed, e.g. ".2f", "+.1%"; text is printed as it is.
    """

    head: str
    form: str = ""

    def show(self, cell: Cell) -> str:
        """Print one cell; a dash where there is nothing."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return _MISSING
        if isinstance(cell, str):
            return cell
        return f"{cell:{self.form}}".replace("-", "−")  # a hyphen is no minus sign


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes
    ----------
    label : str
        The paper's, where it has this table or figure; also the name of the files.
    title : str
    columns : tuple of Column
    rows : tuple of tuple of Cell
        Raw values: CSV files keep all digits.
    notes : tuple of str
        One sentence or two each, below the table.
    forms : tuple of str, optional
        How the numbers of each row are printed, in columns that do not say it themselves.
    folded : bool
        Long: the page shows it only to those who ask.
    """

    label: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    folded: bool = False

    @property
    def heads(self) -> list[str]:
        """First line."""
        return [column.head for column in self.columns]

    def shown(self) -> list[list[str]]:
        """Cells as text."""
        forms = self.forms or ("",) * len(self.rows)
        return [
            [
                (column if column.form else Column("", form)).show(cell)
                for column, cell in zip(self.columns, row, strict=True)
            ]
            for row, form in zip(self.rows, forms, strict=True)
        ]

    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, which stand to the right."""
        return [
            all(not isinstance(row[place], str) for row in self.rows)
            for place in range(len(self.columns))
        ]

    def as_csv(self) -> str:
        """Raw values, one line each; nothing where there is nothing."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows(self.rows)
        return stream.getvalue()

    def as_markdown(self) -> str:
        """Title, table, notes."""

        def line(cells: list[str]) -> str:
            return "| " + " | ".join(plain(cell) for cell in cells) + " |"

        rule = ["---:" if right else "---" for right in self.numeric()]
        lines = [f"**{plain(self.title)}**", "", line(self.heads), line(rule)]
        lines += [line(row) for row in self.shown()]
        for note in self.notes:
            lines += ["", plain(note)]
        return "\n".join(lines) + "\n"

    def as_latex(self) -> str:
        """Write a table environment for booktabs."""
        sides = "".join("r" if right else "l" for right in self.numeric())
        body = [_line(row) + r" \\" for row in self.shown()]
        notes = [rf"\par\smallskip\footnotesize {escape(note)}" for note in self.notes]
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}[!htbp]",
                r"\centering",
                r"\footnotesize",
                rf"\caption{{{escape(self.title)}}}",
                rf"\label{{tab:{self.label}}}",
                rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
                r"\toprule",
                _line(self.heads) + r" \\ \midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *notes,
                r"\end{table}",
                "",
            ]
        )

    def write(self, folder: Path) -> list[Path]:
        """Write label.csv, label.md and label.tex, each whole or not at all."""
        texts = {"csv": self.as_csv(), "md": self.as_markdown(), "tex": self.as_latex()}
        return [
            write_text(folder / f"{self.label}.{ending}", text) for ending, text in texts.items()
        ]


def _line(cells: Sequence[str]) -> str:
    r"""Cells of a row for LaTeX; after ``\\\\`` it would take a bracket or a star for an option."""
    line = " & ".join(map(escape, cells))
    return "{}" + line if line.lstrip().startswith(("[", "*")) else line


def plain(text: str) -> str:
    """Keep Markdown from reading signs of ours as its own."""
    for sign in ("\\", "|", "*", "_", "<", "[", "`"):
        text = text.replace(sign, "\\" + sign)
    return text


#: Whose numbers a row has, where ours and the published stand below each other.
OURS, PUBLISHED, DIFFERENCE = "ours", "published", "difference"


# --- The page itself: one HTML file that needs nothing else (no network, no script), and Markdown.

_VERDICT_CLASSES = {
    "reproduced": "yes",
    "reproduced in part": "mostly",
    "not reproduced": "no",
    "not checked": "open",
}


class Page:
    """Both forms of the page, block after block.

    Parameters
    ----------
    title : str
    pictures : mapping from slug to bytes
        The SVG file of every picture; each becomes part of the HTML page, while Markdown refers to
        the folder beside it.
    """

    def __init__(self, title: str, pictures: Mapping[str, bytes]) -> None:
        self._title, self._pictures = title, pictures
        self._sections: list[str] = []
        self._html: list[str] = []
        self._markdown = [f"# {_code(title)}"]

    def add_heading(self, text: str) -> None:
        """Begin a section."""
        self._sections.append(text)
        self._html.append(f'<h2 id="{_anchor(text)}">{_words(text)}</h2>')
        self._markdown.append(f"## {_code(text)}")

    def add_paragraph(self, text: str, *, notice: bool = False) -> None:
        """Add words; `backticks` are code. A notice stands out."""
        self._html.append(f"<p{' class=notice' if notice else ''}>{_words(text)}</p>")
        self._markdown.append(("> " if notice else "") + _code(text))

    def add_bullets(self, items: Sequence[str]) -> None:
        """Add a list; words before the first colon of an item are its name."""
        self._html.append(f"<ul>{''.join(f'<li>{_named(item)}</li>' for item in items)}</ul>")
        self._markdown.append("\n".join(f"- {_code(item)}" for item in items))

    def add_table(self, table: Table) -> None:
        """Add a table; a folded one is shown to those who ask."""
        self._html.append(_table(table))
        self._markdown.append(_target(f"tab-{table.label}") + table.as_markdown())

    def add_index(self, labels: Sequence[tuple[str, str]]) -> None:
        """Add links to tables and figures by the paper's labels."""
        links = [
            f'<a href="#{html.escape(where)}">{html.escape(label)}</a>' for label, where in labels
        ]
        self._html.append(f"<ol>{''.join(f'<li>{link}</li>' for link in links)}</ol>")
        lines = [f"{k}. [{plain(label)}](#{where})" for k, (label, where) in enumerate(labels, 1)]
        self._markdown.append("\n".join(lines))

    def add_absent(self, anchor: str, words: str) -> None:
        """Say why something that belongs here is not there."""
        self._html.append(f'<p class="note" id="{html.escape(anchor)}">{_words(words)}</p>')
        self._markdown.append(_target(anchor) + _code(words))

    def add_figure(self, figure: PaperFigure) -> None:
        """Add pictures with their caption."""
        images = "".join(
            f'<img alt="{html.escape(picture.alt)}" '
            f'src="data:image/svg+xml;base64,{b64encode(self._pictures[picture.slug]).decode()}">'
            for picture in figure.pictures
        )
        caption = f"<strong>{_words(figure.title)}.</strong> {_words(figure.caption)}"
        self._html.append(
            f'<figure id="fig-{html.escape(figure.label)}"><div class="panels">{images}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )
        links = "\n".join(
            f"![{plain(picture.alt).replace(']', '')}](figures/{picture.slug}.svg)"
            for picture in figure.pictures
        )
        words = f"**{_code(figure.title)}**\n\n{links}\n\n{_code(figure.caption)}"
        self._markdown.append(_target(f"fig-{figure.label}") + words)

    def add_verdicts(self, claims: Sequence[Claim]) -> None:
        """Add the table of verdicts."""
        heads = ("no.", "verdict", "kind", "claim", "fails at")
        lines = "".join(
            f'<tr><th scope="row"><a href="#{_claim_id(c)}">{html.escape(c.name)}</a></th>'
            f"<td>{_badge(c)}</td><td>{c.kind}</td><td>{_words(c.statement)}</td>"
            f"{_fails(c)}</tr>"
            for c in claims
        )
        titles = "".join(f'<th scope="col">{head}</th>' for head in heads)
        self._html.append(
            '<div class="scroll" role="region" tabindex="0" aria-label="Verdicts" id="verdicts">'
            f'<table class="verdicts"><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody>'
            "</table></div>"
        )
        rows = tuple(
            (c.name, f"{SYMBOLS[c.verdict]} {c.word}", c.kind, c.statement, _failing(c))
            for c in claims
        )
        table = Table("verdicts", "Verdicts", tuple(map(Column, heads)), rows)
        self._markdown.append(table.as_markdown())

    def add_reasons(self, claims: Sequence[Claim]) -> None:
        """Add what was found, and why, claim by claim."""
        self._html.append("".join(map(_reason, claims)))
        self._markdown.append(
            "\n".join(
                f"- **{c.name}** ({SYMBOLS[c.verdict]} {c.word}): {_code(c.found)} "
                f"{_code(c.explanation)}".rstrip()
                for c in claims
            )
        )

    def as_markdown(self) -> str:
        """Give all of it."""
        return "\n\n".join(block.strip("\n") for block in self._markdown) + "\n"

    def as_html(self) -> str:
        """Give all of it, with the table of contents below the title."""
        folder = resources("paper")
        style, frame = (
            folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.html")
        )
        links = "".join(f'<a href="#{_anchor(s)}">{html.escape(s)}</a>' for s in self._sections)
        return Template(frame).substitute(
            title=html.escape(self._title), style=style, links=links, body="\n".join(self._html)
        )


def _target(anchor: str) -> str:
    """Give Markdown something to link to."""
    return f'<a id="{html.escape(anchor)}"></a>\n\n'


def _code(text: str) -> str:
    """Escape for Markdown everything but code in backticks."""
    pieces = text.split("`")
    return "`".join(piece if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def _words(text: str) -> str:
    """Escape, and set what stands between backticks as code."""
    pieces = html.escape(text, quote=False).split("`")
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
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )
    identity = f'id="tab-{html.escape(table.label)}"'
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
    return f'<span class="badge {kind}">{SYMBOLS[claim.verdict]} {html.escape(claim.word)}</span>'


def _failing(claim: Claim) -> str | None:
    """Name where a claim fails; many places by their number."""
    shown = claim.fails[:6]
    more = [f"and {len(claim.fails) - 6} more"] if len(claim.fails) > 6 else []
    return "; ".join([*shown, *more]) or None


def _fails(claim: Claim) -> str:
    where = _failing(claim)
    if where is None:
        return '<td class="none">–</td>'
    return f'<td class="fails">{_words(where)}</td>'


def _reason(claim: Claim) -> str:
    why = f"<p>{_words(claim.explanation)}</p>" if claim.explanation else ""
    found = _words(claim.found).replace("; ", ";<br>")  # a line per method
    head = f"{html.escape(claim.name)}: {_words(claim.statement)} {_badge(claim)}"
    return f'<article id="{_claim_id(claim)}"><h3>{head}</h3><p>{found}</p>{why}</article>'


def _claim_id(claim: Claim) -> str:
    return f"claim-{_anchor(claim.name)}"
