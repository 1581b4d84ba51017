"""When to replace a part: what suspensions hide, and what ignoring them costs.

Records of 400 parts show when each was taken out: after a failure, or by plan. A planned
replacement hides when the part would have failed. The script chooses ages from the records alone,
once as if all were failures and once with the flags, for one age for all parts and for an age by
features, and prices them under the distribution that made the data.
"""

import numpy as np

from unmet import LatentBand, LinearDecision
from unmet.costs import AgeReplacement
from unmet.lifetimes import expected_cost, fit_rate, latent_ages, replacement_age
from unmet.simulate import replacement


def main() -> None:
    data = replacement(n=400, share=0.5, seed=0)
    train, test = data.train, data.test
    cost = AgeReplacement(planned=1, failure=8)
    print(f"{len(train)} parts, {train.share_censored:.0%} replaced in time")

    def rate(ages: np.ndarray) -> float:
        """Cost per 1,000 hours of the test parts, expected under their true distributions."""
        paid = expected_cost(cost.at_rate(0.0), test.distribution, ages)
        return 1000 * float(paid.sum() / test.distribution.interval_mean(ages).sum())

    def show(name: str, ages: np.ndarray) -> None:
        print(f"{name:36} mean age {ages.mean():4.0f}, cost rate {rate(ages):.2f}")

    ignoring = replacement_age(cost, train.times, method="weibull").age
    knowing = replacement_age(cost, train.times, censored=train.censored, method="weibull").age
    show("one age, suspensions as failures", np.full(len(test), ignoring))
    show("one age, suspensions known", np.full(len(test), knowing))

    linear = LinearDecision(cost, solver="smoothed")
    lines = fit_rate(linear, train.features, train.times)
    show("by features, suspensions as failures", np.maximum(lines.predict(test.features), 0.0))
    rule = LatentBand(families=["weibull", "lognormal"], random_state=0)
    rule.fit(cost, train.features, train.times, censored=train.censored)
    show("by features, suspensions known", latent_ages(rule, test.features, together=True))
    show("best under the true distribution", test.optimum(cost, together=True))


if __name__ == "__main__":
    main()
