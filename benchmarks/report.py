"""From raw numbers to a page: one table per case, the bars, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cases import CASES, Case
from peers import FLOOR, PEERS, US

# --- What the project promises about its exact solver, checked against a run

Best = Callable[[str, str], float | None]  # (case, peer) → seconds, a limit passed counts as it


@dataclass(frozen=True)
class Bar:
    """One line of the table: a ratio and the value it must not exceed (or fall below)."""

    case: str
    words: str
    ratio: float | None  # None: not measured
    bound: float
    at_least: bool = False

    def met(self) -> bool | None:
        if self.ratio is None:
            return None
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound


def divide(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def fastest(seconds: Iterable[float | None]) -> float | None:
    return min((value for value in seconds if value is not None), default=None)


def bars(best: Best, memory: Callable[[str, str], float | None], peers: list[str]) -> list[Bar]:
    """Every bar, with what was measured.

    ``best(case, peer)`` gives seconds, ``memory(case, peer)`` the extra memory as a share of X.
    """
    found = []
    for band in ("", "+band"):
        case = "store10" + band
        ours, path = best(case, US), best("store10-path" + band, US)
        highs = fastest(best(case, peer) for peer in peers if peer.startswith("scipy"))
        found += [
            Bar(case, "scipy HiGHS (best form) / unmet", divide(highs, ours), 4, True),
            Bar(case, "R fnb / unmet", divide(best(case, "R fnb"), ours), 1, True),
            Bar("store10-path" + band, "five α / one fit", divide(path, ours), 2.5),
        ]
    for case, plain, banded in (
        ("dense-1e5", 8, 15),
        ("dense-1e6", 3.5, 6),
        ("dense-1e7", 2.5, 4),
    ):
        for name, bound in ((case, plain), (case + "+band", banded)):
            ratio = divide(best(name, US), best(name, FLOOR))
            found.append(Bar(name, "unmet / least squares", ratio, bound))
    for case, bound in (("dense-1e6", 12), ("dense-1e6+band", 40)):
        ours = best(case, US)
        pyfixest = fastest(best(case, f"pyfixest {method}") for method in ("fn", "pfn"))
        found += [
            Bar(case, "R pfn / unmet", divide(best(case, "R pfn"), ours), bound, True),
            Bar(case, "pyfixest (faster of fn, pfn) / unmet", divide(pyfixest, ours), 60, True),
        ]
    for case in ("dense-1e7", "dense-1e7+band"):
        found.append(Bar(case, "extra memory / X", memory(case, US), 0.5))
    for case in ("sparse-1e6", "sparse-1e6+band"):
        others = fastest(best(case, peer) for peer in peers if peer not in (US, FLOOR))
        found.append(Bar(case, "fastest peer / unmet", divide(others, best(case, US)), 1, True))
    return found


TOLERANCE = 1e-6  # relative excess of the objective that still counts as the same optimum
COLUMNS = ["solver", "time", "× least squares", "× unmet", "extra memory", "÷ X", "objective"]


def key(case: str, peer: str) -> str:
    return f"{case}|{peer}"


def in_words(record: dict) -> str:
    """What came of a pair, in a word or two."""
    if "failed" not in record:
        return duration(min(record["seconds"]))
    if record["failed"] == "limit":
        return f"> {record['limit']:g} s"
    if record["failed"] == "not tried":
        return f"not tried, > {record['limit']:g} s on {record['smaller']}"
    return record["failed"]


def duration(seconds: float) -> str:
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def ratio(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def size(count: float) -> str:
    return f"{count / 2**20:.3g} MB" if count < 1000 * 2**20 else f"{count / 2**30:.3g} GB"


class Run:
    """Read access to the results of one run."""

    def __init__(self, results: dict) -> None:
        self.setting = results["setting"]
        self.pairs: dict[str, dict] = results["pairs"]

    def record(self, case: str, peer: str) -> dict | None:
        return self.pairs.get(key(case, peer))

    def finished(self, case: str, peer: str) -> dict | None:
        record = self.record(case, peer)
        return None if record is None or "failed" in record else record

    def optimum(self, case: str) -> float | None:
        """Return the lowest objective any solver reached."""
        records = [self.finished(case, peer) for peer in PEERS if peer != FLOOR]
        return min((record["objective"] for record in records if record), default=None)

    def excess(self, case: str, peer: str) -> float | None:
        record, optimum = self.finished(case, peer), self.optimum(case)
        if record is None or optimum is None:
            return None
        return (record["objective"] - optimum) / abs(optimum)

    def best(self, case: str, peer: str) -> float | None:
        """Seconds of a right answer; of a solver stopped at the limit, the limit."""
        record = self.finished(case, peer)
        if record and peer != FLOOR and (self.excess(case, peer) or 0) > TOLERANCE:
            return None
        if record:
            return min(record["seconds"])
        stopped = self.record(case, peer)
        return stopped["limit"] if stopped and stopped["failed"] == "limit" else None

    def memory(self, case: str, peer: str) -> float | None:
        record = self.finished(case, peer)
        return record["memory"] / record["features"] if record else None


def case_table(run: Run, case: Case) -> list[str]:
    """Rows of one case, fastest first, then those that did not finish."""
    names = [name for name in PEERS if run.record(case.name, name)]
    ours, floor = run.finished(case.name, US), run.finished(case.name, FLOOR)
    finished = [name for name in names if run.finished(case.name, name)]
    finished.sort(key=lambda name: min(run.pairs[key(case.name, name)]["seconds"]))
    lines = [head(COLUMNS)]
    for name in finished:
        record = run.pairs[key(case.name, name)]
        seconds = min(record["seconds"])
        ratios = [ratio(seconds / min(o["seconds"])) if o else "" for o in (floor, ours)]
        space = [size(record["memory"]), f"{record['memory'] / record['features']:.2g}"]
        label = f"**{name}**" if name == US else name
        if min(cpu / max(wall, 1e-9) for cpu, wall in timings(record)) > 1.3:
            label += " (more than one thread)"
        lines.append(row([label, duration(seconds), *ratios, *space, verdict(run, case, name)]))
    others = [name for name in names if name not in finished]
    blank = [""] * (len(COLUMNS) - 2)
    return lines + [row([n, in_words(run.pairs[key(case.name, n)]), *blank]) for n in others]


def timings(record: dict) -> list[tuple[float, float]]:
    return list(zip(record["cpu"], record["seconds"], strict=True))


def verdict(run: Run, case: Case, name: str) -> str:
    """Objective against the best reached; least squares solves another problem."""
    if name == FLOOR:
        return "another problem"
    excess = run.excess(case.name, name) or 0.0
    if excess <= TOLERANCE:
        return f"✓ {excess:.0e}" if excess > 0 else "✓ lowest"
    return f"✗ +{100 * excess:.2g} %"


def bar_table(run: Run) -> list[str]:
    lines = [head(["case", "ratio", "bar", "measured", "met"])]
    for bar in bars(run.best, run.memory, list(PEERS)):
        if not run.record(bar.case, US):
            continue
        sign = "≥" if bar.at_least else "≤"
        if bar.ratio is not None:
            result = [ratio(bar.ratio), "✓" if bar.met() else "✗"]
        elif run.best(bar.case, US) is None:
            result = ["no optimum", "✗"]
        else:
            result = ["peer not measured", ""]
        lines.append(row([bar.case, bar.words, f"{sign} {bar.bound}", *result]))
    return lines


def head(cells: list[str]) -> str:
    return row(cells) + "\n" + row(["---"] * len(cells))


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def title(case: Case) -> str:
    form = "sparse" if case.kind == "sparse" else "dense"
    levels = f"{len(case.levels)} levels" if len(case.levels) > 1 else f"α = {case.levels[0]}"
    return f"{case.name}: {case.rows:,} × {case.columns:,} {form}, {levels}"


def versions(run: Run) -> list[str]:
    """Packages that took part, each once, with its version."""
    found = {}
    for name, peer in PEERS.items():
        record = next((r for case in CASES if (r := run.finished(case, name))), None)
        if record and record["library"]:
            found["R quantreg" if peer.method else peer.needs] = record["library"]
    return [f"{package} {version}" for package, version in found.items()]


def page(run: Run) -> str:
    """Return the whole page in Markdown."""
    lines = [
        "# Exact linear decisions and their peers",
        "",
        "Made by `benchmarks/linear.py`; how to read it: `benchmarks/README.md`.",
        "One thread, best of several runs, each pair in a process of its own.",
        f"{run.setting['cpu']}, Python {run.setting['python']}; {', '.join(versions(run))}.",
        "",
        "![Time against rows](linear.svg)",
        "",
        "## What is promised",
        "",
        *bar_table(run),
    ]
    for case in CASES.values():
        if any(run.record(case.name, name) for name in PEERS):
            lines += ["", f"## {title(case)}", "", *case_table(run, case)]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write linear.md, and linear.svg where matplotlib is present."""
    run = Run(results)
    (folder / "linear.md").write_text(page(run))
    try:
        from figure import draw
    except ImportError:
        return
    draw(run, folder)
