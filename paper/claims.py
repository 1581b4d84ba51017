"""Claims of the paper as data, evaluated by one function, and distances to its numbers by reading.

Each table of the paper is evaluated twice. **Direction**: does the text's statement about the table
hold here? A case is usually one level, with a margin: how far the statement holds, positive if it
does, in relative units so that margins can be averaged. **Size**: are the numbers equal, as far as
chance allows? A case is one printed number, and its margin is ``1 − |ours − printed| / tolerance``.

The tolerance is the distance between two runs of the same code on other seeds. The paper names
neither its seeds nor the spread over its ten data sets, so ours replaces it: with the standard
deviation s of a number over our n data sets, the two means differ by s √(1/n + 1/10). The tolerance
is that times a quantile of Student's t, plus half of the last printed digit. The quantile is chosen
so that a table of k numbers fails by chance one time in twenty (Bonferroni).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean, stdev, variance
from typing import Literal, NamedTuple

from scipy.stats import norm
from scipy.stats import t as student

from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    TUNING_LEVEL,
    Family,
    Reading,
    Results,
    known,
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
from paper.tables import NO_SEARCH, Row, Table, caption, show
from unmet.simulate.store10 import PUBLISHED_LEVELS

Verdict = Literal["reproduced", "reproduced in part", "not reproduced", "not checked"]
Kind = Literal["direction", "size"]

#: Verdicts from the worst, with signs for those who see no colours; claims that are not the
#: paper's hold or do not.
SYMBOLS: dict[str, str] = {
    "not reproduced": "✗",
    "reproduced in part": "≈",
    "reproduced": "✓",
    "not checked": "–",
    "not printed": "·",
}
_OWN_WORDS = {
    "reproduced": "holds",
    "reproduced in part": "holds in part",
    "not reproduced": "does not hold",
}

#: "About the same" time: within this factor. The paper's own ratios of ε to IEO are 0.59 to 1.06.
FACTOR = 2.0

#: Fewer trials than this have hardly begun to look: TPE draws its first ten at random.
ENOUGH_TRIALS = 20

#: One search has no spread over seeds: its results count as near within this share of the box.
NEAR = 0.10

#: A table fails by chance this often, if the paper ran what we run.
CHANCE = 0.05

#: With fewer data sets their spread says too little, and sizes are not checked.
ENOUGH_DATASETS = 5


# --- Cases, and the one function that judges them.


class Case(NamedTuple):
    """One instance of a claim: where, and a margin that is positive if the claim holds."""

    where: str
    margin: float


def judge(cases: Iterable[Case]) -> Verdict:
    """Determine a verdict from cases.

    - "reproduced": every case holds;
    - "reproduced in part": more than half of them hold, and the mean margin is positive;
    - "not reproduced": otherwise;
    - "not checked": there is no case.

    Parameters
    ----------
    cases : iterable of Case
        Cases of one claim.

    Examples
    --------
    >>> from paper.claims import Case, judge
    >>> judge([Case("α = 0.55", -0.01), Case("α = 0.75", 0.04), Case("α = 0.95", 0.2)])
    'reproduced in part'
    """
    margins = known(case.margin for case in cases)
    if not margins:
        return "not checked"
    holding = sum(margin > 0 for margin in margins)
    if holding == len(margins):
        return "reproduced"
    in_part = 2 * holding > len(margins) and fmean(margins) > 0
    return "reproduced in part" if in_part else "not reproduced"


class Evidence(NamedTuple):
    """Evidence of a run for a claim: cases, our figures, and an explanation."""

    cases: Sequence[Case] = ()
    found: str = ""
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim, and the evidence for it.

    Attributes
    ----------
    number : str
        Number in the order of the paper; letters for parts.
    family : str
        "LR", "NN", "Boosted", or empty for all.
    label : str
        The paper's label of the table or figure; empty for claims of ours.
    kind : {"direction", "size"}
        Whether the claim is about a direction or about numbers.
    papers : bool
        Whether the paper makes the claim; otherwise it is a slip of the paper that we claim, or a
        claim of ours.
    statement : str
        The claim in words.
    evidence : Evidence
        Cases, figures and an explanation.

    Examples
    --------
    >>> from paper.claims import Case, Claim, Evidence
    >>> evidence = Evidence([Case("α = 0.75", 0.1), Case("α = 0.95", 0.2)])
    >>> claim = Claim("1", "LR", "Fig. percentage", "direction", True, "A band saves.", evidence)
    >>> claim.verdict
    'reproduced'
    """

    number: str
    family: str
    label: str
    kind: Kind
    papers: bool
    statement: str
    evidence: Evidence

    @property
    def verdict(self) -> Verdict:
        """Verdict from the cases alone."""
        return judge(self.evidence.cases)

    @property
    def fails(self) -> tuple[str, ...]:
        """Cases where the claim does not hold."""
        return tuple(case.where for case in self.evidence.cases if case.margin <= 0)

    @property
    def name(self) -> str:
        """Number and family, such as "2 LR"."""
        return f"{self.number} {self.family}".strip()

    @property
    def word(self) -> str:
        """Verdict in words; claims that are not the paper's hold or do not hold."""
        return self.verdict if self.papers else _OWN_WORDS.get(self.verdict, self.verdict)


