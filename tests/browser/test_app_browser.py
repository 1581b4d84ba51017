"""The what-if page in a real browser, served by the command that users type."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import polars as pl
import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed")

from unmet.planning import example

PATIENCE = 180_000  # milliseconds, of a busy machine
SERVE = (
    "from unmet.planning import candidates; candidates.TREES = 15; "  # sooner
    "from unmet.cli.main import main; main()"
)


@pytest.fixture(scope="module")
def address():
    """A server on a free port; it ends with the tests."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, "app", "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "BROWSER": "none",
            "STREAMLIT_SERVER_ALLOWED_HOSTS": "shop.example",
        },
    )
    try:
        assert process.stdout is not None
        sentence = process.stdout.readline()
        found = next(word for word in sentence.split() if word.startswith("http://localhost:"))
        wait_for(found)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def wait_for(address):
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        try:
            with urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise TimeoutError(address)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux who listens")
def test_the_server_listens_to_this_computer_only(address):
    port = int(address.rpartition(":")[2])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            local, _, state = line.split()[1:4]
            host, _, number = local.rpartition(":")
            if state == "0A" and int(number, 16) == port:  # listening
                found.append(host)
    assert found
    assert set(found) <= {"0100007F", f"{0:024X}01000000"}  # 127.0.0.1 and ::1


def test_a_file_from_another_page_is_refused(address):
    """Whoever has no token of this page cannot make a browser send files to it."""
    request = Request(f"{address}/_stcore/upload_file/a/b", data=b"x", method="PUT")
    request.add_header("Origin", "https://example.org")
    with pytest.raises(HTTPError) as caught:
        urlopen(request, timeout=20)
    assert caught.value.code == 403
    caught.value.close()


OURS = ("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]", "shop.example")
OTHERS = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "[::2]",
    "",
    "a.shop.example",
)


@pytest.mark.parametrize("place", ["", "_stcore/stream"])
@pytest.mark.parametrize("name", [*OURS, *OTHERS])
def test_a_name_that_comes_to_mean_this_computer_is_not_served(address, name, place):
    """DNS rebinding: host and origin agree, but are not ours."""
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("localhost", port), 20) as line:
        asked = f"GET /{place} HTTP/1.1\r\nHost: {name}:{port}\r\nOrigin: http://{name}:{port}\r\n"
        if place:
            asked += (
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            )
        line.sendall(f"{asked}\r\n".encode())
        status = (101 if place else 200) if name in OURS else 403
        assert line.recv(12) == f"HTTP/1.1 {status}".encode()


