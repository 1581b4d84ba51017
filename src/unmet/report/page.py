"""The report as one page that needs nothing else, for a planner first.

What to order and the numbers that matter stand first, then orders by item and day, each item with
its history, what is hidden and what it is worth; statistics are one click away, at the end.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from math import exp
from os import PathLike
from pathlib import Path

from unmet.censoring import Diagnosis
from unmet.censoring.constants import LABELS_APART
from unmet.censoring.model import Ambiguity, Sensitivity
from unmet.censoring.plots import possible_rates, quantile_chart, rate_charts
from unmet.censoring.text import answers, candidate_columns, interval, number, percent, sure
from unmet.errors import InvalidInput
from unmet.files import write_text
from unmet.planning.decision_report import Comparison, ReportData
from unmet.planning.order_report import OrderReportData, ReplenishmentReportData
from unmet.planning.summary import followed, hidden_rows
from unmet.report.charts import Item, decisions_chart, items_of
from unmet.report.drawing import Bar, bars, figure, style_sheet
from unmet.report.html import (
    Html,
    element,
    folded,
    joined,
    key_figure,
    page_head,
    pairs,
    several,
    table,
)
from unmet.report.labels import (
    Labels,
    capital,
    comparison_finding,
    comparison_numbers,
    cost_finding,
    labels_for,
    money,
    quantiles_finding,
    saving_label,
    sensitivity_finding,
)
from unmet.report.orders import (
    MISSING,
    amount,
    by_item,
    by_item_and_day,
    by_row,
    made,
    orders_finding,
)
from unmet.report.panel import panel_sections
from unmet.report.replenishment import replenishment_sections

SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}  # of `Diagnosis.identified`
_DIGITS = 4
_MEANS = {
    "yes": "Everything that is not ruled out leads to much the same decisions.",
    "weakly": "The decisions follow the candidate model that hides least of all that are possible: "
    "they are more likely too low than too high. Look at the range.",
    "no": "The data fit a world in which nothing is hidden as well. That is no proof that nothing "
    "is hidden.",
}


def render(content: ReportData) -> str:
    """Lay out a report as one HTML page.

    Everything is inside: the page opens without a network and asks for nothing, which its own
    content security policy enforces. The same content gives the same text, byte for byte.

    Parameters
    ----------
    content : ReportData
        Or the `OrderReportData` of a plan for coming days, or the `ReplenishmentReportData` of one
        for replenishment.

    Returns
    -------
    str
        Some ten thousand characters, and a few thousand more for each item.

    Examples
    --------
    >>> from unmet.planning.decision_report import ReportData
    >>> from unmet.report import render
    >>> page = render(ReportData("Orders of next week", "newsvendor", ("Order 12.",)))
    >>> page.count("<h2"), "<title>Orders of next week</title>" in page
    (9, True)
    """
    if isinstance(content, OrderReportData):
        return _laid_out(content.title, *panel_sections(content))
    if isinstance(content, ReplenishmentReportData):
        return _laid_out(content.title, *replenishment_sections(content))
    labels = labels_for(content.problem)
    items, left_out = items_of(content, labels)
    sections = {
        "decisions-section": (capital(labels.decisions), _decisions(content, items, labels)),
        "items": ("Item by item", by_item(items, left_out, labels)),
        "hidden": ("What is hidden", _hidden(content, labels)),
        "stake": ("The money at stake", _stake(content, labels)),
        "rate": (f"If the {labels.rate} is another", _rate(content, labels)),
        "costs": ("Costs against the alternatives", _costs(content, labels)),
        "unknown": ("What the data cannot tell", _unknown(content, labels)),
        "statistics": ("Statistics", _statistics(content, labels)),
        "made": ("How this was made", made(content)),
    }
    return _laid_out(content.title, _top(content, labels), sections)


def _laid_out(title: str, top: Html, sections: Mapping[str, tuple[str, Html]]) -> str:
    """Put the top and all sections into one page."""
    links, written = [], []
    for name, (heading, body) in sections.items():
        links.append(element("li", element("a", heading, href=f"#{name}")))
        head = element("h2", heading, id=f"{name}-heading")
        written.append(element("section", head, body, id=name, aria_labelledby=f"{name}-heading"))
    contents = element("nav", element("ul", *links), aria_label="Sections")
    main = element("main", top, contents, Html("\n".join(written)))
    script = _asset("report.js")
    checksum = b64encode(sha256(script.encode()).digest()).decode()
    policy = (  # allows the script of this page alone, and no request whatsoever
        f"default-src 'none'; script-src 'sha256-{checksum}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    about = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(_asset("report.css") + style_sheet())),
    ]
    whole = element("body", main, element("script", Html(script)))
    return f"<!DOCTYPE html>\n{element('html', element('head', *about), whole, lang='en')}\n"


def _asset(name: str) -> str:
    return (files("unmet.report") / name).read_text(encoding="utf-8")


def write_report(content: ReportData, path: str | PathLike[str]) -> Path:
    """Write a report to a file; one that was there is replaced, but never by half a report.

    Parameters
    ----------
    content : ReportData
    path : path
        In a folder that exists.

    Returns
    -------
    Path
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput(f"path of the report must be a file, got the folder {target}.")
    if not target.parent.is_dir():
        raise InvalidInput(f"path of the report must be in a folder that exists, got {target}.")
    return write_text(target, render(content))


