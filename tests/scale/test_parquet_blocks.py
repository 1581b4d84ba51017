"""Parquet files as a source: what is read, what is refused, and in whose name."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from unmet import LinearDecision, Newsvendor
from unmet.errors import InvalidInput, MissingPackage
from unmet.scale import ParquetBlocks
from unmet.scale.parquet import ahead
from unmet.solvers import constants

COST = Newsvendor(underage=5, overage=1)


def table(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.integers(0, 4, n)
    return pl.DataFrame({"x": x, "z": z, "sales": 9 + 2 * x + z + rng.gamma(2, 1, n), "key": "k"})


@pytest.fixture
def folder(tmp_path):
    """Three files, one of them in a folder, one with other types, and files to leave out."""
    data = tmp_path / "data"
    (data / "more").mkdir(parents=True)
    table(700, 1).write_parquet(data / "b.parquet", row_group_size=130)
    table(300, 0).with_columns(pl.col("x").cast(pl.Float32)).write_parquet(data / "a.parquet")
    table(11, 2).write_parquet(data / "more" / "c.parquet")
    (data / "_hidden.parquet").write_text("no Parquet file")
    (data / "notes.txt").write_text("no Parquet file either")
    return data


def source(path, **options):
    return ParquetBlocks(path, features=["x", "z"], observed="sales", **options)


def test_every_row_is_read_once_in_the_order_of_the_names(folder):
    blocks = list(source(folder, batch_rows=128).blocks())
    parts = [pl.read_parquet(folder / name) for name in ("a.parquet", "b.parquet")]
    parts.append(pl.read_parquet(folder / "more" / "c.parquet"))
    expected = np.concatenate([part["sales"].to_numpy() for part in parts])
    np.testing.assert_array_equal(np.concatenate([b.observation for b in blocks]), expected)
    features = np.concatenate([part[["x", "z"]].to_numpy() for part in parts])
    np.testing.assert_array_equal(np.concatenate([b.features for b in blocks]), features)
    assert max(map(len, blocks)) <= 128
    assert [block.number for block in blocks] == list(range(len(blocks)))
    assert source(folder).n_rows == 1011


def test_parquet_and_memory_agree(folder, monkeypatch):
    parts = [pl.read_parquet(file) for file in sorted(folder.rglob("?.parquet"))]
    X = np.concatenate([part[["x", "z"]].to_numpy() for part in parts]).astype(float)
    s = np.concatenate([part["sales"].to_numpy() for part in parts])
    known = LinearDecision(COST).fit(X, s)
    once = LinearDecision(COST).fit(source(folder))
    np.testing.assert_allclose(once.coef_, known.coef_, rtol=1e-6)
    monkeypatch.setattr(constants, "SAMPLE_ENTRIES", 600)
    found = LinearDecision(COST).fit(source(folder, batch_rows=50))
    assert found.solution_.objective == pytest.approx(known.solution_.objective, rel=1e-8)
    assert found.solution_.passes >= 2
    assert list(found.feature_names_in_) == ["x", "z"]
    found.predict(pl.DataFrame({"x": [0.5], "z": [2]}))


def test_columns_of_weights_costs_and_bands(tmp_path):
    rng = np.random.default_rng(0)
    rows = table(400).with_columns(
        w=pl.Series(rng.integers(0, 3, 400)),
        cu=pl.Series(rng.uniform(1, 5, 400)),
        lo=0.5,
        hi=pl.Series(rng.uniform(0.5, 2, 400)),
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    names = {"weight": "w", "underage": "cu", "low": "lo", "high": "hi"}
    (block,) = source(tmp_path / "rows.parquet", **names).blocks()
    for name, column in names.items():
        np.testing.assert_array_equal(getattr(block, name), rows[column].to_numpy())


def test_flags_may_be_missing_but_nothing_else(tmp_path):
    rows = table(600).with_columns(
        flag=pl.Series([True, False, None] * 200), gap=pl.Series([None, None] + [1.0] * 598)
    )
    rows.write_parquet(tmp_path / "rows.parquet")
    (block,) = source(tmp_path, censored="flag").blocks()
    np.testing.assert_array_equal(block.censored[:3], [1.0, 0.0, np.nan])
    with pytest.raises(InvalidInput, match=r"rows\.parquet must have a number in .*'gap', got 2 n"):
        list(source(tmp_path, weight="gap").blocks())


def test_a_file_that_is_no_parquet_file_is_named(folder):
    (folder / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InvalidInput, match=r"broken\.parquet must be a Parquet file"):
        source(folder)


def test_a_file_with_broken_pages_is_named(folder):
    """Its footer is fine, so that only reading finds out."""
    path = folder / "b.parquet"
    content = bytearray(path.read_bytes())
    content[4:2000] = b"\xff" * 1996
    path.write_bytes(bytes(content))
    with pytest.raises(InvalidInput, match=r"b\.parquet must be a Parquet file that can be read"):
        LinearDecision(COST).fit(source(folder))


CHANGED = r"b\.parquet must not change while it is used, got another file of that name, or other"


def test_a_file_that_changes_is_named(folder):
    opened = source(folder)
    table(20).write_parquet(folder / "b.parquet")
    with pytest.raises(InvalidInput, match=CHANGED):
        list(opened.blocks())


@pytest.mark.parametrize("how", ["replaced", "written", "removed"])
def test_a_file_that_changes_while_it_is_read_is_named(folder, how):
    """As many rows as before, so that nothing but the file itself can tell."""
    path = folder / "b.parquet"
    opened = source(folder, batch_rows=100)
    other = pl.read_parquet(path).with_columns(pl.col("sales") + 1)

    def change():
        if how == "removed":
            path.unlink(missing_ok=True)
        elif how == "written":
            other.write_parquet(path)
        else:
            other.write_parquet(folder / "new")
            (folder / "new").replace(path)

    def read_twice():
        for _ in range(2):  # a pass may end with the rows of the file that it has opened
            for number, _ in enumerate(opened.blocks()):
                if number == 4:
                    change()

    with pytest.raises(InvalidInput, match=CHANGED if how != "removed" else "b.parquet must be a"):
        read_twice()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop("z"), r"odd\.parquet must have a column 'z', got x, sales, key"),
        (lambda t: t.with_columns(z=pl.lit("no")), r"odd\.parquet must have numbers in column 'z'"),
    ],
    ids=["missing", "text"],
)
def test_a_file_with_other_columns_is_named(folder, change, words):
    change(table(5)).write_parquet(folder / "odd.parquet")
    with pytest.raises(InvalidInput, match=words):
        source(folder)


def test_not_a_number_is_named_with_its_file(folder):
    table(5).with_columns(x=pl.lit(float("nan"))).write_parquet(folder / "odd.parquet")
    with pytest.raises(InvalidInput, match=r"features must hold finite .* 5 .*odd\.parquet"):
        LinearDecision(COST).fit(source(folder))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "nowhere"}, "path must be a Parquet file or a folder of them"),
        ({"path": []}, "at least one Parquet file"),
        ({"features": "x"}, "features must be a list"),
        ({"features": ["x", "x"]}, "features must be different"),
        ({"batch_rows": 1.5}, "batch_rows must be a whole number of at least 1"),
    ],
    ids=["nowhere", "nothing", "one name", "twice", "rows"],
)
def test_arguments_are_checked(folder, options, words):
    with pytest.raises(InvalidInput, match=words):
        ParquetBlocks(**{"path": folder, "features": ["x"], **options})


def test_a_folder_without_files(tmp_path):
    with pytest.raises(InvalidInput, match=r"folder with \*\.parquet files"):
        source(tmp_path)


def test_without_observations_there_is_no_fit(folder):
    with pytest.raises(InvalidInput, match="observed must be given"):
        LinearDecision(COST).fit(ParquetBlocks(folder, features=["x"]))


def test_without_pyarrow_one_sentence(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingPackage, match=r"ParquetBlocks needs pyarrow: .*pyarrow>="):
        source(folder)


def test_reading_ahead_is_one_item_ahead():
    fetched = []

    def items():
        for item in range(6):
            fetched.append(item)
            yield item

    for item in ahead(items()):
        assert len(fetched) <= item + 2
    assert fetched == list(range(6))


def test_an_error_while_reading_ahead_arrives():
    def items():
        yield 1
        raise InvalidInput("gone.")

    reader = ahead(items())
    assert next(reader) == 1
    with pytest.raises(InvalidInput, match="gone"):
        next(reader)
