"""Sentences and numbers of the page, as text that nothing in a file can turn into markup."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unmet.app.outcome import Outcome
from unmet.bands.picture_text import SURE
from unmet.bands.picture_words import interval, number, percent
from unmet.report.words import words_for

_SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    r"""Escape text for Markdown: no link, picture or tag of it comes alive.

    Examples
    --------
    >>> print(plain("![x](http://a)"))
    \!\[x\]\(http\:\/\/a\)
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


@dataclass(frozen=True)
class KeyFigure:
    """A number worth a place of its own: its name, its value and what it means."""

    name: str
    value: str
    meaning: str = ""


def key_figures(outcome: Outcome) -> list[KeyFigure]:
    """Give the numbers that stand at the top."""
    return [*_decided(outcome), *_hidden(outcome), *_sure(outcome), *_money(outcome)]


def _decided(outcome: Outcome) -> list[KeyFigure]:
    words, found = words_for(outcome.plan.problem), outcome.table["decision"]
    finite = found.filter(found.is_finite())
    if not finite.len():
        return [KeyFigure(f"Mean {words.decision}", "never", "no planned replacement pays")]
    mean, meaning = float(finite.mean() or 0.0), ""  # type: ignore[arg-type]
    if "ignoring" in outcome.table.columns:
        other = outcome.table["ignoring"]
        plainly = float(other.filter(other.is_finite()).mean() or 0.0)  # type: ignore[arg-type]
        meaning = f"{number(plainly, 4)} {words.ignoring}"
    figures = [KeyFigure(f"Mean {words.decision}", number(mean, 4), meaning)]
    if words.added_up:
        total = float(finite.sum())
        figures.append(KeyFigure("In all", f"{total:,.0f}", f"{found.len():,} rows"))
    return figures


def _hidden(outcome: Outcome) -> list[KeyFigure]:
    found, rate = outcome.diagnosis, outcome.plan.sellout_rate
    if found is None or found.share_censored is None:
        return []
    words = words_for(outcome.plan.problem)
    name, share = f"Rows that hide {words.truth}", percent(found.share_censored)
    if isinstance(rate, float):
        how = "counted" if found.share_is_seen else "estimated"
        return [KeyFigure(name, percent(rate), f"assumed; {share} {how}")]
    return [KeyFigure(name, share, "counted" if found.share_is_seen else "estimated")]


def _sure(outcome: Outcome) -> list[KeyFigure]:
    found = outcome.diagnosis
    if found is None or found.identified is None:
        return []
    value = f"{_SYMBOLS[found.identified]} {found.identified}"
    return [KeyFigure("Can the data tell?", value, SURE[found.identified])]


def _money(outcome: Outcome) -> list[KeyFigure]:
    stake = outcome.stake
    if stake is None:
        return []
    low, high = stake.total_range
    meaning = "what ignoring it costs, all rows"
    if low != high:
        meaning += f"; {number(low)} to {number(high)} possible"
    return [KeyFigure("Money at stake", number(stake.total), meaning)]


def hindsight_sentence(outcome: Outcome) -> str:
    """Say what the decisions would have cost, where the truth is known."""
    found = outcome.hindsight
    if found is None:
        return ""
    plan = found["plan"]
    revenue = outcome.plan.goal == "revenue"
    start = f"On the truth of {found.n_rows:,} rows"
    if revenue:
        return f"{start} these prices earn {number(-plan.cost)} per row."
    sentence = f"{start} these decisions cost {number(plan.cost)} per row"
    if plan.saving is None:
        return f"{sentence}."
    way = "less" if plan.saving >= 0 else "more"
    return (
        f"{sentence}, {number(found['ieo'].cost)} if observations are taken for the truth: "
        f"{percent(abs(plan.saving))} {way}."
    )


def interval_sentence(outcome: Outcome) -> str:
    """Say which shares fit the data."""
    found = outcome.diagnosis
    if found is None or found.share_is_seen or found.interval is None:
        return ""
    return f"Shares of {interval(found.interval)} fit the data (95% interval)."
