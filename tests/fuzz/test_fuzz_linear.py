"""A bounded part of `make fuzz`, and whether its judge can be trusted."""

import json
from dataclasses import replace
from fractions import Fraction

import fuzz
import fuzz_linear
import fuzz_ordinary
import numpy as np
import pytest
from fuzz_linear import FAILURES, OUTCOMES, Case, Exact, evaluate, generate, least_cost

from unmet import LinearDecision, Newsvendor
from unmet.errors import SolverFailure
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.problem import HingeProblem

pytestmark = pytest.mark.fuzz

PLAIN = {
    "weight": None,
    "underage": 4.0,
    "overage": 1.0,
    "low": None,
    "high": None,
    "intercept": True,
    "penalty": None,
    "strength": 1.0,
    "solver": "exact",
    "as_sparse": False,
}


def plain(n_rows=30, n_features=3, seed=0, **other):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, n_features))
    y = 5 + X @ np.arange(1.0, n_features + 1) + generator.standard_normal(n_rows)
    return Case(X, y, **{**PLAIN, **other})


def test_hostile_problems_are_solved_or_refused_in_a_sentence():
    seeds = range(1_000_000, 1_000_080)  # other seeds than those of `make fuzz`
    found = [(seed, evaluate(generate(seed))) for seed in seeds]
    assert [(seed, verdict) for seed, verdict in found if verdict.outcome in FAILURES] == []
    assert sum(verdict.outcome == "certified" for _, verdict in found) > 40


def test_ordinary_problems_are_solved_as_highs_solves_them():
    seeds = range(1_000_000, 1_000_060)
    found = [(seed, fuzz_ordinary.evaluate(fuzz_ordinary.generate(seed))) for seed in seeds]
    failures = fuzz_ordinary.FAILURES
    assert [(seed, verdict) for seed, verdict in found if verdict.outcome in failures] == []
    assert sum(verdict.outcome == "solved" for _, verdict in found) >= 58


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"low": 0.2, "high": 1.5},
        {"intercept": False},
        {"penalty": "l1", "strength": 0.1},
        {"weight": np.linspace(0.1, 3.0, 30)},
    ],
)
def test_the_bound_of_the_judge_is_what_highs_finds(other):
    case = plain(**other)
    exact = Exact.of(case)
    bound = least_cost(exact, [Fraction(0)] * len(exact.rows[0]))
    share = np.full(30, 1 / 30) if case.weight is None else case.weight / case.weight.sum()
    kinks = Newsvendor(4.0, 1.0).kinks(case.y, _band(case), share)
    lasso = np.full(3, case.strength) if case.penalty else None
    found = solve_highs(HingeProblem(case.X, kinks, case.intercept, None, lasso))
    total = 30 if case.weight is None else case.weight.sum()
    assert float(bound.least) / total == pytest.approx(found.objective, rel=1e-10)


def _band(case):
    from unmet import Band

    return None if case.low is None else Band(case.low, case.high)


@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
@pytest.mark.parametrize(("share", "outcome"), [(1e-3, "wrong"), (1e-12, "certified")])
def test_the_judge_sees_a_coefficient_that_is_off(monkeypatch, penalty, share, outcome):
    fit = LinearDecision.fit

    def a_little_off(self, *given, **named):
        fit(self, *given, **named)
        self.coef_ = self.coef_ * (1 + share)
        return self

    monkeypatch.setattr(LinearDecision, "fit", a_little_off)
    assert evaluate(plain(penalty=penalty, strength=0.01)).outcome == outcome


def test_the_judge_tells_nan_foreign_errors_and_late_refusals_apart(monkeypatch):
    def broken(action, kinds=()):
        monkeypatch.setattr(LinearDecision, "fit", action)
        return evaluate(replace(plain(), kinds=kinds))

    def nan(self, *given, **named):
        self.coef_, self.intercept_ = np.full(3, np.nan), 0.0
        return self

    def foreign(self, *given, **named):
        return np.float64(1) / np.float64(0)  # a warning of NumPy's is foreign, too

    def refusal(self, *given, **named):
        raise SolverFailure("no.")

    assert broken(nan).outcome == "not finite"
    assert broken(foreign).outcome == "foreign"
    assert broken(refusal, kinds=("huge", "plain", "none", "level", "none")).outcome == "refused"
    assert broken(refusal, kinds=("plain",) * 2 + ("none", "level", "none")).outcome == (
        "refused late"
    )


def test_numbers_beyond_the_promised_sizes_must_be_refused(monkeypatch):
    assert not fuzz_linear.beyond(plain())
    for other in ({"underage": 1e-31}, {"weight": np.full(30, 1e31)}, {"low": 0.0, "high": 1e31}):
        case = plain(**other)
        assert fuzz_linear.beyond(case)
        assert evaluate(case).outcome == "refused"
        with monkeypatch.context() as patch:
            patch.setattr(LinearDecision, "fit", lambda self, *given, **named: self)
            assert evaluate(case).outcome == "accepted"


def test_a_run_goes_on_where_it_stopped_and_writes_its_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "CHUNK", 4)
    first = fuzz.run("linear", 0, 8, 1, tmp_path)
    (chunks,) = tmp_path.glob("linear-*/chunks.jsonl")
    lines = chunks.read_text().splitlines()
    chunks.write_text(lines[0] + "\n" + lines[1][:20])  # killed while it wrote
    assert fuzz.run("linear", 0, 8, 1, tmp_path)["outcomes"] == first["outcomes"]
    assert chunks.read_text().startswith(lines[0] + "\n")
    assert [json.loads(line)["count"] for line in chunks.read_text().splitlines()] == [4, 4]
    assert sum(first["outcomes"].values()) == 8
    fuzz.show(first)
    assert "seeds 0 to 7" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- fuzz linear: begin -->\nold\n<!-- fuzz linear: end -->\nafter\n")
    fuzz.write_page(page, first)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    for outcome in OUTCOMES:
        assert f"| {outcome} " in text


def test_what_takes_too_long_is_an_outcome(monkeypatch):
    def endless(case):
        while True:
            pass

    monkeypatch.setattr(fuzz, "LONGEST", 0.2)
    monkeypatch.setattr(fuzz_linear, "judge", endless)
    assert fuzz.outcome_of(fuzz_linear, plain()).outcome == "too slow"
