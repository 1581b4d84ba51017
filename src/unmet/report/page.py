"""The report as one self-contained page, written for a planner first.

Orders and key figures come first. Orders by item and day follow, then each item with its history,
its hidden demand and the money at stake. Statistics are at the end, one click away. The text of
each section is in ``templates``; this module makes their tables and charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from unmet import charts
from unmet.censoring.plots import possible_rates, quantile_chart, rate_charts
from unmet.censoring.text import (
    Labels,
    answers,
    candidate_columns,
    capital,
    followed,
    hidden_rows,
    interval,
    labels_for,
    number,
    order_labels,
    percent,
    sure,
)
from unmet.errors import InvalidInput
from unmet.files import write_text
from unmet.planning import DecisionPlan, OrderPlan
from unmet.planning.candidates import labels_of
from unmet.report import sentences, tables
from unmet.report.data import PARTS, report_data
from unmet.report.sentences import amount, money
from unmet.report.tables import MISSING, amounts

if TYPE_CHECKING:
    from jinja2 import Environment

    from unmet.planning.decision_report import Comparison

SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}  # of `Diagnosis.identified`
_MAX_TOTALS = 2_000  # rows of a table of totals: more make a page that browsers are slow with
_NUMERIC = ("hidden", "added", "behind the best")  # columns of candidates


def write_report(
    plan: DecisionPlan | OrderPlan | Mapping[str, Any],
    path: str | PathLike[str],
    **more: Any,
) -> Path:
    """Write the report of a plan to an HTML file, completely or not at all.

    Parameters
    ----------
    plan : DecisionPlan or OrderPlan
        Fitted plan, or the result of `report_data`.
    path : path
        File to write, in a folder that exists. An existing file is replaced.
    **more
        Options of `report_data`, such as ``currency`` and ``title``.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.planning import example
    >>> from unmet.report import write_report
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, cost=Newsvendor(3, 1), model="seasonal").fit(sales)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(plan, Path(folder) / "orders.html", currency="€").name
    'orders.html'
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput(f"path of the report must be a file, got the folder {target}.")
    if not target.parent.is_dir():
        raise InvalidInput(f"path of the report must be in a folder that exists, got {target}.")
    return write_text(
        target, render(plan if isinstance(plan, Mapping) else report_data(plan, **more))
    )


def render(data: Mapping[str, Any]) -> str:
    """Lay out a report as one HTML page.

    The page contains everything it needs. It opens without a network and requests nothing, which
    its content security policy enforces. Equal data give equal text, byte for byte.

    Parameters
    ----------
    data : mapping
        Contents from `report_data`.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.planning import example
    >>> from unmet.report import render, report_data
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, cost=Newsvendor(3, 1), model="seasonal").fit(sales)
    >>> page = render(report_data(plan, title="Next two days"))
    >>> "Next two days" in page
    True
    """
    laid_out = {"decision": _decision, "orders": _orders, "replenishment": _replenishment}
    kind = data["kind"]
    return page(f"{kind}.html", **data, **laid_out[kind](data))


def page(template: str, **values: Any) -> str:
    """Fill a template of this package; what it shows is escaped unless it is markup."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """Templates with the filters that print numbers."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("unmet.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"number": number, "percent": percent, "money": money, "amount": amount}
    made.filters |= {
        "zip": zip,
        "capital": capital,
        "data": lambda *each: Markup(charts.embedded(*each)),
    }
    own = (files("unmet.report") / "templates" / "report.js").read_text(encoding="utf-8")
    made.globals |= {
        "colours": charts.COLOURS,
        "policy": Markup(charts.policy(charts.DRAW, own)),
        "vega": Markup(charts.script()),
        "draw": Markup(charts.DRAW),
        "own_script": Markup(own),
        "MISSING": MISSING,
    }
    return made


def _figure(chart: charts.Chart, finding: str, how: str = "", **more: Any) -> dict[str, Any]:
    """Give what the macro of the same name shows; `finding` also stands for the chart."""
    return {"chart": chart.spec, "finding": finding, "how": how, **more}