def _top(content: ReportData, labels: Labels) -> Html:
    """Title, main message, and a card for each number that matters."""
    diagnosis, stake = content.diagnosis, content.stake
    cards: list[Html] = []

    def card(name: str, value: str, *more: str, kind: str | None = None) -> None:
        cards.append(key_figure(name, value, *more, kind=kind))

    for each in _decided_cards(content, labels):
        card(*each)
    if stake is not None:
        low, high = stake.total_range
        ends, total = f"{number(low)} to {number(high)}", money(stake.total, content.currency)
        wide = "" if low == high or _open(content) else f"possible: {ends}"
        lost = f"is lost {labels.ignoring}, all rows"
        card("money at stake", ends if _open(content) else total, wide, lost)
    if diagnosis is not None and diagnosis.share_censored is not None:
        value, said = hidden_rows(diagnosis, content.problem, content.assumed)
        learned = f"of {diagnosis.n_rows:,} rows learned from"
        card(f"rows that hide {labels.truth}", value, learned, said)
    if diagnosis is not None and diagnosis.share_given is not None:
        card("can the data tell?", "the rate was given", capital(sure(diagnosis)))
    elif diagnosis is not None and diagnosis.identified is not None:
        found, told = diagnosis.identified, capital(sure(diagnosis))
        card("can the data tell?", f"{SYMBOLS[found]} {found}", told, kind=f"verdict-{found}")
    return page_head(content.title, content.answer, cards)


def _decided_cards(content: ReportData, labels: Labels) -> list[tuple[str, ...]]:
    """Give what to order in all and a day, how many rows, and what is compared with."""
    decided = content.decisions
    count = max(content.n_decisions, 0 if decided is None else decided.height)
    rows = [("rows decided", f"{count:,}")] if count else []
    if decided is None or not decided.height:
        return list(rows)
    column = decided["decision"].filter(decided["decision"].is_finite())
    if not column.len():
        return [*rows, (f"mean {labels.decision}", "never", "no planned replacement pays")]
    mean, total = float(column.mean() or 0.0), float(column.sum())  # type: ignore[arg-type]
    if not labels.added_up or decided.height < count:
        part = "" if decided.height >= count else f"of the first {decided.height:,} rows"
        return [(f"mean {labels.decision}", number(mean, _DIGITS), part), *rows]
    each = f"{number(mean, _DIGITS)} per row"
    if content.date is not None and content.date in decided.columns:
        dates = decided[content.date].drop_nulls().n_unique()
        if dates:
            each = f"{number(total / dates, _DIGITS)} a day, {dates:,} days"
    # a sum is shown in full: it may be looked up elsewhere
    cards: list[tuple[str, ...]] = [("to order in all", amount(total), each)]
    if "ignoring" in decided.columns:
        other = float(decided["ignoring"].sum())
        change = ""
        if other > 0:
            way = "more" if total >= other else "less"
            change = f"so these orders are {percent(abs(total / other - 1))} {way}"
        cards.append((labels.ignoring, amount(other), change))
    return [*cards, *rows]


