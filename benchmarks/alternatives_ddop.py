"""Fit an estimator of ddop on rows written by alternatives_methods.py; needs none of our code.

usage: python alternatives_ddop.py ESTIMATOR FOLDER

ddop imports TensorFlow for its network even if that is not used. A stand-in takes its place, so
that gigabytes need not be installed; the network is therefore not measured.
"""

import os
import sys
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np

for name in ("keras.models", "keras.layers", "keras.backend", "random", "keras"):
    sys.modules[f"tensorflow.{name}"] = MagicMock()
sys.modules["tensorflow"] = MagicMock()

import ddop.newsvendor  # noqa: E402

OPTIONS = {"RandomForestWeightedNewsvendor": {"random_state": 0, "n_estimators": 100}}


def main(estimator, folder):
    n, p, n_test, *levels = np.fromfile(folder / "shape")
    n, p, n_test = int(n), int(p), int(n_test)
    X = np.fromfile(folder / "X").reshape(p, n).T
    X_test = np.fromfile(folder / "X_test").reshape(p, n_test).T
    sales = np.fromfile(folder / "sales")
    kind = getattr(ddop.newsvendor, estimator)
    decided, before = [], os.times()
    for level in levels:
        model = kind(cu=level, co=1 - level, **OPTIONS.get(estimator, {}))
        decided.append(np.asarray(model.fit(X, sales).predict(X_test), dtype=float).ravel())
    seconds = sum(os.times()[:4]) - sum(before[:4])  # with the solver, which is another process
    np.array(decided).tofile(folder / "decisions")
    (folder / "seconds").write_text(str(seconds))


if sys.argv[1] != "check":
    main(sys.argv[1], Path(sys.argv[2]))
