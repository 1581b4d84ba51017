"""The command `favorita` as a user meets it: files, tables, JSON, one sentence when it fails."""

import csv
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from paper.commands import run
from paper.favorita import favorita_tables, load_favorita
from paper.favorita.outputs import check_folder, qq_plot, show_cell
from paper.favorita.published import PERISHABLE_FAMILIES, PUBLISHED_STORES
from unmet.errors import InvalidInput

FILES = [
    "coefficients.csv",
    "descriptive.csv",
    "grouped.csv",
    "grouped.parquet",
    "qq.png",
    "qq.svg",
    "stores.csv",
    "summary.md",
]
HEADER = "id,date,store_nbr,family,sales,onpromotion"


def sold(store, place, day, generator):
    noise = (10 + 2 * store) * generator.standard_normal()
    return max(1.0, round(200 + 40 * place + 5 * day.weekday() + noise, 3))


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Stores 10 and 39 every fifth day of 2016, store 52 without sales."""
    generator = np.random.default_rng(0)
    lines = [HEADER]
    for day in (date(2016, 1, 1) + timedelta(k) for k in range(0, 366, 5)):
        for place, family in enumerate(PERISHABLE_FAMILIES):
            lines += [
                f"0,{day},{store},{family},{sold(store, place, day, generator)},0"
                for store in (10, 39)
            ]
            lines.append(f"0,{day},52,{family},0.0,0")
    path = tmp_path_factory.mktemp("kaggle") / "train.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_files(train, tmp_path, capsys):
    folder = tmp_path / "new" / "out"
    assert run(["favorita", str(train), "--output", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == FILES
    sales = load_favorita(train)
    assert pl.read_parquet(folder / "grouped.parquet").equals(sales.table)
    assert load_favorita(folder / "grouped.csv").table.equals(sales.table)
    tables = favorita_tables(sales)
    stores = read(folder / "stores.csv")
    assert [int(row["store"]) for row in stores] == [10, 39]
    published = PUBLISHED_STORES[-1]
    assert float(stores[1]["rmse"]) == tables.stores[1].rmse
    assert float(stores[1]["rmse_published"]) == published.rmse
    assert float(stores[1]["rmse_difference"]) == tables.stores[1].rmse - published.rmse
    dairy = read(folder / "coefficients.csv")[1]
    assert (dairy["name"], dairy["published"]) == ("DAIRY", "192.23")
    assert float(dairy["ours"]) == pytest.approx(40, abs=15)
    assert float(dairy["difference"]) == float(dairy["ours"]) - 192.23
    count = read(folder / "descriptive.csv")[0]
    assert list(count.values())[:4] == ["count", "666", "3237", "-2571"]
    assert float(count["relative"]) == pytest.approx(-2571 / 3237)
    assert float(stores[1]["rmse_relative"]) == pytest.approx(
        tables.stores[1].rmse / published.rmse - 1
    )
    assert ET.parse(folder / "qq.svg").getroot().tag.endswith("svg")
    assert (folder / "qq.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert all(name in printed for name in FILES)


def test_summary_is_one_readable_page(train, tmp_path):
    run(["favorita", str(train), "--output", str(tmp_path)])
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Favorita, 2016: store 10\n")
    assert "- Without sales in 2016: store 52." in text
    for line in text.splitlines():
        if line.startswith("| DAIRY"):
            assert line.split(" | ")[3] == "192.23"
    widths = {line.count("|") for line in text.split("## All stores")[1].splitlines() if line}
    assert len(widths) == 1


def test_tables_fit_eighty_columns(train, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(["favorita", str(train), "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    tables = printed.split("Store 10 has the smallest")[0]
    assert "…" not in tables
    assert "1601.9278" in tables
    assert "0.3266" in tables
    assert "-106.29" in tables


def test_columns_without_numbers_are_not_printed(train, tmp_path, capsys):
    run(["favorita", str(train), "--output", str(tmp_path), "--store", "39"])
    printed = capsys.readouterr().out
    assert "Sales of store 39, 2016" in printed
    assert "published" not in printed.split("All stores")[0]


def test_json_is_all_there_is_on_standard_output(train, tmp_path, capsys):
    assert run(["favorita", str(train), "--output", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr()
    content = json.loads(printed.out)
    assert printed.err == ""
    assert (content["store"], content["layout"], content["year"]) == (10, "family", 2016)
    assert content["stores_without_sales"] == [52]
    assert content["stores"][0]["rmse_over_median_published"] == 0.3266
    assert len(content["coefficients"]) == 26
    assert sorted(os.path.basename(file) for file in content["files"]) == FILES


def test_numbers_that_are_not_defined_are_null(tmp_path, capsys):
    lines = [f"0,2016-01-{k:02d},1,DAIRY,7,0" for k in range(1, 20)]
    path = tmp_path / "train.csv"
    path.write_text("\n".join([HEADER, *lines, ""]))
    assert run(["favorita", str(path), "--output", str(tmp_path / "out"), "--json"]) == 0
    store = json.loads(capsys.readouterr().out)["stores"][0]
    assert (store["r2"], store["f"], store["r2_difference"]) == (None, None, None)
    assert run(["favorita", str(path), "--output", str(tmp_path / "out")]) == 0
    assert "–" in capsys.readouterr().out


def test_item_level_needs_items(tmp_path, capsys):
    path = tmp_path / "train.csv"
    path.write_text("id,date,store_nbr,item_nbr,unit_sales,onpromotion\n")
    assert run(["favorita", str(path), "--output", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error == f"unmet: items must be given, because {path} is at item level.\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (None, [], "does not exist"),
        ("date,family\n", [], "lacks the columns store_nbr, sales for family level"),
        (f"{HEADER}\n0,2016-01-01,1,DAIRY,many,0\n", [], "column sales, got 'many' in line 2"),
        (f"{HEADER}\n0,2016-01-01,1,DAI", [], "is cut off in its last line, 2"),
        (f"{HEADER}\n0,2016-01-01,1,DAIRY,3,0\n", [], "store 1 has 1 rows for 1 coefficients"),
        (f"{HEADER}\n0,2016-01-01,1,DAIRY,3,0\n", ["--year", "2015"], "no rows of 2015"),
        (f"{HEADER}\n", ["--year", "next"], "'--year'"),
    ],
)
def test_mistakes_get_one_sentence_and_nothing_is_written(
    text, options, sentence, tmp_path, capsys
):
    path = tmp_path / "train.csv"
    if text is not None:
        path.write_text(text)
    assert run(["favorita", str(path), "--output", str(tmp_path / "out"), *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("unmet: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    assert not (tmp_path / "out").exists()


def test_output_is_checked_before_anything_is_read(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for folder in (taken, taken / "out"):
        assert run(["favorita", str(tmp_path / "nowhere.csv"), "--output", str(folder)]) == 2
        error = capsys.readouterr().err
        assert "output must be a folder" in error
        assert error.count("\n") == 1
    assert taken.read_text() == "mine"


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for folder in (tmp_path, tmp_path / "new" / "out"):
        with pytest.raises(InvalidInput, match="output must be a folder that can be"):
            check_folder(folder)


def test_without_matplotlib_the_tables_are_still_written(train, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["favorita", str(train), "--output", str(tmp_path)]) == 0
    assert "the QQ plot was left out, because matplotlib" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        name for name in FILES if not name.startswith("qq")
    ]


def test_qq_plot_shows_residuals_against_quantiles(train):
    store = favorita_tables(load_favorita(train)).chosen
    axes = qq_plot(store).axes[0]
    line, points = axes.lines
    assert list(points.get_ydata()) == sorted(store.residuals)
    quantiles = np.asarray(points.get_xdata())
    # the noise is normal, so the middle lies on the line, and the law has the store's spread
    middle = slice(len(quantiles) // 20, -len(quantiles) // 20)
    gap = np.abs(quantiles - points.get_ydata())[middle]
    assert gap.max() < 0.2 * store.rmse
    assert np.std(quantiles) == pytest.approx(store.rmse, rel=0.01)
    assert list(line.get_xdata()) == list(line.get_ydata())
    assert f"N(0, {store.rmse:.2f}²)" in axes.get_xlabel()
    assert "Store 10" in axes.get_title(loc="left")


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (-0.00001, "0.0000"), (1.23456, "1.2346"), (7, "7")]
)
def test_cells(value, shown):
    assert show_cell(value, 4) == shown


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Ten times the rows, and hardly more memory; all at once would take twice the file."""
    items = tmp_path / "items.csv"
    items.write_text("item_nbr,family,class,perishable\n7,DAIRY,1,1\n")
    days = [date(2016, 1, 1) + timedelta(k) for k in range(366)]
    lines = "".join(f"1,{day},1,7,{k}.125,False\n" for day in days for k in range(300))
    code = (
        "import sys; from paper.favorita import files, load_favorita;"
        "files.BLOCK_BYTES = 2**19;"
        "sales = load_favorita(sys.argv[1], items=sys.argv[2]);"
        # not getrusage: its peak begins with that of the parent
        "status = open('/proc/self/status').read();"
        "print(status.split('VmHWM:')[1].split()[0], sales.rows_read)"
    )
    peaks = []
    for times in (1, 10):
        path = tmp_path / f"{times}.csv"
        with path.open("w") as stream:
            stream.write("id,date,store_nbr,item_nbr,unit_sales,onpromotion\n")
            for _ in range(times):
                stream.write(lines)
        result = subprocess.run(
            [sys.executable, "-c", code, str(path), str(items)],
            capture_output=True,
            text=True,
            check=True,
        )
        peak, rows = map(int, result.stdout.split())
        assert rows == 366 * 300 * times
        peaks.append(peak)
    kilobytes = path.stat().st_size / 1024
    assert peaks[1] - peaks[0] < 0.5 * kilobytes, peaks
