"""Decision and cost against the sell-out rate that one assumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.bands.diagnosis import Diagnosis, Sensitivity
from unmet.bands.picture_style import BLACK, BLUE, GREEN, PALE, plain_numbers
from unmet.bands.picture_words import interval, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sensitivity"]


def draw_sensitivity(upper: Axes, lower: Axes, diagnosis: Diagnosis, curve: Sensitivity) -> None:
    """Draw decisions above, their cost below, with what is known about the rate in both.

    Parameters
    ----------
    upper, lower : matplotlib.axes.Axes
        They share their horizontal axis.
    diagnosis : Diagnosis
    curve : Sensitivity
    """
    upper.plot(curve.rate, curve.decision, "-o", color=BLUE, ms=4, label="mean decision")
    lower.plot(curve.rate, curve.cost, "--s", color=GREEN, ms=4, label="mean cost per row")
    for axes in (upper, lower):
        axes.set_xlim(min(curve.rate) - 0.02, max(curve.rate) + 0.02)
        axes.margins(y=0.12)
        plain_numbers(axes.yaxis)
        _mark(axes, diagnosis, curve)
    lower.set_ylim(bottom=min(0.0, *curve.cost))
    upper.set_ylabel("mean decision\n(units of the observation)")
    lower.set_ylabel("mean cost per row\n(units of the cost)")
    lower.xaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.0f}%")
    lower.set_xlabel("assumed sell-out rate\n(share of rows censored)")
    upper.set_title("Decision at an assumed sell-out rate")
    lower.set_title("Its cost, if the estimate is right")


def _mark(axes: Axes, diagnosis: Diagnosis, curve: Sensitivity) -> None:
    """Mark the share and its interval; grey what the data rule out."""
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return
    how = "counted" if diagnosis.share_is_seen else "estimated"
    axes.axvline(share, color=BLACK, lw=1.2, ls="-.", label=f"{how} share: {percent(share)}")
    if ends is None or diagnosis.share_is_seen:
        return
    axes.plot(
        ends,
        (0.04, 0.04),
        "-|",
        transform=axes.get_xaxis_transform(),
        color=BLACK,
        lw=2.5,
        ms=9,
        mew=1.5,
        solid_capstyle="butt",
        label=f"95% interval: {interval(ends)}",
    )
    left, right = axes.get_xlim()
    spans = [(left, ends[0])] * (ends[0] > curve.rate[0])
    spans += [(ends[1], right)] * (ends[1] < curve.rate[-1])
    for place, span in enumerate(spans):
        label = "_nolegend_" if place else "ruled out (95%)"
        axes.axvspan(*span, facecolor=PALE, edgecolor="none", zorder=0, label=label)
