"""The protocol of the paper as one `Experiment`: settings, methods, readings, Steps 1 to 3.

Tables, figures and claims only read `Results`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any, Literal

import numpy as np

from paper.published import BAND_BOX, STEP_1, band
from unmet.arrays import Array, Band
from unmet.censoring import LatentBand
from unmet.costs import Newsvendor, SquaredError
from unmet.errors import InvalidInput, MissingPackage
from unmet.estimators import BoostedDecision, LinearDecision, NeuralDecision
from unmet.evaluation import (
    DataSet,
    Experiment,
    cost_saving,
    gap_closed,
    realised_cost,
    service_level,
)
from unmet.evaluation.comparison import WilcoxonCell
from unmet.evaluation.experiment import ExperimentResults, Task
from unmet.evaluation.search import search
from unmet.files import open_run, write_text
from unmet.progress import Step, silent
from unmet.simulate.store10 import PUBLISHED_LEVELS, PUBLISHED_STORE, StoreModel, store10
from unmet.solvers.descent.minibatch import MiniBatchOptions
from unmet.validation import WholeNumber

#: Step 1 tunes at this level, whatever levels are fitted afterwards (App. training).
TUNING_LEVEL = 0.55

#: The only seed the paper names (Table LRHyperparam); it starts every network as well.
SEED = 123

#: Below this share of the optimum's cost there is hardly a gap, and shares of it mean nothing.
SMALLEST_GAP = 0.01


@dataclass(frozen=True)
class PaperSettings:
    """Settings of one run; results of different settings never share a folder.

    Attributes
    ----------
    datasets : int
        Number of simulated data sets; data set k has the seed k − 1.
    levels : tuple of float
        Levels α at which every method is fitted.
    trials, folds : int
        Settings of both searches: number of candidates, and of random splits (V). The paper names
        neither.
    published_settings : bool
        Whether to take the paper's hyperparameters and ε (Tables searchingSpace,
        epsilonSearchResults) and search nothing. Otherwise Steps 1 and 2 run as well; their results
        are two more of the `READINGS`.
    clip : bool
        Whether demand, the store's orders and decisions are raised to zero if they are negative.
        The text as printed clips nothing, and gives negative demand.
    distribution : StoreModel
        Coefficients and σ of the simulated store.

    Examples
    --------
    >>> from paper.protocol import PaperSettings
    >>> PaperSettings().datasets, PaperSettings.quick().datasets
    (10, 2)
    """

    datasets: int = 10
    levels: tuple[float, ...] = PUBLISHED_LEVELS
    trials: int = 50
    folds: int = 5
    published_settings: bool = False
    clip: bool = True
    distribution: StoreModel = PUBLISHED_STORE

    def __post_init__(self) -> None:
        for name in ("datasets", "trials", "folds"):
            WholeNumber(1)(name, getattr(self, name))
        if not self.levels or not set(self.levels) <= set(PUBLISHED_LEVELS):
            raise InvalidInput(
                f"levels must be some of {', '.join(map(str, PUBLISHED_LEVELS))}, "
                f"got {self.levels!r}."
            )

    @property
    def is_papers_store(self) -> bool:
        """Whether the distribution is the printed one, and not fitted again."""
        if self.distribution.feature_names != PUBLISHED_STORE.feature_names:
            return False
        own, printed = (
            np.array([distribution.intercept, distribution.deviation, *distribution.coefficients])
            for distribution in (self.distribution, PUBLISHED_STORE)
        )
        # more than rounding and one misprint (MEATS, .04), less than any other store
        return bool(np.abs(own - printed).max() <= 0.1)

    @classmethod
    def quick(cls) -> PaperSettings:
        """Give settings for a short run, which shows that everything works."""
        return cls(datasets=2, levels=(0.55, 0.75, 0.95), published_settings=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, which JSON can hold."""
        return {**asdict(self), "store": self.distribution.name}


def check_packages() -> None:
    """Say before any work which of the packages is missing that only the reproduction needs."""
    for package in ("optuna", "lightgbm", "vl_convert"):
        if find_spec(package) is None:
            raise MissingPackage.for_extra("python -m paper reproduce", package, "paper")


# --- The methods that are compared: the paper's six, and ours beside them.

