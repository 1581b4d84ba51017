"""What a search keeps, so that it can stop at any moment and go on later.

Only finished trials are kept, each by one entry of the storage: an entry is there or it is not.
Trials that were trained in one call are finished together, so the first of them carries the
others, which are then written as well for whoever looks at the storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from unmet.bands.optuna_package import quiet
from unmet.errors import InvalidInput
from unmet.tuning.journal import open_journal
from unmet.tuning.space import Space
from unmet.tuning.trial import Record

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
