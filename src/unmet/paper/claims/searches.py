"""Claims about fitting times, and the slips in the searches of App. training."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from unmet.paper.claims.claim import Case, Claim, at, failing, judge, listed, series, span
from unmet.paper.measures import ESTIMATING
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.published import BAND_BOX, FITTING_SECONDS, STEP_1, band
from unmet.paper.results import Results, SearchRow
from unmet.paper.settings import TUNING_LEVEL

#: "About the same": within this factor. The paper's own ratios of ε to IEO are 0.59 to 1.06.
FACTOR = 2.0

#: Fewer trials than this have hardly begun to look: TPE draws its first ten at random.
ENOUGH_TRIALS = 20

#: A corner: this share of the box's side, seen from it.
CORNER = 0.10


def same_time(results: Results, family: Family) -> Claim:
    """Claim 7: fitting takes about as long with ε as without, within a factor of two."""
    levels = results.settings.levels
    ratios = [_ratio(results, INSENSITIVE[family], IGNORING[family], level) for level in levels]
    cases = [
        Case(at(level), 1 - abs(math.log(ratio, FACTOR)))
        for level, ratio in zip(levels, ratios, strict=True)
    ]
    why = _epochs(results, family, bool(failing(cases)))
    published = [
        FITTING_SECONDS[INSENSITIVE[family]][level] / FITTING_SECONDS[IGNORING[family]][level]
        for level in levels
    ]
    statement = f"{INSENSITIVE[family]} takes about as long to fit as {IGNORING[family]}."
    found = (
        f"Ratio of seconds: {series(levels, ratios, '.2f')} (published: {span(published, '.2f')})."
    )
    return Claim("7", family, "paper", statement, judge(cases), found, why, failing(cases))


def _epochs(results: Results, family: Family, differ: bool) -> str:
    """Say how many epochs both took, and whether that explains different times."""
    levels = results.settings.levels
    epochs = {
        method: [results.mean(method, level, "iterations") for level in levels]
        for method in (INSENSITIVE[family], IGNORING[family])
    }
    counts = listed([f"{method} {span(each, '.0f')}" for method, each in epochs.items()])
    story = f"Epochs until they stop: {counts}."
    if not differ:
        return f"{story} The cost is as cheap with ε as without."
    with_band, without = epochs.values()
    if sum(with_band) / sum(without) > 1.2 or sum(without) / sum(with_band) > 1.2:
        return f"{story} Early stopping ends the two at different epochs."
    return f"{story} They are alike, so what differs is the time of an epoch."


def squared_error_fastest(results: Results) -> Claim:
    """Claim 7b: LR-MSE is the fastest of the three LR methods."""
    levels = results.settings.levels
    others = (IGNORING["LR"], INSENSITIVE["LR"])
    ratios = [min(_ratio(results, other, "LR-MSE", a) for other in others) for a in levels]
    cases = [Case(at(level), ratio - 1) for level, ratio in zip(levels, ratios, strict=True)]
    exact = [
        1000 * results.mean(name, a, "fit_seconds")
        for name in ("LR-NVC exact", "LR-εNVC exact")
        for a in levels
    ]
    why = (
        "Least squares is one linear system, mini-batch descent hundreds of passes. Solved "
        f"exactly the two newsvendor programs take {span(exact, '.0f')} ms."
    )
    statement = "LR-MSE takes the least time of the three LR methods at every α."
    found = f"The next takes {span(ratios, '.0f')} times as long."
    return Claim("7b", "LR", "paper", statement, judge(cases), found, why, failing(cases))


def networks_alike(results: Results) -> Claim:
    """Claim 7c: the three networks take about the same time, within a factor of two."""
    levels = results.settings.levels
    names = (ESTIMATING["NN"], IGNORING["NN"], INSENSITIVE["NN"])
    ratios = []
    for level in levels:
        seconds = [results.mean(name, level, "fit_seconds") for name in names]
        ratios.append(max(seconds) / min(seconds))
    cases = [
        Case(at(level), 1 - math.log(ratio, FACTOR))
        for level, ratio in zip(levels, ratios, strict=True)
    ]
    statement = "The three NN methods take about the same time."
    found = f"Slowest to fastest: {series(levels, ratios, '.2f')}."
    why = "All train for the same number of epochs; their widths and batches differ a little."
    return Claim("7c", "NN", "paper", statement, judge(cases), found, why, failing(cases))


def corner(results: Results) -> Claim:
    """Claim 8: the ε search ends in the corner of its box, within a tenth of each side."""
    found = [row for row in results.searches if row.step == 2]
    cases = [
        Case(f"{row.model} at {at(row.level)}", _inside_corner(row.best["low"], row.best["high"]))
        for row in found
    ]
    levels = results.settings.levels
    printed = [band(family, level) for family in ("LR", "NN") for level in levels]
    theirs = sum(_inside_corner(*pair) > 0 for pair in printed)
    statement = (
        "The search for ε is degenerate: it ends in the corner of its box, ε₁ at its largest and "
        "ε₂ at its smallest, whatever α and the data."
    )
    about = f"Of the published pairs {theirs} of {len(printed)} lie in the corner."
    if not found:
        return Claim("8", "", "slip", statement, "not checked", about, _NO_SEARCH)
    numbers = (
        f"ε₁ {span([row.best['high'] for row in found], '.4f')}, "
        f"ε₂ {span([row.best['low'] for row in found], '.4f')}. {about}"
    )
    if found[0].trials < ENOUGH_TRIALS:
        few = f"{found[0].trials} trials are too few to say where a search ends."
        return Claim("8", "", "slip", statement, "not checked", numbers, few)
    why = (
        "The search minimises the ε-insensitive cost itself, which falls whenever ε₁ grows or ε₂ "
        f"shrinks, so it learns nothing about censoring. {_repeats(found)}"
    ).rstrip()
    if failing(cases):
        why += (
            f" With {found[0].trials} trials not every search gets within a tenth of the corner "
            f"({listed(failing(cases))})."
        )
    return Claim("8", "", "slip", statement, judge(cases), numbers, why, failing(cases))


def _repeats(found: Sequence[SearchRow]) -> str:
    """Say where searches with one seed came to the same pair, to the last digit."""
    pairs = Counter((row.best["low"], row.best["high"]) for row in found)
    (_, most), *_ = pairs.most_common(1)
    if most < 2:
        return ""
    return (
        f"{most} of {len(found)} searches found the same pair to the last digit: they draw the "
        "same candidates, as they have one seed, and the cost ranks these alike at every α. That "
        "is how the paper can print the same pair nine times."
    )


def inside_their_boxes(results: Results) -> Claim:
    """Claim 9: results of Step 1 lie in the search spaces they are said to come from."""
    cases = []
    for parameter in STEP_1:
        row = results.search(1, parameter.model, TUNING_LEVEL)
        if row is not None:
            inside = parameter.contains(row.best[parameter.name])
            cases.append(Case(f"{parameter.name} of {parameter.model}", 1.0 if inside else -1.0))
    outside = [p.name for p in STEP_1 if not p.contains(p.printed)]
    mended = all(p.contains(p.used) for p in STEP_1)
    statement = "Results of Step 1 lie in the search spaces of Table searchingSpace."
    why = f"Of the published results {listed(outside)} lie outside their own spaces"
    if mended:
        why += (
            "; exchanged, all fit, and so they are used here. The sizes of the published savings "
            "speak for beta .0060 all the same, see the page The paper, checked"
        )
    why += "."
    found = f"{sum(case.holds for case in cases)} of {len(cases)} results lie in their spaces."
    if not cases:
        found, why = "Nothing was searched.", f"{why} {_NO_SEARCH}"
    return Claim("9", "", "slip", statement, judge(cases), found, why, failing(cases))


_NO_SEARCH = "This run took the published values and searched nothing."


def _ratio(results: Results, method: str, other: str, level: float) -> float:
    return results.mean(method, level, "fit_seconds") / results.mean(other, level, "fit_seconds")


def _inside_corner(low: float, high: float) -> float:
    """How far inside the corner, as a share of the side; negative outside."""
    missing_high = 1 - high / BAND_BOX["high"][1]
    missing_low = low / BAND_BOX["low"][1]
    return CORNER - max(missing_high, missing_low)
