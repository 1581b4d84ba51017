"""ε estimated from the observations themselves: the likelihood of S = min(D, Q)."""

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
    """Learn how much the observations hide from their own distribution.

    Observations are the smaller of a truth D and an order Q, neither of which is seen. Their
    likelihood is: S = min(D, Q) has density f_D · P(Q > s) + f_Q · P(D > s). This rule fits several
    families of the truth with several kinds of orders, compares them on rows held out, and takes
    the one with the least censoring of all that the data cannot rule out (two standard errors,
    three for no censoring at all; one where the share censored is known or imposed). ε of a row is
    then the latent α-quantile less the linear α-quantile of the observations, never below 0. Under
    a model that can bend, boosted trees stand for the features where demand bends.

    Parameters
    ----------
    sellout_rate : float or tuple of two floats, default=None
        Share of rows that sold out, where you know it. How much they hid is not known with it:
        decisions cost least on average over anything from nothing to all that the rate allows,
        weighted by how far observations are skewed (`unmet.censoring.latent.sellout`). A range
        counts with all its rates, and `band_range` gives the bands of both ends. With families that
        are named the rate is imposed on the likelihood, a range by its middle.
    families : "auto", "lifetimes", str or sequence of str, default="auto"
        Families of the truth: "normal", "logistic", "laplace", "student", "gumbel" and "skewed"
        (to the right, the latter with a shape of its own); for positive observations also
        "lognormal", "weibull" and "gamma", for counts "negative_binomial". "lifetimes" are
        "weibull" and "lognormal" as a habit, not as something known: a family that is named is
        taken at its word where the data cannot tell.
    orders : "auto", str or sequence of str, default="auto"
        How orders may have been placed: "absent" (never binding), "noisy" (around a level that
        moves with the truth), "mixture" (the same, and sometimes ample). Orders that leave a point
        mass on a plane are found by themselves.
    location : {"auto", "trees"}, regressor or None, default="auto"
        What the location of the truth is linear in. "auto" takes the features themselves under a
        linear model; under others boosted trees, where these explain rows held out clearly better
        than the features do. "trees" looks for such bends whatever the model. A scikit-learn
        regressor is fitted to the observations, and its predictions are taken. None always takes
        the features; a ridge regression stands for more than 256 of them.
    order_rule : "auto", OrderRuleDetection or None, default="auto"
        Looks for the order rule when `fit` is given times: rows it finds sold out or not then
        enter the likelihood as known. None does not look.
    when_unidentified : {"expected_cost", "least_censoring", "minimax_regret"},
    default="expected_cost"
        What to follow where the data cannot tell between candidates. "expected_cost": the least
        expected cost over sell-out rates of 0 to 60%; half of the prior is on 0, and observations
        that are not skewed to the right, as demand is, make larger ones likelier.
        "least_censoring": the candidate of the least censoring, mostly none. "minimax_regret": the
        decision whose largest loss against knowing the truth is smallest, over all candidates and
        sell-out rates (up to 60%) that are not ruled out. All three are the same where the data can
        tell, or flags, stock or limits do. A range `sellout_rate` says between what rates to look
        instead.
    blend : float from 0 to 1, optional
        Where flags, stock or a rate are known: share of the distribution's own quantile in what the
        model is trained on; the rest are the observations, shifted to the level of that quantile.
        By default one half for linear models; 0 for those that can bend, which then learn from the
        rows what a distribution does not know.
    max_rows : int, default=200_000
        With more rows the latent model learns from a stratified sample of so many, and says so.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the sample.

    Attributes
    ----------
    diagnosis_ : Diagnosis
    model_ : CensoringModel
        What the truth of any row may have been.
    order_rule_ : OrderRuleDetection or None
        Fitted, if times were given.

    Notes
    -----
    Where `fit` is given `Limits`, the likelihood of a row is the probability that its truth lies
    within them, and orders need no model; decisions may then lie to either side of an observation.

    Assumed: given the features, truth and order are independent, and the order's level is as far
    above the truth's location, in units of its scale, in every row. Trees are grown on what a plane
    leaves of the observations, as many as rows held out ask for; training rows enter with
    predictions of trees that had not seen them, since others would hide the point mass. A second
    set of trees follows the spread, and where it is known which rows are censored, a third one the
    truth. Where the location is estimated by trees, orders that lie exactly on a bent surface are
    found as noisy orders, not as a point mass.

    What cannot be told from data: a right-skewed truth that is censored looks like a symmetric one
    that is not. Then ``diagnosis_.identified`` is "no", the band follows `when_unidentified`, and a
    sell-out rate, some flags or a few audited rows are worth more than any amount of further
    observations.

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
        """What the data say about censoring, and how surely."""
        return self.model_.diagnosis_

    @diagnosis_.setter
    def diagnosis_(self, found: Diagnosis) -> None:
        self.model_.diagnosis_ = found

    @property
    def order_rule_(self) -> OrderRuleDetection | None:
        """The order-rule detection, if times were given."""
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
        """Diagnosis for another cost than `fit` was given; its parameters must be numbers."""
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
        """Quantile of the truth of any rows, under the chosen model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        level : float or array-like of shape (n_rows,)
            Between 0 and 1.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.quantile_function(X)(level)

    def quantile_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """`quantile` of these rows as a function of the level, for those who ask for many levels.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

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
        """Probability that the truth of rows is above a value, under the chosen model.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        value : float or array-like of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.survival_function(X)(value)

    def survival_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """`survival` of these rows as a function of the value, if you ask for many values.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

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
        """Decision of each row that costs least, straight from the distribution of the truth.

        No model is trained on it: for a newsvendor it is the truth's own quantile at the level of
        the costs, under the chosen model. Where several are left, `when_unidentified`
        says what to do with them.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        cost : Cost, optional
            Another one than `fit` was given.

        Returns
        -------
        ndarray of shape (n_rows,)
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
        """Give the most that a decision of each row can lose against knowing the distribution.

        The largest expected loss over all candidates that are left, each of which may lie off by
        two standard errors. That is a promise if one of them is true.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        cost : Cost, optional
            Another one than `fit` was given.
        decision : array-like of shape (n_rows,), optional
            Of each row; default: the one that the band leads to.

        Returns
        -------
        ndarray of shape (n_rows,)
            In units of the cost.
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
        """Band of any rows if this share of rows had sold out.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        sellout_rate : float
        cost : Cost, optional

        Returns
        -------
        Band
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
        """Bands of both ends of the range of sell-out rates; twice the same without a range."""
        band, rate = self.band(X, cost=cost), self.model_.rate
        if rate is None or rate.low == rate.high or self.model_.data.known:
            return band, band
        return self.band_at(X, rate.low, cost=cost), self.band_at(X, rate.high, cost=cost)

    def censored_probability(self, X: Any, s: Any) -> Array:
        """Probability that a row's truth lies above its observation.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        s : array-like of shape (n_rows,)
            Observations.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        features = self._read_features(X)
        observed = read_column("s", s, features.shape[0])
        return self.model_.probability_censored(Rows(features, observed, self.cost_))

    def _rows(self, features: Features) -> RowDistribution:
        """Give the distribution of rows under the chosen model."""
        return self.model_.at(self.model_.chosen, features)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: everything it can be asked, but no training row."""
        if hasattr(self, "model_"):
            # which fits the usual rates, if nobody has asked yet
            _ = self.diagnosis_.sensitivity, self.diagnosis_.ambiguity
        return super().to_state()
