"""Leaving out rows: what Prop. LR-R-stable allows happens, what Prop. LR-stable allows does not."""

import numpy as np
import pytest
from measured import leave_one_out

from paper.theory import linear_stability, penalised_stability
from unmet import Band, LinearDecision, Newsvendor


def two_values(j):
    """α = .7, p = 1: one more zero than the best order 0 can bear to lose."""
    return np.repeat([0.0, 100.0], [7 * j + 5, 3 * j + 2])


@pytest.mark.parametrize("solver", ["exact", "highs"])
@pytest.mark.parametrize("j", [0, 20, 100])
def test_without_a_penalty_one_row_can_move_everything(j, solver):
    """The counterexample to Prop. LR-stable: the movement does not shrink with n."""
    sales, band = two_values(j), Band(0, 1)
    moved = leave_one_out(
        np.ones((sales.size, 1)), sales, 0.7, band, largest_truth=100, rows=[0], solver=solver
    )
    allowed = linear_stability(0.7, band, n_rows=sales.size, n_features=1, largest_truth=100)
    assert moved.largest == pytest.approx(0.7 * 99, abs=0.7)
    assert moved.largest > 2.9 * allowed


def test_with_a_penalty_the_same_rows_obey():
    for j in (0, 2, 20):
        sales = two_values(j)
        n = sales.size
        for strength in (1e-4, 1e-2, 1.0):
            moved = leave_one_out(
                np.ones((n, 1)), sales, 0.7, largest_truth=100, rows=[0], strength=strength
            )
            allowed = penalised_stability(
                0.7, n_rows=n, n_features=1, largest_feature=1, strength=strength
            )
            assert moved.largest <= allowed * (1 + 1e-6)


def test_the_penalised_bound_is_attained():
    """Far from every kink θ = Σ slopes / (2nλ): one row more or less is exactly ξ."""
    sales = np.array([97.0, 98.0, 99.0, 100.0])
    moved = leave_one_out(np.ones((4, 1)), sales, 0.8, largest_truth=100, strength=1.0)
    allowed = penalised_stability(0.8, n_rows=4, n_features=1, largest_feature=1, strength=1.0)
    assert moved.largest == pytest.approx(allowed, rel=1e-6)
    assert moved.on_rows.max() == pytest.approx(allowed, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.45, 0.6, 0.9])
def test_a_model_fitted_again_can_move_further_than_printed(alpha):
    """The proof gives a left-out row cost 0; averaging over n − 1 rows is another matter."""
    sales, ones = np.array([0.0, 99.0, 100.0]), np.ones((3, 1))
    allowed = penalised_stability(alpha, n_rows=3, n_features=1, largest_feature=1, strength=1.0)
    kept, gone = (
        leave_one_out(
            ones, sales, alpha, largest_truth=100, strength=1.0, rows=[0], left_out=left_out
        )
        for left_out in ("costs nothing", "is gone")
    )
    assert kept.largest <= allowed * (1 + 1e-6)
    # the slope of row 0 is 1 − α, that of the mean of the others −α: 1 apart, not α ∨ (1 − α)
    assert gone.largest / allowed == pytest.approx(1 / max(alpha, 1 - alpha), rel=1e-6)


def test_coefficients_are_those_of_the_estimator():
    generator = np.random.default_rng(3)
    X = np.column_stack([np.ones(12), generator.normal(size=12)])
    sales, cost, band = generator.uniform(0, 9, 12), Newsvendor(3, 1), Band(0, 0.5)
    model = LinearDecision(cost, band, penalty="l2", fit_intercept=False)
    moved = leave_one_out(
        X, sales, cost, band, largest_truth=9, strength=0.3, rows=[4, 7], left_out="is gone"
    )

    def fitted(kept):  # the estimator counts ‖θ‖² in units of the root mean square
        model.set_params(strength=0.3 * np.sqrt(np.mean(sales[kept] ** 2)))
        return model.fit(X[kept], sales[kept]).coef_

    np.testing.assert_allclose(moved.coefficients, fitted(np.arange(12)), atol=1e-6)
    for place, row in enumerate((4, 7)):
        np.testing.assert_allclose(moved.without[place], fitted(np.arange(12) != row), atol=1e-6)
    assert moved.on_rows.shape == (2,)
    assert (moved.on_rows <= moved.anywhere).all()
