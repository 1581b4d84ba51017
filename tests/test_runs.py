"""The store of runs: what is finished is kept, and nothing is mixed with another run."""

import json

import numpy as np
import pytest

from unmet.errors import InvalidInput
from unmet.files import append_row, open_run, read_arrays, read_rows, write_arrays


def is_row(row):
    return "cost" in row


def refused(folder, about, **how):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InvalidInput) as caught, open_run(folder, about, parameter="there", **how):
        pass
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return str(caught.value)


def test_a_run_goes_on_in_its_folder(tmp_path):
    about = {"trials": 5, "X": [1, 2]}
    for _ in range(2):
        with open_run(tmp_path, about, parameter="there"):
            assert json.loads((tmp_path / "run.json").read_text())["about"]["trials"] == 5


def test_other_files_are_named(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    assert "there must be empty or that of the same run" in refused(tmp_path, {})
    (tmp_path / "run.json").write_text("[1]")
    assert "run.json must say what an earlier run is about" in refused(tmp_path, {})


def test_another_run_is_refused_by_what_differs(tmp_path):
    with open_run(tmp_path, {"trials": 5, "X": 1}, parameter="there"):
        assert "must not be in use" in refused(tmp_path, {"trials": 5, "X": 1})
    other = {"trials": 6, "X": 2}
    assert "there holds a run with another trials (5, not 6), X (1, not 2), got" in refused(
        tmp_path, other
    )
    again = {"trials": 5, "X": 1}
    assert "--again goes on with it" in refused(tmp_path, again, resume_by="--again")


@pytest.mark.parametrize("end", ["", "{", '{"co', '{"cost": 2}'])
def test_a_line_that_was_cut_is_forgotten(tmp_path, end):
    path = tmp_path / "rows.jsonl"
    assert read_rows(path, is_row) == []
    append_row(path, {"cost": 1.5, "name": "ε"})
    path.write_bytes(path.read_bytes() + end.encode())
    assert read_rows(path, is_row) == [{"cost": 1.5, "name": "ε"}]
    append_row(path, {"cost": 3})
    assert [row["cost"] for row in read_rows(path, is_row)] == [1.5, 3]


@pytest.mark.parametrize("text", ["cost\n", '{"cost": 1}\n[]\n', '{"cost": 1}\n{"a": 1}\n', "x"])
def test_other_text_is_named_and_left_alone(tmp_path, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"other text in line {max(1, text.count(chr(10)))}"):
        read_rows(path, is_row)
    assert path.read_text() == text


def test_arrays_come_back_and_damaged_ones_are_named(tmp_path):
    path = tmp_path / "deep" / "part.npz"
    write_arrays(path, decision=np.array([1 / 3, -0.0]))
    assert (
        read_arrays(path, "begin again")["decision"].tobytes() == np.array([1 / 3, -0.0]).tobytes()
    )
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InvalidInput, match=r"part.npz must hold a finished part .*: begin again\."):
        read_arrays(path, "begin again")
