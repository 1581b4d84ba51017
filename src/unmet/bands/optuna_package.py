"""Optuna, which is an extra: imported when it is needed, and kept from talking."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unmet.errors import UnmetError


def import_optuna(missing: UnmetError) -> Any:
    """Give the package, or raise `missing` where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise missing from None
    return optuna


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Let Optuna print nothing for a while, and not warn that some of its options are young."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
