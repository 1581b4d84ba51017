"""Solve exactly what is only seen in blocks.

Sampling is in `blocks_sample`, the few passes in `blocks_screened`, and what happens where these
are not enough in `blocks_newton`. Where nothing helps, and the rows fit, they are read into memory
as a whole: heavy-tailed features on a few million rows. None of them knows about files or clusters.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.errors import SolverFailure, Unsupported
from unmet.solvers.blocks_rows import BlockSource
from unmet.solvers.blocks_sample import BlockSample, read_sample
from unmet.solvers.blocks_screened import BlockScreening
from unmet.solvers.blocks_sorting import Price
from unmet.solvers.exact import solve_exact
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]

_HELD_ENTRIES = 50_000_000  # of the features of a ring: 400 MB
_LAST_ENTRIES = 100_000_000  # of all features, up to which they may be read into memory
_MOST_FEATURES = 2000


def solve_blocks(
    source: BlockSource,
    price: Price,
    sample: BlockSample,
    *,
    intercept: bool,
    ridge: Array | None = None,
    lasso: Array | None = None,
    tolerance: float = 1e-9,
    held_rows: int | None = None,
) -> Solution:
    """Minimise the mean cost of all rows of a source, plus penalties, to a relative duality gap.

    Parameters
    ----------
    source : BlockSource
    price : callable
        From rows with weight, and a factor of their weights, to `Kinks`. On a cluster it travels.
    sample : BlockSample
        What the sampling read found; at least a few thousand rows.
    intercept : bool
    ridge, lasso : ndarray of shape (n_features,), optional
    tolerance : float
        Largest duality gap relative to the objective.
    held_rows : int, optional
        Most rows in memory at a time, about.

    Returns
    -------
    Solution
        Its ``passes`` are reads of the data, the sampling read included.

    Raises
    ------
    SolverFailure
        If the gap is not reached.
    """
    if source.n_features > _MOST_FEATURES:
        raise Unsupported(
            f"Blocks and {source.n_features} features do not fit together, because the matrices "
            f"of a pass would not: use at most {_MOST_FEATURES}, or the solver 'minibatch'."
        )
    if held_rows is None:
        held_rows = max(20_000, _HELD_ENTRIES // max(source.n_features, 1))
    held_rows = max(held_rows, 40 * (source.n_features + 1) + 600)  # fewer would say nothing
    screening = BlockScreening(source, price, sample, held_rows, intercept, ridge, lasso, tolerance)
    # Features of scale 1e200 overflow in places; the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = screening.run()
    if found is not None:
        return found
    if sample.n_rows * source.n_features <= _LAST_ENTRIES:
        return _solve_together(source, price, intercept, ridge, lasso, tolerance, screening.passes)
    raise SolverFailure(
        "the solver over blocks could not prove an answer for these features and weights; "
        "try bringing them to similar scales, or another strength of the penalty."
    )


def _solve_together(
    source: BlockSource,
    price: Price,
    intercept: bool,
    ridge: Array | None,
    lasso: Array | None,
    tolerance: float,
    reads: float,
) -> Solution:
    """Read all rows and solve them in memory: the last resort, where there is room for it."""
    every = read_sample(source, in_memory=sys.maxsize)
    kinks = price(every.rows, 1.0 / every.total)
    problem = HingeProblem(every.rows.features, kinks, intercept, ridge, lasso)
    return replace(solve_exact(problem, tolerance=tolerance), passes=reads + every.reads)
