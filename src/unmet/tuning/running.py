"""Batch after batch: choose combinations, price them, keep what they have come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmet.errors import InvalidInput
from unmet.tuning.candidates import Build, Candidate
from unmet.tuning.evaluating import Evaluator, Outcome
from unmet.tuning.ledger import Ledger
from unmet.tuning.sampling import Sampling
from unmet.tuning.space import Space
from unmet.tuning.trial import Record, Trial, running_mean

Progress = Callable[[int, int, float], Any]


@dataclass(frozen=True)
class Run:
    """A search that is under way.

    Attributes
    ----------
    evaluator : Evaluator
        Trains and prices.
    sampling : Sampling
        Says what to try.
    ledger : Ledger
        Keeps what was tried.
    space : Space
    build : callable
    trials, batch : int
    progress : callable or None
    """

    evaluator: Evaluator
    sampling: Sampling
    ledger: Ledger
    space: Space
    build: Build
    trials: int
    batch: int
    progress: Progress | None

    def all(self) -> list[Record]:
        """Finish all trials that are not finished yet."""
        if self.ledger.records:
            self._report()
        for start in range(0, self.trials, self.batch):
            self._finish(range(start, min(start + self.batch, self.trials)))
        return [self.ledger.records[number] for number in range(self.trials)]

    def best(self, records: Sequence[Record]) -> Record:
        """Give the cheapest, of equals the first; say why there is none."""
        good = [each for each in records if each.state == "complete" and np.isfinite(each.cost)]
        if good:
            return min(good, key=lambda record: record.cost)
        for record in records:
            if record.sentence is not None:
                raise InvalidInput(
                    f"space must hold something that can be trained, got a failure in trial "
                    f"{record.number} and none that was finished: {record.sentence}"
                )
        if all(record.state == "refused" for record in records):
            raise InvalidInput(
                f"build must allow some of the combinations, got None for all {len(records)} tried."
            )
        raise InvalidInput("score must be finite for some trial that is not pruned, got none.")

    def trial(self, record: Record) -> Trial:
        """Give a trial as users see it."""
        return Trial(
            record.number,
            self.space.values(record.suggested),
            record.cost,
            record.fold_costs,
            record.state,
            record.sentence,
        )

    def _finish(self, numbers: range) -> None:
        """Choose the combinations of a batch, price those that are new, then tell the sampler."""
        suggested = {}
        for number in numbers:
            if number in self.ledger.records:
                self.sampling.restore(self.ledger.records[number])
            else:
                suggested[number] = self.sampling.ask(number)
        for records in self._price(suggested):
            self.ledger.add(records)
            self._report()
        self.sampling.tell([self.ledger.records[number] for number in numbers])

    def _price(self, suggested: Mapping[int, dict[str, Any]]) -> Iterator[list[Record]]:
        """Trials that are finished together, as soon as they are."""
        candidates = []
        for number, values in suggested.items():
            parameters = self.build(self.space.values(values))
            if parameters is None:
                yield [Record(number, values, (), "refused")]
            else:
                candidates.append(self._candidate(number, parameters))
        if not candidates:
            return
        if self.sampling.pruning:
            yield self._pruned(candidates, suggested)
            return
        finished = (
            Record.of(candidate.number, suggested[candidate.number], outcomes)
            for candidate, outcomes in zip(candidates, self.evaluator.each(candidates), strict=True)
        )
        if self.evaluator.at_once:
            yield list(finished)
        else:
            for record in finished:
                yield [record]

    def _candidate(self, number: int, parameters: Mapping[str, Any]) -> Candidate:
        n_rows = self.evaluator.y.size
        return Candidate.make(number, self.evaluator.estimator, parameters, n_rows)

    def _pruned(
        self, candidates: Sequence[Candidate], suggested: Mapping[int, dict[str, Any]]
    ) -> list[Record]:
        """Go fold by fold with the candidates that are still worth it."""
        outcomes: dict[int, list[Outcome]] = {each.number: [] for each in candidates}
        given_up: set[int] = set()
        live, last = list(candidates), len(self.evaluator.folds) - 1
        for place in range(last + 1):
            priced = self.evaluator.on_fold(live, place)
            going: list[Candidate] = []
            for candidate, outcome in zip(live, priced, strict=True):
                number = candidate.number
                outcomes[number].append(outcome)
                if isinstance(outcome, str):
                    continue
                mean = running_mean(
                    [each for each in outcomes[number] if not isinstance(each, str)]
                )
                # after the last fold there is nothing to save
                if self.sampling.should_prune(number, place, mean) and place < last:
                    given_up.add(number)
                else:
                    going.append(candidate)
            live = going
        records = [
            Record.of(each.number, suggested[each.number], outcomes[each.number])
            for each in candidates
        ]
        return [
            replace(
                record,
                state="pruned" if record.number in given_up else record.state,
                notes=self.sampling.notes(record.number),
            )
            for record in records
        ]

    def _report(self) -> None:
        if self.progress is not None:
            done = [self.ledger.records.get(number) for number in range(self.trials)]
            costs = [each.cost for each in done if each is not None and each.state == "complete"]
            count = sum(each is not None for each in done)
            self.progress(count, self.trials, min(costs, default=float("inf")))
