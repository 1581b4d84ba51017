"""Trees in a model file that lead out of themselves: each is refused in one sentence."""

import io
import json
import re
import zipfile

import numpy as np
import pytest
from saved_models import COST, SALES, X
from sklearn.ensemble import HistGradientBoostingRegressor

import unmet
from unmet import BoostedDecision, LatentBand, LinearDecision
from unmet.errors import InvalidInput
from unmet.solvers.boosting.growing import Trees, check_trees

lightgbm = pytest.importorskip("lightgbm")


def _text():
    """Two trees, with categories in the first."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 40, 400), rng.normal(size=(400, 2))]).astype(float)
    truth = np.sin(rows[:, 0]) * 5 + rows[:, 1]
    settings = {"objective": "regression", "num_leaves": 6, "verbosity": -1, "num_threads": 1}
    data = lightgbm.Dataset(rows, truth, categorical_feature=[0])
    return Trees(lightgbm.train(settings, data, 2).model_to_string(), 0.0).text


TEXT = _text()


def _line(name, change, sized=True):
    """Change the numbers of a line in the first tree; its size is set right."""

    def forge(text):
        head, *trees = text.split("Tree=")
        trees[0] = re.sub(
            rf"(?<=\n){name}=(.*)\n", lambda found: change(found[1]), trees[0], count=1
        )
        sizes = " ".join(str(len(each) + 5) for each in trees)
        if sized:
            head = re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", head)
        return "Tree=".join([head, *trees])

    return forge


def _set(name, place, number):
    def change(line):
        numbers = line.split()
        numbers[place] = str(number)
        return f"{name}={' '.join(numbers)}\n"

    return _line(name, change)


def _head(name, line):
    return lambda text: re.sub(rf"{name}=.*\n", line, text, count=1)


FORGED = {
    "a left child beyond the splits": _set("left_child", 0, 99),
    "a left child beyond the leaves": _set("left_child", 0, -99),
    "a right child beyond the splits": _set("right_child", 0, 1 << 30),
    "a right child that is the root": _set("right_child", 1, 0),
    "a split below itself": _set("left_child", 2, 2),
    "a split above its parent": _set("left_child", 4, 1),
    "a leaf twice": _set("right_child", -1, -1),
    "a child beyond 32 bits": _set("left_child", 0, (1 << 32) + 1),
    "too few children": _line("left_child", lambda line: f"left_child={line[:-3]}\n"),
    "no children": _line("left_child", lambda _: "left_child=\n"),
    "no line of children": _line("right_child", lambda _: ""),
    "children twice": _line("left_child", lambda line: f"left_child={line}\n" * 2),
    "a feature beyond X": _set("split_feature", 0, 3),
    "a feature before X": _set("split_feature", 0, -1),
    "a feature that is no number": _set("split_feature", 0, "a"),
    "a feature with digits behind": _set("split_feature", 0, "1.5"),
    "a threshold that is not finite": _set("threshold", 1, "nan"),
    "a threshold in hexadecimal": _set("threshold", 1, "0x1p3"),
    "an infinite leaf": _set("leaf_value", 0, "inf"),
    "a leaf that overflows": _set("leaf_value", 0, "1e+999"),
    "a leaf too many": _line("leaf_value", lambda line: f"leaf_value={line} 1\n"),
    "a decision of no type": _set("decision_type", 0, 64),
    "a negative type": _set("decision_type", 0, -1),
    "categories where there are none": _line(
        "decision_type", lambda line: f"decision_type={line.replace('2', '3', 1)}\n"
    ),
    "a set of categories that is not there": _set("threshold", 0, 7),
    "half a set of categories": _set("threshold", 0, 0.5),
    "categories that begin elsewhere": _set("cat_boundaries", 0, 1),
    "categories that end beyond": _set("cat_boundaries", -1, 1 << 20),
    "categories that end before": _set("cat_boundaries", -1, -2),
    "bits beyond 32": _set("cat_threshold", 0, 1 << 33),
    "bits too many": _line("cat_threshold", lambda line: f"cat_threshold={line} 1\n"),
    "no categories": _line("cat_boundaries", lambda _: ""),
    "more categories than it has": _set("num_cat", 0, 1 << 20),
    "fewer categories than it has": _set("num_cat", 0, 0),
    "more leaves than it has": _set("num_leaves", 0, 1 << 30),
    "no leaves": _set("num_leaves", 0, 0),
    "fewer than no leaves": _set("num_leaves", 0, -1),
    "a leaf without rows": _set("leaf_count", 0, 0),
    "a split of too many rows": _set("internal_count", 0, 1 << 31),
    "a linear tree": _set("is_linear", 0, 1),
    "an unknown line": _line("is_linear", lambda line: f"is_linear={line}\nleaf_const=1 2 3\n"),
    "a line without a key": _line("is_linear", lambda line: f"is_linear={line}\n1 2 3\n"),
    "a shrinkage in words": _set("shrinkage", 0, "much"),
    "a NUL": _line("split_gain", lambda line: f"split_gain=\0{line}\n"),
    "sizes of other trees": _line("split_gain", lambda line: f"split_gain={line}0\n", sized=False),
    "sizes too few": _head("tree_sizes", "tree_sizes=1\n"),
    "no sizes": _head("tree_sizes", ""),
    "more features than names": _head("max_feature_idx", "max_feature_idx=99\n"),
    "no features": _head("max_feature_idx", "max_feature_idx=-1\n"),
    "names of fewer features": _head("feature_names", "feature_names=Column_0\n"),
    "infos of fewer features": _head("feature_infos", "feature_infos=none\n"),
    "several classes": _head("num_class", "num_class=3\n"),
    "several trees at once": _head("num_tree_per_iteration", "num_tree_per_iteration=2\n"),
    "another objective": _head("objective", "objective=binary sigmoid:1\n"),
    "an unknown field": _head("label_index", "label_index=0\naverage_output\n"),
    "another version": _head("version", "version=v9\n"),
    "no trees": lambda text: text[: text.index("Tree=")],
    "cut short": lambda text: text[:-40],
    "other text": lambda _: "trees",
}


def test_what_lightgbm_writes_is_fine():
    assert "num_cat=0" in TEXT or TEXT.count("cat_boundaries") == 2
    check_trees(TEXT)


@pytest.mark.parametrize("kind", FORGED)
def test_forged_trees_are_refused(kind):
    forged = FORGED[kind](TEXT)
    assert forged != TEXT
    with pytest.raises(InvalidInput, match=r"^[^\n]* LightGBM [^\n]*\.$|^its trees [^\n]*\.$"):
        check_trees(forged)


def _chain(n_splits):
    """A tree in which each split is below the one before."""
    splits, leaves = range(n_splits), range(n_splits + 1)
    lines = {
        "num_leaves": [n_splits + 1],
        "num_cat": [0],
        **{name: [0 for _ in splits] for name in ("split_feature", "split_gain", "threshold")},
        "decision_type": [2 for _ in splits],
        "left_child": [*range(1, n_splits), -1],
        "right_child": [-2 - each for each in splits],
        **{name: [1 for _ in leaves] for name in ("leaf_value", "leaf_weight", "leaf_count")},
        "internal_value": [0 for _ in splits],
        "internal_weight": [1 for _ in splits],
        "internal_count": [1 for _ in splits],
        "is_linear": [0],
        "shrinkage": [1],
    }
    written = "".join(f"{key}={' '.join(map(str, each))}\n" for key, each in lines.items())
    tree = f"Tree=0\n{written}\n\n"
    names = "feature_names=Column_0\nfeature_infos=none\n"
    head = TEXT[: TEXT.index("max_feature_idx")]
    return f"{head}max_feature_idx=0\n{names}tree_sizes={len(tree)}\n\n{tree}"


def test_chains_are_followed_up_to_a_depth():
    check_trees(_chain(1500))
    assert Trees(_chain(1500), 2.0).predict(np.zeros((1, 1))) == 3.0
    with pytest.raises(InvalidInput, match="left_child or right_child of tree 0"):
        check_trees(_chain(20_000))


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_file_with_forged_trees_is_named(tmp_path):
    model = BoostedDecision(COST, max_iter=3, random_state=0).fit(X, SALES)
    path = model.save(tmp_path / "model")
    members = _members(path.read_bytes())
    state = json.loads(members["state.json"])
    kept = state["state"]["trees_"]["state"]
    assert "parameters" not in kept["text"]
    good = dict(kept)
    for change, why in (
        ({"text": _set("left_child", 0, 7)(good["text"])}, "left_child or right_child of tree 0"),
        ({"start": None}, "start"),
        ({"text": 3}, "cannot read it"),
    ):
        kept.update({**good, **change})
        _write(path, {**members, "state.json": json.dumps(state)})
        with pytest.raises(InvalidInput, match=why) as caught:
            unmet.load(path)
        assert str(caught.value).startswith(f"{path} was not loaded: ")


def test_trees_of_other_features_are_not_asked(tmp_path):
    with pytest.raises(InvalidInput, match="X must have 3 features, as the trees have, got 2"):
        Trees(TEXT, 0.0).predict(np.zeros((2, 2)))


NODES = {
    "a child beyond": ("left", 0, 1 << 20),
    "a child twice": ("right", 0, 1),
    "a circle": ("left", 0, 0),
    "a feature beyond": ("feature_idx", 0, 3),
    "a feature before": ("feature_idx", 0, -1),
    "a leaf in place of a split": ("is_leaf", 0, 1),
    "categories": ("is_categorical", 0, 1),
    "a last node that is none": ("is_leaf", -1, 0),
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Members of a file with trees of scikit-learn."""
    location = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=20)
    rule = LatentBand(families="normal", location=location, random_state=0)
    path = LinearDecision(COST, rule).fit(X, SALES).save(tmp_path_factory.mktemp("grown") / "model")
    assert np.isfinite(unmet.load(path).predict(X)).all()
    return _members(path.read_bytes())


@pytest.mark.parametrize("kind", NODES)
def test_forged_trees_of_scikit_learn_are_refused(kind, grown, tmp_path):
    path, members, (field, place, number) = tmp_path / "model", dict(grown), NODES[kind]
    changed = 0
    for name in [name for name in members if name.endswith(".skops")]:
        inner = _members(members[name])
        for file in [file for file in inner if file.endswith(".npy")]:
            nodes = np.load(io.BytesIO(inner[file]))
            if nodes.dtype.names:
                nodes[field][place] = number
                memory = io.BytesIO()
                np.save(memory, nodes)
                inner[file] = memory.getvalue()
                changed += 1
        _write(tmp_path / "part", inner)
        members[name] = (tmp_path / "part").read_bytes()
    assert changed
    _write(path, members)
    with pytest.raises(InvalidInput, match="a tree of scikit-learn in it leads out of itself"):
        unmet.load(path)
