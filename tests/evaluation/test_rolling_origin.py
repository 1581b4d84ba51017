"""Splits: rolling origins never look ahead."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score

from unmet import LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation import RollingOrigin

SOME = st.one_of(st.none(), st.integers(1, 6))


@given(
    time=st.lists(st.integers(-20, 20), min_size=1, max_size=80),
    n_splits=st.integers(1, 5),
    horizon=SOME,
    gap=st.integers(0, 3),
    min_train=SOME,
    window=SOME,
)
def test_nothing_is_learned_from_the_future(time, n_splits, horizon, gap, min_train, window):
    assume(window is None or min_train is None or window >= min_train)
    splitter = RollingOrigin(n_splits, horizon, gap, min_train, window)
    time = np.array(time)
    distinct = sorted(set(time.tolist()))
    try:
        folds = list(splitter.split(time, groups=time))
    except InvalidInput:
        least = 1 if min_train is None else min_train
        assert len(distinct) < least + gap + n_splits * (horizon or 1)
        return
    assert len(folds) == n_splits == splitter.get_n_splits()
    length = len({*time[folds[0][1]].tolist()})
    assert horizon is None or length == horizon
    seen = []
    for train, held_out in folds:
        learned, evaluated = sorted({*time[train].tolist()}), sorted({*time[held_out].tolist()})
        assert learned[-1] < evaluated[0]
        # every row of a time is on the same side, and times follow each other without holes
        assert train.size == np.isin(time, learned).sum()
        assert held_out.size == np.isin(time, evaluated).sum()
        start = distinct.index(evaluated[0])
        assert distinct[start : start + length] == evaluated
        assert distinct.index(learned[-1]) == start - gap - 1
        oldest = 0 if window is None else max(0, start - gap - window)
        assert learned == distinct[oldest : start - gap]
        assert len(learned) >= (min_train or 1)
        seen += evaluated
    assert seen == distinct[len(distinct) - n_splits * length :]


def test_one_row_a_day_is_scikit_learns_split():
    days = np.arange(47)[::-1]
    for options in ({}, {"n_splits": 3}):
        theirs = TimeSeriesSplit(**options).split(days)
        ours = RollingOrigin(**options).split(days, groups=days)
        for (train, test), (ours_train, ours_test) in zip(theirs, ours, strict=True):
            assert np.array_equal(np.sort(days[ours_train]), train)
            assert np.array_equal(np.sort(days[ours_test]), test)


DAYS = [date(2024, 12, 30) + timedelta(days=int(d)) for d in (3, 0, 1, 1, 2, 4, 0, 5, 3)]


@pytest.mark.parametrize(
    "time",
    [
        DAYS,
        [day.isoformat() for day in DAYS],
        [f"{day.isoformat()}T08:00:00+01:00" for day in DAYS],
        np.array(DAYS, dtype="datetime64[D]"),
        [float(day.toordinal()) for day in DAYS],
        pl.Series(DAYS),
        pd.Series(pd.to_datetime(DAYS), index=range(9, 0, -1)),
        pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin"),
    ],
)
def test_times_of_every_kind(time):
    folds = list(RollingOrigin(2, horizon=2).split(np.empty(9), groups=time))
    assert [(train.tolist(), held.tolist()) for train, held in folds] == [
        ([1, 2, 3, 6], [0, 4, 8]),
        ([0, 1, 2, 3, 4, 6, 8], [5, 7]),
    ]


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        (None, "RollingOrigin must be given the time of each row"),
        ([1, 2], r"time must have one entry per row of X, got shape \(2,\) for 4 rows"),
        (np.ones((4, 1)), r"got shape \(4, 1\) for 4 rows"),
        (["5.1.2024"] * 4, "time must hold .* got .*5.1.2024.* in row 0"),
        (["2024-01-05", None, "2024-01-06", "2024-01-07"], "got None in row 1"),
        ([1.0, np.nan, 2.0, 3.0], "got .*nan.* in row 1"),
        (np.array(["2024-01-01", "NaT", "NaT", "NaT"], "M8[D]"), "got .*NaT.* in row 1"),
        ([date(2024, 1, 1), 2, 3, 4], "time must hold .*all of one kind"),
        ([True, False, True, False], "time must hold .* got .*True.* in row 0"),
        ([1, 1, 2, 2], "at least 6 different entries for 5 blocks of 1, .* got 2"),
    ],
)
def test_times_that_do_not_do(time, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        list(RollingOrigin().split(np.empty((4, 1)), groups=time))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_splits": 0}, "n_splits must be a whole number of at least 1, got 0"),
        ({"gap": -1}, "gap must be a whole number of at least 0"),
        ({"horizon": 1.5}, "horizon must be a whole number"),
        ({"window": 2, "min_train": 3}, "window must not be below min_train, got 2 and 3"),
    ],
)
def test_options_that_do_not_do(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        RollingOrigin(**options)


def test_it_splits_for_scikit_learn():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3))
    demand = 20 + X @ [3.0, -2.0, 0.0] + generator.gamma(2.0, 3.0, size=60)
    cost, days, splitter = Newsvendor(4, 1), np.arange(60) // 3, RollingOrigin(3, horizon=2)
    scores = cross_val_score(LinearDecision(cost), X, demand, groups=days, cv=splitter)
    for score, block in zip(scores, (range(42, 48), range(48, 54), range(54, 60)), strict=True):
        model = LinearDecision(cost).fit(X[: block[0]], demand[: block[0]])
        assert score == pytest.approx(model.score(X[list(block)], demand[list(block)]), rel=1e-12)
    grid = GridSearchCV(LinearDecision(cost, penalty="l2"), {"strength": [0.1, 1.0]}, cv=splitter)
    assert grid.fit(X, demand, groups=days).n_splits_ == 3
