"""Properties of the observations themselves, and the options of the user.

`Observed` holds units, lattice, floor and known rows, in the space of each family. Other functions
select the rows that a latent model can learn from, and read rates, families and order policies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Limits, taken
from unmet.censoring.latent.families import FAMILIES, Family, Space
from unmet.censoring.latent.likelihood import (
    BELOW,
    BETWEEN,
    CENSORED,
    FLOOR,
    SEEN,
    UNKNOWN,
    LatentModel,
    LinkName,
    Policy,
    Problem,
    ScaleName,
)
from unmet.errors import InvalidInput
from unmet.rows import Rows
from unmet.validation import refusal


@dataclass(frozen=True)
class Observed:
    """Rows as all candidate models must explain them.

    Attributes
    ----------
    observation, weight : ndarray of shape (n_rows,)
        As given; of limits their middle.
    kind : ndarray of int
        UNKNOWN, CENSORED, SEEN, FLOOR, BELOW or BETWEEN.
    unit : float
        Standard deviation of the observations; of limits that are all the same, their size.
    lattice : float
        Observations are multiples of it; 0 where of nothing.
    floor : float or None
        Lowest observation where many rows share it: the truth may lie below (no negative sales).
    limits : Limits or None
        Of the truths, where they say more than flags.
    basis : ndarray of shape (n_rows, n_basis)
        Features of the location, a constant first.
    order_basis : ndarray of shape (n_rows, 2) or None
        A constant and the orders, where these are known.
    scale_bases : dict of ndarray
        Features of the scale, by name of the pattern.
    known : bool
        Whether for every row it is known if it is censored: then orders need no model.
    rate : float or None
        A share sold out that is imposed.
    entry : ndarray of shape (n_rows,) or None
        Values that a truth must exceed to be in the records at all (delayed entry).
    """

    observation: Array
    weight: Array
    kind: Array
    unit: float
    lattice: float = 0.0
    floor: float | None = None
    limits: Limits | None = None
    basis: Array = field(default_factory=lambda: np.empty((0, 1)))
    order_basis: Array | None = None
    scale_bases: dict[ScaleName, Array] = field(default_factory=dict)
    known: bool = False
    rate: float | None = None
    entry: Array | None = None

    @classmethod
    def of(cls, sample: Rows) -> Observed:
        """Look at what is known of the rows of a sample."""
        observed, weight, known = sample.observation, sample.weight, sample.all_known
        if sample.limits is not None:  # their lattice and their ties say nothing of the truth
            names = sample.limits.kinds
            kind = np.full(names.size, BETWEEN)
            for name, number in (("exact", SEEN), ("right", CENSORED), ("left", BELOW)):
                kind[names == name] = number
            # a price that never varied has no spread of its own
            unit = float(np.std(observed)) or float(np.abs(observed).mean()) or 1.0
            return cls(observed, weight, kind, unit, limits=sample.limits, known=known)
        kind = np.full(observed.size, UNKNOWN)
        if sample.censored is not None:
            kind[sample.censored == 1], kind[sample.censored == 0] = CENSORED, SEEN
        lowest = float(observed.min())
        at_lowest = observed == lowest
        floor = lowest if at_lowest.sum() > max(5, 0.01 * observed.size) else None
        if floor is not None:
            kind[at_lowest & (kind != CENSORED)] = FLOOR
        unit, lattice = float(np.std(observed)), find_lattice(observed)
        entry = sample.entry
        return cls(observed, weight, kind, unit, lattice, floor, known=known, entry=entry)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.weight.size

    @property
    def positive(self) -> bool:
        """Whether a logarithmic scale makes sense."""
        if self.limits is not None:
            return bool((self.limits.upper > 0).all())
        low = float(self.observation.min())
        return low > 0 or (low == 0 and self.floor == 0.0)

    def take(self, index: NDArray[np.intp]) -> Observed:
        """Keep some rows; units stay those of all."""
        weight = self.weight[index]
        names = ("observation", "kind", "limits", "basis", "order_basis", "entry")
        scales = {name: each[index] for name, each in self.scale_bases.items()}
        some = taken(self, index, *names)
        return replace(self, **some, weight=weight / weight.mean(), scale_bases=scales)

    def few(self, enough: int) -> Observed | None:
        """So many rows; None where all are not twice as many.

        They are drawn at random: every third row would miss weekdays or items.
        """
        if self.n_rows < 2 * enough:
            return None
        drawn = np.random.default_rng(0).choice(self.n_rows, enough, replace=False)
        return self.take(np.sort(drawn))

    def without_rows(self) -> Observed:
        """Give what a saved model keeps: units, and no row."""
        nothing = np.empty(0)
        return replace(
            self,
            observation=nothing,
            weight=nothing,
            kind=nothing,
            limits=None if self.limits is None else Limits(nothing, nothing),
            basis=np.empty((0, 1)),
            order_basis=None,
            scale_bases={},
            entry=None,
        )

    def point(self, space: Space) -> Array:
        """Observations in the space of a family; of limits the lower, or the only one."""
        if self.limits is not None:
            low = np.where(self.kind == BELOW, self.limits.upper, self.limits.lower)
            return into(space, low, self.unit)
        if space == "counts":
            return np.round(self.observation / self.lattice)
        value = self.observation
        if self.floor is not None:
            # half a step above its rows, so that rounding is allowed for
            value = np.where(self.kind == FLOOR, self.floor + 0.5 * self.lattice, value)
        if space == "log" and self.floor == 0.0 and not self.lattice:
            value = np.maximum(value, 0.5 * float(self.observation[self.observation > 0].min()))
        return into(space, value, self.unit)

    def jacobian(self, model: LatentModel) -> Array:
        """Log-derivative of the point in the observation, for the rows that enter by density."""
        by_chance = np.isin(self.kind, (FLOOR, BELOW, BETWEEN))
        if model.policy == "absent":
            by_chance = by_chance | (self.kind == CENSORED)
        space = model.family.space
        if space in ("counts", "linear"):  # of a count, a probability spread over one step
            found: Array | float = -np.log(model.unit)
        elif space == "root":  # nothing is flatter than half a step, or a thousandth of the unit
            least = max(0.5 * self.lattice, 1e-3 * self.unit)
            found = -np.log(2.0) - 0.5 * np.log(np.maximum(self.observation, least) * self.unit)
        else:
            found = -np.log(np.maximum(self.observation, 1e-300))
        return np.where(by_chance, 0.0, found)

    def model(
        self,
        family: Family,
        policy: Policy = "absent",
        scale: ScaleName = "constant",
        link: LinkName = "linear",
        *,
        on_orders: bool = False,
    ) -> LatentModel:
        """Set up a candidate model of these rows."""
        basis = self.order_basis if on_orders else self.basis
        assert basis is not None
        mean = float(np.mean(self.observation))
        unit = self.lattice if family.space == "counts" else self.unit
        # a narrow spike can be laid through as many rows as there are parameters, which proves
        # nothing; probabilities of counts are at most one, so no spike can be narrow
        least_spread = 0.01 if family.space == "counts" else 0.05
        if self.lattice and family.space != "counts":
            # rounding alone spreads orders by about a third of a step
            size = self.unit if family.space == "linear" else mean
            least_spread = max(least_spread, 0.3 * self.lattice / size)
        return LatentModel(
            family,
            policy,
            scale,
            link,
            on_orders,
            basis.shape[1],
            self.scale_bases[scale].shape[1],
            softness=0.05 * mean / unit if link == "additive" else 0.0,
            least_spread=least_spread,
            unit=unit,
        )

    def problem(self, model: LatentModel) -> Problem:
        """Join a candidate model with the rows."""
        basis = self.order_basis if model.on_orders else self.basis
        assert basis is not None
        point, width = self.point(model.family.space), None
        if self.limits is not None and (self.kind == BETWEEN).any():
            top = np.where(self.kind == BETWEEN, self.limits.upper, 0.0)
            width = into(model.family.space, top, self.unit) - point
        return Problem(
            model,
            basis,
            self.scale_bases[model.scale],
            point,
            self.kind,
            self.weight,
            width,
            self.rate,
            None if self.entry is None else into(model.family.space, self.entry, self.unit),
        )


def into(space: Space, value: Array, unit: float) -> Array:
    """Observations in the space of a family."""
    if space in ("linear", "counts"):
        return value / unit
    if space == "root":
        return np.sqrt(np.maximum(value, 0.0) / unit)
    return np.log(np.maximum(value, 1e-300) / unit)


def back(space: Space, point: Array, unit: float) -> Array:
    """Points of the space of a family as observations."""
    if space == "log":
        point = np.exp(np.minimum(point, 600.0))
    elif space == "root":
        point = np.maximum(point, 0.0) ** 2
    return np.asarray(point * unit)


def find_lattice(observation: Array) -> float:
    """Largest step of which all observations are multiples; 0 if they look continuous."""
    values = np.unique(observation)
    if values.size < 2 or values.size > 0.9 * observation.size + 10:
        return 0.0
    if np.abs(values).max() < 2**53 and np.all(values == np.round(values)):
        return float(np.gcd.reduce(values.astype(np.int64)))
    step = float(np.diff(values).min())
    multiples = values / step
    if np.abs(values).max() / step < 1e7 and np.all(np.abs(multiples - np.round(multiples)) < 1e-6):
        return step
    return 0.0


def usable(sample: Rows, notes: list[str]) -> Rows:
    """Rows of whose truth something is known; what no likelihood can explain is refused.

    The middle of limits, or the only one, stands for an observation.
    """
    if sample.limits is not None:
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
        low = np.where(np.isinf(limits.lower), limits.upper, limits.lower)
        high = np.where(np.isinf(limits.upper), limits.lower, limits.upper)
        sample = replace(sample, observation=low + 0.5 * (high - low))
    observed = sample.observation
    if observed.size < 2 or (sample.limits is None and float(np.ptp(observed)) == 0.0):
        raise InvalidInput(
            "y must have at least two different observations for a latent model, got "
            f"{observed.size} of {observed[0]:g}."
        )
    if sample.censored is not None and (sample.censored == 1).all():
        raise InvalidInput(
            "censored must leave some rows seen or unknown, got all rows censored: "
            "nothing is then known of the truth but a lower bound."
        )
    return sample


def read_families(value: Any, observed: Observed) -> list[Family]:
    """Families to try; of those that were named, each must be able to explain the observations."""
    least, wrong = float(observed.observation.min()), {}
    whole = observed.lattice >= 1.0 and observed.lattice % 1.0 == 0
    if not observed.positive:
        lowest = least if observed.limits is None else float(observed.limits.upper.min())
        wrong["log"] = f"needs positive observations, got {lowest:g}"
    if observed.limits is not None:
        wrong["counts"] = "cannot learn from limits of the truth, got some that flags cannot say"
    elif least < 0:
        wrong["counts"] = f"needs counts from 0 on, got the negative observation {least:g}"
    elif not whole:
        wrong["counts"] = "needs whole numbers, got observations with fractions"
    if isinstance(value, str) and value == "auto":
        able = [each for each in FAMILIES.values() if each.space not in wrong]
        if "counts" not in wrong and observed.unit < 4.0 * observed.lattice:
            # a density may exceed one per step, and then beats every probability unfairly
            return [family for family in able if family.space == "counts"]
        # steps of one hardly show in large counts, and the gamma says the same much faster
        many = float(np.median(observed.observation)) > 50 * (observed.lattice or 1.0)
        return [family for family in able if not (many and family.space == "counts")]
    named = ("weibull", "lognormal") if isinstance(value, str) and value == "lifetimes" else value
    families = [FAMILIES[name] for name in _names("families", named, FAMILIES)]
    for each in families:
        if each.space in wrong:
            raise InvalidInput(f"The family {each.name!r} {wrong[each.space]}.")
    return families


def read_policies(value: Any) -> tuple[Policy, ...]:
    """Order policies to try."""
    every: tuple[Policy, ...] = get_args(Policy)
    if isinstance(value, str) and value == "auto":
        return every
    names = _names("orders", value, every)
    return tuple(each for each in every if each in names)


def _names(parameter: str, value: Any, known: Collection[str]) -> list[str]:
    """Read one known name, or several."""
    if not isinstance(value, Iterable):
        raise refusal(parameter, "'auto', a name or several names", value)
    names = [value] if isinstance(value, str) else list(value)
    wrong = [name for name in names if not isinstance(name, str) or name not in known]
    if wrong or not names:
        some = ", ".join(repr(each) for each in known)
        got = repr(wrong[0]) if wrong else "none"
        raise InvalidInput(f"{parameter} must be 'auto' or some of {some}, got {got}.")
    return names
