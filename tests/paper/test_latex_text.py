"""Text of tables in LaTeX: it comes out as text, and nothing of it is a command."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paper.printing import Column, Table, escape

# What TeX makes of a control sequence that a text may become; `None` for mathematics.
SPOKEN = {
    r"\textbackslash": "\\",
    r"\textasciitilde": "~",
    r"\textasciicircum": "^",
    r"\&": "&",
    r"\%": "%",
    r"\$": "$",
    r"\#": "#",
    r"\_": "_",
    r"\{": "{",
    r"\}": "}",
}
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|.", re.DOTALL)
HOSTILE = [
    r"\input{/etc/passwd}",
    r"\write18{touch ran}",
    r"\end{tabular}\input{x}",
    "100% of $x_1$ & #2 ^^5cinput ~ {a}",
    "^^5cinput{x}",
    "a\n\n\\par b",
    "[4ex] a",
    " *",
    "%",
    "$",
    "\\",
]
signs = st.sampled_from([*"\\{}$&#^_~%[]*<>|-'\"` abcinput/\n\t\x00", r"\input", "{/etc/passwd}"])
texts = st.lists(signs, max_size=25).map("".join)


def read_by_tex(source: str) -> str:
    """Printed text, as TeX's reading of characters has it; anything it would obey is an error.

    Catcodes as in a document: \\ begins a command, { } groups, $ mathematics, & cells, # arguments,
    ^ and _ are for mathematics only, ~ and % are read.
    """
    printed, depth, mathematics = [], 0, False
    skip_space = False
    for token in TOKEN.findall(source):
        word = len(token) > 2 and token[0] == "\\"
        if skip_space and token == " ":
            continue
        skip_space = word
        if token == "$":
            mathematics = not mathematics
        elif token in ("{", "}"):
            depth += 1 if token == "{" else -1
            assert depth >= 0, "a group is closed that was not opened"
        elif mathematics:
            assert token in ("<", ">", "|", "^", "*"), token
            printed.append("" if token == "^" else token)
        elif token[0] == "\\":
            assert token in SPOKEN, f"TeX would obey {token}"
            printed.append(SPOKEN[token])
        else:
            assert token not in "&#^_~%", f"TeX would read {token} as a sign of its own"
            printed.append(token)
    assert depth == 0
    assert not mathematics
    return "".join(printed)


@given(texts)
@example(r"\input{/etc/passwd}")
@example("1.3 (1.0, 1.6)***")
@example("x)^*")
def test_any_text_comes_out_as_it_was(text):
    expected = re.sub(r"[\x00-\x1f]+", " ", text)
    assert read_by_tex(escape(text)) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_a_table_of_hostile_text_is_a_table(text):
    table = Table(
        "label",
        text,
        (Column(text), Column("cost", ".1f"), Column(text)),
        ((text, 1.5, text), (text, 2.5, text)),
        (text,),
    )
    lines = table.as_latex().splitlines()
    rows = [line for line in lines if line.endswith((r" \\", r" \\ \midrule"))]
    assert len(rows) == 3
    expected = re.sub(r"[\x00-\x1f]+", " ", text)
    for row in rows:
        # a row that began with these would be an option of the line break before it
        assert not row.lstrip().startswith(("[", "*"))
        cells = re.split(r"(?<!\\) & ", re.sub(r" \\\\( \\midrule)?$", "", row))
        assert len(cells) == 3
        assert read_by_tex(cells[0]) == read_by_tex(cells[2]) == expected
    caption = next(line for line in lines if line.startswith(r"\caption{"))
    assert read_by_tex(caption[len(r"\caption{") : -1]) == expected
    note = next(line for line in lines if line.startswith(r"\par"))
    assert read_by_tex(note.partition(" ")[2]) == expected
    assert len(lines) == 15
