"""ε estimated from the observations themselves, by the likelihood of S = min(D, Q)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band, Features, common_rows, expand, read_numbers, slices
from unmet.censoring.latent.diagnose import diagnose
from unmet.censoring.latent.fit import arithmetic, fit_censoring
from unmet.censoring.latent.location import looks_for_bends
from unmet.censoring.latent.model import ROWS_AT_A_TIME, FittedModel, RowDistribution
from unmet.censoring.latent.selection import FittedCandidate
from unmet.censoring.latent.sellout import read_rate
from unmet.censoring.latent.unidentified import (
    WHEN_UNIDENTIFIED,
    RowRegrets,
    WhenUnidentified,
    at_rate,
    left_over,
    more_than_one,
    of_least_cost,
)
from unmet.censoring.model import Diagnosis
from unmet.censoring.order_rule import OrderRuleDetection
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, PiecewiseLinearCost, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows, read_column
from unmet.validation import Maybe, Number, OneOf


class LatentBand(BandRule):
    """Estimate from the observations how much they hide.

    An observation S is the smaller of a truth D and an order Q, neither of which is seen. Its
    density at s is f_D(s) · P(Q > s) + f_Q(s) · P(D > s). The rule fits several families of the
    truth with several kinds of orders and compares them on held-out rows. It chooses the candidate
    with the least censoring among all that the data cannot rule out. ε of a row is then the
    α-quantile of the estimated truth minus the linear α-quantile of the observations, and never
    below 0. Here α is the critical ratio underage / (underage + overage).

    A candidate is ruled out if its score is two standard errors below the best. A candidate without
    censoring needs three standard errors. If the share of censored rows is known or given, one
    standard error is enough. For a model that can bend, boosted trees replace the features where
    demand bends.

    Parameters
    ----------
    sellout_rate : float or tuple of two floats, default=None
        Share of rows that sold out, if you know it. Larger rates give larger decisions. The rate
        does not say how much the stock-outs hid. Decisions therefore cost least on average over all
        amounts that the rate allows, weighted by the skewness of the observations
        (`unmet.censoring.latent.sellout`). A range uses all its rates, and `band_range` gives the
        bands of both ends. If you also name families, the likelihood uses the rate, or the middle
        of the range. None estimates the share.
    families : "auto", "lifetimes", str or sequence of str, default="auto"
        Families of the truth: "normal", "logistic", "laplace", "student", "gumbel" and "skewed";
        for positive observations also "lognormal", "weibull" and "gamma"; for counts
        "negative_binomial". "gumbel" and "skewed" are skewed to the right. "auto" compares those
        that fit the data. If you name families, the rule takes them as known where the data cannot
        tell. "lifetimes" compares "weibull" and "lognormal" without taking them as known.
    orders : "auto", str or sequence of str, default="auto"
        How orders may have been placed: "absent" (they never bind), "noisy" (around a level that
        moves with the truth), "mixture" (as "noisy", but sometimes ample). "auto" compares all of
        them. The rule finds orders that leave a point mass by itself.
    location : {"auto", "trees"}, regressor or None, default="auto"
        Inputs of the location of the truth. "auto" uses the features for a linear model. For other
        models it uses boosted trees if these predict held-out rows clearly better. "trees" tries
        trees for any model. A scikit-learn regressor is fitted to the observations, and the rule
        uses its predictions. None always uses the features. A ridge regression replaces more than
        256 features.
    order_rule : "auto", OrderRuleDetection or None, default="auto"
        Search for an order rule if `fit` is given times. Rows that the search marks as sold out, or
        not sold out, then enter the likelihood as known. None does not search.
    when_unidentified : str, default="expected_cost"
        Which decision to take where the data cannot tell candidates apart. "expected_cost"
        minimises the expected cost over sell-out rates from 0 to 60%. Half of the prior is at 0,
        and observations that are not skewed to the right make larger rates likelier.
        "least_censoring" takes the candidate with the least censoring, which is usually none.
        "minimax_regret" minimises the largest loss against knowing the truth, over all candidates
        and rates up to 60% that are not ruled out. All three agree where the data, flags, stock or
        limits can tell. A range of `sellout_rate` replaces the range from 0 to 60%.
    blend : float from 0 to 1, optional
        Weight of the estimated distribution in the model's training targets, where flags, stock or
        a rate are known. At 1 the model trains on quantiles of the distribution. At 0 it trains on
        observations that are shifted to the level of these quantiles. None is one half for linear
        models and 0 for models that can bend.
    max_rows : int, default=200_000
        Largest number of rows to fit. With more rows the rule fits a stratified sample and adds a
        note to the diagnosis. Smaller values are faster and less precise.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the sample. None draws a new seed in each fit.

    Attributes
    ----------
    diagnosis_ : Diagnosis
        How much the observations hide, and how certain that is.
    model_ : CensoringModel
        Distribution of the truth of any row.
    order_rule_ : OrderRuleDetection or None
        The fitted search for an order rule, if times were given.

    Notes
    -----
    If `fit` is given `Limits`, the likelihood of a row is the probability that its truth lies
    within them, and orders need no model. Decisions may then lie on either side of an observation.

    The rule assumes that truth and order are independent, given the features. It also assumes that
    the level of orders is as far above the location of the truth in every row, in units of its
    scale. Trees are grown on the residuals of a linear fit, as many as held-out rows support.
    Training rows use predictions of trees that have not seen them, because others would hide the
    point mass. A second set of trees models the spread. If it is known which rows are censored, a
    third set models the truth. If trees estimate the location, orders that lie exactly on a bent
    surface appear as noisy orders and not as a point mass.

    Data alone cannot distinguish a right-skewed truth that is censored from a symmetric one that is
    not. Then ``diagnosis_.identified`` is "no" and the band follows `when_unidentified`. In this
    case a sell-out rate, some flags or a few audited rows help more than further observations.

    Examples
    --------
    >>> from unmet import LatentBand, LinearDecision, Newsvendor
    >>> from unmet.simulate import store10
    >>> train = store10(seed=0).train
    >>> model = LinearDecision(Newsvendor(3, 1), band=LatentBand(random_state=0))
    >>> found = model.fit(train.features, train.sales).diagnosis_
    >>> round(found.share_censored, 2), found.identified, found.chosen.truth
    (0.48, 'yes', 'normal')
    """

    _takes_limits = True
    model_: FittedModel

    def __init__(
        self,
        sellout_rate: float | tuple[float, float] | None = None,
        families: Any = "auto",
        orders: Any = "auto",
        *,
        location: Any = "auto",
        order_rule: Any = "auto",
        when_unidentified: WhenUnidentified = "expected_cost",
        blend: float | None = None,
        max_rows: int = 200_000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sellout_rate = sellout_rate
        self.families = families
        self.orders = orders
        self.location = location
        self.order_rule = order_rule
        self.when_unidentified = when_unidentified
        self.blend = blend
        self.max_rows = max_rows
        self.random_state = random_state

    @property
    def diagnosis_(self) -> Diagnosis:
        """Result of the rule: how much the observations hide, and how certain that is."""
        return self.model_.diagnosis_

    @diagnosis_.setter
    def diagnosis_(self, found: Diagnosis) -> None:
        self.model_.diagnosis_ = found

    @property
    def order_rule_(self) -> OrderRuleDetection | None:
        """The fitted search for an order rule, if times were given."""
        found: OrderRuleDetection | None = self.model_.order_rule
        return found

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        OneOf(*WHEN_UNIDENTIFIED)("when_unidentified", self.when_unidentified)
        self._blend = Maybe(Number(least=0, most=1))("blend", self.blend)
        if self._blend is None:
            # On real sets 0, .5 and 1 close the same share of the gap, but for 3 points.
            self._blend = 0.0 if looks_for_bends("auto", estimator) else 0.5
        how = {name: each for name, each in self.get_params(deep=False).items() if name != "blend"}
        self.model_ = fit_censoring(rows, estimator=estimator, **how)
        self._verdicts: dict[str, Any] = {}
        return self.diagnosis_

    @arithmetic()
    def diagnosis_for(self, cost: Cost) -> Diagnosis:
        """Give the diagnosis for another cost, whose parameters must be numbers."""
        return diagnose(self.model_, cost, self.when_unidentified)

    def _alone(self, cost: Cost) -> FittedCandidate | None:
        """Give the candidate model that decides alone; None where the least regret is asked for."""
        chosen, when = self.model_.chosen, self.when_unidentified
        if when == "least_censoring" or self.model_.data.known:
            return chosen
        if when == "minimax_regret":
            return None
        sure = self.diagnosis_.identified == "yes"
        return chosen if sure else of_least_cost(self.model_, cost)

    def _left(self, cost: Cost) -> list[FittedCandidate]:
        """All candidate models that are left."""
        verdict, named = self.diagnosis_.identified, repr(cost)
        # of costs that differ by row, what was said of those of `fit`
        if named != repr(self.cost_) and common_rows(cost.parameters()) is None:
            if named not in self._verdicts:
                self._verdicts[named] = diagnose(self.model_, cost).identified
            verdict = self._verdicts[named]
        many = more_than_one(self.model_, verdict)
        return left_over(self.model_) if many else [self.model_.chosen]

    def _regrets(
        self, features: Features, cost: Cost, *, anchored: bool
    ) -> Iterator[tuple[slice, RowRegrets]]:
        """Go through the rows, some at a time: what decisions lose under all that counts."""
        left = self._left(cost)
        for index in slices(features.shape[0], ROWS_AT_A_TIME):
            part = features[index], cost.take(index)
            yield index, RowRegrets(self.model_, left, *part, anchored=anchored)

    @arithmetic()
    def _band(self, features: Features, cost: Cost) -> Band:
        shift = self._shift(features, cost)
        limits = self.model_.interval_censored
        return Band.around(shift, 0.0) if limits else Band(shift, shift)

    def _shift(self, features: Features, cost: Cost) -> Array:
        """ε of each row, by the candidate that decides alone or by the least regret."""
        alone = self._alone(cost)
        if alone is not None:
            return self.model_.shifts(alone, features, cost)
        shift = np.empty(features.shape[0])
        for index, rows in self._regrets(features, cost, anchored=True):
            # at least what is seen, and below it by rounding only
            shift[index] = np.maximum(rows.decide() - rows.seen, 0.0)
        return shift

    @arithmetic()
    def _band_at(self, features: Features, cost: Cost, observation: Array) -> Band:
        model = self.model_
        stacked = bool(model.members) and self._alone(cost) is model.chosen
        if not (model.interval_censored or stacked):
            return self._band(features, cost)
        aim, _ = model.decisions(model.chosen, features, cost)
        if model.interval_censored:
            return Band.around(aim, observation)
        shifted = observation + model.shifts(model.chosen, features, cost)
        # shrunk to their quantile or mean, rows still ask for it; not so for best ages
        keeps = isinstance(cost, PiecewiseLinearCost | SquaredError)
        blend = self._blend if keeps else 0.0
        return Band.around(shifted + blend * (aim - shifted), observation)

    def quantile(self, X: Any, level: ArrayLike) -> Array:
        """Give a quantile of the truth of any rows, under the chosen model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        level : float or array-like of shape (n_rows,)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
            Quantiles.
        """
        return self.quantile_function(X)(level)

    def quantile_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """Give `quantile` of these rows as a function of the level; faster for many levels.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.

        Returns
        -------
        callable
            Takes a level, or one per row, and returns one quantile per row.
        """
        features = self._read_features(X)
        rows = self._rows(features)
        allowed = "a number between 0 and 1"

        def quantile(level: ArrayLike) -> Array:
            levels = read_numbers("level", level, allowed, lambda each: (each > 0) & (each < 1))
            common_rows({"X": np.empty(features.shape[0]), "level": levels})
            return rows.truth(levels)

        return quantile

    def survival(self, X: Any, value: ArrayLike) -> Array:
        """Give the probability that the truth of rows is above a value, under the chosen model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        value : float or array-like of shape (n_rows,)
            Values to exceed.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities.
        """
        return self.survival_function(X)(value)

    def survival_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """Give `survival` of these rows as a function of the value; faster for many values.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.

        Returns
        -------
        callable
            Takes a value, or one per row, and returns one probability per row.
        """
        features = self._read_features(X)
        rows, n_rows = self._rows(features), features.shape[0]

        def survival(value: ArrayLike) -> Array:
            return 1.0 - rows.below(expand("value", read_numbers("value", value), n_rows))

        return survival

    def decision(self, X: Any, cost: Cost | None = None) -> Array:
        """Give the decision of each row that costs least under the estimated distribution.

        No model is trained. For a newsvendor the decision is the α-quantile of the truth under the
        chosen model. If several candidates are left, the decision follows `when_unidentified`.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        cost : Cost, optional
            Another cost than that of `fit`. None takes the cost of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Decisions.
        """
        return self._decide(*self._read(X, cost, None, None))

    @arithmetic()
    def _decide(self, features: Features, cost: Cost) -> Array:
        alone = self._alone(cost)
        if alone is not None:
            if isinstance(cost, PiecewiseLinearCost):
                return self.model_.at(alone, features).truth(cost.level)
            return self.model_.decisions(alone, features, cost)[0]
        decided = np.empty(features.shape[0])
        for index, rows in self._regrets(features, cost, anchored=False):
            decided[index] = rows.decide()
        return decided

    def certificate(self, X: Any, cost: Cost | None = None, *, decision: Any = None) -> Array:
        """Bound the extra cost of a decision of each row, compared with knowing the distribution.

        The bound is the largest expected extra cost over all candidates that are left, each of
        which may be off by two standard errors. It holds if one of the candidates is true.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        cost : Cost, optional
            Another cost than that of `fit`. None takes the cost of `fit`.
        decision : array-like of shape (n_rows,), optional
            Decisions to bound. None takes the decisions that the band leads to.

        Returns
        -------
        ndarray of shape (n_rows,)
            Bounds, in units of the cost.
        """
        features, used = self._read(X, cost, None, None)
        if self.model_.data.known:
            raise Unsupported(
                "certificate is for rows of which nobody knows whether they are censored: flags, "
                "stock or limits leave one candidate model."
            )
        n_rows, lost = features.shape[0], np.empty(features.shape[0])
        given = None if decision is None else read_column("decision", decision, n_rows)
        shift = self._shift(features, used) if given is None else np.zeros(n_rows)
        for index, rows in self._regrets(features, used, anchored=True):
            here = rows.seen + shift[index] if given is None else given[index]
            lost[index] = rows.certificate(here)
        return lost

    def band_at(self, X: Any, sellout_rate: float, *, cost: Cost | None = None) -> Band:
        """Give the band of any rows for an assumed sell-out rate.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        sellout_rate : float
            Assumed share of rows that sold out. Larger rates give higher bands.
        cost : Cost, optional
            Another cost than that of `fit`. None takes the cost of `fit`.

        Returns
        -------
        Band
            Low and high of each row.
        """
        if self.model_.interval_censored:
            raise Unsupported(
                "band_at and limits of the truth do not fit together, because limits say of every "
                "row more than a rate does: use band."
            )
        rate = read_rate(sellout_rate)
        if rate is None or rate.low != rate.high:
            raise InvalidInput(f"sellout_rate must be one number here, got {sellout_rate!r}.")
        features, used = self._read(X, cost, None, None)
        shift = self.model_.shifts(at_rate(self.model_, rate.low), features, used)
        return Band(shift, shift)

    def band_range(self, X: Any, *, cost: Cost | None = None) -> tuple[Band, Band]:
        """Give the bands of both ends of the range of sell-out rates; equal without a range.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        cost : Cost, optional
            Another cost than that of `fit`. None takes the cost of `fit`.

        Returns
        -------
        tuple of two Bands
            Band of the lowest and of the highest rate.
        """
        band, rate = self.band(X, cost=cost), self.model_.rate
        if rate is None or rate.low == rate.high or self.model_.data.known:
            return band, band
        return self.band_at(X, rate.low, cost=cost), self.band_at(X, rate.high, cost=cost)

    def censored_probability(self, X: Any, s: Any) -> Array:
        """Give the probability that the truth of each row lies above its observation.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        s : array-like of shape (n_rows,)
            Observations.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities.
        """
        features = self._read_features(X)
        observed = read_column("s", s, features.shape[0])
        return self.model_.probability_censored(Rows(features, observed, self.cost_))

    def _rows(self, features: Features) -> RowDistribution:
        """Give the distribution of rows under the chosen model."""
        return self.model_.at(self.model_.chosen, features)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: everything it can be asked, but no training rows."""
        if hasattr(self, "model_"):
            # which fits the usual rates, if nobody has asked yet
            _ = self.diagnosis_.sensitivity, self.diagnosis_.ambiguity
        return super().to_state()
