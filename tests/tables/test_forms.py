"""Forms in which people export sales: each opens at the first try, whichever way it comes in.

Tables and what they must become are in ``cases/`` (`cases/make.py` says how they were made).
"""

import datetime
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unmet.app.planning import guess, read_uploaded, unit_of
from unmet.cli.main import run
from unmet.errors import InvalidInput
from unmet.planning import OrderPlan, Schema, monitor
from unmet.tables.forms import as_long, read_sales
from unmet.tables.panel import read_panel
from unmet.tables.reading import read_file

FOLDER = Path(__file__).parent / "cases"
CASES = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
NAMES = [case["file"].partition(".")[0] for case in CASES]
READ = [case for case in CASES if "error" not in case]


def schema_of(options):
    return Schema(**{name: tuple(v) if isinstance(v, list) else v for name, v in options.items()})


def check_columns(schema, case):
    assert (schema.date, list(schema.series), schema.sales) == (
        *(case["date"], case["series"], case["sales"]),
    )
    for field in ("price", "stock"):
        assert getattr(schema, field) == case.get(field), field
    for name in case.get("not_used", ()):
        assert name not in (*schema.known_future, *schema.series, *schema.static)
    if "known_future" in case:
        assert list(schema.known_future) == case["known_future"]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_library(case):
    table = read_file(FOLDER / case["file"])
    schema = schema_of(case["options"])
    if "error" in case:
        with pytest.raises(InvalidInput) as error:
            read_sales(table.table, schema)
        assert case["error"] in str(error.value)
        assert "=)" in str(error.value) or "='" in str(error.value)  # what settles it
        return
    found = read_sales(table.table, schema)
    check_columns(found.schema, case)
    assert (found.schema.period, found.n_series) == (case["period"], case["n_series"])
    panel, panel_notes = read_panel(found.table, found.schema, n_coming=14)
    assert panel.n_series == case["n_series"]
    assert np.nansum(panel.observed) == pytest.approx(case["total"])
    if case["first"] != "None":
        first, last = panel.date(np.array([0, panel.n_days - 1]))
        assert (str(first), str(last)) == (case["first"], case["last"])
    notes = " ".join((*table.notes, *found.notes))
    assert case.get("note", "") in notes
    assert case.get("panel_note", "") in " ".join(panel_notes)
    if "no_note" in case:
        assert case["no_note"] not in notes
    closed = case.get("closed_weekdays", ())
    coming = panel.n_days + np.arange(14)
    is_open = panel.is_open(np.zeros(14, dtype=int), coming)
    weekdays = [day.weekday() for day in panel.date(coming).astype(object)]
    assert {day for day, each in zip(weekdays, is_open, strict=True) if not each} >= set(closed)
    # what was brought into one form stays as it is
    again = read_sales(found.table, found.schema)
    assert again.table.equals(found.table)
    assert again.notes == tuple(note for note in found.notes if "looks like money" in note)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_command_line(case, monkeypatch, capsys, tmp_path):
    """The table of guesses is printed before anything is learned."""

    class ReadError(InvalidInput):
        """Stands for the long work."""

    def stop(self, table, **_):
        raise ReadError(f"read {self.read(table).table.height} rows.")

    monkeypatch.setattr(OrderPlan, "fit", stop)
    words = []
    for name, value in case["options"].items():
        words += [
            f"--{name.replace('_', '-')}",
            ",".join(value) if isinstance(value, list) else value,
        ]
    file = str(FOLDER / case["file"])
    code = run(["plan", file, "-o", str(tmp_path / "orders.csv"), *words])
    printed = capsys.readouterr()
    assert code == 2
    if "error" in case:
        assert case["error"] in printed.err
        assert "--" in printed.err
        return
    assert "read " in printed.err
    table = {line.split("  ")[0]: line for line in printed.out.splitlines()}
    for field in ("date", "sales"):
        assert f" {case[field]} " in table[field]
    assert not case["series"] or ", ".join(case["series"]) in table["series"]
    assert f"rows, {case['n_series']:,} series, one row per {case['period']}," in printed.out


@pytest.mark.parametrize("case", READ, ids=[case["file"].partition(".")[0] for case in READ])
def test_page(case):
    file = read_uploaded(case["file"], (FOLDER / case["file"]).read_bytes())
    options = schema_of(case["options"])
    if isinstance(options.sales, tuple):
        pytest.skip("the page offers one column of sales")
    chosen = {}
    if options.sales or options.date_format:  # what a user chooses
        chosen = {"date": case["date"], "sales": case["sales"]}
    if options.date_format:
        return
    found, doubt = guess(file.table, **chosen)
    assert not doubt
    check_columns(found, case)
    date, sales = found.date, found.sales
    if "period" not in case["options"]:
        assert unit_of(file.table, date) == case["period"].split()[-1] + "s"
    labels = {"date": date, "series": found.series} | case["options"] | {"sales": sales}
    plan = OrderPlan(schema=Schema(**labels))
    assert plan.read(file.table).n_series == case["n_series"]


