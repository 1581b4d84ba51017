"""The protocol of the paper, its published numbers, and ours beside them."""

from unmet.paper.claims.every import all_claims
from unmet.paper.methods import METHODS, Method
from unmet.paper.outputs import write_everything
from unmet.paper.results import FitRow, Results, SearchRow
from unmet.paper.run import Standing, reproduce
from unmet.paper.settings import Settings

__all__ = [
    "METHODS",
    "FitRow",
    "Method",
    "Results",
    "SearchRow",
    "Settings",
    "Standing",
    "all_claims",
    "reproduce",
    "write_everything",
]
