"""What `LatentBand` says of its own limits: decisions far from all data, a search that is cut."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LatentBand, Newsvendor
from unmet.censoring.latent import fit
from unmet.errors import SolverFailure

COST = Newsvendor(3, 1)
FEW = {"families": ("normal", "gumbel"), "orders": ("absent", "noisy")}  # takes less time


def rows(n_rows=120, seed=0):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n_rows, 2))
    return X, 10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)


def test_decisions_far_from_what_was_seen_are_said_to_be():
    """Nearly all lifetimes outlast the study: decisions lie where nothing was seen."""
    X, y = rows(60)
    rule = LatentBand(random_state=0, **FEW).fit(COST, X, y)
    assert not any("times the largest" in note for note in rule.diagnosis_.notes)
    lives = np.exp(1.5 * np.random.default_rng(1).normal(size=200))
    rule = LatentBand(families="lognormal", random_state=0)
    seen = np.minimum(lives, 1.0), {"censored": lives > 1.0}
    rule.fit(Newsvendor(9999, 1), np.zeros((200, 1)), seen[0], **seen[1])
    (note,) = [note for note in rule.diagnosis_.notes if "times the largest" in note]
    assert "times the largest observation, 1:" in note
    assert note in rule.diagnosis_for(Newsvendor(9, 1)).notes


@pytest.mark.parametrize("known", ["nothing", "flags"])
def test_a_search_without_end_is_cut_short_and_said_to_be(monkeypatch, known):
    X, y = rows(60)
    given = {"censored": np.arange(y.size) % 3 == 0} if known == "flags" else {}
    usual = LatentBand(random_state=0, **FEW).fit(COST, X, y, **given)
    assert not any("cut short" in note for note in usual.diagnosis_.notes)
    monkeypatch.setattr(fit, "MAX_EVALUATIONS", 20)
    cut = LatentBand(random_state=0, **FEW).fit(COST, X, y, **given)
    assert any("cut short after 20 evaluations" in note for note in cut.diagnosis_.notes)
    assert np.isfinite(cut.decision(X)).all()


def test_arithmetic_that_fails_is_one_of_our_errors(monkeypatch):
    def singular(*_, **__):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("unmet.censoring.latent.fit.explain", singular)
    with pytest.raises(
        SolverFailure, match=r"could not be fitted .* \(Singular matrix\): look for"
    ):
        LatentBand(random_state=0).fit(COST, *rows(40))
