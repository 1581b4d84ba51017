"""Early stopping: the cost of rows that are not trained on, and the best parameters so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.networks import Networks
from unmet.solvers.neural.objectives import Index, Objective


class ValidationWatch:
    """Remembers the parameters of each network that were best on its validation rows.

    Parameters
    ----------
    networks : Networks
    inputs : ndarray of shape (n_features, n_rows)
    objective : Objective
        Cost of these rows: insensitive to a band, or realised where their truth is known.
    patience : int
        Looks without improvement after which a network may stop.
    tolerance : float
        Share by which the cost must fall to count as an improvement.
    """

    def __init__(
        self,
        networks: Networks,
        inputs: Floats,
        objective: Objective,
        n_networks: int,
        patience: int,
        tolerance: float,
    ) -> None:
        self._networks, self._inputs, self._objective = networks, inputs, objective
        self._patience, self._tolerance = patience, tolerance
        self._waited = np.zeros(n_networks, dtype=np.intp)
        self._floor = np.full(n_networks, np.inf)
        self.best = np.full(n_networks, np.inf)
        self.parameters = np.zeros((n_networks, networks.layout.n_parameters))

    def look(self, names: Index, parameters: Floats) -> NDArray[np.bool_]:
        """Whether each of these networks may stop."""
        decision = self._networks.decide(parameters.astype(self._inputs.dtype), self._inputs)
        cost: Array = self._objective.networks(names).value(decision)
        cost = np.where(np.isfinite(cost), cost, np.inf)
        better = cost < self.best[names]
        self.parameters[names[better]] = parameters[better]
        self.best[names[better]] = cost[better]
        clearly = cost < self._floor[names] * (1 - self._tolerance)
        self._floor[names[clearly]] = cost[clearly]
        self._waited[names] = np.where(clearly, 0, self._waited[names] + 1)
        return np.asarray(self._waited[names] >= self._patience)