@pytest.mark.parametrize(
    ("name", "n_orders"),
    [("total_rows", 12), ("wide_months", 12), ("business_days", 12), ("closed_sundays", 24)],
)
def test_orders(name, n_orders, tmp_path, capsys):
    """A plan of the table as it was exported; nothing is ordered for closed days."""
    file = next(FOLDER.glob(f"{name}.*"))
    horizon = {"closed_sundays": "7"}.get(name, "3")
    orders = tmp_path / "orders.csv"
    words = ["--model", "seasonal", "--horizon", horizon, "-o", str(orders)]
    assert run(["plan", str(file), *words]) == 0
    made = pl.read_csv(orders, try_parse_dates=True)
    assert made.height == n_orders
    case = next(each for each in CASES if each["file"] == file.name)
    periods = {"day": 14 if name == "total_rows" else 48, "business day": 44, "month": 40}
    usual = case["total"] / periods[case["period"]]
    days = made["date"].n_unique()
    assert 0.8 * usual * days < made["order"].sum() < 2.5 * usual * days
    if case["period"] == "business day":
        assert (made["date"].dt.weekday() <= 5).all()
    if case["period"] == "month":
        assert made["date"].dt.day().unique().to_list() == [1]
    capsys.readouterr()


def test_a_column_that_closes_coming_days():
    sales = read_file(FOLDER / "open_and_closed.csv").table
    last = sales["Date"].max()
    coming = pl.DataFrame(
        {"Date": pl.date_range(last, last.replace(day=last.day + 7), eager=True, closed="right")}
    )
    shut = coming["Date"][3]
    assert shut.weekday() != 6
    coming = coming.with_columns(Open=(pl.col("Date") != shut).cast(pl.Int8))
    orders = OrderPlan(horizon=7, model="seasonal").fit(sales, future=coming).orders()
    assert shut not in orders["Date"].to_list()
    assert orders["Date"].n_unique() == 5  # seven days but for a Sunday and the closed one


def test_in_memory_as_from_a_file():
    """Text, as pandas reads it without types, becomes what the file becomes."""
    for name in ("footers.csv", "dollars.csv"):
        path = FOLDER / name
        table = pl.read_csv(path, infer_schema=False, truncate_ragged_lines=True)
        found, wanted = (read_sales(each) for each in (table, read_file(path).table))
        columns = ["date", "item", "sales"]
        assert found.table.select(columns).rows() == wanted.table.select(columns).rows()


def test_monitoring_reads_the_same_forms():
    """A plan of lines is watched with lines, one of columns of months with such columns."""
    lines = read_file(FOLDER / "order_lines.csv").table
    days = lines["Order Date"].str.to_date("%m/%d/%Y")
    known = lines.filter(days < days.max() - datetime.timedelta(7))
    plan = OrderPlan(horizon=7, model="seasonal").fit(known)
    found = monitor(plan, lines)
    assert found.n_rows < (days >= days.max() - datetime.timedelta(7)).sum()
    wide = read_file(FOLDER / "wide_months.csv").table
    plan = OrderPlan(horizon=3, model="seasonal").fit(wide[:, :-3])
    assert monitor(plan, wide).n_rows == 12


def test_words_in_a_column_that_the_user_names_count_as_missing():
    days = [f"2024-05-{day:02d}" for day in range(1, 29)]
    cells = ["5"] * 27 + ["closed"]
    table, notes, _ = as_long(pl.DataFrame({"day": days, "zzz": cells}), Schema(sales="zzz"))
    assert table["zzz"].to_list() == [5] * 27 + [None]
    said = "Cells of 'zzz' without a number count as missing: 'closed', the first in row 29."
    assert notes == [said]
    many = ["5"] * 20 + ["closed"] * 8  # a column of text, not a few words among numbers
    table, notes, _ = as_long(pl.DataFrame({"day": days, "zzz": many}), Schema(sales="zzz"))
    assert table["zzz"].to_list() == many
    assert notes == []


