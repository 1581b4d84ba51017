"""The what-if page: move costs and rates, and see what changes.

Only `unmet.app.page` and `unmet.app.controls` need streamlit; what they show is computed without.
"""

from unmet.app.guessing import MOST_BYTES, guess_plan, read_upload
from unmet.app.whatif import Assumed, Outcome, WhatIf, command_of

__all__ = [
    "MOST_BYTES",
    "Assumed",
    "Outcome",
    "WhatIf",
    "command_of",
    "guess_plan",
    "read_upload",
]
