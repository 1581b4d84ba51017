"""Your own cost, in a module that can be imported."""

from dataclasses import dataclass

from unmet.costs import PiecewiseLinearCost
from unmet.costs.hinge import Slopes


@dataclass(frozen=True, eq=False)
class Taxed(PiecewiseLinearCost):
    margin: float
    tax: float

    @property
    def slopes(self):
        return Slopes(below=self.margin, above=1 + self.tax)
