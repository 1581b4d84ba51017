"""The command `bounds` as a user meets it: tables, files, JSON, one sentence when it is wrong."""

import csv
import json

import numpy as np
import pytest

from paper import gaps as bounds_run
from paper.commands import run
from paper.gaps import BoundedStore, BoundSetting
from paper.theory import linear_bound, network_bound, penalised_bound
from unmet import Band, Newsvendor

SETTING = BoundSetting(alpha=0.7, n_rows=500, strength=0.1, epochs=2)
ALGORITHMS = ["LR-εNVC", "LR-εNVC-R", "NN-εNVC"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bounds_run, "SIZES", (104, 329))


def test_the_world_keeps_the_assumptions():
    world = BoundedStore.scaled(5.0)
    cells, sales = world.draw(20_000, np.random.default_rng(0))
    assert world.features.shape == (756, 26)
    assert world.longest == pytest.approx(2.0)
    assert world.share.sum() == pytest.approx(1.0)
    assert 0 <= sales.min() < sales.max() < 5
    np.testing.assert_allclose(np.bincount(cells, minlength=756) / 20_000, world.share, atol=0.002)
    # about half is sold out: demand above the order, which is its mean
    sold_out = sales == np.maximum(world.mean[cells], 0)
    assert sold_out.mean() == pytest.approx(0.5, abs=0.05)


def test_the_expected_cost_is_that_of_many_rows():
    world = BoundedStore.scaled(1.0)
    cost, band = Newsvendor.at_level(0.7), Band(0, 0.02)
    decision = np.maximum(world.mean, 0) * 0.9
    cells, sales = world.draw(400_000, np.random.default_rng(1))
    drawn = cost.loss(decision[cells], sales, band).mean()
    assert world.expected_cost(decision, cost, band) == pytest.approx(drawn, rel=0.01)


def test_the_bounds_are_those_of_the_library():
    bounds = SETTING.bounds()
    same = {"n_rows": 500, "largest_truth": 1.0}
    penalty = {"largest_feature": 2 / np.sqrt(26), "strength": 0.1}
    band = Band(0, 0.05)
    expected = [
        linear_bound(0.7, band, n_features=26, **same),
        penalised_bound(0.7, band, n_features=26, **penalty, **same),
        network_bound(0.7, band, epochs=2, **same),
    ]
    assert list(bounds) == list(ALGORITHMS)
    assert [b.value for b in bounds.values()] == pytest.approx([b.value for b in expected])


def test_measured_gaps(small):
    told = []
    first = bounds_run.measure(SETTING, 3, 4, lambda *step: told.append(step))
    again = bounds_run.measure(SETTING, 3, 4, lambda *step: None)
    other = bounds_run.measure(SETTING, 4, 4, lambda *step: None)
    assert first == again
    assert first != other
    assert [(m["algorithm"], m["n_rows"]) for m in first] == [
        (name, n) for name in ALGORITHMS for n in (104, 329)
    ]
    assert told[0] == (0, 6, "LR-εNVC, 104 rows")
    assert len(told) == 6
    for each in first:
        assert each["above_bound"] == 0
        assert each["gap_mean"] == pytest.approx(each["expected_cost"] - each["training_cost"])
        assert each["gap_mean"] <= each["gap_largest"] < each["bound"]
    # 26 coefficients on 104 rows: learned by heart, and three times the rows help
    assert first[0]["gap_mean"] > 5 * abs(first[1]["gap_mean"])
    assert first[0]["training_cost"] < first[2]["training_cost"] < first[4]["training_cost"]


def test_files_and_table(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "new" / "out"
    words = ["--output", str(folder), "--repetitions", "2", "--epochs", "1", "--rows", "300"]
    assert run(["bounds", *words]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["bounds.csv", "bounds.png", "bounds.svg"]
    with (folder / "bounds.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["n_rows"] for row in rows] == ["104", "329"] * 3
    printed = capsys.readouterr().out
    assert "What 300 rows and 26 features guarantee" in printed
    assert "it is based on Prop. LR-stable" in " ".join(printed.split())
    assert "at 329 rows the largest of 2 gaps" in " ".join(printed.split())


def test_json_without_a_figure_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["bounds", "--no-figure", "--json", "--alpha", "0.9"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["setting"]["alpha"] == 0.9
    assert content["measured"] == []
    assert [row["algorithm"] for row in content["bounds"]] == list(ALGORITHMS)
    assert content["bounds"][0]["for a tenth"] > content["bounds"][0]["rows needed"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--alpha", "1.2"], "alpha must be strictly between 0 and 1, got 1.2."),
        (["--strength", "0"], "strength must be a finite number above 0, got 0.0."),
        (["--delta", "1"], "delta must be a number above 0 and below 1, got 1.0."),
        (["--rows", "0"], "rows must be a whole number of at least 1, got 0."),
        (["--features", "-2"], "features must be a whole number of at least 1, got -2."),
        (["--epochs", "0"], "epochs must be a whole number of at least 1, got 0."),
        (["--largest-truth", "-1"], "largest_truth must be a finite number above 0, got -1.0."),
        (["--seed", "-1"], "seed must be a whole number of at least 0, got -1."),
        (["--repetitions", "0"], "repetitions must be a whole number of at least 1, got 0."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(words, sentence, capsys, tmp_path):
    folder = tmp_path / "out"
    assert run(["bounds", "--output", str(folder), *words]) == 2
    printed = capsys.readouterr()
    name, *rest = sentence.split(" ")
    assert printed.err == f"unmet: --{name.replace('_', '-')} {' '.join(rest)}\n"
    assert printed.out == ""
    assert not folder.exists()
