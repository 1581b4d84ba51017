"""Wrong uses of the command line: one sentence that names the culprit, and nothing written."""

import warnings

import numpy as np
import polars as pl
import pytest

from unmet import LinearDecision, Newsvendor
from unmet.cli.main import run
from unmet.persistence import save

FIT = ["--observed", "sales", "--features", "price,kind"]
COSTS = ["--underage", "3", "--overage", "1"]
PLAIN = ["fit", "sales.csv", *FIT, *COSTS, "--band", "none"]
PARTS = ["--problem", "replacement", "--observed", "sales", "--planned", "1", "--failure", "5"]


def sales():
    generator = np.random.default_rng(0)
    n_rows = 60
    price = generator.normal(10, 2, n_rows).round(2)
    return pl.DataFrame(
        {
            "day": [f"2024-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(n_rows)],
            "kind": generator.choice(["cold", "hot"], n_rows),
            "price": price,
            "sales": np.round(20 + 3 * price + generator.normal(0, 4, n_rows)),
            "nothing": [None] * n_rows,
            "maybe": ["yes", "perhaps"] * (n_rows // 2),
            "returns": [-4.0 if k == 7 else 20.0 + k for k in range(n_rows)],
        }
    )


@pytest.fixture(scope="module")
def stock_of_files(tmp_path_factory):
    """Files that wrong uses meet, as bytes by name."""
    folder = tmp_path_factory.mktemp("files")
    table = sales()
    table.write_csv(folder / "sales.csv")
    table.head(1).write_csv(folder / "one.csv")
    table.drop("kind").write_csv(folder / "lacking.csv")
    (folder / "doubt.csv").write_text("price;kind;sales\n1;hot;1.501\n2;cold;1.200\n")
    assert run([*PLAIN[:1], str(folder / "sales.csv"), *PLAIN[2:], "-o", str(folder / "m")]) == 0
    whole = (folder / "m").read_bytes()
    middle = len(whole) // 2
    changed = bytes([whole[middle] ^ 1])
    (folder / "tampered.unmet").write_bytes(whole[:middle] + changed + whole[middle + 1 :])
    X, y = table[["price"]].to_numpy(), table["sales"].to_numpy()
    save(LinearDecision(Newsvendor(3, 1)).fit(X, y), folder / "linear.unmet")
    ages = [
        *("fit", str(folder / "sales.csv"), "--problem", "replacement", "--observed", "sales"),
        *("--planned", "1", "--failure", "5", "-o", str(folder / "ages.unmet")),
    ]
    assert run(ages) == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path, stock_of_files, monkeypatch, capsys):
    for name, content in stock_of_files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return tmp_path


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def fit(*words, table="sales.csv", costs=COSTS):
    return ["fit", table, *FIT, *costs, *words]


def decide(*words, model="m", table="sales.csv"):
    return ["decide", model, table, *words]


def compare(*words):
    return ["compare", "sales.csv", *FIT, *COSTS, "--band", "none", *words]


def diagnose(*words, table="sales.csv"):
    return ["diagnose", table, *FIT, *words]


WRONG = [
    # the command line itself
    (["forecast"], "forecast"),
    (["fit", "sales.csv", *COSTS], "--observed"),
    (["evaluate", "m", "sales.csv"], "--truth"),
    (["decide", "m"], "'table'"),
    (fit("--underage", "dear"), "--underage"),
    # tables
    (fit(table="absent.csv"), "absent.csv"),
    (fit(table="doubt.csv"), "--decimal"),
    (fit(table="one.csv"), "at least"),
    # columns
    (fit("--observed", "nope"), "'nope'"),
    (fit("--date", "kind"), "'kind'"),
    (fit("--date", "day", "--calendar", "hour"), "'hour'"),
    (fit("--by", "sales"), "--by must not include the observation or its flags"),
    (fit("--censored-column", "maybe"), "'perhaps'"),
    # costs
    (fit(costs=["--overage", "1"]), "underage"),
    (["fit", "sales.csv", *PARTS[:4]], "--planned must be given"),
    (fit("--service-level", ".9"), "--service-level must not be given with --underage"),
    (
        ["fit", "sales.csv", *PARTS, "--service-level", ".9"],
        "--service-level must not be given with problem",
    ),
    # rows that cannot be
    (fit("--bad-rows", "ignore"), "--bad-rows"),
    (
        fit("--observed", "returns", "--bad-rows", "refuse"),
        "1 with 'returns' below 0, the first in row 9 (-4)",
    ),
    # model and band
    (fit("--problem", "lottery"), "'lottery'"),
    (fit("--model", "forest"), "'forest'"),
    (fit("--band", "rubber"), "'rubber'"),
    (fit("--band", "none", "--sellout-rate", ".3"), "--sellout-rate"),
    (diagnose("--band", "none"), "diagnose"),
    # files to write
    (fit("-o", "absent/model.unmet"), "absent"),
    (fit("-o", "/dev/full"), "ordinary file, got the device or pipe /dev/full"),
    (fit("--report", "report.pdf"), "report.pdf"),
    (fit("-o", "a.html", "--report", "a.html"), "a.html"),
    (decide("-o", "sales.csv"), "sales.csv"),
    # models
    (decide(model="tampered.unmet"), "tampered.unmet"),
    (decide(model="linear.unmet"), "LinearDecision"),
    # deciding
    (decide(table="lacking.csv"), "'kind'"),
    (decide("--name", "sales"), "'sales'"),
    (decide("--step", "0"), "step"),
    (decide("--lower", "9", "--upper", "3"), "lower and upper"),
    (decide("--minimum", "5", model="ages.unmet"), "minimum"),
    # evaluating and comparing
    (["evaluate", "m", "sales.csv", "--censored-column", "nothing"], "Too few rows"),
    (["evaluate", "ages.unmet", "sales.csv"], "--truth"),
    (compare("--folds", "0"), "--folds"),
    (compare("--horizon", "7"), "horizon"),
    (compare("--date", "day", "--folds", "60"), "--date must have at least 61"),
    # the other commands
    (["demo", "--seed", "1"], "--seed"),
    (["demo", "--output", "sales.csv"], "sales.csv"),
]


@pytest.mark.parametrize(
    ("words", "culprit"),
    WRONG,
    ids=[f"{place:03} {' '.join(words)[:60]}" for place, (words, _) in enumerate(WRONG)],
)
def test_wrong_use(folder, capsys, words, culprit):
    before = contents(folder)
    code = run(words)
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1, printed.err
    assert printed.err.startswith("unmet: ")
    assert printed.err.endswith(".\n")
    assert culprit in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert code == 2
    assert contents(folder) == before


def fail_with(error):
    def fail(*arguments, **options):
        raise error

    return fail


def test_an_error_of_our_own(folder, capsys, monkeypatch):
    monkeypatch.delenv("UNMET_TRACEBACK", raising=False)
    monkeypatch.setattr("unmet.planning.DecisionPlan.fit", fail_with(ZeroDivisionError("one\ntwo")))
    before = contents(folder)
    assert run(PLAIN) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(
        "unmet: This is a bug in unmet, please report it: ZeroDivisionError"
    )
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert contents(folder) == before
    monkeypatch.setenv("UNMET_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run(PLAIN)


@pytest.mark.parametrize(
    "where",
    [
        "unmet.planning.DecisionPlan.fit",
        "unmet.persistence.save",
        "unmet.tables.reading.read_file",
    ],
)
def test_stopped(folder, capsys, monkeypatch, where):
    monkeypatch.setattr(where, fail_with(KeyboardInterrupt()))
    before = contents(folder)
    assert run([*PLAIN, "-o", "new.unmet"]) == 130
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "unmet: stopped.\n")
    assert contents(folder) == before


def test_no_room_and_no_memory(folder, capsys, monkeypatch):
    monkeypatch.setattr(pl.DataFrame, "write_csv", fail_with(OSError(28, "No space left")))
    before = contents(folder)
    assert run(decide("-o", "orders.csv")) == 2
    assert "No space left" in capsys.readouterr().err
    monkeypatch.setattr("unmet.planning.DecisionPlan.decide", fail_with(MemoryError()))
    assert run(decide("-o", "orders.csv")) == 2
    assert "does not fit into memory" in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.filterwarnings("default")
def test_a_warning_becomes_a_note(folder, capsys, monkeypatch):
    from unmet.planning import DecisionPlan

    original = DecisionPlan.fit

    def warn(self, table, **options):
        warnings.warn("look\n at this", UserWarning, stacklevel=2)
        return original(self, table, **options)

    monkeypatch.setattr(DecisionPlan, "fit", warn)
    assert run([*PLAIN, "-o", "new.unmet"]) == 0
    assert capsys.readouterr().err == "note: look at this\nwrote new.unmet\n"


def test_a_reader_that_has_seen_enough(capsys, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", fail_with(BrokenPipeError()))
    assert run(["--version"]) == 0
    assert capsys.readouterr().err == ""
