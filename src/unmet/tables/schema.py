"""Schema of a table of sales: given by the user, or inferred from names and content of columns.

A name makes a column a candidate for a field, and its content may rule it out: a flag holds yes and
no, available stock is not below sales, and the columns of a series leave one row a day. Of several
candidates, the one with the better name is taken; the user must decide only if two are equally
good. Columns that are known only afterwards, such as hours out of stock, are never features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import polars as pl

from unmet.errors import InvalidInput
from unmet.tables.dates import could_be_dates, date_form, read_dates
from unmet.tables.reading import NO, YES, numbers, require_columns


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES: dict[str, tuple[str, ...]] = {
    "date": _words("date ds dt day datum tag datetime timestamp week time fecha data ts epoch"),
    "sales": _words(
        "sales units_sold unit_sales sold quantity_sold qty_sold sales_qty sales_quantity absatz "
        "verkauf verkauft verkäufe ventes vendu vendue ventas vendido quantity qty units menge "
        "quantite qte cantidad quantita quantidade aantal y observed demand nachfrage anzahl stück "
        "consumption verbrauch volume amount cnt count actual"
    ),
    "sold_out": _words(
        "sold_out soldout stockout stock_out out_of_stock oos censored ausverkauft in_stock instock"
    ),
    "stock": _words(
        "stock available inventory on_hand supply opening_stock stock_available delivered bestand "
        "anfangsbestand supplied produced baked"
    ),
    "price": _words(
        "price unit_price selling_price sell_price sales_price preis prix precio prezzo preco prijs"
    ),
    "promotion": _words("promotion promo discount campaign aktion rabatt onpromotion"),
}
"""Names of columns by field, the likeliest first; a name that begins with one of them is next, and
one that has it as a part is last."""
OPPOSITE = ("in_stock", "instock")
"""Flags that are yes where a row did not sell out."""

AFTERWARDS = NAMES["sold_out"] + _words(
    "demand truth nachfrage lost returns returned return retouren waste wasted spoilage spoiled "
    "leftover leftovers remaining unsold left left_over surplus closing end_of_day eod written_off "
    "endbestand restbestand übrig rest restant restants invendu invendus revenue turnover umsatz "
    "erlös profit takings transactions receipts customers customer_count footfall traffic guests "
    "visitors kunden gäste bons clients orders ordered last_sale margin gross_margin cogs money "
    "betrag line_total hours_out void voided refund refunded omzet importe"
)
"""Parts of names of what nobody knows when orders are decided: never features."""

_ITEMS = _words(
    "item product sku article material ean upc plu dish artikel produkt gericht stock_code "
    "stockcode part_number menu_item unique_id produit reference producto articulo articolo "
    "prodotto produto asin"
)
_PLACES = _words(
    "store shop branch location outlet market restaurant filiale standort markt warehouse whse "
    "depot plant lager werk magasin tienda negozio winkel loja"
)
_KINDS = _words(
    "category cat department dept family class brand city region kategorie warengruppe abteilung "
    "marke hersteller stadt"
)
_IDS = _words("id ids code nr no number key name series unique_id")
TICKET = _words(
    "receipt receipt_id basket transaction invoice ticket order_id order_no order_number bon beleg "
    "kassenbon rechnung"
)
RECEIPT = (*TICKET, *_words("order row line zeile pos position index"))
"""Names of receipts and lines: numbers that never come again."""
_NOT_SERIES = (
    *RECEIPT,
    *_words("customer client kunde cashier kassierer till kasse user email phone card postal zip"),
    *_words("payment cash_type address description comment note notes remark bemerkung"),
)
_UNITS = _words(
    "quantity qty units units_sold quantity_sold qty_sold unit_sales menge anzahl stück absatz "
    "quantite qte cantidad quantita quantidade aantal"
)
_BACK = _words("return returned returns retouren refund refunded void cancelled expired waste lost")
_MONEY = _words(
    "money betrag revenue umsatz turnover erlös value net gross line_total total totale importe "
    "valor omzet ca cost"
)
_WEATHER = _words(
    "temperature temp atemp tavg rain rainfall precipitation precpt humidity hum wind windspeed "
    "snow sunshine clouds weather wetter regen temperatur"
)
_LATER = _words(
    "ship shipped shipping delivery delivered due paid payment updated modified return end expiry "
    "birth liefer lieferung fulfilled"
)
_CALENDAR = _words(
    "weekday wochentag day_of_week dow month mnth monat year yr jahr quarter quartal week woche kw "
    "hour stunde minute day_of_month day_of_year week_of_year"
)
_END = _words("end closing left remaining rest after")


@dataclass(frozen=True)
class Schema:
    """Schema of a table: its columns by their meaning.

    `infer_schema` infers the fields that are not given.

    Attributes
    ----------
    date, sales : str
        Columns of dates and of sales. None infers them.
    series : str or sequence of str
        Columns that identify a series, () if the table is a single series. None infers them.
    sold_out, stock, price : str
        Columns of stock-out flags, available stock and prices. None infers them; "" is no column.
    known_future : str or sequence of str
        Columns known in advance, such as promotions and the weather. They are features if a table
        of the coming days has them. None infers them.
    on_hand : str
        Column of the stock at the end of each period; never inferred.
    gaps : {"auto", "missing", "zero"}
        Meaning of days without a row: unknown ("missing"), days without sales ("zero"), or inferred
        ("auto").
    duplicates : {"sum", "error", "last"}
        What to do with several rows of a series and period: add them up, refuse them, or take the
        last.
    period : {"day", "business day", "week", "month", "quarter", "year"}
        Period of a row, to which rows are added up. None infers it.
    date_format : str
        Format of dates in text, such as "%d/%m/%Y", if rows do not show which is the day.
    sold_out_opposite : bool
        Whether the flag means the opposite, that something was left; inferred from its name.
    static : tuple of str
        Inferred: columns that never change within a series, such as its category.
    why : dict of str to str
        Inferred: a few words about each field.
    left_out : dict of str to str
        Inferred: why a column is not used.

    Examples
    --------
    >>> from unmet.planning import Schema
    >>> Schema(date="day", series="item").series
    ('item',)
    """

    date: Any = None
    series: Any = None
    sales: Any = None
    sold_out: str | None = None
    stock: str | None = None
    price: str | None = None
    known_future: Any = None
    on_hand: str | None = None
    gaps: str = "auto"
    duplicates: str = "sum"
    period: str | None = None
    date_format: str | None = None
    sold_out_opposite: bool = False
    static: tuple[str, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("series", "known_future"):
            given = getattr(self, name)
            if given is not None:
                several = (given,) if isinstance(given, str) else tuple(given)
                object.__setattr__(self, name, several)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        return asdict(self)

    def with_sold_out(self, column: str) -> Schema:
        """Set a column of flags that the table did not have."""
        why = {**self.why, "sold_out": "stock at the end"}
        return replace(self, sold_out=column, sold_out_opposite=False, why=why)

    def with_known_future(self, told: Iterable[str]) -> Schema:
        """Keep the columns known in advance that the coming days have, and leave out the rest."""
        known = tuple(name for name in self.known_future if name in set(told))
        others = {
            name: "not in a table of coming days" for name in self.known_future if name not in known
        }
        return replace(self, known_future=known, left_out={**self.left_out, **others})

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that a file should give as text: 007 is not 7."""
        return (*self.series, *self.static)

    def refuse_taken(self, columns: Iterable[str]) -> None:
        """Refuse columns of dates and series that are named like columns of a table of orders."""
        clash = {self.date, *self.series} & set(columns)
        if clash:
            raise InvalidInput(
                "Columns of dates and series must not have a name of a column of orders, got "
                f"{min(clash)!r}: rename it."
            )


