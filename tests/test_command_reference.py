"""The reference of the command line is made from the commands: every option stands in it once."""

import importlib.util
import re
from pathlib import Path

import pytest
import typer

from unmet.cli.main import app

DOCS = Path(__file__).parent.parent / "docs"
COMMANDS = typer.main.get_command(app).commands


@pytest.fixture(scope="module")
def conf():
    spec = importlib.util.spec_from_file_location("settings_of_docs", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sections(conf):
    source = [(DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")]
    assert source[0].count(conf.COMMANDS) == 1
    conf.fill_commands(None, "reference/command-line", source)
    assert conf.COMMANDS not in source[0]
    _, *parts = re.split(r"^## `unmet (\w+)`$", source[0], flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_command_has_a_section(sections):
    assert list(sections) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_one_row_with_its_help(sections, name):
    rows = re.findall(r"^\| (`.*) \| (.*) \| (.*) \|$", sections[name], re.M)
    words = [re.findall("`([^`]+)`", cell) for cell, _, _ in rows]
    expected = [[*each.opts, *each.secondary_opts] for each in COMMANDS[name].params]
    named = [[word.strip("[]").lower() for word in each] for each in words]
    assert named == expected
    assert [text for _, text, _ in rows] == [each.help for each in COMMANDS[name].params]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_have_options_of_their_command(sections, name):
    known = {word for each in COMMANDS[name].params for word in each.opts + each.secondary_opts}
    for line in re.findall(rf"^unmet {name} .*$", sections[name].partition("```sh")[2], re.M):
        used = set(re.findall(r"(?<= )--?[a-z][-a-z]*", line.partition(";")[0]))
        assert used <= known, line


def test_no_option_is_listed_by_hand():
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert not re.search(r"^\| `?--", page, re.M)


def test_other_pages_stay_as_they_are(conf):
    source = [conf.COMMANDS]
    conf.fill_commands(None, "index", source)
    assert source == [conf.COMMANDS]
