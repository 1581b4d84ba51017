"""How long a shared budget takes: 100,000 products, and beside a linear program and plain loops.

    python benchmarks/allocation.py [--products 100000] [--repeats 3] [--output FOLDER]

Every measurement has a process of its own, one thread, the best of several runs; the peak of memory
is that of the whole process, data included. Small cases are solved by peers as well, and all must
have found the same expected cost:

- the sample average problem as a linear program, by HiGHS through SciPy;
- in fractions, a bisection of the multiplier with a loop over products (NumPy's quantile);
- in lots, marginal analysis with a heap in Python, lot by lot.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import ndtri

from unmet import Newsvendor, allocate
from unmet.inventory.allocate import Allocation

BAR = 2.0  # seconds for 100,000 products
KINDS = (
    "quantile function",
    "19 quantiles",
    "100 samples",
    "quantile function, 300 budgets",
    "quantile function, lots of 1",
    "quantile function, lots of 12",
    "19 quantiles, lots of 1",
    "100 samples, lots of 1",
    "100 samples, lots of 6 that use the same",
    "100 samples, lots of 1, 300 budgets",
)


class Products:
    """Normal truths of very different size, with different costs and uses."""

    def __init__(self, count: int, samples: int = 100) -> None:
        generator = np.random.default_rng(0)
        self.mean = generator.gamma(2.0, 50.0, count) + 5
        self.deviation = self.mean * generator.uniform(0.1, 0.6, count)
        self.under, self.over = generator.uniform(1, 9, count), generator.uniform(0.5, 2, count)
        self.use = generator.uniform(0.5, 20, count)
        self.cost = Newsvendor(self.under, self.over)
        self.budget = 0.7 * float(self.use @ self.mean)
        self.store = generator.integers(0, 300, count)
        drawn = generator.standard_normal((count, samples))
        self.samples = np.maximum(self.mean[:, None] + self.deviation[:, None] * drawn, 0)

    def quantile(self, level: np.ndarray) -> np.ndarray:
        return self.mean + self.deviation * ndtri(level)

    def call(self, kind: str) -> Callable[[], Allocation]:
        """Prepare one way of asking."""
        known = {}
        if kind.startswith("quantile"):
            truth = self.quantile
        elif kind.startswith("19"):
            known["levels"] = np.linspace(0.05, 0.95, 19)
            table = self.deviation[:, None] * ndtri(known["levels"])
            truth = self.mean[:, None] + table
        else:
            truth = self.samples
        budget, known["use"] = self.budget, self.use
        if "same" in kind:
            budget, known["use"] = 0.7 * float(self.mean.sum()), 1.0
        if "300" in kind:
            budget, known["groups"] = budget / 300, self.store
        if "lots of" in kind:
            known["step"] = float(kind.split("lots of ")[1].split()[0].rstrip(","))
        return lambda: allocate(self.cost, truth, budget, **known)


def best_of(repeats: int, work: Callable[[], object]) -> tuple[float, float, object]:
    """Wall and processor seconds of the best run, and what it returned."""
    times, answer = [], None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(t for t, _ in times), min(t for _, t in times), answer


def one(kind: str, count: int, repeats: int) -> dict[str, object]:
    products = Products(count)
    seconds, cpu, found = best_of(repeats, products.call(kind))
    assert isinstance(found, Allocation)
    return {
        "kind": kind,
        "products": count,
        "seconds": seconds,
        "cpu": cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gap": float(np.sum(found.gap)) / found.expected_cost,
        "spent": float(np.sum(found.used) / np.sum(found.budget)),
    }


def in_own_process(kind: str, count: int, repeats: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", kind, "--products", str(count)]
    run = subprocess.run(
        [*command, "--repeats", str(repeats)], capture_output=True, text=True, check=True
    )
    row = json.loads(run.stdout.splitlines()[-1])
    print(f"{kind:45s} {row['seconds']:6.2f} s  {row['peak_mib']:6.0f} MiB", flush=True)
    return row


def linear_program(p: Products) -> float:
    n, m = p.samples.shape
    unit = sparse.eye_array(n * m)
    ones = sparse.kron(sparse.eye_array(n), np.ones((m, 1)))
    prices = [np.zeros(n), np.repeat(p.under / m, m), np.repeat(p.over / m, m)]
    row = sparse.hstack([sparse.csr_array(p.use[np.newaxis]), sparse.csr_array((1, 2 * n * m))])
    solved = linprog(
        np.concatenate(prices),
        A_ub=row.tocsr(),
        b_ub=[p.budget],
        A_eq=sparse.hstack([ones, unit, -unit]).tocsr(),
        b_eq=p.samples.ravel(),
        method="highs",
    )
    return float(solved.fun)


def expected(p: Products, y: np.ndarray) -> float:
    over = np.asarray(y)[:, None] - p.samples
    paid = np.where(over > 0, p.over[:, None] * over, -p.under[:, None] * over)
    return float(paid.mean(axis=1).sum())


def loop(p: Products) -> float:
    """Bisect the multiplier; one product after the other."""
    low, high = 0.0, float((p.under / p.use).max())
    for _ in range(60):
        price = 0.5 * (low + high)
        orders = []
        for i in range(p.use.size):
            level = (p.under[i] - price * p.use[i]) / (p.under[i] + p.over[i])
            quantile = np.quantile(p.samples[i], max(level, 0.0), method="inverted_cdf")
            orders.append(quantile if level > 0 else 0.0)
        spent = float(p.use @ orders)
        low, high = (price, high) if spent > p.budget else (low, price)
    return expected(p, np.array(orders))


def heap(p: Products, step: float) -> float:
    """Take lot after lot from a heap until one does not fit, then those that still do."""

    def saving(i: int, y: float) -> float:
        sold = np.clip(p.samples[i] - y, 0.0, step).mean()
        return float((p.under[i] + p.over[i]) * sold - p.over[i] * step)

    orders, left = np.zeros(p.use.size), p.budget
    queue = [(-saving(i, 0.0) / (p.use[i] * step), i) for i in range(p.use.size)]
    heapq.heapify(queue)
    while queue:
        rate, i = heapq.heappop(queue)
        if rate >= 0:
            break
        if p.use[i] * step > left:
            continue
        left -= p.use[i] * step
        orders[i] += step
        heapq.heappush(queue, (-saving(i, orders[i]) / (p.use[i] * step), i))
    return expected(p, orders)


def beside(repeats: int) -> list[dict[str, object]]:
    """Peers on small cases: same samples, same cost."""
    cases = [
        ("HiGHS", 100, "100 samples", linear_program),
        ("HiGHS", 1000, "100 samples", linear_program),
        ("loop over products", 1000, "100 samples", loop),
        ("heap, lot by lot", 1000, "100 samples, lots of 1", lambda p: heap(p, 1.0)),
        ("heap, lot by lot", 2000, "100 samples, lots of 12", lambda p: heap(p, 12.0)),
    ]
    rows = []
    for name, count, kind, peer in cases:
        products = Products(count, samples=20 if name == "HiGHS" else 100)
        ours, _, found = best_of(repeats, products.call(kind))
        theirs, _, cost = best_of(1, lambda p=products, solve=peer: solve(p))
        assert isinstance(found, Allocation)
        mine = expected(products, found.decision)
        excess = mine / cost - 1
        row = {"peer": name, "kind": kind.replace("100 ", f"{products.samples.shape[1]} ")}
        row |= {"products": count, "ours": ours, "theirs": theirs, "excess": excess}
        rows.append(row)
        print(f"{name:20s} {count:6,}  {theirs:8.3f} s  ours {ours:7.4f} s  {excess:+.1e}")
        if excess > 1e-6:
            raise SystemExit(f"{name} found a lower cost: nothing to compare")
    return rows


def page(results: dict[str, list[dict[str, object]]]) -> str:
    lines = [
        "# A budget that products share",
        "",
        "Made by `benchmarks/allocation.py`, which says how it is measured.",
        "",
        "## Many products",
        "",
        f"Promised: 100,000 products in at most {BAR:g} s.",
        "",
        "| truth | products | seconds | CPU seconds | peak MiB | gap ÷ cost | budget spent | met |",
        "| --- | --: | --: | --: | --: | --: | --: | --- |",
    ]
    for row in results["many"]:
        met = "✓" if row["seconds"] <= BAR else "✗"
        lines.append(
            f"| {row['kind']} | {row['products']:,} | {row['seconds']:.2f} | {row['cpu']:.2f} "
            f"| {row['peak_mib']:,.0f} | {row['gap']:.0e} | {row['spent']:.6%} | {met} |"
        )
    lines += [
        "",
        "The gap is proven: no allocation costs less by more than that share. The peak is that of",
        "the process, with 100 samples of each product in it whether they are used or not.",
        "",
        "## Beside others",
        "",
        "| peer | truth | products | peer, seconds | unmet, seconds | ratio | cost above peer's |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    for row in results["beside"]:
        lines.append(
            f"| {row['peer']} | {row['kind']} | {row['products']:,} | {row['theirs']:.3f} "
            f"| {row['ours']:.4f} | {row['theirs'] / row['ours']:,.0f} | {row['excess']:+.0e} |"
        )
    lines += [
        "",
        "A negative last column is a cost below the peer's: the loop stops at a multiplier and",
        "leaves a little of the budget unspent.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--products", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--one", help="measure this one only, and print it as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one, arguments.products, arguments.repeats)))
        return
    results = {
        "many": [in_own_process(kind, arguments.products, arguments.repeats) for kind in KINDS],
        "beside": beside(arguments.repeats),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("allocation.json", json.dumps(results, indent=1) + "\n"),
        ("allocation.md", page(results)),
    ):
        unfinished = arguments.output / (name + ".tmp")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(arguments.output / name)


if __name__ == "__main__":
    main()
