"""What the theorems say about a fitted model and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from paper.theory.bounds import SHARE, Assumption, Bound, positive
from paper.theory.theorems import (
    balanced_learning_rate,
    linear_bound,
    network_bound,
    penalised_bound,
)
from unmet.arrays import Array, Band, Features
from unmet.costs import PiecewiseLinearCost
from unmet.errors import Unsupported
from unmet.models import LinearDecision, NeuralDecision
from unmet.models.networks import read_hidden, read_rate
from unmet.rows import read_column, read_features

# --- Looking at the rows: which assumptions of the theorems hold there, each with a sentence.

_CLOSE = 0.05  # how far a standardised column may be from mean 0 and deviation 1


def _bounded(observation: Array, top: float, known: bool) -> Assumption:
    """Ask for truths in [0, D̄]."""
    name = f"truths in [0, {top:g}]"
    if observation.min() < 0:
        return Assumption(name, False, f"The smallest observation is {observation.min():g}.")
    if observation.max() > top:
        return Assumption(name, False, f"The largest observation is {observation.max():g}.")
    if known:
        return Assumption(name, True, "All observations are, and D̄ was given.")
    why = (
        "D̄ is the largest observation; sales hide demand, so the largest truth may be larger: "
        "give largest_truth if you know it."
    )
    return Assumption(name, None, why)


def _decisions(decision: Array, top: float) -> Assumption:
    """Ask for decisions in [0, D̄]."""
    outside = int(((decision < 0) | (decision > top)).sum())
    name = f"decisions in [0, {top:g}]"
    if not outside:
        return Assumption(name, True, "All decisions for these rows are.")
    why = (
        f"{outside:,} of {decision.size:,} are not: cut them off there, in training cost and in "
        "use, and the bound speaks of the decisions cut off."
    )
    return Assumption(name, False, why)


def _one_cost(cost: PiecewiseLinearCost) -> Assumption:
    """Ask for the same cost in all rows."""
    several = any(np.ndim(value) for value in cost.slopes.parameters().values())
    if several:
        why = "Costs differ by row: the bound takes the largest, which is safe if none is larger."
        return Assumption("one cost", None, why)
    return Assumption("one cost", True, "Underage and overage are the same in all rows.")


def _one_band(band: Band | None, rule: Any) -> Assumption:
    """Ask for a band that does not depend on the training rows."""
    name = "a band chosen beforehand"
    if rule is not None:
        why = f"{type(rule).__name__} learned it from the same rows, which no theorem covers."
        return Assumption(name, False, why)
    if band is not None and np.ndim(band.width):
        why = "Bands differ by row: the bound takes the worst, which is safe if none is worse."
        return Assumption(name, None, why)
    return Assumption(name, True, "It was given." if band else "There is none.")


def _standardised(features: Features) -> Assumption:
    """Ask for columns of mean 0 and deviation 1, which the paper assumes and no proof uses."""
    if sparse.issparse(features):
        mean = np.asarray(features.mean(axis=0)).ravel()
        square = np.asarray(features.power(2).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean, spread = features.mean(axis=0), features.std(axis=0)
    constant = spread <= 1e-12 * np.maximum(np.abs(mean), 1.0)  # a column of ones may stand there
    off = ~constant & ((np.abs(mean) > _CLOSE) | (np.abs(spread - 1) > _CLOSE))
    name = "standardised features"
    if not off.any():
        return Assumption(name, True, "Every column has mean 0 and deviation 1, or is constant.")
    why = f"{int(off.sum())} of {off.size} columns are not; no proof needs it, only their length."
    return Assumption(name, None, why)


# --- What the theorems say about a fitted model and its rows.


@dataclass(frozen=True)
class BoundReport:
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
) -> BoundReport:
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
    BoundReport
        Print it.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from paper.theory import bound_for, sample_size_for
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
    SHARE("delta", delta)
    _check(model)
    top = float(observation.max()) if largest_truth is None else largest_truth
    if largest_truth is None and not top > 0:
        top = 1.0  # nothing was ever sold: any unit will do, and the report says what was read
    positive("largest_truth", top)
    common = [
        Assumption(
            "independent rows of one law",
            None,
            "Days that follow each other, and seasons, are neither independent nor alike.",
        ),
        _bounded(observation, top, largest_truth is not None),
        _decisions(model.predict(X), top),
        _one_cost(model.cost_),
        _one_band(model.band_, model.band_rule_),
    ]
    if isinstance(model, LinearDecision):
        bound, inputs, own = _linear(model, features, top, delta)
    else:
        bound, inputs, own = _network(model, features, top, delta, constant)
    return BoundReport(bound, inputs, (*common, *own))


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
    proved = Assumption(
        "the exact minimum", True, f"The solver {model.solver!r} proves its answer."
    )
    if model.solver == "minibatch":
        why = "Mini-batch descent stops early, by rows that it holds out."
        proved = Assumption("the exact minimum", False, why)
    own = [_standardised(features), proved]
    if model.penalty is None:
        bound = linear_bound(cost, model.band_, delta=delta, **inputs)
        why = "Prop. LR-stable is wrong: leaving out one row can move decisions from 0 to D̄."
        return bound, inputs, [*own, Assumption("stability without a penalty", False, why)]
    # Columns of zeros have no length; then any positive number bounds it.
    inputs |= {"largest_feature": longest / sqrt(p) or 1.0, "strength": _ridge(model)}
    bound = penalised_bound(cost, model.band_, delta=delta, **inputs)
    free = (
        "The intercept is free, and a free intercept can jump when one row goes; "
        "use fit_intercept=False and a column of ones."
    )
    own += [
        Assumption(
            "a penalty on every coefficient",
            not model.fit_intercept,
            free if model.fit_intercept else "There is no intercept beside them.",
        ),
        Assumption(
            "feature vectors no longer than X_max √p",
            None,
            f"None of these rows is longer than {longest:.4g}; a later one may be.",
        ),
    ]
    return bound, inputs, own


def _network(
    model: NeuralDecision, features: Features, top: float, delta: float, constant: float
) -> tuple[Bound, dict[str, float], list[Assumption]]:
    n_rows = features.shape[0]
    inputs: dict[str, Any] = {"n_rows": n_rows, "epochs": model.n_iter_, "largest_truth": top}
    rate, cost = _learning_rate(model), cast(PiecewiseLinearCost, model.cost_)
    more: dict[str, Any] = {"learning_rate": rate, "delta": delta, "constant": constant}
    bound = network_bound(cost, model.band_, **inputs, **more)
    shown = rate or balanced_learning_rate(cost, **inputs)
    how = "The network was trained by Adam in batches, in an order drawn anew for each pass."
    if model.solver == "lbfgs":
        how = (
            "The network was trained by L-BFGS. It has no learning rate; the bound takes the one "
            "that the paper recommends."
        )
    slope = "A network's cost is not; α ∨ (1 − α) is its slope in the output, not in the weights."
    own = [
        _standardised(features),
        Assumption("plain SGD in a fixed order", False, how),
        Assumption("a cost convex in the parameters", False, slope),
    ]
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
    rate = read_rate(model.learning_rate, read_hidden(model.hidden_layer_sizes))
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
