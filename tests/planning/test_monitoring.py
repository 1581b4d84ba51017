"""Whether a plan still holds: each promise kept and broken, and every wrong table in a sentence."""

import datetime

import numpy as np
import polars as pl
import pytest
from sales_table import refilling
from scipy import stats

import unmet
from unmet import Newsvendor, OrderPlan
from unmet.errors import InvalidInput
from unmet.planning import DecisionLog, Schema, monitor

pytestmark = pytest.mark.usefixtures("sales_are_demand")

FIRST = datetime.date(2024, 1, 1)
PAST, DAYS, LEVEL = 140, 56, 0.8
LAST = FIRST + datetime.timedelta(PAST - 1)
MEANS = np.geomspace(3, 60, 8)
PROFILE = np.array([0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 0.8])


def mean_demand(n_days=PAST + DAYS):
    return MEANS[:, None] * PROFILE[np.arange(n_days) % 7]


def demand(change=1.0, seed=0, n_days=PAST + DAYS):
    mean = mean_demand(n_days)
    mean[:, PAST:] *= change
    return np.random.default_rng(seed).poisson(mean)


def orders(level=LEVEL, n_days=PAST + DAYS):
    """Best whole orders for the demand that the plan saw."""
    return stats.poisson(mean_demand(n_days)).ppf(level)


def table(sold, **more):
    n_series, n_days = sold.shape
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(day) for day in range(n_days)] * n_series,
            "item": np.repeat([f"{place:02}" for place in range(n_series)], n_days),
            "sales": sold.ravel(),
            **{name: np.asarray(values).ravel() for name, values in more.items()},
        }
    )


def flagged(asked, ordered):
    return table(np.minimum(asked, ordered), sold_out=asked >= ordered)


def old(rows):
    return rows.filter(pl.col("date") <= LAST)


def fitted(rows, **words):
    words = {"horizon": 7, "cost": Newsvendor.at_level(LEVEL), "model": "seasonal", **words}
    return OrderPlan(**words).fit(old(rows))


@pytest.fixture(scope="module")
def plain(sales_are_demand):
    return fitted(table(demand()))


@pytest.fixture(scope="module")
def with_flags():
    return fitted(flagged(demand(), orders()))


# --- As planned, and not.


@pytest.mark.parametrize("seed", range(3))
def test_nothing_has_changed(plain, with_flags, seed):
    found = monitor(plain, table(demand(seed=seed)))
    assert found.verdict == "as planned"
    assert found["sell_outs"].advice.startswith("Not tested: add a log")
    found = monitor(with_flags, flagged(demand(seed=seed), orders()))
    assert found.verdict == "as planned"
    assert found["sell_outs"].verdict == "as planned"
    assert found["sell_outs"].details["days"] == 8 * DAYS


def test_whole_orders_sell_out_more_often_than_one_minus_the_level(with_flags):
    found = monitor(with_flags, flagged(demand(seed=3), orders()))["sell_outs"]
    low, high = found.details["planned_rate"]
    best = orders()[:, :7]
    mean = mean_demand(7)
    exact = 1.0 - LEVEL + stats.poisson(mean).pmf(best).mean()
    assert low == pytest.approx(1.0 - LEVEL)
    assert high == pytest.approx(exact, abs=0.03)
    assert low <= stats.poisson(mean).sf(best - 1).mean() <= high


def test_a_doubled_level_is_found_within_two_weeks(plain):
    found = monitor(plain, table(demand(2.0, seed=1)))
    assert found.plan_again
    assert found["level"].verdict == "plan again"
    assert found["level"].first_day <= LAST + datetime.timedelta(8)
    assert found["level"].details["seen_units"] == pytest.approx(
        2 * found["level"].details["expected_units"], rel=0.1
    )
    assert "above" in found["level"].advice
    series = found["series"]
    assert series.verdict == "plan again"
    assert series.details["up"] == len(series.details["moved"]) >= 6
    assert series.first_day <= LAST + datetime.timedelta(21)


