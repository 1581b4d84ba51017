"""Where the words and numbers of the quantile plot stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hand_made_diagnoses import ALL
from matplotlib.figure import Figure
from scipy.stats import norm

from unmet.bands.diagnosis import Diagnosis, QuantilePlot
from unmet.bands.plots import ChartLabels, draw_chart, quantile_chart


def touches_a_curve(axes, word):
    box = word.get_window_extent()
    for curve in axes.get_lines():
        places = axes.transData.transform(np.column_stack(curve.get_data()))
        fine = np.linspace(box.x0, box.x1, 50)
        heights = np.interp(fine, places[:, 0], places[:, 1])
        if ((heights > box.y0) & (heights < box.y1)).any():
            return True
    return False


def chart(plot):
    return quantile_chart(Diagnosis("LatentBand", 10, quantiles=plot), ChartLabels(), 0.085)


def laid_out(plot):
    """A panel as narrow as it gets."""
    figure = Figure(figsize=(4.3, 3.6), layout="constrained")
    axes = figure.subplots()
    draw_chart(axes, chart(plot))
    figure.draw_without_rendering()
    return axes


@pytest.mark.parametrize("name", ["sold_out", "multiplicative"])
def test_the_word_hidden_touches_no_curve(name):
    axes = laid_out(ALL[name]().quantiles)
    (word,) = axes.texts
    assert not touches_a_curve(axes, word)


def cut_at(level, levels):
    """Normal truth that is cut off at one of its quantiles."""
    straight = norm.ppf(levels)
    curves = (levels, straight, np.minimum(straight, norm.ppf(level)))
    return QuantilePlot(*(tuple(map(float, c)) for c in (*curves, curves[-1], straight)))


def test_the_word_hidden_stands_only_where_it_has_room():
    written = []
    for level in (0.35, 0.5, 0.6, 0.7, 0.75, 0.8, 0.83, 0.9):
        axes = laid_out(cut_at(level, np.linspace(0.02, 0.98, 49)))
        written.append(len(axes.texts))
        assert not any(touches_a_curve(axes, word) for word in axes.texts)
    assert written == sorted(written, reverse=True)
    assert 2 <= sum(written) < len(written)


def test_levels_that_would_overlap_are_left_out():
    axes = laid_out(cut_at(0.6, np.linspace(0.001, 0.999, 999)))
    labels = axes.get_xticklabels()
    said = {label.get_text() for label in labels}
    assert {"5", "25", "50", "75", "95", "99", "1"} <= said
    for first, second in combinations(labels, 2):
        assert not first.get_window_extent().padded(3).overlaps(second.get_window_extent())


def test_logarithms_are_not_worth_it_where_both_axes_show_a_line():
    plot = cut_at(0.6, np.linspace(0.02, 0.98, 49))
    narrow_range = {
        name: tuple(np.exp(0.005 * np.array(getattr(plot, name))))
        for name in ("observed", "modelled", "latent")
    }
    axes = Figure().subplots()
    draw_chart(axes, chart(replace(plot, **narrow_range)))
    assert axes.get_yscale() == "linear"
