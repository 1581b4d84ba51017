"""Constraints on parameters: each reads a value, or refuses it in one sentence.

Call a constraint with the name of a parameter and its value. It returns the value in the type that
our code needs (an `int`, a `float`, a seed). A value that is not allowed raises an `InvalidInput`
that names the parameter, the allowed values and the given value::

    >>> Number(above=0, below=1)("tol", 3)
    Traceback (most recent call last):
    ...
    unmet.errors.InvalidInput: tol must be a number above 0 and below 1, got 3.

Estimators list their constraints in a table and read all parameters at once, when `fit` needs
them::

    >>> from types import SimpleNamespace
    >>> constraints = {"max_iter": Maybe(WholeNumber(1)), "solver": OneOf("lp", "highs")}
    >>> read_parameters(constraints, SimpleNamespace(max_iter=None, solver="lp"))
    {'max_iter': None, 'solver': 'lp'}

`unmet.arrays` reads numbers that may differ by row, and `unmet.rows` reads tables and columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from unmet.errors import InvalidInput, UnmetError


class _NotAllowed(Exception):  # noqa: N818
    """A value that a constraint does not allow."""


class Constraint:
    """Allowed values of a parameter; ``str(constraint)`` describes them."""

    def __call__(self, name: str, value: Any) -> Any:
        """Read the value of the parameter `name`, or refuse it in a sentence."""
        try:
            return self._read(name, value)
        except _NotAllowed:
            raise refusal(name, self, value) from None

    def _read(self, name: str, value: Any) -> Any:
        raise NotImplementedError


def read_parameters(constraints: Mapping[str, Constraint], holder: object) -> dict[str, Any]:
    """Read the attributes of `holder` that `constraints` names, in their order."""
    return {name: read(name, getattr(holder, name)) for name, read in constraints.items()}


class ErrorCollector:
    """What is wrong with several parameters, told all at once.

    Attributes
    ----------
    sentences : list of str

    Examples
    --------
    >>> wrong = ErrorCollector()
    >>> wrong.ask(WholeNumber(1), "lead_time", 2)
    2
    >>> wrong.ask(WholeNumber(1), "horizon", 0)
    >>> wrong.about_costs(None, underage=3, overage=None)
    >>> wrong.tell()
    Traceback (most recent call last):
    ...
    unmet.errors.InvalidInput: horizon must be a whole number of at least 1, got 0. overage must ...
    """

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def ask(self, read: Callable[..., Any], *words: Any, **more: Any) -> Any:
        """Give what was read; where it is refused, keep the sentence and give None."""
        try:
            return read(*words, **more)
        except UnmetError as error:
            self.sentences.append(str(error))
            return None

    def about_costs(self, service_level: Any, **costs: Any) -> None:
        """Want two costs or a service level, but not both, and no cost alone."""
        (first, second), (one, other) = costs, costs.values()
        if service_level is not None and (one is not None or other is not None):
            self.sentences.append(
                f"service_level must not be given with {first} and {second}: leave one out."
            )
        elif (one is None) != (other is None):
            named, absent = (second, first) if one is None else (first, second)
            self.sentences.append(f"{absent} must be given with {named}: add it.")

    def tell(self) -> None:
        """Raise all sentences as one error, if there are any."""
        if self.sentences:
            raise InvalidInput(" ".join(self.sentences))


class WholeNumber(Constraint):
    """A whole number of at least `least`, and at most `most` where that is given."""

    def __init__(self, least: int = 0, most: int | None = None) -> None:
        self.least, self.most = least, most

    def __str__(self) -> str:
        if self.most is not None:
            return f"a whole number from {self.least} to {self.most}"
        return f"a whole number of at least {self.least}"

    def _read(self, name: str, value: Any) -> int:
        if not is_whole(value) or value < self.least:
            raise _NotAllowed
        if self.most is not None and value > self.most:
            raise _NotAllowed
        return int(value)


class Number(Constraint):
    """A finite number inside limits: at least or above one, at most or below another."""

    def __init__(
        self, least: float = -inf, most: float = inf, above: float = -inf, below: float = inf
    ) -> None:
        self.least, self.most, self.above, self.below = least, most, above, below

    def __str__(self) -> str:
        limits = {
            "of at least": self.least,
            "above": self.above,
            "at most": self.most,
            "below": self.below,
        }
        given = {word: limit for word, limit in limits.items() if isfinite(limit)}
        if given == {"of at least": 0}:
            return "a finite number of at least 0"
        if given == {"above": 0}:
            return "a finite number above 0"
        if set(given) == {"of at least", "at most"}:
            return f"a number between {self.least:g} and {self.most:g}"
        words = " and ".join(f"{word} {limit:g}" for word, limit in given.items())
        return f"a number {words}" if words else "a finite number"

    def _read(self, name: str, value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            raise _NotAllowed
        number = float(value)
        inside = self.least <= number <= self.most and self.above < number < self.below
        if not (inside and isfinite(number)):
            raise _NotAllowed
        return number


class OneOf(Constraint):
    """One of several words; None may be among them."""

    def __init__(self, *words: str | None) -> None:
        self.words = words

    def __str__(self) -> str:
        *most, last = map(repr, self.words)
        return f"{', '.join(most)} or {last}" if most else last

    def _read(self, name: str, value: Any) -> Any:
        # other things than text may have an equality of their own, such as arrays
        if not isinstance(value, str | None) or value not in self.words:
            raise _NotAllowed
        return value


class TrueOrFalse(Constraint):
    """A truth value, also NumPy's."""

    def __str__(self) -> str:
        return "True or False"

    def _read(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise _NotAllowed
        return bool(value)


class Instance(Constraint):
    """An object of some class or classes; `described` names it with its article."""

    def __init__(self, kinds: type | tuple[type, ...], described: str) -> None:
        self.kinds, self.described = kinds, described

    def __str__(self) -> str:
        return self.described

    def _read(self, name: str, value: Any) -> Any:
        if not isinstance(value, self.kinds):
            raise _NotAllowed
        return value


class Maybe(Constraint):
    """Values that another constraint allows, or None."""

    def __init__(self, inner: Constraint) -> None:
        self.inner = inner

    def __str__(self) -> str:
        return f"{self.inner} or None"

    def _read(self, name: str, value: Any) -> Any:
        return None if value is None else self.inner._read(name, value)


class Seed(Constraint):
    """Seed of everything random in a fit, read as a whole number."""

    def __str__(self) -> str:
        return "a whole number of at least 0, a RandomState or None"

    def _read(self, name: str, value: Any) -> int:
        if is_whole(value) and value >= 0:
            return int(value)
        from sklearn.utils import check_random_state

        try:
            if isinstance(value, Real):  # negative, or a truth value
                raise ValueError
            generator = check_random_state(value)
        except ValueError:
            raise _NotAllowed from None
        return int(generator.randint(np.iinfo(np.int32).max))


class Jobs(Constraint):
    """Number of processes or threads, as joblib counts them: −1 is all, None its default."""

    def __str__(self) -> str:
        return "a whole number other than 0, or None"

    def _read(self, name: str, value: Any) -> int | None:
        if value is not None and (not is_whole(value) or value == 0):
            raise _NotAllowed
        return None if value is None else int(value)


_threads_are_gone: list[bool] = []
if hasattr(os, "register_at_fork"):  # libraries that started threads before wait for them for ever
    os.register_at_fork(after_in_child=lambda: _threads_are_gone.append(True))


def n_threads(n_jobs: Any) -> int:
    """Threads of `Jobs`; None is one. joblib itself warns where processes cannot be started."""
    from joblib import cpu_count  # half a second, which help texts need not wait for

    asked = Jobs()("n_jobs", n_jobs) or 1
    most = asked if asked > 0 else max(1, cpu_count() + 1 + asked)
    return 1 if _threads_are_gone else most


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """Find the loaded libraries: milliseconds, more than a small fit, so only once.

    Setting a limit on them then takes 0.02 ms. NumPy's and SciPy's are loaded by now, since the
    solvers have been imported.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread(kind: str) -> AbstractContextManager[Any]:
    """Let libraries of a kind, "blas" or "openmp", use one thread inside the ``with``."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api=kind)
    return limit


def refusal(name: str, allowed: object, value: Any) -> InvalidInput:
    """Make the sentence of an error: the parameter, the allowed values, the given value."""
    return InvalidInput(f"{name} must be {allowed}, got {value!r}.")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; a truth value is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """Whether an entry of a table is missing: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    # only a missing number differs from itself; an array answers with an array
    return bool(np.ndim(value) == 0 and value != value)
