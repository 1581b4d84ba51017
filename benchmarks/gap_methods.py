"""The table of methods: what each of them is told, and how it decides."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import baselines
import numpy as np
from gap_cases import LEVELS, PAPER, REAL, Block, Case, Trial

import unmet.bands
from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.simulate import PUBLISHED_BANDS

COSTS = [Newsvendor.at_level(level) for level in LEVELS]
OPTIMUM = "true quantile"
TRUTH = "trained on the truth"
IGNORING = "IEO"
US = "LatentBand"
AUDITED = 100  # rows
OFF = 0.15  # how far a planner's guess of the sell-out rate may be off

# (case, trial, block) → a decision for every test row at every level, and what was found
Decide = Callable[[Trial, Block], tuple[list[np.ndarray], Any]]


@dataclass(frozen=True)
class Method:
    """One row of every table.

    Attributes
    ----------
    name, knows : str
    decide : callable
    needs : str
        Name of the rule in `unmet.bands`; empty where none is needed.
    fits : callable
        Whether the method makes sense for a case and its trial.
    """

    name: str
    knows: str
    decide: Decide
    needs: str = ""
    fits: Callable[[Case, Trial], bool] = field(default=lambda case, trial: True)

    @property
    def available(self) -> bool:
        return not self.needs or hasattr(unmet.bands, self.needs)

    def run(self, trial: Trial) -> dict:
        """Mean realised cost at every level, seconds, and what the rule found in each block."""
        total, found = np.zeros(len(LEVELS)), []
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rules warn of what the tables show
            for block in trial.blocks:
                decisions, diagnosis = self.decide(trial, block)
                # nobody orders less than nothing, unless demand can be less (the text as printed)
                least = 0.0 if block.demand_test.min() >= 0 else -np.inf
                total += [
                    cost.cost(np.maximum(decision, least), block.demand_test).sum()
                    for cost, decision in zip(COSTS, decisions, strict=True)
                ]
                found.append(finding(diagnosis))
        seconds = round(time.perf_counter() - start, 4)
        rows = sum(len(block.demand_test) for block in trial.blocks)
        record = {"cost": [float(f"{mean:.7g}") for mean in total / rows], "seconds": seconds}
        return {**record, "found": found} if any(found) else record


def finding(diagnosis: Any) -> dict | None:
    """The parts of a diagnosis that the tables use."""
    if diagnosis is None:
        return None
    first = diagnosis.explanations[0] if diagnosis.explanations else None
    words = f"{first.truth}, {first.scale}, {first.orders}" if first else None
    return {
        "identified": diagnosis.identified,
        "share": diagnosis.share_censored,
        "explanation": words,
    }


# --- how they decide ----------------------------------------------------------------------------


def optimum(trial: Trial, block: Block) -> tuple[list[np.ndarray], None]:
    assert block.optimum is not None
    return [block.optimum(level) for level in LEVELS], None


def plain(column: str) -> Decide:
    """Integrated estimation and optimisation on a column taken for the truth."""

    def decide(trial: Trial, block: Block) -> tuple[list[np.ndarray], None]:
        models = LinearDecision().fit_path(block.X, getattr(block, column), costs=COSTS)
        return [model.predict(block.X_test) for model in models], None

    return decide


def squared(trial: Trial, block: Block) -> tuple[list[np.ndarray], None]:
    """Estimate the mean, then order it: the same whatever the costs."""
    model = LinearDecision(SquaredError()).fit(block.X, block.sales)
    return [model.predict(block.X_test)] * len(LEVELS), None


def published(trial: Trial, block: Block) -> tuple[list[np.ndarray], None]:
    pairs = [PUBLISHED_BANDS["linear"][level] for level in LEVELS]
    bands = [Band.scaled(*pair, block.sales) for pair in pairs]
    models = LinearDecision().fit_path(block.X, block.sales, costs=COSTS, bands=bands)
    return [model.predict(block.X_test) for model in models], None


def descended(trial: Trial, block: Block) -> tuple[list[np.ndarray], None]:
    """The published method as it is published: its ε, its descent and its penalty (β = .0060)."""
    decisions = []
    for level, cost in zip(LEVELS, COSTS, strict=True):
        band = Band.scaled(*PUBLISHED_BANDS["linear"][level], block.sales)
        model = LinearDecision(cost, band, solver="minibatch").fit(block.X, block.sales)
        decisions.append(model.predict(block.X_test))
    return decisions, None


def rule(build: Callable[[Trial, Block], Any], *given: str) -> Decide:
    """A band rule; `given` names what `fit` is told besides features and sales."""

    def decide(trial: Trial, block: Block) -> tuple[list[np.ndarray], Any]:
        told = {
            "censored": block.censored,
            "stock": block.order,
            "time": block.dates,
            "series": block.series,
        }
        known = {name: told[name] for name in given}
        models = LinearDecision().fit_path(
            block.X, block.sales, costs=COSTS, bands=build(trial, block), **known
        )
        return [model.predict(block.X_test) for model in models], models[0].diagnosis_

    return decide


def called(name: str, **options: Any) -> Callable[[Trial, Block], Any]:
    return lambda trial, block: getattr(baselines, name)(**options)


def with_rate(low: float, high: float | None = None) -> Callable[[Trial, Block], Any]:
    """LatentBand told the block's sell-out rate, off by so many points, or a range around it."""

    def build(trial: Trial, block: Block) -> Any:
        share = float(block.censored.mean())
        ends = [min(max(share + off, 0.0), 0.95) for off in (low, high) if off is not None]
        return unmet.bands.LatentBand(sellout_rate=ends[0] if high is None else tuple(ends))

    return build


