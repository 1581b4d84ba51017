"""A plain PyTorch loop: the process that `models.py` starts for this peer.

usage: python models_torch.py REQUEST.json

Written as a careful user would: rows shuffled once an epoch, batches cut as views, no data loader.
``fused`` is PyTorch's own faster form of Adam.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from models_stopwatch import Stopwatch, serve

ACTIVATIONS = {"sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU}


def measure(request: dict) -> dict:
    if request["threads"]:
        torch.set_num_threads(request["threads"])
    data = dict(np.load(request["data"]))
    train(dict(request, epochs=1), data, request["levels"][0])  # loads what is loaded lazily
    fits, train_decisions, test_decisions = [], [], []
    for level in request["levels"]:
        with Stopwatch() as monitor:
            model = train(request, data, level)
        fits.append({"level": level, **monitor.record()})
        train_decisions.append(decide(model, data["features"]))
        test_decisions.append(decide(model, data["test_features"]))
    np.savez(request["decisions"], train=np.array(train_decisions), test=np.array(test_decisions))
    return {
        "fits": fits,
        "versions": {"torch": torch.__version__},
        "threads": torch.get_num_threads(),
    }


def build(request: dict, columns: int) -> torch.nn.Sequential:
    """Make the network with Keras's initialisation: Glorot uniform, biases zero."""
    widths = [columns, *request["hidden"], 1]
    layers: list[torch.nn.Module] = []
    for place, (before, after) in enumerate(pairwise(widths)):
        linear = torch.nn.Linear(before, after)
        torch.nn.init.xavier_uniform_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
        layers.append(linear)
        if place < len(widths) - 2:
            layers.append(ACTIVATIONS[request["activation"]]())
    return torch.nn.Sequential(*layers)


def train(request: dict, data: dict, level: float) -> torch.nn.Sequential:
    torch.manual_seed(request["seed"])
    features, target = torch.from_numpy(data["features"]), torch.from_numpy(data["target"])
    low, high = float(data["low"]), float(data["high"])
    model = build(request, features.shape[1])
    optimiser = torch.optim.Adam(
        model.parameters(), lr=1e-3, eps=1e-7, fused=request["way"] == "fused" or None
    )
    size = request["batch_size"]
    for _ in range(request["epochs"]):
        order = torch.randperm(len(features))
        rows, seen = features[order], target[order]
        for start in range(0, len(rows), size):
            decision = model(rows[start : start + size])[:, 0]
            excess = decision - seen[start : start + size]
            over, under = torch.relu(excess - high), torch.relu(low - excess)
            cost = ((1.0 - level) * over + level * under).mean()
            optimiser.zero_grad()
            cost.backward()
            optimiser.step()
    return model


@torch.no_grad()
def decide(model: torch.nn.Sequential, features: np.ndarray) -> np.ndarray:
    return model(torch.from_numpy(features))[:, 0].numpy()


if __name__ == "__main__":
    serve(measure)
