"""What `print(model.diagnosis_)` shows: questions answered, and the candidates compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import floor, isfinite, log10
from textwrap import wrap
from typing import TypeAlias

from unmet.censoring.model import Ambiguity, Candidate, Choice, Diagnosis

Cells: TypeAlias = tuple[str, ...]

WIDTH = 88
LINES = 20
_INDENT = 21
_MAX_ROWS, _MIN_ROWS = 6, 3
_APART = 0.0005  # shares closer than this print alike
COUNTED = 0.07
"""Range of a counted share that is not worth a sentence."""
_MAX_DECIMALS = 6
_HUGE = 1e12
_HEADER: Cells = ("truth", "scale", "orders", "hidden", "added", "behind the best", "verdict")
_LEFT = ("truth", "scale", "orders", "verdict")  # words stand on the left of their column
_SHORTEST = 6  # name of a family

_AIMS = {"minimax_regret": "regret", "expected_cost": "expected cost"}

_SURE = {
    "yes": "the data can tell whether, and how much.",
    "weakly": "the data can tell that it matters, but not how much.",
    "no": "the data cannot tell whether anything is hidden.",
}


def sure(diagnosis: Diagnosis) -> str:
    """Say whether the data can tell; they cannot with a given rate. Empty if not evaluated."""
    if diagnosis.share_given is not None:
        return "the sell-out rate was given; the data do not prove it."
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


def candidate_table(candidates: Sequence[Candidate], rows: int, width: int) -> list[str]:
    """Compare the first `rows` candidates, the chosen one first; nothing where there is none.

    Parameters
    ----------
    candidates : sequence of Candidate
    rows : int
    width : int
        Longest line; names of families are cut short if they must be.

    Returns
    -------
    list of str
    """
    if not candidates:
        return []
    best = min(candidates, key=lambda each: each.behind)
    caption = (
        f"Candidate models, by held-out log-likelihood per row (best: {number(best.score, 5)})"
    )
    blocks = []
    for name, column in candidate_columns(candidates, rows).items():
        cells = [name, *column]
        size = max(map(len, cells))
        blocks.append([f"{cell:{'<' if name in _LEFT else '>'}{size}}" for cell in cells])
    too_long = sum(len(block[0]) + 2 for block in blocks) - width
    if too_long > 0:
        truths = blocks[0]
        size = max(len(truths[0]) - too_long, _SHORTEST)
        blocks[0] = [
            cell[:size] if len(cell.rstrip()) <= size else cell[: size - 1] + "…" for cell in truths
        ]
    lines = [("  " + "  ".join(cells)).rstrip()[:width] for cells in zip(*blocks, strict=True)]
    left = len(candidates) - rows
    return [caption, *lines, *([f"  and {left} more in .candidates"] if left > 0 else [])]


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
    """Say in plain English what a band rule found.

    One glance answers how much is hidden, how sure that is, what it changes and what it is worth.
    Where there is an interval it is computed, which takes a fit per assumed rate.

    Parameters
    ----------
    diagnosis : Diagnosis

    Returns
    -------
    str
        About 20 lines at most, and three where the data cannot tell; none longer than 88
        characters.

    Examples
    --------
    >>> from unmet.censoring.model import Diagnosis
    >>> print(describe(Diagnosis("LatentBand", 500, share_censored=0.3, share_is_seen=True)))
    LatentBand, 500 rows
    How much is hidden?  30% of the rows are censored (counted, not estimated).
    """
    lines = [f"{diagnosis.rule}, {diagnosis.n_rows:,} rows"]
    for question, answer in answers(diagnosis):
        first, *others = wrap(answer, WIDTH - _INDENT)
        lines += [f"{question:<{_INDENT}}{first}", *(" " * _INDENT + line for line in others)]
    if len(lines) == 1:
        lines.append("This rule does not estimate how much is hidden.")
    notes = [
        wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ") for note in diagnosis.notes
    ]
    rows = min(_MAX_ROWS, len(diagnosis.candidates))
    table = candidate_table(diagnosis.candidates, rows, WIDTH)
    # what being wrong costs must not push out what else is known
    most = LINES + len(wrap(if_wrong(diagnosis), WIDTH - _INDENT))
    while len(lines) + len(table) + sum(map(len, notes)) > most and rows > _MIN_ROWS:
        rows -= 1
        table = candidate_table(diagnosis.candidates, rows, WIDTH)
    return "\n".join([*lines, *table, *_fitting(notes, most - len(lines) - len(table))])


def headline(diagnosis: Diagnosis) -> str:
    """One line for the top of a plot."""
    start = f"{diagnosis.rule}, {diagnosis.n_rows:,} rows"
    share, identified = diagnosis.share_censored, diagnosis.identified
    if diagnosis.share_given is not None:
        given = rates(diagnosis.share_given)
        return f"{start}: {given} of them hide some of the truth, as was given"
    if identified == "no":
        start += ": some of the truth may be hidden"
    elif share and diagnosis.share_is_seen:
        start += f": {percent(share)} of them are censored"
    elif share is not None:
        hide = f"{percent(share)} of them hide some" if share else "none of them hides any"
        start += f": {hide} of the truth"
    return start if identified is None else f"{start} (identified: {identified})"


def answers(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Five questions and what the rule answers; questions without an answer are left out."""
    asked = [
        ("How much is hidden?", _hidden(diagnosis)),
        ("How sure?", " ".join(_sure(diagnosis))),
        ("What would change?", _change(diagnosis)),
        ("What is it worth?", _worth(diagnosis)),
        ("If that is wrong?", if_wrong(diagnosis)),
    ]
    return [(question, answer) for question, answer in asked if answer]


