"""What things are called in each problem, and what each figure shows, in labels.

The report and the page say the same sentences: below a figure as its caption, and instead of it to
those who do not see it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unmet.censoring import Diagnosis
from unmet.censoring.model import QuantilePlot, Sensitivity
from unmet.censoring.plots import ChartLabels, hides
from unmet.censoring.text import interval, number, percent, rates
from unmet.planning.decision_report import BASELINES, Comparison, MethodCost
from unmet.validation import OneOf

if TYPE_CHECKING:
    from polars import DataFrame

_MIN_TIMES, _MAX_TIMES = 3, 120  # that a line over time shows
_PERIODS = {"1d": "day", "1w": "week", "1mo": "month", "1y": "year"}


@dataclass(frozen=True, kw_only=True)
class Labels(ChartLabels):
    """Names of the same things in one problem.

    Attributes
    ----------
    decision, decisions : str
        What is decided.
    observations : str
        What was seen, in the plural.
    truth : str
        What one wanted to see.
    rate : str
        The share of rows whose truth lies above the observation.
    rate_means : str
        The same in plain labels.
    policy : str
        What limits the observations.
    interval_censored : str
        What is known of an observation that hides something.
    ignoring : str
        What everything is compared with: that observations are taken for the truth.
    amount : str
        What an axis of decisions measures.
    added_up : bool
        Whether decisions add up to something.
    covered : str
        The share of rows whose decision is not below the truth.
    served : str or None
        The share of the truth that decisions reach, where that has a name.
    favours : str
        What pricing on observations favours.
    helps : tuple of str
        What would tell more, a sentence each.
    period : str
        What one decision is for, where decisions are dated.
    """

    decisions: str
    policy: str
    interval_censored: str
    ignoring: str
    amount: str
    added_up: bool
    covered: str
    served: str | None
    favours: str
    helps: tuple[str, ...]
    period: str = "day"


_AUDIT = (
    "The truth of a few rows, found out with effort (AuditedBand): a few dozen often decide "
    "between candidates."
)

PROBLEMS = {
    "newsvendor": Labels(
        decision="order quantity",
        decisions="order quantities",
        observations="sales",
        truth="demand",
        rate="sell-out rate",
        rate_means="share of rows that sold out",
        policy="orders",
        interval_censored="known to be sold out",
        ignoring=BASELINES["newsvendor"],
        amount="units",
        added_up=True,
        covered="Rows covered",
        served="Demand served",
        favours="orders that are too low",
        helps=(
            "A sell-out rate: how often was the shelf empty (sellout_rate=, --sellout-rate)? A "
            "rough one is much better than none.",
            "Flags of the rows that sold out (censored=, --censored-column), even for some of "
            "the rows.",
            "What was in stock (stock=, --stock-column): sales below it are demand.",
            _AUDIT,
        ),
    ),
    "pricing": Labels(
        decision="price",
        decisions="prices",
        observations="offered prices",
        truth="the reservation price",
        rate="acceptance rate",
        rate_means="share of offers that were accepted",
        policy="offers",
        interval_censored="accepted",
        ignoring=BASELINES["pricing"],
        amount="price",
        added_up=False,
        covered="Prices too high",
        served=None,
        favours="prices that are too low",
        helps=(
            "Rejected offers: without them nothing says what was too much (Limits.offers).",
            "Prices that vary for the same kind of buyer: try a few per cent more and less.",
            "Deals at a price that the buyer named: they are the truth itself.",
            _AUDIT,
        ),
    ),
    "replacement": Labels(
        decision="replacement age",
        decisions="replacement ages",
        observations="times in service",
        truth="the failure time",
        rate="share replaced in time",
        rate_means="share of units replaced before they failed",
        policy="plans",
        interval_censored="had not failed",
        ignoring=BASELINES["replacement"],
        amount="age",
        added_up=False,
        covered="Failed before",
        served=None,
        favours="ages that are too low",
        helps=(
            "Flags of the units that had not failed when they were replaced (censored=).",
            "Some units that are left in service until they fail.",
            "What inspections found: it limits the failure time from both sides (Limits).",
            _AUDIT,
        ),
    ),
}


def labels_for(problem: str) -> Labels:
    """Labels of a problem: "newsvendor", "pricing" or "replacement"."""
    return PROBLEMS[OneOf(*PROBLEMS)("problem", problem)]


def order_labels(unit: str) -> Labels:
    """Labels of orders for coming days or weeks; `unit` is "day" or "week"."""
    return replace(
        PROBLEMS["newsvendor"],
        decision="order",
        decisions="orders",
        interval_censored="sold out",
        period=unit,
    )


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


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


def quantiles_finding(plot: QuantilePlot, labels: Labels) -> str:
    """Whether observations bend away from the truth, and how far at the end."""
    if not hides(plot):
        return (
            f"{capital(labels.observations)} follow the straight line of {labels.truth}: nothing "
            "bends away, so nothing is hidden in the chosen model."
        )
    level, truth, seen = plot.levels[-1], plot.latent[-1], plot.modelled[-1]
    return (
        f"{capital(labels.observations)} bend away below the straight line of {labels.truth}. In a "
        f"typical row {percent(level)} of {labels.observations} lie below {number(seen)}, but "
        f"{labels.truth} would reach {number(truth)}; the shaded part between is what nobody saw."
    )


def sensitivity_finding(diagnosis: Diagnosis, curve: Sensitivity, labels: Labels) -> str:
    """How far the decision moves with the rate, and which rates fit."""
    first, last = curve.decision[0], curve.decision[-1]
    moves = "rises" if last > first else "moves"
    start = (
        f"The mean {labels.decision} {moves} from {number(first, 4)} to {number(last, 4)} as the "
        f"assumed {labels.rate} goes from {percent(curve.rate[0])} to {percent(curve.rate[-1])}."
    )
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return start
    if diagnosis.share_given is not None:
        return f"{start} A rate of {rates(diagnosis.share_given)} was given."
    if diagnosis.share_is_seen:
        return f"{start} A rate of {percent(share)} was counted in the data."
    if ends is None:
        return f"{start} The chosen model has {percent(share)}."
    within = ""
    if diagnosis.chosen is not None and diagnosis.share_range is None:
        within = f" within the {diagnosis.chosen.truth} family"
    return f"{start} Rates of {interval(ends)} fit the data{within} (95% interval)."


def cost_finding(curve: Sensitivity, labels: Labels) -> str:
    """Say what assuming nothing, and the most, costs more than the best rate."""
    best = min(curve.cost)
    at = curve.rate[curve.cost.index(best)]
    low, high = (percent(max(end / best - 1, 0.0)) for end in (curve.cost[0], curve.cost[-1]))
    return (
        f"If the chosen model is true, {labels.decisions} cost least, {number(best)} per row, at "
        f"an assumed {labels.rate} of {percent(at)}. Assuming {percent(curve.rate[0])} would cost "
        f"{low} more, assuming {percent(curve.rate[-1])} {high} more."
    )


def comparison_finding(comparison: Comparison, labels: Labels) -> str:
    """Who is cheapest, and by how much."""
    cheapest = min(comparison.methods, key=lambda each: each.cost)
    on = {
        "truth": f"on {labels.truth} itself",
        "seen": f"on rows whose {labels.truth} was seen",
        "estimate": f"on {labels.truth} as estimated",
        "observation": f"on {labels.observations} only",
    }[comparison.basis]
    count = len(comparison.methods)
    if all(number(each.cost) == number(cheapest.cost) for each in comparison.methods):
        alike = "the method costs" if count == 1 else f"all {count} methods cost the same,"
        return f"Evaluated {on}, {alike} {number(cheapest.cost)} per row."
    saves = saving_label(cheapest)
    more = f", {saves} than {labels.ignoring}" if saves.endswith("less") else ""
    return f"Evaluated {on}, “{cheapest.label}” costs least{more}."


def comparison_numbers(comparison: Comparison) -> str:
    """Name the cost of every method."""
    costs = []
    for each in comparison.methods:
        saving = saving_label(each)
        costs.append(f"{each.label} {number(each.cost)}" + (f" ({saving})" if saving else ""))
    return f"Mean cost per row: {'; '.join(costs)}."


def saving_label(method: MethodCost) -> str:
    """Say what a method saves against taking observations for the truth; nothing for that one."""
    saving = method.saving
    if saving is None or method.method == "ieo":
        return ""
    if abs(saving) < 0.0005:
        return "no difference"
    return f"{percent(abs(saving))} {'less' if saving > 0 else 'more'}"


def decisions_finding(decisions: DataFrame, labels: Labels) -> str:
    """Say what is drawn, and how much the band adds."""
    start = f"How many rows have which {labels.decision}."
    times = by_time(decisions, labels)
    if times is not None:
        how = "added up" if labels.added_up else "averaged"
        mean = f", mean of each {times[1]}" if times[1] else ""
        start = f"{capital(labels.decisions)} {how} by {times[0].columns[0]}{mean}."
    middle = float(decisions["decision"].mean() or 0.0)  # type: ignore[arg-type]
    start += f" The mean of a row is {number(middle, 4)}"
    if "ignoring" not in decisions.columns:
        return f"{start}."
    other = float(decisions["ignoring"].mean() or 0.0)  # type: ignore[arg-type]
    return f"{start}; {labels.ignoring} it would be {number(other, 4)}."


def by_time(decisions: DataFrame, labels: Labels) -> tuple[DataFrame, str] | None:
    """Add up or average the decisions of each date; None where there are too few dates.

    Where there are more dates than a line can show, it shows the mean date of each week, month
    or year: a sum would fall where a period is not complete. The last period is left out if it is
    incomplete: a week without its Sunday would look as if less were wanted.

    Returns
    -------
    polars.DataFrame
        Times in the first column.
    str
        Period whose mean date is shown; empty where every date is.
    """
    import polars as pl

    dated = [name for name, kind in decisions.schema.items() if kind in (pl.Date, pl.Datetime)]
    if not dated:
        return None
    column = dated[0]
    drawn = pl.col([name for name in ("ignoring", "decision") if name in decisions.columns])
    made = decisions.drop_nulls(column).group_by(column)
    dates = made.agg(drawn.sum() if labels.added_up else drawn.mean()).sort(column)
    if dates.height < _MIN_TIMES:
        return None
    table, shown = dates, ""
    for step, period in _PERIODS.items():
        if table.height <= _MAX_TIMES:
            break
        periods = dates.group_by_dynamic(column, every=step, start_by="datapoint")
        means = periods.agg(pl.exclude(column).mean(), pl.len().alias("__dates"))
        incomplete = means["__dates"][-1] < means["__dates"].max()
        table, shown = means.drop("__dates").head(means.height - incomplete), period
    return table, shown
