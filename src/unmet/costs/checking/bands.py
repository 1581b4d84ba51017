"""What a band does to a loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.costs.checking.report import Finding
from unmet.costs.checking.trial import Trial, place
from unmet.errors import InvalidInput

_ROUNDING = 1e-11


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
    return _ROUNDING * (np.abs(first) + np.abs(second) + typical * reach)
