"""The what-if page: orders for the coming days, and how they change with costs or rates.

`unmet.app.page`, `orders` and `controls` need streamlit. The other modules compute what they show
without it.
"""

from unmet.app.whatif import WhatIf

__all__ = ["WhatIf"]
