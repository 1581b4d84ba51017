"""A diagnosis in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made_diagnoses import ALL, bare, flagged, sold_out, uncensored, unclear, weak
from hypothesis import strategies as st

from unmet.censoring.model import Candidate
from unmet.censoring.text import describe


def words(diagnosis):
    """The text without its line breaks."""
    return " ".join(describe(diagnosis).split())


@pytest.mark.parametrize("name", sorted(ALL))
def test_text_fits_a_small_screen(name):
    lines = describe(ALL[name]()).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 88
    assert all(line == line.rstrip() for line in lines)


def test_text_answers_the_four_questions():
    text = words(sold_out())
    assert "How much is hidden? 49% of the rows (95% interval 47% to 50%" in text
    assert "How sure? Identified: yes" in text
    assert "What would change? Decisions average 178.8, 31.4 more than if nothing" in text
    assert "candidates give 177.4 to 180.6." in text
    assert "What is it worth? 3.57 per row, 11,760 in all" in text
    assert str(sold_out()) == describe(sold_out())


def test_text_where_nothing_is_hidden():
    text = words(uncensored())
    assert "How much is hidden? Nothing (95% interval 0% to 2.7%" in text
    assert "the same as if nothing were hidden" in text
    assert "What is it worth? Nothing, if the chosen model is true; more if" in text
    certain = replace(uncensored(), shift_range=(0.0, 0.0))
    assert "What is it worth? Nothing, if the chosen model is true." in words(certain)
    assert "candidates give" not in words(certain)


def test_text_says_what_the_data_cannot_tell():
    text = words(unclear())
    assert "Identified: no; the data cannot tell whether anything is hidden" in text
    assert "Nothing in the chosen model (95% interval 0% to 51%" in text
    assert "4 candidates tie; the band follows the least that cannot be ruled out." in text
    assert "Possible candidates hide 0% to 41% of the rows." in text
    assert "Possible candidates give 151.7 to 177.8." in text
    for note in unclear().notes:
        assert f"- {note}" in text
    assert "Identified: weakly; the data can tell that it matters" in words(weak())
    assert "tie" not in words(weak())


def test_text_of_a_counted_share_asks_no_profile():
    diagnosis = replace(sold_out(), share_is_seen=True)
    assert "49% of the rows are censored (counted, not estimated)." in words(diagnosis)
    assert diagnosis.profile.calls == []
    assert "46% of the rows are censored (counted, not estimated)." in words(flagged())


def test_text_of_a_rule_that_estimates_nothing():
    assert describe(bare()).splitlines() == [
        "FixedBand, 3,294 rows",
        "This rule does not estimate how much is hidden.",
        "- The band was given.",
    ]


def test_table_lists_the_chosen_first_and_judges_the_others():
    lines = describe(sold_out()).splitlines()
    table = [line.split() for line in lines[-5:]]
    assert " ".join(table[0]) == "truth orders hidden added behind the best verdict"
    assert " ".join(table[1]) == "normal noisy 49% 31.4 best chosen"
    assert " ".join(table[2]) == "logistic noisy 51% 33.2 0.0051 ± 0.0031 possible"
    assert table[3][-2:] == ["ruled", "out"]
    assert table[4][:4] == ["normal", "absent", "0%", "0.0"]
    assert "(best: -4.7315)" in lines[-6]
    assert len({line.index("±") for line in lines if "±" in line}) == 1
    assert len({line.index("%") for line in lines[-4:]}) == 1


wild = st.floats(-1e15, 1e15)
share = st.floats(0.0, 1.0)
positive = st.floats(0.0, 1e6)
candidate = st.builds(
    Candidate,
    truth=st.sampled_from(["normal", "negative binomial", "a family of my own with a long name"]),
    scale=st.sampled_from(["constant", "level", "features"]),
    orders=st.sampled_from(["absent", "noisy", "mixture", "at_mass", "known"]),
    share_censored=share,
    score=wild,
    behind=positive,
    standard_error=positive,
    ties=st.booleans(),
    shift=wild,
)
