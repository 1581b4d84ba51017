"""A diagnosis in the words of a planner: every verdict, every problem, and what to do next."""

from dataclasses import replace
from types import SimpleNamespace

from unmet.censoring.model import Ambiguity, Choice, Diagnosis
from unmet.censoring.text import answers, followed, hidden_rows, next_step

FOUND = Diagnosis(
    "LatentBand",
    500,
    share_censored=0.3,
    share_range=(0.22, 0.41),
    identified="yes",
    shift=4.0,
    decision=31.0,
    shift_range=(3.0, 9.0),
    stake=1.5,
)
CANNOT = replace(
    FOUND,
    share_censored=0.0,
    share_range=(0.05, 0.4),
    identified="no",
    shift=0.0,
    decision=27.0,
    shift_range=(0.0, 9.0),
    stake=0.0,
)


def asked(found, problem="newsvendor", **columns):
    """Answers to a plan with such a diagnosis, by question."""
    plan = SimpleNamespace(problem=problem, date=columns.get("date"), column=columns.get)
    advice = next_step(found, plan, costs_given=True)
    return {**dict(answers(found, problem)), "Next step": advice}


def test_where_the_data_can_tell():
    said = asked(FOUND)
    assert said["Hidden"] == ("Yes. About 30% of the rows hide demand (22% to 41% is possible).")
    assert said["Confidence"].startswith("High. ")
    assert said["Orders"] == "31.00 on average, 4.00 more than if sales are taken as demand."
    assert said["Saving"] == "About 1.50 per row, 750 in all rows."
    assert said["Next step"].startswith("Run unmet fit and unmet decide")
    bare = next_step(FOUND, SimpleNamespace(problem="newsvendor"), costs_given=False)
    assert bare.startswith("Replace both costs of 1 by your own")
    assert "Risk" not in said


def test_where_it_cannot():
    said = asked(CANNOT)
    assert said["Hidden"] == (
        "The data cannot tell. Any share from 5.0% to 40% of the rows may hide demand."
    )
    assert said["Confidence"].startswith("Low.")
    assert said["Orders"] == (
        "27.00 on average, as if sales are taken as demand. Averages from 27.00 to 36.00 are "
        "possible."
    )
    assert "Saving" not in said
    for option in ("sellout_rate", "['censored']", "['stock']", "['date']"):
        assert option in said["Next step"]
    dated = asked(CANNOT, date="day", stock="stock", censored="out")["Next step"]
    assert dated.endswith("run again: the sell-out rate (such as sellout_rate=.2).")
    anything = replace(CANNOT, share_range=(0.0, 1.0))
    sentence = "The data cannot tell. Any share of the rows may hide demand."
    assert hidden_rows(anything, "newsvendor") == ("any share", sentence)


def test_counted_and_told():
    counted = replace(FOUND, share_is_seen=True, share_range=None)
    assert asked(counted)["Hidden"] == "Yes. 30% of the rows sold out (counted)."
    partly = replace(counted, share_range=(0.22, 0.41))
    assert "22% to 41% may hide demand" in asked(partly)["Hidden"]
    none = replace(counted, share_censored=0.0)
    assert asked(none)["Hidden"].startswith("No. ")
    hardly = asked(replace(counted, identified="weakly"), censored="out")
    assert hardly["Confidence"].startswith("Medium. The rows are known")
    assert hardly["Next step"].endswith("More rows make them more certain.")
    assert "sellout_rate" not in hardly["Next step"]
    told = asked(replace(FOUND, identified="no", share_given=(0.3, 0.3)))
    assert told["Hidden"].endswith("(given by sellout_rate).")
    assert told["Confidence"].startswith("That of the rate that you gave")
    assert told["Next step"].startswith("Run unmet fit")
    nothing = replace(FOUND, share_censored=0.0, share_range=(0.0, 0.03))
    assert asked(nothing)["Hidden"].startswith("No. The data show no sign of")


def test_who_says_how_many_rows_hide_something():
    """Rows that sold out, a rate that was given and an estimate are three different things."""
    at_orders = replace(FOUND, share_is_seen=True, share_censored=0.44, share_range=(0.36, 0.46))
    value, sentence = hidden_rows(at_orders, "newsvendor")
    assert value == "36% to 46%"
    assert sentence == (
        "44% of the rows have sales equal to the order (counted). 36% to 46% may hide demand."
    )
    flagged = replace(FOUND, share_is_seen=True, share_range=None)
    assert hidden_rows(flagged, "newsvendor")[0] == "at most 30%"
    assert hidden_rows(flagged, "replacement")[0] == "30%"
    given = replace(FOUND, share_censored=0.4, share_range=None, share_given=(0.3, 0.5))
    value, sentence = hidden_rows(given, "newsvendor")
    assert value == "30% to 50%"
    assert "given by" in sentence
    assert hidden_rows(CANNOT, "newsvendor", 0.2) == (
        "20%",
        "20% of the rows hide demand (your assumption).",
    )
    assert hidden_rows(replace(FOUND, share_censored=None), "newsvendor") == ("", "")


def test_what_is_followed_where_the_data_cannot_tell():
    assert followed(CANNOT, "newsvendor") == "Sales are taken as demand."
    assert followed(CANNOT, "replacement") == "Times in service are taken as lifetimes."
    least = replace(CANNOT, share_censored=0.12)
    assert followed(least, "newsvendor") == "Orders assume the smallest share that fits, 12%."
    choice = Choice(27.0, 9.0, 0.4)
    told = Ambiguity("minimax_regret", (27.0, 36.0), (0.0, 0.4), choice, choice, choice)
    regret = replace(CANNOT, choices=lambda: told)
    assert followed(regret, "newsvendor") == "Orders minimize the maximum regret over all of these."
    assert followed(replace(CANNOT, share_given=(0.3, 0.3)), "newsvendor") == ""
    assert followed(FOUND, "newsvendor") == ""


def test_what_being_wrong_costs():
    told = Ambiguity(
        least_censoring=Choice(27.0, 9.0, 0.4),
        minimax_regret=Choice(31.0, 2.5, 0.0),
        expected_cost=Choice(29.0, 4.0, 0.4),
        followed="least_censoring",
        rates=(0.0, 0.4),
        decision_range=(27.0, 36.0),
    )
    said = asked(replace(CANNOT, choices=lambda: told))["Risk"]
    assert said == (
        "If 40% of the rows hide demand, a row costs up to 9.0 more than necessary. The "
        "minimax-regret rule (when_unidentified='minimax_regret') limits that to 2.5; its orders "
        "average 31.00."
    )
    followed = replace(told, followed="minimax_regret")
    assert asked(replace(CANNOT, choices=lambda: followed))["Risk"] == (
        "In the worst case a row costs up to 2.5 more than necessary."
    )


def test_what_is_assumed_is_said_with_what_would_change_it():
    for assumed, words in (((0.0, 0.23), "up to 23%"), ((0.0, 0.0), "hardly any")):
        found = dict(answers(replace(CANNOT, share_assumed=assumed), "newsvendor"))
        said = (
            f"Orders assume that {words} of the rows hide demand (set sellout_rate=0 if none do)."
        )
        assert found["Orders"].endswith(said)
