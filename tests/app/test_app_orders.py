"""The page of a history without a browser: guesses, controls, orders, and files of every kind."""

import pytest

pytest.importorskip("streamlit", reason="streamlit is not installed")
pytest.importorskip("plotly", reason="plotly is not installed")

import datetime
import json
import re
from math import isnan, nan

import numpy as np
import polars as pl
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from unmet.app.figures import item_figure
from unmet.cli.main import app
from unmet.planning.dialect import Dialect, as_bytes
from unmet.report.charts import Item
from unmet.report.labels import order_labels

PAGE = "from unmet.app.page import main; main()"
EVIL = "<b onclick=alert(1)>x</b> ![p](http://a/b.png) :red[w]"
STATISTICS = re.compile(
    r"IEO|EAS|log-likelihood|p = |z = |estimated distribution|quantile|identif", re.I
)


def sales_table(n_days=60, item="item"):
    """Two items, one of which sells out on many days."""
    generator = np.random.default_rng(1)
    demand = generator.poisson(np.repeat([[20], [6]], n_days, axis=1))
    stock = np.array([[22], [30]]) + 0 * demand
    first = datetime.date(2024, 1, 1)
    return pl.DataFrame(
        {
            "date": [first + datetime.timedelta(day) for day in range(n_days)] * 2,
            item: ["bread"] * n_days + [EVIL] * n_days,
            "sales": np.minimum(demand, stock).ravel(),
            "sold_out": (demand >= stock).ravel(),
        }
    )


def metrics(page):
    return {each.label: each.value for each in page.metric}


def number(page, label):
    return float(metrics(page)[label].replace(",", "").replace("−", "-"))


def texts(page):
    shown = [*page.markdown, *page.caption, *page.error, *page.title, *page.subheader]
    return "\n".join(each.value for each in shown)


def select(page, label):
    return next(each for each in [*page.selectbox, *page.multiselect] if each.label == label)


def control(page, ending):
    kinds = [*page.slider, *page.number_input, *page.toggle, *page.select_slider, *page.text_input]
    return next(each for each in kinds if (each.key or "").endswith(ending))


def upload(data, name="mine.csv"):
    page = AppTest.from_string(PAGE, default_timeout=120).run()
    written = data if isinstance(data, bytes) else data.write_csv().encode()
    return page.file_uploader(key="past").upload(name, written, "text/csv").run()


@pytest.fixture(scope="module")
def page():
    return AppTest.from_string(PAGE, default_timeout=120).run()


def test_the_example_starts_with_the_guesses_of_the_command_line(page):
    assert not page.error
    assert not page.exception
    assert page.title[0].value == "Orders for the coming days"
    guesses = {
        "Date": "date",
        "What was sold": "sales",
        "Items: columns that tell them apart": ["dish"],
        "Sold out: yes or no": "sold_out",
        "What was in stock": "stock",
    }
    assert {label: select(page, label).value for label in guesses} == guesses
    assert list(metrics(page)) == ["Units to order", "Hidden demand", "Safety", "Sold-out days"]
    assert metrics(page)["Sold-out days"] == "37%"
    first = page.number_input[0]
    assert (first.label, first.value) == ("Days to order for", 7)
    assert page.slider[0].value == 90
    assert not STATISTICS.search(texts(page))


def test_the_page_orders_what_the_command_line_orders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sales_table(50).write_csv("mine.csv")
    result = CliRunner().invoke(app, ["plan", "mine.csv", "--json"])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    page = upload(sales_table(50))
    assert number(page, "Units to order") == told["total"]["order"]
    by_item = pl.read_csv("orders.csv").group_by("item").agg(pl.col("order").sum()).sort("item")
    shown = page.dataframe[0].value
    assert sorted(shown["Total"].tolist()[1:]) == sorted(by_item["order"].to_list())
    assert page.code[0].value == (
        "unmet plan mine.csv --horizon 7 --service-level 0.9 "
        f"--model {told['choice']['model']} -o orders.csv"
    )


def test_what_is_moved_moves_orders(page):
    before = number(page, "Units to order")
    control(page, "-level").set_value(97).run()
    higher = number(page, "Units to order")
    assert higher > before
    assert "--service-level 0.97" in page.code[0].value
    control(page, "-horizon-days").set_value(2)
    control(page, "-lead").set_value(3).run()
    assert number(page, "Units to order") < higher
    assert page.dataframe[0].value.shape == (6, 4)
    assert "--horizon 2 --lead-time 3" in page.code[0].value
    control(page, "-costs").set_value(True).run()
    control(page, "-underage").set_value(1.0)
    control(page, "-overage").set_value(4.0).run()
    assert number(page, "Safety") < 0
    assert "--underage 1 --overage 4" in page.code[0].value
    select(page, "Item").set_value(3).run()
    assert not page.error
    assert not page.exception


