"""All figures, in the order of the paper; needs matplotlib (``unmet[paper]``)."""

from __future__ import annotations

from unmet.paper.figures.costs import cost_figure, distance_figure, saving_figure
from unmet.paper.figures.gap import optimum_figure, share_figure
from unmet.paper.figures.group import Group
from unmet.paper.figures.searches import search_figure
from unmet.paper.results import Results


def all_figures(results: Results) -> dict[str, Group]:
    """Draw every figure, by label."""
    groups = (
        cost_figure(results),
        saving_figure(results),
        distance_figure(results),
        optimum_figure(results),
        share_figure(results),
        search_figure(results),
    )
    return {group.label: group for group in groups}
