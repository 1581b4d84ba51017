"""Payloads with a right checksum that ask for what they must not."""

import io
import json
import zipfile

import numpy as np
import pytest
from saved_models import X, made

import unmet
from unmet.errors import InvalidInput
from unmet.persistence.saving import import_skops

NODE = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode"}


def _forge(path, change, parts=None, member="part-0.skops"):
    """Change a part of a saved pipeline."""
    members = _members(path.read_bytes())
    if member == "state.json":
        state = json.loads(members[member])
        members[member] = json.dumps(change(state) or state).encode()
        members.update(parts or {})
    else:
        inner = _members(members[member])
        schema = json.loads(inner["schema.json"])
        inner["schema.json"] = json.dumps(change(schema) or schema).encode()
        members[member] = _zipped({**inner, **(parts or {})})
    path.write_bytes(_zipped(members))


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return memory.getvalue()


def _attribute(node):
    """Put a node where the pipeline keeps its memory."""

    def change(schema):
        schema["content"]["content"]["memory"] = node

    return change


@pytest.fixture
def path(tmp_path):
    return unmet.save(made("pipeline"), tmp_path / "model.unmet")


def _node(loader, name, **content):
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, **content}


def _list(*nodes):
    return _node("ListNode", "builtins.list", content=list(nodes))


def _tuple(*nodes):
    return _node("TupleNode", "builtins.tuple", content=list(nodes))


def _json(value):
    return _node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


DANGEROUS = {
    "function": _node("FunctionNode", "os.system"),
    "type": _node("TypeNode", "subprocess.Popen"),
    "object": _node("ObjectNode", "unmet.files.Path"),
    "reduce": _node(
        "ConstructorFromReduceNode", "os.system", content=_tuple(_json("touch /tmp/no"))
    ),
    "calling one of ours": _node(
        "ConstructorFromReduceNode", "unmet.arrays.Band", content=_tuple(_json(0), _json(1))
    ),
    "list": _node("ListNode", "os.system", content=[_json("true")]),
    "method": _node(
        "MethodNode",
        "unmet.estimators.linear.LinearDecision",
        content={
            "func": "save",
            "obj": _node("ObjectNode", "unmet.estimators.linear.LinearDecision"),
        },
    ),
    "operator": _node("OperatorFuncNode", "operator.methodcaller", attrs=_tuple(_json("x"))),
    "scikit-learn": _node("ObjectNode", "sklearn.neighbors._kd_tree.KDTree"),
    "numpy function": _node("FunctionNode", "numpy.load"),
}


@pytest.mark.parametrize("kind", DANGEROUS)
def test_what_models_do_not_hold_is_refused_by_name(kind, path):
    node = DANGEROUS[kind]
    _forge(path, _attribute(node))
    with pytest.raises(InvalidInput) as caught:
        unmet.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path} was not loaded, because it has the type ")
    assert node["__class__"] in text
    assert "\n" not in text


FORGED = {
    "no label": ({"$is": "os.system", "state": {}}, "it has the type 'os.system'"),
    "a path": ({"$is": "unmet.estimators.linear.LinearDecision", "state": {}}, "it has the type "),
    "objects": ({"$array": ["|O", [1], 0, "C", "<f8"]}, "an array of '<f8' written as '|O'"),
    "to objects": ({"$array": ["<f8", [1], 0, "C", "|O"]}, "an array of '|O'"),
    "too long": ({"$array": ["<f8", [1 << 40], 0, "C", "<f8"]}, "an array in it is not as long as"),
    "table": ({"$frame": [["a", "Expr", [1], None, None]]}, "cannot read it, it was written by"),
    "later": ({"$see": 1 << 20}, "cannot read it, it was written by"),
    "method": ({"$__init__": 1}, "cannot read it, it was written by"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_states_that_no_model_has(kind, tmp_path):
    path = unmet.save(made("exact"), tmp_path / "model")
    node, sentence = FORGED[kind]
    _forge(path, lambda state: state["state"].update(tol=node), member="state.json")
    with pytest.raises(InvalidInput) as caught:
        unmet.load(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_no_file_names_a_module_of_ours(tmp_path):
    for name in ("exact", "latent", "pipeline", "network", "searched"):
        content = unmet.save(made(name), tmp_path / name).read_bytes()
        for member, inside in _members(content).items():
            if member.endswith(".skops"):
                inside = _members(inside)["schema.json"]
            assert b"unmet." not in inside.replace(b"unmet.save", b""), (name, member)


def test_tools_that_save_by_skops_themselves():
    model = made("exact")
    skops = import_skops()
    saved = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=saved)
    assert {name.partition(".")[0] for name in trusted} == {"unmet"}
    assert np.array_equal(skops.loads(saved, trusted=trusted).predict(X), model.predict(X))
