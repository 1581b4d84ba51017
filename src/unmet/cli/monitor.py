"""``unmet monitor``: whether a plan still holds, by the days since it was made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmet.cli.options import Decimal, Encoding, Sheet
from unmet.cli.output import labels_table, print_json, remark
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    from unmet.planning import Check, Monitoring, OrderPlan, ReplenishmentPlan

# Heavy imports stand inside the functions, so that `unmet --help` answers at once.

EXAMPLES = (
    "unmet monitor plan.unmet sales.csv",
    "unmet monitor plan.unmet sales.csv --log decisions.parquet --details",
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
    details: Annotated[
        bool, typer.Option("--details", help="Show the statistics behind the answer, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Compare the days since a plan with what it promised; exit code 4 if it no longer holds."""
    from unmet import planning
    from unmet.checks import Number

    Number(above=0, below=1)("--level", level)
    planned = _load(plan)
    read = planning.read_file(
        table, text=planned.schema_.ids, decimal=decimal, sheet=sheet, encoding=encoding
    )
    found = planning.monitor(planned, read.table, log, level)
    if as_json:
        print_json({**found.to_dict(), "table_notes": read.notes})
    else:
        _show(found, details=details)
        remark((*read.notes, *found.notes))
    return PLAN_AGAIN if found.plan_again else 0


def _load(path: Path) -> OrderPlan | ReplenishmentPlan:
    """Plan of a file that `unmet plan --save` wrote."""
    from unmet.persistence import load
    from unmet.planning import OrderPlan, ReplenishmentPlan

    plan = load(path)
    if not isinstance(plan, OrderPlan | ReplenishmentPlan):
        raise InvalidInput(
            f"{path} must be a plan that unmet plan --save has written, got a "
            f"{type(plan).__name__}."
        )
    return plan


def _show(found: Monitoring, *, details: bool) -> None:
    """Print what was expected and seen, a verdict for each, and what to do."""
    typer.echo(f"{found.n_rows:,} new rows, {found.first_day} to {found.last_day}.\n")
    heads = ["what", "expected", "seen", "verdict"]
    lines = []
    for each in found.checks:
        more = _numbers(each) if details else ()
        lines.append((each.what, each.expected, each.seen, each.verdict, *more))
    if details:
        heads += ["evidence", "needed", "since"]
    typer.echo(labels_table(heads, lines))
    typer.echo("")
    for each in found.checks:
        if details or each.verdict != "as planned":
            since = "" if each.first_day is None else f" Sure since {each.first_day}."
            typer.echo(f"{each.what}: {each.advice}{since}")
    typer.echo(_VERDICTS[found.verdict])


def _numbers(check: Check) -> tuple[str, str, str]:
    """Evidence of a test, what it must exceed, and when it did."""
    told = [
        f"{check.details[name]:.3g}" if name in check.details else "-"
        for name in ("highest_evidence", "needed")
    ]
    return told[0], told[1], "-" if check.first_day is None else str(check.first_day)
