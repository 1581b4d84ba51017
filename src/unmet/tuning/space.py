"""Where a search may look: intervals, whole numbers and choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any

from unmet.errors import InvalidInput
from unmet.runs import stable_text

_LONG = 60


@dataclass(frozen=True)
class Uniform:
    """Any number from `low` to `high`: U(low, high) of Table searchingSpace.

    Parameters
    ----------
    low, high : float
    log : bool, default=False
        Whether all orders of magnitude are equally likely, as for strengths and learning rates.

    Examples
    --------
    >>> Uniform(0.005, 0.025)
    Uniform(low=0.005, high=0.025, log=False)
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        numbers = all(isinstance(e, Real) and not isinstance(e, bool) for e in ends)
        if not numbers or not all(isfinite(e) for e in ends) or self.low > self.high:
            raise InvalidInput(f"Uniform must have two finite ends, the lower first, got {ends}.")
        if self.log and self.low <= 0:
            raise InvalidInput(f"Uniform must begin above 0 where log is True, got {self.low}.")

    def distribution(self, optuna: Any) -> Any:
        """Give what Optuna calls it."""
        return optuna.distributions.FloatDistribution(
            float(self.low), float(self.high), log=bool(self.log)
        )


@dataclass(frozen=True)
class Whole:
    """Any whole number from `low` to `high`, both included: {low, low + 1, …, high}.

    Parameters
    ----------
    low, high : int
    log : bool, default=False
        Whether all orders of magnitude are equally likely.
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        whole = all(isinstance(e, Integral) and not isinstance(e, bool) for e in ends)
        if not whole or self.low > self.high:
            raise InvalidInput(f"Whole must have two whole ends, the lower first, got {ends}.")
        if self.log and self.low < 1:
            raise InvalidInput(f"Whole must begin at 1 or above where log is True, got {self.low}.")

    def distribution(self, optuna: Any) -> Any:
        """Give what Optuna calls it."""
        return optuna.distributions.IntDistribution(
            int(self.low), int(self.high), log=bool(self.log)
        )


@dataclass(frozen=True)
class Choice:
    """One of some things, in no order: names, tuples, costs, bands, whatever a parameter takes.

    Parameters
    ----------
    options : sequence

    Examples
    --------
    >>> Choice(["l2", "l1", None])
    Choice(options=('l2', 'l1', None))
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if isinstance(self.options, str | Mapping):
            raise InvalidInput(f"Choice must have several options, got {self.options!r:.60}.")
        try:
            object.__setattr__(self, "options", tuple(self.options))
        except TypeError:
            raise InvalidInput(
                f"Choice must have several options, got {self.options!r:.60}."
            ) from None
        if not self.options:
            raise InvalidInput("Choice must have at least one option, got none.")

    @property
    def labels(self) -> tuple[Any, ...]:
        """Options as a storage can keep them: as they are, or by number and what they look like."""
        plain = all(o is None or type(o) in (str, int, float, bool) for o in self.options)
        if plain and len(set(self.options)) == len(self.options):
            return self.options
        return tuple(f"{i}: {stable_text(o):.{_LONG}}" for i, o in enumerate(self.options))

    def distribution(self, optuna: Any) -> Any:
        """Give what Optuna calls it."""
        return optuna.distributions.CategoricalDistribution(self.labels)

    def option(self, label: Any) -> Any:
        """Undo `labels`."""
        return self.options[self.labels.index(label)]


@dataclass(frozen=True)
class Space:
    """All parameters that are searched.

    Attributes
    ----------
    entries : mapping from name to Uniform, Whole, Choice or a distribution of Optuna
    distributions : mapping from name to a distribution of Optuna
    """

    entries: dict[str, Any]
    distributions: dict[str, Any]

    @classmethod
    def read(cls, space: Any, optuna: Any) -> Space:
        """Check what a user gave."""
        if not isinstance(space, Mapping) or not space:
            raise InvalidInput(
                "space must map names to Uniform, Whole or Choice, such as "
                f"{{'strength': Uniform(1e-4, 1, log=True)}}, got {space!r:.60}."
            )
        distributions = {}
        for name, entry in space.items():
            if not isinstance(name, str):
                raise InvalidInput(f"space must have names that are text, got {name!r}.")
            if isinstance(entry, Uniform | Whole | Choice):
                distributions[name] = entry.distribution(optuna)
            elif isinstance(entry, optuna.distributions.BaseDistribution):
                distributions[name] = entry
            else:
                raise InvalidInput(
                    f"space must hold Uniform, Whole, Choice or distributions of Optuna, "
                    f"got {entry!r:.60} for {name}."
                )
        return cls(dict(space), distributions)

    def values(self, suggested: Mapping[str, Any]) -> dict[str, Any]:
        """Give the values that Optuna's suggestions stand for, by name."""
        return {
            name: entry.option(suggested[name]) if isinstance(entry, Choice) else suggested[name]
            for name, entry in self.entries.items()
        }

    def coded(self, suggested: Mapping[str, Any]) -> dict[str, float]:
        """Give suggestions as numbers that survive a file."""
        kinds = self.distributions
        return {name: float(kinds[name].to_internal_repr(suggested[name])) for name in kinds}

    def decoded(self, numbers: Mapping[str, float]) -> dict[str, Any]:
        """Undo `coded`."""
        kinds = self.distributions
        return {name: kinds[name].to_external_repr(numbers[name]) for name in kinds}

    def description(self) -> str:
        """Say in words what is the same for equal spaces, in this process and in the next."""
        kinds = self.distributions
        parts = (f"{name}: {stable_text(e)} {kinds[name]}" for name, e in self.entries.items())
        return "; ".join(parts)
