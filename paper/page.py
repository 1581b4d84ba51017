"""The page of a reproduction: claims, figures, tables and explanations, as Markdown and as HTML.

Its text is in ``page.md``. `write_everything` writes all files of a reproduction.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files as resources
from pathlib import Path
from string import Template

from markupsafe import Markup

from paper.claims import (
    SYMBOLS,
    Claim,
    all_claims,
    by_table,
    claims_of,
    claims_table,
    count,
    distances,
    nearest,
    span,
)
from paper.favorita import ABSENT, StoreEvidence, store_claims, store_tables
from paper.plots import PaperFigure, all_figures
from paper.protocol import INSENSITIVE, METHODS, PAPER_FAMILIES, PaperSettings, Results, known
from paper.published import N_DATASETS, SAVINGS
from paper.tables import Row, Table, all_tables, caption, plain
from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_text
from unmet.report.page import page
from unmet.simulate.store10 import PUBLISHED_LEVELS


def judge_everything(results: Results, evidence: StoreEvidence | None = None) -> tuple[Claim, ...]:
    """Evaluate all claims: those on the experiments, and those on Favorita's stores."""
    return (*all_claims(results), *store_claims(evidence))


def write_everything(
    results: Results,
    claims: Sequence[Claim],
    folder: str | Path,
    *,
    facts: Mapping[str, str],
    evidence: StoreEvidence | None = None,
) -> list[Path]:
    """Write tables, figures, index.html and REPORT.md, each file completely or not at all.

    Equal results and facts give equal CSV, Markdown, LaTeX, SVG and HTML, byte for byte.

    Parameters
    ----------
    results : Results
        Results of every method of `METHODS` and of each reading, at every level and data set.
    claims : sequence of Claim
        Claims from `judge_everything`.
    folder : str or Path
        Folder to write to; created if necessary.
    facts : mapping from str to str
        How the results were computed, beyond the settings: versions, seconds, memory.
    evidence : StoreEvidence, optional
        Favorita's sales and regressions, for the tables of App. storeSelect. None shows only the
        published numbers.

    Returns
    -------
    list of Path
        The files, the page first.

    Raises
    ------
    InvalidInput
        A fit is missing, or the folder cannot be written to.
    MissingPackage
        Without vl-convert.

    Examples
    --------
    >>> from paper.page import judge_everything, write_everything
    >>> claims = judge_everything(results)  # after a run  # doctest: +SKIP
    >>> write_everything(results, claims, "out/reproduce", facts={})  # doctest: +SKIP
    """
    _check_complete(results)
    folder = Path(folder)
    figures = all_figures(results)  # first: without vl-convert nothing is written
    if evidence is not None:
        figures["ErrorQQplot10"] = evidence.figure()
    tables = {**all_tables(results), **store_tables(evidence)}
    for more in (distances(results), by_table(results, claims), claims_table(claims)):
        tables[more.label] = more
    for part in (folder, folder / "tables", folder / "figures"):
        prepare_folder(part)
    written = [file for table in tables.values() for file in table.write(folder / "tables")]
    written += [file for figure in figures.values() for file in figure.write(folder / "figures")]
    text = story(results, claims, tables, figures, facts)
    report = write_text(folder / "REPORT.md", text)
    return [write_text(folder / "index.html", as_html(text, folder)), report, *written]


def _check_complete(results: Results) -> None:
    """Refuse results with a hole: a table without it would look like one with it."""
    present = {(row["method"], row["level"], row["seed"]) for row in results.found.rows}
    names = [r.variant(name) for r in results.readings for name in r.methods or METHODS]
    for name, level, k in (
        (n, a, k) for n in names for a in results.levels for k in results.datasets
    ):
        if (name, level, k - 1) not in present:
            raise InvalidInput(
                "results must have every method at every level and data set, got none of "
                f"{name} at {level:g} on data set {k}."
            )


def _resource(name: str) -> str:
    return resources("paper").joinpath(name).read_text(encoding="utf-8")


