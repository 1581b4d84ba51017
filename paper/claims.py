"""Each claim of §Results as code: a verdict, our figures, and why.

These are the claims on direction, and all claims together; `sizes` has those on size. The verdict
follows from the cases alone (`verdicts.judge`); the explanation is chosen by what was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from paper.printing import Column, Table
from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    TUNING_LEVEL,
    Family,
    Reading,
    Results,
    SearchRow,
    known,
)
from paper.published import (
    BAND_BOX,
    FITTING_SECONDS,
    SAVINGS,
    STEP_1,
    WILCOXON,
    band,
)
from paper.sizes import SIZES_BY_FAMILY, found_bands, found_hyperparameters
from paper.tables import NO_SEARCH
from paper.verdicts import (
    SYMBOLS,
    Case,
    Claim,
    Kind,
    at,
    by_rule,
    cases_at,
    failing,
    listed,
    series,
    signed,
    span,
    worst,
)

# --- Claims of §Out-of-Sample Newsvendor Costs.


def ieo_beats_eas(results: Results, family: Family) -> Claim:
    """Claim 1: for α > 0.55 IEO costs less than EAS, on average over the data sets."""
    levels = [level for level in results.levels if level > TUNING_LEVEL]
    method, baseline = IGNORING[family], ESTIMATING[family]
    values = [fmean(results.savings(method, baseline, level)) for level in levels]
    cases = cases_at(levels, values)
    statement = f"{method} (IEO) costs less than {baseline} (EAS) at every α above 0.55."
    if not levels:
        none = "No such level was run."
        return Claim("1", family, "paper", statement, "not checked", none, "", label="testNVcost")
    last = levels[-1]
    why = (
        f"{baseline} aims at the mean of the sales whatever α is: at {at(last)} its orders lie "
        f"{signed(results.excess(baseline, last), '+.0f')} from Q* on average, those of {method} "
        f"{signed(results.excess(method, last), '+.0f')}."
    )
    if failing(cases):
        why = f"{method} costs more at {listed(failing(cases))}. " + why
    found = f"Saving of IEO over EAS: {series(levels, values, '.1%')}."
    return Claim.judged("1", family, "paper", statement, cases, found, why, "testNVcost")


def insensitive_beats_ieo(results: Results, family: Family) -> Claim:
    """Claim 2: the ε-insensitive method costs less than IEO at every level, on average."""
    levels = results.levels
    values = results.mean_savings(family)
    cases = cases_at(levels, values)
    single = [
        value
        for level in levels
        for value in results.savings(INSENSITIVE[family], IGNORING[family], level)
    ]
    found = (
        f"Saving: {series(levels, values, '.2%')}; positive in "
        f"{sum(value > 0 for value in single)} of {len(single)} pairs of data set and level."
    )
    bad = [level for level, value in zip(levels, values, strict=True) if value <= 0]
    why = " ".join(
        shift_story(results, family, level, lost=bool(bad)) for level in bad or [levels[-1]]
    )
    statement = f"{INSENSITIVE[family]} costs less than {IGNORING[family]} (IEO) at every α."
    return Claim.judged("2", family, "paper", statement, cases, found, why, "testNVcost")


def shift_story(results: Results, family: Family, level: float, *, lost: bool = False) -> str:
    """Say where both orders lie with respect to Q*, and whether the band lifts them too far.

    ``lost``: the ε-insensitive method costs more here, although it may lie closer to Q*.
    """
    ours = results.excess(INSENSITIVE[family], level)
    ignoring = results.excess(IGNORING[family], level)
    where = (
        f"At {at(level)} orders of {IGNORING[family]} lie {signed(ignoring, '+.1f')} from Q* on "
        f"average, those of {INSENSITIVE[family]} {signed(ours, '+.1f')}"
    )
    if abs(ours) >= abs(ignoring):
        return f"{where}: the band lifts them {'too far' if ours > 0 else 'in vain'}."
    spread = [
        results.mean(method, level, "rmse_to_optimum")
        for method in (IGNORING[family], INSENSITIVE[family])
    ]
    if spread[1] > spread[0]:
        return (
            f"{where}: closer on average, but some rows are lifted too far and others too little, "
            f"as RMSE^Q shows, {spread[0]:.1f} against {spread[1]:.1f}."
        )
    if lost:
        single = results.savings(INSENSITIVE[family], IGNORING[family], level)
        return (
            f"{where}, and RMSE^Q is {spread[0]:.1f} against {spread[1]:.1f}: closer to Q* both "
            "ways, and dearer all the same. Such a loss lies in single rows, where the band lifts "
            "too far, and in the demand that happened to come; savings by data set are "
            f"{span(single, '.2%')}."
        )
    return f"{where}: the band lifts the orders towards Q*, part of the way."


def savings_grow(results: Results, family: Family) -> Claim:
    """Claim 3: "in general" savings grow with α.

    "reproduced": the highest level saves more than the lowest, and more than half of the steps
    from level to level rise. The paper says no more, and its own LR series falls at the end. "In
    part": one of the two. Not checked with one level.
    """
    levels = results.levels
    values = results.mean_savings(family)
    statement = f"In general the saving of {INSENSITIVE[family]} grows with α."
    if len(levels) < 2:
        none = "One level was run."
        return Claim("3", family, "paper", statement, "not checked", none, "", label="percentage")
    steps = list(zip(levels, levels[1:], values, values[1:], strict=False))
    falls = tuple(f"{a:g} to {b:g}" for a, b, before, after in steps if after <= before)
    grows, mostly = values[-1] > values[0], 2 * len(falls) < len(steps)
    verdict = by_rule(grows and mostly, grows or mostly)
    peak, printed = levels[values.index(max(values))], SAVINGS[family].peak
    why = f"It falls from {listed(falls)}. " if falls else "It rises at every step. "
    if peak == printed:
        why += f"The highest saving is at {at(peak)}, as in the paper."
    else:
        why += f"Our highest saving is at {at(peak)}, the paper's at {at(printed)}"
        why += "." if printed in levels else ", which was not run."
    found = f"Saving: {series(levels, values, '.2%')}."
    return Claim("3", family, "paper", statement, verdict, found, why, falls, "percentage")


# --- What the paper does not ask: how much of the cost of censoring is won back.


def latent_closes_more(results: Results, family: Family) -> Claim:
    """Claim 10: LatentBand closes more of the gap to Q* than the published ε, where there is one.

    Boosted trees have no published ε: there the claim is that LatentBand closes some of it.
    """
    levels = results.levels
    latent = results.shares_closed(f"{family} latent")
    published: list[float | None] = [None if own is None else 0.0 for own in latent]
    if family in INSENSITIVE:
        published = results.shares_closed(INSENSITIVE[family])
    cases = [
        Case(at(level), own - other)
        for level, own, other in zip(levels, latent, published, strict=True)
        if own is not None and other is not None
    ]
    lines = [f"{family} latent {series(levels, latent, '.0%')}"]
    if family in INSENSITIVE:
        lines.insert(0, f"{INSENSITIVE[family]} {series(levels, published, '.0%')}")
    lines += [
        f"{name} {series(levels, results.shares_closed(name), '.0%')}"
        for name in (f"{family} flags", f"{family} truth")
    ]
    than = INSENSITIVE.get(family, "IEO")
    statement = f"{family} latent closes more of the gap between IEO and Q* than {than}."
    found = f"Share closed: {'; '.join(lines)}."
    why = _why(results, family, failing(cases))
    return Claim.judged("10", family, "ours", statement, cases, found, why)


def _why(results: Results, family: Family, fails: tuple[str, ...]) -> str:
    levels = results.levels
    why = "LatentBand estimates from the likelihood of the sales how much they hide"
    if family in INSENSITIVE:
        pairs = [band(family, level) for level in levels]
        widths = span([high - low for low, high in pairs], ".2f")
        why += f", and its band follows α; the published ε₁ − ε₂ is {widths} of the range of sales"
    why += "."
    if fails:
        above = [
            results.mean(IGNORING[family], level, "cost") / results.optimum_cost(level) - 1
            for level in levels
            if at(level) in fails
        ]
        why += (
            f" It does not at {listed(fails)}, where ignoring censoring costs "
            f"{span(above, '.1%')} more than Q*."
        )
    truth = known(results.shares_closed(f"{family} truth"))
    latent = known(results.shares_closed(f"{family} latent"))
    if truth and sum(latent) > sum(truth):
        why += (
            f" On average it closes more than {family} truth: a model that is told the demand "
            "learns each quantile from single rows, LatentBand a distribution from all of them."
        )
    return why


# --- Claims of §Order Quantities and §Service Level.


def closest_orders(results: Results, family: Family) -> Claim:
    """Claim 4: RMSE^Q of the ε-insensitive method is the smallest of its family's three."""
    levels = results.levels
    distances = {
        method: results.means(method, "rmse_to_optimum")
        for method in (ESTIMATING[family], IGNORING[family], INSENSITIVE[family])
    }
    margins = [1 - own / min(others) for *others, own in zip(*distances.values(), strict=True)]
    cases = cases_at(levels, margins)
    bad = [level for level, case in zip(levels, cases, strict=True) if not case.holds]
    three = "; ".join(
        f"{method} {series(levels, each, '.1f')}" for method, each in distances.items()
    )
    why = " ".join(shift_story(results, family, level) for level in bad or [levels[-1]])
    if bad:
        why += " RMSE^Q counts every distance alike; the cost does not."
    statement = (
        f"{INSENSITIVE[family]} has the smallest RMSE^Q of the three {family} methods at every α."
    )
    found = f"RMSE^Q: {three}."
    return Claim.judged("4", family, "paper", statement, cases, found, why, "testRMSEQ")


