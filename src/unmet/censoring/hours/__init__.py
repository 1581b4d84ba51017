"""Hours of sales: what they tell of empty shelves."""

from unmet.censoring.hours.demand import HourlyDemand, detect_stockouts, recover
from unmet.tables.hours import HourlySales, read_hourly, read_receipts

__all__ = [
    "HourlyDemand",
    "HourlySales",
    "detect_stockouts",
    "read_hourly",
    "read_receipts",
    "recover",
]