Family = Literal["LR", "NN", "Boosted"]

#: Name → what it is, in the order of every table: the paper's six, ours on the same sales, and
#: those that are told more than the sales.
METHODS: Mapping[str, str] = {
    "LR-MSE": "least squares on sales (EAS)",
    "LR-NVC": "newsvendor cost on sales (IEO), mini-batch descent",
    "LR-εNVC-R": "ε-insensitive cost, mini-batch descent",
    "NN-MSE": "network, squared error on sales (EAS)",
    "NN-NVC": "network, newsvendor cost on sales (IEO)",
    "NN-εNVC": "network, ε-insensitive cost",
    "LR-NVC exact": "LR-NVC, optimum of the linear program",
    "LR-εNVC exact": "LR-εNVC with the same ε, optimum of the program",
    "LR latent": "exact, ε estimated from the sales by LatentBand",
    "NN latent": "network, ε estimated from the sales by LatentBand",
    "Boosted NVC": "boosted trees, newsvendor cost on sales (IEO)",
    "Boosted latent": "boosted trees, ε estimated by LatentBand",
    "LR flags": "exact, told which rows sold out",
    "NN flags": "network, told which rows sold out",
    "Boosted flags": "boosted trees, told which rows sold out",
    "LR truth": "exact, trained on the true demand",
    "NN truth": "the network of NN-NVC, trained on the true demand",
    "Boosted truth": "boosted trees, trained on the true demand",
}

#: The families of the paper, in the order of its tables.
PAPER_FAMILIES: tuple[Family, ...] = ("LR", "NN")

#: By family: the method that estimates first and ignores the cost (EAS), the one that takes sales
#: for demand (IEO; gaps are measured from it), and the published ε-insensitive one.
ESTIMATING: dict[Family, str] = {"LR": "LR-MSE", "NN": "NN-MSE"}
IGNORING: dict[Family, str] = {"LR": "LR-NVC", "NN": "NN-NVC", "Boosted": "Boosted NVC"}
INSENSITIVE: dict[Family, str] = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}


def family_of(method: str) -> Family:
    """Tell which model a method trains."""
    return next(family for family in IGNORING if method.startswith(family))


@dataclass(frozen=True)
class Reading:
    """One way to read App. training, with its own settings of the published methods.

    Attributes
    ----------
    key : str
        Word in names of files and methods.
    name, meaning : str
        Name in heads of columns, and description in a sentence.
    methods : tuple of str
        Methods of `METHODS` that it trains with its own settings; it shares all others.
    learning_rate, penalty : float or None
        η and β of the linear descent; None if they were searched.
    searches : bool
        Whether it needs a search.

    Examples
    --------
    >>> from paper.protocol import READINGS
    >>> READINGS[0].name
    'β = .0060'
    """

    key: str
    name: str
    meaning: str
    methods: tuple[str, ...] = ("LR-NVC", "LR-εNVC-R")
    learning_rate: float | None = 0.0060
    penalty: float | None = 0.0060
    searches: bool = False

    def variant(self, method: str) -> str:
        """Give the name under which the rows of a method are stored.

        Parameters
        ----------
        method : str
            Name in `METHODS`.
        """
        return f"{method} {self.key}" if method in self.methods else method


#: The usual reading first: tables, figures and verdicts are its own unless they say otherwise.
#: Table searchingSpace prints η = .0007 and β = .0060, each outside the space it was searched in.
READINGS: tuple[Reading, ...] = (
    Reading("usual", "β = .0060", "β as printed, η = .0060 from its space", ()),
    Reading(
        "exchanged",
        "β = .0007",
        "η and β exchanged, so that both lie in their spaces",
        penalty=0.0007,
    ),
    Reading("printed", "η = .0007", "both as printed: η = .0007, β = .0060", learning_rate=0.0007),
    Reading(
        "searched",
        "searched",
        "hyperparameters and ε as our own Steps 1 and 2 find them on data set 1",
        ("LR-NVC", "LR-εNVC-R", "NN-MSE", "NN-NVC", "NN-εNVC"),
        None,
        None,
        searches=True,
    ),
    Reading(
        "own",
        "ε per data set",
        "β and η as in the first, ε of the linear model searched on each data set",
        ("LR-εNVC-R",),
        searches=True,
    ),
)
USUAL = READINGS[0]


