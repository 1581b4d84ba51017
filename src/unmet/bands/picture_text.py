"""What `print(model.diagnosis_)` shows: four questions answered, and the explanations compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from unmet.bands.diagnosis import Diagnosis
from unmet.bands.picture_table import explanation_table, ruled_out
from unmet.bands.picture_words import decimals_for, fixed, interval, number, percent

__all__ = ["SURE", "answers", "describe", "headline"]

WIDTH = 88
LINES = 20
_INDENT = 21
_MOST_ROWS, _FEWEST_ROWS = 6, 3
_APART = 0.0005  # shares closer than this print alike

#: What `Diagnosis.identified` means.
SURE = {
    "yes": "the data can tell whether, and how much.",
    "weakly": "the data can tell that it matters, but not how much.",
    "no": "the data cannot even tell whether it matters.",
}


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
        About 20 lines at most, none longer than 88 characters.

    Examples
    --------
    >>> from unmet.bands.diagnosis import Diagnosis
    >>> print(describe(Diagnosis("LatentBand", 500, share_censored=0.3, share_is_seen=True)))
    LatentBand, 500 rows
    How much is hidden?  30% of the rows (counted, not estimated).
    """
    lines = [f"{diagnosis.rule}, {diagnosis.n_rows:,} rows", *_lines(diagnosis)]
    notes = _notes(diagnosis.notes)
    rows = min(_MOST_ROWS, len(diagnosis.explanations))
    table = explanation_table(diagnosis.explanations, rows, WIDTH)
    while len(lines) + len(table) + sum(map(len, notes)) > LINES and rows > _FEWEST_ROWS:
        rows -= 1
        table = explanation_table(diagnosis.explanations, rows, WIDTH)
    return "\n".join([*lines, *table, *_fitting(notes, LINES - len(lines) - len(table))])


def headline(diagnosis: Diagnosis) -> str:
    """One line for the top of a picture."""
    start = f"{diagnosis.rule}, {diagnosis.n_rows:,} rows"
    share, identified = diagnosis.share_censored, diagnosis.identified
    if identified == "no":
        start += ": some of the truth may be hidden"
    elif share is not None:
        hide = f"{percent(share)} of them hide some" if share else "none of them hides any"
        start += f": {hide} of the truth"
    return start if identified is None else f"{start} (identified: {identified})"


def answers(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Four questions and what the rule answers; questions without an answer are left out."""
    asked = [
        ("How much is hidden?", _hidden(diagnosis)),
        ("How sure?", " ".join(_sure(diagnosis))),
        ("What would change?", _change(diagnosis)),
        ("What is it worth?", _worth(diagnosis)),
    ]
    return [(question, answer) for question, answer in asked if answer]


def _lines(diagnosis: Diagnosis) -> list[str]:
    """Questions on the left, answers wrapped on the right."""
    lines: list[str] = []
    for question, answer in answers(diagnosis):
        wrapped = wrap(answer, WIDTH - _INDENT)
        lines += [f"{question:<{_INDENT}}{wrapped[0]}"]
        lines += [" " * _INDENT + line for line in wrapped[1:]]
    return lines or ["This rule does not estimate how much is hidden."]


def _hidden(diagnosis: Diagnosis) -> str:
    share = diagnosis.share_censored
    if share is None:
        return ""
    start = f"{percent(share)} of the rows" if share else "Nothing"
    if diagnosis.share_is_seen:
        return f"{start} (counted, not estimated)."
    if diagnosis.identified not in (None, "yes"):
        start += " in the chosen explanation"
    ends = None if diagnosis.profile is None else diagnosis.interval
    if ends is None:
        return f"{start}."
    family = f" within the {diagnosis.chosen.truth} family" if diagnosis.chosen else ""
    return f"{start} (95% interval {interval(ends)}{family})."


def _sure(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.identified is not None:
        yield f"Identified: {diagnosis.identified}; {SURE[diagnosis.identified]}"
    ties = sum(each.ties for each in diagnosis.explanations)
    if ties > 1 and diagnosis.explanations[0].orders == "limits":
        yield f"{ties} explanations tie; decisions follow the first."
    elif ties > 1:
        yield f"{ties} explanations tie; the band follows the least that cannot be ruled out."
    possible = [each.share_censored for each in diagnosis.explanations if not ruled_out(each)]
    if possible and max(possible) - min(possible) >= _APART:
        yield f"Possible explanations hide {interval(possible)} of the rows."


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
    return start if low == high else f"{start} Possible explanations give {low} to {high}."


def _worth(diagnosis: Diagnosis) -> str:
    if diagnosis.stake is None:
        return ""
    condition = "if the chosen explanation is true"
    if diagnosis.stake:
        total = number(diagnosis.stake * diagnosis.n_rows)
        return f"{number(diagnosis.stake)} per row, {total} in all, {condition}."
    others = diagnosis.shift_range is not None and diagnosis.shift_range[1] > 0
    return f"Nothing, {condition}" + ("; more if another one is." if others else ".")


def _notes(notes: Sequence[str]) -> list[list[str]]:
    """Wrap each note, with a dash in front."""
    return [wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ") for note in notes]


def _fitting(notes: Sequence[list[str]], room: int) -> list[str]:
    """Print as many notes as there is room for, the first in any case; count the others."""
    lines: list[str] = []
    for place, note in enumerate(notes):
        last = place == len(notes) - 1
        if place and len(lines) + len(note) + (not last) > room:
            return [*lines, f"- and {len(notes) - place} more in .notes"]
        lines += note
    return lines
