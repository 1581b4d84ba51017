"""Steps 1 to 3 end to end on the cheap methods: stopped, resumed, with one process or two."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hand_made_results import Here

from paper import run as run_module
from paper.fitting import SearchJob, Tuned, fit_method
from paper.protocol import BY_NAME, METHODS, READINGS, PaperSettings
from paper.run import reproduce
from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.models import LinearDecision
from unmet.simulate import PUBLISHED_LAW, store10

CHEAP = ("LR-MSE", "LR-NVC", "LR-εNVC-R", "LR-NVC exact", "LR-εNVC exact", "LR truth")
READ = ("LR-NVC searched", "LR-εNVC-R searched")
SETTINGS = PaperSettings(datasets=2, levels=(0.65, 0.95), trials=2, folds=1)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(run_module, "ProcessPoolExecutor", Here)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch):
    monkeypatch.setattr(run_module, "METHODS", tuple(BY_NAME[name] for name in CHEAP))
    jobs = [job for job in run_module.search_jobs(SETTINGS) if job.model == "LR"]
    monkeypatch.setattr(run_module, "search_jobs", lambda settings: jobs)
    monkeypatch.setattr(run_module, "readings_of", lambda settings: (READINGS[0], READINGS[-1]))


def numbers(results):
    """Everything but seconds."""
    fits = [replace(row, fit_seconds=0.0) for row in results.fits]
    return fits, [replace(row, seconds=0.0) for row in results.searches]


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole") / "run"


@pytest.fixture(scope="module")
def whole(whole_folder):
    """One run that nothing disturbed, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "METHODS", tuple(BY_NAME[name] for name in CHEAP))
        jobs = [job for job in run_module.search_jobs(SETTINGS) if job.model == "LR"]
        patch.setattr(run_module, "search_jobs", lambda settings: jobs)
        patch.setattr(run_module, "readings_of", lambda settings: (READINGS[0], READINGS[-1]))
        patch.setattr(run_module, "ProcessPoolExecutor", Here)
        return reproduce(whole_folder, SETTINGS, jobs=1)


def test_every_method_level_and_data_set_has_its_row(whole):
    keys = [(row.dataset, row.method, row.level) for row in whole.fits]
    assert keys == [
        (dataset, method, level)
        for dataset in (1, 2)
        for method in (*CHEAP, *READ)
        for level in SETTINGS.levels
    ]
    assert {(row.step, row.level) for row in whole.searches} == {(1, 0.55), (2, 0.65), (2, 0.95)}
    assert all(row.trials == 2 and row.seconds > 0 for row in whole.searches)


def test_rows_are_what_a_user_would_compute_by_hand(whole):
    data = store10(seed=1)
    cost = Newsvendor.at_level(0.95)
    model = LinearDecision(cost).fit(data.train.features, data.train.sales)
    decision = np.maximum(model.predict(data.test.features), 0)
    (row,) = [r for r in whole.of("LR-NVC exact", 0.95) if r.dataset == 2]
    short = data.test.demand - decision
    assert row.cost == pytest.approx(np.mean(np.maximum(0.95 * short, -0.05 * short)))
    assert row.service_level == pytest.approx(np.mean(short < 0))
    away = decision - data.test.optimum(0.95)
    assert row.rmse_to_optimum == pytest.approx(np.sqrt(np.mean(away**2)))
    assert np.array_equal(whole.decision(2, "LR-NVC exact", 0.95), decision)
    assert np.array_equal(whole.optimum(2, 0.95), data.test.optimum(0.95))
    assert whole.mean("LR-NVC exact", 0.95, "cost") == pytest.approx(
        (row.cost + whole.of("LR-NVC exact", 0.95)[0].cost) / 2
    )


def test_what_the_searches_found_is_what_the_fits_are_given(whole):
    tuned = Tuned.found(whole.searches)
    step1, step2 = whole.search(1, "LR", 0.55), whole.search(2, "LR", 0.95)
    assert tuned.descent().learning_rate == step1.best["eta"]
    assert tuned.descent().penalty == step1.best["beta"]
    assert tuned.descent().batch_size == step1.best["batch_size"]
    ((_, decision),) = fit_method("LR-εNVC-R searched", 1, (0.95,), tuned, SETTINGS)
    assert np.array_equal(decision, whole.decision(1, "LR-εNVC-R searched", 0.95))
    sales = store10(seed=0).train.sales
    band = Band.scaled(*tuned.bands["LR", 0.95], observation=sales)
    spread = sales.max() - sales.min()
    assert (band.low, band.high) == (step2.best["low"] * spread, step2.best["high"] * spread)


@pytest.mark.slow
def test_two_processes_find_the_same(whole, tmp_path):
    part = replace(SETTINGS, datasets=1, levels=(0.95,))  # a part is enough: it is the same work
    jobs = [job for job in run_module.search_jobs(SETTINGS) if job.level != 0.65]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "search_jobs", lambda settings: jobs)
        fits, searches = numbers(reproduce(tmp_path / "run", part, jobs=2))
    all_fits, all_searches = numbers(whole)
    assert fits == [row for row in all_fits if (row.dataset, row.level) == (1, 0.95)]
    assert len(fits) == len(CHEAP) + len(READ)
    assert searches == [row for row in all_searches if row.level != 0.65]


