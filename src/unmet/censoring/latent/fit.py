"""Fit a censoring model to rows, with everything that is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from unmet.censoring.latent.diagnose import describe_limits, diagnose, draw_quantiles, tell
from unmet.censoring.latent.families import Family
from unmet.censoring.latent.likelihood import CENSORED, FLOOR, SEEN, ScaleName
from unmet.censoring.latent.location import MAX_COLUMNS, LocationBasis, dense, find_location
from unmet.censoring.latent.model import GRID, FittedModel
from unmet.censoring.latent.observed import (
    Observed,
    read_families,
    read_policies,
    usable,
)
from unmet.censoring.latent.orders import find_believed_plane
from unmet.censoring.latent.robustness import (
    any_smooth_distribution,
    counted_share,
    robustness_checks,
    share_range,
    sharper,
)
from unmet.censoring.latent.selection import FittedCandidate, choose, explain, rank
from unmet.censoring.latent.sellout import read_rate, skewness
from unmet.censoring.latent.stack import fit_members, offer_weights, plain_families, weigh
from unmet.censoring.latent.unidentified import WhenUnidentified
from unmet.censoring.order_rule import OrderRuleDetection
from unmet.costs import CustomPricing
from unmet.errors import InvalidInput, SolverFailure
from unmet.rows import Rows, check_sizes
from unmet.validation import WholeNumber


@contextmanager
def arithmetic() -> Iterator[None]:
    """Silence NumPy's warnings (results are checked), and turn its failures into our errors."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise SolverFailure(
            f"The latent model could not be fitted to these observations ({error}): look for a few "
            "that are far from all others, or give flags or a sell-out rate."
        ) from error


