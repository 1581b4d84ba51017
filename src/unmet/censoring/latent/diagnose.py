"""The diagnosis of a latent model: its findings, their certainty, and their value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unmet.arrays import Array
from unmet.censoring.latent.likelihood import BELOW, CENSORED, SEEN
from unmet.censoring.latent.model import FittedModel
from unmet.censoring.latent.selection import FittedCandidate
from unmet.censoring.latent.unidentified import (
    WhenUnidentified,
    at_rate,
    compare_choices,
    more_than_one,
    of_least_cost,
)
from unmet.censoring.model import (
    MAX_SOLD_OUT,
    Ambiguity,
    Candidate,
    Choices,
    Diagnosis,
    Identified,
    QuantilePlot,
    Sensitivity,
    equally_likely,
    mean_cost,
)
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.rows import Rows

_SMOOTH = (
    "Demand that is skewed to the left and not censored fits the observations as well as censored "
    "demand. Only a point mass would prove censoring, so no censoring is assumed."
)
_NO_PROOF = (
    "The chosen model has no censoring, but other models that fit as well have up to {high:.0%} "
    "censored rows. So censoring is not ruled out."
)
_NO_MARK = (
    "Observations do not show censoring by orders that scatter: some shape of uncensored demand "
    "fits as well. So censoring is not ruled out."
)
_FAILED = (
    "The shape suggests censoring, but robustness checks do not confirm it in {names}. So no "
    "censoring is assumed."
)
_REMEDY = (
    "To identify censoring, add one of: the sell-out rate (sellout_rate=), {dates}a week of flags "
    "(censored=), stock levels (stock=) or an audit of some rows (AuditedBand)."
)


def diagnose(
    model: FittedModel, cost: Cost, when: WhenUnidentified = "least_censoring"
) -> Diagnosis:
    """Make the diagnosis for a cost with one number for all rows, or one per row."""
    rows, chosen = replace(model.rows, cost=cost.take(model.index)), model.chosen
    features, cost = rows.features, rows.cost
    truth, seen = both = model.decisions(chosen, features, cost)
    found = {id(chosen): model.mean(model.shifts(chosen, features, cost, both))}
    for each in model.ranked:
        if each is not chosen:
            found[id(each)] = model.mean(model.shifts(each, features, cost))
    shift = found[id(chosen)]
    # the same story told with more or with fewer parameters of the location is told once
    distinct: dict[tuple[str, ...], FittedCandidate] = {}
    for each in (chosen, *model.ranked):
        m = each.model
        distinct.setdefault((m.family.name, m.policy, m.scale, m.link), each)
    left = [each for each in model.ranked if each.open]
    open_shifts = [*(found[id(each)] for each in left), shift]
    low, high = min(open_shifts), max(open_shifts)
    others = [each for each in left if each is not chosen]
    stakes = [_stake(model, chosen, rows, both), *(_stake(model, each, rows) for each in others)]
    own = model.at(chosen, features)
    spread = 0.5 * model.mean(own.truth(0.84) - own.truth(0.16))
    # whether all that cannot be ruled out says the same
    identified: Identified = "weakly" if low > 0.05 * spread else "no"
    if high - low <= max(0.4 * shift, 0.05 * spread):
        identified = "yes"
    more: list[str] = []
    if model.interval_censored:
        open_decisions = [model.mean(seen) + each for each in open_shifts]
        identified, more = _certainty(model, rows, spread, open_decisions)
    elif model.share_range is not None:
        identified, more = _by_shape(model, identified)
    if model.data.known and not model.interval_censored and identified == "no":
        identified = "weakly"  # what is hidden is known to be hidden
    if identified != "yes" and not model.interval_censored:
        more.append(_REMEDY.format(dates="" if model.order_rule is not None else "dates (time=), "))
    if model.share_range is not None and identified != "yes":
        # no other decision is ruled out than those of shares that are
        for share in {min(each, MAX_SOLD_OUT) for each in model.share_range} - {chosen.share}:
            fitted = at_rate(model, share)
            moved = model.mean(model.shifts(fitted, features, cost))
            low, high = min(low, moved), max(high, moved)
            stakes.append(_stake(model, fitted, rows))
    decision = model.mean(truth if model.hides(chosen) else seen)
    choices: Choices | Ambiguity | None = None
    assumed: tuple[float, float] | None = None
    if more_than_one(model, identified):
        choices = partial(compare_choices, model, rows, when)
        expected = of_least_cost(model, cost) if when == "expected_cost" else chosen
        profile = None if expected is chosen else model.profile_of(expected)
        if profile is not None:
            assumed = profile.likely
            shift = model.mean(model.shifts(expected, features, cost))
            decision = model.mean(seen) + shift
        if when == "minimax_regret":
            choices = told = compare_choices(model, rows, when)
            shift += told.minimax_regret.decision - told.least_censoring.decision
            decision = told.minimax_regret.decision
    given = None if model.data.known else model.rate
    if given is not None and given.low < given.high:
        fits = [at_rate(model, each) for each in given]
        ends = [float(np.mean(model.shifts(each, features, cost))) for each in fits]
        low, high = min(*ends, shift), max(*ends, shift)
    return Diagnosis(
        rule="LatentBand",
        n_rows=model.n_rows,
        share_censored=chosen.share,
        identified=identified,
        shift=shift,
        shift_range=(low, high),
        decision=decision,
        stake=stakes[0],
        stake_range=(min(stakes), max(stakes)),
        candidates=tuple(_candidate(model, each, found[id(each)]) for each in distinct.values()),
        quantiles=model.plot,
        notes=(*model.notes, *more),
        share_is_seen=model.data.known,
        share_range=model.share_range,
        share_given=None if given is None else (given.low, given.high),
        share_assumed=assumed,
        robustness_checks=model.checks,
        profile=None if model.interval_censored else partial(sensitivity, model, rows),
        choices=choices,
    )


def _by_shape(model: FittedModel, identified: Identified) -> tuple[Identified, list[str]]:
    """Say how sure a shape alone can be, and why not: a "yes" needs a narrow range of shares."""
    assert model.share_range is not None
    low, high = model.share_range
    if model.chosen.share > 0.0:
        wide = high - low > 0.6 * model.chosen.share
        return ("weakly" if wide and identified == "yes" else identified), []
    if model.smooth:
        return "no", [_SMOOTH]
    failed = [each.name for each in model.checks if not each.holds]
    if failed:
        return "no", [_FAILED.format(names=", ".join(failed))]
    # that nothing is hidden needs that no more than a tenth may be
    if high <= 0.1:
        return identified, []
    return "no", [_NO_MARK if model.free else _NO_PROOF.format(high=high)]


def _stake(
    model: FittedModel, fitted: FittedCandidate, rows: Rows, both: tuple[Array, Array] | None = None
) -> float:
    """Mean cost that ignoring the censoring adds to a row, if this candidate model is true."""
    if not model.hides(fitted):
        return 0.0
    truth, seen = both or model.decisions(fitted, rows.features, rows.cost)
    nodes = equally_likely(model.at(fitted, rows.features).truth)
    added = mean_cost(rows.cost, seen, nodes) - mean_cost(rows.cost, truth, nodes)
    return max(model.mean(added), 0.0)


def _candidate(model: FittedModel, fitted: FittedCandidate, shift: float) -> Candidate:
    own = fitted.model
    orders: str = own.policy
    if model.interval_censored:
        orders = "limits"
    elif model.data.known:
        orders = "known" if model.order_plane is None else "at_mass"
    elif model.members:
        orders = "rate"
    scale: str = own.scale
    if own.family.space != "linear" and scale == "constant":
        scale = "level"  # constant on the logarithmic scale, or on that of roots
    link = "multiplicative" if own.link == "multiplicative" else "additive"
    return Candidate(
        truth=own.family.name,
        scale=scale,
        orders=orders,
        share_censored=fitted.share,
        score=fitted.score,
        behind=fitted.behind,
        standard_error=fitted.standard_error,
        ties=bool(fitted.within(1.0)),
        shift=shift,
        location="orders" if own.on_orders else link,
        uncensored_possible=bool(fitted.open and fitted.share == 0.0),
    )


def draw_quantiles(model: FittedModel) -> QuantilePlot | None:
    """Curves of an average row; observations enter by their place in each row's distribution."""
    if model.interval_censored:
        return None
    levels = np.linspace(0.02, 0.98, 49)
    own, observed = model.of_training(model.chosen, model.index), model.rows.observation
    place, bottom = own.below(observed), observed == model.data.floor
    # rows at the bottom may lie anywhere below it in their distribution
    place[bottom] *= (np.arange(bottom.sum()) + 0.5) / max(int(bottom.sum()), 1)
    reached = np.quantile(place, levels).clip(1e-4, 1 - 1e-4)
    latent = model.chosen.model
    shape = latent.shape(model.chosen.parameters)
    return QuantilePlot(
        levels=tuple(levels.tolist()),
        straight=tuple(latent.family.quantile(levels, shape).tolist()),
        observed=tuple(model.mean(own.truth(float(level))) for level in reached),
        modelled=tuple(model.mean(own.observed(float(level))) for level in levels),
        latent=tuple(model.mean(own.truth(float(level))) for level in levels),
    )


