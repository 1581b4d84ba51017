"""Each promise of the page names the tests that prove it, and these exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/concepts/promises.md").read_text(encoding="utf-8")
WRITTEN = re.sub(r"<!-- .*?: begin -->.*?<!-- .*?: end -->", "", PAGE, flags=re.DOTALL)
PROMISES = re.findall(r"^- (.*?)(?=^- |^$)", WRITTEN, re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each[:40])
def test_a_promise_names_tests_that_exist(promise):
    named = NAMED.findall(promise)
    assert named
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_page_has_promises_and_the_counts_of_every_part():
    assert len(PROMISES) > 20
    for part in ("ordinary", "tables", "models"):
        assert re.search(f"<!-- fuzz {part}: begin -->\nLast run: .*?\n<!-- fuzz", PAGE, re.DOTALL)
