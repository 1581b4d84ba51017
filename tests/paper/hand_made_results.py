"""Results made by hand, in which every claim of the paper holds until a test changes something."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from unmet.paper.protocol import METHODS, FitRow, PaperSettings, Results, SearchRow
from unmet.simulate import PUBLISHED_LEVELS


class Here(ThreadPoolExecutor):
    """What the pool of processes does, in this one: no interpreters to start."""

    def __init__(self, jobs, **options):
        super().__init__(jobs)


N_ROWS = 60
Changes = Mapping[tuple, float]

#: Savings over IEO whose ends are the published ones.
SAVINGS = {
    "LR-εNVC-R": dict(zip(PUBLISHED_LEVELS, (0.0245, 0.06, 0.10, 0.144, 0.12), strict=True)),
    "NN-εNVC": dict(zip(PUBLISHED_LEVELS, (0.0339, 0.05, 0.07, 0.09, 0.1221), strict=True)),
}
IEO_COST = 18.0


def role(method: str) -> str:
    """EAS, IEO, ε, or the last word of a method of ours."""
    if method.endswith("MSE"):
        return "EAS"
    if method in SAVINGS:
        return "ε"
    return "IEO" if method.endswith("NVC") else method.split()[-1]


def optimum_cost(level: float) -> float:
    return 30 * (1 - level) + 2


def default_cost(method: str, level: float) -> float:
    kind = role(method)
    if kind == "EAS":
        return 20 + 10 * level
    if kind == "IEO":
        return IEO_COST
    if kind == "ε":
        return IEO_COST * (1 - SAVINGS[method][level])
    if kind == "exact":
        return IEO_COST * (1 - (0.03 if "ε" in method else 0.0))
    return optimum_cost(level) * {"latent": 1.01, "flags": 1.02, "truth": 1.03}[kind]


#: By role: RMSE^Q, how far the service level misses α, seconds of a fit, mean of ŷ − Q*.
DISTANCE = {"EAS": 40.0, "IEO": 30.0, "ε": 20.0, "exact": 25.0, "latent": 3.0, "flags": 4.0}
MISS = {"EAS": 0.3, "IEO": 0.2, "ε": 0.1, "exact": 0.15, "latent": 0.01, "flags": 0.01}
SECONDS = {"EAS": 2.0, "IEO": 2.1, "ε": 2.2, "exact": 0.01, "latent": 0.7, "flags": 0.8}
OFFSET = {"EAS": -20.0, "IEO": -10.0, "ε": -4.0, "exact": -6.0, "latent": -0.5, "flags": -0.5}


def hand_made(
    datasets: int = 2,
    levels: tuple[float, ...] = PUBLISHED_LEVELS,
    *,
    searched: bool = True,
    searches: tuple[SearchRow, ...] | None = None,
    clip: bool = True,
    cost: Changes | None = None,
    rmse: Changes | None = None,
    service: Changes | None = None,
    seconds: Changes | None = None,
    iterations: Changes | None = None,
    offset: Changes | None = None,
) -> Results:
    """Make results; changes are by (method, level) or by (method, level, data set).

    ``offset`` moves decisions from Q*; all others are measures of the rows, which do not follow
    from the decisions.
    """
    settings = PaperSettings(datasets, levels, published_settings=not searched, clip=clip)

    def of(changes: Changes | None, method: str, level: float, dataset: int, usual: float) -> float:
        known = changes or {}
        return known.get((method, level, dataset), known.get((method, level), usual))

    def fit(method: str, level: float, dataset: int) -> FitRow:
        kind = role(method)
        # data sets differ a little, and alike for all methods: shares stay the same
        factor = 1 + 0.01 * (dataset - 1)
        fastest = 0.003 if method == "LR-MSE" else SECONDS.get(kind, 0.02)
        reached = level - MISS.get(kind, 0.01)
        return FitRow(
            dataset=dataset,
            level=level,
            method=method,
            cost=factor * of(cost, method, level, dataset, default_cost(method, level)),
            cost_optimum=factor * optimum_cost(level),
            rmse_to_optimum=of(rmse, method, level, dataset, DISTANCE.get(kind, 5.0)),
            service_level=of(service, method, level, dataset, reached),
            fit_seconds=of(seconds, method, level, dataset, fastest),
            training_cost=1.0,
            iterations=int(of(iterations, method, level, dataset, 500)),
        )

    def optimum(dataset: int, level: float) -> np.ndarray:
        return np.linspace(50, 200, N_ROWS) + 40 * level + dataset

    def decision(dataset: int, method: str, level: float) -> np.ndarray:
        moved = of(offset, method, level, dataset, OFFSET.get(role(method), -0.7))
        # not the same in every row, and never across Q*
        return optimum(dataset, level) + moved * np.linspace(0.8, 1.2, N_ROWS)

    fits = tuple(
        fit(method.name, level, dataset)
        for dataset in range(1, datasets + 1)
        for level in levels
        for method in METHODS
    )
    if searches is None:
        searches = usual_searches(levels) if searched else ()
    return Results(settings, fits, searches, decision, optimum)


def usual_searches(levels: tuple[float, ...] = PUBLISHED_LEVELS) -> tuple[SearchRow, ...]:
    """Step 1 inside its boxes, Step 2 in the corner."""
    first = (
        step_1("LR", eta=0.0071, beta=0.0003, batch_size=77),
        step_1("NN-MSE", units1=10, units2=3, batch_size=64),
        step_1("NN", units1=8, units2=6, batch_size=101),
    )
    second = tuple(step_2(model, a, 0.001, 0.199) for model in ("LR", "NN") for a in levels)
    return first + second


def step_1(model: str, **best: float) -> SearchRow:
    return SearchRow(1, model, 0.55, best, cost=0.02, trials=50, seconds=20.0)


def step_2(model: str, level: float, low: float, high: float) -> SearchRow:
    return SearchRow(
        2, model, level, {"low": low, "high": high}, cost=0.01, trials=50, seconds=30.0
    )
