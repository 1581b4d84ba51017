"""Notes: those that concern most money come first, and no more than three without --details."""

import pytest
from sales_panel import sales_panel

from unmet.cli.main import run
from unmet.cli.output import MAX_NOTES, show_notes
from unmet.errors import Note

LAST = "information"
NOTES = (LAST, Note("few rows left out", 0.001), Note("orders may change"), Note("half", 0.5))


def printed(capsys):
    return [line.removeprefix("note: ") for line in capsys.readouterr().err.splitlines()]


def test_money_then_orders_then_data_then_information(capsys):
    show_notes(NOTES)
    assert printed(capsys) == ["half", "orders may change", "few rows left out", LAST]


def test_three_are_printed_and_the_others_counted(capsys):
    show_notes((*NOTES, LAST), details=False)
    assert printed(capsys) == [
        "half",
        "orders may change",
        "few rows left out",
        "1 more note: add --details to read it.",
    ]
    show_notes(("a", *NOTES), details=False)
    assert printed(capsys)[MAX_NOTES:] == ["2 more notes: add --details to read them."]
    show_notes(NOTES[:MAX_NOTES], details=False)
    assert len(printed(capsys)) == MAX_NOTES


@pytest.mark.parametrize("details", [False, True])
def test_details_of_a_plan(tmp_path, monkeypatch, capsys, details):
    monkeypatch.chdir(tmp_path)
    table = sales_panel([20, 30], 60)
    cells = table["sales"].cast(str).to_list()
    cells[3], cells[9] = "closed", None
    rows = zip(table["date"], table["item"], cells, range(table.height), strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    (tmp_path / "sales.csv").write_text("\n".join(["date,item,sales,promo", *lines]) + "\n")
    words = ["plan", "sales.csv", "--model", "linear", "--horizon", "2"]
    assert run([*words, *(["--details"] if details else [])]) == 0
    shown = capsys.readouterr()
    notes = [line for line in shown.err.splitlines() if line.startswith("note: ")]
    assert (len(notes) > MAX_NOTES) == details
    assert ("add --details to read" in shown.err) != details
    assert ("cost per day" in shown.out) == details
    assert any("the first in row 5" in note for note in notes) or not details


def test_a_note_is_text_in_files_and_json():
    note = Note("a", 0.5)
    assert (note, note.share, isinstance(note, str)) == ("a", 0.5, True)
