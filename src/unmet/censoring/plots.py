"""Charts of a diagnosis: quantiles that censoring bends, and decisions for other sell-out rates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from unmet.arrays import Array
from unmet.censoring.model import Diagnosis, QuantilePlot, Sensitivity
from unmet.censoring.text import Labels, headline, interval, percent
from unmet.charts import Chart, at, axis, between, curve, lines, span, stacked
from unmet.errors import Unsupported


def quantile_chart(diagnosis: Diagnosis, labels: Labels | None = None) -> Chart:
    """Draw the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `quantiles`.
    labels : Labels, optional
    """
    plot, labels = diagnosis.quantiles, labels or Labels()
    if plot is None:
        raise Unsupported(f"The diagnosis of {diagnosis.rule} has no quantiles to draw.")
    levels, place = np.array(plot.levels), np.array(plot.straight)
    ticks: dict[float, str] = {}
    for level in (0.5, 0.05, 0.95, 0.25, 0.75, 0.9, 0.1, 0.99, 0.01):  # the first ones matter most
        where = float(np.interp(level, levels, place))
        inside = levels[0] <= level <= levels[-1]
        apart = 0.085 * (place[-1] - place[0])  # or labels would touch on a phone
        if inside and all(abs(where - other) >= apart for other in ticks):
            ticks[where] = f"{level:.0%}"
    latent = np.array(plot.latent)
    logarithmic = False
    if min(plot.latent) > 0 and min(plot.observed) > 0:
        bend = _bend(place, latent)
        logarithmic = bend > 0.005 and _bend(place, np.log(latent)) < 0.25 * bend
    told = {"when": [f"{level:.0%} of cases below" for level in plot.levels]}
    parts = [
        curve(f"{labels.truth}, as fitted", "truth", plot.straight, plot.latent, **told),
        curve(f"{labels.observations}, as fitted", "fitted", plot.straight, plot.modelled, **told),
        curve(f"{labels.observations}, as seen", "seen", plot.straight, plot.observed, **told),
    ]
    hidden = hides(plot)
    if hidden:
        above = np.maximum(latent, plot.modelled).tolist()
        parts.insert(0, between("hidden", "hidden", plot.straight, plot.modelled, above))
    how = "bend away from the truth" if hidden else "follow a straight line"
    return lines(
        parts,
        title=f"Observations {how}",
        x=axis(
            "cases below (spaced so that the truth is straight)", ticks=dict(sorted(ticks.items()))
        ),
        y=axis("typical row", log=logarithmic),
        height=300,
    )


def hides(plot: QuantilePlot) -> bool:
    """Whether the fitted truth lies visibly above the fitted observation."""
    latent, modelled = np.array(plot.latent), np.array(plot.modelled)
    return float((latent - modelled).max()) > 0.01 * float(np.ptp(latent))


def _bend(place: Array, values: Array) -> float:
    """Largest distance from the chord, as a share of the range."""
    chord = np.interp(place, place[[0, -1]], values[[0, -1]])
    return float(np.abs(values - chord).max()) / (float(np.ptp(values)) or 1.0)


def possible_rates(diagnosis: Diagnosis) -> Sensitivity | None:
    """Give the curves over rates, without rates below what was counted: those are impossible.

    None where the rule has no such curves; they take a fit per rate when they are first asked for.
    """
    found, share = diagnosis.sensitivity, diagnosis.share_censored
    if found is None or share is None or not diagnosis.share_is_seen:
        return found
    kept = [place for place, rate in enumerate(found.rate) if rate >= share - 1e-9]
    if not kept or len(kept) == len(found.rate):
        return found
    columns = found.rate, found.decision, found.cost, found.fit
    return Sensitivity(*(tuple(column[place] for place in kept) for column in columns))


def rate_charts(
    diagnosis: Diagnosis, labels: Labels | None = None, assumed: float | None = None
) -> tuple[Chart, Chart, Chart]:
    """Draw decision, likelihood and cost against the assumed rate.

    The curves take a fit per rate on first access.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis with `sensitivity`.
    labels : Labels, optional
        Words of the problem. None takes neutral ones.
    assumed : float, optional
        Rate to mark next to the estimated one.
    """
    found, labels = possible_rates(diagnosis), labels or Labels()
    if found is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has no sensitivity to a rate to draw."
        )
    share, ends, counted = diagnosis.share_censored, diagnosis.interval, diagnosis.share_is_seen
    marks = []
    if share is not None:
        given = diagnosis.share_given is not None
        how = "assumed" if diagnosis.identified == "no" else "estimated"
        how = "given" if given else "counted" if counted else how
        if ends is not None and not counted and not given:
            marks.append(span(f"95% interval: {interval(ends)}", "range", *ends))
        marks.append(at(f"{how} share: {percent(share)}", "found", share))
    if assumed is not None:
        marks.append(at(f"{percent(assumed)} assumed", "order", assumed))
    rates, likelihood = plausibility(found)
    mean = f"mean {labels.decision}"
    regret = []
    if diagnosis.ambiguity is not None:  # beside the decisions of each rate
        told = diagnosis.ambiguity
        same = (told.minimax_regret.decision,) * 2
        regret.append(curve("of minimax regret", "fitted", told.rates, same))
    ends = found.rate[0] - 0.02, found.rate[-1] + 0.02
    across = axis(f"assumed {labels.rate} ({labels.rate_means})", form=".0%", domain=ends)
    drawn = (
        ("Its cost, if the estimate is right", "mean cost per row", found.cost, "cost"),
        (f"{labels.decision.capitalize()} at an assumed {labels.rate}", mean, found.decision, ""),
    )
    cost, decision = (
        lines(
            [
                *marks,
                curve(name, style or "decision", found.rate, values),
                *([] if style else regret),
            ],
            title=title,
            x=across,
            y=axis(name, zero=bool(style)),
        )
        for title, name, values, style in drawn
    )
    fit = lines(
        [*marks, curve("how well it fits", "fitted", rates, likelihood)],
        title="How well each rate fits",
        x=across,
        y=axis("likelihood, against the best rate", form=".0%", zero=True),
        height=180,
    )
    return decision, fit, cost


def plausibility(found: Sensitivity) -> tuple[list[float], list[float]]:
    """Likelihood of the observations at each rate as a share of the best rate's.

    Between rates the square root of the fall of the log-likelihood is taken as linear, as it is
    for a parabola; the interval of `Diagnosis` does the same.

    Parameters
    ----------
    found : Sensitivity

    Returns
    -------
    rates, shares : list of float
    """
    rate, fall = np.array(found.rate), np.maximum(np.array(found.fit), 0.0)
    steps = [np.linspace(start, end, 12, endpoint=False) for start, end in pairwise(rate)]
    dense = np.concatenate([*steps, rate[-1:]])
    root = np.interp(dense, rate, np.sqrt(fall))
    return dense.tolist(), np.exp(-(root**2)).tolist()


def draw(diagnosis: Diagnosis) -> Chart:
    """Draw a diagnosis of censoring.

    The upper chart shows observed against latent quantiles, which are straight until censoring
    bends them. The lower one shows decision and cost against an assumed sell-out rate, which takes
    a fit per rate on first access.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis.

    Returns
    -------
    Chart
        The chart.
    """
    if diagnosis.quantiles is None and diagnosis.profile is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has nothing to draw: it has neither quantiles nor "
            "sensitivity to a sell-out rate."
        )
    drawn = [] if diagnosis.quantiles is None else [quantile_chart(diagnosis)]
    if diagnosis.sensitivity is not None:
        decision, _, cost = rate_charts(diagnosis)
        drawn += [decision, cost]
    return stacked(drawn, title=headline(diagnosis))