def significant(results: Results, family: Family) -> Claim:
    """Claim 5: p ≤ 0.001 in every data set and at every level, as the text says.

    The paper's own table of LR does not bear it out at α = .55, where six of ten data sets lack
    three stars; the level counts all the same.
    """
    cases: list[Case] = []
    counts: list[str] = []
    why: list[str] = []
    for level in results.levels:
        printed = [cell.stars == "***" for (_, a), cell in WILCOXON[family].items() if a == level]
        stars = [
            results.wilcoxon(family, dataset, level).stars == "***" for dataset in results.datasets
        ]
        counts.append(f"{level:g}: {sum(stars)} of {len(stars)}")
        cases += [
            Case(f"data set {place} at {at(level)}", 1.0 if star else -1.0)
            for place, star in enumerate(stars, start=1)
        ]
        if not all(printed):
            why.append(
                f"At {at(level)} the paper itself prints *** in {sum(printed)} of {len(printed)} "
                f"data sets, against its text; here {sum(stars)} of {len(stars)} have them."
            )
    if family == "NN":
        why.append(
            "The published columns 0.55 and 0.65 are identical, and so are 0.85 and 0.95, so at "
            "least one of each pair cannot be what it says."
        )
    statement = (
        f"|ŷ − Q*| of {INSENSITIVE[family]} is significantly smaller than that of "
        f"{IGNORING[family]}, p ≤ 0.001, in every data set at every α."
    )
    found = f"Data sets with p ≤ 0.001, {', '.join(counts)}."
    label = f"wilcoxon-result-{family.lower()}"
    return Claim.judged("5", family, "paper", statement, cases, found, " ".join(why), label)


