"""The tables of App. storeSelect from grouped sales: all stores, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution
from scipy.stats import kurtosis, skew

from paper.favorita.published import Descriptive
from paper.favorita.sales import FavoritaSales
from unmet.arrays import Array
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
from unmet.simulate import StoreLaw

if TYPE_CHECKING:
    import polars


# --- Least squares of one store's sales on dummies (eq. LRGenerate).

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Factor:
    """A category with its levels; the first level with rows is the baseline.

    Attributes
    ----------
    levels : tuple of str
    codes : ndarray of shape (n_rows,)
        Position of each row's level.
    """

    levels: tuple[str, ...]
    codes: Codes


@dataclass(frozen=True)
class Coefficient:
    """One line of Table LRstore10; without a value where there is nothing to estimate."""

    name: str
    value: float | None
    standard_error: float | None


@dataclass(frozen=True, eq=False)
class StoreRegression:
    """What least squares finds in one store (a row of Table LRResults52Stores).

    Attributes
    ----------
    store : int
    n_rows : int
    rmse : float
        sqrt(SSE / n): the paper's σ.
    rmse_over_median : float
        Over the median of sales.
    r2, adjusted_r2, f, p_value : float or None
        None where they are not defined: constant sales, no dummy left, a perfect fit. The p-value
        is that of F; below the smallest number there is it becomes 0.
    coefficients : tuple of Coefficient
        Intercept, then all levels but the first of each factor; those that could not be estimated
        have no value.
    residuals : ndarray of shape (n_rows,)
    notes : tuple of str
        Which dummies were left out, and why.
    absent : frozenset of str
        Levels without rows.
    """

    store: int
    n_rows: int
    rmse: float
    rmse_over_median: float
    r2: float | None
    adjusted_r2: float | None
    f: float | None
    p_value: float | None
    coefficients: tuple[Coefficient, ...]
    residuals: Array
    notes: tuple[str, ...]
    absent: frozenset[str] = frozenset()

    @property
    def skewness(self) -> float | None:
        """Of the residuals: 0 for a normal law; None where all are alike."""
        return _moment(skew, self.residuals)

    @property
    def excess_kurtosis(self) -> float | None:
        """Of the residuals: 0 for a normal law; None where all are alike."""
        return _moment(kurtosis, self.residuals)


def _moment(of: Callable[[Array], Any], residuals: Array) -> float | None:
    return float(of(residuals)) if float(np.ptp(residuals)) > 1e-9 else None


def regress(store: int, sales: Array, factors: Sequence[Factor]) -> StoreRegression:
    """Fit one store.

    Parameters
    ----------
    store : int
        Its number.
    sales : ndarray of shape (n_rows,)
        Positive.
    factors : sequence of Factor

    Returns
    -------
    StoreRegression

    Raises
    ------
    InvalidInput
        When there are no more rows than coefficients.

    Notes
    -----
    A level without rows has no dummy, and a dummy that is a sum of others (a family sold in one
    month only, when nothing else was) is dropped: the last of them, as R does. Residuals, RMSE and
    R² do not depend on which one it is.
    """
    names, columns, notes = _dummies(len(sales), factors)
    n, k = columns.shape
    if n <= k:
        raise InvalidInput(f"store {store} has {n} rows for {k} coefficients.")
    q, r = np.linalg.qr(columns)
    beta = np.linalg.solve(r, q.T @ sales)
    residuals = sales - columns @ beta
    sse = float(residuals @ residuals)
    root = np.linalg.inv(r)  # (X'X)⁻¹ = R⁻¹R⁻ᵀ
    errors = np.sqrt(sse / (n - k) * (root**2).sum(axis=1))
    rmse = float(np.sqrt(sse / n))
    found = dict(zip(names, zip(beta.tolist(), errors.tolist(), strict=True), strict=True))
    wanted = ["intercept", *(level for factor in factors for level in factor.levels[1:])]
    return StoreRegression(
        store,
        n,
        rmse,
        rmse / float(np.median(sales)),
        *_goodness(sales, sse, k),
        tuple(Coefficient(name, *found.get(name, (None, None))) for name in wanted),
        residuals,
        tuple(notes),
        frozenset(
            level
            for factor in factors
            for level, count in zip(
                factor.levels,
                np.bincount(factor.codes, minlength=len(factor.levels)),
                strict=True,
            )
            if not count
        ),
    )


def _goodness(
    sales: Array, sse: float, n_columns: int
) -> tuple[float | None, float | None, float | None, float | None]:
    """R², adjusted R², F and its p-value, where they are defined."""
    n, p = len(sales), n_columns - 1
    centred = sales - sales.mean()
    total = float(centred @ centred)
    if total <= 1e-24 * float(sales @ sales):  # constant but for rounding
        return None, None, None, None
    r2 = 1 - sse / total
    adjusted = 1 - (1 - r2) * (n - 1) / (n - n_columns)
    f = (total - sse) / p / (sse / (n - n_columns)) if p and sse > 0 else None
    p_value = None if f is None else float(f_distribution.sf(f, p, n - n_columns))
    return r2, adjusted, f, p_value


def _dummies(n_rows: int, factors: Sequence[Factor]) -> tuple[list[str], Array, list[str]]:
    """Intercept and one column per level that has one, and what was left out."""
    names, columns, notes = ["intercept"], [np.ones(n_rows)], []
    for factor in factors:
        counts = np.bincount(factor.codes, minlength=len(factor.levels))
        sold = [place for place, count in enumerate(counts) if count]
        absent = [level for level, count in zip(factor.levels, counts, strict=True) if not count]
        if absent:
            notes.append(f"no rows of {', '.join(absent)}")
        if sold[0] != 0:
            notes.append(f"baseline {factor.levels[sold[0]]}")
        for place in sold[1:]:
            names.append(factor.levels[place])
            columns.append((factor.codes == place).astype(np.float64))
    kept = _independent(np.column_stack(columns))
    dropped = [name for place, name in enumerate(names) if place not in kept]
    if dropped:
        notes.append(f"{', '.join(dropped)} not told apart from the others")
    return [names[place] for place in kept], np.column_stack([columns[j] for j in kept]), notes


def _independent(columns: Array) -> list[int]:
    """Columns that are no combination of those before them.

    The Gram matrix of dummies holds counts, so it is exact; the Schur complement of a dependent
    column is zero but for rounding, that of any other at least about 1 over the number of rows.
    """
    gram = columns.T @ columns
    kept: list[int] = []
    for place in range(len(gram)):
        cross = gram[kept, place]
        left = gram[place, place]
        if kept:
            left -= cross @ np.linalg.solve(gram[np.ix_(kept, kept)], cross)
        if left > 1e-8 * gram[place, place]:
            kept.append(place)
    return kept


# --- The tables of App. storeSelect from grouped sales: all stores, and the one that is chosen.


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
    families : tuple of str
        Perishable families; the first that a store sells is its baseline.
    """

    year: int
    store: int
    descriptive: Descriptive
    stores: tuple[StoreRegression, ...]
    left_out: Mapping[int, str]
    families: tuple[str, ...]

    @cached_property
    def chosen(self) -> StoreRegression:
        """Regression of `store`."""
        return next(each for each in self.stores if each.store == self.store)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Of `store`, in the order of Table LRstore10, the intercept first."""
        return self.chosen.coefficients

    def law(self) -> StoreLaw:
        """Give coefficients and σ (the RMSE) of `store`, for the simulation (eq. LRGenerate).

        Categories, weekdays and months that the store has no sales of are not part of it. A dummy
        that could not be told apart from the others has the effect 0, which is in theirs.
        """
        chosen = self.chosen
        values = {each.name: each.value or 0.0 for each in chosen.coefficients}
        families, weekdays, months = (
            tuple((name, values.get(name, 0.0)) for name in levels if name not in chosen.absent)
            for levels in (self.families, WEEKDAYS, MONTHS)
        )
        return StoreLaw(
            intercept=values["intercept"],
            categories=families,
            weekdays=weekdays,
            months=months,
            deviation=chosen.rmse,
            name=f"store {self.store}, fitted to its sales of {self.year}",
        )

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
    for table in sales.table.partition_by("store_nbr", maintain_order=True):
        number = int(table["store_nbr"][0])
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
    if store in sales.stores_without_sales:
        raise InvalidInput(f"store {store} has no sales of perishable products in {sales.year}.")
    if store in left_out:
        raise InvalidInput(left_out[store])
    if store is not None and store not in numbers:
        known = ", ".join(map(str, sorted(numbers)))
        raise InvalidInput(f"store must be one of those that can be fitted ({known}), got {store}.")
    chosen = numbers[0] if store is None else store
    own = sales.table.filter(sales.table["store_nbr"] == chosen)["sales"].to_numpy()
    return FavoritaTables(
        sales.year, chosen, describe(own), tuple(fitted), left_out, sales.families
    )


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
