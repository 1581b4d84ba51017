"""A search that is stopped at any moment ends as if it had not been."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from search_data import COST, STRENGTH, Counted, ridge, rows

import unmet
from unmet import Band, NeuralDecision
from unmet.errors import InvalidInput
from unmet.tuning import Choice, Uniform, Whole, search
from unmet.tuning.ledger import Ledger

BANDS = {"band": Choice((None, Band(0, 2), Band(1, 3))), **STRENGTH}
FEW = {"trials": 14, "batch": 4, "cv": 2, "random_state": 0}


def _linear(storage=None, **options):
    X, sales, demand = rows()
    return search(ridge(), BANDS, X, sales, truth=demand, storage=storage, **{**FEW, **options})


def _networks(storage=None, **options):
    X, sales, demand = rows()
    model = NeuralDecision.published(COST, max_iter=2, random_state=0)
    return search(
        model,
        {"width": Whole(1, 9), "penalty": Uniform(1e-4, 1, log=True)},
        X,
        sales,
        truth=demand,
        build=lambda values: {
            "hidden_layer_sizes": (values["width"],),
            "strength": values["penalty"],
        },
        storage=storage,
        **{**FEW, "refit": False, **options},
    )


def _pruned(storage=None, **options):
    return _linear(storage, **{"pruner": "median", "cv": 3, **options})


def _halved(storage=None, **options):
    pruner = optuna.pruners.SuccessiveHalvingPruner(reduction_factor=2)
    return _linear(storage, **{"pruner": pruner, "cv": 4, "batch": 2, **options})


RUNS = [_linear, _networks, _pruned, _halved]


@pytest.mark.parametrize("run", RUNS)
def test_a_file_changes_nothing_and_nothing_is_repeated(run, tmp_path):
    whole, kept = run(), run(tmp_path / "journal")
    assert kept.trials == whole.trials
    assert len({trial.state for trial in whole.trials}) == 1 + (run in (_pruned, _halved))
    before = (tmp_path / "journal").read_bytes()
    again = run(tmp_path / "journal")
    assert again.trials == whole.trials
    assert (tmp_path / "journal").read_bytes() == before


@pytest.mark.parametrize(
    "run", [pytest.param(run, marks=pytest.mark.slow) for run in RUNS[:-1]] + RUNS[-1:]
)
def test_a_file_cut_anywhere_is_continued(run, tmp_path):
    whole = run(tmp_path / "journal")
    content = (tmp_path / "journal").read_bytes()
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    generator = np.random.default_rng(0)
    cuts = [1, ends[1], generator.choice(ends), *generator.integers(len(content), size=3)]
    for place, cut in enumerate(cuts):
        path = tmp_path / str(place)
        path.write_bytes(content[:cut])
        assert run(path).trials == whole.trials, cut
        assert path.read_bytes().count(b'"unmet record"') == FEW["trials"]


@pytest.mark.parametrize("run", RUNS)
def test_portions_that_are_whole_batches_make_the_same_search(run, tmp_path):
    whole = run()
    for trials in (4, 8, 14):
        part = run(tmp_path / "journal", trials=trials)
        assert part.trials == whole.trials[:trials]
    assert part.best_cost == whole.best_cost


def test_portions_of_any_size_repeat_nothing(tmp_path):
    X, sales, demand = rows()
    Counted.fits = 0
    for trials in (1, 3, 6, 7, 14):
        result = search(
            Counted(COST, penalty="l2"),
            BANDS,
            X,
            sales,
            truth=demand,
            storage=tmp_path / "journal",
            refit=False,
            **{**FEW, "trials": trials},
        )
        assert Counted.fits == 2 * trials
    assert result.trials == _linear().trials  # each is trained for itself, so that portions agree


def test_interrupts_leave_what_is_finished(tmp_path):
    X, sales, _ = rows()
    calls = []

    def price(model, X, y):
        calls.append(model.strength)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return model.strength

    def run(storage):
        return search(
            ridge(), STRENGTH, X, sales, score=price, storage=storage, **{**FEW, "trials": 6}
        )

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "journal")
    first = len(calls)
    stopped = run(tmp_path / "journal")
    assert len(calls) - first == 2 * (6 - 4)  # four trials of two folds were finished
    assert stopped.trials == run(None).trials


def test_killed_between_two_entries_of_a_batch(tmp_path, monkeypatch):
    whole = _networks()

    class Killed(BaseException):
        pass

    entries = []
    write = Ledger._write

    def dying(self, trial, more):
        if len(entries) == 6:
            raise Killed
        entries.append(trial.number)
        write(self, trial, more)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_write", dying)
        with pytest.raises(Killed):
            _networks(tmp_path / "journal")
    assert entries == [0, 1, 2, 3, 4, 5]
    fitted = []
    train = NeuralDecision.fit_many

    def counting(self, X, y, jobs, **known):
        fitted.append(len(jobs))
        return train(self, X, y, jobs, **known)

    monkeypatch.setattr(NeuralDecision, "fit_many", counting)
    assert _networks(tmp_path / "journal").trials == whole.trials
    assert fitted == [8, 4]  # trials 6 and 7 were kept with 4, and are not trained again


PROGRAM = """
import sys
sys.path[:0] = [{tests!r}]
from test_search_resume import _linear

