"""Each claim of §Results as code: a verdict, our figures, and why.

A claim is a list of cases, usually one per level, each with a margin: how far it holds, positive
where it does, in relative units so that margins can be averaged. The verdict follows from them
alone (:func:`judge`); the explanation is chosen by what was found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from unmet.paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    TUNING_LEVEL,
    Family,
    Results,
    SearchRow,
    known,
)
from unmet.paper.published import (
    BAND_BOX,
    FITTING_SECONDS,
    SAVINGS,
    SERVICE_GAP_IMPROVEMENT,
    STEP_1,
    WILCOXON,
    band,
)
from unmet.paper.tables import NO_SEARCH, Column, Table

Verdict = Literal["reproduced", "reproduced in direction", "not reproduced", "not checked"]
Source = Literal["paper", "slip", "ours"]

#: What a verdict is called where the claim is not the paper's.
_OWN_WORDS: dict[Verdict, str] = {
    "reproduced": "holds",
    "reproduced in direction": "holds mostly",
    "not reproduced": "does not hold",
    "not checked": "not checked",
}


@dataclass(frozen=True)
class Case:
    """One instance of a claim.

    Attributes
    ----------
    where : str
        As in "α = 0.55".
    margin : float
        Positive where the claim holds; ``nan`` where there is nothing to judge.
    """

    where: str
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the claim holds here."""
        return self.margin > 0


@dataclass(frozen=True)
class Claim:
    """What was claimed, and what came out.

    Attributes
    ----------
    number : str
        In the order of the paper; letters for parts.
    family : str
        "LR", "NN", "Boosted", or empty for all.
    source : {"paper", "slip", "ours"}
        Claimed in §Results; a slip of the paper that we claim; a claim of ours.
    statement : str
    verdict : Verdict
    found : str
        Our figures.
    explanation : str
    fails : tuple of str
        Where it does not hold.
    """

    number: str
    family: str
    source: Source
    statement: str
    verdict: Verdict
    found: str
    explanation: str
    fails: tuple[str, ...] = ()

    @classmethod
    def judged(
        cls,
        number: str,
        family: str,
        source: Source,
        statement: str,
        cases: Sequence[Case],
        found: str,
        explanation: str,
    ) -> Claim:
        """Let the cases decide."""
        verdict = judge(cases)
        return cls(number, family, source, statement, verdict, found, explanation, failing(cases))

    @property
    def name(self) -> str:
        """As in "2 LR"."""
        return f"{self.number} {self.family}".strip()

    @property
    def word(self) -> str:
        """Verdict in words: claims of ours hold or not, there is nothing to reproduce."""
        return self.verdict if self.source == "paper" else _OWN_WORDS[self.verdict]


def judge(cases: Iterable[Case]) -> Verdict:
    """Come to a verdict.

    - "reproduced": every case holds;
    - "reproduced in direction": more than half of them hold, and the mean margin is positive;
    - "not reproduced": otherwise;
    - "not checked": there is no case.

    Examples
    --------
    >>> judge([Case("α = 0.55", -0.01), Case("α = 0.75", 0.04), Case("α = 0.95", 0.2)])
    'reproduced in direction'
    """
    judged = [case for case in cases if not math.isnan(case.margin)]
    if not judged:
        return "not checked"
    holding = sum(case.holds for case in judged)
    if holding == len(judged):
        return "reproduced"
    if 2 * holding > len(judged) and fmean(case.margin for case in judged) > 0:
        return "reproduced in direction"
    return "not reproduced"


def _by_rule(holds: bool, partly: bool) -> Verdict:
    """Come to a verdict on a claim that has a rule of its own."""
    if holds:
        return "reproduced"
    return "reproduced in direction" if partly else "not reproduced"


def failing(cases: Iterable[Case]) -> tuple[str, ...]:
    """Name the cases that do not hold."""
    return tuple(case.where for case in cases if case.margin <= 0)


def cases_at(levels: Sequence[float], margins: Sequence[float]) -> list[Case]:
    """Make a case of each level."""
    return [Case(at(level), value) for level, value in zip(levels, margins, strict=True)]


def at(level: float) -> str:
    """Name a level."""
    return f"α = {level:g}"


def series(levels: Sequence[float], values: Sequence[float | None], form: str) -> str:
    """Print values with their levels, as in "0.55: 1.2%, 0.65: 2.3%"."""
    return ", ".join(
        f"{level:g}: {'–' if value is None or math.isnan(value) else signed(value, form)}"
        for level, value in zip(levels, values, strict=True)
    )


