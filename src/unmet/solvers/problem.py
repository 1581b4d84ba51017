"""What every linear solver is given, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Features
from unmet.costs.hinge import Kinks


@dataclass(frozen=True)
class HingeProblem:
    """A weighted sum of hinges and penalties in a linear decision.

    Minimise ::

        Σ_i Σ_k [ below_ki (b_ki − z_i)⁺ + above_ki (z_i − b_ki)⁺ ]
            + Σ_j ridge_j θ_j²  +  Σ_j lasso_j |θ_j|

    over θ and the intercept, with z_i = x_i'θ + intercept. Weights and the division by their sum
    are already inside ``below`` and ``above``; ridge and lasso never touch the intercept.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        C-contiguous float64; not copied, not centred, without a column for the intercept.
    kinks : Kinks
        Of shape (n_kinks, n_rows); rows without weight are already dropped.
    fit_intercept : bool
    ridge, lasso : ndarray of shape (n_features,) or None
        Non-negative penalties, one per coefficient.
    """

    features: Features
    kinks: Kinks
    fit_intercept: bool = True
    ridge: Array | None = None
    lasso: Array | None = None

    @property
    def penalised(self) -> bool:
        """Whether coefficients cost anything by themselves."""
        return any(each is not None and bool(each.any()) for each in (self.ridge, self.lasso))

    def objective(self, coefficients: Array, intercept: float) -> float:
        """Value of the objective, summed hinge by hinge."""
        decision = self.features @ coefficients + intercept
        total = float(self.kinks.value(decision).sum())
        if self.ridge is not None:
            total += float(self.ridge @ coefficients**2)
        if self.lasso is not None:
            total += float(self.lasso @ np.abs(coefficients))
        return total


@dataclass(frozen=True)
class Solution:
    """A minimiser and its certificate.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
    intercept : float
    objective : float
        Value of the training problem at the returned parameters.
    gap : float
        Duality gap: no parameters have an objective below ``objective - gap``
        (up to ``residual``). ``nan`` where the method proves nothing (mini-batch descent).
    residual : float
        How far the dual point is from feasible, in units of the objective; ``nan`` likewise.
    iterations : int
        Interior-point iterations or epochs.
    passes : float
        How many times all rows of the features were read outside those iterations.
    method : str
        What actually ran, e.g. ``"interior point"``, ``"screened interior point"``, ``"highs"``.
    """

    coefficients: Array
    intercept: float
    objective: float
    gap: float
    residual: float
    iterations: int
    passes: float
    method: str


# --- The same as the interior point sees it: a list of hinges.


class Hinges(NamedTuple):
    """One entry per kink: its slopes (of positive sum) and the weight of its row."""

    position: Array
    below: Array
    above: Array
    weight: Array

    def take(self, index: NDArray[np.intp]) -> Hinges:
        """Return some of the kinks."""
        return Hinges(*(each[index] for each in self))
