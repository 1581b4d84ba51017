"""The diagnosis of a latent model: what was found, how surely, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmet.arrays import Array
from unmet.censoring import constants as tuned
from unmet.censoring.latent.fitted import (
    FittedModel,
    RepresentativeRows,
    RowQuantiles,
    decisions,
    shifts,
)
from unmet.censoring.latent.fitting import RateSurface, maximise, row_values
from unmet.censoring.latent.interval_censored import certainty
from unmet.censoring.latent.likelihood import FLOOR, UNKNOWN
from unmet.censoring.latent.robustness import Verdict
from unmet.censoring.latent.selection import (
    CandidateModel,
    FittedCandidate,
    ModelData,
    all_starts,
    behind,
)
from unmet.censoring.latent.stack import Stack, censored_in_part, part_censored
from unmet.censoring.model import (
    RATES,
    Candidate,
    Deferred,
    Diagnosis,
    Identified,
    QuantilePlot,
    Sensitivity,
    mean_cost,
)
from unmet.costs import PiecewiseLinearCost

_LEVELS = tuple(float(level) for level in np.linspace(0.02, 0.98, 49))
_LINKS = {"linear": "additive", "additive": "additive", "multiplicative": "multiplicative"}
_PLAIN = -1.0  # in place of a rate: the chosen distribution itself
_MISFIT = (
    "No candidate model is convincing: none has the shape of the observations (two humps, say, or "
    "a feature that is missing), or nearly everything would be hidden. So no censoring is assumed."
)
_ANY_DISTRIBUTION = (
    "Demand that is skewed to the left and hides nothing explains the observations as well as "
    "censoring does: only a point mass on orders would be proof. So no censoring is assumed."
)
_POWER = (
    "Had {share:.0%} of the rows sold out by orders that scatter, that would have been seen with a "
    "chance of {chance:.0%}: finding nothing proves nothing."
)
_WIDE = (
    "Nothing is hidden in the chosen model, but others that fit as well hide up to "
    "{high:.0%} of the rows: finding nothing proves nothing."
)
_FAILED = (
    "The shape suggests that something is hidden, but that is not found again in {names}. So no "
    "censoring is assumed."
)
_REMEDY = (
    "What could tell: how often you sell out (sellout_rate=), {dates}a week of flags (censored=), "
    "stock levels (stock=) or an audit of some rows (AuditedBand)."
)


def diagnose(
    rows: RepresentativeRows,
    fitted_model: FittedModel,
    notes: Sequence[str],
    plot: QuantilePlot | None,
    *,
    dated: bool = False,
) -> Diagnosis:
    """Say what was found, for the cost of the rows; the plot is the same for all costs.

    Rows with dates (`dated`) get no advice to give dates.
    """
    features, cost, chosen = rows.sample.features, rows.sample.cost, fitted_model.chosen
    found = {
        id(each): rows.mean(shifts(fitted_model, each, features, cost))
        for each in fitted_model.ranked
    }
    # the same story told with more or with fewer parameters of the location is told once
    distinct: dict[CandidateModel, FittedCandidate] = {}
    for each in (chosen, *fitted_model.ranked):
        distinct.setdefault(replace(each.candidate, location="features"), each)
    shift = found[id(chosen)]
    open_shifts = [*(found[id(each)] for each in fitted_model.ranked if each.open), shift]
    low, high = min(open_shifts), max(open_shifts)
    truth, seen = decisions(fitted_model, chosen, features, cost)
    if not fitted_model.hides(chosen):
        truth = seen
    stake = _stake(fitted_model, chosen, rows)
    stakes = [_stake(fitted_model, each, rows) for each in fitted_model.ranked if each.open]
    quantiles = RowQuantiles(fitted_model, chosen, features)
    negligible = tuned.NEGLIGIBLE * (0.5 * rows.mean(quantiles.truth(0.84) - quantiles.truth(0.16)))
    verdict = fitted_model.verdict
    # whether all that cannot be ruled out says the same
    identified: Identified = "weakly" if low > negligible else "no"
    if high - low <= max(tuned.SAME_SHIFT * shift, negligible):
        identified = "yes"
    if fitted_model.misfit:
        identified, notes = "no", [*notes, _MISFIT]
    elif verdict is not None:
        identified, more = _evaluated(fitted_model, verdict, identified)
        notes = [*notes, *more]
    if fitted_model.interval_censored:
        open_decisions = [rows.mean(seen) + each for each in open_shifts]
        level = cost.level if isinstance(cost, PiecewiseLinearCost) else 0.5
        identified, more = certainty(fitted_model, rows, level, open_decisions)
        notes = [*notes, *more]
    elif fitted_model.data.known and identified == "no":
        identified = "weakly"  # what is hidden is known to be hidden
    if identified != "yes" and not fitted_model.interval_censored:
        notes = [*notes, _REMEDY.format(dates="" if dated else "dates (time=), ")]
    return Diagnosis(
        rule="LatentBand",
        n_rows=rows.n_rows,
        share_censored=chosen.share,
        identified=identified,
        shift=shift,
        shift_range=(low, high),
        decision=rows.mean(truth),
        stake=stake,
        stake_range=(min([stake, *stakes]), max([stake, *stakes])),
        candidates=tuple(
            _candidate(fitted_model, each, found[id(each)]) for each in distinct.values()
        ),
        quantiles=plot,
        notes=tuple(notes),
        share_is_seen=fitted_model.data.known,
        share_range=None if verdict is None else verdict.share_range,
        robustness_checks=() if verdict is None else verdict.robustness_checks,
        power=() if verdict is None else verdict.power,
        profile=None if fitted_model.interval_censored else Deferred(profile, fitted_model, rows),
    )


def _evaluated(
    fitted_model: FittedModel, verdict: Verdict, identified: Identified
) -> tuple[Identified, list[str]]:
    """Say how sure a shape alone can be, and why not: a "yes" needs a narrow range of shares."""
    low, high = verdict.share_range
    if fitted_model.chosen.share > 0.0:
        wide = high - low > tuned.WIDE * fitted_model.chosen.share
        return ("weakly" if wide and identified == "yes" else identified), []
    failed = [each for each in verdict.robustness_checks if not each.holds]
    if verdict.any_distribution:
        return "no", [_ANY_DISTRIBUTION]
    if failed:
        names = ", ".join(each.name for each in failed)
        return "no", [_FAILED.format(names=names)]
    if all(chance >= tuned.POWER for _, chance in verdict.power):
        # a distribution that the user named (no power) is taken at its word; that nothing is
        # hidden needs that so many rows would have been seen
        return (identified, []) if high <= tuned.SOLD_OUT[0] else ("no", [_WIDE.format(high=high)])
    share, chance = verdict.power[-1]
    return "no", [_POWER.format(share=share, chance=chance)]


def _stake(fitted_model: FittedModel, fitted: FittedCandidate, rows: RepresentativeRows) -> float:
    """Mean cost that ignoring the censoring adds to a row, if this candidate model is true."""
    features, cost = rows.sample.features, rows.sample.cost
    if not fitted_model.hides(fitted):
        return 0.0  # nothing is hidden
    truth, seen = decisions(fitted_model, fitted, features, cost)
    quantiles = RowQuantiles(fitted_model, fitted, features)
    nodes = quantiles.nodes()
    return max(rows.mean(mean_cost(cost, seen, nodes) - mean_cost(cost, truth, nodes)), 0.0)


def _candidate(fitted_model: FittedModel, fitted: FittedCandidate, shift: float) -> Candidate:
    assert fitted.score is not None
    orders: str = fitted.candidate.policy
    if fitted_model.interval_censored:
        orders = "limits"
    elif fitted_model.data.known:
        orders = "at_mass" if fitted_model.tied or fitted_model.order_plane is not None else "known"
    elif fitted_model.stack is not None:
        orders = "rate"
    scale: str = fitted.candidate.scale
    if fitted.candidate.family.space != "linear" and scale == "constant":
        scale = "level"  # constant on the logarithmic scale, or on that of roots
    return Candidate(
        truth=fitted.candidate.family.name,
        scale=scale,
        orders=orders,
        share_censored=fitted.share,
        score=fitted.score,
        behind=fitted.behind,
        standard_error=fitted.standard_error,
        ties=bool(fitted.within(1.0)),
        shift=shift,
        location="orders"
        if fitted.candidate.location == "orders"
        else _LINKS[fitted.candidate.link],
        uncensored_possible=bool(fitted.open and fitted.share == 0.0),
    )


def draw_quantiles(rows: RepresentativeRows, fitted_model: FittedModel) -> QuantilePlot | None:
    """Curves of an average row; observations enter by their place in each row's distribution."""
    if fitted_model.interval_censored:
        return None
    sample, chosen, floor = rows.sample, fitted_model.chosen, fitted_model.data.observed.floor
    quantiles = RowQuantiles(fitted_model, chosen, sample.features, rows.index)
    place = quantiles.below(sample.observation)
    bottom = sample.observation == floor
    # rows at the bottom may lie anywhere below it in their distribution
    place[bottom] *= (np.arange(bottom.sum()) + 0.5) / max(int(bottom.sum()), 1)
    reached = np.quantile(place, _LEVELS).clip(1e-4, 1 - 1e-4)
    family, parameters = chosen.candidate.family, chosen.fit.parameters
    shape = chosen.fit.problem.model.shape(parameters)
    return QuantilePlot(
        levels=_LEVELS,
        straight=tuple(float(each) for each in family.quantile(np.array(_LEVELS), shape)),
        observed=tuple(rows.mean(quantiles.truth(float(level))) for level in reached),
        modelled=tuple(rows.mean(quantiles.observed(level)) for level in _LEVELS),
        latent=tuple(rows.mean(quantiles.truth(level)) for level in _LEVELS),
    )


