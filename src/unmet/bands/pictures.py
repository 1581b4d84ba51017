"""A diagnosis in words (`describe`) and in pictures (`draw`)."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from unmet.bands.diagnosis import Diagnosis, Sensitivity
from unmet.bands.picture_quantiles import draw_quantiles
from unmet.bands.picture_sensitivity import draw_sensitivity
from unmet.bands.picture_style import NARROW, SETTINGS, drawing
from unmet.bands.picture_text import describe, headline
from unmet.errors import Unsupported

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

__all__ = ["describe", "draw"]

_HEIGHTS = (3.6, 5.2)  # inches of the quantiles and of the two curves, where they are stacked


def draw(diagnosis: Diagnosis, *, narrow: bool = False) -> Figure:
    """Draw what the data say about censoring.

    On one side observed against latent quantiles, straight until censoring bends them; on the
    other decision and cost against an assumed sell-out rate, which takes a fit per rate when it
    is first asked for.

    Parameters
    ----------
    diagnosis : Diagnosis
    narrow : bool, default=False
        Stack the panels, for a phone or a column of text.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot: save it with ``figure.savefig``.
    """
    if diagnosis.quantiles is None and diagnosis.profile is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has nothing to draw: it has neither quantiles nor "
            "sensitivity to a sell-out rate."
        )
    new_figure, settings = drawing()
    curve = diagnosis.sensitivity
    with settings(SETTINGS | NARROW if narrow else SETTINGS):
        figure, panels = _empty(new_figure, diagnosis, curve, narrow)
        if diagnosis.quantiles is not None:
            draw_quantiles(panels[0].subplots(), diagnosis.quantiles, narrow)
        if curve is not None:
            upper, lower = panels[-1].subplots(2, 1, sharex=True)
            draw_sensitivity(upper, lower, diagnosis, curve)
        for panel in panels:
            _legend(panel)
    return figure


def _empty(
    new_figure: type[Figure], diagnosis: Diagnosis, curve: Sensitivity | None, narrow: bool
) -> tuple[Figure, list[SubFigure]]:
    """Figure with its heading, and one panel for each thing to draw."""
    drawn = (diagnosis.quantiles is not None, curve is not None)
    heights = [height for height, exists in zip(_HEIGHTS, drawn, strict=True) if exists]
    wide = not narrow and all(drawn)
    if wide:
        size, rows, columns = (10.2, 5.4), 1, 2
    else:
        size, rows, columns = (4.3 if narrow else 5.6, sum(heights) + 0.8), len(heights), 1
    figure = new_figure(figsize=size, layout="constrained")
    heading = fill(_heading(diagnosis, curve), round(9.5 * size[0]))
    figure.suptitle(heading, fontsize=11, weight="bold", x=0.01, ha="left")
    ratios = None if wide else heights
    panels = figure.subfigures(rows, columns, height_ratios=ratios, wspace=0.04, squeeze=False)
    return figure, list(panels.flat)


def _heading(diagnosis: Diagnosis, curve: Sensitivity | None) -> str:
    """Say what was found, and what cannot be drawn."""
    heading = headline(diagnosis)
    if curve is None:
        return f"{heading}. There is no sensitivity to a sell-out rate to draw."
    if diagnosis.quantiles is None:
        return f"{heading}. There are no quantiles to draw."
    return heading


def _legend(panel: SubFigure) -> None:
    """One legend below a panel, each entry once, curves before marks."""
    shown = [list(zip(*axes.get_legend_handles_labels(), strict=True)) for axes in panel.axes]
    entries = {label: handle for each in shown for handle, label in each[:1]}
    entries |= {label: handle for each in shown for handle, label in each[1:]}
    panel.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=2)
