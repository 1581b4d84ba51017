"""Many fits on the same rows: paths of levels, a grid of levels and bands, networks by the dozen.

    python benchmarks/paths.py [--quick] [--repeats 15] [--output FOLDER]

`fit_path` of five levels beside single fits of the same levels; a grid of five levels and twenty
bands on the store-10 data, as a search over ε needs it; and `fit_many` of networks beside one after
the other. Everything is measured in turns in one process with one thread, in seconds of processor
time, of which the least of all turns counts. Objectives of paths must agree with those of single
fits to 1e-9 of their value. Results go to results/paths.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cases import ALPHAS, CASES

from unmet import Band, LinearDecision, NeuralDecision, Newsvendor

AGREE = 1e-9
LARGE = ("dense-1e5", "dense-1e5+band", "dense-1e6", "dense-1e6+band")
BANDS, FOLDS, STARTS = 20, 5, 2
COSTS = [Newsvendor.at_level(level) for level in ALPHAS]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="store-10 only")
    parser.add_argument("--repeats", type=int, default=15, help="turns; a fifth for large data")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def in_turns(ways: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict, dict]:
    """Least processor seconds of each way, and what it returned last."""
    least, answers = dict.fromkeys(ways, np.inf), {}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            begun = time.process_time()
            answers[name] = way()
            if turn:  # the first warms up
                least[name] = min(least[name], time.process_time() - begun)
    return least, answers


def disagreement(several: Sequence[Any], singles: Sequence[Any]) -> float:
    """Largest difference of objectives, as a share."""
    pairs = zip(several, singles, strict=True)
    worst = max(abs(a.solution_.objective / b.solution_.objective - 1) for a, b in pairs)
    if worst > AGREE:
        raise SystemExit(f"objectives differ by {worst:.1e} of their value, more than {AGREE:g}.")
    return worst


def path(name: str, repeats: int) -> str:
    """Five levels at once, beside one and beside each of them."""
    problem = CASES[name].load(ones=False)
    X, s = problem.X, problem.s
    band = Band(problem.low, problem.high) if problem.banded else None
    ways = {
        "one": lambda: LinearDecision(COSTS[2], band).fit(X, s),
        "each": lambda: [LinearDecision(cost, band).fit(X, s) for cost in COSTS],
        "path": lambda: LinearDecision(band=band).fit_path(X, s, costs=COSTS),
    }
    times, answers = in_turns(ways, repeats)
    worst = disagreement(answers["path"], answers["each"])
    one, each, together = (times[way] for way in ways)
    shape = f"{len(s):,} × {X.shape[1]}"
    return (
        f"| {name} | {shape} | {1e3 * one:.1f} | {1e3 * each:.1f} | {1e3 * together:.1f} | "
        f"{together / one:.2f} | {together / each:.2f} | {worst:.0e} |"
    )


def grid(repeats: int) -> list[str]:
    """Five levels × twenty bands on the store-10 data."""
    problem = CASES["store10"].load(ones=False)
    X, s = problem.X, problem.s
    highs = np.linspace(0, 0.3, BANDS) * np.ptp(s)
    costs, bands = zip(*[(cost, Band(0, high)) for cost in COSTS for high in highs], strict=True)
    ways = {
        "grid": lambda: LinearDecision().fit_path(X, s, costs=costs, bands=bands),
        "each": lambda: [
            LinearDecision(*both).fit(X, s) for both in zip(costs, bands, strict=True)
        ],
    }
    times, answers = in_turns(ways, max(repeats // 5, 2))
    worst = disagreement(answers["grid"], answers["each"])
    return [
        f"A grid of {len(costs)} fits, {len(ALPHAS)} levels × {BANDS} bands from 0 to 0.3 ranges "
        f"of the sales, on store-10 data: **{times['grid']:.2f} s** at once, {times['each']:.2f} s "
        f"one after the other. Objectives agree to {worst:.0e}."
    ]


def networks(repeats: int) -> list[str]:
    """Levels × folds × starts of the paper's network, trained by L-BFGS."""
    problem = CASES["store10+band"].load(ones=False)
    X, s = problem.X, problem.s
    fold = np.random.default_rng(0).permutation(len(s)) % FOLDS
    model = NeuralDecision(band=Band(problem.low, problem.high), solver="lbfgs")
    jobs = [
        {"cost": cost, "rows": np.flatnonzero(fold != each), "random_state": start}
        for cost in COSTS
        for each in range(FOLDS)
        for start in range(STARTS)
    ]

    def alone(job: dict) -> Any:
        own = {**model.get_params(deep=False), **job}
        rows = own.pop("rows")
        return NeuralDecision(**own).fit(X[rows], s[rows])

    ways = {
        "fit_many": lambda: model.fit_many(X, s, jobs, n_jobs=1),
        "one by one": lambda: [alone(job) for job in jobs],
    }
    times, answers = in_turns(ways, max(repeats // 5, 2))
    cost = {way: np.mean([each.training_cost_ for each in found]) for way, found in answers.items()}
    ratio = times["one by one"] / times["fit_many"]
    return [
        f"{len(jobs)} networks by L-BFGS on store-10 data: `fit_many` takes "
        f"{times['fit_many']:.2f} s, one after the other {times['one by one']:.2f} s, "
        f"**{ratio:.1f} times** as long; the mean training cost is "
        f"{cost['fit_many'] / cost['one by one']:.3f} of theirs."
    ]


def main() -> None:
    chosen = arguments()
    lines = [
        "# Many fits on the same rows",
        "",
        "Made by `benchmarks/paths.py`; processor time of one thread, the least of several turns. "
        "A path has the levels 0.55, 0.65, 0.75, 0.85 and 0.95; one fit is that of 0.75.",
        "",
        "| case | rows × features | one fit, ms | five fits, ms | path of five, ms | path ÷ one | "
        "path ÷ five | objectives differ by |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in ("store10", "store10+band", *(() if chosen.quick else LARGE)):
        lines.append(path(name, max(chosen.repeats // (5 if name in LARGE else 1), 2)))
        print(lines[-1], flush=True)
    for part in (grid, networks):
        lines += ["", *part(chosen.repeats)]
        print(lines[-1], flush=True)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    lines += ["", f"Python {platform.python_version()}, {packages}, {platform.machine()}."]
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "paths.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
