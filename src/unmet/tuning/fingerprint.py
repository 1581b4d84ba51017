"""What makes two searches the same: so that a storage is never continued with another one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.tuning.folds import Fold
from unmet.tuning.scoring import Score
from unmet.tuning.space import Space, stable_text


def fingerprint(
    estimator: Any,
    space: Space,
    score: Score,
    folds: Sequence[Fold],
    pruner: Any,
    batch: int,
) -> dict[str, str]:
    """Short texts by name, equal in every process for the same search."""
    parameters = {
        name: stable_text(value) for name, value in sorted(estimator.get_params(deep=True).items())
    }
    call = score.call
    called = "" if call is None else getattr(call, "__qualname__", type(call).__qualname__)
    return {
        "space": digest(space.description()),
        "estimator": digest(f"{type(estimator).__qualname__} {parameters}"),
        "X": digest(score.X),
        "y": digest(score.y),
        "truth": digest(score.truth),
        "score": f"{score.kind} {called}",
        "cv": digest([rows for fold in folds for rows in (fold.train, fold.held_out)]),
        "fit_parameters": digest(dict(sorted(score.known.items()))),
        "pruner": stable_text(pruner if pruner is None else type(pruner).__qualname__),
        "batch": str(batch),
    }


def digest(value: Any) -> str:
    """Hash what a value holds: all numbers of arrays and tables, the text of anything else."""
    state = hashlib.blake2b(digest_size=8)
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if nw.dependencies.is_into_dataframe(value):
        table = nw.from_native(value, eager_only=True)
        for name in table.columns:
            state.update(repr(name).encode())
            _feed(state, table[name].to_numpy())
    elif nw.dependencies.is_into_series(value):
        _feed(state, nw.from_native(value, series_only=True).to_numpy())
    elif sparse.issparse(value):
        rows: Any = value.tocsr()  # type: ignore[attr-defined]
        for part in (rows.data, rows.indices, rows.indptr):
            _feed(state, part)
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            state.update(repr(name).encode())
            _feed(state, entry)
    elif isinstance(value, np.ndarray):
        _feed_array(state, value)
    elif isinstance(value, list | tuple):
        _feed_list(state, value)
    else:
        state.update(stable_text(value).encode() + b"\0")


def _feed_list(state: Any, values: Sequence[Any]) -> None:
    try:
        array = np.asarray(values)
    except ValueError:  # of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biufUM":
        _feed_array(state, array)
    else:
        for entry in values:
            _feed(state, entry)


def _feed_array(state: Any, array: NDArray[Any]) -> None:
    state.update(f"{array.dtype.kind}{array.shape}".encode())
    if array.dtype.kind == "O":
        state.update("\0".join(stable_text(entry) for entry in array.ravel()).encode())
    elif array.size:
        state.update(np.ascontiguousarray(np.atleast_1d(array)).view(np.uint8))
