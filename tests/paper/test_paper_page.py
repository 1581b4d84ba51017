"""The page and its twin: complete, self-contained, well formed, and nothing in it unescaped."""

import re
from collections import defaultdict
from html.parser import HTMLParser

import pytest
from hand_made_results import hand_made

from unmet.errors import InvalidInput
from unmet.paper.claims import all_claims
from unmet.paper.figures import all_figures
from unmet.paper.page import story, write_everything
from unmet.paper.protocol import Results
from unmet.paper.tables import all_tables
from unmet.simulate import PUBLISHED_LEVELS

FACTS = {
    "command": "unmet paper reproduce --quick",
    "peak memory": "<script>alert(1)</script> & 700 MB",
}
VOID = {"meta", "img", "br"}


class Outline(HTMLParser):
    """Tags in balance, attributes and text collected."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.identities, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.identities += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"nothing to close for </{tag}>"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def outline(folder):
    parser = Outline()
    parser.feed((folder / "index.html").read_text(encoding="utf-8"))
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "not" / "yet there"
    written = write_everything(hand_made(), folder, facts=FACTS)
    assert all(path.is_file() and path.stat().st_size > 0 for path in written)
    files = {path for path in folder.rglob("*") if path.is_file()}
    assert files == set(written)  # and no temporary ones
    assert [path.name for path in written[:2]] == ["index.html", "REPORT.md"]
    return folder


def test_all_files_are_there(folder):
    labels = [*all_tables(hand_made()), "claims"]
    names = {path.name for path in (folder / "tables").iterdir()}
    assert names == {f"{label}.{end}" for label in labels for end in ("csv", "md", "tex")}
    slugs = [p.slug for group in all_figures(hand_made()).values() for p in group.pictures]
    names = {path.name for path in (folder / "figures").iterdir()}
    assert names == {f"{slug}.{end}" for slug in slugs for end in ("svg", "png")}


def test_the_page_loads_nothing(folder):
    for tag, attributes in outline(folder).tags:
        assert tag not in ("script", "link", "iframe", "object", "embed")
        assert not attributes.get("href", "#").startswith(("http", "//", "file"))
        assert attributes.get("src", "data:").startswith("data:")
    style = (folder / "index.html").read_text(encoding="utf-8")
    assert "@import" not in style
    assert "url(" not in style


def test_tags_are_in_balance_and_identities_single(folder):
    identities = outline(folder).identities
    assert len(identities) == len(set(identities))


def test_links_lead_somewhere(folder):
    page = outline(folder)
    targets = [a["href"][1:] for tag, a in page.tags if tag == "a"]
    assert len(targets) > 30
    assert set(targets) <= set(page.identities)


def test_every_table_figure_and_claim_is_on_the_page(folder):
    page = outline(folder)
    results = hand_made()
    for label in all_tables(results):
        assert f"tab-{label}" in page.identities
    for label in all_figures(results):
        assert f"fig-{label}" in page.identities
    text = " ".join(page.text)
    for claim in all_claims(results):
        assert text.count(claim.statement) == 2  # verdict, and reason
    report = (folder / "REPORT.md").read_text(encoding="utf-8")
    for table in all_tables(results).values():
        assert table.as_markdown().strip() in report
    assert report.count("✓ reproduced") == 2 * 20


def test_every_picture_has_words(folder):
    images = [attributes for tag, attributes in outline(folder).tags if tag == "img"]
    assert len(images) == 13
    assert all(len(image["alt"]) > 60 for image in images)
    report = (folder / "REPORT.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[(.+?)\]\((figures/[\w-]+\.svg)\)", report)
    assert len(links) == 13
    assert all((folder / link).is_file() for _, link in links)


def test_facts_are_told_and_escaped(folder):
    raw = (folder / "index.html").read_text(encoding="utf-8")
    assert "<script>" not in raw
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; 700 MB" in raw
    report = (folder / "REPORT.md").read_text(encoding="utf-8")
    assert "unmet paper reproduce --quick" in report
    assert "\\<script>" in report


def test_published_and_ours_stand_beside_each_other(folder):
    text = " ".join(outline(folder).text)
    for number in ("95.63%", "12.92", "0.1827", "0.89 (-1.75, 1.58)***", "14.40%", "12.21%"):
        assert number in text


def test_light_dark_phone_and_paper(folder):
    raw = (folder / "index.html").read_text(encoding="utf-8")
    assert 'name="viewport"' in raw
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", "overflow-x"):
        assert rule in raw


@pytest.mark.slow  # figures repeat in `make test`, too
def test_the_same_results_give_the_same_files(folder, tmp_path):
    write_everything(hand_made(), tmp_path, facts=FACTS)
    for path in folder.rglob("*"):
        if path.suffix in (".csv", ".md", ".tex", ".svg", ".html"):
            assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes(), path


def told(results):
    """The story as plain text, without writing files."""
    parts = (all_claims(results), all_tables(results), all_figures(results), {})
    return story(results, *parts, pictures=defaultdict(bytes)).as_markdown()


def test_a_small_run_says_that_it_is_small():
    text = told(hand_made(2, (0.55, 0.75, 0.95), searched=False, clip=False))
    assert "2 of 10 data sets, 3 of 5 levels" in text
    assert "searched nothing" in text
    assert "Optuna" not in text
    assert "none, as printed" in text


def test_a_full_run_does_not():
    text = told(hand_made(10, PUBLISHED_LEVELS))
    assert "smaller than the paper's" not in text
    assert "Optuna instead of Hyperopt" in text
    assert "clipped at zero" in text
    assert "20 are reproduced, 0 in direction, and 0 not" in text


def test_a_hole_in_the_results_is_refused_before_anything_is_written(tmp_path):
    whole = hand_made(2, (0.55, 0.75))
    fits = tuple(
        row for row in whole.fits if (row.method, row.level, row.dataset) != ("NN latent", 0.75, 2)
    )
    holed = Results(whole.settings, fits, whole.searches, whole.decision, whole.optimum)
    with pytest.raises(InvalidInput, match=r"got none of NN latent at 0\.75 on data set 2"):
        write_everything(holed, tmp_path / "out", facts={})
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InvalidInput, match="must be a folder"):
        write_everything(hand_made(1, (0.75,)), tmp_path / "out", facts={})
    assert (tmp_path / "out").read_text() == "mine"
