"""Orders for the coming days: read and learn once, decide again in a moment.

What a history teaches depends on neither the service level nor costs, so it is learned once, and a
model once at each level that is asked for. Orders are those of `unmet plan`. Nothing here needs
streamlit.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.app.upload import OTHER_FLAGS
from unmet.errors import InvalidInput
from unmet.estimators.base import one_blas_thread
from unmet.evaluation.backtest import ModelChoice
from unmet.planning import OrderPlan, Schema, infer_schema
from unmet.planning.candidates import LABELS
from unmet.planning.order_report import PARTS, item_name
from unmet.planning.replenishment import EMPTY
from unmet.report.charts import Item
from unmet.tables.dialect import Dialect, as_bytes
from unmet.tables.panel import Panel
from unmet.tables.reading import read_dates, write_excel
from unmet.tables.schema import NAMES, date_columns, is_id, named

if TYPE_CHECKING:
    import polars

QUICK = "linear"
"""The candidate that answers first where nothing is compared: on 100 series × 90 days it is learned
in a tenth of a second at each level, where trees take two seconds."""

_OPTION = re.compile(r"\s*\((?:--[a-z-]+|[a-z_]+=)[^()]*\)")
_COLUMNS = ("date", "series", "sales", "sold_out", "stock", "price")
_LONG_AGO = 300  # days from which a date needs its year


# --- Which columns, and which way to work.


def first_guess(table: polars.DataFrame) -> tuple[str | None, str | None, str]:
    """Guess the columns of dates and of sales, of which the others are then guessed.

    Returns
    -------
    date, sales : str or None
        None where it is hard to say.
    doubt : str
        Why something is hard to say, one sentence; empty where nothing is.
    """
    doubt = ""
    easier: tuple[dict[str, Any], ...] = ({}, {"series": ()}, {"series": (), "sold_out": ""})
    for given in easier:
        try:
            found = infer_schema(table, Schema(**given))
            return found.date, found.sales, doubt
        except InvalidInput as error:
            doubt = doubt or str(error)
    days = date_columns(table, table.columns)
    return days[0] if len(days) == 1 else None, None, doubt


def other_fields(table: polars.DataFrame, date: str, sales: str) -> Schema:
    """Guess the other columns; one that is hard to guess is none."""
    easier: tuple[dict[str, Any], ...] = ({}, {"sold_out": ""}, {"series": ()})
    for given in easier:
        try:
            return infer_schema(table, Schema(date=date, sales=sales, **given))
        except InvalidInput:
            continue
    return infer_schema(table, Schema(date=date, sales=sales, sold_out="", series=()))


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
    return not other and first_guess(table)[1] is not None


def in_weeks(table: polars.DataFrame, date: str) -> bool:
    """Whether all dates are whole weeks apart, so that orders are for weeks."""
    days = np.unique(read_dates(table, date).to_physical().to_numpy())
    return days.size > 1 and int(np.gcd.reduce(np.diff(days))) % 7 == 0


def on_the_page(sentence: str) -> str:
    """Say where the page asks for what the command line has options for.

    Examples
    --------
    >>> on_the_page("Days count as unknown; say so (gaps='zero').")
    'Days count as unknown; say so at the side.'
    """
    return _OPTION.sub(" at the side", sentence)


# --- Learning once, deciding often.


class OrderWhatIf:
    """A history of sales of which orders at any service level can be asked.

    Parameters
    ----------
    plan : OrderPlan
        Horizon, lead time and columns; costs, rate and model are said later.
    table : table of pandas, polars or pyarrow
    future : table, optional
        What is known of coming days.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.planning import OrderPlan, example
    >>> what_if = OrderWhatIf(OrderPlan(horizon=2), example().sales.tail(500))
    >>> costs = (Newsvendor.at_level(level) for level in (0.7, 0.97))
    >>> low, high = (what_if.orders(cost=cost).orders() for cost in costs)
    >>> bool(low["order"].sum() < high["order"].sum())
    True
    """

    def __init__(self, plan: OrderPlan, table: Any, *, future: Any = None) -> None:
        self._plan = _Quick(**plan.get_params())
        self._plan.set_params(cost=None, sellout_rate=None, model="auto").fit(table, future=future)

    @property
    def panel(self) -> Panel:
        """Series × days."""
        return self._plan.panel_

    @property
    def schema(self) -> Schema:
        """Which column is what."""
        return self._plan.schema_

    @property
    def quick(self) -> ModelChoice:
        """The candidate that answers at once; of a short past, the same that `unmet plan` takes."""
        return self._plan.choice_

    def compare(self, **moved: Any) -> ModelChoice:
        """Compare all candidates on the last weeks, as `unmet plan` does; costs as for `orders`."""
        moved_plan = self._plan.at(**moved)
        assert isinstance(moved_plan, _Quick)
        return moved_plan.compare()

    def orders(self, choice: ModelChoice | None = None, **moved: Any) -> OrderPlan:
        """Decide.

        Parameters
        ----------
        choice : ModelChoice, optional
            Which candidate decides; by default the quick one.
        **moved
            What can be moved without learning anew, as for `OrderPlan`: `cost`, and
            `sellout_rate`, where no column tells.

        Returns
        -------
        OrderPlan
            Fitted.
        """
        return self._plan.at(choice or self.quick, **moved)

    def item(self, plan: OrderPlan, place: int) -> tuple[Item, polars.DataFrame]:
        """Give what one series has sold and is to be ordered, and its rows of the orders.

        Parameters
        ----------
        plan : OrderPlan
            As `orders` gave it.
        place : int
            Of the series in the panel.
        """
        panel, schema = plan.panel_, plan.schema_
        sold, seen = panel.observed[place], ~np.isnan(panel.observed[place])
        hidden = np.zeros(sold.size) if panel.hidden is None else panel.hidden[place]
        demand = sold if plan.demand_ is None else plan.demand_[place]
        rows = plan.orders()
        for name in schema.series:
            assert panel.keys is not None
            rows = rows.filter(rows[name] == panel.keys[name][place])
        item = Item(
            item_name(plan, place),
            past=panel.date(np.flatnonzero(seen)).tolist(),
            observed=sold[seen].tolist(),
            expected=np.where(demand > sold, demand, np.nan)[seen].tolist(),
            sold_out=(hidden[seen] == 1.0).tolist(),
            coming=rows[schema.date].to_list(),
            decided=rows["order"].cast(float).to_list(),
            parts={words: float(rows[name].sum()) for name, words in PARTS.items()},
        )
        return item, rows

    def items(self) -> list[tuple[int, str]]:
        """Places and names of the series that orders are for."""
        panel, names = self.panel, self.schema.series
        if not names:
            return [(0, "All sales")]
        assert panel.keys is not None
        assert panel.planned is not None
        places = np.flatnonzero(panel.planned).tolist()
        words = [" · ".join(map(str, row)) for row in panel.keys.select(names).iter_rows()]
        return [(place, words[place]) for place in places]


class _Quick(OrderPlan):
    """A plan whose `fit` takes the quick candidate without a comparison."""

    def _choose(self) -> ModelChoice:
        at_once = ModelChoice(QUICK, f"Orders follow {LABELS[QUICK]}, which is learned at once.")
        return self._short() or at_once

    def compare(self) -> ModelChoice:
        """Compare the candidates."""
        with one_blas_thread():
            return super()._choose()


# --- What is shown and taken away.


def by_day(order_table: polars.DataFrame, schema: Schema, find: str = "") -> polars.DataFrame:
    """Lay orders out as items × days, with totals.

    Parameters
    ----------
    order_table : polars.DataFrame
        As `OrderPlan.orders` gives it.
    schema : Schema
    find : str
        Only items that have this text in one of the columns of the series.

    Returns
    -------
    polars.DataFrame
        The first row adds all items up; no rows where nothing is found.
    """
    import polars as pl

    names = list(schema.series) or ["All sales"]
    if not schema.series:
        order_table = order_table.with_columns(pl.lit("").alias(names[0]))
    rows = order_table.select(
        pl.col(names).cast(pl.String), pl.col(schema.date).alias("\0"), "order"
    )
    if find.strip() and schema.series:
        words = find.strip().lower()
        has = [pl.col(name).str.to_lowercase().str.contains(words, literal=True) for name in names]
        rows = rows.filter(pl.any_horizontal(has))
    if not rows.height:
        return rows.select(names)
    days = order_table[schema.date].unique().sort().to_list()
    year = " %Y" if len(days) > _LONG_AGO else ""
    labels = {str(day): _free(f"{day:%a %d %b{year}}", names) for day in days}
    rows = rows.with_columns(pl.col("\0").cast(pl.String).replace_strict(labels))
    wide = rows.pivot(on="\0", index=names, values="order", aggregate_function="sum")
    there = [label for label in labels.values() if label in wide.columns]
    total = _free("Total", [*names, *there])
    wide = wide.select(*names, pl.sum_horizontal(there).alias(total), *there)
    if wide[total].dtype.is_float():
        wide = wide.with_columns(pl.col([total, *there]).round(2))
    if not schema.series:
        return wide
    count = "1 item" if wide.height == 1 else f"{wide.height:,} items"
    first = {name: (f"All {count}" if name == names[0] else "") for name in names}
    sums = wide.select(pl.col([total, *there]).sum())
    head = pl.DataFrame(first).hstack(sums).select(wide.columns)
    return pl.concat([head, wide])


def _free(label: str, taken: Sequence[str]) -> str:
    """Lengthen a label by spaces until no column of the user's has the same."""
    while label in taken:
        label += " "
    return label


