"""What a search keeps, so that it can stop at any moment and go on later.

Only finished trials are kept, each by one entry of the storage: an entry is there or it is not.
Trials that were trained in one call are finished together, so the first of them carries the
others, which are then written as well for whoever looks at the storage.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.bands.searched import quiet
from unmet.errors import InvalidInput
from unmet.tuning.evaluate import Score
from unmet.tuning.space import Space, stable_text
from unmet.tuning.splits import Fold

# --- What one combination has come to.

State = Literal["complete", "pruned", "failed", "refused"]


@dataclass(frozen=True)
class Trial:
    """One combination of values, and what it costs.

    Attributes
    ----------
    number : int
        From 0, in the order of the search.
    values : dict
        What was sampled, by name.
    cost : float
        Mean of `fold_costs`: for a pruned trial of the folds it has seen; inf for one that has
        failed or was refused.
    fold_costs : tuple of float
    state : {"complete", "pruned", "failed", "refused"}
        Refused is what `build` does not allow.
    sentence : str or None
        Why it has failed.
    """

    number: int
    values: dict[str, Any]
    cost: float
    fold_costs: tuple[float, ...]
    state: State
    sentence: str | None = None


@dataclass(frozen=True)
class Record:
    """A trial as the sampler and a storage know it.

    Attributes
    ----------
    number, fold_costs, state, sentence
        As in `Trial`.
    suggested : dict
        Values as Optuna suggested them.
    notes : dict
        What a pruner of Optuna has written down about the trial.
    """

    number: int
    suggested: dict[str, Any]
    fold_costs: tuple[float, ...]
    state: State
    sentence: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, number: int, suggested: dict[str, Any], outcomes: Sequence[float | str]) -> Record:
        """Gather what the folds have come to: costs, or why there is none."""
        failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
        costs = tuple(np.inf if isinstance(each, str) else each for each in outcomes)
        if failures:
            return cls(number, suggested, costs, "failed", failures[0])
        return cls(number, suggested, costs, "complete")

    @property
    def cost(self) -> float:
        """Mean over the folds."""
        if self.state in ("failed", "refused") or not self.fold_costs:
            return float(np.inf)
        return float(np.mean(self.fold_costs))

    def steps(self) -> dict[int, float]:
        """Mean cost after each fold, as pruners want it."""
        return {i: running_mean(self.fold_costs[: i + 1]) for i in range(len(self.fold_costs))}

    def to_plain(self, coded: Mapping[str, float]) -> dict[str, Any]:
        """Plain values for a storage."""
        return {
            "number": self.number,
            "suggested": dict(coded),
            "fold_costs": list(self.fold_costs),
            "state": self.state,
            "sentence": self.sentence,
            "notes": self.notes,
        }


def running_mean(costs: Sequence[float]) -> float:
    """Mean of the folds seen so far."""
    return float(np.mean(costs))


# --- A journal of Optuna in a file that may have been cut off at any byte.

_BEGINNING = b'{"op_code"'


def open_journal(optuna: Any, path: Path) -> Any:
    """Open or begin a journal; one that ends within a line loses that line, garbage is refused."""
    _check_place(path)
    lock = _lock(optuna, path)
    if path.exists():
        lock.acquire()
        try:
            _repair(path)
        finally:
            lock.release()
    backend = optuna.storages.journal.JournalFileBackend(str(path), lock_obj=lock)
    try:
        return optuna.storages.JournalStorage(backend)
    except Exception as error:  # whatever Optuna meets when it replays lines of another kind
        raise _unreadable(path) from error


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InvalidInput(f"storage must be a file, got the folder {path}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"storage must lie in a folder that exists, got {path}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f"storage must be a file that can be written to, got {path}.")


def _repair(path: Path) -> None:
    """Cut off a last line that was not written to its end; leave anything else as it is."""
    content = path.read_bytes()
    lines, rest = content.rpartition(b"\n")[0], content.rpartition(b"\n")[2]
    for line in lines.splitlines():
        if not _is_entry(line):
            raise _unreadable(path)
    if not rest:
        return
    if not (rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)):
        raise _unreadable(path)
    with path.open("r+b") as stream:
        stream.truncate(len(content) - len(rest))


def _is_entry(line: bytes) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and "op_code" in entry


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(f"storage must be a journal of Optuna, got {path}, which is not.")


class _FileLock:
    """Lock of a journal that the system lifts when its holder dies.

    Optuna's own is a file that a killed process leaves behind, and the next one waits half a
    minute for it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: Any = None

    def acquire(self) -> bool:
        import fcntl

        self._stream = self._path.open("ab")
        fcntl.flock(self._stream, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        self._stream.close()


def _lock(optuna: Any, path: Path) -> Any:
    """Give the best lock that the system has."""
    if importlib.util.find_spec("fcntl") is None:  # Windows
        return optuna.storages.journal.JournalFileOpenLock(str(path))
    return _FileLock(path)


# --- What a search keeps, so that it can stop at any moment and go on later.

_SEARCH, _RECORD, _WITH = "unmet search", "unmet record", "unmet together with"


class Ledger:
    """Finished trials by number, in memory and, where there is one, in a storage.

    Parameters
    ----------
    optuna : module
    storage : None, path or storage of Optuna
    name : str
        Of the study in the storage.
    space : Space
    """

    def __init__(self, optuna: Any, storage: Any, name: str, space: Space) -> None:
        self.records: dict[int, Record] = {}
        self._optuna, self._name, self._space = optuna, name, space
        self._study: Any = None
        self._written: set[int] = set()
        with quiet(optuna):
            self._storage = _open(optuna, storage)
            if self._storage is not None:
                self._study = self._find()

    @property
    def seed(self) -> int | None:
        """Seed of the search that the storage holds."""
        found = self._begun()
        return None if found is None else int(found["random_state"])

    def begin(self, identity: Mapping[str, str], seed: int) -> None:
        """Take up the search of that identity, or begin it; refuse to continue another one."""
        if self._storage is None:
            return
        mine = {**identity, "random_state": str(seed)}
        with quiet(self._optuna):
            begun = self._begun()
            if begun is not None:
                self._refuse_another(mine, begun)
            else:
                if self._study is None:
                    self._study = self._optuna.create_study(
                        storage=self._storage, study_name=self._name, direction="minimize"
                    )
                self._study.set_user_attr(_SEARCH, mine)
            self._load()

    def add(self, records: Sequence[Record]) -> None:
        """Keep trials that were finished together: all of them or, if killed before, none."""
        self.records.update({record.number: record for record in records})
        if self._study is None:
            return
        others = [self._plain(record) for record in records[1:]]
        with quiet(self._optuna):
            for place, record in enumerate(records):
                self._write(record, {_WITH: others} if others and place == 0 else {})

    def _find(self) -> Any:
        """Study of that name, if the storage has one."""
        try:
            study = self._optuna.load_study(study_name=self._name, storage=self._storage)
        except KeyError:
            return None
        if _SEARCH not in study.user_attrs and study.get_trials(deepcopy=False):
            raise InvalidInput(
                f"storage must not hold a study named {self._name!r} that search has not begun: "
                "use another name."
            )
        return study

    def _begun(self) -> dict[str, str] | None:
        found = None if self._study is None else self._study.user_attrs.get(_SEARCH)
        return None if found is None else dict(found)

    def _refuse_another(self, mine: Mapping[str, str], begun: Mapping[str, str]) -> None:
        others = [name for name, text in mine.items() if begun.get(name) != text]
        if others:
            listed = " and ".join([", ".join(others[:-1])] * bool(others[1:]) + others[-1:])
            raise InvalidInput(
                f"storage holds a search {self._name!r} with another {listed}: "
                "use another name or another file."
            )

    def _load(self) -> None:
        """Read finished trials; write those that only the first of their call has kept so far."""
        kept: list[Record] = []
        for trial in self._study.get_trials(deepcopy=False):
            plain = trial.user_attrs.get(_RECORD)
            if plain is None:
                continue  # somebody else's
            self._written.add(int(plain["number"]))
            kept += [self._record(each) for each in (plain, *trial.user_attrs.get(_WITH, ()))]
        for record in kept:
            self.records.setdefault(record.number, record)
        for number in sorted(set(self.records) - self._written):
            self._write(self.records[number], {})

    def _write(self, record: Record, more: dict[str, Any]) -> None:
        if record.number in self._written:
            return
        states = self._optuna.trial.TrialState
        pruned = record.state == "pruned"
        trial = self._optuna.trial.create_trial(
            state=states.PRUNED if pruned else states.COMPLETE,
            value=record.cost,
            params=record.suggested,
            distributions=self._space.distributions,
            user_attrs={_RECORD: self._plain(record), **more},
            intermediate_values=record.steps(),
        )
        self._study.add_trial(trial)
        self._written.add(record.number)

    def _plain(self, record: Record) -> dict[str, Any]:
        return record.to_plain(self._space.coded(record.suggested))

    def _record(self, plain: Mapping[str, Any]) -> Record:
        return Record(
            number=int(plain["number"]),
            suggested=self._space.decoded(plain["suggested"]),
            fold_costs=tuple(plain["fold_costs"]),
            state=plain["state"],
            sentence=plain["sentence"],
            notes=dict(plain["notes"]),
        )


def _open(optuna: Any, storage: Any) -> Any:
    if storage is None or isinstance(storage, optuna.storages.BaseStorage):
        return storage
    if isinstance(storage, str | PathLike):
        return open_journal(optuna, Path(storage))
    raise InvalidInput(
        f"storage must be None, the path of a file or a storage of Optuna, got {storage!r:.60}."
    )


# --- What makes two searches the same: so that a storage is never continued with another one.


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
