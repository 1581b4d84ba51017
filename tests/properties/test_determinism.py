"""The same rows and seed give the same decisions, bit by bit, in any process and any copy."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pytest
from sales_table import sales_table

import unmet
from unmet import BoostedDecision, LatentBand, LinearDecision, NeuralDecision, Newsvendor, OrderPlan

COST = Newsvendor(underage=4, overage=1)
MODELS = {
    "exact": lambda: LinearDecision(COST),
    "minibatch": lambda: LinearDecision(COST, solver="minibatch", random_state=0),
    "latent": lambda: LinearDecision(COST, band=LatentBand(families="normal", random_state=0)),
    "neural": lambda: NeuralDecision(COST, max_iter=5, random_state=0),
    "boosted": lambda: BoostedDecision(COST, max_iter=20, n_jobs=2, random_state=0),
}


def rows(name="exact", n_columns=12):
    n_rows = 300 if name == "latent" else 3_000
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_rows, n_columns))
    demand = 50 + X @ np.arange(n_columns) + 5 * generator.standard_normal(n_rows)
    return X, np.minimum(demand, 70 + 9 * generator.standard_normal(n_rows))


def digest(*values):
    return hashlib.sha256(
        b"".join(np.ascontiguousarray(each).tobytes() for each in values)
    ).hexdigest()


def fitted(name):
    return MODELS[name]().fit(*rows(name))


def decided():
    """Digests of the decisions of every model, and of a plan's orders."""
    found = {name: digest(fitted(name).predict(rows()[0])) for name in MODELS}
    table = sales_table(60).drop("demand", "kind", "margin", "weight")
    orders = OrderPlan(random_state=0).fit(table).orders()
    return found | {"plan": hashlib.sha256(orders.write_csv().encode()).hexdigest()}


def test_processes_and_threads_do_not_change_a_bit():
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(map(str, (Path(__file__).parent, root / "tests", root / "src")))
    said = set()
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "PYTHONHASHSEED")
        environment = {**os.environ, **dict.fromkeys(names, threads), "PYTHONPATH": paths}
        code = "import test_determinism as t; print(t.decided())"
        command = [sys.executable, "-c", code]
        said.add(subprocess.check_output(command, env=environment, text=True))
    assert len(said) == 1
    assert said == {f"{decided()}\n"}


@pytest.mark.parametrize("name", MODELS)
def test_copies_of_a_model_decide_the_same(name, tmp_path):
    model, (X, _) = fitted(name), rows()
    expected = digest(model.predict(X))
    stream = BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    copies = {
        "saved": unmet.load(unmet.save(model, tmp_path / "model.unmet")),
        "pickled": pickle.loads(pickle.dumps(model)),
        "joblib": joblib.load(stream),
    }
    assert {how: digest(each.predict(X)) for how, each in copies.items()} == dict.fromkeys(
        copies, expected
    )


def _again(model, X, answer):
    answer.put((digest(model.predict(X)), digest(fitted("boosted").predict(X))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_trees_decide_and_are_fitted_in_a_forked_process():
    model, (X, _) = fitted("boosted"), rows()
    expected = digest(model.predict(X))  # threads of LightGBM have been started
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    process = context.Process(target=_again, args=(model, X, answer), daemon=True)
    process.start()
    try:
        assert answer.get(timeout=120) == (expected, expected)
    finally:
        process.kill()
