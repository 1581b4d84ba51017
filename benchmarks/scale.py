"""Exact fits of data that outgrow memory: time, memory and reads against the number of rows.

    python benchmarks/scale.py [--rows 1e5,1e6,1e7,5e7] [--columns 20,50] [--folder FOLDER]
                               [--kinds read,least squares,...] [--resume] [--page]
    python benchmarks/scale.py --plans [--series 1e2,1e3,1e4,5e4] [--dask 1e4,1e5,1e6]

Rows are made in files of 100,000, the same for every size; a smaller case reads fewer of them. Each
measurement is a process of its own with one BLAS thread, that of Dask one with its workers. Beside
the fits stand one pass that only reads and one that adds up X'X and X'y. Results go to
results/scale.json after each measurement, and from there to scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from stopwatch import Stopwatch, peak_memory

HERE = Path(__file__).resolve().parent
FILE_ROWS = 100_000
KINDS = {
    "read": "reading once",
    "least squares": "one pass for X'X and X'y",
    "memory": "arrays in memory",
    "memory+band": "arrays in memory, with a band",
    "dask": "Dask, threads",
    "dask+band": "Dask, threads, with a band",
    "dask+lasso": "Dask, threads, with ℓ1",
    "dask1": "Dask, 1 worker",
    "dask2": "Dask, 2 workers",
}
BARS = {"reads": 5, "ratio": 8.0, "gigabytes": 3.0}


def names(columns: int) -> list[str]:
    return [f"x{number}" for number in range(columns)]


def make(folder: Path, rows: int, columns: int, single: bool) -> None:
    """Write the files that are still missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    needed = rows * (columns + 1) * (4 if single else 8)
    free = shutil.disk_usage(folder).free
    if needed * 1.1 > free:
        raise SystemExit(f"{needed / 1e9:.1f} GB are needed in {folder}, {free / 1e9:.1f} are free")
    beta = np.random.default_rng(5).standard_normal(columns)
    kind = np.float32 if single else np.float64
    for number in range(-(-rows // FILE_ROWS)):
        path = folder / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([7, number])
        X = rng.standard_normal((columns, FILE_ROWS))
        s = 20 + beta @ X + rng.gamma(2.0, 1.0, FILE_ROWS) * (1 + 0.3 * np.abs(X[0]))
        table = dict(zip(names(columns), X.astype(kind), strict=True)) | {"sales": s.astype(kind)}
        fresh = path.with_suffix(".new")
        pq.write_table(pa.table(table), fresh, compression="none", use_dictionary=False)
        fresh.replace(path)


def measure(request: dict) -> dict:
    """One measurement, in this process."""
    import numpy as np

    from unmet import Band, LinearDecision, Newsvendor
    from unmet.estimators.base import one_blas_thread

    kind, columns = request["kind"], request["columns"]
    files = sorted(Path(request["folder"]).glob("*.parquet"))[: request["rows"] // FILE_ROWS]
    band = Band(0.1, 1.0) if kind.endswith("+band") else None
    penalty = {"penalty": "l1", "strength": 0.01} if kind.endswith("+lasso") else {}
    model = LinearDecision(Newsvendor(underage=9, overage=1), band, **penalty)
    if kind in ("dask1", "dask2"):
        return with_dask(model, files, columns, int(kind[-1]))
    monitor = Stopwatch()
    if kind == "read":
        with monitor:
            rows = sum(len(s) for _, s in batches(files, columns))
        assert rows == request["rows"]
        return {**monitor.record(), "bytes": peak_memory()}
    if kind == "least squares":
        gram, moments = np.zeros((columns, columns)), np.zeros(columns)
        with monitor, one_blas_thread():
            for X, s in batches(files, columns):
                gram += X @ X.T
                moments += X @ s
            np.linalg.solve(gram, moments)
        return {**monitor.record(), "bytes": peak_memory()}
    if kind.startswith("memory"):
        X, s = np.empty((request["rows"], columns)), np.empty(request["rows"])
        first = 0
        for rows, observed in batches(files, columns):
            part = slice(first, first + len(observed))
            X[part], s[part] = rows.T, observed
            first = part.stop
        with monitor:
            model.fit(X, s)
    else:
        import dask.dataframe as dd

        table = dd.read_parquet([str(path) for path in files])
        with monitor:
            model.fit(table[names(columns)], table["sales"])
    return {**monitor.record(), "bytes": peak_memory(), **answer(model)}


def batches(files: list[Path], columns: int):
    """Features (a row for each column of the files) and observations, batch after batch."""
    import numpy as np
    import pyarrow.parquet as pq

    for path in files:
        for batch in pq.ParquetFile(path).iter_batches(65_536):
            X = np.empty((columns, batch.num_rows))
            for row, name in zip(X, names(columns), strict=True):
                row[:] = batch.column(name)
            yield X, np.asarray(batch.column("sales"))


def answer(model) -> dict:
    found = model.solution_
    proved = {"objective": found.objective, "gap": found.gap / found.objective}
    return {**proved, "reads": found.passes, "method": found.method}


def spent() -> tuple[float, int]:
    """Processor seconds and peak memory of a worker."""
    import time

    return time.process_time(), peak_memory()


def with_dask(model, files: list[Path], columns: int, workers: int) -> dict:
    import time

    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    cluster = LocalCluster(**options, dashboard_address=":0", memory_limit=0)
    with cluster, Client(cluster) as client:
        rows = dd.read_parquet([str(path) for path in files])
        client.run(__import__, "unmet.estimators.linear")
        before = sum(each[0] for each in client.run(spent).values())
        own, started = time.process_time(), time.perf_counter()
        model.fit(rows[names(columns)], rows["sales"])
        wall = time.perf_counter() - started
        after = client.run(spent).values()
        cpu = time.process_time() - own + sum(each[0] for each in after) - before
        memory = peak_memory() + sum(each[1] for each in after)
    return {"wall": wall, "cpu": cpu, "bytes": memory, **answer(model)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1e5,1e6,1e7,5e7", help="sizes, joined by commas")
    parser.add_argument("--columns", default="20,50", help="numbers of features")
    parser.add_argument("--kinds", default=",".join(KINDS), help=", ".join(KINDS))
    parser.add_argument("--folder", type=Path, help="where data are made and kept (temporary)")
    parser.add_argument("--single", action="store_true", help="files of float32")
    parser.add_argument("--memory", type=float, default=8.0, help="GB that arrays may take")
    parser.add_argument("--most", type=float, default=1.1e9, help="entries of the largest case")
    parser.add_argument("--resume", action="store_true", help="keep what was measured")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    parser.add_argument("--plans", action="store_true", help="measure plans (scale_plans.py)")
    parser.add_argument("--series", default="1e2,1e3,1e4,5e4", help="of plans in one process")
    parser.add_argument("--days", default="60,120,240,480", help="of plans of 1,000 series")
    parser.add_argument("--horizons", default="1,7,28", help="of plans of 1,000 series")
    parser.add_argument("--dask", default="1e4,1e5,1e6", help="series of plans on two workers")
    parser.add_argument("--request", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    if chosen.request:
        print(json.dumps(measure(json.loads(chosen.request))))
        return
    if chosen.plans:
        import scale_plans

        scale_plans.run_all(chosen)
        return
    from scale_page import write_page

    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "scale.json"
    kept = (chosen.resume or chosen.page) and path.exists()
    results = json.loads(path.read_text()) if kept else {"cases": {}}
    if not chosen.page:
        with tempfile.TemporaryDirectory() as temporary:
            run_all(chosen, chosen.folder or Path(temporary), results, path)
    write_page(results, chosen.output / "scale.md", KINDS, BARS)


def run_all(chosen: argparse.Namespace, folder: Path, results: dict, path: Path) -> None:
    results["setting"] = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "pyarrow", "dask")},
        "single": chosen.single,
    }
    sizes = [round(float(size)) for size in chosen.rows.split(",")]
    if any(size % FILE_ROWS for size in sizes):
        raise SystemExit(f"rows must be multiples of {FILE_ROWS}")
    for columns in map(int, chosen.columns.split(",")):
        data = folder / f"{columns}{'-single' if chosen.single else ''}"
        for rows in sorted(sizes):
            if rows * columns > chosen.most:
                continue
            make(data, rows, columns, chosen.single)
            for kind in chosen.kinds.split(","):
                key = f"{rows} {columns} {kind}"
                large = kind.startswith("memory") and 16 * rows * columns > chosen.memory * 1e9
                if large or key in results["cases"]:
                    continue
                results["cases"][key] = one(kind, rows, columns, data)
                print(key, results["cases"][key], flush=True)
                fresh = path.with_suffix(".new")
                fresh.write_text(json.dumps(results, indent=1))
                fresh.replace(path)


def one(kind: str, rows: int, columns: int, folder: Path) -> dict:
    """Measure in a process of its own, with one thread for linear algebra."""
    request = {"kind": kind, "rows": rows, "columns": columns, "folder": str(folder)}
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    environment["PYTHONPATH"] = str(HERE.parent / "src")
    command = [sys.executable, str(HERE / "scale.py"), "--request", json.dumps(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1][:200]}
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
