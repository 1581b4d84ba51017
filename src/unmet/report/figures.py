"""Interactive figures of a plan, for the report and for the page."""

from unmet.report.figure_comparison import comparison_figure
from unmet.report.figure_decisions import decisions_figure
from unmet.report.figure_diagnosis import diagnosis_figure
from unmet.report.figure_sensitivity import cost_figure, sensitivity_figure

__all__ = [
    "comparison_figure",
    "cost_figure",
    "decisions_figure",
    "diagnosis_figure",
    "sensitivity_figure",
]
