"""What was saved decides the same after it is loaded, to the last bit, for every model."""

import numpy as np
import pytest
from saved_models import BENT, CENSORED, COST, MADE, SALES, N, X, made, rows_for

import unmet
from unmet import LatentBand, LinearDecision
from unmet.errors import InvalidInput

DIAGNOSED = ["latent", "latent flags"]


@pytest.fixture
def again(tmp_path):
    def trip(model):
        return unmet.load(unmet.save(model, tmp_path / "model.unmet"))

    return trip


def _bits(values):
    return np.asarray(values).tobytes()


@pytest.mark.parametrize("name", MADE)
def test_decisions_are_the_same(name, again):
    model, rows = made(name), rows_for(name)
    loaded = again(model)
    assert type(loaded) is type(model)
    assert _bits(loaded.predict(rows)) == _bits(model.predict(rows))
    given = {"underage": 2 + X[:, 0]} if name == "weights and costs by row" else {}
    if hasattr(model, "decide"):
        assert _bits(loaded.decide(rows, step=7, minimum=20)) == _bits(
            model.decide(rows, step=7, minimum=20)
        )
    assert loaded.score(rows, BENT, **given) == model.score(rows, BENT, **given)


@pytest.mark.parametrize("name", DIAGNOSED)
def test_diagnoses_are_the_same(name, again):
    model = made(name)
    loaded = again(model)
    assert loaded.diagnosis_ == model.diagnosis_
    assert str(loaded.diagnosis_) == str(model.diagnosis_)
    assert loaded.diagnosis_.interval == model.diagnosis_.interval
    assert loaded.diagnosis_.sensitivity == model.diagnosis_.sensitivity
    assert loaded.diagnosis_.to_dict() == model.diagnosis_.to_dict()
    if model.diagnosis_.quantiles is not None:
        assert loaded.diagnosis_.plot().spec == model.diagnosis_.plot().spec


def test_a_loaded_rule_answers_for_other_rows_and_costs(again):
    rule, loaded = (model.band_rule_ for model in (made("latent"), again(made("latent"))))
    rows = X[::-1] * 1.1
    assert _bits(loaded.quantile(rows, 0.8)) == _bits(rule.quantile(rows, 0.8))
    assert _bits(loaded.survival(rows, 60.0)) == _bits(rule.survival(rows, 60.0))
    other = unmet.Newsvendor(2, 3)
    assert _bits(loaded.band(rows, cost=other).high) == _bits(rule.band(rows, cost=other).high)
    assert loaded.diagnosis_for(other) == rule.diagnosis_for(other)
    probability = rule.censored_probability(rows, SALES)
    assert _bits(loaded.censored_probability(rows, SALES)) == _bits(probability)


def test_a_loaded_search_can_be_asked_for_another_cost(again):
    loaded = again(made("searched")).band_rule_
    with pytest.warns(UserWarning, match="SearchedBand"):
        found = loaded.band(X, cost=unmet.Newsvendor(2, 3))
    with pytest.warns(UserWarning, match="SearchedBand"):
        assert found == made("searched").band_rule_.band(X, cost=unmet.Newsvendor(2, 3))


def test_a_rule_alone_and_an_unfitted_model_are_saved_too(again):
    rule = LatentBand(families="normal", random_state=0).fit(COST, X, SALES, censored=CENSORED)
    assert _bits(again(rule).band(X).high) == _bits(rule.band(X).high)
    unfitted = again(LinearDecision(COST, LatentBand((0.2, 0.4)), penalty="l1"))
    assert unfitted.get_params()["band__sellout_rate"] == (0.2, 0.4)
    assert repr(unfitted) == repr(LinearDecision(COST, LatentBand((0.2, 0.4)), penalty="l1"))


def test_order_rules_keep_their_labels(again):
    finder = unmet.OrderRuleDetection(random_state=0).fit(
        np.round(SALES), np.arange(N) // 2, np.array([1, 2] * (N // 2))
    )
    before = dict(finder.rules_)
    loaded = again(finder)
    assert loaded.rules_ == before == finder.rules_
    assert [type(label) for label in loaded.rules_] == [type(label) for label in before]
    assert repr(loaded.candidates_) == repr(finder.candidates_)  # some factors are NaN


@pytest.mark.parametrize("kind", ["flags", pytest.param("latent", marks=pytest.mark.slow)])
def test_a_file_does_not_grow_with_the_training_rows(kind, tmp_path):
    sizes = []
    for n_rows in (1500, 6000):
        generator = np.random.default_rng(0)
        rows = generator.normal(size=(n_rows, 5))
        demand, order = generator.normal(50, 9, n_rows), generator.normal(52, 3, n_rows)
        given = {} if kind == "latent" else {"censored": demand > order}
        rule = LatentBand(families="normal", random_state=0)
        underage = 2 + (np.arange(n_rows) % 2)
        model = LinearDecision(COST, rule).fit(
            rows, np.minimum(demand, order), underage=underage, **given
        )
        sizes.append(unmet.save(model, tmp_path / "model").stat().st_size)
        assert sizes[-1] < 90_000
    assert sizes[1] < 1.25 * sizes[0]  # of a thousand rows drawn from few some are the same


@pytest.mark.parametrize("name", ["latent", "latent flags", "latent limits", "trees"])
def test_a_loaded_latent_rule_answers_for_other_costs(name, again):
    rule, loaded = (model.band_rule_ for model in (made(name), again(made(name))))
    for level in (0.25, 0.5, 0.95):
        cost = unmet.Newsvendor.at_level(level)
        assert _bits(loaded.band(X, cost=cost).high) == _bits(rule.band(X, cost=cost).high)
        found, expected = loaded.diagnosis_for(cost), rule.diagnosis_for(cost)
        assert found == expected
        assert found.sensitivity == expected.sensitivity
    for cost in (unmet.SquaredError(), unmet.CustomPricing(1, 4)):
        assert _bits(loaded.band(X, cost=cost).high) == _bits(rule.band(X, cost=cost).high)


def test_what_was_loaded_can_be_saved_again(again):
    loaded = again(again(made("latent flags")))
    assert _bits(loaded.predict(X)) == _bits(made("latent flags").predict(X))
    assert loaded.diagnosis_ == made("latent flags").diagnosis_
    assert loaded.diagnosis_.sensitivity == made("latent flags").diagnosis_.sensitivity


def test_models_save_themselves_with_what_the_caller_adds(tmp_path):
    about = {"columns": ["a", "b"], "rate": 0.25, "unit": "Stück"}
    path = made("exact").save(str(tmp_path / "model"), about=about)
    header = unmet.persistence.saving.read_header(path)
    assert header["about"] == about == unmet.persistence.read_about(path)
    assert header["model"] == "LinearDecision"
    assert header["packages"].keys() >= {"numpy", "scipy", "scikit-learn", "skops"}
    assert header["version"] == unmet.__version__
    assert _bits(unmet.load(path).predict(X)) == _bits(made("exact").predict(X))


@pytest.mark.parametrize("about", [{"a": {1, 2}}, {"a": float("nan")}, [1], "text"])
def test_what_is_added_must_be_plain(about, tmp_path):
    with pytest.raises(InvalidInput, match="about must be a dictionary of plain JSON"):
        unmet.save(made("exact"), tmp_path / "model", about=about)
    assert not list(tmp_path.iterdir())
