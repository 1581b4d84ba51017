"""Saved networks decide as before, bit for bit, and need nothing but NumPy."""

import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from hilly import hill_rows

from unmet import Band, NeuralDecision, Newsvendor, SquaredError
from unmet.censoring import FixedBand

X, S, _ = hill_rows(80)


def _fitted(kind):
    cost, common = Newsvendor(4, 1), {"random_state": 0, "max_iter": 5}
    if kind == "partial":
        return NeuralDecision(cost, solver="adam", random_state=0).partial_fit(X, S)
    if kind == "per row":
        return NeuralDecision(cost, Band(0, S / 9), **common).fit(X, S, underage=S)
    if kind == "stopped":
        return NeuralDecision(SquaredError(), early_stopping=True, dtype="float64", **common).fit(
            X, S
        )
    return NeuralDecision(cost, FixedBand(0.0, 3.0), **common).fit(X, S)


KINDS = ["partial", "per row", "stopped", "rule"]


def _same(again, model):
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decide(X, step=7), model.decide(X, step=7))
    assert again.training_cost_ == model.training_cost_
    assert again.cost_ == model.cost_
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize("kind", KINDS)
def test_pickle_and_joblib(kind):
    model = _fitted(kind)
    _same(pickle.loads(pickle.dumps(model)), model)
    memory = io.BytesIO()
    joblib.dump(model, memory)
    memory.seek(0)
    _same(joblib.load(memory), model)


def test_a_saved_model_loads_without_torch(tmp_path):
    model = _fitted("stopped")
    path, rows = tmp_path / "model.pickle", tmp_path / "rows.npy"
    path.write_bytes(pickle.dumps(model))
    np.save(rows, X)
    program = (
        "import pickle, sys, numpy as np\n"
        f"model = pickle.load(open({str(path)!r}, 'rb'))\n"
        f"print(model.predict(np.load({str(rows)!r})).tobytes().hex())\n"
        "assert not {'torch', 'lightgbm'} & sys.modules.keys(), 'imported'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert bytes.fromhex(done.stdout.strip()) == model.predict(X).tobytes()