def readings_of(settings: PaperSettings) -> tuple[Reading, ...]:
    """Give the readings that a run has: what nobody searched cannot be shown."""
    return tuple(r for r in READINGS if not (r.searches and settings.published_settings))


# --- Steps 1 and 2 of App. training: hyperparameters, then ε for each level.
#
# The tree-structured Parzen estimator of Optuna stands where the paper used Hyperopt's, which is no
# longer maintained. As published, a candidate is evaluated by its own ε-insensitive cost on
# held-out *sales*. For Step 2 that makes the search degenerate: the cost falls whenever ε₁ grows or
# ε₂ shrinks, whatever the data.


@dataclass(frozen=True)
class SearchRow:
    """One finished search (App. training).

    Attributes
    ----------
    step : int
        1 for hyperparameters, 2 for ε.
    model : str
        "LR", "NN" (NVC and εNVC share their hyperparameters) or "NN-MSE".
    level : float
        Level α; step 1 is always at .55.
    dataset : int
        Number of the data set whose sales were used, from 1.
    reading : str
        Key of its reading: "searched" (data set 1) or "own" (each).
    best : mapping from str to float
        Step 1: eta, beta, batch_size of "LR"; units1, units2, batch_size of the networks. Step 2:
        high (ε₁) and low (ε₂), shares of the range of sales.
    cost : float
        Minimised value, mean over the folds.
    trials : int
        Number of candidates.
    cpu_seconds : float
        CPU time of the search.

    Examples
    --------
    >>> from paper.protocol import SearchRow
    >>> best = {"high": 0.1976, "low": 0.0022}
    >>> row = SearchRow(2, "LR", 0.75, 1, "searched", best, cost=9.5, trials=50, cpu_seconds=30.0)
    >>> row.best["high"]
    0.1976
    """

    step: int
    model: str
    level: float
    dataset: int
    reading: str
    best: Mapping[str, float]
    cost: float
    trials: int
    cpu_seconds: float


Hyperparameters = Mapping[str, Mapping[str, float]]

#: Models that Step 1 searches, those of networks first as they take longest, and a method of each.
SEARCHED = {"NN": "NN-NVC", "NN-MSE": "NN-MSE", "LR": "LR-NVC"}


def published_hyperparameters(reading: Reading = USUAL) -> dict[str, dict[str, float]]:
    """Give Table searchingSpace, with the η and β of a reading."""
    found: dict[str, dict[str, float]] = {}
    for line in STEP_1:
        found.setdefault(line.model, {})[line.name] = line.printed
    if reading.learning_rate is not None and reading.penalty is not None:
        found["LR"] |= {"eta": reading.learning_rate, "beta": reading.penalty}
    return found


def descent(values: Mapping[str, float]) -> MiniBatchOptions:
    """Options of Table LRHyperparam with these tuned ones."""
    return MiniBatchOptions(
        learning_rate=values["eta"], penalty=values["beta"], batch_size=int(values["batch_size"])
    )


def _network_sizes(values: Mapping[str, float]) -> dict[str, Any]:
    """Parameters of `NeuralDecision.published` that are tuned."""
    sizes = int(values["units1"]), int(values["units2"])
    return {"hidden_layer_sizes": sizes, "batch_size": int(values["batch_size"])}


