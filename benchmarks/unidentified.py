"""Where the data say no: what the least censoring, the minimax regret and the expected cost lose.

usage: python benchmarks/unidentified.py [--quick] [--kinds ...] [--seeds 3] [--resume] [--page]

`LatentBand`, told nothing, on the censoring lab, on the bank of cases and on bundled real demand.
One fit explains the sales; each way to decide (`when_unidentified=`) then gives a band and an exact
line, evaluated on the true demand of later days. Regret is what that costs more than the best
decision: of who knows the distribution where it is simulated and linear, otherwise of the same line
trained on the true demand. Beside it stands the certificate, which was computed from sales alone.
Results go to results/unidentified.json after each case, and from there to the page and its plot.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from gap_cases import parts, save
from linear import HERE, setting
from report import head, row
from rich.console import Console
from scenarios import bank, bank_kinds, history_lab
from threadpoolctl import threadpool_limits

from unmet import LinearDecision, Newsvendor
from unmet.censoring import LatentBand
from unmet.simulate import censoring_lab

LEVELS = (0.65, 0.8, 0.95)
WAYS = ("least_censoring", "minimax_regret", "expected_cost")
FEW = 300  # test rows over which a certificate is averaged
LAB = {
    f"lab {family}{', spread by category' if scale else ''}, {words}": (
        family,
        {**scale, **orders},
    )
    for family, scale in (
        ("normal", {}),
        ("logistic", {}),
        ("gamma", {}),
        ("normal", {"scale": "features"}),
    )
    for words, orders in (
        ("never", {"orders": "never"}),
        ("noisy 25%", {"orders": "noisy", "share": 0.25}),
        ("noisy 50%", {"orders": "noisy", "share": 0.5}),
        ("demand history", {"on": "demand"}),
        ("sales history", {"on": "sales", "factor": 1.1}),
    )
}
BANK = tuple(
    kind.name
    for kind in bank_kinds()
    if kind.orders != "plane" and kind.size <= 1100 and kind.panel is None
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="", help="parts of names, joined by ;")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (3)")
    parser.add_argument("--quick", action="store_true", help="the lab alone, one seed")
    parser.add_argument("--resume", action="store_true", help="keep the cases already measured")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.resume |= chosen.page
    wanted, names = parts(chosen.kinds), (*LAB, *BANK)
    chosen.names = [name for name in names if any(part in name.lower() for part in wanted)]
    if not wanted:
        chosen.names = list(LAB if chosen.quick else names)
    if chosen.quick:
        chosen.seeds = 1
    if not chosen.names:
        parser.error(f"kinds must be parts of names; got {chosen.kinds}.")
    return chosen


# --- one case -------------------------------------------------------------------------------------


def measured(name: str, seed: int) -> dict:
    """Draw a case, fit once, decide in three ways; an error is kept as a sentence."""
    if name in LAB:
        family, words = LAB[name]
        lab = history_lab if "on" in words else censoring_lab
        case: Any = lab(family, n=900, n_test=1500, seed=seed, **words)
        known_distribution = True
    else:
        case = bank(name, seed)
        known_distribution = case.kind.mean == "linear"
    train, test = case.train, case.test
    record: dict = {"true": train.share_censored, "rows": len(train), "levels": {}}
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rules warn of what the tables show
            start = time.perf_counter()
            rule = LatentBand(random_state=seed)
            rule.fit(Newsvendor(3, 1), train.features, train.sales)
            record["seconds"] = round(time.perf_counter() - start, 2)
            for level in LEVELS:
                start = time.perf_counter()
                found = decided(rule, level, train, test, known_distribution=known_distribution)
                record["levels"][str(level)] = found
                record["deciding"] = round(time.perf_counter() - start, 2)
    except Exception as error:  # one case must not end the run
        return {**record, "failed": f"{type(error).__name__}: {error}"[:300]}
    return record


def decided(
    rule: LatentBand, level: float, train: Any, test: Any, *, known_distribution: bool
) -> dict:
    """Regret and certificate of each way at one level."""
    cost = Newsvendor.at_level(level)
    rule.when_unidentified = "least_censoring"
    verdict = rule.diagnosis_for(cost).identified
    if rule.model_.data.known or verdict == "yes":
        return {"verdict": verdict}
    if known_distribution:
        best = cost.cost(test.optimum(level), test.demand).mean()
    else:
        line = LinearDecision(cost).fit(train.features, train.demand)
        best = -line.score(test.features, test.demand)
        learned_from = -line.score(train.features, train.demand)
    ignoring = (
        -LinearDecision(cost).fit(train.features, train.sales).score(test.features, test.demand)
    )
    record: dict = {"verdict": verdict, "best": float(best), "ignoring": float(ignoring - best)}
    some = np.linspace(0, len(test) - 1, min(FEW, len(test))).astype(int)
    for way in WAYS:
        rule.when_unidentified = way
        model = LinearDecision(cost, band=rule.band(train.features, cost=cost))
        model.fit(train.features, train.sales)
        decision = model.predict(test.features)
        promised = rule.certificate(test.features[some], cost, decision=decision[some])
        record[way] = {
            "regret": float(cost.cost(decision, test.demand).mean() - best),
            "certificate": float(promised.mean()),
            "decision": float(decision.mean()),
        }
        if not known_distribution:  # later days may differ from those that were learned from
            paid = -model.score(train.features, train.demand)
            record[way]["same days"] = float(paid - learned_from) / float(learned_from)
    return record


def measure(results: dict, path: Path, chosen: argparse.Namespace, console: Console) -> None:
    for seed in range(chosen.seeds):
        for name in chosen.names:
            key = f"{name} | {seed}"
            if key in results["cells"]:
                continue
            results["cells"][key] = record = measured(name, seed)
            save(path, results)
            said = record.get("failed") or [each["verdict"] for each in record["levels"].values()]
            console.print(f"{key}: {said}")


# --- the page -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One case at one level; regrets as shares of what the best decision costs."""

    name: str
    seed: int
    level: float
    true: float
    record: dict

    @property
    def verdict(self) -> str:
        return str(self.record["verdict"])

    @property
    def group(self) -> str:
        """What the sales have in common whose orders differ: a planner knows of no orders."""
        return (
            ", ".join(self.name.split(", ")[:-1])
            if self.name.startswith("lab")
            else (", ".join(self.name.split(", ")[:3]))
        )

    def regret(self, way: str) -> float:
        return self.record[way]["regret"] / self.record["best"]

    def certificate(self, way: str) -> float:
        return self.record[way]["certificate"] / self.record["best"]

    def kept(self, way: str) -> bool:
        return self.regret(way) <= self.certificate(way)

    def kept_same_days(self, way: str) -> bool:
        """The same where days that were learned from are evaluated, as far as they are."""
        return self.record[way].get("same days", self.regret(way)) <= self.certificate(way)

    @property
    def real(self) -> bool:
        return ", real, " in self.name


