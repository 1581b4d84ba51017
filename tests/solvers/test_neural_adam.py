"""Adam as Keras does it, against the same written out step by step."""

import math

import numpy as np
import pytest
from small_networks import decide_one, evaluated_rows, gradient_one, small_data

from unmet import Band, Newsvendor, SquaredError
from unmet.solvers.losses import Scratch, Units
from unmet.solvers.neural.networks import FeatureScaling, NetworkLayout, glorot
from unmet.solvers.neural.optimisers import Moments, NetworkOptions
from unmet.solvers.neural.training import Task, train

OPTIONS = {
    "activation": "sigmoid",
    "solver": "adam",
    "epochs": 3,
    "batch_size": 5,
    "schedule": "constant",
    "dtype": "float64",
    "scaling": "standard",
    "stopping": None,
}


def _keras_step(weight, gradient, mean, square, step, rate):
    """keras.optimizers.Adam: learning rate corrected for the start at 0, ε beside √v as it is."""
    mean = mean + (gradient - mean) * (1 - 0.9)
    square = square + (gradient**2 - square) * (1 - 0.999)
    corrected = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return weight - corrected * mean / (math.sqrt(square) + 1e-7), mean, square


def test_steps_are_those_of_keras():
    weights, rates = np.array([[0.5, -1.0, 2.0], [0.1, 0.0, -3.0]]), np.array([[0.1], [0.003]])
    gradients = np.random.default_rng(0).normal(size=(6, 2, 3))
    gradients[:, 0, 0] = 0.0
    gradients[:, 0, 1] *= 1e-7  # of the size of ε, whose place matters then
    parameters, moments = weights.copy(), Moments.none(weights)
    expected = {(i, j): (weights[i, j], 0.0, 0.0) for i in range(2) for j in range(3)}
    for step, gradient in enumerate(gradients, start=1):
        moments.update(parameters, gradient.copy(), rates, Scratch())
        for (i, j), (weight, mean, square) in expected.items():
            expected[i, j] = _keras_step(weight, gradient[i, j], mean, square, step, rates[i, 0])
            assert parameters[i, j] == pytest.approx(expected[i, j][0], rel=1e-12)
    assert moments.steps == 6
    assert parameters[0, 0] == 0.5


def test_the_first_step_is_the_learning_rate_against_the_sign():
    parameters = np.array([[1.0, 1.0, 1.0]])
    Moments.none(parameters).update(
        parameters, np.array([[5.0, -1e-3, 0.0]]), np.full((1, 1), 0.01), Scratch()
    )
    assert parameters[0] == pytest.approx([0.99, 1.01, 1.0], rel=1e-4)


def test_the_rate_falls_along_half_a_cosine_or_stays():
    cosine, constant = (
        NetworkOptions(**{**OPTIONS, "schedule": schedule}) for schedule in ("cosine", "constant")
    )
    assert [cosine.rate(share) for share in (0, 1 / 3, 0.5, 1)] == pytest.approx([1, 0.75, 0.5, 0])
    assert {constant.rate(share) for share in (0, 0.3, 1)} == {1.0}


def _written_out(X, task, epochs, batch_size, schedule):
    """Train one sigmoid network row by row; the cost is a newsvendor's."""
    evaluated, sizes = task.rows, (X.shape[1], *task.hidden, 1)
    units = Units.of(evaluated, "standard")
    scaling = FeatureScaling.of(X, None, "standard")
    Z = (X - scaling.location) / scaling.unit
    weight = task.first(X.shape[1]).copy()
    is_weight = task.layout(X.shape[1]).is_weight()
    n_rows = len(X)
    share = np.full(n_rows, 1 / n_rows) if evaluated.share is None else evaluated.share
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    shuffler, step, total = task.shuffler(), 0, epochs * math.ceil(n_rows / batch_size)
    for _ in range(epochs):
        order = shuffler.permutation(n_rows)
        for start in range(0, n_rows, batch_size):
            batch = order[start : start + batch_size]
            gradient = 2 * task.strength * weight * is_weight
            for row in batch:
                decision = (
                    units.centre + units.unit * decide_one(weight, sizes, "sigmoid", Z[row])[0]
                )
                one = np.array([row])
                slope = evaluated.cost.take(one).subgradient(
                    decision,
                    evaluated.observation[row],
                    evaluated.band and evaluated.band.take(one),
                )[0]
                delta = slope / units.steepness * n_rows * share[row] / len(batch)
                gradient = gradient + gradient_one(weight, sizes, "sigmoid", Z[row], delta)
            rate = task.learning_rate
            if schedule == "cosine":
                rate *= (1 + math.cos(math.pi * step / total)) / 2
            step += 1
            for j in range(weight.size):
                weight[j], mean[j], square[j] = _keras_step(
                    weight[j], gradient[j], mean[j], square[j], step, rate
                )
    return weight


