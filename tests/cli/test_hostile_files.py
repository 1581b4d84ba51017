"""Files that were harmed: a table or one sentence, nothing left over.

What is read: files cut short, other encodings, pipes and devices.
What is written: full disks, devices, links.
"""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
import sys
import zipfile
from functools import partial

import numpy as np
import polars as pl
import pytest

from unmet.cli.main import run
from unmet.errors import InvalidInput, UnmetError
from unmet.files import write_content
from unmet.planning import read_table
from unmet.tables.dialect import Dialect, as_bytes
from unmet.tables.reading import read_file, table_bytes

FIT = ["--observed", "sales", "--features", "price", "--underage", "3", "--overage", "1"]


def table(n_rows=40):
    generator = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + np.arange(n_rows)
    return pl.DataFrame(
        {
            "day": days,
            "item": ["tea", "café"] * (n_rows // 2),
            "price": generator.normal(10, 1, n_rows).round(2),
            "sales": generator.integers(1, 50, n_rows),
        }
    )


# --- Reading: files that were harmed.


def outcome(read, path):
    """A word for what came of it; anything but our own errors fails the test."""
    said = ""
    try:
        read(path)
    except UnmetError as error:
        said = str(error)
    assert "\n" not in said
    return "refused" if said else "read"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".xlsx", ".parquet"])
def test_tables_that_are_cut_short_are_read_or_refused(tmp_path, ending):
    raw = table_bytes(table(), ending)
    raw = gzip.compress(raw) if ending == ".csv.gz" else raw
    file = tmp_path / f"cut{ending}"
    found = []
    for share in np.linspace(0, 0.95, 12):
        file.write_bytes(raw[: int(share * len(raw))])
        found.append(outcome(read_file, file))
    assert found[0] == "refused"
    if ending != ".csv":  # lines of text that are cut are lines of text
        assert set(found) == {"refused"}


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
def test_what_is_read_is_a_file(tmp_path):
    """A pipe would be waited for, and a device has no end."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "gone.csv").symlink_to("nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("pipe", "zero", "loop", "gone", "folder"):
        assert outcome(read_file, tmp_path / f"{name}.csv") == "refused"
    table().write_csv(tmp_path / "real.csv")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert read_table(tmp_path / "link.csv").equals(read_table(tmp_path / "real.csv"))


@pytest.mark.parametrize(
    ("said", "written"),
    [("utf-8", "cp1252"), ("utf-16", "utf-8"), ("ascii", "utf-8"), ("rot13", "utf-8")],
)
def test_an_encoding_that_is_not_that_of_the_file(tmp_path, said, written):
    file = tmp_path / "a.csv"
    file.write_bytes(table().write_csv().encode(written))
    assert outcome(partial(read_table, encoding=said), file) == "refused"


@pytest.mark.parametrize("ending", [".csv.gz", ".xlsx"])
def test_files_that_unpack_to_too_much_are_refused(tmp_path, ending, monkeypatch):
    raw = table_bytes(table(), ".csv" if ending == ".csv.gz" else ending)
    file = tmp_path / f"bomb{ending}"
    file.write_bytes(gzip.compress(raw) if ending == ".csv.gz" else raw)
    assert outcome(read_file, file) == "read"
    monkeypatch.setattr("unmet.files.MAX_UNPACKED", 500)
    with pytest.raises(InvalidInput, match="must not unpack to more than"):
        read_file(file)


def test_tables_have_a_limit_of_columns(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text(",".join(f"c{i}" for i in range(4001)) + "\n" + ",".join("1" * 4001) + "\n")
    with pytest.raises(InvalidInput, match="must have at most 4,000 columns, got 4,001"):
        read_file(file)


# --- Writing: nothing half-written, nothing replaced that is no file.


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table().write_csv("sales.csv")
    assert run(["fit", "sales.csv", *FIT, "--band", "none", "-o", "m.unmet"]) == 0
    capsys.readouterr()
    return tmp_path


def test_an_answer_that_cannot_be_printed(monkeypatch, capsys):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unmet.cli.main._forget_output", lambda: None)
    monkeypatch.setattr("sys.stdout.flush", full)
    code = run(["--version"])
    monkeypatch.undo()
    assert code == 2
    assert capsys.readouterr().err == "unmet: No space left on device.\n"


FULL = """
import resource, signal, sys
sys.dont_write_bytecode = True  # half of a module would stay
from unmet.cli.main import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
@pytest.mark.parametrize("output", ["orders.csv", "orders.xlsx", "orders.parquet"])
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(folder, output):
    (folder / output).write_bytes(b"old")
    command = [sys.executable, "-c", FULL, "decide", "m.unmet", "sales.csv", "-o", output]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == f"unmet: {output} cannot be written: File too large.\n"
    assert (folder / output).read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == sorted(["m.unmet", "sales.csv", output])


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to("pipe.csv")
    for name in ("pipe.csv", "link.csv"):
        with pytest.raises(InvalidInput, match="ordinary file, got the device or pipe"):
            write_content(tmp_path / name, b"x")
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_links_stay_links_and_inputs_are_not_written_over(folder, capsys):
    (folder / "far").mkdir()
    (folder / "orders.csv").symlink_to("far/real.csv")
    assert run(["decide", "m.unmet", "sales.csv", "-o", "orders.csv"]) == 0
    assert (folder / "orders.csv").is_symlink()
    assert read_table("far/real.csv").height == 40
    (folder / "soft.csv").symlink_to("sales.csv")
    os.link("sales.csv", "hard.csv")
    sales = (folder / "sales.csv").read_bytes()
    for name in ("sales.csv", "./sales.csv", "soft.csv", "hard.csv", "far/../sales.csv"):
        capsys.readouterr()
        assert run(["decide", "m.unmet", "sales.csv", "-o", name]) == 2
        assert "must not be another file of this command" in capsys.readouterr().err
    assert (folder / "sales.csv").read_bytes() == sales


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1+1", "＝1+1", "-", "-5", "tea"]


