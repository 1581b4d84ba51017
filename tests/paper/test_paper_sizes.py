"""Sizes: within what two runs may lie apart, or not; readings side by side; two verdicts each."""

import math
from dataclasses import replace
from functools import partial
from statistics import fmean

import numpy as np
import pytest
from hand_made_results import claim as evaluated
from hand_made_results import hand_made, step_1, step_2, usual_searches
from scipy import stats

from paper.claims import (
    by_table,
    distances,
    left_out_apart,
    mean_apart,
    means_apart,
    service_apart,
    verdict_on,
)
from paper.page import judge_everything
from paper.protocol import READINGS
from paper.published import FITTING_SECONDS, SERVICE_GAP_IMPROVEMENT, WILCOXON
from unmet.simulate.store10 import PUBLISHED_LEVELS

TEN = 10


claim = partial(evaluated, datasets=TEN)


def printed_quartiles(family):
    parts = ("first_quartile", "median", "third_quartile")
    return {
        (family, level): tuple(
            fmean(getattr(WILCOXON[family][k, level], part) for k in range(1, 11)) for part in parts
        )
        for level in PUBLISHED_LEVELS
    }


# --- The tolerance.


def test_a_mean_is_compared_by_a_test_of_two_means_with_one_spread():
    values = [1.0, 2.0, 4.0, 4.5, 5.0, 7.5, 8.0, 9.0, 9.5, 10.0]
    apart = mean_apart("here", values, 7.0, digit=0.0)
    error = np.std(values, ddof=1) * math.sqrt(2 / 10)
    assert apart.error == pytest.approx(error)
    # k numbers: each is tested at a kth of 5%
    for k in (1, 10):
        limit = stats.t.isf(0.05 / (2 * k), 9) * error
        assert apart.tolerance(k) == pytest.approx(limit)
        inside = replace(apart, printed=apart.ours + 0.999 * limit)
        outside = replace(apart, printed=apart.ours - 1.001 * limit)
        assert (inside.case(k).margin > 0, outside.case(k).margin > 0) == (True, False)


def test_two_samples_are_compared_as_welch_does():
    one, other = [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], [4.0, 4.1, 4.3, 4.4, 5.0, 5.5, 5.6]
    apart = means_apart("here", one, other)
    reference = stats.ttest_ind(one, other, equal_var=False)
    assert apart.distance / apart.error == pytest.approx(abs(reference.statistic))
    assert apart.freedom == pytest.approx(reference.df)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = [1.0, 2.0, 4.0, 4.5, 5.0, 7.5, 8.0, 9.0, 9.5, 10.0]
    without = [fmean(values[:k] + values[k + 1 :]) for k in range(10)]
    jackknife = left_out_apart("here", fmean(values), without, 7.0, digit=0.0)
    assert jackknife.error == pytest.approx(mean_apart("here", values, 7.0, digit=0.0).error)


def test_two_runs_on_other_seeds_pass_nineteen_times_of_twenty():
    generator = np.random.default_rng(0)
    passed = 0
    for _ in range(400):
        numbers = [
            mean_apart(
                "", list(generator.normal(size=10)), float(generator.normal(size=10).mean()), 0
            )
            for _ in range(5)
        ]
        passed += all(each.case(5).margin > 0 for each in numbers)
    assert 0.92 < passed / 400 < 0.99


# --- Each verdict on size, both ways.


@pytest.mark.parametrize("family", ["LR", "NN"])
def test_3b_size_of_savings(family):
    name = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}[family]
    own = f"3b {family}"
    assert claim(own).verdict == "reproduced"
    peak = {"LR": 0.85, "NN": 0.95}[family]
    # the range that used to pass: −4% to 40%
    wide = {(name, 0.55): 18 * 1.04, (name, peak): 18 * 0.6}
    found = claim(own, cost=wide)
    assert found.verdict == "not reproduced"
    assert found.fails == ("lowest, at α = 0.55", f"highest, at α = {peak}")
    one = claim(own, cost={(name, peak): 18 * 0.8})
    assert one.verdict == "not reproduced"  # one of two is not most
    # spread over seeds widens what is allowed
    noisy = {(name, peak, k): 18 * (0.8 + 0.02 * k) for k in range(1, 11)}
    assert claim(own, cost=noisy).verdict == "reproduced"


@pytest.mark.parametrize("family", ["LR", "NN"])
def test_5b_size_of_cells(family):
    same = printed_quartiles(family)
    own = f"5b {family}"
    assert claim(own, quartiles=same).verdict == "reproduced"
    assert claim(own).verdict == "not reproduced"  # offsets that nobody chose for this
    first, middle, third = same[family, 0.85]
    one = claim(own, quartiles={**same, (family, 0.85): (first, middle, third + 12)})
    assert one.verdict == "reproduced in part"
    assert one.fails == ("third quartile at α = 0.85",)