@arithmetic()
def fit_censoring(
    rows: Rows,
    *,
    sellout_rate: Any = None,
    order_rule: Any = "auto",
    families: Any = "auto",
    orders: Any = "auto",
    location: Any = None,
    estimator: Any = None,
    when_unidentified: WhenUnidentified = "least_censoring",
    max_rows: int = 200_000,
    random_state: Any = None,
) -> FittedModel:
    """Fit a censoring model to rows, with everything that is known of them.

    Parameters
    ----------
    rows : Rows
        Rows; flags, stock or limits are used if given, and times and series are searched for an
        order rule. The diagnosis is for their cost.
    sellout_rate, order_rule, families, orders, location, when_unidentified, max_rows, random_state
        As for `LatentBand`.
    estimator : estimator, optional
        The model that will be trained: ``location="auto"`` tries trees if it can bend.

    Returns
    -------
    CensoringModel
        The fitted model.
    """
    rate, policies = read_rate(sellout_rate), read_policies(orders)
    seed = _seed(random_state)
    notes: list[str] = []
    sample = rows.counted().settled()
    check_sizes(sample)
    sample, found_rule = _with_order_rule(usable(sample, notes), order_rule, seed, notes)
    known = sample
    if sample.censored is not None:
        told = ~np.isnan(sample.censored)
        both = (sample.censored == 1).any() and (sample.censored == 0).any()
        if both and 0.8 <= told.mean() < 1.0:  # without the few others, orders need no model
            notes.append(f"{(~told).sum():,} rows of which nothing is known were left out.")
            known = sample.take(np.flatnonzero(told))
    left_out, used = 1.0 - known.n_rows / sample.n_rows, _sampled(known, max_rows, seed, notes)
    unknown = used.limits is None and not used.all_known
    tried = read_families(families, Observed.of(used))
    order_plane = find_believed_plane(used, rate, notes) if unknown else None
    if rate is not None and rate.high == 0.0:
        policies = ("absent",)
    imposed = None if rate is None or rate.high == 0.0 else rate.imposed[0]
    censored = used.censored is not None and (used.censored == 1).any()
    if order_plane is None and unknown and policies == ("absent",) and (imposed or censored):
        why = "a sell-out rate above 0" if imposed else "rows that are flagged as censored"
        raise InvalidInput(f"orders must be 'noisy' or 'mixture' with {why}, got 'absent'.")
    binding, usual = policies != ("absent",), families if isinstance(families, str) else ""
    flags = used.censored if order_plane is None else order_plane.on.astype(float)
    lives = all(family.space == "log" for family in tried) and bool((used.observation > 0).all())
    if used.entry is not None and location == "trees":
        notes.append("With ages at entry no trees stand for the features: they are linear.")
        location = None
    bent = find_location(used, location, estimator, seed, notes, flags, logs=lives)
    free = usual in ("auto", "lifetimes") and binding
    auto = free and usual == "auto" and isinstance(orders, str) and orders == "auto"
    offers = used.limits is not None and not (set(used.limits.kinds) - {"left", "right"})
    if offers:
        _check_offers(used, notes)
    # where all is known of the rows, or nothing but a rate, distributions are stacked
    to_stack: list[Family] = []
    rate_alone = auto and imposed is not None and used.censored is None
    able = used.all_known or (rate_alone and not isinstance(used.cost, CustomPricing))
    if able and (used.limits is None or offers) and order_plane is None:
        positive = Observed.of(used).positive
        to_stack = plain_families(tried, auto=auto, positive=positive, offers=offers)

    n_basis = used.features.shape[1] + 1
    if n_basis > MAX_COLUMNS or to_stack:
        n_basis = 2  # a ridge regression stands for the features, or slopes are shrunk
    if used.n_rows < n_basis + 5:
        raise InvalidInput(
            f"X must have at least {n_basis + 5} rows for a latent model with its {n_basis} "
            f"parameters of the location and 4 more, got {used.n_rows}."
        )
    basis, columns = LocationBasis.learn(used, bent, seed, shrinks=bool(to_stack))
    names: tuple[ScaleName, ...] = ("constant", "level", "features")
    if used.n_rows < 20 * columns.shape[1]:
        names = ("constant", "level")
    data = replace(
        Observed.of(used),
        basis=columns,
        scale_bases={name: basis.scale_basis(columns, name) for name in names},
        rate=None if order_plane is not None or used.all_known else imposed,
    )
    if order_plane is not None:
        level = order_plane.level(used.features)
        kind = np.where(data.kind == FLOOR, FLOOR, np.where(order_plane.on, CENSORED, SEEN))
        weight = data.weight
        if data.floor is not None:
            # with nothing in stock the bottom is observed whatever the truth: no row says less
            weight = np.where((kind == FLOOR) & (level <= data.floor), 0.0, weight)
            weight = weight / weight.mean()
        told_orders = order_plane.centred(level)
        data = replace(data, kind=kind, weight=weight, order_basis=told_orders, known=True)
    model = FittedModel(basis, data, used)
    model.order_plane, model.rate, model.order_rule = order_plane, rate, found_rule
    model.notes = notes
    model.free = free and not data.known and data.rate is None
    if data.limits is None and not data.known:
        model.skewness = _skewness(data)
    if to_stack:
        _learn_stack(model, to_stack, seed, auto=auto)
    else:
        _learn(model, tried, policies, used, seed)
    ruled = found_rule is not None and found_rule.accepted_ and imposed is None
    if order_plane is not None or ruled:
        top = used.observation == used.observation.max()
        tied = 0 if order_plane is None else int((top & ~order_plane.on).sum())
        at_the_top = tied / used.n_rows if tied >= 10 else 0.0  # chance does not bring so many
        model.share_range = counted_share(data, model.chosen, left_out, at_the_top)
        model.free, model.smooth, model.checks = False, False, ()
    if data.known and order_plane is None and (data.kind == CENSORED).any():
        ranks = model.of_training(model.chosen).rank(data.observation)
        model.reached = np.quantile(ranks, GRID)
    if model.interval_censored:
        model.told = tell(model)
    model.plot = draw_quantiles(model)
    _add_notes(model, used, notes)
    model.diagnosis_ = diagnose(model, used.cost, when_unidentified)
    return model


def _skewness(data: Observed) -> tuple[float, float]:
    """Skewness of what a linear model leaves of the observations, in units of counts' noise."""
    seen, weight = data.observation, data.weight
    root = np.sqrt(weight)[:, None]
    slopes = np.linalg.lstsq(root * data.basis, root[:, 0] * seen, rcond=None)[0]
    expected = data.basis @ slopes
    noise = np.sqrt(np.maximum(expected, max(0.2 * float(np.mean(seen)), 1e-12)))
    return skewness((seen - expected) / noise, weight)


