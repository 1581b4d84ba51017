"""The what-if page: orders for the coming days, and what changes if costs or rates do.

`unmet.app.page`, `orders`, `controls` and `showing` need streamlit; what they show is computed
without.
"""

from unmet.app.guessing import MOST_BYTES, guess_plan, read_upload
from unmet.app.planning import ItemHistory, PanelWhatIf, Wanted, plan_command
from unmet.app.whatif import Assumed, Outcome, WhatIf
from unmet.planning.telling import command_of

__all__ = [
    "MOST_BYTES",
    "Assumed",
    "ItemHistory",
    "Outcome",
    "PanelWhatIf",
    "Wanted",
    "WhatIf",
    "command_of",
    "guess_plan",
    "plan_command",
    "read_upload",
]
