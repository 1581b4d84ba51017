"""Leaderboards: from `suite.json` to one page, and the numbers that other pages quote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.methods import ORACLE, SALES
from unmet.files import write_text

MIN_GAP = 0.02
"""Levels at which the linear model on sales costs less than this above the oracle are left out."""
RUNGS = {
    "flags": ("Stock-out days are known", ("flags",)),
    "rate": ("Only the stock-out rate is known", ("rate",)),
    "rate wrong": ("The rate is off by 15 points", ("rate +.15", "rate -.15")),
    "nothing": ("Nothing is known but sales", ("nothing",)),
}


class Results:
    """Costs of `suite.json`, and the shares that follow from them."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results, self.cells = results, results["cells"]

    def scenarios(self, uncensored: bool) -> list[str]:
        return [each for each in self.results["scenarios"] if each.endswith(" none") == uncensored]

    def methods(self, known: tuple[str, ...], scenarios: list[str]) -> list[str]:
        named = (key.split(" | ") for key in self.cells)
        return list(
            dict.fromkeys(
                name
                for scenario, what, name in named
                if what in known and scenario in scenarios and name not in (SALES, ORACLE)
            )
        )

    def costs(self, scenario: str, known: str, method: str) -> np.ndarray | None:
        """Total cost of each model and level, (n_models, n_levels)."""
        cell = self.cells.get(f"{scenario} | {known} | {method}")
        if cell is None:
            return None
        return np.array(cell["cost"]) * self._weight(scenario)[:, None]

    def _weight(self, scenario: str) -> np.ndarray:
        return np.array(self.results["scenarios"][scenario]["weight"], dtype=float)

    def recovered(self, scenario: str, known: str, method: str) -> tuple[float, float] | None:
        """Percent of the avoidable cost that is recovered, and its standard error over models."""
        yardsticks = self.costs(scenario, "nothing", SALES), self.costs(scenario, "truth", ORACLE)
        found = self.costs(scenario, known, method)
        if found is None or any(each is None for each in yardsticks):
            return None

        def share(sales: np.ndarray, truth: np.ndarray, cost: np.ndarray) -> float:
            kept = gap
            return float(100 * np.mean(((sales - cost) / (sales - truth))[kept]))

        totals = [each.sum(axis=0) for each in yardsticks]
        gap = totals[0] >= (1 + MIN_GAP) * totals[1]
        return _jackknife(share, *yardsticks, found) if gap.any() else None

    def ratio(self, scenario: str, known: str, method: str, to: str) -> tuple[float, float] | None:
        """Cost divided by that of another method, mean over levels, and its standard error."""
        told = "truth" if to == ORACLE else known
        found, other = self.costs(scenario, known, method), self.costs(scenario, told, to)
        if found is None or other is None:
            return None
        return _jackknife(lambda cost, base: float(np.mean(cost / base)), found, other)


def _jackknife(of: Callable[..., float], *costs: np.ndarray) -> tuple[float, float]:
    """A function of summed costs, and its standard error by leaving out each model once."""
    totals, n = [each.sum(axis=0) for each in costs], len(costs[0])
    value = of(*totals)
    if n < 2:
        return value, float("nan")
    without = np.array(
        [
            of(*(total - each[place] for total, each in zip(totals, costs, strict=True)))
            for place in range(n)
        ]
    )
    return value, float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _head(cells: list[str]) -> list[str]:
    return [_row(cells), "|---|" + "---:|" * (len(cells) - 1)]


