"""Copies, files and other processes: a cost must come back as it was."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from unmet.costs.checking.report import Finding
from unmet.costs.checking.trial import Trial, place


def check_copies(trial: Trial) -> Iterator[Finding]:
    """Compare copies: equal, of the same hash, and as dear."""
    ways: dict[str, Callable[[Any], Any]] = {"copy.deepcopy": copy.deepcopy}
    if _found_by_name(type(trial.cost)):
        ways["pickle"] = lambda cost: pickle.loads(pickle.dumps(cost))
    else:
        yield Finding(
            "copies",
            "note",
            f"pickle was not tried, as {type(trial.cost).__qualname__} is not defined at the top "
            "of a module: models that hold it cannot be saved.",
        )
    for name, way in ways.items():
        sentence = _fault(trial, name, way)
        if sentence:
            yield Finding("copies", "broken", sentence)
            return
    yield Finding("copies", "kept", f"equal after {' and '.join(ways)}")


def _found_by_name(kind: type) -> bool:
    """Whether pickle would find the class again."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _fault(trial: Trial, name: str, way: Callable[[Any], Any]) -> str | None:
    cost, truth = trial.cost, trial.truth
    try:
        made = way(cost)
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        return f"a cost must survive {name}, got {type(error).__name__}: {said}."
    decision = truth + 0.1 * trial.unit
    before, after = cost.loss(decision, truth), made.loss(decision, truth)
    if not np.array_equal(before, after):
        row = int(np.argmax(before != after))
        return (
            f"a cost must cost the same after {name}, got {after[row]:.6g} instead of "
            f"{before[row]:.6g} at {place(decision=decision[row], truth=truth[row])}."
        )
    try:
        same = bool(made == cost) and hash(made) == hash(cost)
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        return (
            f"a cost must be comparable and have a hash, got {type(error).__name__}: {said} "
            "(decorate it with @dataclass(frozen=True, eq=False))."
        )
    if not same:
        return (
            f"a cost must equal its copy by {name}, and have the same hash, got "
            f"{made!r} for {cost!r} (decorate it with @dataclass(frozen=True, eq=False))."
        )
    return None
