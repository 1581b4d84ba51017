"""A band from rows whose truth was counted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band, Features, Numbers, common_rows
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.refitting import (
    Fitted,
    Learned,
    Trainer,
    best_line,
    best_shift,
    golden_section,
    level_of_all,
    positive_integer,
    standard_error,
)
from unmet.bands.rule import BandRule
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows, read_column, read_features, read_weights

# --- Rows whose truth was counted, read and checked.


@dataclass(frozen=True)
class Audit:
    """Audited rows.

    Attributes
    ----------
    features : ndarray of shape (n_audited, n_features), or csr_array
    truth : ndarray of shape (n_audited,)
    observation : ndarray of shape (n_audited,) or None
    share : ndarray of shape (n_audited,)
        Weights that sum to one.
    """

    features: Features
    truth: Array
    observation: Array | None
    share: Array

    @classmethod
    def read(cls, X: Any, s: Any, truth: Any, sample_weight: Any, n_features: int) -> Audit:
        """Read what the constructor was given; each error is one sentence."""
        features = read_features(X)
        n_rows = features.shape[0]
        if features.shape[1] != n_features:
            raise InvalidInput(
                f"X of AuditedBand must have {n_features} columns, as the X of fit, "
                f"got {features.shape[1]}."
            )
        known = read_column("truth", truth, n_rows)
        seen = None if s is None else read_column("s", s, n_rows)
        if seen is not None and (seen > known).any():
            row = int(np.argmax(seen > known))
            raise InvalidInput(
                "truth of AuditedBand must not be below the observation, "
                f"got truth {known[row]:g} and observation {seen[row]:g} in row {row}."
            )
        share = read_weights(sample_weight, n_rows)
        return cls(features, known, seen, np.full(n_rows, 1.0 / n_rows) if share is None else share)

    @property
    def n_rows(self) -> int:
        """Number of audited rows."""
        return self.truth.size

    @property
    def share_censored(self) -> float | None:
        """Weighted share of rows whose truth lies above the observation."""
        if self.observation is None:
            return None
        return float(self.share @ (self.truth > self.observation))

    def n_beyond(self, cost: Cost) -> float:
        """How many rows are to be expected beyond the best shift, on its emptier side."""
        level = level_of_all(cost, self.share)
        return min(level, 1.0 - level) / float(self.share @ self.share)

    def priced(self, cost: Cost, underage: Any, overage: Any) -> Cost:
        """Cost of the audited rows: as of the others where it is the same for all of them."""
        given = {"underage": underage, "overage": overage}
        for name, value in cost.parameters().items():
            if common_rows({name: value}) is not None and given.get(name) is None:
                raise InvalidInput(
                    f"{name} must be given to AuditedBand, because fit was given one per row, "
                    "got None."
                )
        own = cost.with_rows(**given)
        count = common_rows(own.parameters())
        if count is not None and count != self.n_rows:
            raise InvalidInput(
                "underage and overage of AuditedBand must be numbers or have one entry per "
                f"audited row, got {count} for {self.n_rows} rows."
            )
        return own


def plain(value: Any) -> Any:
    """Turn a table or a column of one into an array; anything else stays as it is."""
    if nw.dependencies.is_into_series(value):
        return nw.from_native(value, series_only=True).to_numpy()
    if nw.dependencies.is_into_dataframe(value):
        return nw.from_native(value, eager_only=True).to_numpy()
    return value


# --- A band from rows whose truth was counted.

Form: TypeAlias = Literal["shift", "linear"]

_ENOUGH = 5  # rows to be expected beyond the quantile, per parameter of ε
_EQUAL = 1e-6  # a model whose decisions follow a shift up to this share of it follows it exactly


class AuditedBand(BandRule):
    """The shift that would have cost least on rows whose truth is known.

    A shift (low = high = ε) says that the truth is the observation + ε. Trained on it, a model
    decides more; ε is chosen so that what the model decides for the audited rows costs least once
    their truth is known. A linear model with an intercept follows a shift exactly, so the best ε
    is a quantile of truth minus decision, and one fit tells all. For other models that is where a
    search starts, which refits the model.

    Assumes that the audited rows are like those that will be decided: audit at random. Their truth
    is used for nothing else.

    Parameters
    ----------
    X : table, array-like or sparse matrix of shape (n_audited, n_features)
    s : array-like of shape (n_audited,) or None
        Observations of the audited rows: only to say how many of them were censored.
    truth : array-like of shape (n_audited,)
        What was counted; no less than the observation.
    form : {"shift", "linear"}, default="shift"
        One ε for all rows, or one that is linear in the decision that ignores censoring, where
        rows with large decisions hide more; that takes about twice as many audited rows.
    sample_weight : array-like of shape (n_audited,), optional
    underage, overage : float or array-like of shape (n_audited,), optional
        Costs of the audited rows; needed if those of the other rows are given one per row.
    max_refits : int, default=12
        Most further fits of a model that does not follow a shift exactly.

    Attributes
    ----------
    shift_ : float
        ε; for the linear form its mean over the audited rows.
    n_refits_ : int
        Fits of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.bands import AuditedBand
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(1000, 1))
    >>> demand = 50 + 30 * X[:, 0] + generator.normal(scale=10, size=1000)
    >>> sales = np.minimum(demand, 50 + 30 * X[:, 0])
    >>> rule = AuditedBand(X[:200], sales[:200], demand[:200])
    >>> model = LinearDecision(Newsvendor(underage=3, overage=1), band=rule).fit(X, sales)
    >>> round(model.band_rule_.shift_, 1)  # .75-quantile of the noise: 6.7
    6.6
    """

    def __init__(
        self,
        X: Any,
        s: Any,
        truth: Any,
        *,
        form: Form = "shift",
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        max_refits: int = 12,
    ) -> None:
        self.X = X
        self.s = s
        self.truth = truth
        self.form = form
        self.sample_weight = sample_weight
        self.underage = underage
        self.overage = overage
        self.max_refits = max_refits

    def __getstate__(self) -> dict[str, Any]:
        """Turn tables into arrays, which every format can hold and which are read alike."""
        state: dict[str, Any] = super().__getstate__()
        return {name: plain(value) for name, value in state.items()}

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        if self.form not in get_args(Form):
            raise InvalidInput(f"form must be 'shift' or 'linear', got {self.form!r}.")
        audit = Audit.read(self.X, self.s, self.truth, self.sample_weight, self.n_features_in_)
        search = _Search(
            sample,
            audit,
            (self.underage, self.overage),
            Trainer("AuditedBand", estimator),
            self.form,
            positive_integer("max_refits", self.max_refits),
        )
        self._learned: Learned[_Found] = Learned("AuditedBand", search)
        found = self._learned.first(sample.cost)
        self.n_refits_ = found.n_refits
        shift = found.shift(audit.features)
        self.shift_ = shift if isinstance(shift, float) else float(audit.share @ shift)
        return self._diagnosis(audit, audit.priced(sample.cost, *search.prices), found)

    def _band(self, features: Features, cost: Cost) -> Band:
        shift = self._learned.of(cost).shift(features)
        return Band(low=shift, high=shift)

    def _diagnosis(self, audit: Audit, cost: Cost, found: _Found) -> Diagnosis:
        notes = [f"ε is {self.shift_:.4g}, from {audit.n_rows} audited rows{found.error}."]
        if not self.shift_:
            notes.append("On the audited rows no shift costs less than ignoring censoring.")
        needed, beyond = _ENOUGH * (2 if self.form == "linear" else 1), audit.n_beyond(cost)
        if beyond < needed:
            notes.append(
                f"AuditedBand has only {audit.n_rows} audited rows, of which {beyond:.1f} lie "
                f"beyond the {level_of_all(cost, audit.share):.3g}-quantile, and at least {needed} "
                f"should{found.error}."
            )
            warnings.warn(notes[-1], UserWarning, stacklevel=5)
        return Diagnosis(
            rule="AuditedBand",
            n_rows=audit.n_rows,
            share_censored=audit.share_censored,
            identified="weakly" if beyond < needed else "yes",
            notes=tuple(notes),
        )


@dataclass(frozen=True)
class _Found:
    """What audited rows say: ε = intercept + slope · decision, not below 0."""

    base: Fitted
    intercept: float
    slope: float
    error: str
    """Half a sentence on the standard error."""
    n_refits: int

    def shift(self, features: Features) -> Numbers:
        """Give ε: a number, or one per row."""
        if not self.slope:
            return max(self.intercept, 0.0)
        return np.maximum(self.intercept + self.slope * self.base.predict(features), 0.0)


@dataclass(frozen=True)
class _Search:
    """Looks for the shift that costs least on audited rows."""

    sample: Rows
    audit: Audit
    prices: tuple[Any, Any]
    """Underage and overage of the audited rows, where they are their own."""
    trainer: Trainer
    form: Form
    most: int

    def run(self, cost: Cost) -> _Found:
        """Search for one cost."""
        sample, audit = replace(self.sample, cost=cost), self.audit
        priced = audit.priced(cost, *self.prices)
        base = self.trainer.train(sample)
        decision = base.predict(audit.features)
        error = _error(priced, audit, decision)
        if self.form == "linear":
            if not isinstance(priced, HingeCost):
                raise Unsupported(
                    "The form 'linear' of AuditedBand needs a cost with slopes, such as "
                    f"Newsvendor, got {type(priced).__name__}: use the form 'shift'."
                )
            line = best_line(priced, decision, audit.truth, audit.share)
            return _Found(base, *line, error, 1)
        shift = best_shift(priced, decision, audit.truth, audit.share)
        if self.trainer.estimator is None or not shift:
            return _Found(base, shift, 0.0, error, 1)
        return self._refitted(sample, priced, base, shift, error)

    def _refitted(
        self, sample: Rows, priced: Cost, base: Fitted, shift: float, error: str
    ) -> _Found:
        """Keep the shift of a model that follows it; search with the model if it does not."""
        audit = self.audit

        def decide(amount: float) -> Array:
            moved = replace(sample, observation=sample.observation + amount)
            return self.trainer.train(moved).predict(audit.features)

        def paid(decision: Array) -> float:
            return float(audit.share @ priced.cost(decision, audit.truth))

        before = base.predict(audit.features)
        after = decide(shift)
        if np.abs(after - before - shift).max() <= _EQUAL * shift:
            return _Found(base, shift, 0.0, error, 2)
        known = {0.0: paid(before), shift: paid(after)}
        tried = golden_section(lambda a: paid(decide(a)), known, 2.0 * shift, self.most)
        best = min(tried, key=lambda amount: (tried[amount], amount))
        return _Found(base, best, 0.0, error, len(tried))


def _error(cost: Cost, audit: Audit, decision: Array) -> str:
    """Half a sentence on how sure the shift is."""
    if not isinstance(cost, PiecewiseLinearCost):
        return ""
    level = level_of_all(cost, audit.share)
    error = standard_error(audit.truth - decision, audit.share, level)
    return f" (standard error about {error:.3g})"
