"""Growing, refitting, judging: what the loop promises with LightGBM underneath."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unmet import Band, Newsvendor, PreventiveReplacement, SquaredError
from unmet.errors import InvalidInput, MissingPackage
from unmet.rows import Rows
from unmet.solvers import constants
from unmet.solvers.boosting.growing import BoostingSettings, Grower, boost, keep_monotone
from unmet.solvers.boosting.leaves import read_objective


def curved(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    s = 20 + 5 * np.sin(2 * X[:, 0]) + 3 * X[:, 1] ** 2 + generator.gamma(2.0, 3.0, n_rows)
    return X, s


def part(X, s, cost=None, band=None, share=None):
    return Rows(X, s, cost or Newsvendor(9, 1), share, band)


def _walked_leaves(grower, features):
    """Which leaf each row falls in, asked of LightGBM row by row."""
    return grower._booster.predict(
        features,
        start_iteration=grower.n_trees - 1,
        num_iteration=1,
        pred_leaf=True,
        num_threads=1,
    ).reshape(-1)


@pytest.mark.parametrize(
    ("rows", "level"),
    [("many", 0.75), ("many", 0.995), ("few", 0.9), ("equal", 0.9), ("sparse", 0.9)],
)
def test_rows_are_found_in_the_leaves_they_are_in(rows, level, monkeypatch):
    monkeypatch.setattr(constants, "FEW_ROWS", 600)
    X, s = curved(900 if rows in ("many", "sparse") else 600)
    if rows == "equal":
        X = np.round(X / 2)
    given = sparse.csr_array(X) if rows == "sparse" else X
    objective = read_objective(part(X, s, Newsvendor.at_level(level)))
    grower = Grower(given, BoostingSettings(), (), None)
    assert (grower._groups is not None) == (rows == "equal")
    decision = np.full(s.size, objective.start())
    for _ in range(8):
        leaf = grower.grow(objective.gradient(decision), objective.curvature)
        assert np.array_equal(leaf, _walked_leaves(grower, X))
        value = 0.3 * objective.minimisers(decision, leaf, leaf.max() + 1)
        grower.set_leaves(value)
        decision = decision + value[leaf]
        assert grower.newest(given) == pytest.approx(value[leaf], rel=1e-15)


def test_leaves_with_the_same_output_are_told_apart(monkeypatch):
    """At an extreme level many leaves have all their rows on one side."""
    monkeypatch.setattr(constants, "FEW_ROWS", 100)
    X, s = curved(900)
    objective = read_objective(part(X, s, Newsvendor.at_level(0.99)))
    grower = Grower(X, BoostingSettings(min_samples_leaf=5), (), None)
    decision = np.full(s.size, np.quantile(s, 0.9))
    leaf = grower.grow(objective.gradient(decision), objective.curvature)
    assert np.array_equal(leaf, _walked_leaves(grower, X))
    (output,) = grower._read("leaf_value")
    assert np.unique(output).size < output.size


@pytest.mark.parametrize(
    ("cost", "band"),
    [
        (Newsvendor(9, 1), None),
        (Newsvendor(1, 3), Band(1.0, 4.0)),
        (SquaredError(), None),
        (SquaredError(), Band(1.0, 4.0)),
    ],
    ids=str,
)
def test_the_cost_of_the_training_rows_never_rises(cost, band):
    X, s = curved(700)
    found = boost(part(X, s, cost, band), BoostingSettings(max_iter=40))
    assert found.n_trees == 40
    assert (np.diff(found.cost) <= 1e-12).all()
    assert found.cost[-1] < 0.7 * found.cost[0]
    assert found.cost[-1] == pytest.approx(cost.loss(found.decision, s, band).mean())
    assert found.trees.predict(X) == pytest.approx(found.decision, rel=1e-12)


def test_one_full_step_sets_every_leaf_to_its_quantile():
    X, s = curved(500)
    found = boost(part(X, s), BoostingSettings(max_iter=1, learning_rate=1.0, max_leaf_nodes=6))
    decisions = np.unique(found.decision)
    assert decisions.size == 6
    for decision in decisions:
        mine = np.sort(s[found.decision == decision])
        rank = int(np.ceil(0.9 * mine.size - 1e-9))
        assert mine[rank - 1] <= decision <= mine[min(rank, mine.size - 1)]


def test_l2_draws_leaves_of_squared_error_as_ridge_does():
    X, s = curved(300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    settings = BoostingSettings(max_iter=1, learning_rate=1.0, max_leaf_nodes=4, strength=7.0)
    found = boost(part(X, s, SquaredError(), share=weight), settings)
    scaled = weight / weight.mean()
    mean = np.average(s, weights=weight)
    for decision in np.unique(found.decision):
        mine = found.decision == decision
        ridge = (scaled[mine] @ (s[mine] - mean)) / (scaled[mine].sum() + 7.0)
        assert decision - mean == pytest.approx(ridge)


def test_decisions_in_a_wide_band_do_not_move():
    X, s = curved(300)
    found = boost(part(X, s, band=Band(0.0, np.ptp(s))), BoostingSettings())
    assert found.n_trees == 0
    assert found.trees.text == ""
    assert found.cost.tolist() == [0.0]
    assert np.unique(found.trees.predict(X)).tolist() == [found.trees.start]


@pytest.mark.parametrize("X", [np.ones((50, 2)), np.arange(12.0)[:, None]])
def test_nothing_to_split(X):
    s = np.random.default_rng(0).gamma(2.0, 3.0, len(X))
    found = boost(part(X, s), BoostingSettings())
    assert found.n_trees == 0
    assert (found.decision == found.trees.start).all()
    assert found.importances.tolist() == [0.0] * X.shape[1]


def test_held_out_rows_choose_the_number_of_trees():
    X, s = curved(400)
    other_X, other = curved(300, seed=1)
    settings = BoostingSettings(max_iter=400, learning_rate=0.3, n_iter_no_change=7)
    found = boost(part(X, s), settings, held=part(other_X, other))
    assert 0 < found.n_trees < 393
    assert found.held_cost.size == found.cost.size == found.n_trees + 8
    assert found.held_cost.argmin() == found.n_trees
    decision = found.trees.predict(other_X)
    assert decision == pytest.approx(found.held_decision)
    assert Newsvendor(9, 1).cost(decision, other).mean() == pytest.approx(found.held_cost.min())
    assert found.trees.predict(X) == pytest.approx(found.decision)
    assert found.trees.text.count("Tree=") == found.n_trees


def test_held_out_rows_may_want_no_tree_at_all():
    X, s = curved(200)
    start = read_objective(part(X, s, Newsvendor(9, 1))).start()
    held = part(X, np.full(200, start))
    found = boost(part(X, s), BoostingSettings(), held=held)
    assert found.n_trees == 0
    assert (found.trees.predict(X) == start).all()


def test_a_cost_that_is_not_convex_gets_cheaper():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(800, 2))
    failure = (4 + 12 * (X[:, 0] > 0.5)) * generator.weibull(4.0, 800)
    cost = PreventiveReplacement(planned=1.0, failure=5.0, discount=0.05)
    found = boost(part(X, failure, cost), BoostingSettings(max_iter=30))
    assert found.cost[-1] < 0.9 * found.cost[0]
    late = found.decision[X[:, 0] > 0.5].mean()
    assert late > 2 * found.decision[X[:, 0] < 0.5].mean()


def test_lightgbm_draws_rows_if_asked():
    X, s = curved(500)
    drawn = BoostingSettings(max_iter=5, options={"bagging_fraction": 0.5, "bagging_freq": 1})
    found = boost(part(X, s), drawn)
    assert found.trees.predict(X) == pytest.approx(found.decision)
    all_rows = boost(part(X, s), BoostingSettings(max_iter=5))
    assert not np.array_equal(found.decision, all_rows.decision)


def test_what_lightgbm_refuses_is_one_sentence():
    X, s = curved(100)
    with pytest.raises(InvalidInput, match=r"^options must be such as LightGBM takes, got: .*\.$"):
        boost(part(X, s), BoostingSettings(options={"max_bin": 1}))


def test_lightgbm_is_missing(monkeypatch):
    X, s = curved(100)
    found = boost(part(X, s), BoostingSettings(max_iter=2))
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    sentence = "BoostedDecision needs lightgbm: install it with pip install 'lightgbm>=4.5'."
    for attempt in (lambda: boost(part(X, s), BoostingSettings()), lambda: found.trees.predict(X)):
        with pytest.raises(MissingPackage) as caught:
            attempt()
        assert str(caught.value) == sentence


@st.composite
def random_trees(draw):
    """Split a leaf at random, again and again, as LightGBM numbers splits and leaves."""
    n_leaves = draw(st.integers(2, 9))
    feature, left, right, parent = [], [], [], {}
    for split in range(n_leaves - 1):
        leaf = draw(st.integers(0, split))
        if leaf in parent:
            above, side = parent[leaf]
            (left if side == "left" else right)[above] = split
        feature.append(draw(st.integers(0, 2)))
        left.append(-1 - leaf)
        right.append(-1 - (split + 1))
        parent[leaf], parent[split + 1] = (split, "left"), (split, "right")
    numbers = st.lists(st.integers(-5, 5).map(float), min_size=n_leaves, max_size=n_leaves)
    weights = st.lists(st.sampled_from([0.5, 1.0, 4.0]), min_size=n_leaves, max_size=n_leaves)
    splits = (np.array(feature), np.array(left), np.array(right))
    return splits, np.array(draw(numbers)), np.array(draw(weights))


def _under(splits, node):
    if node < 0:
        return [-1 - node]
    return _under(splits, splits[1][node]) + _under(splits, splits[2][node])


@given(random_trees())
def test_mended_leaves_are_ordered_at_every_split(tree):
    splits, value, weight = tree
    signs = (1, -1, 0)
    corrected = keep_monotone(value, weight, splits, signs)
    ordered = True
    for feature, left, right in zip(*splits, strict=True):
        sign = signs[feature]
        below, above = _under(splits, left), _under(splits, right)
        if sign:
            assert (sign * corrected[below]).max() <= (sign * corrected[above]).min() + 1e-12
            ordered &= (sign * value[below]).max() <= (sign * value[above]).min()
    if ordered:
        assert np.array_equal(corrected, value)
    assert value.min() - 1e-12 <= corrected.min() <= corrected.max() <= value.max() + 1e-12


def test_two_leaves_in_the_wrong_order_meet_at_their_mean():
    splits = (np.array([0]), np.array([-1]), np.array([-2]))
    args = np.array([4.0, 1.0]), np.array([1.0, 2.0]), splits
    assert keep_monotone(*args, (1,)) == pytest.approx([2.0, 2.0])
    assert keep_monotone(*args, (-1,)).tolist() == [4.0, 1.0]
