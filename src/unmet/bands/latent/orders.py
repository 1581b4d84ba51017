"""Orders that leave their mark: what observations pile up on, and what stands for the features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.bands.latent.design import MOST_COLUMNS
from unmet.bands.latent.likelihood import FLOOR
from unmet.bands.latent.location import Location, find_location, looks_for_bends
from unmet.bands.latent.observed import Observed
from unmet.bands.latent.piles import Pile, find_pile
from unmet.bands.latent.settings import RateRange
from unmet.bands.latent.ties import find_ties
from unmet.bands.sample import Sample

_SLACK = 0.05


def plane(sample: Sample, rate: RateRange | None, notes: list[str]) -> Pile | None:
    """Find the plane that observations pile up on, if its share agrees with the rate given."""
    if sample.all_known or sample.features.shape[1] > MOST_COLUMNS:
        return None
    observed = Observed.of(sample.observation, None)
    pile = find_pile(sample.features, sample.observation, observed.lattice, observed.kind != FLOOR)
    if pile is None or not _agrees(sample, pile.on, rate, "on a plane", notes):
        return None
    return pile


def place(
    sample: Sample,
    pile: Pile | None,
    rate: RateRange | None,
    setting: Any,
    estimator: Any,
    seed: int,
    notes: list[str],
    *,
    binding: bool,
) -> tuple[Location | None, Sample]:
    """Find what stands for the features; a sample whose ties show its orders gets flags.

    Flags from ties need a location that bends: what a plane misses would look as if it were hidden,
    since rows are then censored where it is too low. They also need orders that may be `binding`.
    """
    ties, unknown = None, pile is None and sample.censored is None
    if unknown and binding and looks_for_bends(setting, estimator):
        observed = Observed.of(sample.observation, None)
        counts = observed.kind != FLOOR
        ties = find_ties(sample.features, sample.observation, observed.lattice, counts)
        if ties and not _agrees(
            sample, ties.sold_out, rate, "in rows with the same features", notes
        ):
            ties = None
    known = sample.censored if pile is None else pile.on.astype(float)
    flags = known if ties is None else ties.flags
    censored = None if flags is None or np.isnan(flags).any() else flags == 1
    location = find_location(
        sample, setting, estimator, seed, censored, None if ties is None else ties.order
    )
    if location is None:
        return None, sample
    notes.append(_words(location))
    if ties is None:
        return location, sample
    share = float(sample.weight @ ties.sold_out) / sample.n_rows
    notes.append(
        f"{share:.0%} of the observations are exactly the largest of rows with the same features: "
        "orders that sold out."
    )
    return location, replace(sample, censored=ties.flags)


def _agrees(
    sample: Sample, on: NDArray[np.bool_], rate: RateRange | None, where: str, notes: list[str]
) -> bool:
    """Whether a share of rows is what the user said; a note if not."""
    share = float(sample.weight @ on) / sample.n_rows
    if rate is None or rate.holds(share, _SLACK):
        return True
    notes.append(
        f"Observations pile up {where} with a share of {share:.2f}, "
        "but another sell-out rate was given and is used."
    )
    return False


def _words(location: Location) -> str:
    if not location.grown:
        return "Predictions of the regressor given as location stand for the features."
    return (
        "Boosted trees stand for the features: they explain rows held out better than a plane, "
        f"{location.gain:.0%} of its squared error less."
    )