def _folded_items(
    items: Sequence[tuple[str, Sequence[Sequence[charts.Part]], str]],
    draw: Sequence[Any],
) -> dict[str, Any]:
    """Charts of many items: what they share stands once, and each has its data.

    Parameters
    ----------
    items : sequence of (str, sequence of parts, str)
        Name, the parts of each of its charts, and what they show.
    draw : sequence of callable
        Makes each chart of parts.
    """
    shared = []
    for place, make in enumerate(draw):
        # one part of each name, so that the legend has them all
        seen = {part[0]: part for _, each, _ in items for part in each[place]}
        spec = make(list(seen.values())).spec if seen else {}
        shared.append({key: value for key, value in spec.items() if key != "datasets"})
    packed = [(name, [charts.packed(each) for each in parts], said) for name, parts, said in items]
    return {"shared": shared, "items": packed}


# --- A plan of own features.


def _decision(data: Mapping[str, Any]) -> dict[str, Any]:
    labels, found, decided = labels_for(data["problem"]), data["diagnosis"], data["decisions"]
    items, left_out = tables.items_of(
        decided, data["history"], labels, when=data["date"], series=data["series"]
    )
    curve = None if found is None else possible_rates(found)
    shown: dict[str, Any] = {
        "labels": labels,
        "folded": _item_section(items, labels) if items else None,
        "left_out": left_out,
        "hidden": None if found is None else hidden_rows(found, data["problem"], data["assumed"]),
        "sure": "" if found is None else capital(sure(found)),
        "followed": "" if found is None else followed(found, data["problem"]),
        "symbols": SYMBOLS,
        "curve": curve,
        "open_stake": _open_stake(data),
        "pivot": None,
        "drawn": None,
        "rows": None,
    }
    if decided is not None and decided.height:
        shown["pivot"] = _pivot(items, labels)
        first = (*data["series"], data["date"])
        shown["rows"] = tables.by_row(decided, labels, first)
        finite = decided.filter(decided["decision"].is_finite())
        if finite.height:
            chart, period = tables.decisions_chart(finite, labels)
            shown["drawn"] = _figure(chart, sentences.decisions_finding(finite, labels, period))
    shown["cards"] = decision_cards(data)
    if found is not None and curve is not None:
        decision, fit, cost = rate_charts(found, labels)
        shown["rate_figure"] = _figure(
            decision, sentences.sensitivity_finding(found, curve, labels)
        )
        shown["stake_figure"] = _figure(cost, sentences.cost_finding(curve, labels))
        shown["rate_table"] = [
            (f"Assumed {labels.rate}", [f"{rate:.1%}" for rate in curve.rate], True),
            (f"Mean {labels.decision}", [number(each, 4) for each in curve.decision], True),
            ("Mean cost per row", [number(cost, 4) for cost in curve.cost], True),
        ]
        best = curve.rate[min(range(len(curve.fit)), key=curve.fit.__getitem__)]
        said = f"The data are most likely at a rate of {percent(best)}."
        if found.interval is not None and not found.share_is_seen:
            said += f" Rates of {interval(found.interval)} fit (95% interval)."
        shown["fit_figure"] = _figure(fit, said)
    if data["comparison"] is not None and data["comparison"].methods:
        chart, finding, how = method_costs(data)
        shown["cost_figure"] = _figure(chart, finding, how)
        shown["methods"] = methods_table(data["comparison"], labels)
    if found is not None:
        shown |= _statistics(found, labels, data["problem"])
    return shown


def _open_stake(data: Mapping[str, Any]) -> bool:
    """Whether the data leave open what is lost if censoring is ignored."""
    found, stake = data["diagnosis"], data["stake"]
    return (
        found is not None
        and stake is not None
        and data["assumed"] is None
        and found.identified == "no"
        and found.share_given is None
        and stake[1] != stake[2]
    )


