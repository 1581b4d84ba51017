"""``unmet bounds``: what the theorems guarantee, and how far that is from what happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.cli.bounds_run import Measured, Setting

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


EXAMPLES = (
    "unmet bounds --no-figure",
    "unmet bounds --alpha .9 --rows 1000 --features 10 --strength .1",
)


def bounds(
    alpha: Annotated[float, typer.Option(help="α = underage / (underage + overage).")] = 0.75,
    rows: Annotated[int, typer.Option(help="n, rows of the training set.")] = 3294,
    features: Annotated[int, typer.Option(help="p, columns; the intercept counts.")] = 26,
    longest: Annotated[
        float, typer.Option(help="Greatest length of a feature vector, X_max √p.")
    ] = 2.0,
    largest_truth: Annotated[float, typer.Option(help="D̄, the largest demand there is.")] = 1.0,
    low: Annotated[float, typer.Option(help="ε₂, lower end of the band.")] = 0.0,
    high: Annotated[
        float | None, typer.Option(help="ε₁, upper end of the band; by default D̄ / 20.")
    ] = None,
    strength: Annotated[float, typer.Option(help="λ of the penalty λ‖θ‖².")] = 0.01,
    epochs: Annotated[int, typer.Option(help="K, passes of SGD over the rows.")] = 5,
    learning_rate: Annotated[
        float | None, typer.Option(help="η of SGD; by default as the paper recommends.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ: how often a bound may fail.")] = 0.05,
    constant: Annotated[
        float, typer.Option(help="c of the bound for networks; nobody knows it.")
    ] = 1.0,
    figure: Annotated[
        bool,
        typer.Option("--figure/--no-figure", help="Measure gaps on simulated sales and draw them."),
    ] = True,
    output: Annotated[
        Path, typer.Option(help="Folder for bounds.csv, .svg and .png; made when missing.")
    ] = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the simulated sales.")] = 0,
    repetitions: Annotated[int, typer.Option(help="Training sets of each size.")] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")
    ] = False,
) -> None:
    """Compute the generalisation bounds, and compare them with gaps that are measured."""
    from unmet.cli.bounds_run import Setting, describe, meaning

    top = 0.05 * largest_truth if high is None else high
    setting = Setting(
        alpha=alpha,
        low=low,
        high=top,
        n_rows=rows,
        n_features=features,
        longest=longest,
        largest_truth=largest_truth,
        strength=strength,
        epochs=epochs,
        learning_rate=learning_rate,
        delta=delta,
        constant=constant,
    )
    _check(setting, seed, repetitions)
    table = describe(setting)
    measured: list[Measured] = []
    files: list[Path] = []
    if figure:
        measured, files = _measure(setting, seed, repetitions, output)
    if as_json:
        typer.echo(_json(setting, seed, table, measured, files))
        return
    from unmet.cli.bounds_table import show

    show(setting, table, meaning(measured, rows), files)


def _check(setting: Setting, seed: int, repetitions: int) -> None:
    """Refuse in the words of the command line what the library would call otherwise."""
    for name in ("n_rows", "n_features", "epochs"):
        value = getattr(setting, name)
        if value < 1:
            word = {"n_rows": "rows", "n_features": "features"}.get(name, name)
            raise InvalidInput(f"{word} must be at least 1, got {value}.")
    for name in ("longest", "largest_truth"):
        value = getattr(setting, name)
        if not 0 < value < float("inf"):
            raise InvalidInput(f"{name} must be a positive number, got {value}.")
    if seed < 0:
        raise InvalidInput(f"seed must be a non-negative integer, got {seed}.")
    if repetitions < 1:
        raise InvalidInput(f"repetitions must be at least 1, got {repetitions}.")


def _measure(
    setting: Setting, seed: int, repetitions: int, output: Path
) -> tuple[list[Measured], list[Path]]:
    """Measure, and write the table and the figure."""
    from unmet.cli import bounds_run
    from unmet.cli.output import report_missing, report_progress
    from unmet.files import prepare_folder, write_csv

    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    with report_progress() as step:
        measured = bounds_run.measure(setting, seed, repetitions, step)
    files = [write_csv(output / "bounds.csv", [each.as_row() for each in measured])]
    try:
        from unmet.cli.bounds_figure import draw
    except ModuleNotFoundError as error:
        report_missing(error, "the figure")
    else:
        files += draw(measured, setting, output)
    return measured, files


def _json(
    setting: Setting,
    seed: int,
    table: list[Any],
    measured: list[Measured],
    files: list[Path],
) -> str:
    content: dict[str, Any] = {
        "setting": {**vars(setting), "seed": seed},
        "bounds": table,
        "measured": [each.as_row() for each in measured],
        "files": [str(file) for file in files],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
