"""The till's clock: what hourly sales tell of empty shelves."""

from unmet.intraday.clock import ClockReading, read_clock
from unmet.intraday.hours import HourlySales, read_hourly, read_receipts
from unmet.intraday.recovering import RecoveredDemand, recover

__all__ = [
    "ClockReading",
    "HourlySales",
    "RecoveredDemand",
    "read_clock",
    "read_hourly",
    "read_receipts",
    "recover",
]
