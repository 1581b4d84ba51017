"""What `LatentBand` says of its own limits: decisions far from all data, a search that is cut."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LatentBand, Newsvendor
from unmet.censoring import constants as tuned
from unmet.errors import SolverFailure

COST = Newsvendor(3, 1)
FEW = {"families": ("normal", "gumbel"), "orders": ("absent", "noisy")}  # takes less time


def rows(n_rows=120, seed=0):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n_rows, 2))
    return X, 10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)


def test_decisions_far_from_what_was_seen_are_said_to_be(monkeypatch):
    """The stated multiple is what counts, and the note has both numbers."""
    X, y = rows(60)
    rule = LatentBand(random_state=0, **FEW).fit(COST, X, y)
    assert not any("times the largest" in note for note in rule.diagnosis_.notes)
    furthest = np.abs(rule.decision(X)).max() / y.max()
    monkeypatch.setattr(tuned, "FAR_FROM_SEEN", 0.99 * furthest)
    rule.fit(COST, X, y)
    (note,) = [note for note in rule.diagnosis_.notes if "times the largest" in note]
    assert f"times the largest observation, {y.max():.6g}" in note
    assert note in rule.diagnosis_for(Newsvendor(9, 1)).notes
    monkeypatch.setattr(tuned, "FAR_FROM_SEEN", 1.01 * furthest)
    assert not any("times the" in note for note in rule.fit(COST, X, y).diagnosis_.notes)


@pytest.mark.parametrize("known", ["nothing", "flags"])
def test_a_search_without_end_is_cut_short_and_said_to_be(monkeypatch, known):
    X, y = rows(60)
    given = {"censored": np.arange(y.size) % 3 == 0} if known == "flags" else {}
    usual = LatentBand(random_state=0, **FEW).fit(COST, X, y, **given)
    assert not any("cut short" in note for note in usual.diagnosis_.notes)
    monkeypatch.setattr(tuned, "MAX_EVALUATIONS", 20)
    cut = LatentBand(random_state=0, **FEW).fit(COST, X, y, **given)
    assert any("cut short after 20 evaluations" in note for note in cut.diagnosis_.notes)
    assert np.isfinite(cut.decision(X)).all()


def test_arithmetic_that_fails_is_one_of_our_errors(monkeypatch):
    def singular(*_, **__):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("unmet.censoring.latent.band.learn", singular)
    with pytest.raises(
        SolverFailure, match=r"could not be fitted .* \(Singular matrix\): look for"
    ):
        LatentBand(random_state=0).fit(COST, *rows(40))
