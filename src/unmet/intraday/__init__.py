"""The till's clock: what hourly sales tell of empty shelves."""

from unmet.intraday.clock import ClockReading, read_clock
from unmet.intraday.hours import HourlySales
from unmet.intraday.recovering import RecoveredDemand, recover
from unmet.intraday.tables import read_hourly, read_receipts

__all__ = [
    "ClockReading",
    "HourlySales",
    "RecoveredDemand",
    "read_clock",
    "read_hourly",
    "read_receipts",
    "recover",
]
