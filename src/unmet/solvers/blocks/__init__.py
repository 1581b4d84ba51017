"""Rows that come in blocks: exact fits of data that do not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.solvers.blocks.dask import DaskBlocks as DaskBlocks
    from unmet.solvers.blocks.source import ArrayBlocks as ArrayBlocks
    from unmet.solvers.blocks.source import BlockSource as BlockSource
    from unmet.solvers.blocks.source import RowBlock as RowBlock


__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "unmet.solvers.blocks.dask": "DaskBlocks",
        "unmet.solvers.blocks.source": "ArrayBlocks BlockSource RowBlock",
    },
)
