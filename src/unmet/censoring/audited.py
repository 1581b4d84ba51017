"""A band from rows whose truth was counted."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from unmet.arrays import Array, Band, Features, common_rows
from unmet.censoring.model import Diagnosis
from unmet.censoring.rule import TrainingRule
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost
from unmet.errors import InvalidInput
from unmet.rows import Rows, read_column, read_features, read_weights
from unmet.solvers.exact.direct import best_intercept
from unmet.validation import WholeNumber


class AuditedBand(TrainingRule):
    """Band that costs least on audited rows, whose truth is known.

    The rule chooses a shift ε (low = high = ε). A model that is trained with the shift takes the
    truth to be the observation + ε, and so decides more. The rule chooses ε so that the model's
    decisions for the audited rows cost least, given their truth. A linear model with an intercept
    follows a shift exactly. Its best ε is a quantile of truth minus decision, so one fit is enough.
    For other models the rule starts a search there and refits the model.

    The rule assumes that audited rows resemble the rows to be decided, so audit at random. It uses
    their truth for nothing else.

    Parameters
    ----------
    X : table, array-like or sparse matrix of shape (n_audited, n_features)
        Features of the audited rows.
    s : array-like of shape (n_audited,) or None
        Observations of the audited rows. They only serve to count the censored ones; None skips
        this.
    truth : array-like of shape (n_audited,)
        Counted truth, at least the observation.
    sample_weight : array-like of shape (n_audited,), optional
        Weights of the audited rows. None weights all of them equally.
    underage, overage : float or array-like of shape (n_audited,), optional
        Costs of the audited rows. Needed if the costs of the training rows differ by row.
    max_refits : int, default=12
        Largest number of further fits of a model that does not follow a shift exactly. More refits
        take longer and find ε more precisely.

    Attributes
    ----------
    shift_ : float
        The chosen ε.
    n_refits_ : int
        Number of further fits of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.censoring import AuditedBand
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
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        max_refits: int = 12,
    ) -> None:
        self.X = X
        self.s = s
        self.truth = truth
        self.sample_weight = sample_weight
        self.underage = underage
        self.overage = overage
        self.max_refits = max_refits

    def __getstate__(self) -> dict[str, Any]:
        """Turn tables into arrays, which every format can hold and which are read alike."""
        state: dict[str, Any] = {**super().__getstate__()}
        for name, value in state.items():
            if nw.dependencies.is_into_series(value):
                state[name] = nw.from_native(value, series_only=True).to_numpy()
            elif nw.dependencies.is_into_dataframe(value):
                state[name] = nw.from_native(value, eager_only=True).to_numpy()
        return state

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        WholeNumber(1)("max_refits", self.max_refits)
        self._audit, self._seen = self._read_audit(rows.cost)
        found = self._learn(rows, estimator)
        self.n_refits_, self.shift_ = found["n_refits"], found["shift"]
        return self._diagnosis(self._evaluated(rows.cost), found["error"])

    def _read_audit(self, cost: Cost) -> tuple[Rows, Array | None]:
        """Read what the constructor was given: rows whose observation is the truth, and sales."""
        features = read_features(self.X)
        n_rows = features.shape[0]
        if features.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"X of AuditedBand must have {self.n_features_in_} columns, as the X of fit, "
                f"got {features.shape[1]}."
            )
        known = read_column("truth", self.truth, n_rows)
        seen = None if self.s is None else read_column("s", self.s, n_rows)
        if seen is not None and (seen > known).any():
            row = int(np.argmax(seen > known))
            raise InvalidInput(
                "truth of AuditedBand must not be below the observation, "
                f"got truth {known[row]:g} and observation {seen[row]:g} in row {row}."
            )
        return Rows(features, known, cost, read_weights(self.sample_weight, n_rows)), seen

    def _evaluated(self, cost: Cost) -> Cost:
        """Cost of the audited rows: as of the others where it is the same for all of them."""
        given = {"underage": self.underage, "overage": self.overage}
        for name, value in cost.parameters().items():
            if common_rows({name: value}) is not None and given.get(name) is None:
                raise InvalidInput(
                    f"{name} must be given to AuditedBand, because fit was given one per row, "
                    "got None."
                )
        own = cost.with_rows(**given)
        count = common_rows(own.parameters())
        if count is not None and count != self._audit.n_rows:
            raise InvalidInput(
                "underage and overage of AuditedBand must be numbers or have one entry per "
                f"audited row, got {count} for {self._audit.n_rows} rows."
            )
        return own

    def _band(self, features: Features, cost: Cost) -> Band:
        shift = self._found(cost)["shift"]
        return Band(low=shift, high=shift)

    def _search(self, cost: Cost) -> dict[str, Any]:
        """Search for one cost: keep the best shift of a model that follows it, else refit."""
        rows, audit = replace(self._rows, cost=cost), self._audit
        truth, share = audit.observation, audit.weight / audit.n_rows
        evaluated = self._evaluated(cost)
        before = np.asarray(self._train(rows).predict(audit.features))
        shift = cheapest_shift(evaluated, before, truth, share)
        found = {"shift": shift, "error": "", "n_refits": 1}
        if isinstance(evaluated, PiecewiseLinearCost):
            error = standard_error(truth - before, share, level_of_all(evaluated, share))
            found["error"] = f" (standard error about {error:.3g})"
        if self._estimator is None or not shift:
            return found
        decided = {0.0: before}

        def paid(amount: float) -> float:
            if amount not in decided:
                moved = replace(rows, observation=rows.observation + amount)
                decided[amount] = np.asarray(self._train(moved).predict(audit.features))
            return float(share @ evaluated.cost(decided[amount], truth))

        tried = {0.0: paid(0.0), shift: paid(shift)}
        if np.abs(decided[shift] - before - shift).max() > 1e-6 * shift:  # does not follow a shift
            upper = 2.0 * shift
            while len(tried) < self.max_refits and paid(upper) <= min(tried.values()):
                tried[upper] = paid(upper)
                upper *= 2.0
            left = max(self.max_refits + 1 - len(tried), 1)
            minimize_scalar(paid, bounds=(0.0, upper), method="bounded", options={"maxiter": left})
            tried = {amount: paid(amount) for amount in decided}
        best = min(tried, key=lambda amount: (tried[amount], amount))
        return {**found, "shift": best, "n_refits": len(tried)}

    def _diagnosis(self, cost: Cost, error: str) -> Diagnosis:
        n_rows = self._audit.n_rows
        share = self._audit.weight / n_rows
        notes = [f"ε is {self.shift_:.4g}, from {n_rows} audited rows{error}."]
        if not self.shift_:
            notes.append("On the audited rows no shift costs less than ignoring censoring.")
        # rows to be expected beyond the best shift, on its emptier side
        needed, level = 5, level_of_all(cost, share)
        beyond = min(level, 1.0 - level) / float(share @ share)
        hidden = None
        if self._seen is not None:
            hidden = float(share @ (self._audit.observation > self._seen))
        if beyond < needed:
            notes.append(
                f"AuditedBand has only {n_rows} audited rows, of which {beyond:.1f} lie "
                f"beyond the {level:.3g}-quantile, and at least {needed} should{error}."
            )
            warnings.warn(notes[-1], UserWarning, stacklevel=5)
        return Diagnosis(
            rule="AuditedBand",
            n_rows=n_rows,
            share_censored=hidden,
            identified="weakly" if beyond < needed else "yes",
            notes=tuple(notes),
        )