def _decisions(content: ReportData, items: list[Item], labels: Labels) -> Html:
    """Show the decisions: by item and day, drawn, and row by row."""
    decided = content.decisions
    if decided is None or not decided.height:
        return element("p", f"This report was made without {labels.decisions}.")
    pivot = by_item_and_day(items, labels)
    finite = decided.filter(decided["decision"].is_finite())
    drawn: Html = element("p", "No planned replacement pays: replace at failure.")
    if finite.height:
        chart = decisions_chart(finite, labels)
        drawn = figure(chart, name="decisions", finding=orders_finding(content, labels))
    return joined([pivot, drawn, by_row(content, labels, alone=not pivot)])


def _hidden(content: ReportData, labels: Labels) -> Html:
    """Say in plain labels how much is hidden, and how surely."""
    diagnosis = content.diagnosis
    if diagnosis is None:
        sentence = (
            f"Nobody asked whether {labels.observations} hide {labels.truth}: no band was wanted, "
            f"so {labels.observations} were taken for {labels.truth}."
        )
        return element("p", sentence)
    said = [hidden_rows(diagnosis, content.problem, content.assumed)[1]]
    if content.assumed is None:
        said += [capital(sure(diagnosis)), followed(diagnosis, content.problem)]
    said = [each for each in said if each]
    if diagnosis.decision is not None and diagnosis.shift and content.assumed is None:
        way = "more" if diagnosis.shift > 0 else "less"
        said.append(
            f"So {labels.decisions} average {number(diagnosis.decision, _DIGITS)}, "
            f"{number(abs(diagnosis.shift))} {way} than {labels.ignoring}."
        )
    if not said:
        said.append(f"{diagnosis.rule} does not say how much is hidden.")
    link = element("a", "the statistics behind it", href="#statistics")
    return element("p", " ".join(said), " See ", link, ".")


def _rate(content: ReportData, labels: Labels) -> Html:
    """Show decisions at an assumed rate."""
    diagnosis = content.diagnosis
    curve = None if diagnosis is None else possible_rates(diagnosis)
    if diagnosis is None or curve is None:
        known = diagnosis is not None and diagnosis.share_is_seen
        why = "the data say which rows hide something" if known else "no model of it was fitted"
        return element("p", f"There is nothing to vary here: {why}.")
    how = f"If you know the {labels.rate} from elsewhere, read the {labels.decision} off here."
    if diagnosis.share_is_seen:
        how += " Rates below what was counted are impossible and not drawn."
    chart = figure(
        rate_charts(diagnosis, labels)[0],
        name="rate",
        finding=sensitivity_finding(diagnosis, curve, labels),
        how=how,
    )
    columns = [
        (f"Assumed {labels.rate}", [f"{100 * rate:.1f}%" for rate in curve.rate], True),
        (f"Mean {labels.decision}", [number(decision, 4) for decision in curve.decision], True),
        ("Mean cost per row", [number(cost, 4) for cost in curve.cost], True),
    ]
    note = "Costs hold if the chosen model is true."
    numbers = table(f"By assumed {labels.rate}", columns)
    return joined([chart, folded("The same in numbers", numbers, element("p", note))])


