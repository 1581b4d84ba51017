"""``unmet reproduce``: the whole paper, with our numbers beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmet.paper import Settings

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.


EXAMPLES = (
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
    from unmet.cli.reproduce_progress import Call, add_call, facts, report_standing
    from unmet.cli.reproduce_summary import as_plain, show
    from unmet.paper import reproduce as run
    from unmet.paper import write_everything
    from unmet.paper.needs import check_packages

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
        show(results, folder, files)


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
