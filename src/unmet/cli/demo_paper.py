"""``unmet demo --paper``: the paper's data and methods, priced on the demand that sales hide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.bands import Diagnosis
    from unmet.cli.demo_run import Outcome

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


def compare_methods(output: Path, seed: int, seeds: int, as_json: bool) -> None:
    """Simulate the paper's store, fit its methods, and price them on the true demand."""
    from unmet.cli.demo_run import compare, diagnose, meaning
    from unmet.cli.output import report_missing, report_progress
    from unmet.files import prepare_folder, write_csv

    if seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}.")
    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    chosen = range(seed, seed + seeds)
    with report_progress() as step:
        outcomes = compare(chosen, step)
    diagnosis = diagnose(seed)
    files = [write_csv(output / "demo.csv", [outcome.as_row() for outcome in outcomes])]
    try:
        from unmet.cli.demo_figure import draw, draw_diagnosis
    except ModuleNotFoundError as error:
        report_missing(error, "the figure")
    else:
        files += draw(outcomes, output) + draw_diagnosis(diagnosis, output)
    if as_json:
        typer.echo(_json(outcomes, list(chosen), meaning(outcomes), files, diagnosis))
        return
    from unmet.cli.demo_table import show

    show(outcomes, len(chosen), meaning(outcomes), files, str(diagnosis))


def _json(
    outcomes: list[Outcome],
    seeds: list[int],
    sentences: list[str],
    files: list[Path],
    diagnosis: Diagnosis,
) -> str:
    content: dict[str, Any] = {
        "seeds": seeds,
        "results": [outcome.as_row() for outcome in outcomes],
        "meaning": sentences,
        "diagnosis": diagnosis.to_dict(),
        "files": [str(file) for file in files],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