def audited(trial: Trial, block: Block) -> Any:
    chosen = np.random.default_rng(trial.seed).choice(len(block.sales), AUDITED, replace=False)
    return unmet.bands.AuditedBand(block.X[chosen], block.sales[chosen], block.demand[chosen])


def seeded(name: str) -> Callable[[Trial, Block], Any]:
    return lambda trial, block: getattr(unmet.bands, name)(random_state=trial.seed)


def known_optimum(case: Case, trial: Trial) -> bool:
    return trial.blocks[0].optimum is not None


def some_censored(case: Case, trial: Trial) -> bool:
    return trial.share > 0


def worth_guessing(case: Case, trial: Trial) -> bool:
    """Where the lab would only repeat itself, one guess of the rate is enough."""
    return case.group in (PAPER, REAL) and trial.share > 0


def worth_searching(case: Case, trial: Trial) -> bool:
    """The paper's search takes half a minute a trial and ends in its corner on any data."""
    return case.group == PAPER or case.name in ("normal, never", "gamma, never")


def dated(case: Case, trial: Trial) -> bool:
    return case.dated


@dataclass(frozen=True)
class FingerprintCheck:
    """Not a decision: whether the order rule is found from dates alone, and its flags are right."""

    name: str = "OrderFingerprint"
    knows: str = "dates"
    needs: str = "OrderFingerprint"

    @property
    def available(self) -> bool:
        return hasattr(unmet.bands, self.needs)

    def fits(self, case: Case, trial: Trial) -> bool:
        return case.dated

    def run(self, trial: Trial) -> dict:
        start, found = time.perf_counter(), []
        right = flagged = censored = 0
        for block in trial.blocks:
            fingerprint = unmet.bands.OrderFingerprint(random_state=trial.seed)
            fingerprint.fit(block.sales, block.dates)
            flags = np.nan_to_num(fingerprint.censored_) > 0
            right += int((flags & block.censored).sum())
            flagged += int(flags.sum())
            censored += int(block.censored.sum())
            accepted = bool(fingerprint.accepted_)
            found.append({"accepted": accepted, "rule": str(fingerprint.rule_) if accepted else ""})
        return {
            "seconds": time.perf_counter() - start,
            "precision": right / flagged if flagged else None,
            "recall": right / censored if censored else None,
            "found": found,
        }


NOTHING = "nothing"
RATE = "the sell-out rate"
FLAGS = "flags"
METHODS: dict[str, Method | FingerprintCheck] = {
    method.name: method
    for method in [
        Method(OPTIMUM, "everything", optimum, fits=known_optimum),
        Method(TRUTH, "the truth", plain("demand")),
        Method(IGNORING, NOTHING, plain("sales")),
        Method("EAS", NOTHING, squared),
        Method("published ε", NOTHING, published),
        Method("published ε, descent", NOTHING, descended),
        Method(
            "SearchedBand", NOTHING, rule(seeded("SearchedBand")), "SearchedBand", worth_searching
        ),
        Method("QuantileTailBand", NOTHING, rule(called("QuantileTailBand"))),
        Method(US, NOTHING, rule(seeded(US)), US),
        Method(f"{US}, dates", "dates", rule(seeded(US), "time", "series"), US, dated),
        Method(f"{US}, rate", RATE, rule(with_rate(0.0)), US, some_censored),
        Method(f"{US}, rate − 15", RATE, rule(with_rate(-OFF)), US, worth_guessing),
        Method(f"{US}, rate + 15", RATE, rule(with_rate(OFF)), US, worth_guessing),
        Method(f"{US}, rate ± 15", RATE, rule(with_rate(-OFF, OFF)), US, worth_guessing),
        Method("AuditedBand", f"the truth of {AUDITED} rows", rule(audited), "AuditedBand"),
        Method("EMBand", FLAGS, rule(called("EMBand"), "censored")),
        Method("ProjectionBand", FLAGS, rule(called("ProjectionBand"), "censored")),
        Method("KaplanMeierBand", FLAGS, rule(called("KaplanMeierBand"), "censored")),
        Method(f"{US}, flags", FLAGS, rule(seeded(US), "censored"), US),
        Method(f"{US}, stock", "stock", rule(seeded(US), "stock"), US, worth_guessing),
        FingerprintCheck(),
    ]
}
YARDSTICKS = (OPTIMUM, TRUTH, IGNORING)
