"""What `fit` is given, checked, with the group of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.arrays import Array
from unmet.bands import BandRule
from unmet.checks import number, one_of, read_seed, whole
from unmet.costs import Cost
from unmet.errors import InvalidInput, MissingPackage
from unmet.models.base import DecisionModel
from unmet.models.training import read_band, read_cost
from unmet.rows import read_column, read_weights
from unmet.scale.grouped.fitting import check_model
from unmet.scale.grouped.keys import Column, GroupIndex, read_by, split_table

# --- Run the tasks of a grouped fit one after the other, in processes, or on a Dask cluster.

Task: TypeAlias = tuple[Any, ...]
"""Arguments of one call."""


class Progress(Protocol):
    """Told how far the work is: ``done`` of ``total`` groups, and what is being done."""

    def __call__(self, done: int, total: int, doing: str) -> Any:
        """Show it, or whatever the caller likes."""
        ...


BACKENDS = ("loky", "threading", "dask")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[Task], n_jobs: int | None, backend: str | None
) -> Iterator[Any]:
    """Results of all tasks in their order, each as soon as it and all before it are there.

    Parameters
    ----------
    function : callable
        Of a module, so that it can be sent to another process.
    tasks : sequence of tuple
    n_jobs : int or None
        As joblib means it: None is one unless a ``joblib.parallel_config`` says otherwise, −1 is
        all cores.
    backend : str or None
        One of `BACKENDS`; None is joblib's own choice, "dask" the cluster of the running client.
    """
    if not tasks:
        return
    if backend == "dask":
        yield from _on_cluster(function, tasks)
    elif joblib.effective_n_jobs(n_jobs) == 1:
        yield from (function(*task) for task in tasks)
    else:
        # Copies, no memory maps: parts are small, and costs want arrays that are theirs.
        parallel = joblib.Parallel(
            n_jobs=n_jobs, backend=backend, return_as="generator", max_nbytes=None
        )
        yield from parallel(joblib.delayed(function)(*task) for task in tasks)


def _on_cluster(function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
    """Let the cluster of the running client work; it repeats what a lost worker had."""
    try:
        from distributed import get_client
    except ImportError:
        raise MissingPackage.for_extra("backend 'dask'", "dask", "dask") from None
    try:
        client = get_client()
    except ValueError:
        raise InvalidInput(
            "backend 'dask' needs a running client: make one with dask.distributed.Client()."
        ) from None
    futures: list[Any] = [client.submit(function, *task, pure=False) for task in tasks]
    try:
        for place, future in enumerate(futures):
            result = future.result()
            futures[place] = None  # the cluster may forget it
            yield result
    finally:
        for future in futures:
            if future is not None:
                future.cancel()


# --- Reading the constructor parameters of a grouped model when `fit` needs them.

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


# --- What `fit` is given, checked, with the group of each row.


@dataclass(frozen=True)
class Input:
    """Rows in the order in which they came.

    Attributes
    ----------
    index : GroupIndex
    codes : ndarray of shape (n_rows,)
        Group of each row.
    features : ndarray of shape (n_rows, n_features)
    observation : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
        As given.
    cost : Cost
        With the numbers per row that were given.
    known : dict
        What a band rule is told.
    """

    index: GroupIndex
    codes: NDArray[np.int64]
    features: Array
    observation: Array
    weight: Array | None
    cost: Cost
    known: dict[str, Any]

    def about(self) -> dict[str, Any]:
        """Say what makes two runs the same, but for the parameters."""
        return {
            "X": (self.index.names, self.codes, self.features),
            "y": self.observation,
            "weights or costs": (self.weight, type(self.cost).__name__, self.cost.parameters()),
            "flags, stock or times": {
                name: value for name, value in self.known.items() if value is not None
            },
        }


def read_input(
    settings: Settings, X: Any, y: Any, given: Mapping[str, Any], known: Mapping[str, Any]
) -> Input:
    """Check what `fit` is given; each error is one sentence."""
    split = split_table(X, settings.by)
    n_rows = split.features.shape[0]
    if n_rows < 2:
        raise InvalidInput("X must have at least two rows, got one sample.")
    observation = read_column("y", y, n_rows)
    weight = None
    if read_weights(given["sample_weight"], n_rows, at_least=2) is not None:
        weight = np.asarray(given["sample_weight"], dtype=np.float64)
    index, codes = GroupIndex.learn(split.keys)
    told = dict(known)
    if told["time"] is not None and told["series"] is None:
        told["series"] = codes
    cost = read_cost(settings.model.get_params(deep=False)["cost"])
    return Input(
        index,
        codes,
        split.features,
        observation,
        weight,
        cost.with_rows(underage=given["underage"], overage=given["overage"]),
        told,
    )
