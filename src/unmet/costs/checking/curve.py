"""The loss as a function of the decision: its values, its slope, and what it claims of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.costs.checking.report import Finding
from unmet.costs.checking.trial import Trial, place

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
