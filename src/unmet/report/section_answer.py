"""The top of the page: the answer, and the figures that matter."""

from __future__ import annotations

from unmet.bands.picture_table import ruled_out
from unmet.bands.picture_text import SURE
from unmet.bands.picture_words import fixed, interval, number, percent
from unmet.planning.results import ReportContent
from unmet.report.markup import Html, element, joined, paragraphs
from unmet.report.words import Words

__all__ = ["answer"]

_APART = 0.0005  # shares closer than this print alike
_SYMBOLS = {"yes": "✓", "weakly": "≈", "no": "?"}


def answer(content: ReportContent, words: Words) -> Html:
    """Title, main message, key figures."""
    cards = [
        *_decided(content, words),
        *_hidden(content, words),
        *_identified(content),
        *_worth(content),
    ]
    return element(
        "header",
        element("h1", content.title),
        paragraphs(content.answer, class_="answer"),
        element("dl", *cards, class_="cards") if cards else "",
    )


def _card(name: str, value: str, *more: str, kind: str | None = None) -> Html:
    below = joined(element("dd", line, class_="quiet") for line in more if line)
    return element(
        "div",
        element("dt", name),
        element("dd", value, class_="value"),
        below,
        class_=None if kind is None else f"verdict-{kind}",
    )


def _decided(content: ReportContent, words: Words) -> list[Html]:
    table = content.decisions
    count = max(content.n_decisions, 0 if table is None else table.height)
    if not count:
        return []
    cards = [_card("rows decided", f"{count:,}")]
    if table is None or not table.height:
        return cards
    column = table["decision"]
    part = "" if table.height >= count else f"of the first {table.height:,} rows"
    mean = float(column.mean() or 0.0)  # type: ignore[arg-type]
    if words.added_up and not part:
        cards.append(
            _card("total order", _total(float(column.sum())), f"{number(mean, 4)} per row")
        )
    else:
        cards.append(_card(f"mean {words.decision}", number(mean, 4), part))
    return cards


def _total(total: float) -> str:
    """Show a sum in full: it may be looked up elsewhere."""
    return fixed(total, 0) if abs(total) >= 100 else number(total, 4)


def _hidden(content: ReportContent, words: Words) -> list[Html]:
    diagnosis = content.diagnosis
    if diagnosis is None or diagnosis.share_censored is None:
        return []
    value, more = percent(diagnosis.share_censored), [f"of {diagnosis.n_rows:,} rows learned from"]
    possible = [each.share_censored for each in diagnosis.explanations if not ruled_out(each)]
    possible = possible or [diagnosis.share_censored]
    if diagnosis.share_is_seen:
        more.append("counted, not estimated")
    elif diagnosis.identified == "no" and max(possible) - min(possible) >= _APART:
        value = interval(possible)  # a single share would claim more than the data tell
        more.append(f"the chosen explanation has {percent(diagnosis.share_censored)}")
    elif diagnosis.identified == "weakly" and max(possible) - min(possible) >= _APART:
        more.append(f"possible: {interval(possible)}")
    elif diagnosis.interval is not None:
        more.append(f"95% interval {interval(diagnosis.interval)}")
    return [_card(f"rows that hide {words.truth}", value, *more)]


def _identified(content: ReportContent) -> list[Html]:
    diagnosis = content.diagnosis
    if diagnosis is None or diagnosis.identified is None:
        return []
    found = diagnosis.identified
    sentence = SURE[found]
    value = f"{_SYMBOLS[found]} {found}"
    return [_card("can the data tell?", value, sentence[:1].upper() + sentence[1:], kind=found)]


def _worth(content: ReportContent) -> list[Html]:
    stake = content.stake
    if stake is None:
        return []
    low, high = stake.total_range
    wide = "" if low == high else f"possible: {number(low)} to {number(high)}"
    return [_card("money at stake", number(stake.total), wide, "if this is ignored, all rows")]
