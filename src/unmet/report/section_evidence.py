"""What is decided, what is hidden, and what another rate would change."""

from __future__ import annotations

from math import exp

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import Sensitivity
from unmet.bands.picture_table import explanation_columns
from unmet.bands.picture_text import answers
from unmet.bands.picture_words import number
from unmet.planning.results import ReportContent
from unmet.report import figures
from unmet.report.charts import Charts
from unmet.report.decision_table import decision_table
from unmet.report.findings import decisions_finding, quantiles_finding, sensitivity_finding
from unmet.report.markup import Html, capital, element, folded, joined, table
from unmet.report.words import Words

__all__ = ["decisions", "hidden", "rate"]

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
    light, dark = (
        figures.decisions_figure(made, problem=content.problem, dark=dark) for dark in (False, True)
    )
    chart = charts.place("decisions", light, dark, finding)
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
    light, dark = (
        figures.diagnosis_figure(diagnosis, problem=problem, dark=dark) for dark in (False, True)
    )
    chart = charts.place("hidden", light, dark, quantiles_finding(diagnosis.quantiles, words), how)
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
    light, dark = (
        figures.sensitivity_figure(diagnosis, problem=content.problem, dark=dark)
        for dark in (False, True)
    )
    how = f"If you know the {words.rate} from elsewhere, read the {words.decision} off here."
    chart = charts.place("rate", light, dark, sensitivity_finding(diagnosis, curve, words), how)
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
