"""Every mistake gets one sentence of our own that names the parameter and what arrived."""

import numpy as np
import pytest

from unmet import Band, CustomPricing, NeuralDecision, Newsvendor, PreventiveReplacement
from unmet.errors import InvalidInput, UnmetError, Unsupported

X = np.arange(12.0).reshape(6, 2) % 5
S = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
WHOLE = "must be a whole number of at least"


def _refused(kind, sentence, model, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        model.fit(*arguments, **keywords)
    assert isinstance(caught.value, UnmetError)
    assert str(caught.value) == sentence
    assert not any(name.endswith("_") for name in vars(model))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"hidden_layer_sizes": 0}, f"hidden_layer_sizes {WHOLE} 1, got 0."),
        ({"hidden_layer_sizes": (3, -1)}, f"hidden_layer_sizes {WHOLE} 1, got -1."),
        ({"hidden_layer_sizes": (3, 2.0)}, f"hidden_layer_sizes {WHOLE} 1, got 2.0."),
        ({"hidden_layer_sizes": (True,)}, f"hidden_layer_sizes {WHOLE} 1, got True."),
        (
            {"hidden_layer_sizes": "9"},
            "hidden_layer_sizes must be whole numbers of at least 1, got '9'.",
        ),
        (
            {"hidden_layer_sizes": None},
            "hidden_layer_sizes must be whole numbers of at least 1, got None.",
        ),
        (
            {"hidden_layer_sizes": 2.5},
            "hidden_layer_sizes must be whole numbers of at least 1, got 2.5.",
        ),
        (
            {"activation": "gelu"},
            "activation must be 'sigmoid', 'relu', 'silu' or 'tanh', got 'gelu'.",
        ),
        ({"activation": None}, "activation must be 'sigmoid', 'relu', 'silu' or 'tanh', got None."),
        ({"solver": "sgd"}, "solver must be 'lbfgs' or 'adam', got 'sgd'."),
        ({"solver": ["adam"]}, "solver must be 'lbfgs' or 'adam', got ['adam']."),
        ({"max_iter": 0}, f"max_iter {WHOLE} 1 or None, got 0."),
        ({"max_iter": 2.5}, f"max_iter {WHOLE} 1 or None, got 2.5."),
        ({"max_iter": True}, f"max_iter {WHOLE} 1 or None, got True."),
        ({"batch_size": 0}, f"batch_size {WHOLE} 1 or None, got 0."),
        ({"batch_size": "auto"}, f"batch_size {WHOLE} 1 or None, got 'auto'."),
        ({"learning_rate": 0}, "learning_rate must be a finite positive number or None, got 0."),
        (
            {"learning_rate": -0.1},
            "learning_rate must be a finite positive number or None, got -0.1.",
        ),
        (
            {"learning_rate": np.nan},
            "learning_rate must be a finite positive number or None, got nan.",
        ),
        (
            {"learning_rate": np.inf},
            "learning_rate must be a finite positive number or None, got inf.",
        ),
        (
            {"learning_rate": "fast"},
            "learning_rate must be a finite positive number or None, got 'fast'.",
        ),
        ({"schedule": "linear"}, "schedule must be 'cosine', 'constant' or None, got 'linear'."),
        ({"strength": -1}, "strength must be a finite non-negative number, got -1."),
        ({"strength": np.inf}, "strength must be a finite non-negative number, got inf."),
        ({"strength": None}, "strength must be a finite non-negative number, got None."),
        ({"strength": True}, "strength must be a finite non-negative number, got True."),
        ({"scaling": "none"}, "scaling must be 'standard' or 'min-max', got 'none'."),
        ({"early_stopping": "yes"}, "early_stopping must be True or False, got 'yes'."),
        ({"early_stopping": 1}, "early_stopping must be True or False, got 1."),
        (
            {"early_stopping": True, "validation_fraction": 0},
            "validation_fraction must be a number above 0 and below 1, got 0.",
        ),
        (
            {"early_stopping": True, "validation_fraction": 1.0},
            "validation_fraction must be a number above 0 and below 1, got 1.0.",
        ),
        ({"early_stopping": True, "n_iter_no_change": 0}, f"n_iter_no_change {WHOLE} 1, got 0."),
        ({"n_restarts": 0}, f"n_restarts {WHOLE} 1, got 0."),
        ({"n_restarts": 1.5}, f"n_restarts {WHOLE} 1, got 1.5."),
        ({"warm_start": None}, "warm_start must be True or False, got None."),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64', got 'float16'."),
        ({"dtype": np.float32}, f"dtype must be 'float32' or 'float64', got {np.float32!r}."),
        ({"random_state": -1}, f"random_state {WHOLE} 0, a RandomState or None, got -1."),
        (
            {"random_state": "now"},
            "random_state must be a whole number of at least 0, a RandomState or None, got 'now'.",
        ),
        (
            {"random_state": 1.5},
            "random_state must be a whole number of at least 0, a RandomState or None, got 1.5.",
        ),
    ],
)
def test_constructor_parameters(parameters, sentence):
    _refused(InvalidInput, sentence, NeuralDecision(**parameters), X, S)


