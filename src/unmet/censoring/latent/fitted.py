"""From rows to what was learned, and from that to ε.

`learn` fits and ranks the candidates of some rows; `FittedModel` answers for any rows; `shifts` is
the best decision for the truth less that for what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Features, Limits, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import Columns
from unmet.censoring.latent.families import Family
from unmet.censoring.latent.fitting import LikelihoodFit, LikelihoodProblem, Located, Policy
from unmet.censoring.latent.likelihood import CENSORED, FLOOR, SEEN, Orders, RowKinds
from unmet.censoring.latent.location import Location, LocationBasis
from unmet.censoring.latent.observed import observe
from unmet.censoring.latent.orders import OrderPlane
from unmet.censoring.latent.prediction import ObservedQuantiles, Prediction, orders_of_known
from unmet.censoring.latent.robustness import (
    Verdict,
    any_smooth_distribution,
    misfit,
    power,
    robustness_check,
    share_range,
    sharper,
)
from unmet.censoring.latent.selection import (
    FittedCandidate,
    LocationName,
    ModelData,
    ScaleName,
    choose,
    explain,
    rank,
    simplest,
)
from unmet.censoring.latent.stack import (
    SelloutProfile,
    Stack,
    fit_members,
    plain_families,
    weigh,
)
from unmet.censoring.model import (
    CensoringModel,
    Diagnosis,
    RobustnessCheck,
    best_decisions,
    equally_likely,
)
from unmet.censoring.rule import USUAL_LEVELS
from unmet.costs import (
    Cost,
    CustomPricing,
    PiecewiseLinearCost,
    SquaredError,
)
from unmet.errors import InvalidInput
from unmet.rows import Rows

_FOLDS = 4
_NOTHING_SEEN = (
    "The observations must show some of the truth, got so few seen ones that every candidate model "
    "puts most of it far beyond all observations."
)
_HALVINGS = 9
_MIDDLE_LEVELS = tuple(np.linspace(0.1, 0.9, 9).tolist())


@dataclass(frozen=True)
class FittedModel(CensoringModel):
    """Everything that was learned from the observations, for any cost and any rows.

    Attributes
    ----------
    location_basis : LocationBasis
    data : ModelData
    ranked : list of FittedCandidate
        Best first.
    chosen : FittedCandidate
    order_plane : OrderPlane or None
    weight : ndarray
        Of the rows, as given.
    observed_quantiles : ObservedQuantiles
        Quantiles of the observations themselves.
    misfit : bool
        Whether no candidate model has the shape of the observations; then none with censoring is
        believed.
    verdict : Verdict or None
        What the choice survived, where nothing was known of any row.
    tied : bool
        Whether rows are known to be censored because they tie with others of the same features.
    told : tuple of an ndarray, a bool and a float, or None
        What limits of the truth tell of the chosen model, where there are some: the sum of the
        rows' squared gradients; whether limits are a linear function of the features, and no truth
        is seen or between two; the highest quantile of the truth that limits stand at.
    stack : Stack or None
        Where flags, stock or a rate are known: simple distributions that answer together. The
        chosen model is then the heaviest of them, and stands for all.
    imposed : dict
        The chosen model with sell-out rates imposed, as far as somebody has asked.
    imposed_stacks : dict
        The same of a stack.
    imposed_by_few : dict
        What a part of the rows said of rates.
    """

    location_basis: LocationBasis
    data: ModelData
    ranked: list[FittedCandidate]
    chosen: FittedCandidate
    order_plane: OrderPlane | None
    weight: Array
    observed_quantiles: ObservedQuantiles
    misfit: bool = False
    verdict: Verdict | None = None
    tied: bool = False
    told: tuple[Array, bool, float] | None = None
    stack: Stack | None = None
    imposed: dict[float, FittedCandidate] = field(default_factory=dict, repr=False, compare=False)
    imposed_stacks: dict[float, Stack] = field(default_factory=dict, repr=False, compare=False)
    imposed_by_few: dict[float, FittedCandidate] = field(
        default_factory=dict, repr=False, compare=False
    )
    diagnosis_: Diagnosis = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def distribution(self, rows: Rows) -> RowQuantiles:
        """Give the distribution of the truth of rows, given their features."""
        return RowQuantiles(self, self.chosen, rows.features)

    def _chance_censored(self, rows: Rows) -> Array:
        return self.probability(rows.features, rows.observation)

    def hides(self, fitted: FittedCandidate) -> bool:
        """Whether something is hidden under one candidate model."""
        if self.profile_of(fitted) is not None:
            return fitted.share > 0.0
        return self.data.known or fitted.candidate.policy != "absent"

    @property
    def any_distribution(self) -> bool:
        """Whether any distribution of the truth is possible, so that only a rate is known."""
        free = self.verdict is not None and self.verdict.free
        return free and self.stack is None and self.chosen.share == 0.0

    def profile_of(self, fitted: FittedCandidate) -> SelloutProfile | None:
        """Give what a candidate model hides if it is fitted to observations; else None."""
        if self.stack is not None:
            return None if self.stack.profile is None else SelloutProfile.of(fitted.share)
        imposed = (
            self.any_distribution and fitted.candidate.policy == "absent" and fitted.share > 0.0
        )
        return SelloutProfile.of(fitted.share) if imposed else None

    def together(self, fitted: FittedCandidate) -> tuple[tuple[FittedCandidate, ...], Array]:
        """Distributions and weights that predict for a candidate model, such as its stack's."""
        stacks = [] if self.stack is None else [self.stack, *self.imposed_stacks.values()]
        for stack in stacks:
            if stack.members[0] is fitted:
                return stack.members, stack.weights
        return (fitted,), np.ones(1)

    @property
    def rowless(self) -> bool:
        """Whether the training rows are gone, as in a model that was loaded."""
        return not self.weight.size

    def without_rows(self) -> FittedModel:
        """Give what can still be asked when the training rows are gone: what a file holds.

        What was fitted is a handful of numbers: the parameters of each candidate model and of each
        usual sell-out rate, and linear quantiles of the observations at the usual levels. For a
        level or a rate between two usual ones the answer then lies between theirs.
        """
        if self.rowless:
            return self
        nothing, observed = np.empty(0), self.data.observed
        known: dict[int, FittedCandidate] = {}

        def bare(fitted: FittedCandidate) -> FittedCandidate:
            if id(fitted) not in known:  # a stack is known by its first member
                model = fitted.fit.problem.model
                bases = np.empty((0, model.n_location)), np.empty((0, model.n_scale))
                problem = LikelihoodProblem(model, *bases, nothing, RowKinds.of(nothing), nothing)
                fit = LikelihoodFit(problem, fitted.fit.parameters, nothing, np.nan)
                orders = self.known_orders(fitted)
                known[id(fitted)] = replace(
                    fitted, fit=fit, rows=nothing, held_out=None, orders=orders
                )
            return known[id(fitted)]

        def stacked(stack: Stack) -> Stack:
            return replace(stack, members=tuple(bare(each) for each in stack.members))

        limits = None if self.told is None else Limits(nothing, nothing)
        units = replace(observed, observation=nothing, kind=nothing, limits=limits)
        return replace(
            self,
            data=ModelData(units, {}, {}, nothing, self.data.known, self.data.rate),
            ranked=[bare(each) for each in self.ranked],
            chosen=bare(self.chosen),
            weight=nothing,
            observed_quantiles=self.observed_quantiles.without_rows(),
            stack=None if self.stack is None else stacked(self.stack),
            imposed={rate: bare(fitted) for rate, fitted in self.imposed.items()},
            imposed_stacks={
                rate: stacked(each)
                for rate, each in self.imposed_stacks.items()
                if each.profile is None  # what a rate hides is known of any rate
            },
            imposed_by_few={},
            diagnosis_=None,  # type: ignore[arg-type]
        )

    @property
    def interval_censored(self) -> bool:
        """Whether limits of the truth were given that say more than flags."""
        return self.told is not None or self.data.observed.limits is not None

    @property
    def one_left(self) -> bool:
        """Whether flags, stock or limits leave one candidate model."""
        return self.data.known or self.interval_censored

    def prediction(self, fitted: FittedCandidate, *, with_orders: bool = True) -> Prediction:
        """Give what one candidate model says of any rows; of the truth alone without orders."""
        model, parameters = fitted.fit.problem.model, fitted.fit.parameters
        orders = None
        if with_orders:
            orders = self.known_orders(fitted) or model.orders(parameters)
        return Prediction(model, parameters, fitted.unit, self.data.observed.floor, orders)

    def known_orders(self, fitted: FittedCandidate) -> Orders | None:
        """Orders where flags say which rows they bound; None where flags do not."""
        if self.rowless:
            return fitted.orders
        censored = self.data.observed.kind == CENSORED
        flags = self.data.known and self.order_plane is None and not self.interval_censored
        if not flags or not censored.any():
            return None
        problem, rows = fitted.fit.problem, fitted.fit.located
        u = (problem.point - rows.location) * np.exp(-rows.log_scale)
        if problem.model.family.space == "counts":
            u = np.log(problem.point + 0.5) - rows.location
        return orders_of_known(u, censored, self.data.weight)

    def probability(self, features: Features, observation: Array) -> Array:
        """Probability that each truth lies above its observation, given the observation."""
        if self.order_plane is not None:
            return self.order_plane.holds(features, observation).astype(float)
        fitted = self.chosen
        profile = self.profile_of(fitted)
        if profile is not None:
            return profile.sold_out(RowQuantiles(self, fitted, features).rank(observation))
        prediction, rows = self.prediction(fitted), self.rows(fitted, features)
        if self.interval_censored:
            return 1.0 - prediction.below(rows, observation)
        return prediction.censored_probability(rows, observation)

    def hidden(self, fitted: FittedCandidate) -> float:
        """Mean amount hidden in the training rows under one candidate model, without far tails."""
        prediction, rows = self.prediction(fitted, with_orders=False), fitted.fit.located
        values = [prediction.truth_quantile(rows, level) for level in _MIDDLE_LEVELS]
        amount = np.mean(values, axis=0) - self.data.observed.observation
        return float(self.weight @ amount) / self.weight.size

    def is_credible(self, fitted: FittedCandidate, *, within_sight: bool = False) -> bool:
        """Whether the truth stays within sight of the observations: few rows can lead astray."""
        prediction, rows = self.prediction(fitted, with_orders=False), fitted.fit.located
        high = prediction.truth_quantile(rows, 0.9)
        seen = self.data.observed.observation
        # lifetimes of which few are seen to end may well lie far beyond
        known = self.data.known and not within_sight
        spreads = tuned.FURTHEST_KNOWN if known else tuned.FURTHEST_SPREADS
        reach = float(np.ptp(seen))
        if self.interval_censored:  # one price for all has no range
            reach = max(reach, self.data.observed.unit)
        furthest = float(seen.max()) + spreads * reach
        return bool(np.isfinite(high).all() and float(np.quantile(high, 0.99)) <= furthest)

    def rows(self, fitted: FittedCandidate, features: Features) -> Located:
        """Location and scale of any rows under one candidate model."""
        basis = self.location_basis.basis(features)
        scale_basis = self.location_basis.scale_basis(basis, fitted.candidate.scale)
        if fitted.candidate.location == "orders":
            assert self.order_plane is not None
            basis = self.order_plane.basis(features)
        return fitted.fit.problem.model.locate(fitted.fit.parameters, basis, scale_basis)


