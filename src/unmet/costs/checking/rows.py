"""Rows: one entry each, none of them seeing another, and parameters that differ by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from unmet.band import Array
from unmet.costs.checking.report import Finding
from unmet.costs.checking.trial import Trial, place
from unmet.errors import UnmetError


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
            result = _tried(method, *values)
            if isinstance(result, np.ndarray) and np.isfinite(result).all():
                what = "decision" if values[0] is decision else "observation"
                return (
                    f"{name} must refuse {bad} in the {what} (self.align does), got the finite "
                    f"number {float(result.ravel()[-1]):.6g}."
                )
    if trial.n_rows > 1:
        result = _tried(method, truth[:, np.newaxis], truth)
        if result is not None:
            return (
                f"{name} must refuse a decision of shape ({trial.n_rows}, 1) (self.align does), "
                f"got {_shape(result)}."
            )
    return None


def _tried(method: Callable[..., Array], *values: Array) -> Any:
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
