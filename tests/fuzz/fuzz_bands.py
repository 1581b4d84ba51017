"""Awkward series by seed for `LatentBand`, and what must come of each of them.

A series is drawn part by part: observations (constant but for a few, two-valued, one giant among
them, whole numbers above 1e15, subnormal, huge, …), how many rows, features, what is known of rows,
weights, costs, and what to do when unsure. Every part is ordinary or awkward by itself, so that
most series mix several kinds.

=========  =========================================================================================
band       a finite band and finite decisions, within `FAR` times of what was seen or said to be not
refused    one sentence of our own errors
far        a decision beyond that without a word in the diagnosis (a failure)
not        NaN or infinity in a band or a decision (a failure)
warning    a warning of somebody else reached the user (a failure)
foreign    an error that is not ours (a failure)
slow       took longer than `SLOWEST` seconds of computing (a failure)
=========  =========================================================================================

Run as a script it prints how many there are of each, and the seeds of the failures, shrunk to as
few rows as still fail::

    python tests/fuzz/fuzz_bands.py --count 400 --first 0
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmet import LatentBand, Newsvendor
from unmet.bands.constants import FAR_FROM_SEEN as FAR
from unmet.errors import UnmetError

SLOWEST = 30.0
FAILURES = ("far", "not", "warning", "foreign", "slow")


@dataclass
class Series:
    """One problem: what `LatentBand.fit` is given."""

    about: str
    X: np.ndarray
    y: np.ndarray
    known: dict
    rule: dict
    cost: Newsvendor

    def first(self, n_rows):
        """The same problem with its first rows only."""
        known = {name: value[:n_rows] for name, value in self.known.items()}
        return replace(self, X=self.X[:n_rows], y=self.y[:n_rows], known=known)


def _two_values(chance, n):
    low, high = sorted(chance.choice([0.0, 1.0, 2.0, 7.5, 1e9, -3.0, 1e-9], 2, replace=False))
    return np.where(chance.random(n) < chance.choice([0.02, 0.3, 0.9]), low, high)


def _nearly_constant(chance, n):
    y = np.full(n, chance.choice([0.0, 5.0, 1e12]))
    y[chance.integers(n)] += chance.choice([1.0, 1e-9, 1e6])
    return y


def _outlier(chance, n):
    y = chance.gamma(5, 4, n)
    y[chance.integers(n)] = chance.choice([1e6, 1e12, 1e100, 1e300])
    return y


def _few_values(chance, n):
    return chance.choice([0.0, 1.0, 2.0, 3.0], n, p=[0.7, 0.2, 0.05, 0.05])


def _censored(chance, n):
    return np.minimum(chance.gamma(5, 4, n), chance.choice([15.0, 20.0, 40.0]))


OBSERVATIONS = {
    "ordinary": lambda chance, n: chance.gamma(5, 4, n),
    "counts": lambda chance, n: chance.poisson(chance.choice([0.1, 3, 50]), n).astype(float),
    "capped": _censored,
    "constant": lambda chance, n: np.full(n, chance.choice([0.0, 3.0, -2.0, 1e300])),
    "nearly constant": _nearly_constant,
    "two values": _two_values,
    "few values": _few_values,
    "one giant": _outlier,
    "whole above 1e15": lambda chance, n: (
        1e15 + chance.integers(0, 10 ** chance.integers(1, 16), n)
    ),
    "whole above 2**53": lambda chance, n: np.floor(chance.normal(1e18, 1e17, n)),
    "subnormal": lambda chance, n: chance.integers(1, 1000, n) * 5e-324,
    "tiny": lambda chance, n: chance.gamma(5, 4, n) * 10.0 ** chance.uniform(-307, -100),
    "huge": lambda chance, n: chance.gamma(5, 4, n) * 10.0 ** chance.uniform(100, 305),
    "decades": lambda chance, n: 10.0 ** chance.uniform(-150, 150, n),
    "negative": lambda chance, n: chance.normal(0, 1, n) * 10.0 ** chance.integers(-3, 4),
    "heavy": lambda chance, n: np.abs(chance.standard_cauchy(n)) ** 3,
    "far from zero": lambda chance, n: 1e9 + chance.normal(0, 1, n),
}


def _features(chance, n):
    kind = chance.choice(["ordinary", "none", "constant", "twins", "scaled", "codes", "many"])
    if kind == "none":
        return kind, np.zeros((n, 1))
    if kind == "constant":
        return kind, np.full((n, 2), 4.0)
    X = chance.normal(size=(n, int(chance.integers(1, 4))))
    if kind == "twins":
        X = np.column_stack([X, X[:, 0]])
    elif kind == "scaled":
        X = X * 10.0 ** chance.uniform(-150, 150, X.shape[1])
    elif kind == "codes":
        X = np.eye(5)[chance.integers(5, size=n)]
    elif kind == "many":
        X = chance.normal(size=(n, max(n // 3, 2)))
    return str(kind), X


def _known(chance, y):
    n = y.size
    kind = str(
        chance.choice(
            ["nothing", "nothing", "flags", "all True", "all False", "one seen", "gaps", "stock"]
        )
    )
    flags = chance.random(n) < 0.3
    given = {
        "nothing": {},
        "flags": {"censored": flags},
        "all True": {"censored": np.ones(n, dtype=bool)},
        "all False": {"censored": np.zeros(n, dtype=bool)},
        "one seen": {"censored": np.arange(n) != int(chance.integers(n))},
        "gaps": {"censored": np.where(chance.random(n) < 0.5, np.nan, flags.astype(float))},
        "stock": {"stock": np.maximum(y, np.median(y))},
    }[kind]
    if chance.random() < 0.15:
        given["sample_weight"] = 10.0 ** chance.uniform(-8, 8, n)
        kind += ", weights"
    return kind, given


def series(seed):
    """The problem of one seed."""
    chance = np.random.default_rng(seed)
    n = int(chance.choice([2, 3, 5, 8, 12, 19, 30, 60, 120, 250]))
    name = str(chance.choice(list(OBSERVATIONS)))
    y = np.asarray(OBSERVATIONS[name](chance, n), dtype=float)
    shape, X = _features(chance, n)
    if chance.random() < 0.3 and shape not in ("none", "constant", "scaled"):
        y = y + np.abs(X[:, 0]) * float(np.median(np.abs(y)))
    told, known = _known(chance, y)
    rule = {"random_state": 0}
    if chance.random() < 0.2:
        rule["sellout_rate"] = (0.2, (0.1, 0.4), 0.0, 0.9)[chance.integers(4)]
    rule["when_unsure"] = str(chance.choice(["least", "least", "regret", "expected"]))
    level = float(chance.choice([0.2, 0.75, 0.9, 0.999]))
    about = f"{n} rows, {name}, features {shape}, {told}, {rule}, level {level:g}"
    return Series(about, X, y, known, rule, Newsvendor(level, 1.0 - level))


class TooSlow(BaseException):
    pass


@contextmanager
def _at_most(seconds):
    """Stop after so many seconds of computing, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judge(problem):
    """Outcome of a problem, and what there is to say of it."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with _at_most(SLOWEST):
                rule = LatentBand(**problem.rule).fit(
                    problem.cost, problem.X, problem.y, **problem.known
                )
                band = rule.band(problem.X, observation=problem.y)
                decided = rule.decision(problem.X)
        except UnmetError as error:
            said = str(error)
            outcome = "refused" if "\n" not in said else "foreign"
        except TooSlow:
            outcome, said = "slow", f"more than {SLOWEST:g} s"
        except Exception as error:
            outcome, said = "foreign", f"{type(error).__name__}: {error}"
        else:
            outcome, said = _of_band(problem, rule, band, decided)
    if warned and outcome in ("band", "refused"):
        outcome, said = "warning", f"{warned[0].category.__name__}: {warned[0].message}"
    return outcome, said


def _of_band(problem, rule, band, decided):
    ends = np.concatenate([np.ravel(band.low), np.ravel(band.high), decided])
    if not np.isfinite(ends).all():
        return "not", f"{(~np.isfinite(ends)).sum()} of {ends.size} are not finite"
    seen = float(np.abs(problem.y).max())
    furthest = max(
        float(np.abs(decided).max()), float(np.max(problem.y / seen + band.low / seen) * seen)
    )
    if furthest / seen > FAR and not any(
        "times the largest" in note for note in rule.diagnosis_.notes
    ):
        return "far", f"decides {furthest:.3g} where at most {seen:.3g} was seen"
    return "band", ""


def shrink(problem):
    """The same problem with as few of its first rows as still have the same outcome."""
    outcome, _ = judge(problem)
    while problem.y.size > 4:
        smaller = problem.first(problem.y.size // 2)
        if judge(smaller)[0] != outcome:
            break
        problem = smaller
    return problem


def listed(counts):
    """How many there are of each outcome, the failures also where there are none."""
    shown = {**dict(counts.most_common()), **{name: counts[name] for name in FAILURES}}
    return ", ".join(f"{name} {number:,}" for name, number in shown.items())


def write_page(page, part, told):
    """Put what was found between the marks of a part, if there is a page."""
    if page is None:
        return
    begin, end = (f"<!-- fuzz {part}: {word} -->" for word in ("begin", "end"))
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"--page must have the marks {begin} and {end}, got {page}.")
    page.write_text(f"{before}{begin}\n\n{told}\n\n{end}{after}", encoding="utf-8")


def main(words=None):
    """Judge series by seed; exit code 1 if there were failures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--page", type=Path, help="write the counts into this file")
    asked = parser.parse_args(words)
    counts, slowest = Counter(), (0.0, -1)
    for seed in range(asked.first, asked.first + asked.count):
        problem = series(seed)
        begun = time.process_time()
        outcome, said = judge(problem)
        slowest = max(slowest, (time.process_time() - begun, seed))
        counts[outcome] += 1
        if outcome in FAILURES:
            small = problem if outcome == "slow" else shrink(problem)
            print(
                f"seed {seed}: {outcome}: {said[:120]} [{problem.about}], "
                f"also with {small.y.size} rows",
                flush=True,
            )
    told = (
        f"LatentBand, seeds {asked.first} to {asked.first + asked.count - 1}: {listed(counts)}; "
        f"slowest {slowest[0]:.1f} s (seed {slowest[1]})"
    )
    print(told)
    write_page(asked.page, "bands", told)
    return int(any(counts[name] for name in FAILURES))


if __name__ == "__main__":
    sys.exit(main())
