"""Which column of a table of sales is what: guessed from names and from content.

A name makes a column a candidate for a entry, its content may refuse it: a flag holds yes and no,
stock that was available is not below sales, columns that tell series apart leave one row a day. Of
several candidates the one with the better name is taken; only where two are equally good must the
user say. Columns that are known only afterwards, such as hours out of stock, are never features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from unmet.errors import InvalidInput
from unmet.tables.reading import NO, YES, date_form, fitting_forms, read_dates, require_columns

if TYPE_CHECKING:
    import polars

NAMES: dict[str, tuple[str, ...]] = {
    "date": ("date", "ds", "dt", "day", "datum", "tag", "datetime", "timestamp", "week", "time"),
    "sales": (
        "sales",
        "units_sold",
        "unit_sales",
        "sold",
        "quantity_sold",
        "qty_sold",
        "sales_qty",
        "sales_quantity",
        "absatz",
        "verkauf",
        "verkauft",
        "verkäufe",
        "ventes",
        "vendu",
        "ventas",
        "vendido",
        "quantity",
        "qty",
        "units",
        "menge",
        "y",
        "observed",
        "demand",
        "nachfrage",
    ),
    "sold_out": (
        "sold_out",
        "soldout",
        "stockout",
        "stock_out",
        "out_of_stock",
        "oos",
        "censored",
        "ausverkauft",
        "in_stock",
        "instock",
    ),
    "stock": (
        "stock",
        "available",
        "inventory",
        "on_hand",
        "supply",
        "opening_stock",
        "stock_available",
        "delivered",
        "bestand",
        "anfangsbestand",
    ),
    "price": ("price", "unit_price", "selling_price", "sell_price", "sales_price", "preis", "prix"),
    "promotion": ("promotion", "promo", "discount", "campaign", "aktion", "rabatt", "onpromotion"),
}
"""Names of columns by entry, the likeliest first; a name that begins with one of them is next, and
one that has it as a part is last."""
OPPOSITE = ("in_stock", "instock")
"""Flags that are yes where a row did not sell out."""

AFTERWARDS = (
    *NAMES["sold_out"],
    *("demand", "truth", "nachfrage", "lost", "returns", "returned", "return", "retouren"),
    *("waste", "wasted", "spoilage", "spoiled", "leftover", "leftovers", "remaining", "unsold"),
    *("left", "left_over", "surplus", "closing", "end_of_day", "eod", "written_off"),
    *("endbestand", "restbestand", "übrig", "rest", "restant", "restants", "invendu", "invendus"),
    *("revenue", "turnover", "umsatz", "erlös", "profit", "takings"),
    *("transactions", "receipts", "customers", "customer_count", "footfall", "traffic", "guests"),
    *("visitors", "kunden", "gäste", "bons", "clients", "orders", "ordered", "last_sale"),
)
"""Parts of names of what nobody knows when orders are decided: never features."""

_ITEMS = (
    *("item", "product", "sku", "article", "material", "ean", "dish"),
    *("artikel", "produkt", "gericht"),
)
_PLACES = (
    *("store", "shop", "branch", "location", "outlet", "market", "restaurant"),
    *("filiale", "standort", "markt"),
)
_KINDS = (
    *("category", "cat", "department", "dept", "family", "class", "brand", "city", "region"),
    *("kategorie", "warengruppe", "abteilung", "marke", "hersteller", "stadt"),
)
_IDS = ("id", "ids", "code", "nr", "no", "number", "key", "name", "series", "unique_id")
_CALENDAR = (
    "weekday",
    "wochentag",
    "day_of_week",
    "dow",
    "month",
    "monat",
    "year",
    "quarter",
    "week",
)
_END = ("end", "closing", "left", "remaining", "rest", "after")
FLAG_VALUES = {*YES, *NO}
_MAX_COLUMNS = 4  # that tell series apart together
_MOSTLY = 0.95  # of the rows must fit what a column is taken for


@dataclass(frozen=True)
class Schema:
    """Which column is what, and why.

    Attributes
    ----------
    date, sales : str
    series : tuple of str
        Columns that tell series apart; none where the table is one series.
    sold_out, stock, price : str or None
    sold_out_opposite : bool
        Whether the flag says the opposite: that something was left.
    known : tuple of str
        What may be known beforehand, such as promotions and the weather: features, if a table of
        the coming days has them.
    static : tuple of str
        What never changes in a series, such as its category.
    why : dict of str to str
        A few words for each of the schema.
    left_out : dict of str to str
        Why a column is not used.
    """

    date: str
    sales: str
    series: tuple[str, ...] = ()
    sold_out: str | None = None
    sold_out_opposite: bool = False
    stock: str | None = None
    price: str | None = None
    known: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def with_sold_out(self, column: str) -> Schema:
        """Take a column of flags that the table did not have."""
        why = {**self.why, "sold_out": "what is left"}
        return replace(self, sold_out=column, sold_out_opposite=False, why=why)

    def with_known(self, told: Iterable[str]) -> Schema:
        """Keep as known beforehand what is told of the coming days; the rest is not used."""
        known = tuple(name for name in self.known if name in set(told))
        others = {name: "not told of the coming days" for name in self.known if name not in known}
        return replace(self, known=known, left_out={**self.left_out, **others})

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that a file should give as text: 007 is not 7."""
        return (*self.series, *self.static)