@pytest.fixture(scope="module")
def page(browser, address):
    """The page with the example, in one tab that all tests use one after the other."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.asked = []
    tab.on("request", lambda request: tab.asked.append(request.url))
    tab.goto(address)
    settled(tab)
    yield tab
    context.close()


def settled(page):
    """Wait until the page has answered."""
    page.get_by_test_id("stMetricValue").first.wait_for()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def metric(page, name):
    card = page.get_by_test_id("stMetric").filter(has_text=name)
    return card.get_by_test_id("stMetricValue").inner_text()


def bring(page, name, data):
    """Upload to the first place for files."""
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": data}
    )


def again(page, act):
    """Act until it works: a click while the page is drawn anew is lost, and a list is closed."""
    from playwright.sync_api import TimeoutError as TooLate

    for part in (8, 4, 1):
        settled(page)
        try:
            return act(PATIENCE / part)
        except TooLate:
            page.keyboard.press("Escape")
    raise AssertionError("The page did not answer.")


def download(page, button):
    def click(patience):
        with page.expect_download(timeout=patience) as taken:
            page.get_by_role("button", name=button).click(timeout=patience)
        return taken.value

    return again(page, click)


def pick(page, label, option, **how):
    """Choose from a list."""

    def click(patience):
        page.get_by_role("combobox", name=label, **how).click(timeout=patience)
        page.get_by_role("option", name=option).click(timeout=patience)

    again(page, click)


def says(page, *texts):
    """Wait for a command with these words: it is drawn last, so all else is drawn anew by then."""
    code = page.get_by_test_id("stCode")
    for text in texts:
        code = code.filter(has_text=text)
    code.wait_for()
    settled(page)


def amount(page, name):
    return float(metric(page, name).replace(",", ""))


def test_the_example_is_there_at_once_and_nobody_else_is_asked(page, address):
    assert metric(page, "Sold-out days") == "37%"
    page.locator("[data-testid=stVegaLiteChart]").first.wait_for()
    foreign = [
        url for url in page.asked if not url.startswith((address, "data:", "blob:", "ws://"))
    ]
    assert foreign == []


def test_the_service_level_moves_the_orders(page):
    before = amount(page, "Total order")
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    says(page, "--service-level 0.91")
    total = amount(page, "Total order")
    assert total > before
    orders = pl.read_csv(download(page, "Download orders.csv").path())
    assert orders.columns[:3] == ["dish", "date", "order"]
    assert orders["order"].sum() == total


def test_a_phone_has_no_side_scrolling(page):
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.get_by_role("slider").first.is_visible()
    page.set_viewport_size({"width": 1300, "height": 1000})
    settled(page)


@pytest.mark.slow
def test_stock_that_lasts(page):
    """What was left at the end of each day: orders for arrival, and the stock to come."""
    table = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"])).tail(240)
    left = (pl.col("stock") - pl.col("sales")).alias("left")
    rows = table.select("date", "dish", "sales", left)
    bring(page, "shelf.csv", rows.write_csv().encode())
    says(page, "shelf.csv")
    page.set_viewport_size({"width": 1300, "height": 1800})  # a list closes where its side scrolls
    pick(page, "Stock on hand, if stock is kept", "left")
    page.get_by_role("heading", name="Orders for today").wait_for()
    says(page, "--on-hand left")
    before = amount(page, "Total order")
    page.get_by_role("spinbutton", name="Days between orders").fill("7")
    page.keyboard.press("Enter")
    says(page, "--review 7")
    total = amount(page, "Total order")
    assert total > 2 * before
    page.locator("[data-testid=stVegaLiteChart]").nth(2).wait_for()
    assert page.get_by_text("until the next order can arrive").first.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1300, "height": 1000})
    orders = pl.read_csv(download(page, "Download orders.csv").path())
    assert orders["order"].sum() == total
    taken = download(page, "Download report.html")
    assert "Projected stock" in taken.path().read_text(encoding="utf-8")
    page.get_by_role("button", name="Remove shelf.csv").click()
    page.get_by_role("heading", name="Orders for the coming days").wait_for()
    says(page, "sales.csv")


def test_a_slider_moves_the_numbers(page):
    pick(page, "Task", "What-if analysis of rows")
    says(page, "--underage 3 --overage 1")
    assert metric(page, "Can the data tell?") == "✓ yes"
    page.locator("[data-testid=stVegaLiteChart]").nth(2).wait_for()
    before = {name: amount(page, name) for name in ("Total order", "Cost of ignoring it")}
    page.get_by_role("slider").first.focus()
    for _ in range(15):
        page.keyboard.press("ArrowRight")
    says(page, "--underage 4.5 --overage 1")
    assert all(amount(page, name) > value for name, value in before.items())


def test_orders_and_report_are_downloaded(page, browser, tmp_path):
    taken = download(page, "Download orders.csv")
    assert taken.suggested_filename == "orders.csv"
    orders = pl.read_csv(taken.path())
    assert orders.height == example().coming.height
    assert orders["decision"].sum() == amount(page, "Total order")
    assert (orders["decision"] >= orders["ignoring"]).mean() > 0.9
    file = tmp_path / "report.html"
    download(page, "Download report.html").save_as(file)
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert tab.locator("h1").inner_text() == "Order quantities"
    assert "--underage 4.5" in tab.locator("#made").inner_text()
    tab.close()


def test_a_file_is_uploaded(page):
    table = example().sales.filter(pl.col("dish") == "lamb").tail(150)
    rows = table.select("weekday", "sales", "sold_out")
    bring(page, "lamb <b>.csv", rows.write_csv().encode())
    says(page, "'lamb <b>.csv'")
    assert page.get_by_text("the last 100 rows of lamb <b>.csv").is_visible()
    assert amount(page, "Total order") > 0
    assert page.get_by_test_id("stException").count() == 0


BOMB = gzip.compress(bytes(1 << 20)) * 501  # 501 MB
HOSTILE = {
    "bomb.csv.gz": (BOMB, "must not unpack to more than"),
    "damaged.parquet": (b"PAR1" + 9999 * b"\xff" + b"PAR1", "cannot be read as Parquet"),
    "plot.csv": (b"\x89PNG\r\n\0\0", "must be a text file, got binary data"),
}


def test_users_of_one_table_have_their_own_levels_and_no_upload_ends_the_session_of_another(
    browser, address
):
    users = []
    for _ in range(2):
        context = browser.new_context(viewport={"width": 1300, "height": 1000})
        context.set_default_timeout(PATIENCE)
        users.append(context.new_page())
        users[-1].goto(address)
        says(users[-1], "--service-level 0.9 ")
    one, other = users
    usual = amount(one, "Total order")
    for user, presses in ((one, 3), (other, 1)):
        user.evaluate("window.kept = true")
        user.get_by_role("slider").first.focus()
        for _ in range(presses):
            user.keyboard.press("ArrowRight")
        says(user, f"--service-level 0.9{presses} ")
    assert amount(one, "Total order") > amount(other, "Total order") > usual
    for name, (data, sentence) in HOSTILE.items():
        bring(other, name, data)
        other.get_by_test_id("stAlert").filter(has_text=sentence).wait_for()
    one.get_by_role("slider").first.focus()
    one.keyboard.press("ArrowRight")
    says(one, "--service-level 0.94 ")
    for user in users:  # neither page was opened anew
        assert user.evaluate("window.kept")
        user.context.close()


EVIL = (
    '<img src=x onerror="window.ran=1">',
    "<script>window.ran=1</script>",
    "</title></script><svg onload=window.ran=1>",
    "[x](javascript:window.ran=1)",
    '<a href="javascript:window.ran=1">x</a>',
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
)


def nothing_ran(page, asked):
    """No script of a table has run, and nothing was asked for on its behalf."""
    assert page.evaluate("window.ran") is None
    assert page.locator("iframe[srcdoc], img[src=x], a[href^=javascript]").count() == 0
    assert [url for url in asked if url.endswith("/x")] == []


def evil_history(n_days=60):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 1) + pl.duration(days=n_days - 1))
    day = pl.select(days.alias("date"))["date"]
    return pl.concat(
        pl.DataFrame({"date": day, EVIL[0]: name, EVIL[1]: 1.5, "sold": range(20, 20 + n_days)})
        for name in EVIL
    )


@pytest.mark.parametrize(
    "way",
    [
        "Orders for the coming days",
        pytest.param("What-if analysis of rows", marks=pytest.mark.slow),
    ],
)
def test_no_text_of_a_table_becomes_a_script(browser, address, way):
    """Names of files, columns and items: on the page, in its lists and charts, in its report."""
    context = browser.new_context(viewport={"width": 1300, "height": 1800}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append("dialog/x"))
    page.goto(address)
    settled(page)
    name = "<img src=x onerror=window.ran=1>.csv"
    bring(page, name, evil_history().write_csv().encode())
    says(page, "onerror")
    if way != "Orders for the coming days":
        pick(page, "Task", way)
        page.get_by_role("heading", name="What if?").wait_for()
        settled(page)
    else:
        pick(page, "Item", "srcdoc", exact=True)
        settled(page)
    page.locator("[data-testid=stVegaLiteChart]").first.hover()
    nothing_ran(page, asked)
    if page.get_by_role("button", name="Download report.html").count():
        taken = download(page, "Download report.html")
        report = context.new_page()
        report.set_content(taken.path().read_text(encoding="utf-8"))
        report.locator("h1").wait_for()
        nothing_ran(report, asked)
    context.close()
