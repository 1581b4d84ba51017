"""Replenishment: orders given the stock on hand, the orders on their way, and a lead time.

- `SupplyRules`: lead time, review period, and what happens to unmet demand and to leftovers
- `StockState`: stock on hand and on its way
- `replenish`: orders from sample paths of demand, and the stock that they lead to
- `order_up_to`: reorder points and order-up-to levels, for systems that need them
- `DemandDistribution`: sample paths from expected demand, its spread and its correlation in time
- `allocate`: a budget or a capacity that many products share
"""

from unmet.inventory.allocate import allocate
from unmet.inventory.levels import order_up_to
from unmet.inventory.orders import project, replenish
from unmet.inventory.paths import DemandDistribution
from unmet.inventory.rules import StockState, SupplyRules

__all__ = [
    "DemandDistribution",
    "StockState",
    "SupplyRules",
    "allocate",
    "order_up_to",
    "project",
    "replenish",
]