def read_cells(results: dict) -> list[Cell]:
    return [
        Cell(key.split(" | ")[0], int(key.split(" | ")[1]), float(level), record["true"], found)
        for key, record in results["cells"].items()
        for level, found in record["levels"].items()
        if "least_censoring" in found
    ]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def by(cells: Iterable[Cell], key: str) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(getattr(cell, key), []).append(cell)
    return found


def means(cells: list[Cell], way: str) -> list[float]:
    """Mean regret at each level over the seeds of one kind."""
    levels = sorted({cell.level for cell in cells})
    return [
        float(np.mean([cell.regret(way) for cell in cells if cell.level == level]))
        for level in levels
    ]


def worst_table(cells: list[Cell]) -> list[str]:
    """Of each kind of demand, the largest mean regret over orders and levels."""
    lines = [head(["demand", "cases", *WAYS, "certificate of regret kept", "below least"])]
    for group, mine in by(cells, "group").items():
        worst = {
            way: max(max(means(each, way)) for each in by(mine, "name").values()) for way in WAYS
        }
        kept = float(np.mean([cell.kept("minimax_regret") for cell in mine]))
        hidden = any(cell.true > 0 for cell in mine)
        less = (
            "yes"
            if worst["minimax_regret"] < worst["least_censoring"]
            else ("no" if hidden else "nothing hidden")
        )
        numbers = [percent(worst[way]) for way in WAYS]
        lines.append(row([group, str(len(mine)), *numbers, f"{kept:.0%}", less]))
    return lines


def kinds_table(cells: list[Cell]) -> list[str]:
    """Mean over seeds and levels of each kind."""
    names = ["kind", "sold out", "cases", *WAYS, "certificate of regret", "of least", "kept"]
    lines = [head(names)]
    for name, mine in by(cells, "name").items():
        regret = [percent(float(np.mean([cell.regret(way) for cell in mine]))) for way in WAYS]
        promised = [
            percent(float(np.mean([cell.certificate(way) for cell in mine])))
            for way in ("minimax_regret", "least_censoring")
        ]
        kept = f"{np.mean([cell.kept('regret') for cell in mine]):.0%}"
        share = f"{np.mean([cell.true for cell in mine]):.0%}"
        lines.append(row([name, share, str(len(mine)), *regret, *promised, kept]))
    return lines


