"""`check_cost`: try a cost of one's own before a model is trained on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from unmet.costs.base import Cost
from unmet.costs.checking.bands import check_bands
from unmet.costs.checking.copies import check_copies
from unmet.costs.checking.curve import (
    Curve,
    check_convexity,
    check_steepness,
    check_subgradient,
    check_values,
)
from unmet.costs.checking.hinges import check_hinges
from unmet.costs.checking.report import CostReport, Finding
from unmet.costs.checking.rows import check_inputs, check_parameters, check_shapes, check_take
from unmet.costs.checking.trial import Trial
from unmet.errors import InvalidInput


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
