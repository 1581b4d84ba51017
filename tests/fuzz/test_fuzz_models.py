"""A bounded part of `make fuzz`: forged model files, and whether failures are told apart."""

import os
import signal

import fuzz_models
import pytest
from fuzz import Verdict
from fuzz_models import FAILURES, Case, Child, evaluate, generate

pytest.importorskip("lightgbm")


def test_a_few_forged_trees_are_refused_or_decide():
    cases = [Case("boosted", (("trees", seed),)) for seed in range(40)]
    found = [(case, evaluate(case)) for case in [Case("boosted", ()), *cases]]
    assert found[0][1] == Verdict("decided")
    assert [each for each in found if each[1].outcome in FAILURES] == []
    assert sum(verdict.outcome == "refused" for _, verdict in found) >= 20


@pytest.mark.fuzz
def test_forged_files_are_refused_or_decide():
    seeds = range(1_000_000, 1_000_200)  # other seeds than those of `make fuzz`
    found = [(seed, evaluate(generate(seed))) for seed in seeds]
    assert [each for each in found if each[1].outcome in FAILURES] == []
    assert {verdict.outcome for _, verdict in found} >= {"refused", "decided"}


@pytest.mark.fuzz
def test_a_process_that_ends_or_hangs_is_replaced(monkeypatch, tmp_path):
    child = Child()
    path = str(tmp_path / "none")
    assert child.ask(path).outcome == "refused"
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.join()
    assert child.ask(path).outcome == "crash"
    assert child.ask(path).outcome == "refused"
    os.kill(child.process.pid, signal.SIGSTOP)
    monkeypatch.setattr(fuzz_models, "SECONDS", 0.2)
    assert child.ask(path).outcome == "hang"
