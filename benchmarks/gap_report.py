"""From costs to a page: the bars, a table of methods for each group, and tables by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gap_cases import ASSUMED, CASES, GROUPS, LEVELS, NEVER, PAPER, REAL
from gap_methods import IGNORING, METHODS, OPTIMUM, TRUTH, US
from report import duration, head, row

# --- Read access to the results of `gap_closed.py`, and the measures taken from them
#
# Costs of several seeds are added up before they are divided: a ratio of sums is not thrown off by
# a seed in which ignoring censoring happened to cost nothing.

HIGH = tuple(level for level in LEVELS if level >= 0.65)  # where the bars are
LEAST_GAP = 0.005  # of the floor: where ignoring censoring costs less than that, nothing is closed

Keep = Callable[[int], bool]


def key(case: str, seed: int, method: str) -> str:
    return f"{case}|{seed}|{method}"


class Run:
    """The cells of one run."""

    def __init__(self, results: dict) -> None:
        self.setting: dict = results["setting"]
        self.cells: dict[str, dict] = results["cells"]
        self.trials: dict[str, dict] = results["trials"]
        self.fresh: dict | None = results.get("freshretail")

    def seeds(self, case: str) -> list[int]:
        return sorted(
            int(name.rpartition("|")[2]) for name in self.trials if name.startswith(f"{case}|")
        )

    def share(self, case: str) -> float:
        return float(np.mean([self.trials[f"{case}|{seed}"]["share"] for seed in self.seeds(case)]))

    def record(self, case: str, seed: int, method: str) -> dict | None:
        return self.cells.get(key(case, seed, method))

    def cost(self, case: str, seed: int, method: str) -> np.ndarray | None:
        """Mean realised cost at each level; None where the method did not finish."""
        record = self.record(case, seed, method)
        if record is None or "cost" not in record:
            return None
        return np.array(record["cost"])

    def floor(self, case: str, seed: int) -> np.ndarray | None:
        """Cost of the true quantile where it is known, else of the model trained on the truth."""
        best = self.cost(case, seed, OPTIMUM)
        return self.cost(case, seed, TRUTH) if best is None else best

    def four(self, case: str, method: str, keep: Keep = lambda seed: True) -> np.ndarray:
        """Costs of shape (seeds, 4, levels): IEO, the method, the floor, trained on the truth."""
        found = []
        for seed in self.seeds(case):
            each = [self.cost(case, seed, name) for name in (IGNORING, method)]
            each += [self.floor(case, seed), self.cost(case, seed, TRUTH)]
            if keep(seed) and all(cost is not None for cost in each):
                found.append(each)
        return np.array(found).reshape(-1, 4, len(LEVELS))

    def methods(self, cases: Iterable[str]) -> list[str]:
        """Those with a cost in any of the cases, in order of the catalogue."""
        return [name for name in METHODS if any(self.four(case, name).size for case in cases)]

    def finished(self, group: str) -> list[str]:
        return [name for name, case in CASES.items() if case.group == group and self.seeds(name)]

    def identified(self, case: str, seed: int, method: str) -> list[str]:
        """What the rule said of each block."""
        record = self.record(case, seed, method) or {}
        return [found["identified"] or "" for found in record.get("found", []) if found]

    def failures(self) -> dict[str, list[str]]:
        """Sentence of an error → where it came up."""
        found: dict[str, list[str]] = {}
        for name, record in self.cells.items():
            if "failed" in record:
                found.setdefault(record["failed"], []).append(name)
        return found


def closed(
    costs: np.ndarray, levels: Sequence[float] = HIGH, every: bool = False
) -> list[float | None]:
    """Share of the gap closed at each level, over all seeds; None where there is no gap.

    Where even a model trained on the truth is hardly cheaper than IEO, what separates both from the
    true quantile is not censoring but the estimation of many coefficients; such levels count only
    if `every` is asked for.
    """
    found: list[float | None] = []
    for level in levels:
        ignoring, method, floor, truth = costs[:, :, LEVELS.index(level)].sum(axis=0)
        helps = ignoring - (floor if every else max(floor, truth)) > LEAST_GAP * floor
        found.append((ignoring - method) / (ignoring - floor) if helps else None)
    return found


def mean_closed(costs: np.ndarray, every: bool = False) -> float | None:
    """Mean over the levels from .65 on that have a gap."""
    shares = closed(costs, every=every) if len(costs) else []
    present = [share for share in shares if share is not None]
    return float(np.mean(present)) if present else None


def worst_closed(costs: np.ndarray) -> float | None:
    """Least over the seeds; within a seed, the levels with a gap from .65 on are added up."""
    high = [
        LEVELS.index(level)
        for level, share in zip(HIGH, closed(costs) if len(costs) else [], strict=False)
        if share is not None
    ]
    if not high:
        return None
    ignoring, method, floor, _ = costs[:, :, high].sum(axis=2).T
    real = ignoring - floor > LEAST_GAP * floor
    return (
        float(((ignoring - method)[real] / (ignoring - floor)[real]).min()) if real.any() else None
    )


def relative(costs: np.ndarray, to: int = 0) -> np.ndarray:
    """Cost at each level relative to ignoring censoring (0) or to the floor (2), over all seeds."""
    total = costs.sum(axis=0)
    ratio: np.ndarray = total[1] / total[to]
    return ratio


def worst_relative(costs: np.ndarray) -> float:
    """Largest cost relative to ignoring censoring, over seeds and levels."""
    return float((costs[:, 1] / costs[:, 0]).max())


# --- What the project promises about choosing ε, checked against a run

OWN = ("normal, never", "Laplace, never", "gamma, never", "heteroscedastic, never")


@dataclass(frozen=True)
class Bar:
    """One line of the table: a number and the value it must not exceed (or fall below)."""

    where: str
    knows: str
    words: str
    value: float | None  # None: not measured
    bound: float
    at_least: bool = True
    percent: bool = True

    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def ratio(where: str, knows: str, words: str, value: float | None, bound: float) -> Bar:
    """A bar on a ratio or a count, which must not exceed it."""
    return Bar(where, knows, words, value, bound, at_least=False, percent=False)


def bars(run: Run) -> list[Bar]:
    return [*_paper(run), *_never(run), *_lab(run), *_real(run), *_fingerprint(run)]


def _paper(run: Run) -> list[Bar]:
    found = []
    for case, bound in (("store-10", 0.95), ("store-10, clipped", 0.85)):
        costs = run.four(case, US)
        lowest = least(closed(costs)) if len(costs) else None
        first = float(relative(costs, to=2)[LEVELS.index(0.55)]) if len(costs) else None
        found += [
            Bar(case, "nothing", "gap closed at the worst α ≥ .65", lowest, bound),
            ratio(case, "nothing", "cost ÷ true quantile's at α = .55", first, 1.005),
        ]
    return found


def _never(run: Run) -> list[Bar]:
    def harm(cases: Iterable[str]) -> float | None:
        costs = [run.four(case, US) for case in cases]
        return most(float(relative(each).max()) for each in costs if len(each))

    words, others = "cost ÷ IEO at the worst α", set(run.finished(NEVER)) - set(OWN)
    mine = "never: normal, Laplace, gamma, heteroscedastic"
    return [
        ratio(mine, "nothing", words, harm(OWN), 1.01),
        ratio("never: every other", "nothing", words, harm(others), 1.01),
    ]


def _lab(run: Run) -> list[Bar]:
    """Seeds are sorted by what the rule itself says it could tell."""
    shares, everywhere, harms = [], [], []
    for case in run.finished(ASSUMED):
        sure = {seed for seed in run.seeds(case) if run.identified(case, seed, US) == ["yes"]}
        told = run.four(case, US, sure.__contains__)
        untold = run.four(case, US, (set(run.seeds(case)) - sure).__contains__)
        shares.append(mean_closed(told))
        everywhere.append(mean_closed(told, every=True))
        harms.append(float(relative(untold).max()) if len(untold) else None)
    words = "mean gap closed, identified: yes; worst case"
    return [
        Bar(ASSUMED, "nothing", words, least(shares), 0.80),
        Bar(ASSUMED, "nothing", f"{words}, α without censoring too", least(everywhere), 0.80),
        ratio(
            ASSUMED, "nothing", "cost ÷ IEO, identified: not yes; worst case, α", most(harms), 1.02
        ),
    ]


def _real(run: Run) -> list[Bar]:
    case, dated, words = (
        "bakery, nine series",
        "bakery 101, 1.15 × sales",
        "mean gap closed, α ≥ .65",
    )
    guesses = [mean_closed(run.four(case, f"{US}, rate{off}")) for off in (" − 15", "", " + 15")]
    worst = least(guesses) if None not in guesses else None
    ranged = mean_closed(run.four(case, f"{US}, rate ± 15"))
    flags = mean_closed(run.four(case, f"{US}, flags"))
    dates = mean_closed(run.four(dated, f"{US}, dates"))
    return [
        Bar(case, "rate, a range of ± 15 points", words, ranged, 0.60),
        Bar(case, "rate, at worst 15 points off", words, worst, 0.60),
        Bar(case, "flags", words, flags, 0.85),
        Bar(dated, "dates", words, dates, 0.70),
    ]


def _fingerprint(run: Run) -> list[Bar]:
    case, words = "bakery 101, 1.15 × sales", "of the flags, worst seed"
    records = [run.record(case, seed, "OrderFingerprint") for seed in run.seeds(case)]
    found = [record for record in records if record and "found" in record]
    precision, recall = (
        least(record[name] or 0.0 for record in found) for name in ("precision", "recall")
    )
    never = [
        sum(block["accepted"] for block in record["found"])
        for name in ("bakery, never", "YAZ, never")
        for seed in run.seeds(name)
        if (record := run.record(name, seed, "OrderFingerprint")) and "found" in record
    ]
    accepted = float(sum(never)) if never else None
    return [
        Bar(case, "dates", f"precision {words}", precision, 0.95),
        Bar(case, "dates", f"recall {words}", recall, 0.90),
        ratio("bakery and YAZ, never", "dates", "series with a rule accepted", accepted, 0),
    ]


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def bar_table(run: Run) -> list[str]:
    lines = [head(["where", "known", "what", "bar", "measured", "met"])]
    for bar in bars(run):
        if bar.value is None:
            continue
        measured, bound = (text(bar, value) for value in (bar.value, bar.bound))
        sign, mark = "≥" if bar.at_least else "≤", "✓" if bar.met() else "✗"
        lines.append(row([bar.where, bar.knows, bar.words, f"{sign} {bound}", measured, mark]))
    return lines


def text(bar: Bar, value: float) -> str:
    return f"{100 * value:.1f} %" if bar.percent else f"{value:.4g}"


def group_table(run: Run, group: str) -> list[str]:
    """Methods down: mean over the cases, the worst case, and the worst seed of any case."""
    cases = run.finished(group)
    never = group == NEVER
    columns = ["mean", "worst case", "worst seed", "time"]
    lines = [head(["method", "knows", *columns])]
    for name in run.methods(cases):
        costs = [each for case in cases if len(each := run.four(case, name))]
        if never:
            ratios = [relative(each) for each in costs]
            cells = [f"{np.mean(ratios):.3f}", f"{np.max(ratios):.3f}"]
            cells.append(f"{max(worst_relative(each) for each in costs):.3f}")
        else:
            means = [mean for each in costs if (mean := mean_closed(each)) is not None]
            worst = [least for each in costs if (least := worst_closed(each)) is not None]
            cells = (
                [share(np.mean(means)), share(min(means)), share(min(worst))]
                if means
                else ["–"] * 3
            )
        label = f"**{name}**" if name == US else name
        cells.append(duration(seconds(run, cases, name)))
        lines.append(row([label, METHODS[name].knows, *cells]))
    return lines


def seconds(run: Run, cases: list[str], method: str) -> float:
    """Median time of a trial."""
    records = [run.record(case, seed, method) for case in cases for seed in run.seeds(case)]
    return float(np.median([r["seconds"] for r in records if r and "seconds" in r]))


def case_table(run: Run, case: str) -> list[str]:
    """One case by level: the share of the gap closed, or the cost relative to IEO."""
    never = CASES[case].group == NEVER
    lines = [head(["method", *(f"α = {level:g}" for level in LEVELS), "worst seed"])]
    for name in run.methods([case]):
        costs = run.four(case, name)
        if never:
            cells = [f"{ratio:.3f}" for ratio in relative(costs)]
            cells.append(f"{worst_relative(costs):.3f}")
        else:
            cells = [share(each) for each in closed(costs, LEVELS)] + [share(worst_closed(costs))]
        lines.append(row([f"**{name}**" if name == US else name, *cells]))
    if not never:
        floor = relative(run.four(case, "IEO"), to=2)
        lines.append(row(["*IEO's cost ÷ the floor's*", *(f"{ratio:.3f}" for ratio in floor), ""]))
    return lines


def grid(run: Run, group: str) -> list[str]:
    """Cases down, the methods that know nothing across, and what LatentBand says of itself."""
    cases = run.finished(group)
    names = [
        name
        for name in run.methods(cases)
        if METHODS[name].knows == "nothing" or name in (TRUTH, f"{US}, rate", f"{US}, flags")
    ]
    lines = [head(["case", "censored", *names, "identified"])]
    for case in cases:
        cells = []
        for name in names:
            costs = run.four(case, name)
            if group == NEVER:
                cells.append(f"{relative(costs).max():.3f}" if len(costs) else "")
            else:
                cells.append(share(mean_closed(costs)) if len(costs) else "")
        words = Counter(word for seed in run.seeds(case) for word in run.identified(case, seed, US))
        said = ", ".join(f"{word} {words[word]}" for word in ("yes", "weakly", "no") if words[word])
        lines.append(row([case, share(run.share(case)), *cells, said]))
    return lines


def fingerprint_table(run: Run) -> list[str]:
    lines = [head(["case", "series", "rule accepted", "precision", "recall"])]
    for case in CASES:
        records = [run.record(case, seed, "OrderFingerprint") for seed in run.seeds(case)]
        found = [record for record in records if record and "found" in record]
        if not found:
            continue
        blocks = [block for record in found for block in record["found"]]
        cells = [str(len(blocks)), str(sum(block["accepted"] for block in blocks))]
        for name in ("precision", "recall"):
            values = [record[name] for record in found if record[name] is not None]
            cells.append(f"{np.mean(values):.3f} ({min(values):.3f})" if values else "–")
        lines.append(row([case, *cells]))
    return lines if len(lines) > 1 else []


def page(run: Run) -> str:
    """Return the whole page in Markdown."""
    n_seeds = max((len(run.seeds(case)) for case in CASES), default=0)
    lines = [
        "# Choosing ε: share of the gap closed",
        "",
        "Made by `benchmarks/gap_closed.py`; how to read it: `benchmarks/README.md`.",
        f"Number of seeds: {n_seeds}. {run.setting['cpu']}, Python {run.setting['python']}, "
        f"unmet {run.setting['unmet']}.",
        "",
        "Gap closed = (cost of IEO − cost of the method) ÷ (cost of IEO − floor), on test rows",
        f"whose truth is known. The floor is the {OPTIMUM} where it is known, else the same model",
        f"{TRUTH}. Costs are summed over seeds; means are over α ≥ {HIGH[0]}, but for those where",
        f"even the model {TRUTH} is less than 0.5 % cheaper than IEO (–); the worst seed sums",
        "over the same α. On data that was never censored: cost ÷ IEO's, at all α.",
        "",
        "![Share of the gap closed](gap_closed.svg)",
        "",
        "## What is promised",
        "",
        *bar_table(run),
    ]
    for group in GROUPS:
        if cases := run.finished(group):
            lines += ["", f"## {group[0].upper()}{group[1:]}", "", *group_table(run, group)]
            lines += ["", *grid(run, group)]
            for case in cases if group in (PAPER, REAL) else []:
                censored = f"{100 * run.share(case):.0f} % censored"
                lines += ["", f"### {case} ({censored})", "", *case_table(run, case)]
    if table := fingerprint_table(run):
        lines += ["", "## Order rules found from dates", "", "Mean (worst seed).", "", *table]
    if run.fresh:
        from gap_freshretail import section

        lines += ["", *section(run.fresh)]
    if failures := run.failures():
        lines += ["", "## What did not finish", ""]
        lines += [
            f"- {len(where)} × {words} First: {where[0]}" for words, where in failures.items()
        ]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write gap_closed.md, and gap_closed.svg where matplotlib is present; whole or not at all."""
    run = Run(results)
    fresh = folder / "gap_closed.md.new"
    fresh.write_text(page(run))
    fresh.replace(folder / "gap_closed.md")
    try:
        from gap_figure import draw
    except ImportError:
        return
    draw(run, folder)
