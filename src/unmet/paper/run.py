"""The whole experiment: searches, fits, and what is left to do after an interruption."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unmet.arrays import Array
from unmet.errors import InvalidInput, SolverFailure
from unmet.files import prepare_folder, write_whole
from unmet.paper.fitting import SAME_AT_ALL_LEVELS, SearchJob, dataset, fit_method, search_jobs
from unmet.paper.results import FitRow, Results, SearchRow
from unmet.paper.settings import BY_NAME, METHODS, TUNING_LEVEL, Method, Settings
from unmet.paper.tuned import Tuned

# --- The folder of a run: a row per finished fit, appended and never changed.
#
# ::
#
#     settings.json              what the run was asked to do
#     fits.jsonl                 one row per fit
#     searches.jsonl             one row per ten trials of a search; the last of a search counts
#     searches/                  journals of trials, by Optuna
#     decisions/1/lr-nvc-0.55.npy    decisions of one fit on the test rows
#
# A row is written after its decisions and flushed to the disk, so a run that is killed loses at
# most the fits that were under way. A last line that was cut off is dropped on the next start.

Row = TypeVar("Row", FitRow, SearchRow)

_SETTINGS, _FITS, _SEARCHES = "settings.json", "fits.jsonl", "searches.jsonl"


class Ledger:
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
        self.fits = _read(folder / _FITS, FitRow)
        self.searches = _read(folder / _SEARCHES, SearchRow)

    @property
    def journals(self) -> Path:
        """Folder of Optuna's journals."""
        return self.folder / "searches"

    def add_fit(self, row: FitRow, decision: Array) -> None:
        """Keep the decisions, then the row."""
        path = self._decision_path(row.dataset, row.method, row.level)
        path.parent.mkdir(parents=True, exist_ok=True)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as stream:
                np.save(stream, decision)

        write_whole(path, write)
        _append(self.folder / _FITS, row)
        self.fits.append(row)

    def add_search(self, row: SearchRow) -> None:
        """Keep what a search has found so far."""
        _append(self.folder / _SEARCHES, row)
        self.searches.append(row)

    def decision(self, dataset: int, method: str, level: float) -> Array:
        """Decisions of one fit on the test rows."""
        path = self._decision_path(dataset, method, level)
        try:
            decision: Array = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise InvalidInput(
                f"{path} must hold the decisions of a finished fit, but cannot be read; "
                "begin again in another folder."
            ) from None
        return decision

    def _decision_path(self, dataset: int, method: str, level: float) -> Path:
        name = f"{BY_NAME[method].slug}-{level:.2f}.npy"
        return self.folder / "decisions" / str(dataset) / name


@contextmanager
def open_ledger(folder: Path, settings: Settings, *, resume: bool) -> Iterator[Ledger]:
    """Begin in an empty folder, or go on in one of the same settings.

    Parameters
    ----------
    folder : Path
        Made when missing.
    settings : Settings
    resume : bool
        Whether to go on where an earlier run stopped; a new folder is begun either way.

    Raises
    ------
    InvalidInput
        If the folder cannot be written to, holds other things, results of other settings, results
        while ``resume`` is False, or is in use; nothing in it has been changed then.
    """
    prepare_folder(folder)
    config = {"unmet": version("unmet"), **settings.as_dict()}
    path = folder / _SETTINGS
    if path.exists():
        _compare(path, config, resume)
    elif any(entry.name != ".lock" for entry in folder.iterdir()):
        raise InvalidInput(
            f"output must be an empty folder or one of an earlier run, got {folder}, which holds "
            "other files."
        )
    with _lock(folder):
        if not path.exists():
            text = json.dumps(config, indent=2)
            write_whole(path, lambda temporary: _write_text(temporary, text))
        for name in (_FITS, _SEARCHES):
            _drop_cut_line(folder / name)
        yield Ledger(folder)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _compare(path: Path, config: dict[str, Any], resume: bool) -> None:
    """Refuse a folder of other settings."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        names = sorted(set(there) | set(config))
        different = [name for name in names if there.get(name) != config.get(name)]
    except (ValueError, TypeError):
        raise InvalidInput(
            f"{path} must be the settings of an earlier run, got other text."
        ) from None
    if not resume:
        raise InvalidInput(
            f"output must be a new folder, got {path.parent}, which holds an earlier run; "
            "--resume goes on with it."
        )
    if different:
        name = different[0]
        raise InvalidInput(
            f"--resume needs the settings of the earlier run in {path.parent}, where {name} was "
            f"{there.get(name)!r}, got {config.get(name)!r}."
        )


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Keep a second run out; the system lets go of the lock when a run is killed."""
    try:
        import fcntl
    except ImportError:  # not on this system: two runs at once are the user's own affair
        yield
        return
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInput(f"output must not be in use by another run, got {folder}.") from None
        yield


def _append(path: Path, row: FitRow | SearchRow) -> None:
    """Add one whole line, and see it to the disk."""
    line = json.dumps(asdict(row), ensure_ascii=False) + "\n"
    with path.open("ab") as stream:
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def _drop_cut_line(path: Path) -> None:
    """Forget a last line that a killed run has not finished."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _read(path: Path, kind: type[Row]) -> list[Row]:
    if not path.exists():
        return []
    names = {field.name for field in fields(kind)}
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values = json.loads(line)
            if set(values) != names:
                raise ValueError
        except (ValueError, TypeError):
            raise InvalidInput(
                f"{path} must hold a row of results in every line, got other text in line {number}."
            ) from None
        rows.append(kind(**values))
    return rows


# --- Tasks that wait for each other, on a few processes.
#
# Answers never depend on the number of processes: each task is a pure function of its arguments.


@dataclass(frozen=True)
class Task:
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


def run_tasks(tasks: Sequence[Task], jobs: int) -> Generator[tuple[Task, Any], None, None]:
    """Run tasks, earlier ones first where they can, and yield each with its result when done.

    Parameters
    ----------
    tasks : sequence of Task
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
    running: dict[Future[Any], Task] = {}
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