def profile(
    fitted_model: FittedModel, rows: RepresentativeRows, rates: Sequence[float]
) -> Sensitivity:
    """Decisions, cost and likelihood of the chosen family with each sell-out rate imposed."""
    chosen, features, cost = fitted_model.chosen, rows.sample.features, rows.sample.cost
    truth = RowQuantiles(fitted_model, chosen, features)
    nodes = truth.nodes()
    _, seen = decisions(fitted_model, chosen, features, cost)
    decided, paid, fits = [], [], []
    for rate in rates:
        fitted, assumed = impose(fitted_model, rate)
        decision = seen + shifts(assumed, fitted, features, cost)
        decided.append(rows.mean(decision))
        paid.append(rows.mean(mean_cost(cost, decision, nodes)))
        fits.append(fitted.likelihood)
    if fitted_model.stack is not None and fitted_model.stack.profile is not None:
        # distributions of observations say nothing of the rate: only what was told of it does
        assert fitted_model.data.rate is not None
        told, slack = fitted_model.data.rate
        fits = [-0.5 * ((rate - told) / slack) ** 2 for rate in rates]
        best = max(fits)
    else:
        best = max([*fits, *([] if fitted_model.data.known else [chosen.likelihood])])
    fall = tuple(best - each for each in fits)
    return Sensitivity(tuple(rates), tuple(decided), tuple(paid), fall)