def service_gaps_improve(results: Results, family: Family) -> Claim:
    """Claim 6: the gap between service level and α is smaller than that of EAS and of IEO."""
    levels = results.levels
    cases, parts = [], []
    for other, baseline in _baselines(family):
        improvements = results.gap_improvements(family, baseline)
        parts.append(f"over {other} {series(levels, improvements, '.1%')}")
        for level in levels:
            margin = results.service_gap(baseline, level) - results.service_gap(
                INSENSITIVE[family], level
            )
            cases.append(Case(f"{at(level)} over {other}", margin))
    bad = [level for level in levels if any(at(level) in where for where in failing(cases))]
    why = " ".join(_reached(results, family, level) for level in bad or levels[-1:])
    statement = (
        f"{INSENSITIVE[family]} comes closer to the target service level than EAS and IEO at "
        "every α."
    )
    found = f"Improvement of the gap {'; '.join(parts)}."
    return Claim.judged("6", family, "paper", statement, cases, found, why, "serviceLevel")


def more_over_eas(results: Results, family: Family) -> Claim:
    """Claim 6b: the improvement over EAS is larger than that over IEO."""
    levels = results.levels
    (_, eas), (_, ieo) = _baselines(family)
    pairs = zip(*(results.gap_improvements(family, each) for each in (eas, ieo)), strict=True)
    ahead = [over_eas - over_ieo for over_eas, over_ieo in pairs]
    cases = cases_at(levels, ahead)
    gaps = [results.service_gap(method, levels[-1]) for method in (eas, ieo)]
    why = (
        f"At {at(levels[-1])} the service level of {eas} misses its target by {100 * gaps[0]:.1f} "
        f"points, that of {ieo} by {100 * gaps[1]:.1f}"
        + (": there is more to improve on." if gaps[0] > gaps[1] else ".")
    )
    statement = f"The service-level gap improves more over {eas} than over {ieo}."
    points = [100 * value for value in ahead if not math.isnan(value)]
    found = f"Ahead by {span(points, '.1f')} percentage points." if points else "No gap."
    return Claim.judged("6b", family, "paper", statement, cases, found, why, "serviceLevel")


