"""How much of the lost demand can be won back, and what must be known for it?

Real demand of a bakery, three years and a third. The shop is made to order by a rule of thumb, 1.15
times the mean sales of the last four same weekdays, so that it sells out on four days in ten and
its sales hide the rest. Five planners learn from two years and a third of these sales; each knows
more than the one before. The demand of the last year prices their orders. Nobody learns from it.
"""

import numpy as np
import polars as pl

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.data import load_bakery
from unmet.evaluation import summary
from unmet.simulate import censor, history_orders

STORE, PRODUCT = 43, 101
LAST_YEAR = np.datetime64("2018-05-01")
NUMBERS = ["is_holiday", "is_holiday_next2days", "is_schoolholiday", "promotion_currentweek"]


def features(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers only: weekday and month as 0 or 1, a trend in years, and what is known of the day."""
    first = table["date"].min()
    return table.select(
        *table.select("weekday", "month").to_dummies(drop_first=True),
        *NUMBERS,
        "temperature",
        years=(pl.col("date") - first).dt.total_days() / 365.25,
    )


def main() -> None:
    table = load_bakery([STORE], [PRODUCT]).filter(pl.col("demand") > 0)  # closed on the others
    demand, date = table["demand"].to_numpy(), table["date"].to_numpy()
    order = history_orders(demand, date, factor=1.15, on="sales")
    sales, sold_out = censor(demand, order)
    past = date < LAST_YEAR
    X, X_next = features(table).filter(past), features(table).filter(~past)

    cost = Newsvendor(underage=4, overage=1)  # bread costs 1 to bake and sells for 5
    rule = LatentBand(random_state=0)
    # name: what to learn from, the band, and what else is known
    planners = {
        "sales as demand": (sales, None, {}),
        "nothing known": (sales, rule, {}),
        "sells out 30 to 50%": (sales, LatentBand((0.3, 0.5), random_state=0), {}),
        "dates": (sales, rule, {"time": date[past]}),
        "flags": (sales, rule, {"censored": sold_out[past]}),
        "demand itself": (demand, None, {}),
    }
    models = {
        name: LinearDecision(cost, band=band).fit(X, seen[past], **known)
        for name, (seen, band, known) in planners.items()
    }

    print(f"{past.sum()} days to learn from, {sold_out[past].mean():.0%} of them sold out\n")
    for name in ("nothing known", "sells out 30 to 50%", "flags"):
        says = models[name].diagnosis_
        low, high = says.decision_range
        print(f"{name}: identified: {says.identified}, mean order {low:.0f} to {high:.0f}")
    print(f"\ndates:\n{models['dates'].diagnosis_}\n")
    flagged = models["dates"].band_rule_.order_rule_.censored_ == 1
    right = sold_out[past][flagged].mean()
    print(f"of the days that the dates give away as sold out, {right:.0%} were\n")

    decisions = {name: model.decide(X_next) for name, model in models.items()}
    print(
        summary(
            cost,
            decisions,
            demand[~past],
            optimum=decisions["demand itself"],
            baseline="sales as demand",
        )
    )


if __name__ == "__main__":
    main()
