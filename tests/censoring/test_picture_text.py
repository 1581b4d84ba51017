"""A diagnosis in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made_diagnoses import ALL, bare, flagged, sold_out, uncensored, unclear, weak

from unmet.censoring.text import describe


def words(diagnosis):
    """The text without its line breaks."""
    return " ".join(describe(diagnosis).split())


@pytest.mark.parametrize("name", sorted(ALL))
def test_text_fits_a_small_screen(name):
    lines = describe(ALL[name]()).splitlines()
    assert max(map(len, lines)) <= 88
    assert all(line == line.rstrip() for line in lines)


def test_text_answers_the_questions():
    text = words(sold_out())
    assert "(identified: yes) Hidden: Yes. About 49% of the rows hide some" in text
    assert "(47% to 50% is possible)." in text
    assert "Confidence: High" in text
    assert "Decisions: 178.8 on average, 31.4 more than if observations" in text
    assert "Saving: About 3.57 per row, 11,760 in all rows." in text
    assert str(sold_out()) == describe(sold_out())


def test_text_where_nothing_is_hidden():
    text = words(uncensored())
    assert "No. The data show no sign of hidden values (0%" in text
    assert ", as if observations are taken as the truth" in text
    assert "Saving" not in text


def test_text_says_what_the_data_cannot_tell():
    text = words(unclear())
    assert "(identified: no)" in text
    assert "The data cannot tell. Any share" in text
    assert "Averages from 151.7 to 177.8 are possible." in text
    for note in unclear().notes:
        assert f"- {note}" in text
    assert "Medium. Something is hidden, but the amount is uncertain" in words(weak())


def test_text_of_a_counted_share_asks_no_profile():
    diagnosis = replace(sold_out(), share_is_seen=True)
    assert "49% of the rows are censored (counted)." in words(diagnosis)
    assert diagnosis.profile.calls == []
    assert "46% of the rows are censored (counted)." in words(flagged())


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
