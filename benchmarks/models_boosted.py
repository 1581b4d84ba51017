"""Boosted trees without a band: the process that `models.py` starts for each package.

usage: python models_boosted.py REQUEST.json

Without a band the insensitive cost is the pinball loss, which LightGBM and scikit-learn can train
on, too. All get the same trees: number, leaves, rate, least rows of a leaf; one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from models_data import curved
from models_stopwatch import Stopwatch, serve

from unmet import BoostedDecision, Newsvendor
from unmet.simulate import store10

TREES, LEAVES, RATE, LEAST = 100, 31, 0.1, 20
PACKAGES = {"unmet": "unmet", "LightGBM": "lightgbm", "scikit-learn": "scikit-learn"}

Model = Any
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def measure(request: dict) -> dict:
    make = MAKERS[request["method"]]
    features, truth, test_features, test_truth = load(request)
    make(0.5).fit(features[:500], truth[:500])  # loads what packages load lazily
    fits = []
    for level in request["levels"]:
        cost, best = Newsvendor.at_level(level), None
        for _ in range(3 if len(features) < 50_000 else 1):
            with Stopwatch() as monitor:
                model = make(level).fit(features, truth)
            if best is None or monitor.cpu < best.cpu:
                best = monitor
        fits.append(
            {
                "level": level,
                **best.record(),
                "training": float(cost.cost(model.predict(features), truth).mean()),
                "realised": float(cost.cost(model.predict(test_features), test_truth).mean()),
            }
        )
    package = next(name for start, name in PACKAGES.items() if request["method"].startswith(start))
    return {"fits": fits, "versions": {package: version(package)}}


def load(request: dict) -> Data:
    """Demand itself, never censored: the question here is who learns quantiles best."""
    if request["case"] == "store-10":
        data = store10(request["seed"], clip=False)
        return data.train.features, data.train.demand, data.test.features, data.test.demand
    return (
        *curved(request["rows"], request["seed"]),
        *curved(20_000, request["seed"] + 1_000_000),
    )


def ours(level: float) -> Model:
    return BoostedDecision(
        Newsvendor.at_level(level),
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=LEAST,
        random_state=0,
    )


def lightgbm(level: float) -> Model:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        objective="quantile",
        alpha=level,
        n_estimators=TREES,
        num_leaves=LEAVES,
        learning_rate=RATE,
        min_child_samples=LEAST,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    )


def sklearn(level: float) -> Model:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        loss="quantile",
        quantile=level,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=LEAST,
        early_stopping=False,
        random_state=0,
    )


MAKERS: dict[str, Callable[[float], Model]] = {
    "unmet": ours,
    "LightGBM quantile": lightgbm,
    "scikit-learn HistGradientBoosting": sklearn,
}


if __name__ == "__main__":
    serve(measure)
