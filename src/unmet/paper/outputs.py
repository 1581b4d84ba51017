"""From `Results` to files: tables, figures, and the page that tells the story."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from unmet.errors import InvalidInput
from unmet.files import prepare_folder
from unmet.paper.every_claim import all_claims, claims_table
from unmet.paper.every_figure import all_figures
from unmet.paper.every_table import all_tables
from unmet.paper.page import TITLE, as_html, as_markdown, story
from unmet.paper.results import Results
from unmet.paper.settings import METHODS
from unmet.paper.tables import write_text


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
    groups = all_figures(results)  # first: without matplotlib nothing is written
    claims = all_claims(results)
    tables = all_tables(results)
    for part in (folder, folder / "tables", folder / "figures"):
        prepare_folder(part)
    written: list[Path] = []
    for table in (*tables.values(), claims_table(claims)):
        written += table.write(folder / "tables")
    pictures: dict[str, bytes] = {}
    for group in groups.values():
        for panel in group.panels:
            files = panel.write(folder / "figures")
            pictures[panel.slug] = files[0].read_bytes()
            written += files
    blocks = story(results, claims, tables, groups, facts)
    report = write_text(folder / "REPORT.md", as_markdown(blocks))
    page = write_text(folder / "index.html", as_html(TITLE, blocks, pictures))
    return [page, report, *written]


def _check_complete(results: Results) -> None:
    """Refuse results with a hole: a table without it would look like one with it."""
    present = {(row.method, row.level, row.dataset) for row in results.fits}
    for method in METHODS:
        for level in results.settings.levels:
            for dataset in range(1, results.settings.datasets + 1):
                if (method.name, level, dataset) not in present:
                    raise InvalidInput(
                        "results must have every method at every level and data set, "
                        f"got none of {method.name} at {level:g} on data set {dataset}."
                    )
