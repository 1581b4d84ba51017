"""Claims of §Order Quantities and §Service Level."""

from __future__ import annotations

import math
from statistics import fmean

from unmet.paper.claims.claim import Case, Claim, at, failing, judge, series, signed, span
from unmet.paper.claims.costs import shift_story
from unmet.paper.measures import (
    ESTIMATING,
    datasets,
    gap_improvement,
    known,
    service_gap,
    wilcoxon,
)
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.published import SERVICE_GAP_IMPROVEMENT, WILCOXON
from unmet.paper.results import Results

#: Improvements of service-level gaps this close on average count as close, as shares.
CLOSE = 0.10


def closest_orders(results: Results, family: Family) -> Claim:
    """Claim 4: RMSE^Q of the ε-insensitive method is the smallest of its family's three."""
    levels = results.settings.levels
    others = (ESTIMATING[family], IGNORING[family])

    def distance(method: str, level: float) -> float:
        return results.mean(method, level, "rmse_to_optimum")

    cases = []
    for level in levels:
        best = min(distance(other, level) for other in others)
        cases.append(Case(at(level), 1 - distance(INSENSITIVE[family], level) / best))
    bad = [level for level, case in zip(levels, cases, strict=True) if not case.holds]
    three = "; ".join(
        f"{method} {series(levels, [distance(method, level) for level in levels], '.1f')}"
        for method in (*others, INSENSITIVE[family])
    )
    why = " ".join(shift_story(results, family, level) for level in bad or [levels[-1]])
    if bad:
        why += " RMSE^Q counts every distance alike; the cost does not."
    statement = (
        f"{INSENSITIVE[family]} has the smallest RMSE^Q of the three {family} methods at every α."
    )
    found = f"RMSE^Q: {three}."
    return Claim("4", family, "paper", statement, judge(cases), found, why, failing(cases))


def significant(results: Results, family: Family) -> Claim:
    """Claim 5: p ≤ 0.001 in every data set, at the levels where the paper prints *** throughout."""
    cases: list[Case] = []
    elsewhere: list[str] = []
    counts: list[str] = []
    for level in results.settings.levels:
        printed = [cell.stars == "***" for (_, a), cell in WILCOXON[family].items() if a == level]
        stars = [
            wilcoxon(results, family, dataset, level).stars == "***"
            for dataset in datasets(results)
        ]
        counts.append(f"{level:g}: {sum(stars)} of {len(stars)}")
        if all(printed):
            cases += [
                Case(f"data set {place} at {at(level)}", 1.0 if star else -1.0)
                for place, star in enumerate(stars, start=1)
            ]
        else:
            elsewhere.append(
                f"At {at(level)} the paper itself prints *** in {sum(printed)} of {len(printed)} "
                f"data sets, against its text; here {sum(stars)} of {len(stars)} have them."
            )
    why = " ".join(elsewhere)
    if family == "NN":
        why += (
            "The published columns 0.55 and 0.65 are identical, and so are 0.85 and 0.95, so at "
            "least one of each pair cannot be what it says."
        )
    statement = (
        f"|ŷ − Q*| of {INSENSITIVE[family]} is significantly smaller than that of "
        f"{IGNORING[family]}, p ≤ 0.001."
    )
    found = f"Data sets with p ≤ 0.001, {', '.join(counts)}."
    return Claim("5", family, "paper", statement, judge(cases), found, why, failing(cases))


def service_gaps_improve(results: Results, family: Family) -> Claim:
    """Claim 6: the gap between service level and α is smaller than that of EAS and of IEO."""
    levels = results.settings.levels
    cases, parts, distances = [], [], []
    for other, baseline in _baselines(family):
        improvements = [gap_improvement(results, family, baseline, level) for level in levels]
        parts.append(f"over {other} {series(levels, improvements, '.1%')}")
        for level, value in zip(levels, improvements, strict=True):
            margin = service_gap(results, baseline, level) - service_gap(
                results, INSENSITIVE[family], level
            )
            cases.append(Case(f"{at(level)} over {other}", margin))
            distances.append(abs(value - SERVICE_GAP_IMPROVEMENT[family, other][level]))
    apart = known(distances)
    why = _closeness(fmean(apart)) if apart else "There is no gap to improve."
    bad = [level for level in levels if any(at(level) in where for where in failing(cases))]
    why += "".join(" " + _reached(results, family, level) for level in bad)
    statement = (
        f"{INSENSITIVE[family]} comes closer to the target service level than EAS and IEO at "
        "every α."
    )
    found = f"Improvement of the gap {'; '.join(parts)}."
    return Claim("6", family, "paper", statement, judge(cases), found, why, failing(cases))


def more_over_eas(results: Results, family: Family) -> Claim:
    """Claim 6b: the improvement over EAS is larger than that over IEO."""
    levels = results.settings.levels
    (_, eas), (_, ieo) = _baselines(family)
    ahead = [
        gap_improvement(results, family, eas, level) - gap_improvement(results, family, ieo, level)
        for level in levels
    ]
    cases = [Case(at(level), value) for level, value in zip(levels, ahead, strict=True)]
    gaps = [service_gap(results, method, levels[-1]) for method in (eas, ieo)]
    why = (
        f"At {at(levels[-1])} the service level of {eas} misses its target by {100 * gaps[0]:.1f} "
        f"points, that of {ieo} by {100 * gaps[1]:.1f}"
        + (": there is more to improve on." if gaps[0] > gaps[1] else ".")
    )
    statement = f"The service-level gap improves more over {eas} than over {ieo}."
    points = [100 * value for value in ahead if not math.isnan(value)]
    found = f"Ahead by {span(points, '.1f')} percentage points." if points else "No gap."
    return Claim("6b", family, "paper", statement, judge(cases), found, why, failing(cases))


def _baselines(family: Family) -> tuple[tuple[str, str], tuple[str, str]]:
    return (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family]))


def _reached(results: Results, family: Family, level: float) -> str:
    reached = ", ".join(
        f"{results.mean(method, level, 'service_level'):.1%} by {method}"
        for method in (ESTIMATING[family], IGNORING[family], INSENSITIVE[family])
    )
    return f"At {at(level)} the level reached is {reached}."


def _closeness(distance: float) -> str:
    points = signed(100 * distance, ".1f")
    if distance <= CLOSE:
        return f"Close to Table serviceLevel: {points} percentage points apart on average."
    return (
        f"The improvements are {points} percentage points from those of Table serviceLevel on "
        "average."
    )