def _costs(content: ReportData, labels: Labels) -> Html:
    """Show what decisions of several methods cost, and on what they were evaluated."""
    comparison = content.comparison
    if comparison is None or not comparison.methods:
        return element("p", "This report was made without a comparison of methods.")
    truth = capital(labels.truth)
    start, rest = {  # loud where costs mislead
        "truth": ("✓ Evaluated on the truth.", f" {truth} of these rows is known."),
        "seen": (
            "✓ Evaluated on rows that were seen, weighted for those that sold out.",
            f" {truth} above all decisions costs every method the same and is left out, so "
            "differences count, not costs.",
        ),
        "estimate": (
            "≈ Evaluated on an estimate.",
            f" {truth} was not seen; costs are what the chosen model expects them to be. If it is "
            "wrong, so are they.",
        ),
        "observation": (
            f"⚠ Evaluated on {labels.observations}, which favours {labels.favours}.",
            f" {truth} was not seen here, so a decision that is right may look expensive. Do not "
            "choose a method by these costs alone.",
        ),
    }[comparison.basis]
    basis = element("p", element("strong", start), rest, class_=f"basis basis-{comparison.basis}")
    folds, how = comparison.folds, ""
    if folds:
        blocks = "The block" if len(folds) == 1 else f"Each of {len(folds)} blocks"
        how = (
            f"{blocks} of time from {folds[0].first} to {folds[-1].last} was held out and decided "
            "on from what lies before it."
        )
    blocks_of_time = [f"{fold.first} to {fold.last}" for fold in folds]
    shown = []
    for method in comparison.methods:
        saving = saving_label(method)
        cost = money(method.cost, content.currency)
        parts = [
            (size, blocks_of_time[at] if at < len(folds) else f"part {at + 1}")
            for at, size in enumerate(method.by_fold)
        ]
        ours = method.method in ("latent", "plan")
        value = f"{cost}, {saving}" if saving else cost
        shown.append(Bar(method.label, value, method.cost, parts, ours))
    chart = bars(
        shown,
        name="costs",
        finding=comparison_finding(comparison, labels),
        how=how,
        numbers=comparison_numbers(comparison),
        part="one block of time held out",
    )
    return joined([basis, chart, _methods(comparison, labels), several("p", comparison.notes)])


def _methods(comparison: Comparison, labels: Labels) -> Html:
    """One row a method; columns that nobody can fill are left out."""

    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    methods = comparison.methods
    cells = {
        "Method": [each.label for each in methods],
        "Cost per row": [number(each.cost, 4) for each in methods],
        f"Than {labels.ignoring}": [saving_label(each) for each in methods],
        f"Mean {labels.decision}": [number(each.decision, 4) for each in methods],
        labels.covered: [share(each.service_level) for each in methods],
    }
    if labels.served is not None:
        cells[labels.served] = [share(each.fill_rate) for each in methods]
    columns = [
        (heading, [cell or MISSING for cell in column], heading != "Method")
        for heading, column in cells.items()
        if any(column)
    ]
    return table(f"Methods, evaluated on {comparison.n_rows:,} rows", columns)


def _stake(content: ReportData, labels: Labels) -> Html:
    """Tell what it costs to take observations for the truth, and what a wrong rate would."""
    stake, diagnosis = content.stake, content.diagnosis

    def coins(value: float) -> str:
        return money(value, content.currency)

    if stake is None:
        said = [f"What is lost {labels.ignoring} was not estimated."]
    else:
        far = "as far as the data tell"
        if content.assumed is not None or (diagnosis is not None and diagnosis.share_given):
            far = f"if the {labels.rate} is as you said"
        start = (
            f"{capital(labels.ignoring)}, {coins(stake.per_row)} more are lost per row, "
            f"{coins(stake.total)} in all for {stake.n_rows:,} rows, {far}."
        )
        if not stake.per_row:
            start = f"{capital(far)}, nothing is lost {labels.ignoring}."
        low, high = stake.total_range
        wide = (
            "Over all candidates that the data cannot rule out it is between "
            f"{coins(low)} and {coins(high)}."
        )
        if _open(content):
            start = f"The data cannot tell what is lost {labels.ignoring}. {wide}"
        units = "" if content.currency else " in the units of your costs"
        said = [f"{start} It is an estimate{units}, no promise."]
        if low != high and not _open(content):
            said.append(wide)
    parts = [several("p", said)]
    curve = None if diagnosis is None else possible_rates(diagnosis)
    if diagnosis is not None and curve is not None:
        how = "Where the curve is flat, a wrong rate costs little."
        chart, finding = rate_charts(diagnosis, labels)[2], cost_finding(curve, labels)
        parts.append(figure(chart, name="stake", finding=finding, how=how))
    return joined(parts)


