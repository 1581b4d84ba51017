"""Smoothing of a panel: against statsmodels, on a week that is known, and blind to the future."""

import datetime

import numpy as np
import pytest

from unmet.planning import smoothing
from unmet.planning.history import History
from unmet.planning.smoothing import smoothed
from unmet.tables.panel import Panel

FIRST = datetime.date(2024, 1, 1)


def ask(demand, first, last, period="day"):
    """What is expected of some days, one day before each."""
    history = History(Panel(demand, None, FIRST, period))
    series, day = np.divmod(np.arange(demand.shape[0] * (last - first)), last - first)
    return smoothed(history, series, day + first, np.ones_like(day)).reshape(len(demand), -1)


def test_one_step_is_that_of_statsmodels(monkeypatch):
    """Weeks have no weekday, and a step of one half is never below that of a running mean."""
    models = pytest.importorskip("statsmodels.tsa.api")
    monkeypatch.setattr(smoothing, "ALPHAS", (0.5,))
    demand = np.random.default_rng(0).gamma(5, 4, (3, 60))
    found = ask(demand, 1, 60, "week")
    for own, expected in zip(demand, found, strict=True):
        model = models.SimpleExpSmoothing(own, initialization_method="known", initial_level=own[0])
        fitted = model.fit(smoothing_level=0.5, optimized=False).fittedvalues[1:]
        np.testing.assert_allclose(expected, fitted, rtol=1e-5)


def test_a_week_and_a_level_are_found():
    week = np.array([1.0, 1.0, 1.0, 1.0, 1.5, 2.0, 0.5])
    level = np.array([5.0, 50.0, 400.0])
    mean = np.outer(level, week[np.arange(140) % 7])
    demand = np.random.default_rng(1).poisson(mean).astype(float)
    found = ask(demand, 120, 140)
    np.testing.assert_allclose(found[1:], mean[1:, 120:], rtol=0.2)
    assert found[0].mean() == pytest.approx(mean[0, 120:].mean(), rel=0.25)


def test_nothing_later_than_a_state_enters():
    demand = np.random.default_rng(2).poisson(20, (4, 60)).astype(float)
    changed = demand.copy()
    changed[:, 50:] = 1e4
    np.testing.assert_array_equal(ask(demand, 40, 51), ask(changed, 40, 51))


def test_gaps_and_series_without_a_past():
    """A series that was never seen is expected to sell what similar ones do."""
    demand = np.full((3, 40), 10.0)
    demand[0, 5:20] = np.nan
    demand[2] = np.nan
    found = ask(demand, 39, 40)
    np.testing.assert_allclose(found[:2], 10.0, rtol=1e-4)
    assert 0 < found[2, 0] <= 10.0 + 1e-3


def test_blocks_of_series_make_no_difference(monkeypatch):
    demand = np.random.default_rng(3).poisson(8, (9, 50)).astype(float)
    whole = ask(demand, 40, 50)
    monkeypatch.setattr(smoothing, "_BLOCK", 4)
    np.testing.assert_array_equal(whole, ask(demand, 40, 50))


def test_the_first_day_gives_the_unit():
    """Nobody has seen anything before: the weekday of the first day is as large as the others."""
    for unit in (1e-6, 1.0, 1e6):
        demand = unit * np.array([[30.0, 20.0, 40.0, 30.0]])
        found = ask(np.tile(demand, (1, 3)), 10, 12)
        assert (found < 1.5 * demand.max()).all()


def test_nothing_is_expected_above_all_that_was_seen():
    demand = np.zeros((1, 42))
    demand[0, 36] = 54.0
    assert ask(demand, 37, 42).max() <= 54.0
