"""How long LatentBand takes: beside one linear program, and as rows grow.

    python benchmarks/latent.py [--repeats 5] [--rows 2000,20000,200000] [--panels 100x90,800x90]
                                [--freshretail TABLE] [--output FOLDER]

Store-10 data: the whole ``LinearDecision(cost, band=LatentBand()).fit`` against one scipy HiGHS
solve of the linear program of the same decision without a band (LR-NVC), same process, same data,
one thread, the best of several runs. Both must be right: the objective of our own exact fit is
compared with that of HiGHS, and the flags that LatentBand found with the truth.
Rows: seconds on the same design with more and more rows, and the exponent of their growth.
Panels: stores and items as columns of 0 and 1, drawn (series x days) and, with the daily table of
FreshRetailNet-50K, real: CPU seconds of a fit and of what a report asks for beyond it, beside a fit
with all shortcuts off (every family sees all rows, no basis is thinned). Both must give the same
verdict, distribution and decisions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.censoring.latent import robustness, selection, stack
from unmet.censoring.latent.observed import Observed
from unmet.simulate import censoring_lab, store10

LEVELS = (0.55, 0.75, 0.95)


def best_of(repeats: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def against_highs(repeats: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for clip in (False, True):
        train = store10(seed=0, clip=clip).train
        for level in LEVELS:
            cost = Newsvendor.at_level(level)
            data = train.features, train.sales
            highs = LinearDecision(cost, solver="highs")
            latent = LinearDecision(cost, band=LatentBand(random_state=0))
            seconds = [best_of(repeats, partial(m.fit, *data)) for m in (highs, latent)]
            exact = LinearDecision(cost).fit(*data)
            gap = exact.solution_.objective / highs.solution_.objective - 1
            if abs(gap) > 1e-8:
                raise SystemExit(f"objectives differ by {gap:.1e}: nothing to compare")
            found = latent.band_rule_.censored_probability(*data) > 0.5
            hidden = train.demand > train.order
            rows.append(
                {
                    "data": "store-10" + (", clipped" if clip else ""),
                    "level": level,
                    "highs_seconds": seconds[0],
                    "latent_seconds": seconds[1],
                    "ratio": seconds[1] / seconds[0],
                    "objective_gap": gap,
                    "flags_right": float((found == hidden).mean()),
                }
            )
            print(
                f"{rows[-1]['data']:18s} α = {level:.2f}  HiGHS {seconds[0] * 1e3:6.1f} ms  "
                f"LatentBand {seconds[1] * 1e3:7.1f} ms  ratio {seconds[1] / seconds[0]:5.1f}  "
                f"flags right {rows[-1]['flags_right']:.3f}",
                flush=True,
            )
    return rows


def growth(counts: list[int]) -> list[dict[str, float]]:
    rows = []
    for count in counts:
        lab = censoring_lab("normal", orders="noisy", noise=0.4, share=0.4, n=count, seed=0)
        model = LinearDecision(Newsvendor(3, 1), band=LatentBand(random_state=0))
        seconds = best_of(1, partial(model.fit, lab.train.features, lab.train.sales))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append({"rows": len(lab.train), "seconds": seconds, "peak_mib": peak})
        print(f"{len(lab.train):>9,} rows  {seconds:7.2f} s  peak {peak:,.0f} MiB", flush=True)
    if len(rows) > 1:
        logs = np.log([[row["rows"], row["seconds"]] for row in rows])
        slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
        print(f"seconds grow like rows^{slope:.2f}")
    return rows


# --- panels with columns of 0 and 1 ---------------------------------------------------------------


def drawn_panel(n_series: int, n_days: int) -> tuple[np.ndarray, np.ndarray]:
    """Series of stores and items with weekdays, a price and heavy tails; nothing is hidden."""
    generator = np.random.default_rng(0)
    n_stores, n_items = max(n_series // 2, 2), max(n_series // 4, 2)
    store, item = (np.arange(n_series) * 7) % n_stores, np.arange(n_series) % n_items
    row, day = np.divmod(np.arange(n_series * n_days), n_days)
    price = generator.uniform(1.0, 2.0, row.size)
    codes = (store[row], min(n_stores, 100)), (item[row], min(n_items, 30)), (day % 7, 7)
    columns = [(code % size)[:, None] == np.arange(size) for code, size in codes]
    features = np.column_stack([*columns, price]).astype(float)
    level = features @ generator.normal(0.0, 0.25, features.shape[1])
    noise = generator.standard_t(5, row.size)
    return features, 10.0 * np.exp(0.3 * level) + np.exp(0.2 * level) * noise


def real_panel(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import polars as pl

    from unmet.tables.encoding import TableEncoder

    table = pl.read_csv(path, try_parse_dates=True)
    ids = ["store_id", "product_id"]
    numbers = ["discount", "holiday_flag", "activity_flag", "precpt", "avg_temperature"]
    encoder = TableEncoder([*ids, *numbers], ids, "dt", ["weekday", "month"]).fit(table)
    return np.asarray(encoder.transform(table)), table["sales"].to_numpy()


class Counted:
    """Counts the maximisations of all that is called inside the ``with``."""

    modules = (robustness, selection, stack)

    def __enter__(self) -> Counted:
        self.count, self._own = 0, selection.maximise

        def counting(*arguments: object, **options: object) -> object:
            self.count += 1
            return self._own(*arguments, **options)

        for room in self.modules:
            room.maximise = counting
        return self

    def __exit__(self, *_: object) -> None:
        for room in self.modules:
            room.maximise = self._own


def measured_panel(
    features: np.ndarray, sales: np.ndarray, *, shortcuts: bool
) -> tuple[dict[str, object], np.ndarray]:
    """One fit and what a report asks for beyond it; also decisions of some rows.

    Without shortcuts no candidate is looked at with a part of the rows first.
    """
    few = Observed.few
    if not shortcuts:
        Observed.few = lambda *_: None
    try:
        with Counted() as counted:
            started = time.process_time()
            rule = LatentBand(random_state=0).fit(Newsvendor(3, 1), features, sales)
            seconds = time.process_time() - started
        found, first = rule.diagnosis_, rule.diagnosis_.chosen
        record: dict[str, object] = {
            "fit_cpu_seconds": seconds,
            "maximisations": counted.count,
            "verdict": found.identified,
            "distribution": f"{first.truth}, {first.scale}, {first.orders}",
        }
        if shortcuts:
            started = time.process_time()
            _ = found.sensitivity, found.ambiguity
            record["report_cpu_seconds"] = time.process_time() - started
    finally:
        Observed.few = few
    some = np.linspace(0, sales.size - 1, 500).astype(int)
    levels = [rule.quantile(features[some], level) for level in LEVELS]
    bands = [rule.band(features[some], cost=Newsvendor.at_level(level)).low for level in LEVELS]
    return record, np.concatenate([*levels, *np.broadcast_arrays(*bands)])


def panels(sizes: list[str], freshretail: Path | None) -> list[dict[str, object]]:
    cases = {f"drawn {each}": drawn_panel(*map(int, each.split("x"))) for each in sizes}
    if freshretail is not None:
        cases["FreshRetailNet"] = real_panel(freshretail)
    rows = []
    for name, (features, sales) in cases.items():
        ours, decided = measured_panel(features, sales, shortcuts=True)
        reference, expected = measured_panel(features, sales, shortcuts=False)
        apart = float(np.abs(decided - expected).max() / np.abs(expected).mean())
        same = all(ours[key] == reference[key] for key in ("verdict", "distribution"))
        rows.append(
            {
                "data": name,
                "rows": features.shape[0],
                "columns": features.shape[1],
                **ours,
                "without_shortcuts_cpu_seconds": reference["fit_cpu_seconds"],
                "decisions_apart": apart,
            }
        )
        print(
            f"{name:18s} {features.shape[0]:>7,} x {features.shape[1]:<4d} "
            f"fit {ours['fit_cpu_seconds']:6.2f} s CPU ({reference['fit_cpu_seconds']:.2f} without "
            f"shortcuts), report {ours['report_cpu_seconds']:6.2f}, {ours['maximisations']} "
            f"maximisations, {ours['verdict']!r}, {ours['distribution']}, decisions {apart:.0e} "
            f"apart",
            flush=True,
        )
        if not same or apart > 1e-3:
            raise SystemExit(f"{name}: shortcuts change the answer, {ours} against {reference}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", default="2000,20000,200000")
    parser.add_argument("--panels", default="100x90,800x90", help="series x days, drawn")
    parser.add_argument("--freshretail", type=Path, help="daily table of FreshRetailNet-50K")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    target = arguments.output / "latent.json"
    results = json.loads(target.read_text()) if target.exists() else {}
    # parts that are not asked for keep what was measured before
    if arguments.repeats:
        results["against_highs"] = against_highs(arguments.repeats)
    if arguments.rows:
        results["growth"] = growth([int(each) for each in arguments.rows.split(",") if each])
    sizes = [each for each in arguments.panels.split(",") if each]
    if sizes or arguments.freshretail:
        results["panels"] = panels(sizes, arguments.freshretail)
    unfinished = target.with_suffix(".tmp")
    unfinished.write_text(json.dumps(results, indent=1) + "\n")
    unfinished.rename(target)


if __name__ == "__main__":
    main()
