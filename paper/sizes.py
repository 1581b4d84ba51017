"""How near our numbers come to the printed ones: claims on size, and distances by reading.

What counts as near is said in `verdicts`: as far apart as two runs on other seeds may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from paper.printing import Column, Table
from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    TUNING_LEVEL,
    Family,
    Results,
)
from paper.published import (
    BAND_BOX,
    FITTING_SECONDS,
    N_DATASETS,
    SAVINGS,
    SERVICE_GAP_IMPROVEMENT,
    STEP_1,
    WILCOXON,
    band,
)
from paper.tables import NO_SEARCH
from paper.verdicts import (
    Apart,
    Case,
    Claim,
    at,
    left_out_apart,
    mean_apart,
    means_apart,
    signed,
    span,
)
from unmet.evaluation import cost_saving
from unmet.simulate import PUBLISHED_LEVELS

# --- Each printed number beside ours, table by table.


def savings_apart(results: Results, family: Family) -> list[Apart]:
    """Compare the ends of the range that the text quotes of Fig. percentage.

    The highest at the level that the text names. The lowest, whose level it does not name, with the
    lowest of ours, if all five levels were run.
    """
    quoted = SAVINGS[family]
    pair = INSENSITIVE[family], IGNORING[family]
    means = dict(zip(results.levels, results.mean_savings(family), strict=True))
    ends = []
    if set(results.levels) == set(PUBLISHED_LEVELS):
        where = min(means, key=lambda level: means[level])
        ends.append((f"lowest, at {at(where)}", where, quoted.lowest))
    if quoted.peak in results.levels:
        ends.append((f"highest, at {at(quoted.peak)}", quoted.peak, quoted.highest))
    return [
        mean_apart(words, results.savings(*pair, level), printed, 0.00005)
        for words, level, printed in ends
    ]


def service_apart(results: Results, family: Family) -> list[Apart]:
    """Compare Table serviceLevel: a ratio of distances of means, so its error is a jackknife's."""
    found = []
    own = INSENSITIVE[family]
    for other, baseline in (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family])):
        for level in results.levels:
            reached = [
                [row.service_level for row in results.of(method, level)]
                for method in (own, baseline)
            ]

            def improvement(
                left_out: int | None, reached: list[list[float]] = reached, level: float = level
            ) -> float:
                gaps = [
                    abs(fmean(v for k, v in enumerate(values) if k != left_out) - level)
                    for values in reached
                ]
                return cost_saving(*gaps)

            whole = improvement(None)
            if math.isnan(whole):
                continue  # no gap to improve
            n = len(reached[0])
            without = [improvement(place) for place in range(n)] if n > 1 else []
            printed = SERVICE_GAP_IMPROVEMENT[family, other][level]
            where = f"{at(level)} over {other}"
            found.append(left_out_apart(where, whole, without, printed, 0.00005))
    return found


#: What is compared of a cell of the Wilcoxon tables.
_PARTS = {
    "median": "median",
    "first quartile": "first_quartile",
    "third quartile": "third_quartile",
}


def wilcoxon_apart(results: Results, family: Family, parts: Sequence[str] = ()) -> list[Apart]:
    """Compare medians and quartiles, averaged over data sets: single ones are of other seeds."""
    found = []
    for level in results.levels:
        cells = [results.wilcoxon(family, dataset, level) for dataset in results.datasets]
        printed = [WILCOXON[family][dataset, level] for dataset in range(1, N_DATASETS + 1)]
        for words in parts or _PARTS:
            name = _PARTS[words]
            found.append(
                means_apart(
                    f"{words} at {at(level)}",
                    [getattr(cell, name) for cell in cells],
                    [getattr(cell, name) for cell in printed],
                )
            )
    return found


def time_apart(results: Results, family: Family) -> list[Apart]:
    """Compare ratios of fitting times: seconds are those of another machine."""
    own, other = INSENSITIVE[family], IGNORING[family]
    found = []
    for level in results.levels:
        pairs = zip(results.of(own, level), results.of(other, level), strict=True)
        ratios = [mine.fit_seconds / theirs.fit_seconds for mine, theirs in pairs]
        printed = FITTING_SECONDS[own][level] / FITTING_SECONDS[other][level]
        found.append(mean_apart(at(level), ratios, printed, 0.005))
    return found


# --- Claims on size.

_WHY = (
    "The paper names neither its seeds nor whether demand is clipped at zero, nor how ε was "
    "scaled; chance explains no more than the tolerance."
)


