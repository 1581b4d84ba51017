"""The clock of the till: exact on small days, quiet where nothing is hidden, sure where much is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_hours import CLOSES, OPENS, cut_by_stock, demand
from sklearn.metrics import roc_auc_score

from unmet.errors import InvalidInput
from unmet.intraday import HourlySales, detect_stockouts
from unmet.intraday.silence import _LEAK, _MORE, _forward_backward, draw_days


def hours_of(sales, **more):
    return HourlySales.from_arrays(sales, "2024-05-06", **more)


def shop(n_series=6, n_days=56, seed=0, **distribution):
    """Sales of shelves that run empty on a third of the days, and whether they did."""
    asked = demand(np.geomspace(8, 60, n_series), n_days, seed=seed, **distribution)
    generator = np.random.default_rng(seed + 1)
    totals = asked.sum(axis=2)
    some = generator.random(totals.shape) < 0.33
    stock = np.where(some, np.ceil(totals * generator.uniform(0.3, 0.8, totals.shape)), np.inf)
    sales, out = cut_by_stock(asked, stock)
    return sales, out[:, :, CLOSES - 1], asked


# --- Forward and backward against all paths.


def with_stock(count, mean, phi):
    return stats.nbinom.pmf(count, mean / (phi - 1), 1 / phi)


def with_none(count, mean, phi):
    """A part of the hour had stock: a few sales at most, and no more than a full shelf sells."""
    if count == 0:
        return 1 - _LEAK
    seen = _LEAK * stats.geom.pmf(count, _MORE)
    return min(seen, (1 - _LEAK) * with_stock(count, mean, phi))


def by_enumeration(counts, rate, chance, refill, start, factors, phi):
    """Stock in each hour, running empty and being filled after it, over all paths and levels."""
    n_hours = len(counts)
    sums = np.zeros((3, n_hours))
    total = 0.0
    for factor in factors:
        for path in product((True, False), repeat=n_hours):
            mass = (1 - start if path[0] else start) / len(factors)
            for hour, full in enumerate(path):
                distribution = with_stock if full else with_none
                mass *= distribution(counts[hour], rate[hour] * factor, phi)
                if hour + 1 < n_hours:
                    empty_next = chance[hour] if full else 1 - refill[hour]
                    mass *= empty_next if not path[hour + 1] else 1 - empty_next
            total += mass
            for hour, full in enumerate(path):
                sums[0, hour] += mass * full
                if hour + 1 < n_hours:
                    sums[1, hour] += mass * (full and not path[hour + 1])
                    sums[2, hour] += mass * (not full and path[hour + 1])
    return sums / total


def test_forward_and_backward_agree_with_all_paths():
    generator = np.random.default_rng(5)
    counts = np.array([[[3, 1, 0, 2, 0], [0, 4, 1, 0, 0]], [[1, 0, 0, 0, 0], [0, 0, 9, 1, 6]]])
    rate = generator.uniform(0.2, 3.0, counts.shape)
    chance = generator.uniform(0.05, 0.6, counts.shape)
    refill = np.array([0.02, 0.3, 0.11, 0.07, 0.5])
    start, phi = np.array([0.07, 0.4]), np.array([1.3, 2.2])
    factor = np.array([[0.4, 0.7], [1.1, 0.9], [1.9, 1.6]])
    found = _forward_backward(counts.astype(float), rate, chance, refill, start, factor, phi)
    for series, day in product(range(2), range(2)):
        expected = by_enumeration(
            counts[series, day],
            rate[series, day],
            chance[series, day],
            refill,
            start[series],
            factor[:, series],
            phi[series],
        )
        for part, whole in zip(found, expected, strict=True):
            np.testing.assert_allclose(part[series, day], whole, rtol=1e-9, atol=1e-13)


@given(
    st.lists(st.integers(0, 30), min_size=5, max_size=5),
    st.integers(0, 4),
    st.lists(st.floats(0.001, 8.0), min_size=5, max_size=5),
    st.floats(1.05, 4.0),
)
def test_more_silence_never_makes_an_empty_shelf_less_likely(counts, since, rate, phi):
    silent = [count if hour < since else 0 for hour, count in enumerate(counts)]
    chance, refill = np.array([0.04, 0.3, 0.002, 0.1, 0.2]), np.full(5, 0.01)

    def stock_at_close(day):
        found = _forward_backward(
            np.array(day, dtype=float)[None, None],
            np.array(rate)[None, None],
            chance[None, None],
            refill,
            np.array([0.05]),
            np.ones((1, 1)),
            np.array([phi]),
        )
        return found[0][0, 0, -1]

    assert stock_at_close(silent) <= stock_at_close(counts) + 1e-12


def test_many_sold_at_once_are_no_riddle():
    # both states find 50,000 units all but impossible: neither may become 0 / 0
    counts = np.array([[[2.0, 50_000, 0, 1, 0]]])
    ones = np.ones_like(counts)
    found = _forward_backward(
        counts,
        ones,
        0.1 * ones,
        np.full(5, 0.01),
        np.array([0.05]),
        np.ones((1, 1)),
        np.full(1, 1.1),
    )
    assert np.isfinite(found).all()
    assert found[0][0, 0, 1] > 0.9


# --- What it finds.


def test_sold_out_days_are_found():
    sales, out, _ = shop()
    reading = detect_stockouts(hours_of(sales))
    assert roc_auc_score(out.ravel(), reading.probability.ravel()) > 0.9
    called = reading.probability > 0.5
    assert out[called].mean() > 0.85
    assert called[out].mean() > 0.6
    # about as many as there were: probabilities, not scores
    assert reading.probability.mean() == pytest.approx(out.mean(), abs=0.06)


def test_hours_out_begin_after_the_last_sale():
    sales, out, _ = shop(3)
    reading = detect_stockouts(hours_of(sales))
    sure = (reading.probability > 0.95) & out
    last = 23 - (sales[:, :, ::-1] > 0).argmax(axis=2)
    assert sure.sum() > 10
    np.testing.assert_allclose(reading.hours_out[sure], (CLOSES - 1 - last)[sure], atol=1.0)


def test_demand_is_recovered_without_flags():
    sales, _, asked = shop(8, 84)
    reading = detect_stockouts(hours_of(sales))
    truth, sold = asked.sum(axis=2), sales.sum(axis=2)
    assert np.abs(reading.demand - truth).sum() < 0.5 * (truth - sold).sum()
    assert reading.demand.sum() == pytest.approx(truth.sum(), rel=0.05)
    assert (reading.demand >= sold - 1e-9).all()


@pytest.mark.parametrize(
    ("phi", "noise"), [(1.0, 1e6), (1.5, 20.0), (1.5, 5.0), (2.0, 5.0), (3.0, 10.0)]
)
def test_days_without_stock_outs_are_left_alone(phi, noise):
    asked = demand(np.geomspace(1.5, 80, 24), 63, phi=phi, noise=noise, seed=7)
    reading = detect_stockouts(hours_of(asked))
    assert (reading.probability > 0.5).mean() <= 0.02
    assert reading.demand.sum() <= 1.04 * asked.sum()


def test_what_is_flagged_is_not_looked_at():
    sales, _, _ = shop(2)
    plain = detect_stockouts(hours_of(sales))
    flagged = detect_stockouts(hours_of(sales, stock_out=np.ones(sales.shape, dtype=bool)))
    np.testing.assert_array_equal(plain.probability, flagged.probability)


def test_longer_silence_is_surer():
    sales = demand([30.0, 30.0, 30.0], 42, seed=3)
    chances = []
    for silent_from in (19, 17, 15, 13, 11):
        one = sales.copy()
        one[1, 20, silent_from:] = 0
        chances.append(detect_stockouts(hours_of(one)).probability[1, 20])
    # beyond 99% it hardly matters that less was sold before
    assert (np.diff(chances) > -0.001).all()
    assert chances[0] < 0.3
    assert chances[-1] > 0.9


# --- What must not matter.


@given(st.integers(0, 1000))
def test_the_size_of_units_does_not_matter(seed):
    sales, _, _ = shop(3, 21, seed)
    whole, tenth = detect_stockouts(hours_of(sales)), detect_stockouts(hours_of(sales * 0.1))
    np.testing.assert_allclose(whole.probability, tenth.probability, atol=1e-7)
    np.testing.assert_allclose(whole.demand * 0.1, tenth.demand, rtol=1e-7, atol=1e-7)


@given(st.integers(0, 1000))
def test_the_order_of_series_does_not_matter(seed):
    sales, _, _ = shop(4, 21, seed)
    order = np.random.default_rng(seed).permutation(4)
    groups = np.array([0, 0, 1, 1])
    one = detect_stockouts(hours_of(sales, groups={"shop": groups}))
    other = detect_stockouts(hours_of(sales[order], groups={"shop": groups[order]}))
    np.testing.assert_allclose(one.probability[order], other.probability, atol=1e-9)
    np.testing.assert_allclose(one.demand[order], other.demand, rtol=1e-9, atol=1e-9)


def test_blocks_do_not_matter(monkeypatch):
    sales, _, _ = shop(5, 28)
    whole = detect_stockouts(hours_of(sales))
    monkeypatch.setattr("unmet.intraday.silence._BLOCK", 2 * 28 * 24)
    parts = detect_stockouts(hours_of(sales))
    np.testing.assert_allclose(whole.probability, parts.probability, atol=1e-12)
    np.testing.assert_allclose(whole.demand, parts.demand, rtol=1e-12)


# --- What it hands on.


def test_draws_have_the_mean_that_is_expected_and_are_reproduced():
    sales, _, _ = shop(4, 28)
    reading = detect_stockouts(hours_of(sales))
    drawn = reading.draws(400, seed=1)
    assert (drawn >= reading.sold - 1e-9).all()
    assert drawn.mean() == pytest.approx(reading.demand.mean(), rel=0.02)
    likely = reading.probability > 0.5
    lost = (reading.demand - reading.sold)[likely].sum()
    assert (drawn - reading.sold).mean(axis=0)[likely].sum() == pytest.approx(lost, rel=0.1)
    np.testing.assert_array_equal(drawn[:5], reading.draws(5, seed=1))
    assert (reading.draws(5, seed=2) != drawn[:5]).any()
    again = detect_stockouts(hours_of(sales))
    np.testing.assert_array_equal(again.probability, reading.probability)
    np.testing.assert_array_equal(again.draws(5, seed=1), drawn[:5])


def test_a_table_a_row_for_each_known_day():
    sales, _, _ = shop(2, 28)
    sales[0, 3] = np.nan
    reading = detect_stockouts(hours_of(sales))
    table = reading.table()
    assert table.columns == ["series", "date", "sold", "sold_out", "hours_out", "demand"]
    assert table.height == 2 * 28 - 1
    assert np.isnan(reading.probability[0, 3])
    assert table["sold"].sum() == np.nansum(sales)
    assert "55 days sold out more likely than not" in reading.describe()


def test_a_picture_of_days():
    pytest.importorskip("matplotlib")
    sales, _, _ = shop(2, 28)
    reading = detect_stockouts(hours_of(sales))
    figure = draw_days(reading, 1, n_days=5)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()][-1].startswith("Wed 2024-05-29")
    assert len(axes.texts) == 5
    with pytest.raises(InvalidInput, match="series must be from 0 to 1, got 2"):
        draw_days(reading, 2)


# --- Odd hours.


def odd_hours():
    generator = np.random.default_rng(0)
    one_day = np.zeros((3, 1, 24))
    one_day[:, :, 9:17] = generator.poisson(3, (3, 1, 8))
    one_sale = np.zeros((2, 30, 24))
    one_sale[1, 7, 11] = 1
    one_known = np.full((1, 30, 24), np.nan)
    one_known[0, 12] = generator.poisson(2, 24)
    one_hour = np.zeros((2, 30, 24))
    one_hour[:, :, 12] = generator.poisson(5, (2, 30))
    constant = np.zeros((2, 30, 24))
    constant[:, :, 8:18] = 4.0
    huge = 1e9 * np.round(demand([10.0, 20.0], 30))
    many = np.zeros((2, 30, 24))
    many[:, :, 8:18] = generator.poisson(1e9, (2, 30, 10))
    return {
        "one day": one_day,
        "one series": demand([12.0], 30),
        "one sale": one_sale,
        "one known day": one_known,
        "one open hour": one_hour,
        "constant": constant,
        "huge units": huge,
        "huge counts": many,
        "weights": np.round(demand([12.0, 4.0], 30) * generator.gamma(9, 0.03, (2, 30, 24)), 3),
    }


@pytest.mark.parametrize("name", odd_hours())
def test_odd_hours(name):
    sales = odd_hours()[name]
    reading = detect_stockouts(hours_of(sales))
    known = reading.hours.known
    assert ((reading.probability[known] >= 0) & (reading.probability[known] <= 1)).all()
    assert np.isnan(reading.probability[~known]).all()
    assert (reading.demand[known] >= reading.sold[known] - 1e-9).all()
    assert np.isfinite(reading.draws(3)[:, known]).all()
    assert reading.table().height == known.sum()
    # nothing of this is a sold-out day, or can be known to be one
    assert (reading.probability[known] > 0.5).mean() <= 0.1


def test_nothing_sold_at_all_gets_one_sentence():
    with pytest.raises(InvalidInput, match="hours must have sales, got none"):
        detect_stockouts(hours_of(np.zeros((2, 5, 24))))
    with pytest.raises(InvalidInput, match="hours must be HourlySales, as read_hourly gives them"):
        detect_stockouts(np.zeros((2, 5, 24)))


def test_progress_is_told():
    told = []
    detect_stockouts(hours_of(demand([12.0], 30)), progress=lambda *each: told.append(each))
    assert [each[0] for each in told] == [0, 1, 2, 3, 4, 5]
    assert {each[1] for each in told} == {5}


def test_closed_hours_are_no_hours_out():
    sales, _, _ = shop(2, 28)
    reading = detect_stockouts(hours_of(sales, opens=OPENS, closes=CLOSES))
    assert (reading.stock[:, :, :OPENS] == 1).all()
    assert (reading.hours_out <= CLOSES - OPENS).all()
