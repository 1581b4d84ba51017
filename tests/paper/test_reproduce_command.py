"""``python -m paper reproduce`` from the command line: one whole small run, and what it refuses."""

import json

import pytest

from paper import protocol
from paper.commands import run
from paper.protocol import METHODS, PaperSettings, experiment
from unmet.errors import MissingPackage
from unmet.files import append_row, open_run, write_arrays
from unmet.simulate import store10

ONE = ["reproduce", "--published-settings", "--datasets", "1", "--level", "0.95", "--jobs", "1"]
SETTINGS = PaperSettings(datasets=1, levels=(0.95,), published_settings=True)
LEFT = ("LR-NVC exact", "LR truth")  # quick to fit


def made_up_cost(name):
    if "MSE" in name:
        return 27.0
    return 17.0 if name.endswith((" NVC", "-NVC")) else 14.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run that stopped before its last two fits; the others are made up."""
    folder = tmp_path_factory.mktemp("reproduce") / "run"
    optimum = store10(0).test.optimum(0.95)
    task = experiment(SETTINGS, folder)
    with open_run(folder, SETTINGS.as_dict(), parameter="output"):
        store = folder / "fits"
        about = {"methods": list(task.methods), "levels": [0.95], "seeds": [0]}
        with open_run(store, about, parameter="output"):
            for name in task.methods:
                if name in LEFT:
                    continue
                cost = made_up_cost(name)
                row = dict.fromkeys(("cost", "cost_as_predicted"), cost)
                row |= {"seed": 0, "level": 0.95, "method": name, "cost_optimum": 4.5}
                row |= {"rmse_to_optimum": 2 * cost, "service_level": 0.5, "iterations": 100}
                slug = "".join(s if s.isalnum() else "-" for s in name.replace("ε", "e")).lower()
                path = store / "decisions" / "0" / f"{slug}-0.95.npz"
                write_arrays(path, decision=optimum - 2 * cost)
                append_row(store / "rows.jsonl", {**row, "cpu_seconds": 1.0})
    return folder


def test_a_small_run_writes_the_page_tables_and_figures(folder, capsys, monkeypatch):
    assert run([*ONE, "--out", str(folder), "--resume", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["levels"] == [0.95]
    rows = (folder / "fits" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(METHODS) + 4
    assert {json.loads(row)["method"] for row in rows[-2:]} == set(LEFT)
    verdicts = {claim["no."]: claim["verdict"] for claim in told["claims"]}
    assert verdicts["1 LR"] == verdicts["1 NN"] == verdicts["2 LR"] == "reproduced"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert all(name in page for name in METHODS)
    for name in ("testNVcost", "wilcoxon-result-nn", "serviceLevel"):
        for kind in ("csv", "md", "tex"):
            assert (folder / "tables" / f"{name}.{kind}").stat().st_size > 0
    for name in ("testNVcost", "percentage", "gapClosed"):
        for kind in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{kind}").stat().st_size > 0
    assert all(str(folder) in file for file in told["files"])
    # the terminal counts as the page does; figures need not be drawn again
    monkeypatch.setattr("paper.plots.PaperFigure.write", lambda figure, folder: [])
    assert run([*ONE, "--out", str(folder), "--resume"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    report = (folder / "REPORT.md").read_text(encoding="utf-8")
    counted = report.partition("Reading β = .0060: direction, ")[2].partition(";")[0]
    assert f"Direction: {counted}." in printed


def test_a_folder_of_results_is_not_overwritten(folder, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run([*ONE, "--out", str(folder)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*ONE, "--no-clip", "--out", str(folder), "--resume"]) == 2
    assert "another clip (True, not False)" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--datasets", "0"], "datasets must be a whole number of at least 1, got 0."),
        (["--trials", "5"], "trials must be left out where nothing is searched, got 5."),
        (["--folds", "2"], "folds must be left out where nothing is searched, got 2."),
        (["--store", "7"], "store must come with --favorita, got 7 alone."),
        (["--items", "x.csv"], "items must come with --favorita, got x.csv alone."),
        (["--favorita", "nowhere.csv"], "train must be a file, but nowhere.csv is none."),
        (["--jobs", "0"], "jobs must be a whole number of at least 1, got 0."),
        (["--level", "0.5"], "levels must be some of 0.55, 0.65, 0.75, 0.85, 0.95"),
        (["--datasets", "many"], "--datasets"),
    ],
)
def test_wrong_options_are_one_sentence_and_write_nothing(tmp_path, capsys, arguments, sentence):
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run"), *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_quick_takes_the_published_settings_and_says_so(monkeypatch, tmp_path, capsys):
    """A few trials of a search would show an artefact: ε = (.048, .153), savings of −4 to 40%."""
    asked = []

    def told(folder, settings, **options):
        asked.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(protocol, "reproduce", told)
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 130
    (settings,) = asked
    assert settings.published_settings
    assert (settings.datasets, settings.levels) == (2, (0.55, 0.75, 0.95))


def test_a_missing_package_is_named_before_any_work(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(protocol, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="optuna"):
        protocol.check_packages()
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 2
    assert "pip install" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_interrupt_is_a_sentence_and_exit_code_130(monkeypatch, tmp_path, capsys):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(protocol, "reproduce", stop)
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 130
    assert "--resume" in capsys.readouterr().err