def _open(content: ReportData) -> bool:
    """Whether the money at stake is only a range, since the data cannot tell what is hidden."""
    found, stake = content.diagnosis, content.stake
    if found is None or stake is None or content.assumed is not None:
        return False
    unknown = found.identified == "no" and found.share_given is None
    return unknown and stake.low != stake.high


def _unknown(content: ReportData, labels: Labels) -> Html:
    """How far the data can be trusted, and what would tell more."""
    diagnosis = content.diagnosis
    identified = None if diagnosis is None else diagnosis.identified
    known = diagnosis is not None and diagnosis.share_is_seen
    if identified is None and known:
        parts = [element("p", f"It is known which rows hide {labels.truth}.")]
    elif identified is None:
        sentence = f"Whether {labels.observations} hide {labels.truth} was not evaluated."
        parts = [element("p", sentence)]
    elif diagnosis is not None and diagnosis.share_given is not None:
        sentence = capital(sure(diagnosis))
        parts = [element("p", element("strong", sentence), " Decisions are as sure as that rate.")]
    elif diagnosis is not None:
        sentence = f"{SYMBOLS[identified]} {capital(sure(diagnosis))}"
        means = f" {_MEANS[identified]} {followed(diagnosis, content.problem)}".rstrip()
        parts = [element("p", element("strong", sentence), means)]
    if diagnosis is not None and diagnosis.ambiguity is not None:
        parts.append(_ways(diagnosis.ambiguity, labels))
    if identified != "yes" and not (identified is None and known):
        parts.append(element("h3", "What would help"))
        parts.append(element("ul", several("li", labels.helps)))
    return joined(parts)


def _ways(told: Ambiguity, labels: Labels) -> Html:
    """Compare the ways to decide where several candidates are left."""
    names = {
        "least_censoring": "as little as may be hidden (least_censoring)",
        "minimax_regret": "the smallest possible loss (minimax_regret)",
        "expected_cost": "the least expected cost (expected_cost)",
    }
    choices = {name: getattr(told, name) for name in names}
    low, high = (number(end, 4) for end in told.decision_range)
    sentence = (
        f"The candidates that are left ask for {labels.decisions} of {low} to {high} on average. "
        f"What to do with that is yours to say (when_unidentified=, --when-unidentified); followed "
        f"here: {told.followed}."
    )
    columns = [
        ("Aim for", list(names.values()), False),
        (f"Mean {labels.decision}", [number(c.decision, 4) for c in choices.values()], True),
        ("Costs at most so much more a row", [number(c.worst) for c in choices.values()], True),
        (
            "namely if so many rows hide some",
            [percent(c.worst_rate) for c in choices.values()],
            True,
        ),
    ]
    return joined([element("p", sentence), table("Where the data cannot tell", columns)])


# --- Statistics behind one click: intervals, quantiles of a typical row, how well each rate fits.


_RUNNERS_UP = 8
_POLICIES = {
    "absent": "never binding",
    "noisy": "around a level that moves with the features",
    "mixture": "as noisy, and sometimes not binding",
    "at_mass": "exactly on a level that moves with the features",
    "known": "known from flags or stock",
    "rate": "known only by how often they sold out",
}
_NO_NUMBERS = ("truth", "scale", "orders", "verdict")  # columns of candidates that hold no numbers


