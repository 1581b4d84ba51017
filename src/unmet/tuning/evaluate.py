"""Training candidates on folds and pricing them: all at once where the model can."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from unmet.arrays import Array, Band, common_rows, read_missing
from unmet.bands import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput, UnmetError, Unsupported
from unmet.models.base import read_band, read_cost
from unmet.rows import read_weights
from unmet.tuning.splits import Index, SearchFold, take

# --- One combination of values as an estimator that can be trained on any rows.

Build = Callable[[dict[str, Any]], Mapping[str, Any] | None]


def last_step(model: Any) -> Any:
    """Give the estimator that decides: of a pipeline its last step."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


@dataclass(frozen=True)
class Candidate:
    """An estimator with the parameters of one trial.

    Attributes
    ----------
    number : int
        Of the trial.
    parameters : dict
        Of the estimator, as `build` gave them.
    model : estimator
        A copy that has them, not fitted.
    """

    number: int
    parameters: dict[str, Any]
    model: Any

    @classmethod
    def make(
        cls, number: int, estimator: Any, parameters: Mapping[str, Any], n_rows: int
    ) -> Candidate:
        """Set the parameters on a copy; names that the estimator lacks are a mistake of `build`."""
        try:
            model = clone(estimator).set_params(**parameters)
        except (AttributeError, TypeError, ValueError) as error:
            text = " ".join(str(error).split()).rstrip(".")
            raise InvalidInput(
                f"build must return parameters of {type(estimator).__name__}, got {text}."
            ) from None
        for per_row in _per_row(model).values():
            rows = {"y": np.broadcast_to(0.0, n_rows), **per_row.parameters()}
            common_rows(rows)  # a longer one would be cut without a word
        return cls(number, dict(parameters), model)

    def on(self, rows: Index) -> Any:
        """Give a copy for some rows: costs and bands with one entry per row keep those of them."""
        model = clone(self.model)
        chosen = {name: value.take(rows) for name, value in _per_row(model).items()}
        last_step(model).set_params(**chosen)
        return model

    def job(self, rows: Index) -> dict[str, Any]:
        """Say the same for `fit_many`, which chooses the rows of costs and bands itself."""
        top = {name.partition("__")[0] for name in self.parameters}
        given = self.model.get_params(deep=False)
        return {**{name: given[name] for name in top}, "rows": rows}


def _per_row(model: Any) -> dict[str, Cost | Band]:
    """Cost and band of the estimator that decides, by name, where they are given."""
    given = last_step(model).get_params(deep=False)
    return {n: given[n] for n in ("cost", "band") if isinstance(given.get(n), Cost | Band)}


def read_build(build: Any, space: Mapping[str, Any], estimator: Any) -> Build:
    """Turn sampled values into parameters: by `build`, or as they are."""
    if build is not None:
        if not callable(build):
            raise InvalidInput(
                f"build must be a function of the sampled values, got {build!r:.60}."
            )
        return _checked(build)
    known = estimator.get_params(deep=True)
    for name in space:
        if name not in known:
            raise InvalidInput(
                f"space must name parameters of {type(estimator).__name__} where no build is "
                f"given, got {name!r}."
            )
    return dict


def _checked(build: Build) -> Build:
    def checked(values: dict[str, Any]) -> Mapping[str, Any] | None:
        parameters = build(values)
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InvalidInput(
                f"build must return parameters by name, or None, got {parameters!r:.60}."
            )
        return parameters

    return checked


# --- What a candidate costs on rows that it has not seen.

Kind = Literal["realised", "observed", "callable"]

NO_TRUTH = (
    "search has no truth to score on, so it prices held-out decisions on the observations, with "
    "the candidate's own band: that prefers orders that are too low and bands that are too wide. "
    "Give truth where some rows have one, or accept it with score='observed'."
)


@dataclass(frozen=True)
class Score:
    """How held-out rows are evaluated; smaller is better.

    Attributes
    ----------
    kind : {"realised", "observed", "callable"}
    X, y : features and observations of all rows
    truth : ndarray of shape (n_rows,) or None
        NaN where it is not known.
    known : mapping
        What `fit` is told of each row.
    call : callable or None
    """

    kind: Kind
    X: Any
    y: Array
    truth: Array | None
    known: Mapping[str, Any]
    call: Callable[[Any, Any, Any], Any] | None = None

    def of(self, candidate: Any, fitted: Any, fold: SearchFold) -> float:
        """Evaluate a fitted model on the rows that it has not seen.

        Parameters
        ----------
        candidate : estimator
            Not fitted; its cost and band may have one entry for each of all rows.
        fitted : estimator
            The same, fitted on the rows of the fold.
        fold : SearchFold
        """
        rows = fold.held_out
        if self.call is not None:
            return _number(self.call(fitted, take(self.X, rows), self.y[rows]))
        if self.truth is not None:
            rows = rows[~np.isnan(self.truth[rows])]
        held_out = take(self.X, rows)
        cost = self._cost(candidate, rows)
        decision = fitted.predict(held_out)
        if self.truth is not None:
            return self._mean(cost.cost(decision, self.truth[rows]), rows)
        band = _band(candidate, fitted, held_out, rows, cost)  # Algorithm 1
        return self._mean(cost.loss(decision, self.y[rows], band), rows)

    def check(self, estimator: Any, folds: Sequence[SearchFold]) -> None:
        """Refuse before anything is trained."""
        if self.call is not None:
            return
        if "cost" not in last_step(estimator).get_params(deep=False):
            name = type(last_step(estimator)).__name__
            raise Unsupported(f"search needs a callable score for {name}, which has no cost.")
        for place, fold in enumerate(folds):
            if self.truth is not None and np.isnan(self.truth[fold.held_out]).all():
                raise InvalidInput(
                    "truth must be known for some held-out row of every split, "
                    f"got none in split {place}."
                )

    def _cost(self, candidate: Any, rows: Index) -> Cost:
        """Cost of these rows; numbers per row are those of `fit`, or of the cost itself."""
        by_row = {name: take(self._told(name), rows) for name in ("underage", "overage")}
        return read_cost(last_step(candidate).cost).take(rows).with_rows(**by_row)

    def _mean(self, paid: Array, rows: Index) -> float:
        share = read_weights(take(self._told("sample_weight"), rows), rows.size)
        return float(paid.mean() if share is None else paid @ share)

    def _told(self, name: str) -> Any:
        """Find what `fit` is told under a name, or under that name of a pipeline's step."""
        for told, value in self.known.items():
            if told.rpartition("__")[2] == name:
                return value
        return None


