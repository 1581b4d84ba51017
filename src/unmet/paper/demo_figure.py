"""The figure of the demonstration; needs matplotlib (``unmet[report]``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from unmet.bands import Diagnosis
from unmet.files import write_figure
from unmet.paper.demo import METHODS, Outcome

# Not pyplot: files only, so that a machine without a screen draws the same picture.


# Okabe and Ito's colours, told apart with any kind of colour vision; markers differ as well.
_STYLES: dict[str, dict[str, Any]] = {
    "eas": {"color": "#999999", "marker": "s"},
    "ieo": {"color": "#D55E00", "marker": "o"},
    "descent": {"color": "#56B4E9", "marker": "v"},
    "exact": {"color": "#0072B2", "marker": "^"},
    "latent": {"color": "#CC79A7", "marker": "P"},
    "truth": {"color": "#009E73", "marker": "D"},
    "optimum": {"color": "black", "marker": "", "linestyle": "--"},
}
_LEVEL = "α = underage / (underage + overage)"
_BARS = ("descent", "exact", "latent", "truth")
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write demo.svg and demo.png.

    Parameters
    ----------
    outcomes : sequence of Outcome
    folder : Path
        Must exist.

    Returns
    -------
    list of Path
    """
    with rc_context(_SETTINGS):
        return write_figure(compose(outcomes), folder / "demo")


def draw_diagnosis(diagnosis: Diagnosis, folder: Path) -> list[Path]:
    """Write diagnosis.svg and diagnosis.png."""
    with rc_context({"svg.hashsalt": "unmet"}):
        return write_figure(diagnosis.plot(), folder / "diagnosis")


def compose(outcomes: Sequence[Outcome]) -> Figure:
    """Put costs on the left, shares of the gap on the right, one legend below both."""
    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _costs(left, outcomes)
    _shares(right, outcomes)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _costs(axes: Any, outcomes: Sequence[Outcome]) -> None:
    """Cost against α, one line per method, with the range over the seeds."""
    for method, label in METHODS.items():
        own = [outcome for outcome in outcomes if outcome.method == method]
        levels = [outcome.level for outcome in own]
        axes.plot(levels, [o.cost for o in own], label=label, markersize=5, **_STYLES[method])
        lowest, highest = [o.cost_lowest for o in own], [o.cost_highest for o in own]
        axes.fill_between(levels, lowest, highest, color=_STYLES[method]["color"], alpha=0.15, lw=0)
    axes.set_xticks(levels)
    axes.set_ylim(bottom=0)
    several = any(outcome.cost_lowest < outcome.cost_highest for outcome in outcomes)
    axes.set_xlabel(_LEVEL + ("\nshaded: range over the seeds" if several else ""))
    axes.set_ylabel("mean cost per product and day\n(underage + overage = 1 per unit)")
    axes.set_title("What the orders cost on true demand", fontsize=11, loc="left")


def _shares(axes: Any, outcomes: Sequence[Outcome]) -> None:
    """Share of the gap closed, where there is a gap."""
    gaps = [o for o in outcomes if o.method in _BARS and o.gap_closed is not None]
    levels = sorted({outcome.level for outcome in gaps})
    width = 0.8 / len(_BARS)
    for place, method in enumerate(_BARS):
        heights = [100 * (o.gap_closed or 0.0) for o in gaps if o.method == method]
        middles = [x + (place - (len(_BARS) - 1) / 2) * width for x in range(len(heights))]
        bars = axes.bar(middles, heights, 0.92 * width, color=_STYLES[method]["color"])
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
    axes.axhline(0, color="black", lw=0.8)
    axes.set_xticks(range(len(levels)), [f"{level:.2f}" for level in levels])
    without = [f"{o.level:.2f}" for o in outcomes if o.method == "ieo" and o.gap_closed is None]
    axes.set_xlabel(_LEVEL + (f"\nhardly any gap at {', '.join(without)}" if without else ""))
    axes.set_ylabel("share of the way from IEO to Q* (%)")
    axes.set_title("What they win back of the cost of censoring", fontsize=11, loc="left")
