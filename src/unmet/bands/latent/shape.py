"""Does any explanation fit at all? A density without a formula, as a yardstick."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.bands.latent.likelihood import FLOOR
from unmet.bands.latent.race import Runner, behind

_GRID = 2048
_REACH = 8.0  # robust standard deviations to either side; what lies beyond counts as there
_WIDTHS = (0.25, 0.5, 1.0)  # of the normal rule
_UNIFORM = 0.01  # share of a flat law, so that a lone row is not impossible
MISFIT = 3.0
"""Standard errors by which the yardstick must win to say that nothing fits."""


def misfit(runner: Runner, folds: NDArray[np.intp]) -> bool:
    """Whether a smoothed histogram of the residuals beats an explanation.

    Location and scale are the explanation's. Two humps are no shape that censoring gives to any
    family here: then what the explanation says about it is not to be believed. The histogram is of
    other folds than the rows it is judged on.
    """
    problem = runner.fit.problem
    rows = problem.model.locate(runner.fit.parameters, problem.basis, problem.scale_basis)
    usable = problem.rows.kind != FLOOR
    u = ((problem.point - rows.location) * np.exp(-rows.log_scale))[usable]
    # log-density of u by the explanation, given that the row is not at the bottom
    own = (runner.fit.rows + rows.log_scale)[usable] - np.log(usable.mean())
    best = max(
        (_smoothed(u, folds[usable], width) for width in _WIDTHS), key=lambda each: each.mean()
    )
    ahead, error = behind(best, own, problem.weight[usable])
    return ahead > MISFIT * error


def _smoothed(u: Array, folds: NDArray[np.intp], width: float) -> Array:
    """Held-out log-density of each row: a histogram on a fine grid, convolved with a normal."""
    low, middle, high = np.quantile(u, [0.16, 0.5, 0.84])
    spread = max(float(high - low) / 2.0, 1e-12)
    edges = np.linspace(middle - _REACH * spread, middle + _REACH * spread, _GRID + 1)
    step = float(edges[1] - edges[0])
    cell = np.clip(((u - edges[0]) / step).astype(np.intp), 0, _GRID - 1)
    bandwidth = width * 1.06 * spread * u.size**-0.2
    reach = np.arange(-int(4 * bandwidth / step) - 1, int(4 * bandwidth / step) + 2) * step
    kernel = np.exp(-0.5 * (reach / bandwidth) ** 2)
    kernel /= kernel.sum()
    scores = np.empty(u.size)
    for fold in np.unique(folds):
        outside = folds == fold
        counts = np.bincount(cell[~outside], minlength=_GRID) / max(int((~outside).sum()), 1)
        density = np.convolve(counts, kernel, mode="same") / step
        flat = 1.0 / (edges[-1] - edges[0])
        scores[outside] = np.log((1.0 - _UNIFORM) * density[cell[outside]] + _UNIFORM * flat)
    return scores
