"""Favorita's files: groups that were sold, tables of the stores, verdicts, one sentence each."""

import csv
import json
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from favorita_samples import BY_FAMILY, BY_MONTH, BY_WEEKDAY, FAMILIES, INTERCEPT, NOISE, make

from paper.commands import run
from paper.favorita import (
    StoreEvidence,
    findings,
    fit_stores,
    load_favorita,
    remarks,
    store_claims,
)
from paper.published import COEFFICIENTS, DESCRIPTIVE, STORES
from unmet.errors import InvalidInput
from unmet.simulate.store10 import PUBLISHED_STORE, store10

HEADER = "id,date,store_nbr,family,sales,onpromotion"
LINE = "0,2016-01-02,10,DAIRY,301.5,0"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return make(tmp_path_factory.mktemp("favorita"), seed=1)


@pytest.fixture(scope="module")
def sales(sample):
    return load_favorita(sample.item, items=sample.items)


def as_groups(sales):
    return {row[:3]: row[3] for row in sales.table.rows()}


# --- Reading.


@pytest.mark.parametrize("layout", ["item", "family"])
def test_groups_are_those_that_were_sold(sample, layout):
    path = getattr(sample, layout)
    sales = load_favorita(path, items=sample.items if layout == "item" else None)
    assert as_groups(sales) == sample.groups  # to the last digit: sums are rounded
    assert sales.table.equals(sales.table.sort("store_nbr", "date", "family"))
    assert (sales.layout, sales.families) == (layout, tuple(FAMILIES))
    assert (sales.first_date, sales.last_date) == (date(2016, 1, 1), date(2016, 12, 31))
    assert sales.stores_without_sales == (3,)
    assert sales.dropped_negative == 1
    # family level has a row for every family of a store without sales
    assert sales.dropped_zero == (1 if layout == "item" else 1 + 366 * 9)
    lines = path.read_text().splitlines()[1:]
    assert sales.rows_read == len(lines)
    assert sales.rows_of_year == sum(line.split(",")[1].startswith("2016-") for line in lines)


