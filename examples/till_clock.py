"""A small bakery without flags: what the clock of its till tells of empty shelves, and is worth.

Four kinds of rolls, twelve weeks of hourly sales. The baker bakes the mean of a day and a tenth
more, so that busy days sell out in the afternoon; nobody writes that down. The sales of each hour
tell: silence after the last sale says which days sold out, and what the hours before had sold says
how much more was asked for. Orders for the thirteenth week are planned four times: with sales taken
for demand, with what the clock says, with hourly flags that somebody kept, and with demand itself.
"""

import datetime

import numpy as np
import polars as pl

from unmet import Newsvendor, OrderPlan
from unmet.censoring.hours import HourlySales, detect_stockouts, recover

FIRST = datetime.date(2024, 3, 4)  # a Monday
ITEMS = ("bun", "pretzel", "roll", "croissant")
LEVELS = np.array([30.0, 45.0, 80.0, 60.0])
SHAPE = np.array([9.0, 12, 8, 6, 6, 7, 5, 4, 4, 6, 7, 4])  # from 7 to 19 o'clock
N_DAYS, WEEK, N_WEEKS = 84, 7, 40


def asked_for(n_days, generator):
    """Demand by the hour, (n_items, n_days, 24): busier on weekends, and by chance."""
    weekday = np.where(np.arange(n_days) % 7 >= 5, 1.3, 0.95)
    level = LEVELS[:, None] * weekday * generator.gamma(12, 1 / 12, (LEVELS.size, n_days))
    demand = np.zeros((LEVELS.size, n_days, 24))
    demand[:, :, 7:19] = generator.poisson(level[:, :, None] * SHAPE / SHAPE.sum())
    return demand


def sell(demand):
    """Sell what was baked: sales by the hour, and hours in which the shelf was empty."""
    baked = np.round(1.1 * LEVELS)[:, None, None]
    left = np.maximum(baked - (np.cumsum(demand, axis=2) - demand), 0)
    return np.minimum(demand, left), left == 0


def daily(sales):
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(day) for day in range(sales.shape[1])] * len(ITEMS),
            "item": np.repeat(ITEMS, sales.shape[1]),
            "sales": sales.sum(axis=2).ravel(),
        }
    )


def main():
    generator = np.random.default_rng(0)
    demand = asked_for(N_DAYS, generator)
    sales, empty = sell(demand)
    hours = HourlySales.from_arrays(
        sales, FIRST, stock_out=empty, keys=pl.DataFrame({"item": ITEMS})
    )

    clock = detect_stockouts(hours)  # does not look at the flags
    print(clock.describe())
    sold_out = empty[:, :, 18]
    called = clock.probability > 0.5
    print(f"{sold_out.mean():.0%} of the days had an empty shelf at closing time.")
    print(
        f"Called sold out: {called.mean():.0%}; of these, {sold_out[called].mean():.0%} were, "
        f"and {called[sold_out].mean():.0%} of all that were are among them."
    )

    known = recover(hours, busier=True)  # does look at them
    total = demand.sum()
    print()
    print("Units asked for in twelve weeks")
    for name, found in (("sold", sales), ("clock", clock.demand), ("flags of hours", known.demand)):
        print(f"  {name:15} {found.sum():7,.0f}  {found.sum() / total - 1:+.1%}")
    print(f"  {'demand':15} {total:7,.0f}")

    # a week is little to evaluate by: the same days to come, forty times over
    weeks = [asked_for(WEEK, generator).sum(axis=2).ravel() for _ in range(N_WEEKS)]
    print()
    print("Cost of a day and item in the week to come (4 a unit too few, 1 a unit too many)")
    for name, table, told in (
        ("sales as demand", sales, None),
        ("clock", sales, clock),
        ("flags of hours", sales, known),
        ("demand itself", demand, None),
    ):
        # a rate of 0 takes sales for demand; without it a plan asks the sales themselves
        rate = 0.0 if told is None else None
        plan = OrderPlan(horizon=WEEK, cost=Newsvendor(4, 1), sellout_rate=rate, model="linear")
        plan.fit(daily(table), hours=told)
        items = pl.DataFrame({"item": ITEMS, "place": range(len(ITEMS))})
        sheet = plan.orders().join(items, on="item").sort("place", "date")
        order = sheet["order"].to_numpy()
        cost = np.mean([plan.cost_.cost(order, week).mean() for week in weeks])
        print(f"  {name:15} {cost:6.2f}")


if __name__ == "__main__":
    main()
