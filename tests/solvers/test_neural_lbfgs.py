"""L-BFGS for a crowd, on functions whose minima are known."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from unmet.solvers.neural.optimisers import minimise, minimise_one

LONG, FINE = [(1.0, 400)], 1e-13


def _crowd(functions):
    """Evaluate function k for network k, and keep what was asked for."""
    asked = []

    def evaluate(parameters, width, names):
        asked.append((names.copy(), width.copy(), parameters.copy()))
        answers = [functions[name](x) for name, x in zip(names, parameters, strict=True)]
        values, gradients = zip(*answers, strict=True)
        return np.array(values), np.array(gradients)

    return evaluate, asked


def _quadratics(n_networks=6, n_parameters=8, seed=0):
    """Conditioned better and worse, with minima of different values."""
    generator = np.random.default_rng(seed)
    functions, minima = [], []
    for place in range(n_networks):
        basis, _ = np.linalg.qr(generator.normal(size=(n_parameters, n_parameters)))
        curvature = np.logspace(0, 0.7 * place, n_parameters)
        matrix, centre = (basis * curvature) @ basis.T, generator.normal(size=n_parameters)

        def function(x, matrix=matrix, centre=centre, least=1.0 + place):
            slope = matrix @ (x - centre)
            return least + 0.5 * slope @ (x - centre), slope

        functions.append(function)
        minima.append(centre)
    return functions, np.array(minima)


def test_quadratics_of_any_condition_reach_their_minima():
    functions, minima = _quadratics()
    evaluate, _ = _crowd(functions)
    start = np.zeros_like(minima)
    answer, passes = minimise(evaluate, start, LONG, tolerance=FINE)
    for function, found, centre, taken in zip(functions, answer, minima, passes, strict=True):
        assert function(found)[0] == pytest.approx(function(centre)[0], rel=1e-10)
        scipys = minimize(function, np.zeros(8), jac=True, method="L-BFGS-B")
        assert function(found)[0] <= scipys.fun * (1 + 1e-8)
        assert taken <= 4 * scipys.nfev + 30
    assert not start.any()


def test_curved_valleys_are_followed_to_their_ends():
    generator = np.random.default_rng(1)
    start = generator.uniform(-1.5, 1.5, size=(5, 4))
    functions = [
        lambda x, lift=lift: (lift + rosen(x), rosen_der(x)) for lift in (1.0, 3.0, 1.0, 10.0, 1.0)
    ]
    evaluate, _ = _crowd(functions)
    answer, _ = minimise(evaluate, start, LONG, tolerance=FINE)
    for function, x, found in zip(functions, start, answer, strict=True):
        scipys = minimize(function, x, jac=True, method="L-BFGS-B")
        assert function(found)[0] == pytest.approx(scipys.fun, rel=1e-4)
    assert np.abs(answer - 1).max(axis=1).min() < 1e-3


@pytest.mark.parametrize("solve", [minimise, minimise_one])
def test_stages_go_from_wide_to_narrow_and_limit_the_passes(solve):
    functions = [lambda x: (1 + rosen(x), rosen_der(x))] * (1 if solve is minimise_one else 3)
    evaluate, asked = _crowd(functions)
    start = np.full((len(functions), 4), -1.0) + 0.1 * np.arange(len(functions))[:, np.newaxis]
    stages = [(0.5, 12), (0.1, 8), (0.02, 5)]
    answer, passes = solve(evaluate, start, stages, tolerance=0.0)
    slack = 20 if solve is minimise_one else 0  # SciPy ends its line search first
    for place in range(len(functions)):
        widths = [width[names == place][0] for names, width, _ in asked if (names == place).any()]
        assert len(widths) == passes[place]
        assert sorted(widths, reverse=True) == widths
        for width, most in stages:
            assert 0 < widths.count(width) <= most + slack
        assert functions[0](answer[place])[0] < 0.1 * functions[0](start[place])[0]


def test_a_stage_ends_when_ten_passes_gain_little():
    functions = _quadratics(4)[0][2:]
    quick, slow = (
        minimise(_crowd(functions)[0], np.zeros((2, 8)), [(1.0, 300)], tolerance=tolerance)[1]
        for tolerance in (0.05, 1e-12)
    )
    assert (quick < slow).all()
    assert (slow < 300).all()


def test_a_network_finds_its_minimum_whatever_its_company():
    functions, minima = _quadratics(4)
    together, _ = minimise(_crowd(functions)[0], np.zeros_like(minima), LONG, tolerance=FINE)
    for place, function in enumerate(functions):
        alone, _ = minimise(_crowd([function])[0], np.zeros((1, 8)), LONG, tolerance=FINE)
        one, _ = minimise_one(_crowd([function])[0], np.zeros((1, 8)), LONG, tolerance=FINE)
        for found in (alone[0], one[0], together[place]):
            assert function(found)[0] == pytest.approx(1.0 + place, rel=1e-9)


def test_steps_that_leave_the_domain_are_shortened_and_forgotten():
    """Trials of one network that give no number must not spoil what it learns later."""

    def barrier(x):
        if (x <= 0).any():
            return np.inf, np.full_like(x, np.nan)
        return float(np.sum(x - np.log(x))), 1 - 1 / x

    company = _quadratics(4, 2, seed=3)[0][1:]
    evaluate, asked = _crowd([barrier, *company])
    start = np.array([[0.05, 3.0], [9.0, 9.0], [-9.0, 5.0], [3.0, -9.0]])
    answer, _ = minimise(evaluate, start, 2 * LONG, tolerance=FINE)
    assert any(not np.isfinite(barrier(x[0])[0]) for names, _, x in asked if names[0] == 0)
    assert answer[0] == pytest.approx([1.0, 1.0], abs=1e-3)
    least = [function(x)[0] for function, x in zip(company, answer[1:], strict=True)]
    assert least == pytest.approx([2.0, 3.0, 4.0], rel=1e-6)


def test_a_stage_does_not_compare_itself_with_the_one_before():
    """A narrower box costs more at the same place: that is no lack of progress."""
    passes = []

    def evaluate(parameters, width, names):
        passes.append(width.copy())
        values = [rosen(x) + 1 / w for x, w in zip(parameters, width, strict=True)]
        return np.array(values), np.array([rosen_der(x) for x in parameters])

    start = np.array([[-1.2, 1.0, -0.5, 0.3], [1.5, -1.0, 0.4, 0.2]])
    stages = [(1.0, 10), (0.01, 200)]
    answer, _ = minimise(evaluate, start, stages, tolerance=1e-9)
    assert sum(width[0] == 0.01 for width in passes) > 25
    assert [rosen(x) for x in answer] == pytest.approx([0.0, 0.0], abs=1e-3)


class _Stops:
    """Lets network 1 go at its second look, and remembers where it was."""

    def __init__(self):
        self.looks = []

    def look(self, names, parameters):
        self.looks.append((names.copy(), parameters.copy()))
        return (names == 1) & (len(self.looks) >= 2)


def test_a_watch_stops_a_network_where_it_is():
    functions = [lambda x: (1 + rosen(x), rosen_der(x))] * 3
    start = np.full((3, 4), -1.0) + 0.1 * np.arange(3)[:, np.newaxis]
    watch = _Stops()
    answer, passes = minimise(_crowd(functions)[0], start, LONG, watch, tolerance=FINE)
    assert passes[1] == 20
    assert min(passes[0], passes[2]) > 30
    assert np.array_equal(answer[1], watch.looks[1][1][1])
    assert all(1 not in names for names, _ in watch.looks[2:])


def test_a_watch_stops_scipy_too():
    watch = _Stops()
    watch.look = lambda names, parameters: watch.looks.append(parameters.copy()) or np.array([True])
    evaluate, _ = _crowd([lambda x: (1 + rosen(x), rosen_der(x))])
    answer, _ = minimise_one(evaluate, np.full((1, 4), -1.0), 3 * LONG, watch, tolerance=FINE)
    assert len(watch.looks) == 1
    assert answer == pytest.approx(watch.looks[0], rel=1e-9)


def test_a_start_at_the_minimum_stays_there():
    functions, minima = _quadratics(3)
    answer, passes = minimise(_crowd(functions)[0], minima, LONG, tolerance=FINE)
    assert np.array_equal(answer, minima)
    assert (passes <= 2).all()
