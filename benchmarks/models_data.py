"""Data of `models.py`: recipes with a seed, written to files that every peer can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unmet import Newsvendor
from unmet.simulate.store10 import PUBLISHED_BANDS, store10

Arrays = dict[str, np.ndarray]


def network(seed: int) -> Arrays:
    """The paper's data, sales scaled to [0, 1], with the published ε in those units."""
    data = store10(seed, clip=False)
    sales = data.train.sales
    low, high = PUBLISHED_BANDS["neural"][0.75]  # the same at every level
    return _scaled(data.train.features, sales, data.test.features, data.test.demand, (low, high))


def wide(seed: int, rows: int) -> Arrays:
    """Many rows on which a large network has something to learn; no band."""
    features, demand = curved(rows, seed)
    test_features, test_demand = curved(10_000, seed + 1_000_000)
    return _scaled(features, demand, test_features, test_demand, (0.0, 0.0))


def curved(rows: int, seed: int, columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's surface of five features; skewed noise whose spread depends on a sixth."""
    generator = np.random.default_rng(seed)
    features = generator.random((rows, columns))
    one, two, three, four, five, six = features.T[:6]
    surface = 10 * np.sin(np.pi * one * two) + 20 * (three - 0.5) ** 2 + 10 * four + 5 * five
    noise = (1 + 2 * six) * (generator.gamma(2.0, size=rows) - 2.0)
    return features, 10 + surface + noise


def _scaled(
    features: np.ndarray,
    observation: np.ndarray,
    test_features: np.ndarray,
    test_truth: np.ndarray,
    band: tuple[float, float],
) -> Arrays:
    smallest, extent = observation.min(), np.ptp(observation)
    return {
        "features": features.astype(np.float32),
        "target": ((observation - smallest) / extent).astype(np.float32),
        "test_features": test_features.astype(np.float32),
        "low": np.array(band[0]),
        "high": np.array(band[1]),
        "observation": observation,
        "test_truth": test_truth,
        "smallest": np.array(smallest),
        "extent": np.array(extent),
    }


def write(recipe: str, folder: Path, **options: int) -> Path:
    """File of a recipe, made when it is first asked for."""
    name = "-".join([recipe, *(f"{key}{value}" for key, value in options.items())])
    path = folder / f"{name}.npz"
    if not path.exists():
        np.savez(path, **RECIPES[recipe](**options))
    return path


RECIPES = {"network": network, "wide": wide}


def evaluate(data: Path, levels: list[float], decisions: Path) -> list[dict[str, float]]:
    """Evaluate decisions in scaled units: one function for us and for every peer.

    ``training`` is the mean insensitive cost on the training rows, in scaled units; ``realised``
    the mean cost of the test rows once demand is known, in units.
    """
    held, decided = np.load(data), np.load(decisions)
    target = (held["observation"] - held["smallest"]) / held["extent"]
    found = []
    for place, level in enumerate(levels):
        excess = decided["train"][place].astype(np.float64) - target
        over = np.maximum(excess - held["high"], 0.0)
        under = np.maximum(held["low"] - excess, 0.0)
        order = decided["test"][place].astype(np.float64) * held["extent"] + held["smallest"]
        realised = Newsvendor.at_level(level).cost(order, held["test_truth"]).mean()
        training = ((1.0 - level) * over + level * under).mean()
        found.append({"training": float(training), "realised": float(realised)})
    return found
