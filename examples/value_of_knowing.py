"""What is a band worth when nothing, a little, or a lot is known about lost demand?

On the paper's simulated store, at three levels. The true demand is used only to price the orders,
and in the second half by a planner who audited one hundred rows.
"""

import numpy as np

from unmet import Band, LinearDecision, Newsvendor
from unmet.evaluation import realised_cost, summary
from unmet.simulate.store10 import PUBLISHED_BANDS, store10

AUDITED_ROWS = 100
SHIFTS = range(0, 101, 10)


def audited(cost: Newsvendor, part, rows) -> LinearDecision:
    """Choose the shift of all sales that is cheapest on rows whose demand was counted."""
    bands = [Band(low=shift, high=shift) for shift in SHIFTS]
    models = LinearDecision(cost).fit_path(part.features, part.sales, bands=bands)

    def price(model: LinearDecision) -> float:
        return realised_cost(cost, model.decide(part.features[rows]), part.demand[rows])

    return min(models, key=price)


def main() -> None:
    data = store10(seed=0)
    train, test = data.train, data.test
    rows = np.random.default_rng(1).choice(len(train), size=AUDITED_ROWS, replace=False)
    for level in (0.65, 0.75, 0.95):
        cost = Newsvendor.at_level(level)
        published = Band.scaled(*PUBLISHED_BANDS["linear"][level], observation=train.sales)
        models = {
            "sales as demand": LinearDecision(cost).fit(train.features, train.sales),
            "published band": LinearDecision(cost, published).fit(train.features, train.sales),
            "band from an audit": audited(cost, train, rows),
            "trained on demand": LinearDecision(cost).fit(train.features, train.demand),
        }
        decisions = {name: model.decide(test.features) for name, model in models.items()}
        print(f"α = {level}: audit chose {models['band from an audit'].band}")
        print(
            summary(
                cost,
                decisions,
                test.demand,
                optimum=test.optimum(level),
                baseline="sales as demand",
            )
        )
        print()


if __name__ == "__main__":
    main()
