"""Figures: what is drawn where, words for those who cannot see it, files that parse and repeat."""

import builtins
from xml.etree import ElementTree

import matplotlib.image
import pytest
from hand_made_results import SAVINGS, hand_made, optimum_cost
from matplotlib import rc_context

from paper.plots import STYLE, all_figures
from unmet.errors import MissingPackage
from unmet.simulate import PUBLISHED_LEVELS

LABELS = ["SimpleNN", "testNVcost", "percentage", "testRMSEQ", "gap", "gapClosed", "epsilonSearch"]


def draw(results, label):
    with rc_context(STYLE):
        return all_figures(results)[label].draw()


def lines(axes):
    """Heights by name."""
    return {each.get_label(): list(map(float, each.get_ydata())) for each in axes.lines}


def test_all_figures_have_words_for_those_who_cannot_see_them():
    figures = all_figures(hand_made())
    assert list(figures) == LABELS
    for figure in figures.values():
        assert len(figure.alt) > 60
        assert any(sign.isdigit() for sign in figure.alt)
        assert figure.title
        assert figure.notes


def test_lines_are_the_means_on_one_scale():
    figures = all_figures(hand_made())
    panels = draw(hand_made(), "testNVcost").axes
    found = lines(panels[0])
    assert list(found) == ["LR-MSE", "LR-NVC", "LR-εNVC-R", "Q*"]
    costs = [1.005 * 18 * (1 - SAVINGS["LR-εNVC-R"][level]) for level in PUBLISHED_LEVELS]
    assert found["LR-εNVC-R"] == pytest.approx(costs)
    assert panels[0].get_ylim() == panels[1].get_ylim()
    assert panels[0].get_ylim()[0] == 0
    assert "Q* 15.58 at 0.55 to 3.52 at 0.95" in figures["testNVcost"].alt
    assert 1.005 * optimum_cost(0.55) == pytest.approx(15.58, abs=0.005)
    names = set(lines(draw(hand_made(), "gap").axes[0]))
    assert {"LR-NVC", "LR-εNVC exact", "LR latent", "LR flags", "LR truth", "Q*"} < names


def test_savings_carry_the_published_ends():
    (axes,) = draw(hand_made(), "percentage").axes
    stars = [line for line in axes.lines if line.get_marker() == "*"]
    places = {(float(s.get_xdata()[0]), float(s.get_ydata()[0])) for s in stars}
    assert places == {(0.85, 0.144), (0.95, 0.1221)}
    assert {"LR, ours, β = .0007", "NN, paper, lowest 3.39%"} <= set(lines(axes))


@pytest.mark.slow
def test_files_parse_and_repeat(tmp_path):
    (tmp_path / "again").mkdir()
    for figure in all_figures(hand_made(1, (0.75, 0.95))).values():
        svg, png = figure.write(tmp_path)
        ElementTree.parse(svg)
        assert matplotlib.image.imread(png).shape[1] > 500
    again, _ = all_figures(hand_made(1, (0.75, 0.95)))["percentage"].write(tmp_path / "again")
    assert again.read_bytes() == (tmp_path / "percentage.svg").read_bytes()


def test_without_matplotlib_one_sentence(monkeypatch):
    real = builtins.__import__

    def absent(name, *rest):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest)

    results = hand_made(1, (0.75,))
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingPackage, match="matplotlib"):
        all_figures(results)
