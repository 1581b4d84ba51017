"""The latent distribution as a survival regressor: skpro's checks, and known distributions."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

pytest.importorskip("skpro")

from skpro.base import BaseObject
from skpro.utils import check_estimator

from unmet import LatentBand
from unmet.adapters import LatentSurvival
from unmet.adapters.skpro import LatentDistribution
from unmet.errors import InvalidInput

N = 600
_generator = np.random.default_rng(5)
X = pd.DataFrame(_generator.uniform(size=(N, 2)), columns=["warmth", "price"])
CENTRE = 60 + X.to_numpy() @ [30, -20]
DEMAND = CENTRE + _generator.normal(scale=10, size=N)
STOCK = CENTRE + _generator.normal(3, 6, size=N)
SALES = pd.DataFrame({"sales": np.minimum(DEMAND, STOCK)})
C = pd.DataFrame({"sales": (DEMAND > STOCK).astype(int)})  # 1 is censored
NEW = pd.DataFrame({"warmth": [0.1, 0.5, 0.9], "price": [0.2, 0.5, 0.3]}, index=["a", "b", "c"])
TRUTH = stats.norm(60 + NEW.to_numpy() @ [30, -20], 10)
RULE = LatentBand(families="normal", location=None, random_state=0)


@pytest.fixture(scope="module")
def model():
    return LatentSurvival(RULE).fit(X, SALES, C=C)


@pytest.mark.slow
def test_checks_of_skpro():
    found = check_estimator(LatentSurvival, raise_exceptions=True, verbose=False)
    assert set(found.values()) == {"PASSED"}
    assert len(found) > 50


def test_learns_the_truth_from_flags(model):
    assert 0.3 < C["sales"].mean() < 0.5
    for level in (0.1, 0.8, 0.95):
        found = model.predict_quantiles(NEW, [level])[("sales", level)]
        np.testing.assert_allclose(found, TRUTH.ppf(level), atol=2.5)
    # without C all are taken for seen, and sales for demand
    blind = LatentSurvival(RULE).fit(X, SALES).predict_quantiles(NEW, [0.9])[("sales", 0.9)]
    assert (blind < TRUTH.ppf(0.9) - 4).all()
    np.testing.assert_allclose(model.predict(NEW)["sales"], TRUTH.mean(), atol=2.5)


def test_distributions(model):
    distribution = model.predict_proba(NEW)
    assert isinstance(distribution, LatentDistribution)
    assert isinstance(distribution, BaseObject)
    assert list(distribution.index) == ["a", "b", "c"]
    assert distribution.shape == (3, 1)
    levels = pd.DataFrame({"sales": [0.05, 0.7, 0.99]}, index=NEW.index)
    values = distribution.ppf(levels)
    np.testing.assert_allclose(distribution.cdf(values), levels, atol=1e-8)
    np.testing.assert_allclose(distribution.surv(values), 1 - levels, atol=1e-8)
    by_rule = model.rule_.quantile(NEW.to_numpy(), levels["sales"].to_numpy())
    np.testing.assert_allclose(values["sales"], by_rule)
    # density and moments, each by an integral of something else
    for row in range(3):
        one = distribution.iat[row, 0]
        assert one.shape == ()
        ends = float(one.ppf(1e-9)), float(one.ppf(1 - 1e-9))
        total, _ = integrate.quad(lambda x, d=one: float(d.pdf(x)), *ends, limit=200)
        assert total == pytest.approx(1, abs=1e-5)
        mean, _ = integrate.quad(lambda x, d=one: x * float(d.pdf(x)), *ends, limit=200)
        assert distribution.mean().iloc[row, 0] == pytest.approx(mean, rel=1e-4)
        second, _ = integrate.quad(
            lambda x, d=one, m=mean: (x - m) ** 2 * float(d.pdf(x)), *ends, limit=200
        )
        assert distribution.var().iloc[row, 0] == pytest.approx(second, rel=1e-3)
    np.testing.assert_allclose(np.exp(distribution.log_pdf(values)), distribution.pdf(values))
    assert np.isneginf(distribution.log_pdf(-1e6)).all().all()


def test_refused():
    with pytest.raises(InvalidInput, match=r"^rule must be a LatentBand or None, got 'latent'\.$"):
        LatentSurvival("latent").fit(X, SALES)
