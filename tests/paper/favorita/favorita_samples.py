"""Small Favorita files in both layouts, made from the same sales, whose distribution is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

FAMILIES = [
    "BREAD/BAKERY",
    "DAIRY",
    "DELI",
    "EGGS",
    "MEATS",
    "POULTRY",
    "PREPARED FOODS",
    "PRODUCE",
    "SEAFOOD",
]
OTHERS = ["BOOKS", "GROCERY I"]
INTERCEPT = 400.0
# the first of each is the baseline
BY_FAMILY = [0.0, 192.0, 151.0, -57.0, 51.0, 55.0, -76.0, 130.0, -106.0]
BY_WEEKDAY = [0.0, -4.0, -25.0, -30.0, -33.0, 21.0, 38.0]
BY_MONTH = [0.0, -3.0, 2.0, 12.0, 8.0, -2.0, -13.0, -12.0, 2.0, -2.0, -3.0, 20.0]
NOISE = {1: 40.0, 2: 60.0, 4: 20.0}
# closed on two days, and store 1 for a week in May
CLOSED = [date(2016, 1, 1), date(2016, 12, 25)]
STORE_1_CLOSED = [date(2016, 5, 2) + timedelta(k) for k in range(7)]
HEADERS = {
    "item": ["id", "date", "store_nbr", "item_nbr", "unit_sales", "onpromotion"],
    "family": ["id", "date", "store_nbr", "family", "sales", "onpromotion"],
}


@dataclass
class Sample:
    """Files in a folder, and the groups that must come out of them."""

    item: Path
    items: Path
    family: Path
    groups: dict[tuple[date, int, str], float]


def days(year):
    first = date(year, 1, 1)
    return [first + timedelta(k) for k in range((date(year + 1, 1, 1) - first).days)]


def draw(generator):
    """Thousandths sold in 2016: store 2 has no seafood, store 4 opens in April without bread."""
    groups = {}
    for store, noise in NOISE.items():
        for day in days(2016):
            if day in CLOSED or (store == 1 and day in STORE_1_CLOSED):
                continue
            if store == 4 and day.month < 4:
                continue
            for place, family in enumerate(FAMILIES):
                if (store, family) in {(2, "SEAFOOD"), (4, "BREAD/BAKERY")}:
                    continue
                mean = INTERCEPT + BY_FAMILY[place]
                mean += BY_WEEKDAY[day.weekday()] + BY_MONTH[day.month - 1]
                value = mean + noise * generator.standard_normal()
                groups[day, store, family] = max(1000, round(1000 * value))
    return groups


def make(folder, seed=0):
    """Write train (both layouts) and items.csv."""
    generator = np.random.default_rng(seed)
    groups = draw(generator)
    # sold and brought back: nothing, and less than nothing
    extras = {(date(2016, 1, 1), 1, "DAIRY"): 0, (date(2016, 12, 25), 2, "DELI"): -2500}
    other_years = {(date(2015, 12, 31), 1, "DAIRY"): 5000, (date(2017, 1, 1), 3, "DAIRY"): 7000}
    not_perishable = {(date(2016, 7, 1), store, "BOOKS"): 9000 for store in (1, 3)}
    everything = groups | extras | other_years | not_perishable
    families = FAMILIES + OTHERS
    numbers = {
        family: [100 + 10 * k, 101 + 10 * k, 102 + 10 * k] for k, family in enumerate(families)
    }
    rows = []
    for (day, store, family), total in everything.items():
        first, back = int(generator.integers(1, 900_000)), int(generator.integers(1, 3000))
        for item, part in zip(numbers[family], (first, -back, total - first + back), strict=True):
            rows.append((day, store, item, part / 1000))
    order = generator.permutation(len(rows))
    item = _write(folder / "item.csv", "item", [rows[k] for k in order], "False")
    empty = [(day, 3, family, 0) for day in days(2016) for family in FAMILIES]
    at_family = [(*key, value / 1000) for key, value in everything.items()]
    at_family += [(*key[:3], 0.0) for key in empty]
    family = _write(folder / "family.csv", "family", at_family, "0")
    items = pl.DataFrame(
        [
            {"item_nbr": n, "family": name, "class": 1, "perishable": int(name in FAMILIES)}
            for name in families
            for n in numbers[name]
        ]
    )
    items.write_csv(folder / "items.csv")
    kept = {key: value / 1000 for key, value in groups.items()}
    return Sample(item, folder / "items.csv", family, kept)


def _write(path, layout, rows, promotion):
    names = HEADERS[layout]
    table = pl.DataFrame(rows, schema=names[1:5], orient="row").with_row_index("id")
    table.with_columns(pl.lit(promotion).alias("onpromotion")).write_csv(path)
    return path
