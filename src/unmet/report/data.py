"""The contents of a report on a fitted plan, as plain values that its template reads."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.persistence.saving import versions_of
from unmet.planning import DecisionPlan, OrderPlan
from unmet.planning.candidates import labels_of
from unmet.planning.decision_models import candidates
from unmet.planning.decision_report import ITEM_MARK, Comparison, history_table
from unmet.planning.plan_options import cost_options
from unmet.planning.replenishment import lead_in_words
from unmet.report.sentences import amount, answer, day_label
from unmet.report.tables import MAX_ITEMS
from unmet.tables.panel import Places

PARTS = {"usual_sales": "usual sales", "hidden_demand": "hidden demand", "safety": "safety stock"}
"""What an order consists of, by column of the table of orders: what a reader is shown."""
_TITLES = {
    "newsvendor": "Order quantities",
    "pricing": "Prices",
    "replacement": "Replacement ages",
}
_MAX_DAYS = 120  # of the history


def report_data(
    plan: DecisionPlan | OrderPlan,
    *,
    decisions: pl.DataFrame | None = None,
    comparison: Comparison | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str | None = None,
    currency: str = "",
    assumed: float | None = None,
    stake: tuple[float, float, float] | None = None,
    most: int = MAX_ITEMS,
) -> dict[str, Any]:
    """Collect the contents of a report on a fitted plan.

    Parameters
    ----------
    plan : DecisionPlan or OrderPlan
        Fitted or loaded plan.
    decisions : polars.DataFrame, optional
        Decisions of a `DecisionPlan`, from `unmet.planning.decision_table`. An `OrderPlan` has its
        own.
    comparison : Comparison, optional
        Costs of methods. None takes those of the plan.
    notes : sequence of str
        Further sentences, such as findings about a file.
    command : str
        Command that makes this report again.
    title : str, optional
        Title of the page. None takes a default.
    currency : str
        Currency of the costs, such as € or EUR; used if you gave costs.
    assumed : float, optional
        Share of rows that decisions assume to be censored, whatever the data show. None follows the
        diagnosis.
    stake : tuple of three float, optional
        Extra cost per row of ignoring censoring, and its range. None takes those of the diagnosis.
    most : int
        Largest number of series that are shown one by one. Larger values give larger files.

    Returns
    -------
    dict
        Contents for `render`.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.planning import example
    >>> from unmet.report import report_data
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, cost=Newsvendor(3, 1), model="seasonal").fit(sales)
    >>> isinstance(report_data(plan, currency="€"), dict)
    True
    """
    shared = {"command": command, "versions": versions(), "currency": currency}
    if isinstance(plan, DecisionPlan):
        return shared | _decisions(plan, decisions, comparison, notes, title, assumed, stake)
    check_is_fitted(plan, "n_rows_")
    own, evaluated = _orders if plan.supply is None else _replenishment, plan.costs_are_money
    said = [*plan.notes_, *notes]
    if currency and not evaluated:
        said.append(f"Amounts have no currency ({currency}), because no costs were given.")
    changed = plan.overrides_
    found = {
        "title": title or "Orders",
        "date": plan.schema_.date,
        "currency": currency if evaluated else "",
        "evaluated": evaluated,
        "unit": plan.panel_.unit,
        "overrides": "" if changed is None or not changed.count else str(changed),
        **own(plan, most),
    }
    found["notes"] = list(dict.fromkeys((*said, *found.get("notes", ()))))
    return shared | found


def versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that affect results."""
    packages = "unmet", "numpy", "scipy", "scikit-learn", "polars", "lightgbm"
    return {"python": platform.python_version(), **versions_of(*packages)}


# --- A plan of own features.


