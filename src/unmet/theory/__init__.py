"""What can be proved about decisions on rows that were not seen, and whether it is so.

Constants, stability and generalisation bounds of the paper (§prop), corrected where they must be;
what they say about a fitted model; and measurements of what they claim.
"""

from unmet.theory.bound import Assumption, Bound
from unmet.theory.constants import cost_supremum, lipschitz_constant, printed_cost_bound
from unmet.theory.descent import argument_stability, descend_in_order
from unmet.theory.gaps import Gap, generalisation_gap
from unmet.theory.leave_one_out import Movement, leave_one_out
from unmet.theory.linear import (
    linear_bound,
    linear_stability,
    penalised_bound,
    penalised_stability,
)
from unmet.theory.network import (
    balanced_learning_rate,
    descent_stability,
    network_bound,
    stable_learning_rate,
)
from unmet.theory.network_descent import PlainNetworks
from unmet.theory.report import Report, bound_for
from unmet.theory.sizes import sample_size_for

__all__ = [
    "Assumption",
    "Bound",
    "Gap",
    "Movement",
    "PlainNetworks",
    "Report",
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
