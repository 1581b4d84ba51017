"""The report as one page that needs nothing else.

The answer and the figures that matter stand first, then a section for each question that a planner
asks, then what the data cannot tell and how the report was made.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from hashlib import sha256
from importlib.resources import files
from math import exp
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import Ambiguity
from unmet.bands.text import (
    SURE,
    answers,
    decimals_for,
    explanation_columns,
    fixed,
    interval,
    number,
    percent,
    ruled_out,
)
from unmet.errors import InvalidInput
from unmet.files import write_whole
from unmet.planning.telling import Comparison, ReportContent
from unmet.report import figures
from unmet.report.html import Charts, Html, element, joined, pairs, several, table
from unmet.report.words import (
    Words,
    capital,
    comparison_finding,
    comparison_numbers,
    cost_finding,
    decisions_finding,
    quantiles_finding,
    saving_words,
    sensitivity_finding,
    words_for,
)

if TYPE_CHECKING:
    from polars import DataFrame

SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}  # of `Diagnosis.identified`
_ROWS = 200  # of decisions shown
_DIGITS = 4
_MISSING = "–"
_APART = 0.0005  # shares closer than this print alike
_RUNNERS_UP = 8
_POLICIES = {
    "absent": "never binding",
    "noisy": "around a level that moves with the features",
    "mixture": "as noisy, and sometimes not binding",
    "piled": "exactly on a level that moves with the features",
    "known": "known from flags or stock",
    "rate": "known only by how often they sold out",
}
_WORDS = ("truth", "scale", "orders", "verdict")  # columns of explanations that hold no numbers
_MEANS = {
    "yes": "Everything that is not ruled out leads to much the same decisions.",
    "weakly": "The decisions follow the explanation that hides least of all that are possible: "
    "they are more likely too low than too high. Look at the range.",
    "no": "The data fit a world in which nothing is hidden as well, so little or nothing was "
    "changed. That is no proof that nothing is hidden.",
}


def render(content: ReportContent) -> str:
    """Lay out a report as one HTML page.

    Everything is inside: the page opens without a network and asks for nothing, which its own
    content security policy enforces. The same content gives the same text, byte for byte.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        About five million characters, nearly all of them plotly's script.

    Examples
    --------
    >>> from unmet.planning.telling import ReportContent
    >>> from unmet.report import render
    >>> page = render(ReportContent("Orders of next week", "newsvendor", ("Order 12.",)))
    >>> page.count("<h2"), "<title>Orders of next week</title>" in page
    (7, True)
    """
    figures.drawing()  # complains of a missing package
    from plotly.offline import get_plotlyjs

    words, charts = words_for(content.problem), Charts()
    sections = {
        "decisions-section": (capital(words.decisions), _decisions(content, words, charts)),
        "hidden": ("What is hidden", _hidden(content, words, charts)),
        "rate": (f"Sensitivity to the {words.rate}", _rate(content, words, charts)),
        "costs": ("Costs against the alternatives", _costs(content.comparison, words, charts)),
        "stake": ("The money at stake", _stake(content, words, charts)),
        "unknown": ("What the data cannot tell", _unknown(content.diagnosis, words)),
        "made": ("How this was made", _made(content)),
    }
    links, written = [], []
    for name, (heading, body) in sections.items():
        links.append(element("li", element("a", heading, href=f"#{name}")))
        title = element("h2", heading, id=f"{name}-heading")
        written.append(element("section", title, body, id=name, aria_labelledby=f"{name}-heading"))
    contents = element("nav", element("ul", *links), aria_label="Sections")
    main = element("main", _top(content, words), contents, Html("\n".join(written)))
    need = "The charts need JavaScript; their numbers are in the tables."
    without = element("noscript", element("p", need, class_="basis"))
    # a browser reads line ends as \n, and so must the checksum
    plotly = str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")
    scripts = [plotly, _asset("report.js")]
    sums = " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    policy = (  # allows the scripts of this page alone, and no request whatsoever
        f"default-src 'none'; script-src {sums}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", content.title),
        element("style", Html(_asset("report.css"))),
    ]
    data = []
    for name, (light, dark) in charts.drawn.items():
        # JSON in which nothing can end the element that holds it
        both = f'{{"light":{light.to_json()},"dark":{dark.to_json()}}}'.replace("<", "\\u003c")
        data.append(element("script", Html(both), type="application/json", id=f"chart-{name}-data"))
    run = [element("script", Html(script)) for script in scripts]
    whole = element("body", without, main, *data, *run)
    return f"<!DOCTYPE html>\n{element('html', element('head', *head), whole, lang='en')}\n"


def _asset(name: str) -> str:
    return (files("unmet.report") / name).read_text(encoding="utf-8")


def write_report(content: ReportContent, path: str | PathLike[str]) -> Path:
    """Write a report to a file; one that was there is replaced, but never by half a report.

    Parameters
    ----------
    content : ReportContent
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
    page = render(content).encode("utf-8")

    def write(temporary: Path) -> None:
        temporary.write_bytes(page)

    try:
        return write_whole(target, write)
    except OSError as error:
        raise InvalidInput(
            f"path of the report must be one that can be written, got {target}: {error.strerror}."
        ) from None


