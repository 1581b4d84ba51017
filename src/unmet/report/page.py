"""The whole page: one file that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.resources import files
from math import exp
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import Sensitivity
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
from unmet.errors import InvalidInput, MissingPackage
from unmet.files import write_whole
from unmet.planning.telling import Fold, MethodCost, ReportContent, Stake
from unmet.report import figures
from unmet.report.figures import saving_words
from unmet.report.findings import (
    Charts,
    Html,
    capital,
    comparison_finding,
    comparison_numbers,
    cost_finding,
    decisions_finding,
    element,
    folded,
    joined,
    paragraphs,
    quantiles_finding,
    sensitivity_finding,
    table,
)
from unmet.report.words import Words, words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from polars import DataFrame, Series


# --- Decisions as a table that can be searched and sorted.

ROWS = 200
_MISSING = "–"
_RESULTS = ("ignoring", "decision")
_DIGITS = 4


def decision_table(decisions: DataFrame, n_decisions: int, words: Words) -> Html:
    """Lay out the first rows, a field to search them, and a sentence on the others.

    Parameters
    ----------
    decisions : polars.DataFrame
    n_decisions : int
        Rows in all.
    words : Words

    Returns
    -------
    Html
    """
    shown = decisions.head(ROWS)
    decimals = _decimals(shown["decision"])
    columns = {name: _cells(shown[name], decimals) for name in shown.columns}
    named = {"decision": words.decision, "ignoring": words.ignoring}
    header = [named.get(name, name) for name in columns]
    numeric = [shown[name].dtype.is_numeric() for name in columns]
    if "ignoring" in columns:
        columns["change"] = _changes(shown, decimals)
        header.append("change")
        numeric.append(True)
    count = max(n_decisions, decisions.height)
    made = table(
        f"{words.decisions[:1].upper()}{words.decisions[1:]}, {_rows(shown.height, count)}",
        header,
        zip(*columns.values(), strict=True),
        numeric=numeric,
        id_="decisions",
    )
    return joined([_search(shown.height), made, _rest(shown.height, count)])


def _search(rows: int) -> Html:
    """Make a field that scripts show: without them it would do nothing."""
    if rows < 2:
        return Html()
    box = element("input", type="search", id="search", autocomplete="off")
    label = element("label", "Search these rows ", box)
    count = element("span", role="status", id="found")
    return element("p", label, " ", count, class_="search", hidden=True)


def _rest(shown: int, count: int) -> Html:
    if shown >= count:
        return Html()
    more = f"{count - shown:,} more rows are in the table of decisions, not in this file."
    return element("p", more, class_="quiet")


def _rows(shown: int, count: int) -> str:
    if shown < count:
        return f"first {shown:,} of {count:,} rows"
    return "one row" if count == 1 else f"{count:,} rows"


def _cells(column: Series, decimals: int) -> list[str]:
    """Numbers that were decided with thousands set off; names and codes as they are."""
    show: Callable[[Any], str] = str
    if column.name in _RESULTS:

        def show(value: Any) -> str:
            return fixed(float(value), decimals)
    elif column.dtype.is_float():

        def show(value: Any) -> str:
            return str(int(value)) if float(value).is_integer() else number(value, _DIGITS)

    return [_MISSING if value is None else show(value) for value in column.to_list()]


def _changes(shown: DataFrame, decimals: int) -> list[str]:
    differences = (shown["decision"] - shown["ignoring"]).to_list()
    return [_MISSING if value is None else _signed(value, decimals) for value in differences]


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals) or 0.0
    return fixed(rounded, decimals) if rounded <= 0 else f"+{fixed(rounded, decimals)}"


def _decimals(column: Series) -> int:
    """Whole numbers have none; others as many as four digits of a typical one need."""
    numbers = [float(value) for value in column.drop_nulls().to_list()]
    if all(value.is_integer() for value in numbers):
        return 0
    sizes = sorted(abs(value) for value in numbers)
    return decimals_for(sizes[len(sizes) // 2], _DIGITS)


# --- The top of the page: the answer, and the figures that matter.

_APART = 0.0005  # shares closer than this print alike
_SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}


def answer(content: ReportContent, words: Words) -> Html:
    """Title, main message, key figures."""
    cards = [
        *_decided(content, words),
        *_hidden(content, words),
        *_identified(content),
        *_worth(content),
    ]
    return element(
        "header",
        element("h1", content.title),
        paragraphs(content.answer, class_="answer"),
        element("dl", *cards, class_="cards") if cards else "",
    )


def _card(name: str, value: str, *more: str, kind: str | None = None) -> Html:
    below = joined(element("dd", line, class_="quiet") for line in more if line)
    return element(
        "div",
        element("dt", name),
        element("dd", value, class_="value"),
        below,
        class_=None if kind is None else f"verdict-{kind}",
    )


def _decided(content: ReportContent, words: Words) -> list[Html]:
    table = content.decisions
    count = max(content.n_decisions, 0 if table is None else table.height)
    if not count:
        return []
    cards = [_card("rows decided", f"{count:,}")]
    if table is None or not table.height:
        return cards
    column = table["decision"]
    part = "" if table.height >= count else f"of the first {table.height:,} rows"
    mean = float(column.mean() or 0.0)  # type: ignore[arg-type]
    if words.added_up and not part:
        total = float(column.sum())  # shown in full: it may be looked up elsewhere
        whole = fixed(total, 0) if abs(total) >= 100 else number(total, 4)
        cards.append(_card("total order", whole, f"{number(mean, 4)} per row"))
    else:
        cards.append(_card(f"mean {words.decision}", number(mean, 4), part))
    return cards


def _hidden(content: ReportContent, words: Words) -> list[Html]:
    diagnosis = content.diagnosis
    if diagnosis is None or diagnosis.share_censored is None:
        return []
    value, more = percent(diagnosis.share_censored), [f"of {diagnosis.n_rows:,} rows learned from"]
    possible = [each.share_censored for each in diagnosis.explanations if not ruled_out(each)]
    possible = possible or [diagnosis.share_censored]
    if diagnosis.share_is_seen:
        more.append("counted, not estimated")
    elif diagnosis.identified == "no" and max(possible) - min(possible) >= _APART:
        value = interval(possible)  # a single share would claim more than the data tell
        more.append(f"the chosen explanation has {percent(diagnosis.share_censored)}")
    elif diagnosis.identified == "weakly" and max(possible) - min(possible) >= _APART:
        more.append(f"possible: {interval(possible)}")
    elif diagnosis.interval is not None:
        more.append(f"95% interval {interval(diagnosis.interval)}")
    return [_card(f"rows that hide {words.truth}", value, *more)]


def _identified(content: ReportContent) -> list[Html]:
    diagnosis = content.diagnosis
    if diagnosis is None or diagnosis.identified is None:
        return []
    found = diagnosis.identified
    sentence = SURE[found]
    value = f"{_SYMBOLS[found]} {found}"
    return [_card("can the data tell?", value, sentence[:1].upper() + sentence[1:], kind=found)]


def _worth(content: ReportContent) -> list[Html]:
    stake = content.stake
    if stake is None:
        return []
    low, high = stake.total_range
    wide = "" if low == high else f"possible: {number(low)} to {number(high)}"
    return [_card("money at stake", number(stake.total), wide, "if this is ignored, all rows")]


# --- What is decided, what is hidden, and what another rate would change.

_RUNNERS_UP = 8
_MONEY = "What is it worth?"
_POLICIES = {
    "absent": "never binding",
    "noisy": "around a level that moves with the features",
    "mixture": "as noisy, and sometimes ample",
    "piled": "exactly on a level that moves with the features",
    "known": "known from flags or stock",
}
_WORDS = ("truth", "scale", "orders", "verdict")  # columns of explanations that hold no numbers


def decisions(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Show the decisions, drawn and as a table."""
    made = content.decisions
    if made is None or not made.height:
        return element("p", f"This report was made without {words.decisions}.")
    finding = decisions_finding(made, words)
    if made.height < content.n_decisions:
        finding += f" Drawn are the first {made.height:,} of {content.n_decisions:,} rows."
    draw = partial(figures.decisions_figure, made, problem=content.problem)
    chart = charts.place("decisions", draw, finding)
    return joined([chart, decision_table(made, content.n_decisions, words)])


