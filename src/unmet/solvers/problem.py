"""Input and result of every linear solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Features
from unmet.costs.hinge import Kinks


@dataclass(frozen=True)
class HingeProblem:
    """Weighted sum of hinges and penalties in a linear decision.

    Minimise ::

        Σ_i Σ_k [ below_ki (b_ki − z_i)⁺ + above_ki (z_i − b_ki)⁺ ]
            + Σ_j ridge_j θ_j²  +  Σ_j lasso_j |θ_j|

    over θ and the intercept, with z_i = x_i'θ + intercept. ``below`` and ``above`` already contain
    the weights and the division by their sum. Ridge and lasso never apply to the intercept.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        C-contiguous float64 features, not copied, not centered, without a column for the intercept.
    kinks : Kinks
        Hinges of shape (n_kinks, n_rows), without rows of weight zero.
    fit_intercept : bool
        Whether to fit an intercept.
    ridge, lasso : ndarray of shape (n_features,) or None
        Non-negative penalties, one per coefficient. Larger values shrink coefficients more.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.solvers.problem import HingeProblem
    >>> sales = np.array([2.0, 3.0, 5.0, 11.0, 7.0])
    >>> kinks = Newsvendor(3, 1).kinks(sales, sample_weight=np.full(5, 0.2))
    >>> problem = HingeProblem(np.arange(5.0)[:, None], kinks)
    >>> round(problem.objective(np.array([3.0]), 2.0), 6)
    2.4
    """

    features: Features
    kinks: Kinks
    fit_intercept: bool = True
    ridge: Array | None = None
    lasso: Array | None = None

    @property
    def penalised(self) -> bool:
        """Whether any coefficient has a penalty."""
        return any(each is not None and bool(each.any()) for each in (self.ridge, self.lasso))

    def objective(self, coefficients: Array, intercept: float) -> float:
        """Evaluate the objective, hinge by hinge.

        Parameters
        ----------
        coefficients : ndarray of shape (n_features,)
            Coefficients θ.
        intercept : float
            Intercept.
        """
        decision = self.features @ coefficients + intercept
        total = float(self.kinks.value(decision).sum())
        if self.ridge is not None:
            total += float(self.ridge @ coefficients**2)
        if self.lasso is not None:
            total += float(self.lasso @ np.abs(coefficients))
        return total


@dataclass(frozen=True)
class Solution:
    """Minimiser and its certificate.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        Coefficients θ.
    intercept : float
        Intercept.
    objective : float
        Value of the training problem at these parameters.
    gap : float
        Duality gap: no parameters have an objective below ``objective - gap`` (up to ``residual``).
        ``nan`` if the method proves nothing (mini-batch descent).
    residual : float
        Distance of the dual point from feasibility, in units of the objective; ``nan`` likewise.
    iterations : int
        Interior-point iterations or epochs.
    passes : float
        Number of times that all rows of the features were read outside those iterations.
    method : str
        Method that ran, such as ``"interior point"``, ``"screened interior point"``, ``"highs"``.

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> model = LinearDecision(Newsvendor(3, 1)).fit([[1], [2], [3], [4]], [11, 19, 31, 39])
    >>> solution = model.solution_
    >>> bool(solution.gap <= 1e-9 * solution.objective), solution.method
    (True, 'interior point')
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
