"""What one moves: costs, the assumed rate, and lots."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from unmet.app.controls import Choice
from unmet.app.outcome import Assumed
from unmet.app.rates import RATES
from unmet.report.words import words_for

DATA_SAY = "let the data say"


@dataclass(frozen=True)
class Moved:
    """Where the sliders stand."""

    assumed: Assumed
    step: float | None
    lower: float | None


def move(choice: Choice, *, rates: bool) -> Moved:
    """Show the sliders that matter for the problem, and read them."""
    words: dict[str, float | None] = {}
    with st.container(border=True):
        *wide, fourth, fifth = st.columns([3, 3, 3, 1.2, 1.2], gap="medium")
        for place, (name, label, start) in zip(wide, _costs(choice), strict=False):
            with place:
                words[name] = _cost(choice, name, label, start)
        with wide[2]:
            rate = _rate(choice, rates)
        with fourth:
            step = st.number_input(
                "Lots of",
                0.0,
                1e9,
                1.0 if choice.problem == "newsvendor" else 0.0,
                key=f"{choice.problem}-step",
                help="Decisions are multiples of this; 0 keeps fractions.",
            )
        with fifth:
            lower = st.number_input("At least", 0.0, 1e12, 0.0, key=f"{choice.problem}-lower")
    return Moved(Assumed(rate=rate, **words), step or None, lower)  # type: ignore[arg-type]


def _costs(choice: Choice) -> list[tuple[str, str, float]]:
    """Name, label and start of each cost that no column gives."""
    if choice.problem == "replacement":
        return [
            ("planned", "A planned replacement costs", 1.0),
            ("failure", "A failure costs", 8.0),
        ]
    if choice.words.get("goal") == "revenue":
        return [("unit_cost", "A unit costs us", 0.0)]
    low, high = (
        ("too low", "too high") if choice.problem == "pricing" else ("too little", "too much")
    )
    both = [
        ("underage", f"A unit {low} costs", 3.0),
        ("overage", f"A unit {high} costs", 1.0),
    ]
    return [each for each in both if choice.words.get(f"{each[0]}_column") is None]


def _cost(choice: Choice, name: str, label: str, start: float) -> float:
    largest = choice.largest_cost
    step = float(f"{largest / 200:.1g}")
    least = 0.0 if name == "unit_cost" else step
    key = f"{choice.problem}-{name}-{largest}"
    return float(st.slider(label, least, largest, min(start, largest), step, key=key))


def _rate(choice: Choice, possible: bool) -> float | None:
    if not possible:
        return None
    words = words_for(choice.problem)
    options: list[float | None] = [None, *RATES]
    found: float | None = st.select_slider(
        f"Assumed {words.rate}",
        options,
        None,
        key=f"{choice.key}-{choice.problem}-rate",
        help=f"The {words.rate_means}.",
        format_func=lambda rate: DATA_SAY if rate is None else f"{rate:.0%}",
    )
    return found
