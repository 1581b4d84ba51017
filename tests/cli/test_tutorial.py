"""The planner's tutorial is true: its commands run, and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from unmet.cli.main import run
from unmet.planning import example

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def commands():
    """Each command of the page with the lines that it shows below."""
    found = []
    for block in BLOCKS:
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def shown(line):
    """A pattern for a line of the page: … stands for anything in a line."""
    return ".*".join(re.escape(part) for part in line.split("…"))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The folder that `unmet demo` leaves behind, tables only."""
    tables = example()
    tables.sales.write_csv(tmp_path / "sales.csv")
    tables.coming.write_csv(tmp_path / "next_quarter.csv")
    tables.truth.write_csv(tmp_path / "truth.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_commands_print_what_the_page_shows(shop, capsys):
    pytest.importorskip("optuna")  # the published ε is searched
    for line, wanted in commands():
        program, *words = shlex.split(line)
        assert program == "unmet"
        assert run(words) == 0, line
        out, err = capsys.readouterr()
        printed = out + err
        for text in wanted:
            if text.strip() != "…":
                assert re.search(f"^{shown(text)}$", printed, re.M), f"{line}\n{text}\n{printed}"
    assert (shop / "orders.csv").exists()
    assert (shop / "report.html").exists()


def test_page_goes_through_all_commands_of_a_planner():
    used = {line.split()[1] for line, _ in commands()}
    assert used == {"plan", "diagnose", "fit", "decide", "evaluate", "compare"}


def test_first_table_shows_rows_of_the_example():
    row = r"^\| (2015-\S+) \|.*\| (\w+) \| (\d+) \| (\w+) \| (\d+) \|$"
    shown_rows = re.findall(row, PAGE.read_text(encoding="utf-8"), re.M)
    sales = example().sales
    known = {
        (str(date), dish, str(sold), str(flag).lower(), f"{stock:g}")
        for date, dish, sold, flag, stock in sales.select(
            "date", "dish", "sales", "sold_out", "stock"
        ).iter_rows()
        if stock is not None
    }
    assert len(shown_rows) == 2
    assert set(shown_rows) <= known