def as_html(text: str, folder: Path) -> str:
    """Turn Markdown into one page that needs nothing else: no network, no script, no file."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)

    def embedded(found: re.Match[str]) -> str:
        plot = b64encode((folder / found[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{plot}"'

    body = re.sub(r'src="(figures/[\w-]+\.svg)"', embedded, body)
    # wide tables scroll on their own, and can be reached by the keyboard
    body = body.replace("<table>", '<div class="scroll" role="region" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")
    title = text.partition("\n")[0].removeprefix("# ")
    return page("document.html", title=title, body=Markup(body))


# --- The story: what the paper claims, what came out, every figure and table, how and why.


def story(
    results: Results,
    claims: Sequence[Claim],
    tables: Mapping[str, Table],
    figures: Mapping[str, PaperFigure],
    facts: Mapping[str, str],
) -> str:
    """Put the page together, as Markdown."""
    settings = results.settings
    blocks = {
        "ErrorQQplot10": f'<a id="fig-ErrorQQplot10"></a>\n\nFig. ErrorQQplot10: {ABSENT}',
        "notices": "\n\n".join(f"> {plain(notice)}" for notice in _notices(settings)),
        "counts": "\n".join(f"- {plain(line)}" for line in _headlines(results, claims)),
        "verdicts": _verdicts(claims).as_markdown(),
        "nearest": _nearest(results, tables["readings"]),
        "reasons": "\n\n".join(map(_reason, claims)),
        "computed": computed(results, facts).as_markdown(),
        "clipping": caption(f"clip-{settings.clip}")[0],
        "searching": caption(f"published-{settings.published_settings}")[0],
    }
    blocks |= {label.replace("-", "_"): _table(table) for label, table in tables.items()}
    for label, figure in figures.items():
        name = f"fig_{label}" if label in tables else label
        blocks[name] = (
            f'<a id="fig-{label}"></a>\n\n**{plain(figure.title)}**\n\n'
            f"![{plain(figure.alt)}](figures/{label}.svg)\n\n{plain(' '.join(figure.notes))}"
        )
    told = {name: block.strip("\n") for name, block in blocks.items()}
    return re.sub(r"\n{3,}", "\n\n", Template(_resource("page.md")).substitute(told))


def _table(table: Table) -> str:
    """Give a table something to link to; a long one is opened on demand."""
    text = f'<a id="tab-{table.label}"></a>\n\n{table.as_markdown()}'
    if not table.folded:
        return text
    return f"<details>\n<summary>{html.escape(table.title)}</summary>\n\n{text}\n</details>"


def _verdicts(claims: Sequence[Claim]) -> Table:
    """Name, verdict, statement and where it fails, at most six places."""
    rows: list[Row] = []
    for claim in claims:
        more = [f"and {len(claim.fails) - 6} more"] if len(claim.fails) > 6 else []
        fails = "; ".join([*claim.fails[:6], *more]) or None
        word = f"{SYMBOLS[claim.verdict]} {claim.word}"
        rows.append((claim.name, word, claim.kind, claim.statement, fails))
    heads = ("no.", "verdict", "kind", "claim", "fails at")
    return Table("verdicts", dict.fromkeys(heads, ""), rows)


def _reason(claim: Claim) -> str:
    head = f"{claim.name}: {claim.statement} ({SYMBOLS[claim.verdict]} {claim.word})"
    words = f"{claim.evidence.found} {claim.evidence.why}".strip()
    return f"**{plain(head)}** {plain(words)}"


def _nearest(results: Results, table: Table) -> str:
    """Say which reading comes nearest how often, over what linear models decide."""
    found = nearest(results, table)
    linear = sum(str(row[1]).startswith("LR") for row in table.rows)
    counts = ", ".join(f"{name} in {number}" for name, number in found.items())
    return (
        f"of the {linear} distances below that concern linear models the smallest is that of "
        f"{counts} (ties count for each)."
    )


def _notices(settings: PaperSettings) -> list[str]:
    """Say what this run is not."""
    levels = len(settings.levels)
    small = settings.datasets < N_DATASETS or levels < len(PUBLISHED_LEVELS)
    told = {
        "small": small,
        "published": settings.published_settings,
        "store": not settings.is_papers_store,
    }
    words = {"datasets": settings.datasets, "levels": levels, "store": settings.distribution.name}
    return [caption(f"notice-{name}", **words)[0] for name, holds in told.items() if holds]


def _headlines(results: Results, claims: Sequence[Claim]) -> list[str]:
    """Count verdicts by reading, and give savings and shares of the gap closed."""
    words = []
    for reading in results.readings:
        read = claims if not reading.methods else claims_of(results, reading, claims)
        both = f"direction, {count(read, 'direction')}; size, {count(read, 'size')}"
        words.append(f"Reading {reading.name}: {both}.")
    for family in PAPER_FAMILIES:
        quoted, own = SAVINGS[family], INSENSITIVE[family]
        words.append(
            f"{own} saves {span(results.mean_savings(family), '.2%')} of the cost of IEO "
            f"(published {quoted.lowest:.2%} to {quoted.highest:.2%})."
        )
        shares = [known(results.shares_closed(name)) for name in (own, f"{family} latent")]
        if all(shares):
            words.append(
                f"{own} closes {span(shares[0], '.0%')} of the gap between the costs of IEO and of "
                f"the true optimum, and {family} latent closes {span(shares[1], '.0%')}."
            )
    return words


def computed(results: Results, facts: Mapping[str, str]) -> Table:
    """List settings of the run, and what the caller knows about it."""
    settings = results.settings
    searched = f"{settings.trials} trials × {settings.folds} random 75/25 splits"
    rows: dict[str, str] = {
        "store": settings.distribution.name,
        "data sets": f"{settings.datasets}, seeds 0 to {settings.datasets - 1}",
        "levels α": ", ".join(f"{level:g}" for level in settings.levels),
        "readings": "; ".join(f"{each.name}: {each.meaning}" for each in results.readings),
        "searches": "none" if settings.published_settings else searched,
        "fits": str(len(results.found.rows)),
        **facts,
    }
    return Table("computed", {"what": "", "value": ""}, list(rows.items()))
