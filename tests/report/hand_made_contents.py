"""Contents of reports made by hand: small, asymmetric, with text that would like to be markup."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import polars as pl
from scipy.stats import norm

from unmet.censoring.model import Candidate, Diagnosis, QuantilePlot, Sensitivity
from unmet.planning.decision_report import Comparison, MethodCost

LEVELS = (0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.98)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
EVIL = "</script><script>alert(1)</script>"


def profile(_rates) -> Sensitivity:
    """Least cost, and best fit, at .3; decisions rise."""
    return Sensitivity(
        RATES,
        tuple(1000.0 + 300 * rate for rate in RATES),
        tuple(50.0 + 100 * (rate - 0.3) ** 2 for rate in RATES),
        tuple(0.5 * ((rate - 0.3) / 0.05) ** 2 for rate in RATES),
    )


def explanation(truth, orders, share, behind, error, shift, **more) -> Candidate:
    return Candidate(
        truth, "constant", orders, share, -4.0 - behind, behind, error, False, shift, **more
    )


def diagnosis(**changes) -> Diagnosis:
    straight = tuple(float(each) for each in norm.ppf(LEVELS))
    latent = tuple(1000 + 200 * each for each in straight)
    cut = tuple(min(each, 1100.0) for each in latent)
    whole = Diagnosis(
        rule="LatentBand",
        n_rows=3294,
        share_censored=0.3,
        identified="weakly",
        shift=120.0,
        shift_range=(80.0, 150.0),
        decision=1090.0,
        stake=7.25,
        candidates=(
            explanation("normal", "noisy", 0.3, 0.0, 0.0, 120.0),
            explanation("logistic", "mixture", 0.42, 0.002, 0.0015, 150.0),
            explanation("gumbel", "absent", 0.0, 0.4, 0.01, 0.0),
        ),
        quantiles=QuantilePlot(LEVELS, straight, cut, cut, latent),
        notes=("The scale was taken as constant & known.",),
        profile=profile,
    )
    return replace(whole, **changes)


def orders(n_rows: int = 6, *, dated: bool = True, ignoring: bool = True) -> pl.DataFrame:
    columns = {
        "date": [date(2017, 1, 1) + timedelta(days=at) for at in range(n_rows)],
        "item <b>&": [f"bread {at}" for at in range(n_rows)],
        "ignoring": [1000.25 + at for at in range(n_rows)],
        "decision": [1234.5 + 2 * at for at in range(n_rows)],
    }
    table = pl.DataFrame(columns)
    left_out = [*([] if dated else ["date"]), *([] if ignoring else ["ignoring"])]
    return table.drop(left_out)


def comparison(basis="truth") -> Comparison:
    return Comparison(
        basis,
        (
            MethodCost(
                "latent", "Band from the data", 55.5, 1090.0, 0.72, 0.95, 0.26, (50.0, 61.0)
            ),
            MethodCost("ieo", "Ignoring <i>it</i>", 75.0, 970.0, 0.5, 0.88, 0.0, (70.0, 80.0)),
            MethodCost("eas", "Forecast of sales", 90.0, 930.0, 0.4, 0.8, -0.2, (88.0, 92.0)),
        ),
        2468,
        (("2017-01-01", "2017-02-28"), ("2017-03-01", "2017-04-30")),
        ("Orders below zero count as zero.",),
    )


def content(**changes) -> dict:
    whole = {
        "kind": "decision",
        "title": f"Orders {EVIL}",
        "problem": "newsvendor",
        "answer": ("Order 1,240 a day.", "30% of the rows hide demand."),
        "decisions": orders(),
        "diagnosis": diagnosis(),
        "comparison": comparison(),
        "stake": (7.25, 2.0, 11.0),
        "n_rows": 1200,
        "level": 0.75,
        "inputs": {"Rows": "3,294", "Costs": "underage 3, overage 1"},
        "notes": ("12 rows without a date were left out.",),
        "command": "unmet decide 'a & b.unmet' next.csv",
        "versions": {"unmet": "0.1.0", "numpy": "2.3.1"},
        "date": "date",
        "series": (),
        "history": None,
        "currency": "€",
        "assumed": None,
    }
    return whole | changes


def nothing() -> dict:
    """A report without decisions, diagnosis, comparison and notes."""
    whole = dict.fromkeys(("decisions", "diagnosis", "comparison", "stake", "level"))
    return content(
        **whole,
        title="Nothing",
        answer=(),
        inputs={},
        notes=(),
        command="",
        versions={"unmet": "0.1.0"},
    )