def learn(
    sample: Rows,
    families: Sequence[Family],
    policies: Sequence[Policy],
    rate: tuple[float, float] | None,
    order_plane: OrderPlane | None,
    location: Location | None,
    seed: int,
    *,
    auto: bool = True,
    free: bool = False,
) -> FittedModel:
    """Fit and rank the candidates of some rows, and choose one; stack them if much is known.

    `auto` says that nobody asked for certain families or orders. Where nothing is known of any row,
    a distribution that is `free` may have any shape (see `robustness_checks`).
    """
    stacked = _to_stack(sample, families, rate, order_plane, auto=auto)
    n_basis = sample.features.shape[1] + 1
    if n_basis > tuned.MAX_COLUMNS or stacked:
        n_basis = 2  # a ridge regression stands for the features, or slopes are shrunk
    needed = n_basis + 5
    if sample.n_rows < needed:
        raise InvalidInput(
            f"X must have at least {needed} rows for a latent model with its {n_basis} parameters "
            f"of the location and 4 more, got {sample.n_rows}."
        )
    location_basis, basis = LocationBasis.of(sample, location, seed, shrinks=bool(stacked))
    observed = observe(sample)
    known, weight = order_plane is not None or sample.all_known, sample.weight
    locations: dict[LocationName, Columns] = {"features": basis}
    if order_plane is not None:
        locations["orders"] = order_plane.basis(sample.features)
        kind = np.where(order_plane.on, CENSORED, SEEN)
        observed = replace(observed, kind=np.where(observed.kind == FLOOR, FLOOR, kind))
        if observed.floor is not None:
            # with nothing in stock the bottom is observed whatever the truth: no row says less
            orders = order_plane.level(sample.features)
            empty = (observed.kind == FLOOR) & (orders <= observed.floor)
            weight = np.where(empty, 0.0, weight)
            weight = weight / weight.mean()
    names: tuple[ScaleName, ...] = ("constant", "level", "features")
    if sample.n_rows < tuned.ROWS_PER_SCALE * basis.shape[1]:
        names = ("constant", "level")
    bases = {name: location_basis.scale_basis(basis, name) for name in names}
    data = ModelData(observed, locations, bases, weight, known, None if known else rate)
    if stacked:
        return _learn_stack(sample, data, location_basis, basis, stacked, seed, auto=auto)

    # random folds of equal size, each with its part of every range of observations
    generator, folds = np.random.default_rng(seed), np.empty(sample.n_rows, dtype=np.intp)
    order = np.argsort(sample.observation, kind="stable")
    for start in range(0, sample.n_rows, _FOLDS):
        block = order[start : start + _FOLDS]
        folds[block] = generator.permutation(_FOLDS)[: block.size]

    ranked = explain(data, families, policies, folds, free=free)
    seen = ObservedQuantiles(basis, observed.observation, sample.weight)
    fitted_model = FittedModel(
        location_basis, data, ranked, ranked[0], order_plane, sample.weight, seen
    )
    credible = [each for each in ranked if fitted_model.is_credible(each)]
    if not credible:
        raise InvalidInput(_NOTHING_SEEN)
    fitted_model = replace(fitted_model, ranked=rank(credible))
    if fitted_model.interval_censored:
        return replace(fitted_model, chosen=simplest(fitted_model.ranked))
    chosen = choose(fitted_model.ranked, fitted_model.hidden, known=known, imposed=rate is not None)
    harmless = next((each for each in fitted_model.ranked if each.share == 0.0), None)
    if harmless is None and not known and rate is None:  # some rows are known to be censored
        possible = [chosen, *(each for each in fitted_model.ranked if each.open)]
        return replace(fitted_model, chosen=chosen, verdict=Verdict(share_range(possible)))
    if harmless is None or known or rate is not None:
        return replace(fitted_model, chosen=chosen)
    return _by_shape(replace(fitted_model, chosen=chosen), harmless, sample, folds, free, seed)


