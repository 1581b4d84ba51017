"""The boosting of rows that lie in blocks, in one place or in several.

The loop is that of `loop.py`. Gradients, trees and decisions stay where the rows are; LightGBM sums
its histograms over the places through its own sockets, so that all of them grow the same tree. What
travels here is the weight of leaves, some of their kinks (`selecting.py`) and their new values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.band import Array
from unmet.solvers.boosting.loop import Boosted
from unmet.solvers.boosting.monotone import keep_monotone
from unmet.solvers.boosting.selecting import select_intervals
from unmet.solvers.boosting.shard import ShardPlan
from unmet.solvers.boosting.trees import Trees
from unmet.solvers.places import Places

_MINUTES = 2  # that places wait for each other


def boost_places(places: Places, plan: ShardPlan) -> Boosted:
    """Boost trees on the rows of all places, whose objects are `Shard`.

    Parameters
    ----------
    places : Places
    plan : ShardPlan
        With which the objects were made.
    """
    n_rows = _start(places)
    start = float(select_intervals(places, *_summed(places.ask("together"))).middle()[0])
    costs = [sum(places.ask("begin", start)) / n_rows]
    for _ in range(plan.settings.max_iter):
        grown = places.ask("grow")
        if grown[0] is None:
            break
        weight, below, total = _summed(grown)
        value = select_intervals(places, below, total).nearest_to_zero()
        ridge = np.where(weight > 0, plan.settings.l2_regularization, 1.0)
        value *= plan.settings.learning_rate * weight / (weight + ridge)
        if plan.monotone is not None:
            splits = places.ask_first("splits")
            value = keep_monotone(value, weight, splits, plan.monotone)
        moves = [(value, number == 0) for number in range(len(places.hosts))]
        costs.append(sum(places.ask_each("move", moves)) / n_rows)
    text, n_trees, importances = places.ask_first("result")
    nothing = np.empty(0)
    trees = Trees(text, start)
    return Boosted(trees, n_trees, nothing, None, np.array(costs), None, importances)


def _start(places: Places) -> int:
    """Let all places read their rows and find each other; number of rows."""
    loaded = places.ask_each("load", [(number,) for number in range(len(places.hosts))])
    places.keep([rows > 0 for rows, _ in loaded])
    n_rows: int = sum(rows for rows, _ in loaded)
    steepness = sum(slopes for _, slopes in loaded) / n_rows
    networks = [_threads(threads) for threads in places.threads]
    if len(networks) > 1:
        ports = places.ask("listen")
        addresses = [f"{host}:{port}" for host, port in zip(places.hosts, ports, strict=True)]
        for network, port in zip(networks, ports, strict=True):
            network |= {
                "machines": ",".join(addresses),
                "local_listen_port": port,
                "num_machines": len(addresses),
                "time_out": _MINUTES,
                "tree_learner": "data",
            }
    places.ask_each("connect", [(network, steepness) for network in networks])
    return n_rows


def _threads(number: int | None) -> dict[str, Any]:
    return {} if number is None else {"num_threads": number}


def _summed(parts: list[Array]) -> Array:
    total: Array = np.sum(parts, axis=0)
    return total
