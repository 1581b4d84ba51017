"""``unmet fit``: learn decisions from a table and save the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unmet.planning import Comparison, Plan


EXAMPLES = (
    "unmet fit sales.csv --observed sales --features weekday,month,category --underage 3 "
    "--overage 1 -o model.unmet",
    "unmet fit sales.csv --observed sales --features price --date day --calendar "
    "weekday,month --underage-column margin --overage 1 --sellout-rate .3,.5",
    "unmet fit offers.csv --problem pricing --observed price --accepted-column accepted "
    "--features segment,quantity --goal revenue --unit-cost 20",
    "unmet fit parts.csv --problem replacement --observed hours --failed-column failed "
    "--features load --planned 1 --failure 8",
)


def fit(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    *,
    plan: Plan,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")] = Path(
        "model.unmet"
    ),
    comparing: Annotated[
        bool,
        typer.Option(
            "--compare/--no-compare",
            help="Compare with other methods on rows held out, for the reports of this model.",
        ),
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Learn decisions from a table and save the model."""
    from unmet.cli.tables import (
        check_output,
        check_report,
        command_line,
        print_json,
        remark,
        say,
        show_comparison,
        show_files,
        working,
        write_report,
    )
    from unmet.persistence import save
    from unmet.persistence.audit import import_skops
    from unmet.planning import read_table, report_content

    check_output(output, "--output", taken=[table])
    check_report(report, [table, output])
    import_skops("saving models")  # before the work, so that a missing package costs no time
    rows = read_table(table, text=plan.text_columns)
    with working("learning from the table …"):
        fitted = plan.fit(rows)
    if comparing:
        fitted.comparison_ = _compare(plan, rows)
    about = {"command": command_line(), "rows": fitted.n_rows_}
    files = [save(fitted, output, about=about)]
    content = report_content(fitted, command=command_line(), title=f"Learned from {table.name}")
    files += write_report(content, report)
    found = fitted.diagnosis_
    if as_json:
        print_json(
            {
                "inputs": dict(content.inputs),
                "answer": content.answer,
                "diagnosis": None if found is None else found.to_dict(),
                "comparison": _plain(fitted.comparison_),
                "notes": content.notes,
                "files": [str(file) for file in files],
            }
        )
    else:
        say(*content.answer)
        if fitted.comparison_ is not None:
            show_comparison(fitted.comparison_)
        remark(content.notes)
    show_files(files)


def _plain(comparison: Comparison | None) -> dict[str, Any] | None:
    return None if comparison is None else comparison.to_dict()


def _compare(plan: Plan, rows: Any) -> Any:
    """Compare with the alternatives, where there is something to compare."""
    if not (plan.features or plan.calendar):
        return None
    from unmet.planning import compare
    from unmet.progress import report_progress

    with report_progress() as step:
        return compare(plan, rows, progress=step)
