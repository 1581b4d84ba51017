"""Plans of Dask frames: the orders of one machine, whatever the partitions and whoever dies."""

from __future__ import annotations

import datetime
import os
import signal
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import unmet
from unmet import OrderPlan
from unmet.cli.main import app
from unmet.errors import InvalidInput, Unsupported
from unmet.inventory import SupplyRules
from unmet.planning import Schema, uncensor

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

KEYS = ["store", "item", "date"]


def sales(n_stores: int = 9, n_days: int = 70) -> pl.DataFrame:
    """Flagged sales of seven items in each store, with prices and a category."""
    generator = np.random.default_rng(3)
    n_series = 7 * n_stores
    level = generator.gamma(4.0, 5.0, n_series)[:, None]
    week = 1.0 + 0.3 * np.sin(2.0 * np.pi * np.arange(n_days) / 7.0)
    price = generator.choice([2.0, 3.0], (n_series, n_days), p=[0.2, 0.8])
    demand = generator.poisson(level * week * np.where(price < 3.0, 1.5, 1.0))
    stock = np.ceil(level * week * generator.lognormal(0.3, 0.3, demand.shape))
    number = np.repeat(np.arange(n_series), n_days)
    return pl.DataFrame(
        {
            "store": [f"S{each // 7}" for each in number],
            "item": number % 7,
            "date": np.tile(np.datetime64("2024-01-01") + np.arange(n_days), n_series),
            "sales": np.minimum(demand, stock).ravel(),
            "sold_out": (demand >= stock).ravel(),
            "price": price.ravel(),
            "kind": np.where(number % 7 < 3, "bread", "cake"),
        }
    )


def coming(table: pl.DataFrame, days: int = 7) -> pl.DataFrame:
    """Prices of the coming week, also of a series that is new."""
    last = table["date"].max()
    rows = table.filter(pl.col("date") > last - datetime.timedelta(days=days))
    rows = rows.with_columns(pl.col("date") + datetime.timedelta(days=days))
    rows = rows.select("store", "item", "date", "price")
    new = rows.filter((pl.col("store") == "S0") & (pl.col("item") == 0))
    return pl.concat([rows, new.with_columns(store=pl.lit("S99"))])


def plan(**how) -> OrderPlan:
    return OrderPlan(max_series=20, cost=unmet.Newsvendor(4, 1), **how)


def same(want: pl.DataFrame, got) -> None:
    """Compare to the last bit."""
    got = pl.from_pandas(got).select(want.columns).sort(KEYS)
    want = want.with_columns(pl.col(want.columns[3]).cast(float)).sort(KEYS)
    assert got.equals(want.cast(dict(got.schema)))


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each in a process of its own."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(**options, dashboard_address=":0", memory_limit=0) as started,
        Client(started) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone():
    """A plan of one machine, that learns from 20 of 63 series."""
    table = sales()
    return plan().fit(table, future=coming(table))


@pytest.mark.parametrize("size", [1, 5, 43])
def test_orders_do_not_depend_on_which_series_are_asked_together(alone, size):
    table = sales()
    sampled = alone._sample[0].keys.select("store", "item")
    rest = table.join(sampled, on=["store", "item"], how="anti")
    keys = rest.select("store", "item").unique(maintain_order=True)
    parts = [keys[start : start + size] for start in range(0, keys.height, size)]
    found = [
        alone.decide(rest.join(part, on=["store", "item"]), future=coming(table)) for part in parts
    ]
    want = alone.orders().join(keys, on=["store", "item"], how="semi")
    got = pl.concat(found).sort(KEYS)
    assert got.equals(want.cast(dict(got.schema)).sort(KEYS))


@pytest.mark.parametrize("partitions", ["cut anywhere", "one a store", "shuffled"])
def test_workers_order_what_one_machine_orders(cluster, alone, partitions):
    table = sales()
    rows = table.to_pandas()
    if partitions == "cut anywhere":
        frame = dd.from_pandas(rows, npartitions=5, sort=False)
    elif partitions == "shuffled":
        frame = dd.from_pandas(rows.sample(frac=1.0, random_state=0), npartitions=4, sort=False)
    else:
        empty = [rows.iloc[:0]]
        frame = dd.concat(
            [dd.from_pandas(each, 1, sort=False) for _, each in rows.groupby("store")]
            + [dd.from_pandas(each, 1, sort=False) for each in empty]
        )
    found = plan().fit(frame, future=coming(table))
    same(alone.orders(), found.orders().compute())
    assert found.n_rows_ == table.height
    assert any("20" in note and "63" in note for note in found.notes_)
    if partitions == "one a store":
        same(alone.demand(), found.demand().compute())
        again = alone.at(cost=unmet.Newsvendor(9, 1))
        same(again.orders(), found.at(cost=unmet.Newsvendor(9, 1)).orders().compute())