def test_a_halved_level_is_found_and_half_the_shelf_is_left(with_flags):
    found = monitor(with_flags, flagged(demand(0.5, seed=1), orders()))
    assert "below" in found["level"].advice
    assert found["level"].verdict == "plan again"
    assert found["sell_outs"].verdict == "plan again"
    assert "less frequent" in found["sell_outs"].advice
    assert found["sell_outs"].details["seen_rate"] < 0.02


def test_one_series_among_many_has_moved(plain):
    sold = demand(seed=2)
    sold[5, PAST:] *= 3
    found = monitor(plain, table(sold))["series"]
    assert found.details["moved"] == ["05"]
    assert found.verdict == "plan again"
    assert found.advice == "Changed: 05."


def test_sold_out_days_show_no_fall(with_flags):
    """Deliveries of a third: sales fall, demand has not."""
    found = monitor(with_flags, flagged(demand(seed=1), np.floor(orders() / 3)))
    assert found["level"].verdict == "as planned"
    assert found["sell_outs"].verdict == "plan again"


def test_a_slow_seller_that_has_moved():
    generator = np.random.default_rng(0)
    mean = np.full((12, PAST + 112), 0.6)
    rows = table(generator.poisson(mean))
    plan = fitted(rows)
    assert monitor(plan, rows).verdict == "as planned"
    mean[3, PAST:] *= 6
    found = monitor(plan, table(np.random.default_rng(1).poisson(mean)))["series"]
    assert found.details["moved"] == ["03"]


def test_the_order_of_rows_and_the_old_rows_do_not_matter(with_flags):
    rows = flagged(demand(1.2, seed=4), orders())
    found = monitor(with_flags, rows)
    assert monitor(with_flags, rows.sample(fraction=1.0, shuffle=True, seed=0)) == found
    assert monitor(with_flags, rows.filter(pl.col("date") > LAST)) == found
    assert monitor(with_flags, rows.to_pandas()) == found


def test_a_loaded_plan_says_the_same(with_flags, tmp_path):
    loaded = unmet.load(with_flags.save(tmp_path / "plan.unmet"))
    rows = flagged(demand(1.3, seed=4), orders())
    assert monitor(loaded, rows) == monitor(with_flags, rows)


# --- The log and stock.


def logged(suggested, delivered=None):
    log = DecisionLog(["item"])
    rows = table(suggested).rename({"sales": "order"}).filter(pl.col("date") > LAST)
    log = log.suggested(rows)
    if delivered is not None:
        came = table(delivered).rename({"sales": "delivered"}).filter(pl.col("date") > LAST)
        log = log.changed(came)
    return log


def test_the_log_tells_what_sold_out(plain, tmp_path):
    asked, ordered = demand(seed=5), orders()
    rows = table(np.minimum(asked, ordered))
    found = monitor(plain, rows, logged(ordered))
    assert found.verdict == "as planned"
    assert found["sell_outs"].details["days"] == 8 * DAYS
    assert "by the log" in found["sell_outs"].what
    assert any("Stock of 448 days" in note for note in found.notes)
    logged(ordered).write(tmp_path / "log.parquet")
    assert monitor(plain, rows, tmp_path / "log.parquet") == found


def test_short_deliveries_are_not_the_plans_fault(plain):
    asked, ordered = demand(seed=5), orders()
    came = ordered.copy()
    came[::2] = np.floor(came[::2] / 2)
    found = monitor(plain, table(np.minimum(asked, came)), logged(ordered, came))
    assert found["sell_outs"].verdict == "as planned"
    assert found["sell_outs"].details["days"] == 4 * DAYS
    assert any("On 224 of 448 days" in note and "deliveries" in note for note in found.notes)


