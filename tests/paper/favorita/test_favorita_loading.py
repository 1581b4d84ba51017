"""Both layouts give the same groups, whatever they are packed in and however they are cut."""

from __future__ import annotations

import gzip
import zipfile
from datetime import date

import polars as pl
import pytest
from favorita_samples import FAMILIES, make

from paper.favorita import files, load_favorita, sales


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return make(tmp_path_factory.mktemp("favorita"))


def as_groups(sales):
    return {row[:3]: row[3] for row in sales.table.rows()}


@pytest.mark.parametrize("layout", ["item", "family"])
def test_groups_are_those_that_were_sold(sample, layout):
    path = getattr(sample, layout)
    sales = load_favorita(path, items=sample.items if layout == "item" else None)
    assert as_groups(sales) == sample.groups  # to the last digit: sums are rounded
    assert sales.table.columns == ["date", "store_nbr", "family", "sales"]
    assert sales.table.equals(sales.table.sort("store_nbr", "date", "family"))
    assert sales.layout == layout
    assert sales.families == tuple(FAMILIES)
    assert (sales.first_date, sales.last_date) == (date(2016, 1, 1), date(2016, 12, 31))
    assert sales.stores_without_sales == (3,)
    assert sales.dropped_negative == 1
    # family level has a row for every family of a store without sales
    assert sales.dropped_zero == (1 if layout == "item" else 1 + 366 * 9)


def test_rows_are_counted(sample):
    sales = load_favorita(sample.item, items=sample.items)
    lines = sample.item.read_text().splitlines()[1:]
    assert sales.rows_read == len(lines)
    assert sales.rows_of_year == sum(line.split(",")[1].startswith("2016-") for line in lines)


def test_another_year(sample):
    sales = load_favorita(sample.family, year=2017)
    assert as_groups(sales) == {(date(2017, 1, 1), 3, "DAIRY"): 7.0}
    assert sales.stores_without_sales == (1, 2, 4)
    assert sales.year == 2017


def test_grouped_sales_can_be_read_again(sample, tmp_path):
    sales = load_favorita(sample.item, items=sample.items)
    sales.table.write_csv(tmp_path / "grouped.csv")
    assert load_favorita(tmp_path / "grouped.csv").table.equals(sales.table)


@pytest.mark.parametrize("size", [60, 1000])
def test_where_blocks_end_does_not_matter(sample, size, monkeypatch, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("\n".join(sample.item.read_text().splitlines()[: 5 * size]))
    whole = load_favorita(few, items=sample.items)
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    monkeypatch.setattr(sales, "_COMPACT_ROWS", 500)
    told = []
    cut = load_favorita(few, items=sample.items, progress=lambda *both: told.append(both))
    assert cut.table.equals(whole.table)
    assert cut.rows_read == whole.rows_read
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == (few.stat().st_size, few.stat().st_size)


def packed(sample, kind, folder):
    text = sample.item.read_bytes()
    path = folder / f"train.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(text, 1))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("train.csv", text)
    elif kind == "windows":
        path.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n") + b"\r\n\r\n")
    elif kind == "unfinished":
        path.write_bytes(text.removesuffix(b"\n"))
    elif kind == "quoted":
        lines = [",".join(f'"{cell}"' for cell in row.split(",")) for row in text.decode().split()]
        path.write_text("\n".join(lines) + "\n")
    elif kind == "other-columns":
        pl.read_csv(sample.item).select(
            pl.lit(5).alias("x"), "unit_sales", "item_nbr", "date", "store_nbr"
        ).write_csv(path)
    else:
        table = pl.read_csv(sample.item, try_parse_dates=kind == "parquet")
        table.with_columns(pl.col("store_nbr").cast(pl.UInt8)).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "kind",
    ["gz", "zip", "windows", "unfinished", "quoted", "other-columns", "parquet", "text-dates"],
)
def test_packed_and_written_otherwise(sample, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PARQUET_ROWS", 9000)
    told = []
    path = packed(sample, kind, tmp_path)
    sales = load_favorita(path, items=sample.items, progress=lambda *both: told.append(both))
    assert as_groups(sales) == sample.groups
    assert told[-1][0] == told[-1][1] or kind == "zip"  # a directory follows the last byte


def test_the_flag_of_the_item_decides_not_its_family(sample, tmp_path):
    items = pl.read_csv(sample.items)
    tinned = pl.col("item_nbr") == 110
    items.with_columns(
        perishable=pl.when(tinned).then(0).otherwise("perishable"),
        family=pl.when(pl.col("item_nbr") == 111).then(pl.lit("FLOWERS")).otherwise("family"),
    ).write_csv(tmp_path / "items.csv")
    sales = load_favorita(sample.item, items=tmp_path / "items.csv")
    assert sales.families == tuple(sorted([*FAMILIES, "FLOWERS"]))
    train = pl.read_csv(sample.item, try_parse_dates=True).filter(
        (pl.col("item_nbr") == 112) & (pl.col("date").dt.year() == 2016)
    )
    dairy = {(row["date"], row["store_nbr"]): row["unit_sales"] for row in train.rows(named=True)}
    got = {key[:2]: value for key, value in as_groups(sales).items() if key[2] == "DAIRY"}
    assert got == {key: value for key, value in dairy.items() if value > 0}
    assert sales.dropped_negative > 1000  # FLOWERS is nothing but returns
