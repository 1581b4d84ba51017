"""What decisions are worth once the truth is known."""

from typing import TYPE_CHECKING

# eager: a lazy name would give way to the module of the same name once that is imported
from unmet.evaluation.calibration import calibration
from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.evaluation.censored import censored_cost
    from unmet.evaluation.comparison import summary
    from unmet.evaluation.experiment import DataSet, Experiment
    from unmet.evaluation.measures import (
        cost_saving,
        fill_rate,
        gap_closed,
        lost_sales,
        make_cost_scorer,
        realised_cost,
        rmse_to_optimum,
        service_level,
    )
    from unmet.evaluation.revenue import (
        best_price,
        expected_revenue,
        realised_revenue,
    )
    from unmet.evaluation.splits import RollingOrigin

__all__ = [
    "DataSet",
    "Experiment",
    "RollingOrigin",
    "best_price",
    "calibration",
    "censored_cost",
    "cost_saving",
    "expected_revenue",
    "fill_rate",
    "gap_closed",
    "lost_sales",
    "make_cost_scorer",
    "realised_cost",
    "realised_revenue",
    "rmse_to_optimum",
    "service_level",
    "summary",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.evaluation.censored": "censored_cost",
        "unmet.evaluation.comparison": "summary",
        "unmet.evaluation.experiment": "DataSet Experiment",
        "unmet.evaluation.measures": "cost_saving fill_rate gap_closed lost_sales make_cost_scorer "
        "realised_cost rmse_to_optimum service_level",
        "unmet.evaluation.revenue": "best_price expected_revenue realised_revenue",
        "unmet.evaluation.splits": "RollingOrigin",
    },
)
