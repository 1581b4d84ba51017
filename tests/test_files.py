"""Files are whole or absent, and as readable as any other."""

import os
import stat

import pytest

from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_csv, write_whole


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half of")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_is_as_readable_as_any_other(tmp_path):
    previous = os.umask(0o027)
    try:
        path = write_csv(tmp_path / "result.csv", [{"a": 1, "b": None}])
    finally:
        os.umask(previous)
    assert path.read_bytes() == b"a,b\r\n1,\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(InvalidInput, match=r"^output must be a folder that can be written to, got"):
        prepare_folder(tmp_path)
