"""The page of `scale.py`: tables, growth and bars."""

from __future__ import annotations

from math import log
from pathlib import Path


def write_page(results: dict, path: Path, kinds: dict[str, str], bars: dict) -> None:
    cases = {
        (int(rows), int(columns), kind): record
        for key, record in results["cases"].items()
        for rows, columns, kind in [key.split(" ", 2)]
    }
    setting = results["setting"]
    precision = "float32" if setting.pop("single", False) else "float64"
    versions = ", ".join(f"{name} {number}" for name, number in setting.items())
    lines = [
        "# Beyond memory: exact fits of Parquet files by Dask",
        "",
        f"Made by `benchmarks/scale.py`; {versions}; files of {precision}, not compressed. A",
        "newsvendor with α = 0.9. *Seconds* are wall time, *CPU* that of all threads and workers;",
        "*× least squares* is wall time over that of one pass that adds up X'X and X'y of the same",
        "files; *GB* the peak of the process, packages included, for Dask the sum of client and",
        "workers. *Reads* count every pass over the data, that of the sample included. *Excess* is",
        "the objective above the lowest found for the case, relative.",
        "",
    ]
    for columns in sorted({key[1] for key in cases}):
        lines += table(cases, columns, kinds)
        lines += growth(cases, columns, kinds)
    lines += evaluated(cases, bars)
    path.write_text("\n".join(lines) + "\n")


def table(cases: dict, columns: int, kinds: dict[str, str]) -> list[str]:
    lines = [f"## {columns} features", ""]
    lines += ["| rows | what | seconds | CPU | × least squares | reads | GB | gap | excess |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for rows in sorted({key[0] for key in cases if key[1] == columns}):
        floor = cases.get((rows, columns, "least squares"), {}).get("wall")
        for kind, words in kinds.items():
            record = cases.get((rows, columns, kind))
            if record is None:
                continue
            if "failed" in record:
                lines.append(f"| {rows:,} | {words} | failed: {record['failed']} |||||||")
                continue
            ratio = f"{record['wall'] / floor:.1f}" if floor else ""
            reads = f"{record['reads']:.0f}" if "reads" in record else "1"
            if kind.startswith("memory"):
                reads = "in memory"
            gap = f"{record['gap']:.0e}" if "gap" in record else ""
            above = excess(cases, rows, columns, kind)
            lines.append(
                f"| {rows:,} | {words} | {record['wall']:.2f} | {record['cpu']:.2f} | {ratio} | "
                f"{reads} | {record['bytes'] / 1e9:.2f} | {gap} | {above} |"
            )
    return [*lines, ""]


def excess(cases: dict, rows: int, columns: int, kind: str) -> str:
    """Objective relative to the lowest of the same problem."""
    own = cases[rows, columns, kind].get("objective")
    if own is None:
        return ""
    problem = kind.partition("+")[2]
    lowest = min(
        record["objective"]
        for (n, p, other), record in cases.items()
        if (n, p) == (rows, columns)
        and other.partition("+")[2] == problem
        and "objective" in record
    )
    return f"{own / lowest - 1:.0e}"


def growth(cases: dict, columns: int, kinds: dict[str, str]) -> list[str]:
    """Exponents of time and memory in the number of rows, between the two largest cases."""
    lines = []
    for kind, words in kinds.items():
        sizes = sorted(n for n, p, k in cases if (p, k) == (columns, kind))
        good = [n for n in sizes if "failed" not in cases[n, columns, kind]]
        if len(good) < 2:
            continue
        small, large = (cases[n, columns, kind] for n in good[-2:])
        ratio = log(good[-1] / good[-2])
        time, memory = (log(large[key] / small[key]) / ratio for key in ("wall", "bytes"))
        lines.append(f"- {words}: time grows like n^{time:.2f}, memory like n^{memory:.2f}")
    if not lines:
        return []
    return ["Growth between the two largest sizes:", "", *lines, ""]


def evaluated(cases: dict, bars: dict) -> list[str]:
    """Say for the largest case of 20 features whether the bars are met."""
    sizes = [n for n, p, kind in cases if p == 20 and kind.startswith("dask")]
    if not sizes:
        return []
    n = max(sizes)
    lines = [f"## Bars, at {n:,} rows × 20 features", ""]
    lines += ["| what | reads | × least squares | GB | met |", "|---|---|---|---|---|"]
    floor = cases.get((n, 20, "least squares"), {}).get("wall")
    for kind in sorted(kind for m, p, kind in cases if (m, p) == (n, 20)):
        record = cases[n, 20, kind]
        if not kind.startswith("dask") or "failed" in record or not floor:
            continue
        ratio, memory = record["wall"] / floor, record["bytes"] / 1e9
        met = (
            record["reads"] <= bars["reads"]
            and ratio <= bars["ratio"]
            and memory < bars["gigabytes"]
        )
        reads = f"{record['reads']:.0f} (≤ {bars['reads']})"
        lines.append(
            f"| {kind} | {reads} | {ratio:.1f} (≤ {bars['ratio']:g}) | "
            f"{memory:.2f} (< {bars['gigabytes']:g}) | {'yes' if met else 'no'} |"
        )
    return lines
