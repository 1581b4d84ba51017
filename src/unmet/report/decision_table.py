"""Decisions as a table that can be searched and sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unmet.bands.picture_words import decimals_for, fixed, number
from unmet.report.markup import Html, element, joined, table
from unmet.report.words import Words

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["ROWS", "decision_table"]

ROWS = 200
_MISSING = "–"
_RESULTS = ("ignoring", "decision")
_DIGITS = 4


def decision_table(decisions: DataFrame, n_decisions: int, words: Words) -> Html:
    """Lay out the first rows, a field to search them, and a sentence on the others.

    Parameters
    ----------
    decisions : polars.DataFrame
    n_decisions : int
        Rows in all.
    words : Words

    Returns
    -------
    Html
    """
    shown = decisions.head(ROWS)
    decimals = _decimals(shown["decision"])
    columns = {name: _cells(shown[name], decimals) for name in shown.columns}
    header = [_heading(name, words) for name in columns]
    numeric = [shown[name].dtype.is_numeric() for name in columns]
    if "ignoring" in columns:
        columns["change"] = _changes(shown, decimals)
        header.append("change")
        numeric.append(True)
    count = max(n_decisions, decisions.height)
    made = table(
        f"{words.decisions[:1].upper()}{words.decisions[1:]}, {_rows(shown.height, count)}",
        header,
        zip(*columns.values(), strict=True),
        numeric=numeric,
        id_="decisions",
    )
    return joined([_search(shown.height), made, _rest(shown.height, count)])


def _search(rows: int) -> Html:
    """Make a field that scripts show: without them it would do nothing."""
    if rows < 2:
        return Html()
    box = element("input", type="search", id="search", autocomplete="off")
    label = element("label", "Search these rows ", box)
    count = element("span", role="status", id="found")
    return element("p", label, " ", count, class_="search", hidden=True)


def _rest(shown: int, count: int) -> Html:
    if shown >= count:
        return Html()
    more = f"{count - shown:,} more rows are in the table of decisions, not in this file."
    return element("p", more, class_="quiet")


def _rows(shown: int, count: int) -> str:
    if shown < count:
        return f"first {shown:,} of {count:,} rows"
    return "one row" if count == 1 else f"{count:,} rows"


def _heading(name: str, words: Words) -> str:
    return {"decision": words.decision, "ignoring": words.ignoring}.get(name, name)


def _cells(column: Series, decimals: int) -> list[str]:
    """Numbers that were decided with thousands set off; names and codes as they are."""
    show: Callable[[Any], str] = str
    if column.name in _RESULTS:

        def show(value: Any) -> str:
            return fixed(float(value), decimals)
    elif column.dtype.is_float():

        def show(value: Any) -> str:
            return str(int(value)) if float(value).is_integer() else number(value, _DIGITS)

    return [_MISSING if value is None else show(value) for value in column.to_list()]


def _changes(shown: DataFrame, decimals: int) -> list[str]:
    differences = (shown["decision"] - shown["ignoring"]).to_list()
    return [_MISSING if value is None else _signed(value, decimals) for value in differences]


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals) or 0.0
    return fixed(rounded, decimals) if rounded <= 0 else f"+{fixed(rounded, decimals)}"


def _decimals(column: Series) -> int:
    """Whole numbers have none; others as many as four digits of a typical one need."""
    numbers = [float(value) for value in column.drop_nulls().to_list()]
    if all(value.is_integer() for value in numbers):
        return 0
    sizes = sorted(abs(value) for value in numbers)
    return decimals_for(sizes[len(sizes) // 2], _DIGITS)
