"""Decision models for a table with your own features, and the choice among them.

Orders, and prices with a cost per unit, come from a decision model. Prices with the most revenue,
and replacement ages, come from the distribution of the truth that `LatentBand` estimates.

A linear model through shifted observations and the distribution itself use the same latent model,
which is fitted once for both. Models are compared as those of an `OrderPlan` are: on the last
quarter of the days, or on random rows if there are no dates (`unmet.evaluation.backtest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from unmet.arrays import Array, Band, Features, Limits, taken
from unmet.censoring import BandRule, Diagnosis, LatentBand
from unmet.censoring.latent.fit import UNCLEAR_OFFERS
from unmet.costs import AgeReplacement, Cost, CustomPricing, Revenue
from unmet.errors import InvalidInput, MissingPackage
from unmet.estimators import BoostedDecision, DistributionDecision, LinearDecision, NeuralDecision
from unmet.estimators.base import DecisionModel
from unmet.estimators.lots import read_room
from unmet.evaluation import best_price
from unmet.evaluation.backtest import ModelChoice, choose_model, hold_out, score_decisions
from unmet.lifetimes import fleet_rate, latent_ages, replacement_age
from unmet.lifetimes.lifetimes import few_failures, read_entry
from unmet.rows import Rows
from unmet.tables.reading import TableRows

if TYPE_CHECKING:
    from unmet.planning.decision_plan import DecisionPlan

LABELS = {
    "seasonal": "the means of series and weekday",
    "linear": "a linear model",
    "distribution": "the estimated distribution of demand",
    "neural": "a neural network",
    "boosted": "boosted trees",
    "blend": "the average of a linear model and boosted trees",
}
"""Candidates, and what readers are told of each."""
AUTO = ("linear", "distribution")
"""Candidates of model 'auto': two uses of the same latent model."""

DISTRIBUTIONS = {"auto": "trees", "boosted": "trees", "distribution": None, "linear": None}
"""Models of prices of most revenue and of ages, and the location of their distribution."""


# --- What decides.


def make_model(name: str, cost: Cost, band: Band | BandRule | None, seed: int) -> Any:
    """Make the decision model of that name; without a band, the distribution is a linear model."""
    if name == "neural":
        return NeuralDecision(cost, band, random_state=seed)
    if name == "boosted":
        return BoostedDecision(cost, band, random_state=seed)
    if name == "blend":
        return BlendedDecision(cost, band, random_state=seed)
    if name == "distribution" and band is not None:
        assert not isinstance(band, Band)
        return DistributionDecision(cost, band, random_state=seed)
    return LinearDecision(cost, band)


class BlendedDecision(DecisionModel):
    """Mean of a linear model and of boosted trees, both with the same band.

    Parameters
    ----------
    cost : Cost
        Cost of decisions.
    band : Band, band rule or None, default=None
        Band of both models.
    random_state : int, default=0
        Seed of both models.
    """

    def __init__(
        self, cost: Cost, band: Band | BandRule | None = None, random_state: int = 0
    ) -> None:
        self.cost = cost
        self.band = band
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, costs: dict[str, Any], known: tuple[Any, ...]) -> Self:
        """Fit both."""
        names = ("sample_weight", "censored", "stock", "time", "series")
        told = {**costs, **dict(zip(names, known, strict=True))}
        trees = BoostedDecision(self.cost, self.band, random_state=self.random_state)
        self.linear_ = LinearDecision(self.cost, self.band).fit(X, y, **told)
        self.boosted_ = trees.fit(X, y, **told)
        self.band_rule_, self.diagnosis_ = self.linear_.band_rule_, self.linear_.diagnosis_
        self.cost_, self._by_row = self.linear_.cost_, self.linear_._by_row
        self._shift_cost = self.linear_._shift_cost
        return self

    def predict(self, X: Any) -> Array:
        """Decide for each row."""
        return 0.5 * (self.linear_.predict(X) + self.boosted_.predict(X))


class ModelEstimator(BaseEstimator):
    """Decisions of a model, including its band.

    Parameters
    ----------
    model : DecisionModel
        The model.
    offers : bool, default=False
        Whether flags mean that an offer was accepted: false then means that the truth lies below.
    """

    def __init__(self, model: Any, offers: bool = False) -> None:
        self.model = model
        self.offers = offers

    @property
    def diagnosis_(self) -> Diagnosis | None:
        """Diagnosis of the band rule; None if there is none."""
        found: Diagnosis | None = self.model_.diagnosis_
        return found

    @property
    def rule_(self) -> Any:
        """Fitted band rule; None where there is none."""
        return self.model_.band_rule_

    def fit(self, features: Features, rows: TableRows) -> Self:
        """Fit the model with all that the rows say."""
        known: dict[str, Any] = {
            "sample_weight": rows.weight,
            "underage": rows.underage,
            "overage": rows.overage,
        }
        band = getattr(self.model, "model", self.model).band  # of each group's model, if grouped
        if hasattr(band, "fit"):  # a rule reads the rest, a fixed band does not
            flags = _offers(rows) if self.offers else rows.flag
            known |= {"censored": flags, "stock": rows.stock}
            known |= {"time": rows.time, "series": rows.series}
        self.model_ = clone(self.model).fit(features, rows.observed, **known)
        return self

    @classmethod
    def from_rule(
        cls, name: str, cost: Cost, rule: LatentBand, features: Features, rows: TableRows
    ) -> ModelEstimator:
        """Linear model or distribution from a rule that has learned from these rows already."""
        given = given_costs(rows)
        if name == "distribution":
            estimator = cls(DistributionDecision(cost, rule))
            estimator.model_ = clone(estimator.model).fit_rule(
                rule, features, rows.observed, sample_weight=rows.weight, **given
            )
            return estimator
        band = rule.band(features, cost=cost.with_rows(**given), observation=rows.observed)
        estimator = cls(LinearDecision(cost, band))
        estimator.model_ = clone(estimator.model).fit(
            features, rows.observed, sample_weight=rows.weight, **given
        )
        estimator.model_.band_rule_ = rule
        estimator.model_.diagnosis_ = rule.diagnosis_ if given else rule.diagnosis_for(cost)
        return estimator

    def decide(self, features: Features, *room: ArrayLike | None) -> Array:
        """Decide in lots and between bounds: step, lower, upper and minimum."""
        *bounds, minimum = room
        decisions: Array = self.model_.decide(features, *bounds, minimum=minimum)
        return decisions


class RuleEstimator(BaseEstimator):
    """Prices with the most revenue, or replacement ages, under the distribution of the truth.

    Parameters
    ----------
    cost : Revenue or AgeReplacement
        Cost of decisions.
    rule : LatentBand
        Rule that estimates the distribution.
    know_flags : bool, default=True
        False takes every age for a failure, which ignores suspensions.
    """

    def __init__(
        self, cost: Revenue | AgeReplacement, rule: LatentBand, know_flags: bool = True
    ) -> None:
        self.cost = cost
        self.rule = rule
        self.know_flags = know_flags

    @property
    def diagnosis_(self) -> Diagnosis:
        """Diagnosis of the rule; for a single age without features, the share that flags show."""
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

    def fit(self, features: Features | None, rows: TableRows, entry: Array | None = None) -> Self:
        """Learn the distribution; `entry` are the ages of parts when records began."""
        self.rule_: LatentBand | None = None
        self.found_: dict[str, Any] = {}
        self.highest_ = 0.9999
        self.notes_: tuple[str, ...] = ()
        flags: Any = rows.flag if self.know_flags else np.zeros(rows.observed.size)
        if features is None:
            self._fit_one_age(rows.observed, flags, entry)
            return self
        if isinstance(self.cost, AgeReplacement) and rows.flag is not None and self.know_flags:
            self.notes_ = few_failures(int((rows.flag == 0.0).sum()))
        cost: Cost = self.cost
        if isinstance(cost, Revenue):
            cost, flags = CustomPricing(1, 1), _offers(rows)
        given = Rows.read(cost, features, rows.observed, rows.weight, flags)
        if entry is not None:
            given = replace(given, entry=read_entry(entry, rows.observed))
        self.rule_ = clone(self.rule).fit_rows(given, cost)
        if isinstance(self.cost, Revenue) and rows.flag is not None:
            # beyond the ranks of nearly all offers a distribution is the tail of a family
            rank = 1.0 - self.rule_.survival(features, rows.observed)
            self.notes_ = tuple(n for n in self.rule_.model_.notes if n == UNCLEAR_OFFERS)
            self.highest_ = float(np.clip(np.quantile(rank, 0.95), 0.001, 0.9999))
        return self._price_time(features)

    def reuse(self, other: RuleEstimator, features: Features) -> Self:
        """Take the distribution that another one has learned from these features."""
        self.rule_, self.found_, self.highest_ = copy(other.rule_), {}, other.highest_
        if isinstance(self.cost, AgeReplacement) and self.rule_ is not None:
            self.rule_.cost_ = self.cost
        return self._price_time(features)

    def _price_time(self, features: Features) -> Self:
        """Find what time is worth to the fleet; ages are those at this price, in any table."""
        self.cost_ = self.cost
        if isinstance(self.cost, AgeReplacement) and self.cost.rate is None:
            assert self.rule_ is not None
            self.cost_ = self.cost.at_rate(fleet_rate(self.rule_, features, self.cost))
        return self

    def _fit_one_age(self, times: Array, flags: Array | None, entry: Array | None) -> None:
        if flags is not None and np.isnan(flags).any():
            raise InvalidInput(
                "columns['failed'] must have a value in every row if there are no features, got "
                "empty cells: fill them in, or add features."
            )
        suspended = None if flags is None else flags == 1.0
        assert isinstance(self.cost, AgeReplacement)
        found = replacement_age(self.cost, times, censored=suspended, entry=entry, confidence=0.9)
        self.found_ = {
            "age": float(found.age),
            "interval": found.interval,
            "text": str(found),
            "share": None if suspended is None else float(suspended.mean()),
            "n_rows": times.size,
        }

    def decide(self, features: Features | None, *room: ArrayLike | None) -> Array:
        """Nearest multiple of the step within bounds; an age is inf where no plan pays."""
        if self.rule_ is None or features is None:
            value = np.array([self.found_["age"]])
        elif isinstance(self.cost, Revenue):
            paid = self.cost.unit_cost
            value = best_price(self.rule_, features, unit_cost=paid, highest=self.highest_)
        else:
            assert isinstance(self.cost_, AgeReplacement)
            value = latent_ages(self.rule_, features, self.cost_)
        step, lower, upper, minimum = room
        if minimum is not None:
            raise InvalidInput(
                f"minimum must not be given for prices and ages, got {minimum}: leave it out."
            )
        bounds = read_room(step, lower, upper, value.size)
        if bounds.step is not None:
            with np.errstate(invalid="ignore"):
                whole = np.round(value / bounds.step) * bounds.step
            value = np.where(np.isinf(value), value, whole)
        return np.asarray(np.clip(value, bounds.first, bounds.last))


def given_costs(rows: TableRows) -> dict[str, Array]:
    """Costs that the rows give, by their names."""
    both = {"underage": rows.underage, "overage": rows.overage}
    return {name: each for name, each in both.items() if each is not None}


def _offers(rows: TableRows) -> Limits | None:
    """Limits of what buyers would pay; None where only deals were kept."""
    if rows.flag is None:
        return None
    if np.isnan(rows.flag).any():
        row = int(np.isnan(rows.flag).argmax())
        raise InvalidInput(
            "columns['accepted'] must say whether each offer was accepted, got an empty cell in "
            f"row {row + 2}."
        )
    return Limits.offers(rows.observed, rows.flag == 1.0)


# --- Which model is chosen.


def candidates(model: Any) -> tuple[str, ...]:
    """Names of the models that a plan may choose from; one where it has chosen itself."""
    names = AUTO if isinstance(model, str) and model == "auto" else model
    listed = (names,) if isinstance(names, str) or not isinstance(names, Sequence) else names
    wrong = [name for name in listed if name not in LABELS]
    if wrong or not listed or len(set(listed)) < len(listed):
        known = ", ".join(repr(each) for each in LABELS)
        raise InvalidInput(
            f"model must be 'auto', one of {known}, or several of these, got {model!r}."
        )
    return tuple(listed)


def choose(plan: DecisionPlan, features: Any, rows: TableRows) -> ModelChoice | None:
    """Choose among the candidates of a plan; None where it names a single one.

    Parameters
    ----------
    plan : DecisionPlan
    features : array or sparse matrix
        As the encoder gives them.
    rows : TableRows
    """
    names = candidates(plan.model)
    if plan.problem != "newsvendor" or not plan.latent or len(names) == 1:
        return None
    if not plan.by:
        return HeldOut(plan, features, rows).choose(plan.cost)
    # No backtest: with flags the shared distribution closed 91, 89 and 137% of the gap on two
    # bakeries and a restaurant (nine, three and five series) and 126% on 88 series of sixty days,
    # where linear models shifted by a common band closed 31, 56, 134 and 107%.
    if "distribution" not in names or known_flags(plan, rows) is None:
        return None
    return ModelChoice(
        "distribution",
        f"Model: {LABELS['distribution']}. Groups of {', '.join(plan.by)} share its parameters as "
        "far as they are alike.",
    )


class HeldOut:
    """Held-out rows of a comparison: the last quarter of the days, or random rows.

    The censoring model is fitted once; `choose` compares decisions for any cost.

    Parameters
    ----------
    plan : DecisionPlan
        Plan whose candidates compete.
    features : array or sparse matrix
        Encoded features.
    rows : TableRows
        Rows of the table.
    """

    def __init__(self, plan: DecisionPlan, features: Any, rows: TableRows) -> None:
        self.plan = plan
        names, flags = candidates(plan.model), known_flags(plan, rows)
        if flags is None:
            plain = "linear" if "linear" in names else names[0]
            self._instead: ModelChoice | None = ModelChoice(
                plain,
                f"Model: {LABELS[plain]}. Models were not compared, because no flags or stock say "
                "which rows sold out.",
            )
            return
        simplest = "distribution" if "distribution" in names else names[0]
        self._instead = ModelChoice(
            simplest,
            f"Model: {LABELS[simplest]}. There are too few rows to compare it with others.",
        )
        n_rows, n_splits, horizon = rows.observed.size, 4, None
        if rows.time is not None:
            n_splits, horizon = 1, max(np.unique(rows.time).size // 4, 1)
        try:
            train, held = hold_out(rows.time, n_rows, n_splits, horizon, plan.random_state)[0]
            if np.count_nonzero(flags[held] == 0) < 20:  # fewer say nothing
                return
            self.past, self.coming = (
                (features[index], _take(rows, index)) for index in (train, held)
            )
            self.flags, (X, seen) = flags[held], self.past
            given = Rows.of(
                plan.cost.with_rows(**given_costs(seen)),
                X,
                *(seen.observed, seen.weight, seen.flag, seen.stock, seen.time, seen.series),
                at_least=2,
            )
            self.rule: LatentBand = clone(plan.rule).fit_rows(given, plan.cost)
        except InvalidInput:
            return
        self._instead = None

    def choose(self, cost: Cost) -> ModelChoice:
        """Choose for a cost; what cannot be told apart goes to the distribution."""
        if self._instead is not None:
            return self._instead
        plan, (X, past), (X_coming, coming) = self.plan, self.past, self.coming
        decided: dict[str, Array] = {}
        left_out: list[str] = []
        for name in candidates(plan.model):
            try:
                if name in AUTO:  # from the rule that has learned already
                    estimator = ModelEstimator.from_rule(name, cost, self.rule, X, past)
                    decided[name] = estimator.decide(X_coming, None, 0, None, None)
                    continue
                estimator = ModelEstimator(make_model(name, cost, plan.rule, plan.random_state))
                encoder = plan.encoder(past.table, name)
                assert encoder is not None
                learned, asked = (encoder.transform(each.table) for each in (past, coming))
                estimator.fit(learned, past)
                decided[name] = estimator.decide(asked, None, 0, None, None)
            except MissingPackage as absent:
                left_out.append(f"The backtest does not include {LABELS[name]}: {absent}")
        evaluated = cost.with_rows(**given_costs(coming))
        known = Rows.of(
            evaluated,
            X_coming,
            *(coming.observed, coming.weight, self.flags),
            time=coming.time,
            series=coming.series,
            at_least=1,
        )
        found = score_decisions(evaluated, decided, known, self.rule.model_, seed=plan.random_state)
        where = "a quarter of the rows" if coming.time is None else "the last quarter of the days"
        return choose_model(
            found.cost,
            LABELS,
            "Model",
            where,
            model=found.cheapest("distribution"),
            n_rows=found.n_known,
            censoring_adjusted=bool((self.flags == 1.0).any()),
            left_out=tuple(left_out),
        )


def known_flags(plan: DecisionPlan, rows: TableRows) -> Array | None:
    """Which rows sold out, as flags and stock say it; None where most rows say nothing."""
    if plan.problem != "newsvendor":
        return None
    nothing = np.zeros((rows.observed.size, 1))
    read = Rows.of(plan.cost, nothing, rows.observed, censored=rows.flag, stock=rows.stock)
    flags = read.censored
    if flags is None or np.mean(~np.isnan(flags)) < 0.5 or (flags == 1.0).all():
        return None
    return flags


def _take(rows: TableRows, index: NDArray[np.intp]) -> TableRows:
    """Keep some rows."""
    names = ("underage", "overage", "stock", "weight", "flag", "time", "series")
    return replace(rows, **taken(rows, index, "table", "observed", *names))
