"""The protocol of the paper: what a run is asked to do, the methods, and what it has found.

Tables, figures and claims read `Results` and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from statistics import fmean
from typing import Any, Literal

import numpy as np

from unmet.arrays import Array
from unmet.checks import WholeNumber
from unmet.errors import InvalidInput, MissingPackage
from unmet.evaluation import WilcoxonCell, cost_saving, gap_closed, wilcoxon_cell
from unmet.runs import digest
from unmet.simulate import PUBLISHED_LAW, PUBLISHED_LEVELS, StoreLaw

#: Step 1 tunes at this level, whatever levels are fitted afterwards (App. training).
TUNING_LEVEL = 0.55


@dataclass(frozen=True)
class PaperSettings:
    """One configuration; results of two different ones never share a folder.

    Attributes
    ----------
    datasets : int
        Simulated data sets; data set k has the seed k − 1.
    levels : tuple of float
        α at which every method is fitted.
    trials, folds : int
        Of both searches: pairs of hyperparameters that are tried, and random splits (V) each is
        priced on. The paper names neither.
    published_settings : bool
        Take the paper's hyperparameters and ε (Tables searchingSpace, epsilonSearchResults) and
        search nothing. Otherwise Steps 1 and 2 are run as well, and what they find is one more of
        the `READINGS`.
    clip : bool
        Nothing is below zero: neither demand, nor the store's orders, nor a decision, which is
        raised to zero before it is priced. The text as printed clips nothing, and gives negative
        demand.
    law : StoreLaw
        Coefficients and σ of the store that is simulated.
    """

    datasets: int = 10
    levels: tuple[float, ...] = PUBLISHED_LEVELS
    trials: int = 50
    folds: int = 5
    published_settings: bool = False
    clip: bool = True
    law: StoreLaw = PUBLISHED_LAW

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
        """Whether the law is the printed one, or the same fitted again: sizes compare only then."""
        printed, own = PUBLISHED_LAW, self.law
        if own.feature_names != printed.feature_names:
            return False
        pairs = zip(
            (own.intercept, own.deviation, *own.coefficients),
            (printed.intercept, printed.deviation, *printed.coefficients),
            strict=True,
        )
        # more than rounding and one misprint (MEATS, .04), less than any other store
        return max(abs(one - other) for one, other in pairs) <= 0.1

    @classmethod
    def quick(cls) -> PaperSettings:
        """Small enough for two minutes: to see that everything works, not to judge the paper.

        With the published ε and hyperparameters: a few trials of a search would find an artefact.
        """
        return cls(datasets=2, levels=(0.55, 0.75, 0.95), published_settings=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same after a round trip through JSON; the law by its hash."""
        plain = {**asdict(self), "levels": list(self.levels), "store": self.law.name}
        return {**plain, "law": digest(asdict(self.law))}


def check_packages() -> None:
    """Say before any work which of the packages is missing that only the reproduction needs."""
    for package in ("optuna", "lightgbm", "matplotlib"):
        if find_spec(package) is None:
            raise MissingPackage.for_extra("python -m paper reproduce", package, "paper")


# --- The methods that are compared: the paper's six, and ours beside them.

