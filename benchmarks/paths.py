"""Networks by the dozen: `fit_many` beside one network after the other.

    python benchmarks/paths.py [--repeats 3] [--output FOLDER]

Both are measured in turns in one process with one thread, in seconds of processor time, of which
the least of all turns counts. Results go to results/paths.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from cases import ALPHAS, CASES

from unmet import Band, NeuralDecision, Newsvendor

FOLDS, STARTS = 5, 2
COSTS = [Newsvendor.at_level(level) for level in ALPHAS]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="turns")
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
    times, answers = in_turns(ways, repeats)
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
        "# Many networks on the same rows",
        "",
        "Made by `benchmarks/paths.py`; processor time of one thread, the least of several turns.",
        "",
        *networks(chosen.repeats),
    ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    lines += ["", f"Python {platform.python_version()}, {packages}, {platform.machine()}."]
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "paths.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