def _baselines(family: Family) -> tuple[tuple[str, str], tuple[str, str]]:
    return (("EAS", ESTIMATING[family]), ("IEO", IGNORING[family]))


def _reached(results: Results, family: Family, level: float) -> str:
    reached = ", ".join(
        f"{results.mean(method, level, 'service_level'):.1%} by {method}"
        for method in (ESTIMATING[family], IGNORING[family], INSENSITIVE[family])
    )
    return f"At {at(level)} the level reached is {reached}."


# --- Claims about fitting times, and the slips in the searches of App. training.

#: "About the same": within this factor. The paper's own ratios of ε to IEO are 0.59 to 1.06.
FACTOR = 2.0

#: Fewer trials than this have hardly begun to look: TPE draws its first ten at random.
ENOUGH_TRIALS = 20

#: A corner: this share of the box's side, seen from it.
CORNER = 0.10


def same_time(results: Results, family: Family) -> Claim:
    """Claim 7: fitting takes about as long with ε as without, within a factor of two."""
    levels = results.levels
    ratios = [_ratio(results, INSENSITIVE[family], IGNORING[family], level) for level in levels]
    cases = cases_at(levels, [1 - abs(math.log(ratio, FACTOR)) for ratio in ratios])
    why = _epochs(results, family, bool(failing(cases)))
    published = [
        FITTING_SECONDS[INSENSITIVE[family]][level] / FITTING_SECONDS[IGNORING[family]][level]
        for level in levels
    ]
    statement = f"{INSENSITIVE[family]} takes about as long to fit as {IGNORING[family]}."
    found = (
        f"Ratio of seconds: {series(levels, ratios, '.2f')} (published: {span(published, '.2f')})."
    )
    return Claim.judged("7", family, "paper", statement, cases, found, why, "trainingTime")


