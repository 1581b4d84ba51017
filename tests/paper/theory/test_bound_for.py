"""What the theorems say about fitted models and their rows."""

import numpy as np
import pytest
from scipy import sparse

from paper.theory import (
    bound_for,
    generalisation_gap,
    linear_bound,
    network_bound,
    penalised_bound,
    sample_size_for,
)
from unmet import (
    Band,
    BoostedDecision,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    SquaredError,
)
from unmet.bands import FixedBand
from unmet.errors import InvalidInput, Unsupported


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = np.column_stack([np.ones(400), generator.uniform(-1, 1, size=(400, 2))])
    return X, np.clip(5 + 2 * X[:, 1] + generator.normal(size=400), 0, 10)


def find(report, part):
    return next(each for each in report.checked if part in each.name)


def test_a_penalised_model_as_the_theorem_wants_it(rows):
    X, s = rows
    cost, band = Newsvendor(3, 1), Band(0, 1)
    model = LinearDecision(cost, band, penalty="l2", strength=0.7, fit_intercept=False)
    report = bound_for(model.fit(X, s), X, s, 0.1, largest_truth=10)
    longest = np.linalg.norm(X, axis=1).max()
    expected = penalised_bound(
        cost,
        band,
        n_rows=400,
        n_features=3,
        largest_truth=10,
        largest_feature=longest / np.sqrt(3),
        strength=0.7,
        delta=0.1,
    )
    assert report.value == pytest.approx(expected.value)
    assert not report.vacuous
    assert report.broken == ()
    assert find(report, "independent").holds is None
    assert "Thm LR-R-GenBound" in str(report)
    assert "λ = 0.7" in str(report)
    assert "no guarantee" not in str(report)
    enough = sample_size_for(0.5, report.bound)
    assert report.bound.at(enough).value <= 0.5 < report.bound.at(enough - 1).value


def test_the_bound_holds_on_fresh_rows(rows):
    X, s = rows
    generator = np.random.default_rng(9)
    fresh = np.column_stack([np.ones(20_000), generator.uniform(-1, 1, size=(20_000, 2))])
    seen = np.clip(5 + 2 * fresh[:, 1] + generator.normal(size=20_000), 0, 10)
    model = LinearDecision(Newsvendor(3, 1), penalty="l2", strength=0.7, fit_intercept=False)
    gap = generalisation_gap(model.fit(X, s), X, s, fresh, seen, largest_truth=10)
    assert 0 < abs(gap.value) < bound_for(model, X, s, largest_truth=10).value
    costs = Newsvendor(3, 1).loss(np.clip(model.predict(fresh), 0, 10), seen)
    assert gap.fresh == pytest.approx(costs.mean())


def test_an_intercept_counts_and_escapes_the_penalty(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(3, 1), penalty="l2", strength=0.7).fit(X[:, 1:], s)
    report = bound_for(model, X[:, 1:], s, largest_truth=10)
    assert report.inputs["n_features"] == 3
    length = report.inputs["largest_feature"] * np.sqrt(3)
    assert length == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert [each.name for each in report.broken] == ["a penalty on every coefficient"]
    assert "no guarantee here: a penalty on every coefficient" in str(report)


def test_without_a_penalty_nothing_is_proved(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(1, 3), Band(0, 1)).fit(X[:, 1:], s)
    report = bound_for(model, X[:, 1:], s, largest_truth=10)
    same = {"n_rows": 400, "n_features": 3, "largest_truth": 10}
    assert report.value == pytest.approx(linear_bound(Newsvendor(1, 3), Band(0, 1), **same).value)
    assert find(report, "stability").holds is False
    assert report.vacuous


def test_the_largest_observation_is_not_the_largest_truth(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(3, 1)).fit(X, s)
    report = bound_for(model, X, s)
    assert report.inputs["largest_truth"] == s.max()
    assert find(report, "truths").holds is None
    assert "sales hide demand" in str(report)
    assert find(bound_for(model, X, s, largest_truth=10), "truths").holds is True
    small = bound_for(model, X, s, largest_truth=5)
    assert find(small, "truths").holds is False
    outside = find(small, "decisions")
    share = int((model.predict(X) > 5).sum())
    assert outside.holds is False
    assert f"{share} of 400" in outside.why
    below = bound_for(LinearDecision().fit(X, s - 3), X, s - 3)
    assert find(below, "truths").holds is False


def test_costs_and_bands_per_row_count_by_the_worst(rows):
    X, s = rows
    underage, high = np.linspace(1, 4, 400), np.linspace(0.5, 2, 400)
    model = LinearDecision(
        Newsvendor(1, 1), Band(0, high), penalty="l2", strength=0.7, fit_intercept=False
    ).fit(X, s, underage=underage)
    report = bound_for(model, X, s, largest_truth=10)
    worst = LinearDecision(
        Newsvendor(4, 1), Band(0, 0.5), penalty="l2", strength=0.7, fit_intercept=False
    ).fit(X, s)
    assert report.value == pytest.approx(bound_for(worst, X, s, largest_truth=10).value)
    assert find(report, "one cost").holds is None
    assert find(report, "band").holds is None


