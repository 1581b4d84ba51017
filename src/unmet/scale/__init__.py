"""Beyond one table: a model for each of many groups, and data that come in blocks.

Names are imported when they are first used, so that neither kind of work loads the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.scale.arrays import ArrayBlocks
    from unmet.scale.dask import DaskBlocks
    from unmet.scale.grouped.model import GroupedDecision
    from unmet.solvers.blocks.source import BlockSource, RowBlock

__all__ = [
    "ArrayBlocks",
    "BlockSource",
    "DaskBlocks",
    "GroupedDecision",
    "RowBlock",
]

__getattr__ = names_of(
    __name__,
    {
        "unmet.scale.arrays": "ArrayBlocks",
        "unmet.scale.dask": "DaskBlocks",
        "unmet.scale.grouped.model": "GroupedDecision",
        "unmet.solvers.blocks.source": "BlockSource RowBlock",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
