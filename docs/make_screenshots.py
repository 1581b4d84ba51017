"""Make the plots of the what-if page and of the report in the documentation.

Run it from the root of the repository, with chromium installed: python docs/make_screenshots.py
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

from unmet.app import WhatIf
from unmet.planning import example
from unmet.planning.example import EXAMPLE
from unmet.planning.plan_options import command_of, plan_from_options
from unmet.report import write_report

IMAGES = Path(__file__).with_name("images")
WIDTH, HEIGHT = 1300, 1500
PORT = 8517
SERVE = "from unmet.cli.main import main; main()"
PATIENCE = 120_000


def main() -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        report = write_example_report(Path(folder) / "report.html")
        page = open_page(browser, report.as_uri())
        page.wait_for_selector(".chart .vega svg >> nth=0")
        take(page, "report-wide")
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, "app", "--port", str(PORT), "--no-browser"]
        )
        try:
            wait_for(f"http://localhost:{PORT}/_stcore/health")
            page = open_page(browser, f"http://localhost:{PORT}")
            page.locator("[data-testid=stVegaLiteChart]").first.wait_for()
            page.locator("[data-test-script-state=notRunning]").wait_for()
            take(page, "app-wide")
        finally:
            process.terminate()
            process.wait()
        browser.close()


def write_example_report(path: Path) -> Path:
    """Report of the bundled restaurant, as the page makes it."""
    tables = example()
    assumed = {"underage": EXAMPLE["underage"], "overage": EXAMPLE["overage"]}
    outcome = WhatIf(plan_from_options(**EXAMPLE), tables.sales).outcome(
        assumed, tables.truth, truth="demand"
    )
    return write_report(outcome | {"command": command_of(outcome["plan"])}, path)


def open_page(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    return page


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(1500)  # charts have come to rest
    page.screenshot(path=IMAGES / f"{name}.png")
    page.close()


def wait_for(address: str) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise TimeoutError(address)


if __name__ == "__main__":
    main()
