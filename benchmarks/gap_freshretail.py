"""Real stock-outs: FreshRetailNet-50K with its flags hidden, against what LatentBand infers.

The truth is not known here, only whether a product was sold out at closing time. So two things are
compared: the share of censored days that the rule infers from sales alone with the share recorded,
series by series, and the orders it leads to with those of the same rule told the flags.

The data set is published by Dingdong (Shanghai) under CC-BY-4.0 as FreshRetailNet-50K; the table
must hold its daily rows with the columns named in `NEEDED`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from gap_cases import dummies
from gap_methods import COSTS, LEVELS
from report import head, row
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from unmet import LinearDecision
from unmet.bands import LatentBand

NEEDED = ("dt", "store_id", "product_id", "sales", "oos_at_close", "discount", "holiday_flag")
EXTRAS = ("activity_flag", "precpt", "avg_temperature")  # used where they are there
LEAST_ROWS = 60


def read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, try_parse_dates=True)
    absent = [name for name in NEEDED if name not in table.columns]
    if absent:
        raise SystemExit(
            f"{path} must have the columns {', '.join(NEEDED)}; {absent[0]} is missing."
        )
    series = pl.concat_str("store_id", "product_id", separator="/").alias("series")
    return table.with_columns(series, pl.col("dt").dt.weekday().alias("weekday")).sort(
        "series", "dt"
    )


def features(table: pl.DataFrame, pooled: bool) -> np.ndarray:
    names = ["discount", "holiday_flag", *(name for name in EXTRAS if name in table.columns)]
    numbers = [table[name].cast(pl.Float64).to_numpy() for name in names]
    blocks = [dummies(table["weekday"]), *(column for column in numbers if np.ptp(column) > 0)]
    if pooled:
        blocks.insert(0, dummies(table["series"]))
    return np.column_stack(blocks)


def fit(table: pl.DataFrame, pooled: bool, **known: Any) -> tuple[list[np.ndarray], LinearDecision]:
    """Orders at every level, and the model of the first."""
    X, sales = features(table, pooled), table["sales"].to_numpy()
    rule = None if known.pop("ignoring", False) else LatentBand(random_state=0)
    models = LinearDecision().fit_path(X, sales, costs=COSTS, bands=rule, **known)
    return [model.predict(X) for model in models], models[0]


def three(table: pl.DataFrame, pooled: bool) -> dict:
    """Ignoring censoring, flags hidden, flags known."""
    flags = table["oos_at_close"].to_numpy()
    ignoring, _ = fit(table, pooled, ignoring=True)
    hidden, model = fit(table, pooled)
    known, _ = fit(table, pooled, censored=flags)
    found = model.diagnosis_
    record = {
        "rows": len(flags),
        "recorded": float(flags.mean()),
        "inferred": found.share_censored,
        "identified": found.identified,
        **{
            name: [float(decision.mean()) for decision in decisions]
            for name, decisions in (("ignoring", ignoring), ("hidden", hidden), ("known", known))
        },
    }
    posterior = getattr(model.band_rule_, "censored_probability", None)
    if posterior is not None:
        chance = posterior(features(table, pooled), table["sales"].to_numpy())
        record["posterior"] = agreement(np.asarray(chance), flags)
    return record


def agreement(chance: np.ndarray, flags: np.ndarray) -> dict:
    """How well a probability of being censored tells the flagged rows from the others."""
    ranks = np.argsort(np.argsort(chance)) + 1.0
    n_true, n_false = int(flags.sum()), int((~flags).sum())
    area = None
    if n_true and n_false:
        area = float((ranks[flags].sum() - n_true * (n_true + 1) / 2) / (n_true * n_false))
    return {"area": area, "brier": float(np.mean((chance - flags) ** 2))}


def compare(path: Path, console: Console) -> dict:
    """All series together, then each of them alone."""
    table = read(path)
    parts = [
        part
        for part in table.partition_by("series", maintain_order=True)
        if part.height >= LEAST_ROWS and 0 < part["oos_at_close"].mean() < 1
    ]
    each, failed = [], []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        pooled = three(pl.concat(parts), pooled=True)
        for part in track(parts, "FreshRetailNet", console=console):
            try:
                each.append(three(part, pooled=False))
            except Exception as error:  # one series must not end the run
                failed.append(f"{type(error).__name__}: {error}"[:200])
    return {"series": len(parts), "pooled": pooled, "each": each, "failed": failed}


# --- the page -----------------------------------------------------------------------------------


def section(result: dict) -> list[str]:
    pooled, each = result["pooled"], result["each"]
    lines = [
        "## FreshRetailNet: real stock-outs, flags hidden",
        "",
        f"{result['series']} series of FreshRetailNet-50K (Dingdong; CC-BY-4.0), "
        f"{pooled['rows']:,} days. A day is flagged when it was sold out at closing time.",
        "",
        head(
            ["", "recorded", "inferred", "correlation", "mean absolute error", "constant's error"]
        ),
        row(["all series, one model", share(pooled["recorded"]), said(pooled), "", "", ""]),
    ]
    if len(each) > 1:
        lines.append(row(["each series, a model of its own", *shares(each)]))
    lines += ["", "What the rule says it can tell: " + told([pooled]) + " for the common model; "]
    lines[-1] += told(each) + " of the single ones."
    lines += ["", "Mean order relative to ignoring censoring, of single series the median:", ""]
    lines.append(head(["", *(f"α = {level:g}" for level in LEVELS)]))
    for words, records in (("all series, one model", [pooled]), ("each series", each)):
        for name in ("hidden", "known"):
            if records:
                lines.append(row([f"{words}, flags {name}", *uplift(records, name)]))
    posteriors = [r["posterior"] for r in (pooled, *each) if r.get("posterior")]
    if posteriors:
        areas = [p["area"] for p in posteriors[1:] if p["area"] is not None]
        lines += [
            "",
            "Inferred probability of a stock-out, row by row, against the flags: area under",
        ]
        lines[-1] += f" the curve {posteriors[0]['area']:.2f} in the common model"
        lines[-1] += f", {np.mean(areas):.2f} on average in single series." if areas else "."
    if result["failed"]:
        lines += ["", f"{len(result['failed'])} series did not finish: {result['failed'][0]}"]
    return lines


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


def said(record: dict) -> str:
    return "–" if record["inferred"] is None else share(record["inferred"])


def shares(each: list[dict]) -> list[str]:
    recorded = np.array([record["recorded"] for record in each])
    inferred = np.array([record["inferred"] or 0.0 for record in each])
    error = np.abs(inferred - recorded).mean()
    constant = np.abs(recorded - np.median(recorded)).mean()
    moves = np.ptp(inferred) > 0
    correlation = f"{np.corrcoef(recorded, inferred)[0, 1]:.2f}" if moves else "–"
    errors = [f"{100 * value:.0f} points" for value in (error, constant)]
    return [share(recorded.mean()), share(inferred.mean()), correlation, *errors]


def told(records: list[dict]) -> str:
    words = [record["identified"] for record in records]
    if len(words) == 1:
        return f"“{words[0]}”"
    return ", ".join(f"“{word}” {words.count(word)}" for word in ("yes", "weakly", "no"))


def uplift(records: list[dict], name: str) -> list[str]:
    ratios = np.median([np.divide(r[name], r["ignoring"]) for r in records], axis=0)
    return [f"{ratio:.3f}" for ratio in ratios]
