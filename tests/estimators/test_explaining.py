"""Why this number: parts that add up, each against what is known without the explainer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import unmet
from unmet import (
    Band,
    BoostedDecision,
    CustomPricing,
    DistributionDecision,
    LatentBand,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    PreventiveReplacement,
)
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators import DecisionExplainer
from unmet.estimators.explaining import PARTS


def sold(n_rows=300, seed=0):
    """Features, sales, stock, and the demand behind them."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(n_rows, 2))
    demand = 50 + X @ [30, -10] + generator.normal(scale=12, size=n_rows)
    stock = 55 + 20 * X[:, 0] + generator.normal(scale=6, size=n_rows)
    return X, np.minimum(demand, stock), stock, demand


def total(parts):
    return sum(getattr(parts, name) for name in PARTS)


# --- By hand.


def test_parts_of_a_constant_by_hand():
    # quantiles of 1..11 at 1/2 and .8 are 6 and 9; 12 in sevens is 14 (110 against 236 for 7)
    X, sales = np.zeros((11, 1)), np.arange(1.0, 12.0)
    model = LinearDecision(Newsvendor(underage=8, overage=2), band=Band(low=3, high=3))
    explainer = DecisionExplainer(model.fit(X, sales)).fit(X, sales)
    parts = explainer.explain(X[:2], step=7, upper=[100, 13])
    np.testing.assert_allclose(parts.usual_sales, 6)
    np.testing.assert_allclose(parts.hidden_demand, 3)
    np.testing.assert_allclose(parts.cost_of_running_out, 3)
    np.testing.assert_allclose(parts.rounding, [2, -5])
    np.testing.assert_allclose(parts.decision, [14, 7])
    assert parts.sentence(1) == (
        "7 = 6.0 usual sales + 3.0 hidden demand + 3.0 cost of running out − 5.0 rounding"
    )


def test_contributions_of_a_line_by_hand():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 0.0, 1.0, 1.0]})
    weight = [3.0, 1.0, 1.0, 3.0]
    model = LinearDecision(Newsvendor(3, 1)).fit(X, 10 + 4 * X["a"] - 2 * X["b"])
    explainer = DecisionExplainer(model).fit(X, 10 + 4 * X["a"] - 2 * X["b"], sample_weight=weight)
    parts = explainer.explain(X[:1], contributions=True)
    # weighted means 12 / 8 and 1 / 2
    np.testing.assert_allclose(parts.contributions, [[4 * -1.5, -2 * -0.5, 10 + 6 - 1]], atol=1e-9)
    assert parts.names == ("a", "b")


def test_contributions_of_trees_are_their_shapley_values():
    pytest.importorskip("lightgbm")
    X, sales, *_ = sold()
    model = BoostedDecision(Newsvendor(4, 1), max_iter=5, random_state=0).fit(X, sales)
    parts = DecisionExplainer(model).fit(X, sales).explain(X[:4], contributions=True)
    np.testing.assert_array_equal(parts.contributions, model.contributions(X[:4]))
    np.testing.assert_allclose(parts.contributions.sum(axis=1), parts.decision - parts.rounding)
    assert parts.names == ("column 0", "column 1")


# --- Against models that are trained without the explainer.


def test_parts_are_differences_of_models_that_anybody_can_train():
    X, sales, stock, _ = sold()
    model = LinearDecision(Newsvendor(9, 1), band=LatentBand(families="normal", random_state=0))
    model.fit(X, sales, stock=stock)
    explainer = DecisionExplainer(model).fit(X, sales)
    parts = explainer.explain(X[:9], step=None, lower=None)
    even = Newsvendor(5, 5)
    usual = LinearDecision(even).fit(X, sales).predict(X[:9])
    band = model.band_rule_.band(X, cost=even, observation=sales)
    middle = LinearDecision(even, band=band).fit(X, sales).predict(X[:9])
    np.testing.assert_allclose(parts.usual_sales, usual, atol=1e-6)
    middle = np.maximum(middle, usual)
    assert (middle > usual).any()
    np.testing.assert_allclose(parts.hidden_demand, middle - usual, atol=1e-6)
    np.testing.assert_allclose(parts.cost_of_running_out, model.predict(X[:9]) - middle, atol=1e-6)
    np.testing.assert_array_equal(parts.rounding, 0)
    np.testing.assert_array_equal(parts.decision, model.predict(X[:9]))


# --- Whatever the model: parts add up.


