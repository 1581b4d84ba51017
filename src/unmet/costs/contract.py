"""`check_cost`: try a cost of one's own before a model is trained on it."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Band, common_rows, read_array
from unmet.costs.base import Cost
from unmet.costs.hinge import HingeCost
from unmet.errors import InvalidInput, UnmetError

# --- What trying a cost has shown.

Verdict: TypeAlias = Literal["kept", "broken", "note"]
_WORDS: dict[str, str] = {"kept": "ok", "broken": "WRONG", "note": "note"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    about : str
        What was looked at, in a word or two.
    verdict : {"kept", "broken", "note"}
        A note is nothing wrong, but worth knowing.
    sentence : str
        What was found; if it is wrong, where, and what was expected.
    """

    about: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class CostReport:
    """Everything that `check_cost` has found; print it to read it.

    Attributes
    ----------
    cost : str
        The cost, as it shows itself.
    findings : tuple of Finding
        In the order in which they were made.
    """

    cost: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence for each thing that is wrong."""
        return tuple(self._sentences("broken"))

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing worth knowing."""
        return tuple(self._sentences("note"))

    def _sentences(self, verdict: Verdict) -> Iterator[str]:
        return (each.sentence for each in self.findings if each.verdict == verdict)

    def __str__(self) -> str:
        wrong = len(self.failures)
        if wrong:
            things = "one thing is" if wrong == 1 else f"{wrong} things are"
            heading = f"{self.cost} breaks the contract of a cost: {things} wrong."
        else:
            heading = f"{self.cost} keeps the contract of a cost."
        width = max((len(each.about) for each in self.findings), default=0)
        lines = (
            f"  {_WORDS[each.verdict]:5}  {each.about:{width}}  {each.sentence}"
            for each in self.findings
        )
        return "\n".join([heading, *lines])


# --- Where a cost is tried: truths, decisions around them, and bands.

_ROWS = 120
_RANDOM = 14  # decisions a row, at random
_APART = 1e-3  # decisions on both sides of a kink, in units of the range of the truth
_STEP = 1e-6  # of a difference quotient, in the same units


@dataclass(frozen=True)
class Trial:
    """Rows on which a cost is tried.

    Attributes
    ----------
    cost : Cost
    truth : ndarray of shape (n_rows,)
    unit : float
        A distance that matters: the range of the truth.
    generator : Generator
    """

    cost: Cost
    truth: Array
    unit: float
    generator: np.random.Generator

    @classmethod
    def of(cls, cost: Cost, truth: ArrayLike | None, random_state: int) -> Trial:
        """Read truths, or make some up; a cost with one entry per row needs as many rows."""
        generator = np.random.default_rng(random_state)
        n_rows = common_rows(cost.parameters())
        if truth is None:
            made_up = generator.uniform(1.0, 100.0, n_rows or _ROWS)
            values = np.where(generator.random(made_up.size) < 0.3, np.rint(made_up), made_up)
        else:
            values = np.atleast_1d(read_array("truth", truth)).copy()
            if not values.size:
                raise InvalidInput("truth must have at least one row, got none.")
            if n_rows is not None and n_rows != values.size:
                raise InvalidInput(
                    f"truth must have as many rows as the cost, got {values.size} for {n_rows}."
                )
        unit = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
        return cls(cost, values, unit, generator)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.truth.size

    @property
    def step(self) -> float:
        """Step of a difference quotient."""
        return _STEP * self.unit

    def bands(self) -> list[Band]:
        """Bands with and without width, the same for all rows and one for each."""
        low, width = self.generator.uniform(0.05, 0.4, (2, self.n_rows)) * self.unit
        return [
            Band(0.0, 0.25 * self.unit),
            Band(0.1 * self.unit, 0.3 * self.unit),
            Band(low, low + width),
        ]

    def kinks(self, band: Band | None = None) -> Array:
        """Decisions at which the slope may change, as far as known: shape (n_kinks, n_rows)."""
        low, high = (0.0, 0.0) if band is None else (band.low, band.high)
        ends = [self.truth + low, self.truth + high]
        if isinstance(self.cost, HingeCost):
            ends = [*ends, *self.cost.kinks(self.truth, band).position]
        return np.unique(np.stack(ends), axis=0)

    def decisions(self, band: Band | None = None) -> Array:
        """Decisions of each row in increasing order: at random, on kinks and beside them."""
        size = (_RANDOM, self.n_rows)
        near = self.truth + self.generator.normal(0.0, 0.3, size) * self.unit
        kinks = self.kinks(band)
        beside = [kinks + sign * _APART * self.unit for sign in (-1.0, 1.0)]
        far = [self.truth - 0.9 * self.unit, self.truth + 1.7 * self.unit]
        return np.sort(np.concatenate([near, kinks, *beside, far]), axis=0)


