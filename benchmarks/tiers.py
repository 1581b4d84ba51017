"""Exact linear decisions for costs with several tiers, beside scipy's HiGHS.

    python benchmarks/tiers.py [--repeats 5] [--quick] [--output FOLDER]

Overage of 1, 2 and 5 a unit and underage of 4 and 9: four kinks a row, five with a band. HiGHS gets
the dual of the linear program, scaled, by dual simplex: the fastest way we know to ask it. Seconds
of processor time on one thread, the best of several runs (one of HiGHS where it takes long); the
objectives must agree to 1e-8. A newsvendor on the same rows shows what the tiers cost.
Results go to results/tiers.json and tiers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from unmet.arrays import Band
from unmet.costs import HingeCost, Newsvendor, TieredCost
from unmet.simulate import store10
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

LONG = 5.0  # seconds beyond which one run is enough
AGREE = 1e-8


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Least seconds of processor time, and the last answer."""
    times: list[float] = []
    while len(times) < repeats and not (times and times[-1] > LONG):
        started = time.process_time()
        answer = work()
        times.append(time.process_time() - started)
    return min(times), answer


def store() -> tuple[np.ndarray, np.ndarray, float]:
    """Store-10 data of the paper's size, and a distance that matters there."""
    train = store10(seed=0, clip=True).train
    return np.ascontiguousarray(train.features), train.sales, 20.0


def dense(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Normal features, and a truth with a skewed error."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, columns))
    sales = 50 + features @ rng.normal(0, 3, columns) + rng.gamma(2, 6, rows)
    return features, sales, 10.0


def tiers(distance: float) -> TieredCost:
    """Three slopes above and two below, with breaks where many rows feel them."""
    breaks = (0.5 * distance, 1.5 * distance)
    return TieredCost((4, 9), (1, 2, 5), underage_breaks=distance, overage_breaks=breaks)


def measure(name: str, data: tuple[np.ndarray, np.ndarray, float], repeats: int) -> list[dict]:
    """All costs and bands on one table."""
    features, sales, distance = data
    measured = []
    for band in (None, Band(0.2 * distance, 0.6 * distance)):
        costs: dict[str, HingeCost] = {"newsvendor": Newsvendor(4, 1), "tiers": tiers(distance)}
        for called, cost in costs.items():
            kinks = cost.kinks(sales, band, 1 / sales.size)
            problem = HingeProblem(features, kinks)
            ours, exact = best_of(repeats, partial(solve_exact, problem))
            theirs, highs = best_of(repeats, partial(solve_highs, problem))
            difference = abs(exact.objective / highs.objective - 1)
            if difference > AGREE:
                raise SystemExit(f"{name}: objectives differ by {difference:.1e}")
            measured.append(
                {
                    "data": name,
                    "rows": features.shape[0],
                    "columns": features.shape[1],
                    "cost": called,
                    "kinks": len(kinks.position),
                    "unmet": ours,
                    "highs": theirs,
                    "difference": difference,
                    "method": exact.method,
                }
            )
            print(line(measured[-1]), flush=True)
    return measured


def line(row: dict[str, Any]) -> str:
    """Show one measurement as a row of the table."""
    return (
        f"| {row['data']} | {row['rows']:,} × {row['columns']} | {row['cost']} | {row['kinks']} "
        f"| {1000 * row['unmet']:.1f} ms | {1000 * row['highs']:,.0f} ms "
        f"| {row['highs'] / row['unmet']:,.0f} | {row['difference']:.0e} |"
    )


def table(measured: list[dict[str, Any]]) -> str:
    """Write the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    return "\n".join(
        [
            "# Tiers: exact decisions beside HiGHS",
            "",
            "Processor time on one thread, the best of several runs (one where it takes long). The",
            "difference is that of the objectives, relative. Made by `benchmarks/tiers.py`;",
            f"Python {platform.python_version()}, {packages}.",
            "",
            "| data | size | cost | kinks a row | unmet | HiGHS | times faster | difference |",
            "|---|---|---|---|---|---|---|---|",
            *(line(row) for row in measured),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    rows = 10_000 if chosen.quick else 100_000
    measured = measure("store-10", store(), chosen.repeats)
    measured += measure("dense", dense(rows, 20), chosen.repeats)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "tiers.json").write_text(json.dumps(measured, indent=1) + "\n")
    (chosen.output / "tiers.md").write_text(table(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
