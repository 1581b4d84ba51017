"""How long LatentBand takes: beside one linear program, and as rows grow.

    python benchmarks/latent.py [--repeats 5] [--rows 2000,20000,200000] [--output FOLDER]

Store-10 data: the whole ``LinearDecision(cost, band=LatentBand()).fit`` against one scipy HiGHS
solve of the linear program of the same decision without a band (LR-NVC), same process, same data,
one thread, the best of several runs. Both must be right: the objective of our own exact fit is
compared with that of HiGHS, and the flags that LatentBand found with the truth.
Rows: seconds on the same design with more and more rows, and the exponent of their growth.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", default="2000,20000,200000")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    results = {
        "against_highs": against_highs(arguments.repeats),
        "growth": growth([int(each) for each in arguments.rows.split(",") if each]),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    target = arguments.output / "latent.json"
    unfinished = target.with_suffix(".tmp")
    unfinished.write_text(json.dumps(results, indent=1) + "\n")
    unfinished.rename(target)


if __name__ == "__main__":
    main()
