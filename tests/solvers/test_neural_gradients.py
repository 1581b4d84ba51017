"""Gradients of networks: against differences, and against Prop. DNNRule written out."""

from dataclasses import dataclass

import numpy as np
import pytest
from small_networks import (
    FUNCTIONS,
    decide_one,
    evaluated_rows,
    full_batch,
    gradient_one,
    newsvendors,
    random_parameters,
    small_data,
)

from unmet import Band, Newsvendor, SquaredError
from unmet.costs import Cost
from unmet.solvers.losses import Scratch
from unmet.solvers.neural.networks import NetworkLayout, Networks

ACTIVATIONS = list(FUNCTIONS)
DEPTHS = [(), (4,), (3, 2), (4, 1, 3)]


def _central_differences(evaluate, parameters, width, step=1e-6):
    names = np.arange(len(parameters))
    slopes = np.empty_like(parameters)
    for place in range(parameters.shape[1]):
        up, down = parameters.copy(), parameters.copy()
        up[:, place] += step
        down[:, place] -= step
        rise = evaluate(up, width, names)[0] - evaluate(down, width, names)[0]
        slopes[:, place] = rise / (2 * step)
    return slopes


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", DEPTHS)
def test_gradient_is_the_limit_of_differences(activation, hidden):
    X, s, generator = small_data()
    layout = NetworkLayout(3, hidden)
    penalty = np.outer([0.0, 0.2, 1.5], layout.is_weight())
    evaluate, _ = full_batch(X, newsvendors(s, generator), layout, activation, penalty=penalty)
    parameters = random_parameters(layout, 3, generator)
    width = np.array([0.4, 0.9, 0.2])
    _, gradient = evaluate(parameters, width, np.arange(3))
    expected = _central_differences(evaluate, parameters, width)
    assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert np.abs(gradient).max() > 0.01


@dataclass(frozen=True, eq=False)
class Quartic(Cost):
    """Steeper above than below; a polynomial on either side, and smooth between them."""

    steep: float = 3.0

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        over = np.maximum(rows.decision - rows.top, 0) ** 4
        return (self.steep * over + np.maximum(rows.bottom - rows.decision, 0) ** 4) / 1e3

    def subgradient(self, decision, observation, band=None):
        raise AssertionError("nobody needs it")


@pytest.mark.parametrize("cost", [SquaredError(), Quartic()])
def test_gradient_of_other_costs_is_the_limit_of_differences(cost):
    X, s, generator = small_data()
    layout = NetworkLayout(3, (4, 2))
    share = generator.uniform(size=s.size)
    evaluated = [
        evaluated_rows(s, cost, None, None),
        evaluated_rows(s, cost, Band(2, 3), share / share.sum()),
    ]
    evaluate, _ = full_batch(X, evaluated, layout, "tanh")
    parameters = random_parameters(layout, 2, generator)
    width = np.array([0.01, 0.02])
    _, gradient = evaluate(parameters, width, np.arange(2))
    expected = _central_differences(evaluate, parameters, width)
    assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert np.abs(gradient).max() > 0.01


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", DEPTHS)
def test_decisions_are_those_of_a_network_written_out(activation, hidden):
    X, _, generator = small_data(7)
    layout = NetworkLayout(3, hidden)
    parameters = random_parameters(layout, 2, generator)
    decision = Networks(layout, activation).decide(parameters, np.ascontiguousarray(X.T))
    for network in range(2):
        for row in range(7):
            expected = decide_one(parameters[network], (3, *hidden, 1), activation, X[row])[0]
            assert decision[network, row] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.85, 0.2])
