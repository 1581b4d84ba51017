"""The clock of the till: exact on small days, quiet where nothing is hidden, sure where much is."""

import numpy as np
import pytest
from simulated_hours import CLOSES, OPENS, cut_by_stock, demand
from sklearn.metrics import roc_auc_score

from unmet.censoring.hours import HourlySales, detect_stockouts
from unmet.errors import InvalidInput


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


@pytest.mark.parametrize(("phi", "noise"), [(1.0, 1e6), (1.5, 5.0), (3.0, 10.0)])
def test_days_without_stock_outs_are_left_alone(phi, noise):
    asked = demand(np.geomspace(1.5, 80, 24), 63, phi=phi, noise=noise, seed=7)
    reading = detect_stockouts(hours_of(asked))
    assert (reading.probability > 0.5).mean() <= 0.02
    assert reading.demand.sum() <= 1.04 * asked.sum()


def test_longer_silence_is_surer():
    sales = demand([30.0, 30.0, 30.0], 42, seed=3)
    chances = []
    for silent_from in (19, 15, 11):
        one = sales.copy()
        one[1, 20, silent_from:] = 0
        chances.append(detect_stockouts(hours_of(one)).probability[1, 20])
    # beyond 99% it hardly matters that less was sold before
    assert (np.diff(chances) > -0.001).all()
    assert chances[0] < 0.3
    assert chances[-1] > 0.9


# --- What must not matter.


def test_the_size_of_units_does_not_matter():
    sales, _, _ = shop(3, 21)
    whole, tenth = detect_stockouts(hours_of(sales)), detect_stockouts(hours_of(sales * 0.1))
    np.testing.assert_allclose(whole.probability, tenth.probability, atol=1e-7)
    np.testing.assert_allclose(whole.demand * 0.1, tenth.demand, rtol=1e-7, atol=1e-7)


# --- What it hands on.


def test_a_table_a_row_for_each_known_day():
    sales, _, _ = shop(2, 28)
    sales[0, 3] = np.nan
    reading = detect_stockouts(hours_of(sales))
    table = reading.table()
    assert table.columns == ["series", "date", "sold", "sold_out", "hours_out", "demand"]
    assert table.height == 2 * 28 - 1
    assert np.isnan(reading.probability[0, 3])
    assert table["sold"].sum() == np.nansum(sales)
    assert "about 26% of 55 days" in reading.describe()


# --- Odd hours.


def test_nothing_sold_at_all_gets_one_sentence():
    with pytest.raises(InvalidInput, match="hours must have sales, got none"):
        detect_stockouts(hours_of(np.zeros((2, 5, 24))))
    with pytest.raises(InvalidInput, match="hours must be HourlySales, as read_hourly gives them"):
        detect_stockouts(np.zeros((2, 5, 24)))


def test_closed_hours_are_no_hours_out():
    sales, _, _ = shop(2, 28)
    reading = detect_stockouts(hours_of(sales, opens=OPENS, closes=CLOSES))
    assert (reading.stock[:, :, :OPENS] == 1).all()
    assert (reading.hours_out <= CLOSES - OPENS).all()