def _to_stack(
    sample: Rows,
    families: Sequence[Family],
    rate: tuple[float, float] | None,
    order_plane: OrderPlane | None,
    *,
    auto: bool,
) -> list[Family]:
    """Families to stack; none where not all rows are known, or orders left a point mass."""
    if sample.limits is not None or order_plane is not None:
        return []
    flags, rate_alone = sample.all_known, auto and rate is not None and sample.censored is None
    if isinstance(sample.cost, CustomPricing):
        rate_alone = False  # offers are not made as orders are: their profile is another
    if not (flags or rate_alone):
        return []
    return plain_families(families, auto=auto, positive=observe(sample).positive)


def _learn_stack(
    sample: Rows,
    data: ModelData,
    location_basis: LocationBasis,
    basis: Columns,
    families: Sequence[Family],
    seed: int,
    *,
    auto: bool,
) -> FittedModel:
    """Stack simple distributions of the truth, or of observations where a rate is given."""
    stretch = location_basis.orthogonal.stretch
    members = fit_members(data, families, stretch, seed, auto=auto)
    seen = ObservedQuantiles(basis, sample.observation, sample.weight)
    ranked = rank(members)
    fitted_model = FittedModel(location_basis, data, ranked, ranked[0], None, sample.weight, seen)
    for within_sight in (True, False):
        credible = [
            each for each in members if fitted_model.is_credible(each, within_sight=within_sight)
        ]
        if credible:
            break
    else:
        raise InvalidInput(_NOTHING_SEEN)
    if data.rate is not None:
        credible = [replace(each, share=data.rate[0]) for each in credible]
    ranked = rank(credible)
    by_candidate = {each.candidate: each for each in ranked}
    stacked = weigh([by_candidate[each.candidate] for each in credible])
    if data.rate is not None:
        stacked = replace(stacked, profile=SelloutProfile.of(data.rate[0]))
    return replace(fitted_model, ranked=ranked, chosen=stacked.members[0], stack=stacked)


