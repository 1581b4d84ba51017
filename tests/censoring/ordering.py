"""Stores that order by a rule on their own past sales, day by day, in plain Python."""

import math

import numpy as np


def sell(demand, rule, *, period=7, needs=4, exceptions=None):
    """Sales and orders of consecutive days; `rule` maps past sales, oldest first, to an order.

    Until there are `needs` past rows on the same weekday (``period=1``: of any day) stock is ample.
    Where `exceptions` is true someone ordered more than the rule, and everything is sold.
    """
    sales, orders = [], []
    for day, wanted in enumerate(demand):
        past = sales[day % period : day : period]
        order = float(rule(past)) if len(past) >= needs else math.nan
        ample = math.isnan(order) or (exceptions is not None and exceptions[day])
        sales.append(float(wanted) if ample else min(float(wanted), order))
        orders.append(order)
    return np.array(sales), np.array(orders)


def mean_of_four(factor, lot=1.0):
    """The rule of the issue: factor × mean of the last four, rounded up."""
    return lambda past: math.ceil(round(factor * sum(past[-4:]) / 4 / lot, 9)) * lot


def retail(generator, n_days, level, *, spread=8.0):
    """Overdispersed counts with a weekly pattern and a season."""
    day = np.arange(n_days)
    week = np.array([1.0, 0.8, 0.7, 0.8, 1.1, 1.6, 1.4])[day % 7]
    mean = level * week * (1 + 0.25 * np.sin(2 * np.pi * day / 365))
    return generator.negative_binomial(spread, spread / (spread + mean)).astype(float)
