"""What people would use instead: each method gets features and sales, some get flags as well.

A method takes one block of rows and gives decisions for its test rows at every level.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from gap_cases import ON_DEMANDS, Block, Trial, bakery, dummies, simulated
from scipy.stats import norm

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.data import load_yaz
from unmet.planning import example
from unmet.planning.example import DISHES
from unmet.simulate import store10

# --- Data of `alternatives.py`: what a planner sees, and the demand that only the evaluator sees

LEVELS = (0.65, 0.75, 0.9)
STORE, RESTAURANT, BAKERY = "store-10", "restaurant (YAZ)", "bakery, nine series"
WORDS = {
    STORE: "the paper's simulated store; orders are the mean of demand",
    RESTAURANT: "real demand of five dishes in one model; orders are 1.15 × past sales. The tables "
    "of `unmet demo`",
    BAKERY: "real demand, a model per series; orders are the mean of past demand",
}


def restaurant(seed: int) -> Trial:
    """Read the tables of the tutorial with its features; they are the same for every seed."""
    tables = example()
    whole = pl.concat([tables.sales, tables.coming], how="diagonal")
    wanted = load_yaz().unpivot(
        DISHES, index="date", variable_name="dish", value_name="demand"
    )  # the evaluator's column
    whole = whole.join(wanted, on=["date", "dish"], how="left", maintain_order="left")
    X = np.column_stack(
        [dummies(whole[name]) for name in ("weekday", "month", "dish")]
        + [whole[name].cast(pl.Float64).to_numpy() for name in ("is_holiday", "temperature")]
    )
    demand, n = whole["demand"].cast(pl.Float64).to_numpy(), tables.sales.height
    block = Block(
        X=X[:n],
        sales=tables.sales["sales"].cast(pl.Float64).to_numpy(),
        demand=demand[:n],
        order=tables.sales["stock"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        dates=tables.sales["date"].to_numpy(),
        series=tables.sales["dish"].to_numpy(),
        X_test=X[n:],
        demand_test=demand[n:],
    )
    return Trial((block,), seed)


CASES = {
    STORE: lambda seed: simulated(store10(seed), seed),
    RESTAURANT: restaurant,
    BAKERY: lambda seed: bakery(seed, (101, 109, 110), ON_DEMANDS),
}


def seeds_of(case: str, number: int) -> range:
    """Seeds of a case: the restaurant has only one history."""
    return range(1 if case == RESTAURANT else number)


# --- Peers that need an interpreter of their own: ddop, whose requirements are old, and R
#
# Rows travel by file. Both report the processor seconds of their fits, so that starting them does
# not count.

HERE = Path(__file__).resolve().parent
LIMIT = "ALTERNATIVES_LIMIT"  # seconds that one model may take
DDOP_PYTHON = "ALTERNATIVES_DDOP_PYTHON"


class Elsewhere(list[np.ndarray]):
    """Decisions with the seconds that another process needed for them."""

    seconds = 0.0


def hand_over(block: Block, folder: Path, command: list[str]) -> Elsewhere:
    """Write the rows, start the command, read one row of decisions per level."""
    n, p = block.X.shape
    stock = np.where(np.isnan(block.order), 1e6, block.order)  # more than enough where not known
    np.array([n, p, len(block.X_test), *LEVELS], dtype=float).tofile(folder / "shape")
    np.asfortranarray(block.X).ravel("F").tofile(folder / "X")
    np.asfortranarray(block.X_test).ravel("F").tofile(folder / "X_test")
    block.sales.astype(float).tofile(folder / "sales")
    block.censored.astype(float).tofile(folder / "censored")
    stock.astype(float).tofile(folder / "stock")
    limit = float(os.environ.get(LIMIT, "120"))
    try:
        done = subprocess.run(
            [*command, str(folder)], capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took more than {limit:.0f} s for one model") from None
    if done.returncode:
        said = done.stderr[max(done.stderr.rfind("Error"), 0) :].split("Calls:")[0]
        raise RuntimeError(" ".join(said.split())[:160])
    decided = np.fromfile(folder / "decisions").reshape(len(LEVELS), -1)  # nan: no answer
    found = Elsewhere(decided)
    found.seconds = float(json.loads((folder / "seconds").read_text()))
    return found


def ddop(name: str) -> Callable[[Block], Elsewhere]:
    """Give an estimator of ddop, in the environment whose interpreter a variable names."""

    def decide(block: Block) -> Elsewhere:
        python = os.environ[DDOP_PYTHON]
        with tempfile.TemporaryDirectory(prefix="ddop-") as folder:
            return hand_over(
                block, Path(folder), [python, str(HERE / "alternatives_ddop.py"), name]
            )

    return decide


def crq(method: str) -> Callable[[Block], Elsewhere]:
    """Censored quantile regression of R's quantreg."""

    def decide(block: Block) -> Elsewhere:
        with tempfile.TemporaryDirectory(prefix="crq-") as folder:
            script = str(HERE / "alternatives_crq.R")
            return hand_over(block, Path(folder), ["Rscript", script, method])

    return decide