def _statistics(content: ReportData, labels: Labels) -> Html:
    """Put all statistics behind one click.

    Parameters
    ----------
    content : ReportData
    labels : Labels

    Returns
    -------
    Html
    """
    diagnosis = content.diagnosis
    if diagnosis is None:
        return element("p", "Nothing was estimated, so there are no statistics.")
    parts = [pairs("answers", answers(diagnosis)), _quantiles(diagnosis, labels)]
    curve = possible_rates(diagnosis)
    if curve is not None and diagnosis.share_given is None:  # of a given rate the data say nothing
        parts.append(_likelihood(diagnosis, curve, labels))
    if diagnosis.candidates:
        parts.append(_candidates(diagnosis, labels))
    if diagnosis.notes:
        parts.append(element("ul", several("li", diagnosis.notes)))
    return folded("Show how much is hidden, how that was found, and what else is possible", *parts)


def _quantiles(diagnosis: Diagnosis, labels: Labels) -> Html:
    """Show whether observations bend away from the truth."""
    plot = diagnosis.quantiles
    if plot is None:
        why = f"{diagnosis.rule} does not estimate them."
        if diagnosis.candidates and diagnosis.candidates[0].orders == "limits":
            why = "no row shows the truth itself, only what it is at least or at most."
        return element("p", f"There are no quantiles to draw: {why}", class_="quiet")
    how = (
        f"Dots are {labels.observations}, the line is {labels.truth} in the chosen candidate "
        f"model; the axis is stretched so that it is straight until censoring bends it. If the "
        "dots do not follow the dashed curve, no candidate model fits well."
    )
    chart = figure(
        quantile_chart(diagnosis, labels, LABELS_APART[True]),
        name="hidden",
        finding=quantiles_finding(plot, labels),
        how=how,
        height=300,
    )
    columns = [("Cases below", [f"{100 * level:.0f}%" for level in plot.levels], True)]
    for heading, curve in (
        (f"{capital(labels.observations)}, as seen", plot.observed),
        (f"{capital(labels.observations)}, as fitted", plot.modelled),
        (f"{capital(labels.truth)}, as fitted", plot.latent),
    ):
        columns.append((heading, [number(value, 4) for value in curve], True))
    return joined(
        [chart, folded("The same in numbers", table("Quantiles of a typical row", columns))]
    )


def _likelihood(diagnosis: Diagnosis, curve: Sensitivity, labels: Labels) -> Html:
    """Show how well each rate fits."""
    best = curve.rate[min(range(len(curve.fit)), key=lambda place: curve.fit[place])]
    finding = f"Of the rates tried, {percent(best)} makes the data most likely."
    if diagnosis.interval is not None and not diagnosis.share_is_seen:
        finding += f" Rates of {interval(diagnosis.interval)} fit (95% interval)."
    chart = figure(
        rate_charts(diagnosis, labels)[1], name="likelihood", finding=finding, height=180
    )
    columns = [
        (f"Assumed {labels.rate}", [f"{100 * rate:.1f}%" for rate in curve.rate], True),
        ("Likelihood", [f"{100 * exp(-fall):.0f}%" for fall in curve.fit], True),
    ]
    numbers = table("How well each rate fits, relative to the best", columns)
    return joined([chart, folded("The same in numbers", numbers)])


def _candidates(diagnosis: Diagnosis, labels: Labels) -> Html:
    cells = candidate_columns(diagnosis.candidates, _RUNNERS_UP)
    names = {"truth": labels.truth, "scale": "spread", "orders": labels.policy}
    columns = [
        (capital(names.get(name, name)), column, name not in _NO_NUMBERS)
        for name, column in cells.items()
    ]
    how = (
        "“Behind the best” is how much less likely a candidate model makes a row that it has not "
        "seen, with its standard error; small differences decide nothing. “Added” is what the "
        f"{labels.decision} gains on average."
    )
    kinds = ", ".join(
        f"{kind} ({meaning})" for kind, meaning in _POLICIES.items() if kind in cells["orders"]
    )
    said = [how, f"{capital(labels.policy)} are {kinds}." if kinds else ""]
    left = len(diagnosis.candidates) - _RUNNERS_UP
    if left > 0:
        said.append(f"{left} more are further behind.")
    shown = table("Candidate models, the chosen one first", columns)
    return joined([shown, element("p", " ".join(said), class_="quiet")])
