"""The commands for your own tables, end to end as a user runs them."""

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from unmet.cli import commands
from unmet.cli.main import run
from unmet.planning import DecisionPlan, evaluate, example, read_table
from unmet.planning.plan_options import plan_from_options

COLUMNS = ["--observed", "sales", "--features", "price,store", "--categories", "store"]
COSTS = ["--underage", "3", "--overage", "1"]
COMMANDS = ["demo", "plan", "monitor", "hours", "diagnose", "fit", "decide", "evaluate", "compare"]


def make(n_rows, seed):
    generator = np.random.default_rng(seed)
    price = generator.normal(10, 2, n_rows).round(2)
    store = generator.choice(["007", "008", "A1"], n_rows)
    demand = np.round(60 + 4 * price + 15 * (store == "A1") + generator.normal(0, 12, n_rows))
    stock = np.round(105 + generator.normal(0, 8, n_rows))
    day = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)[: n_rows // 2]
    return pl.DataFrame(
        {
            "day": day.to_list() * 2,
            "store": store,
            "price": price,
            "sales": np.minimum(demand, stock),
            "out": np.where(demand > stock, "yes", "no"),
            "demand": demand,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, what is to come, and a model with flags and a report."""
    folder = tmp_path_factory.mktemp("work")
    make(160, 0).write_csv(folder / "sales.csv")
    coming = make(20, 1).drop("sales", "out")
    coming.write_csv(folder / "truth.csv")
    coming.filter(pl.col("store") != "A1").drop("demand").write_csv(folder / "coming.csv")
    words = ["fit", str(folder / "sales.csv"), *COLUMNS, *COSTS, "--censored-column", "out"]
    files = ["-o", str(folder / "model.unmet"), "--report", str(folder / "fit.html")]
    assert run([*words, *files]) == 0
    return folder


@pytest.fixture
def inside(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return folder


def strict(text):
    """JSON without NaN."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def plan(folder):
    """The same plan, made in Python."""
    table = pl.read_csv(folder / "sales.csv", schema_overrides={"store": pl.String})
    words = {"underage": 3, "overage": 1, "censored_column": "out"}
    return plan_from_options("sales", ["price", "store"], **words).fit(table)


@pytest.fixture
def quick(plan, monkeypatch):
    """Commands learn nothing anew."""
    monkeypatch.setattr(DecisionPlan, "fit", lambda self, table, **_: plan)


def test_orders_are_those_of_the_plan(inside, plan, capsys):
    words = ["decide", "model.unmet", "coming.csv", "-o", "orders.csv", "--report", "orders.html"]
    assert run(words) == 0
    printed = capsys.readouterr()
    coming = pl.read_csv("coming.csv", schema_overrides={"store": pl.String})
    orders = pl.read_csv("orders.csv", schema_overrides={"store": pl.String})
    assert orders.columns == [*coming.columns, "decision", "outside_data"]
    assert orders["store"].to_list() == coming["store"].to_list()  # 007 is not 7
    assert orders["decision"].dtype == pl.Int64
    assert orders["decision"].to_list() == plan.decide(coming).decision.tolist()
    assert printed.err == "wrote orders.csv\nwrote orders.html\n"
    assert f"{coming.height} orders, on average" in printed.out
    page = (inside / "orders.html").read_text(encoding="utf-8")
    assert "unmet decide model.unmet coming.csv" in page
    assert "<html" in (inside / "fit.html").read_text(encoding="utf-8")


def test_orders_on_standard_output_are_a_table(inside, capsys):
    assert run(["decide", "model.unmet", "coming.csv", "--step", "6", "--upper", "96"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    numbers = [int(row["decision"]) for row in rows]
    assert all(number % 6 == 0 and number <= 96 for number in numbers)
    assert len(rows) == pl.read_csv("coming.csv").height
    assert run(["decide", "model.unmet", "coming.csv", "--step", "none", "--name", "order"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert any(float(row["order"]) % 1 for row in rows)


def test_orders_as_json_and_parquet(inside, capsys):
    table = read_table("coming.csv", text=["store"])
    table = table.with_columns(store=pl.lit("moon"), price=pl.lit(None, dtype=pl.Float64))
    table.write_parquet("coming.parquet")
    words = ["decide", "model.unmet", "coming.parquet", "-o", "orders.parquet", "--json"]
    assert run(words) == 0
    printed = capsys.readouterr()
    found = strict(printed.out)
    orders = pl.read_parquet("orders.parquet")
    assert (found["rows"], found["total"]) == (table.height, orders["decision"].sum())
    assert found["mean"] == pytest.approx(orders["decision"].mean())
    assert found["files"] == ["orders.parquet"]
    notes = [line for line in printed.err.splitlines() if line.startswith("note: ")]
    assert {f"note: {note}" for note in found["notes"]} == set(notes)
    assert any("not in the training data: 'moon'" in note for note in notes)
    assert any("'price'" in note and "median" in note for note in notes)


def test_evaluate(inside, plan, capsys):
    table = pl.read_csv("truth.csv", schema_overrides={"store": pl.String})
    expected = evaluate(plan, table, "demand")
    assert run(["evaluate", "model.unmet", "truth.csv", "--truth", "demand", "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert found["basis"] == "truth"
    assert [each["cost"] for each in found["methods"]] == [
        expected[name].cost for name in ("ieo", "plan")
    ]
    assert run(["evaluate", "model.unmet", "truth.csv", "--truth", "demand"]) == 0
    shown = capsys.readouterr().out
    assert "20 rows, evaluated on the true values." in shown
    assert plan.words not in shown
    assert "sales taken as demand" in shown


def test_evaluate_by_flags_and_in_lots(inside, plan, capsys):
    words = ["evaluate", "model.unmet", "sales.csv", "--json"]
    assert run([*words, "--step", "6", "--minimum", "12"]) == 0  # the model knows its flags
    found = strict(capsys.readouterr().out)
    assert found["basis"] == "seen"
    table = pl.read_csv("sales.csv", schema_overrides={"store": pl.String})
    expected = evaluate(plan, table, step=6, minimum=12)
    assert [each["cost"] for each in found["methods"]] == [
        expected[name].cost for name in ("ieo", "plan")
    ]


JARGON = re.compile(
    "IEO|EAS|z =|p =|likelihood|distribution|ε|regression|Identified|censored |LatentBand|latent|"
    "standard error|truth|held out|quantile|observations"
)


def test_a_screen_has_no_word_of_statistics(inside, quick, capsys):
    flags = ["--censored-column", "out"]
    diagnose = ["diagnose", "sales.csv", *COLUMNS, *COSTS, *flags, "--details"]
    fit = ["fit", "sales.csv", *COLUMNS, *COSTS, *flags, "-o", "again.unmet"]
    evaluate = ["evaluate", "model.unmet", "truth.csv", "--truth", "demand"]
    decide = ["decide", "model.unmet", "coming.csv", "-o", "again.csv"]
    shown = {}
    for words in (diagnose, fit, evaluate, decide):
        assert run(words) == 0
        printed = capsys.readouterr()
        plain, _, details = printed.out.partition("\n\n")  # an empty line comes before details
        assert ("held-out log-likelihood" in details) == ("--details" in words)
        shown[words[0]] = plain
        said = (plain + printed.err).replace("the estimated distribution of demand", "")
        assert not JARGON.search(said), said
    first, *others = shown["diagnose"].splitlines()
    assert first == "160 rows of sales.csv"
    share = np.mean(pl.read_csv("sales.csv")["out"].to_numpy() == "yes")
    assert others[0] == f"Hidden:      Yes. {share:.0%} of the rows sold out (counted)."
    assert "Next step:   Run unmet fit and unmet decide to get these orders." in "\n".join(others)


def test_the_advice_of_diagnose_runs_as_printed(inside, capsys):
    known = ["--sellout-rate", ".3,.5", "--decimal", "."]
    assert run(["diagnose", "sales.csv", *COLUMNS, *known]) == 0
    printed = capsys.readouterr()
    (advice,) = [line for line in printed.out.splitlines() if line.startswith("unmet ")]
    words = shlex.split(advice)[1:]
    assert words[:2] == ["fit", "sales.csv"]
    assert words[words.index("--decimal") + 1] == "."
    assert "No costs were given" in printed.err
    assert "Replace both costs of 1 by your own" in printed.out
    assert run([*words[:-1], "advised.unmet"]) == 0
    assert "(given by --sellout-rate)." in capsys.readouterr().out


def test_a_diagnosis_and_the_exit_code_of_doubt(inside, plan, quick, capsys, monkeypatch):
    words = ["diagnose", "sales.csv", *COLUMNS, "--json"]
    assert run([*words, "--report", "d.html", "--fail-if-unidentified"]) == 0
    found = strict(capsys.readouterr().out)
    assert found["share_censored"] == plan.diagnosis_.share_censored
    assert found["files"] == ["d.html"]
    assert (inside / "d.html").stat().st_size > 10_000
    doubt = replace(plan.diagnosis_, identified="no")
    monkeypatch.setattr(DecisionPlan, "diagnosis_", property(lambda self: doubt))
    assert run(words) == 0
    assert run([*words, "--fail-if-unidentified"]) == 3


def test_compare(inside, capsys):
    words = ["compare", "sales.csv", *COLUMNS, *COSTS, "--band", "0,5", "--date", "day"]
    options = ["--truth", "demand", "--folds", "2", "--horizon", "10"]
    assert run([*words, *options, "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert [each["method"] for each in found["methods"]] == ["eas", "ieo", "published", "plan"]
    ends = [[date.fromisoformat(end) for end in fold] for fold in found["folds"]]
    assert [(last - first).days for first, last in ends] == [9, 9]
    assert found["n_rows"] == 40
    assert run(["compare", "sales.csv", *COLUMNS, *COSTS, "--band", "none", "--folds", "2"]) == 0
    printed = capsys.readouterr()
    assert "evaluated on the observations, which favors low decisions" in printed.out
    assert "note: Rows were held out at random" in printed.err


def test_ages(inside, capsys):
    generator = np.random.default_rng(3)
    life, limit = 100 * generator.weibull(3.0, 150), generator.uniform(30, 150, 150)
    table = pl.DataFrame({"hours": np.minimum(life, limit), "failed": life <= limit})
    table.write_csv("parts.csv")
    words = ["--problem", "replacement", "--observed", "hours", "--failed-column", "failed"]
    words += ["--planned", "1", "--failure", "6"]
    assert run(["diagnose", "parts.csv", *words, "--json", "--report", "parts.html"]) == 0
    printed = capsys.readouterr()
    assert strict(printed.out)["text"]
    assert strict(printed.out)["files"] == ["parts.html"]
    assert run(["fit", "parts.csv", *words, "-o", "parts.unmet"]) == 0
    capsys.readouterr()
    assert run(["decide", "parts.unmet", "parts.csv", "--step", "10", "--json"]) == 0
    assert strict(capsys.readouterr().out)["mean"] % 10 == 0


def test_prices(inside, capsys):
    generator = np.random.default_rng(4)
    worth, price = generator.normal(70, 6, 200), generator.normal(68, 6, 200).round(1)
    size = generator.uniform(size=200).round(2)
    table = {"size": size, "price": price, "accepted": price <= worth}
    pl.DataFrame(table).write_csv("offers.csv")
    words = ["--problem", "pricing", "--observed", "price", "--features", "size"]
    words += ["--accepted-column", "accepted", "--goal", "revenue", "--unit-cost", "20"]
    assert run(["fit", "offers.csv", *words, "-o", "offers.unmet"]) == 0
    capsys.readouterr()
    assert run(["decide", "offers.unmet", "offers.csv", "-o", "prices.csv"]) == 0
    assert "200 prices, on average" in capsys.readouterr().out
    assert pl.read_csv("prices.csv")["decision"].is_between(50, 75).all()


def test_the_demo(tmp_path, capsys, monkeypatch):
    """Its commands; `make demo` runs the whole of it."""
    ran = []
    monkeypatch.setattr("unmet.cli.main.app", lambda args, **_: ran.append(args))
    commands.demo(tmp_path / "out")
    assert [words[0] for words in ran] == ["plan", "diagnose", "fit", "decide", "evaluate"]
    assert f"$ unmet diagnose {tmp_path / 'out' / 'sales.csv'}" in capsys.readouterr().out
    assert pl.read_csv(tmp_path / "out" / "next_quarter.csv").height == 450


def test_every_command_has_examples(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in COMMANDS:
        assert run([command, "--help"]) == 0
        printed = capsys.readouterr().out
        assert f"unmet {command}" in printed.partition("Examples:")[2]


def test_help_does_not_wait_for_heavy_packages():
    script = (
        "import sys; from unmet.cli.main import run; run(['--help']); run(['fit', '--help']); "
        "print([name for name in ('numpy', 'polars', 'sklearn', 'scipy', 'pandas') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_plan_without_trees_loads_nothing_that_it_does_not_need(tmp_path):
    example().sales.tail(300).write_csv(tmp_path / "sales.csv")
    script = (
        "import sys; from unmet.cli.main import run; "
        "run(['plan', 'sales.csv', '--model', 'smoothing', '--json']); "
        "print([name for name in ('unmet.simulate', 'unmet.planning.monitoring', "
        "'unmet.planning.decision_plan', 'unmet.planning.backtest', 'unmet.evaluation.experiment', "
        "'sklearn.metrics', 'lightgbm', 'matplotlib', 'altair', 'optuna') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert (tmp_path / "orders.csv").exists()
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "name", ["planning.example", "planning.uncensor", "evaluation.calibration"]
)
def test_a_function_is_found_though_its_module_has_the_same_name(name):
    package, _, function = name.partition(".")
    script = (
        f"import unmet.{name}; from unmet.{package} import {function}; print(callable({function}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
