"""Training candidates on folds and pricing them: all at once where the model can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from joblib import Parallel, delayed

from unmet.band import Array
from unmet.errors import UnmetError
from unmet.tuning.candidates import Candidate
from unmet.tuning.folds import Fold, take
from unmet.tuning.scoring import Score

Outcome = float | str
"""Cost on the held-out rows of a fold, or the sentence that says why there is none."""


@dataclass(frozen=True)
class Evaluator:
    """What all candidates have in common.

    Attributes
    ----------
    estimator : estimator
        That the candidates are copies of.
    X, y : features and observations of all rows
    known : mapping
        What `fit` is told of each row.
    folds : sequence of Fold
    score : Score
    n_jobs : int
    """

    estimator: Any
    X: Any
    y: Array
    known: Mapping[str, Any]
    folds: Sequence[Fold]
    score: Score
    n_jobs: int

    @property
    def at_once(self) -> bool:
        """Whether the model trains many copies in one call."""
        return hasattr(self.estimator, "fit_many")

    def each(self, candidates: Sequence[Candidate]) -> Iterator[list[Outcome]]:
        """Outcomes of all folds, candidate by candidate, as soon as they are there."""
        yield from self._grouped(candidates, self.folds)

    def on_fold(self, candidates: Sequence[Candidate], place: int) -> list[Outcome]:
        """Outcomes of one fold."""
        fold = [self.folds[place]]
        return [outcomes[0] for outcomes in self._grouped(candidates, fold)]

    def _grouped(
        self, candidates: Sequence[Candidate], folds: Sequence[Fold]
    ) -> Iterator[list[Outcome]]:
        if self.at_once and all(_on_numpy(candidate) for candidate in candidates):
            yield from self._together(candidates, folds)
            return
        tasks = (
            delayed(_one)(candidate, self.X, self.y, self.known, fold, self.score)
            for candidate in candidates
            for fold in folds
        )
        done = iter(Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks))
        for _ in candidates:
            yield [next(done) for _ in folds]

    def _together(
        self, candidates: Sequence[Candidate], folds: Sequence[Fold]
    ) -> list[list[Outcome]]:
        """Call `fit_many` once for all; where that fails, for each, to see whose fault it is."""
        if not candidates:
            return []
        jobs = [candidate.job(fold.train) for candidate in candidates for fold in folds]
        try:
            models = self.estimator.fit_many(self.X, self.y, jobs, n_jobs=self.n_jobs, **self.known)
        except UnmetError as error:
            if len(candidates) == 1:
                return [[str(error)] * len(folds)]
            return [self._together([candidate], folds)[0] for candidate in candidates]
        fitted = iter(models)
        return [
            [_priced(partial(self.score.of, each.model, next(fitted), fold)) for fold in folds]
            for each in candidates
        ]


def _on_numpy(candidate: Candidate) -> bool:
    """Whether `fit_many` takes it: the torch backend trains one network after another."""
    return getattr(candidate.model, "backend", "numpy") == "numpy"


def _one(
    candidate: Candidate, X: Any, y: Array, known: Mapping[str, Any], fold: Fold, score: Score
) -> Outcome:
    """Train and price one candidate on one fold."""

    def price() -> float:
        told = {name: take(value, fold.train) for name, value in known.items()}
        fitted = candidate.on(fold.train).fit(take(X, fold.train), y[fold.train], **told)
        return score.of(candidate.model, fitted, fold)

    return _priced(price)


def _priced(price: Callable[[], float]) -> Outcome:
    """Give a cost, or the sentence of our own error; every other error is a bug and is raised."""
    try:
        return price()
    except UnmetError as error:
        return str(error)