@pytest.mark.parametrize(
    ("activation", "hidden"), [("sigmoid", (4, 3)), ("silu", (3,)), ("relu", ())]
)
def test_gradient_is_that_of_the_paper_with_its_slip_corrected(alpha, activation, hidden):
    """Slip 3: δ of the output is −α below the band (printed: α), 1 − α above it, 0 inside."""
    X, s, generator = small_data()
    layout, sizes, strength = NetworkLayout(3, hidden), (3, *hidden, 1), 0.3
    band = Band(0.5, 4.0)
    evaluated = [evaluated_rows(s, Newsvendor.at_level(alpha), band, None)]
    evaluate, (scaling,) = full_batch(
        X, evaluated, layout, activation, penalty=strength * layout.is_weight()[np.newaxis]
    )
    parameters = random_parameters(layout, 1, generator)
    parameters[0, -1] -= evaluate.networks.decide(parameters, evaluate.rows.inputs).mean()
    expected, deltas = np.zeros(layout.n_parameters), set()
    for x, seen in zip(X, s, strict=True):
        output = decide_one(parameters[0], sizes, activation, x)[0]
        decision = scaling.centre + scaling.unit * output
        delta = 0.0
        if decision < seen + band.low:
            delta = -alpha
        elif decision > seen + band.high:
            delta = 1 - alpha
        deltas.add(delta)
        expected += gradient_one(parameters[0], sizes, activation, x, delta) / s.size
    for place, is_weight in enumerate(layout.is_weight()):
        expected[place] += 2 * strength * parameters[0, place] * is_weight
    assert deltas == {-alpha, 0.0, 1 - alpha}
    # So narrow a box that no decision has a kink in it.
    _, gradient = evaluate(parameters, np.array([1e-9]), np.arange(1))
    assert gradient[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_slope_of_mini_batches_is_the_subgradient_and_zero_on_both_kinks():
    s = np.array([10.0, 20.0, 31.0])
    evaluated = evaluated_rows(s, Newsvendor.at_level(0.9), Band(1, 3), None)
    evaluate, (scaling,) = full_batch(np.zeros((3, 1)), [evaluated], NetworkLayout(1, ()), "relu")
    assert scaling.steepness == pytest.approx(1.0)
    ends = evaluate.loss.tiers[0][:2]
    assert ends[0] == pytest.approx((s + 1 - scaling.centre)[np.newaxis] / scaling.unit)
    for decision, expected in [
        (np.nextafter(ends[0], -np.inf), -0.9),
        (ends[0], 0.0),
        (0.5 * (ends[0] + ends[1]), 0.0),
        (ends[1], 0.0),
        (np.nextafter(ends[1], np.inf), 0.1),
    ]:
        slope = evaluate.loss.slope(decision, np.ones(1))
        assert slope[0] == pytest.approx(np.full(3, expected / 3), abs=1e-15)


def test_every_network_of_a_stream_sees_its_own_rows():
    _, _, generator = small_data()
    layout = NetworkLayout(3, (4, 2))
    networks = Networks(layout, "sigmoid")
    inputs = generator.normal(size=(2, 3, 11))
    parameters = random_parameters(layout, 6, generator)
    slope = generator.normal(size=(6, 11))

    def run(parameters, inputs, slope):
        layers, gradient, scratch = layout.views(parameters), np.empty_like(parameters), Scratch()
        decision, memory = networks.forward(layers, inputs, scratch)
        decision = decision.copy()
        networks.backward(layers, inputs, memory, slope, layout.views(gradient), scratch)
        return decision, gradient

    decision, gradient = run(parameters, inputs, slope)
    for network in range(6):
        alone = slice(network, network + 1)
        own = np.ascontiguousarray(inputs[network // 3])
        expected = run(parameters[alone].copy(), own, slope[alone])
        assert decision[alone] == pytest.approx(expected[0], rel=1e-12)
        assert gradient[alone] == pytest.approx(expected[1], rel=1e-11, abs=1e-13)


def test_narrower_networks_fill_wider_arrays_with_units_that_do_nothing():
    X, s, generator = small_data()
    layouts = [NetworkLayout(3, (5, 2)), NetworkLayout(3, (2, 4)), NetworkLayout(3, (5, 4))]
    wide = NetworkLayout.covering(layouts)
    assert wide.hidden == (5, 4)
    evaluated = newsvendors(s, generator)
    parameters, mask = np.zeros((2, 3, wide.n_parameters))
    own = [random_parameters(layout, 1, generator)[0] for layout in layouts]
    for row, layout, values in zip(range(3), layouts, own, strict=True):
        place = wide.embed(layout)
        parameters[row, place], mask[row, place] = values, 1.0
    width = np.array([0.5, 0.5, 0.5])
    evaluate, _ = full_batch(X, evaluated, wide, "sigmoid", mask=mask)
    value, gradient = evaluate(parameters, width, np.arange(3))
    assert (gradient[mask == 0] == 0).all()
    for row, layout in enumerate(layouts):
        alone, _ = full_batch(X, [evaluated[row]], layout, "sigmoid")
        expected = alone(own[row][np.newaxis], width[:1], np.arange(1))
        assert value[row] == pytest.approx(expected[0][0], rel=1e-12)
        assert gradient[row, wide.embed(layout)] == pytest.approx(
            expected[1][0], rel=1e-10, abs=1e-14
        )


def test_some_networks_of_many_are_evaluated_alone():
    X, s, generator = small_data()
    layout = NetworkLayout(3, (4,))
    penalty = np.outer([0.1, 0.2, 0.3], layout.is_weight())
    mask = np.ones((3, layout.n_parameters))
    mask[1, 0] = 0
    evaluated = newsvendors(s, generator)
    evaluate, _ = full_batch(X, evaluated, layout, "tanh", penalty=penalty, mask=mask)
    parameters = random_parameters(layout, 3, generator)
    width = np.array([0.3, 0.5, 0.7])
    value, gradient = evaluate(parameters, width, np.arange(3))
    for names in ([2], [1, 2], [0, 1]):
        some = evaluate(parameters[names], width[names], np.array(names))
        assert some[0] == pytest.approx(value[names], rel=1e-13)
        assert some[1] == pytest.approx(gradient[names], rel=1e-12, abs=1e-15)