def _decisions(
    plan: DecisionPlan,
    decisions: pl.DataFrame | None,
    comparison: Comparison | None,
    notes: Sequence[str],
    title: str | None,
    assumed: float | None,
    stake: tuple[float, float, float] | None,
) -> dict[str, Any]:
    comparison = plan.comparison_ if comparison is None else comparison
    return {
        "kind": "decision",
        "title": title or _TITLES[plan.problem],
        "problem": plan.problem,
        "answer": answer(plan, decisions, comparison, assumed),
        "decisions": decisions,
        "diagnosis": plan.diagnosis_,
        "comparison": comparison,
        "stake": stake_of(plan) if stake is None else stake,
        "n_rows": plan.n_rows_ if decisions is None else decisions.height,
        "level": plan.level,
        "inputs": decision_inputs(plan),
        "notes": list(dict.fromkeys((*plan.notes_, *notes))),
        "date": plan.date,
        "series": tuple(name for name in plan.series or plan.by if name),
        "history": history_table(plan),
        "assumed": assumed,
    }


def stake_of(plan: DecisionPlan) -> tuple[float, float, float] | None:
    """Give the extra cost per row of ignoring censoring, and its range over candidates."""
    found = plan.diagnosis_
    if found is None or found.stake is None or plan.problem == "replacement":
        return None
    return found.stake, *(found.stake_range or (found.stake, found.stake))


def decision_inputs(plan: DecisionPlan) -> dict[str, str]:
    """List the inputs of the plan."""
    names, model = candidates(plan.model), plan.model_name
    if plan.choice_ is not None and len(names) > 1:
        how = "chosen in a backtest" if plan.choice_.scored else "not compared"
        model = f"{model}, of {', '.join(names)} ({how})"
    shown = {
        "problem": plan.problem,
        "training rows": f"{plan.n_rows_:,}",
        "observation": plan.observed,
        "features": ", ".join(plan.features),
        "calendar features": ", ".join(plan.calendar),
        "model per group of": ", ".join(plan.by),
        "date": plan.date or "",
        "series": ", ".join(plan.series),
        "flags": plan.flag or "",
        "stock": plan.column("stock") or "",
        "model": model if plan.problem != "replacement" else "",
        "band": plan.words.partition(", ")[2],
    }
    costs = cost_options(plan)
    if plan.problem == "replacement":
        shown["costs"] = f"planned {costs['planned']}, failure {costs['failure']}"
    elif "goal" in costs:
        shown["goal"] = f"maximum revenue, unit cost {costs['unit_cost']}"
    elif "service_level" in costs:
        shown["service level"] = costs["service_level"]
    else:
        for name in ("underage", "overage"):
            column = plan.column(name)
            shown[name] = f"column {column}" if column else costs[name]
    return {name: value for name, value in shown.items() if value}


# --- Orders for coming days.


def _orders(plan: OrderPlan, most: int) -> dict[str, Any]:
    panel, schema, orders, unit = plan.panel_, plan.schema_, plan.order_table_, plan.panel_.unit
    # a column of the table may have the name of one that a report gives a meaning
    safe = {name: f"{name} (column)" for name in schema.series if name in ("decision", "ignoring")}
    shown = orders.rename(
        safe
        | {"order": "decision", **PARTS, "based_on": "based on", "outside_data": "outside data"}
    )
    aim, planned = _aim(plan), np.unique(plan.targets_[0])
    total = np.bincount(plan.targets_[0], orders["order"].to_numpy(), panel.n_series)
    if planned.size > most:  # totals of all of them must find room as well
        most //= 2
    largest = np.sort(planned[np.argsort(-total[planned], kind="stable")[:most]])
    return {
        "kind": "orders",
        "answer": [_order_answer(plan, shown, planned.size), plan.choice_.why],
        "decisions": shown,
        "level": float(np.mean(plan.cost_.level)),
        "inputs": {
            **_order_inputs(plan),
            "orders": f"for {plan.horizon} {unit}s"
            + (f", lead time {plan.lead_time} {unit}s" if plan.lead_time else ""),
            "target": aim,
            "forecast": labels_of(panel.unit, plan.choice_.members)[plan.choice_.model],
        },
        "notes": list(plan.choice_.left_out),
        "series": tuple(safe.get(name, name) for name in schema.series),
        "history": histories(plan, largest),
        "choice": plan.choice_,
        "parts": {words: float(orders[name].sum()) for name, words in PARTS.items()},
        "ends": (float(orders["low"].sum()), float(orders["high"].sum()))
        if {"low", "high"} <= set(orders.columns)
        else None,
        "whole": _together(plan, planned),
        "reached": plan.reached_,
        "outside": int((orders["outside_data"] != "").sum()),
        "sold_out": None if panel.hidden is None else float(np.nanmean(panel.hidden)),
        "rate": None if plan.rate_ is None else (plan.rate_.low, plan.rate_.high),
        "aim": aim,
    }