def place(**values: float) -> str:
    """Say where something happened: numbers by name."""
    said = [f"{name.replace('_', ' ')} {value:.6g}" for name, value in values.items()]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


# --- What a band does to a loss.

_BAND_ROUNDING = 1e-11


def check_bands(trial: Trial) -> Iterator[Finding]:
    """Nothing in the band, the cost of its nearer end outside, never more in a wider one."""
    sentence = _no_width(trial)
    if sentence:
        yield Finding("bands", "broken", sentence)
        return
    reason = _of_its_own(trial)
    if reason:
        yield Finding("bands", "note", f"only bands without width were tried: {reason}.")
        return
    for band in trial.bands():
        try:
            faults = (_inside(trial, band), _outside(trial, band), _wider(trial, band))
        except InvalidInput as refusal:
            yield Finding("bands", "note", f"it refuses bands with two ends: {refusal}")
            continue
        sentence = next((each for each in faults if each), None)
        if sentence:
            yield Finding("bands", "broken", sentence)
            return
    yield Finding("bands", "kept", "nothing in the band, outside the cost of its nearer end")


def _of_its_own(trial: Trial) -> str | None:
    """Why the rules of a band cannot hold for a cost; None if they can."""
    cost, truth = trial.cost, trial.truth
    if cost.own_band:
        return "the cost says own_band"
    typical = np.abs(cost.loss(truth + 0.3 * trial.unit, truth)).max() * 1e-3
    if np.abs(cost.loss(truth, truth)).max() > typical:
        return "a decision at the truth is not free"
    beside = (cost.loss(truth + sign * trial.step, truth) for sign in (-1.0, 1.0))
    if any(np.abs(each).max() > typical for each in beside):
        return "the cost jumps at the truth"
    return None


def _no_width(trial: Trial) -> str | None:
    """Without a band, with one of width zero, and by the method cost: the same numbers."""
    cost, truth = trial.cost, trial.truth
    decision = truth + trial.generator.normal(0.0, 0.3, trial.n_rows) * trial.unit
    plain = cost.loss(decision, truth)
    for name, values in (
        ("with Band(0, 0)", cost.loss(decision, truth, Band(0.0, 0.0))),
        ("from the method cost", cost.cost(decision, truth)),
    ):
        row = _differs(trial, values, plain)
        if row is not None:
            return (
                f"loss without a band must be what comes {name}, got {plain[row]:.6g} instead of "
                f"{values[row]:.6g} at {place(decision=decision[row], truth=truth[row])}."
            )
    return None


def _inside(trial: Trial, band: Band) -> str | None:
    """Three places in the band, its ends among them."""
    seen = trial.truth
    for share in (0.0, 0.6, 1.0):
        decision = seen + band.low + share * band.width
        paid = trial.cost.loss(decision, seen, band)
        row = _differs(trial, paid, np.zeros(trial.n_rows))
        if row is not None:
            return (
                f"loss must be 0 in the band, got {paid[row]:.6g} at "
                f"{_where(trial, band, decision, row)}."
            )
    return None


def _outside(trial: Trial, band: Band) -> str | None:
    """On either side, as if the nearer end were the truth."""
    seen = trial.truth
    distance = trial.generator.uniform(0.001, 0.8, trial.n_rows) * trial.unit
    sides = (("below", band.low, -1.0, "lower"), ("above", band.high, 1.0, "upper"))
    for side, end, sign, which in sides:
        decision = seen + end + sign * distance
        paid = trial.cost.loss(decision, seen, band)
        expected = trial.cost.cost(decision, seen + end)
        row = _differs(trial, paid, expected)
        if row is not None:
            return (
                f"loss {side} the band must be what its {which} end would cost as the truth, got "
                f"{paid[row]:.6g} instead of {expected[row]:.6g} at "
                f"{_where(trial, band, decision, row)}."
            )
    return None


def _wider(trial: Trial, band: Band) -> str | None:
    """Compare with a band that holds this one: it costs no more."""
    seen = trial.truth
    wider = Band(0.5 * band.low, 1.5 * band.high)
    for distance in trial.generator.normal(0.0, 0.6, (6, trial.n_rows)) * trial.unit:
        paid = trial.cost.loss(seen + distance, seen, band)
        less = trial.cost.loss(seen + distance, seen, wider)
        more = less > paid + _rounding(trial, paid, less)
        if more.any():
            row = int(np.argmax(more))
            return (
                f"loss must not grow with the band, got {less[row]:.6g} instead of at most "
                f"{paid[row]:.6g} at {_where(trial, wider, seen + distance, row)}."
            )
    return None