def signed(value: float, form: str) -> str:
    """Print a number with a minus sign, not a hyphen."""
    return f"{value:{form}}".replace("-", "−")


def span(values: Sequence[float], form: str) -> str:
    """Print the smallest and the largest."""
    low, high = signed(min(values), form), signed(max(values), form)
    return low if low == high else f"{low} to {high}"


def listed(words: Sequence[str]) -> str:
    """Join as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# --- Claims of §Out-of-Sample Newsvendor Costs.

#: Ends of our range of savings may lie this far from the published ones, as shares (one point).
NEAR = 0.01


def ieo_beats_eas(results: Results, family: Family) -> Claim:
    """Claim 1: for α > 0.55 IEO costs less than EAS, on average over the data sets."""
    levels = [level for level in results.levels if level > TUNING_LEVEL]
    method, baseline = IGNORING[family], ESTIMATING[family]
    values = [fmean(results.savings(method, baseline, level)) for level in levels]
    cases = cases_at(levels, values)
    statement = f"{method} (IEO) costs less than {baseline} (EAS) at every α above 0.55."
    if not levels:
        return Claim("1", family, "paper", statement, "not checked", "No such level was run.", "")
    last = levels[-1]
    why = (
        f"{baseline} aims at the mean of the sales whatever α is: at {at(last)} its orders lie "
        f"{signed(results.excess(baseline, last), '+.0f')} from Q* on average, those of {method} "
        f"{signed(results.excess(method, last), '+.0f')}."
    )
    if failing(cases):
        why = f"{method} costs more at {listed(failing(cases))}. " + why
    found = f"Saving of IEO over EAS: {series(levels, values, '.1%')}."
    return Claim.judged("1", family, "paper", statement, cases, found, why)


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
    return Claim.judged("2", family, "paper", statement, cases, found, why)


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
    direction": one of the two. Not checked with one level.
    """
    levels = results.levels
    values = results.mean_savings(family)
    statement = f"In general the saving of {INSENSITIVE[family]} grows with α."
    if len(levels) < 2:
        return Claim("3", family, "paper", statement, "not checked", "One level was run.", "")
    steps = list(zip(levels, levels[1:], values, values[1:], strict=False))
    falls = tuple(f"{a:g} to {b:g}" for a, b, before, after in steps if after <= before)
    grows, mostly = values[-1] > values[0], 2 * len(falls) < len(steps)
    verdict = _by_rule(grows and mostly, grows or mostly)
    peak, printed = levels[values.index(max(values))], SAVINGS[family].peak
    why = f"It falls from {listed(falls)}. " if falls else "It rises at every step. "
    if peak == printed:
        why += f"The highest saving is at {at(peak)}, as in the paper."
    else:
        why += f"Our highest saving is at {at(peak)}, the paper's at {at(printed)}"
        why += "." if printed in levels else ", which was not run."
    found = f"Saving: {series(levels, values, '.2%')}."
    return Claim("3", family, "paper", statement, verdict, found, why, falls)


def size_of_savings(results: Results, family: Family) -> Claim:
    """Claim 3b: the range of savings.

    "reproduced": both ends within one percentage point of the published ones; "in direction": the
    two ranges overlap, and ours is positive on average.
    """
    levels = results.levels
    values = results.mean_savings(family)
    quoted = SAVINGS[family]
    low, high = min(values), max(values)
    near = abs(low - quoted.lowest) <= NEAR and abs(high - quoted.highest) <= NEAR
    overlap = low <= quoted.highest and high >= quoted.lowest and fmean(values) > 0
    verdict = _by_rule(near, overlap)
    statement = (
        f"{INSENSITIVE[family]} saves {quoted.lowest:.2%} to {quoted.highest:.2%} of the cost of "
        f"{IGNORING[family]}."
    )
    ends = zip(("lowest", "highest"), (low, high), (quoted.lowest, quoted.highest), strict=True)
    far = tuple(
        f"{name} {signed(100 * (ours - theirs), '+.2f')} points"
        for name, ours, theirs in ends
        if abs(ours - theirs) > NEAR
    )
    why = (
        f"Ours against the published ends: {listed(far)}. The paper names neither its seeds nor "
        "whether demand is clipped at zero, nor how ε was scaled, so its figures cannot be met "
        "exactly."
        if far
        else "Both ends lie within one percentage point."
    )
    if family == "LR":
        why += _exact_story(results, values)
    found = f"{span(values, '.2%')} over {len(levels)} level{'s' * (len(levels) > 1)}."
    return Claim("3b", family, "paper", statement, verdict, found, why, far)


