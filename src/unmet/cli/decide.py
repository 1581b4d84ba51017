"""``unmet decide``: decisions for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

EXAMPLES = (
    "unmet decide model.unmet next_week.csv -o orders.csv",
    "unmet decide model.unmet next_week.csv -o orders.csv --step 6 --minimum 12 --upper 240 "
    "--report report.html",
)


def decide(
    model: Annotated[Path, typer.Argument(help="Model that unmet fit has saved.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the features.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV or Parquet file to write; by default CSV is printed."
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Size of a lot; 'none' keeps fractions. By default 1 for orders, else none."
        ),
    ] = None,
    lower: Annotated[float, typer.Option(help="Least decision.")] = 0.0,
    upper: Annotated[float | None, typer.Option(help="Greatest decision.")] = None,
    minimum: Annotated[
        float | None, typer.Option(help="Least order, if anything is ordered at all.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the new column.")] = "decision",
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Add a column of decisions to a table."""
    from unmet.cli.tables import (
        OUTPUTS,
        check_output,
        check_report,
        command_line,
        load_plan,
        print_json,
        remark,
        say,
        show_files,
        working,
        write_report,
        write_table,
    )
    from unmet.errors import InvalidInput
    from unmet.planning import answer, decision_table, read_table, report_content

    check_output(output, "--output", OUTPUTS, taken=[table, model])
    check_report(report, [table, model, output])
    plan = load_plan(model)
    rows = read_table(table, text=plan.text_columns)
    if name in rows.columns:
        raise InvalidInput(f"--name must be a new column, got {name!r}, which {table} has already.")
    if not name:
        raise InvalidInput("--name must not be empty.")
    lot = _step(step, plan.problem)
    with working("deciding …"):
        found = plan.decide(rows, lot, lower, upper, minimum)
    decided = rows.with_columns(_column(name, found.decision))
    shown = decision_table(rows, plan, found)
    content = report_content(
        plan, decisions=shown, notes=found.notes, command=command_line(), title=None
    )
    files = [] if output is None else [write_table(decided, output)]
    files += write_report(content, report)
    remark(found.notes)
    if as_json:
        finite = decided[name].drop_nulls()
        print_json(
            {
                "rows": decided.height,
                "total": float(finite.sum()),
                "mean": None if not finite.len() else float(finite.sum()) / finite.len(),
                "notes": found.notes,
                "files": [str(file) for file in files],
            }
        )
    elif output is None:
        typer.echo(decided.write_csv(), nl=False)
    else:
        say(*answer(plan, shown, None))
    show_files(files)


def _step(text: str | None, problem: str) -> float | None:
    from unmet.errors import InvalidInput

    if text is None:
        return 1.0 if problem == "newsvendor" else None
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"--step must be a number or 'none', got {text!r}.") from None


def _column(name: str, decision: Any) -> Any:
    """Decisions as a column; whole numbers without a point, and nothing where no plan pays."""
    import numpy as np
    import polars as pl

    column = pl.Series(name, np.where(np.isfinite(decision), decision, np.nan)).fill_nan(None)
    seen = decision[np.isfinite(decision)]
    if seen.size and (seen == np.round(seen)).all() and np.abs(seen).max() < 2**53:
        return column.cast(pl.Int64)
    return column
