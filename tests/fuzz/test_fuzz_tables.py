"""A bounded part of `make fuzz tables`, and whether its outcomes can be trusted."""

import fuzz
import fuzz_tables
import numpy as np
import polars as pl
import pytest
from fuzz_tables import FAILURES, SalesCase, evaluate, generate

from unmet import OrderPlan
from unmet.errors import InvalidInput

pytestmark = pytest.mark.fuzz


def test_ordinary_tables_are_planned_without_a_surprise():
    seeds = range(1_000_001, 1_000_031)  # other seeds than those of `make fuzz`
    found = [(seed, evaluate(generate(seed))) for seed in seeds]
    assert [(seed, verdict) for seed, verdict in found if verdict.outcome in FAILURES] == []
    assert sum(verdict.outcome == "planned" for _, verdict in found) >= 25


def test_outcomes_are_told_apart(monkeypatch):
    case = SalesCase(1, file="pandas", shape="plain", words=("plan", "--model", "seasonal"))
    assert evaluate(case).outcome == "planned"
    orders = OrderPlan.orders

    def absurd(self):
        return orders(self).assign(order=1e6)

    def missing(self):
        return orders(self).iloc[7:]

    def negative(self):
        return orders(self).assign(order=-1)

    for action in (absurd, missing, negative):
        monkeypatch.setattr(OrderPlan, "orders", action)
        assert evaluate(case).outcome == "absurd"

    def refused(self):
        raise InvalidInput("no.")

    def foreign(self):
        return {}["lost"]

    def warned(self):
        np.float64(1) / np.float64(0)
        return orders(self)

    for action, outcome in ((refused, "picky"), (foreign, "foreign"), (warned, "warned")):
        monkeypatch.setattr(OrderPlan, "orders", action)
        assert evaluate(case).outcome == outcome
    assert evaluate(SalesCase(1, n_periods=3, file="pandas", shape="plain")).outcome == "warned"


def test_a_command_that_warns_or_fails_is_found(monkeypatch):
    case, fit = SalesCase(1, words=("plan", "--model", "seasonal")), OrderPlan.fit
    assert evaluate(case).outcome == "planned"

    def warned(self, *given, **named):
        np.float64(1) / np.float64(0)
        return fit(self, *given, **named)

    def foreign(self, *given, **named):
        return {}["lost"]

    for action in (warned, foreign):
        monkeypatch.setattr(OrderPlan, "fit", action)
        assert evaluate(case).outcome == action.__name__


def test_a_seed_makes_one_table_and_a_failure_is_shrunk(monkeypatch, tmp_path):
    case = next(case for seed in range(1, 99) if "typo" in (case := generate(seed)).mishaps)
    again = eval(case.source(), {"SalesCase": SalesCase})
    assert again == case == generate(case.seed)
    first, second = (each.rows()[0] for each in (case, again))
    assert pl.DataFrame(first.astype(str)).equals(pl.DataFrame(second.astype(str)))

    def fails_with_a_typo(case):
        return fuzz.Verdict("absurd" if "typo" in case.mishaps else "planned")

    monkeypatch.setattr(fuzz_tables, "evaluate", fails_with_a_typo)
    smallest = fuzz.shrink(fuzz_tables, case, "absurd")
    assert smallest.mishaps == ("typo",)
    assert (smallest.file, smallest.form, smallest.n_items) == ("csv", "%Y-%m-%d", 1)
