"""Rows that a latent model can learn from: what is left out, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmet.bands.latent.model import Policy
from unmet.bands.latent.observed import middle_of
from unmet.bands.sample import Sample
from unmet.errors import InvalidInput

_MOSTLY = 0.8  # share of rows with flags from which the others are not missed


def mostly_known(sample: Sample, notes: list[str]) -> Sample:
    """Leave out the few rows of which nothing is known, so that orders need no model."""
    if sample.censored is None:
        return sample
    known = ~np.isnan(sample.censored)
    share = float(known.mean())
    both = (sample.censored == 1).any() and (sample.censored == 0).any()
    if share == 1.0 or share < _MOSTLY or not both:
        return sample
    notes.append(f"{(~known).sum():,} rows of which nothing is known were left out.")
    return sample.take(np.flatnonzero(known))


def within_limits(sample: Sample, notes: list[str]) -> Sample:
    """Rows of whose truth something is known, the middle of limits standing for observations."""
    assert sample.limits is not None
    silent = sample.limits.kinds == "nothing"
    if silent.all():
        raise InvalidInput("censored must limit the truth in some row, got no limit in any.")
    if silent.any():
        notes.append(f"{silent.sum():,} rows of whose truth nothing is known were left out.")
        sample = sample.take(np.flatnonzero(~silent))
    limits = sample.limits
    assert limits is not None
    for name, side in (("right", "at least"), ("left", "below")):
        if (limits.kinds == name).all():
            raise InvalidInput(
                f"censored must bound the truth from both sides, got only truths {side} their "
                "limit: how far they lie beyond is then not known at all."
            )
    return replace(sample, observation=middle_of(limits))


def check_rows(sample: Sample) -> None:
    """Refuse what no likelihood can explain."""
    seen = sample.observation
    if seen.size < 2 or (sample.limits is None and float(np.ptp(seen)) == 0.0):
        raise InvalidInput(
            f"y must hold at least two different observations for a latent model, "
            f"got {seen.size} of {seen[0]:g}."
        )
    if sample.censored is not None and (sample.censored == 1).all():
        raise InvalidInput(
            "censored must leave some rows seen or unknown, got all rows censored: "
            "nothing is then known of the truth but a lower bound."
        )


def check_orders(policies: Sequence[Policy], sample: Sample, imposed: bool) -> None:
    """Refuse orders that never bind where some row is known to have sold out."""
    flagged = sample.censored is not None and (sample.censored == 1).any()
    if set(policies) == {"absent"} and (imposed or flagged):
        why = "a sell-out rate above 0" if imposed else "rows that are flagged as censored"
        raise InvalidInput(f"orders must be 'noisy' or 'mixture' with {why}, got 'absent'.")
