"""Our own networks: the process that `models.py` starts for them.

usage: python models_ours.py REQUEST.json
"""

from __future__ import annotations

from typing import Any

import numpy as np
from models_stopwatch import Stopwatch, serve

from unmet import Band, NeuralDecision, Newsvendor

REPEATS = 3  # of short fits


def measure(request: dict) -> dict:
    data = dict(np.load(request["data"]))
    return {"network": network, "many": many, "wide": wide}[request["what"]](request, data)


def band_of(data: dict) -> Band | None:
    """The band in units of the observations; None if it is empty."""
    low, high = (float(data[end] * data["extent"]) for end in ("low", "high"))
    return Band(low=low, high=high) if high > low else None


def network(request: dict, data: dict) -> dict:
    """One fit after the other."""
    options: dict[str, Any] = {"random_state": request["seed"]}
    if request["solver"] == "published":
        options["max_iter"] = request["epochs"]
        return fitted(request, data, NeuralDecision.published, options, 1)
    options |= {"solver": request["solver"], "hidden_layer_sizes": tuple(request["hidden"])}
    return fitted(request, data, NeuralDecision, options, REPEATS)


def wide(request: dict, data: dict) -> dict:
    """The peers' training, rate and units included."""
    options = {
        "solver": "adam",
        "scaling": "min-max",
        "schedule": "constant",
        "learning_rate": 1e-3,
        "hidden_layer_sizes": tuple(request["hidden"]),
        "activation": request["activation"],
        "max_iter": request["epochs"],
        "batch_size": request["batch_size"],
        "random_state": request["seed"],
    }
    return fitted(request, data, NeuralDecision, options, 1)


def fitted(request: dict, data: dict, make: Any, options: dict, repeats: int) -> dict:
    """Time fits at every level, the mean of several, and keep their decisions in scaled units."""
    features, test = (data[name].astype(np.float64) for name in ("features", "test_features"))
    band, observed = band_of(data), data["observation"]
    few = {**options, "max_iter": 2}
    make(Newsvendor(1, 1), band, **few).fit(features[:200], observed[:200])  # lazy imports
    fits, decisions = [], {"train": [], "test": []}
    for level in request["levels"]:
        times = []
        for _ in range(repeats):
            model = make(Newsvendor.at_level(level), band, **options)
            with Stopwatch() as monitor:
                model.fit(features, observed)
            times.append(monitor.record())
        mean = {name: float(np.mean([each[name] for each in times])) for name in times[0]}
        fits.append({"level": level, **mean, "passes": int(model.n_iter_)})
        for name, rows in (("train", features), ("test", test)):
            scaled = (model.predict(rows) - data["smallest"]) / data["extent"]
            decisions[name].append(scaled)
    np.savez(request["decisions"], **{name: np.array(each) for name, each in decisions.items()})
    return {"fits": fits}


def many(request: dict, data: dict) -> dict:
    """All networks of a search: levels × folds × starts."""
    features, observed = data["features"].astype(np.float64), data["observation"]
    model = NeuralDecision(band=band_of(data), solver=request["solver"])
    jobs = [
        {"cost": Newsvendor.at_level(level), "rows": rows, "random_state": start}
        for level in request["levels"]
        for rows in folds(len(observed), request["folds"])
        for start in range(request["starts"])
    ]
    few = [{**job, "rows": np.arange(200), "max_iter": 2} for job in jobs[:2]]
    model.fit_many(features, observed, few, n_jobs=1)  # lazy imports
    with Stopwatch() as monitor:
        if request["way"] == "fit_many":
            n_jobs = request["threads"] or -1
            done = model.fit_many(features, observed, jobs, n_jobs=n_jobs)
        else:
            done = [alone(model, features, observed, job) for job in jobs]
    costs = [
        training_cost(each, features, observed, job) / float(data["extent"])
        for each, job in zip(done, jobs, strict=True)
    ]
    fit = {"networks": len(jobs), "training": float(np.mean(costs)), "worst": float(max(costs))}
    return {"fits": [{**monitor.record(), **fit}]}


def folds(n_rows: int, count: int) -> list[np.ndarray]:
    """Rows outside each fold of a shuffled split."""
    fold = np.random.default_rng(0).permutation(n_rows) % count
    return [np.flatnonzero(fold != each) for each in range(count)]


def alone(model: NeuralDecision, features: np.ndarray, observed: np.ndarray, job: dict) -> Any:
    options = {**model.get_params(), **{key: job[key] for key in ("cost", "random_state")}}
    return NeuralDecision(**options).fit(features[job["rows"]], observed[job["rows"]])


def training_cost(model: Any, features: np.ndarray, observed: np.ndarray, job: dict) -> float:
    rows = job["rows"]
    return float(job["cost"].loss(model.predict(features[rows]), observed[rows], model.band).mean())


if __name__ == "__main__":
    serve(measure)
