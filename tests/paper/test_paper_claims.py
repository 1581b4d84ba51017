"""Verdicts on results whose verdict is known, both ways, and candidates that follow them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hand_made_results import (
    claim,
    hand_made,
    optimum_cost,
    range_of_sales,
    step_2,
    usual_searches,
)

from paper.claims import (
    Case,
    all_claims,
    claims_table,
    closed_form_saving,
    count,
    judge,
)
from unmet.costs import Newsvendor
from unmet.simulate.store10 import PUBLISHED_LEVELS

NAMES = [
    *(f"{number} {family}"
      for number in ("1", "1b", "2", "3", "3b", "4", "5", "5b", "6", "6b", "6c", "7")
      for family in ("LR", "NN")),
    "7b LR",
    "7c NN",
    "7d LR",
    "7d NN",
    "8",
    "8b",
    "8c LR",
    "9",
    "9b",
    "10 LR",
    "10 NN",
    "10 Boosted",
]  # fmt: skip


def test_on_results_like_the_papers_every_direction_is_reproduced():
    claims = [each for each in all_claims(hand_made(datasets=3)) if each.kind == "direction"]
    # but 8c, for which decisions were not made, and 9, which the paper's own numbers contradict
    assert {c.name: c.word for c in claims if c.verdict != "reproduced"} == {
        "8c LR": "does not hold",
        "9": "reproduced in part",
    }
    assert all(each.evidence.found for each in claims)
    assert all(each.label for each in claims if each.number != "10")
    assert {each.name: each.fails for each in claims if each.papers and each.fails} == {
        "9": ("eta of LR", "beta of LR")
    }
    counted = "18 of 19 checked claims are reproduced, 1 only in part, and 0 not at all"
    assert count(claims, "direction") == counted


@pytest.mark.parametrize(
    ("margins", "verdict"),
    [
        ([0.1, 0.2, 0.3], "reproduced"),
        ([0.1, 0.2, -0.1], "reproduced in part"),
        ([0.1, 0.2, -0.4], "not reproduced"),  # most hold, but not on average
        ([0.9, -0.1, -0.1], "not reproduced"),  # on average, but most do not hold
        ([0.5, -0.1], "not reproduced"),  # half is not most
        ([0.1, 0.0, 0.1], "reproduced in part"),  # a tie does not hold
        ([0.1, math.nan], "reproduced"),
        ([math.nan], "not checked"),
        ([], "not checked"),
    ],
)
def test_verdicts_follow_the_margins(margins, verdict):
    cases = [Case(f"case {place}", margin) for place, margin in enumerate(margins)]
    assert judge(cases) == verdict


def test_1_ieo_may_lose_at_the_lowest_level_only():
    assert claim("1 LR", cost={("LR-NVC", 0.55): 99.0}).verdict == "reproduced"
    lost = claim("1 LR", cost={("LR-NVC", 0.65): 27.0})
    assert (lost.verdict, lost.fails) == ("reproduced in part", ("α = 0.65",))
    everywhere = claim("1 NN", cost={("NN-NVC", level): 99.0 for level in PUBLISHED_LEVELS})
    assert everywhere.verdict == "not reproduced"
    assert len(everywhere.fails) == 4


def test_2_a_lost_level_is_named_and_explained_by_where_the_orders_lie():
    changes = {"cost": {("NN-εNVC", 0.55): 18.3}}
    lost = claim("2 NN", **changes, offset={("NN-εNVC", 0.55): 14.0})
    assert (lost.verdict, lost.fails) == ("reproduced in part", ("α = 0.55",))
    assert "8 of 10 pairs" in lost.evidence.found
    assert "At α = 0.55 orders of NN-NVC lie −10.0 from Q* on average" in lost.evidence.why
    assert "those of NN-εNVC +14.0" in lost.evidence.why
    assert "the band lifts them too far" in lost.evidence.why
    short = claim("2 NN", **changes, offset={("NN-εNVC", 0.55): -14.0})
    assert "the band lifts them in vain" in short.evidence.why
    wide = claim("2 NN", **changes, rmse={("NN-εNVC", 0.55): 31.0})
    assert "some rows are lifted too far and others too little" in wide.evidence.why
    assert "30.0 against 31.0" in wide.evidence.why


def test_2_is_not_reproduced_when_most_levels_are_lost():
    cost = {("LR-εNVC-R", level): 18.5 for level in PUBLISHED_LEVELS[:3]}
    assert claim("2 LR", cost=cost).verdict == "not reproduced"


def savings(family, *values):
    name = {"LR": "LR-εNVC-R", "NN": "NN-εNVC"}[family]
    return {
        (name, level): 18 * (1 - value)
        for level, value in zip(PUBLISHED_LEVELS, values, strict=True)
    }


@pytest.mark.parametrize(
    ("values", "fails"),
    [
        ((0.01, 0.02, 0.03, 0.04, 0.05), ()),
        ((0.01, 0.03, 0.02, 0.04, 0.05), ()),
        ((0.05, 0.06, 0.07, 0.08, 0.01), ("0.55 to 0.95",)),
        ((0.05, 0.04, 0.03, 0.02, 0.06), ("most steps",)),
        ((0.05, 0.04, 0.03, 0.02, 0.01), ("0.55 to 0.95", "most steps")),
    ],
)
def test_3_savings_grow_in_general(values, fails):
    found = claim("3 LR", cost=savings("LR", *values))
    assert found.fails == fails
    assert found.verdict == ("not reproduced" if fails else "reproduced")


def test_4_smallest_of_three_not_only_of_two():
    assert claim("4 NN", rmse={("NN-MSE", 0.75): 19.0}).fails == ("α = 0.75",)
    assert claim("4 NN", rmse={("NN-NVC", 0.75): 19.0}).fails == ("α = 0.75",)
    every = {("LR-εNVC-R", level): 31.0 for level in PUBLISHED_LEVELS}
    assert claim("4 LR", rmse=every).verdict == "not reproduced"
    assert claim("4 LR", rmse={("LR-εNVC-R", 0.55): 31.0}).verdict == "reproduced in part"


def test_5_counts_every_level_as_the_text_does():
    worse = {("LR-εNVC-R", 0.55): -15.0}
    lost = claim("5 LR", offset=worse)
    assert lost.verdict == "reproduced in part"
    assert lost.fails == ("data set 1 at α = 0.55", "data set 2 at α = 0.55")
    assert "4 of 10 data sets, against its text; here 0 of 2" in lost.evidence.why
    once = claim("5 NN", offset={("NN-εNVC", 0.55, 2): -15.0})
    assert (once.verdict, once.fails) == ("reproduced in part", ("data set 2 at α = 0.55",))
    assert "0.55: 1 of 2" in once.evidence.found
    every = {("NN-εNVC", level): -15.0 for level in PUBLISHED_LEVELS}
    assert claim("5 NN", offset=every).verdict == "not reproduced"
    assert claim("5 LR", levels=(0.55,), offset=worse).verdict == "not reproduced"


def test_6_needs_both_baselines():
    over_ieo = claim("6 LR", service={("LR-NVC", 0.75): 0.74})
    assert over_ieo.verdict == "reproduced in part"
    assert over_ieo.fails == ("α = 0.75 over IEO",)
    assert "At α = 0.95 the level reached is 65.0% by LR-MSE" in over_ieo.evidence.why
    too_high = {("NN-εNVC", level): min(level + 0.35, 1) for level in PUBLISHED_LEVELS[:3]}
    assert claim("6 NN", service=too_high).verdict == "not reproduced"


def test_6b_more_over_eas():
    # EAS closer to the target than IEO: less to improve on
    lost = claim("6b LR", service={("LR-MSE", 0.95): 0.80})
    assert lost.fails == ("α = 0.95",)


def test_7_about_the_same_is_a_factor_of_two_both_ways():
    assert claim("7 LR", seconds={("LR-εNVC-R", 0.65): 4.1}).verdict == "reproduced"
    for seconds in (4.3, 1.0):
        lost = claim("7 LR", seconds={("LR-εNVC-R", 0.65): seconds})
        assert (lost.verdict, lost.fails) == ("reproduced in part", ("α = 0.65",))
    slow = {("NN-εNVC", level): 9.0 for level in PUBLISHED_LEVELS}
    assert claim("7 NN", seconds=slow).verdict == "not reproduced"


def test_7b_and_7c():
    assert claim("7b LR", seconds={("LR-MSE", 0.75): 2.15}).fails == ("α = 0.75",)
    assert claim("7c NN", seconds={("NN-MSE", 0.75): 3.4}).fails == ("α = 0.75",)
    assert claim("7c NN", seconds={("NN-MSE", 0.75): 3.3}).fails == ()


def test_8_corner():
    assert claim("8", searches=(step_2("LR", 0.95, 0.0083, 0.1827),)).word == "holds"
    for low, high in ((0.016, 0.2), (0.0, 0.179)):
        outside = (*usual_searches()[3:], step_2("NN", 0.95, low, high))
        found = claim("8", searches=outside)
        assert (found.word, found.fails) == ("holds in part", ("NN at α = 0.95",))
    middle = claim("8", searches=(step_2("LR", 0.55, 0.07, 0.1),))
    assert middle.word == "does not hold"
    assert "10 of 10 searches found the same pair" in claim("8").evidence.why
    different = tuple(step_2("LR", a, a / 100, 0.2) for a in (0.55, 0.65))
    assert "same pair" not in claim("8", searches=different).evidence.why
    short = claim("8", searches=(replace(step_2("LR", 0.55, 0.07, 0.1), trials=19),))
    assert short.word == "not checked"
    assert "19 trials are too few" in short.evidence.why
    none = claim("8", searched=False)
    assert none.word == "not checked"
    assert "10 of 10" in none.evidence.found


def test_9_is_about_the_printed_results_whatever_was_searched():
    for searched in (True, False):
        printed = claim("9", searched=searched)
        assert printed.fails == ("eta of LR", "beta of LR")
        assert printed.verdict == "reproduced in part"
        assert "7 of 9 printed results do" in printed.evidence.found


def test_1b_ieo_is_cheaper_at_the_lowest_level_as_well():
    assert claim("1b LR").word == "holds"
    lost = claim("1b LR", cost={("LR-NVC", 0.55): 99.0})
    assert (lost.word, lost.fails) == ("does not hold", ("α = 0.55",))
    assert "it is 11.4%" in lost.evidence.why
    assert claim("1b NN", levels=(0.75,)).word == "not checked"


def test_the_closed_form_is_that_of_many_draws():
    luck = np.random.default_rng(0).normal(size=2_000_000)
    sales = np.minimum(luck, 0)
    for level in (0.3, 0.42, 0.55, 0.9):
        ieo, eas = (
            Newsvendor.at_level(level).cost(order, luck).mean()
            for order in (np.quantile(sales, level), sales.mean())
        )
        assert closed_form_saving(level) == pytest.approx(1 - ieo / eas, abs=2e-3)
    # below one half IEO is the optimum: the two never cross, they touch
    levels = np.linspace(0.05, 0.95, 181)
    assert min(map(closed_form_saving, levels)) >= 0
    assert closed_form_saving(0.345) == pytest.approx(0, abs=1e-6)


def test_8c_first_quartiles_are_the_lower_end_of_the_band():
    def moved(low):
        return {("LR", a): (low(a), 9.0, 20.0) for a in (0.75, 0.85, 0.95)}

    size = range_of_sales()
    printed = {0.75: 0.0022, 0.85: 0.0022, 0.95: 0.0083}
    held = claim("8c LR", searched=False, quartiles=moved(lambda a: printed[a] * size))
    assert held.word == "holds"
    assert "one data set has 3.08, ε₂ = 0.0085, the others 0.10 to 0.92" in held.evidence.why
    assert "one data set has 4.47, ε₂ = 0.0123, the others 0.37 to 1.28" in held.evidence.why
    twice = claim("8c LR", searched=False, quartiles=moved(lambda a: 2 * printed[a] * size))
    assert twice.word == "does not hold"
    assert "minus ε₂ times the range: 0.80 to 3.02" in twice.evidence.found
    assert claim("8c LR", levels=(0.55,)).word == "not checked"


def test_10_latent_against_the_published_method():
    lost = claim("10 LR", cost={("LR latent", 0.65): 17.5})
    assert (lost.word, lost.fails) == ("holds in part", ("α = 0.65",))
    harm = {("Boosted latent", level): 19.0 for level in PUBLISHED_LEVELS}
    assert claim("10 Boosted", cost=harm).word == "does not hold"
    no_gap = {("NN-NVC", level): optimum_cost(level) for level in PUBLISHED_LEVELS}
    assert claim("10 NN", cost=no_gap).word == "not checked"


@pytest.mark.parametrize("searched", [True, False])
@pytest.mark.parametrize("levels", [(0.55,), (0.95,), (0.55, 0.75, 0.95)])
def test_small_runs_have_a_verdict_on_every_claim(levels, searched):
    claims = all_claims(hand_made(1, levels, searched=searched))
    assert [each.name for each in claims] == NAMES
    table = claims_table(claims)
    assert len(table.rows) == len(NAMES)
    assert not any("nan" in str(cell) for row in table.rows for cell in row)
