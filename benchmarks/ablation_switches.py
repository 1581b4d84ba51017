"""The switches of `ablation.py`: what each replaces, and how.

A target is "package:name" or "package:Class.name"; the name is looked for in all modules of the
package, so that a file may be renamed. A change is a function of what the name stands for. A target
that is no longer there is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Switch:
    """One thing that is switched off.

    Attributes
    ----------
    name, part : str
    groups : tuple of str
        Groups of cells that it can touch.
    changes : dict
        From targets to what is done to them.
    lines : int
        Lines of code that it would free, roughly.
    """

    name: str
    part: str
    groups: tuple[str, ...]
    changes: dict[str, Change] = field(default_factory=dict)
    lines: int = 0


# --- changes --------------------------------------------------------------------------------------


def to(value: Any) -> Change:
    """Another value."""
    return lambda original: value


def gives(value: Any) -> Change:
    """A function that always gives a value."""
    return lambda original: lambda *given, **words: value


def without(*names: str) -> Change:
    """A function that gives families, or policies, without some."""

    def change(original: Any) -> Any:
        def some(*given: Any, **words: Any) -> Any:
            found = original(*given, **words)
            kept = [each for each in found if getattr(each, "name", each) not in names]
            return type(found)(kept or found)

        return some

    return change


def scores(members: Any) -> list[float]:
    return [each.score if each.score is not None else -np.inf for each in members]


def equal_weights(original: Any) -> Any:
    def weigh(members: Any, *given: Any) -> Any:
        order = [int(place) for place in np.argsort(scores(members))[::-1]]
        return order, np.full(len(order), 1.0 / len(order))

    return weigh


def best_alone(original: Any) -> Any:
    return lambda members, *given: ([int(np.argmax(scores(members)))], np.ones(1))


def equal_rows(original: Any) -> Any:
    def made(self: Any, *given: Any, **words: Any) -> None:
        original(self, *given, **words)
        self.weight = np.ones_like(self.weight)

    return made


def of_ones(original: Any) -> Any:
    return lambda *given: np.ones_like(original(*given))


# --- the tables -----------------------------------------------------------------------------------

KNOWN = ("flags", "rate")
NOTHING = ("nothing", "uncensored")


def constant(package: str, **values: Any) -> dict[str, Change]:
    return {f"{package}:{name}": to(value) for name, value in values.items()}


def censoring() -> list[Switch]:
    """The latent model: flags or a rate known, or nothing."""
    tuned = "censoring"
    stack = [
        ("stack (candidate selection instead)", {f"{tuned}:_to_stack": gives([])}, 221),
        (
            "all families of the stack but normal",
            {
                f"{tuned}:plain_families": without(
                    "root_normal", "lognormal", "logistic", "gumbel", "weibull"
                )
            },
            0,
        ),
        ("weights of the stack (equal)", {f"{tuned}:weigh": equal_weights}, 26),
        ("mixing (best member alone)", {f"{tuned}:weigh": best_alone}, 26),
        ("ridge", constant(tuned, RIDGES=(1e-6,)), 0),
        ("search of the ridge (10)", constant(tuned, RIDGES=(10.0,)), 0),
        ("scale that varies, in the stack", {f"{tuned}:_varying_scale": gives(None)}, 22),
    ]
    nothing = [
        ("any smooth distribution (sharper)", {f"{tuned}:sharper": gives(True)}, 0),
        ("order plane", {f"{tuned}:find_order_plane": gives(None)}, 82),
        ("scale that varies", {f"{tuned}:_scale_pattern": gives("constant")}, 37),
        (
            "least censoring of those that tie (best)",
            {f"{tuned}:choose": lambda original: lambda ranked, *given, **words: ranked[0]},
            20,
        ),
    ]
    found = [Switch(name, "flags or a rate", KNOWN, *rest) for name, *rest in stack]
    found += [Switch(name, "nothing known", NOTHING, *rest) for name, *rest in nothing]
    return found


def planning() -> list[Switch]:
    """Plans of orders, and a shop that lives by them."""
    training = "planning:TrainingSet"
    plan = [
        ("imputation of sold-out days", {f"{training}._draw": gives(None)}, 37),
        ("weights by level", {f"{training}.__init__": equal_rows}, 0),
        ("shrinkage to similar series (DRAWN 0)", constant("planning", DRAWN=1e-6), 0),
    ]
    shop = [
        ("imputation of sold-out days", {f"{training}._draw": gives(None)}, 37),
        ("spread: own factor of each series", {"inventory:_factors": of_ones}, 14),
        ("spread: growth over the horizon", {"inventory:_growth": of_ones}, 10),
        ("spread: dependence of periods", {"inventory:_dependence": gives((0.0, 0.0))}, 30),
    ]
    found = [Switch(name, "plan", ("plan",), *rest) for name, *rest in plan]
    found += [Switch(f"shop: {name}", "shop", ("shop",), *rest) for name, *rest in shop]
    return found


def switches() -> list[Switch]:
    """All of them."""
    return [*censoring(), *planning()]