# --- The shift of decisions that costs least once the truth is known.


def cheapest_shift(cost: Cost, decision: Array, truth: Array, share: Array) -> float:
    """Find the ε ≥ 0 for which decision + ε costs least; the smallest if there are several.

    The result is exact for a cost with slopes. With two slopes it is a quantile of truth −
    decision, in which each row counts with its weight times the sum of its slopes. With more slopes
    it is one of all their kinks.

    Parameters
    ----------
    cost : Cost
        Cost of decisions.
    decision, truth, share : ndarray of shape (n_rows,)
        Decisions, truths, and weights that sum to one.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> truth = np.array([4.0, 1.0, 9.0, 6.0, 8.0])
    >>> cheapest_shift(Newsvendor(underage=3, overage=1), np.zeros(5), truth, np.full(5, 0.2))
    8.0
    """
    if not isinstance(cost, HingeCost):
        return _best_tried(cost, decision, truth, share)
    kinks = cost.kinks(truth - decision, None, share)
    below = float(kinks.below.sum()) * (1.0 - 1e-12)
    slope = (kinks.below + kinks.above).ravel()
    return max(0.0, best_intercept(kinks.position.ravel(), slope, below))


def _best_tried(cost: Cost, decision: Array, truth: Array, share: Array) -> float:
    """Try what would meet the truth of each row, and just less; then between the neighbours."""

    def paid(shift: float) -> float:
        return float(share @ cost.cost(decision + shift, truth))

    meet = np.unique(np.maximum(truth - decision, 0.0))
    if meet.size > 400:  # each evaluates all audited rows
        meet = meet[np.linspace(0, meet.size - 1, 400).astype(np.intp)]
    # a decision that rounding puts above the truth may cost as much as one far above it
    just_less = np.maximum(meet - 1e-9 * max(float(np.abs(truth).max()), 1e-300), 0.0)
    tried = np.unique(np.concatenate([[0.0], meet, just_less]))
    costs = np.array([paid(float(shift)) for shift in tried])
    place = int(np.argmin(costs))
    ends = tried[max(place - 1, 0)], tried[min(place + 1, tried.size - 1)]
    if not ends[0] < ends[1]:
        return float(tried[place])
    found = minimize_scalar(lambda shift: paid(float(shift)), bounds=ends, method="bounded")
    return float(found.x if found.fun < costs[place] else tried[place])


def level_of_all(cost: Cost, share: Array) -> float:
    """Give the level of the best shift as a quantile of truth − decision; ½ without slopes."""
    if not isinstance(cost, PiecewiseLinearCost):
        return 0.5
    below, above = cost.slopes.rows(share.size)
    return float(share @ below) / float(share @ (below + above))


def standard_error(residual: Array, share: Array, level: float) -> float:
    """Halve the distance between the quantiles one standard error below and above a level.

    The share of rows below the true quantile varies by √(α(1 − α)/n), where n is 1 / Σ share².
    Quantiles at α ± this share need no estimate of the density. If α plus this share exceeds the
    largest row, the result is only a lower bound.
    """
    order = np.argsort(residual)
    reached = np.cumsum(share[order])
    spread = np.sqrt(level * (1.0 - level) * float(share @ share))
    ends = np.clip([level - spread, level + spread], 0.0, 1.0 - 1e-12)
    low, high = residual[order][np.searchsorted(reached, ends)]
    return 0.5 * float(high - low)
