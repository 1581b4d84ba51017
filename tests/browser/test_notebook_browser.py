"""What notebooks show of our objects, in a real browser: text stays text there, too.

Estimators and plans are shown by scikit-learn's representation in HTML, which has their parameters
and the names of their features; tables by that of polars.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unmet import BoostedDecision, GroupedDecision, LatentBand, LinearDecision, Newsvendor
from unmet.planning import OrderPlan, Schema
from unmet.planning.plan_options import plan_from_options

EVIL = [
    '<img src=x onerror="window.ran=1">',
    "</script><script>window.ran=1</script>",
    "</style><svg onload=window.ran=1>",
    "\"'><a href='javascript:window.ran=1'>x</a>",
    "</pre></div><iframe srcdoc='<script>parent.ran=1</script>'>",
]


def features(n=40):
    generator = np.random.default_rng(0)
    columns = {name: generator.normal(size=n) for name in EVIL[:3]}
    kinds = pd.Categorical([EVIL[3], EVIL[4]] * (n // 2))
    return pd.DataFrame({**columns, EVIL[3]: kinds}), generator.gamma(4, 3, n)


def history(n=30):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, n), eager=True)
    return pl.DataFrame({EVIL[0]: days, EVIL[1]: EVIL[4], EVIL[2]: range(20, 20 + n)})


def shown():
    """Objects of all kinds, whose parameters, columns and categories are markup."""
    X, s = features()
    cost = Newsvendor(3, 1)
    linear = LinearDecision(cost).fit(X[EVIL[:3]], s)
    yield linear
    yield linear.set_params(band=LatentBand(families=EVIL))
    yield BoostedDecision(cost, max_iter=2, categorical_features=[EVIL[3]]).fit(X, s)
    yield GroupedDecision(LinearDecision(cost), EVIL[3], min_rows=5, random_state=0)
    yield plan_from_options(EVIL[0], features=EVIL[1:], underage=3, overage=1)
    plan = OrderPlan(
        schema=Schema(date=EVIL[0], series=[EVIL[1]], sales=EVIL[2]),
        model="seasonal",
        cost=Newsvendor.at_level(0.8),
    )
    yield plan.fit(history())
    yield plan.orders()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """One page with the output of a cell for each object."""
    cells = [each._repr_html_() for each in shown()]
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    output = "".join(f"<div class='output'>{cell}</div>" for cell in cells)
    head = "<!doctype html><html><head><meta charset='utf-8'></head><body>"
    path.write_text(f"{head}{output}</body></html>", encoding="utf-8")
    return path.as_uri(), len(cells)


def test_no_text_becomes_a_script(browser, notebook):
    address, n_cells = notebook
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for each in page.locator("input[type=checkbox]").all():
        each.check(force=True)
    page.wait_for_timeout(200)
    assert page.locator("div.output").count() == n_cells
    assert "onerror=" in page.inner_text("body")  # as text
    assert page.evaluate("window.ran") is None
    assert page.locator("iframe, img, svg[onload], a[href^=javascript]").count() == 0
    assert asked == [address]
    page.context.close()
