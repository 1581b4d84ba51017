"""What methods cost, and what is at stake."""

from __future__ import annotations

from collections.abc import Sequence

from unmet.bands.picture_words import number, percent
from unmet.planning.results import Fold, MethodCost, ReportContent, Stake
from unmet.report import figures
from unmet.report.charts import Charts
from unmet.report.figure_comparison import saving_words
from unmet.report.findings import comparison_finding, comparison_numbers, cost_finding
from unmet.report.markup import Html, capital, element, joined, paragraphs, table
from unmet.report.words import Words

__all__ = ["costs", "stake"]


def costs(content: ReportContent, words: Words, charts: Charts) -> Html:
    """Show what decisions of several methods cost, and on what they were priced."""
    comparison = content.comparison
    if comparison is None or not comparison.methods:
        return element("p", "This report was made without a comparison of methods.")
    light, dark = (figures.comparison_figure(comparison, dark=dark) for dark in (False, True))
    finding, numbers = comparison_finding(comparison, words), comparison_numbers(comparison)
    return joined(
        [
            _basis(comparison.basis, words),
            charts.place("costs", light, dark, finding, _held_out(comparison.folds), numbers),
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
        light, dark = (
            figures.cost_figure(diagnosis, problem=content.problem, dark=dark)
            for dark in (False, True)
        )
        how = "Where the curve is flat, a wrong rate costs little."
        parts.append(charts.place("stake", light, dark, cost_finding(curve, words), how))
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