def _top(content: ReportContent, words: Words) -> Html:
    """Title, main message, and a card for each figure that matters."""
    decided, diagnosis, stake = content.decisions, content.diagnosis, content.stake
    cards: list[Html] = []

    def card(name: str, value: str, *more: str, kind: str | None = None) -> None:
        below = several("dd", filter(None, more), class_="quiet")
        shown = element("dd", value, class_="value")
        cards.append(element("div", element("dt", name), shown, below, class_=kind))

    count = max(content.n_decisions, 0 if decided is None else decided.height)
    if count:
        card("rows decided", f"{count:,}")
    if decided is not None and decided.height:
        column = decided["decision"]
        mean, total = float(column.mean() or 0.0), float(column.sum())  # type: ignore[arg-type]
        if words.added_up and decided.height >= count:
            # a sum is shown in full: it may be looked up elsewhere
            in_all = fixed(total, 0) if abs(total) >= 100 else number(total, 4)
            card("total order", in_all, f"{number(mean, 4)} per row")
        else:
            part = "" if decided.height >= count else f"of the first {decided.height:,} rows"
            card(f"mean {words.decision}", number(mean, 4), part)
    if diagnosis is not None and diagnosis.share_censored is not None:
        value, how = percent(diagnosis.share_censored), ""
        possible = [each.share_censored for each in diagnosis.explanations if not ruled_out(each)]
        apart = bool(possible) and max(possible) - min(possible) >= _APART
        if diagnosis.share_is_seen:
            how = "counted, not estimated"
        elif diagnosis.identified == "no" and apart:
            how = f"the chosen explanation has {value}"
            value = interval(possible)  # a single share would claim more than the data tell
        elif diagnosis.identified == "weakly" and apart:
            how = f"possible: {interval(possible)}"
        elif diagnosis.interval is not None:
            how = f"95% interval {interval(diagnosis.interval)}"
        learned = f"of {diagnosis.n_rows:,} rows learned from"
        card(f"rows that hide {words.truth}", value, learned, how)
    if diagnosis is not None and diagnosis.identified is not None:
        found = diagnosis.identified
        sure = capital(SURE[found])
        card("can the data tell?", f"{SYMBOLS[found]} {found}", sure, kind=f"verdict-{found}")
    if stake is not None:
        low, high = stake.total_range
        wide = "" if low == high else f"possible: {number(low)} to {number(high)}"
        card("money at stake", number(stake.total), wide, "if this is ignored, all rows")
    return element(
        "header",
        element("h1", content.title),
        several("p", content.answer, class_="answer"),
        element("dl", *cards, class_="cards") if cards else "",
    )


