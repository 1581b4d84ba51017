"""A diagnosis in words: what `print` shows of it, and what a planner is told.

`answers` has the sentences; `describe` compares the candidates as well, `summarise` says what to do
next. `Labels` holds what things are called in each problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, isfinite, log10
from textwrap import wrap
from typing import Any, TypeAlias

from unmet.censoring.model import MAX_SOLD_OUT, Candidate, Choice, Diagnosis
from unmet.validation import OneOf

Cells: TypeAlias = tuple[str, ...]

WIDTH = 88
_INDENT = 13
COUNTED = 0.07
"""Range of a counted share that is not worth a sentence."""
_MAX_DECIMALS = 6
_HUGE = 1e12
_HEADER: Cells = ("truth", "scale", "orders", "hidden", "added", "behind the best", "verdict")
_LEFT = ("truth", "scale", "orders", "verdict")  # words stand on the left of their column

_SURE = {
    "yes": "the data show whether values are hidden, and how many.",
    "weakly": "the data show that something is hidden, but not how much.",
    "no": "the data cannot tell whether anything is hidden.",
}


# --- What things are called.


@dataclass(frozen=True, kw_only=True)
class Labels:
    """What things are called in one problem; the defaults fit any.

    Attributes
    ----------
    decision, decisions : str
        What is decided.
    nouns : str
        The same in a word, in the plural.
    observations : str
        What was seen, in the plural.
    truth : str
        What one wanted to see.
    rate : str
        The share of rows whose truth lies above the observation.
    rate_means : str
        The same in other words.
    policy : str
        What limits the observations.
    sold_out : str
        What is known of an observation that hides something.
    hide : str
        What a row does whose truth lies above the observation.
    ended, flagged : str
        What was counted where orders were found, and where flags or stock say it.
    ignoring : str
        What everything is compared with: that observations are taken for the truth.
    amount : str
        What an axis of decisions measures.
    added_up : bool
        Whether decisions add up to something.
    covered : str
        The share of rows whose decision is not below the truth.
    served : str or None
        The share of the truth that decisions reach, where that has a name.
    helps : tuple of str
        What would tell more, a sentence each.
    period : str
        What one decision is for, where decisions are dated.
    """

    decision: str = "decision"
    decisions: str = "decisions"
    nouns: str = "decisions"
    observations: str = "observations"
    truth: str = "truth"
    rate: str = "sell-out rate"
    rate_means: str = "share of rows censored"
    policy: str = "orders"
    sold_out: str = "censored"
    hide: str = "hide some of the truth"
    ended: str = "{} of the rows are at their limit"
    flagged: str = "{} of the rows are censored"
    ignoring: str = "if observations are taken as the truth"
    amount: str = "units"
    added_up: bool = True
    covered: str = "Rows covered"
    served: str | None = None
    helps: tuple[str, ...] = ()
    period: str = "day"


_AUDIT = "The true value of a few dozen rows, from an audit (AuditedBand)."

PROBLEMS = {
    "newsvendor": Labels(
        decision="order quantity",
        decisions="order quantities",
        nouns="orders",
        observations="sales",
        truth="demand",
        rate_means="share of rows that sold out",
        sold_out="sold out",
        hide="hide demand",
        ended="{} of the rows have sales equal to the order",
        flagged="{} of the rows sold out",
        ignoring="if sales are taken as demand",
        covered="Service level",
        served="Fill rate",
        helps=(
            "A rough sell-out rate: the share of rows that sold out (sellout_rate).",
            "Flags of the rows that sold out (censored_column), even if some are empty.",
            "The available stock of each row (stock_column).",
            _AUDIT,
        ),
    ),
    "pricing": Labels(
        decision="price",
        decisions="prices",
        nouns="prices",
        observations="offered prices",
        truth="the reservation price",
        rate="acceptance rate",
        rate_means="share of offers that were accepted",
        policy="offers",
        sold_out="accepted",
        hide="hide a higher reservation price",
        ended="{} of the rows have a price equal to the offer",
        flagged="{} of the offers were accepted",
        ignoring="if offers are taken as reservation prices",
        amount="price",
        added_up=False,
        covered="Prices too high",
        helps=(
            "Rejected offers, which limit reservation prices from above (Limits.offers).",
            "Different prices for similar buyers, a few per cent higher and lower.",
            "Deals at a price that the buyer named.",
            _AUDIT,
        ),
    ),
    "replacement": Labels(
        decision="replacement age",
        decisions="replacement ages",
        nouns="ages",
        observations="times in service",
        truth="the failure time",
        rate="share replaced in time",
        rate_means="share of units replaced before they failed",
        policy="plans",
        sold_out="had not failed",
        hide="hide a lifetime",
        ended="{} of the parts were replaced at a planned age",
        flagged="{} of the parts were replaced before they failed",
        ignoring="if times in service are taken as lifetimes",
        amount="age",
        added_up=False,
        covered="Failed before",
        helps=(
            "Flags of the parts that had not failed when they were replaced (censored).",
            "Some parts that stay in service until they fail.",
            "Results of inspections, which limit failure times from both sides (Limits).",
            _AUDIT,
        ),
    ),
}


def labels_for(problem: str) -> Labels:
    """Labels of a problem: "newsvendor", "pricing" or "replacement"."""
    return PROBLEMS[OneOf(*PROBLEMS)("problem", problem)]


def order_labels(unit: str) -> Labels:
    """Labels of orders for coming days or weeks; `unit` is "day" or "week"."""
    return replace(
        PROBLEMS["newsvendor"],
        decision="order",
        decisions="orders",
        sold_out="sold out",
        period=unit,
    )


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


# --- Numbers.


def sure(diagnosis: Diagnosis) -> str:
    """Say whether the data can tell; they cannot with a given rate. Empty if not evaluated."""
    if diagnosis.share_given is not None:
        return "the sell-out rate was given, not estimated."
    return "" if diagnosis.identified is None else _SURE[diagnosis.identified]


def number(value: float, digits: int = 3) -> str:
    """Round to significant digits, thousands set off; whole thousands keep one digit more.

    Examples
    --------
    >>> number(31.4149), number(0.0123456), number(11762.4), number(-0.0)
    ('31.4', '0.0123', '11,760', '0')
    """
    if not value:
        return "0"
    if not 1 / _HUGE <= abs(value) < _HUGE:
        return f"{value:.{digits}g}"
    places = digits - 1 - floor(log10(abs(value))) + (abs(value) >= 1000)
    return f"{round(value, places):,.{max(places, 0)}f}"


def decimals_for(scale: float, digits: int) -> int:
    """How many decimals show `digits` significant ones of `scale`; 0 where there is no scale."""
    if not isfinite(scale) or not scale:
        return 0
    return min(max(digits - 1 - floor(log10(abs(scale))), 0), _MAX_DECIMALS)


def fixed(value: float, decimals: int) -> str:
    """Print so many decimals, with thousands set off; huge numbers in short."""
    if not abs(value) < _HUGE:
        return f"{value:.3g}"
    return f"{value:,.{decimals}f}"


def percent(share: float, decimals: int | None = None) -> str:
    """Print a share as per cent: whole ones, below 10% with one decimal.

    Examples
    --------
    >>> percent(0.4853), percent(0.0213), percent(0.0002), percent(0.0)
    ('49%', '2.1%', 'below 0.1%', '0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    if decimals is None:
        decimals = 1 if 0 < share < 0.0995 else 0
    return f"{100 * share:.{decimals if share else 0}f}%"


def interval(ends: Iterable[float]) -> str:
    """Print the range of some shares, with a decimal if it takes one to tell its ends apart.

    Examples
    --------
    >>> interval((0.467, 0.503)), interval((0.481, 0.487)), interval((0.0551, 0.6))
    ('47% to 50%', '48.1% to 48.7%', '5.5% to 60%')
    """
    low, *_, high = sorted(ends)
    decimals = None if high - low >= 0.03 else 1
    return f"{percent(low, decimals)} to {percent(high, decimals)}"


def rates(given: tuple[float, float]) -> str:
    """Print a rate that was given, or a range of them."""
    return percent(given[0]) if given[0] == given[1] else interval(given)


def ruled_out(candidate: Candidate) -> bool:
    """Whether it is more than two standard errors behind the best, or disproved outright."""
    if candidate.uncensored_possible:
        return False
    return candidate.behind > 2 * candidate.standard_error


def candidate_columns(candidates: Sequence[Candidate], rows: int) -> dict[str, list[str]]:
    """Cells of the first `rows` candidates by column; a scale that never varies is left out."""
    shown = candidates[:rows]
    # as many decimals as three digits of the largest mean shift need
    decimals = decimals_for(max(abs(each.shift) for each in shown), 3)
    columns = [
        [
            f"{each.truth} (×)" if each.location == "multiplicative" else each.truth
            for each in shown
        ],
        [each.scale for each in shown],
        [each.orders for each in shown],
        [percent(each.share_censored) for each in shown],
        [fixed(each.shift, decimals) for each in shown],
        _behind(shown),
        ["chosen", *(_verdict(each) for each in shown[1:])],
    ]
    named = dict(zip(_HEADER, columns, strict=True))
    if all(each.scale == "constant" for each in candidates):
        del named["scale"]
    return named


def _behind(candidates: Sequence[Candidate]) -> list[str]:
    """Differences from the best with their standard errors: four decimals or fewer will do."""
    errors = [each.standard_error for each in candidates if each.standard_error > 0]
    smallest = min(errors, default=0.01)
    decimals = max(decimals_for(smallest, 1), min(decimals_for(smallest, 2), 4))
    return [
        f"{fixed(each.behind, decimals)} ± {fixed(each.standard_error, decimals)}"
        if each.behind
        else "best"
        for each in candidates
    ]


def _verdict(candidate: Candidate) -> str:
    if candidate.ties:
        return "ties"
    return "ruled out" if ruled_out(candidate) else "possible"


def describe(diagnosis: Diagnosis) -> str:
    """Say in plain English what a band rule found, and compare the candidates.

    Where there is an interval it is computed, which takes a fit per assumed rate.

    Parameters
    ----------
    diagnosis : Diagnosis

    Returns
    -------
    str
        No line is longer than 88 characters.

    Examples
    --------
    >>> from unmet.censoring.model import Diagnosis
    >>> print(describe(Diagnosis("LatentBand", 500, share_censored=0.3, share_is_seen=True)))
    LatentBand, 500 rows
    Hidden:      Yes. 30% of the rows are censored (counted).
    """
    lines = [headline(diagnosis), *_in_columns(answers(diagnosis))]
    if len(lines) == 1:
        lines.append("This rule does not estimate how much is hidden.")
    return "\n".join([*lines, *statistics(diagnosis)])


def statistics(diagnosis: Diagnosis) -> list[str]:
    """Lines of the table of candidates, and the notes."""
    lines, candidates = [], diagnosis.candidates
    if candidates:
        best = min(candidates, key=lambda each: each.behind)
        score = number(best.score, 5)
        lines.append(f"Candidate models, by held-out log-likelihood per row (best: {score})")
        blocks = []
        for name, column in candidate_columns(candidates, 6).items():
            side, size = "<" if name in _LEFT else ">", max(map(len, [name, *column]))
            blocks.append([f"{cell:{side}{size}}" for cell in (name, *column)])
        lines += ["  " + "  ".join(cells).rstrip() for cells in zip(*blocks, strict=True)]
        if len(candidates) > 6:
            lines.append(f"  and {len(candidates) - 6} more in .candidates")
    for note in diagnosis.notes:
        lines += wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return lines


def headline(diagnosis: Diagnosis) -> str:
    """One line for the top of a text or of a plot."""
    start = f"{diagnosis.rule}, {diagnosis.n_rows:,} rows"
    known = diagnosis.identified is None or diagnosis.share_given is not None
    return start if known else f"{start} (identified: {diagnosis.identified})"


def summarise(plan: Any, command: str = "", *, costs_given: bool = True) -> str:
    """Say what a fitted plan found, without statistics, and what to do next.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted.
    command : str
        What fits a model with the same labels; shown on a line of its own where that is the advice.
    costs_given : bool
        Whether the user has said what mistakes cost.

    Returns
    -------
    str
        A label and its finding in a few lines each, none longer than 88 characters, and the
        command; nothing without a diagnosis.
    """
    found = plan.diagnosis_
    if found is None:
        return ""
    rule = getattr(getattr(plan.estimator_, "rule_", None), "order_rule_", None)
    rule = getattr(rule, "rule_", None)
    formula = rule.formula if rule is not None and rule.accepted else ""
    said = answers(found, plan.problem, formula)
    said.append(("Next step", next_step(found, plan, costs_given=costs_given)))
    advised = command and "unmet fit" in said[-1][1]
    return "\n".join([*_in_columns(said), *([command] if advised else [])])


def _in_columns(said: Sequence[tuple[str, str]]) -> list[str]:
    """Labels on the left, findings beside them."""
    lines = []
    for label, finding in said:
        first, *others = wrap(finding, WIDTH - _INDENT)
        lines += [f"{label + ':':<{_INDENT}}{first}", *(" " * _INDENT + line for line in others)]
    return lines


def answers(found: Diagnosis, problem: str = "", formula: str = "") -> list[tuple[str, str]]:
    """Labels of what a diagnosis found, and the findings; those without one are left out.

    Parameters
    ----------
    found : Diagnosis
    problem : {"", "newsvendor", "pricing", "replacement"}
        Whose labels are used.
    formula : str
        The order rule that was detected, if one was.
    """
    labels, (_, hidden) = _labels(problem), hidden_rows(found, problem)
    guessed = found.share_given is not None or found.identified == "no"
    if hidden and (found.share_is_seen or not guessed):
        hidden = f"{'Yes' if found.share_censored else 'No'}. {hidden}"
    worth = ""
    if found.stake:
        total = number(found.stake * found.n_rows)
        condition = "" if found.identified == "yes" else ", if the assumed share is right"
        worth = f"About {number(found.stake)} per row, {total} in all rows{condition}."
    asked = [
        ("Hidden", hidden),
        ("Confidence", _how_sure(found, labels, formula)),
        (labels.nouns.capitalize(), _decisions(found, labels)),
        ("Saving", worth),
        ("Risk", if_wrong(found, problem)),
    ]
    return [(label, finding) for label, finding in asked if finding]


def _labels(problem: str) -> Labels:
    """Labels of a problem, or those that fit any."""
    return PROBLEMS.get(problem, Labels())


def hidden_rows(
    found: Diagnosis, problem: str = "", assumed: float | None = None
) -> tuple[str, str]:
    """Say how many rows hide something, and whether that was counted, given or estimated.

    Rows that sold out need not hide anything: demand may have ended with the stock.

    Parameters
    ----------
    found : Diagnosis
    problem : {"", "newsvendor", "pricing", "replacement"}
    assumed : float, optional
        Share of rows that somebody assumes to hide something, whatever was found.

    Returns
    -------
    tuple of two str
        The share of rows that hide something, for a card, and a sentence; both empty where the
        diagnosis gives no share.
    """
    labels = _labels(problem)
    hide, share, ends = labels.hide, found.share_censored, found.share_range
    if assumed is not None:
        return percent(assumed), f"{percent(assumed)} of the rows {hide} (your assumption)."
    if share is None:
        return "", ""
    if found.share_is_seen:
        if not share:
            return "0%", f"No row is known to {hide} (counted)."
        counted = (labels.flagged if ends is None else labels.ended).format(percent(share))
        counted = f"{counted[0].upper()}{counted[1:]} (counted)"
        if ends is None or ends[1] - ends[0] < COUNTED:
            most = "at most " if problem == "newsvendor" else ""  # demand may end with the stock
            return f"{most}{percent(share)}", f"{counted}."
        return interval(ends), f"{counted}. {interval(ends)} may {hide}."
    if found.share_given is not None:
        given = rates(found.share_given)
        return given, f"{given} of the rows {hide} (given by sellout_rate)."
    if found.identified == "no":
        possible = "any share" if ends is None or ends == (0.0, 1.0) else interval(ends)
        any_share = possible if possible == "any share" else f"any share from {possible}"
        return possible, f"The data cannot tell. {capital(any_share)} of the rows may {hide}."
    if ends is None and found.profile is not None:
        ends = found.interval
    possible = "" if ends is None else f" ({interval(ends)} is possible)"
    if not share:
        return "0%", f"The data show no sign of hidden values{possible}."
    return percent(share), f"About {percent(share)} of the rows {hide}{possible}."


def followed(found: Diagnosis, problem: str) -> str:
    """Say what decisions follow where the data cannot tell; empty where they can."""
    decisions = PROBLEMS[problem].nouns.capitalize()
    if found.identified != "no" or found.share_is_seen or found.share_given is not None:
        return ""
    if found.share_assumed is not None:
        return f"{decisions} {_assumed(found, PROBLEMS[problem])}."
    told = found.ambiguity
    if told is not None and told.followed != "least_censoring":
        aim = {"minimax_regret": "maximum regret", "expected_cost": "expected cost"}[told.followed]
        return f"{decisions} minimize the {aim} over all of these."
    if not found.share_censored:
        return f"{PROBLEMS[problem].ignoring.removeprefix('if ').capitalize()}."
    least = percent(found.share_censored)
    return f"{decisions} assume the smallest share that fits, {least}."


def _assumed(found: Diagnosis, labels: Labels) -> str:
    """Say what decisions assume where the data cannot tell, and what would change that."""
    assert found.share_assumed is not None
    high = found.share_assumed[1]
    share = f"up to {percent(high)}" if high else "hardly any"
    return f"assume that {share} of the rows {labels.hide} (set sellout_rate=0 if none do)"


def _how_sure(found: Diagnosis, labels: Labels, formula: str) -> str:
    decisions, observations = labels.nouns, labels.observations
    if found.share_given is not None:
        return "That of the rate that you gave: the data do not test it."
    if found.identified == "yes":
        if formula:
            return f"High. Past orders followed a rule: {formula}."
        return f"High. All models that fit the data give similar {decisions}."
    if found.share_is_seen and found.identified is not None:
        return (
            f"Medium. The rows are known, but not how much they hide: {decisions} may be somewhat "
            "too low or too high."
        )
    if found.identified == "weakly":
        return (
            f"Medium. Something is hidden, but the amount is uncertain: {decisions} are more "
            "likely too low than too high."
        )
    if found.identified == "no":
        return f"Low. The {observations} would look the same if nothing were hidden."
    return ""


def _decisions(found: Diagnosis, labels: Labels) -> str:
    decision, shift = found.decision, found.shift
    if decision is None:
        return ""
    ends = found.decision_range or (decision, decision)
    decimals = decimals_for(max(abs(shift or 0.0), ends[1] - ends[0]) or decision, 3)
    said = f"{fixed(decision, decimals)} on average"
    if shift:
        way = "more" if shift > 0 else "less"
        said += f", {fixed(abs(shift), decimals)} {way} than {labels.ignoring}"
    elif shift is not None:
        said += f", as {labels.ignoring}"
    low, high = (fixed(end, decimals) for end in ends)
    if low != high and found.identified != "yes":
        said += f". Averages from {low} to {high} are possible"
        if found.share_range is not None and found.share_range[1] > MAX_SOLD_OUT:
            said += (
                f" if at most {percent(MAX_SOLD_OUT)} of the rows {labels.hide}; the "
                f"{labels.observations} set no upper limit"
            )
    if found.share_assumed is not None:
        said += f". {capital(labels.nouns)} {_assumed(found, labels)}"
    return said + "."


def if_wrong(found: Diagnosis, problem: str = "") -> str:
    """Say what the decisions may cost if another candidate model is true, and what would cost less.

    Empty where the data can tell.
    """
    told = found.ambiguity
    if told is None:
        return ""
    digits = decimals_for(told.minimax_regret.worst or told.least_censoring.worst, 2)
    apart = told.decision_range[1] - told.decision_range[0]
    places = decimals_for(apart or told.least_censoring.decision, 3)
    followed: Choice = getattr(told, told.followed)
    lost = f"a row costs up to {fixed(followed.worst, digits)} more than necessary"
    if told.followed == "minimax_regret":
        return f"In the worst case {lost}."
    rate, labels = followed.worst_rate, _labels(problem)
    case = f"{percent(rate)} of the rows {labels.hide}" if rate else "nothing is hidden"
    return (
        f"If {case}, {lost}. The minimax-regret rule (when_unidentified='minimax_regret') limits "
        f"that to {fixed(told.minimax_regret.worst, digits)}; its {labels.nouns} average "
        f"{fixed(told.minimax_regret.decision, places)}."
    )


def next_step(found: Diagnosis, plan: Any, *, costs_given: bool) -> str:
    """Say what a planner should do with a diagnosis."""
    first = "Run" if costs_given else "Replace both costs of 1 by your own, then run"
    use = f"{first} unmet fit and unmet decide to get these {PROBLEMS[plan.problem].nouns}."
    if found.identified in (None, "yes") or found.share_given is not None:
        return use
    if found.share_is_seen:
        return f"{use} More rows make them more certain."
    if plan.problem != "newsvendor":
        flag = "accepted" if plan.problem == "pricing" else "failed"
        return f"Name the column with the outcome of each row (columns[{flag!r}]), then run again."
    ways = ["the sell-out rate (such as sellout_rate=.2)"]
    if plan.column("censored") is None:
        ways.append("flags of rows that sold out (columns['censored'])")
    if plan.column("stock") is None:
        ways.append("the available stock (columns['stock'])")
    if plan.date is None:
        ways.append("dates (columns['date'])")
    known = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"
    return f"Add one of these and run again: {known}."
