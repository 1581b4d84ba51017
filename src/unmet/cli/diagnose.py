"""``unmet diagnose``: whether observations hide something, and how surely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmet.planning import Plan


UNSURE = 3
"""Exit code of ``--fail-if-unsure`` where the data cannot tell."""


EXAMPLES = (
    "unmet diagnose sales.csv --observed sales --features weekday,month,category",
    "unmet diagnose sales.csv --observed sales --features weekday --sellout-rate .4 --report "
    "report.html",
)


def diagnose(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    *,
    plan: Plan,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    fail_if_unsure: Annotated[
        bool, typer.Option(help="Leave with exit code 3 if the data cannot tell.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Say how much the observations hide, and how surely.

    Without costs, a unit too little is taken to cost as much as one too much.
    """
    from unmet.cli.tables import (
        check_report,
        command_line,
        print_json,
        remark,
        say,
        show_files,
        working,
        write_report,
    )
    from unmet.errors import InvalidInput
    from unmet.planning import read_table, report_content

    check_report(report, [table])
    if plan.band == "none" or isinstance(plan.band, tuple):
        raise InvalidInput(f"diagnose needs band 'latent', got {plan.words.rpartition(', ')[2]!r}.")
    rows = read_table(table, text=plan.text_columns)
    with working("learning from the table …"):
        fitted = plan.fit(rows)
    found = fitted.diagnosis_
    content = report_content(fitted, command=command_line(), title=f"Diagnosis of {table.name}")
    files = write_report(content, report)
    text = fitted.decider_.found_["text"] if found is None else str(found)
    if as_json:
        plain = {"text": text} if found is None else found.to_dict()
        names = [str(file) for file in files]
        print_json({**plain, "table_notes": fitted.notes_, "files": names})
    else:
        say(text)
        remark(fitted.notes_)
    show_files(files)
    unsure = found is not None and found.identified == "no"
    return UNSURE if fail_if_unsure and unsure else 0
