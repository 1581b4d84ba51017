"""A diagnosis in the words of a planner: is anything hidden, how sure, and what to do next.

What a statistician asks of the same diagnosis is in `unmet.bands.text`; the command line shows it
with ``--details``.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from unmet.bands.diagnosis import Choice, Diagnosis
from unmet.bands.text import WIDTH, decimals_for, fixed, interval, number, percent

if TYPE_CHECKING:
    from unmet.planning.plan import Plan


@dataclass(frozen=True)
class _Words:
    """What things are called in one problem."""

    decisions: str
    observations: str
    hide: str  # what rows do, in the plural
    at_limit: str
    ignoring: str


_WORDS = {
    "newsvendor": _Words(
        "orders",
        "sales",
        "hide demand",
        "sales ended at the order",
        "if sales were taken for demand",
    ),
    "pricing": _Words(
        "prices",
        "offers",
        "hide what buyers would have paid",
        "the offer was accepted",
        "if offers were taken for what buyers would pay",
    ),
    "replacement": _Words(
        "ages",
        "times in service",
        "hide a lifetime",
        "parts were taken out before they failed",
        "if times in service were taken for lifetimes",
    ),
}
_SAME = 0.07  # ends of a counted share that are not worth a sentence
_INDENT = 21


def describe_plainly(plan: Plan) -> str:
    """Say what a fitted plan found, without a word of statistics.

    Parameters
    ----------
    plan : Plan
        Fitted, with a diagnosis.

    Returns
    -------
    str
        A question and its answer in a few lines each, none longer than 88 characters.
    """
    lines = []
    for question, answer in plain_answers(plan):
        first, *others = wrap(answer, WIDTH - _INDENT)
        lines += [f"{question:<{_INDENT}}{first}", *(" " * _INDENT + line for line in others)]
    return "\n".join(lines)


def plain_answers(plan: Plan) -> list[tuple[str, str]]:
    """Questions of a planner, and the answers; those without an answer are left out."""
    found = plan.diagnosis_
    if found is None:
        return []
    words = _WORDS[plan.problem]
    asked = [
        ("Is anything hidden?", _hidden(found, words, plan)),
        ("How sure is that?", _sure(found, words, plan)),
        (f"And the {words.decisions}?", _decisions(found, words)),
        ("What is it worth?", _worth(found)),
        ("If that is wrong?", _if_wrong(found, words)),
        ("What next?", _next(found, words, plan)),
    ]
    return [(question, answer) for question, answer in asked if answer]


def hidden_share(found: Diagnosis, hide: str = "hide demand") -> str:
    """Say which shares of the rows may hide something, where the data cannot tell."""
    ends = found.share_range
    if ends is None or ends == (0.0, 1.0):
        return f"any share of the rows may {hide}"
    return f"any share from {interval(ends)} of the rows may {hide}"


def _ends(found: Diagnosis) -> tuple[float, float] | None:
    """Least and largest share that is possible."""
    if found.share_range is not None:
        return found.share_range
    return None if found.profile is None else found.interval


def _hidden(found: Diagnosis, words: _Words, plan: Plan) -> str:
    share = found.share_censored
    if share is None:
        return ""
    if found.share_is_seen:
        if not share:
            return f"No: of no row it is known to {words.hide} (counted)."
        ends = found.share_range
        if ends is None or ends[1] - ends[0] < _SAME:
            return f"Yes: {percent(share)} of the rows {words.hide} (counted)."
        return (
            f"Yes: in {percent(share)} of the rows {words.at_limit} (counted); "
            f"{interval(ends)} may {words.hide}."
        )
    if plan.sellout_rate is not None:
        return f"{percent(share)} of the rows {words.hide}, as you said (--sellout-rate)."
    if found.identified == "no":
        return f"These numbers cannot tell: {hidden_share(found, words.hide)}."
    ends = _ends(found)
    possible = "" if ends is None else f"; any share from {interval(ends)} is possible"
    if not share:
        return f"No, as far as these numbers can tell{possible}."
    return f"Yes: about {percent(share)} of the rows {words.hide}{possible}."


def _sure(found: Diagnosis, words: _Words, plan: Plan) -> str:
    if plan.sellout_rate is not None and not found.share_is_seen:
        return f"As sure as you are of the rate; the {words.observations} do not prove it."
    if found.identified == "yes":
        rule = getattr(getattr(plan.decider_, "rule_", None), "fingerprint_", None)
        rule = getattr(rule, "rule_", None)
        if rule is not None and rule.accepted:
            return f"Sure. Past orders followed a rule, which gave it away: {rule.formula}."
        return f"Sure: all that fits these numbers leads to much the same {words.decisions}."
    if found.share_is_seen and found.identified is not None:
        return (
            f"Sure which rows, not how much they hide: these {words.decisions} may be somewhat "
            "too low or too high."
        )
    if found.identified == "weakly":
        return (
            f"Sure that something is hidden, not how much: these {words.decisions} are more "
            "likely too low than too high."
        )
    if found.identified == "no":
        return f"Not sure: the {words.observations} would look the same if nothing were hidden."
    return ""


def _decisions(found: Diagnosis, words: _Words) -> str:
    decision, shift = found.decision, found.shift
    if decision is None:
        return ""
    ends = found.decision_range or (decision, decision)
    decimals = decimals_for(max(abs(shift or 0.0), ends[1] - ends[0]) or decision, 3)
    said = f"They average {fixed(decision, decimals)}"
    if shift:
        way = "more" if shift > 0 else "less"
        said += f", {fixed(abs(shift), decimals)} {way} than {words.ignoring}"
    elif shift is not None:
        said += f", as {words.ignoring}"
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


def _if_wrong(found: Diagnosis, words: _Words) -> str:
    told = found.ambiguity
    if told is None:
        return ""
    digits = decimals_for(told.regret.worst or told.least.worst, 2)
    apart = told.decision_range[1] - told.decision_range[0]
    places = decimals_for(apart or told.least.decision, 3)
    followed: Choice = getattr(told, told.followed)
    lost = f"a row costs up to {fixed(followed.worst, digits)} more than it has to"
    if told.followed == "regret":
        return f"{lost[0].upper()}{lost[1:]}, whatever is true (--when-unsure regret)."
    rate = followed.worst_rate
    case = f"{percent(rate)} of the rows {words.hide}" if rate else "nothing is hidden"
    return (
        f"If {case}, {lost}. With --when-unsure regret {words.decisions} average "
        f"{fixed(told.regret.decision, places)}, and a row costs at most "
        f"{fixed(told.regret.worst, digits)} more, whatever is true."
    )


def _next(found: Diagnosis, words: _Words, plan: Plan) -> str:
    use = f"Use these {words.decisions}: unmet fit with the same options, then unmet decide."
    if found.identified in (None, "yes") or plan.sellout_rate is not None:
        return use
    if found.share_is_seen:
        return f"{use} More rows would tell more."
    if plan.problem != "newsvendor":
        flag = "--accepted-column" if plan.problem == "pricing" else "--failed-column"
        return f"Name the column that says what became of each row ({flag}), and run this again."
    ways = ["about how often you sell out (--sellout-rate .2)"]
    if plan.censored_column is None:
        ways.append("which rows sold out (--censored-column)")
    if plan.stock_column is None:
        ways.append("what was in stock (--stock-column)")
    if plan.date is None:
        ways.append("dates (--date)")
    known = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"
    return f"Say one thing more, and run this again: {known}."
