"""When an iteration stops: the two parameters that several rules share."""

from __future__ import annotations

from numbers import Integral, Real

from unmet.errors import InvalidInput


def read_iteration(tolerance: object, max_iterations: object) -> tuple[float, int]:
    """Read the tolerance and the most steps of an iteration."""
    if (
        not isinstance(tolerance, Real)
        or isinstance(tolerance, bool)
        or not 0 < float(tolerance) < 1
    ):
        raise InvalidInput(f"tolerance must be a number above 0 and below 1, got {tolerance!r}.")
    return float(tolerance), positive_integer("max_iterations", max_iterations)


def positive_integer(name: str, value: object) -> int:
    """Read a count that must be at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
    return int(value)
