"""The part of the page that needs no streamlit: read files, guess columns, write commands.

A guess is a start that the user corrects.
"""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from unmet.errors import InvalidInput
from unmet.planning import OrderPlan, Schema, infer_schema
from unmet.planning.replenishment import EMPTY
from unmet.report.data import PARTS, histories, series_name
from unmet.report.tables import item_name
from unmet.tables.dates import dates_as_read, find_period, read_dates
from unmet.tables.forms import as_long
from unmet.tables.reading import SUFFIXES, TableFile, read_file, table_bytes
from unmet.tables.schema import (
    NAMES,
    OPPOSITE,
    date_columns,
    holds_flags,
    is_afterwards,
    is_id,
    named,
    plain,
    series_columns,
)

if TYPE_CHECKING:
    import polars


# --- Files that somebody brings, and guesses for decisions on rows.

MAX_MEGABYTES = 50
MAX_BYTES = MAX_MEGABYTES * 1024 * 1024
"""Larger files are for the command line."""
MAX_UNPACKED = 10 * MAX_BYTES

_LONGEST = 100  # characters of a file's name
_MAX_FEATURES = 12
_MAX_VALUES = 60  # a text column with more is a name, not a category

_OBSERVED = {
    "newsvendor": NAMES["sales"],
    "pricing": ("price", "offer", "offered", "offered_price", "quote", "observed"),
    "replacement": ("time", "age", "hours", "days", "lifetime", "duration", "km", "observed"),
}
_FLAGS = {
    "newsvendor": NAMES["sold_out"],
    "pricing": ("accepted", "sold", "won", "bought"),
    "replacement": ("failed", "failure", "event", "suspended", "censored"),
}
OTHER_FLAGS = (*_FLAGS["pricing"], *_FLAGS["replacement"][:-1])
"""Flags of tables that are no history of sales."""
_OPPOSITE = ("failed", "failure", "event")
_TRUTH = ("demand", "truth", "true_demand", "lifetime", "reservation_price", "worth")
_COSTS = {
    "underage_column": ("underage", "underage_cost", "margin"),
    "overage_column": ("overage", "overage_cost"),
}


