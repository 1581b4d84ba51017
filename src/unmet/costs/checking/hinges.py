"""Costs that hand hinges to the exact solvers: the hinges must sum to their loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unmet.costs.checking.report import Finding
from unmet.costs.checking.trial import Trial, place
from unmet.costs.hinge import HingeCost


def check_hinges(trial: Trial) -> Iterator[Finding]:
    """Compare hinges with the loss, with and without a band."""
    cost, seen = trial.cost, trial.truth
    if not isinstance(cost, HingeCost):
        return
    for band in (None, *trial.bands()):
        kinks = cost.kinks(seen, band)
        for decision in trial.decisions(band):
            loss, hinges = cost.loss(decision, seen, band), kinks.value(decision)
            slope = (kinks.below + kinks.above).sum(axis=0)
            reach = np.abs(decision) + np.abs(kinks.position).max(axis=0)
            wrong = np.abs(loss - hinges) > 1e-11 * slope * reach
            if wrong.any():
                row = int(np.argmax(wrong))
                with_band = "" if band is None else " with a band"
                yield Finding(
                    "hinges",
                    "broken",
                    "the hinges that the exact solvers train on must sum to loss, got "
                    f"{hinges[row]:.6g} instead of {loss[row]:.6g} at "
                    f"{place(decision=decision[row], observation=seen[row])}{with_band}.",
                )
                return
    yield Finding("hinges", "kept", f"{len(kinks.position)} a row with a band, they sum to loss")
