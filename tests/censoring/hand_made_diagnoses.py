"""Diagnoses made by hand from simulated data, with curves computed by scipy alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from unmet.censoring.model import Candidate, Diagnosis, QuantilePlot, Sensitivity
from unmet.simulate import store10

LEVELS = tuple(np.round(np.arange(0.02, 0.99, 0.02), 2))
NOISE = 46.57
ALPHA = 0.75


@dataclass
class Profile:
    """Sensitivity of a normal truth: the order and a low quantile fix location and scale.

    How well a rate fits is a parabola around `best`, as wide as `error` says.
    """

    level: float
    best: float
    error: float
    truth_share: float
    calls: list[tuple[float, ...]] = field(default_factory=list)

    def __call__(self, rates) -> Sensitivity:
        self.calls.append(tuple(rates))
        rate = np.asarray(rates, dtype=float)
        order = norm.isf(np.maximum(self.truth_share, 0.005))
        seen = norm.isf(np.maximum(rate, 0.005))
        scale = NOISE * (order + 1.645) / (seen + 1.645)
        location = self.level + NOISE * order - scale * seen
        decision = location + scale * norm.ppf(ALPHA)
        short = (decision - self.level) / NOISE
        cost = NOISE * (norm.pdf(short) + short * norm.cdf(short) - ALPHA * short)
        fit = 0.5 * ((rate - self.best) / self.error) ** 2
        curves = (rate, decision, cost, fit)
        return Sensitivity(*(tuple(float(v) for v in curve) for curve in curves))


def _plot(observation, mean, latent, modelled) -> QuantilePlot:
    typical = float(mean.mean())
    seen = typical + np.quantile(observation - mean, LEVELS)
    return QuantilePlot(
        levels=LEVELS,
        straight=tuple(norm.ppf(LEVELS)),
        observed=tuple(seen),
        modelled=tuple(typical + modelled),
        latent=tuple(typical + latent),
    )


def _candidate(truth, orders, share, behind, error, shift, *, ties=False, scale="constant"):
    return Candidate(truth, scale, orders, share, -4.7315 - behind, behind, error, ties, shift)


def sold_out() -> Diagnosis:
    """The paper's data: normal truth, orders at the mean, about half of the rows censored."""
    part = store10(seed=0, clip=False).train
    latent = NOISE * norm.ppf(LEVELS)
    share = float(part.censored.mean())
    profile = Profile(float(part.mean.mean()), share, 0.009, 0.5)
    return Diagnosis(
        rule="LatentBand",
        n_rows=len(part),
        share_censored=share,
        identified="yes",
        shift=31.41,
        shift_range=(30.02, 33.18),
        decision=float(part.mean.mean()) + 31.41,
        stake=3.571,
        candidates=(
            _candidate("normal", "noisy", share, 0.0, 0.0, 31.41, ties=True),
            _candidate("logistic", "noisy", 0.51, 0.0051, 0.0031, 33.18),
            _candidate("normal", "mixture", 0.47, 0.0062, 0.0009, 30.02),
            _candidate("normal", "absent", 0.0, 0.412, 0.0146, 0.0),
        ),
        quantiles=_plot(part.sales, part.mean, latent, np.minimum(latent, 0.0)),
        profile=profile,
    )


def uncensored() -> Diagnosis:
    """The same demand, never cut off."""
    part = store10(seed=1, clip=False).train
    latent = NOISE * norm.ppf(LEVELS)
    return Diagnosis(
        rule="LatentBand",
        n_rows=len(part),
        share_censored=0.0,
        identified="yes",
        shift=0.0,
        shift_range=(0.0, 1.24),
        decision=float(part.mean.mean()) + 31.41,
        stake=0.0,
        candidates=(
            _candidate("normal", "absent", 0.0, 0.0, 0.0, 0.0, ties=True),
            _candidate("normal", "noisy", 0.021, 0.0004, 0.0003, 1.24),
            _candidate("laplace", "absent", 0.0, 0.0271, 0.0052, 0.0),
        ),
        quantiles=_plot(part.demand, part.mean, latent, latent),
        profile=Profile(float(part.mean.mean()), 0.0, 0.014, 0.0),
    )


def _noisy_orders(n_rows):
    """Normal truth, orders around a level above its mean: what was seen, and the mean."""
    generator = np.random.default_rng(7)
    mean = generator.uniform(60, 180, size=n_rows)
    truth = mean + NOISE * generator.standard_normal(n_rows)
    order = mean + 20 + 40 * generator.standard_normal(n_rows)
    return mean, np.minimum(truth, order)