def _hidden(diagnosis: Diagnosis) -> str:
    share = diagnosis.share_censored
    if share is None:
        return ""
    start = f"{percent(share)} of the rows" if share else "Nothing"
    ends = diagnosis.share_range
    if diagnosis.share_given is not None:
        given = rates(diagnosis.share_given)
        middle = "" if given == percent(share) else f"; {percent(share)} was imposed"
        return f"{given} of the rows, as was given (sellout_rate){middle}."
    if diagnosis.share_is_seen:
        if not share:
            return "Nothing (counted, not estimated)."
        if ends is None or ends[1] - ends[0] < COUNTED:
            return f"{start} are censored (counted, not estimated)."
        return f"{start} are at their orders (counted); {interval(ends)} may hide something."
    if diagnosis.identified not in (None, "yes"):
        start += " in the chosen model"
    if ends is not None:
        if diagnosis.identified == "no" and ends == (0.0, 1.0):
            return f"{start}; but any share is possible."
        if diagnosis.identified == "no":
            return f"{start}; {interval(ends)} in those that cannot be ruled out."
        return f"{start} (95% interval {interval(ends)} over all that cannot be ruled out)."
    ends = None if diagnosis.profile is None else diagnosis.interval
    if ends is None:
        return f"{start}."
    family = f" within the {diagnosis.chosen.truth} family" if diagnosis.chosen else ""
    return f"{start} (95% interval {interval(ends)}{family})."


def _sure(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.identified is not None:
        yield f"Identified: {diagnosis.identified}; {sure(diagnosis)}"
    ties = sum(each.ties for each in diagnosis.candidates)
    if ties > 1 and diagnosis.candidates[0].orders == "limits":
        yield f"{ties} candidates tie; decisions follow the first."
    elif ties > 1:
        told = None if diagnosis.choices is None else diagnosis.ambiguity
        follows = "the least that cannot be ruled out"
        if told is not None and told.followed != "least_censoring":
            follows = f"the least {_AIMS[told.followed]} over all that cannot be ruled out"
        yield f"{ties} candidates tie; the band follows {follows}."
    possible = [each.share_censored for each in diagnosis.candidates if not ruled_out(each)]
    if possible and max(possible) - min(possible) >= _APART:
        yield f"Possible candidates hide {interval(possible)} of the rows."


def _change(diagnosis: Diagnosis) -> str:
    shift, decision = diagnosis.shift, diagnosis.decision
    if shift is None:
        return "" if decision is None else f"The mean decision is {number(decision)}."
    if decision is None:
        return f"Observations count as {number(shift)} more, on average." if shift else ""
    ends = diagnosis.decision_range or (decision, decision)
    step = max(abs(shift), ends[1] - ends[0]) or decision
    decimals = decimals_for(step, 3)
    start = f"Decisions average {fixed(decision, decimals)}, "
    side = "more" if shift > 0 else "less"
    start += f"{fixed(abs(shift), decimals)} {side}" if shift else "the same"
    start += " than if nothing were hidden." if shift else " as if nothing were hidden."
    low, high = (fixed(end, decimals) for end in ends)
    return start if low == high else f"{start} Possible candidates give {low} to {high}."


def _worth(diagnosis: Diagnosis) -> str:
    if diagnosis.stake is None:
        return ""
    condition = "if the chosen model is true"
    if diagnosis.stake:
        total = number(diagnosis.stake * diagnosis.n_rows)
        return f"{number(diagnosis.stake)} per row, {total} in all, {condition}."
    others = diagnosis.shift_range is not None and diagnosis.shift_range[1] > 0
    return f"Nothing, {condition}" + ("; more if another one is." if others else ".")


def largest_loss(told: Ambiguity) -> tuple[Choice, str, int, int]:
    """Give the choice that is followed, what it may cost, and decimals of both."""
    digits = decimals_for(told.minimax_regret.worst or told.least_censoring.worst, 2)
    apart = told.decision_range[1] - told.decision_range[0]
    followed: Choice = getattr(told, told.followed)
    lost = f"a row costs up to {fixed(followed.worst, digits)} more than it has to"
    return followed, lost, digits, decimals_for(apart or told.least_censoring.decision, 3)


def if_wrong(diagnosis: Diagnosis, decision: str = "decision") -> str:
    """Say what the decisions may cost if another candidate model is true, and what would cost less.

    Empty where the data can tell.

    Parameters
    ----------
    diagnosis : Diagnosis
    decision : str
        What the reader calls a decision.
    """
    told = diagnosis.ambiguity
    if told is None:
        return ""
    followed, lost, digits, places = largest_loss(told)
    whatever = f"whatever is true (up to {percent(told.rates[1])} hidden)"
    if told.followed == "minimax_regret":
        return (
            f"The {decision} of minimax regret is followed: {lost}, {whatever}. With the least "
            f"that may be hidden, {fixed(told.least_censoring.decision, places)} on average, it "
            f"could be {fixed(told.least_censoring.worst, digits)}."
        )
    rate = followed.worst_rate
    case = f"{percent(rate)} of the rows hide some of it" if rate else "nothing is hidden"
    return (
        f"If in truth {case}, {lost}. The {decision} of minimax regret averages "
        f"{fixed(told.minimax_regret.decision, places)} and costs at most "
        f"{fixed(told.minimax_regret.worst, digits)} more, {whatever}."
    )


def _fitting(notes: Sequence[list[str]], room: int) -> list[str]:
    """Print as many notes as there is room for, the first in any case; count the others."""
    lines: list[str] = []
    for place, note in enumerate(notes):
        last = place == len(notes) - 1
        if place and len(lines) + len(note) + (not last) > room:
            return [*lines, f"- and {len(notes) - place} more in .notes"]
        lines += note
    return lines
