"""Wrong calls: one sentence each, and nothing is written."""

import sys

import numpy as np
import pytest
from search_data import COST, STRENGTH, ridge, rows
from sklearn.linear_model import Ridge

from unmet import Band, NeuralDecision
from unmet.errors import InvalidInput, MissingPackage, Unsupported
from unmet.tuning import Choice, Uniform, Whole, search


@pytest.mark.parametrize(
    ("error", "sentence", "change"),
    [
        (InvalidInput, "space must map names to Uniform", {"space": {}}),
        (InvalidInput, "space must map names to Uniform", {"space": ["strength"]}),
        (InvalidInput, "space must have names that are text, got 3", {"space": {3: Whole(1, 2)}}),
        (InvalidInput, r"space must hold .* got \(0, 1\)", {"space": {"strength": (0, 1)}}),
        (InvalidInput, "space must name .* got 'power'", {"space": {"power": Whole(1, 2)}}),
        (InvalidInput, "build must be a function", {"build": 3}),
        (InvalidInput, "build must return parameters by name", {"build": lambda values: 3}),
        (
            InvalidInput,
            "build must return parameters of LinearDecision, got Invalid parameter 'power'",
            {"build": lambda values: {"power": 3}},
        ),
        (
            InvalidInput,
            "low must be a number or have as many rows as y, got 61 instead of 60",
            {"build": lambda values: {"band": Band(np.zeros(61), 1)}},
        ),
        (InvalidInput, "cv must be a number of random splits", {"cv": "five"}),
        (InvalidInput, "cv must be a number of random splits", {"cv": None}),
        (InvalidInput, "cv must be a whole number of at least 1, got 0", {"cv": 0}),
        (InvalidInput, "cv must have at least one split", {"cv": []}),
        (InvalidInput, "cv must hold pairs", {"cv": [1, 2]}),
        (InvalidInput, "cv must hold different row numbers", {"cv": [([0, 1], [60])]}),
        (InvalidInput, "cv must hold different row numbers", {"cv": [([0, 0], [1])]}),
        (InvalidInput, "cv must hold different row numbers", {"cv": [([0, 1], [])]}),
        (InvalidInput, "trials must be a whole number of at least 1", {"trials": 0}),
        (InvalidInput, "batch must be a whole number of at least 1", {"batch": 1.5}),
        (InvalidInput, "n_jobs must be a whole number of at least 1", {"n_jobs": 0}),
        (InvalidInput, "refit must be True or False", {"refit": 1}),
        (InvalidInput, "random_state must be a whole number", {"random_state": "a"}),
        (InvalidInput, "pruner must be None, 'median' or a pruner", {"pruner": "mean"}),
        (InvalidInput, "score must be 'realised', 'observed'", {"score": "r2"}),
        (InvalidInput, "truth is only used by score='realised'", {"score": "observed"}),
        (InvalidInput, "truth is only used by score='realised'", {"score": lambda *_: 0.0}),
        (InvalidInput, "truth must be given", {"score": "realised", "truth": None}),
        (InvalidInput, "truth must have one entry per row of X", {"truth": np.ones(59)}),
        (InvalidInput, "truth must have one number per row", {"truth": np.ones((60, 1))}),
        (InvalidInput, "truth must hold finite numbers, got inf", {"truth": np.full(60, np.inf)}),
        (InvalidInput, "truth must hold numbers or be missing", {"truth": ["a"] * 60}),
        (InvalidInput, "truth must be known for some held-out", {"truth": np.full(60, np.nan)}),
        (InvalidInput, "y must have one entry per row of X", {"y": np.ones(59)}),
        (InvalidInput, "X must be a table or an array of rows", {"X": 3}),
        (InvalidInput, "fit_parameters must map names", {"fit_parameters": [1]}),
        (
            InvalidInput,
            r"one entry per row of X, got shape \(3,\) for underage",
            {"fit_parameters": {"underage": [1, 2, 3]}},
        ),
        (
            InvalidInput,
            "one entry per row of X, got shape .* for validation",
            {"fit_parameters": {"validation": (np.ones((5, 3)), np.ones(5))}},
        ),
        (InvalidInput, "name must be text, got 3", {"name": 3}),
        (InvalidInput, "progress must be a function or None", {"progress": True}),
        (
            Unsupported,
            "callable score for Ridge",
            {"estimator": Ridge(), "space": {"alpha": Whole(1, 2)}},
        ),
        (
            InvalidInput,
            "censored is only used by a band rule",
            {"fit_parameters": {"censored": np.zeros(60)}},
        ),
        (
            InvalidInput,
            "hidden",
            {
                "estimator": NeuralDecision(COST),
                "space": {"hidden": Choice(((-1,), (0,)))},
            },
        ),
    ],
)
def test_bad_input_is_one_sentence(error, sentence, change, tmp_path):
    X, sales, demand = rows()
    call = {"estimator": ridge(), "space": STRENGTH, "X": X, "y": sales, "truth": demand}
    call |= {"trials": 2, "cv": 2, "random_state": 0}
    with pytest.raises(error, match=sentence) as caught:
        search(**{**call, **change})
    assert str(caught.value).endswith(".")


def test_nothing_is_written_for_a_wrong_call(tmp_path):
    X, sales, demand = rows()
    for change in ({"cv": "five"}, {"trials": 0}, {"truth": np.full(60, np.nan)}):
        with pytest.raises(InvalidInput):
            search(
                ridge(),
                STRENGTH,
                X,
                sales,
                **{"truth": demand, "storage": tmp_path / "j", **change},
            )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Uniform(2, 1),
            r"Uniform must have two finite ends, the lower first, got \(2, 1\)",
        ),
        (lambda: Uniform(0, np.inf), "Uniform must have two finite ends"),
        (lambda: Uniform("a", 1), "Uniform must have two finite ends"),
        (lambda: Uniform(0, 1, log=True), "Uniform must begin above 0 where log is True, got 0"),
        (lambda: Whole(1.5, 3), "Whole must have two whole ends"),
        (lambda: Whole(3, 1), "Whole must have two whole ends"),
        (lambda: Whole(0, 9, log=True), "Whole must begin at 1 or above"),
        (lambda: Choice(()), "Choice must have at least one option"),
        (lambda: Choice("l2"), "Choice must have several options, got 'l2'"),
        (lambda: Choice(3), "Choice must have several options, got 3"),
    ],
)
def test_spaces_that_do_not_do(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()


def test_without_optuna_one_sentence_says_what_to_install(monkeypatch):
    X, sales, demand = rows()
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingPackage, match=r"search needs optuna: .* pip install 'optuna>="):
        search(ridge(), STRENGTH, X, sales, truth=demand)


def test_spaces_of_a_single_point_and_of_many_orders():
    X, sales, demand = rows()
    result = search(
        ridge(),
        {
            "strength": Uniform(1e-300, 1e300, log=True),
            "tol": Uniform(1e-8, 1e-8),
            "fit_intercept": Choice((True,)),
        },
        X,
        sales,
        truth=demand,
        trials=14,
        cv=2,
        random_state=0,
    )
    assert {trial.values["tol"] for trial in result.trials} == {1e-8}
    assert {trial.values["fit_intercept"] for trial in result.trials} == {True}
    assert np.isfinite(result.best_cost)