def unclear() -> Diagnosis:
    """Few rows, noisy orders: many candidates tie, the one with nothing hidden among them."""
    mean, seen = _noisy_orders(160)
    names = (
        ("normal", "absent", 0.0, 0.0021, 0.0064, 0.0, True, "constant"),
        ("normal", "noisy", 0.374, 0.0, 0.0, 22.4, True, "constant"),
        ("negative binomial", "noisy", 0.41, 0.0012, 0.0061, 26.1, True, "constant"),
        ("gamma", "mixture", 0.29, 0.0034, 0.0052, 15.9, True, "features"),
        ("gumbel", "absent", 0.0, 0.0102, 0.0071, 0.0, False, "level"),
        ("student", "noisy", 0.33, 0.0125, 0.0064, 19.2, False, "constant"),
        ("lognormal", "mixture", 0.52, 0.0311, 0.0124, 41.3, False, "features"),
        ("laplace", "noisy", 0.22, 0.0424, 0.0148, 12.2, False, "level"),
    )
    curve = norm.ppf(LEVELS, *norm.fit(seen - mean))
    return Diagnosis(
        rule="LatentBand",
        n_rows=160,
        share_censored=0.0,
        identified="no",
        shift=0.0,
        shift_range=(0.0, 26.1),
        decision=151.7,
        stake=0.0,
        candidates=tuple(_candidate(*n[:6], ties=n[6], scale=n[7]) for n in names),
        quantiles=_plot(seen, mean, curve, curve),
        notes=(
            "Four candidates tie, from nothing hidden to two rows in five: a sell-out rate "
            "(sellout_rate=), flags for some days (censored=) or a few audited rows would settle "
            "it, and so would about ten times as many rows.",
            "The scale of the truth was taken as constant, because 160 rows are too few to say "
            "that it varies.",
        ),
        profile=Profile(float(mean.mean()), 0.22, 0.15, 0.0),
    )


def weak() -> Diagnosis:
    """More rows: something is hidden, but how much?"""
    mean, seen = _noisy_orders(900)
    grid = np.linspace(-300, 300, 6001)
    below = 1 - norm.sf(grid / NOISE) * norm.sf((grid - 20) / 40)
    modelled = np.interp(LEVELS, below, grid)
    return Diagnosis(
        rule="LatentBand",
        n_rows=900,
        share_censored=0.374,
        identified="weakly",
        shift=22.4,
        shift_range=(9.8, 31.3),
        decision=151.7,
        stake=2.204,
        candidates=(
            _candidate("normal", "noisy", 0.374, 0.0, 0.0, 22.4, ties=True),
            _candidate("student", "noisy", 0.22, 0.0022, 0.0015, 9.8),
            _candidate("normal", "mixture", 0.44, 0.0023, 0.0013, 31.3),
        ),
        quantiles=_plot(seen, mean, NOISE * norm.ppf(LEVELS), modelled),
        profile=Profile(float(mean.mean()), 0.374, 0.08, 0.374),
    )


def multiplicative() -> Diagnosis:
    """Lognormal truth, straight in logarithms only, cut off at its .65-quantile; large numbers."""
    straight = norm.ppf(LEVELS)
    latent = 40_000 * np.exp(0.8 * straight)
    modelled = np.minimum(latent, 40_000 * np.exp(0.8 * norm.ppf(0.65)))
    seen = modelled * (1 + 0.01 * np.sin(40 * straight))
    curves = (LEVELS, straight, seen, modelled, latent)
    return Diagnosis(
        rule="LatentBand",
        n_rows=1_250_000,
        share_censored=0.35,
        identified="yes",
        shift=14_210.0,
        shift_range=(14_100.0, 14_350.0),
        decision=81_300.0,
        stake=3105.5,
        candidates=(_candidate("lognormal", "noisy", 0.35, 0.0, 0.0, 14_210.0, ties=True),),
        quantiles=QuantilePlot(*(tuple(map(float, curve)) for curve in curves)),
        notes=("The latent model was fitted on a sample of 200,000 of 1,250,000 rows.",),
        profile=Profile(2e6, 0.35, 0.0007, 0.35),
    )


def flagged() -> Diagnosis:
    """Flags are known, so the share was counted; there is no plot and no profile."""
    return Diagnosis(
        rule="LatentBand",
        n_rows=1127,
        share_censored=0.4614,
        share_is_seen=True,
        identified="yes",
        shift=6.218,
        shift_range=(5.906, 6.611),
        decision=48.25,
        stake=0.8431,
        candidates=(_candidate("gamma", "known", 0.4614, 0.0, 0.0, 6.218, ties=True),),
    )


def bare() -> Diagnosis:
    """What a rule says that estimates nothing."""
    return Diagnosis(rule="FixedBand", n_rows=3294, notes=("The band was given.",))


ALL = {
    "sold_out": sold_out,
    "uncensored": uncensored,
    "unclear": unclear,
    "weak": weak,
    "multiplicative": multiplicative,
    "flagged": flagged,
    "bare": bare,
}