def test_a_worker_that_dies_changes_nothing(alone, tmp_path):
    from distributed import Client, LocalCluster

    table = sales()
    frame = dd.from_pandas(table.to_pandas(), npartitions=9, sort=False)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(**options, dashboard_address=":0", memory_limit=0) as started,
        Client(started) as client,
    ):
        found = plan().fit(frame, future=coming(table))
        pids = list(client.run(os.getpid).values())
        threading.Timer(0.3, os.kill, (pids[0], signal.SIGKILL)).start()
        told = []
        rows, total = found.write_orders(
            tmp_path / "orders", progress=lambda *what: told.append(what)
        )
        assert pids[0] not in client.run(os.getpid).values()
    want = alone.orders()
    assert (rows, total) == (want.height, want["order"].sum())
    same(want, pl.read_parquet(tmp_path / "orders").to_pandas())
    assert len(told) == len(list((tmp_path / "orders").iterdir()))


def test_few_series_are_all_learned_from():
    table = sales(2)
    frame = dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)
    same(plan().fit(table).orders(), plan().fit(frame).orders().compute())


def test_a_short_past_follows_level_and_weekday_on_dask_as_well():
    table = sales().filter(pl.col("date") < datetime.date(2024, 1, 15))
    frame = dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)
    one = plan(horizon=3).fit(table)
    assert one.choice_.model == "seasonal"
    same(one.orders(), plan(horizon=3).fit(frame).orders().compute())


def test_a_saved_plan_decides_for_others(alone, tmp_path):
    table = sales().filter(pl.col("store") == "S4")
    loaded = unmet.load(alone.save(tmp_path / "plan.unmet"))
    next_days = coming(sales())
    want = alone.decide(table, future=next_days)
    assert loaded.decide(table, future=next_days).equals(want)
    assert loaded.demand().equals(alone.demand())


def test_what_cannot_be_done_on_dask_is_said():
    table = sales(2)
    frame = dd.from_pandas(table.to_pandas(), npartitions=2, sort=False)
    with pytest.raises(Unsupported, match="supply must not be given with a Dask frame"):
        OrderPlan(supply=SupplyRules(lead_time=1)).fit(frame)
    with pytest.raises(InvalidInput, match="future must be a table in memory"):
        plan().fit(frame, future=frame)
    with pytest.raises(InvalidInput, match="tell series apart"):
        plan().fit(frame[["date", "sales"]])
    with pytest.raises(Unsupported, match="needs a plan fitted to a Dask frame"):
        plan().fit(table).write_orders("orders")
    late = table.with_columns(pl.col("date") + datetime.timedelta(days=3))
    with pytest.raises(InvalidInput, match="table must have dates from 2024-01-01"):
        plan().fit(table).decide(late)


def test_columns_that_do_not_tell_series_apart_are_refused():
    table = sales(3).drop("kind", "price").sort("store", "item", "date")
    schema = Schema(series=("item",))
    frame = dd.from_pandas(table.to_pandas(), npartitions=2, sort=False)
    added = OrderPlan(schema=schema).fit(frame)  # as the user says
    assert added.panel_.n_series == 7
    # one store at the start of every partition: its name tells nothing there
    hidden = dd.from_map(lambda part: part, [table.to_pandas()])
    assert OrderPlan().fit(hidden).panel_.n_series == 21


def test_uncensor_corrects_partitions_where_they_lie(cluster):
    table = sales(4).with_columns(unique_id=pl.concat_str("store", "item"))
    table = table.rename({"date": "ds", "sales": "y"}).select("unique_id", "ds", "y", "sold_out")
    rows = table.to_pandas()
    found = uncensor(dd.from_pandas(rows, npartitions=5, sort=False), censored_col="sold_out")
    got = found.frame.compute().sort_values(["unique_id", "ds"])
    whole = uncensor(dd.from_pandas(rows, npartitions=1, sort=False), censored_col="sold_out")
    want = whole.frame.compute().sort_values(["unique_id", "ds"])
    np.testing.assert_allclose(got["y"], want["y"], rtol=1e-9)
    seen = got["y_censored"] == 0
    assert (got.loc[seen, "y"] == got.loc[seen, "y_observed"]).all()
    assert (got.loc[~seen, "y"] > got.loc[~seen, "y_observed"]).all()
    assert 0 < found.added < 1
    with pytest.raises(InvalidInput, match="frame must have the column 'flags'"):
        uncensor(dd.from_pandas(rows, npartitions=1), censored_col="flags")


def test_the_command_lets_workers_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sales(4)
    for number, (_, part) in enumerate(table.group_by("store", maintain_order=True)):
        part.write_parquet(f"part-{number}.parquet")
    files = [str(path) for path in sorted(Path().glob("part-*.parquet"))]
    done = CliRunner().invoke(app, ["plan", *files, "--dask", "local", "-o", "orders"])
    assert done.exit_code == 0, done.output
    assert "orders (in the folder orders)" in done.output
    want = OrderPlan().fit(table.drop("price")).orders()
    got = pl.read_parquet("orders").drop("outside_data").sort(KEYS)
    assert got.height == want.height
    for words, said in (
        (["-o", "orders"], "must be an empty folder"),
        (["-o", "table.csv"], "must be a folder"),
        (["-o", "new", "--log", "log.parquet"], "--log must not be given with --dask"),
    ):
        refused = CliRunner().invoke(app, ["plan", *files, "--dask", "local", *words])
        assert refused.exit_code != 0
        assert said in str(refused.exception)
    refused = CliRunner().invoke(app, ["plan", *files])
    assert "got 4 files" in str(refused.exception)
