"""The torch backend goes the way of the NumPy one, step by step."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from small_networks import evaluated_rows

from unmet import Band, Newsvendor, SquaredError
from unmet.costs import Cost
from unmet.errors import InvalidInput, SolverFailure
from unmet.rows import Rows
from unmet.solvers import constants
from unmet.solvers.neural.networks import FeatureScaling
from unmet.solvers.neural.optimisers import EarlyStopping, NetworkOptions
from unmet.solvers.neural.torch_networks import find_device, fitting_threads, own_randomness
from unmet.solvers.neural.torch_training import train_torch
from unmet.solvers.neural.training import Task, train

torch = pytest.importorskip("torch")

N_ROWS = 103  # no multiple of the batch
GENERATOR = np.random.default_rng(3)
FEATURES = GENERATOR.normal(size=(N_ROWS, 4))
OBSERVATION = 30 + FEATURES @ [6.0, -3.0, 0.0, 1.0] + GENERATOR.gamma(2.0, 3.0, size=N_ROWS)
WEIGHT = GENERATOR.uniform(0.2, 3.0, size=N_ROWS)
PER_ROW = GENERATOR.uniform(0.5, 4.0, size=(4, N_ROWS))
NEWSVENDOR = Newsvendor(underage=3, overage=1)
OPTIONS = NetworkOptions("tanh", "adam", 4, 16, "cosine", "float64", "standard", None)


@dataclass(frozen=True, eq=False)
class CubicCost(Cost):
    """Neither piecewise linear nor a square: your own cost, steeper when too low."""

    rise: float = 2.0

    def loss(self, decision, observation, band=None):
        chosen, _, bottom, top = self.align(decision, observation, band)
        low, high = np.maximum(bottom - chosen, 0), np.maximum(chosen - top, 0)
        return (self.rise * low**1.5 + high**1.5) / 10

    def subgradient(self, decision, observation, band=None):
        raise NotImplementedError


def _task(cost=NEWSVENDOR, band=None, share=None, hidden=(6, 3), penalty=0.0, rows=None, **more):
    seen = OBSERVATION if rows is None else OBSERVATION[rows]
    return Task(
        evaluated_rows(seen, cost, band, share), hidden, penalty, 0.02, 11, index=rows, **more
    )


def _both(tasks, options=OPTIONS, features=FEATURES):
    scaling = FeatureScaling.of(features, None, options.scaling)
    ours = train(features, tasks, options, scaling)
    theirs = train_torch(features, tasks, options, scaling, device="cpu")
    return list(zip(ours, theirs, strict=True))


def _assert_same(pairs, tolerance=1e-9):
    for ours, theirs in pairs:
        moved = np.abs(ours.network.parameters).max()
        assert np.allclose(
            theirs.network.parameters, ours.network.parameters, rtol=0, atol=tolerance * moved
        )
        assert theirs.network.parameters.dtype == ours.network.parameters.dtype
        assert theirs.network.parameters.shape == ours.network.parameters.shape
        assert theirs.cost == pytest.approx(ours.cost, rel=tolerance)
        assert theirs.objective == pytest.approx(ours.objective, rel=tolerance)
        assert np.allclose(theirs.decision, ours.decision, rtol=tolerance)
        assert theirs.epochs == ours.epochs
        if ours.validation_cost is None:
            assert theirs.validation_cost is None
        else:
            assert theirs.validation_cost == pytest.approx(ours.validation_cost, rel=tolerance)


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "silu", "tanh"])
@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_same_way_as_numpy_for_every_activation_and_schedule(activation, schedule):
    options = replace(OPTIONS, activation=activation, schedule=schedule, scaling="min-max")
    (pair,) = pairs = _both([_task(band=Band(0.5, 4))], options)
    _assert_same(pairs)
    start = _task().first(4)
    assert np.abs(pair[1].network.parameters - start).max() > 0.05  # it did move


@pytest.mark.parametrize(
    "change",
    [
        {"cost": SquaredError(), "band": Band(0.2, 3)},
        {"cost": CubicCost(), "band": Band(0, 2)},
        {"cost": CubicCost(3.0), "share": WEIGHT / WEIGHT.sum(), "penalty": 0.02},
        {"penalty": 0.05},
        {"share": WEIGHT / WEIGHT.sum()},
        {
            "cost": Newsvendor(PER_ROW[0], PER_ROW[1]),
            "band": Band(PER_ROW[2], PER_ROW[2] + PER_ROW[3]),
        },
        {"hidden": ()},
        {"hidden": (5, 4, 3, 2), "penalty": 0.01},
        {"rows": np.arange(3, 90, 2)},
    ],
    ids=["square", "own", "own-weights", "penalty", "weights", "rows", "linear", "deep", "some"],
)
def test_same_way_as_numpy_for_every_kind_of_task(change):
    _assert_same(_both([_task(**change)]))


def test_single_precision_differs_by_rounding_only():
    options = replace(OPTIONS, dtype="float32")
    (pair,) = pairs = _both([_task(band=Band(0, 3))], options)
    _assert_same(pairs, 1e-3)
    assert pair[1].network.parameters.dtype == np.float32


def test_restarts_and_given_starts_are_those_of_numpy():
    start = np.linspace(-1, 1, _task().layout(4).n_parameters)
    tasks = [_task(), _task(restart=1), _task(start=start)]
    pairs = _both(tasks)
    _assert_same(pairs)
    assert len({trained.cost for _, trained in pairs}) == 3


@pytest.mark.parametrize("cost", [NEWSVENDOR, CubicCost()])
@pytest.mark.parametrize("share", [None, WEIGHT / WEIGHT.sum()], ids=["equal", "weighted"])
def test_early_stopping_on_rows_set_aside(cost, share):
    stopping = EarlyStopping(0.3, 2, 1e-7)
    options = replace(OPTIONS, epochs=40, stopping=stopping, batch_size=7)
    (pair,) = pairs = _both([_task(cost, Band(0, 2), share)], options)
    _assert_same(pairs)
    assert pair[1].epochs < 40


def test_early_stopping_on_rows_whose_truth_is_known():
    truth = GENERATOR.gamma(2.0, 3.0, size=37) + 30
    watched = Rows(GENERATOR.normal(size=(37, 4)), truth, NEWSVENDOR)
    stopping = EarlyStopping(0.3, 3, 1e-7, watched)
    options = replace(OPTIONS, epochs=40, stopping=stopping)
    (pair,) = pairs = _both([_task(band=Band(0, 2))], options)
    _assert_same(pairs)
    assert pair[1].epochs < 40


def test_rows_that_do_not_fit_come_in_blocks(monkeypatch):
    ((_, whole),) = _both([_task(SquaredError(), band=Band(0, 2))])
    monkeypatch.setattr(constants, "RESIDENT_BYTES", 0)
    monkeypatch.setattr(constants, "BLOCK_NUMBERS", 140)  # two batches of 16 × 4
    ((_, blocks),) = pairs = _both([_task(SquaredError(), band=Band(0, 2))])
    _assert_same(pairs)
    assert np.allclose(blocks.network.parameters, whole.network.parameters, rtol=1e-12)


def test_sparse_features_become_dense_batch_by_batch():
    dense = FEATURES * (np.abs(FEATURES) > 0.8)
    scaling = FeatureScaling.of(sparse.csr_array(dense), None, "standard")
    options = replace(OPTIONS, stopping=EarlyStopping(0.3, 2, 1e-7))
    results = [
        train_torch(features, [_task()], options, scaling, device="cpu")[0]
        for features in (dense, sparse.csr_array(dense))
    ]
    assert np.array_equal(results[0].network.parameters, results[1].network.parameters)


def test_columns_in_fortran_order_give_the_same():
    scaling = FeatureScaling.of(FEATURES, None, "standard")
    results = [
        train_torch(features, [_task()], OPTIONS, scaling, device="cpu")[0]
        for features in (FEATURES, np.asfortranarray(FEATURES))
    ]
    assert np.array_equal(results[0].network.parameters, results[1].network.parameters)


def test_divergence_is_said_as_in_numpy():
    task = replace(_task(hidden=(6,)), learning_rate=1e37)
    options = replace(OPTIONS, activation="relu", dtype="float32")
    scaling = FeatureScaling.of(FEATURES, None, "standard")
    for stopping in (None, EarlyStopping(0.3, 2, 1e-7)):
        sentences = []
        for backend in (train, train_torch):
            with pytest.raises(SolverFailure, match="learning_rate must be smaller") as caught:
                backend(FEATURES, [task], replace(options, stopping=stopping), scaling)
            sentences.append(str(caught.value))
        assert sentences[0] == sentences[1]


def test_nothing_left_to_watch_is_said_as_in_numpy():
    options = replace(OPTIONS, stopping=EarlyStopping(0.001, 2, 1e-7))
    scaling = FeatureScaling.of(FEATURES, None, "standard")
    with pytest.raises(InvalidInput, match=r"rows on both sides, got 0\.001 of 103 rows"):
        train_torch(FEATURES, [_task()], options, scaling)


def test_trains_where_gradients_were_switched_off():
    scaling = FeatureScaling.of(FEATURES, None, "standard")
    with torch.no_grad():
        (quiet,) = train_torch(FEATURES, [_task()], OPTIONS, scaling)
        assert not torch.is_grad_enabled()
    assert quiet.cost == train_torch(FEATURES, [_task()], OPTIONS, scaling)[0].cost


def test_devices():
    assert find_device("cpu", "float64") == torch.device("cpu")
    assert find_device(torch.device("cpu"), "float32") == torch.device("cpu")
    assert find_device(None, "float32").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", "", 1.5, object()])
def test_devices_that_are_not_there(device):
    with pytest.raises(InvalidInput, match=r"^device must be one that torch finds here"):
        find_device(device, "float64")


def test_one_thread_for_small_networks_and_the_setting_put_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with fitting_threads(1000, 100):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(KeyError), fitting_threads(1000, 100):
            raise KeyError
        assert torch.get_num_threads() == 2
        with fitting_threads(2_000_000, 512):
            assert torch.get_num_threads() == 2
        train_torch(FEATURES, [_task()], OPTIONS, FeatureScaling.of(FEATURES, None, "standard"))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_own_randomness_is_seeded_and_leaves_no_trace():
    device = torch.device("cpu")
    state = torch.random.get_rng_state()
    draws = []
    for seed in (1, 1, 2):
        with own_randomness(device, seed):
            draws.append(torch.rand(3))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(state, torch.random.get_rng_state())
