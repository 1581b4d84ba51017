"""README and docs: words of the field, numbers that scripts fill in, links that lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.test_words import INSTEAD

ROOT = Path(__file__).parents[1]
DOCS = [
    each for each in (ROOT / "docs").rglob("*.md") if not {"_build", "generated"} & {*each.parts}
]
PAGES = [ROOT / "README.md", *DOCS]
OTHERS = [
    *(each for each in ROOT.glob("*.md") if each.name != "README.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
    ROOT / "paper" / "README.md",
    ROOT / "examples" / "README.md",
]

MEASURED = re.compile(
    r"(?<![\w.,`])[-−+]?\d[\d.,]*"
    r"(?:\s?%|\s?×|[ -]?(?:ms|s|seconds?|minutes?|hours?|[KMG]B|times)\b)"
)
"""Numbers that a reader takes for measured: shares, durations, sizes, ratios."""


def name(path):
    return path.relative_to(ROOT).as_posix()


def prose(path):
    """Text of a page without code, marked numbers, comments, links and formulas."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^(`{3,}|~~~).*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"<!-- (.*?): begin -->.*?<!-- \1: end -->", "", text, flags=re.S)
    text = re.sub(r"<!-- result: .*?<!-- end -->", "", text, flags=re.S)
    return re.sub(r"<!--.*?-->|`[^`]*`|\$[^$\n]+\$|\]\([^)]*\)", "", text, flags=re.S)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_measured_numbers_come_from_scripts(path):
    typed = MEASURED.findall(prose(path))
    assert typed == [], (
        "write inputs as `code`, and results as marks that benchmarks/figures.py fills"
    )


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_pages_use_the_words_of_the_field(path):
    text = re.sub(r"^(`{3,}|~~~).*?^\1|\]\([^)]*\)", "", path.read_text("utf-8"), flags=re.M | re.S)
    found = {word: hit[0] for word in INSTEAD if (hit := re.search(word, text))}
    assert found == {}


def test_the_documentation_stays_small():
    assert len(DOCS) <= 45
    assert sum(len(path.read_text(encoding="utf-8").split()) for path in DOCS) <= 35_000
    readme = re.sub(r"^```.*?^```|<!--.*?-->", "", PAGES[0].read_text("utf-8"), flags=re.M | re.S)
    assert len(readme.split()) <= 500


def anchors(path):
    """Anchors of a page as Sphinx and hosts of repositories make them of its headings."""
    text = re.sub(r"^(`{3,}).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    named = set(re.findall(r'id="(.+?)"', text))
    return named | {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles
    }


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name)
def test_links_lead_to_files_and_headings(path):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            wrong.append(link)
    assert wrong == []
