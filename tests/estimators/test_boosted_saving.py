"""Saved and loaded, decisions are the same to the last bit; LightGBM is only needed to decide."""

from __future__ import annotations

import copy
import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io

from unmet import Band, FixedBand, Newsvendor, SquaredError
from unmet.errors import MissingPackage
from unmet.estimators.boosted import BoostedDecision

SENTENCE = "BoostedDecision needs lightgbm: install it with pip install 'lightgbm>=4.5'."


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    store = generator.choice(["north", "south", "harbour"], 400)
    price = np.where(generator.random(400) < 0.1, np.nan, generator.uniform(1, 3, 400))
    X = pd.DataFrame({"store": store, "price": price, "size": generator.normal(size=400)})
    return X, 10 * (store == "south") + X["size"].to_numpy() ** 2 + generator.gamma(2.0, 3.0, 400)


@pytest.fixture(
    scope="module",
    params=[
        {"cost": Newsvendor(3, 1)},
        {"cost": SquaredError(), "band": Band(1, 4), "early_stopping": True},
        {"cost": Newsvendor(9, 1), "band": FixedBand(0.0, 2.0), "options": {"max_bin": 63}},
        {"min_samples_leaf": 300},
    ],
    ids=["newsvendor", "stopped early", "rule", "no tree"],
)
def model(request, table):
    return BoostedDecision(max_iter=12, random_state=0, **request.param).fit(*table)


def _by_skops(model):
    saved = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=saved)
    assert types
    assert all(name.startswith("unmet.") for name in types)
    return skops.io.loads(saved, trusted=types)


def _by_joblib(model, path):
    joblib.dump(model, path / "model")
    return joblib.load(path / "model")


def test_decisions_survive(model, table, tmp_path):
    X, _ = table
    expected = model.predict(X)
    for name, loaded in {
        "pickle": pickle.loads(pickle.dumps(model)),
        "copy": copy.deepcopy(model),
        "joblib": _by_joblib(model, tmp_path),
        "skops": _by_skops(model),
    }.items():
        assert np.array_equal(loaded.predict(X), expected), name
        assert np.array_equal(loaded.decide(X, step=3), model.decide(X, step=3)), name
        assert loaded.trees_.text == model.trees_.text
        assert loaded.trees_.start == loaded.baseline_ == model.baseline_


def test_what_is_saved_is_text(model):
    state = model.trees_.__getstate__()
    assert {name: type(value) for name, value in state.items()} == {"text": str, "start": float}


def test_saved_trees_are_lightgbms(table):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table
    numbers = X[["price", "size"]].to_numpy()
    model = BoostedDecision(Newsvendor(3, 1), max_iter=12).fit(numbers, y)
    booster = lightgbm.Booster(model_str=model.trees_.text)
    assert booster.num_trees() == model.n_iter_ == 12
    theirs = booster.predict(numbers, num_threads=1) + model.baseline_
    assert np.array_equal(theirs, model.predict(numbers))


def test_lightgbm_is_missing(table, monkeypatch):
    X, y = table
    model = BoostedDecision(max_iter=2).fit(X, y)
    fresh = BoostedDecision()
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    for attempt in (lambda: fresh.fit(X, y), lambda: pickle.loads(pickle.dumps(model)).predict(X)):
        with pytest.raises(MissingPackage) as caught:
            attempt()
        assert str(caught.value) == SENTENCE
        assert isinstance(caught.value, ImportError)
    assert not [name for name in vars(fresh) if name.endswith("_")]
