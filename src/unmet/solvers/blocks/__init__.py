"""Rows that come in blocks: exact fits of data that do not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.solvers.blocks.dask import DaskBlocks
    from unmet.solvers.blocks.source import ArrayBlocks, BlockSource, RowBlock

__all__ = ["ArrayBlocks", "BlockSource", "DaskBlocks", "RowBlock"]

__getattr__ = names_of(
    __name__,
    {
        "unmet.solvers.blocks.dask": "DaskBlocks",
        "unmet.solvers.blocks.source": "ArrayBlocks BlockSource RowBlock",
    },
)
