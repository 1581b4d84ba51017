"""From a planner's words to what decides: costs, bands, models, and an estimator for each problem.

A estimator is fitted to features and `TableRows` and gives decisions for any features. Orders, and
prices that cost by the unit, come from a model; prices that earn most, and ages of replacement,
from the distribution of the truth that `LatentBand` has learned.
"""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from unmet.arrays import Array, Band, Features, Limits
from unmet.censoring import BandRule, Diagnosis, LatentBand, SearchedBand
from unmet.censoring.latent.unidentified import WHEN_UNIDENTIFIED
from unmet.costs import AgeReplacement, Cost, CustomPricing, Newsvendor
from unmet.errors import InvalidInput
from unmet.estimators import BoostedDecision, DistributionDecision, LinearDecision, NeuralDecision
from unmet.estimators.lots import read_room
from unmet.evaluation import best_price
from unmet.lifetimes import latent_ages, replacement_age
from unmet.tables.reading import TableRows
from unmet.validation import OneOf

Problem: TypeAlias = Literal["newsvendor", "pricing", "replacement"]
ModelName: TypeAlias = Literal["auto", "linear", "distribution", "neural", "boosted"]
BandChoice: TypeAlias = str | tuple[float, float] | None
Rate: TypeAlias = float | tuple[float, float] | None

PROBLEMS = ("newsvendor", "pricing", "replacement")
MODELS = ("linear", "distribution", "neural", "boosted")
AUTO = ("linear", "distribution")
"""Candidates of model 'auto': two uses of the same latent model."""
BANDS = ("latent", "searched", "none")


def make_cost(
    problem: str, underage: Any, overage: Any, planned: Any, failure: Any, service_level: Any = None
) -> Cost:
    """Cost of a problem from its two numbers; None stands for a number that rows give."""
    if problem == "replacement":
        if planned is None or failure is None:
            raise InvalidInput(
                "problem 'replacement' needs planned and failure, the costs of a planned "
                f"replacement and of a failure, got {planned} and {failure}."
            )
        return AgeReplacement(planned=planned, failure=failure)
    if service_level is not None:
        return Newsvendor.from_service_level(service_level)
    low = 1.0 if underage is None else underage
    high = 1.0 if overage is None else overage
    return CustomPricing(low, high) if problem == "pricing" else Newsvendor(low, high)


def make_band(
    band: BandChoice, sellout_rate: Rate, seed: int, when_unidentified: str = "least_censoring"
) -> Band | BandRule | None:
    """Band, or the rule that finds it."""
    followed = OneOf(*WHEN_UNIDENTIFIED)("when_unidentified", when_unidentified)
    if when_unidentified != "least_censoring" and band != "latent":
        raise InvalidInput(f"when_unidentified is only used by band 'latent', got band {band!r}.")
    if sellout_rate is not None and band != "latent":
        raise InvalidInput(f"sellout_rate is only used by band 'latent', got band {band!r}.")
    if isinstance(band, tuple):
        return Band(low=band[0], high=band[1])
    if band is None or band == "none":
        return None
    OneOf(*BANDS)("band", band)
    if band == "searched":
        return SearchedBand(random_state=seed)
    return LatentBand(sellout_rate, when_unidentified=followed, random_state=seed)


def make_model(name: str, cost: Cost, band: Band | BandRule | None, seed: int) -> Any:
    """Model of that name with its defaults; without a band there is no distribution but a line."""
    OneOf(*MODELS)("model", name)
    if name == "distribution" and band is not None:
        if not isinstance(band, LatentBand):
            raise InvalidInput(f"model 'distribution' needs band 'latent', got band {band!r}.")
        return DistributionDecision(cost, band, random_state=seed)
    if name == "neural":
        return NeuralDecision(cost, band, random_state=seed)
    if name == "boosted":
        return BoostedDecision(cost, band, random_state=seed)
    return LinearDecision(cost, band)


# --- Estimators.


class ModelEstimator(BaseEstimator):
    """Decisions of a model, its band included.

    Parameters
    ----------
    model : DecisionModel
    offers : bool, default=False
        Whether flags say that an offer was accepted: false means that the truth lies below.
    """

    def __init__(self, model: Any, offers: bool = False) -> None:
        self.model = model
        self.offers = offers

    @property
    def diagnosis_(self) -> Diagnosis | None:
        """What the band rule found; None where there is none."""
        found: Diagnosis | None = self.model_.diagnosis_
        return found

    @property
    def rule_(self) -> Any:
        """Fitted band rule; None where there is none."""
        return self.model_.band_rule_

    def fit(self, features: Features, rows: TableRows) -> Self:
        """Fit the model with all that the rows say."""
        self.model_ = clone(self.model).fit(features, rows.observed, **self._known(rows))
        return self

    def decide(self, features: Features, *room: ArrayLike | None) -> Array:
        """Decide in lots and between bounds: step, lower, upper and minimum."""
        *bounds, minimum = room
        decisions: Array = self.model_.decide(features, *bounds, minimum=minimum)
        return decisions

    def _known(self, rows: TableRows) -> dict[str, Any]:
        known: dict[str, Any] = {
            "sample_weight": rows.weight,
            "underage": rows.underage,
            "overage": rows.overage,
        }
        band = getattr(self.model, "model", self.model).band  # of each group's model, if grouped
        if band is None or not hasattr(band, "fit"):
            return known  # nobody would read the rest
        flags = _offers(rows) if self.offers else rows.flag
        return known | {
            "censored": flags,
            "stock": rows.stock,
            "time": rows.time,
            "series": rows.series,
        }


