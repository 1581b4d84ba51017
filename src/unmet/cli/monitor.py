"""``unmet monitor``: whether a plan still holds, by the days since it was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmet.cli.options import Decimal, Encoding, Sheet
from unmet.cli.output import labels_table, print_json, remark
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.planning import Monitoring

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet monitor plan.unmet sales.csv",
    "unmet monitor plan.unmet sales.csv --log decisions.parquet",
    "unmet monitor plan.unmet sales.csv; test $? -ne 4 || unmet plan sales.csv --save plan.unmet",
)
PLAN_AGAIN = 4
"""Exit code where the plan should be made again."""
_VERDICTS = {
    "as planned": "All is as planned.",
    "monitor": "Keep an eye on it: something may be changing, but it is not sure yet.",
    "plan again": "Plan again, with the new rows.",
}


def monitor(
    plan: Annotated[Path, typer.Argument(help="Plan that unmet plan --save has written.")],
    table: Annotated[
        Path, typer.Argument(help="The table of sales again, with newer rows; old ones may stay.")
    ],
    log: Annotated[
        Path | None,
        typer.Option(help="Parquet file of what was decided and delivered."),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="How often, at most, a plan that holds may be called off, however often you look."
        ),
    ] = 0.01,
    decimal: Decimal = None,
    sheet: Sheet = None,
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Compare the days since a plan with what it promised; exit code 4 if it no longer holds."""
    from unmet import planning
    from unmet.persistence import load
    from unmet.tables.reading import read_file
    from unmet.validation import Number

    Number(above=0, below=1)("--level", level)
    planned = load(plan)
    if not isinstance(planned, planning.OrderPlan):
        raise InvalidInput(
            f"{plan} must be a plan that unmet plan --save has written, got a "
            f"{type(planned).__name__}."
        )
    read = read_file(
        table, text=planned.schema_.ids, decimal=decimal, sheet=sheet, encoding=encoding
    )
    found = planning.monitor(planned, read.table, log, level)
    if as_json:
        print_json({**found.to_dict(), "table_notes": read.notes})
    else:
        _show(found)
        remark((*read.notes, *found.notes))
    return PLAN_AGAIN if found.plan_again else 0


def _show(found: Monitoring) -> None:
    """Print what was expected and seen, a verdict for each, and what to do."""
    typer.echo(f"{found.n_rows:,} new rows, {found.first_day} to {found.last_day}.\n")
    lines = [(each.what, each.expected, each.seen, each.verdict) for each in found.checks]
    typer.echo(labels_table(["what", "expected", "seen", "verdict"], lines) + "\n")
    for each in found.checks:
        if each.verdict != "as planned":
            since = "" if each.first_day is None else f" Sure since {each.first_day}."
            typer.echo(f"{each.what}: {each.advice}{since}")
    typer.echo(_VERDICTS[found.verdict])