def _order_answer(plan: OrderPlan, shown: pl.DataFrame, count: int) -> str:
    unit, dates = plan.panel_.unit, shown[plan.schema_.date].unique().sort()
    first, last = day_label(dates[0]), day_label(dates[-1])
    when = first if dates.len() == 1 else f"{first} to {last}"
    items = "one series" if count == 1 else f"{count:,} series"
    length = f"one {unit}" if dates.len() == 1 else f"{dates.len()} {unit}s"
    return f"Order {amount(float(shown['decision'].sum()))} units for {items} and {length}, {when}."


def _aim(plan: OrderPlan) -> str:
    """Say what orders aim at."""
    unit, supply = plan.panel_.unit, plan.supply
    met = f"service level {100 * float(np.mean(plan.cost_.level)):.4g}%"
    if not plan.costs_are_money:
        return met
    if supply is None:
        return f"{met}, from underage {plan.cost_.underage:g} and overage {plan.cost_.overage:g}"
    given = supply if supply.costs_given else plan.rules_
    holding, shortage = (
        f"in column {each}" if isinstance(each, str) else f"{each:g}"
        for each in (given.holding, given.shortage)
    )
    return f"minimum cost: holding {holding} per unit and {unit}, shortage {shortage} per unit"


def _order_inputs(plan: OrderPlan) -> dict[str, str]:
    """Rows of the table, and which column was taken for what."""
    schema, panel = plan.schema_, plan.panel_
    count = "1 series" if panel.n_series == 1 else f"{panel.n_series:,} series"
    named = {
        "date": schema.date,
        "series": ", ".join(schema.series),
        "sales": schema.sales,
        "sold out": schema.sold_out or "",
        "stock": schema.stock or "",
        "known in advance": ", ".join(panel.known),
    }
    columns = {f"column: {name}": text for name, text in named.items() if text}
    return {"rows": f"{plan.n_rows_:,}, {count}, {panel.n_days:,} {plan.panel_.unit}s", **columns}


def histories(plan: OrderPlan, kept: Places, most: int = _MAX_DAYS) -> pl.DataFrame:
    """Give the last days of some series: item, date, observed, expected, sold_out."""
    panel = plan.panel_
    first = max(panel.n_days - most, 0)
    observed = panel.observed[kept, first:]
    demand = None if panel.hidden is None else plan.demand_
    expected = np.full(observed.shape, np.nan) if demand is None else demand[kept, first:]
    hidden = np.zeros(observed.shape) if panel.hidden is None else panel.hidden[kept, first:]
    dates = panel.date(np.arange(first, panel.n_days))
    names = np.repeat(np.arange(kept.size), observed.shape[1])
    seen = ~np.isnan(observed.ravel())
    items = pl.Series([series_name(plan, int(place)) for place in kept], dtype=pl.String)
    return pl.DataFrame(
        {
            "item": items[names[seen]],
            "date": pl.Series(np.tile(dates, kept.size)[seen]).cast(pl.Date),
            "observed": observed.ravel()[seen],
            "expected": pl.Series(expected.ravel()[seen]).fill_nan(None),
            "sold_out": hidden.ravel()[seen] > 0.5,
        }
    )


def series_name(plan: OrderPlan, place: int) -> str:
    """Name a series by its keys."""
    keys = plan.panel_.keys
    if not plan.schema_.series or keys is None:
        return ""
    row = keys.select(plan.schema_.series).row(place)
    return ITEM_MARK.join("–" if part is None else str(part) for part in row)


