"""The report in a real browser: it asks for nothing, draws, fits a phone, and prints."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))  # contents made by hand

from hand_made_contents import content, orders

from unmet.cli.main import run
from unmet.report import write_report


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    decided = orders(30).drop("item <b>&").with_columns(pl.lit("bread").alias("item"))
    twice = pl.concat([decided, decided.with_columns(pl.lit("rolls").alias("item"))])
    whole = content(decisions=twice, date="date", series=("item",))
    return write_report(whole, path).as_uri()


def visit(browser, address, **options):
    """Open the page, and collect what it complains about and asks for."""
    page = browser.new_context(**options).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url == address else wrong.append(asked.url))
    page.goto(address)
    return page, wrong


def color(page, what, name):
    script = f"getComputedStyle(document.querySelector({what!r})).getPropertyValue({name!r})"
    return page.evaluate(script)


LINE = "#chart-decisions .vega svg .mark-line path"


def test_phone(browser, address):
    page, wrong = visit(browser, address, viewport={"width": 390, "height": 800}, has_touch=True)
    page.wait_for_selector(LINE)
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for chart in page.query_selector_all(".chart .vega svg"):
        box = chart.bounding_box()
        if box is not None:  # folded ones have none
            assert 100 < box["width"] <= 390
    # labels of an axis do not touch each other
    labels = "#chart-decisions .role-axis >> nth=1 >> .role-axis-label text"
    boxes = [each.bounding_box() for each in page.locator(labels).all() if each.is_visible()]
    ends = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box)
    assert all(left[1] < right[0] for left, right in pairwise(ends))
    page.context.close()


def test_colours_follow_the_system_and_paper_is_light(browser, address):
    page, wrong = visit(browser, address, color_scheme="dark")
    page.wait_for_selector(LINE)
    last = f"{LINE} >> nth=-1"

    def stroke():
        return page.locator(last).evaluate("line => getComputedStyle(line).stroke")

    assert stroke() == "rgb(44, 199, 157)"
    page.emulate_media(color_scheme="light")
    assert stroke() == "rgb(0, 128, 93)"
    page.emulate_media(color_scheme="dark", media="print")
    assert stroke() == "rgb(0, 128, 93)"
    assert color(page, "body", "color") == "rgb(0, 0, 0)"
    assert wrong == []
    page.context.close()


def test_table_is_searched_and_sorted(browser, address):
    page, wrong = visit(browser, address)
    page.fill("#search-orders", "rolls")
    assert page.inner_text("#found-orders") == "1 of 2 rows"
    page.fill("#search-orders", "")
    page.click("#decisions-section details summary")
    page.fill("#search-decisions", "2017-01-12")
    assert page.inner_text("#found-decisions") == "2 of 60 rows"
    page.fill("#search-decisions", "")
    button = "#decisions thead th:nth-child(3) button"
    first = "document.querySelector('#decisions tbody tr').cells[1].textContent"
    page.click(button)
    page.click(button)
    assert page.evaluate(first) == "2017-01-30"
    page.click(button)
    assert page.evaluate(first) == "2017-01-01"
    assert wrong == []
    page.context.close()


def test_items_are_picked_and_numbers_shown(browser, address):
    page, wrong = visit(browser, address)
    assert page.locator("details.item[open]").count() == 1
    page.select_option("#picker", label="rolls")
    assert page.locator("details.item[open] figure").get_attribute("id") == "chart-item-1"
    page.click("#orders tbody a >> nth=0")
    assert page.locator("details.item[open] figure").get_attribute("id") == "chart-item-0"
    page.wait_for_selector("#chart-item-0 .vega[data-drawn=done]")
    page.locator("#chart-decisions .mark-symbol.role-mark path").last.hover(force=True)
    assert "order quantity" in page.inner_text(".tip")
    assert wrong == []
    page.context.close()


def test_it_can_be_read_without_scripts(browser, address):
    page, wrong = visit(browser, address, java_script_enabled=False)
    assert "Charts need JavaScript" in page.inner_text("noscript")
    assert not page.locator("#search-orders").is_visible()
    page.click("#item-1 summary")
    assert page.locator("#chart-item-1 figcaption").is_visible()
    assert wrong == []
    page.context.close()


EVIL = (
    '<img src=x onerror="window.ran=1">',
    "</script><script>window.ran=1</script>",
    '"><svg onload=window.ran=1>',
    "<a href='javascript:window.ran=1'>x</a>",
    "</title><iframe srcdoc='<script>parent.ran=1</script>'>",
)


def evil_table(n_days=40):
    day = pl.select(
        pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 1) + pl.duration(days=n_days - 1))
    ).to_series()
    return pl.concat(
        pl.DataFrame(
            {"date": day, EVIL[0]: name, EVIL[1]: [2.5, 3.5] * (n_days // 2), "sold": range(n_days)}
        ).with_columns((pl.col("sold") + 30 - place).alias("left"))
        for place, name in enumerate(EVIL)
    )


SERVICE = ("--service-level", ".8", "--series", EVIL[0], "--date", "date", "--sales", "sold")
REPORTS = {
    "plan": ("plan", "sales.csv", *SERVICE, "--model", "seasonal"),
    "replenishment": ("replenish", "sales.csv", *SERVICE, "--on-hand", "left"),
    "fit": (
        *("fit", "sales.csv", "--observed", "sold", "--features", f"{EVIL[0]},{EVIL[1]}"),
        *("--date", "date", "--series", EVIL[0], "--underage", "3", "--overage", "1"),
        *("--band", "none", "--currency", EVIL[2]),
    ),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_no_text_of_a_table_becomes_a_script(browser, tmp_path, monkeypatch, kind):
    """Names of files, columns, items and money, in what is shown, searched, sorted and hovered."""
    monkeypatch.chdir(tmp_path)
    words = list(REPORTS[kind])
    words[1] = "<img src=x onerror=window.ran=1>.csv"
    evil_table().write_csv(words[1])
    assert run([*words, "--report", "report.html"]) == 0
    page, wrong = visit(browser, (tmp_path / "report.html").as_uri())
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    assert "onerror=" in page.content()
    for field in page.locator("input[type=search]").all():
        if field.is_visible():
            field.fill("onerror")
    for button in page.locator("thead button").all():
        if button.is_visible():
            button.click()
    for chart in page.locator(".chart .vega").all():
        if chart.is_visible():
            chart.hover()
    for summary in page.locator("details > summary").all():
        if summary.is_visible():
            summary.click()
    assert page.evaluate("window.ran") is None
    assert page.locator("iframe, img, a[href^=javascript]").count() == 0
    assert wrong == []
    page.context.close()