@pytest.mark.parametrize(
    ("hidden", "schedule", "penalty", "kind"),
    [
        ((4, 2), "constant", 0.0, "plain"),
        ((3,), "cosine", 0.1, "band"),
        ((), "constant", 0.5, "per row"),
        ((2, 2, 2), "cosine", 0.0, "per row"),
    ],
)
def test_training_is_the_same_written_out(hidden, schedule, penalty, kind):
    """Among the batches of 5 is a last one of 3, whose mean is over 3 rows."""
    X, s, generator = small_data(23, 2)
    share = generator.dirichlet(np.ones(23))
    evaluated = {
        "plain": evaluated_rows(s, Newsvendor.at_level(0.85), None, None),
        "band": evaluated_rows(s, Newsvendor(2, 5), Band(0.5, 3), share),
        "per row": evaluated_rows(
            s, Newsvendor(generator.uniform(1, 9, 23), 2.0), Band(0, s / 9), share
        ),
    }[kind]
    task = Task(evaluated, hidden, penalty, 0.05, seed=7)
    options = NetworkOptions(**{**OPTIONS, "schedule": schedule})
    scaling = FeatureScaling.of(X, None, "standard")
    (trained,) = train(X, [task], options, scaling)
    expected = _written_out(X, task, 3, 5, schedule)
    assert trained.network.parameters == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert np.abs(expected - task.first(2)).max() > 0.1
    assert trained.epochs == 3


def test_squared_error_learns_by_its_gradient():
    X, s, _ = small_data(6, 2)
    task = Task(evaluated_rows(s, SquaredError(), None, None), (), 0.0, 0.1, seed=3)
    (trained,) = train(X, [task], NetworkOptions(**{**OPTIONS, "epochs": 1, "batch_size": 6}))
    scaling, units = trained.network.features, trained.network.target
    Z = np.column_stack([(X - scaling.location) / scaling.unit, np.ones(6)])
    start = task.first(2)
    gradient = 2 * Z.T @ (Z @ start - (s - units.centre) / units.unit) / 6
    expected = start - 0.1 * gradient / (np.abs(gradient) + 1e-7 / math.sqrt(1e-3))
    assert trained.network.parameters == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_rows_of_a_task_are_gone_through_in_their_own_order():
    """Rows by number in common features, or features of these rows alone."""
    X, s, generator = small_data(40, 2)
    rows = generator.permutation(40)[:23]
    scaling = FeatureScaling.of(X, None, "standard")
    some = evaluated_rows(s[rows], Newsvendor(4, 1), Band(0, 2), None)
    whole = Task(some, (3,), 0.0, 0.05, seed=1, index=rows)
    alone = Task(some, (3,), 0.0, 0.05, seed=1)
    (left,) = train(X, [whole], NetworkOptions(**OPTIONS), scaling)
    (right,) = train(X[rows], [alone], NetworkOptions(**OPTIONS), scaling)
    assert left.network.parameters == pytest.approx(right.network.parameters, rel=1e-12)
    assert left.cost == pytest.approx(right.cost, rel=1e-12)
    assert left.decision == pytest.approx(right.decision, rel=1e-12)


def test_weights_begin_uniform_within_the_limits_of_glorot_and_biases_at_zero():
    layout = NetworkLayout(26, (9, 5))
    generator = np.random.default_rng(0)
    starts = np.stack([glorot(layout, generator) for _ in range(200)])
    limits = [math.sqrt(6 / 35), math.sqrt(6 / 14), 1.0]
    for (weights, biases), limit in zip(layout.views(starts), limits, strict=True):
        assert not biases.any()
        assert 0.99 * limit < np.abs(weights).max() <= limit
        assert weights.std() == pytest.approx(limit / math.sqrt(3), rel=0.05)
        assert abs(weights.mean()) < 0.05 * limit


def test_layout_counts_and_places():
    layout = NetworkLayout(26, (9, 5))
    assert layout.n_parameters == 26 * 9 + 9 + 9 * 5 + 5 + 5 + 1 == 299
    assert layout.is_weight().sum() == 26 * 9 + 9 * 5 + 5
    assert NetworkLayout(4, ()).n_parameters == 5
    wide, narrow = NetworkLayout(2, (3,)), NetworkLayout(2, (2,))
    # Weights of units 0 and 1, their biases, two of three output weights, the last bias.
    assert wide.embed(narrow).tolist() == [0, 1, 2, 3, 6, 7, 9, 10, 12]
