"""Files as people write them: the right numbers or one sentence, never silently wrong ones."""

import csv
import datetime
import io
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.planning import read_table
from unmet.tables.reading import read_file


@pytest.fixture
def write(tmp_path):
    def make(content, name="sales.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return make


def rows(path, **options):
    return read_table(path, **options).rows()


# --- Points and commas.


def test_a_point_beside_decimal_commas_is_a_thousand(write):
    path = write("day;sales;price\n1;1.501;2,5\n2;980;3\n")
    assert rows(path) == [(1, 1501, 2.5), (2, 980, 3.0)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234,5", "7"], [1234.5, 7.0]),
        (["1,234.5", "7"], [1234.5, 7.0]),
        (["1.234.567", "1"], [1234567, 1]),
        (["1,234,567", "1"], [1234567, 1]),
        (["1 234", "5"], [1234, 5]),
        (["1 234,5", "-1,5"], [1234.5, -1.5]),
        (["1'234.5", "+1.5"], [1234.5, 1.5]),
        (["1\u00a0234,5", "1\u202f000"], [1234.5, 1000.0]),
        (["0.501", "1.501"], [0.501, 1.501]),
        (["1234.567", "1.501"], [1234.567, 1.501]),
        ([",5", "1.501"], [0.5, 1501.0]),
        (["1,5e3", "2"], [1500.0, 2.0]),
        # no numbers at all
        (["1.23.4", "2"], None),
        (["1,2,3", "2"], None),
        (["12.34.56", "2"], None),
        (["1.501 kg", "2"], None),
        (["1..5", "2"], None),
        (["10:30", "2"], None),
    ],
)
def test_signs_in_numbers(write, cells, expected):
    found = read_table(write("a|b\n" + "".join(f"{cell}|x\n" for cell in cells)))["a"].to_list()
    assert found == (cells if expected is None else expected)


@pytest.mark.parametrize(
    ("decimal", "expected"), [(".", [(1.501, 2, "2,5")]), (",", [(1501, 2, 2.5)])]
)
def test_the_decimal_sign_can_be_told(write, decimal, expected):
    path = write("a;b;c\n1.501;2;2,5\n")
    assert rows(path, decimal=decimal) == expected


def plain(number, decimal, thousands):
    """A number as spreadsheets show it; independent of what reads it."""
    whole, _, part = f"{abs(number):f}".partition(".")
    groups = []
    while whole:
        groups.append(whole[-3:])
        whole = whole[:-3]
    sign = "-" if number < 0 else ""
    return sign + thousands.join(reversed(groups)) + (decimal + part if part else "")


NUMBERS = st.decimals(-(10**7), 10**7, places=2) | st.decimals(-(10**4), 10**4, places=3)
NUMBERS |= st.integers(-(10**6), 10**6).map(Decimal)
DIALECTS = [
    (decimal, thousands, separator, encoding)
    for decimal, thousands in [
        *((".", each) for each in ("", ",", " ", "'", "\u00a0")),
        *((",", each) for each in ("", ".", " ", "'", "\u00a0")),
    ]
    for separator in (",", ";", "\t", "|")
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252")
]


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6),
    st.sampled_from(DIALECTS),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([(Decimal(1501), Decimal(2), Decimal(3))], (",", ".", ";", "utf-8"), False)
