"""Sources of blocks that tests can watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.solvers.blocks.source import BlockSource, RowBlock, read_sample
from unmet.solvers.exact.solve import solve_blocks
from unmet.solvers.problem import HingeProblem


class Watched(BlockSource):
    """Blocks of arrays; counts reads."""

    def __init__(self, X, s, weight=None, *, block_rows=3000, order=None, known=True):
        self.n_features = X.shape[1]
        self.n_rows = X.shape[0] if known else None
        starts = range(0, X.shape[0], block_rows)
        cut = [slice(first, first + block_rows) for first in starts]
        self.parts = [
            RowBlock(X[part], s[part], None if weight is None else weight[part]) for part in cut
        ]
        if order is not None:
            self.parts = [self.parts[place] for place in order]
        self.reads = 0

    def blocks(self):
        for number, part in enumerate(self.parts):
            yield replace(part, number=number)

    def run(self, task):
        self.reads += 1
        return super().run(task)


@dataclass(frozen=True)
class Evaluated:
    """Newsvendor of one level, with one band for all rows."""

    level: float
    band: Band | None = None

    def __call__(self, block, factor):
        weight = factor if block.weight is None else factor * block.weight
        return Newsvendor.at_level(self.level).kinks(block.observation, self.band, weight)

    def problem(self, X, s, weight=None, **penalties):
        kept = np.ones(len(s), dtype=bool) if weight is None else weight > 0
        share = np.ones(len(s)) / len(s) if weight is None else weight / weight.sum()
        kinks = Newsvendor.at_level(self.level).kinks(s[kept], self.band, share[kept])
        return HingeProblem(np.ascontiguousarray(X[kept]), kinks, **penalties)


def solve_watched(source, price, *, size, ridge=None, lasso=None, **how):
    """Solve over blocks from a sample of about so many rows."""
    sample = read_sample(source, size=size, in_memory=0)
    return solve_blocks(source, price, sample, True, (ridge, lasso), **how)