def _where(trial: Trial, band: Band, decision: Array, row: int) -> str:
    low, high = (float(end[row]) for end in band.rows(trial.n_rows))
    seen = float(trial.truth[row])
    return place(decision=float(decision[row]), observation=seen, low=low, high=high)


def _differs(trial: Trial, values: Array, expected: Array) -> int | None:
    """First row in which two losses differ by more than rounding."""
    wrong: NDArray[np.bool_] = np.abs(values - expected) > _rounding(trial, values, expected)
    return int(np.argmax(wrong)) if wrong.any() else None


def _rounding(trial: Trial, first: Array, second: Array) -> Array:
    """Allow for rounding of the values, and of the decisions they come from."""
    typical = np.abs(trial.cost.loss(trial.truth + trial.step, trial.truth)) / trial.step
    typical += np.abs(trial.cost.loss(trial.truth - trial.step, trial.truth)) / trial.step
    reach = np.abs(trial.truth) + trial.unit
    return _BAND_ROUNDING * (np.abs(first) + np.abs(second) + typical * reach)


# --- Copies, files and other processes: a cost must come back as it was.


def check_copies(trial: Trial) -> Iterator[Finding]:
    """Compare copies: equal, of the same hash, and as dear."""
    ways: dict[str, Callable[[Any], Any]] = {"copy.deepcopy": copy.deepcopy}
    if _found_by_name(type(trial.cost)):
        ways["pickle"] = lambda cost: pickle.loads(pickle.dumps(cost))
    else:
        yield Finding(
            "copies",
            "note",
            f"pickle was not tried, as {type(trial.cost).__qualname__} is not defined at the top "
            "of a module: models that hold it cannot be saved.",
        )
    for name, way in ways.items():
        sentence = _fault(trial, name, way)
        if sentence:
            yield Finding("copies", "broken", sentence)
            return
    yield Finding("copies", "kept", f"equal after {' and '.join(ways)}")


