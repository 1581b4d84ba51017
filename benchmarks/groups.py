"""A model per group: ten thousand groups of a hundred rows and ten features.

    python benchmarks/groups.py [--groups 10000] [--jobs 2] [--sample 200] [--output FOLDER]

`GroupedDecision` fits all groups, its pooled model and its shrinkage. Beside it stand plain loops
over groups: `LinearDecision.fit`, and scikit-learn's `QuantileRegressor` (HiGHS), which has no
band. Loops are run on a sample of the groups and scaled up to all of them. Seconds of processor
time over all processes, since they do not depend on who else uses the machine, and of the clock,
which do. Objectives must agree to 1e-7 on the sample.
Results go to results/groups.md.
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
import pandas as pd
import psutil
from sklearn.linear_model import QuantileRegressor

from unmet import Band, GroupedDecision, LinearDecision, Newsvendor
from unmet.persistence import load, save

COST = Newsvendor(underage=3, overage=1)
ROWS, COLUMNS = 100, 10
AGREE = 1e-7


def make(groups: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Stores and items of very different levels, slopes that differ a little, rows shuffled."""
    generator = np.random.default_rng(0)
    code = generator.permutation(np.repeat(np.arange(groups), ROWS))
    features = generator.normal(size=(code.size, COLUMNS))
    level = np.exp(generator.normal(3.4, 1.0, groups))
    slopes = generator.normal(size=COLUMNS) + 0.5 * generator.normal(size=(groups, COLUMNS))
    effect = np.einsum("ij,ij->i", features, slopes[code])
    demand = level[code] + effect + generator.gamma(2, 3, code.size)
    table = pd.DataFrame(features, columns=[f"x{column}" for column in range(COLUMNS)])
    table.insert(0, "item", code // 100)
    table.insert(0, "store", [f"S{store}" for store in code % 100])
    return table, demand, code


def spent() -> float:
    """Processor time of this process and of all that it has started and that still run."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of processor time, seconds of the clock, and the answer."""
    begun, clock = spent(), time.perf_counter()
    answer = work()
    return spent() - begun, time.perf_counter() - clock, answer


def one_by_one(fit: Callable[[np.ndarray, np.ndarray], float], parts: list) -> Callable[[], list]:
    """Loop over groups; gives the objective of each."""
    return lambda: [fit(*part) for part in parts]


def loops(parts: list, bands: dict[str, Band | None]) -> dict[str, Callable[[], list]]:
    """Loops that a user might write."""

    def ours(band: Band | None) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda X, y: LinearDecision(COST, band).fit(X, y).solution_.objective

    def theirs(X: np.ndarray, y: np.ndarray) -> float:
        model = QuantileRegressor(quantile=0.75, alpha=0.0, solver="highs").fit(X, y)
        return float(COST.loss(model.predict(X), y).mean())

    listed = {
        f"loop of LinearDecision, {name}": one_by_one(ours(band), parts)
        for name, band in bands.items()
    }
    return {**listed, "loop of QuantileRegressor, no band": one_by_one(theirs, parts)}


def grouped_lines(
    table: pd.DataFrame, y: np.ndarray, bands: dict[str, Band | None], jobs: int
) -> tuple[list[str], dict[str, GroupedDecision]]:
    """Fit all groups, with and without a band."""
    lines, models = [], {}
    for name, band in bands.items():
        model = GroupedDecision(LinearDecision(COST, band), n_jobs=jobs, random_state=0)
        busy, clock, models[name] = timed(lambda model=model: model.fit(table, y))
        lines.append(f"| GroupedDecision, {name} | all | {busy:.0f} | {clock:.0f} |")
    return lines, models


def use_lines(model: GroupedDecision, table: pd.DataFrame, folder: Path) -> list[str]:
    """Decide for all rows, save, load."""
    path = folder / "groups.unmet"
    works: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict(table),
        "decide, lots of 6": lambda: model.decide(table, step=6),
        "save": lambda: save(model, path),
        "load": lambda: load(path),
    }
    lines = []
    for name, work in works.items():
        busy, clock, _ = timed(work)
        lines.append(f"| {name} | {busy:.1f} | {clock:.1f} |")
    lines.append(f"\nThe file has {path.stat().st_size / 1e6:.0f} MB.")
    path.unlink()
    return lines


def compare(
    models: dict[str, GroupedDecision], found: dict[str, list], parts: list, chosen: np.ndarray
) -> float:
    """Largest relative difference of objectives on the sampled groups."""
    worst = 0.0
    for name, objectives in found.items():
        band = name.rsplit(", ", 1)[1]
        model = models[band]
        names = zip(*(model.summary_[column].tolist() for column in model.by), strict=True)
        place = {label: number for number, label in enumerate(names)}
        for group, (X, y), theirs in zip(chosen, parts, objectives, strict=True):
            number = place[f"S{group % 100}", int(group) // 100]
            decision = X @ model.coef_[number] + model.intercept_[number]
            ours = COST.loss(decision, y, model.band_).mean()
            worst = max(worst, abs(ours - theirs) / theirs)
    return worst


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    table, y, code = make(given.groups)
    bands: dict[str, Band | None] = {"no band": None, "band": Band(0, 4)}
    chosen = np.linspace(0, given.groups - 1, min(given.sample, given.groups)).astype(int)
    features = table.iloc[:, 2:].to_numpy()
    parts = [(features[code == group], y[code == group]) for group in chosen]
    lines, models = grouped_lines(table, y, bands, given.jobs)
    found = {}
    for name, loop in loops(parts, bands).items():
        busy, clock, found[name] = timed(loop)
        times = given.groups / chosen.size
        lines.append(f"| {name} | {chosen.size} | {busy * times:.0f} | {clock * times:.0f} |")
    worst = compare(models, found, parts, chosen)
    assert worst < AGREE, worst
    text = [
        f"# {given.groups:,} groups × {ROWS} rows × {COLUMNS} features",
        "",
        "| what | groups fitted | processor seconds for all | clock seconds for all |",
        "|---|---:|---:|---:|",
        *lines,
        "",
        f"GroupedDecision ran in {given.jobs} processes, loops in one. It also fits a pooled model "
        f"and finds k = {models['no band'].shrink_:.0f} rows, from 200 groups in five folds each. "
        "Loops were run on the groups named and scaled up to all. Objectives on these groups agree "
        f"to {worst:.0e} of their value.",
        "",
        f"Using the model for all {len(y):,} rows:",
        "",
        "| what | processor seconds | clock seconds |",
        "|---|---:|---:|",
        *use_lines(models["no band"], table, given.output),
        "",
        f"Python {platform.python_version()}, numpy {version('numpy')}, "
        f"scikit-learn {version('scikit-learn')}, {platform.machine()}, {os.cpu_count()} cores.",
    ]
    (given.output / "groups.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
