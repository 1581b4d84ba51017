"""The appendix of a report: what a statistician asks, and how the report was made.

Questions answered with intervals, the quantiles of a typical row, how well each rate fits, and the
explanations compared. A planner need not open it.
"""

from __future__ import annotations

from math import exp

from unmet.bands import Diagnosis
from unmet.bands.constants import LABELS_APART
from unmet.bands.diagnosis import Sensitivity
from unmet.bands.pictures import possible_rates, quantile_chart, rate_charts
from unmet.bands.text import answers, explanation_columns, interval, number, percent
from unmet.planning.telling import ReportContent
from unmet.report.drawing import figure
from unmet.report.html import Html, element, folded, joined, pairs, several, table
from unmet.report.words import Words, capital, quantiles_finding

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


def statistics(content: ReportContent, words: Words) -> Html:
    """Put all statistics behind one click.

    Parameters
    ----------
    content : ReportContent
    words : Words

    Returns
    -------
    Html
    """
    diagnosis = content.diagnosis
    if diagnosis is None:
        return element("p", "Nothing was estimated, so there are no statistics.")
    parts = [pairs("answers", answers(diagnosis)), _quantiles(diagnosis, words)]
    curve = possible_rates(diagnosis)
    if curve is not None and diagnosis.share_given is None:  # of a given rate the data say nothing
        parts.append(_likelihood(diagnosis, curve, words))
    if diagnosis.explanations:
        parts.append(_explanations(diagnosis, words))
    if diagnosis.notes:
        parts.append(element("ul", several("li", diagnosis.notes)))
    return folded("Show how much is hidden, how that was found, and what else is possible", *parts)


def _quantiles(diagnosis: Diagnosis, words: Words) -> Html:
    """Show whether observations bend away from the truth."""
    picture = diagnosis.quantiles
    if picture is None:
        why = f"{diagnosis.rule} does not estimate them."
        if diagnosis.explanations and diagnosis.explanations[0].orders == "limits":
            why = "no row shows the truth itself, only what it is at least or at most."
        return element("p", f"There are no quantiles to draw: {why}", class_="quiet")
    how = (
        f"Dots are {words.observations}, the line is {words.truth} in the chosen explanation; "
        "the axis is stretched so that it is straight until censoring bends it. If the dots do "
        "not follow the dashed curve, no explanation fits well."
    )
    chart = figure(
        quantile_chart(diagnosis, words, LABELS_APART[True]),
        name="hidden",
        finding=quantiles_finding(picture, words),
        how=how,
        height=300,
    )
    columns = [("Cases below", [f"{100 * level:.0f}%" for level in picture.levels], True)]
    for heading, curve in (
        (f"{capital(words.observations)}, as seen", picture.observed),
        (f"{capital(words.observations)}, as fitted", picture.modelled),
        (f"{capital(words.truth)}, as fitted", picture.latent),
    ):
        columns.append((heading, [number(value, 4) for value in curve], True))
    return joined(
        [chart, folded("The same in numbers", table("Quantiles of a typical row", columns))]
    )


def _likelihood(diagnosis: Diagnosis, curve: Sensitivity, words: Words) -> Html:
    """Show how well each rate fits."""
    best = curve.rate[min(range(len(curve.fit)), key=lambda place: curve.fit[place])]
    finding = f"Of the rates tried, {percent(best)} makes the data most likely."
    if diagnosis.interval is not None and not diagnosis.share_is_seen:
        finding += f" Rates of {interval(diagnosis.interval)} fit (95% interval)."
    chart = figure(rate_charts(diagnosis, words)[1], name="likelihood", finding=finding, height=180)
    columns = [
        (f"Assumed {words.rate}", [f"{100 * rate:.1f}%" for rate in curve.rate], True),
        ("Likelihood", [f"{100 * exp(-fall):.0f}%" for fall in curve.fit], True),
    ]
    numbers = table("How well each rate fits, relative to the best", columns)
    return joined([chart, folded("The same in numbers", numbers)])


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


# --- How it was made.


def made(content: ReportContent, *, notes: bool = True) -> Html:
    """Tell what went in, what was done to it (unless told elsewhere), the command, and versions."""
    inputs = dict(content.inputs)
    if content.level is not None and not any("level" in name.lower() for name in inputs):
        inputs["Level α"] = f"{content.level:.4g}"
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    told = element("ul", several("li", content.notes))
    command = element("pre", element("code", content.command), tabindex="0")
    parts = [
        ("What went in", inputs and pairs("named", inputs.items())),
        ("What was done to the table", notes and content.notes and told),
        ("To make it again", content.command and command),
        ("Versions", versions and element("p", versions)),
    ]
    shown = [joined([element("h3", heading), Html(body)]) for heading, body in parts if body]
    return joined(shown) if shown else element("p", "Nothing was noted down.")
