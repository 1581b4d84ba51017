"""Files are whole or absent; figures say what they show."""

import os
import stat
import xml.etree.ElementTree as ET

import pytest

from paper.demo import METHODS, DemoCost, compose
from paper.pictures import write_picture
from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_csv, write_whole

COSTS = {
    "eas": 20.0,
    "ieo": 18.0,
    "descent": 16.0,
    "exact": 17.0,
    "latent": 12.0,
    "truth": 11.0,
    "optimum": 10.0,
}


def outcome(method, level, gap_closed):
    cost = COSTS[method]
    return DemoCost(level, method, cost, cost - 1, cost + 1, gap_closed, 0.5, 3.0, 1.0, 0.01)


@pytest.fixture
def outcomes():
    return [
        outcome(method, level, None if level == 0.55 else (18 - COSTS[method]) / 8)
        for level in (0.55, 0.85)
        for method in METHODS
    ]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half of")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_as_readable_as_any_other(tmp_path):
    previous = os.umask(0o027)
    try:
        path = write_csv(tmp_path / "result.csv", [{"a": 1, "b": None}])
    finally:
        os.umask(previous)
    assert path.read_bytes() == b"a,b\r\n1,\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_folder_is_made_with_its_parents(tmp_path):
    prepare_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InvalidInput, match=r"^output must be a folder that can be written to, got"):
        prepare_folder(tmp_path)


def test_the_same_numbers_give_the_same_files(outcomes, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (
        write_picture("the figure", tmp_path / "a" / "demo", compose, outcomes),
        write_picture("the figure", tmp_path / "b" / "demo", compose, outcomes),
    )
    assert [p.name for p in first] == ["demo.svg", "demo.png"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert ET.parse(first[0]).getroot().tag.endswith("svg")


def test_axes_are_labelled_and_the_legend_covers_nothing(outcomes):
    figure = compose(outcomes)
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(METHODS.values())
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_title(loc="left")
        assert not legend.overlaps(axes.get_tightbbox())
    left, right = (axes.get_tightbbox() for axes in figure.axes)
    assert not left.overlaps(right)


def test_bars_show_the_shares_where_there_is_a_gap(outcomes):
    right = compose(outcomes).axes[1]
    heights = [bar.get_height() for container in right.containers for bar in container]
    assert heights == pytest.approx([25.0, 12.5, 75.0, 87.5])
    assert [label.get_text() for label in right.get_xticklabels()] == ["0.85"]
    assert "hardly any gap at 0.55" in right.get_xlabel()
