"""`check_cost`: try your own cost before a model is trained on it.

The contract of a cost is one table, at the end of this file: what is looked at, what the report
says where it is kept, and a predicate. A predicate tries the cost on the rows of a `CostTrial` and
yields what it finds, each a sentence: what must hold, what was got, and where.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Band, common_rows, read_array
from unmet.checks import WholeNumber
from unmet.costs.base import Cost
from unmet.costs.hinge import HingeCost
from unmet.errors import InvalidInput, UnmetError

Verdict: TypeAlias = Literal["kept", "broken", "note"]
Flags: TypeAlias = NDArray[np.bool_]
Found: TypeAlias = Iterator[tuple[Verdict, str]]
"""What a predicate yields; nothing after the first that is broken is looked at."""

_WORDS: dict[str, str] = {"kept": "ok", "broken": "WRONG", "note": "note"}
_METHODS = ("loss", "subgradient")

_ROWS = 120
_RANDOM = 14  # decisions a row, at random
_APART = 1e-3  # decisions on both sides of a kink, in units of the range of the truth
_STEP = 1e-6  # of a difference quotient, in the same units
_ROUNDING = 1e-11  # of a value, relative to the values and distances it is made of
_CLOSE = 1e-4  # of a slope, relative to the slopes around it


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
        return tuple(each.sentence for each in self.findings if each.verdict == "broken")

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing worth knowing."""
        return tuple(each.sentence for each in self.findings if each.verdict == "note")

    def __str__(self) -> str:
        wrong = len(self.failures)
        heading = f"{self.cost} keeps the contract of a cost."
        if wrong:
            things = "one thing is" if wrong == 1 else f"{wrong} things are"
            heading = f"{self.cost} breaks the contract of a cost: {things} wrong."
        width = max((len(each.about) for each in self.findings), default=0)
        lines = (
            f"  {_WORDS[each.verdict]:5}  {each.about:{width}}  {each.sentence}"
            for each in self.findings
        )
        return "\n".join([heading, *lines])


# --- Where a cost is tried: truths, decisions around them, and bands.


@dataclass(frozen=True)
class CostTrial:
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
    def of(cls, cost: Cost, truth: ArrayLike | None, random_state: int) -> CostTrial:
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

    @cached_property
    def curve(self) -> Curve:
        """Losses without a band."""
        return Curve.of(self)

    def somewhere(self) -> Array:
        """One decision for each row, near its truth."""
        return self.truth + self.generator.normal(0.0, 0.3, self.n_rows) * self.unit

    def bands(self) -> list[Band]:
        """Bands with and without width, the same for all rows and one for each."""
        low, width = self.generator.uniform(0.05, 0.4, (2, self.n_rows)) * self.unit
        return [
            Band(0.0, 0.25 * self.unit),
            Band(0.1 * self.unit, 0.3 * self.unit),
            Band(low, low + width),
        ]

    def decisions(self, band: Band | None = None) -> Array:
        """Decisions of each row in increasing order: at random, on kinks and beside them."""
        low, high = (0.0, 0.0) if band is None else (band.low, band.high)
        ends = [self.truth + low, self.truth + high]
        if isinstance(self.cost, HingeCost):
            ends = [*ends, *self.cost.kinks(self.truth, band).position]
        kinks = np.unique(np.stack(ends), axis=0)
        near = self.truth + self.generator.normal(0.0, 0.3, (_RANDOM, self.n_rows)) * self.unit
        beside = [kinks + sign * _APART * self.unit for sign in (-1.0, 1.0)]
        far = [self.truth - 0.9 * self.unit, self.truth + 1.7 * self.unit]
        return np.sort(np.concatenate([near, kinks, *beside, far]), axis=0)

    def rounding(self, first: Array, second: Array) -> Array:
        """Allow for rounding of two losses, and of the decisions they come from."""
        beside = (self.cost.loss(self.truth + move, self.truth) for move in (self.step, -self.step))
        steep = sum(np.abs(each) / self.step for each in beside)
        reach = np.abs(self.truth) + self.unit
        return np.asarray(_ROUNDING * (np.abs(first) + np.abs(second) + steep * reach))

    def differs(self, first: Array, second: Array) -> Flags:
        """In which rows two losses differ by more than rounding."""
        return np.asarray(np.abs(first - second) > self.rounding(first, second))

    def at(self, decision: ArrayLike, band: Band | None = None) -> dict[str, ArrayLike]:
        """Name what a loss was asked: decisions, truths, and a band where there is one."""
        if band is None:
            return {"decision": decision, "truth": self.truth}
        low, high = band.rows(self.n_rows)
        return {"decision": decision, "observation": self.truth, "low": low, "high": high}


