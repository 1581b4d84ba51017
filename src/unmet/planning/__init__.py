"""From a table to decisions: columns, costs and a model in the words of a planner.

The command line and the what-if page do nothing else than to call this package and to show what it
returns.
"""

from unmet.planning.backtest import METHODS, compare, evaluate, method_labels
from unmet.planning.decision_log import DecisionLog, Overrides
from unmet.planning.decision_plan import DecisionPlan, Decisions
from unmet.planning.decision_report import (
    Comparison,
    Fold,
    MethodCost,
    ReportData,
    Stake,
    answer,
    decision_table,
    report_data,
    stake,
    versions,
)
from unmet.planning.dialect import Dialect
from unmet.planning.encoding import TableEncoder
from unmet.planning.example import EXAMPLE, Example, example
from unmet.planning.model_selection import ModelChoice
from unmet.planning.monitoring import Check, Monitoring, monitor
from unmet.planning.order_plan import ChosenModel, OrderPlan
from unmet.planning.order_report import OrderReportData, order_report_data
from unmet.planning.problem_estimators import BANDS, MODELS, PROBLEMS
from unmet.planning.reading import PARTS, SUFFIXES, TableFile, read_file, read_table
from unmet.planning.replenishment_plan import ReplenishmentPlan
from unmet.planning.replenishment_report import ReplenishmentReportData, replenishment_report_data
from unmet.planning.schema import Schema, infer_schema
from unmet.planning.summary import summarise

__all__ = [
    "BANDS",
    "EXAMPLE",
    "METHODS",
    "MODELS",
    "PARTS",
    "PROBLEMS",
    "SUFFIXES",
    "Check",
    "ChosenModel",
    "Comparison",
    "DecisionLog",
    "DecisionPlan",
    "Decisions",
    "Dialect",
    "Example",
    "Fold",
    "MethodCost",
    "ModelChoice",
    "Monitoring",
    "OrderPlan",
    "OrderReportData",
    "Overrides",
    "ReplenishmentPlan",
    "ReplenishmentReportData",
    "ReportData",
    "Schema",
    "Stake",
    "TableEncoder",
    "TableFile",
    "answer",
    "compare",
    "decision_table",
    "evaluate",
    "example",
    "infer_schema",
    "method_labels",
    "monitor",
    "order_report_data",
    "read_file",
    "read_table",
    "replenishment_report_data",
    "report_data",
    "stake",
    "summarise",
    "versions",
]
