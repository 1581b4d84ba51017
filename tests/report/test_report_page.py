"""One page that needs nothing else, says what it must, and runs no text."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import pytest
from hand_made_contents import EVIL, comparison, content, diagnosis, nothing, orders
from read_page import cards, check_form, drawn, read, section

from unmet.errors import FileFailure, InvalidInput
from unmet.report import page as writing
from unmet.report import render, write_report

SECTIONS = [
    *("decisions-section", "items", "hidden", "stake", "rate", "costs", "unknown"),
    *("statistics", "made"),
]


@pytest.fixture(scope="module")
def text():
    return render(content())


@pytest.fixture(scope="module")
def page(text):
    return read(text)


def shown(content):
    return read(render(content))


def test_same_content_gives_the_same_bytes(text):
    assert render(content()) == text


def test_nothing_points_outside(page):
    for each in page.all():
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            target = each.attributes.get(name)
            assert target is None or target.startswith("#"), (each.name, target)
        assert each.name not in {"link", "iframe", "img", "object", "embed", "base"}
    assert not re.search("url\\(|@import", page.one("style").text)


def test_policy_allows_these_scripts_and_no_request(page):
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    run = [each for each in page.all("script") if "type" not in each.attributes]
    assert len(run) == 3
    for script in run:
        digest = b64encode(sha256(script.text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256-") == 3
    assert "script-src 'unsafe-inline'" not in policy


def test_text_never_becomes_markup(page, text):
    assert "alert(1)" in page.one("title").text
    assert page.one("h1").text == f"Orders {EVIL}"
    assert EVIL not in text
    assert "item <b>&" in [each.text for each in page.one("table", id="decisions").all("th")]
    assert not list(page.all("b"))
    assert not list(page.all("i"))
    assert "Ignoring <i>it</i>" in section(page, "costs").text


def test_charts_are_drawn_and_told(page):
    figures = list(page.all("figure"))
    names = [each.attributes["id"].removeprefix("chart-") for each in figures]
    assert names == ["decisions", "item-0", "stake", "rate", "costs", "hidden", "likelihood"]
    for figure in figures:
        image = figure.one("div", role="img")
        caption = figure.one("figcaption").one("strong").text
        assert image.attributes["aria-label"].startswith(caption)
        assert len(caption) > 30
        (chart,) = drawn(image)
        assert "parts" in chart or chart["layer"]


def test_no_statistics_above_the_fold(page):
    for place in (page.one("header"), section(page, "decisions-section"), section(page, "items")):
        for word in ("interval", "likelihood", "log-", "p =", "z =", "IEO", "EAS", "distribution"):
            assert word not in place.text
    (fold,) = (each for each in section(page, "statistics").children if each.name == "details")
    assert "open" not in fold.attributes
    assert "95% interval" in fold.text


def test_page_is_well_formed_for_assistive_technology(page):
    assert page.one("html").attributes["lang"] == "en"
    check_form(page, SECTIONS)
    for table in page.all("table"):
        assert table.one("caption").text
        assert all(each.attributes["scope"] in ("row", "col") for each in table.all("th"))
    for box in page.all("div"):
        if box.attributes.get("class") == "scroll":
            assert box.attributes["tabindex"] == "0"
            assert box.attributes["aria-label"]


def test_key_figures(page):
    found = cards(page)
    assert next(iter(found)) == "total order"
    assert found["rows decided"] == ["6"]
    # 6 × 1234.5 + 2 × 15, and 6 × 1000.25 + 15
    assert found["total order"] == ["7,437", "1,239.5 a day, 6 days"]
    assert found["if sales are taken as demand"] == ["6,016", "these orders are 24% more"]
    assert found["rows that hide demand"][0] == "30%"
    assert "(20% to 40% is possible)" in found["rows that hide demand"][-1]
    assert found["can the data tell?"][0] == "≈ weakly"
    assert found["cost of ignoring it"][:2] == ["€8,700", "range: 2,400 to 13,200"]


@pytest.mark.parametrize(("found", "symbol"), [("yes", "✓"), ("weakly", "≈"), ("no", "?")])
def test_identified_is_told_by_words_and_symbol(found, symbol):
    page = shown(content(diagnosis=diagnosis(identified=found)))
    card = page.one("div", **{"class": f"verdict-{found}"})
    assert card.one("dd", **{"class": "value"}).text == f"{symbol} {found}"
    helps = "What would help" in section(page, "unknown").text
    assert helps == (found != "yes")


def test_share_is_a_range_where_the_data_cannot_tell():
    unclear = diagnosis(identified="no", share_censored=0.0, share_range=(0.0, 0.37))
    page = shown(content(diagnosis=unclear))
    assert cards(page)["rows that hide demand"][0] == "0% to 37%"
    assert cards(page)["cost of ignoring it"][0] == "2,400 to 13,200"
    assert "Sales are taken as demand." in section(page, "hidden").text
    assert "The data cannot tell the cost of ignoring censoring" in section(page, "stake").text
    assert "as far as the data tell" not in page.text.lower()


def test_decision_table(page):
    table = page.one("table", id="decisions")
    header = [each.text for each in table.one("thead").all("th")]
    assert header == [
        "date",
        "order quantity",
        "if sales are taken as demand",
        "change",
        "item <b>&",
    ]
    first = [each.text for each in next(table.one("tbody").all("tr")).children]
    assert first == ["2017-01-01", "1,234", "1,000", "+234", "bread 0"]
    right = [each.attributes.get("class") == "number" for each in table.one("thead").all("th")]
    assert right == [False, True, True, True, False]


def test_long_tables_say_what_is_left_out():
    page = shown(content(decisions=orders(250)))
    rows = list(page.one("table", id="decisions").one("tbody").all("tr"))
    assert len(rows) == 200
    assert "50 more rows" in section(page, "decisions-section").text


@pytest.mark.parametrize(
    ("basis", "sentence"),
    [
        ("truth", "Evaluated on the truth"),
        ("estimate", "Evaluated on an estimate"),
        ("observation", "Evaluated on sales, which favors low orders"),
    ],
)
def test_basis_of_costs_is_told_first(basis, sentence):
    told = section(shown(content(comparison=comparison(basis))), "costs")
    assert sentence in told.one("p", **{"class": f"basis basis-{basis}"}).text


def test_numbers_of_charts_are_in_tables(page):
    rates = section(page, "rate").one("details").one("tbody")
    rows = [[cell.text for cell in row.children] for row in rates.all("tr")]
    assert rows[3] == ["30.0%", "1,090.0", "50.00"]


def test_command_and_versions_are_told(page):
    made = section(page, "made")
    assert made.one("code").text == "unmet decide 'a & b.unmet' next.csv"
    assert "unmet 0.1.0, numpy 2.3.1" in made.text
    assert "12 rows without a date were left out." in made.text
    assert "0.75" in made.text


@pytest.mark.parametrize("problem", ["newsvendor", "pricing", "replacement"])
def test_every_problem_has_its_words(problem):
    page = shown(content(problem=problem, answer=(), comparison=comparison("observation")))
    words = {
        "newsvendor": ("Order quantities", "sell-out rate", "demand"),
        "pricing": ("Prices", "acceptance rate", "the reservation price"),
        "replacement": ("Replacement ages", "share replaced in time", "the failure time"),
    }
    for name, wanted in words.items():
        for word in wanted:
            assert (word in page.one("main").text) == (name == problem), (name, word)


def test_parts_that_are_missing_are_explained():
    page = shown(nothing())
    check_form(page, SECTIONS)
    assert not list(page.all("figure"))
    assert not list(page.all("table"))
    for name in SECTIONS:
        assert section(page, name).text.strip()
    assert "sales were taken as demand" in section(page, "hidden").text


# --- Files.


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


# --- contrast --------------------------------------------------------------------------------


def luminance(color):
    """WCAG 2.1, relative luminance."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(place):
    style = (files("unmet.report") / "templates" / "report.css").read_text()
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[place]
    colors = dict(re.findall(r"--(\w+): (#\w{6})", block))
    for ink in ("ink", "quiet", "link", "yes", "weakly", "no"):
        for ground in ("paper", "box"):
            assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
