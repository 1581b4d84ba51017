"""Real demand and real lifetimes.

Demand is from the Python package ddop (BSD-3-Clause; see LICENSE.ddop.txt in this folder). Both
tables hold demand, not sales, so the truth is known. To study censoring, add an order policy
(`unmet.simulate.history_orders`, `unmet.simulate.censor`).

Lifetimes are from the Python package surpyval (MIT; see LICENSE.surpyval.txt in this folder). Both
tables are censored: if ``suspended`` is true, the part had not failed at ``time``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

import polars as pl

from unmet.errors import InvalidInput

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def load_bakery(
    stores: Iterable[int] | None = None, products: Iterable[int] | None = None
) -> pl.DataFrame:
    """Load the daily demand of a bakery chain with 35 stores and 3 products, 2016 to 2019.

    Parameters
    ----------
    stores, products : iterable of int, optional
        Stores and products to keep; None keeps all. Products are 101 (high volume), 109 and 110.

    Returns
    -------
    polars.DataFrame
        127,575 rows from 2 January 2016 to 30 April 2019, sorted by store, product and date, with
        every day once in every series:

        - ``date``, ``weekday``, ``month``;
        - ``store``, ``product``;
        - ``demand`` in units: 0 on days without any, mostly holidays and closed days, and not a
          whole number in 42 rows;
        - ``is_holiday``, ``is_holiday_next2days``, ``is_schoolholiday``;
        - ``promotion_currentweek``, ``promotion_lastweek``;
        - ``rain``, ``temperature`` (°C) at the store.

    Notes
    -----
    Source: ddop 0.7.6, https://pypi.org/project/ddop/, licensed BSD-3-Clause, copyright the ddop
    developers. The weekday is computed from the date; in ddop each row has the weekday of the day
    before.

    Examples
    --------
    >>> from unmet.data import load_bakery
    >>> table = load_bakery(stores=[2], products=[101, 110])
    >>> table.shape
    (2430, 13)
    >>> table.select("date", "weekday", "demand").row(0)
    (datetime.date(2016, 1, 2), 'Saturday', 254.0)
    """
    table = _read("bakery.parquet")
    for name, column, wanted in (("stores", "store", stores), ("products", "product", products)):
        if wanted is None:
            continue
        chosen, known = list(wanted), table[column].unique().sort().to_list()
        unknown = [entry for entry in chosen if entry not in known]
        if unknown or not chosen:
            arrived = repr(unknown[0]) if unknown else "none"
            raise InvalidInput(f"{name} must be among {known}, got {arrived}.")
        table = table.filter(pl.col(column).is_in(chosen))
    return table


def load_yaz() -> pl.DataFrame:
    """Load the daily demand for seven ingredients of a restaurant in Stuttgart, 2013 to 2015.

    Returns
    -------
    polars.DataFrame
        765 rows, one for each day from 4 October 2013 to 7 November 2015, with

        - ``date``, ``weekday``, ``month``, ``is_holiday``, ``is_closed`` (then demand is 0);
        - ``wind``, ``clouds``, ``rain``, ``sunshine`` (minutes), ``temperature`` (°C);
        - the demands ``calamari``, ``fish``, ``shrimp``, ``chicken``, ``koefte``, ``lamb``,
          ``steak``: portions, whole numbers.

    Notes
    -----
    Source: ddop 0.7.6, https://pypi.org/project/ddop/, licensed BSD-3-Clause, copyright the ddop
    developers. The weekday is computed from the date; in ddop it is wrong in one row.

    Examples
    --------
    >>> from unmet.data import load_yaz
    >>> load_yaz().select("date", "weekday", "steak").row(0)
    (datetime.date(2013, 10, 4), 'Friday', 36)
    """
    return _read("yaz.parquet")


def _read(name: str) -> pl.DataFrame:
    table = _table(name)
    front = [pl.col(name) for name in ("store", "product", "demand") if name in table.columns]
    return table.select(
        "date",
        _named(pl.col("date").dt.weekday(), WEEKDAYS).alias("weekday"),
        _named(pl.col("date").dt.month(), MONTHS).alias("month"),
        *front,
        pl.exclude("date", "store", "product", "demand"),
    )


def _named(number: pl.Expr, names: tuple[str, ...]) -> pl.Expr:
    """Names for 1, 2, …; an enum, so that sorting by weekday does not start with Friday."""
    numbers = range(1, len(names) + 1)
    return number.replace_strict(numbers, names, return_dtype=pl.Enum(names))


def load_sae() -> pl.DataFrame:
    """Load lifetimes of an automotive component: 10 failures and 21 suspensions.

    Returns
    -------
    polars.DataFrame
        31 rows with

        - ``time``: when it failed, or when it was last seen working; the source names no unit;
        - ``suspended``: whether it had not failed by then.

    Notes
    -----
    Source: surpyval 0.25, https://pypi.org/project/surpyval/, MIT licence, copyright Derryn Knife;
    from Krivtsov and Case (1999), Peculiarities of Censored Data Analysis in Automotive Industry
    Applications, SAE Technical Paper 1999-01-3220.

    Examples
    --------
    >>> from unmet.data import load_sae
    >>> table = load_sae()
    >>> table.height, int(table["suspended"].sum())
    (31, 21)
    """
    return _table("sae.csv")


def load_tires() -> pl.DataFrame:
    """Load lifetimes of tires with seven measurements: 11 failures and 23 suspensions.

    Returns
    -------
    polars.DataFrame
        34 rows, everything in normalised units, with

        - ``tire_age``, ``wedge_gauge``, ``interbelt_gauge``, ``eb2b``, ``peel_force``,
          ``carbon_black``, ``wedge_gauge_peel_force``: the features;
        - ``time``, ``suspended``: as in `load_sae`.

    Notes
    -----
    Source: surpyval 0.25, https://pypi.org/project/surpyval/, MIT licence, copyright Derryn Knife;
    from Krivtsov, Tananko and Davis (2002), Regression approach to tire reliability analysis,
    Reliability Engineering and System Safety 78, 267-273.

    Examples
    --------
    >>> from unmet.data import load_tires
    >>> load_tires().select("tire_age", "peel_force", "time", "suspended").row(0)
    (1.22, 0.63, 1.02, True)
    """
    return _table("tires.csv")


def _table(name: str) -> pl.DataFrame:
    # by way of bytes, so that it also works from a zip file
    content = files("unmet.data").joinpath(name).read_bytes()
    return pl.read_csv(content) if name.endswith(".csv") else pl.read_parquet(content)
