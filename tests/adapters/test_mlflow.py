"""MLflow's flavours: what is loaded decides the same, to the last bit."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmet import (
    BoostedDecision,
    DistributionDecision,
    LatentBand,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
)
from unmet.adapters import mlflow as ours
from unmet.errors import InvalidInput, Unsupported

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
mlflow = pytest.importorskip("mlflow")
pyfunc = pytest.importorskip("mlflow.pyfunc")

# other packages warn of themselves
pytestmark = pytest.mark.filterwarnings("default:::(?!unmet)")

_generator = np.random.default_rng(4)
X = pd.DataFrame(_generator.uniform(size=(300, 3)), columns=["warmth", "price", "day"])
DEMAND = 50 + X.to_numpy() @ [30, -20, 5] + _generator.normal(scale=8, size=300)
SALES, SOLD_OUT = np.minimum(DEMAND, 62), DEMAND > 62
NEW = pd.DataFrame(_generator.uniform(size=(50, 3)), columns=X.columns)
COST = Newsvendor(underage=9, overage=1)
RULE = LatentBand(families="normal", random_state=0)

MODELS = {
    "line": lambda: LinearDecision(COST, RULE).fit(X, SALES, censored=SOLD_OUT),
    "distribution": lambda: DistributionDecision(COST, RULE).fit(X, SALES, censored=SOLD_OUT),
    "network": lambda: NeuralDecision(COST, max_iter=3, random_state=0).fit(X, SALES),
    "trees": lambda: BoostedDecision(COST, max_iter=5, random_state=0).fit(X, SALES),
    "pipeline": lambda: make_pipeline(StandardScaler(), LinearDecision(COST)).fit(X, SALES),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MLflow keeps its runs below the current folder unless it is told another place."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", MODELS)
def test_saved_without_a_pickle(kind, tmp_path):
    model, folder = MODELS[kind](), tmp_path / "model"
    assert ours.save_model(model, folder) == folder
    expected = model.predict(NEW)
    np.testing.assert_array_equal(pyfunc.load_model(str(folder)).predict(NEW), expected)
    again = ours.load_model(folder)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(NEW), expected)
    assert not [each for each in folder.rglob("*") if each.suffix in (".pkl", ".pickle")]
    needed = (folder / "requirements.txt").read_text(encoding="utf-8")
    assert "unmet==" in needed
    assert "scikit-learn==" in needed


def test_decides_in_lots(tmp_path):
    model, lots = MODELS["line"](), {"step": 6, "lower": 0, "minimum": 30}
    ours.save_model(model, tmp_path / "model", model_config=lots)
    loaded = pyfunc.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(NEW), model.decide(NEW, **lots))
    other = pyfunc.load_model(str(tmp_path / "model"), model_config={"step": 10})
    expected = model.decide(NEW, step=10, lower=0, minimum=30)
    np.testing.assert_array_equal(other.predict(NEW), expected)


def test_logged_with_a_signature(tmp_path):
    model = MODELS["line"]()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    experiment = mlflow.create_experiment("orders", artifact_location=(tmp_path / "a").as_uri())
    with mlflow.start_run(experiment_id=experiment):
        signature = mlflow.models.infer_signature(X, model.predict(X))
        info = ours.log_model(model, "orders", signature=signature)
    loaded = pyfunc.load_model(info.model_uri)
    np.testing.assert_array_equal(
        loaded.predict(NEW[["day", "price", "warmth"]]), model.predict(NEW)
    )
    assert ours.load_model(info.model_uri).diagnosis_ == model.diagnosis_


def test_a_cost_of_ones_own(tmp_path, monkeypatch):
    source = (
        "from dataclasses import dataclass\n"
        "from unmet.costs import PiecewiseLinearCost, Slopes\n"
        "@dataclass(frozen=True, eq=False)\n"
        "class Taxed(PiecewiseLinearCost):\n"
        "    margin: float\n"
        "    @property\n"
        "    def slopes(self):\n"
        "        return Slopes(below=self.margin, above=1.0)\n"
    )
    (tmp_path / "my_taxed_costs.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_taxed_costs

    model, name = LinearDecision(my_taxed_costs.Taxed(4.0)).fit(X, SALES), "my_taxed_costs.Taxed"
    ours.save_model(model, tmp_path / "model", trusted=[name])
    loaded = pyfunc.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert ours.load_model(tmp_path / "model", trusted=[name]).cost.margin == 4.0
    with pytest.raises(InvalidInput, match=r"asks for my_taxed_costs\.Taxed"):
        ours.load_model(tmp_path / "model")


def test_refused(tmp_path):
    line = MODELS["line"]()
    with pytest.raises(InvalidInput, match=r"^model_config must have step, .*, got 'lot'\.$"):
        ours.save_model(line, tmp_path / "a", model_config={"lot": 6})
    with pytest.raises(Unsupported, match=r"^model_config and a Pipeline do not fit together"):
        ours.save_model(MODELS["pipeline"](), tmp_path / "b", model_config={"step": 6})
    with pytest.raises(InvalidInput, match=r"^params must be empty, got \['step'\]"):
        ours.ProblemEstimator(line, {}).predict(NEW, {"step": 6})
    (tmp_path / "c").mkdir()
    with pytest.raises(InvalidInput, match=r"^model_uri must be that of a model which unmet"):
        ours.load_model(tmp_path / "c")