def days_of(items, n_days=60, first=datetime.date(2024, 1, 1), back=()):
    """Rows of items; those of `back` are so many days older."""
    rows = [
        (item, first + datetime.timedelta(day - dict(back).get(item, 0)), 3 + (day * place) % 5)
        for place, item in enumerate(items)
        for day in range(n_days)
    ]
    return pl.DataFrame(rows, schema=["item", "date", "sales"], orient="row")


@pytest.mark.parametrize("days", [2000, 600])
@pytest.mark.parametrize("old", [["bun"], ["bun", "jam"]])
def test_items_of_years_ago_are_left_out(days, old):
    rows = days_of(["tea", "bun", "jam", "pie"], back=[(item, days) for item in old])
    found = read_sales(rows)
    assert set(found.table["item"]) == {"tea", "bun", "jam", "pie"} - {*old}
    assert any("days from all others" in note for note in found.notes)
    orders = OrderPlan(model="seasonal").fit(rows).orders()
    assert set(orders["item"]) == set(found.table["item"])


def test_a_long_past_of_one_item_does_not_count_more_than_the_others():
    old = days_of(["bun"], n_days=700, first=datetime.date(2015, 1, 1))
    found = read_sales(pl.concat([old, days_of(["tea", "jam"])]))
    assert set(found.table["item"]) == {"tea", "jam"}


def test_a_date_in_the_future_of_a_long_table_is_left_out():
    rows = days_of(["tea", "jam"])
    stray = rows.head(1).with_columns(date=datetime.date(2204, 5, 17))
    for each in (rows, rows.pivot("date", index="item", values="sales").rename(str)):
        assert read_sales(each).table["date"].max() == datetime.date(2024, 2, 29)
    assert read_sales(pl.concat([rows, stray])).table["date"].max() == datetime.date(2024, 2, 29)
    wide = pl.concat([rows, stray]).pivot("date", index="item", values="sales").rename(str)
    assert read_sales(wide).table["date"].max() == datetime.date(2024, 2, 29)


@pytest.mark.parametrize("end", ["T00:00:00Z", " 00:00", " 00:00:00"])
def test_columns_of_moments_are_days(end):
    wide = days_of(["tea", "jam"], 20).pivot("date", index="item", values="sales")
    wide.columns = ["item", *(f"{name}{end}" for name in wide.columns[1:])]
    assert read_sales(wide).table.height == 40


def test_an_item_without_a_number_left_has_no_orders():
    rows = days_of(["tea", "bun", "jam"], back=[("bun", 2000)])
    wide = rows.pivot("item", index="date", values="sales")
    assert set(read_sales(wide).table["item"]) == {"tea", "jam"}


def test_numbers_of_items_stand_below_a_title(tmp_path):
    lines = ["Sales of all shops", "", "day,1001,1002,1003"]
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(30)]
    lines += [f"{day},{7 * day.day % 11},{day.day % 7},{day.day % 5}" for day in days]
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    found = read_sales(read_file(tmp_path / "sales.csv").table)
    assert set(found.table["item"]) == {"1001", "1002", "1003"}


def test_a_comma_in_every_cell_is_decimal_where_semicolons_part_them(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(30)]
    lines = [";".join(["item", *(f"{day:%A, %d %B %Y}" for day in days)])]
    lines += [";".join([item, *(f"{day.day},{place}5" for day in days)]) for place, item in
              enumerate(["tea", "jam"])]  # fmt: skip
    (tmp_path / "sales.csv").write_text("\n".join(lines))
    found = read_sales(read_file(tmp_path / "sales.csv").table)
    assert found.table.height == 60
    assert found.table["sales"].max() == 30.15


def test_a_total_is_left_out_beside_empty_columns(tmp_path):
    lines = ["day,tea,,"]
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(30)]
    lines += [f"{day}T00:00:00Z,{7 * day.day % 11},," for day in days]
    (tmp_path / "sales.csv").write_text("\n".join([*lines, "Total,465,,", ",,,"]))
    found = read_sales(read_file(tmp_path / "sales.csv").table)
    assert found.table.height == 30
    assert found.table.columns == ["day", "tea"]


def test_an_item_in_thousands_is_no_code():
    rows = days_of(["tea", "bun", "jam", "pie"]).with_columns(pl.col("sales") * 1000)
    wide = rows.pivot("item", index="date", values="sales")
    many = [(pl.int_range(60) * 700 % each).alias(name) for name, each in
            (("tea", 9100), ("bun", 7900), ("jam", 8300))]  # fmt: skip
    wide = wide.with_columns(many)  # beside one of a few values
    assert set(read_sales(wide).table["item"]) == {"tea", "bun", "jam", "pie"}


