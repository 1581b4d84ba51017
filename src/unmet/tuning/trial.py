"""What one combination has come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

State = Literal["complete", "pruned", "failed", "refused"]


@dataclass(frozen=True)
class Trial:
    """One combination of values, and what it costs.

    Attributes
    ----------
    number : int
        From 0, in the order of the search.
    values : dict
        What was sampled, by name.
    cost : float
        Mean of `fold_costs`: for a pruned trial of the folds it has seen; inf for one that has
        failed or was refused.
    fold_costs : tuple of float
    state : {"complete", "pruned", "failed", "refused"}
        Refused is what `build` does not allow.
    sentence : str or None
        Why it has failed.
    """

    number: int
    values: dict[str, Any]
    cost: float
    fold_costs: tuple[float, ...]
    state: State
    sentence: str | None = None


@dataclass(frozen=True)
class Record:
    """A trial as the sampler and a storage know it.

    Attributes
    ----------
    number, fold_costs, state, sentence
        As in `Trial`.
    suggested : dict
        Values as Optuna suggested them.
    notes : dict
        What a pruner of Optuna has written down about the trial.
    """

    number: int
    suggested: dict[str, Any]
    fold_costs: tuple[float, ...]
    state: State
    sentence: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, number: int, suggested: dict[str, Any], outcomes: Sequence[float | str]) -> Record:
        """Gather what the folds have come to: costs, or why there is none."""
        failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
        costs = tuple(np.inf if isinstance(each, str) else each for each in outcomes)
        if failures:
            return cls(number, suggested, costs, "failed", failures[0])
        return cls(number, suggested, costs, "complete")

    @property
    def cost(self) -> float:
        """Mean over the folds."""
        if self.state in ("failed", "refused") or not self.fold_costs:
            return float(np.inf)
        return float(np.mean(self.fold_costs))

    def steps(self) -> dict[int, float]:
        """Mean cost after each fold, as pruners want it."""
        return {i: running_mean(self.fold_costs[: i + 1]) for i in range(len(self.fold_costs))}

    def to_plain(self, coded: Mapping[str, float]) -> dict[str, Any]:
        """Plain values for a storage."""
        return {
            "number": self.number,
            "suggested": dict(coded),
            "fold_costs": list(self.fold_costs),
            "state": self.state,
            "sentence": self.sentence,
            "notes": self.notes,
        }


def running_mean(costs: Sequence[float]) -> float:
    """Mean of the folds seen so far."""
    return float(np.mean(costs))