def infer_schema(
    table: pl.DataFrame, schema: Schema | None = None, told: Iterable[str] = ()
) -> Schema:
    """Infer the fields of a schema that are not given.

    Parameters
    ----------
    table : polars.DataFrame
        A table of sales.
    schema : Schema, optional
        Known fields; fields that are None are inferred. None infers all.
    told : iterable of str
        Columns of a table of coming days: they are known in advance, whatever their names.

    Returns
    -------
    Schema
        Complete schema: `date`, `sales`, `series` and `known_future` are not None.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.planning import Schema, infer_schema
    >>> table = pl.DataFrame({"Day": ["2024-05-01", "2024-05-02"] * 2, "item": [7, 7, 8, 8],
    ...                       "sold": [3, 5, 0, 9], "waste": [1, 0, 2, 0],
    ...                       "Sold out": [0, 1, 0, 1]})
    >>> found = infer_schema(table)
    >>> found.date, found.series, found.sales, found.sold_out
    ('Day', ('item',), 'sold', 'Sold out')
    >>> found.left_out
    {'waste': 'known only afterwards'}
    >>> infer_schema(table, Schema(sold_out="")).sold_out is None
    True
    """
    given = schema or Schema()
    single = {
        name: getattr(given, name) for name in ("date", "sales", "sold_out", "stock", "price")
    }
    for name, column in {**single, "on_hand": given.on_hand}.items():
        require_columns(table, [column or None], name)
    for name in ("series", "known_future"):
        require_columns(table, getattr(given, name) or (), name)
    why = {name: "given" for name, column in single.items() if column is not None}
    several = (*(given.series or ()), *(given.known_future or ()), given.on_hand)
    taken = {column for column in (*single.values(), *several) if column}
    free = [name for name in table.columns if name not in taken]

    def took(column: str | None) -> str | None:
        if column in free:
            free.remove(column)
        return column

    date = took(given.date or _only(table, "date", date_columns(table, free), why))
    sold_out = given.sold_out or None
    flags = [name for name in named(free, NAMES["sold_out"]) if holds_flags(table[name])]
    if given.sold_out is None and flags:
        sold_out = took(_only(table, "sold_out", _best(flags, "sold_out"), why))
    amounts = [] if given.sales else sales_columns(table, free, any_amount=True)
    sales = took(given.sales or _only(table, "sales", amounts, why))
    stock = given.stock or None
    if given.stock is None:
        stock = took(_stock(table, free, str(sales), why))
    dates = read_dates(table, str(date), given.date_format)
    price = given.price or None
    prices = [name for name in named(free, NAMES["price"]) if table[name].dtype.is_numeric()]
    if given.price is None and prices:
        price, why["price"] = prices[0], "its name"
    series = given.series
    why["series"] = "given"
    if series is None:
        series = series_columns(table, free, dates)
        why["series"] = "one row per date" if series else "one row per date without it"
        if series is None:
            if given.duplicates == "error":
                twice = dates.filter(dates.is_duplicated())[0]
                raise InvalidInput(
                    f"Each series must have one row per day, got {twice} several times in column "
                    f"{date!r}: name the columns that identify a series (series=), or sum rows of "
                    "the same day (duplicates='sum')."
                )
            lines = line_columns(table, free, dates, price)
            series = lines or series_columns(table, free, dates, 0.8) or ()  # a few rows come twice
            why["series"] = "names; rows of a date are summed"
            units = table[str(sales)]
            odd = float(units.quantile(0.9) or 0.0) > 20 or "".join(free).isdigit()
            if why["sales"] == "its content" and series == lines and odd:
                raise InvalidInput(
                    f"sales must be a column of quantities, got {sales!r} ({_some_values(units)}) "
                    "without a likely name: name it (sales=)."
                )
    used = {date, sold_out, sales, stock, price, given.on_hand, *series}
    others = [name for name in table.columns if name not in used]
    static, known, left_out = _others(table, others, series, given.known_future, str(sales), told)
    if price is not None:
        known = (price, *known)
    return replace(
        given,
        date=date,
        series=series,
        sales=sales,
        sold_out=sold_out,
        stock=stock,
        price=price,
        known_future=known,
        sold_out_opposite=sold_out is not None and _rank(sold_out, OPPOSITE) is not None,
        static=static,
        why=why,
        left_out=left_out,
    )


