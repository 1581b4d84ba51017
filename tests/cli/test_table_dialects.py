"""The same sales in every dialect people have: the same orders, in the dialect that was read."""

import numpy as np
import polars as pl
import pytest

from unmet.cli.main import run

PLAN = ["--observed", "Menge", "--features", "Preis,Filiale", "--underage", "3", "--overage", "1"]
NONE = [*PLAN, "--band", "none"]


def sales(n_rows=120, seed=0):
    """Sales in the thousands; stores have names with leading zeros."""
    generator = np.random.default_rng(seed)
    price = generator.normal(10, 2, n_rows).round(2)
    store = generator.choice(["007", "012"], n_rows)
    sold = np.round(900 + 60 * price + 200 * (store == "012") + generator.normal(0, 90, n_rows))
    day = pl.date_range(pl.date(2023, 1, 1), pl.date(2023, 12, 31), eager=True)[:n_rows]
    return pl.DataFrame({"Tag": day, "Filiale": store, "Preis": price, "Menge": sold.astype(int)})


def in_german(table, thousands="."):
    """Cells as a German spreadsheet shows them."""
    shown = {
        "Tag": [day.strftime("%d.%m.%Y") for day in table["Tag"]],
        "Filiale": table["Filiale"].to_list(),
        "Preis": [f"{price:.2f}".replace(".", ",") for price in table["Preis"]],
        "Menge": [f"{count:,}".replace(",", thousands) for count in table["Menge"]],
    }
    return pl.DataFrame(shown).rename({"Tag": "Tag (größer)"})


def german(table, **how):
    return in_german(table, **how).write_csv(separator=";", line_terminator="\r\n")


FILES = {
    "semicolons": lambda table: german(table).encode(),
    "spaces": lambda table: german(table, thousands="\u00a0").encode(),
    "utf-16": lambda table: german(table).encode("utf-16"),
    "title": lambda table: ("Umsatz, alle Filialen\r\n\r\n" + german(table)).encode("cp1252"),
    "tabs": lambda table: in_german(table).write_csv(separator="\t").encode("utf-16"),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Orders of a plain file, which the others must give as well."""
    folder = tmp_path_factory.mktemp("plain")
    table, model, output = (str(folder / name) for name in ("s.csv", "m.unmet", "orders.csv"))
    sales().write_csv(table)
    assert run(["fit", table, *NONE, "-o", model]) == 0
    assert run(["decide", model, table, "-o", output]) == 0
    return pl.read_csv(output)["decision"]


@pytest.mark.parametrize("dialect", FILES)
def test_same_orders_in_the_same_dialect(tmp_path, expected, dialect, capsys):
    content = FILES[dialect](sales())
    (tmp_path / "umsatz.csv").write_bytes(content)
    model, output = str(tmp_path / "m.unmet"), tmp_path / "orders.csv"
    table = str(tmp_path / "umsatz.csv")
    assert run(["fit", table, *NONE, "-o", model]) == 0
    assert run(["decide", model, table, "-o", str(output)]) == 0
    encodings = {"utf-16": "utf-16", "tabs": "utf-16", "title": "cp1252"}
    encoding = encodings.get(dialect, "utf-8")
    before = content.decode(encoding).split("\n\r\n")[-1].splitlines()
    after = output.read_bytes().decode(encoding).splitlines()
    separator = "\t" if dialect == "tabs" else ";"
    # every cell as it was, and two more at the end of each line
    cells = [line.rsplit(separator, 2) for line in after]
    assert [line for line, _, _ in cells] == before
    assert cells[0][1:] == ["decision", "outside_data"]
    assert [int(decision) for _, decision, _ in cells[1:]] == expected.to_list()


def test_excel_in_and_out(tmp_path, expected):
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    table, model = tmp_path / "umsatz.xlsx", str(tmp_path / "m.unmet")
    sales().write_excel(table)
    assert run(["fit", str(table), *NONE, "-o", model]) == 0
    output = tmp_path / "orders.xlsx"
    assert run(["decide", model, str(table), "-o", str(output)]) == 0
    found = pl.read_excel(output, engine="calamine")
    assert found.drop("decision", "outside_data").equals(sales())
    assert found["decision"].to_list() == expected.to_list()
    assert run(["decide", model, str(table), "-o", str(tmp_path / "orders.csv")]) == 0
    assert pl.read_csv(tmp_path / "orders.csv")["decision"].to_list() == expected.to_list()


def test_what_the_encoding_lacks_is_refused(tmp_path, capsys):
    table = tmp_path / "umsatz.csv"
    table.write_bytes(german(sales()).encode("cp1252"))
    model, output = str(tmp_path / "m.unmet"), tmp_path / "orders.csv"
    assert run(["fit", str(table), *NONE, "-o", model]) == 0
    capsys.readouterr()
    assert run(["decide", model, str(table), "-o", str(output), "--name", "bestellen ✓"]) == 2
    assert "only characters of its encoding cp1252" in capsys.readouterr().err
    assert not output.exists()
