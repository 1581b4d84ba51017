"""What a saved `LatentBand` holds: everything it can be asked but no training row.

The training rows are needed to fit. What was fitted is a handful of numbers: the parameters of each
candidate model, and of the chosen one for each usual sell-out rate; linear quantiles of the
observations at the usual levels; the features of up to 400 rows over which a diagnosis averages. A
loaded rule answers from these. For a level between two usual ones it takes what lies between their
quantiles, and so for a sell-out rate; the levels and rates of `fit` are among them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.arrays import Limits
from unmet.bands.latent.families import family_named
from unmet.bands.latent.fitted import FittedModel, Information, RepresentativeRows
from unmet.bands.latent.fitting import LatentModel, LikelihoodFit, LikelihoodProblem, Rate
from unmet.bands.latent.likelihood import Orders, RowKinds
from unmet.bands.latent.observed import Observed, RateRange
from unmet.bands.latent.prediction import ObservedQuantiles
from unmet.bands.latent.robustness import Verdict
from unmet.bands.latent.selection import CandidateModel, FittedCandidate, ModelData, RankedCandidate
from unmet.bands.latent.stack import SelloutProfile, Stack
from unmet.costs import SquaredError
from unmet.rows import Rows

if TYPE_CHECKING:
    from unmet.bands.latent.band import LatentBand

_LEARNED, _REPRESENTATIVE, _RANGE = "learned", "typical rows", "range of rates"
_PRIVATE = {"fitted_model_": _LEARNED, "_representative": _REPRESENTATIVE, "_rate": _RANGE}
_NAMES = {
    "_said": "notes",
    "_picture": "plot",
    "_verdicts": "verdicts",
    "_blend": "blended",
}
_MODEL = ("policy", "n_location", "n_scale", "softness", "least_spread")
_ENTRY = ("scale", "link", "location")
_NUMBERS = ("unit", "share", "likelihood", "score")


def state_of(rule: LatentBand, every: dict[str, Any]) -> dict[str, Any]:
    """State of a rule, fitted or not, whose attributes are `every`."""
    state = {_NAMES.get(name, name): value for name, value in every.items()}
    if "fitted_model_" not in state:
        return state
    # which fits the usual rates, if nobody has asked yet
    _ = rule.diagnosis_.sensitivity, rule.diagnosis_.ambiguity
    for name, label in _PRIVATE.items():
        state[label] = state.pop(name)
    state[_LEARNED] = _fitted_model(rule.fitted_model_)
    rows = rule._representative
    state[_REPRESENTATIVE] = {
        "features": rows.sample.features,
        "share": rows.sample.share,
        "n_rows": rows.n_rows,
    }
    state[_RANGE] = None if rule._rate is None else [rule._rate.low, rule._rate.high]
    if rule.order_rule_ is not None:
        nothing = np.empty(0)
        state["order_rule_"] = copy(rule.order_rule_)
        vars(state["order_rule_"]).update(order_=nothing, censored_=nothing)
    return state


def attributes_of(state: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a rule with this state."""
    names = {label: name for name, label in {**_NAMES, **_PRIVATE}.items()}
    found = {names.get(name, name): value for name, value in state.items()}
    if _LEARNED not in state:
        return found
    kept, ends = state[_REPRESENTATIVE], state[_RANGE]
    count = kept["features"].shape[0]
    rows = Rows(kept["features"], np.full(count, np.nan), SquaredError(), kept["share"])
    found["fitted_model_"] = _with_learned(state[_LEARNED])
    found["_representative"] = RepresentativeRows(rows, np.arange(count), kept["n_rows"])
    found["_rate"] = None if ends is None else RateRange(*ends)
    # files from before somebody could ask for more than the least censoring
    found.setdefault("when_unidentified", "least_censoring")
    found.setdefault("_verdicts", {})
    return found


