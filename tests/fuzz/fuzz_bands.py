"""Awkward series by seed for `LatentBand`, and what must come of each of them.

A series is drawn part by part: observations (constant but for a few, two-valued, one giant among
them, whole numbers above 1e15, subnormal, huge, …), how many rows, features, what is known of rows,
weights, costs, and what to do when unsure. Every part is ordinary or awkward by itself, so that
most series mix several kinds.

=============  =====================================================================================
band           a finite band and finite decisions, within `FAR` times of what was seen or said to be
               not
refused        one sentence of our own errors, for a reason that docs/explanation/promises.md states
refused late   one of our own errors for any other reason (a failure), or of several lines
far            a decision beyond that without a word in the diagnosis (a failure)
not finite     NaN or infinity in a band or a decision (a failure)
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

from unmet import LatentBand, Newsvendor
from unmet.censoring.constants import FAR_FROM_SEEN as FAR
from unmet.errors import UnmetError
from unmet.rows import SIZES

COUNT = 5_000  # of `make fuzz`
OUTCOMES = ("band", "refused", "refused late", "far", "not finite", "warning", "foreign")
FAILURES = ("refused late", "far", "not finite", "warning", "foreign")


@dataclass(frozen=True)
class Series:
    """One problem: what `LatentBand.fit` is given."""

    X: np.ndarray
    y: np.ndarray
    known: dict[str, np.ndarray]
    rule: dict[str, Any]
    level: float
    kinds: tuple[str, ...]

    @property
    def cost(self) -> Newsvendor:
        return Newsvendor(self.level, 1.0 - self.level)

    def first(self, n_rows: int) -> Series:
        """The same problem with its first rows only."""
        known = {name: value[:n_rows] for name, value in self.known.items()}
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows], known=known)

    def simpler(self) -> Iterator[Series]:
        """Smaller problems that may still fail: half of the rows, one row less, fewer parts."""
        for n_rows in (len(self.y) // 2, len(self.y) - 1):
            if n_rows >= 2:
                yield self.first(n_rows)
        for name in self.known:
            yield replace(self, known={key: self.known[key] for key in self.known if key != name})
        if self.X.shape[1] > 1:
            yield replace(self, X=self.X[:, :-1])

    def source(self) -> str:
        """Lines of Python that make the problem again, to the last bit."""
        given = "".join(f", {key}={_listed(value)}" for key, value in self.known.items())
        rule = ", ".join(f"{key}={value!r}" for key, value in self.rule.items())
        return f"LatentBand({rule}).fit({self.cost}, {_listed(self.X)}, {_listed(self.y)}{given})"


def _listed(values: np.ndarray) -> str:
    return f"np.array({values.tolist()!r})"


def _two_values(chance, n):
    low, high = sorted(chance.choice([0.0, 1.0, 2.0, 7.5, 1e9, -3.0, 1e-9], 2, replace=False))
    return np.where(chance.random(n) < chance.choice([0.02, 0.3, 0.9]), low, high)


def _nearly_constant(chance, n):
    y = np.full(n, chance.choice([0.0, 5.0, 1e12]))
    y[chance.integers(n)] += chance.choice([1.0, 1e-9, 1e6])
    return y


def _outlier(chance, n):
    y = chance.gamma(5, 4, n)
    y[chance.integers(n)] = chance.choice([1e6, 1e12, 1e25, 1e300])
    return y


def _few_values(chance, n):
    return chance.choice([0.0, 1.0, 2.0, 3.0], n, p=[0.7, 0.2, 0.05, 0.05])


def _censored(chance, n):
    return np.minimum(chance.gamma(5, 4, n), chance.choice([15.0, 20.0, 40.0]))


OBSERVATIONS = {
    "ordinary": lambda chance, n: chance.gamma(5, 4, n),
    "counts": lambda chance, n: chance.poisson(chance.choice([0.1, 3, 50]), n).astype(float),
    "capped": _censored,
    "constant": lambda chance, n: np.full(n, chance.choice([0.0, 3.0, -2.0, 1e300])),
    "nearly constant": _nearly_constant,
    "two values": _two_values,
    "few values": _few_values,
    "one giant": _outlier,
    "whole above 1e15": lambda chance, n: (
        1e15 + chance.integers(0, 10 ** chance.integers(1, 16), n)
    ),
    "whole above 2**53": lambda chance, n: np.floor(chance.normal(1e18, 1e17, n)),
    "subnormal": lambda chance, n: chance.integers(1, 1000, n) * 5e-324,
    "tiny": lambda chance, n: chance.gamma(5, 4, n) * 10.0 ** chance.uniform(-307, -100),
    "huge": lambda chance, n: chance.gamma(5, 4, n) * 10.0 ** chance.uniform(100, 305),
    "decades": lambda chance, n: 10.0 ** chance.uniform(-25, 25, n),
    "negative": lambda chance, n: chance.normal(0, 1, n) * 10.0 ** chance.integers(-3, 4),
    "heavy": lambda chance, n: np.abs(chance.standard_cauchy(n)) ** 3,
    "far from zero": lambda chance, n: 1e9 + chance.normal(0, 1, n),
}


def _features(chance, n):
    kind = chance.choice(["ordinary", "none", "constant", "twins", "scaled", "codes", "many"])
    if kind == "none":
        return kind, np.zeros((n, 1))
    if kind == "constant":
        return kind, np.full((n, 2), 4.0)
    X = chance.normal(size=(n, int(chance.integers(1, 4))))
    if kind == "twins":
        X = np.column_stack([X, X[:, 0]])
    elif kind == "scaled":
        X = X * 10.0 ** chance.uniform(-25, 25, X.shape[1])
    elif kind == "codes":
        X = np.eye(5)[chance.integers(5, size=n)]
    elif kind == "many":
        X = chance.normal(size=(n, max(n // 3, 2)))
    return str(kind), X


def _known(chance, y):
    n = y.size
    kind = str(
        chance.choice(
            ["nothing", "nothing", "flags", "all True", "all False", "one seen", "gaps", "stock"]
        )
    )
    flags = chance.random(n) < 0.3
    given = {
        "nothing": {},
        "flags": {"censored": flags},
        "all True": {"censored": np.ones(n, dtype=bool)},
        "all False": {"censored": np.zeros(n, dtype=bool)},
        "one seen": {"censored": np.arange(n) != int(chance.integers(n))},
        "gaps": {"censored": np.where(chance.random(n) < 0.5, np.nan, flags.astype(float))},
        "stock": {"stock": np.maximum(y, np.median(y))},
    }[kind]
    if chance.random() < 0.15:
        given["sample_weight"] = 10.0 ** chance.uniform(-8, 8, n)
        kind += ", weights"
    return kind, given


def generate(seed: int) -> Series:
    """The problem of one seed."""
    chance = np.random.default_rng(seed)
    n = int(chance.choice([2, 3, 5, 8, 12, 19, 30, 60, 120, 250]))
    name = str(chance.choice(list(OBSERVATIONS)))
    y = np.asarray(OBSERVATIONS[name](chance, n), dtype=float)
    shape, X = _features(chance, n)
    if chance.random() < 0.3 and shape not in ("none", "constant", "scaled"):
        y = y + np.abs(X[:, 0]) * float(np.median(np.abs(y)))
    told, known = _known(chance, y)
    rule: dict[str, Any] = {"random_state": 0}
    if chance.random() < 0.2:
        rule["sellout_rate"] = (0.2, (0.1, 0.4), 0.0, 0.9)[chance.integers(4)]
    rule["when_unidentified"] = str(
        chance.choice(["least_censoring", "least_censoring", "minimax_regret", "expected_cost"])
    )
    level = float(chance.choice([0.2, 0.75, 0.9, 0.999]))
    kinds = (f"{n} rows", name, f"features {shape}", told, str(rule), f"level {level:g}")
    return Series(X, y, known, rule, level, kinds)


def evaluate(problem: Series) -> Verdict:
    """Fit, and look at what is handed on."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            rule = LatentBand(**problem.rule).fit(
                problem.cost, problem.X, problem.y, **problem.known
            )
            band = rule.band(problem.X, observation=problem.y)
            decided = rule.decision(problem.X)
        except UnmetError as error:
            late = "\n" in str(error) or inside(problem)
            verdict = Verdict("refused late" if late else "refused", str(error))
        except Exception as error:
            verdict = Verdict("foreign", f"{type(error).__name__}: {error}")
        else:
            verdict = _of_band(problem, rule, band, decided)
    if warned and verdict.outcome not in FAILURES:
        return Verdict("warning", f"{warned[0].category.__name__}: {warned[0].message}")
    return verdict


