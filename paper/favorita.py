"""Sales of Corporación Favorita, and the tables that App. storeSelect makes of them.

The conventions reproduce the paper's tables: one year, perishable families only, sales summed by
date, store and family, days without sales dropped. The files are Kaggle's and are not part of this
package: "Corporación Favorita Grocery Sales Forecasting" (item level, 125 million rows; needs
``items.csv``) or "Store Sales - Time Series Forecasting" (family level, 3 million rows).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import f as f_distribution
from scipy.stats import kurtosis, skew

from paper.claims import Case, Claim, Evidence, Kind, listed
from paper.plots import PaperFigure
from paper.published import COEFFICIENTS, DESCRIPTIVE, FAMILIES, MEASURES, STORE, STORES, YEAR
from paper.tables import Row, Table, caption, show
from unmet.arrays import Array
from unmet.charts import Chart, curve, lines
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
from unmet.simulate.store10 import StoreModel

# --- Reading: polars streams the file, so it may be larger than memory.

#: Every column that is ever looked at.
_KINDS: dict[str, Any] = {
    "date": pl.String,
    "store_nbr": pl.Int64,
    "item_nbr": pl.Int64,
    "unit_sales": pl.Float64,
    "sales": pl.Float64,
    "family": pl.String,
    "perishable": pl.Int64,
}

#: By layout: the columns that say what was sold, and how much.
_LAYOUTS = {"item": ("item_nbr", "unit_sales"), "family": ("family", "sales")}

# Sums of returns and sales that cancel leave rounding errors; sales have three decimals.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class FavoritaSales:
    r"""Grouped sales of 2016.

    Attributes
    ----------
    table : polars.DataFrame
        ``date``, ``store_nbr``, ``family``, ``sales`` > 0; sorted by store, date and family.
    layout : str
        "item" or "family".
    families : tuple of str
        Perishable families in alphabetical order.
    rows_read, rows_of_year : int
        Number of rows of the file, and of the year, of all families.
    first_date, last_date : datetime.date
        First and last date of the year's rows.
    dropped_zero, dropped_negative : int
        Groups left out because their sales sum to zero, or because more was returned than sold.
    stores_without_sales : tuple of int
        Stores of the file that sold nothing perishable in the year.
    repeated_rows : int
        At family level: rows that repeat date, store and family of another one, and were summed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from paper.favorita import load_favorita
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.csv")
    ...     _ = file.write_text("date,store_nbr,family,sales\n2016-01-02,10,DAIRY,3")
    ...     sales = load_favorita(file)
    >>> sales.layout, sales.rows_of_year
    ('family', 1)
    """

    table: pl.DataFrame
    layout: str
    families: tuple[str, ...]
    rows_read: int
    rows_of_year: int
    first_date: date
    last_date: date
    dropped_zero: int
    dropped_negative: int
    stores_without_sales: tuple[int, ...]
    repeated_rows: int

    def missing(self) -> list[str]:
        """Describe what a complete file of the year would have, and this one lacks."""
        lacking = []
        first, last = self.first_date, self.last_date
        if (first.month, first.day) > (1, 2) or (last.month, last.day) < (12, 31):
            lacking.append(f"it goes from {first} to {last} only")
        absent = sorted(set(STORES) - set(self.table["store_nbr"].unique()))
        if absent:
            lacking.append(f"it has no sales of {len(absent)} stores of the paper's table")
        return lacking


def _scan(parameter: str, path: Path) -> pl.LazyFrame:
    """Open a CSV file, its columns with their types."""
    if not path.is_file():
        raise InvalidInput(f"{parameter} must be a file, but {path} is none.")
    with path.open("rb") as stream:
        start = stream.read(4)
    if start.startswith((b"PK", b"7z", b"BZh", b"\xfd7z", b"PAR1")):
        raise InvalidInput(f"{path} must be CSV, got something packed: unpack it first.")
    try:
        names = pl.scan_csv(path, infer_schema=False).collect_schema().names()
        kinds = {name: kind for name, kind in _KINDS.items() if name in names}
        return pl.scan_csv(path, infer_schema=False, schema_overrides=kinds)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    reason = str(error).partition("\n")[0].rstrip(".")
    return InvalidInput(f"{path} cannot be read: {reason}.")


def _read_items(path: Path) -> pl.DataFrame:
    """Read ``items.csv`` and check that every item stands in it once."""
    columns = ("item_nbr", "family", "perishable")
    lazy = _scan("items", path)
    missing = ", ".join(name for name in columns if name not in lazy.collect_schema().names())
    if missing:
        raise InvalidInput(f"{path} lacks the columns {missing}.")
    try:
        table = lazy.select(columns).collect()
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, error) from error
    twice = table.filter(pl.col("item_nbr").is_duplicated())["item_nbr"]
    if len(twice):
        raise InvalidInput(f"{path} must have every item once, got item {twice[0]} twice.")
    if not set(table["perishable"].unique()) <= {0, 1} or not table["perishable"].sum():
        raise InvalidInput(f"{path} must have 0 or 1 in the column perishable, and some 1.")
    return table


def load_favorita(
    train: str | PathLike[str], *, items: str | PathLike[str] | None = None
) -> FavoritaSales:
    r"""Read, filter and group Favorita's sales of 2016 in bounded memory.

    Parameters
    ----------
    train : path
        ``train.csv`` in either layout, told apart by its header: item level has the columns
        ``date, store_nbr, item_nbr, unit_sales``, family level ``date, store_nbr, family, sales``.
        CSV, also inside gzip. It is streamed, so it may be larger than memory.
    items : path, optional
        ``items.csv`` with ``item_nbr, family, perishable``; for item level only.

    Returns
    -------
    FavoritaSales

    Notes
    -----
    Returns (negative ``unit_sales``) are summed in. Only groups with positive sales are kept: the
    paper drops days without sales, and its store 10 has no sales below 1. A group where more came
    back than was sold tells as little of demand as one without sales; `dropped_negative` says how
    many there are. Sums are rounded to six decimals, so that sales and returns that cancel are zero
    and the result does not depend on the order of summation.

    Family level has no column for perishability; the nine families that ``items.csv`` calls
    perishable are used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> lines = ["id,date,store_nbr,family,sales,onpromotion"]
    >>> lines += ["0,2016-01-02,10,DAIRY,301.5,0", "1,2016-01-02,10,BOOKS,2.0,0"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.csv")
    ...     _ = file.write_text("\n".join(lines) + "\n")
    ...     sales = load_favorita(file)
    >>> sales.layout, sales.table.rows()
    ('family', [(datetime.date(2016, 1, 2), 10, 'DAIRY', 301.5)])
    """
    path = Path(train)
    lazy = _scan("train", path)
    names = lazy.collect_schema().names()
    layouts = [name for name, own in _LAYOUTS.items() if {"date", "store_nbr", *own} <= set(names)]
    if not layouts:
        raise InvalidInput(
            f"{path} must have the columns date and store_nbr, and item_nbr and unit_sales (item "
            f"level) or family and sales (family level), got {', '.join(names)}."
        )
    layout = layouts[0]
    if (layout == "item") != (items is not None):
        must = "be given" if items is None else f"be left out, not {items}"
        raise InvalidInput(f"items must {must}, because {path} is at {layout} level.")
    columns = ("date", "store_nbr", *_LAYOUTS[layout])
    day = pl.col("date").str.slice(0, 10).str.to_date("%Y-%m-%d")
    lazy = lazy.select(columns).rename({columns[3]: "sales"}).with_columns(date=day)
    of_year = lazy.filter(pl.col("date").dt.year() == YEAR)
    families, unknown = FAMILIES, pl.LazyFrame({"item_nbr": []})
    if items is None:
        chosen = of_year.filter(pl.col("family").is_in(FAMILIES))
    else:
        known = _read_items(Path(items))
        perishable = known.filter(pl.col("perishable") == 1).drop("perishable")
        families = tuple(perishable["family"].unique().sort())
        chosen = of_year.join(perishable.lazy(), on="item_nbr")
        unknown = of_year.select("item_nbr").unique().join(known.lazy(), on="item_nbr", how="anti")
    dates = pl.len(), pl.col("date").min().alias("first"), pl.col("date").max().alias("last")
    holes = pl.any_horizontal(pl.all().is_null()) | ~pl.col("sales").is_finite()
    # polars passes over a field too many (1,5 for 1.5 would be 1); a comma within quotes is none
    lines = pl.scan_csv(path, has_header=False, separator="\x01", quote_char=None)
    commas = pl.first().str.replace_all('"[^"]*"', "").str.count_matches(",")
    try:
        fields, overall, in_year, stores, strangers, sums = pl.collect_all(
            [
                lines.select(commas.unique()),
                lazy.select(*dates, holes.sum().alias("holes")),
                of_year.select(dates),
                lazy.select("store_nbr").unique(),
                unknown,
                chosen.group_by("date", "store_nbr", "family").agg(
                    pl.col("sales").sum().round(_DECIMALS), pl.len()
                ),
            ],
            engine="streaming",
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from error
    if fields.height > 1:
        raise InvalidInput(f"{path} must have {len(names)} fields in every line.")
    rows, first, last, missing = overall.row(0)
    if not rows:
        raise InvalidInput(f"{path} has a header but no rows.")
    if missing:
        raise InvalidInput(
            f"{path} must have no missing and no infinite values in the columns "
            f"{', '.join(columns)}, got {missing:,} rows with one."
        )
    if not in_year["len"][0]:
        raise InvalidInput(f"{path} has no rows of {YEAR}; its dates run from {first} to {last}.")
    if strangers.height:
        raise InvalidInput(
            f"{items} lacks {strangers.height} of the items that {path} sells in {YEAR}, the first "
            f"of them {strangers['item_nbr'].min()!r}."
        )
    kept = sums.filter(pl.col("sales") > 0).drop("len").sort("store_nbr", "date", "family")
    if kept.is_empty():
        raise InvalidInput(f"{path} has no sales of perishable families in {YEAR}.")
    repeated = int(sums["len"].sum() - sums.height) if layout == "family" else 0
    return FavoritaSales(
        kept,
        layout,
        families,
        rows,
        in_year["len"][0],
        in_year["first"][0],
        in_year["last"][0],
        int((sums["sales"] == 0).sum()),
        int((sums["sales"] < 0).sum()),
        tuple(sorted(set(stores["store_nbr"]) - set(kept["store_nbr"]))),
        repeated,
    )


# --- Least squares of one store's sales on dummies (eq. LRGenerate).

#: Levels of a category, and the position of each row's level.
Factor = tuple[Sequence[str], NDArray[np.int64]]


class StoreRegression(NamedTuple):
    """Regression of one store (a row of Table LRResults52Stores).

    Attributes
    ----------
    store, n_rows : int
        Number of the store, and of its rows.
    measures : mapping from str to float or None
        Values of `MEASURES`; RMSE is sqrt(SSE / n), the paper's σ. None if one is not defined:
        constant sales, no dummy left, a perfect fit.
    p_value : float or None
        p-value of F; 0 below the smallest number.
    coefficients : mapping from str to (float, float) or None
        Value and standard error; intercept, then all levels except the first of each factor. None
        if it could not be estimated.
    residuals : ndarray of shape (n_rows,)
        Residuals.
    notes : tuple of str
        Which dummies were left out, and why.
    absent : frozenset of str
        Levels without rows.
    """

    store: int
    n_rows: int
    measures: Mapping[str, float | None]
    p_value: float | None
    coefficients: Mapping[str, tuple[float, float] | None]
    residuals: Array
    notes: tuple[str, ...]
    absent: frozenset[str]

    def moment(self, of: Callable[[Array], Any]) -> float | None:
        """Skewness or excess kurtosis of the residuals; None where all are alike."""
        return float(of(self.residuals)) if float(np.ptp(self.residuals)) > 1e-9 else None

    @property
    def rmse(self) -> float:
        """The paper's σ."""
        return float(self.measures["RMSE"] or 0.0)


def regress(store: int, sales: Array, factors: Sequence[Factor]) -> StoreRegression:
    """Fit one store, or refuse it where there are no more rows than coefficients.

    A level without rows has no dummy, and a dummy that is a sum of others (a family sold in one
    month only, when nothing else was) is dropped: the last of them, as R does. Residuals, RMSE and
    R² do not depend on which one it is.
    """
    names, columns, notes, absent = _dummies(len(sales), factors)
    n, k = columns.shape
    if n <= k:
        raise InvalidInput(f"store {store} has {n} rows for {k} coefficients.")
    q, r = np.linalg.qr(columns)
    beta = np.linalg.solve(r, q.T @ sales)
    residuals = sales - columns @ beta
    sse = float(residuals @ residuals)
    # (X'X)⁻¹ = R⁻¹R⁻ᵀ
    errors = np.sqrt(sse / (n - k) * (np.linalg.inv(r) ** 2).sum(axis=1))
    found = dict(zip(names, zip(beta.tolist(), errors.tolist(), strict=True), strict=True))
    wanted = ["intercept", *(level for levels, _ in factors for level in levels[1:])]
    rmse = float(np.sqrt(sse / n))
    *goodness, p_value = _goodness(sales, sse, k)
    values = (rmse, rmse / float(np.median(sales)), *goodness)
    return StoreRegression(
        store,
        n,
        dict(zip(MEASURES, values, strict=True)),
        p_value,
        {name: found.get(name) for name in wanted},
        residuals,
        tuple(notes),
        frozenset(absent),
    )


def _goodness(sales: Array, sse: float, n_columns: int) -> tuple[float | None, ...]:
    """R², adjusted R², F and its p-value, where they are defined."""
    n, p = len(sales), n_columns - 1
    centred = sales - sales.mean()
    total = float(centred @ centred)
    if total <= 1e-24 * float(sales @ sales):  # constant but for rounding
        return None, None, None, None
    r2 = 1 - sse / total
    adjusted = 1 - (1 - r2) * (n - 1) / (n - n_columns)
    if not (p and sse > 0):
        return r2, adjusted, None, None
    f = (total - sse) / p / (sse / (n - n_columns))
    return r2, adjusted, f, float(f_distribution.sf(f, p, n - n_columns))


def _dummies(
    n_rows: int, factors: Sequence[Factor]
) -> tuple[list[str], Array, list[str], list[str]]:
    """Intercept and one column per level that has one, what was left out, levels without rows."""
    names, columns, notes, without = ["intercept"], [np.ones(n_rows)], [], []
    for levels, codes in factors:
        counts = np.bincount(codes, minlength=len(levels))
        sold = np.flatnonzero(counts)
        absent = [level for level, count in zip(levels, counts, strict=True) if not count]
        without += absent
        if absent:
            notes.append(f"no rows of {', '.join(absent)}")
        if sold[0] != 0:
            notes.append(f"baseline {levels[sold[0]]}")
        for place in sold[1:]:
            names.append(levels[place])
            columns.append((codes == place).astype(np.float64))
    kept = _independent(np.column_stack(columns))
    dropped = [name for place, name in enumerate(names) if place not in kept]
    if dropped:
        notes.append(f"{', '.join(dropped)} not told apart from the others")
    chosen = np.column_stack([columns[j] for j in kept])
    return [names[place] for place in kept], chosen, notes, without


def _independent(columns: Array) -> list[int]:
    """Columns that are no combination of those before them.

    The Gram matrix of dummies holds counts, so it is exact; the Schur complement of a dependent
    column is zero but for rounding, that of any other at least about 1 over the number of rows.
    """
    gram = columns.T @ columns
    kept: list[int] = []
    for place in range(len(gram)):
        cross, left = gram[kept, place], gram[place, place]
        if kept:
            left -= cross @ np.linalg.solve(gram[np.ix_(kept, kept)], cross)
        if left > 1e-8 * gram[place, place]:
            kept.append(place)
    return kept


# --- All stores, and the one that is chosen.


@dataclass(frozen=True, eq=False)
class StoreEvidence:
    r"""Favorita's sales, and the regressions of its stores.

    Attributes
    ----------
    sales : FavoritaSales
        Grouped sales.
    store : int
        The store that you asked for, or that the paper's rule chooses.
    stores : tuple of StoreRegression
        Regressions by RMSE over median, then by number (Table LRResults52Stores).
    left_out : mapping of int to str
        Stores that could not be fitted, and why.

    Examples
    --------
    >>> from datetime import date, timedelta
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from paper.favorita import fit_stores, load_favorita
    >>> lines = ["date,store_nbr,family,sales"]
    >>> for day in range(60):
    ...     when = date(2016, 1, 4) + timedelta(day)
    ...     lines += [f"{when},10,DAIRY,{300 + day % 5}", f"{when},10,EGGS,{90 + day % 3}"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.csv")
    ...     _ = file.write_text("\n".join(lines))
    ...     evidence = fit_stores(load_favorita(file))
    >>> [name for name, _ in evidence.distribution().categories]
    ['DAIRY', 'EGGS']
    """

    sales: FavoritaSales
    store: int
    stores: tuple[StoreRegression, ...]
    left_out: Mapping[int, str]

    @property
    def chosen(self) -> StoreRegression:
        """Regression of `store`."""
        return next(each for each in self.stores if each.store == self.store)

    @property
    def is_the_papers(self) -> bool:
        """Whether the paper prints tables of this store."""
        return self.store == STORE

    @property
    def smallest_rmse(self) -> int:
        """Store with the smallest RMSE."""
        return min(self.stores, key=lambda each: (each.rmse, each.store)).store

    def distribution(self) -> StoreModel:
        """Give coefficients and σ (the RMSE) of `store`, for the simulation (eq. LRGenerate).

        Categories, weekdays and months without sales in the store are not part of it. A dummy that
        could not be separated from the others has the effect 0; its effect is in theirs.
        """
        chosen = self.chosen
        values = {name: pair[0] if pair else 0.0 for name, pair in chosen.coefficients.items()}
        families, weekdays, months = (
            tuple((name, values.get(name, 0.0)) for name in levels if name not in chosen.absent)
            for levels in (self.sales.families, WEEKDAYS, MONTHS)
        )
        return StoreModel(
            intercept=values["intercept"],
            categories=families,
            weekdays=weekdays,
            months=months,
            deviation=chosen.rmse,
            name=f"store {self.store}, fitted to its sales of {YEAR}",
        )

    def descriptive(self) -> dict[str, float]:
        """Compute count, mean, standard deviation (n − 1), minimum, quartiles, maximum."""
        table = self.sales.table
        own = table.filter(table["store_nbr"] == self.store)["sales"].to_numpy()
        deviation = own.std(ddof=min(1, len(own) - 1))
        values = (len(own), own.mean(), deviation, *np.quantile(own, [0, 0.25, 0.5, 0.75, 1]))
        return dict(zip(DESCRIPTIVE, map(float, values), strict=True))

    def figure(self) -> PaperFigure:
        """Draw Fig. ErrorQQplot10: sorted residuals against quantiles of N(0, RMSE²)."""
        store = self.chosen
        residuals = np.sort(store.residuals)
        n = len(residuals)

        def draw() -> Chart:
            quantiles = (store.rmse * ndtri((np.arange(n) + 0.5) / n)).tolist()
            ends = [quantiles[0], quantiles[-1]]
            parts = [
                curve(f"{n:,} residuals", "seen", quantiles, residuals.tolist()),
                curve(f"N(0, {store.rmse:.2f}²)", "truth", ends, ends),
            ]
            return lines(
                parts,
                x=f"quantiles of N(0, {store.rmse:.2f}²), units sold",
                y="residuals of least squares, units sold",
                title=f"Store {store.store}: residuals against the normal distribution",
                height=360,
            )

        alt = (
            f"Sorted residuals of store {store.store} against quantiles of a normal distribution "
            f"with deviation {store.rmse:.2f}: from {residuals[0]:.0f} to {residuals[-1]:.0f}."
        )
        moments = {of.__name__: show(store.moment(of), ".2f") for of in (skew, kurtosis)}
        words = {"store": store.store, "skewness": moments["skew"], "kurtosis": moments["kurtosis"]}
        return PaperFigure("ErrorQQplot10", alt, draw, words)


def fit_stores(sales: FavoritaSales, *, store: int | None = None) -> StoreEvidence:
    r"""Fit every store and choose one.

    Parameters
    ----------
    sales : FavoritaSales
        Sales from `load_favorita`.
    store : int, optional
        The store to describe. None follows the paper's rule: "the smallest RMSE and RMSE over
        median". If the two give different stores, the smallest RMSE over median decides, by which
        the paper's table is sorted: a small store has a small RMSE, however badly it is fitted.

    Returns
    -------
    StoreEvidence
        Regressions of all stores.

    Notes
    -----
    The regression of a store has an intercept and dummies for the family, the day of the week and
    the month, without the first of each: BREAD/BAKERY, Monday, January (eq. LRGenerate). A level
    without rows has no dummy. If the first level has no rows, the next one is the baseline. A store
    with no more rows than coefficients is left out.

    Examples
    --------
    >>> from datetime import date, timedelta
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from paper.favorita import fit_stores, load_favorita
    >>> lines = ["date,store_nbr,family,sales"]
    >>> for day in range(60):
    ...     when = date(2016, 1, 4) + timedelta(day)
    ...     lines += [f"{when},10,DAIRY,{300 + day % 5}", f"{when},10,EGGS,{90 + day % 3}"]
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "train.csv")
    ...     _ = file.write_text("\n".join(lines))
    ...     evidence = fit_stores(load_favorita(file))
    >>> evidence.store, round(evidence.chosen.rmse, 1)
    (10, 1.1)
    """
    fitted, left_out = [], {}
    places = {family: place for place, family in enumerate(sales.families)}
    for table in sales.table.partition_by("store_nbr", maintain_order=True):
        number = int(table["store_nbr"][0])
        days = table["date"].dt
        codes = (
            table["family"].replace_strict(places, return_dtype=pl.Int64),
            days.weekday() - 1,
            days.month() - 1,
        )
        levels = (sales.families, WEEKDAYS, MONTHS)
        factors = [(n, c.to_numpy().astype(np.int64)) for n, c in zip(levels, codes, strict=True)]
        try:
            fitted.append(regress(number, table["sales"].to_numpy(), factors))
        except InvalidInput as error:
            left_out[number] = str(error)
    if not fitted:
        raise InvalidInput(
            f"no store has more rows than coefficients: {next(iter(left_out.values()))}"
        )
    fitted.sort(key=lambda each: (each.measures["RMSE over median"], each.store))
    numbers = [each.store for each in fitted]
    if store in sales.stores_without_sales:
        raise InvalidInput(f"store {store} has no sales of perishable products in {YEAR}.")
    if store in left_out:
        raise InvalidInput(left_out[store])
    if store is not None and store not in numbers:
        known = ", ".join(map(str, sorted(numbers)))
        raise InvalidInput(f"store must be one of those that can be fitted ({known}), got {store}.")
    return StoreEvidence(sales, numbers[0] if store is None else store, tuple(fitted), left_out)


# --- Tables EDAofStore10, LRstore10 and LRResults52Stores, ours beside the published.

ABSENT = (
    "No file of Favorita was given, so there are the published numbers alone, and the run "
    "simulates from them; `python -m paper reproduce --favorita train.csv` puts ours beside them."
)


def _beside(ours: float | None, published: float | None) -> tuple[float | None, ...]:
    """Both, and their difference."""
    apart = None if ours is None or published is None else ours - published
    return ours, published, apart


def store_tables(evidence: StoreEvidence | None) -> dict[str, Table]:
    """Make the three tables; without a file the published numbers stand alone."""
    described: Mapping[str, float | None] = dict.fromkeys(DESCRIPTIVE)
    fitted: Mapping[str, tuple[float, float] | None] = dict.fromkeys(COEFFICIENTS)
    stores: Mapping[int, StoreRegression | None] = dict.fromkeys(STORES)
    printed = True
    words: dict[str, Any] = {"store": STORE, "source": ABSENT}
    more: list[str] = []
    if evidence is not None:
        printed = evidence.is_the_papers
        source = "" if printed else "The paper prints this of store 10 only."
        words = {"store": evidence.store, "source": source}
        described, fitted = evidence.descriptive(), evidence.chosen.coefficients
        stores = {each.store: each for each in evidence.stores}
        more = findings(evidence)
    eda: list[Row] = [
        (name, *_beside(value, DESCRIPTIVE[name] if printed else None))
        for name, value in described.items()
    ]
    coefficients: list[Row] = []
    for name, pair in fitted.items():
        value, error = pair or (None, None)
        known = COEFFICIENTS.get(name) if printed else None
        coefficients.append((name, error, *_beside(value, known)))
    regressions: list[Row] = []
    for place, (number, store) in enumerate(stores.items(), start=1):
        cells: list[Any] = [place, number, store.n_rows if store else None]
        for measure in MEASURES:
            ours = store.measures[measure] if store else None
            cells += _beside(ours, STORES.get(number, {}).get(measure))
        shape = (store.p_value, store.moment(skew), store.moment(kurtosis)) if store else [None] * 3
        regressions.append((*cells, *shape, "; ".join(store.notes) if store else None))
    three = {"ours": ".2f", "published": ".2f", "difference": "+.2f"}
    wide = {"no.": ".0f", "store": ".0f", "rows": ".0f"}
    for measure in MEASURES:
        wide |= {measure: ".4f", f"{measure}, published": ".4f", f"{measure}, difference": "+.4f"}
    wide |= {"p of F": ".1e", "skewness": ".1f", "excess kurtosis": ".1f", "notes": ""}
    dummies = {"dummy": "", "standard error": ".2f", **three}
    listed_words = {"source": "" if more else ABSENT}
    tables = (
        Table("EDAofStore10", {"statistic": "", **three}, eda, words),
        Table("LRstore10", dummies, coefficients, words),
        Table("LRResults52Stores", wide, regressions, listed_words, more, folded=True),
    )
    return {table.label: table for table in tables}


# --- What there is to say: sentences, and verdicts.


def compare(evidence: StoreEvidence) -> dict[str, list[tuple[str, float, float, float]]]:
    """Collect what the paper prints: table → (name, ours, published, half of the last digit).

    Names of the three tables of store 10, and "MEASURE of the stores".
    """
    found: dict[str, list[tuple[str, float, float, float]]] = {}
    # a little more than half a digit: the printed number was rounded from a binary one
    if evidence.is_the_papers:
        found["Descriptive statistics"] = [
            (name, value, DESCRIPTIVE[name], 0.005005)
            for name, value in evidence.descriptive().items()
        ]
        found["Coefficients"] = [
            (name, pair[0], COEFFICIENTS[name], 0.005005)
            for name, pair in evidence.chosen.coefficients.items()
            if pair is not None
        ]
    for measure in MEASURES:
        found[f"{measure} of the stores"] = [
            (f"store {each.store}", value, STORES[each.store][measure], 0.00005005)
            for each in evidence.stores
            if (value := each.measures[measure]) is not None and each.store in STORES
        ]
    return {what: numbers for what, numbers in found.items() if numbers}


def findings(evidence: StoreEvidence) -> list[str]:
    """Say which store and why, how close to the paper, and what was left out."""
    sales, stores = evidence.sales, evidence.stores
    ratio, rmse = stores[0].store, evidence.smallest_rmse
    choice = f"Store {ratio} has the smallest RMSE and the smallest RMSE over median"
    if ratio != rmse:
        choice = (
            f"The paper's rule does not settle it: store {ratio} has the smallest RMSE over "
            f"median, which decides here, and store {rmse} the smallest RMSE"
        )
    if evidence.store != ratio:
        choice += f"; store {evidence.store} is described because it was asked for"
    sentences = [f"{choice}.", *remarks(sales)]
    for what, numbers in compare(evidence).items():
        off = [each for each in numbers if abs(each[1] - each[2]) > each[3]]
        sentence = (
            f"{what}: {len(numbers) - len(off)} of {len(numbers)} agree with the paper to the last "
            "printed digit"
        )
        if off:
            decimals = 2 if numbers[0][3] > 0.001 else 4
            name, ours, printed, _ = max(off, key=lambda each: abs(each[1] - each[2]))
            sentence += (
                f"; the farthest is {name}, {ours:.{decimals}f} against {printed:.{decimals}f}"
            )
        sentences.append(f"{sentence}.")
    sentences.append(
        f"Of {sales.rows_read:,} rows of the file, {sales.rows_of_year:,} are of {YEAR} "
        f"({sales.first_date} to {sales.last_date}); groups of date, store and family: "
        f"{sales.table.height:,} with sales, and dropped {sales.dropped_zero:,} without sales and "
        f"{sales.dropped_negative:,} with more returns than sales."
    )
    own = {each.store for each in stores}
    differing: dict[str, Sequence[int]] = {
        f"Without sales in {YEAR}": sales.stores_without_sales,
        "With fewer dummies (see notes)": [each.store for each in stores if each.notes],
        "Not in the paper's table": sorted(own - set(STORES)),
        "In the paper's table only": sorted(set(STORES) - own),
    }
    for what, some in differing.items():
        if some:
            word = "store" if len(some) == 1 else "stores"
            sentences.append(f"{what}: {word} {', '.join(map(str, some))}.")
    return sentences + [f"Left out: {reason}" for reason in evidence.left_out.values()]


def remarks(sales: FavoritaSales) -> list[str]:
    """Say what may be wrong with a file that could be read all the same."""
    sentences = []
    if sales.repeated_rows:
        sentences.append(
            f"{sales.repeated_rows:,} rows of {YEAR} repeat date, store and family of "
            "another row, and their sales were added up: the file may hold the same rows twice."
        )
    if sales.missing():
        sentences.append(f"The file is not complete: {listed(sales.missing())}.")
    return sentences


#: Numbers that differ by no more, as a share of the published one, are the same number: what is
#: left is rounding, and which rows a release of the file has.
SAME = 0.001

#: Number, label, kind; statements stand in ``captions.md``.
_CLAIMS: tuple[tuple[str, str, Kind], ...] = (
    ("11", "EDAofStore10", "size"),
    ("12", "LRstore10", "direction"),
    ("12b", "LRstore10", "size"),
    ("13", "LRResults52Stores", "direction"),
    ("13b", "LRResults52Stores", "size"),
)


def store_claims(evidence: StoreEvidence | None) -> tuple[Claim, ...]:
    """Evaluate direction and size of each table.

    "not checked" without the file, of another store, and where the file is not complete: a
    store with the smallest RMSE of two says nothing of 52.
    """
    cases: dict[str, list[Case]] = {number: [] for number, *_ in _CLAIMS}
    missing = "No file of Favorita was given."
    if evidence is not None:
        missing = "Another store."
        numbers = compare(evidence)
        for number, what in (("11", "Descriptive statistics"), ("12b", "Coefficients")):
            for name, ours, printed, digit in numbers.pop(what, ()):
                cases[number].append(Case(name, 1 - abs(ours - printed) / digit))
                if number == "12b":
                    cases["12"].append(Case(name, ours * printed))
        lacking = evidence.sales.missing()
        if lacking:
            missing = f"The file is not complete: {listed(lacking)}."
        else:
            pairs = {"RMSE": evidence.smallest_rmse, "ratio": evidence.stores[0].store}
            cases["13"] = [
                Case(f"smallest {what}: store {store}", 1.0 if store == STORE else -1.0)
                for what, store in pairs.items()
            ]
            cases["13b"] = [
                Case(f"{what.partition(' of the')[0]} of {name}", 1 - abs(o / p - 1) / SAME)
                for what, some in numbers.items()
                for name, o, p, _ in some
            ]
    claims = []
    for number, label, kind in _CLAIMS:
        own = cases[number]
        found = missing
        if own:
            fails = [case.where for case in own if case.margin <= 0]
            found = f"{len(own) - len(fails)} of {len(own)} do."
            if fails:
                some = fails[:5] + ([f"{len(fails) - 5} more"] if len(fails) > 5 else [])
                found += f" Not: {listed(some)}."
        statement = caption(f"claim-{number}")[0]
        claims.append(Claim(number, "", label, kind, True, statement, Evidence(own, found)))
    return tuple(claims)
