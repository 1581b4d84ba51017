"""Steps 1 to 3 end to end on the cheap methods: stopped, resumed, refused; readings; settings."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from paper import protocol
from paper.protocol import (
    METHODS,
    READINGS,
    PaperSettings,
    descent,
    experiment,
    published_hyperparameters,
    reproduce,
    simulated,
)
from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.estimators import LinearDecision
from unmet.simulate.store10 import PUBLISHED_STORE, store10

CHEAP = ("LR-MSE", "LR-NVC", "LR-εNVC-R", "LR-NVC exact", "LR truth")
SETTINGS = PaperSettings(datasets=2, levels=(0.65, 0.95), trials=2, folds=1)
READ = [*CHEAP, "LR-NVC searched", "LR-εNVC-R searched", "LR-εNVC-R own"]


def cheap(patch):
    """Linear methods only, no networks in the searches, no other readings of β."""
    patch.setattr(protocol, "METHODS", {name: METHODS[name] for name in CHEAP})
    linear = tuple(
        replace(each, methods=tuple(n for n in each.methods if n in CHEAP))
        for each in READINGS
        if each.key in ("usual", "searched", "own")
    )
    patch.setattr(protocol, "READINGS", linear)
    patch.setattr(protocol, "SEARCHED", {"LR": "LR-NVC"})


@pytest.fixture(autouse=True)
def _cheap(monkeypatch):
    cheap(monkeypatch)


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.fixture(scope="module")
def whole(whole_folder):
    """One run that nothing disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        cheap(patch)
        return reproduce(whole_folder, SETTINGS)


def numbers(results):
    """Everything but seconds."""
    rows = [{**row, "cpu_seconds": 0} for row in results.found.rows]
    return rows, [replace(row, cpu_seconds=0.0) for row in results.searches]


def test_every_method_level_and_data_set_has_its_row(whole):
    keys = [(row["seed"], row["method"], row["level"]) for row in whole.found.rows]
    assert keys == [(s, m, a) for s in (0, 1) for m in READ for a in SETTINGS.levels]
    searched = {(r.step, r.level, r.dataset, r.reading) for r in whole.searches}
    assert searched == {
        (1, 0.55, 1, "searched"),
        *((2, a, 1, "searched") for a in SETTINGS.levels),
        *((2, a, k, "own") for a in SETTINGS.levels for k in (1, 2)),
    }
    assert all(row.trials == 2 and row.cpu_seconds > 0 for row in whole.searches)


def test_rows_are_what_a_user_would_compute_by_hand(whole):
    data = store10(seed=1)
    model = LinearDecision(Newsvendor.at_level(0.95)).fit(data.train.features, data.train.sales)
    decision = np.maximum(model.predict(data.test.features), 0)
    (row,) = [
        r
        for r in whole.found.rows
        if (r["seed"], r["method"], r["level"]) == (1, "LR-NVC exact", 0.95)
    ]
    short = data.test.demand - decision
    assert row["cost"] == pytest.approx(np.mean(np.maximum(0.95 * short, -0.05 * short)))
    assert row["service_level"] == pytest.approx(np.mean(short < 0))
    away = decision - data.test.optimum(0.95)
    assert row["rmse_to_optimum"] == pytest.approx(np.sqrt(np.mean(away**2)))
    assert np.array_equal(whole.found.decision(1, "LR-NVC exact", 0.95), decision)


def test_what_the_searches_found_is_what_the_fits_are_given(whole):
    first, second = whole.search(1, "LR", 0.55), whole.search(2, "LR", 0.95)
    own = next(
        r for r in whole.searches if (r.reading, r.dataset, r.level) == ("own", 2, 0.95)
    ).best
    given = {
        "searched": (first.best, second.best),
        "own": (published_hyperparameters()["LR"], own),
    }
    for key, (values, ends) in given.items():
        data = store10(seed=1)
        band = Band.scaled(ends["low"], ends["high"], observation=data.train.sales)
        model = LinearDecision(
            Newsvendor.at_level(0.95), band, solver="minibatch", minibatch=descent(values)
        ).fit(data.train.features, data.train.sales)
        expected = np.maximum(model.predict(data.test.features), 0)
        assert np.array_equal(whole.found.decision(1, f"LR-εNVC-R {key}", 0.95), expected)


