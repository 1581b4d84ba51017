"""Real lifetimes from the Python package surpyval (MIT; see LICENSE.surpyval.txt in this folder).

Both tables are censored: where ``suspended`` is true, the part had not failed at ``time``.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars


def load_sae() -> polars.DataFrame:
    """Lifetimes of an automotive component: 10 failures and 21 suspensions.

    Returns
    -------
    polars.DataFrame
        31 rows with

        - ``time``: when it failed, or when it was last seen at work; the source names no unit;
        - ``suspended``: whether it had not failed by then.

    Notes
    -----
    Source: surpyval 0.25, https://pypi.org/project/surpyval/, MIT licence, copyright Derryn Knife;
    from Krivtsov and Case (1999), Peculiarities of Censored Data Analysis in Automotive Industry
    Applications, SAE Technical Paper 1999-01-3220.

    Examples
    --------
    >>> table = load_sae()
    >>> table.height, int(table["suspended"].sum())
    (31, 21)
    """
    return _read("sae.csv")


def load_tires() -> polars.DataFrame:
    """Lifetimes of tires with seven measurements: 11 failures and 23 suspensions.

    Returns
    -------
    polars.DataFrame
        34 rows, everything in normalised units, with

        - ``tire_age``, ``wedge_gauge``, ``interbelt_gauge``, ``eb2b``, ``peel_force``,
          ``carbon_black``, ``wedge_gauge_peel_force``: the features;
        - ``time``, ``suspended``: as in `load_sae`.

    Notes
    -----
    Source: surpyval 0.25, https://pypi.org/project/surpyval/, MIT licence, copyright Derryn Knife;
    from Krivtsov, Tananko and Davis (2002), Regression approach to tire reliability analysis,
    Reliability Engineering and System Safety 78, 267-273.

    Examples
    --------
    >>> load_tires().select("tire_age", "peel_force", "time", "suspended").row(0)
    (1.22, 0.63, 1.02, True)
    """
    return _read("tires.csv")


def _read(name: str) -> polars.DataFrame:
    import polars as pl

    # by way of bytes, so that it also works from a zip file
    return pl.read_csv(files("unmet.data").joinpath(name).read_bytes())
