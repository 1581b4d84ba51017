"""How large an ε-insensitive cost can get, and how steep it is (Lemmas CostBound and lipschitz)."""

from __future__ import annotations

from unmet.band import Band
from unmet.errors import InvalidInput
from unmet.theory.parameters import Price, positive_number, read_ends, read_steepness


def cost_supremum(
    cost: Price,
    band: Band | None = None,
    *,
    largest_truth: float,
    decisions: tuple[float, float] | None = None,
) -> float:
    """Largest cost of a decision in [0, D̄] against an observation in [0, D̄], exactly.

    Assumes truths, hence observations, in [0, D̄]. Too low a decision costs at most u (D̄ + ε₂), at
    y = 0 and s = D̄; too high a one at most o (D̄ − ε₁)⁺, at y = D̄ and s = 0. The supremum is the
    larger of the two. Lemma CostBound claims `printed_cost_bound`, which is attained only where
    underage is at least overage.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor: u = α, o = 1 − α. Of costs per row
        the worst counts, and so it does of bands.
    band : Band, optional
    largest_truth : float
        D̄.
    decisions : (float, float), optional
        Least and greatest decision, if not 0 and D̄.

    Returns
    -------
    float

    Examples
    --------
    >>> cost_supremum(0.75, Band(low=4, high=20), largest_truth=100)
    78.0
    >>> cost_supremum(0.25, Band(low=4, high=20), largest_truth=100)
    60.0
    """
    slopes, (low, high) = read_steepness(cost), read_ends(band)
    top = positive_number("largest_truth", largest_truth)
    least, most = (0.0, top) if decisions is None else decisions
    if not least <= most:
        raise InvalidInput(
            f"decisions must be two numbers, the smaller first, got {least} and {most}."
        )
    short = max(top + low - least, 0.0)
    excess = max(most - high, 0.0)
    return max(slopes.underage * short, slopes.overage * excess)


def printed_cost_bound(cost: Price, band: Band | None = None, *, largest_truth: float) -> float:
    """Lemma CostBound as printed: (α ∨ (1 − α)) (D̄ + ε₂).

    Assumes, beyond the statement, decisions in [0, D̄]. A valid bound, but not the supremum where
    overage is steeper than underage (α < ½), whatever the lemma says.

    Parameters
    ----------
    cost, band, largest_truth
        As in `cost_supremum`.

    Examples
    --------
    >>> printed_cost_bound(0.25, Band(low=4, high=20), largest_truth=100)
    78.0
    """
    low, _ = read_ends(band)
    return read_steepness(cost).steeper * (positive_number("largest_truth", largest_truth) + low)


def lipschitz_constant(cost: Price) -> float:
    """Steepest slope of the cost in the decision, α ∨ (1 − α) (Lemma lipschitz); tight.

    No assumption is needed: it holds for every observation and every band. In the *parameters* of
    a linear model the slope is this times the length of the feature vector.

    Examples
    --------
    >>> from unmet.costs import Newsvendor
    >>> lipschitz_constant(0.2), lipschitz_constant(Newsvendor(underage=3, overage=1))
    (0.8, 3.0)
    """
    return read_steepness(cost).steeper
