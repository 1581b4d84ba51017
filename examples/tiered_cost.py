"""A cost with tiers: three slopes above the demand and two below, trained exactly.

A shop has room for ten units too many on the shelf, for twenty more in the cellar, and pays a
courier beyond that. Customers who find an empty shelf are annoyed; if many do, some never come
back. So a unit too many costs 1, from the eleventh on 2, from the thirty-first on 5, and a unit too
few costs 4, from the twenty-first on 9. Orders of a newsvendor with the first two prices are the
comparison.
"""

import numpy as np

from unmet import LinearDecision, Newsvendor
from unmet.censoring import AuditedBand
from unmet.costs import TieredCost, check_cost
from unmet.simulate import store10


def main() -> None:
    cost = TieredCost(
        underage=(4, 9), overage=(1, 2, 5), underage_breaks=20, overage_breaks=(10, 30)
    )
    problems = check_cost(cost)
    print("\n".join(problems) or f"{cost} keeps the contract of a cost.")

    shop = store10(seed=0)
    train, test = shop.train, shop.test
    exact = LinearDecision(cost).fit(train.features, train.sales)
    highs = LinearDecision(cost, solver="highs").fit(train.features, train.sales)
    difference = abs(exact.solution_.objective / highs.solution_.objective - 1)
    print(f"\nmean cost in training {exact.solution_.objective:.4f}, ", end="")
    print(f"relative difference to HiGHS {difference:.0e}\n")

    # 300 days on which somebody counted what customers asked for
    counted = np.random.default_rng(0).permutation(len(train.sales))[:300]
    audit = AuditedBand(train.features[counted], train.sales[counted], train.demand[counted])
    print("mean cost of a day, once the demand is known    sales as demand    with an audit")
    for name, trained_on in (("newsvendor's orders", Newsvendor(4, 1)), ("tiers", cost)):
        paid = []
        for band in (None, audit):
            model = LinearDecision(trained_on, band=band).fit(train.features, train.sales)
            paid.append(cost.cost(model.predict(test.features), test.demand).mean())
        print(f"{name:44} {paid[0]:18.2f} {paid[1]:16.2f}")


if __name__ == "__main__":
    main()
