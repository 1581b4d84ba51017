"""Assumed rates: what each one means is learned once, whatever mistakes cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmet.band import Band
from unmet.bands import Diagnosis, LatentBand
from unmet.bands.latent.findings import ProfileOf
from unmet.bands.latent.learn import Learned
from unmet.bands.latent.race import Runner
from unmet.bands.latent.shift import RowQuantiles, mean_cost, shifts
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import read_features

RATES = tuple(step / 20 for step in range(15))
"""Rates that can be assumed: those of `Diagnosis.sensitivity`."""

Imposed = tuple[Runner, Learned]


@dataclass(frozen=True)
class _Remembering(ProfileOf):
    """Profile whose fits are kept for the next cost: they do not depend on it."""

    kept: dict[float, Imposed] = field(default_factory=dict)

    def _fits(self, rates: Sequence[float]) -> dict[float, Imposed]:
        if any(rate not in self.kept for rate in rates):
            self.kept.update(super()._fits(rates))
        return {rate: self.kept[rate] for rate in rates}


class AssumedRates:
    """Bands and money if a share of rows hid the truth.

    Parameters
    ----------
    rule : LatentBand
        Fitted.
    """

    def __init__(self, rule: LatentBand) -> None:
        self.rule = rule
        self._kept: dict[float, Imposed] = {}
        self._last: tuple[str, Diagnosis] | None = None

    @property
    def possible(self) -> bool:
        """Whether a rate can be assumed; not where limits say of every row more than a rate."""
        return not self.rule.learned_.limited

    def diagnosis(self, cost: Cost | None) -> Diagnosis:
        """Diagnosis for a cost; None is that of `fit`. Its curves reuse what was learned."""
        last, key = self._last, repr(cost)
        if last is not None and last[0] == key:  # only the rate was moved
            return last[1]
        found = self.rule.diagnosis_ if cost is None else self.rule.diagnosis_for(cost)
        if isinstance(found.profile, ProfileOf):
            found = replace(found, profile=self._remembering(found.profile))
        self._last = key, found
        return found

    def band(self, X: Any, rate: float, cost: Cost) -> Band:
        """Band of any rows if this share of rows hid the truth."""
        features = read_features(X)
        if rate == 0.0:  # also where rows are known to hide something
            return Band(low=0.0, high=0.0)
        runner, assumed = self._at(rate)
        shift = shifts(assumed, runner, features, cost)
        return Band(low=shift, high=shift)

    def stake(self, rate: float, diagnosis: Diagnosis) -> float:
        """Price ignoring it, per row, if this rate is the true one."""
        if rate == 0.0:
            return 0.0
        runner, assumed = self._at(rate)
        profile = diagnosis.profile
        assert isinstance(profile, ProfileOf)
        rows = profile.typical
        shift = shifts(assumed, runner, rows.features, rows.cost)
        law = RowQuantiles(assumed, runner, rows.features)
        truth = law.truth(getattr(rows.cost, "level", 0.5))
        nodes = law.nodes(law.truth)
        added = mean_cost(rows.cost, truth - shift, nodes) - mean_cost(rows.cost, truth, nodes)
        return max(float(np.average(added, weights=rows.weight)), 0.0)

    def _at(self, rate: float) -> Imposed:
        if not self.possible:
            raise Unsupported("A rate cannot be assumed where limits say more of every row.")
        if rate not in RATES:
            raise InvalidInput(f"rate must be one of 0, 0.05, …, 0.7, got {rate}.")
        if rate not in self._kept:
            # all at once, each from its neighbour: the answer must not depend on who asks first
            rule = self.rule.diagnosis_
            assert isinstance(rule.profile, ProfileOf)
            _ = replace(rule, profile=self._remembering(rule.profile)).sensitivity
        return self._kept[rate]

    def _remembering(self, profile: ProfileOf) -> _Remembering:
        return _Remembering(profile.learned, profile.typical, self._kept)