def _by_shape(
    fitted_model: FittedModel,
    harmless: FittedCandidate,
    sample: Rows,
    folds: NDArray[np.intp],
    free: bool,
    seed: int,
) -> FittedModel:
    """Believe what a shape alone says only as far as it survives; else nothing is hidden."""
    data, chosen = fitted_model.data, fitted_model.chosen
    possible = [each for each in fitted_model.ranked if each.open]
    if chosen.share == 0.0:
        chance = power(chosen, seed) if free else ()
        low, high = share_range([chosen, *possible])
        if any(seen < tuned.POWER for _, seen in chance):
            # up to what would have been seen, any share is possible
            high = max(
                high, min((share for share, seen in chance if seen >= tuned.POWER), default=1.0)
            )
        return replace(fitted_model, verdict=Verdict((low, high), power=chance, free=free))
    best = fitted_model.ranked[0]
    lattice = data.observed.lattice
    claimed = best if best.share > 0.0 else chosen
    difference = any_smooth_distribution(claimed, harmless, folds, lattice)
    wrong = chosen.share > tuned.INCREDIBLE or misfit(difference, data.weight)
    any_distribution = free and not sharper(difference, data.weight)
    robustness_checks: list[RobustnessCheck] = []
    if not (wrong or any_distribution):
        when = None if sample.time is None else np.unique(sample.time, return_inverse=True)[1]
        robustness_checks = robustness_check(data, chosen, harmless, when, sample.series)
    low, high = share_range([chosen, *possible])
    again = [each.share for each in robustness_checks]
    ends = min([low, *again]), max([high, *again])
    verdict = Verdict(ends, tuple(robustness_checks), any_distribution=any_distribution, free=free)
    if wrong or not verdict.survives:
        # orders that scatter would not have been seen: no share of theirs is ruled out by this
        verdict = replace(verdict, share_range=(0.0, 1.0))
        return replace(fitted_model, chosen=harmless, misfit=wrong, verdict=verdict)
    return replace(fitted_model, verdict=verdict)


