"""A budget or a capacity that many products share."""

from unmet.allocation.allocating import allocate
from unmet.allocation.result import Allocation

__all__ = ["Allocation", "allocate"]
