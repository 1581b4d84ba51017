"""Fitted trees, kept as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unmet.band import Array
from unmet.errors import MissingPackage
from unmet.solvers.problem import Features


def load_lightgbm() -> Any:
    """Import LightGBM, an extra of this package."""
    try:
        import lightgbm
    except ImportError:
        raise MissingPackage.for_extra("BoostedDecision", "lightgbm", "boost") from None
    return lightgbm


class Trees:
    """Decisions of boosted trees: ``start`` plus the sum of the trees' leaves.

    Only text and a number are pickled, so that a saved model holds nothing but what can be read.
    LightGBM writes 17 digits: what is read back is the same to the last bit.

    Parameters
    ----------
    text : str
        LightGBM's own format, for ``lightgbm.Booster(model_str=...)``; empty if there is no tree.
    start : float
        Decision before the first tree.
    """

    def __init__(self, text: str, start: float) -> None:
        self.text = text
        self.start = start
        self._booster: Any = None

    def predict(self, features: Features, n_threads: int = 1) -> Array:
        """Decide for each row.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features), or csr_array
        n_threads : int, default=1
            The result does not depend on it.
        """
        lightgbm = load_lightgbm()
        if not self.text:
            return np.full(features.shape[0], self.start)
        if self._booster is None:
            self._booster = lightgbm.Booster(model_str=self.text)
        leaves = self._booster.predict(as_lightgbm(features), raw_score=True, num_threads=n_threads)
        return np.asarray(leaves + self.start)

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "start": self.start}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def as_lightgbm(features: Features) -> Any:
    """Give features in a form that every version of LightGBM takes; not copied."""
    return sparse.csr_matrix(features) if sparse.issparse(features) else features
