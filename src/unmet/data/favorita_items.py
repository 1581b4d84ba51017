"""``items.csv`` of the item-level layout: which items are perishable, and of which family."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.data.favorita_csv import parse, split_header
from unmet.data.favorita_files import check_file, open_lines
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

_COLUMNS = ("item_nbr", "family", "perishable")


@dataclass(frozen=True, eq=False)
class Items:
    """What is known of the items.

    Attributes
    ----------
    path : Path
        Where it was read.
    known : frozenset of int
        Numbers of all items.
    perishable : polars.DataFrame
        ``item_nbr`` and ``family`` of the perishable ones.
    """

    path: Path
    known: frozenset[int]
    perishable: polars.DataFrame


def read_items(path: Path) -> Items:
    """Read ``items.csv`` and check that every item stands in it once."""
    import polars as pl

    check_file("items", path)
    with open_lines(path) as (header, blocks, _):
        names = split_header(header)
        missing = ", ".join(name for name in _COLUMNS if name not in names)
        if missing:
            raise InvalidInput(f"{path} lacks the columns {missing}.")
        tables = [parse(path, names, block, _COLUMNS) for block in blocks if block.text]
    if not tables:
        raise InvalidInput(f"{path} has a header but no rows.")
    table = pl.concat(tables)
    twice = table.filter(pl.col("item_nbr").is_duplicated())["item_nbr"]
    if len(twice):
        raise InvalidInput(f"{path} must have every item once, got item {twice[0]} twice.")
    odd = table.filter(~pl.col("perishable").is_in([0, 1]))["perishable"]
    if len(odd):
        raise InvalidInput(f"{path} must have 0 or 1 in the column perishable, got {odd[0]}.")
    perishable = table.filter(pl.col("perishable") == 1).select("item_nbr", "family")
    if perishable.is_empty():
        raise InvalidInput(f"{path} must call at least one item perishable.")
    return Items(path, frozenset(table["item_nbr"].to_list()), perishable)
