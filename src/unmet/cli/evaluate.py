"""``unmet evaluate``: what a model's decisions cost once the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = ("unmet evaluate model.unmet truth.csv --truth demand",)


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
