"""What charts and tables of a plan show, in sentences: the report and the page say the same."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from unmet.censoring import Diagnosis
from unmet.censoring.model import QuantilePlot, Sensitivity
from unmet.censoring.plots import hides
from unmet.censoring.text import (
    Labels,
    capital,
    fixed,
    followed,
    hidden_rows,
    interval,
    labels_for,
    number,
    percent,
    rates,
)
from unmet.planning.decision_report import Comparison, MethodCost

if TYPE_CHECKING:
    from datetime import date

    from polars import DataFrame

    from unmet.planning import DecisionPlan

DIGITS = 4


def money(value: float, currency: str = "") -> str:
    r"""Print an amount of money; a sign such as € stands before it, a word such as EUR after it.

    Examples
    --------
    >>> money(8700.4, "€"), money(8700.4, "EUR"), money(-3.5), money(-3.5, "$")
    ('€8,700', '8,700\xa0EUR', '-3.50', '-$3.50')
    """
    if not currency:
        return number(value)
    if len(currency) == 1 and not currency.isalpha():
        return ("-" if value < 0 else "") + currency + number(abs(value))
    return f"{number(value)}\u00a0{currency}"


def amount(total: float) -> str:
    """Print a sum, in full where it is large: it may be looked up elsewhere."""
    whole = abs(total) >= 100 or float(total).is_integer()
    return fixed(total, 0) if whole else number(total, DIGITS)


def day_label(moment: date) -> str:
    """Name a day, with its hour where it has one."""
    said = f"{moment.day} {moment:%b %Y}"
    return f"{said}, {moment:%H:%M}" if getattr(moment, "hour", 0) else said


def parts_label(parts: Mapping[str, float]) -> str:
    """Say what orders consist of, as a sum.

    Examples
    --------
    >>> parts_label({"usual sales": 100.0, "hidden demand": 0.0, "safety": -4.0})
    '100 usual sales − 4 safety'
    """
    said = ""
    for name, value in parts.items():
        if not said:
            said = f"{amount(value)} {name}"
        elif value:
            said += f" {'+' if value > 0 else '−'} {amount(abs(value))} {name}"
    return said


# --- A plan of own features.


def answer(
    plan: DecisionPlan,
    decisions: DataFrame | None,
    comparison: Comparison | None,
    assumed: float | None = None,
) -> list[str]:
    """Give the main message, a sentence each."""
    said, labels = [], labels_for(plan.problem)
    if decisions is not None:
        finite = decisions.filter(decisions["decision"].is_finite())
        mean = float(finite["decision"].mean()) if finite.height else float("inf")  # type: ignore[arg-type]
        sentence = f"{decisions.height:,} {labels.nouns}, on average {mean:,.1f}"
        if "ignoring" in decisions.columns and plan.problem != "replacement":
            more = float((decisions["decision"] - decisions["ignoring"]).mean())  # type: ignore[arg-type]
            way = "more" if more >= 0 else "less"
            sentence += f", {abs(more):,.1f} {way} than {labels.ignoring}"
        said.append(sentence + ".")
    elif text := getattr(plan.estimator_, "found_", {}).get("text"):  # of an age or a price
        said += text.splitlines()
    found = plan.diagnosis_
    if found is not None:
        taken = followed(found, plan.problem) if assumed is None else ""
        sentence = f"{hidden_rows(found, plan.problem, assumed)[1]} {taken}".strip()
        said += [sentence] if sentence else []
    saving = None if comparison is None else comparison["plan"].saving
    if comparison is not None and saving is not None:
        where = {
            "truth": "evaluated on the true values",
            "seen": "evaluated on rows that did not sell out",
            "estimate": "evaluated on estimated demand",
            "observation": "evaluated on observations, which favors low decisions",
        }[comparison.basis]
        way = "less" if saving >= 0 else "more"
        said.append(
            f"In a backtest on {comparison.n_rows:,} rows, {labels.nouns} cost {abs(saving):.1%} "
            f"{way} than {labels.ignoring} ({where})."
        )
    if plan.choice_ is not None:
        said.append(plan.choice_.why)
    return said


def quantiles_finding(plot: QuantilePlot, labels: Labels) -> str:
    """Whether observations bend away from the truth, and how far at the end."""
    if not hides(plot):
        return (
            f"{capital(labels.observations)} follow the straight line of {labels.truth}: the "
            "chosen model has no censoring."
        )
    level, truth, seen = plot.levels[-1], plot.latent[-1], plot.modelled[-1]
    return (
        f"{capital(labels.observations)} are below the straight line of {labels.truth}. In a "
        f"typical row the {percent(level)} quantile of {labels.observations} is {number(seen)}, "
        f"and that of {labels.truth} is {number(truth)}. The shaded area is the hidden part."
    )


def sensitivity_finding(diagnosis: Diagnosis, found: Sensitivity, labels: Labels) -> str:
    """How far the decision moves with the rate, and which rates fit."""
    first, last = found.decision[0], found.decision[-1]
    start = (
        f"The mean {labels.decision} {'rises' if last > first else 'moves'} from "
        f"{number(first, 4)} to {number(last, 4)} as the assumed {labels.rate} goes from "
        f"{percent(found.rate[0])} to {percent(found.rate[-1])}."
    )
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return start
    if diagnosis.share_given is not None:
        return f"{start} The given rate is {rates(diagnosis.share_given)}."
    if diagnosis.share_is_seen:
        return f"{start} The rate counted in the data is {percent(share)}."
    if ends is None:
        return f"{start} The chosen model has a rate of {percent(share)}."
    return f"{start} Rates of {interval(ends)} fit the data (95% interval)."


def cost_finding(found: Sensitivity, labels: Labels) -> str:
    """Say what assuming nothing, and the most, costs more than the best rate."""
    best = min(found.cost)
    rate = found.rate[found.cost.index(best)]
    low, high = (percent(max(end / best - 1, 0.0)) for end in (found.cost[0], found.cost[-1]))
    return (
        f"If the chosen model is true, the cheapest assumed {labels.rate} is {percent(rate)}, at a "
        f"cost of {number(best)} per row. A rate of {percent(found.rate[0])} costs {low} more, a "
        f"rate of {percent(found.rate[-1])} costs {high} more."
    )


def comparison_finding(comparison: Comparison, labels: Labels) -> str:
    """Which method is cheapest, and by how much."""
    cheapest = min(comparison.methods, key=lambda each: each.cost)
    if all(number(each.cost) == number(cheapest.cost) for each in comparison.methods):
        return f"All methods cost {number(cheapest.cost)} per row."
    saves = saving_label(cheapest)
    more = f", {saves} than {labels.ignoring}" if saves.endswith("less") else ""
    return f"“{cheapest.label}” costs least{more}."


def saving_label(method: MethodCost) -> str:
    """Say what a method saves against taking observations for the truth; nothing for that one."""
    saving = method.saving
    if saving is None or method.method == "ieo":
        return ""
    if abs(saving) < 0.0005:
        return "no difference"
    return f"{percent(abs(saving))} {'less' if saving > 0 else 'more'}"


def decisions_finding(decisions: DataFrame, labels: Labels, period: str | None) -> str:
    """Say what is drawn (see `tables.decisions_chart`), and how much the band adds."""
    start = f"Number of rows by {labels.decision}."
    if period is not None:
        how = "Total" if labels.added_up else "Mean"
        mean = f", averaged over each {period}" if period else ""
        start = f"{how} {labels.decision} by date{mean}."
    middle = float(decisions["decision"].mean() or 0.0)  # type: ignore[arg-type]
    start += f" The mean per row is {number(middle, 4)}"
    if "ignoring" not in decisions.columns:
        return f"{start}."
    other = float(decisions["ignoring"].mean() or 0.0)  # type: ignore[arg-type]
    return f"{start}; {labels.ignoring} it would be {number(other, 4)}."


# --- One item.


def item_finding(item: Mapping[str, Any], labels: Labels) -> str:
    """Say what to do about an item, and what its history hides; see `tables.items_of`."""
    said, past, coming = [], item["past"], item["coming"]
    decided = [] if coming is None else [v for v in coming["decision"] if v and isfinite(v)]
    if coming is not None and decided:
        count, total = coming.height, sum(decided)
        when = "the next " + (labels.period if count == 1 else f"{count:,} {labels.period}s")
        told = f"Mean {labels.decision} of {when}: {number(total / count, DIGITS)}"
        if labels.added_up:
            told = f"Order {amount(total)} for {when} ({number(total / count)} a {labels.period})"
        other = float(coming["ignoring"].sum()) if "ignoring" in coming.columns else 0.0
        if other > 0:
            change = total / other - 1
            way = f"{percent(abs(change))} {'more' if change > 0 else 'less'} than"
            told += f", {'as' if abs(change) < 0.0005 else way} {labels.ignoring}"
        if item.get("parts"):
            told += f": {parts_label(item['parts'])}"
        based_on = f" It is based on {item['based_on']}." if item.get("based_on") else ""
        said.append(f"{told}.{based_on}")
    if past is not None and labels.added_up:
        seen = float(past["observed"].sum())
        told = f"Sales of the last {past.height:,} {labels.period}s: {amount(seen)}"
        truth = float(past["expected"].fill_null(past["observed"]).sum())
        if truth > seen * 1.0005:
            hidden = percent((truth - seen) / truth)
            told += f"; expected {labels.truth}: {amount(truth)} ({hidden} hidden)"
        elif past["expected"].null_count() < past.height:
            told += f", the same as expected {labels.truth}"
        said.append(f"{told}.")
    elif past is not None:
        mean = float(past["observed"].mean())
        said.append(f"Mean of past {labels.observations}: {number(mean, DIGITS)}.")
    return " ".join(said)


def stock_finding(ahead: Mapping[str, Any], unit: str) -> str:
    """Say what to order of an item, what is there, and when it runs empty."""
    said = "Order nothing."
    if ahead["order"] > 0:
        said = f"Order {amount(ahead['order'])}, to arrive on {day_label(ahead['arrives'])}."
    there = ahead["on_hand"]
    said += f" {'Backorders' if there < 0 else 'On hand'}: {amount(abs(there))}"
    if ahead["on_order"]:
        said += f"; on order: {amount(ahead['on_order'])}"
    demand = number(ahead["expected_demand"], 4)
    said += f"; expected demand until the next order arrives: {demand}."
    if ahead["runs_empty"] is not None:
        said += f" Stock is likely to run out on {day_label(ahead['runs_empty'])}"
        said += "." if unit == "day" else f" or in that {unit}."
    return said
