"""Leaderboards: from `suite.json` to one page, and the numbers that other pages quote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.methods import ORACLE, PLAN_ORACLE, SALES, YARDSTICKS
from benchmarks.suite.scenarios import LEVELS
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

    def scenarios(self, form: str, uncensored: bool = False) -> list[str]:
        """Return the names of measured scenarios, with hidden demand or without."""
        return [
            each
            for each in self.results["scenarios"]
            if form_of(each) == form and each.endswith(" none") == uncensored
        ]

    def methods(self, known: tuple[str, ...], scenarios: list[str]) -> list[str]:
        named, left_out = (key.split(" | ") for key in self.cells), (SALES, ORACLE, PLAN_ORACLE)
        return list(
            dict.fromkeys(
                name
                for scenario, what, name in named
                if what in known and scenario in scenarios and name not in left_out
            )
        )

    def costs(self, scenario: str, known: str, method: str) -> np.ndarray | None:
        """Total cost of each unit and level, (n_units, n_levels)."""
        cell = self.cells.get(f"{scenario} | {known} | {method}")
        if cell is None:
            return None
        weight = np.array(self.results["scenarios"][scenario]["weight"], dtype=float)
        return np.array(cell["cost"]) * weight[:, None]

    def recovered(self, scenario: str, known: str, method: str) -> tuple[float, float] | None:
        """Percent of the avoidable cost that is recovered, and its standard error over models."""
        sales, truth = self.costs(scenario, "nothing", SALES), self.costs(scenario, "truth", ORACLE)
        found = self.costs(scenario, known, method)
        if found is None or sales is None or truth is None:
            return None
        gap = sales.sum(axis=0) >= (1 + MIN_GAP) * truth.sum(axis=0)

        def share(sales: np.ndarray, truth: np.ndarray, cost: np.ndarray) -> float:
            return float(100 * np.mean(((sales - cost) / (sales - truth))[gap]))

        return _jackknife(share, sales, truth, found) if gap.any() else None

    def ratio(self, scenario: str, known: str, method: str) -> tuple[float, float] | None:
        """Cost divided by the oracle's, mean over levels, and its standard error over units."""
        oracle = YARDSTICKS[form_of(scenario)][1]
        found, other = self.costs(scenario, known, method), self.costs(scenario, "truth", oracle)
        if found is None or other is None:
            return None
        return _jackknife(lambda cost, base: float(np.mean(cost / base)), found, other)

    def verdicts(self, uncensored: bool) -> dict[str, int]:
        """Of models told nothing but sales: what was said, and how often that was right."""
        counts = dict.fromkeys(("models", "yes", "weakly", "no", "inside", "sure and wrong"), 0)
        for scenario in self.scenarios("rows", uncensored):
            cell = self.cells.get(f"{scenario} | nothing | unmet, distribution", {})
            shares = self.results["scenarios"][scenario]["true"]
            for said, share in zip(cell.get("said", ()), shares, strict=bool(cell.get("said"))):
                if said is None:
                    continue
                verdict, low, high = said
                inside = low - 1e-3 <= share <= high + 1e-3
                counts["models"] += 1
                counts[verdict] += 1
                counts["inside"] += inside
                counts["sure and wrong"] += verdict == "yes" and not inside
        return counts


def form_of(scenario: str) -> str:
    return next((form for form in ("plan", "shop") if scenario.startswith(f"{form} ")), "rows")


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
    results: Results,
    known: tuple[str, ...],
    scenarios: list[str],
    ratio: bool = False,
    wide: bool = True,
) -> list[str]:
    """Methods from the best mean down; where it is wide, each scenario with its standard error."""
    lines = []
    for method in results.methods(known, scenarios):
        for what in known:
            if ratio:
                found = [results.ratio(each, what, method) for each in scenarios]
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
            shown = [_shown(each, 3) if ratio else _shown(each, 0, "%") for each in found * wide]
            mean = f"{np.mean(values):.3f}" if ratio else f"{np.mean(values):.0f}%"
            incomplete = "" if len(values) == len(scenarios) else "*"
            name = f"**{label}**" if method.startswith("unmet") else label
            worst = max(values) if ratio else min(values)
            cells = [name, mean + incomplete, f"{worst:.3f}" if ratio else f"{worst:.0f}%"]
            lines.append((np.mean(values), _row([*cells, *shown, f"{np.mean(seconds):.2f}"])))
    lines.sort(key=lambda line: line[0] if ratio else -line[0])
    return [
        *_head(["method", "mean", "worst", *scenarios * wide, "CPU seconds"]),
        *(line for _, line in lines),
    ]


def service(results: Results) -> list[str]:
    """Service levels of three methods, by scenario."""
    lines = _head(["scenario", "method", *(f"α = {level:g}" for level in LEVELS)])
    asked = (("truth", ORACLE), ("flags", "Tobit"), ("flags", "unmet, distribution"))
    for scenario in results.scenarios("rows"):
        for known, method in asked:
            cell = results.cells.get(f"{scenario} | {known} | {method}")
            if cell is not None:
                lines.append(_row([scenario, method, *(f"{each:.3f}" for each in cell["served"])]))
    return lines