@pytest.mark.parametrize("cost", [0.5, "newsvendor", Newsvendor])
def test_costs(cost):
    with pytest.raises(InvalidInput, match=r"^cost must be a Cost such as .*, got"):
        NeuralDecision(cost).fit(X, S)


@pytest.mark.parametrize("band", [0.5, "search", (0, 1), Band])
def test_bands(band):
    with pytest.raises(InvalidInput, match=r"^band must be .*, got"):
        NeuralDecision(band=band).fit(X, S)


@pytest.mark.parametrize(
    ("features", "observation", "keywords", "sentence"),
    [
        (X[:1], S[:1], {}, "X must have at least two rows, got one sample."),
        (X[:0], S[:0], {}, "X must have at least two rows, got none."),
        (X[:, :0], S, {}, "X has 0 feature(s) (shape=(6, 0)) while a minimum of 1 is required."),
        (X, S[:4], {}, "y must have one entry per row of X, got 4 for 6 rows."),
        (np.where(X == 4, np.nan, X), S, {}, "X must hold finite numbers, got NaN in"),
        (X, np.where(S == 9, np.inf, S), {}, "y must hold finite numbers, got inf in row 5."),
        (X, S, {"sample_weight": -S}, "sample_weight must be a non-negative number, got -3.0 in"),
        (X, S, {"sample_weight": [0, 0, 1, 0, 0, 0]}, "sample_weight must be positive in at least"),
        (X, S, {"underage": 0}, "underage must be a positive number, got 0.0."),
        (X, S, {"overage": S[:5]}, "overage must be a number or have as many rows as y, got 5"),
        (X, S, {"censored": S > 3}, "censored is only used by a band rule such as LatentBand(),"),
        (X, S, {"stock": S}, "stock is only used by a band rule such as LatentBand(), got band="),
    ],
)
def test_rows(features, observation, keywords, sentence):
    for solver in ("lbfgs", "adam"):
        model = NeuralDecision(Newsvendor(3, 1), solver=solver)
        with pytest.raises(InvalidInput) as caught:
            model.fit(features, observation, **keywords)
        assert str(caught.value).startswith(sentence)
        assert not any(name.endswith("_") for name in vars(model))


def test_pairs_that_do_not_fit():
    sentence = "CustomPricing has no parameter underage per row; it has underprice and overprice."
    _refused(Unsupported, sentence, NeuralDecision(CustomPricing(3, 1)), X, S, underage=S)
    with pytest.raises(InvalidInput, match="PreventiveReplacement"):
        NeuralDecision(PreventiveReplacement(planned=1, failure=5), Band(1, 2)).fit(X, S)
    sentence = "high must be a number or have as many rows as y, got 5 instead of 6."
    _refused(InvalidInput, sentence, NeuralDecision(band=Band(0, S[:5])), X, S)


def test_prediction_checks_its_rows():
    model = NeuralDecision(max_iter=2, random_state=0).fit(X, S)
    with pytest.raises(InvalidInput, match=r"^X has 1 features, but NeuralDecision is expecting 2"):
        model.predict(X[:, :1])
    with pytest.raises(
        InvalidInput, match=r"^X must hold finite numbers, got NaN in 6 rows, first in row 0"
    ):
        model.predict(X * np.nan)
    with pytest.raises(InvalidInput, match=r"^y must have one entry per row of X, got 2 for 6"):
        model.score(X, [1, 2])
