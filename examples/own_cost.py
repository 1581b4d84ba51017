"""A cost of your own, with costs per row, checked against a second solver.

A kitchen pays a fee for every kilogram of food that it throws away, on top of the purchase price;
prices differ by product. The cost is linear on both sides of the demand, so it only has to say its
two slopes, and the exact solver trains it.
"""

from dataclasses import dataclass

import numpy as np

from unmet import Band, LinearDecision
from unmet.costs import PiecewiseLinearCost, Slopes
from unmet.simulate import store10


@dataclass(frozen=True, eq=False)
class Kitchen(PiecewiseLinearCost):
    """Margin lost below the demand; purchase price and waste fee above it."""

    margin: float | np.ndarray
    purchase: float | np.ndarray
    waste_fee: float = 0.5

    @property
    def slopes(self) -> Slopes:
        return Slopes(below=self.margin, above=self.purchase + self.waste_fee)


def main() -> None:
    train = store10(seed=0).train
    fresh = np.isin(train.category, ["SEAFOOD", "PREPARED FOODS"])
    cost = Kitchen(margin=np.where(fresh, 8.0, 3.0), purchase=np.where(fresh, 4.0, 1.0))
    band = Band(low=20, high=50)

    exact = LinearDecision(cost, band=band).fit(train.features, train.sales)
    highs = LinearDecision(cost, band=band, solver="highs").fit(train.features, train.sales)
    for name, model in (("exact", exact), ("HiGHS", highs)):
        solution = model.solution_
        print(f"{name}: mean cost {solution.objective:.6f}, proven to {solution.gap:.0e}")

    difference = abs(exact.solution_.objective / highs.solution_.objective - 1)
    print(f"relative difference {difference:.0e}")
    share = np.mean(exact.predict(train.features) >= train.sales)
    print(f"orders at or above sales in {share:.0%} of the rows")


if __name__ == "__main__":
    main()
