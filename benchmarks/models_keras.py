"""Keras 3 on the paper's network: the process that `models.py` starts for these peers.

usage: python models_keras.py REQUEST.json

Three ways to train the same model: ``fit`` as anyone would write it, ``fit`` with an epoch of
steps per execution, and (on JAX) a loop of our own around Keras's stateless functions that is
compiled as a whole, the fastest that Keras can be made to go here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from models_stopwatch import Stopwatch, serve


def measure(request: dict) -> dict:
    os.environ["KERAS_BACKEND"] = request["backend"]  # read when keras is first imported
    data = dict(np.load(request["data"]))
    train = {"fit": by_fit, "steps": by_fit, "scan": by_scan}[request["way"]]
    train(dict(request, epochs=2), data, request["levels"][0])  # loads what packages load lazily
    fits, decisions = [], []
    for level in request["levels"]:
        model, record = train(request, data, level)
        fits.append({"level": level, **record})
        decisions.append([decide(model, data["features"]), decide(model, data["test_features"])])
    np.savez(
        request["decisions"],
        train=np.array([each[0] for each in decisions]),
        test=np.array([each[1] for each in decisions]),
    )
    return {"fits": fits, "versions": versions(request["backend"])}


def versions(backend: str) -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("keras", backend)}


def build(request: dict, columns: int) -> Any:
    """Make the network with Keras's own initialisation: Glorot uniform, biases zero."""
    import keras

    keras.utils.set_random_seed(request["seed"])
    layers = [
        keras.layers.Dense(units, activation=request["activation"]) for units in request["hidden"]
    ]
    return keras.Sequential([keras.Input((columns,)), *layers, keras.layers.Dense(1)])


def insensitive(level: float, low: float, high: float) -> Callable[[Any, Any], Any]:
    """ε-insensitive newsvendor cost (eq. in-nvc-norm)."""
    from keras import ops

    def cost(observation: Any, decision: Any) -> Any:
        over = ops.relu(decision - observation - high)
        under = ops.relu(observation + low - decision)
        return (1.0 - level) * over + level * under

    return cost


def decide(model: Any, features: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict(features, batch_size=4096, verbose=0))[:, 0]


def by_fit(request: dict, data: dict, level: float) -> tuple[Any, dict]:
    """``compile`` and ``fit``; the first epoch beyond a usual one is taken for compilation."""
    import keras

    ends: list[float] = []

    class Clock(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
            ends.append(time.process_time())

    features, target = data["features"], data["target"][:, None]
    steps = -(-len(features) // request["batch_size"]) if request["way"] == "steps" else 1
    with Stopwatch() as monitor:
        started = time.process_time()
        model = build(request, features.shape[1])
        model.compile(
            optimizer=keras.optimizers.Adam(),
            loss=insensitive(level, float(data["low"]), float(data["high"])),
            steps_per_execution=steps,
        )
        model.fit(
            features,
            target,
            epochs=request["epochs"],
            batch_size=request["batch_size"],
            verbose=0,
            callbacks=[Clock()],
        )
    usual = float(np.median(np.diff(ends)))
    return model, {**monitor.record(), "compile": max(ends[0] - started - usual, 0.0)}


def by_scan(request: dict, data: dict, level: float) -> tuple[Any, dict]:
    """All epochs in one compiled function: Keras's layers and optimiser, JAX's loop."""
    import jax
    import keras

    with Stopwatch() as monitor:
        started = time.process_time()
        model = build(request, data["features"].shape[1])
        optimiser = keras.optimizers.Adam()
        optimiser.build(model.trainable_variables)
        state = tuple(
            [variable.value for variable in variables]
            for variables in (
                model.trainable_variables,
                model.non_trainable_variables,
                optimiser.variables,
            )
        )
        keys = jax.random.split(jax.random.key(request["seed"]), request["epochs"])
        epoch = scanned_epoch(model, optimiser, request["batch_size"], data, level)
        train = jax.jit(lambda state, keys: jax.lax.scan(epoch, state, keys)[0])
        compiled = train.lower(state, keys).compile()
        compilation = time.process_time() - started
        weights = jax.block_until_ready(compiled(state, keys))[0]
    for variable, value in zip(model.trainable_variables, weights, strict=True):
        variable.assign(value)
    return model, {**monitor.record(), "compile": compilation}


def scanned_epoch(
    model: Any, optimiser: Any, batch_size: int, data: dict, level: float
) -> Callable[[Any, Any], tuple[Any, None]]:
    """One shuffled epoch as a function of the state; the last batch is filled with weight 0."""
    import jax
    import jax.numpy as jnp

    features, target = jnp.asarray(data["features"]), jnp.asarray(data["target"][:, None])
    n_rows = len(features)
    n_batches = -(-n_rows // batch_size)
    cost = insensitive(level, float(data["low"]), float(data["high"]))

    def mean_cost(weights: Any, fixed: Any, rows: Any) -> Any:
        real = (rows < n_rows).astype(features.dtype)[:, None]
        held = jnp.minimum(rows, n_rows - 1)
        decision, _ = model.stateless_call(weights, fixed, features[held], training=True)
        return (cost(target[held], decision) * real).sum() / real.sum()

    gradient = jax.grad(mean_cost)

    def step(state: Any, rows: Any) -> tuple[Any, None]:
        weights, fixed, moments = state
        slopes = gradient(weights, fixed, rows)
        weights, moments = optimiser.stateless_apply(moments, slopes, weights)
        return (weights, fixed, moments), None

    def epoch(state: Any, key: Any) -> tuple[Any, None]:
        filling = jnp.full(n_batches * batch_size - n_rows, n_rows)
        order = jnp.concatenate([jax.random.permutation(key, n_rows), filling])
        return jax.lax.scan(step, state, order.reshape(n_batches, batch_size))

    return epoch


if __name__ == "__main__":
    serve(measure)
