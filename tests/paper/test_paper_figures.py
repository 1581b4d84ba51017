"""Figures: what is drawn where, names that do not overlap, files that parse and repeat."""

import builtins
from itertools import combinations, pairwise
from xml.etree import ElementTree

import matplotlib.image
import pytest
from hand_made_results import SAVINGS, hand_made, optimum_cost, step_2
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from paper.figures import all_figures
from paper.pictures import spread
from unmet.errors import MissingPackage
from unmet.simulate import PUBLISHED_LEVELS

SLUGS = [
    "SimpleNN",
    "testNVcost-lr",
    "testNVcost-nn",
    "percentage",
    "testRMSEQ-lr",
    "testRMSEQ-nn",
    "gap-lr",
    "gap-nn",
    "gap-boosted",
    "gapClosed-lr",
    "gapClosed-nn",
    "gapClosed-boosted",
    "epsilonSearch-box",
    "epsilonSearch-corner",
]


def panels(results):
    return {p.slug: p for group in all_figures(results).values() for p in group.pictures}


@pytest.fixture(scope="module")
def drawn():
    return panels(hand_made())


def words(panel):
    (axes,) = panel.figure.axes
    return [text.get_text() for text in axes.texts]


def curve(panel, color):
    """Heights of the curve with markers of this colour."""
    (axes,) = panel.figure.axes
    (line,) = [
        each
        for each in axes.lines
        if each.get_color() == color and each.get_marker() not in ("", "None", "*")
    ]
    return [float(value) for value in line.get_ydata()]


def test_all_panels_are_drawn_with_words_for_those_who_cannot_see(drawn):
    assert list(drawn) == SLUGS
    for panel in drawn.values():
        assert len(panel.alt) > 60
        assert any(sign.isdigit() for sign in panel.alt)


def test_three_methods_and_the_optimum_are_named_at_their_lines(drawn):
    assert words(drawn["testNVcost-lr"]) == ["LR-MSE", "LR-NVC", "LR-εNVC-R", "Q*"]
    assert words(drawn["testRMSEQ-nn"]) == ["NN-MSE", "NN-NVC", "NN-εNVC"]
    assert set(words(drawn["gap-lr"])) == {
        "LR-NVC",
        "LR-εNVC-R",
        "LR-εNVC exact",
        "LR latent",
        "LR flags",
        "LR truth",
        "Q*",
    }


def test_lines_are_the_means(drawn):
    heights = curve(drawn["testNVcost-lr"], "#0072B2")
    costs = [1.005 * 18 * (1 - SAVINGS["LR-εNVC-R"][level]) for level in PUBLISHED_LEVELS]
    assert heights == pytest.approx(costs)
    assert "Q* 15.58 at 0.55 to 3.52 at 0.95" in drawn["testNVcost-lr"].alt
    assert 1.005 * optimum_cost(0.55) == pytest.approx(15.58, abs=0.005)


def test_both_families_are_drawn_on_the_same_scale():
    drawn = panels(hand_made(cost={("NN-MSE", 0.95): 80.0}))
    ends = [drawn[slug].figure.axes[0].get_ylim() for slug in ("testNVcost-lr", "testNVcost-nn")]
    assert ends[0] == ends[1]
    assert ends[0][0] == 0
    assert ends[0][1] > 80


def test_savings_carry_the_published_ends(drawn):
    panel = drawn["percentage"]
    assert "★ LR paper 14.40%" in words(panel)
    assert "LR, ours, β = .0007" in words(panel)
    # all names stand to the right of the last level, where no line crosses them
    assert all(text.get_position()[0] > 0.95 for text in panel.figure.axes[0].texts)
    assert "NN paper, lowest 3.39%" in words(panel)
    stars = [line for line in panel.figure.axes[0].lines if line.get_marker() == "*"]
    places = {(float(s.get_xdata()[0]), float(s.get_ydata()[0])) for s in stars}
    assert places == {(0.85, 0.144), (0.95, 0.1221)}


def test_harm_below_the_axis_is_written_in_numbers():
    panel = panels(hand_made(cost={("NN truth", 0.55): 30.0}))["gapClosed-nn"]
    low = panel.figure.axes[0].get_ylim()[0]
    assert low == -0.5
    assert min(curve(panel, "#009E73")) == low
    # (18 − 30) / (18 − 15.5)
    assert "↓ NN truth −480%" in words(panel)
    assert "NN truth −480% at 0.55" in panel.alt


def test_several_that_do_harm_at_one_level_can_all_be_read():
    harm = {(name, a): 60.0 for name in ("NN truth", "NN-εNVC") for a in (0.55, 0.95)}
    panel = panels(hand_made(cost=harm))["gapClosed-nn"]
    assert len([word for word in words(panel) if word.startswith("↓ NN-εNVC −")]) == 2
    assert_nothing_overlaps(panel)


