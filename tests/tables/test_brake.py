"""A plan that cannot be right is not written, unless somebody insists."""

import datetime

import numpy as np
import polars as pl
import pytest

from unmet.cli.main import run
from unmet.errors import InvalidInput, SolverFailure
from unmet.planning import OrderPlan, Schema

FIRST = datetime.date(2024, 1, 1)
RNG = np.random.default_rng(3)


def panel(n_days=40, items=("a", "b", "c")):
    days = pl.date_range(FIRST, FIRST + datetime.timedelta(n_days - 1), eager=True)
    return pl.concat(
        [
            pl.DataFrame({"date": days, "item": name, "sales": RNG.poisson(9, n_days)})
            for name in items
        ]
    )


def receipts_as_items():
    rows = panel()
    return rows.with_columns(item=pl.Series([f"r{place}" for place in range(rows.height)]))


def two_rows_each():
    items = [f"i{place}" for place in range(60)]
    rows = panel(40, items).filter(pl.int_range(pl.len()) % 20 == 3)
    return pl.concat([rows, panel(40, ["steady"])])


def typos_in_the_year():
    rows = panel()
    late = rows.head(10).with_columns(pl.col("date").dt.offset_by("18y"))
    return pl.concat([rows, late])


def too_many_for_the_memory():
    days = pl.date_range(FIRST, FIRST + datetime.timedelta(9), eager=True)
    items = pl.DataFrame({"item": [f"i{place}" for place in range(200)]})
    return items.join(pl.DataFrame({"date": days}), how="cross").with_columns(sales=pl.lit(3))


HOSTILE = {
    "fewer than three rows": (receipts_as_items, {"series": "item"}),
    "fewer than three rows ": (two_rows_each, {}),
    "most series end": (typos_in_the_year, {}),
}


@pytest.mark.parametrize("why", HOSTILE)
def test_no_plan_of_a_senseless_table(why):
    made, columns = HOSTILE[why]
    plan = OrderPlan(horizon=2, model="seasonal", schema=Schema(**columns, period="day"))
    with pytest.raises(InvalidInput, match=f"looks wrong, because .*{why.strip()}") as error:
        plan.fit(made())
    assert "(force=True)" in str(error.value)


def test_memory_that_does_not_suffice(monkeypatch):
    monkeypatch.setattr("unmet.tables.forms._free_memory", lambda: 1e5)
    with pytest.raises(InvalidInput, match=r"200 series need about 0.0 GB"):
        OrderPlan(model="seasonal").fit(too_many_for_the_memory())


def test_orders_beyond_all_sales(monkeypatch):
    from unmet.planning import candidates

    monkeypatch.setattr(candidates.DemandForecast, "expected", lambda _: np.full((3, 2), 1e6))
    plan = OrderPlan(horizon=2, model="seasonal")
    with pytest.raises(SolverFailure, match=r"or plan anyway \(force=True\)"):
        plan.fit(panel())
    assert plan.fit(panel(), force=True).orders()["order"].max() > 1e5


def test_the_command_line_writes_nothing(tmp_path, capsys):
    file, orders = tmp_path / "sales.csv", tmp_path / "orders.csv"
    typos_in_the_year().write_csv(file)
    words = ["plan", str(file), "--model", "seasonal", "--period", "month", "-o", str(orders)]
    assert run(words) == 2
    printed = capsys.readouterr()
    assert "rows, 3 series" in printed.out  # what was guessed comes first
    assert "or plan anyway (--force)" in printed.err
    assert not orders.exists()
    assert run([*words, "--horizon", "2", "--force"]) == 0
    assert orders.exists()


def test_ordinary_tables_pass():
    new = pl.concat(
        [panel(), panel(2, ["new"]).with_columns(pl.col("date") + pl.duration(days=38))]
    )
    assert OrderPlan(horizon=1, model="seasonal").fit(new).orders().height == 4
    short = panel(2, [f"i{place}" for place in range(20)])  # two days are all that there is
    assert OrderPlan(horizon=1, model="seasonal").fit(short).orders().height == 20


def mistyped(rows, places, value, column="sales"):
    cells = rows[column].to_list()
    for place in places:
        cells[place] = value
    return rows.with_columns(pl.Series(column, cells))


def test_a_mistyped_cell_counts_as_unknown(monkeypatch):
    rows = mistyped(panel(70), [66], 10_000)
    plan = OrderPlan(horizon=2, model="seasonal").fit(rows)
    next_largest = rows["sales"].head(66).append(rows["sales"][67:70]).max()
    quoted = "10,000 in 'sales' on 2024-03-07 for item a counts as unknown, because the next "
    assert any(note.startswith(f"{quoted}largest value is {next_largest}") for note in plan.notes_)
    assert np.argwhere(np.isnan(plan.panel_.observed)).tolist() == [[0, 66]]
    kept = OrderPlan(horizon=2, model="seasonal").fit(rows, force=True)
    assert np.nanmax(kept.panel_.observed) == 10_000
    assert not any("unknown" in note for note in kept.notes_)
    # a cell that is no longer among sales does not allow orders of ten times as much
    monkeypatch.setattr(
        "unmet.planning.candidates.DemandForecast.expected",
        lambda self: np.full((self.training_.panel.n_series, self.n_periods), 500.0),
    )
    with pytest.raises(SolverFailure, match="or plan anyway"):
        OrderPlan(horizon=2, model="seasonal").fit(rows)