def run_search(
    folder: Path,
    settings: PaperSettings,
    hyperparameters: Hyperparameters,
    step: int,
    model: str,
    level: float,
    dataset: int = 1,
    reading: str = "searched",
) -> SearchRow:
    """Run one search and store its result in the folder; a finished search is not repeated."""
    name = f"step{step}-{model.lower()}-{level:.2f}"
    seed = SEED
    if reading == "own":
        name, seed = f"{name}-{dataset}", SEED + dataset
    result = folder / f"{name}.json"
    if result.exists():
        return SearchRow(**json.loads(result.read_text(encoding="utf-8")))
    data = simulated(settings.clip, settings.distribution, dataset - 1)

    def space(trial: Any) -> dict[str, Any] | None:
        if step == 1:
            values = {
                line.name: trial.suggest_int(line.name, int(line.low), int(line.high))
                if line.whole
                else trial.suggest_float(line.name, line.low, line.high)
                for line in STEP_1
                if line.model == model
            }
            return {"minibatch": descent(values)} if model == "LR" else _network_sizes(values)
        ends = {end: trial.suggest_float(end, *box) for end, box in BAND_BOX.items()}
        if ends["low"] > ends["high"]:
            return None  # no band at all
        return {"band": Band.scaled(ends["low"], ends["high"], observation=data.observation)}

    task = Task(dataset - 1, level, Newsvendor.at_level(level), data, ())
    begun = process_time()
    found = search(
        make_model(SEARCHED[model], hyperparameters, (0.0, 0.0), task),
        space,
        data.features,
        data.observation,
        score="observed",  # Algorithm 1: the sales are all it sees
        cv=settings.folds,
        trials=settings.trials,
        # networks of the same width and batch are trained much faster together
        batch=10 if (step, model) == (2, "NN") else 1,
        random_state=seed,
    )
    best = {each: float(value) for each, value in found.best_params.items()}
    seconds = process_time() - begun
    row = SearchRow(
        step, model, level, dataset, reading, best, found.best_value, settings.trials, seconds
    )
    write_text(result, json.dumps(asdict(row)))
    return row


def _own_bands(
    folder: Path, settings: PaperSettings, seed: int, level: float, _: DataSet
) -> SearchRow:
    """Search ε on the data set itself, with the usual hyperparameters."""
    usual = published_hyperparameters()
    return run_search(folder, settings, usual, 2, "LR", level, seed + 1, "own")


# --- Step 3: every method on every data set at every level.


@lru_cache(maxsize=10)  # as many as the paper has
def simulated(clip: bool, distribution: StoreModel, seed: int) -> DataSet:
    """Simulate the data set of a seed."""
    data = store10(seed, clip=clip, distribution=distribution)
    train, test = data.train, data.test
    known = {"truth": train.demand, "censored": train.censored}
    return DataSet(train.features, train.sales, test.features, test.demand, test.optimum, known)


class Informed:
    """A model that gets information that a planner does not have: the truth, or flags."""

    def __init__(self, model: Any, target: Array | None = None, **known: Array) -> None:
        self.model, self.target, self.known = model, target, known

    def fit(self, X: Any, s: Array) -> None:
        """Fit to the target, or to the sales with flags."""
        self.model.fit(X, s if self.target is None else self.target, **self.known)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def make_model(
    name: str, hyperparameters: Hyperparameters, ends: tuple[float, float], task: Task
) -> Any:
    """Make the unfitted model of one method; the six of the paper train as the paper does."""
    family, data, cost = family_of(name), task.data, task.cost

    def network(widths: str, **parameters: Any) -> NeuralDecision:
        sizes = _network_sizes(hyperparameters[widths])
        return NeuralDecision.published(**sizes, random_state=SEED, **parameters)

    if name == "LR-MSE":
        return LinearDecision(SquaredError())
    if name == "NN-MSE":
        return network(name, cost=SquaredError())
    chosen: Band | LatentBand | None = None
    if "εNVC" in name:
        chosen = Band.scaled(*ends, observation=data.observation)
    elif name.endswith(("latent", "flags")):
        chosen = LatentBand(random_state=SEED)
    if name in ("LR-NVC", "LR-εNVC-R"):
        options = descent(hyperparameters["LR"])
        return LinearDecision(cost, chosen, solver="minibatch", minibatch=options)
    # NN truth is the floor for NN-NVC: the same network, the same training
    if name in ("NN-NVC", "NN-εNVC"):
        return network("NN", cost=cost, band=chosen)
    if name == "NN truth":
        return Informed(network("NN", cost=cost), data.known["truth"])
    if family == "LR":
        model: Any = LinearDecision(cost, band=chosen)
    else:
        kind = NeuralDecision if family == "NN" else BoostedDecision
        model = kind(cost, band=chosen, random_state=SEED)
    if name.endswith("flags"):
        return Informed(model, censored=data.known["censored"])
    return Informed(model, data.known["truth"]) if name.endswith("truth") else model


