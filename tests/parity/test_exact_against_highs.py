"""The exact solver against HiGHS on problems of all the awkward kinds."""

from __future__ import annotations

import numpy as np
import pytest
from awkward import KINDS, problem

from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact

EXCESS = 1e-8


def scale_of(case) -> float:
    """Objective of the best constant: what a nearly zero objective is measured against."""
    slope = case.kinks.below + case.kinks.above
    middle = np.median(case.kinks.position)
    return float((slope * np.abs(case.kinks.position - middle)).sum())


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(6))
def test_never_above_highs(kind, seed):
    case = problem(kind, seed)
    ours = solve_exact(case)
    value = case.objective(ours.coefficients, ours.intercept)
    reference = solve_highs(case).objective
    floor = 1e-6 * scale_of(case)
    assert value - reference <= EXCESS * max(reference, floor)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_certificate_is_honest(kind):
    for seed in range(16, 20):
        case = problem(kind, seed)
        ours = solve_exact(case)
        value = case.objective(ours.coefficients, ours.intercept)
        reference = solve_highs(case).objective
        rounding = 1e-8 * max(reference, 1e-6 * scale_of(case))
        assert ours.objective == pytest.approx(value, rel=1e-9, abs=rounding)
        assert value - ours.gap - ours.residual <= reference + rounding
