"""QQ plot of a store's residuals; needs matplotlib (``unmet[report]``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.special import ndtri

from unmet.files import write_figure
from unmet.paper.favorita.tables import StoreRegression

# Not pyplot: files only, so that a machine without a screen draws the same picture.


_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(store: StoreRegression, folder: Path) -> list[Path]:
    """Write qq.svg and qq.png (Fig. ErrorQQplot10).

    Parameters
    ----------
    store : StoreRegression
    folder : Path
        Must exist.

    Returns
    -------
    list of Path
    """
    with rc_context(_SETTINGS):
        return write_figure(compose(store), folder / "qq")


def compose(store: StoreRegression) -> Figure:
    """Sorted residuals against quantiles of N(0, RMSE²); on the line they would be normal."""
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    axes = figure.subplots()
    residuals = np.sort(store.residuals)
    n = len(residuals)
    quantiles = store.rmse * ndtri((np.arange(n) + 0.5) / n)
    ends = [quantiles[0], quantiles[-1]]
    axes.plot(ends, ends, color="black", lw=1, zorder=3, label=f"N(0, {store.rmse:.2f}²)")
    axes.plot(quantiles, residuals, ".", color="#0072B2", ms=4, label=f"{n:,} residuals")
    axes.set_xlabel(f"quantiles of N(0, {store.rmse:.2f}²), units sold")
    axes.set_ylabel("residuals of least squares, units sold")
    axes.set_title(
        f"Store {store.store}: residuals against the normal law", fontsize=11, loc="left"
    )
    axes.legend(frameon=False, loc="upper left")
    return figure