def given_columns(plan: Any) -> dict[str, Any]:
    """Columns that the user of a plan has named, as parameters of `infer_schema`."""
    names = ("date", "series", "sales", "sold_out", "stock", "price")
    return {"known": plan.known_future, **{name: getattr(plan, name) for name in names}}


def refuse_taken(schema: Schema, columns: Iterable[str]) -> None:
    """Refuse columns of dates and series that are called like columns of a table of orders."""
    clash = {schema.date, *schema.series} & set(columns)
    if clash:
        raise InvalidInput(
            "Columns of dates and items must be called otherwise than those of the orders, got "
            f"{min(clash)!r}: rename it."
        )


def infer_schema(
    table: polars.DataFrame,
    *,
    date: str | None = None,
    series: str | Sequence[str] | None = None,
    sales: str | None = None,
    sold_out: str | None = None,
    stock: str | None = None,
    price: str | None = None,
    known: str | Sequence[str] | None = None,
) -> Schema:
    """Guess which column is what, but for those that are given.

    Parameters
    ----------
    table : polars.DataFrame
    date, sales, sold_out, stock, price : str, optional
        Columns that are known to have the entry. "" for the last three: no column has it.
    series, known : str or sequence of str, optional

    Returns
    -------
    Schema

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"Day": ["2024-05-01", "2024-05-02"] * 2, "item": [7, 7, 8, 8],
    ...                       "sold": [3, 5, 0, 9], "waste": [1, 0, 2, 0],
    ...                       "Sold out": [0, 1, 0, 1]})
    >>> found = infer_schema(table)
    >>> found.date, found.series, found.sales, found.sold_out
    ('Day', ('item',), 'sold', 'Sold out')
    >>> found.left_out
    {'waste': 'known only afterwards'}
    """
    series, known = ((each,) if isinstance(each, str) else each for each in (series, known))
    given = {"date": date, "sales": sales, "sold_out": sold_out, "stock": stock, "price": price}
    for entry, name in given.items():
        require_columns(table, [name or None], entry)
    require_columns(table, series or (), "series")
    require_columns(table, known or (), "known_future")
    taken = {name for name in (*given.values(), *(series or ()), *(known or ())) if name}
    why = {entry: "given" for entry, name in given.items() if name is not None}
    free = [name for name in table.columns if name not in taken]

    day = date or _only("date", date_columns(table, free), why)
    free = [name for name in free if name != day]
    flags = [name for name in named(free, NAMES["sold_out"]) if holds_flags(table[name])]
    flag = sold_out or None
    if sold_out is None and flags:
        flag = _only("sold_out", _best(flags, "sold_out"), why)
    free = [name for name in free if name != flag]
    amount = sales or _sales(table, free, why)
    free = [name for name in free if name != amount]
    available = (stock or None) if stock is not None else _stock(table, free, amount, why)
    free = [name for name in free if name != available]
    dates = read_dates(table, day)
    keys = tuple(series) if series is not None else series_columns(table, free, dates)
    if keys is None:
        keys = ()
        _refuse_repeated(dates, day)
    if series is None:
        why["series"] = "with the date, one row each" if keys else "one row a day"
    else:
        why["series"] = "given"
    asked = price or None
    if price is None:
        prices = [name for name in named(free, NAMES["price"]) if table[name].dtype.is_numeric()]
        asked = prices[0] if prices else None
        if asked is not None:
            why["price"] = "its name"
    used = {day, flag, amount, available, asked, *keys}
    static, before, left = _others(
        table, [name for name in table.columns if name not in used], keys, known
    )
    if asked is not None:
        before = (asked, *before)
    opposite = flag is not None and _rank(flag, OPPOSITE) is not None
    return Schema(day, amount, keys, flag, opposite, available, asked, before, static, why, left)


# --- Candidates by name.


