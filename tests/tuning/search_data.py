"""Small data and models that the tests of the search share."""

import numpy as np

from unmet import LinearDecision, Newsvendor
from unmet.tuning import Uniform

COST = Newsvendor(underage=4, overage=1)
STRENGTH = {"strength": Uniform(1e-4, 10.0, log=True)}


def rows(n=60, seed=0):
    """Features, sales and demand; sales are cut at an order."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    demand = 20 + X @ [3.0, -2.0, 0.0] + generator.gamma(2.0, 3.0, size=n)
    return X, np.minimum(demand, 24.0), demand


def ridge(cost=COST, band=None, **parameters):
    return LinearDecision(cost, band, penalty="l2", **parameters)


class Counted(LinearDecision):
    """Counts its fits, wherever its copies are made."""

    fits = 0

    def fit(self, X, y, **known):
        type(self).fits += 1
        return super().fit(X, y, **known)


def shortfall_cost(decision, truth, underage, overage):
    """Newsvendor cost of each row, written without the package."""
    return np.array(
        [
            u * (d - q) if d > q else o * (q - d)
            for q, d, u, o in zip(decision, truth, underage, overage, strict=True)
        ]
    )