def _shown(found: tuple[float, float] | None, digits: int, sign: str = "") -> str:
    if found is None:
        return ""
    value, error = found
    return f"{value:.{digits}f}{sign}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def leaderboard(
    results: Results, known: tuple[str, ...], scenarios: list[str], ratio: bool = False
) -> list[str]:
    """Methods from the best mean down, each with its standard error on each scenario."""
    lines = []
    for method in results.methods(known, scenarios):
        for what in known:
            if ratio:
                found = [results.ratio(each, what, method, ORACLE) for each in scenarios]
            else:
                found = [results.recovered(each, what, method) for each in scenarios]
            values = [each[0] for each in found if each is not None]
            if not values:
                continue
            seconds = [
                cell["seconds"]
                for each in scenarios
                if (cell := results.cells.get(f"{each} | {what} | {method}"))
            ]
            label = f"{method}, {what}" if len(known) > 1 else method
            shown = [_shown(each, 3) if ratio else _shown(each, 0, "%") for each in found]
            mean = f"{np.mean(values):.3f}" if ratio else f"{np.mean(values):.0f}%"
            incomplete = "" if len(values) == len(scenarios) else "*"
            name = f"**{label}**" if method.startswith("unmet") else label
            worst = max(values) if ratio else min(values)
            cells = [name, mean + incomplete, f"{worst:.3f}" if ratio else f"{worst:.0f}%"]
            lines.append((np.mean(values), _row([*cells, *shown, f"{np.mean(seconds):.2f}"])))
    lines.sort(key=lambda line: line[0] if ratio else -line[0])
    return [
        *_head(["method", "mean", "worst", *scenarios, "CPU s a model"]),
        *(line for _, line in lines),
    ]


def losses(results: Results) -> list[str]:
    """Where some other method recovers more than ours does, the largest distance first."""
    lines = []
    for rung, (_, known) in RUNGS.items():
        for what in known:
            for scenario in results.scenarios(uncensored=False):
                found = {
                    method: share[0]
                    for method in results.methods((what,), [scenario])
                    if (share := results.recovered(scenario, what, method))
                }
                ours = {name: each for name, each in found.items() if name.startswith("unmet")}
                if not ours or len(ours) == len(found):
                    continue
                best = max(found, key=found.get)
                mine = max(ours, key=ours.get)
                if best != mine:
                    cells = [f"{rung}, {scenario}", f"{best} {found[best]:.0f}%"]
                    lines.append(
                        (found[best] - ours[mine], _row([*cells, f"{mine} {ours[mine]:.0f}%"]))
                    )
    lines.sort(key=lambda line: -line[0])
    if not lines:
        return ["Nowhere, among the methods and scenarios that were measured."]
    return [*_head(["where", "best", "best of ours"]), *(line for _, line in lines)]


def write(results: dict[str, Any], path: Path) -> None:
    found, setting = Results(results), results["setting"]
    hidden, open_ = found.scenarios(uncensored=False), found.scenarios(uncensored=True)
    size = "quick form, few series" if setting["quick"] else "full form"
    packages = ", ".join(f"{key} {each}" for key, each in setting.items() if key != "quick")
    lines = [
        "# One benchmark of decisions from censored demand",
        "",
        f"Made by `python -m benchmarks.suite` ({size}; {packages}). `benchmarks/README.md` says "
        "how to read it, how to cite it, and how to add a method or a data set.",
        "",
        "## Where we lose",
        "",
        *losses(found),
    ]
    for title, known in RUNGS.values():
        lines += [
            *("", f"## {title}", ""),
            "Share of the avoidable cost recovered: 0% is the linear model trained on sales, 100% "
            "the same model trained on true demand; ± one standard error over models.",
            "",
            *leaderboard(found, known, hidden),
        ]
    lines += [
        *("", "## Nothing is hidden", ""),
        "Cost divided by that of the linear model trained on demand, where sales are demand.",
        "",
        *leaderboard(found, ("nothing",), open_, ratio=True),
        *("", "## Scenarios", ""),
        *_head(["scenario", "models", "rows of a model", "sold out"]),
        *(
            _row([name, str(each["models"]), str(each["rows"]), f"{100 * each['sold_out']:.0f}%"])
            for name, each in results["scenarios"].items()
        ),
    ]
    write_text(path, "\n".join(lines) + "\n")