def _epochs(results: Results, family: Family, differ: bool) -> str:
    """Say how many epochs both took, and whether that explains different times."""
    epochs = {
        method: results.means(method, "iterations")
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
    levels = results.levels
    others = (IGNORING["LR"], INSENSITIVE["LR"])
    ratios = [min(_ratio(results, other, "LR-MSE", a) for other in others) for a in levels]
    cases = cases_at(levels, [ratio - 1 for ratio in ratios])
    exact = [
        1000 * seconds
        for name in ("LR-NVC exact", "LR-εNVC exact")
        for seconds in results.means(name, "fit_seconds")
    ]
    why = (
        "Least squares is one linear system, mini-batch descent hundreds of passes. Solved "
        f"exactly the two newsvendor programs take {span(exact, '.0f')} ms."
    )
    statement = "LR-MSE takes the least time of the three LR methods at every α."
    found = f"The next takes {span(ratios, '.0f')} times as long."
    return Claim.judged("7b", "LR", "paper", statement, cases, found, why, "trainingTime")


def networks_alike(results: Results) -> Claim:
    """Claim 7c: the three networks take about the same time, within a factor of two."""
    levels = results.levels
    names = (ESTIMATING["NN"], IGNORING["NN"], INSENSITIVE["NN"])
    seconds = [results.means(name, "fit_seconds") for name in names]
    ratios = [max(each) / min(each) for each in zip(*seconds, strict=True)]
    cases = cases_at(levels, [1 - math.log(ratio, FACTOR) for ratio in ratios])
    statement = "The three NN methods take about the same time."
    found = f"Slowest to fastest: {series(levels, ratios, '.2f')}."
    why = "All train for the same number of epochs; their widths and batches differ a little."
    return Claim.judged("7c", "NN", "paper", statement, cases, found, why, "trainingTime")


def corner(results: Results) -> Claim:
    """Claim 8: the ε search ends in the corner of its box, within a tenth of each side."""
    found = [row for row in results.searches if row.step == 2]
    cases = [
        Case(f"{row.model} at {at(row.level)}", _inside_corner(row.best["low"], row.best["high"]))
        for row in found
    ]
    levels = results.levels
    printed = [band(family, level) for family in ("LR", "NN") for level in levels]
    theirs = sum(_inside_corner(*pair) > 0 for pair in printed)
    statement = (
        "The search for ε is degenerate: it ends in the corner of its box, ε₁ at its largest and "
        "ε₂ at its smallest, whatever α and the data."
    )
    label = "epsilonSearchResults"
    about = f"Of the published pairs {theirs} of {len(printed)} lie in the corner."
    if not found:
        return Claim("8", "", "slip", statement, "not checked", about, NO_SEARCH, (), label)
    numbers = (
        f"ε₁ {span([row.best['high'] for row in found], '.4f')}, "
        f"ε₂ {span([row.best['low'] for row in found], '.4f')}. {about}"
    )
    if found[0].trials < ENOUGH_TRIALS:
        few = f"{found[0].trials} trials are too few to say where a search ends."
        return Claim("8", "", "slip", statement, "not checked", numbers, few, (), label)
    why = (
        "The search minimises the ε-insensitive cost itself, which falls whenever ε₁ grows or ε₂ "
        f"shrinks, so it learns nothing about censoring. {_repeats(found)}"
    ).rstrip()
    if failing(cases):
        why += (
            f" With {found[0].trials} trials not every search gets within a tenth of the corner "
            f"({listed(failing(cases))})."
        )
    return Claim.judged("8", "", "slip", statement, cases, numbers, why, label)


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
    statement = "Results of Step 1 lie in the search spaces of Table searchingSpace."
    why = (
        f"Of the published results {listed(outside)} lie outside their own spaces. Exchanged, both "
        "would fit; Readings has what the published tables fit."
    )
    found = f"{sum(case.holds for case in cases)} of {len(cases)} results lie in their spaces."
    if not cases:
        found, why = "Nothing was searched.", f"{why} {NO_SEARCH}"
    return Claim.judged("9", "", "slip", statement, cases, found, why, "searchingSpace")


def _ratio(results: Results, method: str, other: str, level: float) -> float:
    return results.mean(method, level, "fit_seconds") / results.mean(other, level, "fit_seconds")


def _inside_corner(low: float, high: float) -> float:
    """How far inside the corner, as a share of the side; negative outside."""
    missing_high = 1 - high / BAND_BOX["high"][1]
    missing_low = low / BAND_BOX["low"][1]
    return CORNER - max(missing_high, missing_low)


# --- All claims, and their table.

_BY_FAMILY = (
    ieo_beats_eas,
    insensitive_beats_ieo,
    savings_grow,
    closest_orders,
    significant,
    service_gaps_improve,
    more_over_eas,
    same_time,
)


def all_claims(results: Results) -> tuple[Claim, ...]:
    """Check every claim, direction and size, in the order of their numbers."""
    claims = [check(results, family) for check in _BY_FAMILY for family in PAPER_FAMILIES]
    claims += [squared_error_fastest(results), networks_alike(results)]
    claims += [check(results, family) for check in SIZES_BY_FAMILY for family in PAPER_FAMILIES]
    claims += [corner(results), found_bands(results)]
    claims += [inside_their_boxes(results), found_hyperparameters(results)]
    claims += [latent_closes_more(results, family) for family in ("LR", "NN", "Boosted")]
    return tuple(sorted(claims, key=lambda claim: (int(claim.number.rstrip("bcd")), claim.number)))


#: What is judged, by the paper's labels and in its order.
JUDGED: dict[str, str] = {
    "trainingTime": "Table: fitting times",
    "testNVcost": "Figure: costs",
    "percentage": "Figure: savings over IEO",
    "testRMSEQ": "Figure: distance to Q*",
    "wilcoxon-result-lr": "Table: Wilcoxon tests, linear",
    "wilcoxon-result-nn": "Table: Wilcoxon tests, networks",
    "serviceLevel": "Table: service-level gaps",
    "EDAofStore10": "Table: statistics of store 10",
    "LRstore10": "Table: coefficients of store 10",
    "LRResults52Stores": "Table: regressions of all stores",
    "searchingSpace": "Table: results of Step 1",
    "epsilonSearchResults": "Table: results of Step 2",
}

#: Figures without printed numbers: they have a direction only.
NOT_PRINTED = ("testNVcost", "testRMSEQ")


def verdict_on(claims: Sequence[Claim], label: str, kind: Kind) -> str:
    """Judge a table by the worst of what is claimed of it."""
    if kind == "size" and label in NOT_PRINTED:
        return "not printed"
    return worst(each.verdict for each in claims if (each.label, each.kind) == (label, kind))


def claims_of(results: Results, reading: Reading, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Check every claim in another reading; those of `claims` that no run decides are kept."""
    read = all_claims(results.read_as(reading))
    names = {each.name for each in read}
    return (*read, *(each for each in claims if each.name not in names))


def by_table(results: Results, claims: Sequence[Claim]) -> Table:
    """Give both verdicts on each table, for every reading; `claims` are those of the usual one."""
    read = [claims] + [claims_of(results, each, claims) for each in results.readings[1:]]
    rows = []
    for label, what in JUDGED.items():
        verdicts = [
            tuple(f"{SYMBOLS[verdict_on(some, label, kind)]}" for kind in ("direction", "size"))
            for some in read
        ]
        rows.append((label, what, *(f"{one} / {other}" for one, other in verdicts)))
    notes = (
        "Direction / size: "
        + ", ".join(f"{sign} {word}" for word, sign in SYMBOLS.items())
        + ". The worst of what is claimed of a table counts, over linear models and networks.",
    )
    heads = ("label", "what", *(each.name for each in results.readings))
    title = "Two verdicts on each table, by reading"
    return Table("verdictsByTable", title, tuple(map(Column, heads)), tuple(rows), notes)


def count(claims: Sequence[Claim], kind: Kind) -> str:
    """Say how many claims of the paper hold, as in "12 reproduced, 3 in part, 2 not"."""
    verdicts = [each.verdict for each in claims if (each.source, each.kind) == ("paper", kind)]
    numbers = [verdicts.count(each) for each in ("reproduced", "reproduced in part")]
    checked = len(verdicts) - verdicts.count("not checked")
    if not checked:
        return "none could be checked"
    return (
        f"of {checked} that were checked {numbers[0]} are reproduced, {numbers[1]} in part, "
        f"{checked - sum(numbers)} not"
    )


def claims_table(claims: tuple[Claim, ...]) -> Table:
    """One row per claim."""
    heads = ("no.", "table", "kind", "claim", "verdict", "fails at", "what we found", "why")
    return Table(
        "claims",
        "Claim by claim",
        tuple(map(Column, heads)),
        tuple(
            (
                c.name,
                c.label or None,
                c.kind,
                c.statement,
                c.word,
                "; ".join(c.fails) or None,
                c.found,
                c.explanation,
            )
            for c in claims
        ),
    )
