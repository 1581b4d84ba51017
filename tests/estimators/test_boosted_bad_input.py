"""Every mistake gets one sentence of our own, and leaves nothing half-fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unmet import PreventiveReplacement
from unmet.errors import InvalidInput, SolverFailure, UnmetError, Unsupported
from unmet.estimators.boosted import BoostedDecision

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 2))
S = 20 + X @ [3.0, 1.0] + GENERATOR.gamma(2.0, 3.0, 60)


def _refused(kind, sentence, model, *arguments, **keywords):
    before = dict(vars(model))
    with pytest.raises(kind) as caught:
        model.fit(*arguments, **keywords)
    assert isinstance(caught.value, UnmetError)
    assert str(caught.value) == sentence
    assert vars(model) == before


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"learning_rate": 0}, "learning_rate must be a number above 0 and at most 1, got 0."),
        (
            {"validation_fraction": 0.999, "early_stopping": True},
            "validation_fraction must leave rows to train on, got 0.999 of 60 rows, "
            "which leaves none.",
        ),
        (
            {"options": {"max_bins_": 3}},
            "options must hold parameters of LightGBM, got 'max_bins_'.",
        ),
        (
            {"options": {"eta": 0.2}},
            "options must not hold 'eta', which BoostedDecision sets.",
        ),
        *(
            (
                {"monotonic_cst": wrong},
                "monotonic_cst must be one of -1, 0 and 1 for each column of X, or a mapping from "
                f"their names to these, got {wrong}.",
            )
            for wrong in ([1], [1, 2])
        ),
        ({"monotonic_cst": {"price": 1}}, "monotonic_cst must name columns of X, got 'price'."),
        (
            {"monotonic_cst": [0, -1], "categorical_features": [1]},
            "monotonic_cst must be 0 for columns that hold categories, got -1 for column 1.",
        ),
    ],
)
def test_constructor_parameters_are_checked_by_fit(parameters, sentence):
    _refused(InvalidInput, sentence, BoostedDecision(**parameters), X, S)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"validation": X}, f"validation must be a pair (X, truth) or None, got {X!r:.60}."),
        (
            {"validation": (X[:, :1], S)},
            "validation must have the features of X: X has 1 features, but BoostedDecision is "
            "expecting 2 features as input.",
        ),
        (
            {"validation": (X, S[:7])},
            "truth must have one entry per row of X, got 7 for 60 rows.",
        ),
        (
            {"validation": (X, S), "overage": S},
            "validation needs one overage for all rows, got one each.",
        ),
    ],
)
def test_what_fit_is_told_is_checked(keywords, sentence):
    _refused(InvalidInput, sentence, BoostedDecision(), X, S, **keywords)


def test_tables_are_checked():
    dated = pd.DataFrame({"a": X[:, 0], "when": pd.date_range("2020-01-01", periods=60)})
    with pytest.raises(Unsupported, match=r"^Each entry of the X argument .* column 'when'\.$"):
        BoostedDecision().fit(dated, S)
    twice = pd.DataFrame(X, columns=["a", "a"])
    with pytest.raises(InvalidInput, match="The columns of X must have different names"):
        BoostedDecision().fit(twice, S)


def test_a_failure_in_the_middle_leaves_the_last_fit(monkeypatch):
    cost = PreventiveReplacement(planned=1.0, failure=3.0, discount=0.05)
    model = BoostedDecision(cost, max_iter=3).fit(X, S)
    before, kept = model.predict(X), dict(vars(model))
    monkeypatch.setattr(
        PreventiveReplacement, "loss", lambda self, decision, *_: np.full(decision.size, np.inf)
    )
    monkeypatch.setattr(
        PreventiveReplacement,
        "box_mean",
        lambda self, decision, *_: np.full((2, decision.size), np.inf),
    )
    with pytest.raises(SolverFailure, match=r"must be finite where decisions go"):
        model.fit(X, S)
    assert vars(model) == kept
    monkeypatch.undo()
    assert np.array_equal(model.predict(X), before)
