"""`python -m paper demo` as a user meets it: files, table, JSON, and one sentence if it fails."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.linear_model import QuantileRegressor

from paper import demo as demo_run
from paper.commands import run
from unmet.simulate import store10

ROOT = Path(__file__).parents[2]
LEVELS = [0.55, 0.65, 0.75, 0.85, 0.95]
METHODS = ["eas", "ieo", "descent", "exact", "latent", "truth", "optimum"]


@pytest.fixture(scope="module")
def outcomes():
    """One real run; tests of printing and writing reuse it."""
    return demo_run.compare([0])


@pytest.fixture(scope="module")
def diagnosis():
    return demo_run.diagnose(0)


@pytest.fixture
def computed(outcomes, diagnosis, monkeypatch):
    monkeypatch.setattr(demo_run, "compare", lambda seeds, step: outcomes)
    monkeypatch.setattr(demo_run, "diagnose", lambda seed: diagnosis)


@pytest.fixture
def undrawn(monkeypatch):
    """Names of plots that nobody draws: it takes longer than all else."""
    monkeypatch.setattr(
        "paper.plots.write_plot",
        lambda stem, *_: [stem.with_suffix(f".{kind}") for kind in ("svg", "png")],
    )


def newsvendor_cost(level, order, demand):
    """NVCost, written out row by row."""
    total = 0.0
    for y, d in zip(order, demand, strict=True):
        total += level * (d - y) if d > y else (1 - level) * (y - d)
    return total / len(demand)


def find(outcomes, method, level):
    return next(o for o in outcomes if (o["method"], o["level"]) == (method, level))


def test_every_method_at_every_published_level(outcomes):
    assert [(o["level"], o["method"]) for o in outcomes] == [
        (a, m) for a in LEVELS for m in METHODS
    ]


@pytest.mark.parametrize("level", [0.65, 0.95])
def test_costs_agree_with_an_independent_fit_and_price(outcomes, level):
    data = store10(seed=0)
    reference = QuantileRegressor(quantile=level, alpha=0).fit(
        data.train.features, data.train.sales
    )
    orders = reference.predict(data.test.features).clip(min=0)
    expected = newsvendor_cost(level, orders, data.test.demand)
    # the optimum is not unique, so the two may differ a little on the test rows
    assert find(outcomes, "ieo", level)["cost"] == pytest.approx(expected, rel=0.01)
    best = newsvendor_cost(level, data.test.optimum(level), data.test.demand)
    assert find(outcomes, "optimum", level)["cost"] == pytest.approx(best)


@pytest.mark.parametrize("level", LEVELS[1:])
def test_the_published_band_leaves_most_of_the_gap_open(outcomes, level):
    """The sentence beneath the table must stay true."""
    ieo, exact, truth, best = (
        find(outcomes, m, level) for m in ("ieo", "exact", "truth", "optimum")
    )
    assert best["cost"] < truth["cost"] < exact["cost"] < ieo["cost"]
    assert find(outcomes, "latent", level)["gap_closed"] > 0.85
    assert exact["gap_closed"] == pytest.approx(
        (ieo["cost"] - exact["cost"]) / (ieo["cost"] - best["cost"])
    )
    assert exact["gap_closed"] < 0.25
    assert truth["gap_closed"] > 0.75


def test_files_and_table(computed, outcomes, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "new" / "out"
    assert run(["demo", "--output", str(folder), "--seeds", "1"]) == 0
    plots = [f"{name}.{kind}" for name in ("demo", "diagnosis") for kind in ("png", "svg")]
    assert sorted(p.name for p in folder.iterdir()) == ["demo.csv", *plots]
    with (folder / "demo.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["method"] for row in rows] == METHODS * 5
    assert float(rows[1]["cost"]) == outcomes[1]["cost"]
    assert rows[1]["gap_closed"] == ""
    printed = capsys.readouterr().out
    assert f"{find(outcomes, 'ieo', 0.95)['cost']:.2f}" in printed
    assert (
        f"closes {find(outcomes, 'exact', 0.85)['gap_closed']:.0%} of that gap"
        in printed.replace("\n", " ")
    )
    assert "demo.svg" in printed
    assert "What LatentBand found" in printed


@pytest.mark.usefixtures("computed", "undrawn")
def test_json_is_all_there_is_on_standard_output(outcomes, tmp_path, capsys):
    code = run(["demo", "--output", str(tmp_path), "--seed", "3", "--seeds", "2", "--json"])
    content = json.loads(capsys.readouterr().out)
    assert code == 0
    assert content["seeds"] == [3, 4]
    assert len(content["results"]) == 35
    assert content["results"][0]["gap_closed"] is None
    assert content["results"][-1]["cost"] == outcomes[-1]["cost"]
    assert content["diagnosis"]["identified"] == "yes"
    names = ["demo.csv", "demo.svg", "demo.png", "diagnosis.svg", "diagnosis.png"]
    assert content["files"] == [str(tmp_path / name) for name in names]


def test_without_a_renderer_the_table_is_still_printed(computed, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert run(["demo", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "vl_convert is not installed" in printed.err
    assert printed.err.count("\n") == 1
    assert "true quantile Q*" in printed.out
    assert [p.name for p in tmp_path.iterdir()] == ["demo.csv"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0."),
        (["demo", "--seed", "-1"], "seed must be a whole number of at least 0, got -1."),
        (["demo", "--seed", "many"], "--seed must be a whole number, got 'many'"),
        (["demo", "--colour"], "--colour"),
        (["forecast"], "forecast"),
    ],
)
def test_mistakes_get_one_sentence(arguments, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("unmet: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err


def test_the_package_is_a_command(tmp_path):
    words = [sys.executable, "-m", "paper", "bounds", "--alpha", "2"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("unmet: --alpha must be")


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["nothing"], "nothing"),
        (["favorita", "absent.csv"], "absent.csv"),
        (["bounds", "--rows", "0"], "rows"),
        (["reproduce", "--quick", "--trials", "0"], "trials"),
    ],
)
def test_wrong_uses(words, culprit, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    error = capsys.readouterr().err
    assert culprit in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_figure_shows_costs_and_shares(outcomes):
    left, right = demo_run.draw_outcomes(outcomes).spec["datasets"].values()
    assert {row["s"] for row in left} >= {words for words, _ in demo_run.METHODS.values()}
    ieo = [row["y"] for row in left if row["s"] == "IEO: no band" and "y2" not in row]
    assert ieo == pytest.approx([find(outcomes, "ieo", level)["cost"] for level in LEVELS])
    # no share at the lowest level, where there is no gap
    drawn = [row["x"] for row in right if row["s"] == "LatentBand" and row.get("y") is not None]
    assert drawn == LEVELS[1:]
