"""Checks of single constructor parameters: each refuses in one sentence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unmet.errors import InvalidInput


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str) or value not in allowed:
        words = [repr(word) for word in allowed]
        raise InvalidInput(f"{name} must be {', '.join(words[:-1])} or {words[-1]}, got {value!r}.")


def number(name: str, value: object, allowed: str, least: float, most: float) -> float:
    """Refuse what is not a number from `least` to `most`; `allowed` says so in words."""
    if isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) <= most:
        return float(value)
    raise InvalidInput(f"{name} must be {allowed}, got {value!r}.")


def whole(name: str, value: Any, least: int) -> int:
    """Refuse what is not a whole number of at least some size."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}.")


def true_or_false(name: str, value: Any) -> bool:
    """Refuse what is not a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def read_seed(random_state: Any) -> int:
    """One number that fixes everything random about a fit."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        return whole("random_state", random_state, 0)
    try:
        if isinstance(random_state, bool):
            raise ValueError
        generator = check_random_state(random_state)
    except ValueError:
        raise InvalidInput(
            f"random_state must be a whole number, a RandomState or None, got {random_state!r}."
        ) from None
    return int(generator.randint(np.iinfo(np.int32).max))
