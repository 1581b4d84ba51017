"""What decisions are worth once the truth is known."""

from unmet.evaluation.calibration import calibration
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
