"""The page without a browser: what is shown for which input, and that nothing breaks it."""

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed")

import gc
import json
import re
import shlex
import threading
import time
import weakref
from functools import partial
from pathlib import Path

import polars as pl
from sales_panel import sales_panel
from shown_page import control, metrics, open_page, select, texts, upload

from unmet.app.controls import Job
from unmet.cli.main import run
from unmet.planning import OrderPlan, example
from unmet.simulate import replacement

pytestmark = pytest.mark.usefixtures("few_trees")

EVIL = "<b onclick=alert(1)>x</b> ![p](http://a/b.png)"


def in_all(shown):
    return float(shown["Total order"].replace(",", ""))


@pytest.fixture(scope="module")
def page():
    page = open_page()
    return select(page, "Task").set_value("What-if analysis of rows").run()


def test_the_example_is_shown_at_once_and_follows_the_sliders(page):
    assert not page.error
    assert not page.exception
    shown = metrics(page)
    assert shown["Can the data tell?"] == "✓ yes"
    assert re.fullmatch(r"\d\d% to \d\d%", shown["Rows that hide demand"])
    assert "Cost on the true values" in texts(page)
    assert "--underage 3 --overage 1" in page.code[0].value
    page.slider[0].set_value(9.0).run()
    dearer = metrics(page)
    assert in_all(dearer) > in_all(shown)
    assert float(dearer["Cost of ignoring it"].replace(",", "")) > float(
        shown["Cost of ignoring it"].replace(",", "")
    )
    assert "--underage 9 --overage 1" in page.code[0].value
    page.select_slider[0].set_value(0.0).run()
    none = metrics(page)
    assert none["Rows that hide demand"] == "0%"
    assert none["Cost of ignoring it"] == "0"
    assert in_all(none) < in_all(dearer)
    assert "--sellout-rate 0" in page.code[0].value
    assert not page.error


def test_statistics_are_a_click_away(page):
    behind = next(each for each in page.expander if each.label == "Statistics")
    assert "z = " in "".join(each.value for each in behind.markdown).replace("\\", "")
    shown = texts(page).replace("\\", "")
    assert shown.count("z = ") == 1
    assert "Identified" not in shown


