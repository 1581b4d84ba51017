"""The bank: what each kind states is what its rows are, for every distribution, mean and order."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from benchmarks.scenarios import (
    DISTRIBUTIONS,
    ORDERS,
    REAL,
    BankKind,
    bank,
    bank_kinds,
    history_lab,
)

COUNTS = [distribution for distribution, what in DISTRIBUTIONS.items() if what.whole]
KINDS = bank_kinds()
PINNED_DEMAND = [74.92847737420365, 154.96555230494957, 75.1583544377966]
PINNED_ORDER = [128.17769829563588, 153.9017418371826, 87.02620653824695]
QUICK = [kind for kind in KINDS if kind.size < 3000]


# --- every kind ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", QUICK[::4], ids=lambda kind: kind.name)
def test_rows_of_every_kind_are_what_it_states(kind):
    case = bank(kind, seed=1)
    for part in (case.train, case.test):
        assert (part.sales == np.minimum(part.demand, part.order)).all()
        assert (part.censored == (part.sales < part.demand)).all()
        assert (part.demand >= 0).all()
        assert part.features.shape == (len(part), len(part.feature_names))
        assert np.isfinite(part.features).all()
        if kind.never:
            assert not part.censored.any()
        if kind.distribution in COUNTS:
            assert (part.demand == np.round(part.demand)).all()
            assert (part.sales == np.round(part.sales)).all()
    assert case.train.dates.max() < case.test.dates.min()
    if kind.distribution not in REAL:
        assert len(case.train) == kind.size
    assert len(np.unique(case.train.series)) == kind.n_series
    share, stated = case.train.share_censored, kind.expected_share
    if stated is None:  # history: it follows from the orders, and is never a trifle
        assert 0.1 < share < 0.7
    elif kind.distribution not in REAL:
        # whole units: the share moves in steps, and stops at the one below
        spare = 0.08 if kind.distribution in COUNTS else 0.0
        error = np.sqrt(stated * (1 - stated) / kind.size)
        assert stated - 4 * error - spare <= share <= stated + 4 * error


def test_demand_of_a_pinned_case():
    # a change here changes every published figure of the bank
    found = bank("gumbel left, linear, 900 rows, noisy", seed=0).train
    assert found.demand[:3] == pytest.approx(PINNED_DEMAND, rel=1e-9)
    assert found.order[:3] == pytest.approx(PINNED_ORDER, rel=1e-7)


# --- distributions and the best decision ----------------------------------------------------------


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_test_rows_meet_the_optimum_as_often_as_stated(distribution):
    part = bank(BankKind(distribution=distribution, orders="none"), seed=0).test
    for level in (0.35, 0.9):
        best = part.optimum(level)
        spare = 4 * np.sqrt(level * (1 - level) / len(part))
        assert (part.demand <= best).mean() >= level - spare
        assert (part.demand < best).mean() <= level + spare


# --- orders -------------------------------------------------------------------------------------


def test_orders_of_one_demand_meet_the_same_days():
    kinds = [BankKind(orders=orders) for orders in ORDERS]
    cases = [bank(kind, seed=7).train for kind in kinds]
    assert all((case.demand == cases[0].demand).all() for case in cases)
    panels = [
        BankKind(distribution="gamma", size=2700, panel=p) for p in ("dummies", "number", "absent")
    ]
    first, *others = [bank(kind, seed=7).train for kind in panels]
    assert all((case.demand == first.demand).all() for case in others)
    assert first.features.shape[1] > others[0].features.shape[1] > others[1].features.shape[1]


# --- the lab ------------------------------------------------------------------------------------


def whole(lab, name):
    return np.concatenate([getattr(part, name) for part in (lab.train, lab.test)])


@pytest.mark.parametrize("on", ["demand", "sales"])
@pytest.mark.parametrize("family", ["normal", "poisson"])
def test_history_orders_look_back_four_weeks(on, family):
    lab = history_lab(family, on=on, factor=1.15, n=9 * 80, n_test=9 * 30, seed=0)
    dates, category = whole(lab, "dates"), whole(lab, "category")
    past = dict(zip(zip(dates.tolist(), category, strict=True), whole(lab, on), strict=True))
    checked = 0
    for date, name, order in zip(dates.tolist(), category, whole(lab, "order"), strict=True):
        keys = [(date - dt.timedelta(7 * week), name) for week in (1, 2, 3, 4)]
        if all(key in past for key in keys):
            exact = 1.15 * sum(past[key] for key in keys) / 4
            assert order - 1 < exact + 1e-6
            assert order > exact - 1e-6
            checked += 1
    assert checked == (80 + 30 - 28) * 9
    assert np.array_equal(whole(lab, "order"), np.ceil(whole(lab, "order")))
    assert np.isfinite(whole(lab, "order")).all()


def test_history_on_sales_spirals_down():
    shares = [
        history_lab("normal", on=on, n=3294, n_test=1629, seed=6).test.share_censored
        for on in ("demand", "sales")
    ]
    assert shares[0] == pytest.approx(0.48, abs=0.05)
    assert shares[1] > shares[0] + 0.2
