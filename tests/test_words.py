"""Code, help texts, report and page use the words of the field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "unmet"

#: Words that are not used, and the word of the field in their place.
INSTEAD = {
    r"\blaws?\b|\bLaws?\b|[a-z]Law|_law\b": "distribution",
    r"[Ff]ingerprint|HistoryRule": "order rule, OrderRuleDetection",
    r"[Uu]nsure": "unidentified",
    r"\broles_?\b|guess_role": "schema",
    r"[Oo]utlook": "demand forecast",
    r"ShopRules": "SupplyRules",
    r"PanelPlan|RestockPlan": "OrderPlan",
    r"[Rr]estock|stock that lasts": "replenishment",
    r"[Ll]essons": "training set",
    r"new_days|NewDays|\b_?[Ww]atch(ed|es|ing)?\b(?!er)": "monitoring",
    r"ClockReading|read_clock|unmet clock|by the clock": "hours",
    r"\bExplanations?\b|(?<!an )\bexplanations?\b": "candidate model",
    r"\b[Pp]robes?\b": "robustness check",
    r"\blimited\b": "interval-censored",
    r"\bLearned\b|\blearned_\b": "fitted model",
    r"\bTold\b": "information",
    r"\b_?Answer\b": "prediction",
    r"\b[Pp]iled?\b|\bpiles\b|PileUp|leaves? (a|its|their) mark": "point mass",
    r"[Cc]ontest": "backtest",
    r"\b[Jj]udge[ds]?\b": "cost evaluator, evaluate",
    r"Complaint": "ErrorCollector",
    r"[Dd]ecider": "estimator",
    r"\bdrawn (to|towards?)\b": "shrunk to the pooled estimate",
    r"\b_?[Pp]riced\b": "evaluated",
    r"rests_on|\brests? on\b": "based on",
    r"\b[Hh]onest": "censoring_adjusted",
    r"\b[Pp]ictures?\b": "plot",
    r"\b_?(MOST|FEWEST)_": "MAX_, MIN_",
    r"\b[Ww]hoever\b|\bone's own\b|\bwho must\b": "you, your own, if you must",
    r"\bknown about\b": "with a flag",
    r"\b[Mm]end(s|ed|ing)?\b": "imputed, corrected",
    r"sheets? of orders|order sheet": "orders",
    r"\bbank_?\b": "scenarios",
    r"look_on_purpose|look(s|ing|ed)? on purpose|--look\b": "exploration",
    r"\b(this|a|every|each|other) room\b(?! )": "package",
    r"_telling|describe_plainly|words_for": "report data, summary, labels",
}


LINES = [
    (f"{path.relative_to(SOURCE)}:{number}", line.strip())
    for path in sorted(SOURCE.rglob("*"))
    if path.suffix in {".py", ".css", ".js", ".html"}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]


@pytest.mark.parametrize("words", INSTEAD)
def test_private_words_are_not_used(words):
    pattern = re.compile(words)
    found = [f"{place}: {line}" for place, line in LINES if pattern.search(line)]
    assert not found, f"say {INSTEAD[words]}:\n" + "\n".join(found)
