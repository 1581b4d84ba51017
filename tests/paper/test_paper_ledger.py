"""The folder of a run: rows are whole, kept, and never mixed with those of another run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from unmet.errors import InvalidInput
from unmet.paper.protocol import FitRow, PaperSettings, SearchRow
from unmet.paper.run import open_ledger

SETTINGS = PaperSettings(datasets=1, levels=(0.85,))
ROW = FitRow(1, 0.85, "LR-εNVC-R", 16.1, 16.2, 10.2, 41.0, 0.57, 0.25, 0.17, 500)
SEARCH = SearchRow(2, "LR", 0.85, {"high": 0.19, "low": 0.01}, 0.2, 10, 3.5)
DECISION = np.array([1.5, -2.25, 1 / 3])


def content(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path: path.read_bytes() for path in files}


def refused(folder, settings=SETTINGS, resume=True):
    before = content(folder)
    with pytest.raises(InvalidInput) as caught, open_ledger(folder, settings, resume=resume):
        pass
    assert content(folder) == before
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def folder(tmp_path):
    with open_ledger(tmp_path / "run", SETTINGS, resume=False) as ledger:
        ledger.add_fit(ROW, DECISION)
        ledger.add_search(SEARCH)
    return tmp_path / "run"


def test_rows_and_decisions_come_back_as_they_were(folder):
    with open_ledger(folder, SETTINGS, resume=True) as ledger:
        assert ledger.fits == [ROW]
        assert ledger.searches == [SEARCH]
        assert np.array_equal(ledger.decision(1, "LR-εNVC-R", 0.85), DECISION)
    assert all(path.name.isascii() for path in folder.rglob("*"))


def test_a_line_that_was_cut_is_dropped_and_the_rest_kept(folder):
    with (folder / "fits.jsonl").open("a") as stream:
        stream.write('{"dataset": 1, "level": 0.8')
    with open_ledger(folder, SETTINGS, resume=True) as ledger:
        assert ledger.fits == [ROW]
        ledger.add_fit(ROW, DECISION)
    with open_ledger(folder, SETTINGS, resume=True) as ledger:
        assert ledger.fits == [ROW, ROW]


def test_other_text_in_a_whole_line_is_named(folder):
    with (folder / "fits.jsonl").open("a") as stream:
        stream.write('{"dataset": 1}\n')
    assert "fits.jsonl" in (sentence := refused(folder))
    assert "line 2" in sentence


def test_a_folder_of_an_earlier_run_needs_resume(folder):
    assert "--resume" in refused(folder, resume=False)


def test_other_settings_are_refused_by_name(folder):
    sentence = refused(folder, PaperSettings(datasets=1, levels=(0.85,), trials=7))
    assert "another trials (50, not 7)" in sentence


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    assert "holds other files" in refused(tmp_path, resume=False)
    assert "holds other files" in refused(tmp_path, resume=True)


def test_settings_that_cannot_be_read_are_refused(folder):
    (folder / "run.json").write_text("[1, 2")
    assert "run.json" in refused(folder)
    (folder / "run.json").write_text("[1, 2]")
    assert "run.json" in refused(folder)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InvalidInput, match="must be a folder"),
        open_ledger(tmp_path / "file", SETTINGS, resume=True),
    ):
        pass


@pytest.mark.slow
def test_two_runs_do_not_share_a_folder_at_the_same_time(folder):
    pytest.importorskip("fcntl")
    code = (
        "import sys, pathlib\n"
        "from unmet.paper.run import open_ledger\n"
        "from unmet.paper.protocol import PaperSettings\n"
        "with open_ledger(pathlib.Path(sys.argv[1]), PaperSettings(datasets=1, levels=(0.85,)),"
        " resume=True):\n"
        "    print('in', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        assert other.stdout.readline() == b"in\n"
        assert "in use" in refused(folder)
    finally:
        other.kill()  # and a killed run lets go of it
        other.communicate()
    with open_ledger(folder, SETTINGS, resume=True) as ledger:
        assert ledger.fits == [ROW]


def test_lost_decisions_are_a_sentence(folder):
    path = folder / "decisions" / "1" / "lr-envc-r-0.85.npz"
    path.write_bytes(path.read_bytes()[:40])
    with (
        open_ledger(folder, SETTINGS, resume=True) as ledger,
        pytest.raises(InvalidInput, match="decisions"),
    ):
        ledger.decision(1, "LR-εNVC-R", 0.85)


def test_settings_survive_json():
    plain = PaperSettings.quick().as_dict()
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    "wrong",
    [{"datasets": 0}, {"trials": -1}, {"folds": 2.5}, {"levels": ()}, {"levels": (0.5,)}],
)
def test_settings_outside_their_range(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        PaperSettings(**wrong)
