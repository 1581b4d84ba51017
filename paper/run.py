"""The reproduction from beginning to end: its folder, its processes, what is left to do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from paper.fitting import (
    SAME_AT_ALL_LEVELS,
    SearchJob,
    Tuned,
    dataset,
    fit_method,
    search_jobs,
)
from paper.protocol import (
    BY_NAME,
    METHODS,
    TUNING_LEVEL,
    USUAL,
    FitRow,
    Method,
    PaperSettings,
    Reading,
    Results,
    SearchRow,
    readings_of,
    variants,
)
from unmet.arrays import Array
from unmet.checks import WholeNumber
from unmet.errors import SolverFailure
from unmet.runs import append_row, open_run, read_arrays, read_rows, write_arrays

# --- The folder of a run: a row per finished fit, appended and never changed (`unmet.runs`).
#
# ::
#
#     run.json                   what the run was asked to do
#     fits.jsonl                 one row per fit
#     searches.jsonl             one row per ten trials of a search; the last of a search counts
#     searches/                  journals of trials, by Optuna
#     decisions/1/lr-nvc-0.55.npz    decisions of one fit on the test rows
#
# A row is written after its decisions, so a run that is killed loses at most the fits that were
# under way.

Row = TypeVar("Row", FitRow, SearchRow)


class PaperLedger:
    """What a folder holds, and where the next row goes.

    Attributes
    ----------
    folder : Path
    fits : list of FitRow
    searches : list of SearchRow
        One per finished piece of a search, in the order in which they were done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fits = self._read("fits.jsonl", FitRow)
        self.searches = self._read("searches.jsonl", SearchRow)

    def _read(self, name: str, kind: type[Row]) -> list[Row]:
        names = {field.name for field in fields(kind)}
        rows = read_rows(self.folder / name, lambda row: set(row) == names)
        return [kind(**row) for row in rows]

    def add_fit(self, row: FitRow, decision: Array) -> None:
        """Keep the decisions, then the row."""
        write_arrays(self._path(row.dataset, row.method, row.level), decision=decision)
        append_row(self.folder / "fits.jsonl", asdict(row))
        self.fits.append(row)

    def add_search(self, row: SearchRow) -> None:
        """Keep what a search has found so far."""
        append_row(self.folder / "searches.jsonl", asdict(row))
        self.searches.append(row)

    def decision(self, dataset: int, method: str, level: float) -> Array:
        """Decisions of one fit on the test rows."""
        path = self._path(dataset, method, level)
        decision: Array = read_arrays(path, "begin again in another folder")["decision"]
        return decision

    def _path(self, dataset: int, method: str, level: float) -> Path:
        name = f"{BY_NAME[method].slug}-{level:.2f}.npz"
        return self.folder / "decisions" / str(dataset) / name


@contextmanager
def open_ledger(folder: Path, settings: PaperSettings, *, resume: bool) -> Iterator[PaperLedger]:
    """Begin in an empty folder, or where `resume` is True go on in one of the same settings."""
    resume_by = None if resume else "--resume"
    with open_run(folder, settings.as_dict(), parameter="output", resume_by=resume_by):
        yield PaperLedger(folder)


# --- Tasks that wait for each other, on a few processes.
#
# Answers never depend on the number of processes: each task is a pure function of its arguments.


@dataclass(frozen=True)
class PaperTask:
    """Something to compute.

    Attributes
    ----------
    key : hashable
    call : callable
        Returns a function that can be pickled and its arguments; called when everything in
        ``after`` is done, so that the arguments may depend on its results.
    after : tuple of hashable
        Keys of tasks that must be done before.
    weight : float
        Rough seconds, to estimate the time left.
    """

    key: Hashable
    call: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    after: tuple[Hashable, ...] = ()
    weight: float = 1.0