def read_score(score: Any, truth: Any, X: Any, y: Array, known: Mapping[str, Any]) -> Score:
    """Choose how to price; warn where nothing but observations is left."""
    if score is not None and not callable(score) and score not in ("realised", "observed"):
        raise InvalidInput(
            f"score must be 'realised', 'observed', a callable or None, got {score!r:.60}."
        )
    if truth is not None and (callable(score) or score == "observed"):
        raise InvalidInput(f"truth is only used by score='realised', got score={score!r:.60}.")
    if callable(score):
        return Score("callable", X, y, None, known, score)
    if truth is not None:
        if np.ndim(truth) != 1:
            raise InvalidInput(
                f"truth must have one number per row, or NaN, got shape {np.shape(truth)}."
            )
        column = read_missing("truth", truth, y.size)
        return Score("realised", X, y, column, known)
    if score == "realised":
        raise InvalidInput("truth must be given for score='realised', got None.")
    if score is None:
        warnings.warn(NO_TRUTH, UserWarning, stacklevel=3)
    return Score("observed", X, y, None, known)


def _band(candidate: Any, fitted: Any, held_out: Any, rows: Index, cost: Cost) -> Band | None:
    """Band of held-out rows: given, or by the rule that the model has fitted."""
    given = read_band(getattr(last_step(candidate), "band", None))
    if not isinstance(given, BandRule):
        return None if given is None else given.take(rows)
    if isinstance(fitted, Pipeline):
        held_out = fitted[:-1].transform(held_out)
    band: Band = last_step(fitted).band_rule_.band(held_out, cost=cost)
    return band


def _number(score: Any) -> float:
    if isinstance(score, Real) and not isinstance(score, bool) and not np.isnan(float(score)):
        return float(score)
    raise InvalidInput(f"score must return a number, got {score!r:.60}.")


# --- Training candidates on folds and pricing them: all at once where the model can.

Outcome = float | str
"""Cost on the held-out rows of a fold, or the sentence that says why there is none."""


@dataclass(frozen=True)
class Evaluator:
    """What all candidates have in common.

    Attributes
    ----------
    estimator : estimator
        That the candidates are copies of.
    folds : sequence of SearchFold
    score : Score
        Holds the rows, too.
    n_jobs : int
    """

    estimator: Any
    folds: Sequence[SearchFold]
    score: Score
    n_jobs: int

    @property
    def at_once(self) -> bool:
        """Whether the model trains many copies in one call."""
        return hasattr(self.estimator, "fit_many")

    def outcomes(
        self, candidates: Sequence[Candidate], folds: Sequence[SearchFold]
    ) -> Iterator[list[Outcome]]:
        """Outcomes of some folds, candidate by candidate, as soon as they are there."""
        if self.at_once:
            yield from self._together(candidates, folds)
            return
        tasks = (
            delayed(_train_and_evaluate)(candidate, fold, self.score)
            for candidate in candidates
            for fold in folds
        )
        done = iter(Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks))
        for _ in candidates:
            yield [next(done) for _ in folds]

    def _together(
        self, candidates: Sequence[Candidate], folds: Sequence[SearchFold]
    ) -> list[list[Outcome]]:
        """Call `fit_many` once for all; where that fails, for each, to see whose fault it is."""
        if not candidates:
            return []
        jobs = [candidate.job(fold.train) for candidate in candidates for fold in folds]
        try:
            score = self.score
            models = self.estimator.fit_many(
                score.X, score.y, jobs, n_jobs=self.n_jobs, **score.known
            )
        except UnmetError as error:
            if len(candidates) == 1:
                return [[str(error)] * len(folds)]
            return [self._together([candidate], folds)[0] for candidate in candidates]
        fitted = iter(models)
        return [
            [_evaluated(partial(self.score.of, each.model, next(fitted), fold)) for fold in folds]
            for each in candidates
        ]


def _train_and_evaluate(candidate: Candidate, fold: SearchFold, score: Score) -> Outcome:
    """Train and price one candidate on one fold."""

    def price() -> float:
        rows = fold.train
        told = {name: take(value, rows) for name, value in score.known.items()}
        fitted = candidate.on(rows).fit(take(score.X, rows), score.y[rows], **told)
        return score.of(candidate.model, fitted, fold)

    return _evaluated(price)


def _evaluated(price: Callable[[], float]) -> Outcome:
    """Give a cost, or the sentence of our own error; every other error is a bug and is raised."""
    try:
        return price()
    except UnmetError as error:
        return str(error)
