"""What a search hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmet.tuning.scoring import Kind
from unmet.tuning.space import stable_text
from unmet.tuning.trial import Trial

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class SearchResult:
    """The best combination, and all that were tried.

    Attributes
    ----------
    best_parameters : dict
        Of the estimator: what `build` made of the best values.
    best_values : dict
        What was sampled, by name.
    best_cost : float
        Mean cost on held-out rows. It is the least of many, so it flatters: price the decisions
        on rows that the search has not seen.
    trials : list of Trial
        In order.
    estimator_ : estimator or None
        With the best parameters, fitted on all rows; None where `refit` is False.
    scored_by : {"realised", "observed", "callable"}
        What the costs are.
    """

    best_parameters: dict[str, Any]
    best_values: dict[str, Any]
    best_cost: float
    trials: list[Trial]
    estimator_: Any
    scored_by: Kind

    def to_polars(self) -> polars.DataFrame:
        """One row per trial: number, state, cost, the values, and the cost of each fold."""
        import polars

        folds = max(len(trial.fold_costs) for trial in self.trials)
        columns: dict[str, list[Any]] = {
            "number": [trial.number for trial in self.trials],
            "state": [trial.state for trial in self.trials],
            "cost": [trial.cost for trial in self.trials],
        }
        for name in self.best_values:
            columns[name] = _cells([trial.values[name] for trial in self.trials])
        for fold in range(folds):
            columns[f"fold {fold}"] = [
                trial.fold_costs[fold] if fold < len(trial.fold_costs) else None
                for trial in self.trials
            ]
        columns["sentence"] = [trial.sentence for trial in self.trials]
        return polars.DataFrame(columns, schema_overrides={"sentence": polars.String})


def _cells(values: list[Any]) -> list[Any]:
    """Numbers and text as they are; anything else, and mixtures, by what they look like."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 and kinds <= {bool, int, float, str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [value if value is None else stable_text(value) for value in values]
