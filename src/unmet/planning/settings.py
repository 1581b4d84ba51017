"""Costs, models and bands from plain words, as a command line or a page has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from unmet.arrays import Band
from unmet.bands import BandRule, LatentBand, SearchedBand
from unmet.costs import AgeReplacement, Cost, CustomPricing, Newsvendor
from unmet.errors import InvalidInput
from unmet.models import BoostedDecision, LinearDecision, NeuralDecision

Problem: TypeAlias = Literal["newsvendor", "pricing", "replacement"]
ModelName: TypeAlias = Literal["linear", "neural", "boosted"]
BandChoice: TypeAlias = str | tuple[float, float] | None
Rate: TypeAlias = float | tuple[float, float] | None

PROBLEMS = ("newsvendor", "pricing", "replacement")
MODELS = ("linear", "neural", "boosted")
BANDS = ("latent", "searched", "none")


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Refuse a word that is not on the list."""
    if value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    return str(value)


def make_cost(problem: str, underage: Any, overage: Any, planned: Any, failure: Any) -> Cost:
    """Cost of a problem from its two numbers; None stands for a number that rows give."""
    if problem == "replacement":
        if planned is None or failure is None:
            raise InvalidInput(
                "problem 'replacement' needs planned and failure, the costs of a planned "
                f"replacement and of a failure, got {planned} and {failure}."
            )
        return AgeReplacement(planned=planned, failure=failure)
    low = 1.0 if underage is None else underage
    high = 1.0 if overage is None else overage
    return CustomPricing(low, high) if problem == "pricing" else Newsvendor(low, high)


def make_band(band: BandChoice, sellout_rate: Rate, seed: int) -> Band | BandRule | None:
    """Band, or the rule that finds it."""
    if sellout_rate is not None and band != "latent":
        raise InvalidInput(f"sellout_rate is only used by band 'latent', got band {band!r}.")
    if isinstance(band, tuple):
        return Band(low=band[0], high=band[1])
    if band is None or band == "none":
        return None
    one_of("band", band, BANDS)
    if band == "searched":
        return SearchedBand(random_state=seed)
    return LatentBand(sellout_rate=sellout_rate, random_state=seed)


def make_model(name: str, cost: Cost, band: Band | BandRule | None, seed: int) -> Any:
    """Model of that name with its defaults."""
    one_of("model", name, MODELS)
    if name == "neural":
        return NeuralDecision(cost, band, random_state=seed)
    if name == "boosted":
        return BoostedDecision(cost, band, random_state=seed)
    return LinearDecision(cost, band)
