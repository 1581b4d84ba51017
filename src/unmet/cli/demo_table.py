"""The table of the demonstration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from unmet.cli.demo_run import METHODS, SMALLEST_GAP, Outcome

Show = Callable[[Outcome], str]


def show(
    outcomes: Sequence[Outcome],
    n_seeds: int,
    sentences: Sequence[str],
    files: Sequence[Path],
    diagnosis: str,
) -> None:
    """Print the table, what it means, what LatentBand found, and where the files are."""
    console = Console(highlight=False)
    console.print(table(outcomes, n_seeds))
    console.print(
        f"–: ignoring censoring costs less than {SMALLEST_GAP:.0%} more than the best orders.",
        style="dim",
    )
    for sentence in sentences:
        console.print(sentence)
    console.print("\nWhat LatentBand found in the sales of the first seed", style="bold")
    console.print(diagnosis, soft_wrap=True, markup=False)
    console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)


def table(outcomes: Sequence[Outcome], n_seeds: int) -> Table:
    """Methods down, levels across; costs, shares of the gap, service levels."""
    levels = sorted({outcome.level for outcome in outcomes})
    result = Table(
        title=f"Orders learned from censored sales, priced on true demand (seeds: {n_seeds})",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
    )
    result.add_column("α")
    for level in levels:
        result.add_column(f"{level:.2f}", justify="right")
    result.add_column("fit, ms", justify="right")
    _section(result, outcomes, "mean cost per row (NVCost)", lambda o: f"{o.cost:.2f}")
    _section(result, outcomes, "share of the gap closed", _gap, leave_out=("ieo", "optimum"))
    _section(result, outcomes, "service level (aim: α)", lambda o: f"{o.service_level:.0%}")
    return result


def _section(
    result: Table,
    outcomes: Sequence[Outcome],
    title: str,
    cell: Show,
    leave_out: Sequence[str] = (),
) -> None:
    """Add one measure: a heading, then a row per method."""
    first = not result.row_count
    result.add_row(f"[bold]{title}[/bold]")
    for method, name in METHODS.items():
        if method in leave_out:
            continue
        own = [outcome for outcome in outcomes if outcome.method == method]
        seconds = [o.fit_seconds for o in own if o.fit_seconds is not None]
        time = f"{1000 * median(seconds):.0f}" if first and seconds else ""
        result.add_row(f"  {name}", *map(cell, own), time)
    result.add_section()


def _gap(outcome: Outcome) -> str:
    return "–" if outcome.gap_closed is None else f"{outcome.gap_closed:.0%}"