@dataclass(frozen=True)
class Curve:
    """Losses and subgradients at some decisions of each row, in increasing order.

    Attributes
    ----------
    trial : CostTrial
    band : Band or None
    decision, loss, slope : ndarray of shape (n_decisions, n_rows)
    rounding : ndarray of shape (n_decisions, n_rows)
        How wrong rounding may make a loss.
    """

    trial: CostTrial
    band: Band | None
    decision: Array
    loss: Array
    slope: Array
    rounding: Array

    @classmethod
    def of(cls, trial: CostTrial, band: Band | None = None) -> Curve:
        """Try a cost at random decisions, on its kinks and beside them."""
        decision = trial.decisions(band)
        cost, seen = trial.cost, trial.truth
        loss = np.stack([cost.loss(each, seen, band) for each in decision])
        slope = np.stack([cost.subgradient(each, seen, band) for each in decision])
        around = np.pad(np.abs(slope), ((1, 1), (0, 0)))
        steep = np.maximum(np.maximum(around[:-2], around[2:]), around[1:-1])
        rounding = _ROUNDING * (np.abs(loss) + steep * (np.abs(decision) + np.abs(seen)))
        return cls(trial, band, decision, loss, slope, rounding)

    def quotient(self, sign: float) -> tuple[Array, Flags]:
        """Difference quotient to one side, and where it means something: not at a jump."""
        trial = self.trial
        quotients = []
        for step in (trial.step, 0.125 * trial.step):
            moved = self.decision + sign * step
            there = np.stack([trial.cost.loss(each, trial.truth, self.band) for each in moved])
            quotients.append((there - self.loss) / (moved - self.decision))
        coarse, fine = quotients
        noise = self.noise(0.125 * trial.step)
        alike = np.abs(coarse - fine) <= 0.5 * np.maximum(np.abs(coarse), np.abs(fine)) + noise
        return coarse, alike & np.isfinite(coarse)

    def noise(self, step: float) -> Array:
        """How wrong rounding may make a difference quotient."""
        return 16 * self.rounding / _ROUNDING * np.finfo(float).eps / step


def _faults(
    wrong: Flags,
    must: str,
    got: ArrayLike,
    instead: ArrayLike | None = None,
    *,
    at: Mapping[str, ArrayLike],
    by: Array | None = None,
    bound: str = "",
    allowed: bool = False,
) -> Found:
    """Say what must hold where it does not: at the first entry, or the largest `by`.

    Every array has the shape of `wrong`, or one that broadcasts to it. What is `allowed` is a note.
    """
    if not wrong.any():
        return
    largest = np.argmax(np.where(wrong, 1.0 if by is None else by, -np.inf))
    index = np.unravel_index(int(largest), wrong.shape)

    def entry(values: ArrayLike) -> str:
        return f"{np.broadcast_to(np.asarray(values), wrong.shape)[index]:.6g}"

    *most, last = (f"{name} {entry(values)}" for name, values in at.items())
    place = f"{', '.join(most)} and {last}" if most else last
    expected = "" if instead is None else f" instead of {bound}{entry(instead)}"
    said = f"{must}, got {entry(got)}{expected} at {place}"
    if allowed:
        yield "note", f"{said}: fine, if it is meant."
    else:
        yield "broken", f"{said}."


def _broken(must: str, got: object) -> tuple[Verdict, str]:
    return "broken", f"{must}, got {got}."


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"


