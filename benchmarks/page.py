"""Twenty users of the what-if page at once, on one table: how long until each has an answer.

The page is started as `unmet app` starts it. Each user is a session of its own over the web socket
that browsers use, so that the server does all it does for a browser. The answer is there when the
key figures are; the session is done when the page has nothing more to send. Each user then moves
the service level ten times, as soon as the page is done. When all have closed their pages, sixty
sessions are opened and closed one after another. Open files and memory of the server are read
before, while the users are there, and after (Linux).

With ``--series`` one user in a real browser (chromium, playwright) brings a table of so many
daily series, 90 days of each, and one of their promotions in the coming week: seconds until there
are figures, until orders follow another cost, and until they are downloaded.

    python benchmarks/page.py --users 20 --changes 10 --pages 60
    python benchmarks/page.py --series 1782
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

from unmet.cli.commands import _free, _options

CLOSED = float(_options(0)["server.disconnectedSessionTTL"])
RUNS_AGAIN = ForwardMsg.FINISHED_EARLY_FOR_RERUN
MOST = 300.0  # seconds that an answer may take
LEVEL = "Service level: share of days with demand met"
SERVE = "import sys; from unmet.cli.commands import _serve; _serve(int(sys.argv[1]))"


def start():
    """The page in a process of its own, when it answers."""
    port = _free(0)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1):
                return server, port
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the page did not answer")


class Visitor:
    """A session over the web socket that browsers use.

    Attributes
    ----------
    widgets : dict of str to str
        Identifiers of the controls that the page has shown, by label.
    figures : dict of str to str
        Key figures, by label.
    command, error : str
        What the page says last.
    """

    def __init__(self, port):
        self._port, self._states, self._fragment = port, {}, ""
        self.widgets, self.figures, self.command, self.error = {}, {}, "", ""

    async def __aenter__(self):
        address = f"ws://localhost:{self._port}/_stcore/stream"
        self._socket = await websocket_connect(address, subprotocols=["streamlit"])
        return self

    async def __aexit__(self, *_):
        self._socket.close()

    async def change(self, label, kind, value):
        """Move a control as a browser does, such as a slider; give what `answer` gives."""
        state = WidgetState(id=self.widgets[label])
        part = getattr(state, kind)
        if hasattr(part, "data"):
            part.data.append(value)
        elif isinstance(value, (bool, float)):
            setattr(state, kind, value)
        else:
            part.CopyFrom(value)
        self._states[label] = state
        return await self.answer()

    async def bring(self, label, name, data):
        """Upload a file; give what `answer` gives."""
        ask = BackMsg()
        ask.file_urls_request.request_id = "0"
        ask.file_urls_request.file_names.append(name)
        ask.file_urls_request.session_id = self._session
        await self._socket.write_message(ask.SerializeToString(), binary=True)
        while (message := await self._read()).WhichOneof("type") != "file_urls_response":
            pass
        urls = message.file_urls_response.file_urls[0]
        address = f"http://localhost:{self._port}{urls.upload_url}"
        health = await AsyncHTTPClient().fetch(f"http://localhost:{self._port}/_stcore/health")
        cookie = health.headers["Set-Cookie"].partition(";")[0]
        token = {"X-Xsrftoken": cookie.partition("=")[2], "Cookie": cookie}
        content = {"Content-Type": "multipart/form-data; boundary=part"}
        head = 'Content-Disposition: form-data; name="file"; filename="table"'
        body = f"--part\r\n{head}\r\n\r\n".encode() + data + b"\r\n--part--\r\n"
        await AsyncHTTPClient().fetch(
            HTTPRequest(address, "PUT", content | token, body, request_timeout=MOST)
        )
        brought = FileUploaderState()
        brought.uploaded_file_info.add(
            file_id=urls.file_id, name=name, size=len(data), file_urls=urls
        )
        return await self.change(label, "file_uploader_state_value", brought)

    async def answer(self):
        """Ask for the page; seconds until its last key figure, and until it is done."""
        begun = time.perf_counter()
        await self._ask()
        answered, self.figures, self.command, self.error = None, {}, "", ""
        while True:
            message = await self._read()
            now = time.perf_counter() - begun
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self._session = message.new_session.initialize.session_id
            elif kind == "auto_rerun":
                self._fragment = message.auto_rerun.fragment_id
            elif kind == "delta":
                self._see(message.delta.new_element)
                if "To order in all" in self.figures and answered is None:
                    answered = now
            elif kind == "script_finished" and message.script_finished == RUNS_AGAIN:
                pass
            elif kind == "script_finished" and (answered or self.error):
                return answered, now
            elif kind == "script_finished":  # how far the fit is: browsers ask every half second
                await asyncio.sleep(0.5)
                await self._ask(self._fragment)

    def _see(self, element):
        kind = element.WhichOneof("type")
        if kind is None:
            return  # a container
        shown = getattr(element, kind)
        if getattr(shown, "id", "") and getattr(shown, "label", ""):
            self.widgets[shown.label] = shown.id
        if kind == "metric":
            self.figures[shown.label] = shown.body
        elif kind == "code":
            self.command = shown.code_text
        elif kind == "alert":
            self.error = shown.body

    async def _ask(self, fragment=""):
        ask = BackMsg()
        ask.rerun_script.query_string, ask.rerun_script.fragment_id = "", fragment
        ask.rerun_script.widget_states.widgets.extend(self._states.values())
        await self._socket.write_message(ask.SerializeToString(), binary=True)

    async def _read(self):
        raw = await asyncio.wait_for(self._socket.read_message(), MOST)
        if raw is None:
            raise SystemExit("the page closed the connection")
        message = ForwardMsg()
        message.ParseFromString(raw)
        return message


def held(process):
    """Open files and megabytes of a process."""
    try:
        files = len(os.listdir(f"/proc/{process}/fd"))
        with open(f"/proc/{process}/status", encoding="ascii") as lines:
            size = next(line for line in lines if line.startswith("VmRSS"))
    except OSError:
        return 0, 0.0
    return files, int(size.split()[1]) / 1024


async def use(port, place, changes):
    """One user: seconds until there is an answer, until the page is done, and of each change."""
    async with Visitor(port) as user:
        first = await user.answer()
        seconds = []
        for turn in range(changes):
            level = 50 + (7 * place + 11 * turn) % 50
            seconds.append((await user.change(LEVEL, "double_array_value", level))[1])
            assert f"--service-level {level / 100:.12g} " in user.command
        return *first, seconds


async def measure(port, process, users, changes, pages):
    """What there is to say, a line each."""
    held_now, busy = [held(process)], os.getloadavg()[0]
    seen = await asyncio.gather(*(use(port, place, changes) for place in range(users)))
    answers, ends, moved = zip(*seen, strict=True)
    told = [
        f"The computer had {os.cpu_count()} cores, and a load average of {busy:.0f} before.",
        f"With {users} users at the same time, orders appeared after "
        f"{statistics.median(answers):.1f} s (median user) and {max(answers):.1f} s (last user). "
        f"The last page was complete after {max(ends):.1f} s.",
    ]
    if changes:
        every = sorted(each for one in moved for each in one)
        told.append(
            f"Each user then changed the service level {changes} times, all at the same time. The "
            f"page was complete after {statistics.median(every):.1f} s (median of {len(every)} "
            f"changes) and {every[-1]:.1f} s (slowest change)."
        )
    held_now.append(held(process))
    await asyncio.sleep(CLOSED + 3)  # what a closed page held is let go without another page
    held_now.append(held(process))
    single = [(await use(port, 0, 0))[0] for _ in range(pages)]
    await asyncio.sleep(CLOSED + 3)
    held_now.append(held(process))
    if pages:
        told.append(
            f"With {pages} users one after another, orders appeared after "
            f"{statistics.median(single):.2f} s (median user)."
        )
    when = (
        "at the start",
        f"with {users} users",
        "when they had closed",
        f"after {pages} more users",
    )
    told += [
        f"{what} "
        + ", ".join(f"{now[place]:,.0f} {each}" for now, each in zip(held_now, when, strict=True))
        + "."
        for what, place in (
            ("The number of open files was", 0),
            ("The memory of the server in MB was", 1),
        )
    ]
    return told


def shops(n_series, n_days=90, n_coming=7, seed=0):
    """Sales with flags and promotions, and the promotions of the coming days, as CSV."""
    rng = np.random.default_rng(seed)
    n_all = n_days + n_coming
    promotion = rng.random((n_series, n_all)) < 0.15
    week = rng.uniform(0.7, 1.4, (n_series, 7))[:, np.arange(n_all) % 7]
    mean = rng.lognormal(2.0, 0.8, (n_series, 1)) * week * np.where(promotion, 1.5, 1.0)
    demand = rng.poisson(mean)
    stock = rng.poisson(1.25 * mean)
    first = datetime.date(2024, 3, 28)
    days = [first + datetime.timedelta(days=each) for each in range(n_all)]
    place = np.arange(n_series).repeat(n_all)
    table = pl.DataFrame(
        {
            "date": days * n_series,
            "store": 1 + place // 100,
            "item": 1 + place % 100,
            "sales": np.minimum(demand, stock).ravel(),
            "sold_out": (demand >= stock).ravel().astype(int),
            "promotion": promotion.ravel().astype(int),
        }
    )
    past = pl.col("date") < days[n_days]
    known = table.filter(~past).drop("sales", "sold_out")
    return table.filter(past).write_csv().encode(), known.write_csv().encode()


def browse(port, n_series, picture=None):
    """One user with a large table, in a browser: what there is to say, a line each."""
    from playwright.sync_api import sync_playwright

    sales, coming = shops(n_series)
    told, begun = [], 0.0
    figure = "() => document.querySelector('[class*=st-key-figures] [data-testid=stMetricValue]')"
    total = (
        "[...document.querySelectorAll('[data-testid=stMetric]')].find(card => "
        "card.innerText.startsWith('To order'))?.innerText"
    )

    def lap(what):
        told.append(f"{what}: {time.perf_counter() - begun:.2f} s")
        if picture is not None:
            page.screenshot(path=picture.with_stem(f"{picture.stem}-{len(told)}"), full_page=True)

    def bring(place, name, data):
        brought = {"name": name, "mimeType": "text/csv", "buffer": data}
        page.get_by_test_id("stFileUploaderDropzoneInput").nth(place).set_input_files(brought)

    def settle():
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1300, "height": 1000}, accept_downloads=True)
        page.set_default_timeout(180_000)
        page.goto(f"http://localhost:{port}")
        page.wait_for_function(figure)
        settle()
        begun = time.perf_counter()
        bring(0, "big.csv", sales)
        sold = page.locator(".st-key-figures-sold").get_by_test_id("stMetricValue")
        sold.filter(has_text=f"{n_series:,}").wait_for()
        lap("first figures: what was sold")
        page.get_by_test_id("stCode").filter(has_text="big.csv").wait_for()
        lap("orders")
        settle()
        begun = time.perf_counter()
        bring(1, "coming.csv", coming)
        page.get_by_test_id("stCode").filter(has_text="coming.csv").wait_for()
        lap("orders with promotions to come")
        settle()
        page.get_by_text("Use costs").click()
        cost = page.get_by_role("spinbutton", name="Underage cost")
        page.get_by_test_id("stCode").filter(has_text="--underage 3").wait_for()
        settle()
        seconds = {"figures": [], "page": []}
        for underage in (4, 5, 6, 7, 8):
            before = page.evaluate(total)
            cost.fill(str(underage))
            begun = time.perf_counter()
            cost.press("Enter")
            page.wait_for_function(f"before => {total} && {total} !== before", arg=before)
            seconds["figures"].append(time.perf_counter() - begun)
            page.get_by_test_id("stCode").filter(has_text=f"--underage {underage}").wait_for()
            settle()
            seconds["page"].append(time.perf_counter() - begun)
        for what, each in seconds.items():
            told.append(f"another cost, {what}: {statistics.median(each):.2f} s (median of 5)")
        each = []
        for _ in range(5):
            begun = time.perf_counter()
            with page.expect_download() as taken:
                page.get_by_role("button", name="Download orders.csv").click()
            rows = pl.read_csv(taken.value.path()).height
            each.append(time.perf_counter() - begun)
        assert rows == 7 * n_series
        told.append(f"download of {rows:,} orders: {statistics.median(each):.2f} s (median of 5)")
        if picture is not None:
            page.screenshot(path=picture, full_page=True)
        browser.close()
    return told


def write_page(page, lines):
    """Put what was measured between the marks of the page of promises."""
    begin, end = (f"<!-- page: {word} -->" for word in ("begin", "end"))
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    told = "\n".join(f"- {line}" for line in lines)
    page.write_text(f"{before}{begin}\n\n{told}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--changes", type=int, default=10, help="of the service level, each user")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--series", type=int, help="one user, with so many series")
    parser.add_argument("--picture", type=Path, help="with --series: pictures of the page, .png")
    parser.add_argument("--page", type=Path, help="write the figures into this file")
    asked = parser.parse_args()
    server, port = start()
    try:
        if asked.series is None:
            told = asyncio.run(measure(port, server.pid, asked.users, asked.changes, asked.pages))
        else:
            told = browse(port, asked.series, asked.picture)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)
    print("\n".join(told))
    if asked.page is not None:
        write_page(asked.page, told)


if __name__ == "__main__":
    main()