def shifts(
    fitted_model: FittedModel, fitted: FittedCandidate, features: Features, cost: Cost
) -> Array:
    """ε of each row, never below 0; where limits are known the truth may lie to either side.

    Where little is censored ε is bounded: it must not be made of estimation error. If a share c of
    the rows is censored, P(D ≤ y) ≥ P(S ≤ y) − c, so the truth's α-quantile is at most the
    observation's at α + c. Rows may be censored more often than on average: three times. Quantiles
    are interpolated between usual levels, which a saved rule has, too.
    """
    if not fitted_model.interval_censored and fitted.share == 0.0:
        return np.zeros(features.shape[0])
    if fitted_model.any_distribution and isinstance(cost, PiecewiseLinearCost):
        # one distribution tells both ends, so that nothing is added where nothing is hidden
        quantiles = RowQuantiles(fitted_model, fitted, features)
        return quantiles.truth(cost.level) - quantiles.observed(cost.level)
    truth, seen = decisions(fitted_model, fitted, features, cost)
    if fitted_model.interval_censored:
        return truth - seen
    most: Array | float = np.inf
    if isinstance(cost, PiecewiseLinearCost):
        level = cost.level + tuned.CENSORED_MORE_OFTEN * fitted.share
        if float(np.max(level)) <= USUAL_LEVELS[-1]:
            basis = fitted_model.location_basis.basis(features)
            usual = np.array(USUAL_LEVELS)
            right = np.maximum(np.searchsorted(usual, level), 1)
            part = (level - usual[right - 1]) / (usual[right] - usual[right - 1])
            ends = [
                fitted_model.observed_quantiles.quantile(basis, usual[place])
                for place in (right - 1, right)
            ]
            above = (1.0 - part) * ends[0] + part * ends[1]
            most = np.maximum(above - seen, 0.0)
    return np.clip(truth - seen, 0.0, most)