@cache
def missing_ddop() -> str:
    python = os.environ.get(DDOP_PYTHON, "")
    if not python or not Path(python).exists():
        return f"{DDOP_PYTHON} names no interpreter with ddop"
    done = subprocess.run(
        [python, str(HERE / "alternatives_ddop.py"), "check"], capture_output=True, text=True
    )
    return "" if done.returncode == 0 else f"ddop: {done.stderr.strip().splitlines()[-1][:120]}"


@cache
def missing_quantreg() -> str:
    if shutil.which("Rscript") is None:
        return "R is not installed"
    check = ["Rscript", "-e", "library(quantreg); library(survival)"]
    done = subprocess.run(check, capture_output=True, text=True)
    return "" if done.returncode == 0 else "R's quantreg or survival is not installed"


ASKED = {"ddop": missing_ddop, "quantreg": missing_quantreg}


Decisions = list[np.ndarray]
COSTS = [Newsvendor.at_level(level) for level in LEVELS]
LEAST = 0.5  # distributions of positive numbers cannot take a sale of nothing

TRUTH, OPTIMUM, IGNORING = "trained on demand", "true quantile", "unmet, no band (IEO)"
NOTHING, RATE, DATES, FLAGS = "nothing", "the sell-out rate", "dates", "flags"


@dataclass(frozen=True)
class Method:
    """One row of the tables: a name, what it is told, the package it needs and how it decides."""

    name: str
    knows: str
    package: str
    decide: Callable[[Block], Decisions]
    ours: bool = False

    def missing(self) -> str:
        """Say in one sentence what is not installed; empty where all is."""
        if self.package in ASKED:
            return ASKED[self.package]()
        if importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return ""


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])


def safety_stock(block: Block) -> Decisions:
    """Mean of sales by least squares, and z standard deviations on top: the spreadsheet's way."""
    X = with_ones(block.X)
    theta = np.linalg.lstsq(X, block.sales, rcond=None)[0]
    deviation = np.sqrt(np.mean((block.sales - X @ theta) ** 2))
    mean = with_ones(block.X_test) @ theta
    return [mean + deviation * norm.ppf(level) for level in LEVELS]


def scikit_learn(block: Block) -> Decisions:
    from sklearn.linear_model import QuantileRegressor

    models = [QuantileRegressor(quantile=level, alpha=0.0, solver="highs") for level in LEVELS]
    return [model.fit(block.X, block.sales).predict(block.X_test) for model in models]


def statsmodels(block: Block) -> Decisions:
    from statsmodels.regression.quantile_regression import QuantReg

    model = QuantReg(block.sales, with_ones(block.X))
    fits = [model.fit(q=level, max_iter=5000) for level in LEVELS]
    return [fit.predict(with_ones(block.X_test)) for fit in fits]


def rehline(block: Block) -> Decisions:
    """Take its scikit-learn regressor; its ridge cannot be switched off, but it is weak."""
    from rehline import plq_Ridge_Regressor

    centre, spread = block.sales.mean(), block.sales.std()
    decided = []
    for level in LEVELS:
        loss = {"name": "QR", "qt": level}
        model = plq_Ridge_Regressor(loss=loss, C=1.0, max_iter=100_000)
        model.fit(block.X, (block.sales - centre) / spread)
        decided.append(centre + spread * model.predict(block.X_test))
    return decided


def lightgbm(block: Block) -> Decisions:
    from lightgbm import LGBMRegressor

    decided = []
    for level in LEVELS:
        model = LGBMRegressor(objective="quantile", alpha=level, n_jobs=1, verbose=-1)
        decided.append(np.asarray(model.fit(block.X, block.sales).predict(block.X_test)))
    return decided


