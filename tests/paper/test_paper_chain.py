"""From Favorita's file to the reproduction: the law of a store, its tables on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hand_made_results import hand_made

from paper.commands import run
from paper.favorita import favorita_tables, load_favorita
from paper.favorita.evidence import StoreEvidence, store_claims, store_tables
from paper.favorita.outputs import show_p
from paper.favorita.published import (
    PUBLISHED_COEFFICIENTS,
    PUBLISHED_DESCRIPTIVE,
    PUBLISHED_STORES,
)
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.simulate import PUBLISHED_LAW, store10

HEADER = "id,date,store_nbr,family,sales,onpromotion"
ONE = ["reproduce", "--published-settings", "--datasets", "1", "--level", "0.95"]


def rows_of(store, law, generator, *, without=(), first=date(2016, 1, 1)):
    """Family-level lines of 2016, drawn from a law; sales of zero where the draw is below."""
    lines = []
    effects = [dict(levels) for levels in law.factors]
    for day in (date(2016, 1, 1) + timedelta(k) for k in range(366)):
        for family in effects[0]:
            mean = law.intercept + effects[0][family]
            mean += effects[1][WEEKDAYS[day.weekday()]] + effects[2][MONTHS[day.month - 1]]
            drawn = mean + law.deviation * generator.standard_normal()
            sold = 0.0 if day < first or family in without else max(0.0, round(drawn, 3))
            lines.append(f"{len(lines)},{day},{store},{family},{sold},0")
    return lines


@pytest.fixture(scope="module")
def lines():
    """Store 10 as published, store 44 larger, open from April and without seafood, 52 empty."""
    generator = np.random.default_rng(0)
    large = replace(PUBLISHED_LAW, intercept=900.0, deviation=500.0)
    found = rows_of(10, PUBLISHED_LAW, generator)
    found += rows_of(44, large, generator, without=("SEAFOOD",), first=date(2016, 4, 1))
    return found + [line.replace(",10,", ",52,", 1) for line in blank(found)]


def blank(lines):
    parts = [line.split(",") for line in lines if ",10," in line]
    return [",".join([*part[:4], "0.0", "0"]) for part in parts]


@pytest.fixture
def train(tmp_path, lines):
    path = tmp_path / "train.csv"
    path.write_text("\n".join([HEADER, *lines, ""]))
    return path


@pytest.fixture(scope="module")
def sales(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("chain") / "train.csv"
    path.write_text("\n".join([HEADER, *lines, ""]))
    return load_favorita(path)


@pytest.fixture
def asked(monkeypatch):
    """Settings that a run was asked for; results made by hand stand for those of the run."""
    settings_of = []

    def reproduce(folder, settings, **options):
        settings_of.append(settings)
        folder.mkdir(parents=True)
        return hand_made(1, settings.levels, searched=False, law=settings.law)

    monkeypatch.setattr("paper.reproduce", reproduce)
    return settings_of


def test_the_law_is_what_least_squares_finds(sales):
    """Dummies by hand, and NumPy's own least squares."""
    own = sales.table.filter(sales.table["store_nbr"] == 10)
    names = PUBLISHED_LAW.feature_names
    words = [
        (family, WEEKDAYS[day.weekday()], MONTHS[day.month - 1])
        for family, day in zip(own["family"], own["date"], strict=True)
    ]
    columns = np.array([[1.0, *(float(name in row) for name in names)] for row in words])
    beta, sse, *_ = np.linalg.lstsq(columns, own["sales"].to_numpy(), rcond=None)
    law = favorita_tables(sales, store=10).law()
    assert (law.intercept, *law.coefficients) == pytest.approx(tuple(beta))
    assert law.deviation == pytest.approx(np.sqrt(sse[0] / len(columns)))
    assert law.feature_names == names
    # the law that was drawn from, but for the sales below zero that no file has
    assert dict(law.categories)["DAIRY"] == pytest.approx(192.23, abs=15)
    data = store10(seed=0, law=law)
    assert data.train.features.shape == (3294, 25)
    assert data.train.mean[0] == pytest.approx(law.intercept + dict(law.weekdays)["Friday"])


def test_a_store_that_lacks_something_is_simulated_without_it(sales):
    law = favorita_tables(sales, store=44).law()
    assert [name for name, _ in law.months] == list(MONTHS[3:])
    assert "SEAFOOD" not in dict(law.categories)
    # April stands for January: its effect is in the intercept
    assert law.months[0] == ("April", 0.0)
    data = store10(seed=0, law=law)
    assert set(data.test.category) == set(dict(law.categories))
    assert str(data.test.dates.min()) == "2017-04-01"


