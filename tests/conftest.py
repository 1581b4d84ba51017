"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import shutil

import pytest
from hypothesis import settings

collect_ignore = ["conftest.py"]  # it has no doctests, and shares its name with those of folders

# Examples of a property: few in `make test`, many in `make slow` (--hypothesis-profile=many).
# A busy machine is no reason to fail, and CI must judge the same examples every time.
for name, examples in (("few", 10), ("many", 150)):
    settings.register_profile(
        name, deadline=None, max_examples=examples, derandomize=bool(os.environ.get("CI"))
    )
settings.load_profile("few")


@pytest.fixture(scope="module")
def few_trees():
    """Let plans grow few trees, fit no latent model and compare no spaces of demand.

    For tests that do not ask about these.
    """

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unmet.planning.candidates.TREES", 30)
        patch.setattr("unmet.planning.stockouts.MAX_ROWS", 0)  # no latent model
        space = "unmet.censoring.panel.PanelDistribution._best_space"
        patch.setattr(space, lambda self, spaces, *_: spaces[min(1, len(spaces) - 1)])
        yield


@pytest.fixture(scope="module")
def sales_are_demand():
    """Let plans without flags take sales for demand, for tests that do not ask what is hidden."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unmet.planning.order_plan.infer_stockouts", lambda panel, *_: (panel, ""))
        yield


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    """One browser for the tests of a file; without it they skip, or fail where it must be had."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _absent("playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        _absent(f"there is no browser, neither {' nor '.join(BROWSERS)}")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


def _absent(reason):
    """Skip; fail with UNMET_NEEDS_BROWSER=1."""
    if os.environ.get("UNMET_NEEDS_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


# What is imported and collected stays to the end: to look for garbage among it, again and again,
# takes a sixth of the time of all tests.


def pytest_sessionstart(session):
    if session.config.getoption("dist", "no") == "no":  # not where others collect
        gc.disable()


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()
