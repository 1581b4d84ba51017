"""Marked numbers of README and docs are those of `benchmarks/results`."""

import re
from pathlib import Path

import pytest

from benchmarks.figures import MARK, pages, renewed

ROOT = Path(__file__).parents[1]
MARKED = [path for path in pages() if MARK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_numbers_are_those_of_the_results(path):
    text = path.read_text(encoding="utf-8")
    found = [mark[3] for mark in MARK.finditer(text)]
    wanted = [mark[3] for mark in MARK.finditer(renewed(text))]
    marks = [mark[2] for mark in MARK.finditer(text)]
    differ = [each for each in zip(marks, found, wanted, strict=True) if each[1] != each[2]]
    assert differ == [], "run `python -m benchmarks.figures`"


def test_every_mark_is_read():
    for path in pages():
        text = path.read_text(encoding="utf-8")
        assert text.count("<!-- result:") == len(MARK.findall(text)), path
        assert text.count("<!-- end -->") == len(MARK.findall(text)), path
    assert len(MARKED) >= 5


def test_a_wrong_number_is_replaced():
    page = "It takes <!-- result: seconds; dense-1e6 -->99 s<!-- end --> in all."
    new = renewed(page)
    assert new != page
    assert re.fullmatch(
        r"It takes <!-- result: seconds; dense-1e6 -->0\.\d\d s<!-- end --> in all\.", new
    )
