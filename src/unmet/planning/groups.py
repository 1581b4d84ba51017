"""Groups of rows that get a model of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scipy import sparse

from unmet.planning.encoding import as_categories
from unmet.solvers.problem import Features

if TYPE_CHECKING:
    import polars

_SHOWN = 5


def with_groups(features: Features, table: polars.DataFrame, by: Sequence[str]) -> polars.DataFrame:
    """Numbers and the columns of the groups in one table, as `GroupedDecision` takes them."""
    import polars as pl

    dense = features.toarray() if sparse.issparse(features) else features
    names = [f"feature {place}" for place in range(dense.shape[1])]
    groups = [as_categories(table[name]).alias(name) for name in by]
    return pl.DataFrame(dense, schema=names).with_columns(groups)


def unseen_groups(
    table: polars.DataFrame, by: Sequence[str], seen: dict[str, list[str]]
) -> list[str]:
    """Name groups that have no model of their own."""
    import polars as pl

    groups = pl.DataFrame([as_categories(table[name]).alias(name) for name in by])
    known = pl.DataFrame({name: seen[name] for name in by})
    strange = groups.join(known, on=list(by), how="anti").unique(maintain_order=True)
    if not strange.height:
        return []
    shown = "; ".join(", ".join(row) for row in strange.head(_SHOWN).iter_rows())
    more = f" and {strange.height - _SHOWN:,} more" if strange.height > _SHOWN else ""
    return [
        f"Groups of {', '.join(by)} never seen in training are decided by the model of "
        f"all: {shown}{more}."
    ]
