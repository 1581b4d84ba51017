"""Stability and generalisation of K-pass SGD (Prop. DNN-UASBound, Thm dnnGBound).

The results that the paper takes over are about *convex* costs (Bassily, Feldman, Guzmán and Talwar
2020): for a network they are a guide, not a guarantee. For linear decisions they hold, if the slope
is taken in the parameters: B = (α ∨ (1 − α)) times the length of the feature vectors.
"""

from __future__ import annotations

from functools import partial
from math import log, sqrt
from typing import Any

from unmet.arrays import Band
from unmet.paper.theory.bounds import (
    Bound,
    Price,
    cost_supremum,
    count,
    frozen,
    positive_number,
    read_steepness,
    share,
)

_CAVEAT = (
    "the proof needs a cost that is convex in the parameters, which a network's is not, and the "
    "constant c is not known."
)


def descent_stability(
    cost: Price,
    *,
    n_rows: int,
    epochs: int,
    learning_rate: float,
    largest_norm: float = 1.0,
) -> float:
    """Prop. DNN-UASBound: parameters of K-pass SGD differ by 2 B (η √(nK) + 2 η K) at most.

    The largest distance of the parameters, over all pairs of data sets that differ in one row.
    Assumes plain SGD, one row a step, with constant rate η, the same fixed order of rows in every
    pass, and the same start; and a cost that is convex and B-Lipschitz *in the parameters*. That is
    Theorem 3.2 of Bassily et al. (2020), which also allows a projection onto a convex set after
    each step; it holds for every step, hence for averages of them.

    Linear decisions are such a case, with B = (u ∨ o) · ‖x‖. A network is not: its cost is not
    convex in its weights, and u ∨ o is the slope in its *output* only.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor.
    n_rows, epochs : int
        n and K.
    learning_rate : float
        η.
    largest_norm : float
        Greatest length of a feature vector, a one for the intercept included. The paper has 1
        without saying so.

    Examples
    --------
    >>> round(descent_stability(0.8, n_rows=900, epochs=4, learning_rate=1 / 900), 4)
    0.1209
    """
    slope = read_steepness(cost).steeper * positive_number("largest_norm", largest_norm)
    rate = positive_number("learning_rate", learning_rate)
    rows, passes = count("n_rows", n_rows), count("epochs", epochs)
    return 2 * slope * rate * (sqrt(rows * passes) + 2 * passes)


def network_bound(
    cost: Price,
    band: Band | None = None,
    *,
    n_rows: int,
    epochs: int,
    largest_truth: float,
    learning_rate: float | None = None,
    delta: float = 0.05,
    constant: float = 1.0,
) -> Bound:
    """Thm dnnGBound: generalisation of NN-εNVC after K passes of SGD.

    c B² (η √(nK) + 2 K η) ln(n) ln(n/δ)  +  c B D̄ √(ln(1/δ) / n), in absolute value. Assumes what
    `descent_stability` does, and costs in [0, B D̄]: decisions in [0, D̄], and no ε₂ (with one the
    second D̄ should be D̄ + ε₂).

    Parameters
    ----------
    cost, n_rows, epochs
        As in `descent_stability`.
    band : Band, optional
        Only for `Bound.ceiling`: the theorem has no ε.
    largest_truth : float
        D̄.
    learning_rate : float, optional
        η; None is the paper's choice for each n, `balanced_learning_rate`.
    delta : float
        δ; the paper's ρ.
    constant : float
        c. The theorem says that there is one, not which. The default 1 shows the shape, and is
        smaller than what proofs with explicit constants give: do not read the value as a guarantee.

    Examples
    --------
    >>> bound = network_bound(0.8, n_rows=10_000, epochs=10, largest_truth=1.0)
    >>> round(bound.value, 2), bound.vacuous
    (0.97, True)
    """
    steep, rows = read_steepness(cost).steeper, count("n_rows", n_rows)
    passes, top = count("epochs", epochs), positive_number("largest_truth", largest_truth)
    chance, c = share("delta", delta), positive_number("constant", constant)
    rate = learning_rate
    if rate is None:
        rate = balanced_learning_rate(cost, n_rows=rows, epochs=passes, largest_truth=top)
    moved = descent_stability(cost, n_rows=rows, epochs=passes, learning_rate=rate)
    parts = {
        "what one row moves (c B² (η√(nK) + 2Kη) ln n ln(n/δ))": (
            c * steep * moved / 2 * log(rows) * log(rows / chance)
        ),
        "chance (c B D̄ √)": c * steep * top * sqrt(log(1 / chance) / rows),
    }
    same = {"epochs": passes, "largest_truth": top, "learning_rate": learning_rate}
    same |= {"delta": chance, "constant": c}
    return Bound(
        value=sum(parts.values()),
        parts=frozen(parts),
        label="Thm dnnGBound",
        delta=chance,
        stability=moved,
        ceiling=cost_supremum(cost, band, largest_truth=top),
        assumptions=(
            "rows are independent and have the same law",
            "truths, observations and decisions lie in [0, D̄]",
            "plain SGD with a constant rate, the same order of rows in every pass",
            "the cost is convex in the parameters, with slope at most α ∨ (1 − α)",
        ),
        caveat=_CAVEAT,
        n_rows=rows,
        _again=partial(_again, cost, band, same),
        # log n log(n/δ) / √n falls where 1/log n + 1/log(n/δ) < 1/2: from e⁴ on.
        _falls_from=55 if learning_rate is None else None,
    )


def stable_learning_rate(*, n_rows: int, epochs: int) -> float:
    """Learning rate that the text recommends for stability: 1/n if n > K, else 1/K².

    Then the bound of Prop. DNN-UASBound falls as √(K/n), or as 1/K.

    Examples
    --------
    >>> stable_learning_rate(n_rows=1000, epochs=10), stable_learning_rate(n_rows=5, epochs=10)
    (0.001, 0.01)
    """
    rows, passes = count("n_rows", n_rows), count("epochs", epochs)
    return 1 / rows if rows > passes else 1 / passes**2


def balanced_learning_rate(cost: Price, *, n_rows: int, epochs: int, largest_truth: float) -> float:
    """Learning rate that the text recommends for Thm dnnGBound: D̄ / ((α ∨ (1 − α)) n √K).

    The bound is then c B D̄ [(1/√n + 2√K/n) ln n ln(n/δ) + √(ln(1/δ)/n)], of order 1/√n but for
    logarithms as long as K is at most of order n.

    Examples
    --------
    >>> balanced_learning_rate(0.8, n_rows=1000, epochs=4, largest_truth=80)
    0.05
    """
    steep, top = read_steepness(cost).steeper, positive_number("largest_truth", largest_truth)
    return top / (steep * count("n_rows", n_rows) * sqrt(count("epochs", epochs)))


def _again(cost: Price, band: Band | None, same: dict[str, Any], n_rows: int) -> Bound:
    return network_bound(cost, band, n_rows=n_rows, **same)
