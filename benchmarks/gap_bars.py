"""What the project promises about choosing ε, checked against a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gap_cases import ASSUMED, LEVELS, NEVER
from gap_methods import US
from gap_run import Run, closed, mean_closed, relative

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
