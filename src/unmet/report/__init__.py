"""Report of a plan as one HTML file: the decisions, the reasons, and what data cannot tell."""

from unmet.report.data import report_data
from unmet.report.page import render, write_report

__all__ = ["render", "report_data", "write_report"]
