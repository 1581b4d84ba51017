"""What a run of the paper's experiments is asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unmet.errors import InvalidInput
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

    @classmethod
    def quick(cls) -> Settings:
        """Small enough for two minutes: to see that everything works, not to judge the paper."""
        return cls(datasets=2, levels=(0.55, 0.75, 0.95), trials=5, folds=2)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same after a round trip through JSON."""
        return {**asdict(self), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """Undo `as_dict`."""
        return cls(**{**values, "levels": tuple(values["levels"])})
