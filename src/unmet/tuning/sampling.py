"""Which combination to try next: the tree-structured Parzen estimator of Optuna.

A combination depends on the seed, on its number, and on the trials that were finished before its
batch began: nothing else, so a search that was stopped goes on as if it had not been. That is why
the sampler is made anew for every number, with a seed of its own, and why the study that it looks
at lives in memory, filled from what a storage has kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unmet.bands.optuna_package import quiet
from unmet.tuning.space import Space
from unmet.tuning.trial import Record


class Sampling:
    """A study of Optuna in memory, whose trials have the numbers of ours.

    Parameters
    ----------
    optuna : module
    space : Space
    seed : int
    pruner : pruner of Optuna or None
    name : str
    """

    def __init__(self, optuna: Any, space: Space, seed: int, pruner: Any, name: str) -> None:
        self._optuna, self._space, self._seed = optuna, space, seed
        self.pruning = pruner is not None
        with quiet(optuna):
            self._study = optuna.create_study(
                direction="minimize",
                study_name=name,
                sampler=self._sampler(0),
                pruner=pruner if self.pruning else optuna.pruners.NopPruner(),
            )
        self._asked: dict[int, Any] = {}

    def ask(self, number: int) -> dict[str, Any]:
        """Suggest a combination; those of its batch that are under way are kept clear of."""
        with quiet(self._optuna):
            self._study.sampler = self._sampler(number)
            trial = self._study.ask(self._space.distributions)
        self._asked[number] = trial
        return dict(trial.params)

    def restore(self, record: Record) -> None:
        """Take up a trial that is finished as one under way, in its place."""
        with quiet(self._optuna):
            trial = self._optuna.trial.create_trial(
                state=self._optuna.trial.TrialState.RUNNING,
                params=record.suggested,
                distributions=self._space.distributions,
                intermediate_values=record.steps() if self.pruning else {},
                system_attrs=record.notes,
            )
            self._study.add_trial(trial)

    def tell(self, records: Sequence[Record]) -> None:
        """Finish the trials of a batch."""
        states = self._optuna.trial.TrialState
        with quiet(self._optuna):
            for record in records:
                if record.state == "pruned":
                    self._study.tell(record.number, state=states.PRUNED)
                else:
                    self._study.tell(record.number, record.cost)

    def should_prune(self, number: int, fold: int, cost: float) -> bool:
        """Report the mean cost after a fold, and ask whether to go on."""
        trial = self._asked[number]
        with quiet(self._optuna):
            trial.report(cost, fold)
            return bool(trial.should_prune())

    def notes(self, number: int) -> dict[str, Any]:
        """Give what a pruner has written down; the sampler's own notes are of no further use."""
        if not self.pruning:
            return {}
        found = self._study.get_trials(deepcopy=False)[number].system_attrs
        return {name: note for name, note in found.items() if not name.startswith("tpe:")}

    def _sampler(self, number: int) -> Any:
        """All options are said, so that versions of Optuna with other defaults agree."""
        state = np.random.SeedSequence([self._seed, number]).generate_state(1)
        return self._optuna.samplers.TPESampler(
            seed=int(state[0]), n_startup_trials=10, multivariate=True, constant_liar=True
        )
