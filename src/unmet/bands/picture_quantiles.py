"""Observed against latent quantiles: straight until censoring bends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.band import Array
from unmet.bands.diagnosis import QuantilePicture
from unmet.bands.picture_style import BLACK, BLUE, ORANGE, VERMILION, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_quantiles", "hides", "level_ticks", "straight_in_logarithms"]

# In the order in which they claim their place on the axis.
_TICKS = (0.5, 0.05, 0.95, 0.25, 0.75, 0.9, 0.1, 0.99, 0.01)
_VISIBLE = 0.01  # a gap below this share of the range is no gap
_WORD = (0.25, 0.14)  # share of the panel's width and height that the word takes, with some air
_DOTS: dict[str, Any] = {"mfc": "white", "mec": BLACK, "mew": 0.9, "ms": 4}
_AREA: dict[str, Any] = {"fc": ORANGE, "ec": ORANGE, "alpha": 0.3, "hatch": "///", "lw": 0}
_LABEL: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "weight": "bold",
    "bbox": {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
}


def draw_quantiles(axes: Axes, picture: QuantilePicture, narrow: bool = False) -> None:
    """Draw the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    picture : QuantilePicture
    narrow : bool
        Whether it is drawn for a small screen.
    """
    place, latent = np.array(picture.straight), np.array(picture.latent)
    modelled, observed = np.array(picture.modelled), np.array(picture.observed)
    axes.plot(place, latent, color=BLUE, lw=2, label="truth, as fitted")
    axes.plot(place, modelled, color=VERMILION, lw=1.6, ls="--", label="observation, as fitted")
    axes.plot(place, observed, "o", label="observation, as seen", **_DOTS)
    if straight_in_logarithms(picture):
        axes.set_yscale("log", subs=())
        axes.locator_params(axis="y", subs=(1.0, 2.0, 3.0, 5.0))
    plain_numbers(axes.yaxis)
    hidden = hides(picture)
    if hidden:
        _shade(axes, place, modelled, latent)
    _level_axis(axes, picture, narrow)
    axes.set_ylabel("typical row (units of the observation)")
    how = "bend away from the truth" if hidden else "follow a straight line"
    axes.set_title(f"Observations {how}")


def _shade(axes: Axes, place: Array, modelled: Array, latent: Array) -> None:
    """Shade what is hidden, and name it unless the word would touch a curve."""
    above = (latent > modelled).tolist()
    axes.fill_between(place, modelled, latent, where=above, label="hidden", zorder=0, **_AREA)
    # both curves rise: the truth is nearest where the word begins, the observation where it ends
    begin = place[-1] - _WORD[0] * (place[-1] - place[0])
    nearest = [(begin, np.interp(begin, place, latent)), (place[-1], modelled[-1])]
    to_panel = axes.transScale + axes.transLimits
    (left, top), (right, bottom) = to_panel.transform(nearest)
    if top - bottom > _WORD[1]:
        at = (0.5 * (left + right), 0.5 * (top + bottom))
        axes.annotate("hidden", at, xycoords="axes fraction", **_LABEL)


def _level_axis(axes: Axes, picture: QuantilePicture, narrow: bool) -> None:
    kept = level_ticks(picture, 0.085 if narrow else 0.07)
    axes.set_xticks(list(kept), list(kept.values()))
    axes.set_xlabel("per cent of cases below\n(spaced so that the truth is straight)")


def hides(picture: QuantilePicture) -> bool:
    """Whether the fitted truth lies visibly above the fitted observation."""
    latent, modelled = np.array(picture.latent), np.array(picture.modelled)
    return float((latent - modelled).max()) > _VISIBLE * float(np.ptp(latent))


def level_ticks(picture: QuantilePicture, apart: float) -> dict[float, str]:
    """Label levels, as many as fit; they are spaced as the family's quantiles are.

    Parameters
    ----------
    picture : QuantilePicture
    apart : float
        Least distance between two labels, as a share of the axis.

    Returns
    -------
    dict of float to str
        Place on the axis, and the level there in per cent.
    """
    levels, place = np.array(picture.levels), np.array(picture.straight)
    distance = apart * (place[-1] - place[0])
    kept: dict[float, str] = {}
    for level in _TICKS:
        at = float(np.interp(level, levels, place))
        inside = levels[0] <= level <= levels[-1]
        if inside and all(abs(at - other) >= distance for other in kept):
            kept[at] = f"{100 * level:.0f}"
    return kept


def straight_in_logarithms(picture: QuantilePicture) -> bool:
    """Whether the truth is straight on a logarithmic axis only."""
    place, latent = np.array(picture.straight), np.array(picture.latent)
    observed = np.array(picture.observed)
    if not min(latent.min(), observed.min()) > 0:
        return False
    bend = _bend(place, latent)
    return bend > 0.005 and _bend(place, np.log(latent)) < 0.25 * bend


def _bend(place: Array, curve: Array) -> float:
    """Largest distance from the chord, as a share of the range."""
    chord = np.interp(place, place[[0, -1]], curve[[0, -1]])
    return float(np.abs(curve - chord).max()) / (float(np.ptp(curve)) or 1.0)
