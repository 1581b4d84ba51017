"""``python -m paper``: the command line.

``reproduce`` runs the whole paper, ``demo`` evaluates its methods in a minute, ``bounds`` computes
its theorems, ``favorita`` makes the tables of its stores from Favorita's own files.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.main import add_command, run_app
from unmet.cli.output import print_json, show_notes

if TYPE_CHECKING:
    from paper.favorita import StoreEvidence
    from paper.protocol import Results
    from paper.tables import Table

# Heavy imports stand inside the functions, so that `--help` answers at once.

_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
_Items = Annotated[Path | None, typer.Option(help="items.csv, for a train.csv at item level.")]
_Store = Annotated[int | None, typer.Option(help="Store; by default the paper's rule chooses.")]
_Folder = Annotated[Path, typer.Option(help="Folder for what is written; made when missing.")]

EXAMPLES = {
    "reproduce": ("python -m paper reproduce --quick", "python -m paper reproduce --resume"),
    "demo": ("python -m paper demo", "python -m paper demo --seeds 1 --json"),
    "bounds": ("python -m paper bounds --alpha .9 --rows 1000 --features 10 --no-figure",),
    "favorita": ("python -m paper favorita train.csv --items items.csv",),
}


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="A look: two data sets, three levels, no search.")
    ] = False,
    datasets: Annotated[int | None, typer.Option(help="Data sets; 10 unless --quick.")] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of each search; 50.")] = None,
    folds: Annotated[int | None, typer.Option(help="Random splits of each trial; 5.")] = None,
    level: Annotated[list[float] | None, typer.Option(help="α, several times; all five.")] = None,
    published_settings: Annotated[
        bool, typer.Option("--published-settings", help="The paper's hyperparameters and ε.")
    ] = False,
    as_printed: Annotated[
        bool, typer.Option("--no-clip", help="Let demand, orders and decisions be negative.")
    ] = False,
    favorita: Annotated[
        Path | None, typer.Option(metavar="TRAIN_CSV", help="Fit the store to Favorita's file.")
    ] = None,
    items: _Items = None,
    store: _Store = None,
    jobs: Annotated[int, typer.Option(help="Processes; results do not depend on it.")] = 2,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; out/reproduce or -quick.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run.")] = False,
    as_json: _Json = False,
) -> None:
    """Run every experiment of the paper, and show its tables and figures beside the published.

    Rows are kept as they are computed: stop it at any moment, and --resume goes on. At the end
    index.html in the output folder tells the story, claim by claim. With --favorita the store that
    is simulated is fitted to Favorita's own file first; without, it is the one that is printed.
    """
    from rich.console import Console

    from paper import protocol
    from paper.claims import claims_table, count
    from paper.page import judge_everything, write_everything
    from unmet.errors import InvalidInput
    from unmet.progress import report_progress
    from unmet.validation import WholeNumber

    folder = output or Path("out", "reproduce-quick" if quick else "reproduce")
    levels = tuple(sorted(set(level or ()))) or None
    asked = {"datasets": datasets, "trials": trials, "folds": folds, "levels": levels}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    for name in ("trials", "folds"):
        if (published_settings or quick) and name in given:
            raise InvalidInput(
                f"{name} must be left out where nothing is searched, got {given[name]}."
            )
    for name, value in (("store", store), ("items", items)):
        if favorita is None and value is not None:
            raise InvalidInput(f"{name} must come with --favorita, got {value} alone.")
    settings = replace(
        protocol.PaperSettings.quick() if quick else protocol.PaperSettings(),
        published_settings=published_settings or quick,
        clip=not as_printed,
        **given,
    )
    WholeNumber(1)("jobs", jobs)
    protocol.check_packages()
    evidence = None if favorita is None else _evidence(favorita, items, store)
    if evidence is not None:
        settings = replace(settings, distribution=evidence.distribution())
    try:
        with report_progress(left=True) as progress:
            results = protocol.reproduce(
                folder, settings, jobs=jobs, resume=resume, progress=progress
            )
    except KeyboardInterrupt:
        sentence = f"unmet: stopped; finished fits are kept in {folder}, and --resume goes on."
        typer.echo(sentence, err=True)
        raise typer.Exit(130) from None
    claims = judge_everything(results, evidence)
    facts = _facts(results)
    files = write_everything(results, claims, folder, facts=facts, evidence=evidence)
    if as_json:
        told = {"settings": settings.as_dict(), "claims": claims_table(claims).records()}
        print_json(told, files)
        return
    console = Console(highlight=False)
    for claim in claims:
        console.print(f"{claim.name}: {claim.statement} {claim.word.upper()}", markup=False)
    for kind in ("direction", "size"):
        console.print(f"{kind.capitalize()}: {count(claims, kind)}.", markup=False)
    console.print(
        f"({protocol.USUAL.name}: {protocol.USUAL.meaning}; the page has the other readings.)",
        markup=False,
    )
    console.print(f"Read {folder / 'index.html'}", soft_wrap=True, markup=False)


def _facts(results: Results) -> dict[str, str]:
    """Say how the results were computed: CPU seconds of fits and searches, versions."""
    fits = {(row["seed"], row["method"], row["cpu_seconds"]) for row in results.found.rows}
    fitting = sum(seconds for *_, seconds in fits)  # one fit may serve several levels
    searching = sum(row.cpu_seconds for row in results.searches)
    packages = ("unmet", "numpy", "scipy", "scikit-learn", "lightgbm", "optuna")
    versions = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
    return {
        "CPU seconds": f"{searching:.0f} of searches, {fitting:.0f} of fits",
        "versions": ", ".join(versions),
    }


def demo(
    output: _Folder = Path("out"),
    seed: Annotated[int, typer.Option(help="First seed of the simulated data.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to average over.")] = 3,
    as_json: _Json = False,
) -> None:
    """Simulate the paper's store, fit its methods and ours, and evaluate them on true demand."""
    from paper import demo as demonstration
    from paper.plots import write_plot
    from unmet.files import prepare_folder, write_csv
    from unmet.progress import report_progress
    from unmet.validation import WholeNumber

    WholeNumber(1)("seeds", seeds)
    WholeNumber()("seed", seed)
    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    with report_progress() as step:
        outcomes = demonstration.compare(range(seed, seed + seeds), step)
    diagnosis, sentences = demonstration.diagnose(seed), demonstration.meaning(outcomes)
    files = [write_csv(output / "demo.csv", outcomes)]
    files += write_plot(output / "demo", demonstration.draw_outcomes, outcomes)
    if files[1:]:
        files += write_plot(output / "diagnosis", diagnosis.plot)
    if as_json:
        plain = {"seeds": list(range(seed, seed + seeds)), "results": outcomes}
        print_json({**plain, "meaning": sentences, "diagnosis": diagnosis.to_dict()}, files)
        return
    found = ("What LatentBand found in the sales of the first seed:", str(diagnosis))
    _show(demonstration.tables(outcomes), (*sentences, *found), files)


