"""Bundled lifetimes: complete, and true to their source."""

from __future__ import annotations

from importlib.resources import files

import polars as pl

from unmet.data import load_sae, load_tires


def test_sae_is_whole():
    table = load_sae()
    assert table.columns == ["time", "suspended"]
    assert table.schema["suspended"] == pl.Boolean
    # sums over the two lists of the source, added by hand
    assert table.filter(~pl.col("suspended"))["time"].sum() == 453_102
    assert table.filter("suspended")["time"].sum() == 1_037_514
    assert table["suspended"].sum() == 21


def test_tires_are_whole():
    table = load_tires()
    assert table.shape == (34, 9)
    assert table["suspended"].sum() == 23
    assert sum(table.null_count().row(0)) == 0
    assert (table["time"] > 0).all()
    product = table["wedge_gauge"] * table["peel_force"]
    assert pl.DataFrame([product, table["wedge_gauge_peel_force"]]).corr()[0, 1] > 0.99


def test_the_licence_comes_along():
    text = files("unmet.data").joinpath("LICENSE.surpyval.txt").read_text()
    assert "Copyright (c) 2020 Derryn Knife" in text
    assert "Permission is hereby granted" in text
