"""Your own cost, models, data and level in one experiment, and a table for your paper.

Leftovers are taxed; flowers sell out at a stock that follows yesterday; forests against a linear
model with and without a band.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from unmet import LatentBand, LinearDecision
from unmet.costs import PiecewiseLinearCost, Slopes
from unmet.evaluation import DataSet, Experiment


@dataclass(frozen=True, eq=False)
class Taxed(PiecewiseLinearCost):
    share: float
    tax: float = 0.2

    @property
    def slopes(self) -> Slopes:
        return Slopes(below=self.share, above=(1 - self.share) * (1 + self.tax))


def flowers(seed: int) -> DataSet:
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 1, size=(900, 3))
    demand = 60 + 40 * X[:, 0] - 25 * X[:, 1] + generator.normal(0, 12, 900)
    sales = np.minimum(demand, 60 + 40 * X[:, 0] - 25 * X[:, 1])
    return DataSet(X[:600], sales[:600], X[600:], demand[600:])


def main() -> None:
    methods = {
        "linear, sales as demand": lambda task: LinearDecision(task.cost),
        "linear, latent band": lambda task: LinearDecision(task.cost, LatentBand(random_state=0)),
        "forest, sales as demand": lambda task: GradientBoostingRegressor(
            loss="quantile", alpha=task.cost.level, n_estimators=50, random_state=0
        ),
    }
    results = Experiment(flowers, methods, costs=Taxed, levels=(0.9,), seeds=range(3)).run()
    print(results)
    print(results.test("linear, latent band", "linear, sales as demand", 0.9, seed=0))
    with TemporaryDirectory() as folder:
        print(results.to_latex(Path(folder, "costs.tex"), caption="Mean cost").read_text())


if __name__ == "__main__":
    main()
