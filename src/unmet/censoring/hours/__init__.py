"""Hours of sales: what they tell of empty shelves."""

from unmet.censoring.hours.hours import HourlySales
from unmet.censoring.hours.recovering import RecoveredDemand, recover
from unmet.censoring.hours.silence import DetectedStockouts, detect_stockouts
from unmet.censoring.hours.tables import read_hourly, read_receipts

__all__ = [
    "DetectedStockouts",
    "HourlySales",
    "RecoveredDemand",
    "detect_stockouts",
    "read_hourly",
    "read_receipts",
    "recover",
]