def _credible(
    model: FittedModel, candidates: Sequence[FittedCandidate], *, known: bool
) -> list[FittedCandidate]:
    """Candidates whose truth stays within sight of the observations."""
    model.ranked = rank(candidates, model.data.weight)
    model.chosen = model.ranked[0]
    return [each for each in candidates if model.is_credible(each, known=known)]


def _learn_stack(model: FittedModel, families: Sequence[Family], seed: int, *, auto: bool) -> None:
    """Stack simple distributions of the truth, or of observations where a rate is given."""
    data = model.data
    members = fit_members(data, families, model.basis.stretch, seed, auto=auto)
    credible = _credible(model, members, known=False) or _credible(model, members, known=True)
    if not credible:
        raise InvalidInput(_NOTHING_SEEN)
    if data.rate is not None:
        credible = [replace(each, share=data.rate, rate=model.rate) for each in credible]
    offers = model.interval_censored
    kept, model.weights = offer_weights(credible) if offers else weigh(credible, data.weight)
    heavy = [credible[place].model for place in kept]
    model.ranked = rank([credible[place] for place in kept] if offers else credible, data.weight)
    model.members = [next(r for r in model.ranked if r.model == each) for each in heavy]
    model.chosen = model.members[0]
    if data.known and not offers and (data.kind == CENSORED).any():
        ranks = model.of_training(model.chosen).rank(data.observation)
        seen = np.sort(ranks[data.kind == SEEN])[::-1]
        # ten rows beyond tell, or half of those that there would be without censoring
        enough = np.minimum(10.0, 0.5 * data.n_rows * (1.0 - seen))
        few = seen[np.arange(1, seen.size + 1) < enough]
        model.reach = float(few.min()) if few.size else 1.0


def _learn(
    model: FittedModel, families: Sequence[Family], policies: Any, sample: Rows, seed: int
) -> None:
    """Fit and rank candidates and choose one; believe a shape only as far as it survives."""
    data = model.data
    # random folds of equal size, each with its part of every range of observations
    generator, folds = np.random.default_rng(seed), np.empty(sample.n_rows, dtype=np.intp)
    order = np.argsort(sample.observation, kind="stable")
    for start in range(0, sample.n_rows, 4):
        block = order[start : start + 4]
        folds[block] = generator.permutation(4)[: block.size]
    ranked = explain(data, families, policies, folds)
    credible = _credible(model, ranked, known=data.known)
    if not credible:
        raise InvalidInput(_NOTHING_SEEN)
    model.ranked = rank(credible, data.weight)
    how = {"known": data.known, "imposed": data.rate is not None}
    model.chosen = choose(model.ranked, model.hidden, **how, limits=model.interval_censored)
    if data.known or data.rate is not None:
        return
    chosen, harmless = model.chosen, next((e for e in model.ranked if e.share == 0.0), None)
    low, high = share_range(data, [chosen, *(each for each in model.ranked if each.open)])
    if harmless is None:  # some rows are known to be censored
        model.share_range, model.free = (low, high), False
    elif chosen.share == 0.0:
        # orders that scatter leave no mark: where demand is free, any share is possible
        model.share_range = (low, 1.0 if model.free else high)
    else:
        # believe what a shape alone says only as far as it survives; else nothing is hidden
        best = model.ranked[0]
        claimed = best if best.share > 0.0 else model.chosen
        difference = any_smooth_distribution(data, claimed, harmless, folds)
        model.smooth = model.free and not sharper(difference, data.weight)
        if not model.smooth:
            model.checks = robustness_checks(data, model.chosen, harmless, sample)
        again = [each.share for each in model.checks]
        model.share_range = min([low, *again]), max([high, *again])
        if model.smooth or not all(each.holds for each in model.checks):
            # orders that scatter would not have been seen: no share of theirs is ruled out by this
            model.chosen, model.share_range = harmless, (0.0, 1.0)


_RISES = (
    "Offers must be accepted less often at higher prices, got some that were accepted more often "
    "by buyers with the same features: if buyers who refused got further offers, keep the first "
    "one to each, or add the feature that prices followed."
)
UNCLEAR_OFFERS = (
    "Offers at higher prices were not clearly accepted less often, so prices are hardly more than "
    "a guess: vary them more among buyers with the same features, and of several offers to a buyer "
    "keep the first."
)
_NOTHING_SEEN = (
    "The observations must show some of the truth, got so few seen ones that every candidate model "
    "puts most of it far beyond all observations."
)


