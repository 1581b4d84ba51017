"""Columns that are not written out give the answers of columns that are."""

import numpy as np
import pytest

from unmet import LatentBand, Newsvendor
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import (
    SparseBasis,
)
from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.fitting import (
    LatentModel,
    LikelihoodProblem,
    OrthogonalBasis,
    information,
    objective,
    row_gradients,
)
from unmet.censoring.latent.likelihood import UNKNOWN, RowKinds


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