# --- Tables whose columns have no names, or names of digits.


def nameless(rows):
    return rows.select("item", "date", "sales").rename({"item": "0", "date": "1", "sales": "2"})


def test_numbers_of_items_are_no_dates():
    rows = days_of(["10003", "10005"])  # no March of the year 1000
    found = read_sales(nameless(rows)).schema
    assert (found.date, found.series, found.sales) == ("1", ("0",), "2")
    text = nameless(rows.with_columns(pl.col("date").cast(pl.String)))
    assert read_sales(text).schema == found


def test_a_few_rows_that_come_twice_do_not_add_up_items():
    rows = days_of(["tea", "bun"])
    twice = pl.concat([rows, rows.head(9)])
    assert read_sales(nameless(twice)).schema.series == ("0",)
    found = read_sales(twice.rename({"item": "flavor"}))
    assert found.n_series == 2
    assert found.table.height == 120


def test_lines_of_columns_without_names_are_refused():
    rows = days_of(["tea", "bun"])
    with pytest.raises(InvalidInput, match="without a likely name: name it"):
        read_sales(nameless(pl.concat([rows, rows])))
    none = nameless(pl.concat([rows, rows]).with_columns(sales=0))
    with pytest.raises(InvalidInput, match="got no likely one among"):
        read_sales(none)


def test_thousands_of_one_column_without_a_name_are_no_codes():
    rows = days_of(["tea", "bun", "jam"]).with_columns(pl.col("sales") * 1_000_000)
    assert read_sales(nameless(rows)).schema.sales == "2"


def test_a_new_item_beside_two_others_is_an_item():
    rows = days_of(["no", "tea", "bun"]).tail(120).with_columns(pl.col("sales") * 100)
    new = rows.tail(1).with_columns(item=pl.lit("jam"), sales=pl.lit(2300, pl.Int64))
    wide = pl.concat([rows, new]).pivot("item", index="date", values="sales")
    assert set(read_sales(wide).table["item"]) == {"tea", "bun", "jam"}


# --- Headers, totals and signs.


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y-%m-%dT00:00:00Z"])
def test_a_header_of_days_stands_below_a_title(form, tmp_path):
    wide = days_of(["tea", "jam"], 20).pivot("date", index="item", values="sales")
    wide.columns = [
        "item",
        *(f"{datetime.date.fromisoformat(day):{form}}" for day in wide.columns[1:]),
    ]
    (tmp_path / "sales.csv").write_text(f"Sales report\nof May\n\n{wide.write_csv()}")
    assert read_sales(read_file(tmp_path / "sales.csv").table).table.height == 40


def test_a_header_of_numbers_of_items_stands_above_days_as_excel_counts_them(tmp_path):
    lines = [f"{45_000 + day};{day % 7};{day % 5};{day % 3}" for day in range(30)]
    text = "\n".join(["Sales report", "", "day;10003;10010;10017", *lines, "Total;90;60;30"])
    (tmp_path / "sales.csv").write_text(text)
    found = read_sales(read_file(tmp_path / "sales.csv").table)
    assert set(found.table["item"]) == {"10003", "10010", "10017"}
    assert found.table.height == 90


def test_empty_columns_at_the_end_do_not_hide_the_separator(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(30)]
    lines = [f"{day:%b %d, %Y}\t{day.day % 7}\t\t" for day in days]
    (tmp_path / "sales.csv").write_text("\n".join(["day\ttea\t\t", *lines]))
    assert read_sales(read_file(tmp_path / "sales.csv").table).table.height == 30


def test_a_total_of_all_shops_and_items_is_left_out():
    one = days_of(["tea", "bun"])
    shops = pl.concat(one.with_columns(store=pl.lit(name)) for name in ("north", "south"))
    sums = shops.group_by("date").agg(pl.col("sales").sum())
    total = sums.with_columns(item=pl.lit("Total"), store=pl.lit("Total")).select(shops.columns)
    found = read_sales(pl.concat([shops, total]))
    assert set(found.table["store"]) == {"north", "south"}
    assert any("Totals left out: 'Total' in 'item' (60 rows)" in note for note in found.notes)


def test_a_single_return_does_not_turn_all_signs():
    rows = days_of(["tea"], 40).with_columns(
        sales=pl.when(pl.int_range(40) == 7).then(-1).otherwise(0)
    )
    assert read_sales(rows).table["sales"].min() == -1
    out = rows.with_columns(sales=-(pl.int_range(40) % 3))
    assert read_sales(out).table["sales"].min() == 0
