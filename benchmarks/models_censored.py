"""Nonlinear censored demand: the process that `models.py` starts for each model.

usage: python models_censored.py REQUEST.json

The same model is trained on sales as if they were demand, on sales with a latent band (nothing
else is known), and on demand itself. Decisions for the test rows are evaluated on their demand.
"""

from __future__ import annotations

from typing import Any

from models_stopwatch import Stopwatch, serve

from unmet import BoostedDecision, LatentBand, LinearDecision, NeuralDecision, Newsvendor
from unmet.simulate import nonlinear_demand

FIRST = 0.75  # the level whose fit learns the band


def measure(request: dict) -> dict:
    data = nonlinear_demand(request["seed"])
    train, test = data.train, data.test
    observed = train.demand if request["case"] == "truth" else train.sales
    band: Any = None
    if (
        request["case"] == "latent band"
    ):  # nobody but who knows the distribution can tell from sales alone
        band = LatentBand(families="normal", random_state=0)
    fits, learned = [], None
    for level in sorted(request["levels"], key=lambda level: abs(level - FIRST)):
        cost = Newsvendor.at_level(level)
        if learned is not None:  # what was learned about demand serves every level
            band = learned.band(train.features, cost=cost)
        with Stopwatch() as monitor:
            model = make(request["model"], cost, band).fit(train.features, observed)
        learned = learned or model.band_rule_
        fits.append(
            {
                "level": level,
                **monitor.record(),
                "with_rule": model.band_rule_ is not None,
                "realised": float(cost.cost(model.predict(test.features), test.demand).mean()),
                "best": float(cost.cost(test.optimum(level), test.demand).mean()),
            }
        )
    record: dict = {"fits": fits, "censored": float(train.censored.mean())}
    if learned is not None:
        record["identified"] = learned.diagnosis_.identified
        record["share"] = learned.diagnosis_.share_censored
    return record


def make(name: str, cost: Newsvendor, band: Any) -> Any:
    """Settings that served models trained on the truth of other seeds best, of about ten tried."""
    if name == "linear":
        return LinearDecision(cost, band)
    if name == "neural":
        return NeuralDecision(cost, band, hidden_layer_sizes=(16,), strength=1e-4, random_state=0)
    return BoostedDecision(
        cost, band, max_iter=200, max_leaf_nodes=8, min_samples_leaf=40, random_state=0
    )


if __name__ == "__main__":
    serve(measure)