def _judged(
    results: Results,
    number: str,
    family: Family,
    label: str,
    statement: str,
    apart: Sequence[Apart],
    form: Callable[[float], str],
    why: str = "",
) -> Claim:
    """Judge by the tolerance of each number, and say how far all of them lie on average."""
    if not results.settings.is_papers_store:
        apart = ()
    numbers = len(apart)
    cases = [each.case(numbers) for each in apart]
    if not apart or all(math.isnan(case.margin) for case in cases):
        few = "Too few data sets to know their spread."
        if not apart:
            few = f"No number of it was run for {results.settings.law.name}."
        return Claim(
            number, family, "paper", statement, "not checked", few, "", label=label, kind="size"
        )
    bad = [each for each, case in zip(apart, cases, strict=True) if not case.holds]
    found = (
        f"Mean distance {form(fmean(each.distance for each in apart))}, mean tolerance "
        f"{form(fmean(each.tolerance(numbers) for each in apart))}; "
        f"{numbers - len(bad)} of {numbers} numbers lie within it."
    )
    if bad:
        worst = max(bad, key=lambda each: each.distance / each.tolerance(numbers))
        found += (
            f" Farthest: {worst.where}, ours {form(worst.ours)}, printed {form(worst.printed)}."
        )
        why = f"{_WHY} {why}".strip()
    return Claim.judged(number, family, "paper", statement, cases, found, why, label, "size")


def _percent(value: float) -> str:
    return signed(value, ".2%")


def _points(value: float) -> str:
    return signed(value, ".2f")


def size_of_savings(results: Results, family: Family) -> Claim:
    """Claim 3b: the ends of the range of savings."""
    quoted = SAVINGS[family]
    statement = (
        f"{INSENSITIVE[family]} saves {quoted.lowest:.2%} to {quoted.highest:.2%} of the cost of "
        f"{IGNORING[family]}, the most at {at(quoted.peak)}."
    )
    why = _exact_story(results) if family == "LR" else ""
    apart = savings_apart(results, family)
    return _judged(results, "3b", family, "percentage", statement, apart, _percent, why)


def _exact_story(results: Results) -> str:
    """Say what is left of the saving when both programs are solved to their optimum."""
    levels = results.levels
    exact = [fmean(results.savings("LR-εNVC exact", "LR-NVC exact", level)) for level in levels]
    descended = results.mean_savings("LR")
    return (
        f"Solved to their optimum, with the published ε and without the penalty, the two programs "
        f"save {span(exact, '.2%')}, the descents {span(descended, '.2%')}: what differs is the "
        "penalty and where the descent stops, not ε."
    )


def size_of_cells(results: Results, family: Family) -> Claim:
    """Claim 5b: medians and quartiles of the Wilcoxon tables."""
    label = f"wilcoxon-result-{family.lower()}"
    statement = f"Medians and quartiles are those of Table {label}, on average over the data sets."
    apart = wilcoxon_apart(results, family)
    return _judged(results, "5b", family, label, statement, apart, _points)


def size_of_service(results: Results, family: Family) -> Claim:
    """Claim 6c: the improvements of service-level gaps."""
    statement = f"The service-level gaps of {family} improve as much as in Table serviceLevel."
    apart = service_apart(results, family)
    return _judged(results, "6c", family, "serviceLevel", statement, apart, _percent)


def size_of_times(results: Results, family: Family) -> Claim:
    """Claim 7d: the ratio of fitting times."""
    statement = (
        f"The fitting times of {INSENSITIVE[family]} and {IGNORING[family]} have the ratios of "
        "Table trainingTime."
    )
    why = "Seconds are those of another machine and another program; only ratios are compared."
    apart = time_apart(results, family)
    return _judged(results, "7d", family, "trainingTime", statement, apart, _points, why)


SIZES_BY_FAMILY = (size_of_savings, size_of_cells, size_of_service, size_of_times)

#: One search has no spread over seeds: its results count as near within this share of the box.
NEAR = 0.10


def found_bands(results: Results) -> Claim:
    """Claim 8b: our search for ε finds the published pair, within a tenth of the box's sides."""
    cases = []
    for row in results.searches:
        if row.step == 2:
            for name, printed in zip(("low", "high"), band(row.model, row.level), strict=True):
                low, high = BAND_BOX[name]
                share = abs(row.best[name] - printed) / (high - low)
                sign = {"low": "ε₂", "high": "ε₁"}[name]
                cases.append(Case(f"{sign} of {row.model} at {at(row.level)}", NEAR - share))
    statement = "Step 2 finds the ε of Table epsilonSearchResults, within a tenth of its box."
    return _searched("8b", "epsilonSearchResults", statement, cases)


