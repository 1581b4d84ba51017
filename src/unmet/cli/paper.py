"""``unmet reproduce``: the whole paper, with our numbers beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.bands import Diagnosis
    from unmet.paper import Settings
    from unmet.paper.demo import Outcome
    from unmet.paper.favorita import FavoritaSales, FavoritaTables
    from unmet.paper.theory.experiment import Measured, Setting


# --- ``unmet demo --paper``: the paper's data and methods, priced on the demand that sales hide.

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


def compare_methods(output: Path, seed: int, seeds: int, as_json: bool) -> None:
    """Simulate the paper's store, fit its methods, and price them on the true demand."""
    from unmet.files import prepare_folder, write_csv
    from unmet.paper.demo import compare, diagnose, meaning
    from unmet.progress import report_missing, report_progress

    if seeds < 1:
        raise InvalidInput(f"seeds must be at least 1, got {seeds}.")
    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    chosen = range(seed, seed + seeds)
    with report_progress() as step:
        outcomes = compare(chosen, step)
    diagnosis = diagnose(seed)
    files = [write_csv(output / "demo.csv", [outcome.as_row() for outcome in outcomes])]
    try:
        from unmet.paper.demo_figure import draw, draw_diagnosis
    except ModuleNotFoundError as error:
        report_missing(error, "the figure")
    else:
        files += draw(outcomes, output) + draw_diagnosis(diagnosis, output)
    if as_json:
        typer.echo(_demo_json(outcomes, list(chosen), meaning(outcomes), files, diagnosis))
        return
    from unmet.paper.demo import show

    show(outcomes, len(chosen), meaning(outcomes), files, str(diagnosis))


