"""Models of every kind, small, for the tests of saving."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unmet import (
    AgeReplacement,
    AuditedBand,
    Band,
    BoostedDecision,
    CustomPricing,
    FixedBand,
    LatentBand,
    Limits,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    OrderRuleDetection,
    PreventiveReplacement,
    SearchedBand,
    SquaredError,
    TieredCost,
)
from unmet.solvers.descent.minibatch import MiniBatchOptions

N = 160
_generator = np.random.default_rng(8)
X = _generator.uniform(size=(N, 3))
DEMAND = 50 + X @ [30, -20, 5] + _generator.normal(scale=8, size=N)
ORDER = 56 + X @ [20, -20, 5] + _generator.normal(scale=3, size=N)
SALES = np.minimum(DEMAND, ORDER)
CENSORED = DEMAND > ORDER
BENT = 50 + 30 * (X[:, 0] > 0.5) * (X[:, 1] > 0.3) + _generator.normal(scale=3, size=N)
COST = Newsvendor(underage=9, overage=1)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    store=np.where(X[:, 0] > 0.6, "north", "south")
)


def _linear(band=None, cost=COST, given=None, y=SALES, rows=X, **parameters):
    return lambda: LinearDecision(cost, band, **parameters).fit(rows, y, **(given or {}))


def _neural(band=None, cost=COST, y=SALES, **parameters):
    made = {"random_state": 0, "max_iter": 3, "hidden_layer_sizes": (3,), **parameters}
    return lambda: NeuralDecision(cost, band, **made).fit(X, y)


def _boosted(band=None, cost=COST, y=SALES, rows=X, **parameters):
    made = {"max_iter": 4, "random_state": 0, **parameters}
    return lambda: BoostedDecision(cost, band, **made).fit(rows, y)


def _latent(**parameters):
    return LatentBand(**{"families": "normal", "random_state": 0, **parameters})


def _limited():
    low = 10 * np.floor(DEMAND / 10)
    return LinearDecision(COST, _latent()).fit(X, low, censored=Limits(low, low + 10))


def _pipeline():
    return make_pipeline(StandardScaler(), LinearDecision(COST, _latent())).fit(X, SALES)


def _columns():
    parts = [("scaled", StandardScaler(), ["a", "b", "c"]), ("store", OneHotEncoder(), ["store"])]
    return make_pipeline(ColumnTransformer(parts), LinearDecision(COST)).fit(TABLE, SALES)


FLAGS = {"censored": CENSORED}
MADE = {
    "exact": _linear(),
    "minibatch": _linear(solver="minibatch", random_state=0),
    "minibatch options": _linear(
        solver="minibatch", minibatch=MiniBatchOptions(), random_state=np.random.RandomState(3)
    ),
    "weights and costs by row": _linear(
        given={"underage": 2 + X[:, 0], "sample_weight": 1 + X[:, 1]}
    ),
    "pricing": _linear(cost=CustomPricing(3, 1)),
    "tiered": _linear(cost=TieredCost((3, 5), 1, underage_breaks=4)),
    "preventive": _linear(cost=PreventiveReplacement(1, 3), solver="smoothed"),
    "age": _linear(cost=AgeReplacement(1, 3, rate=0.1), solver="smoothed"),
    "squared": _linear(cost=SquaredError()),
    "band by row": _linear(Band(X[:, 0], 3 + X[:, 0])),
    "fixed": _linear(FixedBand(0, 0.1)),
    "searched": _linear(SearchedBand(n_folds=2, n_trials=5, random_state=0)),
    "audited": _linear(AuditedBand(X[:90], SALES[:90], DEMAND[:90])),
    "latent": _linear(_latent(families=("normal", "gumbel"))),
    "latent rate": _linear(_latent(sellout_rate=(0.3, 0.5))),
    "latent flags": _linear(_latent(), given=FLAGS),
    "latent limits": _limited,
    "latent regressor": _linear(_latent(location=LinearRegression())),
    "latent series": _linear(
        _latent(order_rule=OrderRuleDetection(random_state=0)),
        given={"time": np.arange(N) // 2, "series": np.array(["x", "y"] * (N // 2))},
    ),
    "trees": _boosted(_latent(), y=np.minimum(BENT, 80)),
    "network": _neural(),
    "network band": _neural(_latent(location=None), solver="adam"),
    "published": lambda: NeuralDecision.published(COST, random_state=0, max_iter=2).fit(X, SALES),
    "boosted": _boosted(),
    "boosted table": _boosted(rows=TABLE),
    "pipeline": _pipeline,
    "columns": _columns,
}


@cache
def made(name):
    """Fit once for all tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the degeneracy of SearchedBand, few audited rows
        return MADE[name]()


def rows_for(name):
    """Rows that this model can decide for."""
    if name in ("columns", "boosted table"):
        return TABLE
    return X
