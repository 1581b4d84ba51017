"""The gallery: every page asks a question, is listed with its plot, and runs as it stands."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
INDEX = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")


def load():
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = load()
PAGES = gallery.notebooks()


def test_every_page_is_in_the_table_of_contents_and_has_its_picture():
    listed = INDEX.partition("```{toctree}")[2].split()
    assert sorted(name for name in listed if name in PAGES) == sorted(PAGES)
    shown = re.findall(r"^```\{figure\} \.\./images/gallery/(.+)\.png$", INDEX, re.M)
    assert sorted(shown) == sorted(PAGES)
    plots = {path.stem: path for path in gallery.IMAGES.iterdir()}
    assert sorted(plots) == sorted(PAGES)
    assert all(path.stat().st_size < 60_000 for path in plots.values())
    assert "gallery/index" in (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_a_question_and_its_code_compiles(name):
    text = PAGES[name].read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.M)[1]
    assert title.endswith("?")
    assert f"[{title}]({name}.md)" in INDEX
    cells = gallery.cells(PAGES[name])
    assert len(cells) == text.count("```{code-cell}") >= 2
    for number, code in enumerate(cells, start=1):
        compile(code, f"{name}, cell {number}", "exec")
    # public interface only: the reader copies the code
    used = re.findall(r"^(?:from|import) (unmet[\w.]*)", "\n".join(cells), re.M)
    assert used
    assert not [module for module in used if "._" in module]
    assert not re.search(r"\w\._[a-z]", "\n".join(cells))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_and_draws(name):
    charts, printed = gallery.run(PAGES[name])
    assert charts >= 1
    assert printed
