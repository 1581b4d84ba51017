"""Constants, stability and generalisation bounds of the paper (§prop), corrected where needed.

**Linear decisions**, without and with a penalty. Both theorems are Theorem 12 of Bousquet and
Elisseeff (2002): if leaving out one of n rows never moves any cost by more than ξ, and costs lie in
[0, M], then with probability 1 − δ ::

    expected cost − training cost  ≤  2ξ + (4nξ + M) √( ln(1/δ) / 2n )

Slopes are those of the cost: u = α and o = 1 − α in the paper. Below, B = u ∨ o and b = u ∧ o.

**K-pass SGD** (Prop. DNN-UASBound, Thm dnnGBound). The results that the paper takes over are about
*convex* costs (Bassily, Feldman, Guzmán and Talwar 2020): for a network they are a guide, not a
guarantee. For linear decisions they hold, if the slope is taken in the parameters:
B = (α ∨ (1 − α)) times the length of the feature vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import log, sqrt
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unmet.arrays import Band
from unmet.costs import Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.validation import Instance, Maybe, Number, WholeNumber

# --- Reading the numbers that bounds are made of: each is refused in one sentence.

#: A cost that is linear on either side of the truth, or the level α of a normalised newsvendor.
Price: TypeAlias = PiecewiseLinearCost | float


class Steepness(NamedTuple):
    """The extreme slopes of a cost over all its rows.

    In the paper's units underage is α and overage 1 − α; then `steeper` is α ∨ (1 − α) and
    `flatter` is α ∧ (1 − α).
    """

    underage: float
    overage: float
    flatter: float

    @property
    def steeper(self) -> float:
        """The largest slope on either side."""
        return max(self.underage, self.overage)


def read_steepness(cost: Any) -> Steepness:
    """Slopes of a cost, or of the normalised newsvendor at a level; of many rows the worst."""
    if isinstance(cost, Real) and not isinstance(cost, bool):
        cost = Newsvendor.at_level(float(cost))
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            "The bounds need a cost with two slopes, such as Newsvendor(underage=3, overage=1) or "
            f"a level between 0 and 1, got {cost!r}."
        )
    below, above = cost.slopes.below, cost.slopes.above
    least = float(min(np.min(below), np.min(above)))
    return Steepness(float(np.max(below)), float(np.max(above)), least)


def read_ends(band: Band | None) -> tuple[float, float]:
    """Low and high of a band; of many rows the worst: the largest low, the smallest high.

    A cost is largest just below the band of largest low, and just above that of smallest high.
    """
    if band is None:
        return 0.0, 0.0
    Maybe(Instance(Band, "a Band"))("band", band)
    return float(np.max(band.low)), float(np.min(band.high))


SHARE = Number(above=0, below=1)


def positive(name: str, value: Any) -> float:
    """Read a finite number above zero."""
    return float(Number(above=0)(name, value))


def count(name: str, value: Any) -> int:
    """Read a whole number of at least 1."""
    number = int(WholeNumber(1)(name, value))
    if number > 10**100:  # floats can still divide by its square
        digits = len(str(value))
        raise InvalidInput(f"{name} must be at most 1e100, got a number of {digits} digits.")
    return number


# --- A bound as a value: its number, its parts, what it is based on, and what it is worth.


@dataclass(frozen=True)
class Bound:
    """Upper bound on the expected cost minus the cost on the training rows.

    Both costs are ε-insensitive and on *observations*. The bound says nothing about the cost of
    decisions on a truth that was never seen.

    Attributes
    ----------
    parts : mapping of str to float
        Terms of the bound.
    label : str
        Label of the theorem in the paper.
    delta : float
        Largest share of training sets on which the bound may fail.
    stability : float
        ξ, the largest effect of one row; for networks the distance of two sets of weights.
    ceiling : float
        The largest possible cost: a bound above it is vacuous.
    assumptions : tuple of str
        Assumptions of the theorem.
    caveat : str
        Errors or gaps of its proof; empty if there are none.
    n_rows : int
        Number of training rows.

    Examples
    --------
    >>> from paper.theory import penalised_bound
    >>> shape = {"n_features": 5, "largest_truth": 1, "largest_feature": 1, "strength": 0.1}
    >>> bound = penalised_bound(0.8, n_rows=1000, **shape)
    >>> bound.vacuous, bound.at(10_000_000).vacuous
    (True, False)
    """

    parts: Mapping[str, float]
    label: str
    delta: float
    stability: float
    ceiling: float
    assumptions: tuple[str, ...]
    caveat: str
    n_rows: int
    _again: Callable[..., Bound] = field(repr=False, compare=False)
    _falls_from: int | None = field(default=1, repr=False, compare=False)
    """The bound falls with the number of rows from here on; None if it never does for good."""

    @property
    def value(self) -> float:
        """The bound itself, in units of the cost: the sum of `parts`."""
        return sum(self.parts.values())

    @property
    def vacuous(self) -> bool:
        """Whether the bound exceeds the largest possible cost, and so says nothing."""
        return self.value >= self.ceiling

    def at(self, n_rows: int) -> Bound:
        """Give the same bound for another number of rows.

        Parameters
        ----------
        n_rows : int
            Number of training rows. More rows give a smaller bound.
        """
        return self._again(n_rows=n_rows)

    def __str__(self) -> str:
        lines = [
            f"{self.label}: with probability {1 - self.delta:g} the expected cost exceeds the cost "
            f"on these {self.n_rows:,} rows by at most {self.value:.4g}."
        ]
        lines += [f"  {name}: {part:.4g}" for name, part in self.parts.items()]
        lines.append(
            f"Stability: one row moves costs (or weights) by at most {self.stability:.4g}."
        )
        if self.vacuous:
            lines.append(
                f"This says nothing: no decision can cost more than {self.ceiling:.4g} anyway."
            )
        else:
            lines.append(f"No decision can cost more than {self.ceiling:.4g}.")
        if self.caveat:
            lines.append(f"Caution: {self.caveat}")
        return "\n".join(lines)


# --- How large an ε-insensitive cost can get, and how steep it is (Lemmas CostBound and
# lipschitz).


def cost_supremum(
    cost: Price,
    band: Band | None = None,
    *,
    largest_truth: float,
    decisions: tuple[float, float] | None = None,
) -> float:
    """Compute the largest cost of a decision in [0, D̄] against an observation in [0, D̄].

    The function assumes truths, hence observations, in [0, D̄]. Too low a decision costs at most u
    (D̄ + ε₂), at y = 0 and s = D̄. Too high a decision costs at most o (D̄ − ε₁)⁺, at y = D̄ and s
    = 0. The supremum is the larger of the two. Lemma CostBound claims `printed_cost_bound`, which
    is attained only if underage is at least overage.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        Cost of decisions. A number is the level α of the normalised newsvendor: u = α, o = 1 − α.
        Of costs per row the worst counts.
    band : Band, optional
        Band of the cost; of bands per row the worst counts. None is a band of width zero.
    largest_truth : float
        D̄, the largest truth.
    decisions : (float, float), optional
        Smallest and largest decision. None is 0 and D̄.

    Returns
    -------
    float
        The supremum.

    Examples
    --------
    >>> from paper.theory import cost_supremum
    >>> from unmet import Band
    >>> cost_supremum(0.75, Band(low=4, high=20), largest_truth=100)
    78.0
    >>> cost_supremum(0.25, Band(low=4, high=20), largest_truth=100)
    60.0
    """
    slopes, (low, high) = read_steepness(cost), read_ends(band)
    top = positive("largest_truth", largest_truth)
    least, most = (0.0, top) if decisions is None else decisions
    if not least <= most:
        raise InvalidInput(
            f"decisions must be two numbers, the smaller first, got {least} and {most}."
        )
    short = max(top + low - least, 0.0)
    excess = max(most - high, 0.0)
    return max(slopes.underage * short, slopes.overage * excess)


def printed_cost_bound(cost: Price, band: Band | None = None, *, largest_truth: float) -> float:
    """Compute Lemma CostBound as printed: (α ∨ (1 − α)) (D̄ + ε₂).

    It assumes, beyond the statement, decisions in [0, D̄]. It is a valid bound, but it is not the
    supremum if overage is steeper than underage (α < ½), although the lemma says so.

    Parameters
    ----------
    cost, band, largest_truth
        As in `cost_supremum`.

    Examples
    --------
    >>> from paper.theory import printed_cost_bound
    >>> from unmet import Band
    >>> printed_cost_bound(0.25, Band(low=4, high=20), largest_truth=100)
    78.0
    """
    low, _ = read_ends(band)
    return read_steepness(cost).steeper * (positive("largest_truth", largest_truth) + low)


def lipschitz_constant(cost: Price) -> float:
    """Give the steepest slope of the cost in the decision, α ∨ (1 − α) (Lemma lipschitz); tight.

    No assumption is needed: it holds for every observation and every band. In the *parameters* of a
    linear model the slope is this times the length of the feature vector.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        Cost of decisions. A number is the level α of the normalised newsvendor.

    Examples
    --------
    >>> from paper.theory import lipschitz_constant
    >>> from unmet import Newsvendor
    >>> lipschitz_constant(0.2), lipschitz_constant(Newsvendor(underage=3, overage=1))
    (0.8, 3.0)
    """
    return read_steepness(cost).steeper


# --- How many rows a bound asks for.

_MAX_ROWS = 10**90


def sample_size_for(gap: float, bound: Bound) -> int:
    """Find the smallest number of rows from which on the bound is at most `gap`.

    The result is exact: with one row less, the bound is above `gap`. Everything except the number
    of rows stays as in `bound`. The learning rate of a network may follow the number of rows
    (``learning_rate=None``), because with a fixed one its bound grows without end.

    Parameters
    ----------
    gap : float
        Positive gap, in units of the cost. Smaller gaps need more rows.
    bound : Bound
        Bound from `linear_bound`, `penalised_bound` or `network_bound`.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> from paper.theory import penalised_bound, sample_size_for
    >>> shape = {"n_features": 5, "largest_truth": 1, "largest_feature": 1, "strength": 0.1}
    >>> bound = penalised_bound(0.8, n_rows=1000, **shape)
    >>> rows = sample_size_for(0.1, bound)
    >>> rows, bound.at(rows).value <= 0.1 < bound.at(rows - 1).value
    (629600, True)
    """
    wanted, start = positive("gap", gap), bound._falls_from
    if start is None:
        raise InvalidInput(
            "bound must fall with the number of rows; that of a network with a fixed "
            "learning_rate grows: leave learning_rate out."
        )
    if bound.at(start).value <= wanted:
        # Before it falls the bound may do anything: go back row by row to where it fails.
        while start > 1 and bound.at(start - 1).value <= wanted:
            start -= 1
        return start
    fails, enough = start, 2 * start
    while bound.at(enough).value > wanted:
        fails, enough = enough, 2 * enough
        if enough > _MAX_ROWS:
            raise InvalidInput(f"gap must be larger: no number of rows brings the bound to {gap}.")
    while enough - fails > 1:
        middle = (fails + enough) // 2
        if bound.at(middle).value > wanted:
            fails = middle
        else:
            enough = middle
    return enough


# --- The theorems.

_COMMON = (
    "rows are independent and have the same distribution",
    "truths and observations lie in [0, D̄]",
    "decisions lie in [0, D̄]",
    "cost and band do not depend on the rows",
)


def linear_stability(
    cost: Price,
    band: Band | None = None,
    *,
    n_rows: int,
    n_features: int,
    largest_truth: float,
) -> float:
    """Compute the stability of LR-εNVC by Prop. LR-stable: ξ = (p/n) (B² / b) (D̄ + ε₂).

    **The proposition is wrong.** It assumes an exact minimiser of the mean cost without penalty,
    and truths and decisions in [0, D̄]. Take no features and sales that are 0 or D̄. Leaving out
    one row can then move the best order from one end to the other, for any number of rows, so no
    bound of order 1/n can hold. A test measures it.

    The proposition follows Ban and Rudin (2019, Prop. EC.1), who have the formula without a band.
    If rows are independent and the truth has a density around the quantile, one row does move the
    order by about 1/n. But uniform stability must hold for every data set, and sales with a point
    mass at orders are a counterexample.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        Cost of decisions. A number is the level α of the normalised newsvendor.
    band : Band, optional
        Band of the cost. None is a band of width zero.
    n_rows, n_features : int
        n, and p, which counts the intercept as a column of ones.
    largest_truth : float
        D̄, the largest truth.

    Examples
    --------
    >>> from paper.theory import linear_stability
    >>> round(linear_stability(0.8, n_rows=1000, n_features=5, largest_truth=100), 2)
    1.6
    """
    slopes, (low, _) = read_steepness(cost), read_ends(band)
    rows, columns = count("n_rows", n_rows), count("n_features", n_features)
    top = positive("largest_truth", largest_truth)
    if not slopes.flatter > 0:
        return float("inf")
    return columns / rows * slopes.steeper * (slopes.steeper / slopes.flatter) * (top + low)


def linear_bound(
    cost: Price,
    band: Band | None = None,
    *,
    n_rows: int,
    n_features: int,
    largest_truth: float,
    delta: float = 0.05,
    printed: bool = False,
) -> Bound:
    """Compute Thm LR-GenBound: generalisation of LR-εNVC, unpenalised linear decisions.

    The bound is 2ξ + (4nξ + M) √(ln(1/δ) / 2n), with the ξ of Prop. LR-stable. That proposition is
    wrong, so the theorem is not proved. It may still hold: for p = 1 and no band the cost at
    *every* constant order obeys (u + o) D̄ √(ln(2/δ) / 2n), by the inequality of Dvoretzky, Kiefer
    and Wolfowitz, and that is smaller.

    Parameters
    ----------
    cost, band, n_rows, n_features, largest_truth
        As in `linear_stability`.
    delta : float, default=0.05
        δ, the largest share of training sets on which the bound may fail. Smaller values give
        larger bounds.
    printed : bool, default=False
        Whether to take M = B (D̄ + ε₂) as printed, and not the supremum of the cost. Both are equal
        if underage is at least overage.

    Examples
    --------
    >>> from paper.theory import linear_bound
    >>> bound = linear_bound(0.8, n_rows=10_000, n_features=5, largest_truth=1.0)
    >>> round(bound.value, 3), bound.vacuous
    (0.796, False)
    """
    xi = linear_stability(
        cost, band, n_rows=n_rows, n_features=n_features, largest_truth=largest_truth
    )
    ceiling = cost_supremum(cost, band, largest_truth=largest_truth)
    most = printed_cost_bound(cost, band, largest_truth=largest_truth) if printed else ceiling
    return Bound(
        _theorem_12(xi, most, n_rows, log(1 / SHARE("delta", delta))),
        label="Thm LR-GenBound",
        delta=delta,
        stability=xi,
        ceiling=ceiling,
        assumptions=(*_COMMON, "the mean cost is minimised exactly, without a penalty"),
        caveat="it is based on Prop. LR-stable, which has a counterexample, so it is not proved.",
        n_rows=n_rows,
        _again=partial(
            linear_bound,
            cost,
            band,
            n_features=n_features,
            largest_truth=largest_truth,
            delta=delta,
            printed=printed,
        ),
    )


def penalised_stability(
    cost: Price,
    *,
    n_rows: int,
    n_features: int,
    largest_feature: float,
    strength: float,
    refit: bool = False,
) -> float:
    """Compute the stability of LR-εNVC-R by Prop. LR-R-stable: ξ = B² X_max² p / (2 n λ).

    It assumes an exact minimiser of (1/n) Σ cost + λ‖θ‖², *all* coefficients penalised, and
    features with ‖x‖ ≤ X_max √p (including a column of ones). This is Theorem 22 of Bousquet and
    Elisseeff. In its proof, a row is left out by giving it cost 0, and the others keep their weight
    1/n. A model fitted again to n − 1 rows averages over n − 1. The objectives then differ by (ℓᵢ −
    mean of the others) / n, with slope up to 2 B ‖x‖ / n instead of B ‖x‖ / n, and costs can move
    twice as far; `refit` gives that bound. Theorem 12 is not affected.

    Parameters
    ----------
    cost, n_rows, n_features
        As in `linear_stability`; no band is needed.
    largest_feature : float
        X_max: the largest length of a feature vector is X_max √p. The largest absolute entry always
        suffices.
    strength : float
        λ. Larger values give smaller bounds.
    refit : bool, default=False
        Whether models are fitted again to the n − 1 other rows.

    Examples
    --------
    >>> from paper.theory import penalised_stability
    >>> shape = {"n_rows": 1000, "n_features": 5, "largest_feature": 1.0, "strength": 0.1}
    >>> round(penalised_stability(0.8, **shape), 6)
    0.016
    """
    steep = read_steepness(cost).steeper
    rows, columns = count("n_rows", n_rows), count("n_features", n_features)
    square = positive("largest_feature", largest_feature) ** 2 * columns
    once = steep**2 * square / (2 * rows * positive("strength", strength))
    return 2 * once if refit else once


def penalised_bound(
    cost: Price,
    band: Band | None = None,
    *,
    n_rows: int,
    n_features: int,
    largest_truth: float,
    largest_feature: float,
    strength: float,
    delta: float = 0.05,
    clipped: bool = True,
    printed: bool = False,
) -> Bound:
    """Compute Thm LR-R-GenBound: generalisation of LR-εNVC-R, linear decisions with λ‖θ‖².

    The bound is 2ξ + (4nξ + M) √(ln(1/δ) / 2n), with the ξ of Prop. LR-R-stable. The proof is right
    for decisions in [0, D̄]. A linear model does not stay there. But cutting decisions off at 0 and
    D̄, in training cost and in use, moves no two of them further apart, so ξ and the bound hold for
    decisions that are cut off. For decisions as they are, M must cover all of them. The penalised
    objective at θ = 0 is at most u (D̄ + ε₂), so ‖θ‖² ≤ u (D̄ + ε₂) / λ, and no decision is farther
    from 0 than X_max √(p u (D̄ + ε₂) / λ).

    Parameters
    ----------
    cost, band, n_rows, n_features, largest_truth, delta
        As in `linear_bound`.
    largest_feature, strength
        As in `penalised_stability`.
    clipped : bool, default=True
        Whether decisions are cut off at 0 and D̄.
    printed : bool, default=False
        Whether to take the theorem as printed, for decisions in [0, D̄]: with (α ∨ (1 − α)²) in the
        first term, where (α ∨ (1 − α))² is meant, ln(2/δ) where ln(1/δ) is enough, and M = B (D̄ +
        ε₂).

    Examples
    --------
    >>> from paper.theory import penalised_bound
    >>> shape = {"n_rows": 10_000, "n_features": 5, "largest_truth": 1, "largest_feature": 1}
    >>> round(penalised_bound(0.8, **shape, strength=0.5).value, 3)
    0.167
    """
    xi = penalised_stability(
        cost,
        n_rows=n_rows,
        n_features=n_features,
        largest_feature=largest_feature,
        strength=strength,
    )
    reach = None
    if not clipped:
        slopes, (low, _) = read_steepness(cost), read_ends(band)
        top = positive("largest_truth", largest_truth)
        norm = largest_feature * sqrt(n_features * slopes.underage * (top + low) / strength)
        reach = -norm, norm
    ceiling = cost_supremum(cost, band, largest_truth=largest_truth, decisions=reach)
    parts = _theorem_12(xi, ceiling, n_rows, log(1 / SHARE("delta", delta)))
    if printed:
        most = printed_cost_bound(cost, band, largest_truth=largest_truth)
        slopes = read_steepness(cost)
        wrong = max(slopes.underage, slopes.overage**2) / slopes.steeper**2
        parts = _theorem_12(xi, most, n_rows, log(2 / delta)) | {_MOVED: wrong * 2 * xi}
    return Bound(
        parts,
        label="Thm LR-R-GenBound",
        delta=delta,
        stability=xi,
        ceiling=ceiling,
        assumptions=(
            *(each for each in _COMMON if clipped or not each.startswith("decisions")),
            "feature vectors are no longer than X_max √p",
            "mean cost plus λ‖θ‖² is minimised exactly, every coefficient penalised",
        ),
        caveat="",
        n_rows=n_rows,
        _again=partial(
            penalised_bound,
            cost,
            band,
            n_features=n_features,
            largest_truth=largest_truth,
            largest_feature=largest_feature,
            strength=strength,
            delta=delta,
            clipped=clipped,
            printed=printed,
        ),
    )


def _theorem_12(xi: float, most: float, n_rows: int, logarithm: float) -> dict[str, float]:
    """Parts of Theorem 12 of Bousquet and Elisseeff (2002)."""
    root = sqrt(logarithm / (2 * n_rows))
    return {
        _MOVED: 2 * xi,
        "chance, through stability (4nξ √)": 4 * n_rows * xi * root,
        "chance, through the size of costs (M √)": most * root,
    }


_MOVED = "what one row moves (2ξ)"


# --- K passes of SGD over the rows.

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
    """Compute Prop. DNN-UASBound: parameters of K-pass SGD differ by at most 2 B (η √(nK) + 2 η K).

    This is the largest distance of the parameters, over all pairs of data sets that differ in one
    row. It assumes plain SGD, one row a step, with constant rate η, the same fixed order of rows in
    every pass, and the same start. The cost must be convex and B-Lipschitz *in the parameters*.
    This is Theorem 3.2 of Bassily et al. (2020), which also allows a projection onto a convex set
    after each step. It holds for every step, hence for averages of them.

    Linear decisions are such a case, with B = (u ∨ o) · ‖x‖. A network is not: its cost is not
    convex in its weights, and u ∨ o is only the slope in its *output*.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        Cost of decisions. A number is the level α of the normalised newsvendor.
    n_rows, epochs : int
        n and K.
    learning_rate : float
        η. Larger values give larger bounds.
    largest_norm : float, default=1.0
        Largest length of a feature vector, including a one for the intercept. The paper has 1
        without saying so.

    Examples
    --------
    >>> from paper.theory import descent_stability
    >>> round(descent_stability(0.8, n_rows=900, epochs=4, learning_rate=1 / 900), 4)
    0.1209
    """
    slope = read_steepness(cost).steeper * positive("largest_norm", largest_norm)
    rate = positive("learning_rate", learning_rate)
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
    """Compute Thm dnnGBound: generalisation of NN-εNVC after K passes of SGD.

    The bound is c B² (η √(nK) + 2 K η) ln(n) ln(n/δ)  +  c B D̄ √(ln(1/δ) / n), in absolute value.
    It assumes what `descent_stability` assumes, and costs in [0, B D̄]: decisions in [0, D̄], and
    no ε₂ (otherwise the second D̄ should be D̄ + ε₂).

    Parameters
    ----------
    cost, n_rows, epochs
        As in `descent_stability`.
    band : Band, optional
        Only used for `Bound.ceiling`, because the theorem has no ε.
    largest_truth : float
        D̄, the largest truth.
    learning_rate : float, optional
        η. None is the paper's choice for each n, `balanced_learning_rate`.
    delta : float, default=0.05
        δ, the paper's ρ: the largest share of training sets on which the bound may fail.
    constant : float, default=1.0
        c. The theorem states that there is one, without its value. The default shows the shape and
        is smaller than the constants of explicit proofs: do not read the value as a guarantee.

    Examples
    --------
    >>> from paper.theory import network_bound
    >>> bound = network_bound(0.8, n_rows=10_000, epochs=10, largest_truth=1.0)
    >>> round(bound.value, 2), bound.vacuous
    (0.97, True)
    """
    steep, rows = read_steepness(cost).steeper, count("n_rows", n_rows)
    passes, top = count("epochs", epochs), positive("largest_truth", largest_truth)
    chance, c = SHARE("delta", delta), positive("constant", constant)
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
    return Bound(
        parts,
        label="Thm dnnGBound",
        delta=chance,
        stability=moved,
        ceiling=cost_supremum(cost, band, largest_truth=top),
        assumptions=(
            "rows are independent and have the same distribution",
            "truths, observations and decisions lie in [0, D̄]",
            "plain SGD with a constant rate, the same order of rows in every pass",
            "the cost is convex in the parameters, with slope at most α ∨ (1 − α)",
        ),
        caveat=_CAVEAT,
        n_rows=rows,
        _again=partial(
            network_bound,
            cost,
            band,
            epochs=passes,
            largest_truth=top,
            learning_rate=learning_rate,
            delta=chance,
            constant=c,
        ),
        # log n log(n/δ) / √n falls where 1/log n + 1/log(n/δ) < 1/2: from e⁴ on.
        _falls_from=55 if learning_rate is None else None,
    )


def stable_learning_rate(*, n_rows: int, epochs: int) -> float:
    """Give the learning rate that the paper recommends for stability: 1/n if n > K, else 1/K².

    The bound of Prop. DNN-UASBound then falls as √(K/n), or as 1/K.

    Parameters
    ----------
    n_rows, epochs : int
        n and K.

    Examples
    --------
    >>> from paper.theory import stable_learning_rate
    >>> stable_learning_rate(n_rows=1000, epochs=10), stable_learning_rate(n_rows=5, epochs=10)
    (0.001, 0.01)
    """
    rows, passes = count("n_rows", n_rows), count("epochs", epochs)
    return 1 / rows if rows > passes else 1 / passes**2


def balanced_learning_rate(cost: Price, *, n_rows: int, epochs: int, largest_truth: float) -> float:
    """Give the learning rate that the paper recommends for Thm dnnGBound.

    It is D̄ / ((α ∨ (1 − α)) n √K). The bound is then c B D̄ [(1/√n + 2√K/n) ln n ln(n/δ) +
    √(ln(1/δ)/n)], of order 1/√n except for logarithms, as long as K is at most of order n.

    Parameters
    ----------
    cost
        As in `descent_stability`.
    n_rows, epochs : int
        n and K.
    largest_truth : float
        D̄, the largest truth.

    Examples
    --------
    >>> from paper.theory import balanced_learning_rate
    >>> balanced_learning_rate(0.8, n_rows=1000, epochs=4, largest_truth=80)
    0.05
    """
    steep, top = read_steepness(cost).steeper, positive("largest_truth", largest_truth)
    return top / (steep * count("n_rows", n_rows) * sqrt(count("epochs", epochs)))