def test_lots_sell_out_less_often():
    """With lots of 12 the best order may reach far beyond the level."""
    ordered = 12.0 * np.ceil(orders() / 12.0)
    plan = fitted(flagged(demand(), ordered), lot=12)
    found = monitor(plan, flagged(demand(seed=1), ordered))["sell_outs"]
    low, _ = found.details["planned_rate"]
    assert low < 0.1 < 1.0 - LEVEL
    assert found.verdict == "as planned"


def test_with_a_rate_alone_orders_that_reach_further_sell_more():
    asked, ordered = demand(seed=11), orders(0.5)
    plan = fitted(table(np.minimum(asked, ordered)), sellout_rate=0.5, model="linear")
    now = np.minimum(asked, orders(0.95))  # as planned, nearly all demand is sold from now on
    now[:, :PAST] = np.minimum(asked, ordered)[:, :PAST]
    assert now[:, PAST:].sum() > 1.04 * np.minimum(asked, ordered)[:, PAST:].sum()
    found = monitor(plan, table(now))["level"]
    assert found.verdict == "as planned"
    assert found.details["expected_units"] > np.minimum(asked, ordered)[:, PAST:].sum()


# --- Promotions, series and weekdays.


def test_what_the_sheet_expects_is_no_shift():
    """A promotion that the plan knew of doubles its days."""
    generator = np.random.default_rng(0)
    promoted = generator.random((1, PAST + DAYS)) < 0.3
    promoted[:, PAST : PAST + 7] = True
    mean = mean_demand() * np.where(promoted, 2.0, 1.0)
    rows = table(generator.poisson(mean), promotion=np.broadcast_to(promoted, mean.shape) * 1)
    week = pl.col("date") <= LAST + datetime.timedelta(7)
    coming = rows.filter((pl.col("date") > LAST) & week).drop("sales")
    words = {
        "horizon": 7,
        "cost": Newsvendor.at_level(LEVEL),
        "model": "linear",
        "schema": Schema(known_future=["promotion"]),
    }
    plan = OrderPlan(**words).fit(old(rows), future=coming)
    found = monitor(plan, rows.filter(week))
    assert found["level"].verdict == "as planned"
    share = found["level"].details["seen_units"] / found["level"].details["expected_units"]
    assert 0.8 < share < 1.25


def test_series_that_are_new_or_have_ended(plain):
    sold = demand(seed=9)
    more = table(np.vstack([sold, sold[:1]]))
    found = monitor(plain, more)["assortment"]
    assert found.verdict == "plan again"
    assert found.details["new"] == ["08"]
    assert "without orders: 08" in found.advice
    fewer = table(sold).filter((pl.col("item") != "03") | (pl.col("date") <= LAST))
    found = monitor(plain, fewer)["assortment"]
    assert found.verdict == "monitor"
    assert found.details["ended"] == ["03"]
    few_days = fewer.filter(pl.col("date") <= LAST + datetime.timedelta(14))
    assert monitor(plain, few_days)["assortment"].verdict == "as planned"


def test_weekdays_that_are_open_now():
    rows = table(demand(seed=10))
    closed = rows.filter((pl.col("date").dt.weekday() != 7) | (pl.col("date") > LAST))
    plan = fitted(closed)
    found = monitor(plan, closed)["weekdays"]
    assert found.verdict == "plan again"
    assert found.advice == "Sunday: open now, but closed in the plan, so without orders."
    week = closed.filter(pl.col("date") <= LAST + datetime.timedelta(7))
    assert monitor(plan, week)["weekdays"].verdict == "monitor"


