"""The measures inside scikit-learn's searches."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation import make_cost_scorer


class Always(RegressorMixin, BaseEstimator):
    """Decides the same number whatever it is shown."""

    def __init__(self, number=0.0):
        self.number = number

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), float(self.number))


X = np.zeros((6, 1))
TRUTH = np.array([10.0, 12.0, 14.0, 16.0, 18.0, 30.0])
COST = Newsvendor(underage=9, overage=1)


def test_truth_and_decision_are_not_exchanged():
    model = Always(11.0).fit(X, TRUTH)
    # one row has 1 left over, five rows miss 1 + 3 + 5 + 7 + 19 = 35
    assert make_cost_scorer(COST)(model, X, TRUTH) == pytest.approx(-(1 + 9 * 35) / 6)


def test_grid_search_finds_the_newsvendor_quantile():
    truth = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    grid = {"number": [50, 70, 90, 98]}
    features = np.zeros((100, 1))
    search = GridSearchCV(Always(), grid, scoring=make_cost_scorer(COST), cv=KFold(4))
    assert search.fit(features, truth).best_params_ == {"number": 90}


def test_weights_are_routed_through_cross_validation():
    weight = np.array([1, 0, 1, 0, 1, 0])
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_cost_scorer(COST).set_score_request(sample_weight=True)
        routed = cross_val_score(
            Always(11.0), X, TRUTH, scoring=scorer, cv=KFold(3), params={"sample_weight": weight}
        )
    assert routed == pytest.approx([-1.0, -27.0, -63.0])


def test_bad_input_reaches_the_user_as_one_sentence():
    model = Always(np.inf).fit(X, TRUTH)
    with pytest.raises(InvalidInput, match=r"^decision must be a finite number, got inf in row 0"):
        make_cost_scorer(COST)(model, X, TRUTH)
