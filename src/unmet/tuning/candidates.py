"""One combination of values as an estimator that can be trained on any rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from unmet.band import Band, common_rows
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.tuning.folds import Index

Build = Callable[[dict[str, Any]], Mapping[str, Any] | None]


def last_step(model: Any) -> Any:
    """Give the estimator that decides: of a pipeline its last step."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


@dataclass(frozen=True)
class Candidate:
    """An estimator with the parameters of one trial.

    Attributes
    ----------
    number : int
        Of the trial.
    parameters : dict
        Of the estimator, as `build` gave them.
    model : estimator
        A copy that has them, not fitted.
    """

    number: int
    parameters: dict[str, Any]
    model: Any

    @classmethod
    def make(
        cls, number: int, estimator: Any, parameters: Mapping[str, Any], n_rows: int
    ) -> Candidate:
        """Set the parameters on a copy; names that the estimator lacks are a mistake of `build`."""
        try:
            model = clone(estimator).set_params(**parameters)
        except (AttributeError, TypeError, ValueError) as error:
            text = " ".join(str(error).split()).rstrip(".")
            raise InvalidInput(
                f"build must return parameters of {type(estimator).__name__}, got {text}."
            ) from None
        for per_row in _per_row(model).values():
            rows = {"y": np.broadcast_to(0.0, n_rows), **per_row.parameters()}
            common_rows(rows)  # a longer one would be cut without a word
        return cls(number, dict(parameters), model)

    def on(self, rows: Index) -> Any:
        """Give a copy for some rows: costs and bands with one entry per row keep those of them."""
        model = clone(self.model)
        chosen = {name: value.take(rows) for name, value in _per_row(model).items()}
        last_step(model).set_params(**chosen)
        return model

    def job(self, rows: Index) -> dict[str, Any]:
        """Say the same for `fit_many`, which chooses the rows of costs and bands itself."""
        top = {name.partition("__")[0] for name in self.parameters}
        given = self.model.get_params(deep=False)
        return {**{name: given[name] for name in top}, "rows": rows}


def _per_row(model: Any) -> dict[str, Cost | Band]:
    """Cost and band of the estimator that decides, by name, where they are given."""
    given = last_step(model).get_params(deep=False)
    return {n: given[n] for n in ("cost", "band") if isinstance(given.get(n), Cost | Band)}


def read_build(build: Any, space: Mapping[str, Any], estimator: Any) -> Build:
    """Turn sampled values into parameters: by `build`, or as they are."""
    if build is not None:
        if not callable(build):
            raise InvalidInput(
                f"build must be a function of the sampled values, got {build!r:.60}."
            )
        return _checked(build)
    known = estimator.get_params(deep=True)
    for name in space:
        if name not in known:
            raise InvalidInput(
                f"space must name parameters of {type(estimator).__name__} where no build is "
                f"given, got {name!r}."
            )
    return dict


def _checked(build: Build) -> Build:
    def checked(values: dict[str, Any]) -> Mapping[str, Any] | None:
        parameters = build(values)
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InvalidInput(
                f"build must return parameters by name, or None, got {parameters!r:.60}."
            )
        return parameters

    return checked
