"""Replenishment: orders given what is on the shelf and on its way, and a lead time.

- `SupplyRules`: lead time, review period, what becomes of unmet demand and of leftovers
- `StockState`: what is there, and on its way
- `replenish`: sample paths of demand → orders, and the stock that they lead to
- `order_up_to`: reorder points and order-up-to levels, for systems that ask for them
- `DemandDistribution`: sample paths from expected demand, its spread and its dependence over
periods
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