def test_a_mistyped_price_counts_as_unknown():
    rows = panel(70).with_columns(price=pl.Series(RNG.choice([2.5, 3.0], 210)))
    coming = panel(72).filter(pl.col("date") > rows["date"].max()).drop("sales")
    coming = mistyped(coming.with_columns(price=pl.lit(2.5)), [1], 250.0, "price")
    plan = OrderPlan(horizon=2, model="seasonal").fit(
        mistyped(rows, [66], 300.0, "price"), future=coming
    )
    assert np.argwhere(np.isnan(plan.panel_.known["price"])).tolist() == [[0, 66], [0, 71]]


def bulk_orders():
    """Spare parts: mostly none, now and then one, once sixty for a whole fleet."""
    return mistyped(panel(200).with_columns(sales=(pl.col("sales") > 14).cast(int)), [150], 60)


def an_event():
    """The market in town: all sell more, and one of them more than ever."""
    return mistyped(mistyped(panel(70), [50], 400), [120, 190], 60)


@pytest.mark.parametrize("made", [bulk_orders, an_event])
def test_what_is_not_mistyped(made):
    plan = OrderPlan(horizon=2, model="seasonal").fit(made())
    assert not any("next largest" in note for note in plan.notes_)


def total_rows():
    rows = panel()
    sums = rows.group_by("date", maintain_order=True).agg(pl.col("sales").sum())
    return pl.concat([rows, sums.select("date", pl.lit("Total").alias("item"), "sales")])


def wide_with_totals():
    rows = panel(30).pivot("date", index="item", values="sales")
    rows = rows.with_columns(Total=pl.sum_horizontal(pl.exclude("item")))
    last = rows.select(pl.lit("Grand Total").alias("item"), pl.exclude("item").sum())
    return pl.concat([rows, last], how="vertical_relaxed")


def units_and_cents():
    rows = panel(70)
    return rows.with_columns(sales=pl.col("sales") * (1 + 99 * (pl.int_range(pl.len()) % 4 == 1)))


def an_item_of_long_ago():
    shift = pl.when(pl.col("item") == "c").then(pl.duration(days=2000)).otherwise(pl.duration())
    return panel().with_columns(pl.col("date") - shift)


def a_date_to_come():
    return mistyped(panel(), [30], datetime.date(2042, 2, 1), "date")


HOSTILE_PLANS = {
    "a mistyped cell": (lambda: mistyped(panel(70), [66], 10_000), 27, "counts as unknown"),
    "a mistyped cell of a new item": (
        lambda: mistyped(pl.concat([panel(), panel(4, ["new"])]), [122], 10_000),
        *(27, "10,000 in 'sales' on 2024-01-03 for item new"),
    ),
    "totals as an item": (total_rows, 27, "Totals left out: 'Total' in 'item' (40 rows)"),
    "totals in a wide table": (wide_with_totals, 27, "Totals left out"),
    "receipts as items": (receipts_as_items, 27, "were summed"),
    "two weeks": (lambda: panel(14), 27, ""),
    "units and cents": (
        units_and_cents,
        None,
        "up to 1[0-9] and from [1-9]00, like euros and cents",
    ),
    "dates of one item": (an_item_of_long_ago, 18, "40 dated 2018-07-11 to 2018-08-19"),
    "a date to come": (a_date_to_come, 27, "Rows left out: 1 dated 2042-02-01"),
    "constant sales": (lambda: panel().with_columns(sales=pl.lit(9)), 27, ""),
    "nothing sold": (lambda: panel().with_columns(sales=pl.lit(0)), 0, ""),
    "one row a series": (lambda: panel(1), 27, ""),
}


@pytest.mark.parametrize("name", HOSTILE_PLANS)
def test_no_absurd_plan(name):
    """Orders of hostile tables are near what was sold, or there are none."""
    made, usual, words = HOSTILE_PLANS[name]
    plan = OrderPlan(horizon=2, model="seasonal")
    if usual is None:
        with pytest.raises(InvalidInput, match=rf"must have one scale.*{words}.*\(force=True\)"):
            plan.fit(made())
        return
    orders = plan.fit(made()).orders()
    a_day = orders["order"].sum() / 2
    assert 0.5 * usual <= a_day <= 2 * usual
    assert any(words in note for note in plan.notes_)
