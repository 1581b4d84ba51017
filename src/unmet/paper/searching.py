"""Steps 1 and 2 of App. training: hyperparameters, then ε for each level, on data set 1.

The tree-structured Parzen estimator of Optuna stands where the paper used Hyperopt's, which is no
longer maintained. As published, a candidate is priced by its own ε-insensitive cost on held-out
*sales*. For Step 2 that makes the search degenerate: the cost falls whenever ε₁ grows or ε₂
shrinks, whatever the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from unmet.band import Array, Band
from unmet.costs import Newsvendor, SquaredError
from unmet.models import LinearDecision
from unmet.paper.fitting import dataset
from unmet.paper.published import BAND_BOX, STEP_1
from unmet.paper.results import SearchRow
from unmet.paper.settings import TUNING_LEVEL, Settings
from unmet.paper.tuned import SEED, Tuned, descent_options, widths
from unmet.tuning import Uniform, Whole, search

SearchedModel = Literal["LR", "NN", "NN-MSE"]
Space = Mapping[str, Uniform | Whole]

#: ε₁ and ε₂, as shares of the range of sales (App. training, Step 2).
BAND_SPACE: Space = {name: Uniform(*ends) for name, ends in BAND_BOX.items()}

#: Trials asked for at a time. Networks of the same width and batch, as in Step 2, are trained much
#: faster together; otherwise it pays to know the last trial before the next is chosen.
_AT_ONCE = {(2, "NN"): 10}


@dataclass(frozen=True)
class SearchJob:
    """One search: Step 1 of a model, or Step 2 of a model at one level."""

    step: int
    model: SearchedModel
    level: float

    @property
    def name(self) -> str:
        """For its file."""
        return f"step{self.step}-{self.model.lower()}-{self.level:.2f}"

    def stops(self, trials: int) -> list[int]:
        """Numbers of trials after which the search is looked at: every ten, and at the end."""
        return [*range(10, trials, 10), trials]

    def advance(self, folder: Path, settings: Settings, tuned: Tuned, trials: int) -> SearchRow:
        """Go on with the search until ``trials`` are done in all.

        Parameters
        ----------
        folder : Path
            For the journal of trials.
        settings : Settings
        tuned : Tuned
            For Step 2, the hyperparameters of Step 1.
        trials : int

        Returns
        -------
        SearchRow
            The best so far; its seconds are those of this call.
        """
        train = dataset(1, settings.clip).train
        started = perf_counter()
        found = search(
            self._estimator(tuned),
            self.space,
            train.features,
            train.sales,
            build=self._build(train.sales),
            score="observed",  # Algorithm 1: the sales are all it sees
            cv=settings.folds,
            trials=trials,
            batch=_AT_ONCE.get((self.step, self.model), 1),
            storage=folder / f"{self.name}.log",
            name=self.name,
            random_state=SEED,
            refit=False,
        )
        best = {name: float(value) for name, value in found.best_values.items()}
        seconds = perf_counter() - started
        return SearchRow(self.step, self.model, self.level, best, found.best_cost, trials, seconds)

    @property
    def space(self) -> Space:
        """Where the search looks."""
        if self.step == 2:
            return BAND_SPACE
        return {
            line.name: Whole(int(line.low), int(line.high))
            if line.whole
            else Uniform(line.low, line.high)
            for line in STEP_1
            if line.model == self.model
        }

    def _estimator(self, tuned: Tuned) -> Any:
        cost = Newsvendor.at_level(self.level)
        if self.model == "LR":
            return LinearDecision(cost, solver="minibatch", minibatch=tuned.descent)
        if self.model == "NN-MSE":
            return tuned.neural(tuned.squared, cost=SquaredError())
        return tuned.neural(tuned.network, cost=cost)

    def _build(self, sales: Array) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """From sampled values to parameters of the estimator."""

        def banded(values: Mapping[str, Any]) -> dict[str, Any] | None:
            if values["low"] > values["high"]:
                return None  # no band at all
            return {"band": Band.scaled(values["low"], values["high"], observation=sales)}

        if self.step == 2:
            return banded
        if self.model == "LR":
            return lambda values: {"minibatch": descent_options(values)}
        return lambda values: widths(values).parameters()


def search_jobs(settings: Settings) -> list[SearchJob]:
    """All searches of a run, those of networks first as they take longest."""
    if settings.published_settings:
        return []
    first = [SearchJob(1, model, TUNING_LEVEL) for model in ("NN", "NN-MSE", "LR")]
    return first + [
        SearchJob(2, model, level) for model in ("NN", "LR") for level in settings.levels
    ]
