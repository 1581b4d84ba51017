"""Find orders that leave a point mass: the plane on which it lies.

Observations never exceed the order. If orders are linear in the features, rows that sold out lie
exactly on a plane. Every quantile of the observations at a level between the chance of not selling
out and one *is* that plane. A few exact linear fits therefore find it (`find_order_plane`), and
with it the flags.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from unmet.arrays import Array, Features, Mask
from unmet.censoring.latent.likelihood import FLOOR
from unmet.censoring.latent.location import MAX_COLUMNS
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.sellout import RateRange
from unmet.costs import Newsvendor
from unmet.errors import SolverFailure
from unmet.rows import Rows
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

_NEARLY_ALL = 0.8
"""Share of rows on one plane beyond which that proves nothing."""


@dataclass(frozen=True)
class OrderPlane:
    """Plane on which observations have a point mass.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
    intercept : float
    on : ndarray of bool, shape (n_rows,)
        Training rows that lie on it; none in a model that was loaded.
    unlimited : float
        Of truths beyond it, the share that was met all the same.
    mean, size : float
        Mean and deviation of the plane over the training rows.
    width : float
        How far from it rounding may put a row.
    """

    coefficients: Array
    intercept: float
    on: Mask
    unlimited: float
    mean: float
    size: float
    width: float

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: nothing of the training rows."""
        return {**vars(self), "on": np.empty(0, dtype=np.bool_)}

    def centred(self, level: Array) -> Array:
        """Give a constant and the orders, centred and of size one on the training rows."""
        return np.column_stack([np.ones(level.size), (level - self.mean) / self.size])

    def holds(self, features: Features, observation: Array) -> Mask:
        """Whether rows lie on the plane."""
        return np.asarray(np.abs(observation - self.level(features)) <= self.width)

    def level(self, features: Features) -> Array:
        """Orders of any rows."""
        return np.asarray(features @ self.coefficients + self.intercept)


def find_order_plane(
    features: Features, observation: Array, lattice: float, counts: Mask
) -> OrderPlane | None:
    """Look for a plane that more rows lie on than chance allows; None if there is none.

    Parameters
    ----------
    features, observation
    lattice : float
        Observations are multiples of it; 0 if of nothing.
    counts : ndarray of bool
        Rows to look at: not those at the bottom of what can be observed.
    """
    rows = np.flatnonzero(counts)
    if rows.size < 4 * (features.shape[1] + 1):
        return None
    inside, observed = features[rows], observation[rows]
    # one capacity for all: a quantile leaves it where features say that it is hardly ever reached
    flat = np.zeros(features.shape[1])
    found = _read(features, observation, flat, float(observed.max()), lattice, counts)
    if found is not None and _hides_a_group(features, found.on):
        found = None
    for level in (0.9, 0.65, 0.4):
        kinks = Newsvendor.at_level(level).kinks(observed, None, 1.0 / rows.size)
        try:
            plane = solve_exact(HingeProblem(inside, kinks))
        except SolverFailure:
            continue
        tilted = _read(features, observation, plane.coefficients, plane.intercept, lattice, counts)
        if tilted is not None:
            # a fit passes through as many rows as it has parameters
            more = found is None or tilted.on.sum() > found.on.sum() + flat.size + 1
            return tilted if more else found
    return found


def _hides_a_group(features: Features, on: Mask) -> bool:
    """Whether nearly every row of some code sold out: then nothing tells how high its truth is."""
    if sparse.issparse(features):
        return False
    dense = np.asarray(features)
    codes = dense[:, ((dense == 0.0) | (dense == 1.0)).all(axis=0)]
    size, hidden = codes.sum(axis=0), on.astype(np.float64) @ codes
    return bool((hidden > _NEARLY_ALL * np.maximum(size, 1.0)).any())


def _read(
    features: Features,
    observation: Array,
    coefficients: Array,
    intercept: float,
    lattice: float,
    counts: Mask,
) -> OrderPlane | None:
    """Count rows on the plane, and compare with what rounding or chance would put there."""
    plane = features @ coefficients + intercept
    distance = observation - plane
    # the mean: where most rows lie on the plane, the median is but rounding
    spread = float(np.abs(distance[counts]).mean())
    most = float(np.quantile(np.abs(distance[counts]), 0.9))
    if most > 1e-9 * spread:
        spread = min(spread, 10.0 * most)  # one absurd row must not widen the plane
    if spread <= 1e-9 * float(np.abs(observation[counts]).max()):
        return None  # everything lies on a plane: nothing is left to explain
    width = 1e-6 * spread
    on = (np.abs(distance) <= width) & counts
    # A fit passes through as many rows as it has parameters, and their copies with them.
    chance, off = coefficients.size + 1.0, observation[counts & ~on]
    if not lattice and off.size:
        # how often a row off the plane shares its observation, in the mean over rows
        copies = np.unique(off, return_counts=True)[1]
        chance *= float((copies**2).sum() / copies.sum())
    if lattice:
        # On a lattice rows tie: as many as lie one step off, at the bottom too; and where a few
        # steps are all there is, as many as may follow on those one and two steps below: a
        # log-concave distribution has pₖ ≤ pₖ₋₁² / pₖ₋₂.
        one_above, one_below, two_below = (
            float((np.abs(distance - step * lattice) <= width).sum()) for step in (1, -1, -2)
        )
        chance += max(one_above + one_below, (one_below + 1.0) ** 2 / (two_below + 1.0))
        if on.sum() > _NEARLY_ALL * counts.sum():
            return None  # of few whole numbers one is nearly always the most frequent
    # six standard errors more than chance puts there
    if on.sum() <= chance + 6.0 * np.sqrt(chance) + 0.02 * counts.sum():
        return None
    above, below = float(((distance > width) & counts).sum()), float(on.sum())
    size = float(plane.std()) or 1.0
    unlimited = above / (above + below)
    return OrderPlane(coefficients, intercept, on, unlimited, float(plane.mean()), size, width)


def find_believed_plane(
    sample: Rows, rate: RateRange | None, notes: list[str]
) -> OrderPlane | None:
    """Find the plane of a point mass in the observations, if its share agrees with the rate."""
    if sample.features.shape[1] > MAX_COLUMNS:
        return None
    observed = Observed.of(replace(sample, censored=None))
    told = sample.features, sample.observation, observed.lattice, observed.kind != FLOOR
    found = find_order_plane(*told)
    if found is None or rate is None:
        return found
    share = float(sample.weight @ found.on) / sample.n_rows
    if rate.low - 0.05 <= share <= rate.high + 0.05:
        return found
    notes.append(
        f"Observations have a point mass on a plane with a share of {share:.2f}, "
        "but another sell-out rate was given and is used."
    )
    return None
