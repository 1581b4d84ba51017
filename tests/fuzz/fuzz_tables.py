"""Ordinary awkward tables of sales by seed, planned as people plan them, judged from outside.

A table is long or wide, by day, week or month, of a few rows to two years; it comes as text in the
usual dialects, as Excel, Parquet or a frame of pandas. Mishaps of real tables are added by name:
mistyped cells, totals, gaps, repeated rows, titles, several forms of dates, odd names of items.

**The rule** knows only the demand that the table was made from. No order of a series and period is
below 0 or above three times the largest demand of that series, plus one unit; six times where the
table has fewer than 28 periods, and of any series where the series has fewer than ten rows. Demand
of a row that is repeated counts twice. Orders of all series together are at most five times mean
demand, eight times in such a short table; and at least a fifth of it, where something is sold in
most periods. Every series that is still sold has orders, and no other one: no total, no item that
ended. What is written of past demand is finite, and not below what was sold.

=========  =========================================================================================
planned    finite orders that the rule allows
refused    one sentence of `unmet.errors`, of a table that a planner would mend as well
picky      one sentence, but a planner would find the table fine (a failure)
absurd     orders that the rule does not allow (a failure)
foreign    an error that is not ours, or an exit code that is neither 0 nor 2 (a failure)
warned     a warning of Python's or of another library (a failure)
=========  =========================================================================================
"""

from __future__ import annotations

import datetime
import io
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz import Verdict

from unmet import OrderPlan
from unmet.cli import main
from unmet.errors import UnmetError

COUNT = 5_000
OUTCOMES = ("planned", "refused", "picky", "absurd", "foreign", "warned")
FAILURES = OUTCOMES[2:]
PROCESS = 100  # one of so many tables is planned by a process of its own

STEPS = {"day": 1, "week": 7, "month": 30}
FORMS = {
    "day": ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%y", "%Y-%m-%d %H:%M",
            "%Y-%m-%dT00:00:00Z", "%A, %d %B %Y", "%b %d, %Y", "%d.%m.%y", "serial", "seconds"),
    "week": ("%Y-%m-%d", "%G-W%V", "%d.%m.%Y", "serial"),
    "month": ("%Y-%m-%d", "%Y-%m", "%b-%y", "%m/%Y", "%Y%m"),
}  # fmt: skip
NAMES = (
    *("tea", "bun", "jam & co", "<b>cake</b>", "=1+1", "007", "0012", "Öl, kalt", "+cola", "-15%"),
    *("a;b", 'the "best"', "100% juice", "@home", "日本茶", "x_y^2", "\\textbf{z}", "soup  of day"),
)
PLAIN = ("apples", "bread", "coffee", "dates", "eggs", "flour", "grapes", "honey")
HEADS = (
    ("item", "date", "sales"),
    ("sku", "day", "units_sold"),
    ("Artikel", "Datum", "Menge"),
    ("Product Name", "Order Date", "Quantity"),
    ("unique_id", "ds", "y"),
    ("product_id", "week", "qty"),
)
PANDAS = ("plain", "index", "levels", "repeated", "numbered", "categories", "nullable", "zone",
          "wide", "pivot", "periods", "objects")  # fmt: skip
EXTRA = ("flags", "stock", "price", "promo", "twins", "constant", "note", "revenue", "many")
MISHAPS = ("typo", "negative", "words", "missing", "gaps", "unsorted", "repeated rows", "halves",
           "totals", "total below", "header again", "empty", "title", "new", "ended", "old",
           "names", "numbers", "stores", "stray", "mixed dates", *EXTRA)  # fmt: skip


@dataclass
class Truth:
    """What is known of demand: the mean and the largest of each series, which are still sold."""

    mean: dict[str, float] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    short: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    often: bool = True


