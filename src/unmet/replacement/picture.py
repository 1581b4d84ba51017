"""A picture of the cost over the age of replacement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unmet.errors import InvalidInput, MissingPackage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unmet.replacement.lifetimes import ReplacementAge

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito


def draw(answers: Mapping[str, ReplacementAge]) -> Figure:
    """Draw several answers to the same question in one picture; needs matplotlib.

    Parameters
    ----------
    answers : mapping of str to ReplacementAge
        By the names that the legend shows.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not answers:
        raise InvalidInput("answers must hold at least one ReplacementAge, got none.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage.for_extra("plot()", "matplotlib", "report") from None
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for place, (name, answer) in enumerate(answers.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        style = "steps-pre" if answer.law is None else "default"
        axes.plot(answer.ages, answer.costs, color=colour, lw=1.8, label=name, drawstyle=style)
        if np.isfinite(answer.age):
            axes.plot(answer.age, answer.cost, "o", color=colour, ms=7)
        if answer.interval is not None:
            low, high = np.minimum(answer.interval, answer.ages[-1])
            axes.axvspan(low, high, color=colour, alpha=0.12, lw=0)
    least = [each.cost for each in answers.values()]
    axes.set_ylim(0.0, 2.5 * max(least))
    axes.set_xlim(left=0.0)
    axes.set_xlabel("age of replacement")
    axes.set_ylabel("cost")
    axes.legend(frameon=False)
    return figure
