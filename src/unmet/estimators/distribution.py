"""Decisions from the distribution of the truth: its quantile, or the best one for other costs."""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Features, common_rows
from unmet.censoring.latent.band import LatentBand
from unmet.censoring.rule import BandRule
from unmet.costs import AgeReplacement, Cost, PiecewiseLinearCost
from unmet.errors import Unsupported
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    by_partition,
    one_blas_thread,
    read_cost,
)
from unmet.estimators.lots import ShiftCost, to_lots
from unmet.rows import Rows, read_features
from unmet.validation import OneOf, refusal

DistributionName: TypeAlias = Literal["linear", "boosted"]


class DistributionDecision(DecisionModel):
    """Best decision of each row under the estimated distribution of its truth.

    A rule such as `LatentBand` estimates the distribution of the truth from the observations. For a
    cost with two slopes, the decision with the least expected cost is one quantile of that
    distribution, at α = underage / (underage + overage). For other costs the model searches for the
    decision with the least expected cost. `LinearDecision` uses the same distribution only to shift
    the observations, and fits a linear model to them. Prefer this class if many rows are censored,
    if it is known which, and if rows are few.

    Parameters
    ----------
    cost : Cost, default=None
        Cost of decisions. None is ``Newsvendor(underage=1, overage=1)``, which gives the median.
    band : band rule or "latent", default="latent"
        Rule that estimates the distribution. It must give quantiles of the truth, as `LatentBand`
        does.
    distribution : {"linear", "boosted"}, default="linear"
        Inputs of the location and scale of the distribution. "linear" uses the features. "boosted"
        uses boosted trees if these predict held-out rows better (``LatentBand(location="trees")``).
    random_state : int, RandomState or None, default=None
        Seed of the rule, if `band` is a short name. None draws a new seed in each fit.

    Attributes
    ----------
    band_rule_ : BandRule
        The fitted rule. ``band_rule_.quantile(X, level)`` is any quantile of the distribution.
    diagnosis_ : Diagnosis
        How much the observations hide, and how certain that is.
    cost_ : Cost
        Cost with the numbers per row that `fit` was given.
    band_ : None
        Always None, because no model is trained on shifted observations.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a table whose column names are all text.

    Notes
    -----
    The distribution does not depend on costs, so a fitted model decides for other costs at once:
    `predict` accepts ``underage`` and ``overage`` of the rows. If `fit` was given one per row and
    `predict` none, the model uses their means. If costs are independent of the truth, these means
    give the least expected cost.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import DistributionDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(1000, 1))
    >>> demand = 50 + 30 * X[:, 0] + generator.normal(scale=12, size=1000)
    >>> stock = 60 + 20 * X[:, 0] + generator.normal(scale=6, size=1000)
    >>> sales, sold_out = np.minimum(demand, stock), demand >= stock
    >>> model = DistributionDecision(Newsvendor(underage=9, overage=1), random_state=0)
    >>> model = model.fit(X, sales, censored=sold_out)
    >>> best = 50 + 30 * X[:, 0] + 1.2816 * 12  # the 90% quantile of the truth
    >>> bool(abs(model.predict(X) - best).mean() < 2)
    True
    >>> half = 50 + 30 * X[:, 0]  # other costs need no other fit
    >>> bool(abs(model.predict(X, underage=1) - half).mean() < 2)
    True
    """

    _average_cost: Cost
    """The cost with means in place of numbers per row, for rows of which none are given."""

    def __init__(
        self,
        cost: Cost | None = None,
        band: BandRule | str | None = "latent",
        *,
        distribution: DistributionName = "linear",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.cost = cost
        self.band = band
        self.distribution = distribution
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, costs: dict[str, Any], known: tuple[Any, ...]) -> Self:
        rule = self._read_rule()
        given, _ = self._read(X, y, costs, known)
        with one_blas_thread():
            # no estimator: it is the distribution itself that says whether it bends
            fitted = clone(rule).fit_rows(given, given.cost)
        return self._keep(X, given, (None, fitted, fitted.diagnosis_), costs)

    def fit_rule(
        self,
        rule: BandRule,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
    ) -> Self:
        """Decide by a distribution that was already estimated; no rule is fitted.

        Parameters
        ----------
        rule : BandRule
            A rule fitted to these rows, for any cost, such as ``band_rule_`` of another model.
        X, y, sample_weight, underage, overage
            As in `fit`. They determine the usual costs and the choice between lots.

        Returns
        -------
        DistributionDecision
            Itself.
        """
        costs = {"underage": underage, "overage": overage}
        cost = read_cost(self.cost).with_rows(**costs)
        given = Rows.read(cost, X, y, sample_weight, at_least=2)
        with one_blas_thread():
            found = rule.diagnosis_for(average_cost(cost, given.weight))
        return self._keep(X, given, (None, rule, found), costs)

    @by_partition
    def predict(
        self, X: Any, *, underage: ArrayLike | None = None, overage: ArrayLike | None = None
    ) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        underage, overage : float or array-like of shape (n_rows,), optional
            Costs of these rows. None takes the costs of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Decisions.
        """
        check_is_fitted(self)
        features = read_features(X)
        self._check_names(X)
        cost = self._average_cost.with_rows(underage=underage, overage=overage)
        common_rows({"X": np.empty(features.shape[0]), **cost.parameters()})
        return _best(self.band_rule_, features, cost)

    @by_partition
    def decide(
        self,
        X: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        *,
        minimum: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
    ) -> Array:
        """Decide in whole lots, within bounds, and with a minimum order quantity.

        Of two lots, the method takes the one that costs less under the distribution, if the
        decisions of all training rows had been off by the same amount.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        step, lower, upper, minimum
            As in `LinearDecision.decide`.
        underage, overage : float or array-like of shape (n_rows,), optional
            As in `predict`. The choice between lots uses the costs of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Decisions.
        """
        decision = self.predict(X, underage=underage, overage=overage)
        return to_lots(decision, self._shift_cost, step, lower, upper, minimum)

    def _keep(self, X: Any, given: Rows, chosen: ChosenBand, costs: dict[str, Any]) -> Self:
        """Set the fitted attributes."""
        rows = given.counted()
        with one_blas_thread():
            drawn = _draw(chosen[1], rows)
        self._learn_names(X)
        self._average_cost = average_cost(rows.cost, rows.weight)
        self._keep_choice(given.cost, chosen, costs, drawn)
        return self

    def _predict_at(self, X: Any, **costs: ArrayLike | None) -> Array:
        return self.predict(X, **costs)

    def _read_rule(self) -> BandRule:
        """Give the rule that learns the distribution."""
        OneOf("linear", "boosted")("distribution", self.distribution)
        rule = self.band
        if isinstance(rule, str) and rule == "latent":
            rule = LatentBand(random_state=self.random_state)
        if not isinstance(rule, BandRule):
            raise refusal("band", "a band rule such as LatentBand() or 'latent'", rule)
        if not callable(getattr(rule, "quantile", None)):
            raise Unsupported(
                f"DistributionDecision and the rule {rule!r} do not fit together, because it "
                f"cannot say quantiles of the truth: use LatentBand()."
            )
        if self.distribution == "linear":
            return rule
        if not isinstance(rule, LatentBand) or rule.location not in ("auto", "trees"):
            raise Unsupported(
                f"distribution='boosted' needs LatentBand() with its own location, got "
                f"band={rule!r}."
            )
        bent: BandRule = clone(rule).set_params(location="trees")
        return bent


def _best(rule: Any, features: Features, cost: Cost) -> Array:
    """Decisions of least expected cost under the distribution that a rule has learned."""
    if callable(getattr(rule, "decision", None)):
        return np.asarray(rule.decision(features, cost))
    if isinstance(cost, PiecewiseLinearCost):
        return np.asarray(rule.quantile(features, cost.level))
    raise Unsupported(
        f"The cost {type(cost).__name__} has no level whose quantile would be best, which is all "
        f"that {type(rule).__name__} can say: use LatentBand()."
    )


def _draw(rule: Any, rows: Rows) -> ShiftCost:
    """Evaluate shifts of the decisions on one value of the truth of each row, sampled.

    Not on the observations: those of censored rows are too low, and would speak for smaller lots.
    Levels are spread evenly and in random order, which is nearer to the expectation than chance.
    """
    generator = np.random.default_rng(0)
    index = np.arange(rows.n_rows)
    if rows.n_rows > 4096:  # `ShiftCost` keeps fewer
        index = np.sort(generator.choice(index, 4096, replace=False))
    some = rows.take(index)
    drawn = (generator.permutation(index.size) + 0.5) / index.size
    truth = np.asarray(rule.quantile(some.features, drawn))
    decision, evaluated = _best(rule, some.features, some.cost), some.cost
    if isinstance(evaluated, AgeReplacement) and evaluated.rate is None:
        # what a shift costs is known at a rate: that of these decisions
        evaluated = evaluated.at_rate(evaluated.rate_of(decision, truth, sample_weight=some.weight))
    none = np.empty((some.n_rows, 0))
    return ShiftCost.at(Rows(none, truth, evaluated, some.share), decision)


def average_cost(cost: Cost, weight: Array) -> Cost:
    """Replace each parameter that differs by row by its mean."""
    weight = weight / weight.sum()

    def mean(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(mean, value))
        return float(value @ weight) if np.ndim(value) == 1 else value

    values = {name: mean(v) for name, v in cost.parameters().items()}
    return cost.set_params(**values)
