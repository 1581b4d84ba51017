"""The fitted latent model: the distribution of the truth of any rows, and ε.

`fit_censoring` returns a `FittedModel`, and `LatentBand` keeps it. A `RowDistribution` is the
distribution of some rows under one candidate model. `FittedModel.shifts` is the best decision for
the truth minus the best decision for the observation.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from unmet.arrays import Array, Features, Numbers, slices
from unmet.censoring.latent.counts import count_likelihood, count_quantile, moments, reaches
from unmet.censoring.latent.likelihood import CENSORED, UNKNOWN, row_likelihood
from unmet.censoring.latent.location import LocationBasis
from unmet.censoring.latent.observed import Observed, back, into
from unmet.censoring.latent.orders import OrderPlane
from unmet.censoring.latent.selection import FittedCandidate
from unmet.censoring.latent.sellout import RateRange, SelloutProfile
from unmet.censoring.model import (
    CensoringModel,
    QuantilePlot,
    RobustnessCheck,
    best_decisions,
)
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost, SquaredError
from unmet.rows import Rows
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

USUAL_LEVELS = (0.01, 0.02, *(step / 40 for step in range(1, 40)), 0.98, 0.99)
"""Levels whose linear quantiles a saved model knows beside those that it was asked for."""
ROWS_AT_A_TIME = 500
"""Rows whose expectations are taken together; more take more memory."""
GRID = np.linspace(0.0005, 0.9995, 1000)


class FittedModel(CensoringModel):
    """Everything that was learned from the observations, for any cost and any rows.

    Attributes
    ----------
    basis : LocationBasis
    data : Observed
        The rows; none of them in a model that was loaded.
    ranked : list of FittedCandidate
        Best first.
    chosen : FittedCandidate
    members, weights : list of FittedCandidate and ndarray
        Where flags, stock or a rate are known: simple distributions that answer together. The
        chosen model is then the heaviest of them, and stands for all. Empty otherwise.
    reach : float
        Where flags are known: level of the truth beyond which too few rows were seen to tell tails
        apart. Above it the members' median tail counts: one heavy one would be a guess, and the
        lightest falls short (8 points of the avoidable cost at a level of .95 in bakeries).
    order_plane : OrderPlane or None
    rate : RateRange or None
        Sell-out rates that the user has given.
    skewness : tuple of two floats or None
        Of what a linear model leaves of the observations, and its variance.
    free : bool
        Whether the truth may follow any distribution: nobody has named one.
    smooth : bool
        Whether a smooth distribution of which nothing is hidden explains the observations as well.
    share_range : tuple of two floats or None
        Shares censored that cannot be ruled out, where nothing was known of any row.
    checks : tuple of RobustnessCheck
        What the choice survived.
    told : tuple of an ndarray, a bool and a float, or None
        What limits of the truth tell of the chosen model, where there are some: the sum of the
        rows' squared gradients; whether limits are a linear function of the features, and no truth
        is seen or between two; the highest quantile of the truth that limits stand at.
    lines : dict of float to ndarray
        Linear quantiles of the observations in the basis, by level, as far as somebody has asked.
    imposed : dict of float to FittedCandidate
        The chosen family with sell-out rates imposed, as far as somebody has asked.
    weight : ndarray of shape (n_rows,)
        Of all rows, as given.
    reached : ndarray or None
        Where flags say which rows are censored: quantiles of the ranks of the training rows in
        their distributions.
    rows : Rows
        Rows spread evenly over the observations, over which a diagnosis is averaged; a file holds
        their features alone.
    index : ndarray
        Their places among all rows.
    n_rows : int
        Number of all rows.
    notes : list of str
        What a user should know, a sentence each.
    order_rule : OrderRuleDetection or None
        Fitted, if times were given.
    diagnosis_ : Diagnosis
        For the cost of the rows.
    """

    checks: tuple[RobustnessCheck, ...] = ()
    free = smooth = False
    reach = 1.0
    order_plane: OrderPlane | None = None
    order_rule: Any = None
    plot: QuantilePlot | None = None
    share_range: tuple[float, float] | None = None
    rate: RateRange | None = None
    skewness: tuple[float, float] | None = None
    told: tuple[Array, bool, float] | None = None
    chosen: FittedCandidate

    def __init__(self, basis: LocationBasis, data: Observed, sample: Rows) -> None:
        self.basis, self.data = basis, data
        self.n_rows, self.weight = sample.n_rows, sample.weight
        # rows spread evenly over the observations
        self.index, self.rows = np.arange(sample.n_rows), sample
        if sample.n_rows > 400:
            order = np.argsort(sample.observation, kind="stable")
            self.index = np.sort(order[np.linspace(0, order.size - 1, 400).astype(int)])
            self.rows = sample.take(self.index)
        self.ranked: list[FittedCandidate] = []
        self.members: list[FittedCandidate] = []
        self.weights = np.ones(1)
        self.lines: dict[float, Array] = {}
        self.imposed: dict[float, FittedCandidate] = {}
        self.notes: list[str] = []
        self.reached: Array | None = None

    # --- What is known.

    @property
    def interval_censored(self) -> bool:
        """Whether limits of the truth were given that say more than flags."""
        return self.data.limits is not None

    @property
    def any_distribution(self) -> bool:
        """Whether any distribution of the truth is possible, so that only a rate is known."""
        return self.free and not self.members and self.chosen.share == 0.0

    def stands_for_all(self, fitted: FittedCandidate) -> bool:
        """Whether a candidate is the first member of the stack, with parameters as fitted."""
        if not self.members or self.members[0].model != fitted.model:
            return False
        return np.array_equal(self.members[0].parameters, fitted.parameters)

    def hides(self, fitted: FittedCandidate) -> bool:
        """Whether something is hidden under one candidate model."""
        if self.profile_of(fitted) is not None:
            return fitted.share > 0.0
        return self.data.known or fitted.model.policy != "absent"

    def profile_of(self, fitted: FittedCandidate) -> SelloutProfile | None:
        """Give what a candidate model hides if it is fitted to observations; else None."""
        if fitted.rate is not None:
            return SelloutProfile(fitted.rate, self.skewness)
        if self.any_distribution and fitted.model.policy == "absent" and fitted.share > 0.0:
            return SelloutProfile.exactly(fitted.share)
        return None

    # --- What a censoring model says.

    def distribution(self, rows: Rows) -> RowDistribution:
        """Give the distribution of the truth of rows, given their features."""
        return self.at(self.chosen, rows.features)

    def at(self, fitted: FittedCandidate, features: Features) -> RowDistribution:
        """Give what one candidate model says of any rows."""
        order = None if self.order_plane is None else self.order_plane.level(features)
        return RowDistribution(self, fitted, self.basis.basis(features), order)

    def of_training(self, fitted: FittedCandidate, index: Any = slice(None)) -> RowDistribution:
        """Give what one candidate model says of the training rows.

        Trees that stand for the features are those that had not seen a row.
        """
        order = None
        if self.order_plane is not None and self.data.order_basis is not None:
            plane = self.order_plane
            order = (self.data.order_basis[:, 1] * plane.size + plane.mean)[index]
        return RowDistribution(self, fitted, self.data.basis[index], order)

    def _chance_censored(self, rows: Rows) -> Array:
        """Probability that each truth lies above its observation, given the observation."""
        if self.order_plane is not None:
            return self.order_plane.holds(rows.features, rows.observation).astype(float)
        return self.distribution(rows).censored(rows.observation)

    def hidden(self, fitted: FittedCandidate) -> float:
        """Mean amount hidden in the training rows under one candidate model, without far tails."""
        own = self.of_training(fitted)
        values = [own.truth(float(level)) for level in np.linspace(0.1, 0.9, 9)]
        amount = np.mean(values, axis=0) - self.data.observation
        return float(self.data.weight @ amount) / self.data.n_rows

    def is_credible(self, fitted: FittedCandidate, *, known: bool) -> bool:
        """Whether the truth stays within sight of the observations: few rows can lead astray.

        Where it is `known` which rows are censored, lifetimes of which few are seen to end may well
        lie far beyond.
        """
        high, seen = self.of_training(fitted).truth(0.9), self.data.observation
        reach = float(np.ptp(seen))
        if self.interval_censored:  # one price for all has no range
            reach = max(reach, self.data.unit)
        furthest = float(seen.max()) + (100.0 if known else 5.0) * reach
        return bool(np.isfinite(high).all() and float(np.quantile(high, 0.99)) <= furthest)

    # --- Decisions and ε.

    def linear_quantile(self, basis: Array, level: Numbers) -> Array:
        """Linear quantile of the observations, at one level or at one for each row.

        The likelihood also says what the quantiles of the observation are, but it takes orders to
        move with the truth. Real ones do not on every day: a promotion lifts demand and not the
        order. The observations themselves know that.
        """
        if np.ndim(level) == 0:
            return np.asarray(basis @ self._line(float(level)))
        levels, place = np.unique(level, return_inverse=True)
        if levels.size <= 12:
            lines = np.stack([self._line(float(each)) for each in levels])
            return np.asarray(np.einsum("ij,ij->i", basis, lines[place]))
        levels = np.linspace(levels[0], levels[-1], 12)
        values = np.stack([basis @ self._line(float(each)) for each in levels])
        right = np.clip(np.searchsorted(levels, level), 1, levels.size - 1)
        share, rows = (level - levels[right - 1]) / (levels[1] - levels[0]), np.arange(right.size)
        return np.asarray((1 - share) * values[right - 1, rows] + share * values[right, rows])

    def _line(self, level: float) -> Array:
        """Coefficients of one quantile, the constant first; solved once.

        Without the training rows they lie between those of two levels that are known, linear in the
        normal score, which is exact for the quantiles of a normal distribution.
        """
        if level in self.lines:
            return self.lines[level]
        if not self.data.n_rows:
            known = sorted(self.lines)
            place = min(max(int(np.searchsorted(known, level)), 1), len(known) - 1)
            low, high, here = special.ndtri([known[place - 1], known[place], level])
            share = (here - low) / (high - low)
            ends = self.lines[known[place - 1]], self.lines[known[place]]
            return np.asarray((1.0 - share) * ends[0] + share * ends[1])
        share = self.weight / self.weight.sum()
        kinks = Newsvendor.at_level(level).kinks(self.data.observation, None, share)
        found = solve_exact(HingeProblem(np.ascontiguousarray(self.data.basis[:, 1:]), kinks))
        self.lines[level] = np.append(found.intercept, found.coefficients)
        return self.lines[level]

    def decisions(
        self, fitted: FittedCandidate, features: Features, cost: Cost
    ) -> tuple[Array, Array]:
        """Best decisions of each row: if the truth were seen, and if only the observation is."""
        if isinstance(cost, PiecewiseLinearCost):
            own = self.at(fitted, features)
            return own.truth(cost.level), self.linear_quantile(own.basis, cost.level)
        both = np.empty((2, features.shape[0]))
        for index in slices(features.shape[0], ROWS_AT_A_TIME):
            own, evaluated = self.at(fitted, features[index]), cost.take(index)
            both[0, index] = best_decisions(own.truth, evaluated)
            both[1, index] = best_decisions(own.observed, evaluated)
        return both[0], both[1]

    def shifts(
        self,
        fitted: FittedCandidate,
        features: Features,
        cost: Cost,
        both: tuple[Array, Array] | None = None,
    ) -> Array:
        """ε of each row, never below 0; where limits are known the truth may lie to either side.

        Where little is censored ε is bounded: it must not be made of estimation error. If a share c
        of the rows is censored, P(D ≤ y) ≥ P(S ≤ y) − c, so the truth's α-quantile is at most the
        observation's at α + c. Rows may be censored more often than on average: three times.
        `both` is what `decisions` gives, where somebody has asked already.
        """
        if not self.interval_censored and fitted.share == 0.0:
            return np.zeros(features.shape[0])
        counted = self.data.known and not self.interval_censored
        if counted and fitted.model == self.chosen.model and fitted.share != self.chosen.share > 0:
            # another rate than was counted: hidden in proportion
            part = fitted.share / self.chosen.share
            return part * self.shifts(self.chosen, features, cost)
        assumed = fitted.rate is not None and not self.members
        if (assumed or self.any_distribution) and isinstance(cost, PiecewiseLinearCost):
            # one distribution tells both ends, so that nothing is added where nothing is hidden
            own = self.at(fitted, features)
            return own.truth(cost.level) - own.observed(cost.level)
        truth, seen = both or self.decisions(fitted, features, cost)
        if self.interval_censored:
            return truth - seen
        most: Array | float = np.inf
        if isinstance(cost, PiecewiseLinearCost):
            level = cost.level + 3.0 * fitted.share
            if float(np.max(level)) <= USUAL_LEVELS[-1]:
                above = self.linear_quantile(self.basis.basis(features), level)
                most = np.maximum(above - seen, 0.0)
        return np.clip(truth - seen, 0.0, most)

    def mean(self, values: Array) -> float:
        """Weighted mean of a column over the representative rows."""
        return float(values @ self.rows.weight) / self.rows.n_rows

    # --- Saving.

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: everything it can be asked, but no training row.

        What was fitted is a handful of numbers: the parameters of each candidate model and of each
        usual sell-out rate, and linear quantiles of the observations at the usual levels. For a
        level or a rate between two usual ones the answer then lies between theirs.
        """
        if not self.data.n_rows:
            return dict(vars(self))
        nothing = np.empty(0)

        def bare(fitted: FittedCandidate) -> FittedCandidate:
            return replace(fitted, rows=nothing, held_out=None)

        unseen = np.full(self.rows.n_rows, np.nan)
        rule = copy(self.order_rule)
        if rule is not None:
            vars(rule).update(order_=nothing, censored_=nothing)
        return {
            **vars(self),
            "data": self.data.without_rows(),
            "ranked": [bare(each) for each in self.ranked],
            "chosen": bare(self.chosen),
            "members": [bare(each) for each in self.members],
            "imposed": {rate: bare(each) for rate, each in self.imposed.items()},
            "lines": {level: self._line(level) for level in {*USUAL_LEVELS, *self.lines}},
            "rows": Rows(self.rows.features, unseen, SquaredError(), self.rows.share),
            "index": np.arange(self.rows.n_rows),
            "order_rule": rule,
            "weight": nothing,
        }


