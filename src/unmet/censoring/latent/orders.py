"""Orders that leave a point mass: the plane it lies on, and what stands for the features.

Observations never exceed the order. If orders are linear in the features, the rows that sold out
lie exactly on a plane, and every quantile of the observations at a level between the chance of not
selling out and one *is* that plane. So a few exact linear fits find it (`find_order_plane`), and
with it the flags.

Where features repeat, as categories do, and orders follow them, rows of the same features had the
same stock, and those that sold out show the same observation, the largest of all (`find_ties`). No
line or plane is needed for that. Truths that have fractions do not tie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from unmet.arrays import Array, Features
from unmet.censoring.latent.likelihood import FLOOR
from unmet.censoring.latent.location import (
    MAX_COLUMNS,
    Location,
    Mask,
    find_location,
    looks_for_bends,
)
from unmet.censoring.latent.observed import Observed, RateRange
from unmet.costs import Newsvendor
from unmet.errors import SolverFailure
from unmet.rows import Rows
from unmet.solvers.exact.features import groups_of
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

MIN_TIED = 10
"""Tied rows that chance does not bring."""
_NEARLY_ALL = 0.8
"""Share of rows on one plane, or tied, beyond which that proves nothing."""


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


def find_ties(
    features: Features, observation: Array, lattice: float, counts: Mask
) -> tuple[Array, Array] | None:
    """Look for groups of rows whose largest observation occurs several times; None without any.

    Gives flags, 1 where a row sold out, 0 where it did not, NaN in doubt; and what was in stock,
    NaN where no two rows of the same features sold out.

    Parameters
    ----------
    features, observation
    lattice : float
        Observations are multiples of it, and then tie by chance; 0 if of nothing.
    counts : ndarray of bool
        Rows to look at: not those at the bottom of what can be observed.
    """
    if lattice or sparse.issparse(features):
        return None
    groups = groups_of(np.asarray(features))
    if groups is None:
        return None
    (first, group), same = groups, 1e-9 * float(np.abs(observation).max())
    order = np.lexsort((observation, group))
    neighbours = (np.diff(observation[order]) <= same) & (np.diff(group[order]) == 0)
    tied = np.empty(observation.size, dtype=bool)
    tied[order] = np.append(neighbours, False) | np.append(False, neighbours)
    highest = np.full(first.size, -np.inf)
    np.maximum.at(highest, group, observation)
    highest = highest[group]
    top = observation >= highest - same
    at_mass, below = tied & top & counts, tied & ~top & counts
    n_rows, n_at_mass = int(counts.sum()), int(at_mass.sum())
    least = max(MIN_TIED, 0.02 * n_rows)  # chance does not bring so many
    if not least <= n_at_mass <= _NEARLY_ALL * n_rows:
        return None
    if below.sum() > 0.1 * n_at_mass:  # ties below the top as well: rows were copied
        return None
    has_mass = np.bincount(group, weights=at_mass)[group] > 0
    # rows below the top were seen; one that is alone there may be either
    flags, doubt = at_mass.astype(float), top & counts & ~has_mass
    if doubt.sum() > 0.1 * group.size:
        flags[doubt] = np.nan
    else:
        # With a chance c of selling out, k rows of which one did or none: k·c against 1 − c.
        chance = float(at_mass.sum()) / float(has_mass.sum())
        flags[doubt] = (np.bincount(group)[group] * chance > 1.0 - chance)[doubt]
    return flags, np.where(has_mass, highest, np.nan)


def plane(sample: Rows, rate: RateRange | None, notes: list[str]) -> OrderPlane | None:
    """Find the plane of a point mass in the observations, if its share agrees with the rate."""
    if sample.all_known or sample.features.shape[1] > MAX_COLUMNS:
        return None
    order_plane = find_order_plane(*_to_look_at(sample))
    if order_plane is None or not _agrees(sample, order_plane.on, rate, "on a plane", notes):
        return None
    return order_plane


def _to_look_at(sample: Rows) -> tuple[Features, Array, float, Mask]:
    """Features, observations, their lattice, and which rows do not lie at the bottom."""
    observed = Observed.of(replace(sample, censored=None))
    return sample.features, sample.observation, observed.lattice, observed.kind != FLOOR


def place(
    sample: Rows,
    order_plane: OrderPlane | None,
    rate: RateRange | None,
    setting: Any,
    estimator: Any,
    seed: int,
    notes: list[str],
    *,
    binding: bool,
) -> tuple[Location | None, Rows]:
    """Find what stands for the features; a sample whose ties show its orders gets flags.

    Flags from ties need a location that bends: what a plane misses would look as if it were hidden,
    since rows are then censored where it is too low. They also need orders that may be `binding`.
    """
    ties, unknown = None, order_plane is None and sample.censored is None
    if unknown and binding and sample.limits is None and looks_for_bends(setting, estimator):
        ties = find_ties(*_to_look_at(sample))
        where = "in rows with the same features"
        if ties and not _agrees(sample, ties[0] == 1, rate, where, notes):
            ties = None
    known = sample.censored if order_plane is None else order_plane.on.astype(float)
    flags, order = (known, None) if ties is None else ties
    censored = None if flags is None or np.isnan(flags).any() else flags == 1
    location = find_location(sample, setting, estimator, seed, censored, order)
    if location is None:
        return None, sample
    if location.grown:
        less = f", {location.gain:.0%} of its squared error less" if location.gain else ""
        notes.append(
            "Boosted trees stand for the features: they explain rows held out better than a "
            f"plane{less}."
        )
    else:
        notes.append("Predictions of the regressor given as location stand for the features.")
    if ties is None:
        return location, sample
    share = float(sample.weight @ (flags == 1)) / sample.n_rows
    notes.append(
        f"{share:.0%} of the observations are exactly the largest of rows with the same features: "
        "orders that sold out."
    )
    return location, replace(sample, censored=flags)


def _agrees(sample: Rows, on: Mask, rate: RateRange | None, where: str, notes: list[str]) -> bool:
    """Whether a share of rows is what the user said; a note if not."""
    share = float(sample.weight @ on) / sample.n_rows
    if rate is None or rate.low - 0.05 <= share <= rate.high + 0.05:
        return True
    notes.append(
        f"Observations have a point mass {where} with a share of {share:.2f}, "
        "but another sell-out rate was given and is used."
    )
    return False