# --- Candidates by name.

_ACCENTS = str.maketrans("éèêàáâãíìîóòôõúùûçñ", "eeeaaaaiiioooouuucn")


def plain(name: str) -> str:
    """Labels of a name with _ between them: Units sold, unitsSold and UNITS-SOLD are the same."""
    name = name.translate(_ACCENTS)
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


def _only(table: pl.DataFrame, entry: str, candidates: Sequence[str], why: dict[str, str]) -> str:
    """Take the one candidate; none or several are for the user to say."""
    listed = candidates or table.columns
    shown = [f"{name!r} ({_some_values(table[name])})" for name in listed[:6]]
    more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
    if not candidates:
        for name in named(table.columns, NAMES[entry], exactly=True):  # what is wrong with it?
            _ = read_dates(table, name) if entry == "date" else numbers(table, name, entry)
        raise InvalidInput(
            f"{entry} must be a column of the table, got no likely one among "
            f"{', '.join(shown)}{more}: name it ({entry}=)."
        )
    if len(candidates) > 1:
        raise InvalidInput(
            f"{entry} must be one column, got several likely ones, {', '.join(shown)}{more}: name "
            f"one of them ({entry}=)."
        )
    why.setdefault(entry, "its name" if _rank(candidates[0], NAMES[entry]) else "its content")
    return candidates[0]


