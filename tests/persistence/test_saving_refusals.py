"""Files that are not loaded, and models that are not saved: one sentence each, nothing written."""

import bz2
import gzip
import json
import os
import pickle
import sys
import zipfile
import zlib

import joblib
import numpy as np
import pytest
import skops.io
from own_costs import Taxed
from saved_models import SALES, X, made
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import unmet
from unmet import LinearDecision, NeuralDecision
from unmet.errors import FileFailure, InvalidInput, MissingPackage, Unsupported


class Bomb:
    """Sets a mark when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (os.environ["UNMET_TEST_MARK"],)


@pytest.fixture
def path(tmp_path):
    return unmet.save(made("exact"), tmp_path / "model.unmet", about={"a": 1})


def _sentence(path, **options):
    with pytest.raises(InvalidInput) as caught:
        unmet.load(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def _parts(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("header.json")), archive.read("model.state")


def _write(path, header, payload, compression=zipfile.ZIP_STORED, name="model.state"):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr(name, payload)


def test_a_file_that_is_not_there(tmp_path):
    assert _sentence(tmp_path / "no").startswith("path must be a file that exists, got ")


def test_a_folder(tmp_path):
    assert _sentence(tmp_path).startswith("path must be a file, got the folder ")
    with pytest.raises(InvalidInput, match="path must be a file, got the folder"):
        unmet.save(made("exact"), tmp_path)


@pytest.mark.parametrize(
    ("content", "expected"), [(b"", "is empty."), (b"a,b\n1,2\n", "is not a file that unmet.save")]
)
def test_other_files(content, expected, tmp_path):
    (tmp_path / "other").write_bytes(content)
    assert expected in _sentence(tmp_path / "other")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, zlib.compress],
    ids=["plain", "gzip", "bz2", "zlib"],
)
def test_a_pickle_is_recognised_and_not_opened(protocol, pack, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    monkeypatch.setenv("UNMET_TEST_MARK", str(mark))
    content = pickle.dumps(Bomb() if protocol > 1 else {"a": Bomb()}, protocol)
    (tmp_path / "model").write_bytes(pack(content))
    found = _sentence(tmp_path / "model")
    assert not mark.exists()
    if protocol > 1:
        assert "opening a pickle can run any code" in found


@pytest.mark.parametrize(
    "compress", [0, 3, ("gzip", 3), ("xz", 3), ("lzma", 3), ("bz2", 3)], ids=str
)
def test_a_file_of_joblib(compress, tmp_path):
    joblib.dump(made("exact"), tmp_path / "model", compress=compress)
    assert "is a pickle" in _sentence(tmp_path / "model")


def test_a_file_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.zeros(2)}, tmp_path / "model")
    assert "is a pickle" in _sentence(tmp_path / "model")


def test_a_file_of_skops(tmp_path):
    skops.io.dump(made("exact"), tmp_path / "model")
    assert "was written by skops itself" in _sentence(tmp_path / "model")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_file_cut_short(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert _sentence(path) == f"{path} is cut short: the end of the file is missing."


def test_a_changed_byte(path):
    header, payload = _parts(path)
    middle = len(payload) // 2
    changed = payload[:middle] + bytes([payload[middle] ^ 1]) + payload[middle + 1 :]
    _write(path, header, changed)
    assert _sentence(path).startswith(f"{path} is damaged")
    content = path.read_bytes()
    place = content.index(changed) + 5  # now the archive's own checksum is wrong, too
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert _sentence(path).startswith(f"{path} is damaged")


def test_a_newer_format_and_a_newer_version(path):
    header, payload = _parts(path)
    _write(path, {**header, "version": "99.0"}, payload)
    assert np.array_equal(unmet.load(path).predict(X), made("exact").predict(X))
    _write(path, {**header, "version": "99.0", "format": 3, "new": "field"}, payload)
    assert "was written by unmet 99.0 in format 3" in _sentence(path)
    assert _sentence(path).endswith("update unmet.")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "1"},
        {"format": True},
        {"file": "other"},
        {"about": 3},
        {"unpacked": "x"},
        {"z": 1},
    ],
    ids=str,
)
def test_a_header_that_is_none(path, change):
    header, payload = _parts(path)
    _write(path, {**header, **change}, payload)
    assert _sentence(path) == f"{path} is not a file of unmet: its header cannot be read."
    with pytest.raises(InvalidInput, match="its header cannot be read"):
        unmet.persistence.read_about(path)


def test_an_archive_that_is_too_large(path):
    header, payload = _parts(path)
    assert "must unpack to at most max_bytes, 1,000, got" in _sentence(path, max_bytes=1000)
    _write(path, {**header, "unpacked": 1 << 50}, payload)
    assert "must unpack to at most max_bytes" in _sentence(path)
    _write(path, header, payload, zipfile.ZIP_DEFLATED)
    assert "its payload is packed" in _sentence(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileFailure, match=r"model cannot be written: "):
        unmet.save(made("exact"), tmp_path / "model")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileFailure, match=r"model cannot be written: "):
        unmet.save(made("exact"), tmp_path / "no" / "model")


def test_a_failed_save_leaves_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(Unsupported):
        unmet.save(LinearDecision(Taxed(3, 0.2)), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_cost_of_ones_own(tmp_path):
    model = LinearDecision(Taxed(3, 0.2)).fit(X, SALES)
    path = tmp_path / "model"
    with pytest.raises(Unsupported) as caught:
        model.save(path)
    assert "it holds own_costs.Taxed" in str(caught.value)
    assert "load(path, trusted=['own_costs.Taxed'])" in str(caught.value)
    unmet.save(model, path, trusted=["own_costs.Taxed"])
    assert "it asks for own_costs.Taxed, which models of unmet do not hold" in _sentence(path)
    loaded = unmet.load(path, trusted=["own_costs.Taxed"])
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.cost == Taxed(3, 0.2)


@pytest.mark.parametrize("trusted", ["own_costs.Taxed", ["Taxed"], [Taxed]], ids=str)
def test_trusted_must_be_names(trusted, path):
    with pytest.raises(InvalidInput, match="trusted must"):
        unmet.load(path, trusted=trusted)


def test_functions_made_on_the_spot(tmp_path):
    model = make_pipeline(FunctionTransformer(lambda rows: rows), LinearDecision()).fit(X, SALES)
    with pytest.raises(Unsupported, match=r"<lambda>, which a file without code cannot hold"):
        unmet.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_module_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    made = {"solver": "adam", "backend": "torch", "max_iter": 1}
    model = NeuralDecision(module=_module, random_state=0, **made).fit(X, SALES)
    with pytest.raises(Unsupported, match=r"it holds torch.nn.*Linear, a module of torch"):
        model.save(tmp_path / "model")
    assert torch is not None
    assert not list(tmp_path.iterdir())


def _module(n_features):
    import torch

    return torch.nn.Linear(n_features, 1)


def test_a_file_of_format_1_says_how_to_make_a_new_one(path):
    header, payload = _parts(path)
    for about, how in (
        ({}, "fit the model and save it again."),
        ({"command": "unmet fit a.csv"}, "run 'unmet fit a.csv' again."),
    ):
        _write(path, {**header, "format": 1, "about": about}, payload, name="model.skops")
        assert _sentence(path).endswith(f"reads format 2: {how}")


def test_skops_is_only_needed_for_objects_of_scikit_learn(path, tmp_path, monkeypatch):
    pipeline = unmet.save(made("pipeline"), tmp_path / "pipeline")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert np.array_equal(unmet.load(path).predict(X), made("exact").predict(X))
    needs = "needs skops: install it with pip install 'skops>=0.15'."
    with pytest.raises(MissingPackage, match="saving a Pipeline") as caught:
        unmet.save(made("pipeline"), pipeline)
    assert str(caught.value).endswith(needs)
    with pytest.raises(MissingPackage) as caught:
        unmet.load(pipeline)
    assert str(caught.value).endswith(needs)
    assert unmet.persistence.read_about(path) == {"a": 1}
