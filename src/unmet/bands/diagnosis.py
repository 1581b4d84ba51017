"""What the data say about censoring, and how surely."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Identified: TypeAlias = Literal["yes", "weakly", "no"]


@dataclass(frozen=True)
class Explanation:
    """One way in which the observations may have come about.

    Attributes
    ----------
    demand, scale, orders : str
        Family of the truth, whether its scale varies, and how orders were placed.
    share_censored : float
        Share of rows whose truth lies above the observation.
    score : float
        Held-out log-likelihood per row, in the units of the observation.
    behind : float
        How much less that is than the best explanation's; 0 for the best.
    standard_error : float
        Of `behind`.
    ties : bool
        Whether the data cannot tell it from the best.
    shift : float
        Mean ε of the training rows under it, for the cost that was given.
    """

    demand: str
    scale: str
    orders: str
    share_censored: float
    score: float
    behind: float
    standard_error: float
    ties: bool
    shift: float


@dataclass(frozen=True)
class Diagnosis:
    """What a band rule found.

    Attributes
    ----------
    rule : str
        Name of the rule.
    n_rows : int
        Rows it learned from.
    share_censored : float or None
        Share of rows whose truth lies above the observation; None where the rule estimates none.
    identified : {"yes", "weakly", "no"} or None
        Whether the data can tell how much is censored; None where the rule does not ask.
    explanations : tuple of Explanation
        The chosen one first, then the others, best first.
    notes : tuple of str
        What a user should know, a sentence each.
    """

    rule: str
    n_rows: int
    share_censored: float | None = None
    identified: Identified | None = None
    explanations: tuple[Explanation, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)