@pytest.mark.parametrize("family", ["LR", "NN"])
def test_6c_size_of_service_gaps(family):
    name = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}[family]
    own = f"6c {family}"
    assert claim(own).verdict == "reproduced"
    # 18 points off on average, which used to pass
    off = {
        (name, a): a - 0.3 * (1 - SERVICE_GAP_IMPROVEMENT[family, "EAS"][a] + 0.18)
        for a in PUBLISHED_LEVELS
    }
    found = claim(own, service=off)
    assert found.verdict == "not reproduced"
    assert len(found.fails) == 10
    once = claim(own, service={(name, 0.75): off[name, 0.75]})
    assert once.fails == ("α = 0.75 over EAS", "α = 0.75 over IEO")


def test_6c_the_error_is_that_of_the_ratio_of_distances_of_means():
    values = {("LR-εNVC-R", 0.75, k): 0.6 + 0.01 * k for k in range(1, 11)}
    results = hand_made(TEN, (0.75,), service=values)
    over_eas = service_apart(results, "LR")[0]
    gap = 0.3  # of EAS, the same in every data set
    error = np.std([0.01 * k for k in range(1, 11)], ddof=1) / math.sqrt(10) / gap
    assert over_eas.error == pytest.approx(error * math.sqrt(2))


@pytest.mark.parametrize("family", ["LR", "NN"])
def test_7d_ratios_of_times(family):
    name, other = {"LR": ("LR-εNVC-R", "LR-NVC"), "NN": ("NN-εNVC", "NN-NVC")}[family]
    own = f"7d {family}"
    assert claim(own).verdict == "reproduced"
    slow = {
        (name, a): 3 * 2.1 * FITTING_SECONDS[name][a] / FITTING_SECONDS[other][a]
        for a in PUBLISHED_LEVELS
    }
    assert claim(own, seconds=slow).verdict == "not reproduced"


def test_8b_and_9b_results_of_single_searches():
    assert claim("8b").verdict == "reproduced"
    elsewhere = (*usual_searches()[:3], *(step_2("LR", a, 0.1, 0.12) for a in PUBLISHED_LEVELS))
    assert claim("8b", searches=elsewhere).verdict == "not reproduced"
    # eta as printed lies outside its space, so no search can come near it but from its edge
    near = (
        step_1("LR", eta=0.0007, beta=0.006, batch_size=98),
        step_1("NN-MSE", units1=9, units2=7, batch_size=93),
        step_1("NN", units1=9, units2=5, batch_size=79),
    )
    assert claim("9b", searches=near).verdict == "reproduced"
    assert claim("9b").verdict == "not reproduced"
    assert claim("9b", searched=False).verdict == "not checked"


# --- Readings side by side, and both verdicts on each table.


@pytest.fixture(scope="module")
def exchanged_is_off():
    """Ten data sets; with β exchanged savings are a tenth, and the last level loses."""
    cost = {("LR-εNVC-R exchanged", a): 18 * 0.99 for a in PUBLISHED_LEVELS}
    return hand_made(TEN, cost={**cost, ("LR-εNVC-R exchanged", 0.95): 18.5})


def test_a_reading_takes_the_place_of_the_usual_one(exchanged_is_off):
    results = exchanged_is_off
    read = results.read_as(READINGS[1])
    assert read.mean_savings("LR") == pytest.approx([0.01] * 4 + [1 - 18.5 / 18])
    assert read.mean_savings("NN") == results.mean_savings("NN")
    assert len(read.values("LR-NVC", 0.55)) == TEN
    assert results.read_as(READINGS[0]).mean_savings("LR") == results.mean_savings("LR")


def test_distances_are_told_for_every_reading(exchanged_is_off):
    table = distances(exchanged_is_off)
    assert list(table.columns)[4:-1] == [each.name for each in READINGS]
    row = next(row for row in table.rows if row[0] == "percentage" and row[1].startswith("LR"))
    usual, exchanged = row[4:6]
    assert usual == pytest.approx(0, abs=1e-9)
    # ends −2.78% and 1%, printed 2.45% and 14.40%; in points
    assert exchanged == pytest.approx((abs(-100 / 36 - 2.45) + 13.4) / 2)
    labels = {row[0] for row in table.rows}
    assert labels == {"percentage", "serviceLevel", "wilcoxon-result-lr", "wilcoxon-result-nn"}
    published = distances(hand_made(2, searched=False))
    assert list(published.columns)[4:-1] == [each.name for each in READINGS[:3]]


def test_both_verdicts_of_every_table_stand_side_by_side(exchanged_is_off):
    claims = judge_everything(exchanged_is_off)
    table = by_table(exchanged_is_off, claims)
    rows = {row[0]: row[1:] for row in table.rows}
    assert len(rows) == 12
    assert rows["percentage"][0] == "✓ / ✓"
    assert rows["percentage"][1] == "✗ / ✗"
    assert rows["testNVcost"][:2] == ("✓ / ·", "≈ / ·")
    assert rows["LRstore10"][0] == "– / –"
    assert verdict_on(claims, "percentage", "size") == "reproduced"
