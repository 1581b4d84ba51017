"""The figure of ``unmet paper bounds``; needs matplotlib (``unmet[report]``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from unmet.files import write_figure
from unmet.paper.theory.experiment import ALGORITHMS, Measured, Setting

# Not pyplot: files only, so that a machine without a screen draws the same picture.


_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#777777"  # Okabe and Ito, and grey
_STANDING = {
    "LR-εNVC": "not proved",
    "LR-εNVC-R": "proved; λ = {strength:g}",
    "NN-εNVC": "proved for convex costs; c = {constant:g}, K = {epochs}",
}
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(measured: Sequence[Measured], setting: Setting, folder: Path) -> list[Path]:
    """Write bounds.svg and bounds.png.

    Parameters
    ----------
    measured : sequence of Measured
    setting : Setting
        For titles and units.
    folder : Path
        Must exist.

    Returns
    -------
    list of Path
    """
    with rc_context(SETTINGS):
        return write_figure(compose(measured, setting), folder / "bounds")


def compose(measured: Sequence[Measured], setting: Setting) -> Figure:
    """One panel per algorithm: bound and measured gap against the number of rows."""
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, len(ALGORITHMS), sharex=True, sharey=True)
    for axes, (name, words) in zip(panels, ALGORITHMS.items(), strict=True):
        _panel(axes, [each for each in measured if each.algorithm == name])
        standing = _STANDING[name].format(**vars(setting))
        axes.set_title(f"{name}: {words}\n{standing}", fontsize=10, loc="left")
    units = f"demand up to {setting.largest_truth:g}, underage + overage = 1 per unit"
    panels[0].set_ylabel(f"cost on new rows minus cost in training\n({units})", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(axes: Any, own: Sequence[Measured]) -> None:
    rows = [each.n_rows for each in own]
    largest = [each.gap_largest for each in own]
    ceiling = own[0].ceiling
    axes.plot(rows, [each.bound for each in own], color=_ORANGE, lw=2, label="the bound")
    axes.axhline(ceiling, color=_GREY, lw=1, ls=":", label="the largest cost there is")
    sets = f"largest gap of {own[0].repetitions} training sets"
    axes.plot(rows, largest, color=_BLUE, marker="o", ms=5, lw=1.4, label=sets)
    # Through the last point: there the gap is all chance, which falls as 1/√n.
    if largest[-1] > 0:
        line = [largest[-1] * (rows[-1] / n) ** 0.5 for n in rows]
        axes.plot(rows, line, color="black", lw=1, ls="--", label="slope of 1/√n")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training rows n")
    axes.grid(color=_GREY, alpha=0.2, lw=0.6)
