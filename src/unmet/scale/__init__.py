"""Beyond one table: a model for each of many groups, and data that come in blocks.

Names are imported when they are first used, so that neither kind of work loads the other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmet.scale.arrays import ArrayBlocks
    from unmet.scale.dask import DaskBlocks
    from unmet.scale.grouped.model import GroupedDecision
    from unmet.scale.parquet import ParquetBlocks, predict_parquet
    from unmet.solvers.blocks.source import BlockSource, RowBlock

_ROOMS = {
    # groups
    "GroupedDecision": "unmet.scale.grouped.model",
    # blocks
    "ArrayBlocks": "unmet.scale.arrays",
    "BlockSource": "unmet.solvers.blocks.source",
    "DaskBlocks": "unmet.scale.dask",
    "ParquetBlocks": "unmet.scale.parquet",
    "RowBlock": "unmet.solvers.blocks.source",
    "predict_parquet": "unmet.scale.parquet",
}

__all__ = [
    "ArrayBlocks",
    "BlockSource",
    "DaskBlocks",
    "GroupedDecision",
    "ParquetBlocks",
    "RowBlock",
    "predict_parquet",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, and keep it."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
