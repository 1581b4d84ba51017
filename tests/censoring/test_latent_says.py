"""What `LatentBand` says where arithmetic fails, and where the data cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LatentBand, Newsvendor
from unmet.errors import SolverFailure

COST = Newsvendor(3, 1)


def rows(n_rows=120, seed=0):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n_rows, 2))
    return X, 10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)


def test_arithmetic_that_fails_is_one_of_our_errors(monkeypatch):
    def singular(*_, **__):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("unmet.censoring.latent.fit.explain", singular)
    with pytest.raises(
        SolverFailure, match=r"could not be fitted .* \(Singular matrix\): look for"
    ):
        LatentBand(random_state=0).fit(COST, *rows(40))


def test_decisions_range_over_every_share_that_is_left():
    """Any share may be hidden, so no decision of such a share is ruled out."""
    generator = np.random.default_rng(3)
    X = generator.uniform(size=(300, 1))
    demand = generator.gamma(2.0, 1.2, 300) * (1 + X[:, 0])
    sales = np.minimum(demand, generator.gamma(6.0, 0.5, 300) * (1 + X[:, 0]))
    rule = LatentBand(random_state=0).fit(Newsvendor(4, 1), X, sales)
    found = rule.diagnosis_
    assert (found.identified, found.share_range) == ("no", (0.0, 1.0))
    low, high = found.decision_range
    curve = found.sensitivity
    of_rates = [y for y, rate in zip(curve.decision, curve.rate, strict=True) if rate <= 0.6]
    assert low <= min(of_rates) + 1e-9
    assert high >= max(of_rates) - 1e-9 > low + 1
    told = rule.fit(Newsvendor(4, 1), X, sales, censored=demand > sales).diagnosis_
    assert low < told.decision < high
    said = " ".join(str(found).split())
    assert "are possible if at most 60% of the rows hide some of the truth" in said
    assert "set no upper limit" in said
