"""What can be proved about decisions on rows that were not seen, and whether it is so.

Constants, stability and generalisation bounds of the paper (§prop), corrected where they must be;
what they say about a fitted model; and measurements of what they claim.
"""

from paper.theory.bounds import (
    Assumption,
    Bound,
    cost_supremum,
    lipschitz_constant,
    printed_cost_bound,
    sample_size_for,
)
from paper.theory.measured import (
    Gap,
    Movement,
    PlainNetworks,
    argument_stability,
    descend_in_order,
    generalisation_gap,
    leave_one_out,
)
from paper.theory.report import BoundReport, bound_for
from paper.theory.theorems import (
    balanced_learning_rate,
    descent_stability,
    linear_bound,
    linear_stability,
    network_bound,
    penalised_bound,
    penalised_stability,
    stable_learning_rate,
)

__all__ = [
    "Assumption",
    "Bound",
    "BoundReport",
    "Gap",
    "Movement",
    "PlainNetworks",
    "argument_stability",
    "balanced_learning_rate",
    "bound_for",
    "cost_supremum",
    "descend_in_order",
    "descent_stability",
    "generalisation_gap",
    "leave_one_out",
    "linear_bound",
    "linear_stability",
    "lipschitz_constant",
    "network_bound",
    "penalised_bound",
    "penalised_stability",
    "printed_cost_bound",
    "sample_size_for",
    "stable_learning_rate",
]
