"""Numbers of any size: units by powers of two, fractions, and what float64 cannot hold."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput, SolverFailure
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.exact.units import Scaled, Size, VertexWalk, best_constant, size_of
from unmet.solvers.problem import HingeProblem


def rows(n_rows=40, n_features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, n_features))
    return X, 3 + X @ np.arange(1.0, n_features + 1) + generator.gamma(2.0, 1.0, n_rows)


def problem_of(X, y, level=0.8, band=None, weight=None, **penalties):
    share = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    kinks = Newsvendor.at_level(level).kinks(y, band, share)
    return HingeProblem(X, kinks, True, **penalties)


# --- The cases that were found first.


def test_subnormal_observations_with_a_band_at_an_extreme_level():
    X, y = rows(20, 2)
    unit, cost, band = 5e-324 * 2**40, Newsvendor.at_level(1e-6), Band(0, 1.0)
    model = LinearDecision(cost, Band(0, unit)).fit(X, y * unit)
    usual = LinearDecision(cost, band).fit(X, y)
    # a decision in whole multiples of 5e-324 is right to the last few of these
    found = cost.loss(model.predict(X) / unit, y, band).mean()
    assert found == pytest.approx(usual.solution_.objective, abs=2.0**-38)
    assert usual.solution_.objective > 2.0**-24


def test_one_hot_features_with_ends_of_a_band_over_two_hundred_decades():
    X = np.eye(8)[np.random.default_rng(0).integers(0, 8, 13)]
    model = LinearDecision(Newsvendor.at_level(0.3), Band(1e-100, 1e100))
    decision = model.fit(X, np.full(13, 3.0)).predict(X)
    assert ((decision >= 3) & (decision <= 1e100)).all()
    assert model.solution_.objective == 0


def test_subnormal_features_without_an_intercept_need_coefficients_beyond_float64():
    X, y = rows(20, 2)
    model = LinearDecision(Newsvendor.at_level(0.3), fit_intercept=False)
    with pytest.raises(SolverFailure, match=r"outside what float64 holds, 5e-324 to 1\.8e308"):
        model.fit(X * 1e-310, y)
    # and where they can be held, they are found
    found = model.fit(X * 2.0**-1020, y * 2.0**-200)
    usual = LinearDecision(Newsvendor.at_level(0.3), fit_intercept=False).fit(X, y)
    assert found.coef_ * 2.0**-820 == pytest.approx(usual.coef_, rel=1e-9)


# --- Units.


@pytest.mark.parametrize("band", [None, Band(0.5, 2.0)])
@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
@pytest.mark.parametrize(("column", "height", "slope"), [(-300, 100, 0), (200, -100, 400)])
def test_other_units_give_the_same_answer_in_these_units(band, penalty, column, height, slope):
    X, y = rows()
    power = {None: 0, "l1": slope + column, "l2": slope + 2 * column - height}[penalty]
    costs = 4.0, 1.0
    usual = LinearDecision(Newsvendor(*costs), band, penalty=penalty, strength=0.25).fit(X, y)
    ends = None if band is None else Band(*np.ldexp([band.low, band.high], height).tolist())
    model = LinearDecision(
        Newsvendor(*np.ldexp(costs, slope).tolist()),
        ends,
        penalty=penalty,
        strength=float(np.ldexp(0.25, power)),
    ).fit(np.ldexp(X, column), np.ldexp(y, height))
    back = np.ldexp(model.predict(np.ldexp(X, column)), -height)
    assert back == pytest.approx(usual.predict(X), rel=1e-3)
    objective = np.ldexp(model.solution_.objective, -slope - height)
    assert objective == pytest.approx(usual.solution_.objective, rel=1e-9)


def test_ordinary_numbers_are_solved_as_they_are():
    X, y = rows()
    assert size_of(problem_of(X, y)) is Size.ORDINARY
    assert size_of(problem_of(X, y, band=Band(0, 5))) is Size.ORDINARY
    assert size_of(problem_of(sparse.csr_array(X), y)) is Size.ORDINARY
    assert size_of(problem_of(X * 1e-40, y)) is Size.WILD
    assert size_of(problem_of(X, y * 1e40)) is Size.WILD
    assert size_of(problem_of(X, y, band=Band(0, 1e20))) is Size.WILD
    assert size_of(problem_of(X, y, weight=10.0 ** np.linspace(0, 20, 40))) is Size.UNEVEN
    assert size_of(problem_of(X, y, ridge=np.full(3, 1e100))) is Size.WILD


def test_there_and_back_is_exact():
    X, y = rows()
    problem = problem_of(X * [1e-200, 1.0, 1e150], y * 1e80, band=Band(1e79, 1e82))
    scaled = Scaled.of(problem)
    inner = solve_exact(scaled.problem)
    outer = scaled.restore(inner)
    np.testing.assert_array_equal(
        np.ldexp(outer.coefficients, scaled.column - scaled.height), inner.coefficients
    )
    assert 0.5 <= np.abs(scaled.problem.features).max(axis=0).min() < 1
    assert problem.objective(outer.coefficients, outer.intercept) == pytest.approx(
        outer.objective, rel=1e-12
    )


def test_a_far_end_of_a_band_does_not_hide_the_near_one_in_many_rows():
    X, y = rows(5000, 4)
    far, usual = (
        LinearDecision(Newsvendor(4, 1), Band(0, high)).fit(X, y) for high in (1e100, 1e5)
    )
    assert far.solution_.objective <= 1e-9
    assert usual.solution_.objective <= 1e-9
    assert (far.predict(X) >= y - 1e-9).all()


def test_sums_beyond_float64_are_refused_in_a_sentence():
    X, y = rows(6, 1)
    with pytest.raises(InvalidInput, match=r"y and the ends of the band must have finite sums"):
        LinearDecision(band=Band(0, 1.7e308)).fit(X, y * 1e307)
    with pytest.raises(SolverFailure, match=r"lies beyond 1\.8e308, which float64 cannot hold"):
        LinearDecision(Newsvendor(1e300, 1e299)).fit(X, y * 1e20)


def test_products_of_costs_and_weights_that_would_vanish_are_refused():
    X, y = rows(6, 1)
    weight = np.array([1.0, 1.0, 1.0, 1e-150, 1e-150, 1e-150])
    with pytest.raises(InvalidInput, match="costs times weights must lie within a factor of 1e280"):
        LinearDecision(Newsvendor(1e-100, 1e100)).fit(X, y, sample_weight=weight)
    # rows that fade away over the years just do not count
    faded = LinearDecision(Newsvendor(4, 1)).fit(X, y, sample_weight=weight**2)
    usual = LinearDecision(Newsvendor(4, 1)).fit(X[:3], y[:3])
    assert faded.predict(X[:3]) == pytest.approx(usual.predict(X[:3]), rel=1e-6)


def test_a_large_problem_that_cannot_be_proved_names_the_range():
    X, y = rows(3000, 3)
    weight = 10.0 ** np.linspace(-120, 120, 3000)
    weight[0] = 1e150  # its last digits outweigh all other rows
    with pytest.raises(SolverFailure, match="numbers between 1e-140 and 1e140 in size"):
        LinearDecision(Newsvendor(4, 1)).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("solver", ["exact", "highs"])
def test_light_rows_count_where_heavy_ones_leave_room(solver):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0, 3.0])
    weight = np.array([1.0, 1e-200, 1e-200, 1e-200])
    model = LinearDecision(Newsvendor(1, 1), solver=solver).fit(X, y, sample_weight=weight)
    assert model.intercept_ == 1.0  # the heavy row is met exactly
    cost = np.abs(y - model.predict(X))[1:].sum()
    grid = np.linspace(-1, 2, 3001)
    assert cost <= min(np.abs(y - 1 - X[:, 0] * each).sum() for each in grid) + 1e-12


# --- Least squares.


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("strength", "column", "height"),
    [
        (None, -900, -200),
        (None, 900, 200),
        (None, -600, 0),
        (0.3, -450, -200),
        (0.3, 450, 200),
        (0.3, 0, 400),
    ],
)
def test_least_squares_in_other_units(intercept, strength, column, height):
    X, y = rows()
    power = 2 * column
    penalty = None if strength is None else "l2"
    usual, model = (
        LinearDecision(SquaredError(), fit_intercept=intercept, penalty=penalty, strength=each)
        for each in (strength or 1.0, float(np.ldexp(strength or 1.0, power if strength else 0)))
    )
    usual.fit(X, y)
    model.fit(np.ldexp(X, column), np.ldexp(y, height))
    assert np.ldexp(model.coef_, column - height) == pytest.approx(usual.coef_, rel=1e-9)
    assert np.ldexp(model.intercept_, -height) == pytest.approx(usual.intercept_, rel=1e-9)


def test_least_squares_that_float64_cannot_hold_is_refused():
    X, y = rows(20, 2)
    with pytest.raises(SolverFailure, match="best coefficients lie outside what float64 holds"):
        LinearDecision(SquaredError()).fit(X * 1e-310, y)
    with pytest.raises(SolverFailure, match=r"cost of the best decisions lies beyond 1\.8e308"):
        LinearDecision(SquaredError()).fit(X, y * 1e200)


# --- Fractions.


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lasso", [None, 0.05])
def test_the_walk_ends_where_highs_does(seed, lasso):
    X, y = rows(15, 3, seed)
    X, y = np.round(X), np.round(y)  # ties, so that vertices are degenerate
    band = Band(0, 1) if seed % 2 else None
    penalties = {} if lasso is None else {"lasso": np.full(3, lasso)}
    problem = problem_of(X, y, band=band, **penalties)
    walk = VertexWalk.of(problem, problem.kinks.position)
    vertex = walk.run([Fraction(0)] * 4)
    theta = vertex.parameters([walk.position[k] for k in vertex.basis])
    bound = -sum(b * m for b, m in zip(walk.position, vertex.multipliers, strict=True))
    assert walk.cost(theta) == bound  # both sides of the proof, without any rounding
    assert float(bound) == pytest.approx(solve_highs(problem).objective, rel=1e-9, abs=1e-12)


def test_multipliers_of_the_walk_are_feasible_without_rounding():
    X, y = rows(12, 2)
    problem = problem_of(X * [1e-30, 1e30], y, weight=10.0 ** np.linspace(-60, 60, 12))
    walk = VertexWalk.of(problem, problem.kinks.position)
    vertex = walk.run([Fraction(0)] * 3)
    boxes = zip(vertex.multipliers, walk.below, walk.above, strict=True)
    assert all(-below <= each <= above for each, below, above in boxes)
    for j in range(3):
        products = zip(walk.row_of, vertex.multipliers, strict=True)
        assert sum(walk.rows[row][j] * each for row, each in products) == 0


def test_more_columns_than_rows_with_wild_weights():
    X, y = rows(6, 10)
    weight = 10.0 ** np.array([-150, -50, 0, 20, 80, 150.0])
    model = LinearDecision(Newsvendor(3, 1)).fit(X, y, sample_weight=weight)
    assert model.predict(X) == pytest.approx(y, rel=1e-12)


def test_the_cost_of_a_constant_is_that_of_a_weighted_quantile():
    X, y = rows(50, 1)
    problem = problem_of(X, y, level=0.7)
    quantile = np.quantile(y, 0.7, method="inverted_cdf")
    miss = y - quantile
    assert best_constant(problem) == pytest.approx(np.maximum(0.7 * miss, -0.3 * miss).mean())
    none = Kinks(np.zeros((1, 4)), np.ones((1, 4)), np.ones((1, 4)))
    assert best_constant(HingeProblem(np.ones((4, 1)), none, False)) == 0


def test_the_best_constant_is_the_best_of_all_kinks():
    generator = np.random.default_rng(0)
    for _ in range(200):
        shape = int(generator.integers(1, 3)), int(generator.integers(1, 9))
        position = generator.integers(-3, 4, shape).astype(float)  # with ties
        below, above = generator.random((2, *shape)) * (generator.random((2, *shape)) < 0.7)
        kinks = Kinks(position, below, above)
        tried = [kinks.value(np.full(shape[1], each)).sum() for each in position.ravel()]
        found = best_constant(HingeProblem(np.ones((shape[1], 1)), kinks))
        assert found == pytest.approx(min(tried), rel=1e-12, abs=1e-15)


def test_light_rows_decide_the_best_constant_where_a_heavy_one_does_not_care():
    """One row of weight 1 is content between 0 and 10; others of 1e-20 are not."""
    position = np.array([[10.0, 4.0, 5.0, 6.0], [0.0, 4.0, 5.0, 6.0]])
    above = np.array([[1.0, 1e-20, 1e-20, 1e-20], [0.0, 0.0, 0.0, 0.0]])
    below = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 1e-20, 1e-20, 1e-20]])
    problem = HingeProblem(np.ones((4, 1)), Kinks(position, below, above))
    assert best_constant(problem) == pytest.approx(2e-20, rel=1e-12)