# --- Labels.


def at(level: float) -> str:
    """Name a level."""
    return f"α = {level:g}"


def series(results: Results, values: Iterable[float | None], form: str) -> str:
    """Print values with their levels, as in "0.55: 1.2%, 0.65: 2.3%"."""
    pairs = zip(results.levels, values, strict=True)
    return ", ".join(f"{level:g}: {show(value, form)}" for level, value in pairs)


def span(values: Sequence[float], form: str) -> str:
    """Print the smallest and the largest."""
    low, high = show(min(values), form), show(max(values), form)
    return low if low == high else f"{low} to {high}"


def listed(words: Sequence[str]) -> str:
    """Join as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _at_levels(results: Results, margins: Iterable[float]) -> list[Case]:
    return [Case(at(a), value) for a, value in zip(results.levels, margins, strict=True)]


# --- Direction: costs (§Out-of-Sample Newsvendor Costs).


def closed_form_saving(level: float) -> float:
    """Share of the cost of EAS that IEO saves in the paper's generator, without clipping.

    With D = μ + σZ and S = μ + σ min(Z, 0), EAS orders the mean of the sales, μ − σ φ(0); IEO
    orders their α-quantile, which is μ for α ≥ ½ (a point mass of one half) and the
    α-quantile of the demand below. So below ½ IEO is the optimum, and never costs more than EAS.

    Examples
    --------
    >>> round(closed_form_saving(0.55), 3), round(closed_form_saving(norm.cdf(-norm.pdf(0))), 9)
    (0.114, 0.0)
    """

    def cost(c: float) -> float:
        over = norm.pdf(c) + c * norm.cdf(c)
        return float(level * (over - c) + (1 - level) * over)

    return 1 - cost(min(float(norm.ppf(level)), 0.0)) / cost(-float(norm.pdf(0)))


def _ieo_beats_eas(results: Results, family: Family, *, above: bool = True) -> Evidence:
    method, baseline = IGNORING[family], ESTIMATING[family]
    levels = [a for a in results.levels if (a > TUNING_LEVEL) == above]
    values = [fmean(results.savings(method, baseline, level)) for level in levels]
    if not levels:
        return Evidence(found="No such level was run.")
    cases = [Case(at(a), value) for a, value in zip(levels, values, strict=True)]
    pairs = ", ".join(f"{a:g}: {show(v, '.1%')}" for a, v in zip(levels, values, strict=True))
    found = f"Saving of IEO over EAS: {pairs}."
    if not above:
        why = (
            f"In the paper's generator, without clipping, it is {closed_form_saving(0.55):.1%}: "
            "from ½ on IEO orders the mean demand, EAS 0.4 σ less. Ordering the mean would cost as "
            "much as EAS at α = 0.42; but below ½ IEO orders the true quantile and never costs "
            "more than EAS."
        )
        return Evidence(cases, found, why)
    last = levels[-1]
    why = (
        f"{baseline} aims at the mean of the sales whatever α is: at {at(last)} its orders lie "
        f"{show(results.excess(baseline, last), '+.0f')} from Q* on average, those of {method} "
        f"{show(results.excess(method, last), '+.0f')}."
    )
    return Evidence(cases, found, why)


def _insensitive_beats_ieo(results: Results, family: Family) -> Evidence:
    values = results.mean_savings(family)
    pair = INSENSITIVE[family], IGNORING[family]
    single = [value for level in results.levels for value in results.savings(*pair, level)]
    found = (
        f"Saving: {series(results, values, '.2%')}; positive in {sum(v > 0 for v in single)} of "
        f"{len(single)} pairs of data set and level."
    )
    bad = [level for level, value in zip(results.levels, values, strict=True) if value <= 0]
    why = " ".join(_shift(results, family, level) for level in bad or results.levels[-1:])
    return Evidence(_at_levels(results, values), found, why)


def _shift(results: Results, family: Family, level: float) -> str:
    """Say where both orders lie with respect to Q*, and whether the band lifts them too far."""
    names = IGNORING[family], INSENSITIVE[family]
    ignoring, own = (results.excess(name, level) for name in names)
    spread = [results.mean(name, level, "rmse_to_optimum") for name in names]
    where = (
        f"At {at(level)} orders of {names[0]} lie {show(ignoring, '+.1f')} from Q* on average, "
        f"those of {names[1]} {show(own, '+.1f')}; RMSE^Q is {spread[0]:.1f} against "
        f"{spread[1]:.1f}: "
    )
    if abs(own) >= abs(ignoring):
        return f"{where}the band lifts them {'too far' if own > 0 else 'in vain'}."
    if spread[1] > spread[0]:
        return f"{where}closer on average, but some rows are lifted too far and others too little."
    return f"{where}the band lifts the orders towards Q*, part of the way."


def _savings_grow(results: Results, family: Family) -> Evidence:
    values, levels = results.mean_savings(family), results.levels
    if len(levels) < 2:
        return Evidence(found="One level was run.")
    steps = [after - before for before, after in pairwise(values)]
    cases = [
        Case(f"{levels[0]:g} to {levels[-1]:g}", values[-1] - values[0]),
        Case("most steps", sum(step > 0 for step in steps) / len(steps) - 0.5),
    ]
    peak, printed = levels[values.index(max(values))], SAVINGS[family].peak
    why = f"Our highest saving is at {at(peak)}, the paper's at {at(printed)}."
    return Evidence(cases, f"Saving: {series(results, values, '.2%')}.", why)


# --- Direction: orders and service levels (§Order Quantities, §Service Level).


def _closest_orders(results: Results, family: Family) -> Evidence:
    names = (ESTIMATING[family], IGNORING[family], INSENSITIVE[family])
    distances = {name: results.means(name, "rmse_to_optimum") for name in names}
    margins = [1 - own / min(others) for *others, own in zip(*distances.values(), strict=True)]
    three = "; ".join(f"{name} {series(results, v, '.1f')}" for name, v in distances.items())
    bad = [a for a, margin in zip(results.levels, margins, strict=True) if margin <= 0]
    why = " ".join(_shift(results, family, level) for level in bad or results.levels[-1:])
    return Evidence(_at_levels(results, margins), f"RMSE^Q: {three}.", why)


def _significant(results: Results, family: Family) -> Evidence:
    """Evaluate p ≤ 0.001 in every data set at every level, as the text says.

    The paper's own table of LR does not bear it out at α = .55, where six of ten data sets lack
    three stars; the level counts all the same.
    """
    cases: list[Case] = []
    counts: list[str] = []
    why: list[str] = []
    for level in results.levels:
        printed = [cell.stars == "***" for (_, a), cell in WILCOXON[family].items() if a == level]
        stars = [results.wilcoxon(family, k, level).stars == "***" for k in results.datasets]
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
    return Evidence(cases, f"Data sets with p ≤ 0.001, {', '.join(counts)}.", " ".join(why))


def _baselines(family: Family) -> dict[str, str]:
    return {"EAS": ESTIMATING[family], "IEO": IGNORING[family]}


def _service_gaps(results: Results, family: Family) -> Evidence:
    cases, parts = [], []
    for other, baseline in _baselines(family).items():
        improved = [results.gap_improvement(family, baseline, a) for a in results.levels]
        parts.append(f"over {other} {series(results, improved, '.1%')}")
        for level in results.levels:
            both = (results.service_gap(n, level) for n in (baseline, INSENSITIVE[family]))
            theirs, own = both
            cases.append(Case(f"{at(level)} over {other}", theirs - own))
    last = results.levels[-1]
    reached = ", ".join(
        f"{results.mean(name, last, 'service_level'):.1%} by {name}"
        for name in (*_baselines(family).values(), INSENSITIVE[family])
    )
    why = f"At {at(last)} the level reached is {reached}."
    return Evidence(cases, f"Improvement of the gap {'; '.join(parts)}.", why)


def _more_over_eas(results: Results, family: Family) -> Evidence:
    eas, ieo = _baselines(family).values()
    ahead = [
        results.gap_improvement(family, eas, a) - results.gap_improvement(family, ieo, a)
        for a in results.levels
    ]
    points = [100 * value for value in known(ahead)]
    found = f"Ahead by {span(points, '.1f')} percentage points." if points else "No gap."
    return Evidence(_at_levels(results, ahead), found)


# --- Direction: fitting times.


def _same_time(results: Results, family: Family) -> Evidence:
    own, other = INSENSITIVE[family], IGNORING[family]
    seconds, epochs = (
        [results.means(name, measure) for name in (own, other)]
        for measure in ("cpu_seconds", "iterations")
    )
    ratios = [mine / theirs for mine, theirs in zip(*seconds, strict=True)]
    cases = _at_levels(results, [1 - abs(math.log(ratio, FACTOR)) for ratio in ratios])
    where = max(range(len(ratios)), key=lambda place: abs(math.log(ratios[place])))
    level = results.levels[where]
    ranges = [span(results.values(name, level, "iterations"), ".0f") for name in (own, other)]
    each = [1000 * seconds[k][where] / epochs[k][where] for k in (0, 1)]
    why = (
        f"At {at(level)}, where the times differ most, early stopping ends {own} after {ranges[0]} "
        f"epochs and {other} after {ranges[1]}; an epoch takes {each[0]:.2f} and {each[1]:.2f} ms."
    )
    found = f"Ratio of CPU seconds: {series(results, ratios, '.2f')}."
    return Evidence(cases, found, why)


def _squared_error_fastest(results: Results, family: Family) -> Evidence:
    ratios = []
    for level in results.levels:
        own, *others = _seconds(results, family, level)
        ratios.append(min(others) / own)
    exact = [
        1000 * seconds
        for name in ("LR-NVC exact", "LR-εNVC exact")
        for seconds in results.means(name, "cpu_seconds")
    ]
    why = f"Solved exactly the two newsvendor programs take {span(exact, '.0f')} ms."
    cases = _at_levels(results, [ratio - 1 for ratio in ratios])
    return Evidence(cases, f"The next takes {span(ratios, '.0f')} times as long.", why)


def _seconds(results: Results, family: Family, level: float) -> list[float]:
    """CPU seconds of EAS, IEO and the ε-insensitive method."""
    names = (ESTIMATING[family], IGNORING[family], INSENSITIVE[family])
    return [results.mean(name, level, "cpu_seconds") for name in names]


def _networks_alike(results: Results, family: Family) -> Evidence:
    times = [_seconds(results, family, level) for level in results.levels]
    ratios = [max(each) / min(each) for each in times]
    cases = _at_levels(results, [1 - math.log(ratio, FACTOR) for ratio in ratios])
    why = "All train for the same number of epochs; their widths and batches differ a little."
    return Evidence(cases, f"Slowest to fastest: {series(results, ratios, '.2f')}.", why)


# --- Slips in the searches of App. training, and what LatentBand closes.


def _inside_corner(low: float, high: float) -> float:
    """How far inside the corner of the box, as a share of the side; negative outside."""
    return NEAR - max(1 - high / BAND_BOX["high"][1], low / BAND_BOX["low"][1])


def _corner(results: Results, _: Family) -> Evidence:
    rows = [row for row in results.searches if (row.step, row.reading) == (2, "searched")]
    pairs = [(row.best["low"], row.best["high"]) for row in rows]
    printed = [band(family, level) for family in PAPER_FAMILIES for level in results.levels]
    theirs = sum(_inside_corner(*pair) > 0 for pair in printed)
    about = f"Of the published pairs {theirs} of {len(printed)} lie in the corner."
    if not rows:
        return Evidence(found=about, why=NO_SEARCH)
    found = (
        f"ε₁ {span([p[1] for p in pairs], '.4f')}, ε₂ {span([p[0] for p in pairs], '.4f')}. {about}"
    )
    if rows[0].trials < ENOUGH_TRIALS:
        few = f"{rows[0].trials} trials are too few to say where a search ends."
        return Evidence(found=found, why=few)
    why = (
        "The search minimises the ε-insensitive cost itself, which falls whenever ε₁ grows or ε₂ "
        "shrinks, so it learns nothing about censoring."
    )
    most = Counter(pairs).most_common(1)[0][1]
    if most > 1:
        why += (
            f" {most} of {len(rows)} searches found the same pair to the last digit: they have one "
            "seed, and the cost ranks the candidates alike at every α."
        )
    cases = [
        Case(f"{row.model} at {at(row.level)}", _inside_corner(*pair))
        for row, pair in zip(rows, pairs, strict=True)
    ]
    return Evidence(cases, found, why)


def _printed_in_their_spaces(_: Results, __: Family) -> Evidence:
    cases = [
        Case(f"{line.name} of {line.model}", 1.0 if line.contains(line.printed) else -1.0)
        for line in STEP_1
    ]
    found = f"{sum(case.margin > 0 for case in cases)} of {len(cases)} printed results do."
    why = "Exchanged, both would fit; Readings has what the published tables fit."
    return Evidence(cases, found, why)


def _quartiles_are_bands(results: Results, family: Family) -> Evidence:
    """Compare first quartiles with ε₂ times the range of sales, where the descent arrives.

    The printed cells then say which ε₂ their data sets had.
    """
    cases, apart = [], []
    for reading, level, k, low, quartile in results.first_quartiles():
        apart.append(quartile - low * results.sales_range(k))
        where = f"{reading.name}, data set {k} at {at(level)}"
        cases.append(Case(where, 0.5 - abs(apart[-1])))
    if not cases:
        return Evidence(found="No such level was run.")
    size = fmean(results.sales_range(k) for k in results.datasets)
    told = []
    for level in (0.85, 0.95):
        *others, largest = sorted(WILCOXON[family][k, level].first_quartile for k in range(1, 11))
        told.append(
            f"at {level:g} one data set has {largest}, ε₂ = {largest / size:.4f}, the others "
            f"{span(others, '.2f')}"
        )
    why = (
        f"So the printed cells say which ε₂ a data set had: {listed(told)}. Printed is ε₂ = "
        f"{band(family, 0.85)[0]} at 0.85 and {band(family, 0.95)[0]} at 0.95: ε was searched on "
        "each data set, and the result of one is printed."
    )
    return Evidence(cases, f"First quartile minus ε₂ times the range: {span(apart, '.2f')}.", why)


def _latent_closes_more(results: Results, family: Family) -> Evidence:
    """Evaluate where there is a gap; boosted trees have no published ε, so some of it is enough."""
    latent = results.shares_closed(f"{family} latent")
    published: list[float | None] = [None if own is None else 0.0 for own in latent]
    names = [f"{family} {word}" for word in ("latent", "flags", "truth")]
    if family in INSENSITIVE:
        published = results.shares_closed(INSENSITIVE[family])
        names.insert(0, INSENSITIVE[family])
    cases = [
        Case(at(level), own - other)
        for level, own, other in zip(results.levels, latent, published, strict=True)
        if own is not None and other is not None
    ]
    lines = [f"{name} {series(results, results.shares_closed(name), '.0%')}" for name in names]
    why = "LatentBand estimates from the likelihood of the sales how much they hide."
    truth = known(results.shares_closed(f"{family} truth"))
    if truth and sum(known(latent)) > sum(truth):
        why += (
            f" On average it closes more than {family} truth: a model that is told the demand "
            "learns each quantile from single rows, LatentBand a distribution from all of them."
        )
    return Evidence(cases, f"Share closed: {'; '.join(lines)}.", why)


# --- Size: each printed number beside ours.


@dataclass(frozen=True)
class Apart:
    """One printed number next to ours.

    Attributes
    ----------
    where : str
        Where the number stands, such as "α = 0.55".
    ours, printed : float
        Our number, and the printed one.
    error : float
        Standard error of the difference between two runs; ``nan`` with too few data sets.
    freedom : float
        Its degrees of freedom.
    digit : float
        Half of the last printed digit.

    Examples
    --------
    >>> from paper.claims import Apart
    >>> number = Apart("α = 0.55", ours=1.02, printed=1.0, error=0.02, freedom=9, digit=0.005)
    >>> round(number.distance, 3), number.case(numbers=5).margin > 0
    (0.02, True)
    """

    where: str
    ours: float
    printed: float
    error: float
    freedom: float
    digit: float

    @property
    def distance(self) -> float:
        """Distance between our number and the printed one."""
        return abs(self.ours - self.printed)

    def tolerance(self, numbers: int) -> float:
        """Compute the distance that two runs may have.

        Parameters
        ----------
        numbers : int
            How many numbers the table has. More numbers give a larger tolerance.
        """
        if math.isnan(self.error):
            return math.nan
        quantile = float(student.ppf(1 - CHANCE / (2 * numbers), self.freedom))
        return quantile * self.error + self.digit

    def case(self, numbers: int) -> Case:
        """Make a case, which holds within the tolerance.

        Parameters
        ----------
        numbers : int
            As for `tolerance`.
        """
        # a little more than the tolerance: half a digit is no binary number
        return Case(self.where, 1 + 1e-9 - self.distance / self.tolerance(numbers))


def mean_apart(where: str, values: Sequence[float], printed: float, digit: float) -> Apart:
    """Compare a mean over our data sets with one that is printed without its spread."""
    n = len(values)
    error = stdev(values) * math.sqrt(1 / n + 1 / N_DATASETS) if n >= ENOUGH_DATASETS else math.nan
    return Apart(where, fmean(values), printed, error, n - 1, digit)


def means_apart(where: str, values: Sequence[float], printed: Sequence[float]) -> Apart:
    """Compare means of two samples, both with their own spread (Welch)."""
    n, m = len(values), len(printed)
    error, freedom = math.nan, 0.0
    if n >= ENOUGH_DATASETS:
        parts = variance(values) / n, variance(printed) / m
        scale = parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1)
        freedom = sum(parts) ** 2 / scale if scale else n + m - 2
        error = math.sqrt(sum(parts))
    return Apart(where, fmean(values), fmean(printed), error, freedom, 0.005)


def left_out_apart(
    where: str, whole: float, without: Sequence[float], printed: float, digit: float
) -> Apart:
    """Compare a number that is no mean, by the jackknife: `without` lacks one data set each."""
    n, error = len(without), math.nan
    if n >= ENOUGH_DATASETS:
        middle = fmean(without)
        own = (n - 1) / n * sum((each - middle) ** 2 for each in without)
        error = math.sqrt(own * (1 + n / N_DATASETS))
    return Apart(where, whole, printed, error, n - 1, digit)


def savings_apart(results: Results, family: Family) -> list[Apart]:
    """Compare the ends of the range that the text quotes of Fig. percentage.

    The highest at the level that the text names. The lowest, whose level it does not name, with the
    lowest of ours, if all five levels were run.
    """
    quoted, pair = SAVINGS[family], (INSENSITIVE[family], IGNORING[family])
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
    n = results.settings.datasets
    for other, baseline in _baselines(family).items():
        for level in results.levels:
            whole = results.gap_improvement(family, baseline, level)
            if math.isnan(whole):
                continue  # no gap to improve
            places = range(n) if n > 1 else ()
            without = [results.gap_improvement(family, baseline, level, k) for k in places]
            printed = SERVICE_GAP_IMPROVEMENT[family, other][level]
            where = f"{at(level)} over {other}"
            found.append(left_out_apart(where, whole, without, printed, 0.00005))
    return found


_PARTS = ("median", "first_quartile", "third_quartile")


def wilcoxon_apart(results: Results, family: Family, parts: Sequence[str] = _PARTS) -> list[Apart]:
    """Compare medians and quartiles, averaged over data sets: single ones are of other seeds."""
    found = []
    for level in results.levels:
        cells = [results.wilcoxon(family, dataset, level) for dataset in results.datasets]
        printed = [WILCOXON[family][k, level] for k in range(1, N_DATASETS + 1)]
        for part in parts:
            both = ([getattr(cell, part) for cell in some] for some in (cells, printed))
            found.append(means_apart(f"{part.replace('_', ' ')} at {at(level)}", *both))
    return found


def time_apart(results: Results, family: Family) -> list[Apart]:
    """Compare ratios of fitting times: seconds are those of another machine."""
    own, other = INSENSITIVE[family], IGNORING[family]
    found = []
    for level in results.levels:
        both = (results.values(name, level, "cpu_seconds") for name in (own, other))
        ratios = [mine / theirs for mine, theirs in zip(*both, strict=True)]
        printed = FITTING_SECONDS[own][level] / FITTING_SECONDS[other][level]
        found.append(mean_apart(at(level), ratios, printed, 0.005))
    return found


def _sized(
    compare: Callable[[Results, Family], list[Apart]], form: str
) -> Callable[[Results, Family], Evidence]:
    """Evaluate by the tolerance of each number, and say how far all of them lie on average."""

    def check(results: Results, family: Family) -> Evidence:
        apart = compare(results, family) if results.settings.is_papers_store else []
        if not apart:
            return Evidence(
                found=f"No number of it was run for {results.settings.distribution.name}."
            )
        numbers = len(apart)
        cases = [each.case(numbers) for each in apart]
        if not known(case.margin for case in cases):
            return Evidence(found="Too few data sets to know their spread.")
        farthest = max(zip(apart, cases, strict=True), key=lambda pair: -pair[1].margin)[0]
        tolerance = fmean(each.tolerance(numbers) for each in apart)
        found = (
            f"Mean distance {show(fmean(each.distance for each in apart), form)}, mean tolerance "
            f"{show(tolerance, form)}; {sum(c.margin > 0 for c in cases)} of {numbers} numbers lie "
            f"within it. Farthest: {farthest.where}, ours {show(farthest.ours, form)}, printed "
            f"{show(farthest.printed, form)}."
        )
        why = ""
        if any(case.margin <= 0 for case in cases):
            why = (
                "The paper names neither its seeds nor whether demand is clipped at zero, nor how "
                "ε was scaled; chance explains no more than the tolerance."
            )
        if (compare, family) == (savings_apart, "LR"):
            pair = "LR-εNVC exact", "LR-NVC exact"
            exact = [fmean(results.savings(*pair, level)) for level in results.levels]
            why += (
                " Solved to their optimum, with the published ε and without the penalty, the two "
                f"programs save {span(exact, '.2%')}: what differs is the penalty and where the "
                "descent stops, not ε."
            )
        return Evidence(cases, found, why.strip())

    return check


def _found_bands(results: Results, _: Family) -> Evidence:
    cases = []
    for row in results.searches:
        if (row.step, row.reading) == (2, "searched"):
            for end, printed in zip(("low", "high"), band(row.model, row.level), strict=True):
                share = abs(row.best[end] - printed) / BAND_BOX[end][1]
                sign = {"low": "ε₂", "high": "ε₁"}[end]
                cases.append(Case(f"{sign} of {row.model} at {at(row.level)}", NEAR - share))
    return _searched(cases)


def _found_hyperparameters(results: Results, _: Family) -> Evidence:
    cases = []
    for line in STEP_1:
        row = results.search(1, line.model, TUNING_LEVEL)
        if row is not None:
            share = abs(row.best[line.name] - line.printed) / (line.high - line.low)
            cases.append(Case(f"{line.name} of {line.model}", NEAR - share))
    return _searched(cases)


def _searched(cases: Sequence[Case]) -> Evidence:
    if not cases:
        return Evidence(found="Nothing was searched.", why=NO_SEARCH)
    found = f"{sum(case.margin > 0 for case in cases)} of {len(cases)} results are."
    return Evidence(cases, found, "One search each: there is no spread over seeds.")


# --- All claims: number, families, label, kind, whether it is the paper's, evidence; the statements
# stand in ``captions.md``.

_Check = Callable[[Results, Family], Evidence]
_BOTH: tuple[Family, ...] = PAPER_FAMILIES

CLAIMS: tuple[tuple[str, Sequence[str], str, Kind, bool, _Check], ...] = (
    ("1", _BOTH, "testNVcost", "direction", True, _ieo_beats_eas),
    ("1b", _BOTH, "testNVcost", "direction", False, partial(_ieo_beats_eas, above=False)),
    ("2", _BOTH, "testNVcost", "direction", True, _insensitive_beats_ieo),
    ("3", _BOTH, "percentage", "direction", True, _savings_grow),
    ("3b", _BOTH, "percentage", "size", True, _sized(savings_apart, ".2%")),
    ("4", _BOTH, "testRMSEQ", "direction", True, _closest_orders),
    ("5", _BOTH, "wilcoxon-result-{lower}", "direction", True, _significant),
    ("5b", _BOTH, "wilcoxon-result-{lower}", "size", True, _sized(wilcoxon_apart, ".2f")),
    ("6", _BOTH, "serviceLevel", "direction", True, _service_gaps),
    ("6b", _BOTH, "serviceLevel", "direction", True, _more_over_eas),
    ("6c", _BOTH, "serviceLevel", "size", True, _sized(service_apart, ".2%")),
    ("7", _BOTH, "trainingTime", "direction", True, _same_time),
    ("7b", ("LR",), "trainingTime", "direction", True, _squared_error_fastest),
    ("7c", ("NN",), "trainingTime", "direction", True, _networks_alike),
    ("7d", _BOTH, "trainingTime", "size", True, _sized(time_apart, ".2f")),
    ("8", ("",), "epsilonSearchResults", "direction", False, _corner),
    ("8b", ("",), "epsilonSearchResults", "size", True, _found_bands),
    ("8c", ("LR",), "epsilonSearchResults", "direction", False, _quartiles_are_bands),
    ("9", ("",), "searchingSpace", "direction", True, _printed_in_their_spaces),
    ("9b", ("",), "searchingSpace", "size", True, _found_hyperparameters),
    ("10", ("LR", "NN", "Boosted"), "", "direction", False, _latent_closes_more),
)


def all_claims(results: Results) -> tuple[Claim, ...]:
    """Evaluate every claim on the experiments, in the order of their numbers."""
    claims = []
    for number, families, label, kind, papers, check in CLAIMS:
        for family in families:
            words = {
                "family": family,
                "lower": family.lower(),
                "eas": ESTIMATING.get(family),  # type: ignore[call-overload]
                "ieo": IGNORING.get(family),  # type: ignore[call-overload]
                "own": INSENSITIVE.get(family),  # type: ignore[call-overload]
                "than": INSENSITIVE.get(family, "IEO"),  # type: ignore[call-overload]
                **SAVINGS.get(family, SAVINGS["LR"])._asdict(),
            }
            evidence = check(results, family)  # type: ignore[arg-type]
            statement = caption(f"claim-{number}", **words)[0]
            told = (label.format(**words), kind, papers, statement, evidence)
            claims.append(Claim(number, family, *told))
    return tuple(claims)


def claims_of(results: Results, reading: Reading, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Evaluate every claim in another reading; those of `claims` that no run decides are kept."""
    read = all_claims(results.read_as(reading))
    names = {each.name for each in read}
    return (*read, *(each for each in claims if each.name not in names))