def report(done, total, best):
    print(done, flush=True)

result = _linear({path!r}, progress=report)
print("result", [trial.fold_costs for trial in result.trials], flush=True)
"""


@pytest.mark.slow  # `make kills` does so, too
def test_killed_by_the_system(tmp_path):
    whole = _linear()
    here = Path(__file__).parent
    path = tmp_path / "journal"
    program = PROGRAM.format(tests=str(here), path=str(path))
    source = str(Path(unmet.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        for line in process.stdout:
            if int(line) >= 4:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    finished = path.read_bytes().count(b'"unmet record"')
    assert 1 <= finished < 14
    assert _linear(path).trials == whole.trials


@pytest.mark.parametrize(
    ("named", "change"),
    [
        ("space", {"space": {"strength": Uniform(1e-4, 5.0, log=True)}}),
        ("estimator", {"estimator": ridge(fit_intercept=False)}),
        ("X", {"X": rows()[0] + 1e-9}),
        ("y", {"y": rows()[1] * 2}),
        ("truth", {"truth": rows()[2] + 1}),
        (r"truth and score \('realised', not 'observed'\)", {"truth": None, "score": "observed"}),
        ("cv", {"cv": 3}),
        ("cv", {"cv": [(np.arange(40), np.arange(40, 60))]}),
        ("fit_parameters", {"fit_parameters": {"underage": 4.0}}),
        (r"pruner \(None, not 'MedianPruner'\)", {"pruner": "median"}),
        (r"batch \(1, not 2\)", {"batch": 2}),
        (r"cv and random_state \(0, not 1\)", {"random_state": 1}),
    ],
)
def test_another_search_in_the_same_place_is_refused(named, change, tmp_path):
    X, sales, demand = rows()
    call = {
        "estimator": ridge(),
        "space": STRENGTH,
        "X": X,
        "y": sales,
        "truth": demand,
        "storage": tmp_path / "journal",
        "trials": 2,
        "cv": 2,
        "random_state": 0,
    }
    search(**call)
    before = (tmp_path / "journal").read_bytes()
    with pytest.raises(InvalidInput, match=f"search 'search' with another {named}: use") as caught:
        search(**{**call, **change})
    assert str(caught.value).count(".") == 1
    assert (tmp_path / "journal").read_bytes() == before
    search(**{**call, **change, "name": "other"})
    again = search(**{**call, "trials": 3})
    assert len(again.trials) == 3


def test_two_at_the_same_time_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "journal"
    inner = []

    def other(done, total, best):
        if done == 3 and not inner:
            inner.append(_linear(path))

    outer = _linear(path, progress=other)
    assert inner[0].trials == outer.trials == _linear().trials
    assert _linear(path).trials == outer.trials


def test_a_storage_keeps_the_seed(tmp_path):
    first = _linear(tmp_path / "journal", random_state=None, trials=4)
    after = _linear(tmp_path / "journal", random_state=None, trials=8)
    assert after.trials[:4] == first.trials
    assert _linear(random_state=None, trials=4).trials != first.trials


def test_storages_of_optuna_are_taken_as_they_are():
    storage = optuna.storages.InMemoryStorage()
    _linear(storage, trials=4)
    result = _linear(storage, trials=8)
    assert result.trials == _linear(trials=8).trials
    study = optuna.load_study(study_name="search", storage=storage)
    assert [trial.value for trial in study.trials] == [trial.cost for trial in result.trials]
    assert study.best_value == result.best_cost


def test_studies_of_others_are_refused():
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="search")
    study.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(InvalidInput, match="must not hold a study named 'search'"):
        _linear(storage)
    assert len(study.trials) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"strength,cost\n1,2\n",
        b"{}\n",
        b"\x00\xff\n",
        b"a line without an end",
        b'{"op_code":0,"worker_id":"a"}\n',
        b'{"op_code":0,"worker_id"\n{"op_code":0,"worker_id":"a"}\n',
    ],
)
def test_files_that_are_no_journal_are_left_alone(content, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"storage must be a journal of Optuna, got .*csv"):
        _linear(path)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]


def test_places_where_nothing_can_be_kept(tmp_path):
    with pytest.raises(InvalidInput, match="storage must be a file, got the folder"):
        _linear(tmp_path)
    with pytest.raises(InvalidInput, match="storage must lie in a folder that exists"):
        _linear(tmp_path / "none" / "journal")
    with pytest.raises(InvalidInput, match="storage must be None, the path of a file or a storage"):
        _linear(7)
    assert list(tmp_path.iterdir()) == []


def test_failures_and_refusals_are_kept_as_well(tmp_path):
    X, sales, demand = rows()

    def run(storage):
        return search(
            ridge(),
            {"strength": Uniform(-1.0, 2.0)},
            X,
            sales,
            truth=demand,
            build=lambda values: values if values["strength"] < 1 else None,
            storage=storage,
            trials=12,
            cv=2,
            random_state=0,
        )

    whole = run(None)
    assert {trial.state for trial in whole.trials} == {"complete", "failed", "refused"}
    run(tmp_path / "journal")
    assert run(tmp_path / "journal").trials == whole.trials
    lines = (tmp_path / "journal").read_text().splitlines()
    assert all(json.loads(line) for line in lines)
