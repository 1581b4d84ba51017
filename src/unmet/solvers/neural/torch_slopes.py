"""Slopes of the cost for torch, which knows nothing of costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from unmet.solvers.neural.objectives import BandObjective, Objective, SquareObjective
from unmet.solvers.neural.torch_devices import load_torch


class Slopes(ABC):
    """Slope of the cost in the decisions of some rows, one network's."""

    @abstractmethod
    def of(self, decision: Any, rows: slice) -> Any:
        """Tensor of slopes of consecutive rows."""


class BandSlopes(Slopes):
    """Slopes that are known from the ends of the bands: computed on the device."""

    def __init__(self, objective: BandObjective, device: Any) -> None:
        torch = load_torch()
        self._square = isinstance(objective, SquareObjective)
        columns = (objective.bottom, objective.top, objective.below, objective.above)
        self._columns = [
            (torch.from_numpy(column[0]).to(device), column.size > 1) for column in columns
        ]

    def of(self, decision: Any, rows: slice) -> Any:
        """0 in the band and on its ends (Prop. LR-grad)."""
        bottom, top, below, above = (
            each[rows] if by_row else each for each, by_row in self._columns
        )
        if self._square:
            return (decision - decision.clamp(bottom, top)).mul_(2 * below)
        return (decision > top) * above - (decision < bottom) * below


class OwnSlopes(Slopes):
    """Slopes of a cost that knows only NumPy: decisions go to it, and slopes come back."""

    def __init__(self, objective: Objective, width: float) -> None:
        self._objective, self._width = objective, np.full(1, width)

    def of(self, decision: Any, rows: slice) -> Any:
        """Central difference over the width."""
        torch = load_torch()
        decided = decision.cpu().numpy()[np.newaxis]
        slope = self._objective.part(rows).slope(decided, self._width)[0]
        return torch.from_numpy(np.ascontiguousarray(slope)).to(decision.device)


def slopes_of(objective: Objective, width: float, device: Any) -> Slopes:
    """Slopes that fit the objective of one network."""
    if isinstance(objective, BandObjective):
        return BandSlopes(objective, device)
    return OwnSlopes(objective, width)