def test_the_flag_of_the_item_decides_not_its_family(sample, tmp_path):
    items = pl.read_csv(sample.items)
    tinned = pl.col("item_nbr") == 110
    items.with_columns(
        perishable=pl.when(tinned).then(0).otherwise("perishable"),
        family=pl.when(pl.col("item_nbr") == 111).then(pl.lit("FLOWERS")).otherwise("family"),
    ).write_csv(tmp_path / "items.csv")
    sales = load_favorita(sample.item, items=tmp_path / "items.csv")
    assert sales.families == tuple(sorted([*FAMILIES, "FLOWERS"]))
    train = pl.read_csv(sample.item, try_parse_dates=True).filter(
        (pl.col("item_nbr") == 112) & (pl.col("date").dt.year() == 2016)
    )
    dairy = {(row["date"], row["store_nbr"]): row["unit_sales"] for row in train.rows(named=True)}
    got = {key[:2]: value for key, value in as_groups(sales).items() if key[2] == "DAIRY"}
    assert got == {key: value for key, value in dairy.items() if value > 0}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("a,b\n1,2\n", "must have the columns date and store_nbr"),
        (f"{HEADER}\n", "has a header but no rows"),
        (f"{HEADER}\n{LINE}\n1,2016-01-02,10,DAIRY,1,5,0\n", "must have 6 fields in every line"),
        (f"{HEADER}\n{LINE}\n1,2016-01-02,10,DAI", "must have 6 fields in every line"),
        (f"{HEADER}\n{LINE}\n1,2016-01-02,10,DAIRY,,0\n", "no missing and no infinite values"),
        (f"{HEADER}\n{LINE}\n1,2016-01-02,10,DAIRY,inf,0\n", "no missing and no infinite values"),
        (f"{HEADER}\n{LINE}\n1,2016-01-02,10,DAIRY,many,0\n", "could not parse `many`"),
        (f"{HEADER}\n{LINE}\n1,02/01/2016,10,DAIRY,1,0\n", "02/01/2016"),
        (f"{HEADER}\n0,2015-01-02,10,DAIRY,1,0\n", "its dates run from 2015-01-02 to 2015-01-02"),
        (f"{HEADER}\n0,2016-01-02,10,BOOKS,1,0\n", "no sales of perishable families in 2016"),
        ("PK\x03\x04", "unpack it first"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(text, sentence, tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_favorita(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_items_are_for_item_level_and_only_for_it(sample, tmp_path):
    with pytest.raises(InvalidInput, match=r"items must be given, because .* is at item level"):
        load_favorita(sample.item)
    with pytest.raises(InvalidInput, match=r"items must be left out, not nofile, because"):
        load_favorita(sample.family, items="nofile")
    with pytest.raises(InvalidInput, match="items must be a file, but nofile is none"):
        load_favorita(sample.item, items="nofile")
    few = pl.read_csv(sample.items).head(3)
    few.write_csv(tmp_path / "few.csv")
    with pytest.raises(InvalidInput, match=r"lacks \d+ of the items"):
        load_favorita(sample.item, items=tmp_path / "few.csv")
    pl.concat([few, few]).write_csv(tmp_path / "twice.csv")
    with pytest.raises(InvalidInput, match="every item once, got item 100 twice"):
        load_favorita(sample.item, items=tmp_path / "twice.csv")


# --- Regressions of the stores.


def test_a_store_whose_distribution_is_known_is_recovered(sales):
    found = fit_stores(sales, store=1)
    truth = [INTERCEPT, *BY_FAMILY[1:], *BY_WEEKDAY[1:], *BY_MONTH[1:]]
    pairs = zip(found.chosen.coefficients.values(), truth, strict=True)
    scores = [(value - true) / error for (value, error), true in pairs]
    assert max(map(abs, scores)) < 3.5
    assert 0.5 < np.mean(np.square(scores)) < 2  # errors are neither too large nor too small
    assert found.chosen.rmse == pytest.approx(NOISE[1], rel=0.05)
    distribution = found.distribution()
    assert distribution.deviation == found.chosen.rmse
    assert store10(seed=0, distribution=distribution).train.features.shape == (3294, 25)


def test_agrees_with_a_formula_in_statsmodels(sales):
    found = fit_stores(sales, store=1)
    own = sales.table.filter(pl.col("store_nbr") == 1)
    table = pd.DataFrame(own.to_dict(as_series=False))
    table["day"] = [each.weekday() for each in table["date"]]
    table["month"] = [each.month for each in table["date"]]
    smf = pytest.importorskip("statsmodels.formula.api")
    result = smf.ols("sales ~ C(family) + C(day) + C(month)", table).fit()
    values, errors = zip(*found.chosen.coefficients.values(), strict=True)
    assert values == pytest.approx(result.params.to_numpy())
    assert errors == pytest.approx(result.bse.to_numpy())
    measures = found.chosen.measures
    assert measures["F"] == pytest.approx(result.fvalue)
    assert measures["R²"] == pytest.approx(result.rsquared)
    assert measures["adjusted R²"] == pytest.approx(result.rsquared_adj)
    assert measures["RMSE"] == pytest.approx(np.sqrt((result.resid**2).mean()))
    assert found.chosen.p_value == pytest.approx(result.f_pvalue)
    described = table["sales"].describe().to_numpy()
    assert list(found.descriptive().values()) == pytest.approx(described)


def test_the_rule_chooses_by_rmse_over_median(sales):
    found = fit_stores(sales)
    assert [each.store for each in found.stores] == [4, 1, 2]
    assert found.store == found.smallest_rmse == 4
    small = sales.table.filter(pl.col("store_nbr") == 2).with_columns(
        store_nbr=pl.lit(9, pl.Int64), sales=pl.col("sales") / 10
    )
    both = fit_stores(replace(sales, table=pl.concat([sales.table, small])), store=2)
    assert (both.stores[0].store, both.smallest_rmse) == (4, 9)
    first = findings(both)[0]
    assert "store 4 has the smallest RMSE over median, which decides" in first
    assert "store 9 the smallest RMSE; store 2 is described because it was asked for." in first


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        (3, "store 3 has no sales of perishable products in 2016."),
        (7, "store must be one of those that can be fitted (1, 2, 4), got 7."),
    ],
)
def test_a_store_that_cannot_be_described(sales, store, sentence):
    with pytest.raises(InvalidInput) as caught:
        fit_stores(sales, store=store)
    assert str(caught.value) == sentence


# --- Verdicts, both ways.


@pytest.fixture(scope="module")
def as_printed(sales):
    """Evidence in which all numbers are the printed ones, MEATS as Favorita's file has it."""
    found = fit_stores(sales, store=1)
    values = {**COEFFICIENTS, "MEATS": 51.60, "DAIRY": 192.2345}
    pairs = {name: (values[name], 1.0) for name in COEFFICIENTS}
    stores = tuple(
        found.chosen._replace(store=number, measures=measures, coefficients=pairs)
        for number, measures in STORES.items()
    )
    rows = [(date(2016, 1, 2), number, "DAIRY", 1.0) for number in STORES]
    table = pl.DataFrame(rows, schema=sales.table.schema, orient="row")

    class Printed(StoreEvidence):
        def descriptive(self):
            return {**DESCRIPTIVE, "mean": 149.2099}

    return Printed(replace(sales, table=table), 10, stores, {})


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
    assert found["12b"].evidence.found == "25 of 26 do. Not: MEATS."
    # the farthest is the misprint, not a rounding of a small coefficient
    told = "Coefficients: 25 of 26 agree with the paper to the last printed digit; the farthest is "
    assert f"{told}MEATS, 51.60 against 51.56." in findings(as_printed)


def test_each_verdict_on_a_store_table_can_fail(as_printed):
    first, *rest = as_printed.stores
    turned = {name: (-value, error) for name, (value, error) in first.coefficients.items()}
    against = verdicts(replace(as_printed, stores=(first._replace(coefficients=turned), *rest)))
    assert against["12"].verdict == against["12b"].verdict == "not reproduced"
    # another store comes first by both measures
    ahead = rest[0]._replace(measures={**rest[0].measures, "RMSE": 1.0})
    assert verdicts(replace(as_printed, stores=(ahead, first)))["13"].verdict == "not reproduced"
    far = tuple(
        each._replace(measures={name: 1.01 * value for name, value in each.measures.items()})
        for each in as_printed.stores
    )
    assert verdicts(replace(as_printed, stores=far))["13b"].verdict == "not reproduced"


def test_a_file_that_is_not_complete_says_nothing_of_all_stores(as_printed, sales):
    two = as_printed.sales.table.filter(pl.col("store_nbr").is_in([10, 39]))
    some = replace(as_printed, sales=replace(as_printed.sales, table=two))
    found = verdicts(some)
    assert found["13"].verdict == found["13b"].verdict == "not checked"
    assert "it has no sales of 50 stores of the paper's table" in found["13"].evidence.found
    assert found["12"].verdict == "reproduced"  # store 10 is there
    half = replace(as_printed.sales, last_date=date(2016, 6, 30))
    assert verdicts(replace(as_printed, sales=half))["13"].verdict == "not checked"
    assert remarks(half) == [
        "The file is not complete: it goes from 2016-01-01 to 2016-06-30 only."
    ]
    assert remarks(as_printed.sales) == []


# --- The command.


def test_the_command_writes_tables_the_plot_and_a_summary(sample, tmp_path, capsys):
    folder = tmp_path / "new" / "out"
    words = ["favorita", str(sample.family), "--output", str(folder)]
    assert run([*words, "--json"]) == 0
    printed = capsys.readouterr()
    assert "not complete" in printed.err
    told = json.loads(printed.out)
    assert told["store"] == 4
    assert len(told["LRstore10"]) == 26
    names = {path.name for path in folder.iterdir()}
    for label in ("EDAofStore10", "LRstore10", "LRResults52Stores"):
        assert {f"{label}.{end}" for end in ("csv", "md", "tex")} <= names
    assert {"ErrorQQplot10.svg", "grouped.parquet", "summary.md"} <= names
    with (folder / "LRResults52Stores.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["store"] for row in rows] == ["4", "1", "2"]
    assert float(rows[0]["RMSE, published"]) == 239.8729
    assert run([*words, "--store", "1"]) == 0
    assert "Least squares on dummies of store 1, 2016" in capsys.readouterr().out


def test_published_distributions_agree():
    """Table LRstore10 is the distribution of the simulation."""
    assert list(COEFFICIENTS) == ["intercept", *PUBLISHED_STORE.feature_names]
    assert list(COEFFICIENTS.values()) == [
        PUBLISHED_STORE.intercept,
        *PUBLISHED_STORE.coefficients,
    ]
    # the printed column, added up apart from the code
    assert sum(COEFFICIENTS.values()) == pytest.approx(430.85, abs=0.005)
