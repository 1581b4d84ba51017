"""Hostile problems by seed for networks and trees, and what must come of each of them.

Observations, features, costs, bands and weights of sizes from the smallest to the largest that
float64 holds, most of them within what is promised (`unmet.rows.SIZES`).

=============  =====================================================================================
decided        finite decisions, that cost no more than the best constant one on the training rows
               would if it were `WORSE` times as dear, and `SLACK` of what deciding nothing costs
refused        one sentence of our own errors, for sizes outside the promise
refused late   one of our own errors where sizes are inside it (a failure)
worse          decisions dearer than that (a failure)
not finite     NaN or infinity in a decision (a failure)
warning        a warning of somebody else reached the user (a failure)
foreign        an error that is not ours (a failure)
=============  =====================================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from fuzz import Verdict

from unmet import Band, BoostedDecision, NeuralDecision, Newsvendor, SquaredError
from unmet.errors import UnmetError
from unmet.rows import SIZES, SMALLEST_OF_TREES

COUNT = 2_000  # of `make fuzz`
OUTCOMES = ("decided", "refused", "refused late", "worse", "not finite", "warning", "foreign")
FAILURES = ("refused late", "worse", "not finite", "warning", "foreign")
WORSE, SLACK = 1.5, 0.005
SHAPES = ("plain", "giant", "constant", "zeros", "decades")


@dataclass(frozen=True)
class Problem:
    """One fit: a model, and the rows that it is given."""

    model: Any
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    kinds: tuple[str, ...]

    def first(self, n_rows: int) -> Problem:
        """The same problem with its first rows only."""
        weight = None if self.weight is None else self.weight[:n_rows]
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows], weight=weight)

    def simpler(self) -> Iterator[Problem]:
        """Smaller problems that may still fail: fewer rows, fewer columns, no weights."""
        for n_rows in (len(self.y) // 2, len(self.y) - 1):
            if n_rows >= 2:
                yield self.first(n_rows)
        if self.X.shape[1] > 1:
            yield replace(self, X=self.X[:, :-1])
        if self.weight is not None:
            yield replace(self, weight=None)

    def source(self) -> str:
        """Lines of Python that make the problem again, to the last bit."""
        rows = [f"np.array({each.tolist()!r})" for each in (self.X, self.y)]
        if self.weight is not None:
            rows.append(f"sample_weight=np.array({self.weight.tolist()!r})")
        return f"{' '.join(repr(self.model).split())}.fit({', '.join(rows)})"


def _size(chance):
    """A power of ten: half of them ordinary, most of the others inside the promise."""
    if chance.random() < 0.5:
        return 1.0
    least, most = (-29, 28) if chance.random() < 0.8 else (-320, 300)
    return float(10.0 ** chance.uniform(least, most))


def generate(seed: int) -> Problem:
    """The problem of one seed."""
    chance = np.random.default_rng(seed)
    n_rows, shape = int(chance.choice([5, 12, 40, 120])), str(chance.choice(SHAPES))
    X = chance.normal(size=(n_rows, int(chance.integers(1, 4))))
    y = (10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)).clip(0)
    if shape == "giant":
        y[0] = 1e6
    elif shape == "constant":
        y[:] = y[0]
    elif shape == "zeros":
        y[chance.random(n_rows) < 0.8] = 0.0
    elif shape == "decades":
        y = 10.0 ** chance.uniform(-30, 1, n_rows)
    y = y * _size(chance)
    X = X * _size(chance)
    level, unit = float(chance.choice([0.2, 0.9, 0.99])), _size(chance)
    cost = Newsvendor(level * unit, (1 - level) * unit)
    how: dict[str, Any] = {"random_state": 0}
    if chance.random() < 0.2:
        cost = SquaredError()
    elif chance.random() < 0.3:
        how["band"] = Band(0.0, float(np.median(y)))
    weight = 10.0 ** chance.uniform(-6, 6, n_rows) if chance.random() < 0.2 else None
    name = str(chance.choice(["network", "adam", "trees"]))
    if name == "network":
        model = NeuralDecision(cost, **how)
    elif name == "adam":
        model = NeuralDecision(cost, solver="adam", max_iter=30, **how)
    else:
        model = BoostedDecision(cost, **how)
    weighed = "no weights" if weight is None else "weights"
    kinds = (name, f"{n_rows} rows", shape, f"size {np.abs(y).max():.1e}", str(cost), weighed)
    return Problem(model, X, y, weight, kinds)


def inside(problem: Problem) -> bool:
    """Whether all sizes are within what is promised."""
    model = problem.model
    seen, trees = np.abs(problem.y).max(), isinstance(model, BoostedDecision)
    if trees and 0 < seen < SMALLEST_OF_TREES:
        return False
    sizes = [seen, *([] if trees else np.abs(problem.X).max(axis=0))]
    sizes += [abs(float(each)) for each in model.cost.parameters().values()]
    if model.band is not None:
        sizes += [float(model.band.high)]
    return all(size == 0 or SIZES[0] <= size <= SIZES[1] for size in sizes)


def evaluate(problem: Problem) -> Verdict:
    """Fit, and price the decisions on the rows that were learned from."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = problem.model.fit(problem.X, problem.y, sample_weight=problem.weight)
            decided = model.predict(problem.X)
        except UnmetError as error:
            verdict = Verdict("refused late" if inside(problem) else "refused", str(error))
        except Exception as error:
            verdict = Verdict("foreign", f"{type(error).__name__}: {error}")
        else:
            verdict = _of_decisions(problem, decided)
    if warned and verdict.outcome not in FAILURES:
        return Verdict("warning", f"{warned[0].category.__name__}: {warned[0].message}")
    return verdict


def _of_decisions(problem: Problem, decided: np.ndarray) -> Verdict:
    model, y, weight = problem.model, problem.y, problem.weight
    if not np.isfinite(decided).all():
        return Verdict("not finite", f"{(~np.isfinite(decided)).sum()} decisions are not finite")
    if isinstance(model, NeuralDecision) and model.solver == "adam":
        return Verdict("decided")  # thirty steps promise nothing
    if y.size < 100 or weight is not None:
        return Verdict("decided")  # early stopping evaluates few rows

    def total(decision):
        return model.cost.loss(decision, y, model.band).sum()

    best = min(total(np.full(y.size, each)) for each in np.quantile(y, np.linspace(0, 1, 41)))
    paid = total(decided)
    # where all observations are the same, nothing is as good as the constant
    if paid > WORSE * best + SLACK * total(np.zeros(y.size)):
        return Verdict("worse", f"costs {paid:.3g} where a constant costs {best:.3g}")
    return Verdict("decided")
