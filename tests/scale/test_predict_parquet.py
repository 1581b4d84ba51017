"""Decisions written to Parquet files: whole files, in order, a block at a time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from unmet import LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.scale import ArrayBlocks, ParquetBlocks, predict_parquet


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data" / "late").mkdir(parents=True)
    for name, n in (("b.parquet", 70), ("a.parquet", 40), ("late/c.parquet", 3)):
        x = rng.normal(size=n)
        rows = {"x": x, "z": rng.integers(0, 4, n), "key": [f"{name}{i}" for i in range(n)]}
        sales = 9 + 2 * x + rng.gamma(2, 1, n)
        pl.DataFrame({**rows, "sales": sales}).write_parquet(tmp_path / "data" / name)
    return tmp_path / "data"


@pytest.fixture
def model(folder):
    source = ParquetBlocks(folder, features=["x", "z"], observed="sales")
    return LinearDecision(Newsvendor(underage=5, overage=1)).fit(source)


def test_each_file_is_answered_by_one_of_its_name(folder, model, tmp_path):
    files = predict_parquet(model, folder, tmp_path / "out", step=2, upper=14, keep=["key"])
    names = ["a.parquet", "b.parquet", "late/c.parquet"]
    assert files == [tmp_path / "out" / name for name in names]
    for name in names:
        rows = pl.read_parquet(folder / name)
        found = pl.read_parquet(tmp_path / "out" / name)
        assert found["key"].equals(rows["key"])
        expected = model.decide(rows[["x", "z"]], step=2, upper=14)
        np.testing.assert_array_equal(found["decision"].to_numpy(), expected)


def test_predictions_without_lots(folder, model, tmp_path):
    source = ParquetBlocks(folder, features=["x", "z"], batch_rows=7)
    files = predict_parquet(model, source, tmp_path / "out", decide=False, column="order")
    rows = pl.read_parquet(folder / "b.parquet")
    np.testing.assert_allclose(
        pl.read_parquet(files[1])["order"].to_numpy(), model.predict(rows[["x", "z"]]), rtol=1e-14
    )


def test_resume_writes_what_is_missing_and_nothing_else(folder, model, tmp_path):
    files = predict_parquet(model, folder, tmp_path / "out")
    files[0].write_bytes(b"kept as it is")
    files[1].unlink()
    assert predict_parquet(model, folder, tmp_path / "out", resume=True) == files
    assert files[0].read_bytes() == b"kept as it is"
    assert pl.read_parquet(files[1]).height == 70


def test_an_interrupted_file_is_not_there(folder, model, tmp_path, monkeypatch):
    calls = []

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.zeros(arguments[0].height)

    monkeypatch.setattr(model, "decide", failing)
    source = ParquetBlocks(folder, features=["x", "z"], batch_rows=30)
    with pytest.raises(KeyboardInterrupt):
        predict_parquet(model, source, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.parquet"]


def test_blocks_of_arrays_fill_files_of_about_the_same_size(tmp_path):
    X = np.arange(100.0).reshape(-1, 1)
    source = ArrayBlocks(X, 2 * X[:, 0], block_rows=9)
    model = LinearDecision(Newsvendor(underage=5, overage=1)).fit(source)
    files = predict_parquet(model, source, tmp_path, step=None, file_rows=30)
    assert [path.name for path in files] == [f"part-{i:05d}.parquet" for i in range(3)]
    parts = [pl.read_parquet(path)["decision"].to_numpy() for path in files]
    assert [len(part) for part in parts] == [36, 36, 28]
    np.testing.assert_allclose(np.concatenate(parts), 2 * X[:, 0], atol=1e-8)
    files[1].unlink()
    predict_parquet(model, source, tmp_path, step=None, file_rows=30, resume=True)
    np.testing.assert_array_equal(pl.read_parquet(files[1])["decision"].to_numpy(), parts[1])


def test_an_empty_file_has_an_empty_answer(folder, model, tmp_path):
    pl.read_parquet(folder / "a.parquet").head(0).write_parquet(folder / "none.parquet")
    files = predict_parquet(model, folder, tmp_path / "out")
    assert pl.read_parquet(files[-1]).height == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"output": "same"}, "another folder than that of the data"),
        ({"source": ArrayBlocks(np.zeros((2, 3)), np.zeros(2))}, "must have 2 features"),
        ({"source": ArrayBlocks(np.zeros((2, 2)), np.zeros(2)), "keep": ["a"]}, "keep must be"),
    ],
    ids=["same folder", "features", "keep"],
)
def test_arguments_that_cannot_be_meant(folder, model, tmp_path, arguments, words):
    given = {"source": folder, "output": tmp_path / "out", **arguments}
    if given["output"] == "same":
        given["output"] = folder
    with pytest.raises(InvalidInput, match=words):
        predict_parquet(model, **given)


def test_a_model_without_names_needs_a_source(folder, tmp_path):
    model = LinearDecision().fit(np.arange(6.0).reshape(3, 2), [1, 2, 3])
    with pytest.raises(InvalidInput, match="knows no names"):
        predict_parquet(model, folder, tmp_path / "out")
