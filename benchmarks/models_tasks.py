"""What `models.py` measures: every process it starts, by section, in order of appearance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unmet.simulate.store10 import PUBLISHED_LEVELS

SECTIONS = {
    "network": "the paper's network, 26-9-5-1, on store-10 data",
    "many": "250 networks at once",
    "wide": "a network of 256 × 256 on 100,000 rows",
    "boosted": "boosted trees without a band",
    "censored": "nonlinear censored demand",
}
OURS = ""  # environment: the interpreter that runs the script
US_BEST, US_FAST, US_PUBLISHED = "unmet, L-BFGS", "unmet, Adam", "unmet, Adam as published"
KERAS, KERAS_TUNED, KERAS_LOOP = (
    "Keras on JAX, fit",
    "Keras on JAX, steps_per_execution",
    "Keras on JAX, own compiled loop",
)
WIDE_US = "unmet, NumPy"
ONE, ALL = "one thread", "default threads"
QUANTILES = (0.1, 0.25, 0.75, 0.9, 0.95)


@dataclass(frozen=True)
class Task:
    """One measuring process.

    ``request`` is what the process is told; ``data`` a recipe of `models_data` with its options,
    for peers that can read nothing else; ``threads`` None leaves the packages their own choice.
    """

    section: str
    name: str
    script: str
    request: dict
    environment: str = OURS
    data: tuple[str, dict] | None = None
    threads: int | None = 1
    key: str = field(init=False)

    def __post_init__(self) -> None:
        threads = ONE if self.threads == 1 else ALL
        told = "|".join(
            str(self.request[word]) for word in ("case", "seed") if word in self.request
        )
        object.__setattr__(self, "key", f"{self.section}|{self.name}|{threads}|{told}")


@dataclass(frozen=True)
class Way:
    """One way to train a network, ours or a peer's."""

    name: str
    script: str
    words: dict
    environment: str = OURS
    threads: int | None = 1
    seeds: int = 5  # fewer where one fit takes a minute


NETWORK = (
    Way(US_BEST, "models_ours.py", {"solver": "lbfgs"}),
    Way(US_FAST, "models_ours.py", {"solver": "adam"}),
    Way(US_PUBLISHED, "models_ours.py", {"solver": "published"}),
    Way(KERAS, "models_keras.py", {"backend": "jax", "way": "fit"}, "keras-jax"),
    Way(KERAS_TUNED, "models_keras.py", {"backend": "jax", "way": "steps"}, "keras-jax"),
    Way(KERAS_TUNED, "models_keras.py", {"backend": "jax", "way": "steps"}, "keras-jax", None),
    Way(KERAS_LOOP, "models_keras.py", {"backend": "jax", "way": "scan"}, "keras-jax"),
    Way("PyTorch loop", "models_torch.py", {"way": "plain"}, "torch"),
    Way("PyTorch loop, fused Adam", "models_torch.py", {"way": "fused"}, "torch"),
    Way(
        "Keras on torch, fit",
        "models_keras.py",
        {"backend": "torch", "way": "fit"},
        "keras-torch",
        seeds=1,
    ),
)
SOLVERS = ("lbfgs", "adam")
ALONE, AT_ONCE = "one by one", "fit_many"
MANY = ((ALONE, 1), (AT_ONCE, 1), (AT_ONCE, None))
WIDE = (
    Way(WIDE_US, "models_ours.py", {}),
    Way("PyTorch loop", "models_torch.py", {"way": "plain"}, "torch"),
    Way("PyTorch loop, fused Adam", "models_torch.py", {"way": "fused"}, "torch"),
    Way("PyTorch loop, fused Adam", "models_torch.py", {"way": "fused"}, "torch", None),
)
BOOSTED_US, BOOSTED_PEER = "unmet", "LightGBM quantile"
BOOSTED = (
    BOOSTED_US,
    BOOSTED_PEER,
    "scikit-learn HistGradientBoosting",
)
BOOSTED_CASES = {"store-10": 3_294, "curved-20000": 20_000, "curved-100000": 100_000}
MODELS = ("linear", "neural", "boosted")
TRAINED = ("sales as truth", "latent band", "truth")


def tasks(sections: list[str], quick: bool) -> Iterator[Task]:
    """Everything there is to measure; quick keeps one of each, and makes it small."""
    makers = {
        "network": network,
        "many": many,
        "wide": wide,
        "boosted": boosted,
        "censored": censored,
    }
    for section in sections:
        yield from makers[section](quick)


def network(quick: bool) -> Iterator[Task]:
    for way in NETWORK:
        for seed in range(1 if quick else way.seeds):
            request = {
                "what": "network",
                "seed": seed,
                "levels": [0.75] if quick else list(PUBLISHED_LEVELS),
                "hidden": [9, 5],
                "activation": "sigmoid",
                "epochs": 20 if quick else 500,
                "batch_size": 79,
                **way.words,
            }
            yield Task(
                "network",
                way.name,
                way.script,
                request,
                way.environment,
                ("network", {"seed": seed}),
                way.threads,
            )


def many(quick: bool) -> Iterator[Task]:
    """Levels × folds × starts, as a search over hyperparameters needs them."""
    for solver in SOLVERS:
        for way, threads in MANY:
            request = {
                "what": "many",
                "seed": 0,
                "solver": solver,
                "way": way,
                "levels": [0.55, 0.95] if quick else list(PUBLISHED_LEVELS),
                "folds": 2 if quick else 5,
                "starts": 2 if quick else 10,
            }
            yield Task(
                "many",
                f"{solver}, {way}",
                "models_ours.py",
                request,
                data=("network", {"seed": 0}),
                threads=threads,
            )


def wide(quick: bool) -> Iterator[Task]:
    rows = 10_000 if quick else 100_000
    for way in WIDE:
        for seed in range(1 if quick else 3):
            request = {
                "what": "wide",
                "seed": seed,
                "levels": [0.75],
                "hidden": [256, 256],
                "activation": "relu",
                "epochs": 1 if quick else 5,
                "batch_size": 512,
                **way.words,
            }
            yield Task(
                "wide",
                way.name,
                way.script,
                request,
                way.environment,
                ("wide", {"seed": seed, "rows": rows}),
                way.threads,
            )


def boosted(quick: bool) -> Iterator[Task]:
    for case, rows in BOOSTED_CASES.items():
        if quick and rows > 3_294:
            continue
        for seed in range(1 if quick else 3 if rows < 100_000 else 1):
            for name in BOOSTED:
                request = {
                    "case": case,
                    "rows": rows,
                    "seed": seed,
                    "method": name,
                    "levels": [0.75] if quick else list(QUANTILES),
                }
                yield Task("boosted", name, "models_boosted.py", request)


def censored(quick: bool) -> Iterator[Task]:
    for seed in range(1 if quick else 5):
        for model in MODELS:
            for trained in TRAINED:
                request = {
                    "case": trained,
                    "seed": seed,
                    "model": model,
                    "levels": [0.85] if quick else list(PUBLISHED_LEVELS),
                }
                yield Task("censored", model, "models_censored.py", request)
