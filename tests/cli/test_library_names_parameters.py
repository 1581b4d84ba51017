"""The library names parameters; the command line puts its options in their place."""

import ast
import re
from pathlib import Path

import pytest

import unmet
from unmet.cli import orders
from unmet.cli.options import takes_words
from unmet.cli.output import as_options, know_options

SOURCE = Path(unmet.__file__).parent
SPOKEN = r"[\s(]--[a-z]"


def sentences(path):
    """Strings of a file that are not docstrings."""
    text = path.read_text(encoding="utf-8")
    if not re.search(SPOKEN, text):
        return
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_no_string_of_the_library_names_an_option():
    files = [path for path in SOURCE.rglob("*.py") if "cli" not in path.relative_to(SOURCE).parts]
    assert [text for path in files for text in sentences(path) if re.search(SPOKEN, text)] == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("lead_time must be whole, got 1.5.", "--lead-time must be whole, got 1.5."),
        ("Say so (gaps='zero'), or (known_future=).", "Say so (--gaps zero), or (--known-future)."),
        ("lot must be positive.", "--step must be positive."),
        ("Each series must have one row per day.", "Each series must have one row per day."),
        ("columns['stock'] must be numbers.", "--stock must be numbers."),
        ("max_rows must be at least 1.", "max_rows must be at least 1."),
    ],
)
def test_parameters_become_options(said, shown):
    know_options(takes_words(orders.replenish, orders.REPLENISH))
    assert as_options(said) == shown
