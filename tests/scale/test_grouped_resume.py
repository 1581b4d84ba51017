import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.scale import GroupedDecision
from unmet.scale.grouped import fitting

RUN = """
import sys, time
from unmet import LinearDecision, Newsvendor
from unmet.scale import GroupedDecision
from unmet.scale.grouped import fitting
from rows_of_a_run import rows

def stop(done, total, doing):
    if doing == "groups" and done >= 28 + 10:  # two of six parts are kept
        print("well under way", flush=True)
        time.sleep(600)

fitting._LINEAR_PART = 5
model = GroupedDecision(
    LinearDecision(Newsvendor(3, 1)), [0, 1], min_rows=8, folder=sys.argv[1]
)
model.fit(*rows(), progress=stop)
"""
DATA = """
import numpy as np

def rows():
    generator = np.random.default_rng(0)
    code = generator.permutation(np.repeat(np.arange(28), 9))
    x = generator.normal(size=(code.size, 2))
    y = code + x[:, 0] + generator.gamma(2, 2, code.size)
    return np.column_stack([code % 7, code // 7, x]), y
"""


def rows():
    scope = {}
    exec(DATA, scope)
    return scope["rows"]()


def killed_run(folder, tmp_path):
    """Start a run in a process of its own, and kill it in the middle."""
    (tmp_path / "rows_of_a_run.py").write_text(DATA)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "well under way\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def model(folder=None, **more):
    more = {"min_rows": 8, **more}
    return GroupedDecision(LinearDecision(Newsvendor(3, 1)), [0, 1], folder=folder, **more)


@pytest.mark.fuzz  # `make kills` does so, too
def test_a_killed_run_finishes_only_what_is_missing(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    killed_run(folder, tmp_path)
    kept = sorted(path.name for path in folder.iterdir())
    assert [name for name in kept if name.startswith("groups")] == [
        "groups-00000.npz",
        "groups-00001.npz",
    ]
    before = {name: (folder / name).read_bytes() for name in kept}
    monkeypatch.setattr(fitting, "_LINEAR_PART", 5)
    parts = []
    fit_groups = fitting.fit_groups
    monkeypatch.setattr(fitting, "fit_groups", lambda *task: parts.append(1) or fit_groups(*task))
    X, y = rows()
    resumed = model(folder).fit(X, y)
    assert len(parts) == 4
    assert all((folder / name).read_bytes() == content for name, content in before.items())
    seed = json.loads((folder / "run.json").read_text())["begun"]["seed"]
    whole = model(random_state=seed).fit(X, y)
    assert resumed.shrink_ == whole.shrink_
    assert np.array_equal(resumed.predict(X), whole.predict(X))
    assert np.array_equal(resumed.coef_, whole.coef_, equal_nan=True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"y": 1.0}, "another y"),
        ({"X": 1.0}, "another X"),
        ({"min_rows": 9}, "another parameters"),
        ({"underage": 2.0}, "another weights or costs"),
        ({"model__band": Band(0, 1)}, "another model and pooled"),
    ],
)
def test_a_folder_of_another_run_is_refused(tmp_path, change, named):
    X, y = (each[:200] for each in rows())
    model(tmp_path).fit(X, y)
    X, y = X + change.pop("X", 0.0), y + change.pop("y", 0.0)
    given = {name: change.pop(name) for name in list(change) if name == "underage"}
    with pytest.raises(InvalidInput, match=f"folder holds a run with {named}, got "):
        model(tmp_path).set_params(**change).fit(X, y, **given)


def test_other_files_and_damaged_ones_are_named(tmp_path):
    X, y = (each[:200] for each in rows())
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InvalidInput, match="folder must be empty or that of the same run"):
        model(tmp_path).fit(X, y)
    folder = tmp_path / "run"
    whole = GroupedDecision(LinearDecision(Newsvendor(3, 1)), [0], folder=folder, random_state=0)
    whole.fit(X[:, [0, 2]], y)
    (folder / "groups-00000.npz").write_bytes(b"half")
    with pytest.raises(InvalidInput, match=r"groups-00000.npz must hold a finished part"):
        whole.fit(X[:, [0, 2]], y)
    (folder / "run.json").write_text("[1]")
    with pytest.raises(InvalidInput, match=r"run.json must say what an earlier run is about"):
        whole.fit(X[:, [0, 2]], y)
