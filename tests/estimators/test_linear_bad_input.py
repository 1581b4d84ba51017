"""Every mistake gets one sentence of our own that names the parameter and what arrived."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from unmet import (
    Band,
    LinearDecision,
    Newsvendor,
    PreventiveReplacement,
    SquaredError,
)
from unmet.errors import InvalidInput, UnmetError, Unsupported

X = np.arange(12.0).reshape(6, 2) % 5
S = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])


def _with(array, place, value):
    changed = np.array(array, dtype=object if isinstance(value, str | dict | type(None)) else float)
    changed[place] = value
    return changed


def _refused(kind, sentence, model, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        model.fit(*arguments, **keywords)
    assert isinstance(caught.value, UnmetError)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"solver": "simplex"},
            "solver must be 'exact', 'minibatch', 'smoothed' or 'highs', got 'simplex'.",
        ),
        (
            {"band": "hidden"},
            "band must be a Band, a band rule such as LatentBand(), 'latent', 'searched' or None, "
            "got 'hidden'.",
        ),
        (
            {"cost": "newsvendor"},
            "cost must be a Cost such as Newsvendor(underage=3, overage=1), got 'newsvendor'.",
        ),
        (
            {"random_state": -1},
            "random_state must be a whole number of at least 0, a RandomState or None, got -1.",
        ),
    ],
)
def test_constructor_parameters_are_checked_by_fit(parameters, sentence):
    _refused(InvalidInput, sentence, LinearDecision(**parameters), X, S)


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (
            _with(X, (3, 1), np.nan),
            "X must hold finite numbers, got NaN in row 3, column 1.",
        ),
        (_with(X, (1, 1), "7.5"), "X must hold numbers, got the text '7.5' in row 1, column 1."),
        (np.empty((0, 2)), "X must have at least two rows, got none."),
        (X[:1], "X must have at least two rows, got one sample."),
        (
            np.empty((6, 0)),
            "X has 0 feature(s) (shape=(6, 0)) while a minimum of 1 is required.",
        ),
        (
            S,
            "X must have two dimensions, rows and columns, got shape (6,): Reshape your data, "
            "with X.reshape(-1, 1) if it is a single column.",
        ),
        ("sales.csv", "X must be an array of numbers, got 'sales.csv'."),
        (
            [[1.0, 2.0], [3.0]],
            "X must be an array of numbers, got nested sequences of different lengths.",
        ),
        (
            sparse.csr_array(_with(X, (3, 1), np.nan)),
            "X must hold finite numbers, got NaN in row 3, column 1.",
        ),
    ],
)
def test_features(features, sentence):
    _refused(InvalidInput, sentence, LinearDecision(), features, S)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_are_answered_by_column_name(make):
    gap = make({"price": [1.0, 2.0, None, 4.0, 5.0, None], "promo": [True, False] * 3})
    sentence = "X must hold finite numbers, got NaN in 2 rows, first in row 2, column 'price'."
    _refused(InvalidInput, sentence, LinearDecision(), gap, S)
    text = make({"price": S, "day": ["Mon", "Tue", "Wed"] * 2})
    sentence = "X must hold numbers, got the text 'Mon' in row 0, column 'day'."
    _refused(InvalidInput, sentence, LinearDecision(), text, S)


@pytest.mark.parametrize(
    ("observation", "sentence"),
    [
        (None, "The model requires y to be passed, but the target y is None."),
        (S[:4], "y must have one entry per row of X, got 4 for 6 rows."),
        (np.c_[S, S], "y must have one number per row, got shape (6, 2)."),
        (
            _with(S, [1, 4], np.nan),
            "y must hold finite numbers, got NaN in 2 rows, first in row 1.",
        ),
        (
            pd.Series([1, None, 3, 4, 5, 6], dtype="Int64"),
            "y must hold finite numbers, got NaN in row 1.",
        ),
    ],
)
def test_observations(observation, sentence):
    _refused(InvalidInput, sentence, LinearDecision(), X, observation)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (S[:4], "sample_weight must have one entry per row of X, got 4 for 6 rows."),
        (S - 2, "sample_weight must be a non-negative number, got -1.0 in row 1."),
        (np.zeros(6), "sample_weight must have a positive entry, got only zeros."),
        ([0, 0, 1, 0, 0, 0], "sample_weight must be positive in at least two rows, got one."),
    ],
)
def test_weights(weight, sentence):
    _refused(InvalidInput, sentence, LinearDecision(), X, S, sample_weight=weight)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"underage": 0}, "underage must be a positive number, got 0.0."),
        ({"overage": S - 1}, "overage must be a positive number, got 0.0 in row 1."),
        (
            {"underage": S[:5]},
            "underage must be a number or have as many rows as y, got 5 instead of 6.",
        ),
    ],
)
def test_costs_per_row(keywords, sentence):
    for weight in (None, [0, 1, 1, 1, 1, 1]):
        _refused(InvalidInput, sentence, LinearDecision(), X, S, sample_weight=weight, **keywords)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            LinearDecision(PreventiveReplacement(planned=1, failure=5)),
            "The solver 'exact' and the cost PreventiveReplacement do not fit together, because "
            "a cost with a jump is exact only for groups of equal rows without a penalty: use the "
            "solver 'smoothed'.",
        ),
        (
            LinearDecision(SquaredError(), solver="highs"),
            "The solver 'highs' and the cost SquaredError do not fit together, because "
            "SquaredError has no slopes: use the solver 'exact' or 'minibatch'.",
        ),
        (
            LinearDecision(SquaredError(), Band(0, 1)),
            "The solver 'exact' and the cost SquaredError with a band do not fit together, "
            "because that is not least squares: use the solver 'minibatch'.",
        ),
        (
            LinearDecision(SquaredError(), penalty="l1"),
            "The solver 'exact' and the cost SquaredError with the penalty 'l1' do not fit "
            "together, because that is not least squares: use the penalty 'l2'.",
        ),
        (
            LinearDecision(penalty="l1", solver="minibatch"),
            "The solver 'minibatch' and the penalty 'l1' do not fit together, because it has no "
            "step for absolute values: use the solver 'exact'.",
        ),
        (
            LinearDecision(penalty="elasticnet", solver="highs"),
            "The solver 'highs' and a ridge penalty do not fit together, because SciPy's HiGHS "
            "solves linear programs only: use the exact solver, or the penalty 'l1'.",
        ),
    ],
)
def test_pairs_that_do_not_fit_are_named_with_what_is_missing(model, sentence):
    _refused(Unsupported, sentence, model, X, S)


def test_prediction_checks_its_rows():
    model = LinearDecision(Newsvendor(3, 1)).fit(pd.DataFrame(X, columns=["a", "b"]), S)
    with pytest.raises(InvalidInput, match=r"yet now missing:\n- b"):
        model.predict(pd.DataFrame({"a": S}))
    nameless = LinearDecision().fit(X, S)
    with pytest.raises(InvalidInput, match=r"^X has 1 features, but LinearDecision is expecting 2"):
        nameless.predict(X[:, :1])
    with pytest.raises(InvalidInput, match=r"feature names should match"):
        model.predict(pd.DataFrame(X, columns=["b", "a"]))
    with pytest.raises(InvalidInput, match=r"^X must hold finite numbers, got NaN in row 1, col"):
        model.predict(pd.DataFrame({"a": [1, 2], "b": [1, None]}))
    with pytest.raises(InvalidInput, match=r"^y must have one entry per row of X, got 2 for 6"):
        model.score(pd.DataFrame(X, columns=["a", "b"]), [1, 2])
