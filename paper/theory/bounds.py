"""What all theorems of §prop share: how large and how steep costs are, and a bound as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unmet.arrays import Band
from unmet.checks import Instance, Maybe, Number, WholeNumber
from unmet.costs import Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported

# --- Reading the numbers that bounds are made of: each is refused in one sentence.

_MOST = 10**100  # floats can still divide by its square

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
    if number > _MOST:
        raise InvalidInput(
            f"{name} must be at most 1e100, got a number of {len(str(value))} digits."
        )
    return number


# --- A bound as a value: its number, its parts, what it rests on, and what it is worth.


@dataclass(frozen=True)
class Assumption:
    """One thing that a theorem takes for granted, and whether it is so.

    Attributes
    ----------
    name : str
    holds : bool or None
        None where the rows cannot tell, or where nothing hangs on it.
    why : str
        A sentence.
    """

    name: str
    holds: bool | None
    why: str

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO", None: "open"}[self.holds]
        return f"{self.name}: {mark}. {self.why}"


@dataclass(frozen=True)
class Bound:
    """How far the expected cost may lie above the cost on the training rows.

    Both costs are ε-insensitive and on *observations*: the bound says nothing about what decisions
    cost on a truth that was never seen.

    Attributes
    ----------
    parts : mapping of str to float
    label : str
        Of the theorem in the paper.
    delta : float
        The bound fails on at most this share of training sets.
    stability : float
        ξ, what one row can move; for networks the distance of two sets of weights.
    ceiling : float
        The largest cost there is: a bound above it is vacuous.
    assumptions : tuple of str
        What the theorem takes for granted.
    caveat : str
        What is wrong with its proof, or left open by it; empty if nothing is.
    n_rows : int
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))

    @property
    def value(self) -> float:
        """The bound itself, in units of the cost: the sum of `parts`."""
        return sum(self.parts.values())

    @property
    def vacuous(self) -> bool:
        """Whether the bound exceeds what any decision could cost, and so says nothing."""
        return self.value >= self.ceiling

    @property
    def falls(self) -> bool:
        """Whether more rows bring it down for good; not for a network with a fixed rate."""
        return self._falls_from is not None

    def at(self, n_rows: int) -> Bound:
        """Give the same bound for another number of rows."""
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
    return read_steepness(cost).steeper * (positive("largest_truth", largest_truth) + low)


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


# --- How many rows a bound asks for.

_MOST_ROWS = 10**90


def sample_size_for(gap: float, bound: Bound) -> int:
    """Fewest rows from which on the bound is at most `gap`.

    Exact: the bound is above `gap` with one row less. Everything but the number of rows is as it
    was when `bound` was made; the learning rate of a network may follow the number of rows
    (``learning_rate=None``), since with a fixed one its bound grows for ever.

    Parameters
    ----------
    gap : float
        Positive, in units of the cost.
    bound : Bound
        Of `linear_bound`, `penalised_bound`, `network_bound`, or from `bound_for`.

    Returns
    -------
    int

    Examples
    --------
    >>> from paper.theory import penalised_bound
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
        if enough > _MOST_ROWS:
            raise InvalidInput(f"gap must be larger: no number of rows brings the bound to {gap}.")
    while enough - fails > 1:
        middle = (fails + enough) // 2
        if bound.at(middle).value > wanted:
            fails = middle
        else:
            enough = middle
    return enough
