"""The tables of App. storeSelect from grouped sales: all stores, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from unmet.band import Array
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.data.favorita import FavoritaSales
from unmet.data.favorita_published import Descriptive
from unmet.data.favorita_regression import Coefficient, Factor, StoreRegression, regress
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False)
class FavoritaTables:
    """Every store's regression, and the descriptive table of one store.

    Attributes
    ----------
    year : int
    store : int
        The store that was asked for, or that the paper's rule chooses.
    descriptive : Descriptive
        Of its sales (Table EDAofStore10).
    stores : tuple of StoreRegression
        By RMSE over median, then by number (Table LRResults52Stores).
    left_out : mapping of int to str
        Stores that could not be fitted, and why.
    """

    year: int
    store: int
    descriptive: Descriptive
    stores: tuple[StoreRegression, ...]
    left_out: Mapping[int, str]

    @cached_property
    def chosen(self) -> StoreRegression:
        """Regression of `store`."""
        return next(each for each in self.stores if each.store == self.store)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Of `store`, in the order of Table LRstore10, the intercept first."""
        return self.chosen.coefficients

    @property
    def smallest_ratio(self) -> int:
        """Store with the smallest RMSE over median: the rule's choice."""
        return self.stores[0].store

    @property
    def smallest_rmse(self) -> int:
        """Store with the smallest RMSE."""
        return min(self.stores, key=lambda each: (each.rmse, each.store)).store


def favorita_tables(sales: FavoritaSales, *, store: int | None = None) -> FavoritaTables:
    """Fit every store and choose one.

    Parameters
    ----------
    sales : FavoritaSales
        From `load_favorita`.
    store : int, optional
        The store to describe. By default the paper's rule: "the smallest RMSE and RMSE over
        median". Where the two name different stores, the smallest RMSE over median decides, by
        which the paper's table is sorted: a small store has a small RMSE, however badly it is
        fitted.

    Returns
    -------
    FavoritaTables

    Notes
    -----
    The regression of a store has an intercept and dummies for the family, the day of the week and
    the month, without the first of each: BREAD/BAKERY, Monday, January (eq. LRGenerate). Where a
    store lacks a level, it has no dummy; where it lacks the first one, the next is the baseline. A
    store with no more rows than coefficients is left out.
    """
    fitted, left_out = [], {}
    for number, table in _by_store(sales):
        try:
            fitted.append(regress(number, *_design(table, sales.families)))
        except InvalidInput as error:
            left_out[number] = str(error)
    if not fitted:
        raise InvalidInput(
            f"no store has more rows than coefficients: {next(iter(left_out.values()))}"
        )
    fitted.sort(key=lambda each: (each.rmse_over_median, each.store))
    numbers = [each.store for each in fitted]
    if store is not None and store not in numbers:
        known = ", ".join(map(str, sorted(numbers)))
        raise InvalidInput(f"store must be one of those that can be fitted ({known}), got {store}.")
    chosen = numbers[0] if store is None else store
    own = sales.table.filter(sales.table["store_nbr"] == chosen)["sales"].to_numpy()
    return FavoritaTables(sales.year, chosen, describe(own), tuple(fitted), left_out)


def _by_store(sales: FavoritaSales) -> list[tuple[int, polars.DataFrame]]:
    parts = sales.table.partition_by("store_nbr", maintain_order=True)
    return [(int(part["store_nbr"][0]), part) for part in parts]


def _design(table: polars.DataFrame, families: tuple[str, ...]) -> tuple[Array, list[Factor]]:
    """Sales of a store, and what they depend on."""
    places = {family: place for place, family in enumerate(families)}
    family = np.array([places[name] for name in table["family"].to_list()], dtype=np.int64)
    weekday = table["date"].dt.weekday().to_numpy().astype(np.int64) - 1
    month = table["date"].dt.month().to_numpy().astype(np.int64) - 1
    factors = [Factor(families, family), Factor(WEEKDAYS, weekday), Factor(MONTHS, month)]
    return table["sales"].to_numpy(), factors


def describe(sales: Array) -> Descriptive:
    """Count, mean, standard deviation (n − 1; zero for one row), minimum, quartiles, maximum."""
    lower, median, upper = (float(each) for each in np.quantile(sales, [0.25, 0.5, 0.75]))
    return Descriptive(
        len(sales),
        float(sales.mean()),
        float(sales.std(ddof=min(1, len(sales) - 1))),
        float(sales.min()),
        lower,
        median,
        upper,
        float(sales.max()),
    )
