"""Gradients of networks: against differences, and against Prop. DNNRule written out."""

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

from unmet import Band, Newsvendor
from unmet.solvers.losses import Units, loss_of
from unmet.solvers.neural.networks import NetworkLayout, Networks
from unmet.solvers.neural.optimisers import DistinctRows

ACTIVATIONS = list(FUNCTIONS)
DEPTHS = [(), (4,), (3, 2), (4, 1, 3)]


def _central_differences(evaluate, parameters, width, step=1e-6):
    slopes = np.empty_like(parameters)
    for place in range(parameters.shape[1]):
        up, down = parameters.copy(), parameters.copy()
        up[:, place] += step
        down[:, place] -= step
        rise = evaluate(up, width)[0] - evaluate(down, width)[0]
        slopes[:, place] = rise / (2 * step)
    return slopes


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", DEPTHS)
def test_gradient_is_the_limit_of_differences(activation, hidden):
    X, s, generator = small_data()
    layout = NetworkLayout(3, hidden)
    penalty = np.outer([0.0, 0.2, 1.5], layout.is_weight())
    evaluate, _ = full_batch(X, newsvendors(s, generator), layout, activation, penalty)
    parameters = random_parameters(layout, 3, generator)
    width = np.array([0.4, 0.9, 0.2])
    _, gradient = evaluate(parameters, width)
    expected = _central_differences(evaluate, parameters, width)
    assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert np.abs(gradient).max() > 0.01


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
        X, evaluated, layout, activation, strength * layout.is_weight()[np.newaxis]
    )
    parameters = random_parameters(layout, 1, generator)
    parameters[0, -1] -= (
        Networks(layout, activation).decide(parameters, DistinctRows.of(X).inputs).mean()
    )
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
    _, gradient = evaluate(parameters, np.array([1e-9]))
    assert gradient[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_slope_of_mini_batches_is_the_subgradient_and_zero_on_both_kinks():
    s = np.array([10.0, 20.0, 31.0])
    evaluated = evaluated_rows(s, Newsvendor.at_level(0.9), Band(1, 3), None)
    scaling = Units.of(evaluated, "standard")
    loss = loss_of([evaluated], [scaling])
    assert scaling.steepness == pytest.approx(1.0)
    ends = loss.tiers[0][:2]
    assert ends[0] == pytest.approx((s + 1 - scaling.centre)[np.newaxis] / scaling.unit)
    for decision, expected in [
        (np.nextafter(ends[0], -np.inf), -0.9),
        (ends[0], 0.0),
        (0.5 * (ends[0] + ends[1]), 0.0),
        (ends[1], 0.0),
        (np.nextafter(ends[1], np.inf), 0.1),
    ]:
        slope = loss.slope(decision, np.ones(1))
        assert slope[0] == pytest.approx(np.full(3, expected / 3), abs=1e-15)
