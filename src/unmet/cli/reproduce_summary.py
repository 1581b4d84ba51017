"""What the reproduction prints at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unmet.paper import Results, all_claims

_COLOURS = {
    "reproduced": "green",
    "reproduced in direction": "yellow",
    "not reproduced": "red",
}


def show(results: Results, folder: Path, files: Sequence[Path]) -> None:
    """Print the verdicts, and where to read on."""
    title = "Claims of the paper, and ours"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for column in ("no.", "claim", "verdict"):
        table.add_column(column)
    for claim in all_claims(results):
        colour = _COLOURS.get(claim.verdict, "")
        table.add_row(claim.name, claim.statement, Text(claim.word, style=colour))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{len(files)} files in {folder}", soft_wrap=True, markup=False)
    console.print(f"Read {folder / 'index.html'}", soft_wrap=True, markup=False)


def as_plain(results: Results, files: Sequence[Path]) -> dict[str, Any]:
    """Verdicts and files, for JSON."""
    return {
        "settings": results.settings.as_dict(),
        "claims": [
            {
                "claim": claim.statement,
                "number": claim.name,
                "verdict": claim.word,
                "found": claim.found,
                "explanation": claim.explanation,
            }
            for claim in all_claims(results)
        ],
        "files": [str(file) for file in files],
    }
