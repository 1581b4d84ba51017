"""Types of columns of text: numbers, yes or no, dates; found from all rows, not from the first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None")
"""Cells that stand for nothing."""

_NUMBER = re.compile(r"[+-]?(\d|[.,]\d|inf)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORDS = {"true": True, "false": False}


def typed(text: polars.Series, *, decimal_comma: bool = False) -> polars.Series:
    """Column of the narrowest type that holds every cell; text where there is none.

    Parameters
    ----------
    text : polars.Series
        Of strings.
    decimal_comma : bool, default=False
        Whether 1,5 is one and a half.

    Examples
    --------
    >>> import polars as pl
    >>> typed(pl.Series(["1", " 2", None])).to_list()
    [1, 2, None]
    >>> typed(pl.Series(["1", "2,5"]), decimal_comma=True).to_list()
    [1.0, 2.5]
    >>> typed(pl.Series(["2024-05-31"])).dtype
    Date
    >>> typed(pl.Series(["1", "two"])).to_list()
    ['1', 'two']
    """
    text = stripped(text)
    sample = text.drop_nulls()
    if not sample.len():
        return text
    first = sample[0]  # a type must fit all cells, so this one as well
    if _DATE.match(first):
        return _dates(text)
    if _NUMBER.match(first):
        return _numbers(text, decimal_comma)
    if first.lower() in _WORDS:
        return _truths(text)
    return text


def stripped(text: polars.Series) -> polars.Series:
    """Take away spaces around cells, which may have hidden that they stand for nothing."""
    if not text.str.contains(r"^\s|\s$").any():
        return text
    bare = text.str.strip_chars()
    return bare.set(bare.is_in(MISSING).fill_null(False), None)


def _numbers(text: polars.Series, decimal_comma: bool) -> polars.Series:
    import polars as pl

    plain = text.str.replace(",", ".", literal=True) if decimal_comma else text
    for kind in (pl.Int64, pl.Float64):
        found = plain.cast(kind, strict=False)
        if found.null_count() == text.null_count():
            return found
    return text


def _dates(text: polars.Series) -> polars.Series:
    import polars as pl

    day = text.str.to_date("%Y-%m-%d", strict=False)
    if day.null_count() == text.null_count():
        return day
    same = text.str.replace("T", " ", literal=True)
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        moment = same.str.to_datetime(form, strict=False)
        if moment.null_count() == text.null_count():
            return moment.cast(pl.Datetime("us"))
    return text


def _truths(text: polars.Series) -> polars.Series:
    import polars as pl

    found = text.str.to_lowercase().replace_strict(
        list(_WORDS), list(_WORDS.values()), default=None, return_dtype=pl.Boolean
    )
    return found if found.null_count() == text.null_count() else text