def losses(results: Results) -> list[str]:
    """Where another method that is told as much or less is ahead, the largest distance first."""
    lines = []
    for scenario in results.results["scenarios"]:
        by_share = form_of(scenario) == "rows" and not scenario.endswith(" none")
        measure = results.recovered if by_share else results.ratio
        for what in ("flags", "log", "orders", "rate", "rate +.15", "rate -.15", "nothing"):
            found = {
                (name, told): value[0] * (1 if by_share else -100)
                for told in dict.fromkeys((what, "nothing"))
                for name in results.methods((told,), [scenario])
                if (value := measure(scenario, told, name)) is not None
            }
            ours = {
                key: value
                for key, value in found.items()
                if key[1] == what and key[0].startswith("unmet")
            }
            if not ours:
                continue
            best, mine = max(found, key=found.__getitem__), max(ours, key=ours.__getitem__)
            behind = found[best] - ours[mine]
            if not best[0].startswith("unmet") and behind > 0:
                values = [
                    f"{value:.0f}%" if by_share else f"{value / -100:.3f}"
                    for value in (found[best], ours[mine])
                ]
                cells = [f"{scenario}, {what}", f"{best[0]} {values[0]}", f"{mine[0]} {values[1]}"]
                lines.append((behind, _row([*cells, f"{behind:.1f}"])))
    lines.sort(key=lambda line: -line[0])
    if not lines:
        return ["Nowhere, among the methods and scenarios that were measured."]
    head = ["scenario, fact", "best method", "best method of `unmet`", "points between them"]
    return [*_head(head), *(line for _, line in lines)]


def write(results: dict[str, Any], path: Path) -> None:
    found, setting = Results(results), results["setting"]
    few = [name for name, each in results["scenarios"].items() if each["quick"]]
    size = f"quick form, few series, of {', '.join(few)}" if few else "full form"
    packages = ", ".join(f"{key} {each}" for key, each in setting.items())
    lines = [
        "# One benchmark of decisions from censored demand",
        "",
        f"Made by `python -m benchmarks.suite` ({size}; {packages}). `benchmarks/README.md` says "
        "how it is measured, how to cite it, and how to add a method or a data set. *A*, *B*: "
        "orders of the mean demand of the last four same weekdays, and of 1.15 × their mean sales; "
        "*hours*: real stock-outs, the truth from hours in stock; *none*: nothing is hidden. "
        "± is one standard error over models, origins or series. \\*: not measured everywhere.",
        *("", "## Where we lose", ""),
        "Scenarios in which another method, told as much or less, is ahead of the best of ours: in "
        "points of the avoidable cost, or of the cost of the oracle.",
        "",
        *losses(found),
    ]
    for title, known in RUNGS.values():
        lines += [
            *("", f"## {title}", ""),
            "Share of the avoidable cost recovered: 0% is the linear model trained on sales, 100% "
            "the same model trained on true demand. Levels α = .65, .75, .85, .95.",
            "",
            *leaderboard(found, known, found.scenarios("rows")),
        ]
    told = ("flags", "log", "orders", "rate", "nothing")
    others = {
        "Nothing is hidden": (("nothing",), "rows", True, "the linear model trained on demand"),
        "Plans of a week": (told, "plan", False, "`unmet plan` shown demand"),
        "Plans where nothing is hidden": (("nothing",), "plan", True, "`unmet plan`"),
        "A shop that lives by its orders": (told, "shop", False, "`unmet plan` shown demand"),
    }
    for title, (known, form, uncensored, base) in others.items():
        board = leaderboard(found, known, found.scenarios(form, uncensored), ratio=True)
        lines += ["", f"## {title}", "", f"Cost divided by that of {base}.", "", *board]
    verdicts = {
        "something is hidden": found.verdicts(uncensored=False),
        "nothing is hidden": found.verdicts(uncensored=True),
    }
    lines += [
        *("", "## Verdicts on sales alone", ""),
        "Whether the data can tell that something is hidden; *inside*: the true share lies in the "
        "interval of the diagnosis.",
        "",
        *_head(["", *verdicts["nothing is hidden"]]),
        *(_row([name, *map(str, each.values())]) for name, each in verdicts.items()),
        *("", "## Service levels", ""),
        "Share of test days on which decisions at the level α met demand; flags known. Demand "
        "changes between training and test, so that the oracle misses its level, too.",
        "",
        *service(found),
        *("", "## Scenarios", ""),
        *_head(["scenario", "units", "rows of a unit", "sold out"]),
        *(
            _row([name, str(each["units"]), f"{each['rows']:,}", _percent(each.get("sold_out"))])
            for name, each in results["scenarios"].items()
        ),
    ]
    write_text(path, "\n".join(lines) + "\n")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"
