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


def a_typo_in_the_year():
    rows = panel()
    late = rows.head(1).with_columns(date=datetime.date(2042, 1, 1))
    return pl.concat([rows, late])


def one_series_with_a_typo():
    return a_typo_in_the_year().filter(pl.col("item") == "a")


def too_many_for_the_memory():
    days = pl.date_range(FIRST, FIRST + datetime.timedelta(9), eager=True)
    items = pl.DataFrame({"item": [f"i{place}" for place in range(200)]})
    return items.join(pl.DataFrame({"date": days}), how="cross").with_columns(sales=pl.lit(3))


HOSTILE = {
    "fewer than three rows": (receipts_as_items, {"series": "item"}),
    "fewer than three rows ": (two_rows_each, {}),
    "most series end": (a_typo_in_the_year, {}),
    "the one before is": (one_series_with_a_typo, {}),
}


@pytest.mark.parametrize("why", HOSTILE)
def test_no_plan_of_a_senseless_table(why):
    made, columns = HOSTILE[why]
    plan = OrderPlan(horizon=2, model="seasonal", schema=Schema(**columns, period="day"))
    with pytest.raises(InvalidInput, match=f"cannot be right, because .*{why.strip()}") as error:
        plan.fit(made())
    assert "(force=True)" in str(error.value)


def test_memory_that_does_not_suffice(monkeypatch):
    monkeypatch.setattr("unmet.tables.forms._free_memory", lambda: 1e5)
    with pytest.raises(InvalidInput, match=r"200 series would need about 0.0 GB"):
        OrderPlan(model="seasonal").fit(too_many_for_the_memory())


def test_orders_beyond_all_sales(monkeypatch):
    from unmet.planning import candidates

    def absurd(self, history, series, *_):
        return np.full(series.size, 1e6)

    monkeypatch.setattr(candidates.PanelModel, "decide", absurd)
    plan = OrderPlan(horizon=2, model="seasonal")
    with pytest.raises(SolverFailure, match=r"or plan anyway \(force=True\)"):
        plan.fit(panel())
    assert plan.fit(panel(), force=True).orders()["order"].max() == 1e6


def test_the_command_line_writes_nothing(tmp_path, capsys):
    file, orders = tmp_path / "sales.csv", tmp_path / "orders.csv"
    a_typo_in_the_year().write_csv(file)
    words = ["plan", str(file), "--model", "seasonal", "--period", "month", "-o", str(orders)]
    assert run(words) == 2
    printed = capsys.readouterr()
    assert "rows of 3 series" in printed.out  # what was guessed comes first
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
