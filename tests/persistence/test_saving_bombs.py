"""Files that take more than they seem: refused by what they declare, before it is unpacked."""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from saved_models import made

import unmet
from unmet.errors import InvalidInput
from unmet.persistence.saving import read_about, read_header

MORE = "in memory; if you trust it, unmet.load(path, max_bytes=1073741824) allows more."


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members, how=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", how, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return memory.getvalue()


def _state(members, *added):
    state = json.loads(members["state.json"])
    state["state"]["more"] = [*added]
    return {**members, "state.json": json.dumps(state).encode()}


def _part(members, **changed):
    return {**members, "part-0.skops": _zipped({**_members(members["part-0.skops"]), **changed})}


def _npy(n_entries):
    memory = io.BytesIO()
    np.save(memory, np.zeros(n_entries))
    return memory.getvalue()


def _schema(members, node):
    schema = json.loads(_members(members["part-0.skops"])["schema.json"])
    schema["content"]["content"]["memory"] = node
    return json.dumps(schema).encode()


def _listed(*nodes):
    names = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    return {**names, "content": list(nodes)}


def _array(kind, shape, written=None):
    return {"$array": [written or kind, shape, 0, "C", kind]}


FILE = {
    **{"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"},
    **{"type": "numpy", "file": "a.npy"},
}
TEXT = {"$frame": [["a", "Int8", _array("|i1", [1 << 20]), None, ["x" * 1000]]]}
BOMBS = {
    "arrays": lambda m: {**m, "arrays.bin": bytes(300 << 20)},
    "another member": lambda m: {**m, "more": bytes(300 << 20)},
    "lists": lambda m: {**m, "state.json": b"[" + b"[]," * 3_000_000 + b"1]"},
    "a header": lambda m: {**m, "header.json": b'{"a":[' + b"[]," * 3_000_000 + b"1]}"},
    "wider arrays": lambda m: {
        **_state(m, *[_array("<i8", [1 << 20], "|i1")] * 50),
        "arrays.bin": bytes(1 << 20),
    },
    "an empty array": lambda m: _state(m, _array("<f8", [0, 1 << 40])),
    "empty text": lambda m: _state(m, _array("<U99999999", [0])),
    "long text": lambda m: {**_state(m, TEXT), "arrays.bin": bytes(1 << 20)},
    "a part": lambda m: _part(m, more=bytes(300 << 20)),
    "a sparse table": lambda m: _part(m, **{"a.npz": _zipped({"data.npy": bytes(300 << 20)})}),
    "one file in many places": lambda m: _part(
        m, **{"schema.json": _schema(m, _listed(*[FILE] * 500)), "a.npy": _npy(100_000)}
    ),
    "a long schema": lambda m: _part(
        m, **{"schema.json": _schema(m, _listed(*[_listed()] * 150_000))}
    ),
}


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    path = unmet.save(made("pipeline"), tmp_path_factory.mktemp("bombs") / "model")
    return _members(path.read_bytes())


def _into_ours(members, change):
    """Put something into the state of the model that the pipeline holds."""
    state = json.loads(members["state.json"])
    (inner,) = state["holds"]
    changed = change({**members, "state.json": json.dumps(inner).encode()})
    if changed["state.json"][:1] == b"{":
        state["holds"] = [json.loads(changed["state.json"])]
        changed["state.json"] = json.dumps(state).encode()
    return changed


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused_by_what_they_declare(kind, members, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(_zipped(_into_ours(members, BOMBS[kind])))
    assert path.stat().st_size < 5_000_000
    with pytest.raises(InvalidInput) as caught:
        unmet.load(path)
    assert (
        str(caught.value)
        == f"{path} was not loaded: it takes more than max_bytes, 268,435,456, {MORE}"
    )
    if kind == "a header":
        for read in (read_header, read_about):
            with pytest.raises(InvalidInput, match="takes more than max_bytes"):
                read(path)


def test_a_limit_can_be_raised(members, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(_zipped({**members, "arrays.bin": members["arrays.bin"] + bytes(3 << 20)}))
    with pytest.raises(InvalidInput, match=r"load\(path, max_bytes=8388608\) allows more"):
        unmet.load(path, max_bytes=2 << 20)
    assert type(unmet.load(path, max_bytes=8388608)).__name__ == "Pipeline"


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_not_unpacked(how, members, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(_zipped(members, how))
    with pytest.raises(InvalidInput, match="must be an undamaged file"):
        unmet.load(path)


def test_what_declares_less_than_it_is_stops_there(members, tmp_path):
    size = 50 << 20
    content = _zipped({**members, "arrays.bin": bytes(size)})
    path = tmp_path / "model"
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    with pytest.raises(InvalidInput, match="must be an undamaged file"):
        unmet.load(path)


def test_a_long_list_of_members_counts(members, tmp_path):
    many = _zipped({**members, **{f"{each}": b"" for each in range(30_000)}}, zipfile.ZIP_STORED)
    path = tmp_path / "model"
    path.write_bytes(many)
    with pytest.raises(InvalidInput, match="takes more than max_bytes, 20,000,000"):
        unmet.load(path, max_bytes=20_000_000)


def test_numbers_of_one_hash_are_refused(tmp_path):
    path = unmet.save(made("exact"), tmp_path / "model")
    alike = [[each * ((1 << 61) - 1), 0] for each in range(1, 1000)]
    path.write_bytes(_zipped(_state(_members(path.read_bytes()), {"$dict": alike})))
    with pytest.raises(InvalidInput, match="was not loaded: it has the number 2305843009213693951"):
        unmet.load(path)


def test_deep_lists_are_refused(tmp_path):
    path = unmet.save(made("exact"), tmp_path / "model")
    members = _members(path.read_bytes())
    for name in ("state.json", "header.json"):
        path.write_bytes(_zipped({**members, name: b"[" * 100_000 + b"]" * 100_000}))
        with pytest.raises(InvalidInput, match=str(path)):
            unmet.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "device or pipe"), (tmp_path, "folder")):
        for read in (unmet.load, read_header, read_about):
            with pytest.raises(InvalidInput) as caught:
                read(path)
            assert str(caught.value) == f"path must be an ordinary file, got the {what} {path}."
    with pytest.raises(InvalidInput, match="got the device or pipe /dev/zero"):
        unmet.load("/dev/zero")
