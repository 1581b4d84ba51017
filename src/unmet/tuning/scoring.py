"""What a candidate costs on rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from unmet.band import Array, Band
from unmet.bands import BandRule
from unmet.bands.sample import read_missing
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.parameters import read_band, read_cost
from unmet.rows import read_weights
from unmet.tuning.candidates import last_step
from unmet.tuning.folds import Fold, Index, take

Kind = Literal["realised", "observed", "callable"]

NO_TRUTH = (
    "search has no truth to score on, so it prices held-out decisions on the observations, with "
    "the candidate's own band: that prefers orders that are too low and bands that are too wide. "
    "Give truth where some rows have one, or accept it with score='observed'."
)


@dataclass(frozen=True)
class Score:
    """How held-out rows are priced; smaller is better.

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

    def of(self, candidate: Any, fitted: Any, fold: Fold) -> float:
        """Price a fitted model on the rows that it has not seen.

        Parameters
        ----------
        candidate : estimator
            Not fitted; its cost and band may have one entry for each of all rows.
        fitted : estimator
            The same, fitted on the rows of the fold.
        fold : Fold
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

    def check(self, estimator: Any, folds: Sequence[Fold]) -> None:
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