def _of_band(problem, rule, band, decided) -> Verdict:
    ends = np.concatenate([np.ravel(band.low), np.ravel(band.high), decided])
    if not np.isfinite(ends).all():
        wrong = (~np.isfinite(ends)).sum()
        return Verdict("not finite", f"{wrong} of {ends.size} are not finite")
    seen = float(np.abs(problem.y).max())
    furthest = max(
        float(np.abs(decided).max()), float(np.max(problem.y / seen + band.low / seen) * seen)
    )
    if furthest / seen > FAR and not any(
        "times the largest" in note for note in rule.diagnosis_.notes
    ):
        return Verdict("far", f"decides {furthest:.3g} where at most {seen:.3g} was seen")
    return Verdict("band")


def inside(problem: Series) -> bool:
    """Whether nothing that docs/explanation/promises.md states speaks against a latent model."""
    X, y, known = problem.X, problem.y, problem.known
    sizes = np.append(np.abs(X).max(axis=0), np.abs(y).max())
    if not np.all((sizes == 0) | ((sizes >= SIZES[0]) & (sizes <= SIZES[1]))):
        return False
    flags = known.get("censored", y >= known.get("stock", np.inf))
    rate = problem.rule.get("sellout_rate", 0.1)
    if (rate == 0.0 and np.any(flags == 1)) or np.max(rate) > 0.5:
        return False  # they contradict each other, or most of the truth is said to be hidden
    weight = known.get("sample_weight", np.ones(1))
    if weight.max() > 1e6 * weight.min():
        return False
    seen = np.unique(y[flags != 1], return_counts=True)[1]
    few = len(seen) < 3 or seen.max() > 0.9 * len(y)
    return not few and len(y) >= X.shape[1] + 6
