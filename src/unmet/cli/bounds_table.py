"""The tables of ``unmet bounds``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from unmet.cli.bounds_run import Setting
from unmet.files import Cell


def show(
    setting: Setting,
    rows: Sequence[dict[str, Cell]],
    sentences: Sequence[str],
    files: Sequence[Path],
) -> None:
    """Print the bounds, what is wrong with them, what was measured, and where the files are."""
    console = Console(highlight=False)
    console.print(table(setting, rows))
    for row in rows:
        if row["caveat"]:
            console.print(f"{row['algorithm']}: {row['caveat']}", markup=False)
    if sentences:
        console.print("\nMeasured on simulated sales", style="bold")
    for sentence in sentences:
        console.print(sentence, markup=False)
    if files:
        console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)


def table(setting: Setting, rows: Sequence[dict[str, Cell]]) -> Table:
    """Give one row per algorithm."""
    result = Table(
        title=(
            f"What {setting.n_rows:,} rows and {setting.n_features} features guarantee at "
            f"α = {setting.alpha:g}, D̄ = {setting.largest_truth:g}, δ = {setting.delta:g}"
        ),
        caption=(
            "ξ: what one row can move. Bound: cost on new rows minus training cost. Rows needed "
            "until the bound is below the largest cost there is, and below a tenth of it. *: above "
            "the largest cost there is, so it says nothing."
        ),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )
    for name in ("algorithm", "ξ", "bound", "largest cost", "rows needed", "for a tenth"):
        result.add_column(name, justify="left" if name == "algorithm" else "right")
    for row in rows:
        result.add_row(
            str(row["algorithm"]),
            _short(row["stability"]),
            _short(row["bound"]) + (" *" if row["vacuous"] else ""),
            _short(row["ceiling"]),
            _whole(row["rows_to_say_anything"]),
            _whole(row["rows_for_a_tenth"]),
        )
    return result


def _short(value: Cell) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _whole(value: Cell) -> str:
    return f"{value:,}" if isinstance(value, int) else "never"
