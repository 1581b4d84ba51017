"""Bad input to allocate is one sentence."""

import numpy as np
import pytest

from unmet import LinearDecision, Newsvendor, SquaredError, allocate
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(3, 1)
VALUES = np.array([[1.0, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("truth", "budget", "keywords", "sentence"),
    [
        (
            VALUES,
            {"a": 1},
            {"groups": ["a", "b"]},
            "budget must have an entry for every group, got none for 'b'.",
        ),
        (
            VALUES,
            10,
            {"lower": [4, 8]},
            "budget must be at least 12, which the lower bounds use, got 10.",
        ),
        (
            VALUES,
            {"a": 10, "b": 5},
            {"lower": [4, 8], "groups": ["a", "b"]},
            "budget must be at least 8, which the lower bounds use, got 5 in group b.",
        ),
        (VALUES, 9, {"lower": None}, "lower must be a finite number or one per product, got None."),
        (
            VALUES,
            9,
            {"lower": 3, "upper": 2},
            "lower must be at most upper, got lower 3.0 and upper 2.0 in row 0.",
        ),
        (
            [[1.0, np.nan], [2, 3]],
            9,
            {},
            "truth must hold finite numbers, got NaN or inf for product 0.",
        ),
        (
            "demand",
            9,
            {},
            "truth must be a quantile function, a table of numbers or a fitted model, "
            "got 'demand'.",
        ),
        (
            VALUES,
            9,
            {"levels": [0.2, 0.8]},
            "levels must have one entry for each of 3 columns of truth, got shape (2,).",
        ),
        (
            VALUES,
            9,
            {"levels": [0.2, 0.8, 0.5]},
            "levels must rise and lie strictly between 0 and 1, got [0.2, 0.8, 0.5].",
        ),
        (
            VALUES[:, ::-1],
            9,
            {"levels": [0.2, 0.5, 0.8]},
            "truth must not fall from one level to the next, got quantiles that decrease as the "
            "level grows for product 0.",
        ),
        (
            lambda level: np.ones(2 if np.ndim(level) == 0 else 3),
            9,
            {},
            "truth must return one quantile for each of 2 products, got shape (3,).",
        ),
        (
            lambda level: np.array([10.0, 20.0]) * (2 - level),
            9,
            {},
            "truth must not fall from one level to the next, got quantiles that decrease as the "
            "level grows for product 0.",
        ),
        (
            VALUES,
            9,
            {"X": VALUES},
            "X is only used where truth is a LatentBand or a model fitted with one, "
            "got truth of type ndarray.",
        ),
    ],
)
def test_one_sentence(truth, budget, keywords, sentence):
    with pytest.raises(InvalidInput) as caught:
        allocate(COST, truth, budget, **keywords)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("cost", "kind", "start"),
    [
        (Newsvendor([1, 2, 3], 1), InvalidInput, "cost must be the same for all products or have"),
        (3.0, InvalidInput, "cost must be a Cost such as Newsvendor(underage=3, overage=1), got"),
        (SquaredError(), Unsupported, "allocate and the cost SquaredError do not fit together"),
    ],
)
def test_costs_that_do_not_fit(cost, kind, start):
    with pytest.raises(kind) as caught:
        allocate(cost, VALUES, 9)
    assert str(caught.value).startswith(start)


def test_a_model_without_a_learned_distribution():
    model = LinearDecision(COST).fit([[1.0], [2], [3]], [1.0, 2, 3])
    with pytest.raises(Unsupported, match="LinearDecision without a LatentBand do not fit"):
        allocate(COST, model, 9, X=[[1.0]])
