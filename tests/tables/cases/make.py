"""Make the small tables of this folder, and what each of them must become.

``python tests/tables/cases/make.py`` writes them again. Every table is in a form that people
export; numbers are drawn from a seed. `cases.json` says of each: the columns that must be found,
the number of series, the period, the first and last date, the sum of sales, and words that a note
must have; or the words of the question that must be asked. `options` are what a user says beside.
"""

import datetime
import json
from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).parent
CASES = []
ITEMS = ("bread", "bun", "cake", "tart")
LEVELS = (30, 22, 9, 4)


def counts(n_periods, levels=LEVELS, seed=0):
    return np.random.default_rng(seed).poisson(np.array(levels)[:, None], (len(levels), n_periods))


def days(n, first="2024-04-08", step=1):
    start = datetime.date.fromisoformat(first)
    return [start + datetime.timedelta(step * place) for place in range(n)]


def months(n, first="2021-01-01"):
    start = datetime.date.fromisoformat(first)
    return [
        datetime.date(start.year + (start.month - 1 + k) // 12, (start.month - 1 + k) % 12 + 1, 1)
        for k in range(n)
    ]


def long(dates, items=ITEMS, sold=None, form=None, date="date", item="item", sales="sales"):
    sold = counts(len(dates), LEVELS[: len(items)]) if sold is None else sold
    return pl.DataFrame(
        [
            {date: day if form is None else day.strftime(form), item: name, sales: int(number)}
            for name, row in zip(items, sold, strict=True)
            for day, number in zip(dates, row, strict=True)
        ]
    )


def wide(names, sold=None, ids=None, n_items=4):
    sold = counts(len(names)) if sold is None else sold
    ids = {"item": ITEMS[:n_items]} if ids is None else ids
    return pl.DataFrame({**ids, **{name: sold[:, place] for place, name in enumerate(names)}})


def case(name, content, options=None, **expected):
    path = HERE / name
    if isinstance(content, pl.DataFrame):
        (content.write_excel if path.suffix == ".xlsx" else content.write_csv)(path)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        sheet(path, content)
    CASES.append({"file": name, "options": options or {}, **expected})


def sheet(path, lines):
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for row, line in enumerate(lines):
            for column, cell in enumerate(line):
                if isinstance(cell, datetime.date):
                    page.write_datetime(row, column, datetime.datetime(*cell.timetuple()[:3]), day)
                elif cell is not None:
                    page.write(row, column, cell)


def found(series, n_series, period, first, last, total, date="date", sales="sales", **more):
    return {
        **{"date": date, "series": list(series), "sales": sales, "n_series": n_series},
        **{"period": period, "first": str(first), "last": str(last), "total": float(total)},
        **more,
    }


def make_wide():
    dates = days(28)
    sold = counts(28)
    case(
        "wide_days.csv",
        wide([str(day) for day in dates], sold),
        **found(["item"], 4, "day", dates[0], dates[-1], sold.sum(), note="28 columns, 2024-04-08"),
    )
    mondays = days(30, step=7)
    names = [f"{day.isocalendar().year}-W{day.isocalendar().week:02d}" for day in mondays]
    sold = counts(30)
    case(
        "wide_weeks.csv",
        wide(names, sold),
        **found(["item"], 4, "week", mondays[0], mondays[-1], sold.sum(), note="as weeks"),
    )
    ids = {"store": ["north", "north", "south", "south"], "item": ["bread", "bun"] * 2}
    case(
        "wide_weeks_without_year.csv",
        wide([f"KW {week}" for week in range(12, 32)], counts(20), ids),
        **found(["store", "item"], 4, "week", None, None, counts(20).sum(), note="have no year"),
    )
    sold, low, high = counts(52), counts(52).min(axis=1), counts(52).max(axis=1)
    numbered = wide(
        [f"W{week}" for week in range(52)], sold, {"Product_Code": ["P1", "P2", "P3", "P4"]}
    )
    numbered = numbered.with_columns(MIN=low, MAX=high).with_columns(
        pl.Series(f"Normalized {week}", np.linspace(0, 1, 4)) for week in range(52)
    )
    case(
        "wide_weeks_numbered.csv",
        numbered,
        **found(["Product_Code"], 4, "week", None, None, sold.sum(), note="MIN, MAX, Normalized 0"),
    )
    dates = months(40, "1998-01-01")
    sold = counts(40)
    table = wide(
        [f"{day:%b-%y}" for day in dates], sold, {"Part": [21029627, 21029628, 21030055, 7]}
    )
    case(
        "wide_months.csv",
        table,
        **found(["Part"], 4, "month", dates[0], dates[-1], sold.sum(), note="Jan-98 to Apr-01"),
    )
    names = [f"{day:%b}" for day in months(12)]
    sold = counts(12, LEVELS * 3)
    ids = {"item": ITEMS * 3, "Year": [2021] * 4 + [2022] * 4 + [2023] * 4}
    case(
        "wide_month_names_and_year.csv",
        wide(names, sold, ids),
        **found(["item"], 4, "month", "2021-01-01", "2023-12-01", sold.sum()),
    )
    names = [f"Q{quarter} {year}" for year in range(2015, 2023) for quarter in (1, 2, 3, 4)]
    sold = counts(32)
    case(
        "wide_quarters.csv",
        wide(names, sold),
        **found(["item"], 4, "quarter", "2015-01-01", "2022-10-01", sold.sum()),
    )
    dates = months(24)
    sold = counts(24)
    parts = {}
    for place, day in enumerate(dates):
        parts[f"Units {day:%Y-%m}"] = sold[:, place]
        parts[f"Stock {day:%Y-%m}"] = sold[:, place] + (place % 3)
    case(
        "wide_units_and_stock.csv",
        pl.DataFrame({"item": ITEMS, **parts}),
        **found(
            ["item"], 4, "month", dates[0], dates[-1], sold.sum(), sales="units", stock="stock"
        ),
    )
    dates = days(14)
    sold = counts(14)
    lines = [["Sales of April"], [], ["item", *dates, "Total"]]
    lines += [[name, *map(int, row), int(row.sum())] for name, row in zip(ITEMS, sold, strict=True)]
    lines.append(["Total", *map(int, sold.sum(axis=0)), int(sold.sum())])
    case(
        "wide_with_totals.xlsx",
        lines,
        **found(["item"], 4, "day", dates[0], dates[-1], sold.sum(), note="Totals left out"),
    )
    sold = counts(14)
    case(
        "wide_from_r.csv",
        wide([f"X{day:%Y.%m.%d}" for day in dates], sold),
        **found(["item"], 4, "day", dates[0], dates[-1], sold.sum()),
    )
    sold = counts(28)
    dates = days(28)
    case(
        "column_per_item.csv",
        pl.DataFrame({"date": dates, **dict(zip(ITEMS, sold, strict=True))}),
        {"sales": list(ITEMS)},
        **found(
            ["item"], 4, "day", dates[0], dates[-1], sold.sum(), note="4 columns were read as items"
        ),
    )


def lines_of(n_days=40, seed=1):
    """Order lines: several of an item on a day, each with its own customer."""
    generator = np.random.default_rng(seed)
    rows = []
    for day in days(n_days, "2023-01-02"):
        for _ in range(int(generator.integers(8, 16))):
            item = int(generator.integers(0, 6))
            rows.append((day, item, int(generator.integers(1, 6)), int(generator.integers(0, 90))))
    return rows


def make_lines():
    rows = lines_of()
    total = sum(row[2] for row in rows)
    store = pl.DataFrame(
        [
            {
                "Row ID": place + 1,
                "Order ID": f"CA-{2000 + place // 2}",
                "Order Date": f"{day:%m/%d/%Y}",
                "Ship Date": f"{day + datetime.timedelta(3):%m/%d/%Y}",
                "Customer ID": f"C-{who:03d}",
                "Customer Name": f"Name {who}",
                "City": f"City {who % 7}",
                "Category": "Paper" if item < 3 else "Chairs",
                "Product ID": f"OFF-{item:04d}",
                "Product Name": f"Thing {item}",
                "Sales": round(7.25 * number * (item + 1), 2),
                "Quantity": number,
                "Discount": 0.2 * (item % 2),
                "Profit": round(1.1 * number, 2),
            }
            for place, (day, item, number, who) in enumerate(rows)
        ]
    )
    where = {"date": "Order Date", "sales": "Quantity"}
    first, last = rows[0][0], rows[-1][0]
    case(
        "order_lines.csv",
        store,
        **found(
            ["Product ID"], 6, "day", first, last, total, **where,
            note=f"{len(rows)} rows were summed to", not_used=["Row ID", "Order ID", "Profit"],
        ),
    )  # fmt: skip
    weekly = [row for row in rows if row[0].weekday() == 0]
    case(
        "order_lines_by_week.csv",
        store,
        {"period": "week"},
        **found(
            ["Product ID"], 6, "week", first, days(6, "2023-01-02", 7)[-1], total, **where,
            note="one per series and week",
        ),
    )  # fmt: skip
    assert weekly
    kept = {}
    for day, item, number, _ in rows:
        kept[day, item] = number
    case(
        "order_lines_last.csv",
        store,
        {"duplicates": "last"},
        **found(["Product ID"], 6, "day", first, last, sum(kept.values()), **where),
    )
    case(
        "order_lines_refused.csv", store, {"duplicates": "error"}, error="must have one row per day"
    )
    generator = np.random.default_rng(2)
    retail = []
    for place, (day, item, number, who) in enumerate(rows):
        hour, minute = int(generator.integers(8, 19)), int(generator.integers(0, 60))
        back = place % 40 == 39
        retail.append(
            {
                "InvoiceNo": f"{'C' if back else ''}{536365 + place // 3}",
                "StockCode": f"8512{item}A",
                "Description": f"WHITE THING {item}",
                "Quantity": -1 if back else number,
                "InvoiceDate": f"{day.month}/{day.day}/{day.year} {hour}:{minute:02d}",
                "UnitPrice": 2.55 + item,
                "CustomerID": 17850.0 + who,
                "Country": "France" if who % 9 == 0 else "United Kingdom",
            }
        )
    retail = pl.DataFrame(retail)
    by_day = retail.group_by("StockCode", pl.col("InvoiceDate").str.split(" ").list.first())
    total = by_day.agg(pl.col("Quantity").sum().clip(0))["Quantity"].sum()
    case(
        "receipts_with_returns.csv",
        retail,
        **found(
            ["StockCode"], 6, "day", first, last, total, price="UnitPrice",
            date="InvoiceDate", sales="Quantity", note="Returns were subtracted",
        ),
    )  # fmt: skip
    pizzas = pl.DataFrame(
        [
            {
                "id": f"2023-{place // 2:06d}",
                "date": day,
                "time": f"{11 + place % 9}:{place % 60:02d}:{who % 60:02d}",
                "name": f"pizza_{item // 2}",
                "size": "SL"[item % 2],
                "type": "classic" if item < 4 else "veggie",
                "price": 10.5 + item // 2 + 5 * (item % 2),
            }
            for place, (day, item, _, who) in enumerate(rows)
        ]
    )
    case(
        "receipts_without_quantity.csv",
        pizzas,
        **found(
            ["name", "size"], 6, "day", first, last, len(rows),
            note="Each row counts as one unit", price="price", not_used=["id", "time"],
        ),
    )  # fmt: skip
    case(
        "two_rows_a_day.csv",
        pl.concat([long(days(30)), long(days(30))]),
        **found(["item"], 4, "day", days(30)[0], days(30)[-1], 2 * counts(30).sum()),
    )


def make_periods():
    ends = [day - datetime.timedelta(1) for day in months(40, "2021-02-01")]
    for name, dates, period, form in (
        ("monthly.csv", months(40), "month", "%Y-%m"),
        ("month_ends.csv", ends, "month", None),
        ("quarterly.csv", months(60)[::3], "quarter", None),
        ("months_in_german.csv", months(40), "month", "german"),
    ):  # fmt: skip
        table = long(dates, form=None if form == "german" else form)
        if form == "german":
            names = (
                "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
            )
            table = table.with_columns(
                date=pl.Series(
                    [f"{names.split()[day.month - 1]} {day.year}" for day in table["date"]]
                )
            )
        total = counts(len(dates)).sum()
        case(name, table, **found(["item"], 4, period, dates[0], dates[-1], total))
    dates = [day for day in days(60) if day.weekday() < 5]
    case(
        "business_days.csv",
        long(dates),
        **found(["item"], 4, "business day", dates[0], dates[-1], counts(len(dates)).sum()),
    )
    dates = months(40)
    table = long(dates)
    parts = table.select(
        pl.col("date").dt.year().alias("Year"),
        pl.col("date").dt.month().alias("Month"),
        "item",
        "sales",
    )
    case(
        "year_and_month.csv",
        parts,
        **found(["item"], 4, "month", dates[0], dates[-1], counts(40).sum(), note="Year and Month"),
    )
    mondays = days(40, "2024-01-01", 7)
    table = long(mondays)
    parts = table.select(
        pl.col("date").dt.iso_year().alias("year"),
        pl.col("date").dt.week().alias("week"),
        "item",
        "sales",
    )
    case(
        "year_and_week.csv",
        parts,
        **found(["item"], 4, "week", mondays[0], mondays[-1], counts(40).sum()),
    )


def make_noise():
    dates = days(14)
    table = long(dates)
    sums = (
        table.group_by("date", maintain_order=True)
        .agg(pl.col("sales").sum())
        .with_columns(item=pl.lit("Total"))
    )
    both = pl.concat([table, sums.select(table.columns)]).sort("date")
    case(
        "total_rows.csv",
        both,
        **found(
            ["item"],
            4,
            "day",
            dates[0],
            dates[-1],
            counts(14).sum(),
            note="'Total' in 'item' (14 rows)",
        ),
    )
    lines = [["Datum", "Artikel", "Menge"]]
    for name, row in zip(ITEMS, counts(14), strict=True):
        lines += [[day, name, int(number)] for day, number in zip(dates, row, strict=True)]
        lines.append([None, f"Summe {name}", int(row.sum())])
    lines += [[None, "Gesamt", int(counts(14).sum())], [], ["Erstellt am 1. Mai 2024"]]
    german = {"date": "Datum", "sales": "Menge"}
    case(
        "totals_in_german.xlsx",
        lines,
        **found(
            ["Artikel"], 4, "day", dates[0], dates[-1], counts(14).sum(), **german,
            note="totals or remarks: 'Summe bread",
        ),
    )  # fmt: skip
    text = table.write_csv().splitlines()
    pages = [text[0]]
    for start in range(1, len(text), 20):
        pages += [*text[start : start + 20], "", ",,", text[0]]
    case(
        "repeated_headers.csv",
        "\n".join(pages) + "\n",
        **found(
            ["item"], 4, "day", dates[0], dates[-1], counts(14).sum(),
            note="totals or remarks: 'date, item, sales'",
        ),
    )  # fmt: skip
    case(
        "footers.csv",
        "\n".join([*text, "", "Grand total,," + str(counts(14).sum()), "Source: till 4,,"]) + "\n",
        **found(["item"], 4, "day", dates[0], dates[-1], counts(14).sum(), note="'Grand total, "),
    )
    stray = [*text[:5], text[5].rsplit(",", 1)[0] + ",closed", *text[6:]]
    left = counts(14).sum() - int(text[5].rsplit(",", 1)[1])
    case(
        "a_word_among_numbers.csv",
        "\n".join(stray) + "\n",
        **found(["item"], 4, "day", dates[0], dates[-1], left, note="'closed'"),
    )
    brands = long(dates, ("Shell", "Total", "Esso", "Aral"), item="brand")
    case(
        "a_brand_called_total.csv",
        brands,
        **found(["brand"], 4, "day", dates[0], dates[-1], counts(14).sum(), no_note="total"),
    )


def make_numbers():
    dates = days(28)
    sold = counts(28, (3000, 2200, 900, 400))
    table = long(dates, sold=sold)
    where = (["item"], 4, "day", dates[0], dates[-1], sold.sum())
    money = table.with_columns(
        sales=pl.Series([f"${number:,}" for number in table["sales"]]),
        promotion=pl.Series([f"{5 * (place % 3)}%" for place in range(table.height)]),
    )
    case("dollars.csv", money, **found(*where))
    euros = "\n".join(
        ["Datum;Artikel;Menge;Preis"]
        + [
            f"{day:%d.%m.%Y};{item};{number:,};1.234,50 €".replace(",", ".", 1)
            if number >= 1000
            else f"{day:%d.%m.%Y};{item};{number};2,50 €"
            for day, item, number in table.iter_rows()
        ]
    )
    case(
        "euros.csv",
        euros + "\n",
        **found(*where, date="Datum", sales="Menge", price="Preis") | {"series": ["Artikel"]},
    )
    back = table.with_columns(
        sales=pl.Series(
            ["(35)" if place % 50 == 9 else "12-" if place % 50 == 19 else str(number)
             for place, number in enumerate(table["sales"])]
        )
    )  # fmt: skip
    total = sum(
        0 if place % 50 in (9, 19) else number for place, number in enumerate(table["sales"])
    )
    case(
        "brackets_and_minus_behind.csv",
        back,
        **found(*where[:-1], total, panel_note="Sales below 0 were set to 0"),
    )
    sold = counts(28)
    for name, form in (
        ("long_dates.csv", "%A, %d %B %Y"),
        ("dates_with_month_names.csv", "%d-%b-%Y"),
        ("compact_dates.csv", "%Y%m%d"),
        ("us_dates.csv", "%-m/%-d/%y"),
    ):
        dates = days(28, "2012-10-10")
        case(
            name,
            long(dates, form=form),
            **found(["item"], 4, "day", dates[0], dates[-1], sold.sum()),
        )
    serial = long(dates).with_columns(
        (pl.col("date") - datetime.date(1899, 12, 30)).dt.total_days().alias("date")
    )
    case(
        "excel_serial_dates.csv",
        serial,
        **found(["item"], 4, "day", dates[0], dates[-1], sold.sum()),
    )
    unclear = long(days(9, "2024-05-01"), form="%d/%m/%Y")
    case("day_or_month.csv", unclear, error="must have one format")
    case(
        "day_or_month_told.csv",
        unclear,
        {"date_format": "%d/%m/%Y"},
        **found(["item"], 4, "day", "2024-05-01", "2024-05-09", counts(9).sum()),
    )


def make_days():
    dates = days(56)
    sold = counts(56)
    below = sold.copy()
    returns = [("bread", dates[3], -200), ("bun", dates[5], -2), ("bun", dates[5], -1)]
    table = pl.concat(
        [
            long(dates, sold=sold),
            pl.DataFrame([{"date": d, "item": i, "sales": n} for i, d, n in returns]),
        ]
    )
    below[0, 3], below[1, 5] = max(below[0, 3] - 200, 0), below[1, 5] - 3
    case(
        "returns.csv",
        table,
        **found(
            ["item"], 4, "day", dates[0], dates[-1], below.sum(),
            note="subtracted from sales of the same day: 3 rows",
            panel_note="Sales below 0 were set to 0 in 1 row",
        ),
    )  # fmt: skip
    sold = counts(56)
    sold[:, [day.weekday() == 6 for day in dates]] = 0
    case(
        "closed_sundays.csv",
        long(dates, sold=sold),
        **found(
            ["item"], 4, "day", dates[0], dates[-1], sold.sum(), closed_weekdays=[6],
            panel_note="no orders: 32 rows",
        ),
    )  # fmt: skip
    closed = [place in (10, 31, 46) for place in range(56)]
    sold[:, closed] = 0
    stores = long(dates, ("1", "2", "3", "4"), sold, item="Store", sales="Sales", date="Date")
    stores = stores.with_columns(
        Customers=(pl.col("Sales") * 0.4 + 3).floor(),
        Open=(pl.col("Sales") > 0).cast(pl.Int8),
        Promo=pl.Series([place // 7 % 2 for place in range(stores.height)]),
        DayOfWeek=pl.col("Date").dt.weekday(),
    )
    case(
        "open_and_closed.csv",
        stores,
        **found(
            ["Store"], 4, "day", dates[0], dates[-1], sold.sum(), date="Date", sales="Sales",
            not_used=["Customers", "DayOfWeek"], panel_note="no orders: 44 rows",
        ),
    )  # fmt: skip
    table = (
        long(dates)
        .with_row_index("Row ID")
        .with_columns(
            hours_out=pl.Series([place % 3 for place in range(4 * 56)]),
            left=pl.Series([place % 5 for place in range(4 * 56)]),
            customers=pl.col("sales") * 3 + 1,
            revenue=pl.col("sales") * 2.5,
            profit=pl.col("sales") * 0.5,
            temperature=pl.Series([10 + place % 11 for place in range(4 * 56)]),
            takings_of_the_day=pl.col("sales") * 2.4,
        )
    )
    after = ["hours_out", "left", "customers", "revenue", "profit", "temperature", "Row ID"]
    case(
        "known_only_afterwards.csv",
        table,
        **found(
            ["item"], 4, "day", dates[0], dates[-1], counts(56).sum(),
            not_used=[*after, "takings_of_the_day"], known_future=[],
        ),
    )  # fmt: skip


def make_more():
    """What some systems write: two decimal signs, issues below zero, labels once a group."""
    dates = days(35)
    sold = counts(35)
    rows = [
        f"{place},{day},08:{place % 60:02d},{150040 + place // 2},{item},{int(number)}.0,"
        f'"1,{place % 4}5 €"'
        for place, (day, item, number) in enumerate(long(dates, sold=sold).iter_rows())
    ]
    case(
        "euros_beside_points.csv",
        "\n".join([",date,time,ticket_number,article,Quantity,unit_price", *rows]) + "\n",
        **found(
            ["article"], 4, "day", dates[0], dates[-1], sold.sum(), sales="Quantity",
            price="unit_price", not_used=["ticket_number", "time"],
        ),
    )  # fmt: skip
    rows = [
        f"{100000 + ITEMS.index(item)};P1;{day:%d.%m.%Y};601;{int(number)},000-;EA"
        for day, item, number in long(dates, sold=sold).iter_rows()
    ]
    case(
        "issues_below_zero.csv",
        "\n".join(["Material;Plant;Posting Date;Movement Type;Quantity;Unit", *rows]) + "\n",
        **found(
            ["Material"], 4, "day", dates[0], dates[-1], sold.sum(), date="Posting Date",
            sales="Quantity", note="The signs of 'Quantity' were changed",
        ),
    )  # fmt: skip
    lines = [["item", "date", "sales"]]
    for name, row in zip(ITEMS, sold, strict=True):
        for place, (day, number) in enumerate(zip(dates, row, strict=True)):
            lines.append([None if place else name, day, int(number)])
    case(
        "pivot_table.xlsx",
        lines,
        **found(
            ["item"],
            4,
            "day",
            dates[0],
            dates[-1],
            sold.sum(),
            note="were filled with the value above",
        ),
    )


def make_exports():
    """What tills, shops and pivot tables write."""
    dates, sold = days(35), counts(35)
    where = (["item"], 4, "day", dates[0], dates[-1], sold.sum())
    columns = pl.DataFrame({"Date": dates, **dict(zip(ITEMS, sold, strict=True))})
    case(
        "items_as_columns.csv",
        columns,
        **found(*where, date="Date", note="4 columns, bread to tart, were read as items"),
    )
    case(
        "two_items_and_their_sum.csv",
        columns.select("Date", "bread", "bun", Total=pl.col("bread") + pl.col("bun")),
        **found(["item"], 2, "day", dates[0], dates[-1], sold[:2].sum(), date="Date"),
    )
    names = [f"{day:%b %Y}" for day in months(14)]
    number = counts(14)
    rows = [["Sum of Units", "Column Labels"], ["Row Labels", *names, "Grand Total"]]
    tabular = [["Store", "Item", *names, "Grand Total"]]
    for place, store in enumerate(("North", "South")):
        own = number[2 * place : 2 * place + 2]
        rows.append([store, *map(int, own.sum(axis=0)), int(own.sum())])
        rows += [[f"  {n}", *map(int, r), int(r.sum())] for n, r in zip(ITEMS, own, strict=False)]
        tabular += [
            [store if n == "bread" else None, n, *map(int, r), int(r.sum())]
            for n, r in zip(ITEMS, own, strict=False)
        ]
        tabular.append([f"{store} Total", None, *map(int, own.sum(axis=0)), int(own.sum())])
    for table in (rows, tabular):
        total = [
            "Grand Total",
            *([None] if table is tabular else []),
            *map(int, number.sum(axis=0)),
        ]
        table.append([*total, int(number.sum())])
    ends = (4, "month", "2021-01-01", "2022-02-01", number.sum())
    case(
        "pivot_of_two_fields.xlsx",
        rows,
        **found(["Row Labels", "group"], *ends, note="2 rows of 'Row Labels' are sums of the rows"),
    )
    case(
        "pivot_with_subtotals.xlsx",
        tabular,
        **found(["Store", "Item"], *ends, note="totals or remarks: 'North Tot"),
    )
    yearly = counts(8)
    case(
        "wide_years.csv",
        wide([str(year) for year in range(2016, 2024)], yearly),
        **found(["item"], 4, "year", "2016-01-01", "2023-01-01", yearly.sum(), note="as years"),
    )
    table = long(dates, sold=sold)
    noon = (pl.col("date").cast(pl.Datetime("ms")).dt.epoch("s") + 43_200).alias("timestamp")
    case(
        "epoch_seconds.csv",
        table.select(noon, "item", "sales"),
        **found(*where, date="timestamp"),
    )
    case(
        "month_first_with_signs.csv",
        table.with_columns(pl.col("date").dt.strftime("%b-%d-%y")),
        **found(*where),
    )
    french = table.select(
        pl.col("date").dt.strftime("%d/%m/%Y").alias("Date"),
        pl.col("item").alias("Désignation"),
        (pl.col("sales") * 100 + 7).map_elements(
            lambda n: f"{n:,}".replace(",", "\u202f"), return_dtype=pl.String
        ).alias("Qté vendue"),
        (pl.col("sales") * 345).map_elements(
            lambda n: f"{n / 1:,.2f}".replace(",", " ").replace(".", ","), return_dtype=pl.String
        ).alias("CA HT"),
    )  # fmt: skip
    case(
        "french.csv",
        french.write_csv(separator=";"),
        **found(
            ["Désignation"], 4, "day", dates[0], dates[-1], 100 * sold.sum() + 7 * 140,
            date="Date", sales="Qté vendue", not_used=["CA HT"],
        ),
    )  # fmt: skip
    voids = table.with_columns(pl.lit(0).alias("Void Qty")).rename({"sales": "Item Qty"})
    case("void_quantities.csv", voids, **found(*where, sales="Item Qty"))
    twins = table.write_csv().replace("date,item,sales", "date,item,sales,sales").splitlines()
    twins = [twins[0], *(f"{line},{line.rsplit(',', 1)[1]}" for line in twins[1:])]
    case(
        "two_columns_of_one_name.csv",
        "\n".join(twins) + "\n",
        **found(*where, note="renamed: 'sales (2)'", not_used=["sales (2)"]),
    )
    visits = long(dates, ("s1", "s2"), sold[:2], item="air_store_id", date="visit_date")
    case(
        "visitors.csv",
        visits.rename({"sales": "visitors"}),
        **found(
            ["air_store_id"], 2, "day", dates[0], dates[-1], sold[:2].sum(),
            date="visit_date", sales="visitors",
        ),
    )  # fmt: skip
    rows = lines_of()
    first, last, total = rows[0][0], rows[-1][0], sum(row[2] for row in rows)
    shop = pl.DataFrame(
        [
            {
                "Name": f"#{1000 + place}",
                "Paid at": f"{day + datetime.timedelta(place % 2)} 12:00:00 -0400",
                "Fulfilled at": f"{day + datetime.timedelta(2)} 12:00:00 -0400",
                "Total": f"{4 * number + 5}.00",
                "Created at": f"{day} 11:{place % 60:02d}:00 -0400",
                "Lineitem quantity": number,
                "Lineitem name": f"Thing {item}",
            }
            for place, (day, item, number, _) in enumerate(rows)
        ]
    )
    case(
        "orders_of_a_web_shop.csv",
        shop,
        **found(
            ["Lineitem name"], 6, "day", first, last, total,
            date="Created at", sales="Lineitem quantity",
        ),
    )  # fmt: skip
    bakery = pl.DataFrame(
        [
            {
                "Transaction": place // 2 + 1,
                "Item": f"thing {item}",
                "date_time": f"{day:%d-%m-%Y} 09:{place % 60:02d}",
                "weekday_weekend": "weekend" if day.weekday() > 4 else "weekday",
            }
            for place, (day, item, _, _) in enumerate(rows)
        ]
    )
    case(
        "transactions.csv",
        bakery,
        **found(["Item"], 6, "day", first, last, len(rows), date="date_time"),
    )
    stays = bakery.with_columns(
        lead_time=pl.Series([7 * place % 300 for place in range(len(rows))])
    )
    case(
        "lines_with_another_number.csv",
        stays,
        error="must be a column of quantities, got 'lead_time' (0, 7, 14)",
    )


def make_plain():
    """Ordinary tables, and such as nobody can read without a question."""
    dates = days(28)
    total = counts(28).sum()
    nixtla = long(dates, item="unique_id", date="ds", sales="y")
    case(
        "nixtla.csv",
        nixtla,
        **found(["unique_id"], 4, "day", dates[0], dates[-1], total, date="ds", sales="y"),
    )
    odd = long(dates).with_columns(
        pl.Series(name, np.arange(4 * 28) % 5)
        for name in ("w1", "w2", "w3", "d_1", "d_2", "may", "2020", "2021")
    )
    case(
        "odd_names.csv",
        odd,
        **found(["item"], 4, "day", dates[0], dates[-1], total, no_note="became"),
    )
    single = pl.DataFrame({"Day": dates, "sold": counts(28)[0]})
    case(
        "one_series.csv",
        single,
        **found([], 1, "day", dates[0], dates[-1], counts(28)[0].sum(), date="Day", sales="sold"),
    )
    two = long(dates).rename({"sales": "north"}).with_columns(south=pl.col("north") + 2)
    case(
        "which_are_the_sales.csv",
        two,
        error="several likely ones, 'north' (32, 16, 36), 'south' (34, 18, 38)",
    )
    case(
        "which_are_the_sales_told.csv",
        two,
        {"sales": "south"},
        **found(["item"], 4, "day", dates[0], dates[-1], total + 2 * 4 * 28, sales="south"),
    )


if __name__ == "__main__":
    for made in (
        make_wide,
        make_lines,
        make_periods,
        make_noise,
        make_numbers,
        make_days,
        make_more,
        make_exports,
        make_plain,
    ):
        made()
    (HERE / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n", encoding="utf-8")
    print(len(CASES), "tables")
