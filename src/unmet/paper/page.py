"""The page that tells the story: claims, figures, tables, how and why; as HTML and as Markdown.

`write_everything` makes all files of a reproduction from its `Results`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from string import Template

from unmet.errors import InvalidInput
from unmet.files import Cell, prepare_folder, write_text
from unmet.paper.claims import Claim, all_claims, claims_table, span
from unmet.paper.figures import PaperFigure, all_figures
from unmet.paper.protocol import (
    INSENSITIVE,
    METHODS,
    PAPER_FAMILIES,
    PaperSettings,
    Results,
    known,
)
from unmet.paper.published import N_DATASETS, SAVINGS
from unmet.paper.tables import DIFFERENCE, PUBLISHED, Column, Table, all_tables, plain
from unmet.simulate import PUBLISHED_LEVELS

# --- All files of a reproduction.

TITLE = "Orders learned from censored sales: the paper, reproduced"


def write_everything(
    results: Results, folder: str | Path, *, facts: Mapping[str, str]
) -> list[Path]:
    """Write tables, figures, index.html and REPORT.md; each file is whole or absent.

    The same results and facts give the same CSV, Markdown, LaTeX, SVG and HTML, byte for byte.

    Parameters
    ----------
    results : Results
        Every method of `METHODS` at every level and data set of its settings.
    folder : str or Path
        Made if it is not there.
    facts : mapping from str to str
        How it was computed, as far as the settings do not say it: command, versions, seconds,
        memory.

    Returns
    -------
    list of Path
        The page first.

    Raises
    ------
    InvalidInput
        A fit is missing, or the folder cannot be written to.
    MissingPackage
        Without matplotlib.
    """
    _check_complete(results)
    folder = Path(folder)
    figures = all_figures(results)  # first: without matplotlib nothing is written
    claims = all_claims(results)
    tables = all_tables(results)
    for part in (folder, folder / "tables", folder / "figures"):
        prepare_folder(part)
    written: list[Path] = []
    for table in (*tables.values(), claims_table(claims)):
        written += table.write(folder / "tables")
    pictures: dict[str, bytes] = {}
    for figure in figures.values():
        for picture in figure.pictures:
            files = picture.write(folder / "figures")
            pictures[picture.slug] = files[0].read_bytes()
            written += files
    page = story(results, claims, tables, figures, facts, pictures)
    report = write_text(folder / "REPORT.md", page.as_markdown())
    return [write_text(folder / "index.html", page.as_html()), report, *written]


def _check_complete(results: Results) -> None:
    """Refuse results with a hole: a table without it would look like one with it."""
    present = {(row.method, row.level, row.dataset) for row in results.fits}
    for method in METHODS:
        for level in results.levels:
            for dataset in results.datasets:
                if (method.name, level, dataset) not in present:
                    raise InvalidInput(
                        "results must have every method at every level and data set, "
                        f"got none of {method.name} at {level:g} on data set {dataset}."
                    )


# --- The story: what the paper claims, what came out, every figure and table, how and why.

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
    figures: Mapping[str, PaperFigure],
    facts: Mapping[str, str],
    pictures: Mapping[str, bytes],
) -> Page:
    """Put the page together; `pictures` are the SVG files by slug."""
    page = Page(pictures)
    page.add_paragraph(
        "Sales hide lost demand: whoever learns from them orders too little. Chen, Fu, Huang "
        "and Bai (“Learning Decisions Offline from Censored Observations with ε-insensitive "
        "Operational Costs”) train order quantities with a newsvendor cost under which orders "
        "somewhat above the observed sales cost nothing. They claim that this beats "
        "both estimate-as-solution (EAS, squared error) and integrated estimation and "
        "optimization (IEO, newsvendor cost on the sales), and the more so the larger α, the "
        "target service level."
    )
    settings = results.settings
    if settings.datasets < N_DATASETS or set(results.levels) != set(PUBLISHED_LEVELS):
        page.add_paragraph(
            f"This run is smaller than the paper's: {settings.datasets} of {N_DATASETS} data sets, "
            f"{len(results.levels)} of {len(PUBLISHED_LEVELS)} levels. It shows that everything "
            "works; verdicts may change with all of them.",
            notice=True,
        )
    page.add_bullets([_counts(claims), *_headlines(results)])
    page.add_heading("Claim by claim")
    page.add_paragraph(_RULES)
    page.add_verdicts(claims)
    page.add_heading("What we found, and why")
    page.add_reasons(claims)
    for heading, words, figure_labels, table_labels in _SECTIONS:
        page.add_heading(heading)
        if words:
            page.add_paragraph(words)
        for label in figure_labels:
            page.add_figure(figures[label])
        for label in table_labels:
            page.add_table(tables[label])
    page.add_heading("How it was computed")
    page.add_table(computed(results, facts))
    page.add_heading("What differs from the paper, and why")
    page.add_bullets(differences(settings))
    return page


_RULES = (
    "Reproduced: the claim holds in every case for which the paper makes it, averaged over the "
    "data sets as it does. Reproduced in direction: it holds in more than half of the cases and on "
    "average over them. Claims 3 and 3b have rules of their own: savings grow “in general” if the "
    "last is above the first and most steps rise; their size is reproduced within one percentage "
    "point at both ends, and in direction if the ranges overlap. “About the same” time means "
    "within a factor of two. Claims 8 and 9 are about slips of the paper, claim 10 is ours: they "
    "hold or not."
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
    words = []
    for family in PAPER_FAMILIES:
        ours = results.mean_savings(family)
        quoted = SAVINGS[family]
        words.append(
            f"{INSENSITIVE[family]} saves {span(ours, '.2%')} of the cost of IEO (published "
            f"{quoted.lowest:.2%} to {quoted.highest:.2%})."
        )
    for family in PAPER_FAMILIES:
        shares = [
            known(results.shares_closed(name)) for name in (INSENSITIVE[family], f"{family} latent")
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


# --- Where we do not do as the paper does, or as it prints, and why.


def differences(settings: PaperSettings) -> tuple[str, ...]:
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


# --- The page itself: one HTML file that needs nothing else (no network, no script), and Markdown.

_SYMBOLS = {  # for those who do not see colours
    "reproduced": "✓",
    "reproduced in direction": "≈",
    "not reproduced": "✗",
    "not checked": "–",
}
_VERDICT_CLASSES = {
    "reproduced": "yes",
    "reproduced in direction": "mostly",
    "not reproduced": "no",
    "not checked": "open",
}


class Page:
    """Both forms of the page, block after block.

    Parameters
    ----------
    pictures : mapping from slug to bytes
        The SVG file of every picture; each becomes part of the HTML page, while Markdown refers to
        the folder beside it.
    """

    def __init__(self, pictures: Mapping[str, bytes]) -> None:
        self._pictures = pictures
        self._sections: list[str] = []
        self._html: list[str] = []
        self._markdown = [f"# {_code(TITLE)}"]

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
        self._markdown.append(table.as_markdown())

    def add_figure(self, figure: PaperFigure) -> None:
        """Add pictures with their caption."""
        images = "".join(
            f'<img alt="{escape(picture.alt)}" '
            f'src="data:image/svg+xml;base64,{b64encode(self._pictures[picture.slug]).decode()}">'
            for picture in figure.pictures
        )
        caption = f"<strong>{_words(figure.title)}.</strong> {_words(figure.caption)}"
        self._html.append(
            f'<figure id="fig-{escape(figure.label)}"><div class="panels">{images}</div>'
            f"<figcaption>{caption}</figcaption></figure>"
        )
        links = "\n".join(
            f"![{plain(picture.alt).replace(']', '')}](figures/{picture.slug}.svg)"
            for picture in figure.pictures
        )
        self._markdown.append(f"**{_code(figure.title)}**\n\n{links}\n\n{_code(figure.caption)}")

    def add_verdicts(self, claims: Sequence[Claim]) -> None:
        """Add the table of verdicts."""
        heads = ("no.", "verdict", "claim", "fails at")
        lines = "".join(
            f'<tr><th scope="row"><a href="#{_claim_id(c)}">{escape(c.name)}</a></th>'
            f"<td>{_badge(c)}</td><td>{_words(c.statement)}</td>"
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
            (c.name, f"{_SYMBOLS[c.verdict]} {c.word}", c.statement, "; ".join(c.fails) or None)
            for c in claims
        )
        table = Table("verdicts", "Verdicts", tuple(map(Column, heads)), rows)
        self._markdown.append(table.as_markdown())

    def add_reasons(self, claims: Sequence[Claim]) -> None:
        """Add what was found, and why, claim by claim."""
        self._html.append("".join(map(_reason, claims)))
        self._markdown.append(
            "\n".join(
                f"- **{c.name}** ({_SYMBOLS[c.verdict]} {c.word}): {_code(c.found)} "
                f"{_code(c.explanation)}".rstrip()
                for c in claims
            )
        )

    def as_markdown(self) -> str:
        """Give all of it."""
        return "\n\n".join(block.strip("\n") for block in self._markdown) + "\n"

    def as_html(self) -> str:
        """Give all of it, with the table of contents below the title."""
        folder = resources("unmet.paper")
        style, frame = (
            folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.html")
        )
        links = "".join(f'<a href="#{_anchor(s)}">{escape(s)}</a>' for s in self._sections)
        return Template(frame).substitute(
            title=escape(TITLE), style=style, links=links, body="\n".join(self._html)
        )


def _code(text: str) -> str:
    """Escape for Markdown everything but code in backticks."""
    pieces = text.split("`")
    return "`".join(piece if place % 2 else plain(piece) for place, piece in enumerate(pieces))


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
    return f'<span class="badge {kind}">{_SYMBOLS[claim.verdict]} {escape(claim.word)}</span>'


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
