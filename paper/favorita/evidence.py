"""The tables of App. storeSelect as the page of the reproduction shows them, and verdicts on them.

Without Favorita's file there is nothing of ours: the published numbers stand alone, and the run
simulates from them. There are no seeds here, so sizes are judged by the printed digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paper.favorita.outputs import (
    MEASURES,
    SAME,
    TITLES,
    coefficient_rows,
    descriptive_rows,
    findings,
    is_the_papers,
    qq_plot,
    show_p,
    store_rows,
)
from paper.favorita.published import (
    PUBLISHED_COEFFICIENTS,
    PUBLISHED_DESCRIPTIVE,
    PUBLISHED_STORES,
    PUBLISHED_YEAR,
)
from paper.favorita.sales import FavoritaSales
from paper.favorita.tables import FavoritaTables
from paper.pictures import SMALL, PaperFigure, Picture, drawing
from paper.printing import Column, Table
from paper.verdicts import Case, Claim, Kind, listed
from unmet.files import Cell

ABSENT = (
    "No file of Favorita was given, so there are the published numbers alone, and the run "
    "simulates from them; `python -m paper reproduce --favorita train.csv` puts ours beside them."
)


@dataclass(frozen=True, eq=False)
class StoreEvidence:
    """What Favorita's file says: its sales, and the regressions of its stores."""

    sales: FavoritaSales
    tables: FavoritaTables

    def sentences(self) -> list[str]:
        """Say which store and why, how close to the paper, what was left out."""
        return findings(self.sales, self.tables)

    def figure(self) -> PaperFigure:
        """Fig. ErrorQQplot10."""
        store = self.tables.chosen
        alt = (
            f"Sorted residuals of store {store.store} against quantiles of a normal law with "
            f"deviation {store.rmse:.2f}: from {store.residuals.min():.0f} to "
            f"{store.residuals.max():.0f}."
        )
        caption = "On the line residuals would be normal."
        if store.skewness is not None and store.excess_kurtosis is not None:
            caption += (
                f" Skewness {store.skewness:.2f}, excess kurtosis {store.excess_kurtosis:.2f}; "
                "both are 0 for a normal law."
            )
        _, settings = drawing()
        with settings(SMALL):
            picture = Picture("ErrorQQplot10", alt, qq_plot(store))
        title = f"QQ plot of the residuals of store {store.store}"
        return PaperFigure("ErrorQQplot10", title, caption, (picture,))


def store_tables(evidence: StoreEvidence | None) -> dict[str, Table]:
    """Tables EDAofStore10, LRstore10 and LRResults52Stores, ours beside the published."""
    tables = (_descriptive(evidence), _coefficients(evidence), _stores(evidence))
    return {table.label: table for table in tables}


def _title(evidence: StoreEvidence | None, what: str) -> str:
    if evidence is None:
        return f"{what} of store 10, {PUBLISHED_YEAR}"
    return f"{what} of store {evidence.tables.store}, {evidence.tables.year}"


def _notes(evidence: StoreEvidence | None, *more: str) -> tuple[str, ...]:
    if evidence is None:
        return (ABSENT,)
    if not is_the_papers(evidence.tables):
        return ("The paper prints this of store 10 in 2016 only.", *more)
    return more


def _descriptive(evidence: StoreEvidence | None) -> Table:
    if evidence is None:
        rows: list[dict[str, Any]] = [
            {"statistic": name, "ours": None, "published": value, "difference": None}
            for name, value in vars(PUBLISHED_DESCRIPTIVE).items()
        ]
    else:
        rows = descriptive_rows(evidence.tables)
    names = ("statistic", "ours", "published", "difference")
    columns = (Column("statistic"), *(Column(name, _signed(name, ".2f")) for name in names[1:]))
    cells = tuple(
        (str(row["statistic"]).replace("_", " "), *(row[name] for name in names[1:]))
        for row in rows
    )
    title = _title(evidence, "Descriptive statistics of the sales")
    return Table("EDAofStore10", title, columns, cells, _notes(evidence))


def _coefficients(evidence: StoreEvidence | None) -> Table:
    if evidence is None:
        rows: list[dict[str, Any]] = [
            {"name": name, "ours": None, "standard_error": None, "published": value}
            | {"difference": None, "relative": None}
            for name, value in PUBLISHED_COEFFICIENTS.items()
        ]
    else:
        rows = coefficient_rows(evidence.tables)
    forms = {
        "ours": ".2f",
        "standard_error": ".2f",
        "published": ".2f",
        "difference": "+.2f",
        "relative": "+.2%",
    }
    columns = (
        Column("dummy"),
        *(Column(name.replace("_", " "), form) for name, form in forms.items()),
    )
    cells = tuple((row["name"], *(row[name] for name in forms)) for row in rows)
    title = _title(evidence, "Least squares on dummies")
    note = "Baselines: BREAD/BAKERY, Monday and January, or the next that the store has."
    return Table("LRstore10", title, columns, cells, _notes(evidence, note))