def test_the_chain_simulates_from_the_file_and_shows_its_tables(train, asked, tmp_path, capsys):
    folder = tmp_path / "out"
    assert run([*ONE, "--favorita", str(train), "--store", "10", "--out", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    tables = favorita_tables(load_favorita(train), store=10)
    (settings,) = asked
    assert settings.law == tables.law()
    assert settings.law.name == "store 10, fitted to its sales of 2016"
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert f"{tables.chosen.rmse:.4f}" in page
    assert 'id="fig-ErrorQQplot10"' in page
    assert (folder / "figures" / "ErrorQQplot10.svg").stat().st_size > 0
    text = (folder / "tables" / "LRstore10.csv").read_text(encoding="utf-8")
    dairy = next(line for line in text.splitlines() if line.startswith("DAIRY"))
    assert dairy.split(",")[3] == "192.23"
    assert "No file of Favorita" not in page


def test_residuals_and_f_tests_are_told(sales):
    sentences = StoreEvidence(sales, favorita_tables(sales, store=10)).sentences()
    store = favorita_tables(sales, store=10).chosen
    assert (
        f"Residuals of store 10: skewness {store.skewness:.2f}, excess kurtosis "
        f"{store.excess_kurtosis:.2f}; both are 0 for a normal law."
    ) in sentences
    (tested,) = [sentence for sentence in sentences if sentence.startswith("F tests")]
    assert "that of store 10 is below 1e-300" in tested
    assert show_p(0.00123) == "1.2e-03"
    assert show_p(None) == "–"


@pytest.mark.slow
def test_any_store_of_the_file(train, asked, tmp_path, capsys):
    folder = tmp_path / "out"
    assert run([*ONE, "--favorita", str(train), "--store", "44", "--out", str(folder)]) == 0
    assert asked[0].law.name.startswith("store 44,")
    report = (folder / "REPORT.md").read_text(encoding="utf-8")
    assert "This run simulates store 44" in report
    assert "The paper prints this of store 10 in 2016 only." in report


def test_without_a_store_the_papers_rule_chooses(train, asked, tmp_path, monkeypatch):
    monkeypatch.setattr("paper.write_everything", lambda *told, **more: [])
    assert run([*ONE, "--favorita", str(train), "--out", str(tmp_path / "out")]) == 0
    assert asked[0].law.name.startswith("store 10,")


# --- Files that are wrong: one sentence each.


@pytest.fixture
def no_page(monkeypatch):
    monkeypatch.setattr("paper.write_everything", lambda *told, **more: [])


def test_a_cut_file_is_one_sentence_and_nothing_is_run(train, asked, tmp_path, capsys):
    text = train.read_text()
    train.write_text(text[: len(text) // 2])
    assert run([*ONE, "--favorita", str(train), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "is cut off in its last line" in error
    assert asked == []
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_page")
def test_a_file_cut_after_a_line_is_noted(train, lines, asked, tmp_path, capsys):
    kept = [line for line in lines if line.split(",")[1] <= "2016-10-15"]
    train.write_text("\n".join([HEADER, *kept, ""]))
    arguments = ["--favorita", str(train), "--store", "10", "--out", str(tmp_path / "out")]
    assert run([*ONE, *arguments]) == 0
    error = capsys.readouterr().err
    assert error == (
        "note: The file does not cover all of 2016: it goes from 2016-01-01 to 2016-10-15.\n"
    )


@pytest.mark.usefixtures("no_page")
@pytest.mark.parametrize("command", ["reproduce", "favorita"])
def test_repeated_rows_are_noted_in_one_sentence(command, train, lines, asked, tmp_path, capsys):
    again = [line for line in lines if ",10," in line and ",2016-03-0" in line]
    train.write_text("\n".join([HEADER, *lines, *again, ""]))
    where = ["--store", "10", "--output", str(tmp_path / "out")]
    if command == "reproduce":
        assert run([*ONE, "--favorita", str(train), *where]) == 0
    else:
        assert run(["favorita", str(train), *where]) == 0
    error = capsys.readouterr().err
    assert error == (
        f"note: {len(again)} rows of 2016 repeat date, store and product of another row, and their "
        "sales were added up: the file may hold the same rows twice.\n"
    )
    found = load_favorita(train)
    assert found.repeated_rows == len(again) == 81
    assert found.rows_read == len(lines) + 81


def test_repeated_items_are_counted_and_different_items_are_not(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("item_nbr,family,class,perishable\n7,DAIRY,1,1\n8,DAIRY,1,1\n")
    train = tmp_path / "train.csv"
    lines = [f"1,2016-01-0{k},1,{item},2,False" for k in range(1, 4) for item in (7, 8)]
    header = "id,date,store_nbr,item_nbr,unit_sales,onpromotion"
    train.write_text("\n".join([header, *lines, ""]))
    assert load_favorita(train, items=items).repeated_rows == 0
    train.write_text("\n".join([header, *lines, lines[0], ""]))
    assert load_favorita(train, items=items).repeated_rows == 1


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        ("52", "store 52 has no sales of perishable products in 2016."),
        ("7", "store must be one of those that can be fitted (10, 44), got 7."),
    ],
)
def test_a_store_without_sales_is_one_sentence(train, asked, tmp_path, capsys, store, sentence):
    for command in ([*ONE, "--favorita", str(train)], ["favorita", str(train)]):
        assert run([*command, "--store", store, "--output", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err == f"unmet: {sentence}\n"
    assert asked == []
    assert not (tmp_path / "out").exists()


def test_a_store_with_too_few_rows_says_so(train, lines, capsys, tmp_path):
    few = [f"0,2016-01-0{k},9,DAIRY,{k}.0,0" for k in range(1, 8)]
    train.write_text("\n".join([HEADER, *lines, *few, ""]))
    assert run(["favorita", str(train), "--store", "9", "--output", str(tmp_path)]) == 2
    assert "store 9 has 7 rows for 7 coefficients." in capsys.readouterr().err


# --- Verdicts on the store's tables, both ways.


@pytest.fixture(scope="module")
def as_printed(sales):
    """Evidence in which all numbers are the printed ones, MEATS as Favorita's file has it."""
    tables = favorita_tables(sales, store=10)
    fitted = tables.chosen
    values = {**PUBLISHED_COEFFICIENTS, "MEATS": 51.60}
    stores = [
        replace(
            fitted,
            **vars(each),
            coefficients=tuple(replace(old, value=values[old.name]) for old in fitted.coefficients),
        )
        for each in PUBLISHED_STORES
    ]
    described = replace(PUBLISHED_DESCRIPTIVE, mean=149.2099)
    return StoreEvidence(sales, replace(tables, stores=tuple(stores), descriptive=described))


def verdicts(evidence):
    return {each.number: each for each in store_claims(evidence)}


def test_printed_numbers_are_reproduced_but_for_the_misprint(as_printed):
    found = verdicts(as_printed)
    assert {number: each.verdict for number, each in found.items()} == {
        "11": "reproduced",
        "12": "reproduced",
        "12b": "reproduced in part",
        "13": "reproduced",
        "13b": "reproduced",
    }
    assert found["12b"].fails == ("MEATS",)
    assert found["12b"].found == "25 of 26 do. Not: MEATS."


def test_each_verdict_on_a_store_table_can_fail(as_printed):
    tables = as_printed.tables

    def with_tables(**changes):
        return verdicts(StoreEvidence(as_printed.sales, replace(tables, **changes)))

    other = replace(PUBLISHED_DESCRIPTIVE, mean=1.0, std=1.0, min=0.0, median=1.0, max=2.0)
    assert with_tables(descriptive=other)["11"].verdict == "not reproduced"
    first, *rest = tables.stores
    turned = tuple(replace(each, value=-each.value) for each in first.coefficients)
    against = with_tables(stores=(replace(first, coefficients=turned), *rest))
    assert against["12"].verdict == against["12b"].verdict == "not reproduced"
    # another store comes first by both measures
    ahead = replace(rest[0], rmse=1.0, rmse_over_median=0.01)
    assert with_tables(stores=(ahead, first, *rest[1:]))["13"].verdict == "not reproduced"
    far = tuple(
        replace(each, rmse=1.01 * each.rmse, r2=0.9 * each.r2, f=2 * each.f)
        for each in tables.stores
    )
    assert with_tables(stores=far)["13b"].verdict == "not reproduced"


def test_without_a_file_or_of_another_store_nothing_is_judged(sales):
    assert {each.verdict for each in store_claims(None)} == {"not checked"}
    other = StoreEvidence(sales, favorita_tables(sales, store=44))
    found = verdicts(other)
    assert found["11"].verdict == found["12b"].verdict == "not checked"
    assert found["13"].verdict == "reproduced"  # the rule looks at all stores
    tables = store_tables(None)
    assert list(tables) == ["EDAofStore10", "LRstore10", "LRResults52Stores"]
    assert len(tables["LRResults52Stores"].rows) == 52
    assert all("--favorita" in table.notes[0] for table in tables.values())


@pytest.mark.slow
def test_the_whole_chain_on_one_data_set(train, tmp_path, capsys):
    """Nothing stands for anything here: file, law, simulation, all methods, page."""
    arguments = ["--favorita", str(train), "--store", "10", "--out", str(tmp_path / "out")]
    assert run([*ONE, *arguments, "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["store"] == "store 10, fitted to its sales of 2016"
    by_number = {each["number"]: each["verdict"] for each in told["claims"]}
    assert by_number["2 LR"] == "reproduced"
