"""``unmet compare``: the plan and its competitors on rows that none of them has seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmet.planning import Plan


EXAMPLES = (
    "unmet compare sales.csv --observed sales --features weekday,month,category --date date "
    "--underage 3 --overage 1",
    "unmet compare history.csv --observed sales --features weekday --date date --truth demand "
    "--underage 3 --overage 1 --folds 6 --horizon 7",
)


def compare(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    *,
    plan: Plan,
    truth: Annotated[
        str | None, typer.Option(help="Column of the truth, if there is one, to price on.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Blocks of rows held out.")] = 4,
    horizon: Annotated[
        int | None, typer.Option(help="Days in each block; by default shared out evenly.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Compare with least squares, the plain cost and the published ε on rows held out.

    With a date every method learns only from the days before those that are held out.
    """
    from unmet.cli.tables import (
        check_report,
        command_line,
        print_json,
        remark,
        show_comparison,
        show_files,
        write_report,
    )
    from unmet.errors import InvalidInput
    from unmet.planning import compare as hold_out
    from unmet.planning import read_table, report_content
    from unmet.progress import report_progress

    check_report(report, [table])
    for option, number in (("--folds", folds), ("--horizon", horizon)):
        if number is not None and number < 1:
            raise InvalidInput(f"{option} must be at least 1, got {number}.")
    rows = read_table(table, text=plan.text_columns)
    with report_progress() as step:
        found = hold_out(plan, rows, truth=truth, n_splits=folds, horizon=horizon, progress=step)
    files = []
    if report is not None:
        content = report_content(
            plan.fit(rows),
            comparison=found,
            command=command_line(),
            title=f"Comparison on {table.name}",
        )
        files = write_report(content, report)
    if as_json:
        print_json({**found.to_dict(), "files": [str(file) for file in files]})
    else:
        show_comparison(found)
    remark(found.notes)
    show_files(files)


# --- ``unmet evaluate``: what a model's decisions cost once the truth is known.

EVALUATE_EXAMPLES = ("unmet evaluate model.unmet truth.csv --truth demand",)


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model that unmet fit has saved.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with features and truth.")],
    truth: Annotated[str, typer.Option(help="Column of the truth, such as demand.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Price a model's decisions on the truth, beside those of one that ignores censoring."""
    from unmet.cli.tables import load_plan, print_json, remark, show_comparison
    from unmet.planning import evaluate as price
    from unmet.planning import read_table

    plan = load_plan(model)
    found = price(plan, read_table(table, text=plan.text_columns), truth)
    remark(found.notes)
    if as_json:
        print_json(found.to_dict())
    else:
        show_comparison(found)
