"""Orders for the coming days without a page: guesses, a plan that answers at once, files.

What a history teaches depends on neither the service level nor costs, so it is learned once and
`OrderPlan.at` decides again. Orders are those of `unmet plan`. Nothing here needs streamlit.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.app.upload import OTHER_FLAGS
from unmet.errors import InvalidInput
from unmet.estimators.base import one_blas_thread
from unmet.evaluation.backtest import ModelChoice
from unmet.planning import OrderPlan, Schema, infer_schema
from unmet.planning.candidates import LABELS
from unmet.planning.replenishment import EMPTY
from unmet.report.data import PARTS, histories, series_name
from unmet.tables.reading import read_dates
from unmet.tables.schema import NAMES, date_columns, is_id, named

if TYPE_CHECKING:
    import polars


# --- Which columns, and which way to work.


def guess(table: polars.DataFrame, **given: Any) -> tuple[Schema | None, str]:
    """Guess the columns; where that is hard, go without flags, then without series.

    Parameters
    ----------
    table : polars.DataFrame
    **given
        Fields of the schema that are known.

    Returns
    -------
    schema : Schema or None
        None where dates or sales are hard to tell.
    doubt : str
        Why something is hard to say, one sentence; empty where nothing is.
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


def in_weeks(table: polars.DataFrame, date: str) -> bool:
    """Whether all dates are whole weeks apart, so that orders are for weeks."""
    days = np.unique(read_dates(table, date).to_physical().to_numpy())
    return days.size > 1 and int(np.gcd.reduce(np.diff(days))) % 7 == 0


# --- Learning once, deciding often.


class QuickPlan(OrderPlan):
    """A plan whose `fit` takes the linear model without a comparison: `at` decides at once.

    On 100 series × 90 days that model is fitted in a tenth of a second at each level, where trees
    take two seconds.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.planning import example
    >>> plan = QuickPlan(horizon=2).fit(example().sales.tail(500))
    >>> costs = (Newsvendor.at_level(level) for level in (0.7, 0.97))
    >>> low, high = (plan.at(cost=cost).orders() for cost in costs)
    >>> bool(low["order"].sum() < high["order"].sum())
    True
    """

    def _choose(self) -> ModelChoice:
        why = f"Orders follow {LABELS['linear']}, which is learned at once."
        return self._short() or ModelChoice("linear", why)

    def compare(self) -> ModelChoice:
        """Compare all candidates on the last weeks, as `unmet plan` does."""
        with one_blas_thread():
            return super()._choose()


def items(plan: OrderPlan) -> dict[int, str]:
    """Places and names of the series that orders are for."""
    assert plan.panel_.planned is not None
    places = np.flatnonzero(plan.panel_.planned).tolist() if plan.schema_.series else [0]
    return {place: series_name(plan, place) or "All sales" for place in places}


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
        options["model"] = plan.choice_.model
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