def bounds(
    alpha: Annotated[float, typer.Option(help="α = underage / (underage + overage).")] = 0.75,
    rows: Annotated[int, typer.Option(help="n, rows of the training set.")] = 3294,
    features: Annotated[int, typer.Option(help="p, columns; the intercept counts.")] = 26,
    largest_truth: Annotated[float, typer.Option(help="D̄, the largest demand there is.")] = 1.0,
    strength: Annotated[float, typer.Option(help="λ of the penalty λ‖θ‖².")] = 0.01,
    epochs: Annotated[int, typer.Option(help="K, passes of SGD over the rows.")] = 5,
    delta: Annotated[float, typer.Option(help="δ: how often a bound may fail.")] = 0.05,
    figure: Annotated[bool, typer.Option(help="Measure gaps on simulated sales.")] = True,
    output: _Folder = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the simulated sales.")] = 0,
    repetitions: Annotated[int, typer.Option(help="Training sets of each size.")] = 20,
    as_json: _Json = False,
) -> None:
    """Compute the generalisation bounds, and compare them with gaps that are measured."""
    from paper import gaps
    from paper.plots import write_plot
    from unmet.files import prepare_folder, write_csv
    from unmet.progress import report_progress
    from unmet.validation import Number, WholeNumber

    # in the words of the command line, where the library would call it otherwise
    least = {"rows": rows, "features": features, "epochs": epochs, "repetitions": repetitions}
    for name, number in least.items():
        WholeNumber(1)(name, number)
    Number(above=0)("largest_truth", largest_truth)
    WholeNumber()("seed", seed)
    setting = gaps.BoundSetting(
        alpha=alpha,
        high=0.05 * largest_truth,
        n_rows=rows,
        n_features=features,
        largest_truth=largest_truth,
        strength=strength,
        epochs=epochs,
        delta=delta,
    )
    table = gaps.bound_table(setting)
    measured: list[dict[str, Any]] = []
    files: list[Path] = []
    if figure:
        prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
        with report_progress() as step:
            measured = gaps.measure(setting, seed, repetitions, step)
        files.append(write_csv(output / "bounds.csv", measured))
        files += write_plot(output / "bounds", gaps.draw_gaps, measured, setting)
    if as_json:
        plain = {"setting": {**vars(setting), "seed": seed}, "measured": measured}
        print_json({**plain, "bounds": table.records()}, files)
        return
    _show([table], gaps.meaning(measured, rows) if measured else (), files)


