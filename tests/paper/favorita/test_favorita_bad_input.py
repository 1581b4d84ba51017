"""Whatever is wrong with a file is said in one sentence that names file, column and line."""

from __future__ import annotations

import gzip
import io
import re
import zipfile

import polars as pl
import pytest

from paper.favorita import favorita_tables, files, load_favorita
from unmet.errors import InvalidInput

ITEM = "id,date,store_nbr,item_nbr,unit_sales,onpromotion"
FAMILY = "id,date,store_nbr,family,sales,onpromotion"
ITEMS = "item_nbr,family,class,perishable\n7,DAIRY,1,1\n8,BOOKS,2,0\n"


def refused(path, **options):
    with pytest.raises(InvalidInput) as caught:
        load_favorita(path, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.fixture
def train(tmp_path):
    def write(text, name="train.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture
def items(train):
    return train(ITEMS, "items.csv")


def test_no_file(tmp_path, train, items):
    assert "does not exist" in refused(tmp_path / "train.csv")
    assert "is not one" in refused(tmp_path)
    path = train(f"{ITEM}\n1,2016-01-02,1,7,2.0,True\n")
    assert "items must be given" in refused(path)
    assert "items must be a file" in refused(path, items=tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("id,date,store_nbr,item_nbr,onpromotion", "columns unit_sales for item level"),
        ("id,day,store_nbr,family,sales", "columns date for family level"),
        ("sales", "columns date, store_nbr, family for family level"),
        (
            "a,b",
            "columns date, store_nbr, item_nbr, unit_sales for item level, or family and sales",
        ),
        (ITEM.replace(",", ";"), "lacks the columns date, store_nbr"),
    ],
)
def test_missing_columns_are_named(header, missing, train):
    assert missing in refused(train(header + "\n1\n"))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("3,2016-01-03,1,7,many,True", "numbers in the column unit_sales, got 'many' in line 3"),
        ("3,2016-01-03,1,7,nan,True", "numbers in the column unit_sales, got 'nan' in line 3"),
        ("3,2016-01-03,1,7,inf,True", "numbers in the column unit_sales, got 'inf' in line 3"),
        ("3,2016-01-03,1,7,,True", "numbers in the column unit_sales, got '' in line 3"),
        ("3,2016-01-03,x,7,1,True", "whole numbers in the column store_nbr, got 'x' in line 3"),
        ("3,2016-01-03,1,7.5,1,True", "whole numbers in the column item_nbr, got '7.5' in line 3"),
        ("3,03/01/2016,1,7,1,True", "like 2016-01-31 in the column date, got '03/01/2016'"),
        ("3,2016-02-30,1,7,1,True", "like 2016-01-31 in the column date, got '2016-02-30'"),
        ("3,,1,7,1,True", "like 2016-01-31 in the column date, got '' in line 3"),
        ("3,2016-01-03,1", "6 fields in every line, got 3 in line 3"),
        ("3,2016-01-03,1,7,1,True,8", "6 fields in every line, got 7 in line 3"),
        ("3,2016-01-03,1,7,1,5,True", "6 fields in every line, got 7 in line 3"),
        ("3,2016-01-03,1,7,1", "6 fields in every line, got 5 in line 3"),
        ("3,2016-01-03,99999999999999999999,7,1,True", "cannot be read from line 2 on"),
    ],
)
def test_wrong_lines_are_named(line, sentence, train, items):
    good = "1,2016-01-02,1,7,2.0,True"
    path = train("\n".join([ITEM, good, line, good, ""]))
    assert sentence in refused(path, items=items)


