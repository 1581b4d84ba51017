"""A part of what `fuzz_bands` and `fuzz_models` do at length, and cases that once went wrong."""

from __future__ import annotations

import warnings

import fuzz_bands
import fuzz_models
import numpy as np
import pytest

from unmet import BoostedDecision, LatentBand, LinearDecision, NeuralDecision, Newsvendor
from unmet.censoring import constants as tuned
from unmet.errors import InvalidInput, SolverFailure
from unmet.rows import SIZES, SMALLEST_OF_TREES

COST = Newsvendor(3, 1)
FEW = {"families": ("normal", "gumbel"), "orders": ("absent", "noisy")}  # takes less time
# seeds with few rows that ended in errors or warnings of NumPy and SciPy, or in late refusals
ONCE_WRONG = (61, 205, 206, 305, 333, 346, 584, 818, 1024)


def quick(seed):
    problem = fuzz_bands.generate(seed)
    return problem.y.size <= 20 and problem.rule["when_unidentified"] == "least_censoring"


QUICK = [seed for seed in range(1000, 1100) if quick(seed)][:12]


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", [*ONCE_WRONG, *QUICK])
def test_an_awkward_series_gets_a_band_or_a_sentence(seed):
    problem = fuzz_bands.generate(seed)
    verdict = fuzz_bands.evaluate(problem)
    assert verdict.outcome in ("band", "refused"), f"{problem.kinds}: {verdict.detail}"


@pytest.mark.fuzz
def test_the_evaluation_finds_what_is_wrong(monkeypatch):
    problem = fuzz_bands.generate(3)

    def cheat(act):
        monkeypatch.setattr(LatentBand, "decision", act)
        return fuzz_bands.evaluate(problem).outcome

    def loud(rule, X):
        warnings.warn("overflow", RuntimeWarning, stacklevel=2)
        return problem.y

    assert cheat(lambda rule, X, *_: problem.y) == "band"
    assert cheat(lambda rule, X, *_: problem.y * np.nan) == "not finite"
    assert cheat(lambda rule, X, cost=None: 1e3 * problem.y * (cost is None)) == "far"
    assert cheat(lambda rule, X, *_: loud(rule, X)) == "warning"
    assert cheat(lambda rule, X, *_: [][0]) == "foreign"

    def refuse(rule, X, *_):
        raise InvalidInput("no")

    assert cheat(refuse) == "refused"  # weights over many decades are outside of what is stated
    assert fuzz_bands.evaluate(fuzz_bands.generate(205)).outcome == "refused late"


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", [*range(30), 781, 841])  # once beside a constant that is free
def test_a_hostile_problem_gets_decisions_or_a_sentence(seed):
    problem = fuzz_models.generate(seed)
    verdict = fuzz_models.evaluate(problem)
    assert verdict.outcome in ("decided", "refused"), f"{problem.kinds}: {verdict.detail}"


# --- What is promised, case by case.


def rows(n_rows=120, seed=0):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n_rows, 2))
    return X, 10 + 2 * X[:, 0] + chance.gamma(2, 1, n_rows)


@pytest.mark.parametrize("size", [1e-199, 5e-324, 1e150])
@pytest.mark.parametrize(
    ("model", "user"),
    [
        (NeuralDecision(COST, random_state=0), "a network"),
        (BoostedDecision(COST, random_state=0), "trees"),
        (LinearDecision(COST, band=LatentBand(random_state=0)), "a latent model"),
    ],
    ids=["network", "trees", "latent"],
)
def test_sizes_that_squares_cannot_hold_are_refused(model, user, size):
    X, y = rows(40)
    least = "1e-25" if user == "trees" else "1e-30"
    said = (
        rf"^The largest number of y must be between {least} and 1e\+30 in size, or 0, for {user}, "
    )
    with pytest.raises(InvalidInput, match=said):
        model.fit(X, y * size)


ENDS = (2.0 * SIZES[0], 2.0 * SMALLEST_OF_TREES, 0.01 * SIZES[1])


@pytest.mark.fuzz
@pytest.mark.parametrize("size", ENDS)
def test_sizes_just_inside_give_the_same_decisions(size):
    """What is promised is kept up to its ends; powers of two leave every digit alone."""
    X, y = rows(60)
    power = 2.0 ** round(np.log2(size / y.max()))
    models = [NeuralDecision(COST, random_state=0)]
    if size >= SMALLEST_OF_TREES:
        models.append(BoostedDecision(COST, random_state=0))
    for model in models:
        usual = model.fit(X, y).predict(X)
        assert model.fit(X, y * power).predict(X) / power == pytest.approx(usual, rel=1e-4)
    usual = LatentBand(random_state=0, **FEW).fit(COST, X, y).decision(X)
    scaled = LatentBand(random_state=0, **FEW).fit(COST, X, y * power).decision(X)
    assert scaled / power == pytest.approx(usual, rel=1e-6)


def test_partial_fits_and_many_networks_are_asked_as_well():
    X, y = rows(40)
    with pytest.raises(InvalidInput, match="for a network, got"):
        NeuralDecision(COST, solver="adam", random_state=0).partial_fit(X, y * 1e-199)
    with pytest.raises(InvalidInput, match=r"up to .* got .*, column 1: state it in another unit"):
        NeuralDecision(COST, random_state=0).fit(X * [1.0, 1e150], y)
    with pytest.raises(InvalidInput, match="cost underage"):
        NeuralDecision(Newsvendor(3e-150, 1.0), random_state=0).fit(X, y)


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