def summary(cells: list[Cell]) -> list[str]:
    titles = [*(f"mean {way}" for way in WAYS), *(f"{way} kept" for way in WAYS)]
    lines = [head(["verdict", "cases", *titles])]
    for verdict in ("no", "weakly"):
        for words, mine in (
            ("something hidden", [c for c in cells if c.verdict == verdict and c.true > 0]),
            ("nothing hidden", [c for c in cells if c.verdict == verdict and c.true == 0]),
        ):
            if not mine:
                continue
            regret = [percent(float(np.mean([cell.regret(way) for cell in mine]))) for way in WAYS]
            kept = [f"{np.mean([cell.kept(way) for cell in mine]):.0%}" for way in WAYS]
            lines.append(row([f"{verdict}, {words}", str(len(mine)), *regret, *kept]))
    return lines


def rate(cells: list[Cell], *, same: bool = False) -> str:
    """How often the certificate of minimax regret was kept."""
    kept = [
        cell.kept_same_days("minimax_regret") if same else cell.kept("minimax_regret")
        for cell in cells
    ]
    return f"{np.mean(kept):.0%} ({sum(kept)} of {len(kept)})" if kept else "none"


def write(results: dict, folder: Path) -> None:
    cells = read_cells(results)
    unsure = [cell for cell in cells if cell.verdict == "no"]
    failed = [key for key, record in results["cells"].items() if "failed" in record]
    sure = sum(
        found["verdict"] == "yes"
        for record in results["cells"].values()
        for found in record["levels"].values()
    )
    simulated, real = ([cell for cell in unsure if cell.real == flag] for flag in (False, True))
    page = [
        "# Where the data say no",
        "",
        "Written by `python benchmarks/unidentified.py`. "
        + " ".join(__doc__.split("\n\n")[2].split()),
        "",
        f"{len(results['cells'])} cases at α = {', '.join(map(str, LEVELS))}; the verdict was "
        f"“yes” (all ways are the same there) in {sure}, “no” in {len(unsure)}. Where it was “no” "
        f"the certificate of the least-regret line was kept in {rate(simulated)} of the simulated "
        f"and in {rate(real)} of the real ones; of these in {rate(real, same=True)} if the days "
        "are evaluated that were learned from, since later days may differ whatever was hidden. "
        "Regret and certificate in per cent of what the best decisions cost.",
        "",
        "![Regret of both, and the certificate](unidentified.svg)",
        "",
        *summary(cells),
        "",
        "## The worst over all orders, by demand (verdict “no”)",
        "",
        "Largest regret over orders and levels, in the mean over seeds. Whoever reads “no” does "
        "not know which of these orders it was.",
        "",
        *worst_table(unsure),
        "",
        "## By kind (verdict “no”)",
        "",
        "Rows with 0% sold out show the price of safety: nothing was hidden, and minimax regret "
        "orders more all the same.",
        "",
        *kinds_table(unsure),
        "",
    ]
    if failed:
        page += [
            "## Failed",
            "",
            *(f"- {key}: {results['cells'][key]['failed']}" for key in failed),
        ]
    (folder / "unidentified.md").write_text("\n".join(page).rstrip() + "\n")
    draw(unsure, folder)


def draw(cells: list[Cell], folder: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    for real in (False, True):
        for flag, tone, mark, words in (
            (True, "#0072B2", "o", "some rows sold out"),
            (False, "#D55E00", "^", "nothing was hidden"),
        ):
            mine = [cell for cell in cells if cell.real == real and (cell.true > 0) == flag]
            face, words = (tone, f"{words}, real") if real else ("white", words)
            x, y = (
                [100 * cell.regret(way) for cell in mine]
                for way in ("least_censoring", "minimax_regret")
            )
            look = {"color": tone, "markerfacecolor": face, "markersize": 5, "label": words}
            left.plot(x, y, mark, **look)
            right.plot([100 * cell.certificate("minimax_regret") for cell in mine], y, mark, **look)
    for panel, across in (
        (left, "regret of the least censoring (% of the best cost)"),
        (right, "certificate of the minimax regret (% of the best cost)"),
    ):
        top = max(*panel.get_xlim(), *panel.get_ylim())
        panel.plot([0, top], [0, top], color="#888888", linewidth=1, linestyle=":")
        panel.set_xlabel(across)
        panel.set_ylabel("regret of the minimax regret (% of the best cost)")
        panel.grid(color="#e4e4e4", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    left.set_title("Below the line it loses less", loc="left", fontsize=10)
    right.set_title("Below the line the certificate was kept", loc="left", fontsize=10)
    left.legend(frameon=False, loc="upper right")
    fresh = folder / "unsure.new.svg"
    figure.savefig(fresh, metadata={"Date": None})
    fresh.replace(folder / "unidentified.svg")
    plt.close(figure)


def main() -> None:
    chosen, console = arguments(), Console(stderr=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "unidentified.json"
    results: dict = {"setting": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    if not chosen.page:
        results["setting"] = {**setting(sys.executable), "unmet": version("unmet")}
        measure(results, path, chosen, console)
    write(results, chosen.output)
    console.print(f"{chosen.output / 'unidentified.md'}")


if __name__ == "__main__":
    main()