def count(claims: Sequence[Claim], kind: Kind) -> str:
    """Say how many claims of the paper hold, and how many in part or not."""
    verdicts = [each.verdict for each in claims if (each.papers, each.kind) == (True, kind)]
    numbers = [verdicts.count(each) for each in ("reproduced", "reproduced in part")]
    checked = len(verdicts) - verdicts.count("not checked")
    if not checked:
        return "none could be checked"
    return (
        f"{numbers[0]} of {checked} checked claims are reproduced, {numbers[1]} only in part, "
        f"and {checked - sum(numbers)} not at all"
    )


# --- Tables of verdicts and of distances.

#: Figures without printed numbers: they have a direction only.
NOT_PRINTED = ("testNVcost", "testRMSEQ")


def verdict_on(claims: Sequence[Claim], label: str, kind: Kind) -> str:
    """Evaluate a table by the worst of what the paper claims of it."""
    if kind == "size" and label in NOT_PRINTED:
        return "not printed"
    reached = {
        each.verdict
        for each in claims
        if (each.label, each.kind, each.papers) == (label, kind, True)
    }
    return next((each for each in SYMBOLS if each in reached), "not checked")


def by_table(results: Results, claims: Sequence[Claim]) -> Table:
    """Give both verdicts on each table, for every reading.

    Parameters
    ----------
    results : Results
        Results of a run.
    claims : sequence of Claim
        Claims of the usual reading.

    Examples
    --------
    >>> from paper.claims import all_claims, by_table
    >>> by_table(results, all_claims(results))  # after a run  # doctest: +SKIP
    """
    read = [claims] + [claims_of(results, each, claims) for each in results.readings[1:]]
    rows: list[Row] = []
    for label in dict.fromkeys(claim.label for claim in claims if claim.papers):
        pairs = (
            [SYMBOLS[verdict_on(some, label, kind)] for kind in ("direction", "size")]
            for some in read
        )
        rows.append((label, *(" / ".join(pair) for pair in pairs)))
    signs = ", ".join(f"{sign} {word}" for word, sign in SYMBOLS.items())
    columns = dict.fromkeys(("label", *(each.name for each in results.readings)), "")
    return Table("verdictsByTable", columns, rows, {"signs": signs})