def _some_values(column: pl.Series) -> str:
    """Three example values."""
    return ", ".join(str(each) for each in column.drop_nulls().unique(maintain_order=True).head(3))


# --- Candidates by content.


def date_columns(table: pl.DataFrame, columns: Iterable[str]) -> list[str]:
    """Columns of dates with the best names; several are equally good."""
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
            some = table.select(name).head(50)
            if not named_so and not some[name].cast(pl.String).str.contains(r"\d.*\d").all():
                continue
            if not could_be_dates(some[name]):
                continue
            try:
                read_dates(table, name, date_form(table, name))
            except InvalidInput:
                if not (named_so and column.dtype == pl.String):
                    continue  # a date that is day or month is refused where it is read
            found.append(name)
    later = set(named(found, _LATER))  # what was ordered on a day is shipped on another
    found = [name for name in found if name not in later] or found
    best = _best(found, "date") if found else []
    if len(best) > 1:
        with suppress(InvalidInput):  # what is sent on a day was sold on another, before
            days = pl.DataFrame([read_dates(table, each, date_form(table, each)) for each in best])
            first = days.select(pl.min_horizontal(pl.all())).to_series()
            best = [name for name in best if (days[name] == first).all()][:1] or best
    return best


def holds_flags(column: pl.Series) -> bool:
    """Whether a column holds yes and no, in any of the usual ways."""
    if column.dtype == pl.Boolean:
        return True
    values = column.drop_nulls().unique().head(8).cast(pl.String).str.strip_chars()
    found = set(values.str.to_lowercase().to_list())
    return bool(found) and found <= {*YES, *NO}


def sales_columns(
    table: pl.DataFrame, columns: Iterable[str], *, any_amount: bool = False, coded: bool = False
) -> list[str]:
    """Columns of numbers that may be sales: by name if there are any, otherwise by content.

    Visitors or takings are such only where nothing else is (`any_amount`), and whole numbers that
    are long, few and come again only where those are no codes (`coded`).
    """
    numeric = [name for name in columns if table[name].dtype.is_numeric() and not is_id(name)]
    numeric = [name for name in numeric if _rank(name, NAMES["price"]) is None]
    by_name = named(numeric, NAMES["sales"])
    # not what came back, nor what never changes, if there is another one
    sold = [name for name in by_name if not named([name], _BACK) and table[name].n_unique() > 1]
    sold = [name for name in sold if not named([name], _MONEY)] or sold
    found = _best(sold or by_name, "sales")
    units = [name for name in named(numeric, _UNITS) if name not in found and is_whole(table[name])]
    if units and found and not is_whole(table[found[0]]):
        return units[:1]  # sales with decimals beside whole units are money
    if found:
        return found
    others = (*NAMES["promotion"], *NAMES["stock"], *_WEATHER, *_CALENDAR)
    some = [
        name
        for name in numeric
        if _rank(name, (*others, *RECEIPT)) is None
        and not holds_flags(table[name])
        and table[name].n_unique() > 1
        and not (_is_sorted(table[name]) or (_is_code(table[name]) and not coded))
    ]
    found = [name for name in some if not is_afterwards(name) and _rank(name, _MONEY) is None]
    if not found and any_amount:
        return [name for name in some if _rank(name, _BACK) is None]
    return [name for name in found if is_whole(table[name])] or found


