"""A budget or a capacity that many products share."""

from unmet.allocation.allocate import Allocation, allocate

__all__ = ["Allocation", "allocate"]
