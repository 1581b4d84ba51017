"""A report is a whole file or none."""

from __future__ import annotations

import pytest
from hand_made_contents import content

from unmet.errors import FileFailure, InvalidInput
from unmet.report import page as writing
from unmet.report import render, write_report


def test_file_holds_the_page(tmp_path):
    path = tmp_path / "report.html"
    assert write_report(content(), str(path)) == path
    assert path.read_bytes() == render(content()).encode()
    assert path.stat().st_size < 1_000_000
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_failure_leaves_the_old_report(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.write_bytes", _full_disk)
    with pytest.raises(
        FileFailure, match=r"report.html cannot be written: No space left on device\.$"
    ):
        write_report(content(), path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def _full_disk(*_):
    raise OSError(28, "No space left on device")


def test_paths_that_cannot_be_are_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "render", None)
    with pytest.raises(InvalidInput, match=r"must be a file, got the folder .*\.$"):
        write_report(content(), tmp_path)
    with pytest.raises(InvalidInput, match=r"must be in a folder that exists, got .*r\.html\.$"):
        write_report(content(), tmp_path / "nowhere" / "r.html")
