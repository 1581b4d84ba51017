"""A bounded part of `make fuzz`, and whether its outcomes can be trusted."""

from dataclasses import replace

import fuzz
import fuzz_ordinary
import numpy as np
import pytest
from fuzz_ordinary import FAILURES, OUTCOMES, Case, evaluate, generate

from unmet import LinearDecision
from unmet.errors import SolverFailure

pytestmark = pytest.mark.fuzz


def plain(**other):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = 5 + X @ [1.0, 2.0, 3.0] + rng.standard_normal(30)
    return Case(X, y, 4.0, 1.0, **other)


def test_ordinary_problems_are_solved_as_highs_solves_them():
    seeds = range(1_000_000, 1_000_060)  # other seeds than those of `make fuzz`
    found = [(seed, evaluate(generate(seed))) for seed in seeds]
    assert [(seed, verdict) for seed, verdict in found if verdict.outcome in FAILURES] == []
    assert sum(verdict.outcome == "solved" for _, verdict in found) >= 58


@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
@pytest.mark.parametrize(("share", "outcome"), [(1e-2, "above"), (1e-12, "solved")])
def test_a_coefficient_that_is_off_is_found(monkeypatch, penalty, share, outcome):
    fit, case = LinearDecision.fit, plain(penalty=penalty, strength=0.01)

    def a_little_off(self, *given, **named):
        fit(self, *given, **named)
        self.coef_ = self.coef_ * (1 + share)
        cost = case.problem().objective(self.coef_, self.intercept_)
        self.solution_ = replace(self.solution_, objective=cost, gap=0.0)
        return self

    monkeypatch.setattr(LinearDecision, "fit", a_little_off)
    assert evaluate(case).outcome == outcome


def test_the_reference_sees_what_the_last_digits_of_a_sum_tell(monkeypatch):
    generator = np.random.default_rng(0)
    first, second, rest = generator.normal(size=(3, 60))
    X = np.column_stack([first, second, first + second + 1e-8 * rest])
    case, fit = Case(X, 10 + rest + 0.01 * first**2, 4.0, 1.0), LinearDecision.fit
    assert evaluate(case).outcome == "solved"

    def blind(self, X, y, **named):
        fit(self, X[:, :2], y, **named)
        self.coef_ = np.append(self.coef_, 0.0)
        return self

    monkeypatch.setattr(LinearDecision, "fit", blind)
    assert evaluate(case).outcome == "above"


def test_untrue_costs_foreign_errors_and_refusals_are_told_apart(monkeypatch):
    fit = LinearDecision.fit

    def untrue(self, *given, **named):
        fit(self, *given, **named)
        self.solution_ = replace(self.solution_, objective=0.9 * self.solution_.objective)
        return self

    def gap(self, *given, **named):
        fit(self, *given, **named)
        self.solution_ = replace(self.solution_, gap=1e-3)
        return self

    def foreign(self, *given, **named):
        return np.float64(1) / np.float64(0)  # a warning of NumPy's is foreign, too

    def refused(self, *given, **named):
        raise SolverFailure("no.")

    for action in (untrue, gap, foreign, refused):
        monkeypatch.setattr(LinearDecision, "fit", action)
        assert evaluate(plain()).outcome == action.__name__


def test_a_run_counts_its_outcomes_and_writes_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "CHUNK", 4)
    first = fuzz.run("ordinary", 0, 6, 1)
    assert sum(first["outcomes"].values()) == 6
    fuzz.show(first)
    assert "seeds 0 to 5" in capsys.readouterr().out
    page = tmp_path / "page.md"
    marks = "<!-- fuzz ordinary: begin -->\nold\n<!-- fuzz ordinary: end -->"
    page.write_text(f"before\n{marks}\nafter\n")
    fuzz.write_page(page, first)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    for outcome in OUTCOMES:
        assert f"| {outcome} " in text


def test_a_failure_is_shrunk_while_its_outcome_stays(monkeypatch):
    def fails_with_a_large_observation(case):
        return fuzz.Verdict("gap" if case.y.max() > 10 else "solved")

    monkeypatch.setattr(fuzz_ordinary, "evaluate", fails_with_a_large_observation)
    case = plain(weight=np.ones(30), low=0.0, high=1.0, penalty="l1", as_sparse=True)
    smallest = fuzz.shrink(fuzz_ordinary, case, "gap")
    assert smallest.X.shape == (2, 1)
    assert smallest.y.max() > 10
    assert (smallest.weight, smallest.low, smallest.penalty) == (None, None, None)
    again = eval(smallest.source(), {"Case": Case, "np": np})
    assert np.array_equal(again.X, smallest.X)


def test_what_takes_too_long_is_an_outcome(monkeypatch):
    def endless(case):
        while True:
            pass

    monkeypatch.setattr(fuzz, "LONGEST", 0.2)
    monkeypatch.setattr(fuzz_ordinary, "evaluate", endless)
    assert fuzz.outcome_of(fuzz_ordinary, plain()).outcome == "too slow"
