"""Hyperparameters and ε that the fits are given: published, or found by the searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unmet.arrays import Array, Band
from unmet.models import NeuralDecision
from unmet.paper.published import STEP_1, band
from unmet.paper.results import SearchRow
from unmet.simulate import PUBLISHED_LEVELS
from unmet.solvers.descent.minibatch import MiniBatchOptions

Insensitive = Literal["LR", "NN"]

#: The only seed the paper names (Table LRHyperparam); it starts every network as well.
SEED = 123


@dataclass(frozen=True)
class Widths:
    """Hyperparameters of a network (Table searchingSpace)."""

    units1: int
    units2: int
    batch_size: int

    def parameters(self) -> dict[str, Any]:
        """Parameters of `NeuralDecision.published` that differ."""
        sizes = (self.units1, self.units2)
        return {"hidden_layer_sizes": sizes, "batch_size": self.batch_size}


@dataclass(frozen=True)
class Tuned:
    """Results of Steps 1 and 2.

    Attributes
    ----------
    descent : MiniBatchOptions
        Of LR-NVC and LR-εNVC-R.
    squared, network : Widths
        Of NN-MSE, and of NN-NVC and NN-εNVC.
    bands : mapping from ("LR" or "NN", α) to (ε₂, ε₁)
        Shares of the range of sales.
    """

    descent: MiniBatchOptions
    squared: Widths
    network: Widths
    bands: Mapping[tuple[str, float], tuple[float, float]]

    @classmethod
    def published(cls) -> Tuned:
        """Return what the paper prints: Tables searchingSpace and epsilonSearchResults.

        eta and beta are exchanged there, see `MiniBatchOptions`.
        """
        results: dict[str, dict[str, float]] = {}
        for line in STEP_1:
            results.setdefault(line.model, {})[line.name] = line.used
        return cls(
            descent=descent_options(results["LR"]),
            squared=widths(results["NN-MSE"]),
            network=widths(results["NN"]),
            bands={
                (family, level): band(family, level)
                for family in ("LR", "NN")
                for level in PUBLISHED_LEVELS
            },
        )

    @classmethod
    def found(cls, searches: Sequence[SearchRow]) -> Tuned:
        """Read the searches; Step 2 may still be missing, as far as it is not needed yet."""
        first = {row.model: row.best for row in searches if row.step == 1}
        missing = cls.published()
        return cls(
            descent=descent_options(first["LR"]) if "LR" in first else missing.descent,
            squared=widths(first["NN-MSE"]) if "NN-MSE" in first else missing.squared,
            network=widths(first["NN"]) if "NN" in first else missing.network,
            bands={
                (row.model, row.level): (row.best["low"], row.best["high"])
                for row in searches
                if row.step == 2
            },
        )

    def band(self, family: Insensitive, level: float, sales: Array) -> Band:
        """ε of one model and level, in units of these sales."""
        return Band.scaled(*self.bands[family, level], observation=sales)

    def neural(self, widths: Widths, **parameters: Any) -> NeuralDecision:
        """Make a network that trains as the paper's do."""
        return NeuralDecision.published(**widths.parameters(), random_state=SEED, **parameters)


def descent_options(values: Mapping[str, float]) -> MiniBatchOptions:
    """Options of Table LRHyperparam with these tuned ones."""
    return MiniBatchOptions(
        learning_rate=values["eta"], penalty=values["beta"], batch_size=int(values["batch_size"])
    )


def widths(values: Mapping[str, float]) -> Widths:
    """Read the hyperparameters of a network."""
    return Widths(*(int(values[name]) for name in ("units1", "units2", "batch_size")))