def _found_by_name(kind: type) -> bool:
    """Whether pickle would find the class again."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _fault(trial: Trial, name: str, way: Callable[[Any], Any]) -> str | None:
    cost, truth = trial.cost, trial.truth
    try:
        made = way(cost)
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        return f"a cost must survive {name}, got {type(error).__name__}: {said}."
    decision = truth + 0.1 * trial.unit
    before, after = cost.loss(decision, truth), made.loss(decision, truth)
    if not np.array_equal(before, after):
        row = int(np.argmax(before != after))
        return (
            f"a cost must cost the same after {name}, got {after[row]:.6g} instead of "
            f"{before[row]:.6g} at {place(decision=decision[row], truth=truth[row])}."
        )
    try:
        same = bool(made == cost) and hash(made) == hash(cost)
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        return (
            f"a cost must be comparable and have a hash, got {type(error).__name__}: {said} "
            "(decorate it with @dataclass(frozen=True, eq=False))."
        )
    if not same:
        return (
            f"a cost must equal its copy by {name}, and have the same hash, got "
            f"{made!r} for {cost!r} (decorate it with @dataclass(frozen=True, eq=False))."
        )
    return None


# --- The loss as a function of the decision: its values, its slope, and what it claims of both.

_ROUNDING = 1e-11  # of a value, relative to the values and distances it is made of
_CLOSE = 1e-4  # of a slope, relative to the slopes around it


@dataclass(frozen=True)
class Curve:
    """Losses and subgradients at some decisions of each row, in increasing order.

    Attributes
    ----------
    trial : Trial
    band : Band or None
    decision, loss, slope : ndarray of shape (n_decisions, n_rows)
    rounding : ndarray of shape (n_decisions, n_rows)
        How wrong rounding may make a loss.
    """

    trial: Trial
    band: Band | None
    decision: Array
    loss: Array
    slope: Array
    rounding: Array

    @classmethod
    def of(cls, trial: Trial, band: Band | None = None) -> Curve:
        """Try a cost at random decisions, on its kinks and beside them."""
        decision = trial.decisions(band)
        cost, seen = trial.cost, trial.truth
        loss = np.stack([cost.loss(each, seen, band) for each in decision])
        slope = np.stack([cost.subgradient(each, seen, band) for each in decision])
        around = np.pad(np.abs(slope), ((1, 1), (0, 0)))
        steep = np.maximum(np.maximum(around[:-2], around[2:]), around[1:-1])
        rounding = _ROUNDING * (np.abs(loss) + steep * (np.abs(decision) + np.abs(seen)))
        return cls(trial, band, decision, loss, slope, rounding)

    def where(self, at: int, row: int) -> str:
        """Name a decision, its observation and its band."""
        seen = self.trial.truth[row]
        if self.band is None:
            return place(decision=self.decision[at, row], truth=seen)
        low, high = (float(end[row]) for end in self.band.rows(self.trial.n_rows))
        return place(decision=self.decision[at, row], observation=seen, low=low, high=high)


def _worst(wrong: NDArray[np.bool_], by: Array) -> tuple[int, ...]:
    """Place of the largest fault among those that are wrong."""
    index = np.unravel_index(int(np.argmax(np.where(wrong, by, -np.inf))), wrong.shape)
    return tuple(int(each) for each in index)


def check_values(curve: Curve) -> Iterator[Finding]:
    """Look whether it is finite, never negative, and nothing at the truth."""
    loss = curve.loss
    if not np.isfinite(loss).all():
        at, row = _worst(~np.isfinite(loss), np.ones(loss.shape))
        yield Finding(
            "values",
            "broken",
            f"loss must be finite, got {loss[at, row]} at {curve.where(at, row)}.",
        )
        return
    yield _negative(curve)
    yield _at_truth(curve)


def _negative(curve: Curve) -> Finding:
    """Look for gains: wrong in a convex cost, whose least value is 0, and rare in any other."""
    negative = curve.loss < -curve.rounding
    if not negative.any():
        return Finding("values", "kept", "finite, never negative")
    at, row = _worst(negative, -curve.loss)
    where = f"got {curve.loss[at, row]:.6g} at {curve.where(at, row)}"
    if curve.trial.cost.convex:
        return Finding("values", "broken", f"a convex loss must not be negative, {where}.")
    return Finding("values", "note", f"a loss below 0 is a gain, {where}: fine, if it is meant.")


def _at_truth(curve: Curve) -> Finding:
    trial = curve.trial
    paid = trial.cost.loss(trial.truth, trial.truth)
    allowed = np.median(curve.rounding, axis=0)
    row = int(np.argmax(np.abs(paid) - allowed))
    if abs(paid[row]) <= allowed[row]:
        return Finding("truth", "kept", "a decision at the truth costs 0")
    where = f"got {paid[row]:.6g} at {place(truth=trial.truth[row])}"
    if trial.cost.convex:
        return Finding("truth", "broken", f"a convex loss must be 0 at the truth, {where}.")
    return Finding(
        "truth", "note", f"a decision at the truth is not free, {where}: fine, if it is meant."
    )


def check_convexity(curve: Curve) -> Iterator[Finding]:
    """Chords between neighbours must not get flatter from left to right."""
    claimed = curve.trial.cost.convex
    fault, middle = _bends(curve)
    rounding = curve.rounding
    wrong = fault > 4 * np.maximum(np.maximum(rounding[:-2], rounding[2:]), rounding[1:-1])
    if not wrong.any():
        sentence = "convex, as it claims"
        if not claimed:
            sentence = "not claimed; what was tried is convex (convex = True would claim it)"
        yield Finding("convexity", "kept", sentence)
        return
    at, row = _worst(wrong, fault)
    left, right = (float(curve.decision[at + side, row]) for side in (0, 2))
    between = curve.where(at + 1, row)
    if not claimed:
        yield Finding("convexity", "note", f"not claimed, and not convex at {between}.")
        return
    yield Finding(
        "convexity",
        "broken",
        f"a loss that claims to be convex must lie below its chords, got "
        f"{curve.loss[at + 1, row]:.6g} at {between}, where the chord from decision {left:.6g} "
        f"to {right:.6g} is at {middle[at, row]:.6g}.",
    )


def _bends(curve: Curve) -> tuple[Array, Array]:
    """How far each inner value lies above the chord of its neighbours, and that chord."""
    decision, loss = curve.decision, curve.loss
    span = decision[2:] - decision[:-2]
    share = np.where(span > 0, (decision[1:-1] - decision[:-2]) / np.where(span > 0, span, 1), 0)
    chord = (1 - share) * loss[:-2] + share * loss[2:]
    return loss[1:-1] - np.where(span > 0, chord, loss[1:-1]), chord


def check_steepness(curve: Curve) -> Iterator[Finding]:
    """No chord steeper than the steepest slope that is claimed."""
    claimed = curve.trial.cost.steepest
    if claimed is None:
        return
    limit = np.broadcast_to(np.asarray(claimed, dtype=np.float64), curve.trial.truth.shape)
    rise = np.abs(np.diff(curve.loss, axis=0))
    run = np.diff(curve.decision, axis=0)
    wrong = rise > limit * run * (1 + 1e-9) + 4 * (curve.rounding[:-1] + curve.rounding[1:])
    if not wrong.any():
        yield Finding("steepness", "kept", "no steeper than it claims")
        return
    at, row = _worst(wrong, rise - limit * run)
    yield Finding(
        "steepness",
        "broken",
        f"steepest says that loss changes by at most {limit[row]:.6g} a unit, got "
        f"{rise[at, row] / run[at, row]:.6g} from {curve.where(at, row)} to "
        f"{place(decision=curve.decision[at + 1, row])}.",
    )


def check_subgradient(curve: Curve) -> Iterator[Finding]:
    """Compare with differences; on a kink any slope between is one, 0 if that is."""
    about = "subgradient" if curve.band is None else "subgradient in a band"
    if not np.isfinite(curve.slope).all():
        at, row = _worst(~np.isfinite(curve.slope), np.ones(curve.slope.shape))
        yield Finding(
            about,
            "broken",
            f"subgradient must be finite, got {curve.slope[at, row]} at {curve.where(at, row)}.",
        )
        return
    faults = [_against_differences(curve), _zero_on_kinks(curve), _against_tangents(curve)]
    sentence = next((each for each in faults if each), None)
    if sentence:
        yield Finding(about, "broken", sentence)
    else:
        yield Finding(about, "kept", "agrees with differences of loss, also on kinks")


def _side(curve: Curve, sign: float) -> tuple[Array, NDArray[np.bool_]]:
    """Difference quotient to one side, and where it means something: not at a jump."""
    trial = curve.trial
    quotients = []
    for step in (trial.step, 0.125 * trial.step):
        moved = curve.decision + sign * step
        there = np.stack([trial.cost.loss(each, trial.truth, curve.band) for each in moved])
        quotients.append((there - curve.loss) / (moved - curve.decision))
    coarse, fine = quotients
    noise = 16 * curve.rounding / _ROUNDING * np.finfo(float).eps / (0.125 * trial.step)
    alike = np.abs(coarse - fine) <= 0.5 * np.maximum(np.abs(coarse), np.abs(fine)) + noise
    return coarse, alike & np.isfinite(coarse)


def _against_differences(curve: Curve) -> str | None:
    left, left_good = _side(curve, -1.0)
    right, right_good = _side(curve, 1.0)
    lowest = np.minimum(np.where(left_good, left, np.inf), np.where(right_good, right, np.inf))
    highest = np.maximum(np.where(left_good, left, -np.inf), np.where(right_good, right, -np.inf))
    noise = 16 * curve.rounding / _ROUNDING * np.finfo(float).eps / curve.trial.step
    margin = _CLOSE * np.maximum(np.abs(left), np.abs(right)) + noise
    known = left_good | right_good
    fault = np.where(known, np.maximum(lowest - curve.slope, curve.slope - highest), 0.0)
    wrong = known & (fault > margin)
    if not wrong.any():
        return None
    at, row = _worst(wrong, fault)
    low, high = lowest[at, row], highest[at, row]
    expected = f"between {low:.6g} and {high:.6g}"
    if high - low <= 2 * _CLOSE * max(abs(low), abs(high)):
        expected = f"{0.5 * (low + high):.6g}"
    return (
        f"subgradient must be the slope of loss, got {curve.slope[at, row]:.6g} instead of "
        f"{expected} at {curve.where(at, row)}."
    )


def _zero_on_kinks(curve: Curve) -> str | None:
    """On the ends of the band, where 0 is a subgradient, it must be the one."""
    trial = curve.trial
    if not trial.cost.convex:
        return None
    low, high = (0.0, 0.0) if curve.band is None else (curve.band.low, curve.band.high)
    for end in (trial.truth + low, trial.truth + high):
        slope = trial.cost.subgradient(end, trial.truth, curve.band)
        here, *beside = (
            trial.cost.loss(end + move, trial.truth, curve.band)
            for move in (0.0, -trial.step, trial.step)
        )
        rounding = np.median(curve.rounding, axis=0)
        lowest = (here <= beside[0] + rounding) & (here <= beside[1] + rounding)
        wrong = lowest & (np.abs(slope) * trial.step > 4 * rounding)
        if wrong.any():
            row = int(np.argmax(wrong))
            return (
                "subgradient must be 0 where 0 is one, so that a decision that costs nothing "
                f"stays, got {slope[row]:.6g} at "
                f"{place(decision=end[row], observation=trial.truth[row])}."
            )
    return None


def _against_tangents(curve: Curve) -> str | None:
    """Where convexity is claimed, the tangent of every decision lies below all values."""
    if not curve.trial.cost.convex:
        return None
    for at in range(len(curve.decision)):
        climb = curve.slope[at] * (curve.decision - curve.decision[at])
        line = curve.loss[at] + climb
        fault = line - curve.loss
        rounding = curve.rounding + curve.rounding[at] + _ROUNDING * np.abs(climb)
        wrong = fault > 8 * rounding
        if wrong.any():
            other, row = _worst(wrong, fault)
            return (
                f"the tangent of a convex loss must lie below it, got {line[other, row]:.6g} "
                f"above the loss of {curve.loss[other, row]:.6g} at decision "
                f"{curve.decision[other, row]:.6g}, with the subgradient "
                f"{curve.slope[at, row]:.6g} of {curve.where(at, row)}."
            )
    return None


# --- Costs that hand hinges to the exact solvers: the hinges must sum to their loss.


def check_hinges(trial: Trial) -> Iterator[Finding]:
    """Compare hinges with the loss, with and without a band."""
    cost, seen = trial.cost, trial.truth
    if not isinstance(cost, HingeCost):
        return
    for band in (None, *trial.bands()):
        kinks = cost.kinks(seen, band)
        for decision in trial.decisions(band):
            loss, hinges = cost.loss(decision, seen, band), kinks.value(decision)
            slope = (kinks.below + kinks.above).sum(axis=0)
            reach = np.abs(decision) + np.abs(kinks.position).max(axis=0)
            wrong = np.abs(loss - hinges) > 1e-11 * slope * reach
            if wrong.any():
                row = int(np.argmax(wrong))
                with_band = "" if band is None else " with a band"
                yield Finding(
                    "hinges",
                    "broken",
                    "the hinges that the exact solvers train on must sum to loss, got "
                    f"{hinges[row]:.6g} instead of {loss[row]:.6g} at "
                    f"{place(decision=decision[row], observation=seen[row])}{with_band}.",
                )
                return
    yield Finding("hinges", "kept", f"{len(kinks.position)} a row with a band, they sum to loss")


# --- Rows: one entry each, none of them seeing another, and parameters that differ by row.


def check_shapes(trial: Trial) -> Iterator[Finding]:
    """One number per row, whatever is a number and whatever an array."""
    truth, n_rows = trial.truth, trial.n_rows
    decision = truth + 0.1 * trial.unit
    for name in ("loss", "subgradient"):
        method = getattr(trial.cost, name)
        result = method(decision, truth)
        if not isinstance(result, np.ndarray) or result.shape != (n_rows,):
            yield Finding(
                "shapes",
                "broken",
                f"{name} must return an array of shape ({n_rows},) for {n_rows} rows, got "
                f"{_shape(result)}.",
            )
            return
        if result.dtype != np.float64:
            yield Finding(
                "shapes", "broken", f"{name} must return float64 numbers, got {result.dtype}."
            )
            return
        sentence = _numbers_and_arrays(trial, name, method)
        if sentence:
            yield Finding("shapes", "broken", sentence)
            return
    yield Finding("shapes", "kept", "one number per row")


def _numbers_and_arrays(trial: Trial, name: str, method: Callable[..., Array]) -> str | None:
    """Take a number for all rows, and two numbers as one row."""
    truth = trial.truth
    middle = float(np.median(truth))
    once = method(middle, truth)
    filled = method(np.full(trial.n_rows, middle), truth)
    if not _equal(once, filled):
        return (
            f"{name} must take a decision of {middle:.6g} as that number in every row, got "
            f"{_shape(once)} that differs from the result for an array of it."
        )
    single = trial.cost.take(np.array([0]))
    alone = getattr(single, name)(middle, float(truth[0]))
    if not isinstance(alone, np.ndarray) or alone.shape != (1,):
        return f"{name} must return one row for two numbers, got {_shape(alone)}."
    if not _equal(alone, filled[:1]):
        return (
            f"{name} of a row must not depend on other rows, got {float(alone[0]):.6g} alone and "
            f"{float(filled[0]):.6g} among {trial.n_rows} rows at "
            f"{place(decision=middle, truth=truth[0])}."
        )
    return None


def check_inputs(trial: Trial) -> Iterator[Finding]:
    """Look at inputs after a call, and give it what it should refuse."""
    cost, truth = trial.cost, trial.truth
    for name in ("loss", "subgradient"):
        method = getattr(cost, name)
        decision, seen = truth + 0.1 * trial.unit, truth.copy()
        before = decision.copy()
        first, second = method(decision, seen), method(decision, seen)
        if not (_equal(decision, before) and _equal(seen, truth)):
            yield Finding("inputs", "broken", f"{name} must not change the arrays it is given.")
            return
        if not _equal(first, second):
            row = int(np.argmax(first != second))
            yield Finding(
                "inputs",
                "broken",
                f"{name} must give the same numbers when asked again, got {first[row]:.6g} and "
                f"{second[row]:.6g} at {place(decision=decision[row], truth=truth[row])}.",
            )
            return
        sentence = _swallowed(trial, name, method)
        if sentence:
            yield Finding("inputs", "broken", sentence)
            return
    yield Finding("inputs", "kept", "left as they are; nan, inf and wrong shapes are refused")


def _swallowed(trial: Trial, name: str, method: Callable[..., Array]) -> str | None:
    """Whether bad input comes back as if it were good."""
    truth = trial.truth
    for bad in (np.nan, np.inf):
        decision = truth.copy()
        decision[-1] = bad
        for values in ((decision, truth), (truth, decision)):
            result = _tried_rows(method, *values)
            if isinstance(result, np.ndarray) and np.isfinite(result).all():
                what = "decision" if values[0] is decision else "observation"
                return (
                    f"{name} must refuse {bad} in the {what} (self.align does), got the finite "
                    f"number {float(result.ravel()[-1]):.6g}."
                )
    if trial.n_rows > 1:
        result = _tried_rows(method, truth[:, np.newaxis], truth)
        if result is not None:
            return (
                f"{name} must refuse a decision of shape ({trial.n_rows}, 1) (self.align does), "
                f"got {_shape(result)}."
            )
    return None


def _tried_rows(method: Callable[..., Array], *values: Array) -> Any:
    """Call, and return None if that is refused; NumPy's own complaints are no result either."""
    with np.errstate(all="ignore"):
        try:
            return method(*values)
        except (ValueError, TypeError, ArithmeticError):
            return None