def decision_cards(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Give the key figures of decisions on rows: name, value and what it means."""
    labels = labels_for(data["problem"])
    decided, found, stake = data["decisions"], data["diagnosis"], data["stake"]
    cards: list[tuple[str, ...]] = []
    if decided is not None and decided.height:
        column = decided["decision"].filter(decided["decision"].is_finite())
        total, mean = float(column.sum()), float(column.mean() or 0.0)
        if not column.len():
            cards.append((f"mean {labels.decision}", "never", "planned replacement costs more"))
        elif not labels.added_up:
            cards.append((f"mean {labels.decision}", number(mean, 4)))
        else:
            each = f"{number(mean, 4)} per row"
            if data["date"] is not None and data["date"] in decided.columns:
                dates = decided[data["date"]].drop_nulls().n_unique() or 1
                each = f"{number(total / dates, 4)} a day, {dates:,} days"
            cards.append(("total order", amount(total), each))
            if "ignoring" in decided.columns:
                other = float(decided["ignoring"].sum())
                way = "more" if total >= other else "less"
                change = percent(abs(total / other - 1)) if other > 0 else ""
                said = f"these orders are {change} {way}" if change else ""
                cards.append((labels.ignoring, amount(other), said))
        cards.append(("rows decided", f"{decided.height:,}"))
    if stake is not None:
        per_row, low, high = (each * data["n_rows"] for each in stake)
        ends = f"{number(low)} to {number(high)}"
        unknown = _open_stake(data)
        wide = "" if low == high or unknown else f"range: {ends}"
        value = ends if unknown else money(per_row, data["currency"])
        cards.append(("cost of ignoring it", value, wide, f"all rows, {labels.ignoring}"))
    if found is not None and found.share_censored is not None:
        value, said = hidden_rows(found, data["problem"], data["assumed"])
        learned = f"of {found.n_rows:,} training rows"
        cards.append((f"rows that hide {labels.truth}", value, learned, said))
    if found is not None and found.share_given is not None:
        cards.append(("can the data tell?", "rate given", capital(sure(found))))
    elif found is not None and found.identified is not None:
        value = f"{SYMBOLS[found.identified]} {found.identified}"
        cards.append(("can the data tell?", value, capital(sure(found))))
    return cards


def _item_section(items: Sequence[Mapping[str, Any]], labels: Labels) -> dict[str, Any]:
    most = 120 if len(items) <= 25 else 45  # days of each
    told = [
        (
            item["name"],
            [tables.item_parts(item, labels, most=most)],
            sentences.item_finding(item, labels),
        )
        for item in items
    ]
    return _folded_items(told, [lambda parts: tables.item_chart(parts, labels)])


def _pivot(items: Sequence[Mapping[str, Any]], labels: Labels) -> dict[str, Any] | None:
    """Make the table of items and days."""
    shown = [item["coming"] for item in items if item["coming"] is not None]
    if not shown:
        return None
    found = tables.by_day(pl.concat(shown).select("item", "date", "decision"), labels)
    if found is None:
        return None
    how, table, last = found
    whole = table.columns[1].strip()
    decimals = tables.decimals_of(pl.concat(shown)["decision"].to_list())
    columns: tables.Columns = [(table.columns[0], table.to_series(0).to_list(), False)]
    for name in table.columns[1:]:
        columns.append((name.strip(), tables.formatted(table[name].to_list(), decimals), True))
    foot = [whole, *tables.formatted(last, decimals)]
    return {"caption": f"{labels.decisions} {how}", "columns": columns, "foot": foot}


def method_costs(data: Mapping[str, Any]) -> tuple[charts.Chart, str, str]:
    """Draw costs of several methods as bars; say which is cheapest, and what was held out."""
    comparison, currency = data["comparison"], data["currency"]
    rows = []
    for each in comparison.methods:
        saving, ours = sentences.saving_label(each), each.method in ("latent", "plan")
        name = f"{each.label}: {money(each.cost, currency)}" + (f", {saving}" if saving else "")
        rows.append({"name": name, "value": each.cost, "ours": ours, "parts": each.by_fold})
    how, folds = "", comparison.folds
    if folds:
        blocks = "The block" if len(folds) == 1 else f"Each of {len(folds)} blocks"
        how = (
            f"{blocks} of time from {folds[0][0]} to {folds[-1][1]} was held out, with models "
            "fitted to earlier rows; diamonds are the blocks."
        )
    finding = sentences.comparison_finding(comparison, labels_for(data["problem"]))
    return charts.bars(rows, x="cost per row"), finding, how


def methods_table(comparison: Comparison, labels: Labels) -> tables.Columns:
    """Costs of several methods, without columns that nobody can fill."""
    methods = comparison.methods

    def shares(name: str) -> list[str]:
        found = [getattr(each, name) for each in methods]
        return ["" if value is None else percent(value) for value in found]

    cells = {
        "Method": [each.label for each in methods],
        "Cost per row": [number(each.cost, 4) for each in methods],
        "Saving": shares("saving"),
        f"Mean {labels.decision}": [number(each.decision, 4) for each in methods],
        labels.covered: shares("service_level"),
        labels.served or "": shares("fill_rate") if labels.served else [],
    }
    return [
        (heading, [cell or MISSING for cell in column], heading != "Method")
        for heading, column in cells.items()
        if any(column)
    ]


def _statistics(found: Any, labels: Labels, problem: str) -> dict[str, Any]:
    """Quantiles of a typical row, the candidates, and the ways to decide where several are left."""
    shown: dict[str, Any] = {"answers": answers(found, problem)}
    shown |= {"quantile_figure": None, "choices": None}
    plot = found.quantiles
    if plot is not None:
        finding = sentences.quantiles_finding(plot, labels)
        shown["quantile_figure"] = _figure(quantile_chart(found, labels), finding)
    if found.candidates:
        names = {"truth": labels.truth, "scale": "spread", "orders": labels.policy}
        cells = candidate_columns(found.candidates, 8)
        shown["candidates"] = [
            (capital(names.get(name, name)), column, name in _NUMERIC)
            for name, column in cells.items()
        ]
        shown["policies"] = set(cells["orders"])
    told = found.ambiguity
    if told is not None:
        names = {
            "least_censoring": "least censoring",
            "minimax_regret": "minimax regret",
            "expected_cost": "expected cost",
        }
        choices = [getattr(told, name) for name in names]
        shown["choices"] = [
            ("Rule", list(names.values()), False),
            (f"Mean {labels.decision}", [number(each.decision, 4) for each in choices], True),
            ("Worst extra cost per row", [number(each.worst) for each in choices], True),
            ("at a hidden share of", [percent(e.worst_rate) for e in choices], True),
        ]
    return shown


# --- Orders for coming days.


def _orders(data: Mapping[str, Any]) -> dict[str, Any]:
    labels, decided, choice = order_labels(data["unit"]), data["decisions"], data["choice"]
    item = tables.item_name(data["series"])
    totals = (
        decided.with_columns(item.alias("\0item"))
        .group_by("\0item", maintain_order=True)
        .agg(pl.col("decision", *PARTS.values()).sum(), pl.col("based on").first())
        .sort("decision", descending=True, maintain_order=True)
    )
    kept = data["history"]["item"].unique()
    own = decided.filter(decided.select(item).to_series().is_in(kept.implode()))
    items, _ = tables.items_of(
        own, data["history"], labels, when=data["date"], series=data["series"]
    )
    sums = {row["\0item"]: row for row in totals.iter_rows(named=True)}
    for each in items:
        row = sums[each["name"]]
        each["parts"] = {name: row[name] for name in PARTS.values()}
        each["based_on"] = "" if row["based on"] == "own history" else row["based on"]
    rows = tables.by_row(decided, labels, (*data["series"], data["date"]))
    whole = {
        "past": data["whole"],
        "coming": decided.group_by(pl.col(data["date"]).alias("date"))
        .agg(pl.col("decision").sum())
        .sort("date"),
        "parts": data["parts"],
    }
    drawn = None
    if totals.height > 1:
        chart = tables.item_chart(tables.item_parts(whole, labels), labels)
        drawn = _figure(chart, f"All series. {sentences.item_finding(whole, labels)}")
    finding = (
        f"Mean cost per {data['unit']} and series in a backtest on {choice.n_days} {data['unit']}s."
    )
    return {
        "labels": labels,
        "cards": order_cards(data),
        "totals": totals,
        "pivot": _pivot(items, labels) if totals.height <= len(items) else _totals_table(totals),
        "drawn": drawn,
        "rows": rows,
        "folded": _item_section(items, labels),
        "n_items": len(items),
        "cost_figure": _model_bars(data, finding, labels_of(data["unit"])["seasonal"]),
        "cost_table": cost_table(choice, data["unit"]),
    }


def order_cards(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Give the key figures of orders for coming days: name, value and what it means."""
    days = data["decisions"][data["date"]].n_unique()
    unit, parts, choice = data["unit"], data["parts"], data["choice"]
    total = float(data["decisions"]["decision"].sum())
    cards: list[tuple[str, ...]] = [
        ("total order", amount(total), f"{number(total / max(days, 1), 4)} a {unit}"),
        ("usual sales", amount(parts["usual sales"]), "expected sales"),
    ]
    if parts["hidden demand"]:
        said = "expected unmet demand"
        cards.append(("hidden demand", f"+{amount(parts['hidden demand'])}", said))
    safety = parts[PARTS["safety"]]
    more, sign = ("underage", "+") if safety >= 0 else ("overage", "−")
    cards.append((PARTS["safety"], f"{sign}{amount(abs(safety))}", f"{more} costs more"))
    if data["ends"] is not None:
        cards.append(("range by sell-out rate", " to ".join(amounts(data["ends"]))))
    if data["reached"] is not None:
        cards.append(
            (
                "service level",
                percent(data["reached"]),
                f"of {unit}s in the backtest; target {percent(data['level'])}",
            )
        )
    usual, best = choice.cost.get("seasonal", 0.0), choice.cost.get(choice.model, 0.0)
    if choice.model != "seasonal" and usual > 0:
        gain = money((usual - best) * data["decisions"].height, data["currency"])
        cards.append(
            (
                "saving in the backtest",
                percent(1.0 - best / usual),
                f"against {labels_of(unit)['seasonal']}, {choice.n_days} {unit}s",
                f"about {gain} for these orders" if data["evaluated"] else "",
            )
        )
    return cards


def _totals_table(totals: Any) -> dict[str, Any]:
    rows, count = totals.head(_MAX_TOTALS), totals.height
    names = ("decision", *PARTS.values())
    heads = ("total", *PARTS.values())
    columns: tables.Columns = [("item", rows["\0item"].to_list(), False)]
    columns += [(h, amounts(rows[n].to_list()), True) for h, n in zip(heads, names, strict=True)]
    part = f"the {rows.height:,} largest of {count:,}" if rows.height < count else f"all {count:,}"
    foot = ["total", *amounts([float(totals[name].sum()) for name in names])]
    return {"caption": f"orders by item, {part}", "columns": columns, "foot": foot}


def _model_bars(data: Mapping[str, Any], finding: str, usual: str) -> dict[str, Any] | None:
    """Draw what each model cost or missed on days held out; None where one was not compared."""
    choice, bars = data["choice"], []
    labels = labels_of(data["unit"], choice.members)
    first = choice.cost.get("seasonal")
    for name, cost in sorted(choice.cost.items(), key=lambda each: each[1]):
        is_money = data["evaluated"] and data["kind"] == "orders"
        said = [money(cost, data["currency"])] if is_money else []
        if first and name != "seasonal":
            share = cost / first - 1.0
            said.append(f"{percent(abs(share))} {'less' if share < 0 else 'more'}")
        label = f"{capital(labels[name])}: {', '.join(said)}".removesuffix(": ")
        bars.append({"name": label, "value": cost, "ours": name == choice.model})
    how = f"Percentages compare with {usual}." if first else ""
    x = "cost" if data["kind"] == "orders" else "forecast error"
    return _figure(charts.bars(bars, x=x), finding, how) if len(bars) > 1 else None


def cost_table(choice: Any, unit: str) -> tables.Columns:
    """Costs of all candidates on periods held out."""
    names = sorted(choice.cost, key=choice.cost.__getitem__)
    labels = labels_of(unit, choice.members)
    return [
        ("model", [capital(labels[name]) for name in names], False),
        ("cost", [number(choice.cost[name], 4) for name in names], True),
    ]


# --- Replenishment.


def _replenishment(data: Mapping[str, Any]) -> dict[str, Any]:
    labels, unit = order_labels(data["unit"]), data["unit"]
    rows, count = data["decisions"].head(_MAX_TOTALS), data["decisions"].height
    totals = _stock_totals(data)

    def dates(name: str) -> list[str]:
        return [MISSING if each is None else each.isoformat() for each in rows[name]]

    columns: tables.Columns = [
        ("item", [each or "all rows" for each in rows["item"]], False),
        ("order", amounts(rows["order"]), True),
        ("arrives", dates("arrives"), False),
        ("on hand", amounts(rows["on_hand"]), True),
        ("on order", amounts(rows["on_order"]), True),
        ("expected demand", [number(each, 4) for each in rows["expected_demand"]], True),
        ("runs out", dates("runs_empty"), False),
        ("stock-out probability", [percent(each) for each in rows["chance_of_running_out"]], True),
        ("expected shortage", [number(each, 3) for each in rows["expected_shortage"]], True),
    ]
    short = number(data["decisions"]["expected_shortage"].sum(), 3)
    foot = ["", "", short]
    if "expected_loss" in rows.columns:
        total = data["decisions"]["expected_loss"].sum()
        losses = [money(each, data["currency"]) for each in (*rows["expected_loss"], total)]
        columns.append(("expected loss", losses[:-1], True))
        foot.append(losses[-1])
    caption = "orders, the most urgent first"
    if count > rows.height:
        caption += f": {rows.height:,} of {count:,} series"
    order, *others = totals.values()
    foot = ["total", order, "", *others, *foot]
    finding = f"Forecast error of each model in a backtest on {unit}s held out."
    few = len(data["ahead"]) <= 25
    items, _ = tables.items_of(None, data["history"], labels, when=None)
    past = {item["name"]: item for item in items}
    folded = []
    for ahead in data["ahead"]:
        nothing = {"past": None, "coming": None}
        sold = tables.item_parts(past.get(ahead["item"], nothing), labels, most=120 if few else 45)
        coming = charts.curve("expected demand", "fitted", ahead["dates"], ahead["demand"])
        parts = [[*sold, coming], *tables.stock_parts(ahead)]
        folded.append((ahead["item"], parts, sentences.stock_finding(ahead, unit)))
    return {
        "labels": labels,
        "cards": replenishment_cards(data),
        "pivot": {"caption": caption, "columns": columns, "foot": foot},
        "folded": _folded_items(
            folded,
            [
                lambda parts: tables.item_chart(parts, labels),
                stock_chart,
                chance_chart,
            ],
        ),
        "model": labels_of(unit, data["choice"].members)[data["choice"].model],
        "cost_figure": _model_bars(data, finding, labels_of(unit)["seasonal"]),
    }


def stock_chart(parts: Sequence[charts.Part]) -> charts.Chart:
    """Draw stock to come; see `tables.stock_parts`."""
    return charts.lines(parts, title="Projected stock", y=charts.axis(zero=True), height=150)


def chance_chart(parts: Sequence[charts.Part]) -> charts.Chart:
    """Draw the chance of running out."""
    upward = charts.axis(form=".0%", domain=(0, 1), n_ticks=3)
    return charts.lines(parts, title="Stock-out probability", y=upward, height=100)


def _stock_totals(data: Mapping[str, Any]) -> dict[str, str]:
    """Add up what is ordered, there, on its way and expected to be asked for."""
    names = ("order", "on_hand", "on_order", "expected_demand")
    sums = {name: float(data["decisions"][name].sum()) for name in names}
    sums["expected_demand"] = round(sums["expected_demand"])
    return {name: amount(each) for name, each in sums.items()}


def replenishment_cards(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Give the key figures of the orders: name, value and what it means."""
    rows, totals = data["decisions"], _stock_totals(data)
    ordered = (rows["order"] > 0).sum()
    empty, count = rows["chance_of_running_out"].sum(), rows.height
    more = f"series, {data['until_next']}"
    return [
        ("total order", totals["order"], f"for {ordered:,} of {count:,} series"),
        ("expected stock-outs", f"{empty:,.0f} of {count:,}", more),
        ("on hand", totals["on_hand"], f"and {totals['on_order']} on order"),
        ("expected demand", totals["expected_demand"], "until the next orders arrive"),
    ]
