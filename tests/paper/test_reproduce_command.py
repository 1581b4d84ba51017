"""``python -m paper reproduce`` from the command line: one whole small run, and what it refuses."""

import json
from types import SimpleNamespace

import pytest
from hand_made_results import Here

from paper import METHODS, FitRow, PaperSettings, Standing
from paper import protocol as needs_module
from paper.commands import run
from paper.protocol import readings_of, variants
from paper.run import open_ledger
from paper.terminal import Call, add_call, facts, report_standing
from unmet.errors import MissingPackage
from unmet.simulate import store10

ONE = ["reproduce", "--published-settings", "--datasets", "1", "--level", "0.95"]
SETTINGS = PaperSettings(datasets=1, levels=(0.95,), published_settings=True)
LEFT = ("LR-NVC exact", "LR truth")  # quick to fit
ALL = [*METHODS, *(each for reading in readings_of(SETTINGS) for each in variants(reading))]


def made_up_cost(name):
    if "MSE" in name:
        return 27.0
    return 17.0 if name.endswith(" NVC") or name.endswith("-NVC") else 14.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run that stopped before its last two fits; the others are made up."""
    folder = tmp_path_factory.mktemp("reproduce") / "run"
    optimum = store10(0).test.optimum(0.95)
    with open_ledger(folder, SETTINGS, resume=False) as ledger:
        for method in ALL:
            if method.name not in LEFT:
                cost = made_up_cost(method.model)
                row = FitRow(1, 0.95, method.name, cost, cost, 4.5, 2 * cost, 0.5, 1.0, 1.0, 100)
                ledger.add_fit(row, optimum - 2 * cost)
    with pytest.MonkeyPatch.context() as patch:  # the page is written below, once is enough
        patch.setattr("paper.run.ProcessPoolExecutor", Here)
        patch.setattr("paper.write_everything", lambda *told, **facts: [folder / "page"])
        assert run([*ONE, "--out", str(folder), "--resume"]) == 0
    return folder


def test_a_small_run_writes_the_page_tables_and_figures(folder, capsys):
    assert run([*ONE, "--out", str(folder), "--resume", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["levels"] == [0.95]
    rows = (folder / "fits.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == len(ALL)
    assert {json.loads(row)["method"] for row in rows[-2:]} == set(LEFT)
    verdicts = {claim["number"]: claim["verdict"] for claim in told["claims"]}
    assert verdicts["1 LR"] == verdicts["1 NN"] == verdicts["2 LR"] == "reproduced"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert all(method.name in page for method in METHODS)
    for name in ("testNVcost", "wilcoxon-result-nn", "serviceLevel"):
        for kind in ("csv", "md", "tex"):
            assert (folder / "tables" / f"{name}.{kind}").stat().st_size > 0
    for name in ("testNVcost-lr", "percentage", "gapClosed-nn"):
        for kind in ("svg", "png"):
            assert (folder / "figures" / f"{name}.{kind}").stat().st_size > 0
    assert all(str(folder) in file for file in told["files"])


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
        (["--favorita", "nowhere.csv"], "train must be a file, but nowhere.csv does not exist."),
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


@pytest.mark.parametrize(("name", "value"), [("trials", "-3"), ("folds", "0")])
def test_searches_need_trials_and_folds(tmp_path, capsys, name, value):
    assert run(["reproduce", f"--{name}", value, "--out", str(tmp_path / "run")]) == 2
    assert f"{name} must be a whole number of at least 1, got {value}." in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_quick_takes_the_published_settings_and_says_so(monkeypatch, tmp_path, capsys):
    """A few trials of a search would show an artefact: ε = (.048, .153), savings of −4 to 40%."""
    asked = []

    def told(folder, settings, **options):
        asked.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("paper.reproduce", told)
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 130
    (settings,) = asked
    assert settings.published_settings
    assert (settings.datasets, settings.levels) == (2, (0.55, 0.75, 0.95))
    assert run(["reproduce", "--help"]) == 0
    assert "published ε and hyperparameters" in " ".join(
        capsys.readouterr().out.replace("│", " ").split()
    )


def test_a_file_in_the_place_of_the_folder(tmp_path, capsys):
    path = tmp_path / "run"
    path.write_text("precious")
    assert run(["reproduce", "--quick", "--out", str(path)]) == 2
    assert "must be a folder" in capsys.readouterr().err
    assert path.read_text() == "precious"


def test_a_missing_package_is_named_before_any_work(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(needs_module, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="optuna"):
        needs_module.check_packages()
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 2
    assert "pip install" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_interrupt_is_a_sentence_and_exit_code_130(monkeypatch, tmp_path, capsys):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("paper.reproduce", stop)
    assert run(["reproduce", "--quick", "--out", str(tmp_path / "run")]) == 130
    assert "--resume" in capsys.readouterr().err


def test_progress_in_a_log_is_a_few_lines(capsys):
    with report_standing() as tell:
        for done in range(101):
            tell(Standing(trials=0, all_trials=0, fits=done, all_fits=100, share=done / 100))
    lines = capsys.readouterr().err.splitlines()
    assert 15 <= len(lines) <= 25
    assert "100 of 100 fits" in lines[-1]


def test_facts_add_up_calls_and_count_a_fit_for_several_levels_once(tmp_path):
    row = SimpleNamespace(dataset=1, method="LR-MSE", fit_seconds=60.0)
    results = SimpleNamespace(fits=[row, row, row], searches=[SimpleNamespace(seconds=30.0)])
    add_call(tmp_path, Call(seconds=50.0, jobs=2, memory=300.0))
    with (tmp_path / "calls.jsonl").open("a") as stream:
        stream.write('{"seconds": 1')
        stream.write("\n")
    found = facts(results, add_call(tmp_path, Call(seconds=40.0, jobs=1, memory=100.0)))
    assert found["time"].startswith("90 s in 2 calls with up to 2 processes")
    assert "30 s of searches and 60 s of fits" in found["time"]
    assert "300 MiB" in found["memory"]