def test_text_is_no_formula_in_a_spreadsheet(tmp_path):
    rows = pl.DataFrame({"item": FORMULAS, "=name": -1.5, "sold": range(-4, 5)})
    raw = as_bytes(rows, Dialect()).decode()
    lines = raw.splitlines()
    assert lines[0] == "item,'=name,sold"
    assert [line[:2] for line in lines[1:7]] == ["'=", "'+", "'-", "'@", "'\t", "'＝"]
    # numbers stay numbers, and signs alone do nothing
    assert lines[7:] == ["-,-1.5,2", "-5,-1.5,3", "tea,-1.5,4"]
    (tmp_path / "a.csv").write_text(raw, encoding="utf-8")
    back = read_table(tmp_path / "a.csv", text=["item"])
    assert back["item"].to_list() == [each.strip() for each in FORMULAS]
    assert back.columns == rows.columns
    (tmp_path / "a.xlsx").write_bytes(table_bytes(rows, ".xlsx"))
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        sheets = [book.read(name) for name in book.namelist() if "worksheets/" in name]
    assert sheets
    assert all(b"<f>" not in sheet for sheet in sheets)
    assert read_table(tmp_path / "a.xlsx", text=["item"])["item"].to_list()[0] == "=1+1"


# --- Standard streams that the shell has closed.


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a shell does")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(tmp_path, closed):
    table(60).drop("price").write_csv(tmp_path / "sales.csv")
    command = f"{shlex.quote(sys.executable)} -m unmet"
    for words, code in (("plan sales.csv --model seasonal", 0), ("plan lost.csv", 2)):
        found = subprocess.run(
            ["/bin/sh", "-c", f"{command} {words} {closed}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == code, found.stderr
        assert "error of our own" not in found.stderr
    assert read_table(tmp_path / "orders.csv").height == 7


# --- Names that programs would run.


def test_names_with_markup_stay_text_in_all_that_is_written(tmp_path):
    names = ["<script>alert(1)</script>", "=1+1", "\\textbf{x}", "007"]
    rows = pl.concat(table(30).with_columns(item=pl.lit(name)) for name in names)
    rows.drop("price").write_csv(tmp_path / "sales.csv")
    for end in ("csv", "xlsx"):
        words = ["plan", str(tmp_path / "sales.csv"), "--model", "seasonal", "-o"]
        words += [str(tmp_path / f"orders.{end}"), "--report", str(tmp_path / "report.html")]
        assert run(words) == 0
        found = read_table(tmp_path / f"orders.{end}", text=["item"])
        assert set(found["item"]) == {*names}
    assert "'=1+1" in (tmp_path / "orders.csv").read_text()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "alert(1)" in page