def test_the_page_orders_what_the_command_line_orders(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = sales_panel([20, 6], 50, ["bread", "rolls"], stock=[22, 30], seed=1)
    table.write_csv("mine.csv")
    assert run(["plan", "mine.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    page = upload(table)
    assert in_all(metrics(page)) == told["total"]["order"]
    by_item = pl.read_csv("orders.csv").group_by("item").agg(pl.col("order").sum()).sort("item")
    shown = page.dataframe[0].value
    assert sorted(shown["total"].tolist()[1:]) == sorted(by_item["order"].to_list())
    assert page.code[0].value == (
        "unmet plan mine.csv --horizon 7 --service-level 0.9 -o orders.csv"
    )


FORMS = ["wide_days.csv", "order_lines.csv", "wide_with_totals.xlsx", "euros_beside_points.csv"]


@pytest.mark.parametrize("name", FORMS)
def test_tables_of_any_form_give_the_orders_of_the_command_line(name, tmp_path, monkeypatch):
    data = (Path(__file__).parents[1] / "tables" / "cases" / name).read_bytes()
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    assert run(["plan", name]) == 0
    orders = pl.read_csv("orders.csv")
    page = upload(data, name)
    assert not page.error
    assert in_all(metrics(page)) == pytest.approx(orders["order"].sum(), abs=0.5)
    words = shlex.split(page.code[0].value)[1:]
    assert run([*words[:-1], "again.csv"]) == 0
    assert pl.read_csv("again.csv").equals(orders)


@pytest.fixture
def slow_fit(monkeypatch):
    """Fits that wait until they may go on, and the page does not wait for them."""
    go_on, fit = threading.Event(), OrderPlan.fit

    def wait(plan, table, *, progress, **how):
        progress(2, 5, "comparing")
        while not go_on.wait(0.01):
            pass
        return fit(plan, table, **how)

    monkeypatch.setattr(OrderPlan, "fit", wait)
    monkeypatch.setattr("unmet.app.controls.PATIENCE", 0.1)
    yield go_on
    go_on.set()


def test_the_answer_before_stays_while_the_next_is_computed_and_work_can_be_stopped(slow_fit):
    slow_fit.set()
    page, table = open_page(), sales_panel([7, 9], 50, ["rye", "oat"], stock=[9, 30], seed=3)
    while not page.metric:
        page.run()
    before = metrics(page)
    slow_fit.clear()
    page.file_uploader(key="past").upload("other.csv", table.write_csv().encode(), "text/csv").run()
    sold = {"Total sales": f"{table['sales'].sum():,}", "Items": "2"}
    assert metrics(page).items() >= (before | sold).items()
    assert "100 rows, 2 series, one row per day, 2024-01-01" in texts(page)
    told = page.dataframe[0].value.set_index("use")
    assert told.loc["sales"].tolist() == ["sales", "its name"]
    assert "Previous result, for sales\\.csv" in texts(page)
    job = page.session_state["job"]
    assert job.step == (2, 5, "comparing")
    page.button(key="stop").click().run()
    job.thread.join(20)
    assert not job.thread.is_alive()
    assert page.button(key="stop").label == "Compute"
    assert metrics(page).items() >= before.items()
    slow_fit.set()
    page.button(key="stop").click().run()
    while "Previous result" in texts(page):
        page.run()
    assert metrics(page) != before


def test_lots_and_bounds(page):
    page.number_input(key="newsvendor-step").set_value(6.0)
    page.number_input(key="newsvendor-lower").set_value(12.0).run()
    decided = page.dataframe[0].value["decision"]
    assert (decided % 6 == 0).all()
    assert decided.min() >= 12
    assert "--step 6 --lower 12" in page.code[0].value


def test_a_file_of_ones_own_is_guessed_right_and_its_text_stays_text():
    table = example().sales.filter(pl.col("dish") == "lamb").tail(150).drop("stock", "date")
    table = table.select("weekday", "sales", "sold_out", pl.col("temperature").alias(EVIL))
    page = upload(table)
    assert not page.error
    assert select(page, "Sales").value == "sales"
    assert select(page, "Sold out: yes or no").value == "sold_out"
    assert EVIL in select(page, "Features").value
    assert page.dataframe[0].value.shape[0] == 100
    assert "--censored-column sold_out" in page.code[0].value
    coming = table.select("weekday", EVIL).head(7)
    lacking = coming.drop(EVIL).write_csv().encode()
    control(page, "-coming").upload("next.csv", lacking, "text/csv").run()
    sentence = page.error[0].value
    assert "got" in sentence
    assert not re.search(r"(?<!\\)[<\[]", sentence + texts(page))  # no tag, no link
    whole = coming.write_csv().encode()
    control(page, "-coming").upload("next.csv", whole, "text/csv").run()
    assert not page.error
    assert page.dataframe[0].value.shape[0] == 7


def test_a_problem_of_another_kind():
    table = replacement(n=70, seed=2).train.to_polars().select("time", "suspended")
    page = upload(table)
    assert "features must have at least one column" in page.error[0].value
    select(page, "Decision").set_value("replacement").run()
    assert not page.error
    assert select(page, "Time in service").value == "time"
    assert select(page, "Not failed: yes or no").value == "suspended"
    before = float(metrics(page)["Mean replacement age"].replace(",", ""))
    page.slider[1].set_value(19.0).run()
    assert float(metrics(page)["Mean replacement age"].replace(",", "")) < before
    assert "--failure 19" in page.code[0].value


WRONG = {
    "plot.csv": (b"\x89PNG\r\n\0\0", "plot.csv must be a text file"),
    "empty.csv": (b"", "got an empty file"),
    "words.csv": (b"a,b\nx,y\nz,w\n", "must have a column of numbers"),
    "short.csv": (b"a,sales\n1,3\n2,4\n", "rows"),
}


def test_wrong_files_get_a_sentence_and_the_page_goes_on():
    page = open_page()
    before = metrics(page)
    for name, (data, sentence) in WRONG.items():
        page.file_uploader(key="past").upload(name, data, "text/csv").run()
        assert len(page.error) == 1, name
        assert sentence in page.error[0].value.replace("\\", ""), name
        assert not page.exception
        assert "Previous result, for sales\\.csv" in texts(page)
        assert metrics(page) == before
    page.file_uploader(key="past").clear().run()
    assert not page.error
    assert metrics(page) == before
    assert "Previous result" not in texts(page)


def test_two_fits_run_at_once_and_no_more_and_all_users_get_theirs():
    running, most = [], []

    def make(tell, number):
        running.append(number)
        most.append(len(running))
        time.sleep(0.02)
        running.remove(number)
        return number

    jobs = [Job(partial(make, number=number), f"user {number}") for number in range(12)]
    for job in jobs:
        job.thread.join(60)
    assert [job.found for job in jobs] == list(range(12))
    assert max(most) == 2


def test_garbage_is_looked_for_after_a_fit_and_not_among_what_stays():
    """Streamlit does so after every run of the page; among all modules it takes a tenth second."""

    class Cycle:
        pass

    gc.unfreeze()
    lost = Cycle()
    lost.itself, watched = lost, weakref.ref(lost)
    gc.freeze()  # as by a fit before
    del lost
    Job(lambda tell: None, "user").thread.join(60)
    assert watched() is None
    assert gc.get_freeze_count() > 10_000
