"""`check_cost`: test a cost of your own before you train a model on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Band, common_rows, read_array
from unmet.costs.base import Cost
from unmet.costs.hinge import HingeCost
from unmet.errors import InvalidInput
from unmet.validation import WholeNumber

_METHODS = ("loss", "subgradient")

Fault = tuple[str, str]
"""What must hold, and what was got instead."""


def check_cost(cost: Cost, *, truth: ArrayLike | None = None, random_state: int = 0) -> list[str]:
    """Test whether a cost meets the contract of `Cost`, and describe each problem in one sentence.

    The function compares values with the subgradient at random decisions, on every known kink and
    beside it. It also tests the claim ``convex``, the hinges of a `HingeCost`, the selection of
    rows, and bands. A cost that passes may still be wrong, because only some decisions are tested.

    Parameters
    ----------
    cost : Cost
        Cost to test.
    truth : array-like of shape (n_rows,), optional
        Truths to test it at. None takes 120 numbers between 1 and 100, or one per row of the cost.
        Give your own if the cost is meant for other values, such as shares below 1.
    random_state : int, default=0
        Seed of the random decisions. The same seed tests the same decisions.

    Returns
    -------
    list of str
        One sentence per problem; empty if there is none.

    Examples
    --------
    This cost has the wrong sign in its slope:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from unmet.costs import Cost, check_cost
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
    >>> len(check_cost(Wrong(), truth=[40.0, 60.0])) > 0
    True
    """
    if not isinstance(cost, Cost):
        raise InvalidInput(f"cost must derive from unmet.costs.Cost, got {cost!r:.60}.")
    generator = np.random.default_rng(WholeNumber()("random_state", random_state))
    n_rows = common_rows(cost.parameters())
    if truth is None:
        made_up = generator.uniform(1.0, 100.0, n_rows or 120)
        values = np.where(generator.random(made_up.size) < 0.3, np.rint(made_up), made_up)
    else:
        values = np.atleast_1d(read_array("truth", truth)).copy()
        if not values.size:
            raise InvalidInput("truth must have at least one row, got none.")
        if n_rows not in (None, values.size):
            raise InvalidInput(
                f"truth must have as many rows as the cost, got {values.size} for {n_rows}."
            )
    problems: dict[str, str] = {}
    for check in (_shapes, _curves):
        try:
            with np.errstate(all="ignore"):
                for must, got in check(cost, values, generator):
                    problems.setdefault(must, f"{must}, got {got}.")
        except Exception as error:  # of the cost itself
            must = "loss, subgradient and take must work on numbers, rows and bands"
            problems.setdefault(must, f"{must}, got {type(error).__name__}: {error}")
        if problems and check is _shapes:
            break  # nothing can be compared
    return list(problems.values())


def _where(
    wrong: NDArray[np.bool_],
    must: str,
    got: ArrayLike,
    instead: ArrayLike | None = None,
    **at: ArrayLike,
) -> Iterator[Fault]:
    """Say what must hold, at the first entry where it does not; arrays broadcast to `wrong`."""
    if not wrong.any():
        return
    index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)

    def entry(values: ArrayLike) -> str:
        return f"{np.broadcast_to(np.asarray(values), wrong.shape)[index]:.6g}"

    *most, last = (f"{name} {entry(values)}" for name, values in at.items())
    expected = "" if instead is None else f" instead of {entry(instead)}"
    yield must, f"{entry(got)}{expected} at {' and '.join(filter(None, [', '.join(most), last]))}"


# --- Checks: each yields what is wrong.


def _shapes(cost: Cost, truth: Array, _: np.random.Generator) -> Iterator[Fault]:
    """One number per row, whatever is a number and whatever an array."""
    n_rows, middle = truth.size, float(np.median(truth))
    for name in _METHODS:
        method = getattr(cost, name)
        result = method(np.full(n_rows, middle), truth)
        shape, kind = np.shape(result), getattr(result, "dtype", type(result).__name__)
        if shape != (n_rows,) or kind != np.float64:
            must = f"{name} must return an array of shape ({n_rows},) of float64"
            yield must, f"shape {shape} of {kind}"
            return
        if not np.array_equal(method(middle, truth), result, equal_nan=True):
            yield f"{name} must take one number as the decision of every row", "another result"
        rows = np.arange(0, n_rows, 3)
        alone = getattr(cost.take(rows), name)(middle, truth[rows])
        if not np.array_equal(alone, result[rows], equal_nan=True):
            must = f"{name} of a row must not depend on other rows, and take must choose them"
            yield must, f"{alone[:1]} alone and {result[:1]} among {n_rows} rows"


def _curves(cost: Cost, truth: Array, generator: np.random.Generator) -> Iterator[Fault]:
    """Loss and slope over decisions at random, on every known kink and beside it."""
    unit = float(np.ptp(truth)) or float(np.abs(truth).max()) or 1.0  # a distance that matters
    step, rounding = 1e-6 * unit, 1e-9
    # a band has a meaning of its own where the truth is not free, or the cost jumps there
    beside = [cost.loss(truth + move * step, truth) for move in (0, -1, 1)]
    paid = 1e-3 * np.abs(cost.loss(truth + 0.3 * unit, truth)).max()
    usual = not cost.own_band and np.abs(beside).max() <= paid
    low, width = generator.uniform(0.05, 0.4, (2, truth.size)) * unit
    ends = [(0.0, 0.0), (0.0, 0.25 * unit), (0.1 * unit, 0.3 * unit), (low, low + width)]
    for band in (None, *(Band(*each) for each in ends)):
        try:
            cost.loss(truth, truth, band)
        except InvalidInput:
            continue  # it refuses such bands
        below, above = (0.0, 0.0) if band is None else (band.low, band.high)
        bottom, top = truth + below, truth + above
        kinks = np.stack([bottom, top])
        if isinstance(cost, HingeCost):
            kinks = np.concatenate([kinks, cost.kinks(truth, band).position])
        near = truth + generator.normal(0.0, 0.3, (14, truth.size)) * unit
        far = np.stack([truth - 0.9 * unit, truth + 1.7 * unit])
        around = [kinks - 1e-3 * unit, kinks, kinks + 1e-3 * unit]
        decision = np.sort(np.concatenate([near, far, *around]), axis=0)

        def over(method: Callable[..., Array], at: Array, band: Band | None = band) -> Array:
            return np.stack([method(each, truth, band) for each in at])

        loss, slope = over(cost.loss, decision), over(cost.subgradient, decision)
        place: dict[str, ArrayLike] = {"decision": decision, "truth": truth}
        if band is not None:
            place |= {"low": below, "high": above}
        finite = np.isfinite(loss) & np.isfinite(slope)
        yield from _where(~finite, "loss and subgradient must be finite", loss, **place)
        small = rounding * np.max(np.abs(loss), axis=0)

        if usual or (band is not None and np.all(band.high == 0)):
            nearest = np.clip(decision, bottom, top)
            wanted = np.stack([cost.cost(*pair) for pair in zip(decision, nearest, strict=True)])
            must = "loss must be 0 in the band and outside what its nearer end costs as the truth"
            yield from _where(np.abs(loss - wanted) > small, must, loss, wanted, **place)
        if cost.convex:
            must = "a convex loss must not be negative"
            yield from _where(loss < -small, must, loss, **place)
            free = cost.loss(truth, truth)
            must = "a convex loss must be 0 at the truth"
            yield from _where(np.abs(free) > small, must, free, truth=truth)
            span = np.maximum(decision[2:] - decision[:-2], 1e-300)
            share = (decision[1:-1] - decision[:-2]) / span
            chord = (1 - share) * loss[:-2] + share * loss[2:]
            must, inside = "a loss that claims to be convex must lie below its chords", loss[1:-1]
            yield from _where(
                inside > chord + small, must, inside, chord, decision=decision[1:-1], truth=truth
            )
        if isinstance(cost, HingeCost):
            hinges = np.stack([cost.kinks(truth, band).value(each) for each in decision])
            must = "the hinges that the exact solvers train on must sum to loss"
            yield from _where(np.abs(hinges - loss) > small, must, hinges, loss, **place)

        # on a kink any slope between those of its sides is one, and 0 if that is
        quotients = []
        margin = np.max(np.abs(slope), axis=0) * (1e-4 + 2e-15 * np.abs(decision) / step)
        for sign in (-1.0, 1.0):
            coarse, fine = (
                (over(cost.loss, decision + sign * each) - loss) / (sign * each)
                for each in (step, 0.125 * step)
            )
            size = np.maximum(np.abs(coarse), np.abs(fine))
            jump = np.abs(coarse - fine) > 0.5 * size + 8 * margin
            quotients.append(np.where(jump, np.nan, coarse))
        lowest, highest = np.fmin(*quotients), np.fmax(*quotients)
        wrong = (slope < lowest - margin) | (slope > highest + margin)
        must, nearest = "subgradient must be the slope of loss", np.clip(slope, lowest, highest)
        yield from _where(wrong, must, slope, nearest, **place)
        for end in (bottom, top) if cost.convex else ():
            here, *sides = over(cost.loss, np.stack([end, end - step, end + step]))
            still = cost.subgradient(end, truth, band)
            wrong = (here <= np.minimum(*sides) + small) & (np.abs(still) * step > small)
            must = "subgradient must be 0 where 0 is one, so that a free decision stays"
            yield from _where(wrong, must, still, decision=end, truth=truth)
