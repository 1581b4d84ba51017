"""Looking at the rows: which assumptions of the theorems hold there, each with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unmet.band import Array, Band
from unmet.costs import PiecewiseLinearCost
from unmet.solvers.problem import Features
from unmet.theory.bound import Assumption

_CLOSE = 0.05  # how far a standardised column may be from mean 0 and deviation 1


def independent() -> Assumption:
    """Ask for rows that are drawn independently from one law."""
    why = "Days that follow each other, and seasons, are neither independent nor alike."
    return Assumption("independent rows of one law", None, why)


def bounded(observation: Array, top: float, known: bool) -> Assumption:
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


def decisions(decision: Array, top: float) -> Assumption:
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


def one_cost(cost: PiecewiseLinearCost) -> Assumption:
    """Ask for the same cost in all rows."""
    several = any(np.ndim(value) for value in cost.slopes.parameters().values())
    if several:
        why = "Costs differ by row: the bound takes the largest, which is safe if none is larger."
        return Assumption("one cost", None, why)
    return Assumption("one cost", True, "Underage and overage are the same in all rows.")


def one_band(band: Band | None, rule: Any) -> Assumption:
    """Ask for a band that does not depend on the training rows."""
    name = "a band chosen beforehand"
    if rule is not None:
        why = f"{type(rule).__name__} learned it from the same rows, which no theorem covers."
        return Assumption(name, False, why)
    if band is not None and np.ndim(band.width):
        why = "Bands differ by row: the bound takes the worst, which is safe if none is worse."
        return Assumption(name, None, why)
    return Assumption(name, True, "It was given." if band else "There is none.")


def standardised(features: Features) -> Assumption:
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


def lengths(longest: float) -> Assumption:
    """Ask for feature vectors of bounded length."""
    why = f"None of these rows is longer than {longest:.4g}; a later one may be."
    return Assumption("feature vectors no longer than X_max √p", None, why)


def exact(solver: str) -> Assumption:
    """Ask for training to the minimum."""
    if solver == "minibatch":
        why = "Mini-batch descent stops early, by rows that it holds out."
        return Assumption("the exact minimum", False, why)
    return Assumption("the exact minimum", True, f"The solver {solver!r} proves its answer.")


def penalised(fit_intercept: bool) -> Assumption:
    """Ask for a penalty on every coefficient."""
    name = "a penalty on every coefficient"
    if fit_intercept:
        why = (
            "The intercept is free, and a free intercept can jump when one row goes; "
            "use fit_intercept=False and a column of ones."
        )
        return Assumption(name, False, why)
    return Assumption(name, True, "There is no intercept beside them.")


def stable_without_penalty() -> Assumption:
    """Ask for Prop. LR-stable."""
    why = "Prop. LR-stable is wrong: leaving out one row can move decisions from 0 to D̄."
    return Assumption("stability without a penalty", False, why)


def plain_descent(solver: str) -> Assumption:
    """Ask for plain SGD, constant rate, fixed order."""
    how = "L-BFGS" if solver == "lbfgs" else "Adam in batches, in an order drawn anew for each pass"
    why = f"The network was trained by {how}."
    if solver == "lbfgs":
        why += " It has no learning rate; the bound takes the one that the paper recommends."
    return Assumption("plain SGD in a fixed order", False, why)


def convex() -> Assumption:
    """Ask for a cost that is convex in the parameters."""
    why = "A network's cost is not; α ∨ (1 − α) is its slope in the output, not in the weights."
    return Assumption("a cost convex in the parameters", False, why)
