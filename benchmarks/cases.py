"""The problems every solver is given: what they look like, and the one function that judges them.

A case is a recipe, not data: it is rebuilt from its seed in the process that solves it,
so nothing large is passed around and every solver sees the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

ALPHAS = (0.55, 0.65, 0.75, 0.85, 0.95)
BLOCK = 65_536  # rows handled at a time, so that judging never copies the data


@dataclass(frozen=True)
class Problem:
    """Data of one case: minimise Σ (1−α)(y−s−high)⁺ + α(s+low−y)⁺ over y linear in the features.

    ``X`` is (n, p) with a leading column of ones when ``ones``, else (n, p−1). Coefficients are
    always p numbers, the intercept first. Without a band ``low`` and ``high`` are both zero.
    """

    X: np.ndarray | sp.csr_array
    s: np.ndarray
    levels: tuple[float, ...]
    low: float
    high: float
    ones: bool

    @property
    def banded(self) -> bool:
        return self.high > 0

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.X)

    def objective(self, theta: np.ndarray) -> float:
        """Mean cost of the coefficients (one row per level), summed over the levels."""
        total = 0.0
        for level, row in zip(self.levels, np.atleast_2d(theta), strict=True):
            for start in range(0, len(self.s), BLOCK):
                part = slice(start, start + BLOCK)
                decision = self.X[part] @ (row if self.ones else row[1:])
                excess = decision - self.s[part] + (0.0 if self.ones else row[0])
                total += (1 - level) * np.maximum(excess - self.high, 0).sum()
                total += level * np.maximum(self.low - excess, 0).sum()
        return total / len(self.s)

    def bytes(self) -> int:
        """Memory of the features."""
        if isinstance(self.X, np.ndarray):
            return self.X.nbytes
        return self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes


@dataclass(frozen=True)
class Case:
    """Recipe of a problem; ``columns`` counts the intercept."""

    family: str
    kind: str
    rows: int
    columns: int
    banded: bool = False
    levels: tuple[float, ...] = (0.75,)

    @property
    def name(self) -> str:
        path = "-path" if len(self.levels) > 1 else ""
        return self.family + path + ("+band" if self.banded else "")

    def load(self, ones: bool, seed: int = 0) -> Problem:
        """Build the data, with or without a leading column of ones."""
        build = {"store10": _store10, "dense": _dense, "sparse": _sparse}[self.kind]
        X, s, band = build(self.rows, self.columns, ones, np.random.default_rng(seed))
        low, high = band if self.banded else (0.0, 0.0)
        return Problem(X, s, self.levels, low, high, ones)


def _store10(rows: int, columns: int, ones: bool, rng: np.random.Generator):
    """Return the paper's synthetic data, with the published ε in units of the sales."""
    from unmet.simulate.store10 import PUBLISHED_BANDS, store10

    train = store10(seed=0, clip=True).train
    features = np.asarray(train.features, dtype=float)
    s = np.asarray(train.sales, dtype=float)
    X = np.column_stack([np.ones(len(s)), features]) if ones else np.ascontiguousarray(features)
    if (len(s), features.shape[1] + 1) != (rows, columns):
        raise RuntimeError(f"store-10 changed its shape to {features.shape}.")
    low, high = PUBLISHED_BANDS["linear"][0.75]  # in min-max units
    return X, s, (low * np.ptp(s), high * np.ptp(s))


def _dense(rows: int, columns: int, ones: bool, rng: np.random.Generator):
    """Normal features; skewed noise whose spread grows with the first feature."""
    X = np.empty((rows, columns if ones else columns - 1))
    X[:, :1] = 1.0
    s = np.empty(rows)
    slope = rng.normal(size=columns - 1)
    for part in _blocks(rows):
        size = part.stop - part.start
        features = rng.standard_normal((size, columns - 1))
        noise = rng.standard_normal(size) + rng.exponential(size=size) - 1
        X[part, -(columns - 1) :] = features
        s[part] = 3 + features @ slope + (1 + 0.5 * np.abs(features[:, 0])) * noise
    spread = 2.02  # standard deviation of the noise
    return X, s, (0.05 * spread, 0.5 * spread)


def _sparse(rows: int, columns: int, ones: bool, rng: np.random.Generator):
    """Four factors (80, 16, 3 and 1 % of the columns), unevenly frequent, first level dropped."""
    sizes = [round((columns - 1) * share) for share in (0.8, 0.16, 0.03)]
    sizes.append(columns - 1 - sum(sizes))
    indices, s, start = [], np.full(rows, 3.0), int(ones)
    for size in sizes:
        frequency = 1 / np.sqrt(np.arange(1.0, size + 2))
        level = rng.choice(size + 1, size=rows, p=frequency / frequency.sum())
        s += rng.normal(size=size + 1)[level]
        indices.append(np.where(level > 0, level - 1 + start, -1))
        start += size
    s += rng.standard_normal(rows) + rng.exponential(size=rows) - 1
    table = np.column_stack([np.zeros(rows, int)] * ones + indices)
    kept = table >= 0
    pointer = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    X = sp.csr_array((np.ones(pointer[-1]), table[kept], pointer), shape=(rows, start))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, s, (0.05 * np.sqrt(2), 0.5 * np.sqrt(2))


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, BLOCK):
        yield slice(start, min(start + BLOCK, rows))


_RECIPES = [
    Case("store10", "store10", 3_294, 26),
    Case("dense-1e3", "dense", 1_000, 50),
    Case("dense-1e4", "dense", 10_000, 50),
    Case("dense-1e5", "dense", 100_000, 50),
    Case("dense-1e6", "dense", 1_000_000, 50),
    Case("dense-1e7", "dense", 10_000_000, 20),
    Case("sparse-1e4", "sparse", 10_000, 500),
    Case("sparse-1e5", "sparse", 100_000, 2_000),
    Case("sparse-1e6", "sparse", 1_000_000, 5_000),
]
_PATHS = [replace(_RECIPES[0], levels=ALPHAS)]
CASES = {
    case.name: case
    for recipe in _RECIPES[:1] + _PATHS + _RECIPES[1:]
    for case in (recipe, replace(recipe, banded=True))
}
DEFAULT = ["store10", "dense-1e4", "dense-1e5", "dense-1e6", "dense-1e7", "sparse-1e6"]
QUICK = ["store10", "dense-1e3", "dense-1e4", "sparse-1e4"]


def select(names: list[str]) -> list[Case]:
    """Cases by exact name, or all of a family, in order of the catalogue."""
    known = set(CASES) | {case.family for case in CASES.values()}
    for name in names:
        if name not in known:
            raise ValueError(f"cases must be among {', '.join(sorted(known))}; got {name}.")
    return [case for case in CASES.values() if case.name in names or case.family in names]
