"""Evaluate decisions once the truth is known: costs, service levels, experiments."""

from typing import TYPE_CHECKING

# eager: a lazy name would give way to the module of the same name once that is imported
from unmet.evaluation.calibration import calibration as calibration
from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.evaluation.censored import censored_cost as censored_cost
    from unmet.evaluation.comparison import summary as summary
    from unmet.evaluation.experiment import DataSet as DataSet
    from unmet.evaluation.experiment import Experiment as Experiment
    from unmet.evaluation.measures import cost_saving as cost_saving
    from unmet.evaluation.measures import fill_rate as fill_rate
    from unmet.evaluation.measures import gap_closed as gap_closed
    from unmet.evaluation.measures import lost_sales as lost_sales
    from unmet.evaluation.measures import make_cost_scorer as make_cost_scorer
    from unmet.evaluation.measures import realised_cost as realised_cost
    from unmet.evaluation.measures import rmse_to_optimum as rmse_to_optimum
    from unmet.evaluation.measures import service_level as service_level
    from unmet.evaluation.revenue import best_price as best_price
    from unmet.evaluation.revenue import expected_revenue as expected_revenue
    from unmet.evaluation.revenue import realised_revenue as realised_revenue
    from unmet.evaluation.splits import RollingOrigin as RollingOrigin


__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "unmet.evaluation.calibration": "calibration",
        "unmet.evaluation.censored": "censored_cost",
        "unmet.evaluation.comparison": "summary",
        "unmet.evaluation.experiment": "DataSet Experiment",
        "unmet.evaluation.measures": "cost_saving fill_rate gap_closed lost_sales make_cost_scorer "
        "realised_cost rmse_to_optimum service_level",
        "unmet.evaluation.revenue": "best_price expected_revenue realised_revenue",
        "unmet.evaluation.splits": "RollingOrigin",
    },
)