def impose(
    fitted_model: FittedModel,
    rate: float,
    *,
    alone: bool = False,
    by_shape: bool = False,
    unfinished: bool = False,
) -> tuple[FittedCandidate, FittedModel]:
    """Give the chosen family with a rate imposed; each rate is fitted once.

    Where rows are known, only as many of the censored ones as the rate allows count as such, or
    seen ones too if it asks for more, each in part. Otherwise nothing is known of any row.

    Parameters
    ----------
    fitted_model : FittedModel
    rate : float
    alone : bool, default=False
        Fit no other rate. Otherwise the usual rates are fitted together, walking away from the
        share that was found, each from the last: the answer does not depend on who asks first.
    by_shape : bool, default=False
        Ask what orders of the rate fit the shape of the observations even where any distribution is
        possible. Otherwise what a rate hides then follows from how orders bind elsewhere
        (`SelloutProfile`), as if the rate had been given to `fit`.
    unfinished : bool, default=False
        Whether it is enough to know of a rate that fits the shape badly that it does.
    """
    if fitted_model.stack is not None:
        return _impose_stack(fitted_model, fitted_model.stack, rate)
    if fitted_model.any_distribution and not by_shape:
        return replace(fitted_model.chosen, share=rate), fitted_model
    share = fitted_model.chosen.share
    if rate not in fitted_model.imposed and not alone and (rate in RATES or rate == share):
        usual = {*RATES, share}
        if unfinished:
            usual = {each for each in usual if each <= max(tuned.MAX_SOLD_OUT, rate, share)}
        for side in (
            sorted(each for each in usual if each >= share),
            sorted((each for each in usual if each < share), reverse=True),
        ):
            start: Array | None = None
            for each in side:
                if each not in fitted_model.imposed:
                    finish = not (by_shape and fitted_model.any_distribution and unfinished)
                    fitted_model.imposed[each] = fit_at_rate(
                        fitted_model, each, start, finish=finish
                    )
                start = fitted_model.imposed[each].fit.parameters if each > 0 else None
    if rate not in fitted_model.imposed:
        fitted_model.imposed[rate] = fit_at_rate(fitted_model, rate, None)
    if fitted_model.data.known:
        return fitted_model.imposed[rate], fitted_model
    data = replace(fitted_model.data, known=False)
    return fitted_model.imposed[rate], replace(fitted_model, data=data, order_plane=None)


