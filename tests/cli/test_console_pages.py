"""README and quick start are true: their commands run, and print what the pages show."""

import re
import shlex
from pathlib import Path

import pytest

from unmet.cli.main import run
from unmet.planning import example

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def commands(path):
    """Each command of a page with the lines that it shows below."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip() != "…":
                found[-1][1].append(line)
    return found


def is_as(shown, printed):
    """Whether a line was printed as it is shown: … is any text, numbers may differ by 3%."""
    blank = ".*".join(re.escape(part) for part in NUMBER.sub("0", shown).split("…"))
    if not re.fullmatch(re.sub(r"(\\ )+", r"\\s+", blank), NUMBER.sub("0", printed).rstrip()):
        return False
    numbers = (map(float, NUMBER.findall(each.replace(",", ""))) for each in (shown, printed))
    return all(
        found == pytest.approx(value, rel=0.03) for value, found in zip(*numbers, strict=False)
    )


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The folder that `unmet demo` leaves behind, tables only."""
    tables = example()
    tables.sales.write_csv(tmp_path / "sales.csv")
    tables.coming.write_csv(tmp_path / "next_quarter.csv")
    tables.truth.write_csv(tmp_path / "truth.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["README.md", "docs/quick-start.md"])
def test_commands_print_what_the_page_shows(name, shop, capsys):
    found = commands(ROOT / name)
    assert found
    for line, wanted in found:
        program, *words = shlex.split(line)
        assert program == "unmet"
        assert run(words) == 0, line
        printed = "".join(capsys.readouterr()).splitlines()
        for text in wanted:
            assert any(is_as(text, each) for each in printed), f"{line}\n{text}\n{printed}"


def test_consoles_stand_only_where_they_are_tested():
    pages = [
        each for each in (ROOT / "docs").rglob("*.md") if "```console" in each.read_text("utf-8")
    ]
    assert [each.name for each in pages] == ["quick-start.md"]


def test_a_number_or_a_word_that_differs_is_seen():
    assert is_as("35 orders, 894 units …", "35 orders, 897 units = 694 usual sales")
    assert not is_as("35 orders, 894 units", "35 orders, 997 units")
    assert not is_as("35 orders, 894 units", "35 orders, 894 pieces")
