"""Read access to the results of `gap_closed.py`, and the measures taken from them.

Costs of several seeds are added up before they are divided: a ratio of sums is not thrown off by a
seed in which ignoring censoring happened to cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from gap_cases import CASES, LEVELS
from gap_methods import IGNORING, METHODS, OPTIMUM, TRUTH

HIGH = tuple(level for level in LEVELS if level >= 0.65)  # where the bars are
LEAST_GAP = 0.005  # of the floor: where ignoring censoring costs less than that, nothing is closed

Keep = Callable[[int], bool]


def key(case: str, seed: int, method: str) -> str:
    return f"{case}|{seed}|{method}"


class Run:
    """The cells of one run."""

    def __init__(self, results: dict) -> None:
        self.setting: dict = results["setting"]
        self.cells: dict[str, dict] = results["cells"]
        self.trials: dict[str, dict] = results["trials"]
        self.fresh: dict | None = results.get("freshretail")

    def seeds(self, case: str) -> list[int]:
        return sorted(
            int(name.rpartition("|")[2]) for name in self.trials if name.startswith(f"{case}|")
        )

    def share(self, case: str) -> float:
        return float(np.mean([self.trials[f"{case}|{seed}"]["share"] for seed in self.seeds(case)]))

    def record(self, case: str, seed: int, method: str) -> dict | None:
        return self.cells.get(key(case, seed, method))

    def cost(self, case: str, seed: int, method: str) -> np.ndarray | None:
        """Mean realised cost at each level; None where the method did not finish."""
        record = self.record(case, seed, method)
        if record is None or "cost" not in record:
            return None
        return np.array(record["cost"])

    def floor(self, case: str, seed: int) -> np.ndarray | None:
        """Cost of the true quantile where it is known, else of the model trained on the truth."""
        best = self.cost(case, seed, OPTIMUM)
        return self.cost(case, seed, TRUTH) if best is None else best

    def four(self, case: str, method: str, keep: Keep = lambda seed: True) -> np.ndarray:
        """Costs of shape (seeds, 4, levels): IEO, the method, the floor, trained on the truth."""
        found = []
        for seed in self.seeds(case):
            each = [self.cost(case, seed, name) for name in (IGNORING, method)]
            each += [self.floor(case, seed), self.cost(case, seed, TRUTH)]
            if keep(seed) and all(cost is not None for cost in each):
                found.append(each)
        return np.array(found).reshape(-1, 4, len(LEVELS))

    def methods(self, cases: Iterable[str]) -> list[str]:
        """Those with a cost in any of the cases, in order of the catalogue."""
        return [name for name in METHODS if any(self.four(case, name).size for case in cases)]

    def finished(self, group: str) -> list[str]:
        return [name for name, case in CASES.items() if case.group == group and self.seeds(name)]

    def identified(self, case: str, seed: int, method: str) -> list[str]:
        """What the rule said of each block."""
        record = self.record(case, seed, method) or {}
        return [found["identified"] or "" for found in record.get("found", []) if found]

    def failures(self) -> dict[str, list[str]]:
        """Sentence of an error → where it came up."""
        found: dict[str, list[str]] = {}
        for name, record in self.cells.items():
            if "failed" in record:
                found.setdefault(record["failed"], []).append(name)
        return found


def closed(
    costs: np.ndarray, levels: Sequence[float] = HIGH, every: bool = False
) -> list[float | None]:
    """Share of the gap closed at each level, over all seeds; None where there is no gap.

    Where even a model trained on the truth is hardly cheaper than IEO, what separates both from the
    true quantile is not censoring but the estimation of many coefficients; such levels count only
    if `every` is asked for.
    """
    found: list[float | None] = []
    for level in levels:
        ignoring, method, floor, truth = costs[:, :, LEVELS.index(level)].sum(axis=0)
        helps = ignoring - (floor if every else max(floor, truth)) > LEAST_GAP * floor
        found.append((ignoring - method) / (ignoring - floor) if helps else None)
    return found


def mean_closed(costs: np.ndarray, every: bool = False) -> float | None:
    """Mean over the levels from .65 on that have a gap."""
    shares = closed(costs, every=every) if len(costs) else []
    present = [share for share in shares if share is not None]
    return float(np.mean(present)) if present else None


def worst_closed(costs: np.ndarray) -> float | None:
    """Least over the seeds; within a seed, the levels with a gap from .65 on are added up."""
    high = [
        LEVELS.index(level)
        for level, share in zip(HIGH, closed(costs) if len(costs) else [], strict=False)
        if share is not None
    ]
    if not high:
        return None
    ignoring, method, floor, _ = costs[:, :, high].sum(axis=2).T
    real = ignoring - floor > LEAST_GAP * floor
    return (
        float(((ignoring - method)[real] / (ignoring - floor)[real]).min()) if real.any() else None
    )


def relative(costs: np.ndarray, to: int = 0) -> np.ndarray:
    """Cost at each level relative to ignoring censoring (0) or to the floor (2), over all seeds."""
    total = costs.sum(axis=0)
    ratio: np.ndarray = total[1] / total[to]
    return ratio


def worst_relative(costs: np.ndarray) -> float:
    """Largest cost relative to ignoring censoring, over seeds and levels."""
    return float((costs[:, 1] / costs[:, 0]).max())