def orders_file(
    order_table: polars.DataFrame, table: str, dialect: Dialect | None
) -> tuple[str, str, bytes]:
    """Write orders as the table was written that they follow from.

    Parameters
    ----------
    order_table : polars.DataFrame
    table : str
        Name of the file that was read.
    dialect : Dialect or None
        Of a text file.

    Returns
    -------
    name : str
    mime : str
    data : bytes
    """
    ending = table.lower().rpartition(".")[2]
    written = BytesIO()
    if ending in ("parquet", "pq"):
        order_table.write_parquet(written)
        return "orders.parquet", "application/octet-stream", written.getvalue()
    if ending == "xlsx" and find_spec("xlsxwriter") is not None:
        write_excel(order_table, written)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        return "orders.xlsx", kind, written.getvalue()
    return "orders.csv", "text/csv", as_bytes(order_table, dialect or Dialect())


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
        Fitted.
    guess : Schema or None
        What the command would guess; only what differs is said. None: it would refuse to guess.
    table, orders : str
        Names of files.
    **others : str
        Options as they are: ``future``, ``on_order`` (files) and ``decimal``.

    Returns
    -------
    str
        One line for a shell, each option quoted where it must be.
    """
    options: dict[str, Any]
    under, over = ("underage", "overage")
    if plan.supply is not None:
        rules, (under, over) = plan.rules_, ("shortage", "holding")
        options = {"lead_time": int(rules.lead_time), "review": int(rules.review)}
        options |= {"on_hand": plan.schema_.on_hand}
        costs = {over: float(rules.holding), under: float(rules.shortage)}
    else:
        options = {"horizon": plan.horizon}
        costs = {under: float(plan.cost_.underage), over: float(plan.cost_.overage)}
    if not plan.costs_are_money:
        costs = {} if plan.cost is None else {"service_level": float(plan.cost_.level)}
    options |= costs
    if plan.supply is None:
        options |= {"sellout_rate": plan.sellout_rate}
    options |= _other_columns(plan, guess) | others
    if plan.supply is None:
        options |= {"lead_time": plan.lead_time or None, "model": plan.choice_.model}
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
    for name in _COLUMNS:
        column = getattr(own, name)
        same = column == getattr(guess, name) or (name == "series" and not column)
        if name == "sold_out" and column == EMPTY:
            same = True  # no column: what is left at the end tells
        options[name] = None if same else (column or "none")
    return options | {"gaps": None if own.gaps == "auto" else own.gaps, "country": plan.country}


def costs_by_model(choice: ModelChoice) -> polars.DataFrame:
    """Give what each candidate costs on days held out, the cheapest first."""
    import polars as pl

    ordered = sorted(choice.cost, key=choice.cost.__getitem__)
    columns: dict[str, list[Any]] = {"model": [LABELS[name] for name in ordered]}
    for group, costs in choice.groups.items():
        columns[f"{group} sellers"] = [round(costs[name], 3) for name in ordered]
    columns["all"] = [round(choice.cost[name], 3) for name in ordered]
    return pl.DataFrame(columns)
