"""Where a model's band comes from: given, or learned by a rule from what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, clone

from unmet.band import Band
from unmet.bands import BandRule, Diagnosis
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported


@dataclass(frozen=True)
class Known:
    """What `fit` may be told about its rows besides features and observations."""

    sample_weight: Any = None
    censored: Any = None
    stock: Any = None
    time: Any = None
    series: Any = None


@dataclass(frozen=True)
class Chosen:
    """A band, and the rule that gave it where one did."""

    band: Band | None
    rule: BandRule | None = None
    diagnosis: Diagnosis | None = None


def choose_bands(
    model: BaseEstimator,
    pairs: Sequence[tuple[Cost, Band | BandRule | None]],
    X: Any,
    y: Any,
    known: Known,
) -> list[Chosen]:
    """Band for each cost; a rule that occurs several times learns once, from its first cost."""
    learned: dict[int, BandRule] = {}
    chosen = []
    for cost, band in pairs:
        if not isinstance(band, BandRule):
            _refuse_unused(band, known)
            chosen.append(Chosen(band))
            continue
        first = id(band) not in learned
        if first:
            learned[id(band)] = _learn(model, cost, band, X, y, known)
        rule = learned[id(band)]
        found = rule.diagnosis_ if first else rule.diagnosis_for(cost)
        chosen.append(Chosen(rule.band(X, cost=cost, observation=y), rule, found))
    return chosen


def without_rule(band: Band | BandRule | None) -> Band | None:
    """Refuse a rule where rows arrive in portions."""
    if isinstance(band, BandRule):
        raise Unsupported(
            f"partial_fit and the rule {band!r} do not fit together, because a rule learns "
            "from all rows: use its band, rule.fit(...).band(X)."
        )
    return band


def _learn(
    model: BaseEstimator, cost: Cost, rule: BandRule, X: Any, y: Any, known: Known
) -> BandRule:
    """Fit a copy of the rule; the estimator's own stays as it is."""
    bare = clone(model).set_params(band=None)
    fitted: BandRule = clone(rule).fit(cost, X, y, estimator=bare, **vars(known))
    return fitted


def _refuse_unused(band: Band | None, known: Known) -> None:
    """Refuse flags that nobody reads: a silent mistake. Dates and series do no harm."""
    for name in ("censored", "stock"):
        if getattr(known, name) is not None:
            raise InvalidInput(
                f"{name} is only used by a band rule such as LatentBand(), got band={band!r}."
            )