def _together(plan: OrderPlan, kept: Places) -> pl.DataFrame:
    """Add up the last days of all series that orders are for."""
    panel, demand = plan.panel_, plan.demand_
    first = max(panel.n_days - _MAX_DAYS, 0)
    seen = ~np.isnan(panel.observed[kept, first:]).all(axis=0)

    def summed(values: Array) -> Array:
        return np.asarray(np.nansum(values[kept, first:], axis=0))[seen]

    dates = panel.date(np.arange(first, panel.n_days))[seen]
    expected = None if demand is None else summed(demand)
    found = {"date": dates, "observed": summed(panel.observed), "expected": expected}
    return pl.DataFrame(
        found, schema_overrides={"date": pl.Date, "expected": pl.Float64}
    ).with_columns(pl.lit(False).alias("sold_out"))


# --- Replenishment.


def _replenishment(plan: OrderPlan, most: int) -> dict[str, Any]:
    panel, unit, supply, model = plan.panel_, plan.panel_.unit, plan.supply, plan.choice_.model
    assert supply is not None
    kept = np.flatnonzero(panel.planned)
    orders = urgent_first(plan.order_table_.with_columns(pl.Series("\0place", kept)))
    places = orders["\0place"].to_numpy()
    names = pl.Series("item", [series_name(plan, int(each)) for each in places], dtype=pl.String)
    shown = orders.drop("\0place", *plan.schema_.series).insert_column(0, names)
    aim = _aim(plan)
    few = places.size <= 25  # room for a long history of each
    return {
        "kind": "replenishment",
        "answer": [plan.in_words()],
        "decisions": shown,
        "level": None,
        "inputs": {
            **_order_inputs(plan),
            **({"column: on hand": plan.schema_.on_hand} if plan.schema_.on_hand else {}),
            "lead time": lead_in_words(plan.rules_, f"{unit}s")
            if plan.rules_.varies
            else _said(supply.lead_time, unit),
            "review": f"every {_said(supply.review, unit)}",
            "unmet demand": supply.unmet,
            **({} if supply.lasting else {"shelf life": _said(supply.shelf_life, unit)}),
            "target": aim,
            "forecast": labels_of(unit, plan.choice_.members)[model],
        },
        "history": histories(plan, np.sort(places[:most]), _MAX_DAYS if few else 45),
        "ahead": _ahead(plan, shown.head(most), places[:most]),
        "until_next": plan.until_next,
        "choice": plan.choice_,
        "aim": aim,
    }


def urgent_first(orders: pl.DataFrame) -> pl.DataFrame:
    """Sort orders of replenishment: first what is expected to lose most."""
    loss = "expected_loss" if "expected_loss" in orders.columns else "expected_shortage"
    by = [loss, "chance_of_running_out", "order"]
    return orders.sort(by, descending=True, maintain_order=True)


def _said(value: object, unit: str) -> str:
    if isinstance(value, str):
        return f"{unit}s in the column {value}"
    return f"{value:g} {unit}{'' if value == 1 else 's'}"


def _ahead(plan: OrderPlan, shown: pl.DataFrame, places: Places) -> list[dict[str, Any]]:
    """Give the stock of each series to come, if its order is placed and no other.

    Beside the row of the table of orders: ``dates``, ``demand`` as expected, stock at the end of
    each period (``low``, ``middle``, ``high``: exceeded with a chance of 90, 50 and 10%), the
    chance that it is ``empty``, and ``arrivals``.
    """
    panel, found = plan.panel_, plan.replenishment_
    n_periods = min(plan.expected_.shape[1], 45)
    arrivals = plan.state_.arrivals(n_periods)
    lead = plan.rules_.whole("lead_time", panel.n_series)
    soon = np.flatnonzero(lead < n_periods)
    arrivals[soon, lead[soon]] += found.order[soon]
    dates = panel.date(panel.n_days + np.arange(n_periods)).astype(object).tolist()
    ahead = found.projection
    values = {"demand": plan.expected_, "arrivals": arrivals}
    values |= {name: getattr(ahead, name) for name in ("low", "middle", "high", "empty")}
    return [
        row
        | {"dates": dates}
        | {name: each[place, :n_periods].tolist() for name, each in values.items()}
        for row, place in zip(shown.iter_rows(named=True), places, strict=True)
    ]