def sensitivity(model: FittedModel, rows: Rows, rates: Sequence[float]) -> Sensitivity:
    """Decisions, cost and likelihood of the chosen family with each sell-out rate imposed."""
    features, cost = rows.features, rows.cost
    nodes = equally_likely(model.at(model.chosen, features).truth)
    _, seen = model.decisions(model.chosen, features, cost)
    decided, paid, fits = [], [], []
    for rate in rates:
        fitted = at_rate(model, rate)
        decision = seen + model.shifts(fitted, features, cost)
        decided.append(model.mean(decision))
        paid.append(model.mean(mean_cost(cost, decision, nodes)))
        fits.append(fitted.likelihood)
    best = max([*fits, model.chosen.likelihood])
    if model.members and model.data.rate is not None:
        assert model.rate is not None
        # distributions of observations say nothing of the rate: only what was told of it does
        told, slack = model.rate.imposed
        fits = [-0.5 * ((rate - told) / slack) ** 2 for rate in rates]
        best = max(fits)
    fall = tuple(best - each for each in fits)
    return Sensitivity(tuple(rates), tuple(decided), tuple(paid), fall)


# --- Truths of which only limits are known: how far these tell the distribution.


def describe_limits(sample: Rows) -> str:
    """Count the kinds of information in a sentence."""
    assert sample.limits is not None
    kinds = sample.limits.kinds
    words = {"right": "at least a limit", "left": "below one", "interval": "between two"}
    words |= {"exact": "seen", "nothing": "not known at all"}
    counts = {name: int((kinds == name).sum()) for name in words}
    parts = [f"{words[name]} in {count:,}" for name, count in counts.items() if count]
    return f"Of {kinds.size:,} rows the truth is {', '.join(parts)}."


