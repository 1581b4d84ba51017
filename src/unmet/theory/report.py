"""What the theorems say about a fitted model and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from unmet.costs import PiecewiseLinearCost
from unmet.errors import Unsupported
from unmet.models import LinearDecision, NeuralDecision
from unmet.models.network_parameters import read_hidden, read_rate
from unmet.rows import read_column, read_features
from unmet.solvers.problem import Features
from unmet.theory import assumptions as check
from unmet.theory.bound import Assumption, Bound
from unmet.theory.linear import linear_bound, penalised_bound
from unmet.theory.network import balanced_learning_rate, network_bound
from unmet.theory.parameters import positive_number, share


@dataclass(frozen=True)
class Report:
    """A bound for one model and its rows, and which of its assumptions hold there.

    Attributes
    ----------
    bound : Bound
    inputs : mapping of str to float
        What was read from model and rows: ``n_rows``, ``n_features`` (the intercept counts),
        ``largest_truth``, and what else the theorem needs.
    checked : tuple of Assumption
        Assumptions of the theorem, looked at on these rows.
    """

    bound: Bound
    inputs: Mapping[str, float]
    checked: tuple[Assumption, ...]

    @property
    def value(self) -> float:
        """The bound itself."""
        return self.bound.value

    @property
    def vacuous(self) -> bool:
        """Whether the bound exceeds what any decision could cost."""
        return self.bound.vacuous

    @property
    def broken(self) -> tuple[Assumption, ...]:
        """Assumptions that do not hold on these rows: with one of them there is no guarantee."""
        return tuple(each for each in self.checked if each.holds is False)

    def __str__(self) -> str:
        lines = [str(self.bound), "Read: " + ", ".join(_shown(self.inputs)) + ".", "Assumptions:"]
        lines += [f"  {each}" for each in self.checked]
        if self.broken:
            names = ", ".join(each.name for each in self.broken)
            lines.append(f"So the bound is no guarantee here: {names}.")
        elif self.bound.caveat:
            lines.append("So the bound is no guarantee, whatever the rows.")
        return "\n".join(lines)


def bound_for(
    model: Any,
    X: Any,
    s: Any,
    delta: float = 0.05,
    *,
    largest_truth: float | None = None,
    constant: float = 1.0,
) -> Report:
    """Bound the cost on new rows, for a fitted model and the rows it was fitted to.

    Takes Thm LR-R-GenBound for `LinearDecision` with an ℓ2 penalty (of an elastic net, its ℓ2 part,
    which is all that the proof uses), Thm LR-GenBound without a penalty, and Thm dnnGBound for
    `NeuralDecision`. The cost is the ε-insensitive one on observations, with all the model's bands.

    Parameters
    ----------
    model : LinearDecision or NeuralDecision
        Fitted, with a cost that has two slopes. Costs and bands per row count by the worst row.
    X, s : table or array-like
        Features and observations of the training rows.
    delta : float
        The bound may fail on this share of training sets.
    largest_truth : float, optional
        D̄, known from elsewhere: the largest demand there can be. None takes the largest
        observation, which is too small where the largest truths were censored.
    constant : float
        c of Thm dnnGBound.

    Returns
    -------
    Report
        Print it.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.theory import bound_for, sample_size_for
    >>> generator = np.random.default_rng(0)
    >>> X = np.column_stack([np.ones(2000), generator.uniform(-1, 1, size=2000)])
    >>> sales = np.clip(5 + 2 * X[:, 1] + generator.normal(size=2000), 0, 10)
    >>> model = LinearDecision(Newsvendor(3, 1), penalty="l2", strength=1.0, fit_intercept=False)
    >>> report = bound_for(model.fit(X, sales), X, sales, largest_truth=10)
    >>> round(report.value, 2), report.vacuous, report.broken
    (1.81, False, ())
    >>> sample_size_for(0.5, report.bound)
    26160
    """
    features = read_features(X)
    observation = read_column("s", s, features.shape[0])
    share("delta", delta)
    _check(model)
    top = float(observation.max()) if largest_truth is None else largest_truth
    if largest_truth is None and not top > 0:
        top = 1.0  # nothing was ever sold: any unit will do, and the report says what was read
    positive_number("largest_truth", top)
    common = [
        check.independent(),
        check.bounded(observation, top, largest_truth is not None),
        check.decisions(model.predict(X), top),
        check.one_cost(model.cost_),
        check.one_band(model.band_, model.band_rule_),
    ]
    if isinstance(model, LinearDecision):
        bound, inputs, own = _linear(model, features, top, delta)
    else:
        bound, inputs, own = _network(model, features, top, delta, constant)
    return Report(bound, inputs, (*common, *own))


def _check(model: Any) -> None:
    """Refuse what no theorem speaks of."""
    name = type(model).__name__
    if not isinstance(model, LinearDecision | NeuralDecision):
        raise Unsupported(f"The theorems and {name} do not fit together: there is none about it.")
    check_is_fitted(model)
    if not isinstance(model.cost_, PiecewiseLinearCost):
        cost = type(model.cost_).__name__
        raise Unsupported(
            f"The theorems and the cost {cost} do not fit together, because {cost} has no slopes."
        )
    if isinstance(model, LinearDecision) and model.penalty is not None and not _ridge(model) > 0:
        raise Unsupported(
            f"The theorems and the penalty {model.penalty!r} with strength {model.strength!r} do "
            "not fit together, because stability needs a positive ℓ2 part: use penalty='l2'."
        )


def _ridge(model: LinearDecision) -> float:
    """λ of the ℓ2 part."""
    shares = {"l2": 1.0, "elasticnet": 1.0 - model.l1_ratio}
    return float(model.strength * shares.get(model.penalty or "", 0.0))


def _linear(
    model: LinearDecision, features: Features, top: float, delta: float
) -> tuple[Bound, dict[str, float], list[Assumption]]:
    n_rows, columns = features.shape
    cost = cast(PiecewiseLinearCost, model.cost_)
    p = columns + bool(model.fit_intercept)
    longest = sqrt(float(np.max(_squares(features))) + bool(model.fit_intercept))
    inputs: dict[str, Any] = {"n_rows": n_rows, "n_features": p, "largest_truth": top}
    own = [check.standardised(features), check.exact(model.solver)]
    if model.penalty is None:
        bound = linear_bound(cost, model.band_, delta=delta, **inputs)
        return bound, inputs, [*own, check.stable_without_penalty()]
    # Columns of zeros have no length; then any positive number bounds it.
    inputs |= {"largest_feature": longest / sqrt(p) or 1.0, "strength": _ridge(model)}
    bound = penalised_bound(cost, model.band_, delta=delta, **inputs)
    return bound, inputs, [*own, check.penalised(model.fit_intercept), check.lengths(longest)]


def _network(
    model: NeuralDecision, features: Features, top: float, delta: float, constant: float
) -> tuple[Bound, dict[str, float], list[Assumption]]:
    n_rows = features.shape[0]
    inputs: dict[str, Any] = {"n_rows": n_rows, "epochs": model.n_iter_, "largest_truth": top}
    rate, cost = _learning_rate(model), cast(PiecewiseLinearCost, model.cost_)
    more: dict[str, Any] = {"learning_rate": rate, "delta": delta, "constant": constant}
    bound = network_bound(cost, model.band_, **inputs, **more)
    shown = rate or balanced_learning_rate(cost, **inputs)
    own = [check.standardised(features), check.plain_descent(model.solver), check.convex()]
    return bound, {**inputs, "learning_rate": shown}, own


def _learning_rate(model: NeuralDecision) -> float | None:
    """η in the user's units; None where training had no such rate.

    Networks are trained on decisions in units of `unit` and costs in units of `steepness` · `unit`.
    A step of η in those units is one of η · unit / steepness in the bound: B η then has the
    unit of a decision, as it has in the theorem.
    """
    if model.solver != "adam":
        return None
    target = model.network_.target
    rate = read_rate(model.learning_rate, read_hidden(model.hidden))
    return float(rate * target.unit / target.steepness)


def _squares(features: Features) -> Any:
    """Squared length of each row."""
    if sparse.issparse(features):
        return features.power(2).sum(axis=1)
    return np.einsum("ij,ij->i", features, features)


def _shown(inputs: Mapping[str, float]) -> list[str]:
    letters = {
        "n_rows": "n",
        "n_features": "p",
        "largest_truth": "D̄",
        "largest_feature": "X_max",
        "strength": "λ",
        "learning_rate": "η",
        "epochs": "K",
    }
    return [f"{letters[name]} = {value:,.6g}" for name, value in inputs.items()]
