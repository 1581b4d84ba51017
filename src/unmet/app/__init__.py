"""The what-if page: orders for the coming days, and what changes if costs or rates do.

`unmet.app.page`, `orders` and `controls` need streamlit; what they show is computed without.
"""

from unmet.app.whatif import WhatIf

__all__ = ["WhatIf"]
