"""The options of mini-batch descent, under the names and with the values of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from unmet.errors import InvalidInput


@dataclass(frozen=True)
class MiniBatchOptions:
    """Every option of Table LRHyperparam, with the tuned values of Table searchingSpace.

    The paper prints eta 0.0007 and beta 0.0060, each outside its own search space; exchanged they
    fit, and so they stand here.

    Parameters
    ----------
    learning_rate : float, default=0.006
        η (eta), in scaled units.
    penalty : float, default=0.0007
        β (beta), the coefficient of ‖w‖² in scaled units, used when the caller names no ridge.
    batch_size : int, default=98
        Rows per update; the last batch of an epoch may be smaller.
    epochs : int, default=500
        Greatest number of passes over the training rows.
    validation_size : float, default=0.25
        Share of rows held out to judge progress; with 0, or a single row, the training objective
        judges.
    shuffle : bool, default=True
        Shuffle before holding rows out, and again before every epoch; otherwise the last rows are
        held out and batches follow the order of the data.
    random_state : int, RandomState or None, default=123
        Seed of the shuffling; a number makes the result repeatable bit for bit.
    early_stopping : bool, default=True
        Stop after ``patience`` epochs without progress, and return the best epoch's parameters
        instead of the last one's.
    tolerance : float, default=1e-7
        A loss is progress if it is lower than the best so far by more than this; in scaled units.
    patience : int, default=30
        Epochs without progress that early stopping waits for.
    baseline : float, default=1e-6
        Stop as soon as the loss is below this, with or without early stopping; in scaled units.
    scale_observation : bool, default=True
        Descend in scaled units; otherwise in those of the observation and of the cost.
    """

    learning_rate: float = 0.006
    penalty: float = 0.0007
    batch_size: int = 98
    epochs: int = 500
    validation_size: float = 0.25
    shuffle: bool = True
    random_state: int | RandomState | None = 123
    early_stopping: bool = True
    tolerance: float = 1e-7
    patience: int = 30
    baseline: float = 1e-6
    scale_observation: bool = True

    def __post_init__(self) -> None:
        for name in ("shuffle", "early_stopping", "scale_observation"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidInput(f"{name} must be True or False, got {getattr(self, name)!r}.")
        for name in ("batch_size", "epochs", "patience"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
        _number("learning_rate", self.learning_rate, above=0.0)
        for name in ("penalty", "tolerance", "baseline"):
            _number(name, getattr(self, name))
        _number("validation_size", self.validation_size, below=1.0)
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise InvalidInput(
                "random_state must be a non-negative integer, a RandomState or None, "
                f"got {self.random_state!r}."
            ) from None


def _number(name: str, value: object, above: float | None = None, below: float = np.inf) -> None:
    """Refuse what is no number from 0 (or from above ``above``) to below ``below``."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if (number >= 0 if above is None else number > above) and number < below:
        return
    allowed = "non-negative" if above is None else "positive"
    limit = f" below {below:g}" if below < np.inf else ""
    raise InvalidInput(f"{name} must be a finite {allowed} number{limit}, got {value!r}.")