def _exact_story(results: Results, descended: list[float]) -> str:
    """Say what is left of the saving when both programs are solved to their optimum."""
    levels = results.levels
    exact = [fmean(results.savings("LR-εNVC exact", "LR-NVC exact", level)) for level in levels]
    distance = max(abs(a - b) for a, b in zip(exact, descended, strict=True))
    if distance <= NEAR:
        return f" Solved to their optimum the two programs save {span(exact, '.2%')}: the same."
    return (
        f" Solved to their optimum, with the same ε and without the penalty, the two programs "
        f"save {span(exact, '.2%')}: the rest is the descent, where it stops and how its penalty "
        "shrinks, not ε."
    )


# --- What the paper does not ask: how much of the cost of censoring is won back.

#: Widths of a band count as the same when they differ by no more, as shares of the range of sales.
SAME_WIDTH = 0.03


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


def _width(results: Results, family: Family, level: float) -> float:
    row = results.search(2, family, level)
    low, high = band(family, level) if row is None else (row.best["low"], row.best["high"])
    return high - low


def _why(results: Results, family: Family, fails: tuple[str, ...]) -> str:
    levels = results.levels
    why = "LatentBand estimates from the likelihood of the sales how much they hide"
    widths = [_width(results, family, level) for level in levels if family in INSENSITIVE]
    if widths and max(widths) - min(widths) <= SAME_WIDTH:
        why += (
            f", and its band follows α; the searched ε₁ − ε₂ is {span(widths, '.2f')} of the range "
            "of sales at every α"
        )
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

#: Improvements of service-level gaps this close on average count as close, as shares.
CLOSE = 0.10


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
    return Claim.judged("4", family, "paper", statement, cases, found, why)


def significant(results: Results, family: Family) -> Claim:
    """Claim 5: p ≤ 0.001 in every data set, at the levels where the paper prints *** throughout."""
    cases: list[Case] = []
    elsewhere: list[str] = []
    counts: list[str] = []
    for level in results.levels:
        printed = [cell.stars == "***" for (_, a), cell in WILCOXON[family].items() if a == level]
        stars = [
            results.wilcoxon(family, dataset, level).stars == "***" for dataset in results.datasets
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
    return Claim.judged("5", family, "paper", statement, cases, found, why)


def service_gaps_improve(results: Results, family: Family) -> Claim:
    """Claim 6: the gap between service level and α is smaller than that of EAS and of IEO."""
    levels = results.levels
    cases, parts, distances = [], [], []
    for other, baseline in _baselines(family):
        improvements = results.gap_improvements(family, baseline)
        parts.append(f"over {other} {series(levels, improvements, '.1%')}")
        for level, value in zip(levels, improvements, strict=True):
            margin = results.service_gap(baseline, level) - results.service_gap(
                INSENSITIVE[family], level
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
    return Claim.judged("6", family, "paper", statement, cases, found, why)


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
    return Claim.judged("6b", family, "paper", statement, cases, found, why)


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
    return Claim.judged("7", family, "paper", statement, cases, found, why)


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
    return Claim.judged("7b", "LR", "paper", statement, cases, found, why)


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
    return Claim.judged("7c", "NN", "paper", statement, cases, found, why)


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
    about = f"Of the published pairs {theirs} of {len(printed)} lie in the corner."
    if not found:
        return Claim("8", "", "slip", statement, "not checked", about, NO_SEARCH)
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
    return Claim.judged("8", "", "slip", statement, cases, numbers, why)


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
        found, why = "Nothing was searched.", f"{why} {NO_SEARCH}"
    return Claim.judged("9", "", "slip", statement, cases, found, why)


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
    size_of_savings,
    closest_orders,
    significant,
    service_gaps_improve,
    more_over_eas,
    same_time,
)


def all_claims(results: Results) -> tuple[Claim, ...]:
    """Check every claim, in the order of their numbers."""
    claims = [check(results, family) for check in _BY_FAMILY for family in PAPER_FAMILIES]
    claims += [squared_error_fastest(results), networks_alike(results)]
    claims += [corner(results), inside_their_boxes(results)]
    claims += [latent_closes_more(results, family) for family in ("LR", "NN", "Boosted")]
    return tuple(claims)


def claims_table(claims: tuple[Claim, ...]) -> Table:
    """One row per claim."""
    heads = ("no.", "claim", "verdict", "fails at", "what we found", "why")
    return Table(
        "claims",
        "Claim by claim",
        tuple(map(Column, heads)),
        tuple(
            (c.name, c.statement, c.word, "; ".join(c.fails) or None, c.found, c.explanation)
            for c in claims
        ),
    )