def found_hyperparameters(results: Results) -> Claim:
    """Claim 9b: our Step 1 finds the published hyperparameters, within a tenth of their spaces."""
    cases = []
    for each in STEP_1:
        row = results.search(1, each.model, TUNING_LEVEL)
        if row is not None:
            share = abs(row.best[each.name] - each.printed) / (each.high - each.low)
            cases.append(Case(f"{each.name} of {each.model}", NEAR - share))
    statement = (
        "Step 1 finds the hyperparameters of Table searchingSpace as printed, within a tenth of "
        "their spaces."
    )
    return _searched("9b", "searchingSpace", statement, cases)


def _searched(number: str, label: str, statement: str, cases: Sequence[Case]) -> Claim:
    found = f"{sum(case.holds for case in cases)} of {len(cases)} results are."
    why = "One search each: there is no spread over seeds to take a tolerance from."
    if not cases:
        found, why = "Nothing was searched.", NO_SEARCH
    words = (statement, cases, found, why, label)
    return Claim.judged(number, "", "paper", *words, kind="size")


# --- Distance to each published table, reading by reading.


def distances(results: Results) -> Table:
    """Compare all readings: mean distance between our numbers and the printed ones, by table."""
    measures: list[tuple[str, str, str, Callable[[Results], list[Apart]]]] = []
    for family in PAPER_FAMILIES:
        label = f"wilcoxon-result-{family.lower()}"
        measures += [
            (
                "percentage",
                f"{family}: lowest and highest saving",
                "points",
                _of(savings_apart, family),
            ),
            (
                "serviceLevel",
                f"{family}: improvement of gaps",
                "points",
                _of(service_apart, family),
            ),
        ]
        measures += [
            (
                label,
                f"{family}: {words} of the differences",
                "units",
                _of(wilcoxon_apart, family, (words,)),
            )
            for words in _PARTS
        ]
    rows: list[tuple[Any, ...]] = []
    read = [results.read_as(each) for each in results.readings]
    for label, what, unit, compare in measures:
        factor = 100 if unit == "points" else 1
        apart = [compare(each) for each in read]
        if not apart[0]:
            continue
        numbers = len(apart[0])
        tolerances = [each.tolerance(numbers) for each in apart[0]]
        rows.append(
            (
                label,
                what,
                unit,
                numbers,
                *(factor * fmean(each.distance for each in some) for some in apart),
                factor * fmean(tolerances),
            )
        )
    for family in PAPER_FAMILIES:
        label = f"wilcoxon-result-{family.lower()}"
        apart_by = [_stars_apart(each, family) for each in read]
        what = f"share of data sets with *** ({family})"
        rows.append((label, what, "points", len(results.levels), *apart_by, None))
    columns = (
        *map(Column, ("table", "what is compared", "unit")),
        Column("numbers", ".0f"),
        *(Column(each.name, ".2f") for each in results.readings),
        Column("tolerance", ".2f"),
    )
    meanings = "; ".join(f"{each.name}: {each.meaning}" for each in results.readings)
    notes = (
        f"Mean absolute distance over the numbers of a table. Readings: {meanings}.",
        "Tolerance: how far two runs on other seeds may lie apart, on average over the numbers, "
        f"for {results.readings[0].name}. β concerns linear models only, so networks differ in the "
        "searched reading alone.",
    )
    title = "Distance to each published table, by reading"
    return Table("readings", title, columns, tuple(rows), notes)


def _of(
    compare: Callable[..., list[Apart]], family: Family, *more: Sequence[str]
) -> Callable[[Results], list[Apart]]:
    return lambda results: compare(results, family, *more)


def _stars_apart(results: Results, family: Family) -> float:
    """Mean over levels of the distance between shares of data sets with three stars, in points."""
    found = []
    for level in results.levels:
        ours = [results.wilcoxon(family, k, level).stars == "***" for k in results.datasets]
        theirs = [WILCOXON[family][k, level].stars == "***" for k in range(1, N_DATASETS + 1)]
        found.append(100 * abs(fmean(ours) - fmean(theirs)))
    return fmean(found)
