"""Columns that are not written out give the answers of columns that are."""

import numpy as np
import pytest
from scipy import sparse, stats

from unmet import LatentBand, Newsvendor
from unmet.bands import constants as tuned
from unmet.bands.latent import families
from unmet.bands.latent.basis import (
    SparseBasis,
    least_squares,
    ready_to_solve,
    second_moments,
    thinned,
)
from unmet.bands.latent.families import FAMILIES
from unmet.bands.latent.fitting import (
    LatentModel,
    LikelihoodProblem,
    OrthogonalBasis,
    RateSurface,
    information,
    objective,
    row_gradients,
)
from unmet.bands.latent.likelihood import UNKNOWN, RowKinds


def shops(n_rows, seed, *, year=False):
    """Dummies of shops and items, a price, and a year far from 0."""
    generator = np.random.default_rng(seed)
    shop, item = generator.integers(0, 20, n_rows), generator.integers(0, 12, n_rows)
    price = generator.uniform(1.0, 2.0, n_rows)
    columns = [shop[:, None] == np.arange(20), item[:, None] == np.arange(12), price[:, None]]
    if year:
        columns.append(2000.0 + generator.integers(0, 3, n_rows)[:, None])
    return np.column_stack(columns).astype(float)


@pytest.fixture(scope="module", params=[False, True], ids=["prices", "years"])
def both(request):
    features = shops(400, seed=3, year=request.param)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, 400)
    design = OrthogonalBasis.of(features, weight)
    thin = design.columns(features)
    assert isinstance(thin, SparseBasis)
    return design.basis(features), thin


def test_products_rows_and_columns_are_those_of_the_basis_written_out(both):
    dense, thin = both
    generator = np.random.default_rng(5)
    assert thin.shape == dense.shape
    np.testing.assert_allclose(np.asarray(thin), dense, atol=1e-9)
    right, left = generator.normal(size=dense.shape[1]), generator.normal(size=400)
    np.testing.assert_allclose(thin @ right, dense @ right, atol=1e-9)
    np.testing.assert_allclose(left @ thin, left @ dense, atol=1e-8)
    some = np.flatnonzero(left > 0.3)
    np.testing.assert_allclose(np.asarray(thin[some]), dense[some], atol=1e-9)
    np.testing.assert_allclose(np.asarray(thin[:, 1:]), dense[:, 1:], atol=1e-9)


def test_second_moments_and_least_squares_are_those_of_the_basis_written_out(both):
    dense, thin = both
    generator = np.random.default_rng(6)
    weight, target = generator.uniform(0.2, 3.0, 400), generator.normal(size=400)
    for left, right in ((thin, thin), (thin, thin[:, 1:]), (thin, dense), (dense, thin)):
        expected = np.einsum("i,ij,ik->jk", weight, np.asarray(left), np.asarray(right))
        np.testing.assert_allclose(second_moments(left, right, weight), expected, atol=1e-7)
    root = np.sqrt(weight)
    expected = np.linalg.lstsq(dense * root[:, None], target * root, rcond=None)[0]
    np.testing.assert_allclose(least_squares(thin, target, weight), expected, atol=1e-8)


def test_least_squares_of_a_shop_without_weight_leaves_the_smallest_coefficients(both):
    dense, thin = both
    features = np.asarray(thin.cells.toarray())
    gone = features[:, -1] != 0  # all rows of one item
    assert 0 < gone.sum() < 400
    target = np.random.default_rng(7).normal(size=400)
    found = least_squares(thin, target, (~gone).astype(float))
    expected = np.linalg.lstsq(dense[~gone], target[~gone], rcond=None)[0]
    np.testing.assert_allclose(dense[~gone] @ found, dense[~gone] @ expected, atol=1e-8)


def test_only_features_that_are_mostly_zero_and_many_are_thinned():
    features = shops(60, seed=8)
    assert sparse.issparse(thinned(features))
    assert thinned(features[:, : tuned.MIN_SPARSE_COLUMNS - 1]).shape[0] == 60
    assert not sparse.issparse(thinned(features[:, : tuned.MIN_SPARSE_COLUMNS - 1]))
    assert not sparse.issparse(thinned(features + 1.0))
    # rows that occur many times are merged by a solver: it gets them as they are
    many = np.repeat(np.eye(30), 20, axis=0)
    assert ready_to_solve(many) is many
    assert sparse.issparse(ready_to_solve(features))


