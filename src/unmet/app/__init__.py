"""The what-if page: orders for the coming days, and what changes if costs or rates do.

`unmet.app.page`, `orders`, `controls` and `showing` need streamlit; what they show is computed
without.
"""

from unmet.app.planning import ItemHistory, OrderWhatIf, Wanted, plan_command
from unmet.app.upload import MAX_BYTES, guess_plan, read_upload
from unmet.app.whatif import Assumed, Outcome, WhatIf
from unmet.planning.decision_report import command_of

__all__ = [
    "MAX_BYTES",
    "Assumed",
    "ItemHistory",
    "OrderWhatIf",
    "Outcome",
    "Wanted",
    "WhatIf",
    "command_of",
    "guess_plan",
    "plan_command",
    "read_upload",
]