def _stores(evidence: StoreEvidence | None) -> Table:
    """One line per store: each measure as ours, published, and the relative difference."""
    columns = [Column("no.", ".0f"), Column("store", ".0f")]
    for measure in MEASURES:
        title = TITLES[measure]
        columns += [Column(title, ".4f"), Column("published", ".4f"), Column("apart", "+.2%")]
    columns += [Column("p of F"), Column("skewness", ".1f"), Column("excess kurtosis", ".1f")]
    rows: list[tuple[Cell, ...]] = []
    if evidence is None:
        for place, each in enumerate(PUBLISHED_STORES, start=1):
            cells: list[Cell] = [place, each.store]
            for measure in MEASURES:
                cells += [None, getattr(each, measure), None]
            rows.append((*cells, None, None, None))
    else:
        for row in store_rows(evidence.tables):
            cells = [row["position"], row["store"]]
            for measure in MEASURES:
                cells += [row[measure], row[f"{measure}_published"], row[f"{measure}_relative"]]
            p_value: Any = row["p_value"]
            shape = (show_p(p_value), row["skewness"], row["excess_kurtosis"])
            rows.append((*cells, *shape))
    notes = (ABSENT,) if evidence is None else (*evidence.sentences(),)
    title = "Least squares of all stores, by RMSE over median"
    table = tuple(columns), tuple(rows)
    return Table("LRResults52Stores", title, *table, notes, folded=True)


def _signed(name: str, form: str) -> str:
    return f"+{form}" if name == "difference" else form


# --- Verdicts on the store's tables.

#: Half of the last printed digit, and a little: printed numbers were rounded from binary ones.
_TWO_DECIMALS = 1.001 * 0.005


def store_claims(evidence: StoreEvidence | None) -> tuple[Claim, ...]:
    """Direction and size of each table; "not checked" without the file, or of another store."""
    comparable = evidence is not None and is_the_papers(evidence.tables)
    same_year = evidence is not None and evidence.tables.year == PUBLISHED_YEAR
    described: list[Case] = []
    signs: list[Case] = []
    values: list[Case] = []
    if evidence is not None and comparable:
        described += [
            Case(str(row["statistic"]), _within(row["difference"]))
            for row in descriptive_rows(evidence.tables)
        ]
        for row in coefficient_rows(evidence.tables):
            both = [float(row[name] or 0.0) for name in ("ours", "published")]
            signs.append(Case(str(row["name"]), both[0] * both[1]))
            values.append(Case(str(row["name"]), _within(row["difference"])))
    chosen: list[Case] = []
    stores: list[Case] = []
    if evidence is not None and same_year:
        tables = evidence.tables
        for what, store in (("RMSE", tables.smallest_rmse), ("ratio", tables.smallest_ratio)):
            chosen.append(Case(f"smallest {what}: store {store}", 1.0 if store == 10 else -1.0))
        for row in store_rows(tables):
            for measure in MEASURES:
                share = row[f"{measure}_relative"]
                if share is not None:
                    where = f"{TITLES[measure]} of store {row['store']}"
                    stores.append(Case(where, 1 - abs(float(share)) / SAME))
    lines: tuple[tuple[str, str, Kind, str, list[Case]], ...] = (
        ("11", "EDAofStore10", "size", "The statistics of store 10 are those printed.", described),
        ("12", "LRstore10", "direction", "All coefficients have the printed signs.", signs),
        (
            "12b",
            "LRstore10",
            "size",
            "The coefficients are those printed, to two decimals.",
            values,
        ),
        (
            "13",
            "LRResults52Stores",
            "direction",
            "Store 10 has the smallest RMSE and the smallest RMSE over median.",
            chosen,
        ),
        (
            "13b",
            "LRResults52Stores",
            "size",
            f"The regressions of all stores are those printed, within {SAME:.1%}.",
            stores,
        ),
    )
    return tuple(_claim(*line, evidence) for line in lines)


def _within(difference: Cell) -> float:
    """Margin of a number that should agree to two decimals."""
    if difference is None:
        return -1.0
    return 1 - abs(float(difference)) / _TWO_DECIMALS


def _claim(
    number: str,
    label: str,
    kind: Kind,
    statement: str,
    cases: Sequence[Case],
    evidence: StoreEvidence | None,
) -> Claim:
    if not cases:
        why = "No file of Favorita was given." if evidence is None else "Another store or year."
        return Claim(number, "", "paper", statement, "not checked", why, "", label=label, kind=kind)
    fails = [case.where for case in cases if not case.holds]
    found = f"{len(cases) - len(fails)} of {len(cases)} do."
    if fails:
        some = fails[:5] + ([f"{len(fails) - 5} more"] if len(fails) > 5 else [])
        found += f" Not: {listed(some)}."
    return Claim.judged(number, "", "paper", statement, cases, found, "", label, kind)
