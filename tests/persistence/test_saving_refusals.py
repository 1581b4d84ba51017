"""Files that are not loaded, and models that are not saved: one sentence each, nothing written."""

import bz2
import gzip
import json
import os
import pickle
import sys
import zipfile
import zlib

import numpy as np
import pytest
from own_costs import Taxed
from saved_models import SALES, X, made

import unmet
from unmet import LinearDecision
from unmet.errors import InvalidInput, Unsupported

FOREIGN = (
    "must be a file that unmet saved, got another or an incomplete one (a pickle is never "
    "opened, because it can run any code)."
)


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


def _change(path, **changes):
    """Write the file again with other fields in its header."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("header.json"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**header, **changes}))
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_file_that_is_not_there(tmp_path):
    assert _sentence(tmp_path / "no").startswith("The model must be a file that exists, got ")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n"])
def test_other_files(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    assert FOREIGN in _sentence(tmp_path / "other")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, zlib.compress],
    ids=["plain", "gzip", "bz2", "zlib"],
)
def test_a_pickle_is_not_opened(protocol, pack, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    monkeypatch.setenv("UNMET_TEST_MARK", str(mark))
    content = pickle.dumps(Bomb() if protocol > 1 else {"a": Bomb()}, protocol)
    (tmp_path / "model").write_bytes(pack(content))
    found = _sentence(tmp_path / "model")
    assert not mark.exists()
    assert found == f"{tmp_path / 'model'} {FOREIGN}"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_file_cut_short(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert _sentence(path) == f"{path} {FOREIGN}"


def test_a_changed_byte(path):
    content = path.read_bytes()
    for member in (b"header.json", b"state.json", b"arrays.bin"):
        place = content.index(member) + len(member) + 40
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert _sentence(path).startswith(f"{path} must be an undamaged file")


def test_a_newer_format_and_a_newer_version(path):
    _change(path, version="99.0")
    assert np.array_equal(unmet.load(path).predict(X), made("exact").predict(X))
    _change(path, format=4, new="field")
    assert "got format 4 of unmet 99.0" in _sentence(path)
    assert _sentence(path).endswith("update unmet.")


def test_an_archive_that_is_too_large(path):
    found = _sentence(path, max_bytes=1000)
    assert found.startswith(
        f"{path} was not loaded: it takes more than max_bytes, 1,000, in memory;"
    )
    assert found.endswith("unmet.load(path, max_bytes=4000) allows more.")


def test_a_cost_of_ones_own(tmp_path):
    model = LinearDecision(Taxed(3, 0.2)).fit(X, SALES)
    path = tmp_path / "model"
    with pytest.raises(Unsupported) as caught:
        model.save(path)
    assert "it has the type own_costs.Taxed" in str(caught.value)
    assert "load(path, trusted=['own_costs.Taxed'])" in str(caught.value)
    unmet.save(model, path, trusted=["own_costs.Taxed"])
    assert "it has the type own_costs.Taxed, which no model of unmet has" in _sentence(path)
    loaded = unmet.load(path, trusted=["own_costs.Taxed"])
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.cost == Taxed(3, 0.2)


@pytest.mark.parametrize(("number", "payload"), [(1, "model.skops"), (2, "model.state")])
def test_a_file_of_an_older_format_says_how_to_make_a_new_one(number, payload, tmp_path):
    path = tmp_path / "model"
    for about, how in (
        ({}, "fit the model and save it again."),
        ({"command": "unmet fit a.csv"}, "run 'unmet fit a.csv' again."),
    ):
        header = {"file": "unmet model", "format": number, "version": "0.1", "about": about}
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps({**header, "sha256": "", "unpacked": 1}))
            archive.writestr(payload, b"")
        expected = f"must have format 3 of unmet {unmet.__version__}, got format {number} of unmet"
        assert _sentence(path) == f"{path} {expected} 0.1: {how}"


def test_skops_is_only_needed_for_objects_of_scikit_learn(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert np.array_equal(unmet.load(path).predict(X), made("exact").predict(X))
    assert unmet.persistence.read_about(path) == {"a": 1}
