"""Files that mean harm or were harmed: a table or one sentence, in bounded time, nothing left over.

What is read: bombs, files cut short, flipped bits, other encodings, NUL bytes, lines without end.
What is written: full disks, devices, links, two writers at once, cells that begin like a formula.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
import sys
import threading
import time
import zipfile
from functools import partial

import numpy as np
import polars as pl
import pytest

from unmet import Newsvendor
from unmet.cli.main import run
from unmet.errors import FileFailure, InvalidInput, UnmetError
from unmet.files import read_gzip, write_content
from unmet.planning import OrderPlan, read_table
from unmet.tables.dialect import Dialect, as_bytes
from unmet.tables.reading import read_file, write_excel

pytest.importorskip("skops")

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


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    wide = pl.DataFrame({f"c{k}": [k, k] for k in range(5000)})
    wide.write_csv(folder / "wide.csv")
    wide.write_parquet(folder / "wide.parquet")
    same = pl.DataFrame({"price": np.ones(2_000_000, dtype=np.int8)})
    same.write_parquet(folder / "rows.parquet")
    (folder / "line.csv").write_bytes(b"price,kind," * 200_000)
    return folder


# --- Reading: bombs and tables that are none.


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("wide.csv", "must have at most 2,000 columns, got 5,000: a table has one row for each"),
        ("line.csv", "must be lines of text, the first of at most 1 MB, got no end of a line"),
    ],
)
def test_files_that_are_too_much_are_refused_at_once(hostile, capsys, name, sentence):
    begun = time.process_time()
    assert run(["fit", str(hostile / name), *FIT]) == 2
    assert time.process_time() - begun < 1.5
    said = capsys.readouterr().err
    assert said.startswith(f"unmet: {hostile / name} {sentence}")
    assert said.count("\n") == 1


def workbook(path, *sheets):
    """A workbook of sheets, each written as its cells are in the archive."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    named = [f'<sheet name="S{n}" sheetId="{n}" r:id="k{n}"/>' for n, _ in enumerate(sheets, 1)]
    links = [
        f'<Relationship Id="k{n}" Type="{office}/worksheet" Target="worksheets/part{n}.xml"/>'
        for n, _ in enumerate(sheets, 1)
    ]
    strings = f'<Relationship Id="s" Type="{office}/sharedStrings" Target="sharedStrings.xml"/>'
    held = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships><Relationship Id="w" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{"".join(named)}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{''.join(links)}{strings}</Relationships>",
        "xl/sharedStrings.xml": f'<sst xmlns="{main}"><si><t>sales</t></si></sst>',
    }
    for n, cells in enumerate(sheets, 1):
        held[f"xl/worksheets/part{n}.xml"] = (
            f'<worksheet xmlns="{main}" xmlns:x="{main}"><dimension ref="A1:A2"/>{cells}'
            "</worksheet>"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return path


def cells(*more):
    """The cells of a small sheet, its header among the shared strings, and more of them."""
    two = '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2"><v>7</v></c></row>'
    return f"<sheetData>{two}{''.join(more)}</sheetData>"


PLAIN = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
FAR = {
    "plain": PLAIN,
    "quoted": PLAIN.replace('"', "'"),
    "prefix": re.sub("<(/?)", r"<\1x:", PLAIN),
    "counted": f'<row r="1048576">{"<c><v>1</v></c>" * 16384}</row>',
    "disguised": """<row r="1048576"><c s=' r="A1"' r="XFD1048576"><v>1</v></c></row>""",
    "inline": '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>a</t></is></c></row>',
}


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", FAR)
def test_a_value_far_away_is_refused_before_there_is_room_for_all_between(tmp_path, capsys, kind):
    path = workbook(tmp_path / "far.xlsx", cells(FAR[kind]))
    assert path.stat().st_size < 2500
    assert run(["plan", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.endswith(
        "far.xlsx must hold at most 50,000,000 cells in the rectangle around all filled ones of "
        "sheet 'S1', got 1,048,576 rows of 16,384 columns: clear cells that lie far away from the "
        "table.\n"
    )


def test_ordinary_gzip_is_read_as_before(tmp_path):
    raw = b"".join(b"%d,%d\n" % (k, k * k) for k in range(3000))
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(raw[:9000]) + gzip.compress(raw[9000:]) + b"\0" * 5)
    assert read_gzip(file) == gzip.decompress(file.read_bytes()) == raw
    assert read_gzip(file, 100) == raw[:100]


# --- Reading: files that were harmed.


def raw_files(folder):
    rows = table()
    rows.write_parquet(folder / "a.parquet")
    write_excel(rows, folder / "a.xlsx")
    text = rows.write_csv()
    return {
        "a.csv": text.encode(),
        "a.csv.gz": gzip.compress(text.encode()),
        "wide.txt": text.encode("utf-16"),
        "a.parquet": (folder / "a.parquet").read_bytes(),
        "a.xlsx": (folder / "a.xlsx").read_bytes(),
    }


def harmed(raw, n_each, seed):
    """Copies of a file: cut at every tenth byte, with bits flipped, with NUL bytes put in."""
    for place in range(0, len(raw), 10):
        yield raw[:place]
    chance = random.Random(seed)
    for _ in range(n_each):
        copy = bytearray(raw)
        for _ in range(chance.choice([1, 1, 2, 8])):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)
    for _ in range(n_each // 5):
        place = chance.randrange(len(raw))
        yield raw[:place] + b"\0" * chance.choice([1, 10, 1000]) + raw[place:]


def outcome(read, path):
    """A word for what came of it; anything but our own errors fails the test."""
    said = ""
    try:
        read(path)
    except UnmetError as error:
        said = str(error)
    assert "\n" not in said
    return "refused" if said else "read"


@pytest.mark.fuzz
@pytest.mark.parametrize(
    "name",
    ["a.csv", "a.xlsx"]
    + [
        pytest.param(each, marks=pytest.mark.slow) for each in ("a.csv.gz", "wide.txt", "a.parquet")
    ],
)
def test_harmed_tables_are_read_or_refused(tmp_path, capfd, name):
    raw = raw_files(tmp_path)[name]
    file = tmp_path / f"harmed-{name}"
    found = []
    for content in harmed(raw, 30, seed=1):
        file.write_bytes(content)
        found.append(outcome(read_file, file))
    assert found.count("refused") >= 5  # the shortest ones, if nothing else
    if not name.endswith(("csv", "txt")):  # lines of text that are cut are lines of text
        assert set(found[: len(raw) // 10]) == {"refused"}
    assert capfd.readouterr().err == ""  # neither words of a panic nor remarks of a reader


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


# --- Writing: nothing half-written, nothing replaced that is no file.


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table().write_csv("sales.csv")
    assert run(["fit", "sales.csv", *FIT, "--band", "none", "-o", "m.unmet"]) == 0
    capsys.readouterr()
    return tmp_path


def test_an_answer_that_cannot_be_printed(folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    script = "import sys; from unmet.cli.main import main; main(sys.argv[1:])"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "--version"], stdout=full, stderr=-1, check=False
        )
    assert done.stderr == b"unmet: No space left on device.\n"
    assert done.returncode == 2


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


@pytest.mark.fuzz
def test_two_writers_at_once(tmp_path):
    """Whoever reads in between finds one of the two files, and whole."""
    path, contents = tmp_path / "a", [b"1" * 300_000, b"2" * 300_000]
    write_content(path, contents[0])
    writers = [
        threading.Thread(target=lambda text=text: [write_content(path, text) for _ in range(40)])
        for text in contents
    ]
    for each in writers:
        each.start()
    seen = set()
    while any(each.is_alive() for each in writers):
        seen.add(path.read_bytes())
    for each in writers:
        each.join()
    assert seen <= set(contents)
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileFailure, match=r"cannot be written: Permission denied\.$"):
        write_content(tmp_path / "a", b"x")


# --- Writing: cells that begin like a formula.

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
    write_excel(rows, tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        sheets = [book.read(name) for name in book.namelist() if "worksheets/" in name]
    assert sheets
    assert all(b"<f>" not in sheet for sheet in sheets)
    assert read_table(tmp_path / "a.xlsx", text=["item"])["item"].to_list()[0] == "=1+1"


def test_orders_of_items_that_look_like_formulas_keep_their_names(tmp_path):
    """What is exported can be read back as decisions on the same items."""
    days = np.datetime64("2024-01-01") + np.arange(40)
    names = ["=tea", "@milk"]
    history = pl.DataFrame(
        {
            "day": np.tile(days, 2),
            "item": np.repeat(names, 40),
            "sales": np.random.default_rng(0).poisson(20, 80),
        }
    )
    plan = OrderPlan(horizon=2, model="seasonal", cost=Newsvendor.at_level(0.8)).fit(history)
    (tmp_path / "orders.csv").write_bytes(as_bytes(plan.orders(), Dialect()))
    assert b"\n'=tea," in (tmp_path / "orders.csv").read_bytes()
    assert sorted(read_table(tmp_path / "orders.csv")["item"].unique()) == names