@dataclass(frozen=True)
class SalesCase:
    """One table, and what is asked of it."""

    seed: int
    n_items: int = 2
    n_periods: int = 60
    period: str = "day"
    kind: str = "counts"
    unit: float = 1.0
    file: str = "csv"
    shape: str = "long"
    head: int = 0
    form: str = "%Y-%m-%d"
    text: tuple[str, ...] = ()
    mishaps: tuple[str, ...] = ()
    words: tuple[str, ...] = ("plan",)

    @property
    def kinds(self) -> tuple[str, ...]:
        shape = f"{self.n_items} × {self.n_periods} {self.period}s"
        return (shape, self.kind, f"×{self.unit:g}", self.file, self.shape, self.form, *self.text,
                *self.mishaps, " ".join(self.words))  # fmt: skip

    def simpler(self) -> Iterator[SalesCase]:
        """Fewer mishaps, usual forms, fewer rows."""
        for each in self.mishaps:
            yield replace(self, mishaps=tuple(x for x in self.mishaps if x != each))
        for each in self.text:
            yield replace(self, text=tuple(x for x in self.text if x != each))
        plain = SalesCase(self.seed)
        for name in ("file", "shape", "head", "form", "kind", "unit"):
            if getattr(self, name) != getattr(plain, name):
                yield replace(self, **{name: getattr(plain, name)})
        if len(self.words) > 1 and self.words[0] == "plan":
            yield replace(self, words=self.words[:1])
        if self.n_items > 1:
            yield replace(self, n_items=self.n_items - 1)
        if self.n_periods > 3:
            yield replace(self, n_periods=max(self.n_periods * 2 // 3, 3))

    def source(self) -> str:
        return repr(self)

    @property
    def fine(self) -> bool:
        """Whether a planner would find the table fine: enough rows, dates that tell day from month.

        Not where nothing is ever sold, or words stand in more than one of twenty cells.
        """
        if self.n_periods < 8 or "mixed dates" in self.mishaps or self.kind == "nothing":
            return False
        if self.shape == "numbered" and (
            self.kind == "zeros" or {"stores", "old"} & {*self.mishaps}
        ):
            return False  # without names, days that items share tell which column is what
        if self.kind == "zeros" and "--model" in self.words:
            return False  # another model is told to be better
        if "stray" in self.mishaps and (self.n_periods < 30 or self.form in ("serial", "seconds")):
            return False
        if self.n_items * self.n_periods < 40 and {"words", "missing", "gaps"} & {*self.mishaps}:
            return False
        filled = self.n_items - ("new" in self.mishaps)  # a new item has one cell, perhaps of 0
        if filled <= 2 <= self.n_items and self.shape in ("items across", "wide", "pivot"):
            return False  # two columns of numbers may be sales and something else
        return not (self.form in ("%d/%m/%Y", "%m/%d/%Y") and self.n_periods < 30)

    # --- The table.

    def rows(self) -> tuple[pd.DataFrame, Truth]:
        """Rows with typed cells, and the demand behind them."""
        rng = np.random.default_rng([36, self.seed])
        names = [*NAMES] if "names" in self.mishaps else list(PLAIN)
        names = [str(each) for each in rng.permutation(names)]
        if "numbers" in self.mishaps:
            names = [str(10_003 + 7 * place) for place in range(20)]
        last = datetime.date(2024, 3, 1) + datetime.timedelta(int(rng.integers(300)))
        dates = _dates(last, self.n_periods, self.period)
        found, truth = [], Truth(often=self.kind not in ("zeros", "nothing"))
        for place in range(self.n_items):
            name, demand = names[place], self._demand(rng)
            days, kept = list(dates), np.ones(self.n_periods, dtype=bool)
            last_item = place == self.n_items - 1 and place > 0
            if last_item and "new" in self.mishaps:
                kept[:-1] = False
            elif last_item and "ended" in self.mishaps and self.n_periods > 60:
                kept[-45:] = False
                truth.gone.add(name)
            if last_item and "old" in self.mishaps:
                days = [each - datetime.timedelta(2002) for each in days]
                truth.gone.add(name)
            if "gaps" in self.mishaps:
                kept &= (rng.random(self.n_periods) > 0.1) | (np.arange(self.n_periods) == 0)
            kept[-1] |= name not in truth.gone  # still sold
            stock = np.full(self.n_periods, np.inf)
            if {"flags", "stock"} & {*self.mishaps}:
                stock = np.quantile(demand, 0.75) * rng.uniform(0.9, 1.4, self.n_periods)
                stock = np.ceil(stock / self.unit) * self.unit
            sold = np.minimum(demand, stock)
            frame = pd.DataFrame({"item": name, "date": days, "sales": sold})
            frame["sold_out"], frame["stock"] = sold >= stock, stock
            found.append(frame[kept])
            truth.mean[name] = float(demand[kept][-28:].mean())
            truth.largest[name] = float(demand[kept].max())
            if kept.sum() < 10:
                truth.short.add(name)
        rows = pd.concat(found, ignore_index=True)
        return self._spoiled(rows, rng), truth

    def _demand(self, rng: np.random.Generator) -> np.ndarray:
        cycle = {"day": 7, "week": 52, "month": 12}[self.period]
        week = 1 + 0.3 * np.sin(2 * np.pi * np.arange(self.n_periods) / cycle)
        mean = float(np.exp(rng.uniform(np.log(2), np.log(60)))) * week
        demand = rng.poisson(rng.gamma(8, mean / 8)).astype(float)
        if self.kind == "fractions":
            demand = np.round(rng.gamma(6, mean / 6), 2)
        elif self.kind == "zeros":
            demand = np.where(rng.random(self.n_periods) < 0.95, 0.0, demand + 1)
        elif self.kind == "nothing":
            demand = np.zeros(self.n_periods)
        return demand * self.unit

    def _spoiled(self, rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        has, n = self.mishaps.__contains__, len(rows)
        if not has("stock"):
            rows = rows.drop(columns="stock")
        if not has("flags"):
            rows = rows.drop(columns="sold_out")
        else:
            word = [("yes", "no"), (1, 0), ("J", "N"), (True, False), ("x", None)][rng.integers(4)]
            rows["sold_out"] = np.where(rows["sold_out"], *word)
        price = np.round(rng.uniform(1, 9), 2)
        if has("price"):
            rows["price"] = np.round(price * rng.choice([1.0, 1.0, 0.8], n), 2)
        if has("promo"):
            rows["promo"] = (rng.random(n) < 0.15).astype(int)
        if has("twins"):
            rows["discount"] = rng.choice([0.0, 0.1, 0.2], n)
            rows["rabatt"] = rows["discount"] * 100
        if has("constant"):
            rows["country"], rows["version"] = "DE", 1
        if has("note"):
            rows["comment"] = np.where(rng.random(n) < 0.1, "rain, late; see <i>mail</i>", None)
        if has("revenue"):
            rows["revenue"] = np.round(rows["sales"] * price, 2)
        if has("many"):
            for place in range(25):
                rows[f"attribute {place}"] = rng.choice(["a", "b", None], n)
        if has("stores"):
            half = rows.copy()
            half["sales"] = np.floor(rows["sales"] / self.unit / 2) * self.unit
            rows["sales"] = rows["sales"] - half["sales"]
            rows.insert(0, "store", "north")
            half.insert(0, "store", "south")
            rows = pd.concat([rows, half], ignore_index=True)
        rows["sales"] = rows["sales"].astype(object)
        place = rows.columns.get_loc("sales")
        size = max(float(rows["sales"].max()), self.unit)
        if has("halves"):
            rows = pd.concat([rows, rows.iloc[: len(rows) // 8].assign(sales=0.0)])
        if has("repeated rows"):
            rows = pd.concat([rows, rows.sample(max(1, n // 40), random_state=self.seed)])
        if has("negative"):
            rows.iloc[rng.integers(len(rows)), place] = -self.unit
        if has("missing"):
            rows.iloc[rng.integers(len(rows), size=1 + n // 20), place] = None
        if has("typo"):
            often = pd.to_numeric(rows["sales"]).gt(0).groupby(rows["item"]).transform("sum") > 3
            if often.any():
                rows.iloc[rng.choice(np.flatnonzero(often)), place] = 1e6 * size
        if has("stray"):
            year = 2204 if rng.random() < 0.5 else 1924
            row = int(rng.integers(len(rows)))
            rows.iloc[row, rows.columns.get_loc("date")] = datetime.date(year, 5, 17)
        if has("unsorted"):
            rows = rows.sample(frac=1.0, random_state=self.seed)
        if has("totals"):
            sums = rows.assign(sales=pd.to_numeric(rows["sales"]).fillna(0.0))
            sums = sums.groupby("date", as_index=False, sort=False)["sales"].sum()
            rows = pd.concat([rows, sums.assign(item="Total", **self._in_total(rows))])
        rows = rows.reset_index(drop=True)
        whole = self.kind != "fractions" and self.unit >= 1
        cells = [each if pd.isna(each) else int(each) if whole else float(f"{each:.10g}")
                 for each in rows["sales"]]  # fmt: skip
        rows["sales"] = pd.Series(cells, dtype=object)
        return rows.rename(
            columns=dict(zip(("item", "date", "sales"), HEADS[self.head], strict=True))
        )

    @staticmethod
    def _in_total(rows: pd.DataFrame) -> dict[str, Any]:
        return {"store": "Total"} if "store" in rows else {}

    def wide(self, rows: pd.DataFrame) -> pd.DataFrame:
        """A column for each date, or one for each item."""
        item, date, sales = HEADS[self.head]
        index, across = (item, date) if self.shape == "dates across" else (date, item)
        cells = rows.assign(**{sales: pd.to_numeric(rows[sales])})
        return cells.pivot_table(
            index=index, columns=across, values=sales, aggfunc="sum", min_count=1
        )

    def frame(self) -> tuple[pd.DataFrame, Truth]:
        """The table in its shape, with typed cells."""
        rows, truth = self.rows()
        return (rows if self.shape == "long" else self.wide(rows).reset_index()), truth

    def pandas(self) -> tuple[pd.DataFrame, Truth]:
        """A frame of pandas, as people have them."""
        rows, truth = self.rows()
        item, date, sales = HEADS[self.head]
        rows[sales] = pd.to_numeric(rows[sales])
        if self.form == "%Y-%m-%d" and self.shape != "objects" and "stray" not in self.mishaps:
            rows[date] = pd.to_datetime(rows[date])
        if self.shape == "index":
            rows = rows.set_index(date)
        elif self.shape == "levels":
            rows.columns = pd.MultiIndex.from_tuples([("table", each) for each in rows.columns])
        elif self.shape == "repeated":
            rows = pd.concat([rows, rows[[item, sales]]], axis=1)
        elif self.shape == "numbered":
            rows = rows[[item, date, sales]].set_axis(range(3), axis=1)
        elif self.shape == "categories":
            rows[item] = rows[item].astype("category")
        elif self.shape == "nullable":
            rows = rows.convert_dtypes()
        elif self.shape == "zone" and rows[date].dtype.kind == "M":
            rows[date] = rows[date].dt.tz_localize("Europe/Berlin")
        elif self.shape == "periods" and rows[date].dtype.kind == "M":
            rows[date] = rows[date].dt.to_period("D")
        elif self.shape in ("wide", "pivot"):
            values = sales if self.shape == "wide" else [sales]
            rows = rows.pivot_table(index=date, columns=item, values=values, aggfunc="sum")
        return rows, truth

    def write(self, folder: Path) -> tuple[Path, Truth]:
        """Write the file."""
        frame, truth = self.frame()
        _, date, _ = HEADS[self.head]
        if self.file == "csv":
            path = folder / ("sales.tsv" if "tab" in self.text else "sales.csv")
            path.write_bytes(self._as_text(frame))
            return path, truth
        if self.file == "parquet":
            frame.columns = frame.columns.map(str)
            for name in [each for each in frame if frame[each].dtype.kind == "O"]:
                kinds = frame[name].dropna().map(type).unique()
                frame[name] = frame[name].astype(str) if len(kinds) > 1 else frame[name]
            as_list = {
                name: frame[name].where(frame[name].notna(), None).tolist() for name in frame
            }
            pl.DataFrame(as_list, strict=False).write_parquet(folder / "sales.parquet")
            return folder / "sales.parquet", truth
        import xlsxwriter

        path = folder / "sales.xlsx"
        with xlsxwriter.Workbook(path, {"strings_to_formulas": False}) as book:
            sheet, day = book.add_worksheet("Sales"), book.add_format({"num_format": "yyyy-mm-dd"})
            top = 3 if "title" in self.mishaps else 0
            if top:
                sheet.write(0, 0, "Sales of all shops")
            for column, name in enumerate(frame.columns):
                put = sheet.write_datetime if isinstance(name, datetime.date) else sheet.write
                put(top, column, name, *([day] if isinstance(name, datetime.date) else ()))
                for row, value in enumerate(frame[name]):
                    if isinstance(value, datetime.date) and value.year < 1900:
                        value = str(value)
                    if isinstance(value, datetime.date) and name == date:
                        sheet.write_datetime(top + 1 + row, column, value, day)
                    elif not pd.isna(value):
                        sheet.write(top + 1 + row, column, value)
        return path, truth

    def _as_text(self, frame: pd.DataFrame) -> bytes:
        rng = np.random.default_rng([37, self.seed])
        comma, has = "comma" in self.text, self.mishaps.__contains__
        sales = HEADS[self.head][2]

        def cell(name: str, value: Any) -> str:
            if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
                return "n/a" if name == sales and self.seed % 3 == 0 else ""
            if isinstance(value, datetime.date):
                odd = has("mixed dates") and rng.random() < 0.1
                return _written(value, "%d %B %Y" if odd else self.form)
            if isinstance(value, bool | str | np.bool_):
                return str(value)
            if isinstance(value, int | np.integer):
                return f"{value:,}".replace(",", ".") if "thousands" in self.text else str(value)
            text = f"{value:.10f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.2f}"
            text = text.replace(".", ",") if comma else text
            if "currency" in self.text and name in ("price", "revenue"):
                text = f"€ {text}"
            return f"{text}%" if "percent" in self.text and name == "rabatt" else text

        heads = [each if isinstance(each, str) else cell("", each) for each in frame.columns]
        lines = [heads] + [
            [cell(str(name), value) for name, value in zip(frame.columns, row, strict=True)]
            for row in frame.itertuples(index=False)
        ]
        width = len(heads)
        if has("words") and self.shape == "long":
            lines[1 + int(rng.integers(len(frame)))][heads.index(sales)] = str(
                rng.choice(["closed", "-", "?", "sold out"])
            )
        if has("header again"):
            lines.insert(1 + len(frame) // 2, heads)
        if has("total below"):
            amounts = pd.to_numeric(frame[sales]).sum() if sales in frame else 0
            lines.append(["Total"] + [""] * (width - 2) + [cell("", float(amounts))])
        if has("empty"):
            lines = [[*line, "", ""] for line in lines] + [[""] * (width + 2)] * 3
        if has("title"):
            lines = [["Sales report"], ["made on 2024-12-01"], [""], *lines]
        separator = (
            "\t" if "tab" in self.text else ";" if comma or "semicolon" in self.text else ","
        )
        text = io.StringIO()
        end = "\r\n" if "crlf" in self.text else "\n"
        import csv

        csv.writer(text, delimiter=separator, lineterminator=end).writerows(lines)
        for name, code in (("bom", "utf-8-sig"), ("utf-16", "utf-16"), ("latin-1", "cp1252")):
            if name in self.text:
                return text.getvalue().encode(code, errors="replace")
        return text.getvalue().encode()

    def future(self, folder: Path) -> list[str]:
        """Write what is known of coming days, where it is asked for."""
        if "future" not in self.words:
            return []
        rows, _ = self.rows()
        _, date, _ = HEADS[self.head]
        last = max(day for day in rows[date] if day.year < 2100)
        step = 7 if self.period == "week" else 1
        days = [last + datetime.timedelta(step * place) for place in range(1, 15)]
        told = {name: rows[name].iloc[0] for name in ("price", "promo") if name in rows}
        path = folder / "future.csv"
        pd.DataFrame({date: [_written(day, self.form) for day in days], **told}).to_csv(
            path, index=False
        )
        return ["--future", str(path)]


def _dates(last: datetime.date, count: int, period: str) -> list[datetime.date]:
    if period == "month":
        months = [last.year * 12 + last.month - 1 - back for back in range(count)][::-1]
        return [datetime.date(each // 12, each % 12 + 1, 1) for each in months]
    if period == "week":
        last -= datetime.timedelta(last.weekday())
    return [last - datetime.timedelta(STEPS[period] * back) for back in range(count)][::-1]


def _written(day: datetime.date, form: str) -> str:
    if form == "serial":
        return str((day - datetime.date(1899, 12, 30)).days)
    if form == "seconds":
        return str((day - datetime.date(1970, 1, 1)).days * 86_400)
    return day.strftime(form)


def generate(seed: int) -> SalesCase:
    """Make the problem of a seed; the seed fixes everything."""
    rng = np.random.default_rng([35, seed])

    def one(*of: Any) -> Any:
        return of[int(rng.integers(len(of)))]

    period = one("day", "day", "day", "week", "month")
    longest = {"day": 120, "week": 104, "month": 36}[period]
    if rng.random() < 0.03 and period == "day":
        longest = 730
    n_periods = int(np.exp(rng.uniform(np.log(3 if rng.random() < 0.15 else 14), np.log(longest))))
    kind = one("counts", "counts", "counts", "counts", "fractions", "fractions", "zeros", "nothing")
    kind = "counts" if kind == "nothing" and rng.random() < 0.7 else kind
    unit = float(one(*[1.0] * 6, 1e-6, 1e-3, 100.0, 1e6, 1e9))
    file = one("csv", "csv", "csv", "csv", "excel", "parquet", "pandas", "pandas")
    shape = one("long", "long", "long", "long", "dates across", "items across")
    if file == "pandas":
        shape = one(*PANDAS)
    if shape in ("items across", "wide", "pivot") and kind in ("zeros", "nothing"):
        kind = "counts"  # a column of nothing but zeros is no item
    form = one("%Y-%m-%d", *FORMS[period])
    form = "%Y-%m-%d" if shape == "dates across" and form in ("serial", "seconds") else form
    text: list[str] = []
    for name, share in (("comma", 0.25), ("semicolon", 0.15), ("tab", 0.1), ("crlf", 0.2),
                        ("bom", 0.1), ("utf-16", 0.06), ("latin-1", 0.06), ("currency", 0.1),
                        ("percent", 0.1)):  # fmt: skip
        if file == "csv" and rng.random() < share:
            text.append(name)
    if file == "csv" and "comma" in text and kind == "fractions" and rng.random() < 0.3:
        text.append("thousands")
    count = int(rng.choice(6, p=[0.15, 0.25, 0.25, 0.2, 0.1, 0.05]))
    mishaps = tuple(str(each) for each in rng.choice(MISHAPS, count, replace=False))
    if "%y" in form:  # 1924 and 2204 are '24 and '04: no stray dates
        mishaps = tuple(each for each in mishaps if each != "stray")
    if "names" in mishaps:
        text = [each for each in text if each != "latin-1"]  # which cannot write all of them
    words = ["plan"]
    chance = rng.random()
    if chance < 0.08:
        words = ["uncensor"]
    elif chance < 0.18:
        words = ["replenish", "--lead-time", str(one(0, 1, 3))]
    else:
        if rng.random() < 0.3:
            words += ["--horizon", str(one(1, 3, 14, 28))]
        if rng.random() < 0.45:
            words += ["--model", one("seasonal", "smoothing", "linear")]
        if (
            {"price", "promo"} & {*mishaps}
            and (file, shape) == ("csv", "long")
            and rng.random() < 0.7
        ):
            words.append("future")
    return SalesCase(
        seed, int(one(1, 1, 2, 3, 5)), n_periods, period, kind, unit, file, shape,
        int(rng.integers(len(HEADS))), form if file in ("csv", "pandas") else "%Y-%m-%d",
        tuple(text), mishaps, tuple(words),
    )  # fmt: skip


# --- What becomes of it.


def _judged(case: SalesCase, orders: pl.DataFrame, truth: Truth) -> str:
    """What is wrong with orders; empty where nothing is."""
    if case.words[0] == "uncensor":
        column = "demand" if "demand" in orders.columns else "y"
        sold = orders["sales" if column == "demand" else "y_observed"].cast(float)
        demand = orders[column].cast(float)
        wrong = ~(demand.is_finite() & (demand >= sold - 1e-9 * sold.abs()))
        most = 10 * max(truth.largest.values()) + case.unit
        wrong |= demand > most
        row = int(wrong.arg_max() or 0)
        return f"demand of {demand[row]} where {sold[row]} were sold" * bool(wrong.any())
    if not orders.height:
        return "no orders"
    order = orders["order"].cast(float).to_numpy()
    if not (np.isfinite(order) & (order >= 0)).all():
        return f"an order of {order[~(np.isfinite(order) & (order >= 0))][0]}"
    periods = 1 + int(case.words[2]) if case.words[0] == "replenish" else 1
    keys = [orders[name].cast(str) for name in orders.columns[: orders.columns.index("order")]]
    named = next((key for key in keys if set(key.str.strip_chars()) & set(truth.mean)), None)
    sold = {name: mean for name, mean in truth.mean.items() if name not in truth.gone}
    most = max(truth.largest.values())
    if named is None:
        if len(sold) > 2 or (len(sold) > 1 and case.fine):
            return f"no column of items: {orders.columns}"
        limit = np.full(order.size, most)
    else:
        who = [name.strip() for name in named]
        odd = (set(who) ^ set(sold)) - ({"Total"} if not truth.often else set())
        if odd:
            return (
                f"orders of {sorted(set(who) - set(sold))}, none of {sorted(set(sold) - set(who))}"
            )
        short = [x in truth.short or x not in truth.largest for x in who]
        limit = np.where(short, most, [truth.largest.get(x, 0.0) for x in who])
    times = 3 if case.n_periods >= 28 else 6
    limit *= 2 if "repeated rows" in case.mishaps else 1
    limit = (times * limit + case.unit) * periods
    if (order > limit).any():
        worst = int(np.argmax(order - limit))
        return f"an order of {order[worst]:g}, above {limit[worst]:g}"
    shops = 2 if "stores" in case.mishaps else 1
    usual = np.mean([sold.get(x, 0.0) for x in who]) if named is not None else sum(sold.values())
    usual *= order.size / shops * periods
    if order.sum() > (times + 2) * usual + 2 * case.unit * order.size and truth.often:
        return f"orders of {order.sum():g} in all, of a mean demand of {usual:g}"
    unknown = case.n_periods < 21 and {"missing", "typo", "gaps", "words"} & {*case.mishaps}
    if unknown:  # of a weekday nothing may be known
        return ""
    if truth.often and order.sum() < 0.2 * usual - case.unit * order.size:
        return f"only {order.sum():g} in all, of a mean demand of {usual:g}"
    return ""


def _command(case: SalesCase, path: Path, folder: Path) -> list[str]:
    words = [word for word in case.words if word != "future"]
    return [
        words[0],
        str(path),
        *words[1:],
        *case.future(folder),
        "-o",
        str(folder / "orders.parquet"),
    ]


def _by_command(case: SalesCase, folder: Path) -> tuple[Verdict | None, Any, Truth]:
    path, truth = case.write(folder)
    words, told, shown = _command(case, path, folder), io.StringIO(), io.StringIO()
    if case.seed % PROCESS == 0:
        made = subprocess.run([sys.executable, "-m", "unmet", *words], capture_output=True,
                              text=True, encoding="utf-8", cwd=folder, check=False)  # fmt: skip
        code, said = made.returncode, made.stderr
    else:
        kept, main._remark = main._remark, _complain
        try:
            with redirect_stdout(shown), redirect_stderr(told):
                code = main.run(words)
        finally:
            main._remark = kept
        said = told.getvalue()
    last = said.strip().splitlines()[-1] if said.strip() else ""
    if "Warning" in said:
        return Verdict("warned", said[-300:]), None, truth
    if code == 2 and last.startswith("unmet: "):
        return Verdict("refused" if not case.fine else "picky", last), None, truth
    if code:
        return Verdict("foreign", f"{code}: {last}"), None, truth
    return None, pl.read_parquet(folder / "orders.parquet"), truth


def _complain(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    sys.stderr.write(f"{category.__name__}: {message}\n")


def _by_python(case: SalesCase) -> tuple[Verdict | None, Any, Truth]:
    from unmet.inventory import SupplyRules

    table, truth = case.pandas()
    plan = OrderPlan()
    if case.words[0] == "replenish":
        plan = OrderPlan(supply=SupplyRules(lead_time=int(case.words[2])))
    elif len(case.words) > 1:
        given = dict(zip(case.words[1::2], case.words[2::2], strict=True))
        plan = OrderPlan(int(given.get("--horizon", 7)), model=given.get("--model", "auto"))
    before = table.copy(deep=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = plan.correct(table) if case.words[0] == "uncensor" else plan.fit(table).orders()
        except UnmetError as error:
            if "\n" in str(error):
                return Verdict("foreign", str(error)), None, truth
            return Verdict("refused" if not case.fine else "picky", str(error)), None, truth
        except Exception as error:
            return Verdict("foreign", f"{type(error).__name__}: {error}"), None, truth
    if caught:
        return Verdict("warned", f"{caught[0].category.__name__}: {caught[0].message}"), None, truth
    pd.testing.assert_frame_equal(before, table)  # what was given is not changed
    numeric = [pd.api.types.is_numeric_dtype(found[name]) for name in found]
    columns = {
        str(name): found[name].to_list() if number else found[name].map(str).to_list()
        for name, number in zip(found, numeric, strict=True)
    }
    return None, pl.DataFrame(columns, strict=False), truth


def evaluate(case: SalesCase) -> Verdict:
    """Plan, and judge the orders by the demand that the table was made from."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("always")
        before = Path.cwd()
        os.chdir(folder)
        try:
            if case.file == "pandas":
                verdict, orders, truth = _by_python(case)
            else:
                verdict, orders, truth = _by_command(case, Path(folder))
        finally:
            os.chdir(before)
    if verdict is not None:
        return verdict
    wrong = _judged(case, orders, truth)
    return Verdict("absurd", wrong) if wrong else Verdict("planned")
