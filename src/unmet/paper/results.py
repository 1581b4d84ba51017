"""What a run has found: one row per fit, one per search; tables and figures read nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from unmet.band import Array
from unmet.paper.settings import Settings


@dataclass(frozen=True)
class FitRow:
    """One method on one data set at one level, priced on the true demand of the test half-year.

    Attributes
    ----------
    dataset : int
        From 1.
    level : float
        α.
    method : str
        A name of `METHODS`.
    cost : float
        NVCost (eq. nvcost).
    cost_optimum : float
        NVCost of the true quantile Q* on the same rows.
    rmse_to_optimum : float
        RMSE^Q (eq. rmseq).
    service_level : float
        Share of test rows whose decision exceeds their demand, strictly, as in the paper.
    fit_seconds : float
        Of this fit alone, the choice of a band included, no search of hyperparameters.
    training_cost : float
        Mean cost of a training row, with its band, on what the method was trained on.
    iterations : int
        Epochs or iterations.
    """

    dataset: int
    level: float
    method: str
    cost: float
    cost_optimum: float
    rmse_to_optimum: float
    service_level: float
    fit_seconds: float
    training_cost: float
    iterations: int


@dataclass(frozen=True)
class SearchRow:
    """One finished search (App. training), on data set 1.

    Attributes
    ----------
    step : int
        1 for hyperparameters, 2 for ε.
    model : str
        "LR", "NN" (both share their hyperparameters among NVC and εNVC) or "NN-MSE".
    level : float
        α; step 1 is always at .55.
    best : mapping from str to float
        Step 1: eta, beta, batch_size of "LR", units1, units2, batch_size of the networks. Step 2:
        high (ε₁) and low (ε₂), shares of the range of sales.
    cost : float
        What the search minimised, mean over the folds.
    trials : int
    seconds : float
    """

    step: int
    model: str
    level: float
    best: Mapping[str, float]
    cost: float
    trials: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that was computed.

    Attributes
    ----------
    settings : Settings
    fits : tuple of FitRow
        One for every method of `METHODS`, level and data set.
    searches : tuple of SearchRow
        Empty with published settings.
    decision : callable (dataset, method, level) → ndarray
        Decisions on the test rows.
    optimum : callable (dataset, level) → ndarray
        Q* on the test rows.
    """

    settings: Settings
    fits: tuple[FitRow, ...]
    searches: tuple[SearchRow, ...]
    decision: Callable[[int, str, float], Array]
    optimum: Callable[[int, float], Array]

    @cached_property
    def _by_key(self) -> dict[tuple[str, float], list[FitRow]]:
        by_key: dict[tuple[str, float], list[FitRow]] = {}
        for row in sorted(self.fits, key=lambda row: row.dataset):
            by_key.setdefault((row.method, row.level), []).append(row)
        return by_key

    def of(self, method: str, level: float) -> list[FitRow]:
        """Rows of one method and level, by data set."""
        return self._by_key[method, level]

    def mean(self, method: str, level: float, measure: str) -> float:
        """Mean of one attribute of `FitRow` over the data sets."""
        return fmean(getattr(row, measure) for row in self.of(method, level))

    def search(self, step: int, model: str, level: float) -> SearchRow | None:
        """Return one search, or None if it was not run."""
        for row in self.searches:
            if (row.step, row.model, row.level) == (step, model, level):
                return row
        return None
