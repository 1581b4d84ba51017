"""``unmet demo``: the main job on bundled data, by the commands that users run themselves."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from unmet.errors import InvalidInput

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet demo",
    "unmet demo --paper --seeds 1 --json",
)


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for tables, model, orders and report; made when missing.")
    ] = Path("out"),
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Simulate the paper's store instead, and price its methods on demand."
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="With --paper: first seed of the simulated data.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="With --paper: how many seeds to average over.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on standard output instead of text.")
    ] = False,
) -> None:
    """From sales to orders on bundled data: diagnose, fit, decide, evaluate, report."""
    if paper:
        from unmet.cli.paper import compare_methods

        compare_methods(output, seed or 0, 3 if seeds is None else seeds, as_json)
        return
    for name, value in (("seed", seed), ("seeds", seeds)):
        if value is not None:
            raise InvalidInput(f"--{name} is only used with --paper, got {value}.")
    from unmet.files import prepare_folder

    prepare_folder(output)
    files = _write_tables(output)
    steps = _steps(output)
    if as_json:
        _run_for_json(steps, files, output)
        return
    typer.echo(
        "A restaurant orders 1.15 times the mean sales of the last four same weekdays, and sells "
        "out on four\ndays of ten. Demand is real (YAZ data), and only the last step looks at it.\n"
    )
    for title, words in steps:
        typer.echo(f"{title}\n$ {shlex.join(['unmet', *words])}")
        _run(words)
        typer.echo("")
    typer.echo(f"Now open {output / 'report.html'} in a browser.")


def _write_tables(folder: Path) -> list[Path]:
    """Write the three tables of the example."""
    from unmet.cli.tables import write_table
    from unmet.planning import example

    tables = example()
    return [
        write_table(tables.sales, folder / "sales.csv"),
        write_table(tables.coming, folder / "next_quarter.csv"),
        write_table(tables.truth, folder / "truth.csv"),
    ]


def _steps(folder: Path) -> list[tuple[str, list[str]]]:
    """Title and words of each command."""
    from unmet.planning import EXAMPLE

    columns = [
        *("--observed", EXAMPLE["observed"]),
        *("--features", ",".join(EXAMPLE["features"])),
        *("--date", EXAMPLE["date"], "--series", ",".join(EXAMPLE["series"])),
        *("--underage", f"{EXAMPLE['underage']:g}", "--overage", f"{EXAMPLE['overage']:g}"),
    ]
    sales, model = str(folder / "sales.csv"), str(folder / "model.unmet")
    orders, report = str(folder / "orders.csv"), str(folder / "report.html")
    coming, truth = str(folder / "next_quarter.csv"), str(folder / "truth.csv")
    return [
        ("1. Do sales hide demand?", ["diagnose", sales, *columns]),
        (
            "2. Learn, and compare with other methods on days held out",
            ["fit", sales, *columns, "--compare", "-o", model],
        ),
        (
            "3. Order for the next quarter",
            ["decide", model, coming, "-o", orders, "--report", report],
        ),
        ("4. What would it have cost?", ["evaluate", model, truth, "--truth", "demand"]),
    ]


def _run(words: list[str]) -> Any:
    """Run one command as if it had been typed."""
    from unmet.cli.main import app
    from unmet.cli.tables import remember

    remember(words)
    return app(args=words, prog_name="unmet", standalone_mode=False)


def _run_for_json(steps: list[tuple[str, list[str]]], files: list[Path], folder: Path) -> None:
    """Run all commands and print one object with what each of them printed."""
    import json
    from contextlib import redirect_stdout
    from io import StringIO

    from unmet.cli.tables import print_json

    found: dict[str, Any] = {}
    for _, words in steps:
        with redirect_stdout(StringIO()) as printed:
            _run([*words, "--json"])
        found[words[0]] = json.loads(printed.getvalue())
    made = [*files, *(folder / name for name in ("model.unmet", "orders.csv", "report.html"))]
    commands = [shlex.join(["unmet", *words]) for _, words in steps]
    print_json({"commands": commands, **found, "files": [str(file) for file in made]})
