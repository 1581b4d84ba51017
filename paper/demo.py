"""The demonstration: the paper's methods and ours on its simulated store, priced on true demand.

Every method on every seed and level, averaged over seeds. Decisions below zero are raised to zero
before they are priced, since nobody orders less than nothing; the simulated demand and the true
quantile are never negative either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from paper.pictures import (
    BLACK,
    BLUE,
    GREEN,
    LEVEL_AXIS,
    ORANGE,
    PINK,
    SKY,
    drawing,
    print_sentences,
    terminal_table,
)
from unmet.arrays import Array, Band
from unmet.bands import Diagnosis, LatentBand
from unmet.costs import Newsvendor, SquaredError
from unmet.evaluation import gap_closed, realised_cost, rmse_to_optimum, service_level
from unmet.files import Cell
from unmet.models import LinearDecision
from unmet.progress import Step
from unmet.simulate import PUBLISHED_BANDS, PUBLISHED_LEVELS, DemandPart, Simulated, store10

#: Short names and what they stand for, in the order of every table.
METHODS = {
    "eas": "EAS: least squares",
    "ieo": "IEO: no band",
    "descent": "published ε, descent",
    "exact": "published ε, exact",
    "latent": "LatentBand",
    "truth": "trained on demand",
    "optimum": "true quantile Q*",
}

#: Where ignoring censoring costs less than this share more than the optimum, there is no gap.
SMALLEST_GAP = 0.02


@dataclass(frozen=True)
class DemoCost:
    """One method at one level: means over the seeds.

    Attributes
    ----------
    level : float
        α = underage / (underage + overage).
    method : str
        A key of `METHODS`.
    cost : float
        Mean cost of a test row on its true demand (NVCost, eq. nvcost).
    cost_lowest, cost_highest : float
        Over the seeds.
    gap_closed : float or None
        Share of the way from "ieo" to "optimum", of the mean costs; None where there is no gap.
    service_level : float
        Share of test rows whose order covers their demand.
    rmse_to_optimum : float
        In units of demand.
    training_cost : float or None
        Mean cost of a training row under the band that the method was given.
    fit_seconds : float or None
        Median over the seeds.
    """

    level: float
    method: str
    cost: float
    cost_lowest: float
    cost_highest: float
    gap_closed: float | None
    service_level: float
    rmse_to_optimum: float
    training_cost: float | None
    fit_seconds: float | None

    def as_row(self) -> dict[str, Cell]:
        """Plain values by name, ready for CSV and JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Priced:
    """One method, level and seed."""

    level: float
    method: str
    cost: float
    service_level: float
    rmse_to_optimum: float
    training_cost: float | None = None
    fit_seconds: float | None = None


def _price_all(data: Simulated[DemandPart], level: float) -> Iterator[_Priced]:
    """Fit every method on the training year, and price it on the test half-year."""
    train, test, cost = data.train, data.test, Newsvendor.at_level(level)
    optimum = test.optimum(level)

    def priced(method: str, decision: Array, *more: float) -> _Priced:
        return _Priced(
            level,
            method,
            realised_cost(cost, decision, test.demand),
            service_level(decision, test.demand),
            rmse_to_optimum(decision, optimum),
            *more,
        )

    # The published ε are shares of the range of sales, see the page on units of a band.
    band = Band.scaled(*PUBLISHED_BANDS["linear"][level], observation=train.sales)
    models = {
        "eas": LinearDecision(SquaredError()),
        "ieo": LinearDecision(cost),
        "descent": LinearDecision(cost, band=band, solver="minibatch"),
        "exact": LinearDecision(cost, band=band),
        "latent": _latent_model(cost),
        "truth": LinearDecision(cost),
    }
    for method, model in models.items():
        target = train.demand if method == "truth" else train.sales
        started = perf_counter()
        model.fit(train.features, target)
        seconds = perf_counter() - started
        decision = model.decide(test.features, step=None)  # fractions, never below 0
        trained = cost.loss(model.predict(train.features), target, model.band_)
        yield priced(method, decision, float(trained.mean()), seconds)
    yield priced("optimum", optimum)


def _latent_model(cost: Newsvendor) -> LinearDecision:
    """Linear decisions whose ε is estimated from the sales alone."""
    return LinearDecision(cost, band=LatentBand(random_state=0))


