"""Figures: what is drawn where, words for those who cannot see it, files that parse and repeat."""

import sys
from xml.etree import ElementTree

import pytest
from hand_made_results import SAVINGS, hand_made, optimum_cost

from paper.plots import all_figures
from unmet.errors import MissingPackage
from unmet.simulate.store10 import PUBLISHED_LEVELS

LABELS = ["SimpleNN", "testNVcost", "percentage", "testRMSEQ", "gap", "gapClosed", "epsilonSearch"]


def panels(results, label):
    """Heights of the curves of each panel, by name."""
    spec = all_figures(results)[label].draw().spec
    found = []
    for rows in spec["datasets"].values():
        names = dict.fromkeys(row["s"] for row in rows if "y" in row and "y2" not in row)
        found.append(
            {
                name: [row["y"] for row in rows if row["s"] == name and "y2" not in row]
                for name in names
            }
        )
    return found


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
    found, _ = panels(hand_made(), "testNVcost")
    assert list(found) == ["LR-MSE", "LR-NVC", "LR-εNVC-R", "Q*"]
    costs = [1.005 * 18 * (1 - SAVINGS["LR-εNVC-R"][level]) for level in PUBLISHED_LEVELS]
    assert found["LR-εNVC-R"] == pytest.approx(costs)
    spec = figures["testNVcost"].draw().spec
    assert spec["resolve"]["scale"]["y"] == "shared"
    assert "Q* 15.58 at 0.55 to 3.52 at 0.95" in figures["testNVcost"].alt
    assert 1.005 * optimum_cost(0.55) == pytest.approx(15.58, abs=0.005)
    names = set(panels(hand_made(), "gap")[0])
    assert {"LR-NVC", "LR-εNVC exact", "LR latent", "LR flags", "LR truth", "Q*"} < names


def test_savings_carry_the_published_ends():
    rows = all_figures(hand_made())["percentage"].draw().spec["datasets"]["rows"]
    ends = {(row["x"], row["y"]) for row in rows if "paper, highest" in row["s"]}
    assert ends == {(0.85, 0.144), (0.95, 0.1221)}
    assert {"LR, ours, β = .0007", "NN, paper, lowest 3.39%"} <= {row["s"] for row in rows}


@pytest.mark.slow
def test_files_parse_and_repeat(tmp_path):
    (tmp_path / "again").mkdir()
    for figure in all_figures(hand_made(1, (0.75, 0.95))).values():
        svg, png = figure.write(tmp_path)
        ElementTree.parse(svg)
        assert png.read_bytes()[1:4] == b"PNG"
    again, _ = all_figures(hand_made(1, (0.75, 0.95)))["percentage"].write(tmp_path / "again")
    assert again.read_bytes() == (tmp_path / "percentage.svg").read_bytes()


def test_without_a_renderer_one_sentence(monkeypatch):
    results = hand_made(1, (0.75,))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingPackage, match="vl_convert"):
        all_figures(results)
