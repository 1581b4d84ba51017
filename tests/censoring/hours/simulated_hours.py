"""Shops whose truth is known: gamma-Poisson demand by the hour, and shelves that it empties."""

import numpy as np

OPENS, CLOSES = 8, 20
#: What each hour asks for, in parts of the day: a morning peak and a smaller one after work.
SHAPE = np.array([6.0, 9, 7, 5, 6, 5, 3, 3, 4, 6, 5, 2])


def demand(levels, n_days, *, phi=1.5, noise=8.0, seed=0):
    """Demand of each hour, (n_series, n_days, 24), and the level of each day.

    Given its level, an hour is negative binomial with the variance phi · mean; levels vary with the
    weekday and by a gamma factor of the shape `noise`.
    """
    generator = np.random.default_rng(seed)
    levels = np.asarray(levels, dtype=float)
    weekday = np.where(np.arange(n_days) % 7 >= 5, 1.3, 0.9)
    factor = generator.gamma(noise, 1 / noise, (levels.size, n_days))
    level = levels[:, None] * weekday * factor
    mean = level[:, :, None] * (SHAPE / SHAPE.sum())
    found = np.zeros((levels.size, n_days, 24))
    if phi > 1:
        found[:, :, OPENS:CLOSES] = generator.negative_binomial(mean / (phi - 1), 1 / phi)
    else:
        found[:, :, OPENS:CLOSES] = generator.poisson(mean)
    return found


def cut_by_stock(asked, stock):
    """Sell until the stock of each day is gone: sales, and hours in which the shelf was empty."""
    before = np.cumsum(asked, axis=2) - asked
    left = np.maximum(stock[:, :, None] - before, 0.0)
    return np.minimum(asked, left), left <= 0
