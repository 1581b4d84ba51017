"""An experiment over seeds and levels: what each row holds, how it goes on, what it writes."""

import csv
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from unmet import LinearDecision, Newsvendor
from unmet.costs import PiecewiseLinearCost
from unmet.costs.hinge import Slopes
from unmet.errors import InvalidInput
from unmet.evaluation import DataSet, Experiment
from unmet.evaluation.comparison import wilcoxon_cell
from unmet.evaluation.experiment import latex_table, latex_text


def data(seed, known=True):
    X = np.random.default_rng(seed).normal(size=(80, 1))
    mean = 30 + 5 * X[:, 0]
    demand = mean + np.random.default_rng([seed, 1]).normal(0, 6, 80)
    return DataSet(
        X[:50],
        np.minimum(demand, mean)[:50],
        X[50:],
        demand[50:],
        (lambda level: mean[50:] + 6 * level) if known else None,
        {"truth": demand[:50]},
    )


METHODS = {
    "mean": lambda task: DummyRegressor(),
    "line": lambda task: LinearDecision(task.cost),
}


@pytest.fixture(scope="module")
def results():
    return Experiment(data, METHODS, levels=(0.6, 0.8), seeds=(3, 4)).run()


def test_a_row_is_what_one_would_compute_by_hand(results):
    own = data(4)
    cost = Newsvendor.at_level(0.8)
    decision = LinearDecision(cost).fit(own.features, own.observation).predict(own.test_features)
    (row,) = [r for r in results.rows if (r["seed"], r["method"], r["level"]) == (4, "line", 0.8)]
    short = own.test_truth - decision
    assert row["cost"] == pytest.approx(np.mean(np.maximum(0.8 * short, -0.2 * short)))
    assert row["service_level"] == pytest.approx(np.mean(short <= 0))
    assert row["rmse_to_optimum"] == pytest.approx(
        np.sqrt(np.mean((decision - own.optimum(0.8)) ** 2))
    )
    assert np.array_equal(results.decision(4, "line", 0.8), decision)
    other = results.decision(4, "mean", 0.8)
    assert results.test("line", "mean", 0.8, 4) == wilcoxon_cell(decision, other, own.optimum(0.8))


def test_means_deviations_and_savings_are_over_the_seeds(results):
    first, second = (
        next(r["cost"] for r in results.rows if r["seed"] == s and r["method"] == "line")
        for s in (3, 4)
    )
    assert results.mean("line", 0.6) == pytest.approx((first + second) / 2)
    assert results.std("line", 0.6) == pytest.approx(abs(first - second) / np.sqrt(2))
    saved = results.savings("line", "mean", 0.6)
    assert saved[0] == pytest.approx(1 - first / results.values("mean", 0.6)[0])
    with pytest.raises(InvalidInput, match="method, level and measure must be among the results"):
        results.mean("line", 0.7)


def test_an_own_cost_model_data_set_and_level():
    @dataclass(frozen=True, eq=False)
    class Taxed(PiecewiseLinearCost):
        penalty: float

        @property
        def slopes(self):
            return Slopes(below=self.penalty, above=1.5)

    found = Experiment(
        lambda seed: data(seed, known=False),
        {"ols": lambda task: LinearRegression(), "ours": lambda task: LinearDecision(task.cost)},
        costs=Taxed,
        levels=(4.0,),
        seeds=(0, 1, 2),
        measures={"largest": lambda task, model, decision: float(decision.max())},
    ).run()
    short = data(0).test_truth - found.decision(0, "ols", 4.0)
    assert found.values("ols", 4.0)[0] == pytest.approx(
        np.mean(np.maximum(4 * short, -1.5 * short))
    )
    assert found.values("ols", 4.0, "largest")[0] == found.decision(0, "ols", 4.0).max()
    assert "cost_optimum" not in found.rows[0]
    # without an optimum costs of rows are compared
    costs = [
        Taxed(4.0).cost(found.decision(0, m, 4.0), data(0).test_truth) for m in ("ours", "ols")
    ]
    assert found.test("ours", "ols", 4.0, 0) == wilcoxon_cell(*costs, np.zeros(30))