def is_whole(column: pl.Series) -> bool:
    """Whether a column holds whole numbers."""
    return column.dtype.is_integer() or bool((column == column.round()).all())


def _stock(table: pl.DataFrame, free: list[str], sales: str, why: dict[str, str]) -> str | None:
    """Find what was available: numbers that sales do not exceed."""
    for name in named(free, NAMES["stock"]):
        column = table[name]
        if not column.dtype.is_numeric() or _rank(name, _END) is not None or holds_flags(column):
            continue
        both = table.select(name, sales).drop_nulls()
        if both.height and (both[name] >= both[sales]).mean() >= 0.95:  # type: ignore[operator]
            why["stock"] = "its name, never below sales"
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
    table: pl.DataFrame, columns: Iterable[str], dates: pl.Series, share: float = 1.0
) -> tuple[str, ...] | None:
    """Fewest columns that leave one row a day in each series; None where there are none.

    A share of the rows suffices, if it is given. Of several that do, those are taken whose names
    say item or place.
    """
    columns, day = list(columns), dates.alias("\0day")
    if not day.is_duplicated().any():
        return ()
    whole = table.with_columns(day)
    n_days = day.n_unique()
    ranked = [
        name
        for name in _candidates(table, columns, whole)
        if table[name].n_unique() == 1 or whole.select("\0day", name).n_unique() > n_days
    ]  # others say no more than the date
    few = whole.filter(day.is_in(day.unique().sort().head(20).implode()))
    for size in range(1, min(4, len(ranked)) + 1):
        fitting = []
        for names in combinations(ranked, size):
            keys = ["\0day", *names]
            if (
                few.select(keys).n_unique() >= share * few.height
                and whole.select(keys).n_unique() >= share * whole.height
                # a series has several rows: who bought what tells rows apart, but is none
                and table.select(names).n_unique() * min(3.0, n_days / 2) <= table.height
            ):
                fitting.append(names)
        if fitting:
            # all of them tell rows apart: the better names, then the fewer series
            def order(names: tuple[str, ...]) -> tuple[int, int]:
                return sum(map(_place_of, names)), table.select(names).n_unique()

            best = min(fitting, key=order)
            return tuple(name for name in table.columns if name in best)
    return None


def line_columns(
    table: pl.DataFrame, columns: Iterable[str], dates: pl.Series, price: str | None = None
) -> tuple[str, ...]:
    """Columns of items and places, where a series has several rows a day, such as order lines.

    An item whose prices differ has a further column that tells them apart, such as a size. A column
    that another one determines, such as the name beside the number of an item, is not needed.
    """
    ranked = _candidates(table, list(columns), table.with_columns(dates.alias("\0day")))
    by_name = [name for name in ranked if _place_of(name) == 0]
    if not any(map(is_item, by_name)):
        by_name += [n for n in ranked if is_id(n) and _place_of(n) == 1][:1]
    found: list[str] = []
    for name in by_name:
        both = table.select(*found, name).n_unique()
        if not found or both > 1.1 * table.select(found).n_unique():
            found.append(name)
    if price is not None and found:

        def usual(keys: Sequence[str]) -> float:
            """Share of rows with the price that is usual for their item."""
            most = table.select((pl.col(price) == pl.col(price).mode().min().over(keys)).mean())
            return float(most.item() or 0.0)

        more = [name for name in ranked if name not in found and table[name].n_unique() <= 30]
        if more and (alone := usual(found)) < 0.9:
            best = max(more, key=lambda name: usual([*found, name]))
            found += [best] if usual([*found, best]) >= max(0.95, alone + 0.2) else []
    return tuple(name for name in table.columns if name in found)