def check_take(trial: Trial) -> Iterator[Finding]:
    """Chosen rows cost what they cost among all."""
    cost, truth = trial.cost, trial.truth
    decision = truth + trial.generator.normal(0.0, 0.3, trial.n_rows) * trial.unit
    index = trial.generator.permutation(trial.n_rows)[: max(1, trial.n_rows // 2)]
    for name in ("loss", "subgradient"):
        everywhere = getattr(cost, name)(decision, truth)[index]
        chosen = getattr(cost.take(index), name)(decision[index], truth[index])
        if not _equal(everywhere, chosen):
            place_of = int(np.argmax(everywhere != chosen))
            row = int(index[place_of])
            yield Finding(
                "rows",
                "broken",
                f"take must choose rows of the cost, got a {name} of {chosen[place_of]:.6g} "
                f"instead of {everywhere[place_of]:.6g} for row {row} at "
                f"{place(decision=decision[row], truth=truth[row])}.",
            )
            return
    yield Finding("rows", "kept", "a row costs the same alone and among others")


def check_parameters(trial: Trial) -> Iterator[Finding]:
    """Every number may be given once per row, and each row then has its own."""
    varied: list[str] = []
    for name, value in trial.cost.parameters().items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        try:
            numbers = np.where(np.arange(trial.n_rows) % 2, 1.1 * value, 1.0 * value)
            by_row = trial.cost.with_rows(**{name: numbers})
            singles = [trial.cost.with_rows(**{name: each}) for each in np.unique(numbers)]
        except UnmetError as refusal:
            yield Finding("parameters", "note", f"{name} cannot differ by row: {refusal}")
            continue
        sentence = _each_its_own(trial, name, numbers, by_row, singles)
        if sentence:
            yield Finding("parameters", "broken", sentence)
            return
        varied.append(name)
    if varied:
        yield Finding("parameters", "kept", f"one per row is possible for {', '.join(varied)}")


def _each_its_own(
    trial: Trial, name: str, numbers: Array, by_row: Any, singles: list[Any]
) -> str | None:
    truth = trial.truth
    decision = truth + trial.generator.normal(0.0, 0.3, trial.n_rows) * trial.unit
    for method in ("loss", "subgradient"):
        try:
            result = getattr(by_row, method)(decision, truth)
        except Exception as error:
            return (
                f"{method} must take {name} with one entry per row, got "
                f"{type(error).__name__}: {_one_line(error)}"
            )
        for number, single in zip(np.unique(numbers), singles, strict=True):
            expected = getattr(single, method)(decision, truth)
            wrong = (numbers == number) & ~np.isclose(result, expected, rtol=1e-12, atol=0)
            if wrong.any():
                row = int(np.argmax(wrong))
                return (
                    f"{method} must use {name} row by row, got {result[row]:.6g} instead of "
                    f"{expected[row]:.6g} for {name} {number:.6g} at "
                    f"{place(decision=decision[row], truth=truth[row])}."
                )
    return None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") + "."


def _equal(first: Any, second: Any) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def _shape(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"shape {result.shape}"
    return f"a {type(result).__name__}"


# --- `check_cost`: try a cost of one's own before a model is trained on it.


def check_cost(
    cost: Cost,
    *,
    truth: ArrayLike | None = None,
    random_state: int = 0,
    raise_on_error: bool = False,
) -> CostReport:
    """Try a cost, and say in a sentence each what breaks the contract of `Cost`.

    Values are compared with the subgradient at random decisions, on every known kink and beside
    it; claims (``convex``, ``steepest``, the hinges of a `HingeCost`) with the values. Rows,
    bands, copies and bad input are tried, too. Passing is no proof, as only some decisions are
    tried.

    Parameters
    ----------
    cost : Cost
    truth : array-like of shape (n_rows,), optional
        Truths to try it at; by default 120 numbers between 1 and 100, or one for each row of the
        cost. Give your own if the cost is only meant for others, such as shares below 1.
    random_state : int, default=0
        The same seed tries the same decisions.
    raise_on_error : bool, default=False
        Raise `InvalidInput` with the first sentence, if there is one: for tests.

    Returns
    -------
    CostReport

    Examples
    --------
    The sign of a slope is easily wrong:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True, eq=False)
    ... class Wrong(Cost):
    ...     convex = True
    ...
    ...     def loss(self, decision, observation, band=None):
    ...         rows = self.align(decision, observation, band)
    ...         return np.maximum(rows.bottom - rows.decision, 0.0)
    ...
    ...     def subgradient(self, decision, observation, band=None):
    ...         rows = self.align(decision, observation, band)
    ...         return 1.0 * (rows.decision < rows.bottom)
    >>> for sentence in check_cost(Wrong(), truth=[40.0, 60.0]).failures[:1]:
    ...     print(sentence)
    subgradient must be the slope of loss, got 1 instead of -1 at decision 22 and truth 40.
    """
    if not isinstance(cost, Cost):
        raise InvalidInput(f"cost must derive from unmet.costs.Cost, got {cost!r:.60}.")
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise InvalidInput(f"random_state must be an integer, got {random_state!r:.40}.")
    trial = Trial.of(cost, truth, int(random_state))
    report = CostReport(repr(cost), tuple(_findings(trial)))
    if raise_on_error and not report.ok:
        raise InvalidInput(f"{type(cost).__name__}: {report.failures[0]}")
    return report


def _findings(trial: Trial) -> Iterator[Finding]:
    """Shapes first: where they are wrong, nothing else can be compared."""
    shapes = list(_tried("shapes", lambda: check_shapes(trial)))
    yield from shapes
    if any(each.verdict == "broken" for each in shapes):
        return
    yield from _tried("inputs", lambda: check_inputs(trial))
    yield from _tried("curve", lambda: _on_curve(trial))
    yield from _tried("subgradient in a band", lambda: _on_banded_curve(trial))
    for about, check in (
        ("hinges", check_hinges),
        ("bands", check_bands),
        ("rows", check_take),
        ("parameters", check_parameters),
        ("copies", check_copies),
    ):
        yield from _tried(about, lambda check=check: check(trial))  # type: ignore[misc]


def _on_curve(trial: Trial) -> Iterator[Finding]:
    curve = Curve.of(trial)
    for check in (check_values, check_subgradient, check_convexity, check_steepness):
        yield from check(curve)


def _on_banded_curve(trial: Trial) -> Iterator[Finding]:
    """Take the last band that the cost does not refuse."""
    for band in reversed(trial.bands()):
        try:
            curve = Curve.of(trial, band)
        except InvalidInput:
            continue
        yield from check_subgradient(curve)
        return


def _tried(about: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Make the findings of one check; an error of the cost itself is one of them."""
    try:
        with np.errstate(all="ignore"):
            yield from list(check())
    except Exception as error:
        said = " ".join(str(error).split()).rstrip(".")
        yield Finding(
            about,
            "broken",
            f"loss, subgradient and take must work on {about}, got {type(error).__name__}: {said}.",
        )