def by_rule(
    name: str, cost: Cost, rule: LatentBand, features: Features, rows: TableRows
) -> ModelEstimator:
    """Line or distribution from a rule that has learned from these rows already."""
    costs = {"underage": rows.underage, "overage": rows.overage}
    given = {name: each for name, each in costs.items() if each is not None}
    if name == "distribution":
        estimator = ModelEstimator(DistributionDecision(cost, rule))
        estimator.model_ = clone(estimator.model).fit_rule(
            rule, features, rows.observed, sample_weight=rows.weight, **given
        )
        return estimator
    evaluated = cost.with_rows(**given)
    band = rule.band(features, cost=evaluated, observation=rows.observed)
    estimator = ModelEstimator(LinearDecision(cost, band))
    estimator.model_ = clone(estimator.model).fit(
        features, rows.observed, sample_weight=rows.weight, **given
    )
    estimator.model_.band_rule_ = rule
    estimator.model_.diagnosis_ = rule.diagnosis_ if given else rule.diagnosis_for(cost)
    return estimator


class RevenueEstimator(BaseEstimator):
    """Prices that earn most under the distribution of what buyers would pay.

    Parameters
    ----------
    cost : Cost
        For the diagnosis.
    rule : LatentBand
    unit_cost : float, default=0.0
    """

    def __init__(self, cost: Cost, rule: LatentBand, unit_cost: float = 0.0) -> None:
        self.cost = cost
        self.rule = rule
        self.unit_cost = unit_cost

    @property
    def diagnosis_(self) -> Diagnosis:
        """What the rule found."""
        return self.rule_.diagnosis_

    def fit(self, features: Features, rows: TableRows) -> Self:
        """Learn the distribution."""
        self.rule_: LatentBand = clone(self.rule).fit(
            self.cost, features, rows.observed, sample_weight=rows.weight, censored=_offers(rows)
        )
        return self

    def decide(self, features: Features, *room: ArrayLike | None) -> Array:
        """Price of most revenue, at the nearest multiple of the step."""
        return _nearest(best_price(self.rule_, features, unit_cost=self.unit_cost), *room)


class AgeEstimator(BaseEstimator):
    """Ages of replacement under the distribution of lifetimes: by features, or one age for all.

    Parameters
    ----------
    cost : AgeReplacement
    rule : LatentBand
        Families of lifetimes, such as "weibull".
    know_flags : bool, default=True
        False takes every row for a failure, as those do who ignore suspensions.
    """

    def __init__(self, cost: AgeReplacement, rule: LatentBand, know_flags: bool = True) -> None:
        self.cost = cost
        self.rule = rule
        self.know_flags = know_flags

    @property
    def diagnosis_(self) -> Diagnosis:
        """What the rule found; without features, what flags say."""
        if self.rule_ is not None:
            return self.rule_.diagnosis_
        found = self.found_
        share: float | None = found["share"]
        return Diagnosis(
            rule="replacement_age",
            n_rows=found["n_rows"],
            share_censored=share or 0.0,
            # one age from times alone: nothing says which of them are lifetimes
            identified="no" if share is None else None,
            decision=found["age"] if np.isfinite(found["age"]) else None,
            shift=None,
            notes=tuple(found["text"].splitlines()),
            share_is_seen=share is not None,
        )

    def fit(self, features: Features | None, rows: TableRows) -> Self:
        """Learn the distribution."""
        flags = rows.flag if self.know_flags else np.zeros(rows.observed.size)
        self.rule_: LatentBand | None = None
        self.found_: dict[str, Any] = {}
        if features is None:
            suspended = None if flags is None else flags == 1.0
            if flags is not None and np.isnan(flags).any():
                raise InvalidInput(
                    "Without features every row must say whether the part failed, got rows that do "
                    "not."
                )
            found = replacement_age(
                self.cost, rows.observed, censored=suspended, method="weibull", confidence=0.9
            )
            self.found_ = {
                "age": float(found.age),
                "interval": found.interval,
                "text": str(found),
                "share": None if suspended is None else float(suspended.mean()),
                "n_rows": rows.observed.size,
            }
            return self
        self.rule_ = clone(self.rule).fit(
            self.cost, features, rows.observed, sample_weight=rows.weight, censored=flags
        )
        return self

    def decide(self, features: Features | None, *room: ArrayLike | None) -> Array:
        """Age of each row, at the nearest multiple of the step; inf where no plan pays."""
        if self.rule_ is None or features is None:
            return _nearest(np.array([self.found_["age"]]), *room)
        return _nearest(latent_ages(self.rule_, features), *room)


def _offers(rows: TableRows) -> Limits | None:
    """Limits of what buyers would pay; None where only deals were kept."""
    if rows.flag is None:
        return None
    if np.isnan(rows.flag).any():
        row = int(np.isnan(rows.flag).argmax())
        raise InvalidInput(
            "accepted_column must say of every offer whether it was accepted, "
            f"got nothing in row {row}."
        )
    return Limits.offers(rows.observed, rows.flag == 1.0)


def _nearest(
    value: Array,
    step: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    minimum: ArrayLike | None,
) -> Array:
    """Nearest multiple of the step within bounds; inf stays where there is no upper bound."""
    if minimum is not None:
        raise InvalidInput(f"minimum is for orders, not for prices or ages, got {minimum}.")
    room = read_room(step, lower, upper, value.size)
    if room.step is None:
        return np.clip(value, room.first, room.last)
    with np.errstate(invalid="ignore"):
        rounded = np.where(np.isinf(value), value, np.round(value / room.step) * room.step)
    return np.clip(rounded, room.first, room.last)