def test_weeks():
    generator = np.random.default_rng(0)
    sold = generator.poisson(40, (4, 100))
    rows = table(sold).with_columns(
        date=pl.lit(FIRST) + pl.duration(days=(pl.col("date") - FIRST).dt.total_days() * 7)
    )
    end = FIRST + datetime.timedelta(7 * 79)
    plan = OrderPlan(horizon=2, model="seasonal").fit(rows.filter(pl.col("date") <= end))
    found = monitor(plan, rows)
    assert found.verdict == "as planned"
    assert found.n_days == 20
    double = rows.with_columns(
        sales=pl.when(pl.col("date") > end).then(2 * pl.col("sales")).otherwise("sales")
    )
    assert monitor(plan, double)["level"].verdict == "plan again"
    later = rows.with_columns(pl.col("date").dt.offset_by("1d"))
    with pytest.raises(InvalidInput, match="weeks that start on the weekday of the plan"):
        monitor(plan, later)


def test_one_series():
    sold = demand()[:1]
    rows = table(sold).drop("item")
    plan = fitted(rows)
    assert monitor(plan, rows).verdict == "as planned"
    found = monitor(plan, table(demand(3.0)[:1]).drop("item"))
    assert found["series"].details["moved"] == ["the series"]


# --- Wrong input.


def test_wrong_input_gets_a_sentence(plain, tmp_path):
    rows = table(demand())
    for wrong, sentence in (
        (rows.drop("sales"), "table must have the columns of the plan, got no 's"),
        (old(rows), "table must have rows after the plan's last day, 2024-05-19, got none after"),
        (
            rows.with_columns(item=pl.lit("x")).unique("date"),
            "table must have new rows of series in the plan, got only other series",
        ),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            monitor(plain, wrong)
    with pytest.raises(InvalidInput, match="level must be a number above 0 and below 1, got 1"):
        monitor(plain, rows, level=1.0)
    with pytest.raises(InvalidInput, match="plan must be an OrderPlan"):
        monitor("plan.unmet", rows)
    with pytest.raises(InvalidInput, match="plan must have been fitted"):
        monitor(OrderPlan(), rows)
    with pytest.raises(InvalidInput, match="log must be a file that exists, got"):
        monitor(plain, rows, tmp_path / "absent.parquet")


# --- Replenishment.


def shelf(asked, level=0.9):
    """Base stock ordered each evening, there the next morning; what is left stays."""
    n_series, n_days = asked.shape
    up_to = stats.poisson(mean_demand(n_days)).ppf(level)
    left, stays = np.zeros((n_series, n_days)), np.zeros(n_series)
    for day in range(n_days):
        stays = np.maximum(np.maximum(stays, up_to[:, day]) - asked[:, day], 0.0)
        left[:, day] = stays
    sold = np.maximum(np.roll(left, 1, axis=1), up_to) - left
    sold[:, 0] = up_to[:, 0] - left[:, 0]
    return table(sold, left=left)


@pytest.fixture(scope="module")
def lasting():
    words = {"holding": 1 - LEVEL, "shortage": LEVEL, "on_hand": "left"}
    return refilling(**words).fit(old(shelf(demand())))


@pytest.mark.parametrize("seed", range(2))
def test_lasting_stock_as_planned(lasting, seed):
    found = monitor(lasting, shelf(demand(seed=seed)))
    assert found.verdict == "as planned"
    assert found["sell_outs"].details["days"] == 8 * DAYS
    assert found["sell_outs"].details["planned_rate"][0] == 0  # leftovers serve the next days, too


def test_lasting_stock_that_runs_out_and_moves(lasting, tmp_path):
    again = unmet.load(lasting.save(tmp_path / "plan.unmet"))
    rows = shelf(demand(1.8, seed=2))
    found = monitor(again, rows)
    assert found["sell_outs"].verdict == "plan again"
    assert found["level"].verdict == "plan again"
    assert found.to_dict() == monitor(lasting, rows).to_dict()


def test_the_log_of_lasting_stock_is_not_taken_for_stock(lasting):
    log = DecisionLog(["item"])
    found = monitor(lasting, shelf(demand(seed=1)), log)
    assert any("The log was not used" in note for note in found.notes)
    with pytest.raises(InvalidInput, match="on_hand must be a column of the table"):
        monitor(lasting, shelf(demand(seed=1)).drop("left"))
