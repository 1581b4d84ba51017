"""The whole experiment: searches, fits, and what is left to do after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unmet.errors import InvalidInput
from unmet.paper.fitting import SAME_AT_ALL_LEVELS, dataset, fit_method
from unmet.paper.ledger import Ledger, open_ledger
from unmet.paper.methods import METHODS, Method
from unmet.paper.results import Results, SearchRow
from unmet.paper.searching import SearchJob, search_jobs
from unmet.paper.settings import TUNING_LEVEL, Settings
from unmet.paper.tuned import Tuned
from unmet.paper.workers import Task, run_tasks

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
        For the rows; see `unmet.paper.ledger`. `write_everything` makes tables of the results.
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
