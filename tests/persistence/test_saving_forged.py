"""Payloads with a right checksum that ask for what they must not."""

import io
import json
import zipfile

import numpy as np
import pytest
import skops.io
from saved_models import X, made
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor

import unmet
from unmet.errors import InvalidInput

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
    "our function": _node("FunctionNode", "unmet.files.write_whole"),
    "type": _node("TypeNode", "subprocess.Popen"),
    "object": _node("ObjectNode", "unmet.files.Path"),
    "reduce": _node(
        "ConstructorFromReduceNode", "os.system", content=_tuple(_json("touch /tmp/no"))
    ),
    "calling one of ours": _node(
        "ConstructorFromReduceNode", "unmet.arrays.Band", content=_tuple(_json(0), _json(1))
    ),
    "list": _node("ListNode", "os.system", content=[_json("true")]),
    "ours as a list": _node("ListNode", "unmet.arrays.Band", content=[]),
    "ours as a dictionary": {
        **_node("DictNode", "unmet.estimators.linear.LinearDecision"),
        "content": {},
    },
    "array": _node("NdArrayNode", "os.system", type="numpy", file="x.npy"),
    "method": _node(
        "MethodNode",
        "unmet.estimators.linear.LinearDecision",
        content={
            "func": "save",
            "obj": _node("ObjectNode", "unmet.estimators.linear.LinearDecision"),
        },
    ),
    "partial": _node("PartialNode", "functools.partial", content={}),
    "operator": _node("OperatorFuncNode", "operator.methodcaller", attrs=_tuple(_json("x"))),
    "cached": _node("CachedNode", "builtins.dict"),
    "unknown loader": _node("BrandNewNode", "builtins.dict"),
    "tree": _node("TreeNode", "sklearn.tree._tree.Tree"),
    "scikit-learn": _node("ObjectNode", "sklearn.neighbors._kd_tree.KDTree"),
    "numpy function": _node("FunctionNode", "numpy.load"),
    "bit generator": _node(
        "RandomGeneratorNode",
        "numpy.random._generator.Generator",
        content={
            "bit_generator": {**NODE, "content": {"bit_generator": _json("seed")}},
            "seed_seq": _json(1),
        },
    ),
}


@pytest.mark.parametrize("kind", DANGEROUS)
def test_what_models_do_not_hold_is_refused_by_name(kind, path):
    node = DANGEROUS[kind]
    _forge(path, _attribute(node))
    with pytest.raises(InvalidInput) as caught:
        unmet.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path} was not loaded: it asks for ")
    named = "numpy.random.seed" if kind == "bit generator" else node["__class__"]
    assert named in text
    assert "\n" not in text


def test_a_file_may_not_hide_names_deeper(path):
    deep = _list(_tuple(_node("FunctionNode", "os.system")))
    _forge(path, _attribute({**NODE, "content": {"a": deep}, "key_types": _list()}))
    with pytest.raises(InvalidInput, match=r"it asks for os\.system"):
        unmet.load(path)


def test_methods_are_refused_even_if_trusted(path):
    _forge(path, _attribute(DANGEROUS["method"]))
    with pytest.raises(InvalidInput, match="MethodNode"):
        unmet.load(path, trusted=["unmet.estimators.linear.LinearDecision.save"])


@pytest.mark.parametrize("protocol", [0, 1, True, "2", None, 99])
def test_other_protocols(protocol, path):
    _forge(path, lambda schema: schema.update(protocol=protocol))
    with pytest.raises(InvalidInput):
        unmet.load(path)


@pytest.mark.parametrize("schema", [[], {}, {"protocol": 2}, 3, None], ids=str)
def test_a_schema_that_is_none(schema, path):
    _forge(path, lambda _: schema if schema else "nothing")
    with pytest.raises(InvalidInput, match="cannot be read by unmet"):
        unmet.load(path)


def test_a_class_of_another_version(path, monkeypatch):
    import unmet.estimators.linear

    monkeypatch.delattr(unmet.estimators.linear, "LinearDecision")
    with pytest.raises(InvalidInput, match=r"cannot be read by unmet .* AttributeError"):
        unmet.load(path)


