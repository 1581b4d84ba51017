"""The methods that are compared: the paper's six, and ours beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
