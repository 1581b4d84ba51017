"""Every number that §Results and App. training print, and the savings quoted in the text.

Figures testNVcost, percentage and testRMSEQ have no printed values; what the text quotes of them
is `SAVINGS`. Names are the paper's labels, levels are α.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from unmet.paper.published_wilcoxon import WILCOXON, PublishedCell
from unmet.simulate import PUBLISHED_BANDS, PUBLISHED_LEVELS

__all__ = [
    "BAND_BOX",
    "DNN_HYPERPARAMETERS",
    "FITTING_SECONDS",
    "LR_HYPERPARAMETERS",
    "N_DATASETS",
    "SAVINGS",
    "SERVICE_GAP_IMPROVEMENT",
    "STEP_1",
    "WILCOXON",
    "Hyperparameter",
    "PublishedCell",
    "PublishedSaving",
    "SearchedParameter",
    "band",
]

N_DATASETS = 10


def _by_level(*values: float) -> Mapping[float, float]:
    return MappingProxyType(dict(zip(PUBLISHED_LEVELS, values, strict=True)))


#: Table trainingTime: average seconds of one fit.
FITTING_SECONDS: Mapping[str, Mapping[float, float]] = MappingProxyType(
    {
        "LR-MSE": _by_level(0.015, 0.0037, 0.0043, 0.0038, 0.0037),
        "LR-NVC": _by_level(7.48, 7.69, 9.65, 10.79, 11.01),
        "LR-εNVC-R": _by_level(7.92, 8.18, 7.58, 6.41, 10.05),
        "NN-MSE": _by_level(12.49, 12.20, 12.00, 12.04, 12.12),
        "NN-NVC": _by_level(12.20, 12.92, 12.70, 12.80, 12.69),
        "NN-εNVC": _by_level(10.68, 9.72, 10.19, 11.20, 12.86),
    }
)


@dataclass(frozen=True)
class PublishedSaving:
    """What the text quotes of Fig. percentage: savings of the ε-insensitive method over IEO.

    Attributes
    ----------
    lowest, highest : float
        Shares, over the five levels (introduction: "2.45% to 14.40%").
    peak : float
        Level of the highest (§Out-of-Sample Newsvendor Costs); that of the lowest is not named.
    """

    lowest: float
    highest: float
    peak: float


SAVINGS: Mapping[str, PublishedSaving] = MappingProxyType(
    {
        "LR": PublishedSaving(lowest=0.0245, highest=0.1440, peak=0.85),
        "NN": PublishedSaving(lowest=0.0339, highest=0.1221, peak=0.95),
    }
)

#: Table serviceLevel: (family, what it is compared with) → level → share by which the gap between
#: service level and α shrinks.
SERVICE_GAP_IMPROVEMENT: Mapping[tuple[str, str], Mapping[float, float]] = MappingProxyType(
    {
        ("LR", "EAS"): _by_level(0.8447, 0.8151, 0.6689, 0.6029, 0.5599),
        ("LR", "IEO"): _by_level(0.6174, 0.6643, 0.4638, 0.3867, 0.2134),
        ("NN", "EAS"): _by_level(0.9563, 0.6598, 0.5278, 0.4146, 0.3889),
        ("NN", "IEO"): _by_level(0.8952, 0.3744, 0.2447, 0.1453, 0.1146),
    }
)


@dataclass(frozen=True)
class SearchedParameter:
    """One line of Table searchingSpace.

    Attributes
    ----------
    model : str
        As in `SearchRow`: "LR", "NN" (both for NVC and εNVC) or "NN-MSE".
    name : str
    low, high : float
        Ends of the search space, both included.
    whole : bool
        Whole numbers only.
    printed : float
        "Result of CV" as printed.
    used : float
        What was meant: eta and beta are exchanged in print. eta 0.0007 lies outside U(0.005, 0.025)
        and beta 0.0060 outside U(0, 0.001); the other way round both fit.
    """

    model: str
    name: str
    low: float
    high: float
    whole: bool
    printed: float
    used: float

    def contains(self, value: float) -> bool:
        """Whether the value can come out of this search."""
        return self.low <= value <= self.high and (not self.whole or float(value).is_integer())

    @property
    def space(self) -> str:
        """As the paper writes it."""
        if self.whole:
            return f"{{{self.low:g}, …, {self.high:g}}}"
        return f"U({self.low:g}, {self.high:g})"


#: Table searchingSpace.
STEP_1: tuple[SearchedParameter, ...] = (
    SearchedParameter("LR", "eta", 0.005, 0.025, False, printed=0.0007, used=0.0060),
    SearchedParameter("LR", "beta", 0.0, 0.001, False, printed=0.0060, used=0.0007),
    SearchedParameter("LR", "batch_size", 64, 256, True, printed=98, used=98),
    SearchedParameter("NN-MSE", "units1", 4, 10, True, printed=9, used=9),
    SearchedParameter("NN-MSE", "units2", 3, 8, True, printed=7, used=7),
    SearchedParameter("NN-MSE", "batch_size", 64, 256, True, printed=93, used=93),
    SearchedParameter("NN", "units1", 4, 10, True, printed=9, used=9),
    SearchedParameter("NN", "units2", 3, 8, True, printed=5, used=5),
    SearchedParameter("NN", "batch_size", 64, 256, True, printed=79, used=79),
)

#: Search space of Step 2, shares of the range of sales: high is ε₁, low is ε₂.
BAND_BOX: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"high": (0.0, 0.20), "low": (0.0, 0.15)}
)


def band(family: str, level: float) -> tuple[float, float]:
    """Look up Table epsilonSearchResults: (low, high) = (ε₂, ε₁).

    Examples
    --------
    >>> band("LR", 0.95)
    (0.0083, 0.1827)
    """
    return PUBLISHED_BANDS[{"LR": "linear", "NN": "neural"}[family]][level]


@dataclass(frozen=True)
class Hyperparameter:
    """One line of Tables LRHyperparam or DNNHyperparam.

    Attributes
    ----------
    name, meaning, value : str
        As printed; "tuned" stands for "Tuned in training".
    """

    name: str
    meaning: str
    value: str


#: Table LRHyperparam.
LR_HYPERPARAMETERS: tuple[Hyperparameter, ...] = (
    Hyperparameter("eta", "learning rate", "tuned"),
    Hyperparameter("beta", "coefficient of L2 regularization", "tuned"),
    Hyperparameter("batch_size", "rows of each update", "tuned"),
    Hyperparameter("epoch", "maximum number of iterations", "500"),
    Hyperparameter("val_size", "share of the validation set", "0.25"),
    Hyperparameter("shuffle", "shuffle before the split into training and validation", "True"),
    Hyperparameter("random_state", "random seed", "123"),
    Hyperparameter("earlyStopping", "whether to stop early", "True"),
    Hyperparameter("tolerance", "what counts as a reduced loss", "0.0000001"),
    Hyperparameter("patience", "epochs without a reduced loss before it stops", "30"),
    Hyperparameter("baseline", "stop when the loss is below", "0.000001"),
    Hyperparameter("alpha", "coefficient in the loss function", "0.5"),
)

#: Table DNNHyperparam.
DNN_HYPERPARAMETERS: tuple[Hyperparameter, ...] = (
    Hyperparameter("units1", "nodes in hidden layer 1", "tuned"),
    Hyperparameter("units2", "nodes in hidden layer 2", "tuned"),
    Hyperparameter("batch_size", "rows of each update", "tuned"),
    Hyperparameter("nb_epochs", "maximum number of iterations", "500"),
    Hyperparameter("optimizer", "optimizer of the updates", "adam"),
    Hyperparameter("activation", "activation of the hidden layers", "sigmoid"),
)