def test_a_method_is_told_what_tuning_found_and_what_is_known():
    class Information:
        def __init__(self, task):
            self.level = task.tuned["level"] + task.data.known["truth"].mean()

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), self.level)

    found = Experiment(
        data, {"told": Information}, levels=(0.6, 0.8), seeds=(0,),
        tuning=lambda seed, level, own: {"level": level + len(own.features)}, lower=81.0,
    ).run()  # fmt: skip
    expected = 50.6 + data(0).known["truth"].mean()
    assert found.decision(0, "told", 0.6)[0] == max(expected, 81.0)
    assert found.tuned[0, 0.8] == {"level": 50.8}


def test_one_fit_serves_all_levels_where_that_is_said():
    made = []
    methods = {"mean": lambda task: made.append(task.level) or DummyRegressor()}
    levels = (0.6, 0.8)
    found = Experiment(data, methods, levels=levels, seeds=(0,), same_at_all_levels=["mean"]).run()
    assert made == [0.6]
    assert [row["level"] for row in found.rows] == [0.6, 0.8]
    assert found.mean("mean", 0.6) != found.mean("mean", 0.8)


def test_a_stopped_run_goes_on_and_another_is_refused(tmp_path, results):
    calls = []

    def line(task):
        calls.append((task.seed, task.level))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return LinearDecision(task.cost)

    again = Experiment(data, {**METHODS, "line": line}, levels=(0.6, 0.8), seeds=(3, 4))
    with pytest.raises(KeyboardInterrupt):
        again.run(tmp_path)
    found = again.run(tmp_path)
    assert len(calls) == 5
    assert calls[2:4] == [(4, 0.6)] * 2
    for one, other in zip(found.rows, results.rows, strict=True):
        assert {**one, "cpu_seconds": 0} == {**other, "cpu_seconds": 0}
    assert np.array_equal(found.decision(3, "line", 0.8), results.decision(3, "line", 0.8))
    with pytest.raises(InvalidInput, match=r"another seeds"):
        Experiment(data, METHODS, levels=(0.6, 0.8), seeds=(3, 5)).run(tmp_path)


def test_files(results, tmp_path):
    with results.to_csv(tmp_path / "rows.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["cost"]) for row in rows] == [row["cost"] for row in results.rows]
    text = results.to_latex(tmp_path / "t.tex", "service_level", caption="A & B").read_text()
    mean, std = (of("line", 0.6, "service_level") for of in (results.mean, results.std))
    assert rf"line & {mean:.2f} ({std:.2f}) &" in text
    assert r"\caption{A \& B}\label{tab:service_level}" in text


def test_latex_reads_no_cell_as_a_command():
    assert latex_text("50% of α_1\n\n~x") == r"50\% of $\alpha$\_1 \textasciitilde{}x"
    assert latex_text("1 (0, 2)**") == "1 (0, 2)$^{**}$"
    assert latex_text("Q*") == "Q*"
    assert latex_text(r"\x{y}^#$&") == r"\textbackslash{}x\{y\}\textasciicircum{}\#\$\&"
    assert "{}[a] & b" in latex_table(["h", "i"], [["[a]", "b"]])


def test_nothing_to_do_is_refused():
    with pytest.raises(InvalidInput, match="methods, levels and seeds must not be empty"):
        Experiment(data, {}, levels=(0.6,), seeds=(0,)).run()


@pytest.mark.slow
def test_two_processes_find_the_same(results):
    found = Experiment(data, METHODS, levels=(0.6, 0.8), seeds=(3, 4)).run(jobs=2)
    assert [r["cost"] for r in found.rows] == [r["cost"] for r in results.rows]