def _check_offers(sample: Rows, notes: list[str]) -> None:
    """Ask whether rows alike in their features accepted lower prices more often."""
    assert sample.limits is not None
    price, accepted = sample.observation, (sample.limits.kinds == "right").astype(float)
    columns = np.column_stack([np.ones(price.size), dense(sample.features)])
    rest = price - columns @ np.linalg.lstsq(columns, price, rcond=None)[0]
    away = accepted - accepted.mean()
    sizes = float(np.sqrt((rest @ rest) * (away @ away)))
    errors = float(rest @ away) / sizes * np.sqrt(price.size) if sizes else 0.0
    if errors > 2.0:
        raise InvalidInput(_RISES)
    if errors > -2.0:
        notes.append(UNCLEAR_OFFERS)


def _with_order_rule(
    sample: Rows, finder: Any, seed: int, notes: list[str]
) -> tuple[Rows, OrderRuleDetection | None]:
    """Add flags from the order rule, where times are given and it can be found."""
    if finder is None or sample.time is None or sample.all_known:
        return sample, None
    if isinstance(finder, str) and finder == "auto":
        finder = OrderRuleDetection(random_state=seed)
    if not isinstance(finder, OrderRuleDetection):
        raise InvalidInput(
            f"order_rule must be 'auto', an OrderRuleDetection or None, got {finder!r}."
        )
    if float(sample.observation.min()) < 0:
        return sample, None  # orders and sales are not negative: no such rule was followed
    found = clone(finder).fit(sample.observation, sample.time, sample.series)
    if not found.accepted_:
        notes.append("No order rule was detected.")
        return sample, found
    notes.append(f"An order rule was detected: {found.rule_}.")
    flags = found.censored_
    if sample.censored is not None:
        flags = np.where(np.isnan(sample.censored), flags, sample.censored)
    return replace(sample, censored=flags), found


def _sampled(sample: Rows, max_rows: int, seed: int, notes: list[str]) -> Rows:
    """Thin out a large sample, the same share of every range of observations."""
    most = WholeNumber(100)("max_rows", max_rows)
    if sample.n_rows <= most:
        return sample
    notes.append(
        f"The latent model was fitted to a stratified sample of {most:,} of {sample.n_rows:,} rows."
    )
    order = np.argsort(sample.observation, kind="stable")
    # one row at random from each of `most` ranges of neighbouring observations
    edges = np.linspace(0, sample.n_rows, most + 1).astype(np.intp)
    picked = np.random.default_rng(seed).integers(edges[:-1], edges[1:])
    return sample.take(np.sort(order[picked]))


def _add_notes(model: FittedModel, sample: Rows, notes: list[str]) -> None:
    """Say in a sentence each what the numbers are based on."""
    if model.order_plane is not None:
        notes.append(
            f"{model.chosen.share:.0%} of the observations lie exactly on a plane in the features, "
            "so they are sold-out orders."
        )
        return
    if model.interval_censored:
        notes.append(describe_limits(sample))
    rate, profile = model.rate, model.profile_of(model.chosen)
    if model.members:
        parts = [
            f"{each.model.family.name.replace('_', ' ')} {weight:.0%}"
            for each, weight in zip(model.members, model.weights, strict=True)
        ]
        what = "truth" if profile is None else "observations"
        by = "their likelihood" if model.interval_censored else "rows held out"
        if len(parts) == 1:
            name = model.chosen.model.family.name.replace("_", " ")
            notes.append(f"The distribution of the {what} is {name}, with shrunken slopes.")
        else:
            notes.append(
                f"The distribution of the {what} is a mixture with shrunken slopes, weighted by "
                f"{by}: {', '.join(parts)}."
            )
    if model.reach < 1.0 and len(model.members) > 1:
        notes.append(
            f"Above the {model.reach:.2f} quantile of the truth there are few uncensored rows, so "
            "the median of the tails is used."
        )
    if model.interval_censored:
        return
    if model.data.known:
        notes.append("The data say for every row whether it is censored.")
    elif rate is not None:
        given = f"{rate.low:g}" if rate.low == rate.high else f"{rate.low:g} to {rate.high:g}"
        notes.append(f"The sell-out rate of {given} was given, not estimated.")


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
