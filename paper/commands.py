"""``python -m paper``: what exists for the paper alone.

``reproduce`` runs all of it, ``demo`` prices its methods in a minute, ``bounds`` computes its
theorems, ``favorita`` makes the tables of its stores from Favorita's own files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmet.cli.main import add_command, run_app
from unmet.cli.output import print_json, remark

if TYPE_CHECKING:
    from paper.favorita.evidence import StoreEvidence

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

_Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")
]

EXAMPLES = {
    "reproduce": (
        "python -m paper reproduce --quick",
        "python -m paper reproduce --jobs 4 --out results",
        "python -m paper reproduce --jobs 4 --out results --resume",
        "python -m paper reproduce --favorita train.csv --store 44 --out store-44",
    ),
    "demo": ("python -m paper demo", "python -m paper demo --seeds 1 --json"),
    "bounds": (
        "python -m paper bounds --no-figure",
        "python -m paper bounds --alpha .9 --rows 1000 --features 10 --strength .1",
    ),
    "favorita": (
        "python -m paper favorita train.csv --items items.csv",
        "python -m paper favorita train.csv --store 10 --json",
    ),
}


def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Two data sets, three levels, the published ε and hyperparameters, no search: two "
            "minutes, to look.",
        ),
    ] = False,
    datasets: Annotated[
        int | None, typer.Option(help="Simulated data sets; 10 unless --quick.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials of each search; 50, and none with --quick.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(help="Random splits per trial; 5, and none with --quick.")
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
        typer.Option(
            "--no-clip",
            help="Let demand, the store's orders and decisions be negative, as the text does.",
        ),
    ] = False,
    favorita: Annotated[
        Path | None,
        typer.Option(
            metavar="TRAIN_CSV",
            help="Favorita's train.csv: its statistics, coefficients and σ instead of the printed.",
        ),
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="items.csv; needed for a train.csv at item level.")
    ] = None,
    store: Annotated[
        int | None,
        typer.Option(help="Store to simulate, of --favorita; by default the paper's rule chooses."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; results do not depend on it.")] = 2,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output",
            "-o",
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
    index.html in the output folder tells the story, claim by claim. With --favorita the store that
    is simulated is fitted to Favorita's own file first; without, it is the one that is printed.
    """
    from paper import PaperSettings, terminal, write_everything
    from paper import reproduce as run
    from paper.protocol import check_packages
    from unmet.checks import WholeNumber
    from unmet.errors import InvalidInput

    folder = output or Path("out", "reproduce-quick" if quick else "reproduce")
    asked: dict[str, Any] = {
        "datasets": datasets,
        "trials": trials,
        "folds": folds,
        "levels": tuple(sorted(set(level or ()))) or None,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    if published_settings or quick:
        for name in ("trials", "folds"):
            if name in given:
                raise InvalidInput(
                    f"{name} must be left out where nothing is searched, got {given[name]}."
                )
    if favorita is None and (store is not None or items is not None):
        name, value = ("store", store) if store is not None else ("items", items)
        raise InvalidInput(f"{name} must come with --favorita, got {value} alone.")
    settings = replace(
        PaperSettings.quick() if quick else PaperSettings(),
        published_settings=published_settings or quick,
        clip=not as_printed,
        **given,
    )
    WholeNumber(1)("jobs", jobs)
    check_packages()
    evidence = None if favorita is None else _evidence(favorita, items, 2016, store)
    if evidence is not None:
        settings = replace(settings, law=evidence.tables.law())
    begun = perf_counter()
    try:
        with terminal.report_standing() as progress:
            results = run(folder, settings, jobs=jobs, resume=resume, progress=progress)
    except KeyboardInterrupt:
        sentence = f"unmet: stopped; finished fits are kept in {folder}, and --resume goes on."
        typer.echo(sentence, err=True)
        raise typer.Exit(130) from None
    calls = terminal.add_call(folder, terminal.Call.since(begun, jobs))
    told = terminal.facts(results, calls)
    files = write_everything(results, folder, facts=told, evidence=evidence)
    if as_json:
        print_json(terminal.as_plain(results), files)
    else:
        terminal.show_reproduction(results, folder, files)


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for demo.csv and the pictures; made when missing.")
    ] = Path("out"),
    seed: Annotated[int, typer.Option(help="First seed of the simulated data.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to average over.")] = 3,
    as_json: _Json = False,
) -> None:
    """Simulate the paper's store, fit its methods and ours, and price them on the true demand."""
    from paper import demo as room
    from paper.pictures import write_picture
    from unmet.checks import WholeNumber
    from unmet.files import prepare_folder, write_csv
    from unmet.progress import report_progress

    WholeNumber(1)("seeds", seeds)
    prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
    chosen = range(seed, seed + seeds)
    with report_progress() as step:
        outcomes = room.compare(chosen, step)
    diagnosis, sentences = room.diagnose(seed), room.meaning(outcomes)
    files = [write_csv(output / "demo.csv", [outcome.as_row() for outcome in outcomes])]
    files += write_picture("the figure", output / "demo", room.compose, outcomes)
    if files[1:]:
        files += write_picture("the figure", output / "diagnosis", diagnosis.plot)
    if as_json:
        plain = {
            "seeds": list(chosen),
            "results": [outcome.as_row() for outcome in outcomes],
            "meaning": sentences,
            "diagnosis": diagnosis.to_dict(),
        }
        print_json(plain, files)
    else:
        room.show(outcomes, seeds, sentences, files, str(diagnosis))


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
    as_json: _Json = False,
) -> None:
    """Compute the generalisation bounds, and compare them with gaps that are measured."""
    from paper.pictures import write_picture
    from paper.theory import experiment
    from unmet.checks import Number, WholeNumber
    from unmet.files import prepare_folder, write_csv
    from unmet.progress import report_progress

    # in the words of the command line, where the library would call it otherwise
    least = {"rows": rows, "features": features, "epochs": epochs, "repetitions": repetitions}
    for name, number in least.items():
        WholeNumber(1)(name, number)
    Number(above=0)("longest", longest)
    Number(above=0)("largest_truth", largest_truth)
    WholeNumber()("seed", seed)
    setting = experiment.BoundSetting(
        alpha=alpha,
        low=low,
        high=0.05 * largest_truth if high is None else high,
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
    table = experiment.describe(setting)
    measured: list[Any] = []
    files: list[Path] = []
    if figure:
        prepare_folder(output)  # before the work, so that a bad folder costs nobody any time
        with report_progress() as step:
            measured = experiment.measure(setting, seed, repetitions, step)
        files.append(write_csv(output / "bounds.csv", [each.as_row() for each in measured]))
        picture = output / "bounds"
        files += write_picture("the figure", picture, experiment.compose, measured, setting)
    if as_json:
        plain = {
            "setting": {**vars(setting), "seed": seed},
            "bounds": table,
            "measured": [each.as_row() for each in measured],
        }
        print_json(plain, files)
    else:
        experiment.show(setting, table, experiment.meaning(measured, rows), files)


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
    as_json: _Json = False,
) -> None:
    """Group Favorita's sales, fit every store, choose one, and compare with the paper's tables."""
    from paper.favorita import outputs

    outputs.check_folder(output)  # before the work, so that a bad folder costs nobody any time
    evidence = _evidence(train, items, year, store)
    sales, tables = evidence.sales, evidence.tables
    sentences = outputs.findings(sales, tables)
    files = outputs.write(sales, tables, sentences, output)
    if as_json:
        print_json(outputs.as_plain(sales, tables, sentences), files)
    else:
        outputs.show(tables, sentences, files)


def _evidence(train: Path, items: Path | None, year: int, store: int | None) -> StoreEvidence:
    """Read Favorita's file, fit its stores, and say on standard error what may be wrong with it."""
    from paper.favorita import favorita_tables, load_favorita, outputs
    from paper.favorita.evidence import StoreEvidence
    from unmet.progress import report_progress

    with report_progress() as step:

        def progress(done: int, total: int) -> None:
            step(done // 2**20, total // 2**20, f"reading {train.name}, MB")

        sales = load_favorita(train, items=items, year=year, progress=progress)
    evidence = StoreEvidence(sales, favorita_tables(sales, store=store))
    remark(outputs.remarks(sales))
    return evidence


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
