"""The appendix of a report: what a statistician asks, and how the report was made.

Questions answered with intervals, the quantiles of a typical row, how well each rate fits, and the
candidates compared. A planner need not open it.
"""

from __future__ import annotations

from math import exp

from unmet.bands import Diagnosis
from unmet.bands.constants import LABELS_APART
from unmet.bands.diagnosis import Sensitivity
from unmet.bands.plots import possible_rates, quantile_chart, rate_charts
from unmet.bands.text import answers, candidate_columns, interval, number, percent
from unmet.planning.decision_report import ReportData
from unmet.report.drawing import figure
from unmet.report.html import Html, element, folded, joined, pairs, several, table
from unmet.report.labels import Labels, capital, quantiles_finding

_RUNNERS_UP = 8
_POLICIES = {
    "absent": "never binding",
    "noisy": "around a level that moves with the features",
    "mixture": "as noisy, and sometimes not binding",
    "at_mass": "exactly on a level that moves with the features",
    "known": "known from flags or stock",
    "rate": "known only by how often they sold out",
}
_LABELS = ("truth", "scale", "orders", "verdict")  # columns of candidates that hold no numbers


def statistics(content: ReportData, labels: Labels) -> Html:
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
        f"model; "
        "the axis is stretched so that it is straight until censoring bends it. If the dots do "
        "not follow the dashed curve, no candidate model fits well."
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
        (capital(names.get(name, name)), column, name not in _LABELS)
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


# --- How it was made.


def made(content: ReportData, *, notes: bool = True) -> Html:
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