def _candidates(table: pl.DataFrame, columns: Sequence[str], dated: pl.DataFrame) -> list[str]:
    """Columns that may tell series apart, the best names first.

    Items and places come again, on other days: numbers of rows and of receipts do not.
    """
    text = (pl.String, pl.Categorical, pl.Enum)
    never = set(named(columns, _NOT_SERIES)) - set(named(columns, _ITEMS, exactly=True))
    n_days = dated["\0day"].n_unique()
    found: list[tuple[int, str]] = []
    for name in columns:
        column = table[name]
        coded = column.dtype.is_integer() and (is_id(name) or _is_code(column))
        if not (column.dtype in text or coded):
            continue
        if _is_clock(column) or (_rank(name, _CALENDAR) is not None and not is_item(name)):
            continue
        values, pairs = column.n_unique(), dated.select("\0day", name).n_unique()
        if table.height >= 20 and pairs < 1.5 * values and n_days > 1:
            continue
        strange = name in never and not is_item(name)
        if strange and 2 * pairs < n_days * values:
            continue
        found.append((3 if strange else _place_of(name), name))
    return [name for _, name in sorted(found, key=lambda each: each[0])]


def _place_of(name: str) -> int:
    """How likely a name tells series apart: items and places, other ids, kinds of items."""
    if _rank(name, (*_ITEMS, *_PLACES)) is not None and _rank(name, _KINDS) is None:
        return 0
    return 2 if _rank(name, _KINDS) is not None else 1


def _others(
    table: pl.DataFrame,
    columns: Sequence[str],
    keys: Sequence[str],
    given: Sequence[str] | None,
    sales: str,
    told: Iterable[str],
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Sort the other columns: what never changes in a series, what may be known, what is not."""
    static: list[str] = []
    before: list[str] = list(given or ())
    left: dict[str, str] = {}
    n_series = table.select(keys).n_unique() if keys else 1
    for name in columns:
        column = table[name]
        if name in before:
            continue
        values = column.drop_nulls().n_unique()
        if given is None and name in told and values > 1:
            before.append(name)
        elif is_afterwards(name):
            left[name] = "known only afterwards"
        elif plain(name) in _CALENDAR:
            left[name] = "made from the date"
        elif values < 2:
            left[name] = "constant"
        elif keys and n_series > 1 and table.select(*keys, name).n_unique() == n_series:
            static.append(name)
        elif column.dtype.is_numeric() and _rank(name, NAMES["stock"]) is not None:
            left[name] = "known only afterwards"  # also where the user says that it is no limit
        elif given is not None:
            left[name] = "not named"
        elif _rank(name, _WEATHER) is not None:
            left[name] = "known only afterwards"
        elif column.dtype.is_integer() and (named([name], _NOT_SERIES) or _is_sorted(column)):
            left[name] = "a number of rows or receipts"
        elif column.dtype.is_numeric() and _goes_with(column, table[sales]):
            left[name] = "correlated with sales, so known only afterwards"
        elif _is_clock(column):
            left[name] = "the time of day"
        elif column.dtype.is_temporal():
            left[name] = "another date"
        elif column.dtype.is_numeric() or column.dtype == pl.Boolean or values <= 60:
            before.append(name)
        else:
            left[name] = "too many different texts"
    return tuple(static), tuple(before), left


def _is_sorted(column: pl.Series) -> bool:
    """Whether whole numbers never fall from row to row, as those of rows and receipts."""
    return column.dtype.is_integer() and column.n_unique() > 20 and column.is_sorted()


def _is_code(column: pl.Series) -> bool:
    """Whether whole numbers are long, few, and come again, as numbers of items do."""
    long = column.dtype.is_integer() and int(column.min() or 0) >= 1000  # type: ignore[arg-type]
    thousands = long and bool((column % 1000 == 0).all())
    return long and not thousands and 1 < column.drop_nulls().n_unique() <= column.len() / 5


def _is_clock(column: pl.Series) -> bool:
    """Whether a column of text holds the time of day."""
    clock = r"^\d{1,2}:\d{2}"
    return str(column.dtype) == "String" and bool(column.head(20).str.contains(clock).all())


def _goes_with(column: pl.Series, sales: pl.Series) -> bool:
    """Whether a column is nearly a multiple of sales, such as what they brought in."""
    both = pl.DataFrame({"x": column, "y": sales}).drop_nulls()
    if both.height < 30 or not sales.dtype.is_numeric():
        return False
    found = both.select(pl.corr("x", "y", method="spearman")).item()
    return found is not None and float(found) > 0.97