@example([(Decimal("1.501"), Decimal(2), Decimal(3))], (".", "", ",", "utf-8"), False)
def test_numbers_come_back_or_are_refused(tmp_path, table, dialect, told):
    """Whatever the dialect: what is written is read, or somebody is asked, and only if need be."""
    decimal, thousands, separator, encoding = dialect
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator="\r\n")
    writer.writerow(["größe", "sales", "price", "note"])
    cells = [[plain(number, decimal, thousands) for number in row] for row in table]
    writer.writerows([*row, "café"] for row in cells)
    path = tmp_path / "numbers.csv"
    path.write_bytes(stream.getvalue().encode(encoding))
    try:
        found = read_table(path, decimal=decimal if told else None)
    except InvalidInput:
        assert not told
        # nobody could tell: each sign is followed by three digits, after one to three
        for column in zip(*cells, strict=True):
            for cell in column:
                parts = cell.lstrip("-").replace(",", ".").split(".")
                assert len(parts) <= 2
                assert len(parts) == 1 or (len(parts[1]) == 3 and 1 <= len(parts[0]) <= 3)
        return
    assert found.columns == ["größe", "sales", "price", "note"]
    assert found["note"].to_list() == ["café"] * len(table)
    for column, name in enumerate(found.columns[:3]):
        expected = [float(row[column]) for row in table]
        assert found[name].cast(pl.Float64).to_list() == pytest.approx(expected, rel=1e-12)


# --- Encodings.


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("far", [False, True])
def test_encodings(write, encoding, far):
    above = "Ulm;1,5;5\n" * (30_000 if far else 1)
    path = write(f"Stadt;Preis €;Stück\n{above}München;2,5;1.501\n", encoding=encoding)
    found = read_file(path)
    assert found.table.columns == ["Stadt", "Preis €", "Stück"]
    assert found.table.row(-1) == ("München", 2.5, 1501)
    assert ("cp1252" in "".join(found.notes)) == (encoding == "cp1252")


def test_a_strange_character_far_below(write):
    path = write(b"a,b\n" + b"x,2\n" * 20000 + b"M\xfcnchen,2\n")
    found = read_file(path)
    assert found.table["a"][-1] == "München"
    assert found.notes == ("sales.csv was read as Windows text (cp1252), because it is not UTF-8.",)


# --- Lines above the header.

BODY = "day;item;sales;price\n2024-05-01;rye;5;1,5\n2024-05-02;rye;6;2\n"


@pytest.mark.parametrize(
    ("above", "count"),
    [
        ("", 0),
        ("Sales in May\n", 1),
        ("Sales, in May\n", 1),
        ("Sales in May;;;\n", 1),
        ("Sales in May\n\nStore 3, all items\n\n", 4),
        ("Store:;3;;\nMonth:;May 2024;;\n;;;\n", 3),
        ('"Sales\nin May"\n', 2),
        ("sep=;\n", 1),
        ("\n", 1),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_title_lines(write, above, count, encoding):
    path = write(above + BODY, encoding=encoding)
    found = read_file(path)
    assert found.table.columns == ["day", "item", "sales", "price"]
    assert found.table["sales"].to_list() == [5, 6]
    assert found.table["price"].to_list() == [1.5, 2.0]
    assert found.dialect.title_lines == count
    assert len(found.notes) == (1 if count else 0)


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,,,b\n1,2,3,4\n5,6,7,8\n", 4),  # names that lack are no title
        ("2023;2024\n1;2\n3;4\n", 2),  # years may be names
        ("a;b\nx;y\n1;2\n", 2),  # words below a header are values
        ("a,b\n3\n1,2\n", 2),  # a short first row
        ("a\n1\n2\n", 1),
    ],
)
def test_no_row_is_lost_for_a_title(write, content, columns):
    found = read_table(write(content))
    assert found.width == columns
    assert found.height == content.count("\n") - 1


# --- Excel.


def workbook(path, sheets, at=(0, 0)):
    """Sheets of lists of cells, the first cell at a place."""
    excel = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    with excel.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, lines in sheets.items():
            order_table = book.add_worksheet(name)
            for row, line in enumerate(lines):
                for column, cell in enumerate(line):
                    if cell is not None:
                        order_table.write(row + at[0], column + at[1], cell)
    return path


ORDER_COLUMNS = [
    ["day", "store", "sales", "price", "note"],
    [datetime.date(2024, 5, 1), "007", 5, 1.5, "1.501"],
    [datetime.date(2024, 5, 2), "008", 6, 2, "2,5"],
    [datetime.date(2024, 5, 3), "008", None, 2.25, None],
]
EXPECTED = [
    (datetime.date(2024, 5, 1), "007", 5, 1.5, 1501.0),
    (datetime.date(2024, 5, 2), "008", 6, 2.0, 2.5),
    (datetime.date(2024, 5, 3), "008", None, 2.25, None),
]