def reproduce(
    folder: str | Path,
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: Callable[[Standing], None] | None = None,
) -> Results:
    """Run Steps 1 to 3 of App. training for all methods (needs ``unmet[paper]``).

    Parameters
    ----------
    folder : str or Path
        For the rows; see `unmet.paper.run`. `write_everything` makes tables of the results.
    settings : Settings, optional
        By default the whole of the paper: ten data sets, five levels, both searches.
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
    settings = settings or Settings()
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InvalidInput(f"jobs must be a positive whole number, got {jobs!r}.")
    tell = progress or _say_nothing
    with open_ledger(Path(folder), settings, resume=resume) as ledger:
        run = _Run(settings, ledger)
        tasks = [task for task in run.tasks() if task.key not in run.done_before]
        to_do, done = sum(task.weight for task in tasks), 0.0
        tell(run.standing(0.0))
        with closing(run_tasks(tasks, jobs)) as results:
            for task, result in results:
                run.keep(result)
                done += task.weight
                tell(run.standing(done / to_do))
        return run.results()


class _Run:
    """Settings and ledger: what there is to do, and what has been found."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self.settings, self.ledger = settings, ledger
        self.jobs = search_jobs(settings)
        self.done_before = self._done()

    def tasks(self) -> Iterator[Task]:
        """Everything the settings ask for, what was done before included."""
        for job in self.jobs:
            yield from self._search(job)
        for number in range(1, self.settings.datasets + 1):
            for method in METHODS:
                yield from self._fits(method, number)

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
            all_fits=len(METHODS) * len(settings.levels) * settings.datasets,
            share=share,
        )

    def results(self) -> Results:
        """Return all rows, in an order that does not depend on who was first."""
        place = {method.name: number for number, method in enumerate(METHODS)}
        return Results(
            settings=self.settings,
            fits=tuple(
                sorted(
                    self.ledger.fits, key=lambda row: (row.dataset, place[row.method], row.level)
                )
            ),
            searches=tuple(self._found()),
            decision=self.ledger.decision,
            optimum=lambda number, level: dataset(number, self.settings.clip).test.optimum(level),
        )

    def _search(self, job: SearchJob) -> Iterator[Task]:
        """Pieces of one search, each after the one before; Step 2 after Step 1 of its model."""
        after: tuple[Hashable, ...] = ()
        if job.step == 2:
            after = self._after(SearchJob(1, job.model, TUNING_LEVEL))
        fits = self.settings.folds * _SECONDS_IN_A_SEARCH[job.model]
        begun = 0
        for trials in job.stops(self.settings.trials):

            def call(trials: int = trials) -> Any:
                self.ledger.journals.mkdir(exist_ok=True)
                return job.advance, (self.ledger.journals, self.settings, self._tuned(), trials)

            yield Task((job, trials), call, after, (trials - begun) * fits)
            after, begun = self._after(job, trials), trials

    def _fits(self, method: Method, number: int) -> Iterator[Task]:
        """One task per level, or one for all of them."""
        for some in self._together(method):

            def call(some: tuple[float, ...] = some) -> Any:
                return fit_method, (method.name, number, some, self._tuned(), self.settings.clip)

            key = (method.name, number, some)
            yield Task(key, call, self._needs(method, some[0]), _seconds(method))

    def _together(self, method: Method) -> list[tuple[float, ...]]:
        """Levels that one fit serves."""
        levels = self.settings.levels
        return [levels] if method.name in SAME_AT_ALL_LEVELS else [(level,) for level in levels]

    def _needs(self, method: Method, level: float) -> tuple[Hashable, ...]:
        """Name the searches that a fit waits for."""
        if self.settings.published_settings:
            return ()
        if method.name == "NN-MSE":
            return self._after(SearchJob(1, "NN-MSE", TUNING_LEVEL))
        if method.name in ("LR-NVC", "NN-NVC", "NN truth"):
            return self._after(SearchJob(1, "LR" if method.family == "LR" else "NN", TUNING_LEVEL))
        if "εNVC" in method.name:
            return self._after(SearchJob(2, "LR" if method.family == "LR" else "NN", level))
        return ()

    def _after(self, job: SearchJob, trials: int | None = None) -> tuple[Hashable, ...]:
        """Key of a piece of a search, unless it was done before."""
        key = (job, trials or self.settings.trials)
        return () if key in self.done_before else (key,)

    def _done(self) -> set[Hashable]:
        """Keys of the tasks whose rows are in the ledger."""
        rows = self._rows()
        done: set[Hashable] = {
            (method.name, number, some)
            for method in METHODS
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
        if self.settings.published_settings:
            return Tuned.published()
        return Tuned.found(list(self._found()))


def _seconds(method: Method) -> float:
    if method.name == "NN truth" or (method.origin == "published" and method.name != "LR-MSE"):
        return _SECONDS[f"published {method.family}"]
    if method.name.endswith(("latent", "flags")):
        return _SECONDS["learns LR" if method.family == "LR" else "learns"]
    return _SECONDS["other"]


def _say_nothing(standing: Standing) -> None:
    """For those who do not want to be told."""
    del standing