class RowDistribution:
    """Conditional distribution of some rows under one candidate model.

    Parameters
    ----------
    model : FittedModel
        The fitted model.
    fitted : FittedCandidate
        The candidate.
    basis : ndarray of shape (n_rows, n_basis)
        Location features of the rows.
    order : ndarray of shape (n_rows,) or None
        Orders, if they are known to lie on a plane.
    """

    def __init__(
        self, model: FittedModel, fitted: FittedCandidate, basis: Array, order: Array | None
    ) -> None:
        self.basis, self._model, self._fitted = basis, model, fitted
        self._profile, self._floor = model.profile_of(fitted), model.data.floor
        members, self._weights = [fitted], np.ones(1)
        if model.stands_for_all(fitted):
            members, self._weights = model.members, model.weights
        self._order, self._members = order, []
        for each in members:
            columns = basis
            if each.model.on_orders:
                assert model.order_plane is not None
                assert order is not None
                columns = model.order_plane.centred(order)
            scale_basis = model.basis.scale_basis(basis, each.model.scale)
            location, log_scale = each.model.locate(each.parameters, columns, scale_basis)
            shape = each.model.shape(each.parameters, log_scale)
            self._members.append((each.model, location, log_scale, shape))
        self._reach, self._starts, self._base = 1.0, np.zeros((1, 1)), np.zeros(1)
        if model.reach < 1.0 and len(self._members) > 1:
            self._starts = self._quantiles(model.reach)
            self._base, self._reach = self._mixed(model.reach), model.reach

    def truth(self, level: Numbers) -> Array:
        """Quantile of the truth."""
        return self._mixed(level if self._profile is None else self._profile.observed_level(level))

    def observed(self, level: Numbers) -> Array:
        """Quantile of the observation.

        Orders move with the truth, so that the observation's quantile is the truth's at another
        level: by the model of the orders or, where flags say which rows they bound, by where the
        training rows stand in their distributions.
        """
        if self._profile is not None:
            return self._mixed(level)
        orders = self._fitted.model.orders(self._fitted.parameters)
        if self._order is not None:
            assert self._model.order_plane is not None
            unlimited, order = self._model.order_plane.unlimited, self._order
            order = order if self._floor is None else np.maximum(order, self._floor)
            free = self._mixed(level)
            if unlimited == 0.0:
                return np.minimum(free, order)
            # beyond it only unlimited stock shows the truth: P(S > y) = unlimited · P(D > y)
            beyond = np.clip(1.0 - (1.0 - np.asarray(level)) / unlimited, 1e-12, 1.0 - 1e-12)
            return np.where(free <= order, free, np.maximum(order, self._mixed(beyond)))
        if orders is None:
            reached = self._model.reached
            return self._mixed(level if reached is None else np.interp(level, GRID, reached))
        (model, location, _, shape), (at, spread, unlimited) = self._members[0], orders
        if model.family.space == "counts":
            typical = np.full(GRID.size, np.median(location))
            counts = count_quantile(GRID, typical, float(np.median(shape)))
            u = np.log(counts + 0.5) - typical
        else:
            u = model.family.quantile(GRID, float(np.median(shape)))
        lasts = unlimited + (1.0 - unlimited) * special.ndtr((at - u) / spread)
        return self._mixed(np.interp(level, 1.0 - (1.0 - GRID) * lasts, GRID))

    def below(self, value: Array) -> Array:
        """Probability that the truth is at most a value."""
        rank = self.rank(value)
        return rank if self._profile is None else self._profile.truth_level(rank)

    def rank(self, value: Array) -> Array:
        """Probability of at most a value under the distributions that were fitted."""
        mixed = np.asarray(np.minimum(self._weights @ self._below(value), 1.0))
        if self._reach == 1.0:
            return mixed
        beyond = self._middle(-self._below(self._starts + (value - self._base)))
        return np.where(value > self._base, np.maximum(-beyond, self._reach), mixed)

    def _below(self, value: Array) -> Array:
        """Probability of at most a value under each member; values may differ by member."""
        below = []
        values = np.broadcast_to(value, (len(self._members), *np.shape(value)[-1:]))
        for at, (model, location, log_scale, shape) in zip(values, self._members, strict=True):
            if model.family.space == "counts":
                # the middle of the step, so that whole numbers do not all count as reached
                count = np.maximum(at / model.unit, 0.0) + 0.5
                below.append(1.0 - reaches(count, *moments(location, shape)))
            else:
                u = (into(model.family.space, at, model.unit) - location) * np.exp(-log_scale)
                below.append(np.exp(model.family.log_below(u, shape)))
        return np.stack(below)

    def censored(self, value: Array) -> Array:
        """Probability that the truth lies above an observation of this value."""
        if self._profile is not None:
            return self._profile.sold_out(self.rank(value))
        if self._model.interval_censored:
            return 1.0 - self.below(value)
        model, location, log_scale, shape = self._members[0]
        orders, logs = model.orders(self._fitted.parameters), []
        if orders is None:
            return np.zeros(value.size)
        u = (into(model.family.space, value, model.unit) - location) * np.exp(-log_scale)
        for kind in np.full((2, value.size), [[CENSORED], [UNKNOWN]]):
            if model.family.space == "counts":
                known = kind == CENSORED, np.zeros(value.size, dtype=np.bool_)
                count = np.round(value / model.unit)
                logs.append(count_likelihood(shape, orders, count, location, *known)[0])
            else:
                told = model.family, shape, orders, u, log_scale, kind
                logs.append(row_likelihood(*told)[0])
        return np.asarray(np.exp(logs[0] - logs[1]))

    def _quantile(self, member: tuple[Any, ...], level: Numbers) -> Array:
        """Quantile of one member."""
        model, location, log_scale, shape = member
        if model.family.space == "counts":
            return np.asarray(model.unit * count_quantile(level, location, shape))
        point = location + np.exp(log_scale) * model.family.quantile(level, shape)
        value = back(model.family.space, point, model.unit)
        return value if self._floor is None else np.maximum(value, self._floor)

    def _quantiles(self, level: Numbers) -> Array:
        """Quantile of each member."""
        return np.stack([self._quantile(member, level) for member in self._members])

    @staticmethod
    def _middle(values: Array) -> Array:
        """Give the median over members; of an even number the lower one, which an inverse keeps."""
        return np.asarray(np.sort(values, axis=0)[(len(values) - 1) // 2])

    def _table(self, levels: Array) -> Array:
        """Quantiles at many levels, of shape (n_levels, n_rows).

        Between the means of the members' quantiles, whose ranks are found once, a mixture is taken
        as straight: one look at each level instead of eleven.
        """
        levels = np.broadcast_to(levels, (levels.shape[0], self.basis.shape[0]))
        if any(model.family.space == "counts" for model, *_ in self._members):
            return np.stack([self._mixed(each) for each in levels])
        each = self._quantiles(levels)
        if len(each) == 1:
            return np.asarray(each[0])
        middle = np.tensordot(self._weights, each, 1)
        points = np.stack([each[:, 0].min(axis=0), *middle, each[:, -1].max(axis=0)])
        ranks = np.stack([self.rank(point) for point in points])
        rows = zip(levels.T, ranks.T, points.T, strict=True)
        found = np.stack([np.interp(*row) for row in rows], axis=1)
        tail = self._middle(each - self._starts[:, None])
        return np.where(levels > self._reach, self._base + tail, found)

    def _mixed(self, level: Numbers) -> Array:
        """Quantile of the mixture, between those of its members; beyond reach by their median."""
        if isinstance(level, np.ndarray) and level.ndim == 2:
            return self._table(level)
        each = self._quantiles(np.minimum(level, self._reach))
        low, high = each.min(axis=0), each.max(axis=0)
        if len(each) == 1:
            return np.asarray(low)
        tail = self._middle(self._quantiles(level) - self._starts)
        beyond, level = np.asarray(level) > self._reach, np.minimum(level, self._reach)
        below, above = self._weights @ self._below(low), self._weights @ self._below(high)
        for _ in range(9):
            middle = 0.5 * (low + high)
            rank = self._weights @ self._below(middle)
            short = rank < level
            low, below = np.where(short, middle, low), np.where(short, rank, below)
            high, above = np.where(short, high, middle), np.where(short, above, rank)
        # what is left of the bracket is so narrow that the distribution is straight there
        share = np.clip((level - below) / np.maximum(above - below, 1e-300), 0.0, 1.0)
        return np.asarray(np.where(beyond, self._base + tail, low + share * (high - low)))
