"""Hours of sales: what they tell of empty shelves."""

from unmet.intraday.hours import HourlySales
from unmet.intraday.recovering import RecoveredDemand, recover
from unmet.intraday.silence import DetectedStockouts, detect_stockouts
from unmet.intraday.tables import read_hourly, read_receipts

__all__ = [
    "DetectedStockouts",
    "HourlySales",
    "RecoveredDemand",
    "detect_stockouts",
    "read_hourly",
    "read_receipts",
    "recover",
]