def plain(name: str) -> str:
    """Labels of a name with _ between them: Units sold, unitsSold and UNITS-SOLD are the same."""
    split = re.sub(r"(?<=[a-zäöü0-9])(?=[A-ZÄÖÜ])", "_", name)
    return re.sub(r"[^a-z0-9äöüß]+", "_", split.lower()).strip("_")


def named(columns: Iterable[str], names: Sequence[str], *, exactly: bool = False) -> list[str]:
    """Columns that have one of the names, or one as a part of theirs; the best first."""
    ranked = [(rank, name) for name in columns if (rank := _rank(name, names)) is not None]
    ordered = sorted(ranked, key=lambda each: each[0])
    return [name for rank, name in ordered if not exactly or rank[0] == 0]


def is_afterwards(name: str) -> bool:
    """Whether a name says that something is known only afterwards."""
    return _rank(name, AFTERWARDS) is not None


def _rank(name: str, names: Sequence[str]) -> tuple[int, int] | None:
    """How well a name fits: the same, a beginning, a part; then the place in the list."""
    words = f"_{plain(name)}_"
    found = []
    for place, each in enumerate(names):
        if words == f"_{each}_":
            found.append((0, place))
        elif words.startswith(f"_{each}_"):
            found.append((1, place))
        elif len(each) > 1 and f"_{each}_" in words:
            found.append((2, place))
    return min(found, default=None)


def _best(candidates: Sequence[str], entry: str) -> list[str]:
    """Those of the candidates that fit equally well."""
    ranks = [_rank(name, NAMES[entry]) or (9, 0) for name in candidates]
    return [name for name, rank in zip(candidates, ranks, strict=True) if rank == min(ranks)]


def _only(entry: str, candidates: Sequence[str], why: dict[str, str]) -> str:
    """Take the one candidate; none or several are for the user to say."""
    option = f"--{entry.replace('_', '-')}"
    if not candidates:
        raise InvalidInput(
            f"{entry} must be a column of the table, got none that looks like it: "
            f"name it ({option})."
        )
    if len(candidates) > 1:
        raise InvalidInput(
            f"{entry} must be one column, got {' and '.join(map(repr, candidates))}, which look "
            f"equally good: name it ({option})."
        )
    why.setdefault(entry, "its name" if _rank(candidates[0], NAMES[entry]) else "its content")
    return candidates[0]


# --- Candidates by content.


def date_columns(table: polars.DataFrame, columns: Iterable[str]) -> list[str]:
    """Columns of dates with the best names; several are equally good."""
    import polars as pl

    found = []
    for name in columns:
        column = table[name]
        if column.null_count() or not column.len():
            continue
        named_so = _rank(name, NAMES["date"]) is not None
        if column.dtype in (pl.Date, pl.Datetime):
            found.append(name)
        elif column.dtype in (pl.String, pl.Categorical, pl.Enum) or (
            named_so and column.dtype.is_integer()
        ):
            some = column.cast(pl.String).head(50).str.strip_chars()
            if not named_so and not some.str.contains(r"\d.*\d").all():
                continue
            try:
                read_dates(table, name, date_form(table, name))
            except InvalidInput:
                ambiguous = column.dtype == pl.String and fitting_forms(some)
                if not (named_so and ambiguous):
                    continue  # a date that is day or month is refused where it is read
            found.append(name)
    return _best(found, "date") if found else []