def test_no_point_where_there_is_no_gap():
    panel = panels(hand_made(cost={("LR-NVC", 0.55): optimum_cost(0.55)}))["gapClosed-lr"]
    assert len(curve(panel, "#CC79A7")) == 4


def test_searches_are_drawn_where_they_ended():
    searches = (step_2("LR", 0.55, 0.12, 0.15), step_2("NN", 0.55, 0.001, 0.199))
    drawn = panels(hand_made(levels=(0.55,), searches=searches))
    box, corner = (drawn[f"epsilonSearch-{part}"].figure for part in ("box", "corner"))
    labels = [text.get_text() for text in box.legends[0].get_texts()]
    assert sorted(labels) == ["LR ours (1)", "LR published (1)", "NN ours (1)", "NN published (1)"]
    (ours,) = [line for line in box.axes[0].lines if line.get_label() == "LR ours (1)"]
    assert (list(ours.get_xdata()), list(ours.get_ydata())) == ([0.15], [0.12])
    # the enlarged part reaches as far as the results do
    assert corner.axes[0].get_xlim()[0] < 0.15
    assert corner.axes[0].get_ylim()[1] > 0.12


def ticks(axis, ends):
    """Labels of the ticks that are drawn: there are more beyond the ends."""
    marks = axis.get_major_ticks()
    return [tick.label1 for tick in marks if ends[0] <= tick.get_loc() <= ends[1]]


@pytest.mark.parametrize(
    ("datasets", "levels", "searched"),
    [(10, PUBLISHED_LEVELS, True), (2, (0.55, 0.75, 0.95), True), (1, (0.65,), False)],
)
def test_nothing_overlaps_or_leaves_the_picture(datasets, levels, searched):
    for panel in panels(hand_made(datasets, levels, searched=searched)).values():
        assert_nothing_overlaps(panel)


def assert_nothing_overlaps(panel):
    canvas = FigureCanvasAgg(panel.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    (axes,) = panel.figure.axes
    texts = [*axes.texts, *panel.figure.texts, axes.xaxis.label, axes.yaxis.label]
    texts += ticks(axes.xaxis, axes.get_xlim()) + ticks(axes.yaxis, axes.get_ylim())
    frame = panel.figure.bbox
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text()]
    for text, box in boxes:
        assert box.x0 >= 0, (panel.slug, text)
        assert box.y0 >= 0, (panel.slug, text)
        assert box.x1 <= frame.width, (panel.slug, text)
        assert box.y1 <= frame.height, (panel.slug, text)
    for (one, first), (two, second) in combinations(boxes, 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        high = min(first.y1, second.y1) - max(first.y0, second.y0)
        # boxes have air above and below their letters
        apart = wide <= 1 or high <= 0.25 * min(first.height, second.height)
        assert apart, (panel.slug, one, two)


def test_files_parse_and_repeat_byte_for_byte(tmp_path):
    chosen = ["percentage", "gapClosed-lr", "epsilonSearch-box"]  # test_paper_page has all of them
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        drawn = panels(hand_made(1, (0.55, 0.95)))
        for slug in chosen:
            drawn[slug].write(tmp_path / name)
    for slug in chosen:
        first, second = (tmp_path / name / f"{slug}.svg" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        assert ElementTree.parse(first).getroot().tag.endswith("svg")
        assert b"<dc:date>" not in first.read_bytes()
        picture = matplotlib.image.imread(tmp_path / "first" / f"{slug}.png")
        assert picture.shape[1] > 900  # sharp in print


@given(
    heights=st.lists(st.floats(0, 100), min_size=1, max_size=9),
    gap=st.floats(0.5, 10),
)
def test_labels_are_apart_in_order_and_near(heights, gap):
    placed = spread(heights, gap, 0.0, 100.0)
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    for before, after in pairwise(order):
        assert placed[after] - placed[before] >= gap - 1e-9
    assert min(placed) >= -1e-9
    assert max(placed) <= 100 + 1e-9
    assert max(abs(p - h) for p, h in zip(placed, heights, strict=True)) <= gap * len(heights)


def test_labels_that_are_apart_stay_where_they_are():
    assert spread([10.0, 50.0, 30.0], 5.0, 0.0, 100.0) == [10.0, 50.0, 30.0]


def test_without_matplotlib_one_sentence_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingPackage, match=r"python -m paper reproduce needs matplotlib.*matplotlib>="
    ):
        all_figures(hand_made(1, (0.75,)))