def _impose_stack(
    fitted_model: FittedModel, stack: Stack, rate: float
) -> tuple[FittedCandidate, FittedModel]:
    """Give the stack with a rate imposed."""
    share = fitted_model.chosen.share
    if rate != share and rate not in fitted_model.imposed_stacks:
        if stack.profile is not None:
            fitted_model.imposed_stacks[rate] = stack.at_rate(rate)
        else:
            stretch = fitted_model.location_basis.orthogonal.stretch
            kind = fitted_model.data.observed.kind
            fitted_model.imposed_stacks[rate] = part_censored(stack, stretch, kind, share, rate)
    found = stack if rate == share else fitted_model.imposed_stacks[rate]
    return found.members[0], fitted_model


def fit_at_rate(
    fitted_model: FittedModel, rate: float, start: Array | None, *, finish: bool = True
) -> FittedCandidate:
    """Fit the chosen family with a rate imposed, from other parameters if some are given.

    A rate that the likelihood rules out is left unfinished if nobody asks to `finish`.
    """
    if fitted_model.data.known:
        return _reweigh(fitted_model, rate)
    chosen = fitted_model.chosen
    candidate = replace(
        chosen.candidate, policy="absent" if rate == 0 else "noisy", location="features"
    )
    if not finish and rate > 0:
        few = fitted_model.data.few(tuned.ROWS_FOR_A_RATE)
        if few is not None:  # a part of the rows is enough to rule a rate out
            tried, start = _seen_by_few(fitted_model, few, candidate, rate, start)
            if tried is not None:
                return tried
    data = _with_rate(fitted_model.data, rate)
    starts = _starts(data, candidate, chosen, start)
    hopeless = -np.inf
    if not finish and starts is not None:  # far from all rows slopes promise too little
        jacobian = float(chosen.fit.problem.weight @ (chosen.rows - chosen.fit.rows))
        hopeless = chosen.likelihood - jacobian - tuned.RATE_HOPELESS
    return data.run(candidate, starts, rounds=6, hopeless=hopeless)


def _with_rate(data: ModelData, rate: float) -> ModelData:
    """Rows of which nothing is known but how many sold out."""
    kind = np.where(data.observed.kind == FLOOR, FLOOR, UNKNOWN)
    return replace(
        data,
        observed=replace(data.observed, kind=kind),
        known=False,
        rate=None if rate == 0 else (rate, 0.005),
    )


def _starts(
    data: ModelData, candidate: CandidateModel, chosen: FittedCandidate, start: Array | None
) -> list[Array] | None:
    """Where a climb with a rate begins; None for the usual starts."""
    problem, known = data.problem(candidate), chosen.fit.parameters
    if start is not None and start.size == problem.model.slices.size:
        return [start]  # without orders there are fewer parameters
    if chosen.candidate == candidate:
        return [known]
    if not problem.imposes or known.size + 2 != problem.model.slices.size:
        return None
    # the distribution that was found, with orders that make it sell out as often
    with_orders = np.append(known, [0.0, np.log(tuned.ORDER_NOISE)])
    surface = RateSurface.of(problem, with_orders)
    return (
        [surface.to_parameters(with_orders)[0], *all_starts(problem)[:1]] if surface.bent else None
    )


def _seen_by_few(
    fitted_model: FittedModel,
    few: ModelData,
    candidate: CandidateModel,
    rate: float,
    start: Array | None,
) -> tuple[FittedCandidate | None, Array]:
    """Fit a rate to some rows: what comes of it if that rules it out, and where a climb ended."""
    chosen = fitted_model.chosen
    if _PLAIN not in fitted_model.imposed_by_few:
        own = few.run(chosen.candidate, [chosen.fit.parameters])
        fitted_model.imposed_by_few[_PLAIN] = own
    own, data = fitted_model.imposed_by_few[_PLAIN], _with_rate(few, rate)
    fitted = data.run(candidate, _starts(data, candidate, chosen, start), rounds=6)
    less, error = behind(own.rows, fitted.rows, few.weight)
    n_rows = fitted_model.data.weight.size
    if n_rows * (less - tuned.HOPELESS * error) <= tuned.RATE_HOPELESS:
        return None, fitted.fit.parameters
    likelihood = chosen.likelihood - n_rows * less
    return replace(fitted, likelihood=likelihood), fitted.fit.parameters


def _reweigh(fitted_model: FittedModel, rate: float) -> FittedCandidate:
    """Let every known row be censored in part, so that the share is the rate."""
    data, chosen = fitted_model.data, fitted_model.chosen
    problem = chosen.fit.problem
    doubled = censored_in_part(problem, data.observed.kind, chosen.share, rate)
    # a mean over twice as many rows
    fit = maximise(replace(doubled, weight=2.0 * doubled.weight), chosen.fit.parameters)
    single = replace(fit, problem=problem, rows=row_values(problem, fit.parameters))
    return data.fitted(chosen.candidate, single)
