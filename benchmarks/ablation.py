"""What each rule, member and constant is worth: switched off, one at a time, on the suite.

usage: python benchmarks/ablation.py [--data FOLDER] [--parts "flags;plan"] [--only "ridge"]

A switch (`ablation_switches.py`) replaces one function or constant of the package, and the cells
of the suite that it can touch are measured again in their quick form. Printed is the change of the
cost on true demand in percent, positive where it is dearer without the part, with its standard
error over scenarios. A switch whose target is gone is named and skipped.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]  # the suite is a package

from benchmarks.ablation_switches import switches  # noqa: E402
from benchmarks.suite.data import DATASETS  # noqa: E402
from benchmarks.suite.methods import PLAN  # noqa: E402
from benchmarks.suite.run import Cell, measure  # noqa: E402
from benchmarks.suite.scenarios import SCENARIOS  # noqa: E402

GROUPS = {
    "flags": ("rows", False, "flags", "unmet, distribution"),
    "rate": ("rows", False, "rate", "unmet, distribution"),
    "nothing": ("rows", False, "nothing", "unmet, distribution"),
    "uncensored": ("rows", True, "nothing", "unmet, distribution"),
    "plan": ("plan", False, "flags", PLAN),
    "shop": ("shop", False, "log", PLAN),
}
"""Form of the scenarios, whether nothing is hidden, what is known, and which method is measured."""


def modules(package: str) -> list[Any]:
    """A package of unmet and all modules in it."""
    top = importlib.import_module(f"unmet.{package}")
    names = pkgutil.walk_packages(getattr(top, "__path__", []), f"{top.__name__}.")
    return [top, *(importlib.import_module(each.name) for each in names)]


def find(target: str) -> tuple[Any, str] | None:
    """The owner and the name of a target; None if it is gone."""
    package, _, path = target.partition(":")
    first, _, rest = path.partition(".")
    try:
        places = [module for module in modules(package) if first in vars(module)]
    except ImportError:
        return None
    # where it was defined, if it can be told; else the first module that has it
    own = [each for each in places if getattr(vars(each)[first], "__module__", "") == each.__name__]
    if not places:
        return None
    owner = (own or places)[0]
    if not rest:
        used = sum(inspect.getsource(each).count(first) for each in modules(package))
        return (owner, first) if used > 1 else None  # a number that nobody reads is gone, too
    owner = getattr(owner, first)
    return (owner, rest) if hasattr(owner, rest) else None


@contextmanager
def switched(changes: dict[str, Callable[[Any], Any]]) -> Iterator[None]:
    """Replace what names stand for, in every module that has imported them."""
    undo: list[tuple[Any, str, Any]] = []
    for target, change in changes.items():
        found = find(target)
        if found is None:
            continue
        owner, name = found
        original = getattr(owner, name)
        new = change(original)
        others = [each for key, each in sys.modules.items() if key.startswith("unmet")]
        for place in [owner] if inspect.isclass(owner) else others:
            if vars(place).get(name) is original:
                undo.append((place, name, original))
                setattr(place, name, new)
    try:
        yield
    finally:
        for place, name, value in undo:
            setattr(place, name, value)


def cells(group: str) -> list[Cell]:
    form, uncensored, known, method = GROUPS[group]
    return [
        Cell(each, known, method)
        for each in SCENARIOS
        if (each.form, each.uncensored) == (form, uncensored)
        and not (each.name in DATASETS and DATASETS[each.name].missing())
    ]


def costs(group: str) -> np.ndarray:
    """Mean cost of each scenario, all levels together."""
    return np.array([np.mean(measure(cell, quick=True)["cost"]) for cell in cells(group)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with sets that are not bundled (or UNMET_DATA)")
    parser.add_argument("--parts", default="", help="parts of names of sections, joined by ;")
    parser.add_argument("--only", default="", help="parts of names of switches, joined by ;")
    parser.add_argument("--list", action="store_true", help="list switches, and which are gone")
    asked = parser.parse_args()
    if asked.data:
        os.environ["UNMET_DATA"] = asked.data

    def among(text: str, wanted: str) -> bool:
        parts = [part.strip().lower() for part in wanted.split(";") if part.strip()]
        return not parts or any(part in text.lower() for part in parts)

    base: dict[str, np.ndarray] = {}
    for switch in switches():
        if not (among(switch.part, asked.parts) and among(switch.name, asked.only)):
            continue
        gone = [target for target in switch.changes if find(target) is None]
        if gone or asked.list:
            print(f"{switch.part} | {switch.name}{' | gone: ' if gone else ''}{', '.join(gone)}")
            continue
        for group in switch.groups:
            if group not in base:
                base[group] = costs(group)
            with switched(switch.changes):
                change = 100 * (costs(group) / base[group] - 1)
            error = change.std(ddof=1) / np.sqrt(change.size) if change.size > 1 else np.nan
            print(
                f"{switch.name} ({switch.lines or '?'} lines) | {group}: {change.mean():+.2f} ± "
                f"{error:.2f} %, worst {change.max():+.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