def diagnose(seed: int, level: float = 0.85) -> Diagnosis:
    """Say what LatentBand finds in the sales of one seed."""
    train = store10(seed).train
    model = _latent_model(Newsvendor.at_level(level)).fit(train.features, train.sales)
    assert model.diagnosis_ is not None
    return model.diagnosis_


def compare(seeds: Sequence[int], step: Step) -> list[DemoCost]:
    """Fit and price every method; one outcome per level and method.

    Parameters
    ----------
    seeds : sequence of int
        One simulated data set each; at least one.
    step : Step
        Told before every level of every seed.
    """
    runs: list[_Priced] = []
    total = len(seeds) * len(PUBLISHED_LEVELS)
    for seed in seeds:
        data = store10(seed)
        for level in PUBLISHED_LEVELS:
            step(len(runs) // len(METHODS), total, f"seed {seed}, α = {level:.2f}")
            runs += _price_all(data, level)
    return [
        outcome
        for level in PUBLISHED_LEVELS
        for outcome in _average([run for run in runs if run.level == level])
    ]


def _average(runs: Sequence[_Priced]) -> Iterator[DemoCost]:
    """Average the runs of one level over their seeds."""
    by_method = {method: [run for run in runs if run.method == method] for method in METHODS}
    cost = {method: fmean(run.cost for run in same) for method, same in by_method.items()}
    for method, same in by_method.items():
        closed = gap_closed(cost[method], cost["ieo"], cost["optimum"], tolerance=SMALLEST_GAP)
        trained = [run.training_cost for run in same if run.training_cost is not None]
        seconds = [run.fit_seconds for run in same if run.fit_seconds is not None]
        yield DemoCost(
            level=same[0].level,
            method=method,
            cost=cost[method],
            cost_lowest=min(run.cost for run in same),
            cost_highest=max(run.cost for run in same),
            gap_closed=None if math.isnan(closed) else closed,
            service_level=fmean(run.service_level for run in same),
            rmse_to_optimum=fmean(run.rmse_to_optimum for run in same),
            training_cost=fmean(trained) if trained else None,
            fit_seconds=median(seconds) if seconds else None,
        )


def meaning(outcomes: Sequence[DemoCost]) -> list[str]:
    """Say in words what the numbers say, at α = .85."""
    at = {outcome.method: outcome for outcome in outcomes if outcome.level == 0.85}
    ieo, best, exact, descent = (at[name] for name in ("ieo", "optimum", "exact", "descent"))
    share, estimated = (
        f"{each.gap_closed:.0%}" if each.gap_closed is not None else "none"
        for each in (exact, at["latent"])
    )
    sentences = [
        f"At α = 0.85 taking sales for demand costs {ieo.cost:.2f} per row, the best orders "
        f"{best.cost:.2f}; the published ε, fitted exactly, closes {share} of that gap, because it "
        "was chosen without any view of the demand that sales hide. LatentBand estimates ε from "
        f"the same sales and closes {estimated}."
    ]
    if descent.cost < exact.cost and descent.training_cost and exact.training_cost:
        excess = descent.training_cost / exact.training_cost - 1
        sentences.append(
            f"The published descent costs {descent.cost:.2f} because of its penalty and its early "
            f"stop: its training cost is {excess:.0%} above the minimum, which here happens to "
            "mean larger orders."
        )
    return sentences


# --- The table of the demonstration.


def show(
    outcomes: Sequence[DemoCost],
    n_seeds: int,
    sentences: Sequence[str],
    files: Sequence[Path],
    diagnosis: str,
) -> None:
    """Print the table, what it means, what LatentBand found, and where the files are."""
    console = Console(highlight=False)
    console.print(table(outcomes, n_seeds))
    console.print(
        f"–: ignoring censoring costs less than {SMALLEST_GAP:.0%} more than the best orders.",
        style="dim",
    )
    for sentence in sentences:
        console.print(sentence)
    console.print("\nWhat LatentBand found in the sales of the first seed", style="bold")
    console.print(diagnosis, soft_wrap=True, markup=False)
    print_sentences(console, (), files)


def table(outcomes: Sequence[DemoCost], n_seeds: int) -> Table:
    """Methods down, levels across; costs, shares of the gap, service levels."""
    levels = sorted({outcome.level for outcome in outcomes})
    title = f"Orders learned from censored sales, priced on true demand (seeds: {n_seeds})"
    result = terminal_table(title, ["α", *(f"{level:.2f}" for level in levels), "fit, ms"])
    _section(result, outcomes, "mean cost per row (NVCost)", lambda o: f"{o.cost:.2f}")
    _section(result, outcomes, "share of the gap closed", _gap, leave_out=("ieo", "optimum"))
    _section(result, outcomes, "service level (aim: α)", lambda o: f"{o.service_level:.0%}")
    return result


def _section(
    result: Table,
    outcomes: Sequence[DemoCost],
    title: str,
    cell: Callable[[DemoCost], str],
    leave_out: Sequence[str] = (),
) -> None:
    """Add one measure: a heading, then a row per method."""
    first = not result.row_count
    result.add_row(f"[bold]{title}[/bold]")
    for method, name in METHODS.items():
        if method in leave_out:
            continue
        own = [outcome for outcome in outcomes if outcome.method == method]
        seconds = [o.fit_seconds for o in own if o.fit_seconds is not None]
        time = f"{1000 * median(seconds):.0f}" if first and seconds else ""
        result.add_row(f"  {name}", *map(cell, own), time)
    result.add_section()


def _gap(outcome: DemoCost) -> str:
    return "–" if outcome.gap_closed is None else f"{outcome.gap_closed:.0%}"


# --- The figure; needs matplotlib (``unmet[report]``).

_STYLES: dict[str, dict[str, Any]] = {
    "eas": {"color": "#999999", "marker": "s"},
    "ieo": {"color": ORANGE, "marker": "o"},
    "descent": {"color": SKY, "marker": "v"},
    "exact": {"color": BLUE, "marker": "^"},
    "latent": {"color": PINK, "marker": "P"},
    "truth": {"color": GREEN, "marker": "D"},
    "optimum": {"color": BLACK, "marker": "", "linestyle": "--"},
}
_BARS = ("descent", "exact", "latent", "truth")


def compose(outcomes: Sequence[DemoCost]) -> Any:
    """Put costs on the left, shares of the gap on the right, one legend below both."""
    figure_class, _ = drawing()
    figure = figure_class(figsize=(8.4, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _costs(left, outcomes)
    _shares(right, outcomes)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _costs(axes: Any, outcomes: Sequence[DemoCost]) -> None:
    """Cost against α, one line per method, with the range over the seeds."""
    for method, label in METHODS.items():
        own = [outcome for outcome in outcomes if outcome.method == method]
        levels = [outcome.level for outcome in own]
        axes.plot(levels, [o.cost for o in own], label=label, markersize=5, **_STYLES[method])
        lowest, highest = [o.cost_lowest for o in own], [o.cost_highest for o in own]
        axes.fill_between(levels, lowest, highest, color=_STYLES[method]["color"], alpha=0.15, lw=0)
    axes.set_xticks(levels)
    axes.set_ylim(bottom=0)
    several = any(outcome.cost_lowest < outcome.cost_highest for outcome in outcomes)
    axes.set_xlabel(LEVEL_AXIS + ("\nshaded: range over the seeds" if several else ""))
    axes.set_ylabel("mean cost per product and day\n(underage + overage = 1 per unit)")
    axes.set_title("What the orders cost on true demand", fontsize=11, loc="left")


def _shares(axes: Any, outcomes: Sequence[DemoCost]) -> None:
    """Share of the gap closed, where there is a gap."""
    gaps = [o for o in outcomes if o.method in _BARS and o.gap_closed is not None]
    levels = sorted({outcome.level for outcome in gaps})
    width = 0.8 / len(_BARS)
    for place, method in enumerate(_BARS):
        heights = [100 * (o.gap_closed or 0.0) for o in gaps if o.method == method]
        middles = [x + (place - (len(_BARS) - 1) / 2) * width for x in range(len(heights))]
        bars = axes.bar(middles, heights, 0.92 * width, color=_STYLES[method]["color"])
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
    axes.axhline(0, color="black", lw=0.8)
    axes.set_xticks(range(len(levels)), [f"{level:.2f}" for level in levels])
    without = [f"{o.level:.2f}" for o in outcomes if o.method == "ieo" and o.gap_closed is None]
    axes.set_xlabel(LEVEL_AXIS + (f"\nhardly any gap at {', '.join(without)}" if without else ""))
    axes.set_ylabel("share of the way from IEO to Q* (%)")
    axes.set_title("What they win back of the cost of censoring", fontsize=11, loc="left")
