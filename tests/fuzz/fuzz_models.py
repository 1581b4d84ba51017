"""Hostile problems by seed for networks and trees, and what must come of each of them.

Observations, features, costs, bands and weights of sizes from the smallest to the largest that
float64 holds, most of them within what is promised (`unmet.rows.SIZES`).

=========  =========================================================================================
decided    finite decisions, that cost no more than the best constant one on the training rows would
           if it were `WORSE` times as dear, and `SLACK` of what deciding nothing costs
refused    one sentence of our own errors, for sizes outside the promise or rows that say nothing
late       one of our own errors where sizes are inside it (a failure)
worse      decisions dearer than that (a failure)
not        NaN or infinity in a decision (a failure)
warning    a warning of somebody else reached the user (a failure)
foreign    an error that is not ours (a failure)
=========  =========================================================================================

::

    python tests/fuzz/fuzz_models.py --count 400 --first 0
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from fuzz_bands import write_page

from unmet import Band, BoostedDecision, NeuralDecision, Newsvendor, SquaredError
from unmet.errors import UnmetError
from unmet.rows import SIZES, SMALLEST_OF_TREES

FAILURES = ("late", "worse", "not", "warning", "foreign")
WORSE, SLACK = 1.5, 0.005
KINDS = ("plain", "giant", "constant", "zeros", "decades")


def _size(chance):
    """A power of ten: half of them ordinary, most of the others inside the promise."""
    if chance.random() < 0.5:
        return 1.0
    least, most = (-74, 73) if chance.random() < 0.8 else (-320, 300)
    return float(10.0 ** chance.uniform(least, most))


def problem(seed):
    """Model, rows and what else `fit` is given, for one seed."""
    chance = np.random.default_rng(seed)
    n_rows, kind = int(chance.choice([5, 12, 40, 120])), str(chance.choice(KINDS))
    X = chance.normal(size=(n_rows, int(chance.integers(1, 4))))
    y = (10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)).clip(0)
    if kind == "giant":
        y[0] = 1e6
    elif kind == "constant":
        y[:] = y[0]
    elif kind == "zeros":
        y[chance.random(n_rows) < 0.8] = 0.0
    elif kind == "decades":
        y = 10.0 ** chance.uniform(-30, 1, n_rows)
    y = y * _size(chance)
    X = X * _size(chance)
    level, unit = float(chance.choice([0.2, 0.9, 0.99])), _size(chance)
    cost = Newsvendor(level * unit, (1 - level) * unit)
    how = {"random_state": 0}
    if chance.random() < 0.2:
        cost = SquaredError()
    elif chance.random() < 0.3:
        how["band"] = Band(0.0, float(np.median(y)))
    given = {}
    if chance.random() < 0.2:
        given["sample_weight"] = 10.0 ** chance.uniform(-6, 6, n_rows)
    name = str(chance.choice(["network", "adam", "trees"]))
    if name == "network":
        model = NeuralDecision(cost, **how)
    elif name == "adam":
        model = NeuralDecision(cost, solver="adam", max_iter=30, **how)
    else:
        model = BoostedDecision(cost, **how)
    about = (
        f"{name}, {n_rows} rows, {kind}, size {np.abs(y).max():.1e}, {cost}, {how}, {given.keys()}"
    )
    return about, model, X, y, given


def inside(model, X, y):
    """Whether all sizes are within what is promised."""
    seen, trees = np.abs(y).max(), isinstance(model, BoostedDecision)
    if trees and 0 < seen < SMALLEST_OF_TREES:
        return False
    sizes = [seen, *([] if trees else np.abs(X).max(axis=0))]
    sizes += [abs(float(each)) for each in model.cost.parameters().values()]
    if model.band is not None:
        sizes += [float(model.band.high)]
    return all(size == 0 or SIZES[0] <= size <= SIZES[1] for size in sizes)


def judge(model, X, y, given):
    """Outcome of a problem, and what there is to say of it."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            decided = model.fit(X, y, **given).predict(X)
        except UnmetError as error:
            outcome, said = "late" if inside(model, X, y) else "refused", str(error)
        except Exception as error:
            outcome, said = "foreign", f"{type(error).__name__}: {error}"
        else:
            outcome, said = _of_decisions(model, decided, y, given)
    if warned and outcome in ("decided", "refused"):
        outcome, said = "warning", f"{warned[0].category.__name__}: {warned[0].message}"
    return outcome, said


def _of_decisions(model, decided, y, given):
    if not np.isfinite(decided).all():
        return "not", f"{(~np.isfinite(decided)).sum()} decisions are not finite"
    if isinstance(model, NeuralDecision) and model.solver == "adam":
        return "decided", ""  # thirty steps promise nothing
    weight = given.get("sample_weight", np.ones(y.size))
    truth = [np.quantile(y, each) for each in np.linspace(0, 1, 41)]
    paid = weight @ model.cost.loss(decided, y, model.band)
    best = min(weight @ model.cost.loss(np.full(y.size, each), y, model.band) for each in truth)
    held_out = y.size < 100 or "sample_weight" in given  # early stopping judges by few rows
    # where all observations are the same, nothing is as good as the constant
    slack = SLACK * (weight @ model.cost.loss(np.zeros(y.size), y, model.band))
    if not held_out and paid > WORSE * best + slack:
        return "worse", f"costs {paid:.3g} where a constant costs {best:.3g}"
    return "decided", ""


def main(words=None):
    """Judge problems by seed; exit code 1 if there were failures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--page", type=Path, help="write the counts into this file")
    asked = parser.parse_args(words)
    counts = Counter()
    for seed in range(asked.first, asked.first + asked.count):
        about, *rows = problem(seed)
        outcome, said = judge(*rows)
        counts[outcome] += 1
        if outcome in FAILURES:
            print(f"seed {seed}: {outcome}: {said[:160]} [{about}]", flush=True)
    shown = {**dict(counts.most_common()), **{name: counts[name] for name in FAILURES}}
    total = ", ".join(f"{name} {number:,}" for name, number in shown.items())
    last = asked.first + asked.count - 1
    told = f"Networks and trees, seeds {asked.first} to {last}: {total}"
    print(told)
    write_page(asked.page, "models", told)
    return int(any(counts[name] for name in FAILURES))


if __name__ == "__main__":
    sys.exit(main())
