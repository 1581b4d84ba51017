"""How much of the gap a rule closes on the paper's data, for the tests of the rules."""

from functools import cache

import numpy as np

from unmet import LinearDecision, Newsvendor
from unmet.evaluation import gap_closed, realised_cost
from unmet.simulate import store10


@cache
def store(seed=0, noise=0.0):
    """The printed store, or one whose orders vary around the mean."""
    data = store10(seed=seed, clip=False)
    train = data.train
    order = train.mean + noise * np.random.default_rng(seed + 100).standard_normal(len(train))
    return data, np.minimum(train.demand, order), train.demand > order


def gap(rule, level, *, noise=0.0, flags=True, seed=0):
    """Share of the gap between ignoring censoring and the true quantile, on the test half-year."""
    data, sales, censored = store(seed, noise)
    train, test, cost = data.train, data.test, Newsvendor.at_level(level)
    ignoring = LinearDecision(cost).fit(train.features, sales)
    known = {"censored": censored} if flags else {}
    model = LinearDecision(cost, band=rule).fit(train.features, sales, **known)

    def price(decision):
        return realised_cost(cost, decision, test.demand)

    floor = price(test.optimum(level))
    return gap_closed(
        price(model.predict(test.features)), price(ignoring.predict(test.features)), floor
    )