def tell(model: FittedModel) -> tuple[Array, bool, float]:
    """Look at what limits tell, whatever the cost: `FittedModel.told`."""
    data, fitted = model.data, model.chosen
    outer = data.problem(fitted.model).information(fitted.parameters)
    follows, reached = False, 1.0
    if np.isin(data.kind, (CENSORED, BELOW)).all():
        target, root = data.observation / data.unit, np.sqrt(data.weight)
        line = np.linalg.lstsq(data.basis * root[:, None], target * root, rcond=None)[0]
        follows = float(np.std(target - data.basis @ line)) < 1e-3
    if (data.kind == SEEN).mean() <= 0.01:  # truths that were seen are not limits
        assert data.limits is not None
        upper, lower = data.limits.upper, data.limits.lower
        rank = model.of_training(fitted).below(np.where(np.isinf(upper), lower, upper))
        reached = float(np.quantile(rank, 0.99))  # the few beyond prove little
    return outer, follows, reached


def _certainty(
    model: FittedModel, rows: Rows, spread: float, decisions: Sequence[float]
) -> tuple[Identified, list[str]]:
    """Whether the distribution is told by the limits, and a sentence each about what is not."""
    assert model.told is not None
    information, follows, reached = model.told
    level = rows.cost.level if isinstance(rows.cost, PiecewiseLinearCost) else 0.5
    # standard error of the mean decision, by the rows' gradients (delta method)
    chosen, size = model.chosen, np.sqrt(np.maximum(np.diag(information), 1e-12))
    slope = np.empty(size.size)
    for place, unit in enumerate(size):
        ends, step = [], 1e-4 / max(unit, 1.0)
        for move in (step, -step):
            moved = chosen.parameters.copy()
            moved[place] += move
            there = model.at(replace(chosen, parameters=moved), rows.features)
            ends.append(model.mean(there.truth(level)))
        slope[place] = (ends[0] - ends[1]) / (2.0 * step)
    values, vectors = np.linalg.eigh(information / size[:, None] / size)
    along = vectors.T @ (slope / size)
    error = 2.0 * float(np.sqrt(np.sum(along**2 / np.maximum(values, 1e-9))))
    differ = max(decisions) - min(decisions)
    off = max(error, differ) / max(spread, 1e-300)
    found: Identified = "yes" if off <= 0.3 else "weakly" if off <= 1.0 else "no"
    notes = []
    if error > 0.3 * spread:
        notes.append(
            f"Decisions have a chance error of {error:.3g}: more varied limits in rows with the "
            "same features reduce it."
        )
    if differ > 0.3 * spread:
        notes.append(f"Decisions of families that fit equally well differ by {differ:.3g}.")
    if follows:
        found = "no"
        notes.append(
            "Limits are determined by the features, so the data show how many truths are beyond "
            "them, but not how far."
        )
    if float(np.mean(level)) > reached:
        notes.append(
            f"Limits reach only the {reached:.0%} quantile of the truth: beyond it, as at the "
            f"{float(np.mean(level)):.0%} quantile, decisions depend on the family."
        )
        found = "weakly" if found == "yes" else found
    return found, notes