def _shape(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"shape {result.shape}"
    return f"a {type(result).__name__}"


def _equal(first: Any, second: Any) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def _unlike(first: Array, second: Array) -> Flags:
    return np.asarray((first != second) & ~(np.isnan(first) & np.isnan(second)))


# --- Predicates: numbers in, one number per row out, whatever else is among the rows.


def _shapes(trial: CostTrial) -> Found:
    """One number per row, whatever is a number and whatever an array."""
    truth, n_rows, middle = trial.truth, trial.n_rows, float(np.median(trial.truth))
    for name in _METHODS:
        method = getattr(trial.cost, name)
        result = method(truth + 0.1 * trial.unit, truth)
        if not isinstance(result, np.ndarray) or result.shape != (n_rows,):
            must = f"{name} must return an array of shape ({n_rows},) for {n_rows} rows"
            yield _broken(must, _shape(result))
        if result.dtype != np.float64:
            yield _broken(f"{name} must return float64 numbers", result.dtype)
        once, filled = method(middle, truth), method(np.full(n_rows, middle), truth)
        if not _equal(once, filled):
            must = f"{name} must take a decision of {middle:.6g} as that number in every row"
            yield _broken(must, f"{_shape(once)} that differs from the result for an array of it")
        alone = getattr(trial.cost.take(np.array([0])), name)(middle, float(truth[0]))
        if not isinstance(alone, np.ndarray) or alone.shape != (1,):
            yield _broken(f"{name} must return one row for two numbers", _shape(alone))
        if not _equal(alone, filled[:1]):
            got = f"{float(alone[0]):.6g} alone and {float(filled[0]):.6g} among {n_rows} rows"
            where = f"decision {middle:.6g} and truth {truth[0]:.6g}"
            yield _broken(f"{name} of a row must not depend on other rows", f"{got} at {where}")


def _inputs(trial: CostTrial) -> Found:
    """Look at inputs after a call, and give it what it should refuse."""
    truth = trial.truth
    decision = truth + 0.1 * trial.unit
    for name in _METHODS:
        method = getattr(trial.cost, name)
        given, seen = decision.copy(), truth.copy()
        first, second = method(given, seen), method(given, seen)
        if not (_equal(given, decision) and _equal(seen, truth)):
            yield "broken", f"{name} must not change the arrays it is given."
        must = f"{name} must give the same numbers when asked again"
        yield from _faults(_unlike(first, second), must, first, second, at=trial.at(decision))
        for bad in (np.nan, np.inf):
            wrong = np.append(truth[:-1], bad)
            for what, values in (("decision", (wrong, truth)), ("observation", (truth, wrong))):
                result = _unless_refused(method, *values)
                if isinstance(result, np.ndarray) and np.isfinite(result).all():
                    must = f"{name} must refuse {bad} in the {what} (self.align does)"
                    yield _broken(must, f"the finite number {float(result.ravel()[-1]):.6g}")
        matrix = _unless_refused(method, truth[:, np.newaxis], truth) if trial.n_rows > 1 else None
        if matrix is not None:
            shape = f"a decision of shape ({trial.n_rows}, 1)"
            yield _broken(f"{name} must refuse {shape} (self.align does)", _shape(matrix))


def _unless_refused(method: Callable[..., Array], *values: Array) -> Any:
    """Call, and return None if that is refused; NumPy's own complaints are no result either."""
    try:
        return method(*values)
    except (ValueError, TypeError, ArithmeticError):
        return None


def _rows(trial: CostTrial) -> Found:
    """Chosen rows cost what they cost among all."""
    truth, decision = trial.truth, trial.somewhere()
    index = trial.generator.permutation(trial.n_rows)[: max(1, trial.n_rows // 2)]
    for name in _METHODS:
        among = getattr(trial.cost, name)(decision, truth)[index]
        alone = getattr(trial.cost.take(index), name)(decision[index], truth[index])
        must = f"take must choose rows of the cost, here for its {name}"
        at = {"row": index, "decision": decision[index], "truth": truth[index]}
        yield from _faults(_unlike(alone, among), must, alone, among, at=at)


def _parameters(trial: CostTrial) -> Found:
    """Every number may be given once per row, and each row then has its own."""
    varied: list[str] = []
    decision = trial.somewhere()
    for name, value in trial.cost.parameters().items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        numbers = np.where(np.arange(trial.n_rows) % 2, 1.1 * value, 1.0 * value)
        try:
            by_row = trial.cost.with_rows(**{name: numbers})
            singles = [trial.cost.with_rows(**{name: each}) for each in np.unique(numbers)]
        except UnmetError as refusal:
            yield "note", f"{name} cannot differ by row: {refusal}"
            continue
        for method in _METHODS:
            try:
                result = getattr(by_row, method)(decision, trial.truth)
            except Exception as error:
                yield _broken(f"{method} must take {name} with one entry per row", _said(error))
                return
            for number, single in zip(np.unique(numbers), singles, strict=True):
                expected = getattr(single, method)(decision, trial.truth)
                wrong = (numbers == number) & ~np.isclose(result, expected, rtol=1e-12, atol=0)
                must = f"{method} must use {name} row by row"
                at = {name: numbers, **trial.at(decision)}
                yield from _faults(wrong, must, result, expected, at=at)
        varied.append(name)
    if varied:
        yield "kept", f"one per row is possible for {', '.join(varied)}"


# --- Predicates: the loss as a function of the decision, its slope, and what it claims of both.


def _curve(trial: CostTrial) -> Found:
    """Only look whether it can be made."""
    assert trial.curve is not None
    return iter(())


def _values(trial: CostTrial) -> Found:
    """Finite; gains are wrong in a convex cost, whose least value is 0, and rare in any other."""
    curve, loss = trial.curve, trial.curve.loss
    at = trial.at(curve.decision)
    yield from _faults(~np.isfinite(loss), "loss must be finite", loss, at=at)
    negative = loss < -curve.rounding
    convex = trial.cost.convex
    must = "a convex loss must not be negative" if convex else "a loss below 0 is a gain"
    yield from _faults(negative, must, loss, at=at, by=-loss, allowed=not convex)


def _truth(trial: CostTrial) -> Found:
    """Nothing at the truth."""
    paid = trial.cost.loss(trial.truth, trial.truth)
    excess = np.abs(paid) - np.median(trial.curve.rounding, axis=0)
    at: dict[str, ArrayLike] = {"truth": trial.truth}
    must = "a decision at the truth is not free"
    if trial.cost.convex:
        must = "a convex loss must be 0 at the truth"
    yield from _faults(excess > 0, must, paid, at=at, by=excess, allowed=not trial.cost.convex)


def _convexity(trial: CostTrial) -> Found:
    """Chords between neighbours must not get flatter from left to right."""
    curve, decision, loss = trial.curve, trial.curve.decision, trial.curve.loss
    span = decision[2:] - decision[:-2]
    apart = span > 0
    share = np.where(apart, (decision[1:-1] - decision[:-2]) / np.where(apart, span, 1), 0)
    chord = np.where(apart, (1 - share) * loss[:-2] + share * loss[2:], loss[1:-1])
    fault, rounding = loss[1:-1] - chord, curve.rounding
    wrong = fault > 4 * np.maximum(np.maximum(rounding[:-2], rounding[2:]), rounding[1:-1])
    must = "not claimed, and not convex"
    if trial.cost.convex:
        must = "a loss that claims to be convex must lie below its chords"
    at, inside, allowed = trial.at(decision[1:-1]), loss[1:-1], not trial.cost.convex
    yield from _faults(
        wrong, must, inside, chord, at=at, by=fault, bound="at most ", allowed=allowed
    )
    if trial.cost.convex:
        yield "kept", "convex, as it claims"
    elif not wrong.any():
        yield "kept", "not claimed; what was tried is convex (convex = True would claim it)"


def _steepness(trial: CostTrial) -> Found:
    """No chord steeper than the steepest slope that is claimed."""
    curve = trial.curve
    if trial.cost.steepest is None:
        return
    limit = np.asarray(trial.cost.steepest, dtype=np.float64)
    rise, run = np.abs(np.diff(curve.loss, axis=0)), np.diff(curve.decision, axis=0)
    wrong = rise > limit * run * (1 + 1e-9) + 4 * (curve.rounding[:-1] + curve.rounding[1:])
    must, at = "loss must not be steeper than steepest claims", trial.at(curve.decision[:-1])
    by = rise - limit * run
    yield from _faults(wrong, must, rise / run, limit, at=at, by=by, bound="at most ")
    yield "kept", "no steeper than it claims"


def _subgradient(trial: CostTrial) -> Found:
    yield from _slopes(trial.curve)


def _banded_subgradient(trial: CostTrial) -> Found:
    """Take the last band that the cost does not refuse."""
    for band in reversed(trial.bands()):
        try:
            curve = Curve.of(trial, band)
        except InvalidInput:
            continue
        yield from _slopes(curve)
        yield "kept", "agrees with differences of loss, also on kinks"
        return


def _slopes(curve: Curve) -> Found:
    """Compare with differences; on a kink any slope between is one, 0 if that is."""
    trial, band, slope = curve.trial, curve.band, curve.slope
    at = trial.at(curve.decision, band)
    yield from _faults(~np.isfinite(slope), "subgradient must be finite", slope, at=at)

    (left, left_good), (right, right_good) = curve.quotient(-1.0), curve.quotient(1.0)
    lowest = np.minimum(np.where(left_good, left, np.inf), np.where(right_good, right, np.inf))
    highest = np.maximum(np.where(left_good, left, -np.inf), np.where(right_good, right, -np.inf))
    margin = _CLOSE * np.maximum(np.abs(left), np.abs(right)) + curve.noise(trial.step)
    fault = np.maximum(lowest - slope, slope - highest)
    wrong = (left_good | right_good) & (fault > margin)
    nearest = np.clip(slope, lowest, highest)
    must = "subgradient must be the slope of loss"
    yield from _faults(wrong, must, slope, nearest, at=at, by=fault)

    if trial.cost.convex:
        yield from _zero_on_kinks(curve)
        yield from _tangents(curve)


def _zero_on_kinks(curve: Curve) -> Found:
    """On the ends of the band, where 0 is a subgradient, it must be the one."""
    trial, band, truth = curve.trial, curve.band, curve.trial.truth
    rounding = np.median(curve.rounding, axis=0)
    for distance in (0.0,) if band is None else (band.low, band.high):
        end = truth + distance
        slope = trial.cost.subgradient(end, truth, band)
        moves = (0.0, -trial.step, trial.step)
        here, left, right = (trial.cost.loss(end + move, truth, band) for move in moves)
        lowest = here <= np.minimum(left, right) + rounding
        must = "subgradient must be 0 where 0 is one, so that a decision that costs nothing stays"
        wrong = lowest & (np.abs(slope) * trial.step > 4 * rounding)
        yield from _faults(wrong, must, slope, at=trial.at(end, band))


def _tangents(curve: Curve) -> Found:
    """Where convexity is claimed, the tangent of every decision lies below all values."""
    must = "the tangent of a convex loss must lie below it"
    for decision, loss, slope, rounding in zip(
        curve.decision, curve.loss, curve.slope, curve.rounding, strict=True
    ):
        climb = slope * (curve.decision - decision)
        line = loss + climb
        fault = line - curve.loss
        wrong = fault > 8 * (curve.rounding + rounding + _ROUNDING * np.abs(climb))
        touching = {"touching at": decision, "subgradient": slope}
        at = {**curve.trial.at(curve.decision, curve.band), **touching}
        yield from _faults(wrong, must, line, curve.loss, at=at, by=fault, bound="at most ")


def _hinges(trial: CostTrial) -> Found:
    """Costs that hand hinges to the exact solvers: they must sum to the loss, band or none."""
    cost, seen = trial.cost, trial.truth
    if not isinstance(cost, HingeCost):
        return
    must = "the hinges that the exact solvers train on must sum to loss"
    for band in (None, *trial.bands()):
        kinks = cost.kinks(seen, band)
        slope = (kinks.below + kinks.above).sum(axis=0)
        for decision in trial.decisions(band):
            loss, hinges = cost.loss(decision, seen, band), kinks.value(decision)
            reach = np.abs(decision) + np.abs(kinks.position).max(axis=0)
            wrong = np.abs(loss - hinges) > 1e-11 * slope * reach
            yield from _faults(wrong, must, hinges, loss, at=trial.at(decision, band))
    yield "kept", f"{len(kinks.position)} a row with a band, they sum to loss"


# --- Predicates: what a band does to a loss.


def _bands(trial: CostTrial) -> Found:
    """Nothing in the band, the cost of its nearer end outside, never more in a wider one."""
    cost, truth = trial.cost, trial.truth
    decision = trial.somewhere()
    plain = cost.loss(decision, truth)
    for source, values in (
        ("with Band(0, 0)", cost.loss(decision, truth, Band(0.0, 0.0))),
        ("from the method cost", cost.cost(decision, truth)),
    ):
        must = f"loss without a band must be what comes {source}"
        unlike = trial.differs(values, plain)
        yield from _faults(unlike, must, plain, values, at=trial.at(decision))
    reason = _own_band(trial)
    if reason:
        yield "note", f"only bands without width were tried: {reason}."
        return
    for band in trial.bands():
        try:
            yield from _inside(trial, band)
            yield from _outside(trial, band)
        except InvalidInput as refusal:
            yield "note", f"it refuses bands with two ends: {refusal}"


def _own_band(trial: CostTrial) -> str | None:
    """Why the rules of a band cannot hold for a cost; None if they can."""
    cost, truth = trial.cost, trial.truth
    if cost.own_band:
        return "the cost says own_band"
    small = np.abs(cost.loss(truth + 0.3 * trial.unit, truth)).max() * 1e-3
    at, left, right = (
        np.abs(cost.loss(truth + move, truth)).max() for move in (0.0, -trial.step, trial.step)
    )
    if at > small:
        return "a decision at the truth is not free"
    return "the cost jumps at the truth" if max(left, right) > small else None


def _inside(trial: CostTrial, band: Band) -> Found:
    """Three places in the band, its ends among them."""
    for share in (0.0, 0.6, 1.0):
        decision = trial.truth + band.low + share * band.width
        paid = trial.cost.loss(decision, trial.truth, band)
        wrong = trial.differs(paid, np.zeros(trial.n_rows))
        yield from _faults(wrong, "loss must be 0 in the band", paid, at=trial.at(decision, band))


def _outside(trial: CostTrial, band: Band) -> Found:
    """On either side as if the nearer end were the truth, and no more in a wider band."""
    cost, seen = trial.cost, trial.truth
    distance = trial.generator.uniform(0.001, 0.8, trial.n_rows) * trial.unit
    for side, end, sign, which in (
        ("below", band.low, -1.0, "lower"),
        ("above", band.high, 1.0, "upper"),
    ):
        decision = seen + end + sign * distance
        paid, expected = cost.loss(decision, seen, band), cost.cost(decision, seen + end)
        must = f"loss {side} the band must be what its {which} end would cost as the truth"
        unlike = trial.differs(paid, expected)
        yield from _faults(unlike, must, paid, expected, at=trial.at(decision, band))
    wider, must = Band(0.5 * band.low, 1.5 * band.high), "loss must not grow with the band"
    for moved in trial.generator.normal(0.0, 0.6, (6, trial.n_rows)) * trial.unit:
        decision = seen + moved
        paid, less = cost.loss(decision, seen, band), cost.loss(decision, seen, wider)
        wrong = less > paid + trial.rounding(paid, less)
        at = trial.at(decision, wider)
        yield from _faults(wrong, must, less, paid, at=at, bound="at most ")


# --- Predicates: copies, files and other processes give back a cost as it was.


def _copies(trial: CostTrial) -> Found:
    """Compare copies: equal, of the same hash, and as dear."""
    cost, kind, decision = trial.cost, type(trial.cost), trial.truth + 0.1 * trial.unit
    ways: dict[str, Callable[[Any], Any]] = {"copy.deepcopy": copy.deepcopy}
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is kind:  # pickle finds the class by its name
        ways["pickle"] = lambda cost: pickle.loads(pickle.dumps(cost))
    else:
        yield (
            "note",
            f"pickle was not tried, as {kind.__qualname__} is not defined at the top "
            "of a module: models that hold it cannot be saved.",
        )
    advice = "(decorate it with @dataclass(frozen=True, eq=False))"
    for name, way in ways.items():
        try:
            made = way(cost)
        except Exception as error:
            yield _broken(f"a cost must survive {name}", _said(error))
            return
        before, after = cost.loss(decision, trial.truth), made.loss(decision, trial.truth)
        must = f"a cost must cost the same after {name}"
        yield from _faults(_unlike(before, after), must, after, before, at=trial.at(decision))
        try:
            same = bool(made == cost) and hash(made) == hash(cost)
        except Exception as error:
            yield _broken("a cost must be comparable and have a hash", f"{_said(error)} {advice}")
            return
        if not same:
            must = f"a cost must equal its copy by {name}, and have the same hash"
            yield _broken(must, f"{made!r} for {cost!r} {advice}")
    yield "kept", f"equal after {' and '.join(ways)}"


# --- The contract, and the function that goes through it.

_CONTRACT: tuple[tuple[str, str | None, Callable[[CostTrial], Found]], ...] = (
    ("shapes", "one number per row", _shapes),
    ("inputs", "left as they are; nan, inf and wrong shapes are refused", _inputs),
    ("curve", None, _curve),
    ("values", "finite, never negative", _values),
    ("truth", "a decision at the truth costs 0", _truth),
    ("subgradient", "agrees with differences of loss, also on kinks", _subgradient),
    ("convexity", None, _convexity),
    ("steepness", None, _steepness),
    ("subgradient in a band", None, _banded_subgradient),
    ("hinges", None, _hinges),
    ("bands", "nothing in the band, outside the cost of its nearer end", _bands),
    ("rows", "a row costs the same alone and among others", _rows),
    ("parameters", None, _parameters),
    ("copies", None, _copies),
)
"""What is looked at, what is said where nothing is found, and the predicate that looks."""

_NEEDED: dict[str, tuple[str, ...]] = {
    "curve": ("values", "truth", "subgradient", "convexity", "steepness"),
    "shapes": tuple(about for about, _, _ in _CONTRACT),
}
"""Without these nothing can be compared in those."""


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
    trial = CostTrial.of(cost, truth, WholeNumber()("random_state", random_state))
    findings: list[Finding] = []
    skipped: tuple[str, ...] = ()
    with np.errstate(all="ignore"):
        for about, kept, predicate in _CONTRACT:
            if about in skipped:
                continue
            found = list(_until_broken(about, predicate, trial))
            if not found and kept is not None:
                found = [Finding(about, "kept", kept)]
            if any(each.verdict == "broken" for each in found):
                skipped += _NEEDED.get(about, ())
            findings.extend(found)
    report = CostReport(repr(cost), tuple(findings))
    if raise_on_error and not report.ok:
        raise InvalidInput(f"{type(cost).__name__}: {report.failures[0]}")
    return report


def _until_broken(
    about: str, predicate: Callable[[CostTrial], Found], trial: CostTrial
) -> Iterator[Finding]:
    """Look up to the first fault; an error of the cost itself is one."""
    try:
        for verdict, sentence in predicate(trial):
            yield Finding(about, verdict, sentence)
            if verdict == "broken":
                return
    except Exception as error:
        must = f"loss, subgradient and take must work on {about}"
        yield Finding(about, *_broken(must, _said(error)))
