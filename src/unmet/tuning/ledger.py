"""What a search keeps, so that it can stop at any moment and go on later.

Only finished trials are kept, each by one entry of the storage: an entry is there or it is not.
Trials that were trained in one call are finished together, so the first of them carries the
others, which are then written as well for whoever looks at the storage.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unmet.bands.searched import quiet
from unmet.errors import InvalidInput
from unmet.files import CAN_LOCK, FileLock
from unmet.runs import differing, digest, read_rows, stable_text
from unmet.tuning.evaluate import Outcome, Score
from unmet.tuning.space import Space
from unmet.tuning.splits import SearchFold

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
    cost: float = field(init=False)
    fold_costs: tuple[float, ...]
    state: State
    sentence: str | None = None
    _suggested: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Values as Optuna suggested them."""
    _notes: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What a pruner of Optuna has written down about the trial."""

    def __post_init__(self) -> None:
        evaluated = self.fold_costs and self.state not in ("failed", "refused")
        object.__setattr__(self, "cost", float(np.mean(self.fold_costs)) if evaluated else np.inf)

    def steps(self) -> dict[int, float]:
        """Mean cost after each fold, as pruners want it."""
        return {i: float(np.mean(self.fold_costs[: i + 1])) for i in range(len(self.fold_costs))}


def finished(
    number: int,
    space: Space,
    suggested: dict[str, Any],
    outcomes: Sequence[Outcome],
    state: State = "complete",
    notes: dict[str, Any] | None = None,
) -> Trial:
    """Gather what the folds have come to: costs, or why there is none."""
    failures = [outcome for outcome in outcomes if isinstance(outcome, str)]
    costs = tuple(np.inf if isinstance(each, str) else each for each in outcomes)
    return Trial(
        number,
        space.values(suggested),
        costs,
        "failed" if failures and state == "complete" else state,
        failures[0] if failures else None,
        suggested,
        notes or {},
    )


# --- A journal of Optuna in a file that may have been cut off at any byte.


def open_journal(optuna: Any, path: Path) -> Any:
    """Open or begin a journal; one that ends within a line loses that line, garbage is refused."""
    if path.is_dir():
        raise InvalidInput(f"storage must be a file, got the folder {path}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"storage must lie in a folder that exists, got {path}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f"storage must be a file that can be written to, got {path}.")
    # Optuna's own lock is a file that a killed process leaves behind, and the next one waits half a
    # minute for it
    journals = optuna.storages.journal
    lock = FileLock(path) if CAN_LOCK else journals.JournalFileOpenLock(str(path))
    try:
        if path.exists():
            lock.acquire()
            try:
                read_rows(path, lambda row: "op_code" in row, begins=b'{"op_code"')
            finally:
                lock.release()
        backend = journals.JournalFileBackend(str(path), lock_obj=lock)
        return optuna.storages.JournalStorage(backend)
    except Exception as error:  # ours, or whatever Optuna meets in lines of another kind
        raise InvalidInput(
            f"storage must be a journal of Optuna, got {path}, which is not."
        ) from error


# --- Finished trials.

_SEARCH, _TRIAL, _WITH = "unmet search", "unmet record", "unmet together with"


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
        self.trials: dict[int, Trial] = {}
        self._optuna, self._name, self._space = optuna, name, space
        self._study: Any = None
        self._written: set[int] = set()
        with quiet(optuna):
            if isinstance(storage, str | PathLike):
                storage = open_journal(optuna, Path(storage))
            elif storage is not None and not isinstance(storage, optuna.storages.BaseStorage):
                raise InvalidInput(
                    "storage must be None, the path of a file or a storage of Optuna, "
                    f"got {storage!r:.60}."
                )
            self._storage = storage
            if storage is not None:
                self._study = self._find()
        # what the search in the storage is about
        self._begun = None if self._study is None else self._study.user_attrs.get(_SEARCH)

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

    @property
    def seed(self) -> int | None:
        """Seed of the search that the storage holds."""
        return None if self._begun is None else int(self._begun["random_state"])

    def begin(self, about: Mapping[str, Any], seed: int) -> None:
        """Take up the search that is about the same, or begin it; refuse to continue another."""
        if self._storage is None:
            return
        mine = {**about, "random_state": seed}
        with quiet(self._optuna):
            if self._begun is None:
                if self._study is None:
                    self._study = self._optuna.create_study(
                        storage=self._storage, study_name=self._name, direction="minimize"
                    )
                self._study.set_user_attr(_SEARCH, mine)
            elif other := differing(self._begun, mine):
                raise InvalidInput(
                    f"storage holds a search {self._name!r} with another {other}: "
                    "use another name or another file."
                )
            self._load()

    def _load(self) -> None:
        """Read finished trials; write those that only the first of their call has kept so far."""
        for entry in self._study.get_trials(deepcopy=False):
            plain = entry.user_attrs.get(_TRIAL)
            if plain is None:
                continue  # somebody else's
            self._written.add(int(plain["number"]))
            for each in (plain, *entry.user_attrs.get(_WITH, ())):
                self.trials.setdefault(int(each["number"]), self._trial(each))
        for number in sorted(set(self.trials) - self._written):
            self._write(self.trials[number], {})

    def add(self, trials: Sequence[Trial]) -> None:
        """Keep trials that were finished together: all of them or, if killed before, none."""
        self.trials.update({trial.number: trial for trial in trials})
        if self._study is None:
            return
        others = [self._plain(trial) for trial in trials[1:]]
        with quiet(self._optuna):
            for place, trial in enumerate(trials):
                self._write(trial, {_WITH: others} if others and place == 0 else {})

    def _write(self, trial: Trial, more: dict[str, Any]) -> None:
        if trial.number in self._written:
            return
        states = self._optuna.trial.TrialState
        entry = self._optuna.trial.create_trial(
            state=states.PRUNED if trial.state == "pruned" else states.COMPLETE,
            value=trial.cost,
            params=trial._suggested,
            distributions=self._space.distributions,
            user_attrs={_TRIAL: self._plain(trial), **more},
            intermediate_values=trial.steps(),
        )
        self._study.add_trial(entry)
        self._written.add(trial.number)

    def _plain(self, trial: Trial) -> dict[str, Any]:
        """Plain values for a storage."""
        return {
            "number": trial.number,
            "suggested": self._space.coded(trial._suggested),
            "fold_costs": list(trial.fold_costs),
            "state": trial.state,
            "sentence": trial.sentence,
            "notes": trial._notes,
        }

    def _trial(self, plain: Mapping[str, Any]) -> Trial:
        """Undo `_plain`."""
        suggested = self._space.decoded(plain["suggested"])
        return Trial(
            number=int(plain["number"]),
            values=self._space.values(suggested),
            fold_costs=tuple(plain["fold_costs"]),
            state=plain["state"],
            sentence=plain["sentence"],
            _suggested=suggested,
            _notes=dict(plain["notes"]),
        )


# --- What makes two searches the same: so that a storage is never continued with another one.


def fingerprint(
    estimator: Any,
    space: Space,
    score: Score,
    folds: Sequence[SearchFold],
    pruner: Any,
    batch: int,
) -> dict[str, Any]:
    """Say by name what a search is about, equal in every process for the same search."""
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
        "score": f"{score.kind} {called}".strip(),
        "cv": digest([(fold.train, fold.held_out) for fold in folds]),
        "fit_parameters": digest(score.known),
        "pruner": None if pruner is None else type(pruner).__qualname__,
        "batch": batch,
    }
