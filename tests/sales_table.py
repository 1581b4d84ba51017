"""A small table of sales that hide demand, for the tests of plans."""

import datetime

import numpy as np
import polars as pl

from unmet import Newsvendor, OrderPlan
from unmet.inventory import SupplyRules
from unmet.inventory.rules import NUMBERS
from unmet.planning import Schema

COLUMNS = ("date", "series", "sales", "sold_out", "stock", "price", "known_future", "on_hand")


def refilling(**words):
    """A plan with supply rules, its schema and its cost as flat parameters."""
    rules = {name: words.pop(name) for name in (*NUMBERS, "unmet", "budget") if name in words}
    schema = {name: words.pop(name) for name in (*COLUMNS, "gaps") if name in words}
    if "service_level" in words:
        words["cost"] = Newsvendor.at_level(words.pop("service_level"))
    return OrderPlan(supply=SupplyRules(**rules), schema=Schema(**schema), **words)


def sales_table(n_days=100, seed=0):
    """Three stores a day; sales are the smaller of demand and stock."""
    generator = np.random.default_rng(seed)
    n_rows = 3 * n_days
    day = np.repeat(np.arange(n_days), 3)
    price = generator.normal(10.0, 2.0, n_rows).round(2)
    kind = generator.choice(["cold", "hot", "mild"], n_rows)
    level = 60 + 4 * price + 15 * (kind == "hot")
    demand = np.maximum(0, np.round(level + generator.normal(0, 12, n_rows)))
    stock = np.round(105 + generator.normal(0, 8, n_rows))
    return pl.DataFrame(
        {
            "date": [datetime.date(2024, 1, 1) + datetime.timedelta(int(d)) for d in day],
            "store": ["north", "south", "west"] * n_days,
            "kind": kind,
            "price": price,
            "sales": np.minimum(demand, stock),
            "out": demand > stock,
            "stock": stock,
            "margin": generator.uniform(2.0, 4.0, n_rows).round(2),
            "weight": generator.uniform(0.5, 2.0, n_rows).round(2),
            "demand": demand,
        }
    )