def test_a_run_that_lost_rows_does_only_what_is_missing(whole, whole_folder, tmp_path):
    folder = shutil.copytree(whole_folder, tmp_path / "run")
    path = folder / "fits" / "rows.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-7]) + lines[-7][:20])  # seven lost, one of them half
    told = []
    again = reproduce(folder, SETTINGS, resume=True, progress=lambda *step: told.append(step))
    assert numbers(again) == numbers(whole)
    assert [row.cpu_seconds for row in again.searches] == [s.cpu_seconds for s in whole.searches]
    assert told[-1][2] == "fits"
    assert sum(word == "fits" for *_, word in told) == 7
    assert path.read_text().splitlines(keepends=True)[: len(lines) - 7] == lines[:-7]


def test_a_run_with_other_settings_is_refused_and_nothing_is_changed(whole, whole_folder):
    before = {p: p.read_bytes() for p in whole_folder.rglob("*") if p.is_file()}
    with pytest.raises(InvalidInput, match=r"another trials \(2, not 3\)"):
        reproduce(whole_folder, replace(SETTINGS, trials=3), resume=True)
    with pytest.raises(InvalidInput, match="--resume goes on with it"):
        reproduce(whole_folder, SETTINGS)
    assert {p: p.read_bytes() for p in whole_folder.rglob("*") if p.is_file()} == before


@pytest.mark.slow
def test_two_processes_find_the_same(whole, tmp_path, monkeypatch):
    # workers import the package anew: without the cheap methods
    monkeypatch.undo()
    settings = PaperSettings(datasets=1, levels=(0.65,), published_settings=True)
    monkeypatch.setattr(protocol, "METHODS", {name: METHODS[name] for name in CHEAP})
    monkeypatch.setattr(protocol, "READINGS", READINGS[:1])
    found = reproduce(tmp_path / "run", settings, jobs=2)
    rows = {r["method"]: r for r in whole.found.rows if (r["seed"], r["level"]) == (0, 0.65)}
    assert len(found.found.rows) == len(CHEAP)
    for row in found.found.rows:
        assert {**row, "cpu_seconds": 0} == {**rows[row["method"]], "cpu_seconds": 0}


def test_published_settings_search_nothing(tmp_path):
    settings = replace(SETTINGS, datasets=1, levels=(0.95,), published_settings=True)
    results = reproduce(tmp_path, settings)
    assert results.searches == ()
    assert results.found.methods == list(CHEAP)
    assert not (tmp_path / "searches").exists()


def test_unclipped_data_are_others(tmp_path):
    rows = {}
    for clip in (True, False):
        settings = PaperSettings(1, (0.65,), clip=clip, published_settings=True)
        task = experiment(settings, tmp_path)
        found = replace(task, methods={"LR-MSE": task.methods["LR-MSE"]}).run()
        (rows[clip],) = found.rows
        lowest = found.decision(0, "LR-MSE", 0.65).min()
        # one convention: where demand is clipped, so is a decision before it is evaluated
        assert lowest == 0 if clip else lowest < 0
    assert rows[True]["cost"] < rows[False]["cost"]
    assert rows[True]["cost"] < rows[True]["cost_as_predicted"]
    assert rows[False]["cost"] == rows[False]["cost_as_predicted"]


def test_another_store_is_simulated_from_its_distribution():
    distribution = replace(PUBLISHED_STORE, intercept=500.0, deviation=10.0, name="another store")
    settings = replace(SETTINGS, distribution=distribution)
    own = simulated(True, distribution, 0)
    assert np.array_equal(own.observation, store10(seed=0, distribution=distribution).train.sales)
    assert not settings.is_papers_store
    assert SETTINGS.is_papers_store
    close = replace(PUBLISHED_STORE, deviation=46.5746, name="fitted again")
    assert replace(SETTINGS, distribution=close).is_papers_store
    assert settings.as_dict() != SETTINGS.as_dict()
