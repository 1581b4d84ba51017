"""Reading the constructor parameters of a grouped model when `fit` needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from unmet.bands import BandRule
from unmet.errors import InvalidInput
from unmet.models.base import DecisionModel
from unmet.models.checks import number, one_of, read_seed, whole
from unmet.models.parameters import read_band
from unmet.scale.grouped_deciding import check_model
from unmet.scale.grouped_keys import Column, read_by
from unmet.scale.grouped_running import BACKENDS

_FEWEST = 10
_PER_PARAMETER = 2


@dataclass(frozen=True)
class Settings:
    """Constructor parameters that have been checked.

    Attributes
    ----------
    model, pooled : DecisionModel
        Copies, not fitted, with whole numbers for seeds.
    by : list of str or int
    shrink : float or None
        None is to be found.
    own_rule : bool
        Whether groups learn their own bands.
    min_rows, n_jobs, backend, folder
        As given.
    seed : int
    """

    model: DecisionModel
    pooled: DecisionModel
    by: list[Column]
    shrink: float | None
    own_rule: bool
    min_rows: int | None
    n_jobs: int | None
    backend: str | None
    folder: Any
    seed: int

    def fewest(self, n_features: int) -> int:
        """Rows that a group needs for a model of its own."""
        if self.min_rows is not None:
            return self.min_rows
        return max(_FEWEST, _PER_PARAMETER * (n_features + 1))

    def about(self) -> dict[str, Any]:
        """Say what makes two runs the same, but for the data."""
        return {
            "model": self.model.get_params(),
            "pooled": (type(self.pooled).__name__, self.pooled.get_params()),
            "parameters": (self.by, self.shrink, self.own_rule, self.min_rows),
        }


def read_settings(given: Any) -> Settings:
    """Check parameters that may hold anything."""
    model = check_model("model", given.model)
    pooled = model if given.pooled is None else check_model("pooled", given.pooled)
    one_of("band_by", given.band_by, ("pooled", "group"))
    if given.backend is not None:
        one_of("backend", given.backend, (None, *BACKENDS))
    rule = read_band(model.get_params(deep=False)["band"])
    seed = read_seed(given.random_state)
    chosen = None if given.random_state is None else seed
    pooled = seeded(pooled, chosen)
    # both must be at the same seed even where one of them is the other
    own = pooled if given.pooled is None else seeded(model, chosen)
    pooled = clone(pooled).set_params(band=own.get_params(deep=False)["band"])
    return Settings(
        model=own,
        pooled=pooled,
        by=read_by(given.by),
        shrink=_read_shrink(given.shrink),
        own_rule=given.band_by == "group" and isinstance(rule, BandRule),
        min_rows=None if given.min_rows is None else whole("min_rows", given.min_rows, 2),
        n_jobs=_read_jobs(given.n_jobs),
        backend=given.backend,
        folder=given.folder,
        seed=seed,
    )


def seeded(model: DecisionModel, seed: int | None) -> DecisionModel:
    """Copy a model, with whole numbers for all its seeds.

    A generator would run on from group to group, and answers would depend on their order.
    """
    copy: DecisionModel = clone(model)
    found = {}
    for name, value in model.get_params(deep=True).items():
        if name == "random_state" or name.endswith("__random_state"):
            if value is None and seed is not None:
                found[name] = seed
            elif isinstance(value, np.random.RandomState):
                found[name] = read_seed(value)
    return copy.set_params(**found) if found else copy


def _read_shrink(shrink: Any) -> float | None:
    """Read k; None of the caller is 0, and "auto" is what is to be found."""
    if shrink is None:
        return 0.0
    if isinstance(shrink, str) and shrink == "auto":
        return None
    return number("shrink", shrink, "'auto', a non-negative number of rows or None", 0.0, np.inf)


def _read_jobs(n_jobs: Any) -> int | None:
    if n_jobs is None:
        return None
    if isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool) and n_jobs != 0:
        return int(n_jobs)
    raise InvalidInput(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}.")