@pytest.mark.parametrize("above", [[], [["Sales in May"]], [["Sales"], [], ["Store", "north"]]])
@pytest.mark.parametrize("at", [(0, 0), (3, 2)])
def test_excel(tmp_path, above, at):
    path = workbook(tmp_path / "sales.xlsx", {"May": above + ORDER_COLUMNS}, at)
    found = read_file(path)
    assert found.table.columns == ORDER_COLUMNS[0]
    assert found.table.rows() == EXPECTED
    assert len(found.notes) == (1 if above else 0)


def test_columns_of_the_same_name(tmp_path):
    """A merged cell above them tells them apart, else their number does."""
    lines = [["May"], ["", "north", "", "south"], ["day", "tea", "bun", "tea"], ["Mon", 1, 2, 3]]
    read = read_file(workbook(tmp_path / "a.xlsx", {"May": lines}))
    assert read.table.columns == ["day", "north tea", "bun", "south tea"]
    path = tmp_path / "a.csv"
    path.write_text('day, day,"say ""a""",day\n1,2,3,4\n')
    read = read_file(path)
    assert read.table.columns == ["day", "day (2)", 'say "a"', "day (3)"]
    assert read.notes == ("Columns with the same name were renamed: 'day (2)', 'day (3)'.",)


def test_a_sheet_for_each_store(tmp_path):
    """Sheets with the same columns are one table; a cover is none."""
    sheets = {
        place: [["day", "sold"], *[[f"2024-05-{day:02d}", day * times] for day in range(1, 29)]]
        for place, times in (("north", 1), ("south", 2))
    }
    cover = {"cover": [["Sales"], ["by", "Ann"]]}
    read = read_file(workbook(tmp_path / "a.xlsx", cover | sheets))
    assert read.notes == ("All 2 sheets of a.xlsx with the same columns were read.",)
    assert read.table.group_by("sheet").agg(pl.col("sold").sum()).sort("sheet").rows() == [
        ("north", 406),
        ("south", 812),
    ]
    twice = {"north": sheets["north"], "copy": sheets["north"]}
    read = read_file(workbook(tmp_path / "b.xlsx", cover | twice))
    assert read.table.height == 28
    assert read.notes == ("Only sheet 'north' of b.xlsx was read: name another one (sheet=).",)


def test_excel_with_several_sheets(tmp_path):
    path = workbook(tmp_path / "sales.xlsx", {"May": ORDER_COLUMNS, "June": [["a"]]})
    assert read_file(path).notes == (
        "Only sheet 'May' of sales.xlsx was read: name another one (sheet=).",
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "must have a table in sheet 'May', got an empty sheet"),
        ([["a", "b"]], "must have at least one row below its header"),
        ([["a", "b"], [1, "1.501"]], "'1.501' in column 'b', which is 1.501 or 1501"),
    ],
)
def test_excel_that_is_no_table(tmp_path, lines, words):
    path = workbook(tmp_path / "sales.xlsx", {"May": lines})
    with pytest.raises(InvalidInput) as error:
        read_table(path)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("a.csv", {"encoding": "klingon"}, "encoding must be a known one"),
        ("a.csv", {"encoding": "base64"}, "encoding must be a known one"),
        ("a.csv", {"encoding": "utf-8"}, r"encoding must be that of"),
        ("a.csv", {"sheet": "May"}, r"which is no Excel file"),
        ("a.parquet", {"encoding": "utf-8"}, r"which is no text file"),
    ],
)
def test_wrong_sheets_and_encodings(write, name, options, sentence):
    path = write("a;b\nM\u00fcnchen;1\n", name, encoding="cp1252")
    with pytest.raises(InvalidInput, match=sentence):
        read_file(path, **options)
