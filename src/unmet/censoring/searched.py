"""The paper's search for ε (App. training, Step 2), as published."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from unmet.arrays import Band, Features, read_array
from unmet.censoring.model import Diagnosis
from unmet.censoring.rule import TrainingRule
from unmet.costs import Cost, CustomPricing, PreventiveReplacement
from unmet.errors import InvalidInput, MissingPackage
from unmet.rows import Rows
from unmet.validation import Seed, WholeNumber, read_parameters

# --- Optuna, which is an extra: imported when it is needed, and kept from talking.


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Turn off the messages of Optuna, and its warnings about experimental options."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


# --- The paper's search for ε (App. training, Step 2), as published.

_PARAMETERS = {"n_folds": WholeNumber(1), "n_trials": WholeNumber(1), "random_state": Seed()}


class SearchedBand(TrainingRule):
    """Search for the band of least ε-insensitive cost on validation rows: the paper's Step 2.

    The rule splits the rows `n_folds` times into 75% for training and 25% for validation. It
    minimises the mean ε-insensitive cost of the validation rows over a box of ε₁ and ε₂. The search
    is the tree-structured Parzen estimator (Hyperopt in the paper, Optuna here). ε is a share of
    the range of the observations, because the published boxes assume min-max scaled sales.

    **The search is degenerate.** It minimises the same cost that ε enters. That cost falls whenever
    ε₁ grows or ε₂ shrinks, for any data. The search therefore returns the corner of its box and
    learns nothing about censoring. On uncensored data its result does harm. The rule warns about
    this. Use it to reproduce the paper, and another rule to choose ε.

    Parameters
    ----------
    n_folds : int, default=5
        Number of random splits (the paper's V, which the paper does not state). More splits take
        longer and make the mean cost less noisy.
    n_trials : int, default=50
        Number of pairs to try; the paper does not state it. More trials come closer to the corner.
    high_box, low_box : (float, float), default=(0.0, 0.2) and (0.0, 0.15)
        Search ranges of ε₁ and ε₂, as shares of the range of the observations. For costs with a
        single ε (eq. cp, pr), ε₂ stays at 0.
    random_state : int, RandomState or None, default=None
        Seed of the splits and of the search. None draws a new seed in each fit.

    Attributes
    ----------
    low_, high_ : float
        ε₂ and ε₁ as shares of the range, as in Table epsilonSearchResults.
    band_ : Band
        The same band in the units of the observation.
    best_cost_ : float
        Mean ε-insensitive cost on the validation rows.
    at_corner_ : bool
        Whether both ends are at the limit of their range where the cost is least by construction.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.censoring import SearchedBand
    >>> X, sales = np.zeros((40, 1)), np.arange(40.0) % 7
    >>> rule = SearchedBand(n_folds=2, n_trials=30, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     rule = rule.fit(Newsvendor(3, 1), X, sales)
    >>> rule.at_corner_
    True
    """

    def __init__(
        self,
        *,
        n_folds: int = 5,
        n_trials: int = 50,
        high_box: tuple[float, float] = (0.0, 0.20),
        low_box: tuple[float, float] = (0.0, 0.15),
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_folds = n_folds
        self.n_trials = n_trials
        self.high_box = high_box
        self.low_box = low_box
        self.random_state = random_state

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        _optuna()
        read = read_parameters(_PARAMETERS, self)
        self._n_folds, self._n_trials = read["n_folds"], read["n_trials"]
        seed = np.random.RandomState(read["random_state"])
        self._seed = int(seed.randint(np.iinfo(np.int32).max))
        self._high_box = _read_box("high_box", self.high_box)
        self._low_box = _read_box("low_box", self.low_box)
        seen = rows.observation
        if seen.size < 2:
            raise InvalidInput("SearchedBand must have at least two rows to split, got one.")
        if not np.ptp(seen) > 0:
            raise InvalidInput(
                "y must not be constant for SearchedBand, whose boxes are shares of its range, "
                f"got only {seen[0]:g}."
            )
        if self._low_box[0] > self._high_box[1]:
            raise InvalidInput(
                "low_box must not begin above the end of high_box, "
                f"got {self._low_box[0]} and {self._high_box[1]}."
            )
        found = self._learn(rows, estimator)
        self.low_, self.high_, self.band_ = found["low"], found["high"], found["band"]
        self.best_cost_, self.at_corner_ = found["cost"], found["at_corner"]
        return Diagnosis(
            rule="SearchedBand", n_rows=rows.n_rows, identified="no", notes=(found["note"],)
        )

    def _band(self, features: Features, cost: Cost) -> Band:
        band: Band = self._found(cost)["band"]
        return band

    def _search(self, cost: Cost) -> dict[str, Any]:
        """Search for one cost, and warn; ε as shares of the range, and the band they make."""
        from sklearn.model_selection import ShuffleSplit  # slow to import, seldom needed

        optuna = _optuna()
        rows = replace(self._rows, cost=cost)
        # the paper's cost has two ends, those of eq. cp and pr have one ε
        one_end = isinstance(cost, CustomPricing | PreventiveReplacement)
        low_box, high_box = (0.0, 0.0) if one_end else self._low_box, self._high_box
        # Algorithm 1 of the paper: 75% to train on, 25% to evaluate
        splits = ShuffleSplit(self._n_folds, test_size=0.25, random_state=self._seed)
        folds = [
            (rows.take(train), rows.take(test))
            for train, test in splits.split(np.empty(rows.n_rows))
        ]

        def objective(trial: Any) -> float:
            """Mean ε-insensitive cost on the validation rows (Algorithm 1)."""
            high = trial.suggest_float("high", *high_box)
            low = trial.suggest_float("low", *low_box)
            if low > high:
                return np.inf
            band = Band.scaled(low, high, rows.observation)
            costs = []
            for train, test in folds:
                decision = self._train(train, band).predict(test.features)
                loss = test.cost.loss(decision, test.observation, band)
                costs.append(np.average(loss, weights=test.share))
            return float(np.mean(costs))

        with quiet(optuna):
            sampler = optuna.samplers.TPESampler(seed=self._seed)
            study = optuna.create_study(direction="minimize", sampler=sampler)
            study.optimize(objective, n_trials=self._n_trials)
        low, high = float(study.best_params["low"]), float(study.best_params["high"])
        if low > high:
            raise InvalidInput(
                f"n_trials must be large enough to find one pair with low below high, "
                f"got {self._n_trials}."
            )
        # so near to an end of its box, as a share of it, ε sits at that end
        far_up = high_box[1] - high <= 0.05 * (high_box[1] - high_box[0])
        far_down = low - low_box[0] <= 0.05 * (low_box[1] - low_box[0])
        where = (
            "sits at the corner of its box where that cost is least by construction"
            if far_up and far_down
            else "is as close to the corner of its box as the trials came"
        )
        note = (
            "SearchedBand minimises the ε-insensitive cost itself, as published, which falls "
            "whenever high grows or low shrinks, so it learns nothing about censoring; its answer, "
            f"high {high:.4f} and low {low:.4f} of the range of observations, {where}."
        )
        warnings.warn(note, UserWarning, stacklevel=6)
        found = {"low": low, "high": high, "cost": float(study.best_value), "note": note}
        band = Band.scaled(low, high, rows.observation)
        return {**found, "band": band, "at_corner": bool(far_up and far_down)}


def _read_box(name: str, value: Any) -> tuple[float, float]:
    box = read_array(name, value)
    if box.shape != (2,) or not 0 <= box[0] <= box[1]:
        raise InvalidInput(
            f"{name} must be two numbers, the lower first and none negative, got {value!r}."
        )
    return float(box[0]), float(box[1])


def _optuna() -> Any:
    return MissingPackage.or_load("SearchedBand", "optuna", "tune")