def tobit(block: Block) -> Decisions:
    """Normal demand, censored where the flags say so, by statsmodels' own class for likelihoods."""
    from statsmodels.base.model import GenericLikelihoodModel

    sold_out = block.censored
    X, scale = with_ones(block.X), block.sales.std()

    class Tobit(GenericLikelihoodModel):
        def nloglikeobs(self, params):
            z = (self.endog - self.exog @ params[:-1]) * np.exp(-params[-1])
            return -np.where(sold_out, norm.logsf(z), norm.logpdf(z) - params[-1])

        def score(self, params):
            shrink = np.exp(-params[-1])
            z = (self.endog - self.exog @ params[:-1]) * shrink
            slope = np.where(sold_out, np.exp(norm.logpdf(z) - norm.logsf(z)), z)
            return np.append(
                shrink * (slope @ self.exog), np.sum(np.where(sold_out, slope * z, z**2 - 1))
            )

    start = np.append(np.linalg.lstsq(X, block.sales / scale, rcond=None)[0], 0.0)
    model = Tobit(block.sales / scale, X, extra_params_names=["log deviation"])
    found = model.fit(start, method="bfgs", maxiter=500, disp=0, skip_hessian=True).params
    mean, deviation = with_ones(block.X_test) @ found[:-1], np.exp(found[-1])
    return [scale * (mean + deviation * norm.ppf(level)) for level in LEVELS]


def lifelines(name: str) -> Callable[[Block], Decisions]:
    """Accelerated failure times with sales as durations; the α-quantile is the decision."""

    def decide(block: Block) -> Decisions:
        import lifelines as package
        import pandas as pd

        names = [f"x{place}" for place in range(block.X.shape[1])]
        table = pd.DataFrame(block.X, columns=names)
        table["sales"] = np.maximum(block.sales, LEAST)
        table["whole"] = (~block.censored).astype(float)
        model = getattr(package, name)()
        model.fit(table, duration_col="sales", event_col="whole")
        new = pd.DataFrame(block.X_test, columns=names)
        # its percentile is the share that lives longer
        return [model.predict_percentile(new, p=1 - level).to_numpy() for level in LEVELS]

    return decide


def unmet(*given: str, rate: bool = False, column: str = "sales") -> Callable[[Block], Decisions]:
    """Our linear model with the band that `given` allows, or the distribution."""

    def decide(block: Block) -> Decisions:
        known = {"censored": block.censored, "time": block.dates, "series": block.series}
        told = {name: known[name] for name in given if name in known}
        band = None
        if given:
            share = float(block.censored.mean()) if rate else None
            band = LatentBand(sellout_rate=share, random_state=0)
        models = LinearDecision().fit_path(
            block.X, getattr(block, column), costs=COSTS, bands=band, **told
        )
        if "distribution" in given:
            return [models[0].band_rule_.quantile(block.X_test, level) for level in LEVELS]
        return [model.predict(block.X_test) for model in models]

    return decide


def optimum(block: Block) -> Decisions:
    assert block.optimum is not None
    return [block.optimum(level) for level in LEVELS]


METHODS = {
    method.name: method
    for method in [
        Method(OPTIMUM, "the distribution of demand", "unmet", optimum),
        Method(TRUTH, "demand", "unmet", unmet(column="demand")),
        Method("mean + safety stock", NOTHING, "numpy", safety_stock),
        Method("scikit-learn QuantileRegressor", NOTHING, "sklearn", scikit_learn),
        Method("statsmodels QuantReg", NOTHING, "statsmodels", statsmodels),
        Method("ReHLine", NOTHING, "rehline", rehline),
        Method("LightGBM quantile", NOTHING, "lightgbm", lightgbm),
        Method("ddop linear", NOTHING, "ddop", ddop("LinearRegressionNewsvendor")),
        Method("ddop forest", NOTHING, "ddop", ddop("RandomForestWeightedNewsvendor")),
        Method(IGNORING, NOTHING, "unmet", unmet(), ours=True),
        Method("unmet, LatentBand", NOTHING, "unmet", unmet("latent"), ours=True),
        Method("unmet, LatentBand, dates", DATES, "unmet", unmet("time", "series"), ours=True),
        Method("unmet, LatentBand, rate", RATE, "unmet", unmet("latent", rate=True), ours=True),
        Method("unmet, LatentBand, flags", FLAGS, "unmet", unmet("censored"), ours=True),
        Method(
            "unmet, distribution, flags",
            FLAGS,
            "unmet",
            unmet("censored", "distribution"),
            ours=True,
        ),
        Method("Tobit (statsmodels)", FLAGS, "statsmodels", tobit),
        Method("lifelines Weibull", FLAGS, "lifelines", lifelines("WeibullAFTFitter")),
        Method("lifelines log-normal", FLAGS, "lifelines", lifelines("LogNormalAFTFitter")),
        Method("R quantreg crq, Portnoy", FLAGS, "quantreg", crq("Portnoy")),
        Method("R quantreg crq, Powell", "stock", "quantreg", crq("Powell")),
    ]
}


def run(method: Method, block: Block) -> Decisions:
    """Decisions of a method, its warnings swallowed: what they warn of is evaluated."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return method.decide(block)