def some_rows(n_rows: int) -> Iterator[NDArray[np.intp]]:
    """Give rows to work on together: distributions × nodes × rows must fit into memory."""
    for start in range(0, n_rows, tuned.ROWS_AT_A_TIME):
        yield np.arange(start, min(start + tuned.ROWS_AT_A_TIME, n_rows))


def decisions(
    fitted_model: FittedModel, fitted: FittedCandidate, features: Features, cost: Cost
) -> tuple[Array, Array]:
    """Best decisions of each row: if the truth were seen, and if only the observation is."""
    if isinstance(cost, PiecewiseLinearCost):
        truth = RowQuantiles(fitted_model, fitted, features).truth(cost.level)
        return truth, fitted_model.observed_quantiles.quantile(
            fitted_model.location_basis.basis(features), cost.level
        )
    n_rows = features.shape[0]
    both = np.empty((2, n_rows))
    for index in some_rows(n_rows):
        part = RowQuantiles(fitted_model, fitted, features[index])
        for place, quantile in enumerate((part.truth, part.observed)):
            both[place, index] = best_decisions(quantile, cost.take(index))
    return both[0], both[1]


class RowQuantiles:
    """Conditional quantiles of some rows under one candidate model.

    Training rows may be asked for by their `index`: trees that stand for the features are then
    those that had not seen the row, and residuals are what they will be.
    """

    def __init__(
        self,
        fitted_model: FittedModel,
        fitted: FittedCandidate,
        features: Features,
        index: NDArray[np.intp] | None = None,
    ) -> None:
        members, self._weights = fitted_model.together(fitted)
        self._profile = fitted_model.profile_of(fitted)
        self._fitted_model, self._fitted = fitted_model, fitted
        self._distributions = [fitted_model.prediction(each, with_orders=False) for each in members]
        if index is not None and fitted_model.location_basis.location is not None:
            self._located = [each.fit.located.take(index) for each in members]
        else:
            self._located = [fitted_model.rows(each, features) for each in members]
        self._rows = self._located[0]
        self._prediction: Prediction | None = None
        self._order: Array | None = None
        self._unlimited = 0.0
        if fitted_model.order_plane is not None:
            order = fitted_model.order_plane.level(features)
            floor = fitted_model.data.observed.floor
            self._order = order if floor is None else np.maximum(order, floor)
            self._unlimited = fitted_model.order_plane.unlimited

    def truth(self, level: Numbers) -> Array:
        """Quantile of the truth."""
        if self._profile is not None:
            level = self._profile.observed_level(level)
        return self._mixed(level)

    def observed(self, level: Numbers) -> Array:
        """Quantile of the observation."""
        if self._profile is not None:
            return self._mixed(level)
        if self._prediction is None:
            self._prediction = self._fitted_model.prediction(self._fitted)
        return self._prediction.observed_quantile(self._rows, level, self._order, self._unlimited)

    def below(self, value: Array) -> Array:
        """Probability that the truth is at most a value."""
        rank = self.rank(value)
        return rank if self._profile is None else self._profile.truth_level(rank)

    def rank(self, value: Array) -> Array:
        """Probability of at most a value under the distributions that were fitted."""
        ranks = [
            weight * distribution.below(rows, value)
            for weight, distribution, rows in zip(
                self._weights, self._distributions, self._located, strict=True
            )
        ]
        return np.asarray(np.minimum(np.sum(ranks, axis=0), 1.0))

    def _mixed(self, level: Numbers) -> Array:
        """Quantile of the mixture, between those of its members."""
        distributions = zip(self._distributions, self._located, strict=True)
        each = np.stack(
            [distribution.truth_quantile(rows, level) for distribution, rows in distributions]
        )
        low, high = each.min(axis=0), each.max(axis=0)
        if len(each) == 1:
            return np.asarray(low)
        below, above = self.rank(low), self.rank(high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            rank = self.rank(middle)
            short = rank < level
            low, below = np.where(short, middle, low), np.where(short, rank, below)
            high, above = np.where(short, high, middle), np.where(short, above, rank)
        # what is left of the bracket is so narrow that the distribution is straight there
        share = np.clip((level - below) / np.maximum(above - below, 1e-300), 0.0, 1.0)
        return np.asarray(low + share * (high - low))

    def nodes(self) -> Array:
        """Equally likely truths of each row, of shape (count, n_rows)."""
        return equally_likely(self.truth)


@dataclass(frozen=True)
class RepresentativeRows:
    """Rows spread evenly over the observations; all that a fitted rule keeps of its features.

    Attributes
    ----------
    sample : Rows
        The rows themselves.
    index : ndarray of shape (n_representative,)
        Their places among all rows.
    n_rows : int
        Number of all rows.
    """

    sample: Rows
    index: NDArray[np.intp]
    n_rows: int

    @classmethod
    def of(cls, sample: Rows) -> RepresentativeRows:
        """Choose them."""
        if sample.n_rows <= tuned.REPRESENTATIVE_ROWS:
            return cls(sample, np.arange(sample.n_rows), sample.n_rows)
        order = np.argsort(sample.observation, kind="stable")
        places = np.linspace(0, order.size - 1, tuned.REPRESENTATIVE_ROWS).astype(int)
        index = np.sort(order[places])
        return cls(sample.take(index), index, sample.n_rows)

    def without_observations(self) -> RepresentativeRows:
        """Keep their features and weights alone: what a file holds."""
        nothing = np.full(self.sample.n_rows, np.nan)
        bare = Rows(self.sample.features, nothing, SquaredError(), self.sample.share)
        return replace(self, sample=bare, index=np.arange(self.sample.n_rows))

    def mean(self, values: Array) -> float:
        """Weighted mean of a column of theirs."""
        return float(values @ (self.sample.weight / self.sample.n_rows))

    def evaluated(self, cost: Cost) -> RepresentativeRows:
        """Let them cost something else: a number, or one for each of all rows."""
        return replace(self, sample=replace(self.sample, cost=cost.take(self.index)))
