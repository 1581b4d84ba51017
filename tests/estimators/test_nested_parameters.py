"""Costs and bands inside a model: their numbers are parameters, too."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import InvalidInput


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(120, 2))
    return X, 50 + X @ [30, -20] + generator.normal(scale=8, size=120)


def test_a_grid_search_reaches_numbers_of_the_cost_and_of_the_band(data):
    X, y = data
    cost = Newsvendor(underage=3, overage=1)
    model = LinearDecision(cost, band=Band(0, 2))
    grid = {"cost__underage": [1, 9], "band__high": [2.0, 5.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_params_
    assert search.best_estimator_.cost == Newsvendor(best["cost__underage"], 1)
    assert search.best_estimator_.band == Band(0, best["band__high"])
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    assert model.cost is cost
    assert cost == Newsvendor(3, 1)


def test_parameters_show_what_is_inside():
    model = LinearDecision(Newsvendor(3, 1), band=Band(0, 4))
    shown = model.get_params()
    assert shown["cost__underage"] == 3
    assert shown["band__high"] == 4
    assert clone(model).get_params() == shown
    assert "cost__underage" not in model.get_params(deep=False)


def test_a_new_cost_and_its_number_go_together():
    model = LinearDecision(Newsvendor(3, 1))
    model.set_params(cost=Newsvendor(1, 1), cost__overage=2, solver="highs")
    assert model.cost == Newsvendor(1, 2)
    assert model.solver == "highs"


def test_what_is_not_there_is_refused():
    sentence = r"^cost__underage needs a cost that has it, got cost=None\.$"
    with pytest.raises(InvalidInput, match=sentence):
        LinearDecision().set_params(cost__underage=3)
    sentence = r"^Newsvendor has the parameters underage, overage, got 'margin'\.$"
    with pytest.raises(InvalidInput, match=sentence):
        LinearDecision(Newsvendor(3, 1)).set_params(cost__margin=3)
    with pytest.raises(ValueError, match="Invalid parameter 'prize'"):
        LinearDecision(Newsvendor(3, 1)).set_params(prize__margin=3)
