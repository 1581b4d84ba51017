"""Twenty users of the what-if page at once, on one table: how long until each has an answer.

The page is started as `unmet app` starts it. Each user is a session of its own over the web socket
that browsers use, so that the server does all it does for a browser. The answer is there when the
key figures are; the session is done when the page has nothing more to send. Then sixty sessions are
opened and closed one after another, and open files and memory of the server are read before and
after (Linux).

    python benchmarks/page.py --users 20 --pages 60
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from tornado.websocket import websocket_connect

from unmet.cli.commands import _free, _options

CLOSED = float(_options(0)["server.disconnectedSessionTTL"])
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


async def visit(port, most=300.0):
    """Seconds until the key figures are there, and until the page is done."""
    begun, answered = time.perf_counter(), None
    socket = await websocket_connect(f"ws://localhost:{port}/_stcore/stream")
    ask = BackMsg()
    ask.rerun_script.query_string = ""
    await socket.write_message(ask.SerializeToString(), binary=True)
    try:
        while True:
            left = most - (time.perf_counter() - begun)
            raw = await asyncio.wait_for(socket.read_message(), left)
            if raw is None:
                raise SystemExit("the page closed the connection")
            message = ForwardMsg()
            message.ParseFromString(raw)
            now = time.perf_counter() - begun
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "metric":
                answered = answered or now
            if kind == "script_finished" and answered:
                return answered, now
            if kind == "script_finished":  # it shows how far the fit is; a browser asks for less
                await asyncio.sleep(3)
                await socket.write_message(ask.SerializeToString(), binary=True)
    finally:
        socket.close()


def held(process):
    """Open files and megabytes of a process."""
    try:
        files = len(os.listdir(f"/proc/{process}/fd"))
        with open(f"/proc/{process}/status", encoding="ascii") as lines:
            size = next(line for line in lines if line.startswith("VmRSS"))
    except OSError:
        return 0, 0.0
    return files, int(size.split()[1]) / 1024


async def measure(port, process, users, pages):
    """What there is to say, a line each."""
    first = held(process)
    seen = await asyncio.gather(*(visit(port) for _ in range(users)))
    answers, ends = zip(*seen, strict=True)
    assert None not in answers, "a session had no key figures"
    told = [
        f"{users} users at once: answer after {statistics.median(answers):.1f} s (median), "
        f"{max(answers):.1f} s (last); done after {max(ends):.1f} s (last)"
    ]
    await asyncio.sleep(3)
    before = held(process)
    single = [(await visit(port))[0] for _ in range(pages)]
    await asyncio.sleep(CLOSED + 2)
    await visit(port)  # what is closed for good is let go when the next page comes
    await asyncio.sleep(1)
    after = held(process)
    if pages:
        told.append(f"{pages} pages one after another: {statistics.median(single):.2f} s (median)")
    told += [
        f"{what}: {first[place]:,.0f} at the start, {before[place]:,.0f} after {users} users, "
        f"{after[place]:,.0f} after {pages} more pages"
        for what, place in (("open files", 0), ("MB of memory", 1))
    ]
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
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--page", type=Path, help="write the figures into this file")
    asked = parser.parse_args()
    server, port = start()
    try:
        told = asyncio.run(measure(port, server.pid, asked.users, asked.pages))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)
    print("\n".join(told))
    if asked.page is not None:
        write_page(asked.page, told)


if __name__ == "__main__":
    main()
