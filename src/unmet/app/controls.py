"""The side of the page: which file, which problem, which column is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app.guessing import MOST_MEGABYTES, guess_plan, guess_truth, read_upload
from unmet.app.whatif import Assumed
from unmet.bands.diagnosis import RATES
from unmet.errors import InvalidInput
from unmet.planning import EXAMPLE, PARTS, Example, example
from unmet.report.words import words_for

if TYPE_CHECKING:
    import polars


PROBLEMS = {"newsvendor": "Orders", "pricing": "Prices", "replacement": "Ages of replacement"}
_OBSERVED = {
    "newsvendor": "What was sold",
    "pricing": "Offered price",
    "replacement": "Time in service",
}
_FLAGS = {
    "newsvendor": {"censored_column": "Sold out: yes or no"},
    "pricing": {"accepted_column": "Offer accepted: yes or no"},
    "replacement": {
        "censored_column": "Had not failed: yes or no",
        "failed_column": "Had failed: yes or no",
    },
}
_KINDS = ["csv", "tsv", "txt", "gz", "parquet", "pq"]
_NONE = "–"
LAST_ROWS = 100  # decided on where nobody says which rows are to come


@dataclass(frozen=True)
class Choice:
    """Tables and columns that were chosen.

    Attributes
    ----------
    table, coming : polars.DataFrame
        Rows to learn from and to decide on.
    words : dict
        Of a `Plan`, without costs.
    truth : str or None
        Column of `coming`.
    names : tuple of two str
        Of the files.
    key : str
        Tells whether anything must be learned anew.
    about : str
        What is decided on, in words.
    problem : str
    all_rows : bool
        Whether to learn from all rows, however long it takes.
    largest_cost : float
        Where sliders of costs end.
    """

    table: polars.DataFrame
    coming: polars.DataFrame
    words: dict[str, Any]
    truth: str | None
    names: tuple[str, str]
    key: str
    about: str
    problem: str
    all_rows: bool
    largest_cost: float


@st.cache_data(max_entries=6, show_spinner="Reading the file …")
def _read(name: str, data: bytes) -> polars.DataFrame:
    return read_upload(name, data)


@st.cache_resource
def _example() -> Example:
    return example()


def choose() -> Choice:
    """Ask for files and columns."""
    limit = f"CSV or Parquet, at most {MOST_MEGABYTES} MB. It stays on this computer."
    st.header("Data", divider="gray")
    past = st.file_uploader(
        "What was observed", _KINDS, help=limit, key="past", max_upload_size=MOST_MEGABYTES
    )
    if past is None:
        st.caption("No file yet: a bundled restaurant is shown, five dishes over two years.")
        _offer_example()
        return _columns_of_example()
    table = _read(past.name, past.getvalue())
    coming = st.file_uploader(
        "Rows to decide on (optional)",
        _KINDS,
        help=f"With the same features. {limit}",
        key="coming",
        max_upload_size=MOST_MEGABYTES,
    )
    key = sha256(past.getvalue()).hexdigest()
    if coming is None:
        rows = table.tail(LAST_ROWS)
        about = f"the last {rows.height:,} rows of {past.name}, as if they were to come"
        return _columns(table, rows, (past.name, "next.csv"), key, about, known=False)
    rows = _read(coming.name, coming.getvalue())
    about = f"the {rows.height:,} rows of {coming.name}"
    return _columns(table, rows, (past.name, coming.name), key, about, known=True)


def _offer_example() -> None:
    """Let users see what such a file looks like."""
    tables = _example()
    for label, table, name in (
        ("sales.csv of the restaurant", tables.sales, "sales.csv"),
        ("next.csv, the rows to decide on", tables.truth, "next.csv"),
    ):
        st.download_button(
            label,
            table.write_csv,
            file_name=name,
            mime="text/csv",
            on_click="ignore",
            type="tertiary",
        )


def _columns_of_example() -> Choice:
    tables = _example()
    about = "the quarter that came next, 450 rows"
    names = ("sales.csv", "next.csv")
    return _columns(tables.sales, tables.truth, names, "example", about, known=True, start=EXAMPLE)


def _columns(
    table: polars.DataFrame,
    coming: polars.DataFrame,
    names: tuple[str, str],
    key: str,
    about: str,
    *,
    known: bool,
    start: dict[str, Any] | None = None,
) -> Choice:
    st.header("Columns", divider="gray")
    problem = st.selectbox("What is decided", list(PROBLEMS), format_func=PROBLEMS.__getitem__)
    guess = guess_plan(table, problem)
    if start is not None and problem == "newsvendor":
        guess = start
    ask = _Asking(table.columns, f"{key}-{problem}")
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    observed = ask.one(_OBSERVED[problem], "observed", guess, numeric)
    if observed is None:
        raise InvalidInput("Choose the column of what was observed.")
    others = [name for name in table.columns if name != observed]
    words: dict[str, Any] = {"observed": observed, "problem": problem}
    words["features"] = ask.many(
        "Features: what decisions may depend on", "features", guess, others
    )
    words["date"] = ask.one("Date", "date", guess, others)
    if words["date"] is not None:
        words["series"] = ask.many("Columns that tell series apart", "series", guess, others)
        words["calendar"] = ask.many("Made of the date", "calendar", guess, list(PARTS))
    if problem == "pricing":
        words["goal"] = st.selectbox(
            "Goal",
            ["cost", "revenue"],
            format_func={"cost": "least cost", "revenue": "most revenue"}.__getitem__,
        )
    with st.expander("Flags, stock and costs by row"):
        _further(ask, words, guess, others, numeric)
    truth = None
    if known:
        asked = _Asking(coming.columns, f"{key}-truth")
        truth = asked.one(
            "The truth, to judge by (optional)",
            "truth",
            {"truth": guess_truth(coming)},
            coming.columns,
        )
    all_rows = st.toggle(
        "Learn from all rows", help="Slower, and what the command line does.", key=f"{key}-all"
    )
    largest = st.number_input(
        "Largest cost on the sliders", 1.0, 1e9, 20.0, key=f"{problem}-largest"
    )
    return Choice(table, coming, words, truth, names, key, about, problem, all_rows, float(largest))


def _further(
    ask: _Asking,
    words: dict[str, Any],
    guess: dict[str, Any],
    others: list[str],
    numeric: list[str],
) -> None:
    """Ask for what most tables do not have."""
    problem = words["problem"]
    for role, label in _FLAGS[problem].items():
        words[role] = ask.one(label, role, guess, others)
    if problem == "newsvendor":
        words["stock_column"] = ask.one("What was in stock", "stock_column", guess, numeric)
    if problem != "replacement" and words.get("goal") != "revenue":
        for role, label in (("underage", "too little"), ("overage", "too much")):
            name = f"{role}_column"
            words[name] = ask.one(f"Cost of a unit {label}", name, guess, numeric)
    words["categories"] = ask.many(
        "Numbers that are categories", "categories", guess, list(words["features"])
    )


@dataclass(frozen=True)
class _Asking:
    """Asks for columns, starting from a guess; other data ask anew."""

    columns: Sequence[str]
    key: str

    def one(
        self, label: str, role: str, guess: dict[str, Any], options: Sequence[str]
    ) -> str | None:
        start = guess.get(role)
        index = options.index(start) if start in options else None
        found: str | None = st.selectbox(
            label, options, index, key=f"{self.key}-{role}", placeholder=_NONE
        )
        return found

    def many(
        self, label: str, role: str, guess: dict[str, Any], options: Sequence[str]
    ) -> tuple[str, ...]:
        start = [name for name in guess.get(role, ()) if name in options]
        return tuple(
            st.multiselect(label, options, start, key=f"{self.key}-{role}", placeholder=_NONE)
        )


# --- What one moves: costs, the assumed rate, and lots.

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
