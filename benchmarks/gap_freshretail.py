"""Real stock-outs: daily rows of FreshRetailNet-50K, and features of them.

The truth is not known here, only whether a product was sold out at closing time. The data set is
published by Dingdong (Shanghai) under CC-BY-4.0 as FreshRetailNet-50K; the table must hold its
daily rows with the columns named in `NEEDED`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from gap_cases import dummies

NEEDED = ("dt", "store_id", "product_id", "sales", "oos_at_close", "discount", "holiday_flag")
EXTRAS = ("activity_flag", "precpt", "avg_temperature")  # used where they are there


def read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, try_parse_dates=True)
    absent = [name for name in NEEDED if name not in table.columns]
    if absent:
        raise SystemExit(
            f"{path} must have the columns {', '.join(NEEDED)}; {absent[0]} is missing."
        )
    series = pl.concat_str("store_id", "product_id", separator="/").alias("series")
    return table.with_columns(series, pl.col("dt").dt.weekday().alias("weekday")).sort(
        "series", "dt"
    )


def features(table: pl.DataFrame, pooled: bool) -> np.ndarray:
    names = ["discount", "holiday_flag", *(name for name in EXTRAS if name in table.columns)]
    numbers = [table[name].cast(pl.Float64).to_numpy() for name in names]
    blocks = [dummies(table["weekday"]), *(column for column in numbers if np.ptp(column) > 0)]
    if pooled:
        blocks.insert(0, dummies(table["series"]))
    return np.column_stack(blocks)