@given(
    seed=st.integers(0, 2**16),
    underage=st.floats(0.1, 50),
    overage=st.floats(0.1, 50),
    low=st.one_of(st.just(0.0), st.floats(1e-9, 20)),
    width=st.one_of(st.just(0.0), st.floats(1e-9, 10)),
    step=st.sampled_from([None, 0.5, 1, 7]),
    lower=st.sampled_from([None, 0, 40.25]),
    scale=st.sampled_from([1e-6, 1.0, 1e9]),
    penalty=st.sampled_from([None, "l2"]),
)
def test_parts_add_up(seed, underage, overage, low, width, step, lower, scale, penalty):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(30, 3)).round(1)
    sales = (50 + 10 * X[:, 0] + generator.gumbel(scale=9, size=30)) * scale
    band = Band(low * scale, (low + width) * scale)
    model = LinearDecision(Newsvendor(underage, overage), band, penalty=penalty, strength=1e-3)
    weight = generator.integers(0, 3, 30) + (np.arange(30) < 5)
    explainer = DecisionExplainer(model.fit(X, sales, sample_weight=weight))
    explainer.fit(X, sales, sample_weight=weight)
    new = generator.normal(size=(8, 3))
    room = [None if each is None else each * scale for each in (step, lower)]
    parts = explainer.explain(new, *room, contributions=True)
    size = max(np.abs(getattr(parts, name)).max() for name in PARTS)
    np.testing.assert_allclose(total(parts), parts.decision, atol=1e-12 * size)
    assert (parts.hidden_demand >= 0).all()
    np.testing.assert_array_equal(parts.decision, model.decide(new, *room))
    before = parts.decision - parts.rounding
    np.testing.assert_allclose(parts.contributions.sum(axis=1), before, atol=1e-9 * size)
    ordered = parts.columns()
    assert list(ordered) == [*PARTS, "decision"]


@pytest.mark.parametrize(
    "model",
    [
        LinearDecision(Newsvendor(4, 1), band=LatentBand(0.3, families="normal", random_state=0)),
        NeuralDecision(Newsvendor(4, 1), Band(2, 6), hidden_layer_sizes=(3,), random_state=0),
        BoostedDecision(
            Newsvendor(4, 1),
            LatentBand(0.3, families="normal", location=None, random_state=0),
            max_iter=8,
        ),
        DistributionDecision(Newsvendor(4, 1), LatentBand(0.3, families="normal", random_state=0)),
    ],
    ids=["line", "network", "trees", "distribution"],
)
def test_all_models_add_up_and_can_be_saved(model, tmp_path):
    if isinstance(model, BoostedDecision):
        pytest.importorskip("lightgbm")
    X, sales, *_ = sold(200)
    model.fit(X, sales)
    explainer = DecisionExplainer(model).fit(X, sales)
    parts = explainer.explain(X[:20], step=3)
    np.testing.assert_allclose(total(parts), parts.decision, atol=1e-9)
    np.testing.assert_array_equal(parts.decision, model.decide(X[:20], step=3))
    unmet.save(explainer, tmp_path / "why.unmet")
    again = unmet.load(tmp_path / "why.unmet").explain(X[:20], step=3)
    for name in PARTS:
        np.testing.assert_allclose(getattr(again, name), getattr(parts, name), rtol=1e-12)


# --- What is refused.


def test_refusals():
    X, sales, *_ = sold(40)
    with pytest.raises(InvalidInput, match=r"^model must be a fitted decision model, got 3\.$"):
        DecisionExplainer(3).fit(X, sales)
    with pytest.raises(NotFittedError):
        DecisionExplainer(LinearDecision()).fit(X, sales)
    line = LinearDecision(Newsvendor(4, 1)).fit(X, sales)
    with pytest.raises(NotFittedError):
        DecisionExplainer(line).explain(X)
    with pytest.raises(InvalidInput, match="features"):
        DecisionExplainer(line).fit(X[:, :1], sales)
    for cost, solver in ((CustomPricing(1, 3), "exact"), (PreventiveReplacement(1, 2), "smoothed")):
        model = LinearDecision(cost, solver=solver).fit(X, sales)
        with pytest.raises(Unsupported, match=f"^Only orders are .* {type(cost).__name__}"):
            DecisionExplainer(model).fit(X, sales)
    network = NeuralDecision(Newsvendor(4, 1), hidden_layer_sizes=(2,), random_state=0)
    explainer = DecisionExplainer(network.fit(X, sales)).fit(X, sales)
    with pytest.raises(Unsupported, match="got a NeuralDecision, in which columns do not add up"):
        explainer.explain(X, contributions=True)