def hidden(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Four questions answered, the picture of quantiles, and the explanations compared."""
    diagnosis = content.diagnosis
    if diagnosis is None:
        sentence = (
            f"Nobody asked whether {words.observations} hide {words.truth}: no band was wanted, so "
            f"{words.observations} were taken for {words.truth}."
        )
        return element("p", sentence)
    found = [
        element("div", element("dt", question), element("dd", reply))
        for question, reply in answers(diagnosis)
        if question != _MONEY  # has a section of its own
    ]
    return joined(
        [
            element("dl", *found, class_="answers") if found else Html(),
            _quantiles(diagnosis, content.problem, words, charts),
            _explanations(diagnosis, words),
        ]
    )


def _quantiles(diagnosis: Diagnosis, problem: str, words: Words, charts: Charts) -> Html:
    if diagnosis.quantiles is None:
        return element("p", _no_quantiles(diagnosis), class_="quiet")
    how = (
        f"Dots are {words.observations}, the line is {words.truth} in the chosen explanation; the "
        "axis is stretched so that it is straight until censoring bends it. If the dots do not "
        "follow the dashed curve, no explanation fits well."
    )
    draw = partial(figures.diagnosis_figure, diagnosis, problem=problem)
    chart = charts.place("hidden", draw, quantiles_finding(diagnosis.quantiles, words), how)
    picture = diagnosis.quantiles
    rows = [
        (f"{100 * level:.0f}%", number(seen, 4), number(fitted, 4), number(truth, 4))
        for level, seen, fitted, truth in zip(
            picture.levels, picture.observed, picture.modelled, picture.latent, strict=True
        )
    ]
    header = ["Cases below", f"{capital(words.observations)}, as seen"]
    header += [f"{capital(words.observations)}, as fitted", f"{capital(words.truth)}, as fitted"]
    made = table("Quantiles of a typical row", header, rows, numeric=[True] * 4)
    return joined([chart, folded("The same in numbers", made)])


def _no_quantiles(diagnosis: Diagnosis) -> str:
    if diagnosis.explanations and diagnosis.explanations[0].orders == "limits":
        return (
            "There are no quantiles to draw: no row shows the truth itself, only what it is at "
            "least or at most."
        )
    return f"There are no quantiles to draw: {diagnosis.rule} does not estimate them."


def _explanations(diagnosis: Diagnosis, words: Words) -> Html:
    if not diagnosis.explanations:
        return Html()
    columns = explanation_columns(diagnosis.explanations, _RUNNERS_UP)
    names = {"truth": capital(words.truth), "scale": "Spread", "orders": capital(words.policy)}
    made = table(
        "Explanations, the chosen one first",
        [names.get(name, capital(name)) for name in columns],
        zip(*columns.values(), strict=True),
        numeric=[name not in _WORDS for name in columns],
    )
    left = len(diagnosis.explanations) - _RUNNERS_UP
    more = [f"{left} more are further behind."] if left > 0 else []
    how = (
        "“Behind the best” is how much less likely an explanation makes a row that it has not "
        "seen, with its standard error; small differences decide nothing. “Added” is what the "
        f"{words.decision} gains on average."
    )
    seen = [kind for kind in _POLICIES if kind in columns["orders"]]
    kinds = ", ".join(f"{kind} ({_POLICIES[kind]})" for kind in seen)
    kinds = f"{capital(words.policy)} are {kinds}." if kinds else ""
    return joined([made, element("p", " ".join([how, kinds, *more]), class_="quiet")])


def rate(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Decisions at an assumed rate, and how well each rate fits."""
    diagnosis = content.diagnosis
    curve = None if diagnosis is None else diagnosis.sensitivity
    if diagnosis is None or curve is None:
        known = diagnosis is not None and diagnosis.share_is_seen
        why = "the data say which rows hide something" if known else "no model of it was fitted"
        return element("p", f"There is nothing to vary here: {why}.")
    draw = partial(figures.sensitivity_figure, diagnosis, problem=content.problem)
    how = f"If you know the {words.rate} from elsewhere, read the {words.decision} off here."
    chart = charts.place("rate", draw, sensitivity_finding(diagnosis, curve, words), how)
    note = "Costs hold if the chosen explanation is true; the likelihood is relative to the best."
    numbers = folded("The same in numbers", _rates(curve, words), element("p", note))
    return joined([chart, numbers])


def _rates(curve: Sensitivity, words: Words) -> Html:
    rows = [
        (f"{100 * rate:.1f}%", number(decision, 4), number(cost, 4), f"{100 * exp(-fall):.0f}%")
        for rate, decision, cost, fall in zip(
            curve.rate, curve.decision, curve.cost, curve.fit, strict=True
        )
    ]
    header = [f"Assumed {words.rate}", f"Mean {words.decision}", "Mean cost per row", "Likelihood"]
    return table(f"By assumed {words.rate}", header, rows, numeric=[True] * 4)


# --- What the data cannot tell, and how the report was made.

_MEANS = {
    "yes": "Everything that is not ruled out leads to much the same decisions.",
    "weakly": "The decisions follow the explanation that hides least of all that are possible: if "
    "they err, then to the old side. Look at the range.",
    "no": "The data fit a world in which nothing is hidden as well, so little or nothing was "
    "changed. That is no proof that nothing is hidden.",
}


def unknown(content: ReportContent, words: Words) -> Html:
    """How far the data can be trusted, what was noted, and what would tell more."""
    diagnosis = content.diagnosis
    parts: list[Html] = []
    if diagnosis is None or diagnosis.identified is None:
        parts.append(
            element("p", f"Whether {words.observations} hide {words.truth} was not judged.")
        )
    else:
        sentence = f"Identified: {diagnosis.identified}; {SURE[diagnosis.identified]}"
        parts.append(element("p", element("strong", sentence), " ", _MEANS[diagnosis.identified]))
    if diagnosis is not None and diagnosis.notes:
        parts.append(_listed(diagnosis.notes))
    if diagnosis is None or diagnosis.identified != "yes":
        parts.append(element("h3", "What would help"))
        parts.append(_listed(words.helps))
    return joined(parts)


def made(content: ReportContent) -> Html:
    """Tell what went in, what was done to it, the command, and the versions."""
    inputs = dict(content.inputs)
    if content.level is not None and not any("level" in name.lower() for name in inputs):
        inputs["Level α"] = f"{content.level:.4g}"
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    command = element("pre", element("code", content.command), tabindex="0")
    parts = [
        ("What went in", inputs and _named(inputs)),
        ("What was done to the table", content.notes and _listed(content.notes)),
        ("To make it again", content.command and command),
        ("Versions", versions and element("p", versions)),
    ]
    shown = [joined([element("h3", heading), Html(body)]) for heading, body in parts if body]
    return joined(shown) if shown else element("p", "Nothing was noted down.")


def _named(values: Mapping[str, str]) -> Html:
    pairs = (
        element("div", element("dt", name), element("dd", value)) for name, value in values.items()
    )
    return element("dl", *pairs, class_="named")


def _listed(sentences: Iterable[str]) -> Html:
    return element("ul", *(element("li", sentence) for sentence in sentences))


# --- What methods cost, and what is at stake.


def costs(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Show what decisions of several methods cost, and on what they were priced."""
    comparison = content.comparison
    if comparison is None or not comparison.methods:
        return element("p", "This report was made without a comparison of methods.")
    draw = partial(figures.comparison_figure, comparison)
    finding, numbers = comparison_finding(comparison, words), comparison_numbers(comparison)
    return joined(
        [
            _basis(comparison.basis, words),
            charts.place("costs", draw, finding, _held_out(comparison.folds), numbers),
            _methods(comparison.methods, comparison.n_rows, words),
            paragraphs(comparison.notes),
        ]
    )


def _methods(methods: Sequence[MethodCost], n_rows: int, words: Words) -> Html:
    """One row a method; columns that nobody can fill are left out."""
    columns = {
        "Method": [each.label for each in methods],
        "Cost per row": [number(each.cost, 4) for each in methods],
        "Against ignoring": [saving_words(each) for each in methods],
        f"Mean {words.decision}": [number(each.decision, 4) for each in methods],
        words.covered: [_share(each.service_level) for each in methods],
    }
    if words.served is not None:
        columns[words.served] = [_share(each.fill_rate) for each in methods]
    kept = {name: column for name, column in columns.items() if any(column)}
    rows = ([cell or "–" for cell in row] for row in zip(*kept.values(), strict=True))
    caption = f"Methods, priced on {n_rows:,} rows"
    return table(caption, list(kept), rows, numeric=[name != "Method" for name in kept])


def _share(share: float | None) -> str:
    return "" if share is None else percent(share)


def _held_out(folds: Sequence[Fold]) -> str:
    if not folds:
        return ""
    blocks = "The block" if len(folds) == 1 else f"Each of {len(folds)} blocks"
    return (
        f"{blocks} of time from {folds[0].first} to {folds[-1].last} was held out and decided on "
        "from what lies before it."
    )


def _basis(basis: str, words: Words) -> Html:
    """Say what costs were computed on, loudly where they mislead."""
    if basis == "truth":
        start, rest = "✓ Priced on the truth.", f" {capital(words.truth)} of these rows is known."
    elif basis == "estimate":
        start = "≈ Priced on an estimate."
        rest = (
            f" {capital(words.truth)} was not seen; costs are what the chosen explanation expects "
            "them to be. If it is wrong, so are they."
        )
    else:
        start = f"⚠ Priced on {words.observations}, which favours {words.favours}."
        rest = (
            f" {capital(words.truth)} was not seen here, so a decision that is right may look "
            "expensive. Do not choose a method by these costs alone."
        )
    return element("p", element("strong", start), rest, class_=f"basis basis-{basis}")


def stake(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Tell what ignoring the censoring costs, and what a wrong rate would."""
    at_stake, diagnosis = content.stake, content.diagnosis
    if at_stake is None:
        parts = [element("p", "What ignoring it costs was not estimated.")]
    else:
        parts = [element("p", sentence) for sentence in _at_stake(at_stake, words)]
    curve = None if diagnosis is None else diagnosis.sensitivity
    if diagnosis is not None and curve is not None:
        draw = partial(figures.cost_figure, diagnosis, problem=content.problem)
        how = "Where the curve is flat, a wrong rate costs little."
        parts.append(charts.place("stake", draw, cost_finding(curve, words), how))
    return joined(parts)


def _at_stake(at_stake: Stake, words: Words) -> list[str]:
    low, high = at_stake.total_range
    if at_stake.per_row:
        start = (
            f"Whoever takes {words.observations} for {words.truth} pays "
            f"{number(at_stake.per_row)} more per row, {number(at_stake.total)} in all for "
            f"{at_stake.n_rows:,} rows, if the chosen explanation is true."
        )
    else:
        start = (
            f"If the chosen explanation is true, nothing is lost by taking {words.observations} "
            f"for {words.truth}."
        )
    sentences = [f"{start} It is an estimate in the units of your costs, no promise."]
    if low != high:
        sentences.append(
            f"Over all explanations that the data cannot rule out it is between {number(low)} and "
            f"{number(high)}."
        )
    return sentences


# --- The whole page: one file that needs nothing else.


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
    words, charts = words_for(content.problem), Charts()
    sections = _sections(content, words, charts)
    scripts = [_plotly(), _asset("report.js")]
    main = element("main", answer(content, words), _contents(sections), _joined(sections))
    without = element(
        "noscript",
        element(
            "p", "The charts need JavaScript; their numbers are in the tables.", class_="basis"
        ),
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", content.title),
        element("style", Html(_asset("report.css"))),
    ]
    data = [_data(name, *figures) for name, figures in charts.drawn.items()]
    run = [element("script", Html(script)) for script in scripts]
    body = element("body", without, main, *data, *run)
    return f"<!DOCTYPE html>\n{element('html', element('head', *head), body, lang='en')}\n"


def _sections(content: ReportContent, words: Words, charts: Charts) -> dict[str, tuple[str, Html]]:
    """Heading and body of each section, in the order in which a planner asks."""
    return {
        "decisions-section": (capital(words.decisions), decisions(content, words, charts)),
        "hidden": ("What is hidden", hidden(content, words, charts)),
        "rate": (f"Sensitivity to the {words.rate}", rate(content, words, charts)),
        "costs": ("Costs against the alternatives", costs(content, words, charts)),
        "stake": ("The money at stake", stake(content, words, charts)),
        "unknown": ("What the data cannot tell", unknown(content, words)),
        "made": ("How this was made", made(content)),
    }


def _contents(sections: dict[str, tuple[str, Html]]) -> Html:
    links = (
        element("li", element("a", heading, href=f"#{name}"))
        for name, (heading, _) in sections.items()
    )
    return element("nav", element("ul", *links), aria_label="Sections")


def _joined(sections: dict[str, tuple[str, Html]]) -> Html:
    made = (
        element(
            "section",
            element("h2", heading, id=f"{name}-heading"),
            body,
            id=name,
            aria_labelledby=f"{name}-heading",
        )
        for name, (heading, body) in sections.items()
    )
    return Html("\n".join(made))


def _data(name: str, light: Figure, dark: Figure) -> Html:
    """Both figures as JSON in which nothing can end the element that holds it."""
    both = f'{{"light":{light.to_json()},"dark":{dark.to_json()}}}'.replace("<", "\\u003c")
    return element("script", Html(both), type="application/json", id=f"chart-{name}-data")


def _policy(scripts: list[str]) -> str:
    """Allow the scripts of this page alone, and no request whatsoever."""
    known = " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {known}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("unmet.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingPackage.for_extra("the report", "plotly", "report") from None
    script = str(get_plotlyjs())
    # a browser reads line ends as \n, and so must the checksum
    return script.replace("\r\n", "\n").replace("\r", "\n")


# --- A report as a file, whole or absent.


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