def test_lines_are_counted_over_blocks(train, items, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_BYTES", 200)
    lines = ["1,2016-01-02,1,7,2.0,True"] * 100
    lines[70] = "1,2016-01-02,1,7,two,True"
    assert "in line 72." in refused(train("\n".join([ITEM, *lines])), items=items)
    lines[70] = "1,2016-01-02,1,7,1.0,Trüe"
    path = train("\n".join([ITEM, *lines]).encode("latin-1"))
    assert "UTF-8 text, got the byte 0xfc in line 72." in refused(path, items=items)
    assert "a line of more than 200 bytes" in refused(train(f"{FAMILY}\n" + "x" * 5000))


@pytest.mark.parametrize("cut", [5, 16, 20, 23, 25])
def test_a_last_line_that_is_cut_off(cut, train, items):
    line = "2,2016-01-03,1,7,2.0,False"
    path = train(f"{ITEM}\n1,2016-01-02,1,7,2.0,True\n{line[:cut]}")
    assert "is cut off in its last line, 3" in refused(path, items=items)


def test_a_comma_within_quotes_is_none(train):
    path = train(f"""{FAMILY},note\n1,2016-01-03,1,DAIRY,2.0,0,"cold, but fresh"\n""")
    assert load_favorita(path).table["sales"].to_list() == [2.0]


def test_parquet_with_holes_or_without_columns(tmp_path):
    table = pl.DataFrame({"date": ["2016-01-02"], "store_nbr": [1], "family": ["DAIRY"]})
    path = tmp_path / "train.parquet"
    table.write_parquet(path)
    assert "lacks the columns sales for family level" in refused(path)
    for sold in (None, "many"):
        table.with_columns(sales=pl.lit(sold)).write_parquet(path)
        assert "Parquet" in refused(path) or "no missing values" in refused(path)


@pytest.mark.parametrize("ending", ["False", "True", ""])
def test_a_last_line_without_a_line_break_is_whole(ending, train, items):
    path = train(f"{ITEM}\n1,2016-01-03,1,7,2.0,{ending}")
    assert load_favorita(path, items=items).rows_read == 1


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, f"{FAMILY}\n")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (FAMILY.encode(), "has a header but no rows"),
        (f"{FAMILY}\n\n".encode(), "has a header but no rows"),
        (FAMILY.encode("utf-16"), "must be UTF-8 text, got the byte 0xff in line 1"),
        (b"7z\xbc\xaf\x27\x1c1234", "got a 7z archive: unpack it first"),
        (b"\x28\xb5\x2f\xfd1234", "got packed with zstandard"),
        (gzip.compress(FAMILY.encode() * 100, mtime=0)[:40], "is cut off or damaged"),
        (b"PK\x03\x04 and so on", "is cut off or damaged"),
        (zipped("a.csv", "b.csv"), "must hold one CSV file, got 2 files"),
        (b"PAR1 and so on", "cannot be read as Parquet"),
    ],
    # not the bytes: packed ones hold the time
    ids=["nothing", "lines", "header", "header and line", "utf-16", "7z"]
    + ["zstandard", "cut gzip", "cut zip", "two files", "cut Parquet"],
)
def test_what_is_no_csv(content, sentence, train):
    assert sentence in refused(train(content))


def test_rows_of_other_years_or_families_only(train, items):
    path = train(f"{ITEM}\n1,2015-03-01,1,7,2.0,True\n2,2017-01-01,1,7,2.0,True\n")
    assert refused(path, items=items).endswith(
        "no rows of 2016; its dates run from 2015-03-01 to 2017-01-01."
    )
    for product, sold in (("BOOKS", 3), ("DAIRY", 0), ("DAIRY", -1)):
        path = train(f"{FAMILY}\n1,2016-03-01,1,{product},{sold},0\n")
        assert "no sales of perishable families in 2016" in refused(path)


def test_items_that_nobody_knows_are_counted(train, items):
    lines = [f"1,2016-01-02,1,{number},2.0,True" for number in (7, 12, 11, 12)]
    path = train("\n".join([ITEM, *lines, "1,2015-01-01,1,13,2.0,True", ""]))
    sentence = refused(path, items=items)
    assert re.search(r"items.csv lacks 2 of the items .* in 2016, the first of them 11\.", sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("item_nbr,class\n7,1\n", "lacks the columns family, perishable"),
        ("item_nbr,family,perishable\n", "has a header but no rows"),
        ("item_nbr,family,perishable\n7,DAIRY,1\n7,EGGS,1\n", "got item 7 twice"),
        ("item_nbr,family,perishable\n7,DAIRY,2\n", "0 or 1 in the column perishable, got 2"),
        ("item_nbr,family,perishable\n7,DAIRY,0\n", "at least one item perishable"),
        ("item_nbr,family,perishable\n7,,1\n", "names in the column family, got '' in line 2"),
        ("item_nbr,family,perishable\nx,DAIRY,1\n", "in the column item_nbr, got 'x' in line 2"),
        ("item_nbr,family,perishable\n7,DAIRY,1\n8,D", "is cut off in its last line, 3"),
    ],
)
def test_wrong_items(text, sentence, train):
    path = train(f"{ITEM}\n1,2016-01-02,1,7,2.0,True\n")
    assert sentence in refused(path, items=train(text, "items.csv"))


@pytest.mark.parametrize("year", [0, 10_000, 2016.0, "2016", True])
def test_wrong_year(year, train):
    assert "year must be a whole number" in refused(train(FAMILY), year=year)


def test_fewer_rows_than_coefficients(train):
    rows = [f"1,2016-0{k}-0{k},1,DAIRY,{k},0" for k in range(1, 8)]
    sales = load_favorita(train("\n".join([FAMILY, *rows, ""])))
    with pytest.raises(InvalidInput, match=r"no store has more rows .* has 7 rows for 7 coeff"):
        favorita_tables(sales)


def test_store_that_is_not_there(train):
    rows = [f"1,2016-01-{k:02d},{s},DAIRY,{k * k},0" for k in range(1, 30) for s in (4, 6)]
    sales = load_favorita(train("\n".join([FAMILY, *rows, ""])))
    with pytest.raises(InvalidInput, match=r"store must be one of .* \(4, 6\), got 5\."):
        favorita_tables(sales, store=5)
