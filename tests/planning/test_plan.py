"""Plans beside the same models made by hand, on the same numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sales_table import sales_table
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from unmet import Band, LatentBand, LinearDecision, Newsvendor, SearchedBand
from unmet.errors import InvalidInput
from unmet.estimators import BoostedDecision, NeuralDecision
from unmet.planning.plan_options import plan_from_options

BASE = {"observed": "sales", "features": ["price", "kind"], "underage": 3, "overage": 1}


@pytest.fixture(scope="module")
def table():
    return sales_table(40)


@pytest.fixture(scope="module")
def fitted(table):
    return plan_from_options(**BASE).fit(table)


def by_hand(table):
    """Features without the encoder under test."""
    hot = OneHotEncoder(sparse_output=False).fit_transform(table[["kind"]].to_numpy())
    return np.column_stack([table["price"].to_numpy(), hot])


def test_the_same_as_the_model_made_by_hand(table, fitted):
    X, y = by_hand(table), table["sales"].to_numpy()
    model = LinearDecision(Newsvendor(3, 1), LatentBand(random_state=0)).fit(X, y)
    plain = LinearDecision(Newsvendor(3, 1)).fit(X, y)
    found = fitted.decide(table)
    np.testing.assert_array_equal(found.decision, model.decide(X))
    np.testing.assert_array_equal(found.ignoring, plain.decide(X))
    exact = fitted.decide(table, None, None)
    np.testing.assert_array_equal(exact.decision, model.predict(X))
    assert fitted.diagnosis_ == model.diagnosis_
    assert fitted.n_rows_ == table.height
    top = table["sales"].max()
    marked = found.decision > top
    np.testing.assert_array_equal(
        found.outside_data, np.where(marked, "above the largest sales", "")
    )
    for notes, which in ((fitted.notes_, " of training rows"), (found.notes, "")):
        start = f"{marked.sum()} of {table.height} orders{which} are above the largest sales"
        assert [note.partition(":")[0] for note in notes] == [f"{start} ({top:g})"]
    assert (fitted.level, fitted.comparison_) == (0.75, None)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ({"censored_column": "out"}, {"censored": "out"}),
        ({"stock_column": "stock"}, {"stock": "stock"}),
        ({"weight_column": "weight", "band": (0.0, 5.0)}, {"sample_weight": "weight"}),
        (
            {"underage": None, "underage_column": "margin", "band": (0.0, 5.0)},
            {"underage": "margin"},
        ),
    ],
    ids=["flags", "stock", "weights", "costs"],
)
def test_columns_reach_the_model(table, words, given):
    plan = plan_from_options(**{**BASE, **words}, model="linear").fit(table)
    columns = {name: table[column].to_numpy() for name, column in given.items()}
    under = 1 if "underage" in given else 3
    band = Band(low=0.0, high=5.0) if "band" in words else LatentBand(random_state=0)
    model = LinearDecision(Newsvendor(under, 1), band)
    model.fit(by_hand(table), table["sales"].to_numpy(), **columns)
    np.testing.assert_array_equal(
        plan.decide(table, None).decision, model.decide(by_hand(table), None)
    )
    untold = LinearDecision(Newsvendor(under, 1), band)
    if "band" in words:  # else it would take seconds
        untold.fit(by_hand(table), table["sales"].to_numpy())
        assert not np.array_equal(untold.predict(by_hand(table)), model.predict(by_hand(table)))
    assert plan.level == (None if "underage" in given else 0.75)


@pytest.mark.parametrize("words", [("TRUE", "False"), ("t ", " n")])
def test_flags_in_words(table, words):
    yes, no = words
    shown = table.with_columns(out=pl.when("out").then(pl.lit(yes)).otherwise(pl.lit(no)))
    plan = plan_from_options(**BASE, censored_column="out")
    np.testing.assert_array_equal(plan.rows(shown).flag, table["out"].to_numpy())


def test_flags_may_be_empty_and_failures_are_the_opposite(table):
    gaps = table.with_columns(out=pl.when(pl.int_range(pl.len()) > 5).then("out"))
    flags = plan_from_options(**BASE, censored_column="out").rows(gaps).flag
    assert np.isnan(flags[:6]).all()
    assert not np.isnan(flags[6:]).any()
    replacement = {"problem": "replacement", "planned": 1, "failure": 5}
    opposite = (
        plan_from_options("sales", ["price"], failed_column="out", **replacement).rows(gaps).flag
    )
    np.testing.assert_array_equal(opposite, 1 - flags)
    with pytest.raises(InvalidInput, match=r"flags in column 'out' .* got 'maybe' in row 2"):
        plan_from_options(**BASE, censored_column="out").rows(
            table.with_columns(out=pl.lit("maybe"))
        )


@pytest.mark.parametrize(
    ("words", "band"),
    [
        ({"band": "none"}, None),
        ({"band": (1.0, 9.0)}, Band(low=1.0, high=9.0)),
    ],
    ids=["none", "numbers"],
)
def test_bands(table, words, band):
    plan = plan_from_options(**BASE, **words).fit(table)
    model = LinearDecision(Newsvendor(3, 1), band).fit(by_hand(table), table["sales"].to_numpy())
    found = plan.decide(table, None)
    np.testing.assert_array_equal(found.decision, model.decide(by_hand(table), None))
    assert (found.ignoring is None) == (band is None)
    assert plan.diagnosis_ is None
    if band is not None:
        assert (found.decision > found.ignoring).mean() > 0.9


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({}, LatentBand(random_state=4)),
        ({"sellout_rate": 0.3}, LatentBand(0.3, random_state=4)),
        ({"sellout_rate": (0.2, 0.4)}, LatentBand((0.2, 0.4), random_state=4)),
        ({"band": "searched"}, SearchedBand(random_state=4)),
    ],
    ids=["latent", "rate", "range", "searched"],
)
def test_rules(words, rule):
    made = plan_from_options(**BASE, **words, seed=4).estimator().model.band
    assert type(made) is type(rule)
    assert made.get_params() == rule.get_params()


@pytest.mark.parametrize(
    ("name", "model"), [("neural", NeuralDecision), ("boosted", BoostedDecision)]
)
def test_other_models(table, name, model):
    if name == "boosted":
        pytest.importorskip("lightgbm")
    few = table.head(90)
    plan = plan_from_options(**BASE, model=name, band=(0.0, 5.0), seed=3).fit(few)
    same = model(Newsvendor(3, 1), Band(low=0.0, high=5.0), random_state=3)
    same.fit(by_hand(few), few["sales"].to_numpy())
    np.testing.assert_array_equal(plan.decide(few).decision, same.decide(by_hand(few)))
    again = clone(plan).fit(few)
    np.testing.assert_array_equal(again.decide(few).decision, plan.decide(few).decision)


def test_tables_of_pandas_and_what_is_left_untouched(table):
    other = pd.DataFrame(table.to_dict(as_series=False))
    before, columns = other.copy(deep=True), table.clone()
    words = {**BASE, "band": (0.0, 4.0), "weight_column": "weight"}
    plan, same = plan_from_options(**words).fit(other), plan_from_options(**words).fit(table)
    np.testing.assert_array_equal(plan.decide(other).decision, same.decide(table).decision)
    pd.testing.assert_frame_equal(other, before)
    assert table.equals(columns)


def test_rows_without_an_observation_are_left_out_and_told(table):
    gaps = table.with_columns(sales=pl.when(pl.int_range(pl.len()) >= 2).then("sales"))
    plan = plan_from_options(**BASE, band="none").fit(gaps)
    assert plan.n_rows_ == table.height - 2
    assert plan.notes_[0] == "Rows left out: 2 without a number in 'sales'."
    same = plan_from_options(**BASE, band="none").fit(table.slice(2))
    np.testing.assert_array_equal(plan.decide(table).decision, same.decide(table).decision)


def test_strange_values_are_named_when_deciding(fitted):
    found = fitted.decide(pl.DataFrame({"price": [10.0, None], "kind": ["warm", "hot"]}))
    assert np.isfinite(found.decision).all()
    assert [("'warm'" in note, "'price'" in note) for note in found.notes] == [
        (False, True),
        (True, False),
    ]
    with pytest.raises(InvalidInput, match="features must be a column of the table, got 'kind'"):
        fitted.decide(pl.DataFrame({"price": [10.0]}))
    with pytest.raises(InvalidInput, match="at least one row, got none"):
        fitted.decide(pl.DataFrame({"price": [], "kind": []}))


def test_dates_and_series(table):
    words = {**BASE, "date": "date", "calendar": ["weekend"], "band": (0.0, 4.0)}
    told = plan_from_options(**words).fit(table)
    assert len(told.notes_) == 2  # and orders above the largest sales
    assert "name the columns that identify a series" in told.notes_[0]
    apart = plan_from_options(**words, series=["store"])
    rows = apart.rows(table)
    assert rows.notes == ()
    assert len(set(zip(rows.time.tolist(), rows.series.tolist(), strict=True))) == table.height
    assert apart.fit(table).encoder_.feature_names_out_[-1] == "weekend"


def test_a_model_for_each_group(table):
    pytest.importorskip("unmet.solvers.blocks")
    from unmet import GroupedDecision

    words = {**BASE, "by": ["store"], "band": (0.0, 5.0)}
    plan = plan_from_options(**words).fit(table)
    model = GroupedDecision(
        LinearDecision(Newsvendor(3, 1), Band(low=0.0, high=5.0)), by=["store"], random_state=0
    )
    X = pl.DataFrame(by_hand(table), schema=list("abcd")).with_columns(table["store"])
    model.fit(X, table["sales"].to_numpy())
    np.testing.assert_array_equal(plan.decide(table).decision, model.decide(X))
    new = table.head(3).with_columns(store=pl.Series(["north", "moon", "mars"]))
    assert plan.decide(new).notes == (
        "New groups of store were decided by the model of all groups: moon; mars.",
    )
    with pytest.raises(InvalidInput, match="by must be a column of the table, got 'store'"):
        plan.decide(table.drop("store"))
    assert plan.text_columns == ("kind", "store")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"problem": "lottery"}, "problem must be 'newsvendor', 'pricing' or 'replacement'"),
        ({"goal": "revenue"}, "goal 'revenue' needs problem 'pricing'"),
        (
            {"model": "forest"},
            "model must be 'auto', one of 'seasonal', 'linear', 'distribution', 'neural', ",
        ),
        ({"band": "rubber"}, "band must be 'latent', 'searched' or 'none'"),
        ({"band": "none", "sellout_rate": 0.3}, "sellout_rate needs band 'latent'"),
        (
            {"problem": "pricing", "band": "none", "accepted_column": "out"},
            "columns['accepted'] needs band 'latent' or 'searched'",
        ),
        (
            {"underage": None},
            "underage must be given for problem 'newsvendor': add it, or underage_column",
        ),
        ({"underage_column": "margin"}, "underage must not be given with underage_column"),
        ({"planned": 1.0}, "planned must not be given with problem 'newsvendor'"),
        ({"failed_column": "out"}, "columns['failed'] must not be given with problem 'newsvendor'"),
    ],
)
def test_words_that_do_not_fit(words, sentence):
    with pytest.raises(InvalidInput) as error:
        plan_from_options(**{**BASE, **words}).check()
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("words", "change", "sentence"),
    [
        (
            {"features": ["sales"]},
            {},
            "features must not include the observation or its flags, got 'sales'",
        ),
        ({"features": []}, {}, "features must have at least one column"),
        (
            {"underage": None, "underage_column": "margin"},
            {"margin": 0.0},
            "underage_column must have numbers above 0, got 0 in row 2 of column 'margin'",
        ),
        (
            {"overage": None, "overage_column": "margin"},
            {"margin": None},
            "overage_column must have a number in every row, got an empty cell in row 2 of column",
        ),
        ({}, {"sales": None}, "observed must have numbers, got none in column 'sales'"),
        ({"stock_column": "nope"}, {}, "stock_column must be a column of the table, got 'nope'"),
        ({"by": ["nope"]}, {}, "by must be a column of the table, got 'nope'"),
    ],
)
def test_tables_that_do_not_fit(table, words, change, sentence):
    changed = table.with_columns(**{name: pl.lit(value) for name, value in change.items()})
    with pytest.raises(InvalidInput) as error:
        plan_from_options(**{**BASE, **words}).fit(changed)
    assert sentence in str(error.value)
