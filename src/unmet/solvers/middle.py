"""The middle of a flat optimum of zero cost.

When a band holds everything, every θ with all decisions inside their bands costs nothing. The
answer then is the analytic centre of that set: the point that maximises ::

    Σ_i w_i log(slack_i)

over the distances of the decisions from the ends of their bands. It is unique in its decisions,
does not depend on the start, and keeps away from every end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.errors import SolverFailure
from unmet.solvers.hinges import Hinges, Operator

Array = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-10  # squared Newton decrement, relative to the sum of the weights


def analytic_centre(operator: Operator, hinges: Hinges, theta: Array) -> Array:
    """Move a point of zero cost to the middle of all such points; unchanged where there is none.

    Newton steps, shortened until they stay inside and gain.
    """
    one_sided = (hinges.below > 0) != (hinges.above > 0)
    if operator.n_coefficient_kinks or not one_sided.all():
        return theta
    sign = np.where(hinges.above > 0, 1.0, -1.0)  # +1: an upper end, the decision lies below
    weight = hinges.weight / hinges.weight.max()
    middle = theta
    slack = sign * (hinges.position - operator.decisions(middle))
    if not slack.min() > 0:
        return theta
    for _ in range(_STEPS):
        gradient = operator.moments(-sign * weight / slack)
        try:
            step = operator.factor(weight / slack**2, None).solve(gradient)
        except SolverFailure:
            return middle
        decrement = float(gradient @ step)
        if not decrement > _CLOSE * float(weight.sum()):
            break
        moved = _longest_gain(slack, -sign * operator.decisions(step), weight)
        if moved == 0.0:
            break
        middle = middle + moved * step
        slack = sign * (hinges.position - operator.decisions(middle))
    return middle


def _longest_gain(slack: Array, change: Array, weight: Array) -> float:
    """Share of a step that stays inside and raises Σ w log(slack); 0 if there is none."""
    shrinking = float((change / slack).min())
    share = 1.0 if shrinking > -0.9 else -0.9 / shrinking
    for _ in range(40):
        if float(weight @ np.log1p(share * change / slack)) > 0:
            return share
        share *= 0.5
    return 0.0