def favorita(
    train: Annotated[
        Path, typer.Argument(metavar="TRAIN_CSV", help="Of either competition; also in gzip.")
    ],
    items: _Items = None,
    store: _Store = None,
    output: _Folder = Path("out/favorita"),
    as_json: _Json = False,
) -> None:
    """Group Favorita's sales, fit every store, choose one, and compare with the paper's tables."""
    from paper.favorita import findings, store_claims, store_tables
    from paper.plots import write_plot
    from unmet.files import prepare_folder, write_text, write_whole

    evidence = _evidence(train, items, store)
    prepare_folder(output)
    tables = store_tables(evidence)
    verdicts = [
        f"{c.name}: {c.statement} {c.word}. {c.evidence.found}" for c in store_claims(evidence)
    ]
    files = [write_whole(output / "grouped.parquet", evidence.sales.table.write_parquet)]
    files += [file for table in tables.values() for file in table.write(output)]
    files += write_plot(output / "ErrorQQplot10", evidence.figure().draw)
    told = "\n".join(f"- {sentence}" for sentence in (*findings(evidence), *verdicts))
    parts = (told, *(table.as_markdown() for table in tables.values()))
    files.append(write_text(output / "summary.md", "\n\n".join(parts)))
    if as_json:
        rows = {label: table.records() for label, table in tables.items()}
        words = {"store": evidence.store, "findings": findings(evidence), "verdicts": verdicts}
        print_json({**words, **rows}, files)
        return
    _show(tables.values(), verdicts, files)


def _evidence(train: Path, items: Path | None, store: int | None) -> StoreEvidence:
    """Read Favorita's file, fit its stores, and say on standard error what may be wrong with it."""
    from paper.favorita import fit_stores, load_favorita, remarks
    from unmet.cli.output import working

    with working(f"reading {train.name}"):
        sales = load_favorita(train, items=items)
        evidence = fit_stores(sales, store=store)
    show_notes(remarks(sales))
    return evidence


def _show(tables: Iterable[Table], sentences: Iterable[str], files: Sequence[Path]) -> None:
    """Print tables, sentences, and where the files are."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console(highlight=False)
    for table in tables:
        grid = Grid(title=table.title, box=box.SIMPLE_HEAD, title_justify="left")
        left = table.left
        for place, head in enumerate(table.columns):
            grid.add_column(head, justify="left" if place < left else "right")
        for row in table.shown():
            grid.add_row(*row)
        console.print(grid)
        for note in table.notes:
            console.print(note, style="dim", markup=False)
    for sentence in sentences:
        console.print(sentence, soft_wrap=True, markup=False)
    if files:
        console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)


# --- The command line.

app = typer.Typer(
    name="python -m paper",
    help="The paper: its experiments, tables and theorems.",
    pretty_exceptions_enable=False,
)
for _command in (reproduce, demo, bounds, favorita):
    add_command(_command, EXAMPLES[_command.__name__], app)


@app.callback(invoke_without_command=True)
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """Exit code of one command line; see `unmet.cli.main.run_app`."""
    return run_app(app, list(sys.argv[1:] if arguments is None else arguments))
