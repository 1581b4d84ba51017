"""What ONNX Runtime computes beside what `predict` and `decide` do."""

import json

import numpy as np
import pandas as pd
import pytest

from unmet import (
    BoostedDecision,
    CustomPricing,
    DistributionDecision,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    SquaredError,
    TieredCost,
)
from unmet.adapters import to_onnx
from unmet.errors import InvalidInput, Unsupported

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

# far from zero, large and tiny: single precision would show
_generator = np.random.default_rng(3)
UNIT, CENTRE = np.array([1.0, 100.0, 1e-3, 5.0]), np.array([0.0, 1e4, 0.0, 3.0])
X = _generator.normal(size=(400, 4)) * UNIT + CENTRE
Y = 60 + 12 * X[:, 0] * (X[:, 3] > 3) + 0.1 * (X[:, 1] - 1e4) + _generator.gamma(3, 6, 400)
NEW = _generator.normal(size=(5000, 4)) * 2 * UNIT + CENTRE
COST = Newsvendor(underage=9, overage=1)


def compute(exported, rows):
    session = runtime.InferenceSession(exported.SerializeToString())
    (found,) = session.run(["decision"], {"X": np.ascontiguousarray(rows, dtype=np.float64)})
    assert found.dtype == np.float64
    assert found.shape == (len(rows),)
    return found


def same(model, rows=NEW):
    expected = model.predict(rows)
    np.testing.assert_allclose(compute(to_onnx(model), rows), expected, rtol=1e-12, atol=1e-10)
    return expected


@pytest.mark.parametrize(
    "cost",
    [COST, CustomPricing(0.3, 0.7), TieredCost(4, (1, 9), overage_breaks=10), SquaredError()],
    ids=repr,
)
def test_lines(cost):
    same(LinearDecision(cost).fit(X, Y))


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "silu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (9, 5)])
def test_networks(hidden, activation):
    model = NeuralDecision(
        COST, hidden_layer_sizes=hidden, activation=activation, max_iter=4, random_state=0
    )
    assert same(model.fit(X, Y)).std() > 0


def test_trees():
    assert np.unique(same(BoostedDecision(COST, random_state=0).fit(X, Y))).size > 50


def test_trees_on_their_thresholds():
    model = BoostedDecision(COST, max_iter=20, random_state=0).fit(X, Y)
    lines = [line for line in model.trees_.text.splitlines() if "=" in line]
    found = [line.split("=", 1) for line in lines]
    features = np.concatenate([np.array(v.split(), int) for k, v in found if k == "split_feature"])
    splits = np.concatenate([np.array(v.split(), float) for k, v in found if k == "threshold"])
    assert splits.size > 100
    rows = []
    for feature, split in zip(features, splits, strict=True):
        for value in (split, np.nextafter(split, np.inf), np.nextafter(split, -np.inf)):
            row = X[0].copy()
            row[feature] = value
            rows.append(row)
    expected = same(model, np.array(rows))
    # the last bit of a feature decides: single precision could not tell these rows apart
    assert (expected[0::3] != expected[1::3]).any()


def test_trees_and_missing_values():
    gaps = X.copy()
    gaps[_generator.random(X.shape) < 0.15] = np.nan
    gaps[:, 1] = X[:, 1]  # never missing in fit: the median stands in
    new = NEW.copy()
    new[_generator.random(NEW.shape) < 0.3] = np.nan
    expected = same(BoostedDecision(COST, random_state=0).fit(gaps, Y), new)
    assert np.isfinite(expected).all()
    same(BoostedDecision(COST, random_state=0).fit(X, Y), new)
    same(BoostedDecision(COST, random_state=0, options={"use_missing": False}).fit(gaps, Y), new)


MODELS = {
    "line": LinearDecision(COST),
    "network": NeuralDecision(COST, max_iter=4, random_state=0),
    "trees": BoostedDecision(COST, max_iter=20, random_state=0),
}


@pytest.mark.parametrize("kind", MODELS)
def test_lots(kind):
    model = MODELS[kind].fit(X, Y)
    for lots in (
        {"step": 1.0},
        {"step": 0.3, "lower": 0},
        {"step": 24, "lower": 0, "upper": 100},
    ):
        found, given = compute(to_onnx(model, **lots), NEW), {"lower": None, **lots}
        np.testing.assert_array_equal(found, model.decide(NEW, **given), err_msg=str(lots))
    low, high = np.quantile(model.predict(NEW), [0.2, 0.7]).tolist()
    found = compute(to_onnx(model, lower=low, upper=high), NEW)
    np.testing.assert_allclose(found, model.decide(NEW, None, low, high), rtol=1e-12)
    assert (found.min(), found.max()) == (low, high)


def test_what_the_file_says_of_itself():
    table = pd.DataFrame(X, columns=["warmth", "höhe", "price", "day"])
    exported = to_onnx(LinearDecision(COST).fit(table, Y))
    assert exported.producer_name == "unmet"
    assert {each.key: json.loads(each.value) for each in exported.metadata_props} == {
        "features": ["warmth", "höhe", "price", "day"]
    }
    # an ordinary line needs no operators but the usual ones
    assert [each.domain for each in exported.opset_import] == [""]
    assert not to_onnx(LinearDecision(COST).fit(X, Y)).metadata_props


def test_refused():
    table = pd.DataFrame({"x": X[:, 0], "store": np.where(X[:, 1] > 1e4, "north", "south")})
    trees = BoostedDecision(COST, max_iter=2).fit(table, Y)
    with pytest.raises(Unsupported, match=r"^to_onnx and columns of categories .*encode them"):
        to_onnx(trees)
    zeros = BoostedDecision(COST, max_iter=2, options={"zero_as_missing": True}).fit(X, Y)
    with pytest.raises(Unsupported, match="option zero_as_missing do not fit"):
        to_onnx(zeros)
    with pytest.raises(Unsupported, match=r"got a DistributionDecision\.$"):
        to_onnx(DistributionDecision(COST))
    with pytest.raises(InvalidInput, match=r"^step must be a finite number above 0 or None, got"):
        to_onnx(LinearDecision(COST).fit(X, Y), step=0)
    with pytest.raises(InvalidInput, match=r"^lower and upper must have a multiple of step"):
        to_onnx(LinearDecision(COST).fit(X, Y), step=10, lower=11, upper=19)
