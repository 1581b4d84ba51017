"""Files that people have: dialects, missing markers, and one sentence for what is no table."""

import datetime
import gzip
import string

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.planning import OrderPlan, read_table
from unmet.tables.dialect import MISSING, with_types
from unmet.tables.reading import SUFFIXES


@pytest.fixture
def write(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a.csv", "a;b\n1,5;x\n2;y\n", {"a": [1.5, 2.0], "b": ["x", "y"]}),
        ("a.tsv", "a\tb\n1.5\tx\n", {"a": [1.5], "b": ["x"]}),
        ("a.txt", "a|b\n-1|x\n", {"a": [-1], "b": ["x"]}),
        ("A.CSV", "a,b\r\n1,2\r\n", {"a": [1], "b": [2]}),
        ("bom.csv", b'\xef\xbb\xbf"a",b\n1,2\n', {"a": [1], "b": [2]}),
        ("z.csv.gz", gzip.compress(b"a,b\n1,x\n", mtime=0), {"a": [1], "b": ["x"]}),
        ("quoted.csv", 'a,b\n"one\ntwo",2\n"x, y",3\n', {"a": ["one\ntwo", "x, y"], "b": [2, 3]}),
        ("header.csv", '"a;b;c",d\n1,2\n', {"a;b;c": [1], "d": [2]}),
        ("header2.csv", '"a,b,c";d\n1,5;2\n', {"a,b,c": [1.5], "d": [2]}),
        ("index.csv", ",a\n0,5\n1,6\n", {"": [0, 1], "a": [5, 6]}),
        ("one.csv", "a\n1\n2\n", {"a": [1, 2]}),
        ("spaces.csv", " a , b\n1 , 2\n3, NA\n", {"a": [1, 3], "b": [2, None]}),
        ("truths.csv", "a,b\ntrue,1\nFalse,2\n", {"a": [True, False], "b": [1, 2]}),
        ("blank.csv", "a,b\n\n1,2\n,\n3,4\n\n", {"a": [1, 3], "b": [2, 4]}),
        ("short.csv", "a,b\n1,2\n3\n", {"a": [1, 3], "b": [2, None]}),
        ("mixed.csv", "a;b\n1,500;2.5\n1,250;3.5\n", {"a": [1500, 1250], "b": [2.5, 3.5]}),
        ("thousand.csv", 'a,b\n"1,500",2.5\n', {"a": [1500], "b": [2.5]}),
        ("science.csv", "a,b\n1e3,inf\n2,1\n", {"a": [1000.0, 2.0], "b": [float("inf"), 1.0]}),
    ],
)
def test_dialects(write, name, content, expected):
    assert read_table(write(name, content)).to_dict(as_series=False) == expected


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None"])
def test_missing_markers(write, marker):
    table = read_table(write("a.csv", f"n,t,k\n1.5,x,1\n{marker},{marker},2\n"))
    assert table.rows() == [(1.5, "x", 1), (None, None, 2)]


def test_a_text_in_the_last_row_and_a_late_decimal_comma(write):
    rows = "1;2\n" * 5000
    table = read_table(write("late.csv", f"a;b\n{rows}x;2,5\n"))
    assert table["a"].dtype == pl.String
    assert table["a"][-1] == "x"
    assert read_table(write("b.csv", f"a;b\n{rows[:4000]}1;2,5\n"))["b"][-1] == 2.5


def test_dates_are_recognised_only_where_there_is_no_doubt(write):
    table = read_table(
        write(
            "a.csv",
            "iso,moment,mixed,german\n"
            "2024-05-31,2024-05-31 10:30:00,2024-05-31,31.05.2024\n"
            "2024-06-01,2024-06-01T11:00:00,soon,01.06.2024\n",
        )
    )
    assert table["iso"].to_list() == [datetime.date(2024, 5, 31), datetime.date(2024, 6, 1)]
    assert table["moment"][1] == datetime.datetime(2024, 6, 1, 11)
    assert table["mixed"].to_list() == ["2024-05-31", "soon"]
    assert table["german"].to_list() == ["31.05.2024", "01.06.2024"]


def test_columns_can_be_kept_as_text(write):
    path = write("a.csv", "store,n\n7, 1\nNA,2\n")
    assert read_table(path)["store"].to_list() == [7, None]
    kept = read_table(path, text=["store", "n", "unknown"])
    assert kept.to_dict(as_series=False) == {"store": ["7", None], "n": ["1", "2"]}


