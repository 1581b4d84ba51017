"""The race of explanations, from a quick look at all of them to held-out scores of the few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.bands.latent.families import Family
from unmet.bands.latent.likelihood import CENSORED
from unmet.bands.latent.model import Policy
from unmet.bands.latent.race import (
    Entry,
    Field,
    LinkName,
    Runner,
    ScaleName,
    all_starts,
    behind,
)

_HOPELESS = 4.0  # standard errors behind, before held-out rows are asked
_OPEN = 2.0  # standard errors behind, up to which an explanation is not ruled out
_PROOF = 3.0  # the same for one without censoring
_SAME_SHARE, _SAME_AMOUNT = 0.02, 0.15
_FAR_OFF = 0.5  # units of log-likelihood per row
_WORTH = 10.0  # units of log-likelihood that make a richer pattern worth its parameters
_LEAST_SHARE = 0.01  # of rows, for orders to be worth a name
_NEARLY_NORMAL = {"student": 3.5, "skewed": 4.0}  # logs of shapes beyond which they are normal


@dataclass(frozen=True)
class Ranked:
    """One explanation in the final ranking.

    Attributes
    ----------
    runner : Runner
    behind, standard_error : float
        How much less likely than the best, per held-out row.
    """

    runner: Runner
    behind: float
    standard_error: float

    def is_uncensored(self, standard_errors: float) -> bool:
        """Whether it has no censoring at all and is at most so far behind."""
        return self.runner.share == 0.0 and self.within(standard_errors)

    @property
    def open(self) -> bool:
        """Whether it cannot be ruled out."""
        return self.within(_OPEN) or self.is_uncensored(_PROOF)

    def within(self, standard_errors: float) -> bool:
        """Whether it is at most so far behind."""
        return self.behind <= standard_errors * self.standard_error


def explain(
    field: Field,
    families: Sequence[Family],
    policies: Sequence[Policy],
    folds: NDArray[np.intp],
) -> list[Ranked]:
    """Fit what may explain the observations and rank it by held-out likelihood, best first."""
    looks = _look(field, families, _scale_pattern(field, families))
    if field.known:
        runners = _promising(looks)
        runners = runners + _along_orders(field, runners)
    else:
        possible = field.rate is None and not (field.observed.kind == CENSORED).any()
        runners = looks if "absent" in policies and possible else []
        if {"noisy", "mixture"} & set(policies):
            noisy = [_with_orders(field, look) for look in looks]
            runners = runners + (noisy if "noisy" in policies else [])
            if "mixture" in policies:
                best = max(noisy, key=lambda each: each.information)
                runners = [*runners, _with_ample(field, best)]
    polished = [field.polish(each) for each in _promising(runners)]
    return rank([field.hold_out(each, folds) for each in _promising(_sensible(polished))])


def _scale_pattern(field: Field, families: Sequence[Family]) -> ScaleName:
    """Whether the scale varies, asked of the first family whose scale is free."""
    free = [family for family in families if family.space == "linear"]
    if not free:
        return "constant"
    robust = next((family for family in free if family.name == "logistic"), free[0])

    def merit(runner: Runner) -> float:
        """Charge a scale parameter twice: a wrong family makes them look better than they are."""
        return runner.information - runner.fit.problem.model.n_scale

    looks = []
    for name in field.scale_bases:
        entry = Entry(robust, "absent", name, "linear")
        looks.append(field.run(entry, all_starts(field.problem(entry)), rounds=3))
    best = max(looks, key=merit)
    return best.entry.scale if merit(best) > merit(looks[0]) + _WORTH else "constant"


def _look(field: Field, families: Sequence[Family], scale: ScaleName) -> list[Runner]:
    """Every family without orders; on the logarithmic scale with the better kind of location."""
    runners: list[Runner] = []
    links: tuple[LinkName, ...] = ("additive", "multiplicative")
    for family in families:
        if family.space == "log" and _hopeless_scale(runners):
            continue
        if family.space == "linear":
            runners.append(_first(field, Entry(family, "absent", scale, "linear")))
            continue
        pattern: ScaleName = scale if scale == "features" else "constant"
        both = [_first(field, Entry(family, "absent", pattern, link)) for link in links]
        best = max(both, key=lambda each: each.information)
        worth = best.information - _WORTH
        runners += [each for each in both if each.information >= worth]
        links = tuple(each.entry.link for each in both if each.information >= worth)
    return runners


def _hopeless_scale(runners: Sequence[Runner]) -> bool:
    """Whether a first family on the logarithmic scale was too far off for any other there."""
    logs = [each for each in runners if each.entry.family.space == "log"]
    others = [each for each in runners if each.entry.family.space == "linear"]
    if not logs or not others:
        return False
    best, best_log = (max(each.information for each in side) for side in (others, logs))
    return best - best_log > _FAR_OFF * others[0].rows.size


def _along_orders(field: Field, looks: Sequence[Runner]) -> list[Runner]:
    """Families whose location moves with the orders, where these are known: two parameters."""
    if "orders" not in field.bases:
        return []
    straight = [each.entry for each in looks if each.entry.link != "multiplicative"]
    return [_first(field, replace(entry, location="orders")) for entry in straight]


def _first(field: Field, entry: Entry) -> Runner:
    return field.run(entry, all_starts(field.problem(entry)), rounds=2)


def _with_orders(field: Field, look: Runner) -> Runner:
    entry = Entry(look.entry.family, "noisy", look.entry.scale, look.entry.link)
    problem = field.problem(entry)
    return field.run(entry, all_starts(problem), rounds=2)


def _with_ample(field: Field, noisy: Runner) -> Runner:
    """Start from the orders found without ample stock."""
    entry = Entry(noisy.entry.family, "mixture", noisy.entry.scale, noisy.entry.link)
    start = np.append(noisy.fit.parameters, -1.0)
    return field.run(entry, [start, all_starts(field.problem(entry))[0]], rounds=2)


def _sensible(runners: Sequence[Runner]) -> list[Runner]:
    """Leave out orders that bind next to never, and ample stock that never is.

    A level on top of the largest observation explains one row and nothing else; a mixture without
    its second part is the plain policy once more.
    """
    kept = []
    for each in runners:
        orders = each.fit.problem.model.orders(each.fit.parameters)
        if orders is not None and (each.share < _LEAST_SHARE or each.share > 1 - _LEAST_SHARE):
            continue
        if each.entry.policy == "mixture" and orders is not None and orders.ample < _LEAST_SHARE:
            continue
        kept.append(each)
    return kept or list(runners)


def _promising(runners: Sequence[Runner]) -> list[Runner]:
    """Leave out what is hopelessly behind, and a Student-t that is a normal."""
    best = max(runners, key=lambda each: each.information)
    kept = []
    for each in runners:
        if each is not best and _is_normal(each):
            continue
        weight = each.fit.problem.weight
        _, error = behind(best.rows, each.rows, weight)
        allowed = _HOPELESS * error * weight.size + _WORTH
        if best.information - each.information <= allowed:
            kept.append(each)
    uncensored = [each for each in runners if each.entry.policy == "absent"]
    if uncensored and not any(each.entry.policy == "absent" for each in kept):
        # nobody leaves without the explanation that does no harm
        kept.append(max(uncensored, key=lambda each: each.information))
    return kept


def _is_normal(runner: Runner) -> bool:
    limit = _NEARLY_NORMAL.get(runner.entry.family.name)
    shape = runner.fit.problem.model.shape(runner.fit.parameters)
    return limit is not None and float(np.max(shape)) > limit


def rank(runners: Sequence[Runner]) -> list[Ranked]:
    """Order runners by their held-out scores, best first."""

    def score(runner: Runner) -> float:
        assert runner.held_out is not None
        return float(runner.fit.problem.weight @ runner.held_out)

    ordered = sorted(runners, key=score, reverse=True)
    best = ordered[0]
    assert best.held_out is not None
    ranked = []
    for each in ordered:
        assert each.held_out is not None
        ranked.append(Ranked(each, *behind(best.held_out, each.held_out, best.fit.problem.weight)))
    return ranked


def simplest(ranked: Sequence[Ranked]) -> Ranked:
    """Of the best explanation's family, the one with fewest parameters that ties with it.

    Limits say on which side of them the truth lies: there is no amount of censoring to be modest
    about.
    """
    family = ranked[0].runner.entry.family
    ties = [each for each in ranked if each.within(1.0) and each.runner.entry.family is family]
    return min(ties, key=lambda each: each.runner.fit.parameters.size)


def choose(
    ranked: Sequence[Ranked], hidden: Callable[[Runner], float], *, known: bool, imposed: bool
) -> Ranked:
    """Of all explanations that tie with the best, the one with least censoring.

    Where the share censored is known or imposed, a tie is one within a standard error, and the one
    that hides the least amount is taken (where rows are known, the best of those that hide next to
    the least). Otherwise the share is at stake, wrong ones cost much, and the best of many looks
    better than it is: then everything ties that cannot be ruled out (two standard errors; three for
    an explanation without censoring, which must be proved). Of the same family, the one with fewest
    parameters is taken.

    Parameters
    ----------
    ranked : sequence of Ranked
        Best first.
    hidden : callable
        Mean amount by which the truth exceeds the observation, under an explanation.
    known, imposed : bool
        Whether it is known of every row if it is censored; whether a share is imposed.
    """
    ties = [each for each in ranked if (each.within(1.0) if known or imposed else each.open)]
    least = min(each.runner.share for each in ties)
    same = [each for each in ties if each.runner.share <= least + _SAME_SHARE]
    if least == 0.0:
        return next(each for each in ties if each.runner.share == 0.0)
    amounts = [hidden(each.runner) for each in same]
    enough = min(amounts) + (_SAME_AMOUNT * abs(min(amounts)) if known else 0.0)
    modest = next(each for each, amount in zip(same, amounts, strict=True) if amount <= enough)
    family = modest.runner.entry.family
    of_family = [each for each in same if each.runner.entry.family is family]
    return min(of_family, key=lambda each: each.runner.fit.parameters.size)
