"""What a run of the paper's experiments is asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from unmet.errors import InvalidInput, MissingPackage
from unmet.simulate import PUBLISHED_LEVELS

#: Step 1 tunes at this level, whatever levels are fitted afterwards (App. training).
TUNING_LEVEL = 0.55


@dataclass(frozen=True)
class Settings:
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
        Take the paper's hyperparameters and ε (Tables searchingSpace, epsilonSearchResults)
        instead of searching.
    clip : bool
        Clip demand and orders at zero; the text as printed does not, and gives negative demand.
    """

    datasets: int = 10
    levels: tuple[float, ...] = PUBLISHED_LEVELS
    trials: int = 50
    folds: int = 5
    published_settings: bool = False
    clip: bool = True

    def __post_init__(self) -> None:
        for name in ("datasets", "trials", "folds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"{name} must be a positive whole number, got {value!r}.")
        if not self.levels or not set(self.levels) <= set(PUBLISHED_LEVELS):
            raise InvalidInput(
                f"levels must be some of {', '.join(map(str, PUBLISHED_LEVELS))}, "
                f"got {self.levels!r}."
            )

    QUICK: ClassVar[dict[str, Any]] = {
        "datasets": 2,
        "levels": (0.55, 0.75, 0.95),
        "trials": 5,
        "folds": 2,
    }
    """Small enough for two minutes: to see that everything works, not to judge the paper."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same after a round trip through JSON."""
        return {**asdict(self), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """Undo `as_dict`."""
        return cls(**{**values, "levels": tuple(values["levels"])})


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
    """

    name: str
    family: Family
    origin: Origin
    meaning: str

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

BY_NAME = {method.name: method for method in METHODS}

#: The method of each family that takes sales for demand: gaps are measured from it.
IGNORING: dict[Family, str] = {"LR": "LR-NVC", "NN": "NN-NVC", "Boosted": "Boosted NVC"}

#: The published ε-insensitive method of each family of the paper.
INSENSITIVE: dict[Family, str] = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}


# --- Packages that only the reproduction needs.


def check_packages() -> None:
    """Say before any work which package is missing."""
    for package in ("optuna", "lightgbm", "matplotlib"):
        if find_spec(package) is None:
            raise MissingPackage.for_extra("unmet paper reproduce", package, "paper")
