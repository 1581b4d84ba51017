"""Estimate stock-outs and demand from sales by the hour."""

from unmet.censoring.hours.demand import detect_stockouts, recover
from unmet.tables.hours import HourlySales, read_hourly, read_receipts

__all__ = [
    "HourlySales",
    "detect_stockouts",
    "read_hourly",
    "read_receipts",
    "recover",
]
