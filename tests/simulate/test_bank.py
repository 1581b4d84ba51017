"""The bank: what each kind states is what its rows are, for every distribution, mean and order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unmet.errors import InvalidInput, Unsupported
from unmet.simulate import BankKind, bank, bank_kinds
from unmet.simulate.bank import DISTRIBUTIONS, MEANS, ORDERS, REAL

COUNTS = [distribution for distribution, what in DISTRIBUTIONS.items() if what.whole]
KINDS = bank_kinds()
PINNED_DEMAND = [74.92847737420365, 154.96555230494957, 75.1583544377966]
PINNED_ORDER = [128.17769829563588, 153.9017418371826, 87.02620653824695]
QUICK = [kind for kind in KINDS if kind.size < 3000]


def fields(part):
    return {
        name: getattr(part, name)
        for name in ("features", "demand", "order", "sales", "dates", "series", "mean")
    }


# --- the list -----------------------------------------------------------------------------------


def test_the_list_holds_every_distribution_mean_order_and_size():
    names = [kind.name for kind in (*KINDS, *bank_kinds("never"))]
    assert len({*names}) == len(names) - sum(k in KINDS for k in bank_kinds("never"))
    for distribution in DISTRIBUTIONS:
        assert {k.orders for k in KINDS if k.distribution == distribution} >= {
            "none",
            "plane",
            "noisy",
        }
    for mean in MEANS:
        assert {k.never for k in KINDS if k.mean == mean} == {True, False}
    for orders in ORDERS:
        assert any(k.orders == orders for k in KINDS)
    assert {150, 20_000} <= {k.size for k in KINDS}
    assert {k.panel for k in KINDS} == {None, "dummies", "number", "absent"}
    for distribution in REAL:
        assert {k.never for k in KINDS if k.distribution == distribution} == {True, False}
    assert len(bank_kinds("never")) == len(DISTRIBUTIONS) * len(MEANS)
    assert all(k.never for k in bank_kinds("never"))


def test_a_name_finds_its_kind():
    for kind in QUICK[::17]:
        assert bank(kind.name, seed=3).kind == kind


# --- every kind ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
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


@pytest.mark.parametrize("kind", [QUICK[0], QUICK[42], QUICK[70], QUICK[-1]])
def test_seeds_reproduce_and_differ(kind):
    bank_kinds.cache_clear()
    first, again, other = bank(kind, seed=4), bank(replace(kind), seed=4), bank(kind, seed=5)
    for name, value in fields(first.train).items():
        assert (value == fields(again.train)[name]).all()
    size = min(len(first.train), len(other.train))
    assert (first.train.demand[:size] != other.train.demand[:size]).any()


def test_demand_of_a_pinned_case():
    # a change here changes every published figure of the bank
    found = bank("gumbel left, linear, 900 rows, noisy", seed=0).train
    assert found.demand[:3] == pytest.approx(PINNED_DEMAND, rel=1e-9)
    assert found.order[:3] == pytest.approx(PINNED_ORDER, rel=1e-7)


# --- distributions and the best decision
# -----------------------------------------------------------------


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_optimum_agrees_with_a_monte_carlo_quantile(distribution):
    rows = bank(BankKind(distribution=distribution, orders="none", size=900), seed=2).test.take(
        slice(0, 1)
    )
    draws = np.random.default_rng(5).random(10_000)
    given_row = np.full(draws.shape, rows.mean[0]), np.full(draws.shape, rows.deviation[0])
    drawn = np.maximum(DISTRIBUTIONS[distribution].quantile(draws, *given_row), 0.0)
    for level in (0.15, 0.55, 0.75, 0.95):
        best = rows.optimum(level)[0]
        # four standard errors of a share, at a jump on both sides of it
        spare = 4 * np.sqrt(level * (1 - level) / draws.size)
        assert (drawn <= best).mean() >= level - spare
        assert (drawn < best).mean() <= level + spare


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_test_rows_meet_the_optimum_as_often_as_stated(distribution):
    part = bank(BankKind(distribution=distribution, orders="none"), seed=0).test
    for level in (0.35, 0.9):
        best = part.optimum(level)
        spare = 4 * np.sqrt(level * (1 - level) / len(part))
        assert (part.demand <= best).mean() >= level - spare
        assert (part.demand < best).mean() <= level + spare


@pytest.mark.parametrize(
    "distribution",
    [
        distribution
        for distribution in DISTRIBUTIONS
        if distribution not in ("zero-inflated", *COUNTS)
    ],
)
def test_distributions_have_the_mean_and_deviation_that_they_are_given(distribution):
    odds = np.linspace(-34, 34, 4001)
    level = 1 / (1 + np.exp(-odds))
    weight = (odds[1] - odds[0]) * level * (1 - level)
    value = DISTRIBUTIONS[distribution].quantile(level, np.full(4001, 80.0), np.full(4001, 16.0))
    mean = (weight * value).sum()
    assert mean == pytest.approx(80, abs=1e-3)
    # the bisection stops at twelve deviations, and Student's tails are heavy
    assert np.sqrt((weight * (value - mean) ** 2).sum()) == pytest.approx(16, rel=5e-3)


def test_distributions_to_the_left_against_scipy():
    level = np.array([0.1, 0.4, 0.8, 0.97])
    mean, deviation = np.full(4, 80.0), np.full(4, 16.0)
    unit = 16 * np.sqrt(6) / np.pi
    gumbel = stats.gumbel_l(80 + np.euler_gamma * unit, unit).ppf(level)
    assert DISTRIBUTIONS["gumbel left"].quantile(level, mean, deviation) == pytest.approx(gumbel)
    skewed = stats.skewnorm(-5)
    standardised = (skewed.ppf(level) - skewed.mean()) / skewed.std()
    found = DISTRIBUTIONS["skew-normal left"].quantile(level, mean, deviation)
    assert found == pytest.approx(80 + 16 * standardised, rel=1e-7)
    for distribution in ("gumbel left", "gamma left", "skew-normal left"):
        low, middle, high = DISTRIBUTIONS[distribution].quantile(
            np.array([0.05, 0.5, 0.95]), *np.full((2, 3), 9.0)
        )
        assert middle - low > 1.2 * (high - middle)


def test_zeros_are_as_frequent_as_stated():
    for distribution, share in (("zero-inflated", 0.2), ("intermittent", 0.55)):
        part = bank(BankKind(distribution=distribution, orders="none", size=3000), seed=0).train
        assert (part.demand == 0).mean() == pytest.approx(share, abs=0.04)


# --- means --------------------------------------------------------------------------------------


def beside_the_plane(part):
    columns = np.column_stack([np.ones(len(part)), part.features])
    return part.mean - columns @ np.linalg.lstsq(columns, part.mean, rcond=None)[0]


def test_only_the_linear_mean_lies_on_a_plane_of_the_features():
    for mean in MEANS:
        part = bank(BankKind(mean=mean, orders="none"), seed=0).train
        left = np.std(beside_the_plane(part)) / np.std(part.mean)
        assert (left < 1e-9) if mean == "linear" else (left > 0.1)


def test_a_kink_bends_up_and_saturation_bends_down():
    for mean, sign in (("kinked", 1), ("saturated", -1)):
        part = bank(BankKind(mean=mean, orders="none"), seed=0).train
        price = part.features[:, part.feature_names.index("price")]
        bend = np.column_stack([np.ones(len(part)), price, price**2])
        curvature = np.linalg.lstsq(bend, beside_the_plane(part), rcond=None)[0][2]
        assert sign * curvature > 0


def test_trend_and_shift_raise_what_comes_later():
    for mean in ("trend", "shift"):
        part = bank(BankKind(mean=mean, orders="none"), seed=0).train
        third = len(part) // 3
        left = beside_the_plane(part)
        assert left[-third:].mean() > 5 + left[:third].mean()


# --- orders -------------------------------------------------------------------------------------


def test_plane_and_capacity_orders_are_what_they_are_called():
    part = bank(BankKind(distribution="gamma", mean="kinked", orders="plane"), seed=0).train
    columns = np.column_stack([np.ones(len(part)), part.features])
    fitted = columns @ np.linalg.lstsq(columns, part.order, rcond=None)[0]
    assert part.order == pytest.approx(fitted)
    assert np.ptp(part.order) > 1
    assert np.ptp(bank(BankKind(orders="capacity"), seed=0).train.order) == 0


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


def test_restocked_rows_sold_more_than_the_morning_order():
    noisy = bank(BankKind(orders="noisy"), seed=0).train
    part = bank(BankKind(orders="restocked"), seed=0).train
    # the morning's order is the noisy one, shifted by a constant
    morning = noisy.order - noisy.mean
    gain = (part.order - part.mean) - morning
    shift = gain.min()
    sold_out = part.demand > morning + part.mean + shift + 1e-9
    again = gain > shift + 1e-9
    assert not (again & ~sold_out).any()
    assert again[sold_out].mean() == pytest.approx(0.5, abs=0.1)
    assert (~part.censored & again).any()


def test_history_orders_follow_the_past_of_their_own_series():
    part = bank(BankKind(orders="demand history", distribution="poisson"), seed=0).train
    series, first = part.series[900 - 1], part.series == part.series[900 - 1]
    rows = np.flatnonzero(first)
    *past, last = [r for r in rows if (part.dates[r] - part.dates[rows[-1]]).astype(int) % 7 == 0]
    assert part.order[last] == np.ceil(np.mean(part.demand[past[-4:]]))
    assert series == part.series[last]


@settings(max_examples=25, deadline=None)
@given(
    distribution=st.sampled_from(["normal", "gamma left", "lognormal", "zero-inflated"]),
    mean=st.sampled_from(MEANS),
    orders=st.sampled_from(["plane", "noisy", "capacity", "restocked"]),
    share=st.floats(0.05, 0.7),
    seed=st.integers(0, 2**31),
)
def test_any_combination_has_its_share(distribution, mean, orders, share, seed):
    kind = BankKind(distribution=distribution, mean=mean, orders=orders, size=600, share=share)
    case = bank(kind, seed)
    found = case.train.share_censored
    # rows of a day share their temperature and nothing else of their luck
    assert abs(found - share) < 5 * np.sqrt(share * (1 - share) / 600)


# --- wrong uses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distribution": "cauchy"}, "distribution must be"),
        (
            {"mean": "real"},
            'mean must be "real" for the distributions bakery, yaz and for no other',
        ),
        ({"distribution": "yaz"}, 'mean must be "real"'),
        ({"orders": "none", "share": 0.2}, 'share must be None with orders="none"'),
        ({"factor": 1.2}, 'factor must be None with orders="noisy"'),
        ({"size": 20}, "size must be"),
        ({"distribution": "yaz", "mean": "real", "size": 700}, "size must be at most 600"),
        ({"distribution": "yaz", "mean": "real", "panel": "number"}, "panel must be None"),
        (
            {"distribution": "bakery", "mean": "real", "size": 9000, "panel": "number"},
            "at most 1800",
        ),
    ],
)
def test_wrong_kinds_get_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        BankKind(**options)


def test_wrong_uses_get_a_sentence():
    with pytest.raises(InvalidInput, match='such as "normal, kinked, 900 rows, noisy"'):
        bank("normal kinked noisy")
    with pytest.raises(InvalidInput, match="kind must be a BankKind"):
        bank(3)
    with pytest.raises(InvalidInput, match="seed must be"):
        bank(seed=-1)
    with pytest.raises(Unsupported, match="yaz"):
        bank("yaz, real, 480 rows, none").test.optimum(0.5)
    with pytest.raises(InvalidInput, match="level must be"):
        bank().test.optimum(1.5)
    with pytest.raises(InvalidInput, match="which must be"):
        bank_kinds("some")