def problems(policy, both, rate=None):
    dense, thin = both
    generator = np.random.default_rng(9)
    point = generator.normal(size=400)
    for basis in (dense, thin):
        scale = basis[:, 1:]
        model = LatentModel(FAMILIES["student"], policy, basis.shape[1], scale.shape[1])
        kinds = RowKinds.of(np.full(400, UNKNOWN))
        weight = np.linspace(0.5, 1.5, 400)
        yield LikelihoodProblem(model, basis, scale, point, kinds, weight, rate)


def test_likelihood_and_information_are_those_of_the_basis_written_out(both):
    plain, thin = problems("mixture", both)
    here = 0.1 * np.random.default_rng(10).normal(size=plain.model.slices.size)
    for one, other in zip(objective(plain, here), objective(thin, here), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
    _, gradient = row_gradients(plain, here)
    expected = (gradient * plain.weight[:, None]).T @ gradient
    for problem in (plain, thin):
        np.testing.assert_allclose(information(problem, here), expected, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("policy", ["noisy", "mixture"])
def test_coordinates_of_a_rate_meet_it_wherever_they_are(policy, both):
    problem, _ = problems(policy, both, (0.23, 0.005))
    model, generator = problem.model, np.random.default_rng(11)
    start = 0.3 * generator.normal(size=model.slices.size)
    surface = RateSurface.of(problem, start)
    assert surface.bent
    here = surface.from_parameters(start)
    np.testing.assert_allclose(surface.to_parameters(here)[0], start, atol=1e-8)
    for _ in range(5):
        there = here + 0.4 * generator.normal(size=here.size)
        there[model.slices.level] = 0.0
        parameters, _ = surface.to_parameters(there)
        assert model.share_censored(parameters) == pytest.approx(0.23, abs=1e-7)
    # the gradient is that of the value
    value, gradient = surface.objective(here)
    assert value == pytest.approx(objective(problem, start)[0], rel=1e-6)
    for place in (0, 3, *range(model.slices.scale.start, here.size, 9), here.size - 1):
        step = 1e-5 * (np.arange(here.size) == place)
        ends = [surface.objective(each)[0] for each in (here + step, here - step)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=2e-3, abs=2e-3)


def test_many_points_of_a_student_survive_as_few_do():
    u = np.concatenate([np.linspace(-12.0, 12.0, 3000), [-40.0, 60.0]])
    assert u.size >= families._MANY
    for shape in (-4.0, 0.3, 2.0, 5.0):
        found = FAMILIES["student"].log_survival(u, shape)
        expected = stats.t.logsf(u, 2.0 + np.exp(shape))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["skewed", "skewed_left", "gamma"])
def test_many_points_of_a_log_gamma_survive_as_few_do(name):
    u, family = np.linspace(-9.0, 9.0, 3000), FAMILIES[name]
    for shape in (-1.2, 0.4, 3.0, 6.5):
        for tail in (family.log_survival, family.log_below):
            parts = [tail(part, shape) for part in np.split(u, 3)]
            np.testing.assert_allclose(tail(u, shape), np.concatenate(parts), rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_a_part_of_the_rows_first_gives_the_verdict_of_all_rows(monkeypatch):
    """Sixfold as many rows as are looked at first; a truth that is skewed, and nothing hidden."""
    generator = np.random.default_rng(12)
    features = generator.normal(size=(1800, 2))
    sales = 20.0 + 2.0 * features[:, 0] + 3.0 * generator.gumbel(size=1800)
    found = []
    for enough in (300, 10_000):
        monkeypatch.setattr(tuned, "ROWS_LOOKED_AT_FIRST", enough)
        rule = LatentBand(random_state=0).fit(Newsvendor(4, 1), features, sales)
        found.append((rule.diagnosis_, rule.quantile(features[:40], 0.8)))
    (part, decided), (whole, expected) = found
    assert part.identified == whole.identified
    assert part.chosen.truth == whole.chosen.truth
    assert part.chosen.score == pytest.approx(whole.chosen.score, abs=1e-4)
    np.testing.assert_allclose(decided, expected, rtol=1e-3)
