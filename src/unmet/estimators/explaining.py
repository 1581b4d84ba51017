"""Explain a decision: split it into parts that add up to it.

A decision differs from usual sales for three reasons. Each part is the difference between two
models of the same kind that differ in nothing else:

====================  ==========================================================================
usual sales           u(x): the median of the observations, taken for the truth
hidden demand         m(x) − u(x): the median of the truth, which the band puts higher
cost of running out   y(x) − m(x): from the median to the level at which costs balance
rounding              what lots, bounds and a minimum order add or take away
====================  ==========================================================================

y is the model that decides. u and m are trained at equal costs: u without a band, m with the band
that the model's own rule gives at these costs. The rule is not fitted again. No truth lies below
its observation, so m counts as u if two fits give less. The differences telescope, so the parts add
up for every model.

If a shelf is emptied on busy days only, the median of the truth is seen and little is hidden there.
What busy days hide then appears in the third part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, Features
from unmet.censoring.model import Diagnosis
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, CustomPricing, HingeCost, Newsvendor, SquaredError
from unmet.errors import Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.boosted import BoostedDecision
from unmet.estimators.distribution import DistributionDecision
from unmet.estimators.linear import LinearDecision
from unmet.estimators.lots import to_lots
from unmet.rows import Rows, read_features
from unmet.validation import Instance

PARTS = ("usual_sales", "hidden_demand", "cost_of_running_out", "rounding")
"""What a decision consists of; `unmet.planning.OrderPlan.explain` has the first three."""


@dataclass(frozen=True)
class DecisionParts:
    """Decisions of some rows, split into parts.

    `DecisionExplainer.explain` returns it.

    Attributes
    ----------
    usual_sales : ndarray of shape (n_rows,)
        Median of the observations of such rows.
    hidden_demand : ndarray of shape (n_rows,)
        Distance from there up to the median of the truth; at least 0.
    cost_of_running_out : ndarray of shape (n_rows,)
        Distance from there to the decision, because a missing unit costs more than a leftover unit.
        Below 0 if it costs less.
    rounding : ndarray of shape (n_rows,)
        Change by lots, bounds and a minimum order.
    decision : ndarray of shape (n_rows,)
        Sum of these four parts.
    contributions : ndarray of shape (n_rows, n_features + 1), or None
        Contribution of each column to the decision before rounding, with the mean decision in the
        last column. Rows sum to the decision.
    names : tuple of str
        Names of the columns that contribute.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Band, LinearDecision, Newsvendor
    >>> from unmet.estimators import DecisionExplainer
    >>> X, sales = np.zeros((9, 1)), np.arange(1.0, 10.0)
    >>> model = LinearDecision(Newsvendor(underage=3, overage=1), band=Band(low=2, high=2))
    >>> parts = DecisionExplainer(model.fit(X, sales)).fit(X, sales).explain(X[:1], step=6)
    >>> parts.hidden_demand.round(), parts.decision
    (array([2.]), array([12.]))
    """

    usual_sales: Array
    hidden_demand: Array
    cost_of_running_out: Array
    rounding: Array
    decision: Array
    contributions: Array | None = None
    names: tuple[str, ...] = ()

    def columns(self) -> dict[str, Array]:
        """Give the parts by name, with the decision last, as columns of a table."""
        return {name: getattr(self, name) for name in (*PARTS, "decision")}

    def sentence(self, row: int = 0) -> str:
        """Describe the parts of one decision in words.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        """
        usual, hidden, cost, rounding = (float(getattr(self, name)[row]) for name in PARTS)
        said = f"{self.decision[row]:g} = {usual:.1f} usual sales"
        others = {"hidden demand": hidden, "cost of running out": cost, "rounding": rounding}
        for words, units in others.items():
            said += f" {'−' if units < 0 else '+'} {abs(units):.1f} {words}"
        return said


class DecisionExplainer(BaseEstimator):
    """Split of orders into usual sales, hidden demand and the cost of running out.

    Parameters
    ----------
    model : DecisionModel
        A fitted `LinearDecision`, `DistributionDecision`, `NeuralDecision` or `BoostedDecision`,
        for orders: its cost is piecewise linear, or `SquaredError`.

    Attributes
    ----------
    usual_ : DecisionModel
        Model at equal costs on the observations.
    middle_ : DecisionModel or None
        Model at equal costs with the band; None if no model had to be trained for it.
    means_ : ndarray of shape (n_features,) or None
        Means of the columns, for the contributions of a linear model.

    Notes
    -----
    `fit` trains at most two further models of the same kind, and no band rule. Without a band or
    with equal costs it trains one, because two of the three models are the same. For a distribution
    it trains a linear model on the observations and reads the median of the truth from the
    distribution. `SquaredError` has no level, so its decision is the middle.

    The split is that of the models. If the data do not show how much is hidden
    (``model.diagnosis_.identified``), the parts do not show it either.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Band, LinearDecision, Newsvendor
    >>> from unmet.estimators import DecisionExplainer
    >>> X, sales = np.zeros((9, 1)), np.arange(1.0, 10.0)
    >>> model = LinearDecision(Newsvendor(underage=3, overage=1), band=Band(low=2, high=2))
    >>> model = model.fit(X, sales)
    >>> why = DecisionExplainer(model).fit(X, sales).explain(X[:1], step=6)
    >>> why.sentence()
    '12 = 5.0 usual sales + 2.0 hidden demand + 2.0 cost of running out + 3.0 rounding'
    """

    def __init__(self, model: DecisionModel) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, *, sample_weight: ArrayLike | None = None) -> Self:
        """Train the models to compare with, on the training rows of the model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features of the training rows.
        y : array-like of shape (n_rows,)
            Observations of the training rows.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None weights all rows equally.

        Returns
        -------
        DecisionExplainer
            Itself.
        """
        model = self._read_model()
        even, level = _even(model.cost_), getattr(model.cost_, "level", None)
        model._check_names(X)
        distribution = isinstance(model, DistributionDecision)
        bare: DecisionModel = LinearDecision() if distribution else clone(model)
        self.usual_ = bare.set_params(cost=even, band=None).fit(X, y, sample_weight=sample_weight)
        self.middle_: DecisionModel | None = None
        middle_at_once = level is not None and bool(np.all(level == 0.5))
        self._same = isinstance(even, SquaredError) or middle_at_once
        nothing_hidden = model.band_rule_ is None and model.band is None
        if not (distribution or self._same or nothing_hidden):
            # at even costs, with the band that was given or that the rule gives there
            rule = model.band_rule_
            band = model.band if rule is None else _LearnedRule(rule)
            middle: DecisionModel = clone(model).set_params(cost=even, band=band)
            middle.fit(X, y, sample_weight=sample_weight)
            middle.band = middle.band_rule_ = middle.diagnosis_ = None  # only decisions are asked
            self.middle_ = middle
        self.means_ = None
        if isinstance(model, LinearDecision):
            rows = Rows.read(even, X, y, sample_weight).counted()
            self.means_ = np.asarray(rows.weight / rows.n_rows @ rows.features)
        return self

    def explain(
        self,
        X: Any,
        step: ArrayLike | None = 1,
        lower: ArrayLike | None = 0,
        upper: ArrayLike | None = None,
        *,
        minimum: ArrayLike | None = None,
        contributions: bool = False,
    ) -> DecisionParts:
        """Split decisions into parts.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features of the rows to decide.
        step, lower, upper, minimum
            As in `LinearDecision.decide`, whose decisions are explained.
        contributions : bool, default=False
            Whether to add the contribution of each column. For a linear model it is the coefficient
            times the distance from the mean of the training rows, for trees the SHAP value
            (`BoostedDecision.contributions`). Networks and distributions do not support it.

        Returns
        -------
        DecisionParts
            The parts of each decision.
        """
        check_is_fitted(self, "usual_")
        model = self._read_model()
        wanted, usual = model.predict(X), self.usual_.predict(X)
        middle = np.maximum(wanted if self._same else self._middle(model, X, usual), usual)
        decision = to_lots(wanted, model._shift_cost, step, lower, upper, minimum)
        parts = usual, middle - usual, wanted - middle, decision - wanted
        if not contributions:
            return DecisionParts(*parts, decision)
        places = [f"column {place}" for place in range(model.n_features_in_)]
        names = tuple(map(str, getattr(model, "feature_names_in_", places)))
        return DecisionParts(*parts, decision, self._contributions(model, X), names)

    def _read_model(self) -> DecisionModel:
        """Model that can be taken apart."""
        model: DecisionModel = Instance(DecisionModel, "a fitted decision model")(
            "model", self.model
        )
        check_is_fitted(model)
        return model

    def _middle(self, model: DecisionModel, X: Any, usual: Array) -> Array:
        """Middle of the truth of each row."""
        if self.middle_ is not None:
            return self.middle_.predict(X)
        if not isinstance(model, DistributionDecision):
            return usual
        rule: Any = model.band_rule_  # which can say quantiles of the truth
        return np.asarray(rule.quantile(X, 0.5))

    def _contributions(self, model: DecisionModel, X: Any) -> Array:
        if isinstance(model, BoostedDecision):
            return model.contributions(X)
        if not isinstance(model, LinearDecision):
            raise Unsupported(
                "contributions can be told of LinearDecision and BoostedDecision, got a "
                f"{type(model).__name__}, in which columns do not add up."
            )
        features: Features = read_features(X)
        dense = features if isinstance(features, np.ndarray) else features.toarray()
        means = np.asarray(self.means_)
        mean = model.intercept_ + means @ model.coef_
        away = (dense - means) * model.coef_
        return np.column_stack([away, np.full(len(dense), mean)])


class _LearnedRule(BandRule):
    """A rule that has learned already: it gives bands at any cost and learns nothing again."""

    def __init__(self, rule: BandRule) -> None:
        self.rule = rule

    def __sklearn_clone__(self) -> Self:
        return self

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:  # noqa: ARG002
        return self.rule.diagnosis_

    def _band(self, features: Features, cost: Cost) -> Band:
        return self.rule._band(features, cost)

    def _band_at(self, features: Features, cost: Cost, observation: Array) -> Band:
        return self.rule._band_at(features, cost, observation)


def _even(cost: Cost) -> Cost:
    """Cost whose best decision is the middle; of the same size, so that penalties weigh alike."""
    if isinstance(cost, SquaredError):
        return cost
    if isinstance(cost, CustomPricing) or not isinstance(cost, HingeCost):
        raise Unsupported(
            "Only orders are taken apart into usual sales, hidden demand and the cost of running "
            f"out, got the cost {type(cost).__name__}."
        )
    tiers = cost.tiers
    size = 0.5 * float(np.mean(tiers.below[0]) + np.mean(tiers.above[0]))
    return Newsvendor(size, size) if size > 0 else Newsvendor(1.0, 1.0)