Family = Literal["LR", "NN", "Boosted"]
Origin = Literal["published", "ours", "reference"]


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Attributes
    ----------
    name : str
        As in the tables.
    family : str
        "LR", "NN" or "Boosted": which model.
    origin : {"published", "ours", "reference"}
        One of the six of the paper; something of ours on the same sales; or something that knows
        more than the sales (flags, truth).
    meaning : str
        One line for legends and notes.
    base : str
        Of a method under another reading than the usual one: the name it has in the tables.
    """

    name: str
    family: Family
    origin: Origin
    meaning: str
    base: str = ""

    @property
    def model(self) -> str:
        """Name in the tables, whatever the reading."""
        return self.base or self.name

    @property
    def slug(self) -> str:
        """For names of files: plain letters only."""
        return self.name.replace("ε", "e").replace(" ", "-").replace("*", "star").lower()


#: In the order of every table.
METHODS: tuple[Method, ...] = (
    Method("LR-MSE", "LR", "published", "least squares on sales (EAS)"),
    Method("LR-NVC", "LR", "published", "newsvendor cost on sales (IEO), mini-batch descent"),
    Method("LR-εNVC-R", "LR", "published", "ε-insensitive cost, mini-batch descent"),
    Method("NN-MSE", "NN", "published", "network, squared error on sales (EAS)"),
    Method("NN-NVC", "NN", "published", "network, newsvendor cost on sales (IEO)"),
    Method("NN-εNVC", "NN", "published", "network, ε-insensitive cost"),
    Method("LR-NVC exact", "LR", "ours", "LR-NVC, optimum of the linear program"),
    Method("LR-εNVC exact", "LR", "ours", "LR-εNVC with the same ε, optimum of the program"),
    Method("LR latent", "LR", "ours", "exact, ε estimated from the sales by LatentBand"),
    Method("NN latent", "NN", "ours", "network, ε estimated from the sales by LatentBand"),
    Method("Boosted NVC", "Boosted", "ours", "boosted trees, newsvendor cost on sales (IEO)"),
    Method("Boosted latent", "Boosted", "ours", "boosted trees, ε estimated by LatentBand"),
    Method("LR flags", "LR", "reference", "exact, told which rows sold out"),
    Method("NN flags", "NN", "reference", "network, told which rows sold out"),
    Method("Boosted flags", "Boosted", "reference", "boosted trees, told which rows sold out"),
    Method("LR truth", "LR", "reference", "exact, trained on the true demand"),
    Method("NN truth", "NN", "reference", "the network of NN-NVC, trained on the true demand"),
    Method("Boosted truth", "Boosted", "reference", "boosted trees, trained on the true demand"),
)


@dataclass(frozen=True)
class Reading:
    """One way to read App. training: what the published methods are given.

    Attributes
    ----------
    key : str
        A word for names of files and methods.
    name, meaning : str
        For heads of columns, and in a sentence.
    methods : tuple of str
        The methods of `METHODS` that it trains in its own way; all others it shares.
    learning_rate, penalty : float or None
        η and β of the linear descent; None where they were searched.
    """

    key: str
    name: str
    meaning: str
    methods: tuple[str, ...]
    learning_rate: float | None
    penalty: float | None

    def variant(self, method: str) -> str:
        """Name under which the rows of a method are kept."""
        return f"{method} {self.key}" if method in self.methods else method


_DESCENDED = ("LR-NVC", "LR-εNVC-R")

#: The usual reading first: the tables, figures and verdicts are its own unless they say otherwise.
#: Table searchingSpace prints η = .0007 and β = .0060, each outside the space it was searched in.
READINGS: tuple[Reading, ...] = (
    Reading("usual", "β = .0060", "β as printed, η = .0060 from its space", (), 0.0060, 0.0060),
    Reading(
        "exchanged",
        "β = .0007",
        "η and β exchanged, so that both lie in their spaces",
        _DESCENDED,
        0.0060,
        0.0007,
    ),
    Reading(
        "printed",
        "η = .0007",
        "both as printed: η = .0007, β = .0060",
        _DESCENDED,
        0.0007,
        0.0060,
    ),
    Reading(
        "searched",
        "searched",
        "hyperparameters and ε as our own Steps 1 and 2 find them",
        (*_DESCENDED, "NN-MSE", "NN-NVC", "NN-εNVC"),
        None,
        None,
    ),
)
USUAL = READINGS[0]


def readings_of(settings: PaperSettings) -> tuple[Reading, ...]:
    """Give the readings that a run has: what nobody searched cannot be shown."""
    return tuple(each for each in READINGS if each.penalty or not settings.published_settings)


def variants(reading: Reading, methods: Iterable[Method] = METHODS) -> list[Method]:
    """Give the methods of a reading, by the names under which their rows are kept."""
    return [
        replace(each, name=reading.variant(each.name), base=each.name)
        for each in methods
        if each.name in reading.methods
    ]


BY_NAME = {
    method.name: method
    for method in (*METHODS, *(each for reading in READINGS for each in variants(reading)))
}

#: The families of the paper, in the order of its tables.
PAPER_FAMILIES: tuple[Family, ...] = ("LR", "NN")

#: The method of each family that estimates first and ignores the cost (EAS).
ESTIMATING: dict[Family, str] = {"LR": "LR-MSE", "NN": "NN-MSE"}

#: The method of each family that takes sales for demand: gaps are measured from it.
IGNORING: dict[Family, str] = {"LR": "LR-NVC", "NN": "NN-NVC", "Boosted": "Boosted NVC"}

#: The published ε-insensitive method of each family of the paper.
INSENSITIVE: dict[Family, str] = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}


#: Below this share of the optimum's cost there is hardly a gap, and shares of it mean nothing.
SMALLEST_GAP = 0.01

# --- What a run has found: one row per fit, one per search.


@dataclass(frozen=True)
class FitRow:
    """One method on one data set at one level, priced on the true demand of the test half-year.

    Attributes
    ----------
    dataset : int
        From 1.
    level : float
        α.
    method : str
        A name of `METHODS`, or of a method under another reading.
    cost : float
        NVCost (eq. nvcost).
    cost_as_predicted : float
        The same if predictions below zero were orders; `cost` itself where nothing is clipped.
    cost_optimum : float
        NVCost of the true quantile Q* on the same rows.
    rmse_to_optimum : float
        RMSE^Q (eq. rmseq).
    service_level : float
        Share of test rows whose decision exceeds their demand, strictly, as in the paper.
    fit_seconds : float
        Of this fit alone, the choice of a band included, no search of hyperparameters.
    training_cost : float
        Mean cost of a training row, with its band, on what the method was trained on.
    iterations : int
        Epochs or iterations.
    """

    dataset: int
    level: float
    method: str
    cost: float
    cost_as_predicted: float
    cost_optimum: float
    rmse_to_optimum: float
    service_level: float
    fit_seconds: float
    training_cost: float
    iterations: int


@dataclass(frozen=True)
class SearchRow:
    """One finished search (App. training), on data set 1.

    Attributes
    ----------
    step : int
        1 for hyperparameters, 2 for ε.
    model : str
        "LR", "NN" (both share their hyperparameters among NVC and εNVC) or "NN-MSE".
    level : float
        α; step 1 is always at .55.
    best : mapping from str to float
        Step 1: eta, beta, batch_size of "LR", units1, units2, batch_size of the networks. Step 2:
        high (ε₁) and low (ε₂), shares of the range of sales.
    cost : float
        What the search minimised, mean over the folds.
    trials : int
    seconds : float
    """

    step: int
    model: str
    level: float
    best: Mapping[str, float]
    cost: float
    trials: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that was computed.

    Attributes
    ----------
    settings : PaperSettings
    fits : tuple of FitRow
        One for every method of `METHODS` and of each other reading, level and data set.
    searches : tuple of SearchRow
        Empty with published settings.
    decision : callable (dataset, method, level) → ndarray
        Decisions on the test rows, as they were priced.
    optimum : callable (dataset, level) → ndarray
        Q* on the test rows.
    """

    settings: PaperSettings
    fits: tuple[FitRow, ...]
    searches: tuple[SearchRow, ...]
    decision: Callable[[int, str, float], Array]
    optimum: Callable[[int, float], Array]

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
        """What takes a while and is asked for again: readings, and tests."""
        return {}

    def read_as(self, reading: Reading) -> Results:
        """Give the same run with the published methods of another reading in their places."""
        if reading not in self._kept:
            self._kept[reading] = self._read_as(reading) if reading.methods else self
        read: Results = self._kept[reading]
        return read

    def _read_as(self, reading: Reading) -> Results:
        names = {reading.variant(name): name for name in reading.methods}
        fits = [row for row in self.fits if row.method not in reading.methods]
        return replace(
            self,
            fits=tuple(replace(row, method=names.get(row.method, row.method)) for row in fits),
            decision=lambda dataset, method, level: self.decision(
                dataset, reading.variant(method), level
            ),
        )

    @cached_property
    def _by_key(self) -> dict[tuple[str, float], list[FitRow]]:
        by_key: dict[tuple[str, float], list[FitRow]] = {}
        for row in sorted(self.fits, key=lambda row: row.dataset):
            by_key.setdefault((row.method, row.level), []).append(row)
        return by_key

    def of(self, method: str, level: float) -> list[FitRow]:
        """Rows of one method and level, by data set."""
        return self._by_key[method, level]

    def mean(self, method: str, level: float, measure: str) -> float:
        """Mean of one attribute of `FitRow` over the data sets."""
        return fmean(getattr(row, measure) for row in self.of(method, level))

    def means(self, method: str, measure: str) -> list[float]:
        """Give the same for every level of the run."""
        return [self.mean(method, level, measure) for level in self.levels]

    def search(self, step: int, model: str, level: float) -> SearchRow | None:
        """Return one search, or None if it was not run."""
        for row in self.searches:
            if (row.step, row.model, row.level) == (step, model, level):
                return row
        return None

    def savings(
        self, method: str, baseline: str, level: float, measure: str = "cost"
    ) -> list[float]:
        """Share of the baseline's cost that is saved, one per data set (Fig. percentage)."""
        pairs = zip(self.of(method, level), self.of(baseline, level), strict=True)
        return [cost_saving(*(getattr(row, measure) for row in pair)) for pair in pairs]

    def mean_savings(self, family: Family, measure: str = "cost") -> list[float]:
        """Mean saving of the ε-insensitive method over IEO, at every level."""
        pair = INSENSITIVE[family], IGNORING[family]
        return [fmean(self.savings(*pair, level, measure)) for level in self.levels]

    def optimum_cost(self, level: float) -> float:
        """Mean cost of Q*."""
        return self.mean(METHODS[0].name, level, "cost_optimum")

    def share_closed(self, method: str, level: float) -> float | None:
        """Share of the way from IEO of the same family to Q*, of mean costs; None without a gap.

        Of means and not the mean of shares: at the lowest level the gap of a single data set can
        be close to zero, and its share anything.
        """
        ignoring = self.mean(IGNORING[BY_NAME[method].family], level, "cost")
        floor = self.optimum_cost(level)
        if ignoring - floor < SMALLEST_GAP * floor:
            return None
        return gap_closed(self.mean(method, level, "cost"), ignoring, floor)

    def shares_closed(self, method: str) -> list[float | None]:
        """Give the same for every level of the run."""
        return [self.share_closed(method, level) for level in self.levels]

    def service_gap(self, method: str, level: float) -> float:
        """Compare the mean service level over the data sets with α, as Table serviceLevel does."""
        return abs(self.mean(method, level, "service_level") - level)

    def gap_improvements(self, family: Family, baseline: str) -> list[float]:
        """Share by which the ε-insensitive method shrinks the baseline's service-level gap.

        At every level; ``nan`` where the baseline has no gap.
        """
        own = INSENSITIVE[family]
        gaps = [(self.service_gap(own, a), self.service_gap(baseline, a)) for a in self.levels]
        return [cost_saving(*pair) for pair in gaps]

    def wilcoxon(self, family: Family, dataset: int, level: float) -> WilcoxonCell:
        """Test |ŷ − Q*| of IEO against that of the ε-insensitive method."""
        key = family, dataset, level
        if key not in self._kept:
            self._kept[key] = wilcoxon_cell(
                self.decision(dataset, INSENSITIVE[family], level),
                self.decision(dataset, IGNORING[family], level),
                self.optimum(dataset, level),
            )
        cell: WilcoxonCell = self._kept[key]
        return cell

    def excess(self, method: str, level: float) -> float:
        """Mean of ŷ − Q* over rows and data sets: orders too large (positive) or too small."""
        return fmean(
            float(np.mean(self.decision(row.dataset, method, level)))
            - float(np.mean(self.optimum(row.dataset, level)))
            for row in self.of(method, level)
        )


def known(values: Iterable[float | None]) -> list[float]:
    """Leave out what is not there."""
    return [value for value in values if value is not None and not math.isnan(value)]
