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
    return {**dict(answers(found, problem)), "What next?": advice}


def test_where_the_data_can_tell():
    said = asked(FOUND)
    assert said["Is anything hidden?"] == (
        "Yes: about 30% of the rows hide demand; any share from 22% to 41% is possible."
    )
    assert said["How sure is that?"].startswith("Sure: ")
    assert said["And the orders?"] == (
        "They average 31.00, 4.00 more than if sales are taken for demand."
    )
    assert said["What is it worth?"] == "About 1.50 for each row, 750 in all."
    assert said["What next?"].startswith("Use these orders: learn them with unmet fit")
    bare = next_step(FOUND, SimpleNamespace(problem="newsvendor"), costs_given=False)
    assert bare.startswith("Use these orders: put your own costs in place of 1 and 1")
    assert "If that is wrong?" not in said


def test_where_it_cannot():
    said = asked(CANNOT)
    assert said["Is anything hidden?"] == (
        "These numbers cannot tell: any share from 5.0% to 40% of the rows may hide demand."
    )
    assert said["How sure is that?"].startswith("Not sure")
    assert said["And the orders?"] == (
        "They average 27.00, as if sales are taken for demand; anything from 27.00 to 36.00 may "
        "be right."
    )
    assert "What is it worth?" not in said
    for option in ("sellout_rate", "['censored']", "['stock']", "['date']"):
        assert option in said["What next?"]
    dated = asked(CANNOT, date="day", stock="stock", censored="out")["What next?"]
    assert dated.endswith("again: about how often you sell out (sellout_rate=.2).")
    anything = replace(CANNOT, share_range=(0.0, 1.0))
    sentence = "These numbers cannot tell: any share of the rows may hide demand."
    assert hidden_rows(anything, "newsvendor") == ("any share", sentence)


def test_counted_and_told():
    counted = replace(FOUND, share_is_seen=True, share_range=None)
    assert asked(counted)["Is anything hidden?"] == "Yes: 30% of the rows sold out (counted)."
    partly = replace(counted, share_range=(0.22, 0.41))
    assert "22% to 41% may hide demand" in asked(partly)["Is anything hidden?"]
    none = replace(counted, share_censored=0.0)
    assert asked(none)["Is anything hidden?"].startswith("No: ")
    hardly = asked(replace(counted, identified="weakly"), censored="out")
    assert hardly["How sure is that?"].startswith("Sure which rows, not how much they hide")
    assert hardly["What next?"].endswith("More rows would tell more.")
    assert "sellout_rate" not in hardly["What next?"]
    told = asked(replace(FOUND, identified="no", share_given=(0.3, 0.3)))
    assert told["Is anything hidden?"].endswith("as you said (sellout_rate).")
    assert told["How sure is that?"].startswith("As sure as you are")
    assert told["What next?"].startswith("Use these orders")
    nothing = replace(FOUND, share_censored=0.0, share_range=(0.0, 0.03))
    assert asked(nothing)["Is anything hidden?"].startswith("No: nothing is hidden, as far as")


def test_who_says_how_many_rows_hide_something():
    """Rows that sold out, a rate that was given and an estimate are three different things."""
    at_orders = replace(FOUND, share_is_seen=True, share_censored=0.44, share_range=(0.36, 0.46))
    value, sentence = hidden_rows(at_orders, "newsvendor")
    assert value == "36% to 46%"
    assert sentence == (
        "In 44% of the rows sales ended at the order (counted); 36% to 46% may hide demand."
    )
    flagged = replace(FOUND, share_is_seen=True, share_range=None)
    assert hidden_rows(flagged, "newsvendor")[0] == "at most 30%"
    assert hidden_rows(flagged, "replacement")[0] == "30%"
    given = replace(FOUND, share_censored=0.4, share_range=None, share_given=(0.3, 0.5))
    value, sentence = hidden_rows(given, "newsvendor")
    assert value == "30% to 50%"
    assert "as you said" in sentence
    assert hidden_rows(CANNOT, "newsvendor", 0.2) == (
        "20%",
        "20% of the rows hide demand, as you assumed.",
    )
    assert hidden_rows(replace(FOUND, share_censored=None), "newsvendor") == ("", "")


def test_what_is_followed_where_the_data_cannot_tell():
    assert followed(CANNOT, "newsvendor") == "Sales are taken for demand."
    assert followed(CANNOT, "replacement") == "Times in service are taken for lifetimes."
    least = replace(CANNOT, share_censored=0.12)
    assert followed(least, "newsvendor") == "Orders follow the least share that fits, 12%."
    choice = Choice(27.0, 9.0, 0.4)
    told = Ambiguity("minimax_regret", (27.0, 36.0), (0.0, 0.4), choice, choice, choice)
    regret = replace(CANNOT, choices=lambda: told)
    assert followed(regret, "newsvendor") == "Orders follow the least regret over all of these."
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
    said = asked(replace(CANNOT, choices=lambda: told))["If that is wrong?"]
    assert said == (
        "If 40% of the rows hide demand, a row costs up to 9.0 more than it has to. With "
        "when_unidentified='minimax_regret' orders average 31.00, and a row costs at most 2.5 "
        "more, whatever is true."
    )
    followed = replace(told, followed="minimax_regret")
    assert asked(replace(CANNOT, choices=lambda: followed))["If that is wrong?"] == (
        "A row costs up to 2.5 more than it has to, whatever is true "
        "(when_unidentified='minimax_regret')."
    )


def test_what_is_assumed_is_said_with_what_would_change_it():
    for assumed, words in (((0.0, 0.23), "up to 23%"), ((0.0, 0.0), "hardly any")):
        found = dict(answers(replace(CANNOT, share_assumed=assumed), "newsvendor"))
        said = f"They assume that {words} of the rows hide demand; say sellout_rate=0 if none do."
        assert found["And the orders?"].endswith(said)