def _make(
    name: str,
    reading: Reading,
    hyperparameters: Hyperparameters,
    bands: Mapping[tuple[str, float], tuple[float, float]],
    task: Task,
) -> Any:
    """Make the model of a method in one reading."""
    ends = (0.0, 0.0)
    if "εNVC" in name and reading.key == "own":
        ends = task.tuned.best["low"], task.tuned.best["high"]
    elif "εNVC" in name:
        ends = bands[family_of(name), task.level]
    return make_model(name, hyperparameters, ends, task)


def _as_predicted(task: Task, model: Any, _: Array) -> float:
    """Cost if predictions below zero were orders."""
    predicted = model.predict(task.data.test_features)
    return realised_cost(task.cost, predicted, task.data.test_truth)


def _served(task: Task, _: Any, decision: Array) -> float:
    """Share of rows whose decision exceeds the demand, strictly, as in the paper."""
    return service_level(decision, task.data.test_truth, strict=True)


def experiment(
    settings: PaperSettings, folder: Path, searches: Iterable[SearchRow] = ()
) -> Experiment:
    """Make Step 3 as an `Experiment`.

    Parameters
    ----------
    settings : PaperSettings
        Settings of the run.
    folder : Path
        Folder of the run, in which searches on each data set are stored.
    searches : iterable of SearchRow
        Results of Steps 1 and 2 on data set 1.

    Examples
    --------
    >>> from pathlib import Path
    >>> from paper.protocol import METHODS, PaperSettings, experiment
    >>> steps = experiment(PaperSettings(published_settings=True), Path("out"))
    >>> set(METHODS) <= set(steps.methods)
    True
    """
    tuned = {row.model: row.best for row in searches if row.step == 1}
    found = {
        (row.model, row.level): (row.best["low"], row.best["high"])
        for row in searches
        if row.step == 2
    }
    printed = {(f, a): band(f, a) for f in PAPER_FAMILIES for a in PUBLISHED_LEVELS}
    methods: dict[str, Any] = {}
    for reading in readings_of(settings):
        searched = reading.penalty is None
        given = (tuned, found) if searched else (published_hyperparameters(reading), printed)
        for name in reading.methods or METHODS:
            methods[reading.variant(name)] = partial(_make, name, reading, *given)
    own = None if settings.published_settings else partial(_own_bands, folder, settings)
    return Experiment(
        partial(simulated, settings.clip, settings.distribution),
        methods,
        levels=settings.levels,
        seeds=range(settings.datasets),
        tuning=own,
        measures={"cost_as_predicted": _as_predicted, "service_level": _served},
        lower=0.0 if settings.clip else None,
        same_at_all_levels=[name for name in methods if "MSE" in name],
    )


def _searches(folder: Path, settings: PaperSettings, jobs: int, progress: Step) -> list[SearchRow]:
    """Run Steps 1 and 2 on data set 1."""
    from joblib import Parallel, delayed

    if settings.published_settings:
        return []
    folder.mkdir(exist_ok=True)
    workers = Parallel(n_jobs=jobs, return_as="generator")
    found: list[SearchRow] = []
    given = published_hyperparameters()
    steps: tuple[list[tuple[int, str, float]], ...] = (
        [(1, model, TUNING_LEVEL) for model in SEARCHED],
        [(2, m, level) for m in SEARCHED if m in PAPER_FAMILIES for level in settings.levels],
    )
    total = sum(map(len, steps))
    for pairs in steps:
        calls = (delayed(run_search)(folder, settings, given, *pair) for pair in pairs)
        for row in workers(calls):
            found.append(row)
            progress(len(found), total, "searches")
        given = {**given, **{row.model: dict(row.best) for row in found if row.step == 1}}
    return found