def test_a_band_learned_from_the_rows_is_outside_the_theorems(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(3, 1), FixedBand(0, 1)).fit(X, s)
    assert find(bound_for(model, X, s), "band").holds is False


def test_descent_is_not_the_minimum_and_an_elastic_net_is_stable(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(3, 1), solver="minibatch").fit(X, s)
    assert find(bound_for(model, X, s), "exact").holds is False
    options = {"fit_intercept": False, "strength": 2.0}
    ridge = LinearDecision(Newsvendor(3, 1), penalty="l2", fit_intercept=False, strength=1.5)
    net = LinearDecision(Newsvendor(3, 1), penalty="elasticnet", l1_ratio=0.25, **options)
    reports = [bound_for(each.fit(X, s), X, s, largest_truth=10) for each in (ridge, net)]
    assert reports[0].value == pytest.approx(reports[1].value)
    with pytest.raises(Unsupported, match="stability needs a positive ℓ2 part"):
        bound_for(LinearDecision(penalty="l1").fit(X, s), X, s)


def test_standardised_features_are_recognised(rows):
    X, s = rows
    scaled = (X[:, 1:] - X[:, 1:].mean(axis=0)) / X[:, 1:].std(axis=0)
    for features in (scaled, sparse.csr_array(scaled)):
        model = LinearDecision(Newsvendor(3, 1)).fit(features, s)
        assert find(bound_for(model, features, s), "standardised").holds is True
    model.fit(sparse.csr_array(X), s)
    report = bound_for(model, sparse.csr_array(X), s)
    assert find(report, "standardised").holds is None
    assert report.value == pytest.approx(bound_for(model, X, s).value)


def test_networks(rows):
    X, s = rows
    model = NeuralDecision(Newsvendor(3, 1), Band(0, 1), random_state=0, max_iter=20).fit(X, s)
    report = bound_for(model, X, s, largest_truth=10, constant=2.0)
    same = {"n_rows": 400, "epochs": model.n_iter_, "largest_truth": 10, "constant": 2.0}
    assert report.value == pytest.approx(network_bound(Newsvendor(3, 1), **same).value)
    assert {each.name for each in report.broken} >= {
        "plain SGD in a fixed order",
        "a cost convex in the parameters",
    }


def test_the_rate_of_adam_is_in_the_users_units(rows):
    """The same sales in grams and cents: the same statement, in other units."""
    X, s = rows
    options = {"solver": "adam", "max_iter": 3, "learning_rate": 0.01, "random_state": 0}
    kilos = NeuralDecision(Newsvendor(3, 1), **options).fit(X, s)
    grams = NeuralDecision(Newsvendor(0.3, 0.1), **options).fit(X, 1000 * s)
    first = bound_for(kilos, X, s, largest_truth=10)
    second = bound_for(grams, X, 1000 * s, largest_truth=10_000)
    assert second.value == pytest.approx(100 * first.value, rel=1e-6)
    unit = s.std()
    assert first.inputs["learning_rate"] == pytest.approx(0.01 * unit / 4, rel=1e-6)


def test_nothing_sold_at_all():
    X = np.column_stack([np.ones(9), np.arange(9.0)])
    report = bound_for(LinearDecision(Newsvendor(3, 1)).fit(X, np.zeros(9)), X, np.zeros(9))
    assert report.inputs["largest_truth"] == 1


def test_refusals(rows):
    X, s = rows
    fitted = LinearDecision(Newsvendor(3, 1)).fit(X, s)
    with pytest.raises(InvalidInput, match="delta must be a number above 0 and below 1, got 0"):
        bound_for(fitted, X, s, delta=0)
    with pytest.raises(InvalidInput, match="largest_truth must be a finite positive"):
        bound_for(fitted, X, s, largest_truth=-1)
    with pytest.raises(InvalidInput, match="s must have one entry per row"):
        bound_for(fitted, X, s[:-1])
    with pytest.raises(Unsupported, match="cost SquaredError"):
        bound_for(LinearDecision(SquaredError()).fit(X, s), X, s)
    with pytest.raises(Unsupported, match="BoostedDecision do not fit together"):
        bound_for(BoostedDecision(), X, s)
    with pytest.raises(ValueError, match="not fitted"):
        bound_for(LinearDecision(), X, s)
    with pytest.raises(ValueError, match="features"):
        bound_for(fitted, X[:, :2], s)
    many = LinearDecision(Newsvendor(3, 1)).fit(X, s, underage=np.ones(400))
    with pytest.raises(InvalidInput, match="one cost and one band"):
        generalisation_gap(many, X, s, X, s)
