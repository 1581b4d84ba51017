"""From a sample to a ranking of explanations: prepare, look for piles, let them race."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Features
from unmet.bands.latent.answer import Answer, SeenQuantiles, orders_of_known
from unmet.bands.latent.families import Family
from unmet.bands.latent.fitting import MOST_COLUMNS, Located, Policy, Rate
from unmet.bands.latent.likelihood import CENSORED, FLOOR, SEEN, Orders
from unmet.bands.latent.location import Frame, Location
from unmet.bands.latent.observed import observe
from unmet.bands.latent.orders import Pile
from unmet.bands.latent.selection import (
    Field,
    LocationName,
    Ranked,
    Runner,
    ScaleName,
    choose,
    explain,
    misfit,
    rank,
    simplest,
)
from unmet.errors import InvalidInput
from unmet.rows import Rows

_FURTHEST_SPREADS, _FURTHEST_KNOWN = 5.0, 100.0
_COARSE = 0.1
_INCREDIBLE = 0.75  # share hidden that a shape alone cannot prove
_MIDDLE_LEVELS = tuple(np.linspace(0.1, 0.9, 9).tolist())


class Told(NamedTuple):
    """What limits of the truth tell of the chosen explanation.

    Attributes
    ----------
    information : ndarray of shape (n_parameters, n_parameters)
        Sum of the rows' squared gradients.
    follows : bool
        Whether limits are a linear function of the features, and no truth is seen or between two.
    reached : float
        Highest quantile of the truth that limits stand at.
    """

    information: Array
    follows: bool
    reached: float


@dataclass(frozen=True)
class Learned:
    """Everything that was learned from the observations, for any cost and any rows.

    Attributes
    ----------
    frame : Frame
    field : Field
    ranked : list of Ranked
        Best first.
    chosen : Ranked
    pile : Pile or None
    weight : ndarray
        Of the rows, as given.
    seen : SeenQuantiles
        Quantiles of the observations themselves.
    misfit : bool
        Whether no explanation has the shape of the observations; then none with censoring is
        believed.
    tied : bool
        Whether rows are known to be censored because they tie with others of the same features.
    told : Told or None
        What limits of the truth tell, where there are some.
    imposed : dict
        The chosen explanation with sell-out rates imposed, as far as somebody has asked.
    """

    frame: Frame
    field: Field
    ranked: list[Ranked]
    chosen: Ranked
    pile: Pile | None
    weight: Array
    seen: SeenQuantiles
    misfit: bool = False
    tied: bool = False
    told: Told | None = None
    imposed: dict[float, Runner] = attribute(default_factory=dict, repr=False, compare=False)

    @property
    def rowless(self) -> bool:
        """Whether the training rows are gone, as in a model that was loaded."""
        return not self.weight.size

    @property
    def limited(self) -> bool:
        """Whether limits of the truth were given that say more than flags."""
        return self.told is not None or self.field.observed.limits is not None

    @property
    def ample(self) -> float:
        """Of truths beyond the plane of a pile, the share that was met all the same."""
        return 0.0 if self.pile is None else self.pile.ample

    def answer(self, runner: Runner, *, with_orders: bool = True) -> Answer:
        """Give what one explanation says of any rows; of the truth alone without orders."""
        model, parameters = runner.fit.problem.model, runner.fit.parameters
        orders = None
        if with_orders:
            orders = self.known_orders(runner) or model.orders(parameters)
        return Answer(model, parameters, runner.unit, self.field.observed.floor, orders)

    def known_orders(self, runner: Runner) -> Orders | None:
        """Orders where flags say which rows they bound; None where flags do not."""
        if self.rowless:
            return runner.orders
        censored = self.field.observed.kind == CENSORED
        if not self.field.known or self.pile is not None or not censored.any() or self.limited:
            return None
        problem, rows = runner.fit.problem, self.located(runner)
        u = (problem.point - rows.location) * np.exp(-rows.log_scale)
        if problem.model.family.space == "counts":
            u = np.log(problem.point + 0.5) - rows.location
        return orders_of_known(u, censored, self.field.weight)

    def probability(self, features: Features, observation: Array) -> Array:
        """Probability that each truth lies above its observation, given the observation."""
        if self.pile is not None:
            return self.pile.holds(features, observation).astype(float)
        runner = self.chosen.runner
        answer, rows = self.answer(runner), self.rows(runner, features)
        if self.limited:
            return 1.0 - answer.below(rows, observation)
        return answer.censored_probability(rows, observation)

    def located(self, runner: Runner) -> Located:
        """Location and scale of the training rows under one explanation."""
        problem = runner.fit.problem
        parameters = runner.fit.parameters
        return problem.model.locate(parameters, problem.basis, problem.scale_basis)

    def hidden(self, runner: Runner) -> float:
        """Mean amount hidden in the training rows under one explanation, without far tails."""
        answer, rows = self.answer(runner, with_orders=False), self.located(runner)
        values = [answer.truth_quantile(rows, level) for level in _MIDDLE_LEVELS]
        amount = np.mean(values, axis=0) - self.field.observed.observation
        return float(self.weight @ amount) / self.weight.size

    def is_credible(self, runner: Runner) -> bool:
        """Whether the truth stays within sight of the observations: few rows can lead astray."""
        answer, rows = self.answer(runner, with_orders=False), self.located(runner)
        high = answer.truth_quantile(rows, 0.9)
        seen = self.field.observed.observation
        # lifetimes of which few are seen to end may well lie far beyond
        spreads = _FURTHEST_KNOWN if self.field.known else _FURTHEST_SPREADS
        reach = float(np.ptp(seen))
        if self.limited:  # one price for all has no range
            reach = max(reach, self.field.observed.unit)
        furthest = float(seen.max()) + spreads * reach
        return bool(np.isfinite(high).all() and float(np.quantile(high, 0.99)) <= furthest)

    def rows(self, runner: Runner, features: Features) -> Located:
        """Location and scale of any rows under one explanation."""
        basis = self.frame.basis(features)
        scale_basis = self.frame.scale_basis(basis, runner.entry.scale)
        if runner.entry.location == "orders":
            assert self.pile is not None
            basis = self.pile.basis(features)
        problem = runner.fit.problem
        return problem.model.locate(runner.fit.parameters, basis, scale_basis)


def learn(
    sample: Rows,
    families: Sequence[Family],
    policies: Sequence[Policy],
    rate: Rate | None,
    pile: Pile | None,
    *,
    location: Location | None = None,
    seed: int = 0,
    n_folds: int = 4,
) -> Learned:
    """Let the explanations race on one sample."""
    _check_rows(sample)
    frame, basis = Frame.of(sample, location, seed)
    observed = observe(sample)
    if pile is not None:
        kind = np.where(pile.on, CENSORED, SEEN)
        observed = replace(observed, kind=np.where(observed.kind == FLOOR, FLOOR, kind))
    known = pile is not None or sample.all_known
    weight = sample.weight
    if pile is not None and observed.floor is not None:
        # with nothing in stock the bottom is observed whatever the truth: such rows say nothing
        empty = (observed.kind == FLOOR) & (pile.level(sample.features) <= observed.floor)
        weight = np.where(empty, 0.0, weight)
        weight = weight / weight.mean()
    names: tuple[ScaleName, ...] = ("constant", "level", "features")
    if not _affords(sample, basis):
        names = ("constant", "level")
    bases = {name: frame.scale_basis(basis, name) for name in names}
    locations: dict[LocationName, Array] = {"features": basis}
    if pile is not None:
        locations["orders"] = pile.basis(sample.features)
    race = Field(observed, locations, bases, weight, known, None if known else rate)
    folds = _folds(sample, n_folds, seed)
    ranked = explain(race, families, policies, folds)
    seen = SeenQuantiles(basis, observed.observation, sample.weight)
    learned = Learned(frame, race, ranked, ranked[0], pile, sample.weight, seen)
    credible = [each for each in ranked if learned.is_credible(each.runner)]
    if not credible:
        raise InvalidInput(
            "The observations must show some of the truth, got so few seen ones that every "
            "explanation puts most of it far beyond all observations."
        )
    learned = replace(learned, ranked=rank([each.runner for each in credible]))
    if learned.limited:
        return replace(learned, chosen=simplest(learned.ranked))
    chosen = choose(learned.ranked, learned.hidden, known=known, imposed=rate is not None)
    harmless = next((each for each in learned.ranked if each.runner.share == 0.0), None)
    by_shape_alone = not known and rate is None
    if harmless is not None and by_shape_alone and _unconvincing(learned, chosen, folds):
        return replace(learned, chosen=harmless, misfit=True)
    return replace(learned, chosen=chosen)


def _unconvincing(learned: Learned, chosen: Ranked, folds: NDArray[np.intp]) -> bool:
    """Whether nearly everything would be hidden, or nothing fits."""
    return chosen.runner.share > _INCREDIBLE or _fits_badly(learned, folds)


def _fits_badly(learned: Learned, folds: NDArray[np.intp]) -> bool:
    """Whether not even the best explanation has the shape of the observations."""
    best, observed = learned.ranked[0].runner, learned.field.observed
    located = learned.located(best)
    step = observed.lattice / observed.unit_of(best.entry.family.space)
    if best.entry.family.space == "counts" or best.share == 0.0:
        return False
    if step > _COARSE * float(np.median(np.exp(located.log_scale))):
        return False  # of few whole numbers a histogram shows the steps
    return misfit(best, folds)


def _affords(sample: Rows, basis: Array) -> bool:
    """Whether there are rows enough for a scale of many features."""
    return bool(sample.n_rows >= 20 * basis.shape[1])


def _check_rows(sample: Rows) -> None:
    n_basis = sample.features.shape[1] + 1
    if n_basis > MOST_COLUMNS:
        n_basis = 2  # a ridge regression stands for the features
    needed = n_basis + 5
    if sample.n_rows < needed:
        raise InvalidInput(
            f"X must have at least {needed} rows for a latent model with its {n_basis} parameters "
            f"of the location and 4 more, got {sample.n_rows}."
        )


def _folds(sample: Rows, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Random folds of equal size, the rows sorted by their observation within blocks."""
    generator = np.random.default_rng(seed)
    order = np.argsort(sample.observation, kind="stable")
    folds = np.empty(sample.n_rows, dtype=np.intp)
    for start in range(0, sample.n_rows, n_folds):
        block = order[start : start + n_folds]
        folds[block] = generator.permutation(n_folds)[: block.size]
    return folds
