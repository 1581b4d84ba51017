"""SGD row by row, of linear decisions and of networks, and the distance of neighbouring runs."""

import numpy as np
from measured import argument_stability, descend_in_order

from paper.gaps import PlainNetworks
from paper.theory import descent_stability
from unmet import Band, Newsvendor


def parameters(networks):
    """All weights and biases, one row per network."""
    return np.hstack([each.reshape(each.shape[0], -1) for each in networks.weights])


def test_steps_follow_the_subgradient_in_the_given_order():
    generator = np.random.default_rng(0)
    X, s = generator.normal(size=(5, 2)), generator.uniform(0, 3, 5)
    cost, band, order = Newsvendor(3, 1), Band(0.1, 0.5), [3, 0, 4, 1, 2]
    path = descend_in_order(X, s, cost, band, learning_rate=0.2, epochs=3, order=order)
    theta = np.zeros(2)
    for step, row in enumerate(order * 3, start=1):
        theta = theta - 0.2 * cost.subgradient(X[row] @ theta, s[row], band)[0] * X[row]
        np.testing.assert_allclose(path[step], theta)
    assert path.shape == (16, 2)


def test_neighbouring_runs_stay_within_the_proposition():
    """Prop. DNN-UASBound for linear decisions, all steps, with ‖x‖ in the slope."""
    generator = np.random.default_rng(1)
    ratios = []
    for trial in range(60):
        n, epochs, p = (int(generator.integers(1, top)) for top in (12, 8, 4))
        X = generator.normal(size=(n, p)) * 3
        other, seen = generator.normal(size=p) * 3, float(generator.choice([0.0, 10.0, 1e3]))
        norm = float(np.linalg.norm(np.vstack([X, other]), axis=1).max())
        alpha, rate = generator.uniform(0.05, 0.95), 10 ** generator.uniform(-2, 1.5)
        run = {"learning_rate": rate, "epochs": epochs}
        moved = argument_stability(
            X,
            generator.uniform(0, 10, n),
            alpha,
            [None, Band(0, 1)][trial % 2],
            row=int(generator.integers(n)),
            features=other,
            observation=seen,
            order=generator.permutation(n),
            radius=[None, 3.0][trial % 3 == 0],
            **run,
        )
        ratios.append(moved / descent_stability(alpha, n_rows=n, largest_norm=norm, **run))
    assert max(ratios) <= 1
    assert max(ratios) > 0.2  # it is not idle either


def test_without_the_length_of_the_features_the_proposition_fails():
    """The paper has α ∨ (1 − α) for the slope in the parameters; that is for ‖x‖ ≤ 1."""
    run = {"learning_rate": 0.1, "epochs": 3}
    moved = argument_stability(
        [[10.0]], [1e6], 0.8, row=0, features=[-10.0], observation=1e6, **run
    )
    assert moved > descent_stability(0.8, n_rows=1, **run)
    assert moved <= descent_stability(0.8, n_rows=1, largest_norm=10, **run)


def test_a_step_of_a_network_is_its_gradient():
    """Against differences of the cost in every single weight."""
    generator = np.random.default_rng(0)
    cost, band = Newsvendor.at_level(0.8), Band(0.0, 0.1)
    for target in (5.0, -5.0):  # far too low, far too high
        x = generator.normal(size=4)
        networks = PlainNetworks(cost, band, learning_rate=1e-300, epochs=1, hidden=(3, 2))
        networks.fit(x[None, None], np.array([[target]]))
        before = [each.copy() for each in networks.weights]

        def price(networks=networks, x=x, target=target):
            return cost.loss(networks.predict(x[None])[0], target, band)[0]

        slopes = []
        for weights in networks.weights:
            flat = weights.reshape(-1)
            for place in range(flat.size):
                flat[place] += 1e-5
                up = price()
                flat[place] -= 2e-5
                slopes.append((up - price()) / 2e-5)
                flat[place] += 1e-5
        moved = PlainNetworks(cost, band, learning_rate=1.0, epochs=1, hidden=(3, 2))
        moved.fit(x[None, None], np.array([[target]]))
        step = np.concatenate(
            [(new - old).reshape(-1) for new, old in zip(moved.weights, before, strict=True)]
        )
        np.testing.assert_allclose(step, -np.array(slopes), atol=1e-8)
        assert np.abs(step).max() > 0.1
