"""What each figure shows, in words: for those who do not see it, and as a caption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import QuantilePicture, Sensitivity
from unmet.bands.picture_quantiles import hides
from unmet.bands.picture_words import interval, number, percent
from unmet.planning.results import Comparison, MethodCost
from unmet.report.figure_comparison import saving_words
from unmet.report.figure_decisions import by_time
from unmet.report.markup import capital
from unmet.report.words import Words

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = [
    "comparison_finding",
    "comparison_numbers",
    "cost_finding",
    "decisions_finding",
    "quantiles_finding",
    "sensitivity_finding",
]


def quantiles_finding(picture: QuantilePicture, words: Words) -> str:
    """Whether observations bend away from the truth, and how far at the end."""
    if not hides(picture):
        return (
            f"{capital(words.observations)} follow the straight line of {words.truth}: nothing "
            "bends away, so nothing is hidden in the chosen explanation."
        )
    level, truth, seen = picture.levels[-1], picture.latent[-1], picture.modelled[-1]
    return (
        f"{capital(words.observations)} bend away below the straight line of {words.truth}. In a "
        f"typical row {percent(level)} of {words.observations} lie below {number(seen)}, but "
        f"{words.truth} would reach {number(truth)}; the shaded part between is what nobody saw."
    )


def sensitivity_finding(diagnosis: Diagnosis, curve: Sensitivity, words: Words) -> str:
    """How far the decision moves with the rate, and which rates fit."""
    first, last = curve.decision[0], curve.decision[-1]
    moves = "rises" if last > first else "moves"
    start = (
        f"The mean {words.decision} {moves} from {number(first, 4)} to {number(last, 4)} as the "
        f"assumed {words.rate} goes from {percent(curve.rate[0])} to {percent(curve.rate[-1])}."
    )
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return start
    if diagnosis.share_is_seen:
        return f"{start} A rate of {percent(share)} was counted in the data."
    if ends is None:
        return f"{start} The chosen explanation has {percent(share)}."
    within = "" if diagnosis.chosen is None else f" within the {diagnosis.chosen.truth} family"
    return f"{start} Rates of {interval(ends)} fit the data{within} (95% interval)."


def cost_finding(curve: Sensitivity, words: Words) -> str:
    """Say what assuming nothing, and the most, costs more than the best rate."""
    best = min(curve.cost)
    at = curve.rate[curve.cost.index(best)]
    low, high = (percent(max(end / best - 1, 0.0)) for end in (curve.cost[0], curve.cost[-1]))
    return (
        f"If the chosen explanation is true, {words.decisions} cost least, {number(best)} per row, "
        f"at an assumed {words.rate} of {percent(at)}. Assuming {percent(curve.rate[0])} would "
        f"cost {low} more, assuming {percent(curve.rate[-1])} {high} more."
    )


def comparison_finding(comparison: Comparison, words: Words) -> str:
    """Who is cheapest, and by how much."""
    cheapest = min(comparison.methods, key=lambda each: each.cost)
    on = {
        "truth": f"on {words.truth} itself",
        "estimate": f"on {words.truth} as estimated",
        "observation": f"on {words.observations} only",
    }[comparison.basis]
    if all(number(each.cost) == number(cheapest.cost) for each in comparison.methods):
        return f"Priced {on}, {_all(len(comparison.methods))} {number(cheapest.cost)} per row."
    saves = saving_words(cheapest)
    more = f", {saves} than the one that ignores what is hidden" if saves.endswith("less") else ""
    return f"Priced {on}, “{cheapest.label}” costs least{more}."


def comparison_numbers(comparison: Comparison) -> str:
    """Name the cost of every method."""
    costs = "; ".join(_cost(each) for each in comparison.methods)
    return f"Mean cost per row: {costs}."


def decisions_finding(decisions: DataFrame, words: Words) -> str:
    """Say what is drawn, and how much the band adds."""
    times = by_time(decisions, words)
    if times is None:
        start = f"How many rows have which {words.decision}."
    else:
        how = "added up" if words.added_up else "averaged"
        mean = f", mean of each {times.period}" if times.period else ""
        start = f"{capital(words.decisions)} {how} by {times.column}{mean}."
    middle = float(decisions["decision"].mean() or 0.0)  # type: ignore[arg-type]
    start += f" The mean of a row is {number(middle, 4)}"
    if "ignoring" not in decisions.columns:
        return f"{start}."
    other = float(decisions["ignoring"].mean() or 0.0)  # type: ignore[arg-type]
    return f"{start}; {words.ignoring} it would be {number(other, 4)}."


def _all(count: int) -> str:
    return "the method costs" if count == 1 else f"all {count} methods cost the same,"


def _cost(method: MethodCost) -> str:
    words = saving_words(method)
    return f"{method.label} {number(method.cost)}" + (f" ({words})" if words else "")
