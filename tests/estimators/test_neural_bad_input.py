"""Every mistake gets one sentence of our own that names the parameter and what arrived."""

import numpy as np
import pytest

from unmet import Band, CustomPricing, NeuralDecision, PreventiveReplacement
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
        (
            {"activation": "gelu"},
            "activation must be 'sigmoid', 'relu', 'silu' or 'tanh', got 'gelu'.",
        ),
        ({"random_state": -1}, f"random_state {WHOLE} 0, a RandomState or None, got -1."),
    ],
)
def test_constructor_parameters(parameters, sentence):
    _refused(InvalidInput, sentence, NeuralDecision(**parameters), X, S)


def test_pairs_that_do_not_fit():
    sentence = (
        "CustomPricing has no parameter underage per row; it has underprice and overprice: "
        "give arrays when it is made."
    )
    _refused(Unsupported, sentence, NeuralDecision(CustomPricing(3, 1)), X, S, underage=S)
    with pytest.raises(InvalidInput, match="PreventiveReplacement"):
        NeuralDecision(PreventiveReplacement(planned=1, failure=5), Band(1, 2)).fit(X, S)
    sentence = "high must be a number or have as many rows as y, got 5 instead of 6."
    _refused(InvalidInput, sentence, NeuralDecision(band=Band(0, S[:5])), X, S)