def _demo_json(
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


# --- ``unmet bounds``: what the theorems guarantee, and how far that is from what happens.

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


BOUNDS_EXAMPLES = (
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
    from unmet.paper.theory.experiment import Setting, describe, meaning

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
        typer.echo(_bounds_json(setting, seed, table, measured, files))
        return
    from unmet.paper.theory.experiment import show

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
    from unmet.files import prepare_folder, write_csv
    from unmet.paper.theory.experiment import measure
    from unmet.progress import report_missing, report_progress

    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    with report_progress() as step:
        measured = measure(setting, seed, repetitions, step)
    files = [write_csv(output / "bounds.csv", [each.as_row() for each in measured])]
    try:
        from unmet.paper.theory.figure import draw
    except ModuleNotFoundError as error:
        report_missing(error, "the figure")
    else:
        files += draw(measured, setting, output)
    return measured, files


def _bounds_json(
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


# --- ``unmet favorita``: the paper's tables of the stores, from Favorita's own files.

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_MEGABYTE = 2**20


FAVORITA_EXAMPLES = (
    "unmet favorita train.csv --items items.csv",
    "unmet favorita train.csv --store 10 --json",
)


def favorita(
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN_CSV",
            help="train.csv at item level or at family level; also in gzip or zip, or as Parquet.",
        ),
    ],
    items: Annotated[
        Path | None, typer.Option(help="items.csv; needed for a train.csv at item level.")
    ] = None,
    year: Annotated[int, typer.Option(help="Which year to look at.")] = 2016,
    store: Annotated[
        int | None, typer.Option(help="Store to describe; by default the paper's rule chooses.")
    ] = None,
    output: Annotated[
        Path, typer.Option(help="Folder for the tables and the QQ plot; made when missing.")
    ] = Path("out/favorita"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")
    ] = False,
) -> None:
    """Group Favorita's sales, fit every store, choose one, and compare with the paper's tables."""
    from unmet.paper.favorita import favorita_tables, load_favorita
    from unmet.paper.favorita.outputs import check_folder, findings, write
    from unmet.progress import report_progress

    check_folder(output)  # before the work, so that a bad folder costs nobody any time
    with report_progress() as step:

        def progress(done: int, total: int) -> None:
            step(done // _MEGABYTE, total // _MEGABYTE, f"reading {train.name}, MB")

        sales = load_favorita(train, items=items, year=year, progress=progress)
    tables = favorita_tables(sales, store=store)
    sentences = findings(sales, tables)
    files = write(sales, tables, sentences, output)
    if as_json:
        typer.echo(_favorita_json(sales, tables, sentences, files))
        return
    from unmet.paper.terminal import show_favorita

    show_favorita(tables, sentences, files)


def _favorita_json(
    sales: FavoritaSales, tables: FavoritaTables, sentences: list[str], files: list[Path]
) -> str:
    from unmet.paper.favorita.outputs import coefficient_rows, descriptive_rows, store_rows

    content: dict[str, Any] = {
        "year": sales.year,
        "layout": sales.layout,
        "store": tables.store,
        "smallest_rmse": tables.smallest_rmse,
        "smallest_rmse_over_median": tables.smallest_ratio,
        "rows_read": sales.rows_read,
        "rows_of_year": sales.rows_of_year,
        "groups": sales.table.height,
        "dropped_zero": sales.dropped_zero,
        "dropped_negative": sales.dropped_negative,
        "stores_without_sales": list(sales.stores_without_sales),
        "left_out": {str(store): reason for store, reason in tables.left_out.items()},
        "descriptive": descriptive_rows(tables),
        "coefficients": coefficient_rows(tables),
        "stores": store_rows(tables),
        "findings": sentences,
        "files": [str(file) for file in files],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


# --- ``unmet reproduce``: the whole paper, with our numbers beside the published ones.

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


REPRODUCE_EXAMPLES = (
    "unmet reproduce --quick",
    "unmet reproduce --jobs 2 --out results --resume",
)


def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Two data sets, three levels, a few trials: two minutes, to look."
        ),
    ] = False,
    datasets: Annotated[
        int | None, typer.Option(help="Simulated data sets; 10 unless --quick.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials of each search; 50 unless --quick.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(help="Random splits per trial; 5 unless --quick.")
    ] = None,
    level: Annotated[
        list[float] | None,
        typer.Option(help="α to fit at, may be given several times; all five unless --quick."),
    ] = None,
    published_settings: Annotated[
        bool,
        typer.Option(
            "--published-settings", help="Take the paper's hyperparameters and ε; no search."
        ),
    ] = False,
    as_printed: Annotated[
        bool,
        typer.Option("--no-clip", help="Let demand be negative, as the text as printed does."),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes; results do not depend on it.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            help="Folder for results; out/reproduce, or out/reproduce-quick with --quick.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print verdicts and files as JSON on standard output.")
    ] = False,
) -> None:
    """Run every experiment of the paper, and show its tables and figures beside the published.

    Rows are kept as they are computed: stop it at any moment, and --resume goes on. At the end
    index.html in the output folder tells the story, claim by claim.

    Examples
    --------
    unmet reproduce --quick;
    unmet reproduce --jobs 4 --out paper;
    unmet reproduce --jobs 4 --out paper --resume
    """
    settings = _settings(
        quick, datasets, trials, folds, sorted(set(level or ())), published_settings, as_printed
    )
    folder = output or Path("out", "reproduce-quick" if quick else "reproduce")
    from unmet.paper import reproduce as run
    from unmet.paper import write_everything
    from unmet.paper.settings import check_packages
    from unmet.paper.terminal import (
        Call,
        add_call,
        as_plain,
        facts,
        report_standing,
        show_reproduction,
    )

    check_packages()
    begun = perf_counter()
    try:
        with report_standing() as progress:
            results = run(folder, settings, jobs=jobs, resume=resume, progress=progress)
    except KeyboardInterrupt:
        sentence = f"unmet: stopped; finished fits are kept in {folder}, and --resume goes on."
        typer.echo(sentence, err=True)
        raise typer.Exit(130) from None
    calls = add_call(folder, Call.since(begun, jobs))
    files = write_everything(results, folder, facts=facts(results, calls))
    if as_json:
        typer.echo(json.dumps(as_plain(results, files), indent=2, ensure_ascii=False))
    else:
        show_reproduction(results, folder, files)


def _settings(
    quick: bool,
    datasets: int | None,
    trials: int | None,
    folds: int | None,
    levels: Sequence[float],
    published_settings: bool,
    as_printed: bool,
) -> Settings:
    from unmet.paper import Settings

    settings = Settings.quick() if quick else Settings()
    return replace(
        settings,
        datasets=settings.datasets if datasets is None else datasets,
        trials=settings.trials if trials is None else trials,
        folds=settings.folds if folds is None else folds,
        levels=tuple(levels) or settings.levels,
        published_settings=published_settings,
        clip=not as_printed,
    )