def read_uploaded(
    name: str, data: bytes, decimal: str | None = None, *, text: Collection[str] = ()
) -> TableFile:
    r"""Read a table from the bytes of a file, and keep the format of the file.

    Parameters
    ----------
    name : str
        Name of the file; its ending determines the format.
    data : bytes
        Contents of the file, at most `MAX_BYTES`.
    decimal : {".", ","}, optional
        Decimal sign, if the file does not show it.
    text : collection of str
        Columns that stay text whatever they look like.

    Returns
    -------
    TableFile
        The table and the format.

    Examples
    --------
    >>> from unmet.app.planning import read_uploaded
    >>> read_uploaded("sales.csv", b"day;price\n2024-05-01;1,5\n").table.row(0)
    (datetime.date(2024, 5, 1), 1.5)
    """
    short = PurePath(name.replace("\\", "/")).name[-_LONGEST:]
    if len(data) > MAX_BYTES:
        raise InvalidInput(
            f"{short} must not be larger than {MAX_MEGABYTES} MB, got "
            f"{len(data) / 1024 / 1024:,.0f} MB: use the command line (unmet plan) for such files."
        )
    if not short.lower().endswith(SUFFIXES):
        raise InvalidInput(
            f"{short or 'The file'} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )
    suffix = next(each for each in sorted(SUFFIXES, key=len) if short.lower().endswith(each))
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"table{suffix}"
        file.write_bytes(data)
        if (size := _unpacked(file)) > MAX_UNPACKED:
            raise InvalidInput(
                f"{short} must not unpack to more than {MAX_UNPACKED:,} bytes or cells, got "
                f"{size:,} or more: use the command line (unmet plan) for such files."
            )
        try:
            found = read_file(file, text=text, decimal=decimal)
        except InvalidInput as error:
            raise type(error)(str(error).replace(str(file), short)) from None
    table, said, _ = as_long(found.table)
    if said:
        found = replace(found, table=table, cells=None)
    notes = (*(each.replace(file.name, short) for each in found.notes), *said)
    return replace(found, notes=notes)


def _unpacked(file: Path) -> int:
    """Bytes, or cells of a Parquet file, that a file unpacks to; what is no such file has none.

    A small file that fills the memory would end the sessions of all users.
    """
    import polars as pl

    name = file.name
    try:
        if name.endswith(".gz"):
            with gzip.open(file) as text:
                blocks = iter(lambda: len(text.read(1 << 20)), 0)
                return sum(islice(blocks, 1 + (MAX_UNPACKED >> 20)))
        if name.endswith(".xlsx"):
            with ZipFile(file) as parts:
                return sum(each.file_size for each in parts.infolist())
        if name.endswith((".parquet", ".pq")):
            table = pl.scan_parquet(file)
            return int(table.select(pl.len()).collect().item()) * len(table.collect_schema())
    except (OSError, EOFError, BadZipFile, pl.exceptions.PolarsError):
        pass  # reading it says what is wrong
    return 0


def guess_plan(table: polars.DataFrame, problem: str = "newsvendor") -> dict[str, Any]:
    """Guess the options of a `DecisionPlan` from names and types of columns.

    Parameters
    ----------
    table : polars.DataFrame
        Table of the user.
    problem : {"newsvendor", "pricing", "replacement"}
        Kind of decision.

    Returns
    -------
    dict of str to Any
        Names of columns. Costs are not guessed, but columns that hold them are.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.app.planning import guess_plan
    >>> table = pl.DataFrame({"Shop": ["a", "b"], "Price": [1.0, 2.0], "Sold out": [0, 1],
    ...                       "Units sold": [5, 7]})
    >>> found = guess_plan(table)
    >>> found["observed"], found["features"], found["censored_column"]
    ('Units sold', ('Shop', 'Price'), 'Sold out')
    """
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    flags = [
        name
        for name in named(table.columns, _FLAGS[problem])
        if holds_flags(table[name]) and plain(name) not in OPPOSITE
    ]
    flag = flags[0] if flags else None
    kept = [name for name in numeric if name != flag]
    if not kept:
        raise InvalidInput("The table must have a column of numbers, got none.")
    observed = next(iter(named(kept, _OBSERVED[problem], exactly=True)), kept[-1])
    date = next(iter(date_columns(table, table.columns)), None)
    stocked = [name for name in named(kept, NAMES["stock"], exactly=True) if name != observed]
    stock = stocked[0] if stocked and problem == "newsvendor" else None
    labels: dict[str, Any] = {"observed": observed, "date": date}
    if problem != "replacement":
        costs = {
            field: next(iter(named(kept, names, exactly=True)), None)
            for field, names in _COSTS.items()
        }
        labels |= {field: column for field, column in costs.items() if column is not None}
    # what became of a row is no feature, whatever the problem
    telling = {*NAMES["stock"], *_TRUTH, *(name for group in _FLAGS.values() for name in group)}
    used = {flag, stock, *labels.values()}
    labels["features"] = _features(
        table,
        [
            name
            for name in table.columns
            if name not in used
            and plain(name) not in telling
            and not (problem == "newsvendor" and is_afterwards(name))
        ],
    )
    labels["series"] = () if date is None else _series(table, date)
    if flag is not None and problem == "pricing":
        labels["accepted_column"] = flag
    elif flag is not None:
        labels["failed_column" if plain(flag) in _OPPOSITE else "censored_column"] = flag
    if stock is not None:
        labels["stock_column"] = stock
    return labels


def guess_truth(table: polars.DataFrame) -> str | None:
    """Guess the column of the truth; None if no name suggests one."""
    found = next(iter(named(table.columns, _TRUTH, exactly=True)), None)
    return found if found is not None and table[found].dtype.is_numeric() else None


def _features(table: polars.DataFrame, columns: list[str]) -> tuple[str, ...]:
    """Take columns that vary: numbers, and text of few values."""
    import polars as pl

    chosen = []
    for name in columns:
        column = table[name]
        number = column.dtype.is_numeric() or column.dtype == pl.Boolean
        text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        values = column.drop_nulls().n_unique() if number or text else 0
        if values > 1 and (number or values <= _MAX_VALUES):
            chosen.append(name)
    return tuple(chosen[:_MAX_FEATURES])


def _series(table: polars.DataFrame, date: str) -> tuple[str, ...]:
    """Columns that leave one row a day in each series; none where it is hard to say."""
    try:
        dates = read_dates(table, date)
    except InvalidInput:
        return ()
    return series_columns(table, table.columns, dates) or ()


# --- Which columns, and which way to work.


def guess(table: polars.DataFrame, **given: Any) -> tuple[Schema | None, str]:
    """Guess the columns; if that is hard, try without flags, then without series.

    Parameters
    ----------
    table : polars.DataFrame
        Table of the user.
    **given
        Known fields of the schema.

    Returns
    -------
    schema : Schema or None
        None if dates or sales cannot be guessed.
    doubt : str
        Why a column could not be guessed, in one sentence; empty otherwise.
    """
    doubt = ""
    easier: tuple[dict[str, Any], ...] = ({}, {"sold_out": ""}, {"series": ()})
    for less in (*easier, easier[1] | easier[2]):
        try:
            return infer_schema(table, Schema(**given, **less)), doubt
        except InvalidInput as error:
            doubt = doubt or str(error)
    return None, doubt


def has_history(table: polars.DataFrame) -> bool:
    """Whether a table is a history of sales, by day or by week: it has dates and sales.

    Examples
    --------
    >>> import polars as pl
    >>> has_history(pl.DataFrame({"date": ["2024-05-01", "2024-05-02"], "sold": [3, 5]}))
    True
    >>> has_history(pl.DataFrame({"size": [1.0, 2.5], "offer": [3, 5], "accepted": [1, 0]}))
    False
    """
    if not date_columns(table, table.columns):
        return False
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    if any(not is_id(name) for name in named(numeric, NAMES["sales"])):
        return True
    other = named(table.columns, OTHER_FLAGS, exactly=True)
    return not other and guess(table)[0] is not None


def unit_of(table: polars.DataFrame, date: str) -> str:
    """Say what orders are for: days, weeks, months or quarters."""
    return find_period(read_dates(table, date), date).split()[-1] + "s"


# --- What is shown of one item.


def items(plan: OrderPlan) -> dict[int, str]:
    """Places and names of the series that orders are for."""
    keys, series = plan.panel_.keys, plan.schema_.series
    if not series or keys is None:
        return {0: "All sales"}
    names = keys.select(item_name(series)).to_series().to_list()
    return {place: names[place] for place in np.flatnonzero(plan.panel_.planned).tolist()}


def item_of(plan: OrderPlan, place: int) -> tuple[dict[str, Any], polars.DataFrame]:
    """Give an item as `unmet.report.tables` has it, and its rows of the orders.

    Parameters
    ----------
    plan : OrderPlan
    place : int
        Of the series in the panel.
    """
    panel, schema, rows = plan.panel_, plan.schema_, plan.order_table_
    for name in schema.series:
        assert panel.keys is not None
        rows = rows.filter(rows[name] == panel.keys[name][place])
    item = {
        "name": series_name(plan, place),
        "past": histories(plan, np.array([place]), panel.n_days),
        "coming": rows.select(date=schema.date, decision="order"),
        "parts": {words: float(rows[name].sum()) for name, words in PARTS.items()},
    }
    return item, rows


# --- What is taken away.


def orders_name(table: str) -> str:
    """Name a file of orders by the kind of the table that they follow from."""
    ending = table.lower().rpartition(".")[2]
    return f"orders.{ending if ending in ('parquet', 'pq', 'xlsx') else 'csv'}"


def written(plan: OrderPlan, file: TableFile, name: str) -> bytes:
    """Write orders as a file was: its kind and, in text, its signs and its form of dates."""
    import polars as pl

    orders, date = plan.order_table_, plan.schema_.date
    if name.endswith(".csv") and date in file.table.columns:
        days = [each for each, kind in orders.schema.items() if kind == pl.Date]
        orders = orders.with_columns(dates_as_read(orders[each], file.table[date]) for each in days)
    return table_bytes(orders, f".{name.rpartition('.')[2]}", file.dialect)


def plan_command(
    plan: OrderPlan,
    guess: Schema | None,
    table: str = "sales.csv",
    *,
    orders: str = "orders.csv",
    **others: str | None,
) -> str:
    """Write the command that makes the same orders.

    Parameters
    ----------
    plan : OrderPlan
        Fitted plan.
    guess : Schema or None
        Columns that the command would guess; only differences are written. None writes all columns.
    table, orders : str
        Names of files.
    **others : str
        Further options as they are: ``future``, ``on_order`` (files) and ``decimal``.

    Returns
    -------
    str
        One line for a shell, with quoted options.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import OrderPlan
    >>> from unmet.app.planning import plan_command
    >>> from unmet.planning import example
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, model="seasonal").fit(sales)
    >>> plan_command(plan, plan.schema_).startswith("unmet plan sales.csv")
    True
    """
    options: dict[str, Any] = {"horizon": plan.horizon, "lead_time": plan.lead_time or None}
    costs = {"underage": float(plan.cost_.underage), "overage": float(plan.cost_.overage)}
    if plan.supply is not None:
        rules = plan.rules_
        options = {"lead_time": int(rules.lead_time), "review": int(rules.review)}
        options["on_hand"] = plan.schema_.on_hand
        costs = {"holding": float(rules.holding), "shortage": float(rules.shortage)}
    if not plan.costs_are_money:
        costs = {} if plan.cost is None else {"service_level": float(plan.cost_.level)}
    options |= costs
    if plan.supply is None:
        options["sellout_rate"] = plan.sellout_rate
    options |= _other_columns(plan, guess) | others
    if plan.supply is None:
        options["model"] = None if plan.model == "auto" else plan.model
    words = ["unmet", "plan" if plan.supply is None else "replenish", table]
    for name, value in options.items():
        if value is not None:
            text = f"{value:.12g}" if isinstance(value, float) else value
            shown = ",".join(text) if isinstance(text, tuple) else str(text)
            words += [f"--{name.replace('_', '-')}", shown]
    return shlex.join([*words, "-o", orders])


def _other_columns(plan: OrderPlan, guess: Schema | None) -> dict[str, Any]:
    """Options for columns that are not what the command would guess, and for gaps and holidays."""
    own, options = plan.schema_, dict[str, Any]()
    if guess is None or (own.date, own.sales) != (guess.date, guess.sales):
        guess = Schema(
            "", ("",), "", sold_out="", stock="", price=""
        )  # the others hang on these two
    for name in ("date", "series", "sales", "sold_out", "stock", "price"):
        column = getattr(own, name)
        same = column == getattr(guess, name) or (name == "series" and not column)
        if name == "sold_out" and column == EMPTY:
            same = True  # no column: what is left at the end tells
        options[name] = None if same else (column or "none")
    return options | {"gaps": None if own.gaps == "auto" else own.gaps, "country": plan.country}
