"""A table of sales in, orders for next week out.

A small bakery knows the weekday, the weather and its sales. On days when the bread ran out, the
staff kept a tally of those who still asked for it. Some leave without asking, so the demand missed
was at least the tally and perhaps twice as much: that is a band, row by row.
"""

import numpy as np
import polars as pl

from unmet import Band, LinearDecision, Newsvendor

WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]


def history(n_days: int = 600) -> pl.DataFrame:
    """Two years of sales, made up: 80 loaves a day, 110 on Saturdays, and people who want more."""
    generator = np.random.default_rng(7)
    weekday = np.arange(n_days) % len(WEEKDAYS)
    rain = generator.uniform(size=n_days) < 0.3
    mean = 75 + 30 * (weekday == 5) - 12 * rain
    demand = generator.normal(mean, 12).round().astype(int)
    baked = np.where(weekday == 5, 110, 80)
    missed = np.maximum(demand - baked, 0)
    return pl.DataFrame(
        {
            "weekday": [WEEKDAYS[day] for day in weekday],
            "rain": rain.astype(int),
            "sold": demand - missed,
            "tally": generator.binomial(missed, 0.7),
        }
    )


def features(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers only: one column per weekday, and the rain."""
    days = [(pl.col("weekday") == day).cast(pl.Int8).alias(day) for day in WEEKDAYS]
    return table.select(*days, "rain")


def main() -> None:
    past = history()
    week = pl.DataFrame({"weekday": WEEKDAYS, "rain": [0, 0, 1, 0, 0, 0]})
    # A loaf costs 1 to bake and sells for 4: a missing one costs 3, one left over costs 1.
    cost = Newsvendor(underage=3, overage=1)
    tally = past["tally"].to_numpy()
    plain = LinearDecision(cost).fit(features(past), past["sold"])
    informed = LinearDecision(cost, band=Band(low=tally, high=2 * tally))
    informed.fit(features(past), past["sold"])

    print("day         sales as demand   with the tally")
    orders = zip(plain.decide(features(week)), informed.decide(features(week)), strict=True)
    for row, (without, with_tally) in zip(week.iter_rows(named=True), orders, strict=True):
        day = f"{row['weekday']} ({'rain' if row['rain'] else 'dry'})"
        print(f"{day:<10} {without:>16.0f} {with_tally:>16.0f}")


if __name__ == "__main__":
    main()
