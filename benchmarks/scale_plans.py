"""Plans against their size: seconds and memory by series, days and horizon, and on workers of Dask.

    python benchmarks/scale.py --plans [--series 1e2,1e3,1e4,1e5] [--dask 1e4,1e5,1e6]
                               [--folder FOLDER] [--resume]

Series are tiled from the bundled sales of bakeries: a window of days of a real series times a
factor of its own, cut off at a stock that runs out on about one day of six, with flags. Each case
is a process of its own with one thread; those of Dask have two worker processes with a thread each,
which write the orders as Parquet. Results go to results/plans.json after each case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stopwatch import Stopwatch, peak_memory

HERE = Path(__file__).resolve().parent
FILE_SERIES = 5_000
DAYS = 90


def tiled(n_series: int, n_days: int, first: int = 0):
    """Rows of so many series, beginning with a number of them."""
    import numpy as np
    import polars as pl

    demand = real_demand()
    rng = np.random.default_rng([n_days, first])
    own = rng.integers(0, len(demand), n_series)
    start = 7 * rng.integers(0, (demand.shape[1] - n_days) // 7 + 1, n_series)
    days = np.arange(n_days)
    factor = rng.lognormal(0.0, 0.5, n_series)[:, None]
    asked = np.round(demand[own[:, None], start[:, None] + days] * factor / 4.0)
    usual = np.lib.stride_tricks.sliding_window_view(np.pad(asked, ((0, 0), (7, 0)), "edge"), 7, 1)
    stock = np.ceil(usual[:, :-1].mean(axis=2) * rng.lognormal(0.35, 0.25, asked.shape))
    number = np.arange(first, first + n_series)
    dates = np.datetime64("2024-01-01") + days
    return pl.DataFrame(
        {
            "store": np.repeat(number // 50, n_days),
            "item": np.repeat(number % 50, n_days),
            "date": np.tile(dates, n_series),
            "sales": np.minimum(asked, stock).ravel(),
            "sold_out": (asked >= stock).ravel(),
        }
    )


def real_demand():
    """Demand of the series of bakeries that have a row on every day, (n_series, n_days)."""
    import numpy as np

    from unmet.data import load_bakery

    rows = load_bakery().sort("store", "product", "date")
    every = [each["demand"].to_numpy() for each in rows.partition_by("store", "product")]
    longest = max(map(len, every))
    return np.nan_to_num(np.array([each for each in every if len(each) == longest]))


def measure(request: dict) -> dict:
    from unmet import OrderPlan

    plan = OrderPlan(horizon=request.get("horizon", 7))
    if request["kind"] == "dask":
        return on_dask(plan, request)
    table, watch = tiled(request["series"], request["days"]), Stopwatch()
    before = peak_memory()
    with watch:
        orders = plan.fit(table).orders()
    return {**watch.record(), "bytes": peak_memory(), "before": before, "rows": orders.height}


def spent() -> tuple[float, int]:
    """Processor seconds and peak memory of a worker."""
    return time.process_time(), peak_memory()


def on_dask(plan, request: dict) -> dict:
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    folder = Path(request["folder"])
    for first in range(0, request["series"], FILE_SERIES):
        path = folder / f"{first:08}.parquet"
        if not path.exists():
            tiled(min(FILE_SERIES, request["series"]), request["days"], first).write_parquet(path)
    n_files = -(-request["series"] // FILE_SERIES)
    files = [str(path) for path in sorted(folder.glob("*.parquet"))[:n_files]]
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        tempfile.TemporaryDirectory() as out,
        LocalCluster(**options, dashboard_address=":0", memory_limit="3GB") as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet(files, aggregate_files=False, split_row_groups=False)
        client.run(__import__, "unmet.planning")
        before = sum(each[0] for each in client.run(spent).values())
        own, started = time.process_time(), time.perf_counter()
        rows, total = plan.fit(frame).write_orders(Path(out) / "orders")
        wall = time.perf_counter() - started
        after = list(client.run(spent).values())
    cpu = time.process_time() - own + sum(each[0] for each in after) - before
    worker = max(each[1] for each in after)
    return {
        "wall": wall,
        "cpu": cpu,
        "bytes": peak_memory(),
        "worker": worker,
        "rows": rows,
        "total": total,
    }


def cases(chosen: argparse.Namespace) -> list[dict]:
    def sizes(text: str) -> list[int]:
        return [round(float(each)) for each in text.split(",") if each]

    found = [{"kind": "series", "series": n, "days": DAYS} for n in sizes(chosen.series)]
    found += [{"kind": "days", "series": 1_000, "days": n} for n in sizes(chosen.days)]
    found += [
        {"kind": "horizon", "series": 1_000, "days": 180, "horizon": n}
        for n in sizes(chosen.horizons)
    ]
    return found + [{"kind": "dask", "series": n, "days": DAYS} for n in sizes(chosen.dask)]


def run_all(chosen: argparse.Namespace) -> None:
    path = chosen.output / "plans.json"
    results = json.loads(path.read_text()) if chosen.resume and path.exists() else []
    known = [{k: v for k, v in each.items() if k in KEYS} for each in results]
    with tempfile.TemporaryDirectory() as temporary:
        for case in cases(chosen):
            if case in known:
                continue
            folder = chosen.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            results.append({**case, **one({**case, "folder": str(folder)})})
            print(results[-1], flush=True)
            path.write_text(json.dumps(results, indent=1) + "\n")


KEYS = ("kind", "series", "days", "horizon")


def one(request: dict) -> dict:
    """Measure in a process of its own, with one thread."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    environment["POLARS_MAX_THREADS"] = "1"
    command = [sys.executable, str(HERE / "scale_plans.py"), json.dumps(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1][:300]}
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