def holds_flags(column: polars.Series) -> bool:
    """Whether a column holds yes and no, in any of the usual ways."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return True
    values = column.drop_nulls().unique().head(8).cast(pl.String).str.strip_chars()
    found = set(values.str.to_lowercase().to_list())
    return bool(found) and found <= FLAG_VALUES


def _sales(table: polars.DataFrame, free: list[str], why: dict[str, str]) -> str:
    numeric = [name for name in free if table[name].dtype.is_numeric()]
    fitting = [
        name
        for name in named(numeric, NAMES["sales"])
        if _rank(name, NAMES["price"]) is None and not is_id(name)
    ]
    if fitting:
        best = _best(fitting, "sales")
        return _only("sales", best, why)
    rest = [
        name
        for name in numeric
        if not (is_id(name) or is_afterwards(name) or holds_flags(table[name]))
        and _rank(name, (*NAMES["price"], *NAMES["promotion"], *NAMES["stock"])) is None
        and table[name].n_unique() > 1
    ]
    return _only("sales", rest, why)


def _stock(table: polars.DataFrame, free: list[str], sales: str, why: dict[str, str]) -> str | None:
    """Find what was available: numbers that sales do not exceed."""
    for name in named(free, NAMES["stock"]):
        column = table[name]
        if not column.dtype.is_numeric() or _rank(name, _END) is not None or holds_flags(column):
            continue
        both = table.select(name, sales).drop_nulls()
        if both.height and (both[name] >= both[sales]).mean() >= _MOSTLY:  # type: ignore[operator]
            why["stock"] = "its name, and sales are not above it"
            return name
    return None


def is_id(name: str) -> bool:
    """Whether a name says item, place, kind or number of one, not an amount."""
    return _rank(name, (*_ITEMS, *_PLACES, *_KINDS, *_IDS)) is not None and (
        _rank(name, ("sales", "sold", "units", "quantity", "qty", "price")) is None
    )


def is_item(name: str) -> bool:
    """Whether a name says item, product, article; not a kind of them."""
    return _rank(name, _ITEMS) is not None and _rank(name, _KINDS) is None


def is_place(name: str) -> bool:
    """Whether a name says shop, store, branch."""
    return _rank(name, _PLACES) is not None


def series_columns(
    table: polars.DataFrame, columns: Iterable[str], dates: polars.Series
) -> tuple[str, ...] | None:
    """Fewest columns that leave one row a day in each series; None where there are none.

    Of several that do, those are taken whose names say item or place.
    """
    import polars as pl

    text = (pl.String, pl.Categorical, pl.Enum)
    day = dates.alias("\0day")
    if not day.is_duplicated().any():
        return ()
    whole = table.with_columns(day)
    n_days = day.n_unique()
    candidates: list[tuple[int, str]] = []
    for name in columns:
        kind = table[name].dtype
        if not (kind in text or (kind.is_integer() and is_id(name))):
            continue
        pairs = whole.select("\0day", name).n_unique()
        if pairs > n_days or table[name].n_unique() == 1:  # else it says no more than the date
            candidates.append((_place_of(name), name))
    ranked = [name for _, name in sorted(candidates, key=lambda each: each[0])]
    few = whole.filter(day.is_in(day.unique().sort().head(20).implode()))
    for size in range(1, min(_MAX_COLUMNS, len(ranked)) + 1):
        fitting = []
        for names in combinations(ranked, size):
            keys = ["\0day", *names]
            if few.select(keys).n_unique() == few.height and (
                whole.select(keys).n_unique() == whole.height
            ):
                fitting.append(names)
        if fitting:
            # all of them tell rows apart: the better names, then the fewer series
            def order(names: tuple[str, ...]) -> tuple[int, int]:
                return sum(map(_place_of, names)), table.select(names).n_unique()

            best = min(fitting, key=order)
            return tuple(name for name in table.columns if name in best)
    return None


def _place_of(name: str) -> int:
    """How likely a name tells series apart: items and places, other ids, kinds of items."""
    if _rank(name, (*_ITEMS, *_PLACES)) is not None and _rank(name, _KINDS) is None:
        return 0
    return 2 if _rank(name, _KINDS) is not None else 1


def _refuse_repeated(dates: polars.Series, name: str) -> None:
    twice = int(dates.is_duplicated().arg_max() or 0)
    raise InvalidInput(
        f"Each series must have one row a day, got {dates[twice]} several times in column "
        f"{name!r} and no columns that tell these rows apart: name them (--series), or add rows "
        "of the same day up."
    )


def _others(
    table: polars.DataFrame,
    columns: Sequence[str],
    keys: Sequence[str],
    given: Sequence[str] | None,
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Sort the other columns: what never changes in a series, what may be known, what is not."""
    import polars as pl

    static: list[str] = []
    before: list[str] = list(given or ())
    left: dict[str, str] = {}
    n_series = table.select(keys).n_unique() if keys else 1
    for name in columns:
        column = table[name]
        if name in before:
            continue
        values = column.drop_nulls().n_unique()
        if is_afterwards(name):
            left[name] = "known only afterwards"
        elif plain(name) in _CALENDAR:
            left[name] = "made from the date anyway"
        elif values < 2:
            left[name] = "always the same"
        elif keys and n_series > 1 and table.select(*keys, name).n_unique() == n_series:
            static.append(name)
        elif column.dtype.is_numeric() and _rank(name, NAMES["stock"]) is not None:
            left[name] = "known only afterwards"  # also where the user says that it is no limit
        elif given is not None:
            left[name] = "not named"
        elif column.dtype.is_temporal():
            left[name] = "another date"
        elif column.dtype.is_numeric() or column.dtype == pl.Boolean or values <= 60:
            before.append(name)
        else:
            left[name] = "text of many values"
    return tuple(static), tuple(before), left
