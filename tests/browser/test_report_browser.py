"""The report in a real browser: it asks for nothing, draws, fits a phone, and prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))  # contents made by hand

from hand_made_contents import content, orders

from unmet.report import write_report

CHARTS = 5


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(content(decisions=orders(30), n_decisions=30), path).as_uri()


def visit(browser, address, **options):
    """Open the page, and collect what it complains about and asks for."""
    page = browser.new_context(**options).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url == address else wrong.append(asked.url))
    page.goto(address)
    page.wait_for_selector(".chart >> nth=-1 >> .main-svg >> nth=0")
    assert page.locator(".chart:has(.main-svg)").count() == CHARTS
    return page, wrong


def ink(page):
    return page.evaluate("document.querySelector('.chart').layout.font.color")


def test_phone(browser, address):
    page, wrong = visit(browser, address, viewport={"width": 390, "height": 800}, has_touch=True)
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for chart in page.query_selector_all(".chart"):
        box = chart.query_selector(".main-svg").bounding_box()
        assert 0 < box["width"] <= 390
    page.context.close()


@pytest.mark.slow
def test_colours_follow_the_system_and_paper_is_light(browser, address):
    page, wrong = visit(browser, address, color_scheme="dark")
    assert ink(page) == "#e8eaed"
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(300)  # the page's own policy forbids to wait for an expression
    assert ink(page) == "#1d2126"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(color_scheme="dark")  # a system that turns dark does not change the paper
    page.wait_for_timeout(300)
    assert ink(page) == "#1d2126"
    assert page.evaluate("document.querySelector('.chart').layout.width") == 640
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert ink(page) == "#e8eaed"
    assert wrong == []
    page.context.close()


def test_table_is_searched_and_sorted(browser, address):
    page, wrong = visit(browser, address)
    page.fill("#search", "bread 12")
    assert page.inner_text("#found") == "1 of 30 rows"
    page.fill("#search", "")
    last = "#decisions thead th:last-child button"
    first = "document.querySelector('#decisions tbody tr').cells[1].textContent"
    page.click(last)
    page.click(last)
    assert page.evaluate(first) == "bread 29"
    page.click(last)
    assert page.evaluate(first) == "bread 0"
    assert wrong == []
    page.context.close()