def claims_table(claims: Sequence[Claim]) -> Table:
    """One row per claim."""
    heads = ("no.", "table", "kind", "claim", "verdict", "fails at", "what we found", "why")
    rows = [
        (c.name, c.label or None, c.kind, c.statement, c.word, "; ".join(c.fails) or None)
        + (c.evidence.found, c.evidence.why)
        for c in claims
    ]
    return Table("claims", dict.fromkeys(heads, ""), rows)


def distances(results: Results) -> Table:
    """Compute the mean distance between our numbers and the printed ones, by table and reading.

    Parameters
    ----------
    results : Results
        Results of a run.

    Examples
    --------
    >>> from paper.claims import distances
    >>> distances(results)  # after a run  # doctest: +SKIP
    """
    rows: list[Row] = []
    read = [results.read_as(each) for each in results.readings]
    for family in PAPER_FAMILIES:
        label = f"wilcoxon-result-{family.lower()}"
        measures: list[tuple[str, str, int, Callable[..., list[Apart]]]] = [
            ("percentage", "lowest and highest saving", 100, savings_apart),
            ("serviceLevel", "improvement of gaps", 100, service_apart),
        ]
        for part in _PARTS:
            words = f"{part.replace('_', ' ')} of the differences"
            measures.append((label, words, 1, partial(wilcoxon_apart, parts=(part,))))
        for name, what, factor, compare in measures:
            apart = [compare(each, family) for each in read]
            if apart[0]:
                n = len(apart[0])
                means = [factor * fmean(each.distance for each in some) for some in apart]
                tolerance = factor * fmean(each.tolerance(n) for each in apart[0])
                unit = "points" if factor == 100 else "units"
                rows.append((name, f"{family}: {what}", unit, n, *means, tolerance))
        stars = [_stars_apart(each, family) for each in read]
        what = f"{family}: share of data sets with ***"
        rows.append((label, what, "points", len(results.levels), *stars, None))
    columns = {"table": "", "what is compared": "", "unit": "", "numbers": ".0f"}
    columns |= {each.name: ".2f" for each in results.readings} | {"tolerance": ".2f"}
    meanings = "; ".join(f"{each.name}: {each.meaning}" for each in results.readings)
    return Table("readings", columns, rows, {"meanings": meanings})


def _stars_apart(results: Results, family: Family) -> float:
    """Mean over levels of the distance between shares of data sets with three stars, in points."""
    found = []
    for level in results.levels:
        ours = [results.wilcoxon(family, k, level).stars == "***" for k in results.datasets]
        theirs = [WILCOXON[family][k, level].stars == "***" for k in range(1, N_DATASETS + 1)]
        found.append(100 * abs(fmean(ours) - fmean(theirs)))
    return fmean(found)


def nearest(results: Results, table: Table) -> dict[str, int]:
    """Count for each reading the distances of linear models that are the smallest.

    Networks are left out: β plays no part in them.
    """
    counts = {each.name: 0 for each in results.readings}
    for row in table.rows:
        if str(row[1]).startswith("LR"):
            values = [float(row[4 + k] or 0.0) for k in range(len(counts))]
            for name, value in zip(counts, values, strict=True):
                counts[name] += value <= min(values) + 1e-12
    return counts
