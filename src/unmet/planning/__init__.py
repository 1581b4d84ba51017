"""From a table to decisions: columns, costs and a model in the words of a planner.

The command line and the what-if page do nothing else than to call this room and to show what it
returns.
"""

from unmet.planning.choosing import ModelChoice
from unmet.planning.comparing import METHODS, compare, evaluate, method_words
from unmet.planning.deciders import BANDS, MODELS, PROBLEMS
from unmet.planning.decision_log import DecisionLog, Overrides
from unmet.planning.dialect import Dialect
from unmet.planning.encoding import TableEncoder
from unmet.planning.example import EXAMPLE, Example, example
from unmet.planning.panel_plan import PanelChoice, PanelPlan
from unmet.planning.panel_telling import PanelContent, panel_content
from unmet.planning.plain import describe_plainly
from unmet.planning.plan import Decisions, Plan
from unmet.planning.reading import PARTS, SUFFIXES, TableFile, read_file, read_table
from unmet.planning.restock_telling import RestockContent, restock_content
from unmet.planning.restocking import RestockPlan
from unmet.planning.roles import Roles, guess_roles
from unmet.planning.telling import (
    Comparison,
    Fold,
    MethodCost,
    ReportContent,
    Stake,
    answer,
    decision_table,
    report_content,
    stake,
    versions,
)
from unmet.planning.watching import Check, Watch, watch

__all__ = [
    "BANDS",
    "EXAMPLE",
    "METHODS",
    "MODELS",
    "PARTS",
    "PROBLEMS",
    "SUFFIXES",
    "Check",
    "Comparison",
    "DecisionLog",
    "Decisions",
    "Dialect",
    "Example",
    "Fold",
    "MethodCost",
    "ModelChoice",
    "Overrides",
    "PanelChoice",
    "PanelContent",
    "PanelPlan",
    "Plan",
    "ReportContent",
    "RestockContent",
    "RestockPlan",
    "Roles",
    "Stake",
    "TableEncoder",
    "TableFile",
    "Watch",
    "answer",
    "compare",
    "decision_table",
    "describe_plainly",
    "evaluate",
    "example",
    "guess_roles",
    "method_words",
    "panel_content",
    "read_file",
    "read_table",
    "report_content",
    "restock_content",
    "stake",
    "versions",
    "watch",
]
