"""What the project promises about neural and boosted decisions, checked against a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from models_results import Run, closed, divide, least
from models_tasks import (
    ALL,
    ALONE,
    AT_ONCE,
    BOOSTED_CASES,
    BOOSTED_PEER,
    BOOSTED_US,
    KERAS_TUNED,
    ONE,
    SOLVERS,
    TRAINED,
    US_BEST,
    WIDE,
    WIDE_US,
)

from unmet.simulate import PUBLISHED_LEVELS

SAME = 1.02  # a training cost that counts as the same
IGNORING, LATENT, TRUTH = TRAINED
HIGH = 0.65  # levels from here on: below, censoring at the mean hardly matters


@dataclass(frozen=True)
class Bar:
    """One line of the table: a number and the value it must not exceed (or fall below)."""

    where: str
    words: str
    value: float | None  # None: not measured
    bound: float
    at_least: bool = False
    percent: bool = False

    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def texts(self) -> tuple[str, str]:
        """The bound and what was measured."""
        sign = "≥" if self.at_least else "≤"
        texts = [
            "not measured"
            if each is None
            else f"{100 * each:.0f} %"
            if self.percent
            else f"{each:.3g}"
            for each in (self.bound, self.value)
        ]
        return f"{sign} {texts[0]}", texts[1]


def bars(run: Run) -> list[Bar]:
    return [*_network(run), *_many(run), *_wide(run), *_boosted(run), *_censored(run)]


def _network(run: Run) -> Iterator[Bar]:
    where = "paper's network"
    keras = least(run.mean("cpu", "network", KERAS_TUNED, threads) for threads in (ONE, ALL))
    ratio = divide(keras, run.mean("cpu", "network", US_BEST))
    yield Bar(where, "tuned Keras on JAX ÷ unmet, CPU seconds of a fit", ratio, 50, at_least=True)
    costs = [run.mean("training", "network", name) for name in (US_BEST, KERAS_TUNED)]
    words = "unmet ÷ tuned Keras on JAX, mean training cost"
    yield Bar(where, words, divide(costs[0], costs[1]), SAME)


def _many(run: Run) -> Iterator[Bar]:
    for solver in SOLVERS:
        names = [f"{solver}, {way}" for way in (ALONE, AT_ONCE)]
        wall, training = (
            [run.mean(field, "many", name) for name in names] for field in ("wall", "training")
        )
        where = f"250 networks, {solver}"
        yield Bar(
            where,
            "one by one ÷ fit_many, wall seconds, one thread",
            divide(*wall),
            5,
            at_least=True,
        )
        words = "fit_many ÷ one by one, mean training cost"
        yield Bar(where, words, divide(training[1], training[0]), SAME)


def _wide(run: Run) -> Iterator[Bar]:
    """Against the faster form of PyTorch; one thread each, since ours uses one."""
    peers = [way.name for way in WIDE if way.name.startswith("PyTorch")]
    where = "256 × 256"
    fastest = least(run.mean("cpu", "wide", name) for name in peers)
    ratio = divide(run.mean("cpu", "wide", WIDE_US), fastest)
    yield Bar(where, "unmet (NumPy) ÷ PyTorch, CPU seconds, one thread", ratio, 1.3)
    lowest = least(run.mean("training", "wide", name) for name in peers)
    ratio = divide(run.mean("training", "wide", WIDE_US), lowest)
    yield Bar(where, "unmet (NumPy) ÷ PyTorch, training cost", ratio, SAME)


def _boosted(run: Run) -> Iterator[Bar]:
    for case in BOOSTED_CASES:
        costs, seconds = (
            [run.mean(field, "boosted", name, case=case) for name in (BOOSTED_US, BOOSTED_PEER)]
            for field in ("realised", "cpu")
        )
        where = f"boosted, {case}"
        yield Bar(where, "unmet ÷ LightGBM quantile, mean pinball loss", divide(*costs), 1.01)
        yield Bar(where, "unmet ÷ LightGBM quantile, CPU seconds", divide(*seconds), 3)


def _censored(run: Run) -> Iterator[Bar]:
    for model in ("neural", "boosted"):
        where = f"nonlinear censored, {model}"
        to_best, to_model = (
            [
                share
                for level, share in levels_closed(run, model, floor).items()
                if level >= HIGH and share is not None
            ]
            for floor in (True, False)
        )
        mean = sum(to_best) / len(to_best) if to_best else None
        words = "gap to the true quantile closed, mean over α ≥ .65"
        yield Bar(where, words, mean, 0.6, at_least=True, percent=True)
        words = "gap to the same model trained on the truth closed, worst α ≥ .65"
        yield Bar(where, words, least(to_model), 0.6, at_least=True, percent=True)


def levels_closed(run: Run, model: str, to_best: bool = True) -> dict[float, float | None]:
    """Share of the gap closed by the latent band at each level, over all seeds.

    The floor is the true quantile, or the same model trained on the truth.
    """
    costs = [run.realised(model, trained) for trained in TRAINED]
    ignoring, latent, truth = costs
    floor = run.best(model, IGNORING) if to_best else truth
    seeds = sorted(set(ignoring) & set(latent) & set(truth))
    found = {}
    for level in PUBLISHED_LEVELS:
        if seeds and all(level in each[seed] for each in costs for seed in seeds):
            four = (ignoring, latent, floor, truth)
            found[level] = closed(*([each[seed][level] for seed in seeds] for each in four))
    return found