FORGED = {
    "no label": ({"$is": "os.system", "state": {}}, "it asks for 'os.system'"),
    "a path": ({"$is": "unmet.estimators.linear.LinearDecision", "state": {}}, "it asks for "),
    "objects": ({"$array": ["|O", [1], 0, "C", "<f8"]}, "an array of '|O'"),
    "to objects": ({"$array": ["<f8", [1], 0, "C", "|O"]}, "an array of '|O'"),
    "to text": ({"$array": ["<f8", [1], 0, "C", "<U9"]}, "an array of '<U9'"),
    "too long": ({"$array": ["<f8", [1 << 40], 0, "C", "<f8"]}, "an array in it is not as long as"),
    "before": ({"$array": ["<f8", [1], -8, "C", "<f8"]}, "an array in it is not as long as it"),
    "table": ({"$frame": [["a", "Expr", [1], None, None]]}, "cannot be read by unmet"),
    "words": ({"$frame": [["a", "String", [7], None, ["a"]]]}, "cannot be read by unmet"),
    "later": ({"$see": 1 << 20}, "cannot be read by unmet"),
    "no part": ({"$part": 7, "holds": []}, "cannot be read by unmet"),
    "method": ({"$__init__": 1}, "cannot be read by unmet"),
    "unknown": ({"$new": 1}, "cannot be read by unmet"),
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


def test_sparse_parts_that_point_outside_themselves(tmp_path):
    rule = unmet.FixedBand(0, 1)
    rule.high = sparse.csr_array(np.eye(3))
    path = unmet.save(rule, tmp_path / "model")
    assert (unmet.load(path).high != rule.high).nnz == 0
    (name,) = (
        name
        for name in _members(_members(path.read_bytes())["part-0.skops"])
        if name.endswith(".npz")
    )
    rule.high.indices[1] = 99
    memory = io.BytesIO()
    sparse.save_npz(memory, rule.high)
    _forge(path, lambda _: None, {name: memory.getvalue()})
    with pytest.raises(InvalidInput, match="cannot be read by unmet"):
        unmet.load(path)


def test_an_array_longer_than_its_file(path):
    memory = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        memory, {"shape": (1 << 40,), "fortran_order": False, "descr": "<f8"}
    )
    _forge(path, lambda _: None, {"more.npy": memory.getvalue()})
    with pytest.raises(InvalidInput, match="an array in it is not as long as it says"):
        unmet.load(path)


def test_an_array_of_objects(path):
    memory = io.BytesIO()
    np.save(memory, np.array([{}], dtype=object), allow_pickle=True)
    _forge(path, lambda _: None, {"more.npy": memory.getvalue()})
    with pytest.raises(InvalidInput, match="an array in it"):
        unmet.load(path)


@pytest.mark.parametrize("member", ["part-0.skops", "state.json"])
def test_parts_of_other_kinds(path, member):
    _forge(path, lambda _: None, {"run.py": b"print()"}, member)
    with pytest.raises(InvalidInput, match=r"it has a part named 'run.py'"):
        unmet.load(path)


def test_a_bomb_inside(path):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(50_000_000))
    with pytest.raises(InvalidInput, match="must unpack to at most max_bytes, 10,000,000"):
        unmet.load(path, max_bytes=10_000_000)


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10_000), ("right", 0), ("feature_idx", 7), ("feature_idx", -1)],
    ids=["beyond", "round in circles", "no such column", "below"],
)
def test_trees_that_point_outside_themselves(field, value, tmp_path):
    generator = np.random.default_rng(0)
    rows = generator.uniform(size=(100, 2))
    trees = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5)
    trees.fit(rows, rows[:, 0])
    path = unmet.save(trees, tmp_path / "trees")
    assert np.array_equal(unmet.load(path).predict(rows), trees.predict(rows))
    trees._predictors[1][0].nodes[field][0] = value
    unmet.save(trees, path)
    with pytest.raises(InvalidInput, match="a tree that points outside itself"):
        unmet.load(path)


def test_no_file_names_a_module_of_ours(tmp_path):
    for name in ("exact", "latent", "pipeline", "network", "searched"):
        content = unmet.save(made(name), tmp_path / name).read_bytes()
        for member, inside in _members(content).items():
            if member.endswith(".skops"):
                inside = _members(inside)["schema.json"]
            assert b"unmet." not in inside.replace(b"unmet.save", b""), (name, member)


def test_tools_that_save_by_skops_themselves():
    model = made("latent")
    saved = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=saved)
    assert {name.partition(".")[0] for name in trusted} == {"unmet"}
    assert np.array_equal(skops.io.loads(saved, trusted=trusted).predict(X), model.predict(X))