def test_a_file_of_ones_own_and_its_text_stays_text():
    page = upload(sales_table(item=EVIL))
    assert not page.error
    assert not page.exception
    assert select(page, "Items: columns that tell them apart").value == [EVIL]
    shown = texts(page)
    assert not re.search(r"(?<!\\)[<\[]", shown)
    assert page.dataframe[0].value.shape == (3, 9)
    page.text_input(key="find").set_value("BREAD").run()
    assert page.dataframe[0].value.iloc[:, 0].tolist() == ["All 1 item", "bread"]
    page.text_input(key="find").set_value("nothing <b>").run()
    assert "No item has this in its name." in texts(page)
    assert not page.exception
    page.text_input(key="find").set_value("").run()
    known = number(page, "Units to order")
    select(page, "Sold out: yes or no").set_value("–").run()
    assert metrics(page)["Sold-out days"] == "?"
    assert number(page, "Units to order") < known
    assert "--sold-out none" in page.code[0].value
    control(page, "-rate").set_value(0.3).run()
    assert number(page, "Hidden demand") > 0
    assert "--sellout-rate 0.3" in page.code[0].value
    select(page, "Items: columns that tell them apart").set_value([]).run()
    assert "one row a day" in page.error[0].value
    assert "--" not in page.error[0].value.replace("\\", "")


def test_a_german_file_and_its_decimal_sign():
    table = sales_table().with_columns(
        pl.col("date").dt.strftime("%d.%m.%Y"), (pl.col("sales") / 2).alias("sales")
    )
    german = table.rename(
        {"date": "Datum", "item": "Artikel", "sales": "Absatz", "sold_out": "Ausverkauft"}
    )
    page = upload(as_bytes(german, Dialect("cp1252", ";", ",", "\r\n")), "Umsätze.csv")
    assert not page.error
    assert select(page, "What was sold").value == "Absatz"
    assert select(page, "Sold out: yes or no").value == "Ausverkauft"
    assert page.dataframe[0].value.shape == (3, 9)
    told = number(page, "Units to order")
    thousands = table.with_columns(
        pl.format("{}.500", pl.col("sales").cast(int) + 1).alias("sales")
    )
    page.file_uploader(key="past").upload(
        "thousands.csv", thousands.write_csv(separator=";").encode(), "text/csv"
    ).run()
    assert not page.error
    assert not page.metric
    assert "which may be" in texts(page)
    comma = next(each for each in page.button if "comma" in each.label)
    comma.click().run()
    assert number(page, "Units to order") > 500 * told
    assert "--decimal ," in page.code[0].value


def test_what_is_known_of_coming_days_is_used():
    promoted = (pl.col("date").dt.day() % 3 == 0).cast(int).alias("promo")
    page = upload(sales_table().with_columns(promoted))
    assert "promo is not used" in texts(page).replace("\\", "")
    days = [datetime.date(2024, 3, 1) + datetime.timedelta(day) for day in range(7)]
    future = pl.DataFrame({"date": days}).with_columns(promoted).write_csv().encode()
    place = next(each for each in page.file_uploader if (each.key or "").endswith("-future"))
    place.upload("next week.csv", future, "text/csv").run()
    assert not page.error
    assert "promo is not used" not in texts(page).replace("\\", "")
    assert "--future 'next week.csv'" in page.code[0].value


def test_columns_that_are_equally_good_are_asked_for():
    page = upload(sales_table().with_columns(pl.col("sales").alias("Sales")))
    assert "equally good" in page.error[0].value
    assert not page.metric
    select(page, "What was sold").set_value("sales").run()
    assert not page.error
    assert number(page, "Units to order") > 0
    assert "--sales sales" in page.code[0].value


def test_all_models_are_compared_unless_somebody_is_in_a_hurry():
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    page = upload(sales_table(50))
    assert page.dataframe[2].value["all"].is_monotonic_increasing
    assert "which it had not seen" in texts(page)
    control(page, "-compare").set_value(False).run()
    assert not page.error
    assert "compare all models" in texts(page).lower()
    assert len(page.dataframe) == 2
    assert "--model linear" in page.code[0].value


def test_the_picture_of_an_item():
    days = [datetime.date(2024, 1, day) for day in (1, 3)]
    item = Item("bun", days, [3.0, 4.0], [nan, 5.5], [False, True], [days[-1]], [6.0])
    drawn = {each.name: each for each in item_figure(item, order_labels("day")).data}
    assert list(drawn) == ["sales", "demand, as expected", "sold out", "order"]
    told = zip(drawn["sold out"].customdata, drawn["sold out"].y, strict=True)
    assert [place for place, value in told if not isnan(value)] == ["3 Jan 2024"]
    assert drawn["order"].y == (6.0,)
