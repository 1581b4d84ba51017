"""What `LatentBand` says where arithmetic fails."""

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