def run_tasks(
    tasks: Sequence[PaperTask], jobs: int
) -> Generator[tuple[PaperTask, Any], None, None]:
    """Run tasks, earlier ones first where they can, and yield each with its result when done.

    Parameters
    ----------
    tasks : sequence of PaperTask
    jobs : int
        Processes.

    Yields
    ------
    task, result
        In the order of completion; whatever the caller does with a result is done before tasks
        that wait for it are called.
    """
    waiting, done = list(tasks), set[Hashable]()
    if not waiting:
        return
    # spawned, not forked: a fork of a process with threads may hang
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker)
    others = set(multiprocessing.active_children())
    running: dict[Future[Any], PaperTask] = {}
    try:
        while waiting or running:
            for task in [task for task in waiting if done.issuperset(task.after)]:
                if len(running) >= jobs:
                    break
                function, arguments = task.call()
                running[pool.submit(function, *arguments)] = task
                waiting.remove(task)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                task = running.pop(future)
                yield task, future.result()
                done.add(task.key)
    except BrokenProcessPool:
        raise SolverFailure(
            "a worker process was ended from outside, perhaps for want of memory; finished fits "
            "are kept, and --resume goes on."
        ) from None
    finally:
        for worker in set(multiprocessing.active_children()) - others if running else ():
            worker.terminate()  # leaving early: nobody wants their answers any more
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    """Leave interrupts to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


# --- The whole experiment: searches, fits, and what is left to do after an interruption.

# Rough seconds of one fit on one core, for the time left only.
_SECONDS = {"published LR": 0.2, "published NN": 3.0, "learns LR": 0.6, "learns": 2.4, "other": 0.1}
_SECONDS_IN_A_SEARCH = {"LR": 0.15, "NN": 0.5, "NN-MSE": 0.5}


@dataclass(frozen=True)
class Standing:
    """How far a run is: trials of the searches, fits, and the share of the work done."""

    trials: int
    all_trials: int
    fits: int
    all_fits: int
    share: float

    def __str__(self) -> str:
        trials = f"{self.trials} of {self.all_trials} trials, " if self.all_trials else ""
        return f"{trials}{self.fits} of {self.all_fits} fits"


def reproduce(
    folder: str | Path,
    settings: PaperSettings | None = None,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: Callable[[Standing], None] | None = None,
) -> Results:
    """Run Steps 1 to 3 of App. training for all methods (needs ``unmet[paper]``).

    Parameters
    ----------
    folder : str or Path
        For the rows; see `paper.run`. `write_everything` makes tables of the results.
    settings : PaperSettings, optional
        By default the whole of the paper: ten data sets, five levels, all readings, both searches.
    jobs : int, default=1
        Processes; results do not depend on their number.
    resume : bool, default=False
        Go on in the folder of a run with the same settings; finished fits are not repeated.
    progress : callable, optional
        Told the `Standing` at the start and after every fit and every ten trials.

    Returns
    -------
    Results
    """
    settings = settings or PaperSettings()
    WholeNumber(1)("jobs", jobs)
    tell = progress or (lambda _: None)
    with open_ledger(Path(folder), settings, resume=resume) as ledger:
        run = _Reproduction(settings, ledger)
        tasks = [task for task in run.tasks() if task.key not in run.done_before]
        to_do, done = sum(task.weight for task in tasks), 0.0
        tell(run.standing(0.0))
        with closing(run_tasks(tasks, jobs)) as results:
            for task, result in results:
                run.keep(result)
                done += task.weight
                tell(run.standing(done / to_do))
        return run.results()


class _Reproduction:
    """Settings and ledger: what there is to do, and what has been found."""

    def __init__(self, settings: PaperSettings, ledger: PaperLedger) -> None:
        self.settings, self.ledger = settings, ledger
        self.jobs = search_jobs(settings)
        self.methods = [(method, USUAL) for method in METHODS]
        for reading in readings_of(settings):
            self.methods += [(method, reading) for method in variants(reading, METHODS)]
        self.done_before = self._done()

    def tasks(self) -> Iterator[PaperTask]:
        """Everything the settings ask for, what was done before included."""
        # what waits for no search comes first: a run that is stopped has most of its tables then
        for waits in (False, True):
            for job in self.jobs if waits else ():
                yield from self._search(job)
            for number in range(1, self.settings.datasets + 1):
                for method, reading in self.methods:
                    if (reading.penalty is None) == waits:
                        yield from self._fits(method, reading, number)

    def keep(self, result: Any) -> None:
        """Write what a task has returned."""
        if isinstance(result, SearchRow):
            self.ledger.add_search(result)
            return
        for row, decision in result:
            if (row.method, row.dataset, row.level) not in self._rows():
                self.ledger.add_fit(row, decision)

    def standing(self, share: float) -> Standing:
        """Count what is done."""
        trials: dict[Hashable, int] = {}
        for row in self.ledger.searches:
            trials[row.step, row.model, row.level] = row.trials
        settings = self.settings
        return Standing(
            trials=sum(trials.values()),
            all_trials=len(self.jobs) * settings.trials,
            fits=len(self.ledger.fits),
            all_fits=len(self.methods) * len(settings.levels) * settings.datasets,
            share=share,
        )

    def results(self) -> Results:
        """Return all rows, in an order that does not depend on who was first."""
        place = {method.name: number for number, (method, _) in enumerate(self.methods)}
        return Results(
            settings=self.settings,
            fits=tuple(
                sorted(
                    self.ledger.fits, key=lambda row: (row.dataset, place[row.method], row.level)
                )
            ),
            searches=tuple(self._found()),
            decision=self.ledger.decision,
            optimum=lambda number, level: dataset(number, self.settings).test.optimum(level),
        )

    def _search(self, job: SearchJob) -> Iterator[PaperTask]:
        """Pieces of one search, each after the one before; Step 2 after Step 1 of its model."""
        after: tuple[Hashable, ...] = ()
        if job.step == 2:
            after = self._after(SearchJob(1, job.model, TUNING_LEVEL))
        fits = self.settings.folds * _SECONDS_IN_A_SEARCH[job.model]
        begun = 0
        for trials in job.stops(self.settings.trials):

            def call(trials: int = trials) -> Any:
                journals = self.ledger.folder / "searches"
                journals.mkdir(exist_ok=True)
                return job.advance, (journals, self.settings, self._tuned(), trials)

            yield PaperTask((job, trials), call, after, (trials - begun) * fits)
            after, begun = self._after(job, trials), trials

    def _fits(self, method: Method, reading: Reading, number: int) -> Iterator[PaperTask]:
        """One task per level, or one for all of them."""
        for some in self._together(method):

            def call(some: tuple[float, ...] = some) -> Any:
                tuned = self._tuned() if reading.penalty is None else Tuned.published(reading)
                return fit_method, (method.name, number, some, tuned, self.settings)

            needs = self._needs(method, some[0]) if reading.penalty is None else ()
            yield PaperTask((method.name, number, some), call, needs, _seconds(method))

    def _together(self, method: Method) -> list[tuple[float, ...]]:
        """Levels that one fit serves."""
        levels = self.settings.levels
        return [levels] if method.model in SAME_AT_ALL_LEVELS else [(level,) for level in levels]

    def _needs(self, method: Method, level: float) -> tuple[Hashable, ...]:
        """Name the searches that a fit with searched hyperparameters and ε waits for."""
        if method.model == "NN-MSE":
            return self._after(SearchJob(1, "NN-MSE", TUNING_LEVEL))
        family: Literal["LR", "NN"] = "LR" if method.family == "LR" else "NN"
        if "εNVC" in method.model:
            return self._after(SearchJob(2, family, level))
        return self._after(SearchJob(1, family, TUNING_LEVEL))

    def _after(self, job: SearchJob, trials: int | None = None) -> tuple[Hashable, ...]:
        """Key of a piece of a search, unless it was done before."""
        key = (job, trials or self.settings.trials)
        return () if key in self.done_before else (key,)

    def _done(self) -> set[Hashable]:
        """Keys of the tasks whose rows are in the ledger."""
        rows = self._rows()
        done: set[Hashable] = {
            (method.name, number, some)
            for method, _ in self.methods
            for number in range(1, self.settings.datasets + 1)
            for some in self._together(method)
            if all((method.name, number, level) in rows for level in some)
        }
        for row in self.ledger.searches:
            done.add((SearchJob(row.step, row.model, row.level), row.trials))  # type: ignore[arg-type]
        return done

    def _rows(self) -> set[tuple[str, int, float]]:
        return {(row.method, row.dataset, row.level) for row in self.ledger.fits}

    def _found(self) -> Iterator[SearchRow]:
        """Finished searches, with the seconds of all their pieces."""
        for job in sorted(self.jobs, key=lambda job: (job.step, job.model, job.level)):
            pieces = [
                row
                for row in self.ledger.searches
                if (row.step, row.model, row.level) == (job.step, job.model, job.level)
            ]
            if pieces and pieces[-1].trials == self.settings.trials:
                yield replace(pieces[-1], seconds=sum(row.seconds for row in pieces))

    def _tuned(self) -> Tuned:
        return Tuned.found(list(self._found()))


def _seconds(method: Method) -> float:
    if method.name == "NN truth" or (method.origin == "published" and method.model != "LR-MSE"):
        return _SECONDS[f"published {method.family}"]
    if method.name.endswith(("latent", "flags")):
        return _SECONDS["learns LR" if method.family == "LR" else "learns"]
    return _SECONDS["other"]