def reproduce(
    folder: str | Path,
    settings: PaperSettings | None = None,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: Step = silent,
) -> Results:
    """Run Steps 1 to 3 of App. training for all methods (needs ``unmet[paper]``).

    Parameters
    ----------
    folder : str or Path
        Folder for rows, decisions and the trials of searches. `paper.page.write_everything` makes
        tables of the results.
    settings : PaperSettings, optional
        Settings of the run. None is the whole paper: ten data sets, five levels, all readings, all
        searches.
    jobs : int, default=1
        Number of processes; results do not depend on it.
    resume : bool, default=False
        Whether to continue in the folder of a run with the same settings; finished fits are not
        repeated.
    progress : callable
        Called with the number of finished steps, of all steps, and a word.

    Returns
    -------
    Results
        Results of all methods.

    Examples
    --------
    >>> from paper.protocol import PaperSettings, reproduce
    >>> results = reproduce("out/reproduce-quick", PaperSettings.quick())  # doctest: +SKIP
    """
    settings, place = settings or PaperSettings(), Path(folder)
    WholeNumber(1)("jobs", jobs)
    resume_by = None if resume else "--resume"
    with open_run(place, settings.as_dict(), parameter="output", resume_by=resume_by):
        beside = place / "searches"
        searches = _searches(beside, settings, jobs, progress)
        task = experiment(settings, beside, searches)
        found = task.run(place / "fits", jobs=jobs, progress=progress)
    return Results(settings, found, (*searches, *found.tuned.values()))


