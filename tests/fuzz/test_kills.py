"""A few kills of `make kills`, and what it would call a failure."""

from __future__ import annotations

import json
import os

import kills
import pytest

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
]

BEGIN, END = "<!-- kills: begin -->", "<!-- kills: end -->"


@pytest.mark.parametrize("name", ["tuning", "report", "grouped", "plan"])
def test_nothing_is_lost(tmp_path, name):
    found = kills.run(name, 4, 1, 1, tmp_path)
    assert found["failed"] == []
    assert found["kills"] == 4
    assert found["operations"] == 2


def test_a_file_that_is_torn_is_found(tmp_path):
    old, new = {"a.csv": b"x\n1\n"}, {"a.csv": b"x\n2\n", "b.html": None}
    path = tmp_path / "a.csv"
    assert kills.torn(tmp_path, old, new) == ""  # absent
    for content, wrong in [
        (b"x\n1\n", ""),
        (b"x\n2\n", ""),
        (b"x\n3\n", "a.csv is neither old nor new"),
        (b"x\n2", "a.csv is not whole"),
    ]:
        path.write_bytes(content)
        assert kills.torn(tmp_path, old, new) == wrong
    path.unlink()
    (tmp_path / "b.html").write_text("<html></html>\n")
    (tmp_path / ".unmet-x.csv").write_text("half")
    assert kills.torn(tmp_path, old, new) == ""
    (tmp_path / "b.html").write_text("<html>")
    assert kills.torn(tmp_path, old, new) == "b.html is not whole"
    (tmp_path / "b.html").rename(tmp_path / "c.html")
    assert kills.torn(tmp_path, old, new) == "c.html is not of this run"


def test_what_differs_after_going_on_is_found(tmp_path):
    new = {"a.csv": b"x\n2\n", "rows.jsonl": ['{"cost": 1}', '{"cost": 2}']}
    (tmp_path / "a.csv").write_text("x\n2\n")
    rows = [{"cost": 2, "seconds": 0.1}, {"cost": 1, "seconds": 0.3}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert kills._differs(tmp_path, new) == ""
    (tmp_path / ".unmet-x.csv").touch()
    assert kills._differs(tmp_path, new) == "files differ: ['.unmet-x.csv']"
    (tmp_path / ".unmet-x.csv").unlink()
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert kills._differs(tmp_path, new) == "a.csv is not what an undisturbed run writes"


def test_counts_stand_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    found = {"part": "plan", "code": "abc", "kills": 50, "operations": 25, "left": 7, "chains": 25}
    kills.write_page(page, [{**found, "failed": []}])
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\nLast run: ")
    assert "| `unmet plan` with all its files | 50 | 25 | 7 | 25 | 0 |" in text
    assert text.endswith(f"{END}\nafter\n")
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="--page must have the marks"):
        kills.write_page(page, [])