def test_parquet_keeps_types_and_nan_becomes_missing(tmp_path):
    table = pl.DataFrame(
        {"a": [1.0, float("nan")], "d": [datetime.date(2024, 5, 31)] * 2, "t": ["x", None]}
    )
    for suffix in (".parquet", ".pq"):
        table.write_parquet(tmp_path / f"a{suffix}")
        read = read_table(tmp_path / f"a{suffix}")
        assert read.schema == table.schema
        assert read["a"].to_list() == [1.0, None]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "must have a table, got an empty file"),
        ("a.csv", "\n\n", "cannot be read as CSV"),
        ("a.csv", "a,b\n", "must have at least one row below its header, got none"),
        ("a.csv", b"\x00\x01\x02", "must be a text file, got binary data"),
        ("a.csv", b"a,b\nM\x9dnchen,2\n", "save it as 'CSV UTF-8'"),
        ("a.csv", b"a,b\n" + b"x,2\n" * 20000 + b"M\x9dnchen,2\n", "save it as 'CSV UTF-8'"),
        ("a.csv", "a,b\nx,2\n".encode("utf-16")[:-1], "save it as 'CSV UTF-8'"),
        ("a.csv", "a;b\n1.501;2\n", "'1.501' in column 'a', which is 1.501 or 1501: name it"),
        ("a.csv", 'a,b\n2,"1,500"\n', "'1,500' in column 'b', which is 1500 or 1.5: name it"),
        ("a.csv", "a;b\n2.5;3,5\n", "got '2.5' in column 'a' and '3,5' in column 'b': name it"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", "cannot be read as CSV"),
        ("a.csv.gz", "a,b\n1,2\n", "cannot be read as CSV: Not a gzipped file"),
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,x\n" * 100000, mtime=0)[:-200], "cannot be read"),
        ("a.parquet", "a,b\n1,2\n", "cannot be read as Parquet"),
        ("a.ods", "a,b\n1,2\n", "must end in .csv"),
    ],
)
def test_what_is_no_table_gets_one_sentence(write, name, content, words):
    path = write(name, content)
    with pytest.raises(InvalidInput) as error:
        read_table(path)
    assert str(path) in str(error.value)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_and_absent_files(tmp_path):
    with pytest.raises(InvalidInput, match="got a folder"):
        read_table(tmp_path)
    with pytest.raises(InvalidInput, match="no such file"):
        read_table(tmp_path / "absent.csv")
    assert set(SUFFIXES) >= {".csv", ".parquet"}


CELLS = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.text(string.ascii_letters, min_size=1, max_size=3).filter(lambda text: text not in MISSING),
)


@given(st.lists(CELLS, min_size=1, max_size=12))
def test_types_agree_with_python(cells):
    def number(cell):
        try:
            return float(cell)
        except ValueError:
            return None

    seen = [cell for cell in cells if cell is not None]
    table, _ = with_types(pl.DataFrame({"a": pl.Series(cells, dtype=pl.String)}), decimal=".")
    found = table["a"]
    assert [entry is None for entry in found] == [cell is None for cell in cells]
    words = {cell.lower() for cell in seen}
    if seen and all(number(cell) is not None and cell[0] in "-0123456789" for cell in seen):
        assert found.dtype.is_numeric()
        assert found.drop_nulls().to_list() == [number(cell) for cell in seen]
    elif seen and words <= {"true", "false"}:
        assert found.dtype == pl.Boolean
    elif not (words & {"inf", "nan"}):
        assert found.to_list() == cells


class TestTablesOfPandas:
    """Columns have any names, and dates may be in the index."""

    def rows(self):
        pd = pytest.importorskip("pandas")
        days = pd.date_range("2024-01-01", periods=30)
        return pd.DataFrame(
            {
                "item": ["tea"] * 30 + ["jam"] * 30,
                "date": [*days, *days],
                "sales": [place % 7 + 3 for place in range(60)],
            }
        )

    def check(self, table, items=("jam", "tea")):
        plan = OrderPlan(model="seasonal").fit(table)
        key = plan.schema_.series[0]
        assert sorted(set(plan.orders()[key])) == [*items]
        assert type(plan.orders()) is type(table)

    def test_names_may_be_numbers_or_come_again(self):
        rows = self.rows()
        self.check(rows.set_axis([0, 1, 2], axis=1))
        for names in (["item", "date", "sales", "sales"], ["item", "date", "sales", "item"]):
            self.check(rows.assign(more=rows["sales"]).set_axis(names, axis=1))

    def test_names_may_have_levels(self):
        import pandas as pd

        rows = self.rows()
        names = [("key", "item"), ("key", "date"), ("amount", "sales")]
        self.check(rows.set_axis(pd.MultiIndex.from_tuples(names), axis=1))
        names = [("table", name) for name in rows]
        self.check(rows.set_axis(pd.MultiIndex.from_tuples(names), axis=1))

    def test_dates_may_be_the_index(self):
        import pandas as pd

        rows = self.rows()
        self.check(rows.set_index("date"))
        self.check(rows.set_index("date").rename_axis(None))
        self.check(rows.set_index(["item", "date"]))
        more = rows.assign(item=rows["item"] + " green")
        table = pd.concat([rows, more[more["item"] == "tea green"]])
        wide = table.pivot_table(index="date", columns="item", values=["sales"])
        self.check(wide, ("jam", "tea", "tea green"))

    def test_dates_may_be_periods_or_have_a_zone(self):
        rows = self.rows()
        self.check(rows.assign(date=rows["date"].dt.to_period("D")))
        self.check(rows.assign(date=rows["date"].dt.tz_localize("Europe/Berlin")))