# --- What a run has found.


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a run, in one reading.

    Attributes
    ----------
    settings : PaperSettings
        Settings of the run.
    found : ExperimentResults
        One row for every method of `METHODS` and of each other reading, level and data set.
    searches : tuple of SearchRow
        Searches; empty with published settings.
    reading : Reading
        Reading whose rows stand for the published methods.

    Examples
    --------
    >>> from paper.protocol import PaperSettings, Results
    >>> from unmet.evaluation.experiment import ExperimentResults
    >>> row = {"method": "LR-NVC", "level": 0.75}
    >>> rows = (row | {"seed": 0, "cost": 20.0}, row | {"seed": 1, "cost": 21.0})
    >>> found = ExperimentResults(rows, None, None, {}, None)
    >>> results = Results(PaperSettings(datasets=2, levels=(0.75,)), found)
    >>> results.values("LR-NVC", 0.75), results.mean("LR-NVC", 0.75)
    ([20.0, 21.0], 20.5)
    """

    settings: PaperSettings
    found: ExperimentResults
    searches: tuple[SearchRow, ...] = ()
    reading: Reading = USUAL

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels α of the run."""
        return self.settings.levels

    @property
    def datasets(self) -> range:
        """Numbers of the data sets, from 1."""
        return range(1, self.settings.datasets + 1)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings of the run, the usual one first."""
        return readings_of(self.settings)

    @cached_property
    def _kept(self) -> dict[Any, Any]:
        """Keep what takes a while and is asked for again: tests, and decisions minus Q*."""
        return {}

    def read_as(self, reading: Reading) -> Results:
        """Give the same run in another reading.

        Parameters
        ----------
        reading : Reading
            Reading whose rows stand for the published methods.
        """
        if reading not in self._kept:
            self._kept[reading] = replace(self, reading=reading)
        read: Results = self._kept[reading]
        return read

    def values(self, method: str, level: float, measure: str = "cost") -> list[float]:
        """Give one measure of a method at a level, by data set.

        Parameters
        ----------
        method : str
            Name in `METHODS`.
        level : float
            Level of the run.
        measure : str, default="cost"
            Name of the measure.
        """
        return self.found.values(self.reading.variant(method), level, measure)

    def mean(self, method: str, level: float, measure: str = "cost") -> float:
        """Average a measure over the data sets.

        Parameters
        ----------
        method, level, measure
            As in `values`.
        """
        return fmean(self.values(method, level, measure))

    def means(self, method: str, measure: str = "cost") -> list[float]:
        """Average a measure over the data sets, at every level of the run."""
        return [self.mean(method, level, measure) for level in self.levels]

    def search(self, step: int, model: str, level: float) -> SearchRow | None:
        """Give one search on data set 1, or None if it was not run.

        Parameters
        ----------
        step : int
            1 for hyperparameters, 2 for ε.
        model : str
            "LR", "NN" or "NN-MSE".
        level : float
            Level of the search.
        """
        wanted = (step, model, level, "searched")
        found = (
            row for row in self.searches if (row.step, row.model, row.level, row.reading) == wanted
        )
        return next(found, None)

    def savings(
        self, method: str, baseline: str, level: float, measure: str = "cost"
    ) -> list[float]:
        """Compute the share of the baseline's cost that is saved, per data set."""
        own, other = map(self.reading.variant, (method, baseline))
        return self.found.savings(own, other, level, measure)

    def mean_savings(self, family: Family, measure: str = "cost") -> list[float]:
        """Compute the mean saving of the ε-insensitive method over IEO, at every level."""
        pair = INSENSITIVE[family], IGNORING[family]
        return [fmean(self.savings(*pair, level, measure)) for level in self.levels]

    def optimum_cost(self, level: float) -> float:
        """Compute the mean cost of Q*."""
        return self.mean("LR-MSE", level, "cost_optimum")

    def share_closed(self, method: str, level: float) -> float | None:
        """Compute the share of the way from IEO to Q*, of mean costs; None without a gap.

        It is the share of means and not the mean of shares: at the lowest level the gap of a single
        data set can be close to zero, and its share can be anything.
        """
        ignoring, floor = self.mean(IGNORING[family_of(method)], level), self.optimum_cost(level)
        if ignoring - floor < SMALLEST_GAP * floor:
            return None
        return gap_closed(self.mean(method, level), ignoring, floor)

    def shares_closed(self, method: str) -> list[float | None]:
        """Share closed at every level of the run."""
        return [self.share_closed(method, level) for level in self.levels]

    def service_gap(self, method: str, level: float, left_out: int | None = None) -> float:
        """Distance of the mean service level over the data sets from α (Table serviceLevel)."""
        values = self.values(method, level, "service_level")
        return abs(fmean(v for k, v in enumerate(values) if k != left_out) - level)

    def gap_improvement(
        self, family: Family, baseline: str, level: float, left_out: int | None = None
    ) -> float:
        """Compute by which share the ε-insensitive method shrinks the baseline's service-level gap.

        ``nan`` if the baseline has no gap. `left_out` leaves out one data set.
        """
        own, other = (
            self.service_gap(name, level, left_out) for name in (INSENSITIVE[family], baseline)
        )
        return cost_saving(own, other)

    def wilcoxon(self, family: Family, dataset: int, level: float) -> WilcoxonCell:
        """Test ``|ŷ − Q*|`` of IEO against that of the ε-insensitive method.

        Parameters
        ----------
        family : {"LR", "NN"}
            Kind of model.
        dataset : int
            Number of the data set, from 1.
        level : float
            Level of the run.
        """
        key = family, dataset, level
        if key not in self._kept:
            own, other = (self.reading.variant(each[family]) for each in (INSENSITIVE, IGNORING))
            self._kept[key] = self.found.test(own, other, level, dataset - 1)
        cell: WilcoxonCell = self._kept[key]
        return cell

    def sales_range(self, dataset: int) -> float:
        """Range of the training sales, by which ε is scaled."""
        own = self.settings
        return float(np.ptp(simulated(own.clip, own.distribution, dataset - 1).observation))

    def first_quartiles(self) -> Iterator[tuple[Reading, float, int, float, float]]:
        """Give reading, level from .75 on, data set, ε₂ and first quartile of the LR cells.

        In the readings that differ in β or ε alone: with η = .0007 the descent does not arrive.
        """
        own = {(r.dataset, r.level): r.best["low"] for r in self.searches if r.reading == "own"}
        for reading in (r for r in self.readings if r.learning_rate == USUAL.learning_rate):
            for level in (each for each in self.levels if each >= 0.75):
                for k in self.datasets:
                    low = own[k, level] if reading.key == "own" else band("LR", level)[0]
                    cell = self.read_as(reading).wilcoxon("LR", k, level)
                    yield reading, level, k, low, cell.first_quartile

    def excess(self, method: str, level: float) -> float:
        """Average ŷ − Q* over rows and data sets: orders too large (positive) or too small."""
        name = self.reading.variant(method)
        return fmean(
            float(np.mean(self.found.decision(seed, name, level)))
            - float(np.mean(self.found.optimum(seed, level)))  # type: ignore[arg-type]
            for seed in range(self.settings.datasets)
        )


def known(values: Iterable[float | None]) -> list[float]:
    """Leave out what is not there."""
    return [value for value in values if value is not None and not isnan(value)]
