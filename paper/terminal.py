"""What the reproduction prints at its end."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.text import Text

from paper import Results, all_claims
from paper.claims import count
from paper.pictures import terminal_table
from paper.protocol import USUAL
from paper.run import Standing
from unmet.progress import report_progress
from unmet.runs import append_row

# --- How far the reproduction is, and what it took.

_PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "lightgbm", "optuna", "matplotlib")


@contextmanager
def report_standing() -> Iterator[Callable[[Standing], None]]:
    """Show a bar with the time left on a terminal; a line every twentieth of the work elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    with report_progress(left=True) as step:
        yield lambda standing: step(int(100 * standing.share), 100, f"percent: {standing}")


class _Lines:
    """For log files."""

    def __init__(self, console: Console) -> None:
        self._console, self._begun, self._next = console, perf_counter(), 0.0

    def __call__(self, standing: Standing) -> None:
        if standing.share < self._next:
            return
        self._next = min(standing.share + 0.05, 1.0 if standing.share < 1 else 2.0)
        elapsed = perf_counter() - self._begun
        left = ""
        if standing.share > 0:
            left = f", about {elapsed / standing.share * (1 - standing.share) / 60:.0f} min left"
        self._console.print(
            f"unmet: {standing.share:.0%} of what was to do, {standing}{left}",
            highlight=False,
            soft_wrap=True,
        )


def facts(results: Results, calls: Sequence[Call]) -> dict[str, str]:
    """Lines on how the results were computed.

    Parameters
    ----------
    results : Results
    calls : sequence of Call
        All calls of the command that came to their end in this folder.
    """
    searching = sum(row.seconds for row in results.searches)
    # one fit may serve several levels
    fits = {(row.dataset, row.method, row.fit_seconds) for row in results.fits}
    fitting = sum(seconds for *_, seconds in fits)
    jobs = max(call.jobs for call in calls)
    several = f"{len(calls)} calls" if calls[1:] else "one call"
    peak = max(call.memory for call in calls)
    return {
        "time": f"{_minutes(sum(call.seconds for call in calls))} in {several} with up to {jobs} "
        f"processes; added up over processes {_minutes(searching)} of searches and "
        f"{_minutes(fitting)} of fits",
        "memory": f"at most {peak:.0f} MiB, as if all processes had their peak at once"
        if peak
        else "not counted on this system",
        "versions": ", ".join(
            [f"Python {platform.python_version()}"]
            + [f"{package} {version(package)}" for package in _PACKAGES]
        ),
        "machine": f"{platform.system()} {platform.machine()}",
    }


@dataclass(frozen=True)
class Call:
    """What one call of the command took.

    Attributes
    ----------
    seconds : float
    jobs : int
    memory : float
        Peak in MiB, that of the main process and of the largest worker times their number added
        up; 0 where the system does not count it.
    """

    seconds: float
    jobs: int
    memory: float

    @classmethod
    def since(cls, begun: float, jobs: int) -> Call:
        """Measure the call that began at this time of `time.perf_counter`."""
        return cls(perf_counter() - begun, jobs, _memory(jobs))


def add_call(folder: Path, call: Call) -> list[Call]:
    """Keep what this call took, and return all that are kept in this folder."""
    path = folder / "calls.jsonl"
    append_row(path, asdict(call))
    calls = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError, TypeError):  # a line that was cut off is worth no complaint
            calls.append(Call(**json.loads(line)))
    return calls


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _memory(jobs: int) -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1024**2 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere
    own, largest = (
        resource.getrusage(who).ru_maxrss / unit
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own + jobs * largest


# --- What the reproduction prints at its end.

_COLOURS = {
    "reproduced": "green",
    "reproduced in part": "yellow",
    "not reproduced": "red",
}


def show_reproduction(results: Results, folder: Path, files: Sequence[Path]) -> None:
    """Print the verdicts, and where to read on."""
    title = "Claims of the paper, and ours"
    table = terminal_table(title, ("no.", "kind", "claim", "verdict"), left=4)
    claims = all_claims(results)
    for claim in claims:
        colour = _COLOURS.get(claim.verdict, "")
        table.add_row(claim.name, claim.kind, claim.statement, Text(claim.word, style=colour))
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"Direction: {count(claims, 'direction')}. Size: {count(claims, 'size')}. "
        f"({USUAL.name}: {USUAL.meaning}; the other readings are on the page.)",
        markup=False,
    )
    if results.settings.published_settings:
        console.print("Published ε and hyperparameters: nothing was searched.", markup=False)
    console.print(f"{len(files)} files in {folder}", soft_wrap=True, markup=False)
    console.print(f"Read {folder / 'index.html'}", soft_wrap=True, markup=False)


def as_plain(results: Results) -> dict[str, Any]:
    """Give settings and verdicts, for JSON."""
    return {
        "settings": results.settings.as_dict(),
        "claims": [
            {
                "claim": claim.statement,
                "number": claim.name,
                "kind": claim.kind,
                "table": claim.label,
                "verdict": claim.word,
                "found": claim.found,
                "explanation": claim.explanation,
            }
            for claim in all_claims(results)
        ],
    }