def _decisions(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Show the decisions, drawn and as a table that can be searched and sorted."""
    decided = content.decisions
    if decided is None or not decided.height:
        return element("p", f"This report was made without {words.decisions}.")
    finding = decisions_finding(decided, words)
    if decided.height < content.n_decisions:
        finding += f" Drawn are the first {decided.height:,} of {content.n_decisions:,} rows."
    draw = partial(figures.decisions_figure, decided, problem=content.problem)
    shown, count = decided.head(_ROWS), max(content.n_decisions, decided.height)
    parts = [charts.place("decisions", draw, finding)]
    if shown.height > 1:
        # scripts show the field: without them it would do nothing
        box = element("input", type="search", id="search", autocomplete="off")
        label = element("label", "Search these rows ", box)
        found = element("span", role="status", id="found")
        parts.append(element("p", label, " ", found, class_="search", hidden=True))
    rows = "one row" if count == 1 else f"{count:,} rows"
    if shown.height < count:
        rows = f"first {shown.height:,} of {rows}"
    caption = f"{capital(words.decisions)}, {rows}"
    parts.append(table(caption, _columns(shown, words), id_="decisions"))
    if shown.height < count:
        left = f"{count - shown.height:,} more rows"
        more = f"{left} are in the table of decisions, not in this file."
        parts.append(element("p", more, class_="quiet"))
    return joined(parts)


def _columns(shown: DataFrame, words: Words) -> list[tuple[str, list[str], bool]]:
    """Numbers that were decided with thousands set off; names and codes as they are.

    Whole decisions have no decimals, others as many as four digits of a typical one need.
    """
    numbers = [float(value) for value in shown["decision"].drop_nulls().to_list()]
    decimals = 0
    if not all(value.is_integer() for value in numbers):
        typical = sorted(abs(value) for value in numbers)[len(numbers) // 2]
        decimals = decimals_for(typical, _DIGITS)
    headings = {"decision": words.decision, "ignoring": words.ignoring}
    columns = []
    for column in shown:
        cells = []
        for value in column.to_list():
            if value is None:
                cells.append(_MISSING)
            elif column.name in headings:
                cells.append(fixed(float(value), decimals))
            elif column.dtype.is_float() and not value.is_integer():
                cells.append(number(value, _DIGITS))
            else:
                cells.append(str(int(value) if column.dtype.is_float() else value))
        heading = headings.get(column.name, column.name)
        columns.append((heading, cells, column.dtype.is_numeric()))
    if "ignoring" in shown.columns:
        cells = []
        for value in (shown["decision"] - shown["ignoring"]).to_list():
            rounded = None if value is None else round(value, decimals) or 0.0
            sign = "+" if rounded is not None and rounded > 0 else ""
            cells.append(_MISSING if rounded is None else sign + fixed(rounded, decimals))
        columns.append(("change", cells, True))
    return columns


def _hidden(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Four questions answered, the picture of quantiles, and the explanations compared."""
    diagnosis = content.diagnosis
    if diagnosis is None:
        sentence = (
            f"Nobody asked whether {words.observations} hide {words.truth}: no band was wanted, so "
            f"{words.observations} were taken for {words.truth}."
        )
        return element("p", sentence)
    asked = [each for each in answers(diagnosis) if each[0] != "What is it worth?"]  # see below
    parts = [pairs("answers", asked)]
    picture = diagnosis.quantiles
    if picture is None:
        why = f"{diagnosis.rule} does not estimate them."
        if diagnosis.explanations and diagnosis.explanations[0].orders == "limits":
            why = "no row shows the truth itself, only what it is at least or at most."
        parts.append(element("p", f"There are no quantiles to draw: {why}", class_="quiet"))
    else:
        how = (
            f"Dots are {words.observations}, the line is {words.truth} in the chosen explanation; "
            "the axis is stretched so that it is straight until censoring bends it. If the dots do "
            "not follow the dashed curve, no explanation fits well."
        )
        draw = partial(figures.diagnosis_figure, diagnosis, problem=content.problem)
        parts.append(charts.place("hidden", draw, quantiles_finding(picture, words), how))
        columns = [("Cases below", [f"{100 * level:.0f}%" for level in picture.levels], True)]
        for heading, curve in (
            (f"{capital(words.observations)}, as seen", picture.observed),
            (f"{capital(words.observations)}, as fitted", picture.modelled),
            (f"{capital(words.truth)}, as fitted", picture.latent),
        ):
            columns.append((heading, [number(value, 4) for value in curve], True))
        parts.append(_folded(table("Quantiles of a typical row", columns)))
    if diagnosis.explanations:
        parts.append(_explanations(diagnosis, words))
    return joined(parts)


def _folded(*body: Html) -> Html:
    """Keep numbers at hand that few will look at."""
    return element("details", element("summary", "The same in numbers"), *body)


def _explanations(diagnosis: Diagnosis, words: Words) -> Html:
    cells = explanation_columns(diagnosis.explanations, _RUNNERS_UP)
    names = {"truth": words.truth, "scale": "spread", "orders": words.policy}
    columns = [
        (capital(names.get(name, name)), column, name not in _WORDS)
        for name, column in cells.items()
    ]
    how = (
        "“Behind the best” is how much less likely an explanation makes a row that it has not "
        "seen, with its standard error; small differences decide nothing. “Added” is what the "
        f"{words.decision} gains on average."
    )
    kinds = ", ".join(
        f"{kind} ({meaning})" for kind, meaning in _POLICIES.items() if kind in cells["orders"]
    )
    said = [how, f"{capital(words.policy)} are {kinds}." if kinds else ""]
    left = len(diagnosis.explanations) - _RUNNERS_UP
    if left > 0:
        said.append(f"{left} more are further behind.")
    shown = table("Explanations, the chosen one first", columns)
    return joined([shown, element("p", " ".join(said), class_="quiet")])


def _rate(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Decisions at an assumed rate, and how well each rate fits."""
    diagnosis = content.diagnosis
    curve = None if diagnosis is None else diagnosis.sensitivity
    if diagnosis is None or curve is None:
        known = diagnosis is not None and diagnosis.share_is_seen
        why = "the data say which rows hide something" if known else "no model of it was fitted"
        return element("p", f"There is nothing to vary here: {why}.")
    how = f"If you know the {words.rate} from elsewhere, read the {words.decision} off here."
    draw = partial(figures.sensitivity_figure, diagnosis, problem=content.problem)
    chart = charts.place("rate", draw, sensitivity_finding(diagnosis, curve, words), how)
    columns = [
        (f"Assumed {words.rate}", [f"{100 * rate:.1f}%" for rate in curve.rate], True),
        (f"Mean {words.decision}", [number(decision, 4) for decision in curve.decision], True),
        ("Mean cost per row", [number(cost, 4) for cost in curve.cost], True),
        ("Likelihood", [f"{100 * exp(-fall):.0f}%" for fall in curve.fit], True),
    ]
    note = "Costs hold if the chosen explanation is true; the likelihood is relative to the best."
    numbers = table(f"By assumed {words.rate}", columns)
    return joined([chart, _folded(numbers, element("p", note))])


def _costs(comparison: Comparison | None, words: Words, charts: Charts) -> Html:
    """Show what decisions of several methods cost, and on what they were priced."""
    if comparison is None or not comparison.methods:
        return element("p", "This report was made without a comparison of methods.")
    truth = capital(words.truth)
    start, rest = {  # loud where costs mislead
        "truth": ("✓ Priced on the truth.", f" {truth} of these rows is known."),
        "seen": (
            "✓ Priced on rows that were seen, weighted for those that sold out.",
            f" {truth} above all decisions costs every method the same and is left out, so "
            "differences count, not costs.",
        ),
        "estimate": (
            "≈ Priced on an estimate.",
            f" {truth} was not seen; costs are what the chosen explanation expects them to be. If "
            "it is wrong, so are they.",
        ),
        "observation": (
            f"⚠ Priced on {words.observations}, which favours {words.favours}.",
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
    draw = partial(figures.comparison_figure, comparison)
    finding, numbers = comparison_finding(comparison, words), comparison_numbers(comparison)
    chart = charts.place("costs", draw, finding, how, numbers)
    return joined([basis, chart, _methods(comparison, words), several("p", comparison.notes)])


def _methods(comparison: Comparison, words: Words) -> Html:
    """One row a method; columns that nobody can fill are left out."""

    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    methods = comparison.methods
    cells = {
        "Method": [each.label for each in methods],
        "Cost per row": [number(each.cost, 4) for each in methods],
        "Against ignoring": [saving_words(each) for each in methods],
        f"Mean {words.decision}": [number(each.decision, 4) for each in methods],
        words.covered: [share(each.service_level) for each in methods],
    }
    if words.served is not None:
        cells[words.served] = [share(each.fill_rate) for each in methods]
    columns = [
        (heading, [cell or _MISSING for cell in column], heading != "Method")
        for heading, column in cells.items()
        if any(column)
    ]
    return table(f"Methods, priced on {comparison.n_rows:,} rows", columns)


def _stake(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Tell what ignoring the censoring costs, and what a wrong rate would."""
    stake, diagnosis = content.stake, content.diagnosis
    if stake is None:
        said = ["What ignoring it costs was not estimated."]
    else:
        start = (
            f"Whoever takes {words.observations} for {words.truth} pays {number(stake.per_row)} "
            f"more per row, {number(stake.total)} in all for {stake.n_rows:,} rows, if the chosen "
            "explanation is true."
        )
        if not stake.per_row:
            start = (
                "If the chosen explanation is true, nothing is lost by taking "
                f"{words.observations} for {words.truth}."
            )
        said = [f"{start} It is an estimate in the units of your costs, no promise."]
        low, high = stake.total_range
        if low != high:
            said.append(
                "Over all explanations that the data cannot rule out it is between "
                f"{number(low)} and {number(high)}."
            )
    parts = [several("p", said)]
    curve = None if diagnosis is None else diagnosis.sensitivity
    if diagnosis is not None and curve is not None:
        draw = partial(figures.cost_figure, diagnosis, problem=content.problem)
        how = "Where the curve is flat, a wrong rate costs little."
        parts.append(charts.place("stake", draw, cost_finding(curve, words), how))
    return joined(parts)


def _unknown(diagnosis: Diagnosis | None, words: Words) -> Html:
    """How far the data can be trusted, what was noted, and what would tell more."""
    identified = None if diagnosis is None else diagnosis.identified
    if identified is None:
        sentence = f"Whether {words.observations} hide {words.truth} was not judged."
        parts = [element("p", sentence)]
    else:
        sentence = f"Identified: {identified}; {SURE[identified]}"
        parts = [element("p", element("strong", sentence), " ", _MEANS[identified])]
    if diagnosis is not None and diagnosis.ambiguity is not None:
        parts.append(_ways(diagnosis.ambiguity, words))
    if diagnosis is not None and diagnosis.notes:
        parts.append(element("ul", several("li", diagnosis.notes)))
    if identified != "yes":
        parts.append(element("h3", "What would help"))
        parts.append(element("ul", several("li", words.helps)))
    return joined(parts)


def _ways(told: Ambiguity, words: Words) -> Html:
    """Compare the ways to decide where several explanations are left."""
    names = {
        "least": "as little as may be hidden (least)",
        "regret": "the smallest possible loss (regret)",
        "expected": "the least expected cost (expected)",
    }
    choices = {name: getattr(told, name) for name in names}
    low, high = (number(end, 4) for end in told.decision_range)
    sentence = (
        f"The explanations that are left ask for {words.decisions} of {low} to {high} on average. "
        f"What to do with that is yours to say (when_unsure=, --when-unsure); followed here: "
        f"{told.followed}."
    )
    columns = [
        ("Aim for", list(names.values()), False),
        (f"Mean {words.decision}", [number(c.decision, 4) for c in choices.values()], True),
        ("Costs at most so much more a row", [number(c.worst) for c in choices.values()], True),
        (
            "namely if so many rows hide some",
            [percent(c.worst_rate) for c in choices.values()],
            True,
        ),
    ]
    return joined([element("p", sentence), table("Where the data cannot tell", columns)])


def _made(content: ReportContent) -> Html:
    """Tell what went in, what was done to it, the command, and the versions."""
    inputs = dict(content.inputs)
    if content.level is not None and not any("level" in name.lower() for name in inputs):
        inputs["Level α"] = f"{content.level:.4g}"
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    notes = element("ul", several("li", content.notes))
    command = element("pre", element("code", content.command), tabindex="0")
    parts = [
        ("What went in", inputs and pairs("named", inputs.items())),
        ("What was done to the table", content.notes and notes),
        ("To make it again", content.command and command),
        ("Versions", versions and element("p", versions)),
    ]
    shown = [joined([element("h3", heading), Html(body)]) for heading, body in parts if body]
    return joined(shown) if shown else element("p", "Nothing was noted down.")
