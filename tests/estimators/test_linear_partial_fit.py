import numpy as np
import pytest

from unmet import Band, LinearDecision, Newsvendor
from unmet.rows import Rows
from unmet.solvers.descent.minibatch import MiniBatchOptions, one_epoch

OPTIONS = MiniBatchOptions(learning_rate=0.02, batch_size=20)


def _model(**parameters):
    return LinearDecision(
        Newsvendor(4, 1), Band(0, 2), solver="minibatch", minibatch=OPTIONS, **parameters
    )


def test_each_call_is_one_epoch_in_the_units_of_the_first(rows):
    X, s = rows
    model = _model(penalty="l2", strength=0.01)
    parts = [slice(0, 100), slice(100, 201), slice(0, 201)]
    state = None
    for part in parts:
        observation = s[part] if state is None else 3 * s[part]
        model.partial_fit(X[part], observation)
        rows_seen = Rows(X[part], observation, Newsvendor(4, 1), None, Band(0, 2))
        state = one_epoch(rows_seen, state=state, ridge=0.01, options=OPTIONS)
        assert np.array_equal(model.coef_, state.coefficients)
        assert model.intercept_ == state.intercept
    assert model.n_iter_ == 3


def test_many_calls_come_near_the_exact_objective(rows):
    X, s = rows
    exact = LinearDecision(Newsvendor(4, 1), Band(0, 2)).fit(X, s)
    model = _model(penalty="l2", strength=0.0)
    for _ in range(150):
        model.partial_fit(X, s)
    assert 1 - 1e-9 < model.solution_.objective / exact.solution_.objective < 1.05
    decision = model.predict(X)
    assert model.solution_.objective == pytest.approx(
        Newsvendor(4, 1).loss(decision, s, Band(0, 2)).mean()
    )


def test_it_goes_on_from_a_fit_and_a_fit_starts_anew(rows):
    X, s = rows
    fitted = _model().fit(X, s)
    before = fitted.predict(X)
    fresh = _model().partial_fit(X, s)
    after = fitted.partial_fit(X, s).predict(X)
    assert np.abs(after - before).max() < 0.2 * np.abs(fresh.predict(X) - before).max()
    assert np.array_equal(fresh.fit(X, s).predict(X), before)


def test_a_single_row_is_enough_and_weights_are_used_as_they_are(rows):
    X, s = rows
    model = _model().partial_fit(X, s)
    start = model.predict(X[:1])[0]
    assert start < s[0] - 1 or start > s[0] + 3  # outside the band, so that it moves

    def moved(weight):
        twin = _model().partial_fit(X, s)
        twin.partial_fit(X[:1], s[:1], sample_weight=[weight])
        return twin.intercept_ - model.intercept_

    assert moved(3.0) == pytest.approx(3 * moved(1.0))
