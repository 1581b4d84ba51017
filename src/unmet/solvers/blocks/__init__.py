"""Rows in blocks: exact fits of data that do not fit into memory."""

from unmet.solvers.blocks.source import ArrayBlocks, BlockSource, RowBlock

__all__ = ["ArrayBlocks", "BlockSource", "RowBlock"]
