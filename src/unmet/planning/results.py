"""What a plan has to tell: small frozen results that the command line, report and page show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from unmet.bands import Diagnosis

if TYPE_CHECKING:
    import polars


Basis: TypeAlias = Literal["truth", "estimate", "observation"]


@dataclass(frozen=True)
class MethodCost:
    """What the decisions of one method cost, and what they do.

    Attributes
    ----------
    method : str
        Short name: "latent", "ieo", "eas", "published", …
    label : str
        What a reader is shown.
    cost : float
        Mean per row.
    decision : float
        Mean decision.
    service_level : float or None
        Share of rows whose decision covers the truth; None where the truth is not known.
    fill_rate : float or None
        Share of the truth that is served.
    saving : float or None
        Share of the cost of the method that ignores censoring ("ieo") that is saved.
    by_fold : tuple of float
        Mean cost in each block of time held out; empty where there are none.
    """

    method: str
    label: str
    cost: float
    decision: float
    service_level: float | None = None
    fill_rate: float | None = None
    saving: float | None = None
    by_fold: tuple[float, ...] = ()


@dataclass(frozen=True)
class Fold:
    """A block of time held out: learned from what lies before it.

    Attributes
    ----------
    first, last : str
        First and last time held out.
    n_train, n_held_out : int
        Rows.
    """

    first: str
    last: str
    n_train: int
    n_held_out: int


@dataclass(frozen=True)
class Comparison:
    """Several methods priced on the same rows.

    Attributes
    ----------
    basis : {"truth", "estimate", "observation"}
        What the decisions were priced on: the truth itself; the law of the truth as estimated; or
        the observations, which favour decisions that are too low.
    methods : tuple of MethodCost
    n_rows : int
        Rows priced.
    folds : tuple of Fold
        Blocks of time held out; empty where the rows are those that were learned from.
    notes : tuple of str
        Sentences a reader should know.
    """

    basis: Basis
    methods: tuple[MethodCost, ...]
    n_rows: int
    folds: tuple[Fold, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, method: str) -> MethodCost:
        for each in self.methods:
            if each.method == method:
                return each
        raise KeyError(method)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Stake:
    """What it costs to ignore that observations hide the truth.

    Attributes
    ----------
    per_row : float
        Mean cost of a row that ignoring it adds, if the chosen explanation is the true one.
    low, high : float
        The same over all explanations that the data cannot rule out; low may be 0.
    n_rows : int
        Rows decided on.
    """

    per_row: float
    low: float
    high: float
    n_rows: int

    @property
    def total(self) -> float:
        """For all rows decided on."""
        return self.per_row * self.n_rows

    @property
    def total_range(self) -> tuple[float, float]:
        """The same over all explanations that the data cannot rule out."""
        return self.low * self.n_rows, self.high * self.n_rows


@dataclass(frozen=True)
class ReportContent:
    """All that a report shows; `unmet.report` lays it out.

    Attributes
    ----------
    title : str
    problem : {"newsvendor", "pricing", "replacement"}
    answer : tuple of str
        The main message, a sentence each: shown first.
    decisions : polars.DataFrame or None
        One row per decision: columns that tell rows apart, then ``decision`` last; a column
        ``ignoring`` before it, where there is one, is what would be decided without the band.
    n_decisions : int
        Rows in all; `decisions` may hold only the first of them.
    diagnosis : Diagnosis or None
    comparison : Comparison or None
    stake : Stake or None
    level : float or None
        α of the cost, where it is one number.
    inputs : mapping of str to str
        What went in, ready to show: rows, columns, costs, model, band.
    notes : tuple of str
        What was done to the table, a sentence each: rows left out, values filled in, unseen
        categories.
    command : str
        The command line, or the lines of Python, that make this report again.
    versions : mapping of str to str
        Of the packages that matter.
    """

    title: str
    problem: str
    answer: tuple[str, ...] = ()
    decisions: polars.DataFrame | None = None
    n_decisions: int = 0
    diagnosis: Diagnosis | None = None
    comparison: Comparison | None = None
    stake: Stake | None = None
    level: float | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
