"""What a diagnosis derives from what a rule found."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from itertools import pairwise
from math import log

import pytest
from hand_made_diagnoses import ALL, sold_out
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2

from unmet.censoring.model import Diagnosis, Sensitivity

FALL = chi2.ppf(0.95, df=1) / 2


@dataclass
class Curve:
    """A profile whose fall is any function of the rate."""

    fall: object

    def __call__(self, rates):
        rates = tuple(rates)
        fit = tuple(self.fall(rate) for rate in rates)
        return Sensitivity(rates, rates, rates, fit)


def with_fall(fall, share):
    return Diagnosis("LatentBand", 100, share_censored=share, profile=Curve(fall))


def parabola(best, error):
    return lambda rate: 0.5 * ((rate - best) / error) ** 2


@given(best=st.floats(0.0, 0.7), error=st.floats(1e-4, 0.5))
def test_interval_of_a_parabola(best, error):
    low, high = with_fall(parabola(best, error), best).interval
    assert low == pytest.approx(max(best - 1.96 * error, 0.0), abs=1e-3 * error)
    assert high == pytest.approx(min(best + 1.96 * error, 0.7), abs=1e-3 * error)


def test_interval_of_a_skewed_profile():
    share = 0.2

    def fall(rate):  # of a Poisson count of 20, per hundred rows
        return 100 * (rate - share) + (20 * log(share / rate) if rate else 1e3)

    low, high = with_fall(fall, share).interval
    assert low == pytest.approx(brentq(lambda r: fall(r) - FALL, 0.01, share), abs=0.004)
    assert high == pytest.approx(brentq(lambda r: fall(r) - FALL, share, 0.6), abs=0.004)


def test_no_interval_without_a_profile_or_a_share():
    assert Diagnosis("AuditedBand", 10, share_censored=0.2).interval is None
    assert Diagnosis("AuditedBand", 10, profile=Curve(lambda rate: rate)).interval is None


def test_sensitivity_goes_from_0_to_70_percent_and_has_the_estimate():
    rate = sold_out().sensitivity.rate
    assert rate[0] == 0.0
    assert rate[-1] == 0.7
    assert list(rate) == sorted(set(rate))
    assert sold_out().share_censored in rate
    assert max(b - a for a, b in pairwise(rate)) <= 0.05 + 1e-12


@pytest.mark.parametrize("name", sorted(ALL))
def test_dictionary_is_json_and_complete(name):
    diagnosis = ALL[name]()
    plain = diagnosis.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == json.loads(json.dumps(plain))
    stored = {each.name for each in fields(Diagnosis)} - {"profile", "choices"}
    assert set(plain) == stored | {"interval", "decision_range", "sensitivity", "ambiguity"}
    back = json.loads(json.dumps(plain))
    for scalar in ("rule", "n_rows", "share_censored", "share_is_seen", "identified", "stake"):
        assert back[scalar] == getattr(diagnosis, scalar)
    assert [each["truth"] for each in back["candidates"]] == [
        each.truth for each in diagnosis.candidates
    ]
