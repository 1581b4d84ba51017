"""The table of sales that tests of plans, reports, the page and the command line share."""

import datetime

import numpy as np
import polars as pl

FIRST = datetime.date(2024, 1, 1)


def sales_panel(
    levels, n_days, items=None, week=0.0, stock=None, seed=0, *, step=1, flags=True, left=False
):
    """Poisson sales of one item for each level, with a week, cut by stock where there is any.

    Stock is a number for each item, or two multiples of the level between which it varies. Flags
    tell which days sold out, `left` adds what is left at the end of the day.
    """
    generator = np.random.default_rng(seed)
    mean = np.asarray(levels)[:, None] * (1 + week * np.sin(2 * np.pi * np.arange(n_days) / 7))
    demand = generator.poisson(mean)
    if isinstance(stock, tuple):
        there = np.ceil(mean * generator.uniform(*stock, mean.shape))
    else:
        there = (
            np.full(mean.shape, np.inf) if stock is None else np.array(stock)[:, None] + 0 * mean
        )
    days = [FIRST + datetime.timedelta(step * day) for day in range(n_days)]
    columns = {
        "date": days * len(levels),
        "item": np.repeat(items or [f"{place:03}" for place in range(len(levels))], n_days),
        "sales": np.minimum(demand, there).astype(int).ravel(),
    }
    if stock is not None and flags:
        columns["sold_out"] = (demand >= there).ravel()
    if left:
        columns["left"] = np.maximum(there - demand, 0).astype(int).ravel()
    return pl.DataFrame(columns)