@pytest.mark.usefixtures("here")
def test_a_run_that_lost_rows_does_only_what_is_missing(whole, whole_folder, tmp_path):
    folder = shutil.copytree(whole_folder, tmp_path / "run")
    path = folder / "fits.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-7]) + lines[-7][:20])  # seven lost, one of them half
    told = []
    again = reproduce(folder, SETTINGS, jobs=1, resume=True, progress=told.append)
    assert numbers(again) == numbers(whole)
    assert (told[0].fits, told[-1].fits) == (25, 32)
    assert told[0].share == 0
    assert told[-1].share == pytest.approx(1)
    kept = path.read_text().splitlines(keepends=True)
    assert kept[:25] == lines[:25]  # seconds and all


SCRIPT = """
import sys
from paper import run
from paper.protocol import BY_NAME, READINGS, PaperSettings

settings = PaperSettings(datasets=2, levels=(0.65, 0.95), trials=2, folds=1)
if __name__ == "__main__":
    run.METHODS = tuple(BY_NAME[name] for name in sys.argv[2].split(","))
    jobs = [job for job in run.search_jobs(settings) if job.model == "LR"]
    run.search_jobs = lambda settings: jobs
    run.readings_of = lambda settings: (READINGS[0], READINGS[-1])
    run.reproduce(sys.argv[1], settings, jobs=2)
"""


@pytest.mark.slow  # searches and groups are killed in `make test`, too
def test_a_killed_run_goes_on_and_ends_the_same(whole, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder), ",".join(CHEAP)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    fits = folder / "fits.jsonl"
    deadline = time.monotonic() + 300
    while not (fits.exists() and fits.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = fits.read_bytes()
    before = before[: before.rfind(b"\n") + 1]
    again = reproduce(folder, SETTINGS, jobs=1, resume=True)
    assert fits.read_bytes().startswith(before)
    assert fits.read_bytes().count(b"\n") == 32
    assert numbers(again) == numbers(whole)


def test_published_settings_search_nothing(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(run_module, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(run_module, "METHODS", (BY_NAME["LR-εNVC exact"],))
    settings = PaperSettings(datasets=1, levels=(0.85,), published_settings=True)
    results = reproduce(tmp_path, settings)
    assert results.searches == ()
    (row,) = results.fits
    ((expected, _),) = fit_method("LR-εNVC exact", 1, (0.85,), Tuned.published(), settings)
    assert row.cost == expected.cost


def test_unclipped_data_are_others(tmp_path):
    rows, orders = {}, {}
    for clip in (True, False):
        settings = replace(SETTINGS, clip=clip)
        ((rows[clip], orders[clip]),) = fit_method(
            "LR-MSE", 1, (0.65,), Tuned.published(), settings
        )
    assert rows[True].cost < rows[False].cost
    # one convention: where demand is clipped, so is a decision before it is priced
    assert orders[True].min() == 0
    assert orders[False].min() < 0
    assert rows[True].cost < rows[True].cost_as_predicted
    assert rows[False].cost == rows[False].cost_as_predicted


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_outside_their_range(tmp_path, jobs):
    with pytest.raises(InvalidInput, match="jobs must be"):
        reproduce(tmp_path / "run", SETTINGS, jobs=jobs)
    assert not (tmp_path / "run").exists()


def test_names_of_files_are_different_and_plain():
    slugs = [method.slug for method in BY_NAME.values()]
    assert {method.name for method in METHODS} < set(BY_NAME)
    assert len(set(slugs)) == len(slugs)
    assert all(slug.isascii() and " " not in slug for slug in slugs)


def test_pieces_of_a_search_end_at_its_number_of_trials():
    job = SearchJob(1, "LR", 0.55)
    assert job.stops(50) == [10, 20, 30, 40, 50]
    assert job.stops(7) == [7]
    assert job.stops(25) == [10, 20, 25]


def test_each_reading_descends_with_its_own_eta_and_beta():
    given = [
        (each.learning_rate, each.penalty)
        for reading in READINGS[:3]
        for each in [Tuned.published(reading).descent()]
    ]
    assert given == [(0.006, 0.006), (0.006, 0.0007), (0.0007, 0.006)]
    assert Tuned.published().bands == Tuned.published(READINGS[1]).bands
    settings = PaperSettings(datasets=1, levels=(0.85,), published_settings=True)
    rows = [
        fit_method(each.variant("LR-εNVC-R"), 1, (0.85,), Tuned.published(each), settings)[0][0]
        for each in READINGS[:2]
    ]
    assert [row.method for row in rows] == ["LR-εNVC-R", "LR-εNVC-R exchanged"]
    # the stronger penalty shrinks the dummies, which raises the small categories
    assert rows[0].cost < 0.95 * rows[1].cost


def test_another_store_is_simulated_from_its_law():
    law = replace(PUBLISHED_LAW, intercept=500.0, deviation=10.0, name="another store")
    settings = replace(SETTINGS, law=law)
    ((row, _),) = fit_method("LR truth", 1, (0.95,), Tuned.published(), settings)
    data = store10(seed=0, law=law)
    away = data.test.demand - data.test.optimum(0.95)
    assert row.cost_optimum == pytest.approx(np.mean(np.maximum(0.95 * away, -0.05 * away)))
    assert row.cost_optimum < 2
    assert not settings.is_papers_store
    assert SETTINGS.is_papers_store
    close = replace(PUBLISHED_LAW, deviation=46.5746, name="fitted again")
    assert replace(SETTINGS, law=close).is_papers_store
    assert settings.as_dict() != SETTINGS.as_dict()
