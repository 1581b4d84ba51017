"""Nine products, one budget a day, and sales that hide part of the demand: who gets how much?

The paper's store, half a year of mornings. Buying all that each product should have would take
about 2,800 a day, but there are 2,400. Four planners spend them. Two take the orders of a model and
cut all of them by the same share until the money is enough; two share the money where it saves
most. Of each pair one takes sales for demand, the other lets `LatentBand` find the demand behind
them: one fit, whose quantiles `allocate` uses at any level. Demand then prices all orders.
"""

import numpy as np

from unmet import LatentBand, Newsvendor, allocate
from unmet.simulate import store10

BUDGET, BOX = 2400.0, 6
# per unit: what it costs to buy, what a lost sale loses, what is lost with a unit left over
PRICES = {
    "BREAD/BAKERY": (0.5, 2.0, 0.5),
    "DAIRY": (1.0, 1.0, 0.6),
    "DELI": (2.0, 3.0, 2.0),
    "EGGS": (1.5, 1.0, 0.3),
    "MEATS": (4.0, 5.0, 4.0),
    "POULTRY": (3.0, 4.0, 3.0),
    "PREPARED FOODS": (2.5, 6.0, 2.5),
    "PRODUCE": (1.0, 1.5, 1.0),
    "SEAFOOD": (6.0, 8.0, 6.0),
}


def cut(orders: np.ndarray, price: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Cut the orders of each day by the same share, and down to whole boxes."""
    wanted = np.bincount(day, price * orders)
    share = np.minimum(BUDGET / wanted, 1.0)
    return BOX * np.floor(orders * share[day] / BOX)


def main() -> None:
    data = store10(seed=0)
    train, test = data.train, data.test
    price, lost, left = np.array([PRICES[name] for name in test.category]).T
    cost = Newsvendor(underage=lost, overage=left)
    _, day = np.unique(test.dates, return_inverse=True)

    rule = LatentBand(random_state=0).fit(Newsvendor(3, 1), train.features, train.sales)
    plain = LatentBand(sellout_rate=0, random_state=0)  # sales are demand
    plain.fit(Newsvendor(3, 1), train.features, train.sales)
    level = lost / (lost + left)

    plans = {}
    for name, distribution in (("sales as demand", plain), ("LatentBand", rule)):
        plans[f"{name}, cut alike"] = cut(distribution.quantile(test.features, level), price, day)
        shared = allocate(
            cost, distribution, BUDGET, X=test.features, use=price, step=BOX, groups=test.dates
        )
        plans[f"{name}, allocated"] = shared.decision
    best = allocate(cost, _true_distribution(test), BUDGET, use=price, step=BOX, groups=test.dates)
    plans["demand's distribution known, allocated"] = best.decision

    print(f"{len(best.groups)} days, {BUDGET:g} a day, boxes of {BOX}\n")
    print(f"{'orders':32s} spent a day  cost a day")
    for name, orders in plans.items():
        spent = price @ orders / len(best.groups)
        paid = cost.cost(orders, test.demand).sum() / len(best.groups)
        print(f"{name:32s} {spent:11.1f} {paid:11.1f}")

    worth = np.asarray(shared.shadow_price)
    dearest = worth.argmax()
    print(f"\none more unit of money saves {worth.mean():.2f} on a day like any other,")
    print(f"and most, {worth[dearest]:.2f}, on {shared.groups[dearest]}\n")
    print(shared)


def _true_distribution(part):
    """Quantiles of demand as it was made, for comparison only."""
    from scipy.stats import norm

    return lambda level: np.maximum(norm.ppf(level, part.mean, 46.57), 0.0)


if __name__ == "__main__":
    main()
