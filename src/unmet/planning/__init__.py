"""From a table to decisions: infer columns, estimate what sales hide, choose a model, decide.

The command line and the what-if page call this package and show its results.
"""

from typing import TYPE_CHECKING

from unmet.lazily import names_of

# eager: a lazy name would give way to the module of the same name once that is imported
from unmet.planning.example import example as example
from unmet.planning.uncensor import uncensor as uncensor

if TYPE_CHECKING:
    from unmet.planning.backtest import compare as compare
    from unmet.planning.backtest import evaluate as evaluate
    from unmet.planning.decision_log import DecisionLog as DecisionLog
    from unmet.planning.decision_plan import DecisionPlan as DecisionPlan
    from unmet.planning.decision_report import decision_table as decision_table
    from unmet.planning.monitoring import monitor as monitor
    from unmet.planning.order_plan import OrderPlan as OrderPlan
    from unmet.tables.reading import read_table as read_table
    from unmet.tables.schema import Schema as Schema
    from unmet.tables.schema import infer_schema as infer_schema


__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "unmet.planning.backtest": "compare evaluate",
        "unmet.planning.decision_log": "DecisionLog",
        "unmet.planning.decision_plan": "DecisionPlan",
        "unmet.planning.decision_report": "decision_table",
        "unmet.planning.example": "example",
        "unmet.planning.monitoring": "monitor",
        "unmet.planning.uncensor": "uncensor",
        "unmet.planning.order_plan": "OrderPlan",
        "unmet.tables.reading": "read_table",
        "unmet.tables.schema": "Schema infer_schema",
    },
)