def _fitted_model(fitted_model: FittedModel) -> dict[str, Any]:
    observed = fitted_model.data.observed
    places = [
        place for place, each in enumerate(fitted_model.ranked) if each is fitted_model.chosen
    ]
    stack = fitted_model.stack
    return {
        "location_basis": fitted_model.location_basis,
        "order_plane": fitted_model.order_plane,
        "candidates": [
            {
                **_fitted(fitted_model, each.fitted),
                "behind": each.behind,
                "error": each.standard_error,
            }
            for each in fitted_model.ranked
        ],
        "chosen": places[0],
        "rates": [
            {**_fitted(fitted_model, fitted), "rate": rate}
            for rate, fitted in fitted_model.imposed.items()
        ],
        "observations": fitted_model.observed_quantiles.saved(),
        "units": {name: getattr(observed, name) for name in ("unit", "lattice", "floor")},
        "known": fitted_model.data.known,
        "misfit": fitted_model.misfit,
        "tied": fitted_model.tied,
        "verdict": None if fitted_model.verdict is None else vars(fitted_model.verdict),
        "told": None if fitted_model.told is None else list(fitted_model.told),
        "rate": None if fitted_model.data.rate is None else list(fitted_model.data.rate),
        "stack": None if stack is None else _stacked(fitted_model, stack),
        "stacks": [
            {**_stacked(fitted_model, each), "rate": rate}
            for rate, each in fitted_model.imposed_stacks.items()
            if each.profile is None  # what a rate hides is known of any rate
        ],
    }


def _stacked(fitted_model: FittedModel, stack: Stack) -> dict[str, Any]:
    return {
        "members": [_fitted(fitted_model, each) for each in stack.members],
        "weights": stack.weights,
        "ridges": list(stack.ridges),
        "share": None if stack.profile is None else stack.profile.rate,
    }


def _with_stack(state: dict[str, Any]) -> Stack:
    return Stack(
        tuple(_with_fitted(each) for each in state["members"]),
        state["weights"],
        tuple(state["ridges"]),
        None if state["share"] is None else SelloutProfile.of(state["share"]),
    )


def _fitted(fitted_model: FittedModel, fitted: FittedCandidate) -> dict[str, Any]:
    candidate, model = fitted.candidate, fitted.fit.problem.model
    orders = fitted_model.known_orders(fitted)
    return {
        "family": candidate.family.name,
        **{name: getattr(candidate, name) for name in _ENTRY},
        **{name: getattr(model, name) for name in _MODEL},
        **{name: getattr(fitted, name) for name in _NUMBERS},
        "parameters": fitted.fit.parameters,
        "orders": None if orders is None else list(orders),
    }


def _with_fitted(state: dict[str, Any]) -> FittedCandidate:
    family, nothing = family_named(state["family"]), np.empty(0)
    model = LatentModel(family, **{name: state[name] for name in _MODEL})
    bases = np.empty((0, model.n_location)), np.empty((0, model.n_scale))
    problem = LikelihoodProblem(model, *bases, nothing, RowKinds.of(nothing), nothing)
    return FittedCandidate(
        CandidateModel(family, state["policy"], **{name: state[name] for name in _ENTRY}),
        LikelihoodFit(problem, state["parameters"], nothing, np.nan),
        nothing,
        orders=None if state["orders"] is None else Orders(*state["orders"]),
        **{name: state[name] for name in _NUMBERS},
    )


def _with_learned(state: dict[str, Any]) -> FittedModel:
    nothing, told = np.empty(0), state["told"]
    limits = None if told is None else Limits(nothing, nothing)
    observed = Observed(nothing, **state["units"], kind=nothing, limits=limits)
    ranked = [
        RankedCandidate(_with_fitted(each), each["behind"], each["error"])
        for each in state["candidates"]
    ]
    rate = None if state["rate"] is None else Rate(*state["rate"])
    chosen = ranked[state["chosen"]]
    stack = None if state["stack"] is None else _with_stack(state["stack"])
    if stack is not None:  # the chosen one is the very member that stands for all
        stack = replace(stack, members=(chosen.fitted, *stack.members[1:]))
    fitted_model = FittedModel(
        state["location_basis"],
        ModelData(observed, {}, {}, nothing, state["known"], rate),
        ranked,
        chosen,
        state["order_plane"],
        nothing,
        ObservedQuantiles.loaded(state["observations"]),
        misfit=state["misfit"],
        tied=state["tied"],
        verdict=None if state.get("verdict") is None else Verdict(**state["verdict"]),
        told=None if told is None else Information(*told),
        stack=stack,
    )
    return replace(
        fitted_model,
        imposed={each["rate"]: _with_fitted(each) for each in state["rates"]},
        imposed_stacks={each["rate"]: _with_stack(each) for each in state["stacks"]},
    )
