"""ε estimated from the observations themselves: the likelihood of S = min(D, Q)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from unmet.arrays import Array, Band, Features, common_rows, expand, read_numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.diagnose import diagnose, draw_quantiles, impose
from unmet.censoring.latent.fitted import (
    FittedModel,
    RepresentativeRows,
    RowQuantiles,
    decisions,
    learn,
    shifts,
    some_rows,
)
from unmet.censoring.latent.fitting import limited_effort
from unmet.censoring.latent.interval_censored import describe_limits, place_within, tell
from unmet.censoring.latent.location import looks_for_bends
from unmet.censoring.latent.observed import (
    RateRange,
    check_orders,
    mostly_known,
    observe,
    read_families,
    read_policies,
    read_rate,
    usable,
)
from unmet.censoring.latent.orders import place, plane
from unmet.censoring.latent.robustness import counted
from unmet.censoring.latent.selection import FittedCandidate
from unmet.censoring.latent.unidentified import (
    WHEN_UNIDENTIFIED,
    RowRegrets,
    WhenUnidentified,
    compare_choices,
    left_over,
)
from unmet.censoring.model import CensoringModel, Choice, Deferred, Diagnosis, Identified
from unmet.censoring.order_rule import OrderRuleDetection
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, PiecewiseLinearCost, SquaredError
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.rows import Rows, check_sizes, read_column
from unmet.validation import Maybe, Number, OneOf, WholeNumber

_LOOKED_AT = 500  # rows whose decisions are compared with what was seen


@contextmanager
def _arithmetic() -> Iterator[None]:
    """Keep NumPy quiet, since what comes out is checked; turn its failures into one of ours."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise SolverFailure(
            f"The latent model could not be fitted to these observations ({error}): look for a few "
            "that are far from all others, or give flags or a sell-out rate."
        ) from error


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
        Share of rows that sold out, where you know it; imposed on the likelihood. A range
        is imposed by its middle, and `band_range` gives the bands of both ends.
    families : "auto", "lifetimes", str or sequence of str, default="auto"
        Families of the truth: "normal", "logistic", "laplace", "student", "gumbel" and "skewed"
        (to the right, the latter with a shape of its own); for positive observations also
        "lognormal", "weibull" and "gamma", for counts "negative_binomial". "lifetimes" are
        "weibull" and "lognormal" as a habit, not as something known: a family that is named is
        taken at its word where the data cannot tell.
    orders : "auto", str or sequence of str, default="auto"
        How orders may have been placed: "absent" (never binding), "noisy" (around a level that
        moves with the truth), "mixture" (the same, and sometimes ample). Orders at_mass up exactly
        on a plane, or in rows with the same features, are found by themselves.
    location : {"auto", "trees"}, regressor or None, default="auto"
        What the location of the truth is linear in. "auto" takes the features themselves under a
        linear model; under others boosted trees, where these explain rows held out clearly better
        than the features do. "trees" looks for such bends whatever the model. A scikit-learn
        regressor is fitted to the observations, and its predictions are taken. None always takes
        the features; a ridge regression stands for more than 256 of them.
    order_rule : "auto", OrderRuleDetection or None, default="auto"
        Looks for the order rule when `fit` is given times: rows it finds sold out or not then
        enter the likelihood as known. None does not look.
    when_unidentified : {"least_censoring", "minimax_regret", "expected_cost"},
    default="least_censoring"
        What to follow where the data cannot tell between candidates. "least_censoring": that of the
        least censoring. "minimax_regret": the decision whose largest loss against knowing the truth
        is smallest, over all candidates and sell-out rates (up to 60%) that are not ruled out.
        "expected_cost": the least expected cost, each weighted by its likelihood and by a prior of
        sell-out rates. All three are the same where the data can tell, or flags, stock or limits
        do. A range `sellout_rate` says between what rates to look instead.
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
    share_censored_ : float
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
    that is not. Then ``diagnosis_.identified`` is "no", the band is that of the least censoring,
    and a sell-out rate, some flags or a few audited rows are worth more than any amount of further
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
    fitted_model_: FittedModel
    _said: tuple[str, ...]
    share_censored_: float

    def __init__(
        self,
        sellout_rate: float | tuple[float, float] | None = None,
        families: Any = "auto",
        orders: Any = "auto",
        *,
        location: Any = "auto",
        order_rule: Any = "auto",
        when_unidentified: WhenUnidentified = "least_censoring",
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

    def fit_rows(self, rows: Rows, cost: Cost, *, estimator: Any = None) -> Self:
        """Learn from rows that have been read, and say where decisions lie far from all of them."""
        super().fit_rows(rows, cost, estimator=estimator)
        used = rows.counted().settled()
        some = np.unique(np.linspace(0, used.n_rows - 1, _LOOKED_AT).astype(np.intp))
        if self.when_unidentified != "least_censoring":
            # takes long: of the rows that the chosen distribution puts furthest
            with _arithmetic():
                size = np.abs(RowQuantiles(*self._chosen, used.features[some]).truth(0.9))
            some = some[np.argsort(size)[-_LOOKED_AT // 20 :]]
        decided = np.abs(self.decision(used.features[some], used.cost.take(some)))
        seen = float(np.abs(used.observation).max())
        furthest = float(np.max(decided, where=np.isfinite(decided), initial=0.0))
        if furthest > tuned.FAR_FROM_SEEN * seen > 0.0:
            self._said = (*self._said, _far(furthest, seen))
            self.diagnosis_ = replace(
                self.diagnosis_, notes=(*self.diagnosis_.notes, self._said[-1])
            )
        return self

    @_arithmetic()
    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        rate, policies = read_rate(self.sellout_rate), read_policies(self.orders)
        OneOf(*WHEN_UNIDENTIFIED)("when_unidentified", self.when_unidentified)
        seed = _seed(self.random_state)
        notes: list[str] = []
        check_sizes(sample, "a latent model")
        sample = self._with_order_rule(usable(sample, notes), seed, notes)
        known = mostly_known(sample, notes)
        left_out, used = 1.0 - known.n_rows / sample.n_rows, self._sampled(known, seed, notes)
        if rate is not None and used.limits is None and not used.all_known:
            _leave_some_seen(rate, used.n_rows)
        families = read_families(self.families, observe(used))
        order_plane = None if used.limits is not None else plane(used, rate, notes)
        if rate is not None and rate.high == 0.0:
            policies = ("absent",)
        imposed = None if rate is None or rate.high == 0.0 else rate.imposed
        if order_plane is None and not used.all_known:
            check_orders(policies, used, imposed is not None)
        binding, asked = policies != ("absent",), (self.location, estimator, seed, notes)
        if used.limits is not None:
            location, flagged = place_within(used, *asked), used
        else:
            location, flagged = place(used, order_plane, rate, *asked, binding=binding)
        usual = self.families if isinstance(self.families, str) else ""
        free = usual in ("auto", "lifetimes") and binding
        auto = free and usual == "auto" and isinstance(self.orders, str) and self.orders == "auto"
        given = (families, policies, imposed, order_plane, location, seed)
        with limited_effort(tuned.MAX_EVALUATIONS) as left:
            found = learn(flagged, *given, auto=auto, free=free)
        if left[0] < 0:
            notes.append(
                "The search for the likeliest distribution was cut short after "
                f"{tuned.MAX_EVALUATIONS:,} evaluations of the likelihood: distributions may fit a "
                "little worse than they could."
            )
        rule = self.order_rule_ is not None and self.order_rule_.accepted_
        if order_plane is not None or (rule and imposed is None):
            lattice, top = found.data.observed.lattice, used.observation == used.observation.max()
            tied = 0 if order_plane is None else int((top & ~order_plane.on).sum())
            at_the_top = tied / used.n_rows if tied >= tuned.MIN_TIED else 0.0
            at_orders = counted(found.chosen, lattice, left_out, at_the_top)
            found = replace(found, verdict=at_orders)
        told = tell(found) if found.interval_censored else None
        self.fitted_model_ = replace(found, tied=flagged is not used, told=told)
        self._blend = Maybe(Number(least=0, most=1))("blend", self.blend)
        if self._blend is None:
            self._blend = 0.0 if looks_for_bends("auto", estimator) else tuned.BLEND
        self._rate, self._representative = rate, RepresentativeRows.of(flagged)
        self._plot = draw_quantiles(self._representative, self.fitted_model_)
        self._notes(rate, flagged, notes)
        self._said = tuple(notes)
        self._verdicts: dict[str, Identified | None] = {}
        diagnosis = self.diagnosis_for(used.cost)
        self.fitted_model_ = replace(self.fitted_model_, diagnosis_=diagnosis)
        assert diagnosis.share_censored is not None
        self.share_censored_ = diagnosis.share_censored
        return diagnosis

    @property
    def model_(self) -> CensoringModel:
        """The censoring model that was fitted: what the truth of any row may have been."""
        return self.fitted_model_

    def diagnosis_for(self, cost: Cost) -> Diagnosis:
        """Diagnosis for another cost than `fit` was given; its parameters must be numbers."""
        rows = self._representative.evaluated(cost)
        dated = self.order_rule_ is not None
        found = diagnose(rows, self.fitted_model_, self._said, self._plot, dated=dated)
        found = self._with_choices(found, rows)
        if self._rate is None or self.fitted_model_.one_left:
            return found
        found = replace(found, share_given=(self._rate.low, self._rate.high))
        if self._rate.low == self._rate.high:
            return found
        ends = [
            float(np.mean(shifts(assumed, fitted, rows.sample.features, rows.sample.cost)))
            for fitted, assumed in (
                impose(self.fitted_model_, rate, alone=True) for rate in vars(self._rate).values()
            )
        ]
        assert found.shift is not None
        return replace(found, shift_range=(min(*ends, found.shift), max(*ends, found.shift)))

    def _with_choices(self, found: Diagnosis, rows: RepresentativeRows) -> Diagnosis:
        """Add what may be decided where candidates are left, and which of it is followed."""
        if not self._open(found.identified):
            return found
        asked = self.fitted_model_, rows, self._rate, self.when_unidentified
        if self.when_unidentified == "least_censoring":
            return replace(found, choices=Deferred(compare_choices, *asked))
        told = compare_choices(*asked)
        followed: Choice = getattr(told, self.when_unidentified)
        assert found.shift is not None
        shift = followed.decision - (told.least_censoring.decision - found.shift)
        return replace(found, decision=followed.decision, shift=shift, choices=told)

    def _open(self, identified: Identified | None) -> bool:
        """Whether more than the chosen model counts, by a verdict on the data."""
        if self.fitted_model_.one_left:
            return False
        range_given = self._rate is not None and self._rate.low < self._rate.high
        return range_given or identified != "yes"

    def _left(self, cost: Cost) -> tuple[list[FittedCandidate], Array]:
        """All candidate models that are left with their weights, or the chosen one alone."""
        verdict, named = self.diagnosis_.identified, repr(cost)
        # of costs that differ by row, what was said of those of `fit`
        if named != repr(self.cost_) and common_rows(cost.parameters()) is None:
            if named not in self._verdicts:
                rows = self._representative.evaluated(cost)
                self._verdicts[named] = diagnose(rows, self.fitted_model_, (), None).identified
            verdict = self._verdicts[named]
        if not self._open(verdict):
            return [self.fitted_model_.chosen], np.ones(1)
        return left_over(self.fitted_model_, self._representative, self._rate)

    def _regrets(
        self, features: Features, cost: Cost, *, anchored: bool
    ) -> Iterator[tuple[NDArray[np.intp], RowRegrets]]:
        """Go through the rows, some at a time: what decisions lose under all that counts."""
        left, n_learned = self._left(cost), self._representative.n_rows
        for index in some_rows(features.shape[0]):
            part = features[index], cost.take(index)
            yield index, RowRegrets(self.fitted_model_, *left, *part, n_learned, anchored=anchored)

    @_arithmetic()
    def _band(self, features: Features, cost: Cost) -> Band:
        if self.when_unidentified != "least_censoring" and not self.fitted_model_.one_left:
            shift = np.empty(features.shape[0])
            for index, rows in self._regrets(features, cost, anchored=True):
                # anchored at what is seen, and below it by rounding only
                shift[index] = np.maximum(rows.decide(self.when_unidentified) - rows.seen, 0.0)
            return Band(shift, shift)
        shift = shifts(*self._chosen, features, cost)
        return (
            Band.around(shift, 0.0) if self.fitted_model_.interval_censored else Band(shift, shift)
        )

    @_arithmetic()
    def _band_at(self, features: Features, cost: Cost, observation: Array) -> Band:
        fitted_model, chosen = self.fitted_model_, self.fitted_model_.chosen
        known = fitted_model.data.known or self.when_unidentified == "least_censoring"
        if fitted_model.interval_censored:
            aim, _ = decisions(fitted_model, chosen, features, cost)
            return Band.around(aim, observation)
        if fitted_model.stack is None or not known:
            return self._band(features, cost)
        aim, _ = decisions(fitted_model, chosen, features, cost)
        shifted = observation + shifts(fitted_model, chosen, features, cost)
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
        features, rows = self._quantiles(X)
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
        features, rows = self._quantiles(X)
        at = expand("value", read_numbers("value", value), features.shape[0])
        return 1.0 - rows.below(at)

    def _quantiles(self, X: Any) -> tuple[Features, RowQuantiles]:
        """Features of any rows, and their quantiles under the chosen model."""
        features = self._read_features(X)
        return features, RowQuantiles(*self._chosen, features)

    @property
    def _chosen(self) -> tuple[FittedModel, FittedCandidate]:
        """What was learned, and the candidate model that was chosen."""
        return self.fitted_model_, self.fitted_model_.chosen

    @_arithmetic()
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
        features, used = self._read(X, cost, None, None)
        if self.when_unidentified == "least_censoring" or self.fitted_model_.one_left:
            if isinstance(used, PiecewiseLinearCost):
                return self._quantiles(features)[1].truth(used.level)
            return decisions(*self._chosen, features, used)[0]
        decided = np.empty(features.shape[0])
        for index, rows in self._regrets(features, used, anchored=False):
            decided[index] = rows.decide(self.when_unidentified)
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
        if self.fitted_model_.one_left:
            raise Unsupported(
                "certificate is for rows of which nobody knows whether they are censored: flags, "
                "stock or limits leave one candidate model."
            )
        n_rows, lost = features.shape[0], np.empty(features.shape[0])
        given = None if decision is None else read_column("decision", decision, n_rows)
        for index, rows in self._regrets(features, used, anchored=True):
            here = rows.decide(self.when_unidentified) if given is None else given[index]
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
        if self.fitted_model_.interval_censored:
            raise Unsupported(
                "band_at and limits of the truth do not fit together, because limits say of every "
                "row more than a rate does: use band."
            )
        rate = read_rate(sellout_rate)
        if rate is None or rate.low != rate.high:
            raise InvalidInput(f"sellout_rate must be one number here, got {sellout_rate!r}.")
        features, used = self._read(X, cost, None, None)
        shift = self._shift_at(rate.low, features, used)
        return Band(shift, shift)

    def _shift_at(self, rate: float, features: Features, cost: Cost) -> Array:
        """ε of each row for a rate; without the training rows between those that were fitted."""
        found, stack = self.fitted_model_, self.fitted_model_.stack
        known = sorted(found.imposed if stack is None else found.imposed_stacks)
        any_rate = found.any_distribution or (stack is not None and stack.profile is not None)
        if found.rowless and rate not in known and not any_rate:
            place = min(max(int(np.searchsorted(known, rate)), 1), len(known) - 1)
            low, high = known[place - 1], known[place]
            ends = [self._shift_at(each, features, cost) for each in (low, high)]
            return np.asarray(ends[0] + (rate - low) / (high - low) * (ends[1] - ends[0]))
        fitted, assumed = impose(found, rate)
        return shifts(assumed, fitted, features, cost)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: everything it can be asked, but no training row."""
        state = super().to_state()
        if not hasattr(self, "fitted_model_"):
            return state
        # which fits the usual rates, if nobody has asked yet
        _ = self.diagnosis_.sensitivity, self.diagnosis_.ambiguity
        state["fitted_model_"] = self.fitted_model_.without_rows()
        state["_representative"] = self._representative.without_observations()
        if self.order_rule_ is not None:
            state["order_rule_"] = copy(self.order_rule_)
            vars(state["order_rule_"]).update(order_=np.empty(0), censored_=np.empty(0))
        return state

    def band_range(self, X: Any, *, cost: Cost | None = None) -> tuple[Band, Band]:
        """Bands of both ends of the range of sell-out rates; twice the same without a range."""
        band = self.band(X, cost=cost)
        rate = self._rate
        if rate is None or rate.low == rate.high or self.fitted_model_.interval_censored:
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
        return self.fitted_model_.probability(features, observed)

    def _with_order_rule(self, sample: Rows, seed: int, notes: list[str]) -> Rows:
        """Add flags from the order rule, where times are given and it can be found."""
        self.order_rule_: OrderRuleDetection | None = None
        if self.order_rule is None or sample.time is None or sample.all_known:
            return sample
        finder = self.order_rule
        if isinstance(finder, str) and finder == "auto":
            finder = OrderRuleDetection(random_state=seed)
        if not isinstance(finder, OrderRuleDetection):
            raise InvalidInput(
                f"order_rule must be 'auto', an OrderRuleDetection or None, got {finder!r}."
            )
        if float(sample.observation.min()) < 0:
            return sample  # orders and sales are not negative: no rule of that kind was followed
        found = clone(finder).fit(sample.observation, sample.time, sample.series)
        self.order_rule_ = found
        if not found.accepted_:
            notes.append("No rule on past observations was found behind the orders.")
            return sample
        notes.append(f"Orders followed a rule on past observations: {found.rule_}.")
        flags = found.censored_
        if sample.censored is not None:
            flags = np.where(np.isnan(sample.censored), flags, sample.censored)
        return replace(sample, censored=flags)

    def _sampled(self, sample: Rows, seed: int, notes: list[str]) -> Rows:
        """Thin out a large sample, the same share of every range of observations."""
        most = WholeNumber(100)("max_rows", self.max_rows)
        if sample.n_rows <= most:
            return sample
        notes.append(
            f"The latent model learned from a stratified sample of {most:,} of "
            f"{sample.n_rows:,} rows."
        )
        order = np.argsort(sample.observation, kind="stable")
        # one row at random from each of `most` ranges of neighbouring observations
        edges = np.linspace(0, sample.n_rows, most + 1).astype(np.intp)
        generator = np.random.default_rng(seed)
        picked = generator.integers(edges[:-1], edges[1:])
        return sample.take(np.sort(order[picked]))

    def _notes(self, rate: RateRange | None, sample: Rows, notes: list[str]) -> None:
        """Say in a sentence each what the numbers are based on."""
        fitted_model = self.fitted_model_
        if fitted_model.order_plane is not None:
            notes.append(
                f"{fitted_model.chosen.share:.0%} of the observations lie exactly on a plane in "
                "the features: orders that sold out."
            )
        elif fitted_model.interval_censored:
            notes.append(describe_limits(sample))
        if fitted_model.stack is not None:
            notes.append(fitted_model.stack.describe())
        if fitted_model.interval_censored or fitted_model.order_plane is not None:
            return
        if fitted_model.data.known and not fitted_model.tied:
            notes.append("Which rows are censored was known for every row.")
        elif rate is not None:
            given = f"{rate.low:g}" if rate.low == rate.high else f"{rate.low:g} to {rate.high:g}"
            notes.append(f"The sell-out rate of {given} was given, not found.")
            profile = None if fitted_model.stack is None else fitted_model.stack.profile
            cost = sample.cost
            level = np.max(cost.level) if isinstance(cost, PiecewiseLinearCost) else 0.0
            if profile is not None and level > profile.highest:
                notes.append(
                    "So many rows sold out that observations say nothing of quantiles of the truth "
                    f"above {profile.highest:.2f}: decisions at {level:.2f} are held there."
                )


def fit_censoring(
    rows: Rows,
    *,
    sellout_rate: Any = None,
    order_rule: Any = "auto",
    families: Any = "auto",
    orders: Any = "auto",
    location: Any = None,
    max_rows: int = 200_000,
    random_state: Any = None,
) -> CensoringModel:
    """Fit a censoring model to rows, with everything that is known of them.

    Parameters
    ----------
    rows : Rows
        Flags, stock or limits are used where they are there; times and series are searched for an
        order rule. The diagnosis is for their cost.
    sellout_rate, order_rule, families, orders, location, max_rows, random_state
        As of `LatentBand`.

    Returns
    -------
    CensoringModel
    """
    rule = LatentBand(
        sellout_rate,
        families,
        orders,
        location=location,
        order_rule=order_rule,
        max_rows=max_rows,
        random_state=random_state,
    )
    return rule.fit_rows(rows, rows.cost).model_


def _leave_some_seen(rate: RateRange, n_rows: int) -> None:
    """Refuse a rate at which not even one row shows the truth itself."""
    most = 1.0 - 1.0 / n_rows
    if rate.high > most + 1e-9:
        raise InvalidInput(
            f"sellout_rate must leave at least one of {n_rows:,} rows that did not sell out, so at "
            f"most {most:.6g}, got {rate.high:g}: if all sold out, nothing is known of the truth "
            "but a lower bound."
        )


def _far(furthest: float, seen: float) -> str:
    return (
        f"Some decisions are {furthest / seen:,.0f} times the largest observation, {seen:.6g}: so "
        "far from all that was seen, the distribution of the truth is a guess. Flags, a sell-out "
        "rate or more rows would tell."
    )


def _seed(random_state: Any) -> int:
    """One number for everything random; numpy's own global state is left alone."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31 - 1))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InvalidInput(
            f"random_state must be an int, a RandomState or None, got {random_state!r}."
        ) from None
