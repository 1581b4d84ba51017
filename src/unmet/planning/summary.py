"""A diagnosis in the labels of a planner: is anything hidden, how sure, and what to do next.

What a statistician asks of the same diagnosis is in `unmet.censoring.text`; the command line shows
it with ``--details``.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from unmet.censoring.model import Diagnosis
from unmet.censoring.text import (
    COUNTED,
    WIDTH,
    decimals_for,
    fixed,
    interval,
    largest_loss,
    number,
    percent,
    rates,
)

if TYPE_CHECKING:
    from unmet.planning.decision_plan import DecisionPlan


NOUNS = {"newsvendor": "orders", "pricing": "prices", "replacement": "ages"}
"""What is decided, in the plural."""
_OBSERVED = {"newsvendor": "sales", "pricing": "offers", "replacement": "times in service"}
_HIDE = {
    "newsvendor": "hide demand",
    "pricing": "hide what buyers would have paid",
    "replacement": "hide a lifetime",
}
_ENDED = {  # what was counted where orders were found
    "newsvendor": "in {} of the rows sales ended at the order",
    "pricing": "in {} of the rows the price ended at the offer",
    "replacement": "{} of the parts were taken out at a planned age",
}
_FLAGGED = {  # what was counted where flags or stock say it
    "newsvendor": "{} of the rows sold out",
    "pricing": "{} of the offers were accepted",
    "replacement": "{} of the parts were taken out before they failed",
}
_IGNORING = {
    "newsvendor": "if sales were taken for demand",
    "pricing": "if offers were taken for what buyers would pay",
    "replacement": "if times in service were taken for lifetimes",
}
_INDENT = 21


def summarise(plan: DecisionPlan, command: str = "", *, costs_given: bool = True) -> str:
    """Say what a fitted plan found, without a word of statistics.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted, with a diagnosis.
    command : str
        What fits a model with the same labels; shown on a line of its own where that is the advice.
    costs_given : bool
        Whether the user has said what mistakes cost.

    Returns
    -------
    str
        A question and its answer in a few lines each, none longer than 88 characters, and the
        command.
    """
    lines = []
    answers = plain_answers(plan, costs_given=costs_given)
    for question, answer in answers:
        first, *others = wrap(answer, WIDTH - _INDENT)
        lines += [f"{question:<{_INDENT}}{first}", *(" " * _INDENT + line for line in others)]
    if command and answers and answers[-1][1].startswith("Use "):
        lines.append(command)
    return "\n".join(lines)


def plain_answers(plan: DecisionPlan, *, costs_given: bool = True) -> list[tuple[str, str]]:
    """Questions of a planner, and the answers; those without an answer are left out."""
    found = plan.diagnosis_
    if found is None:
        return []
    asked = [
        ("Is anything hidden?", _hidden(found, plan)),
        ("How sure is that?", _sure(found, plan)),
        (f"And the {NOUNS[plan.problem]}?", _decisions(found, plan.problem)),
        ("What is it worth?", _worth(found)),
        ("If that is wrong?", _if_wrong(found, plan.problem)),
        ("What next?", _next(found, plan, costs_given=costs_given)),
    ]
    return [(question, answer) for question, answer in asked if answer]


def hidden_rows(found: Diagnosis, problem: str, assumed: float | None = None) -> tuple[str, str]:
    """Say how many rows hide something, and who says so: the same labels wherever it is said.

    What was counted, what the user said and what the data tell are three different things. Rows
    that sold out need not hide anything: demand may have ended with the stock.

    Parameters
    ----------
    found : Diagnosis
    problem : {"newsvendor", "pricing", "replacement"}
    assumed : float, optional
        Share of rows that somebody assumes to hide something, whatever was found.

    Returns
    -------
    tuple of two str
        The share of rows that hide something, for a card, and a sentence; both empty where the
        diagnosis gives no share.
    """
    hide, share, ends = _HIDE[problem], found.share_censored, found.share_range
    if assumed is not None:
        return percent(assumed), f"{percent(assumed)} of the rows {hide}, as you assumed."
    if share is None:
        return "", ""
    if found.share_is_seen:
        if not share:
            return "0%", f"Of no row it is known to {hide} (counted)."
        counted = (_FLAGGED if ends is None else _ENDED)[problem].format(percent(share))
        counted = f"{counted[0].upper()}{counted[1:]} (counted)"
        if ends is None or ends[1] - ends[0] < COUNTED:
            most = "at most " if problem == "newsvendor" else ""  # demand may end with the stock
            return f"{most}{percent(share)}", f"{counted}."
        return interval(ends), f"{counted}; {interval(ends)} may {hide}."
    if found.share_given is not None:
        given = rates(found.share_given)
        middle = "" if given == percent(share) else f"; {percent(share)} was taken"
        return given, f"{given} of the rows {hide}, as you said (sellout_rate){middle}."
    if found.identified == "no":
        possible = "any share" if ends is None or ends == (0.0, 1.0) else interval(ends)
        any_share = possible if possible == "any share" else f"any share from {possible}"
        return possible, f"These numbers cannot tell: {any_share} of the rows may {hide}."
    if ends is None and found.profile is not None:
        ends = found.interval
    possible = "" if ends is None else f"; any share from {interval(ends)} is possible"
    if not share:
        return "0%", f"Nothing is hidden, as far as these numbers can tell{possible}."
    return percent(share), f"About {percent(share)} of the rows {hide}{possible}."


def followed(found: Diagnosis, problem: str) -> str:
    """Say what decisions follow where the data cannot tell; empty where they can."""
    decisions = NOUNS[problem].capitalize()
    if found.identified != "no" or found.share_is_seen or found.share_given is not None:
        return ""
    told = found.ambiguity
    if told is not None and told.followed != "least_censoring":
        aim = {"minimax_regret": "regret", "expected_cost": "expected cost"}[told.followed]
        return f"{decisions} follow the least {aim} over all of these."
    if not found.share_censored:
        return f"{_IGNORING[problem].removeprefix('if ').capitalize()}."
    least = percent(found.share_censored)
    return f"{decisions} follow the least share that fits, {least}."


def _hidden(found: Diagnosis, plan: DecisionPlan) -> str:
    _, said = hidden_rows(found, plan.problem)
    estimated = not found.share_is_seen
    if not said or (estimated and (found.share_given is not None or found.identified == "no")):
        return said
    answer = "Yes" if found.share_censored else "No"
    return f"{answer}: {said[0].lower()}{said[1:]}"


def _sure(found: Diagnosis, plan: DecisionPlan) -> str:
    decisions, observations = NOUNS[plan.problem], _OBSERVED[plan.problem]
    if found.share_given is not None:
        return f"As sure as you are of the rate; the {observations} do not prove it."
    if found.identified == "yes":
        rule = getattr(getattr(plan.estimator_, "rule_", None), "order_rule_", None)
        rule = getattr(rule, "rule_", None)
        if rule is not None and rule.accepted:
            return f"Sure. Past orders followed a rule, which gave it away: {rule.formula}."
        return f"Sure: all that fits these numbers leads to much the same {decisions}."
    if found.share_is_seen and found.identified is not None:
        return (
            f"Sure which rows, not how much they hide: these {decisions} may be somewhat "
            "too low or too high."
        )
    if found.identified == "weakly":
        return (
            f"Sure that something is hidden, not how much: these {decisions} are more "
            "likely too low than too high."
        )
    if found.identified == "no":
        return f"Not sure: the {observations} would look the same if nothing were hidden."
    return ""


def _decisions(found: Diagnosis, problem: str) -> str:
    decision, shift = found.decision, found.shift
    if decision is None:
        return ""
    ends = found.decision_range or (decision, decision)
    decimals = decimals_for(max(abs(shift or 0.0), ends[1] - ends[0]) or decision, 3)
    said = f"They average {fixed(decision, decimals)}"
    if shift:
        way = "more" if shift > 0 else "less"
        said += f", {fixed(abs(shift), decimals)} {way} than {_IGNORING[problem]}"
    elif shift is not None:
        said += f", as {_IGNORING[problem]}"
    low, high = (fixed(end, decimals) for end in ends)
    if low != high and found.identified != "yes":
        said += f"; anything from {low} to {high} may be right"
    return said + "."


def _worth(found: Diagnosis) -> str:
    if not found.stake:
        return ""
    sure = "" if found.identified == "yes" else ", if what was assumed is right"
    total = number(found.stake * found.n_rows)
    return f"About {number(found.stake)} for each row, {total} in all{sure}."


def _if_wrong(found: Diagnosis, problem: str) -> str:
    told = found.ambiguity
    if told is None:
        return ""
    followed, lost, digits, places = largest_loss(told)
    if told.followed == "minimax_regret":
        return (
            f"{lost[0].upper()}{lost[1:]}, whatever is true (when_unidentified='minimax_regret')."
        )
    rate = followed.worst_rate
    case = f"{percent(rate)} of the rows {_HIDE[problem]}" if rate else "nothing is hidden"
    return (
        f"If {case}, {lost}. With when_unidentified='minimax_regret' {NOUNS[problem]} average "
        f"{fixed(told.minimax_regret.decision, places)}, and a row costs at most "
        f"{fixed(told.minimax_regret.worst, digits)} more, whatever is true."
    )


def _next(found: Diagnosis, plan: DecisionPlan, *, costs_given: bool) -> str:
    costs = "" if costs_given else "put your own costs in place of 1 and 1, "
    use = (
        f"Use these {NOUNS[plan.problem]}: {costs}learn them with unmet fit, then run unmet decide."
    )
    if found.identified in (None, "yes") or found.share_given is not None:
        return use
    if found.share_is_seen:
        return f"{use} More rows would tell more."
    if plan.problem != "newsvendor":
        flag = "accepted" if plan.problem == "pricing" else "failed"
        return (
            f"Name the column that says what became of each row (columns[{flag!r}]), and run this "
            "again."
        )
    ways = ["about how often you sell out (sellout_rate=.2)"]
    if plan.column("censored") is None:
        ways.append("which rows sold out (columns['censored'])")
    if plan.column("stock") is None:
        ways.append("what was in stock (columns['stock'])")
    if plan.date is None:
        ways.append("dates (columns['date'])")
    known = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"
    return f"Say one thing more, and run this again: {known}."
