"""Features of a panel: nothing from after the decision, and the future as training saw the past."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput, MissingPackage
from unmet.planning.history import QUANTILES, WINDOW, History
from unmet.tables.panel import Panel

MONDAY = datetime.date(2024, 1, 1)


def make_panel(n_series=4, n_days=60, seed=0, gaps=0.1, known=False):
    generator = np.random.default_rng(seed)
    level = generator.lognormal(2, 1, (n_series, 1))
    week = 1 + 0.3 * np.sin(2 * np.pi * np.arange(n_days) / 7)
    observed = np.round(generator.poisson(level * week)).astype(float)
    hidden = (generator.random(observed.shape) < 0.3).astype(float)
    absent = generator.random(observed.shape) < gaps
    observed[absent] = hidden[absent] = np.nan
    more = {}
    if known:
        more = {"known": {"price": generator.uniform(1, 2, (n_series, n_days + 10))}}
        more["price"] = "price"
    group = np.arange(n_series) % 2
    return Panel(observed, hidden, MONDAY, group=group, static={"kind": group}, **more)


def changed(panel, first, seed=9):
    """The same panel with other observations from a day on."""
    generator = np.random.default_rng(seed)
    observed, hidden = panel.observed.copy(), panel.hidden.copy()
    observed[:, first:] = generator.poisson(500, observed[:, first:].shape)
    hidden[:, first:] = 1 - np.nan_to_num(hidden[:, first:])
    observed[:, first + 1 :: 3] = np.nan
    return Panel(
        observed, hidden, MONDAY, "day", panel.group, panel.static, panel.known, (), panel.price
    )


@given(
    day=st.integers(12, 59),
    horizon=st.integers(1, 8),
    lead=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_nothing_from_after_the_decision(day, horizon, lead, seed):
    """An order for `day`, decided horizon + lead days before, knows days up to day − gap only."""
    gap = horizon + lead
    panel = make_panel(seed=seed, known=True)
    other = changed(panel, day - gap + 1, seed)
    series = np.arange(panel.n_series)
    asked = series, np.full(series.size, day), np.full(series.size, gap)
    for seasons in (False, True):
        features, level = History(panel, seasons=seasons).rows(*asked)
        again, same = History(other, seasons=seasons).rows(*asked)
        np.testing.assert_array_equal(features, again)
        np.testing.assert_array_equal(level, same)


@pytest.mark.parametrize("lead", [0, 2])
def test_future_rows_are_what_training_computes_for_the_same_day(lead):
    panel = make_panel(n_days=60, known=True)
    past = panel.until(50)
    series = np.repeat(np.arange(4), 5)
    day = np.tile(np.arange(50 + lead, 55 + lead), 4)
    gap = day - 50 + 1
    future, level = History(past).rows(series, day, gap)
    training, same = History(panel).rows(series, day, gap)
    np.testing.assert_array_equal(future, training)
    np.testing.assert_array_equal(level, same)


def test_features_against_a_loop():
    panel = make_panel(n_series=3, n_days=45, gaps=0.2)
    history = History(panel)
    series, day, gap = np.array([0, 1, 2, 1]), np.array([40, 33, 45, 20]), np.array([3, 9, 1, 7])
    features, level = history.rows(series, day, gap)
    found = {name: features[:, place] for place, name in enumerate(history.names_)}
    for row, (one, when, before) in enumerate(zip(series, day, gap, strict=True)):
        known = panel.observed[one, : when - before + 1]
        recent = known[-7:]
        assert found["mean of 7"][row] == pytest.approx(np.nanmean(recent) / level[row], rel=1e-5)
        month = np.sort(known[-WINDOW:][~np.isnan(known[-WINDOW:])])
        for each in QUANTILES:
            rank = int(np.ceil(each * month.size)) - 1
            assert found[f"quantile {each:g}"][row] * level[row] == pytest.approx(
                month[rank], rel=1e-5
            )
        same = [known[past] for past in range(when - 7, -1, -7) if past < known.size]
        last = same[0] / level[row]
        assert found["last same weekday"][row] == pytest.approx(last, rel=1e-5, nan_ok=True)
        four = np.nanmean(same[:4]) / level[row]
        assert found["mean of 4 same weekdays"][row] == pytest.approx(four, rel=1e-5)
        assert found["days seen"][row] == month.size
        flags = panel.hidden[one, : when - before + 1][-WINDOW:]
        assert found["sold out"][row] == pytest.approx(np.nanmean(flags), rel=1e-5)


def test_a_new_series_has_the_level_of_similar_ones():
    observed = np.full((5, 60), np.nan)
    observed[:2], observed[2:4] = 4.0, 400.0
    group = np.array([0, 0, 1, 1, 1])
    history = History(Panel(observed, None, MONDAY, group=group))
    _, level = history.rows(np.array([0, 4]), np.array([60, 60]), np.array([1, 1]))
    assert level[0] == pytest.approx(4, rel=0.1)
    assert level[1] == pytest.approx(400, rel=0.1)


def test_holidays_need_their_package(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "holidays", None)
    history = History(make_panel(), country="DE")
    with pytest.raises(MissingPackage, match="pip install 'holidays>="):
        history.rows(np.array([0]), np.array([50]), np.array([1]))


def test_holidays_and_the_days_beside_them(monkeypatch):
    import sys
    from types import SimpleNamespace

    def country_holidays(country, years):
        if country != "DE":
            raise NotImplementedError
        return {datetime.date(year, 1, 1): "New Year" for year in years}

    monkeypatch.setitem(sys.modules, "holidays", SimpleNamespace(country_holidays=country_holidays))
    panel = Panel(np.ones((1, 30)), None, datetime.date(2023, 12, 10))
    history = History(panel, country="DE")
    days = np.array([21, 22, 23, 24])  # 31 December to 3 January
    features, _ = history.rows(np.zeros(4, int), days, np.ones(4, int))
    found = {name: features[:, place].tolist() for place, name in enumerate(history.names_)}
    assert found["day before holiday"] == [1, 0, 0, 0]
    assert found["holiday"] == [0, 1, 0, 0]
    assert found["day after holiday"] == [0, 0, 1, 0]
    with pytest.raises(InvalidInput, match="country must be a code"):
        History(panel, country="XX").rows(np.array([0]), np.array([20]), np.array([1]))
